//! Every example, language test and test of the prelude elaborates, and interpreted it gives what it says.

use crate::support::{self, Calls};
use almach_base::FileId;
use almach_core::Program;
use almach_core::interp::Interpreter;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_syntax::ast::{Expectation, Test};
use almach_value::{Extent, Value, approximately_equal, parse, print, same};
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
    let mut wrong = wrong_results(name, &program, &compiled.tests);
    // The text form says the same.
    let text = program_to_string(&program, Spans::Print);
    match parse_program(&text, FileId(0)) {
        Ok(read) => wrong.extend(wrong_results(
            &format!("{name} (read back)"),
            &read,
            &compiled.tests,
        )),
        Err(error) => wrong.push(format!("{name}: its Core does not parse: {error:#?}")),
    }
    wrong
}

fn wrong_results(name: &str, program: &Program, tests: &[Test]) -> Vec<String> {
    let interpreter = match Interpreter::new(program) {
        Ok(interpreter) => interpreter,
        Err(bug) => return vec![format!("{name}: {}", bug.title)],
    };
    let mut wrong = Vec::new();
    for (at, test) in tests.iter().enumerate() {
        let entry = format!("test_{at}");
        let found = interpreter.call(&entry, Vec::new());
        let ty = interpreter.entry(&entry).unwrap().result.clone();
        let is_right = match (&test.expected, &found) {
            (Expectation::Equals(text), Ok(found)) => {
                parse(text, &ty).is_ok_and(|expected: Value| same(&expected, found))
            }
            (Expectation::Near(text), Ok(found)) => {
                parse(text, &ty).is_ok_and(|expected| approximately_equal(&expected, found, 1e-5))
            }
            (Expectation::Fails(text), Err(error)) => error.message.contains(text),
            _ => false,
        };
        if !is_right {
            let found = match found {
                Ok(value) => print(&value, &ty, Extent::Full),
                Err(error) => format!("error: {}", error.message),
            };
            wrong.push(format!(
                "{name}: {} gives {found}, not {:?}",
                test.call, test.expected
            ));
        }
    }
    wrong
}

#[test]
fn every_program_gives_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    programs(&root.join("examples"), &mut paths);
    programs(&root.join("tests/programs"), &mut paths);
    programs(&root.join("crates/elaborate/tests/programs"), &mut paths);
    paths.push(root.join("prelude/prelude.alm"));
    let wrong = support::on_large_stack(move || {
        let mut wrong = Vec::new();
        for path in paths {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            // C functions are linked by the command line alone.
            if text.contains("-- link:") {
                continue;
            }
            wrong.extend(failures(&name, &root, &text));
        }
        wrong
    });
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
