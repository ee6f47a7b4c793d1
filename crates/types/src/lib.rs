//! Names resolved, types and sizes inferred, cases checked. The result is the typed tree.

pub mod exhaustive;
pub mod tree;
