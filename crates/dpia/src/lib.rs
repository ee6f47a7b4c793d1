//! Dpia: the imperative phrase language of the DPIA paper, with its interference-controlled types. A program that checks
//! is free of data races.

pub mod build;
pub mod check;
pub mod interp;
mod lex;
pub mod normalise;
mod parse;
mod parse_phrase;
pub mod phrase;
pub mod prim;
mod print;
pub mod store;
pub mod ty;

pub use check::{CheckError, Checked, check_phrase, check_program};
pub use lex::ParseError;
pub use parse::{parse_data, parse_phrase_type};
pub use parse_phrase::{parse_phrase, parse_program};
pub use phrase::{Instance, Phrase, Proc, Program, Side};
pub use prim::{Home, Operand, Output, Prim, ScanKind, Site, Space, instance_type};
pub use ty::{Arrow, Data, Kind, Nat, PhraseType, Substitution, subst_nat};
