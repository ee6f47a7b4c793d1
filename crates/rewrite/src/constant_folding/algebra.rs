//! Operators of two arguments: on constants, and by identities that hold for every value.

use almach_core::{Atom, Exp};
use almach_value::{BinOp, Scalar, UnOp};

/// The simpler expression, where there is one. Operators that fail on these constants stay.
pub(super) fn binary(op: BinOp, a: &Atom, b: &Atom) -> Option<Exp> {
    if let (Atom::Const(a), Atom::Const(b)) = (a, b) {
        let value = op.eval(*a, *b)?.ok()?;
        return Some(Exp::Atom(Atom::Const(value)));
    }
    let copy = |atom: &Atom| Some(Exp::Atom(atom.clone()));
    let constant = |scalar: Scalar| Some(Exp::Atom(Atom::Const(scalar)));
    match (op, number(a), number(b)) {
        (BinOp::Add, Some(0), _) => return copy(b),
        (BinOp::Add | BinOp::Sub, _, Some(0)) => return copy(a),
        (BinOp::Mul, Some(1), _) => return copy(b),
        (BinOp::Mul | BinOp::Div, _, Some(1)) => return copy(a),
        (BinOp::Mul, Some(0), _) => return copy(a),
        (BinOp::Mul, _, Some(0)) => return copy(b),
        (BinOp::Shl | BinOp::Shr, _, Some(0)) => return copy(a),
        _ => {}
    }
    // Multiplying by one keeps every float, NaN and the sign of zero included; adding zero does not.
    match (op, a, b) {
        (BinOp::Mul, Atom::Const(Scalar::F32(1.0) | Scalar::F64(1.0)), _) => return copy(b),
        (BinOp::Mul | BinOp::Div, _, Atom::Const(Scalar::F32(1.0) | Scalar::F64(1.0))) => return copy(a),
        _ => {}
    }
    match (op, truth(a), truth(b)) {
        (BinOp::And, Some(true), _) | (BinOp::Or, Some(false), _) | (BinOp::Xor, Some(false), _) => copy(b),
        (BinOp::And, _, Some(true)) | (BinOp::Or, _, Some(false)) | (BinOp::Xor, _, Some(false)) => copy(a),
        (BinOp::And, Some(false), _) | (BinOp::And, _, Some(false)) => constant(Scalar::Bool(false)),
        (BinOp::Or, Some(true), _) | (BinOp::Or, _, Some(true)) => constant(Scalar::Bool(true)),
        (BinOp::Eq, Some(true), _) | (BinOp::Ne, Some(false), _) => copy(b),
        (BinOp::Eq, _, Some(true)) | (BinOp::Ne, _, Some(false)) => copy(a),
        (BinOp::Xor | BinOp::Ne, Some(true), _) | (BinOp::Eq, Some(false), _) => {
            Some(Exp::Unary(UnOp::Not, b.clone()))
        }
        (BinOp::Xor | BinOp::Ne, _, Some(true)) | (BinOp::Eq, _, Some(false)) => {
            Some(Exp::Unary(UnOp::Not, a.clone()))
        }
        _ => None,
    }
}

/// The value of an integer constant.
fn number(atom: &Atom) -> Option<i128> {
    match atom {
        Atom::Const(scalar) => scalar.as_integer(),
        Atom::Var(_) => None,
    }
}

fn truth(atom: &Atom) -> Option<bool> {
    match atom {
        Atom::Const(Scalar::Bool(value)) => Some(*value),
        Atom::Const(_) | Atom::Var(_) => None,
    }
}
