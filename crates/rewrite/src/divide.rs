//! Divide and conquer: a recursion whose calls do not wait for each other goes level by level, until there are calls enough for all threads.
//!
//! ```text
//! fun sort {n} (xs: [n]i32): {m} [m]i32 =        fun sort_levels {c} (d: i64, xss: [c][?]i32): [c][?]i32 =
//!   let t: bool = n <= 1                           if d <= 0 || c <= 0 then map sort xss
//!   let r = if t then xs                           else
//!   else                                             let kind, leaf, equal, below, above = map@seq (what a call does before it calls) xss
//!     let pivot = xs[n / 2]                 =>       let calls = positions of those that call
//!     let below = filter (< pivot) xs                let parts = concat (gather calls below) (gather calls above)
//!     let equal = filter (== pivot) xs               let sorted = sort_levels (d - 1) parts
//!     let above = filter (> pivot) xs                in map@seq (\i -> if kind[i] == 0 then leaf[i] else
//!     in sort below ++ equal ++ sort above             sorted[b] ++ equal[i] ++ sorted[a]) (iota c)
//!   in r
//! ```
//!
//! The calls of one level are in arrays, one for each parameter, with rows of their own sizes where that is an array. Above, where calls are few and
//! have much to do, they are done one after the other, and what each does is parallel; at the last level calls are many, and threads share them. What a
//! call computes before it calls itself and needs afterwards is kept between the two, so nothing is computed twice.
//!
//! This asks nothing of what the function computes: the same calls are made with the same arguments. Only calls that
//! run once for the whole program are changed, and where nothing is an array also those in its sequential loops.
//!
//! Removes: calls of recursive functions. Introduces: for each a function of levels, and one that calls it with one call. Guarantees: the same calls.

mod levels;
mod shape;
mod slots;

use crate::call_graph::recursive_functions;
use crate::facts::callees;
use crate::recursions::{Places, Reason, called_in, hosts_in, redirect_in};
use crate::{Log, Pass};
use almach_core::build::Builder;
use almach_core::{FunId, Function, Program, Type};
use shape::Shape;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "divide",
    description: "does recursions that divide and conquer level by level, until there are calls enough for all threads",
    run,
};

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let recursive = recursive_functions(&program);
    let mut builder = Builder::for_program(&program);
    let mut functions = Vec::new();
    // What gives arrays leaves cells behind (`levels/cells.rs`).
    for (places, gives_arrays) in [(Places::Host, false), (Places::Once, true)] {
        let hosts = hosts_in(&program, places);
        let called = called_in(&program, &hosts, places);
        let mut made: HashMap<FunId, FunId> = HashMap::new();
        for (id, function) in (0u32..).map(FunId).zip(&program.functions) {
            let is_recursive = recursive.get(id.0 as usize).copied().unwrap_or(false);
            let calls = callees(&function.body).into_iter().filter(|callee| *callee == id);
            let is_asked =
                is_recursive && called.contains(&id) && gives_arrays == self::gives_arrays(function);
            if !is_asked || calls.count() < 2 {
                continue;
            }
            match divided(&mut builder, &program, id, function) {
                Ok((first, new)) => {
                    log.note(function.span, words(function));
                    made.insert(id, first);
                    functions.extend(new);
                }
                Err(why) => log.note(
                    function.span,
                    format!("`{}` is not done level by level: {why}", function.name),
                ),
            }
        }
        redirect_in(&mut program, &hosts, places, &made);
    }
    program.next_var = builder.supply.next_var();
    program.data = builder.signatures.data;
    program.functions.extend(functions);
    program
}

fn gives_arrays(function: &Function) -> bool {
    let mut types = function.result.types.iter();
    types.any(|ty| matches!(ty, Type::Array(..)))
}

fn words(function: &Function) -> String {
    format!(
        "`{}` divides and conquers: its calls are made level by level, {} levels deep, where each is parallel inside; those that are left are done in parallel",
        function.name,
        levels::DEPTH
    )
}

/// The function to call instead, and those it is made of.
fn divided(
    builder: &mut Builder,
    program: &Program,
    id: FunId,
    function: &Function,
) -> Result<(FunId, [Function; 2]), Reason> {
    Shape::of(program, id, function)?;
    let (functions, data) = (builder.signatures.functions.len(), builder.signatures.data.len());
    let made = levels::made(builder, program, id, function);
    if made.is_err() {
        builder.signatures.functions.truncate(functions);
        builder.signatures.data.truncate(data);
    }
    made
}
