//! The meaning of the scalar operators, case by case (design, sections 3 and 4).

#![allow(clippy::unwrap_used)]

use crate::{BinOp, OpError, Scalar, ScalarType, TernOp, UnOp};

fn binary<T: Into<Scalar>>(op: BinOp, a: T, b: T) -> Scalar {
    op.eval(a.into(), b.into()).unwrap().unwrap()
}

fn fails<T: Into<Scalar>>(op: BinOp, a: T, b: T) -> OpError {
    op.eval(a.into(), b.into()).unwrap().unwrap_err()
}

fn unary<T: Into<Scalar>>(op: UnOp, a: T) -> Scalar {
    op.eval(a.into()).unwrap()
}

fn convert<T: Into<Scalar>>(to: ScalarType, a: T) -> Scalar {
    unary(UnOp::Convert(to), a)
}

#[track_caller]
fn check(found: Scalar, expected: impl Into<Scalar>) {
    let expected = expected.into();
    assert!(found.same(expected), "found {found:?}, expected {expected:?}");
}

#[test]
fn result_types_say_exactly_where_operators_apply() {
    for ty in ScalarType::ALL {
        for op in UnOp::all() {
            assert_eq!(
                op.result_type(ty).is_some(),
                op.raw(ty).is_some(),
                "{op:?} on {ty}"
            );
            if let Some(result) = op.result_type(ty) {
                assert_eq!(op.eval(Scalar::zero(ty)).unwrap().ty(), result);
            }
        }
        for op in BinOp::ALL {
            assert_eq!(
                op.result_type(ty).is_some(),
                op.raw(ty).is_some(),
                "{op:?} on {ty}"
            );
            let one = convert(ty, 1i32);
            if let Some(result) = op.result_type(ty) {
                assert_eq!(op.eval(one, one).unwrap().unwrap().ty(), result);
            }
        }
        assert_eq!(
            TernOp::Fma.result_type(ty).is_some(),
            TernOp::Fma.raw(ty).is_some()
        );
    }
}

#[test]
fn integers_wrap() {
    check(binary(BinOp::Add, i8::MAX, 1), i8::MIN);
    check(binary(BinOp::Sub, 0u16, 1), u16::MAX);
    check(binary(BinOp::Mul, i64::MAX, 2), -2i64);
    check(binary(BinOp::Add, u32::MAX, 2), 1u32);
    check(unary(UnOp::Neg, i32::MIN), i32::MIN);
    check(unary(UnOp::Neg, 1u8), 255u8);
    check(unary(UnOp::Abs, i16::MIN), i16::MIN);
    check(unary(UnOp::Complement, 0u64), u64::MAX);
    check(unary(UnOp::Complement, 5i8), -6i8);
}

#[test]
fn division_truncates_and_wraps() {
    check(binary(BinOp::Div, -7i32, 2), -3i32);
    check(binary(BinOp::Rem, -7i32, 2), -1i32);
    check(binary(BinOp::Rem, 7i32, -2), 1i32);
    check(binary(BinOp::Div, i64::MIN, -1), i64::MIN);
    check(binary(BinOp::Rem, i64::MIN, -1), 0i64);
    check(binary(BinOp::Div, i8::MIN, -1), i8::MIN);
    check(binary(BinOp::Div, u64::MAX, 2), u64::MAX / 2);
    for op in [BinOp::Div, BinOp::Rem] {
        assert_eq!(fails(op, 1i32, 0), OpError::DivisionByZero);
        assert_eq!(fails(op, 1u8, 0), OpError::DivisionByZero);
        assert!(!op.can_fail(ScalarType::F32) && op.can_fail(ScalarType::U8));
    }
    check(binary(BinOp::Div, 1.0f32, 0.0), f32::INFINITY);
    check(binary(BinOp::Rem, -7.5f64, 2.0), -1.5f64);
}

#[test]
fn shifts_beyond_the_width_are_defined() {
    check(binary(BinOp::Shl, 1i32, 31), i32::MIN);
    check(binary(BinOp::Shl, 1i32, 32), 0i32);
    check(binary(BinOp::Shl, 1u8, 200), 0u8);
    check(binary(BinOp::Shr, -8i32, 1), -4i32);
    check(binary(BinOp::Shr, -8i32, 32), -1i32);
    check(binary(BinOp::Shr, i64::MIN, i64::MAX), -1i64);
    check(binary(BinOp::Shr, 8i32, 99), 0i32);
    check(binary(BinOp::Shr, u64::MAX, u64::MAX), 0u64);
    check(binary(BinOp::Shr, 0x80u8, 7), 1u8);
    assert_eq!(fails(BinOp::Shl, 1i8, -1), OpError::NegativeShift);
    assert_eq!(fails(BinOp::Shr, 1i64, i64::MIN), OpError::NegativeShift);
}

#[test]
fn integer_powers_wrap() {
    check(binary(BinOp::Pow, 3i32, 4), 81i32);
    check(binary(BinOp::Pow, 2i32, 31), i32::MIN);
    check(binary(BinOp::Pow, 2i32, 32), 0i32);
    check(binary(BinOp::Pow, 0u8, 0), 1u8);
    check(
        binary(BinOp::Pow, 3u64, u64::MAX),
        3u64.wrapping_pow(u32::MAX).wrapping_mul(pow3_rest()),
    );
    check(binary(BinOp::Pow, -1i64, i64::MAX), -1i64);
    assert_eq!(fails(BinOp::Pow, 2i32, -1), OpError::NegativeExponent);
    check(binary(BinOp::Pow, 2.0f64, -1.0), 0.5f64);
}

/// `3^(u64::MAX - u32::MAX)`: the order of 3 divides 2^62, so the exponent may be reduced.
fn pow3_rest() -> u64 {
    let exponent = (u64::MAX - u64::from(u32::MAX)) % (1 << 62);
    let (mut power, mut base, mut rest) = (1u64, 3u64, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        rest /= 2;
    }
    power
}

#[test]
fn conversions() {
    check(convert(ScalarType::I32, 3e9f64), i32::MAX);
    check(convert(ScalarType::I32, f32::NEG_INFINITY), i32::MIN);
    check(convert(ScalarType::U8, -1.5f64), 0u8);
    check(convert(ScalarType::U8, 300.0f32), 255u8);
    check(convert(ScalarType::I64, f64::NAN), 0i64);
    check(convert(ScalarType::I32, -2.9f32), -2i32);
    check(convert(ScalarType::I8, 200i32), -56i8);
    check(convert(ScalarType::U64, -1i8), u64::MAX);
    check(convert(ScalarType::I64, u64::MAX), -1i64);
    check(convert(ScalarType::F32, 16_777_217i64), 16_777_216f32);
    check(
        convert(ScalarType::F32, u64::MAX),
        18_446_744_073_709_551_615u64 as f32,
    );
    check(convert(ScalarType::F64, 0.1f32), 0.1f32 as f64);
    check(convert(ScalarType::I16, true), 1i16);
    check(convert(ScalarType::Bool, 0.0f64), false);
    check(convert(ScalarType::Bool, f32::NAN), true);
    check(convert(ScalarType::Bool, -3i8), true);
}

#[test]
fn comparisons_with_nan_are_false() {
    for op in [BinOp::Eq, BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge] {
        check(binary(op, f32::NAN, f32::NAN), false);
        check(binary(op, 1.0f64, f64::NAN), false);
    }
    check(binary(BinOp::Ne, f32::NAN, f32::NAN), true);
    check(binary(BinOp::Eq, 0.0f32, -0.0), true);
    check(binary(BinOp::Lt, -1i8, 1), true);
    check(binary(BinOp::Lt, u64::MAX, 1), false);
    check(binary(BinOp::Lt, false, true), true);
}

#[test]
fn min_and_max_prefer_numbers_and_order_zeros() {
    for (low, high) in [(1.0f32, 2.0), (-0.0, 0.0), (f32::NEG_INFINITY, 0.0)] {
        for (a, b) in [(low, high), (high, low)] {
            check(binary(BinOp::Min, a, b), low);
            check(binary(BinOp::Max, a, b), high);
        }
    }
    for op in [BinOp::Min, BinOp::Max] {
        check(binary(op, f64::NAN, 1.0), 1.0f64);
        check(binary(op, 1.0, f64::NAN), 1.0f64);
        check(binary(op, f64::NAN, f64::NAN), f64::NAN);
        check(binary(op, -0.0, f64::NAN), -0.0f64);
    }
    check(binary(BinOp::Min, -3i32, 2), -3i32);
    check(binary(BinOp::Max, 3u8, 200), 200u8);
}

#[test]
fn floats_round_as_said() {
    check(unary(UnOp::Round, 2.5f32), 2.0f32);
    check(unary(UnOp::Round, -3.5f64), -4.0f64);
    check(unary(UnOp::Trunc, -1.7f32), -1.0f32);
    check(unary(UnOp::Floor, -1.2f64), -2.0f64);
    check(unary(UnOp::Ceil, -0.2f64), -0.0f64);
    check(unary(UnOp::Rsqrt, 4.0f32), 0.5f32);
    check(unary(UnOp::Signum, -2.5f32), -1.0f32);
    check(unary(UnOp::Signum, -0.0f32), -0.0f32);
    check(unary(UnOp::Signum, f64::INFINITY), 1.0f64);
    check(unary(UnOp::Signum, f64::NAN), f64::NAN);
    check(unary(UnOp::Signum, -9i8), -1i8);
    let fused = TernOp::Fma.eval(
        (1.0f64 + f64::EPSILON).into(),
        (1.0 - f64::EPSILON).into(),
        (-1.0).into(),
    );
    check(fused.unwrap(), -f64::EPSILON * f64::EPSILON);
}

#[test]
fn bits() {
    check(unary(UnOp::ToBits, 1.0f32), 0x3f80_0000u32);
    check(unary(UnOp::FromBits, 0x3ff0_0000_0000_0000u64), 1.0f64);
    check(unary(UnOp::ToBits, -f32::NAN), 0x7fc0_0000u32);
    check(unary(UnOp::PopCount, -1i16), 16i32);
    check(unary(UnOp::LeadingZeros, 1i8), 7i32);
    check(unary(UnOp::TrailingZeros, 0u64), 64i32);
    check(binary(BinOp::Xor, true, true), false);
    check(binary(BinOp::And, 6i32, 3), 2i32);
    check(unary(UnOp::Not, true), false);
    check(unary(UnOp::IsInf, f32::NEG_INFINITY), true);
    assert_eq!(BinOp::And.result_type(ScalarType::F32), None);
    assert_eq!(UnOp::Sqrt.result_type(ScalarType::I32), None);
}
