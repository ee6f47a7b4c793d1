//! Using a value of one type where another is expected.

use super::expr::var_pattern;
use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::tree::{Expr, ExprKind, Type};
use crate::unify::Coercion;
use almach_base::{Name, Span};

impl Checker<'_> {
    /// Uses an expression where another type is expected; reports why that cannot be.
    pub fn coerce(&mut self, expr: Expr, expected: &Type, why: Why) -> Expr {
        let cause = Cause {
            span: expr.span,
            why,
            found: Some(expr.ty.clone()),
            expected: Some(expected.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        match self.solver.subsume(&expr.ty, expected) {
            Ok(coercion) => self.apply_coercion(expr, &coercion, expected),
            Err(mismatch) => {
                let cause = Cause {
                    bound: self.origin(&expr),
                    ..cause
                };
                self.report_mismatch(&cause, &mismatch);
                Expr {
                    ty: expected.clone(),
                    ..expr
                }
            }
        }
    }

    /// Where the name an expression consists of was bound.
    pub fn origin(&self, expr: &Expr) -> Option<(Name, Span)> {
        match &expr.kind {
            ExprKind::Local(var) | ExprKind::LocalFunction(var, _) => {
                let info = self.solver.var_info(var)?;
                (!info.span.is_none()).then(|| (var.name.clone(), info.span))
            }
            ExprKind::Global(def, _) => {
                let ast = self.defs.get(def.0 as usize)?.ast;
                Some((ast.name.name.clone(), ast.name.span))
            }
            _ => None,
        }
    }

    fn apply_coercion(&mut self, expr: Expr, coercion: &Coercion, expected: &Type) -> Expr {
        match coercion {
            Coercion::None => expr,
            Coercion::Forget => Expr {
                span: expr.span,
                kind: ExprKind::Forget(Box::new(expr)),
                ty: expected.clone(),
            },
            Coercion::Wrap { param, result } => self.wrap_function(expr, param, result, expected),
        }
    }

    /// `let f = expr in \x -> result (f (param x))`.
    fn wrap_function(&mut self, expr: Expr, param: &Coercion, result: &Coercion, expected: &Type) -> Expr {
        let span = expr.span;
        let (Type::Function(from), Type::Function(to)) =
            (self.solver.resolve(&expr.ty), self.solver.resolve(expected))
        else {
            return expr;
        };
        let f = self.program_var(&Name::from("f"), span);
        let x = self.program_var(&Name::from("x"), span);
        let local = |var: &crate::tree::Var, ty: &Type| Expr {
            kind: ExprKind::Local(var.clone()),
            ty: ty.clone(),
            span,
        };
        let argument = self.apply_coercion(local(&x, &to.param), param, &from.param);
        let call = Expr {
            kind: ExprKind::Apply(Box::new(local(&f, &expr.ty)), vec![argument]),
            ty: from.result.clone(),
            span,
        };
        let body = self.apply_coercion(call, result, &to.result);
        let lambda = Expr {
            kind: ExprKind::Lambda(vec![var_pattern(&x, &to.param, span)], Box::new(body)),
            ty: expected.clone(),
            span,
        };
        let pattern = var_pattern(&f, &expr.ty, span);
        Expr {
            kind: ExprKind::Let(pattern, Box::new(expr), Box::new(lambda)),
            ty: expected.clone(),
            span,
        }
    }
}
