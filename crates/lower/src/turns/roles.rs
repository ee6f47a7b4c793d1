//! What a branch hands on as another state of the loop changes hands as well, where the old state is of no more use.
//!
//! ```text
//! if c {                                          if c {
//!   copy next_a[0] = b[0] for n                     swap next_a, b
//!   for i < n { next_b[i] = a[i] + 1 }        ~~>   for i < n { next_b[i] = a[i] + 1 }
//! } else { … }                                    } else { … }
//! swap a, next_a                                  swap a, next_a
//! swap b, next_b                                  swap b, next_b
//! ```
//!
//! At the start of an iteration the buffers that are written next hold nothing of use, and so they must at its end. What a copy would have left
//! in the old state is followed through the swaps to there: nobody may look at it, and it must end in such a buffer.

use crate::buffers::mentions;
use crate::looked::Looked;
use almach_base::Name;
use almach_imp::{Index, Stmt};
use std::collections::{BTreeSet, HashMap, HashSet};

/// States of loops, and what is written next for each of them, of buffers that are copied from one to another.
pub(super) struct Roles<'a> {
    states: HashSet<Name>,
    nexts: HashSet<Name>,
    sizes: &'a HashMap<Name, Option<Index>>,
}

impl<'a> Roles<'a> {
    pub(super) fn of(
        looked: &Looked,
        swapped: &HashSet<(Name, Name)>,
        copied: &BTreeSet<(Name, Name)>,
        sizes: &'a HashMap<Name, Option<Index>>,
    ) -> Option<Roles<'a>> {
        let mut partners: HashMap<&Name, Vec<&Name>> = HashMap::new();
        for (state, next) in swapped {
            partners.entry(state).or_default().push(next);
        }
        // Each is swapped with one other only.
        let partner = |name: &Name| match partners.get(name).map(Vec::as_slice) {
            Some([one]) => Some(*one),
            _ => None,
        };
        let mut pairs: BTreeSet<(&Name, &Name)> = BTreeSet::new();
        for (from, to) in copied {
            if let (Some(next), Some(state)) = (partner(from), partner(to))
                && from != state
            {
                pairs.extend([(from, next), (state, to)]);
            }
        }
        pairs.retain(|(state, next)| looked.is_only_written(next, state));
        let states: HashSet<Name> = pairs.iter().map(|(state, _)| (*state).clone()).collect();
        let nexts: HashSet<Name> = pairs.iter().map(|(_, next)| (*next).clone()).collect();
        (pairs.len() > 1 && states.is_disjoint(&nexts)).then_some(Roles { states, nexts, sizes })
    }

    pub(super) fn block(&self, stmts: &mut [Stmt]) {
        self.followed(stmts, &[]);
    }

    /// Statements with what comes behind them in the iteration, the nearest first.
    fn followed(&self, stmts: &mut [Stmt], behind: &[&[Stmt]]) {
        for at in 0..stmts.len() {
            let (before, later) = stmts.split_at_mut(at + 1);
            let Some(stmt) = before.last_mut() else {
                continue;
            };
            let later: &[Stmt] = later;
            let all = || {
                [later]
                    .into_iter()
                    .chain(behind.iter().copied())
                    .collect::<Vec<_>>()
            };
            if let Some((to, from)) = self.whole(stmt)
                && self.ends_unseen(from, &all())
            {
                *stmt = Stmt::Swap(to.clone(), from.clone());
                continue;
            }
            match stmt {
                Stmt::If { then, otherwise, .. } => {
                    let all = all();
                    self.followed(then, &all);
                    self.followed(otherwise, &all);
                }
                // Behind an iteration is the next one, or what follows the loop: both find states where they are.
                Stmt::For { body, .. } | Stmt::While { body, .. } => self.followed(body, &[]),
                _ => {}
            }
        }
    }

    /// To which buffer that is written next, and of which state, a statement copies all.
    fn whole<'s>(&self, stmt: &'s Stmt) -> Option<(&'s Name, &'s Name)> {
        let Stmt::Copy {
            to,
            to_index,
            from,
            from_index,
            count,
        } = stmt
        else {
            return None;
        };
        let size = |name: &Name| self.sizes.get(name).and_then(Option::as_ref);
        let is_whole = self.nexts.contains(to)
            && self.states.contains(from)
            && to_index.is_zero()
            && from_index.is_zero()
            && size(to) == Some(count)
            && size(from) == Some(count);
        is_whole.then_some((to, from))
    }

    /// Whether nobody looks at what is in a buffer from here to the end of the iteration, and it is in one that is written next there.
    fn ends_unseen(&self, buffer: &Name, behind: &[&[Stmt]]) -> bool {
        let mut holder = buffer;
        for stmt in behind.iter().flat_map(|stmts| stmts.iter()) {
            match stmt {
                Stmt::Swap(a, b) if a == holder => holder = b,
                Stmt::Swap(a, b) if b == holder => holder = a,
                _ if mentions(stmt, holder) => return false,
                _ => {}
            }
        }
        self.nexts.contains(holder)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    fn rewritten(branch: &str, after: &str) -> String {
        let mut program = almach_imp::parse(&format!(
            "proc main(n: i64, k: i64, xs: read i64, out: write i64) {{
               buffer a: i64 alloc a[n] copy a[0] = xs[0] for n buffer next_a: i64 alloc next_a[n]
               buffer b: i64 alloc b[n] copy b[0] = xs[0] for n buffer next_b: i64 alloc next_b[n]
               for i < k {{
                 if i < 3i64 {{ {branch} }} else {{ for j < n {{ next_a[j] = a[j] + 1i64 }} copy next_b[0] = b[0] for n }}
                 {after} swap a, next_a swap b, next_b
               }}
               copy out[0] = a[0] for n free next_a free a free b free next_b }}"
        ))
        .unwrap();
        program.procs.iter_mut().for_each(super::super::turns);
        almach_imp::check(program).unwrap().program().to_string()
    }

    #[test]
    fn a_state_that_becomes_another_one_changes_hands() {
        let text = rewritten(
            "copy next_a[0] = b[0] for n for l < n { next_b[l] = a[l] + 1i64 }",
            "",
        );
        assert!(
            text.contains("swap next_a, b") && !text.contains("copy next"),
            "{text}"
        );
        let text = rewritten("copy next_a[0] = b[0] for n copy next_b[0] = a[0] for n", "");
        assert!(
            text.contains("swap next_a, b") && text.contains("swap next_b, a"),
            "{text}"
        );
    }

    #[test]
    fn not_where_the_old_one_is_needed() {
        for (branch, after) in [
            (
                "copy next_a[0] = b[0] for n for l < n { next_b[l] = b[l] + 1i64 }",
                "",
            ),
            ("copy next_a[0] = b[0] for n copy next_b[0] = b[0] for n", ""),
            (
                "copy next_a[0] = b[0] for n for l < n { next_b[l] = a[l] + 1i64 }",
                "out[0] = b[0]",
            ),
            (
                "copy next_a[0] = b[0] for n - 1 for l < n { next_b[l] = a[l] + 1i64 }",
                "",
            ),
        ] {
            let text = rewritten(branch, after);
            assert!(text.contains("copy next_a[0] = b[0]"), "{text}");
        }
    }
}
