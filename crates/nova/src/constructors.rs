//! Constructors take one value in NOVA: nothing (`unit`), a tuple, or something else. Here a tuple's components are fields
//! of their own, so `(Cons (x, xs))` is `Cons x xs`, and `(None nil)` is `None`.

use crate::codes;
use crate::reader::{Read, Reader, apply, expr, path, pattern, unit, variable};
use almach_base::{Name, Span};
use almach_syntax::ast::{
    Binding, ConstructorDecl, Expr, ExprKind, Ident, Param, Pattern, PatternKind, TypeExpr, TypeKind,
};

/// What a constructor holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    Unit,
    One,
    /// The components of a tuple, two or more.
    Tuple(usize),
}

/// The constructors of the prelude, which a file may declare anew.
pub const PRELUDE: [(&str, Payload); 6] = [
    ("None", Payload::Unit),
    ("Some", Payload::One),
    ("Ok", Payload::One),
    ("Err", Payload::One),
    ("Nil", Payload::Unit),
    ("Cons", Payload::Tuple(2)),
];

/// A constructor by the type of what it holds.
pub fn declared(name: Ident, payload: TypeExpr, span: Span) -> (ConstructorDecl, Payload) {
    let (fields, payload) = match payload.kind {
        TypeKind::Tuple(parts) if parts.is_empty() => (Vec::new(), Payload::Unit),
        TypeKind::Tuple(parts) => {
            let count = parts.len();
            (parts, Payload::Tuple(count))
        }
        _ => (vec![payload], Payload::One),
    };
    (ConstructorDecl { name, fields, span }, payload)
}

impl<'s> Reader<'s> {
    /// A constructor with its arguments, of which there should be one or none.
    pub fn construct(
        &mut self,
        name: &str,
        payload: Payload,
        name_span: Span,
        args: Vec<Expr>,
        span: Span,
    ) -> Read<Expr> {
        let constructor = expr(ExprKind::Constructor(path(name, name_span)), name_span);
        let mut args = args.into_iter();
        let (given, more) = (args.next(), args.next());
        if let Some(more) = more {
            return self.fail(
                codes::NOVA_CONSTRUCTOR,
                more.span,
                format!("the constructor `{name}` takes one argument"),
                "one too many",
                "several values are one tuple: `(Cons (x, xs))`",
            );
        }
        Ok(match (payload, given) {
            (Payload::Unit, None) => constructor,
            (Payload::Unit, Some(nothing)) if nothing.kind == ExprKind::Tuple(Vec::new()) => constructor,
            (Payload::Unit, Some(value)) => bind(unit_pattern(value.span), value, constructor, span),
            (Payload::One, given) => apply(constructor, given.into_iter().collect(), span),
            (Payload::Tuple(count), Some(value)) => match value.kind {
                ExprKind::Tuple(parts) if parts.len() == count => apply(constructor, parts, span),
                _ => {
                    let (pattern, parts) = taken_apart(count, value.span);
                    bind(pattern, value, apply(constructor, parts, span), span)
                }
            },
            (Payload::Tuple(count), None) => {
                let (pattern, parts) = taken_apart(count, span);
                let body = apply(constructor, parts, span);
                expr(ExprKind::Lambda(vec![Param { pattern }], Box::new(body)), span)
            }
        })
    }

    /// The pattern of an arm `(C x e)` and its body, in which `x` is all that `C` holds.
    pub fn matched(
        &mut self,
        constructor: &str,
        payload: Payload,
        name_span: Span,
        bound: Option<(&str, Span)>,
        body: Expr,
    ) -> (Pattern, Expr) {
        let constructor = path(constructor, name_span);
        let bound = bound.filter(|(name, _)| *name != "_");
        let span = body.span;
        let (fields, body) = match (payload, bound) {
            (Payload::Unit, None) => (Vec::new(), body),
            (Payload::Unit, Some((name, place))) => {
                (Vec::new(), bind(named(name, place), unit(place), body, span))
            }
            (Payload::One, None) => (vec![wildcard(name_span)], body),
            (Payload::One, Some((name, place))) => (vec![named(name, place)], body),
            (Payload::Tuple(count), None) => ((0..count).map(|_| wildcard(name_span)).collect(), body),
            (Payload::Tuple(count), Some((name, place))) => {
                let names: Vec<String> = (0..count).map(|at| format!(" {name}{at}")).collect();
                let fields = names.iter().map(|field| named(field, place)).collect();
                let parts = names.iter().map(|field| variable(field, place)).collect();
                let whole = expr(ExprKind::Tuple(parts), place);
                (fields, bind(named(name, place), whole, body, span))
            }
        };
        (
            pattern(PatternKind::Constructor(constructor, fields), name_span),
            body,
        )
    }
}

fn bind(pattern: Pattern, value: Expr, body: Expr, span: Span) -> Expr {
    let binding = Binding::Value {
        span: value.span,
        pattern,
        value,
    };
    expr(ExprKind::Let(vec![binding], Box::new(body)), span)
}

fn named(name: &str, span: Span) -> Pattern {
    pattern(PatternKind::Var(Name::from(name)), span)
}

fn wildcard(span: Span) -> Pattern {
    pattern(PatternKind::Wildcard, span)
}

fn unit_pattern(span: Span) -> Pattern {
    pattern(PatternKind::Tuple(Vec::new()), span)
}

/// The pattern of a tuple and its components.
fn taken_apart(count: usize, span: Span) -> (Pattern, Vec<Expr>) {
    let names: Vec<String> = (0..count).map(|at| format!(" part{at}")).collect();
    let patterns = names.iter().map(|name| named(name, span)).collect();
    let parts = names.iter().map(|name| variable(name, span)).collect();
    (pattern(PatternKind::Tuple(patterns), span), parts)
}
