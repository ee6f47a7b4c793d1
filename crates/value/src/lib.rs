//! Values of the language, their types at the border (entry points, files, the terminal), and the meaning of the
//! scalar operators. Every interpreter and every printer uses these, so that there is one definition of each.

pub mod ops;
pub mod scalar;
pub mod ty;
pub mod value;

pub use ops::{BinOp, TernOp, UnOp};
pub use scalar::{Scalar, ScalarType};
pub use ty::{Constructor, DimType, SumType, ValueType};
pub use value::{ArrayValue, Buffer, Cell, Datum, Elements, NodeTable, RowLengths, SumValue, Value};
