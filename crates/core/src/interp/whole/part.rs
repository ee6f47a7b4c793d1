//! Slices, and updates of parts.

use super::{Outcome, misshapen};
use crate::interp::error::FailKind;
use almach_value::{ArrayValue, Elements, Failure, Value};
use std::sync::Arc;

/// One dimension of a slice.
#[derive(Clone, Copy, Debug)]
pub(in crate::interp) enum Part {
    At(i128),
    Slice { begin: i64, count: i64, step: i64 },
}

impl Part {
    /// The positions it takes of a dimension of a size; an error where one is outside.
    fn positions(self, len: usize) -> Outcome<Vec<usize>> {
        match self {
            Part::At(index) => match usize::try_from(index).ok().filter(|at| *at < len) {
                Some(at) => Ok(vec![at]),
                None => {
                    let values = [index, len as i128];
                    Err(FailKind::failure(Failure::IndexOutOfBounds, values))
                }
            },
            Part::Slice { begin, count, step } => {
                let count_checked = super::size(count)?;
                let outside = || {
                    let values = [begin.into(), count.into(), step.into(), len as i128];
                    FailKind::failure(Failure::SliceOutOfBounds, values)
                };
                let last = i128::from(begin) + (i128::from(count) - 1) * i128::from(step);
                let inside = |at: i128| at >= 0 && at < len as i128;
                if count > 0 && !(inside(begin.into()) && inside(last)) {
                    return Err(outside());
                }
                Ok((0..count_checked as i64)
                    .map(|at| (begin + at * step) as usize)
                    .collect())
            }
        }
    }
}

/// A part of an array, by its leading dimensions.
pub(in crate::interp) fn slice(array: &ArrayValue, parts: &[Part]) -> Outcome<Value> {
    let Some((first, others)) = parts.split_first() else {
        return Ok(Value::array(array.clone()));
    };
    let positions = first.positions(array.len)?;
    match first {
        Part::At(_) => {
            let at = positions.first().copied().unwrap_or(0);
            if others.is_empty() {
                return element(array, at);
            }
            let row = array.row(at).ok_or_else(no_rows)?;
            slice(&row, others)
        }
        Part::Slice { .. } => {
            let picked = array
                .gather(&positions)
                .ok_or_else(|| FailKind::bug("a position outside its array"))?;
            if others.is_empty() {
                return Ok(Value::array(picked));
            }
            slice_rows(&picked, others)
        }
    }
}

fn element(array: &ArrayValue, at: usize) -> Outcome<Value> {
    array
        .get(at)
        .ok_or_else(|| FailKind::bug("an element that is not there"))
}

fn no_rows() -> FailKind {
    FailKind::bug("more parts than dimensions")
}

/// The same part of every row. The parts are checked even where there is no row.
fn slice_rows(array: &ArrayValue, parts: &[Part]) -> Outcome<Value> {
    let Elements::Rows { row, inner } = &array.elements else {
        return Err(no_rows());
    };
    let (first, others) = parts.split_first().ok_or_else(no_rows)?;
    let within = first.positions(*row)?;
    let positions: Vec<usize> = (0..array.len)
        .flat_map(|at| within.iter().map(move |offset| at * row + offset))
        .collect();
    let picked = inner
        .gather(&positions)
        .ok_or_else(|| FailKind::bug("a position outside its array"))?;
    match first {
        Part::At(_) if others.is_empty() => Ok(Value::array(picked)),
        Part::At(_) => slice_rows(&picked, others),
        Part::Slice { .. } => {
            let inner = match others {
                [] => Arc::new(picked),
                others => match slice_rows(&picked, others)? {
                    Value::Array(array) => array,
                    _ => return Err(FailKind::bug("a slice that is no array")),
                },
            };
            ArrayValue::rows(array.len, within.len(), inner)
                .map(Value::array)
                .map_err(misshapen)
        }
    }
}

/// Writes a value to a part of an array.
pub(in crate::interp) fn update(array: &mut ArrayValue, parts: &[Part], value: Value) -> Outcome<()> {
    let Some((first, others)) = parts.split_first() else {
        match value {
            Value::Array(value) => *array = Arc::unwrap_or_clone(value),
            _ => return Err(FailKind::bug("an array becomes another thing")),
        }
        return Ok(());
    };
    let positions = first.positions(array.len)?;
    match (first, others) {
        (Part::At(_), _) => {
            let at = positions.first().copied().unwrap_or(0);
            update_at(array, at, others, value)
        }
        (Part::Slice { .. }, _) => {
            let Value::Array(values) = value else {
                return Err(FailKind::bug("a slice becomes what is no array"));
            };
            if values.len != positions.len() {
                let sizes = [positions.len() as i128, values.len as i128];
                return Err(FailKind::failure(Failure::SizeMismatch, sizes));
            }
            for (from, at) in positions.into_iter().enumerate() {
                let value = element(&values, from)?;
                update_at(array, at, others, value)?;
            }
            Ok(())
        }
    }
}

/// Writes to a part of one element.
fn update_at(array: &mut ArrayValue, at: usize, parts: &[Part], value: Value) -> Outcome<()> {
    if parts.is_empty() {
        return set(array, at, value);
    }
    // The last dimension is written where it lies; rows in between are not copied.
    let (start, len) = match array.row_range(at) {
        Some((_, range)) => (range.start, range.len()),
        None => return Err(no_rows()),
    };
    if let [part] = parts
        && let Elements::Rows { inner, .. } | Elements::Jagged { inner, .. } = &mut array.elements
    {
        let positions = part.positions(len)?;
        let inner = Arc::make_mut(inner);
        return match (part, value) {
            (Part::At(_), value) => {
                let at = positions.first().copied().unwrap_or(0);
                set(inner, start + at, value)
            }
            (Part::Slice { .. }, Value::Array(values)) if values.len == positions.len() => {
                for (from, at) in positions.into_iter().enumerate() {
                    set(inner, start + at, element(&values, from)?)?;
                }
                Ok(())
            }
            (Part::Slice { .. }, _) => Err(FailKind::bug("a slice becomes another thing")),
        };
    }
    let mut row = array.row(at).ok_or_else(no_rows)?;
    update(&mut row, parts, value)?;
    set(array, at, Value::array(row))
}

/// Writes one element. A row of a jagged array may change its length.
fn set(array: &mut ArrayValue, at: usize, value: Value) -> Outcome<()> {
    if let (Elements::Jagged { lengths, .. }, Value::Array(row)) = (&array.elements, &value)
        && lengths.range(at).is_some_and(|range| range.len() != row.len)
    {
        let mut rows: Vec<Value> = array.values().collect();
        if let Some(slot) = rows.get_mut(at) {
            *slot = value;
        }
        *array = ArrayValue::from_values(&array.element_shape(), rows).map_err(misshapen)?;
        return Ok(());
    }
    array.set(at, &value).map_err(misshapen)
}
