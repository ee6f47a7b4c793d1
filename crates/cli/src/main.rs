//! The `almach` command. Files, processes and the terminal are touched here and nowhere else.

// Every error here ends a command: how large it is on the way out does not matter.
#![allow(clippy::result_large_err)]

mod arguments;
mod commands;
mod failure;
mod files;
mod generate;
mod links;
mod machine;
mod measured;
mod native;
mod options;
mod outside;
mod program;
mod terminal;
mod times;

use clap::Parser;
use failure::Outcome;
use options::Options;
use std::process::ExitCode;

/// Compiling is many small trees made and dropped: this takes a quarter off its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Programs may nest 5,000 deep, and the compiler recurses over them; memory is only touched as it is needed.
const STACK_BYTES: usize = 1 << 30;

fn main() -> ExitCode {
    let options = match Options::try_parse_from(options::with_negative_values(std::env::args_os())) {
        Ok(options) => options,
        Err(error) => {
            let code = if error.use_stderr() {
                Outcome::WrongUse
            } else {
                Outcome::Done
            };
            // Help goes to standard output, complaints to standard error; nothing is left to do if that fails.
            let _ = error.print();
            return code.exit_code();
        }
    };
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || commands::run(options));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(outcome)) if terminal::output_lost() => outcome.max(Outcome::WrongUse).exit_code(),
        Ok(Ok(outcome)) => outcome.exit_code(),
        Ok(Err(_panic)) => {
            terminal::complain(
                "error: a bug in Almach stopped it (the lines above say where)\n\
                 note: please report it with the program and the command line",
            );
            Outcome::CompilerBug.exit_code()
        }
        Err(error) => {
            terminal::complain(&format!(
                "error: no thread with a {STACK_BYTES} byte stack: {error}"
            ));
            Outcome::CompilerBug.exit_code()
        }
    }
}
