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
        almach_value::identity(op, ty)
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
