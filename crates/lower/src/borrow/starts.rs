//! What a loop starts with is borrowed, where the loop swaps two blocks: the first iteration reads it where it is.
//!
//! ```text
//! copy out[0] = xs[0] for n                   buffer current: borrowed f32
//! for i < k {                                 borrow current = xs[0] for n
//!   for j < n { next[j] = f(out[j]) }         for i < k {
//!   swap out, next                      ~~>     for j < n { next[j] = f(current[j]) }
//! }                                             swap out, next
//!                                               borrow current = out[0] for n
//!                                             }
//!                                             if k < 1i64 { copy out[0] = xs[0] for n }
//! ```
//!
//! Behind the loop the state is read where it is then. Where it is more than read (it is the result of its function), and the loop ran at all, it is
//! in a block of the loop's own; if not, it is copied then.

use super::Borrowing;
use crate::buffers::{Moved, mentions, renamed, writes};
use crate::turns::is_only_written;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Space, Stmt, is_column};
use almach_value::{BinOp, Scalar};

/// A loop that starts with a copy: of what, and what it swaps the copy with.
struct Start<'a> {
    state: &'a Name,
    next: Name,
    from: &'a Name,
    first: &'a Index,
    count: &'a Index,
    looped: usize,
}

impl Borrowing {
    /// The statements, where what is copied at `at` is what a loop starts with.
    pub(super) fn started(&mut self, whole: &[Stmt], stmts: &[Stmt], at: usize) -> Option<Vec<Stmt>> {
        let start = self.start(whole, stmts, at)?;
        let ty = *self.types.get(start.state)?;
        let after = stmts.get(start.looped + 1..)?;
        let end = self.end(&start, after, stmts.get(start.looped)?)?;
        let current = self.fresh("current");
        let borrow = |from: &Name, first: &Index| Stmt::Borrow {
            buffer: current.clone(),
            from: from.clone(),
            first: first.clone(),
            count: start.count.clone(),
        };
        let mut out = stmts.get(..at)?.to_vec();
        out.push(Stmt::Buffer {
            name: current.clone(),
            ty,
            space: Space::Borrowed,
        });
        out.push(borrow(start.from, start.first));
        out.extend(stmts.get(at + 1..start.looped)?.iter().cloned());
        let again = borrow(start.state, &Index::zero());
        out.push(read_as(stmts.get(start.looped)?, start.state, &current, &again));
        match end {
            End::OnlyRead { freed } => {
                let mut behind = Vec::new();
                for (number, stmt) in after.iter().enumerate() {
                    match stmt {
                        Stmt::Free(name) if name == start.from && number < freed => behind.push(stmt.clone()),
                        Stmt::Free(_) => out.push(stmt.clone()),
                        _ => out.push(renamed(stmt, start.state, &current)),
                    }
                    if number == freed {
                        out.append(&mut behind);
                    }
                }
            }
            End::Copied(copy) => {
                out.extend(copy);
                out.extend(after.iter().cloned());
            }
        }
        Some(out)
    }

    fn start<'a>(&self, whole: &[Stmt], stmts: &'a [Stmt], at: usize) -> Option<Start<'a>> {
        let Some(Stmt::Copy {
            to: state,
            to_index,
            from,
            from_index: first,
            count,
        }) = stmts.get(at)
        else {
            return None;
        };
        let is_large = count.as_constant().is_none_or(|cells| cells >= super::SMALL);
        let is_whole = to_index.is_zero() && self.sizes.get(state)?.as_ref() == Some(count);
        if !is_large || !is_whole || from == state || is_column(from) {
            return None;
        }
        let rest = stmts.get(at + 1..)?;
        let looped = at + 1 + rest.iter().position(|stmt| mentions(stmt, state))?;
        let looping = stmts.get(looped)?;
        let is_loop = match looping {
            Stmt::For { mode, .. } => *mode == LoopMode::Seq,
            Stmt::While { .. } => true,
            _ => false,
        };
        let mut swaps = Vec::new();
        collect_swaps(std::slice::from_ref(looping), state, &mut swaps);
        let [next] = swaps.as_slice() else {
            return None;
        };
        let next = (*next).clone();
        let alike = self.sizes.get(&next) == self.sizes.get(state);
        let between = stmts.get(at + 1..=looped)?;
        let stays = between.iter().all(|stmt| !writes(stmt, from));
        let reads = is_read(std::slice::from_ref(looping), state);
        let good = is_loop && alike && stays && reads && is_only_written(whole, &next, state);
        good.then_some(Start {
            state,
            next,
            from,
            first,
            count,
            looped,
        })
        .filter(|start| start.next != *start.from)
    }

    fn end(&self, start: &Start<'_>, after: &[Stmt], looping: &Stmt) -> Option<End> {
        let freed = after
            .iter()
            .position(|stmt| matches!(stmt, Stmt::Free(name) if name == start.state));
        if let Some(freed) = freed {
            let reads = after.get(..freed)?.iter();
            let only_read = reads.clone().all(|stmt| !writes(stmt, start.state));
            let stays = reads.clone().all(|stmt| {
                matches!(stmt, Stmt::Free(name) if name == start.from) || !writes(stmt, start.from)
            });
            if only_read && stays {
                return Some(End::OnlyRead { freed });
            }
        }
        let Stmt::For { count, .. } = looping else {
            return None;
        };
        let copy = Stmt::Copy {
            to: start.state.clone(),
            to_index: Index::zero(),
            from: start.from.clone(),
            from_index: start.first.clone(),
            count: start.count.clone(),
        };
        match count.as_constant() {
            Some(count) if count > 0 => Some(End::Copied(None)),
            Some(_) => None,
            None => Some(End::Copied(Some(Stmt::If {
                condition: Expr::Binary(
                    BinOp::Lt,
                    Box::new(Expr::Index(count.clone())),
                    Box::new(Expr::Const(Scalar::I64(1))),
                ),
                then: vec![copy],
                otherwise: Vec::new(),
            }))),
        }
    }
}

/// What becomes of the state behind the loop.
enum End {
    /// It is read, and freed by that statement.
    OnlyRead { freed: usize },
    /// It is needed where it was to be: it is there, or copied now.
    Copied(Option<Stmt>),
}

/// The buffers that a state is swapped with, as often as it is.
fn collect_swaps<'a>(stmts: &'a [Stmt], state: &Name, out: &mut Vec<&'a Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Swap(a, b) if a == state => out.push(b),
            Stmt::Swap(a, b) if b == state => out.push(a),
            _ => {}
        }
        stmt.blocks()
            .into_iter()
            .for_each(|block| collect_swaps(block, state, out));
    }
}

/// Whether a buffer is only read and swapped.
fn is_read(stmts: &[Stmt], buffer: &Name) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Swap(..) => true,
        _ if stmt.blocks().is_empty() => !writes(stmt, buffer),
        _ => stmt.blocks().into_iter().all(|block| is_read(block, buffer)),
    })
}

/// A statement that reads one buffer where it read another, and borrows anew behind the swap.
fn read_as(stmt: &Stmt, state: &Name, current: &Name, again: &Stmt) -> Stmt {
    let moved = Moved {
        from: state,
        to: current,
        first: &Index::zero(),
    };
    let block = |stmts: &[Stmt]| {
        let mut out = Vec::new();
        for stmt in stmts {
            out.push(read_as(stmt, state, current, again));
            if matches!(stmt, Stmt::Swap(a, b) if a == state || b == state) {
                out.push(again.clone());
            }
        }
        out
    };
    match stmt {
        Stmt::Swap(..) => stmt.clone(),
        Stmt::For {
            index,
            width,
            count,
            mode,
            body,
        } => Stmt::For {
            index: index.clone(),
            width: *width,
            count: count.clone(),
            mode: *mode,
            body: block(body),
        },
        Stmt::While { condition, body } => Stmt::While {
            condition: moved.expr(condition),
            body: block(body),
        },
        Stmt::If {
            condition,
            then,
            otherwise,
        } => Stmt::If {
            condition: moved.expr(condition),
            then: block(then),
            otherwise: block(otherwise),
        },
        other => moved.stmt(other),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        crate::borrow::borrow(&mut program.procs);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const LOOP: &str = "buffer next: i64 alloc next[n] copy state[0] = xs[0] for n
        for i < k { for j < n { next[j] = state[n - 1 - j] } swap state, next } free next";

    #[test]
    fn a_state_that_is_read_behind_the_loop_is_never_copied() {
        let text = rewritten(&format!(
            "proc main(n: i64, k: i64, xs: read i64, out: write i64) {{
               buffer state: i64 alloc state[n] {LOOP} for l < n {{ out[l] = state[l] * 2i64 }} free state }}"
        ));
        assert!(
            !text.contains("copy") && text.contains("out[l] = current[l] * 2i64"),
            "{text}"
        );
        assert!(text.contains("borrow current = state[0] for n"), "{text}");
    }

    #[test]
    fn a_result_is_copied_where_the_loop_did_not_run() {
        let text = rewritten(&format!(
            "proc main(n: i64, k: i64, xs: read i64, state: owned i64) {{ alloc state[n] {LOOP} }}"
        ));
        assert!(
            text.contains("borrow current = xs[0] for n") && text.matches("copy").count() == 1,
            "{text}"
        );
        assert!(text.contains("if {k} < 1i64"), "{text}");
    }

    #[test]
    fn not_where_the_start_changes_or_the_blocks_are_looked_at() {
        for looped in [
            LOOP.replace("swap state, next", "xs[0] = 1i64 swap state, next"),
            LOOP.replace("swap state, next", "state[0] = 1i64 swap state, next"),
            LOOP.replace("swap state, next", "out[0] = next[0] swap state, next"),
            LOOP.replace(
                "copy state[0] = xs[0] for n",
                "copy state[0] = xs[0] for n - 1 state[n - 1] = 0i64",
            ),
        ] {
            let text = rewritten(&format!(
                "proc main(n: i64, k: i64, xs: write i64, out: write i64) {{
                   buffer state: i64 alloc state[n] {looped} for l < n {{ out[l] = state[l] * 2i64 }} free state }}"
            ));
            assert!(!text.contains("borrow"), "{text}");
        }
    }
}
