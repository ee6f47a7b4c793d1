//! Arrays that are made only to be copied are made where the copy would be.
//!
//! ```text
//! buffer acc: f32
//! alloc acc[n]
//! for i < n { acc[i] = 0.0 }                        for i < n { out[k*n + i] = 0.0 }
//! for j < m {                                 ~~>   for j < m {
//!   for i < n { acc[i] = acc[i] + xs[j*n + i] }       for i < n { out[k*n + i] = out[k*n + i] + xs[j*n + i] }
//! }                                                 }
//! copy out[k*n] = acc[0] for n
//! free acc
//! ```
//!
//! Such are accumulators of `reduceSeq`, histograms, loops that update in place. The other way around, an array that starts as a
//! copy of one that nobody looks at any more takes that one over. Small arrays of constant size stay: the C compiler keeps
//! them in registers. So do larger ones in an iteration of a parallel loop: they are on its stack, and C knows there that they
//! are apart from all other memory, which it does not know of parts of buffers.
//!
//! Removes: buffers, copies. Introduces: nothing. Guarantees: the same results; an iteration of a parallel loop touches no cells but
//! its own, since it wrote those of the copy before. Where a call fails, what it wrote so far is nobody's. Each step looks only at
//! statements that have to do with the two buffers, so that the pass is near-linear in the length of a block.

mod lines;

use crate::in_place::allocated;
use crate::moves::moves;
use almach_base::Name;
use almach_imp::{Argument, Index, Proc, Space, Stmt};
use lines::Lines;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Arrays of fewer cells are left to the C compiler.
const SMALL: i64 = 1024;
const SMALL_IN_ITERATIONS: i64 = 4097;

#[derive(Clone, Copy)]
enum Around {
    Nothing,
    ParallelLoop,
}

pub(crate) fn forward(proc: &mut Proc) {
    let mut sizes = HashMap::new();
    allocated(&proc.body, &mut sizes);
    let sizes = Sizes(sizes);
    sizes.block(&mut proc.body, Around::Nothing);
}

/// Numbers of cells of buffers that are allocated with one size only.
struct Sizes(HashMap<Name, Option<Index>>);

impl Sizes {
    fn block(&self, stmts: &mut Vec<Stmt>, around: Around) {
        let mut lines = Lines::new(std::mem::take(stmts));
        let is_large = |at: &usize| self.large_buffer(lines.stmt(*at), around).is_some();
        let mut open: BTreeSet<usize> = (0..lines.stmts.len()).filter(is_large).collect();
        while let Some(at) = open.pop_first() {
            let Some(buffer) = self.large_buffer(lines.stmt(at), around) else {
                continue;
            };
            let kept = lines
                .taken_over(at, &buffer, self)
                .or_else(|| lines.forwarded(at, &buffer, self));
            // What was copied to may be copied itself, and what is copied there may be made there now.
            open.extend(kept.map(|kept| lines.buffers_beside(&kept)).unwrap_or_default());
        }
        *stmts = lines.stmts.into_iter().flatten().collect();
        for stmt in stmts.iter_mut() {
            let around = match stmt {
                Stmt::For { mode, .. } if mode.has_threads() => Around::ParallelLoop,
                _ => around,
            };
            stmt.blocks_mut()
                .into_iter()
                .for_each(|inner| self.block(inner, around));
        }
    }

    fn of(&self, buffer: &Name) -> Option<&Index> {
        self.0.get(buffer)?.as_ref()
    }

    /// The buffer that a statement declares, where it is worth a look.
    fn large_buffer(&self, stmt: Option<&Stmt>, around: Around) -> Option<Name> {
        let least = match around {
            Around::Nothing => SMALL,
            Around::ParallelLoop => SMALL_IN_ITERATIONS,
        };
        match stmt? {
            Stmt::Buffer {
                name,
                space: Space::Host,
                ..
            } => {
                let is_large = |size: &Index| size.as_constant().is_none_or(|size| size >= least);
                self.of(name).is_some_and(is_large).then(|| name.clone())
            }
            _ => None,
        }
    }

    /// Where a statement copies all of a buffer to: to which one, and its first cell there.
    fn destination(&self, stmt: &Stmt, buffer: &Name) -> Option<(Name, Index)> {
        let found = moves(stmt).filter(|moves| moves.from == buffer)?;
        let to = found.to.clone();
        Some((to, found.in_order(self.of(buffer)?)?))
    }
}

/// The scalars that a statement binds or changes, at any depth.
fn changed(stmt: &Stmt, names: &mut HashSet<Name>) {
    match stmt {
        Stmt::Let { name, .. }
        | Stmt::Var { name, .. }
        | Stmt::Assign { name, .. }
        | Stmt::Reserve { name, .. }
        | Stmt::For { index: name, .. } => {
            names.insert(name.clone());
        }
        Stmt::Atomic { step, .. } => names.extend(step.bound().map(|(name, _)| name.clone())),
        Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => {
            names.extend(arguments.iter().filter_map(|argument| match argument {
                Argument::Out(name) => Some(name.clone()),
                Argument::Value(_) | Argument::Buffer(..) | Argument::Owned(_) => None,
            }));
        }
        Stmt::Store { .. }
        | Stmt::Buffer { .. }
        | Stmt::Alloc { .. }
        | Stmt::Shrink { .. }
        | Stmt::Borrow { .. }
        | Stmt::Await { .. }
        | Stmt::Free(_)
        | Stmt::Barrier
        | Stmt::Kernel { .. }
        | Stmt::Transfer(_)
        | Stmt::Swap(..)
        | Stmt::Copy { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Check { .. }
        | Stmt::Trace { .. }
        | Stmt::At(_) => {}
    }
    for block in stmt.blocks() {
        block.iter().for_each(|inner| changed(inner, names));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        program.procs.iter_mut().for_each(forward);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const HEAD: &str = "proc main(n: i64, k: i64, xs: read i64, out: write i64) { ";

    #[test]
    fn an_accumulator_is_part_of_the_result() {
        let text = rewritten(&format!(
            "{HEAD} buffer acc: i64 alloc acc[n] for i < n {{ acc[i] = 0i64 }}
             for j < k {{ for l < n {{ acc[l] = acc[l] + xs[j*n + l] }} }}
             copy out[k*n] = acc[0] for n free acc }}"
        ));
        assert!(!text.contains("acc") && !text.contains("copy"), "{text}");
        assert!(
            text.contains("out[k*n + l] = out[k*n + l] + xs[j*n + l]"),
            "{text}"
        );
    }

    #[test]
    fn by_a_loop_as_well() {
        let text = rewritten(&format!(
            "{HEAD} buffer acc: i64 alloc acc[n] for i < n {{ acc[i] = xs[i] }}
             for l < n {{ out[k + l] = acc[l] }} free acc }}"
        ));
        assert!(
            !text.contains("acc") && text.contains("out[i + k] = xs[i]"),
            "{text}"
        );
    }

    #[test]
    fn row_by_row_as_well() {
        let text = rewritten(&format!(
            "{HEAD} buffer acc: i64 alloc acc[k*n] for i < k*n {{ acc[i] = xs[i] }}
             par for r < k {{ copy out[n*r + 1] = acc[n*r] for n }} free acc }}"
        ));
        assert!(
            !text.contains("acc") && text.contains("out[i + 1] = xs[i]"),
            "{text}"
        );
        let text = rewritten(&format!(
            "{HEAD} buffer acc: i64 alloc acc[k*n] for i < k*n {{ acc[i] = xs[i] }}
             for r < k {{ for c < n {{ out[k*c + r] = acc[n*r + c] }} }} free acc }}"
        ));
        assert!(text.contains("alloc acc"), "{text}");
        let text = rewritten(&format!(
            "{HEAD} buffer a: i64 alloc a[k*n] for i < k*n {{ a[i] = xs[i] }}
             buffer b: i64 alloc b[k*n] for r < k {{ copy b[n*r] = a[n*r] for n }} free a
             for j < k*n {{ b[j] = b[j] + 1i64 }} out[0] = b[0] free b }}"
        ));
        assert!(
            !text.contains("copy") && text.matches("alloc").count() == 1,
            "{text}"
        );
    }

    #[test]
    fn not_where_the_result_is_looked_at_meanwhile_or_the_array_later() {
        for (between, copy) in [
            ("let x: i64 = out[0] acc[0] = x", "copy out[0] = acc[0] for n"),
            ("", "copy out[0] = acc[0] for n let y: i64 = acc[0] out[0] = y"),
            ("let first: i64 = xs[0]", "copy out[first] = acc[0] for n"),
            ("", "copy out[0] = acc[1] for n - 1"),
            ("", "for l < n { out[2*l] = acc[l] }"),
        ] {
            let text = rewritten(&format!(
                "{HEAD} buffer acc: i64 alloc acc[n] for i < n {{ acc[i] = xs[i] }} {between} {copy} free acc }}"
            ));
            assert!(text.contains("alloc acc"), "{text}");
        }
    }

    #[test]
    fn small_arrays_stay() {
        let text = rewritten(&format!(
            "{HEAD} buffer acc: i64 alloc acc[16] for i < 16 {{ acc[i] = xs[i] }} copy out[0] = acc[0] for 16 free acc }}"
        ));
        assert!(text.contains("copy out"), "{text}");
        let text = rewritten(&format!(
            "{HEAD} par for c < k {{ buffer acc: i64 alloc acc[2048] for i < 2048 {{ acc[i] = xs[i] }}
             copy out[2048*c] = acc[0] for 2048 free acc }} }}"
        ));
        assert!(text.contains("copy out"), "{text}");
    }

    #[test]
    fn a_copy_takes_over_what_nobody_needs() {
        let text = rewritten(&format!(
            "{HEAD} buffer a: i64 alloc a[n] for i < n {{ a[i] = xs[i] }}
             buffer b: i64 alloc b[n] copy b[0] = a[0] for n free a
             for j < n {{ b[j] = b[j] + 1i64 }} out[0] = b[0] free b }}"
        ));
        assert!(
            !text.contains("copy") && text.matches("alloc").count() == 1,
            "{text}"
        );
        let text = rewritten(&format!(
            "{HEAD} buffer a: i64 alloc a[n] for i < n {{ a[i] = xs[i] }}
             buffer b: i64 alloc b[n] copy b[0] = a[0] for n
             for j < n {{ b[j] = b[j] + a[0] }} out[0] = b[0] free a free b }}"
        ));
        assert!(text.contains("copy b"), "{text}");
    }
}
