//! `almach run`.

use crate::arguments;
use crate::failure::Outcome;
use crate::files;
use crate::machine::{Machine, RunSettings};
use crate::options::RunOptions;
use crate::program::{Program, choose_entry};
use crate::terminal::{self, LONGEST, Style};
use almach_base::codes::bugs::COMPILER_BUG;
use almach_base::{Code, Diagnostic};
use almach_core::Entry;
use almach_value::{Extent, Value, print};
use std::time::Instant;

pub fn run(options: &RunOptions, style: Style) -> Outcome {
    let mut times = Times::new();
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    times.lap("check");
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    times.lap("elaborate");
    let result = choose_entry(&core, options.entry.as_deref()).and_then(|entry| {
        let args = arguments::read_all(entry, &options.args)?;
        times.lap("read arguments");
        let settings = RunSettings {
            backend: options.backend,
            max_depth: options.max_depth,
        };
        let machine = Machine::new(&program, &core, &[entry], settings)?;
        times.lap("compile");
        let value = machine.call(&entry.name, args)?;
        times.lap("run");
        deliver(entry, &value, options)?;
        times.lap("write result");
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

/// Where the time went, for `--time`.
struct Times {
    last: Instant,
    laps: Vec<(&'static str, f64)>,
}

impl Times {
    fn new() -> Times {
        Times {
            last: Instant::now(),
            laps: Vec::new(),
        }
    }

    fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.laps
            .push((name, now.duration_since(self.last).as_secs_f64() * 1e3));
        self.last = now;
    }

    fn report(&self) {
        for (name, milliseconds) in &self.laps {
            terminal::complain(&format!("{name:>16}  {milliseconds:10.3} ms"));
        }
    }
}
