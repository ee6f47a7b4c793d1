//! Blocks that may be one at run time, because statements hand them on.

use super::{Draft, Giver, given_blocks, held};
use crate::index::StmtInfo;
use crate::ir::{Given, Item, Kind, key};
use almach_core::{Exp, Var};
use std::collections::HashSet;

impl Draft<'_, '_> {
    /// Whether statements hand it on, or bind it.
    pub fn is_handed_on(&self, block: &Var) -> bool {
        !self.neighbours(block).is_empty()
    }

    /// All blocks that statements connect with this one, in any direction.
    pub fn class(&self, block: &Var) -> HashSet<Var> {
        let mut found: HashSet<Var> = HashSet::new();
        let mut open = vec![block.clone()];
        while let Some(block) = open.pop() {
            if !found.contains(&block) {
                open.extend(self.neighbours(&block));
                found.insert(block);
            }
        }
        found
    }

    fn neighbours(&self, block: &Var) -> Vec<Var> {
        let mut out = self.handed_to(block);
        if let Some((item, info)) = self.item(block) {
            out.push(item.var.clone());
            out.extend(item.inside.clone());
            out.extend(given_blocks(std::slice::from_ref(item)).cloned());
            out.extend(self.argument_blocks(info));
        }
        out
    }

    /// The blocks that this one becomes where it is handed on.
    pub fn handed_to(&self, block: &Var) -> Vec<Var> {
        let mut out = Vec::new();
        for giver in self.givers.get(block).into_iter().flatten() {
            let Giver::Statement(stmt) = giver else {
                continue;
            };
            let items = self
                .memory
                .heads
                .get(stmt)
                .into_iter()
                .flat_map(|head| &head.items);
            let gives = |item: &&Item| given_blocks(std::slice::from_ref(*item)).any(|given| given == block);
            out.extend(items.filter(gives).map(|item| held(item).clone()));
        }
        if let Some((item, info)) = self.item(block) {
            if item.inside.as_ref() == Some(block) {
                out.push(item.var.clone());
            }
            // Two results of a call may be one block.
            if matches!(&info.stmt.exp, Exp::Call { .. }) {
                out.extend(self.bound_by(info));
            }
        }
        let placed = self.placed.get(block).into_iter().flatten();
        for call in placed.flat_map(|var| self.calls.get(var)).flatten() {
            if let Some(info) = self.index.stmts.get(*call) {
                out.extend(self.bound_by(info));
            }
        }
        out
    }

    fn bound_by(&self, info: &StmtInfo<'_>) -> Vec<Var> {
        let head = key(info.stmt).and_then(|key| self.memory.heads.get(key));
        let items = head.into_iter().flat_map(|head| &head.items);
        items.map(|item| item.var.clone()).collect()
    }

    /// All blocks that may be this one: what may be `xs` or new is neither what is new nor `xs` for sure, but those two are
    /// never one.
    pub fn may_be(&self, block: &Var) -> HashSet<Var> {
        let own = self.origins(block);
        let mut found = HashSet::new();
        // Whatever may be this block may have been made where this one may have been.
        let mut open: Vec<Var> = vec![block.clone()];
        for origin in own {
            match origin {
                Origin::Block(var) | Origin::Made(var, _) => open.push(var),
            }
        }
        while let Some(block) = open.pop() {
            if !found.contains(&block) {
                open.extend(self.handed_to(&block));
                found.insert(block);
            }
        }
        found
    }

    /// Where a block may have been made.
    fn origins(&self, block: &Var) -> HashSet<Origin> {
        let mut made = HashSet::new();
        let mut seen = HashSet::new();
        let mut open = vec![block.clone()];
        while let Some(block) = open.pop() {
            if seen.contains(&block) {
                continue;
            }
            let (ends, before) = self.comes_from(&block);
            if ends.is_empty() && before.is_empty() {
                made.insert(Origin::Block(block.clone()));
            }
            made.extend(ends);
            open.extend(before);
            seen.insert(block);
        }
        made
    }

    /// Where a block is made, and the blocks that it may be.
    fn comes_from(&self, block: &Var) -> (Vec<Origin>, Vec<Var>) {
        let (mut made, mut before) = (Vec::new(), Vec::new());
        let Some((item, info)) = self
            .item(block)
            .filter(|(item, _)| matches!(item.kind, Kind::Block(_)))
        else {
            return (made, before);
        };
        if held(item) != block {
            return (made, vec![held(item).clone()]);
        }
        for (end, given) in item.given.iter().enumerate() {
            match given {
                Given::Block(given) if given != block => before.push(given.clone()),
                Given::Alloc(_) | Given::Found => made.push(Origin::Made(block.clone(), end)),
                Given::Block(_) | Given::Integer(_) => {}
            }
        }
        if item.given.is_empty() {
            made.push(Origin::Made(block.clone(), 0));
        }
        if matches!(&info.stmt.exp, Exp::Call { .. }) {
            before.extend(self.argument_blocks(info));
            before.extend(self.bound_by(info).into_iter().filter(|other| other != block));
        }
        (made, before)
    }
}

/// Where a block comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Origin {
    /// An allocation, or a parameter.
    Block(Var),
    /// It is made for what holds it, at the end with that number.
    Made(Var, usize),
}
