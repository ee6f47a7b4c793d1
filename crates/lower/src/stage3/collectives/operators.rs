//! Operators that are one operation, or one for each component of a tuple, and what changes nothing for them.

use almach_base::Name;
use almach_dpia::{Data, Phrase, Prim, build};
use almach_imp::exact_in_any_order;
use almach_value::{BinOp, Scalar, ScalarType};

/// The operator of `\a. \b. \o. o := op a b` on scalars, or of `op b a` where that is the same.
pub(super) fn simple_operator(function: &Phrase, data: &Data) -> Option<(BinOp, ScalarType)> {
    let Data::Scalar(ty) = data else {
        return None;
    };
    let (names, body) = operator(function)?;
    let (place, value) = assignment(body)?;
    let op = operation(value, *ty, |phrase| variable(phrase), &names)?;
    (variable(place) == Some(names.result)).then_some((op, *ty))
}

/// A value that changes nothing on either side of an operator, bit for bit: of `\a. \b. \o. o.0 := op a.0 b.0; o.1 := …` too.
pub(super) fn neutral_value(function: &Phrase, data: &Data) -> Option<Phrase> {
    let Data::Tuple(parts) = data else {
        let (op, ty) = simple_operator(function, data)?;
        return Some(build::literal(neutral(op, ty)?));
    };
    let (names, body) = operator(function)?;
    let mut found = vec![None; parts.len()];
    for command in commands(body) {
        let (place, value) = assignment(command)?;
        let at = component_place(place, names.result)?;
        let Data::Scalar(ty) = parts.get(at)? else {
            return None;
        };
        let op = operation(value, *ty, |phrase| component(phrase, at), &names)?;
        let place = found.get_mut(at)?;
        match place.replace(neutral(op, *ty)?) {
            None => {}
            Some(_) => return None,
        }
    }
    let components: Option<Vec<Phrase>> = found.into_iter().map(|one| one.map(build::literal)).collect();
    Some(build::tuple(parts, components?))
}

/// What an operator calls its operands and its result.
struct Names<'p> {
    left: &'p Name,
    right: &'p Name,
    result: &'p Name,
}

fn operator(function: &Phrase) -> Option<(Names<'_>, &Phrase)> {
    let (left, body) = lambda(function)?;
    let (right, body) = lambda(body)?;
    let (result, body) = lambda(body)?;
    Some((Names { left, right, result }, body))
}

fn lambda(phrase: &Phrase) -> Option<(&Name, &Phrase)> {
    match phrase.unmarked() {
        Phrase::Lam(name, _, body) => Some((name, body)),
        _ => None,
    }
}

/// The commands of a sequence, in order.
fn commands(phrase: &Phrase) -> Vec<&Phrase> {
    let (mut found, mut open) = (Vec::new(), vec![phrase]);
    while let Some(phrase) = open.pop() {
        match phrase.spine() {
            (Phrase::Prim(instance), arguments)
                if instance.prim == Prim::Seq
                    && let [both] = arguments.as_slice()
                    && let Phrase::Pair(first, second) = both.unmarked() =>
            {
                open.extend([&**second, &**first]);
            }
            _ => found.push(phrase),
        }
    }
    found
}

/// The place and the value of `place := value`.
fn assignment(phrase: &Phrase) -> Option<(&Phrase, &Phrase)> {
    let (head, arguments) = phrase.spine();
    match (head, arguments.as_slice()) {
        (Phrase::Prim(instance), [both]) if instance.prim == Prim::Assign => match both.unmarked() {
            Phrase::Pair(place, value) => Some((place, value)),
            _ => None,
        },
        _ => None,
    }
}

/// The operation of a value whose operands are what both operands of the operator have in one place.
fn operation<'p>(
    value: &'p Phrase,
    ty: ScalarType,
    from: impl Fn(&'p Phrase) -> Option<&'p Name>,
    names: &Names<'_>,
) -> Option<BinOp> {
    let (head, arguments) = value.spine();
    let (Phrase::Prim(instance), &[left, right]) = (head, arguments.as_slice()) else {
        return None;
    };
    let Prim::Binary(op, _) = instance.prim else {
        return None;
    };
    let (left, right) = (from(left)?, from(right)?);
    let given = left == names.left && right == names.right;
    let turned = left == names.right && right == names.left && exact_in_any_order(op, ty);
    (given || turned).then_some(op)
}

fn variable(phrase: &Phrase) -> Option<&Name> {
    match phrase.unmarked() {
        Phrase::Var(name) => Some(name),
        _ => None,
    }
}

/// What the component of a tuple at a place is taken from.
fn component(phrase: &Phrase, at: usize) -> Option<&Name> {
    let (head, arguments) = phrase.spine();
    match (head, arguments.as_slice()) {
        (Phrase::Prim(instance), &[tuple]) if matches!(instance.prim, Prim::Get(taken, _) if taken == at) => {
            variable(tuple)
        }
        _ => None,
    }
}

/// Which component of an acceptor is meant.
fn component_place(phrase: &Phrase, of: &Name) -> Option<usize> {
    let (head, arguments) = phrase.spine();
    match (head, arguments.as_slice()) {
        (Phrase::Prim(instance), &[acceptor]) if variable(acceptor) == Some(of) => match instance.prim {
            Prim::TupleAcc(at, _) => Some(at),
            _ => None,
        },
        _ => None,
    }
}

/// What changes nothing on either side of an operator, bit for bit.
pub(super) fn neutral(op: BinOp, ty: ScalarType) -> Option<Scalar> {
    match op {
        BinOp::Add => match ty {
            ScalarType::F32 => Some(Scalar::F32(-0.0)),
            ScalarType::F64 => Some(Scalar::F64(-0.0)),
            ScalarType::Bool => None,
            _ => Some(Scalar::zero(ty)),
        },
        BinOp::Or | BinOp::Xor => Some(Scalar::zero(ty)),
        BinOp::Min | BinOp::Max => match ty {
            ScalarType::F32 => Some(Scalar::F32(f32::NAN)),
            ScalarType::F64 => Some(Scalar::F64(f64::NAN)),
            _ => None,
        },
        _ => None,
    }
}
