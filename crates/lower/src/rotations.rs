//! Arrays of a loop that change places are not copied: the one that is written next takes over the block whose contents nobody needs
//! any more.
//!
//! ```text
//! for d < k {                                  for d < k {
//!   copy next[0] = c[0] for n                    c[d] = v
//!   next[d] = v                                  swap c, a
//!   swap c, a                            ~~>     swap a, b
//!   swap a, b                                  }
//!   swap b, next
//! }
//! ```
//!
//! Of the two only one is looked at between the copy and the swaps, so one buffer does for both. What the copy would have left in the old one is
//! followed through the swaps to the end of the iteration: nobody may look at it, and it must be freed, or end in a buffer that every iteration
//! makes or fills anew. A buffer that stays where it was through all the swaps is left out of them, and then is of no use.
//!
//! The same where sizes change, and every iteration makes the block that it copies to:
//!
//! ```text
//! while go {                                   while go {
//!   alloc kept[m]  …                             alloc kept[m]  …
//!   size = m                                     size = m
//!   alloc next[size]                             swap next, kept
//!   copy next[0] = kept[0] for size       ~~>    free kept
//!   free kept                                    swap state, next
//!   swap state, next                           }
//! }
//! ```
//!
//! Removes: copies, buffers. Introduces: swaps. Guarantees: the same results.

use crate::buffers::{changes_hands, mentions, renamed};
use crate::in_place::allocated;
use crate::tidy::{Reads, tidy};
use almach_base::Name;
use almach_imp::{Expr, Index, Proc, Stmt, Touched};
use std::collections::{HashMap, HashSet};

/// Arrays of constant size with fewer cells are on the stack.
const SMALL: i64 = 4097;

pub(crate) fn rotations(proc: &mut Proc) {
    let mut found = Swapped::default();
    found.block(&proc.body);
    // Most programs have no such loop.
    if found.copied.is_empty() {
        return;
    }
    let mut sizes = HashMap::new();
    allocated(&proc.body, &mut sizes);
    let mut counts = HashMap::new();
    looks(&proc.body, &found.copied, &mut counts);
    let looked_at = counts.into_iter().map(|(buffer, count)| (buffer.clone(), count));
    let mut pass = Rotations {
        looked_at: looked_at.collect(),
        sizes,
        changed: false,
    };
    pass.block(&mut proc.body);
    if pass.changed {
        tidy(proc);
    }
}

/// Buffers that are swapped, and those that are copied to as well.
#[derive(Default)]
struct Swapped {
    swapped: HashSet<Name>,
    copied: HashSet<Name>,
}

impl Swapped {
    fn block(&mut self, stmts: &[Stmt]) {
        self.swaps(stmts);
        self.copies(stmts);
    }

    fn swaps(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if let Stmt::Swap(a, b) = stmt {
                self.swapped.extend([a.clone(), b.clone()]);
            }
            stmt.blocks().into_iter().for_each(|block| self.swaps(block));
        }
    }

    fn copies(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if let Stmt::Copy { to, .. } = stmt
                && self.swapped.contains(to)
            {
                self.copied.insert(to.clone());
            }
            stmt.blocks().into_iter().for_each(|block| self.copies(block));
        }
    }
}

/// How many statements of these, at any depth, do more with each of some buffers than make it and free it.
fn looks<'b>(stmts: &[Stmt], buffers: &'b HashSet<Name>, counts: &mut HashMap<&'b Name, usize>) {
    for stmt in stmts {
        let mut own = Reads::default();
        own.stmt(stmt);
        if let Stmt::Shrink { buffer: name, .. }
        | Stmt::Borrow { buffer: name, .. }
        | Stmt::Store { buffer: name, .. }
        | Stmt::Copy { to: name, .. } = stmt
        {
            own.insert(name);
        }
        for buffer in own.names.iter().filter_map(|name| buffers.get(name)) {
            *counts.entry(buffer).or_default() += 1;
        }
        let blocks = stmt.blocks().into_iter();
        blocks.for_each(|block| looks(block, buffers, counts));
    }
}

struct Rotations {
    /// How often buffers are looked at in the whole procedure.
    looked_at: HashMap<Name, usize>,
    sizes: HashMap<Name, Option<Index>>,
    changed: bool,
}

/// A copy in an iteration, of all of one buffer to all of another.
struct Turn {
    at: usize,
    /// Where the block that is copied to is made, where every iteration makes it.
    made: Option<usize>,
    old: Name,
    next: Name,
}

impl Rotations {
    fn block(&mut self, stmts: &mut [Stmt]) {
        for stmt in stmts {
            if let Stmt::For { body, .. } | Stmt::While { body, .. } = stmt {
                self.iteration(body);
                // The body of a `while` is under its test.
                for inner in body.iter_mut() {
                    if let Stmt::If { then, otherwise, .. } = inner
                        && otherwise.is_empty()
                    {
                        self.iteration(then);
                    }
                }
            }
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
        }
    }

    fn iteration(&mut self, body: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < body.len() {
            match self.turn(body, at) {
                Some(turn) => {
                    turned(body, &turn);
                    without_bystander(body, &turn.next);
                    // One statement less stands before the next one, where a block was made there.
                    at -= usize::from(turn.made.is_some());
                    self.changed = true;
                }
                None => at += 1,
            }
        }
    }

    /// The copy at a place of an iteration, where the two buffers can be one from there on.
    fn turn(&self, body: &[Stmt], at: usize) -> Option<Turn> {
        let Stmt::Copy {
            to: next,
            to_index,
            from: old,
            from_index,
            ..
        } = body.get(at)?
        else {
            return None;
        };
        if next == old
            || !to_index.is_zero()
            || !from_index.is_zero()
            || !self.is_looked_at_only_in(body, next)
        {
            return None;
        }
        let made = match body.iter().position(|stmt| mentions(stmt, next))? {
            first if first == at => None,
            first => Some(first),
        };
        let is_all = match made {
            None => self.is_whole(body.get(at)?, next) && self.is_whole(body.get(at)?, old),
            Some(made) => is_all_of_new(body, made, at),
        };
        let since = made.map_or(at, |made| made + 1);
        if !is_all || body.get(since..at)?.iter().any(|stmt| mentions(stmt, next)) {
            return None;
        }
        let end = end_of(body.get(at + 1..)?, old, next)?;
        let is_dead = match end {
            // Small arrays of constant size are on the stack, and would become blocks.
            End::Freed => !self.is_small(old),
            End::In(holder) => holder == next || self.is_filled_anew(body, holder, made),
        };
        is_dead.then(|| Turn {
            at,
            made,
            old: old.clone(),
            next: next.clone(),
        })
    }

    fn is_small(&self, buffer: &Name) -> bool {
        let size = self.sizes.get(buffer).and_then(Option::as_ref);
        size.and_then(Index::as_constant)
            .is_some_and(|cells| cells < SMALL)
    }

    /// Whether a statement copies all that there is of a buffer.
    fn is_whole(&self, stmt: &Stmt, buffer: &Name) -> bool {
        let Stmt::Copy { count, .. } = stmt else {
            return false;
        };
        self.sizes
            .get(buffer)
            .is_some_and(|size| size.as_ref() == Some(count))
    }

    fn is_looked_at_only_in(&self, body: &[Stmt], buffer: &Name) -> bool {
        let only = HashSet::from([buffer.clone()]);
        let mut here = HashMap::new();
        looks(body, &only, &mut here);
        self.looked_at
            .get(buffer)
            .is_some_and(|all| here.get(buffer) == Some(all))
    }

    /// Whether every iteration makes a buffer, or fills all of it, before it looks at it, and nobody does behind the loop. A block that
    /// was made in an iteration may have another size: then it has to be made.
    fn is_filled_anew(&self, body: &[Stmt], buffer: &Name, made: Option<usize>) -> bool {
        let first = body.iter().find(|stmt| mentions(stmt, buffer));
        let anew = match first {
            Some(Stmt::Alloc { buffer: made, .. }) => made == buffer,
            Some(
                copy @ Stmt::Copy {
                    to, from, to_index, ..
                },
            ) => {
                made.is_none()
                    && to == buffer
                    && from != buffer
                    && to_index.is_zero()
                    && self.is_whole(copy, buffer)
            }
            _ => false,
        };
        anew && self.is_looked_at_only_in(body, buffer)
    }
}

/// What becomes of what a buffer holds.
enum End<'a> {
    Freed,
    /// It is in this buffer at the end.
    In(&'a Name),
}

/// Where what a copy leaves in the old buffer ends; none where somebody looks at it, or at the other one once they are swapped.
fn end_of<'a>(after: &'a [Stmt], old: &'a Name, next: &'a Name) -> Option<End<'a>> {
    let mut holder = Some(old);
    let mut swapped = false;
    for stmt in after {
        match (stmt, holder) {
            (Stmt::Swap(a, b), _) => {
                swapped |= [a, b].contains(&next) || [a, b].contains(&old);
                holder = match holder {
                    Some(held) if a == held => Some(b),
                    Some(held) if b == held => Some(a),
                    other => other,
                };
            }
            (Stmt::Free(freed), Some(held)) if freed == held && freed != next => holder = None,
            (_, Some(held)) if mentions(stmt, held) => return None,
            // Until the swaps the one that is written next is filled; afterwards it is nobody's.
            _ if mentions(stmt, next) && (swapped || changes_hands(stmt, next)) => return None,
            // It is another one's by then.
            (_, None) if mentions(stmt, old) => return None,
            _ => {}
        }
    }
    Some(holder.map_or(End::Freed, End::In))
}

/// Whether a block that is made for it is copied to as a whole: between the two, names are bound at most.
fn is_all_of_new(body: &[Stmt], made: usize, copy: usize) -> bool {
    let (Some(Stmt::Alloc { size, .. }), Some(Stmt::Copy { count, .. }), Some(between)) =
        (body.get(made), body.get(copy), body.get(made + 1..copy))
    else {
        return false;
    };
    is_same_number(size, count, &between.iter().collect::<Vec<_>>())
}

/// Whether a number before some statements is the one that another stands for after them.
pub(crate) fn is_same_number(before: &Index, after: &Index, between: &[&Stmt]) -> bool {
    let mut values: HashMap<&Name, &Index> = HashMap::new();
    let mut names: HashMap<&Name, Index> = HashMap::new();
    for stmt in between {
        match stmt {
            Stmt::Let {
                name,
                value: Expr::Index(value),
                ..
            } => {
                values.insert(name, value);
            }
            Stmt::Let {
                name,
                value: Expr::Var(value),
                ..
            } => {
                names.insert(name, Index::var(value.clone()));
            }
            _ => {}
        }
    }
    let value = |name: &Name| values.get(name).copied().or_else(|| names.get(name)).cloned();
    let mut after = after.clone();
    // Each is bound by those before it.
    for _ in between {
        let next = after.substitute(|name| value(name));
        if next == after {
            break;
        }
        after = next;
    }
    let assigned = Touched::of(between.iter().copied()).assigned;
    *before == after && before.free_vars().all(|name| !assigned.contains(name))
}

/// Without the copy: what was to be filled is the old buffer, up to the first swap of one of them.
fn turned(body: &mut Vec<Stmt>, turn: &Turn) {
    body.remove(turn.at);
    let at = match turn.made {
        Some(made) => {
            body.remove(made);
            turn.at - 1
        }
        None => turn.at,
    };
    let concerns = |stmt: &Stmt| match stmt {
        Stmt::Swap(a, b) => [a, b]
            .iter()
            .any(|name| **name == turn.next || **name == turn.old),
        Stmt::Free(name) => *name == turn.old,
        _ => false,
    };
    let first = body.iter().skip(at).position(concerns);
    let first = first.map_or(body.len(), |first| at + first);
    for stmt in body.iter_mut().take(first).skip(at) {
        if mentions(stmt, &turn.next) {
            *stmt = renamed(stmt, &turn.next, &turn.old);
        }
    }
    body.insert(first, Stmt::Swap(turn.next.clone(), turn.old.clone()));
}

/// Swaps one after the other that leave a buffer where it was, without it.
fn without_bystander(body: &mut Vec<Stmt>, buffer: &Name) {
    let is_swap = |stmt: &Stmt| matches!(stmt, Stmt::Swap(..));
    let swaps_it = |stmt: &Stmt| is_swap(stmt) && mentions(stmt, buffer);
    let Some(start) = body.iter().position(swaps_it) else {
        return;
    };
    let run = body.iter().skip(start).take_while(|stmt| is_swap(stmt)).count();
    let end = start + run;
    let mut names: Vec<Name> = Vec::new();
    let mut holds: HashMap<Name, Name> = HashMap::new();
    for stmt in body.iter().take(end).skip(start) {
        let Stmt::Swap(a, b) = stmt else { continue };
        for name in [a, b] {
            if !holds.contains_key(name) {
                names.push(name.clone());
                holds.insert(name.clone(), name.clone());
            }
        }
        if let (Some(first), Some(second)) = (holds.get(a).cloned(), holds.get(b).cloned()) {
            holds.insert(a.clone(), second);
            holds.insert(b.clone(), first);
        }
    }
    let more = body.iter().skip(end).any(swaps_it);
    if holds.get(buffer) != Some(buffer) || more {
        return;
    }
    body.splice(start..end, cycles(&names, &holds));
}

/// The swaps after which each buffer holds what another one held.
fn cycles(names: &[Name], holds: &HashMap<Name, Name>) -> Vec<Stmt> {
    let mut swaps = Vec::new();
    let mut done: HashSet<&Name> = HashSet::new();
    for first in names {
        let mut to = first;
        while done.insert(to) {
            match holds.get(to) {
                Some(from) if from != first => {
                    swaps.push(Stmt::Swap(to.clone(), from.clone()));
                    to = from;
                }
                _ => break,
            }
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(body: &str, after: &str) -> String {
        let made = |name: &str| format!("buffer {name}: i64 alloc {name}[n] copy {name}[0] = xs[0] for n ");
        let text = format!(
            "proc main(n: i64, k: i64, xs: read i64, out: write i64) {{ {} {} {}
               buffer next: i64 alloc next[n]
               for i < k {{ {body} }}
               {after} copy out[0] = a[0] for n free next free c free b free a }}",
            made("a"),
            made("b"),
            made("c"),
        );
        let mut program = almach_imp::parse(&text).unwrap();
        program.procs.iter_mut().for_each(rotations);
        almach_imp::check(program).unwrap().program().to_string()
    }

    #[test]
    fn three_blocks_take_turns() {
        let text = rewritten(
            "let v: i64 = a[0] copy next[0] = c[0] for n next[0] = v swap c, a swap a, b swap b, next",
            "",
        );
        assert!(!text.contains("next") && text.contains("c[0] = v"), "{text}");
        assert!(
            text.contains("swap c, a\n    swap a, b\n") && text.matches("swap").count() == 2,
            "{text}"
        );
    }

    #[test]
    fn two_blocks_of_which_one_is_updated() {
        let text = rewritten(
            "copy next[0] = b[0] for n next[1] = 7i64 swap b, a swap a, next",
            "",
        );
        assert!(
            !text.contains("next") && text.matches("swap").count() == 1,
            "{text}"
        );
    }

    /// States whose sizes change, made anew in every iteration.
    fn sized(body: &str) -> String {
        let text = format!(
            "proc main(n: i64, k: i64, xs: read i64, out: out i64) {{
               buffer a: i64 alloc a[n] copy a[0] = xs[0] for n
               buffer b: i64 alloc b[n] copy b[0] = xs[0] for n
               buffer next: i64 buffer next_2: i64
               var a_size: i64 = {{n}} var b_size: i64 = {{n}} var size: i64 = 0i64 var size_2: i64 = 0i64
               for i < k {{ let m: i64 = a_size let l: i64 = b_size {body}
                 a_size = size b_size = size_2 swap a, next swap b, next_2 }}
               free next_2 free next free b out = a[0] free a }}"
        );
        let mut program = almach_imp::parse(&text).unwrap();
        program.procs.iter_mut().for_each(rotations);
        almach_imp::check(program).unwrap().program().to_string()
    }

    #[test]
    fn states_whose_sizes_change() {
        // `a` becomes `b`, and `b` something new, which has a block already.
        let text = sized(
            "buffer made: i64 alloc made[m] for j < m { made[j] = a[j] + 1i64 }
             size = l size_2 = m alloc next[size] alloc next_2[size_2] let s: i64 = size let t: i64 = size_2
             copy next[0] = b[0] for s copy next_2[0] = made[0] for t free made",
        );
        assert_eq!(text.matches("copy").count(), 2, "{text}");
        assert!(!text.contains("alloc next"), "{text}");
        // What stays is not touched, and here nobody needs it.
        let text = sized(
            "buffer made: i64 alloc made[m] for j < m { made[j] = a[j] + 1i64 }
             size = m size_2 = l alloc next[size] alloc next_2[size_2] let s: i64 = size let t: i64 = size_2
             copy next[0] = made[0] for s copy next_2[0] = b[0] for t free made",
        );
        assert_eq!(text.matches("copy").count(), 1, "{text}");
        assert!(!text.contains("next_2"), "{text}");
    }

    #[test]
    fn not_where_sizes_differ_or_both_are_needed() {
        for (body, copies) in [
            // Two states from one.
            (
                "size = l size_2 = l alloc next[size] alloc next_2[size_2] let s: i64 = size let t: i64 = size_2
                 copy next[0] = b[0] for s copy next_2[0] = b[0] for t",
                3,
            ),
            // A part of what is made.
            (
                "size = l size_2 = m alloc next[size] alloc next_2[size_2] let s: i64 = size
                 copy next[0] = b[0] for s copy next_2[0] = a[0] for 1 copy next_2[1] = a[1] for m - 1",
                4,
            ),
            // The size is another one when it is copied.
            (
                "size = l size_2 = m alloc next[size] alloc next_2[size_2] size = m let s: i64 = size
                 copy next[0] = b[0] for s for j < m { next_2[j] = a[j] }",
                3,
            ),
            // The old one is read afterwards.
            (
                "size = l size_2 = m alloc next[size] alloc next_2[size_2] let s: i64 = size
                 copy next[0] = b[0] for s for j < m { next_2[j] = b[0] }",
                3,
            ),
        ] {
            let text = sized(body);
            assert!(text.matches("copy").count() >= copies, "{text}");
        }
    }

    #[test]
    fn not_where_the_old_one_is_needed() {
        for (body, after) in [
            // The old contents are a state of the next iteration.
            ("copy next[0] = c[0] for n next[0] = 1i64 swap b, next", ""),
            // They are read while the new ones are made, or after.
            (
                "copy next[0] = c[0] for n let v: i64 = c[1] next[0] = v swap c, a swap a, b swap b, next",
                "",
            ),
            (
                "copy next[0] = c[0] for n next[0] = 1i64 swap c, a let v: i64 = a[0] out[0] = v swap a, b swap b, next",
                "",
            ),
            // Only a part is copied.
            (
                "copy next[0] = c[0] for n - 1 next[n - 1] = 1i64 swap c, a swap a, b swap b, next",
                "",
            ),
            // What is written next is looked at behind the loop.
            (
                "copy next[0] = c[0] for n next[0] = 1i64 swap c, a swap a, b swap b, next",
                "let w: i64 = next[0] out[0] = w",
            ),
        ] {
            let text = rewritten(body, after);
            assert!(text.contains("copy next[0] = c[0]"), "{text}");
        }
    }
}
