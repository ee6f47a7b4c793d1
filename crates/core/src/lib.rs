//! Core: the one functional IR. First-order, monomorphic, A-normal, sizes explicit. How a program runs is an annotation
//! on Core that can be erased.

pub mod build;
pub mod chains;
pub mod check;
pub mod groups;
pub mod interp;
pub mod ir;
pub mod names;
pub mod parse;
pub mod print;
pub mod random;
pub mod rows;
pub mod types;
pub mod typing;
pub mod visit;

pub use build::Builder;
pub use ir::*;
