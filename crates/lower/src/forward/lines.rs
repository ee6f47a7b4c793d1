//! The statements of a block, found by the names that they have to do with.

use super::{Sizes, changed};
use crate::buffers::{Moved, changes_hands, renamed};
use crate::moves::moves;
use crate::tidy::{Reads, touches};
use almach_base::Name;
use almach_imp::{Index, Stmt};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Places are those of the block as it was: what goes leaves a hole.
pub(super) struct Lines {
    pub(super) stmts: Vec<Option<Stmt>>,
    /// The statements that have to do with a name, at any depth.
    uses: HashMap<Name, BTreeSet<usize>>,
    /// Those that bind or change a scalar.
    changes: HashMap<Name, BTreeSet<usize>>,
    /// Where a buffer is declared.
    declared: HashMap<Name, usize>,
}

/// All names that a statement has to do with.
fn names(stmt: &Stmt) -> HashSet<Name> {
    let mut touched = Reads::default();
    touches(stmt, &mut touched);
    freed(stmt, &mut touched.names);
    touched.names
}

fn freed(stmt: &Stmt, names: &mut HashSet<Name>) {
    if let Stmt::Free(name) = stmt {
        names.insert(name.clone());
    }
    for block in stmt.blocks() {
        block.iter().for_each(|inner| freed(inner, names));
    }
}

fn makes(stmt: &Stmt, buffer: &Name) -> bool {
    matches!(stmt, Stmt::Buffer { name, .. } | Stmt::Alloc { buffer: name, .. } if name == buffer)
}

fn frees(stmt: &Stmt, buffer: &Name) -> bool {
    matches!(stmt, Stmt::Free(name) if name == buffer)
}

impl Lines {
    pub(super) fn new(stmts: Vec<Stmt>) -> Lines {
        let mut lines = Lines {
            stmts: Vec::new(),
            uses: HashMap::new(),
            changes: HashMap::new(),
            declared: HashMap::new(),
        };
        for (at, stmt) in stmts.iter().enumerate() {
            for name in names(stmt) {
                lines.uses.entry(name).or_default().insert(at);
            }
            let mut bound = HashSet::new();
            changed(stmt, &mut bound);
            for name in bound {
                lines.changes.entry(name).or_default().insert(at);
            }
            if let Stmt::Buffer { name, .. } = stmt {
                lines.declared.insert(name.clone(), at);
            }
        }
        lines.stmts = stmts.into_iter().map(Some).collect();
        lines
    }

    pub(super) fn stmt(&self, at: usize) -> Option<&Stmt> {
        self.stmts.get(at)?.as_ref()
    }

    /// The statements in a part of the block that have to do with a name.
    fn using<'a>(
        &'a self,
        name: &Name,
        part: Range<usize>,
    ) -> impl Iterator<Item = (usize, &'a Stmt)> + use<'a> {
        let all = self.uses.get(name).into_iter();
        // A part may be empty.
        let part = part.start..part.end.max(part.start);
        let places = all.flat_map(move |places| places.range(part.clone()));
        places.filter_map(|at| Some((*at, self.stmt(*at)?)))
    }

    fn end(&self) -> usize {
        self.stmts.len()
    }

    fn is_dead_from(&self, at: usize, buffer: &Name) -> bool {
        self.using(buffer, at..self.end())
            .all(|(_, stmt)| frees(stmt, buffer))
    }

    fn keeps_its_memory(&self, buffer: &Name, part: Range<usize>) -> bool {
        self.using(buffer, part)
            .all(|(_, stmt)| !changes_hands(stmt, buffer))
    }

    /// Takes out the buffer that is declared at `at`, where it is copied once, as a whole, and not used after; the one that it is
    /// part of then.
    pub(super) fn forwarded(&mut self, at: usize, buffer: &Name, sizes: &Sizes) -> Option<Name> {
        let (copy_at, (to, first)) = self
            .using(buffer, at + 1..self.end())
            .find_map(|(at, stmt)| Some((at, sizes.destination(stmt, buffer)?)))?;
        let is_allocated =
            |(_, stmt): (usize, &Stmt)| matches!(stmt, Stmt::Alloc { buffer, .. } if *buffer == to);
        let exists = self.declaration(&to, at).is_none() || self.using(&to, 0..at).any(is_allocated);
        let is_known = first.free_vars().all(|var| {
            let changes = self.changes.get(var);
            changes.is_none_or(|changes| changes.range(at..copy_at).next().is_none())
        });
        let stays = self.keeps_its_memory(buffer, at..copy_at);
        let untouched = to != *buffer && self.using(&to, at..copy_at).next().is_none();
        if !(exists && is_known && stays && untouched && self.is_dead_from(copy_at + 1, buffer)) {
            return None;
        }
        self.without_copy(buffer, &to, &first, (at, copy_at));
        Some(to)
    }

    fn without_copy(&mut self, buffer: &Name, to: &Name, first: &Index, (at, copy_at): (usize, usize)) {
        let moved = Moved {
            from: buffer,
            to,
            first,
        };
        self.change(buffer, to, at, |place, stmt| {
            let goes = place == copy_at
                || (place < copy_at && makes(stmt, buffer))
                || (place > copy_at && frees(stmt, buffer));
            (!goes).then(|| moved.stmt(stmt))
        });
    }

    /// Takes out the buffer that is declared at `at`, where it starts as a copy of another one of the same block that is not used
    /// after; that one.
    pub(super) fn taken_over(&mut self, at: usize, buffer: &Name, sizes: &Sizes) -> Option<Name> {
        let (copy_at, copy, old) = self.using(buffer, at + 1..self.end()).find_map(|(at, stmt)| {
            let found = moves(stmt).filter(|moves| moves.to == buffer)?;
            Some((at, stmt, found.from.clone()))
        })?;
        let is_whole = sizes.destination(copy, &old) == Some((buffer.clone(), Index::zero()))
            && sizes.of(&old) == sizes.of(buffer);
        let is_new = self
            .using(buffer, at..copy_at)
            .all(|(_, stmt)| makes(stmt, buffer));
        let stayed = self.keeps_its_memory(&old, 0..copy_at);
        let is_alike = self.is_declared_alike(at, &old);
        if !(is_whole && is_new && stayed && is_alike && self.is_dead_from(copy_at + 1, &old)) {
            return None;
        }
        let ends: Vec<usize> = self
            .using(&old, copy_at + 1..self.end())
            .map(|(at, _)| at)
            .collect();
        ends.into_iter().for_each(|at| self.take_out(at));
        self.change(buffer, &old, at, |place, stmt| {
            (place > copy_at).then(|| renamed(stmt, buffer, &old))
        });
        Some(old)
    }

    /// What declares a buffer, where that is before `at`.
    fn declaration(&self, buffer: &Name, at: usize) -> Option<&Stmt> {
        let place = self.declared.get(buffer).filter(|place| **place < at)?;
        self.stmt(*place)
    }

    /// Whether a buffer is declared before `at`, as the one that is declared there is.
    fn is_declared_alike(&self, at: usize, old: &Name) -> bool {
        match (self.stmt(at), self.declaration(old, at)) {
            (
                Some(Stmt::Buffer { ty, space, .. }),
                Some(Stmt::Buffer {
                    ty: old_ty,
                    space: old_space,
                    ..
                }),
            ) => (ty, space) == (old_ty, old_space),
            _ => false,
        }
    }

    fn take_out(&mut self, at: usize) {
        if let Some(stmt) = self.stmts.get_mut(at) {
            *stmt = None;
        }
    }

    /// Every statement from `at` on that has to do with a buffer becomes what `new` makes of it, which has to do with another one
    /// instead.
    fn change(&mut self, buffer: &Name, other: &Name, at: usize, new: impl Fn(usize, &Stmt) -> Option<Stmt>) {
        let places: Vec<usize> = self.using(buffer, at..self.end()).map(|(at, _)| at).collect();
        for place in places {
            let Some(slot) = self.stmts.get_mut(place) else {
                continue;
            };
            *slot = slot.as_ref().and_then(|stmt| new(place, stmt));
            if slot.is_some() {
                self.uses.entry(other.clone()).or_default().insert(place);
            }
        }
        self.uses.remove(buffer);
    }

    /// Where the buffers are declared that statements have to do with beside this one, which may be worth another look.
    pub(super) fn buffers_beside(&self, buffer: &Name) -> BTreeSet<usize> {
        let beside = self
            .using(buffer, 0..self.end())
            .filter(|(_, stmt)| moves(stmt).is_some())
            .flat_map(|(_, stmt)| names(stmt));
        let mut found: HashSet<Name> = beside.collect();
        found.insert(buffer.clone());
        found
            .iter()
            .filter_map(|name| self.declared.get(name).copied())
            .collect()
    }
}
