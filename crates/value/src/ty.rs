//! Types of values as the border sees them: with the names of records' fields and of constructors.

use crate::ScalarType;
use almach_base::Name;
use std::sync::Arc;

/// A type of values: monomorphic, without functions. Core erases records to tuples; this keeps the names, so that
/// values can be read and printed as the user wrote them.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueType {
    Scalar(ScalarType),
    /// `vec n t`.
    Vector(u32, ScalarType),
    /// `()` is the empty tuple.
    Tuple(Vec<ValueType>),
    Record(Vec<(Name, ValueType)>),
    Array(DimType, Box<ValueType>),
    Sum(Arc<SumType>),
    /// A reference to an enclosing [`SumType`] by name (recursive types).
    Recursive(Name),
}

/// One dimension of an array type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DimType {
    Known(i64),
    /// A size variable of the entry: equal names are equal sizes.
    Named(Name),
    /// An expression over named sizes, as text for messages; checked by the program itself.
    Expression(String),
    /// `[]` or the unknown size of a result.
    Unknown,
    /// `?`: each row has its own.
    Jagged,
}

/// A sum with its type arguments filled in. `name` is what the user would write: `Maybe f32`.
#[derive(Clone, PartialEq, Debug)]
pub struct SumType {
    pub name: Name,
    pub constructors: Vec<Constructor>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Constructor {
    pub name: Name,
    pub fields: Vec<ValueType>,
}
