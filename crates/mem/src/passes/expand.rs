//! Memory expansion (FUNMEM, section 5): an allocation inside a parallel `map` becomes one block outside, of which every
//! iteration has its own part. DPIA's hoisting of allocations (section 6.4) is this.
//!
//! ```text
//! let @{for i} zs: [n]f32 @ … = map@par (\(x: f32): f32 ->     let t_mem2: mem = alloc f32 (n*m)
//!   let t_mem: mem = alloc f32 (m)                             let @{for i} zs: [n]f32 @ … = map@par (\(x: f32): f32 ->
//!   let t: [m]f32 @ t_mem -> 0 + {(m : 1)} = scan …       ~>     let t: [m]f32 @ t_mem2 -> i*m + {(m : 1)} = scan …
//!   in t[0]) xs                                                  in t[0]) xs
//! ```
//!
//! [`Layout::Apart`] keeps each iteration's cells together, which is what caches of a CPU like. [`Layout::Interleaved`] puts the
//! cells that neighbouring iterations use at the same time next to each other, which is what a GPU coalesces:
//! `i + {(m : n)}`.
//!
//! Only where the number of cells does not depend on the iteration, and nobody hands the block on.
//!
//! - Removes: allocations in parallel functions. Introduces: allocations before them. Guarantees: iterations have disjoint parts,
//!   which the checker proves (MEM-10).

use super::{Log, Note};
use crate::check::check_memory;
use crate::index::{Aliases, BodyKind, Index, count};
use crate::ir::{Alloc, Annotated, Home, Memory, Storage, key};
use crate::relocate::{is_given, remove_alloc};
use almach_core::{Exp, Size, Stmt, Var};
use almach_lmad::{Dim, Lmad};
use almach_prim::{Level, Prim};
use std::collections::HashSet;

/// Whose cells are next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    Apart,
    Interleaved,
}

pub fn expand(program: Annotated, layout: Layout, log: &mut Log) -> Annotated {
    let index = Index::new(&program.core);
    let mut memory = program.memory;
    let mut left = HashSet::new();
    while let Some((alloc, around, counter, threads)) = next(&index, &memory, &left) {
        let mut expanded = memory.clone();
        remove_alloc(&mut expanded, &alloc.block);
        let block = expanded.fresh(&alloc.block.name);
        for storage in expanded.storage.values_mut().flatten() {
            if let Storage::Placed(home) = storage
                && home.block == alloc.block
            {
                *home = Home {
                    block: block.clone(),
                    lmad: part(&home.lmad, layout, &counter, &threads, &alloc.cells),
                };
            }
        }
        let cells = &threads * &alloc.cells;
        let together = Alloc {
            block: block.clone(),
            cells,
            element: alloc.element,
        };
        expanded.allocs.entry(around).or_default().push(together);
        match check_memory(index.program, &expanded) {
            Ok(()) => {
                memory = expanded;
                let why = format!("one block for all iterations, `{block}`");
                log.notes.push(Note::done(&alloc.block, why));
            }
            Err(broken) => {
                log.notes.push(Note::left(&alloc.block, broken.message.into()));
                left.insert(alloc.block);
            }
        }
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

/// The part of one iteration.
fn part(lmad: &Lmad<Var>, layout: Layout, counter: &Var, threads: &Size, cells: &Size) -> Lmad<Var> {
    let counter = Size::var(counter.clone());
    match layout {
        Layout::Apart => Lmad {
            offset: &lmad.offset + &(&counter * cells),
            dims: lmad.dims.clone(),
        },
        Layout::Interleaved => Lmad {
            offset: &(&lmad.offset * threads) + &counter,
            dims: lmad
                .dims
                .iter()
                .map(|dim| Dim {
                    length: dim.length.clone(),
                    stride: &dim.stride * threads,
                })
                .collect(),
        },
    }
}

/// An allocation in a parallel function: the statement around it, its iterations and how many there are.
fn next(index: &Index<'_>, memory: &Memory, left: &HashSet<Var>) -> Option<(Alloc, Var, Var, Size)> {
    let aliases = Aliases::new(index, memory);
    let bound = index.memory_bound(memory);
    for info in &index.stmts {
        let Some(allocs) = key(info.stmt).and_then(|key| memory.allocs.get(key)) else {
            continue;
        };
        let body = index.bodies.get(info.body.0)?;
        let around = body.around.and_then(|at| index.stmts.get(at));
        let (BodyKind::Lambda, Some(around)) = (body.kind, around) else {
            continue;
        };
        let Some((counter, threads)) = parallel(around.stmt, index, memory) else {
            continue;
        };
        let known = |alloc: &&Alloc| {
            alloc.cells.free_vars().all(|var| {
                let moment = index.bound.get(var).or_else(|| bound.get(var));
                moment.is_some_and(|moment| *moment < around.start)
            })
        };
        let stays = |alloc: &Alloc| aliases.is_handed_on(&alloc.block) || is_given(memory, &alloc.block);
        if let Some(alloc) = allocs
            .iter()
            .filter(known)
            .find(|alloc| !left.contains(&alloc.block) && !stays(alloc))
        {
            return Some((alloc.clone(), key(around.stmt)?.clone(), counter, threads));
        }
    }
    None
}

fn parallel(stmt: &Stmt, index: &Index<'_>, memory: &Memory) -> Option<(Var, Size)> {
    let Exp::Op(op) = &stmt.exp else {
        return None;
    };
    let parallel = op.prim == Prim::Map && !matches!(op.annotation.level, Some(Level::Seq | Level::Vec));
    let counter = key(stmt).and_then(|key| memory.heads.get(key))?.index.clone()?;
    let threads = count(op, &index.env)?;
    parallel.then_some((counter, threads))
}
