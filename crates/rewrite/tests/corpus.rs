//! Every example and language test, rewritten, gives what it says.
#![allow(clippy::unwrap_used)]

#[path = "../../elaborate/tests/elaborate/support.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod support;

use almach_core::Program;
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use almach_syntax::ast::{Expectation, Test};
use almach_value::{Extent, approximately_equal, parse, print, same};
use std::path::{Path, PathBuf};
use support::Calls;

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

/// Calls whose failing part turns out not to be needed: what is `true` either way is not computed.
const DEAD: [&str; 1] = ["1 / 0 == 1 || true"];

fn failures(name: &str, root: &Path, text: &str) -> Vec<String> {
    let mut compiled = support::compile(name, root, text, Calls::All);
    if compiled.result.is_err() {
        compiled = support::compile(name, root, text, Calls::Succeeding);
    }
    // What does not compile is for the tests of other rooms.
    let Ok(program) = compiled.result else {
        return Vec::new();
    };
    let mut everything: Vec<&Pass> = pipelines::INLINE_ALL.to_vec();
    everything.extend(pipelines::STANDARD);
    let mut wrong = Vec::new();
    for (what, passes) in [
        ("standard", pipelines::STANDARD),
        ("everything inlined", &everything),
    ] {
        match run(program.clone(), passes, &mut Log::default()) {
            Ok(after) => wrong.extend(wrong_results(&format!("{name}, {what}"), &after, &compiled.tests)),
            Err(failure) => wrong.push(format!(
                "{name}, {what}: {} {:?}\n{}",
                failure.diagnostic.title,
                failure.diagnostic.notes,
                program_to_string(&failure.program, Spans::Omit)
            )),
        }
    }
    wrong
}

fn wrong_results(name: &str, program: &Checked<Program>, tests: &[Test]) -> Vec<String> {
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
                parse(text, &ty).is_ok_and(|expected| same(&expected, found))
            }
            (Expectation::Near(text), Ok(found)) => {
                parse(text, &ty).is_ok_and(|expected| approximately_equal(&expected, found, 1e-5))
            }
            (Expectation::Fails(text), Err(error)) => error.message.contains(text),
            (Expectation::Fails(_), Ok(_)) => DEAD.contains(&test.call.as_str()),
            _ => false,
        };
        if !is_right {
            let found = match found {
                Ok(value) => print(&value, &ty, Extent::Full),
                Err(error) => format!("error: {}", error.message),
            };
            let call = &test.call;
            wrong.push(format!("{name}: {call} gives {found}, not {:?}", test.expected));
        }
    }
    wrong
}

#[test]
fn every_program_still_gives_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in ["examples", "tests/programs", "crates/elaborate/tests/programs"] {
        programs(&root.join(folder), &mut paths);
    }
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
