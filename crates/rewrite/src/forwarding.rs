//! Forwarding: an entry whose function only calls another one is that one.
//!
//! ```text
//! fun work {n} (xs: [n]f32): f32 = …
//! fun main {m} (ys: [m]f32): f32 =                 fun work {n} (xs: [n]f32): f32 = …
//!   let r: f32 = work {m} (ys)                =>   entry main = work (ys: [m]f32): f32
//!   in r
//! entry main = main (ys: [m]f32): f32
//! ```
//!
//! It stands behind inlining, for what that leaves: functions that are called from elsewhere as well.
//!
//! Removes: calls from outside to functions that only pass them on. Introduces: nothing. Guarantees: the sizes of the function
//! that is called can be told from its arguments.

use crate::{Log, Pass};
use almach_core::{Atom, Dim, Exp, FunId, Function, Program, Var};

pub const PASS: Pass = Pass {
    name: "forwarding",
    description: "makes functions entries that entries only pass their arguments on to",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    for at in 0..program.entries.len() {
        while let Some(called) = program
            .entries
            .get(at)
            .and_then(|entry| passed_on(&program, entry.function))
        {
            if let Some(entry) = program.entries.get_mut(at) {
                entry.function = called;
            }
        }
    }
    program
}

/// The other function that a function does nothing but call.
fn passed_on(program: &Program, id: FunId) -> Option<FunId> {
    let function = program.functions.get(id.0 as usize)?;
    let [stmt] = function.body.stmts.as_slice() else {
        return None;
    };
    let Exp::Call {
        function: called,
        args,
        ..
    } = &stmt.exp
    else {
        return None;
    };
    let callee = program.functions.get(called.0 as usize)?;
    let is_var = |(atom, var): (&Atom, &Var)| matches!(atom, Atom::Var(found) if found == var);
    let params = function.params.iter().map(|param| &param.var);
    let values = stmt.pattern.values.iter().map(|value| &value.var);
    let passes_all = args.len() == function.params.len() && args.iter().zip(params).all(is_var);
    let gives_all = function.body.values.len() == stmt.pattern.values.len()
        && function.body.values.iter().zip(values).all(is_var);
    let is_solved = callee.context.iter().all(|size| is_shown(size, callee));
    (*called != id && passes_all && gives_all && is_solved).then_some(*called)
}

/// Whether an argument has the size as one of its dimensions.
fn is_shown(size: &Var, function: &Function) -> bool {
    let mut found = false;
    for param in &function.params {
        param.ty.for_each_dim(&mut |dim| {
            found |= matches!(dim, Dim::Size(dim) if dim.as_var() == Some(size));
        });
    }
    found
}
