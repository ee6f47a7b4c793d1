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
use crate::ir::{Alloc, Annotated, Memory, Storage, key};
use crate::relocate::{is_given, remove_alloc};
use almach_core::Var;
use std::collections::HashMap;

pub fn merge(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut memory = program.memory;
    while let Some((kept, gone)) = next(&index, &memory) {
        remove_alloc(&mut memory, &gone);
        for storage in memory.storage.values_mut().flatten() {
            if let Storage::Placed(home) = storage
                && home.block == gone
            {
                home.block = kept.clone();
            }
        }
        let why = format!("shares the block `{}`, whose arrays are dead by then", kept.name);
        log.notes.push(Note::done(&gone, why));
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

struct Made<'m> {
    alloc: &'m Alloc,
    body: BodyId,
    at: Moment,
}

/// A block, and one that can be in it.
fn next(index: &Index<'_>, memory: &Memory) -> Option<(Var, Var)> {
    let aliases = Aliases::new(index, memory);
    let mut made = Vec::new();
    for info in &index.stmts {
        for alloc in key(info.stmt)
            .and_then(|key| memory.allocs.get(key))
            .into_iter()
            .flatten()
        {
            if !aliases.is_handed_on(&alloc.block) && !is_given(memory, &alloc.block) {
                made.push(Made {
                    alloc,
                    body: info.body,
                    at: info.start,
                });
            }
        }
    }
    let last = last_uses(index, memory);
    for (later, second) in made.iter().enumerate() {
        for first in made.iter().take(later) {
            let fits = first.body == second.body
                && first.alloc.element == second.alloc.element
                && last.get(&first.alloc.block).is_some_and(|last| *last < second.at)
                && index.known.is_nonneg(&(&first.alloc.cells - &second.alloc.cells));
            if fits {
                return Some((first.alloc.block.clone(), second.alloc.block.clone()));
            }
        }
    }
    None
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
