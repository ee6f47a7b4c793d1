//! Loops that carry one block need not hand it on: what they carry is in a block from before the loop.
//!
//! ```text
//! let @{c_mem: f32 of a_mem = alloc (n) | a_mem}           let b_mem: mem = alloc f32 (n)
//!     c: [n]f32 @ c_mem -> … =                             let c: [n]f32 @ b_mem -> … =
//!   loop (a: [n]f32 @ a_mem -> … = xs) for i < n do   ~>     loop (a: [n]f32 @ b_mem -> … = xs) for i < n do
//!     let b: [n]f32 @ a_mem -> … = a with [i] = x              let b: [n]f32 @ b_mem -> … = a with [i] = x
//!     in b                                                     in b
//! ```
//!
//! It stands behind the updates in place, which is what makes iterations give the block that they got, and before the passes
//! that move arrays: a block with one name can be moved.
//!
//! - Removes: blocks that loops hand on unchanged. Introduces: nothing. Guarantees: nothing but names of blocks changes.

use super::{Log, Note};
use crate::check::check_memory;
use crate::index::Index;
use crate::ir::{Alloc, Annotated, Given, Item, Kind, Memory, key};
use almach_core::{Exp, Stmt, Var};
use std::collections::HashSet;

pub fn settle(program: Annotated, log: &mut Log) -> Annotated {
    let index = Index::new(&program.core);
    let mut memory = program.memory;
    let mut left = HashSet::new();
    while let Some((block, better)) = next(&index, &memory, &left) {
        match check_memory(index.program, &better) {
            Ok(()) => {
                memory = better;
                log.notes.push(Note::done(&block, "the loop carries one block"));
            }
            Err(_) => {
                left.insert(block);
            }
        }
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

/// A block that a loop hands on unchanged, and memory in which it does not.
fn next(index: &Index<'_>, memory: &Memory, left: &HashSet<Var>) -> Option<(Var, Memory)> {
    for info in &index.stmts {
        let head = key(info.stmt).and_then(|key| memory.heads.get(key));
        let items = head.into_iter().flat_map(|head| &head.items);
        for (at, item) in items.enumerate() {
            if !left.contains(&item.var)
                && let Some(better) = settled(memory, info.stmt, at, item)
            {
                return Some((item.var.clone(), better));
            }
        }
    }
    None
}

fn settled(memory: &Memory, stmt: &Stmt, at: usize, item: &Item) -> Option<Memory> {
    let (Exp::Loop(_), Kind::Block(element), Some(inside), [first, Given::Block(after)]) =
        (&stmt.exp, item.kind, item.inside.as_ref(), item.given.as_slice())
    else {
        return None;
    };
    if after != inside {
        return None;
    }
    let key = key(stmt)?;
    let mut better = memory.clone();
    let block = match first {
        Given::Block(block) => block.clone(),
        Given::Alloc(cells) => {
            let block = better.fresh(&inside.name);
            let alloc = Alloc {
                block: block.clone(),
                element,
                cells: cells.clone(),
            };
            better.allocs.entry(key.clone()).or_default().push(alloc);
            block
        }
        Given::Integer(_) => return None,
    };
    let head = better.heads.get_mut(key)?;
    head.items.remove(at);
    if head.items.is_empty() && head.index.is_none() {
        better.heads.remove(key);
    }
    better.rename_block(inside, &block);
    better.rename_block(&item.var, &block);
    Some(better)
}
