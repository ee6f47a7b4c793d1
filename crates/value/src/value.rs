//! Values. Arrays are flat: one buffer per scalar component, whatever the nesting (an array of tuples is one array
//! per component, a regular nested array is one buffer, a jagged one has the lengths of its rows per level).

use crate::Scalar;
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

/// A recursive datum: a node of a table it shares, or a cell made by a constructor. Cells refer to other data by
/// sharing; only tables may be cyclic, and their references are positions, so reference counts free everything.
#[derive(Clone, Debug)]
pub enum Datum {
    Cell(Arc<Cell>),
    InTable { table: Arc<NodeTable>, at: usize },
}

/// What a constructor made. Dropping a long chain of cells must not recurse.
#[derive(Debug)]
pub struct Cell {
    pub constructor: u32,
    pub fields: Vec<Value>,
}

/// A system of equations: node values whose references are positions.
#[derive(Debug)]
pub struct NodeTable {
    pub nodes: Vec<SumValue>,
}

/// An array of `len` elements, by the type of its elements.
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
    Tuples(Vec<ArrayValue>),
    /// Regular rows: `inner.len == len * row`.
    Rows {
        row: usize,
        inner: Box<ArrayValue>,
    },
    /// Rows of their own lengths: `lengths.len() == len`, `inner.len` is their sum.
    Jagged {
        lengths: RowLengths,
        inner: Box<ArrayValue>,
    },
    /// Sums and recursive data.
    Boxed(Vec<Value>),
}

/// Offsets of jagged rows: `offsets[i]..offsets[i + 1]`, n + 1 of them, the first 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowLengths {
    pub offsets: Vec<usize>,
}

#[derive(Clone, Debug)]
pub enum Buffer {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
}

/// A value of a sum type: which constructor, and its fields.
#[derive(Clone, Debug)]
pub struct SumValue {
    pub constructor: u32,
    pub fields: Vec<Value>,
}
