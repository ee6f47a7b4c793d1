//! What feeds a reduction is computed where it is used: a `map` or `filter` whose only use is a `reduce` becomes part of it.
//!
//! ```text
//! let ys: [n]f32 = map (\x -> abs x) xs           let s: f32 = reduceSeq (\acc x ->
//! let s: f32 = reduce (+) 0.0 ys              =>    let y = abs x
//! in s                                              let next = acc + y
//!                                                   in next) 0.0 xs
//! ```
//!
//! This file finds the chains; `reductions` writes them. A chain has one use at every link, holds nothing that is fixed or
//! prints, and moves no failure: where a producer can fail, nothing that it is moved over can, nor can the operator.

use crate::{Chooser, Topic};
use almach_core::{Atom, Body, Exp, Op, Pattern, Stmt, Var};
use almach_prim::Prim;
use std::collections::{HashMap, HashSet};

/// Which statements of a body are computed where they are used.
#[derive(Default)]
pub(crate) struct Plan {
    /// For a reduction its producers, the last one first.
    chains: HashMap<usize, Vec<usize>>,
    absorbed: HashSet<usize>,
}

impl Plan {
    pub(crate) fn of(chooser: &Chooser, body: &Body) -> Plan {
        let mut made_by: HashMap<&Var, usize> = HashMap::new();
        let mut plan = Plan::default();
        for (at, stmt) in body.stmts.iter().enumerate() {
            if let Exp::Op(op) = &stmt.exp
                && matches!(op.prim, Prim::Reduce | Prim::ReduceComm)
                && !chooser.facts.holds_fixed(&stmt.exp)
                && let [_, array] = op.args.as_slice()
            {
                let chain = chooser.chain(body, at, op, array, &made_by);
                plan.absorbed.extend(chain.iter().copied());
                plan.chains.insert(at, chain);
            }
            for value in &stmt.pattern.values {
                made_by.insert(&value.var, at);
            }
        }
        plan
    }

    pub(crate) fn is_absorbed(&self, at: usize) -> bool {
        self.absorbed.contains(&at)
    }

    /// The producers of the reduction at that place, from the source on.
    pub(crate) fn producers(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        self.chains.get(&at).into_iter().flatten().rev().copied()
    }
}

impl Chooser {
    fn chain(
        &self,
        body: &Body,
        at: usize,
        op: &Op,
        array: &Atom,
        made_by: &HashMap<&Var, usize>,
    ) -> Vec<usize> {
        let operator_fails = op
            .functions
            .iter()
            .any(|function| self.facts.body_can_fail(&function.body));
        let mut chain: Vec<usize> = Vec::new();
        let mut wanted = array.clone();
        while let Atom::Var(var) = &wanted {
            let Some(found) = made_by.get(var).copied() else {
                break;
            };
            let Some(stmt) = body.stmts.get(found) else { break };
            if self.uses.of(var) != 1 || !self.may_move(body, found, at, operator_fails) {
                break;
            }
            let Some(next) = self.input(stmt) else { break };
            if !self.is_usual(stmt.span, Topic::Fusion) {
                break;
            }
            chain.push(found);
            match next {
                Input::One(atom) => wanted = atom,
                Input::Several => break,
            }
        }
        // The number of elements that a filter keeps may have no other use than in the types of what goes.
        while let Some(cut) = chain.iter().position(|at| !self.sizes_go(body, *at, &chain)) {
            chain.truncate(cut);
        }
        chain
    }

    /// What a producer that may be part of a chain takes; none where it may not.
    fn input(&self, stmt: &Stmt) -> Option<Input> {
        let Exp::Op(op) = &stmt.exp else { return None };
        let ([function], [_]) = (op.functions.as_slice(), stmt.pattern.values.as_slice()) else {
            return None;
        };
        let plain = function.context.is_empty() && function.result.context.is_empty();
        if self.facts.holds_fixed(&stmt.exp) || !plain || self.facts.prints(&stmt.exp) {
            return None;
        }
        match (op.prim, op.args.as_slice()) {
            (Prim::Map | Prim::Filter, [array]) => Some(Input::One(array.clone())),
            (Prim::Map, [_, _, ..]) => Some(Input::Several),
            _ => None,
        }
    }

    /// Whether a producer's failures stay in their order when it runs with the reduction.
    fn may_move(&self, body: &Body, from: usize, to: usize, operator_fails: bool) -> bool {
        let Some(stmt) = body.stmts.get(from) else {
            return false;
        };
        if !self.facts.can_fail(&stmt.exp) {
            return true;
        }
        // Producers in between count too: they would fail element by element, no longer one array after the other.
        let between = (from + 1..to).filter_map(|at| body.stmts.get(at));
        let mut others = between.map(|stmt| &stmt.exp);
        !operator_fails && others.all(|exp| !self.facts.can_fail(exp) && !self.facts.prints(exp))
    }

    fn sizes_go(&self, body: &Body, at: usize, chain: &[usize]) -> bool {
        let Some(Stmt {
            pattern: Pattern { context, .. },
            ..
        }) = body.stmts.get(at)
        else {
            return false;
        };
        context.iter().all(|size| {
            let mut going = 0;
            for stmt in chain.iter().filter_map(|at| body.stmts.get(*at)) {
                for value in &stmt.pattern.values {
                    value
                        .ty
                        .for_each_size_var(&mut |var| going += usize::from(var == size));
                }
            }
            self.uses.of(size) == going
        })
    }
}

/// The arrays that a producer takes.
enum Input {
    One(Atom),
    Several,
}
