//! The operations of the language in one table: name, type, what annotations they take. Surface names, Core operations
//! and the strategy program all mean these, so every Core operation has a surface name by construction.
//!
//! Scalar operators are `almach_value::ops`; this crate also gives them their surface names.

mod annotation;
mod scalar_names;
mod table;

pub use annotation::{Annotation, Chunk, Effect, Level};
pub use scalar_names::{ScalarFunction, scalar_function};
pub use table::{Prim, PrimInfo, TakesChunk, TakesLevel};
