//! Every pipeline of rewrites, in the order its passes run. Read this first.

use crate::{
    Pass, constant_folding, copy_propagation, cse, dead_code, divide, flattening, forwarding, fusion,
    hoisting, horizontal, inlining, known_results, lists, mutual, normal_sizes, short_circuits, size_checks,
    split_results, tables, tail_calls, trees, views,
};

/// Leaves a program small: what other passes leave behind is cleaned up here.
pub const CLEAN: &[&Pass] = &[
    &copy_propagation::PASS,
    &constant_folding::PASS,
    // Folding takes branches and leaves copies.
    &copy_propagation::PASS,
    &views::PASS,
    &copy_propagation::PASS,
    &known_results::PASS,
    &cse::PASS,
    &dead_code::PASS,
];

/// What every program gets before a strategy is chosen.
pub const STANDARD: &[&Pass] = &[
    &dead_code::PASS,
    &inlining::PASS,
    // Recursion that inlining has not hidden in larger bodies. Copies would hide what it does.
    &mutual::PASS,
    &copy_propagation::PASS,
    &lists::PASS,
    &trees::PASS,
    &divide::PASS,
    &inlining::PASS,
    &tail_calls::PASS,
    // The copies of inlined bodies, and what they decide.
    &copy_propagation::PASS,
    &constant_folding::PASS,
    &copy_propagation::PASS,
    &split_results::PASS,
    &views::PASS,
    &copy_propagation::PASS,
    &short_circuits::PASS,
    &known_results::PASS,
    &cse::PASS,
    &dead_code::PASS,
    // Before fusion: what is an array can be fused.
    &tables::PASS,
    &copy_propagation::PASS,
    &known_results::PASS,
    &dead_code::PASS,
    // Uses must be counted on a clean program.
    &size_checks::PASS,
    &fusion::PASS,
    // The links between fused bodies.
    &copy_propagation::PASS,
    &split_results::PASS,
    &views::PASS,
    &constant_folding::PASS,
    &copy_propagation::PASS,
    // Predicates that became one.
    &short_circuits::PASS,
    &cse::PASS,
    // Equal arguments became one, which may let more fuse.
    &dead_code::PASS,
    // What could be fused inside of rows has been; what they become may fuse with what is around.
    &flattening::PASS,
    &cse::PASS,
    &dead_code::PASS,
    &size_checks::PASS,
    &fusion::PASS,
    &copy_propagation::PASS,
    &views::PASS,
    &copy_propagation::PASS,
    &known_results::PASS,
    &cse::PASS,
    // What could be fused with what takes its elements has been.
    &horizontal::PASS,
    &copy_propagation::PASS,
    &cse::PASS,
    &forwarding::PASS,
    // Last, since what is hoisted no longer stands where fusion looks.
    &hoisting::PASS,
    &cse::PASS,
    &known_results::PASS,
    &normal_sizes::PASS,
    &dead_code::PASS,
];

/// Everything in one body, for targets without calls.
pub const INLINE_ALL: &[&Pass] = &[
    &inlining::ALL,
    &copy_propagation::PASS,
    &constant_folding::PASS,
    &copy_propagation::PASS,
    &dead_code::PASS,
];

/// Every pass, by name.
pub const ALL: &[&Pass] = &[
    &inlining::PASS,
    &inlining::ALL,
    &mutual::PASS,
    &lists::PASS,
    &trees::PASS,
    &divide::PASS,
    &tail_calls::PASS,
    &tables::PASS,
    &copy_propagation::PASS,
    &constant_folding::PASS,
    &views::PASS,
    &short_circuits::PASS,
    &split_results::PASS,
    &known_results::PASS,
    &cse::PASS,
    &size_checks::PASS,
    &fusion::PASS,
    &flattening::PASS,
    &horizontal::PASS,
    &forwarding::PASS,
    &hoisting::PASS,
    &normal_sizes::PASS,
    &dead_code::PASS,
];

/// The pass of that name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    ALL.iter().copied().find(|pass| pass.name == name)
}

/// Passes that are switched off. A program compiled without them gives the same value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Without {
    /// One bit per pass of [`ALL`].
    passes: u64,
}

impl Without {
    /// The passes of these names; the error is a name that none has.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Without, &'n str> {
        let mut without = Without::default();
        for name in names {
            let at = ALL.iter().position(|pass| pass.name == name).ok_or(name)?;
            without.passes |= 1 << at;
        }
        Ok(without)
    }

    pub fn has(self, pass: &Pass) -> bool {
        let at = ALL.iter().position(|other| other.name == pass.name);
        at.is_some_and(|at| self.passes & (1 << at) != 0)
    }

    /// What is left of a pipeline.
    pub fn of(self, pipeline: &[&'static Pass]) -> Vec<&'static Pass> {
        pipeline.iter().copied().filter(|pass| !self.has(pass)).collect()
    }
}
