//! Memory as an annotation on Core: which block holds each array, and which of its cells (FUNMEM). See `docs/memory.md`.
//!
//! - [`ir`]: the definition. [`leaves`]: the arrays of scalars a type is made of.
//! - [`introduce`]: Core to Core with memory. [`derive`]: the places of slices, rows, transpositions. [`copies`]: what moves.
//! - [`heap`]: the heap semantics, and the comparison with the value semantics. [`mod@check`]: the rules.
//! - [`passes`]: what improves a plan. [`index`], [`draft`] and [`relocate`] serve them; [`plan`] counts what is left.

pub mod check;
pub mod copies;
pub mod derive;
pub mod draft;
pub mod heap;
pub mod index;
pub mod introduce;
pub mod ir;
pub mod leaves;
pub mod parse;
pub mod passes;
pub mod plan;
pub mod print;
pub mod relocate;

pub use introduce::introduce;
pub use ir::*;
pub use parse::parse_annotated;
pub use print::annotated_to_string;
