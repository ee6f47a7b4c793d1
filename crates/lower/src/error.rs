//! What lowering says when it cannot go on.

use almach_base::{Diagnostic, Span, codes};

pub(crate) type Lowering<T> = Result<T, Box<Diagnostic>>;

/// A construct that this back end does not compile yet. The interpreter runs everything.
pub(crate) fn refuse<T>(what: impl std::fmt::Display, span: Span) -> Lowering<T> {
    Err(Box::new(
        Diagnostic::error(
            codes::concreteness::NOT_COMPILED_YET,
            span,
            format!("{what} is not yet supported by the compiled back ends"),
        )
        .label("used here")
        .help("use `--backend interp` to run this program"),
    ))
}

/// An invariant of the compiler that does not hold.
pub(crate) fn bug<T>(what: impl std::fmt::Display, span: Span) -> Lowering<T> {
    Err(Box::new(bug_diagnostic(what, span)))
}

pub(crate) fn bug_diagnostic(what: impl std::fmt::Display, span: Span) -> Diagnostic {
    Diagnostic::error(codes::bugs::COMPILER_BUG, span, format!("lowering: {what}"))
}
