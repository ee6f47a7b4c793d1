//! `map` with a function whose row is as long as one that it is given: where each row goes is known before any of them is computed.
//!
//! ```text
//! let yss = map@par (\{k} xs -> … in {k} ys) xss    =>    new rows: total.f32
//!                                                         parrows<par> bounds rows.1 (\i. /\m. \place. … place := ys)
//! ```
//!
//! The bounds of the result are those of the argument, where that is packed; where its rows have been moved, the same lengths without gaps. Nothing grows, and
//! iterations do not wait for each other.

use super::I64;
use crate::error::{Lowering, bug};
use crate::stage1::bodies::coerce_acc;
use crate::stage1::checks::int;
use crate::stage1::layout::{Held, Layout, Packed, Pool, ends};
use crate::stage1::operations::function;
use crate::stage1::rows::{add, row_bounds, subtract};
use crate::stage1::{Dest, Translator};
use almach_core::rows::row_of_own_length;
use almach_core::{Lambda, Op, Pattern};
use almach_dpia::{Data, Nat, Phrase, build};

/// An argument whose rows are as long as those of the result, and what these hold.
pub(super) struct Places<'a> {
    rows: &'a Held,
    pool: &'a Pool,
    element: &'a Layout,
}

impl<'a> Places<'a> {
    /// Where the rows of a map's only result go, if their lengths are those of an argument's rows.
    pub(super) fn of(
        lambda: &Lambda,
        arrays: &'a [(Held, Layout)],
        layouts: &'a [Layout],
    ) -> Option<Places<'a>> {
        let [Layout::Row(_, element)] = layouts else {
            return None;
        };
        let at = row_of_own_length(lambda)?;
        if element.has_rows() {
            return None;
        }
        // Each array of rows has one size, in the order of the arrays.
        let jagged: Vec<&(Held, Layout)> = arrays.iter().filter(|(_, layout)| layout.has_rows()).collect();
        let is_row = |(_, layout): &&(Held, Layout)| matches!(layout, Layout::Row(..));
        if jagged.len() != lambda.context.len() || !jagged.iter().all(is_row) {
            return None;
        }
        let (rows, Layout::Row(pool, _)) = jagged.get(at)? else {
            return None;
        };
        Some(Places {
            rows,
            pool: rows.pools.get(*pool)?,
            element,
        })
    }
}

impl Translator<'_> {
    /// Each row is computed where it belongs.
    pub(super) fn rows_in_places(
        &mut self,
        op: &Op,
        (size, arrays): (&Nat, &[(Held, Layout)]),
        places: &Places<'_>,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [value] = pattern.values.as_slice() else {
            return bug("rows of several results", self.span);
        };
        let (bounds, total) = self.bounds_without_gaps(places, size)?;
        let element = places.element.data();
        let rows = Data::array(total.clone(), element.clone());
        let pool = self.new_var("rows", &rows);
        let (i, length, room) = (self.fresh("i"), self.fresh("length"), self.fresh("room"));
        let at = Phrase::Var(i.clone());
        let given = arrays.iter().map(|(array, layout)| {
            let value = build::idx(size.clone(), layout.data(), array.data.clone(), at.clone());
            array.part(layout, value, Packed::No)
        });
        let given = given.collect();
        let mark = self.env.mark();
        let body = self.block(|this| {
            this.bind_params(lambda, given)?;
            let to = Data::array(Nat::var(length.clone()), element.clone());
            let row = lambda.body.values.first();
            // What the body calls its size, and what the bounds say, are one number.
            let from = match row.and_then(|row| this.bound_type(&lambda.body, row)) {
                Some(ty) => this.data(&ty)?,
                None => to.clone(),
            };
            let room = coerce_acc(&from, &to, Phrase::Var(room.clone()));
            this.body_into(&lambda.body, Dest::Each(vec![room]))
        })?;
        self.env.rewind_facts(mark);
        let level = self.level(op);
        self.push(build::parrows(
            level,
            [size.clone(), total.clone()],
            element.clone(),
            (bounds.clone(), pool.clone().writer()),
            (i, length, room),
            body,
        ));
        self.values.insert(value.var.clone(), bounds);
        let pool = Pool {
            size: total,
            element,
            elements: pool.reader(),
        };
        self.carry(&value.var, vec![pool], Packed::Yes);
        Ok(())
    }

    /// Bounds of rows as long as these, one behind the other, and how many elements they have.
    fn bounds_without_gaps(&mut self, places: &Places<'_>, size: &Nat) -> Lowering<(Phrase, Nat)> {
        let Layout::Array(_, element) = &places.rows.layout else {
            return bug("rows that are in no array", self.span);
        };
        let bounds = element.data();
        let array = Data::array(size.clone(), bounds.clone());
        if places.rows.packed == Packed::Yes {
            return Ok((places.rows.data.clone(), places.pool.size.clone()));
        }
        let moved = self.let_exp("moved", &array, places.rows.data.clone());
        let made = self.new_var("bounds", &array);
        let position = self.new_var("position", &I64);
        self.push(build::assign(I64, position.clone().writer(), int(0)));
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let body = self.block(|this| {
            let row = build::idx(size.clone(), bounds.clone(), moved, at.clone());
            let (begin, end) = ends(&row);
            let first = this.new_var("at", &I64);
            this.push(build::assign(
                I64,
                first.clone().writer(),
                position.clone().reader(),
            ));
            let behind = add(first.clone().reader(), subtract(end, begin));
            let place = build::idx_acc(size.clone(), bounds.clone(), made.clone().writer(), at.clone());
            let row = row_bounds(first.reader(), behind.clone());
            this.push(build::assign(bounds.clone(), place, row));
            this.push(build::assign(I64, position.clone().writer(), behind));
            Ok(())
        })?;
        self.push(build::for_loop(size.clone(), i, body));
        let total = self.let_nat("total", position.reader());
        Ok((made.reader(), total))
    }
}
