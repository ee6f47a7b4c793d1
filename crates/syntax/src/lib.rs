//! Source text to AST, with spans, several errors at once, and back to text (`fmt`).

pub mod ast;
