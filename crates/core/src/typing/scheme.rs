//! Types with sizes left open: rows of jagged arrays, and the state of reductions whose sizes change.

use super::{TypeError, Typed, Typing};
use crate::check::Rule;
use crate::ir::{Dim, Lambda, ResultType, Size, Type, Var};
use std::collections::HashMap;

impl Typing<'_> {
    /// A type whose `?`s without an array around them stand for any size: an array literal's elements, a
    /// constructor's fields, the new value of a row.
    pub(super) fn expect_openable(&self, pattern: &Type, found: &Type, what: &str) -> Typed<()> {
        if accepts(pattern, found) {
            return Ok(());
        }
        let (expected, found) = (self.show(pattern), self.show(found));
        Err(TypeError::new(
            Rule::OperandType,
            format!("{what} must have type `{expected}`, but has `{found}`"),
        ))
    }

    /// Opens the `?`s of an element or field with the next variables of a context.
    pub(super) fn opened_with(&self, ty: &Type, context: &mut std::slice::Iter<'_, Var>) -> Typed<Type> {
        let mut missing = false;
        let opened = ty.open(&mut || match context.next() {
            Some(var) => var.clone(),
            None => {
                missing = true;
                Var {
                    id: u32::MAX,
                    name: "missing".into(),
                }
            }
        });
        if missing {
            let message = format!("the sizes of `{}` have too few names", self.show(ty));
            return Err(TypeError::new(Rule::Context, message));
        }
        Ok(opened)
    }

    /// The one declared result of a function, as a type over its own context.
    pub(super) fn state_of(&self, function: &Lambda) -> Typed<State> {
        let [ty] = function.result.types.as_slice() else {
            let message = format!(
                "the function gives {} values, not one",
                function.result.types.len()
            );
            return Err(TypeError::new(Rule::Arity, message));
        };
        let ty = self.env.normalise(ty);
        let bound_inside = |var: &Var| {
            function.context.contains(var) || function.params.iter().any(|param| param.var == *var)
        };
        if ty.mentions(&bound_inside) {
            let message = format!("`{}` mentions sizes of one application only", self.show(&ty));
            return Err(TypeError::new(Rule::Function, message));
        }
        Ok(State {
            context: function.result.context.clone(),
            ty,
        })
    }

    /// A value of the state's type, at any sizes.
    pub(super) fn expect_state(&self, state: &State, found: &Type, what: &str) -> Typed<()> {
        let mut solution = HashMap::new();
        let solved = state.matches(&state.ty, found, &mut solution)
            && state.context.iter().all(|var| solution.contains_key(var));
        if solved {
            return Ok(());
        }
        let (expected, found) = (self.show(&state.ty), self.show(found));
        Err(TypeError::new(
            Rule::OperandType,
            format!("{what} must have type `{expected}`, but has `{found}`"),
        ))
    }
}

/// Whether `found` is `pattern` with sizes for its outermost `?`s.
fn accepts(pattern: &Type, found: &Type) -> bool {
    match (pattern, found) {
        (Type::Tuple(patterns), Type::Tuple(parts)) => {
            patterns.len() == parts.len() && patterns.iter().zip(parts).all(|(p, t)| accepts(p, t))
        }
        (Type::Array(Dim::Jagged, pattern), Type::Array(Dim::Size(_), found)) => pattern == found,
        _ => pattern == found,
    }
}

/// The state of a reduction or scan: a type over sizes that may differ from step to step.
pub(super) struct State {
    pub(super) context: Vec<Var>,
    pub(super) ty: Type,
}

impl State {
    /// The type with the next variables of `context` for its own.
    pub(super) fn renamed(&self, context: &mut std::slice::Iter<'_, Var>) -> Typed<Type> {
        let names: Vec<Var> = context.by_ref().take(self.context.len()).cloned().collect();
        super::same_count(
            self.context.len(),
            names.len(),
            Rule::Context,
            "sizes of the state",
        )?;
        Ok(self.ty.substitute(&|var| {
            let at = self.context.iter().position(|bound| bound == var)?;
            names.get(at).cloned().map(Size::var)
        }))
    }

    /// As elements of an array: sizes that differ are jagged.
    pub(super) fn closed(&self) -> Type {
        self.ty.close(&|var| self.context.contains(var))
    }

    pub(super) fn result(&self) -> ResultType {
        ResultType {
            context: self.context.clone(),
            types: vec![self.ty.clone()],
        }
    }

    fn matches(&self, pattern: &Type, found: &Type, solution: &mut HashMap<Var, Dim>) -> bool {
        match (pattern, found) {
            (Type::Tuple(patterns), Type::Tuple(parts)) => {
                patterns.len() == parts.len()
                    && patterns
                        .iter()
                        .zip(parts)
                        .all(|(p, t)| self.matches(p, t, solution))
            }
            (Type::Array(expected, pattern), Type::Array(dim, found)) => {
                self.matches_dim(expected, dim, solution) && self.matches(pattern, found, solution)
            }
            _ => pattern == found,
        }
    }

    fn matches_dim(&self, expected: &Dim, found: &Dim, solution: &mut HashMap<Var, Dim>) -> bool {
        let Dim::Size(size) = expected else {
            return expected == found;
        };
        if let Some(var) = size.as_var()
            && self.context.contains(var)
        {
            // Different rows of a jagged array may have different sizes: they solve one variable only.
            return match solution.insert(var.clone(), found.clone()) {
                None => true,
                Some(before) => before == *found && *found != Dim::Jagged,
            };
        }
        let known = size.substitute(|var| match solution.get(var) {
            Some(Dim::Size(size)) => Some(size.clone()),
            Some(Dim::Jagged) | None => None,
        });
        Dim::Size(known) == *found
    }
}
