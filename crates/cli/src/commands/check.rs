//! `almach check`.

use crate::failure::Outcome;
use crate::files;
use crate::options::CheckOptions;
use crate::program::Program;
use crate::terminal::{self, Style};
use almach_base::SourceMap;
use std::path::Path;

pub fn run(options: &CheckOptions, style: Style) -> Outcome {
    match files::sources(&options.files) {
        Ok(paths) => paths
            .iter()
            .map(|path| one(path, options, style))
            .max()
            .unwrap_or(Outcome::Done),
        Err(diagnostic) => {
            terminal::report(&[diagnostic], &SourceMap::new(), style);
            Outcome::WrongUse
        }
    }
}

fn one(file: &Path, options: &CheckOptions, style: Style) -> Outcome {
    let program = match Program::open(file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    if let (true, Program::Source(front)) = (options.types, &program) {
        for definition in &front.types {
            terminal::say(&definition.text);
        }
    }
    match program.core(style) {
        Ok(_) => Outcome::Done,
        Err(outcome) => outcome,
    }
}
