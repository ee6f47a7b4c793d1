//! `almach passes`: what every program goes through, in order.

use crate::failure::Outcome;
use crate::terminal;
use almach_driver::back::pass_order;

/// What makes Core of a typed program (NOVA's basic passes), each with why there is no Core without it.
const NEEDED: &[(&str, &str)] = &[
    (
        "monomorphisation",
        "makes one copy of a function per type it is used at; Core has no type variables",
    ),
    (
        "built-in-conversion",
        "gives built-ins all their arguments and names the parameters of their functions; Core has no partial application",
    ),
    (
        "closure-conversion",
        "passes functions that are known to their calls, and makes data of those that are not; Core has no functions as values",
    ),
    (
        "let-flattening",
        "makes one flat list of bindings of nested ones; operands in Core are names and constants",
    ),
];

pub fn run() -> Outcome {
    let rewrites = pass_order();
    let names = NEEDED.iter().map(|(name, _)| name.len());
    let width = names.chain(rewrites.iter().map(|pass| pass.name.len())).max();
    let show = |name: &str, description: &str| {
        terminal::say(&format!(
            "  {name:<width$}  {description}",
            width = width.unwrap_or(0)
        ));
    };
    terminal::say("on the way to Core, which the translation needs:");
    NEEDED
        .iter()
        .for_each(|(name, description)| show(name, description));
    terminal::say("rewrites of Core, again while they find work; `--without NAME` leaves one out:");
    rewrites.iter().for_each(|pass| show(pass.name, pass.description));
    Outcome::Done
}
