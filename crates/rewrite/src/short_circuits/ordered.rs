//! Branches that exclude each other: where one value implies the condition, and the other its opposite, one of them holds.
//!
//! ```text
//! let c: bool = x_ordered & y_ordered       -- x == x, y == y: no NaN
//! let r: bool = if c: bool then                     let a: bool = x < y
//!     let a: bool = x < y                           let n: bool = !y_ordered
//!     in a                                    =>    let b: bool = x_ordered & n
//!   else                                            let r: bool = a | b
//!     let n: bool = !y_ordered
//!     let b: bool = x_ordered & n
//!     in b
//! ```
//!
//! A comparison of floats that holds implies that both are ordered. This is `precedes`, the order of `sort` and `argmin`.

use almach_core::{Atom, Exp, Stmt, Type, Var};
use almach_value::{BinOp, UnOp};
use std::collections::HashMap;

/// How conditions were made.
#[derive(Default)]
pub(super) struct Conditions(HashMap<Var, Exp>);

impl Conditions {
    pub(super) fn learn(&mut self, stmt: &Stmt) {
        if let ([value], Exp::Binary(..) | Exp::Unary(UnOp::Not, _)) =
            (stmt.pattern.values.as_slice(), &stmt.exp)
            && value.ty == Type::BOOL
        {
            self.0.insert(value.var.clone(), stmt.exp.clone());
        }
    }

    fn made(&self, atom: &Atom) -> Option<&Exp> {
        match atom {
            Atom::Var(var) => self.0.get(var),
            Atom::Const(_) => None,
        }
    }

    /// What a condition is the conjunction of.
    fn parts<'c>(&'c self, condition: &'c Atom, into: &mut Vec<&'c Atom>) {
        match self.made(condition) {
            Some(Exp::Binary(BinOp::And, a, b)) => {
                self.parts(a, into);
                self.parts(b, into);
            }
            _ => into.push(condition),
        }
    }

    /// The number of which a condition says that it is no NaN.
    fn ordered(&self, condition: &Atom) -> Option<&Atom> {
        match self.made(condition)? {
            Exp::Binary(BinOp::Eq, a, b) if a == b => Some(a),
            _ => None,
        }
    }

    /// Whether a value implies a condition: a comparison, and that what it compares is ordered.
    pub(super) fn implies(&self, value: &Atom, condition: &Atom) -> bool {
        let Some(Exp::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge, x, y)) = self.made(value) else {
            return false;
        };
        let mut parts = Vec::new();
        self.parts(condition, &mut parts);
        let is_one = |part: &&Atom| {
            self.ordered(part)
                .is_some_and(|number| number == x || number == y)
        };
        parts.iter().all(is_one)
    }

    /// Whether a value implies the opposite of a condition: it holds that of a part.
    pub(super) fn excludes(&self, value: &Atom, condition: &Atom) -> bool {
        let (mut parts, mut own) = (Vec::new(), Vec::new());
        self.parts(condition, &mut parts);
        self.parts(value, &mut own);
        own.into_iter().any(|part| match self.made(part) {
            Some(Exp::Unary(UnOp::Not, of)) => parts.contains(&of),
            _ => false,
        })
    }
}
