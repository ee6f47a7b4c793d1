//! `if` and `case`: branches may differ in size; the result's size is then unknown.

use super::expr::boolean;
use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::solver::{Flavour, Place, VarKind};
use crate::tree::{Arm, Dim, Expr, ExprKind, FunctionType, Size, Type};
use crate::unify::{Mismatch, field};
use almach_base::Span;
use almach_syntax::ast;

impl Checker<'_> {
    pub fn infer_if(
        &mut self,
        condition: &ast::Expr,
        yes: &ast::Expr,
        no: &ast::Expr,
        expected: Option<(&Type, &Why)>,
        span: Span,
    ) -> Expr {
        let condition = self.check(condition, &boolean(), Why::Condition);
        let bodies = vec![self.infer_branch(yes, expected), self.infer_branch(no, expected)];
        let (ty, bodies) = self.join_branches(bodies, span);
        let mut bodies = bodies.into_iter();
        let (Some(yes), Some(no)) = (bodies.next(), bodies.next()) else {
            return self.error_expr(span);
        };
        Expr {
            kind: ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)),
            ty,
            span,
        }
    }

    pub fn infer_case(
        &mut self,
        scrutinee: &ast::Expr,
        arms: &[ast::Arm],
        expected: Option<(&Type, &Why)>,
        span: Span,
    ) -> Expr {
        let scrutinee = self.infer(scrutinee);
        let (mut heads, mut bodies) = (Vec::new(), Vec::new());
        for arm in arms {
            let mark = self.trail.len();
            let pattern = self.bind_pattern_at(&arm.pattern, &scrutinee.ty, Why::Matched(scrutinee.span));
            let guard = arm
                .guard
                .as_ref()
                .map(|guard| self.check(guard, &boolean(), Why::Condition));
            bodies.push(self.infer_branch(&arm.body, expected));
            heads.push((pattern, guard, arm.span));
            self.unbind_to(mark);
        }
        let (ty, bodies) = self.join_branches(bodies, span);
        let arms = heads
            .into_iter()
            .zip(bodies)
            .map(|((pattern, guard, span), body)| Arm {
                pattern,
                guard,
                body,
                span,
            })
            .collect();
        Expr {
            kind: ExprKind::Case(Box::new(scrutinee), arms),
            ty,
            span,
        }
    }

    /// A branch at the expected type; where sizes of that are still open, at a copy of it, to be compared with the
    /// other branches.
    fn infer_branch(&mut self, body: &ast::Expr, expected: Option<(&Type, &Why)>) -> Expr {
        match expected {
            None => self.infer(body),
            Some((ty, why)) if self.solver.open_head(ty).is_none() => {
                let own = if self.solver.has_open_size(ty) {
                    self.solver.with_fresh_sizes(ty, body.span)
                } else {
                    ty.clone()
                };
                let checked = self.check(body, &own, why.clone());
                self.opened(checked, "this branch")
            }
            Some(_) => self.infer(body),
        }
    }

    /// One type for all branches.
    fn join_branches(&mut self, bodies: Vec<Expr>, span: Span) -> (Type, Vec<Expr>) {
        let Some(first) = bodies.first() else {
            return (self.any_type(span), bodies);
        };
        let (mut ty, first_span) = (first.ty.clone(), first.span);
        for body in bodies.iter().skip(1) {
            let cause = Cause {
                span: body.span,
                why: Why::Branch(first_span),
                found: Some(body.ty.clone()),
                expected: Some(ty.clone()),
                bound: None,
            };
            self.solver.cause = cause.clone();
            match self.join(&ty, &body.ty, Place::Outer, span) {
                Ok(joined) => ty = joined,
                Err(mismatch) => self.report_mismatch(&cause, &mismatch),
            }
        }
        let bodies = bodies.into_iter().map(|body| self.forget_to(body, &ty)).collect();
        (ty, bodies)
    }

    /// Marks where a value's own sizes are forgotten.
    pub fn forget_to(&mut self, expr: Expr, ty: &Type) -> Expr {
        if self.solver.resolve(&expr.ty) == self.solver.resolve(ty) {
            return expr;
        }
        Expr {
            span: expr.span,
            kind: ExprKind::Forget(Box::new(expr)),
            ty: ty.clone(),
        }
    }

    /// The type of a value that has one of two types: the same up to sizes, which become unknown where they differ.
    pub fn join(&mut self, a: &Type, b: &Type, place: Place, span: Span) -> Result<Type, Mismatch> {
        let (x, y) = (self.solver.head(a).clone(), self.solver.head(b).clone());
        match (&x, &y) {
            (Type::Array(d, s), Type::Array(e, t)) => {
                let dim = self.join_dims(d, e, place, span);
                Ok(Type::Array(dim, Box::new(self.join(s, t, Place::Inner, span)?)))
            }
            (Type::Tuple(xs), Type::Tuple(ys)) if xs.len() == ys.len() => {
                Ok(Type::Tuple(self.join_all(xs, ys, place, span)?))
            }
            (Type::Record(xs), Type::Record(ys)) if xs.len() == ys.len() => {
                let mut joined = Vec::new();
                for (name, x) in xs {
                    let y = field(ys, name).ok_or(Mismatch::Types)?;
                    joined.push((name.clone(), self.join(x, y, place, span)?));
                }
                Ok(Type::Record(joined))
            }
            (Type::Data(c, xs), Type::Data(d, ys)) if c == d => {
                Ok(Type::Data(*c, self.join_all(xs, ys, Place::Field, span)?))
            }
            (Type::Function(f), Type::Function(g)) if f.binder.is_none() && g.binder.is_none() => {
                self.solver.unify(&g.param, &f.param)?;
                Ok(Type::Function(Box::new(FunctionType {
                    binder: None,
                    param: f.param.clone(),
                    result: self.join_results(&f.result, &g.result)?,
                })))
            }
            _ => {
                self.solver.unify(&y, &x)?;
                Ok(x)
            }
        }
    }

    /// What one of two functions gives: arrays may differ in their outer size, which then every call has of its own.
    fn join_results(&mut self, a: &Type, b: &Type) -> Result<Type, Mismatch> {
        let (x, y) = (self.solver.head(a).clone(), self.solver.head(b).clone());
        match (&x, &y) {
            (Type::Array(d, s), Type::Array(e, t)) => {
                self.solver.unify(t, s)?;
                let dim = match (d, e) {
                    (Dim::Size(n), Dim::Size(m))
                        if self.solver.same_size(n, m)
                            || (self.is_flexible(n) || self.is_flexible(m))
                                && self.solver.equate(n, m).is_ok() =>
                    {
                        d.clone()
                    }
                    _ => Dim::Unknown,
                };
                Ok(Type::Array(dim, s.clone()))
            }
            (Type::Tuple(xs), Type::Tuple(ys)) if xs.len() == ys.len() => {
                let parts = xs.iter().zip(ys).map(|(x, y)| self.join_results(x, y));
                Ok(Type::Tuple(parts.collect::<Result<_, _>>()?))
            }
            _ => {
                self.solver.unify(&y, &x)?;
                Ok(x)
            }
        }
    }

    fn join_all(
        &mut self,
        xs: &[Type],
        ys: &[Type],
        place: Place,
        span: Span,
    ) -> Result<Vec<Type>, Mismatch> {
        xs.iter()
            .zip(ys)
            .map(|(x, y)| self.join(x, y, place, span))
            .collect()
    }

    fn join_dims(&mut self, a: &Dim, b: &Dim, place: Place, span: Span) -> Dim {
        match (a, b) {
            (Dim::Size(n), Dim::Size(m)) => {
                if self.solver.same_size(n, m)
                    || (self.is_flexible(n) || self.is_flexible(m)) && self.solver.equate(n, m).is_ok()
                {
                    return a.clone();
                }
                match place {
                    Place::Field => Dim::Unknown,
                    Place::Outer | Place::Inner => Dim::Size(
                        self.solver
                            .unknown_size(span, "the size of one branch or the other"),
                    ),
                }
            }
            (Dim::Unknown, _) | (_, Dim::Unknown) => match place {
                Place::Outer => Dim::Size(
                    self.solver
                        .unknown_size(span, "the size of one branch or the other"),
                ),
                Place::Field | Place::Inner => Dim::Unknown,
            },
        }
    }

    /// Whether a size is one of a polymorphic use that nothing has decided yet.
    fn is_flexible(&self, size: &Size) -> bool {
        self.solver.size(size).as_var().is_some_and(|var| {
            matches!(
                self.solver.var_info(var).map(|info| &info.kind),
                Some(VarKind::Open(Flavour::Flexible))
            )
        })
    }
}
