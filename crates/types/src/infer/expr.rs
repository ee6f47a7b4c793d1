//! Expressions, one by one.

use crate::annotate::{Blank, Reading};
use crate::checker::{Checker, LiteralUse};
use crate::errors::{Cause, Why};
use crate::solver::Flavour;
use crate::tree::{
    Constraint, ConstructorForm, Dim, Expr, ExprKind, FunctionType, Pattern, PatternKind, Type,
};
use crate::unify::components;
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Name, Span};
use almach_nat::Poly;
use almach_syntax::ast;
use almach_value::{ScalarType, UnOp};

pub(crate) fn boolean() -> Type {
    Type::Scalar(ScalarType::Bool)
}

pub(crate) fn i64_type() -> Type {
    Type::Scalar(ScalarType::I64)
}

pub(crate) fn function(param: Type, result: Type) -> Type {
    Type::Function(Box::new(FunctionType {
        binder: None,
        param,
        result,
    }))
}

impl Checker<'_> {
    pub fn any_type(&mut self, span: Span) -> Type {
        self.solver.fresh_type(Constraint::Any, span)
    }

    /// What stands for an expression after an error: fits everywhere, so that nothing is reported twice.
    pub fn error_expr(&mut self, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Tuple(Vec::new()),
            ty: self.any_type(span),
            span,
        }
    }

    /// The expression at the expected type.
    pub fn check(&mut self, expr: &ast::Expr, expected: &Type, why: Why) -> Expr {
        match &expr.kind {
            ast::ExprKind::Paren(inner) => self.check(inner, expected, why),
            ast::ExprKind::Lambda(params, body) => {
                let lambda = self.infer_lambda(params, body, Some(expected), expr.span);
                self.coerce(lambda, expected, why)
            }
            ast::ExprKind::LeftSection(..) | ast::ExprKind::RightSection(..) => {
                self.check_section(expr, expected, why)
            }
            ast::ExprKind::Let(bindings, body) => self.infer_let(bindings, expr.span, &mut |this| {
                this.check(body, expected, why.clone())
            }),
            ast::ExprKind::If(condition, yes, no) => {
                let result = self.infer_if(condition, yes, no, Some((expected, &why)), expr.span);
                self.coerce(result, expected, why)
            }
            ast::ExprKind::Case(scrutinee, arms) => {
                let result = self.infer_case(scrutinee, arms, Some((expected, &why)), expr.span);
                self.coerce(result, expected, why)
            }
            ast::ExprKind::Tuple(parts) => self.check_tuple(parts, expected, why, expr.span),
            ast::ExprKind::Record(fields) => {
                let record = self.infer_record(fields, Some(expected), expr.span);
                self.coerce(record, expected, why)
            }
            ast::ExprKind::Array(elements) => {
                let array = self.infer_array(elements, Some(expected), expr.span);
                self.coerce(array, expected, why)
            }
            ast::ExprKind::Assert {
                condition,
                text,
                body,
            } => {
                let condition = self.check(condition, &boolean(), Why::Condition);
                let body = self.check(body, expected, why);
                assert_expr(condition, text, body, expr.span)
            }
            ast::ExprKind::Apply(..)
            | ast::ExprKind::Var(_)
            | ast::ExprKind::Annotated { .. }
            | ast::ExprKind::Binary(..) => {
                let inferred = self.infer_expecting(expr, Some(expected));
                self.coerce(inferred, expected, why)
            }
            _ => {
                let inferred = self.infer(expr);
                self.coerce(inferred, expected, why)
            }
        }
    }

    fn check_tuple(&mut self, parts: &[ast::Expr], expected: &Type, why: Why, span: Span) -> Expr {
        let wanted = match self.solver.head(expected) {
            Type::Tuple(wanted) if wanted.len() == parts.len() => wanted.clone(),
            _ => {
                let tuple = self.infer_tuple(parts, span);
                return self.coerce(tuple, expected, why);
            }
        };
        let parts: Vec<Expr> = parts
            .iter()
            .zip(&wanted)
            .map(|(part, wanted)| self.check(part, wanted, why.clone()))
            .collect();
        Expr {
            ty: Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect()),
            kind: ExprKind::Tuple(parts),
            span,
        }
    }

    fn infer_tuple(&mut self, parts: &[ast::Expr], span: Span) -> Expr {
        let parts: Vec<Expr> = parts.iter().map(|part| self.infer(part)).collect();
        Expr {
            ty: Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect()),
            kind: ExprKind::Tuple(parts),
            span,
        }
    }

    pub fn infer(&mut self, expr: &ast::Expr) -> Expr {
        self.infer_expecting(expr, None)
    }

    /// `expected` is a hint for what cannot be known otherwise; the result need not have that type.
    fn infer_expecting(&mut self, expr: &ast::Expr, expected: Option<&Type>) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Int { value, suffix } => self.int_literal(*value, *suffix, false, span),
            ast::ExprKind::Float { text, suffix } => self.float_literal(text, *suffix, span),
            ast::ExprKind::Bool(value) => Expr {
                kind: ExprKind::Bool(*value),
                ty: boolean(),
                span,
            },
            ast::ExprKind::Str(bytes) => Expr {
                ty: Type::Array(
                    Dim::Size(Poly::constant(bytes.len() as i64)),
                    Box::new(Type::Scalar(ScalarType::U8)),
                ),
                kind: ExprKind::Str(bytes.clone()),
                span,
            },
            ast::ExprKind::Var(_)
            | ast::ExprKind::Annotated { .. }
            | ast::ExprKind::Apply(..)
            | ast::ExprKind::Binary(ast::BinaryOp::PipeRight | ast::BinaryOp::PipeLeft, ..) => {
                self.infer_application(expr, expected)
            }
            ast::ExprKind::Constructor(path) => self.constructor(path, ConstructorForm::Datum, span),
            ast::ExprKind::NodeConstructor(path) => self.constructor(path, ConstructorForm::Node, span),
            ast::ExprKind::Lambda(params, body) => self.infer_lambda(params, body, None, span),
            ast::ExprKind::Let(bindings, body) => {
                self.infer_let(bindings, span, &mut |this| this.infer(body))
            }
            ast::ExprKind::If(condition, yes, no) => self.infer_if(condition, yes, no, None, span),
            ast::ExprKind::Case(scrutinee, arms) => self.infer_case(scrutinee, arms, None, span),
            ast::ExprKind::Tuple(parts) => self.infer_tuple(parts, span),
            ast::ExprKind::Record(fields) => self.infer_record(fields, None, span),
            ast::ExprKind::Project(tuple, index) => self.infer_project(tuple, *index, span),
            ast::ExprKind::Field(record, name) => self.infer_field(record, name, span),
            ast::ExprKind::Index(array, indices) => self.infer_index(array, indices, span),
            ast::ExprKind::Range(begin, end) => self.infer_range(begin, end, span),
            ast::ExprKind::Array(elements) => self.infer_array(elements, None, span),
            ast::ExprKind::Unary(ast::UnaryOp::Scalar(op), operand) => self.infer_unary(*op, operand, span),
            ast::ExprKind::Binary(op, op_span, left, right) => {
                self.infer_binary(*op, *op_span, left, right, span)
            }
            ast::ExprKind::Operator(op) => self.operator_value(*op, span),
            ast::ExprKind::LeftSection(..) | ast::ExprKind::RightSection(..) => self.infer_section(expr),
            ast::ExprKind::Loop(it) => self.infer_loop(it, span),
            ast::ExprKind::With {
                array,
                indices,
                value,
                in_place,
            } => self.infer_with(array, indices, value, *in_place, span),
            ast::ExprKind::Assert {
                condition,
                text,
                body,
            } => {
                let condition = self.check(condition, &boolean(), Why::Condition);
                let body = self.infer(body);
                assert_expr(condition, text, body, span)
            }
            ast::ExprKind::Trace { label, body } => {
                let body = self.infer(body);
                Expr {
                    ty: body.ty.clone(),
                    kind: ExprKind::Trace {
                        label: label.clone(),
                        body: Box::new(body),
                    },
                    span,
                }
            }
            ast::ExprKind::Ascribe(inner, ty) => {
                let wanted = self.read_type(ty, &mut Reading::new(Blank::Infer(Flavour::Flexible)));
                let checked = self.check(inner, &wanted, Why::Annotation(ty.span));
                self.opened(checked, "this expression")
            }
            ast::ExprKind::Coerce(inner, ty) => self.infer_coerce(inner, ty, span),
            ast::ExprKind::Foreach {
                node,
                datum,
                rename,
                down,
                body,
            } => self.infer_foreach(node, datum, rename, down, body, span),
            ast::ExprKind::Paren(inner) => self.infer_expecting(inner, expected),
            ast::ExprKind::Error => {
                self.failed = true;
                self.incomplete = true;
                self.error_expr(span)
            }
        }
    }

    /// The expression with its unknown sizes named.
    pub fn opened(&mut self, expr: Expr, of: &str) -> Expr {
        Expr {
            ty: self.solver.open(&expr.ty, expr.span, of),
            ..expr
        }
    }

    pub fn int_literal(
        &mut self,
        value: u128,
        suffix: Option<ScalarType>,
        negative: bool,
        span: Span,
    ) -> Expr {
        let ty = match suffix {
            Some(scalar) => Type::Scalar(scalar),
            None => self.solver.fresh_type(Constraint::Number, span),
        };
        self.literals.push(LiteralUse {
            value,
            negative,
            ty: ty.clone(),
            span,
        });
        Expr {
            kind: ExprKind::Int(value),
            ty,
            span,
        }
    }

    fn float_literal(&mut self, text: &Name, suffix: Option<ScalarType>, span: Span) -> Expr {
        let ty = match suffix {
            Some(scalar) => Type::Scalar(scalar),
            None => self.solver.fresh_type(Constraint::Float, span),
        };
        if text.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.report(
                Diagnostic::error(
                    codes::LITERAL_RANGE,
                    span,
                    format!("the literal `{text}` is too large for every float type"),
                )
                .label("rounds to infinity")
                .help("write `inf` if infinity is meant"),
            );
        }
        Expr {
            kind: ExprKind::Float(text.clone()),
            ty,
            span,
        }
    }

    fn infer_unary(&mut self, op: UnOp, operand: &ast::Expr, span: Span) -> Expr {
        let operand = match (op, &operand.kind) {
            (UnOp::Neg, ast::ExprKind::Int { value, suffix }) => {
                self.int_literal(*value, *suffix, true, operand.span)
            }
            _ => self.infer(operand),
        };
        let constraint = match op {
            UnOp::Not => None,
            UnOp::Complement => Some(Constraint::Integer),
            _ => Some(Constraint::Number),
        };
        let operand = match constraint {
            None => self.coerce(operand, &boolean(), Why::Operator("!")),
            Some(constraint) => {
                self.constrain(&operand.ty, constraint, operand.span, Why::Operator(op.name()));
                operand
            }
        };
        Expr {
            ty: operand.ty.clone(),
            kind: ExprKind::Unary(op, Box::new(operand)),
            span,
        }
    }

    fn infer_coerce(&mut self, inner: &ast::Expr, ty: &ast::TypeExpr, span: Span) -> Expr {
        let inner = self.infer(inner);
        let wanted = self.read_type(ty, &mut Reading::new(Blank::Infer(Flavour::Flexible)));
        let cause = Cause {
            span: inner.span,
            why: Why::Annotation(ty.span),
            found: Some(inner.ty.clone()),
            expected: Some(wanted.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        if let Err(mismatch) = self.solver.unify_coercible(&inner.ty, &wanted) {
            self.report_mismatch(&cause, &mismatch);
        }
        self.keep_sizes(&inner.ty, &wanted);
        let expr = Expr {
            kind: ExprKind::Coerce(Box::new(inner), wanted.clone()),
            ty: wanted,
            span,
        };
        self.opened(expr, "this array")
    }

    /// A size left blank in `:>` is the one the array has.
    fn keep_sizes(&mut self, found: &Type, wanted: &Type) {
        let pair = (self.solver.head(found).clone(), self.solver.head(wanted).clone());
        match &pair {
            (Type::Array(from, s), Type::Array(to, t)) => {
                if let (Dim::Size(n), Dim::Size(m)) = (from, to)
                    && m.as_var().is_some_and(|var| self.solver.is_open_size(var))
                {
                    // Cannot fail: the blank is fresh.
                    let _ = self.solver.equate(n, m);
                }
                self.keep_sizes(s, t);
            }
            (Type::Tuple(_) | Type::Record(_), Type::Tuple(_) | Type::Record(_)) => {
                let (xs, ys) = (components(&pair.0), components(&pair.1));
                xs.into_iter().zip(ys).for_each(|(x, y)| self.keep_sizes(x, y));
            }
            _ => {}
        }
    }
}

pub(crate) fn var_pattern(var: &crate::tree::Var, ty: &Type, span: Span) -> Pattern {
    Pattern {
        kind: PatternKind::Var(var.clone()),
        ty: ty.clone(),
        span,
    }
}

fn assert_expr(condition: Expr, text: &Name, body: Expr, span: Span) -> Expr {
    Expr {
        ty: body.ty.clone(),
        kind: ExprKind::Assert {
            condition: Box::new(condition),
            text: text.clone(),
            body: Box::new(body),
        },
        span,
    }
}
