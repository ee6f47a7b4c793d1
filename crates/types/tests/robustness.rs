//! Programs that are wrong in odd ways: an answer, never a panic; and large ones in time.
#![allow(clippy::unwrap_used)]

mod support;

use almach_corpus::on_large_stack;
use std::fmt::Write;
use support::{Files, check, check_file};

/// A small generator of numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn sources() -> Vec<String> {
    let paths = almach_corpus::programs(&["examples", "tests/programs"]);
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts.collect()
}

/// Words, numbers, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Replaces, removes, doubles or swaps a few tokens.
fn mutated(text: &str, others: &[&str], numbers: &mut Numbers) -> String {
    let mut tokens: Vec<&str> = tokens(text);
    for _ in 0..=numbers.below(3) {
        let (at, other) = (numbers.below(tokens.len()), numbers.below(tokens.len()));
        if tokens.is_empty() {
            break;
        }
        match numbers.below(5) {
            0 => tokens[at] = others[numbers.below(others.len())],
            1 => drop(tokens.remove(at)),
            2 => tokens.insert(at, tokens[other]),
            3 => tokens.swap(at, other),
            _ => tokens[at] = tokens[other],
        }
    }
    tokens.concat()
}

#[test]
fn mutated_programs_get_an_answer() {
    let rounds: usize = std::env::var("ALMACH_FUZZ_ROUNDS").map_or(400, |rounds| rounds.parse().unwrap());
    on_large_stack(move || {
        let sources = sources();
        let all: Vec<&str> = sources.iter().flat_map(|text| tokens(text)).collect();
        let mut numbers = Numbers(20_240_607);
        for _ in 0..rounds {
            let text = mutated(&sources[numbers.below(sources.len())], &all, &mut numbers);
            let outcome = check_file("examples/a.alm", &text, Files::Memory(&[]), |_, _| Vec::new());
            let errors = outcome.result.diagnostics.iter().any(|d| d.is_error());
            assert!(
                errors || outcome.result.program.is_some(),
                "no error and no program:\n{text}"
            );
            assert!(
                !outcome.codes().contains(&"E9999"),
                "{}\n{text}",
                outcome.rendered()
            );
        }
    });
}

/// A program of many lines that use each other.
fn large_program(definitions: usize) -> String {
    let mut text = String::new();
    for at in 0..definitions {
        let before = at.saturating_sub(1);
        let call = if at == 0 {
            "xs".to_string()
        } else {
            format!("step{before} xs")
        };
        writeln!(text, "def step{at} [n] (xs: [n]f32): [n]f32 =").unwrap();
        writeln!(text, "  let ys = map (\\x -> x * {at}.5 + 1) ({call})").unwrap();
        writeln!(text, "  let total = reduce (+) 0 (map (*) ys xs)").unwrap();
        writeln!(text, "  let (below, above) = partition (< total) ys").unwrap();
        writeln!(text, "  let pick i = if i % 2 == 0 then below else above").unwrap();
        writeln!(
            text,
            "  in loop (zs = ys) for i < 3 do map (+) zs (map (\\y -> y + f32 (length (pick i))) ys)"
        )
        .unwrap();
        writeln!(text).unwrap();
    }
    text
}

#[test]
fn a_large_program_checks() {
    on_large_stack(|| {
        let outcome = check(&large_program(500));
        assert!(outcome.result.diagnostics.is_empty(), "{}", outcome.rendered());
        assert!(outcome.result.program.is_some());
    });
}

#[test]
fn one_large_definition_checks() {
    on_large_stack(|| {
        let mut text = "def f (x0: f32) =\n".to_string();
        for at in 0..1500 {
            writeln!(text, "  let x{} = x{at} * 2 + f32 {at}", at + 1).unwrap();
        }
        text.push_str("  in x1500\n");
        let outcome = check(&text);
        assert!(outcome.result.program.is_some(), "{}", outcome.rendered());
    });
}

#[test]
fn deep_nesting_checks() {
    on_large_stack(|| {
        let deep = 1000;
        let sum = format!("def f x = {}x{}\n", "(1 + ".repeat(deep), ")".repeat(deep));
        assert!(check(&sum).result.program.is_some());
        let lambdas = format!("def g = {}0{}\n", "(\\x -> ".repeat(200), ")".repeat(200));
        assert!(check(&lambdas).result.program.is_some());
        let arrays = format!("def xs = {}1{}\n", "[".repeat(200), "]".repeat(200));
        assert!(check(&arrays).result.program.is_some());
        let calls = format!(
            "def id_ x = x\ndef h = {}1{}\n",
            "id_ (".repeat(deep),
            ")".repeat(deep)
        );
        assert!(check(&calls).result.program.is_some());
    });
}

/// Errors in one definition do not hide those of others.
#[test]
fn every_definition_is_checked() {
    let text = "def a: i32 = true\ndef b: f32 = \"x\"\ndef c x = undefined x\ndef d: i32 = a + 1\ndef e = [1, true]\n";
    let codes = check(text).codes();
    assert_eq!(codes, ["E0301", "E0301", "E0201", "E0303"]);
}

#[test]
fn an_empty_file_is_a_program() {
    let outcome = check("");
    assert!(outcome.result.diagnostics.is_empty() && outcome.result.program.is_some());
}
