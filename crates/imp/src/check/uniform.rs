//! What differs between the work-items of a group: their number, and what is computed from it, or in a place that not all of them
//! come to. What all of them read from one cell is the same: a write between two barriers would race with the other reads.

use crate::ir::{Argument, Expr, Index, LoopMode, Stmt};
use almach_base::Name;
use rustc_hash::FxHashSet;

/// The names inside a loop over work-items, its index among them, that may have a value of its own for each.
pub(super) fn differing(index: &Name, body: &[Stmt]) -> FxHashSet<Name> {
    let mut found = Differing(FxHashSet::from_iter([index.clone()]));
    loop {
        let before = found.0.len();
        found.block(body, false);
        if found.0.len() == before {
            return found.0;
        }
    }
}

/// Whether an expression may have different values for the work-items of a group.
pub(super) fn may_differ(expr: &Expr, differs: &FxHashSet<Name>) -> bool {
    let index = |index: &Index| index.free_vars().any(|name| differs.contains(name));
    match expr {
        Expr::Const(_) => false,
        Expr::Var(name) => differs.contains(name),
        Expr::Index(found) => index(found),
        Expr::Load(buffer, found) => differs.contains(buffer) || index(found),
        Expr::Unary(_, a) => may_differ(a, differs),
        Expr::Binary(_, a, b) => may_differ(a, differs) || may_differ(b, differs),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().any(|part| may_differ(part, differs))
        }
    }
}

struct Differing(FxHashSet<Name>);

impl Differing {
    fn differs(&self, expr: &Expr) -> bool {
        may_differ(expr, &self.0)
    }

    fn add(&mut self, name: &Name) {
        self.0.insert(name.clone());
    }

    /// `apart`: not all work-items come here, or not equally often.
    fn block(&mut self, stmts: &[Stmt], apart: bool) {
        stmts.iter().for_each(|stmt| self.stmt(stmt, apart));
    }

    fn stmt(&mut self, stmt: &Stmt, apart: bool) {
        match stmt {
            Stmt::Let { name, value, .. } => {
                if self.differs(value) {
                    self.add(name);
                }
            }
            Stmt::Var { name, value, .. } => {
                if value.as_ref().is_some_and(|value| self.differs(value)) {
                    self.add(name);
                }
            }
            Stmt::Assign { name, value } => {
                if apart || self.differs(value) {
                    self.add(name);
                }
            }
            Stmt::Buffer { name, .. } | Stmt::Reserve { name, .. } => self.add(name),
            Stmt::Atomic { step, .. } => {
                if let Some((name, _)) = step.bound() {
                    self.add(name);
                }
            }
            Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => {
                for argument in arguments {
                    if let Argument::Out(name) = argument {
                        self.add(name);
                    }
                }
            }
            Stmt::For {
                index,
                count,
                mode,
                body,
                ..
            } => {
                let same = *mode == LoopMode::Seq && !self.differs(&Expr::Index(count.clone()));
                if !same {
                    self.add(index);
                }
                self.block(body, apart || !same);
            }
            Stmt::While { condition, body } => {
                let apart = apart || self.differs(condition);
                self.block(body, apart);
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                let apart = apart || self.differs(condition);
                self.block(then, apart);
                self.block(otherwise, apart);
            }
            Stmt::Store { .. }
            | Stmt::Alloc { .. }
            | Stmt::Shrink { .. }
            | Stmt::Free(_)
            | Stmt::Borrow { .. }
            | Stmt::Swap(..)
            | Stmt::Copy { .. }
            | Stmt::Await { .. }
            | Stmt::Barrier
            | Stmt::Check { .. }
            | Stmt::Trace { .. }
            | Stmt::Kernel { .. }
            | Stmt::Transfer(_)
            | Stmt::At(_) => {}
        }
    }
}
