//! The meaning of the scalar operators, on raw bits: a scalar in 64 bits whose type is known from elsewhere. One
//! generic function per operator is the definition; [`unary`], [`binary`] and [`ternary`] pick its instance for a
//! type, so that an interpreter resolves operators once and then calls plain functions.
//!
//! Raw form: signed integers sign-extended, unsigned ones and floats' bits zero-extended, booleans 0 or 1.

use crate::erf::erf;
use crate::ops::OpError;
use crate::{BinOp, Scalar, ScalarType, TernOp, UnOp};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

pub type RawUnary = fn(u64) -> u64;
pub type RawTernary = fn(u64, u64, u64) -> u64;

pub type RawTotal = fn(u64, u64) -> u64;
pub type RawPartial = fn(u64, u64) -> Result<u64, OpError>;

/// An operator of two arguments on raw scalars.
#[derive(Clone, Copy, Debug)]
pub enum RawBinary {
    Total(RawTotal),
    /// Some arguments have no result.
    Partial(RawPartial),
}

/// A type that has a raw form.
pub trait RawScalar: Copy + PartialOrd {
    fn from_raw(raw: u64) -> Self;
    fn to_raw(self) -> u64;
}

macro_rules! raw_integer {
    ($($ty:ty as $wide:ty),*) => {$(
        impl RawScalar for $ty {
            #[inline(always)]
            fn from_raw(raw: u64) -> Self {
                raw as Self
            }

            #[inline(always)]
            fn to_raw(self) -> u64 {
                self as $wide as u64
            }
        }
    )*};
}

raw_integer!(
    i8 as i64, i16 as i64, i32 as i64, i64 as i64, u8 as u64, u16 as u64, u32 as u64, u64 as u64
);

impl RawScalar for f32 {
    #[inline(always)]
    fn from_raw(raw: u64) -> Self {
        f32::from_bits(raw as u32)
    }

    #[inline(always)]
    fn to_raw(self) -> u64 {
        self.to_bits().into()
    }
}

impl RawScalar for f64 {
    #[inline(always)]
    fn from_raw(raw: u64) -> Self {
        f64::from_bits(raw)
    }

    #[inline(always)]
    fn to_raw(self) -> u64 {
        self.to_bits()
    }
}

impl RawScalar for bool {
    #[inline(always)]
    fn from_raw(raw: u64) -> Self {
        raw != 0
    }

    #[inline(always)]
    fn to_raw(self) -> u64 {
        self.into()
    }
}

impl Scalar {
    #[inline]
    pub fn to_raw(self) -> u64 {
        match self {
            Scalar::I8(v) => v.to_raw(),
            Scalar::I16(v) => v.to_raw(),
            Scalar::I32(v) => v.to_raw(),
            Scalar::I64(v) => v.to_raw(),
            Scalar::U8(v) => v.to_raw(),
            Scalar::U16(v) => v.to_raw(),
            Scalar::U32(v) => v.to_raw(),
            Scalar::U64(v) => v.to_raw(),
            Scalar::F32(v) => v.to_raw(),
            Scalar::F64(v) => v.to_raw(),
            Scalar::Bool(v) => v.to_raw(),
        }
    }

    #[inline]
    pub fn from_raw(ty: ScalarType, raw: u64) -> Scalar {
        match ty {
            ScalarType::I8 => Scalar::I8(RawScalar::from_raw(raw)),
            ScalarType::I16 => Scalar::I16(RawScalar::from_raw(raw)),
            ScalarType::I32 => Scalar::I32(RawScalar::from_raw(raw)),
            ScalarType::I64 => Scalar::I64(RawScalar::from_raw(raw)),
            ScalarType::U8 => Scalar::U8(RawScalar::from_raw(raw)),
            ScalarType::U16 => Scalar::U16(RawScalar::from_raw(raw)),
            ScalarType::U32 => Scalar::U32(RawScalar::from_raw(raw)),
            ScalarType::U64 => Scalar::U64(RawScalar::from_raw(raw)),
            ScalarType::F32 => Scalar::F32(RawScalar::from_raw(raw)),
            ScalarType::F64 => Scalar::F64(RawScalar::from_raw(raw)),
            ScalarType::Bool => Scalar::Bool(RawScalar::from_raw(raw)),
        }
    }
}

/// What the integer operators need of an integer type.
trait Integer: RawScalar + Eq {
    const BITS: u32;
    const ZERO: Self;
    const ONE: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Truncating; the divisor is not zero; `min / -1` wraps.
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    fn shl(self, count: u32) -> Self;
    fn shr(self, count: u32) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn count_ones(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn trailing_zeros(self) -> u32;
    fn to_i128(self) -> i128;
}

macro_rules! integer {
    ($($ty:ty),*) => {$(
        impl Integer for $ty {
            const BITS: u32 = <$ty>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn div(self, other: Self) -> Self { self.wrapping_div(other) }
            #[inline(always)]
            fn rem(self, other: Self) -> Self { self.wrapping_rem(other) }
            #[inline(always)]
            fn shl(self, count: u32) -> Self { self.wrapping_shl(count) }
            #[inline(always)]
            fn shr(self, count: u32) -> Self { self.wrapping_shr(count) }
            #[inline(always)]
            fn and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn not(self) -> Self { !self }
            #[inline(always)]
            fn count_ones(self) -> u32 { self.count_ones() }
            #[inline(always)]
            fn leading_zeros(self) -> u32 { self.leading_zeros() }
            #[inline(always)]
            fn trailing_zeros(self) -> u32 { self.trailing_zeros() }
            #[inline(always)]
            fn to_i128(self) -> i128 { self.into() }
        }
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// What the float operators need of a float type. Functions without a correctly rounded definition go through
/// doubles, so that the single-precision ones are nearly always correctly rounded.
trait Float:
    RawScalar
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round(self) -> Self;
    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
    fn is_sign_negative(self) -> bool;
    fn copysign(self, sign: Self) -> Self;
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    fn to_f64(self) -> f64;
    fn from_f64(value: f64) -> Self;
    /// The bits, with one NaN for all.
    fn bits(self) -> u64;
}

macro_rules! float {
    ($($ty:ty),*) => {$(
        impl Float for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn abs(self) -> Self { self.abs() }
            #[inline(always)]
            fn sqrt(self) -> Self { self.sqrt() }
            #[inline(always)]
            fn floor(self) -> Self { self.floor() }
            #[inline(always)]
            fn ceil(self) -> Self { self.ceil() }
            #[inline(always)]
            fn trunc(self) -> Self { self.trunc() }
            #[inline(always)]
            fn round(self) -> Self { self.round_ties_even() }
            #[inline(always)]
            fn is_nan(self) -> bool { self.is_nan() }
            #[inline(always)]
            fn is_infinite(self) -> bool { self.is_infinite() }
            #[inline(always)]
            fn is_sign_negative(self) -> bool { self.is_sign_negative() }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self { self.copysign(sign) }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self { self.mul_add(factor, addend) }
            #[inline(always)]
            fn to_f64(self) -> f64 { self.into() }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { value as $ty }
            fn bits(self) -> u64 {
                let canonical = if self.is_nan() { <$ty>::NAN } else { self };
                canonical.to_bits().into()
            }
        }
    )*};
}

float!(f32, f64);

/// The instance of a generic function for an integer type; none for others.
macro_rules! for_integer {
    ($ty:expr, $function:ident) => {
        match $ty {
            ScalarType::I8 => Some($function::<i8>),
            ScalarType::I16 => Some($function::<i16>),
            ScalarType::I32 => Some($function::<i32>),
            ScalarType::I64 => Some($function::<i64>),
            ScalarType::U8 => Some($function::<u8>),
            ScalarType::U16 => Some($function::<u16>),
            ScalarType::U32 => Some($function::<u32>),
            ScalarType::U64 => Some($function::<u64>),
            ScalarType::F32 | ScalarType::F64 | ScalarType::Bool => None,
        }
    };
}

macro_rules! for_float {
    ($ty:expr, $function:ident) => {
        match $ty {
            ScalarType::F32 => Some($function::<f32>),
            ScalarType::F64 => Some($function::<f64>),
            _ => None,
        }
    };
}

/// One function for integers (and nothing for booleans), another for floats.
macro_rules! for_number {
    ($ty:expr, $integer:ident, $float:ident) => {
        if $ty.is_float() {
            for_float!($ty, $float)
        } else {
            for_integer!($ty, $integer)
        }
    };
}

/// One generic function for all types.
macro_rules! for_any {
    ($ty:expr, $function:ident) => {
        match $ty {
            ScalarType::Bool => Some($function::<bool>),
            ScalarType::F32 => Some($function::<f32>),
            ScalarType::F64 => Some($function::<f64>),
            _ => for_integer!($ty, $function),
        }
    };
}

pub(crate) fn unary(op: UnOp, ty: ScalarType) -> Option<RawUnary> {
    match op {
        UnOp::Neg => for_number!(ty, neg_integer, neg_float),
        UnOp::Not => (ty == ScalarType::Bool).then_some(not_bool),
        UnOp::Complement => for_integer!(ty, complement),
        UnOp::Abs => for_number!(ty, abs_integer, abs_float),
        UnOp::Signum => for_number!(ty, signum_integer, signum_float),
        UnOp::Sqrt => for_float!(ty, sqrt),
        UnOp::Rsqrt => for_float!(ty, rsqrt),
        UnOp::Cbrt => for_float!(ty, cbrt),
        UnOp::Exp => for_float!(ty, exp),
        UnOp::Exp2 => for_float!(ty, exp2),
        UnOp::Expm1 => for_float!(ty, expm1),
        UnOp::Log => for_float!(ty, log),
        UnOp::Log2 => for_float!(ty, log2),
        UnOp::Log10 => for_float!(ty, log10),
        UnOp::Log1p => for_float!(ty, log1p),
        UnOp::Sin => for_float!(ty, sin),
        UnOp::Cos => for_float!(ty, cos),
        UnOp::Tan => for_float!(ty, tan),
        UnOp::Asin => for_float!(ty, asin),
        UnOp::Acos => for_float!(ty, acos),
        UnOp::Atan => for_float!(ty, atan),
        UnOp::Sinh => for_float!(ty, sinh),
        UnOp::Cosh => for_float!(ty, cosh),
        UnOp::Tanh => for_float!(ty, tanh),
        UnOp::Erf => for_float!(ty, error_function),
        UnOp::Floor => for_float!(ty, floor),
        UnOp::Ceil => for_float!(ty, ceil),
        UnOp::Trunc => for_float!(ty, trunc),
        UnOp::Round => for_float!(ty, round),
        UnOp::IsNan => for_float!(ty, is_nan),
        UnOp::IsInf => for_float!(ty, is_inf),
        UnOp::PopCount => for_integer!(ty, popcount),
        UnOp::LeadingZeros => for_integer!(ty, leading_zeros),
        UnOp::TrailingZeros => for_integer!(ty, trailing_zeros),
        UnOp::Convert(to) => convert(ty, to),
        UnOp::ToBits => for_float!(ty, to_bits),
        // The raw form of a float is its bits.
        UnOp::FromBits => matches!(ty, ScalarType::U32 | ScalarType::U64).then_some(identity),
    }
}

pub(crate) fn binary(op: BinOp, ty: ScalarType) -> Option<RawBinary> {
    if ty == ScalarType::Bool && matches!(op, BinOp::And | BinOp::Or | BinOp::Xor) {
        // Booleans are 0 or 1, so the bits of bytes serve.
        return binary(op, ScalarType::U8);
    }
    match op {
        BinOp::Add => total(for_number!(ty, add_integer, add_float)),
        BinOp::Sub => total(for_number!(ty, sub_integer, sub_float)),
        BinOp::Mul => total(for_number!(ty, mul_integer, mul_float)),
        BinOp::Div if ty.is_float() => total(for_float!(ty, div_float)),
        BinOp::Div => partial(for_integer!(ty, div_integer)),
        BinOp::Rem if ty.is_float() => total(for_float!(ty, rem_float)),
        BinOp::Rem => partial(for_integer!(ty, rem_integer)),
        BinOp::Pow if ty.is_float() => total(for_float!(ty, pow_float)),
        BinOp::Pow => partial(for_integer!(ty, pow_integer)),
        BinOp::Shl => partial(for_integer!(ty, shl)),
        BinOp::Shr => partial(for_integer!(ty, shr)),
        BinOp::And => total(for_integer!(ty, and)),
        BinOp::Or => total(for_integer!(ty, or)),
        BinOp::Xor => total(for_integer!(ty, xor)),
        BinOp::Eq => total(for_any!(ty, eq)),
        BinOp::Ne => total(for_any!(ty, ne)),
        BinOp::Lt => total(for_any!(ty, lt)),
        BinOp::Le => total(for_any!(ty, le)),
        BinOp::Gt => total(for_any!(ty, gt)),
        BinOp::Ge => total(for_any!(ty, ge)),
        BinOp::Min if ty.is_float() => total(for_float!(ty, min_float)),
        BinOp::Min => total(for_any!(ty, min_ordered)),
        BinOp::Max if ty.is_float() => total(for_float!(ty, max_float)),
        BinOp::Max => total(for_any!(ty, max_ordered)),
        BinOp::Atan2 => total(for_float!(ty, atan2)),
        BinOp::Hypot => total(for_float!(ty, hypot)),
        BinOp::CopySign => total(for_float!(ty, copysign)),
    }
}

pub(crate) fn ternary(op: TernOp, ty: ScalarType) -> Option<RawTernary> {
    match op {
        TernOp::Fma => for_float!(ty, fma),
    }
}

fn total(function: Option<RawTotal>) -> Option<RawBinary> {
    function.map(RawBinary::Total)
}

fn partial(function: Option<RawPartial>) -> Option<RawBinary> {
    function.map(RawBinary::Partial)
}

fn identity(raw: u64) -> u64 {
    raw
}

fn not_bool(raw: u64) -> u64 {
    raw ^ 1
}

/// Defines operators of one argument over a class of types, by an expression of the argument.
macro_rules! define_unary {
    ($class:ident: $($name:ident($x:ident) = $result:expr;)*) => {$(
        fn $name<T: $class>(raw: u64) -> u64 {
            let $x = T::from_raw(raw);
            $result.to_raw()
        }
    )*};
}

define_unary! { Integer:
    neg_integer(x) = T::ZERO.sub(x);
    complement(x) = x.not();
    abs_integer(x) = if x < T::ZERO { T::ZERO.sub(x) } else { x };
    signum_integer(x) = if x > T::ZERO { T::ONE } else if x < T::ZERO { T::ZERO.sub(T::ONE) } else { x };
    popcount(x) = (x.count_ones() as i32);
    leading_zeros(x) = (x.leading_zeros() as i32);
    trailing_zeros(x) = (x.trailing_zeros() as i32);
}

define_unary! { Float:
    neg_float(x) = (-x);
    abs_float(x) = x.abs();
    signum_float(x) = if x.is_nan() || x == T::ZERO { x } else { T::ONE.copysign(x) };
    sqrt(x) = x.sqrt();
    rsqrt(x) = (T::ONE / x.sqrt());
    cbrt(x) = T::from_f64(x.to_f64().cbrt());
    exp(x) = T::from_f64(x.to_f64().exp());
    exp2(x) = T::from_f64(x.to_f64().exp2());
    expm1(x) = T::from_f64(x.to_f64().exp_m1());
    log(x) = T::from_f64(x.to_f64().ln());
    log2(x) = T::from_f64(x.to_f64().log2());
    log10(x) = T::from_f64(x.to_f64().log10());
    log1p(x) = T::from_f64(x.to_f64().ln_1p());
    sin(x) = T::from_f64(x.to_f64().sin());
    cos(x) = T::from_f64(x.to_f64().cos());
    tan(x) = T::from_f64(x.to_f64().tan());
    asin(x) = T::from_f64(x.to_f64().asin());
    acos(x) = T::from_f64(x.to_f64().acos());
    atan(x) = T::from_f64(x.to_f64().atan());
    sinh(x) = T::from_f64(x.to_f64().sinh());
    cosh(x) = T::from_f64(x.to_f64().cosh());
    tanh(x) = T::from_f64(x.to_f64().tanh());
    error_function(x) = T::from_f64(erf(x.to_f64()));
    floor(x) = x.floor();
    ceil(x) = x.ceil();
    trunc(x) = x.trunc();
    round(x) = x.round();
    is_nan(x) = x.is_nan();
    is_inf(x) = x.is_infinite();
    to_bits(x) = x.bits();
}

/// Defines operators of two arguments over a class of types, by an expression of both.
macro_rules! define_binary {
    ($class:ident: $($name:ident($x:ident, $y:ident) = $result:expr;)*) => {$(
        fn $name<T: $class>(left: u64, right: u64) -> u64 {
            let ($x, $y) = (T::from_raw(left), T::from_raw(right));
            $result.to_raw()
        }
    )*};
}

define_binary! { Integer:
    add_integer(x, y) = x.add(y);
    sub_integer(x, y) = x.sub(y);
    mul_integer(x, y) = x.mul(y);
    and(x, y) = x.and(y);
    or(x, y) = x.or(y);
    xor(x, y) = x.xor(y);
}

define_binary! { Float:
    add_float(x, y) = (x + y);
    sub_float(x, y) = (x - y);
    mul_float(x, y) = (x * y);
    div_float(x, y) = (x / y);
    rem_float(x, y) = (x % y);
    pow_float(x, y) = T::from_f64(x.to_f64().powf(y.to_f64()));
    min_float(x, y) = if y.is_nan() || x < y || (x == y && x.is_sign_negative()) { x } else { y };
    max_float(x, y) = if y.is_nan() || x > y || (x == y && y.is_sign_negative()) { x } else { y };
    atan2(x, y) = T::from_f64(x.to_f64().atan2(y.to_f64()));
    hypot(x, y) = T::from_f64(x.to_f64().hypot(y.to_f64()));
    copysign(x, y) = x.copysign(if y.is_nan() { T::ONE } else { y });
}

define_binary! { RawScalar:
    eq(x, y) = (x == y);
    ne(x, y) = (x != y);
    lt(x, y) = (x < y);
    le(x, y) = (x <= y);
    gt(x, y) = (x > y);
    ge(x, y) = (x >= y);
    min_ordered(x, y) = if y < x { y } else { x };
    max_ordered(x, y) = if y > x { y } else { x };
}

fn fma<T: Float>(a: u64, b: u64, c: u64) -> u64 {
    T::from_raw(a).mul_add(T::from_raw(b), T::from_raw(c)).to_raw()
}

fn div_integer<T: Integer>(left: u64, right: u64) -> Result<u64, OpError> {
    let divisor = T::from_raw(right);
    if divisor == T::ZERO {
        return Err(OpError::DivisionByZero);
    }
    Ok(T::from_raw(left).div(divisor).to_raw())
}

fn rem_integer<T: Integer>(left: u64, right: u64) -> Result<u64, OpError> {
    let divisor = T::from_raw(right);
    if divisor == T::ZERO {
        return Err(OpError::DivisionByZero);
    }
    Ok(T::from_raw(left).rem(divisor).to_raw())
}

/// Squaring and multiplying wraps like the repeated product: both are exact modulo 2^bits.
fn pow_integer<T: Integer>(left: u64, right: u64) -> Result<u64, OpError> {
    let exponent = T::from_raw(right);
    if exponent < T::ZERO {
        return Err(OpError::NegativeExponent);
    }
    let (mut base, mut power, mut rest) = (T::from_raw(left), T::ONE, exponent.to_i128());
    while rest > 0 {
        if rest & 1 == 1 {
            power = power.mul(base);
        }
        base = base.mul(base);
        rest >>= 1;
    }
    Ok(power.to_raw())
}

fn shl<T: Integer>(left: u64, right: u64) -> Result<u64, OpError> {
    let (value, count) = (T::from_raw(left), T::from_raw(right));
    if count < T::ZERO {
        return Err(OpError::NegativeShift);
    }
    Ok(match u32::try_from(count.to_i128()) {
        Ok(count) if count < T::BITS => value.shl(count),
        _ => T::ZERO,
    }
    .to_raw())
}

fn shr<T: Integer>(left: u64, right: u64) -> Result<u64, OpError> {
    let (value, count) = (T::from_raw(left), T::from_raw(right));
    if count < T::ZERO {
        return Err(OpError::NegativeShift);
    }
    Ok(match u32::try_from(count.to_i128()) {
        Ok(count) if count < T::BITS => value.shr(count),
        // All sign bits: for unsigned types that is 0.
        _ if value < T::ZERO => T::ZERO.not(),
        _ => T::ZERO,
    }
    .to_raw())
}

/// Rust's `as` is the language's conversion: integers wrap, float to integer saturates with NaN to 0, everything else
/// rounds to nearest even.
macro_rules! conversions {
    ($from:ty, $to:expr) => {
        match $to {
            ScalarType::I8 => |raw| (<$from>::from_raw(raw) as i8).to_raw(),
            ScalarType::I16 => |raw| (<$from>::from_raw(raw) as i16).to_raw(),
            ScalarType::I32 => |raw| (<$from>::from_raw(raw) as i32).to_raw(),
            ScalarType::I64 => |raw| (<$from>::from_raw(raw) as i64).to_raw(),
            ScalarType::U8 => |raw| (<$from>::from_raw(raw) as u8).to_raw(),
            ScalarType::U16 => |raw| (<$from>::from_raw(raw) as u16).to_raw(),
            ScalarType::U32 => |raw| (<$from>::from_raw(raw) as u32).to_raw(),
            ScalarType::U64 => |raw| (<$from>::from_raw(raw) as u64).to_raw(),
            ScalarType::F32 => |raw| (<$from>::from_raw(raw) as f32).to_raw(),
            ScalarType::F64 => |raw| (<$from>::from_raw(raw) as f64).to_raw(),
            ScalarType::Bool => |raw| (<$from>::from_raw(raw) != (0 as $from)).to_raw(),
        }
    };
}

fn convert(from: ScalarType, to: ScalarType) -> Option<RawUnary> {
    Some(match from {
        ScalarType::I8 => conversions!(i8, to),
        ScalarType::I16 => conversions!(i16, to),
        ScalarType::I32 => conversions!(i32, to),
        ScalarType::I64 => conversions!(i64, to),
        // Booleans are the bytes 0 and 1.
        ScalarType::U8 | ScalarType::Bool => conversions!(u8, to),
        ScalarType::U16 => conversions!(u16, to),
        ScalarType::U32 => conversions!(u32, to),
        ScalarType::U64 => conversions!(u64, to),
        ScalarType::F32 => conversions!(f32, to),
        ScalarType::F64 => conversions!(f64, to),
    })
}
