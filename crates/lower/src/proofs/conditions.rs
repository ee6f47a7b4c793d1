//! Deciding conditions, and learning from those that hold or fail.

use super::{Prover, Truth};
use almach_imp::{Expr, Index};
use almach_nat::Poly;
use almach_value::{BinOp, Scalar, UnOp};

impl Prover {
    /// Whether a condition holds or fails, where that follows from what is known.
    pub(super) fn decide(&self, condition: &Expr) -> Option<Truth> {
        match condition {
            Expr::Const(Scalar::Bool(true)) => Some(Truth::Holds),
            Expr::Const(Scalar::Bool(false)) => Some(Truth::Fails),
            Expr::Var(name) => self.decide(self.conditions.get(name)?),
            Expr::Unary(UnOp::Not, inner) => self.decide(inner).map(Truth::not),
            Expr::Binary(BinOp::And, left, right) => match (self.decide(left), self.decide(right)) {
                (Some(Truth::Fails), _) | (_, Some(Truth::Fails)) => Some(Truth::Fails),
                (Some(Truth::Holds), Some(Truth::Holds)) => Some(Truth::Holds),
                _ => None,
            },
            Expr::Binary(BinOp::Or, left, right) => match (self.decide(left), self.decide(right)) {
                (Some(Truth::Holds), _) | (_, Some(Truth::Holds)) => Some(Truth::Holds),
                (Some(Truth::Fails), Some(Truth::Fails)) => Some(Truth::Fails),
                _ => None,
            },
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                self.compare(*op, &left, &right)
            }
            _ => None,
        }
    }

    fn compare(&self, op: BinOp, left: &Index, right: &Index) -> Option<Truth> {
        let at_most = |a: &Index, b: &Index| self.facts.is_nonneg(&(b - a));
        let less = |a: &Index, b: &Index| self.facts.is_nonneg(&(b - a - Poly::one()));
        let decide = |holds: bool, fails: &dyn Fn() -> bool| match holds {
            true => Some(Truth::Holds),
            false => fails().then_some(Truth::Fails),
        };
        match op {
            BinOp::Lt => decide(less(left, right), &|| at_most(right, left)),
            BinOp::Le => decide(at_most(left, right), &|| less(right, left)),
            BinOp::Gt => decide(less(right, left), &|| at_most(left, right)),
            BinOp::Ge => decide(at_most(right, left), &|| less(left, right)),
            BinOp::Eq => decide(left == right, &|| less(left, right) || less(right, left)),
            BinOp::Ne => decide(less(left, right) || less(right, left), &|| left == right),
            _ => None,
        }
    }

    /// Learns what follows where a condition holds or fails.
    pub(super) fn assume(&mut self, condition: &Expr, truth: Truth) {
        match (condition, truth) {
            (Expr::Var(name), _) => {
                if let Some(meaning) = self.conditions.get(name).cloned() {
                    self.assume(&meaning, truth);
                }
            }
            (Expr::Unary(UnOp::Not, inner), _) => self.assume(inner, truth.not()),
            (Expr::Binary(BinOp::And, left, right), Truth::Holds)
            | (Expr::Binary(BinOp::Or, left, right), Truth::Fails) => {
                self.assume(left, truth);
                self.assume(right, truth);
            }
            (Expr::Binary(op, left, right), _) => {
                if let (Some(left), Some(right)) = (self.number(left), self.number(right)) {
                    self.assume_comparison(*op, left, right, truth);
                }
            }
            _ => {}
        }
    }

    fn assume_comparison(&mut self, op: BinOp, left: Index, right: Index, truth: Truth) {
        if !self.stays(&left) || !self.stays(&right) {
            return;
        }
        let one = Poly::one();
        match (op, truth) {
            (BinOp::Lt, Truth::Holds) | (BinOp::Ge, Truth::Fails) => {
                self.facts.assume_nonneg(right - left - one);
            }
            (BinOp::Le, Truth::Holds) | (BinOp::Gt, Truth::Fails) => self.facts.assume_nonneg(right - left),
            (BinOp::Gt, Truth::Holds) | (BinOp::Le, Truth::Fails) => {
                self.facts.assume_nonneg(left - right - one);
            }
            (BinOp::Ge, Truth::Holds) | (BinOp::Lt, Truth::Fails) => self.facts.assume_nonneg(left - right),
            (BinOp::Eq, Truth::Holds) | (BinOp::Ne, Truth::Fails) => {
                self.facts.assume_nonneg(&left - &right);
                self.facts.assume_nonneg(right - left);
            }
            // At the end of a range, the range is shorter by one.
            (BinOp::Ne, Truth::Holds) | (BinOp::Eq, Truth::Fails) => {
                let difference = left - right;
                let negated = -&difference;
                if self.facts.is_nonneg(&difference) {
                    self.facts.assume_nonneg(difference - one);
                } else if self.facts.is_nonneg(&negated) {
                    self.facts.assume_nonneg(negated - one);
                }
            }
            _ => {}
        }
    }
}
