//! From Core to C.

use almach_base::{Diagnostic, SourceMap, compiler_bug};
use almach_core::check::{CheckFailure, Checked, check};
use almach_core::{Entry, Program};
use almach_device::Placed;
use almach_emit::{CSource, Export, KernelCode, Options, emit_c, emit_nvcc};
use almach_lower::lower;
use almach_mem::{Annotated, passes};
use almach_rewrite::{Log, pipelines, run_to_fixed_point};
use almach_strategy::effects::settle_effects;
use almach_strategy::{Chosen, choose_with};

pub use almach_emit::{Accounting, Form, Target};
pub use almach_lower::Lowered;
pub use almach_rewrite::Pass;
pub use almach_rewrite::pipelines::{ALL as PASSES, STANDARD, Without};
pub use almach_strategy::{Asked, Choice, Decision, Machine, Question, Tactics, Topic};

/// The rewrites of every program, in the order they first run.
pub fn pass_order() -> Vec<&'static Pass> {
    let mut order: Vec<&Pass> = Vec::new();
    for pass in STANDARD {
        if !order.iter().any(|other| other.name == pass.name) {
            order.push(pass);
        }
    }
    order
}

/// The machine that a target's code runs on.
pub fn machine(target: Target) -> Machine {
    match target {
        Target::C => Machine::Sequential,
        Target::OpenMp => Machine::Threads,
        Target::OpenCl | Target::Cuda => Machine::Device,
    }
}

/// The strategy program: Core after the rewrites, with a level on every operation.
pub fn strategy(core: Checked<Program>, machine: Machine) -> Result<Checked<Program>, Vec<Diagnostic>> {
    chosen(rewritten(core)?, machine)
}

/// Core after the rewrites.
pub fn rewritten(core: Checked<Program>) -> Result<Checked<Program>, Vec<Diagnostic>> {
    rewritten_without(core, Without::default())
}

/// Core after the rewrites that are not switched off.
pub fn rewritten_without(
    core: Checked<Program>,
    without: Without,
) -> Result<Checked<Program>, Vec<Diagnostic>> {
    standard(core, without, &mut Log::default()).map_err(|failure| vec![failure.diagnostic])
}

/// The standard rewrites, until they find nothing more to do.
fn standard(
    core: Checked<Program>,
    without: Without,
    log: &mut Log,
) -> Result<Checked<Program>, Box<CheckFailure>> {
    const ROUNDS: usize = 4;
    run_to_fixed_point(core, &without.of(pipelines::STANDARD), ROUNDS, log)
}

/// A rewritten program with a level on every operation.
pub fn chosen(rewritten: Checked<Program>, machine: Machine) -> Result<Checked<Program>, Vec<Diagnostic>> {
    chosen_without(rewritten, machine, Without::default())
}

/// A rewritten program with a level on every operation, tidied by the rewrites that are not switched off.
pub fn chosen_without(
    rewritten: Checked<Program>,
    machine: Machine,
    without: Without,
) -> Result<Checked<Program>, Vec<Diagnostic>> {
    let passes = Passes::all_but(without);
    Ok(decided(rewritten, machine, passes, &Tactics::default())?.program)
}

/// The same, with other answers to what could be decided otherwise; and what was asked. What is left out is left out until there is
/// a level on every operation, and no longer: the strategy program stays what it is when its source is compiled.
pub fn chosen_with(
    rewritten: Checked<Program>,
    machine: Machine,
    without: Without,
    tactics: &Tactics,
) -> Result<(Checked<Program>, Vec<Asked>), Vec<Diagnostic>> {
    let passes = Passes {
        choosing: without,
        tidying: Without::default(),
    };
    let decided = decided(rewritten, machine, passes, tactics)?;
    Ok((decided.program, decided.asked))
}

/// The rewrites that are switched off.
#[derive(Clone, Copy)]
struct Passes {
    /// While a strategy is chosen.
    choosing: Without,
    /// When one is written.
    tidying: Without,
}

impl Passes {
    fn all_but(without: Without) -> Passes {
        Passes {
            choosing: without,
            tidying: without,
        }
    }
}

struct Decided {
    program: Checked<Program>,
    decisions: Vec<Decision>,
    asked: Vec<Asked>,
}

fn decided(
    rewritten: Checked<Program>,
    machine: Machine,
    passes: Passes,
    tactics: &Tactics,
) -> Result<Decided, Vec<Diagnostic>> {
    let Chosen {
        program,
        decisions,
        asked,
    } = choose_with(rewritten.into_inner(), machine, passes.choosing, tactics)
        .map_err(|diagnostic| vec![*diagnostic])?;
    let program = check(program, "strategy")
        // What was written is tidied as what a user writes is: a strategy program that comes back as source stays what it is.
        .and_then(|program| standard(program, passes.tidying, &mut Log::default()))
        .and_then(|program| check(settle_effects(program.into_inner()), "effects"))
        .map_err(|failure| vec![failure.diagnostic])?;
    Ok(Decided {
        program,
        decisions,
        asked,
    })
}

/// A strategy program with the story of how it came about.
pub struct Explained {
    pub program: Checked<Program>,
    /// What the rewrites did before a strategy was chosen.
    pub rewrites: Log,
    /// What was decided for each operation, and why.
    pub decisions: Vec<Decision>,
}

/// The strategy program, and what was decided on the way.
pub fn explained_strategy(core: Checked<Program>, machine: Machine) -> Result<Explained, Vec<Diagnostic>> {
    let mut rewrites = Log::default();
    let rewritten =
        standard(core, Without::default(), &mut rewrites).map_err(|failure| vec![failure.diagnostic])?;
    let Decided {
        program, decisions, ..
    } = decided(
        rewritten,
        machine,
        Passes::all_but(Without::default()),
        &Tactics::default(),
    )?;
    Ok(Explained {
        program,
        rewrites,
        decisions,
    })
}

/// A strategy program with its memory: introduced, improved by the standard passes, checked after each.
pub fn memory(strategy: &Checked<Program>) -> Result<Annotated, Vec<Diagnostic>> {
    memory_with((**strategy).clone(), &mut passes::Log::default())
}

/// As [`memory`], with what was done and not done, and why.
pub fn memory_with(strategy: Program, log: &mut passes::Log) -> Result<Annotated, Vec<Diagnostic>> {
    let program = almach_mem::introduce(strategy);
    almach_mem::check::check(&program).map_err(|broken| vec![broken.diagnostic("introduce")])?;
    passes::run(program, passes::STANDARD, log).map_err(|bug| vec![*bug])
}

/// Entries of a strategy program at every later stage.
pub fn lowered(strategy: &Checked<Program>, entries: &[&Entry]) -> Result<Lowered, Vec<Diagnostic>> {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    lower(strategy, &names)
}

/// Without the run-time checks that are left, and how many those were. What a check guarded, memory included, is then up to
/// whoever asked for this.
pub fn unchecked(lowered: Lowered) -> Result<(Lowered, usize), Vec<Diagnostic>> {
    almach_lower::without_checks(lowered)
}

/// C for lowered entries. `name` starts the names of all that is exported.
pub fn c_source(
    lowered: &Lowered,
    sources: &SourceMap,
    name: &str,
    target: Target,
) -> Result<CSource, Vec<Diagnostic>> {
    c_source_with(lowered, sources, &Emission::new(name, target))
}

/// What is wanted of C.
#[derive(Clone, Copy, Debug)]
pub struct Emission<'a> {
    /// What the names of all that is exported start with.
    pub name: &'a str,
    pub target: Target,
    pub accounting: Accounting,
    /// What the user has written for kernels.
    pub kernel_text: &'a str,
    pub form: Form,
}

impl<'a> Emission<'a> {
    pub fn new(name: &'a str, target: Target) -> Emission<'a> {
        Emission {
            name,
            target,
            accounting: Accounting::Off,
            kernel_text: "",
            form: Form::C,
        }
    }
}

/// C that may count what it does to memory, and may have functions of the user's in its kernels.
pub fn c_source_with(
    lowered: &Lowered,
    sources: &SourceMap,
    wanted: &Emission<'_>,
) -> Result<CSource, Vec<Diagnostic>> {
    if lowered.entries.is_empty() {
        return Err(vec![compiler_bug(
            almach_base::Span::NONE,
            "C for no entry points",
        )]);
    }
    let exports = lowered
        .entries
        .iter()
        .map(|entry| Export::of_entry(entry, lowered.imp.program()))
        .collect();
    let options = Options {
        name: wanted.name.to_owned(),
        target: wanted.target,
        exports,
        foreign: lowered.foreign.clone(),
        accounting: wanted.accounting,
        kernel_code: KernelCode::new(wanted.kernel_text, &lowered.foreign),
    };
    let placed = placed(lowered, wanted.target, wanted.kernel_text)?;
    let emitted = match wanted.form {
        Form::C => emit_c(&placed.imp, sources, &options),
        Form::Nvcc => emit_nvcc(&placed.imp, sources, &options),
    };
    emitted.map_err(|diagnostic| vec![*diagnostic])
}

/// Imp as a back end prints it: with kernels where that has a device, and with what was decided.
pub fn placed(lowered: &Lowered, target: Target, kernel_text: &str) -> Result<Placed, Vec<Diagnostic>> {
    match target.has_device() {
        true => {
            let code = KernelCode::new(kernel_text, &lowered.foreign);
            almach_device::place(lowered.for_devices(), &lowered.entries, code.functions())
        }
        false => Ok(Placed {
            imp: lowered.imp.clone(),
            placements: Vec::new(),
        }),
    }
}
