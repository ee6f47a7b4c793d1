//! Who calls whom.

use crate::facts::callees;
use almach_core::{FunId, Program};

/// The calls of a program, read once.
pub struct CallGraph {
    calls: Vec<Vec<FunId>>,
    /// Functions that lead to each other have the same number.
    groups: Vec<usize>,
    cyclic: Vec<bool>,
}

impl CallGraph {
    pub fn of(program: &Program) -> CallGraph {
        let functions = program.functions.iter();
        let calls: Vec<Vec<FunId>> = functions.map(|function| callees(&function.body)).collect();
        let Components { groups, cyclic } = strongly_connected(&calls);
        CallGraph {
            calls,
            groups,
            cyclic,
        }
    }

    /// What a function calls, once for every call.
    pub fn callees(&self, id: FunId) -> &[FunId] {
        self.calls.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether a function leads back to itself.
    pub fn is_recursive(&self, id: FunId) -> bool {
        self.cyclic.get(id.0 as usize).copied().unwrap_or(false)
    }

    /// Whether each leads to the other, or they are one.
    pub fn call_each_other(&self, one: FunId, other: FunId) -> bool {
        let group = |id: FunId| self.groups.get(id.0 as usize);
        group(one).is_some() && group(one) == group(other)
    }
}

/// The functions that can reach themselves through calls.
pub fn recursive_functions(program: &Program) -> Vec<bool> {
    CallGraph::of(program).cyclic
}

struct Components {
    groups: Vec<usize>,
    cyclic: Vec<bool>,
}

/// For each node its component, and whether it is on a cycle (Tarjan's algorithm on a stack of its own).
fn strongly_connected(edges: &[Vec<FunId>]) -> Components {
    const UNSEEN: usize = usize::MAX;
    let count = edges.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let mut on_stack = vec![false; count];
    let mut found = Components {
        groups: vec![UNSEEN; count],
        cyclic: vec![false; count],
    };
    let (mut path, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        let mut work: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, at)) = work.pop() {
            if at == 0 {
                (index[node], low[node]) = (next, next);
                next += 1;
                path.push(node);
                on_stack[node] = true;
            }
            let targets = edges.get(node).map_or(&[][..], Vec::as_slice);
            if let Some(target) = targets.get(at).map(|id| id.0 as usize).filter(|id| *id < count) {
                work.push((node, at + 1));
                if target == node {
                    found.cyclic[node] = true;
                }
                if index[target] == UNSEEN {
                    work.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(index[target]);
                }
                continue;
            }
            if low[node] == index[node] {
                leave_component(node, &mut path, &mut on_stack, &mut found);
            }
            if let Some((parent, _)) = work.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    found
}

/// Takes a component off the path; more than one node means a cycle.
fn leave_component(root: usize, path: &mut Vec<usize>, on_stack: &mut [bool], found: &mut Components) {
    let from = path.iter().rposition(|node| *node == root).unwrap_or(0);
    let several = path.len() - from > 1;
    for node in path.drain(from..) {
        on_stack[node] = false;
        found.groups[node] = root;
        found.cyclic[node] |= several;
    }
}
