//! Merges blocks by lifetimes (FUNMEM, section 6): an array goes into a block whose arrays are all dead.
//!
//! ```text
//! let a_mem: mem = alloc f32 (n)                      let a_mem: mem = alloc f32 (n)
//! let a: [n]f32 @ a_mem -> … = scan f e xs            let a: [n]f32 @ a_mem -> … = scan f e xs
//! let s: f32 = reduce (+) 0 a                    ~>   let s: f32 = reduce (+) 0 a
//! let b_mem: mem = alloc f32 (n)                      let b: [n]f32 @ a_mem -> … = scan g s ys
//! let b: [n]f32 @ b_mem -> … = scan g s ys
//! ```
//!
//! Both blocks are made in one body, hold the same type and are handed on by nobody; the second provably has no more cells than the
//! first; and nothing that reads the first is used after the second is made.
//!
//! - Removes: allocations. Introduces: nothing. Guarantees: nothing but places changes.

use super::{Log, Note};
use crate::index::{Aliases, BodyId, Index, Moment, blocks_read};
use crate::ir::{Alloc, Annotated, Memory, key};
use crate::relocate::{all_given, remove_alloc};
use almach_core::Var;
use std::collections::HashMap;

pub fn merge(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut memory = program.memory;
    let mut last = last_uses(&index, &memory);
    let mut kept: Vec<Made> = Vec::new();
    for second in made(&index, &memory) {
        // A block that takes another one's arrays is needed longer, so one look at each is enough.
        let fits = |first: &&Made| {
            first.body == second.body
                && first.alloc.element == second.alloc.element
                && last.get(&first.alloc.block).is_some_and(|last| *last < second.at)
                && index.known.is_nonneg(&(&first.alloc.cells - &second.alloc.cells))
        };
        let Some(first) = kept.iter().find(fits).map(|first| first.alloc.block.clone()) else {
            kept.push(second);
            continue;
        };
        let gone = &second.alloc.block;
        remove_alloc(&mut memory, gone);
        memory.rename_block(gone, &first);
        let until = last.get(gone).copied().unwrap_or(0);
        let entry = last.entry(first.clone()).or_insert(0);
        *entry = (*entry).max(until);
        let why = format!("shares the block `{}`, whose arrays are dead by then", first.name);
        log.notes.push(Note::done(gone, why));
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

struct Made {
    alloc: Alloc,
    body: BodyId,
    at: Moment,
}

/// The blocks that nobody hands on, in the order of the text.
fn made(index: &Index<'_>, memory: &Memory) -> Vec<Made> {
    let aliases = Aliases::new(index, memory);
    let given = all_given(memory);
    let mut made = Vec::new();
    for info in &index.stmts {
        let allocs = key(info.stmt).and_then(|key| memory.allocs.get(key));
        for alloc in allocs.into_iter().flatten() {
            if !aliases.is_handed_on(&alloc.block) && !given.contains(&alloc.block) {
                made.push(Made {
                    alloc: alloc.clone(),
                    body: info.body,
                    at: info.start,
                });
            }
        }
    }
    made
}

/// When a block is last needed.
fn last_uses(index: &Index<'_>, memory: &Memory) -> HashMap<Var, Moment> {
    let mut last: HashMap<Var, Moment> = HashMap::new();
    for (var, blocks) in blocks_read(index, memory) {
        let uses = index.uses.get(&var).into_iter().flatten().copied();
        let moment = uses.chain(index.bound.get(&var).copied()).max().unwrap_or(0);
        for block in blocks {
            let entry = last.entry(block).or_insert(0);
            *entry = (*entry).max(moment);
        }
    }
    last
}
