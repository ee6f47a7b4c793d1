//! Operations with functions: element by element.

use super::items::{Guard, Item, Place, Stored, keep};
use super::{Bound, Ran, Run, Trace, fault};
use crate::ir::{Storage, key};
use almach_core::{Atom, Dim, Lambda, Op, Param, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_value::{ArrayValue, ElementShape, Scalar, Value};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

impl Run<'_> {
    pub(super) fn operation(&mut self, stmt: &Stmt, op: &Op) -> Ran<()> {
        let [function] = op.functions.as_slice() else {
            return fault("an operation with several functions");
        };
        match op.prim {
            Prim::Map => self.map(stmt, op, function),
            Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq => self.fold(stmt, op, function, Keep::Last),
            Prim::Scan => self.fold(stmt, op, function, Keep::After),
            Prim::ScanExclusive => self.fold(stmt, op, function, Keep::Before),
            Prim::Filter | Prim::Partition => self.select(stmt, op, function),
            Prim::ReduceByIndex => self.histogram(stmt, op, function),
            Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => {
                for (param, arg) in function.params.iter().zip(&op.args) {
                    let item = self.atom(arg)?;
                    self.found(param, item)?;
                }
                let (sizes, values) = self.body(&function.body)?;
                self.bind_context(&stmt.pattern.context, &sizes);
                for (param, item) in stmt.pattern.values.iter().zip(&values) {
                    let value = self.value(item, &param.ty)?;
                    self.blocks_of_statement(stmt, param, &value)?;
                }
                self.bind_values(stmt, values)
            }
            _ => fault(format!("`{}` takes no function", op.prim.name())),
        }
    }

    /// Runs a function on what its parameters are, in one iteration.
    fn apply(&mut self, function: &Lambda, args: Vec<Item>) -> Ran<Vec<Item>> {
        for (param, item) in function.params.iter().zip(args) {
            self.bind_sizes(&function.context, &param.ty, &item)?;
            self.argument(param, item)?;
        }
        Ok(self.body(&function.body)?.1)
    }

    /// A parameter whose storage is elsewhere is read; one that has a place must be there.
    fn argument(&mut self, param: &Param, item: Item) -> Ran<()> {
        let storage = self.storage(&param.var);
        let held = storage.iter().all(|storage| storage.home().is_none());
        if held {
            let item = self.arrive(item, &param.ty, &storage)?;
            self.vars.insert(param.var.clone(), item);
            return Ok(());
        }
        self.found(param, item)
    }

    fn set_index(&mut self, stmt: &Stmt, at: usize) {
        let head = key(stmt).and_then(|key| self.program.memory.heads.get(key));
        if let Some(index) = head.and_then(|head| head.index.clone()) {
            self.bind(&index, Bound::Integer(at as i64));
        }
    }

    fn arrays(&self, args: &[Atom]) -> Ran<Vec<(Item, Type)>> {
        args.iter()
            .map(|arg| Ok((self.atom(arg)?, self.type_of(arg))))
            .collect()
    }

    fn map(&mut self, stmt: &Stmt, op: &Op, function: &Lambda) -> Ran<()> {
        let arrays = self.arrays(&op.args)?;
        let count = arrays.first().map_or(0, |(item, _)| length(item));
        let parallel = op.annotation.level != Some(Level::Seq);
        let mut races = Races::default();
        let mut out: Vec<Collected> = stmt.pattern.values.iter().map(|_| Collected::default()).collect();
        let mut read = Vec::new();
        for at in 0..count {
            self.set_index(stmt, at);
            self.traces.push(Trace::default());
            let rows: Ran<Vec<Item>> = arrays
                .iter()
                .map(|(item, ty)| self.row_of(item, ty, at))
                .collect();
            let results = rows.and_then(|rows| self.apply(function, rows));
            let written = results.and_then(|results| {
                for ((param, out), item) in stmt.pattern.values.iter().zip(&mut out).zip(results) {
                    self.put(param, at, item, out)?;
                }
                Ok(())
            });
            let trace = self.traces.pop().unwrap_or_default();
            written?;
            if parallel {
                races.add(at, &trace, self)?;
            }
            read.extend(trace.reads.iter().copied());
            self.join_trace(trace);
        }
        let guard = Rc::new(Guard {
            time: self.clock,
            cells: read,
        });
        for (param, out) in stmt.pattern.values.iter().zip(out) {
            self.collected(stmt, param, count, out, Some(&guard))?;
        }
        Ok(())
    }

    fn join_trace(&mut self, trace: Trace) {
        if let Some(outer) = self.traces.last_mut() {
            outer.reads.extend(trace.reads);
            outer.writes.extend(trace.writes);
        }
    }

    /// Writes one element of an array that is being made.
    fn put(&mut self, param: &Param, at: usize, item: Item, out: &mut Collected) -> Ran<()> {
        let Type::Array(_, element) = &param.ty else {
            return fault("elements of what is no array");
        };
        let storage = self.storage(&param.var);
        if storage.iter().any(|storage| storage.home().is_none()) {
            out.values.push(self.value(&item, element)?);
        }
        let mut places = Vec::new();
        for storage in &storage {
            places.push(match storage {
                Storage::Placed(home) => Some(self.place(home)?.index(at)),
                Storage::Rows(_) | Storage::View | Storage::Held => None,
            });
        }
        self.put_leaves(item, element, &mut places.into_iter())
    }

    fn put_leaves(
        &mut self,
        item: Item,
        ty: &Type,
        places: &mut dyn Iterator<Item = Option<Place>>,
    ) -> Ran<()> {
        match (item, ty) {
            (Item::Tuple(parts), Type::Tuple(types)) => {
                for (part, ty) in parts.into_iter().zip(types) {
                    self.put_leaves(part, ty, places)?;
                }
                Ok(())
            }
            (item @ Item::Array { .. }, Type::Array(Dim::Size(_), _)) => {
                self.arrive_at(item, ty, &mut |_, _| {
                    Ok(places.next().flatten().map(Stored::Placed))
                })?;
                Ok(())
            }
            (Item::Plain(value), _) => match places.next().flatten() {
                Some(place) => self.put_scalars(&place, &value),
                None => Ok(()),
            },
            _ => {
                places.next();
                Ok(())
            }
        }
    }

    fn put_scalars(&mut self, place: &Place, value: &Value) -> Ran<()> {
        let scalars: Vec<Scalar> = match value {
            Value::Scalar(scalar) => vec![*scalar],
            Value::Vector(lanes) => lanes.to_vec(),
            other => return fault(format!("a {} has no cells", other.kind())),
        };
        let Some(buffer) = scalars
            .first()
            .and_then(|first| almach_value::buffer_of(first.ty(), scalars.clone()))
        else {
            return fault("no scalars");
        };
        let array = ArrayValue::scalars(buffer);
        self.write(place, &array, &HashSet::new())?;
        Ok(())
    }

    /// Binds an array whose elements have been put.
    fn collected(
        &mut self,
        stmt: &Stmt,
        param: &Param,
        count: usize,
        out: Collected,
        guard: Option<&Rc<Guard>>,
    ) -> Ran<()> {
        let Type::Array(_, element) = &param.ty else {
            return fault("elements of what is no array");
        };
        let storage = self.stored_leaves(param);
        let kept = match storage.iter().any(|(_, storage)| storage.home().is_none()) {
            true => {
                let shape = self.shape(element)?;
                let array = match ArrayValue::from_values(&shape, out.values) {
                    Ok(array) => array,
                    Err(error) => return fault(format!("elements of several shapes: {error:?}")),
                };
                let value = Value::array(array);
                self.blocks_of_statement(stmt, param, &value)?;
                match keep(value, &param.ty, guard) {
                    Item::Array { leaves, .. } => leaves,
                    _ => Vec::new(),
                }
            }
            false => Vec::new(),
        };
        let mut leaves = Vec::new();
        for (at, (leaf, storage)) in storage.iter().enumerate() {
            leaves.push(match (storage, kept.get(at)) {
                (Storage::Placed(home), _) => Stored::Placed(self.place(home)?),
                (Storage::Rows(_), Some(stored)) => self.moved_from(leaf, storage, stored)?,
                (Storage::View, Some(stored)) => stored.clone(),
                (Storage::Held, Some(stored)) => stored.unguarded(),
                (_, None) => return fault("a leaf that nobody kept"),
            });
        }
        self.vars
            .insert(param.var.clone(), Item::Array { len: count, leaves });
        Ok(())
    }

    /// The shape of elements, with the sizes of now.
    fn shape(&self, ty: &Type) -> Ran<ElementShape> {
        Ok(match ty {
            Type::Scalar(ty) => ElementShape::Scalar(*ty),
            Type::Vector(width, ty) => ElementShape::Vector(*width as usize, *ty),
            Type::Tuple(parts) => {
                let parts: Ran<Vec<ElementShape>> = parts.iter().map(|part| self.shape(part)).collect();
                ElementShape::Tuple(parts?)
            }
            Type::Array(Dim::Size(size), element) => {
                let row = usize::try_from(self.size(size)?).unwrap_or(0);
                ElementShape::Row(row, Box::new(self.shape(element)?))
            }
            Type::Array(Dim::Jagged, element) => ElementShape::Jagged(Box::new(self.shape(element)?)),
            Type::Data(_) | Type::Node(_) => ElementShape::Boxed,
        })
    }

    fn fold(&mut self, stmt: &Stmt, op: &Op, function: &Lambda, kept: Keep) -> Ran<()> {
        let ([initial, array], Some(state)) = (op.args.as_slice(), function.params.first()) else {
            return fault("a fold without an array");
        };
        let (array, ty) = (self.atom(array)?, self.type_of(array));
        let storage = self.storage(&state.var);
        let mut item = self.atom(initial)?;
        self.bind_sizes(&function.context, &state.ty, &item)?;
        item = self.arrive(item, &state.ty, &storage)?;
        let mut out = Collected::default();
        let count = length(&array);
        for at in 0..count {
            self.set_index(stmt, at);
            if let (Keep::Before, [param]) = (kept, stmt.pattern.values.as_slice()) {
                self.put(param, at, item.clone(), &mut out)?;
            }
            let row = self.row_of(&array, &ty, at)?;
            let mut results = self.apply(function, vec![item, row])?;
            if results.len() != 1 {
                return fault("a fold of several values");
            }
            let result = results.remove(0);
            self.bind_sizes(&function.context, &state.ty, &result)?;
            item = self.arrive(result, &state.ty, &storage)?;
            if let (Keep::After, [param]) = (kept, stmt.pattern.values.as_slice()) {
                self.put(param, at, item.clone(), &mut out)?;
            }
        }
        let [param] = stmt.pattern.values.as_slice() else {
            return fault("a fold of several values");
        };
        if kept != Keep::Last {
            return self.collected(stmt, param, count, out, None);
        }
        let renamed = self.value(&item, &state.ty)?;
        self.bind_sizes(
            &stmt.pattern.context,
            &param.ty,
            &keep(renamed.clone(), &param.ty, None),
        )?;
        self.blocks_of_statement(stmt, param, &renamed)?;
        self.bind_values(stmt, vec![item])
    }

    fn select(&mut self, stmt: &Stmt, op: &Op, function: &Lambda) -> Ran<()> {
        let [array] = op.args.as_slice() else {
            return fault("a selection without an array");
        };
        let (item, ty) = (self.atom(array)?, self.type_of(array));
        let (mut taken, mut others) = (Vec::new(), Vec::new());
        for at in 0..length(&item) {
            self.set_index(stmt, at);
            let row = self.row_of(&item, &ty, at)?;
            let results = self.apply(function, vec![row])?;
            match results.first().and_then(Item::scalar) {
                Some(Scalar::Bool(true)) => taken.push(at),
                _ => others.push(at),
            }
        }
        let Value::Array(all) = self.value(&item, &ty)? else {
            return fault("a selection from what is no array");
        };
        let chosen = |positions: &[usize]| all.gather(positions).map(|array| Value::Array(Arc::new(array)));
        let (Some(first), Some(second)) = (chosen(&taken), chosen(&others)) else {
            return fault("a selection out of range");
        };
        let (sizes, value) = match op.prim {
            Prim::Partition => (
                vec![taken.len() as i64, others.len() as i64],
                Value::tuple([first, second]),
            ),
            _ => (vec![taken.len() as i64], first),
        };
        self.bind_context(&stmt.pattern.context, &sizes);
        let [param] = stmt.pattern.values.as_slice() else {
            return fault("a selection of several values");
        };
        let guard = Rc::new(Guard {
            time: self.clock,
            cells: Vec::new(),
        });
        self.made(stmt, param, value, &guard)
    }

    fn histogram(&mut self, stmt: &Stmt, op: &Op, function: &Lambda) -> Ran<()> {
        let ([dest, _, indices, array], [state, _]) = (op.args.as_slice(), function.params.as_slice()) else {
            return fault("a histogram without its arrays");
        };
        let dest_type = self.type_of(dest);
        let Type::Array(_, element) = &dest_type else {
            return fault("a histogram of what is no array");
        };
        let dest_item = self.atom(dest)?;
        let Value::Array(cells) = self.value(&dest_item, &dest_type)? else {
            return fault("a histogram of what is no array");
        };
        let mut cells: Vec<Value> = cells.values().collect();
        let (indices, index_type) = (self.atom(indices)?, self.type_of(indices));
        let (array, ty) = (self.atom(array)?, self.type_of(array));
        let storage = self.storage(&state.var);
        for at in 0..length(&array) {
            self.set_index(stmt, at);
            let index = self
                .row_of(&indices, &index_type, at)?
                .scalar()
                .and_then(Scalar::as_integer);
            let Some(slot) = index
                .and_then(|index| usize::try_from(index).ok())
                .filter(|slot| *slot < cells.len())
            else {
                continue;
            };
            let old = cells.get(slot).cloned().unwrap_or_else(Value::unit);
            let old = keep(old, &state.ty, None);
            self.bind_sizes(&function.context, &state.ty, &old)?;
            let old = self.arrive(old, &state.ty, &storage)?;
            let row = self.row_of(&array, &ty, at)?;
            let results = self.apply(function, vec![old, row])?;
            let Some(result) = results.first() else {
                return fault("a histogram's function gives nothing");
            };
            let value = self.value(result, &state.ty)?;
            if let Some(cell) = cells.get_mut(slot) {
                *cell = value;
            }
        }
        let shape = self.shape(element)?;
        let Ok(value) = ArrayValue::from_values(&shape, cells) else {
            return fault("cells of several shapes");
        };
        let [param] = stmt.pattern.values.as_slice() else {
            return fault("a histogram of several values");
        };
        let guard = Rc::new(Guard {
            time: self.clock,
            cells: Vec::new(),
        });
        self.made(stmt, param, Value::array(value), &guard)
    }
}

/// What of a fold's states is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Last,
    Before,
    After,
}

/// Elements of leaves that are in no block.
#[derive(Default)]
struct Collected {
    values: Vec<Value>,
}

/// Who touched what, over the iterations of one operation (equation 4).
#[derive(Default)]
struct Races {
    writers: HashMap<(usize, usize), usize>,
    readers: HashMap<(usize, usize), usize>,
}

impl Races {
    fn add(&mut self, iteration: usize, trace: &Trace, run: &Run<'_>) -> Ran<()> {
        for cell in &trace.writes {
            let other = self.writers.get(cell).or(self.readers.get(cell));
            if let Some(other) = other {
                return self.race(*cell, *other, iteration, run);
            }
        }
        for cell in &trace.reads {
            if let Some(other) = self.writers.get(cell) {
                return self.race(*cell, *other, iteration, run);
            }
        }
        self.writers
            .extend(trace.writes.iter().map(|cell| (*cell, iteration)));
        self.readers
            .extend(trace.reads.iter().map(|cell| (*cell, iteration)));
        Ok(())
    }

    fn race(&self, (block, cell): (usize, usize), one: usize, other: usize, run: &Run<'_>) -> Ran<()> {
        let name = run.heap.get(block).map_or("?", |block| block.name.as_str());
        fault(format!(
            "iterations {one} and {other} both touch cell {cell} of `{name}`, and one writes it"
        ))
    }
}

fn length(item: &Item) -> usize {
    match item {
        Item::Array { len, .. } => *len,
        Item::Plain(_) | Item::Tuple(_) => 0,
    }
}
