//! Elaboration of whole programs, from source text.
#![allow(clippy::unwrap_used)]

mod corpus;
mod errors;
mod support;
