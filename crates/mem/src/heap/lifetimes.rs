//! How many bytes a run on blocks holds at once.
//!
//! Core frees nothing; what is compiled frees a block after the last use of what is in it. So a block counts from the statement
//! before which it is made up to the last use of anything in it, and through the whole of a loop around that use which it is from
//! outside of. What an entry is called with is its caller's.

use super::{Ran, Run, Stop};
use crate::draft::{Draft, Giver};
use crate::index::{BodyKind, Index, Moment};
use crate::ir::{Annotated, Kind, key};
use almach_base::Span;
use almach_base::codes::runtime::OUT_OF_MEMORY;
use almach_core::interp::RuntimeError;
use almach_core::{Stmt, Var};
use almach_value::ScalarType;
use std::collections::{BTreeSet, HashMap};

/// When blocks are needed.
pub(super) struct Lifetimes {
    /// From the first to the last moment. Those of parameters are not here.
    blocks: HashMap<Var, (Moment, Moment)>,
    /// When statements start.
    starts: HashMap<Var, Moment>,
}

/// The blocks of callers, and when each called.
#[derive(Default)]
pub(super) struct Around {
    pub(super) frames: Vec<(HashMap<Var, usize>, Moment)>,
    pub(super) now: Moment,
    /// The statement that runs.
    pub(super) span: Option<Span>,
    /// Made by that statement, which may not have named them yet.
    pub(super) made: Vec<usize>,
    /// So many blocks are the caller's of the entry.
    pub(super) arguments: usize,
    /// The most bytes that may be held.
    pub(super) most: Option<u64>,
}

impl Lifetimes {
    pub(super) fn of(program: &Annotated) -> Lifetimes {
        let index = Index::new(&program.core);
        let draft = Draft::new(&index, program.memory.clone());
        let mut lifetimes = Lifetimes {
            blocks: HashMap::new(),
            starts: HashMap::new(),
        };
        let repeated = repeated(&index);
        for info in &index.stmts {
            let Some(key) = key(info.stmt) else {
                continue;
            };
            lifetimes.starts.insert(key.clone(), info.start);
            let mut add = |block: &Var, last: Option<Moment>| {
                let last = last.unwrap_or_else(|| last_use(&draft, block).max(info.start));
                // Another iteration of a loop may use what is from outside of it.
                let last = repeated
                    .iter()
                    .filter(|(start, end)| *start > info.start && *start < last && last < *end)
                    .fold(last, |last, (_, end)| last.max(*end));
                lifetimes.blocks.insert(block.clone(), (info.start, last));
            };
            let allocs = program.memory.allocs.get(key).into_iter().flatten();
            allocs.for_each(|alloc| add(&alloc.block, None));
            let head = program.memory.heads.get(key).into_iter();
            for item in head.flat_map(|head| &head.items) {
                if matches!(item.kind, Kind::Block(_)) {
                    add(&item.var, None);
                    item.inside.iter().for_each(|inside| add(inside, Some(info.end)));
                }
            }
        }
        lifetimes
    }

    /// Whether a block is needed at a moment.
    fn is_needed(&self, block: &Var, now: Moment) -> bool {
        let lifetime = self.blocks.get(block);
        lifetime.is_none_or(|(first, last)| *first <= now && now <= *last)
    }
}

/// From where to where statements are whose bodies run several times.
fn repeated(index: &Index<'_>) -> Vec<(Moment, Moment)> {
    let bodies = index.bodies.iter();
    let bodies = bodies.filter(|body| matches!(body.kind, BodyKind::Loop | BodyKind::Lambda));
    let around: BTreeSet<usize> = bodies.filter_map(|body| body.around).collect();
    let around = around.into_iter().filter_map(|stmt| index.stmts.get(stmt));
    around.map(|info| (info.start, info.end)).collect()
}

/// When anything in a block is used last, or the block itself.
fn last_use(draft: &Draft<'_, '_>, block: &Var) -> Moment {
    let index = draft.index();
    let readers = draft.readers([block]).into_iter();
    let used = readers.flat_map(|var| {
        let uses = index.uses.get(&var).into_iter().flatten().copied();
        uses.chain(index.bound.get(&var).copied()).max()
    });
    let given = draft.givers(block).into_iter().filter_map(|giver| match giver {
        Giver::Statement(stmt) => {
            let stmt = index.defs.get(&stmt)?;
            index.stmts.get(*stmt).map(|info| info.start)
        }
        Giver::Function(_) => Some(Moment::MAX),
    });
    used.chain(given).max().unwrap_or(0)
}

impl Run<'_> {
    pub(super) fn starts(&mut self, stmt: &Stmt) {
        if let Some(start) = key(stmt).and_then(|key| self.lifetimes.starts.get(key)) {
            self.around.now = *start;
        }
        self.around.made.clear();
        if stmt.span != Span::NONE {
            self.around.span = Some(stmt.span);
        }
    }

    /// A new block of so many cells is there.
    pub(super) fn holds_more(&mut self, element: ScalarType, cells: i64) -> Ran<()> {
        let own = (&self.labels, self.around.now);
        let callers = self.around.frames.iter().map(|(labels, now)| (labels, *now));
        let mut needed: BTreeSet<usize> = self.around.made.iter().copied().collect();
        for (labels, now) in callers.chain([own]) {
            let needs = labels
                .iter()
                .filter(|(block, _)| self.lifetimes.is_needed(block, now));
            needed.extend(needs.map(|(_, at)| *at));
        }
        let blocks = needed.range(self.around.arguments..);
        let held: u64 = blocks.map(|block| self.bytes_of(*block)).sum();
        let held = held.saturating_add((element.bytes() as u64).saturating_mul(cells.max(0) as u64));
        self.account.peak = self.account.peak.max(held);
        self.around.made.push(self.heap.len());
        match self.around.most.is_some_and(|most| held > most) {
            true => Err(Stop::Error(RuntimeError {
                code: OUT_OF_MEMORY,
                span: self.around.span.unwrap_or(Span::NONE),
                message: format!("not enough memory for {cells} elements"),
                notes: Vec::new(),
            })),
            false => Ok(()),
        }
    }

    fn bytes_of(&self, block: usize) -> u64 {
        let found = self.heap.get(block);
        found.map_or(0, |block| (block.element.bytes() * block.cells.len()) as u64)
    }

    /// Bytes of cells that are moved to a block.
    pub(super) fn bytes_in(&self, block: usize, cells: u64) -> u64 {
        let found = self.heap.get(block);
        found.map_or(0, |block| block.element.bytes() as u64 * cells)
    }
}
