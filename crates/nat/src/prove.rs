//! Proofs of `p >= 0` from ranges, and bounds that do not mention certain variables.
//!
//! A proof looks for a chain of lower bounds: an atom that occurs linearly with a factor of known sign is replaced by
//! the bound that makes `p` smaller, until only non-negative terms are left. The search gives up after a fixed number
//! of steps, so "not proved" never means "false".

use crate::poly::{Atom, Monomial, Poly, Ratio, UnfoldedOp};
use crate::ranges::Ranges;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps of one proof, over all its branches.
const FUEL: u32 = 300;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// `p` or less, where it takes away `c * (x / m)` and also has `x / k` for a part `k` of `m`: `m/k * (x / m) <= x / k`.
fn nested_quotients<V: Ord + Clone>(p: &Poly<V>) -> Option<Poly<V>> {
    let quotient = |monomial: &Monomial<V>| match monomial.factors() {
        [(Atom::Quotient(ratio), 1)] => Some((ratio.clone(), ratio.divisor.as_constant()?)),
        _ => None,
    };
    for (coarse, coefficient) in p.terms().iter().filter(|(_, coefficient)| *coefficient < 0) {
        let Some((ratio, m)) = quotient(coarse) else {
            continue;
        };
        for (fine, _) in p.terms() {
            let Some((other, k)) = quotient(fine) else {
                continue;
            };
            let divides = 0 < k && k < m && m % k == 0 && coefficient % (m / k) == 0;
            if divides && other.dividend == ratio.dividend {
                let less = Poly::term(fine.clone(), coefficient / (m / k));
                return p
                    .checked_sub(&Poly::term(coarse.clone(), *coefficient))?
                    .checked_add(&less);
            }
        }
    }
    None
}

impl<V: Ord + Clone> Ranges<V> {
    /// Whether `p >= 0` follows.
    pub fn is_nonneg(&self, p: &Poly<V>) -> bool {
        let mut fuel = FUEL;
        self.prove(p, &mut fuel)
    }

    /// Whether `p >= 0` is found to follow in at most that many steps, which are used up.
    pub fn is_nonneg_within(&self, p: &Poly<V>, fuel: &mut u32) -> bool {
        self.prove(p, fuel)
    }

    /// Whether `p > 0` follows.
    pub fn is_positive(&self, p: &Poly<V>) -> bool {
        self.is_nonneg(&(p - &Poly::one()))
    }

    /// Whether `p <= q` follows.
    pub fn is_at_most(&self, p: &Poly<V>, q: &Poly<V>) -> bool {
        self.is_nonneg(&(q - p))
    }

    /// Whether `p < q` follows.
    pub fn is_less(&self, p: &Poly<V>, q: &Poly<V>) -> bool {
        self.is_positive(&(q - p))
    }

    fn prove(&self, p: &Poly<V>, fuel: &mut u32) -> bool {
        if let Some(value) = p.as_constant() {
            return value >= 0;
        }
        let Some(left) = fuel.checked_sub(1) else {
            return false;
        };
        *fuel = left;
        let p = p.with_remainders();
        if self.obviously_nonneg(&p, fuel) {
            return true;
        }
        // A bound that gave too much away leads nowhere.
        if self.obviously_nonneg(&(-&p - Poly::one()), fuel) {
            return false;
        }
        for atom in self.elimination_order(&p) {
            if let Some(smaller) = self.eliminate(&p, &atom, Side::Lower, fuel)
                && self.prove(&smaller, fuel)
            {
                return true;
            }
        }
        if nested_quotients(&p).is_some_and(|smaller| self.prove(&smaller, fuel)) {
            return true;
        }
        let shares_a_variable = |fact: &&Poly<V>| fact.occurrences().any(|var| p.mentions(var));
        self.facts.iter().filter(shares_a_variable).any(|fact| {
            let smaller = &p - fact;
            // A fact helps where it takes terms away, or trades one for two.
            smaller.terms().len() <= p.terms().len() + 1 && self.prove(&smaller, fuel)
        })
    }

    /// Every term is a non-negative multiple of non-negative atoms, once variables count from their lower bounds.
    fn obviously_nonneg(&self, p: &Poly<V>, fuel: &mut u32) -> bool {
        let mut shifted = p.clone();
        let mut counted = BTreeSet::new();
        loop {
            let next = top_level_vars(&shifted)
                .find(|var| !counted.contains(*var))
                .cloned();
            let Some(var) = next else { break };
            if let Some(lower) = &self.range(&var).lower
                && !lower
                    .occurrences()
                    .any(|other| counted.contains(other) || *other == var)
            {
                let from_lower = Poly::var(var.clone()) + lower;
                shifted = replace_atom(&shifted, &Atom::Var(var.clone()), &from_lower);
            } else if shifted
                .terms()
                .iter()
                .any(|(m, _)| !m.power_of(&Atom::Var(var.clone())).is_multiple_of(2))
            {
                return false;
            }
            counted.insert(var);
        }
        shifted.terms().iter().all(|(monomial, coefficient)| {
            *coefficient >= 0
                && monomial
                    .factors()
                    .iter()
                    .all(|(atom, power)| power.is_multiple_of(2) || self.shifted_atom_is_nonneg(atom, fuel))
        })
    }

    /// Variables were shifted to count from 0; other atoms are as they were.
    fn shifted_atom_is_nonneg(&self, atom: &Atom<V>, fuel: &mut u32) -> bool {
        match atom {
            Atom::Var(_) => true,
            Atom::Quotient(ratio) => self.prove(&ratio.divisor, fuel) && self.prove(&ratio.dividend, fuel),
            Atom::Remainder(ratio) => self.prove(&ratio.divisor, fuel),
            Atom::Unfolded(operation) => match operation.op {
                UnfoldedOp::Sum | UnfoldedOp::Product => {
                    self.prove(&operation.left, fuel) && self.prove(&operation.right, fuel)
                }
            },
        }
    }

    /// The atoms of `p`: those whose bounds mention other variables first, as an index does the size it stays below.
    fn elimination_order(&self, p: &Poly<V>) -> Vec<Atom<V>> {
        let atoms: BTreeSet<&Atom<V>> = p
            .terms()
            .iter()
            .flat_map(|(monomial, _)| monomial.factors())
            .map(|(atom, _)| atom)
            .collect();
        let (mut first, last): (Vec<Atom<V>>, Vec<Atom<V>>) =
            atoms.into_iter().cloned().partition(|atom| match atom {
                Atom::Var(var) => {
                    let range = self.range(var);
                    [&range.lower, &range.upper]
                        .into_iter()
                        .flatten()
                        .any(|bound| bound.as_constant().is_none())
                }
                Atom::Quotient(_) | Atom::Remainder(_) | Atom::Unfolded(_) => true,
            });
        first.extend(last);
        first
    }

    /// A bound of `p` (or of a positive multiple of it, for quotients) in which the atom is replaced by a bound of its
    /// own.
    fn eliminate(&self, p: &Poly<V>, atom: &Atom<V>, side: Side, fuel: &mut u32) -> Option<Poly<V>> {
        let (factor, others) = p.linear_in(atom)?;
        if let Atom::Quotient(ratio) = atom {
            return self.scale_quotient(&factor, &others, ratio, fuel);
        }
        let wanted = if self.prove_cheaply(&factor, fuel) {
            side
        } else if self.prove_cheaply(&-&factor, fuel) {
            match side {
                Side::Lower => Side::Upper,
                Side::Upper => Side::Lower,
            }
        } else {
            return None;
        };
        let bound = self.atom_bound(atom, wanted, fuel)?;
        (factor.checked_mul(&bound)?).checked_add(&others)
    }

    /// For `p = a*floor(x/q) + b` with `q > 0` the sign of `p` is that of `q*p = a*(x - x % q) + q*b`. Where `a` is 1 or
    /// -1 it does not depend on the remainder: `floor(x/q) + b >= 0` exactly where `x + q*b >= 0`, and
    /// `b - floor(x/q) >= 0` exactly where `q*b - x >= 1 - q`.
    fn scale_quotient(
        &self,
        factor: &Poly<V>,
        others: &Poly<V>,
        ratio: &Arc<Ratio<V>>,
        fuel: &mut u32,
    ) -> Option<Poly<V>> {
        if !self.prove_cheaply(&ratio.divisor, fuel) {
            return None;
        }
        let others = ratio.divisor.checked_mul(others)?;
        match factor.as_constant() {
            Some(1) => others.checked_add(&ratio.dividend),
            Some(-1) => others
                .checked_sub(&ratio.dividend)?
                .checked_add(&ratio.divisor.checked_sub(&Poly::one())?),
            _ => {
                let remainder = Poly::atom(Atom::Remainder(ratio.clone()));
                let multiple = ratio.dividend.checked_sub(&remainder)?;
                factor.checked_mul(&multiple)?.checked_add(&others)
            }
        }
    }

    fn prove_cheaply(&self, p: &Poly<V>, fuel: &mut u32) -> bool {
        let mut small = (*fuel).min(FUEL / 8);
        let before = small;
        let proved = self.prove(p, &mut small);
        *fuel -= before - small;
        proved
    }

    fn atom_bound(&self, atom: &Atom<V>, side: Side, fuel: &mut u32) -> Option<Poly<V>> {
        match (atom, side) {
            (Atom::Var(var), Side::Lower) => self.range(var).lower.clone(),
            (Atom::Var(var), Side::Upper) => self.range(var).upper.clone(),
            (Atom::Remainder(ratio), side) => {
                if !self.prove_cheaply(&ratio.divisor, fuel) {
                    return None;
                }
                match side {
                    Side::Lower => Some(Poly::zero()),
                    Side::Upper => ratio.divisor.checked_sub(&Poly::one()),
                }
            }
            (Atom::Quotient(_) | Atom::Unfolded(_), _) => None,
        }
    }

    /// A lower bound of `p` that mentions no variable for which `gone` holds.
    pub fn lower_bound(&self, p: &Poly<V>, gone: &dyn Fn(&V) -> bool) -> Option<Poly<V>> {
        let mut fuel = FUEL;
        self.bound(p, Side::Lower, gone, &mut fuel)
    }

    /// An upper bound of `p` that mentions no variable for which `gone` holds.
    pub fn upper_bound(&self, p: &Poly<V>, gone: &dyn Fn(&V) -> bool) -> Option<Poly<V>> {
        let mut fuel = FUEL;
        self.bound(p, Side::Upper, gone, &mut fuel)
    }

    fn bound(&self, p: &Poly<V>, side: Side, gone: &dyn Fn(&V) -> bool, fuel: &mut u32) -> Option<Poly<V>> {
        let mentions_gone = |poly: &Poly<V>| poly.occurrences().any(gone);
        if !mentions_gone(p) {
            return Some(p.clone());
        }
        *fuel = fuel.checked_sub(1)?;
        let p = p.with_remainders();
        for atom in self.elimination_order(&p) {
            if !mentions_gone(&Poly::atom(atom.clone())) {
                continue;
            }
            let bounded = match &atom {
                Atom::Quotient(ratio) if !mentions_gone(&ratio.divisor) => {
                    self.bound_quotient(&p, &atom, ratio, side, gone, fuel)
                }
                Atom::Quotient(_) => None,
                Atom::Var(_) | Atom::Remainder(_) | Atom::Unfolded(_) => {
                    self.eliminate(&p, &atom, side, fuel)
                }
            };
            if let Some(result) = bounded.and_then(|next| self.bound(&next, side, gone, fuel)) {
                return Some(result);
            }
        }
        None
    }

    /// Floor division by a positive number is monotone in the dividend.
    fn bound_quotient(
        &self,
        p: &Poly<V>,
        atom: &Atom<V>,
        ratio: &Ratio<V>,
        side: Side,
        gone: &dyn Fn(&V) -> bool,
        fuel: &mut u32,
    ) -> Option<Poly<V>> {
        let (factor, others) = p.linear_in(atom)?;
        if !self.prove_cheaply(&ratio.divisor, fuel) {
            return None;
        }
        let wanted = match (self.prove_cheaply(&factor, fuel), side) {
            (true, side) => side,
            (false, _) if !self.prove_cheaply(&-&factor, fuel) => return None,
            (false, Side::Lower) => Side::Upper,
            (false, Side::Upper) => Side::Lower,
        };
        let dividend = self.bound(&ratio.dividend, wanted, gone, fuel)?;
        factor
            .checked_mul(&dividend.div(&ratio.divisor))?
            .checked_add(&others)
    }
}

/// The variables that are factors of terms, not those inside quotients.
fn top_level_vars<V: Ord + Clone>(p: &Poly<V>) -> impl Iterator<Item = &V> {
    p.terms()
        .iter()
        .flat_map(|(monomial, _)| monomial.factors())
        .filter_map(|(atom, _)| match atom {
            Atom::Var(var) => Some(var),
            Atom::Quotient(_) | Atom::Remainder(_) | Atom::Unfolded(_) => None,
        })
}

/// Replaces an atom where it is a factor, not inside other atoms.
fn replace_atom<V: Ord + Clone>(p: &Poly<V>, atom: &Atom<V>, replacement: &Poly<V>) -> Poly<V> {
    let mut sum = Poly::zero();
    for (monomial, coefficient) in p.terms() {
        let power = monomial.power_of(atom);
        let factors = monomial.factors().iter().filter(|(factor, _)| factor != atom);
        let mut product = Poly::constant(*coefficient);
        for (factor, times) in factors {
            for _ in 0..*times {
                product = product * Poly::term(Monomial::atom(factor.clone()), 1);
            }
        }
        for _ in 0..power {
            product = product * replacement;
        }
        sum = sum + product;
    }
    sum
}
