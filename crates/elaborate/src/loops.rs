//! Loops. The parts of the state are loop parameters of their own. A size of the state is the loop's own where the
//! type checker could not name it outside: it may change from one iteration to the next.

use crate::conform::Sizes;
use crate::emit::i64_atom;
use crate::errors::{self, bug};
use crate::join::leaf_value;
use crate::signature::solve_sizes;
use crate::statics::{Env, Static};
use crate::template::{Abstraction, Instantiation, Template};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::{Atom, Body, Dim, Exp, Param, Size, Type, Var};
use almach_types::tree::{self, LoopForm, Pattern, PatternKind};
use std::collections::HashMap;
use std::rc::Rc;

/// How the state is put together from the loop's parameters.
enum Part<'a> {
    Value(SizedTy),
    Tuple(Vec<Part<'a>>),
    /// The same code in every iteration, around so many values.
    Function(Template<'a>, usize),
}

/// The parameters as they are found.
#[derive(Default)]
struct State {
    context: Vec<Var>,
    types: Vec<Type>,
    names: Vec<Name>,
}

impl<'a> Elaborator<'a> {
    pub(crate) fn loop_expr(&mut self, looped: &'a tree::Loop, env: &Env<'a>, span: Span) -> Res<Static<'a>> {
        let initial = self.expr(&looped.initial, env)?;
        let bound = match &looped.form {
            LoopForm::For { bound, .. } => Some(self.expr_atom(bound, env)?),
            LoopForm::While(_) => None,
        };
        let mut env = env.clone();
        self.learn(&looped.initial.ty, &initial, &mut env, span)?;
        let mut state = State::default();
        self.open_sizes(&looped.pattern.ty, &looped.pattern, &mut env, &mut state);
        let ty = self.close(&looped.pattern.ty, &env, span)?;
        let initial = self.conform(initial, &ty, Sizes::WhereMissing, span)?;
        let mut atoms = Vec::new();
        let part = self.state_part(&looped.pattern, &initial, &ty, &mut state, &mut atoms, span)?;
        let (context, atoms) = self.as_loop_state(&state, atoms, span)?;
        let params: Vec<Param> = state
            .types
            .iter()
            .zip(&state.names)
            .map(|(ty, name)| self.builder.param(name.clone(), ty.clone()))
            .collect();
        let index = match (&looped.form, &bound) {
            (LoopForm::For { index, .. }, Some(bound)) => {
                let ty = self.type_of(bound, span)?;
                let param = self.builder.param(index.name.clone(), ty);
                env.bind(index, Static::var(param.var.clone()));
                Some(param)
            }
            _ => None,
        };
        let vars: Vec<Var> = params.iter().map(|param| param.var.clone()).collect();
        let form = match (&looped.form, index, bound) {
            (LoopForm::While(condition), _, _) => {
                core::LoopForm::While(self.condition(looped, condition, &part, &vars, &env, span)?)
            }
            (LoopForm::For { .. }, Some(index), Some(bound)) => core::LoopForm::For { index, bound },
            (LoopForm::For { .. }, _, _) => return Err(bug(span, "a loop without a bound")),
        };
        let body = self.loop_body(looped, &part, &vars, &state, &ty, &env, span)?;
        let exp = Exp::Loop(Box::new(core::Loop {
            context: state.context.into_iter().zip(context).collect(),
            params: params.into_iter().zip(atoms).collect(),
            form,
            body,
        }));
        let results = self.emit_all(exp, "state", span)?;
        self.rebuild(&part, &mut results.into_iter(), span)
    }

    /// Gives sizes that the state alone knows a variable of the loop's context.
    fn open_sizes(&mut self, ty: &tree::Type, pattern: &Pattern, env: &mut Env<'a>, state: &mut State) {
        match ty {
            tree::Type::Tuple(parts) => parts
                .iter()
                .for_each(|ty| self.open_sizes(ty, pattern, env, state)),
            tree::Type::Record(fields) => {
                fields
                    .iter()
                    .for_each(|(_, ty)| self.open_sizes(ty, pattern, env, state));
            }
            tree::Type::Array(dim, element) => {
                if let tree::Dim::Size(size) = dim
                    && let Some(var) = size.as_var()
                    && env.get(var).is_none()
                    && !binds(pattern, var)
                {
                    let own = self.builder.size_var(var.name.clone());
                    env.bind(var, Static::Size(Size::var(own.clone())));
                    state.context.push(own);
                }
                self.open_sizes(element, pattern, env, state);
            }
            tree::Type::Scalar(_)
            | tree::Type::Vector(..)
            | tree::Type::Data(..)
            | tree::Type::Node { .. }
            | tree::Type::Reference(_)
            | tree::Type::Function(_)
            | tree::Type::Var(_) => {}
        }
    }

    fn state_part(
        &mut self,
        pattern: &Pattern,
        value: &Static<'a>,
        ty: &SizedTy,
        state: &mut State,
        atoms: &mut Vec<Atom>,
        span: Span,
    ) -> Res<Part<'a>> {
        if let Some(types) = ty.components() {
            let values = self.components(value, span)?;
            let patterns: Vec<&Pattern> = match &pattern.kind {
                PatternKind::Tuple(parts) => parts.iter().collect(),
                _ => Vec::new(),
            };
            let mut parts = Vec::with_capacity(types.len());
            for (at, (value, ty)) in values.iter().zip(&types).enumerate() {
                let inner = patterns.get(at).copied().unwrap_or(pattern);
                parts.push(self.state_part(inner, value, ty, state, atoms, span)?);
            }
            return Ok(Part::Tuple(parts));
        }
        if let Ty::Function(_) = ty.ty {
            return self.function_part(value, state, atoms, span);
        }
        atoms.push(self.atom(value, span)?);
        let mut own = Vec::new();
        let missing = &mut |this: &mut Self| {
            let var = this.builder.size_var("n");
            own.push(var.clone());
            Dim::Size(Size::var(var))
        };
        let core_type = self.core_type(ty, crate::conform::Place::Outermost, missing, span)?;
        state.context.extend(own);
        state.types.push(core_type);
        state.names.push(crate::matching::name_of(pattern));
        Ok(Part::Value(ty.clone()))
    }

    /// A function in the state: the same code throughout, what it captured may change.
    fn function_part(
        &mut self,
        value: &Static<'a>,
        state: &mut State,
        atoms: &mut Vec<Atom>,
        span: Span,
    ) -> Res<Part<'a>> {
        let mut parts = Abstraction::default();
        let template = self.template(value, &mut parts);
        for leaf in &parts.leaves {
            let atom = self.atom(&leaf_value(leaf), span)?;
            let found = self.type_of(&atom, span)?;
            let builder = &mut self.builder;
            let context = &mut state.context;
            let ty = found.map_dims(&mut |dim| match dim {
                Dim::Size(_) => {
                    let var = builder.size_var("n");
                    context.push(var.clone());
                    Dim::Size(Size::var(var))
                }
                Dim::Jagged => Dim::Jagged,
            });
            atoms.push(atom);
            state.types.push(ty);
            state.names.push("captured".into());
        }
        Ok(Part::Function(template, parts.leaves.len()))
    }

    /// Values as the loop's parameters, and the sizes of its context that they have.
    fn as_loop_state(
        &mut self,
        state: &State,
        mut atoms: Vec<Atom>,
        span: Span,
    ) -> Res<(Vec<Atom>, Vec<Atom>)> {
        let mut solution: HashMap<Var, Size> = HashMap::new();
        let wanted = |var: &Var| state.context.contains(var);
        for (ty, atom) in state.types.iter().zip(&atoms) {
            let found = self.type_of(atom, span)?;
            solve_sizes(ty, &found, &wanted, &mut solution);
        }
        let mut context = Vec::with_capacity(state.context.len());
        for var in &state.context {
            let atom = match solution.get(var).cloned() {
                Some(size) => self.size_atom(&size, span)?,
                // A name of the type that no value of the state has as its size.
                None => i64_atom(0),
            };
            solution.insert(var.clone(), self.size_of(&Static::Dynamic(atom.clone()), span)?);
            context.push(atom);
        }
        for (ty, atom) in state.types.iter().zip(&mut atoms) {
            let to = ty.substitute(&|var| solution.get(var).cloned());
            *atom = self.coerce(atom.clone(), &to, span)?;
        }
        Ok((context, atoms))
    }

    fn rebuild(
        &mut self,
        part: &Part<'a>,
        atoms: &mut impl Iterator<Item = Atom>,
        span: Span,
    ) -> Res<Static<'a>> {
        match part {
            Part::Value(ty) => Self::unflatten(&ty.ty, atoms, span),
            Part::Tuple(parts) => {
                let parts: Res<Rc<[Static<'a>]>> =
                    parts.iter().map(|part| self.rebuild(part, atoms, span)).collect();
                Ok(Static::Tuple(parts?))
            }
            Part::Function(template, count) => {
                let leaves: Vec<Static<'a>> = atoms.take(*count).map(Static::Dynamic).collect();
                Ok(Instantiation::new(&leaves).value(template))
            }
        }
    }

    fn state_env(
        &mut self,
        pattern: &'a Pattern,
        part: &Part<'a>,
        vars: &[Var],
        env: &Env<'a>,
    ) -> Res<Env<'a>> {
        let mut atoms = vars.iter().map(|var| Atom::Var(var.clone()));
        let value = self.rebuild(part, &mut atoms, pattern.span)?;
        let mut env = env.clone();
        self.bind_pattern(pattern, &value, &mut env)?;
        Ok(env)
    }

    fn condition(
        &mut self,
        looped: &'a tree::Loop,
        condition: &'a tree::Expr,
        part: &Part<'a>,
        vars: &[Var],
        env: &Env<'a>,
        _span: Span,
    ) -> Res<Body> {
        let (stmts, value) = self.in_body(|this| {
            let env = this.state_env(&looped.pattern, part, vars, env)?;
            this.expr_atom(condition, &env)
        })?;
        Ok(Body {
            stmts,
            context: Vec::new(),
            values: vec![value],
        })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "everything that the loop has found out by now"
    )]
    fn loop_body(
        &mut self,
        looped: &'a tree::Loop,
        part: &Part<'a>,
        vars: &[Var],
        state: &State,
        ty: &SizedTy,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Body> {
        let (stmts, (context, values)) = self.in_body(|this| {
            let env = this.state_env(&looped.pattern, part, vars, env)?;
            let next = this.expr(&looped.body, &env)?;
            let next = this.conform(next, ty, Sizes::WhereMissing, span)?;
            let mut atoms = Vec::new();
            this.next_state(part, &next, &mut atoms, looped.body.span)?;
            this.as_loop_state(state, atoms, looped.body.span)
        })?;
        Ok(Body {
            stmts,
            context,
            values,
        })
    }

    fn next_state(
        &mut self,
        part: &Part<'a>,
        value: &Static<'a>,
        atoms: &mut Vec<Atom>,
        span: Span,
    ) -> Res<()> {
        match part {
            Part::Value(ty) => self.flatten(value, &ty.ty, atoms, span),
            Part::Tuple(parts) => {
                let values = self.components(value, span)?;
                let mut pairs = parts.iter().zip(values.iter());
                pairs.try_for_each(|(part, value)| self.next_state(part, value, atoms, span))
            }
            Part::Function(template, _) => {
                let mut found = Abstraction::default();
                if self.template(value, &mut found) != *template {
                    return Err(errors::loop_function(span));
                }
                for leaf in &found.leaves {
                    atoms.push(self.atom(&leaf_value(leaf), span)?);
                }
                Ok(())
            }
        }
    }
}

fn binds(pattern: &Pattern, var: &tree::Var) -> bool {
    match &pattern.kind {
        PatternKind::Var(own) => own == var,
        PatternKind::Tuple(parts) | PatternKind::Constructor { fields: parts, .. } => {
            parts.iter().any(|part| binds(part, var))
        }
        PatternKind::Record(fields) => fields.iter().any(|(_, field)| binds(field, var)),
        PatternKind::Wildcard | PatternKind::Int(_) | PatternKind::Float(_) | PatternKind::Bool(_) => false,
    }
}
