//! A block that is copied as a whole into a new one, and that nobody needs any more, is the new one.
//!
//! ```text
//! alloc out[n]
//! copy out[0] = made[0] for n         ~~>   swap out, made
//! free made                                 free made
//! ```
//!
//! Also where a loop copies it cell by cell, with others or alone. Such are results with sizes of their own: arrays of rows, fields of sums, what a function gives that only it knows the size of. Of
//! what has grown, the cells that are used are kept (`shrink`). Small arrays of constant size are on the stack, and are copied.
//!
//! Removes: blocks, copies. Introduces: swaps with buffers that hold nothing. Guarantees: the same results.

use crate::buffers::mentions;
use crate::in_place::allocated;
use crate::rotations::is_same_number;
use crate::slots::{Slots, frees};
use crate::tidy::tidy;
use almach_base::Name;
use almach_imp::{Expr, Groups, Index, Passing, Proc, Space, Stmt, Touched};
use almach_value::ScalarType;
use std::collections::{HashMap, HashSet};

/// Arrays of constant size with fewer cells are on the stack.
const SMALL: i64 = 4097;

pub(crate) fn whole_copies(procs: &mut [Proc]) {
    let groups = Groups::of(procs.iter());
    for proc in procs.iter_mut() {
        // Members of a recursion keep their buffers in frames.
        if groups.is_recursive(&proc.name) {
            continue;
        }
        let mut sizes = HashMap::new();
        allocated(&proc.body, &mut sizes);
        let owned = proc.params.iter().filter(|param| param.passing == Passing::Owned);
        let mut pass = Wholes {
            sizes,
            types: owned.map(|param| (param.name.clone(), param.ty)).collect(),
            values: values(proc),
            changed: false,
        };
        types(&proc.body, &mut pass.types);
        pass.block(&mut proc.body);
        if pass.changed {
            tidy(proc);
        }
    }
}

struct Wholes {
    /// Numbers of cells of buffers that are allocated with one size only.
    sizes: HashMap<Name, Option<Index>>,
    /// Owned buffers.
    types: HashMap<Name, ScalarType>,
    /// What scalars are that get one value.
    values: HashMap<Name, Index>,
    changed: bool,
}

impl Wholes {
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        if stmts.iter().any(|stmt| matches!(stmt, Stmt::Alloc { .. })) {
            let mut slots = Slots::of(std::mem::take(stmts));
            for at in 0..slots.len() {
                self.changed |= self.taken(&mut slots, at).is_some();
            }
            *stmts = slots.into_stmts();
        }
        for stmt in stmts.iter_mut() {
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
        }
    }

    /// The same number in other names, as far as they are known.
    fn known(&self, index: &Index) -> Index {
        let mut index = index.clone();
        // Names that are bound by each other in turn come to an end.
        for _ in 0..self.values.len() {
            let next = index.substitute(|name| self.values.get(name).cloned());
            if next == index {
                break;
            }
            index = next;
        }
        index
    }

    fn taken(&self, slots: &mut Slots, at: usize) -> Option<()> {
        let Stmt::Alloc { buffer, size, .. } = slots.only(at)? else {
            return None;
        };
        let cells = self.known(size);
        let ty = self.types.get(buffer)?;
        if cells.as_constant().is_some_and(|cells| cells < SMALL) {
            return None;
        }
        let copied = slots
            .after(buffer, at)
            .find(|at| slots.get(*at).iter().any(|stmt| mentions(stmt, buffer)))?;
        let (before, copy, behind) = alone(slots.get(copied), buffer)?;
        let Whole { from, count, left } = Whole::of(copy, buffer)?;
        let (from, count) = (&from, &count);
        let is_whole = self.known(count) == cells || {
            let between = (at + 1..copied).flat_map(|at| slots.get(at));
            is_same_number(size, count, &between.collect::<Vec<_>>())
        };
        let elsewhere = before.iter().chain(behind).any(|stmt| mentions(stmt, from));
        let declared = slots.before(from, copied).any(|at| {
            let mut stmts = slots.get(at).iter();
            stmts.any(|stmt| matches!(stmt, Stmt::Buffer { name, space: Space::Host, .. } if name == from))
        });
        let is_dead = slots.after(from, copied).all(|at| {
            let mut stmts = slots.get(at).iter();
            stmts.all(|stmt| frees(stmt, from) || !mentions(stmt, from))
        });
        if !(is_whole && declared && is_dead && !elsewhere && self.types.get(from) == Some(ty)) {
            return None;
        }
        let all = self.sizes.get(from).and_then(Option::as_ref);
        let is_all = all.is_some_and(|all| self.known(all) == cells);
        let shrunk = (!is_all).then(|| Stmt::Shrink {
            buffer: from.clone(),
            size: count.clone(),
        });
        let swap = Stmt::Swap(buffer.clone(), from.clone());
        let left = left.into_iter().chain(shrunk).chain([swap]);
        let instead = before.iter().cloned().chain(left).chain(behind.iter().cloned());
        let instead = instead.collect();
        slots.replace(at, Vec::new());
        slots.replace(copied, instead);
        Some(())
    }
}

/// The one of these statements that mentions a buffer, with those before and behind it.
fn alone<'s>(stmts: &'s [Stmt], buffer: &Name) -> Option<(&'s [Stmt], &'s Stmt, &'s [Stmt])> {
    let at = stmts.iter().position(|stmt| mentions(stmt, buffer))?;
    let (before, rest) = stmts.split_at(at);
    let (stmt, behind) = rest.split_first()?;
    let is_alone = !behind.iter().any(|stmt| mentions(stmt, buffer));
    is_alone.then_some((before, stmt, behind))
}

/// All cells of a buffer become the first ones of another.
struct Whole {
    from: Name,
    count: Index,
    /// What else the statement does.
    left: Option<Stmt>,
}

impl Whole {
    /// A copy, or a loop that copies cell by cell, perhaps of several buffers.
    fn of(stmt: &Stmt, buffer: &Name) -> Option<Whole> {
        match stmt {
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                let is_whole = to == buffer && from != to && to_index.is_zero() && from_index.is_zero();
                is_whole.then(|| Whole {
                    from: from.clone(),
                    count: count.clone(),
                    left: None,
                })
            }
            Stmt::For {
                index,
                width,
                count,
                mode,
                body,
            } => {
                let (before, copied, behind) = alone(body, buffer)?;
                let Stmt::Store {
                    index: place,
                    value: Expr::Load(from, cell),
                    ..
                } = copied
                else {
                    return None;
                };
                let others = || before.iter().chain(behind);
                let is_whole = place.as_var() == Some(index)
                    && cell.as_var() == Some(index)
                    && from != buffer
                    && !others().any(|stmt| mentions(stmt, from));
                let is_more = others().any(|stmt| !matches!(stmt, Stmt::At(_)));
                is_whole.then(|| Whole {
                    from: from.clone(),
                    count: count.clone(),
                    left: is_more.then(|| Stmt::For {
                        index: index.clone(),
                        width: *width,
                        count: count.clone(),
                        mode: *mode,
                        body: others().cloned().collect(),
                    }),
                })
            }
            _ => None,
        }
    }
}

fn types(stmts: &[Stmt], found: &mut HashMap<Name, ScalarType>) {
    for stmt in stmts {
        if let Stmt::Buffer {
            name,
            ty,
            space: Space::Host,
        } = stmt
        {
            found.insert(name.clone(), *ty);
        }
        stmt.blocks().into_iter().for_each(|block| types(block, found));
    }
}

/// Scalars that get one value, which is a number made of others of that kind.
pub(crate) fn values(proc: &Proc) -> HashMap<Name, Index> {
    let mut found = HashMap::new();
    let mut changing: HashSet<Name> = HashSet::new();
    for stmt in &proc.body {
        match stmt {
            Stmt::Assign { name, value } if !found.contains_key(name) => match value.as_index() {
                Some(value) => {
                    found.insert(name.clone(), value);
                }
                None => {
                    changing.insert(name.clone());
                }
            },
            // Without a value it is assigned to before it is read.
            Stmt::Var { value: None, .. } => {}
            Stmt::Var { name, .. } => {
                changing.insert(name.clone());
            }
            other => changing.extend(Touched::of([other]).assigned),
        }
    }
    lets(&proc.body, &mut found);
    let stays = |index: &Index| index.free_vars().all(|name| !changing.contains(name));
    found.retain(|name, value| !changing.contains(name) && stays(value));
    found
}

fn lets(stmts: &[Stmt], found: &mut HashMap<Name, Index>) {
    for stmt in stmts {
        if let Stmt::Let { name, value, .. } = stmt
            && let Some(value) = value.as_index()
        {
            found.insert(name.clone(), value);
        }
        stmt.blocks().into_iter().for_each(|block| lets(block, found));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(body: &str) -> String {
        let mut program = almach_imp::parse(&format!(
            "proc main(n: i64, k: i64, xs: read i64, size: out i64, out: owned i64) {{ {body} }}"
        ))
        .unwrap();
        whole_copies(&mut program.procs);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const MADE: &str = "buffer a: i64 alloc a[n] for h < n { a[h] = xs[h] } ";

    #[test]
    fn a_block_of_the_same_size_is_the_new_one() {
        for body in [
            "size = {n} alloc out[n] copy out[0] = a[0] for n free a",
            "size = {n} alloc out[size] let m: i64 = size copy out[0] = a[0] for m free a",
        ] {
            let text = rewritten(&format!("{MADE} {body}"));
            assert!(text.contains("swap out, a"), "{text}");
            assert!(
                !text.contains("copy") && !text.contains("alloc out") && !text.contains("shrink"),
                "{text}"
            );
        }
    }

    #[test]
    fn also_where_a_loop_copies_several() {
        let body = "buffer b: i64 alloc b[n] for g < n { b[g] = xs[g] + 1i64 } buffer c: i64 alloc c[n]
            size = {n} alloc out[n] par for i < n { c[i] = b[i] out[i] = a[i] } free a free b out[0] = c[k] free c";
        let text = rewritten(&format!("{MADE} {body}"));
        assert!(
            text.contains("swap out, a") && !text.contains("par for"),
            "{text}"
        );
        // What else happens to the block in the loop is a use.
        let text = rewritten(&format!(
            "{MADE} size = {{n}} alloc out[n] for i < n {{ out[i] = a[i] out[0] = 1i64 }} free a"
        ));
        assert!(!text.contains("swap"), "{text}");
    }

    #[test]
    fn of_a_larger_one_the_first_cells_are_kept() {
        let text = rewritten(&format!(
            "{MADE} size = {{k}} alloc out[size] copy out[0] = a[0] for k free a"
        ));
        assert!(
            text.contains("shrink a[k]") && text.contains("swap out, a"),
            "{text}"
        );
    }

    #[test]
    fn not_where_it_is_needed_or_is_a_part_or_somebody_elses() {
        for body in [
            "size = {n} alloc out[n] copy out[0] = a[0] for n out[0] = a[1] free a",
            "size = {n} alloc out[n + 1] copy out[0] = a[0] for n out[n] = 0i64 free a",
            "size = {n} alloc out[n] copy out[0] = a[1] for n - 1 out[n - 1] = 0i64 free a",
            "size = {n} alloc out[n] copy out[0] = xs[0] for n free a",
            "size = {n} alloc out[n] out[0] = 1i64 copy out[0] = a[0] for n free a",
        ] {
            let text = rewritten(&format!("{MADE} {body}"));
            assert!(!text.contains("swap"), "{text}");
        }
    }
}
