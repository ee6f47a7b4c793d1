//! Simplification of quotients with what is known about ranges: `(i*m + j) / m = i` where `0 <= j < m`.

use crate::poly::{Atom, Monomial, Poly, UnfoldedOp};
use crate::ranges::Ranges;

impl<V: Ord + Clone> Ranges<V> {
    /// The same value wherever the ranges hold, with fewer quotients. Remainders are quotients too, so
    /// `(i*m + j) % m` becomes `j`.
    pub fn simplify(&self, p: &Poly<V>) -> Poly<V> {
        let mut sum = Poly::zero();
        for (monomial, coefficient) in p.terms() {
            let mut product = Poly::constant(*coefficient);
            for (atom, power) in monomial.factors() {
                let simpler = self.simplify_atom(atom);
                for _ in 0..*power {
                    product = product * &simpler;
                }
            }
            sum = sum + product;
        }
        sum
    }

    fn simplify_atom(&self, atom: &Atom<V>) -> Poly<V> {
        match atom {
            Atom::Var(_) => Poly::atom(atom.clone()),
            Atom::Quotient(ratio) => {
                self.div(&self.simplify(&ratio.dividend), &self.simplify(&ratio.divisor))
            }
            Atom::Remainder(ratio) => {
                self.rem(&self.simplify(&ratio.dividend), &self.simplify(&ratio.divisor))
            }
            Atom::Unfolded(operation) => {
                let (left, right) = (self.simplify(&operation.left), self.simplify(&operation.right));
                match operation.op {
                    UnfoldedOp::Sum => left + right,
                    UnfoldedOp::Product => left * right,
                }
            }
        }
    }

    /// `floor(p / q)`, simplified; `p` and `q` already are.
    pub fn div(&self, p: &Poly<V>, q: &Poly<V>) -> Poly<V> {
        let quotient = p.div(q);
        let mut result = quotient.clone();
        for (monomial, _) in quotient.terms() {
            for (atom, _) in monomial.factors() {
                if let Atom::Quotient(ratio) = atom
                    && let Some((factor, others)) = result.linear_in(atom)
                    && let Some(simpler) = self.reduced_quotient(&ratio.dividend, &ratio.divisor)
                {
                    result = factor * simpler + others;
                }
            }
        }
        result
    }

    /// `p - q*floor(p / q)`, simplified; `p` and `q` already are.
    pub fn rem(&self, p: &Poly<V>, q: &Poly<V>) -> Poly<V> {
        p - &(q * &self.div(p, q))
    }

    /// Something simpler than `floor(rest / divisor)`, where long division has nothing more to do.
    fn reduced_quotient(&self, rest: &Poly<V>, divisor: &Poly<V>) -> Option<Poly<V>> {
        if let Some(value) = self.small_quotient(rest, divisor) {
            return Some(Poly::constant(value));
        }
        self.drop_low_digits(rest, divisor)
            .or_else(|| self.merge_nested(rest, divisor))
    }

    /// The value where it is -1, 0 or 1: the remainders of long division are seldom further away.
    fn small_quotient(&self, rest: &Poly<V>, divisor: &Poly<V>) -> Option<i64> {
        if self.is_nonneg(rest) {
            if self.is_less(rest, divisor) {
                return Some(0);
            }
            let beyond = rest - divisor;
            return (self.is_nonneg(&beyond) && self.is_less(&beyond, divisor) && self.is_nonneg(divisor))
                .then_some(1);
        }
        let wrapped = rest + divisor;
        (self.is_nonneg(&wrapped) && self.is_less(&wrapped, divisor)).then_some(-1)
    }

    /// `floor((k*x + y) / (k*d)) = floor(x / d)` where `0 <= y < k` and `d > 0`, for some factor `k` of the divisor.
    fn drop_low_digits(&self, rest: &Poly<V>, divisor: &Poly<V>) -> Option<Poly<V>> {
        let [(monomial, coefficient)] = divisor.terms() else {
            return None;
        };
        let mut units = vec![Monomial::one()];
        units.extend(
            monomial
                .factors()
                .iter()
                .map(|(atom, _)| Monomial::atom(atom.clone())),
        );
        for unit in units {
            for scale in [*coefficient, 1] {
                if unit.is_one() && scale == 1 {
                    continue;
                }
                let unit = Poly::term(unit.clone(), scale);
                let (high, low) = rest.long_division(&unit)?;
                let others = divisor.exact_div(&unit)?;
                let is_digit =
                    !low.is_zero() && !high.is_zero() && self.is_nonneg(&low) && self.is_less(&low, &unit);
                if is_digit && self.is_nonneg(&others) {
                    return Some(self.div(&high, &others));
                }
            }
        }
        None
    }

    /// `floor(floor(x / a) / b) = floor(x / (a*b))` where `b > 0`.
    fn merge_nested(&self, rest: &Poly<V>, divisor: &Poly<V>) -> Option<Poly<V>> {
        match rest.as_atom()? {
            Atom::Quotient(inner) if self.is_nonneg(divisor) => {
                Some(self.div(&inner.dividend, &inner.divisor.checked_mul(divisor)?))
            }
            _ => None,
        }
    }
}
