//! Hoists allocations out of loops: a block that every iteration fills anew, and that no iteration hands on, is made once.
//!
//! ```text
//! let c = loop (x = x0) for i < n do            let t_mem: mem = alloc f32 (m)
//!   let t_mem: mem = alloc f32 (m)              let c = loop (x = x0) for i < n do
//!   let t: [m]f32 @ t_mem -> … = map f ys  ~>     let t: [m]f32 @ t_mem -> … = map f ys
//!   let s: f32 = t[0]                             let s: f32 = t[0]
//!   in s                                          in s
//! ```
//!
//! Only where the number of cells is known before the loop. Blocks stay inside branches (they may not be needed) and inside the
//! functions of operations, whose iterations may run at once: that is [`super::expand`].
//!
//! - Removes: allocations in loops. Introduces: allocations before them. Guarantees: no place changes.

use super::{Log, Note};
use crate::draft::Draft;
use crate::index::{BodyKind, Index, StmtInfo};
use crate::ir::{Alloc, Annotated, key};
use almach_core::Var;
use std::collections::BTreeSet;

pub fn hoist(program: Annotated, log: &mut Log) -> Annotated {
    let index = Index::new(&program.core);
    let mut draft = Draft::new(&index, program.memory);
    let mut open: BTreeSet<usize> = (0..index.stmts.len()).collect();
    while let Some(at) = open.pop_first() {
        let Some(info) = index.stmts.get(at) else {
            continue;
        };
        while let Some((block, before)) = next(&draft, info) {
            let Some(alloc) = draft.remove_alloc(&block) else {
                break;
            };
            log.notes.push(Note::done(&block, "made once, before the loop"));
            draft.add_alloc(&before, alloc);
            // It may be in a loop there, too.
            open.extend(index.defs.get(&before).copied());
        }
    }
    let memory = draft.into_memory();
    Annotated {
        core: program.core,
        memory,
    }
}

/// A block to make earlier, and before which statement.
fn next(draft: &Draft<'_, '_>, info: &StmtInfo<'_>) -> Option<(Var, Var)> {
    let index = draft.index();
    let body = index.bodies.get(info.body.0)?;
    let around = body.around.and_then(|at| index.stmts.get(at))?;
    if body.kind != BodyKind::Loop {
        return None;
    }
    let before = |alloc: &Alloc| {
        let mut vars = alloc.cells.free_vars();
        vars.all(|var| draft.when(var).is_some_and(|moment| moment < around.start))
    };
    let stays = |alloc: &Alloc| draft.is_handed_on(&alloc.block) || draft.is_given(&alloc.block);
    let mut allocs = draft.allocs.get(key(info.stmt)?)?.iter();
    let alloc = allocs.find(|alloc| before(alloc) && !stays(alloc))?;
    Some((alloc.block.clone(), key(around.stmt)?.clone()))
}
