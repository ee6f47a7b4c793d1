//! Which phrases may end a run with an error of the program.

use super::super::Generator;
use almach_base::Name;
use almach_dpia::{Phrase, Prim, Program};
use std::collections::HashSet;

/// The procedures that may fail: the least set that is consistent with who calls whom.
pub(crate) fn failing_procs(program: &Program) -> HashSet<Name> {
    let mut failing = HashSet::new();
    loop {
        let before = failing.len();
        for proc in &program.procs {
            if fails(&proc.body, &failing) {
                failing.insert(proc.name.clone());
            }
        }
        if failing.len() == before {
            return failing;
        }
    }
}

fn fails(phrase: &Phrase, failing: &HashSet<Name>) -> bool {
    match phrase {
        Phrase::Var(name) => failing.contains(name),
        Phrase::Prim(instance) => matches!(
            instance.prim,
            Prim::Check(..) | Prim::ScatterI(..) | Prim::PermuteI(..)
        ),
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::DataApp(inner, _)
        | Phrase::Project(_, inner)
        | Phrase::At(_, inner) => fails(inner, failing),
        Phrase::App(left, right) | Phrase::Pair(left, right) => fails(left, failing) || fails(right, failing),
    }
}

impl Generator<'_> {
    /// Whether running a phrase may fail, but for lack of memory.
    pub(super) fn may_fail(&self, phrase: &Phrase) -> bool {
        fails(phrase, self.failing)
    }
}
