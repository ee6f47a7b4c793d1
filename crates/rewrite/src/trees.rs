//! Trees: a recursion that goes on in several parts of its datum is cut into subtrees, which run in parallel.
//!
//! ```text
//! fun total (t: T): i32 =                      fun total' (t: T): i32 =
//!   let r: i32 = case t: i32 of                  calls = [t], of which none is opened
//!   | Leaf (x: i32) -> x                         while a call is left to open and there is room: open the next one,
//!   | Fork (x: i32, l: T, r: T) ->          =>     and put total (l) and total (r) behind the last
//!     let a: i32 = total (l)                     results of those that are not opened = map total of them
//!     let b: i32 = total (r)                     from the last that was opened to the first: its result, of those of its calls
//!     let s: i32 = a + b                         the first result
//!     …
//! ```
//!
//! This asks nothing of what the results are combined by: the same calls are made, with the same arguments, and each result is used where it was. So it is right for a fold by any
//! function, for a map (the cells of a subtree are made where it runs), for what is handed down (a depth), for parts that are shared, and it fails where the recursion does. Opening takes
//! the calls in the order they came, so those that are left are as near to the root as can be. In a tree that is a path hardly any are left, and the recursion does the rest:
//! it has a stack on the heap.
//!
//! A tree of a few nodes is opened whole, in room for a few; only where something is left is there more room (`trees/parallel.rs`). What a function must look like
//! is in `trees/shape.rs`. As with lists, only calls that run once for the whole program, or in its sequential loops, are changed.
//!
//! Removes: calls of recursive functions. Introduces: functions that are not recursive, and call the ones that are in a `map`. Guarantees: the same calls.

mod parallel;
pub(crate) mod shape;
mod straighten;

use crate::recursions::{Datum, Reason, called_from, candidates, hosts, redirect};
use crate::{Log, Pass};
use almach_core::build::Builder;
use almach_core::typing::Signature;
use almach_core::{FunId, Function, Program};
use shape::Shape;
use std::collections::HashMap;
use straighten::straightened;

pub const PASS: Pass = Pass {
    name: "trees",
    description: "cuts recursions over trees into subtrees that run in parallel",
    run,
};

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let candidates = candidates(&program, Datum::Tree);
    if candidates.is_empty() {
        return program;
    }
    let hosts = hosts(&program);
    let called = called_from(&program, &hosts);
    let mut builder = Builder::for_program(&program);
    let mut made: HashMap<FunId, FunId> = HashMap::new();
    let mut functions = Vec::new();
    for id in candidates {
        let Some(function) = program.functions.get(id.0 as usize) else {
            continue;
        };
        let found = match called.contains(&id) {
            true => Shape::of(&program, id, function).map(|shape| (shape, function.clone())),
            false => Err("where it is called something else is parallel already".to_owned()),
        };
        let found = found.or_else(|why| {
            let straight = straightened(id, function, &mut builder.supply).filter(|_| called.contains(&id));
            let straight = straight.ok_or_else(|| why.clone())?;
            let shape = Shape::of(&program, id, &straight).map_err(|_| why)?;
            Ok((shape, straight))
        });
        let cut = found.and_then(|(shape, function)| {
            let words = shape.words();
            cut(&mut builder, &shape, id, &function).map(|cut| (cut, words))
        });
        match cut {
            Ok(((cut, new), words)) => {
                log.note(function.span, format!("`{}` {words}", function.name));
                made.insert(id, cut);
                functions.extend(new);
            }
            // What was cut before is called by its subtrees, in parallel: that is no reason to tell.
            Err(_) if !called.contains(&id) && log.is_about(function.span) => {}
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

/// The function to call instead, and those it is made of.
fn cut(
    builder: &mut Builder,
    shape: &Shape,
    id: FunId,
    function: &Function,
) -> Result<(FunId, [Function; 2]), Reason> {
    let wrong = |error| format!("what it would become has no type ({error:?})");
    let large = parallel::large(builder, shape, id, function).map_err(wrong)?;
    let large_id = builder.declare(Signature::of(&large));
    let small = parallel::small(builder, shape, id, function, large_id);
    let small = match small {
        Ok(small) => small,
        Err(error) => {
            builder.signatures.functions.pop();
            return Err(wrong(error));
        }
    };
    Ok((builder.declare(Signature::of(&small)), [large, small]))
}
