//! Printing, parsing, and the checker on a program with every construct.
#![allow(clippy::unwrap_used)]

mod common;

use almach_base::render::{Style, to_text};
use almach_base::{FileId, SourceMap};
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use common::canonical;
use expect_test::expect;

const EVERYTHING: &str = include_str!("everything.core");

fn parsed(text: &str) -> almach_core::Program {
    match parse_program(text, FileId(0)) {
        Ok(program) => program,
        Err(error) => {
            let at = error.primary.span.start as usize;
            let line = text[..at].lines().count();
            panic!("line {line}: {}", error.title)
        }
    }
}

#[test]
fn every_construct_checks() {
    if let Err(failure) = check(parsed(EVERYTHING), "parse") {
        panic!("{:#?}", failure.diagnostic);
    }
}

#[test]
fn what_is_printed_parses_back() {
    let program = parsed(EVERYTHING);
    for spans in [Spans::Omit, Spans::Print] {
        let text = program_to_string(&program, spans);
        let again = parsed(&text);
        assert_eq!(canonical(&program, spans), canonical(&again, spans), "{text}");
        assert_eq!(program_to_string(&again, spans), text);
        check(again, "parse").unwrap();
    }
}

#[test]
fn names_are_short_and_different() {
    let text = program_to_string(
        &parsed("fun f (x: i32, map_0: i32): i32 = let x: i32 = x + x in x"),
        Spans::Omit,
    );
    assert_eq!(
        text,
        "fun f (x: i32, map_0: i32): i32 =\n  let x_2: i32 = x + x\n  in x_2\n"
    );
}

#[test]
fn mistakes_have_a_place() {
    let cases = [
        (
            "fun f (x: i32): i32 = let y: i32 = x + in y",
            "expected a name or constant, found `in`",
        ),
        ("fun f (x: i32): i32 = y", "`y` is not bound here"),
        (
            "fun f (x: i32): i32 = let y: i32 = g (x) in y",
            "there is no function `g`",
        ),
        ("fun f (x: i32): i33 = x", "expected a type, found `i33`"),
        ("fun f (x: i32", "expected `)`, found the end"),
        ("fun f (x: i32): i32 = \"abc", "the text in quotes does not end"),
        (
            "fun f (x: i32): i32 = 300u8",
            "expected a number in the range of its type, with the type as a suffix, found `300u8`",
        ),
        ("fun f (x: i32): i32 = €", "`€` has no meaning here"),
        (
            "hello",
            "expected `data`, `foreign`, `fun` or `entry`, found `hello`",
        ),
    ];
    for (text, message) in cases {
        let error = parse_program(text, FileId(3)).unwrap_err();
        assert_eq!(error.title, message, "{text}");
        assert_eq!(error.code.0, "E0190");
        assert_eq!(error.primary.span.file, FileId(3));
        assert!(error.primary.span.end as usize <= text.len());
    }
}

#[test]
fn mistakes_are_shown_with_their_line() {
    let text = "fun f (x: i32): i32 =\n  let y: i32 = x +\n  in y\n";
    let mut sources = SourceMap::new();
    let file = sources.add("program.core", text);
    let error = parse_program(text, file).unwrap_err();
    let shown = to_text(&[*error], &sources, Style::Plain);
    expect![[r#"
        error[E0190]: expected a name or constant, found `in`
         --> program.core:3:3
          |
        3 |   in y
          |   ^^

    "#]]
    .assert_eq(&shown);
}

/// Cutting the text anywhere, or replacing a character, never panics.
#[test]
fn garbage_is_refused_politely() {
    for (at, _) in EVERYTHING.char_indices() {
        let _ = parse_program(&EVERYTHING[..at], FileId(0));
    }
    for replacement in ["", "(", ")", "}", "<", "\\", "@", "let", "-", "9", "\"", "?"] {
        for at in (0..EVERYTHING.len()).step_by(31) {
            if EVERYTHING.is_char_boundary(at) && EVERYTHING.is_char_boundary(at + 1) {
                let mutant = format!("{}{replacement}{}", &EVERYTHING[..at], &EVERYTHING[at + 1..]);
                if let Ok(program) = parse_program(&mutant, FileId(0)) {
                    let _ = check(program, "mutation");
                }
            }
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    let work = || {
        let deep = format!("fun f (x: {}i32): i32 = x", "[1]".repeat(100_000));
        let error = parse_program(&deep, FileId(0)).unwrap_err();
        assert!(error.title.contains("levels"), "{}", error.title);
    };
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(work)
        .unwrap();
    thread.join().unwrap();
}
