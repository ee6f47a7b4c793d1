//! Proofs of `p >= 0` from ranges, and bounds that do not mention certain variables.
//!
//! A proof looks for a chain of lower bounds: an atom that occurs linearly with a factor of known sign is replaced by
//! the bound that makes `p` smaller, until only non-negative terms are left. A goal that is negative at a point where all
//! that is known holds is given up at once, and so is one that was met before. The search gives up after a fixed number of
//! steps, so "not proved" never means "false".

use crate::models::Models;
use crate::poly::{Atom, Monomial, Poly, Ratio, UnfoldedOp};
use crate::ranges::Ranges;
use std::collections::{BTreeMap, BTreeSet};
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
        self.is_nonneg_within(p, &mut fuel)
    }

    /// Whether `p >= 0` is found to follow in at most that many steps, which are used up.
    pub fn is_nonneg_within(&self, p: &Poly<V>, fuel: &mut u32) -> bool {
        if let Some(value) = p.as_constant() {
            return value >= 0;
        }
        let mut search = Search::new(self, p, *fuel);
        let proved = search.prove(p);
        *fuel = search.fuel;
        proved
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

    /// A lower bound of `p` that mentions no variable for which `gone` holds.
    pub fn lower_bound(&self, p: &Poly<V>, gone: &dyn Fn(&V) -> bool) -> Option<Poly<V>> {
        Search::new(self, p, FUEL).bound(p, Side::Lower, gone)
    }

    /// An upper bound of `p` that mentions no variable for which `gone` holds.
    pub fn upper_bound(&self, p: &Poly<V>, gone: &dyn Fn(&V) -> bool) -> Option<Poly<V>> {
        Search::new(self, p, FUEL).bound(p, Side::Upper, gone)
    }
}

/// One question and how far its search has come.
struct Search<'r, V: Ord + Clone> {
    ranges: &'r Ranges<V>,
    question: &'r Poly<V>,
    /// Made when the first goal is not obvious.
    models: Option<Models<V>>,
    /// Steps left.
    fuel: u32,
    /// Goals met, and whether they are proved; those not done yet are not, so no proof goes in a circle.
    met: BTreeMap<Poly<V>, bool>,
}

impl<'r, V: Ord + Clone> Search<'r, V> {
    fn new(ranges: &'r Ranges<V>, question: &'r Poly<V>, fuel: u32) -> Self {
        Search {
            ranges,
            question,
            models: None,
            fuel,
            met: BTreeMap::new(),
        }
    }

    /// Whether `p` is negative somewhere.
    fn refute(&mut self, p: &Poly<V>) -> bool {
        let (ranges, question) = (self.ranges, self.question);
        self.models
            .get_or_insert_with(|| Models::of(ranges, question))
            .refute(p)
    }

    fn prove(&mut self, p: &Poly<V>) -> bool {
        if let Some(value) = p.as_constant() {
            return value >= 0;
        }
        let Some(left) = self.fuel.checked_sub(1) else {
            return false;
        };
        let p = p.with_remainders();
        if let Some(proved) = self.met.get(&p) {
            return *proved;
        }
        self.fuel = left;
        self.met.insert(p.clone(), false);
        // A bound that gave too much away leads nowhere.
        let proved = self.obviously_nonneg(&p) || (!self.refute(&p) && self.prove_smaller(&p));
        if proved {
            self.met.insert(p, true);
        }
        proved
    }

    /// Whether something that is at most `p` is not negative.
    fn prove_smaller(&mut self, p: &Poly<V>) -> bool {
        for atom in self.elimination_order(p) {
            if let Some(smaller) = self.eliminate(p, &atom, Side::Lower)
                && self.prove(&smaller)
            {
                return true;
            }
        }
        if nested_quotients(p).is_some_and(|smaller| self.prove(&smaller)) {
            return true;
        }
        let ranges = self.ranges;
        ranges.facts.iter().any(|fact| {
            multiples_within(fact, p).into_iter().any(|times| {
                let taken = fact.checked_mul(&Poly::constant(times));
                let smaller = taken.and_then(|taken| p.checked_sub(&taken));
                // A fact helps where it takes terms away, or trades one for two.
                smaller.is_some_and(|smaller| {
                    smaller.terms().len() <= p.terms().len() + 1 && self.prove(&smaller)
                })
            })
        })
    }

    /// Every term is a non-negative multiple of non-negative atoms, once variables count from their lower bounds.
    fn obviously_nonneg(&mut self, p: &Poly<V>) -> bool {
        let mut shifted = p.clone();
        let mut counted = BTreeSet::new();
        loop {
            let next = top_level_vars(&shifted)
                .find(|var| !counted.contains(*var))
                .cloned();
            let Some(var) = next else { break };
            if let Some(lower) = &self.ranges.range(&var).lower
                && !lower
                    .occurrences()
                    .any(|other| counted.contains(other) || *other == var)
            {
                if lower.is_zero() {
                    counted.insert(var);
                    continue;
                }
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
                    .all(|(atom, power)| power.is_multiple_of(2) || self.shifted_atom_is_nonneg(atom))
        })
    }

    /// Variables were shifted to count from 0; other atoms are as they were.
    fn shifted_atom_is_nonneg(&mut self, atom: &Atom<V>) -> bool {
        match atom {
            Atom::Var(_) => true,
            Atom::Quotient(ratio) => self.prove(&ratio.divisor) && self.prove(&ratio.dividend),
            Atom::Remainder(ratio) => self.prove(&ratio.divisor),
            Atom::Unfolded(operation) => match operation.op {
                UnfoldedOp::Sum | UnfoldedOp::Product => {
                    self.prove(&operation.left) && self.prove(&operation.right)
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
                    let range = self.ranges.range(var);
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
    fn eliminate(&mut self, p: &Poly<V>, atom: &Atom<V>, side: Side) -> Option<Poly<V>> {
        let (factor, others) = p.linear_in(atom)?;
        if let Atom::Quotient(ratio) = atom {
            return self.scale_quotient(&factor, &others, ratio);
        }
        let wanted = if self.prove_cheaply(&factor) {
            side
        } else if self.prove_cheaply(&-&factor) {
            match side {
                Side::Lower => Side::Upper,
                Side::Upper => Side::Lower,
            }
        } else {
            return None;
        };
        let bound = self.atom_bound(atom, wanted)?;
        (factor.checked_mul(&bound)?).checked_add(&others)
    }

    /// For `p = a*floor(x/q) + b` with `q > 0` the sign of `p` is that of `q*p = a*(x - x % q) + q*b`. Where `a` is 1 or
    /// -1 it does not depend on the remainder: `floor(x/q) + b >= 0` exactly where `x + q*b >= 0`, and
    /// `b - floor(x/q) >= 0` exactly where `q*b - x >= 1 - q`.
    fn scale_quotient(
        &mut self,
        factor: &Poly<V>,
        others: &Poly<V>,
        ratio: &Arc<Ratio<V>>,
    ) -> Option<Poly<V>> {
        if !self.prove_cheaply(&ratio.divisor) {
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

    fn prove_cheaply(&mut self, p: &Poly<V>) -> bool {
        let small = self.fuel.min(FUEL / 8);
        let (all, met) = (self.fuel, std::mem::take(&mut self.met));
        self.fuel = small;
        let proved = self.prove(p);
        self.fuel = all - (small - self.fuel);
        self.met = met;
        proved
    }

    fn atom_bound(&mut self, atom: &Atom<V>, side: Side) -> Option<Poly<V>> {
        match (atom, side) {
            (Atom::Var(var), Side::Lower) => self.ranges.range(var).lower.clone(),
            (Atom::Var(var), Side::Upper) => self.ranges.range(var).upper.clone(),
            (Atom::Remainder(ratio), side) => {
                if !self.prove_cheaply(&ratio.divisor) {
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

    fn bound(&mut self, p: &Poly<V>, side: Side, gone: &dyn Fn(&V) -> bool) -> Option<Poly<V>> {
        let mentions_gone = |poly: &Poly<V>| poly.occurrences().any(gone);
        if !mentions_gone(p) {
            return Some(p.clone());
        }
        self.fuel = self.fuel.checked_sub(1)?;
        let p = p.with_remainders();
        for atom in self.elimination_order(&p) {
            if !mentions_gone(&Poly::atom(atom.clone())) {
                continue;
            }
            let bounded = match &atom {
                Atom::Quotient(ratio) if !mentions_gone(&ratio.divisor) => {
                    self.bound_quotient(&p, &atom, ratio, side, gone)
                }
                Atom::Quotient(_) => None,
                Atom::Var(_) | Atom::Remainder(_) | Atom::Unfolded(_) => self.eliminate(&p, &atom, side),
            };
            if let Some(result) = bounded.and_then(|next| self.bound(&next, side, gone)) {
                return Some(result);
            }
        }
        None
    }

    /// Floor division by a positive number is monotone in the dividend.
    fn bound_quotient(
        &mut self,
        p: &Poly<V>,
        atom: &Atom<V>,
        ratio: &Ratio<V>,
        side: Side,
        gone: &dyn Fn(&V) -> bool,
    ) -> Option<Poly<V>> {
        let (factor, others) = p.linear_in(atom)?;
        if !self.prove_cheaply(&ratio.divisor) {
            return None;
        }
        let wanted = match (self.prove_cheaply(&factor), side) {
            (true, side) => side,
            (false, _) if !self.prove_cheaply(&-&factor) => return None,
            (false, Side::Lower) => Side::Upper,
            (false, Side::Upper) => Side::Lower,
        };
        let dividend = self.bound(&ratio.dividend, wanted, gone)?;
        factor
            .checked_mul(&dividend.div(&ratio.divisor))?
            .checked_add(&others)
    }
}

/// How many times a fact can be taken away from `p` before the coefficient of some monomial passes 0: all that can be of
/// use, and no chain of single steps.
fn multiples_within<V: Ord + Clone>(fact: &Poly<V>, p: &Poly<V>) -> BTreeSet<i64> {
    let times = fact.terms().iter().filter_map(|(monomial, taken)| {
        let times = p.coefficient_of(monomial).checked_div(*taken)?;
        (!monomial.is_one() && times > 0).then_some(times)
    });
    times.collect()
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
    let (with, without): (Vec<_>, Vec<_>) = p
        .terms()
        .iter()
        .cloned()
        .partition(|(monomial, _)| monomial.power_of(atom) > 0);
    let mut sum = Poly::from_sorted_terms(without);
    for (monomial, coefficient) in with {
        let mut product = Poly::term(monomial.without(atom), coefficient);
        for _ in 0..monomial.power_of(atom) {
            product = product * replacement;
        }
        sum = sum + product;
    }
    sum
}
