//! Expressions made of operators, applications and atoms.

use super::{Bar, Parse, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, InPlace, IndexArg, SliceBound, UnaryOp};
use crate::codes;
use crate::literal;
use crate::operator::{self, Associativity, Infix, Precedence};
use crate::token::Tok;
use almach_base::{Diagnostic, Name, Span};
use almach_value::UnOp;

impl Expr {
    pub(crate) fn error(span: Span) -> Expr {
        Expr {
            kind: ExprKind::Error,
            span,
        }
    }
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(|parser| {
            let start = parser.here();
            let mut expr = parser.operators(operator::PIPE)?;
            while parser.starts_update() {
                expr = parser.update(expr, start)?;
            }
            Ok(expr)
        })
    }

    /// `with` of an update; the one of a `foreach` is followed by a name.
    fn starts_update(&self) -> bool {
        self.peek() == Tok::With && matches!(self.peek_at(1), Tok::LBracket | Tok::Bang)
    }

    fn update(&mut self, array: Expr, start: Span) -> Parse<Expr> {
        self.bump();
        let in_place = if self.eat(Tok::Bang) {
            InPlace::Required
        } else {
            InPlace::WherePossible
        };
        if self.peek() != Tok::LBracket {
            return Err(self.unexpected("`[` and an index"));
        }
        let indices = self.group(|_| Vec::new(), Self::index_args)?;
        self.expect_equals("`=` and the new value")?;
        let value = self.nested(|parser| parser.operators(operator::PIPE))?;
        self.wrap()?;
        Ok(Expr {
            kind: ExprKind::With {
                array: Box::new(array),
                indices,
                value: Box::new(value),
                in_place,
            },
            span: self.since(start),
        })
    }

    pub(super) fn infix_here(&self) -> Option<Infix> {
        let kind = self.peek();
        if kind == Tok::Bar && self.bar == Bar::StartsArm {
            return None;
        }
        // `(2 *)`: the parentheses make it a section.
        if self.peek_at(1) == Tok::RParen {
            return None;
        }
        Infix::from_token(kind)
    }

    /// Operators that bind at least as tightly as `least`.
    pub(super) fn operators(&mut self, least: Precedence) -> Parse<Expr> {
        let start = self.here();
        let mut left = self.unary()?;
        while let Some(infix) = self.infix_here() {
            let precedence = infix.precedence();
            if precedence < least {
                break;
            }
            let operator = self.bump().span(self.file);
            left = self.infix(infix, operator, left, start)?;
            if infix.associativity() == Associativity::None {
                self.refuse_chain(precedence)?;
            }
        }
        Ok(left)
    }

    fn infix(&mut self, infix: Infix, operator: Span, left: Expr, start: Span) -> Parse<Expr> {
        if infix == Infix::Coerce {
            let ty = self.nested(Self::type_without_arrow)?;
            self.wrap()?;
            return Ok(Expr {
                kind: ExprKind::Coerce(Box::new(left), Box::new(ty)),
                span: self.since(start),
            });
        }
        let least = match infix.associativity() {
            Associativity::Right => infix.precedence(),
            Associativity::Left | Associativity::None => infix.precedence() + 1,
        };
        let right = self.nested(|parser| parser.operators(least))?;
        self.wrap()?;
        let kind = match infix {
            Infix::Binary(op) => {
                self.refuse_mixed_pipes(op, operator, &left, &right);
                ExprKind::Binary(op, operator, Box::new(left), Box::new(right))
            }
            Infix::Range | Infix::Coerce => ExprKind::Range(Box::new(left), Box::new(right)),
        };
        Ok(Expr {
            kind,
            span: self.since(start),
        })
    }

    /// `a < b < c` has no meaning.
    fn refuse_chain(&mut self, precedence: Precedence) -> Parse<()> {
        let chained = self.infix_here().is_some_and(|next| {
            next.precedence() == precedence && next.associativity() == Associativity::None
        });
        if !chained {
            return Ok(());
        }
        let found = self.peek().describe();
        let error = Diagnostic::error(
            codes::CHAINED,
            self.here(),
            format!("{found} cannot follow another one like it"),
        )
        .label("these operators do not chain");
        let error = if precedence == operator::COMPARISON {
            error.help("compare in pairs, `a < b && b < c`, or add parentheses")
        } else {
            error.help("add parentheses")
        };
        Err(self.report(error))
    }

    /// `a |> f <| b` reads both ways.
    fn refuse_mixed_pipes(&mut self, op: BinaryOp, operator: Span, left: &Expr, right: &Expr) {
        let opposite = match op {
            BinaryOp::PipeRight => BinaryOp::PipeLeft,
            BinaryOp::PipeLeft => BinaryOp::PipeRight,
            _ => return,
        };
        for side in [left, right] {
            if let ExprKind::Binary(other, other_span, ..) = &side.kind
                && *other == opposite
            {
                let error = Diagnostic::error(
                    codes::CHAINED,
                    operator,
                    "`|>` and `<|` are mixed without parentheses",
                )
                .label("which is applied first is not clear")
                .also(*other_span, "the other one")
                .help("add parentheses");
                self.report_about(error);
            }
        }
    }

    fn unary(&mut self) -> Parse<Expr> {
        let op = match self.peek() {
            Tok::Minus => UnOp::Neg,
            Tok::Bang => UnOp::Not,
            Tok::Tilde => UnOp::Complement,
            _ => return self.application(),
        };
        let start = self.here();
        self.bump();
        let operand = self.nested(Self::unary)?;
        Ok(Expr {
            kind: ExprKind::Unary(UnaryOp::Scalar(op), Box::new(operand)),
            span: self.since(start),
        })
    }

    /// `f x y`; or a form such as `\x -> …` or `if`, which reaches as far as it can.
    fn application(&mut self) -> Parse<Expr> {
        if let Some(form) = self.form() {
            return form;
        }
        let start = self.here();
        let function = if self.peek() == Tok::Trace {
            self.trace()?
        } else {
            self.postfix()?
        };
        let mut arguments = Vec::new();
        while self.starts_atom() {
            arguments.push(self.nested(Self::postfix)?);
        }
        if arguments.is_empty() {
            return Ok(function);
        }
        self.wrap()?;
        Ok(Expr {
            kind: ExprKind::Apply(Box::new(function), arguments),
            span: self.since(start),
        })
    }

    /// `trace "label" e` takes its arguments like a function.
    fn trace(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let label = self.text_literal("a label in quotes after `trace`")?;
        if !self.starts_atom() {
            let error = self.unexpected_diagnostic("the value to trace").help(
                "`trace \"label\" e` needs the value; behind a pipe write `|> (\\x -> trace \"label\" x)`",
            );
            return Err(self.report(error));
        }
        let body = self.nested(Self::postfix)?;
        Ok(Expr {
            kind: ExprKind::Trace {
                label,
                body: Box::new(body),
            },
            span: self.since(start),
        })
    }

    /// A string that must be text.
    pub(super) fn text_literal(&mut self, expected: &str) -> Parse<Name> {
        if self.peek() != Tok::Str {
            return Err(self.unexpected(expected));
        }
        let token = self.bump();
        let bytes = self.string(token);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Name::from(text)),
            Err(_) => {
                let error = Diagnostic::error(
                    codes::BAD_ESCAPE,
                    token.span(self.file),
                    "this text is not valid UTF-8",
                )
                .label("`\\x` escapes here make bytes that are no text");
                self.report_about(error);
                Ok(Name::from(""))
            }
        }
    }

    fn starts_atom(&self) -> bool {
        matches!(
            self.peek(),
            Tok::Lower
                | Tok::Upper
                | Tok::Int
                | Tok::Float
                | Tok::Str
                | Tok::Char
                | Tok::True
                | Tok::False
                | Tok::LParen
                | Tok::LBracket
                | Tok::LBrace
                | Tok::Hash
                | Tok::Error
        )
    }

    /// An atom with what is glued to it: `a[i]`, `r.x`, `t.0.1`.
    fn postfix(&mut self) -> Parse<Expr> {
        let start = self.here();
        let mut expr = self.atom()?;
        loop {
            let token = self.token();
            if !token.is_glued() {
                return Ok(expr);
            }
            let kind = match token.kind {
                Tok::LBracket => {
                    let indices = self.group(|_| Vec::new(), Self::index_args)?;
                    ExprKind::Index(Box::new(expr), indices)
                }
                Tok::Dot => {
                    self.bump();
                    self.projection(expr)?
                }
                _ => return Ok(expr),
            };
            self.wrap()?;
            expr = Expr {
                kind,
                span: self.since(start),
            };
        }
    }

    fn projection(&mut self, expr: Expr) -> Parse<ExprKind> {
        let token = self.token();
        match token.kind {
            Tok::Int if token.is_glued() => {
                self.bump();
                match self.text_of(token).parse() {
                    Ok(position) => Ok(ExprKind::Project(Box::new(expr), position)),
                    Err(_) => {
                        self.report_about(*literal::too_large(token.span(self.file)));
                        Ok(ExprKind::Error)
                    }
                }
            }
            Tok::Lower if token.is_glued() => {
                self.bump();
                Ok(ExprKind::Field(Box::new(expr), self.ident_of(token)))
            }
            _ => {
                let error = self.unexpected_diagnostic("a field's name or a position directly behind `.`");
                let error = match expr.kind {
                    ExprKind::Int { value, .. } => {
                        error.help(format!("a float has digits on both sides: `{value}.0`"))
                    }
                    _ => error,
                };
                Err(self.report(error))
            }
        }
    }

    /// What stands between the brackets of `a[i, b:e:s, b:+n:s]`.
    pub(super) fn index_args(&mut self, open: usize) -> Parse<Vec<IndexArg>> {
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.index_arg()?);
            if !self.eat(Tok::Comma) || self.peek() == Tok::RBracket {
                break;
            }
        }
        self.close(open, "`,`, `:` or `]`")?;
        Ok(arguments)
    }

    fn index_arg(&mut self) -> Parse<IndexArg> {
        let start = self.here();
        let begin = self.slice_part()?;
        if !self.eat(Tok::Colon) {
            return match begin {
                Some(index) => Ok(IndexArg::At(index)),
                None => Err(self.unexpected("an index")),
            };
        }
        let bound = match self.eat(Tok::Plus) {
            true => SliceBound::Count,
            false => SliceBound::Before,
        };
        let end = self.slice_part()?;
        if bound == SliceBound::Count && end.is_none() {
            return Err(self.unexpected("the number of elements"));
        }
        let step = if self.eat(Tok::Colon) {
            self.slice_part()?
        } else {
            None
        };
        Ok(IndexArg::Slice {
            begin,
            end,
            bound,
            step,
            span: self.since(start),
        })
    }

    fn slice_part(&mut self) -> Parse<Option<Expr>> {
        match self.peek() {
            Tok::Colon | Tok::Comma | Tok::RBracket => Ok(None),
            _ => self.expr().map(Some),
        }
    }
}
