//! What is typed at the prompt: items, bindings without an `in`, or an expression.

use super::forms::ChainEnd;
use super::{Completeness, Parser, Recovered};
use crate::ast::{Binding, Expr, ExprKind, Item};
use crate::lexer::ItemWords;
use crate::token::Tok;
use almach_base::{Diagnostic, FileId};

/// One input of the prompt.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplParsed {
    pub input: ReplInput,
    pub diagnostics: Vec<Diagnostic>,
    /// [`Completeness::Incomplete`] where the input ends in the middle of something: ask for another line.
    pub completeness: Completeness,
}

#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum ReplInput {
    /// Nothing but blanks and comments.
    Empty,
    Items(Vec<Item>),
    /// `let x = e`, without an `in`.
    Bindings(Vec<Binding>),
    Expr(Expr),
}

/// Parses one input of the prompt.
pub fn parse_repl(file: FileId, text: &str) -> ReplParsed {
    let mut parser = Parser::new(file, text, ItemWords::AreNames);
    let input = parser.repl_input(file, text);
    ReplParsed {
        input,
        diagnostics: parser.errors.into_sorted(),
        completeness: parser.completeness,
    }
}

impl<'s> Parser<'s> {
    fn repl_input(&mut self, file: FileId, text: &'s str) -> ReplInput {
        match self.peek() {
            Tok::Eof => ReplInput::Empty,
            Tok::Let => self.repl_let(),
            _ if self.starts_repl_item() => {
                *self = Parser::new(file, text, ItemWords::StartItems);
                ReplInput::Items(self.items())
            }
            _ => {
                let parsed = self.expr();
                let expr = self.whole(parsed, "an operator or the end of the expression");
                ReplInput::Expr(expr.unwrap_or_else(|| Expr::error(self.all())))
            }
        }
    }

    /// `data`, `type` … are names unless what follows them makes an item.
    fn starts_repl_item(&self) -> bool {
        if self.peek() == Tok::Def {
            return true;
        }
        let next = self.peek_at(1);
        match Tok::item_word(self.text_of(self.token())) {
            Some(Tok::Data | Tok::Type) => next == Tok::Upper,
            Some(Tok::Import) => next == Tok::Str,
            Some(Tok::Foreign) => next == Tok::Lower && self.peek_at(2) == Tok::Colon,
            Some(Tok::Entry) => matches!(next, Tok::Lower | Tok::Rec),
            _ => false,
        }
    }

    fn repl_let(&mut self) -> ReplInput {
        let start = self.here();
        let Ok((bindings, end)) = self.let_chain() else {
            return ReplInput::Expr(Expr::error(self.all()));
        };
        if end == ChainEnd::Missing {
            if self.peek() != Tok::Eof && self.recovered == Recovered::No {
                self.left_over("an operator, `in` or the end of the input");
            }
            return ReplInput::Bindings(bindings);
        }
        let body = self.expr();
        match self.whole(body, "an operator or the end of the expression") {
            Some(body) => ReplInput::Expr(Expr {
                kind: ExprKind::Let(bindings, Box::new(body)),
                span: self.since(start),
            }),
            None => ReplInput::Expr(Expr::error(self.all())),
        }
    }
}
