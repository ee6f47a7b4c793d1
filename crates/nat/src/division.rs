//! Floor division and remainder in normal form.

use crate::poly::{Atom, Monomial, Poly, Ratio, UnfoldedOp};
use std::sync::Arc;

/// Long division that takes more steps than this is left undone.
const MAX_STEPS: usize = 512;

impl<V: Ord + Clone> Poly<V> {
    /// `floor(self / divisor)`.
    ///
    /// What the divisor divides comes out in front: `p = q*a + b` gives `a + floor(b / q)`, where `b` is the unique
    /// remainder of long division, so equal quotients get equal forms. Then common factors of `b` and `q` go.
    pub fn div(&self, divisor: &Poly<V>) -> Poly<V> {
        self.product_over(divisor)
            .or_else(|| self.checked_div(divisor))
            .unwrap_or_else(|| quotient(self.clone(), divisor.clone()))
    }

    /// A product that is too large to be multiplied out, divided by what divides one of its factors.
    fn product_over(&self, divisor: &Poly<V>) -> Option<Poly<V>> {
        let [(monomial, 1)] = self.terms() else {
            return None;
        };
        let [(Atom::Unfolded(operation), 1)] = monomial.factors() else {
            return None;
        };
        let (left, right) = match operation.op {
            UnfoldedOp::Sum => return None,
            UnfoldedOp::Product => (&operation.left, &operation.right),
        };
        let one = |divided: &Poly<V>, other: &Poly<V>| Some(&divided.exact_div(divisor)? * other);
        one(left, right).or_else(|| one(right, left))
    }

    /// `self - divisor * floor(self / divisor)`.
    pub fn rem(&self, divisor: &Poly<V>) -> Poly<V> {
        self - &(divisor * &self.div(divisor))
    }

    /// The polynomial `a` with `self = divisor * a`, if there is one.
    pub fn exact_div(&self, divisor: &Poly<V>) -> Option<Poly<V>> {
        let (whole, rest) = self.long_division(divisor)?;
        rest.is_zero().then_some(whole)
    }

    fn checked_div(&self, divisor: &Poly<V>) -> Option<Poly<V>> {
        let leading = divisor.terms().first()?.1;
        if leading < 0 {
            return self.checked_neg()?.checked_div(&divisor.checked_neg()?);
        }
        let (whole, rest) = self.long_division(divisor)?;
        let rest = match divisor.as_constant() {
            Some(constant) => rest.div_by_constant(constant)?,
            None => rest.div_by_reduced(divisor)?,
        };
        whole.checked_add(&rest)
    }

    /// For `self` already reduced modulo the positive `divisor`: its coefficients are in `0..divisor`.
    fn div_by_constant(&self, divisor: i64) -> Option<Poly<V>> {
        if self.as_constant().is_some() {
            return Some(Poly::zero());
        }
        // floor((g*x + k) / (g*d)) = floor((x + floor(k/g)) / d) for positive g and d.
        let common = self
            .terms()
            .iter()
            .filter(|(monomial, _)| !monomial.is_one())
            .fold(divisor, |g, (_, c)| gcd(g, *c));
        let terms = self.terms().iter().map(|(m, c)| (m.clone(), c / common));
        let dividend = Poly::from_terms(terms)?;
        let divisor = divisor / common;
        if divisor == 1 {
            return Some(dividend);
        }
        if let Some((inner, offset)) = dividend.as_quotient_plus_constant() {
            // floor((floor(x/a) + k) / d) = floor((x + k*a) / (a*d)) for positive d.
            let shifted = inner
                .dividend
                .checked_add(&inner.divisor.checked_mul(&Poly::constant(offset))?)?;
            return shifted.checked_div(&inner.divisor.checked_mul(&Poly::constant(divisor))?);
        }
        Some(quotient(dividend, Poly::constant(divisor)))
    }

    /// For `self` already reduced modulo the `divisor`, which is not constant.
    fn div_by_reduced(&self, divisor: &Poly<V>) -> Option<Poly<V>> {
        if self.is_zero() {
            return Some(Poly::zero());
        }
        let (factor, content) = self.common_factor(divisor)?;
        let dividend = self.over_term(&factor, content)?;
        let divisor = divisor.over_term(&factor, content)?;
        match divisor.as_constant() {
            // The common factor was all there was to it; a constant divisor knows more simplifications.
            Some(_) => dividend.checked_div(&divisor),
            None => Some(quotient(dividend, divisor)),
        }
    }

    /// The greatest term that divides every term of both; `self` is not zero.
    fn common_factor(&self, other: &Poly<V>) -> Option<(Monomial<V>, i64)> {
        let mut terms = self.terms().iter().chain(other.terms());
        let (first, coefficient) = terms.next()?;
        Some(terms.fold(
            (first.clone(), coefficient.checked_abs()?),
            |(factor, content), (monomial, coefficient)| {
                (factor.common(monomial), gcd(content, *coefficient))
            },
        ))
    }

    fn over_term(&self, factor: &Monomial<V>, content: i64) -> Option<Poly<V>> {
        let terms = self
            .terms()
            .iter()
            .map(|(monomial, coefficient)| Some((monomial.over(factor)?, coefficient.checked_div(content)?)));
        Poly::from_terms(terms.collect::<Option<Vec<_>>>()?)
    }

    /// For `floor(x/d) + k` with a positive constant `d`: `x + k*d`, which is not negative exactly where this is not.
    pub(crate) fn nonneg_without_quotient(&self) -> Option<Poly<V>> {
        let (ratio, offset) = self.as_quotient_plus_constant()?;
        ratio.divisor.as_constant().filter(|divisor| *divisor > 0)?;
        let shift = ratio.divisor.checked_mul(&Poly::constant(offset))?;
        ratio.dividend.checked_add(&shift)
    }

    fn as_quotient_plus_constant(&self) -> Option<(&Ratio<V>, i64)> {
        let ((monomial, coefficient), rest) = self.terms().split_first()?;
        match (monomial.factors(), coefficient, rest) {
            ([(Atom::Quotient(ratio), 1)], 1, []) => Some((ratio, 0)),
            ([(Atom::Quotient(ratio), 1)], 1, [(last, offset)]) if last.is_one() => Some((ratio, *offset)),
            _ => None,
        }
    }

    /// `self = divisor * whole + rest`, where each coefficient in `rest` of a monomial that the leading monomial of
    /// the divisor divides is in `0..leading coefficient`. This makes `whole` and `rest` unique. The divisor's leading
    /// coefficient must be positive, or 0 is the only remainder looked for.
    pub fn long_division(&self, divisor: &Poly<V>) -> Option<(Poly<V>, Poly<V>)> {
        let (leading, coefficient) = divisor.terms().first()?;
        let mut whole = Vec::new();
        let mut rest = Vec::new();
        let mut left = self.clone();
        let mut steps = 0;
        if divisor.terms().len() == 1 {
            // Every term can be looked at by itself.
            for (monomial, c) in self.terms() {
                match monomial.over(leading) {
                    Some(over) => {
                        whole.push((over, c.checked_div_euclid(*coefficient)?));
                        rest.push((monomial.clone(), c.checked_rem_euclid(*coefficient)?));
                    }
                    None => rest.push((monomial.clone(), *c)),
                }
            }
            left = Poly::zero();
        }
        while let Some((monomial, c)) = left.terms().first().cloned() {
            steps += 1;
            if steps > MAX_STEPS {
                return None;
            }
            let times = c.checked_div_euclid(*coefficient)?;
            match monomial.over(leading) {
                Some(over) if times != 0 => {
                    let subtracted = divisor.checked_mul(&Poly::term(over.clone(), times))?;
                    left = left.checked_sub(&subtracted)?;
                    whole.push((over, times));
                    // A coefficient that is no multiple leaves a term that is now reduced.
                    if let Some((again, remains)) = left.terms().first().cloned()
                        && again == monomial
                    {
                        left = left.checked_sub(&Poly::term(again.clone(), remains))?;
                        rest.push((again, remains));
                    }
                }
                _ => {
                    left = left.checked_sub(&Poly::term(monomial.clone(), c))?;
                    rest.push((monomial, c));
                }
            }
        }
        Some((Poly::from_terms(whole)?, Poly::from_terms(rest)?))
    }

    /// The same value with remainders where they make it shorter: `n - 2*(n / 2)` becomes `n % 2`. The result is for
    /// printing and for ranges; it is not in normal form.
    pub fn with_remainders(&self) -> Poly<V> {
        let mut best = self.clone();
        for (monomial, _) in self.terms() {
            for (atom, _) in monomial.factors() {
                if let Atom::Quotient(ratio) = atom
                    && let Some(shorter) = best.with_remainder_of(atom, ratio)
                {
                    best = shorter;
                }
            }
        }
        best
    }

    fn with_remainder_of(&self, atom: &Atom<V>, ratio: &Arc<Ratio<V>>) -> Option<Poly<V>> {
        let (times, others) = self.linear_in(atom)?;
        // With times = -s*q - r: times * floor(x/q) = s * (x % q) - s*x - r * floor(x/q).
        let (scale, rest) = times.checked_neg()?.long_division(&ratio.divisor)?;
        let remainder = Poly::atom(Atom::Remainder(ratio.clone()));
        let result = others
            .checked_sub(&scale.checked_mul(&ratio.dividend)?)?
            .checked_add(&scale.checked_mul(&remainder)?)?
            .checked_sub(&rest.checked_mul(&Poly::atom(atom.clone()))?)?;
        (result.terms().len() < self.terms().len()).then_some(result)
    }

    /// `(a, b)` with `self = a*atom + b`, where the atom is no factor of any term of `a` or `b` (though it may occur
    /// inside other atoms). None where it occurs with a power, or not at all.
    pub fn linear_in(&self, atom: &Atom<V>) -> Option<(Poly<V>, Poly<V>)> {
        let single = Monomial::atom(atom.clone());
        let (mut times, mut others) = (Vec::new(), Vec::new());
        for (monomial, coefficient) in self.terms() {
            match monomial.power_of(atom) {
                0 => others.push((monomial.clone(), *coefficient)),
                1 => times.push((monomial.over(&single)?, *coefficient)),
                _ => return None,
            }
        }
        if times.is_empty() {
            return None;
        }
        Some((Poly::from_terms(times)?, Poly::from_terms(others)?))
    }
}

fn quotient<V: Ord + Clone>(dividend: Poly<V>, divisor: Poly<V>) -> Poly<V> {
    Poly::atom(Atom::Quotient(Arc::new(Ratio::new(dividend, divisor))))
}

/// Of numbers not both zero whose absolute values fit; the result is positive.
fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1).max(1)
}
