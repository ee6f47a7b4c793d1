//! Inference: from the AST to the typed tree.

mod apply;
mod arrays;
mod branches;
mod expr;
mod foreach;
mod functions;
mod group;
mod loops;
mod map;
mod operators;
mod pattern;
mod prims;
mod values;
