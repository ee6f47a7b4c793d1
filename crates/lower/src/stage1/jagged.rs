//! Operations on values with rows. Those that only rearrange rows are what they are for regular arrays, on the bounds; those
//! whose function gives rows run in order and put them one behind the other (flattening, which makes them parallel, is a
//! rewrite of Core).

use super::checks::{as_i64, binary, int};
use super::layout::{Held, Layout, Packed, Pool, ends};
use super::operations::{arguments, function};
use super::pack::Growing;
use super::rows::{add, subtract};
use super::types::ResultData;
use super::views::mapped;
use super::{Dest, Translator};
use crate::error::{Lowering, bug};
use crate::stage2::same_scalar;
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Pattern, Type, Var};
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_prim::Prim as Operation;
use almach_value::{BinOp, Failure, Scalar, ScalarType};

const I64: Data = Data::Scalar(ScalarType::I64);
const BOOL: Data = Data::Scalar(ScalarType::Bool);

impl Translator<'_> {
    /// Binds an operation on values with rows; false where there are none.
    pub(crate) fn bind_with_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<bool> {
        match op.prim {
            Operation::Flatten => self.flatten(op, exp, pattern)?,
            Operation::Segments => self.segments(op, exp, pattern)?,
            Operation::Unflatten => self.unflatten(op, exp, pattern)?,
            Operation::Reduce | Operation::ReduceComm | Operation::ReduceSeq
                if self.state_layout(op)?.has_rows() =>
            {
                self.reduce_rows(op, exp, pattern)?;
            }
            _ if !self.binds_rows(pattern)? => return Ok(false),
            Operation::Jagged => {
                let [array] = arguments(op, self)?;
                let array = self.held(&array)?;
                let value = self.converted_for(&array, pattern)?;
                self.bind_one_held(pattern, exp, value)?;
            }
            Operation::Map => self.map_rows(op, exp, pattern)?,
            Operation::Scan | Operation::ScanExclusive => self.scan_rows(op, exp, pattern)?,
            Operation::Filter | Operation::Partition | Operation::Gather | Operation::Permute => {
                self.rearranged_rows(op, exp, pattern)?;
            }
            Operation::Materialise => {
                let [value] = arguments(op, self)?;
                let value = self.held(&value)?;
                let copy = self.copied(&value)?.read();
                self.bind_one_held(pattern, exp, copy)?;
            }
            Operation::Scatter => self.scatter_rows(op, exp, pattern)?,
            Operation::ReduceByIndex => self.reduce_rows_by_index(op, exp, pattern)?,
            Operation::ToGlobal | Operation::ToLocal | Operation::ToPrivate => return Ok(false),
            _ => self.view_of_rows(op, exp, pattern)?,
        }
        Ok(true)
    }

    /// A value at the layout of what a pattern binds.
    fn converted_for(&mut self, held: &Held, pattern: &Pattern) -> Lowering<Held> {
        match pattern.values.as_slice() {
            [bound] => {
                let to = self.layout(&bound.ty)?;
                self.convert(held, &to)
            }
            _ => bug("an operation that gives several values", self.span),
        }
    }

    /// The state of a reduction, as an element of an array would be.
    fn state_layout(&self, op: &Op) -> Lowering<Layout> {
        let lambda = function(op, self)?;
        match lambda.result.types.as_slice() {
            [ty] => self.layout(&ty.close(&|var| lambda.result.context.contains(var))),
            _ => bug("an operator that gives several values", self.span),
        }
    }

    /// The one element of each result of a `map`.
    fn element_layouts(&self, pattern: &Pattern) -> Lowering<Vec<Layout>> {
        let mut layouts = Vec::new();
        for value in &pattern.values {
            match self.layout(&value.ty)?.elements() {
                Some((_, element)) => layouts.push(element),
                None => return bug("a result that is no array", self.span),
            }
        }
        Ok(layouts)
    }

    /// Runs the statements of a body; what it gives is for the rest of the block.
    fn body_values(&mut self, body: &Body) -> Lowering<Vec<Held>> {
        body.stmts.iter().try_for_each(|stmt| self.stmt(stmt))?;
        Ok(self.body_results(body)?.1)
    }

    /// A function's one value, as an element of an array, in a cell.
    fn apply_into_cell(
        &mut self,
        lambda: &Lambda,
        given: Vec<Held>,
        state: &State,
        cell: &Phrase,
    ) -> Lowering<Phrase> {
        let mark = self.env.mark();
        let run = self.block(|this| {
            this.bind_params(lambda, given)?;
            let values = this.body_values(&lambda.body)?;
            let [value] = values.as_slice() else {
                return bug("an operator that gives several values", this.span);
            };
            let value = this.convert(value, &state.layout)?;
            this.give(vec![], vec![value], state.dest(cell))
        })?;
        self.env.rewind_facts(mark);
        Ok(run)
    }

    /// Two cells for a state whose sizes change.
    fn state(&mut self, layout: Layout) -> State {
        let mut holds = ResultData {
            sizes: Vec::new(),
            layouts: vec![layout.clone()],
        };
        for _ in 0..holds.pool_count() {
            holds.sizes.push(self.fresh("size"));
        }
        let data = holds.cell_data();
        State {
            current: self.new_var("state", &data),
            next: self.new_var("next", &data),
            layout,
            holds,
        }
    }

    /// The contents of a state's cell for the rest of the block.
    fn state_value(&mut self, state: &State, cell: &Phrase) -> Lowering<Held> {
        let opened = self.opened_cell(&mut Vec::new(), cell.clone().reader(), &state.holds);
        match opened.into_iter().next() {
            Some(value) => Ok(value),
            None => bug("a state of nothing", self.span),
        }
    }

    /// Each row is computed and put behind those before it.
    fn map_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let (size, arrays) = self.arrays(&op.args)?;
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let layouts = self.element_layouts(pattern)?;
        let mut outs = Vec::new();
        for (value, layout) in pattern.values.iter().zip(&layouts) {
            let data = Data::array(size.clone(), layout.data());
            outs.push((self.new_var(&value.var.name, &data), self.growing(layout)));
        }
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let given = arrays.iter().map(|(array, element)| {
            let value = build::idx(size.clone(), element.data(), array.data.clone(), at.clone());
            array.part(element, value, Packed::No)
        });
        let given = given.collect();
        let mark = self.env.mark();
        let places: Vec<(Phrase, &Layout, &Growing)> = layouts
            .iter()
            .zip(&outs)
            .map(|(layout, (out, growing))| {
                let place = build::idx_acc(size.clone(), layout.data(), out.clone().writer(), at.clone());
                (place, layout, growing)
            })
            .collect();
        let body = self.block(|this| {
            this.bind_params(lambda, given)?;
            match places.as_slice() {
                [(place, Layout::Row(_, element), growing)] if !element.has_rows() => {
                    match this.known_row_size(lambda)? {
                        Some(count) => this.row_in_place(lambda, element, &count, place.clone(), growing),
                        None => this.rows_behind(lambda, places),
                    }
                }
                _ => this.rows_behind(lambda, places),
            }
        })?;
        self.env.rewind_facts(mark);
        self.push(build::for_loop(size, i, body));
        for (value, (out, growing)) in pattern.values.iter().zip(&outs) {
            let pools = self.grown(growing);
            self.values.insert(value.var.clone(), out.clone().reader());
            self.carry(&value.var, pools, Packed::Yes);
        }
        Ok(())
    }

    /// The size of the row that a function gives, where it is known before the function runs.
    fn known_row_size(&self, lambda: &Lambda) -> Lowering<Option<Nat>> {
        let [Type::Array(Dim::Size(size), _)] = lambda.result.types.as_slice() else {
            return Ok(None);
        };
        let computed = |var: &Var| {
            lambda.body.stmts.iter().any(|stmt| {
                let values = stmt.pattern.values.iter().map(|value| &value.var);
                values.chain(&stmt.pattern.context).any(|bound| bound == var)
            })
        };
        let context = lambda.body.context.iter();
        let late = context
            .clone()
            .any(|atom| matches!(atom, Atom::Var(var) if computed(var)));
        let row = lambda.body.values.first();
        let row = row.and_then(|atom| self.bound_type(&lambda.body, atom));
        if late || row.is_none_or(|ty| ty.mentions(&computed)) {
            return Ok(None);
        }
        let mut sizes = Vec::new();
        for atom in context {
            match self.env.size(atom) {
                Ok(size) => sizes.push(size),
                Err(error) => return bug(error.message, self.span),
            }
        }
        let given = |var: &Var| {
            let at = lambda.result.context.iter().position(|bound| bound == var)?;
            sizes.get(at).cloned()
        };
        Ok(Some(self.nat(&almach_core::types::substitute_size(size, &given))))
    }

    /// A row whose size is known before it is computed is computed where it belongs.
    fn row_in_place(
        &mut self,
        lambda: &Lambda,
        element: &Layout,
        count: &Nat,
        place: Phrase,
        growing: &Growing,
    ) -> Lowering<()> {
        let (Some(from), [sink]) = (lambda.body.values.first(), growing.sinks.as_slice()) else {
            return bug("a row that is no array", self.span);
        };
        let to = Data::array(count.clone(), element.data());
        self.place_row(sink, element, count, place, |this, room| {
            // What the body calls its sizes, and what the pool does, are one.
            let from = match this.bound_type(&lambda.body, from) {
                Some(ty) => this.data(&ty)?,
                None => to.clone(),
            };
            let room = match from.equal(&to) {
                true => room,
                false => Phrase::prim(Prim::CoerceAcc, vec![], vec![from, to]).app(room),
            };
            this.body_into(&lambda.body, Dest::Each(vec![room]))
        })
    }

    /// The type of what a body gives, before its statements are done.
    fn bound_type(&self, body: &Body, atom: &Atom) -> Option<Type> {
        let bound = body.stmts.iter().flat_map(|stmt| &stmt.pattern.values);
        match bound
            .into_iter()
            .find(|value| *atom == Atom::Var(value.var.clone()))
        {
            Some(value) => Some(value.ty.clone()),
            None => self.env.atom_type(atom).ok(),
        }
    }

    /// What a function gives, behind what it gave before.
    fn rows_behind(&mut self, lambda: &Lambda, places: Vec<(Phrase, &Layout, &Growing)>) -> Lowering<()> {
        let values = self.body_values(&lambda.body)?;
        for (value, (place, layout, growing)) in values.iter().zip(places) {
            let value = self.convert(value, layout)?;
            let written = self.block(|this| this.write_held(&value, place, &growing.sinks))?;
            self.push(written);
        }
        Ok(())
    }

    /// A reduction whose state has sizes of its own.
    fn reduce_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, array] = arguments(op, self)?;
        let (source, size, element) = self.array(&array)?;
        let layout = self.state_layout(op)?;
        let state = self.state(layout);
        let initial = self.held(&initial)?;
        let initial = self.convert(&initial, &state.layout)?;
        self.give(vec![], vec![initial], state.dest(&state.current))?;
        let i = self.fresh("i");
        let value = build::idx(
            size.clone(),
            element.data(),
            source.data.clone(),
            Phrase::Var(i.clone()),
        );
        let value = source.part(&element, value, Packed::No);
        let run = self.step(lambda, &state, value)?;
        self.push(build::for_loop(size, i, build::seq(run, state.advance())));
        let last = self.state_value(&state, &state.current)?;
        let value = self.opened_for(&last, pattern)?;
        self.bind_one_held(pattern, exp, value)
    }

    /// The next state from the current one and an element.
    fn step(&mut self, lambda: &Lambda, state: &State, element: Held) -> Lowering<Phrase> {
        self.block(|this| {
            let current = this.state_value(state, &state.current)?;
            let run = this.apply_into_cell(lambda, vec![current, element], state, &state.next)?;
            this.push(run);
            Ok(())
        })
    }

    fn scan_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, array] = arguments(op, self)?;
        let (source, size, element) = self.array(&array)?;
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let layouts = self.element_layouts(pattern)?;
        let ([layout], [bound]) = (layouts.as_slice(), pattern.values.as_slice()) else {
            return bug("a scan that gives several values", self.span);
        };
        let state = self.state(layout.clone());
        let initial = self.held(&initial)?;
        let initial = self.convert(&initial, layout)?;
        self.give(vec![], vec![initial], state.dest(&state.current))?;
        let out = self.new_var(&bound.var.name, &Data::array(size.clone(), layout.data()));
        let growing = self.growing(layout);
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let value = build::idx(size.clone(), element.data(), source.data.clone(), at.clone());
        let value = source.part(&element, value, Packed::No);
        let run = self.step(lambda, &state, value)?;
        let place = build::idx_acc(size.clone(), layout.data(), out.clone().writer(), at);
        let write = self.block(|this| {
            let current = this.state_value(&state, &state.current)?;
            this.write_held(&current, place, &growing.sinks)
        })?;
        let body = match op.prim {
            Operation::Scan => build::seq_all([run, state.advance(), write]),
            _ => build::seq_all([write, run, state.advance()]),
        };
        self.push(build::for_loop(size, i, body));
        let pools = self.grown(&growing);
        self.values.insert(bound.var.clone(), out.reader());
        self.carry(&bound.var, pools, Packed::Yes);
        Ok(())
    }

    /// `filter`, `partition`, `gather`, `permute`: only bounds move.
    fn rearranged_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
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
    fn view_of_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
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
    fn flatten(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
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
    fn segments(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
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
    fn unflatten(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let [offsets, array] = arguments(op, self)?;
        let (count, _) = self.array_of(&offsets)?;
        let offsets = self.value(&offsets)?;
        let offsets = self.let_exp("offsets", &Data::array(count.clone(), I64), offsets);
        let (array, total, element) = self.array(&array)?;
        let rows = &count - &Nat::one();
        let i64 = ScalarType::I64;
        let at = |index: Phrase| {
            build::idx(
                count.clone(),
                I64,
                offsets.clone(),
                build::to_index(count.clone(), index),
            )
        };
        let some = binary(BinOp::Gt, i64, build::nat_value(count.clone()), int(0));
        self.check(some, Failure::BadOffsets, vec![]);
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

    fn scatter_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
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
            let x = super::rows::element_at(pool, add(a_begin, number.clone()));
            let y = super::rows::element_at(pool, add(b_begin, number));
            let body = this.block(|this| this.compare(element, (&x, &y), pools, equal))?;
            let differ = build::assign(BOOL, equal.clone().writer(), truth(false));
            this.push(build::if_then_else(same, build::for_loop(n, i, body), differ));
            Ok(())
        })?;
        self.push(compared);
        Ok(())
    }

    /// A cell's new row is put behind all others; its old one is left where it is.
    fn reduce_rows_by_index(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
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

/// A state whose sizes change from step to step.
struct State {
    layout: Layout,
    holds: ResultData,
    current: Phrase,
    next: Phrase,
}

impl State {
    fn dest(&self, cell: &Phrase) -> Dest {
        Dest::Cell {
            acceptor: cell.clone().writer(),
            holds: self.holds.clone(),
        }
    }

    /// What was computed becomes the state.
    fn advance(&self) -> Phrase {
        let pair = Phrase::pair(self.current.clone(), self.next.clone());
        Phrase::prim(Prim::Move, vec![], vec![self.holds.cell_data()]).app(pair)
    }
}
