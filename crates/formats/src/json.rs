//! JSON holds every value: a record is an object, tuples and arrays are arrays, a constructor without fields is a string,
//! one with a field is `{"Some": 3}`, one with several has them in an array. Floats that JSON has no number for are
//! `"nan"`, `"inf"` and `"-inf"`. Recursive data are nested constructors; where they are cyclic, or share so much that
//! they would grow large, they are their table: `{"nodes": […], "root": 0}` with positions for references.

mod lexer;
mod read;
mod scalar;
mod table;
mod write;

pub use read::read_json;
pub(crate) use read::utf8;
pub(crate) use scalar::{float, integer};
pub use write::write_json;
