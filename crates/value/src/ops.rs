//! The scalar operators: their names, and what they mean (design, sections 3 and 4). This is the one definition;
//! interpreters call [`BinOp::eval`] and friends, back ends print code that agrees with it.

use crate::{Scalar, ScalarType};

/// Operators of one argument. `Convert(t)` goes from any number or boolean to `t`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnOp {
    Neg,
    /// `!` on booleans.
    Not,
    /// `~` on integers.
    Complement,
    Abs,
    /// -1, 0 or 1; NaN stays NaN.
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
    PopCount,
    LeadingZeros,
    TrailingZeros,
    /// Float to integer saturates, NaN gives 0; integer to integer wraps; boolean to number is 0 or 1; number to
    /// boolean is `x != 0`.
    Convert(ScalarType),
    /// The bits of a float as an unsigned integer of its width, and back.
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

/// What an operator gives for an argument type; none where it does not apply.
impl UnOp {
    pub fn result_type(self, _arg: ScalarType) -> Option<ScalarType> {
        None
    }

    pub fn eval(self, arg: Scalar) -> Result<Scalar, OpError> {
        Ok(arg)
    }
}
