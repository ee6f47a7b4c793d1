//! `let`, and what an `i64` expression says about sizes.

use super::expr::i64_type;
use crate::checker::Checker;
use crate::errors::Why;
use crate::sizes::var_size;
use crate::solver::VarKind;
use crate::tree::{DefId, Expr, ExprKind, Operator, Pattern, PatternKind, Size, Type};
use almach_base::Span;
use almach_nat::Poly;
use almach_prim::{Prim, ScalarFunction};
use almach_syntax::ast;
use almach_value::{BinOp, ScalarType, UnOp};

impl Checker<'_> {
    pub fn infer_let(
        &mut self,
        bindings: &[ast::Binding],
        span: Span,
        body: &mut dyn FnMut(&mut Self) -> Expr,
    ) -> Expr {
        let mark = self.trail.len();
        let mut bound = Vec::new();
        for binding in bindings {
            bound.push(match binding {
                ast::Binding::Value { pattern, value, .. } => {
                    let (pattern, value) = self.infer_binding(pattern, value);
                    Bound::Value(Box::new((pattern, value)))
                }
                ast::Binding::Functions(defs) => Bound::Functions(self.local_functions(defs)),
            });
        }
        let mut result = body(self);
        self.unbind_to(mark);
        for binding in bound.into_iter().rev() {
            let ty = result.ty.clone();
            let kind = match binding {
                Bound::Value(bound) => {
                    let (pattern, value) = *bound;
                    ExprKind::Let(pattern, Box::new(value), Box::new(result))
                }
                Bound::Functions(functions) => ExprKind::LetFunctions(functions, Box::new(result)),
            };
            result = Expr { kind, ty, span };
        }
        result
    }

    fn infer_binding(&mut self, pattern: &ast::Pattern, value: &ast::Expr) -> (Pattern, Expr) {
        let value = match self.annotation_of(pattern) {
            Some((ty, span)) => {
                let checked = self.check(value, &ty, Why::Annotation(span));
                self.opened(checked, "this array")
            }
            None => self.infer(value),
        };
        let ty = value.ty.clone();
        let pattern = self.bind_pattern_at(pattern, &ty, Why::Matched(value.span));
        self.remember_sizes(&pattern, &value);
        (pattern, value)
    }

    /// A `let` of an expression over sizes equals it.
    fn remember_sizes(&mut self, pattern: &Pattern, value: &Expr) {
        match (&pattern.kind, &value.kind) {
            (PatternKind::Var(var), _) => {
                if let Some(size) = self.size_of(value) {
                    self.solver.set_var_kind(var, VarKind::Known(size));
                }
            }
            (PatternKind::Tuple(patterns), ExprKind::Tuple(values)) => {
                for (pattern, value) in patterns.iter().zip(values) {
                    self.remember_sizes(pattern, value);
                }
            }
            _ => {}
        }
    }

    /// The polynomial an `i64` expression is equal to, where it is made of sizes, `i64` variables and literals.
    pub fn size_of(&self, expr: &Expr) -> Option<Size> {
        let may_be_i64 = match self.solver.head(&expr.ty) {
            Type::Scalar(scalar) => *scalar == ScalarType::I64 || matches!(expr.kind, ExprKind::Int(_)),
            Type::Var(var) => self.solver.is_open(var),
            _ => false,
        };
        if !may_be_i64 {
            return None;
        }
        match &expr.kind {
            ExprKind::Int(value) => i64::try_from(*value).ok().map(Poly::constant),
            ExprKind::Local(var) => match self.solver.var_info(var).map(|info| &info.kind) {
                Some(VarKind::Known(size)) => Some(size.clone()),
                _ if *self.solver.head(&expr.ty) == i64_type() => Some(var_size(var)),
                _ => None,
            },
            ExprKind::Size(size) => Some(size.clone()),
            ExprKind::Global(def, _) => self.constant_of(*def),
            ExprKind::Unary(UnOp::Neg, operand) => Some(-self.size_of(operand)?),
            ExprKind::Binary(Operator::Scalar(op), left, right) => {
                self.size_of_binary(*op, &self.size_of(left)?, &self.size_of(right)?)
            }
            ExprKind::Apply(head, args) => self.size_of_application(head, args),
            ExprKind::Forget(inner) | ExprKind::Coerce(inner, _) => self.size_of(inner),
            _ => None,
        }
    }

    fn constant_of(&self, def: DefId) -> Option<Size> {
        self.defs.get(def.0 as usize)?.constant.clone()
    }

    fn size_of_binary(&self, op: BinOp, left: &Size, right: &Size) -> Option<Size> {
        match op {
            BinOp::Add => Some(left + right),
            BinOp::Sub => Some(left - right),
            BinOp::Mul => Some(left * right),
            // `/` on values truncates and on sizes rounds down: the same where nothing is negative.
            BinOp::Div => {
                let (left, right) = (self.solver.size(left), self.solver.size(right));
                let positive = self.solver.ranges_of(&left).is_nonneg(&left)
                    && self.solver.ranges_of(&right).is_nonneg(&right)
                    && !right.is_zero();
                positive.then(|| left.div(&right))
            }
            _ => None,
        }
    }

    fn size_of_application(&self, head: &Expr, args: &[Expr]) -> Option<Size> {
        match (&head.kind, args) {
            (
                ExprKind::Prim {
                    prim: Prim::Length, ..
                },
                [array],
            ) => match self.solver.head(&array.ty) {
                Type::Array(crate::tree::Dim::Size(size), _) => Some(size.clone()),
                _ => None,
            },
            (ExprKind::ScalarFunction(ScalarFunction::Unary(UnOp::Convert(ScalarType::I64))), [arg])
                if *self.solver.head(&arg.ty) == i64_type() =>
            {
                self.size_of(arg)
            }
            _ => None,
        }
    }
}

enum Bound {
    Value(Box<(Pattern, Expr)>),
    Functions(Vec<(crate::tree::Var, crate::tree::Def)>),
}
