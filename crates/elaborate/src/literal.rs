//! Literals, at the type that the instance decides.

use crate::Res;
use crate::errors::bug;
use almach_base::Span;
use almach_core::Atom;
use almach_value::{Scalar, ScalarType};

/// An integer literal with its sign. The type checker made sure that it fits.
pub(crate) fn integer(value: i128, ty: ScalarType, span: Span) -> Res<Atom> {
    let scalar = match ty {
        ScalarType::I8 => i8::try_from(value).ok().map(Scalar::I8),
        ScalarType::I16 => i16::try_from(value).ok().map(Scalar::I16),
        ScalarType::I32 => i32::try_from(value).ok().map(Scalar::I32),
        ScalarType::I64 => i64::try_from(value).ok().map(Scalar::I64),
        ScalarType::U8 => u8::try_from(value).ok().map(Scalar::U8),
        ScalarType::U16 => u16::try_from(value).ok().map(Scalar::U16),
        ScalarType::U32 => u32::try_from(value).ok().map(Scalar::U32),
        ScalarType::U64 => u64::try_from(value).ok().map(Scalar::U64),
        // Rounds to nearest, once.
        ScalarType::F32 => Some(Scalar::F32(value as f32)),
        ScalarType::F64 => Some(Scalar::F64(value as f64)),
        ScalarType::Bool => None,
    };
    scalar
        .map(Atom::Const)
        .ok_or_else(|| crate::errors::literal_range(value, ty, span))
}

/// A float literal: its text is rounded once, to its type.
pub(crate) fn float(text: &str, ty: ScalarType, span: Span) -> Res<Atom> {
    let scalar = match ty {
        ScalarType::F32 => text.parse().ok().map(Scalar::F32),
        ScalarType::F64 => text.parse().ok().map(Scalar::F64),
        _ => None,
    };
    scalar
        .map(Atom::Const)
        .ok_or_else(|| bug(span, format!("the literal `{text}` at type {ty}")))
}
