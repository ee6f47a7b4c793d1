//! Filter and partition in one pass: every element is read from memory once, and what is kept is written once.
//!
//! ```text
//! alloc out[n]                              alloc out[n]
//! for i < n {                               chain for c < chunks {
//!   out[k] = xs[i]                            kept[0 .. k] = the elements of the chunk that are kept, in the cache
//!   k = k + (p xs[i])                         await flag[c - 1];  before = count[c - 1]
//! }                                           count[c] = before + k;  release flag[c]
//! shrink out[k]                               out[before ..] = kept[0 .. k]
//!                                           }
//!                                           shrink out[count]
//! ```
//!
//! On the left by one worker, on the right by all of them. Counting first would read (and compute) every element twice. Memory
//! beyond what is kept is never touched, and given back at the end.

use super::super::commands::resized;
use super::super::expressions::index_expr;
use super::super::storage::{Storage, Tree};
use super::super::{Binding, Generator};
use super::{Elements, Share, buffers};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Phrase};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType, UnOp};
use std::rc::Rc;

/// What a filter or partition is given.
pub(super) struct Filter<'p> {
    pub(super) of: &'p Elements,
    pub(super) predicate: &'p Phrase,
    /// What is made of an element that is kept, and its type.
    pub(super) mapped: Option<(&'p Phrase, Data)>,
    pub(super) array: &'p Phrase,
    pub(super) out: &'p Phrase,
}

impl Filter<'_> {
    /// The type of an element of the result.
    pub(super) fn written(&self) -> &Data {
        self.mapped.as_ref().map_or(&self.of.data, |(_, data)| data)
    }

    /// Elements of scalars that are written as they are: so cheap that no branch is worth it.
    pub(super) fn is_plain(&self) -> bool {
        self.mapped.is_none() && crate::stage2::is_flat(&self.of.data)
    }
}

/// One of the parts that elements go to.
pub(super) struct Part {
    /// The cell's buffers, one per scalar of an element.
    pub(super) buffers: Vec<(Name, ScalarType)>,
    /// The name of its size.
    size: Name,
}

impl Generator<'_> {
    /// By one worker, one element after the other.
    pub(super) fn filter_in_order(&mut self, filter: &Filter<'_>) -> Lowering<()> {
        let of = filter.of;
        let cell = self.cell(filter.out)?;
        let contents = self.room_for_all(&cell, filter);
        let kept = self.counter("k");
        self.sort_out_from(filter, &contents, &kept, &Index::zero(), &of.size)?;
        let kept = self.frozen(kept);
        for (name, size) in cell.sizes.iter().zip([kept.clone(), &of.size - &kept]) {
            let (name, value) = (name.clone(), index_expr(size));
            self.emit(Stmt::Assign { name, value });
        }
        for leaf in cell.leaves() {
            if let Some(size) = leaf.cells {
                let buffer = leaf.name;
                self.emit(Stmt::Shrink { buffer, size });
            }
        }
        Ok(())
    }

    /// The parts of a cell, each with room for every element, under names of their own.
    fn room_for_all(&mut self, cell: &Storage, filter: &Filter<'_>) -> Vec<Phrase> {
        let all = Data::array(filter.of.size.clone(), filter.written().clone());
        let parts: Vec<Tree> = match (&cell.tree, cell.sizes.len()) {
            (Tree::Tuple(parts), 2) => parts.clone(),
            (tree, _) => vec![tree.clone()],
        };
        let mut contents = Vec::new();
        for part in parts {
            let name = self.fresh("contents");
            let storage = Storage {
                sizes: Vec::new(),
                capacity: None,
                tree: resized(&part, &all),
            };
            for leaf in storage.leaves() {
                if let Some(size) = leaf.cells {
                    let (buffer, size, span) = (leaf.name, self.simplify(&size), self.span);
                    self.emit(Stmt::Alloc { buffer, size, span });
                }
            }
            self.bindings
                .insert(name.clone(), Binding::Storage(Rc::new(storage)));
            contents.push(Phrase::Var(name));
        }
        contents
    }

    pub(super) fn chained_filter(&mut self, chunk: Chunk, filter: &Filter<'_>) -> Lowering<()> {
        let of = filter.of;
        let parts = self.roomy_parts(filter)?;
        let chunking = self.chunked(&of.size, Index::constant(chunk.get().into()));
        let counts = self.scratch("count", ScalarType::I64, chunking.count.clone());
        let flags = self.flags(&chunking)?;
        self.over_chunks(&chunking, LoopMode::Chain, |this, chunk| {
            let room = Data::array(chunking.elements.clone(), filter.written().clone());
            let locals: Vec<Phrase> = parts.iter().map(|_| this.variable("kept", &room)).collect();
            let kept = this.sort_out(filter, &locals, chunk)?;
            let before = this.count_before(&flags, &counts, &kept, chunk)?;
            let moved = [
                (before.clone(), kept.clone()),
                (&chunk.start - &before, &chunk.length - &kept),
            ];
            for ((part, local), (to, count)) in parts.iter().zip(&locals).zip(moved) {
                let local = buffers(&*this.cell(local)?);
                for ((buffer, _), (local, _)) in part.buffers.iter().zip(local) {
                    this.emit(Stmt::Copy {
                        to: buffer.clone(),
                        to_index: this.simplify(&to),
                        from: local,
                        from_index: Index::zero(),
                        count: this.simplify(&count),
                    });
                }
            }
            for local in locals.iter().rev() {
                this.end_variable(local)?;
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
        self.give_sizes(parts, &kept, &of.size);
        Ok(())
    }

    /// The parts of the result, each with room for every element.
    pub(super) fn roomy_parts(&mut self, filter: &Filter<'_>) -> Lowering<Vec<Part>> {
        let parts = self.parts(filter.out)?;
        for (buffer, _) in parts.iter().flat_map(|part| &part.buffers) {
            let span = self.span;
            self.emit(Stmt::Alloc {
                buffer: buffer.clone(),
                size: filter.of.size.clone(),
                span,
            });
        }
        Ok(parts)
    }

    /// The parts are as long as it has turned out: the first one has what is kept, a second one the rest.
    pub(super) fn give_sizes(&mut self, parts: Vec<Part>, kept: &Index, size: &Index) {
        for (part, size) in parts.into_iter().zip([kept.clone(), size - kept]) {
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
    }

    /// The parts of the cell that takes the result: one, or two of the same types.
    pub(super) fn parts(&mut self, out: &Phrase) -> Lowering<Vec<Part>> {
        let cell = self.cell(out)?;
        let all = buffers(&cell);
        let each = all.len().checked_div(cell.sizes.len()).unwrap_or(0);
        let parts = cell.sizes.iter().enumerate().map(|(at, size)| Part {
            buffers: all.iter().skip(at * each).take(each).cloned().collect(),
            size: size.clone(),
        });
        Ok(parts.collect())
    }

    /// Asks for every element of a chunk and sorts them into the parts; gives the number that goes to the first one.
    fn sort_out(&mut self, filter: &Filter<'_>, parts: &[Phrase], chunk: &Share) -> Lowering<Index> {
        let kept = self.counter("k");
        self.sort_out_from(filter, parts, &kept, &chunk.start, &chunk.length)?;
        Ok(self.frozen(kept))
    }

    /// Sorts out so many elements from one on.
    fn sort_out_from(
        &mut self,
        filter: &Filter<'_>,
        parts: &[Phrase],
        kept: &Name,
        start: &Index,
        count: &Index,
    ) -> Lowering<()> {
        let mut done = Index::zero();
        if let (Some(packs), [part]) = (self.packs(filter, parts), parts) {
            let groups = self.div(count, &packs.lanes());
            let groups = self.named("groups", groups);
            self.packed(filter, &packs, part, kept, (start, &groups))?;
            done = packs.lanes() * groups;
        }
        let j = self.fresh("j");
        self.counted(j.clone(), count - &done, LoopMode::Seq, |this| {
            let j = &done + &Index::var(j);
            this.sort_out_one(filter, parts, kept, &(start + &j), &j)
        })
    }

    /// Puts the element at `at`, before which `done` others have been sorted out, where it belongs.
    fn sort_out_one(
        &mut self,
        filter: &Filter<'_>,
        parts: &[Phrase],
        kept: &Name,
        at: &Index,
        done: &Index,
    ) -> Lowering<()> {
        let of = filter.of;
        let element = match crate::stage2::is_flat(&of.data) {
            true => self.element(of, filter.array, at)?,
            false => self.place_of(filter.array, at),
        };
        let keep = self.variable("keep", &Data::Scalar(ScalarType::Bool));
        self.run(filter.predicate, [&element, &keep])?;
        let keep = self.read(&keep, Vec::new())?;
        let places = [Index::var(kept.clone()), done - &Index::var(kept.clone())];
        let [first, second] = places.clone();
        if filter.is_plain() {
            // Every element goes to the end of every part, and stays there where the end moves on: no branch to guess.
            for (part, place) in parts.iter().zip(places) {
                self.put(of, part, &place, &element)?;
            }
            let more = Expr::unary(UnOp::Convert(ScalarType::I64), keep);
            self.count(kept, more);
            return Ok(());
        }
        self.either(
            keep,
            |this| {
                if let Some(part) = parts.first() {
                    match &filter.mapped {
                        None => this.put(of, part, &first, &element)?,
                        Some((mapped, _)) => {
                            let place = this.place_of(part, &first);
                            this.run(mapped, [&element, &place])?;
                        }
                    }
                }
                this.count(kept, Expr::int(1));
                Ok(())
            },
            |this| match parts.get(1) {
                Some(part) => this.put(of, part, &second, &element),
                None => Ok(()),
            },
        )
    }

    /// A number that starts at zero.
    fn counter(&mut self, stem: &str) -> Name {
        let name = self.fresh(stem);
        self.assigned.insert(name.clone());
        self.emit(Stmt::Var {
            name: name.clone(),
            ty: ScalarType::I64,
            value: Some(Expr::int(0)),
        });
        name
    }

    pub(super) fn count(&mut self, counter: &Name, more: Expr) {
        self.emit(Stmt::Assign {
            name: counter.clone(),
            value: Expr::binary(BinOp::Add, Expr::Var(counter.clone()), more),
        });
    }

    /// What a counter has come to.
    fn frozen(&mut self, counter: Name) -> Index {
        let count = self.fresh("kept_count");
        self.emit(Stmt::Let {
            name: count.clone(),
            ty: ScalarType::I64,
            value: Expr::Var(counter),
        });
        Index::var(count)
    }

    /// How many elements of the chunks before this one are kept; those after it are told.
    fn count_before(&mut self, flags: &Name, counts: &Name, kept: &Index, chunk: &Share) -> Lowering<Index> {
        let before = self.counter("before");
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
