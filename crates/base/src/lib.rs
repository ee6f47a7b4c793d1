//! What every room of the house shares: names, places in source text, and diagnostics as plain data.

pub mod bug;
pub mod codes;
pub mod diagnostic;
pub mod name;
pub mod render;
pub mod source;
pub mod suggest;
pub mod words;

pub use bug::compiler_bug;
pub use diagnostic::{Code, Diagnostic, Label, Severity, Suggestion};
pub use name::Name;
pub use source::{FileId, SourceFile, SourceMap, Span};
pub use words::counted;
