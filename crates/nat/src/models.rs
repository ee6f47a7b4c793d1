//! Values of variables for which everything known holds. What is negative at one of them needs no proof attempt: most
//! questions that have no proof are answered here.

use crate::poly::Poly;
use crate::ranges::Ranges;
use std::collections::BTreeMap;

/// Points kept.
const MOST_POINTS: usize = 6;
/// Points tried.
const TRIES: u64 = 14;
/// More variables than this are not tried.
const MOST_VARS: usize = 48;
/// How far above its lower bound a variable without an upper one is put.
const STEPS: [i64; 8] = [0, 1, 2, 3, 7, 16, 100, 4099];

pub(crate) struct Models<V: Ord + Clone> {
    points: Vec<BTreeMap<V, i64>>,
}

impl<V: Ord + Clone> Models<V> {
    /// Some points for the variables of `p` and of all that is known about them.
    pub(crate) fn of(ranges: &Ranges<V>, p: &Poly<V>) -> Models<V> {
        let mut models = Models { points: Vec::new() };
        let Some(order) = Order::of(ranges, p) else {
            return models;
        };
        for attempt in 0..TRIES {
            if let Some(point) = order.point(ranges, attempt)
                && !models.points.contains(&point)
            {
                models.points.push(point);
            }
            if models.points.len() == MOST_POINTS {
                break;
            }
        }
        models
    }

    /// Whether `p` is negative at one of the points.
    pub(crate) fn refute(&self, p: &Poly<V>) -> bool {
        self.points.iter().any(|point| {
            let value = p.eval_wide(&|var: &V| point.get(var).copied());
            value.is_some_and(|value| value < 0)
        })
    }
}

/// Variables, each after those in its bounds, and the facts that mention some of them.
struct Order<'r, V: Ord + Clone> {
    vars: Vec<&'r V>,
    facts: Vec<&'r Poly<V>>,
}

impl<'r, V: Ord + Clone> Order<'r, V> {
    /// None where there are too many, or bounds go in a circle.
    fn of(ranges: &'r Ranges<V>, p: &'r Poly<V>) -> Option<Order<'r, V>> {
        let mut order = Order {
            vars: Vec::new(),
            facts: Vec::new(),
        };
        let mut state = BTreeMap::new();
        for var in p.occurrences() {
            order.visit(ranges, var, &mut state)?;
        }
        let mut open: Vec<&Poly<V>> = ranges.facts.iter().collect();
        loop {
            let (now, later): (Vec<_>, Vec<_>) = open
                .into_iter()
                .partition(|fact| fact.occurrences().any(|var| state.contains_key(var)));
            if now.is_empty() {
                return Some(order);
            }
            for fact in now {
                for var in fact.occurrences() {
                    order.visit(ranges, var, &mut state)?;
                }
                order.facts.push(fact);
            }
            open = later;
        }
    }

    fn visit(&mut self, ranges: &'r Ranges<V>, var: &'r V, state: &mut BTreeMap<&'r V, Visit>) -> Option<()> {
        match state.get(var) {
            Some(Visit::Done) => return Some(()),
            Some(Visit::Started) => return None,
            None => {}
        }
        if state.len() >= MOST_VARS {
            return None;
        }
        state.insert(var, Visit::Started);
        let range = ranges.range(var);
        for bound in [&range.lower, &range.upper].into_iter().flatten() {
            for other in bound.occurrences() {
                self.visit(ranges, other, state)?;
            }
        }
        state.insert(var, Visit::Done);
        self.vars.push(var);
        Some(())
    }

    /// A point where everything holds; the first attempt puts all variables at their lowest, the second at their
    /// highest, the others mix.
    fn point(&self, ranges: &Ranges<V>, attempt: u64) -> Option<BTreeMap<V, i64>> {
        let mut point: BTreeMap<V, i64> = BTreeMap::new();
        let mut dice = attempt;
        for var in &self.vars {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let choice = match attempt {
                0 => Choice::Lowest,
                1 => Choice::Highest,
                _ => Choice::Mixed(dice >> 40),
            };
            let range = ranges.range(var);
            let bound = |bound: &Option<Poly<V>>| match bound {
                Some(bound) => bound.eval(&|other: &V| point.get(other).copied()).map(Some),
                None => Some(None),
            };
            let value = choice.between(bound(&range.lower)?, bound(&range.upper)?)?;
            point.insert((*var).clone(), value);
        }
        let holds = |fact: &&Poly<V>| {
            let value = fact.eval_wide(&|var: &V| point.get(var).copied());
            value.is_some_and(|value| value >= 0)
        };
        self.facts.iter().all(holds).then_some(point)
    }
}

enum Visit {
    Started,
    Done,
}

enum Choice {
    Lowest,
    Highest,
    Mixed(u64),
}

impl Choice {
    /// None where there is nothing between.
    fn between(&self, lower: Option<i64>, upper: Option<i64>) -> Option<i64> {
        let far = STEPS.len() - 1;
        let step = match self {
            Choice::Lowest => 0,
            Choice::Highest => far,
            Choice::Mixed(number) => *number as usize % STEPS.len(),
        };
        let distance = STEPS.get(step).copied()?;
        match (lower, upper) {
            (Some(lower), Some(upper)) if lower > upper => None,
            (Some(lower), Some(upper)) => Some(match self {
                Choice::Lowest => lower,
                Choice::Highest => upper,
                Choice::Mixed(number) if number % 3 == 0 => upper,
                Choice::Mixed(_) => lower.saturating_add(distance).min(upper),
            }),
            (Some(lower), None) => lower.checked_add(distance),
            (None, Some(upper)) => upper.checked_sub(distance),
            (None, None) => Some(match self {
                Choice::Mixed(number) if number % 2 == 0 => distance,
                Choice::Lowest | Choice::Highest | Choice::Mixed(_) => -distance,
            }),
        }
    }
}
