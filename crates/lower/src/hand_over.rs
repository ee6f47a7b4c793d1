//! A procedure that makes its result in a block of its own, and copies it at its end, hands the block over.
//!
//! ```text
//! proc main(n: i64, xs: read f32, out: write f32) {     proc main(n: i64, xs: read f32, out: owned f32) {
//!   buffer state: f32                                     alloc out[n]
//!   alloc state[n]                                        …
//!   …                                                     for i < k { … swap out, next }
//!   for i < k { … swap state, next }               ~~>    free next
//!   free next                                           }
//!   copy out[0] = state[0] for n
//!   free state
//! }
//! alloc result[n]
//! call main(n, buffer xs[0], buffer result[0])          call main(n, buffer xs[0], owned result)
//! ```
//!
//! Such are loops that swap two blocks: which of the two holds the result is known only when they end; and branches, one of which gives
//! an array that is there (`take_over.rs`). All calls of the procedure must give it a block that was made for it alone, and is as large.
//!
//! Removes: a block and a copy per call. Introduces: nothing. Guarantees: the same results.

use crate::buffers::{mentions, renamed};
use crate::in_place::allocated;
use crate::rotations::is_same_number;
use crate::take_over::made_before;
use almach_base::Name;
use almach_imp::{Argument, Expr, Groups, Index, Passing, Proc, Space, Stmt};
use almach_value::BinOp;
use std::collections::HashMap;

/// Arrays of constant size with fewer cells are on the stack.
const SMALL: i64 = 4097;

pub(crate) fn hand_over(procs: &mut [Proc]) {
    let groups = Groups::of(procs.iter());
    for at in 0..procs.len() {
        while let Some(handed) = procs.get(at).and_then(|proc| handed_over(proc, &groups)) {
            let call = Call(&handed);
            let callers = procs.iter().map(|caller| call.owned_in(&caller.body));
            let Some(bodies) = callers.collect::<Option<Vec<Vec<Stmt>>>>() else {
                break;
            };
            for (caller, body) in procs.iter_mut().zip(bodies) {
                caller.body = body;
            }
            if let Some(old) = procs.get_mut(at) {
                *old = handed.proc;
            }
        }
    }
}

/// A procedure that hands over what it copied to one of its results.
struct Handed {
    proc: Proc,
    /// Which parameter that is.
    number: usize,
    /// How many cells it makes for it.
    size: Index,
}

/// What a procedure can hand over. Members of a recursion keep their results in frames.
fn handed_over(proc: &Proc, groups: &Groups) -> Option<Handed> {
    if groups.is_recursive(&proc.name) {
        return None;
    }
    let mut sizes = HashMap::new();
    allocated(&proc.body, &mut sizes);
    let size_of = |buffer: &Name| sizes.get(buffer).and_then(Option::as_ref);
    proc.params.iter().enumerate().find_map(|(number, param)| {
        if param.passing != Passing::Write {
            return None;
        }
        let touching = proc.body.iter().filter(|stmt| mentions(stmt, &param.name));
        let touching: Vec<&Stmt> = touching.collect();
        if let [choice @ Stmt::If { .. }, ..] = touching.as_slice() {
            let at = proc.body.iter().position(|stmt| std::ptr::eq(stmt, *choice))?;
            let made = made_before(proc, at, (&param.name, param.ty), &sizes)?;
            let Stmt::Alloc { size, .. } = &made else {
                return None;
            };
            let (mut new, size) = (proc.clone(), size.clone());
            new.body.insert(at, made);
            new.params.get_mut(number)?.passing = Passing::Owned;
            return Some(Handed {
                proc: new,
                number,
                size,
            });
        }
        let [
            copy @ Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            },
        ] = touching.as_slice()
        else {
            return None;
        };
        let is_whole =
            *to == param.name && to_index.is_zero() && from_index.is_zero() && size_of(from) == Some(count);
        let is_large = count.as_constant().is_none_or(|cells| cells >= SMALL);
        let (before, after) = proc
            .body
            .split_at(proc.body.iter().position(|stmt| stmt == *copy)?);
        let is_own = before.iter().any(|stmt| match stmt {
            Stmt::Buffer { name, ty, space } => name == from && *ty == param.ty && *space == Space::Host,
            _ => false,
        });
        let swaps_alike = swaps_only(&proc.body, from, &|other| size_of(other) == Some(count));
        let mut after = after.iter().skip(1);
        let is_dead = after.all(|stmt| frees(stmt, from) || !mentions(stmt, from));
        if !(is_whole && is_large && is_own && swaps_alike && is_dead) {
            return None;
        }
        let kept = proc.body.iter().filter(|stmt| {
            let declares = matches!(stmt, Stmt::Buffer { name, .. } if name == from);
            !declares && !frees(stmt, from) && stmt != copy
        });
        let mut new = proc.clone();
        new.body = kept.map(|stmt| renamed(stmt, from, &param.name)).collect();
        new.params.get_mut(number)?.passing = Passing::Owned;
        Some(Handed {
            proc: new,
            number,
            size: count.clone(),
        })
    })
}

fn frees(stmt: &Stmt, buffer: &Name) -> bool {
    matches!(stmt, Stmt::Free(name) if name == buffer)
}

/// Whether a buffer stays the procedure's own, and takes turns only with others that are as large.
fn swaps_only(stmts: &[Stmt], buffer: &Name, is_alike: &dyn Fn(&Name) -> bool) -> bool {
    stmts.iter().all(|stmt| {
        let here = match stmt {
            Stmt::Swap(a, b) if a == buffer => is_alike(b),
            Stmt::Swap(a, b) if b == buffer => is_alike(a),
            Stmt::Shrink { buffer: shrunk, .. } => shrunk != buffer,
            Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => arguments
                .iter()
                .all(|argument| !matches!(argument, Argument::Owned(name) if name == buffer)),
            _ => true,
        };
        here && stmt
            .blocks()
            .into_iter()
            .all(|block| swaps_only(block, buffer, is_alike))
    })
}

/// Calls of a procedure that hands something over.
struct Call<'a>(&'a Handed);

impl Call<'_> {
    /// How many cells a call makes, in the caller's names; none where its parameters do not say that.
    fn size(&self, arguments: &[Argument]) -> Option<Index> {
        let Handed { proc, size, .. } = self.0;
        let given: HashMap<&Name, Index> = proc
            .params
            .iter()
            .zip(arguments)
            .filter_map(|(param, argument)| match argument {
                Argument::Value(value) => Some((&param.name, value.as_index()?)),
                Argument::Out(_) | Argument::Buffer(..) | Argument::Owned(_) => None,
            })
            .collect();
        let is_said = size.free_vars().all(|name| given.contains_key(name));
        is_said.then(|| size.substitute(|name| given.get(name).cloned()))
    }

    /// Statements in which all such calls make the block themselves; none where one of the blocks is somebody else's too.
    fn owned_in(&self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut result: Vec<Stmt> = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            let mut stmt = stmt.clone();
            for block in stmt.blocks_mut() {
                *block = self.owned_in(block)?;
            }
            if let Stmt::Call { proc, arguments, .. } = &mut stmt
                && *proc == self.0.proc.name
            {
                let size = self.size(arguments)?;
                let argument = arguments.get_mut(self.0.number)?;
                let buffer = match argument {
                    Argument::Buffer(buffer, first) if first.is_zero() => buffer.clone(),
                    _ => return None,
                };
                *argument = Argument::Owned(buffer.clone());
                // It was allocated for this call, in the same block; a larger one holds something else behind.
                let made = result.iter().rposition(|before| mentions(before, &buffer))?;
                let (before, between) = result.split_at_checked(made)?;
                let (made_here, between) = between.split_first()?;
                match made_here {
                    Stmt::Alloc {
                        buffer: made,
                        size: cells,
                        ..
                    } if *made == buffer && is_as_large(cells, &size, before, between) => {}
                    _ => return None,
                }
                result.remove(made);
            }
            result.push(stmt);
        }
        Some(result)
    }
}

/// Whether a block has as many cells as a call behind it makes.
fn is_as_large(cells: &Index, size: &Index, before: &[Stmt], between: &[Stmt]) -> bool {
    let between: Vec<&Stmt> = between.iter().collect();
    let said = cells.substitute(|name| before.iter().rev().find_map(|stmt| bound_size(stmt, name)));
    [cells, &said]
        .into_iter()
        .any(|cells| is_same_number(cells, size, &between))
}

/// What a statement binds a size to. One that cannot be negative may be said to be so (`max(n*m, 0)`).
fn bound_size(stmt: &Stmt, name: &Name) -> Option<Index> {
    match stmt {
        Stmt::Let {
            name: bound, value, ..
        } if bound == name => match value {
            Expr::Binary(BinOp::Max, size, none) if **none == Expr::int(0) => size.as_index(),
            value => value.as_index(),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        hand_over(&mut program.procs);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const MAIN: &str = "proc main(n: i64, k: i64, xs: read i64, out: write i64) {
        buffer state: i64 alloc state[n] copy state[0] = xs[0] for n buffer next: i64 alloc next[n]
        for i < k { for j < n { next[j] = state[n - 1 - j] } swap state, next }
        free next copy out[0] = state[0] for n free state }";

    #[test]
    fn the_block_of_a_loop_is_the_result() {
        let text = rewritten(&format!(
            "{MAIN} proc entry(n: i64, k: i64, xs: read i64, result: owned i64) {{
               alloc result[n] call main(n, k, buffer xs[0], buffer result[0]) }}"
        ));
        assert!(
            text.contains("out: owned i64") && text.contains("swap out, next"),
            "{text}"
        );
        assert!(
            text.matches("copy").count() == 1 && !text.contains("alloc result"),
            "{text}"
        );
        assert!(text.contains("owned result"), "{text}");
    }

    #[test]
    fn sizes_may_have_names() {
        let text = rewritten(&format!(
            "{MAIN} proc entry(n: i64, m: i64, k: i64, xs: read i64, result: owned i64) {{
               let cells: i64 = max({{n*m}}, 0i64) alloc result[cells]
               call main({{n*m}}, k, buffer xs[0], buffer result[0]) }}"
        ));
        assert!(text.contains("owned result"), "{text}");
    }

    #[test]
    fn not_where_a_caller_has_the_block_for_something_else() {
        for caller in [
            "proc entry(n: i64, k: i64, xs: read i64, result: write i64) { call main(n, k, buffer xs[0], buffer result[0]) }",
            "proc entry(n: i64, k: i64, xs: read i64, result: owned i64) {
               alloc result[n + 1] result[0] = 1i64 call main(n, k, buffer xs[0], buffer result[0]) }",
            "proc entry(n: i64, k: i64, xs: read i64, result: owned i64) {
               alloc result[n + 1] call main(n, k, buffer xs[0], buffer result[1]) result[0] = 1i64 }",
            "proc entry(n: i64, k: i64, xs: read i64, result: owned i64) {
               alloc result[n + 1] call main(n, k, buffer xs[0], buffer result[0]) result[n] = 1i64 }",
        ] {
            let text = rewritten(&format!("{MAIN} {caller}"));
            assert!(text.contains("copy out"), "{text}");
        }
    }

    #[test]
    fn not_where_the_block_may_be_another_ones() {
        let text = rewritten(
            "proc main(n: i64, xs: read i64, out: write i64) {
               buffer state: i64 alloc state[n] copy state[0] = xs[0] for n buffer next: i64 alloc next[n + 1]
               for i < n { for j < n { next[j] = state[j] } swap state, next }
               free next copy out[0] = state[0] for n free state }
             proc entry(n: i64, xs: read i64, result: owned i64) { alloc result[n] call main(n, buffer xs[0], buffer result[0]) }",
        );
        assert!(text.contains("copy out"), "{text}");
    }
}
