//! Loops with a recursive call in them run in order.
//!
//! ```text
//! par for i < n { call f(…) }   inside `f`   ~~>   for i < n { call f(…) }
//! ```
//!
//! A recursive procedure waits for the one it calls on a stack of frames, and a parallel loop cannot be left and entered
//! again. The strategy chooses no level for such an operation; this is for levels that the user wrote.
//!
//! Removes: `par`, `simd` and `chain` of such loops, and waiting for what is there when iterations come in order.
//! Introduces: nothing. Guarantees: rule IMP-13.

use almach_base::Name;
use almach_imp::naturals::calls;
use almach_imp::{Groups, LoopMode, Proc, Stmt};

pub(crate) fn in_turn(procs: &mut [Proc]) {
    let groups = Groups::of(procs.iter());
    for proc in procs.iter_mut().filter(|proc| groups.is_recursive(&proc.name)) {
        block(&mut proc.body, &proc.name, &groups);
    }
}

fn block(stmts: &mut [Stmt], proc: &Name, groups: &Groups) {
    for stmt in stmts {
        if let Stmt::For { mode, body, .. } = stmt {
            let mut called = Vec::new();
            calls(body, &mut called);
            if called.into_iter().any(|callee| groups.are_together(proc, callee)) {
                *mode = LoopMode::Seq;
                without_waiting(body);
            }
        }
        for inner in stmt.blocks_mut() {
            block(inner, proc, groups);
        }
    }
}

/// What an earlier iteration publishes is there.
fn without_waiting(stmts: &mut Vec<Stmt>) {
    stmts.retain(|stmt| !matches!(stmt, Stmt::Await { .. }));
    for stmt in stmts {
        stmt.blocks_mut().into_iter().for_each(without_waiting);
    }
}
