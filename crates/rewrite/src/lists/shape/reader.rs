//! The arms of a recursion: steps, ends, and what they make of the result for the rest.

use super::cells::{Cell, agreed_suffixes};
use super::folds::{Folded, agreed};
use super::{Ends, Gives, Made, Shape, Step, link_of};
use crate::facts::{Facts, callees};
use crate::recursions::{Reason, leads_to, mentions, no};
use almach_core::visit::{UseCounts, Walk};
use almach_core::{Arm, Atom, Body, DataDef, DataId, Exp, FunId, Function, Param, Program, Stmt, Type};

/// A step before it is known what it gives.
pub(super) struct Call<'f> {
    pub(super) arm: &'f Arm,
    pub(super) link: usize,
    /// Which statement of the arm calls the function.
    pub(super) at: usize,
    pub(super) args: &'f [Atom],
}

pub(super) struct Reader<'f> {
    pub(super) program: &'f Program,
    pub(super) facts: &'f Facts,
    pub(super) id: FunId,
    pub(super) function: &'f Function,
    /// Which parameter is the list.
    pub(super) at: usize,
    pub(super) data: DataId,
    pub(super) def: &'f DataDef,
}

impl<'f> Reader<'f> {
    fn link(&self, constructor: u32) -> Result<Option<usize>, Reason> {
        match self.def.constructors.get(constructor as usize) {
            Some(def) => link_of(def, self.data),
            None => no("a constructor that is not there"),
        }
    }

    /// Constructors that have no arm are ends.
    pub(super) fn default(&self, arms: &[Arm], default: Option<&Body>) -> Result<(), Reason> {
        for constructor in 0..self.def.constructors.len() as u32 {
            let link = self.link(constructor)?;
            if link.is_some() && !arms.iter().any(|arm| arm.constructor == constructor) {
                return no("it stops before the end of the list");
            }
        }
        match default {
            Some(body) if callees(body).iter().any(|id| self.leads_back(*id)) => {
                no("it calls itself on something else than the rest of the list")
            }
            _ => Ok(()),
        }
    }

    /// Whether a function is this one, or calls it.
    fn leads_back(&self, from: FunId) -> bool {
        leads_to(self.program, from, self.id)
    }

    /// The call of an arm that is a step; none where the arm is an end.
    pub(super) fn step(&self, arm: &'f Arm) -> Result<Option<Call<'f>>, Reason> {
        let link = self.link(arm.constructor)?;
        let calls = callees(&arm.body)
            .into_iter()
            .filter(|id| self.leads_back(*id))
            .count();
        let Some(link) = link else {
            return match calls {
                0 => Ok(None),
                _ => no("it calls itself on something else than the rest of the list"),
            };
        };
        match calls {
            0 => return no("it stops before the end of the list"),
            1 => {}
            _ => return no("it calls itself more than once for a cell"),
        }
        let Some((at, context, args)) = self.own_call(&arm.body) else {
            return no("whether it goes on depends on the element");
        };
        let sizes = self.function.context.iter().cloned().map(Atom::Var);
        let rest = arm.fields.get(link).map(|field| &field.var);
        let is_rest = matches!((args.get(self.at), rest), (Some(Atom::Var(arg)), Some(rest)) if arg == rest);
        if !is_rest || !context.iter().cloned().eq(sizes) {
            return no("it calls itself on something else than the rest of the list");
        }
        let mut uses = UseCounts::default();
        uses.body(&arm.body);
        if rest.is_some_and(|rest| uses.of(rest) > 1) {
            return no("it looks at more than one cell at a time");
        }
        Ok(Some(Call { arm, link, at, args }))
    }

    /// The statement of a body itself that calls the function.
    fn own_call(&self, body: &'f Body) -> Option<(usize, &'f [Atom], &'f [Atom])> {
        (0..).zip(&body.stmts).find_map(|(at, stmt)| match &stmt.exp {
            Exp::Call {
                function,
                context,
                args,
            } if *function == self.id => Some((at, context.as_slice(), args.as_slice())),
            _ => None,
        })
    }

    pub(super) fn shape(&self, list: &Param, calls: Vec<Call<'f>>, ends: Ends) -> Result<Shape, Reason> {
        if calls.is_empty() || (ends.arms.is_empty() && ends.default.is_none()) {
            return no("it has no step, or no end");
        }
        let changing: Vec<usize> = (0..self.function.params.len())
            .filter(|at| *at != self.at && calls.iter().any(|call| self.changes(call, *at)))
            .collect();
        let (steps, made) = match (changing.is_empty(), self.function.result.types.as_slice()) {
            (false, _) => self.accumulated(&calls, &changing)?,
            (true, [Type::Data(made)]) => self.list(&calls, *made, &ends)?,
            (true, types) if types.iter().all(Type::is_scalars) => self.fold(&calls)?,
            _ => return no("it gives neither scalars nor a list"),
        };
        Ok(Shape {
            list: list.clone(),
            data: self.data,
            steps,
            ends,
            made,
        })
    }

    fn changes(&self, call: &Call<'_>, at: usize) -> bool {
        let same = matches!((call.args.get(at), self.function.params.get(at)),
            (Some(Atom::Var(arg)), Some(param)) if *arg == param.var);
        !same
    }

    fn fold(&self, calls: &[Call<'f>]) -> Result<(Vec<Step>, Made), Reason> {
        let mut folded = Vec::new();
        for call in calls {
            let Some(stmt) = call.arm.body.stmts.get(call.at) else {
                return no("a call that is not there");
            };
            let states = stmt.pattern.values.iter().map(|value| (&value.var, &value.ty));
            folded.push(Folded::of(call, states.collect(), &call.arm.body.values)?);
        }
        let (steps, states) = agreed(calls, folded)?;
        Ok((steps, Made::Fold(states)))
    }

    fn accumulated(&self, calls: &[Call<'f>], changing: &[usize]) -> Result<(Vec<Step>, Made), Reason> {
        let params: Vec<&Param> = changing
            .iter()
            .filter_map(|at| self.function.params.get(*at))
            .collect();
        if !params.iter().all(|param| param.ty.is_scalars()) {
            return no("what it passes on is no scalar");
        }
        let mut folded = Vec::new();
        for call in calls {
            let last = call.arm.body.stmts.get(call.at);
            let given = last.map(|stmt| {
                let values = stmt.pattern.values.iter();
                values
                    .map(|value| Atom::Var(value.var.clone()))
                    .collect::<Vec<_>>()
            });
            if call.at + 1 != call.arm.body.stmts.len() || given.as_ref() != Some(&call.arm.body.values) {
                return no("it passes something on, and makes something of the result");
            }
            let states = params.iter().map(|param| (&param.var, &param.ty)).collect();
            let next = changing.iter().filter_map(|at| call.args.get(*at).cloned());
            folded.push(Folded::of(call, states, &next.collect::<Vec<Atom>>())?);
        }
        let (steps, states) = agreed(calls, folded)?;
        let states = params.into_iter().cloned().zip(states);
        Ok((steps, Made::Accumulated(states.collect())))
    }

    fn list(&self, calls: &[Call<'f>], data: DataId, ends: &Ends) -> Result<(Vec<Step>, Made), Reason> {
        let Some(def) = self.program.data.get(data.0 as usize) else {
            return no("a type that is not there");
        };
        let bodies = ends.arms.iter().map(|arm| &arm.body).chain(&ends.default);
        for body in bodies {
            let made = body.values.first().and_then(|value| defined(value, &body.stmts));
            let is_end = match made {
                Some(Exp::Construct {
                    data: of,
                    constructor,
                    ..
                }) if *of == data => {
                    let def = def.constructors.get(*constructor as usize);
                    def.is_some_and(|def| !def.fields.iter().any(|ty| mentions(ty, data)))
                }
                _ => false,
            };
            if !is_end {
                return no("the list that it makes does not end with a cell of its own");
            }
        }
        let mut cells = Vec::new();
        for call in calls {
            cells.push(Cell::of(self.facts, call, data, def)?);
        }
        let suffixes = agreed_suffixes(&cells)?;
        let steps = calls.iter().zip(cells).map(|(call, cell)| Step {
            arm: call.arm.clone(),
            link: call.link,
            stmts: cell.stmts,
            gives: Gives::Cell {
                constructor: cell.constructor,
                fields: cell.fields.into_iter().map(|(field, _)| field).collect(),
            },
        });
        Ok((steps.collect(), Made::List { data, suffixes }))
    }
}

/// What a variable is bound to among these statements.
pub(super) fn defined<'s>(atom: &Atom, stmts: &'s [Stmt]) -> Option<&'s Exp> {
    let Atom::Var(var) = atom else { return None };
    stmts
        .iter()
        .find_map(|stmt| match stmt.pattern.values.as_slice() {
            [value] if value.var == *var => Some(&stmt.exp),
            _ => None,
        })
}
