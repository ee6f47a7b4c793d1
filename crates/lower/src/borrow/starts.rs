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
use crate::slots::{Slots, frees};
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Space, Stmt, is_column};
use almach_value::{BinOp, Scalar};

/// A loop that starts with a copy, and of what.
struct Start {
    state: Name,
    from: Name,
    first: Index,
    count: Index,
    looped: usize,
}

impl Borrowing {
    /// Lets a loop start with what is copied at `at`, where that is what it starts with.
    pub(super) fn started(&mut self, slots: &mut Slots, at: usize) -> Option<()> {
        let start = self.start(slots, at)?;
        let ty = *self.types.get(&start.state)?;
        let looping = slots.only(start.looped)?.clone();
        let end = self.end(&start, slots, &looping)?;
        let current = self.fresh("current");
        let borrow = |from: &Name, first: &Index| Stmt::Borrow {
            buffer: current.clone(),
            from: from.clone(),
            first: first.clone(),
            count: start.count.clone(),
        };
        let declare = Stmt::Buffer {
            name: current.clone(),
            ty,
            space: Space::Borrowed,
        };
        slots.replace(at, vec![declare, borrow(&start.from, &start.first)]);
        let again = borrow(&start.state, &Index::zero());
        let mut looped = vec![read_as(&looping, &start.state, &current, &again)];
        match end {
            End::OnlyRead { freed } => {
                let readers: Vec<usize> = slots.after(&start.state, start.looped).collect();
                for reader in readers {
                    let read = |stmt: &Stmt| match stmt {
                        Stmt::Free(_) => stmt.clone(),
                        _ => renamed(stmt, &start.state, &current),
                    };
                    let stmts = slots.get(reader).iter().map(read).collect();
                    slots.replace(reader, stmts);
                }
                slots.free_later([&start.from], start.looped, freed);
            }
            End::Copied(copy) => looped.extend(copy),
        }
        slots.replace(start.looped, looped);
        Some(())
    }

    fn start(&self, slots: &Slots, at: usize) -> Option<Start> {
        let Some(Stmt::Copy {
            to: state,
            to_index,
            from,
            from_index: first,
            count,
        }) = slots.only(at)
        else {
            return None;
        };
        let is_large = count.as_constant().is_none_or(|cells| cells >= super::SMALL);
        let is_whole = to_index.is_zero() && self.sizes.get(state)?.as_ref() == Some(count);
        if !is_large || !is_whole || from == state || is_column(from) {
            return None;
        }
        let looped = slots
            .after(state, at)
            .find(|at| slots.get(*at).iter().any(|stmt| mentions(stmt, state)))?;
        let looping = slots.only(looped)?;
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
        let mut between = slots.between(from, at, looped + 1);
        let stays = between.all(|at| slots.get(at).iter().all(|stmt| !writes(stmt, from)));
        let reads = is_read(std::slice::from_ref(looping), state);
        let good =
            is_loop && alike && stays && reads && next != *from && self.looked.is_only_written(&next, state);
        good.then(|| Start {
            state: state.clone(),
            from: from.clone(),
            first: first.clone(),
            count: count.clone(),
            looped,
        })
    }

    fn end(&self, start: &Start, slots: &Slots, looping: &Stmt) -> Option<End> {
        if let Some(freed) = slots.freed(&start.state, start.looped) {
            let all = |buffer: &Name, is_fine: &dyn Fn(&Stmt) -> bool| {
                let mut later = slots.between(buffer, start.looped, freed);
                later.all(|at| slots.get(at).iter().all(is_fine))
            };
            let only_read = all(&start.state, &|stmt| !writes(stmt, &start.state));
            let stays = all(&start.from, &|stmt| {
                frees(stmt, &start.from) || !writes(stmt, &start.from)
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
    /// It is read, and freed in that slot.
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
