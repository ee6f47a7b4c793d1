//! How many releases of each iteration have been seen.
//!
//! An iteration of a chain has seen all that come before it, mostly as many releases of each, so a clock is kept as runs of
//! iterations that have the same count: a clock per iteration would else hold as many counts as there are iterations.

use std::cmp::Ordering;

/// The iterations from `first` up to `end`, without it, and how many releases of each of them have been seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    first: i64,
    end: i64,
    releases: u32,
}

/// Runs in order, none empty, none without releases, and no two that could be one.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    runs: Vec<Run>,
}

impl Clock {
    pub(super) fn one(iteration: i64, releases: u32) -> Clock {
        let mut clock = Clock::default();
        clock.push(Run {
            first: iteration,
            end: iteration.saturating_add(1),
            releases,
        });
        clock
    }

    /// How many releases of an iteration have been seen.
    pub(super) fn of(&self, iteration: i64) -> u32 {
        let found = self.runs.binary_search_by(|run| {
            if run.end <= iteration {
                Ordering::Less
            } else if run.first > iteration {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        });
        let run = found.ok().and_then(|at| self.runs.get(at));
        run.map_or(0, |run| run.releases)
    }

    /// What either of the two has seen.
    pub(super) fn join(&mut self, other: &Clock) {
        let mut joined = Clock {
            runs: Vec::with_capacity(self.runs.len() + other.runs.len()),
        };
        let (mut left, mut right) = (self.runs.iter().copied(), other.runs.iter().copied());
        let (mut one, mut two) = (left.next(), right.next());
        while let (Some(a), Some(b)) = (one, two) {
            // Up to where the next run of either begins or ends, both are the same all along.
            let first = a.first.min(b.first);
            let end = [a.first, a.end, b.first, b.end]
                .into_iter()
                .filter(|edge| *edge > first)
                .min()
                .unwrap_or(a.end);
            let seen = |run: Run| if run.first == first { run.releases } else { 0 };
            joined.push(Run {
                first,
                end,
                releases: seen(a).max(seen(b)),
            });
            one = a.behind(end).or_else(|| left.next());
            two = b.behind(end).or_else(|| right.next());
        }
        one.into_iter().chain(left).for_each(|run| joined.push(run));
        two.into_iter().chain(right).for_each(|run| joined.push(run));
        *self = joined;
    }

    /// Adds a run behind all others.
    fn push(&mut self, run: Run) {
        match self.runs.last_mut() {
            _ if run.releases == 0 || run.first >= run.end => {}
            Some(last) if last.end == run.first && last.releases == run.releases => last.end = run.end,
            _ => self.runs.push(run),
        }
    }
}

impl Run {
    /// What is left of it from there on.
    fn behind(self, from: i64) -> Option<Run> {
        (from < self.end).then(|| Run {
            first: self.first.max(from),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn counts(clock: &Clock) -> BTreeMap<i64, u32> {
        (-2..40)
            .map(|at| (at, clock.of(at)))
            .filter(|(_, seen)| *seen > 0)
            .collect()
    }

    #[test]
    fn clocks_join_as_tables_of_counts_do() {
        let mut state = 7_u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let (mut left, mut right) = (Clock::default(), Clock::default());
            let (mut expected, mut others) = (BTreeMap::new(), BTreeMap::new());
            for (clock, table) in [(&mut left, &mut expected), (&mut right, &mut others)] {
                for _ in 0..random(12) {
                    let (at, seen) = (random(20).cast_signed(), u32::try_from(random(3)).unwrap_or(0));
                    clock.join(&Clock::one(at, seen));
                    if seen > 0 {
                        let known = table.entry(at).or_insert(0);
                        *known = seen.max(*known);
                    }
                }
            }
            left.join(&right);
            for (at, seen) in others {
                let known = expected.entry(at).or_insert(0);
                *known = seen.max(*known);
            }
            assert_eq!(counts(&left), expected);
        }
    }

    #[test]
    fn a_chain_is_one_run() {
        let mut clock = Clock::default();
        for iteration in 0..1000 {
            clock.join(&Clock::one(iteration, 1));
            clock.join(&Clock::one(iteration, 2));
        }
        assert_eq!(clock.runs.len(), 1);
        assert_eq!(clock.of(999), 2);
        assert_eq!(clock.of(1000), 0);
    }
}
