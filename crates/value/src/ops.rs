//! The scalar operators: their names, and what they mean (design, sections 3 and 4). This is the one definition;
//! interpreters call [`BinOp::eval`] and friends, back ends print code that agrees with it.

use crate::raw::{RawBinary, RawUnary};
use crate::{Scalar, ScalarType, raw};
use std::fmt;

/// Operators of one argument. `Convert(t)` goes from any number or boolean to `t`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnOp {
    Neg,
    /// `!` on booleans.
    Not,
    /// `~` on integers.
    Complement,
    Abs,
    /// -1 or 1; zeros and NaN stay what they are.
    Signum,
    Sqrt,
    Rsqrt,
    Cbrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Floor,
    Ceil,
    Trunc,
    /// Half to even.
    Round,
    IsNan,
    IsInf,
    /// Counts of bits are `i32`, whatever the argument's type.
    PopCount,
    LeadingZeros,
    TrailingZeros,
    /// Float to integer saturates, NaN gives 0; integer to integer wraps; boolean to number is 0 or 1; number to
    /// boolean is `x != 0`.
    Convert(ScalarType),
    /// The bits of a float as an unsigned integer of its width, and back. All NaNs give the same bits.
    ToBits,
    FromBits,
}

/// Operators of two arguments of one type (comparisons give a boolean; shifts take a count of the same type).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Shl,
    Shr,
    /// `&` on integers and booleans, without short circuit.
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Min,
    Max,
    Atan2,
    Hypot,
    CopySign,
}

/// Operators of three arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TernOp {
    Fma,
}

/// Why a scalar operator has no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OpError {
    DivisionByZero,
    NegativeShift,
    /// `**` on integers with a negative exponent.
    NegativeExponent,
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpError::DivisionByZero => "division by zero",
            OpError::NegativeShift => "negative shift count",
            OpError::NegativeExponent => "negative exponent of an integer power",
        })
    }
}

/// The type of an operator's result for a type of arguments; none where it does not apply.
impl UnOp {
    pub fn result_type(self, arg: ScalarType) -> Option<ScalarType> {
        use UnOp::{
            Abs, Acos, Asin, Atan, Cbrt, Ceil, Complement, Convert, Cos, Cosh, Erf, Exp, Exp2, Expm1, Floor,
            FromBits, IsInf, IsNan, LeadingZeros, Log, Log1p, Log2, Log10, Neg, Not, PopCount, Round, Rsqrt,
            Signum, Sin, Sinh, Sqrt, Tan, Tanh, ToBits, TrailingZeros, Trunc,
        };
        match self {
            Neg | Abs | Signum => arg.is_number().then_some(arg),
            Not => (arg == ScalarType::Bool).then_some(arg),
            Complement => arg.is_integer().then_some(arg),
            Sqrt | Rsqrt | Cbrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan
            | Asin | Acos | Atan | Sinh | Cosh | Tanh | Erf | Floor | Ceil | Trunc | Round => {
                arg.is_float().then_some(arg)
            }
            IsNan | IsInf => arg.is_float().then_some(ScalarType::Bool),
            PopCount | LeadingZeros | TrailingZeros => arg.is_integer().then_some(ScalarType::I32),
            Convert(to) => Some(to),
            ToBits => match arg {
                ScalarType::F32 => Some(ScalarType::U32),
                ScalarType::F64 => Some(ScalarType::U64),
                _ => None,
            },
            FromBits => match arg {
                ScalarType::U32 => Some(ScalarType::F32),
                ScalarType::U64 => Some(ScalarType::F64),
                _ => None,
            },
        }
    }

    /// The operator on raw scalars of a type; none where it does not apply.
    pub fn raw(self, arg: ScalarType) -> Option<RawUnary> {
        raw::unary(self, arg)
    }

    /// None where the operator does not apply to the argument's type.
    pub fn eval(self, arg: Scalar) -> Option<Scalar> {
        let result = self.result_type(arg.ty())?;
        let function = self.raw(arg.ty())?;
        Some(Scalar::from_raw(result, function(arg.to_raw())))
    }

    /// The name users call it by; symbols for prefix operators.
    pub fn name(self) -> &'static str {
        match self {
            UnOp::Neg => "-",
            UnOp::Not => "!",
            UnOp::Complement => "~",
            UnOp::Abs => "abs",
            UnOp::Signum => "signum",
            UnOp::Sqrt => "sqrt",
            UnOp::Rsqrt => "rsqrt",
            UnOp::Cbrt => "cbrt",
            UnOp::Exp => "exp",
            UnOp::Exp2 => "exp2",
            UnOp::Expm1 => "expm1",
            UnOp::Log => "log",
            UnOp::Log2 => "log2",
            UnOp::Log10 => "log10",
            UnOp::Log1p => "log1p",
            UnOp::Sin => "sin",
            UnOp::Cos => "cos",
            UnOp::Tan => "tan",
            UnOp::Asin => "asin",
            UnOp::Acos => "acos",
            UnOp::Atan => "atan",
            UnOp::Sinh => "sinh",
            UnOp::Cosh => "cosh",
            UnOp::Tanh => "tanh",
            UnOp::Erf => "erf",
            UnOp::Floor => "floor",
            UnOp::Ceil => "ceil",
            UnOp::Trunc => "trunc",
            UnOp::Round => "round",
            UnOp::IsNan => "is_nan",
            UnOp::IsInf => "is_inf",
            UnOp::PopCount => "popcount",
            UnOp::LeadingZeros => "leading_zeros",
            UnOp::TrailingZeros => "trailing_zeros",
            UnOp::Convert(to) => to.name(),
            UnOp::ToBits => "to_bits",
            UnOp::FromBits => "from_bits",
        }
    }
}

impl BinOp {
    pub const ALL: [BinOp; 22] = [
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::Rem,
        BinOp::Pow,
        BinOp::Shl,
        BinOp::Shr,
        BinOp::And,
        BinOp::Or,
        BinOp::Xor,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::Min,
        BinOp::Max,
        BinOp::Atan2,
        BinOp::Hypot,
        BinOp::CopySign,
    ];

    /// The type of the result for operands of one type; none where the operator does not apply.
    pub fn result_type(self, arg: ScalarType) -> Option<ScalarType> {
        use BinOp::{
            Add, And, Atan2, CopySign, Div, Eq, Ge, Gt, Hypot, Le, Lt, Max, Min, Mul, Ne, Or, Pow, Rem, Shl,
            Shr, Sub, Xor,
        };
        match self {
            Add | Sub | Mul | Div | Rem | Pow => arg.is_number().then_some(arg),
            Shl | Shr => arg.is_integer().then_some(arg),
            And | Or | Xor => (!arg.is_float()).then_some(arg),
            Eq | Ne | Lt | Le | Gt | Ge => Some(ScalarType::Bool),
            Min | Max => Some(arg),
            Atan2 | Hypot | CopySign => arg.is_float().then_some(arg),
        }
    }

    /// The operator on raw scalars of a type; none where it does not apply.
    pub fn raw(self, arg: ScalarType) -> Option<RawBinary> {
        raw::binary(self, arg)
    }

    /// None where the operator does not apply to the arguments' types.
    pub fn eval(self, left: Scalar, right: Scalar) -> Option<Result<Scalar, OpError>> {
        if left.ty() != right.ty() {
            return None;
        }
        let result = self.result_type(left.ty())?;
        let raw = match self.raw(left.ty())? {
            RawBinary::Total(function) => function(left.to_raw(), right.to_raw()),
            RawBinary::Partial(function) => match function(left.to_raw(), right.to_raw()) {
                Ok(raw) => raw,
                Err(error) => return Some(Err(error)),
            },
        };
        Some(Ok(Scalar::from_raw(result, raw)))
    }

    /// Whether some operands of that type have no result.
    pub fn can_fail(self, arg: ScalarType) -> bool {
        matches!(self.raw(arg), Some(RawBinary::Partial(_)))
    }

    /// The symbol or name users write.
    pub fn name(self) -> &'static str {
        match self {
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
        }
    }
}

impl TernOp {
    pub fn result_type(self, arg: ScalarType) -> Option<ScalarType> {
        match self {
            TernOp::Fma => arg.is_float().then_some(arg),
        }
    }

    /// None where the operator does not apply to the arguments' types.
    pub fn eval(self, a: Scalar, b: Scalar, c: Scalar) -> Option<Scalar> {
        match (self, a, b, c) {
            (TernOp::Fma, Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)) => {
                Some(Scalar::F32(a.mul_add(b, c)))
            }
            (TernOp::Fma, Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)) => {
                Some(Scalar::F64(a.mul_add(b, c)))
            }
            _ => None,
        }
    }

    pub fn raw(self, arg: ScalarType) -> Option<raw::RawTernary> {
        raw::ternary(self, arg)
    }

    pub fn name(self) -> &'static str {
        match self {
            TernOp::Fma => "fma",
        }
    }
}

impl UnOp {
    /// A function on floats that no processor has as an instruction: expensive, and right to some units in the last place only.
    pub fn is_transcendental(self) -> bool {
        match self {
            UnOp::Cbrt
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
            | UnOp::Erf => true,
            UnOp::Neg
            | UnOp::Not
            | UnOp::Complement
            | UnOp::Abs
            | UnOp::Signum
            | UnOp::Sqrt
            | UnOp::Rsqrt
            | UnOp::Floor
            | UnOp::Ceil
            | UnOp::Trunc
            | UnOp::Round
            | UnOp::IsNan
            | UnOp::IsInf
            | UnOp::PopCount
            | UnOp::LeadingZeros
            | UnOp::TrailingZeros
            | UnOp::ToBits
            | UnOp::FromBits
            | UnOp::Convert(_) => false,
        }
    }

    /// Every operator of one argument, conversions to each type among them.
    pub fn all() -> impl Iterator<Item = UnOp> {
        let plain = [
            UnOp::Neg,
            UnOp::Not,
            UnOp::Complement,
            UnOp::Abs,
            UnOp::Signum,
            UnOp::Sqrt,
            UnOp::Rsqrt,
            UnOp::Cbrt,
            UnOp::Exp,
            UnOp::Exp2,
            UnOp::Expm1,
            UnOp::Log,
            UnOp::Log2,
            UnOp::Log10,
            UnOp::Log1p,
            UnOp::Sin,
            UnOp::Cos,
            UnOp::Tan,
            UnOp::Asin,
            UnOp::Acos,
            UnOp::Atan,
            UnOp::Sinh,
            UnOp::Cosh,
            UnOp::Tanh,
            UnOp::Erf,
            UnOp::Floor,
            UnOp::Ceil,
            UnOp::Trunc,
            UnOp::Round,
            UnOp::IsNan,
            UnOp::IsInf,
            UnOp::PopCount,
            UnOp::LeadingZeros,
            UnOp::TrailingZeros,
            UnOp::ToBits,
            UnOp::FromBits,
        ];
        plain
            .into_iter()
            .chain(ScalarType::ALL.into_iter().map(UnOp::Convert))
    }
}
