//! Source text to AST, with spans, several errors at once, and back to text (`fmt`).
//!
//! [`ast`] is what the rest of the compiler sees. Text goes through `lexer` (tokens and comments), `brackets` (which bracket
//! closes which, for recovery) and `parser`; `fmt` goes back. What the design leaves open is decided here:
//!
//! - `data`, `entry`, `foreign`, `import`, `type` start an item at the start of a line and are names elsewhere; `def` is
//!   reserved. `nan` and `inf` are names of the prelude. Names are ASCII and may end in `'`.
//! - `**` and `<|` group to the right, other operators to the left; comparisons and `..<` do not chain, and `|>` does not mix
//!   with `<|`. `a with [i] = e` binds less tightly than any operator, and chains.
//! - `let a = 1 in let b = 2 in e` is the same tree as `let a = 1 let b = 2 in e`.
//! - `trace "label" e` takes its arguments like a function. Types behind `:>` have no arrow outside parentheses.
//! - A comma may follow the last element of an array, a record, or a tuple of two or more. The first `|` of a `case` or a
//!   `data` may be left out. `loop p = e for …` is the same as `loop (p = e) for …`.
//! - `'a'` is the `u8` of a character, `'a` a type variable.

#[cfg(test)]
extern crate self as almach_syntax;

pub mod ast;
mod brackets;
mod erase;
mod errors;
mod fmt;
mod lexer;
mod literal;
mod operator;
mod paper_names;
mod parser;
mod tests_in_comments;
mod token;

pub(crate) use almach_base::codes::syntax as codes;

pub use erase::EraseSpans;
pub use errors::{ERROR_LIMIT, Errors};
pub use fmt::{WIDTH, format_file, print_expr, print_pattern, print_type};
pub use lexer::{Comment, CommentKind, CommentPosition};
pub use parser::{
    Completeness, NESTING_LIMIT, Parsed, ReplInput, ReplParsed, parse_expr, parse_file, parse_repl,
    parse_type,
};
pub use tests_in_comments::tests as tests_in_comments;
