//! What can be decided otherwise about a program, and the program for given decisions.
//!
//! - the effect of every operation that has none ([`effects`]): what is in memory, what is computed where it is read, what is
//!   written where it will be, and so also what is fused;
//! - the answers to the questions of the strategy ([`Tactics`]): tiles, interchange, lanes, chunks, levels;
//! - the rewrites that join loops, on or off.

use crate::effects::{Effects, Site, sites, with_effects};
use crate::random::Random;
use almach_base::{Diagnostic, Span};
use almach_core::check::{Checked, check};
use almach_core::{Entry, Program};
use almach_driver::back::{self, Asked, Lowered, Machine, Question, Tactics, Without};
use almach_imp::canonical::canonical_text;
use almach_prim::{Effect, Prim};
use std::collections::BTreeMap;
use std::fmt;

/// The rewrites that trade one way to run a program for another, and may be left out.
const OPTIONAL: [&str; 3] = ["fusion", "horizontal-fusion", "hoisting"];

/// Those that leave operations apart when they are left out.
const JOINING: [&str; 2] = ["fusion", "horizontal-fusion"];

/// A program, with all that can be decided about it.
pub struct Space {
    core: Checked<Program>,
    /// With operations still apart, for effects to be put on.
    apart: Checked<Program>,
    machine: Machine,
    sites: Vec<Site>,
}

/// A program that was made by drawn decisions, of which those about a strategy are still to be taken.
pub struct Drawn {
    rewritten: Checked<Program>,
    without: Without,
    tactics: Tactics,
}

impl Drawn {
    pub fn strategy(&self, machine: Machine) -> Result<Checked<Program>, Vec<Diagnostic>> {
        let chosen = back::chosen_with(self.rewritten.clone(), machine, self.without, &self.tactics);
        chosen.map(|(strategy, _)| strategy)
    }
}

/// The passes that are left out, by their places among those that may be.
fn without(left_out: &[usize]) -> Without {
    let names = left_out.iter().filter_map(|at| OPTIONAL.get(*at));
    Without::named(names.copied()).unwrap_or_default()
}

/// Decisions. Without any, the program is what the compiler makes of it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Variant {
    effects: Effects,
    tactics: Tactics,
    /// Numbers of [`OPTIONAL`].
    left_out: Vec<usize>,
}

/// The program for a variant, at the stages that are looked at.
pub struct Made {
    /// Without what turned out to make no difference.
    pub variant: Variant,
    pub strategy: Checked<Program>,
    pub lowered: Lowered,
    /// Its Imp: two programs with the same text do the same in the same way.
    pub text: String,
    /// What the strategy asked.
    pub asked: Vec<Asked>,
}

/// A decision that is not the usual one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub span: Span,
    pub what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    Effect(Prim, Effect),
    Answer(Asked),
    Without(&'static str),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Effect(prim, effect) => write!(f, "{}@{effect}", prim.name()),
            What::Answer(asked) => write!(f, "{asked}"),
            What::Without(pass) => write!(f, "without {pass}"),
        }
    }
}

impl Space {
    /// The space of one entry of a program.
    pub fn of(core: &Checked<Program>, entry: &Entry, machine: Machine) -> Result<Space, Vec<Diagnostic>> {
        let mut alone = (**core).clone();
        alone.entries.retain(|other| other.name == entry.name);
        Space::whole(checked(alone)?, machine)
    }

    /// The space of a program with all its entries.
    pub fn whole(core: Checked<Program>, machine: Machine) -> Result<Space, Vec<Diagnostic>> {
        let without = Without::named(JOINING).unwrap_or_default();
        let apart = back::rewritten_without(core.clone(), without)?;
        let sites = sites(&apart);
        Ok(Space {
            core,
            apart,
            machine,
            sites,
        })
    }

    /// The program as it came.
    pub fn core(&self) -> &Checked<Program> {
        &self.core
    }

    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The program that some decisions lead to; what is wrong where there is none.
    pub fn made(&self, variant: &Variant) -> Result<Made, Vec<Diagnostic>> {
        let (strategy, variant, asked) = self.strategy(variant)?;
        let entries: Vec<&Entry> = strategy.entries.iter().collect();
        let lowered = back::lowered(&strategy, &entries)?;
        Ok(Made {
            variant,
            text: canonical_text(lowered.imp.program()),
            strategy,
            lowered,
            asked,
        })
    }

    /// The program that decisions drawn by a seed lead to, before a strategy for a machine is chosen.
    pub fn drawn_by(&self, seed: u64) -> Result<Drawn, Vec<Diagnostic>> {
        let Variant {
            mut effects,
            tactics,
            left_out,
        } = self.drawn(&mut Random::new(seed));
        let without = without(&left_out);
        Ok(Drawn {
            rewritten: self.rewritten(&mut effects, without)?,
            without,
            tactics,
        })
    }

    /// The strategy program of a variant, the variant without what makes no difference, and what was asked.
    fn strategy(
        &self,
        variant: &Variant,
    ) -> Result<(Checked<Program>, Variant, Vec<Asked>), Vec<Diagnostic>> {
        let mut effects = variant.effects.clone();
        let without = without(&variant.left_out);
        let rewritten = self.rewritten(&mut effects, without)?;
        let (strategy, asked) = back::chosen_with(rewritten, self.machine, without, &variant.tactics)?;
        let unusual = asked.iter().filter(|asked| asked.answer != 0);
        let answers = unusual.map(|asked| (asked.question, asked.answer)).collect();
        let normal = Variant {
            effects,
            tactics: Tactics::of(answers),
            left_out: variant.left_out.clone(),
        };
        Ok((strategy, normal, asked))
    }

    /// The program after the rewrites, with effects; those that do not compose are taken out.
    fn rewritten(
        &self,
        effects: &mut Effects,
        without: Without,
    ) -> Result<Checked<Program>, Vec<Diagnostic>> {
        let annotated = match effects.is_empty() {
            true => self.core.clone(),
            false => checked(with_effects(&self.apart, effects))?,
        };
        back::rewritten_without(annotated, without)
    }

    /// What a variant decides otherwise than usual, in the order of places.
    pub fn changes(&self, made: &Made) -> Vec<Change> {
        let effects = made.variant.effects.iter().filter_map(|(at, effect)| {
            let site = self.sites.get(*at)?;
            Some(Change {
                span: site.span,
                what: What::Effect(site.prim, *effect),
            })
        });
        let answers = made.asked.iter().filter(|asked| asked.answer != 0);
        let answers = answers.map(|asked| Change {
            span: asked.question.span,
            what: What::Answer(*asked),
        });
        let mut changes: Vec<Change> = effects.chain(answers).collect();
        changes.sort_by_key(|change| change.span);
        let left_out = made.variant.left_out.iter().filter_map(|at| OPTIONAL.get(*at));
        changes.extend(left_out.map(|pass| Change {
            span: Span::NONE,
            what: What::Without(pass),
        }));
        changes.dedup();
        changes
    }

    /// Decisions drawn at random: of some variants few are unusual, of others many.
    pub(crate) fn drawn(&self, random: &mut Random) -> Variant {
        let percent = *random.pick(&[5, 15, 30, 60]).unwrap_or(&30);
        let mut effects = Effects::new();
        for (at, site) in self.sites.iter().enumerate() {
            if random.percent(percent)
                && let Some(effect) = random.pick(site.prim.info().effects)
            {
                effects.insert(at, *effect);
            }
        }
        let tactics = Tactics::drawn(*random.pick(&[0, 20, 60]).unwrap_or(&20), random.next());
        let left_out = (0..OPTIONAL.len())
            .filter(|_| random.percent(percent / 4))
            .collect();
        Variant {
            effects,
            tactics,
            left_out,
        }
    }

    /// Everything in memory: where the thesis starts (6.1.2).
    pub(crate) fn eager(&self) -> Variant {
        let eager = |(at, site): (usize, &Site)| {
            let effects = site.prim.info().effects;
            effects.contains(&Effect::Eager).then_some((at, Effect::Eager))
        };
        Variant {
            effects: self.sites.iter().enumerate().filter_map(eager).collect(),
            ..Variant::default()
        }
    }

    /// All variants that are one decision away.
    pub(crate) fn neighbours(&self, made: &Made) -> Vec<Variant> {
        let mut found = Vec::new();
        let variant = &made.variant;
        for (at, site) in self.sites.iter().enumerate() {
            let others = site.prim.info().effects.iter().copied().map(Some).chain([None]);
            for effect in others.filter(|effect| *effect != variant.effects.get(&at).copied()) {
                let mut other = variant.clone();
                match effect {
                    Some(effect) => other.effects.insert(at, effect),
                    None => other.effects.remove(&at),
                };
                found.push(other);
            }
        }
        let answers: BTreeMap<Question, u32> = made
            .asked
            .iter()
            .filter(|asked| asked.answer != 0)
            .map(|asked| (asked.question, asked.answer))
            .collect();
        for asked in &made.asked {
            for answer in (0..asked.count).filter(|answer| *answer != asked.answer) {
                let mut answers = answers.clone();
                answers.insert(asked.question, answer);
                found.push(Variant {
                    tactics: Tactics::of(answers),
                    ..variant.clone()
                });
            }
        }
        for at in 0..OPTIONAL.len() {
            let mut other = variant.clone();
            match other.left_out.iter().position(|left| *left == at) {
                Some(place) => drop(other.left_out.remove(place)),
                None => other.left_out.push(at),
            }
            found.push(other);
        }
        found
    }
}

fn checked(program: Program) -> Result<Checked<Program>, Vec<Diagnostic>> {
    check(program, "tune").map_err(|failure| vec![failure.diagnostic])
}

#[cfg(test)]
mod tests {
    use super::{JOINING, OPTIONAL};
    use almach_driver::back::Without;

    #[test]
    fn the_passes_that_may_be_left_out_exist() {
        assert!(Without::named(OPTIONAL).is_ok());
        assert!(Without::named(JOINING).is_ok());
    }
}
