//! `scatter` and `reduce_by_index` on arrays of rows.

use super::{BOOL, I64};
use crate::error::{Lowering, bug};
use crate::stage1::Translator;
use crate::stage1::checks::{as_i64, binary, int};
use crate::stage1::layout::{Held, Layout, Packed, Pool, ends};
use crate::stage1::operations::{arguments, function};
use crate::stage1::pack::Growing;
use crate::stage1::rows::{add, element_at, subtract};
use crate::stage2::same_scalar;
use almach_core::{Atom, Exp, Op, Pattern};
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_value::{BinOp, Failure, Scalar, ScalarType};

impl Translator<'_> {
    /// `body` with the index at `i`, where it is one of a cell.
    fn at_cell(
        &mut self,
        indices: &Atom,
        (i, count): (&Phrase, &Nat),
        cells: &Nat,
        body: impl FnOnce(&mut Self, Phrase, Phrase) -> Lowering<()>,
    ) -> Lowering<()> {
        let (_, Data::Scalar(scalar)) = self.array_of(indices)? else {
            return bug("indices that are no scalars", self.span);
        };
        let index = build::idx(
            count.clone(),
            Data::Scalar(scalar),
            self.value(indices)?,
            i.clone(),
        );
        let j = self.let_exp("j", &I64, as_i64(scalar, index));
        let i64 = ScalarType::I64;
        let inside = binary(
            BinOp::And,
            ScalarType::Bool,
            binary(BinOp::Ge, i64, j.clone(), int(0)),
            binary(BinOp::Lt, i64, j.clone(), build::nat_value(cells.clone())),
        );
        let at = build::to_index(cells.clone(), j.clone());
        let then = self.block(|this| body(this, j, at))?;
        self.push(build::if_then_else(inside, then, build::skip()));
        Ok(())
    }

    pub(super) fn scatter_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let [dest, indices, values] = arguments(op, self)?;
        let (dest, cells, cell) = self.array(&dest)?;
        let (values, count, _) = self.array(&values)?;
        let (pools, by) = self.behind(&dest, &values);
        let moved = self.shifted(&values.layout, values.data.clone(), &by);
        let moved = self.let_exp("moved", &values.layout.data(), moved);
        let data = dest.layout.data();
        let updated = self.new_var("updated", &data);
        self.push(build::assign(data, updated.clone().writer(), dest.data.clone()));
        let seen_data = Data::array(cells.clone(), BOOL);
        let seen = self.new_var("seen", &seen_data);
        let none = Phrase::prim(Prim::Replicate, vec![cells.clone()], vec![BOOL]).app(truth(false));
        self.push(build::assign(seen_data, seen.clone().writer(), none));
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let value = build::idx(count.clone(), cell.data(), moved, at.clone());
        let body = self.block(|this| {
            this.at_cell(&indices, (&at, &count), &cells, |this, j, at| {
                let present = build::idx(cells.clone(), cell.data(), updated.clone().reader(), at.clone());
                let again = this.block(|this| {
                    let equal = this.new_var("equal", &BOOL);
                    this.push(build::assign(BOOL, equal.clone().writer(), truth(true)));
                    this.compare(&cell, (&present, &value), &pools, &equal)?;
                    this.check(equal.reader(), Failure::ScatterConflict, vec![j]);
                    Ok(())
                })?;
                let place = build::idx_acc(cells.clone(), cell.data(), updated.clone().writer(), at.clone());
                let mark = build::idx_acc(cells.clone(), BOOL, seen.clone().writer(), at.clone());
                let write = build::seq(
                    build::assign(cell.data(), place, value.clone()),
                    build::assign(BOOL, mark, truth(true)),
                );
                let known = build::idx(cells.clone(), BOOL, seen.clone().reader(), at);
                this.push(build::if_then_else(known, again, write));
                Ok(())
            })
        })?;
        self.push(build::for_loop(count, i, body));
        let value = Held {
            data: updated.reader(),
            pools,
            packed: Packed::No,
            ..dest
        };
        self.bind_one_held(pattern, exp, value)
    }

    /// Clears `equal` where two values differ; all NaNs are one value.
    fn compare(
        &mut self,
        layout: &Layout,
        (a, b): (&Phrase, &Phrase),
        pools: &[Pool],
        equal: &Phrase,
    ) -> Lowering<()> {
        if let Layout::Row(at, element) = layout {
            let Some(pool) = pools.get(*at) else {
                return bug("rows without a pool", self.span);
            };
            return self.compare_rows((pool, element), (a, b), pools, equal);
        }
        if let Some(parts) = layout.parts() {
            let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
            return parts.iter().enumerate().try_for_each(|(at, part)| {
                let (a, b) = (
                    build::get(at, &datas, a.clone()),
                    build::get(at, &datas, b.clone()),
                );
                self.compare(part, (&a, &b), pools, equal)
            });
        }
        if let Some((size, element)) = layout.elements() {
            let i = self.fresh("i");
            let at = |array: &Phrase| {
                build::idx(
                    size.clone(),
                    element.data(),
                    array.clone(),
                    Phrase::Var(i.clone()),
                )
            };
            let (x, y) = (at(a), at(b));
            let body = self.block(|this| this.compare(&element, (&x, &y), pools, equal))?;
            self.push(build::for_loop(size, i, body));
            return Ok(());
        }
        match layout.data() {
            Data::Scalar(scalar) => {
                let same = same_scalar(scalar, a, b);
                let both = binary(BinOp::And, ScalarType::Bool, equal.clone().reader(), same);
                self.push(build::assign(BOOL, equal.clone().writer(), both));
                Ok(())
            }
            Data::Vector(width, scalar) => {
                let lanes = |v: &Phrase| build::lanes(width, scalar, v.clone());
                let array = Layout::Plain(Data::array(Nat::constant(width.into()), Data::Scalar(scalar)));
                self.compare(&array, (&lanes(a), &lanes(b)), pools, equal)
            }
            other => bug(format!("a comparison of `{other}`"), self.span),
        }
    }

    fn compare_rows(
        &mut self,
        (pool, element): (&Pool, &Layout),
        (a, b): (&Phrase, &Phrase),
        pools: &[Pool],
        equal: &Phrase,
    ) -> Lowering<()> {
        let compared = self.block(|this| {
            let bounds = |this: &mut Self, row: &Phrase| {
                let (begin, end) = ends(row);
                let begin = this.let_exp("begin", &I64, begin);
                let count = this.let_nat("count", subtract(end, begin.clone()));
                (begin, count)
            };
            let (a_begin, n) = bounds(this, a);
            let (b_begin, m) = bounds(this, b);
            let same = binary(
                BinOp::Eq,
                ScalarType::I64,
                build::nat_value(n.clone()),
                build::nat_value(m),
            );
            let i = this.fresh("i");
            let number = build::of_index(n.clone(), Phrase::Var(i.clone()));
            let x = element_at(pool, add(a_begin, number.clone()));
            let y = element_at(pool, add(b_begin, number));
            let body = this.block(|this| this.compare(element, (&x, &y), pools, equal))?;
            let differ = build::assign(BOOL, equal.clone().writer(), truth(false));
            this.push(build::if_then_else(same, build::for_loop(n, i, body), differ));
            Ok(())
        })?;
        self.push(compared);
        Ok(())
    }

    /// A cell's new row is put behind all others; its old one is left where it is.
    pub(super) fn reduce_rows_by_index(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [dest, _, indices, values] = arguments(op, self)?;
        let (dest, _, _) = self.array(&dest)?;
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let dest = self.converted_for(&dest, pattern)?;
        let Some((cells, cell)) = dest.layout.elements() else {
            return bug("a histogram that is no array", self.span);
        };
        let (values, count, element) = self.array(&values)?;
        let updated = self.new_var("updated", &dest.layout.data());
        let growing = self.growing(&dest.layout);
        let begin = self.block(|this| this.write_held(&dest, updated.clone().writer(), &growing.sinks))?;
        self.push(begin);
        let state = self.state(cell.clone());
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let value = build::idx(count.clone(), element.data(), values.data.clone(), at.clone());
        let value = values.part(&element, value, Packed::No);
        let body = self.block(|this| {
            this.at_cell(&indices, (&at, &count), &cells, |this, _, at| {
                let present = build::idx(cells.clone(), cell.data(), updated.clone().reader(), at.clone());
                let run = this.block(|this| {
                    let present = this.grown_value(&growing, &cell, present);
                    let run = this.apply_into_cell(lambda, vec![present, value], &state, &state.next)?;
                    this.push(run);
                    Ok(())
                })?;
                this.push(run);
                let place = build::idx_acc(cells.clone(), cell.data(), updated.clone().writer(), at);
                let write = this.block(|this| {
                    let next = this.state_value(&state, &state.next)?;
                    this.write_held(&next, place, &growing.sinks)
                })?;
                this.push(write);
                Ok(())
            })
        })?;
        self.push(build::for_loop(count, i, body));
        let value = self.grown_value(&growing, &dest.layout, updated.reader());
        self.bind_one_held(pattern, exp, value)
    }

    /// Data whose rows are in pools that have grown so far, for the rest of the block.
    fn grown_value(&mut self, growing: &Growing, layout: &Layout, data: Phrase) -> Held {
        Held {
            layout: layout.numbered(&mut 0),
            data,
            pools: self.grown(growing),
            packed: Packed::No,
        }
    }
}

fn truth(value: bool) -> Phrase {
    build::literal(Scalar::Bool(value))
}
