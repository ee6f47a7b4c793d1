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
use crate::draft::Draft;
use crate::index::{BodyId, Index, Moment};
use crate::ir::{Alloc, Annotated, key};
use almach_core::Var;
use almach_value::ScalarType;
use std::collections::HashMap;

pub fn merge(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut draft = Draft::new(&index, program.memory);
    let mut kept: HashMap<(BodyId, ScalarType), Vec<Kept>> = HashMap::new();
    for Made { alloc, body, at } in made(&draft) {
        let last = last_use(&draft, &alloc.block);
        let kept = kept.entry((body, alloc.element)).or_default();
        // A block that takes another one's arrays is needed longer, so one look at each is enough.
        let fits = |first: &&mut Kept| {
            first.last.is_some_and(|last| last < at)
                && index.known.is_nonneg(&(&first.alloc.cells - &alloc.cells))
        };
        let Some(first) = kept.iter_mut().find(fits) else {
            kept.push(Kept { alloc, last });
            continue;
        };
        let gone = &alloc.block;
        draft.remove_alloc(gone);
        draft.rename_block(gone, &first.alloc.block);
        first.last = first.last.max(last);
        let why = format!(
            "shares the block `{}`, whose arrays are dead by then",
            first.alloc.block.name
        );
        log.notes.push(Note::done(gone, why));
    }
    let memory = draft.into_memory();
    Annotated {
        core: program.core,
        memory,
    }
}

struct Made {
    alloc: Alloc,
    body: BodyId,
    at: Moment,
}

/// A block, and when it is last needed.
struct Kept {
    alloc: Alloc,
    last: Option<Moment>,
}

/// The blocks that nobody hands on, in the order of the text.
fn made(draft: &Draft<'_, '_>) -> Vec<Made> {
    let mut made = Vec::new();
    for info in &draft.index().stmts {
        let allocs = key(info.stmt).and_then(|key| draft.allocs.get(key));
        for alloc in allocs.into_iter().flatten() {
            if !draft.is_handed_on(&alloc.block) && !draft.is_given(&alloc.block) {
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
fn last_use(draft: &Draft<'_, '_>, block: &Var) -> Option<Moment> {
    let index = draft.index();
    let readers = draft.readers([block]).into_iter();
    let moments = readers.map(|var| {
        let uses = index.uses.get(&var).into_iter().flatten().copied();
        uses.chain(index.bound.get(&var).copied()).max().unwrap_or(0)
    });
    moments.max()
}
