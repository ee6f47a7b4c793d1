//! Scalar operators and scalars as the texts of the intermediate languages write them: one word per operator, and
//! literals that always carry their type (`1.5f32`, `-3i64`, `nanf64`, `true`).

use crate::{BinOp, Scalar, ScalarType, TernOp, UnOp};

macro_rules! operator_names {
    ($of:ident $from:ident $ty:ident $($variant:ident $name:literal;)*) => {
        /// The operator of that name.
        pub fn $from(name: &str) -> Option<$ty> {
            match name {
                $($name => Some($ty::$variant),)*
                _ => operator_names!(@other $ty name),
            }
        }

        pub fn $of(op: $ty) -> String {
            match op {
                $($ty::$variant => $name.to_string(),)*
                other => operator_names!(@name $ty other),
            }
        }
    };
    (@other UnOp $name:ident) => {
        $name.strip_prefix("to_").and_then(ScalarType::from_name).map(UnOp::Convert)
    };
    (@other $ty:ident $name:ident) => { None };
    (@name UnOp $op:ident) => {
        match $op {
            UnOp::Convert(to) => format!("to_{to}"),
            _ => String::new(),
        }
    };
}

operator_names! { unary_name unary_from_name UnOp
    Neg "neg"; Not "not"; Complement "complement"; Abs "abs"; Signum "signum"; Sqrt "sqrt"; Rsqrt "rsqrt"; Cbrt "cbrt";
    Exp "exp"; Exp2 "exp2"; Expm1 "expm1"; Log "log"; Log2 "log2"; Log10 "log10"; Log1p "log1p"; Sin "sin"; Cos "cos";
    Tan "tan"; Asin "asin"; Acos "acos"; Atan "atan"; Sinh "sinh"; Cosh "cosh"; Tanh "tanh"; Erf "erf"; Floor "floor";
    Ceil "ceil"; Trunc "trunc"; Round "round"; IsNan "is_nan"; IsInf "is_inf"; PopCount "popcount";
    LeadingZeros "leading_zeros"; TrailingZeros "trailing_zeros"; ToBits "to_bits"; FromBits "from_bits";
}

/// Operators of two arguments with their names.
const BINARY: &[(BinOp, &str)] = &[
    (BinOp::Add, "add"),
    (BinOp::Sub, "sub"),
    (BinOp::Mul, "mul"),
    (BinOp::Div, "div"),
    (BinOp::Rem, "rem"),
    (BinOp::Pow, "pow"),
    (BinOp::Shl, "shl"),
    (BinOp::Shr, "shr"),
    (BinOp::And, "and"),
    (BinOp::Or, "or"),
    (BinOp::Xor, "xor"),
    (BinOp::Eq, "eq"),
    (BinOp::Ne, "ne"),
    (BinOp::Lt, "lt"),
    (BinOp::Le, "le"),
    (BinOp::Gt, "gt"),
    (BinOp::Ge, "ge"),
    (BinOp::Min, "min"),
    (BinOp::Max, "max"),
    (BinOp::Atan2, "atan2"),
    (BinOp::Hypot, "hypot"),
    (BinOp::CopySign, "copysign"),
];

pub fn binary_name(op: BinOp) -> &'static str {
    BINARY
        .iter()
        .find(|(known, _)| *known == op)
        .map_or("", |(_, name)| name)
}

pub fn binary_from_name(name: &str) -> Option<BinOp> {
    BINARY.iter().find(|(_, known)| *known == name).map(|(op, _)| *op)
}

pub fn ternary_name(op: TernOp) -> &'static str {
    match op {
        TernOp::Fma => "fma",
    }
}

pub fn ternary_from_name(name: &str) -> Option<TernOp> {
    (name == "fma").then_some(TernOp::Fma)
}

/// A scalar with its type, so that it reads back as the same value.
pub fn scalar_text(scalar: Scalar) -> String {
    let float = |value: f64, text: String| match value {
        _ if value.is_nan() => "nan".to_string(),
        _ => text,
    };
    let number = match scalar {
        Scalar::Bool(value) => return value.to_string(),
        Scalar::I8(v) => v.to_string(),
        Scalar::I16(v) => v.to_string(),
        Scalar::I32(v) => v.to_string(),
        Scalar::I64(v) => v.to_string(),
        Scalar::U8(v) => v.to_string(),
        Scalar::U16(v) => v.to_string(),
        Scalar::U32(v) => v.to_string(),
        Scalar::U64(v) => v.to_string(),
        Scalar::F32(v) => float(v.into(), format!("{v:?}")),
        Scalar::F64(v) => float(v, format!("{v:?}")),
    };
    format!("{number}{}", scalar.ty())
}

pub fn scalar_from_text(text: &str) -> Option<Scalar> {
    match text {
        "true" => return Some(Scalar::Bool(true)),
        "false" => return Some(Scalar::Bool(false)),
        _ => {}
    }
    let ty = ScalarType::ALL.into_iter().find(|ty| text.ends_with(ty.name()))?;
    let number = text.strip_suffix(ty.name())?;
    Some(match ty {
        ScalarType::I8 => Scalar::I8(number.parse().ok()?),
        ScalarType::I16 => Scalar::I16(number.parse().ok()?),
        ScalarType::I32 => Scalar::I32(number.parse().ok()?),
        ScalarType::I64 => Scalar::I64(number.parse().ok()?),
        ScalarType::U8 => Scalar::U8(number.parse().ok()?),
        ScalarType::U16 => Scalar::U16(number.parse().ok()?),
        ScalarType::U32 => Scalar::U32(number.parse().ok()?),
        ScalarType::U64 => Scalar::U64(number.parse().ok()?),
        ScalarType::F32 => Scalar::F32(number.parse().ok()?),
        ScalarType::F64 => Scalar::F64(number.parse().ok()?),
        ScalarType::Bool => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_read_back() {
        for scalar in [
            Scalar::F32(0.1),
            Scalar::F64(-0.0),
            Scalar::F64(1e300),
            Scalar::F32(f32::NEG_INFINITY),
            Scalar::F32(f32::NAN),
            Scalar::I8(-128),
            Scalar::U64(u64::MAX),
            Scalar::Bool(true),
        ] {
            let back = scalar_from_text(&scalar_text(scalar));
            assert!(back.is_some_and(|back| back.same(scalar)), "{scalar:?}");
        }
    }

    #[test]
    fn operators_read_back() {
        for op in [
            UnOp::Neg,
            UnOp::Convert(ScalarType::U16),
            UnOp::FromBits,
            UnOp::Erf,
        ] {
            assert_eq!(unary_from_name(&unary_name(op)), Some(op));
        }
        for (op, _) in BINARY {
            assert_eq!(binary_from_name(binary_name(*op)), Some(*op));
        }
    }
}
