//! Expressions made of operators, applications and atoms.

use super::{Bar, Parse, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, InPlace, IndexArg, UnaryOp};
use crate::codes;
use crate::literal::{self, Number};
use crate::operator::{self, Associativity, Infix, Precedence, precedence_of};
use crate::token::{Tok, Token};
use almach_base::{Diagnostic, Name, Span};
use almach_prim::Annotation;
use almach_value::{ScalarType, UnOp};

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

    fn infix_here(&self) -> Option<Infix> {
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

    /// What stands between the brackets of `a[i, b:e:s]`.
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
        let end = self.slice_part()?;
        let step = if self.eat(Tok::Colon) {
            self.slice_part()?
        } else {
            None
        };
        Ok(IndexArg::Slice {
            begin,
            end,
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

    fn atom(&mut self) -> Parse<Expr> {
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
