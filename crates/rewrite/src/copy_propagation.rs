//! Copy propagation: a name for another name or a constant goes.
//!
//! ```text
//! let y: i32 = x              let z: i32 = x + 1i32
//! let z: i32 = y + 1i32   =>  in z
//! in z
//! ```
//!
//! It stands after every pass that leaves copies behind, which lets those be simple.
//!
//! Removes: statements that bind an atom. Introduces: nothing. Guarantees: no statement binds an atom.

use crate::{Log, Pass};
use almach_core::visit::{Substitution, WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Body, Exp, Program, Stmt, Type};

pub const PASS: Pass = Pass {
    name: "copy-propagation",
    description: "replaces names for names and constants by what they stand for",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut copies = Copies(Substitution::new());
    for function in &mut program.functions {
        walk_function_mut(&mut copies, function);
    }
    program
}

/// Uses follow binders in evaluation order, so one walk replaces everything.
struct Copies(Substitution);

impl WalkMut for Copies {
    fn atom(&mut self, atom: &mut Atom) {
        self.0.atom(atom);
    }

    fn ty(&mut self, ty: &mut Type) {
        self.0.ty(ty);
    }

    fn body(&mut self, body: &mut Body) {
        body.stmts.retain_mut(|stmt| {
            walk_stmt_mut(self, stmt);
            !self.is_copy(stmt)
        });
        body.context.iter_mut().for_each(|atom| self.atom(atom));
        body.values.iter_mut().for_each(|atom| self.atom(atom));
    }
}

impl Copies {
    fn is_copy(&mut self, stmt: &Stmt) -> bool {
        match (&stmt.exp, stmt.pattern.values.as_slice()) {
            (Exp::Atom(atom), [value]) => {
                self.0.insert(value.var.clone(), atom.clone());
                true
            }
            _ => false,
        }
    }
}
