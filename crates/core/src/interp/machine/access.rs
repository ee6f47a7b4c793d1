//! Elements of arrays into registers.

use super::Slot;
use crate::interp::code::{Output, PathStep};
use almach_value::{ArrayValue, Elements, Value};

/// Writes an element to registers; false where it is not there or does not fit.
pub(super) fn element_into(
    array: &ArrayValue,
    at: usize,
    to: &Output,
    scalars: &mut [u64],
    boxed: &mut [Slot],
) -> bool {
    match (&array.elements, to) {
        (_, Output::Ignored) => at < array.len,
        (Elements::Scalars(buffer), Output::Scalar(reg)) => match buffer.get_raw(at) {
            Some(raw) => {
                scalars[reg.0 as usize] = raw;
                true
            }
            None => false,
        },
        (Elements::Vectors { width, lanes }, Output::Lanes(regs)) if *width == regs.len() => regs
            .iter()
            .enumerate()
            .all(|(lane, reg)| match lanes.get_raw(at * *width + lane) {
                Some(raw) => {
                    scalars[reg.0 as usize] = raw;
                    true
                }
                None => false,
            }),
        (Elements::Tuples(parts), Output::Tuple(outputs)) if parts.len() == outputs.len() => parts
            .iter()
            .zip(outputs)
            .all(|(part, output)| element_into(part, at, output, scalars, boxed)),
        (Elements::Rows { .. } | Elements::Jagged { .. }, Output::Boxed(reg)) => match array.row(at) {
            Some(row) => {
                boxed[reg.0 as usize] = Slot::Value(Value::array(row));
                true
            }
            None => false,
        },
        (Elements::Boxed(values), to) => match values.get(at) {
            Some(value) => value_into(value, to, scalars, boxed),
            None => false,
        },
        _ => false,
    }
}

fn value_into(value: &Value, to: &Output, scalars: &mut [u64], boxed: &mut [Slot]) -> bool {
    match (value, to) {
        (_, Output::Ignored) => true,
        (Value::Scalar(scalar), Output::Scalar(reg)) => {
            scalars[reg.0 as usize] = scalar.to_raw();
            true
        }
        (Value::Vector(lanes), Output::Lanes(regs)) if lanes.len() == regs.len() => {
            for (reg, lane) in regs.iter().zip(lanes.iter()) {
                scalars[reg.0 as usize] = lane.to_raw();
            }
            true
        }
        (Value::Tuple(parts), Output::Tuple(outputs)) if parts.len() == outputs.len() => parts
            .iter()
            .zip(outputs)
            .all(|(part, output)| value_into(part, output, scalars, boxed)),
        (value, Output::Boxed(reg)) => {
            boxed[reg.0 as usize] = Slot::Value(value.clone());
            true
        }
        _ => false,
    }
}

/// The size of a dimension on a path into an array; none for a jagged one.
pub(super) fn size_at(array: &ArrayValue, path: &[PathStep]) -> Option<usize> {
    let mut array = array;
    let mut size = array.len;
    for step in path {
        match (step, &array.elements) {
            (PathStep::Part(part), Elements::Tuples(parts)) => array = parts.get(*part as usize)?,
            (PathStep::Row, Elements::Rows { row, inner }) => {
                size = *row;
                array = inner;
            }
            (PathStep::Row, Elements::Jagged { inner, .. }) => {
                size = usize::MAX;
                array = inner;
            }
            _ => return None,
        }
    }
    (size != usize::MAX).then_some(size)
}
