//! Which operators may be reordered: the built-in commutative ones, and tuples of those component by component.
//!
//! ```text
//! \(a: (f32, f32), b: (f32, f32)): (f32, f32) ->
//!   let t: f32 = a.0
//!   let u: f32 = b.0
//!   let lo: f32 = min t u                          =>   (min, max)
//!   …
//!   let r: (f32, f32) = (lo, hi)
//!   in r
//! ```

use almach_core::{Atom, Exp, Lambda, Type, Var};
use almach_value::{BinOp, Scalar, ScalarType};
use std::collections::HashMap;

/// An operator that is associative, commutative and has an identity that the compiler may insert (design, section 3).
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Operator {
    Scalar(BinOp, ScalarType),
    Tuple(Vec<Operator>),
}

/// What a variable inside an operator's body is.
#[derive(Clone, PartialEq)]
enum Known {
    /// A part of a parameter: which one, and the components on the way.
    Part(usize, Vec<u32>),
    Combined(BinOp, Box<Known>, Box<Known>),
    Tuple(Vec<Known>),
}

impl Operator {
    /// The operator that a function is; none where it is not one of these.
    pub(crate) fn of(function: &Lambda) -> Option<Operator> {
        let ([left, right], [value], [ty]) = (
            function.params.as_slice(),
            function.body.values.as_slice(),
            function.result.types.as_slice(),
        ) else {
            return None;
        };
        let mut known: HashMap<&Var, Known> = HashMap::new();
        known.insert(&left.var, Known::Part(0, Vec::new()));
        known.insert(&right.var, Known::Part(1, Vec::new()));
        for stmt in &function.body.stmts {
            let [bound] = stmt.pattern.values.as_slice() else {
                return None;
            };
            let found = understood(&stmt.exp, &known)?;
            known.insert(&bound.var, found);
        }
        operator(&look_up(value, &known)?, ty, &mut Vec::new())
    }

    /// The value that changes nothing.
    pub(crate) fn scalar_identity(op: BinOp, ty: ScalarType) -> Option<Scalar> {
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

    /// How many scalars a state has.
    pub(crate) fn components(&self) -> usize {
        match self {
            Operator::Scalar(..) => 1,
            Operator::Tuple(parts) => parts.iter().map(Operator::components).sum(),
        }
    }

    /// Bytes of the largest component.
    pub(crate) fn largest(&self) -> usize {
        match self {
            Operator::Scalar(_, ty) => ty.bytes(),
            Operator::Tuple(parts) => parts.iter().map(Operator::largest).max().unwrap_or(1),
        }
    }
}

fn understood(exp: &Exp, known: &HashMap<&Var, Known>) -> Option<Known> {
    match exp {
        Exp::Atom(atom) => look_up(atom, known),
        Exp::Project(tuple, at) => match look_up(tuple, known)? {
            Known::Part(param, mut path) => {
                path.push(*at);
                Some(Known::Part(param, path))
            }
            Known::Tuple(parts) => parts.into_iter().nth(*at as usize),
            Known::Combined(..) => None,
        },
        Exp::Tuple(parts) => {
            let parts = parts.iter().map(|part| look_up(part, known));
            Some(Known::Tuple(parts.collect::<Option<_>>()?))
        }
        Exp::Binary(op, a, b) => {
            let (a, b) = (look_up(a, known)?, look_up(b, known)?);
            Some(Known::Combined(*op, Box::new(a), Box::new(b)))
        }
        _ => None,
    }
}

fn look_up(atom: &Atom, known: &HashMap<&Var, Known>) -> Option<Known> {
    match atom {
        Atom::Var(var) => known.get(var).cloned(),
        Atom::Const(_) => None,
    }
}

/// What combines the parts of both parameters at `path`.
fn operator(known: &Known, ty: &Type, path: &mut Vec<u32>) -> Option<Operator> {
    match (known, ty) {
        (Known::Tuple(parts), Type::Tuple(types)) if parts.len() == types.len() => {
            let mut operators = Vec::with_capacity(parts.len());
            for (at, (part, ty)) in (0u32..).zip(parts.iter().zip(types)) {
                path.push(at);
                operators.push(operator(part, ty, path)?);
                path.pop();
            }
            (!operators.is_empty()).then_some(Operator::Tuple(operators))
        }
        (Known::Combined(op, a, b), Type::Scalar(ty)) => {
            let part = |param| Known::Part(param, path.clone());
            let both = [&**a, &**b];
            let right = both == [&part(0), &part(1)] || both == [&part(1), &part(0)];
            let allowed = Operator::scalar_identity(*op, *ty).is_some();
            (right && allowed).then_some(Operator::Scalar(*op, *ty))
        }
        _ => None,
    }
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
