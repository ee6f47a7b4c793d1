//! What people most likely meant: words and symbols from other languages, and forgotten parts.

use super::{Parse, Parser};
use crate::codes;
use crate::token::{Spacing, Tok, Token};
use almach_base::{Diagnostic, Span};

impl Parser<'_> {
    /// Help for the token that was not expected.
    pub(super) fn add_hints(&self, error: Diagnostic) -> Diagnostic {
        let here = self.here();
        match self.peek() {
            // Both words are ordinary names, so they are only suspected where something is wrong.
            Tok::Arrow | Tok::FatArrow if self.mentioned("fun") || self.mentioned("fn") => {
                error.help("a function value is written `\\x -> e`")
            }
            Tok::FatArrow => error.suggest(here, "->", "arrows are written `->`"),
            Tok::DotDot => error.suggest(here, "..<", "a range is written `a..<b`, without its end"),
            Tok::Semicolon => error.help("there are no semicolons; steps are written `let x = e in …`"),
            Tok::And => error.suggest(here, "&&", "the logical operator is `&&`"),
            Tok::Backslash | Tok::Let | Tok::If | Tok::Case | Tok::Loop | Tok::Foreach => {
                error.help(format!(
                    "an argument that starts with {} goes in parentheses",
                    self.peek().describe()
                ))
            }
            Tok::Arrow if self.mentioned("match") => error.help("cases are written `case e of | P -> …`"),
            Tok::With if self.mentioned("match") => error.help("`match e with` is written `case e of`"),
            Tok::With => error.help("an update is written `a with [i] = e`"),
            Tok::Equals if self.mentioned("where") => {
                error.help("there is no `where`; bind names before they are used: `let x = e in …`")
            }
            Tok::Equals | Tok::Colon | Tok::Str if self.indented_item_word().is_some() => {
                let word = self.indented_item_word().unwrap_or("");
                error.help(format!(
                    "`{word}` starts an item at the start of its line, without indentation"
                ))
            }
            Tok::Equals if self.previous_kind() == Some(Tok::Slash) => {
                error.help("inequality is written `!=`")
            }
            Tok::Equals => error.help("to compare, write `==`; to bind a name, write `let x = e in …`"),
            Tok::Colon if self.peek_at(1) == Tok::Colon => {
                error.help("lists are built with constructors, `Cons x xs`")
            }
            Tok::Colon => error.help("a type is written on an expression in parentheses: `(e : t)`"),
            Tok::Dot => {
                error.help("`.` stands directly behind a record, a tuple or a module, without a blank")
            }
            Tok::At => error.help("an annotation stands directly behind an operation's name: `map@par`"),
            _ => error,
        }
    }

    fn previous_kind(&self) -> Option<Tok> {
        Some(self.tokens.get(self.at.checked_sub(1)?)?.kind)
    }

    /// Whether a word stands among the tokens shortly before this one, in the same item.
    fn mentioned(&self, word: &str) -> bool {
        self.names_before().any(|token| self.text_of(token) == word)
    }

    /// An item word that was taken for a name because it does not stand at the start of its line.
    fn indented_item_word(&self) -> Option<&str> {
        self.names_before()
            .filter(|token| token.spacing == Spacing::FirstOnLine)
            .map(|token| self.text_of(token))
            .find(|word| Tok::item_word(word).is_some())
    }

    /// The names shortly before this token, in the same item, last first.
    fn names_before(&self) -> impl Iterator<Item = Token> {
        const REACH: usize = 64;
        let before = self.tokens.get(..self.at).unwrap_or(&[]);
        before
            .iter()
            .rev()
            .take(REACH)
            .take_while(|token| !token.kind.starts_item())
            .filter(|token| token.kind == Tok::Lower)
            .copied()
    }

    /// The `=` of a binding, for which `==` and `:=` are understood.
    pub(super) fn expect_equals(&mut self, expected: &str) -> Parse<()> {
        if self.eat(Tok::Equals) {
            return Ok(());
        }
        if self.peek() == Tok::EqEq {
            let here = self.here();
            let error =
                self.unexpected_diagnostic(expected)
                    .suggest(here, "=", "a binding is written with one `=`");
            self.report(error);
            self.bump();
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    /// The `->` of a lambda or an arm, for which `=>` is understood.
    pub(super) fn expect_arrow(&mut self, expected: &str) -> Parse<()> {
        if self.eat(Tok::Arrow) {
            return Ok(());
        }
        let failed = self.unexpected(expected);
        if self.eat(Tok::FatArrow) {
            Ok(())
        } else {
            Err(failed)
        }
    }

    /// Reports a word of another language; the parser goes on as if ours had been written.
    pub(super) fn other_language(&mut self, place: Span, word: &str, ours: &str, text: &str) {
        let error = Diagnostic::error(
            codes::OTHER_LANGUAGE,
            place,
            format!("`{word}` is not a word of Almach"),
        )
        .label(text)
        .suggest(place, ours, format!("write `{ours}`"));
        self.report_about(error);
    }
}
