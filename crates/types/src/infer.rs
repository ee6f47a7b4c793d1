//! Inference: from the AST to the typed tree.

mod apply;
mod arrays;
mod branches;
mod coerce;
mod expr;
mod foreach;
mod functions;
mod group;
mod loops;
mod map;
mod operators;
mod pattern;
mod prims;
mod records;
mod reference;
mod signature;
mod values;
