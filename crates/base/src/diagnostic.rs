//! Diagnostics as plain data. They are made anywhere and rendered in one place.

use crate::Span;

/// A stable code such as `E0203`. The catalogue of codes is in `codes.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Code(pub &'static str);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// A place with words of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// What went wrong, where, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// One line, in lower case, without a full stop.
    pub title: String,
    /// Where to look first.
    pub primary: Label,
    /// Other places that explain the first.
    pub secondary: Vec<Label>,
    /// Facts that have no place in the text.
    pub notes: Vec<String>,
    /// What the user can do.
    pub help: Vec<String>,
    /// A replacement that most likely mends it.
    pub suggestion: Option<Suggestion>,
}

/// Put `replacement` where `span` is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    pub span: Span,
    pub replacement: String,
    pub text: String,
}

impl Diagnostic {
    pub fn error(code: Code, span: Span, title: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            title: title.into(),
            primary: Label {
                span,
                text: String::new(),
            },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            suggestion: None,
        }
    }

    pub fn warning(code: Code, span: Span, title: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, span, title)
        }
    }

    /// The words at the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    pub fn suggest(
        mut self,
        span: Span,
        replacement: impl Into<String>,
        text: impl Into<String>,
    ) -> Diagnostic {
        self.suggestion = Some(Suggestion {
            span,
            replacement: replacement.into(),
            text: text.into(),
        });
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
