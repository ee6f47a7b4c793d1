//! Reporting errors and going on after them.

use super::{Completeness, Failed, Parse, Parser, Recovered};
use crate::token::Tok;
use crate::{brackets, codes};
use almach_base::{Diagnostic, Span};

impl Parser<'_> {
    /// Reports an error at the current token: one at each place, and none where the lexer has spoken already.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        let found = self.peek();
        if found == Tok::Eof {
            self.completeness = Completeness::Incomplete;
        }
        if !self.stopped && found != Tok::Error && self.reported_at.insert(self.at) {
            self.errors.push(diagnostic);
        }
        Failed
    }

    /// Reports something that is wrong in itself, whatever the current token is.
    pub(super) fn report_about(&mut self, diagnostic: Diagnostic) {
        if !self.stopped {
            self.errors.push(diagnostic);
        }
    }

    pub(super) fn unexpected(&mut self, expected: &str) -> Failed {
        let diagnostic = self.unexpected_diagnostic(expected);
        self.report(diagnostic)
    }

    pub(super) fn unexpected_diagnostic(&self, expected: &str) -> Diagnostic {
        let found = self.describe_found();
        let title = format!("expected {expected}, found {found}");
        let diagnostic =
            Diagnostic::error(codes::UNEXPECTED, self.place(), title).label(format!("expected {expected}"));
        self.add_hints(diagnostic)
    }

    /// Where to look for what is missing: at the token that is there instead, or, where that belongs to something else, behind
    /// the last one before it.
    pub(super) fn place(&self) -> Span {
        let found = self.peek();
        if found == Tok::Eof || found.starts_item() {
            Span::new(self.file, self.previous_end as usize, self.previous_end as usize)
        } else {
            self.here()
        }
    }

    /// Something follows where everything should have ended.
    pub(super) fn left_over(&mut self, expected: &str) -> Failed {
        let found = self.peek();
        if !found.is_closer() {
            return self.unexpected(expected);
        }
        let error = Diagnostic::error(
            codes::STRAY_BRACKET,
            self.here(),
            format!("this {} closes nothing", found.describe()),
        )
        .label("no bracket is open here")
        .help("remove it, or open the bracket it should close");
        self.report(error)
    }

    pub(super) fn describe_found(&self) -> String {
        let token = self.token();
        let text = self.text_of(token);
        let mut shown: String = text.chars().take(40).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        match token.kind {
            Tok::Lower | Tok::Upper => format!("the name `{shown}`"),
            Tok::Int | Tok::Float => format!("the number `{shown}`"),
            Tok::Str => format!("the string {shown}"),
            Tok::Char => format!("the character {shown}"),
            Tok::TypeVar => format!("the type variable `{shown}`"),
            Tok::Eof => Tok::Eof.describe().to_string(),
            _ => format!("`{shown}`"),
        }
    }

    /// Parses what is between brackets, the current token being the opening one. After an error inside, goes on
    /// behind the closing bracket with what `otherwise` makes of the span.
    pub(super) fn group<T>(
        &mut self,
        otherwise: impl FnOnce(Span) -> T,
        parse: impl FnOnce(&mut Self, usize) -> Parse<T>,
    ) -> Parse<T> {
        let open = self.at;
        let start = self.here();
        let bar = std::mem::replace(&mut self.bar, super::Bar::IsOperator);
        self.bump();
        let parsed = parse(self, open);
        self.bar = bar;
        parsed.or_else(|failed| {
            if self.recover_behind_partner(open) {
                Ok(otherwise(self.since(start)))
            } else {
                Err(failed)
            }
        })
    }

    fn recover_behind_partner(&mut self, open: usize) -> bool {
        match self.partner(open) {
            Some(partner) if partner >= self.at && !self.stopped => {
                self.at = partner;
                self.bump();
                self.recovered = Recovered::Yes;
                true
            }
            _ => false,
        }
    }

    fn partner(&self, open: usize) -> Option<usize> {
        self.partners
            .get(open)
            .filter(|partner| **partner != brackets::NONE)
            .map(|partner| *partner as usize)
    }

    /// The closing bracket of the one at `open`.
    pub(super) fn close(&mut self, open: usize, expected: &str) -> Parse<()> {
        let opener = self.token_at(open);
        let closer = opener.kind.closer().unwrap_or(Tok::Eof);
        if self.eat(closer) {
            return Ok(());
        }
        let opened = opener.span(self.file);
        if self.partner(open).is_none() {
            let title = format!("this {} is never closed", opener.kind.describe());
            let found = self.describe_found();
            let error = Diagnostic::error(codes::UNCLOSED_BRACKET, opened, title)
                .label("opened here")
                .also(
                    self.here(),
                    format!("expected {} before {found}", closer.describe()),
                );
            return Err(self.report(error));
        }
        let error = self
            .unexpected_diagnostic(expected)
            .also(opened, "inside the brackets opened here");
        Err(self.report(error))
    }

    /// Reports a closing bracket that closes nothing, if one is here.
    pub(super) fn refuse_stray_bracket(&mut self) -> Parse<()> {
        if self.peek().is_closer() && self.partner(self.at).is_none() {
            return Err(self.left_over("the next binding"));
        }
        Ok(())
    }

    /// Skips to the next of `wanted` that is in the same brackets and item; false where there is none.
    pub(super) fn skip_to(&mut self, wanted: &[Tok]) -> bool {
        if self.stopped {
            return false;
        }
        loop {
            let kind = self.peek();
            if wanted.contains(&kind) {
                self.recovered = Recovered::Yes;
                return true;
            }
            let closes = kind.is_closer() && self.partner(self.at).is_some();
            if kind == Tok::Eof || kind.starts_item() || closes {
                return false;
            }
            if kind.closer().is_some()
                && let Some(partner) = self.partner(self.at)
            {
                self.at = partner;
            }
            self.bump();
        }
    }
}
