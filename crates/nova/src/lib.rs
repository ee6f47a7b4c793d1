//! The reader for `.nova` files: the S-expression language of the NOVA paper (Figure 3 and section 3), to the AST that
//! `.alm` files have too.
//!
//! `lexer` finds tokens, `tree` which bracket closes which; `program` reads the sections, `types` and `expr` (with
//! `forms`, `functions` and `constructors`) what stands in them. What the paper leaves open, or says in two ways, is
//! decided here and written down in `docs/nova.md`:
//!
//! - A form is a list, and lists are read independently: one mistake does not hide another.
//! - A constructor's payload is taken apart: `(Cons : (int, L))` declares a constructor of two fields, `(None : unit)`
//!   one of none, so that data from `.nova` and `.alm` are the same.
//! - Names the reader makes up start with a blank: nobody can write them.

mod constructors;
mod expr;
mod forms;
mod functions;
mod lexer;
mod literal;
mod operators;
mod program;
mod reader;
mod tree;
mod types;

pub(crate) use almach_base::codes::syntax as codes;

pub use program::read_file;

/// What NOVA's built-ins mean where Almach has none of that name and type, written in Almach.
pub const BUILT_INS: &str = include_str!("../../../prelude/nova.alm");

/// The path by which a `.nova` file imports [`BUILT_INS`].
pub const BUILT_INS_NAME: &str = "<nova>";
