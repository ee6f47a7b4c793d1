//! How a command ends: what is said, and the exit code.

use almach_base::{Code, Diagnostic, Span};
use std::process::ExitCode;

/// Exit codes (design, section 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    Done,
    /// The program ran and failed.
    ProgramFailed,
    /// The program is wrong, or the command line or its arguments are.
    WrongUse,
    CompilerBug,
}

impl Outcome {
    pub fn exit_code(self) -> ExitCode {
        match self {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::ProgramFailed => ExitCode::from(1),
            Outcome::WrongUse => ExitCode::from(2),
            Outcome::CompilerBug => ExitCode::from(101),
        }
    }
}

/// A complaint that has no place in a source file: about the command line, its arguments or files.
pub fn complaint(code: Code, title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, Span::NONE, title)
}
