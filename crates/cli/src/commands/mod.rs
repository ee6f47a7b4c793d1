//! One file per command.

mod bench;
mod build;
mod check;
mod completions;
mod emit;
mod explain;
mod explain_error;
mod fmt;
mod new;
mod passes;
mod repl;
mod run;
mod test;
mod tune;

use crate::failure::Outcome;
use crate::options::{Command, Options};
use crate::terminal;

pub fn run(options: Options) -> Outcome {
    let style = terminal::style(options.json, options.color);
    match options.command {
        Command::Run(options) => run::run(&options, style),
        Command::Check(options) => check::run(&options, style),
        Command::Test(options) => test::run(&options, style),
        Command::Build(options) => build::run(&options, style),
        Command::Bench(options) => bench::run(&options, style),
        Command::Tune(options) => tune::run(&options, style),
        Command::Fmt(options) => fmt::run(&options, style),
        Command::Emit(options) => emit::run(&options, style),
        Command::Explain(options) => explain::run(&options, style),
        Command::New(options) => new::run(&options, style),
        Command::Repl(options) => repl::run(&options, style),
        Command::Passes => passes::run(),
        Command::ExplainError(options) => explain_error::run(&options, style),
        Command::Completions(options) => completions::run(&options),
    }
}
