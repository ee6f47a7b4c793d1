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
//! of one chunk is grouped as a loop groups it.

use super::super::Generator;
use super::{Elements, Share};
use crate::error::Lowering;
use almach_dpia::{Data, Phrase, ScanKind};
use almach_imp::{Index, LoopMode};
use almach_prim::Chunk;

/// What a scan is given.
struct Scan<'p> {
    kind: ScanKind,
    of: &'p Elements,
    function: &'p Phrase,
    array: &'p Phrase,
    out: &'p Phrase,
}

impl Generator<'_> {
    pub(super) fn chained_scan(
        &mut self,
        (kind, chunk): (ScanKind, Chunk),
        of: &Elements,
        function: &Phrase,
        start: &Phrase,
        array: &Phrase,
        out: &Phrase,
    ) -> Lowering<()> {
        let scan = Scan {
            kind,
            of,
            function,
            array,
            out,
        };
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
                    this.scan_on(&scan, &total, chunk.start.clone(), chunk.length.clone())?;
                    this.put(of, &prefix, &chunk.number, &total)?;
                    this.publish(&flags, chunk);
                    Ok(())
                },
                |this| {
                    this.local_scan(&scan, &total, chunk)?;
                    this.await_previous(&flags, chunk);
                    let before = this.written(of, &prefix, &chunk.previous())?;
                    let own = this.place_of(&prefix, &chunk.number);
                    this.run(function, [&before, &total, &own])?;
                    this.publish(&flags, chunk);
                    this.add_before(&scan, &before, chunk)
                },
            )
        })?;
        self.emit(almach_imp::Stmt::Free(flags));
        self.end_variable(&prefix)
    }

    /// Scans so many elements from one on; `total` holds what came before, and then their sum.
    fn scan_on(&mut self, scan: &Scan<'_>, total: &Phrase, start: Index, count: Index) -> Lowering<()> {
        let j = self.fresh("j");
        self.counted(j.clone(), count, LoopMode::Seq, |this| {
            let at = start + Index::var(j);
            let element = this.element(scan.of, scan.array, &at)?;
            if scan.kind == ScanKind::Exclusive {
                this.put(scan.of, scan.out, &at, total)?;
            }
            this.advance(scan.of, scan.function, total, &element)?;
            if scan.kind == ScanKind::Inclusive {
                this.put(scan.of, scan.out, &at, total)?;
            }
            Ok(())
        })
    }

    /// The scan of a chunk alone, which starts from its first element.
    fn local_scan(&mut self, scan: &Scan<'_>, total: &Phrase, chunk: &Share) -> Lowering<()> {
        let of = scan.of;
        let element = self.element(of, scan.array, &chunk.start)?;
        self.assign(&of.data, total, Vec::new(), &element, Vec::new())?;
        if scan.kind == ScanKind::Inclusive {
            self.put(of, scan.out, &chunk.start, total)?;
        }
        let rest = &chunk.length - &Index::one();
        self.scan_on(scan, total, &chunk.start + &Index::one(), rest)
    }

    /// Puts what comes before a chunk in front of its results.
    fn add_before(&mut self, scan: &Scan<'_>, before: &Phrase, chunk: &Share) -> Lowering<()> {
        let of = scan.of;
        let skipped = match scan.kind {
            ScanKind::Inclusive => Index::zero(),
            // The first result is what comes before; there is nothing to add it to.
            ScanKind::Exclusive => {
                self.put(of, scan.out, &chunk.start, before)?;
                Index::one()
            }
        };
        let j = self.fresh("j");
        self.counted(j.clone(), &chunk.length - &skipped, LoopMode::Seq, |this| {
            let at = &chunk.start + &skipped + Index::var(j);
            let local = this.written(of, scan.out, &at)?;
            let place = this.place_of(scan.out, &at);
            this.run(scan.function, [before, &local, &place])
        })
    }
}
