//! Whether two names of blocks may be one block at a moment when both are in scope.

use super::{Draft, held};
use crate::index::{BodyId, StmtInfo};
use crate::ir::{Given, Item, Kind, key};
use almach_core::{Exp, Var};
use std::collections::HashSet;

impl<'p> Draft<'_, 'p> {
    /// Whether two names may be names of one block. `loops` are the loops around, innermost first: those that swap blocks keep
    /// them apart.
    pub fn may_meet(&self, a: &Var, b: &Var, loops: &[&StmtInfo<'p>]) -> bool {
        if a == b {
            return true;
        }
        if self.is_made_after(a, b) || self.is_made_after(b, a) || self.are_kept_apart(a, b, loops) {
            return false;
        }
        self.may_be(a).contains(b)
    }

    /// The loops around a body, innermost first.
    pub fn loops_around(&self, body: BodyId) -> Vec<&StmtInfo<'p>> {
        let bodies = self.index().around(body).into_iter();
        let around = bodies.filter_map(|body| {
            let info = self.index().bodies.get(body.0)?;
            self.index().stmts.get(info.around?)
        });
        around
            .filter(|info| matches!(info.stmt.exp, Exp::Loop(_)))
            .collect()
    }

    /// Of some blocks, those that loops around a body do not keep apart from another one.
    pub fn not_kept_apart(&self, blocks: HashSet<Var>, from: &Var, body: BodyId) -> HashSet<Var> {
        let loops = self.loops_around(body);
        if loops.is_empty() {
            return blocks;
        }
        let stays = |block: &Var| block == from || !self.are_kept_apart(from, block, &loops);
        blocks.into_iter().filter(stays).collect()
    }

    /// Whether a block is new when another one is there already: then they are two, whatever the names stand for in other
    /// iterations.
    fn is_made_after(&self, a: &Var, b: &Var) -> bool {
        let Some((_, made)) = self.alloc(a) else {
            return false;
        };
        self.alloc(b).is_some() || self.bound(b).is_some_and(|moment| moment < made.start)
    }

    fn are_kept_apart(&self, a: &Var, b: &Var, loops: &[&StmtInfo<'p>]) -> bool {
        let binder = |name: &Var| {
            self.item(name)
                .map(|(item, info)| (item.var == *name, info.start))
        };
        // What a loop ends with.
        if let (Some((true, one)), Some((true, other))) = (binder(a), binder(b))
            && one == other
            && let Some((_, info)) = self.item(a)
            && self.keeps_apart(info, loops)
        {
            return true;
        }
        let mut around = loops.iter().enumerate();
        around.any(|(at, info)| {
            let outer = loops.get(at + 1..).unwrap_or(&[]);
            let ends = self.ends_inside(a, info).zip(self.ends_inside(b, info));
            ends.is_some_and(|(a, b)| a.is_disjoint(&b)) && self.keeps_apart(info, outer)
        })
    }

    /// Whether a loop hands on different blocks under different names: it starts with different ones, and each iteration gives
    /// each of those that it got, or made, at most once.
    fn keeps_apart(&self, info: &StmtInfo<'p>, outer: &[&StmtInfo<'p>]) -> bool {
        if !matches!(info.stmt.exp, Exp::Loop(_)) {
            return false;
        }
        let head = key(info.stmt).and_then(|key| self.heads.get(key));
        let blocks = head.into_iter().flat_map(|head| &head.items);
        let blocks: Vec<&Item> = blocks
            .filter(|item| matches!(item.kind, Kind::Block(_)))
            .collect();
        let pairs = blocks.iter().enumerate().flat_map(|(at, one)| {
            let others = blocks.iter().skip(at + 1);
            others.map(move |other| (*one, *other))
        });
        pairs.into_iter().all(|(one, other)| {
            let first = match (one.given.first(), other.given.first()) {
                (Some(Given::Block(a)), Some(Given::Block(b))) => !self.may_meet(a, b, outer),
                (Some(_), Some(_)) => true,
                _ => false,
            };
            let next = match (one.given.get(1), other.given.get(1)) {
                (Some(Given::Block(a)), Some(Given::Block(b))) => {
                    let ends = self.ends_inside(a, info).zip(self.ends_inside(b, info));
                    ends.is_some_and(|(a, b)| a.is_disjoint(&b))
                }
                (Some(_), Some(_)) => true,
                _ => false,
            };
            first && next
        })
    }

    /// What a name may stand for in an iteration of a loop: what the iteration got, or made. None where it may be something from
    /// outside.
    fn ends_inside(&self, name: &Var, info: &StmtInfo<'p>) -> Option<HashSet<Var>> {
        let (mut ends, mut seen, mut open) = (HashSet::new(), HashSet::new(), vec![name.clone()]);
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let is_state = self.item(&name).is_some_and(|(item, binder)| {
                binder.start == info.start && item.inside.as_ref() == Some(&name)
            });
            if is_state {
                ends.insert(name);
                continue;
            }
            let bound = self.bound(&name)?;
            if bound <= info.start || bound >= info.end {
                return None;
            }
            match self.item(&name) {
                None => {
                    ends.insert(name);
                }
                Some((item, _)) if held(item) != &name => open.push(held(item).clone()),
                // A call may give what it is given.
                Some((item, _)) if item.given.is_empty() => return None,
                Some((item, _)) => {
                    for given in &item.given {
                        match given {
                            Given::Block(block) => open.push(block.clone()),
                            Given::Alloc(_) | Given::Found => {
                                ends.insert(name.clone());
                            }
                            Given::Integer(_) => {}
                        }
                    }
                }
            }
        }
        Some(ends)
    }
}
