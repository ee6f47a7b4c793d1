//! Every example and file test elaborates.

use crate::support::{self, Calls};
use almach_syntax::ast::{Expectation, Test};
use std::path::{Path, PathBuf};

fn programs(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            programs(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "alm") {
            into.push(path);
        }
    }
}

/// Whether a call is expected to fail with such a message.
fn expects(test: &Test, message: &str) -> bool {
    matches!(&test.expected, Expectation::Fails(text) if message.contains(text))
}

#[test]
fn every_program_elaborates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    programs(&root.join("examples"), &mut paths);
    programs(&root.join("tests/programs"), &mut paths);
    let failures = support::on_large_stack(move || {
        let mut failures = Vec::new();
        for path in paths {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let mut compiled = support::compile(&name, &root, &text, Calls::All);
            if let Err(message) = &compiled.result
                && compiled.tests.iter().any(|test| expects(test, message))
            {
                compiled = support::compile(&name, &root, &text, Calls::Succeeding);
            }
            if let Err(message) = compiled.result {
                failures.push(format!("{name}\n{message}"));
            }
        }
        failures
    });
    assert!(
        failures.is_empty(),
        "{} fail\n{}",
        failures.len(),
        failures.join("\n")
    );
}
