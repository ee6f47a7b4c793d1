//! Operations whose functions lead back to the function they stand in run in order.
//!
//! ```text
//! def rec size (t: …) = 1 + reduce (+) 0 (map size …)      ~~>      … map@seq size …
//! ```
//!
//! A call that waits for another of its own group does so on a stack of frames; a parallel loop cannot be left while it
//! waits. Operations of a recursive function that hold no such call stay free.

use almach_core::visit::{
    Walk, WalkMut, walk_exp, walk_exp_mut, walk_function, walk_function_mut, walk_lambda,
};
use almach_core::{Exp, FunId, Op, Program};
use almach_prim::{Level, TakesLevel};
use std::collections::HashSet;

/// Gives those operations their level, where the user wrote none.
pub(crate) fn in_order(mut program: Program) -> Program {
    let called: Vec<Vec<FunId>> = program
        .functions
        .iter()
        .map(|function| {
            let mut calls = Calls(Vec::new());
            walk_function(&mut calls, function);
            calls.0
        })
        .collect();
    let mut callers: Vec<Vec<FunId>> = vec![Vec::new(); called.len()];
    for (at, callees) in (0u32..).zip(&called) {
        for callee in callees {
            if let Some(callers) = callers.get_mut(callee.0 as usize) {
                callers.push(FunId(at));
            }
        }
    }
    for (at, function) in (0u32..).zip(&mut program.functions) {
        let back = leading_to(FunId(at), &callers);
        // Only where it leads to itself is there a recursion.
        if back.contains(&FunId(at)) {
            walk_function_mut(&mut Marker { back }, function);
        }
    }
    program
}

/// The functions whose calls may lead to this one.
fn leading_to(target: FunId, callers: &[Vec<FunId>]) -> HashSet<FunId> {
    let mut found = HashSet::new();
    let mut open = vec![target];
    while let Some(id) = open.pop() {
        for caller in callers.get(id.0 as usize).into_iter().flatten() {
            if found.insert(*caller) {
                open.push(*caller);
            }
        }
    }
    found
}

struct Calls(Vec<FunId>);

impl Walk for Calls {
    fn exp(&mut self, exp: &Exp) {
        if let Exp::Call { function, .. } = exp {
            self.0.push(*function);
        }
        walk_exp(self, exp);
    }
}

struct Marker {
    back: HashSet<FunId>,
}

impl Marker {
    fn calls_back(&self, op: &Op) -> bool {
        let mut calls = Calls(Vec::new());
        for function in &op.functions {
            walk_lambda(&mut calls, function);
        }
        calls.0.iter().any(|callee| self.back.contains(callee))
    }
}

impl WalkMut for Marker {
    fn exp(&mut self, exp: &mut Exp) {
        if let Exp::Op(op) = exp
            && op.annotation.level.is_none()
            && op.prim.info().takes_level == TakesLevel::Yes
            && self.calls_back(op)
        {
            op.annotation.level = Some(Level::Seq);
        }
        walk_exp_mut(self, exp);
    }
}
