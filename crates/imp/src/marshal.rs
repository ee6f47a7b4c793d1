//! Values as slots, and back (see [`crate::interface`]).

use crate::interface::{Entry, Shape, TAG};
use crate::marshal_data::{datum_of, no_datum, table_of};
use almach_value::{
    ArrayValue, Buffer, DimType, ElementShape, Elements, RowLengths, Scalar, ScalarType, Sizes, SumValue,
    Value, ValueType, buffer_of, conforms_with,
};
use std::fmt;
use std::sync::Arc;

/// The contents of one slot.
#[derive(Clone, Debug)]
pub enum Slot {
    Scalar(Scalar),
    Size(i64),
    Buffer(Buffer),
}

/// A value does not have the shape it should have, or slots do not make one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarshalError(pub String);

impl fmt::Display for MarshalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

type Marshal<T> = Result<T, MarshalError>;

fn wrong<T>(what: impl fmt::Display) -> Marshal<T> {
    Err(MarshalError(what.to_string()))
}

/// The slots of an entry's arguments.
pub fn arguments_to_slots(entry: &Entry, arguments: &[Value]) -> Marshal<Vec<Slot>> {
    if entry.params.len() != arguments.len() {
        let (wanted, found) = (entry.params.len(), arguments.len());
        return wrong(format!(
            "`{}` takes {wanted} arguments and gets {found}",
            entry.name
        ));
    }
    let mut sizes = Sizes::new();
    for (param, value) in entry.params.iter().zip(arguments) {
        conforms_with(value, &param.ty, &mut sizes).map_err(|error| MarshalError(error.to_string()))?;
    }
    let mut slots = Vec::new();
    for (param, value) in entry.params.iter().zip(arguments) {
        let first = slots.len();
        to_slots(value, &param.shape, &mut slots)?;
        let mut own = slots.iter_mut().skip(first);
        complete(&param.ty, &param.shape, &sizes, Around::Value, &mut own);
    }
    Ok(slots)
}

/// What a part of a value stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Value,
    Array,
    /// An array without elements: nothing tells the sizes of its rows.
    EmptyArray,
}

/// The rows of an empty array have the sizes that their names have elsewhere: `[]` is a `[0][m]t` for every `m`.
fn complete<'s>(
    ty: &ValueType,
    shape: &Shape,
    sizes: &Sizes,
    around: Around,
    slots: &mut impl Iterator<Item = &'s mut Slot>,
) {
    match (ty, shape) {
        (ValueType::Scalar(_), _) => {
            slots.next();
        }
        (ValueType::Vector(width, _), _) => {
            let count = if around == Around::Value {
                *width as usize
            } else {
                1
            };
            slots.by_ref().take(count).for_each(drop);
        }
        (ValueType::Tuple(types), Shape::Tuple(parts)) => types
            .iter()
            .zip(parts)
            .for_each(|(ty, part)| complete(ty, part, sizes, around, slots)),
        (ValueType::Record(fields), Shape::Tuple(parts)) => fields
            .iter()
            .zip(parts)
            .for_each(|((_, ty), part)| complete(ty, part, sizes, around, slots)),
        (ValueType::Array(dim, ty), Shape::Array(_, element)) => {
            let Some(Slot::Size(size)) = slots.next() else {
                return;
            };
            let known = match dim {
                DimType::Known(known) => Some(*known),
                DimType::Named(name) => sizes.get(name).copied(),
                DimType::Expression(_) | DimType::Unknown | DimType::Jagged => None,
            };
            if let (Around::EmptyArray, Some(known)) = (around, known) {
                *size = known;
            }
            let inside = around.of(*size);
            complete(ty, element, sizes, inside, slots);
        }
        (ValueType::Array(_, ty), Shape::Rows(element)) => {
            if around != Around::Value {
                slots.next();
            }
            let Some(Slot::Size(size)) = slots.next() else {
                return;
            };
            complete(ty, element, sizes, around.of(*size), slots);
        }
        (_, Shape::Datum(table, _)) => {
            let count = match around {
                Around::Value => table.slots().len(),
                Around::Array | Around::EmptyArray => table.slots_in_array().len(),
            };
            slots.by_ref().take(count).for_each(drop);
        }
        // Arrays in sums have sizes of their own.
        (ValueType::Sum(sum), Shape::Sum(constructors)) => {
            slots.next();
            let types = sum
                .constructors
                .iter()
                .flat_map(|constructor| &constructor.fields);
            types
                .zip(constructors.iter().flatten())
                .for_each(|(ty, field)| complete(ty, field, &Sizes::new(), around, slots));
        }
        _ => {}
    }
}

impl Around {
    /// What the elements of an array of that size stand in.
    fn of(self, size: i64) -> Around {
        match (self, size) {
            (Around::EmptyArray, _) | (_, 0) => Around::EmptyArray,
            _ => Around::Array,
        }
    }
}

/// The slots of a value.
pub fn to_slots(value: &Value, shape: &Shape, slots: &mut Vec<Slot>) -> Marshal<()> {
    match (shape, value) {
        (Shape::Scalar(_), Value::Scalar(scalar)) => slots.push(Slot::Scalar(*scalar)),
        (Shape::Vector(..), Value::Vector(lanes)) => {
            slots.extend(lanes.iter().map(|lane| Slot::Scalar(*lane)));
        }
        (Shape::Tuple(parts), Value::Tuple(values)) if parts.len() == values.len() => {
            for (part, value) in parts.iter().zip(values.iter()) {
                to_slots(value, part, slots)?;
            }
        }
        (Shape::Array(_, element) | Shape::Rows(element), Value::Array(array)) => {
            slots.push(Slot::Size(array.len as i64));
            elements_to_slots(array, element, slots)?;
        }
        (Shape::Sum(constructors), Value::Sum(sum)) => {
            slots.push(Slot::Scalar(Scalar::U32(sum.constructor)));
            for (at, fields) in constructors.iter().enumerate() {
                for (field_at, field) in fields.iter().enumerate() {
                    let value = field_or_zero(sum, at, field_at, field)?;
                    to_slots(&value, field, slots)?;
                }
            }
        }
        (Shape::Datum(table, references), value) => {
            to_slots(&table_of(value, references)?, table, slots)?;
        }
        (shape, value) => return wrong(format!("a {} where {shape:?} should be", value.kind())),
    }
    Ok(())
}

/// A field of a constructor; zero where the value has another.
fn field_or_zero(sum: &SumValue, constructor: usize, field: usize, shape: &Shape) -> Marshal<Value> {
    match (sum.constructor as usize == constructor, sum.fields.get(field)) {
        (true, Some(value)) => Ok(value.clone()),
        _ => zero(shape),
    }
}

fn zero(shape: &Shape) -> Marshal<Value> {
    Ok(match shape {
        Shape::Scalar(ty) => Value::Scalar(Scalar::zero(*ty)),
        Shape::Vector(width, ty) => Value::vector((0..*width).map(|_| Scalar::zero(*ty))),
        Shape::Tuple(parts) => Value::tuple(parts.iter().map(zero).collect::<Marshal<Vec<_>>>()?),
        Shape::Array(size, element) => {
            let element_shape = element_shape(element)?;
            let zeros = (0..size.unwrap_or(0)).map(|_| zero(element));
            let zeros = zeros.collect::<Marshal<Vec<Value>>>()?;
            match ArrayValue::from_values(&element_shape, zeros) {
                Ok(array) => Value::array(array),
                Err(error) => return wrong(error),
            }
        }
        Shape::Rows(element) => Value::array(ArrayValue::empty(&element_shape(element)?)),
        Shape::Datum(table, _) => no_datum(zero(table)?),
        Shape::Sum(constructors) => match constructors.first() {
            Some(fields) => Value::sum(0, fields.iter().map(zero).collect::<Marshal<Vec<_>>>()?),
            None => return wrong("a sum without constructors"),
        },
    })
}

fn elements_to_slots(array: &ArrayValue, shape: &Shape, slots: &mut Vec<Slot>) -> Marshal<()> {
    match (shape, &array.elements) {
        (Shape::Scalar(_), Elements::Scalars(buffer)) => slots.push(Slot::Buffer(buffer.clone())),
        (Shape::Vector(..), Elements::Vectors { lanes, .. }) => slots.push(Slot::Buffer(lanes.clone())),
        (Shape::Tuple(parts), Elements::Tuples(components)) if parts.len() == components.len() => {
            for (part, component) in parts.iter().zip(components) {
                elements_to_slots(component, part, slots)?;
            }
        }
        (Shape::Array(_, element), Elements::Rows { row, inner }) => {
            slots.push(Slot::Size(*row as i64));
            elements_to_slots(inner, element, slots)?;
        }
        (Shape::Rows(element), Elements::Rows { row, inner }) => {
            let offsets = (0..=array.len).map(|at| (at * row) as i64);
            rows_to_slots(offsets.collect(), inner, element, slots)?;
        }
        (Shape::Rows(element), Elements::Jagged { lengths, inner }) => {
            let offsets = lengths.offsets.iter().map(|offset| *offset as i64);
            rows_to_slots(offsets.collect(), inner, element, slots)?;
        }
        (Shape::Sum(constructors), Elements::Boxed(values)) => {
            sums_to_slots(values, constructors, slots)?;
        }
        (Shape::Datum(table, references), Elements::Boxed(data)) => {
            let tables = data.iter().map(|datum| table_of(datum, references));
            let tables = tables.collect::<Marshal<Vec<Value>>>()?;
            let tables = ArrayValue::from_values(&element_shape(table)?, tables)
                .map_err(|error| MarshalError(error.to_string()))?;
            elements_to_slots(&tables, table, slots)?;
        }
        (shape, _) => return wrong(format!("elements that are not {shape:?}")),
    }
    Ok(())
}

fn rows_to_slots(
    offsets: Vec<i64>,
    data: &ArrayValue,
    element: &Shape,
    slots: &mut Vec<Slot>,
) -> Marshal<()> {
    slots.push(Slot::Buffer(Buffer::from(offsets)));
    slots.push(Slot::Size(data.len as i64));
    elements_to_slots(data, element, slots)
}

fn sums_to_slots(values: &[Value], constructors: &[Vec<Shape>], slots: &mut Vec<Slot>) -> Marshal<()> {
    let mut sums = Vec::new();
    for value in values {
        match value {
            Value::Sum(sum) => sums.push(sum),
            other => return wrong(format!("a {} where a sum should be", other.kind())),
        }
    }
    let tags: Vec<u32> = sums.iter().map(|sum| sum.constructor).collect();
    slots.push(Slot::Buffer(Buffer::from(tags)));
    for (at, fields) in constructors.iter().enumerate() {
        for (field_at, field) in fields.iter().enumerate() {
            let column = sums.iter().map(|sum| field_or_zero(sum, at, field_at, field));
            let column = column.collect::<Marshal<Vec<Value>>>()?;
            let array = ArrayValue::from_values(&element_shape(field)?, column)
                .map_err(|error| MarshalError(error.to_string()))?;
            elements_to_slots(&array, field, slots)?;
        }
    }
    Ok(())
}

fn element_shape(shape: &Shape) -> Marshal<ElementShape> {
    Ok(match shape {
        Shape::Scalar(ty) => ElementShape::Scalar(*ty),
        Shape::Vector(width, ty) => ElementShape::Vector(*width as usize, *ty),
        Shape::Tuple(parts) => {
            ElementShape::Tuple(parts.iter().map(element_shape).collect::<Marshal<Vec<_>>>()?)
        }
        Shape::Array(size, element) => {
            let size = usize::try_from(size.unwrap_or(0)).unwrap_or(0);
            ElementShape::Row(size, Box::new(element_shape(element)?))
        }
        Shape::Rows(element) => ElementShape::Jagged(Box::new(element_shape(element)?)),
        Shape::Sum(_) | Shape::Datum(..) => ElementShape::Boxed,
    })
}

/// The value that slots make.
pub fn from_slots(shape: &Shape, slots: &mut impl Iterator<Item = Slot>) -> Marshal<Value> {
    Ok(match shape {
        Shape::Scalar(_) => Value::Scalar(scalar(slots)?),
        Shape::Vector(width, _) => {
            Value::vector((0..*width).map(|_| scalar(slots)).collect::<Marshal<Vec<_>>>()?)
        }
        Shape::Tuple(parts) => Value::tuple(
            parts
                .iter()
                .map(|part| from_slots(part, slots))
                .collect::<Marshal<Vec<_>>>()?,
        ),
        Shape::Array(_, element) | Shape::Rows(element) => {
            let len = size(slots)?;
            Value::array(elements_from_slots(len, element, &|_| true, slots)?)
        }
        Shape::Sum(constructors) => {
            let tag = scalar(slots)?;
            let mut columns = Vec::new();
            for fields in constructors {
                let fields = fields.iter().map(|field| from_slots(field, slots));
                columns.push(fields.collect::<Marshal<Vec<_>>>()?);
            }
            sum_value(tag, columns)?
        }
        Shape::Datum(table, references) => datum_of(from_slots(table, slots)?, references)?,
    })
}

fn sum_value(tag: Scalar, columns: Vec<Vec<Value>>) -> Marshal<Value> {
    let Scalar::U32(constructor) = tag else {
        return wrong("a constructor that is no number");
    };
    match columns.into_iter().nth(constructor as usize) {
        Some(fields) => Ok(Value::sum(constructor, fields)),
        None => wrong(format!("there is no constructor {constructor}")),
    }
}

fn scalar(slots: &mut impl Iterator<Item = Slot>) -> Marshal<Scalar> {
    match slots.next() {
        Some(Slot::Scalar(scalar)) => Ok(scalar),
        other => wrong(format!("{other:?} where a scalar should be")),
    }
}

fn size(slots: &mut impl Iterator<Item = Slot>) -> Marshal<usize> {
    match slots.next() {
        Some(Slot::Size(size)) => match usize::try_from(size) {
            Ok(size) => Ok(size),
            Err(_) => wrong("a negative size"),
        },
        other => wrong(format!("{other:?} where a size should be")),
    }
}

/// The elements of an array. Those that are not `present` are in constructors that were not chosen: what is in their place may
/// be anything, and no constructor's number.
fn elements_from_slots(
    len: usize,
    shape: &Shape,
    present: &dyn Fn(usize) -> bool,
    slots: &mut impl Iterator<Item = Slot>,
) -> Marshal<ArrayValue> {
    let made = match shape {
        Shape::Scalar(ty) => ArrayValue::scalars(buffer(*ty, len, slots)?),
        Shape::Vector(width, ty) => {
            let width = *width as usize;
            let lanes = buffer(*ty, len * width, slots)?;
            ArrayValue {
                len,
                elements: Elements::Vectors { width, lanes },
            }
        }
        Shape::Tuple(parts) => {
            let components = parts
                .iter()
                .map(|part| elements_from_slots(len, part, present, slots).map(Arc::new));
            let components = components.collect::<Marshal<Vec<_>>>()?;
            return ArrayValue::tuples(len, components).map_err(|error| MarshalError(error.to_string()));
        }
        Shape::Rows(element) => {
            let offsets = buffer(ScalarType::I64, len + 1, slots)?;
            let total = size(slots)?;
            let inner = elements_from_slots(total, element, &|_| true, slots)?;
            let Buffer::I64(offsets) = offsets else {
                return wrong("offsets that are no integers");
            };
            let offsets = offsets.into_iter().map(usize::try_from);
            let Ok(offsets) = offsets.collect::<Result<Vec<usize>, _>>() else {
                return wrong("a negative offset");
            };
            return ArrayValue::jagged(RowLengths { offsets }, Arc::new(inner))
                .map_err(|error| MarshalError(error.to_string()));
        }
        Shape::Array(_, element) => {
            let row = size(slots)?;
            let inner = elements_from_slots(len * row, element, &|at| present(at / row.max(1)), slots)?;
            return ArrayValue::rows(len, row, Arc::new(inner))
                .map_err(|error| MarshalError(error.to_string()));
        }
        Shape::Datum(table, references) => {
            let tables = elements_from_slots(len, table, present, slots)?;
            let data = tables.values().map(|table| datum_of(table, references));
            ArrayValue {
                len,
                elements: Elements::Boxed(data.collect::<Marshal<Vec<_>>>()?),
            }
        }
        Shape::Sum(constructors) => {
            let tags = buffer(TAG, len, slots)?;
            let mut columns = Vec::new();
            for (constructor, fields) in (0..).zip(constructors) {
                let chosen = |at: usize| present(at) && tags.get(at) == Some(Scalar::U32(constructor));
                let fields = fields
                    .iter()
                    .map(|field| elements_from_slots(len, field, &chosen, slots));
                columns.push(fields.collect::<Marshal<Vec<ArrayValue>>>()?);
            }
            let values = (0..len).map(|at| {
                let fields = columns.iter().map(|fields| {
                    let values = fields.iter().map(|field| match field.get(at) {
                        Some(value) => Ok(value),
                        None => wrong("a field that is not there"),
                    });
                    values.collect::<Marshal<Vec<Value>>>()
                });
                let fields = fields.collect::<Marshal<Vec<_>>>()?;
                match tags.get(at) {
                    Some(tag) if present(at) => sum_value(tag, fields),
                    Some(_) => sum_value(Scalar::zero(TAG), fields),
                    None => wrong("a constructor that is not there"),
                }
            });
            ArrayValue {
                len,
                elements: Elements::Boxed(values.collect::<Marshal<Vec<_>>>()?),
            }
        }
    };
    Ok(made)
}

fn buffer(ty: ScalarType, len: usize, slots: &mut impl Iterator<Item = Slot>) -> Marshal<Buffer> {
    match slots.next() {
        Some(Slot::Buffer(buffer)) if buffer.ty() == ty && buffer.len() == len => Ok(buffer),
        Some(Slot::Buffer(buffer)) => wrong(format!(
            "{} of {} where {len} of {ty} should be",
            buffer.len(),
            buffer.ty()
        )),
        other => wrong(format!("{other:?} where a buffer should be")),
    }
}

/// Scalars as a buffer.
pub fn buffer_from(ty: ScalarType, scalars: impl IntoIterator<Item = Scalar>) -> Marshal<Buffer> {
    match buffer_of(ty, scalars) {
        Some(buffer) => Ok(buffer),
        None => wrong("scalars of several types in one buffer"),
    }
}
