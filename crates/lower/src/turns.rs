//! What a branch hands on to the next iteration unchanged changes hands, and is not copied.
//!
//! ```text
//! while go {                                     while go {
//!   if done {                                      if done {
//!     for i < n { next[i] = xs[i] }                  for i < n { next[i] = xs[i] }
//!   } else {                                 ~~>   } else {
//!     copy next[0] = state[0] for n                  swap state, next
//!   }                                              }
//!   swap state, next                               swap state, next
//! }                                              }
//! ```
//!
//! Such are states of tail calls that a call leaves as they are, or gives on as another one (`turns/roles.rs`). Nobody reads the buffer that is written next, so it does not matter
//! what it held before, which is all that differs.
//!
//! Removes: copies. Introduces: swaps. Guarantees: the same results.

mod roles;

use crate::buffers::mentions;
use crate::in_place::allocated;
use crate::looked::Looked;
use almach_base::Name;
use almach_imp::{Index, Proc, Stmt};
use roles::Roles;
use std::collections::{BTreeSet, HashMap, HashSet};

pub(crate) fn turns(proc: &mut Proc) {
    let mut sizes = HashMap::new();
    allocated(&proc.body, &mut sizes);
    let mut found = Found::default();
    found.block(&proc.body);
    let Found { swapped, copied } = found;
    if copied.is_empty() || swapped.is_empty() {
        return;
    }
    let looked = Looked::at(&proc.body);
    let is_turn = |(state, next): &(Name, Name)| {
        let same = sizes
            .get(state)
            .is_some_and(|size| size.is_some() && Some(size) == sizes.get(next));
        same && swapped.contains(&(state.clone(), next.clone())) && looked.is_only_written(next, state)
    };
    // Before any of them takes another's place.
    let roles = Roles::of(&looked, &swapped, &copied, &sizes);
    let pairs: Vec<(Name, Name)> = copied.iter().filter(|pair| is_turn(pair)).cloned().collect();
    for (state, next) in pairs {
        if let Some(Some(size)) = sizes.get(&state) {
            let turn = Turn {
                state: &state,
                next: &next,
                size,
            };
            turn.block(&mut proc.body);
        }
    }
    if let Some(roles) = roles {
        roles.block(&mut proc.body);
    }
}

/// Pairs of buffers.
#[derive(Default)]
struct Found {
    /// Those that statements swap, both ways.
    swapped: HashSet<(Name, Name)>,
    /// Those that are copied from their first cells, from the first one to the second one.
    copied: BTreeSet<(Name, Name)>,
}

impl Found {
    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Swap(a, b) => {
                    self.swapped.insert((a.clone(), b.clone()));
                    self.swapped.insert((b.clone(), a.clone()));
                }
                Stmt::Copy {
                    to,
                    to_index,
                    from,
                    from_index,
                    ..
                } if to_index.is_zero() && from_index.is_zero() => {
                    self.copied.insert((from.clone(), to.clone()));
                }
                _ => {}
            }
            stmt.blocks().into_iter().for_each(|block| self.block(block));
        }
    }
}

struct Turn<'a> {
    state: &'a Name,
    next: &'a Name,
    /// Of both.
    size: &'a Index,
}

impl Turn<'_> {
    fn touches(&self, stmt: &Stmt) -> bool {
        mentions(stmt, self.state) || mentions(stmt, self.next)
    }

    fn is_swap(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Swap(a, b) if (a == self.state && b == self.next) || (b == self.state && a == self.next))
    }

    fn block(&self, stmts: &mut [Stmt]) {
        for at in 0..stmts.len() {
            if !matches!(stmts.get(at), Some(Stmt::If { .. })) {
                continue;
            }
            let later = stmts.get(at + 1..).unwrap_or(&[]);
            let then_swapped = later
                .iter()
                .find(|stmt| self.touches(stmt))
                .is_some_and(|stmt| self.is_swap(stmt));
            if then_swapped && let Some(Stmt::If { then, otherwise, .. }) = stmts.get_mut(at) {
                self.end(then);
                self.end(otherwise);
            }
        }
        for stmt in stmts.iter_mut() {
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
        }
    }

    /// The end of a branch, behind which the two are swapped.
    fn end(&self, stmts: &mut [Stmt]) {
        let Some(last) = stmts.iter_mut().rev().find(|stmt| self.touches(stmt)) else {
            return;
        };
        match last {
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } if to == self.next
                && from == self.state
                && to_index.is_zero()
                && from_index.is_zero()
                && count == self.size =>
            {
                *last = Stmt::Swap(self.state.clone(), self.next.clone());
            }
            Stmt::If { then, otherwise, .. } => {
                self.end(then);
                self.end(otherwise);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(branch: &str, after: &str) -> String {
        let mut program = almach_imp::parse(&format!(
            "proc main(n: i64, k: i64, xs: read i64, out: write i64) {{
               buffer state: i64 alloc state[n] copy state[0] = xs[0] for n buffer next: i64 alloc next[n]
               for i < k {{
                 if i < 3i64 {{ for j < n {{ next[j] = state[j] + 1i64 }} }} else {{ {branch} }}
                 {after} swap state, next
               }}
               copy out[0] = state[0] for n free next free state }}"
        ))
        .unwrap();
        program.procs.iter_mut().for_each(turns);
        almach_imp::check(program).unwrap().program().to_string()
    }

    #[test]
    fn a_state_that_stays_changes_hands() {
        let text = rewritten("copy next[0] = state[0] for n", "");
        assert!(
            text.matches("swap").count() == 2 && !text.contains("copy next"),
            "{text}"
        );
        let text = rewritten(
            "if i < 5i64 { copy next[0] = state[0] for n } else { next[0] = 1i64 }",
            "",
        );
        assert!(text.matches("swap").count() == 2, "{text}");
    }

    #[test]
    fn not_where_one_of_the_two_is_looked_at() {
        for (branch, after) in [
            ("copy next[0] = state[0] for n - 1", ""),
            ("copy next[0] = state[0] for n next[0] = 1i64", ""),
            ("copy next[0] = state[0] for n out[0] = state[0]", ""),
            ("copy next[0] = state[0] for n", "out[0] = state[0]"),
            (
                "copy next[0] = state[0] for n",
                "let seen: i64 = next[0] out[0] = seen",
            ),
        ] {
            let text = rewritten(branch, after);
            assert!(text.contains("copy next"), "{text}");
        }
    }
}
