//! Every example, language test and test of the prelude elaborates, and interpreted it gives what it says.

use crate::support::{self, Calls, wrong_results};
use almach_base::FileId;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_syntax::ast::{Expectation, Test};
use std::path::Path;

/// Whether a call is expected to fail with such a message.
fn expects(test: &Test, message: &str) -> bool {
    matches!(&test.expected, Expectation::Fails(text) if message.contains(text))
}

/// What is wrong with one program.
fn failures(name: &str, root: &Path, text: &str) -> Vec<String> {
    let mut compiled = support::compile(name, root, text, Calls::All);
    if let Err(message) = &compiled.result
        && compiled.tests.iter().any(|test| expects(test, message))
    {
        compiled = support::compile(name, root, text, Calls::Succeeding);
    }
    let program = match compiled.result {
        Ok(program) => program,
        Err(message) => return vec![format!("{name}\n{message}")],
    };
    let mut wrong = wrong_results(name, &program, &compiled.tests, &[]);
    // The text form says the same.
    let text = program_to_string(&program, Spans::Print);
    match parse_program(&text, FileId(0)) {
        Ok(read) => wrong.extend(wrong_results(
            &format!("{name} (read back)"),
            &read,
            &compiled.tests,
            &[],
        )),
        Err(error) => wrong.push(format!("{name}: its Core does not parse: {error:#?}")),
    }
    wrong
}

#[test]
fn every_program_gives_what_it_says() {
    support::assert_all(failures);
}
