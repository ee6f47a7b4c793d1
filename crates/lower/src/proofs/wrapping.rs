//! Indices that wrap around: a remainder of what is surely below twice the divisor needs no division.
//!
//! ```text
//! let before: i64 = ((i - 1i64) + n) % n        =>   let before: i64 = (i - 1 < 0) ? i - 1 + n : i - 1
//! ```

use super::Prover;
use almach_base::Name;
use almach_imp::{Expr, Index};
use almach_nat::Poly;
use almach_value::{BinOp, Scalar, ScalarType};

/// How often the divisor is taken off at most before the last question is asked.
const MOST_TURNS: usize = 2;

impl Prover {
    /// A remainder by other means.
    pub(super) fn wrapped(&self, value: &Expr) -> Option<Expr> {
        let Expr::Binary(BinOp::Rem, dividend, divisor) = value else {
            return None;
        };
        let (mut dividend, divisor) = (self.number(dividend)?, self.number(divisor)?);
        let is_there = self.facts.is_nonneg(&(&divisor - &Poly::one())) && self.facts.is_nonneg(&dividend);
        if !is_there || dividend.has_quotients() || divisor.has_quotients() {
            return None;
        }
        let is_below = |index: &Index| self.facts.is_nonneg(&(&divisor - index - Poly::one()));
        for _ in 0..MOST_TURNS {
            let less = dividend.checked_sub(&divisor)?;
            if !self.facts.is_nonneg(&less) {
                break;
            }
            dividend = less;
        }
        if is_below(&dividend) {
            return Some(Expr::Index(dividend));
        }
        let beyond = dividend.checked_sub(&divisor)?;
        is_below(&beyond).then(|| {
            let is_inside = Expr::binary(BinOp::Lt, Expr::Index(beyond.clone()), Expr::int(0));
            Expr::Select(
                Box::new(is_inside),
                Box::new(Expr::Index(dividend)),
                Box::new(Expr::Index(beyond)),
            )
        })
    }

    /// A name for what a remainder has become.
    pub(super) fn define_remainder(&mut self, name: &Name, value: &mut Expr, remainder: &Expr) {
        if let Expr::Index(_) | Expr::Const(Scalar::I64(_)) = value {
            return self.define(name, ScalarType::I64, value);
        }
        let Expr::Binary(BinOp::Rem, dividend, divisor) = remainder else {
            return;
        };
        let (dividend, divisor) = (self.number(dividend), self.number(divisor));
        self.kept.insert(name.clone(), ScalarType::I64);
        self.learn_remainder(name, dividend, divisor);
    }
}
