//! `i64` expressions as indices: arithmetic that is proved not to wrap is that of the integers.

use super::Prover;
use almach_base::Name;
use almach_imp::{Expr, Index};
use almach_nat::Poly;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

impl Prover {
    /// The index that an `i64` expression is, over names that keep their values.
    pub(super) fn number(&self, expr: &Expr) -> Option<Index> {
        let index = match expr {
            Expr::Const(Scalar::I64(value)) => Index::constant(*value),
            Expr::Var(name) if self.kept.get(name) == Some(&ScalarType::I64) => {
                match self.indices.get(name) {
                    Some(index) => index.clone(),
                    None => Index::var(name.clone()),
                }
            }
            Expr::Index(index) => self.fitting(index.clone())?,
            Expr::Unary(UnOp::Neg, argument) => self.fitting(-&self.number(argument)?)?,
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                match op {
                    BinOp::Add => self.fitting(left.checked_add(&right)?)?,
                    // Between the negative of the one and the other.
                    BinOp::Sub if self.facts.is_nonneg(&left) && self.facts.is_nonneg(&right) => {
                        left.checked_sub(&right)?
                    }
                    BinOp::Sub => self.fitting(left.checked_sub(&right)?)?,
                    BinOp::Mul => self.fitting(left.checked_mul(&right)?)?,
                    BinOp::Div if self.divides_down(&left, &right) => left.div(&right),
                    BinOp::Rem if self.divides_down(&left, &right) => left.rem(&right),
                    BinOp::Max if self.facts.is_nonneg(&(&left - &right)) => left,
                    BinOp::Max if self.facts.is_nonneg(&(&right - &left)) => right,
                    BinOp::Min if self.facts.is_nonneg(&(&left - &right)) => right,
                    BinOp::Min if self.facts.is_nonneg(&(&right - &left)) => left,
                    _ => return None,
                }
            }
            _ => return None,
        };
        self.stays(&index).then_some(index)
    }

    /// Truncation is the floor where nothing is negative.
    fn divides_down(&self, dividend: &Index, divisor: &Index) -> bool {
        self.facts.is_nonneg(&(divisor - &Poly::one())) && self.facts.is_nonneg(dividend)
    }

    /// An index whose value is proved to be an `i64`: at least the negative of one that is there, and at most another.
    fn fitting(&self, index: Index) -> Option<Index> {
        (self.is_not_too_large(&index) && self.is_not_too_large(&-&index)).then_some(index)
    }

    fn is_not_too_large(&self, index: &Index) -> bool {
        let at_most = |bound: Index| {
            bound
                .checked_sub(index)
                .is_some_and(|room| self.facts.is_nonneg(&room))
        };
        let below = |bound: &Name| at_most(Index::var(bound.clone()));
        index.as_constant().is_some()
            || at_most(Index::constant(i64::MAX / 2))
            || index.free_vars().any(below)
            || self.facts.above(index).iter().any(below)
    }

    /// What is known of a name whose value is no index.
    pub(super) fn learn_bounds(&mut self, name: &Name, value: &Expr) {
        let Expr::Binary(op, left, right) = value else {
            return;
        };
        let (left, right) = (self.number(left), self.number(right));
        let this = || Index::var(name.clone());
        match op {
            BinOp::Max => {
                for bound in [left, right].into_iter().flatten() {
                    self.facts.assume_nonneg(this() - bound);
                }
            }
            BinOp::Min => {
                for bound in [left, right].into_iter().flatten() {
                    self.facts.assume_nonneg(bound - this());
                }
            }
            BinOp::Rem => self.learn_remainder(name, left, right),
            _ => {}
        }
    }

    fn learn_remainder(&mut self, name: &Name, left: Option<Index>, right: Option<Index>) {
        let Some(divisor) = right else { return };
        if !self.facts.is_nonneg(&(&divisor - &Poly::one())) {
            return;
        }
        let this = Index::var(name.clone());
        self.facts.assume_nonneg(&divisor - &Poly::one() - &this);
        match left.is_some_and(|dividend| self.facts.is_nonneg(&dividend)) {
            true => self.facts.assume_nonneg(this),
            false => self.facts.assume_nonneg(this + divisor - Poly::one()),
        }
    }
}
