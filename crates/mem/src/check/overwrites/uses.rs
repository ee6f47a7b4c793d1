//! Uses of arrays, found by when they matter: from the moment that an array is there to the one at which it is used.

use crate::index::Moment;
use almach_core::Var;

pub(super) struct Found {
    /// When the array was there.
    pub(super) bound: Moment,
    pub(super) at: Moment,
    pub(super) var: Var,
}

/// In the order of `bound`, with the latest `at` of every range of a tree over them: node `i` has the children `2i` and `2i + 1`, and
/// the uses themselves are the leaves. So all that overlap with an interval are found without a look at the others, and a
/// check of all writes of a long function stays near-linear.
pub(super) struct Uses {
    found: Vec<Found>,
    latest: Vec<Moment>,
    leaves: usize,
}

impl Uses {
    pub(super) fn new(mut found: Vec<Found>) -> Uses {
        found.sort_by(|a, b| (a.bound, a.at, &a.var).cmp(&(b.bound, b.at, &b.var)));
        let leaves = found.len().next_power_of_two();
        let mut latest = vec![0; leaves];
        latest.extend(found.iter().map(|found| found.at));
        latest.resize(2 * leaves, 0);
        for node in (1..leaves).rev() {
            let children = latest.get(2 * node..2 * node + 2);
            let most = children.and_then(|both| both.iter().max()).copied();
            if let (Some(slot), Some(most)) = (latest.get_mut(node), most) {
                *slot = most;
            }
        }
        Uses {
            found,
            latest,
            leaves,
        }
    }

    /// The uses after `start` of arrays that were there before `end`.
    pub(super) fn between(&self, start: Moment, end: Moment) -> Vec<&Found> {
        let there = self.found.partition_point(|found| found.bound < end);
        let mut out = Vec::new();
        self.collect(1, (0, self.leaves), (there, start), &mut out);
        out
    }

    fn collect<'a>(
        &'a self,
        node: usize,
        (first, behind): (usize, usize),
        (there, start): (usize, Moment),
        out: &mut Vec<&'a Found>,
    ) {
        let is_late = self.latest.get(node).is_some_and(|latest| *latest > start);
        if first >= there || !is_late {
            return;
        }
        if behind - first == 1 {
            out.extend(self.found.get(first));
            return;
        }
        let middle = first.midpoint(behind);
        self.collect(2 * node, (first, middle), (there, start), out);
        self.collect(2 * node + 1, (middle, behind), (there, start), out);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn those_between_are_all_that_overlap() {
        for count in 0..20_usize {
            let found = |i: usize| {
                let bound = i * 7 % 13;
                Found {
                    bound,
                    at: bound + 1 + i * 5 % 11,
                    var: Var {
                        id: i as u32,
                        name: "x".into(),
                    },
                }
            };
            let uses = Uses::new((0..count).map(found).collect());
            for start in 0..25 {
                for end in start..26 {
                    let mut expected: Vec<_> = (0..count)
                        .map(found)
                        .filter(|found| found.bound < end && found.at > start)
                        .map(|found| found.var)
                        .collect();
                    let mut all: Vec<_> = uses
                        .between(start, end)
                        .iter()
                        .map(|found| found.var.clone())
                        .collect();
                    expected.sort();
                    all.sort();
                    assert_eq!(all, expected, "{start} {end} of {count}");
                }
            }
        }
    }
}
