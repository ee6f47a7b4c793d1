//! Short circuits: `a && b` as an operator instead of a branch, where `b` is cheap and cannot fail.
//!
//! ```text
//! let r: bool = if a: bool then             let b: bool = x < y
//!     let b: bool = x < y               =>  let r: bool = a & b
//!     in b
//!   else false
//! ```
//!
//! Branches keep bodies from being fused, hoisted and run on vectors. What might fail stays behind its condition:
//! `i < n && xs[i] > 0` keeps its branch.
//!
//! Branches that exclude each other are one operator too (`ordered`).
//!
//! Removes: branches that give a boolean. Introduces: `&`, `|`, `!`. Guarantees: what is now always run cannot fail
//! and takes a few scalar operations.

mod ordered;

use crate::facts::Facts;
use crate::{Log, Pass};
use almach_core::typing::Supply;
use almach_core::visit::{WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Body, Exp, Param, Pattern, Program, Stmt, Type};
use almach_value::{BinOp, Scalar, UnOp};
use ordered::Conditions;

/// A branch of more statements is worth skipping.
const CHEAP: usize = 8;

pub const PASS: Pass = Pass {
    name: "short-circuits",
    description: "makes operators of branches on cheap conditions",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut circuits = Circuits {
        facts: Facts::of(&program),
        supply: Supply::starting_at(program.next_var),
        conditions: Conditions::default(),
    };
    for function in &mut program.functions {
        walk_function_mut(&mut circuits, function);
    }
    program.next_var = circuits.supply.next_var();
    program
}

struct Circuits {
    facts: Facts,
    supply: Supply,
    conditions: Conditions,
}

impl WalkMut for Circuits {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            // Inner branches first: they may have become cheap.
            walk_stmt_mut(self, &mut stmt);
            let from = stmts.len();
            match self.operator(&stmt.exp) {
                Some(operator) => self.expand(operator, stmt, &mut stmts),
                None => match self.either(&stmt) {
                    Some(either) => stmts.extend(either),
                    None => stmts.push(stmt),
                },
            }
            let new = stmts.iter().skip(from);
            new.for_each(|stmt| self.conditions.learn(stmt));
        }
        body.stmts = stmts;
    }
}

/// `condition op value`, once the body has run; the condition is negated first where asked.
struct Operator {
    op: BinOp,
    condition: Atom,
    negated: Negated,
    body: Body,
    value: Atom,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Negated {
    Yes,
    No,
}

impl Circuits {
    fn operator(&self, exp: &Exp) -> Option<Operator> {
        let Exp::If {
            condition,
            then,
            otherwise,
            result,
        } = exp
        else {
            return None;
        };
        if !result.context.is_empty() || result.types != [Type::BOOL] {
            return None;
        }
        let (op, negated, body) = match (decided(then), decided(otherwise)) {
            (Some(true), _) => (BinOp::Or, Negated::No, otherwise),
            (_, Some(false)) => (BinOp::And, Negated::No, then),
            (Some(false), _) => (BinOp::And, Negated::Yes, otherwise),
            (_, Some(true)) => (BinOp::Or, Negated::Yes, then),
            (None, None) => return None,
        };
        let [value] = body.values.as_slice() else {
            return None;
        };
        self.is_cheap(body).then(|| Operator {
            op,
            condition: condition.clone(),
            negated,
            body: body.clone(),
            value: value.clone(),
        })
    }

    /// Branches that exclude each other: what both do, and `|` of what they give.
    fn either(&self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::If {
            condition,
            then,
            otherwise,
            result,
        } = &stmt.exp
        else {
            return None;
        };
        let ([a], [b]) = (then.values.as_slice(), otherwise.values.as_slice()) else {
            return None;
        };
        let is_plain = result.context.is_empty() && result.types == [Type::BOOL];
        let excluded = self.conditions.implies(a, condition) && self.conditions.excludes(b, condition);
        if !is_plain || !excluded || !self.is_cheap(then) || !self.is_cheap(otherwise) {
            return None;
        }
        let mut stmts = then.stmts.clone();
        stmts.extend(otherwise.stmts.iter().cloned());
        stmts.push(Stmt {
            exp: Exp::Binary(BinOp::Or, a.clone(), b.clone()),
            ..stmt.clone()
        });
        Some(stmts)
    }

    fn is_cheap(&self, body: &Body) -> bool {
        body.stmts.len() <= CHEAP
            && body.stmts.iter().all(|stmt| {
                let scalar = matches!(
                    stmt.exp,
                    Exp::Atom(_) | Exp::Unary(..) | Exp::Binary(..) | Exp::Ternary(..) | Exp::Project(..)
                );
                scalar && !self.facts.can_fail(&stmt.exp)
            })
    }

    fn expand(&mut self, operator: Operator, stmt: Stmt, out: &mut Vec<Stmt>) {
        out.extend(operator.body.stmts);
        let condition = match operator.negated {
            Negated::No => operator.condition,
            Negated::Yes => {
                let value = Param {
                    var: self.supply.fresh("otherwise"),
                    ty: Type::BOOL,
                };
                let negated = Atom::Var(value.var.clone());
                let negation = Stmt {
                    pattern: Pattern {
                        context: Vec::new(),
                        values: vec![value],
                    },
                    exp: Exp::Unary(UnOp::Not, operator.condition),
                    span: stmt.span,
                };
                self.facts.learn(&negation);
                out.push(negation);
                negated
            }
        };
        out.push(Stmt {
            exp: Exp::Binary(operator.op, condition, operator.value),
            ..stmt
        });
    }
}

/// The boolean a body gives without doing anything.
fn decided(body: &Body) -> Option<bool> {
    match (body.stmts.as_slice(), body.values.as_slice()) {
        ([], [Atom::Const(Scalar::Bool(value))]) => Some(*value),
        _ => None,
    }
}
