//! Every program of the repository parses, and damaged ones do not bring the parser down.
#![allow(clippy::unwrap_used)]

mod support;
use almach_corpus::on_large_stack;
use support::{FILE, Random, programs, seeds};

#[test]
fn every_program_and_every_test_in_it_parses() {
    let mut errors = Vec::new();
    for (name, text) in programs() {
        let parsed = almach_syntax::parse_file(FILE, &text);
        errors.extend(parsed.diagnostics.iter().map(|diagnostic| {
            let before = text.get(..diagnostic.primary.span.start as usize).unwrap();
            let line = before.matches('\n').count() + 1;
            format!("{name}:{line}: {} {}", diagnostic.code.0, diagnostic.title)
        }));
        for test in &parsed.file.tests {
            let (_, diagnostics) = almach_syntax::parse_expr(FILE, &test.call);
            errors.extend(
                diagnostics
                    .iter()
                    .map(|diagnostic| format!("{name}: {}: {}", test.call, diagnostic.title)),
            );
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Damages programs in many ways: the parser must come back, with spans inside the text.
#[test]
fn damaged_programs_are_reported_without_a_panic() {
    on_large_stack(|| {
        let mut random = Random::new(2024);
        for (name, text) in programs() {
            for _ in 0..12 * seeds().end {
                let damaged = random.damage(&text);
                let parsed = almach_syntax::parse_file(FILE, &damaged);
                for diagnostic in parsed.diagnostics {
                    let span = diagnostic.primary.span;
                    let inside = damaged.get(span.start as usize..span.end as usize).is_some();
                    assert!(inside, "{name}: {diagnostic:?} is outside of\n{damaged}");
                }
                almach_syntax::parse_repl(FILE, &damaged);
                almach_syntax::parse_type(FILE, &damaged);
            }
        }
    });
}

#[test]
fn truncated_programs_are_reported_without_a_panic() {
    for (_, text) in programs() {
        for cut in (0..text.len())
            .step_by(7)
            .filter(|cut| text.is_char_boundary(*cut))
        {
            almach_syntax::parse_file(FILE, text.get(..cut).unwrap());
        }
    }
}
