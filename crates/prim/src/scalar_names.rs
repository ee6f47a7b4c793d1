//! Surface names of the scalar operators that are called like functions: `sqrt x`, `min a b`, `f32 x`.

use almach_value::{BinOp, ScalarType, TernOp, UnOp};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarFunction {
    Unary(UnOp),
    Binary(BinOp),
    Ternary(TernOp),
    /// `cast x`: to the type that is expected of it.
    Cast,
}

/// The scalar function of that name.
pub fn scalar_function(name: &str) -> Option<ScalarFunction> {
    use ScalarFunction::{Binary, Cast, Ternary, Unary};
    Some(match name {
        "abs" => Unary(UnOp::Abs),
        "signum" => Unary(UnOp::Signum),
        "sqrt" => Unary(UnOp::Sqrt),
        "rsqrt" => Unary(UnOp::Rsqrt),
        "cbrt" => Unary(UnOp::Cbrt),
        "exp" => Unary(UnOp::Exp),
        "exp2" => Unary(UnOp::Exp2),
        "expm1" => Unary(UnOp::Expm1),
        "log" => Unary(UnOp::Log),
        "log2" => Unary(UnOp::Log2),
        "log10" => Unary(UnOp::Log10),
        "log1p" => Unary(UnOp::Log1p),
        "sin" => Unary(UnOp::Sin),
        "cos" => Unary(UnOp::Cos),
        "tan" => Unary(UnOp::Tan),
        "asin" => Unary(UnOp::Asin),
        "acos" => Unary(UnOp::Acos),
        "atan" => Unary(UnOp::Atan),
        "sinh" => Unary(UnOp::Sinh),
        "cosh" => Unary(UnOp::Cosh),
        "tanh" => Unary(UnOp::Tanh),
        "erf" => Unary(UnOp::Erf),
        "floor" => Unary(UnOp::Floor),
        "ceil" => Unary(UnOp::Ceil),
        "trunc" => Unary(UnOp::Trunc),
        "round" => Unary(UnOp::Round),
        "is_nan" => Unary(UnOp::IsNan),
        "is_inf" => Unary(UnOp::IsInf),
        "popcount" => Unary(UnOp::PopCount),
        "leading_zeros" => Unary(UnOp::LeadingZeros),
        "trailing_zeros" => Unary(UnOp::TrailingZeros),
        "to_bits" => Unary(UnOp::ToBits),
        "from_bits" => Unary(UnOp::FromBits),
        "min" => Binary(BinOp::Min),
        "max" => Binary(BinOp::Max),
        "atan2" => Binary(BinOp::Atan2),
        "hypot" => Binary(BinOp::Hypot),
        "copysign" => Binary(BinOp::CopySign),
        "pow" => Binary(BinOp::Pow),
        "fma" => Ternary(TernOp::Fma),
        "cast" => Cast,
        _ => Unary(UnOp::Convert(ScalarType::from_name(name)?)),
    })
}
