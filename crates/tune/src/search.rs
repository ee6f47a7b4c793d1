//! The two searches of the thesis (6.2), both with a seed and a budget: at random, and from better to better by the cost.

use crate::cost::{Cost, Estimate};
use crate::random::Random;
use crate::space::{Made, Space, Variant};
use almach_base::Diagnostic;
use std::collections::HashSet;

/// A program that was found.
pub struct Candidate {
    pub made: Made,
    pub cost: Cost,
    pub origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// What the compiler makes without any decision.
    Default,
    Heuristic,
    Random,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::Heuristic => "heuristic",
            Origin::Random => "random",
        }
    }
}

/// What a search found, no two programs with the same code.
#[derive(Default)]
pub struct Found {
    pub candidates: Vec<Candidate>,
    texts: HashSet<String>,
    /// Decisions that lead to what another candidate is already.
    pub same: usize,
    /// Decisions that lead to no program, and why the first did not.
    pub refused: usize,
    pub why: Option<Diagnostic>,
}

impl Found {
    /// Makes a variant; its number among the candidates where it is new.
    fn add(
        &mut self,
        space: &Space,
        variant: &Variant,
        estimate: &Estimate<'_>,
        origin: Origin,
    ) -> Option<usize> {
        match space.made(variant) {
            Ok(made) if self.texts.insert(made.text.clone()) => {
                let cost = estimate.of(&made.lowered);
                self.candidates.push(Candidate { made, cost, origin });
                Some(self.candidates.len() - 1)
            }
            Ok(_) => {
                self.same += 1;
                None
            }
            Err(diagnostics) => {
                self.refused += 1;
                self.why = self.why.take().or(diagnostics.into_iter().next());
                None
            }
        }
    }

    /// The program that the compiler makes without any decision.
    pub fn start(space: &Space, estimate: &Estimate<'_>) -> Result<Found, Vec<Diagnostic>> {
        let made = space.made(&Variant::default())?;
        let cost = estimate.of(&made.lowered);
        Ok(Found {
            texts: HashSet::from([made.text.clone()]),
            candidates: vec![Candidate {
                made,
                cost,
                origin: Origin::Default,
            }],
            ..Found::default()
        })
    }
}

/// Decisions that lead nowhere new, for one that does: where more are needed the space is small.
const TRIES: usize = 8;

/// Adds so many programs, drawn at random (Fig. 6.3).
pub fn random(space: &Space, estimate: &Estimate<'_>, seed: u64, budget: usize, found: &mut Found) {
    let mut random = Random::new(seed);
    let mut left = budget;
    for _ in 0..budget.saturating_mul(TRIES) {
        if left == 0 {
            return;
        }
        let variant = space.drawn(&mut random);
        if found.add(space, &variant, estimate, Origin::Random).is_some() {
            left -= 1;
        }
    }
}

/// Variants one decision away that are looked at for each program.
const WIDTH: usize = 12;

/// Looks at so many variants, each one decision away from the cheapest whose surroundings are not known yet (Fig. 6.2). It starts at the
/// program without decisions and, as the thesis does, at the one with everything in memory.
pub fn heuristic(space: &Space, estimate: &Estimate<'_>, seed: u64, budget: usize, found: &mut Found) {
    let mut random = Random::new(seed);
    let mut left = budget;
    let mut open: Vec<usize> = (0..found.candidates.len().min(1)).collect();
    open.extend(found.add(space, &space.eager(), estimate, Origin::Heuristic));
    while left > 0 {
        let cycles = |at: &usize| {
            found
                .candidates
                .get(*at)
                .map_or(f64::INFINITY, |one| one.cost.cycles())
        };
        let cheapest = open
            .iter()
            .enumerate()
            .min_by(|a, b| cycles(a.1).total_cmp(&cycles(b.1)));
        let Some(place) = cheapest.map(|(place, _)| place) else {
            return;
        };
        let at = open.swap_remove(place);
        let Some(here) = found.candidates.get(at) else {
            return;
        };
        let mut around = space.neighbours(&here.made);
        for _ in 0..WIDTH.min(around.len()) {
            if left == 0 {
                return;
            }
            let variant = around.swap_remove(random.below(around.len()));
            open.extend(found.add(space, &variant, estimate, Origin::Heuristic));
            left -= 1;
        }
        // The rest of its surroundings are worth another look while it is among the cheapest.
        if !around.is_empty() && open.len() < 2 {
            open.push(at);
        }
    }
}
