//! `almach run`.

use crate::arguments;
use crate::failure::Outcome;
use crate::files;
use crate::links;
use crate::machine::{Checks, Machine, RunSettings};
use crate::options::RunOptions;
use crate::program::{Program, choose_entry, read};
use crate::terminal::{self, LONGEST, Style};
use crate::times::Times;
use almach_base::codes::bugs::COMPILER_BUG;
use almach_base::{Code, Diagnostic};
use almach_core::Entry;
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
            checks: Checks::unless(options.unchecked),
            links: links::all(&options.file, &options.link)?,
            without: options.passes.without(),
        };
        let machine = Machine::new(&program, &core, &[entry], settings, &mut times)?;
        let value = machine.call(&entry.name, args)?;
        times.lap("run");
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
