//! What only rearranges rows: bounds move, pools stay. And from rows to data and offsets, and back.

use super::I64;
use crate::error::{Lowering, bug};
use crate::stage1::checks::{binary, int};
use crate::stage1::layout::{Held, Layout, Packed, Pool, ends};
use crate::stage1::operations::arguments;
use crate::stage1::rows::{add, subtract};
use crate::stage1::views::mapped;
use crate::stage1::{Dest, Translator};
use almach_core::{Exp, Op, Pattern};
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_prim::Prim as Operation;
use almach_value::{BinOp, Failure, ScalarType};

impl Translator<'_> {
    /// `filter`, `partition`, `gather`, `permute`: only bounds move.
    pub(super) fn rearranged_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let Some(array) = op.args.last() else {
            return bug("an operation without its array", self.span);
        };
        let pools = self.held(array)?.pools;
        let all = match op.prim {
            Operation::Partition => [pools.clone(), pools].concat(),
            _ => pools,
        };
        self.compute_bounds(pattern, exp, all, |this, dest| match (op.prim, dest) {
            (Operation::Gather, Dest::Each(acceptors)) => this.gather_into(op, acceptors),
            (Operation::Permute, Dest::Each(acceptors)) => this.permute_into(op, acceptors),
            (_, Dest::Cell { acceptor, .. }) => this.filter_into(op, acceptor),
            (_, Dest::Each(_)) => bug("a size that is not known has no place", this.span),
        })
    }

    /// Operations that only look at their arguments in another way.
    pub(super) fn view_of_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let helds = op
            .args
            .iter()
            .map(|atom| self.held(atom))
            .collect::<Lowering<Vec<Held>>>()?;
        match (op.prim, helds.as_slice()) {
            (Operation::Concat, [first, second]) => return self.concat_rows(first, second, exp, pattern),
            (Operation::Pad, [_, _, value, array]) => {
                return self.pad_rows(op, value, array, exp, pattern);
            }
            _ => {}
        }
        let Some(data) = self.view(op, pattern)? else {
            return bug(format!("`{}` of rows", op.prim.name()), self.span);
        };
        let [bound] = pattern.values.as_slice() else {
            return bug("an operation that gives several values", self.span);
        };
        let in_order = helds
            .iter()
            .fold(Packed::Yes, |packed, held| packed.and(held.packed));
        let packed = match op.prim {
            Operation::Zip | Operation::Unzip | Operation::Join | Operation::Split => in_order,
            _ => Packed::No,
        };
        let layout = self.layout(&bound.ty)?;
        let pools = helds.into_iter().flat_map(|held| held.pools).collect();
        let value = Held {
            layout,
            data,
            pools,
            packed,
        };
        self.bind_one_held(pattern, exp, value)
    }

    fn concat_rows(&mut self, first: &Held, second: &Held, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let (Some((n, element)), Some((m, _))) = (first.layout.elements(), second.layout.elements()) else {
            return bug("`concat` of what are no arrays", self.span);
        };
        let (pools, by) = self.behind(first, second);
        let moved = self.shifted(&second.layout, second.data.clone(), &by);
        let concat = Phrase::prim(Prim::Concat, vec![n.clone(), m.clone()], vec![element.data()]);
        let value = Held {
            layout: Layout::array(n + m, element),
            data: concat.apply([first.data.clone(), moved]),
            pools,
            packed: first.packed.and(second.packed),
        };
        self.bind_one_held(pattern, exp, value)
    }

    fn pad_rows(
        &mut self,
        op: &Op,
        value: &Held,
        array: &Held,
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let ([left, right, ..], Some((size, element))) = (op.args.as_slice(), array.layout.elements()) else {
            return bug("`pad` without its arguments", self.span);
        };
        let (left, right) = (self.count(left)?, self.count(right)?);
        self.not_negative(&left);
        self.not_negative(&right);
        // The padding's rows lie behind all others.
        let whole = array.part(&element, array.data.clone(), Packed::No);
        let (pools, by) = self.behind(&whole, value);
        let padding = self.shifted(&element, value.data.clone(), &by);
        let nats = vec![left.clone(), size.clone(), right.clone()];
        let pad = Phrase::prim(Prim::Pad, nats, vec![element.data()]);
        let value = Held {
            layout: Layout::array(left + size + right, element),
            data: pad.apply([padding, array.data.clone()]),
            pools,
            packed: Packed::No,
        };
        self.bind_one_held(pattern, exp, value)
    }

    /// The data of packed rows is their pool.
    pub(super) fn flatten(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let [array] = arguments(op, self)?;
        let array = self.held(&array)?;
        let array = self.pack(array)?;
        let (Some((_, Layout::Row(pool, element))), [total]) =
            (array.layout.elements(), pattern.context.as_slice())
        else {
            return bug("`flatten` of what has no rows", self.span);
        };
        let Some(pool) = array.pools.get(pool) else {
            return bug("rows without a pool", self.span);
        };
        self.bind_size_var(total, build::nat_value(pool.size.clone()));
        let layout = Layout::array(pool.size.clone(), *element);
        let value = array.part(&layout, pool.elements.clone(), Packed::Yes);
        self.bind_one_held(pattern, exp, value)
    }

    /// The offsets of rows: 0 and where each ends, once they are packed.
    pub(super) fn segments(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let [array] = arguments(op, self)?;
        let (array, size, element) = self.array(&array)?;
        let offsets = Data::array(&size + &Nat::one(), I64);
        if array.packed == Packed::Yes {
            let row = self.fresh("row");
            let end = ends(&Phrase::Var(row.clone())).1;
            let all = mapped(size.clone(), element.data(), I64, row, end, array.data);
            let zero = Phrase::prim(Prim::Replicate, vec![Nat::one()], vec![I64]).app(int(0));
            let nats = vec![Nat::one(), size];
            let value = Phrase::prim(Prim::Concat, nats, vec![I64]).apply([zero, all]);
            return self.bind_one_held(pattern, exp, Held::plain(offsets, value));
        }
        let out = self.new_var("offsets", &offsets);
        let count = &size + &Nat::one();
        let at = |index: Phrase| {
            let index = build::to_index(count.clone(), index);
            build::idx_acc(count.clone(), I64, out.clone().writer(), index)
        };
        let position = self.new_var("position", &I64);
        self.push(build::assign(I64, position.clone().writer(), int(0)));
        self.push(build::assign(I64, at(int(0)), int(0)));
        let i = self.fresh("i");
        let row = build::idx(
            size.clone(),
            element.data(),
            array.data.clone(),
            Phrase::Var(i.clone()),
        );
        let (begin, end) = ends(&row);
        let more = add(position.clone().reader(), subtract(end, begin));
        let next = add(build::of_index(size.clone(), Phrase::Var(i.clone())), int(1));
        let body = build::seq(
            build::assign(I64, position.clone().writer(), more),
            build::assign(I64, at(next), position.reader()),
        );
        self.push(build::for_loop(size, i, body));
        self.bind_one_held(pattern, exp, Held::plain(offsets, out.reader()))
    }

    /// Rows that offsets cut out of data.
    pub(super) fn unflatten(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let [offsets, array] = arguments(op, self)?;
        let (count, _) = self.array_of(&offsets)?;
        let offsets = self.value(&offsets)?;
        let offsets = self.let_exp("offsets", &Data::array(count.clone(), I64), offsets);
        let (array, total, element) = self.array(&array)?;
        let rows = &count - &Nat::one();
        let some = binary(
            BinOp::Gt,
            ScalarType::I64,
            build::nat_value(count.clone()),
            int(0),
        );
        self.check(some, Failure::BadOffsets, vec![]);
        self.offsets_are_good(&count, &rows, &total, &offsets)?;
        let from = |begin: i64| {
            let nats = vec![count.clone(), rows.clone()];
            Phrase::prim(Prim::Slice, nats, vec![I64]).apply([int(begin), int(1), offsets.clone()])
        };
        let data = Phrase::prim(Prim::Zip(2), vec![rows.clone()], vec![I64, I64]).apply([from(0), from(1)]);
        let mut pools = vec![Pool {
            size: total,
            element: element.data(),
            elements: array.data.clone(),
        }];
        pools.extend(array.pools);
        let value = Held {
            layout: Layout::array(rows, Layout::Row(0, Box::new(element))).numbered(&mut 0),
            data,
            pools,
            packed: array.packed,
        };
        self.bind_one_held(pattern, exp, value)
    }

    /// The `count` offsets of that many rows start at 0, do not fall, and end at `total`.
    pub(crate) fn offsets_are_good(
        &mut self,
        count: &Nat,
        rows: &Nat,
        total: &Nat,
        offsets: &Phrase,
    ) -> Lowering<()> {
        let i64 = ScalarType::I64;
        let at = |index: Phrase| {
            build::idx(
                count.clone(),
                I64,
                offsets.clone(),
                build::to_index(count.clone(), index),
            )
        };
        let first = binary(BinOp::Eq, i64, at(int(0)), int(0));
        self.check(first, Failure::BadOffsets, vec![]);
        let last = at(build::nat_value(rows.clone()));
        let last = binary(BinOp::Eq, i64, last, build::nat_value(total.clone()));
        self.check(last, Failure::BadOffsets, vec![]);
        let i = self.fresh("i");
        let index = build::of_index(rows.clone(), Phrase::Var(i.clone()));
        let rises = binary(BinOp::Le, i64, at(index.clone()), at(add(index, int(1))));
        let body = self.block(|this| {
            this.check(rises, Failure::BadOffsets, vec![]);
            Ok(())
        })?;
        self.push(build::for_loop(rows.clone(), i, body));
        Ok(())
    }
}
