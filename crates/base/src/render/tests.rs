use super::*;
use crate::codes::bugs::COMPILER_BUG;
use expect_test::{Expect, expect};

fn sources() -> (SourceMap, FileId) {
    let mut sources = SourceMap::new();
    let text = "def f x =\n  x + true\n\ndef gé y = f y\n";
    let id = sources.add("a.alm", text);
    (sources, id)
}

fn check(diagnostic: Diagnostic, sources: &SourceMap, expected: Expect) {
    expected.assert_eq(&to_text(&[diagnostic], sources, Style::Plain));
}

#[test]
fn labels_notes_help_and_suggestion() {
    let (sources, id) = sources();
    let diagnostic = Diagnostic::error(
        COMPILER_BUG,
        Span::new(id, 16, 20),
        "expected a number, found `bool`",
    )
    .label("this is a `bool`")
    .also(Span::new(id, 12, 13), "this is a number")
    .note("`+` works on numbers")
    .help("convert it")
    .suggest(Span::new(id, 16, 20), "i32 true", "convert the boolean");
    check(
        diagnostic,
        &sources,
        expect![[r#"
        error[E9999]: expected a number, found `bool`
         --> a.alm:2:7
          |
        2 |   x + true
          |   -   ^^^^ this is a `bool`
          |   |
          |   this is a number
          |
          = note: `+` works on numbers
          = help: convert it
        help: convert the boolean
          |
        2 |   x + i32 true
          |       +++

    "#]],
    );
}

#[test]
fn several_files_and_no_place() {
    let (mut sources, id) = sources();
    let other = sources.add("b.alm", "import \"a\"\n");
    let two = Diagnostic::warning(COMPILER_BUG, Span::new(other, 0, 10), "an unused import")
        .also(Span::new(id, 30, 32), "what it imports")
        .also(Span::NONE, "nowhere");
    check(
        two,
        &sources,
        expect![[r#"
        warning[E9999]: an unused import
         --> b.alm:1:1
          |
        1 | import "a"
          | ^^^^^^^^^^
          |
         ::: a.alm:4:8
          |
        4 | def gé y = f y
          |        -- what it imports

    "#]],
    );
    let nowhere = Diagnostic::error(COMPILER_BUG, Span::NONE, "no such file");
    check(
        nowhere,
        &sources,
        expect![[r#"
        error[E9999]: no such file

    "#]],
    );
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let mut sources = SourceMap::new();
    let text = format!(
        "first\nlet {} = [{}] in wrong {}\n",
        "é",
        "1, ".repeat(3_000_000),
        "x ".repeat(1_000_000)
    );
    let at = text.find("wrong").unwrap_or(0);
    let id = sources.add("long.alm", text);
    let diagnostic = Diagnostic::error(COMPILER_BUG, Span::new(id, at, at + 5), "`wrong` is not defined")
        .label("not found")
        .also(Span::new(id, 6, 9), "in this `let`")
        .suggest(Span::new(id, at, at + 5), "right", "did you mean `right`?");
    check(
        diagnostic,
        &sources,
        expect![[r#"
        error[E9999]: `wrong` is not defined
         --> long.alm:2:9000015
          |
          |
        2 | ... 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ] in wrong x x x x x x x x x x x x x x x x x x x x x x...
          |     - in this `let`                                                                 ^^^^^ not found
        help: did you mean `right`?
          |
          = help: write `right` there

    "#]],
    );
    let whole = Diagnostic::error(COMPILER_BUG, Span::new(id, 0, 9_000_000), "all of it");
    assert!(to_text(&[whole], &sources, Style::Coloured).len() < 10_000);
}

#[test]
fn places_far_apart() {
    let mut sources = SourceMap::new();
    let id = sources.add("tall.alm", "line\n".repeat(100_000));
    let diagnostic = Diagnostic::error(COMPILER_BUG, Span::new(id, 5, 9), "twice")
        .also(Span::new(id, 450_000, 450_004), "again");
    check(
        diagnostic,
        &sources,
        expect![[r#"
        error[E9999]: twice
             --> tall.alm:2:1
              |
            2 | line
              | ^^^^
        ...
        90001 | line
              | ---- again

    "#]],
    );
    let tall = Diagnostic::error(COMPILER_BUG, Span::new(id, 0, 450_000), "all of it").label("this");
    assert!(to_text(&[tall], &sources, Style::Plain).len() < 10_000);
}

#[test]
fn bad_spans_do_not_panic() {
    let (sources, id) = sources();
    let length = sources.file(id).map_or(0, |file| file.text.len());
    for start in 0..length + 3 {
        for end in 0..length + 3 {
            let span = Span::new(id, start, end);
            let diagnostic = Diagnostic::error(COMPILER_BUG, span, "t").suggest(span, "r", "s");
            assert!(
                to_text(std::slice::from_ref(&diagnostic), &sources, Style::Plain)
                    .contains("error[E9999]: t")
            );
            assert!(to_json(&[diagnostic], &sources).is_array());
        }
    }
    let unknown = Diagnostic::error(COMPILER_BUG, Span::new(FileId(77), 1, 2), "t");
    assert!(to_text(&[unknown], &sources, Style::Plain).contains("error[E9999]: t"));
    let mut empty = SourceMap::new();
    let id = empty.add("empty.alm", "");
    let diagnostic = Diagnostic::error(COMPILER_BUG, Span::new(id, 0, 0), "t").label("here");
    assert!(to_text(&[diagnostic], &empty, Style::Plain).contains("here"));
}

#[test]
fn json() {
    let (sources, id) = sources();
    let diagnostic = Diagnostic::error(COMPILER_BUG, Span::new(id, 28, 30), "t")
        .label("l")
        .also(Span::NONE, "nowhere")
        .suggest(Span::new(id, 0, 3), "r", "s");
    let text = serde_json::to_string_pretty(&to_json(&[diagnostic], &sources)).unwrap_or_default();
    expect![[r#"
        [
          {
            "code": "E9999",
            "severity": "error",
            "title": "t",
            "file": "a.alm",
            "primary": {
              "span": {
                "file": "a.alm",
                "start": {
                  "line": 4,
                  "column": 6,
                  "offset": 28
                },
                "end": {
                  "line": 4,
                  "column": 8,
                  "offset": 30
                }
              },
              "text": "l"
            },
            "labels": [
              {
                "span": null,
                "text": "nowhere"
              }
            ],
            "notes": [],
            "help": [],
            "suggestion": {
              "span": {
                "file": "a.alm",
                "start": {
                  "line": 1,
                  "column": 1,
                  "offset": 0
                },
                "end": {
                  "line": 1,
                  "column": 4,
                  "offset": 3
                }
              },
              "replacement": "r",
              "text": "s"
            }
          }
        ]"#]]
    .assert_eq(&text);
}
