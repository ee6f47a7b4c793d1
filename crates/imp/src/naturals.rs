//! Which parameters of procedures are never negative.
//!
//! Those of exported procedures that are sizes; those of others for which every call passes such a number. Procedures are
//! printed callers first, so that all calls of one are known before it is its turn; where one calls itself, directly
//! or not, nothing is known.

use crate::ir::{Proc, Stmt};
use almach_base::Name;
use std::collections::{HashMap, HashSet};

pub struct Naturals {
    of_proc: HashMap<Name, Known>,
}

enum Known {
    /// Nothing may be learnt from calls.
    Fixed(HashSet<Name>),
    /// By position, what all calls so far agree on; none before the first.
    Calls(Option<Vec<bool>>),
}

impl Naturals {
    /// `exported` has, for every procedure that others may call, the parameters that are sizes.
    pub fn of<'a>(exported: impl IntoIterator<Item = (&'a Name, &'a [Name])>, procs: &[&Proc]) -> Naturals {
        let exported: HashMap<&Name, &[Name]> = exported.into_iter().collect();
        let mut of_proc = HashMap::new();
        let order: HashMap<usize, usize> = callers_first(procs)
            .into_iter()
            .enumerate()
            .map(|(rank, at)| (at, rank))
            .collect();
        let positions: HashMap<&Name, usize> = procs
            .iter()
            .enumerate()
            .map(|(at, proc)| (&proc.name, at))
            .collect();
        let mut recursive = HashSet::new();
        for (at, proc) in procs.iter().enumerate() {
            for callee in callees(proc) {
                let backwards = positions
                    .get(callee)
                    .is_some_and(|to| order.get(to) <= order.get(&at));
                if backwards {
                    recursive.insert(callee);
                }
            }
        }
        for proc in procs {
            let known = match exported.get(&proc.name) {
                Some(sizes) => Known::Fixed(sizes.iter().cloned().collect()),
                None if recursive.contains(&proc.name) => Known::Fixed(HashSet::new()),
                None => Known::Calls(None),
            };
            of_proc.insert(proc.name.clone(), known);
        }
        Naturals { of_proc }
    }

    /// The parameters of a procedure that are never negative.
    pub fn params(&self, proc: &Proc) -> Vec<Name> {
        let names = proc.params.iter().map(|param| &param.name);
        match self.of_proc.get(&proc.name) {
            Some(Known::Fixed(sizes)) => names.filter(|name| sizes.contains(*name)).cloned().collect(),
            Some(Known::Calls(Some(natural))) => names
                .zip(natural)
                .filter(|(_, natural)| **natural)
                .map(|(name, _)| name.clone())
                .collect(),
            Some(Known::Calls(None)) | None => Vec::new(),
        }
    }

    /// A call whose arguments are these: which of them are never negative.
    pub fn call(&mut self, proc: &Name, natural: Vec<bool>) {
        if let Some(Known::Calls(known)) = self.of_proc.get_mut(proc) {
            *known = Some(match known.take() {
                None => natural,
                Some(before) => before.into_iter().zip(natural).map(|(a, b)| a && b).collect(),
            });
        }
    }
}

fn callees(proc: &Proc) -> Vec<&Name> {
    let mut found = Vec::new();
    calls(&proc.body, &mut found);
    found
}

/// The procedures that statements call.
pub fn calls<'a>(stmts: &'a [Stmt], into: &mut Vec<&'a Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Call { proc, .. } => into.push(proc),
            _ => stmt.blocks().into_iter().for_each(|block| calls(block, into)),
        }
    }
}

/// The positions of procedures, each before those it calls (but for recursion).
pub fn callers_first(procs: &[&Proc]) -> Vec<usize> {
    let positions: HashMap<&Name, usize> = procs
        .iter()
        .enumerate()
        .map(|(at, proc)| (&proc.name, at))
        .collect();
    let next: Vec<Vec<usize>> = procs
        .iter()
        .map(|proc| {
            callees(proc)
                .into_iter()
                .filter_map(|name| positions.get(name).copied())
                .collect()
        })
        .collect();
    let mut seen = vec![false; procs.len()];
    let mut finished = Vec::new();
    for start in 0..procs.len() {
        // A stack of procedures with how many of their callees were followed.
        let mut path = vec![(start, 0)];
        while let Some((at, followed)) = path.pop() {
            if followed == 0 && seen.get_mut(at).is_none_or(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            match next.get(at).and_then(|callees| callees.get(followed)) {
                Some(callee) => {
                    path.push((at, followed + 1));
                    path.push((*callee, 0));
                }
                None => finished.push(at),
            }
        }
    }
    finished.reverse();
    finished
}
