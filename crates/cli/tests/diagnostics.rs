//! The exact rendering of every diagnostic, and that every code of the catalogue has one.
//!
//! A `.case` file in `tests/diagnostics` holds files, a command and what it prints:
//!
//! ```text
//! # What this shows, in words.
//! > main.alm
//! def f (x: i32) = x + 1.0
//! > hex bad.npy
//! 93 4e 55 4d
//! $ almach check main.alm
//! exit 2
//! error[E0301]: …
//! ```
//!
//! What stands behind the `$` line is the exit code, standard error, and (behind a line `stdout:`) standard output. With
//! `ALMACH_BLESS=1` the expected part is written anew; review the difference before you commit it.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::HashSet;
use std::path::Path;
use support::{Folder, almach, almach_with, root, words};

struct Case {
    files: Vec<(String, Vec<u8>)>,
    command: String,
    /// `NAME=value` before the command.
    settings: Vec<String>,
    /// Everything up to and including the `$` line, as it stands in the file.
    head: String,
    expected: String,
}

fn parse(text: &str) -> Case {
    let mut case = Case {
        files: Vec::new(),
        command: String::new(),
        settings: Vec::new(),
        head: String::new(),
        expected: String::new(),
    };
    let mut lines = text.split_inclusive('\n');
    let mut hex = false;
    for line in lines.by_ref() {
        case.head.push_str(line);
        let plain = line.trim_end_matches('\n');
        if let Some((settings, command)) = plain
            .strip_prefix("$ ")
            .and_then(|line| line.split_once("almach "))
        {
            case.command = command.to_owned();
            case.settings = words(settings);
            break;
        } else if let Some(name) = plain.strip_prefix("> hex ") {
            case.files.push((name.to_owned(), Vec::new()));
            hex = true;
        } else if let Some(name) = plain.strip_prefix("> ") {
            case.files.push((name.to_owned(), Vec::new()));
            hex = false;
        } else if let Some((_, bytes)) = case.files.last_mut() {
            match hex {
                true => bytes.extend(
                    plain
                        .split_whitespace()
                        .map(|byte| u8::from_str_radix(byte, 16).unwrap()),
                ),
                false => bytes.extend(line.bytes()),
            }
        } else {
            assert!(
                plain.starts_with('#') || plain.is_empty(),
                "a case starts with `#` lines: {plain}"
            );
        }
    }
    assert!(!case.command.is_empty(), "a case has a line `$ almach …`");
    case.expected = lines.collect();
    case
}

fn actual(case: &Case) -> String {
    let folder = Folder::new();
    for (name, bytes) in &case.files {
        folder.write(name, bytes);
    }
    let output = almach_with(folder.path(), &case.settings, &words(&case.command));
    let mut text = format!(
        "exit {}\n",
        output
            .status
            .code()
            .map_or("signal".to_owned(), |code| code.to_string())
    );
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    if !output.stdout.is_empty() {
        text.push_str("stdout:\n");
        text.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    text.replace(&folder.path().display().to_string(), "FOLDER")
}

/// A bug of the compiler, a source file of more than 4 GiB, and what only Core that nobody's source becomes asks of back ends.
const OUT_OF_REACH: [&str; 3] = ["E9999", "E0119", "E0690"];

/// The golden texts of the parser, the type checker and elaboration, which their own tests compare.
fn other_golden_files() -> String {
    let mut text = String::new();
    for folder in [
        "crates/syntax/tests/diagnostics",
        "crates/nova/tests/diagnostics",
        "crates/types/tests/diagnostics",
        "crates/elaborate/tests/elaborate",
    ] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            text.push_str(&String::from_utf8_lossy(
                &std::fs::read(entry.unwrap().path()).unwrap(),
            ));
        }
    }
    text
}

fn cases() -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(root().join("tests/diagnostics"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "case"))
        .collect();
    paths.sort();
    paths
}

fn check(path: &Path, bless: Option<()>) -> Result<String, String> {
    let case = parse(&std::fs::read_to_string(path).unwrap());
    let actual = actual(&case);
    if bless.is_some() {
        std::fs::write(path, format!("{}{actual}", case.head)).unwrap();
    } else if actual != case.expected {
        return Err(format!(
            "{}\n--- expected\n{}--- actual\n{actual}",
            path.display(),
            case.expected
        ));
    }
    Ok(actual)
}

#[test]
fn every_diagnostic_renders_as_its_case_says() {
    let bless = std::env::var_os("ALMACH_BLESS").map(|_| ());
    let (mut seen, mut failures) = (String::new(), Vec::new());
    let cases = cases();
    for path in &cases {
        match check(path, bless) {
            Ok(text) => seen.push_str(&text),
            Err(failure) => failures.push(failure),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases differ\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
    seen.push_str(&other_golden_files());
    let missing: Vec<_> = almach_base::codes::all()
        .map(|info| info.code.0)
        .filter(|code| !OUT_OF_REACH.contains(code))
        .filter(|code| !seen.contains(&format!("[{code}]")))
        .collect();
    assert!(
        missing.is_empty(),
        "codes without a case in tests/diagnostics: {missing:?}"
    );
}

#[test]
fn every_explanation_prints() {
    let folder = Folder::new();
    let mut titles = HashSet::new();
    for info in almach_base::codes::all() {
        let output = almach(folder.path(), &support::strings(&["explain-error", info.code.0]));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.starts_with(info.code.0), "{text}");
        assert!(
            titles.insert(info.title),
            "two codes have the title `{}`",
            info.title
        );
    }
}
