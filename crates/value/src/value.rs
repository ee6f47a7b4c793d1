//! Values. Arrays are flat: one buffer per scalar component, whatever the nesting (an array of tuples is one array
//! per component, a regular nested array is one buffer, a jagged one has the lengths of its rows per level).

use crate::{ArrayValue, Datum, Scalar};
use std::sync::Arc;

/// A value without names: records are tuples here, constructors are numbers.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar(Scalar),
    /// `vec n t`.
    Vector(Arc<[Scalar]>),
    Tuple(Arc<[Value]>),
    Array(Arc<ArrayValue>),
    /// A value of a sum type that is not recursive, or a node value (`#C`) of one that is; a node value's references
    /// are `i64` positions in its table.
    Sum(Arc<SumValue>),
    /// A value of a recursive type.
    Datum(Datum),
}

/// A value of a sum type: which constructor, and its fields.
#[derive(Clone, Debug)]
pub struct SumValue {
    pub constructor: u32,
    pub fields: Vec<Value>,
}

impl Value {
    pub fn unit() -> Value {
        Value::tuple([])
    }

    pub fn tuple(components: impl IntoIterator<Item = Value>) -> Value {
        Value::Tuple(components.into_iter().collect())
    }

    pub fn vector(lanes: impl IntoIterator<Item = Scalar>) -> Value {
        Value::Vector(lanes.into_iter().collect())
    }

    pub fn array(array: ArrayValue) -> Value {
        Value::Array(Arc::new(array))
    }

    /// A value of a sum type that is not recursive, or a node value.
    pub fn sum(constructor: u32, fields: impl IntoIterator<Item = Value>) -> Value {
        Value::Sum(Arc::new(SumValue {
            constructor,
            fields: fields.into_iter().collect(),
        }))
    }

    /// What a constructor of a recursive type makes.
    pub fn cell(constructor: u32, fields: impl IntoIterator<Item = Value>) -> Value {
        Value::Datum(Datum::cell(constructor, fields.into_iter().collect()))
    }

    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Value::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&ArrayValue> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    pub fn as_tuple(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(components) => Some(components),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Scalar(Scalar::I64(value)) => Some(*value),
            _ => None,
        }
    }

    /// What kind of value it is, in words for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Scalar(scalar) => scalar.ty().name(),
            Value::Vector(_) => "a vector",
            Value::Tuple(_) => "a tuple",
            Value::Array(_) => "an array",
            Value::Sum(_) => "a value of a sum type",
            Value::Datum(_) => "a value of a recursive type",
        }
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Value {
        Value::Scalar(scalar)
    }
}

impl From<ArrayValue> for Value {
    fn from(array: ArrayValue) -> Value {
        Value::array(array)
    }
}

macro_rules! from_rust {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<$ty> for Scalar {
            fn from(value: $ty) -> Scalar {
                Scalar::$variant(value)
            }
        }

        impl From<$ty> for Value {
            fn from(value: $ty) -> Value {
                Value::Scalar(Scalar::$variant(value))
            }
        }

        impl From<Vec<$ty>> for Value {
            fn from(values: Vec<$ty>) -> Value {
                Value::array(ArrayValue::scalars(values.into()))
            }
        }
    )*};
}

from_rust!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, bool => Bool
);
