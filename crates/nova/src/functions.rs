//! `lambda` and `mu`, and functions that `let` names.
//!
//! A `let` of a `lambda` is a function definition, which may be used at several types (the paper's monomorphization, 4.1);
//! so is one of a `mu`. Lambdas inside lambdas are functions of more parameters, as in section 3.2.

use crate::codes;
use crate::lexer::Kind;
use crate::reader::{Read, Reader, binder, expr, ident, variable};
use crate::tree::{Tree, span_of};
use crate::types::Place;
use almach_base::{Span, counted};
use almach_syntax::EraseSpans;
use almach_syntax::ast::{
    Binding, Def, DefKind, Expr, ExprKind, Ident, Param, PatternKind, Recursive, TypeExpr, TypeKind,
};

const LAMBDA: &str = "a function is `(lambda (x : int) (y : int) : int (+ x y))`; types may be left out";
const MU: &str = "a recursive function is `(mu (f : int -> int) (lambda (n : int) : int (f n)))`";

/// A parameter as written.
struct Written<'s> {
    name: &'s str,
    span: Span,
    ty: Option<TypeExpr>,
    /// Another type that was written for it elsewhere and must be the same.
    other: Option<TypeExpr>,
}

/// A function in the making.
struct Function<'s> {
    params: Vec<Written<'s>>,
    result: Option<TypeExpr>,
    body: Expr,
}

/// The `lambda` or `mu` that a sequence is, inside brackets or not.
pub fn lambda_of<'t, 's>(items: &'t [Tree<'s>]) -> Option<&'t [Tree<'s>]> {
    let mut items = items;
    while let [Tree::List(list)] = items {
        items = &list.items;
    }
    let word = items.first()?.word()?;
    matches!(word, "lambda" | "mu").then_some(items)
}

impl<'s> Reader<'s> {
    pub fn lambda_form(&mut self, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        let function = self.read_lambda(items, span)?;
        let (params, body) = self.finished(function, Typed::Body);
        Ok(expr(ExprKind::Lambda(params, Box::new(body.1)), span))
    }

    /// `(mu (f : t) (lambda …))` is `let rec f … in f`.
    pub fn mu_form(&mut self, items: &[Tree<'s>], span: Span) -> Read<Expr> {
        let (name, def) = self.recursive(items, span)?;
        let function = variable(name, def.name.span);
        let binding = Binding::Functions(vec![def]);
        Ok(expr(ExprKind::Let(vec![binding], Box::new(function)), span))
    }

    /// `(f (lambda …))` or `(f (mu (f : t) (lambda …)))` of a `let`.
    pub fn function(&mut self, word: &'s str, name: Ident, value: &[Tree<'s>], span: Span) -> Read<Def> {
        let items = lambda_of(value).unwrap_or(value);
        let place = span_of(items, span);
        if items.first().is_some_and(|head| head.is_word("lambda")) {
            let function = self.read_lambda(items, place)?;
            let (params, (result, body)) = self.finished(function, Typed::Definition);
            return Ok(definition(name, params, result, body, Recursive::No, span));
        }
        let (inner, def) = self.recursive(items, place)?;
        if inner == word {
            return Ok(Def { span, ..def });
        }
        let function = variable(inner, def.name.span);
        let body = expr(
            ExprKind::Let(vec![Binding::Functions(vec![def])], Box::new(function)),
            place,
        );
        Ok(alias(name, body, span))
    }

    fn recursive(&mut self, items: &[Tree<'s>], span: Span) -> Read<(&'s str, Def)> {
        let [_, declared, body @ ..] = items else {
            return self.malformed(span, "this `mu` is not complete", MU);
        };
        let bound = self.parameter(declared)?;
        let lambda = lambda_of(body).filter(|items| items.first().is_some_and(|head| head.is_word("lambda")));
        let Some(lambda) = lambda else {
            return self.fail(
                codes::NOVA_MU,
                span_of(body, span),
                "the body of a `mu` must be a `lambda`",
                "not a `lambda`",
                MU,
            );
        };
        let place = span_of(lambda, span);
        let mut function = self.binding(&[bound.name], |this| this.read_lambda(lambda, place))?;
        if let Some(ty) = bound.ty {
            let written = ty.span;
            if let Err(given) = declare(&mut function, ty) {
                let wanted = function.params.len();
                let parameters = counted(wanted, "parameter");
                return self.fail(
                    codes::NOVA_MU,
                    written,
                    format!("`{}` has {parameters}, and {given} in its type", bound.name),
                    "not the type of that function",
                    MU,
                );
            }
        }
        let (params, (result, body)) = self.finished(function, Typed::Definition);
        let name = ident(bound.name, bound.span);
        let def = definition(name, params, result, body, Recursive::Yes, span);
        Ok((bound.name, def))
    }

    /// `(lambda (x : t) … : t e)`, with the lambdas that are its whole body.
    fn read_lambda(&mut self, items: &[Tree<'s>], span: Span) -> Read<Function<'s>> {
        let rest = items.get(1..).unwrap_or_default();
        let colon = rest.iter().position(|item| item.is(Kind::Colon));
        let (written, result, body) = match colon {
            Some(at) => {
                let (params, rest) = rest.split_at(at);
                let after = rest.get(1..).unwrap_or_default();
                let (ty, body) = self.type_prefix(after, span, Place::Outermost)?;
                (params, Some(ty), body)
            }
            None => {
                let (params, body) = rest.split_at(rest.len().saturating_sub(1));
                (params, None, body)
            }
        };
        if written.is_empty() {
            return self.malformed(span, "this `lambda` has no parameters", LAMBDA);
        }
        if body.is_empty() {
            return self.malformed(span, "this `lambda` has no body", LAMBDA);
        }
        let params: Vec<Written<'s>> = written
            .iter()
            .map(|tree| self.parameter(tree))
            .collect::<Read<_>>()?;
        let names: Vec<&'s str> = params.iter().map(|param| param.name).collect();
        self.binding(&names, |this| {
            let inner =
                lambda_of(body).filter(|items| items.first().is_some_and(|head| head.is_word("lambda")));
            let merged = match inner {
                Some(inner) if distinct(&names, inner) => {
                    let place = span_of(inner, span);
                    Some(this.nested(place, |this| this.read_lambda(inner, place))?)
                }
                _ => None,
            };
            let mut function = merged.unwrap_or_else(|| Function {
                params: Vec::new(),
                result: None,
                body: this.expr_or_error(body, span),
            });
            if let Some(ty) = result
                && declare(&mut function, ty.clone()).is_err()
            {
                // The type is not that of a function as far as the reader sees: the checker compares them.
                function = closed(function, ty, span);
            }
            let more = std::mem::replace(&mut function.params, params);
            function.params.extend(more);
            Ok(function)
        })
    }

    /// `(x : t)`, `(x)` or `x`.
    fn parameter(&mut self, tree: &Tree<'s>) -> Read<Written<'s>> {
        let (name, ty) = match tree {
            Tree::Token(_) => (tree, None),
            Tree::List(list) => match list.items.as_slice() {
                [name] => (name, None),
                [name, colon, ty @ ..] if colon.is(Kind::Colon) => {
                    (name, Some(self.type_or_error(ty, list.span)))
                }
                _ => {
                    return self.malformed(list.span, "expected a parameter", "a parameter is `(x : int)`");
                }
            },
        };
        let (name, ident) = self.name(name, "a parameter")?;
        Ok(Written {
            name,
            span: ident.span,
            ty,
            other: None,
        })
    }

    fn finished(&mut self, function: Function<'s>, typed: Typed) -> (Vec<Param>, (Option<TypeExpr>, Expr)) {
        let Function {
            params,
            result,
            mut body,
        } = function;
        let span = body.span;
        for param in params.iter().rev() {
            if let Some(other) = &param.other {
                body = ascribed_binding(param, other, body);
            }
        }
        let params = params.into_iter().map(parameter_pattern).collect();
        match (typed, result) {
            (Typed::Body, Some(ty)) => {
                let body = expr(ExprKind::Ascribe(Box::new(body), Box::new(ty)), span);
                (params, (None, body))
            }
            (_, result) => (params, (result, body)),
        }
    }
}

/// Where the type of a result goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Typed {
    Definition,
    /// Lambdas of the AST have none.
    Body,
}

fn definition(
    name: Ident,
    params: Vec<Param>,
    result: Option<TypeExpr>,
    body: Expr,
    recursive: Recursive,
    span: Span,
) -> Def {
    Def {
        kind: DefKind::Local,
        recursive,
        name,
        sizes: Vec::new(),
        params,
        result,
        body,
        span,
    }
}

/// Another name for a function.
pub fn alias(name: Ident, body: Expr, span: Span) -> Def {
    definition(name, Vec::new(), None, body, Recursive::No, span)
}

/// Puts a function type on a function: its parameters' types on the parameters, the rest on the result. The error is how many
/// parameters the type has where those are too few.
fn declare(function: &mut Function<'_>, ty: TypeExpr) -> Result<(), usize> {
    let mut types = Vec::new();
    let mut rest = ty;
    while types.len() < function.params.len() {
        match rest.kind {
            TypeKind::Function { param, result, .. } => {
                types.push(*param);
                rest = *result;
            }
            _ => return Err(types.len()),
        }
    }
    for (param, ty) in function.params.iter_mut().zip(types) {
        match &param.ty {
            None => param.ty = Some(ty),
            Some(own) if same(own, &ty) => {}
            Some(_) => param.other = Some(ty),
        }
    }
    let span = function.body.span;
    match &function.result {
        None => function.result = Some(rest),
        Some(own) if same(own, &rest) => {}
        Some(_) => {
            let body = std::mem::replace(&mut function.body, expr(ExprKind::Error, span));
            function.body = expr(ExprKind::Ascribe(Box::new(body), Box::new(rest)), span);
        }
    }
    Ok(())
}

/// The function as the value of a lambda around it.
fn closed<'s>(function: Function<'s>, ty: TypeExpr, span: Span) -> Function<'s> {
    let Function { params, result, body } = function;
    let place = body.span;
    let body = match result {
        Some(ty) => expr(ExprKind::Ascribe(Box::new(body), Box::new(ty)), place),
        None => body,
    };
    let params = params.into_iter().map(parameter_pattern).collect();
    Function {
        params: Vec::new(),
        result: Some(ty),
        body: expr(ExprKind::Lambda(params, Box::new(body)), span),
    }
}

fn same(a: &TypeExpr, b: &TypeExpr) -> bool {
    let (mut a, mut b) = (a.clone(), b.clone());
    a.erase_spans();
    b.erase_spans();
    a == b
}

fn parameter_pattern(param: Written<'_>) -> Param {
    let inner = binder(param.name, param.span);
    let pattern = match param.ty {
        None => inner,
        Some(ty) => almach_syntax::ast::Pattern {
            span: param.span.to(ty.span),
            kind: PatternKind::Ascribed(Box::new(inner), ty),
        },
    };
    Param { pattern }
}

/// `let (x : other) = x in body`: both types are right.
fn ascribed_binding(param: &Written<'_>, other: &TypeExpr, body: Expr) -> Expr {
    if param.name == "_" {
        return body;
    }
    let span = body.span;
    let inner = binder(param.name, param.span);
    let binding = Binding::Value {
        pattern: almach_syntax::ast::Pattern {
            span: other.span,
            kind: PatternKind::Ascribed(Box::new(inner), other.clone()),
        },
        value: variable(param.name, param.span),
        span: param.span,
    };
    expr(ExprKind::Let(vec![binding], Box::new(body)), span)
}

/// Whether an inner lambda can share a parameter list: no name twice.
fn distinct(names: &[&str], inner: &[Tree<'_>]) -> bool {
    let params = inner.iter().skip(1).filter_map(|tree| match tree {
        Tree::Token(_) => tree.word(),
        Tree::List(list) => list.items.first()?.word(),
    });
    let mut params = params;
    !params.any(|name| name != "_" && names.contains(&name))
}
