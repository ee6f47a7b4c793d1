//! `gather`, `permute`, `scatter`.

use super::{Outcome, buffer, misshapen};
use crate::interp::Limits;
use crate::interp::error::FailKind;
use almach_value::{ArrayValue, Buffer, Elements, Failure, Value, same, with_buffer};
use std::sync::Arc;

/// The number of an index, whatever its integer type, and its position in an array where it is one.
struct Indices<'a> {
    buffer: &'a Buffer,
    len: usize,
}

impl<'a> Indices<'a> {
    fn new(indices: &'a ArrayValue, len: usize) -> Outcome<Indices<'a>> {
        Ok(Indices {
            buffer: buffer(indices)?,
            len,
        })
    }

    /// The position of every index; `None` for those outside.
    fn positions(&self) -> Vec<Option<usize>> {
        let len = self.len;
        let inside = |index: u64| usize::try_from(index).ok().filter(|at| *at < len);
        // Raw negative numbers are beyond every size.
        with_buffer!(self.buffer, v => v.iter().map(|index| inside(almach_value::raw::RawScalar::to_raw(*index))).collect())
    }

    fn number(&self, at: usize) -> i128 {
        let index = self.buffer.get(at).and_then(|index| index.as_integer());
        index.unwrap_or(0)
    }
}

pub(super) fn gather(indices: &ArrayValue, array: &ArrayValue, limits: &Limits) -> Outcome<Value> {
    limits.room_for(indices.len, &array.element_shape())?;
    let indices = Indices::new(indices, array.len)?;
    let mut positions = Vec::with_capacity(indices.buffer.len());
    for (at, position) in indices.positions().into_iter().enumerate() {
        match position {
            Some(position) => positions.push(position),
            None => {
                let values = [indices.number(at), array.len as i128];
                return Err(FailKind::failure(Failure::IndexOutOfBounds, values));
            }
        }
    }
    picked(array, &positions)
}

/// The elements at positions a loop found.
pub(super) fn select(positions: &ArrayValue, array: &ArrayValue) -> Outcome<Value> {
    match buffer(positions)? {
        Buffer::I64(found) => {
            let positions: Vec<usize> = found.iter().map(|at| *at as usize).collect();
            picked(array, &positions)
        }
        _ => Err(FailKind::bug("positions are i64")),
    }
}

fn picked(array: &ArrayValue, positions: &[usize]) -> Outcome<Value> {
    array
        .gather(positions)
        .map(Value::array)
        .ok_or_else(|| FailKind::bug("a position outside its array"))
}

/// `y[is[i]] = xs[i]`.
pub(super) fn permute(indices: &ArrayValue, array: &ArrayValue) -> Outcome<Value> {
    let found = Indices::new(indices, array.len)?;
    let mut sources: Vec<Option<usize>> = vec![None; array.len];
    for (at, position) in found.positions().into_iter().enumerate() {
        let slot = position.and_then(|position| sources.get_mut(position));
        match slot {
            Some(slot @ None) => *slot = Some(at),
            Some(Some(_)) | None => {
                return Err(FailKind::failure(Failure::NotAPermutation, [found.number(at)]));
            }
        }
    }
    let sources: Option<Vec<usize>> = sources.into_iter().collect();
    let sources = sources.ok_or_else(|| FailKind::bug("`permute` of arrays of different sizes"))?;
    picked(array, &sources)
}

/// `dest` with `dest[is[i]] = xs[i]`; indices outside are ignored.
pub(super) fn scatter(
    mut dest: Arc<ArrayValue>,
    indices: &ArrayValue,
    values: &ArrayValue,
) -> Outcome<Value> {
    let found = Indices::new(indices, dest.len)?;
    let mut writers: Vec<Option<usize>> = vec![None; dest.len];
    let mut writes: Vec<(usize, usize)> = Vec::with_capacity(indices.len);
    for (from, position) in found.positions().into_iter().enumerate() {
        let Some((to, writer)) = position.and_then(|to| Some((to, writers.get_mut(to)?))) else {
            continue;
        };
        match *writer {
            None => {
                *writer = Some(from);
                writes.push((to, from));
            }
            Some(before) if same_elements(values, before, from) => {}
            Some(_) => return Err(FailKind::failure(Failure::ScatterConflict, [to as i128])),
        }
    }
    write(Arc::make_mut(&mut dest), values, &writes)?;
    Ok(Value::Array(dest))
}

/// Whether two elements of an array are the same value.
fn same_elements(array: &ArrayValue, left: usize, right: usize) -> bool {
    match &array.elements {
        Elements::Scalars(buffer) => match (buffer.get(left), buffer.get(right)) {
            (Some(left), Some(right)) => left.same(right),
            _ => false,
        },
        Elements::Tuples(parts) => parts.iter().all(|part| same_elements(part, left, right)),
        _ => match (array.get(left), array.get(right)) {
            (Some(left), Some(right)) => same(&left, &right),
            _ => false,
        },
    }
}

fn write(dest: &mut ArrayValue, values: &ArrayValue, writes: &[(usize, usize)]) -> Outcome<()> {
    match (&mut dest.elements, &values.elements) {
        (Elements::Scalars(to), Elements::Scalars(from)) if to.ty() == from.ty() => {
            for (at, source) in writes {
                let written = from.get_raw(*source).is_some_and(|raw| to.set_raw(*at, raw));
                if !written {
                    return Err(FailKind::bug("a write outside an array"));
                }
            }
            Ok(())
        }
        (Elements::Tuples(to), Elements::Tuples(from)) if to.len() == from.len() => to
            .iter_mut()
            .zip(from)
            .try_for_each(|(to, from)| write(Arc::make_mut(to), from, writes)),
        (Elements::Jagged { .. }, _) => rewrite_rows(dest, values, writes),
        _ => writes.iter().try_for_each(|(at, source)| {
            let value = values
                .get(*source)
                .ok_or_else(|| FailKind::bug("a write of nothing"))?;
            dest.set(*at, &value).map_err(misshapen)
        }),
    }
}

/// Rows of a jagged array may change their lengths, so the array is made anew.
fn rewrite_rows(dest: &mut ArrayValue, values: &ArrayValue, writes: &[(usize, usize)]) -> Outcome<()> {
    let mut rows: Vec<Value> = dest.values().collect();
    for (at, source) in writes {
        if let (Some(row), Some(value)) = (rows.get_mut(*at), values.get(*source)) {
            *row = value;
        }
    }
    *dest = ArrayValue::from_values(&dest.element_shape(), rows).map_err(misshapen)?;
    Ok(())
}
