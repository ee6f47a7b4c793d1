//! Expressions.

use super::{NOWHERE, Pattern, Ty, ident, path, span};
use crate::error::Errors;
use almach_base::{Name, SourceMap, Span};
use almach_syntax::ast::{self, BinaryOp, ExprKind, UnaryOp};
use almach_syntax::{EraseSpans, parse_expr};
use almach_value::{BinOp, ScalarType, UnOp};
use std::ops::Range;
use std::sync::Arc;

/// An expression. Rust's operators build the language's (`a + b`, `-a`, `!a`); methods build the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr(pub(super) ast::Expr);

/// Operators of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// `**`.
    Pow,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// The right side is only computed when it is needed.
    And,
    Or,
    /// `++` of arrays.
    Concat,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    BitOr,
    BitXor,
}

impl Operator {
    fn ast(self) -> BinaryOp {
        BinaryOp::Scalar(match self {
            Operator::Add => BinOp::Add,
            Operator::Sub => BinOp::Sub,
            Operator::Mul => BinOp::Mul,
            Operator::Div => BinOp::Div,
            Operator::Rem => BinOp::Rem,
            Operator::Pow => BinOp::Pow,
            Operator::Equal => BinOp::Eq,
            Operator::NotEqual => BinOp::Ne,
            Operator::Less => BinOp::Lt,
            Operator::LessEqual => BinOp::Le,
            Operator::Greater => BinOp::Gt,
            Operator::GreaterEqual => BinOp::Ge,
            Operator::ShiftLeft => BinOp::Shl,
            Operator::ShiftRight => BinOp::Shr,
            Operator::BitAnd => BinOp::And,
            Operator::BitOr => BinOp::Or,
            Operator::BitXor => BinOp::Xor,
            Operator::And => return BinaryOp::LogicalAnd,
            Operator::Or => return BinaryOp::LogicalOr,
            Operator::Concat => return BinaryOp::Concat,
        })
    }
}

fn expr(kind: ExprKind) -> Expr {
    Expr(ast::Expr { kind, span: NOWHERE })
}

/// A name.
pub fn var(name: &str) -> Expr {
    expr(ExprKind::Var(path(name)))
}

/// An expression in Almach's syntax, all of which comes from one place: for what is easier written than built. Its free names are
/// those around it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use almach::build::{Module, Ty, quote};
/// use almach::Value;
///
/// let norm = quote("sqrt (sum (map (** 2) xs))", 0..0)?;
/// let program = Module::new("norm").entry("main", [("xs", Ty::array(Ty::F64))], Ty::F64, norm).finish()?;
/// assert_eq!(program.interpreter()?.call("main", &[Value::from([3.0, 4.0])])?.scalar(), Some(5.0));
/// # Ok(())
/// # }
/// ```
pub fn quote(text: &str, place: Range<usize>) -> Result<Expr, Errors> {
    let mut sources = SourceMap::new();
    let file = sources.add("quoted", text.to_owned());
    let (mut parsed, problems) = parse_expr(file, text);
    if !problems.is_empty() {
        return Err(Errors::new(problems, Arc::new(sources)));
    }
    parsed.set_spans(span(place));
    Ok(Expr(parsed))
}

/// An integer of a type.
pub fn int(value: i64, ty: ScalarType) -> Expr {
    let magnitude = expr(ExprKind::Int {
        value: u128::from(value.unsigned_abs()),
        suffix: Some(ty),
    });
    if value < 0 { -magnitude } else { magnitude }
}

/// A float of a type, which must be `F32` or `F64`.
pub fn float(value: f64, ty: ScalarType) -> Expr {
    let literal = |value: f64| {
        expr(ExprKind::Float {
            text: Name::from(format!("{value:?}")),
            suffix: Some(ty),
        })
    };
    if value.is_nan() {
        return literal(0.0) / literal(0.0);
    }
    let magnitude = match value.is_infinite() {
        true => literal(1.0) / literal(0.0),
        false => literal(value.abs()),
    };
    if value.is_sign_negative() {
        -magnitude
    } else {
        magnitude
    }
}

pub fn boolean(value: bool) -> Expr {
    expr(ExprKind::Bool(value))
}

/// A constructor as a function: `Some`.
pub fn constructor(name: &str) -> Expr {
    expr(ExprKind::Constructor(path(name)))
}

/// An operator as a function: `(+)`.
pub fn operator(operator: Operator) -> Expr {
    expr(ExprKind::Operator(operator.ast()))
}

/// A function applied to arguments.
pub fn apply(function: Expr, args: impl IntoIterator<Item = Expr>) -> Expr {
    let args: Vec<ast::Expr> = args.into_iter().map(|arg| arg.0).collect();
    match args.is_empty() {
        true => function,
        false => expr(ExprKind::Apply(Box::new(function.0), args)),
    }
}

/// A function or built-in of this name applied to arguments.
pub fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    apply(var(name), args)
}

/// `\x y -> body`.
pub fn lambda(params: impl IntoIterator<Item = impl Into<Pattern>>, body: Expr) -> Expr {
    let params = params.into_iter().map(|param| param.into().param()).collect();
    expr(ExprKind::Lambda(params, Box::new(body.0)))
}

/// `let p = value in body`.
pub fn let_(pattern: impl Into<Pattern>, value: Expr, body: Expr) -> Expr {
    let binding = ast::Binding::Value {
        pattern: pattern.into().0,
        span: value.0.span,
        value: value.0,
    };
    expr(ExprKind::Let(vec![binding], Box::new(body.0)))
}

/// `let rec name params: result = value in body`.
pub fn let_rec(
    name: &str,
    params: impl IntoIterator<Item = impl Into<Pattern>>,
    result: Ty,
    value: Expr,
    body: Expr,
) -> Expr {
    let function = ast::Def {
        kind: ast::DefKind::Local,
        recursive: ast::Recursive::Yes,
        name: ident(name),
        sizes: Vec::new(),
        params: params.into_iter().map(|param| param.into().param()).collect(),
        result: Some(result.0),
        span: value.0.span,
        body: value.0,
    };
    expr(ExprKind::Let(
        vec![ast::Binding::Functions(vec![function])],
        Box::new(body.0),
    ))
}

/// `if condition then yes else no`.
pub fn if_(condition: Expr, yes: Expr, no: Expr) -> Expr {
    expr(ExprKind::If(
        Box::new(condition.0),
        Box::new(yes.0),
        Box::new(no.0),
    ))
}

/// `case value of | pattern -> body …`.
pub fn case(value: Expr, arms: impl IntoIterator<Item = (Pattern, Expr)>) -> Expr {
    let arm = |(pattern, body): (Pattern, Expr)| ast::Arm {
        span: body.0.span,
        pattern: pattern.0,
        guard: None,
        body: body.0,
    };
    expr(ExprKind::Case(
        Box::new(value.0),
        arms.into_iter().map(arm).collect(),
    ))
}

/// `(a, b)`.
pub fn tuple(components: impl IntoIterator<Item = Expr>) -> Expr {
    let components = components.into_iter().map(|component| component.0);
    expr(ExprKind::Tuple(components.collect()))
}

/// `[a, b, c]`.
pub fn array(elements: impl IntoIterator<Item = Expr>) -> Expr {
    let elements = elements.into_iter().map(|element| element.0);
    expr(ExprKind::Array(elements.collect()))
}

/// `loop (state = initial) for index < bound do body`.
pub fn loop_for(state: impl Into<Pattern>, initial: Expr, index: &str, bound: Expr, body: Expr) -> Expr {
    let form = ast::LoopForm::For {
        index: ident(index),
        bound: bound.0,
    };
    looping(state.into(), initial, form, body)
}

/// `loop (state = initial) while condition do body`.
pub fn loop_while(state: impl Into<Pattern>, initial: Expr, condition: Expr, body: Expr) -> Expr {
    looping(state.into(), initial, ast::LoopForm::While(condition.0), body)
}

fn looping(state: Pattern, initial: Expr, form: ast::LoopForm, body: Expr) -> Expr {
    expr(ExprKind::Loop(Box::new(ast::Loop {
        pattern: state.0,
        initial: Some(initial.0),
        form,
        body: body.0,
    })))
}

/// `assert condition, "text" in body`.
pub fn assert(condition: Expr, text: &str, body: Expr) -> Expr {
    expr(ExprKind::Assert {
        condition: Box::new(condition.0),
        text: Name::from(text),
        body: Box::new(body.0),
    })
}

/// `value :> ty`: sizes are checked at run time.
pub fn coerce(value: Expr, ty: Ty) -> Expr {
    expr(ExprKind::Coerce(Box::new(value.0), Box::new(ty.0)))
}

/// `value[begin:end]`, half open; parts may be left out.
pub fn select(value: Expr, begin: Option<Expr>, end: Option<Expr>) -> Expr {
    let slice = ast::IndexArg::Slice {
        begin: begin.map(|begin| begin.0),
        end: end.map(|end| end.0),
        bound: ast::SliceBound::Before,
        step: None,
        span: value.0.span,
    };
    expr(ExprKind::Index(Box::new(value.0), vec![slice]))
}

impl Expr {
    /// `self op other`.
    #[must_use]
    pub fn binary(self, operator: Operator, other: Expr) -> Expr {
        let place = self.0.span;
        expr(ExprKind::Binary(
            operator.ast(),
            place,
            Box::new(self.0),
            Box::new(other.0),
        ))
    }

    /// `self[i, j]`.
    #[must_use]
    pub fn index(self, indices: impl IntoIterator<Item = Expr>) -> Expr {
        let indices = indices.into_iter().map(|index| ast::IndexArg::At(index.0));
        expr(ExprKind::Index(Box::new(self.0), indices.collect()))
    }

    /// `self.0`.
    #[must_use]
    pub fn component(self, at: u32) -> Expr {
        expr(ExprKind::Project(Box::new(self.0), at))
    }

    /// `(self : ty)`.
    #[must_use]
    pub fn of_type(self, ty: Ty) -> Expr {
        expr(ExprKind::Ascribe(Box::new(self.0), Box::new(ty.0)))
    }

    /// Where it comes from; also for the parts of it that do not say so themselves.
    #[must_use]
    pub fn at(mut self, place: Range<usize>) -> Expr {
        settle(&mut self.0, span(place));
        self
    }
}

/// Gives a place to an expression and to its parts that have none.
fn settle(expr: &mut ast::Expr, place: Span) {
    expr.span = place;
    let part = |part: &mut ast::Expr| {
        if part.span == NOWHERE {
            settle(part, place);
        }
    };
    match &mut expr.kind {
        ExprKind::Var(path) | ExprKind::Constructor(path) => {
            path.span = place;
            path.name.span = place;
        }
        ExprKind::Binary(_, operator, left, right) => {
            *operator = place;
            [left, right].into_iter().for_each(|side| part(side));
        }
        ExprKind::Apply(function, args) => {
            part(function);
            args.iter_mut().for_each(part);
        }
        ExprKind::If(condition, yes, no) => [condition, yes, no].into_iter().for_each(|side| part(side)),
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter_mut().for_each(part),
        ExprKind::Lambda(_, body)
        | ExprKind::Let(_, body)
        | ExprKind::Unary(_, body)
        | ExprKind::Project(body, _)
        | ExprKind::Index(body, _)
        | ExprKind::Ascribe(body, _)
        | ExprKind::Coerce(body, _)
        | ExprKind::Assert { body, .. }
        | ExprKind::Case(body, _) => part(body),
        // The others have no parts, or parts that are placed where they are built.
        _ => {}
    }
}

macro_rules! operators {
    ($($class:ident :: $method:ident => $operator:ident),*) => {$(
        impl std::ops::$class for Expr {
            type Output = Expr;

            fn $method(self, other: Expr) -> Expr {
                self.binary(Operator::$operator, other)
            }
        }
    )*};
}

operators!(Add::add => Add, Sub::sub => Sub, Mul::mul => Mul, Div::div => Div, Rem::rem => Rem);

impl std::ops::Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        expr(ExprKind::Unary(UnaryOp::Scalar(UnOp::Neg), Box::new(self.0)))
    }
}

impl std::ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        expr(ExprKind::Unary(UnaryOp::Scalar(UnOp::Not), Box::new(self.0)))
    }
}
