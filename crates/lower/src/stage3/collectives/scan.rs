//! The single-pass scan: every element is read from memory once and written once.
//!
//! ```text
//! chain for c < chunks {
//!   local: out[…] = the scan of the chunk alone, still in the cache; total = its sum
//!   await flag[c - 1];  before = prefix[c - 1]
//!   prefix[c] = before ⊕ total;  release flag[c]
//!   out[…] = before ⊕ out[…]
//! }
//! ```
//!
//! Prefixes are combined strictly from left to right, `P(c) = P(c - 1) ⊕ A(c)`, so the grouping depends on the size of a
//! chunk and on nothing else: not on threads, not on timing. The first chunk scans from the start value, so an array
//! of one chunk is grouped as a loop groups it. Where a function makes something of the results, or their place does not keep all of
//! them (a destination that takes one component, or one element), a chunk alone is scanned into memory of its own.

use super::super::expressions::index_expr;
use super::super::{Binding, Generator};
use super::runs::Workers;
use super::{Elements, Kept, Share};
use crate::error::Lowering;
use almach_dpia::{Data, Phrase, ScanKind};
use almach_imp::{Index, LoopMode};
use almach_prim::Chunk;

/// What a scan is given.
pub(super) struct Scan<'p> {
    pub(super) kind: ScanKind,
    pub(super) of: &'p Elements,
    pub(super) function: &'p Phrase,
    /// What is made of an element of the result, and its type.
    pub(super) mapped: Option<(&'p Phrase, Data)>,
    pub(super) array: &'p Phrase,
    pub(super) out: &'p Phrase,
}

/// Where the results of a chunk go before it is known what comes before them.
pub(super) enum Alone {
    /// To their place.
    InPlace,
    /// To memory of the worker's own, since their place takes something else, or not all of it: from the element at `from` on.
    Aside { room: Phrase, from: Index },
    /// There too, but what is completed there is copied to its place.
    Then { room: Phrase, from: Index },
}

impl Generator<'_> {
    pub(super) fn chained_scan(&mut self, chunk: Chunk, scan: &Scan<'_>, start: &Phrase) -> Lowering<()> {
        if self.goes_beside(chunk, scan) {
            return self.scan_beside(chunk, scan, start, Workers::Several);
        }
        let of = scan.of;
        let chunking = self.chunked(&of.size, Index::constant(chunk.get().into()));
        let first = self.computed_once("start", &of.data, |this, path| this.read(start, path))?;
        let prefix = self.variable("prefix", &Data::array(chunking.count.clone(), of.data.clone()));
        let flags = self.flags(&chunking)?;
        self.over_chunks(&chunking, LoopMode::Chain, |this, chunk| {
            let total = this.variable("total", &of.data);
            this.either(
                chunk.is_first(),
                |this| {
                    this.assign(&of.data, &total, Vec::new(), &first, Vec::new())?;
                    this.scan_on(scan, &total, &chunk.start, chunk.length.clone(), |this, at| {
                        this.put_result(scan, at, &total)
                    })?;
                    this.put(of, &prefix, &chunk.number, &total)?;
                    this.publish(&flags, chunk);
                    Ok(())
                },
                |this| {
                    let alone = this.alone(scan, chunking.elements.clone(), &chunk.start)?;
                    this.local_scan(scan, &total, chunk, &alone)?;
                    this.await_previous(&flags, chunk);
                    let before = this.written(of, &prefix, &chunk.previous())?;
                    let own = this.place_of(&prefix, &chunk.number);
                    this.run(scan.function, [&before, &total, &own])?;
                    this.publish(&flags, chunk);
                    this.add_before(scan, &before, chunk, &alone)?;
                    this.end_alone(&alone)
                },
            )
        })?;
        self.emit(almach_imp::Stmt::Free(flags));
        self.end_variable(&prefix)
    }

    /// Where a chunk of at most so many elements is scanned alone.
    pub(super) fn alone(&mut self, scan: &Scan<'_>, elements: Index, start: &Index) -> Lowering<Alone> {
        let kept = match scan.mapped {
            None => self.kept_by(scan.of, scan.out, start)?,
            Some(_) => Kept::Part,
        };
        match kept {
            Kept::All => Ok(Alone::InPlace),
            Kept::Part => {
                let room = Data::array(elements, scan.of.data.clone());
                Ok(Alone::Aside {
                    room: self.variable("alone", &room),
                    from: start.clone(),
                })
            }
        }
    }

    pub(super) fn end_alone(&mut self, alone: &Alone) -> Lowering<()> {
        match alone {
            Alone::InPlace => Ok(()),
            Alone::Aside { room, .. } | Alone::Then { room, .. } => self.end_variable(room),
        }
    }

    /// Scans so many elements from one on; `total` holds what came before, and then their sum.
    pub(super) fn scan_on(
        &mut self,
        scan: &Scan<'_>,
        total: &Phrase,
        start: &Index,
        count: Index,
        put: impl FnOnce(&mut Self, &Index) -> Lowering<()>,
    ) -> Lowering<()> {
        let j = self.fresh("j");
        self.counted(j.clone(), count, LoopMode::Seq, |this| {
            let at = start + &Index::var(j);
            let element = this.element(scan.of, scan.array, &at)?;
            match scan.kind {
                ScanKind::Exclusive => {
                    put(this, &at)?;
                    this.advance(scan.of, scan.function, total, &element)
                }
                ScanKind::Inclusive => {
                    this.advance(scan.of, scan.function, total, &element)?;
                    put(this, &at)
                }
            }
        })
    }

    /// Writes an element of the result, or what is made of it.
    pub(super) fn put_result(&mut self, scan: &Scan<'_>, at: &Index, value: &Phrase) -> Lowering<()> {
        let Some((mapped, _)) = &scan.mapped else {
            return self.put(scan.of, scan.out, at, value);
        };
        let number = self.fresh("at");
        let at = self.simplify(at);
        self.bindings
            .insert(number.clone(), Binding::Scalar(index_expr(at.clone())));
        let place = self.place_of(scan.out, &at);
        self.run(mapped, [&Phrase::Var(number), value, &place])
    }

    /// The scan of a chunk alone, which starts from its first element.
    pub(super) fn local_scan(
        &mut self,
        scan: &Scan<'_>,
        total: &Phrase,
        chunk: &Share,
        alone: &Alone,
    ) -> Lowering<()> {
        let of = scan.of;
        let put = |this: &mut Self, at: &Index| {
            let (place, at) = alone.place(scan, at);
            this.put(of, place, &at, total)
        };
        let element = self.element(of, scan.array, &chunk.start)?;
        self.assign(&of.data, total, Vec::new(), &element, Vec::new())?;
        if scan.kind == ScanKind::Inclusive {
            put(self, &chunk.start)?;
        }
        let rest = &chunk.length - &Index::one();
        self.scan_on(scan, total, &(&chunk.start + &Index::one()), rest, put)
    }

    /// Puts what comes before a chunk in front of its results.
    pub(super) fn add_before(
        &mut self,
        scan: &Scan<'_>,
        before: &Phrase,
        chunk: &Share,
        alone: &Alone,
    ) -> Lowering<()> {
        let of = scan.of;
        let skipped = match scan.kind {
            ScanKind::Inclusive => Index::zero(),
            // The first result is what comes before; there is nothing to add it to.
            ScanKind::Exclusive => {
                match alone {
                    Alone::Then { .. } => {
                        let (place, at) = alone.place(scan, &chunk.start);
                        self.put(of, place, &at, before)?;
                    }
                    Alone::InPlace | Alone::Aside { .. } => self.put_result(scan, &chunk.start, before)?,
                }
                Index::one()
            }
        };
        let j = self.fresh("j");
        self.counted(j.clone(), &chunk.length - &skipped, LoopMode::Seq, |this| {
            let at = &chunk.start + &skipped + Index::var(j);
            let (from, from_at) = alone.place(scan, &at);
            let local = this.written(of, from, &from_at)?;
            match alone {
                Alone::InPlace | Alone::Then { .. } => {
                    let place = this.place_of(from, &from_at);
                    this.run(scan.function, [before, &local, &place])
                }
                Alone::Aside { .. } => {
                    let all = this.variable("all", &of.data);
                    this.run(scan.function, [before, &local, &all])?;
                    this.put_result(scan, &at, &all)
                }
            }
        })
    }
}

impl Alone {
    /// Where the result of a chunk alone at that place of the whole array is.
    pub(super) fn place<'p>(&'p self, scan: &'p Scan<'_>, at: &Index) -> (&'p Phrase, Index) {
        match self {
            Alone::InPlace => (scan.out, at.clone()),
            Alone::Aside { room, from } | Alone::Then { room, from } => (room, at - from),
        }
    }
}
