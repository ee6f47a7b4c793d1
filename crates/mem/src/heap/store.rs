//! Cells: making blocks, reading and writing through places, and the values that come of it.

use super::items::{Item, Kept, Place, Stored, from_scalars, join, scalars};
use super::{Block, MAX_CELLS, Ran, Run, Stop, fault};
use crate::ir::Storage;
use crate::leaves::Leaf;
use almach_core::{Atom, Dim, Param, SlicePart, Stmt, Type, Var};
use almach_value::{ArrayValue, Elements, Scalar, ScalarType, Value, buffer_of};
use std::collections::HashSet;
use std::sync::Arc;

impl Run<'_> {
    pub(super) fn allocate(&mut self, block: &Var, element: ScalarType, cells: i64) -> Ran<usize> {
        // A size that is wrong is an error of the statement that makes the array; it will say so.
        let cells = cells.max(0);
        if cells > MAX_CELLS {
            return Err(Stop::Budget);
        }
        self.account.allocations += 1;
        self.holds_more(element, cells)?;
        self.heap.push(Block {
            name: block.to_string(),
            element,
            cells: vec![None; cells as usize],
            written: vec![0; cells as usize],
        });
        Ok(self.heap.len() - 1)
    }

    /// The cell, noted as read.
    pub(super) fn read_cell(&mut self, block: usize, cell: i64) -> Ran<Scalar> {
        let scalar = self.peek_cell(block, cell)?;
        if let Some(trace) = self.traces.last_mut() {
            trace.reads.insert((block, cell as usize));
        }
        Ok(scalar)
    }

    fn peek_cell(&self, block: usize, cell: i64) -> Ran<Scalar> {
        let Some(found) = self.heap.get(block) else {
            return fault("a block that does not exist");
        };
        let at = usize::try_from(cell).ok().and_then(|cell| found.cells.get(cell));
        match at {
            Some(Some(scalar)) => Ok(*scalar),
            Some(None) => fault(format!(
                "cell {cell} of `{}` is read, but nothing wrote it",
                found.name
            )),
            None => fault(format!(
                "cell {cell} of `{}` is read, which has {} cells",
                found.name,
                found.cells.len()
            )),
        }
    }

    fn write_cell(&mut self, block: usize, cell: i64, scalar: Scalar) -> Ran<()> {
        self.clock += 1;
        let Some(found) = self.heap.get_mut(block) else {
            return fault("a block that does not exist");
        };
        if scalar.ty() != found.element {
            return fault(format!(
                "a {} is written to `{}`, a block of {}",
                scalar.ty(),
                found.name,
                found.element
            ));
        }
        let at = usize::try_from(cell).ok().filter(|at| *at < found.cells.len());
        let Some(at) = at else {
            return fault(format!(
                "cell {cell} of `{}` is written, which has {} cells",
                found.name,
                found.cells.len()
            ));
        };
        if let (Some(slot), Some(time)) = (found.cells.get_mut(at), found.written.get_mut(at)) {
            *slot = Some(scalar);
            *time = self.clock;
        }
        if let Some(trace) = self.traces.last_mut() {
            trace.writes.insert((block, at));
        }
        Ok(())
    }

    /// Writes a leaf, but for cells that are right already. How many cells that was.
    pub(super) fn write(
        &mut self,
        place: &Place,
        leaf: &ArrayValue,
        there: &HashSet<(usize, usize)>,
    ) -> Ran<u64> {
        let Some(buffer) = scalars(leaf) else {
            return fault("what has no scalars is in no block");
        };
        let cells = place.cells();
        self.spend(cells.len())?;
        if cells.len() != buffer.len() {
            return fault(format!(
                "an array of {} cells has a place of {} in `{}`",
                buffer.len(),
                cells.len(),
                self.heap
                    .get(place.block)
                    .map_or("?", |block| block.name.as_str())
            ));
        }
        let mut written = 0;
        for (cell, scalar) in cells.into_iter().zip(buffer.iter()) {
            if !usize::try_from(cell).is_ok_and(|cell| there.contains(&(place.block, cell))) {
                self.write_cell(place.block, cell, scalar)?;
                written += 1;
            }
        }
        Ok(written)
    }

    /// A leaf's value, of the shape of its place.
    fn read(&mut self, place: &Place, lanes: Option<u32>) -> Ran<ArrayValue> {
        let cells = place.cells();
        self.spend(cells.len())?;
        let mut found = Vec::with_capacity(cells.len());
        for cell in cells {
            found.push(self.read_cell(place.block, cell)?);
        }
        self.assembled(place, lanes, found)
    }

    fn assembled(&self, place: &Place, lanes: Option<u32>, found: Vec<Scalar>) -> Ran<ArrayValue> {
        let element = self
            .heap
            .get(place.block)
            .map_or(ScalarType::I64, |block| block.element);
        let Some(buffer) = buffer_of(element, found) else {
            return fault("a block of mixed types");
        };
        let shape: Vec<i64> = place.dims.iter().map(|dim| dim.0).collect();
        Ok(from_scalars(&shape, lanes, buffer))
    }

    /// What is at a place, if it is to be compared with a value; nobody reads it.
    pub(super) fn read_silently(&mut self, stored: &Stored, like: &ArrayValue) -> Ran<Arc<ArrayValue>> {
        let lanes = match innermost(like) {
            Elements::Vectors { width, .. } => Some(*width as u32),
            _ => None,
        };
        self.peek(stored, lanes)
    }

    fn peek(&mut self, stored: &Stored, lanes: Option<u32>) -> Ran<Arc<ArrayValue>> {
        let place = match stored {
            Stored::Placed(place) => place,
            Stored::Rows(rows) => {
                let value = self.rows_value(rows, &mut |run, stored, lanes| run.peek(stored, lanes))?;
                return Ok(Arc::new(value));
            }
            Stored::Kept(kept) => return Ok(Arc::clone(&kept.array)),
        };
        let found: Ran<Vec<Scalar>> = place
            .cells()
            .into_iter()
            .map(|cell| self.peek_cell(place.block, cell))
            .collect();
        self.assembled(place, lanes, found?).map(Arc::new)
    }

    /// A leaf's value.
    pub(super) fn leaf_value(&mut self, stored: &Stored, lanes: Option<u32>) -> Ran<Arc<ArrayValue>> {
        match stored {
            Stored::Placed(place) => self.read(place, lanes).map(Arc::new),
            Stored::Rows(rows) => {
                let value = self.rows_value(rows, &mut |run, stored, lanes| run.leaf_value(stored, lanes))?;
                Ok(Arc::new(value))
            }
            Stored::Kept(Kept { array, guard }) => {
                self.spend(array.len)?;
                if let Some(guard) = guard {
                    for (block, cell) in &guard.cells {
                        let written = self.heap.get(*block).and_then(|block| block.written.get(*cell));
                        if written.is_some_and(|written| *written > guard.time) {
                            let name = self.heap.get(*block).map_or("?", |block| block.name.as_str());
                            return fault(format!(
                                "a view is used after cell {cell} of `{name}`, which it reads, was overwritten"
                            ));
                        }
                    }
                    if let Some(trace) = self.traces.last_mut() {
                        trace.reads.extend(guard.cells.iter().copied());
                    }
                }
                Ok(Arc::clone(array))
            }
        }
    }

    /// What an item is worth; what it reads is noted.
    pub(super) fn value(&mut self, item: &Item, ty: &Type) -> Ran<Value> {
        match (item, ty) {
            (Item::Plain(value), _) => Ok(value.clone()),
            (Item::Tuple(parts), Type::Tuple(types)) => {
                let parts: Ran<Vec<Value>> = parts
                    .iter()
                    .zip(types)
                    .map(|(part, ty)| self.value(part, ty))
                    .collect();
                Ok(Value::tuple(parts?))
            }
            (Item::Array { len, leaves }, Type::Array(_, element)) => {
                let lanes = lanes_of(element);
                let mut values = Vec::new();
                for (stored, lanes) in leaves.iter().zip(lanes) {
                    values.push(self.leaf_value(stored, lanes)?);
                }
                match join(*len, element, &mut values.into_iter()) {
                    Some(array) => Ok(Value::array(array)),
                    None => fault("an array's leaves do not fit its type"),
                }
            }
            _ => fault("a value does not fit its type"),
        }
    }

    pub(super) fn has_lanes(&self, array: &Atom) -> bool {
        match self.type_of(array) {
            Type::Array(_, element) => lanes_of(&element).iter().any(Option::is_some),
            _ => false,
        }
    }

    /// One element of an array, where it is.
    pub(super) fn row_of(&mut self, item: &Item, ty: &Type, at: usize) -> Ran<Item> {
        let (Item::Array { leaves, .. }, Type::Array(_, element)) = (item, ty) else {
            return fault("a row of what is no array");
        };
        let mut leaves = leaves.iter();
        self.element_of(element, &mut leaves, at)
    }

    fn row_of_leaf(&mut self, leaf: &Stored, at: usize) -> Ran<Stored> {
        let row_of = |array: &Arc<ArrayValue>| array.row(at).map_or_else(|| Arc::clone(array), Arc::new);
        Ok(match leaf {
            Stored::Placed(place) => Stored::Placed(place.index(at)),
            Stored::Rows(_) => Stored::Kept(Kept {
                array: row_of(&self.leaf_value(leaf, None)?),
                guard: None,
            }),
            Stored::Kept(Kept { array, guard }) => Stored::Kept(Kept {
                array: row_of(array),
                guard: guard.clone(),
            }),
        })
    }

    fn element_of(&mut self, ty: &Type, leaves: &mut std::slice::Iter<'_, Stored>, at: usize) -> Ran<Item> {
        match ty {
            Type::Tuple(parts) if !parts.is_empty() => {
                let parts: Ran<Vec<Item>> = parts
                    .iter()
                    .map(|part| self.element_of(part, leaves, at))
                    .collect();
                Ok(Item::Tuple(parts?))
            }
            Type::Array(Dim::Size(_), _) => {
                let count = crate::leaves::leaf_count(ty);
                let mut rows = Vec::new();
                let mut len = 0;
                for leaf in leaves.by_ref().take(count) {
                    let row = self.row_of_leaf(leaf, at)?;
                    len = row.shape().first().map_or(0, |len| *len as usize);
                    rows.push(row);
                }
                Ok(Item::Array { len, leaves: rows })
            }
            _ => match leaves.next() {
                Some(Stored::Placed(place)) => {
                    let place = place.index(at);
                    let mut scalars = Vec::new();
                    for cell in place.cells() {
                        scalars.push(self.read_cell(place.block, cell)?);
                    }
                    Ok(Item::Plain(match (ty, scalars.as_slice()) {
                        (Type::Vector(..), _) => Value::vector(scalars),
                        (_, [scalar]) => Value::Scalar(*scalar),
                        _ => return fault("a scalar of several cells"),
                    }))
                }
                Some(Stored::Rows(rows)) => {
                    let row = self.row_of_rows(rows, at)?;
                    Ok(super::items::keep(row, &opened(ty), None))
                }
                Some(kept @ Stored::Kept(_)) => {
                    let array = self.leaf_value(kept, None)?;
                    match array.get(at) {
                        Some(value) => Ok(super::items::keep(value, &opened(ty), None)),
                        None => fault("a row that does not exist"),
                    }
                }
                None => fault("an array's leaves do not fit its type"),
            },
        }
    }

    /// Moves an item to where it is to be, unless it is there.
    pub(super) fn arrive(&mut self, item: Item, ty: &Type, storage: &[Storage]) -> Ran<Item> {
        let leaves = crate::leaves::leaves(ty);
        let mut storage = leaves.iter().zip(storage);
        let mut destinations = |run: &mut Self, like: &Stored| match storage.next() {
            Some((leaf, storage)) => run.stored_at(leaf, storage, like),
            None => Ok(None),
        };
        self.arrive_at(item, ty, &mut destinations)
    }

    /// As [`Self::arrive`], with places that are known.
    pub(super) fn arrive_at(
        &mut self,
        item: Item,
        ty: &Type,
        destination: &mut dyn FnMut(&mut Self, &Stored) -> Ran<Option<Stored>>,
    ) -> Ran<Item> {
        match (item, ty) {
            (Item::Tuple(parts), Type::Tuple(types)) => {
                let parts = parts.into_iter().zip(types);
                let parts: Ran<Vec<Item>> = parts
                    .map(|(part, ty)| self.arrive_at(part, ty, destination))
                    .collect();
                Ok(Item::Tuple(parts?))
            }
            (Item::Array { len, leaves }, Type::Array(_, element)) => {
                let mut out = Vec::new();
                for (leaf, lanes) in leaves.into_iter().zip(lanes_of(element)) {
                    let to = destination(self, &leaf)?;
                    out.push(self.moved(leaf, lanes, to)?);
                }
                Ok(Item::Array { len, leaves: out })
            }
            (item, _) => Ok(item),
        }
    }

    pub(super) fn moved(&mut self, leaf: Stored, lanes: Option<u32>, to: Option<Stored>) -> Ran<Stored> {
        let Some(to) = to else {
            return match leaf {
                Stored::Placed(_) | Stored::Rows(_) => Ok(Stored::Kept(Kept {
                    array: self.leaf_value(&leaf, lanes)?,
                    guard: None,
                })),
                Stored::Kept(_) => Ok(leaf),
            };
        };
        let to = match (leaf.clone(), to) {
            (Stored::Rows(from), Stored::Rows(to)) => return self.moved_rows(from, to),
            (_, to) => to,
        };
        if leaf.same(&to) {
            return Ok(to);
        }
        let meet = |from: &&Place| to.places().into_iter().any(|to| super::overlap(from, to));
        if leaf.places().iter().any(meet) {
            return fault("a copy overlaps with where it goes");
        }
        let array = self.leaf_value(&leaf, lanes)?;
        let written = self.write_stored(&to, &array, &HashSet::new())?;
        // What is in no block is computed where it goes.
        if let (Stored::Placed(_), Stored::Placed(to)) = (&leaf, &to) {
            self.account.copied += self.bytes_in(to.block, written);
        }
        Ok(to)
    }

    /// A leaf that was kept goes to where its storage says.
    pub(super) fn moved_from(&mut self, leaf: &Leaf, storage: &Storage, stored: &Stored) -> Ran<Stored> {
        let to = self.stored_at(leaf, storage, stored)?;
        self.moved(stored.unguarded(), None, to)
    }

    /// Makes the blocks that a statement itself makes, now that the sizes of its value are known.
    pub(super) fn blocks_of_statement(&mut self, stmt: &Stmt, param: &Param, value: &Value) -> Ran<()> {
        let made = self.makes(stmt);
        if made.is_empty() {
            return Ok(());
        }
        let item = super::items::keep(value.clone(), &param.ty, None);
        let mut stored = Vec::new();
        item.for_each_leaf(&mut |leaf| stored.push(leaf.clone()));
        for ((leaf, storage), stored) in self.stored_leaves(param).iter().zip(&stored) {
            self.make_parts(leaf, storage, stored, &|var| made.get(var).copied())?;
        }
        Ok(())
    }

    pub(super) fn makes_block(&self, stmt: &Stmt) -> bool {
        let allocs = crate::ir::key(stmt).and_then(|key| self.program.memory.allocs.get(key));
        let own = self.items(stmt).iter().any(|item| item.given.is_empty());
        own || allocs.is_some_and(|allocs| {
            stmt.pattern.values.iter().any(|value| {
                let storage = self.storage(&value.var);
                storage.iter().any(|storage| {
                    storage
                        .home()
                        .is_some_and(|home| allocs.iter().any(|alloc| alloc.block == home.block))
                })
            })
        })
    }

    /// The part that a `with` writes is not in place, unless its new value is.
    pub(super) fn without_updated(
        &mut self,
        stmt: &Stmt,
        (array, parts, value): (&Atom, &[SlicePart], &Atom),
        there: &mut HashSet<(usize, usize)>,
    ) -> Ran<()> {
        let [param] = stmt.pattern.values.as_slice() else {
            return Ok(());
        };
        let values = {
            let item = self.atom(value)?;
            let mut places = Vec::new();
            item.for_each_leaf(&mut |leaf| places.push(leaf.clone()));
            places
        };
        let fixed = parts
            .iter()
            .filter(|part| matches!(part, SlicePart::At(_)))
            .count();
        let mut at = 0;
        let leaves = crate::leaves::leaves(&self.type_of(array));
        for (leaf, storage) in leaves.iter().zip(self.storage(&param.var)) {
            let Some(home) = storage.home() else {
                continue;
            };
            let Some(lmad) = crate::derive::slice_of(&home.lmad, parts, self.env) else {
                continue;
            };
            let place = self.place(&crate::ir::Home {
                block: home.block.clone(),
                lmad,
            })?;
            let in_place = match leaf {
                Leaf::Cells { dims, .. } if dims.len() > fixed => {
                    at += 1;
                    matches!(values.get(at - 1), Some(Stored::Placed(from)) if from.same(&place))
                }
                _ => false,
            };
            if !in_place {
                for cell in place.cells() {
                    there.remove(&(place.block, cell as usize));
                }
            }
        }
        Ok(())
    }
}

/// A jagged row is an array of some size.
fn opened(ty: &Type) -> Type {
    match ty {
        Type::Array(Dim::Jagged, element) => Type::array(almach_core::Size::zero(), (**element).clone()),
        other => other.clone(),
    }
}

/// Whether each leaf of an array of these elements is of vectors.
pub(super) fn lanes_of(element: &Type) -> Vec<Option<u32>> {
    let array = Type::array(almach_core::Size::one(), element.clone());
    let leaves = crate::leaves::leaves(&array);
    leaves
        .into_iter()
        .map(|leaf| match leaf {
            Leaf::Cells { lanes, .. } => lanes,
            Leaf::Rows { .. } | Leaf::Held => None,
        })
        .collect()
}

fn innermost(array: &ArrayValue) -> &Elements {
    match &array.elements {
        Elements::Rows { inner, .. } => innermost(inner),
        other => other,
    }
}
