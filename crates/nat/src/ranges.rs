//! What is known about the values of variables, and intervals that follow from it.

use crate::poly::{Atom, Monomial, Poly, UnfoldedOp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep bounds that mention other variables are followed.
const MAX_DEPTH: u32 = 16;

/// Inclusive bounds of a variable, over other variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range<V: Ord + Clone> {
    pub lower: Option<Poly<V>>,
    pub upper: Option<Poly<V>>,
}

/// Inclusive constant bounds; none where unbounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Interval {
    pub lower: Option<i64>,
    pub upper: Option<i64>,
}

/// Ranges of variables, and other facts. Every variable without a range of its own has the default one.
///
/// Proofs assume something more, of a copy: a copy shares what was known, and has its own what is set since. A walk that enters
/// and leaves scopes uses [`Ranges::mark`] and [`Ranges::rewind`], which copy nothing.
#[derive(Debug)]
pub struct Ranges<V: Ord + Clone> {
    shared: Arc<BTreeMap<V, Range<V>>>,
    /// Comes before what is shared; `None` hides it.
    own: BTreeMap<V, Option<Range<V>>>,
    default: Range<V>,
    /// Polynomials known not to be negative.
    pub(crate) facts: Vec<Poly<V>>,
    /// What was known before each change since the first mark.
    trail: Vec<(V, Option<Range<V>>)>,
    marks: usize,
}

/// What is known, without the way back.
impl<V: Ord + Clone> Clone for Ranges<V> {
    fn clone(&self) -> Ranges<V> {
        Ranges {
            shared: Arc::clone(&self.shared),
            own: self.own.clone(),
            default: self.default.clone(),
            facts: self.facts.clone(),
            trail: Vec::new(),
            marks: 0,
        }
    }
}

/// A moment of [`Ranges`] to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    facts: usize,
    trail: usize,
}

impl<V: Ord + Clone> Range<V> {
    /// `0 <= v`.
    pub fn natural() -> Range<V> {
        Range {
            lower: Some(Poly::zero()),
            upper: None,
        }
    }

    pub fn unknown() -> Range<V> {
        Range {
            lower: None,
            upper: None,
        }
    }

    /// `0 <= v < n`: the index of a loop or an array.
    pub fn below(n: &Poly<V>) -> Range<V> {
        Range {
            lower: Some(Poly::zero()),
            upper: Some(n - &Poly::one()),
        }
    }

    pub fn between(lower: Poly<V>, upper: Poly<V>) -> Range<V> {
        Range {
            lower: Some(lower),
            upper: Some(upper),
        }
    }
}

impl Interval {
    pub const UNBOUNDED: Interval = Interval {
        lower: None,
        upper: None,
    };

    pub fn point(value: i64) -> Interval {
        Interval {
            lower: Some(value),
            upper: Some(value),
        }
    }

    pub fn plus(self, other: Interval) -> Interval {
        let both = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        Interval {
            lower: both(self.lower, other.lower),
            upper: both(self.upper, other.upper),
        }
    }

    pub fn times(self, other: Interval) -> Interval {
        let corners = match (self.lower, self.upper, other.lower, other.upper) {
            (Some(a), Some(b), Some(c), Some(d)) => [(a, c), (a, d), (b, c), (b, d)],
            // A factor without an upper bound only leaves the lower bound of non-negative factors.
            (Some(a), _, Some(c), _) if a >= 0 && c >= 0 => {
                let upper = match (self.upper, other.upper) {
                    (Some(0), _) | (_, Some(0)) => Some(0),
                    _ => None,
                };
                return Interval {
                    lower: a.checked_mul(c),
                    upper,
                };
            }
            (Some(0), Some(0), _, _) | (_, _, Some(0), Some(0)) => return Interval::point(0),
            (Some(k), Some(same), _, _) if k == same => return other.scale(k),
            (_, _, Some(k), Some(same)) if k == same => return self.scale(k),
            _ => return Interval::UNBOUNDED,
        };
        let products: Option<Vec<i64>> = corners.into_iter().map(|(x, y)| x.checked_mul(y)).collect();
        match products {
            Some(products) => Interval {
                lower: products.iter().min().copied(),
                upper: products.iter().max().copied(),
            },
            None => Interval::UNBOUNDED,
        }
    }

    fn scale(self, factor: i64) -> Interval {
        let times = |bound: Option<i64>| bound?.checked_mul(factor);
        if factor >= 0 {
            Interval {
                lower: times(self.lower),
                upper: times(self.upper),
            }
        } else {
            Interval {
                lower: times(self.upper),
                upper: times(self.lower),
            }
        }
    }

    fn meet(self, other: Interval) -> Interval {
        let pick = |a: Option<i64>, b: Option<i64>, better: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(better(a, b)),
            (a, b) => a.or(b),
        };
        Interval {
            lower: pick(self.lower, other.lower, i64::max),
            upper: pick(self.upper, other.upper, i64::min),
        }
    }
}

impl<V: Ord + Clone> Ranges<V> {
    /// Nothing is known of variables without a range.
    pub fn unknown() -> Ranges<V> {
        Ranges {
            shared: Arc::new(BTreeMap::new()),
            own: BTreeMap::new(),
            default: Range::unknown(),
            facts: Vec::new(),
            trail: Vec::new(),
            marks: 0,
        }
    }

    /// Variables without a range are sizes: not negative.
    pub fn naturals() -> Ranges<V> {
        Ranges {
            default: Range::natural(),
            ..Ranges::unknown()
        }
    }

    /// Replaces what was known of the variable.
    pub fn set(&mut self, var: V, range: Range<V>) {
        if self.marks > 0 {
            let before = self.own_range(&var).cloned();
            self.trail.push((var.clone(), before));
        }
        self.put(var, Some(range));
    }

    fn put(&mut self, var: V, range: Option<Range<V>>) {
        match (Arc::get_mut(&mut self.shared), range) {
            (None, range) => {
                self.own.insert(var, range);
            }
            (Some(all), range) => {
                self.own.remove(&var);
                match range {
                    Some(range) => all.insert(var, range),
                    None => all.remove(&var),
                };
            }
        }
    }

    fn own_range(&self, var: &V) -> Option<&Range<V>> {
        match self.own.get(var) {
            Some(own) => own.as_ref(),
            None => self.shared.get(var),
        }
    }

    /// Remembers this moment. Every mark is gone back to, the last one first.
    pub fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark {
            facts: self.facts.len(),
            trail: self.trail.len(),
        }
    }

    /// Forgets what was learnt since.
    pub fn rewind(&mut self, mark: Mark) {
        self.marks = self.marks.saturating_sub(1);
        self.facts.truncate(mark.facts);
        while self.trail.len() > mark.trail {
            if let Some((var, before)) = self.trail.pop() {
                self.put(var, before);
            }
        }
    }

    pub fn with(mut self, var: V, range: Range<V>) -> Ranges<V> {
        self.set(var, range);
        self
    }

    /// Adds `p >= 0` to what is known.
    pub fn assume_nonneg(&mut self, p: Poly<V>) {
        let p = p.nonneg_without_quotient().unwrap_or(p);
        if !self.raise_lower_bound(&p) {
            self.facts.push(p);
        }
    }

    /// `v - c >= 0` raises the lower bound of the variable, where that was a smaller constant or none.
    fn raise_lower_bound(&mut self, p: &Poly<V>) -> bool {
        let Some(bound) = p.constant_term().checked_neg() else {
            return false;
        };
        let Some(var) = (p + &Poly::constant(bound)).as_var().cloned() else {
            return false;
        };
        let mut range = self.range(&var).clone();
        match range.lower.as_ref().map(Poly::as_constant) {
            Some(None) => false,
            Some(Some(known)) if known >= bound => true,
            Some(Some(_)) | None => {
                range.lower = Some(Poly::constant(bound));
                self.set(var, range);
                true
            }
        }
    }

    pub fn range(&self, var: &V) -> &Range<V> {
        self.own_range(var).unwrap_or(&self.default)
    }

    /// Constant bounds by interval arithmetic; bounds of variables that mention others are followed.
    pub fn interval(&self, p: &Poly<V>) -> Interval {
        self.interval_within(&p.with_remainders(), MAX_DEPTH)
    }

    fn interval_within(&self, p: &Poly<V>, depth: u32) -> Interval {
        let Some(depth) = depth.checked_sub(1) else {
            return match p.as_constant() {
                Some(value) => Interval::point(value),
                None => Interval::UNBOUNDED,
            };
        };
        p.terms()
            .iter()
            .fold(Interval::point(0), |sum, (monomial, coefficient)| {
                sum.plus(
                    self.monomial_interval(monomial, depth)
                        .times(Interval::point(*coefficient)),
                )
            })
    }

    fn monomial_interval(&self, monomial: &Monomial<V>, depth: u32) -> Interval {
        let mut product = Interval::point(1);
        for (atom, power) in monomial.factors() {
            let factor = self.atom_interval(atom, depth);
            let mut raised = Interval::point(1);
            for _ in 0..(*power).min(64) {
                raised = raised.times(factor);
            }
            if *power > 64 {
                raised = Interval::UNBOUNDED;
            }
            if power.is_multiple_of(2) {
                let square = Interval {
                    lower: Some(0),
                    upper: None,
                };
                raised = raised.meet(square);
            }
            product = product.times(raised);
        }
        product
    }

    fn atom_interval(&self, atom: &Atom<V>, depth: u32) -> Interval {
        match atom {
            Atom::Var(var) => {
                let range = self.range(var);
                let bound = |bound: &Option<Poly<V>>| Some(self.interval_within(bound.as_ref()?, depth));
                Interval {
                    lower: bound(&range.lower).and_then(|i| i.lower),
                    upper: bound(&range.upper).and_then(|i| i.upper),
                }
            }
            Atom::Quotient(ratio) => {
                let dividend = self.interval_within(&ratio.dividend, depth);
                let divisor = self.interval_within(&ratio.divisor, depth);
                quotient_interval(dividend, divisor)
            }
            Atom::Remainder(ratio) => {
                let divisor = self.interval_within(&ratio.divisor, depth);
                match divisor.lower {
                    // The divisor is not zero where there is a remainder.
                    Some(lower) if lower >= 0 => Interval {
                        lower: Some(0),
                        upper: divisor.upper.and_then(|upper| upper.checked_sub(1)),
                    },
                    _ => Interval::UNBOUNDED,
                }
            }
            Atom::Unfolded(operation) => {
                let left = self.interval_within(&operation.left, depth);
                let right = self.interval_within(&operation.right, depth);
                match operation.op {
                    UnfoldedOp::Sum => left.plus(right),
                    UnfoldedOp::Product => left.times(right),
                }
            }
        }
    }
}

/// Floor division by a divisor that is not zero.
fn quotient_interval(dividend: Interval, divisor: Interval) -> Interval {
    let least = match divisor.lower {
        Some(lower) if lower >= 0 => lower.max(1),
        _ => return Interval::UNBOUNDED,
    };
    // Towards infinity the quotient goes to 0 from above, or to -1 from below.
    let greatest_of = |bound: i64| match divisor.upper {
        Some(greatest) => bound.div_euclid(greatest.max(1)),
        None => {
            if bound < 0 {
                -1
            } else {
                0
            }
        }
    };
    Interval {
        lower: dividend.lower.map(|bound| {
            if bound < 0 {
                bound.div_euclid(least)
            } else {
                greatest_of(bound)
            }
        }),
        upper: dividend.upper.map(|bound| {
            if bound < 0 {
                greatest_of(bound)
            } else {
                bound.div_euclid(least)
            }
        }),
    }
}
