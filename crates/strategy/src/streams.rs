//! What a map makes of a scan or filter is written by that: its elements go to the map one by one, and are in no array.
//!
//! ```text
//! let ys: [n]i64 = scan (+) 0 xs                  let ys: [n]i64 = scan@par@S (+) 0 xs
//! let zs: [n]i64 = map (\y -> y * 2) ys      =>   let zs: [n]i64 = map@par (\y -> y * 2) ys
//! ```
//!
//! The scan stands right before the map, whose function is straight-line code on scalars that cannot fail: it does no more work in this
//! place than in its own. The scan fails where it would have failed, before everything that it is moved over.
//!
//! Introduces: the effect `S`. Removes: nothing. Guarantees: the same values.

use crate::producers::Plan;
use crate::{Around, Choice, Chooser, Machine, Topic, cost};
use almach_core::typing::Typed;
use almach_core::visit::Vars;
use almach_core::{Atom, Body, Exp, Op, Stmt, Var};
use almach_prim::{Effect, Prim};
use almach_rewrite::facts::is_fixed;
use std::collections::{HashMap, HashSet};

/// The scans and filters of a body that give their elements to a map.
#[derive(Default)]
pub(crate) struct Streams {
    /// For a map, the place of what it reads.
    read_by: HashMap<usize, usize>,
    given: HashSet<usize>,
}

impl Streams {
    pub(crate) fn of(chooser: &Chooser, body: &Body, plan: &Plan, views: &HashMap<usize, Prim>) -> Streams {
        let mut made_by: HashMap<&Var, usize> = HashMap::new();
        let mut streams = Streams::default();
        for (at, stmt) in body.stmts.iter().enumerate() {
            if let Exp::Op(op) = &stmt.exp
                && !plan.is_absorbed(at)
                && !views.contains_key(&at)
                && chooser.takes_one_by_one(op)
            {
                let mut made = op.args.iter().filter_map(|arg| match arg {
                    Atom::Var(var) => made_by.get(var).copied(),
                    Atom::Const(_) => None,
                });
                let found = made.find(|from| !plan.is_absorbed(*from) && chooser.may_stream(body, *from, at));
                if let Some(from) = found {
                    streams.read_by.insert(at, from);
                    streams.given.insert(from);
                }
            }
            for value in &stmt.pattern.values {
                made_by.insert(&value.var, at);
            }
        }
        streams
    }

    pub(crate) fn is_given(&self, at: usize) -> bool {
        self.given.contains(&at)
    }

    /// What the map at that place reads one by one.
    pub(crate) fn read_by(&self, at: usize) -> Option<usize> {
        self.read_by.get(&at).copied()
    }
}

impl Chooser {
    fn takes_one_by_one(&self, op: &Op) -> bool {
        let simple = |function| cost::is_simple(function, &self.facts);
        op.prim == Prim::Map && !is_fixed(op) && op.functions.iter().all(simple)
    }

    /// Whether what a statement makes may go one by one to the map at `to`.
    fn may_stream(&self, body: &Body, from: usize, to: usize) -> bool {
        let (Some(giver), Some(taker)) = (body.stmts.get(from), body.stmts.get(to)) else {
            return false;
        };
        let (Exp::Op(op), Exp::Op(map), [value]) = (&giver.exp, &taker.exp, giver.pattern.values.as_slice())
        else {
            return false;
        };
        let gives = match op.prim {
            // Groups of a device write scans through local memory, where no function stands.
            Prim::Scan | Prim::ScanExclusive => self.machine != Machine::Device,
            Prim::Filter => map.args.len() == 1 && taker.pattern.values.len() == 1,
            _ => false,
        };
        let between = body.stmts.get(from + 1..to).unwrap_or_default();
        let sizes = &giver.pattern.context;
        gives
            && self.uses.of(&value.var) == 1
            && !self.facts.holds_fixed(&giver.exp)
            && !self.facts.prints(&giver.exp)
            && between.iter().all(|stmt| !mentions(stmt, sizes))
            && (!self.facts.can_fail(&giver.exp) || between.iter().all(|stmt| self.passes_unseen(stmt)))
            && self.is_usual(giver.span, Topic::Stream)
    }

    /// Whether a statement neither fails nor prints, so that nobody can tell what comes before it.
    pub(crate) fn passes_unseen(&self, stmt: &Stmt) -> bool {
        !self.facts.can_fail(&stmt.exp) && !self.facts.prints(&stmt.exp)
    }

    pub(crate) fn stream(&mut self, stmt: &Stmt, around: Around) -> Typed<()> {
        let Exp::Op(op) = &stmt.exp else { return Ok(()) };
        let mut chosen = self.op(op, stmt.span, around)?;
        chosen.annotation.effect = Some(Effect::Source);
        let reason = "the map is its only use, and takes one element after the other";
        self.decide(stmt.span, op.prim, Choice::FusedInto(Prim::Map), reason);
        self.builder
            .push(stmt.pattern.clone(), Exp::Op(chosen), stmt.span);
        Ok(())
    }
}

fn mentions(stmt: &Stmt, sizes: &[Var]) -> bool {
    let used = Vars::of_exp(&stmt.exp);
    let in_types = || {
        let mut values = stmt.pattern.values.iter();
        values.any(|value| value.ty.mentions(&|var| sizes.contains(var)))
    };
    sizes.iter().any(|size| used.used.contains(size)) || (!sizes.is_empty() && in_types())
}
