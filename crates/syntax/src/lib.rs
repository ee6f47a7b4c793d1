//! Source text to AST, with spans, several errors at once, and back to text (`fmt`).

pub mod ast;
mod brackets;
mod errors;
mod lexer;
mod literal;
mod operator;
mod paper_names;
mod parser;
mod tests_in_comments;
mod token;

pub(crate) use almach_base::codes::syntax as codes;

pub use errors::ERROR_LIMIT;
pub use lexer::{Comment, CommentKind, CommentPosition};
pub use parser::{
    Completeness, NESTING_LIMIT, Parsed, ReplInput, ReplParsed, parse_expr, parse_file, parse_repl,
    parse_type,
};
