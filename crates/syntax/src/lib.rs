//! Source text to AST, with spans, several errors at once, and back to text (`fmt`).

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
pub use errors::ERROR_LIMIT;
pub use fmt::{WIDTH, format_file, format_file_at, print_expr, print_pattern, print_type};
pub use lexer::{Comment, CommentKind, CommentPosition};
pub use parser::{
    Completeness, NESTING_LIMIT, Parsed, ReplInput, ReplParsed, parse_expr, parse_file, parse_repl,
    parse_type,
};
