//! The formatter's laws, on the repository's programs and on random ones.
#![allow(clippy::unwrap_used)]

#[path = "../../tests/support/mod.rs"]
mod support;

use super::{layout, says_the_same};
use crate::lexer::{ItemWords, lex};
use crate::parser::parse_file;
use crate::token::Tok;
use support::{FILE, Random, on_large_stack, programs};

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
        let mut random = Random::new(7);
        let mut steps = [0; 8];
        for (name, text) in programs() {
            for often in [2, 8, 50] {
                let text = shuffled(&text, &mut random, often);
                steps[check(&name, &text)] += 1;
            }
        }
        // Nearly always at once.
        assert!(steps[1] > 10 * steps[2..].iter().sum::<i32>(), "{steps:?}");
    });
}
