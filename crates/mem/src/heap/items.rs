//! What variables hold at run time, and arrays taken apart into leaves and put together again.

use super::rows::RowsPlace;
use almach_core::{Dim, Type};
use almach_value::{ArrayValue, Buffer, Elements, Scalar, Value};
use std::rc::Rc;
use std::sync::Arc;

/// What a variable holds.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// No array: a scalar, a vector, a datum.
    Plain(Value),
    Tuple(Vec<Item>),
    Array {
        len: usize,
        leaves: Vec<Stored>,
    },
}

/// Where a leaf is.
#[derive(Clone, Debug)]
pub(super) enum Stored {
    Placed(Place),
    Rows(RowsPlace),
    Kept(Kept),
}

impl Stored {
    /// A value that nothing can change.
    pub(super) fn unguarded(&self) -> Stored {
        match self {
            Stored::Kept(kept) => Stored::Kept(Kept {
                array: Arc::clone(&kept.array),
                guard: None,
            }),
            Stored::Placed(_) | Stored::Rows(_) => self.clone(),
        }
    }
}

/// A leaf outside of all blocks.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub array: Arc<ArrayValue>,
    /// Of a view: the cells it was computed from, which nobody may overwrite while it is in use.
    pub guard: Option<Rc<Guard>>,
}

#[derive(Debug)]
pub(super) struct Guard {
    pub time: u64,
    pub cells: Vec<(usize, usize)>,
}

/// A descriptor of constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub block: usize,
    pub offset: i64,
    /// Length and stride.
    pub dims: Vec<(i64, i64)>,
}

impl Place {
    pub(super) fn row_major(block: usize, shape: &[i64]) -> Place {
        let mut stride = 1;
        let mut dims: Vec<(i64, i64)> = shape
            .iter()
            .rev()
            .map(|length| {
                let dim = (*length, stride);
                stride *= length;
                dim
            })
            .collect();
        dims.reverse();
        Place {
            block,
            offset: 0,
            dims,
        }
    }

    pub(super) fn index(&self, at: usize) -> Place {
        let stride = self.dims.first().map_or(0, |dim| dim.1);
        Place {
            block: self.block,
            offset: self.offset + at as i64 * stride,
            dims: self.dims.iter().skip(1).copied().collect(),
        }
    }

    /// Cells in the order of the array's elements.
    pub(super) fn cells(&self) -> Vec<i64> {
        let mut cells = vec![self.offset];
        for (length, stride) in &self.dims {
            let mut next = Vec::with_capacity(cells.len() * usize::try_from(*length).unwrap_or(0));
            for cell in &cells {
                next.extend((0..*length).map(|at| cell + at * stride));
            }
            cells = next;
        }
        cells
    }

    /// Whether the elements of both are in the same cells.
    pub(super) fn same(&self, other: &Place) -> bool {
        self.block == other.block && (self == other || self.cells() == other.cells())
    }
}

/// The arrays of scalars (or of what is held elsewhere) that an array is made of.
pub(super) fn split(array: &Arc<ArrayValue>, element: &Type) -> Vec<Arc<ArrayValue>> {
    match (&array.elements, element) {
        (Elements::Tuples(parts), Type::Tuple(types)) if !types.is_empty() => parts
            .iter()
            .zip(types)
            .flat_map(|(part, ty)| split(part, ty))
            .collect(),
        (Elements::Rows { row, inner }, Type::Array(Dim::Size(_), element)) => split(inner, element)
            .into_iter()
            .map(|leaf| {
                Arc::new(ArrayValue {
                    len: array.len,
                    elements: Elements::Rows {
                        row: *row,
                        inner: leaf,
                    },
                })
            })
            .collect(),
        _ => vec![Arc::clone(array)],
    }
}

/// The inverse of [`split`].
pub(super) fn join(
    len: usize,
    element: &Type,
    leaves: &mut dyn Iterator<Item = Arc<ArrayValue>>,
) -> Option<ArrayValue> {
    match element {
        Type::Tuple(types) if !types.is_empty() => {
            let parts: Option<Vec<Arc<ArrayValue>>> = types
                .iter()
                .map(|ty| join(len, ty, leaves).map(Arc::new))
                .collect();
            Some(ArrayValue {
                len,
                elements: Elements::Tuples(parts?),
            })
        }
        Type::Array(Dim::Size(_), inner_type) => {
            let count = super::super::leaves::leaf_count(element);
            let mut row = 0;
            let mut inner = Vec::new();
            for leaf in leaves.take(count) {
                let Elements::Rows {
                    row: found,
                    inner: rows,
                } = &leaf.elements
                else {
                    return None;
                };
                row = *found;
                inner.push(Arc::clone(rows));
            }
            let inner = join(len * row, inner_type, &mut inner.into_iter())?;
            Some(ArrayValue {
                len,
                elements: Elements::Rows {
                    row,
                    inner: Arc::new(inner),
                },
            })
        }
        _ => leaves.next().map(|leaf| (*leaf).clone()),
    }
}

/// A leaf's scalars, in order of its elements.
pub(super) fn scalars(leaf: &ArrayValue) -> Option<&Buffer> {
    match &leaf.elements {
        Elements::Scalars(buffer) => Some(buffer),
        Elements::Vectors { lanes, .. } => Some(lanes),
        Elements::Rows { inner, .. } => scalars(inner),
        Elements::Tuples(_) | Elements::Jagged { .. } | Elements::Boxed(_) => None,
    }
}

/// The lengths of a leaf's dimensions, lanes included.
pub(super) fn shape(leaf: &ArrayValue) -> Vec<i64> {
    let mut out = vec![leaf.len as i64];
    let mut at = leaf;
    loop {
        match &at.elements {
            Elements::Rows { row, inner } => {
                out.push(*row as i64);
                at = inner;
            }
            Elements::Vectors { width, .. } => {
                out.push(*width as i64);
                return out;
            }
            _ => return out,
        }
    }
}

/// A leaf of that shape from its scalars.
pub(super) fn from_scalars(shape: &[i64], lanes: Option<u32>, buffer: Buffer) -> ArrayValue {
    let arrays = match lanes {
        Some(_) => shape.len().saturating_sub(1),
        None => shape.len(),
    };
    let sizes: Vec<usize> = shape
        .iter()
        .map(|size| usize::try_from(*size).unwrap_or(0))
        .collect();
    let total: usize = sizes.iter().take(arrays).product();
    let mut array = ArrayValue {
        len: total,
        elements: match lanes {
            Some(width) => Elements::Vectors {
                width: width as usize,
                lanes: buffer,
            },
            None => Elements::Scalars(buffer),
        },
    };
    for at in (1..arrays).rev() {
        let row = sizes.get(at).copied().unwrap_or(0);
        array = ArrayValue {
            len: sizes.iter().take(at).product(),
            elements: Elements::Rows {
                row,
                inner: Arc::new(array),
            },
        };
    }
    array
}

/// A value outside of all blocks.
pub(super) fn keep(value: Value, ty: &Type, guard: Option<&Rc<Guard>>) -> Item {
    match (value, ty) {
        (Value::Tuple(parts), Type::Tuple(types)) => {
            let parts = parts.iter().zip(types);
            Item::Tuple(parts.map(|(part, ty)| keep(part.clone(), ty, guard)).collect())
        }
        (Value::Array(array), Type::Array(Dim::Size(_), element)) => Item::Array {
            len: array.len,
            leaves: split(&array, element)
                .into_iter()
                .map(|array| {
                    Stored::Kept(Kept {
                        array,
                        guard: guard.cloned(),
                    })
                })
                .collect(),
        },
        (value, _) => Item::Plain(value),
    }
}

impl Item {
    pub(super) fn scalar(&self) -> Option<Scalar> {
        match self {
            Item::Plain(value) => value.as_scalar(),
            Item::Tuple(_) | Item::Array { .. } => None,
        }
    }

    pub(super) fn for_each_leaf<'i>(&'i self, visit: &mut dyn FnMut(&'i Stored)) {
        match self {
            Item::Plain(_) => {}
            Item::Tuple(parts) => parts.iter().for_each(|part| part.for_each_leaf(visit)),
            Item::Array { leaves, .. } => leaves.iter().for_each(visit),
        }
    }
}
