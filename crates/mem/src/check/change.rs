//! Checks a step of a pass: the arrays that are elsewhere now, those that are made from them, and what is handed on now. The rules are
//! those of the walk over a whole program; here the places to look at are found by the tables of a [`Draft`].

use super::arrays::Scope;
use super::{BlockInfo, Broken, Checked, Home, Iteration, Rule, Storage, broken, same_cells};
use crate::draft::{Draft, Mark};
use crate::index::{BodyId, BodyKind, Index, Moment, StmtInfo, count};
use crate::ir::{Kind, Memory, key};
use almach_core::typing::Env;
use almach_core::{Exp, LoopForm, Param, Size, Type, Var};
use almach_lmad::{Range, Ranges};
use almach_prim::{Level, Prim};
use std::collections::BTreeSet;

/// Checks steps of a pass, one after another.
pub struct Changes {
    /// What is known wherever one stands; steps assume more of it and take it back.
    known: Ranges<Var>,
}

impl Changes {
    /// `index` counts the iterations of memory.
    pub fn of(index: &Index<'_>) -> Changes {
        Changes {
            known: index.known.clone(),
        }
    }

    /// Checks what changed since then.
    pub fn check(&mut self, draft: &Draft<'_, '_>, since: Mark) -> Checked<()> {
        let index = draft.index();
        let changed = draft.changed_since(since);
        let mut stmts = BTreeSet::new();
        for var in &changed.arrays {
            stmts.extend(index.defs.get(var).copied());
            stmts.extend(index.param_of.get(var).copied());
            let uses = index.uses.get(var).into_iter().flatten();
            stmts.extend(uses.filter_map(|at| index.taker_number(*at)));
        }
        for at in stmts {
            if let Some(info) = index.stmts.get(at) {
                self.statement(draft, info)
                    .map_err(|broken| at_span(broken, info))?;
            }
        }
        for stmt in &changed.heads {
            if let Some(info) = index.stmt_of(stmt) {
                self.handed_on(draft, info)
                    .map_err(|broken| at_span(broken, info))?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, draft: &Draft<'_, '_>, info: &StmtInfo<'_>) -> Checked<()> {
        let functions = match &info.stmt.exp {
            Exp::Op(op) => op.functions.as_slice(),
            _ => &[],
        };
        for (function, body) in functions.iter().zip(draft.index().bodies_of(info)) {
            let Exp::Op(op) = &info.stmt.exp else { continue };
            let start = draft
                .index()
                .bodies
                .get(body.0)
                .map_or(info.start, |body| body.start);
            self.at(draft, *body, start, |spot| {
                function.params.iter().try_for_each(|param| spot.places(param))?;
                spot.rows(op, function, counter(draft, info))
            })?;
        }
        if let Exp::Loop(looped) = &info.stmt.exp
            && let Some(body) = draft.index().bodies_of(info).last()
            && let Some(start) = draft.index().bodies.get(body.0).map(|body| body.start)
        {
            let params: Vec<&Param> = looped.params.iter().map(|(param, _)| param).collect();
            self.at(draft, *body, start, |spot| {
                params.iter().try_for_each(|param| spot.places(param))
            })?;
        }
        self.at(draft, info.body, info.end, |spot| {
            info.stmt
                .pattern
                .values
                .iter()
                .try_for_each(|value| spot.places(value))?;
            spot.statement_arrays(info.stmt)
        })
    }

    /// What a statement hands on, at each end of its bodies.
    fn handed_on(&mut self, draft: &Draft<'_, '_>, info: &StmtInfo<'_>) -> Checked<()> {
        let head = key(info.stmt).and_then(|key| draft.heads.get(key));
        let items = head.map_or(&[][..], |head| head.items.as_slice());
        let bodies = draft.index().bodies_of(info);
        let mut ends: Vec<(BodyId, Moment)> = Vec::new();
        let end_of = |body: &BodyId| draft.index().bodies.get(body.0).map(|info| (*body, info.end));
        match &info.stmt.exp {
            Exp::If { .. } | Exp::Case { .. } => ends.extend(bodies.iter().filter_map(end_of)),
            Exp::Loop(_) => {
                ends.push((info.body, info.start));
                ends.extend(bodies.last().and_then(end_of));
            }
            _ => {}
        }
        for (at, (body, moment)) in ends.into_iter().enumerate() {
            self.at(draft, body, moment, |spot| {
                items.iter().try_for_each(|item| match item.given.get(at) {
                    Some(given) => spot.given(item, given),
                    None => broken(Rule::Heads, format!("`{}` is not given at every end", item.var)),
                })
            })?;
        }
        Ok(())
    }

    /// Stands in a body at a moment.
    fn at<T>(
        &mut self,
        draft: &Draft<'_, '_>,
        body: BodyId,
        moment: Moment,
        look: impl FnOnce(&Spot<'_, '_, '_>) -> Checked<T>,
    ) -> Checked<T> {
        let mark = self.known.mark();
        let around = draft.index().around(body);
        let mut iterations = Vec::new();
        for body in around.iter().rev() {
            let Some(info) = draft.index().bodies.get(body.0) else {
                continue;
            };
            let stmt = info.around.and_then(|at| draft.index().stmts.get(at));
            if let Some(stmt) = stmt {
                self.inside(draft, info.kind, stmt, &mut iterations);
            }
        }
        let spot = Spot {
            draft,
            known: &self.known,
            iterations,
            around,
            moment,
            later: Var {
                id: draft.next_var,
                name: "later".into(),
            },
        };
        let seen = look(&spot);
        self.known.rewind(mark);
        seen
    }

    /// Inside a loop or operation there is an iteration.
    fn inside(
        &mut self,
        draft: &Draft<'_, '_>,
        kind: BodyKind,
        info: &StmtInfo<'_>,
        iterations: &mut Vec<Iteration>,
    ) {
        let env = &draft.index().env;
        match (&info.stmt.exp, kind) {
            (Exp::Loop(looped), BodyKind::Loop) => {
                if let LoopForm::For { index, bound } = &looped.form
                    && let Ok(bound) = env.size(bound)
                {
                    self.known.set(index.var.clone(), Range::below(&bound));
                    self.known.assume_nonneg(&bound - &Size::one());
                }
            }
            (Exp::Op(op), BodyKind::Lambda) => {
                if let Some(index) = counter(draft, info)
                    && let Some(count) = count(op, env)
                {
                    self.known.set(index.clone(), Range::below(&count));
                    self.known.assume_nonneg(&count - &Size::one());
                    if is_parallel(&info.stmt.exp) {
                        iterations.push(Iteration {
                            index: index.clone(),
                            count,
                        });
                    }
                }
            }
            _ => {}
        }
    }
}

fn at_span(broken: Broken, info: &StmtInfo<'_>) -> Broken {
    Broken {
        span: info.stmt.span,
        ..broken
    }
}

fn counter<'d>(draft: &'d Draft<'_, '_>, info: &StmtInfo<'_>) -> Option<&'d Var> {
    let head = key(info.stmt).and_then(|key| draft.heads.get(key))?;
    head.index.as_ref()
}

fn is_parallel(exp: &Exp) -> bool {
    matches!(exp, Exp::Op(op) if op.prim == Prim::Map && op.annotation.level != Some(Level::Seq))
}

/// A place in a program that was looked up.
struct Spot<'a, 'i, 'p> {
    draft: &'a Draft<'i, 'p>,
    known: &'a Ranges<Var>,
    iterations: Vec<Iteration>,
    /// The bodies around, innermost first.
    around: Vec<BodyId>,
    moment: Moment,
    later: Var,
}

impl Spot<'_, '_, '_> {
    /// How many parallel operations are around a body, of those that count their iterations.
    fn depth(&self, body: BodyId) -> usize {
        let index = self.draft.index();
        let bodies = index.around(body).into_iter();
        let around = bodies.filter_map(|body| index.bodies.get(body.0));
        let lambdas = around.filter(|body| body.kind == BodyKind::Lambda);
        let stmts = lambdas.filter_map(|body| index.stmts.get(body.around?));
        stmts
            .filter(|info| {
                let counted = counter(self.draft, info).is_some();
                let Exp::Op(op) = &info.stmt.exp else { return false };
                counted && is_parallel(&info.stmt.exp) && count(op, &index.env).is_some()
            })
            .count()
    }

    fn body_end(&self, body: BodyId) -> Moment {
        self.draft.index().bodies.get(body.0).map_or(0, |body| body.end)
    }

    /// What of memory is bound by an item is in scope.
    fn sees_item(&self, var: &Var) -> Option<(Kind, &StmtInfo<'_>)> {
        let (item, info) = self.draft.item(var)?;
        let (from, until) = match item.var == *var {
            true => (info.end, self.body_end(info.body)),
            false => (info.start, info.end),
        };
        (from <= self.moment && self.moment <= until).then_some((item.kind, info))
    }
}

impl Scope for Spot<'_, '_, '_> {
    fn memory(&self) -> &Memory {
        self.draft
    }

    fn env(&self) -> &Env {
        &self.draft.index().env
    }

    fn known(&self) -> &Ranges<Var> {
        self.known
    }

    fn known_here(&self) -> Ranges<Var> {
        let mut known = self.known.clone();
        self.draft.index().assume_shown_at(self.moment, &mut known);
        known
    }

    fn find_block(&self, var: &Var) -> Option<BlockInfo> {
        if let Some((alloc, info)) = self.draft.alloc(var) {
            let seen = info.start <= self.moment && self.moment <= self.body_end(info.body);
            return seen.then(|| BlockInfo {
                element: alloc.element,
                cells: Some(alloc.cells.clone()),
                depth: self.depth(info.body),
            });
        }
        let (kind, depth) = match self.sees_item(var) {
            Some((kind, info)) => (kind, self.depth(info.body)),
            None => (self.draft.taken(var)?, 0),
        };
        match kind {
            Kind::Block(element) => Some(BlockInfo {
                element,
                cells: None,
                depth,
            }),
            Kind::Integer => None,
        }
    }

    fn has_integer(&self, var: &Var) -> bool {
        let index = self.draft.index();
        if let Some(bound) = index.bound.get(var) {
            let integer = matches!(index.types.get(var), Some(Type::Scalar(ty)) if ty.is_integer());
            let until = index.scope_end.get(var).copied().unwrap_or(0);
            return integer && *bound <= self.moment && self.moment <= until;
        }
        if let Some(info) = self.draft.counted(var) {
            return info.start <= self.moment && self.moment <= info.end;
        }
        let kind = match self.sees_item(var) {
            Some((kind, _)) => Some(kind),
            None => self.draft.taken(var),
        };
        kind == Some(Kind::Integer)
    }

    fn iterations(&self) -> &[Iteration] {
        &self.iterations
    }

    fn is_occupied(&self, home: &Home) -> bool {
        let index = self.draft.index();
        let lmad = self.normalised(&home.lmad);
        let is_there = |var: &Var| {
            let made = index.defs.contains_key(var) || index.rows.contains(var);
            let until = index.scope_end.get(var).copied().unwrap_or(0);
            let since = index.bound.get(var).copied().unwrap_or(Moment::MAX);
            made && since < self.moment && self.moment <= until
        };
        let same =
            |other: &Home| other.block == home.block && same_cells(&self.normalised(&other.lmad), &lmad);
        let homes_of = |var: &Var| {
            let storage = self.draft.storage.get(var).into_iter().flatten();
            storage.filter_map(Storage::home)
        };
        let placed = self.draft.placed_in(&home.block);
        let mut there = placed.iter().rev().filter(|var| is_there(var)).flat_map(homes_of);
        if there.any(same) {
            return true;
        }
        // The rows of the maps around, where the whole is inside its block.
        let maps = self
            .around
            .iter()
            .filter_map(|body| index.bodies.get(body.0)?.around);
        let mut maps = maps.filter_map(|at| index.stmts.get(at));
        maps.any(|info| {
            let counter = counter(self.draft, info);
            let (Exp::Op(op), Some(counter)) = (&info.stmt.exp, counter) else {
                return false;
            };
            let mut homes = info
                .stmt
                .pattern
                .values
                .iter()
                .flat_map(|value| homes_of(&value.var));
            op.prim == Prim::Map
                && homes.any(|whole| {
                    let row = whole.lmad.index(&Size::var(counter.clone()));
                    let row = row.map(|lmad| Home {
                        block: whole.block.clone(),
                        lmad,
                    });
                    whole.block == home.block && row.is_some_and(|row| same(&row)) && self.is_inside(whole)
                })
        })
    }

    fn later(&self) -> &Var {
        &self.later
    }
}
