//! The statements of a block while some of them are replaced: each has a slot that may come to hold none or several, and it is known
//! which slots have to do with a name, so that a step looks only at what it is about.

use crate::tidy::{Reads, touches};
use almach_base::Name;
use almach_imp::Stmt;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;

pub(crate) struct Slots {
    slots: Vec<Vec<Stmt>>,
    /// Slots that mention a name, or did once.
    uses: HashMap<Name, BTreeSet<usize>>,
}

impl Slots {
    pub(crate) fn of(stmts: Vec<Stmt>) -> Slots {
        let mut slots = Slots {
            slots: Vec::with_capacity(stmts.len()),
            uses: HashMap::new(),
        };
        for (at, stmt) in stmts.into_iter().enumerate() {
            slots.learn(at, &stmt);
            slots.slots.push(vec![stmt]);
        }
        slots
    }

    fn learn(&mut self, at: usize, stmt: &Stmt) {
        let mut touched = Reads::default();
        touches(stmt, &mut touched);
        let freed = match stmt {
            Stmt::Free(name) => Some(name.clone()),
            _ => None,
        };
        for name in touched.in_order.into_iter().chain(freed) {
            self.uses.entry(name).or_default().insert(at);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get(&self, at: usize) -> &[Stmt] {
        self.slots.get(at).map_or(&[], Vec::as_slice)
    }

    /// The statement of a slot that has one.
    pub(crate) fn only(&self, at: usize) -> Option<&Stmt> {
        match self.get(at) {
            [stmt] => Some(stmt),
            _ => None,
        }
    }

    /// Slots behind one and before another that may mention a name, in order.
    pub(crate) fn between(
        &self,
        name: &Name,
        after: usize,
        before: usize,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let range = (Bound::Excluded(after), Bound::Excluded(before.max(after + 1)));
        self.uses
            .get(name)
            .into_iter()
            .flat_map(move |uses| uses.range(range).copied())
    }

    /// Slots behind one that may mention a name, in order.
    pub(crate) fn after(&self, name: &Name, after: usize) -> impl Iterator<Item = usize> + use<'_> {
        self.between(name, after, usize::MAX)
    }

    /// Slots before one that may mention a name, the last first.
    pub(crate) fn before(&self, name: &Name, before: usize) -> impl Iterator<Item = usize> + use<'_> {
        let uses = self.uses.get(name).into_iter();
        uses.flat_map(move |uses| uses.range(..before).rev().copied())
    }

    /// The first slot behind one that frees a buffer.
    pub(crate) fn freed(&self, buffer: &Name, after: usize) -> Option<usize> {
        self.after(buffer, after)
            .find(|at| self.get(*at).iter().any(|stmt| frees(stmt, buffer)))
    }

    pub(crate) fn replace(&mut self, at: usize, stmts: Vec<Stmt>) {
        for stmt in &stmts {
            self.learn(at, stmt);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = stmts;
        }
    }

    /// Frees another buffer, or none, where one was freed.
    pub(crate) fn free_instead(&mut self, at: usize, buffer: &Name, instead: Option<&Name>) {
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        slot.retain_mut(|stmt| match instead {
            _ if !frees(stmt, buffer) => true,
            Some(other) => {
                *stmt = Stmt::Free(other.clone());
                true
            }
            None => false,
        });
        if let Some(other) = instead {
            self.uses.entry(other.clone()).or_default().insert(at);
        }
    }

    /// Frees buffers in a later slot where they were freed before it, in the order that they were freed in: names are no order,
    /// another compilation has others.
    pub(crate) fn free_later<'n>(
        &mut self,
        buffers: impl IntoIterator<Item = &'n Name>,
        after: usize,
        slot: usize,
    ) {
        let mut freed: Vec<(usize, usize, &Name)> = buffers
            .into_iter()
            .filter_map(|buffer| {
                let at = self.freed(buffer, after).filter(|at| *at < slot)?;
                let inside = self.get(at).iter().position(|stmt| frees(stmt, buffer))?;
                Some((at, inside, buffer))
            })
            .collect();
        freed.sort();
        for (at, _, buffer) in freed {
            self.free_instead(at, buffer, None);
            if let Some(later) = self.slots.get_mut(slot) {
                later.push(Stmt::Free(buffer.clone()));
            }
            self.uses.entry(buffer.clone()).or_default().insert(slot);
        }
    }

    pub(crate) fn into_stmts(self) -> Vec<Stmt> {
        self.slots.into_iter().flatten().collect()
    }
}

pub(crate) fn frees(stmt: &Stmt, buffer: &Name) -> bool {
    matches!(stmt, Stmt::Free(name) if name == buffer)
}
