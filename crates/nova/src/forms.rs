//! `if`, `case`, `let`.

use crate::codes;
use crate::expr::operator_of;
use crate::functions::{alias, lambda_of};
use crate::lexer::Kind;
use crate::operators::Operator;
use crate::reader::{Failed, Read, Reader, binder, describe, error, expr, pattern};
use crate::tree::{List, Tree, span_of};
use almach_base::Span;
use almach_syntax::ast::{Arm, Binding, Expr, ExprKind, PatternKind};

const IF: &str = "a conditional is `(if condition then yes else no)`";
const CASE: &str = "an arm is a constructor, a name for what it holds, and an expression: `(Some x (+ x 1))`";
const LET: &str = "a `let` is `(let (x e) (y e) in body)`";

/// An operator with fewer arguments than it takes, none of which costs anything to compute again.
fn is_cheap_function(value: &[Tree<'_>]) -> bool {
    match value {
        [Tree::List(list)] => is_cheap_function(&list.items),
        [Tree::Token(token), rest @ ..] => {
            let missing = match operator_of(token) {
                Some(Operator::Unary(_)) => rest.is_empty(),
                Some(Operator::Binary(_)) => rest.len() < 2,
                None => false,
            };
            missing && rest.iter().all(|arg| arg.token().is_some())
        }
        _ => false,
    }
}

impl<'s> Reader<'s> {
    pub fn if_form(&mut self, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        let find = |word: &str, from: usize| {
            (from..items.len()).find(|at| items.get(*at).is_some_and(|item| item.is_word(word)))
        };
        let Some(then) = find("then", 1) else {
            return self.malformed(span, "this `if` has no `then`", IF);
        };
        let Some(otherwise) = find("else", then + 1) else {
            return self.malformed(span, "this `if` has no `else`", IF);
        };
        let mut part = |from: usize, to: usize, word: usize| {
            let place = items.get(word).map_or(span, Tree::span);
            Box::new(self.expr_or_error(items.get(from..to).unwrap_or_default(), place))
        };
        let condition = part(1, then, 0);
        let yes = part(then + 1, otherwise, then);
        let no = part(otherwise + 1, items.len(), otherwise);
        Ok(expr(ExprKind::If(condition, yes, no), span))
    }

    pub fn case_form(&mut self, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        let mut rest = items.get(1..).unwrap_or_default();
        if rest.is_empty() {
            return self.malformed(span, "this `case` has nothing to look at", CASE);
        }
        let scrutinee = self.accessed(&mut rest)?;
        if rest.is_empty() {
            return self.malformed(span, "this `case` has no arms", CASE);
        }
        let mut arms = Vec::new();
        for item in rest {
            match item {
                Tree::List(list) => arms.extend(self.arm(list).ok()),
                Tree::Token(_) => {
                    let found = describe(item);
                    return self.malformed(
                        item.span(),
                        format!("expected an arm in brackets, found {found}"),
                        CASE,
                    );
                }
            }
        }
        if arms.len() < rest.len() {
            // Reported; the arms that are left do not cover everything.
            return Ok(error(span));
        }
        Ok(expr(ExprKind::Case(Box::new(scrutinee), arms), span))
    }

    fn arm(&mut self, list: &List<'s>) -> Read<Arm> {
        let [head, rest @ ..] = list.items.as_slice() else {
            return self.malformed(list.span, "this arm is empty", CASE);
        };
        let (name, ident) = self.name(head, "a constructor")?;
        let payload = self.constructors.get(name).copied();
        let (bound, body_items) = match rest {
            [] => return self.malformed(list.span, "this arm has no expression", CASE),
            // Nothing is held, or nobody looks at it: the name may be left out.
            [_only] => (None, rest),
            [bound, body @ ..] => (
                Some(self.name(bound, "the name of what the constructor holds")?),
                body,
            ),
        };
        let names: Vec<&'s str> = bound.iter().map(|(name, _)| *name).collect();
        let body = self.binding(&names, |this| this.expr_or_error(body_items, list.span));
        let bound = bound.as_ref().map(|(name, ident)| (*name, ident.span));
        let (pattern, body) = match payload {
            Some(payload) => self.matched(name, payload, ident.span, bound, body),
            None if name == "_" => {
                let whole = bound.map_or(pattern(PatternKind::Wildcard, ident.span), |(name, span)| {
                    binder(name, span)
                });
                (whole, body)
            }
            None => {
                return self.fail(
                    codes::NOVA_CONSTRUCTOR,
                    ident.span,
                    format!("there is no constructor `{name}`"),
                    "not in the `types` section",
                    "declare it: `(types (T : (+ (A : int) (B : unit))))`; `(_ e)` matches everything",
                );
            }
        };
        Ok(Arm {
            pattern,
            guard: None,
            body,
            span: list.span,
        })
    }

    /// Definitions see those before them. Where `in` is left out, as the paper does once, the last item is the body.
    pub fn let_form(&mut self, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        let rest = items.get(1..).unwrap_or_default();
        let (definitions, body) = match rest.iter().position(|item| item.is_word("in")) {
            Some(at) => (
                rest.get(..at).unwrap_or_default(),
                rest.get(at + 1..).unwrap_or_default(),
            ),
            None => rest.split_at(rest.len().saturating_sub(1)),
        };
        if definitions.is_empty() || body.is_empty() {
            let what = if body.is_empty() {
                "this `let` has no body"
            } else {
                "this `let` defines nothing"
            };
            return self.malformed(span, what, LET);
        }
        self.definitions(definitions, body, span)
    }

    fn definitions(&mut self, definitions: &[Tree<'s>], body: &[Tree<'s>], span: Span) -> Read<Expr> {
        let mut names: Vec<&'s str> = Vec::new();
        let mut bindings = Vec::new();
        for definition in definitions {
            match self.binding(&names, |this| this.definition(definition)) {
                Ok((name, binding)) => {
                    names.push(name);
                    bindings.push(binding);
                }
                Err(Failed) if definition.list().is_some() => {}
                // Without brackets nothing says where the next one starts.
                Err(Failed) => return Err(Failed),
            }
        }
        let complete = bindings.len() == definitions.len();
        let body = self.binding(&names, |this| this.expr_or_error(body, span));
        // A definition that is missing would be missed by name as well.
        Ok(if complete {
            expr(ExprKind::Let(bindings, Box::new(body)), span)
        } else {
            error(span)
        })
    }

    fn definition(&mut self, tree: &Tree<'s>) -> Read<(&'s str, Binding)> {
        let Some([name, value @ ..]) = tree.list().map(|list| list.items.as_slice()) else {
            let found = describe(tree);
            return self.malformed(
                tree.span(),
                format!("expected a definition in brackets, found {found}"),
                LET,
            );
        };
        let (word, ident) = self.name(name, "the name of a definition")?;
        if value.is_empty() {
            return self.malformed(tree.span(), format!("`{word}` has no value"), LET);
        }
        if value.first().is_some_and(|next| next.is(Kind::Colon)) {
            return self.malformed(
                span_of(value, tree.span()),
                "a `let` takes no type",
                "types are written on the parameters and before the body of a `lambda`",
            );
        }
        let binding = if word != "_" && lambda_of(value).is_some() {
            Binding::Functions(vec![self.function(word, ident, value, tree.span())?])
        } else if word != "_" && is_cheap_function(value) {
            // As general as a `lambda`: `(let (inc (+ 1)) in …)` is for every number.
            let body = self.expr_or_error(value, tree.span());
            Binding::Functions(vec![alias(ident, body, tree.span())])
        } else {
            Binding::Value {
                pattern: binder(word, ident.span),
                value: self.expr_or_error(value, tree.span()),
                span: tree.span(),
            }
        };
        Ok((word, binding))
    }
}
