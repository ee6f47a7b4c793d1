//! How operations whose iterations communicate cut their work (`docs/collectives.md`): written down, because what a float rounds
//! to depends on it.
//!
//! ```text
//! let ys: [n]f32 = scan@par (\a b -> a + b) 0.0 xs   =>   let ys: [n]f32 = scan@par@64 (\a b -> a + b) 0.0 xs
//! ```
//!
//! Introduces: chunks. Removes: nothing. Guarantees: an operation without a chunk is grouped in order, from left to right.

use crate::scans::{bytes, odd};
use crate::{Around, Chooser, Machine, cost};
use almach_core::{Op, Type};
use almach_prim::{Chunk, Level, Prim};

/// Elements of a chunk: it and its results lie in a core's own cache.
const ELEMENTS: Option<Chunk> = Chunk::new(4096);

/// Elements from which on one worker has several such chunks.
const TOGETHER: i64 = 4096;

/// Elements of a chunk of a scan whose chunks go side by side.
const RUN: Option<Chunk> = Chunk::new(64);

/// The most scalars of such an element.
const MOST_SCALARS: u32 = 4;

/// Parts of a histogram with bins of their own: enough for the cores of a processor.
const PARTS: Option<Chunk> = Chunk::new(16);

/// The same for groups of a device.
const PARTS_OF_GROUPS: Option<Chunk> = Chunk::new(1024);

/// Work-items of a group.
const ITEMS: i64 = 256;

/// Local memory for the elements of a group.
const GROUP_BYTES: i64 = 30 << 10;

/// The most elements of a work-item of a group.
const LONGEST_RUN: i64 = 31;

impl Chooser {
    /// The chunk of an operation whose level is known.
    pub(crate) fn chunk(&self, op: &Op, around: Around) -> Option<Chunk> {
        let threads = match op.annotation.level {
            Some(Level::Par | Level::Grid(_) | Level::Group(_)) => around == Around::Nothing,
            Some(Level::Seq | Level::Vec | Level::Local(_)) | None => false,
        };
        let flat = op.args.iter().all(|arg| match self.builder.type_of(arg) {
            Ok(Type::Array(_, element)) => match (op.prim, *element) {
                (Prim::ScanRows | Prim::ScanRowsExclusive, Type::Array(_, element)) => {
                    cost::is_scalars(&element)
                }
                (_, element) => cost::is_scalars(&element),
            },
            Ok(other) => cost::is_scalars(&other),
            Err(_) => false,
        });
        if !flat {
            return None;
        }
        if let Prim::Scan | Prim::ScanExclusive = op.prim {
            let one_after_another =
                self.machine == Machine::Sequential && op.annotation.level == Some(Level::Seq);
            return match threads || (one_after_another && self.is_worth_chunks(op)) {
                true => self.never_fails(op).then(|| self.chunk_of_scan(op))?,
                false => None,
            };
        }
        if !threads {
            return None;
        }
        match op.prim {
            // Another grouping of an operator that fails may fail where the program would not.
            Prim::Reduce | Prim::ReduceComm | Prim::ScanRows | Prim::ScanRowsExclusive => {
                self.never_fails(op).then_some(ELEMENTS)?
            }
            Prim::ReduceByIndex => self.never_fails(op).then_some(match self.machine {
                Machine::Sequential | Machine::Threads => PARTS,
                Machine::Device => PARTS_OF_GROUPS,
            })?,
            Prim::Filter | Prim::Partition => match (op.annotation.level, self.group_chunk(op)) {
                (Some(Level::Group(_)), Some(chunk)) => Some(chunk),
                _ => ELEMENTS,
            },
            _ => None,
        }
    }

    /// Chunks of a scan by an operator on few scalars are so short that a worker takes several of them side by side: each result waits for
    /// the one before it, but not for those of another chunk.
    fn chunk_of_scan(&self, op: &Op) -> Option<Chunk> {
        let simple = op
            .functions
            .iter()
            .all(|function| cost::is_simple(function, &self.facts));
        let types = op.functions.iter().flat_map(|function| &function.result.types);
        let is_small = types.map(scalars_of).sum::<u32>() <= MOST_SCALARS;
        match simple && is_small && self.machine != Machine::Device {
            true => RUN,
            false => ELEMENTS,
        }
    }

    /// Whether one worker has something of chunks: there are several of them, and they go side by side.
    fn is_worth_chunks(&self, op: &Op) -> bool {
        let size = op.args.last().and_then(|array| self.array_type(array));
        let long = size.is_some_and(|(size, _)| size.as_constant().is_none_or(|size| size >= TOGETHER));
        long && self.chunk_of_scan(op) == RUN
    }

    /// Whether groups can share a filter or partition: they go over elements in another order, so nothing may fail, and keep a chunk
    /// in local memory.
    pub(crate) fn is_filter_for_groups(&self, op: &Op) -> bool {
        matches!(op.prim, Prim::Filter | Prim::Partition)
            && self.never_fails(op)
            && self.group_chunk(op).is_some()
    }

    /// Elements of a group's chunk of a filter: it is in local memory twice, as it is and sorted out. The run of each work-item has an
    /// odd number of them, so that neighbours use different banks of that memory.
    fn group_chunk(&self, op: &Op) -> Option<Chunk> {
        let (_, element) = self.array_type(op.args.last()?)?;
        if !cost::is_scalars(&element) {
            return None;
        }
        let room = GROUP_BYTES / (2 * ITEMS * bytes(&element).max(1));
        if room == 0 {
            return None;
        }
        Chunk::new(u32::try_from(odd(room.min(LONGEST_RUN)) * ITEMS).ok()?)
    }

    fn never_fails(&self, op: &Op) -> bool {
        let mut functions = op.functions.iter();
        functions.all(|function| !self.facts.body_can_fail(&function.body))
    }
}

fn scalars_of(ty: &Type) -> u32 {
    match ty {
        Type::Tuple(parts) => parts.iter().map(scalars_of).sum(),
        _ => 1,
    }
}
