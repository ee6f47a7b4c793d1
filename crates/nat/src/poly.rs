//! The normal form and its ring operations.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

/// A product whose terms would hold more atoms than this, counting those inside atoms, stays a product.
const MAX_WEIGHT: usize = 4096;

/// A sum of monomials with coefficients. Terms are sorted, the largest degree first; no coefficient is zero.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Poly<V: Ord + Clone> {
    terms: Vec<(Monomial<V>, i64)>,
}

/// A product of atoms with positive powers, sorted by atom. The empty product is 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Monomial<V: Ord + Clone> {
    factors: Vec<(Atom<V>, u32)>,
}

/// What cannot be taken apart further.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Atom<V: Ord + Clone> {
    Var(V),
    /// `floor(dividend / divisor)`.
    Quotient(Arc<Ratio<V>>),
    /// `dividend - divisor * floor(dividend / divisor)`. Only [`Poly::with_remainders`] makes these.
    Remainder(Arc<Ratio<V>>),
    /// An operation that was too large to carry out.
    Unfolded(Arc<Unfolded<V>>),
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ratio<V: Ord + Clone> {
    pub dividend: Poly<V>,
    pub divisor: Poly<V>,
    /// See [`Poly::weight`]; remembered, since atoms may be nested.
    weight: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Unfolded<V: Ord + Clone> {
    pub op: UnfoldedOp,
    pub left: Poly<V>,
    pub right: Poly<V>,
    weight: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnfoldedOp {
    Sum,
    Product,
}

impl<V: Ord + Clone> Ratio<V> {
    pub(crate) fn new(dividend: Poly<V>, divisor: Poly<V>) -> Ratio<V> {
        let weight = dividend.weight().saturating_add(divisor.weight());
        Ratio {
            dividend,
            divisor,
            weight,
        }
    }
}

impl<V: Ord + Clone> Atom<V> {
    fn weight(&self) -> usize {
        match self {
            Atom::Var(_) => 1,
            Atom::Quotient(ratio) | Atom::Remainder(ratio) => ratio.weight,
            Atom::Unfolded(operation) => operation.weight,
        }
    }

    /// The place of the kind of atom in the order.
    fn rank(&self) -> u8 {
        match self {
            Atom::Var(_) => 0,
            Atom::Quotient(_) => 1,
            Atom::Remainder(_) => 2,
            Atom::Unfolded(_) => 3,
        }
    }
}

/// By kind, then by contents. Nested atoms are shared, and looking into the same one twice can take exponential time.
impl<V: Ord + Clone> Ord for Atom<V> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Atom::Var(a), Atom::Var(b)) => a.cmp(b),
            (Atom::Quotient(a), Atom::Quotient(b)) | (Atom::Remainder(a), Atom::Remainder(b)) => {
                if Arc::ptr_eq(a, b) {
                    Ordering::Equal
                } else {
                    a.cmp(b)
                }
            }
            (Atom::Unfolded(a), Atom::Unfolded(b)) => {
                if Arc::ptr_eq(a, b) {
                    Ordering::Equal
                } else {
                    a.cmp(b)
                }
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl<V: Ord + Clone> PartialOrd for Atom<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V: Ord + Clone> Monomial<V> {
    pub fn one() -> Monomial<V> {
        Monomial { factors: Vec::new() }
    }

    pub fn atom(atom: Atom<V>) -> Monomial<V> {
        Monomial {
            factors: vec![(atom, 1)],
        }
    }

    pub fn is_one(&self) -> bool {
        self.factors.is_empty()
    }

    /// The atoms with their powers, in order.
    pub fn factors(&self) -> &[(Atom<V>, u32)] {
        &self.factors
    }

    pub fn degree(&self) -> u64 {
        self.factors.iter().map(|(_, power)| u64::from(*power)).sum()
    }

    pub fn power_of(&self, atom: &Atom<V>) -> u32 {
        self.factors
            .binary_search_by(|(factor, _)| factor.cmp(atom))
            .ok()
            .and_then(|at| self.factors.get(at))
            .map_or(0, |(_, power)| *power)
    }

    /// None where a power would not fit.
    pub(crate) fn times(&self, other: &Monomial<V>) -> Option<Monomial<V>> {
        if other.is_one() {
            return Some(self.clone());
        }
        let mut factors = Vec::with_capacity(self.factors.len() + other.factors.len());
        let (mut left, mut right) = (self.factors.as_slice(), other.factors.as_slice());
        while let ([(a, power_a), left_rest @ ..], [(b, power_b), right_rest @ ..]) = (left, right) {
            match a.cmp(b) {
                Ordering::Less => {
                    factors.push((a.clone(), *power_a));
                    left = left_rest;
                }
                Ordering::Greater => {
                    factors.push((b.clone(), *power_b));
                    right = right_rest;
                }
                Ordering::Equal => {
                    factors.push((a.clone(), power_a.checked_add(*power_b)?));
                    (left, right) = (left_rest, right_rest);
                }
            }
        }
        factors.extend(left.iter().chain(right).cloned());
        Some(Monomial { factors })
    }

    /// The product of the other factors.
    pub(crate) fn without(&self, atom: &Atom<V>) -> Monomial<V> {
        let others = self.factors.iter().filter(|(factor, _)| factor != atom);
        Monomial {
            factors: others.cloned().collect(),
        }
    }

    /// `self / other` where `other` divides `self`.
    pub(crate) fn over(&self, other: &Monomial<V>) -> Option<Monomial<V>> {
        let mut factors = Vec::with_capacity(self.factors.len());
        let mut divided = 0;
        for (atom, power) in &self.factors {
            let taken = other.power_of(atom);
            divided += usize::from(taken > 0);
            match power.checked_sub(taken)? {
                0 => {}
                left => factors.push((atom.clone(), left)),
            }
        }
        (divided == other.factors.len()).then_some(Monomial { factors })
    }

    /// The greatest monomial that divides both.
    pub(crate) fn common(&self, other: &Monomial<V>) -> Monomial<V> {
        let factors = self.factors.iter().filter_map(|(atom, power)| {
            let shared = other.power_of(atom).min(*power);
            (shared > 0).then(|| (atom.clone(), shared))
        });
        Monomial {
            factors: factors.collect(),
        }
    }
}

/// Graded lexicographic order with the greater monomial first. It is compatible with multiplication, which division
/// with remainder relies on.
impl<V: Ord + Clone> Ord for Monomial<V> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.degree().cmp(&self.degree()).then_with(|| {
            for ((a, power_a), (b, power_b)) in self.factors.iter().zip(&other.factors) {
                match a.cmp(b).then(power_b.cmp(power_a)) {
                    Ordering::Equal => {}
                    different => return different,
                }
            }
            self.factors.len().cmp(&other.factors.len())
        })
    }
}

impl<V: Ord + Clone> PartialOrd for Monomial<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V: Ord + Clone> Poly<V> {
    pub fn zero() -> Poly<V> {
        Poly { terms: Vec::new() }
    }

    pub fn one() -> Poly<V> {
        Poly::constant(1)
    }

    pub fn constant(value: i64) -> Poly<V> {
        Poly::term(Monomial::one(), value)
    }

    pub fn var(var: V) -> Poly<V> {
        Poly::atom(Atom::Var(var))
    }

    pub fn atom(atom: Atom<V>) -> Poly<V> {
        Poly::term(Monomial::atom(atom), 1)
    }

    pub fn term(monomial: Monomial<V>, coefficient: i64) -> Poly<V> {
        Poly {
            terms: if coefficient == 0 {
                Vec::new()
            } else {
                vec![(monomial, coefficient)]
            },
        }
    }

    pub(crate) fn unfolded(op: UnfoldedOp, left: Poly<V>, right: Poly<V>) -> Poly<V> {
        let (left, right) = if left <= right {
            (left, right)
        } else {
            (right, left)
        };
        let weight = left.weight().saturating_add(right.weight());
        Poly::atom(Atom::Unfolded(Arc::new(Unfolded {
            op,
            left,
            right,
            weight,
        })))
    }

    /// How many terms and atoms there are, counting those inside atoms each time they occur.
    fn weight(&self) -> usize {
        let atoms = self.terms.iter().flat_map(|(monomial, _)| &monomial.factors);
        atoms.fold(self.terms.len(), |sum, (atom, _)| {
            sum.saturating_add(atom.weight())
        })
    }

    /// The monomials with their coefficients: the largest degree first, the constant last.
    pub fn terms(&self) -> &[(Monomial<V>, i64)] {
        &self.terms
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(monomial, value)] if monomial.is_one() => Some(*value),
            _ => None,
        }
    }

    /// The variable this is, if it is just one.
    pub fn as_var(&self) -> Option<&V> {
        match self.as_atom()? {
            Atom::Var(var) => Some(var),
            Atom::Quotient(_) | Atom::Remainder(_) | Atom::Unfolded(_) => None,
        }
    }

    pub fn as_atom(&self) -> Option<&Atom<V>> {
        match self.terms.as_slice() {
            [(monomial, 1)] => match monomial.factors.as_slice() {
                [(atom, 1)] => Some(atom),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn coefficient_of(&self, monomial: &Monomial<V>) -> i64 {
        let at = self.terms.binary_search_by(|(known, _)| known.cmp(monomial));
        at.ok()
            .and_then(|at| self.terms.get(at))
            .map_or(0, |(_, coefficient)| *coefficient)
    }

    /// The term of degree 0.
    pub fn constant_term(&self) -> i64 {
        match self.terms.last() {
            Some((monomial, value)) if monomial.is_one() => *value,
            _ => 0,
        }
    }

    /// A part of another polynomial's terms, in their order.
    pub(crate) fn from_sorted_terms(terms: Vec<(Monomial<V>, i64)>) -> Poly<V> {
        Poly { terms }
    }

    /// Sums of terms in any order, with repetitions. None where a coefficient does not fit.
    pub(crate) fn from_terms(terms: impl IntoIterator<Item = (Monomial<V>, i64)>) -> Option<Poly<V>> {
        let mut all: Vec<(Monomial<V>, i64)> = terms.into_iter().collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut sums: Vec<(Monomial<V>, i64)> = Vec::with_capacity(all.len());
        for (monomial, coefficient) in all {
            match sums.last_mut() {
                Some((last, sum)) if *last == monomial => *sum = sum.checked_add(coefficient)?,
                _ => sums.push((monomial, coefficient)),
            }
        }
        sums.retain(|(_, coefficient)| *coefficient != 0);
        Some(Poly { terms: sums })
    }

    /// None where a coefficient becomes too large.
    pub fn checked_add(&self, other: &Poly<V>) -> Option<Poly<V>> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Some(Poly { terms }),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            match order {
                Ordering::Less => terms.extend(left.next().cloned()),
                Ordering::Greater => terms.extend(right.next().cloned()),
                Ordering::Equal => {
                    if let (Some((monomial, a)), Some((_, b))) = (left.next(), right.next()) {
                        match a.checked_add(*b)? {
                            0 => {}
                            sum => terms.push((monomial.clone(), sum)),
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn checked_neg(&self) -> Option<Poly<V>> {
        let terms = self
            .terms
            .iter()
            .map(|(m, c)| Some((m.clone(), c.checked_neg()?)));
        Some(Poly {
            terms: terms.collect::<Option<_>>()?,
        })
    }

    /// None where a coefficient becomes too large.
    pub fn checked_sub(&self, other: &Poly<V>) -> Option<Poly<V>> {
        self.checked_add(&other.checked_neg()?)
    }

    /// None where a coefficient becomes too large.
    pub fn checked_mul(&self, other: &Poly<V>) -> Option<Poly<V>> {
        let weight = self
            .weight()
            .saturating_mul(other.terms.len())
            .saturating_add(other.weight().saturating_mul(self.terms.len()));
        let scales = self.as_constant().is_some() || other.as_constant().is_some();
        if weight > MAX_WEIGHT && !scales {
            return None;
        }
        let mut products = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (a, coefficient_a) in &self.terms {
            for (b, coefficient_b) in &other.terms {
                products.push((a.times(b)?, coefficient_a.checked_mul(*coefficient_b)?));
            }
        }
        Poly::from_terms(products)
    }

    /// The variables, also those inside quotients, each as often as it occurs.
    pub fn occurrences(&self) -> impl Iterator<Item = &V> {
        let mut vars = Vec::new();
        self.collect_vars(&mut vars);
        vars.into_iter()
    }

    /// The variables, each once, in order.
    pub fn free_vars(&self) -> impl Iterator<Item = &V> {
        let mut vars = Vec::new();
        self.collect_vars(&mut vars);
        vars.sort();
        vars.dedup();
        vars.into_iter()
    }

    /// Whether some part of it is a quotient or remainder.
    pub fn has_quotients(&self) -> bool {
        self.terms().iter().any(|(monomial, _)| {
            let is_var = |(atom, _): &(Atom<V>, u32)| matches!(atom, Atom::Var(_));
            !monomial.factors().iter().all(is_var)
        })
    }

    pub fn mentions(&self, var: &V) -> bool {
        self.occurrences().any(|occurs| occurs == var)
    }

    fn collect_vars<'a>(&'a self, into: &mut Vec<&'a V>) {
        for (monomial, _) in &self.terms {
            for (atom, _) in &monomial.factors {
                match atom {
                    Atom::Var(var) => into.push(var),
                    Atom::Quotient(ratio) | Atom::Remainder(ratio) => {
                        ratio.dividend.collect_vars(into);
                        ratio.divisor.collect_vars(into);
                    }
                    Atom::Unfolded(operation) => {
                        operation.left.collect_vars(into);
                        operation.right.collect_vars(into);
                    }
                }
            }
        }
    }

    /// Replaces variables; those without a replacement stay.
    pub fn substitute(&self, replacement: impl Fn(&V) -> Option<Poly<V>>) -> Poly<V> {
        self.map_vars(&|var: &V| replacement(var).unwrap_or_else(|| Poly::var(var.clone())))
    }

    /// Replaces every variable, by polynomials over variables that may be of another type.
    pub fn map_vars<W: Ord + Clone>(&self, replacement: &impl Fn(&V) -> Poly<W>) -> Poly<W> {
        let mut sum = Poly::zero();
        for (monomial, coefficient) in &self.terms {
            let mut product = Poly::constant(*coefficient);
            for (atom, power) in &monomial.factors {
                let image = match atom {
                    Atom::Var(var) => replacement(var),
                    Atom::Quotient(ratio) => {
                        let divisor = ratio.divisor.map_vars(replacement);
                        ratio.dividend.map_vars(replacement).div(&divisor)
                    }
                    Atom::Remainder(ratio) => {
                        let divisor = ratio.divisor.map_vars(replacement);
                        ratio.dividend.map_vars(replacement).rem(&divisor)
                    }
                    Atom::Unfolded(operation) => {
                        let left = operation.left.map_vars(replacement);
                        let right = operation.right.map_vars(replacement);
                        match operation.op {
                            UnfoldedOp::Sum => left + right,
                            UnfoldedOp::Product => left * right,
                        }
                    }
                };
                for _ in 0..*power {
                    product = product * &image;
                }
            }
            sum = sum + product;
        }
        sum
    }

    /// The value for given values of the variables. None where a variable has none, a divisor is zero, or the value
    /// does not fit `i64`.
    pub fn eval(&self, env: &impl Fn(&V) -> Option<i64>) -> Option<i64> {
        i64::try_from(self.eval_wide(env)?).ok()
    }

    /// The same, where what does not fit stays at the largest or the least number.
    pub fn eval_saturating(&self, env: &impl Fn(&V) -> Option<i64>) -> Option<i64> {
        let value = self.eval_wide(env)?;
        Some(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX }))
    }

    pub(crate) fn eval_wide(&self, env: &impl Fn(&V) -> Option<i64>) -> Option<i128> {
        let mut sum: i128 = 0;
        for (monomial, coefficient) in &self.terms {
            let mut product = i128::from(*coefficient);
            for (atom, power) in &monomial.factors {
                let value = match atom {
                    Atom::Var(var) => i128::from(env(var)?),
                    Atom::Quotient(ratio) => {
                        floor_div(ratio.dividend.eval_wide(env)?, ratio.divisor.eval_wide(env)?)?
                    }
                    Atom::Remainder(ratio) => {
                        let (p, q) = (ratio.dividend.eval_wide(env)?, ratio.divisor.eval_wide(env)?);
                        p.checked_sub(q.checked_mul(floor_div(p, q)?)?)?
                    }
                    Atom::Unfolded(operation) => {
                        let (left, right) = (operation.left.eval_wide(env)?, operation.right.eval_wide(env)?);
                        match operation.op {
                            UnfoldedOp::Sum => left.checked_add(right)?,
                            UnfoldedOp::Product => left.checked_mul(right)?,
                        }
                    }
                };
                product = product.checked_mul(value.checked_pow(*power)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

/// None for a zero divisor and on overflow.
fn floor_div(dividend: i128, divisor: i128) -> Option<i128> {
    let quotient = dividend.checked_div(divisor)?;
    let exact = dividend.checked_rem(divisor)? == 0;
    let rounds_up = !exact && (dividend < 0) != (divisor < 0);
    Some(if rounds_up { quotient - 1 } else { quotient })
}

impl<V: Ord + Clone> From<i64> for Poly<V> {
    fn from(value: i64) -> Self {
        Poly::constant(value)
    }
}

impl<V: Ord + Clone> Add for &Poly<V> {
    type Output = Poly<V>;
    fn add(self, other: &Poly<V>) -> Poly<V> {
        self.checked_add(other)
            .unwrap_or_else(|| Poly::unfolded(UnfoldedOp::Sum, self.clone(), other.clone()))
    }
}

impl<V: Ord + Clone> Mul for &Poly<V> {
    type Output = Poly<V>;
    fn mul(self, other: &Poly<V>) -> Poly<V> {
        self.checked_mul(other)
            .unwrap_or_else(|| Poly::unfolded(UnfoldedOp::Product, self.clone(), other.clone()))
    }
}

impl<V: Ord + Clone> Neg for &Poly<V> {
    type Output = Poly<V>;
    fn neg(self) -> Poly<V> {
        self.checked_neg()
            .unwrap_or_else(|| Poly::unfolded(UnfoldedOp::Product, Poly::constant(-1), self.clone()))
    }
}

impl<V: Ord + Clone> Sub for &Poly<V> {
    type Output = Poly<V>;
    fn sub(self, other: &Poly<V>) -> Poly<V> {
        self + &-other
    }
}

impl<V: Ord + Clone> Neg for Poly<V> {
    type Output = Poly<V>;
    fn neg(self) -> Poly<V> {
        -&self
    }
}

/// The operators also take owned operands.
macro_rules! owned_operators {
    ($($op:ident $method:ident),*) => {$(
        impl<V: Ord + Clone> $op for Poly<V> {
            type Output = Poly<V>;
            fn $method(self, other: Poly<V>) -> Poly<V> {
                (&self).$method(&other)
            }
        }
        impl<V: Ord + Clone> $op<&Poly<V>> for Poly<V> {
            type Output = Poly<V>;
            fn $method(self, other: &Poly<V>) -> Poly<V> {
                (&self).$method(other)
            }
        }
        impl<V: Ord + Clone> $op<Poly<V>> for &Poly<V> {
            type Output = Poly<V>;
            fn $method(self, other: Poly<V>) -> Poly<V> {
                self.$method(&other)
            }
        }
    )*};
}

owned_operators!(Add add, Sub sub, Mul mul);
