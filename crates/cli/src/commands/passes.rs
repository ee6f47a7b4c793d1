//! `almach passes`: the rewrites, in the order they first run.

use crate::failure::Outcome;
use crate::terminal;
use almach_driver::back::{PASSES, pass_order};

pub fn run() -> Outcome {
    let width = PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    for pass in pass_order() {
        terminal::say(&format!("{:<width$}  {}", pass.name, pass.description));
    }
    Outcome::Done
}
