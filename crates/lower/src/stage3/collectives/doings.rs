//! What phrases do beside computing: whether they may end a run with an error of the program, and whether lanes can do them
//! together.

use super::super::Generator;
use almach_base::Name;
use almach_dpia::{Phrase, Prim, Program};
use almach_prim::Level;
use std::collections::HashSet;

/// The procedures that do what cannot be seen in a call of theirs.
pub(crate) struct Procs {
    /// They may end a run with an error of the program.
    failing: HashSet<Name>,
    /// Lanes cannot do them together.
    alone: HashSet<Name>,
}

impl Procs {
    pub(crate) fn of(program: &Program) -> Procs {
        Procs {
            failing: procs_with(program, fails),
            alone: procs_with(program, is_for_one),
        }
    }
}

/// The procedures in which there is such a primitive: the least set that is consistent with who calls whom.
fn procs_with(program: &Program, wanted: fn(&Prim) -> bool) -> HashSet<Name> {
    let mut found = HashSet::new();
    loop {
        let before = found.len();
        for proc in &program.procs {
            if has(&proc.body, &found, wanted) {
                found.insert(proc.name.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn has(phrase: &Phrase, procs: &HashSet<Name>, wanted: fn(&Prim) -> bool) -> bool {
    match phrase {
        Phrase::Var(name) => procs.contains(name),
        Phrase::Prim(instance) => wanted(&instance.prim),
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::DataApp(inner, _)
        | Phrase::Project(_, inner)
        | Phrase::At(_, inner) => has(inner, procs, wanted),
        Phrase::App(left, right) | Phrase::Pair(left, right) => {
            has(left, procs, wanted) || has(right, procs, wanted)
        }
    }
}

fn fails(prim: &Prim) -> bool {
    matches!(prim, Prim::Check(..) | Prim::ScatterI(..) | Prim::PermuteI(..))
}

/// Whether a primitive starts threads or lanes, makes rows of stores, or shows something.
fn is_for_one(prim: &Prim) -> bool {
    match prim {
        Prim::Map(level)
        | Prim::MapI(level)
        | Prim::ParFor(level)
        | Prim::ParRows(level)
        | Prim::ScanI(level, ..)
        | Prim::ScanRowsI(level, ..)
        | Prim::ReduceChunksI(level, _)
        | Prim::FilterI(level, ..)
        | Prim::PartitionI(level, _)
        | Prim::ScatterI(level, ..)
        | Prim::PermuteI(level, ..)
        | Prim::ReduceByIndexI(level, ..) => *level != Level::Seq,
        Prim::Foreign(_)
        | Prim::Trace(..)
        | Prim::Construct(_)
        | Prim::NewTable(..)
        | Prim::NewRows(..)
        | Prim::NewCells(..)
        | Prim::NewGroup(..)
        | Prim::TableOf(_)
        | Prim::ReachOf(_)
        | Prim::OrderOf(_)
        | Prim::OrderIn(_)
        | Prim::GroupOf(_) => true,
        _ => false,
    }
}

impl Generator<'_> {
    /// Whether running a phrase may fail, but for lack of memory.
    pub(super) fn may_fail(&self, phrase: &Phrase) -> bool {
        has(phrase, &self.procs.failing, fails)
    }

    /// Whether lanes can run a phrase together.
    pub(super) fn is_for_lanes(&self, phrase: &Phrase) -> bool {
        !has(phrase, &self.procs.alone, is_for_one)
    }
}
