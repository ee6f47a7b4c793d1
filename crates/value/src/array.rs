//! Array values and what can be done with them as wholes.

use crate::{Buffer, ScalarType, Value};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An array of `len` elements, by the type of its elements. Parts are shared, so that taking an array of tuples or
/// of rows apart (`unzip`, `join`) and putting it together (`zip`, `split`) copies nothing.
#[derive(Clone, Debug)]
pub struct ArrayValue {
    pub len: usize,
    pub elements: Elements,
}

/// How elements are held.
#[derive(Clone, Debug)]
pub enum Elements {
    Scalars(Buffer),
    /// `width` lanes per element, in order.
    Vectors {
        width: usize,
        lanes: Buffer,
    },
    /// One array of `len` per component. The empty tuple has no components.
    Tuples(Vec<Arc<ArrayValue>>),
    /// Regular rows: `inner.len == len * row`.
    Rows {
        row: usize,
        inner: Arc<ArrayValue>,
    },
    /// Rows of their own lengths: `lengths.len() == len`, `inner.len` is their sum.
    Jagged {
        lengths: RowLengths,
        inner: Arc<ArrayValue>,
    },
    /// Sums and recursive data.
    Boxed(Vec<Value>),
}

/// Offsets of jagged rows: `offsets[i]..offsets[i + 1]`, n + 1 of them, the first 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowLengths {
    pub offsets: Vec<usize>,
}

impl RowLengths {
    pub fn none() -> RowLengths {
        RowLengths { offsets: vec![0] }
    }

    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> RowLengths {
        let mut rows = RowLengths::none();
        for length in lengths {
            rows.push(length);
        }
        rows
    }

    pub fn push(&mut self, length: usize) {
        self.offsets.push(self.total() + length);
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The length of all rows together.
    pub fn total(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Where a row lies.
    pub fn range(&self, row: usize) -> Option<Range<usize>> {
        Some(*self.offsets.get(row)?..*self.offsets.get(row + 1)?)
    }
}

/// What the elements of an array look like, sizes included: enough to make an empty array that keeps its shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElementShape {
    Scalar(ScalarType),
    Vector(usize, ScalarType),
    Tuple(Vec<ElementShape>),
    Row(usize, Box<ElementShape>),
    Jagged(Box<ElementShape>),
    Boxed,
}

impl ElementShape {
    /// Bytes one element takes; what is boxed or jagged counts a word. Saturates.
    pub fn bytes(&self) -> usize {
        match self {
            ElementShape::Scalar(ty) => ty.bytes(),
            ElementShape::Vector(width, ty) => width.saturating_mul(ty.bytes()),
            ElementShape::Tuple(components) => components
                .iter()
                .fold(0, |sum: usize, component| sum.saturating_add(component.bytes())),
            ElementShape::Row(row, element) => row.saturating_mul(element.bytes()),
            ElementShape::Jagged(_) => 8,
            ElementShape::Boxed => size_of::<Value>(),
        }
    }
}

/// A value does not have the shape of an array's elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeError {
    pub expected: String,
    pub found: String,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl ArrayValue {
    pub fn scalars(buffer: Buffer) -> ArrayValue {
        ArrayValue {
            len: buffer.len(),
            elements: Elements::Scalars(buffer),
        }
    }

    /// An empty array whose elements will have a shape.
    pub fn empty(shape: &ElementShape) -> ArrayValue {
        ArrayValue::with_capacity(shape, 0)
    }

    pub fn with_capacity(shape: &ElementShape, capacity: usize) -> ArrayValue {
        let elements = match shape {
            ElementShape::Scalar(ty) => Elements::Scalars(Buffer::with_capacity(*ty, capacity)),
            ElementShape::Vector(width, ty) => Elements::Vectors {
                width: *width,
                lanes: Buffer::with_capacity(*ty, capacity.saturating_mul(*width)),
            },
            ElementShape::Tuple(components) => Elements::Tuples(
                components
                    .iter()
                    .map(|component| Arc::new(ArrayValue::with_capacity(component, capacity)))
                    .collect(),
            ),
            ElementShape::Row(row, element) => Elements::Rows {
                row: *row,
                inner: Arc::new(ArrayValue::with_capacity(element, capacity.saturating_mul(*row))),
            },
            ElementShape::Jagged(element) => Elements::Jagged {
                lengths: RowLengths::none(),
                inner: Arc::new(ArrayValue::empty(element)),
            },
            ElementShape::Boxed => Elements::Boxed(Vec::with_capacity(capacity)),
        };
        ArrayValue { len: 0, elements }
    }

    pub fn from_values(
        shape: &ElementShape,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<ArrayValue, ShapeError> {
        let mut array = ArrayValue::empty(shape);
        for value in values {
            array.push(value)?;
        }
        Ok(array)
    }

    /// Rows of equal length laid end to end, cut: `len` rows of `row` elements.
    pub fn rows(len: usize, row: usize, inner: Arc<ArrayValue>) -> Result<ArrayValue, ShapeError> {
        if len.checked_mul(row) != Some(inner.len) {
            return Err(ShapeError {
                expected: format!("{len} rows of {row}"),
                found: format!("{} elements", inner.len),
            });
        }
        Ok(ArrayValue {
            len,
            elements: Elements::Rows { row, inner },
        })
    }

    /// Rows of their own lengths laid end to end.
    pub fn jagged(lengths: RowLengths, inner: Arc<ArrayValue>) -> Result<ArrayValue, ShapeError> {
        if lengths.total() != inner.len {
            return Err(ShapeError {
                expected: format!("{} elements for the rows", lengths.total()),
                found: inner.len.to_string(),
            });
        }
        Ok(ArrayValue {
            len: lengths.rows(),
            elements: Elements::Jagged { lengths, inner },
        })
    }

    /// Component arrays of one length as an array of tuples. The length is given for the empty tuple.
    pub fn tuples(len: usize, components: Vec<Arc<ArrayValue>>) -> Result<ArrayValue, ShapeError> {
        if let Some(other) = components.iter().find(|component| component.len != len) {
            return Err(ShapeError {
                expected: format!("components of length {len}"),
                found: format!("one of length {}", other.len),
            });
        }
        Ok(ArrayValue {
            len,
            elements: Elements::Tuples(components),
        })
    }

    /// Bytes of an array of UTF-8.
    pub fn text(text: &str) -> ArrayValue {
        ArrayValue::scalars(Buffer::U8(text.as_bytes().to_vec()))
    }

    pub fn element_shape(&self) -> ElementShape {
        match &self.elements {
            Elements::Scalars(buffer) => ElementShape::Scalar(buffer.ty()),
            Elements::Vectors { width, lanes } => ElementShape::Vector(*width, lanes.ty()),
            Elements::Tuples(components) => {
                ElementShape::Tuple(components.iter().map(|c| c.element_shape()).collect())
            }
            Elements::Rows { row, inner } => ElementShape::Row(*row, Box::new(inner.element_shape())),
            Elements::Jagged { inner, .. } => ElementShape::Jagged(Box::new(inner.element_shape())),
            Elements::Boxed(_) => ElementShape::Boxed,
        }
    }

    /// Sizes of the leading dimensions, `None` for a jagged one.
    pub fn dimensions(&self) -> Vec<Option<usize>> {
        let mut dimensions = vec![Some(self.len)];
        let mut array = self;
        loop {
            array = match &array.elements {
                Elements::Rows { row, inner } => {
                    dimensions.push(Some(*row));
                    inner
                }
                Elements::Jagged { inner, .. } => {
                    dimensions.push(None);
                    inner
                }
                _ => return dimensions,
            };
        }
    }

    /// The scalars, where the elements are scalars.
    pub fn buffer(&self) -> Option<&Buffer> {
        match &self.elements {
            Elements::Scalars(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// An element as a value: a row of a nested array is an array.
    pub fn get(&self, at: usize) -> Option<Value> {
        if at >= self.len {
            return None;
        }
        Some(match &self.elements {
            Elements::Scalars(buffer) => Value::Scalar(buffer.get(at)?),
            Elements::Vectors { width, lanes } => {
                let range = at.checked_mul(*width)?..at.checked_add(1)?.checked_mul(*width)?;
                Value::vector(range.filter_map(|lane| lanes.get(lane)))
            }
            Elements::Tuples(components) => {
                let fields: Option<Vec<Value>> = components.iter().map(|c| c.get(at)).collect();
                Value::tuple(fields?)
            }
            Elements::Rows { .. } | Elements::Jagged { .. } => Value::array(self.row(at)?),
            Elements::Boxed(values) => values.get(at)?.clone(),
        })
    }

    /// A row of a nested array.
    pub fn row(&self, at: usize) -> Option<ArrayValue> {
        let (inner, range) = self.row_range(at)?;
        inner.slice(range)
    }

    /// Where a row of a nested array lies in the array of the next level.
    pub fn row_range(&self, at: usize) -> Option<(&Arc<ArrayValue>, Range<usize>)> {
        if at >= self.len {
            return None;
        }
        match &self.elements {
            Elements::Rows { row, inner } => {
                let start = at.checked_mul(*row)?;
                Some((inner, start..start.checked_add(*row)?))
            }
            Elements::Jagged { lengths, inner } => Some((inner, lengths.range(at)?)),
            _ => None,
        }
    }

    /// A contiguous part; none where it reaches outside.
    pub fn slice(&self, range: Range<usize>) -> Option<ArrayValue> {
        let mut part = ArrayValue::with_capacity(&self.element_shape(), range.len());
        part.append_range(self, range).ok()?;
        Some(part)
    }

    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.len).filter_map(|at| self.get(at))
    }

    fn mismatch(&self, found: &Value) -> ShapeError {
        ShapeError {
            expected: self.element_shape().to_string(),
            found: match found {
                Value::Array(array) => format!("[{}]{}", array.len, array.element_shape()),
                other => other.kind().to_owned(),
            },
        }
    }

    /// Appends an element.
    pub fn push(&mut self, value: Value) -> Result<(), ShapeError> {
        match (&mut self.elements, &value) {
            (Elements::Scalars(buffer), Value::Scalar(scalar)) if buffer.ty() == scalar.ty() => {
                buffer.push_raw(scalar.to_raw());
            }
            (Elements::Vectors { width, lanes }, Value::Vector(vector))
                if *width == vector.len() && vector.iter().all(|lane| lane.ty() == lanes.ty()) =>
            {
                for lane in vector.iter() {
                    lanes.push_raw(lane.to_raw());
                }
            }
            (Elements::Tuples(components), Value::Tuple(fields)) if components.len() == fields.len() => {
                for (component, field) in components.iter_mut().zip(fields.iter()) {
                    Arc::make_mut(component).push(field.clone())?;
                }
            }
            (Elements::Rows { row, inner }, Value::Array(array)) if array.len == *row => {
                Arc::make_mut(inner).append_range(array, 0..array.len)?;
            }
            (Elements::Jagged { lengths, inner }, Value::Array(array)) => {
                Arc::make_mut(inner).append_range(array, 0..array.len)?;
                lengths.push(array.len);
            }
            (Elements::Boxed(values), Value::Sum(_) | Value::Datum(_)) => values.push(value),
            _ => return Err(self.mismatch(&value)),
        }
        self.len += 1;
        Ok(())
    }

    /// Appends a part of an array with elements of the same shape.
    pub fn append_range(&mut self, other: &ArrayValue, range: Range<usize>) -> Result<(), ShapeError> {
        let error = |to: &ArrayValue| ShapeError {
            expected: to.element_shape().to_string(),
            found: format!("{} at {range:?} of {}", other.element_shape(), other.len),
        };
        if range.start > range.end || range.end > other.len {
            return Err(error(self));
        }
        if range.is_empty() {
            return Ok(());
        }
        match (&mut self.elements, &other.elements) {
            (Elements::Scalars(to), Elements::Scalars(from)) => {
                if !to.extend_from(from, range.clone()) {
                    return Err(error(self));
                }
            }
            (
                Elements::Vectors { width, lanes },
                Elements::Vectors {
                    width: other_width,
                    lanes: from,
                },
            ) if width == other_width => {
                if !lanes.extend_from(from, range.start * *width..range.end * *width) {
                    return Err(error(self));
                }
            }
            (Elements::Tuples(to), Elements::Tuples(from)) if to.len() == from.len() => {
                for (to, from) in to.iter_mut().zip(from) {
                    Arc::make_mut(to).append_range(from, range.clone())?;
                }
            }
            (
                Elements::Rows { row, inner },
                Elements::Rows {
                    row: other_row,
                    inner: from,
                },
            ) if row == other_row => {
                let row = *row;
                Arc::make_mut(inner).append_range(from, range.start * row..range.end * row)?;
            }
            (Elements::Jagged { lengths, inner }, Elements::Jagged { .. } | Elements::Rows { .. }) => {
                let inner = Arc::make_mut(inner);
                for at in range.clone() {
                    let Some((from, part)) = other.row_range(at) else {
                        return Err(error(self));
                    };
                    lengths.push(part.len());
                    inner.append_range(from, part)?;
                }
            }
            (Elements::Boxed(to), Elements::Boxed(from)) => match from.get(range.clone()) {
                Some(part) => to.extend_from_slice(part),
                None => return Err(error(self)),
            },
            _ => return Err(error(self)),
        }
        self.len += range.len();
        Ok(())
    }

    /// The elements at some positions, in that order; none where one is out of bounds.
    pub fn gather(&self, positions: &[usize]) -> Option<ArrayValue> {
        if positions.iter().any(|at| *at >= self.len) {
            return None;
        }
        let elements = match &self.elements {
            Elements::Scalars(buffer) => Elements::Scalars(buffer.gather(positions)?),
            Elements::Vectors { width, lanes } => Elements::Vectors {
                width: *width,
                lanes: lanes.gather(&widened(positions, *width))?,
            },
            Elements::Tuples(components) => {
                let parts: Option<Vec<_>> = components
                    .iter()
                    .map(|component| component.gather(positions).map(Arc::new))
                    .collect();
                Elements::Tuples(parts?)
            }
            Elements::Rows { row, inner } => Elements::Rows {
                row: *row,
                inner: Arc::new(inner.gather_ranges(positions.iter().map(|at| at * row..(at + 1) * row))?),
            },
            Elements::Jagged { lengths, inner } => {
                let ranges: Option<Vec<_>> = positions.iter().map(|at| lengths.range(*at)).collect();
                let ranges = ranges?;
                Elements::Jagged {
                    lengths: RowLengths::from_lengths(ranges.iter().map(|range| range.len())),
                    inner: Arc::new(inner.gather_ranges(ranges.into_iter())?),
                }
            }
            Elements::Boxed(values) => Elements::Boxed(
                positions
                    .iter()
                    .filter_map(|at| values.get(*at).cloned())
                    .collect(),
            ),
        };
        Some(ArrayValue {
            len: positions.len(),
            elements,
        })
    }

    fn gather_ranges(&self, ranges: impl Iterator<Item = Range<usize>>) -> Option<ArrayValue> {
        let mut result = ArrayValue::empty(&self.element_shape());
        for range in ranges {
            result.append_range(self, range).ok()?;
        }
        Some(result)
    }

    /// Writes one element in place. What is shared is copied first.
    pub fn set(&mut self, at: usize, value: &Value) -> Result<(), ShapeError> {
        if at >= self.len {
            return Err(ShapeError {
                expected: format!("a position below {}", self.len),
                found: at.to_string(),
            });
        }
        let done = match (&mut self.elements, value) {
            (Elements::Scalars(buffer), Value::Scalar(scalar)) if buffer.ty() == scalar.ty() => {
                buffer.set_raw(at, scalar.to_raw())
            }
            (Elements::Vectors { width, lanes }, Value::Vector(vector)) if *width == vector.len() => vector
                .iter()
                .enumerate()
                .all(|(lane, scalar)| lanes.set_raw(at * *width + lane, scalar.to_raw())),
            (Elements::Tuples(components), Value::Tuple(fields)) if components.len() == fields.len() => {
                for (component, field) in components.iter_mut().zip(fields.iter()) {
                    Arc::make_mut(component).set(at, field)?;
                }
                true
            }
            (Elements::Rows { row, inner }, Value::Array(array)) if array.len == *row => {
                let start = at * *row;
                Arc::make_mut(inner).overwrite(start, array)?;
                true
            }
            (Elements::Jagged { lengths, inner }, Value::Array(array)) => match lengths.range(at) {
                Some(range) if range.len() == array.len => {
                    Arc::make_mut(inner).overwrite(range.start, array)?;
                    true
                }
                _ => false,
            },
            (Elements::Boxed(values), Value::Sum(_) | Value::Datum(_)) => match values.get_mut(at) {
                Some(slot) => {
                    *slot = value.clone();
                    true
                }
                None => false,
            },
            _ => false,
        };
        if done { Ok(()) } else { Err(self.mismatch(value)) }
    }

    /// Overwrites the elements from `at` on with all elements of another array.
    pub fn overwrite(&mut self, at: usize, other: &ArrayValue) -> Result<(), ShapeError> {
        if let (Elements::Scalars(to), Elements::Scalars(from)) = (&mut self.elements, &other.elements)
            && to.overwrite(at, from)
        {
            return Ok(());
        }
        match (&mut self.elements, &other.elements) {
            (Elements::Tuples(to), Elements::Tuples(from)) if to.len() == from.len() => {
                for (to, from) in to.iter_mut().zip(from) {
                    Arc::make_mut(to).overwrite(at, from)?;
                }
                Ok(())
            }
            (
                Elements::Rows { row, inner },
                Elements::Rows {
                    row: other_row,
                    inner: from,
                },
            ) if row == other_row => {
                let start = at * *row;
                Arc::make_mut(inner).overwrite(start, from)
            }
            _ => other
                .values()
                .enumerate()
                .try_for_each(|(offset, value)| self.set(at + offset, &value)),
        }
    }

    pub fn concat(&self, other: &ArrayValue) -> Result<ArrayValue, ShapeError> {
        let mut result = ArrayValue::with_capacity(&self.element_shape(), self.len + other.len);
        result.append_range(self, 0..self.len)?;
        result.append_range(other, 0..other.len)?;
        Ok(result)
    }

    /// `count` times one element.
    pub fn replicate(shape: &ElementShape, count: usize, value: &Value) -> Result<ArrayValue, ShapeError> {
        if let (ElementShape::Scalar(ty), Value::Scalar(scalar)) = (shape, value)
            && *ty == scalar.ty()
        {
            return Ok(ArrayValue::scalars(Buffer::repeat(*scalar, count)));
        }
        let mut one = ArrayValue::empty(shape);
        one.push(value.clone())?;
        match one.gather(&vec![0; count]) {
            Some(array) => Ok(array),
            None => Err(one.mismatch(value)),
        }
    }
}

/// Positions of the lanes of vectors at some positions.
fn widened(positions: &[usize], width: usize) -> Vec<usize> {
    positions
        .iter()
        .flat_map(|at| at * width..(at + 1) * width)
        .collect()
}

impl fmt::Display for ElementShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementShape::Scalar(ty) => write!(f, "{ty}"),
            ElementShape::Vector(width, ty) => write!(f, "vec {width} {ty}"),
            ElementShape::Tuple(components) => {
                let texts: Vec<String> = components.iter().map(ElementShape::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
            ElementShape::Row(row, element) => write!(f, "[{row}]{element}"),
            ElementShape::Jagged(element) => write!(f, "[?]{element}"),
            ElementShape::Boxed => f.write_str("a value of a sum type"),
        }
    }
}
