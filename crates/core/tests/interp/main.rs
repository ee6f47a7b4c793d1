//! The interpreter: what every construct and primitive of Core means, and how it fails.
#![allow(clippy::unwrap_used)]

mod control;
mod data;
mod deep;
mod entries;
mod errors;
mod functions;
mod jagged;
mod scalars;
mod whole;

use almach_base::FileId;
use almach_core::Program;
use almach_core::check::check;
use almach_core::interp::{Host, Interpreter, NoHost, RuntimeError};
use almach_core::parse::parse_program;
use almach_value::{Extent, Value, parse, print};

/// A checked program.
#[track_caller]
pub fn program(text: &str) -> Program {
    let program = match parse_program(text, FileId(0)) {
        Ok(program) => program,
        Err(error) => panic!("{}: {}\n{text}", error.title, error.primary.text),
    };
    match check(program, "the test") {
        Ok(program) => program.into_inner(),
        Err(failure) => panic!("{:?}\n{text}", failure.diagnostic.notes),
    }
}

#[track_caller]
pub fn interpreter(text: &str) -> Interpreter {
    match Interpreter::new(&program(text)) {
        Ok(interpreter) => interpreter,
        Err(bug) => panic!("{bug:?}"),
    }
}

/// Calls the entry `main` on arguments in the syntax of values.
#[track_caller]
pub fn call(text: &str, args: &[&str]) -> Result<(Interpreter, Value), RuntimeError> {
    call_with(text, args, &mut NoHost)
}

#[track_caller]
pub fn call_with(
    text: &str,
    args: &[&str],
    host: &mut dyn Host,
) -> Result<(Interpreter, Value), RuntimeError> {
    let interpreter = interpreter(text);
    let entry = interpreter.entry("main").unwrap();
    let args: Vec<Value> = args
        .iter()
        .zip(&entry.params)
        .map(|(arg, (_, ty))| parse(arg, ty).unwrap_or_else(|error| panic!("{arg}: {error}")))
        .collect();
    let value = interpreter.call_with("main", args, host)?;
    Ok((interpreter, value))
}

/// What `main` gives, as text.
#[track_caller]
pub fn run(text: &str, args: &[&str]) -> String {
    match call(text, args) {
        Ok((interpreter, value)) => {
            let entry = interpreter.entry("main").unwrap();
            almach_value::conforms(&value, &entry.result).unwrap_or_else(|wrong| panic!("{wrong}"));
            print(&value, &entry.result, Extent::Full)
        }
        Err(error) => panic!("{}: {} {:?}", error.code.0, error.message, error.notes),
    }
}

/// The code and message with which `main` fails.
#[track_caller]
pub fn fails(text: &str, args: &[&str]) -> String {
    match call(text, args) {
        Ok((_, value)) => panic!("no failure but {value:?}"),
        Err(error) => format!("{}: {}", error.code.0, error.message),
    }
}
