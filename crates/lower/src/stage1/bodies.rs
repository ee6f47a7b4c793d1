//! Bodies and statements: where each value goes.

use super::{Dest, Item, Translator, name_of};
use crate::error::{Lowering, bug, refuse};
use crate::stage1::types::{ResultData, TAG, held, together};
use almach_base::Name;
use almach_core::{Atom, Body, Exp, Lambda, Pattern, Stmt};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, build};
use almach_prim::Prim as Operation;
use almach_value::Scalar;

impl Translator<'_> {
    /// Runs a body and puts what it gives where it should go.
    pub(crate) fn body_into(&mut self, body: &Body, dest: Dest) -> Lowering<()> {
        let mark = self.env.mark();
        match body.stmts.split_last() {
            Some((last, before)) if self.is_tail(body, last) && !self.has_inverse(last, &dest) => {
                before.iter().try_for_each(|stmt| self.stmt(stmt))?;
                self.at(last, |this| this.into(&last.exp, &last.pattern, dest))?;
            }
            _ => match dest {
                Dest::Each(acceptors) => self.body_into_each(body, &acceptors)?,
                Dest::Cell { acceptor, data } => {
                    body.stmts.iter().try_for_each(|stmt| self.stmt(stmt))?;
                    self.give_body(body, Dest::Cell { acceptor, data })?;
                }
            },
        }
        self.env.rewind_facts(mark);
        Ok(())
    }

    /// A body whose last statement is a view that acceptors can do without.
    fn has_inverse(&self, last: &Stmt, dest: &Dest) -> bool {
        let invertible = match &last.exp {
            Exp::Op(op) => matches!(
                op.prim,
                Operation::Join
                    | Operation::Transpose
                    | Operation::Reverse
                    | Operation::AsScalar
                    | Operation::Zip
                    | Operation::Concat
            ),
            Exp::Tuple(_) => true,
            _ => false,
        };
        invertible && matches!(dest, Dest::Each(_))
    }

    /// Computes what it can directly into its place.
    fn body_into_each(&mut self, body: &Body, acceptors: &[Phrase]) -> Lowering<()> {
        let mut plan = self.plan(body, acceptors)?;
        for (at, stmt) in body.stmts.iter().enumerate() {
            match plan.computed.remove(&at) {
                Some(places) => {
                    self.at(stmt, |this| {
                        this.into(&stmt.exp, &stmt.pattern, Dest::Each(places))
                    })?;
                    almach_core::build::enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
                }
                None if plan.absorbed.contains(&at) => {
                    almach_core::build::enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
                }
                None => self.stmt(stmt)?,
            }
        }
        for (atom, acceptor) in plan.assigned {
            let (value, data) = (self.value(&atom)?, self.data_of(&atom)?);
            self.push(build::assign(data, acceptor, value));
        }
        Ok(())
    }

    fn give_body(&mut self, body: &Body, dest: Dest) -> Lowering<()> {
        let values = body
            .values
            .iter()
            .map(|atom| self.value(atom))
            .collect::<Lowering<Vec<_>>>()?;
        let sizes = body
            .context
            .iter()
            .map(|atom| self.size(atom))
            .collect::<Lowering<Vec<_>>>()?;
        let datas = body
            .values
            .iter()
            .map(|atom| self.data_of(atom))
            .collect::<Lowering<Vec<_>>>()?;
        self.give(sizes, values, datas, dest)
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
            && values.iter().all(|value| self.facts.uses(&value.var).count == 1)
    }

    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Lowering<()> {
        self.at(stmt, |this| this.bind(&stmt.exp, &stmt.pattern))
    }

    /// Works on a statement: errors and failures point at it.
    fn at(&mut self, stmt: &Stmt, work: impl FnOnce(&mut Self) -> Lowering<()>) -> Lowering<()> {
        let outer = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        let result = work(self);
        self.span = outer;
        result
    }

    /// Puts values (and the sizes they come with) where they should go.
    pub(crate) fn give(
        &mut self,
        sizes: Vec<Nat>,
        values: Vec<Phrase>,
        datas: Vec<Data>,
        dest: Dest,
    ) -> Lowering<()> {
        match dest {
            Dest::Each(acceptors) => {
                // The acceptor of a procedure without results takes nothing.
                for ((value, data), acceptor) in values.into_iter().zip(datas).zip(acceptors) {
                    self.push(build::assign(data, acceptor, value));
                }
                Ok(())
            }
            Dest::Cell { acceptor, data } => {
                let count = values.len();
                self.fill(acceptor, data, sizes, |this, contents, parts| {
                    for (at, value) in values.into_iter().enumerate() {
                        let (place, part) = component(contents, &parts, at, count);
                        // What the value is called outside is what it is inside: the sizes are equal.
                        let from = datas.get(at).cloned().unwrap_or_else(|| part.clone());
                        let value = coerce(&from, &part, value);
                        this.push(build::assign(part, place, value));
                    }
                    Ok(())
                })
            }
        }
    }

    /// `fill` of a cell with these sizes; `inside` gets the acceptor of the contents and their types.
    pub(crate) fn fill(
        &mut self,
        acceptor: Phrase,
        data: Data,
        sizes: Vec<Nat>,
        inside: impl FnOnce(&mut Self, &Phrase, Vec<Data>) -> Lowering<()>,
    ) -> Lowering<()> {
        let names: Vec<Name> = sizes.iter().map(|_| self.fresh("size")).collect();
        let contents = self.fresh("contents");
        let inner_data = held(&data, &names);
        let parts = match &inner_data {
            Data::Tuple(parts) if parts.len() != 1 => parts.clone(),
            one => vec![one.clone()],
        };
        let place = Phrase::Var(contents.clone());
        let body = self.block(|this| inside(this, &place, parts))?;
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
    pub(crate) fn open_cell(&mut self, pattern: &Pattern, cell: Phrase, data: &Data) -> Lowering<()> {
        let sizes: Vec<Name> = pattern.context.iter().map(name_of).collect();
        for var in &pattern.context {
            self.values
                .insert(var.clone(), build::nat_value(Nat::var(name_of(var))));
        }
        let contents = self.fresh("opened");
        let parts = match held(data, &sizes) {
            Data::Tuple(parts) if pattern.values.len() != 1 => parts,
            one => vec![one],
        };
        let all = Phrase::Var(contents.clone());
        for (at, value) in pattern.values.iter().enumerate() {
            let part = match parts.len() {
                1 => all.clone(),
                _ => build::get(at, &parts, all.clone()),
            };
            self.values.insert(value.var.clone(), part);
        }
        self.items.push(Item::Open {
            cell,
            data: data.clone(),
            sizes,
            contents,
        });
        Ok(())
    }

    /// What a pattern binds.
    pub(crate) fn pattern_data(&mut self, pattern: &Pattern, exp: &Exp) -> Lowering<ResultData> {
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        Ok(ResultData {
            sizes: pattern.context.iter().map(name_of).collect(),
            values: pattern
                .values
                .iter()
                .map(|value| self.data(&value.ty))
                .collect::<Lowering<_>>()?,
        })
    }

    /// Computes into new variables (a cell where there are sizes) and binds the pattern to them.
    pub(crate) fn compute_new(
        &mut self,
        pattern: &Pattern,
        exp: &Exp,
        compute: impl FnOnce(&mut Self, Dest) -> Lowering<()>,
    ) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        let stem = pattern
            .values
            .first()
            .map_or("none", |value| value.var.name.as_str())
            .to_string();
        if let Some(data) = result.cell() {
            let cell = self.new_var(&stem, &data);
            compute(
                self,
                Dest::Cell {
                    acceptor: cell.clone().writer(),
                    data: data.clone(),
                },
            )?;
            return self.open_cell(pattern, cell.reader(), &data);
        }
        let mut acceptors = Vec::new();
        for (value, data) in pattern.values.iter().zip(&result.values) {
            let var = self.new_var(&value.var.name, data);
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

    /// Binds a single value that is an expression.
    pub(crate) fn bind_one(&mut self, pattern: &Pattern, exp: &Exp, value: Phrase) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        match (pattern.values.as_slice(), result.values.as_slice()) {
            ([bound], [data]) => {
                self.bind_value(&bound.var, data, value);
                Ok(())
            }
            _ => bug("an expression that gives several values", self.span),
        }
    }

    /// The parameters of a lambda bound to expressions, in the block of its body.
    pub(crate) fn bind_params(&mut self, lambda: &Lambda, arguments: Vec<Phrase>) -> Lowering<()> {
        if !lambda.context.is_empty() {
            return refuse("a function of jagged rows", self.span);
        }
        almach_core::build::enter_params(&mut self.env, &lambda.context, &lambda.params);
        for (param, argument) in lambda.params.iter().zip(arguments) {
            let data = self.data(&param.ty)?;
            self.bind_value(&param.var, &data, argument);
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

    /// A value of a sum.
    pub(crate) fn construct(
        &self,
        data: almach_core::DataId,
        constructor: u32,
        fields: &[Atom],
    ) -> Lowering<Phrase> {
        let Data::Tuple(parts) = self.data(&almach_core::Type::Data(data))? else {
            return bug("a sum that is no tuple", self.span);
        };
        let mut components = vec![build::literal(Scalar::U32(constructor))];
        for (at, part) in parts.iter().enumerate().skip(1) {
            components.push(match (at == constructor as usize + 1, part) {
                (true, Data::Tuple(types)) => {
                    let mut values = Vec::new();
                    for (field, wanted) in fields.iter().zip(types) {
                        values.push(coerce(&self.data_of(field)?, wanted, self.value(field)?));
                    }
                    build::tuple(types, values)
                }
                _ => self.zero(part)?,
            });
        }
        debug_assert!(parts.first() == Some(&Data::Scalar(TAG)));
        Ok(build::tuple(&parts, components))
    }
}

/// Component `at` of an acceptor of several values.
pub(crate) fn component(all: &Phrase, parts: &[Data], at: usize, count: usize) -> (Phrase, Data) {
    let data = parts.get(at).cloned().unwrap_or_else(|| together(parts));
    match count {
        1 => (all.clone(), data),
        _ => (build::tuple_acc(at, parts, all.clone()), data),
    }
}

/// The same value at a type with other names for equal sizes.
pub(crate) fn coerce(from: &Data, to: &Data, value: Phrase) -> Phrase {
    match from.equal(to) {
        true => value,
        false => Phrase::prim(Prim::Coerce, vec![], vec![from.clone(), to.clone()]).app(value),
    }
}
