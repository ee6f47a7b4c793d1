//! Double buffering: a loop whose every iteration makes a new block for what it carries has two, and swaps them.
//!
//! ```text
//! let @{z_mem: f32 of x_mem = x0_mem | y_mem} z … =     let @{z_mem: f32 of x_mem = alloc (n) | s_mem, t_mem: f32 of s_mem = alloc (n) | x_mem} z … =
//!   loop (x: [n]f32 @ x_mem -> … = x0) for i < k do       loop (x: [n]f32 @ x_mem -> … = x0) for i < k do
//!     let y_mem: mem = alloc f32 (n)                 ~>     let y: [n]f32 @ s_mem -> … = map f (stencil x)
//!     let y: [n]f32 @ y_mem -> … = map f (stencil x)        in y
//!     in y
//! ```
//!
//! The block that the loop starts with is overwritten by the second iteration, so it must be the loop's own: what it starts with is
//! copied, unless its block is handed to this loop only and nothing in it is used later. What is updated in place needs no second
//! block; that comes before.
//!
//! - Removes: an allocation per iteration. Introduces: at most one copy before the loop. Guarantees: nothing but places changes.

use super::{Log, Note};
use crate::check::check_memory;
use crate::index::{Aliases, BodyKind, Index, StmtInfo, blocks_read};
use crate::ir::{Alloc, Annotated, Given, Item, Memory, Storage, key};
use crate::relocate::{is_given, remove_alloc};
use almach_core::Var;
use std::collections::HashSet;

pub fn double_buffer(program: Annotated, log: &mut Log) -> Annotated {
    let index = Index::new(&program.core);
    let mut memory = program.memory;
    let mut left = HashSet::new();
    while let Some((block, better)) = next(&index, &memory, &left) {
        match check_memory(index.program, &better) {
            Ok(()) => {
                memory = better;
                log.notes.push(Note::done(&block, "the loop swaps two blocks"));
            }
            Err(broken) => {
                left.insert(block.clone());
                let why = format!("the loop cannot swap two blocks: {}", broken.message);
                log.notes.push(Note::left(&block, why.into()));
            }
        }
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

/// A block that an iteration makes and hands on, and memory in which the loop has two.
fn next(index: &Index<'_>, memory: &Memory, left: &HashSet<Var>) -> Option<(Var, Memory)> {
    for info in &index.stmts {
        let Some(head) = key(info.stmt).and_then(|key| memory.heads.get(key)) else {
            continue;
        };
        for (at, item) in head.items.iter().enumerate() {
            if let Some(alloc) = made_in_the_body(index, memory, info, item)
                && !left.contains(&alloc.block)
                && let Some(better) = swapped(index, memory, info, at, item, &alloc)
            {
                return Some((alloc.block, better));
            }
        }
    }
    None
}

/// The block of the next state, where every iteration makes it, of a size that is known before the loop.
fn made_in_the_body(index: &Index<'_>, memory: &Memory, info: &StmtInfo<'_>, item: &Item) -> Option<Alloc> {
    let [_, Given::Block(block)] = item.given.as_slice() else {
        return None;
    };
    item.inside.as_ref()?;
    let made = index.stmts.iter().find(|inner| {
        let allocs = key(inner.stmt).and_then(|key| memory.allocs.get(key));
        allocs.is_some_and(|allocs| allocs.iter().any(|alloc| alloc.block == *block))
    })?;
    let body = index.bodies.get(made.body.0)?;
    let around = body.around.and_then(|at| index.stmts.get(at))?;
    if body.kind != BodyKind::Loop || around.start != info.start || times_given(memory, block) != 1 {
        return None;
    }
    let alloc = key(made.stmt)
        .and_then(|key| memory.allocs.get(key))?
        .iter()
        .find(|alloc| alloc.block == *block)?;
    let known = alloc
        .cells
        .free_vars()
        .all(|var| index.bound.get(var).is_some_and(|moment| *moment < info.start));
    known.then(|| alloc.clone())
}

fn times_given(memory: &Memory, block: &Var) -> usize {
    let heads = memory.heads.values().flat_map(|head| &head.items);
    let results = memory.functions.iter().flat_map(|function| &function.results);
    let given = heads.chain(results).flat_map(|item| &item.given);
    given
        .filter(|given| matches!(given, Given::Block(given) if given == block))
        .count()
}

fn swapped(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    at: usize,
    item: &Item,
    alloc: &Alloc,
) -> Option<Memory> {
    let inside = item.inside.as_ref()?;
    // Somebody else keeps the old state.
    if is_given(memory, inside) {
        return None;
    }
    // Both blocks take turns, so both are as large as the one that an iteration made.
    let first = match item.given.first()? {
        Given::Block(block) if is_the_loops_own(index, memory, info, block, alloc) => {
            Given::Block(block.clone())
        }
        Given::Block(_) | Given::Alloc(_) => Given::Alloc(alloc.cells.clone()),
        Given::Integer(_) => return None,
    };
    let mut better = memory.clone();
    remove_alloc(&mut better, &alloc.block);
    let (spare, after) = (better.fresh("spare_mem"), better.fresh("spare_mem"));
    for storage in better.storage.values_mut().flatten() {
        if let Storage::Placed(home) = storage
            && home.block == alloc.block
        {
            home.block = spare.clone();
        }
    }
    let head = key(info.stmt).and_then(|key| better.heads.get_mut(key))?;
    head.items.get_mut(at)?.given = vec![first, Given::Block(spare.clone())];
    head.items.push(Item {
        var: after,
        kind: item.kind,
        inside: Some(spare),
        given: vec![Given::Alloc(alloc.cells.clone()), Given::Block(inside.clone())],
    });
    Some(better)
}

/// Whether a block is made beside the loop, as large as another, handed to nobody else, and not needed once the loop runs.
fn is_the_loops_own(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    block: &Var,
    like: &Alloc,
) -> bool {
    let made_beside = index.stmts.iter().any(|other| {
        let allocs = key(other.stmt).and_then(|key| memory.allocs.get(key));
        let here = |alloc: &Alloc| alloc.block == *block && index.env.same_size(&alloc.cells, &like.cells);
        other.body == info.body && allocs.is_some_and(|allocs| allocs.iter().any(here))
    });
    let class = Aliases::new(index, memory).class(block);
    let dead = blocks_read(index, memory).into_iter().all(|(var, blocks)| {
        let bound = index.bound.get(&var).copied().unwrap_or(0);
        let uses = index.uses.get(&var).into_iter().flatten();
        bound > info.start || blocks.is_disjoint(&class) || uses.max().is_none_or(|last| *last <= info.start)
    });
    made_beside && times_given(memory, block) == 1 && dead
}
