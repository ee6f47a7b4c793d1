//! Who read and wrote what, per parallel loop, and who knows of it.
//!
//! Two accesses of one cell by different iterations race when one of them is a write, unless both are atomic, or one
//! is ordered before the other: the first iteration released something after its access, and the second one acquired it
//! before its own. What is ordered is kept as clocks: an iteration counts its releases, and knows of each other iteration
//! how many of its releases it has seen, directly or through others.

use super::clock::Clock;
use super::{Run, RunError};
use crate::ir::LoopMode;
use almach_base::Name;
use rustc_hash::FxHashMap;

/// One cell of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) cell: usize,
}

/// The parallel loops that are running, the outermost first.
#[derive(Default)]
pub(super) struct Traces {
    loops: Vec<Trace>,
}

#[derive(Default)]
struct Trace {
    now: Now,
    touched: FxHashMap<Place, Touched>,
    /// What the last release at a place hands over.
    published: FxHashMap<Place, Clock>,
}

/// The iteration that runs.
#[derive(Default)]
struct Now {
    /// Whether iterations may be ordered, and so every reader counts.
    may_order: bool,
    iteration: i64,
    /// How often the iteration has released.
    releases: u32,
    seen: Clock,
}

/// An access, before the iteration's release of that number.
#[derive(Clone, Copy)]
struct Access {
    iteration: i64,
    before: u32,
}

#[derive(Default)]
struct Touched {
    writer: Option<Access>,
    reader: Option<Access>,
    rare: Option<Box<Rare>>,
}

/// Accesses that most cells never see.
#[derive(Default)]
struct Rare {
    /// Iterations that read, besides the first.
    readers: Vec<Access>,
    atomic_readers: Vec<Access>,
    atomic_writers: Vec<Access>,
}

impl Touched {
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn plain_reads(&self) -> impl Iterator<Item = Access> {
        let others = self.rare.iter().flat_map(|rare| rare.readers.iter().copied());
        self.reader.into_iter().chain(others)
    }

    fn atomic_writes(&self) -> impl Iterator<Item = Access> {
        self.rare
            .iter()
            .flat_map(|rare| rare.atomic_writers.iter().copied())
    }

    fn all(&self) -> impl Iterator<Item = Access> {
        let atomic_reads = self
            .rare
            .iter()
            .flat_map(|rare| rare.atomic_readers.iter().copied());
        self.writer
            .into_iter()
            .chain(self.plain_reads())
            .chain(self.atomic_writes())
            .chain(atomic_reads)
    }
}

/// Adds an access, in place of an earlier one of the same iteration.
fn note(accesses: &mut Vec<Access>, now: Access) {
    match accesses
        .iter_mut()
        .find(|access| access.iteration == now.iteration)
    {
        Some(access) => *access = now,
        None => accesses.push(now),
    }
}

impl Now {
    fn access(&self) -> Access {
        Access {
            iteration: self.iteration,
            before: self.releases,
        }
    }

    /// Whether an access has happened before what the iteration does now.
    fn is_ordered(&self, access: Access) -> bool {
        access.iteration == self.iteration || self.seen.of(access.iteration) > access.before
    }

    fn check(&self, mut accesses: impl Iterator<Item = Access>, place: Place, buffer: &Name) -> Run<()> {
        match accesses.find(|access| !self.is_ordered(*access)) {
            None => Ok(()),
            Some(other) => Err(RunError::Race {
                place: format!("cell {} of `{buffer}`", place.cell),
                first: other.iteration,
                second: self.iteration,
            }),
        }
    }
}

impl Trace {
    fn with(&mut self, place: Place, then: impl FnOnce(&Now, &mut Touched) -> Run<()>) -> Run<()> {
        then(&self.now, self.touched.entry(place).or_default())
    }

    fn read(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.with(place, |now, touched| {
            now.check(
                touched.writer.into_iter().chain(touched.atomic_writes()),
                place,
                buffer,
            )?;
            let access = now.access();
            match touched.reader {
                None => touched.reader = Some(access),
                Some(reader) if reader.iteration == access.iteration => touched.reader = Some(access),
                // Without an order between iterations two readers tell as much as many.
                Some(_) if !now.may_order => touched.rare().readers = vec![access],
                Some(_) => note(&mut touched.rare().readers, access),
            }
            Ok(())
        })
    }

    fn write(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.with(place, |now, touched| {
            now.check(touched.all(), place, buffer)?;
            // All others come before this one, and so before whatever comes after it.
            *touched = Touched {
                writer: Some(now.access()),
                ..Touched::default()
            };
            Ok(())
        })
    }

    fn atomic_read(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.with(place, |now, touched| {
            now.check(touched.writer.into_iter(), place, buffer)?;
            note(&mut touched.rare().atomic_readers, now.access());
            Ok(())
        })
    }

    fn atomic_write(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.with(place, |now, touched| {
            now.check(
                touched.writer.into_iter().chain(touched.plain_reads()),
                place,
                buffer,
            )?;
            note(&mut touched.rare().atomic_writers, now.access());
            Ok(())
        })
    }

    fn acquire(&mut self, place: Place) {
        if let Some(published) = self.published.get(&place) {
            self.now.seen.join(published);
        }
    }

    fn release(&mut self, place: Place) {
        self.now.releases += 1;
        let mut clock = self.now.seen.clone();
        clock.join(&Clock::one(self.now.iteration, self.now.releases));
        self.published.insert(place, clock);
    }
}

impl Traces {
    pub(super) fn enter(&mut self, mode: LoopMode) {
        self.loops.push(Trace {
            now: Now {
                may_order: mode == LoopMode::Chain,
                ..Now::default()
            },
            ..Trace::default()
        });
    }

    pub(super) fn leave(&mut self) {
        self.loops.pop();
    }

    pub(super) fn iteration(&mut self, at: i64) {
        if let Some(trace) = self.loops.last_mut() {
            trace.now.iteration = at;
            trace.now.releases = 0;
            trace.now.seen = Clock::default();
        }
    }

    pub(super) fn read(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.each(|trace| trace.read(place, buffer))
    }

    pub(super) fn write(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.each(|trace| trace.write(place, buffer))
    }

    pub(super) fn atomic_read(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.each(|trace| trace.atomic_read(place, buffer))
    }

    pub(super) fn atomic_write(&mut self, place: Place, buffer: &Name) -> Run<()> {
        self.each(|trace| trace.atomic_write(place, buffer))
    }

    /// Everything before comes before everything behind, for the iterations of the innermost loop.
    pub(super) fn barrier(&mut self) {
        if let Some(trace) = self.loops.last_mut() {
            trace.touched.clear();
        }
    }

    /// What was released at a place is known from now on.
    pub(super) fn acquire(&mut self, place: Place) {
        self.loops.iter_mut().for_each(|trace| trace.acquire(place));
    }

    /// Who acquires at a place knows of what was done up to now.
    pub(super) fn release(&mut self, place: Place) {
        self.loops.iter_mut().for_each(|trace| trace.release(place));
    }

    /// A relaxed store hands nothing over.
    pub(super) fn forget(&mut self, place: Place) {
        for trace in &mut self.loops {
            trace.published.remove(&place);
        }
    }

    fn each(&mut self, one: impl FnMut(&mut Trace) -> Run<()>) -> Run<()> {
        self.loops.iter_mut().try_for_each(one)
    }
}
