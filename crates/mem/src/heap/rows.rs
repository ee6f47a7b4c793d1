//! Rows of their own lengths in blocks: where they begin, and their elements.

use super::items::{Item, Kept, Place, Stored, shape, split};
use super::store::lanes_of;
use super::{Bound, Ran, Run, fault};
use crate::ir::{Item as HeadItem, Kind, Storage};
use crate::leaves::{Leaf, leaves};
use almach_core::{Dim, Param, Size, Stmt, Type, Var};
use almach_value::{ArrayValue, Buffer, Elements, RowLengths, Scalar, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A place of rows, of constants.
#[derive(Clone, Debug)]
pub(super) struct RowsPlace {
    /// The lengths of the dimensions around the rows.
    pub dims: Vec<i64>,
    /// What is in a row.
    pub element: Type,
    pub segments: Place,
    /// Of the leaves of an array of all elements.
    pub elements: Vec<Stored>,
}

impl Stored {
    /// Everything that it has in blocks.
    pub(super) fn places(&self) -> Vec<&Place> {
        match self {
            Stored::Placed(place) => vec![place],
            Stored::Rows(rows) => {
                let elements = rows.elements.iter().flat_map(Stored::places);
                std::iter::once(&rows.segments).chain(elements).collect()
            }
            Stored::Kept(_) => Vec::new(),
        }
    }

    /// Whether both are in the same cells.
    pub(super) fn same(&self, other: &Stored) -> bool {
        let (a, b) = (self.places(), other.places());
        !a.is_empty() && a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.same(b))
    }

    /// The lengths of its dimensions; of rows of their own lengths, of those around them.
    pub(super) fn shape(&self) -> Vec<i64> {
        match self {
            Stored::Placed(place) => place.dims.iter().map(|dim| dim.0).collect(),
            Stored::Rows(rows) => rows.dims.clone(),
            Stored::Kept(kept) => shape(&kept.array),
        }
    }

    /// The leaves of all elements of rows of that type.
    fn elements(&self, element: &Type) -> Vec<Stored> {
        match self {
            Stored::Rows(rows) => rows.elements.clone(),
            Stored::Kept(kept) => jagged(&kept.array).map_or_else(Vec::new, |(_, inner)| {
                let kept = |array| Stored::Kept(Kept { array, guard: None });
                split(inner, element).into_iter().map(kept).collect()
            }),
            Stored::Placed(_) => Vec::new(),
        }
    }

    /// How many cells each block of its place has, and how many elements its rows have, in the order of the names.
    fn sizes(&self, leaf: &Leaf) -> Vec<i64> {
        let cells = |stored: &Stored| stored.shape().iter().product::<i64>();
        match leaf {
            Leaf::Cells { .. } => vec![cells(self)],
            Leaf::Rows { element, .. } => {
                let inner = self.elements(element);
                let total = inner.first().and_then(|leaf| leaf.shape().first().copied());
                let mut sizes = vec![cells(self) + 1, total.unwrap_or(0)];
                for (leaf, stored) in leaf.elements(&Size::one()).iter().zip(&inner) {
                    sizes.extend(stored.sizes(leaf));
                }
                sizes
            }
            Leaf::Held => Vec::new(),
        }
    }
}

/// Reads a leaf, of vectors where it has lanes.
type Reader<'r, R> = &'r mut dyn FnMut(&mut R, &Stored, Option<u32>) -> Ran<Arc<ArrayValue>>;

/// Where the rows of a leaf begin, and all their elements.
fn jagged(array: &ArrayValue) -> Option<(&RowLengths, &Arc<ArrayValue>)> {
    match &array.elements {
        Elements::Rows { inner, .. } => jagged(inner),
        Elements::Jagged { lengths, inner } => Some((lengths, inner)),
        Elements::Scalars(_) | Elements::Vectors { .. } | Elements::Tuples(_) | Elements::Boxed(_) => None,
    }
}

/// The names of a place's blocks, and of how many elements its rows have.
fn names(storage: &Storage) -> Vec<Option<Var>> {
    match storage {
        Storage::Placed(home) => vec![Some(home.block.clone())],
        Storage::Rows(rows) => {
            let total = rows.total().and_then(|total| total.as_var().cloned());
            let own = [Some(rows.segments.block.clone()), total];
            own.into_iter()
                .chain(rows.elements.iter().flat_map(names))
                .collect()
        }
        Storage::View | Storage::Held => Vec::new(),
    }
}

impl Run<'_> {
    /// The leaves of a variable's type, and where they are.
    pub(super) fn stored_leaves(&self, param: &Param) -> Vec<(Leaf, Storage)> {
        leaves(&param.ty)
            .into_iter()
            .zip(self.storage(&param.var))
            .collect()
    }

    /// Where a leaf is to be; `like` is what goes there.
    pub(super) fn stored_at(&self, leaf: &Leaf, storage: &Storage, like: &Stored) -> Ran<Option<Stored>> {
        Ok(match (storage, leaf) {
            (Storage::Placed(home), _) => Some(Stored::Placed(self.place(home)?)),
            (Storage::Rows(rows), Leaf::Rows { element, .. }) => {
                let inner = like.elements(element);
                let leaves = leaf.elements(&Size::one());
                let mut elements = Vec::new();
                for ((leaf, storage), like) in leaves.iter().zip(&rows.elements).zip(&inner) {
                    elements.extend(self.stored_at(leaf, storage, like)?);
                }
                Some(Stored::Rows(RowsPlace {
                    dims: like.shape(),
                    element: element.clone(),
                    segments: self.place(&rows.segments)?,
                    elements,
                }))
            }
            (Storage::Rows(_) | Storage::View | Storage::Held, _) => None,
        })
    }

    /// Writes a leaf to a place. How many cells that was.
    pub(super) fn write_stored(
        &mut self,
        to: &Stored,
        array: &ArrayValue,
        there: &HashSet<(usize, usize)>,
    ) -> Ran<u64> {
        match to {
            Stored::Placed(place) => self.write(place, array, there),
            Stored::Rows(rows) => {
                let Some((lengths, inner)) = jagged(array) else {
                    return fault("rows of one length in a place for others");
                };
                let offsets = lengths.offsets.iter().map(|offset| *offset as i64).collect();
                let segments = ArrayValue::scalars(Buffer::I64(offsets));
                let mut written = self.write(&rows.segments, &segments, there)?;
                for (leaf, to) in split(inner, &rows.element).iter().zip(&rows.elements) {
                    written += self.write_stored(to, leaf, there)?;
                }
                Ok(written)
            }
            Stored::Kept(_) => Ok(0),
        }
    }

    /// What is at a place of rows, by what reads a leaf of their elements.
    pub(super) fn rows_value(&mut self, rows: &RowsPlace, read: Reader<'_, Self>) -> Ran<ArrayValue> {
        let segments = read(self, &Stored::Placed(rows.segments.clone()), None)?;
        let mut offsets = Vec::new();
        for value in segments.values() {
            match value.as_scalar() {
                Some(Scalar::I64(offset)) if offset >= 0 => offsets.push(offset as usize),
                _ => return fault("rows begin where nothing is"),
            }
        }
        let mut elements = Vec::new();
        for (stored, lanes) in rows.elements.iter().zip(lanes_of(&rows.element)) {
            elements.push(read(self, stored, lanes)?);
        }
        let lengths = RowLengths { offsets };
        let Some(inner) = super::items::join(lengths.total(), &rows.element, &mut elements.into_iter())
        else {
            return fault("the elements of rows do not fit their type");
        };
        if inner.len != lengths.total() {
            return fault("rows end where their elements do not");
        }
        let mut array = ArrayValue {
            len: lengths.rows(),
            elements: Elements::Jagged {
                lengths,
                inner: Arc::new(inner),
            },
        };
        for row in rows.dims.iter().skip(1).rev() {
            let row = usize::try_from(*row).unwrap_or(0);
            array = ArrayValue {
                len: array.len.checked_div(row).unwrap_or(0),
                elements: Elements::Rows {
                    row,
                    inner: Arc::new(array),
                },
            };
        }
        array.len = rows.dims.first().map_or(array.len, |len| *len as usize);
        Ok(array)
    }

    /// One of the rows. Where rows have rows of their own, all are read for it.
    pub(super) fn row_of_rows(&mut self, rows: &RowsPlace, at: usize) -> Ran<Value> {
        let placed: Option<Vec<&Place>> = rows
            .elements
            .iter()
            .map(|stored| match stored {
                Stored::Placed(place) => Some(place),
                Stored::Rows(_) | Stored::Kept(_) => None,
            })
            .collect();
        let (Some(placed), [_]) = (placed, rows.dims.as_slice()) else {
            let array = self.leaf_value(&Stored::Rows(rows.clone()), None)?;
            return array
                .get(at)
                .map_or_else(|| fault("a row that does not exist"), Ok);
        };
        let bound = |run: &mut Self, at: usize| {
            let segments = rows.segments.index(at);
            match run.read_cell(segments.block, segments.offset)? {
                Scalar::I64(bound) => Ok(bound),
                _ => fault("rows begin where nothing is"),
            }
        };
        let (start, end) = (bound(self, at)?, bound(self, at + 1)?);
        let mut leaves = Vec::new();
        for place in placed {
            let mut row = place.index(usize::try_from(start).unwrap_or(0));
            row.dims = place.dims.clone();
            if let Some(dim) = row.dims.first_mut() {
                dim.0 = end - start;
            }
            leaves.push(Stored::Placed(row));
        }
        let len = usize::try_from(end - start).unwrap_or(0);
        let ty = Type::Array(Dim::Size(Size::zero()), Box::new(rows.element.clone()));
        self.value(&Item::Array { len, leaves }, &ty)
    }

    /// Rows go from one place to another, each part unless it is there.
    pub(super) fn moved_rows(&mut self, from: RowsPlace, to: RowsPlace) -> Ran<Stored> {
        let (segments, to_segments) = (from.segments, to.segments.clone());
        self.moved(Stored::Placed(segments), None, Some(Stored::Placed(to_segments)))?;
        let lanes = lanes_of(&from.element);
        for ((from, to), lanes) in from.elements.into_iter().zip(&to.elements).zip(lanes) {
            self.moved(from, lanes, Some(to.clone()))?;
        }
        Ok(Stored::Rows(to))
    }

    /// Makes the blocks, and finds the numbers, of those parts of a place that these items are.
    pub(super) fn make_parts(
        &mut self,
        leaf: &Leaf,
        storage: &Storage,
        stored: &Stored,
        kind: &dyn Fn(&Var) -> Option<Kind>,
    ) -> Ran<()> {
        for (name, size) in names(storage).into_iter().zip(stored.sizes(leaf)) {
            let Some(name) = name else { continue };
            match kind(&name) {
                Some(Kind::Block(element)) => {
                    let label = self.allocate(&name, element, size)?;
                    self.labels.insert(name, label);
                }
                Some(Kind::Integer) => self.bind(&name, Bound::Integer(size)),
                None => {}
            }
        }
        Ok(())
    }

    /// A parameter's names for the parts of a place stand for those of its argument.
    pub(super) fn name_parts(&mut self, storage: &Storage, stored: &Stored) {
        match (storage, stored) {
            (Storage::Placed(home), Stored::Placed(place)) => {
                self.labels.insert(home.block.clone(), place.block);
            }
            (Storage::Rows(rows), Stored::Rows(place)) => {
                self.labels
                    .insert(rows.segments.block.clone(), place.segments.block);
                let total = place
                    .elements
                    .first()
                    .and_then(|leaf| leaf.shape().first().copied());
                if let (Some(var), Some(total)) = (rows.total().and_then(|t| t.as_var().cloned()), total) {
                    self.bind(&var, Bound::Integer(total));
                }
                for (storage, stored) in rows.elements.iter().zip(&place.elements) {
                    self.name_parts(storage, stored);
                }
            }
            _ => {}
        }
    }

    /// How large what a statement is given without a block will be, by the names it has then.
    pub(super) fn found_sizes<'v>(
        &self,
        values: impl Iterator<Item = (&'v Param, &'v Item)>,
    ) -> HashMap<Var, i64> {
        let mut found = HashMap::new();
        for (param, item) in values {
            let mut stored = Vec::new();
            item.for_each_leaf(&mut |leaf| stored.push(leaf.clone()));
            for ((leaf, storage), stored) in self.stored_leaves(param).iter().zip(&stored) {
                if matches!(storage, Storage::Rows(_)) {
                    let names = names(storage).into_iter().zip(stored.sizes(leaf));
                    found.extend(names.filter_map(|(name, size)| Some((name?, size))));
                }
            }
        }
        found
    }

    /// The place of a function's result, which fills the blocks it is given.
    pub(super) fn filled(
        &mut self,
        leaf: &Leaf,
        stored: &Stored,
        (items, bound): (&mut std::slice::Iter<'_, HeadItem>, &mut Vec<Bound>),
    ) -> Ran<Option<Stored>> {
        let mut sizes = stored.sizes(leaf).into_iter();
        let mut parts = Vec::new();
        for item in items.by_ref().take(leaf.parts()) {
            let size = sizes.next().unwrap_or(0);
            parts.push(self.given(item, 0, &|_| Some(size))?);
        }
        bound.extend(parts.iter().copied());
        at_parts(leaf, stored, &mut parts.into_iter())
    }

    /// The blocks that a statement itself makes for a leaf.
    pub(super) fn makes(&self, stmt: &Stmt) -> HashMap<Var, Kind> {
        let items = self.items(stmt).into_iter();
        items
            .filter(|item| item.given.is_empty())
            .map(|item| (item.var, item.kind))
            .collect()
    }
}

fn at_parts(leaf: &Leaf, stored: &Stored, parts: &mut dyn Iterator<Item = Bound>) -> Ran<Option<Stored>> {
    let block = |parts: &mut dyn Iterator<Item = Bound>| match parts.next() {
        Some(Bound::Block(label)) => Ok(label),
        Some(Bound::Integer(_)) | None => fault("a result without a block"),
    };
    Ok(match leaf {
        Leaf::Cells { .. } => Some(Stored::Placed(Place::row_major(block(parts)?, &stored.shape()))),
        Leaf::Rows { element, .. } => {
            let dims = stored.shape();
            let segments = Place::row_major(block(parts)?, &[dims.iter().product::<i64>() + 1]);
            // How many elements there are is known from them.
            parts.next();
            let inner = stored.elements(element);
            let mut elements = Vec::new();
            for (leaf, stored) in leaf.elements(&Size::one()).iter().zip(&inner) {
                elements.extend(at_parts(leaf, stored, parts)?);
            }
            Some(Stored::Rows(RowsPlace {
                dims,
                element: element.clone(),
                segments,
                elements,
            }))
        }
        Leaf::Held => None,
    })
}
