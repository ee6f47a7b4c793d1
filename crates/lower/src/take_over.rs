//! A branch that gives the whole of an array that nobody needs any more gives its block, and copies nothing.
//!
//! ```text
//! alloc r[n]                                  if c {
//! if c {                                        swap r, a
//!   copy r[0] = a[0] for n                    } else {
//! } else {                                      alloc r[n]
//!   for i < n { r[i] = b[i] * 2.0 }     ~~>     for i < n { r[i] = b[i] * 2.0 }
//! }                                           }
//! free a                                      free a
//! r[k] = 0.0                                  r[k] = 0.0
//! ```
//!
//! The array may be written afterwards, be carried by a loop, or be the result of its function: it has a block of its own whichever branch
//! ran. What is only read afterwards is borrowed instead (`borrow.rs`), also from arrays that are needed later.
//!
//! Removes: copies, and blocks. Introduces: swaps with buffers that hold nothing. Guarantees: the same results.

use crate::buffers::{changes_hands, mentions};
use crate::in_place::allocated;
use crate::slots::{Slots, frees};
use almach_base::Name;
use almach_imp::{Groups, Index, Passing, Proc, Space, Stmt};
use almach_value::ScalarType;
use std::collections::{HashMap, HashSet};

/// Arrays of constant size with fewer cells are on the stack.
const SMALL: i64 = 4097;

pub(crate) fn take_over(procs: &mut [Proc]) {
    let groups = Groups::of(procs.iter());
    for proc in procs.iter_mut() {
        // Members of a recursion keep their buffers in frames.
        if groups.is_recursive(&proc.name) {
            continue;
        }
        let mut sizes = HashMap::new();
        allocated(&proc.body, &mut sizes);
        // What is borrowed is looked at under another name.
        let mut lent = HashSet::new();
        lenders(&proc.body, &mut lent);
        sizes.retain(|buffer, _| !lent.contains(buffer));
        let owned = proc.params.iter().filter(|param| param.passing == Passing::Owned);
        let owned = owned.map(|param| (param.name.clone(), param.ty)).collect();
        Sizes(sizes).block(&mut proc.body, &owned);
    }
}

/// Buffers that others borrow from, at any depth.
fn lenders(stmts: &[Stmt], names: &mut HashSet<Name>) {
    for stmt in stmts {
        if let Stmt::Borrow { from, .. } = stmt {
            names.insert(from.clone());
        }
        stmt.blocks().into_iter().for_each(|block| lenders(block, names));
    }
}

/// Whether branches give a result of their procedure, and one of them an array that is of no use afterwards; then, the statement
/// that makes the result before them.
pub(crate) fn made_before(
    proc: &Proc,
    branches: usize,
    result: (&Name, ScalarType),
    sizes: &HashMap<Name, Option<Index>>,
) -> Option<Stmt> {
    let slots = Slots::of(proc.body.clone());
    let mut copied = Vec::new();
    wholes(slots.get(branches), result.0, &mut copied);
    let (size, old) = copied.into_iter().find_map(|(from, count)| {
        let same = sizes.get(from)?.as_ref() == Some(count);
        (same && is_large(count)).then_some((count.clone(), from.clone()))
    })?;
    let span = slots.before(&old, branches).find_map(|at| match slots.only(at) {
        Some(Stmt::Alloc { buffer, span, .. }) if *buffer == old => Some(*span),
        _ => None,
    })?;
    let made = Stmt::Alloc {
        buffer: result.0.clone(),
        size: size.clone(),
        span,
    };
    let given = Given {
        buffer: result.0,
        ty: result.1,
        size: &size,
        made: &made,
        branches,
    };
    given.taken(&slots, sizes).map(|_| made)
}

/// The buffers that ends of branches copy to another one, and how many cells.
fn wholes<'a>(stmts: &'a [Stmt], to: &Name, found: &mut Vec<(&'a Name, &'a Index)>) {
    for stmt in stmts {
        match stmt {
            Stmt::Copy {
                to: copied,
                from,
                count,
                ..
            } if copied == to => found.push((from, count)),
            Stmt::If { then, otherwise, .. } => {
                wholes(then, to, found);
                wholes(otherwise, to, found);
            }
            _ => {}
        }
    }
}

fn is_large(size: &Index) -> bool {
    size.as_constant().is_none_or(|cells| cells >= SMALL)
}

/// Numbers of cells of buffers that are allocated with one size only, and that no others borrow from.
struct Sizes(HashMap<Name, Option<Index>>);

impl Sizes {
    fn block(&self, stmts: &mut Vec<Stmt>, owned: &HashMap<Name, ScalarType>) {
        let allocates = |stmt: &Stmt| matches!(stmt, Stmt::Alloc { .. });
        let chooses = |stmt: &Stmt| matches!(stmt, Stmt::If { .. });
        if stmts.iter().any(allocates) && stmts.iter().any(chooses) {
            let mut slots = Slots::of(std::mem::take(stmts));
            for at in 0..slots.len() {
                self.taken(&mut slots, at, owned);
            }
            *stmts = slots.into_stmts();
        }
        for stmt in stmts.iter_mut() {
            let inner = stmt.blocks_mut().into_iter();
            inner.for_each(|inner| self.block(inner, &HashMap::new()));
        }
    }

    /// Lets branches give blocks, where a buffer is allocated at `at` for what they give.
    fn taken(&self, slots: &mut Slots, at: usize, owned: &HashMap<Name, ScalarType>) -> Option<()> {
        let made = slots.only(at)?.clone();
        let Stmt::Alloc { buffer, size, .. } = &made else {
            return None;
        };
        let ty = match owned.get(buffer) {
            Some(ty) => *ty,
            None => declared(slots, buffer, at)?,
        };
        if !is_large(size) || self.0.get(buffer)?.as_ref() != Some(size) {
            return None;
        }
        let branches = slots
            .after(buffer, at)
            .find(|at| slots.get(*at).iter().any(|stmt| mentions(stmt, buffer)))?;
        let given = Given {
            buffer,
            ty,
            size,
            made: &made,
            branches,
        };
        let taken = given.taken(slots, &self.0)?;
        slots.replace(at, Vec::new());
        slots.replace(branches, vec![taken]);
        Some(())
    }
}

/// The type of a buffer that is declared in the same block before a statement.
fn declared(slots: &Slots, buffer: &Name, before: usize) -> Option<ScalarType> {
    slots.before(buffer, before).find_map(|at| {
        slots.get(at).iter().find_map(|stmt| match stmt {
            Stmt::Buffer {
                name,
                ty,
                space: Space::Host,
            } if name == buffer => Some(*ty),
            _ => None,
        })
    })
}

/// A buffer that branches give.
struct Given<'a> {
    buffer: &'a Name,
    ty: ScalarType,
    size: &'a Index,
    /// Its allocation.
    made: &'a Stmt,
    branches: usize,
}

impl Given<'_> {
    /// The branches, some of which give what nobody needs any more.
    fn taken(&self, slots: &Slots, sizes: &HashMap<Name, Option<Index>>) -> Option<Stmt> {
        let stmt @ Stmt::If { .. } = slots.only(self.branches)? else {
            return None;
        };
        let mut taken = HashSet::new();
        let is_dead = |old: &Name| {
            let mut later = slots.after(old, self.branches);
            sizes.get(old).and_then(Option::as_ref) == Some(self.size)
                && declared(slots, old, self.branches) == Some(self.ty)
                && later.all(|at| {
                    let mut stmts = slots.get(at).iter();
                    stmts.all(|stmt| frees(stmt, old) || !mentions(stmt, old))
                })
        };
        let new = self.choice(stmt, &is_dead, &mut taken)?;
        (!taken.is_empty()).then_some(new)
    }

    fn choice(
        &self,
        stmt: &Stmt,
        is_dead: &dyn Fn(&Name) -> bool,
        taken: &mut HashSet<Name>,
    ) -> Option<Stmt> {
        let Stmt::If {
            condition,
            then,
            otherwise,
        } = stmt
        else {
            return None;
        };
        Some(Stmt::If {
            condition: condition.clone(),
            then: self.end(then, is_dead, taken)?,
            otherwise: self.end(otherwise, is_dead, taken)?,
        })
    }

    fn end(
        &self,
        end: &[Stmt],
        is_dead: &dyn Fn(&Name) -> bool,
        taken: &mut HashSet<Name>,
    ) -> Option<Vec<Stmt>> {
        let mut uses = end
            .iter()
            .enumerate()
            .filter(|(_, stmt)| mentions(stmt, self.buffer));
        if let Some((at, stmt)) = uses.next() {
            let (before, later) = (end.get(..at)?, end.get(at + 1..)?);
            let new = match stmt {
                Stmt::If { .. } if uses.next().is_none() => self.choice(stmt, is_dead, taken),
                Stmt::Copy {
                    to,
                    to_index,
                    from,
                    from_index,
                    count,
                } => {
                    let is_whole = to == self.buffer
                        && to_index.is_zero()
                        && from_index.is_zero()
                        && count == self.size
                        && later.iter().all(|stmt| !mentions(stmt, from))
                        && is_dead(from);
                    is_whole.then(|| {
                        taken.insert(from.clone());
                        Stmt::Swap(self.buffer.clone(), from.clone())
                    })
                }
                _ => None,
            };
            if let Some(new) = new {
                return Some(
                    before
                        .iter()
                        .cloned()
                        .chain([new])
                        .chain(later.iter().cloned())
                        .collect(),
                );
            }
        }
        let stays = end
            .iter()
            .all(|stmt| !changes_hands(stmt, self.buffer) && !self.is_freed(stmt));
        stays.then(|| [self.made].into_iter().chain(end).cloned().collect())
    }

    fn is_freed(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Alloc { buffer, .. } | Stmt::Free(buffer) if buffer == self.buffer)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        take_over(&mut program.procs);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const HEAD: &str = "proc main(n: i64, k: i64, c: bool, xs: read i64, out: owned i64) {
        buffer a: i64 alloc a[n] for h < n { a[h] = xs[h] } ";

    #[test]
    fn what_nobody_needs_changes_hands() {
        let text = rewritten(&format!(
            "{HEAD} buffer r: i64 alloc r[n] if c {{ copy r[0] = a[0] for n }} else {{ for i < n {{ r[i] = a[i] * 2i64 }} }}
             free a r[0] = 1i64 alloc out[n] copy out[0] = r[0] for n free r }}"
        ));
        assert!(text.contains("swap r, a") && !text.contains("copy r"), "{text}");
        assert!(text.find("alloc r") > text.find("else"), "{text}");
    }

    #[test]
    fn to_the_result_as_well_and_in_branches_of_branches() {
        let text = rewritten(&format!(
            "{HEAD} alloc out[n] if c {{ if n > k {{ copy out[0] = a[0] for n }} else {{ for i < n {{ out[i] = 0i64 }} }} }}
             else {{ for j < n {{ out[j] = xs[j] }} }} free a }}"
        ));
        assert!(text.contains("swap out, a") && !text.contains("copy"), "{text}");
        assert_eq!(text.matches("alloc out").count(), 2, "{text}");
    }

    #[test]
    fn what_a_branch_changes_further_changes_hands_first() {
        let text = rewritten(&format!(
            "{HEAD} buffer r: i64 alloc r[n] if c {{ copy r[0] = a[0] for n for i < k {{ r[i] = xs[i] }} }} else {{ copy r[0] = a[0] for n }}
             free a r[0] = 1i64 alloc out[n] copy out[0] = r[0] for n free r }}"
        ));
        assert_eq!(text.matches("swap r, a").count(), 2, "{text}");
        assert!(!text.contains("copy r") && !text.contains("alloc r"), "{text}");
    }

    #[test]
    fn not_where_it_is_needed_or_of_another_size() {
        for (branch, after) in [
            ("copy r[0] = a[0] for n", "let x: i64 = a[0] r[0] = x"),
            ("copy r[0] = a[0] for n let y: i64 = a[0] r[0] = y", ""),
            ("copy r[0] = a[0] for n - 1 r[n - 1] = 0i64", ""),
            ("copy r[0] = xs[0] for n", ""),
        ] {
            let text = rewritten(&format!(
                "{HEAD} buffer r: i64 alloc r[n] if c {{ {branch} }} else {{ for i < n {{ r[i] = 0i64 }} }} {after}
                 alloc out[n] copy out[0] = r[0] for n free a free r }}"
            ));
            assert!(!text.contains("swap"), "{text}");
        }
    }
}
