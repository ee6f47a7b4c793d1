//! Histograms with many bins whose operator depends on the order: each range of bins is one worker's, who puts its elements in in
//! order. A stable sort of the elements by range comes first.
//!
//! ```text
//! par for c < parts { place[c][r] = how many elements of part c fall into range r }
//! place = where those go: all of range 0, part by part, then all of range 1 …
//! par for c < parts { order[place[c][r]++] = i, for the elements i of part c }
//! par for r < ranges { for the elements i of range r in order { bins[j] = bins[j] ⊕ x[i] } }
//! ```
//!
//! A bin takes its elements one after the other, as the loop does that defines it: neither the numbers of parts and ranges nor
//! threads change a bit.

use super::super::expressions::index_expr;
use super::super::{Generator, Parallel};
use super::Chunking;
use super::histogram::Histogram;
use crate::error::Lowering;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_nat::Range;
use almach_value::{BinOp, ScalarType};

/// Ranges of bins, and parts of the elements: enough for the cores of a processor.
const RANGES: i64 = 16;

/// Elements below which sorting them costs more than it brings.
pub(super) const WORTH_SORTING: i64 = 1 << 14;

/// Where elements go.
struct Places {
    /// For every part and range.
    place: Name,
    /// Bins of a range.
    width: Index,
}

impl Generator<'_> {
    pub(super) fn by_ranges(&mut self, histogram: &Histogram<'_>) -> Lowering<()> {
        let Histogram { of, at, .. } = *histogram;
        let ranges = Index::constant(RANGES);
        let elements = self.div(&(&of.size + &ranges - Index::one()), &ranges);
        let elements = self.named("part", elements);
        let chunking = self.chunked(&of.size, elements);
        let width = self.div(at.2, &ranges) + Index::one();
        let places = Places {
            width: self.named("width", width),
            place: self.scratch("place", ScalarType::I64, &chunking.count * &ranges),
        };
        let begins = self.scratch("begin", ScalarType::I64, &ranges + &Index::one());
        self.count_ranges(histogram, &chunking, &places)?;
        let total = self.lay_out(&chunking, &places, &begins)?;
        let order = self.scratch("order", ScalarType::I64, total);
        self.in_parts(histogram, &chunking, &places, |this, i, place| {
            let at = this.loaded("at", &places.place, place.clone());
            this.store(&order, at.clone(), i.clone());
            this.store(&places.place, place.clone(), at + Index::one());
        })?;
        self.combine_ranges(histogram, &begins, &order)?;
        for buffer in [order, begins, places.place] {
            self.emit(Stmt::Free(buffer));
        }
        Ok(())
    }

    /// How many elements of each part fall into each range.
    fn count_ranges(
        &mut self,
        histogram: &Histogram<'_>,
        chunking: &Chunking,
        places: &Places,
    ) -> Lowering<()> {
        let all = &chunking.count * &Index::constant(RANGES);
        let zero = almach_value::Scalar::I64(0);
        self.fill_cells(&places.place, all, LoopMode::Seq, zero)?;
        self.in_parts(histogram, chunking, places, |this, _, place| {
            let count = this.loaded("count", &places.place, place.clone());
            this.store(&places.place, place.clone(), count + Index::one());
        })
    }

    /// Runs `each` for every element that a bin takes, with the place of its part and range; parts at once.
    fn in_parts(
        &mut self,
        histogram: &Histogram<'_>,
        chunking: &Chunking,
        places: &Places,
        each: impl FnOnce(&mut Self, &Index, &Index),
    ) -> Lowering<()> {
        self.over_chunks(chunking, LoopMode::Par, |this, chunk| {
            let k = this.fresh("k");
            this.counted(k.clone(), chunk.length.clone(), LoopMode::Seq, |this| {
                let i = &chunk.start + &Index::var(k);
                this.inside_at(histogram.at, &i, |this, j| {
                    let range = this.fresh("r");
                    this.emit(Stmt::Let {
                        name: range.clone(),
                        ty: ScalarType::I64,
                        value: Expr::binary(
                            BinOp::Div,
                            index_expr(j.clone()),
                            index_expr(places.width.clone()),
                        ),
                    });
                    this.ranges
                        .set(range.clone(), Range::below(&Index::constant(RANGES)));
                    let place = &chunk.number * &Index::constant(RANGES) + Index::var(range);
                    each(this, &i, &place);
                    Ok(())
                })
            })
        })
    }

    /// Turns counts into places, range by range; gives how many elements there are.
    fn lay_out(&mut self, chunking: &Chunking, places: &Places, begins: &Name) -> Lowering<Index> {
        let total = self.fresh("total");
        self.assigned.insert(total.clone());
        self.emit(Stmt::Var {
            name: total.clone(),
            ty: ScalarType::I64,
            value: Some(Expr::int(0)),
        });
        let (r, c) = (self.fresh("r"), self.fresh("c"));
        let ranges = Index::constant(RANGES);
        let now = Index::var(total.clone());
        self.counted(r.clone(), ranges.clone(), LoopMode::Seq, |this| {
            let r = Index::var(r);
            this.store(begins, r.clone(), now.clone());
            this.counted(c.clone(), chunking.count.clone(), LoopMode::Seq, |this| {
                let place = &Index::var(c) * &ranges + &r;
                let count = this.loaded("count", &places.place, place.clone());
                this.store(&places.place, place, now.clone());
                this.emit(Stmt::Assign {
                    name: total.clone(),
                    value: Expr::binary(BinOp::Add, Expr::Var(total.clone()), index_expr(count)),
                });
                Ok(())
            })
        })?;
        self.store(begins, ranges, now);
        let all = self.fresh("taken");
        self.emit(Stmt::Let {
            name: all.clone(),
            ty: ScalarType::I64,
            value: Expr::Var(total),
        });
        self.ranges.set(all.clone(), Range::natural());
        Ok(Index::var(all))
    }

    /// Every range takes its elements in order.
    fn combine_ranges(&mut self, histogram: &Histogram<'_>, begins: &Name, order: &Name) -> Lowering<()> {
        let outer = std::mem::replace(&mut self.parallel, Parallel::Inside);
        let r = self.fresh("r");
        let result = self.counted(r.clone(), Index::constant(RANGES), LoopMode::Par, |this| {
            let r = Index::var(r);
            let begin = this.loaded("from", begins, r.clone());
            let end = this.loaded("to", begins, r + Index::one());
            let k = this.fresh("k");
            let count = this.named("count", end - &begin);
            this.counted(k.clone(), count, LoopMode::Seq, |this| {
                let i = this.loaded("i", order, begin + Index::var(k));
                this.take_in(histogram, &i)
            })
        });
        self.parallel = outer;
        result
    }

    /// `bins[j] = bins[j] ⊕ x[i]`.
    fn take_in(&mut self, histogram: &Histogram<'_>, i: &Index) -> Lowering<()> {
        let Histogram {
            of,
            function,
            at,
            values,
            var,
        } = *histogram;
        self.inside_at(at, i, |this, j| {
            let present = this.written(of, var, j)?;
            let value = this.element(of, values, i)?;
            let place = this.place_of(var, j);
            this.run(function, [&present, &value, &place])
        })
    }

    /// A number in a buffer, under a name; it is not negative.
    fn loaded(&mut self, stem: &str, buffer: &Name, at: Index) -> Index {
        let name = self.fresh(stem);
        self.emit(Stmt::Let {
            name: name.clone(),
            ty: ScalarType::I64,
            value: Expr::Load(buffer.clone(), at),
        });
        self.ranges.set(name.clone(), Range::natural());
        Index::var(name)
    }

    fn store(&mut self, buffer: &Name, index: Index, value: Index) {
        self.emit(Stmt::Store {
            buffer: buffer.clone(),
            index,
            value: Expr::Index(value),
        });
    }
}
