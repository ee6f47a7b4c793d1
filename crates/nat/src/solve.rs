//! Solving `p = 0` for one variable.

use crate::poly::{Atom, Poly};

impl<V: Ord + Clone> Poly<V> {
    /// The polynomial `s` that makes `self` zero when put for `var`: where `var` stands with a factor that divides
    /// the rest, as in `n + 2 - k` (`n = k - 2`), `2*n - 6*k` (`n = 3*k`) or `n*m - k*m` (`n = k`). Where the factor is
    /// not constant it may be zero, and then there are other solutions too.
    pub fn solve_for(&self, var: &V) -> Option<Poly<V>> {
        let (factor, others) = self.isolate(var)?;
        others.checked_neg()?.exact_div(&factor)
    }

    /// For `n*m - k` the quotient `k / m`: a solution exactly where `m` divides `k`, which the caller has to see to.
    pub fn solve_for_quotient(&self, var: &V) -> Option<Poly<V>> {
        let (factor, others) = self.isolate(var)?;
        Some((-others).div(&factor))
    }

    /// `(a, b)` with `self = a*var + b` and `var` in neither.
    fn isolate(&self, var: &V) -> Option<(Poly<V>, Poly<V>)> {
        let (factor, others) = self.linear_in(&Atom::Var(var.clone()))?;
        (!factor.mentions(var) && !others.mentions(var)).then_some((factor, others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(name: &'static str) -> Poly<&'static str> {
        Poly::var(name)
    }

    #[test]
    fn alone_or_with_known_terms() {
        assert_eq!((v("n") - v("k")).solve_for(&"n"), Some(v("k")));
        assert_eq!((v("k") - v("n")).solve_for(&"n"), Some(v("k")));
        let p = v("n") + Poly::constant(2) - v("k");
        assert_eq!(p.solve_for(&"n"), Some(v("k") - Poly::constant(2)));
    }

    #[test]
    fn with_a_factor_that_divides() {
        let p = Poly::constant(2) * v("n") - Poly::constant(10);
        assert_eq!(p.solve_for(&"n"), Some(Poly::constant(5)));
        let p = v("n") * v("m") - v("k") * v("m");
        assert_eq!(p.solve_for(&"n"), Some(v("k")));
        let p = v("n") * v("m") + v("n") - v("k") * v("m") - v("k");
        assert_eq!(p.solve_for(&"n"), Some(v("k")));
    }

    #[test]
    fn with_a_factor_that_may_not_divide() {
        let p = v("n") * v("m") - v("k");
        assert_eq!(p.solve_for(&"n"), None);
        assert_eq!(p.solve_for_quotient(&"n"), Some(v("k").div(&v("m"))));
        let odd = Poly::constant(2) * v("n") - Poly::constant(5);
        assert_eq!(odd.solve_for(&"n"), None);
    }

    #[test]
    fn not_where_the_variable_is_nonlinear_or_inside_a_quotient() {
        assert_eq!((v("n") * v("n") - v("k")).solve_for(&"n"), None);
        let p = v("n") + v("n").div(&Poly::constant(2)) - v("k");
        assert_eq!(p.solve_for(&"n"), None);
        assert_eq!(v("k").solve_for(&"n"), None);
    }
}
