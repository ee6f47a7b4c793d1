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
            || self.is_in_memory(index)
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
        if matches!(op, BinOp::Max | BinOp::Min) {
            self.learn_clamped(name, value);
        }
    }

    /// `max(0, min(n - 1, i))` is an index of an array of size `n`, where there is an element.
    fn learn_clamped(&mut self, name: &Name, value: &Expr) {
        let this = Index::var(name.clone());
        if self.is_at_least(value, &Index::zero()) {
            self.facts.assume_nonneg(this.clone());
        }
        let mut bounds = Vec::new();
        self.names_above(value, &mut bounds);
        bounds.sort();
        bounds.dedup();
        for bound in bounds {
            let most = Index::var(bound) - Poly::one();
            if self.is_at_most(value, &most) {
                self.facts.assume_nonneg(most - &this);
            }
        }
    }

    /// Names that what a clamped number is made of may be below.
    fn names_above(&self, expr: &Expr, found: &mut Vec<Name>) {
        match (self.number(expr), expr) {
            (Some(number), _) => {
                found.extend(number.free_vars().cloned());
                found.extend(self.facts.above(&number));
            }
            (None, Expr::Binary(BinOp::Max | BinOp::Min, left, right)) => {
                self.names_above(left, found);
                self.names_above(right, found);
            }
            (None, _) => {}
        }
    }

    fn is_at_least(&self, expr: &Expr, bound: &Index) -> bool {
        match (self.number(expr), expr) {
            (Some(number), _) => self.facts.is_nonneg(&(&number - bound)),
            (None, Expr::Binary(BinOp::Max, left, right)) => {
                self.is_at_least(left, bound) || self.is_at_least(right, bound)
            }
            (None, Expr::Binary(BinOp::Min, left, right)) => {
                self.is_at_least(left, bound) && self.is_at_least(right, bound)
            }
            (None, _) => false,
        }
    }

    fn is_at_most(&self, expr: &Expr, bound: &Index) -> bool {
        match (self.number(expr), expr) {
            (Some(number), _) => self.facts.is_nonneg(&(bound - &number)),
            (None, Expr::Binary(BinOp::Max, left, right)) => {
                self.is_at_most(left, bound) && self.is_at_most(right, bound)
            }
            (None, Expr::Binary(BinOp::Min, left, right)) => {
                self.is_at_most(left, bound) || self.is_at_most(right, bound)
            }
            (None, _) => false,
        }
    }

    /// The one of two numbers that is surely the greatest or least.
    pub(super) fn surely_one(&self, op: BinOp, left: &Expr, right: &Expr) -> Option<Expr> {
        let wins = |one: &Expr, other: &Expr| {
            self.number(other).is_some_and(|other| match op {
                BinOp::Max => self.is_at_least(one, &other),
                BinOp::Min => self.is_at_most(one, &other),
                _ => false,
            })
        };
        match (wins(left, right), wins(right, left)) {
            (true, _) => Some(left.clone()),
            (_, true) => Some(right.clone()),
            _ => None,
        }
    }

    pub(super) fn learn_remainder(&mut self, name: &Name, left: Option<Index>, right: Option<Index>) {
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
