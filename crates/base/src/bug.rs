//! Mistakes of the compiler, as diagnostics.

use crate::codes::bugs::COMPILER_BUG;
use crate::{Diagnostic, Span};
use std::panic::Location;

/// An invariant of the compiler does not hold: say which in `what`. The place in the compiler that calls this is part of
/// the message, so call it where the failure is noticed.
#[track_caller]
pub fn compiler_bug(span: Span, what: impl std::fmt::Display) -> Diagnostic {
    let place = Location::caller();
    Diagnostic::error(COMPILER_BUG, span, format!("the compiler has a bug: {what}"))
        .note(format!(
            "noticed at {}:{} of almach {} ({} {})",
            place.file().replace('\\', "/"),
            place.line(),
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH,
        ))
        .help("please report this message with the program and the command that led to it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_it_was_noticed() {
        let bug = compiler_bug(Span::NONE, "a variable has no type");
        assert_eq!(bug.code.0, "E9999");
        assert!(
            bug.notes
                .iter()
                .any(|note| note.contains("crates/base/src/bug.rs:")),
            "{bug:?}"
        );
    }
}
