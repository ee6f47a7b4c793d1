//! What is behind a `case` goes into its arms, so that the calls in the arms and those behind stand beside each other.
//!
//! ```text
//! let a: i32 = case r: i32 of                     let s: i32 = case r: i32 of
//! | Rose (x: i32, rs: L) ->                       | Rose (x: i32, rs: L) ->
//!   let t: i32 = total (rs)                         let t: i32 = total (rs)
//!   let u: i32 = x + t in u                 =>      let u: i32 = x + t
//! let b: i32 = total (rest)                         let a: i32 = u
//! let s: i32 = a + b in s                           let b: i32 = total (rest)
//!                                                   let s': i32 = a + b in s'
//!                                                 in s
//! ```
//!
//! Calls in front of the `case`, and what depends on them, go in as well. Nothing is computed more often: one arm is taken. Where several arms get what is
//! behind there are copies of the text, so that is only done for a few.

use super::shape::{Part, bodies};
use crate::facts::callees_of_exp;
use almach_core::typing::Supply;
use almach_core::visit::{Vars, fresh_body};
use almach_core::{Arm, Body, Exp, FunId, Function, Param, Pattern, ResultType, Stmt, Var};
use std::collections::HashSet;

/// How many copies of what is behind there may be.
const MOST_COPIES: usize = 4;

/// The function with its calls of itself beside each other, where that can be.
pub(super) fn straightened(id: FunId, function: &Function, supply: &mut Supply) -> Option<Function> {
    if !function.result.context.is_empty() {
        return None;
    }
    let mut straight = Straight { id, supply };
    Some(Function {
        body: straight.body(&function.body, &function.result)?,
        ..function.clone()
    })
}

struct Straight<'s> {
    id: FunId,
    supply: &'s mut Supply,
}

impl Straight<'_> {
    fn body(&mut self, body: &Body, result: &ResultType) -> Option<Body> {
        match Part::of(self.id, body) {
            Ok(Part::Straight(_)) => Some(body.clone()),
            Ok(Part::Choice(at, _)) => {
                let mut body = body.clone();
                let stmt = body.stmts.get_mut(at)?;
                stmt.exp = self.in_arms(&stmt.exp, &mut |this, body, result| this.body(body, result))?;
                Some(body)
            }
            Err(_) => {
                let calls = |stmt: &Stmt| callees_of_exp(&stmt.exp).contains(&self.id);
                let is_choice = |stmt: &Stmt| calls(stmt) && bodies(&stmt.exp).is_some();
                let at = body.stmts.iter().position(is_choice)?;
                self.pushed(body, at, result)
            }
        }
    }

    /// The body as a choice, with everything else that depends on calls in its arms.
    fn pushed(&mut self, body: &Body, at: usize, result: &ResultType) -> Option<Body> {
        let choice = body.stmts.get(at)?;
        if !choice.pattern.context.is_empty() || bodies(&choice.exp)?.len() > MOST_COPIES {
            return None;
        }
        let (early, late) = self.split(body.stmts.get(..at)?);
        let found: HashSet<&Var> = late.iter().flat_map(bound).collect();
        if decides(&choice.exp, &found) {
            return None;
        }
        let behind = body.stmts.get(at + 1..)?;
        let mut is_first = true;
        let exp = self.in_arms(&choice.exp, &mut |this, arm, _| {
            let given = choice.pattern.values.iter().zip(&arm.values);
            let given = given.map(|(value, atom)| Stmt {
                pattern: one(value.clone()),
                exp: Exp::Atom(atom.clone()),
                span: choice.span,
            });
            let stmts = late.iter().cloned().chain(arm.stmts.iter().cloned()).chain(given);
            let mut whole = Body {
                stmts: stmts.chain(behind.iter().cloned()).collect(),
                context: body.context.clone(),
                values: body.values.clone(),
            };
            // Names are bound once.
            if !std::mem::take(&mut is_first) {
                whole = fresh_body(&whole, this.supply);
            }
            this.body(&whole, result)
        })?;
        let exp = with_result(exp, result.clone());
        let values: Vec<Param> = result
            .types
            .iter()
            .map(|ty| Param {
                var: self.supply.fresh("chosen"),
                ty: ty.clone(),
            })
            .collect();
        let atoms = values
            .iter()
            .map(|value| almach_core::Atom::Var(value.var.clone()));
        let atoms = atoms.collect();
        let mut stmts = early;
        stmts.push(Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values,
            },
            exp,
            span: choice.span,
        });
        Some(Body {
            stmts,
            context: Vec::new(),
            values: atoms,
        })
    }

    /// Statements that depend on no call, and the others.
    fn split(&self, stmts: &[Stmt]) -> (Vec<Stmt>, Vec<Stmt>) {
        let (mut early, mut late) = (Vec::new(), Vec::new());
        let mut found: HashSet<Var> = HashSet::new();
        for stmt in stmts {
            let is_call = callees_of_exp(&stmt.exp).contains(&self.id);
            let used = Vars::of_exp(&stmt.exp).used;
            match is_call || used.iter().any(|var| found.contains(var)) {
                true => {
                    found.extend(bound(stmt).cloned());
                    late.push(stmt.clone());
                }
                false => early.push(stmt.clone()),
            }
        }
        (early, late)
    }

    /// A choice with its bodies changed.
    fn in_arms(
        &mut self,
        exp: &Exp,
        change: &mut dyn FnMut(&mut Self, &Body, &ResultType) -> Option<Body>,
    ) -> Option<Exp> {
        Some(match exp {
            Exp::If {
                condition,
                then,
                otherwise,
                result,
            } => Exp::If {
                condition: condition.clone(),
                then: change(self, then, result)?,
                otherwise: change(self, otherwise, result)?,
                result: result.clone(),
            },
            Exp::Case {
                scrutinee,
                arms,
                default,
                result,
            } => {
                let mut changed = Vec::with_capacity(arms.len());
                for arm in arms {
                    changed.push(Arm {
                        body: change(self, &arm.body, result)?,
                        ..arm.clone()
                    });
                }
                Exp::Case {
                    scrutinee: scrutinee.clone(),
                    arms: changed,
                    default: match default {
                        Some(body) => Some(change(self, body, result)?),
                        None => None,
                    },
                    result: result.clone(),
                }
            }
            _ => return None,
        })
    }
}

/// The variables that a statement binds.
fn bound(stmt: &Stmt) -> impl Iterator<Item = &Var> {
    let values = stmt.pattern.values.iter().map(|value| &value.var);
    values.chain(&stmt.pattern.context)
}

/// Whether what a choice depends on is among some variables.
fn decides(exp: &Exp, found: &HashSet<&Var>) -> bool {
    match exp {
        Exp::If { condition: on, .. } | Exp::Case { scrutinee: on, .. } => {
            matches!(on, almach_core::Atom::Var(var) if found.contains(var))
        }
        _ => true,
    }
}

fn with_result(exp: Exp, to: ResultType) -> Exp {
    match exp {
        Exp::If {
            condition,
            then,
            otherwise,
            ..
        } => Exp::If {
            condition,
            then,
            otherwise,
            result: to,
        },
        Exp::Case {
            scrutinee,
            arms,
            default,
            ..
        } => Exp::Case {
            scrutinee,
            arms,
            default,
            result: to,
        },
        other => other,
    }
}

fn one(param: Param) -> Pattern {
    Pattern {
        context: Vec::new(),
        values: vec![param],
    }
}
