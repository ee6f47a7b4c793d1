//! What the formula of `almach explain` predicts a call to hold at once is what `--stats` measures: equal where it says so, else
//! a bound. On the workloads of `bench`, and on the examples: every eighth one, all where `ALMACH_TEST_FULL` is set.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod support;

use std::path::Path;
use support::{Folder, almach, root};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Exact,
    Bound,
    /// Recursion, recursive data, or a size that is known only when it runs.
    NoFormula,
    Wrong,
}

/// `…, 640 bytes at most at once (predicted: at most 640), …`
fn found(said: &str) -> Found {
    let (_, rest) = said.split_once(", ").unwrap();
    let (peak, rest) = rest.split_once(' ').unwrap();
    let peak: i64 = peak.parse().unwrap();
    let Some((_, predicted)) = rest.split_once("(predicted: ") else {
        return Found::NoFormula;
    };
    let (number, _) = predicted.split_once(')').unwrap();
    match number.strip_prefix("at most ") {
        None if number.parse() == Ok(peak) => Found::Exact,
        Some(bound) if bound.parse::<i64>().unwrap() >= peak => Found::Bound,
        _ => Found::Wrong,
    }
}

fn run(folder: &Folder, file: &Path, backend: &str, arguments: &[String]) -> (Found, String) {
    let file = file.display().to_string();
    let mut args = ["run", &file, "--entry", "main", "--backend", backend, "--stats"]
        .map(str::to_owned)
        .to_vec();
    args.extend(arguments.iter().cloned());
    let output = almach(folder.path(), &args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{file}: {said}");
    (found(&said), said)
}

const VECTOR: &str = "[1, 2, 3, 4, 5, 6, 7]";
const MATRIX: &str = "[[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6], [5, 4, 3, 2]]";
const FOUR: &str = "[1, 2, 3, 4]";

/// Workloads, their arguments, and what the formula is on one thread and on several.
const WORKLOADS: &[(&str, &[&str], Found, Found)] = &[
    ("asum", &[VECTOR], Found::Exact, Found::Exact),
    ("dot", &[VECTOR, VECTOR], Found::Exact, Found::Exact),
    ("filter", &[VECTOR], Found::Exact, Found::Exact),
    ("gemv", &[MATRIX, FOUR, FOUR], Found::Exact, Found::Exact),
    ("gridred", &[MATRIX], Found::Exact, Found::Exact),
    ("histogram", &["[1, 2, 1, 1023]"], Found::Exact, Found::Exact),
    ("jacobi2d", &[MATRIX], Found::Exact, Found::Exact),
    ("mm", &[MATRIX, MATRIX], Found::Exact, Found::Exact),
    ("norm", &[VECTOR], Found::Exact, Found::Exact),
    ("nw", &["2", "\"ACGT\"", "\"ACCT\""], Found::Exact, Found::Exact),
    ("scal", &[VECTOR], Found::Exact, Found::Exact),
    ("scan", &[VECTOR], Found::Exact, Found::Exact),
    ("transpose", &[MATRIX], Found::Exact, Found::Exact),
];

#[test]
fn of_the_workloads() {
    let folder = Folder::new();
    let mut wrong = String::new();
    for (name, args, on_one, on_several) in WORKLOADS {
        let file = root().join("bench/workloads").join(format!("{name}.alm"));
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        for (backend, expected) in [("c", on_one), ("openmp", on_several)] {
            let (found, said) = run(&folder, &file, backend, &args);
            if found != *expected {
                wrong.push_str(&format!("{name} on {backend} is {found:?}: {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The arguments of a call as a test writes it.
fn arguments(call: &str) -> Vec<String> {
    let (mut depth, mut text) = (0, false);
    let mut out = vec![String::new()];
    for c in call.chars() {
        match c {
            '"' => text = !text,
            '(' | '[' | '{' if !text => depth += 1,
            ')' | ']' | '}' if !text => depth -= 1,
            ' ' if !text && depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        out.last_mut().unwrap().push(c);
    }
    out
}

#[test]
fn of_the_examples() {
    let folder = Folder::new();
    let full = std::env::var_os("ALMACH_TEST_FULL").is_some();
    let mut files: Vec<_> = std::fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "alm"))
        .collect();
    files.sort();
    let (mut wrong, mut known, mut all) = (String::new(), 0, 0);
    for file in files.iter().step_by(if full { 1 } else { 8 }) {
        let text = std::fs::read_to_string(file).unwrap();
        let Some(call) = text.lines().find_map(|line| line.strip_prefix("-- > main ")) else {
            continue;
        };
        for backend in ["c", "openmp"] {
            let (found, said) = run(&folder, file, backend, &arguments(call));
            all += 1;
            match found {
                Found::Exact | Found::Bound => known += 1,
                Found::NoFormula => {}
                Found::Wrong => wrong.push_str(&format!("{} on {backend}: {said}", file.display())),
            }
        }
    }
    eprintln!("{known} of {all} calls have a formula");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(2 * known > all, "{known} of {all} calls have a formula");
}
