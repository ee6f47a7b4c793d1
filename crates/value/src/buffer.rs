//! Flat storage of scalars of one type.

use crate::raw::RawScalar;
use crate::{Scalar, ScalarType};
use std::ops::Range;

#[derive(Clone, Debug)]
pub enum Buffer {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
}

/// Evaluates an expression with the buffer's vector, whatever its type: `with_buffer!(buffer, v => v.len())`.
#[macro_export]
macro_rules! with_buffer {
    ($buffer:expr, $vector:pat => $result:expr) => {
        match $buffer {
            $crate::Buffer::I8($vector) => $result,
            $crate::Buffer::I16($vector) => $result,
            $crate::Buffer::I32($vector) => $result,
            $crate::Buffer::I64($vector) => $result,
            $crate::Buffer::U8($vector) => $result,
            $crate::Buffer::U16($vector) => $result,
            $crate::Buffer::U32($vector) => $result,
            $crate::Buffer::U64($vector) => $result,
            $crate::Buffer::F32($vector) => $result,
            $crate::Buffer::F64($vector) => $result,
            $crate::Buffer::Bool($vector) => $result,
        }
    };
}

/// A buffer of the same type as another, from its vector.
macro_rules! map_buffer {
    ($buffer:expr, $vector:pat => $result:expr) => {
        match $buffer {
            Buffer::I8($vector) => Buffer::I8($result),
            Buffer::I16($vector) => Buffer::I16($result),
            Buffer::I32($vector) => Buffer::I32($result),
            Buffer::I64($vector) => Buffer::I64($result),
            Buffer::U8($vector) => Buffer::U8($result),
            Buffer::U16($vector) => Buffer::U16($result),
            Buffer::U32($vector) => Buffer::U32($result),
            Buffer::U64($vector) => Buffer::U64($result),
            Buffer::F32($vector) => Buffer::F32($result),
            Buffer::F64($vector) => Buffer::F64($result),
            Buffer::Bool($vector) => Buffer::Bool($result),
        }
    };
}

macro_rules! from_vector {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<Vec<$ty>> for Buffer {
            fn from(values: Vec<$ty>) -> Buffer {
                Buffer::$variant(values)
            }
        }
    )*};
}

from_vector!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, bool => Bool
);

impl Buffer {
    pub fn new(ty: ScalarType) -> Buffer {
        Buffer::with_capacity(ty, 0)
    }

    pub fn with_capacity(ty: ScalarType, capacity: usize) -> Buffer {
        match ty {
            ScalarType::I8 => Buffer::I8(Vec::with_capacity(capacity)),
            ScalarType::I16 => Buffer::I16(Vec::with_capacity(capacity)),
            ScalarType::I32 => Buffer::I32(Vec::with_capacity(capacity)),
            ScalarType::I64 => Buffer::I64(Vec::with_capacity(capacity)),
            ScalarType::U8 => Buffer::U8(Vec::with_capacity(capacity)),
            ScalarType::U16 => Buffer::U16(Vec::with_capacity(capacity)),
            ScalarType::U32 => Buffer::U32(Vec::with_capacity(capacity)),
            ScalarType::U64 => Buffer::U64(Vec::with_capacity(capacity)),
            ScalarType::F32 => Buffer::F32(Vec::with_capacity(capacity)),
            ScalarType::F64 => Buffer::F64(Vec::with_capacity(capacity)),
            ScalarType::Bool => Buffer::Bool(Vec::with_capacity(capacity)),
        }
    }

    /// `count` times the same scalar.
    pub fn repeat(value: Scalar, count: usize) -> Buffer {
        match value {
            Scalar::I8(v) => Buffer::I8(vec![v; count]),
            Scalar::I16(v) => Buffer::I16(vec![v; count]),
            Scalar::I32(v) => Buffer::I32(vec![v; count]),
            Scalar::I64(v) => Buffer::I64(vec![v; count]),
            Scalar::U8(v) => Buffer::U8(vec![v; count]),
            Scalar::U16(v) => Buffer::U16(vec![v; count]),
            Scalar::U32(v) => Buffer::U32(vec![v; count]),
            Scalar::U64(v) => Buffer::U64(vec![v; count]),
            Scalar::F32(v) => Buffer::F32(vec![v; count]),
            Scalar::F64(v) => Buffer::F64(vec![v; count]),
            Scalar::Bool(v) => Buffer::Bool(vec![v; count]),
        }
    }

    pub fn ty(&self) -> ScalarType {
        match self {
            Buffer::I8(_) => ScalarType::I8,
            Buffer::I16(_) => ScalarType::I16,
            Buffer::I32(_) => ScalarType::I32,
            Buffer::I64(_) => ScalarType::I64,
            Buffer::U8(_) => ScalarType::U8,
            Buffer::U16(_) => ScalarType::U16,
            Buffer::U32(_) => ScalarType::U32,
            Buffer::U64(_) => ScalarType::U64,
            Buffer::F32(_) => ScalarType::F32,
            Buffer::F64(_) => ScalarType::F64,
            Buffer::Bool(_) => ScalarType::Bool,
        }
    }

    pub fn len(&self) -> usize {
        with_buffer!(self, v => v.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, at: usize) -> Option<Scalar> {
        self.get_raw(at).map(|raw| Scalar::from_raw(self.ty(), raw))
    }

    /// An element in raw form.
    #[inline]
    pub fn get_raw(&self, at: usize) -> Option<u64> {
        with_buffer!(self, v => v.get(at).map(|x| x.to_raw()))
    }

    /// Writes a raw scalar of the buffer's type; false where there is no such element.
    #[inline]
    pub fn set_raw(&mut self, at: usize, raw: u64) -> bool {
        with_buffer!(self, v => match v.get_mut(at) {
            Some(slot) => {
                *slot = RawScalar::from_raw(raw);
                true
            }
            None => false,
        })
    }

    /// Appends a raw scalar of the buffer's type.
    #[inline]
    pub fn push_raw(&mut self, raw: u64) {
        with_buffer!(self, v => v.push(RawScalar::from_raw(raw)));
    }

    /// Appends a part of another buffer; false (and nothing done) where the types differ or the range is not in it.
    #[must_use]
    pub fn extend_from(&mut self, other: &Buffer, range: Range<usize>) -> bool {
        macro_rules! same_type {
            ($($variant:ident),*) => {
                match (self, other) {
                    $((Buffer::$variant(to), Buffer::$variant(from)) => match from.get(range) {
                        Some(part) => {
                            to.extend_from_slice(part);
                            true
                        }
                        None => false,
                    },)*
                    _ => false,
                }
            };
        }
        same_type!(I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, Bool)
    }

    /// Overwrites from `at` with all of another buffer; false (and nothing done) where that does not fit.
    #[must_use]
    pub fn overwrite(&mut self, at: usize, other: &Buffer) -> bool {
        macro_rules! same_type {
            ($($variant:ident),*) => {
                match (self, other) {
                    $((Buffer::$variant(to), Buffer::$variant(from)) => {
                        match at.checked_add(from.len()).and_then(|end| to.get_mut(at..end)) {
                            Some(part) => {
                                part.copy_from_slice(from);
                                true
                            }
                            None => false,
                        }
                    })*
                    _ => false,
                }
            };
        }
        same_type!(I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, Bool)
    }

    /// The elements at some positions, in that order; none where one is out of bounds.
    pub fn gather(&self, positions: &[usize]) -> Option<Buffer> {
        let len = self.len();
        if positions.iter().any(|at| *at >= len) {
            return None;
        }
        Some(map_buffer!(self, v => positions.iter().filter_map(|at| v.get(*at).copied()).collect()))
    }

    /// The bits of a float or integer element, for comparing to the law: all NaNs are one.
    pub fn same(&self, other: &Buffer) -> bool {
        match (self, other) {
            (Buffer::F32(a), Buffer::F32(b)) => same_by(a, b, |x, y| Scalar::F32(x).same(Scalar::F32(y))),
            (Buffer::F64(a), Buffer::F64(b)) => same_by(a, b, |x, y| Scalar::F64(x).same(Scalar::F64(y))),
            (Buffer::I8(a), Buffer::I8(b)) => a == b,
            (Buffer::I16(a), Buffer::I16(b)) => a == b,
            (Buffer::I32(a), Buffer::I32(b)) => a == b,
            (Buffer::I64(a), Buffer::I64(b)) => a == b,
            (Buffer::U8(a), Buffer::U8(b)) => a == b,
            (Buffer::U16(a), Buffer::U16(b)) => a == b,
            (Buffer::U32(a), Buffer::U32(b)) => a == b,
            (Buffer::U64(a), Buffer::U64(b)) => a == b,
            (Buffer::Bool(a), Buffer::Bool(b)) => a == b,
            _ => false,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Scalar> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

fn same_by<T: Copy>(a: &[T], b: &[T], same: impl Fn(T, T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(*x, *y))
}

/// A buffer of scalars that all have a type; none where one has another.
pub fn buffer_of(ty: ScalarType, scalars: impl IntoIterator<Item = Scalar>) -> Option<Buffer> {
    let mut buffer = Buffer::new(ty);
    for scalar in scalars {
        if scalar.ty() != ty {
            return None;
        }
        buffer.push_raw(scalar.to_raw());
    }
    Some(buffer)
}
