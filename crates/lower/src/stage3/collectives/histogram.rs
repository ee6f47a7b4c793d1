//! Histograms: every part of the elements has bins of its own, which are combined in order; or all share the bins and
//! update them atomically, where the operator gives the same in any order; or each range of bins is one worker's (`ranges`).
//!
//! ```text
//! if cells * copies < n {
//!   par for c < copies { own bins of part c; every b: atomic bins[b] = bins[b] ⊕ own[b] }      (a group's: updated atomically too)
//!   or, where the order shows:
//!   par for c < copies { own bins of part c }          par for b < cells { bins[b] = bins[b] ⊕ own[0][b] ⊕ own[1][b] … }
//! } else {
//!   par for i < n { atomic bins[j] = bins[j] ⊕ x[i] }   or, range by range, in order, bins[j] = bins[j] ⊕ x[i]
//! }
//! ```
//!
//! How many parts there are is written on the operation, so the grouping is the same on every machine. Where any order gives the
//! same, no more bins of one's own are held than parts are worked on at once.

use super::super::storage::Tree;
use super::super::{Generator, Parallel, Step};
use super::operators::{neutral, neutral_value, simple_operator};
use super::ranges::WORTH_SORTING;
use super::scatter::{At, inside};
use super::{Chunking, Elements, Share};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Instance, Phrase, Prim};
use almach_imp::{AtomicStep, Expr, Index, LoopMode, Order, Stmt, exact_in_any_order};
use almach_prim::{Chunk, Level};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

/// Work-items that a device runs in step, and how many times as many a group has.
const WARP: i64 = 32;
const COPIES: i64 = 8;

/// Bytes of bins that local memory has room for so many times.
const FEW_BINS: i64 = 2048;

/// Elements whose indices are looked at together.
const TOGETHER: i64 = 8;

/// What a histogram is given.
pub(super) struct Histogram<'p> {
    pub(super) of: &'p Elements,
    pub(super) function: &'p Phrase,
    pub(super) at: At<'p>,
    pub(super) values: &'p Phrase,
    pub(super) var: &'p Phrase,
}

/// Bins of one's own, and how to tell whether one holds anything yet.
struct Own {
    bins: Phrase,
    empty: Empty,
}

enum Empty {
    /// It holds what changes nothing.
    Neutral(Phrase),
    /// A flag says so.
    Flag(Name),
}

impl Generator<'_> {
    pub(super) fn histogram(
        &mut self,
        instance: &Instance,
        of: &Elements,
        (level, scalar, parts): (Level, ScalarType, Option<Chunk>),
        cells: Index,
        [function, indices, values, var]: [&Phrase; 4],
    ) -> Lowering<()> {
        let histogram = Histogram {
            of,
            function,
            at: (indices, scalar, &cells),
            values,
            var,
        };
        let operator = simple_operator(function, &of.data);
        let many = |this: &mut Self| match operator {
            Some((op, ty)) if exact_in_any_order(op, ty) => this.with_atomics(&histogram, op),
            _ => {
                let is_worth = this.less(&Index::constant(WORTH_SORTING), &of.size);
                this.either(
                    is_worth,
                    |this| this.by_ranges(&histogram),
                    |this| {
                        let in_order = Prim::ReduceByIndexI(Level::Seq, scalar, None);
                        let instance = Instance {
                            prim: in_order,
                            ..instance.clone()
                        };
                        this.reference(&instance, &[function, indices, values, var])
                    },
                )
            }
        };
        let Some(parts) = parts else {
            return many(self);
        };
        let copies = Index::constant(parts.get().into());
        let few = self.less(&(&copies * &cells), &of.size);
        let exact = operator.filter(|(op, ty)| exact_in_any_order(*op, *ty));
        let added = exact.and_then(|(op, ty)| Some((op, neutral(op, ty)?)));
        let in_parts = |this: &mut Self| match added {
            Some((op, neutral)) if matches!(level, Level::Group(_)) => {
                this.with_bins_of_groups(&histogram, op, neutral, &copies)
            }
            Some((op, neutral)) => this.with_own_bins(&histogram, op, neutral, &copies),
            None => this.with_copies(&histogram, &copies),
        };
        self.either(few, in_parts, many)
    }

    fn with_atomics(&mut self, histogram: &Histogram<'_>, op: BinOp) -> Lowering<()> {
        let Histogram {
            of, at, values, var, ..
        } = *histogram;
        self.every(of, LoopMode::Par, |this, i| {
            this.inside_at(at, i, |this, j| {
                let value = this.read(values, vec![Step::At(i.clone())])?;
                this.update_atomically(var, j, op, value)
            })
        })
    }

    fn update_atomically(&mut self, var: &Phrase, bin: &Index, op: BinOp, value: Expr) -> Lowering<()> {
        let place = self.target(var, vec![Step::At(bin.clone())])?;
        let Tree::Buffer(buffer, ..) = &place.tree else {
            return self.bug("bins that are no array");
        };
        self.emit(Stmt::Atomic {
            step: AtomicStep::Update(op, value),
            order: Order::Relaxed,
            buffer: buffer.clone(),
            index: self.simplify(&place.offset()),
        });
        Ok(())
    }

    /// Elements in parts, for an operator that is exact in any order: whoever works on a part has bins for the time of it.
    fn with_own_bins(
        &mut self,
        histogram: &Histogram<'_>,
        op: BinOp,
        neutral: Scalar,
        parts: &Index,
    ) -> Lowering<()> {
        let Histogram { of, at, var, .. } = *histogram;
        let chunking = self.parts_of(of, parts);
        self.over_chunks(&chunking, LoopMode::Par, |this, chunk| {
            let own = Own {
                bins: this.variable("own", &Data::array(at.2.clone(), of.data.clone())),
                empty: Empty::Neutral(almach_dpia::build::literal(neutral)),
            };
            this.fill_part(histogram, chunk, &own, &Index::zero())?;
            let b = this.fresh("b");
            this.counted(b.clone(), at.2.clone(), LoopMode::Seq, |this| {
                let b = Index::var(b);
                let value = this.read(&own.bins.clone().reader(), vec![Step::At(b.clone())])?;
                this.update_atomically(var, &b, op, value)
            })?;
            this.end_variable(&own.bins)
        })
    }

    /// The same for groups: the work-items of one share its bins, and update them atomically. Where bins are few, every warp has its own.
    fn with_bins_of_groups(
        &mut self,
        histogram: &Histogram<'_>,
        op: BinOp,
        neutral: Scalar,
        parts: &Index,
    ) -> Lowering<()> {
        let Histogram {
            of, at, values, var, ..
        } = *histogram;
        let chunking = self.parts_of(of, parts);
        let bytes = match &of.data {
            Data::Scalar(ty) => i64::try_from(ty.bytes()).unwrap_or(8),
            _ => 8,
        };
        let copies = match at.2.as_constant() {
            Some(cells) if cells * bytes <= FEW_BINS => COPIES,
            _ => 1,
        };
        let all = at.2 * &Index::constant(copies);
        self.over_chunks(&chunking, LoopMode::Par, |this, part| {
            let own = this.variable("own", &Data::array(all.clone(), of.data.clone()));
            let b = this.fresh("b");
            this.counted(b.clone(), all.clone(), LoopMode::Items, |this| {
                let neutral = almach_dpia::build::literal(neutral);
                this.put(of, &own, &Index::var(b), &neutral)
            })?;
            let k = this.fresh("k");
            this.counted(k.clone(), part.length.clone(), LoopMode::Items, |this| {
                let i = &part.start + &Index::var(k.clone());
                let warp = Index::var(k).div(&Index::constant(WARP));
                let copy = &warp - &(&Index::constant(copies) * &warp.div(&Index::constant(copies)));
                this.inside_at(at, &i, |this, j| {
                    let value = this.read(values, vec![Step::At(i.clone())])?;
                    let bin = at.2 * &copy + j;
                    this.update_atomically(&own, &bin, op, value)
                })
            })?;
            let b = this.fresh("b");
            this.counted(b.clone(), at.2.clone(), LoopMode::Items, |this| {
                let b = Index::var(b);
                let mut sum = None;
                for copy in 0..copies {
                    let bin = at.2 * &Index::constant(copy) + &b;
                    let value = this.read(&own.clone().reader(), vec![Step::At(bin)])?;
                    sum = Some(match sum {
                        None => value,
                        Some(sum) => Expr::binary(op, sum, value),
                    });
                }
                match sum {
                    Some(sum) => this.update_atomically(var, &b, op, sum),
                    None => Ok(()),
                }
            })?;
            this.end_variable(&own)
        })
    }

    fn parts_of(&mut self, of: &Elements, parts: &Index) -> Chunking {
        let elements = self.div(&(&of.size + parts - Index::one()), parts);
        let elements = self.named("part", elements);
        self.chunked(&of.size, elements)
    }

    fn with_copies(&mut self, histogram: &Histogram<'_>, copies: &Index) -> Lowering<()> {
        let Histogram { of, at, .. } = *histogram;
        let chunking = self.parts_of(of, copies);
        let all = self.named("bins", at.2 * copies);
        let bins = self.variable("own", &Data::array(all.clone(), of.data.clone()));
        let empty = match neutral_value(histogram.function, &of.data) {
            Some(neutral) => Empty::Neutral(neutral),
            None => Empty::Flag(self.scratch("holds", ScalarType::Bool, all)),
        };
        let own = Own { bins, empty };
        self.over_chunks(&chunking, LoopMode::Par, |this, chunk| {
            this.fill_part(histogram, chunk, &own, &(at.2 * &chunk.number))
        })?;
        self.combine_copies(histogram, &chunking.count, &own)?;
        if let Empty::Flag(flag) = own.empty {
            self.emit(Stmt::Free(flag));
        }
        self.end_variable(&own.bins)
    }

    /// The elements of a part go into bins of its own, from `base` on.
    fn fill_part(
        &mut self,
        histogram: &Histogram<'_>,
        part: &Share,
        own: &Own,
        base: &Index,
    ) -> Lowering<()> {
        let Histogram { of, at, .. } = *histogram;
        let b = self.fresh("b");
        self.counted(b.clone(), at.2.clone(), LoopMode::Seq, |this| {
            let bin = base + &Index::var(b);
            match &own.empty {
                Empty::Neutral(neutral) => this.put(of, &own.bins, &bin, neutral),
                Empty::Flag(flag) => {
                    this.set_flag(flag, bin, Scalar::Bool(false));
                    Ok(())
                }
            }
        })?;
        if !self.has_stored_indices(at, part)? {
            return self.fill_range(histogram, own, base, &part.start, part.length.clone());
        }
        let groups = self.div(&part.length, &Index::constant(TOGETHER));
        let groups = self.named("groups", groups);
        let g = self.fresh("g");
        self.counted(g.clone(), groups.clone(), LoopMode::Seq, |this| {
            let start = &part.start + &(Index::var(g) * Index::constant(TOGETHER));
            this.fill_group(histogram, own, base, &start)
        })?;
        let done = groups * Index::constant(TOGETHER);
        let left = &part.length - &done;
        self.fill_range(histogram, own, base, &(&part.start + &done), left)
    }

    /// Whether indices are in memory: then they may be looked at twice.
    fn has_stored_indices(&mut self, at: At<'_>, part: &Share) -> Lowering<bool> {
        let (_, stmts) = self.capture(|this| this.index_at(at, &part.start))?;
        let is_load = |value: &Expr| match value {
            Expr::Load(..) => true,
            Expr::Unary(UnOp::Convert(_), inner) => matches!(**inner, Expr::Load(..)),
            _ => false,
        };
        let mut lets = stmts.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
        Ok(lets.all(|stmt| matches!(stmt, Stmt::Let { value, .. } if is_load(value))))
    }

    /// A few elements: it is asked once whether all of their indices are those of bins.
    fn fill_group(
        &mut self,
        histogram: &Histogram<'_>,
        own: &Own,
        base: &Index,
        start: &Index,
    ) -> Lowering<()> {
        let Histogram {
            of,
            function,
            at,
            values,
            ..
        } = *histogram;
        let all = self.fresh("inside");
        self.types.insert(all.clone(), ScalarType::Bool);
        self.emit(Stmt::Var {
            name: all.clone(),
            ty: ScalarType::Bool,
            value: Some(Expr::Const(Scalar::Bool(true))),
        });
        let count = Index::constant(TOGETHER);
        let q = self.fresh("q");
        self.counted(q.clone(), count.clone(), LoopMode::Seq, |this| {
            let j = this.index_at(at, &(start + &Index::var(q)))?;
            let value = Expr::binary(BinOp::And, Expr::Var(all.clone()), inside(&j, at.2));
            this.emit(Stmt::Assign {
                name: all.clone(),
                value,
            });
            Ok(())
        })?;
        self.either(
            Expr::Var(all),
            |this| {
                let q = this.fresh("q");
                this.counted(q.clone(), count.clone(), LoopMode::Seq, |this| {
                    let i = start + &Index::var(q);
                    let j = this.index_at(at, &i)?;
                    this.ranges_in(&j, at.2);
                    let value = this.element(of, values, &i)?;
                    this.combine_into(of, function, own, &(base + &j), &value)
                })
            },
            |this| this.fill_range(histogram, own, base, start, count.clone()),
        )
    }

    /// So many elements from some on, one after the other.
    fn fill_range(
        &mut self,
        histogram: &Histogram<'_>,
        own: &Own,
        base: &Index,
        start: &Index,
        count: Index,
    ) -> Lowering<()> {
        let Histogram {
            of,
            function,
            at,
            values,
            ..
        } = *histogram;
        let k = self.fresh("k");
        self.counted(k.clone(), count, LoopMode::Seq, |this| {
            let i = start + &Index::var(k);
            this.inside_at(at, &i, |this, j| {
                let bin = base + j;
                let value = this.element(of, values, &i)?;
                this.combine_into(of, function, own, &bin, &value)
            })
        })
    }

    /// `own[bin] = own[bin] ⊕ value`, or the value alone where the bin is empty.
    fn combine_into(
        &mut self,
        of: &Elements,
        function: &Phrase,
        own: &Own,
        bin: &Index,
        value: &Phrase,
    ) -> Lowering<()> {
        let combine = |this: &mut Self| {
            let present = this.written(of, &own.bins, bin)?;
            let place = this.place_of(&own.bins, bin);
            this.run(function, [&present, value, &place])
        };
        match &own.empty {
            Empty::Neutral(_) => combine(self),
            Empty::Flag(flag) => self.either(Expr::Load(flag.clone(), bin.clone()), combine, |this| {
                this.put(of, &own.bins, bin, value)?;
                this.set_flag(flag, bin.clone(), Scalar::Bool(true));
                Ok(())
            }),
        }
    }

    /// Every bin gets what the copies hold for it, in order.
    fn combine_copies(&mut self, histogram: &Histogram<'_>, count: &Index, own: &Own) -> Lowering<()> {
        let Histogram {
            of,
            function,
            at,
            var,
            ..
        } = *histogram;
        let b = self.fresh("b");
        let outer = std::mem::replace(&mut self.parallel, Parallel::Inside);
        let result = self.counted(b.clone(), at.2.clone(), LoopMode::Par, |this| {
            let b = Index::var(b);
            let c = this.fresh("c");
            this.counted(c.clone(), count.clone(), LoopMode::Seq, |this| {
                let bin = at.2 * &Index::var(c) + &b;
                let holds = match &own.empty {
                    Empty::Neutral(_) => Expr::Const(Scalar::Bool(true)),
                    Empty::Flag(flag) => Expr::Load(flag.clone(), bin.clone()),
                };
                this.when(holds, |this| {
                    let present = this.written(of, var, &b)?;
                    let value = this.written(of, &own.bins, &bin)?;
                    let place = this.place_of(var, &b);
                    this.run(function, [&present, &value, &place])
                })
            })
        });
        self.parallel = outer;
        result
    }

    fn set_flag(&mut self, flag: &Name, index: Index, value: Scalar) {
        self.emit(Stmt::Store {
            buffer: flag.clone(),
            index,
            value: Expr::Const(value),
        });
    }
}
