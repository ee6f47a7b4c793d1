//! Operators and sections.

use super::expr::{boolean, function};
use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::tree::{Constraint, Expr, ExprKind, Operator, Type};
use almach_base::{Name, Span};
use almach_prim::{Prim, ScalarFunction};
use almach_syntax::ast;
use almach_value::{BinOp, TernOp, UnOp};

/// What an operator of two operands asks of their type, and whether it compares.
enum Rule {
    Arithmetic(Constraint),
    Comparison(Constraint),
}

fn rule(op: BinOp) -> Rule {
    match op {
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Pow => {
            Rule::Arithmetic(Constraint::Number)
        }
        BinOp::Min | BinOp::Max => Rule::Arithmetic(Constraint::Number),
        BinOp::Shl | BinOp::Shr => Rule::Arithmetic(Constraint::Integer),
        BinOp::And | BinOp::Or | BinOp::Xor => Rule::Arithmetic(Constraint::Bits),
        BinOp::Atan2 | BinOp::Hypot | BinOp::CopySign => Rule::Arithmetic(Constraint::Float),
        BinOp::Eq | BinOp::Ne => Rule::Comparison(Constraint::Equality),
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => Rule::Comparison(Constraint::Order),
    }
}

impl Checker<'_> {
    pub fn infer_binary(
        &mut self,
        op: ast::BinaryOp,
        op_span: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Expr {
        match op {
            ast::BinaryOp::Scalar(op) => self.infer_scalar_binary(op, op_span, left, right, span),
            ast::BinaryOp::LogicalAnd | ast::BinaryOp::LogicalOr => {
                let (operator, name) = match op {
                    ast::BinaryOp::LogicalAnd => (Operator::LogicalAnd, "&&"),
                    _ => (Operator::LogicalOr, "||"),
                };
                let left = self.check(left, &boolean(), Why::Operator(name));
                let right = self.check(right, &boolean(), Why::Operator(name));
                binary(operator, left, right, boolean(), span)
            }
            ast::BinaryOp::Concat => self.infer_concat(op_span, left, right, span),
            // Pipes are applications and have been treated as such.
            ast::BinaryOp::PipeRight | ast::BinaryOp::PipeLeft => self.error_expr(span),
        }
    }

    fn infer_concat(&mut self, op_span: Span, left: &ast::Expr, right: &ast::Expr, span: Span) -> Expr {
        let concat = self.prim(Prim::Concat, almach_prim::Annotation::NONE, op_span);
        let Some((first, rest)) = split_function(&concat.ty) else {
            return self.error_expr(span);
        };
        let Some((second, result)) = split_function(&rest) else {
            return self.error_expr(span);
        };
        let left = self.check(left, &first, Why::Operator("++"));
        let why = Why::Operand {
            operator: "++",
            other: left.span,
        };
        let right = self.check(right, &second, why);
        binary(Operator::Concat, left, right, result, span)
    }

    fn infer_scalar_binary(
        &mut self,
        op: BinOp,
        op_span: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Expr {
        let left = self.infer(left);
        let right = self.infer(right);
        let ty = match rule(op) {
            Rule::Comparison(constraint) => {
                self.compare(op, constraint, &left, &right);
                boolean()
            }
            Rule::Arithmetic(constraint) => self.arithmetic(op, constraint, op_span, &left, &right),
        };
        binary(Operator::Scalar(op), left, right, ty, span)
    }

    /// Operands of a comparison may differ in size: they are then unequal.
    fn compare(&mut self, op: BinOp, constraint: Constraint, left: &Expr, right: &Expr) {
        let cause = Cause {
            span: right.span,
            why: Why::Operand {
                operator: op.name(),
                other: left.span,
            },
            found: Some(right.ty.clone()),
            expected: Some(left.ty.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        if let Err(mismatch) = self.solver.unify_shapes(&right.ty, &left.ty) {
            self.report_mismatch(&cause, &mismatch);
            return;
        }
        self.constrain(&left.ty, constraint, left.span, Why::Operator(op.name()));
    }

    fn arithmetic(
        &mut self,
        op: BinOp,
        constraint: Constraint,
        op_span: Span,
        left: &Expr,
        right: &Expr,
    ) -> Type {
        let why = Why::Operand {
            operator: op.name(),
            other: left.span,
        };
        let is_vector = |checker: &Self, ty: &Type| match checker.solver.head(ty) {
            Type::Vector(_, element) => Some((**element).clone()),
            _ => None,
        };
        // A scalar beside a short vector stands for all its lanes.
        let (vector, scalar, element) = match (is_vector(self, &left.ty), is_vector(self, &right.ty)) {
            (Some(element), None) if self.may_broadcast(&right.ty) => (left, right, element),
            (None, Some(element)) if self.may_broadcast(&left.ty) => (right, left, element),
            _ => {
                if !self.constrain_operand(&left.ty, constraint, op, op_span, left.span) {
                    return self.any_type(left.span);
                }
                self.require_operand(right, &left.ty, why);
                return left.ty.clone();
            }
        };
        self.constrain_operand(&vector.ty, constraint, op, op_span, vector.span);
        self.require_operand(scalar, &element, why);
        vector.ty.clone()
    }

    fn require_operand(&mut self, operand: &Expr, expected: &Type, why: Why) {
        let cause = Cause {
            span: operand.span,
            why,
            found: Some(operand.ty.clone()),
            expected: Some(expected.clone()),
            bound: self.origin(operand),
        };
        self.solver.cause = cause.clone();
        if let Err(mismatch) = self.solver.unify(&operand.ty, expected) {
            self.report_mismatch(&cause, &mismatch);
        }
    }

    fn may_broadcast(&self, ty: &Type) -> bool {
        match self.solver.head(ty) {
            Type::Scalar(_) => true,
            Type::Var(var) => self.solver.type_var(var).is_some_and(|info| {
                matches!(
                    info.constraint,
                    Constraint::Number | Constraint::Integer | Constraint::Float
                )
            }),
            _ => false,
        }
    }

    fn constrain_operand(
        &mut self,
        ty: &Type,
        constraint: Constraint,
        op: BinOp,
        op_span: Span,
        span: Span,
    ) -> bool {
        let cause = Cause {
            span,
            why: Why::Unsaid,
            found: Some(ty.clone()),
            expected: None,
            bound: None,
        };
        let Err(mismatch) = self.solver.constrain(ty, constraint, op_span) else {
            return true;
        };
        let is_array = matches!(self.solver.head(ty), Type::Array(..));
        self.report_mismatch(&cause, &mismatch);
        if is_array && let Some(last) = self.diagnostics.last_mut() {
            last.help.push(format!(
                "operators work on elements: `map ({}) xs ys` applies one to whole arrays",
                op.name()
            ));
        }
        false
    }

    /// `(+)`.
    pub fn operator_value(&mut self, op: ast::BinaryOp, span: Span) -> Expr {
        let (operator, ty) = match op {
            ast::BinaryOp::Scalar(op) => (Operator::Scalar(op), self.binary_type(op, span)),
            ast::BinaryOp::LogicalAnd => (Operator::LogicalAnd, booleans()),
            ast::BinaryOp::LogicalOr => (Operator::LogicalOr, booleans()),
            ast::BinaryOp::Concat => {
                let concat = self.prim(Prim::Concat, almach_prim::Annotation::NONE, span);
                (Operator::Concat, concat.ty)
            }
            ast::BinaryOp::PipeRight | ast::BinaryOp::PipeLeft => {
                return self.pipe_value(op, span);
            }
        };
        Expr {
            kind: ExprKind::Operator(operator),
            ty,
            span,
        }
    }

    fn pipe_value(&mut self, op: ast::BinaryOp, span: Span) -> Expr {
        let (left, right) = (Name::from(" left"), Name::from(" right"));
        let params = [param(&left, span), param(&right, span)];
        let body = operation(op, variable(&left, span), variable(&right, span), span);
        self.infer_lambda(&params, &body, None, span)
    }

    fn binary_type(&mut self, op: BinOp, span: Span) -> Type {
        let (constraint, compares) = match rule(op) {
            Rule::Arithmetic(constraint) => (constraint, false),
            Rule::Comparison(constraint) => (constraint, true),
        };
        let operand = self.solver.fresh_type(constraint, span);
        let result = if compares { boolean() } else { operand.clone() };
        function(operand.clone(), function(operand, result))
    }

    /// `sqrt`, `min`, `f32`, …
    pub fn scalar_function(&mut self, scalar: ScalarFunction, span: Span) -> Expr {
        let ty = match scalar {
            ScalarFunction::Unary(op) => self.unary_type(op, span),
            ScalarFunction::Binary(op) => self.binary_type(op, span),
            ScalarFunction::Cast => {
                let from = self.solver.fresh_type(Constraint::Scalar, span);
                function(from, self.solver.fresh_type(Constraint::Scalar, span))
            }
            ScalarFunction::Ternary(TernOp::Fma) => {
                let float = self.solver.fresh_type(Constraint::Float, span);
                let rest = function(float.clone(), float.clone());
                function(float.clone(), function(float, rest))
            }
        };
        Expr {
            kind: ExprKind::ScalarFunction(scalar),
            ty,
            span,
        }
    }

    fn unary_type(&mut self, op: UnOp, span: Span) -> Type {
        use almach_value::ScalarType;
        let mut of = |constraint| self.solver.fresh_type(constraint, span);
        match op {
            UnOp::Neg | UnOp::Abs | UnOp::Signum => {
                let number = of(Constraint::Number);
                function(number.clone(), number)
            }
            UnOp::Not => function(boolean(), boolean()),
            UnOp::Complement => {
                let integer = of(Constraint::Integer);
                function(integer.clone(), integer)
            }
            UnOp::IsNan | UnOp::IsInf => function(of(Constraint::Float), boolean()),
            UnOp::PopCount | UnOp::LeadingZeros | UnOp::TrailingZeros => {
                function(of(Constraint::Integer), Type::Scalar(ScalarType::I32))
            }
            UnOp::Convert(to) => function(of(Constraint::Scalar), Type::Scalar(to)),
            UnOp::ToBits | UnOp::FromBits => {
                let (float, bits) = (of(Constraint::Float), of(Constraint::Integer));
                let ty = match op {
                    UnOp::ToBits => function(float.clone(), bits.clone()),
                    _ => function(bits.clone(), float.clone()),
                };
                self.ask(crate::pending::Question::Bits { float, bits }, span);
                ty
            }
            UnOp::Sqrt
            | UnOp::Rsqrt
            | UnOp::Cbrt
            | UnOp::Exp
            | UnOp::Exp2
            | UnOp::Expm1
            | UnOp::Log
            | UnOp::Log2
            | UnOp::Log10
            | UnOp::Log1p
            | UnOp::Sin
            | UnOp::Cos
            | UnOp::Tan
            | UnOp::Asin
            | UnOp::Acos
            | UnOp::Atan
            | UnOp::Sinh
            | UnOp::Cosh
            | UnOp::Tanh
            | UnOp::Erf
            | UnOp::Floor
            | UnOp::Ceil
            | UnOp::Trunc
            | UnOp::Round => {
                let float = of(Constraint::Float);
                function(float.clone(), float)
            }
        }
    }

    pub fn infer_section(&mut self, expr: &ast::Expr) -> Expr {
        self.section(expr, &mut |this, params, body, span| {
            this.infer_lambda(params, body, None, span)
        })
    }

    pub fn check_section(&mut self, expr: &ast::Expr, expected: &Type, why: Why) -> Expr {
        let section = self.section(expr, &mut |this, params, body, span| {
            this.infer_lambda(params, body, Some(expected), span)
        });
        self.coerce(section, expected, why)
    }

    /// `(+ e)` is `let s = e in \x -> x + s`; what is cheap is not bound first.
    fn section(&mut self, expr: &ast::Expr, lambda: LambdaMaker<'_, Self>) -> Expr {
        let span = expr.span;
        let (op, operand, is_left) = match &expr.kind {
            ast::ExprKind::LeftSection(op, operand) => (*op, operand, true),
            ast::ExprKind::RightSection(op, operand) => (*op, operand, false),
            _ => return self.error_expr(span),
        };
        let x = Name::from(" x");
        let make = |operand: ast::Expr| {
            let x = variable(&x, span);
            match is_left {
                true => operation(op, operand, x, span),
                false => operation(op, x, operand, span),
            }
        };
        if is_cheap(operand) {
            return lambda(self, &[param(&x, span)], &make((**operand).clone()), span);
        }
        let s = Name::from(" s");
        let binding = ast::Binding::Value {
            pattern: pattern(&s, operand.span),
            value: (**operand).clone(),
            span: operand.span,
        };
        let body = make(variable(&s, operand.span));
        self.infer_let(&[binding], span, &mut |this| {
            lambda(this, &[param(&x, span)], &body, span)
        })
    }
}

type LambdaMaker<'f, C> = &'f mut dyn FnMut(&mut C, &[ast::Param], &ast::Expr, Span) -> Expr;

fn binary(operator: Operator, left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)),
        ty,
        span,
    }
}

fn booleans() -> Type {
    function(boolean(), function(boolean(), boolean()))
}

fn split_function(ty: &Type) -> Option<(Type, Type)> {
    match ty {
        Type::Function(function) => Some((function.param.clone(), function.result.clone())),
        _ => None,
    }
}

fn is_cheap(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Int { .. }
        | ast::ExprKind::Float { .. }
        | ast::ExprKind::Bool(_)
        | ast::ExprKind::Var(_) => true,
        ast::ExprKind::Paren(inner) | ast::ExprKind::Unary(_, inner) => is_cheap(inner),
        _ => false,
    }
}

fn pattern(name: &Name, span: Span) -> ast::Pattern {
    ast::Pattern {
        kind: ast::PatternKind::Var(name.clone()),
        span,
    }
}

fn param(name: &Name, span: Span) -> ast::Param {
    ast::Param {
        pattern: pattern(name, span),
    }
}

pub(super) fn variable(name: &Name, span: Span) -> ast::Expr {
    let ident = ast::Ident {
        name: name.clone(),
        span,
    };
    ast::Expr {
        kind: ast::ExprKind::Var(ast::Path {
            qualifier: None,
            name: ident,
            span,
        }),
        span,
    }
}

fn operation(op: ast::BinaryOp, left: ast::Expr, right: ast::Expr, span: Span) -> ast::Expr {
    ast::Expr {
        kind: ast::ExprKind::Binary(op, span, Box::new(left), Box::new(right)),
        span,
    }
}
