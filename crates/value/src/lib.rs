//! Values of the language, their types at the border (entry points, files, the terminal), and the meaning of the
//! scalar operators. Every interpreter and every printer uses these, so that there is one definition of each.

pub mod array;
pub mod buffer;
pub mod collect;
pub mod compare;
pub mod conform;
pub mod datum;
mod erf;
pub mod failure;
pub mod group;
mod identity;
pub mod ir_text;
pub mod ir_types;
pub mod ops;
pub mod parse;
pub mod print;
pub mod raw;
pub mod scalar;
pub mod ty;
pub mod value;

pub use array::{ArrayValue, ElementShape, Elements, RowLengths, ShapeError};
pub use buffer::{Buffer, buffer_of};
pub use collect::{CollectError, collect, element_shape};
pub use compare::{approximately_equal, same};
pub use conform::{Nonconformity, Sizes, conforms, conforms_with};
pub use datum::{
    Cell, Datum, NodeIdentity, NodeReferences, NodeTable, References, TableError, replace_references,
    shift_positions,
};
pub use failure::Failure;
pub use group::{Group, Member, MemberTypes, group_datum, group_table};
pub use identity::{identity, is_exact_in_any_order};
pub use ir_types::ForeignType;
pub use ops::{BinOp, OpError, TernOp, UnOp};
pub use parse::{ReadError, parse};
pub use print::{Extent, print, unfolds_reasonably};
pub use scalar::{Scalar, ScalarType};
pub use ty::{Constructor, DimType, Scoped, ScopedSum, SumType, ValueType};
pub use value::{SumValue, Value};

#[cfg(test)]
mod ops_tests;
#[cfg(test)]
mod text_tests;
#[cfg(test)]
mod value_tests;
