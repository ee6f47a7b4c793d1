//! Filter and partition by groups of work-items: what is kept is counted, the counts are summed up, and what is kept is written.
//!
//! ```text
//! par for c < chunks { items: count what is kept; count[c] = the sum }
//! par for g < 1 { items: start[c] = the sum of all before c; start[last] = all }
//! par for c < chunks {
//!   items: tile[i] = the elements of the chunk            neighbours read neighbours
//!   items: run l of the tile: which are kept, and how many
//!   items: the sum of all runs before run l
//!   items: kept[…] = what run l keeps                      in local memory
//!   items: out[start[c] + k] = kept[k]                     neighbours write neighbours
//! }
//! ```
//!
//! No group waits for another one, so nothing is asked of the order in which a device starts them. Elements are read twice; waiting for
//! one's predecessor, as chunks of threads do ([`filter`](super::filter)), is too slow where thousands of groups run at once. Functions
//! that can fail are none for it: work-items of a group go over the elements in another order.

use super::super::expressions::index_expr;
use super::super::{Generator, Parallel, Step};
use super::filter::{Filter, Part};
use super::{Chunking, Share};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Phrase};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_prim::Chunk;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

/// Work-items of a group, and the square root of that: sums of so many are summed up in turn.
const ITEMS: Square = Square { side: 16 };

/// Those of the one group that sums up the counts.
const SUMMING: Square = Square { side: 32 };

/// The longest run of a work-item: there is a bit for each element.
const LONGEST_RUN: i64 = 32;

/// As many work-items as a square has cells.
#[derive(Clone, Copy)]
struct Square {
    side: i64,
}

impl Square {
    fn items(self) -> Index {
        Index::constant(self.side * self.side)
    }

    fn side(self) -> Index {
        Index::constant(self.side)
    }
}

/// Local memory for the sums of a group's work-items.
struct Sums {
    ty: ScalarType,
    square: Square,
    /// A cell for each work-item. Rows lie one cell further apart than they are long: those who sum up rows use other banks of memory.
    items: Name,
    /// A cell for each row, and one for all.
    rows: Name,
}

/// How many elements chunks keep, and how many are kept before each of them. Work-items that sum them up have runs of chunks: the first
/// of all runs lie side by side, then the second ones.
struct Counts {
    before: Name,
    after: Name,
    run: Index,
    /// The cell for all chunks together.
    all: Index,
}

impl Counts {
    /// The cell of a chunk.
    fn cell(&self, chunk: &Index) -> Index {
        let item = chunk.div(&self.run);
        &SUMMING.items() * &(chunk - &(&self.run * &item)) + &item
    }
}

/// Whether all elements of a chunk are there.
#[derive(Clone, Copy)]
enum Whole {
    Yes,
    Perhaps,
}

impl Generator<'_> {
    /// Whether groups can share a filter in chunks of that size.
    pub(super) fn is_for_groups(&self, chunk: Chunk, filter: &Filter<'_>) -> bool {
        let most = ITEMS.side * ITEMS.side * LONGEST_RUN;
        let mapped = filter.mapped.as_ref().map(|(function, _)| *function);
        let functions = [Some(filter.predicate), Some(filter.array), mapped];
        i64::from(chunk.get()) <= most
            && !functions
                .into_iter()
                .flatten()
                .any(|function| self.may_fail(function))
    }

    pub(super) fn grouped_filter(&mut self, chunk: Chunk, filter: &Filter<'_>) -> Lowering<()> {
        let size = &filter.of.size;
        let parts = self.roomy_parts(filter)?;
        let chunking = self.chunked(size, Index::constant(chunk.get().into()));
        let run = self.div(
            &(&chunking.count + &SUMMING.items() - Index::one()),
            &SUMMING.items(),
        );
        let run = self.named("run", run);
        let cells = &run * &SUMMING.items();
        let counts = Counts {
            before: self.scratch("count", ScalarType::I64, cells.clone()),
            after: self.scratch("start", ScalarType::I64, &cells + &Index::one()),
            run,
            all: cells,
        };
        self.count_kept(filter, &chunking, &counts)?;
        self.sum_up_counts(&chunking, &counts)?;
        self.write_kept(filter, &parts, &chunking, &counts)?;
        let kept = self.as_index(Expr::Load(counts.after.clone(), counts.all.clone()));
        self.emit(Stmt::Free(counts.after));
        self.emit(Stmt::Free(counts.before));
        self.give_sizes(parts, &kept, size);
        Ok(())
    }

    /// How many elements of every chunk are kept.
    fn count_kept(&mut self, filter: &Filter<'_>, chunking: &Chunking, counts: &Counts) -> Lowering<()> {
        self.over_chunks(chunking, LoopMode::Par, |this, chunk| {
            let sums = this.sums(ITEMS, ScalarType::I32);
            this.whole_or_not(chunking, chunk, |this, whole| {
                this.on_items(ITEMS.items(), |this, item| {
                    let count = this.number("k", ScalarType::I32);
                    let rounds = this.rounds(chunking);
                    let round = this.fresh("e");
                    this.counted(round.clone(), rounds, LoopMode::Seq, |this| {
                        let at = ITEMS.items() * Index::var(round) + item;
                        this.where_inside(whole, chunk, &at, |this| {
                            let element = this.element(filter.of, filter.array, &(&chunk.start + &at))?;
                            let keep = this.keeps(filter, &element)?;
                            this.add(&count, Expr::unary(UnOp::Convert(ScalarType::I32), keep));
                            Ok(())
                        })
                    })?;
                    this.put_cell(&sums.items, item.clone(), Expr::Var(count));
                    Ok(())
                })
            })?;
            let side = ITEMS.side();
            this.on_items(side.clone(), |this, row| {
                let sum = this.number("sum", ScalarType::I32);
                this.each(side, |this, j| {
                    let cell = ITEMS.side() * j + row;
                    this.add(&sum, Expr::Load(sums.items.clone(), cell));
                    Ok(())
                })?;
                this.put_cell(&sums.rows, row.clone(), Expr::Var(sum));
                Ok(())
            })?;
            let all = this.number("sum", ScalarType::I32);
            this.each(ITEMS.side(), |this, row| {
                this.add(&all, Expr::Load(sums.rows.clone(), row.clone()));
                Ok(())
            })?;
            let all = Expr::unary(UnOp::Convert(ScalarType::I64), Expr::Var(all));
            this.put_cell(&counts.before, counts.cell(&chunk.number), all);
            this.end_sums(sums);
            Ok(())
        })
    }

    /// How many are kept before every chunk, and of all in the last cell: by one group, whose work-items have runs of the counts.
    fn sum_up_counts(&mut self, chunking: &Chunking, counts: &Counts) -> Lowering<()> {
        self.in_one_group(|this| {
            let sums = this.sums(SUMMING, ScalarType::I64);
            this.on_items(SUMMING.items(), |this, item| {
                let sum = this.number("sum", ScalarType::I64);
                this.over_run(counts, chunking, item, |this, cell| {
                    this.add(&sum, Expr::Load(counts.before.clone(), cell.clone()));
                    Ok(())
                })?;
                let cell = this.cell_of(&sums, item);
                this.put_cell(&sums.items, cell, Expr::Var(sum));
                Ok(())
            })?;
            this.sum_up(&sums)?;
            this.on_items(SUMMING.items(), |this, item| {
                let before = this.before_item(&sums, item);
                this.over_run(counts, chunking, item, |this, cell| {
                    this.put_cell(&counts.after, cell.clone(), Expr::Var(before.clone()));
                    this.add(&before, Expr::Load(counts.before.clone(), cell.clone()));
                    Ok(())
                })
            })?;
            let all = Expr::Load(sums.rows.clone(), SUMMING.side());
            this.put_cell(&counts.after, counts.all.clone(), all);
            this.end_sums(sums);
            Ok(())
        })
    }

    /// The cells of a work-item's chunks: a run of them, shorter at the end. No test is in the loop, so that reads need not wait for
    /// each other.
    fn over_run(
        &mut self,
        counts: &Counts,
        chunking: &Chunking,
        item: &Index,
        body: impl FnOnce(&mut Self, &Index) -> Lowering<()>,
    ) -> Lowering<()> {
        let first = &counts.run * item;
        let left = Expr::binary(BinOp::Max, Expr::Index(&chunking.count - &first), Expr::int(0));
        let own = Expr::binary(BinOp::Min, left, index_expr(counts.run.clone()));
        let own = Index::var(self.kept_value("own", ScalarType::I64, own));
        self.each(own, |this, j| body(this, &(&(&SUMMING.items() * j) + item)))
    }

    fn write_kept(
        &mut self,
        filter: &Filter<'_>,
        parts: &[Part],
        chunking: &Chunking,
        counts: &Counts,
    ) -> Lowering<()> {
        let of = filter.of;
        self.over_chunks(chunking, LoopMode::Par, |this, chunk| {
            let room = Data::array(chunking.elements.clone(), of.data.clone());
            let [tile, kept] = ["tile", "kept"].map(|stem| this.variable(stem, &room));
            let bits = this.scratch("bits", ScalarType::U32, ITEMS.items());
            let sums = this.sums(ITEMS, ScalarType::I32);
            this.whole_or_not(chunking, chunk, |this, whole| {
                let elements = match whole {
                    Whole::Yes => &chunking.elements,
                    Whole::Perhaps => &chunk.length,
                };
                this.on_items(elements.clone(), |this, at| {
                    let element = this.element(of, filter.array, &(&chunk.start + at))?;
                    this.put(of, &tile, at, &element)
                })
            })?;
            this.whole_or_not(chunking, chunk, |this, whole| {
                this.look_at_runs(filter, (chunking, chunk, whole), (&tile, &bits), &sums)
            })?;
            this.sum_up(&sums)?;
            let total = Expr::unary(
                UnOp::Convert(ScalarType::I64),
                Expr::Load(sums.rows.clone(), ITEMS.side()),
            );
            let total = Index::var(this.kept_value("total", ScalarType::I64, total));
            this.whole_or_not(chunking, chunk, |this, whole| {
                let memory = (&tile, &bits, &kept);
                this.pack_runs(filter, (chunking, chunk, whole), memory, &sums, &total)
            })?;
            let before = Expr::Load(counts.after.clone(), counts.cell(&chunk.number));
            let before = Index::var(this.kept_value("before", ScalarType::I64, before));
            let moved = [
                (Index::zero(), total.clone(), before.clone()),
                (total.clone(), &chunk.length - &total, &chunk.start - &before),
            ];
            for (part, (from, count, to)) in parts.iter().zip(moved) {
                this.on_items(count, |this, k| {
                    let element = this.written(of, &kept, &(&from + k))?;
                    this.write_element(filter, part, &(&to + k), &element)
                })?;
            }
            this.end_sums(sums);
            this.emit(Stmt::Free(bits));
            this.end_variable(&kept)?;
            this.end_variable(&tile)
        })
    }

    /// What is kept of the run of each work-item: a bit for each element, and the sum of them.
    fn look_at_runs(
        &mut self,
        filter: &Filter<'_>,
        (chunking, chunk, whole): (&Chunking, &Share, Whole),
        (tile, bits): (&Phrase, &Name),
        sums: &Sums,
    ) -> Lowering<()> {
        let run = self.rounds(chunking);
        self.on_items(ITEMS.items(), |this, item| {
            let [count, kept] =
                [("k", ScalarType::I32), ("kept", ScalarType::U32)].map(|(stem, ty)| this.number(stem, ty));
            this.each(run.clone(), |this, j| {
                let at = &run * item + j;
                this.where_inside(whole, chunk, &at, |this| {
                    let element = this.written(filter.of, tile, &at)?;
                    let keep = this.keeps(filter, &element)?;
                    this.add(&count, Expr::unary(UnOp::Convert(ScalarType::I32), keep.clone()));
                    let place = Expr::unary(UnOp::Convert(ScalarType::U32), Expr::Index(j.clone()));
                    let bit = Expr::unary(UnOp::Convert(ScalarType::U32), keep);
                    let bit = Expr::binary(BinOp::Shl, bit, place);
                    this.emit(Stmt::Assign {
                        name: kept.clone(),
                        value: Expr::binary(BinOp::Or, Expr::Var(kept.clone()), bit),
                    });
                    Ok(())
                })
            })?;
            this.put_cell(bits, item.clone(), Expr::Var(kept));
            let cell = this.cell_of(sums, item);
            this.put_cell(&sums.items, cell, Expr::Var(count));
            Ok(())
        })
    }

    /// The elements that are kept, side by side, in order; behind them the others, where somebody wants them.
    fn pack_runs(
        &mut self,
        filter: &Filter<'_>,
        (chunking, chunk, whole): (&Chunking, &Share, Whole),
        (tile, bits, kept): (&Phrase, &Name, &Phrase),
        sums: &Sums,
        total: &Index,
    ) -> Lowering<()> {
        let both = self.parts(filter.out)?.len() > 1;
        let run = self.rounds(chunking);
        self.on_items(ITEMS.items(), |this, item| {
            let before = this.before_item(sums, item);
            let before = Expr::unary(UnOp::Convert(ScalarType::I64), Expr::Var(before));
            let place = this.number("place", ScalarType::I64);
            this.emit(Stmt::Assign {
                name: place.clone(),
                value: before,
            });
            let own = this.kept_value("own", ScalarType::U32, Expr::Load(bits.clone(), item.clone()));
            this.each(run.clone(), |this, j| {
                let at = &run * item + j;
                this.where_inside(whole, chunk, &at, |this| {
                    let shift = Expr::unary(UnOp::Convert(ScalarType::U32), Expr::Index(j.clone()));
                    let bit = Expr::binary(BinOp::Shr, Expr::Var(own.clone()), shift);
                    let bit = Expr::binary(BinOp::And, bit, Expr::Const(Scalar::U32(1)));
                    let is_kept = Expr::binary(BinOp::Eq, bit, Expr::Const(Scalar::U32(1)));
                    let here = Index::var(place.clone());
                    this.either(
                        is_kept,
                        |this| {
                            let element = this.written(filter.of, tile, &at)?;
                            this.put(filter.of, kept, &here, &element)?;
                            this.add(&place, Expr::int(1));
                            Ok(())
                        },
                        |this| match both {
                            true => {
                                let element = this.written(filter.of, tile, &at)?;
                                this.put(filter.of, kept, &(total + &at - &here), &element)
                            }
                            false => Ok(()),
                        },
                    )
                })
            })
        })
    }

    /// An element of the result, or what a function makes of it.
    fn write_element(
        &mut self,
        filter: &Filter<'_>,
        part: &Part,
        place: &Index,
        element: &Phrase,
    ) -> Lowering<()> {
        if let Some((mapped, data)) = &filter.mapped {
            let made = self.variable("made", data);
            self.run(mapped, [element, &made])?;
            return self.store_scalars(part, place, &made);
        }
        self.store_scalars(part, place, element)
    }

    /// The scalars of a value go to the buffers of a part.
    fn store_scalars(&mut self, part: &Part, place: &Index, value: &Phrase) -> Lowering<()> {
        let storage = self.cell(value)?;
        for ((buffer, _), leaf) in part.buffers.iter().zip(storage.leaves()) {
            self.put_cell(buffer, place.clone(), Expr::Var(leaf.name));
        }
        Ok(())
    }

    /// Every cell of the work-items gets the sum of those before it in its row, every row the sum of the rows before it, and the last
    /// cell of the rows the sum of all.
    fn sum_up(&mut self, sums: &Sums) -> Lowering<()> {
        let side = sums.square.side();
        let in_turn = |this: &mut Self, cells: &Name, first: &Index| -> Lowering<Expr> {
            let sum = this.number("sum", sums.ty);
            this.each(side.clone(), |this, j| {
                let cell = first + j;
                let value = this.kept_value("own", sums.ty, Expr::Load(cells.clone(), cell.clone()));
                this.put_cell(cells, cell, Expr::Var(sum.clone()));
                this.add(&sum, Expr::Var(value));
                Ok(())
            })?;
            Ok(Expr::Var(sum))
        };
        self.on_items(side.clone(), |this, row| {
            let first = Index::constant(sums.square.side + 1) * row;
            let all = in_turn(this, &sums.items, &first)?;
            this.put_cell(&sums.rows, row.clone(), all);
            Ok(())
        })?;
        self.on_items(Index::one(), |this, _| {
            let all = in_turn(this, &sums.rows, &Index::zero())?;
            this.put_cell(&sums.rows, side.clone(), all);
            Ok(())
        })
    }

    /// The sum of what the work-items before this one have.
    fn before_item(&mut self, sums: &Sums, item: &Index) -> Name {
        let row = self.div(item, &sums.square.side());
        let cell = self.cell_of(sums, item);
        let before = self.number("before", sums.ty);
        self.emit(Stmt::Assign {
            name: before.clone(),
            value: Expr::binary(
                BinOp::Add,
                Expr::Load(sums.rows.clone(), row),
                Expr::Load(sums.items.clone(), cell),
            ),
        });
        before
    }

    fn cell_of(&mut self, sums: &Sums, item: &Index) -> Index {
        item + &self.div(item, &sums.square.side())
    }

    fn sums(&mut self, square: Square, ty: ScalarType) -> Sums {
        let cells = square.items() + square.side();
        Sums {
            ty,
            square,
            items: self.scratch("sums", ty, cells),
            rows: self.scratch("rows", ty, square.side() + Index::one()),
        }
    }

    fn end_sums(&mut self, sums: Sums) {
        self.emit(Stmt::Free(sums.rows));
        self.emit(Stmt::Free(sums.items));
    }

    fn in_one_group(&mut self, body: impl FnOnce(&mut Self) -> Lowering<()>) -> Lowering<()> {
        let group = self.fresh("g");
        let outer = std::mem::replace(&mut self.parallel, Parallel::Inside);
        let result = self.counted(group, Index::one(), LoopMode::Par, body);
        self.parallel = outer;
        result
    }

    /// Elements of a chunk for each work-item.
    fn rounds(&self, chunking: &Chunking) -> Index {
        let items = ITEMS.items();
        self.div(&(&chunking.elements + &items - Index::one()), &items)
    }

    /// All but the last chunk are whole, and are gone through without tests.
    fn whole_or_not(
        &mut self,
        chunking: &Chunking,
        chunk: &Share,
        mut body: impl FnMut(&mut Self, Whole) -> Lowering<()>,
    ) -> Lowering<()> {
        let rest = self.rem(&chunking.elements, &ITEMS.items());
        if rest.as_constant() != Some(0) {
            return body(self, Whole::Perhaps);
        }
        let is_whole = Expr::binary(
            BinOp::Eq,
            index_expr(chunk.length.clone()),
            index_expr(chunking.elements.clone()),
        );
        let ((), then) = self.capture(|this| body(this, Whole::Yes))?;
        let ((), otherwise) = self.capture(|this| body(this, Whole::Perhaps))?;
        self.emit(Stmt::If {
            condition: is_whole,
            then,
            otherwise,
        });
        Ok(())
    }

    fn where_inside(
        &mut self,
        whole: Whole,
        chunk: &Share,
        at: &Index,
        body: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        match whole {
            Whole::Yes => body(self),
            Whole::Perhaps => {
                let inside = self.less(at, &chunk.length);
                self.when(inside, body)
            }
        }
    }

    /// Whether an element is kept.
    fn keeps(&mut self, filter: &Filter<'_>, element: &Phrase) -> Lowering<Expr> {
        let keep = self.variable("keep", &Data::Scalar(ScalarType::Bool));
        self.run(filter.predicate, [element, &keep])?;
        self.read(&keep, Vec::<Step>::new())
    }

    fn on_items(
        &mut self,
        count: Index,
        body: impl FnOnce(&mut Self, &Index) -> Lowering<()>,
    ) -> Lowering<()> {
        let item = self.fresh("l");
        self.counted(item.clone(), count, LoopMode::Items, |this| {
            body(this, &Index::var(item))
        })
    }

    fn each(&mut self, count: Index, body: impl FnOnce(&mut Self, &Index) -> Lowering<()>) -> Lowering<()> {
        let j = self.fresh("j");
        self.counted(j.clone(), count, LoopMode::Seq, |this| body(this, &Index::var(j)))
    }

    /// A variable that starts at zero.
    fn number(&mut self, stem: &str, ty: ScalarType) -> Name {
        let name = self.fresh(stem);
        self.assigned.insert(name.clone());
        self.emit(Stmt::Var {
            name: name.clone(),
            ty,
            value: Some(Expr::Const(Scalar::zero(ty))),
        });
        name
    }

    fn kept_value(&mut self, stem: &str, ty: ScalarType, value: Expr) -> Name {
        let name = self.fresh(stem);
        self.emit(Stmt::Let {
            name: name.clone(),
            ty,
            value,
        });
        name
    }

    fn add(&mut self, to: &Name, more: Expr) {
        self.emit(Stmt::Assign {
            name: to.clone(),
            value: Expr::binary(BinOp::Add, Expr::Var(to.clone()), more),
        });
    }

    fn put_cell(&mut self, buffer: &Name, index: Index, value: Expr) {
        self.emit(Stmt::Store {
            buffer: buffer.clone(),
            index: self.simplify(&index),
            value,
        });
    }
}
