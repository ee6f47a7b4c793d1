//! Bodies and statements: where each value goes.

use super::destinations::Plan;
use super::layout::{Held, Layout, Packed, Pool};
use super::{Dest, Item, Translator, name_of};
use crate::error::{Lowering, bug};
use crate::stage1::types::{ResultData, held, together};
use almach_base::Name;
use almach_core::{Atom, Body, Exp, Lambda, Param, Pattern, Stmt};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, Space, build};
use almach_prim::{Effect, Prim as Operation};
use almach_value::Scalar;

impl Translator<'_> {
    /// Runs a body and puts what it gives where it should go.
    pub(crate) fn body_into(&mut self, body: &Body, dest: Dest) -> Lowering<()> {
        let mark = self.env.mark();
        match body.stmts.split_last() {
            Some((last, before)) if self.is_tail(body, last) && !self.has_inverse(last, &dest) => {
                self.stmts(before, Plan::default())?;
                self.at(last, |this| this.into(&last.exp, &last.pattern, dest))?;
            }
            _ => match dest {
                Dest::Each(acceptors) => self.body_into_each(body, &acceptors)?,
                Dest::Cell { acceptor, holds } if self.fills_cell(body, &holds)? => {
                    self.body_into_contents(body, acceptor, &holds)?;
                }
                dest @ Dest::Cell { .. } => {
                    match body.stmts.split_last() {
                        // It is copied into the cell, and nowhere before.
                        Some((last, before)) if self.is_stored_result(body, last)? => {
                            self.stmts(before, Plan::default())?;
                            self.at(last, |this| this.bind_viewed(&last.exp, &last.pattern))?;
                        }
                        _ => self.stmts(&body.stmts, Plan::default())?,
                    }
                    self.give_body(body, dest)?;
                }
            },
        }
        self.env.rewind_facts(mark);
        Ok(())
    }

    /// A body whose last statement is a view that acceptors can do without.
    fn has_inverse(&self, last: &Stmt, dest: &Dest) -> bool {
        let invertible = match &last.exp {
            Exp::Op(op) => match (op.annotation.effect, op.prim) {
                (Some(Effect::Source | Effect::Eager), _) => false,
                (Some(Effect::Destination), prim) => {
                    prim.is_view() || matches!(prim, Operation::Map | Operation::Permute)
                }
                (None, prim) => matches!(
                    prim,
                    Operation::Join
                        | Operation::Transpose
                        | Operation::Reverse
                        | Operation::AsScalar
                        | Operation::Zip
                        | Operation::Concat
                ),
            },
            Exp::Tuple(_) => true,
            _ => false,
        };
        invertible && matches!(dest, Dest::Each(_))
    }

    /// Computes what it can directly into its place.
    fn body_into_each(&mut self, body: &Body, acceptors: &[Phrase]) -> Lowering<()> {
        let mut plan = self.plan(body, acceptors)?;
        let assigned = std::mem::take(&mut plan.assigned);
        self.stmts(&body.stmts, plan)?;
        self.assign_all(assigned)
    }

    /// Whether a body's last statement computes all that goes into a cell, whose sizes are known before it.
    fn fills_cell(&self, body: &Body, holds: &ResultData) -> Lowering<bool> {
        let Some(last) = body.stmts.last() else {
            return Ok(false);
        };
        let computes = match &last.exp {
            Exp::Op(op) => {
                matches!(
                    op.prim,
                    Operation::Map | Operation::Scan | Operation::ScanExclusive | Operation::Gather
                ) && op.annotation.effect != Some(Effect::Source)
            }
            _ => false,
        };
        let sizes_only = Body {
            context: Vec::new(),
            ..body.clone()
        };
        // Several arrays would be parts of the one place, which the combinator could not be given as several.
        Ok(computes
            && last.pattern.values.len() == 1
            && last.pattern.context.is_empty()
            && self.is_tail(&sizes_only, last)
            && holds.pool_count() == 0
            && !self.binds_rows(&last.pattern)?)
    }

    /// Whether a body's last statement is a view that is written as eager, and only a result.
    fn is_stored_result(&self, body: &Body, last: &Stmt) -> Lowering<bool> {
        let ([bound], Exp::Op(op)) = (last.pattern.values.as_slice(), &last.exp) else {
            return Ok(false);
        };
        let is_result = |atom: &Atom| matches!(atom, Atom::Var(var) if *var == bound.var);
        Ok(op.prim.is_view()
            && op.annotation.effect == Some(Effect::Eager)
            && self.facts.uses(&bound.var).count == 1
            && body.values.iter().any(is_result)
            && !self.binds_rows(&last.pattern)?)
    }

    /// The cell gets its sizes, and its contents are computed in their place.
    fn body_into_contents(&mut self, body: &Body, acceptor: Phrase, holds: &ResultData) -> Lowering<()> {
        let Some((last, before)) = body.stmts.split_last() else {
            return bug("a body that computes nothing", self.span);
        };
        self.stmts(before, Plan::default())?;
        let sizes = body.context.iter().map(|atom| self.size(atom));
        let sizes = sizes.collect::<Lowering<Vec<_>>>()?;
        self.at(last, |this| {
            let outside = this.pattern_data(&last.pattern, &last.exp)?.values();
            this.fill(acceptor, holds, sizes, |this, _, contents, parts| {
                let count = parts.len();
                let places = outside.iter().enumerate().map(|(at, outside)| {
                    let (place, inside) = component(contents, &parts, at, count);
                    let types = vec![outside.clone(), inside];
                    Phrase::prim(Prim::CoerceAcc, vec![], types).app(place)
                });
                let places = places.collect();
                this.into(&last.exp, &last.pattern, Dest::Each(places))
            })
        })
    }

    fn give_body(&mut self, body: &Body, dest: Dest) -> Lowering<()> {
        let (sizes, values) = self.body_results(body)?;
        self.give(sizes, values, dest)
    }

    /// What a body gives, once its statements are done.
    pub(crate) fn body_results(&self, body: &Body) -> Lowering<(Vec<Nat>, Vec<Held>)> {
        let values = body.values.iter().map(|atom| self.held(atom));
        let sizes = body.context.iter().map(|atom| self.size(atom));
        Ok((sizes.collect::<Lowering<_>>()?, values.collect::<Lowering<_>>()?))
    }

    /// Whether a body gives exactly what its last statement binds, and nothing else uses that.
    fn is_tail(&self, body: &Body, last: &Stmt) -> bool {
        let Pattern { context, values } = &last.pattern;
        let same = |atoms: &[Atom], vars: Vec<&almach_core::Var>| {
            atoms.len() == vars.len()
                && atoms
                    .iter()
                    .zip(vars)
                    .all(|(atom, var)| matches!(atom, Atom::Var(found) if found == var))
        };
        same(&body.values, values.iter().map(|value| &value.var).collect())
            && same(&body.context, context.iter().collect())
            && values
                .iter()
                .all(|value| self.facts.uses(&value.var).count == 1 && !self.plan.takes_turns(&value.var))
    }

    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Lowering<()> {
        self.at(stmt, |this| this.bind(&stmt.exp, &stmt.pattern))
    }

    /// Works on a statement: errors and failures point at it.
    pub(crate) fn at(&mut self, stmt: &Stmt, work: impl FnOnce(&mut Self) -> Lowering<()>) -> Lowering<()> {
        let outer = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        self.make_blocks(stmt);
        let result = work(self);
        self.span = outer;
        result
    }

    /// `fill` of a cell with these sizes; `inside` gets their names, the acceptor of the contents, and what it holds.
    pub(crate) fn fill(
        &mut self,
        acceptor: Phrase,
        holds: &ResultData,
        sizes: Vec<Nat>,
        inside: impl FnOnce(&mut Self, &[Name], &Phrase, Vec<Data>) -> Lowering<()>,
    ) -> Lowering<()> {
        let data = holds.cell_data();
        let names: Vec<Name> = sizes.iter().map(|_| self.fresh("size")).collect();
        let contents = self.fresh("contents");
        let inner_data = held(&data, &names);
        let parts = parts_of(&inner_data, holds.parts().len());
        let place = Phrase::Var(contents.clone());
        let body = self.block(|this| inside(this, &names, &place, parts))?;
        let mut function = Phrase::lam(contents, PhraseType::Acc(inner_data), body);
        for name in names.into_iter().rev() {
            function = Phrase::nat_lam(name, function);
        }
        let arguments = sizes.into_iter().map(build::nat_value);
        let fill = Phrase::prim(Prim::Fill, vec![], vec![data])
            .app(acceptor)
            .apply(arguments);
        self.push(fill.app(function));
        Ok(())
    }

    /// Binds a pattern to the contents of a cell.
    pub(crate) fn open_cell(&mut self, pattern: &Pattern, cell: Phrase, holds: &ResultData) -> Lowering<()> {
        for var in &pattern.context {
            self.values
                .insert(var.clone(), build::nat_value(Nat::var(name_of(var))));
        }
        let mut sizes: Vec<Name> = pattern.context.iter().map(name_of).collect();
        let opened = self.opened_cell(&mut sizes, cell, holds);
        for (value, held) in pattern.values.iter().zip(opened) {
            match self.facts.is_size(&value.var) {
                true => self.bind_held(&value.var, held),
                false => {
                    self.values.insert(value.var.clone(), held.data);
                    self.carry(&value.var, held.pools, held.packed);
                }
            }
        }
        Ok(())
    }

    /// The contents of a cell for the rest of the block, under these names for its sizes and new ones for others.
    pub(crate) fn opened_cell(
        &mut self,
        sizes: &mut Vec<Name>,
        cell: Phrase,
        holds: &ResultData,
    ) -> Vec<Held> {
        while sizes.len() < holds.sizes.len() {
            sizes.push(self.fresh("size"));
        }
        let data = holds.cell_data();
        let contents = self.fresh("opened");
        let all = Phrase::Var(contents.clone());
        let parts = parts_of(&held(&data, sizes), holds.parts().len());
        let mut renaming = almach_dpia::Substitution::default();
        for (from, to) in holds.sizes.iter().zip(sizes.iter()) {
            renaming.nats.insert(from.clone(), Nat::var(to.clone()));
        }
        let part = |at: usize| match parts.len() {
            1 => all.clone(),
            _ => build::get(at, &parts, all.clone()),
        };
        let mut next_pool = holds.layouts.len();
        let mut pool_sizes = sizes.iter().skip(sizes.len() - holds.pool_count());
        let mut opened = Vec::new();
        for (at, layout) in holds.layouts.iter().enumerate() {
            let layout = layout.subst(&renaming);
            let mut pools = Vec::new();
            for (element, size) in layout.pools().iter().zip(&mut pool_sizes) {
                pools.push(Pool {
                    size: Nat::var(size.clone()),
                    element: element.data(),
                    elements: part(next_pool),
                });
                next_pool += 1;
            }
            opened.push(Held {
                layout,
                data: part(at),
                pools,
                packed: Packed::Yes,
            });
        }
        self.items.push(Item::Open {
            cell,
            data,
            sizes: sizes.clone(),
            contents,
        });
        opened
    }

    /// What a pattern binds.
    pub(crate) fn pattern_data(&mut self, pattern: &Pattern, exp: &Exp) -> Lowering<ResultData> {
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        self.params_data(&pattern.context, &pattern.values)
    }

    /// Whether a pattern binds values with rows of their own sizes.
    pub(crate) fn binds_rows(&self, pattern: &Pattern) -> Lowering<bool> {
        for value in &pattern.values {
            if self.layout(&value.ty)?.has_rows() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Computes into new variables (a cell where there are sizes) and binds the pattern to them.
    pub(crate) fn compute_new(
        &mut self,
        pattern: &Pattern,
        exp: &Exp,
        compute: impl FnOnce(&mut Self, Dest) -> Lowering<()>,
    ) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        self.compute_into(Space::Any, pattern, &result, compute)
    }

    /// Computes bounds anew; the rows stay in these pools.
    pub(crate) fn compute_bounds(
        &mut self,
        pattern: &Pattern,
        exp: &Exp,
        pools: Vec<Pool>,
        compute: impl FnOnce(&mut Self, Dest) -> Lowering<()>,
    ) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?.regular();
        self.compute_into(Space::Any, pattern, &result, compute)?;
        let mut rest = pools.into_iter();
        for value in &pattern.values {
            let layout = self.layout(&value.ty)?;
            let pools: Vec<Pool> = rest.by_ref().take(layout.pools().len()).collect();
            self.carry(&value.var, pools, Packed::No);
        }
        Ok(())
    }

    /// Binds a pattern to what is computed into variables of an address space.
    pub(crate) fn compute_into(
        &mut self,
        space: Space,
        pattern: &Pattern,
        result: &ResultData,
        compute: impl FnOnce(&mut Self, Dest) -> Lowering<()>,
    ) -> Lowering<()> {
        let stem = pattern
            .values
            .first()
            .map_or("none", |value| value.var.name.as_str())
            .to_string();
        if let Some(data) = result.cell() {
            let cell = self.new_var_in(space, &stem, &data);
            compute(
                self,
                Dest::Cell {
                    acceptor: cell.clone().writer(),
                    holds: result.clone(),
                },
            )?;
            return self.open_cell(pattern, cell.reader(), result);
        }
        let mut acceptors = Vec::new();
        for (value, data) in pattern.values.iter().zip(&result.values()) {
            let var = self.new_var_of(&value.var, space, &value.var.name, data);
            acceptors.push(var.clone().writer());
            self.bind_read(&value.var, data, var.reader());
        }
        let sizes = std::mem::take(&mut self.late_sizes);
        compute(self, Dest::Each(acceptors))?;
        // Numbers that types mention become sizes once they are computed.
        for (var, value) in sizes {
            self.bind_size(&var, value);
        }
        Ok(())
    }

    fn bind_read(&mut self, var: &almach_core::Var, data: &Data, reader: Phrase) {
        match self.facts.is_size(var) && *data == Data::Scalar(almach_value::ScalarType::I64) {
            true => self.late_sizes.push((var.clone(), reader)),
            false => {
                self.values.insert(var.clone(), reader);
            }
        }
    }

    /// Binds a single value that is an expression without rows.
    pub(crate) fn bind_one(&mut self, pattern: &Pattern, exp: &Exp, value: Phrase) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        match (pattern.values.as_slice(), result.values().as_slice()) {
            ([bound], [data]) => {
                self.bind_value(&bound.var, data, value);
                Ok(())
            }
            _ => bug("an expression that gives several values", self.span),
        }
    }

    /// Binds a single value.
    pub(crate) fn bind_one_held(&mut self, pattern: &Pattern, exp: &Exp, value: Held) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        match (pattern.values.as_slice(), result.layouts.as_slice()) {
            ([bound], [layout]) => {
                let value = self.renamed(&value, layout);
                self.bind_held(&bound.var, value);
                Ok(())
            }
            _ => bug("an expression that gives several values", self.span),
        }
    }

    /// Binds a Core variable.
    pub(crate) fn bind_held(&mut self, var: &almach_core::Var, held: Held) {
        // Bounds are looked at more than once.
        let data = match held.pools.is_empty() {
            true => held.data,
            false => self.let_exp(&var.name, &held.layout.data(), held.data),
        };
        self.bind_value(var, &held.layout.data(), data);
        self.carry(var, held.pools, held.packed);
    }

    /// Remembers what the rows of a variable are in.
    pub(crate) fn carry(&mut self, var: &almach_core::Var, pools: Vec<Pool>, packed: Packed) {
        if pools.is_empty() {
            return;
        }
        let pools = pools.into_iter().map(|pool| {
            let data = Data::array(pool.size.clone(), pool.element.clone());
            Pool {
                elements: self.let_exp("pool", &data, pool.elements),
                ..pool
            }
        });
        let pools = pools.collect();
        self.pools.insert(var.clone(), (pools, packed));
    }

    /// A value with its rows.
    pub(crate) fn held(&self, atom: &Atom) -> Lowering<Held> {
        let layout = self.layout(&self.type_of(atom)?)?;
        let data = self.value(atom)?;
        let (pools, packed) = match atom {
            Atom::Var(var) => self.pools.get(var).cloned().unwrap_or((Vec::new(), Packed::Yes)),
            Atom::Const(_) => (Vec::new(), Packed::Yes),
        };
        if pools.len() != layout.pools().len() {
            return bug("a value without its rows", self.span);
        }
        Ok(Held {
            layout,
            data,
            pools,
            packed,
        })
    }

    /// The parameters of a lambda bound to values, in the block of its body.
    pub(crate) fn bind_params(&mut self, lambda: &Lambda, arguments: Vec<Held>) -> Lowering<()> {
        self.bind_fields(&lambda.context, &lambda.params, arguments)
    }

    /// Parameters or fields bound to values, whose rows have sizes that the context binds.
    pub(crate) fn bind_fields(
        &mut self,
        context: &[almach_core::Var],
        params: &[Param],
        arguments: Vec<Held>,
    ) -> Lowering<()> {
        almach_core::build::enter_params(&mut self.env, context, params);
        self.row_sizes.extend(context.iter().map(name_of));
        for (param, argument) in params.iter().zip(arguments) {
            let argument = self.opened(&argument, &param.ty, context)?;
            self.bind_held(&param.var, argument);
        }
        Ok(())
    }

    /// Constant zero of a type, for fields of constructors that a value does not have.
    pub(crate) fn zero(&self, data: &Data) -> Lowering<Phrase> {
        Ok(match data {
            Data::Scalar(scalar) => build::literal(Scalar::zero(*scalar)),
            Data::Vector(width, scalar) => Phrase::prim(Prim::Splat(*width, *scalar), vec![], vec![])
                .app(build::literal(Scalar::zero(*scalar))),
            Data::Tuple(parts) => {
                let zeros = parts
                    .iter()
                    .map(|part| self.zero(part))
                    .collect::<Lowering<Vec<_>>>()?;
                build::tuple(parts, zeros)
            }
            Data::Array(size, element) => {
                Phrase::prim(Prim::Replicate, vec![size.clone()], vec![(**element).clone()])
                    .app(self.zero(element)?)
            }
            other => return bug(format!("there is no zero of type `{other}`"), self.span),
        })
    }

    /// A value without elements, for fields of constructors that a value does not have.
    fn nothing(&self, layout: &Layout) -> Lowering<Held> {
        let mut pools = Vec::new();
        for element in layout.pools() {
            let element = element.data();
            let array = Data::array(Nat::zero(), element.clone());
            pools.push(Pool {
                size: Nat::zero(),
                elements: self.zero(&array)?,
                element,
            });
        }
        Ok(Held {
            layout: layout.clone(),
            data: self.zero(&layout.data())?,
            pools,
            packed: Packed::Yes,
        })
    }

    /// A value of a sum.
    pub(crate) fn construct(
        &mut self,
        ty: &almach_core::Type,
        constructor: u32,
        fields: &[Atom],
    ) -> Lowering<Held> {
        let constructors = self.fields_of_sum(ty)?;
        let tag = build::literal(Scalar::U32(constructor));
        let mut components = vec![Held::plain(super::types::tag(), tag)];
        for (at, types) in (0u32..).zip(&constructors) {
            let mut values = Vec::new();
            for (field_at, field) in types.iter().enumerate() {
                let layout = self.layout(field)?;
                values.push(match (at == constructor, fields.get(field_at)) {
                    (true, Some(atom)) => {
                        let value = self.held(atom)?;
                        self.convert(&value, &layout)?
                    }
                    _ => self.nothing(&layout)?,
                });
            }
            components.push(Held::tuple(values));
        }
        Ok(Held::tuple(components))
    }
}

/// The parts of what a cell holds.
fn parts_of(data: &Data, count: usize) -> Vec<Data> {
    match data {
        Data::Tuple(parts) if count != 1 => parts.clone(),
        one => vec![one.clone()],
    }
}

/// Component `at` of an acceptor of several values.
pub(crate) fn component(all: &Phrase, parts: &[Data], at: usize, count: usize) -> (Phrase, Data) {
    match (count, parts.get(at)) {
        (1, _) | (_, None) => (all.clone(), together(parts)),
        (_, Some(data)) => (build::tuple_acc(at, parts, all.clone()), data.clone()),
    }
}

/// The same value at a type with other names for equal sizes.
pub(crate) fn coerce(from: &Data, to: &Data, value: Phrase) -> Phrase {
    match from.equal(to) {
        true => value,
        false => Phrase::prim(Prim::Coerce, vec![], vec![from.clone(), to.clone()]).app(value),
    }
}

/// A place for values at a type, out of one for them at another with names for equal sizes.
pub(crate) fn coerce_acc(from: &Data, to: &Data, place: Phrase) -> Phrase {
    match from.equal(to) {
        true => place,
        false => Phrase::prim(Prim::CoerceAcc, vec![], vec![from.clone(), to.clone()]).app(place),
    }
}
