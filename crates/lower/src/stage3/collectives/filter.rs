//! The single-pass filter and partition: every element is read from memory once, and what is kept is written once.
//!
//! ```text
//! alloc out[n]
//! chain for c < chunks {
//!   kept[0 .. k] = the elements of the chunk that are kept, in the cache
//!   await flag[c - 1];  before = count[c - 1]
//!   count[c] = before + k;  release flag[c]
//!   out[before ..] = kept[0 .. k]
//! }
//! shrink out[count]
//! ```
//!
//! Counting first would read (and compute) every element twice. Memory beyond what is kept is never touched, and given
//! back at the end.

use super::super::expressions::index_expr;
use super::super::{Generator, Step};
use super::{Elements, Share, buffers};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Phrase};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_prim::Chunk;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

/// One of the parts that elements go to.
struct Part {
    /// The cell's buffers, one per scalar of an element.
    buffers: Vec<(Name, ScalarType)>,
    /// The name of its size.
    size: Name,
}

impl Generator<'_> {
    pub(super) fn chained_filter(
        &mut self,
        chunk: Chunk,
        of: &Elements,
        function: &Phrase,
        array: &Phrase,
        out: &Phrase,
    ) -> Lowering<()> {
        let parts = self.parts(out)?;
        for (buffer, _) in parts.iter().flat_map(|part| &part.buffers) {
            let span = self.span;
            self.emit(Stmt::Alloc {
                buffer: buffer.clone(),
                size: of.size.clone(),
                span,
            });
        }
        let chunking = self.chunked(&of.size, Index::constant(chunk.get().into()));
        let counts = self.scratch("count", ScalarType::I64, chunking.count.clone());
        let flags = self.flags(&chunking)?;
        self.over_chunks(&chunking, LoopMode::Chain, |this, chunk| {
            let locals = parts
                .iter()
                .map(|part| this.local_buffers(part, &chunking.elements))
                .collect::<Vec<_>>();
            let kept = this.sort_out(of, function, array, &locals, chunk)?;
            let before = this.count_before(&flags, &counts, &kept, chunk)?;
            let moved = [
                (before.clone(), kept.clone()),
                (&chunk.start - &before, &chunk.length - &kept),
            ];
            for ((part, local), (to, count)) in parts.iter().zip(&locals).zip(moved) {
                for ((buffer, _), local) in part.buffers.iter().zip(local) {
                    this.emit(Stmt::Copy {
                        to: buffer.clone(),
                        to_index: this.simplify(&to),
                        from: local.clone(),
                        from_index: Index::zero(),
                        count: this.simplify(&count),
                    });
                }
            }
            for local in locals.into_iter().flatten().rev() {
                this.emit(Stmt::Free(local));
            }
            Ok(())
        })?;
        let last = &chunking.count - &Index::one();
        let some = Expr::binary(BinOp::Gt, index_expr(chunking.count), Expr::int(0));
        let kept = self.choose(
            some,
            |_| Ok(Expr::Load(counts.clone(), last)),
            |_| Ok(Expr::int(0)),
        )?;
        let kept = self.as_index(kept);
        self.emit(Stmt::Free(flags));
        self.emit(Stmt::Free(counts));
        for (part, size) in parts.into_iter().zip([kept.clone(), &of.size - &kept]) {
            self.emit(Stmt::Assign {
                name: part.size,
                value: index_expr(size.clone()),
            });
            for (buffer, _) in part.buffers {
                self.emit(Stmt::Shrink {
                    buffer,
                    size: size.clone(),
                });
            }
        }
        Ok(())
    }

    /// The parts of the cell that takes the result: one, or two of the same types.
    fn parts(&mut self, out: &Phrase) -> Lowering<Vec<Part>> {
        let cell = self.cell(out)?;
        let all = buffers(&cell);
        let each = all.len().checked_div(cell.sizes.len()).unwrap_or(0);
        let parts = cell.sizes.iter().enumerate().map(|(at, size)| Part {
            buffers: all.iter().skip(at * each).take(each).cloned().collect(),
            size: size.clone(),
        });
        Ok(parts.collect())
    }

    fn local_buffers(&mut self, part: &Part, elements: &Index) -> Vec<Name> {
        part.buffers
            .iter()
            .map(|(_, ty)| self.scratch("kept", *ty, elements.clone()))
            .collect()
    }

    /// Asks for every element of a chunk and sorts them into the parts; gives the number that goes to the first one.
    fn sort_out(
        &mut self,
        of: &Elements,
        function: &Phrase,
        array: &Phrase,
        locals: &[Vec<Name>],
        chunk: &Share,
    ) -> Lowering<Index> {
        let kept = self.fresh("k");
        self.assigned.insert(kept.clone());
        self.emit(Stmt::Var {
            name: kept.clone(),
            ty: ScalarType::I64,
            value: Some(Expr::int(0)),
        });
        let j = self.fresh("j");
        self.counted(j.clone(), chunk.length.clone(), LoopMode::Seq, |this| {
            let j = Index::var(j);
            let element = this.element(of, array, &(&chunk.start + &j))?;
            let keep = this.variable("keep", &Data::Scalar(ScalarType::Bool));
            this.run(function, [&element, &keep])?;
            // Every element goes to the end of every part, and stays there where the end moves on: no branch to guess.
            let places = [Index::var(kept.clone()), &j - &Index::var(kept.clone())];
            for (local, place) in locals.iter().zip(places) {
                this.put_locally(of, &element, local, &place)?;
            }
            let keep = this.read(&keep, Vec::new())?;
            let more = Expr::unary(UnOp::Convert(ScalarType::I64), keep);
            this.emit(Stmt::Assign {
                name: kept.clone(),
                value: Expr::binary(BinOp::Add, Expr::Var(kept.clone()), more),
            });
            Ok(())
        })?;
        let count = self.fresh("kept_count");
        self.emit(Stmt::Let {
            name: count.clone(),
            ty: ScalarType::I64,
            value: Expr::Var(kept),
        });
        Ok(Index::var(count))
    }

    fn put_locally(&mut self, of: &Elements, element: &Phrase, local: &[Name], at: &Index) -> Lowering<()> {
        let leaves = super::storage::of(&of.data, &Name::from("element")).leaves();
        for (buffer, leaf) in local.iter().zip(leaves) {
            let path: Vec<Step> = super::fields(&leaf.path);
            let value = self.read(element, path)?;
            self.emit(Stmt::Store {
                buffer: buffer.clone(),
                index: at.clone(),
                value,
            });
        }
        Ok(())
    }

    /// How many elements of the chunks before this one are kept; those after it are told.
    fn count_before(&mut self, flags: &Name, counts: &Name, kept: &Index, chunk: &Share) -> Lowering<Index> {
        let before = self.fresh("before");
        self.assigned.insert(before.clone());
        self.emit(Stmt::Var {
            name: before.clone(),
            ty: ScalarType::I64,
            value: Some(Expr::Const(Scalar::I64(0))),
        });
        self.when(chunk.is_not_first(), |this| {
            this.await_previous(flags, chunk);
            this.emit(Stmt::Assign {
                name: before.clone(),
                value: Expr::Load(counts.clone(), chunk.previous()),
            });
            Ok(())
        })?;
        let after = Index::var(before.clone()) + kept;
        self.emit(Stmt::Store {
            buffer: counts.clone(),
            index: chunk.number.clone(),
            value: Expr::Index(after),
        });
        self.publish(flags, chunk);
        Ok(Index::var(before))
    }
}
