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

mod starts;

use crate::buffers::{changes_hands, mentions, renamed, writes};
use crate::in_place::allocated;
use almach_base::Name;
use almach_imp::{Groups, Index, Proc, Space, Stmt, is_column};
use almach_value::ScalarType;
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
        let mut pass = Borrowing { sizes, names, types };
        let whole = proc.body.clone();
        pass.block(&whole, &mut proc.body);
    }
}

struct Borrowing {
    /// Numbers of cells of buffers that are allocated with one size only.
    sizes: HashMap<Name, Option<Index>>,
    names: HashSet<Name>,
    types: HashMap<Name, ScalarType>,
}

/// A buffer that branches give: where it is declared, allocated, given and freed in its block.
struct Given<'a> {
    buffer: &'a Name,
    ty: ScalarType,
    declared: usize,
    /// Before the branches, with the allocation; none where each branch makes it, of the size that it gives.
    allocated: Option<(usize, Stmt)>,
    branches: usize,
    freed: usize,
}

/// What is borrowed from, and whether a branch makes something of its own.
#[derive(Default)]
struct Found {
    owners: HashSet<Name>,
    makes: bool,
}

impl Borrowing {
    /// `whole`: the procedure as it was.
    fn block(&mut self, whole: &[Stmt], stmts: &mut Vec<Stmt>) {
        // The last first: what it borrows from is freed behind it, and so its owners may be borrowed in turn.
        let mut at = stmts.len();
        while at > 0 {
            at -= 1;
            let better = self.borrowed(stmts, at);
            if let Some(better) = better.or_else(|| self.started(whole, stmts, at)) {
                *stmts = better;
            }
        }
        for stmt in stmts.iter_mut() {
            stmt.blocks_mut()
                .into_iter()
                .for_each(|inner| self.block(whole, inner));
        }
    }

    /// The statements, where the buffer that is declared at `at` need not be copied to.
    fn borrowed(&mut self, stmts: &[Stmt], at: usize) -> Option<Vec<Stmt>> {
        let given = self.given(stmts, at)?;
        let Some(Stmt::If { then, otherwise, .. }) = stmts.get(given.branches) else {
            return None;
        };
        let mut found = Found::default();
        let mut inside = HashSet::new();
        declared(then, &mut inside);
        declared(otherwise, &mut inside);
        [then, otherwise]
            .into_iter()
            .try_for_each(|end| given.end(end, &mut found))?;
        if found.owners.is_empty()
            || found
                .owners
                .iter()
                .any(|owner| inside.contains(owner) || is_column(owner))
        {
            return None;
        }
        let later = stmts.get(given.branches + 1..given.freed)?;
        let stays = later.iter().all(|stmt| {
            let freed = matches!(stmt, Stmt::Free(name) if found.owners.contains(name));
            freed || found.owners.iter().all(|owner| !writes(stmt, owner))
        });
        if !stays {
            return None;
        }
        let own = found.makes.then(|| self.fresh(&format!("{}_own", given.buffer)));
        Some(given.rewritten(stmts, &found, own.as_ref()))
    }

    fn given<'a>(&self, stmts: &'a [Stmt], declared: usize) -> Option<Given<'a>> {
        let Some(Stmt::Buffer {
            name: buffer,
            ty,
            space: Space::Host,
        }) = stmts.get(declared)
        else {
            return None;
        };
        let size = self.sizes.get(buffer)?.clone()?;
        if size.as_constant().is_some_and(|cells| cells < SMALL) {
            return None;
        }
        let mut uses = stmts.iter().enumerate().skip(declared + 1);
        let mut used = || uses.find(|(_, stmt)| mentions(stmt, buffer));
        let (allocated, branches) = match used()? {
            (at, alloc @ Stmt::Alloc { .. }) => (Some((at, alloc.clone())), used()?),
            other => (None, other),
        };
        let (branches, Stmt::If { .. }) = branches else {
            return None;
        };
        let freed = stmts
            .iter()
            .position(|stmt| matches!(stmt, Stmt::Free(name) if name == buffer))?;
        let reads = stmts.get(branches + 1..freed)?;
        let only_read = reads.iter().all(|stmt| !writes(stmt, buffer));
        only_read.then_some(Given {
            buffer,
            ty: *ty,
            declared,
            allocated,
            branches,
            freed,
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
    /// Its branches give it, at that place.
    Branches(usize, [&'a Vec<Stmt>; 2]),
    Made,
}

struct Copied<'a> {
    owner: &'a Name,
    first: &'a Index,
    count: &'a Index,
}

impl Given<'_> {
    fn how<'a>(&self, end: &'a [Stmt]) -> End<'a> {
        let mut uses = end
            .iter()
            .enumerate()
            .filter(|(_, stmt)| mentions(stmt, self.buffer) && !self.is_alloc(stmt));
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
            } if to == self.buffer && to_index.is_zero() && from != to => End::Copied(
                at,
                Copied {
                    owner: from,
                    first: from_index,
                    count,
                },
            ),
            Stmt::If { then, otherwise, .. } => End::Branches(at, [then, otherwise]),
            _ => End::Made,
        }
    }

    fn is_alloc(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Alloc { buffer, .. } if buffer == self.buffer)
    }

    /// What the end of a branch borrows. None where it cannot be.
    fn end(&self, end: &[Stmt], found: &mut Found) -> Option<()> {
        match self.how(end) {
            End::Copied(at, copied) => {
                let later = end.get(at + 1..)?;
                found.owners.insert(copied.owner.clone());
                later.iter().all(|stmt| !writes(stmt, copied.owner)).then_some(())
            }
            End::Branches(at, inner) => {
                let before = found.owners.clone();
                inner.into_iter().try_for_each(|inner| self.end(inner, found))?;
                let later = end.get(at + 1..)?;
                let stays = |owner: &Name| later.iter().all(|stmt| !writes(stmt, owner));
                found.owners.difference(&before).all(stays).then_some(())
            }
            End::Made => {
                found.makes = true;
                let stays = end.iter().all(|stmt| !changes_hands(stmt, self.buffer));
                let allocated = end.iter().filter(|stmt| self.is_alloc(stmt)).count();
                (stays && allocated == usize::from(self.allocated.is_none())).then_some(())
            }
        }
    }

    fn rewritten(&self, stmts: &[Stmt], found: &Found, own: Option<&Name>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len() + 2);
        let mut behind = Vec::new();
        for (at, stmt) in stmts.iter().enumerate() {
            match stmt {
                _ if at == self.declared => {
                    let declare = |name: &Name, space: Space| Stmt::Buffer {
                        name: name.clone(),
                        ty: self.ty,
                        space,
                    };
                    out.extend(own.map(|own| declare(own, Space::Host)));
                    out.push(declare(self.buffer, Space::Borrowed));
                }
                _ if self.allocated.as_ref().is_some_and(|(alloc, _)| *alloc == at) => {}
                _ if at == self.branches => out.push(self.branches(stmt, own)),
                _ if at == self.freed => {
                    out.extend(own.map(|own| Stmt::Free(own.clone())));
                    out.append(&mut behind);
                }
                Stmt::Free(name) if at > self.branches && at < self.freed && found.owners.contains(name) => {
                    behind.push(stmt.clone());
                }
                _ => out.push(stmt.clone()),
            }
        }
        out
    }

    fn branches(&self, stmt: &Stmt, own: Option<&Name>) -> Stmt {
        match stmt {
            Stmt::If {
                condition,
                then,
                otherwise,
            } => Stmt::If {
                condition: condition.clone(),
                then: self.ended(then, own),
                otherwise: self.ended(otherwise, own),
            },
            other => other.clone(),
        }
    }

    fn ended(&self, end: &[Stmt], own: Option<&Name>) -> Vec<Stmt> {
        let mut out = end.to_vec();
        let borrow = |from: &Name, first: Index, count: Index| Stmt::Borrow {
            buffer: self.buffer.clone(),
            from: from.clone(),
            first,
            count,
        };
        match (self.how(end), own) {
            (End::Copied(at, copied), _) => {
                if let Some(copy) = out.get_mut(at) {
                    *copy = borrow(copied.owner, copied.first.clone(), copied.count.clone());
                }
                out.retain(|stmt| !self.is_alloc(stmt));
                out
            }
            (End::Branches(at, _), _) => {
                if let Some(inner) = out.get_mut(at) {
                    *inner = self.branches(inner, own);
                }
                out.retain(|stmt| !self.is_alloc(stmt));
                out
            }
            (End::Made, Some(own)) => {
                let before = self.allocated.iter().map(|(_, alloc)| alloc);
                let made: Vec<&Stmt> = before.chain(end).collect();
                let size = made.iter().find_map(|stmt| match stmt {
                    Stmt::Alloc { buffer, size, .. } if buffer == self.buffer => Some(size.clone()),
                    _ => None,
                });
                let made = made.into_iter().map(|stmt| renamed(stmt, self.buffer, own));
                let borrowed = borrow(own, Index::zero(), size.unwrap_or_else(Index::zero));
                made.chain([borrowed]).collect()
            }
            (End::Made, None) => out,
        }
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
