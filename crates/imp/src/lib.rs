//! Imp: a host program over flat memory, with structured loops, explicit allocation and checks that end the call with an
//! error. Its interpreter has a heap and finds races, accesses out of bounds, reads of unwritten cells, and leaks.

pub mod canonical;
pub mod check;
pub mod facts;
pub mod groups;
pub mod interface;
pub mod interp;
pub mod ir;
mod lex;
pub mod marshal;
mod marshal_data;
pub mod naturals;
mod parse;
mod print;
pub mod touch;

pub use check::{CheckError, Checked, check};
pub use groups::Groups;
pub use ir::*;
pub use lex::ParseError;
pub use parse::parse;
pub use touch::Touched;
