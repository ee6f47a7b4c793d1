//! Which operators have a value that changes nothing, and which are associative.

use crate::{BinOp, Scalar, ScalarType};

/// The value that changes nothing when an associative and commutative operator combines it with another.
pub fn identity(op: BinOp, ty: ScalarType) -> Option<Scalar> {
    match op {
        BinOp::Add => zero(ty, -0.0),
        BinOp::Mul => one(ty),
        BinOp::Min if ty.is_float() => not_a_number(ty),
        BinOp::Max if ty.is_float() => not_a_number(ty),
        BinOp::Min => greatest(ty),
        BinOp::Max => least(ty),
        BinOp::And => all_ones(ty),
        BinOp::Or | BinOp::Xor => zero(ty, 0.0),
        _ => None,
    }
}

/// Whether values may be combined in any order, bit for bit. Sums and products of floats are not among these: they are regrouped where
/// a program says `reduce` or `scan`, and nowhere else.
pub fn is_exact_in_any_order(op: BinOp, ty: ScalarType) -> bool {
    let rounds = ty.is_float() && matches!(op, BinOp::Add | BinOp::Mul);
    identity(op, ty).is_some() && !rounds
}

fn integer(ty: ScalarType, signed: i64, unsigned: u64) -> Option<Scalar> {
    Some(match ty {
        ScalarType::I8 => Scalar::I8(signed as i8),
        ScalarType::I16 => Scalar::I16(signed as i16),
        ScalarType::I32 => Scalar::I32(signed as i32),
        ScalarType::I64 => Scalar::I64(signed),
        ScalarType::U8 => Scalar::U8(unsigned as u8),
        ScalarType::U16 => Scalar::U16(unsigned as u16),
        ScalarType::U32 => Scalar::U32(unsigned as u32),
        ScalarType::U64 => Scalar::U64(unsigned),
        ScalarType::F32 | ScalarType::F64 | ScalarType::Bool => return None,
    })
}

fn zero(ty: ScalarType, float: f64) -> Option<Scalar> {
    match ty {
        ScalarType::F32 => Some(Scalar::F32(float as f32)),
        ScalarType::F64 => Some(Scalar::F64(float)),
        ScalarType::Bool => Some(Scalar::Bool(false)),
        _ => integer(ty, 0, 0),
    }
}

fn one(ty: ScalarType) -> Option<Scalar> {
    match ty {
        ScalarType::F32 => Some(Scalar::F32(1.0)),
        ScalarType::F64 => Some(Scalar::F64(1.0)),
        _ => integer(ty, 1, 1),
    }
}

fn not_a_number(ty: ScalarType) -> Option<Scalar> {
    match ty {
        ScalarType::F32 => Some(Scalar::F32(f32::NAN)),
        ScalarType::F64 => Some(Scalar::F64(f64::NAN)),
        _ => None,
    }
}

fn all_ones(ty: ScalarType) -> Option<Scalar> {
    match ty {
        ScalarType::Bool => Some(Scalar::Bool(true)),
        _ => integer(ty, -1, u64::MAX),
    }
}

/// The bits of a type, less the sign where it has one.
fn value_bits(ty: ScalarType) -> u32 {
    let bits = 8 * ty.bytes() as u32;
    match ty.is_signed_integer() {
        true => bits - 1,
        false => bits,
    }
}

fn greatest(ty: ScalarType) -> Option<Scalar> {
    match ty {
        ScalarType::Bool => Some(Scalar::Bool(true)),
        _ => integer(ty, (u64::MAX >> (64 - value_bits(ty))) as i64, u64::MAX),
    }
}

fn least(ty: ScalarType) -> Option<Scalar> {
    match ty {
        ScalarType::Bool => Some(Scalar::Bool(false)),
        _ => integer(ty, -((u64::MAX >> (64 - value_bits(ty))) as i64) - 1, 0),
    }
}
