//! Last uses of boxed values, backwards over structured code.
//!
//! A use after which nobody reads the register takes the value out of it; where an instruction only looks at a value
//! (or writes one that nobody reads), a drop follows. So an array that is updated in a loop has one owner, and the
//! update happens in place.
//!
//! ```text
//! a2 = update a [i] v                       a2 = update (take a) [i] v
//! s = size b                  ─►            s = size b
//! r = f a2                                  drop b
//!                                           r = f (take a2)
//! ```
//!
//! A branch drops at its start what only other branches read. Registers of outside that a loop touches live through
//! the whole loop, except those it carries, which die at their last use in an iteration and get their next value at
//! its end.

use super::code::{B, Instr, Last, Node, S, Use};
use super::operands::Operands;

/// Beyond this many, a branch leaves what others read to be freed with the frame: chains of branches would otherwise
/// carry a quadratic number of drops.
const MAX_DROPS: usize = 64;

/// Marks last uses and adds drops. `registers` is how many boxed registers there are.
pub(super) fn mark(block: &mut Vec<Node>, registers: u32) {
    collect_outer(block, &mut Vec::new());
    let mut live = Live {
        set: vec![false; registers as usize],
        log: Vec::new(),
    };
    mark_block(block, &mut live);
}

/// The registers that are read later, with a log to go back.
struct Live {
    set: Vec<bool>,
    /// What changed, and from what.
    log: Vec<(u32, bool)>,
}

impl Live {
    fn get(&self, reg: u32) -> bool {
        self.set.get(reg as usize).copied().unwrap_or(false)
    }

    fn put(&mut self, reg: u32, value: bool) {
        if let Some(slot) = self.set.get_mut(reg as usize)
            && *slot != value
        {
            self.log.push((reg, *slot));
            *slot = value;
        }
    }

    /// Goes back to where the log had this length; says which registers differed, and their values before going back.
    fn undo(&mut self, mark: usize) -> Vec<(u32, bool)> {
        let mut changed: Vec<(u32, bool)> = Vec::new();
        while self.log.len() > mark {
            let Some((reg, before)) = self.log.pop() else {
                break;
            };
            if let Some(slot) = self.set.get_mut(reg as usize) {
                // Entries of one register alternate: the newest tells the value at the end of the log.
                changed.push((reg, *slot));
                *slot = before;
            }
        }
        // The first entry of a register, from the back, is its final value; the sort is stable.
        changed.sort_by_key(|(reg, _)| *reg);
        changed.dedup_by_key(|(reg, _)| *reg);
        changed
    }
}

/// An operand as liveness sees it.
#[derive(Clone, Copy)]
enum Seen {
    Peek(u32),
    Take(u32),
    Define(u32),
}

/// Writes down the boxed operands of an instruction.
#[derive(Default)]
struct Collect(Vec<Seen>);

impl Operands for Collect {
    fn read(&mut self, _: &mut S) {}
    fn write(&mut self, _: &mut S) {}
    fn peek(&mut self, reg: &mut B) {
        self.0.push(Seen::Peek(reg.0));
    }
    fn take(&mut self, reg: &mut Use) {
        self.0.push(Seen::Take(reg.reg.0));
    }
    fn define(&mut self, reg: &mut B) {
        self.0.push(Seen::Define(reg.0));
    }
}

/// Writes the answers back: one per operand that takes, in order.
struct Answer {
    last: std::vec::IntoIter<Last>,
}

impl Operands for Answer {
    fn read(&mut self, _: &mut S) {}
    fn write(&mut self, _: &mut S) {}
    fn peek(&mut self, _: &mut B) {}
    fn take(&mut self, reg: &mut Use) {
        reg.last = self.last.next().unwrap_or(Last::No);
    }
    fn define(&mut self, _: &mut B) {}
}

fn mark_block(block: &mut Vec<Node>, live: &mut Live) {
    let mut result = Vec::with_capacity(block.len());
    while let Some(node) = block.pop() {
        // Backwards: what follows the node comes first.
        match node {
            Node::Instr(instr) => mark_instr(instr, live, &mut result),
            Node::If {
                condition,
                then,
                otherwise,
            } => {
                let mut branches = [then, otherwise];
                mark_branches(&mut branches, None, live);
                let [then, otherwise] = branches;
                result.push(Node::If {
                    condition,
                    then,
                    otherwise,
                });
            }
            Node::Switch {
                on,
                mut arms,
                targets,
            } => {
                mark_branches(&mut arms, Some(on), live);
                result.push(Node::Switch { on, arms, targets });
            }
            Node::Count {
                counter,
                bound,
                mut body,
                inner,
            } => {
                drops_after(&inner.outer, live, &mut result);
                live_all(&inner.outer, live);
                mark_block(&mut body, live);
                live_all(&inner.outer, live);
                result.push(Node::Count {
                    counter,
                    bound,
                    body,
                    inner,
                });
            }
            Node::While {
                mut head,
                condition,
                mut body,
                inner,
            } => {
                drops_after(&inner.outer, live, &mut result);
                live_all(&inner.outer, live);
                mark_block(&mut body, live);
                live_all(&inner.outer, live);
                mark_block(&mut head, live);
                live_all(&inner.outer, live);
                result.push(Node::While {
                    head,
                    condition,
                    body,
                    inner,
                });
            }
        }
    }
    result.reverse();
    *block = result;
}

fn drop_of(reg: u32) -> Node {
    Node::Instr(Instr::Drop(B(reg)))
}

/// What a loop touches and nobody reads after it goes.
fn drops_after(outer: &[u32], live: &Live, result: &mut Vec<Node>) {
    result.extend(
        outer
            .iter()
            .filter(|reg| !live.get(**reg))
            .map(|reg| drop_of(*reg)),
    );
}

fn live_all(outer: &[u32], live: &mut Live) {
    for reg in outer {
        live.put(*reg, true);
    }
}

fn mark_instr(mut instr: Instr, live: &mut Live, result: &mut Vec<Node>) {
    let mut seen = Collect::default();
    instr.visit(&mut seen);
    let mut drops = Vec::new();
    let mut last = Vec::new();
    for operand in seen.0.iter().rev() {
        match operand {
            Seen::Define(reg) => {
                if !live.get(*reg) {
                    drops.push(*reg);
                }
                live.put(*reg, false);
            }
            Seen::Take(reg) => {
                last.push(if live.get(*reg) { Last::No } else { Last::Yes });
                live.put(*reg, true);
            }
            Seen::Peek(reg) => {
                if !live.get(*reg) {
                    drops.push(*reg);
                }
                live.put(*reg, true);
            }
        }
    }
    last.reverse();
    instr.visit(&mut Answer {
        last: last.into_iter(),
    });
    result.extend(drops.into_iter().map(drop_of));
    result.push(Node::Instr(instr));
}

fn mark_branches(branches: &mut [Vec<Node>], on: Option<B>, live: &mut Live) {
    let mark = live.log.len();
    let mut changes = Vec::with_capacity(branches.len());
    for branch in branches.iter_mut() {
        mark_block(branch, live);
        changes.push(live.undo(mark));
    }
    // Live before the branches: what one of them reads, or what none of them writes and the rest reads.
    let mut touched: Vec<u32> = changes.iter().flatten().map(|(reg, _)| *reg).collect();
    touched.extend(on.map(|on| on.0));
    touched.sort_unstable();
    touched.dedup();
    let value_in = |changes: &[(u32, bool)], reg: u32, live: &Live| match changes
        .binary_search_by_key(&reg, |(reg, _)| *reg)
    {
        Ok(at) => changes.get(at).is_some_and(|(_, value)| *value),
        Err(_) => live.get(reg),
    };
    let mut needed: Vec<u32> = Vec::new();
    let mut written: Vec<u32> = Vec::new();
    for reg in touched {
        let read = changes.iter().any(|changes| value_in(changes, reg, live));
        if read || on.is_some_and(|on| on.0 == reg) {
            needed.push(reg);
        } else {
            written.push(reg);
        }
    }
    for (branch, changes) in branches.iter_mut().zip(&changes) {
        let unread: Vec<u32> = needed
            .iter()
            .copied()
            .filter(|reg| !value_in(changes, *reg, live))
            .take(MAX_DROPS)
            .collect();
        if !unread.is_empty() {
            branch.splice(0..0, unread.into_iter().map(drop_of));
        }
    }
    for reg in written {
        live.put(reg, false);
    }
    for reg in needed {
        live.put(reg, true);
    }
}

/// Notes in every loop which registers of outside it touches.
fn collect_outer(block: &mut [Node], loops: &mut Vec<OpenLoop>) {
    for node in block {
        match node {
            Node::Instr(instr) => {
                let mut seen = Collect::default();
                instr.visit(&mut seen);
                for operand in seen.0 {
                    let (Seen::Peek(reg) | Seen::Take(reg) | Seen::Define(reg)) = operand;
                    touch(reg, loops);
                }
            }
            Node::If { then, otherwise, .. } => {
                collect_outer(then, loops);
                collect_outer(otherwise, loops);
            }
            Node::Switch { on, arms, .. } => {
                touch(on.0, loops);
                arms.iter_mut().for_each(|arm| collect_outer(arm, loops));
            }
            Node::Count { body, inner, .. } => {
                loops.push(OpenLoop::new(inner.first_boxed));
                collect_outer(body, loops);
                inner.outer = OpenLoop::close(loops);
            }
            Node::While {
                head, body, inner, ..
            } => {
                loops.push(OpenLoop::new(inner.first_boxed));
                collect_outer(head, loops);
                collect_outer(body, loops);
                inner.outer = OpenLoop::close(loops);
            }
        }
    }
}

struct OpenLoop {
    first_inner: u32,
    outer: Vec<u32>,
}

impl OpenLoop {
    fn new(first_inner: u32) -> OpenLoop {
        OpenLoop {
            first_inner,
            outer: Vec::new(),
        }
    }

    fn close(loops: &mut Vec<OpenLoop>) -> Vec<u32> {
        let mut outer = loops.pop().map(|open| open.outer).unwrap_or_default();
        outer.sort_unstable();
        outer.dedup();
        outer
    }
}

fn touch(reg: u32, loops: &mut [OpenLoop]) {
    // Marks grow inwards: a register of outside an outer loop is one of outside the inner ones.
    for open in loops.iter_mut().rev() {
        if reg >= open.first_inner {
            break;
        }
        open.outer.push(reg);
    }
}
