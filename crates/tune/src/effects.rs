//! Effects put on operations that have none.
//!
//! ```text
//! map f (map g xs)   =>   map@E f (map@S g xs)   or   map f (map@E g xs)   or …
//! ```
//!
//! An operation with an effect is fixed, so an eager one is also one that is not fused. Effects that do not compose with the others
//! are taken back, as the rules of the thesis never make a program that its effect check refuses (eq. 6.3-6.7).

use almach_base::Span;
use almach_core::visit::{Walk, WalkMut, walk_function, walk_function_mut, walk_stmt, walk_stmt_mut};
use almach_core::{Exp, Program, Stmt};
use almach_prim::{Effect, Prim};
use almach_strategy::effects::check_effects;
use std::collections::BTreeMap;

/// An operation that may have an effect, in the order of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    pub span: Span,
    pub prim: Prim,
}

/// Effects by the number of their site.
pub(crate) type Effects = BTreeMap<usize, Effect>;

/// The operations of a program that have no annotation and could have an effect.
pub(crate) fn sites(program: &Program) -> Vec<Site> {
    struct Finder(Vec<Site>);
    impl Walk for Finder {
        fn stmt(&mut self, stmt: &Stmt) {
            self.0.extend(site(stmt));
            walk_stmt(self, stmt);
        }
    }
    let mut finder = Finder(Vec::new());
    for function in &program.functions {
        walk_function(&mut finder, function);
    }
    finder.0
}

fn site(stmt: &Stmt) -> Option<Site> {
    match &stmt.exp {
        Exp::Op(op) if op.annotation.is_none() && !op.prim.info().effects.is_empty() => Some(Site {
            span: stmt.span,
            prim: op.prim,
        }),
        _ => None,
    }
}

/// A program with effects. Those that do not compose are taken back, also in `effects`.
pub(crate) fn with_effects(program: &Program, effects: &mut Effects) -> Program {
    let sites = sites(program);
    loop {
        let annotated = annotated(program, effects);
        let wrong = check_effects(&annotated);
        if wrong.is_empty() {
            return annotated;
        }
        let before = effects.len();
        let is_wrong = |span: Span| wrong.iter().any(|diagnostic| diagnostic.primary.span == span);
        effects.retain(|at, effect| {
            let here = sites.get(*at).is_some_and(|site| is_wrong(site.span));
            !here || *effect == Effect::Eager
        });
        if effects.len() == before {
            effects.clear();
            return program.clone();
        }
    }
}

fn annotated(program: &Program, effects: &Effects) -> Program {
    struct Writer<'e> {
        effects: &'e Effects,
        next: usize,
    }
    impl WalkMut for Writer<'_> {
        fn stmt(&mut self, stmt: &mut Stmt) {
            if site(stmt).is_some() {
                if let Exp::Op(op) = &mut stmt.exp {
                    op.annotation.effect = self.effects.get(&self.next).copied();
                }
                self.next += 1;
            }
            walk_stmt_mut(self, stmt);
        }
    }
    let mut program = program.clone();
    let mut writer = Writer { effects, next: 0 };
    for function in &mut program.functions {
        walk_function_mut(&mut writer, function);
    }
    program
}
