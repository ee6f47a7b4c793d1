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
use crate::check::Changes;
use crate::draft::Draft;
use crate::index::{BodyKind, Index, StmtInfo};
use crate::ir::{Alloc, Annotated, Given, Item, key};
use almach_core::Var;
use std::collections::HashSet;

pub fn double_buffer(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut changes = Changes::of(&index);
    let mut draft = Draft::new(&index, program.memory);
    let mut left = HashSet::new();
    for info in &index.stmts {
        while let Some((at, alloc)) = next(&draft, info, &left) {
            let mark = draft.mark();
            if swapped(&mut draft, info, at, &alloc).is_none() {
                draft.rollback(mark);
                left.insert(alloc.block);
                continue;
            }
            match changes.check(&draft, mark) {
                Ok(()) => log
                    .notes
                    .push(Note::done(&alloc.block, "the loop swaps two blocks")),
                Err(broken) => {
                    draft.rollback(mark);
                    let why = format!("the loop cannot swap two blocks: {}", broken.message);
                    log.notes.push(Note::left(&alloc.block, why.into()));
                    left.insert(alloc.block);
                }
            }
        }
    }
    let memory = draft.into_memory();
    Annotated {
        core: program.core,
        memory,
    }
}

/// A block that an iteration makes and hands on, and the number of the item that it is handed on as.
fn next(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, left: &HashSet<Var>) -> Option<(usize, Alloc)> {
    let head = key(info.stmt).and_then(|key| draft.heads.get(key))?;
    let mut items = head.items.iter().enumerate();
    items.find_map(|(at, item)| {
        let alloc = made_in_the_body(draft, info, item)?;
        (!left.contains(&alloc.block)).then_some((at, alloc))
    })
}

/// The block of the next state, where every iteration makes it, of a size that is known before the loop.
fn made_in_the_body(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, item: &Item) -> Option<Alloc> {
    let [_, Given::Block(block)] = item.given.as_slice() else {
        return None;
    };
    item.inside.as_ref()?;
    let index = draft.index();
    let (alloc, made) = draft.alloc(block)?;
    let body = index.bodies.get(made.body.0)?;
    let around = body.around.and_then(|at| index.stmts.get(at))?;
    if body.kind != BodyKind::Loop || around.start != info.start || draft.times_given(block) != 1 {
        return None;
    }
    let known = alloc
        .cells
        .free_vars()
        .all(|var| index.bound.get(var).is_some_and(|moment| *moment < info.start));
    known.then(|| alloc.clone())
}

fn swapped(draft: &mut Draft<'_, '_>, info: &StmtInfo<'_>, at: usize, alloc: &Alloc) -> Option<()> {
    let stmt = key(info.stmt)?;
    let mut head = draft.heads.get(stmt)?.clone();
    let item = head.items.get(at)?.clone();
    let inside = item.inside.as_ref()?;
    // Somebody else keeps the old state.
    if draft.is_given(inside) {
        return None;
    }
    // Both blocks take turns, so both are as large as the one that an iteration made.
    let first = match item.given.first()? {
        Given::Block(block) if is_the_loops_own(draft, info, block, alloc) => Given::Block(block.clone()),
        Given::Block(_) | Given::Alloc(_) => Given::Alloc(alloc.cells.clone()),
        Given::Integer(_) | Given::Found => return None,
    };
    draft.remove_alloc(&alloc.block);
    let (spare, after) = (draft.fresh("spare_mem"), draft.fresh("spare_mem"));
    head.items.get_mut(at)?.given = vec![first, Given::Block(spare.clone())];
    head.items.push(Item {
        var: after,
        kind: item.kind,
        inside: Some(spare.clone()),
        given: vec![Given::Alloc(alloc.cells.clone()), Given::Block(inside.clone())],
    });
    draft.set_head(stmt, head);
    draft.move_arrays(&alloc.block, &spare);
    Some(())
}

/// Whether a block is made beside the loop, as large as another, handed to nobody else, and not needed once the loop runs.
fn is_the_loops_own(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, block: &Var, like: &Alloc) -> bool {
    let index = draft.index();
    let made_beside = draft.alloc(block).is_some_and(|(alloc, made)| {
        made.body == info.body && index.env.same_size(&alloc.cells, &like.cells)
    });
    if !made_beside || draft.times_given(block) != 1 {
        return false;
    }
    // What it may have become before the loop: calls may give what they are given.
    let mut names = HashSet::new();
    let mut open = vec![block.clone()];
    while let Some(block) = open.pop() {
        let before = draft.bound(&block).is_some_and(|moment| moment <= info.start);
        if before && names.insert(block.clone()) {
            open.extend(draft.handed_to(&block));
        }
    }
    draft.readers(&names).iter().all(|var| {
        let bound = index.bound.get(var).copied().unwrap_or(0);
        let uses = index.uses.get(var).into_iter().flatten();
        bound > info.start || uses.max().is_none_or(|last| *last <= info.start)
    })
}
