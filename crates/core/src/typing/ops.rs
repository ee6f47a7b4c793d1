//! Scalar operators on scalars and, lane by lane, on vectors.

use super::{TypeError, Typed, Typing};
use crate::check::Rule;
use crate::ir::Type;
use almach_value::{BinOp, ScalarType, TernOp, UnOp};

/// Scalar, or vector of so many lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lanes {
    Scalar,
    Vector(u32),
}

impl Lanes {
    fn of(self, ty: ScalarType) -> Type {
        match self {
            Lanes::Scalar => Type::Scalar(ty),
            Lanes::Vector(width) => Type::Vector(width, ty),
        }
    }

    /// Scalars broadcast to the lanes of the other operand.
    fn with(self, other: Lanes) -> Option<Lanes> {
        match (self, other) {
            (Lanes::Scalar, lanes) | (lanes, Lanes::Scalar) => Some(lanes),
            (Lanes::Vector(a), Lanes::Vector(b)) => (a == b).then_some(self),
        }
    }
}

impl Typing<'_> {
    pub(super) fn unary(&self, op: UnOp, arg: &Type) -> Typed<Type> {
        let refuse = || self.does_not_apply(&format!("{op:?}"), &[arg]);
        let (lanes, ty) = lanes_of(arg).ok_or_else(refuse)?;
        op.result_type(ty).map(|ty| lanes.of(ty)).ok_or_else(refuse)
    }

    pub(super) fn binary(&self, op: BinOp, a: &Type, b: &Type) -> Typed<Type> {
        let refuse = || self.does_not_apply(&format!("{op:?}"), &[a, b]);
        let (lanes_a, a_ty) = lanes_of(a).ok_or_else(refuse)?;
        let (lanes_b, b_ty) = lanes_of(b).ok_or_else(refuse)?;
        let lanes = lanes_a
            .with(lanes_b)
            .filter(|_| a_ty == b_ty)
            .ok_or_else(refuse)?;
        op.result_type(a_ty).map(|ty| lanes.of(ty)).ok_or_else(refuse)
    }

    pub(super) fn ternary(&self, op: TernOp, args: [&Type; 3]) -> Typed<Type> {
        let refuse = || self.does_not_apply(&format!("{op:?}"), &args);
        let mut lanes = Lanes::Scalar;
        let mut element = None;
        for arg in args {
            let (of_arg, ty) = lanes_of(arg).ok_or_else(refuse)?;
            lanes = lanes.with(of_arg).ok_or_else(refuse)?;
            if element.replace(ty).is_some_and(|before| before != ty) {
                return Err(refuse());
            }
        }
        let result = element.and_then(|ty| op.result_type(ty));
        result.map(|ty| lanes.of(ty)).ok_or_else(refuse)
    }

    fn does_not_apply(&self, op: &str, args: &[&Type]) -> TypeError {
        let types: Vec<String> = args.iter().map(|ty| format!("`{}`", self.show(ty))).collect();
        TypeError::new(
            Rule::ScalarOperator,
            format!("{op} does not apply to {}", types.join(" and ")),
        )
    }
}

fn lanes_of(ty: &Type) -> Option<(Lanes, ScalarType)> {
    match ty {
        Type::Scalar(ty) => Some((Lanes::Scalar, *ty)),
        Type::Vector(width, ty) => Some((Lanes::Vector(*width), *ty)),
        Type::Tuple(_) | Type::Array(..) | Type::Data(_) | Type::Node(_) => None,
    }
}
