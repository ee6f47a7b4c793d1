//! The formatter's laws, on the repository's programs and on random ones.
#![allow(clippy::unwrap_used)]

#[path = "../../tests/support/mod.rs"]
pub mod support;

use super::random_trees::Trees;
use super::{layout, print_expr, print_pattern, print_type, says_the_same, without_parens};
use crate::erase::EraseSpans;
use crate::lexer::{ItemWords, lex};
use crate::parser::{parse_expr, parse_file, parse_type};
use crate::token::Tok;
use almach_corpus::on_large_stack;
use support::{FILE, Random, programs, seeds};

/// Formats without the net that [`super::format_file`] has, and checks the laws. How many steps it took to settle.
fn check(name: &str, text: &str) -> usize {
    let parsed = parse_file(FILE, text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{name}: {:?}\n{text}",
        parsed.diagnostics
    );
    let mut formatted = layout(text, &parsed);
    for step in 1..8 {
        let again = parse_file(FILE, &formatted);
        let once_more = layout(&formatted, &again);
        assert!(
            says_the_same(text, parsed.clone(), &formatted, again),
            "{name} changed:\n{text}\n=====>\n{formatted}"
        );
        if once_more == formatted {
            return step;
        }
        formatted = once_more;
    }
    panic!("{name} is never settled:\n{text}");
}

#[test]
fn programs_keep_their_meaning_and_are_formatted_once_and_for_all() {
    for (name, text) in programs() {
        assert_eq!(check(&name, &text), 1, "{name} needs a second step");
    }
}

/// Trivia that may stand between two tokens, with comments of every kind.
const TRIVIA: &[&str] = &[
    " ",
    " ",
    " ",
    "  ",
    "\n ",
    "\n   ",
    "\n\n\n  ",
    " {- c -} ",
    "\n {- d -}\n ",
    " {- e\n  e -} ",
    " -- f\n ",
    "\n -- g\n ",
    "\n\n -- h\n -- i\n\n ",
    " {- j -}\n ",
    " -- k\n -- l\n ",
    " {- m -} -- n\n ",
];

/// The same tokens with other trivia between them, where any may stand.
fn shuffled(text: &str, random: &mut Random, often: usize) -> String {
    let tokens = lex(FILE, text, ItemWords::StartItems).tokens;
    let mut out = String::new();
    let mut previous = Tok::Eof;
    for token in tokens {
        let source = &text[token.start as usize..token.end as usize];
        let stays_glued = token.is_glued()
            && (matches!(token.kind, Tok::LBracket | Tok::Dot | Tok::At)
                || matches!(previous, Tok::Dot | Tok::At | Tok::Hash));
        if token.kind.starts_item() {
            out.push_str(if random.below(often) == 0 {
                "\n-- item\n\n"
            } else {
                "\n"
            });
        } else if !stays_glued {
            // A bracket that was an argument must not become an index.
            let glue = token.is_glued() && random.below(4) > 0;
            let trivia = if random.below(often) == 0 {
                random.pick(TRIVIA)
            } else {
                " "
            };
            out.push_str(if glue { "" } else { trivia });
        }
        out.push_str(source);
        previous = token.kind;
    }
    out
}

#[test]
fn comments_and_blanks_anywhere_are_kept_or_harmless() {
    on_large_stack(|| {
        let mut steps = [0; 8];
        for seed in seeds() {
            let mut random = Random::new(seed);
            for (name, text) in programs() {
                for often in [2, 8, 50] {
                    let text = shuffled(&text, &mut random, often);
                    steps[check(&name, &text)] += 1;
                }
            }
        }
        // Nearly always at once.
        assert!(steps[1] > 10 * steps[2..].iter().sum::<i32>(), "{steps:?}");
    });
}

#[test]
fn printed_trees_parse_back_to_themselves() {
    on_large_stack(|| {
        let mut random = Random::new(99);
        for _ in 0..20_000 * seeds().end {
            let size = 1 + random.below(40);
            let mut tree = Trees { random: &mut random }.expr(size);
            let text = print_expr(&tree);
            let (mut again, diagnostics) = parse_expr(FILE, &text);
            assert!(diagnostics.is_empty(), "{text}\n{:?}", diagnostics.first());
            again.erase_spans();
            without_parens::expr(&mut again);
            without_parens::expr(&mut tree);
            assert!(tree == again, "{text}\n{}", print_expr(&again));
            assert!(!text.contains('\n'), "{text}");
        }
    });
}

#[test]
fn printed_types_and_patterns_parse_back_to_themselves() {
    let mut random = Random::new(5);
    for _ in 0..5_000 * seeds().end {
        let tree = Trees { random: &mut random }.ty(4);
        let text = print_type(&tree);
        let (mut again, diagnostics) = parse_type(FILE, &text);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        again.erase_spans();
        assert_eq!(tree, again, "{text}");

        let mut pattern = Trees { random: &mut random }.pattern(4);
        let text = format!("case x of | {} -> y", print_pattern(&pattern));
        let (mut again, diagnostics) = parse_expr(FILE, &text);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        again.erase_spans();
        let crate::ast::ExprKind::Case(_, mut arms) = again.kind else {
            panic!("{text}");
        };
        without_parens::pattern(&mut pattern);
        without_parens::pattern(&mut arms[0].pattern);
        assert_eq!(pattern, arms[0].pattern, "{text}");
    }
}

/// Random trees as files, with random trivia: both laws once more, on shapes nobody writes.
#[test]
fn random_programs_are_formatted_without_a_change() {
    on_large_stack(|| {
        let mut random = Random::new(31);
        for _ in 0..2_000 * seeds().end {
            let size = 1 + random.below(60);
            let tree = Trees { random: &mut random }.expr(size);
            let text = format!("def f = {}", print_expr(&tree));
            let text = shuffled(&text, &mut random, 6);
            check("a random program", &text);
        }
    });
}
