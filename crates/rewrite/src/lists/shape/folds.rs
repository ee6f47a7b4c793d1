//! Steps that combine a state of scalars with something of their own.

use super::reader::Call;
use super::{Combined, Gives, Operator, Scalars, Step};
use crate::recursions::{Reason, no};
use almach_core::visit::Vars;
use almach_core::{Atom, Exp, Stmt, Type, Var};
use almach_value::{BinOp, ScalarType, is_exact_in_any_order};
use std::collections::{HashMap, HashSet};

/// The statements of a step, told apart by whether they depend on the state.
pub(super) struct Split<'f> {
    pub(super) own: Vec<Stmt>,
    /// What depends on the state, by what it binds.
    pub(super) dependent: HashMap<&'f Var, &'f Exp>,
    pub(super) states: HashSet<&'f Var>,
    /// Those that are understood.
    pub(super) used: HashSet<&'f Var>,
}

impl<'f> Split<'f> {
    pub(super) fn of(call: &Call<'f>, states: impl Iterator<Item = &'f Var>) -> Result<Split<'f>, Reason> {
        let mut split = Split {
            own: Vec::new(),
            dependent: HashMap::new(),
            states: states.collect(),
            used: HashSet::new(),
        };
        for (at, stmt) in call.arm.body.stmts.iter().enumerate() {
            if at == call.at {
                continue;
            }
            let depends = Vars::of_exp(&stmt.exp).used.iter().any(|var| split.depends(var));
            match (depends, stmt.pattern.values.as_slice()) {
                (false, _) => split.own.push(stmt.clone()),
                (true, [value]) => {
                    split.dependent.insert(&value.var, &stmt.exp);
                }
                (true, _) => return no("what it does with the result for the rest is not understood"),
            }
        }
        Ok(split)
    }

    pub(super) fn depends(&self, var: &Var) -> bool {
        self.states.contains(var) || self.dependent.contains_key(var)
    }

    pub(super) fn is_own(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Var(var) => !self.depends(var),
            Atom::Const(_) => true,
        }
    }

    /// What a dependent atom is.
    pub(super) fn exp(&mut self, atom: &Atom) -> Option<&'f Exp> {
        let Atom::Var(var) = atom else { return None };
        let (var, exp) = self.dependent.get_key_value(var)?;
        self.used.insert(var);
        Some(exp)
    }

    /// Nothing depends on the state but what was understood.
    pub(super) fn done(&self) -> Result<(), Reason> {
        match self.dependent.keys().all(|var| self.used.contains(var)) {
            true => Ok(()),
            false => no("what it does with the result for the rest is not understood"),
        }
    }
}

pub(super) fn not_associative(op: BinOp, ty: ScalarType) -> Reason {
    match ty.is_float() && matches!(op, BinOp::Add | BinOp::Mul) {
        true => format!(
            "`{}` of floats rounds, and only `reduce` and `scan` may regroup it",
            op.name()
        ),
        false => format!("`{}` is not known to be associative", op.name()),
    }
}

/// An operator on scalars, as far as a step says which; a state that is passed on as it is says nothing.
type Found = Option<Operator>;

enum FoundScalars {
    One(ScalarType, Found),
    Tuple(Vec<FoundScalars>),
}

/// A step of a fold.
pub(super) struct Folded {
    stmts: Vec<Stmt>,
    combined: Vec<Combined>,
    found: Vec<FoundScalars>,
}

impl Folded {
    pub(super) fn of<'f>(
        call: &Call<'f>,
        states: Vec<(&'f Var, &'f Type)>,
        next: &[Atom],
    ) -> Result<Folded, Reason> {
        let mut split = Split::of(call, states.iter().map(|(var, _)| *var))?;
        let (mut combined, mut found) = (Vec::new(), Vec::new());
        for ((state, ty), value) in states.iter().zip(next) {
            found.push(parts(
                &mut split,
                value,
                state,
                &mut Vec::new(),
                ty,
                &mut combined,
            )?);
        }
        split.done()?;
        Ok(Folded {
            stmts: split.own,
            combined,
            found,
        })
    }
}

/// How a part of the next state comes from the same part of the state.
fn parts(
    split: &mut Split<'_>,
    value: &Atom,
    state: &Var,
    path: &mut Vec<u32>,
    ty: &Type,
    combined: &mut Vec<Combined>,
) -> Result<FoundScalars, Reason> {
    match ty {
        Type::Scalar(ty) => {
            let mut with = Vec::new();
            let is_state = |split: &mut Split<'_>, atom: &Atom| is_part(split, atom, state, path);
            let op = combination(split, value, &is_state, &mut with)?;
            let operator = match op {
                None => None,
                Some(op) if is_exact_in_any_order(op, *ty) => Some(Operator { op, ty: *ty }),
                Some(op) => return Err(not_associative(op, *ty)),
            };
            combined.push(Combined { with });
            Ok(FoundScalars::One(*ty, operator))
        }
        Type::Tuple(types) => {
            let components: Vec<Option<Atom>> = match (is_part(split, value, state, path), split.exp(value)) {
                (true, _) => types.iter().map(|_| None).collect(),
                (false, Some(Exp::Tuple(parts))) => parts.iter().cloned().map(Some).collect(),
                _ => return no("what it does with the result for the rest is not understood"),
            };
            let mut found = Vec::new();
            for (at, (component, ty)) in (0u32..).zip(components.iter().zip(types)) {
                path.push(at);
                found.push(match component {
                    Some(component) => parts(split, component, state, path, ty, combined)?,
                    None => unchanged(ty, combined)?,
                });
                path.pop();
            }
            Ok(FoundScalars::Tuple(found))
        }
        _ => no("what it passes on is no scalar"),
    }
}

/// A part of the state that stays.
fn unchanged(ty: &Type, combined: &mut Vec<Combined>) -> Result<FoundScalars, Reason> {
    match ty {
        Type::Scalar(ty) => {
            combined.push(Combined { with: Vec::new() });
            Ok(FoundScalars::One(*ty, None))
        }
        Type::Tuple(types) => {
            let parts = types.iter().map(|ty| unchanged(ty, combined));
            Ok(FoundScalars::Tuple(parts.collect::<Result<_, _>>()?))
        }
        _ => no("what it passes on is no scalar"),
    }
}

/// Whether an atom is a component of the state.
fn is_part(split: &mut Split<'_>, atom: &Atom, state: &Var, path: &[u32]) -> bool {
    match (path.split_last(), atom) {
        (None, Atom::Var(var)) => var == state,
        (Some((last, front)), Atom::Var(var)) => match split.dependent.get_key_value(var) {
            Some((known, Exp::Project(tuple, at))) if at == last => {
                let (known, tuple) = (*known, tuple.clone());
                let found = is_part(split, &tuple, state, front);
                if found {
                    split.used.insert(known);
                }
                found
            }
            _ => false,
        },
        (_, Atom::Const(_)) => false,
    }
}

/// The one operator that combines the state, once, with values that do not depend on it; none where the value is the state.
pub(super) fn combination(
    split: &mut Split<'_>,
    value: &Atom,
    is_state: &dyn Fn(&mut Split<'_>, &Atom) -> bool,
    with: &mut Vec<Atom>,
) -> Result<Option<BinOp>, Reason> {
    if is_state(split, value) {
        return Ok(None);
    }
    let (op, left, right) = match split.exp(value) {
        Some(Exp::Binary(op, left, right)) => (*op, left, right),
        Some(Exp::Atom(other)) => {
            let other = other.clone();
            return combination(split, &other, is_state, with);
        }
        Some(Exp::If { .. } | Exp::Case { .. }) => {
            return no("what is combined depends on the result for the rest");
        }
        Some(Exp::Unary(op, _)) => {
            return no(format!("`{}` is applied to the result for the rest", op.name()));
        }
        Some(_) => return no("what it does with the result for the rest is not understood"),
        None => return no("it forgets the result for the rest"),
    };
    let (inner, own) = match (split.is_own(left), split.is_own(right)) {
        (true, false) => (right, left),
        (false, true) => (left, right),
        _ => return no("it uses the result for the rest more than once"),
    };
    let below = combination(split, inner, is_state, with)?;
    with.push(own.clone());
    match below {
        Some(other) if other != op => no(format!("`{}` and `{}` are mixed", other.name(), op.name())),
        _ => Ok(Some(op)),
    }
}

/// Steps that agree about the operators.
pub(super) fn agreed(calls: &[Call<'_>], folded: Vec<Folded>) -> Result<(Vec<Step>, Vec<Scalars>), Reason> {
    let count = folded.first().map_or(0, |step| step.found.len());
    let mut states = Vec::new();
    for at in 0..count {
        let all: Vec<&FoundScalars> = folded.iter().filter_map(|step| step.found.get(at)).collect();
        states.push(together(&all)?);
    }
    let steps = calls.iter().zip(folded).map(|(call, step)| Step {
        arm: call.arm.clone(),
        link: call.link,
        stmts: step.stmts,
        gives: Gives::States(step.combined),
    });
    Ok((steps.collect(), states))
}

fn together(all: &[&FoundScalars]) -> Result<Scalars, Reason> {
    match all.first() {
        Some(FoundScalars::One(ty, _)) => {
            let mut operators = all.iter().filter_map(|found| match found {
                FoundScalars::One(_, operator) => *operator,
                FoundScalars::Tuple(_) => None,
            });
            // What no step changes is as good as a sum to which nothing is added.
            let unchanged = Operator {
                op: if ty.is_float() { BinOp::Max } else { BinOp::Or },
                ty: *ty,
            };
            let first = operators.next().unwrap_or(unchanged);
            match operators.find(|other| *other != first) {
                Some(other) => no(format!(
                    "`{}` and `{}` are mixed",
                    first.op.name(),
                    other.op.name()
                )),
                None => Ok(Scalars::One(first)),
            }
        }
        Some(FoundScalars::Tuple(parts)) => {
            let mut states = Vec::new();
            for at in 0..parts.len() {
                let inner: Vec<&FoundScalars> = all
                    .iter()
                    .filter_map(|found| match found {
                        FoundScalars::Tuple(parts) => parts.get(at),
                        FoundScalars::One(..) => None,
                    })
                    .collect();
                states.push(together(&inner)?);
            }
            Ok(Scalars::Tuple(states))
        }
        None => no("it has no step"),
    }
}
