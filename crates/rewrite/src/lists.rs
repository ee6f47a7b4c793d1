//! Lists: a recursion over a list that is a fold, a map or a suffix runs on arrays.
//!
//! ```text
//! fun total (l: L): i32 =                      fun total' (l: L): i32 =
//!   let r: i32 = case l: i32 of                  let {k} cells: [k]#L = reach l
//!   | Nil () -> 0i32                              assert the last of them is a Nil
//!   | Cons (x: i32, rest: L) ->             =>    let xs: [k]i32 = map (\(c: #L): i32 -> case c of | #Cons (x, _) -> x | _ -> 0) cells
//!     let s: i32 = total (rest)                   let r: i32 = reduce (+) 0i32 xs
//!     let t: i32 = x + s                          in r
//!     in t
//!   end
//!   in r
//! ```
//!
//! `reach` finds the cells of a list in linear work and in parallel (`lower/src/tabulate/lists.rs`); what is between it and the result are a map, and a
//! `reduce` or `scan` that fuse and are scheduled as all others. What a function must look like is in `lists/shape.rs`, what becomes of it
//! in `lists/parallel.rs`: a list that the recursion makes is `constructed`, so that its cells are what constructors would have made.
//!
//! Only calls that run once for the whole program, or in its sequential loops, are changed: in a parallel operation each iteration walks its own list, and
//! needs no memory for it. The function stays for these.
//!
//! Removes: calls of recursive functions. Introduces: functions that are not recursive, `reach`, `constructed`. Guarantees: the same
//! operations run on the same cells; where a list goes round in a circle, and the recursion would not end, there is an error.

mod parallel;
mod shape;

use crate::facts::Facts;
use crate::recursions::{Datum, called_from, candidates, hosts, redirect};
use crate::{Log, Pass};
use almach_core::build::Builder;
use almach_core::visit::fresh_function;
use almach_core::{FunId, Program};
use shape::Shape;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "lists",
    description: "makes folds, maps and suffixes of lists that are written as recursions parallel",
    run,
};

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let candidates = candidates(&program, Datum::List);
    if candidates.is_empty() {
        return program;
    }
    let hosts = hosts(&program);
    let called = called_from(&program, &hosts);
    let mut facts = Facts::of(&program);
    let mut builder = Builder::for_program(&program);
    let mut made: HashMap<FunId, FunId> = HashMap::new();
    let mut functions = Vec::new();
    for id in candidates {
        let Some(function) = program.functions.get(id.0 as usize) else {
            continue;
        };
        let copy = fresh_function(function, &mut builder.supply);
        facts.learn_function(&program, &copy);
        let found = Shape::of(&program, &facts, id, &copy);
        let found = found.and_then(|shape| match called.contains(&id) {
            true if shape.ends_are_plain(&copy) || shape.makes_list() => Ok(shape),
            true => Err("what it gives at the end is neither scalars nor a list".to_owned()),
            false => Err("where it is called something else is parallel already".to_owned()),
        });
        let parallel = found.and_then(|shape| {
            let words = shape.words(&program);
            match parallel::function(&mut builder, &shape, &copy) {
                Ok(function) => Ok((function, words)),
                Err(error) => Err(format!("what it would become has no type ({error:?})")),
            }
        });
        match parallel {
            Ok((parallel, words)) => {
                log.note(function.span, format!("`{}` is {words}", function.name));
                made.insert(id, FunId((program.functions.len() + functions.len()) as u32));
                functions.push(parallel);
            }
            Err(why) => log.note(
                function.span,
                format!("`{}` stays a recursion: {why}", function.name),
            ),
        }
    }
    program.next_var = builder.supply.next_var();
    redirect(&mut program, &hosts, &made);
    program.functions.extend(functions);
    program
}
