//! Updates a loop's array in place: where the next state is made by copying the whole of the last one, and the last one is
//! not looked at again, there is no need for two.
//!
//! ```text
//! for i < n {                              for i < n {
//!   let v = state[i] * 2                     let v = state[i] * 2
//!   copy next[0] = state[0] for n     ~~>    state[i] = v
//!   next[i] = v                            }
//!   swap state, next
//! }
//! ```
//!
//! The same where every cell of the next state is made from that cell of the last one and from nothing else of it, as by a
//! `map` over the state:
//!
//! ```text
//! for i < n {                                             for i < n {
//!   simd for l < 64 { next[l] = state[l] + xs[64*i + l] }   simd for l < 64 { state[l] = state[l] + xs[64*i + l] }
//!   swap state, next                                 ~~>  }
//! }
//! ```
//!
//! A temporary that is only filled to be copied elsewhere is left out as well: what fills it fills the other place.
//!
//! Removes: copies, swaps, buffers. Introduces: nothing. Guarantees: the same results; accesses of a parallel loop stay
//! those of its iterations, since only buffers of sequential code are renamed.

use crate::buffers::{changes_hands, mentions, renamed, renamed_expr, writes};
use crate::tidy::Reads;
use almach_base::Name;
use almach_imp::{Expr, Index, Proc, Stmt, Touched};
use std::collections::HashMap;

pub(crate) fn in_place(proc: &mut Proc) {
    let mut sizes = HashMap::new();
    allocated(&proc.body, &mut sizes);
    let whole = Whole { sizes };
    block(&mut proc.body, &whole);
}

/// Numbers of cells of buffers that are allocated once.
struct Whole {
    sizes: HashMap<Name, Option<Index>>,
}

impl Whole {
    /// Whether a statement copies all of one buffer to all of another.
    fn copies(&self, stmt: &Stmt, to: &Name, from: &Name) -> bool {
        match stmt {
            Stmt::Copy {
                to: found_to,
                to_index,
                from: found_from,
                from_index,
                count,
            } => {
                let all = |name: &Name| {
                    self.sizes
                        .get(name)
                        .is_some_and(|size| size.as_ref() == Some(count))
                };
                found_to == to
                    && found_from == from
                    && to_index.is_zero()
                    && from_index.is_zero()
                    && all(to)
                    && all(from)
            }
            _ => false,
        }
    }
}

pub(crate) fn allocated(stmts: &[Stmt], sizes: &mut HashMap<Name, Option<Index>>) {
    for stmt in stmts {
        if let Stmt::Alloc { buffer, size, .. } = stmt {
            let known = sizes.entry(buffer.clone()).or_insert_with(|| Some(size.clone()));
            if known.as_ref() != Some(size) {
                *known = None;
            }
        }
        if let Stmt::Shrink { buffer, .. } = stmt {
            sizes.insert(buffer.clone(), None);
        }
        stmt.blocks()
            .into_iter()
            .for_each(|block| allocated(block, sizes));
    }
}

fn block(stmts: &mut Vec<Stmt>, whole: &Whole) {
    forward_temporaries(stmts, whole);
    for stmt in stmts.iter_mut() {
        stmt.blocks_mut()
            .into_iter()
            .for_each(|inner| block(inner, whole));
        if let Stmt::For { body, .. } | Stmt::While { body, .. } = stmt {
            update_in_place(body, whole);
            update_under_test(body, whole);
        }
    }
}

/// The body of a `while` makes the next state under its test, and takes it under the same test:
///
/// ```text
/// go = …                                          go = …
/// if go { copy next[0] = state[0] for n …  }      if go { state[i] = v }
/// if go { swap state, next }               ~~>
/// ```
fn update_under_test(body: &mut Vec<Stmt>, whole: &Whole) {
    let mut at = 0;
    while at + 1 < body.len() {
        let pair = (body.get(at), body.get(at + 1));
        let both = match pair {
            (Some(first), Some(second)) => under_one_test(first, second),
            _ => None,
        };
        match both {
            Some(both) => {
                body.splice(at..at + 2, [both]);
            }
            None => at += 1,
        }
    }
    for at in 0..body.len() {
        let elsewhere: Vec<Stmt> = body
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, stmt)| stmt.clone())
            .collect();
        if let Some(Stmt::If { then, otherwise, .. }) = body.get_mut(at)
            && otherwise.is_empty()
        {
            let mut updated = then.clone();
            update_in_place(&mut updated, whole);
            // What would be the next state is nobody else's.
            let gone = |name: &Name| {
                let swaps = |stmts: &[Stmt]| {
                    stmts
                        .iter()
                        .any(|stmt| matches!(stmt, Stmt::Swap(_, next) if next == name))
                };
                swaps(then) && !swaps(&updated)
            };
            let shared = elsewhere.iter().any(|stmt| {
                let nexts = then.iter().filter_map(|stmt| match stmt {
                    Stmt::Swap(_, next) => Some(next),
                    _ => None,
                });
                nexts.into_iter().any(|next| gone(next) && mentions(stmt, next))
            });
            if !shared {
                *then = updated;
            }
        }
    }
}

/// Two statements under the same test, which the first does not change, as one.
fn under_one_test(first: &Stmt, second: &Stmt) -> Option<Stmt> {
    let tested = |stmt: &Stmt| match stmt {
        Stmt::If {
            condition: Expr::Var(test),
            then,
            otherwise,
        } if otherwise.is_empty() => Some((test.clone(), then.clone())),
        _ => None,
    };
    let ((test, mut then), (same, more)) = (tested(first)?, tested(second)?);
    if test != same || Touched::of(&then).assigned.contains(&test) {
        return None;
    }
    then.extend(more);
    Some(Stmt::If {
        condition: Expr::Var(test),
        then,
        otherwise: Vec::new(),
    })
}

/// `buffer t; alloc t; …t…; copy d = t; free t` becomes `…d…`, where nothing else happens to `d` meanwhile.
fn forward_temporaries(stmts: &mut Vec<Stmt>, whole: &Whole) {
    let mut at = 0;
    while at < stmts.len() {
        match forwarded(stmts, at, whole) {
            Some(shorter) => *stmts = shorter,
            None => at += 1,
        }
    }
}

fn forwarded(stmts: &[Stmt], at: usize, whole: &Whole) -> Option<Vec<Stmt>> {
    let Stmt::Buffer { name: temporary, .. } = stmts.get(at)? else {
        return None;
    };
    let copy_at = stmts
        .iter()
        .skip(at)
        .position(|stmt| matches!(stmt, Stmt::Copy { from, .. } if from == temporary))?;
    let copy_at = at + copy_at;
    let Some(Stmt::Copy { to, .. }) = stmts.get(copy_at) else {
        return None;
    };
    let to = to.clone();
    let copy = stmts.get(copy_at)?;
    if !whole.copies(copy, &to, temporary) {
        return None;
    }
    // The destination exists before the temporary does, and is not touched while the temporary is made.
    let before = stmts.get(..at)?;
    let declared_here = before
        .iter()
        .any(|stmt| matches!(stmt, Stmt::Buffer { name, .. } if *name == to));
    let allocated_here = before
        .iter()
        .any(|stmt| matches!(stmt, Stmt::Alloc { buffer, .. } if *buffer == to));
    if declared_here && !allocated_here {
        return None;
    }
    let between = stmts.get(at..copy_at)?;
    let after = stmts.get(copy_at + 1..)?;
    let untouched = between.iter().all(|stmt| !mentions(stmt, &to));
    let dead = after
        .iter()
        .all(|stmt| matches!(stmt, Stmt::Free(name) if name == temporary) || !mentions(stmt, temporary));
    let movable = between.iter().all(|stmt| !changes_hands(stmt, temporary));
    if !(untouched && dead && movable) {
        return None;
    }
    let mut result = before.to_vec();
    for stmt in between {
        match stmt {
            Stmt::Buffer { name, .. } if name == temporary => {}
            Stmt::Alloc { buffer, .. } if buffer == temporary => {}
            other => result.push(renamed(other, temporary, &to)),
        }
    }
    let rest = after
        .iter()
        .filter(|stmt| !matches!(stmt, Stmt::Free(name) if name == temporary));
    result.extend(rest.cloned());
    Some(result)
}

/// A loop body that ends in `swap state, next`.
fn update_in_place(body: &mut Vec<Stmt>, whole: &Whole) {
    let mut at = body.len();
    while at > 0 {
        at -= 1;
        let Some(Stmt::Swap(state, next)) = body.get(at) else {
            continue;
        };
        let (state, next) = (state.clone(), next.clone());
        let (Some(before), Some(after)) = (body.get(..at), body.get(at + 1..)) else {
            return;
        };
        // Other swaps may follow, but nothing that looks at these two.
        if after
            .iter()
            .any(|stmt| mentions(stmt, &state) || mentions(stmt, &next))
        {
            continue;
        }
        let rewriter = Rewriter {
            whole,
            state: &state,
            next: &next,
        };
        let rewritten = match rewriter.block(before, Phase::State) {
            Some((rewritten, Phase::Next)) => Some(rewritten),
            _ => cell_by_cell(before, &state, &next),
        };
        if let Some(mut rewritten) = rewritten {
            rewritten.extend(after.iter().cloned());
            *body = rewritten;
        }
    }
}

/// The statements with one buffer for both, where one nest of loops makes every cell of `next` from that cell of `state`.
fn cell_by_cell(stmts: &[Stmt], state: &Name, next: &Name) -> Option<Vec<Stmt>> {
    let makes = |stmt: &&Stmt| mentions(stmt, next);
    let nest = stmts.iter().position(|stmt| makes(&stmt))?;
    let (before, after) = (stmts.get(..nest)?, stmts.get(nest + 1..)?);
    if before.iter().any(|stmt| writes(stmt, state))
        || after
            .iter()
            .any(|stmt| mentions(stmt, next) || mentions(stmt, state))
    {
        return None;
    }
    let made = stmts.get(nest)?;
    let mut loops = Vec::new();
    if !makes_each_cell(made, state, next, &mut loops) {
        return None;
    }
    let mut result = before.to_vec();
    result.push(renamed(made, next, state));
    result.extend(after.iter().cloned());
    Some(result)
}

/// Whether a nest of loops stores to every cell of `next` once, at the cell's own place in the nest, and reads `state` only
/// there and before.
fn makes_each_cell(stmt: &Stmt, state: &Name, next: &Name, loops: &mut Vec<(Name, Index)>) -> bool {
    let Stmt::For {
        index, count, body, ..
    } = stmt
    else {
        return false;
    };
    if count
        .free_vars()
        .any(|var| loops.iter().any(|(outer, _)| outer == var))
    {
        return false;
    }
    loops.push((index.clone(), count.clone()));
    let touching = touching(body, state, next);
    match touching.as_slice() {
        [inner @ Stmt::For { .. }] => makes_each_cell(inner, state, next, loops),
        _ => {
            let place = loops.iter().fold(Index::zero(), |flat, (index, count)| {
                flat * count + Index::var(index.clone())
            });
            makes_cell(&touching, state, next, &place)
        }
    }
}

fn touching<'s>(stmts: &'s [Stmt], state: &Name, next: &Name) -> Vec<&'s Stmt> {
    let touches = |stmt: &&Stmt| mentions(stmt, next) || mentions(stmt, state);
    stmts.iter().filter(touches).collect()
}

/// Whether statements read `state` at this place only, and end with a store to `next` there.
fn makes_cell(stmts: &[&Stmt], state: &Name, next: &Name, place: &Index) -> bool {
    let reads_here = |value: &Expr| only_at(value, state, place) && !loads(value, next);
    let Some((last, reads)) = stmts.split_last() else {
        return false;
    };
    let stores = match last {
        Stmt::Store { buffer, index, value } => buffer == next && index == place && reads_here(value),
        Stmt::If {
            condition,
            then,
            otherwise,
        } => {
            let makes = |block: &[Stmt]| makes_cell(&touching(block, state, next), state, next, place);
            reads_here(condition) && makes(then) && makes(otherwise)
        }
        _ => false,
    };
    stores && reads.iter().all(|stmt| only_reads(stmt, state, next, place))
}

/// Whether a statement computes scalars, from nothing of both but `state` at this place.
fn only_reads(stmt: &Stmt, state: &Name, next: &Name, place: &Index) -> bool {
    let reads_here = |value: &Expr| only_at(value, state, place) && !loads(value, next);
    match stmt {
        Stmt::Let { value, .. }
        | Stmt::Assign { value, .. }
        | Stmt::Var {
            value: Some(value), ..
        } => reads_here(value),
        Stmt::If {
            condition,
            then,
            otherwise,
        } => {
            let mut inside = touching(then, state, next);
            inside.extend(touching(otherwise, state, next));
            reads_here(condition)
                && inside
                    .into_iter()
                    .all(|stmt| only_reads(stmt, state, next, place))
        }
        _ => false,
    }
}

fn loads(expr: &Expr, buffer: &Name) -> bool {
    let mut reads = Reads::default();
    reads.expr(expr);
    reads.names.contains(buffer)
}

/// Whether an expression reads a buffer at no other place.
fn only_at(expr: &Expr, buffer: &Name, place: &Index) -> bool {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => true,
        Expr::Load(found, index) => found != buffer || index == place,
        Expr::Unary(_, a) => only_at(a, buffer, place),
        Expr::Binary(_, a, b) => only_at(a, buffer, place) && only_at(b, buffer, place),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().all(|part| only_at(part, buffer, place))
        }
    }
}

/// Which of the two buffers holds what is current.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is copied yet: only the old state may be looked at.
    State,
    /// All is copied: only the new one may be touched.
    Next,
}

struct Rewriter<'a> {
    whole: &'a Whole,
    state: &'a Name,
    next: &'a Name,
}

impl Rewriter<'_> {
    /// The block with one buffer for both, and the phase at its end; none where both are needed.
    fn block(&self, stmts: &[Stmt], mut phase: Phase) -> Option<(Vec<Stmt>, Phase)> {
        let mut result = Vec::new();
        for stmt in stmts {
            if phase == Phase::State && self.whole.copies(stmt, self.next, self.state) {
                phase = Phase::Next;
                continue;
            }
            if let Stmt::If {
                condition,
                then,
                otherwise,
            } = stmt
            {
                let mut condition_reads = Reads::default();
                condition_reads.expr(condition);
                if phase == Phase::Next && condition_reads.names.contains(self.state) {
                    return None;
                }
                if phase == Phase::State && condition_reads.names.contains(self.next) {
                    return None;
                }
                let (then, then_phase) = self.block(then, phase)?;
                let (otherwise, otherwise_phase) = self.block(otherwise, phase)?;
                if then_phase != otherwise_phase {
                    return None;
                }
                let renamed_condition = renamed_expr(condition, self.next, self.state);
                result.push(Stmt::If {
                    condition: renamed_condition,
                    then,
                    otherwise,
                });
                phase = then_phase;
                continue;
            }
            match phase {
                Phase::State if !mentions(stmt, self.next) && !writes(stmt, self.state) => {
                    result.push(stmt.clone());
                }
                Phase::Next if !mentions(stmt, self.state) && !changes_hands(stmt, self.next) => {
                    result.push(renamed(stmt, self.next, self.state));
                }
                _ => return None,
            }
        }
        Some((result, phase))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        for proc in &mut program.procs {
            in_place(proc);
        }
        almach_imp::check(program).unwrap().program().to_string()
    }

    const HEAD: &str = "proc main(n: i64, xs: read i64, out: write i64) {
        buffer state: i64 alloc state[n] buffer next: i64 alloc next[n] copy state[0] = xs[0] for n ";
    const TAIL: &str = "copy out[0] = state[0] for n free next free state }";

    #[test]
    fn an_update_in_a_loop_copies_nothing() {
        let text = rewritten(&format!(
            "{HEAD} for i < n {{
               let v: i64 = state[i] * 2i64
               copy next[0] = state[0] for n
               next[i] = v
               swap state, next
             }} {TAIL}"
        ));
        assert!(!text.contains("swap") && !text.contains("copy next"), "{text}");
        assert!(text.contains("state[i] = v"), "{text}");
    }

    #[test]
    fn in_branches_as_well() {
        let text = rewritten(&format!(
            "{HEAD} for i < n {{
               if state[i] > 3i64 {{ copy next[0] = state[0] for n next[i] = 0i64 }} else {{ copy next[0] = state[0] for n }}
               swap state, next
             }} {TAIL}"
        ));
        assert!(!text.contains("swap"), "{text}");
    }

    #[test]
    fn not_where_the_old_state_is_looked_at_again() {
        let text = rewritten(&format!(
            "{HEAD} for i < n {{
               copy next[0] = state[0] for n
               next[i] = 1i64
               next[0] = state[i]
               swap state, next
             }} {TAIL}"
        ));
        assert!(text.contains("swap"), "{text}");
    }

    #[test]
    fn a_map_over_the_state_writes_into_it() {
        let text = rewritten(&format!(
            "{HEAD} for i < n {{
               simd for l < n {{ let x: i64 = xs[i] next[l] = state[l] + x }}
               swap state, next
             }} {TAIL}"
        ));
        assert!(
            !text.contains("swap") && text.contains("state[l] = state[l] + x"),
            "{text}"
        );
    }

    #[test]
    fn also_where_a_branch_looks_at_the_cell() {
        let text = rewritten(&format!(
            "{HEAD} for i < n {{
               simd for l < n {{
                 var r: i64
                 if xs[l] < 0i64 {{ r = i }} else {{ r = state[l] }}
                 next[l] = r
               }}
               swap state, next
             }} {TAIL}"
        ));
        assert!(!text.contains("swap") && text.contains("state[l] = r"), "{text}");
    }

    #[test]
    fn not_where_a_neighbour_is_looked_at() {
        for made in [
            "for l < n { var r: i64 if xs[l] < 0i64 { r = state[0] } else { r = 1i64 } next[l] = r }",
            "for l < n { next[l] = state[0] + 1i64 }",
            "for l < n { for k < n { next[l] = state[l] + 1i64 } }",
            "for l < n { next[l] = 1i64 let y: i64 = state[l] next[l] = y }",
        ] {
            let text = rewritten(&format!("{HEAD} for i < n {{ {made} swap state, next }} {TAIL}"));
            assert!(text.contains("swap"), "{text}");
        }
    }

    #[test]
    fn temporaries_on_the_way_are_left_out() {
        let text = rewritten(&format!(
            "{HEAD} for i < n {{
               buffer first: i64 alloc first[n]
               copy first[0] = state[0] for n
               first[i] = 1i64
               copy next[0] = first[0] for n
               next[0] = 2i64
               swap state, next
               free first
             }} {TAIL}"
        ));
        assert!(!text.contains("first") && !text.contains("swap"), "{text}");
    }
}
