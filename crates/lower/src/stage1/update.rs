//! Updates, and array literals with rows: a copy, then the changed part.

use super::bodies::coerce;
use super::checks::int;
use super::layout::{Held, Layout, Packed, Pool, ends};
use super::pack::{Memory, Sink};
use super::rows::{add, subtract};
use super::views::{Part, sliced_type};
use super::{Translator, checks};
use crate::error::{Lowering, bug};
use almach_core::{Atom, Pattern, SlicePart};
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_value::ScalarType;

const I64: Data = Data::Scalar(ScalarType::I64);

/// A part of variables that is to be changed.
struct Target {
    layout: Layout,
    read: Phrase,
    write: Phrase,
}

/// The variables a value is in: its data, and its pools where rows themselves are changed.
struct Changing {
    /// Size and variable of each pool; none where the pools stay as they are.
    pools: Vec<(Nat, Phrase)>,
}

impl Translator<'_> {
    /// An update of an array without rows.
    pub(crate) fn update(
        &mut self,
        array: &Atom,
        parts: &[SlicePart],
        value: &Atom,
        acceptors: Vec<Phrase>,
    ) -> Lowering<()> {
        let (source, data) = (self.value(array)?, self.data_of(array)?);
        let parts = self.slice_parts(&data, parts)?;
        let [acceptor] = acceptors.as_slice() else {
            return bug("an update of several arrays", self.span);
        };
        let wanted = sliced_type(&data, &parts);
        let (new, found) = (self.value(value)?, self.data_of(value)?);
        self.push(build::assign(data.clone(), acceptor.clone(), source));
        let new = coerce(&found, &wanted, new);
        self.assign_parts(acceptor.clone(), &data, &parts, new)
    }

    /// Assigns to a part of an array: a slice inside a slice row by row.
    fn assign_parts(&mut self, acceptor: Phrase, data: &Data, parts: &[Part], value: Phrase) -> Lowering<()> {
        let Some((first, rest)) = parts.split_first() else {
            self.push(build::assign(data.clone(), acceptor, value));
            return Ok(());
        };
        let Data::Array(size, element) = data else {
            return bug("a part of what is no array", self.span);
        };
        match first {
            Part::At(index) => {
                let row = build::idx_acc(size.clone(), (**element).clone(), acceptor, index.clone());
                self.assign_parts(row, element, rest, value)
            }
            Part::Slice { begin, count, step } => {
                let nats = vec![size.clone(), count.clone()];
                let taken = Phrase::prim(Prim::SliceAcc, nats, vec![(**element).clone()]).apply([
                    begin.clone(),
                    step.clone(),
                    acceptor,
                ]);
                if rest.is_empty() {
                    self.push(build::assign(
                        Data::array(count.clone(), (**element).clone()),
                        taken,
                        value,
                    ));
                    return Ok(());
                }
                let i = self.fresh("i");
                let at = Phrase::Var(i.clone());
                let row = build::idx_acc(count.clone(), (**element).clone(), taken, at.clone());
                let new = build::idx(count.clone(), sliced_type(element, rest), value, at);
                let body = self.block(|this| this.assign_parts(row, element, rest, new))?;
                self.push(build::for_loop(count.clone(), i, body));
                Ok(())
            }
        }
    }

    /// An update of an array with rows. A row that is replaced lies behind the others; one that is changed inside is a copy.
    pub(crate) fn updated_rows(&mut self, array: &Atom, parts: &[SlicePart], value: &Atom) -> Lowering<Held> {
        let held = self.held(array)?;
        let new = self.held(value)?;
        let changing;
        let base = match leads_into_rows(&held.layout, parts) {
            true => {
                let copy = self.copied(&held)?;
                changing = Changing {
                    pools: copy
                        .pools
                        .iter()
                        .map(|(size, _, var)| (size.clone(), var.clone()))
                        .collect(),
                };
                (copy.data.clone(), copy.read())
            }
            false => {
                let data = held.layout.data();
                let var = self.new_var("updated", &data);
                self.push(build::assign(data, var.clone().writer(), held.data.clone()));
                changing = Changing { pools: Vec::new() };
                let read = Held {
                    data: var.clone().reader(),
                    packed: Packed::No,
                    ..held
                };
                (var, read)
            }
        };
        let (var, base) = base;
        let target = Target {
            layout: base.layout.clone(),
            read: var.clone().reader(),
            write: var.writer(),
        };
        let mut pools = base.pools.clone();
        self.change(target, parts, &changing, &new, &mut pools)?;
        Ok(Held {
            pools,
            packed: Packed::No,
            ..base
        })
    }

    fn change(
        &mut self,
        target: Target,
        parts: &[SlicePart],
        changing: &Changing,
        new: &Held,
        pools: &mut [Pool],
    ) -> Lowering<()> {
        match (parts.split_first(), &target.layout) {
            (None, _) => self.replace(&target, new, pools),
            (Some((SlicePart::At(index), rest)), Layout::Row(pool, element)) => {
                let (begin, count) = self.row_of(&target.read);
                let Some((size, var)) = changing.pools.get(*pool) else {
                    return bug("a row that cannot be changed", self.span);
                };
                let at = self.index(index, &count)?;
                let at = add(begin, build::of_index(count, at));
                let at = build::to_index(size.clone(), at);
                let inner = Target {
                    read: build::idx(size.clone(), element.data(), var.clone().reader(), at.clone()),
                    write: build::idx_acc(size.clone(), element.data(), var.clone().writer(), at),
                    layout: (**element).clone(),
                };
                self.change(inner, rest, changing, new, pools)
            }
            (Some((SlicePart::At(index), rest)), layout) => {
                let Some((size, element)) = layout.elements() else {
                    return bug("a part of what is no array", self.span);
                };
                let at = self.index(index, &size)?;
                let inner = Target {
                    read: build::idx(size.clone(), element.data(), target.read, at.clone()),
                    write: build::idx_acc(size, element.data(), target.write, at),
                    layout: element,
                };
                self.change(inner, rest, changing, new, pools)
            }
            (Some((SlicePart::Slice { .. }, _)), Layout::Row(pool, element)) => {
                let (begin, count) = self.row_of(&target.read);
                let Some((size, var)) = changing.pools.get(*pool) else {
                    return bug("a row that cannot be changed", self.span);
                };
                let row = Layout::array(count.clone(), (**element).clone());
                let nats = vec![size.clone(), count];
                let part = |prim: Prim, of: Phrase| {
                    Phrase::prim(prim, nats.clone(), vec![element.data()]).apply([begin.clone(), int(1), of])
                };
                let inner = Target {
                    read: part(Prim::Slice, var.clone().reader()),
                    write: part(Prim::SliceAcc, var.clone().writer()),
                    layout: row,
                };
                self.change_slice(inner, parts, new, pools)
            }
            (Some((SlicePart::Slice { .. }, _)), _) => self.change_slice(target, parts, new, pools),
        }
    }

    fn row_of(&mut self, row: &Phrase) -> (Phrase, Nat) {
        let (begin, end) = ends(row);
        let begin = self.let_exp("begin", &I64, begin);
        let count = self.let_nat("count", subtract(end, begin.clone()));
        (begin, count)
    }

    /// Below a slice everything is regular: only bounds and plain data change.
    fn change_slice(
        &mut self,
        target: Target,
        parts: &[SlicePart],
        new: &Held,
        pools: &mut [Pool],
    ) -> Lowering<()> {
        let data = target.layout.data();
        let parts = self.slice_parts(&data, parts)?;
        let wanted = super::views::sliced_layout(&target.layout, &parts);
        let value = self.joined_in(&wanted, new, pools)?;
        self.assign_parts(target.write, &data, &parts, value)
    }

    fn replace(&mut self, target: &Target, new: &Held, pools: &mut [Pool]) -> Lowering<()> {
        let value = self.joined_in(&target.layout, new, pools)?;
        self.push(build::assign(target.layout.data(), target.write.clone(), value));
        Ok(())
    }

    /// Adds the rows of a value behind those of the pools that its place has; gives its data with bounds that fit.
    fn joined_in(&mut self, layout: &Layout, new: &Held, pools: &mut [Pool]) -> Lowering<Phrase> {
        let wanted = layout.numbered(&mut 0);
        let new = self.convert(new, &wanted)?;
        let mut numbers = Vec::new();
        layout.each_pool(&mut |pool, _| numbers.push(pool));
        let before = numbers.iter().filter_map(|at| pools.get(*at).cloned()).collect();
        let before = Held {
            layout: wanted.clone(),
            data: build::skip(),
            pools: before,
            packed: Packed::No,
        };
        let (joined, by) = self.behind(&before, &new);
        for (at, pool) in numbers.into_iter().zip(joined) {
            if let Some(slot) = pools.get_mut(at) {
                *slot = pool;
            }
        }
        Ok(self.shifted(&wanted, new.data.clone(), &by))
    }

    /// `[a, b, c]` where the elements have rows.
    pub(crate) fn rows_literal(&mut self, elements: &[Atom], pattern: &Pattern) -> Lowering<Held> {
        let [bound] = pattern.values.as_slice() else {
            return bug("an array literal that is no array", self.span);
        };
        let layout = self.layout(&bound.ty)?;
        let Some((size, element)) = layout.elements() else {
            return bug("an array literal that is no array", self.span);
        };
        let mut values = Vec::new();
        let mut totals = vec![Nat::zero(); layout.pools().len()];
        for atom in elements {
            let value = self.held(atom)?;
            let value = self.convert(&value, &element)?;
            let value = self.pack(value)?;
            for (total, pool) in totals.iter_mut().zip(&value.pools) {
                *total = &*total + &pool.size;
            }
            values.push(value);
        }
        let data = self.new_var(&bound.var.name, &layout.data());
        let (mut sinks, mut pools) = (Vec::new(), Vec::new());
        for (total, inner) in totals.into_iter().zip(layout.pools()) {
            let var = self.new_var("pool", &Data::array(total.clone(), inner.data()));
            let position = self.new_var("position", &I64);
            self.push(build::assign(I64, position.clone().writer(), int(0)));
            sinks.push(Sink {
                position,
                memory: Memory::Fixed(total.clone(), var.clone().writer()),
            });
            pools.push(Pool {
                size: total,
                element: inner.data(),
                elements: var.reader(),
            });
        }
        for (at, value) in values.iter().enumerate() {
            let index = build::to_index(size.clone(), checks::int(at as i64));
            let place = build::idx_acc(size.clone(), element.data(), data.clone().writer(), index);
            let written = self.block(|this| this.write_held(value, place, &sinks))?;
            self.push(written);
        }
        Ok(Held {
            layout,
            data: data.reader(),
            pools,
            packed: Packed::Yes,
        })
    }
}

/// Whether parts of an update reach inside of rows.
fn leads_into_rows(layout: &Layout, parts: &[SlicePart]) -> bool {
    match (parts.split_first(), layout) {
        (None, _) => false,
        (Some(_), Layout::Row(..)) => true,
        (Some((_, rest)), _) => match layout.elements() {
            Some((_, element)) => leads_into_rows(&element, rest),
            None => false,
        },
    }
}
