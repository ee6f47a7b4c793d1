//! Everything that can fail, as a `check` before it is done.

use super::Translator;
use super::lazy::Lazily;
use crate::error::Lowering;
use almach_base::{Code, Name};
use almach_core::Atom;
use almach_core::types::provably_not_negative;
use almach_dpia::{Data, Nat, Operand, Phrase, Prim, Site, build};
use almach_value::{BinOp, Failure, Scalar, ScalarType, UnOp};

pub(crate) fn binary(op: BinOp, on: ScalarType, left: Phrase, right: Phrase) -> Phrase {
    Phrase::prim(Prim::Binary(op, Operand::scalar(on)), vec![], vec![]).apply([left, right])
}

pub(crate) fn unary(op: UnOp, on: ScalarType, argument: Phrase) -> Phrase {
    Phrase::prim(Prim::Unary(op, Operand::scalar(on)), vec![], vec![]).app(argument)
}

pub(crate) fn int(value: i64) -> Phrase {
    build::literal(Scalar::I64(value))
}

pub(crate) fn and(left: Phrase, right: Phrase) -> Phrase {
    binary(BinOp::And, ScalarType::Bool, left, right)
}

pub(crate) fn or(left: Phrase, right: Phrase) -> Phrase {
    binary(BinOp::Or, ScalarType::Bool, left, right)
}

pub(crate) fn not(condition: Phrase) -> Phrase {
    unary(UnOp::Not, ScalarType::Bool, condition)
}

/// An integer as an `i64`.
pub(crate) fn as_i64(scalar: ScalarType, value: Phrase) -> Phrase {
    match scalar {
        ScalarType::I64 => value,
        _ => unary(UnOp::Convert(ScalarType::I64), scalar, value),
    }
}

fn select(condition: Phrase, then: Phrase, otherwise: Phrase) -> Phrase {
    let data = Data::Scalar(ScalarType::I64);
    Phrase::prim(Prim::Select, vec![], vec![data]).apply([condition, then, otherwise])
}

fn constant(phrase: &Phrase) -> Option<i64> {
    match phrase.unmarked() {
        Phrase::Prim(instance) => match (&instance.prim, instance.nats.as_slice()) {
            (Prim::Literal(scalar), _) => i64::try_from(scalar.as_integer()?).ok(),
            (Prim::NatValue, [nat]) => nat.as_constant(),
            _ => None,
        },
        _ => None,
    }
}

impl Translator<'_> {
    pub(crate) fn site(&self, code: Code, text: &str) -> Site {
        Site {
            code,
            span: self.span,
            text: Name::from(text),
        }
    }

    pub(crate) fn failure_site(&self, failure: Failure) -> Site {
        self.site(failure.code(), failure.text())
    }

    /// Ends the run with the failure unless the condition holds; the arguments are `i64`.
    pub(crate) fn check(&mut self, condition: Phrase, failure: Failure, arguments: Vec<Phrase>) {
        if self.lazily.is_on() {
            self.lazily = Lazily::Unchecked;
            return;
        }
        let site = self.failure_site(failure);
        let types = vec![ScalarType::I64; arguments.len()];
        let check = Phrase::prim(Prim::Check(Box::new(site), types), vec![], vec![]);
        self.push(check.app(condition).apply(arguments));
    }

    /// A user's assertion.
    pub(crate) fn assertion(&mut self, condition: Phrase, text: &Name) {
        if self.lazily.is_on() {
            self.lazily = Lazily::Unchecked;
            return;
        }
        let escaped = text.replace("{}", "{ }");
        let site = self.site(almach_base::codes::runtime::ASSERTION_FAILED, &escaped);
        let check = Phrase::prim(Prim::Check(Box::new(site), vec![]), vec![], vec![]);
        self.push(check.app(condition));
    }

    /// An index into an array of that size, checked.
    pub(crate) fn index(&mut self, index: &Atom, size: &Nat) -> Lowering<Phrase> {
        let scalar = self.scalar_of(index)?;
        let value = self.value(index)?;
        Ok(self.checked_index(scalar, value, size))
    }

    pub(crate) fn checked_index(&mut self, scalar: ScalarType, value: Phrase, size: &Nat) -> Phrase {
        let index = self.let_exp("index", &Data::Scalar(ScalarType::I64), as_i64(scalar, value));
        let inside = and(
            binary(BinOp::Ge, ScalarType::I64, index.clone(), int(0)),
            binary(
                BinOp::Lt,
                ScalarType::I64,
                index.clone(),
                build::nat_value(size.clone()),
            ),
        );
        self.check(
            inside,
            Failure::IndexOutOfBounds,
            vec![index.clone(), build::nat_value(size.clone())],
        );
        build::to_index(size.clone(), index)
    }

    /// An index into each of so many arrays of that size, checked where there is one.
    pub(crate) fn index_of_each(&mut self, index: &Atom, size: &Nat, counts: &[Nat]) -> Lowering<Phrase> {
        let scalar = self.scalar_of(index)?;
        let value = as_i64(scalar, self.value(index)?);
        let index = self.let_exp("index", &Data::Scalar(ScalarType::I64), value);
        let (i64, size_value) = (ScalarType::I64, build::nat_value(size.clone()));
        let inside = and(
            binary(BinOp::Ge, i64, index.clone(), int(0)),
            binary(BinOp::Lt, i64, index.clone(), size_value.clone()),
        );
        let condition = counts.iter().fold(inside, |condition, count| {
            let none = binary(BinOp::Eq, i64, build::nat_value(count.clone()), int(0));
            binary(BinOp::Or, ScalarType::Bool, none, condition)
        });
        self.check(
            condition,
            Failure::IndexOutOfBounds,
            vec![index.clone(), size_value],
        );
        Ok(build::to_index(size.clone(), index))
    }

    /// A size that a program computed must not be negative.
    pub(crate) fn not_negative(&mut self, size: &Nat) {
        if provably_not_negative(size, &|name| self.row_sizes.contains(name)) {
            return;
        }
        let value = build::nat_value(size.clone());
        let condition = binary(BinOp::Ge, ScalarType::I64, value.clone(), int(0));
        self.check(condition, Failure::NegativeSize, vec![value]);
    }

    /// Two sizes must be equal.
    pub(crate) fn same_size(&mut self, wanted: &Nat, found: &Nat) {
        if wanted == found {
            return;
        }
        let (wanted, found) = (build::nat_value(wanted.clone()), build::nat_value(found.clone()));
        let condition = binary(BinOp::Eq, ScalarType::I64, wanted.clone(), found.clone());
        self.check(condition, Failure::SizeMismatch, vec![wanted, found]);
    }

    /// `count` elements from `begin` on, `step` apart, lie in an array of that size.
    pub(crate) fn slice_inside(&mut self, begin: Phrase, count: &Nat, step: Phrase, size: &Nat) {
        let i64 = ScalarType::I64;
        self.not_negative(count);
        let count_value = build::nat_value(count.clone());
        let size_value = build::nat_value(size.clone());
        let steps = binary(BinOp::Sub, i64, count_value.clone(), int(1));
        let up = || {
            let room = binary(
                BinOp::Sub,
                i64,
                build::nat_value(size - &Nat::one()),
                begin.clone(),
            );
            binary(BinOp::Div, i64, room, step.clone())
        };
        let down = || {
            binary(
                BinOp::Div,
                i64,
                begin.clone(),
                unary(UnOp::Neg, i64, step.clone()),
            )
        };
        // How many steps fit, found without a product that could overflow.
        let room = match constant(&step) {
            Some(0) => int(i64::MAX),
            Some(1) => binary(
                BinOp::Sub,
                i64,
                build::nat_value(size - &Nat::one()),
                begin.clone(),
            ),
            Some(step) if step > 0 => up(),
            Some(_) => down(),
            None => {
                let falls = binary(BinOp::Lt, i64, step.clone(), int(0));
                let rises = binary(BinOp::Gt, i64, step.clone(), int(0));
                select(rises, up(), select(falls, down(), int(i64::MAX)))
            }
        };
        let inside = and(
            and(
                binary(BinOp::Ge, i64, begin.clone(), int(0)),
                binary(BinOp::Lt, i64, begin.clone(), build::nat_value(size.clone())),
            ),
            binary(BinOp::Le, i64, steps, room),
        );
        let empty = binary(BinOp::Eq, i64, count_value.clone(), int(0));
        let condition = binary(BinOp::Or, ScalarType::Bool, empty, inside);
        self.check(
            condition,
            Failure::SliceOutOfBounds,
            vec![begin, count_value, step, size_value],
        );
    }

    /// What an operator needs of its right operand, in every lane.
    pub(crate) fn operator_check(
        &mut self,
        op: BinOp,
        scalar: ScalarType,
        right: &Atom,
        operand: Operand,
    ) -> Lowering<()> {
        let signs_matter = matches!(op, BinOp::Shl | BinOp::Shr | BinOp::Pow);
        if !op.can_fail(scalar) || (signs_matter && scalar.is_unsigned_integer()) {
            return Ok(());
        }
        let constant = match right {
            Atom::Const(value) => value.as_integer(),
            Atom::Var(_) => None,
        };
        let (holds, test, failure) = match op {
            BinOp::Div | BinOp::Rem => (
                constant.is_some_and(|c| c != 0),
                BinOp::Ne,
                Failure::DivisionByZero,
            ),
            BinOp::Shl | BinOp::Shr => (
                constant.is_some_and(|c| c >= 0),
                BinOp::Ge,
                Failure::NegativeShift,
            ),
            _ => (
                constant.is_some_and(|c| c >= 0),
                BinOp::Ge,
                Failure::NegativeExponent,
            ),
        };
        if holds {
            return Ok(());
        }
        let value = self.value(right)?;
        match operand.width {
            None => self.operand_check(test, scalar, value, failure),
            Some(width) => {
                let vector = self.let_exp("lanes", &Data::Vector(width, scalar), value);
                let size = Nat::constant(width.into());
                for lane in 0..width {
                    let at = build::to_index(size.clone(), int(lane.into()));
                    let lanes = build::lanes(width, scalar, vector.clone());
                    let value = build::idx(size.clone(), Data::Scalar(scalar), lanes, at);
                    let value = self.let_exp("lane", &Data::Scalar(scalar), value);
                    self.operand_check(test, scalar, value, failure);
                }
            }
        }
        Ok(())
    }

    fn operand_check(&mut self, test: BinOp, scalar: ScalarType, value: Phrase, failure: Failure) {
        let zero = build::literal(Scalar::zero(scalar));
        let arguments = match failure {
            Failure::DivisionByZero => vec![],
            _ => vec![as_i64(scalar, value.clone())],
        };
        self.check(binary(test, scalar, value, zero), failure, arguments);
    }
}
