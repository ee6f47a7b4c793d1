//! How a run ends without a result.

use almach_base::{Code, Diagnostic, Span, codes, compiler_bug};
use almach_value::Failure;

/// A run-time error: what happened, where, and how the program got there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeError {
    pub code: Code,
    pub span: Span,
    /// With the values involved.
    pub message: String,
    /// Facts beside the message: the calls that led there, innermost first.
    pub notes: Vec<String>,
}

impl RuntimeError {
    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, self.span, self.message.clone());
        diagnostic.notes.clone_from(&self.notes);
        diagnostic
    }
}

/// The number of a place in the program that may fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site(pub u32);

impl Site {
    /// Where nothing can fail that is the program's fault.
    pub(super) const NONE: Site = Site(u32::MAX);
}

/// A failure inside the machine, before it is dressed up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fail {
    pub kind: FailKind,
    pub site: Site,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FailKind {
    Failure(Failure, Vec<i128>),
    Assertion(String),
    Foreign(super::ForeignError),
    /// The compiler's mistake.
    Bug(String),
}

impl FailKind {
    pub(super) fn at(self, site: Site) -> Fail {
        Fail { kind: self, site }
    }

    pub(super) fn bug(what: impl Into<String>) -> FailKind {
        FailKind::Bug(what.into())
    }

    pub(super) fn failure(failure: Failure, values: impl IntoIterator<Item = i128>) -> FailKind {
        FailKind::Failure(failure, values.into_iter().collect())
    }
}

/// The error of a failure at a place; `calls` are the names of the functions on the way, innermost first.
pub(super) fn dress(fail: Fail, spans: &[Span], calls: Vec<String>) -> RuntimeError {
    let span = spans.get(fail.site.0 as usize).copied().unwrap_or(Span::NONE);
    let (code, message) = match fail.kind {
        FailKind::Failure(failure, values) => (failure.code(), failure.message(&values)),
        FailKind::Assertion(text) => (codes::runtime::ASSERTION_FAILED, text),
        FailKind::Foreign(error) => (error.code, error.message),
        FailKind::Bug(what) => {
            let bug = compiler_bug(span, what);
            return RuntimeError {
                code: bug.code,
                span,
                message: bug.title,
                notes: bug.notes.into_iter().chain(calls).collect(),
            };
        }
    };
    RuntimeError {
        code,
        span,
        message,
        notes: calls,
    }
}
