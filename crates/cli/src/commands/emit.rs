//! `almach emit --stage …`.

use crate::failure::Outcome;
use crate::options::{EmitOptions, Stage};
use crate::program::Program;
use crate::terminal::{self, Style};
use almach_core::print::{Spans, program_to_string};

pub fn run(options: &EmitOptions, style: Style) -> Outcome {
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    match options.stage {
        Stage::Core => terminal::say_raw(&program_to_string(&core, Spans::Omit)),
    }
    Outcome::Done
}
