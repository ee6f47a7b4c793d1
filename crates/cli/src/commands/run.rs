//! `almach run`.

use crate::arguments;
use crate::failure::Outcome;
use crate::files;
use crate::links;
use crate::machine::{Checks, Machine, MemorySettings, RunSettings};
use crate::options::RunOptions;
use crate::program::{Program, choose_entry, read};
use crate::terminal::{self, LONGEST, Style};
use crate::times::Times;
use almach_base::codes::bugs::COMPILER_BUG;
use almach_base::codes::runtime::OUT_OF_MEMORY;
use almach_base::{Code, Diagnostic, counted};
use almach_core::check::Checked;
use almach_core::{Entry, Program as Core};
use almach_driver::back::{self, Accounting, Target};
use almach_driver::explain::Precision;
use almach_mem::heap::{Heap, Stop};
use almach_value::{Extent, Value, print};
use std::path::Path;

pub fn run(options: &RunOptions, style: Style) -> Outcome {
    let mut times = Times::new();
    let program = match open(&options.file, style, &mut times) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    times.lap("elaborate");
    let result = choose_entry(&core, options.entry.as_deref()).and_then(|entry| {
        let args = arguments::read_all(entry, &options.args)?;
        times.lap("arguments");
        let settings = RunSettings {
            backend: options.backend,
            max_depth: options.max_depth,
            device: options.device.clone(),
            checks: Checks::unless(options.unchecked),
            links: links::all(&options.file, &options.link)?,
            without: options.passes.without(),
            memory: memory_settings(options),
        };
        let machine = Machine::new(&program, &core, &[entry], settings, &mut times)?;
        let given = args.clone();
        if options.time {
            machine.time_kernels();
        }
        if let (Some(most), Machine::Interpreter(_)) = (options.max_memory, &machine) {
            stays_within(most, &core, entry, &given)?;
        }
        let value = machine.call(&entry.name, args)?;
        times.lap("run");
        times.kernels = machine.kernel_times();
        if options.stats {
            say_account(&machine, &core, entry, &given);
        }
        deliver(entry, &value, options)?;
        times.lap("result");
        Ok(())
    });
    if options.time {
        times.report();
    }
    match result {
        Ok(()) => Outcome::Done,
        Err(diagnostic) => {
            let outcome = outcome_of(diagnostic.code);
            program.report(&[diagnostic], style);
            outcome
        }
    }
}

fn memory_settings(options: &RunOptions) -> MemorySettings {
    MemorySettings {
        accounting: match options.stats || options.max_memory.is_some() {
            true => Accounting::On,
            false => Accounting::Off,
        },
        most: options.max_memory,
    }
}

/// What the call did to memory. The interpreter has values and no memory: there it is what the memory plan says, run on blocks.
fn say_account(machine: &Machine, core: &Checked<Core>, entry: &Entry, args: &[Value]) {
    if let Some(account) = machine.account() {
        let predicted = match machine.predicted(&entry.name, args) {
            Some(predicted) => match predicted.precision {
                Precision::Exact => format!(" (predicted: {})", predicted.bytes),
                Precision::Bound => format!(" (predicted: at most {})", predicted.bytes),
            },
            None => String::new(),
        };
        terminal::complain(&format!(
            "{}, {} at most at once{predicted}, {} copied",
            counted(account.allocations, "allocation"),
            counted(account.peak, "byte"),
            counted(account.copied, "byte")
        ));
        if let Some(idle) = machine.idle() {
            let share = 100.0 * (1.0 - idle.least as f64 / idle.together as f64);
            terminal::complain(&format!(
                "{} side by side for {:.3} ms, of which the idlest had nothing to do in {:.1}%",
                counted(idle.threads, "thread"),
                idle.together as f64 / 1e6,
                share.max(0.0)
            ));
        }
        return;
    }
    let account = on_blocks(core, |heap| heap.run(&entry.name, args.to_vec(), HEAP_STEPS));
    terminal::complain(&match account {
        Some(Ok((_, account))) => format!(
            "by the memory plan: {}, {} at most at once, {} copied",
            counted(account.allocations, "allocation"),
            counted(account.peak, "byte"),
            counted(account.copied, "byte")
        ),
        Some(Err(_)) | None => {
            "by the memory plan: not known, the run on blocks takes too many steps".to_owned()
        }
    });
}

/// Runs the memory plan on blocks; none where there is no plan.
fn on_blocks<T>(
    core: &Checked<Core>,
    run: impl FnOnce(&Heap<'_>) -> Result<T, Stop>,
) -> Option<Result<T, Stop>> {
    let strategy = back::strategy(core.clone(), back::machine(Target::C)).ok()?;
    let planned = back::memory(&strategy).ok()?;
    let heap = Heap::new(&planned).ok()?;
    Some(run(&heap))
}

/// The interpreter has values and no memory, so that a limit is one of the memory plan, which is run on blocks before.
fn stays_within(most: u64, core: &Checked<Core>, entry: &Entry, args: &[Value]) -> Result<(), Diagnostic> {
    let run = |heap: &Heap<'_>| heap.run_within(most, &entry.name, args.to_vec(), HEAP_STEPS);
    match on_blocks(core, run) {
        Some(Err(Stop::Error(error))) if error.code == OUT_OF_MEMORY => Err(error.to_diagnostic()),
        // Another error of the program is what the interpreter finds as well.
        Some(Ok(_) | Err(Stop::Error(_))) => Ok(()),
        Some(Err(Stop::Fault(_) | Stop::Budget)) | None => {
            terminal::complain(
                "note: whether the call stays within --max-memory is not known on the interpreter: the run on blocks takes too many steps",
            );
            Ok(())
        }
    }
}

/// How long the memory plan is run to count what it does.
const HEAP_STEPS: u64 = 100_000_000;

/// Reads and checks a program, a lap each.
fn open(path: &Path, style: Style, times: &mut Times) -> Result<Program, Outcome> {
    if path.extension().is_some_and(|ending| ending == "core") {
        let program = Program::open(path, style)?;
        times.lap("parse");
        return Ok(program);
    }
    let loaded = read(path, style)?;
    times.lap("parse");
    let program = Program::check(loaded, Vec::new(), style)?;
    times.lap("types");
    Ok(program)
}

/// Run-time errors are the program's failure; the others blame the command line or the compiler.
pub fn outcome_of(code: Code) -> Outcome {
    match code {
        COMPILER_BUG => Outcome::CompilerBug,
        Code(text) if text.starts_with("E08") => Outcome::ProgramFailed,
        Code(_) => Outcome::WrongUse,
    }
}

fn deliver(entry: &Entry, value: &Value, options: &RunOptions) -> Result<(), Diagnostic> {
    match &options.output {
        Some(path) => files::write(path, &arguments::encode(path, value, &entry.result)?),
        None if terminal::output_is_terminal() => {
            terminal::say(&print(
                value,
                &entry.result,
                Extent::Abridged { longest: LONGEST },
            ));
            Ok(())
        }
        None => {
            terminal::say(&print(value, &entry.result, Extent::Full));
            Ok(())
        }
    }
}
