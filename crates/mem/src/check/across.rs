//! What iterations of one body have to do with each other.

use crate::draft::Draft;
use crate::index::{BodyId, Index, Moment, count};
use almach_core::{Exp, LoopForm, Size, Var};
use almach_lmad::{Lmad, Range, Ranges, Verdict, disjoint, iterations_disjoint};
use std::collections::HashMap;

/// A body that runs several times.
pub(super) struct Across<'a, 'p> {
    pub(super) memory: &'a Draft<'a, 'p>,
    /// What is bound between these moments is another one's in another iteration.
    pub(super) inside: (usize, usize),
    /// The number of the iteration, and how many there are, where they are counted.
    pub(super) counted: Option<(Var, Size)>,
    /// What it is in.
    pub(super) around: BodyId,
}

impl Across<'_, '_> {
    fn index(&self) -> &Index<'_> {
        self.memory.index()
    }

    pub(super) fn is_inside(&self, moment: usize) -> bool {
        moment > self.inside.0 && moment <= self.inside.1
    }

    /// Whether the cells that one iteration writes are not those that another one touches, at these moments.
    pub(super) fn apart(&self, write: &Lmad<Var>, other: &Lmad<Var>, moments: &[Moment]) -> bool {
        let index = self.index();
        let (write, other) = (index.normalised(write), index.normalised(other));
        // What arrays show of numbers from inside holds for one iteration.
        let is_outside = |var: &Var| self.memory.when(var).is_none_or(|moment| !self.is_inside(moment));
        let mut known = index.known_where(moments, |size| size.free_vars().all(is_outside));
        let mut renamed: HashMap<Var, Var> = HashMap::new();
        let mut next = self.memory.next_var + 1;
        let counter = self.counted.as_ref().map(|(counter, _)| counter);
        for var in parts(&write).chain(parts(&other)).flat_map(Size::free_vars) {
            let own = self.memory.when(var).is_some_and(|moment| self.is_inside(moment));
            if own && Some(var) != counter && !renamed.contains_key(var) {
                let range = self.range_of(var);
                let new = Var {
                    id: next,
                    name: var.name.clone(),
                };
                next += 1;
                known.set(var.clone(), range.clone());
                known.set(new.clone(), range);
                renamed.insert(var.clone(), new);
            }
        }
        let other = other.substitute(|var| renamed.get(var).map(|new| Size::var(new.clone())));
        there_are_iterations(self.memory, self.around, &mut known);
        let Some((counter, count)) = &self.counted else {
            return matches!(disjoint(&write, &other, &known), Verdict::Disjoint(_));
        };
        let later = Var {
            id: self.memory.next_var,
            name: "later".into(),
        };
        let count = index.env.normalise_size(count);
        let range = Range::below(&count);
        known.assume_nonneg(&count - &Size::one());
        iterations_disjoint(counter, &range, &later, (&write, &other), &known).is_disjoint()
    }

    /// What is known of a number from inside, whichever iteration it is of.
    fn range_of(&self, var: &Var) -> Range<Var> {
        let counter = self.counted.as_ref().map(|(counter, _)| counter);
        let outside = |size: &Size| {
            let mut vars = size.free_vars();
            vars.all(|var| {
                let moment = self.memory.when(var);
                Some(var) != counter && moment.is_none_or(|moment| !self.is_inside(moment))
            })
        };
        let known = self.index().known.range(var);
        Range {
            lower: known.lower.clone().filter(outside),
            upper: known.upper.clone().filter(outside),
        }
    }
}

/// The operations and loops around a body have an iteration at least, or this one would not run.
pub(super) fn there_are_iterations(memory: &Draft<'_, '_>, body: BodyId, known: &mut Ranges<Var>) {
    let index = memory.index();
    let bodies = index.around(body).into_iter();
    let around = bodies.filter_map(|body| index.bodies.get(body.0)?.around);
    for info in around.filter_map(|at| index.stmts.get(at)) {
        let count = match &info.stmt.exp {
            Exp::Op(op) => count(op, &index.env),
            Exp::Loop(looped) => match &looped.form {
                LoopForm::For { bound, .. } => index.env.size(bound).ok(),
                LoopForm::While(_) => None,
            },
            _ => None,
        };
        if let Some(count) = count {
            known.assume_nonneg(index.env.normalise_size(&count) - Size::one());
        }
    }
}

fn parts(lmad: &Lmad<Var>) -> impl Iterator<Item = &Size> {
    let dims = lmad.dims.iter().flat_map(|dim| [&dim.length, &dim.stride]);
    dims.chain([&lmad.offset])
}
