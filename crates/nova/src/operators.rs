//! Operators. All are functions of one argument at a time: `+` is one, `(+ 1)` another, `(+ 1 2)` a number.

use crate::reader::{apply, binder, expr, variable};
use almach_base::Span;
use almach_syntax::ast::{BinaryOp, Expr, ExprKind, Param, UnaryOp};
use almach_value::{BinOp, UnOp};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Unary(UnOp),
    Binary(BinaryOp),
}

/// The operator a symbol or a word is.
pub fn operator(text: &str) -> Option<Operator> {
    let binary = |op| Some(Operator::Binary(BinaryOp::Scalar(op)));
    match text {
        "+" => binary(BinOp::Add),
        "-" => binary(BinOp::Sub),
        "*" => binary(BinOp::Mul),
        "/" => binary(BinOp::Div),
        "%" => binary(BinOp::Rem),
        "=" => binary(BinOp::Eq),
        "~=" => binary(BinOp::Ne),
        "<" => binary(BinOp::Lt),
        "<=" => binary(BinOp::Le),
        ">" => binary(BinOp::Gt),
        ">=" => binary(BinOp::Ge),
        "&" => binary(BinOp::And),
        "|" => binary(BinOp::Or),
        "^" => binary(BinOp::Xor),
        "<<" => binary(BinOp::Shl),
        ">>" => binary(BinOp::Shr),
        "and" => Some(Operator::Binary(BinaryOp::LogicalAnd)),
        "or" => Some(Operator::Binary(BinaryOp::LogicalOr)),
        "not" => Some(Operator::Unary(UnOp::Not)),
        "~" => Some(Operator::Unary(UnOp::Complement)),
        _ => None,
    }
}

/// An operator with some of its arguments, or all, or more.
pub fn applied(operator: Operator, operator_span: Span, args: Vec<Expr>, span: Span) -> Expr {
    let mut args = args.into_iter();
    let head = match operator {
        Operator::Unary(op) => match args.next() {
            None => unary_function(op, operator_span),
            Some(operand) => unary(op, operand, span),
        },
        Operator::Binary(op) => match (args.next(), args.next()) {
            (None, _) => expr(ExprKind::Operator(op), operator_span),
            (Some(left), None) => expr(ExprKind::LeftSection(op, Box::new(left)), span),
            (Some(left), Some(right)) => expr(
                ExprKind::Binary(op, operator_span, Box::new(left), Box::new(right)),
                span,
            ),
        },
    };
    apply(head, args.collect(), span)
}

pub fn unary(op: UnOp, operand: Expr, span: Span) -> Expr {
    expr(ExprKind::Unary(UnaryOp::Scalar(op), Box::new(operand)), span)
}

fn unary_function(op: UnOp, span: Span) -> Expr {
    let name = " operand";
    let param = Param {
        pattern: binder(name, span),
    };
    let body = unary(op, variable(name, span), span);
    expr(ExprKind::Lambda(vec![param], Box::new(body)), span)
}
