//! What every room of the house shares: names, places in source text, and diagnostics as plain data.

pub mod codes;
pub mod diagnostic;
pub mod name;
pub mod source;

pub use diagnostic::{Code, Diagnostic, Label, Severity};
pub use name::Name;
pub use source::{FileId, SourceFile, SourceMap, Span};
