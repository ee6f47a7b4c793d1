//! The forms that start with a word (or `\`) and reach as far to the right as they can.

use super::pattern::Separated;
use super::{Bar, Parse, Parser, Recovered};
use crate::ast::{
    Arm, BinaryOp, Binding, Def, DefKind, Expr, ExprKind, Loop, LoopForm, Pattern, PatternKind, Recursive,
};
use crate::codes;
use crate::operator;
use crate::token::{Spacing, Tok};
use almach_base::{Diagnostic, Span};
use almach_value::BinOp;

/// What a chain of `let`s came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChainEnd {
    /// `in` has been read.
    In,
    Missing,
}

impl Parser<'_> {
    /// The form that starts here, if one does.
    pub(super) fn form(&mut self) -> Option<Parse<Expr>> {
        Some(match self.peek() {
            Tok::Backslash => self.lambda(),
            Tok::Let => self.let_form(),
            Tok::If => self.if_form(),
            Tok::Case => self.case(),
            Tok::Loop => self.loop_form(),
            Tok::Assert => self.assert(),
            Tok::Foreach => self.foreach(),
            _ => return None,
        })
    }

    pub(super) fn lambda(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let params = self.params()?;
        if params.is_empty() {
            return Err(self.unexpected("a parameter"));
        }
        self.expect_arrow("a parameter or `->`")?;
        let body = self.expr()?;
        Ok(Expr {
            kind: ExprKind::Lambda(params, Box::new(body)),
            span: self.since(start),
        })
    }

    fn let_form(&mut self) -> Parse<Expr> {
        let start = self.here();
        let (bindings, end) = self.let_chain()?;
        if end == ChainEnd::Missing {
            return Err(self.missing_in(start));
        }
        let body = self.expr()?;
        Ok(Expr {
            kind: ExprKind::Let(bindings, Box::new(body)),
            span: self.since(start),
        })
    }

    /// `let … let … in let … in`: all of them are one chain.
    pub(super) fn let_chain(&mut self) -> Parse<(Vec<Binding>, ChainEnd)> {
        let mut bindings = Vec::new();
        while self.peek() == Tok::Let {
            match self.binding() {
                Ok(binding) => bindings.push(binding),
                Err(failed) => {
                    if !self.skip_to(&[Tok::Let, Tok::In]) {
                        return Err(failed);
                    }
                }
            }
            if self.eat(Tok::In) && self.peek() != Tok::Let {
                return Ok((bindings, ChainEnd::In));
            }
        }
        Ok((bindings, ChainEnd::Missing))
    }

    fn missing_in(&mut self, start: Span) -> super::Failed {
        let found = self.describe_found();
        let error = Diagnostic::error(
            codes::MISSING_IN,
            self.place(),
            format!("this `let` has no `in`: expected `in`, found {found}"),
        )
        .label("expected `in`")
        .also(start, "for this `let`");
        let error = match self.line_that_wants_in(start) {
            Some(line) => error.suggest(
                line,
                "in ",
                "the expression that uses the binding starts with `in`",
            ),
            None => error.help("`let x = e in body`; a chain of `let`s ends with one `in`"),
        };
        if self.recovered == Recovered::Yes {
            return super::Failed;
        }
        self.report(error)
    }

    /// The last line since the `let` at `start` that is indented no deeper than it: most likely the body.
    fn line_that_wants_in(&self, start: Span) -> Option<Span> {
        let indent = self.column(start);
        let mut at = self.at;
        while at > 0 {
            at -= 1;
            let token = self.token_at(at);
            if token.start <= start.start || token.kind == Tok::Let {
                return None;
            }
            let place = token.span(self.file);
            if token.spacing == Spacing::FirstOnLine && self.column(place) <= indent {
                return Some(Span {
                    end: place.start,
                    ..place
                });
            }
        }
        None
    }

    fn column(&self, place: Span) -> usize {
        let before = self.text.get(..place.start as usize).unwrap_or("");
        before.len() - before.rfind('\n').map_or(0, |line| line + 1)
    }

    fn binding(&mut self) -> Parse<Binding> {
        let start = self.here();
        self.bump();
        let recursive = if self.eat(Tok::Rec) {
            Recursive::Yes
        } else {
            Recursive::No
        };
        let names_function = self.peek() == Tok::Lower
            && !matches!(self.peek_at(1), Tok::Equals | Tok::Colon | Tok::EqEq | Tok::Comma);
        if recursive == Recursive::Yes || names_function {
            return self.local_functions(start, recursive);
        }
        let pattern = self.ascribed_pattern()?;
        self.expect_equals("`=`")?;
        let value = self.expr()?;
        self.refuse_stray_bracket()?;
        Ok(Binding::Value {
            pattern,
            value,
            span: self.since(start),
        })
    }

    fn local_functions(&mut self, start: Span, recursive: Recursive) -> Parse<Binding> {
        let mut functions = vec![self.def_after_keyword(start, DefKind::Local, recursive)?];
        while self.peek() == Tok::And {
            let and = self.here();
            if recursive == Recursive::No {
                let error = Diagnostic::error(codes::UNEXPECTED, and, "`and` without `let rec`")
                    .label("joins recursive functions only")
                    .also(start, "this `let` has no `rec`")
                    .help("write `let rec`, or a second `let` instead of `and`");
                self.report(error);
            }
            self.bump();
            functions.push(self.def_after_keyword(and, DefKind::Local, recursive)?);
        }
        Ok(Binding::Functions(functions))
    }

    /// `f [n] (x: t) y: r = e`, for `def`, `entry` and `let`.
    pub(super) fn def_after_keyword(
        &mut self,
        start: Span,
        kind: DefKind,
        recursive: Recursive,
    ) -> Parse<Def> {
        let name = self.binder("a name")?;
        let mut sizes = Vec::new();
        while self.peek() == Tok::LBracket {
            let size = self.group(
                |_| None,
                |parser, open| {
                    let size = parser.binder("the name of a size")?;
                    parser.close(open, "`]`")?;
                    Ok(Some(size))
                },
            )?;
            sizes.extend(size);
        }
        let params = self.params()?;
        let result = if self.eat(Tok::Colon) {
            Some(self.ty()?)
        } else {
            None
        };
        self.expect_equals(match (params.is_empty(), &result) {
            (_, Some(_)) => "`=` and the definition",
            (true, None) => "a parameter, `:` or `=`",
            (false, None) => "another parameter, `:` or `=`",
        })?;
        let body = self.expr()?;
        Ok(Def {
            kind,
            recursive,
            name,
            sizes,
            params,
            result,
            body,
            span: self.since(start),
        })
    }

    fn if_form(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let condition = self.condition()?;
        if self.peek() != Tok::Then {
            let error = self
                .unexpected_diagnostic("an operator or `then`")
                .also(start, "for this `if`");
            return Err(self.report(error));
        }
        self.bump();
        let yes = self.expr()?;
        if self.peek() != Tok::Else {
            let error = self
                .unexpected_diagnostic("an operator or `else`")
                .also(start, "for this `if`")
                .note("every `if` is a value and has both branches");
            return Err(self.report(error));
        }
        self.bump();
        let no = self.expr()?;
        Ok(Expr {
            kind: ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)),
            span: self.since(start),
        })
    }

    /// A condition, in which `=` is most likely meant as `==`.
    fn condition(&mut self) -> Parse<Expr> {
        let start = self.here();
        let left = self.expr()?;
        if self.peek() != Tok::Equals {
            return Ok(left);
        }
        let equals = self.here();
        let error = Diagnostic::error(
            codes::EQUALS_IN_CONDITION,
            equals,
            "`=` binds a name; to compare, write `==`",
        )
        .label("in a condition")
        .suggest(equals, "==", "compare with `==`");
        self.report(error);
        self.bump();
        let right = self.nested(|parser| parser.operators(operator::PIPE))?;
        let op = BinaryOp::Scalar(BinOp::Eq);
        Ok(Expr {
            kind: ExprKind::Binary(op, equals, Box::new(left), Box::new(right)),
            span: self.since(start),
        })
    }

    fn case(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let scrutinee = self.expr()?;
        if self.peek() != Tok::Of {
            let error = self
                .unexpected_diagnostic("an operator or `of`")
                .also(start, "for this `case`");
            return Err(self.report(error));
        }
        self.bump();
        let bar = std::mem::replace(&mut self.bar, Bar::StartsArm);
        let arms = self.arms();
        self.bar = bar;
        Ok(Expr {
            kind: ExprKind::Case(Box::new(scrutinee), arms?),
            span: self.since(start),
        })
    }

    fn arms(&mut self) -> Parse<Vec<Arm>> {
        let mut arms = Vec::new();
        let mut start = self.here();
        if !self.eat(Tok::Bar) && !self.starts_pattern_atom() && self.peek() != Tok::Minus {
            return Err(self.unexpected("`|` and a pattern"));
        }
        loop {
            match self.arm(start) {
                Ok(arm) => arms.push(arm),
                Err(failed) => {
                    if !self.skip_to(&[Tok::Bar]) {
                        return Err(failed);
                    }
                }
            }
            start = self.here();
            if !self.eat(Tok::Bar) {
                return Ok(arms);
            }
        }
    }

    fn arm(&mut self, start: Span) -> Parse<Arm> {
        let pattern = self.pattern()?;
        let guard = if self.eat(Tok::If) {
            Some(self.condition()?)
        } else {
            None
        };
        if self.peek() == Tok::Bar && guard.is_none() {
            let error = self
                .unexpected_diagnostic("`if` or `->` after the pattern")
                .help("an arm has one pattern; write one arm for each");
            return Err(self.report(error));
        }
        self.expect_arrow(match guard {
            Some(_) => "an operator or `->`",
            None => "`if` or `->` after the pattern",
        })?;
        let body = self.expr()?;
        Ok(Arm {
            pattern,
            guard,
            body,
            span: self.since(start),
        })
    }

    fn loop_form(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let (pattern, mut initial) = self.loop_state()?;
        if initial.is_none() && self.eat(Tok::Equals) {
            initial = Some(self.expr()?);
        }
        let form = match self.peek() {
            Tok::For => self.for_form()?,
            Tok::While => {
                self.bump();
                LoopForm::While(self.condition()?)
            }
            _ => return Err(self.unexpected("`for` or `while`")),
        };
        self.expect(Tok::Do)?;
        let body = self.expr()?;
        Ok(Expr {
            kind: ExprKind::Loop(Box::new(Loop {
                pattern,
                initial,
                form,
                body,
            })),
            span: self.since(start),
        })
    }

    fn for_form(&mut self) -> Parse<LoopForm> {
        self.bump();
        let index = self.binder("the name of the loop's index")?;
        if self.peek() == Tok::In {
            let error = self
                .unexpected_diagnostic("`<` and the number of iterations")
                .help("a loop counts: `for i < length xs do … xs[i] …`");
            return Err(self.report(error));
        }
        self.expect(Tok::Lt)?;
        let bound = self.expr()?;
        Ok(LoopForm::For { index, bound })
    }

    /// `(p = e)`, `(p)`, or a pattern whose `= e` comes behind it.
    fn loop_state(&mut self) -> Parse<(Pattern, Option<Expr>)> {
        if self.peek() != Tok::LParen {
            return Ok((self.pattern()?, None));
        }
        self.group(
            |span| (Pattern::error(span), None),
            |parser, open| {
                let start = parser.token_at(open).span(parser.file);
                let (mut patterns, separated) = parser.pattern_list()?;
                let inner = parser.since(start);
                let initial = if !patterns.is_empty() && parser.eat(Tok::Equals) {
                    let value = parser.expr()?;
                    parser.refuse_second_state()?;
                    Some(value)
                } else {
                    None
                };
                parser.close(
                    open,
                    if initial.is_some() {
                        "`)`"
                    } else {
                        "`=`, `,` or `)`"
                    },
                )?;
                let pattern = match (patterns.pop(), separated) {
                    (Some(only), Separated::No) => only,
                    (last, _) => {
                        patterns.extend(last);
                        Pattern {
                            kind: PatternKind::Tuple(patterns),
                            span: inner,
                        }
                    }
                };
                Ok((pattern, initial))
            },
        )
    }

    fn refuse_second_state(&mut self) -> Parse<()> {
        if self.peek() != Tok::Comma {
            return Ok(());
        }
        let error = self
            .unexpected_diagnostic("`)`")
            .help("a loop has one pattern and one initial value: `loop ((a, b) = (0, 1)) for …`");
        Err(self.report(error))
    }

    fn assert(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let condition = self.condition()?;
        if self.peek() != Tok::Comma {
            let error = self
                .unexpected_diagnostic("an operator or `,`")
                .help("`assert condition, \"what went wrong\" in e`");
            return Err(self.report(error));
        }
        self.bump();
        let text = self.text_literal("a message in quotes")?;
        self.expect(Tok::In)?;
        let body = self.expr()?;
        Ok(Expr {
            kind: ExprKind::Assert {
                condition: Box::new(condition),
                text,
                body: Box::new(body),
            },
            span: self.since(start),
        })
    }

    fn foreach(&mut self) -> Parse<Expr> {
        let start = self.here();
        self.bump();
        let node = self.pattern()?;
        self.expect(Tok::In)?;
        let datum = self.expr()?;
        self.expect(Tok::With)?;
        let rename = self.binder("the name of the function to new references")?;
        self.expect(Tok::Comma)?;
        let down = self.binder("the name of the function that looks references up")?;
        self.expect(Tok::Do)?;
        let body = self.expr()?;
        Ok(Expr {
            kind: ExprKind::Foreach {
                node: Box::new(node),
                datum: Box::new(datum),
                rename,
                down,
                body: Box::new(body),
            },
            span: self.since(start),
        })
    }
}
