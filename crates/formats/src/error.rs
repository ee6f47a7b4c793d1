//! What can be wrong with a file.

use almach_base::codes::cli;
use almach_base::{Code, Diagnostic, Span};
use std::fmt;

/// Why bytes are no value of a type, or a value cannot be written in a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    pub code: Code,
    /// What was expected and what was found.
    pub message: String,
    /// From the whole value to the part at fault: `.x[3].1`; empty for the whole.
    pub path: String,
    /// The line and column, from 1, in a text format.
    pub position: Option<(usize, usize)>,
    /// What can be done about it.
    pub help: Vec<String>,
}

impl FormatError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> FormatError {
        FormatError {
            code,
            message: message.into(),
            path: String::new(),
            position: None,
            help: Vec::new(),
        }
    }

    /// The file is damaged, or no file of its format.
    pub(crate) fn malformed(message: impl Into<String>) -> FormatError {
        FormatError::new(cli::BAD_DATA_FILE, message)
    }

    /// A format cannot hold values of a type.
    pub(crate) fn cannot_hold(message: impl Into<String>) -> FormatError {
        FormatError::new(cli::UNKNOWN_FORMAT, message)
    }

    pub(crate) fn shape(message: impl Into<String>) -> FormatError {
        FormatError::new(cli::SHAPE_MISMATCH, message)
    }

    pub(crate) fn at(mut self, path: impl Into<String>) -> FormatError {
        self.path = path.into();
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> FormatError {
        self.help.push(text.into());
        self
    }

    /// As a diagnostic about `source`: the name of the file, or what else the bytes came from.
    pub fn diagnostic(&self, source: &str) -> Diagnostic {
        let start = Diagnostic::error(self.code, Span::NONE, format!("{source}: {self}"));
        self.help.iter().fold(start, Diagnostic::help)
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "at {}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}
