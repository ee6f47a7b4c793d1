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
use crate::check::Changes;
use crate::draft::{Draft, Giver};
use crate::index::Index;
use crate::ir::{Alloc, Annotated, Given, Item, Kind, key};
use almach_core::{Exp, Stmt, Var};
use std::collections::{BTreeSet, HashSet};

pub fn settle(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut changes = Changes::of(&index);
    let mut draft = Draft::new(&index, program.memory);
    let mut left = HashSet::new();
    // A loop that starts with a block and gives it back is settled after the loops inside it.
    let mut open: BTreeSet<usize> = (0..index.stmts.len()).collect();
    while let Some(at) = open.pop_first() {
        let Some(info) = index.stmts.get(at) else {
            continue;
        };
        while let Some((number, item)) = next(&draft, info.stmt, &left) {
            let mark = draft.mark();
            let settled = settled(&mut draft, info.stmt, number, &item);
            match settled.filter(|_| changes.check(&draft, mark).is_ok()) {
                Some(block) => {
                    log.notes
                        .push(Note::done(&item.var, "the loop carries one block"));
                    open.extend(statements(&draft, &block));
                }
                None => {
                    draft.rollback(mark);
                    left.insert(item.var);
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

/// The statements that hand a block on.
fn statements(draft: &Draft<'_, '_>, block: &Var) -> Vec<usize> {
    let givers = draft.givers(block).into_iter();
    let stmts = givers.filter_map(|giver| match giver {
        Giver::Statement(stmt) => draft.index().defs.get(&stmt).copied(),
        Giver::Function(_) => None,
    });
    stmts.collect()
}

/// A block that a loop hands on unchanged.
fn next(draft: &Draft<'_, '_>, stmt: &Stmt, left: &HashSet<Var>) -> Option<(usize, Item)> {
    let Exp::Loop(_) = &stmt.exp else {
        return None;
    };
    let head = key(stmt).and_then(|key| draft.heads.get(key))?;
    let mut items = head.items.iter().enumerate();
    let (at, item) = items.find(|(_, item)| {
        let unchanged = match (item.inside.as_ref(), item.given.as_slice()) {
            (Some(inside), [_, Given::Block(after)]) => after == inside,
            _ => false,
        };
        unchanged && matches!(item.kind, Kind::Block(_)) && !left.contains(&item.var)
    })?;
    Some((at, item.clone()))
}

/// Gives the one block that the loop carries then.
fn settled(draft: &mut Draft<'_, '_>, stmt: &Stmt, at: usize, item: &Item) -> Option<Var> {
    let (Kind::Block(element), Some(inside), Some(first)) =
        (item.kind, item.inside.as_ref(), item.given.first())
    else {
        return None;
    };
    let key = key(stmt)?;
    let block = match first {
        Given::Block(block) => block.clone(),
        Given::Alloc(cells) => {
            let block = draft.fresh(&inside.name);
            let alloc = Alloc {
                block: block.clone(),
                element,
                cells: cells.clone(),
            };
            draft.add_alloc(key, alloc);
            block
        }
        Given::Integer(_) | Given::Found => return None,
    };
    let mut head = draft.heads.get(key)?.clone();
    head.items.remove(at);
    draft.set_head(key, head);
    draft.rename_block(inside, &block);
    draft.rename_block(&item.var, &block);
    Some(block)
}
