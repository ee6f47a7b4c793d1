//! The `-- >` tests of a file, as programs: every call is an entry point of its own.

use crate::front::{Extra, ExtraKind};
use crate::load::Loaded;
use almach_base::{Diagnostic, Name};
use almach_syntax::{ast, parse_expr};

/// A test whose call has been parsed.
#[derive(Clone, Debug)]
pub struct TestCall {
    pub test: ast::Test,
    /// The name of the entry point that makes the call.
    pub entry: Name,
    pub call: ast::Expr,
    /// What is wrong with the call's syntax.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tests of the root file.
pub fn calls(loaded: &Loaded) -> Vec<TestCall> {
    let Some(root) = loaded.root() else {
        return Vec::new();
    };
    root.tests
        .iter()
        .enumerate()
        .map(|(at, test)| call(at, test))
        .collect()
}

fn call(at: usize, test: &ast::Test) -> TestCall {
    // Blanks in front put the call's spans where it stands in its file.
    let padded = format!("{}{}", " ".repeat(test.call_span.start as usize), test.call);
    let (call, diagnostics) = parse_expr(test.call_span.file, &padded);
    TestCall {
        test: test.clone(),
        entry: Name::from(format!("test {}", at + 1)),
        call,
        diagnostics,
    }
}

impl TestCall {
    pub fn extra(&self) -> Extra {
        Extra {
            name: self.entry.clone(),
            kind: ExtraKind::Entry,
            expr: self.call.clone(),
        }
    }
}
