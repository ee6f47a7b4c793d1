//! Operations that make arrays or arrange their elements anew.

use super::{Outcome, misshapen, size};
use crate::interp::Limits;
use crate::interp::code::{S, Target, TargetDim};
use crate::interp::error::FailKind;
use almach_value::{ArrayValue, ElementShape, Elements, Failure, RowLengths, ScalarType, Value};
use std::sync::Arc;

/// The elements at some positions that are known to be inside.
pub(super) fn picked(array: &ArrayValue, positions: impl Iterator<Item = usize>) -> Outcome<Value> {
    let positions: Vec<usize> = positions.collect();
    array
        .gather(&positions)
        .map(Value::array)
        .ok_or_else(|| FailKind::bug("a position outside its array"))
}

/// From `begin` to before `end` by `step`.
pub(super) fn range(begin: i64, end: i64, step: i64, limits: &Limits) -> Outcome<Value> {
    let (from, to, by) = (i128::from(begin), i128::from(end), i128::from(step));
    let distance = match by {
        0 => return Err(FailKind::failure(Failure::ZeroStep, [])),
        1.. => to - from,
        _ => from - to,
    };
    let stride = by.abs();
    let count = if distance <= 0 {
        0
    } else {
        (distance + stride - 1) / stride
    };
    let out_of_memory = |_| FailKind::failure(Failure::OutOfMemory, [count]);
    let count = usize::try_from(count).map_err(out_of_memory)?;
    limits.room_for(count, &ElementShape::Scalar(ScalarType::I64))?;
    let numbers: Vec<i64> = (0..count as i64)
        .map(|at| begin.wrapping_add(at.wrapping_mul(step)))
        .collect();
    Ok(Value::from(numbers))
}

pub(super) fn replicate(count: i64, value: &Value, limits: &Limits) -> Outcome<Value> {
    let count = size(count)?;
    let shape = shape_of(value);
    limits.room_for(count, &shape)?;
    ArrayValue::replicate(&shape, count, value)
        .map(Value::array)
        .map_err(misshapen)
}

/// The shape of elements that look like a value.
fn shape_of(value: &Value) -> ElementShape {
    match value {
        Value::Scalar(scalar) => ElementShape::Scalar(scalar.ty()),
        Value::Vector(lanes) => {
            let ty = lanes.first().map_or(ScalarType::F32, |lane| lane.ty());
            ElementShape::Vector(lanes.len(), ty)
        }
        Value::Tuple(parts) => ElementShape::Tuple(parts.iter().map(shape_of).collect()),
        Value::Array(array) => ElementShape::Row(array.len, Box::new(array.element_shape())),
        Value::Sum(_) | Value::Datum(_) => ElementShape::Boxed,
    }
}

/// The first array grows in place where nobody else holds it.
pub(super) fn concat(mut left: Arc<ArrayValue>, right: &ArrayValue, limits: &Limits) -> Outcome<Value> {
    limits.room_for(left.len.saturating_add(right.len), &left.element_shape())?;
    if left.len == 0 {
        return Ok(Value::array(right.clone()));
    }
    Arc::make_mut(&mut left)
        .append_range(right, 0..right.len)
        .map_err(misshapen)?;
    Ok(Value::Array(left))
}

/// To the left; any distance.
pub(super) fn rotate(by: i64, array: &ArrayValue) -> Outcome<Value> {
    if array.len == 0 {
        return Ok(Value::array(array.clone()));
    }
    let first = by.rem_euclid(array.len as i64) as usize;
    let mut result = ArrayValue::with_capacity(&array.element_shape(), array.len);
    result.append_range(array, first..array.len).map_err(misshapen)?;
    result.append_range(array, 0..first).map_err(misshapen)?;
    Ok(Value::array(result))
}

pub(super) fn transpose(array: &ArrayValue) -> Outcome<Value> {
    let Elements::Rows { row, inner } = &array.elements else {
        return Err(FailKind::bug("`transpose` of what has no rows"));
    };
    let (rows, columns) = (array.len, *row);
    let positions = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    let positions: Vec<usize> = positions.collect();
    let inner = inner
        .gather(&positions)
        .ok_or_else(|| FailKind::bug("a position outside its array"))?;
    ArrayValue::rows(columns, rows, Arc::new(inner))
        .map(Value::array)
        .map_err(misshapen)
}

/// How many rows of a width there are; an error where the width does not divide.
fn divided(width: i64, len: usize) -> Outcome<(usize, usize)> {
    let not_divisible = || FailKind::failure(Failure::NotDivisible, [len as i128, width.into()]);
    let width = size(width)?;
    match len.checked_rem(width) {
        Some(0) => Ok((len / width, width)),
        Some(_) | None => Err(not_divisible()),
    }
}

pub(super) fn split(width: i64, array: Arc<ArrayValue>) -> Outcome<Value> {
    let (count, width) = divided(width, array.len)?;
    ArrayValue::rows(count, width, array)
        .map(Value::array)
        .map_err(misshapen)
}

/// Rows laid end to end, regular or jagged.
pub(super) fn join(array: &ArrayValue) -> Outcome<Value> {
    match &array.elements {
        Elements::Rows { inner, .. } | Elements::Jagged { inner, .. } => Ok(Value::Array(Arc::clone(inner))),
        _ => Err(FailKind::bug("`join` of what has no rows")),
    }
}

pub(super) fn slide(width: i64, step: i64, array: &ArrayValue, limits: &Limits) -> Outcome<Value> {
    let width = size(width)?;
    let step = match size(step)? {
        0 => return Err(FailKind::failure(Failure::ZeroStep, [])),
        step => step,
    };
    let count = match array.len.checked_sub(width) {
        Some(room) => room / step + 1,
        None => 0,
    };
    let shape = array.element_shape();
    limits.room_for(count.saturating_mul(width), &shape)?;
    let mut inner = ArrayValue::with_capacity(&shape, count * width);
    for window in 0..count {
        let start = window * step;
        inner
            .append_range(array, start..start + width)
            .map_err(misshapen)?;
    }
    ArrayValue::rows(count, width, Arc::new(inner))
        .map(Value::array)
        .map_err(misshapen)
}

pub(super) fn pad(
    left: i64,
    right: i64,
    value: &Value,
    array: &ArrayValue,
    limits: &Limits,
) -> Outcome<Value> {
    let (left, right) = (size(left)?, size(right)?);
    let shape = array.element_shape();
    let total = left.saturating_add(array.len).saturating_add(right);
    limits.room_for(total, &shape)?;
    let padding = |count: usize| ArrayValue::replicate(&shape, count, value).map_err(misshapen);
    let (before, after) = (padding(left)?, padding(right)?);
    around(&before, array, &after)
}

fn around(before: &ArrayValue, array: &ArrayValue, after: &ArrayValue) -> Outcome<Value> {
    let total = before.len + array.len + after.len;
    let mut result = ArrayValue::with_capacity(&array.element_shape(), total);
    for part in [before, array, after] {
        result.append_range(part, 0..part.len).map_err(misshapen)?;
    }
    Ok(Value::array(result))
}

pub(super) fn pad_edge(left: i64, right: i64, array: &ArrayValue, limits: &Limits) -> Outcome<Value> {
    let (left, right) = (size(left)?, size(right)?);
    let Some(last) = array.len.checked_sub(1) else {
        return Err(FailKind::failure(Failure::EmptyArray, []));
    };
    let total = left.saturating_add(array.len).saturating_add(right);
    limits.room_for(total, &array.element_shape())?;
    let positions = std::iter::repeat_n(0, left)
        .chain(0..array.len)
        .chain(std::iter::repeat_n(last, right));
    picked(array, positions)
}

/// A slice that begins at 0 or ends at the end.
fn cut(array: &ArrayValue, count: i64, first: usize, last: usize) -> Outcome<Value> {
    match array.slice(first..last) {
        Some(part) if first <= last => Ok(Value::array(part)),
        _ => Err(FailKind::failure(
            Failure::TooFewElements,
            [array.len as i128, count.into()],
        )),
    }
}

pub(super) fn take(count: i64, array: &ArrayValue) -> Outcome<Value> {
    cut(array, count, 0, size(count)?)
}

pub(super) fn drop_first(count: i64, array: &ArrayValue) -> Outcome<Value> {
    cut(array, count, size(count)?, array.len)
}

pub(super) fn unflatten(offsets: &ArrayValue, array: Arc<ArrayValue>) -> Outcome<Value> {
    let bad = || FailKind::failure(Failure::BadOffsets, []);
    let almach_value::Buffer::I64(found) = super::buffer(offsets)? else {
        return Err(FailKind::bug("offsets are i64"));
    };
    let increasing = found.iter().zip(found.iter().skip(1)).all(|(a, b)| a <= b);
    let ends = (found.first().copied(), found.last().copied());
    let (Some(0), Some(end)) = ends else {
        return Err(bad());
    };
    if !increasing || usize::try_from(end) != Ok(array.len) {
        return Err(bad());
    }
    let lengths = RowLengths {
        offsets: found.iter().map(|offset| *offset as usize).collect(),
    };
    ArrayValue::jagged(lengths, array)
        .map(Value::array)
        .map_err(misshapen)
}

pub(super) fn segments(array: &ArrayValue) -> Outcome<Value> {
    match &array.elements {
        Elements::Jagged { lengths, .. } => {
            let offsets: Vec<i64> = lengths.offsets.iter().map(|offset| *offset as i64).collect();
            Ok(Value::from(offsets))
        }
        _ => Err(FailKind::bug("`segments` of what has no jagged rows")),
    }
}

/// Regular rows as jagged ones.
pub(super) fn jagged(array: &ArrayValue) -> Outcome<ArrayValue> {
    match &array.elements {
        Elements::Rows { row, inner } => {
            let lengths = RowLengths {
                offsets: (0..=array.len).map(|at| at * row).collect(),
            };
            ArrayValue::jagged(lengths, Arc::clone(inner)).map_err(misshapen)
        }
        Elements::Jagged { .. } => Ok(array.clone()),
        _ => Err(FailKind::bug("`jagged` of what has no rows")),
    }
}

pub(super) fn as_vector(width: i64, array: &ArrayValue) -> Outcome<Value> {
    let (len, width) = divided(width, array.len)?;
    Ok(Value::array(ArrayValue {
        len,
        elements: Elements::Vectors {
            width,
            lanes: super::buffer(array)?.clone(),
        },
    }))
}

pub(super) fn as_scalar(array: &ArrayValue) -> Outcome<Value> {
    match &array.elements {
        Elements::Vectors { lanes, .. } => Ok(Value::array(ArrayValue::scalars(lanes.clone()))),
        _ => Err(FailKind::bug("`asScalar` of what are no vectors")),
    }
}

/// A type to coerce to, with its sizes known.
#[derive(Clone, Debug)]
pub(in crate::interp) enum Resolved {
    Same,
    Tuple(Vec<Resolved>),
    Array(Option<i64>, Box<Resolved>),
}

pub(in crate::interp) fn resolve(target: &Target, read: &impl Fn(S) -> i64) -> Resolved {
    match target {
        Target::Same => Resolved::Same,
        Target::Tuple(parts) => Resolved::Tuple(parts.iter().map(|part| resolve(part, read)).collect()),
        Target::Array(dim, element) => {
            let size = match dim {
                TargetDim::Size(reg) => Some(read(*reg)),
                TargetDim::Jagged => None,
            };
            Resolved::Array(size, Box::new(resolve(element, read)))
        }
    }
}

fn expect_size(expected: i64, found: usize) -> Outcome<()> {
    if usize::try_from(expected) == Ok(found) {
        return Ok(());
    }
    Err(FailKind::failure(
        Failure::SizeMismatch,
        [expected.into(), found as i128],
    ))
}

/// The same array at another type: sizes are checked, rows become jagged or regular.
pub(in crate::interp) fn coerce(array: Arc<ArrayValue>, target: &Resolved) -> Outcome<Arc<ArrayValue>> {
    let Resolved::Array(size, element) = target else {
        return Ok(array);
    };
    if let Some(size) = size {
        expect_size(*size, array.len)?;
    }
    coerce_elements(array, element)
}

fn coerce_elements(array: Arc<ArrayValue>, element: &Resolved) -> Outcome<Arc<ArrayValue>> {
    let len = array.len;
    let elements = match (element, &array.elements) {
        (Resolved::Same, _) => return Ok(array),
        (Resolved::Tuple(parts), Elements::Tuples(arrays)) if parts.len() == arrays.len() => {
            let arrays: Outcome<Vec<_>> = arrays
                .iter()
                .zip(parts)
                .map(|(array, part)| coerce_elements(Arc::clone(array), part))
                .collect();
            Elements::Tuples(arrays?)
        }
        (Resolved::Array(Some(expected), element), Elements::Rows { row, inner }) => {
            // Rows that are not there have whatever size is wanted.
            let row = match (len, usize::try_from(*expected)) {
                (0, Ok(expected)) => expected,
                _ => {
                    expect_size(*expected, *row)?;
                    *row
                }
            };
            let inner = coerce_elements(Arc::clone(inner), element)?;
            Elements::Rows { row, inner }
        }
        (Resolved::Array(Some(expected), element), Elements::Jagged { lengths, inner }) => {
            for at in 0..len {
                let found = lengths.range(at).map_or(0, |range| range.len());
                expect_size(*expected, found)?;
            }
            Elements::Rows {
                row: size(*expected)?,
                inner: coerce_elements(Arc::clone(inner), element)?,
            }
        }
        (Resolved::Array(None, element), Elements::Rows { .. } | Elements::Jagged { .. }) => {
            match jagged(&array)?.elements {
                Elements::Jagged { lengths, inner } => Elements::Jagged {
                    lengths,
                    inner: coerce_elements(inner, element)?,
                },
                _ => return Err(FailKind::bug("jagged rows that are none")),
            }
        }
        _ => return Err(FailKind::bug("a coercion to another kind of type")),
    };
    Ok(Arc::new(ArrayValue { len, elements }))
}
