//! Normal sizes: every size in a type is written with the variables that nothing defines.
//!
//! ```text
//! let m: i64 = n * 2i64             let m: i64 = n * 2i64
//! let xs: [m]i64 = iota m      =>   let xs: [2*n]i64 = iota m
//! in xs                             in xs
//! ```
//!
//! The size of a result is computed as soon as it is known, so that the result can be made where it is wanted:
//!
//! ```text
//! let {k} kept: [k]i64 = filter p xs             let {k} kept: [k]i64 = filter p xs
//! let ys: [2*k]i64 = map f (concat kept kept)    let size: i64 = k + k
//! let size: i64 = k + k                      =>  let ys: [2*k]i64 = map f (concat kept kept)
//! in {size} ys                                   in {size} ys
//! ```
//!
//! It stands last. What later rooms make of a program depends on how its sizes are written; so two programs that differ in
//! that only become one, in particular a program and what its own source elaborates to.
//!
//! Removes: variables from types that are sums and products of others. Introduces: nothing.

use crate::facts::Facts;
use crate::{Log, Pass};
use almach_core::visit::{Vars, WalkMut, walk_body_mut, walk_function_mut};
use almach_core::{Atom, Body, Exp, Program, Stmt, Type, Var};
use almach_value::{BinOp, ScalarType};
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "normal-sizes",
    description: "writes sizes in their normal form",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut normal = Normal(Facts::of(&program));
    for function in &mut program.functions {
        walk_function_mut(&mut normal, function);
    }
    program
}

struct Normal(Facts);

impl WalkMut for Normal {
    fn ty(&mut self, ty: &mut Type) {
        *ty = self.0.env.normalise(ty);
    }

    fn body(&mut self, body: &mut Body) {
        walk_body_mut(self, body);
        sizes_first(body);
    }
}

/// The sizes that a body gives, and what they are made of, stand right behind what they need.
fn sizes_first(body: &mut Body) {
    let mut needed: HashSet<Var> = HashSet::new();
    for atom in &body.context {
        if let Atom::Var(var) = atom {
            needed.insert(var.clone());
        }
    }
    for stmt in body.stmts.iter().rev() {
        if is_size(stmt) && binds(stmt, &needed) {
            needed.extend(Vars::of_exp(&stmt.exp).free().cloned());
        }
    }
    let (sizes, others): (Vec<Stmt>, Vec<Stmt>) = std::mem::take(&mut body.stmts)
        .into_iter()
        .partition(|stmt| is_size(stmt) && binds(stmt, &needed));
    let mut missing: HashSet<Var> = others.iter().chain(&sizes).flat_map(bound).cloned().collect();
    let mut waiting = sizes;
    let mut release = |missing: &mut HashSet<Var>, stmts: &mut Vec<Stmt>| {
        for stmt in std::mem::take(&mut waiting) {
            let is_ready = Vars::of_exp(&stmt.exp).free().all(|var| !missing.contains(var));
            match is_ready {
                true => {
                    bound(&stmt).for_each(|var| {
                        missing.remove(var);
                    });
                    stmts.push(stmt);
                }
                false => waiting.push(stmt),
            }
        }
    };
    release(&mut missing, &mut body.stmts);
    for stmt in others {
        bound(&stmt).for_each(|var| {
            missing.remove(var);
        });
        body.stmts.push(stmt);
        release(&mut missing, &mut body.stmts);
    }
}

/// A sum or product of numbers that cannot fail.
fn is_size(stmt: &Stmt) -> bool {
    matches!(stmt.exp, Exp::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, ..))
        && matches!(stmt.pattern.values.as_slice(), [value] if value.ty == Type::Scalar(ScalarType::I64))
}

fn binds(stmt: &Stmt, vars: &HashSet<Var>) -> bool {
    bound(stmt).any(|var| vars.contains(var))
}

fn bound(stmt: &Stmt) -> impl Iterator<Item = &Var> {
    let values = stmt.pattern.values.iter().map(|value| &value.var);
    stmt.pattern.context.iter().chain(values)
}
