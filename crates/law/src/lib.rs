//! The law, tested: `interpret(p) = interpret(erase(a)) = run(lower(a))` on random well-typed programs.
//!
//! `generate` makes a program and arguments from a seed; `stages` runs it through every stage and compares; `shrink`
//! makes a failing program small; `hunt` does so for many, in processes of their own.

mod again;
mod compile;
pub mod dpia;
pub mod generate;
pub mod hunt;
pub mod mutate;
pub mod nova;
mod outside;
pub mod rng;
pub mod shrink;
pub mod stages;
pub mod tree;

pub use compile::Settings;
