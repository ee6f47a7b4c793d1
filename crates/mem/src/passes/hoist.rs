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
use crate::index::{Aliases, BodyKind, Index};
use crate::ir::{Alloc, Annotated, Memory, key};
use crate::relocate::is_given;
use almach_core::Var;

pub fn hoist(program: Annotated, log: &mut Log) -> Annotated {
    let index = Index::new(&program.core);
    let mut memory = program.memory;
    while let Some((from, to, at)) = next(&index, &memory) {
        let Some(allocs) = memory.allocs.get_mut(&from) else {
            break;
        };
        let alloc = allocs.remove(at);
        if allocs.is_empty() {
            memory.allocs.remove(&from);
        }
        log.notes
            .push(Note::done(&alloc.block, "made once, before the loop"));
        memory.allocs.entry(to).or_default().push(alloc);
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

/// An allocation to move: from before which statement, to before which, and its number there.
fn next(index: &Index<'_>, memory: &Memory) -> Option<(Var, Var, usize)> {
    let aliases = Aliases::new(index, memory);
    let bound = index.memory_bound(memory);
    for info in &index.stmts {
        let body = index.bodies.get(info.body.0)?;
        let around = body.around.and_then(|at| index.stmts.get(at));
        let (BodyKind::Loop, Some(around), Some(from)) = (body.kind, around, key(info.stmt)) else {
            continue;
        };
        let before = |alloc: &Alloc| {
            alloc.cells.free_vars().all(|var| {
                let moment = index.bound.get(var).or_else(|| bound.get(var));
                moment.is_some_and(|moment| *moment < around.start)
            })
        };
        let allocs = memory.allocs.get(from).map_or(&[][..], Vec::as_slice);
        let stays = |alloc: &Alloc| aliases.is_handed_on(&alloc.block) || is_given(memory, &alloc.block);
        if let Some(at) = allocs.iter().position(|alloc| before(alloc) && !stays(alloc))
            && let Some(to) = key(around.stmt)
        {
            return Some((from.clone(), to.clone(), at));
        }
    }
    None
}
