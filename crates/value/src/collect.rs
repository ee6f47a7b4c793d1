//! Arrays out of separate elements, whose sizes are found on the way.

use crate::{ArrayValue, DimType, ElementShape, Elements, ScalarType, ShapeError, Value, ValueType};

/// The shape of elements as far as it is known: an empty array says nothing about the size of its rows.
#[derive(Clone, PartialEq, Debug)]
enum PartialShape {
    Scalar(ScalarType),
    Vector(usize, ScalarType),
    Tuple(Vec<PartialShape>),
    Row(Option<usize>, Box<PartialShape>),
    Jagged(Box<PartialShape>),
    Boxed,
}

/// An element that does not fit the others.
#[derive(Clone, PartialEq, Debug)]
pub struct CollectError {
    /// Which element.
    pub index: usize,
    pub error: ShapeError,
}

/// The array of some elements of a type. Rows must have equal lengths unless the type says `?`; where there is no row
/// to see, the size comes from the type, or is 0.
pub fn collect(element: &ValueType, values: Vec<Value>) -> Result<ArrayValue, CollectError> {
    let mut shape = of_type(element);
    for (index, value) in values.iter().enumerate() {
        let seen = of_value(value, &shape);
        merge(&mut shape, &seen).map_err(|error| CollectError { index, error })?;
    }
    let mut array = ArrayValue::with_capacity(&complete(&shape), values.len());
    for (index, value) in values.into_iter().enumerate() {
        array.push(value).map_err(|error| CollectError { index, error })?;
    }
    Ok(array)
}

/// The shape of elements of a type, with 0 for sizes that are not in the type.
pub fn element_shape(element: &ValueType) -> ElementShape {
    complete(&of_type(element))
}

fn of_type(ty: &ValueType) -> PartialShape {
    match ty {
        ValueType::Scalar(scalar) => PartialShape::Scalar(*scalar),
        ValueType::Vector(width, scalar) => PartialShape::Vector(*width as usize, *scalar),
        ValueType::Tuple(components) => PartialShape::Tuple(components.iter().map(of_type).collect()),
        ValueType::Record(fields) => PartialShape::Tuple(fields.iter().map(|(_, f)| of_type(f)).collect()),
        ValueType::Array(DimType::Jagged, element) => PartialShape::Jagged(Box::new(of_type(element))),
        ValueType::Array(DimType::Known(size), element) => {
            PartialShape::Row(usize::try_from(*size).ok(), Box::new(of_type(element)))
        }
        ValueType::Array(_, element) => PartialShape::Row(None, Box::new(of_type(element))),
        ValueType::Sum(_) | ValueType::Recursive(_) => PartialShape::Boxed,
    }
}

/// The shape of a value, with `expected` saying what is jagged.
fn of_value(value: &Value, expected: &PartialShape) -> PartialShape {
    match (value, expected) {
        (Value::Scalar(scalar), _) => PartialShape::Scalar(scalar.ty()),
        (Value::Vector(lanes), _) => {
            let ty = lanes.first().map_or(ScalarType::F32, |lane| lane.ty());
            PartialShape::Vector(lanes.len(), ty)
        }
        (Value::Tuple(fields), PartialShape::Tuple(components)) if fields.len() == components.len() => {
            let shapes = fields.iter().zip(components).map(|(f, c)| of_value(f, c));
            PartialShape::Tuple(shapes.collect())
        }
        (Value::Tuple(fields), _) => {
            PartialShape::Tuple(fields.iter().map(|f| of_value(f, &PartialShape::Boxed)).collect())
        }
        (Value::Array(array), PartialShape::Jagged(_)) => PartialShape::Jagged(Box::new(of_elements(array))),
        (Value::Array(array), _) => PartialShape::Row(Some(array.len), Box::new(of_elements(array))),
        (Value::Sum(_) | Value::Datum(_), _) => PartialShape::Boxed,
    }
}

fn of_elements(array: &ArrayValue) -> PartialShape {
    match &array.elements {
        Elements::Scalars(buffer) => PartialShape::Scalar(buffer.ty()),
        Elements::Vectors { width, lanes } => PartialShape::Vector(*width, lanes.ty()),
        Elements::Tuples(components) => PartialShape::Tuple(
            components
                .iter()
                .map(|component| of_elements(component))
                .collect(),
        ),
        Elements::Rows { row, inner } => {
            let known = (array.len > 0 || *row > 0).then_some(*row);
            PartialShape::Row(known, Box::new(of_elements(inner)))
        }
        Elements::Jagged { inner, .. } => PartialShape::Jagged(Box::new(of_elements(inner))),
        Elements::Boxed(_) => PartialShape::Boxed,
    }
}

fn merge(shape: &mut PartialShape, seen: &PartialShape) -> Result<(), ShapeError> {
    match (&mut *shape, seen) {
        (PartialShape::Tuple(a), PartialShape::Tuple(b)) if a.len() == b.len() => {
            a.iter_mut().zip(b).try_for_each(|(a, b)| merge(a, b))
        }
        (PartialShape::Jagged(a), PartialShape::Jagged(b) | PartialShape::Row(_, b)) => merge(a, b),
        (PartialShape::Row(size, a), PartialShape::Row(other, b)) => {
            if let (Some(expected), Some(found)) = (*size, *other)
                && expected != found
            {
                let rows = |count: usize| match count {
                    1 => "a row of 1 element".to_owned(),
                    _ => format!("a row of {count} elements"),
                };
                return Err(ShapeError {
                    expected: rows(expected),
                    found: rows(found),
                });
            }
            *size = size.or(*other);
            merge(a, b)
        }
        (a, b) if *a == *b => Ok(()),
        (a, b) => Err(ShapeError {
            expected: complete(a).to_string(),
            found: complete(b).to_string(),
        }),
    }
}

fn complete(shape: &PartialShape) -> ElementShape {
    match shape {
        PartialShape::Scalar(ty) => ElementShape::Scalar(*ty),
        PartialShape::Vector(width, ty) => ElementShape::Vector(*width, *ty),
        PartialShape::Tuple(components) => ElementShape::Tuple(components.iter().map(complete).collect()),
        PartialShape::Row(size, element) => ElementShape::Row(size.unwrap_or(0), Box::new(complete(element))),
        PartialShape::Jagged(element) => ElementShape::Jagged(Box::new(complete(element))),
        PartialShape::Boxed => ElementShape::Boxed,
    }
}
