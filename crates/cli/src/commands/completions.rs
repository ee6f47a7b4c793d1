//! `almach completions SHELL`.

use crate::failure::Outcome;
use crate::options::{CompletionOptions, Options};
use crate::terminal;
use clap::CommandFactory;

pub fn run(options: &CompletionOptions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Options::command(), "almach", &mut script);
    terminal::say_raw(&String::from_utf8_lossy(&script));
    Outcome::Done
}
