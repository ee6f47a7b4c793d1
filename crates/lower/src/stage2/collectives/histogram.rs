//! `reduceByIndexI`: in order, or in parts that have bins of their own.

use super::super::{apply, binary, int};
use super::{BOOL, Collective, I64};
use almach_dpia::{Data, Nat, Phrase, build};
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType};

/// What a histogram is given.
pub(super) struct Histogram {
    /// Of the indices.
    pub(super) scalar: ScalarType,
    pub(super) cells: Nat,
    pub(super) function: Phrase,
    pub(super) indices: Phrase,
    pub(super) values: Phrase,
    /// The bins.
    pub(super) var: Phrase,
}

impl Collective<'_> {
    pub(super) fn reduce_by_index(&mut self, histogram: &Histogram) -> Phrase {
        let data = self.data.clone();
        let Histogram { scalar, cells, .. } = histogram;
        self.with_new("next", &data, |this, next| {
            this.each(|this, i| {
                let value = this.element(histogram.values.clone(), &i);
                this.at_index(*scalar, cells, &histogram.indices, &i, |this, j, inside| {
                    let at = build::to_index(cells.clone(), j);
                    let combine = this.combine_bin(histogram, &histogram.var, &at, value, &next);
                    build::if_then_else(inside, combine, build::skip())
                })
            })
        })
    }

    /// `bins[at] := bins[at] ⊕ value`.
    fn combine_bin(
        &self,
        histogram: &Histogram,
        bins: &Phrase,
        at: &Phrase,
        value: Phrase,
        next: &Phrase,
    ) -> Phrase {
        let (cells, data) = (&histogram.cells, &self.data);
        let present = build::idx(cells.clone(), data.clone(), bins.clone().reader(), at.clone());
        let place = build::idx_acc(cells.clone(), data.clone(), bins.clone().writer(), at.clone());
        let compute = apply(
            histogram.function.clone(),
            [present, value, next.clone().writer()],
        );
        build::seq(compute, build::assign(data.clone(), place, next.clone().reader()))
    }

    /// ```text
    /// if parts * cells < n
    ///   letNat length = (n + parts - 1) / parts
    ///   for parts (\c.  no bin of `own` holds anything
    ///                   for length (\k.  i = c * length + k, where i < n and j = is i is a bin:
    ///                                    own j := x i, or own j ⊕ x i where it holds something)
    ///                   for cells (\b.  bins b := bins b ⊕ own b, where it holds something))
    /// else in order
    /// ```
    pub(super) fn reduce_by_parts(&mut self, histogram: &Histogram, parts: Chunk) -> Phrase {
        let i64 = ScalarType::I64;
        let count = i64::from(parts.get());
        let elements = build::nat_value(self.size.clone());
        let all = binary(
            BinOp::Mul,
            i64,
            build::nat_value(histogram.cells.clone()),
            int(count),
        );
        let few = binary(BinOp::Lt, i64, all, elements.clone());
        let last = binary(BinOp::Add, i64, elements, int(count - 1));
        let length = binary(BinOp::Div, i64, last, int(count));
        let in_order = self.reduce_by_index(histogram);
        let name = self.stage.fresh("length");
        let by_parts = self.parts(histogram, Nat::constant(count), &Nat::var(name.clone()));
        build::if_then_else(few, build::let_nat(length, name, by_parts), in_order)
    }

    fn parts(&mut self, histogram: &Histogram, count: Nat, length: &Nat) -> Phrase {
        let data = self.data.clone();
        let cells = &histogram.cells;
        let (bins, flags) = (
            Data::array(cells.clone(), data.clone()),
            Data::array(cells.clone(), BOOL),
        );
        self.with_new("own", &bins, |this, own| {
            this.with_new("holds", &flags.clone(), |this, holds| {
                this.with_new("next", &data, |this, next| {
                    let c = this.stage.fresh("c");
                    let part = build::of_index(count.clone(), Phrase::Var(c.clone()));
                    let clear = super::clear(&flags, cells, &holds);
                    let fill = this.fill_part(histogram, length, &part, (&own, &holds), &next);
                    let b = this.stage.fresh("b");
                    let at = Phrase::Var(b.clone());
                    let held = build::idx(cells.clone(), BOOL, holds.reader(), at.clone());
                    let value = build::idx(cells.clone(), this.data.clone(), own.reader(), at.clone());
                    let combine = this.combine_bin(histogram, &histogram.var, &at, value, &next);
                    let combine = build::if_then_else(held, combine, build::skip());
                    let combine = build::for_loop(cells.clone(), b, combine);
                    build::for_loop(count, c, build::seq_all([clear, fill, combine]))
                })
            })
        })
    }

    fn fill_part(
        &mut self,
        histogram: &Histogram,
        length: &Nat,
        part: &Phrase,
        (own, holds): (&Phrase, &Phrase),
        next: &Phrase,
    ) -> Phrase {
        let (i64, cells) = (ScalarType::I64, &histogram.cells);
        let k = self.stage.fresh("k");
        let start = binary(BinOp::Mul, i64, part.clone(), build::nat_value(length.clone()));
        let within = build::of_index(length.clone(), Phrase::Var(k.clone()));
        let number = binary(BinOp::Add, i64, start, within);
        let name = self.stage.fresh("i");
        let i = Phrase::Var(name.clone());
        let is_there = binary(BinOp::Lt, i64, i.clone(), build::nat_value(self.size.clone()));
        let at = build::to_index(self.size.clone(), i);
        let value = self.element(histogram.values.clone(), &at);
        let indices = &histogram.indices;
        let body = self.at_index(histogram.scalar, cells, indices, &at, |this, j, inside| {
            let bin = build::to_index(cells.clone(), j);
            let held = build::idx(cells.clone(), BOOL, holds.clone().reader(), bin.clone());
            let again = this.combine_bin(histogram, own, &bin, value.clone(), next);
            let place = build::idx_acc(
                cells.clone(),
                this.data.clone(),
                own.clone().writer(),
                bin.clone(),
            );
            let first = build::assign(this.data.clone(), place, value);
            let first = build::seq(first, super::set(cells, holds, &bin));
            build::if_then_else(inside, build::if_then_else(held, again, first), build::skip())
        });
        let body = build::if_then_else(is_there, body, build::skip());
        let body = build::let_in(name, almach_dpia::PhraseType::Exp(I64), number, body);
        build::for_loop(length.clone(), k, body)
    }
}
