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
//! Where the number of cells depends on the iteration, each has as many as the one with the most may need, if a bound is known before:
//! `alloc f32 (k + 1)` with `k` from `iota n` becomes `alloc f32 (n*n)`. Not where nothing bounds it, nor where somebody hands the block
//! on.
//!
//! - Removes: allocations in parallel functions. Introduces: allocations before them. Guarantees: iterations have disjoint parts,
//!   which the checker proves (MEM-10).

use super::{Log, Note};
use crate::check::Changes;
use crate::draft::Draft;
use crate::index::{BodyKind, Index, StmtInfo, count};
use crate::ir::{Alloc, Annotated, Home, Storage, key};
use almach_core::{Exp, Size, Stmt, Var};
use almach_lmad::{Dim, Lmad};
use almach_prim::{Level, Prim};
use std::collections::{BTreeSet, HashSet};

/// Whose cells are next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    Apart,
    Interleaved,
}

pub fn expand(program: Annotated, layout: Layout, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut changes = Changes::of(&index);
    let mut draft = Draft::new(&index, program.memory);
    let mut left = HashSet::new();
    let mut open: BTreeSet<usize> = (0..index.stmts.len()).collect();
    while let Some(at) = open.pop_first() {
        let Some(info) = index.stmts.get(at) else {
            continue;
        };
        while let Some(inside) = next(&draft, info, &left) {
            let mark = draft.mark();
            let block = expanded(&mut draft, &inside, layout);
            match changes.check(&draft, mark) {
                Ok(()) => {
                    let why = format!("one block for all iterations, `{block}`");
                    log.notes.push(Note::done(&inside.alloc.block, why));
                    // It may be in a parallel function there, too.
                    open.extend(index.defs.get(&inside.around).copied());
                }
                Err(broken) => {
                    draft.rollback(mark);
                    log.notes
                        .push(Note::left(&inside.alloc.block, broken.message.into()));
                    left.insert(inside.alloc.block);
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

/// An allocation in a parallel function: the statement around it, its iterations and how many there are.
struct Inside {
    alloc: Alloc,
    around: Var,
    counter: Var,
    threads: Size,
    /// The most cells that one of them needs.
    cells: Size,
}

fn expanded(draft: &mut Draft<'_, '_>, inside: &Inside, layout: Layout) -> Var {
    let Inside {
        alloc,
        around,
        counter,
        threads,
        cells,
    } = inside;
    draft.remove_alloc(&alloc.block);
    let block = draft.fresh(&alloc.block.name);
    for var in draft.placed_in(&alloc.block) {
        let mut storage = draft.storage.get(&var).cloned().unwrap_or_default();
        for one in &mut storage {
            if let Storage::Placed(home) = one
                && home.block == alloc.block
            {
                *home = Home {
                    block: block.clone(),
                    lmad: part(&home.lmad, layout, counter, threads, cells),
                };
            }
        }
        draft.set_storage(&var, storage);
    }
    let together = Alloc {
        block: block.clone(),
        cells: threads * cells,
        element: alloc.element,
    };
    draft.add_alloc(around, together);
    block
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

fn next(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, left: &HashSet<Var>) -> Option<Inside> {
    let index = draft.index();
    let allocs = key(info.stmt).and_then(|key| draft.allocs.get(key))?;
    let body = index.bodies.get(info.body.0)?;
    let around = body.around.and_then(|at| index.stmts.get(at))?;
    if body.kind != BodyKind::Lambda {
        return None;
    }
    let (counter, threads) = parallel(around.stmt, draft)?;
    let inside = |var: &Var| draft.when(var).is_none_or(|moment| moment >= around.start);
    let most = |alloc: &Alloc| {
        let cells = index.env.normalise_size(&alloc.cells);
        match cells.free_vars().any(inside) {
            true => index.known.upper_bound(&cells, &inside),
            false => Some(alloc.cells.clone()),
        }
    };
    let stays = |alloc: &Alloc| draft.is_handed_on(&alloc.block) || draft.is_given(&alloc.block);
    let mut allocs = allocs
        .iter()
        .filter(|alloc| !left.contains(&alloc.block) && !stays(alloc));
    let (alloc, cells) = allocs.find_map(|alloc| Some((alloc, most(alloc)?)))?;
    Some(Inside {
        alloc: alloc.clone(),
        around: key(around.stmt)?.clone(),
        counter,
        threads,
        cells,
    })
}

fn parallel(stmt: &Stmt, draft: &Draft<'_, '_>) -> Option<(Var, Size)> {
    let Exp::Op(op) = &stmt.exp else {
        return None;
    };
    let parallel = op.prim == Prim::Map && !matches!(op.annotation.level, Some(Level::Seq | Level::Vec));
    let counter = key(stmt).and_then(|key| draft.heads.get(key))?.index.clone()?;
    let threads = count(op, &draft.index().env)?;
    parallel.then_some((counter, threads))
}
