//! Patterns.

use super::{Parse, Parser};
use crate::ast::{Negative, Param, Pattern, PatternKind};
use crate::literal::{self, Number};
use crate::token::Tok;
use almach_base::{Name, Span};
use almach_value::ScalarType;

impl Pattern {
    pub(crate) fn error(span: Span) -> Pattern {
        Pattern {
            kind: PatternKind::Error,
            span,
        }
    }
}

impl Parser<'_> {
    /// `Some x`, `#Cons hd tl`, `-1`, or an atom.
    pub(super) fn pattern(&mut self) -> Parse<Pattern> {
        self.nested(|parser| match parser.peek() {
            Tok::Upper | Tok::Hash => parser.constructor_pattern(Arguments::Taken),
            Tok::Minus => parser.negative_pattern(),
            _ => parser.pattern_atom(),
        })
    }

    /// `p` or `p : t`.
    pub(super) fn ascribed_pattern(&mut self) -> Parse<Pattern> {
        let start = self.here();
        let pattern = self.pattern()?;
        if !self.eat(Tok::Colon) {
            return Ok(pattern);
        }
        let ty = self.ty()?;
        self.wrap()?;
        Ok(Pattern {
            kind: PatternKind::Ascribed(Box::new(pattern), ty),
            span: self.since(start),
        })
    }

    pub(super) fn starts_pattern_atom(&self) -> bool {
        matches!(
            self.peek(),
            Tok::Lower
                | Tok::Upper
                | Tok::Hash
                | Tok::Underscore
                | Tok::Int
                | Tok::Float
                | Tok::Char
                | Tok::True
                | Tok::False
                | Tok::LParen
                | Tok::LBrace
                | Tok::Error
        )
    }

    /// The parameters of a function.
    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        let mut params = Vec::new();
        while self.starts_pattern_atom() {
            let pattern = self.nested(Self::pattern_atom)?;
            params.push(Param { pattern });
        }
        Ok(params)
    }

    fn pattern_atom(&mut self) -> Parse<Pattern> {
        let token = self.token();
        let span = self.here();
        let kind = match token.kind {
            Tok::Underscore => {
                self.bump();
                PatternKind::Wildcard
            }
            Tok::Lower => {
                self.bump();
                self.check_binder(token);
                PatternKind::Var(self.name(token))
            }
            Tok::True | Tok::False => {
                self.bump();
                PatternKind::Bool(token.kind == Tok::True)
            }
            Tok::Int | Tok::Float => {
                self.bump();
                self.number_pattern(self.text_of(token), span, Negative::No)
            }
            Tok::Char => {
                self.bump();
                let value = self.character(token);
                PatternKind::Int {
                    value: value.into(),
                    negative: Negative::No,
                    suffix: Some(ScalarType::U8),
                }
            }
            Tok::Upper | Tok::Hash => return self.constructor_pattern(Arguments::None),
            Tok::LParen => return self.group(Pattern::error, Self::paren_pattern),
            Tok::LBrace => return self.group(Pattern::error, Self::record_pattern),
            Tok::Error => {
                self.bump();
                PatternKind::Error
            }
            _ => return Err(self.unexpected("a pattern")),
        };
        Ok(Pattern { kind, span })
    }

    fn number_pattern(&mut self, text: &str, span: Span, negative: Negative) -> PatternKind {
        match literal::number(text, span) {
            Ok(Number::Int { value, suffix }) => PatternKind::Int {
                value,
                negative,
                suffix,
            },
            Ok(Number::Float { text, suffix }) => PatternKind::Float {
                text: Name::from(text),
                negative,
                suffix,
            },
            Err(error) => {
                self.report_about(*error);
                PatternKind::Error
            }
        }
    }

    fn negative_pattern(&mut self) -> Parse<Pattern> {
        let start = self.here();
        self.bump();
        let token = self.token();
        if !matches!(token.kind, Tok::Int | Tok::Float) {
            return Err(self.unexpected("a number after `-` in a pattern"));
        }
        self.bump();
        let kind = self.number_pattern(self.text_of(token), token.span(self.file), Negative::Yes);
        Ok(Pattern {
            kind,
            span: self.since(start),
        })
    }

    fn constructor_pattern(&mut self, arguments: Arguments) -> Parse<Pattern> {
        let start = self.here();
        let is_node = self.eat(Tok::Hash);
        if self.peek() != Tok::Upper || is_node && !self.token().is_glued() {
            return Err(self.unexpected("a constructor"));
        }
        let (path, last) = self.upper_path();
        if last != Tok::Upper {
            return Err(self.unexpected("a constructor"));
        }
        let mut fields = Vec::new();
        while arguments == Arguments::Taken && self.starts_pattern_atom() {
            fields.push(self.nested(Self::pattern_atom)?);
        }
        let kind = if is_node {
            PatternKind::NodeConstructor(path, fields)
        } else {
            PatternKind::Constructor(path, fields)
        };
        Ok(Pattern {
            kind,
            span: self.since(start),
        })
    }

    fn paren_pattern(&mut self, open: usize) -> Parse<Pattern> {
        let start = self.token_at(open).span(self.file);
        let (mut patterns, separated) = self.pattern_list()?;
        self.close(open, "`,`, `:` or `)`")?;
        let span = self.since(start);
        Ok(match (patterns.pop(), separated) {
            (Some(only), Separated::No) => only.in_parens(span),
            (last, _) => {
                patterns.extend(last);
                Pattern {
                    kind: PatternKind::Tuple(patterns),
                    span,
                }
            }
        })
    }

    /// Patterns with commas between them, up to what cannot be one.
    pub(super) fn pattern_list(&mut self) -> Parse<(Vec<Pattern>, Separated)> {
        let mut patterns = Vec::new();
        let mut separated = Separated::No;
        while self.peek() != Tok::RParen || patterns.len() == 1 {
            patterns.push(self.ascribed_pattern()?);
            if !self.eat(Tok::Comma) {
                break;
            }
            separated = Separated::Yes;
        }
        Ok((patterns, separated))
    }

    fn record_pattern(&mut self, open: usize) -> Parse<Pattern> {
        let start = self.token_at(open).span(self.file);
        let mut fields = Vec::new();
        while self.peek() != Tok::RBrace || fields.is_empty() {
            let name = self.binder("a field's name")?;
            let pattern = if self.eat(Tok::Equals) {
                self.ascribed_pattern()?
            } else {
                Pattern {
                    kind: PatternKind::Var(name.name.clone()),
                    span: name.span,
                }
            };
            fields.push((name, pattern));
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.close(open, "`=`, `,` or `}`")?;
        Ok(Pattern {
            kind: PatternKind::Record(fields),
            span: self.since(start),
        })
    }
}

impl Pattern {
    /// `(p)`; an ascription is written with its parentheses already.
    pub(super) fn in_parens(self, span: Span) -> Pattern {
        match self.kind {
            PatternKind::Ascribed(..) if !span.is_none() => Pattern {
                kind: self.kind,
                span,
            },
            _ => Pattern {
                kind: PatternKind::Paren(Box::new(self)),
                span,
            },
        }
    }
}

/// Whether a constructor in a pattern takes what follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    Taken,
    None,
}

/// Whether there was a comma.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Separated {
    Yes,
    No,
}
