//! Core: the one functional IR. First-order, monomorphic, A-normal, sizes explicit. How a program runs is an annotation
//! on Core that can be erased.

pub mod ir;

pub use ir::*;
