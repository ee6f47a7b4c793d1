//! The binary operators: spelling, precedence, associativity (design, section 3: "Operators, tightest first").

use crate::ast::{BinaryOp, ExprKind};
use crate::token::Tok;
use almach_value::BinOp;

/// How tightly something binds; larger is tighter.
pub type Precedence = u8;

/// `let`, `if`, lambdas … : they reach as far to the right as they can.
pub const FORM: Precedence = 0;
/// `a with [i] = e`.
pub const WITH: Precedence = 1;
pub const PIPE: Precedence = 2;
pub const RANGE: Precedence = 3;
const LOGICAL_OR: Precedence = 4;
const LOGICAL_AND: Precedence = 5;
pub const COMPARISON: Precedence = 6;
pub const COERCE: Precedence = 7;
const CONCAT: Precedence = 8;
const BIT_OR: Precedence = 9;
const BIT_XOR: Precedence = 10;
const BIT_AND: Precedence = 11;
const SHIFT: Precedence = 12;
const SUM: Precedence = 13;
const PRODUCT: Precedence = 14;
const POWER: Precedence = 15;
pub const UNARY: Precedence = 16;
pub const APPLICATION: Precedence = 17;
pub const ATOM: Precedence = 18;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Associativity {
    Left,
    Right,
    /// `a < b < c` is refused.
    None,
}

/// What an infix token does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Infix {
    Binary(BinaryOp),
    Range,
    /// Its right side is a type.
    Coerce,
}

impl Infix {
    pub fn from_token(token: Tok) -> Option<Infix> {
        match token {
            Tok::RangeTo => Some(Infix::Range),
            Tok::Coerce => Some(Infix::Coerce),
            _ => BinaryOp::from_token(token).map(Infix::Binary),
        }
    }

    pub fn precedence(self) -> Precedence {
        match self {
            Infix::Binary(op) => op.precedence(),
            Infix::Range => RANGE,
            Infix::Coerce => COERCE,
        }
    }

    pub fn associativity(self) -> Associativity {
        match self {
            Infix::Binary(op) => op.associativity(),
            Infix::Range => Associativity::None,
            Infix::Coerce => Associativity::Left,
        }
    }
}

impl BinaryOp {
    pub(crate) fn from_token(token: Tok) -> Option<BinaryOp> {
        Some(match token {
            Tok::StarStar => BinaryOp::Scalar(BinOp::Pow),
            Tok::Star => BinaryOp::Scalar(BinOp::Mul),
            Tok::Slash => BinaryOp::Scalar(BinOp::Div),
            Tok::Percent => BinaryOp::Scalar(BinOp::Rem),
            Tok::Plus => BinaryOp::Scalar(BinOp::Add),
            Tok::Minus => BinaryOp::Scalar(BinOp::Sub),
            Tok::Shl => BinaryOp::Scalar(BinOp::Shl),
            Tok::Shr => BinaryOp::Scalar(BinOp::Shr),
            Tok::Amp => BinaryOp::Scalar(BinOp::And),
            Tok::Caret => BinaryOp::Scalar(BinOp::Xor),
            Tok::Bar => BinaryOp::Scalar(BinOp::Or),
            Tok::EqEq => BinaryOp::Scalar(BinOp::Eq),
            Tok::NotEq => BinaryOp::Scalar(BinOp::Ne),
            Tok::Lt => BinaryOp::Scalar(BinOp::Lt),
            Tok::Le => BinaryOp::Scalar(BinOp::Le),
            Tok::Gt => BinaryOp::Scalar(BinOp::Gt),
            Tok::Ge => BinaryOp::Scalar(BinOp::Ge),
            Tok::PlusPlus => BinaryOp::Concat,
            Tok::AndAnd => BinaryOp::LogicalAnd,
            Tok::OrOr => BinaryOp::LogicalOr,
            Tok::PipeRight => BinaryOp::PipeRight,
            Tok::PipeLeft => BinaryOp::PipeLeft,
            _ => return None,
        })
    }

    /// How it is written. Scalar operators that have no symbol (`min`, `atan2` …) are never infix.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Scalar(op) => match op {
                BinOp::Add => "+",
                BinOp::Sub => "-",
                BinOp::Mul => "*",
                BinOp::Div => "/",
                BinOp::Rem => "%",
                BinOp::Pow => "**",
                BinOp::Shl => "<<",
                BinOp::Shr => ">>",
                BinOp::And => "&",
                BinOp::Or => "|",
                BinOp::Xor => "^",
                BinOp::Eq => "==",
                BinOp::Ne => "!=",
                BinOp::Lt => "<",
                BinOp::Le => "<=",
                BinOp::Gt => ">",
                BinOp::Ge => ">=",
                BinOp::Min => "min",
                BinOp::Max => "max",
                BinOp::Atan2 => "atan2",
                BinOp::Hypot => "hypot",
                BinOp::CopySign => "copysign",
            },
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::LogicalOr => "||",
            BinaryOp::Concat => "++",
            BinaryOp::PipeRight => "|>",
            BinaryOp::PipeLeft => "<|",
        }
    }

    pub(crate) fn precedence(self) -> Precedence {
        match self {
            BinaryOp::Scalar(op) => match op {
                BinOp::Add | BinOp::Sub => SUM,
                BinOp::Mul | BinOp::Div | BinOp::Rem => PRODUCT,
                BinOp::Pow => POWER,
                BinOp::Shl | BinOp::Shr => SHIFT,
                BinOp::And => BIT_AND,
                BinOp::Or => BIT_OR,
                BinOp::Xor => BIT_XOR,
                BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => COMPARISON,
                BinOp::Min | BinOp::Max | BinOp::Atan2 | BinOp::Hypot | BinOp::CopySign => APPLICATION,
            },
            BinaryOp::LogicalAnd => LOGICAL_AND,
            BinaryOp::LogicalOr => LOGICAL_OR,
            BinaryOp::Concat => CONCAT,
            BinaryOp::PipeRight | BinaryOp::PipeLeft => PIPE,
        }
    }

    pub(crate) fn associativity(self) -> Associativity {
        match self {
            BinaryOp::Scalar(BinOp::Pow) | BinaryOp::PipeLeft => Associativity::Right,
            _ if self.precedence() == COMPARISON => Associativity::None,
            _ => Associativity::Left,
        }
    }
}

/// How tightly an expression holds together as written.
pub fn precedence_of(expr: &ExprKind) -> Precedence {
    match expr {
        ExprKind::Lambda(..)
        | ExprKind::Let(..)
        | ExprKind::If(..)
        | ExprKind::Case(..)
        | ExprKind::Loop(_)
        | ExprKind::Assert { .. }
        | ExprKind::Foreach { .. } => FORM,
        ExprKind::With { .. } => WITH,
        ExprKind::Range(..) => RANGE,
        ExprKind::Coerce(..) => COERCE,
        ExprKind::Binary(op, ..) => op.precedence(),
        ExprKind::Unary(..) => UNARY,
        ExprKind::Apply(..) | ExprKind::Trace { .. } => APPLICATION,
        ExprKind::Int { .. }
        | ExprKind::Float { .. }
        | ExprKind::Bool(_)
        | ExprKind::Str(_)
        | ExprKind::Var(_)
        | ExprKind::Annotated { .. }
        | ExprKind::Constructor(_)
        | ExprKind::NodeConstructor(_)
        | ExprKind::Tuple(_)
        | ExprKind::Record(_)
        | ExprKind::Project(..)
        | ExprKind::Field(..)
        | ExprKind::Index(..)
        | ExprKind::Array(_)
        | ExprKind::Operator(_)
        | ExprKind::LeftSection(..)
        | ExprKind::RightSection(..)
        | ExprKind::Ascribe(..)
        | ExprKind::Paren(_)
        | ExprKind::Error => ATOM,
    }
}
