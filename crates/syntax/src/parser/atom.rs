//! Atoms: literals, names, and everything in brackets.

use super::{Parse, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::codes;
use crate::literal::{self, Number};
use crate::operator::{Associativity, precedence_of};
use crate::token::{Tok, Token};
use almach_base::{Diagnostic, Name};
use almach_prim::Annotation;
use almach_value::ScalarType;

impl Parser<'_> {
    pub(super) fn atom(&mut self) -> Parse<Expr> {
        let token = self.token();
        let span = self.here();
        let kind = match token.kind {
            Tok::Int | Tok::Float => {
                self.bump();
                self.number(token)
            }
            Tok::Str => {
                self.bump();
                ExprKind::Str(self.string(token))
            }
            Tok::Char => {
                self.bump();
                ExprKind::Int {
                    value: self.character(token).into(),
                    suffix: Some(ScalarType::U8),
                }
            }
            Tok::True | Tok::False => {
                self.bump();
                ExprKind::Bool(token.kind == Tok::True)
            }
            Tok::Lower => return self.lower_name(),
            Tok::Upper => {
                let (path, last) = self.upper_path();
                if last == Tok::Lower {
                    return self.annotated(path, Annotation::NONE);
                }
                ExprKind::Constructor(path)
            }
            Tok::Hash => {
                self.bump();
                self.node_constructor()?
            }
            Tok::LParen => return self.group(Expr::error, Self::paren),
            Tok::LBracket => return self.group(Expr::error, Self::array),
            Tok::LBrace => return self.group(Expr::error, Self::record),
            Tok::Error => {
                self.bump();
                ExprKind::Error
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr {
            kind,
            span: self.since(span),
        })
    }

    fn number(&mut self, token: Token) -> ExprKind {
        match literal::number(self.text_of(token), token.span(self.file)) {
            Ok(Number::Int { value, suffix }) => ExprKind::Int { value, suffix },
            Ok(Number::Float { text, suffix }) => ExprKind::Float {
                text: Name::from(text),
                suffix,
            },
            Err(error) => {
                self.report_about(*error);
                ExprKind::Error
            }
        }
    }

    pub(super) fn string(&mut self, token: Token) -> Vec<u8> {
        let (bytes, errors) = literal::string(self.text_of(token), token.span(self.file));
        for error in errors {
            self.report_about(error);
        }
        bytes
    }

    pub(super) fn character(&mut self, token: Token) -> u8 {
        literal::character(self.text_of(token), token.span(self.file)).unwrap_or_else(|error| {
            self.report_about(*error);
            0
        })
    }

    fn node_constructor(&mut self) -> Parse<ExprKind> {
        if self.peek() == Tok::Upper && self.token().is_glued() {
            let (path, last) = self.upper_path();
            if last == Tok::Upper {
                return Ok(ExprKind::NodeConstructor(path));
            }
        }
        Err(self.unexpected("a constructor directly behind `#`"))
    }

    /// `()`, `(e)`, `(a, b)`, `(e : t)`, `(+)`, `(+ 1)`, `(2 *)`.
    fn paren(&mut self, open: usize) -> Parse<Expr> {
        let start = self.token_at(open).span(self.file);
        let kind = self.paren_content(open)?;
        Ok(Expr {
            kind,
            span: self.since(start),
        })
    }

    fn paren_content(&mut self, open: usize) -> Parse<ExprKind> {
        if self.eat(Tok::RParen) {
            return Ok(ExprKind::Tuple(Vec::new()));
        }
        if let Some(op) = self.section_operator() {
            return self.right_section(open, op);
        }
        let first = self.expr()?;
        match self.peek() {
            Tok::RParen => {
                self.bump();
                Ok(ExprKind::Paren(Box::new(first)))
            }
            Tok::Comma => self.tuple(open, first),
            Tok::Colon => {
                self.bump();
                let ty = self.ty()?;
                self.close(open, "`)`")?;
                Ok(ExprKind::Ascribe(Box::new(first), Box::new(ty)))
            }
            found => match BinaryOp::from_token(found) {
                Some(op) if self.peek_at(1) == Tok::RParen => {
                    self.check_left_section(op, &first);
                    self.bump();
                    self.bump();
                    Ok(ExprKind::LeftSection(op, Box::new(first)))
                }
                _ => {
                    self.close(open, "an operator, `,` or `)`")?;
                    Ok(ExprKind::Error)
                }
            },
        }
    }

    /// An operator at the start of parentheses; `-` is negation unless it stands alone.
    fn section_operator(&self) -> Option<BinaryOp> {
        if self.peek() == Tok::Minus && self.peek_at(1) != Tok::RParen {
            return None;
        }
        BinaryOp::from_token(self.peek())
    }

    fn right_section(&mut self, open: usize, op: BinaryOp) -> Parse<ExprKind> {
        let operator = self.bump().span(self.file);
        if self.eat(Tok::RParen) {
            return Ok(ExprKind::Operator(op));
        }
        let least = match op.associativity() {
            Associativity::Right => op.precedence(),
            Associativity::Left | Associativity::None => op.precedence() + 1,
        };
        let right = self.nested(|parser| parser.operators(least))?;
        if self.infix_here().is_some() {
            let error = Diagnostic::error(
                codes::UNCLEAR_SECTION,
                self.here(),
                format!(
                    "{} binds less tightly than the section's `{}`",
                    self.peek().describe(),
                    op.symbol()
                ),
            )
            .label("not part of the section")
            .also(operator, "the section starts here")
            .help("put the operand in parentheses, or write a lambda");
            return Err(self.report(error));
        }
        self.close(open, "an operator or `)`")?;
        Ok(ExprKind::RightSection(op, Box::new(right)))
    }

    /// `(a + b *)` would have to mean `(a + b) * _`.
    fn check_left_section(&mut self, op: BinaryOp, left: &Expr) {
        let inner = precedence_of(&left.kind);
        let holds = match op.associativity() {
            Associativity::Left => inner >= op.precedence(),
            Associativity::Right | Associativity::None => inner > op.precedence(),
        };
        if !holds {
            let error = Diagnostic::error(
                codes::UNCLEAR_SECTION,
                self.here(),
                format!(
                    "this `{}` binds more tightly than what stands before it",
                    op.symbol()
                ),
            )
            .label("the section's operator")
            .also(left.span, "this is not one operand of it")
            .help("put the operand in parentheses");
            self.report_about(error);
        }
    }

    fn tuple(&mut self, open: usize, first: Expr) -> Parse<ExprKind> {
        let mut elements = vec![first];
        while self.eat(Tok::Comma) {
            if self.peek() == Tok::RParen && elements.len() > 1 {
                break;
            }
            elements.push(self.expr()?);
        }
        self.close(open, "an operator, `,` or `)`")?;
        Ok(ExprKind::Tuple(elements))
    }

    fn array(&mut self, open: usize) -> Parse<Expr> {
        let start = self.token_at(open).span(self.file);
        let mut elements = Vec::new();
        while self.peek() != Tok::RBracket {
            elements.push(self.expr()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.close(open, "an operator, `,` or `]`")?;
        Ok(Expr {
            kind: ExprKind::Array(elements),
            span: self.since(start),
        })
    }

    fn record(&mut self, open: usize) -> Parse<Expr> {
        let start = self.token_at(open).span(self.file);
        let mut fields = Vec::new();
        let mut colons = 0;
        while self.peek() != Tok::RBrace || fields.is_empty() {
            let name = self.binder("a field's name")?;
            if self.peek() == Tok::Colon {
                colons += 1;
                self.colon_in_record(colons);
            } else {
                self.expect_equals("`=` and the field's value")?;
            }
            fields.push((name, self.expr()?));
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.close(open, "an operator, `,` or `}`")?;
        Ok(Expr {
            kind: ExprKind::Record(fields),
            span: self.since(start),
        })
    }

    /// `{x: 1.0, y: 2.0}`: one error for all its fields.
    fn colon_in_record(&mut self, count: usize) {
        let colon = self.bump().span(self.file);
        let error = Diagnostic::error(
            codes::UNEXPECTED,
            colon,
            "expected `=` and the field's value, found `:`",
        )
        .label("expected `=`")
        .suggest(colon, " =", "in a value, fields are written `name = value`");
        if count == 1 {
            self.report_about(error);
        }
    }
}
