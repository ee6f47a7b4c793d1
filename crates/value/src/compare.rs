//! Equality of values: the law's, and approximately.

use crate::datum::NodeIdentity;
use crate::{ArrayValue, Buffer, Datum, Elements, Scalar, SumValue, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// How scalars are compared.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Closeness {
    /// Bit for bit, all NaNs being one.
    Same,
    /// Floats within a fraction of the larger magnitude.
    Relative(f64),
}

/// The law's equality: scalars bit for bit with all NaNs one, arrays by elements, recursive data by what they unfold
/// to. The shape of an empty array's missing rows does not count, nor whether equal rows are held as jagged ones.
pub fn same(left: &Value, right: &Value) -> bool {
    compare(left, right, Closeness::Same)
}

/// As [`same`], but floats may differ by `tolerance` times the larger magnitude.
pub fn approximately_equal(left: &Value, right: &Value, tolerance: f64) -> bool {
    compare(left, right, Closeness::Relative(tolerance))
}

impl Closeness {
    fn scalars(self, left: Scalar, right: Scalar) -> bool {
        let close = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * a.abs().max(b.abs());
        left.same(right)
            || match (self, left, right) {
                (Closeness::Same, _, _) => false,
                // Zeros of either sign are close; infinities are close to nothing else.
                (Closeness::Relative(t), Scalar::F32(a), Scalar::F32(b)) => {
                    a.is_finite() && b.is_finite() && close(a.into(), b.into(), t)
                }
                (Closeness::Relative(t), Scalar::F64(a), Scalar::F64(b)) => {
                    a.is_finite() && b.is_finite() && close(a, b, t)
                }
                (Closeness::Relative(_), _, _) => false,
            }
    }

    fn buffers(self, left: &Buffer, right: &Buffer) -> bool {
        match self {
            Closeness::Same => left.same(right),
            Closeness::Relative(_) => {
                left.len() == right.len()
                    && left.ty() == right.ty()
                    && left.iter().zip(right.iter()).all(|(a, b)| self.scalars(a, b))
            }
        }
    }
}

/// What remains to compare, so that deep data need no deep stack.
struct Comparison {
    closeness: Closeness,
    pending: Vec<(Value, Value)>,
    /// Pairs of nodes assumed equal: a cycle that leads back to one adds nothing (coinduction).
    assumed: HashSet<(NodeIdentity, NodeIdentity)>,
    /// Tables and cells of assumed pairs stay alive through the compared values, so identities stay unique.
    _owners: (Value, Value),
}

fn compare(left: &Value, right: &Value, closeness: Closeness) -> bool {
    let mut comparison = Comparison {
        closeness,
        pending: vec![(left.clone(), right.clone())],
        assumed: HashSet::new(),
        _owners: (left.clone(), right.clone()),
    };
    while let Some((left, right)) = comparison.pending.pop() {
        if !comparison.values(&left, &right) {
            return false;
        }
    }
    true
}

impl Comparison {
    fn values(&mut self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Scalar(a), Value::Scalar(b)) => self.closeness.scalars(*a, *b),
            (Value::Vector(a), Value::Vector(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b.iter())
                        .all(|(a, b)| self.closeness.scalars(*a, *b))
            }
            (Value::Tuple(a), Value::Tuple(b)) => self.push_all(a, b),
            (Value::Array(a), Value::Array(b)) => self.arrays(a, b),
            (Value::Sum(a), Value::Sum(b)) => self.sums(a, b),
            (Value::Datum(a), Value::Datum(b)) => self.data(a, b),
            _ => false,
        }
    }

    fn push_all(&mut self, left: &[Value], right: &[Value]) -> bool {
        self.pending
            .extend(left.iter().cloned().zip(right.iter().cloned()));
        left.len() == right.len()
    }

    fn sums(&mut self, left: &SumValue, right: &SumValue) -> bool {
        left.constructor == right.constructor && self.push_all(&left.fields, &right.fields)
    }

    fn data(&mut self, left: &Datum, right: &Datum) -> bool {
        if left.identity() == right.identity() {
            return true;
        }
        // Only nodes that both sides may meet again can repeat.
        if left.is_shared() && right.is_shared() && !self.assumed.insert((left.identity(), right.identity()))
        {
            return true;
        }
        left.constructor() == right.constructor() && self.push_all(&left.fields(), &right.fields())
    }

    fn arrays(&mut self, left: &ArrayValue, right: &ArrayValue) -> bool {
        if left.len != right.len {
            return false;
        }
        if left.len == 0 {
            return true;
        }
        match (&left.elements, &right.elements) {
            (Elements::Scalars(a), Elements::Scalars(b)) => self.closeness.buffers(a, b),
            (Elements::Vectors { width, lanes }, Elements::Vectors { width: w, lanes: l }) => {
                width == w && self.closeness.buffers(lanes, l)
            }
            (Elements::Tuples(a), Elements::Tuples(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.arrays(a, b))
            }
            (Elements::Boxed(a), Elements::Boxed(b)) => self.push_all(a, b),
            (
                Elements::Rows { .. } | Elements::Jagged { .. },
                Elements::Rows { .. } | Elements::Jagged { .. },
            ) => self.nested(left, right),
            _ => false,
        }
    }

    fn nested(&mut self, left: &ArrayValue, right: &ArrayValue) -> bool {
        let same_lengths = (0..left.len).all(|at| match (left.row_range(at), right.row_range(at)) {
            (Some((_, a)), Some((_, b))) => a.len() == b.len(),
            _ => false,
        });
        let inner = |array: &ArrayValue| array.row_range(0).map(|(inner, _)| Arc::clone(inner));
        match (inner(left), inner(right)) {
            (Some(a), Some(b)) => same_lengths && self.arrays(&a, &b),
            _ => false,
        }
    }
}
