//! Expressions: names, numbers, applications, tuples, components and elements.

use crate::lexer::{Kind, Token};
use crate::literal;
use crate::operators::{Operator, applied, operator, unary};
use crate::reader::{Failed, RESERVED, Read, Reader, apply, describe, error, expr, unit, variable};
use crate::tree::{List, Tree, span_of, too_deep};
use almach_base::Span;
use almach_syntax::ast::{BinaryOp, Expr, ExprKind, IndexArg};
use almach_value::{BinOp, UnOp};

/// How many `.0` and `! i` may follow one expression.
const MOST_ACCESSES: usize = 500;

impl<'s> Reader<'s> {
    /// A sequence of trees as one expression; an error expression where it is none.
    pub fn expr_or_error(&mut self, items: &[Tree<'s>], or: Span) -> Expr {
        let span = span_of(items, or);
        self.sequence(items, or).unwrap_or_else(|Failed| error(span))
    }

    /// A form, or a function and its arguments. Brackets around it have been taken off, or were left out, as the paper
    /// allows for applications and `let`.
    pub fn sequence(&mut self, items: &[Tree<'s>], or: Span) -> Read<Expr> {
        let Some(first) = items.first() else {
            return self.malformed(or, "expected an expression", "");
        };
        let span = span_of(items, or);
        self.nested(span, |this| match first.word() {
            Some("if") => this.if_form(items, span),
            Some("case") => this.case_form(items, span),
            Some("let") => this.let_form(items, span),
            Some("lambda") => this.lambda_form(items, span),
            Some("mu") => this.mu_form(items, span),
            Some(word @ ("then" | "else" | "in" | "types" | "foreign")) => {
                this.malformed(first.span(), format!("`{word}` does not start an expression"), "")
            }
            _ => this.application(items, span),
        })
    }

    /// What a list is as an expression.
    fn list(&mut self, list: &List<'s>) -> Read<Expr> {
        if list.items.is_empty() {
            return Ok(unit(list.span));
        }
        if list.items.iter().any(|item| item.is(Kind::Comma)) {
            return self.tuple(list);
        }
        let inner = self.sequence(&list.items, list.span)?;
        // The whole form is what messages point at.
        Ok(Expr {
            span: list.span,
            ..inner
        })
    }

    fn tuple(&mut self, list: &List<'s>) -> Read<Expr> {
        self.nested(list.span, |this| {
            let parts = list
                .items
                .split(|item| item.is(Kind::Comma))
                .map(|part| this.expr_or_error(part, list.span))
                .collect();
            Ok(expr(ExprKind::Tuple(parts), list.span))
        })
    }

    fn application(&mut self, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        if let Some(minus) = glued_minus(items) {
            return self.subtraction(minus, items, span);
        }
        let head = items.first().and_then(Tree::token).copied();
        let accessed = items
            .get(1)
            .is_some_and(|next| next.is(Kind::Dot) || next.is(Kind::Bang));
        if let Some(token) = head.filter(|_| !accessed) {
            let rest = items.get(1..).unwrap_or_default();
            if let Some(operator) = operator_of(&token) {
                let args = self.arguments(rest)?;
                return Ok(applied(operator, token.span, args, span));
            }
            if let Some(payload) = self.constructor(token.text).filter(|_| token.kind == Kind::Word) {
                let args = self.arguments(rest)?;
                return self.construct(token.text, payload, token.span, args, span);
            }
        }
        let mut rest = items;
        let function = self.accessed(&mut rest)?;
        let args = self.arguments(rest)?;
        Ok(apply(function, args, span))
    }

    /// `(-1 x)` is `(- 1 x)`: a number is no function.
    fn subtraction(&mut self, number: &Token<'s>, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        let minus = Span {
            end: number.span.start + 1,
            ..number.span
        };
        let digits = Span {
            start: minus.end,
            ..number.span
        };
        let first = self.number(number.text.get(1..).unwrap_or(""), digits)?;
        let mut args = vec![first];
        args.extend(self.arguments(items.get(1..).unwrap_or_default())?);
        let operator = Operator::Binary(BinaryOp::Scalar(BinOp::Sub));
        Ok(applied(operator, minus, args, span))
    }

    /// All expressions of a sequence. A wrong one is reported and does not hide the others.
    fn arguments(&mut self, items: &[Tree<'s>]) -> Read<Vec<Expr>> {
        let mut rest = items;
        let mut args = Vec::new();
        while let Some(next) = rest.first() {
            let span = next.span();
            match self.accessed(&mut rest) {
                Ok(arg) => args.push(arg),
                Err(Failed) if next.list().is_some() => args.push(error(span)),
                Err(Failed) => return Err(Failed),
            }
        }
        Ok(args)
    }

    /// One expression at the start of a sequence, with the components and elements that are taken of it.
    pub fn accessed(&mut self, rest: &mut &[Tree<'s>]) -> Read<Expr> {
        let mut value = self.atom(rest)?;
        for _ in 0..MOST_ACCESSES {
            value = match rest.first() {
                Some(dot) if dot.is(Kind::Dot) => self.component(value, rest)?,
                Some(bang) if bang.is(Kind::Bang) => self.element(value, bang.span(), rest)?,
                _ => return Ok(value),
            };
        }
        self.errors.push(too_deep(value.span));
        Err(Failed)
    }

    /// `.0`, behind a tuple.
    fn component(&mut self, tuple: Expr, rest: &mut &[Tree<'s>]) -> Read<Expr> {
        let dot = rest.first().map_or(tuple.span, Tree::span);
        let position = rest.get(1).filter(|tree| tree.is(Kind::Number));
        let index = position.and_then(|tree| tree.token()?.text.parse::<u32>().ok());
        let (Some(position), Some(index)) = (position, index) else {
            let place = rest.get(1).map_or(dot, Tree::span);
            return self.malformed(
                place,
                "expected the position of a component behind the dot",
                "components are counted from 0: `(t.0)`",
            );
        };
        let span = tuple.span.to(position.span());
        *rest = rest.get(2..).unwrap_or_default();
        Ok(expr(ExprKind::Project(Box::new(tuple), index), span))
    }

    /// `! i` or `! (i, j)`, behind a vector.
    fn element(&mut self, vector: Expr, bang: Span, rest: &mut &[Tree<'s>]) -> Read<Expr> {
        *rest = rest.get(1..).unwrap_or_default();
        if rest.is_empty() {
            return self.malformed(
                bang,
                "expected an index behind `!`",
                "an element is `(X ! i)`, of a matrix `(M ! (i, j))`",
            );
        }
        let mut index = self.atom(rest)?;
        while rest.first().is_some_and(|tree| tree.is(Kind::Dot)) {
            index = self.component(index, rest)?;
        }
        let span = vector.span.to(index.span);
        let indices = match index.kind {
            ExprKind::Tuple(parts) if !parts.is_empty() => parts,
            _ => vec![index],
        };
        let indices = indices.into_iter().map(IndexArg::At).collect();
        Ok(expr(ExprKind::Index(Box::new(vector), indices), span))
    }

    fn atom(&mut self, rest: &mut &[Tree<'s>]) -> Read<Expr> {
        let Some((first, more)) = rest.split_first() else {
            return Err(Failed);
        };
        *rest = more;
        let token = match first {
            Tree::List(list) => return self.list(list),
            Tree::Token(token) => token,
        };
        match token.kind {
            Kind::Number => self.number(token.text, token.span),
            Kind::NegativeNumber => {
                let digits = Span {
                    start: token.span.start + 1,
                    ..token.span
                };
                let magnitude = self.number(token.text.get(1..).unwrap_or(""), digits)?;
                Ok(unary(UnOp::Neg, magnitude, token.span))
            }
            Kind::Word => self.word(token),
            Kind::Symbol => match operator_of(token) {
                Some(operator) => Ok(applied(operator, token.span, Vec::new(), token.span)),
                // The lexer has said that there is no such operator.
                None => Err(Failed),
            },
            Kind::Open
            | Kind::Close
            | Kind::Comma
            | Kind::Colon
            | Kind::Dot
            | Kind::Bang
            | Kind::Arrow
            | Kind::Hash
            | Kind::TypeVar => {
                let found = describe(first);
                self.malformed(
                    token.span,
                    format!("expected an expression, found {found}"),
                    "types are written on inputs, on the parameters of `lambda` and `mu`, and before the body of a `lambda`",
                )
            }
        }
    }

    fn word(&mut self, token: &Token<'s>) -> Read<Expr> {
        let span = token.span;
        match token.text {
            "true" => return Ok(expr(ExprKind::Bool(true), span)),
            "false" => return Ok(expr(ExprKind::Bool(false), span)),
            "nil" => return Ok(unit(span)),
            _ => {}
        }
        if let Some(operator) = operator_of(token) {
            return Ok(applied(operator, span, Vec::new(), span));
        }
        if let Some(payload) = self.constructor(token.text) {
            return self.construct(token.text, payload, span, Vec::new(), span);
        }
        if token.text == "_" {
            return self.malformed(
                span,
                "`_` has no value",
                "`_` stands where a name is bound that nobody uses",
            );
        }
        if !RESERVED.contains(&token.text) {
            return Ok(variable(token.text, span));
        }
        let word = token.text;
        let help = if crate::types::scalar(word).is_some() {
            format!("to convert a number write `(to_{word} x)`")
        } else {
            format!("a form that starts with `{word}` stands in brackets")
        };
        self.malformed(span, format!("`{word}` is a word of NOVA and no value"), &help)
    }

    pub fn number(&mut self, text: &str, span: Span) -> Read<Expr> {
        match literal::number(text, span) {
            Ok(kind) => Ok(expr(kind, span)),
            Err(diagnostic) => {
                self.errors.push(*diagnostic);
                Err(Failed)
            }
        }
    }
}

pub fn operator_of(token: &Token<'_>) -> Option<Operator> {
    match token.kind {
        Kind::Symbol | Kind::Word => operator(token.text),
        _ => None,
    }
}

/// A negative number with arguments behind it.
fn glued_minus<'t, 's>(items: &'t [Tree<'s>]) -> Option<&'t Token<'s>> {
    let token = items.first()?.token()?;
    (token.kind == Kind::NegativeNumber && items.len() > 1).then_some(token)
}
