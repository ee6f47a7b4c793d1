//! Values with rows of their own sizes, as they are passed outside: one column for every part, in order.
//!
//! ```text
//! [n](i32, [?]f32)   held as   n.(i32, (i64, i64)) and the pool k.f32   is passed as   (n.i32, (n + 1).i64, k.f32)
//! ```

use super::super::layout::{Held, Layout, Packed, Pool, bounds, ends};
use super::super::rows::{Space, add, joined, row_bounds, split};
use super::super::views::mapped;
use super::super::{Translator, checks};
use super::sizes_in;
use crate::error::{Lowering, bug};
use almach_core::Pattern;
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_value::{BinOp, Failure, ScalarType, ValueType};
use checks::{binary, int};

const I64: Data = Data::Scalar(ScalarType::I64);

/// What is left of a result's columns and sizes, as its value is made of them.
struct Given<'g> {
    columns: &'g mut dyn Iterator<Item = Phrase>,
    sizes: &'g mut dyn Iterator<Item = Nat>,
    pools: Vec<Pool>,
}

impl Translator<'_> {
    /// A value as it is passed; its sizes go to `nats`.
    pub(super) fn passed(&mut self, held: Held, nats: &mut Vec<Nat>) -> Lowering<Phrase> {
        if !held.layout.has_rows() {
            sizes_in(&held.layout.data(), nats);
            return Ok(held.data);
        }
        let held = self.pack(held)?;
        let mut columns = Vec::new();
        self.columns(
            &held.layout,
            &Space::One,
            held.data,
            &held.pools,
            nats,
            &mut columns,
        )?;
        let (datas, phrases): (Vec<Data>, Vec<Phrase>) = columns.into_iter().unzip();
        Ok(build::tuple(&datas, phrases))
    }

    fn columns(
        &mut self,
        layout: &Layout,
        space: &Space,
        data: Phrase,
        pools: &[Pool],
        nats: &mut Vec<Nat>,
        columns: &mut Vec<(Data, Phrase)>,
    ) -> Lowering<()> {
        match layout {
            Layout::Plain(plain) => {
                sizes_in(plain, nats);
                columns.push((space.data(plain.clone()), data));
                Ok(())
            }
            Layout::Tuple(parts) => {
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                let whole = self.let_exp("whole", &space.data(layout.data()), data);
                for (at, part) in parts.iter().enumerate() {
                    let component = space.component(at, &datas, whole.clone());
                    self.columns(part, space, component, pools, nats, columns)?;
                }
                Ok(())
            }
            Layout::Array(size, element) => {
                nats.push(size.clone());
                let all = joined(space, size, &element.data(), data);
                let inside = Space::Many(space.times(size));
                self.columns(element, &inside, all, pools, nats, columns)
            }
            Layout::Row(at, element) => {
                let Some(pool) = pools.get(*at) else {
                    return bug("rows without a pool", self.span);
                };
                if let Space::Many(count) = space {
                    columns.push(self.offsets(count, data));
                }
                nats.push(pool.size.clone());
                let inside = Space::Many(pool.size.clone());
                self.columns(element, &inside, pool.elements.clone(), pools, nats, columns)
            }
        }
    }

    /// Offsets of that many rows: 0, then where each of them ends.
    fn offsets(&mut self, count: &Nat, rows: Phrase) -> (Data, Phrase) {
        let row = self.fresh("row");
        let end = ends(&Phrase::Var(row.clone())).1;
        let all_ends = mapped(count.clone(), bounds(), I64, row, end, rows);
        let zero = Phrase::prim(Prim::Replicate, vec![Nat::one()], vec![I64]).app(int(0));
        let nats = vec![Nat::one(), count.clone()];
        let offsets = Phrase::prim(Prim::Concat, nats, vec![I64]).apply([zero, all_ends]);
        let data = Data::array(&Nat::one() + count, I64);
        (data.clone(), self.let_exp("offsets", &data, offsets))
    }

    /// Binds what a function gives in columns.
    pub(super) fn rows_given(
        &mut self,
        call: Phrase,
        ty: &ValueType,
        layout: &Layout,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let mut wanted = Vec::new();
        sizes_wanted(layout, &mut wanted);
        let own: Vec<_> = wanted.iter().map(|_| self.fresh("k")).collect();
        let mut sizes = own.iter().cloned().map(Nat::var);
        let mut datas = Vec::new();
        let _ = column_datas(layout, &Space::One, &mut sizes, &mut datas);
        let cell_data = Data::Some(own, Box::new(Data::Tuple(datas)));
        let cell = self.new_var("given", &cell_data);
        self.push(call.app(cell.clone().writer()));
        let (contents, from, found) = self.open_given(pattern, cell.reader(), cell_data, &wanted);
        let Data::Tuple(datas) = &from else {
            return bug("columns that are no tuple", self.span);
        };
        let columns = (0..datas.len()).map(|at| build::get(at, datas, contents.clone()));
        let columns: Vec<Phrase> = columns.collect();
        let mut given = Given {
            columns: &mut columns.into_iter(),
            sizes: &mut found.into_iter().map(Nat::var),
            pools: Vec::new(),
        };
        let (found, data) = self.of_columns(layout, &Space::One, &mut given)?;
        let held = Held {
            layout: found,
            data,
            pools: given.pools,
            packed: Packed::Yes,
        };
        let held = self.renamed(&held, layout);
        self.check_tags(ty, &held.layout, &held.data, &held.pools)?;
        if let [bound] = pattern.values.as_slice() {
            self.bind_held(&bound.var, held);
        }
        Ok(())
    }

    /// A value out of columns; its layout has the sizes that were given.
    fn of_columns(
        &mut self,
        layout: &Layout,
        space: &Space,
        given: &mut Given<'_>,
    ) -> Lowering<(Layout, Phrase)> {
        match layout {
            Layout::Plain(plain) => {
                let found = with_given_sizes(plain, given.sizes);
                match given.columns.next() {
                    Some(column) => Ok((Layout::Plain(found), column)),
                    None => bug("a value without its column", self.span),
                }
            }
            Layout::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.of_columns(part, space, given));
                let (layouts, values): (Vec<Layout>, Vec<Phrase>) =
                    parts.collect::<Lowering<Vec<_>>>()?.into_iter().unzip();
                let datas: Vec<Data> = layouts.iter().map(Layout::data).collect();
                Ok((Layout::Tuple(layouts), space.tuple(&datas, values)))
            }
            Layout::Array(_, element) => {
                let Some(size) = given.sizes.next() else {
                    return bug("an array without its size", self.span);
                };
                let inside = Space::Many(space.times(&size));
                let (element, elements) = self.of_columns(element, &inside, given)?;
                let array = split(space, &size, &element.data(), elements);
                Ok((Layout::Array(size, Box::new(element)), array))
            }
            Layout::Row(at, element) => {
                let offsets = match space {
                    Space::One => None,
                    Space::Many(_) => given.columns.next(),
                };
                let Some(total) = given.sizes.next() else {
                    return bug("rows without their size", self.span);
                };
                let rows = match (space, offsets) {
                    (Space::Many(count), Some(offsets)) => self.checked_offsets(count, &total, offsets)?,
                    _ => row_bounds(int(0), build::nat_value(total.clone())),
                };
                let pool = given.pools.len();
                given.pools.push(Pool {
                    size: total.clone(),
                    element: element.data(),
                    elements: build::skip(),
                });
                let (element, elements) = self.of_columns(element, &Space::Many(total), given)?;
                if let Some(pool) = given.pools.get_mut(pool) {
                    pool.element = element.data();
                    pool.elements = elements;
                }
                Ok((Layout::Row(*at, Box::new(element)), rows))
            }
        }
    }

    /// The bounds of that many rows, whose offsets start at 0, do not fall, and end at the number of elements.
    fn checked_offsets(&mut self, rows: &Nat, total: &Nat, offsets: Phrase) -> Lowering<Phrase> {
        let count = &Nat::one() + rows;
        let offsets = self.let_exp("offsets", &Data::array(count.clone(), I64), offsets);
        self.offsets_are_good(&count, rows, total, &offsets)?;
        let at = self.fresh("at");
        let offset = |index: Phrase| {
            let index = build::to_index(count.clone(), index);
            build::idx(count.clone(), I64, offsets.clone(), index)
        };
        let begin = Phrase::Var(at.clone());
        let body = row_bounds(offset(begin.clone()), offset(add(begin, int(1))));
        let iota = Phrase::prim(Prim::Iota, vec![rows.clone()], vec![]);
        Ok(mapped(rows.clone(), I64, bounds(), at, body, iota))
    }

    /// The constructors that C says sums have are some.
    pub(super) fn check_tags(
        &mut self,
        ty: &ValueType,
        layout: &Layout,
        data: &Phrase,
        pools: &[Pool],
    ) -> Lowering<()> {
        match (ty, layout) {
            (ValueType::Array(..), Layout::Row(pool, element)) => {
                let (ValueType::Array(_, ty), Some(pool)) = (ty, pools.get(*pool)) else {
                    return bug("rows without a pool", self.span);
                };
                self.each_element(&pool.size, element, &pool.elements, |this, value| {
                    this.check_tags(ty, element, &value, pools)
                })
            }
            (ValueType::Array(_, ty), _) => match layout.elements() {
                Some((size, element)) => self.each_element(&size, &element, data, |this, value| {
                    this.check_tags(ty, &element, &value, pools)
                }),
                None => bug("an array that is none", self.span),
            },
            (ValueType::Tuple(types), _) => self.check_tags_of_parts(types, layout, data, pools),
            (ValueType::Record(fields), _) => {
                let types: Vec<ValueType> = fields.iter().map(|(_, ty)| ty.clone()).collect();
                self.check_tags_of_parts(&types, layout, data, pools)
            }
            (ValueType::Sum(sum), _) => {
                let tag = ValueType::Scalar(ScalarType::U32);
                let fields = sum.constructors.iter().map(|constructor| &constructor.fields);
                let fields = fields.map(|fields| ValueType::Tuple(fields.clone()));
                let types: Vec<ValueType> = std::iter::once(tag).chain(fields).collect();
                let parts = layout.parts().unwrap_or_default();
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                self.tag_is_good(build::get(0, &datas, data.clone()), sum.constructors.len());
                self.check_tags_of_parts(&types, layout, data, pools)
            }
            (ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Recursive(_), _) => Ok(()),
        }
    }

    fn check_tags_of_parts(
        &mut self,
        types: &[ValueType],
        layout: &Layout,
        data: &Phrase,
        pools: &[Pool],
    ) -> Lowering<()> {
        let parts = layout.parts().unwrap_or_default();
        let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
        for (at, (ty, part)) in types.iter().zip(&parts).enumerate() {
            self.check_tags(ty, part, &build::get(at, &datas, data.clone()), pools)?;
        }
        Ok(())
    }

    fn tag_is_good(&mut self, tag: Phrase, constructors: usize) {
        let count = build::literal(almach_value::Scalar::U32(constructors as u32));
        let good = binary(BinOp::Lt, ScalarType::U32, tag.clone(), count);
        let text = format!("tag {{}} is of none of {constructors} constructors");
        let site = self.site(Failure::BadReference.code(), &text);
        let check = Prim::Check(Box::new(site), vec![ScalarType::U32]);
        self.push(Phrase::prim(check, vec![], vec![]).apply([good, tag]));
    }
}

/// The sizes of a value in the order of its columns; those of pools are whatever the function gives.
fn sizes_wanted(layout: &Layout, wanted: &mut Vec<Option<Nat>>) {
    match layout {
        Layout::Plain(data) => {
            let mut sizes = Vec::new();
            sizes_in(data, &mut sizes);
            wanted.extend(sizes.into_iter().map(Some));
        }
        Layout::Tuple(parts) => parts.iter().for_each(|part| sizes_wanted(part, wanted)),
        Layout::Array(size, element) => {
            wanted.push(Some(size.clone()));
            sizes_wanted(element, wanted);
        }
        Layout::Row(_, element) => {
            wanted.push(None);
            sizes_wanted(element, wanted);
        }
    }
}

/// The types of a value's columns over other sizes.
fn column_datas(
    layout: &Layout,
    space: &Space,
    sizes: &mut dyn Iterator<Item = Nat>,
    datas: &mut Vec<Data>,
) -> Option<()> {
    match layout {
        Layout::Plain(data) => {
            datas.push(space.data(with_given_sizes(data, sizes)));
            Some(())
        }
        Layout::Tuple(parts) => parts
            .iter()
            .try_for_each(|part| column_datas(part, space, sizes, datas)),
        Layout::Array(_, element) => {
            let size = sizes.next()?;
            column_datas(element, &Space::Many(space.times(&size)), sizes, datas)
        }
        Layout::Row(_, element) => {
            if let Space::Many(count) = space {
                datas.push(Data::array(&Nat::one() + count, I64));
            }
            let size = sizes.next()?;
            column_datas(element, &Space::Many(size), sizes, datas)
        }
    }
}

/// The same type with other sizes.
pub(super) fn with_given_sizes(data: &Data, sizes: &mut dyn Iterator<Item = Nat>) -> Data {
    match data {
        Data::Array(size, element) => {
            let size = sizes.next().unwrap_or_else(|| size.clone());
            Data::array(size, with_given_sizes(element, sizes))
        }
        Data::Tuple(parts) => Data::Tuple(parts.iter().map(|part| with_given_sizes(part, sizes)).collect()),
        other => other.clone(),
    }
}
