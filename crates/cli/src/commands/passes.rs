//! `almach passes`: the rewrites, in the order they first run.

use crate::failure::Outcome;
use crate::terminal;
use almach_driver::back::{PASSES, Pass, STANDARD};

pub fn run() -> Outcome {
    let mut order: Vec<&Pass> = Vec::new();
    for pass in STANDARD {
        if !order.iter().any(|other| other.name == pass.name) {
            order.push(pass);
        }
    }
    let width = PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    for pass in order {
        terminal::say(&format!("{:<width$}  {}", pass.name, pass.description));
    }
    Outcome::Done
}
