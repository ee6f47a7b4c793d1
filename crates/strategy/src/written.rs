//! The levels that the user wrote inside an operation, also in the functions it calls: what is put around them must be able
//! to start them ([`hierarchy`](crate::hierarchy)).
//!
//! ```text
//! map (\xs -> let ys = map@par f xs in ys) xss   =>   map@seq (\xs -> let ys = map@par f xs in ys) xss
//! ```

use crate::hierarchy::fits;
use almach_core::visit::{Walk, walk_exp};
use almach_core::{Exp, FunId, Op, Program};
use almach_prim::Level;
use std::collections::BTreeSet;

/// By function: the levels written in it and in what it calls.
pub(crate) struct WrittenLevels(Vec<BTreeSet<Level>>);

impl WrittenLevels {
    pub(crate) fn of(program: &Program) -> WrittenLevels {
        let mut found = WrittenLevels(vec![BTreeSet::new(); program.functions.len()]);
        // The sets grow until calls add nothing.
        loop {
            let next: Vec<BTreeSet<Level>> = program
                .functions
                .iter()
                .map(|function| found.within(|finder| finder.body(&function.body)))
                .collect();
            if next == found.0 {
                return found;
            }
            found.0 = next;
        }
    }

    fn within(&self, walk: impl FnOnce(&mut Finder<'_>)) -> BTreeSet<Level> {
        let mut finder = Finder {
            functions: self,
            found: BTreeSet::new(),
        };
        walk(&mut finder);
        finder.found
    }

    /// Whether an operation at that level can start all that is written inside it.
    pub(crate) fn fit_inside(&self, level: Level, op: &Op) -> bool {
        let inside = self.within(|finder| {
            for function in &op.functions {
                finder.body(&function.body);
            }
        });
        inside.into_iter().all(|inner| fits(level, inner).is_ok())
    }
}

struct Finder<'w> {
    functions: &'w WrittenLevels,
    found: BTreeSet<Level>,
}

impl Walk for Finder<'_> {
    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Op(op) => self.found.extend(op.annotation.level),
            Exp::Call { function, .. } => self.call(*function),
            _ => {}
        }
        walk_exp(self, exp);
    }
}

impl Finder<'_> {
    fn call(&mut self, function: FunId) {
        if let Some(levels) = self.functions.0.get(function.0 as usize) {
            self.found.extend(levels);
        }
    }
}
