//! What runs a program: the interpreter, or a library made by the C compiler.

use crate::native::Native;
use crate::options::Backend;
use crate::outside::Outside;
use crate::program::Program;
use crate::terminal;
use crate::times::Times;
use almach_base::Diagnostic;
use almach_base::codes::bugs::COMPILER_BUG;
use almach_base::codes::cli::{NO_C_COMPILER, UNWRITABLE_FILE};
use almach_base::codes::concreteness::NOT_COMPILED_YET;
use almach_core::check::Checked;
use almach_core::interp::{Interpreter, Limits};
use almach_core::{Entry, Program as Core};
use almach_driver::back::{self, Accounting, Lowered, Target, Without};
use almach_driver::explain::Predicted;
use almach_native::{Account, Idle, KernelTime};
use almach_value::Value;
use std::path::PathBuf;

pub enum Machine {
    Interpreter(Box<(Interpreter, Outside)>),
    Native(Box<Native>),
}

/// What the user can set for a run.
#[derive(Clone, Default, Debug)]
pub struct RunSettings {
    /// What runs it; without one, the best that can run this program here.
    pub backend: Option<Backend>,
    pub max_depth: Option<usize>,
    /// Which device kernels run on.
    pub device: Option<String>,
    pub checks: Checks,
    /// C files, objects and libraries that define foreign functions.
    pub links: Vec<PathBuf>,
    /// Rewrites that are switched off.
    pub without: Without,
    pub memory: MemorySettings,
}

/// What the user wants to know of memory, and allows.
#[derive(Clone, Copy, Default, Debug)]
pub struct MemorySettings {
    pub accounting: Accounting,
    /// The most bytes at once.
    pub most: Option<u64>,
}

/// What becomes of the run-time checks that the compiler could not prove.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Checks {
    #[default]
    Keep,
    /// The user said `--unchecked`.
    LeaveOut,
}

impl Checks {
    pub fn unless(unchecked: bool) -> Checks {
        match unchecked {
            true => Checks::LeaveOut,
            false => Checks::Keep,
        }
    }

    /// A program without its checks, where that is what the user wants; it is said.
    pub fn apply(self, lowered: Lowered) -> Result<Lowered, Vec<Diagnostic>> {
        match self {
            Checks::Keep => Ok(lowered),
            Checks::LeaveOut => {
                let (lowered, count) = back::unchecked(lowered)?;
                terminal::complain(&match count {
                    0 => "note: --unchecked: no run-time check was left to remove".to_owned(),
                    _ => format!(
                        "note: --unchecked: {count} run-time checks are left out; where one would have failed, anything may happen"
                    ),
                });
                Ok(lowered)
            }
        }
    }
}

impl Machine {
    /// A machine for calls of these entries.
    pub fn new(
        program: &Program,
        core: &Checked<Core>,
        entries: &[&Entry],
        settings: RunSettings,
        times: &mut Times,
    ) -> Result<Machine, Diagnostic> {
        match settings.backend {
            Some(backend) => match backend.target() {
                Some(target) => native(program, core, entries, target, &settings, times),
                None => interpreter(program, core, settings),
            },
            None => native(program, core, entries, Target::OpenMp, &settings, times).or_else(|problem| {
                let reason = reason_to_interpret(&problem).ok_or(problem)?;
                terminal::complain(&format!("note: interpreting, since {reason}"));
                interpreter(program, core, settings)
            }),
        }
    }

    /// What calls did to memory so far; none where that is not counted.
    pub fn account(&self) -> Option<Account> {
        match self {
            Machine::Interpreter(_) => None,
            Machine::Native(native) => native.account(),
        }
    }

    /// How long threads worked so far; none where that is not counted.
    pub fn idle(&self) -> Option<Idle> {
        match self {
            Machine::Interpreter(_) => None,
            Machine::Native(native) => native.idle(),
        }
    }

    /// Measures how long kernels take, where there are kernels.
    pub fn time_kernels(&self) {
        if let Machine::Native(native) = self {
            native.time_kernels();
        }
    }

    /// What was measured of kernels.
    pub fn kernel_times(&self) -> Vec<KernelTime> {
        match self {
            Machine::Interpreter(_) => Vec::new(),
            Machine::Native(native) => native.kernel_times(),
        }
    }

    /// The most bytes that a call holds at once; none where that has no formula, or is not asked for.
    pub fn predicted(&self, entry: &str, args: &[Value]) -> Option<Predicted> {
        match self {
            Machine::Interpreter(_) => None,
            Machine::Native(native) => native.predicted(entry, args),
        }
    }

    pub fn call(&self, entry: &str, args: Vec<Value>) -> Result<Value, Diagnostic> {
        match self {
            Machine::Interpreter(both) => {
                let (interpreter, outside) = &**both;
                interpreter
                    .call_with(entry, args, &mut &*outside)
                    .map_err(|error| error.to_diagnostic())
            }
            Machine::Native(native) => native.call(entry, &args),
        }
    }
}

fn native(
    program: &Program,
    core: &Checked<Core>,
    entries: &[&Entry],
    target: Target,
    settings: &RunSettings,
    times: &mut Times,
) -> Result<Machine, Diagnostic> {
    back::rewritten_without(core.clone(), settings.without)
        .and_then(|rewritten| {
            times.lap("rewrites");
            back::chosen_without(rewritten, back::machine(target), settings.without)
        })
        .and_then(|strategy| {
            times.lap("strategy");
            Native::new(&strategy, entries, program.sources(), target, settings, times)
        })
        .map(|native| Machine::Native(Box::new(native)))
        .map_err(first)
}

/// The entries that a back end can run; the others need what it does not have yet.
pub fn runnable<'a>(
    core: &Checked<Core>,
    entries: Vec<&'a Entry>,
    settings: &RunSettings,
) -> Result<Vec<&'a Entry>, Diagnostic> {
    let target = match settings.backend {
        None => Target::OpenMp,
        Some(backend) => match backend.target() {
            Some(target) => target,
            None => return Ok(entries),
        },
    };
    let strategy = back::rewritten_without(core.clone(), settings.without)
        .and_then(|rewritten| back::chosen_without(rewritten, back::machine(target), settings.without))
        .map_err(first)?;
    let mut found = Vec::new();
    for entry in entries {
        match back::lowered(&strategy, &[entry]).map_err(first) {
            Ok(_) => found.push(entry),
            Err(problem) if problem.code == NOT_COMPILED_YET => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(found)
}

/// Why a program that no back end was asked for is interpreted instead of compiled; none where the user must know.
fn reason_to_interpret(problem: &Diagnostic) -> Option<String> {
    match problem.code {
        NO_C_COMPILER => Some("there is no C compiler (set CC, or install one)".to_owned()),
        NOT_COMPILED_YET => Some(problem.title.clone()),
        // The folder that keeps what the C compiler makes.
        UNWRITABLE_FILE => Some(format!("{} (set ALMACH_CACHE to another folder)", problem.title)),
        // The interpreter still runs the program; the bug is worth a word, not the user's day.
        COMPILER_BUG => Some(format!(
            "the compiled back end has a bug (please report it): {}",
            problem.title
        )),
        _ => None,
    }
}

fn first(diagnostics: Vec<Diagnostic>) -> Diagnostic {
    diagnostics.into_iter().next().unwrap_or_else(|| {
        almach_base::compiler_bug(
            almach_base::Span::NONE,
            "a stage failed without saying why".to_owned(),
        )
    })
}

fn interpreter(program: &Program, core: &Core, settings: RunSettings) -> Result<Machine, Diagnostic> {
    if settings.checks == Checks::LeaveOut {
        terminal::complain("note: --unchecked: the interpreter checks everything");
    }
    let mut limits = Limits::default();
    if let Some(depth) = settings.max_depth {
        limits.depth = depth;
    }
    let interpreter = Interpreter::new(core).map_err(|diagnostic| *diagnostic)?;
    let outside = Outside::new(program, core, settings);
    Ok(Machine::Interpreter(Box::new((
        interpreter.with_limits(limits),
        outside,
    ))))
}
