//! Views of values with rows: other sizes known or unknown, one behind the other, one row out of many. Nothing is copied.

use super::bodies::coerce;
use super::checks::{binary, int};
use super::layout::{Held, Layout, Packed, Pool, bounds, ends};
use super::views::mapped;
use super::{Item, Translator, name_of};
use crate::error::{Lowering, bug};
use almach_core::{Dim, Type, Var};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, build};
use almach_value::{BinOp, Failure, ScalarType};

const I64: Data = Data::Scalar(ScalarType::I64);

pub(crate) fn add(left: Phrase, right: Phrase) -> Phrase {
    match left == int(0) {
        true => right,
        false => binary(BinOp::Add, ScalarType::I64, left, right),
    }
}

pub(crate) fn subtract(left: Phrase, right: Phrase) -> Phrase {
    match right == int(0) {
        true => left,
        false => binary(BinOp::Sub, ScalarType::I64, left, right),
    }
}

pub(crate) fn row_bounds(begin: Phrase, end: Phrase) -> Phrase {
    build::tuple(&[I64, I64], vec![begin, end])
}

/// Elements of a pool from `begin` on, that many.
pub(crate) fn piece(pool: &Pool, begin: Phrase, count: Nat) -> Phrase {
    let nats = vec![pool.size.clone(), count];
    Phrase::prim(Prim::Slice, nats, vec![pool.element.clone()]).apply([begin, int(1), pool.elements.clone()])
}

/// One element of a pool.
pub(crate) fn element_at(pool: &Pool, at: Phrase) -> Phrase {
    let at = build::to_index(pool.size.clone(), at);
    build::idx(pool.size.clone(), pool.element.clone(), pool.elements.clone(), at)
}

/// What conversion is inside of: one value, or that many at once, as the elements of one array.
#[derive(Clone)]
pub(crate) enum Space {
    One,
    Many(Nat),
}

impl Space {
    pub(crate) fn data(&self, data: Data) -> Data {
        match self {
            Space::One => data,
            Space::Many(count) => Data::array(count.clone(), data),
        }
    }

    /// The elements of arrays of that size here.
    pub(crate) fn times(&self, size: &Nat) -> Nat {
        match self {
            Space::One => size.clone(),
            Space::Many(count) => count * size,
        }
    }

    /// One component of tuples here.
    pub(crate) fn component(&self, at: usize, datas: &[Data], data: Phrase) -> Phrase {
        match self {
            Space::One => build::get(at, datas, data),
            Space::Many(count) => {
                let unzip = Prim::Unzip(at, datas.len());
                Phrase::prim(unzip, vec![count.clone()], datas.to_vec()).app(data)
            }
        }
    }

    /// Tuples of components here.
    pub(crate) fn tuple(&self, datas: &[Data], parts: Vec<Phrase>) -> Phrase {
        match self {
            Space::One => build::tuple(datas, parts),
            Space::Many(count) => {
                let zip = Prim::Zip(datas.len());
                Phrase::prim(zip, vec![count.clone()], datas.to_vec()).apply(parts)
            }
        }
    }
}

impl Translator<'_> {
    /// The same value where regular dimensions are jagged or jagged ones (of equal rows, which is checked elsewhere) regular.
    pub(crate) fn convert(&mut self, held: &Held, to: &Layout) -> Lowering<Held> {
        if held.layout == *to {
            return Ok(held.clone());
        }
        let mut pools = Vec::new();
        let data = self.converted(
            &Space::One,
            (&held.layout, to),
            &held.data,
            &held.pools,
            &mut pools,
        )?;
        // Bounds are looked at more than once.
        let data = match to.has_rows() {
            true => self.let_exp("rows", &to.data(), data),
            false => data,
        };
        let packed = match pools.is_empty() {
            true => Packed::Yes,
            false => held.packed,
        };
        Ok(Held {
            layout: to.clone(),
            data,
            pools,
            packed,
        })
    }

    fn converted(
        &mut self,
        space: &Space,
        (from, to): (&Layout, &Layout),
        data: &Phrase,
        pools: &[Pool],
        made: &mut Vec<Pool>,
    ) -> Lowering<Phrase> {
        if !from.has_rows() && !to.has_rows() {
            return Ok(coerce(
                &space.data(from.data()),
                &space.data(to.data()),
                data.clone(),
            ));
        }
        if from.numbered(&mut 0) == to.numbered(&mut 0) {
            from.each_pool(&mut |pool, _| made.extend(pools.get(pool).cloned()));
            return Ok(data.clone());
        }
        if let (Some(from), Some(to)) = (from.parts(), to.parts()) {
            return self.converted_tuple(space, (&from, &to), data, pools, made);
        }
        match (from, to) {
            (Layout::Row(pool, inner), Layout::Row(_, wanted)) => {
                let Some(pool) = pools.get(*pool) else {
                    return bug("rows without a pool", self.span);
                };
                self.made_pool(&pool.size.clone(), (inner, wanted), &pool.elements, pools, made)?;
                Ok(data.clone())
            }
            (Layout::Row(pool, inner), _) => {
                let (Some(pool), Some((size, wanted))) = (pools.get(*pool), to.elements()) else {
                    return bug(format!("{from:?} cannot become {to:?}"), self.span);
                };
                self.regular_rows(space, pool, (inner, &wanted), &size, data, pools, made)
            }
            (_, Layout::Row(_, wanted)) => {
                let Some((size, inner)) = from.elements() else {
                    return bug(format!("{from:?} cannot become {to:?}"), self.span);
                };
                let joined = joined(space, &size, &inner.data(), data.clone());
                self.made_pool(&space.times(&size), (&inner, wanted), &joined, pools, made)?;
                Ok(self.even_bounds(space, &size))
            }
            _ => match (from.elements(), to.elements()) {
                (Some((size, inner)), Some((wanted_size, wanted))) => {
                    let all = Space::Many(space.times(&size));
                    let joined = joined(space, &size, &inner.data(), data.clone());
                    let elements = self.converted(&all, (&inner, &wanted), &joined, pools, made)?;
                    let split = split(space, &size, &wanted.data(), elements);
                    let array = |size: &Nat| space.data(Data::array(size.clone(), wanted.data()));
                    Ok(coerce(&array(&size), &array(&wanted_size), split))
                }
                _ => bug(format!("{from:?} cannot become {to:?}"), self.span),
            },
        }
    }

    fn converted_tuple(
        &mut self,
        space: &Space,
        (from, to): (&[Layout], &[Layout]),
        data: &Phrase,
        pools: &[Pool],
        made: &mut Vec<Pool>,
    ) -> Lowering<Phrase> {
        let from_datas: Vec<Data> = from.iter().map(Layout::data).collect();
        let to_datas: Vec<Data> = to.iter().map(Layout::data).collect();
        let data = self.let_exp(
            "whole",
            &space.data(Data::Tuple(from_datas.clone())),
            data.clone(),
        );
        let mut parts = Vec::new();
        for (at, (from, to)) in from.iter().zip(to).enumerate() {
            let part = space.component(at, &from_datas, data.clone());
            parts.push(self.converted(space, (from, to), &part, pools, made)?);
        }
        Ok(space.tuple(&to_datas, parts))
    }

    /// Adds a pool, and the pools of the rows in it behind it.
    fn made_pool(
        &mut self,
        size: &Nat,
        (from, to): (&Layout, &Layout),
        elements: &Phrase,
        pools: &[Pool],
        made: &mut Vec<Pool>,
    ) -> Lowering<()> {
        let at = made.len();
        made.push(Pool {
            size: size.clone(),
            element: to.data(),
            elements: build::skip(),
        });
        let space = Space::Many(size.clone());
        let elements = self.converted(&space, (from, to), elements, pools, made)?;
        let elements = self.let_exp("pool", &Data::array(size.clone(), to.data()), elements);
        if let Some(pool) = made.get_mut(at) {
            pool.elements = elements;
        }
        Ok(())
    }

    /// Rows that all have this size.
    #[expect(clippy::too_many_arguments, reason = "the parts of one conversion")]
    fn regular_rows(
        &mut self,
        space: &Space,
        pool: &Pool,
        (from, to): (&Layout, &Layout),
        size: &Nat,
        data: &Phrase,
        pools: &[Pool],
        made: &mut Vec<Pool>,
    ) -> Lowering<Phrase> {
        let all = Space::Many(pool.size.clone());
        let elements = self.converted(&all, (from, to), &pool.elements, pools, made)?;
        let pool_data = Data::array(pool.size.clone(), to.data());
        let pool = Pool {
            size: pool.size.clone(),
            element: to.data(),
            elements: self.let_exp("pool", &pool_data, elements),
        };
        Ok(match space {
            Space::One => {
                let begin = self.let_exp("begin", &I64, ends(data).0);
                piece(&pool, begin, size.clone())
            }
            Space::Many(count) => {
                let row = self.fresh("row");
                let begin = ends(&Phrase::Var(row.clone())).0;
                let body = piece(&pool, begin, size.clone());
                let to = Data::array(size.clone(), to.data());
                mapped(count.clone(), bounds(), to, row, body, data.clone())
            }
        })
    }

    /// Bounds of rows that all have this size.
    fn even_bounds(&mut self, space: &Space, size: &Nat) -> Phrase {
        match space {
            Space::One => row_bounds(int(0), build::nat_value(size.clone())),
            Space::Many(count) => {
                let at = self.fresh("at");
                let row = build::nat_value(size.clone());
                let begin = binary(BinOp::Mul, ScalarType::I64, Phrase::Var(at.clone()), row.clone());
                let body = row_bounds(begin.clone(), add(begin, row));
                let iota = Phrase::prim(Prim::Iota, vec![count.clone()], vec![]);
                mapped(count.clone(), I64, bounds(), at, body, iota)
            }
        }
    }

    /// The same value at a layout that has other names for equal sizes.
    pub(crate) fn renamed(&mut self, held: &Held, to: &Layout) -> Held {
        let pools = held.pools.iter().zip(to.pools()).map(|(pool, element)| {
            let (from, element) = (pool.element.clone(), element.data());
            let array = |data: Data| Data::array(pool.size.clone(), data);
            Pool {
                size: pool.size.clone(),
                elements: coerce(&array(from), &array(element.clone()), pool.elements.clone()),
                element,
            }
        });
        Held {
            data: coerce(&held.layout.data(), &to.data(), held.data.clone()),
            pools: pools.collect(),
            layout: to.clone(),
            packed: held.packed,
        }
    }

    /// Bounds further on in their pools.
    pub(crate) fn shifted(&mut self, layout: &Layout, data: Phrase, by: &[Phrase]) -> Phrase {
        match layout {
            Layout::Plain(_) => data,
            Layout::Tuple(parts) => {
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                let all = self.let_exp("whole", &layout.data(), data);
                let moved = parts.iter().enumerate().map(|(at, part)| {
                    let component = build::get(at, &datas, all.clone());
                    self.shifted(part, component, by)
                });
                let moved = moved.collect();
                build::tuple(&datas, moved)
            }
            Layout::Array(size, element) => {
                let name = self.fresh("element");
                let body = self.shifted_below(element, Phrase::Var(name.clone()), by);
                mapped(size.clone(), element.data(), element.data(), name, body, data)
            }
            Layout::Row(pool, _) => match by.get(*pool) {
                Some(by) => {
                    let (begin, end) = ends(&data);
                    row_bounds(add(begin, by.clone()), add(end, by.clone()))
                }
                None => data,
            },
        }
    }

    /// In the function of a view nothing can be given a name.
    fn shifted_below(&mut self, layout: &Layout, data: Phrase, by: &[Phrase]) -> Phrase {
        match layout {
            Layout::Tuple(parts) => {
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                let moved = parts.iter().enumerate().map(|(at, part)| {
                    let component = build::get(at, &datas, data.clone());
                    self.shifted_below(part, component, by)
                });
                let moved = moved.collect();
                build::tuple(&datas, moved)
            }
            other => self.shifted(other, data, by),
        }
    }

    /// The pools of two values one behind the other, and by how much the second's bounds move.
    pub(crate) fn behind(&mut self, first: &Held, second: &Held) -> (Vec<Pool>, Vec<Phrase>) {
        let by: Vec<Phrase> = first
            .pools
            .iter()
            .map(|pool| build::nat_value(pool.size.clone()))
            .collect();
        let layouts = first.layout.pools();
        let mut pools = Vec::new();
        for ((one, other), layout) in first.pools.iter().zip(&second.pools).zip(layouts) {
            let array = Layout::array(other.size.clone(), layout);
            let moved = self.shifted(&array, other.elements.clone(), &by);
            let nats = vec![one.size.clone(), other.size.clone()];
            let both = Phrase::prim(Prim::Concat, nats, vec![one.element.clone()])
                .apply([one.elements.clone(), moved]);
            let size = &one.size + &other.size;
            pools.push(Pool {
                elements: self.let_exp("pool", &Data::array(size.clone(), one.element.clone()), both),
                size,
                element: one.element.clone(),
            });
        }
        (pools, by)
    }

    /// A value that is an element or field, at the type it has outside: sizes that `context` binds are those of its rows.
    pub(crate) fn opened(&mut self, held: &Held, ty: &Type, context: &[Var]) -> Lowering<Held> {
        let closed = ty.close(&|var| context.contains(var));
        let closed = self.layout(&closed)?;
        let held = self.convert(held, &closed)?;
        let mut waiting: Vec<Var> = context.to_vec();
        self.bind_row_sizes(&held.layout, ty, &held.data, &mut waiting)?;
        let to = self.layout(ty)?;
        let opened = self.convert(&held, &to)?;
        let packed = match held.layout == to || opened.pools.is_empty() {
            true => opened.packed,
            false => Packed::No,
        };
        Ok(Held { packed, ..opened })
    }

    /// Gives the sizes that a type mentions the values they have in data.
    fn bind_row_sizes(
        &mut self,
        layout: &Layout,
        ty: &Type,
        data: &Phrase,
        waiting: &mut Vec<Var>,
    ) -> Lowering<()> {
        match (layout, ty) {
            (Layout::Tuple(parts), Type::Tuple(types)) => {
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                for (at, (part, ty)) in parts.iter().zip(types).enumerate() {
                    if part.has_rows() {
                        let component = build::get(at, &datas, data.clone());
                        self.bind_row_sizes(part, ty, &component, waiting)?;
                    }
                }
                Ok(())
            }
            (Layout::Array(count, element), Type::Array(_, ty)) => {
                // All elements agree; the first one tells. Where there is none any size will do.
                let some = binary(
                    BinOp::Gt,
                    ScalarType::I64,
                    build::nat_value(count.clone()),
                    int(0),
                );
                let first = build::idx(
                    count.clone(),
                    element.data(),
                    data.clone(),
                    build::to_index(count.clone(), int(0)),
                );
                let none = self.zero(&element.data())?;
                let select = Phrase::prim(Prim::Select, vec![], vec![element.data()]);
                self.bind_row_sizes(element, ty, &select.apply([some, first, none]), waiting)
            }
            (Layout::Row(..), Type::Array(Dim::Size(size), _)) => {
                let wanted = size.as_var().and_then(|var| {
                    let at = waiting.iter().position(|name| name == var)?;
                    Some(waiting.remove(at))
                });
                if let Some(var) = wanted {
                    let (begin, end) = ends(data);
                    self.bind_size_var(&var, subtract(end, begin));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A size of a context, from a number.
    pub(crate) fn bind_size_var(&mut self, var: &Var, value: Phrase) {
        let name = name_of(var);
        self.items.push(Item::LetNat {
            name: name.clone(),
            value,
        });
        self.values.insert(var.clone(), build::nat_value(Nat::var(name)));
    }

    /// Sizes must be as a type says, also those of all rows that become regular.
    pub(crate) fn check_layout(
        &mut self,
        to: &Layout,
        from: &Layout,
        data: &Phrase,
        pools: &[Pool],
    ) -> Lowering<()> {
        if !from.has_rows() && !to.has_rows() {
            self.check_sizes(&to.data(), &from.data());
            return Ok(());
        }
        if let (Some(to), Some(parts)) = (to.parts(), from.parts()) {
            let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
            for (at, (to, part)) in to.iter().zip(&parts).enumerate() {
                let component = build::get(at, &datas, data.clone());
                self.check_layout(to, part, &component, pools)?;
            }
            return Ok(());
        }
        match (to, from) {
            (_, Layout::Row(pool, inner)) => {
                let Some(pool) = pools.get(*pool).cloned() else {
                    return bug("rows without a pool", self.span);
                };
                let wanted = match to {
                    Layout::Row(_, wanted) => (**wanted).clone(),
                    _ => match to.elements() {
                        Some((size, wanted)) => {
                            let (begin, end) = ends(data);
                            let found = self.let_exp("found", &I64, subtract(end, begin));
                            let size = build::nat_value(size);
                            let same = binary(BinOp::Eq, ScalarType::I64, size.clone(), found.clone());
                            self.check(same, Failure::SizeMismatch, vec![size, found]);
                            wanted
                        }
                        None => return bug("a row that becomes something else", self.span),
                    },
                };
                self.each_of_row(&pool, data, |this, element| {
                    this.check_layout(&wanted, inner, &element, pools)
                })
            }
            (Layout::Row(_, wanted), _) => match from.elements() {
                Some((size, inner)) => self.each_element(&size, &inner, data, |this, element| {
                    this.check_layout(wanted, &inner, &element, pools)
                }),
                None => bug("something else that becomes a row", self.span),
            },
            _ => match (to.elements(), from.elements()) {
                (Some((n, wanted)), Some((m, inner))) => {
                    self.same_size(&n, &m);
                    self.each_element(&m, &inner, data, |this, element| {
                        this.check_layout(&wanted, &inner, &element, pools)
                    })
                }
                _ => bug("sizes of something else", self.span),
            },
        }
    }

    /// A loop over an array, unless there is nothing to do.
    pub(crate) fn each_element(
        &mut self,
        size: &Nat,
        element: &Layout,
        data: &Phrase,
        body: impl FnOnce(&mut Self, Phrase) -> Lowering<()>,
    ) -> Lowering<()> {
        let i = self.fresh("i");
        let value = build::idx(size.clone(), element.data(), data.clone(), Phrase::Var(i.clone()));
        let body = self.block(|this| body(this, value))?;
        if body != build::skip() {
            self.push(build::for_loop(size.clone(), i, body));
        }
        Ok(())
    }

    /// A loop over the elements of a row.
    pub(crate) fn each_of_row(
        &mut self,
        pool: &Pool,
        row: &Phrase,
        body: impl FnOnce(&mut Self, Phrase) -> Lowering<()>,
    ) -> Lowering<()> {
        let (begin_name, count, j) = (self.fresh("begin"), self.fresh("count"), self.fresh("j"));
        let (begin, end) = ends(row);
        let begin_at = Phrase::Var(begin_name.clone());
        let size = Nat::var(count.clone());
        let number = build::of_index(size.clone(), Phrase::Var(j.clone()));
        let element = element_at(pool, add(begin_at.clone(), number));
        let body = self.block(|this| body(this, element))?;
        if body != build::skip() {
            let run = build::for_loop(size, j, body);
            let run = build::let_nat(subtract(end, begin_at), count, run);
            self.push(build::let_in(begin_name, PhraseType::Exp(I64), begin, run));
        }
        Ok(())
    }
}

/// Arrays of that size, here, as one array.
pub(crate) fn joined(space: &Space, size: &Nat, element: &Data, data: Phrase) -> Phrase {
    match space {
        Space::One => data,
        Space::Many(count) => {
            let nats = vec![count.clone(), size.clone()];
            Phrase::prim(Prim::Join, nats, vec![element.clone()]).app(data)
        }
    }
}

/// One array as arrays of that size, here.
pub(crate) fn split(space: &Space, size: &Nat, element: &Data, data: Phrase) -> Phrase {
    match space {
        Space::One => data,
        Space::Many(count) => {
            let nats = vec![count.clone(), size.clone()];
            Phrase::prim(Prim::Split, nats, vec![element.clone()]).app(data)
        }
    }
}
