//! Memory passes: each a function from memory to memory in a file of its own; the program stays as it is.

mod double_buffer;
mod expand;
mod hoist;
mod in_place;
mod merge;
mod obstacle;
mod settle;
mod short_circuit;

pub use double_buffer::double_buffer;
pub use expand::{Layout, expand};
pub use hoist::hoist;
pub use in_place::in_place;
pub use merge::merge;
pub use obstacle::Obstacle;
pub use settle::settle;
pub use short_circuit::short_circuit;

use crate::check::{check, check_final};
use crate::ir::Annotated;
use almach_base::{Diagnostic, Span};
use almach_core::Var;

/// What passes did and did not do, and why.
#[derive(Clone, Default, Debug)]
pub struct Log {
    pub notes: Vec<Note>,
}

/// About one array.
#[derive(Clone, Debug)]
pub struct Note {
    pub var: Var,
    pub done: bool,
    pub why: String,
    /// The use that is in the way, where it is one.
    pub read: Option<Span>,
    /// What would help, where it was not done.
    pub help: Option<String>,
    /// What was proved for it, in words.
    pub proofs: Vec<String>,
}

impl Note {
    pub fn done(var: &Var, why: impl Into<String>) -> Note {
        Note {
            var: var.clone(),
            done: true,
            why: why.into(),
            read: None,
            help: None,
            proofs: Vec::new(),
        }
    }

    pub fn proved(self, proofs: Vec<String>) -> Note {
        Note { proofs, ..self }
    }

    pub fn left(var: &Var, obstacle: Obstacle) -> Note {
        Note {
            done: false,
            read: obstacle.read,
            help: obstacle.help,
            ..Note::done(var, obstacle.why)
        }
    }
}

/// A pass with its name.
pub struct Pass {
    pub name: &'static str,
    pub run: fn(Annotated, &mut Log) -> Annotated,
}

/// The passes, in order:
/// - updates first: a `with` in place is where its new part can be built;
/// - then loops that carry one block name it;
/// - then copies go, while blocks are still made next to the statements that fill them;
/// - then what a loop carries and cannot update gets two blocks;
/// - then what is left is made outside of loops, and shared.
pub const STANDARD: &[Pass] = &[
    Pass {
        name: "in_place",
        run: in_place,
    },
    Pass {
        name: "settle",
        run: settle,
    },
    Pass {
        name: "short_circuit",
        run: short_circuit,
    },
    Pass {
        name: "double_buffer",
        run: double_buffer,
    },
    Pass {
        name: "hoist",
        run: hoist,
    },
    Pass {
        name: "merge",
        run: merge,
    },
];

/// Runs passes, checking after each. A final plan that is not proved right as a whole is not used: the last one on the way to it that
/// is proved is taken, which may be the first, where nothing is shared.
pub fn run(program: Annotated, passes: &[Pass], log: &mut Log) -> Result<Annotated, Box<Diagnostic>> {
    let mut program = program;
    let mut before = Vec::new();
    for pass in passes {
        before.push(program.memory.clone());
        program = (pass.run)(program, log);
        check(&program).map_err(|broken| Box::new(broken.diagnostic(pass.name)))?;
    }
    while check_final(&program).is_err()
        && let Some(memory) = before.pop()
    {
        program.memory = memory;
    }
    Ok(program)
}
