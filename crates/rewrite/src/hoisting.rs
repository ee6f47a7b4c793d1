//! Hoisting: what every iteration computes alike is computed once, before.
//!
//! ```text
//! let ys: [n]f32 = map (\(x: f32): f32 ->       let s: f32 = sqrt c
//!   let s: f32 = sqrt c                         let ys: [n]f32 = map (\(x: f32): f32 ->
//!   let y: f32 = x * s                      =>    let y: f32 = x * s
//!   in y) xs                                      in y) xs
//! ```
//!
//! A function or loop body may run no time at all, so only what cannot fail is moved (division by an unknown number stays), and only
//! what makes no more data than it reads. Branches stay as they are: one of two is run, and hoisting would run both.
//!
//! Removes: nothing. Introduces: nothing. Guarantees: fixed operations, and what prints, stay where they are.

use crate::facts::Facts;
use crate::{Log, Pass};
use almach_core::visit::{Vars, Walk, WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Body, Exp, Lambda, Loop, LoopForm, Op, Program, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::BinOp;
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "hoisting",
    description: "computes what does not change before the loop or map that needs it",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut hoister = Hoister {
        facts: Facts::of(&program),
    };
    for function in &mut program.functions {
        walk_function_mut(&mut hoister, function);
    }
    program
}

struct Hoister {
    facts: Facts,
}

impl WalkMut for Hoister {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            // Inner bodies first: what leaves them may leave this one too.
            walk_stmt_mut(self, &mut stmt);
            self.hoist_from(&mut stmt.exp, &mut stmts);
            stmts.push(stmt);
        }
        body.stmts = stmts;
    }
}

impl Hoister {
    fn hoist_from(&self, exp: &mut Exp, out: &mut Vec<Stmt>) {
        match exp {
            Exp::Op(op) => {
                for function in &mut op.functions {
                    let inside = bound_by_lambda(function);
                    self.hoist(&mut function.body, inside, out);
                }
            }
            Exp::Loop(looped) => {
                let inside = bound_by_loop(looped);
                if let LoopForm::While(condition) = &mut looped.form {
                    self.hoist(condition, inside.clone(), out);
                }
                self.hoist(&mut looped.body, inside, out);
            }
            _ => {}
        }
    }

    /// Moves the statements of a body that depend on nothing `inside`.
    fn hoist(&self, body: &mut Body, mut inside: HashSet<Var>, out: &mut Vec<Stmt>) {
        let mut kept = Vec::with_capacity(body.stmts.len());
        // Sizes of arrays that stay: that these are not negative is known after them, and types may rely on it.
        let mut sizes: HashSet<Var> = HashSet::new();
        for stmt in std::mem::take(&mut body.stmts) {
            if self.is_worth_moving(&stmt) && !depends_on(&stmt, &inside) && !divides(&stmt, &sizes) {
                out.push(stmt);
            } else {
                for value in &stmt.pattern.values {
                    value.ty.for_each_size_var(&mut |var| {
                        sizes.insert(var.clone());
                    });
                }
                inside.extend(stmt.pattern.context.iter().cloned());
                inside.extend(stmt.pattern.values.iter().map(|value| value.var.clone()));
                kept.push(stmt);
            }
        }
        body.stmts = kept;
    }

    fn is_worth_moving(&self, stmt: &Stmt) -> bool {
        let moves = match &stmt.exp {
            Exp::Unary(..) | Exp::Binary(..) | Exp::Ternary(..) | Exp::Tuple(_) | Exp::Project(..) => true,
            Exp::Op(op) => makes_little(op, stmt),
            Exp::Atom(_)
            | Exp::Array(..)
            | Exp::Construct { .. }
            | Exp::ConstructNode { .. }
            | Exp::If { .. }
            | Exp::Case { .. }
            | Exp::Loop(_)
            | Exp::Call { .. }
            | Exp::Foreign { .. }
            | Exp::Index { .. }
            | Exp::Slice { .. }
            | Exp::Update { .. }
            | Exp::Coerce { .. }
            | Exp::Assert { .. }
            | Exp::Trace { .. } => false,
        };
        moves
            && !self.facts.can_fail(&stmt.exp)
            && !self.facts.prints(&stmt.exp)
            && !self.facts.holds_fixed(&stmt.exp)
    }
}

/// Whether the operation gives scalars, or arrays of scalars no longer than what it reads.
fn makes_little(op: &Op, stmt: &Stmt) -> bool {
    let flat = stmt.pattern.values.iter().all(|value| is_flat(&value.ty));
    match op.prim {
        Prim::Map
        | Prim::Reduce
        | Prim::ReduceComm
        | Prim::ReduceSeq
        | Prim::Scan
        | Prim::ScanExclusive
        | Prim::Iota => flat,
        Prim::Length
        | Prim::Reverse
        | Prim::Rotate
        | Prim::Transpose
        | Prim::Zip
        | Prim::Unzip
        | Prim::Join => true,
        _ => false,
    }
}

/// A scalar, or an array of scalars or of tuples of scalars.
fn is_flat(ty: &Type) -> bool {
    match ty {
        Type::Array(_, element) => is_small(element),
        other => is_small(other),
    }
}

fn is_small(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) => true,
        Type::Tuple(parts) => parts.iter().all(is_small),
        Type::Array(..) | Type::Data(_) | Type::Node(_) => false,
    }
}

fn bound_by_lambda(function: &Lambda) -> HashSet<Var> {
    let params = function.params.iter().map(|param| &param.var);
    function.context.iter().chain(params).cloned().collect()
}

fn bound_by_loop(looped: &Loop) -> HashSet<Var> {
    let context = looped.context.iter().map(|(var, _)| var);
    let params = looped.params.iter().map(|(param, _)| &param.var);
    let mut bound: HashSet<Var> = context.chain(params).cloned().collect();
    if let LoopForm::For { index, .. } = &looped.form {
        bound.insert(index.var.clone());
    }
    bound
}

/// Whether the statement is the quotient or remainder of one of these sizes: a floor only where it is not negative.
fn divides(stmt: &Stmt, sizes: &HashSet<Var>) -> bool {
    match &stmt.exp {
        Exp::Binary(BinOp::Div | BinOp::Rem, Atom::Var(divided), _) => sizes.contains(divided),
        _ => false,
    }
}

fn depends_on(stmt: &Stmt, inside: &HashSet<Var>) -> bool {
    let mut vars = Vars::default();
    vars.stmt(stmt);
    vars.used.iter().any(|var| inside.contains(var))
}
