//! The prelude, every example and every file test of the repository check without an error, together with those of their
//! `-- >` lines that expect a value.
#![allow(clippy::unwrap_used)]

mod support;

use almach_base::render::{Style, to_text};
use almach_base::{Diagnostic, SourceMap};
use almach_corpus::on_large_stack;
use almach_syntax::{ast, parse_expr};
use std::path::Path;
use support::{Files, check_file, entry};

fn calls(file: &ast::File, sources: &mut SourceMap) -> Vec<ast::Item> {
    let expects_value = |test: &&ast::Test| {
        matches!(
            test.expected,
            ast::Expectation::Equals(_) | ast::Expectation::Near(_)
        )
    };
    file.tests
        .iter()
        .filter(expects_value)
        .enumerate()
        .map(|(at, test)| {
            let id = sources.add("call", test.call.as_str());
            entry(&format!("call {at}"), parse_expr(id, &test.call).0)
        })
        .collect()
}

fn errors_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let outcome = check_file(&path.to_string_lossy(), &text, Files::Disk, calls);
    let errors: Vec<Diagnostic> = outcome
        .result
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .cloned()
        .collect();
    assert_eq!(outcome.result.program.is_some(), errors.is_empty());
    to_text(&errors, &outcome.sources, Style::Plain)
}

fn check_folder(folder: &str) {
    let paths = almach_corpus::programs(&[folder]);
    let failures: String = on_large_stack(move || {
        paths
            .iter()
            .map(|path| errors_of(path))
            .collect::<Vec<_>>()
            .concat()
    });
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn prelude() {
    check_folder("prelude");
}

#[test]
fn examples() {
    check_folder("examples");
}

#[test]
fn file_tests() {
    check_folder("tests/programs");
}
