//! Which procedures call each other in turn.

use crate::ir::Proc;
use crate::naturals::calls;
use almach_base::Name;
use std::collections::{HashMap, HashSet};

/// The recursive groups of a program: procedures that reach each other by calls. One that does not reach itself is in none.
#[derive(Clone, Default, Debug)]
pub struct Groups {
    of: HashMap<Name, usize>,
}

impl Groups {
    pub fn of<'p>(procs: impl IntoIterator<Item = &'p Proc>) -> Groups {
        let called: HashMap<&Name, Vec<&Name>> = procs
            .into_iter()
            .map(|proc| {
                let mut called = Vec::new();
                calls(&proc.body, &mut called);
                (&proc.name, called)
            })
            .collect();
        let reached: HashMap<&Name, HashSet<&Name>> =
            called.keys().map(|name| (*name, reach(name, &called))).collect();
        let mut groups = Groups::default();
        for (name, others) in &reached {
            if !others.contains(name) || groups.of.contains_key(*name) {
                continue;
            }
            let number = groups.of.len();
            for other in others {
                if reached.get(other).is_some_and(|back| back.contains(name)) {
                    groups.of.insert((*other).clone(), number);
                }
            }
        }
        groups
    }

    pub fn is_recursive(&self, proc: &Name) -> bool {
        self.of.contains_key(proc)
    }

    /// Whether a call of the one by the other may lead back to it.
    pub fn are_together(&self, one: &Name, other: &Name) -> bool {
        self.is_recursive(one) && self.of.get(one) == self.of.get(other)
    }
}

/// The procedures that calls from one lead to; itself only where they lead back.
fn reach<'p>(from: &'p Name, called: &HashMap<&'p Name, Vec<&'p Name>>) -> HashSet<&'p Name> {
    let mut seen = HashSet::new();
    let mut open: Vec<&Name> = called.get(from).cloned().unwrap_or_default();
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            open.extend(called.get(name).into_iter().flatten());
        }
    }
    seen
}
