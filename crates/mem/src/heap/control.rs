//! Branches, loops and calls.

use super::items::{Item, Place, Stored, keep};
use super::{Bound, MAX_DEPTH, Ran, Run, Stop, fault};
use crate::ir::{Home, Item as HeadItem, Kind, Storage};
use crate::leaves::Leaf;
use almach_core::{Arm, Atom, Body, FunId, Loop, LoopForm, Param, Stmt, Type, Var};
use almach_value::{Scalar, ScalarType, Value};
use std::collections::{HashMap, HashSet};

/// A function's results, with the blocks of their leaves and how many elements their rows have.
pub(super) type Results = Vec<(Item, Vec<Bound>)>;

impl Run<'_> {
    pub(super) fn branch(&mut self, stmt: &Stmt, at: usize, body: &Body) -> Ran<()> {
        let (sizes, values) = self.body(body)?;
        let items = self.items(stmt);
        let found = self.found_sizes(stmt.pattern.values.iter().zip(&values));
        let mut bound = Vec::new();
        for item in &items {
            let what = self.given(item, at, &|var| found.get(var).copied())?;
            bound.push((item.var.clone(), what));
        }
        self.bind_context(&stmt.pattern.context, &sizes);
        for (var, what) in bound {
            self.bind(&var, what);
        }
        self.bind_values(stmt, values)
    }

    /// Results of a body arrive at the places of the pattern.
    pub(super) fn bind_values(&mut self, stmt: &Stmt, values: Vec<Item>) -> Ran<()> {
        for (param, item) in stmt.pattern.values.iter().zip(values) {
            let storage = self.storage(&param.var);
            let item = self.arrive(item, &param.ty, &storage)?;
            self.vars.insert(param.var.clone(), item);
        }
        Ok(())
    }

    pub(super) fn case(
        &mut self,
        stmt: &Stmt,
        scrutinee: &Atom,
        arms: &[Arm],
        default: Option<&Body>,
    ) -> Ran<()> {
        let Item::Plain(value) = self.atom(scrutinee)? else {
            return fault("a `case` on what is no datum");
        };
        let (constructor, fields) = match &value {
            Value::Sum(sum) => (sum.constructor, sum.fields.to_vec()),
            Value::Datum(datum) => (datum.constructor(), datum.fields()),
            other => return fault(format!("a `case` on a {}", other.kind())),
        };
        let Some(at) = arms.iter().position(|arm| arm.constructor == constructor) else {
            return match default {
                Some(body) => self.branch(stmt, arms.len(), body),
                None => fault("a `case` without the arm it needs"),
            };
        };
        let Some(arm) = arms.get(at) else {
            return fault("a `case` without the arm it needs");
        };
        for (param, value) in arm.fields.iter().zip(fields) {
            let item = keep(value, &param.ty, None);
            self.bind_sizes(&arm.context, &param.ty, &item)?;
            self.vars.insert(param.var.clone(), item);
        }
        self.branch(stmt, at, &arm.body)
    }

    pub(super) fn looped(&mut self, stmt: &Stmt, looped: &Loop) -> Ran<()> {
        let bound = match &looped.form {
            LoopForm::For { bound, .. } => Some(self.integer(bound)?),
            LoopForm::While(_) => None,
        };
        let sizes: Ran<Vec<i64>> = looped
            .context
            .iter()
            .map(|(_, atom)| self.integer(atom))
            .collect();
        let values: Ran<Vec<Item>> = looped.params.iter().map(|(_, atom)| self.atom(atom)).collect();
        self.state(stmt, looped, 0, (sizes?, values?))?;
        let mut count = 0;
        loop {
            self.steps = self.steps.checked_sub(1).ok_or(Stop::Budget)?;
            match &looped.form {
                LoopForm::For { index, .. } => {
                    if bound.is_none_or(|bound| count >= bound) {
                        break;
                    }
                    let scalar = counter(count, index);
                    self.vars
                        .insert(index.var.clone(), Item::Plain(Value::Scalar(scalar)));
                }
                LoopForm::While(condition) => {
                    let (_, values) = self.body(condition)?;
                    if values.first().and_then(Item::scalar) != Some(Scalar::Bool(true)) {
                        break;
                    }
                }
            }
            let next = self.body(&looped.body)?;
            self.state(stmt, looped, 1, next)?;
            count += 1;
        }
        self.after_loop(stmt, looped)
    }

    /// The state before the first iteration, or after another.
    fn state(
        &mut self,
        stmt: &Stmt,
        looped: &Loop,
        at: usize,
        (sizes, values): (Vec<i64>, Vec<Item>),
    ) -> Ran<()> {
        let mut bound = Vec::new();
        let params = looped.params.iter().map(|(param, _)| param);
        let found = self.found_sizes(params.zip(&values));
        for item in self.items(stmt) {
            let what = self.given(&item, at, &|var| found.get(var).copied())?;
            bound.extend(item.inside.map(|inside| (inside, what)));
        }
        for ((var, _), size) in looped.context.iter().zip(&sizes) {
            self.bind(var, Bound::Integer(*size));
        }
        for (var, what) in bound {
            self.bind(&var, what);
        }
        for ((param, _), item) in looped.params.iter().zip(values) {
            let storage = self.storage(&param.var);
            let item = self.arrive(item, &param.ty, &storage)?;
            self.vars.insert(param.var.clone(), item);
        }
        Ok(())
    }

    fn after_loop(&mut self, stmt: &Stmt, looped: &Loop) -> Ran<()> {
        let sizes: Ran<Vec<i64>> = looped
            .context
            .iter()
            .map(|(var, _)| self.integer(&Atom::Var(var.clone())))
            .collect();
        self.bind_context(&stmt.pattern.context, &sizes?);
        for item in self.items(stmt) {
            let Some(inside) = &item.inside else {
                return fault("a loop hands on what it does not hold");
            };
            let what = match item.kind {
                Kind::Block(_) => self.labels.get(inside).map(|label| Bound::Block(*label)),
                Kind::Integer => Some(Bound::Integer(self.integer(&Atom::Var(inside.clone()))?)),
            };
            match what {
                Some(what) => self.bind(&item.var, what),
                None => return fault(format!("the block `{inside}` is not there yet")),
            }
        }
        let values: Ran<Vec<Item>> = looped
            .params
            .iter()
            .map(|(param, _)| self.atom(&Atom::Var(param.var.clone())))
            .collect();
        self.bind_values(stmt, values?)
    }

    pub(super) fn call(&mut self, id: FunId, sizes: &[i64], args: Vec<Item>) -> Ran<(Vec<i64>, Results)> {
        let program = self.program;
        let at = id.0 as usize;
        let (Some(function), Some(memory)) =
            (program.core.functions.get(at), program.memory.functions.get(at))
        else {
            return fault("a function that does not exist");
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Budget);
        }
        let vars = std::mem::take(&mut self.vars);
        let labels = std::mem::take(&mut self.labels);
        let now = self.around.now;
        self.around.frames.push((labels, now));
        self.bind_context(&function.context, sizes);
        // Types of parameters may mention other parameters.
        for (param, item) in function.params.iter().zip(&args) {
            if param.ty == Type::I64 {
                self.vars.insert(param.var.clone(), item.clone());
            }
        }
        for (param, item) in function.params.iter().zip(args) {
            let item = self.parameter(param, item)?;
            self.vars.insert(param.var.clone(), item);
        }
        // What an entry is called with is its caller's.
        if self.depth == 1 {
            self.account = super::Account::default();
            self.around.arguments = self.heap.len();
        }
        let (sizes, values) = self.body(&function.body)?;
        let mut results = Vec::new();
        let mut left = memory.results.iter();
        for (item, ty) in values.into_iter().zip(&function.result.types) {
            results.push(self.result(item, ty, &mut left)?);
        }
        self.vars = vars;
        if let Some((labels, now)) = self.around.frames.pop() {
            (self.labels, self.around.now) = (labels, now);
        }
        self.depth -= 1;
        Ok((sizes, results))
    }

    /// A result fills its block.
    fn result(
        &mut self,
        item: Item,
        ty: &Type,
        left: &mut std::slice::Iter<'_, HeadItem>,
    ) -> Ran<(Item, Vec<Bound>)> {
        let leaves = crate::leaves::leaves(ty);
        let mut leaves = leaves.iter();
        let mut bound = Vec::new();
        let item = self.arrive_at(item, ty, &mut |run, stored| match leaves.next() {
            Some(leaf) => run.filled(leaf, stored, (left, &mut bound)),
            None => fault("a result without a block"),
        })?;
        Ok((item, bound))
    }

    /// `before` is how many blocks there were.
    pub(super) fn called(&mut self, stmt: &Stmt, sizes: &[i64], results: Results, before: usize) -> Ran<()> {
        self.bind_context(&stmt.pattern.context, sizes);
        let parts: Vec<Bound> = results.iter().flat_map(|(_, parts)| parts.clone()).collect();
        let items = self.items(stmt);
        let copied = self.account.copied;
        for (item, part) in items.iter().zip(&parts) {
            self.bind(&item.var, *part);
        }
        let values = results.into_iter().map(|(item, _)| item).collect();
        self.bind_values(stmt, values)?;
        // What the function made for its results was the caller's memory.
        if items.is_empty() {
            self.account.copied = copied;
            let blocks = parts.into_iter().filter_map(|part| match part {
                Bound::Block(block) => Some(block),
                Bound::Integer(_) => None,
            });
            for _ in blocks.filter(|block| *block >= before) {
                self.account.allocations = self.account.allocations.saturating_sub(1);
            }
        }
        Ok(())
    }

    /// A function writes its results while it may still read its arguments: the two are apart.
    pub(super) fn apart_from_results(&mut self, stmt: &Stmt, args: &[Item]) -> Ran<()> {
        let own: Vec<_> = self.items(stmt).into_iter().map(|item| item.var).collect();
        let mut places = Vec::new();
        for value in &stmt.pattern.values {
            for home in self.storage(&value.var).iter().filter_map(Storage::home) {
                if !own.contains(&home.block) {
                    places.extend(self.place(home).ok());
                }
            }
        }
        let mut meets = false;
        for arg in args {
            arg.for_each_leaf(&mut |leaf| {
                for from in leaf.places() {
                    meets |= places.iter().any(|to| super::overlap(from, to));
                }
            });
        }
        match meets {
            true => fault("a function writes its result where an argument is"),
            false => Ok(()),
        }
    }

    /// An argument is passed where it is if the parameter can be there, else in a block of its own.
    fn parameter(&mut self, param: &Param, item: Item) -> Ran<Item> {
        let storage = self.storage(&param.var);
        let mut leaves = Vec::new();
        item.for_each_leaf(&mut |leaf| leaves.push(leaf.clone()));
        let wanted = crate::leaves::leaves(&param.ty);
        for ((leaf, storage), wanted) in leaves.iter().zip(&storage).zip(&wanted) {
            let Storage::Placed(home) = storage else {
                self.rows_parameter(wanted, storage, leaf)?;
                continue;
            };
            if let Stored::Placed(place) = leaf {
                self.unify(home, place);
                if self.place(home)?.same(place) {
                    continue;
                }
            }
            let shape = leaf.shape();
            let element = self.element_type(leaf)?;
            let label = self.allocate(&home.block, element, shape.iter().product())?;
            let place = Place::row_major(label, &shape);
            self.unify(home, &place);
            if let Stored::Kept(kept) = leaf {
                self.write(&place, &kept.array, &HashSet::new())?;
            }
        }
        self.arrive(item, &param.ty, &storage)
    }

    /// Rows are passed in blocks: where they are, or in new ones.
    fn rows_parameter(&mut self, leaf: &Leaf, storage: &Storage, stored: &Stored) -> Ran<()> {
        if let Stored::Kept(kept) = stored {
            let memory = self.program.memory.functions.iter();
            let kinds: HashMap<Var, Kind> =
                memory.flat_map(|memory| memory.context.iter().cloned()).collect();
            self.make_parts(leaf, storage, stored, &|var| kinds.get(var).copied())?;
            if let Some(place) = self.stored_at(leaf, storage, stored)? {
                self.write_stored(&place, &kept.array, &HashSet::new())?;
            }
            return Ok(());
        }
        self.name_parts(storage, stored);
        Ok(())
    }

    fn element_type(&self, leaf: &Stored) -> Ran<ScalarType> {
        let element = match leaf {
            Stored::Placed(place) => self.heap.get(place.block).map(|block| block.element),
            Stored::Kept(kept) => super::items::scalars(&kept.array).map(almach_value::Buffer::ty),
            Stored::Rows(_) => None,
        };
        element.map_or_else(|| fault("an array of what has no cells"), Ok)
    }

    /// Gives the variables of a parameter's home their values.
    fn unify(&mut self, home: &Home, place: &Place) {
        self.labels.insert(home.block.clone(), place.block);
        let strides = home
            .lmad
            .dims
            .iter()
            .zip(&place.dims)
            .map(|(dim, (_, stride))| (&dim.stride, *stride));
        for (part, value) in strides.chain([(&home.lmad.offset, place.offset)]) {
            if let Some(var) = part.as_var()
                && !self.vars.contains_key(var)
            {
                self.bind(&var.clone(), Bound::Integer(value));
            }
        }
    }
}

/// The counter of a loop, of its type.
fn counter(count: i64, index: &Param) -> Scalar {
    match index.ty {
        Type::Scalar(ScalarType::I8) => Scalar::I8(count as i8),
        Type::Scalar(ScalarType::I16) => Scalar::I16(count as i16),
        Type::Scalar(ScalarType::I32) => Scalar::I32(count as i32),
        Type::Scalar(ScalarType::U8) => Scalar::U8(count as u8),
        Type::Scalar(ScalarType::U16) => Scalar::U16(count as u16),
        Type::Scalar(ScalarType::U32) => Scalar::U32(count as u32),
        Type::Scalar(ScalarType::U64) => Scalar::U64(count as u64),
        _ => Scalar::I64(count),
    }
}
