//! What branches give that is there already is borrowed, not copied: which block it is, and from which cell on, is what a branch gives.
//!
//! ```text
//! buffer r: f32                                   buffer r_own: f32
//! alloc r[n]                                      buffer r: borrowed f32
//! if c {                                          if c {
//!   copy r[0] = a[k] for n                          borrow r = a[k] for n
//! } else {                                  ~~>   } else {
//!   for i < n { r[i] = a[i] * 2.0 }                 alloc r_own[n]
//! }                                                 for i < n { r_own[i] = a[i] * 2.0 }
//! free a                                            borrow r = r_own[0] for n
//! for i < n { out[i] = r[i] + 1.0 }               }
//! free r                                          for i < n { out[i] = r[i] + 1.0 }
//!                                                 free r_own
//!                                                 free a
//! ```
//!
//! After the branches the array is only read, and what is borrowed is neither written nor freed while it is: what was freed earlier
//! is freed behind the last use. Rows of stores may move, and are copied. Arrays of small constant size stay: the C compiler keeps
//! them in registers.
//!
//! Removes: copies, and the blocks they went to. Introduces: borrowed buffers. Guarantees: the same results.

mod layouts;

mod starts;

use crate::buffers::{changes_hands, mentions, renamed, writes};
use crate::in_place::allocated;
use crate::looked::Looked;
use crate::slots::{Slots, frees};
use almach_base::Name;
use almach_imp::facts::Facts;
use almach_imp::{Groups, Index, Passing, Proc, Space, Stmt, is_column};
use almach_value::ScalarType;
use layouts::{Layout, Steps, view_of};
use std::collections::{HashMap, HashSet};

/// Arrays of constant size with fewer cells are on the stack.
const SMALL: i64 = 4097;

pub(crate) fn borrow(procs: &mut [Proc]) {
    let groups = Groups::of(procs.iter());
    for proc in procs.iter_mut() {
        // Members of a recursion keep their buffers in frames.
        if groups.is_recursive(&proc.name) {
            continue;
        }
        let mut sizes = HashMap::new();
        allocated(&proc.body, &mut sizes);
        let mut names = HashSet::new();
        declared(&proc.body, &mut names);
        names.extend(proc.params.iter().map(|param| param.name.clone()));
        let mut types = HashMap::new();
        buffers(&proc.body, &mut types);
        types.extend(proc.params.iter().map(|param| (param.name.clone(), param.ty)));
        let mut changing = HashSet::new();
        variables(&proc.body, &mut changing);
        let outs = proc.params.iter().filter(|param| param.passing == Passing::Out);
        changing.extend(outs.map(|param| param.name.clone()));
        let mut pass = Borrowing {
            sizes,
            names,
            types,
            changing,
            looked: Looked::at(&proc.body),
            facts: Facts::default(),
        };
        pass.block(&mut proc.body);
    }
}

struct Borrowing {
    /// Numbers of cells of buffers that are allocated with one size only.
    sizes: HashMap<Name, Option<Index>>,
    names: HashSet<Name>,
    types: HashMap<Name, ScalarType>,
    /// Scalars that are assigned to.
    changing: HashSet<Name>,
    /// What the procedure, as it was, looks at.
    looked: Looked,
    /// What the loops around tell.
    facts: Facts,
}

/// A buffer that branches give: where it is declared, allocated, given and freed in its block.
struct Given {
    buffer: Name,
    ty: ScalarType,
    size: Index,
    declared: usize,
    /// Before the branches, with the allocation; none where each branch makes it, of the size that it gives.
    allocated: Option<(usize, Stmt)>,
    branches: usize,
    freed: usize,
    other_layouts: OtherLayouts,
}

/// What becomes of a branch that gives an array in another layout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherLayouts {
    Borrowed,
    Copied,
}

/// What is borrowed from, and whether a branch makes something of its own.
#[derive(Default)]
struct Found {
    owners: HashSet<Name>,
    makes: bool,
    /// The layouts that branches give, where they are not the array's own.
    layouts: Vec<Layout>,
}

impl Borrowing {
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        let is_candidate = |stmt: &Stmt| matches!(stmt, Stmt::Buffer { .. } | Stmt::Copy { .. });
        if stmts.iter().any(is_candidate) {
            let mut slots = Slots::of(std::mem::take(stmts));
            // The last first: what it borrows from is freed behind it, and so its owners may be borrowed in turn.
            for at in (0..slots.len()).rev() {
                if self.borrowed(&mut slots, at).is_none() {
                    self.started(&mut slots, at);
                }
            }
            *stmts = slots.into_stmts();
        }
        for stmt in stmts.iter_mut() {
            let mark = self.facts.mark();
            if let Stmt::For { index, count, .. } = stmt
                && self.stays(count)
            {
                self.facts.enter_loop(index, count);
            }
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
            self.facts.forget_since(mark);
        }
    }

    /// Whether all names in an index keep their values.
    fn stays(&self, index: &Index) -> bool {
        index.free_vars().all(|name| !self.changing.contains(name))
    }

    /// Lets the buffer that is declared at `at` be borrowed, where it need not be copied to.
    fn borrowed(&mut self, slots: &mut Slots, at: usize) -> Option<()> {
        let mut given = self.given(slots, at)?;
        let mut found = self.found(slots, &given);
        let layouts = found.iter().flat_map(|found| &found.layouts);
        let steps = match layouts.count() {
            0 => None,
            _ => found.as_ref().and_then(|found| self.steps(slots, &given, found)),
        };
        if let Some(Found { layouts, .. }) = &found
            && steps.is_none()
            && !layouts.is_empty()
        {
            given.other_layouts = OtherLayouts::Copied;
            found = self.found(slots, &given);
        }
        let found = found?;
        let own = found.makes.then(|| self.fresh(&format!("{}_own", given.buffer)));
        given.rewrite(slots, &found, own.as_ref(), steps);
        Some(())
    }

    /// What the branches give, where all of it can be borrowed.
    fn found(&self, slots: &Slots, given: &Given) -> Option<Found> {
        let Some(Stmt::If { then, otherwise, .. }) = slots.only(given.branches) else {
            return None;
        };
        let mut found = Found::default();
        let mut inside = HashSet::new();
        declared(then, &mut inside);
        declared(otherwise, &mut inside);
        [then, otherwise]
            .into_iter()
            .try_for_each(|end| given.end(end, &mut found))?;
        let is_there = |owner: &Name| !inside.contains(owner) && !is_column(owner);
        if found.owners.is_empty() || !found.owners.iter().all(is_there) {
            return None;
        }
        let stays = |owner: &Name| {
            let mut later = slots.between(owner, given.branches, given.freed);
            later.all(|at| {
                let mut stmts = slots.get(at).iter();
                stmts.all(|stmt| frees(stmt, owner) || !writes(stmt, owner))
            })
        };
        found.owners.iter().all(stays).then_some(found)
    }

    fn given(&self, slots: &Slots, declared: usize) -> Option<Given> {
        let Some(Stmt::Buffer {
            name: buffer,
            ty,
            space: Space::Host,
        }) = slots.only(declared)
        else {
            return None;
        };
        let size = self.sizes.get(buffer)?.clone()?;
        if size.as_constant().is_some_and(|cells| cells < SMALL) {
            return None;
        }
        let mut uses = slots
            .after(buffer, declared)
            .filter(|at| slots.get(*at).iter().any(|stmt| mentions(stmt, buffer)));
        let first = uses.next()?;
        let (allocated, branches) = match slots.only(first)? {
            alloc @ Stmt::Alloc { .. } => (Some((first, alloc.clone())), uses.next()?),
            _ => (None, first),
        };
        let Some(Stmt::If { .. }) = slots.only(branches) else {
            return None;
        };
        let freed = slots.freed(buffer, branches)?;
        let mut reads = slots.between(buffer, branches, freed);
        let only_read = reads.all(|at| slots.get(at).iter().all(|stmt| !writes(stmt, buffer)));
        only_read.then(|| Given {
            buffer: buffer.clone(),
            ty: *ty,
            size,
            declared,
            allocated,
            branches,
            freed,
            other_layouts: OtherLayouts::Borrowed,
        })
    }

    fn fresh(&mut self, stem: &str) -> Name {
        let numbered = (2..).map(|number| format!("{stem}_{number}"));
        let mut names = std::iter::once(stem.to_string()).chain(numbered).map(Name::from);
        // There are more numbers than names.
        let name = names
            .find(|name| !self.names.contains(name))
            .unwrap_or_else(|| stem.into());
        self.names.insert(name.clone());
        name
    }
}

/// How a branch gives the buffer.
enum End<'a> {
    /// It copies all of it from cells that are there, at that place.
    Copied(usize, Copied<'a>),
    /// The same from cells that are in another order.
    Layout(usize, Layout),
    /// Its branches give it, at that place.
    Branches(usize, [&'a Vec<Stmt>; 2]),
    Made,
}

struct Copied<'a> {
    owner: &'a Name,
    first: &'a Index,
    count: &'a Index,
}

impl Given {
    fn how<'a>(&self, end: &'a [Stmt]) -> End<'a> {
        let mut uses = end
            .iter()
            .enumerate()
            .filter(|(_, stmt)| mentions(stmt, &self.buffer) && !self.is_alloc(stmt));
        let (Some((at, stmt)), None) = (uses.next(), uses.next()) else {
            return End::Made;
        };
        match stmt {
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } if *to == self.buffer && to_index.is_zero() && from != to => End::Copied(
                at,
                Copied {
                    owner: from,
                    first: from_index,
                    count,
                },
            ),
            Stmt::If { then, otherwise, .. } => End::Branches(at, [then, otherwise]),
            Stmt::For { .. } if self.other_layouts == OtherLayouts::Borrowed && self.allocated.is_some() => {
                view_of(stmt, &self.buffer, &self.size).map_or(End::Made, |layout| End::Layout(at, layout))
            }
            _ => End::Made,
        }
    }

    fn is_alloc(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Alloc { buffer, .. } if *buffer == self.buffer)
    }

    /// What the end of a branch borrows. None where it cannot be.
    fn end(&self, end: &[Stmt], found: &mut Found) -> Option<()> {
        let stays_behind = |at: usize, owner: &Name| {
            let later = end.get(at + 1..).unwrap_or(&[]);
            later.iter().all(|stmt| !writes(stmt, owner))
        };
        match self.how(end) {
            End::Copied(at, copied) => {
                found.owners.insert(copied.owner.clone());
                stays_behind(at, copied.owner).then_some(())
            }
            End::Layout(at, layout) => {
                let stays = stays_behind(at, &layout.owner);
                found.owners.insert(layout.owner.clone());
                found.layouts.push(layout);
                stays.then_some(())
            }
            End::Branches(at, inner) => {
                let before = found.owners.clone();
                inner.into_iter().try_for_each(|inner| self.end(inner, found))?;
                let mut new = found.owners.difference(&before);
                new.all(|owner| stays_behind(at, owner)).then_some(())
            }
            End::Made => {
                found.makes = true;
                let stays = end.iter().all(|stmt| !changes_hands(stmt, &self.buffer));
                let allocated = end.iter().filter(|stmt| self.is_alloc(stmt)).count();
                (stays && allocated == usize::from(self.allocated.is_none())).then_some(())
            }
        }
    }

    fn rewrite(&self, slots: &mut Slots, found: &Found, own: Option<&Name>, steps: Option<(Steps, Reads)>) {
        let declare = |name: &Name, space: Space| Stmt::Buffer {
            name: name.clone(),
            ty: self.ty,
            space,
        };
        let (steps, reads) = steps.unzip();
        let mut head: Vec<Stmt> = own.map(|own| declare(own, Space::Host)).into_iter().collect();
        head.push(declare(&self.buffer, Space::Borrowed));
        head.extend(steps.iter().flat_map(Steps::declared));
        slots.replace(self.declared, head);
        if let Some((at, _)) = &self.allocated {
            slots.replace(*at, Vec::new());
        }
        if let Some(stmt) = slots.only(self.branches) {
            let mut given = vec![self.branches(stmt, own, steps.as_ref())];
            given.extend(steps.iter().flat_map(Steps::kept));
            slots.replace(self.branches, given);
        }
        for (at, stmts) in reads.unwrap_or_default() {
            slots.replace(at, stmts);
        }
        slots.free_instead(self.freed, &self.buffer, own);
        slots.free_later(&found.owners, self.branches, self.freed);
    }

    fn branches(&self, stmt: &Stmt, own: Option<&Name>, steps: Option<&Steps>) -> Stmt {
        match stmt {
            Stmt::If {
                condition,
                then,
                otherwise,
            } => Stmt::If {
                condition: condition.clone(),
                then: self.ended(then, own, steps),
                otherwise: self.ended(otherwise, own, steps),
            },
            other => other.clone(),
        }
    }

    fn ended(&self, end: &[Stmt], own: Option<&Name>, steps: Option<&Steps>) -> Vec<Stmt> {
        let borrow = |from: &Name, first: Index, count: Index| Stmt::Borrow {
            buffer: self.buffer.clone(),
            from: from.clone(),
            first,
            count,
        };
        let instead = |at: usize, given: Vec<Stmt>| {
            let mut out = end.to_vec();
            out.splice(at..=at, given);
            out.retain(|stmt| !self.is_alloc(stmt));
            out
        };
        let in_order = steps.into_iter().flat_map(Steps::in_order);
        match (self.how(end), own) {
            (End::Copied(at, copied), _) => {
                let borrowed = borrow(copied.owner, copied.first.clone(), copied.count.clone());
                instead(at, [borrowed].into_iter().chain(in_order).collect())
            }
            (End::Layout(at, layout), _) => {
                let given = steps.map(|steps| steps.borrowed(&self.buffer, &layout));
                instead(at, given.unwrap_or_default())
            }
            (End::Branches(at, _), _) => {
                let inner = end.get(at).map(|inner| self.branches(inner, own, steps));
                instead(at, inner.into_iter().collect())
            }
            (End::Made, Some(own)) => {
                let before = self.allocated.iter().map(|(_, alloc)| alloc);
                let made: Vec<&Stmt> = before.chain(end).collect();
                let size = made.iter().find_map(|stmt| match stmt {
                    Stmt::Alloc { buffer, size, .. } if *buffer == self.buffer => Some(size.clone()),
                    _ => None,
                });
                let made = made.into_iter().map(|stmt| renamed(stmt, &self.buffer, own));
                let borrowed = borrow(own, Index::zero(), size.unwrap_or_else(Index::zero));
                made.chain([borrowed]).chain(in_order).collect()
            }
            (End::Made, None) => end.to_vec(),
        }
    }
}

/// Statements that read the array where it is now, by their slots.
type Reads = Vec<(usize, Vec<Stmt>)>;

/// Scalars that statements assign to, at any depth.
fn variables(stmts: &[Stmt], names: &mut HashSet<Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Var { name, .. } | Stmt::Assign { name, .. } => {
                names.insert(name.clone());
            }
            Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => {
                names.extend(
                    arguments
                        .iter()
                        .filter_map(|argument| argument.written().cloned()),
                );
            }
            _ => {}
        }
        stmt.blocks()
            .into_iter()
            .for_each(|block| variables(block, names));
    }
}

/// The types of buffers that statements declare, at any depth.
fn buffers(stmts: &[Stmt], types: &mut HashMap<Name, ScalarType>) {
    for stmt in stmts {
        if let Stmt::Buffer { name, ty, .. } = stmt {
            types.insert(name.clone(), *ty);
        }
        stmt.blocks().into_iter().for_each(|block| buffers(block, types));
    }
}

/// Every name that statements bind, at any depth.
fn declared(stmts: &[Stmt], names: &mut HashSet<Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Let { name, .. }
            | Stmt::Var { name, .. }
            | Stmt::Buffer { name, .. }
            | Stmt::Reserve { name, .. }
            | Stmt::For { index: name, .. } => {
                names.insert(name.clone());
            }
            Stmt::Atomic { step, .. } => names.extend(step.bound().map(|(name, _)| name.clone())),
            _ => {}
        }
        stmt.blocks().into_iter().for_each(|block| declared(block, names));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        borrow(&mut program.procs);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const HEAD: &str = "proc main(n: i64, k: i64, c: bool, xs: read i64, out: write i64) {
        buffer a: i64 alloc a[n + k] for h < n + k { a[h] = xs[h] } buffer r: i64 alloc r[n] ";
    const TAIL: &str = "for j < n { out[j] = r[j] } free r }";

    #[test]
    fn what_is_there_is_borrowed() {
        let text = rewritten(&format!(
            "{HEAD} if c {{ copy r[0] = a[k] for n }} else {{ for i < n {{ r[i] = a[i] * 2i64 }} }} free a {TAIL}"
        ));
        assert!(text.contains("borrow r = a[k] for n"), "{text}");
        assert!(
            text.contains("alloc r_own[n]") && text.contains("borrow r = r_own[0] for n"),
            "{text}"
        );
        assert!(text.find("free a") > text.find("out[j]"), "{text}");
    }

    #[test]
    fn nothing_is_made_where_all_branches_borrow() {
        let text = rewritten(&format!(
            "{HEAD} if c {{ copy r[0] = a[k] for n }} else {{ if n > k {{ copy r[0] = xs[0] for n }} else {{ copy r[0] = a[0] for n }} }}
             {TAIL_WITH_A}",
            TAIL_WITH_A = "for j < n { out[j] = r[j] } free r free a }"
        ));
        assert!(
            text.matches("borrow").count() == 4 && !text.contains("alloc r"),
            "{text}"
        );
    }

    #[test]
    fn branches_of_different_sizes() {
        let text = rewritten(
            "proc main(n: i64, k: i64, c: bool, xs: read i64, ys: read i64, out: write i64) {
               var r_size: i64 = 0i64 buffer r: i64
               if c { r_size = n alloc r[r_size] let size: i64 = r_size copy r[0] = xs[0] for size }
               else { r_size = k alloc r[r_size] let size_2: i64 = r_size copy r[0] = ys[0] for size_2 }
               let m: i64 = r_size for j < m { out[j] = r[j] } free r }",
        );
        assert!(
            !text.contains("alloc") && text.contains("borrow r = ys[0] for size_2"),
            "{text}"
        );
    }

    #[test]
    fn not_where_the_owner_or_the_array_is_written_meanwhile() {
        for (then, after) in [
            ("copy r[0] = a[0] for n a[0] = 1i64", ""),
            ("copy r[0] = a[0] for n", "a[0] = 1i64"),
            ("copy r[0] = a[0] for n", "r[0] = 1i64"),
            (
                "buffer b: i64 alloc b[n] for l < n { b[l] = l } copy r[0] = b[0] for n free b",
                "",
            ),
            ("copy r[1] = a[0] for n - 1 r[0] = 0i64", ""),
        ] {
            let text = rewritten(&format!(
                "{HEAD} if c {{ {then} }} else {{ for i < n {{ r[i] = 0i64 }} }} {after} {TAIL_WITH_A}",
                TAIL_WITH_A = "for j < n { out[j] = r[j] } free r free a }"
            ));
            assert!(!text.contains("borrow"), "{text}");
        }
    }
}
