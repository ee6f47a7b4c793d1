//! The reduction in chunks: every element is read once, each chunk by one worker.
//!
//! ```text
//! par for c < chunks {
//!   total = x[first of c] ⊕ …;  partial[c] = total
//! }
//! total = start
//! for c < chunks { total = total ⊕ partial[c] }
//! ```
//!
//! The grouping depends on the size of a chunk and on nothing else: not on threads, not on timing.

use super::super::Generator;
use super::Elements;
use crate::error::Lowering;
use almach_dpia::{Data, Phrase};
use almach_imp::{Index, LoopMode};
use almach_prim::Chunk;

impl Generator<'_> {
    pub(super) fn parallel_reduce(
        &mut self,
        chunk: Chunk,
        of: &Elements,
        function: &Phrase,
        start: &Phrase,
        array: &Phrase,
        out: &Phrase,
    ) -> Lowering<()> {
        let chunking = self.chunked(&of.size, Index::constant(chunk.get().into()));
        let first = self.computed_once("start", &of.data, |this, path| this.read(start, path))?;
        let partial = self.variable("partial", &Data::array(chunking.count.clone(), of.data.clone()));
        self.over_chunks(&chunking, LoopMode::Par, |this, chunk| {
            let total = this.variable("total", &of.data);
            let element = this.element(of, array, &chunk.start)?;
            this.assign(&of.data, &total, Vec::new(), &element, Vec::new())?;
            let j = this.fresh("j");
            let rest = &chunk.length - &Index::one();
            this.counted(j.clone(), rest, LoopMode::Seq, |this| {
                let at = &chunk.start + &Index::one() + Index::var(j);
                let element = this.element(of, array, &at)?;
                this.advance(of, function, &total, &element)
            })?;
            this.put(of, &partial, &chunk.number, &total)
        })?;
        let total = self.variable("total", &of.data);
        self.assign(&of.data, &total, Vec::new(), &first, Vec::new())?;
        let c = self.fresh("c");
        self.counted(c.clone(), chunking.count.clone(), LoopMode::Seq, |this| {
            let part = this.written(of, &partial, &Index::var(c))?;
            this.advance(of, function, &total, &part)
        })?;
        self.assign(&of.data, out, Vec::new(), &total, Vec::new())?;
        self.end_variable(&partial)
    }
}
