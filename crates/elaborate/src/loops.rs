//! Loops. The parts of the state are loop parameters of their own. A size of the state is the loop's own where the
//! type checker could not name it outside: it may change from one iteration to the next.

use crate::conform::Sizes;
use crate::emit::{Moment, i64_atom};
use crate::errors::{self, bug};
use crate::join::leaf_value;
use crate::signature::solve_sizes;
use crate::statics::{Alternative, Chosen, Env, Function, Static};
use crate::template::{Abstraction, Instantiation, Template};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::{Atom, Body, Dim, Exp, Param, Size, Type, Var};
use almach_types::tree::{self, ExprKind, LoopForm, Pattern, PatternKind};
use std::collections::HashMap;
use std::rc::Rc;

/// How the state is put together from the loop's parameters.
enum Part<'a> {
    Value(SizedTy),
    Tuple(Vec<Part<'a>>),
    /// The same code in every iteration, around so many values. The number is that of the function in the state.
    Function(Template<'a>, usize, usize),
    /// One of several functions.
    Choice {
        data: core::DataId,
        alternatives: Rc<[Alternative<'a>]>,
        number: usize,
    },
}

/// The functions that those of the state may be, by their numbers; none where there is one only.
struct Choices<'a> {
    known: Vec<Vec<Alternative<'a>>>,
    /// Whether another one was found: the loop is then made again.
    grown: Grown,
    since: Moment,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grown {
    Yes,
    No,
}

/// How often a loop is made again because its body gives other functions than it was made for.
const MAX_ATTEMPTS: usize = 6;

/// A state that is being taken apart.
struct Making<'m, 'a> {
    state: &'m mut State,
    atoms: &'m mut Vec<Atom>,
    choices: &'m mut Choices<'a>,
    /// How many functions were met.
    functions: usize,
}

/// What the body of a loop needs to know about its state.
struct LoopInside<'m, 'a> {
    part: &'m Part<'a>,
    vars: &'m [Var],
    state: &'m State,
    ty: &'m SizedTy,
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
        let mut choices = Choices {
            known: Vec::new(),
            grown: Grown::No,
            since: self.moment(),
        };
        if self.close(&looped.pattern.ty, env, span)?.ty.is_first_order() {
            return self.attempt(looped, &initial, bound, env, &mut choices, span);
        }
        for _ in 0..MAX_ATTEMPTS {
            choices.grown = Grown::No;
            let bound = bound.clone();
            let (stmts, value) =
                self.in_body(|this| this.attempt(looped, &initial, bound, env, &mut choices, span))?;
            if choices.grown == Grown::No {
                for stmt in stmts {
                    self.builder.push(stmt.pattern, stmt.exp, stmt.span);
                }
                return Ok(value);
            }
        }
        Err(errors::loop_function(looped.body.span))
    }

    fn attempt(
        &mut self,
        looped: &'a tree::Loop,
        initial: &Static<'a>,
        bound: Option<Atom>,
        env: &Env<'a>,
        choices: &mut Choices<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let mut env = env.clone();
        self.learn_initial(&looped.initial, initial, &mut env)?;
        let mut state = State::default();
        self.open_sizes(&looped.pattern.ty, &looped.pattern, &mut env, &mut state);
        let ty = self.close(&looped.pattern.ty, &env, span)?;
        let initial = self.conform(initial.clone(), &ty, Sizes::WhereMissing, span)?;
        let mut atoms = Vec::new();
        let mut making = Making {
            state: &mut state,
            atoms: &mut atoms,
            choices: &mut *choices,
            functions: 0,
        };
        let part = self.state_part(&looped.pattern, &initial, &ty, &mut making, span)?;
        let (context, atoms) = self.as_loop_state(&state, atoms, span)?;
        let params: Vec<Param> = state
            .types
            .iter()
            .zip(&state.names)
            .map(|(ty, name)| self.builder.param(name.clone(), ty.clone()))
            .collect();
        let vars: Vec<Var> = params.iter().map(|param| param.var.clone()).collect();
        let form = match (&looped.form, bound) {
            (LoopForm::For { index, .. }, Some(bound)) => {
                let ty = self.type_of(&bound, span)?;
                let param = self.builder.param(index.name.clone(), ty);
                env.bind(index, Static::var(param.var.clone()));
                core::LoopForm::For { index: param, bound }
            }
            (LoopForm::While(condition), _) => {
                core::LoopForm::While(self.condition(looped, condition, &part, &vars, &env)?)
            }
            (LoopForm::For { .. }, None) => return Err(bug(span, "a loop without a bound")),
        };
        let making = LoopInside {
            part: &part,
            vars: &vars,
            state: &state,
            ty: &ty,
        };
        let body = self.loop_body(looped, &making, &env, choices, span)?;
        let exp = Exp::Loop(Box::new(core::Loop {
            context: state.context.into_iter().zip(context).collect(),
            params: params.into_iter().zip(atoms).collect(),
            form,
            body,
        }));
        let results = match choices.grown {
            Grown::No => self.emit_all(exp, "state", span)?,
            Grown::Yes => return Ok(Static::unit()),
        };
        self.rebuild(&part, &mut results.into_iter(), span)
    }

    /// What the initial value tells about sizes. Where its type was made the state's, that names the state's sizes.
    fn learn_initial(&self, initial: &tree::Expr, value: &Static<'a>, env: &mut Env<'a>) -> Res<()> {
        match (&initial.kind, value) {
            (ExprKind::Forget(inner), _) => self.learn_initial(inner, value, env),
            (ExprKind::Tuple(parts), Static::Tuple(values)) => {
                let mut pairs = parts.iter().zip(values.iter());
                pairs.try_for_each(|(part, value)| self.learn_initial(part, value, env))
            }
            _ => self.learn(&initial.ty, value, env, initial.span),
        }
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
                    let own = self.builder.size_var("n");
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
        making: &mut Making<'_, 'a>,
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
                parts.push(self.state_part(inner, value, ty, making, span)?);
            }
            return Ok(Part::Tuple(parts));
        }
        if let Ty::Function(_) = ty.ty {
            return self.function_part(value, making, span);
        }
        making.atoms.push(self.atom(value, span)?);
        let mut own = Vec::new();
        let missing = &mut |this: &mut Self| {
            let var = this.builder.size_var("n");
            own.push(var.clone());
            Dim::Size(Size::var(var))
        };
        let core_type = self.core_type(ty, crate::conform::Place::Outermost, missing, span)?;
        making.state.context.extend(own);
        making.state.types.push(core_type);
        making.state.names.push(crate::matching::name_of(pattern));
        Ok(Part::Value(ty.clone()))
    }

    /// A function in the state: where the code is the same throughout, what it captured is the state.
    fn function_part(
        &mut self,
        value: &Static<'a>,
        making: &mut Making<'_, 'a>,
        span: Span,
    ) -> Res<Part<'a>> {
        let number = making.functions;
        making.functions += 1;
        let known = making.choices.known.get(number).cloned().unwrap_or_default();
        if known.is_empty() {
            let first = self.alternatives_of(value, making.choices.since, span)?;
            making.choices.known.push(first);
        }
        if known.len() > 1 {
            let alternatives: Rc<[Alternative<'a>]> = known.into();
            let data = self.choice_type(&alternatives);
            let packed = self.pack_function(value, data, &alternatives, span)?;
            let packed = packed.ok_or_else(|| bug(span, "a loop lost its first function"))?;
            making.atoms.push(packed);
            making.state.types.push(Type::Data(data));
            making.state.names.push("chosen".into());
            return Ok(Part::Choice {
                data,
                alternatives,
                number,
            });
        }
        let mut parts = Abstraction::default();
        let template = self.template(value, &mut parts);
        for leaf in &parts.leaves {
            let atom = self.atom(&leaf_value(leaf), span)?;
            let found = self.type_of(&atom, span)?;
            let builder = &mut self.builder;
            let context = &mut making.state.context;
            let ty = found.map_dims(&mut |dim| match dim {
                Dim::Size(_) => {
                    let var = builder.size_var("n");
                    context.push(var.clone());
                    Dim::Size(Size::var(var))
                }
                Dim::Jagged => Dim::Jagged,
            });
            making.atoms.push(atom);
            making.state.types.push(ty);
            making.state.names.push("captured".into());
        }
        Ok(Part::Function(template, parts.leaves.len(), number))
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
            Part::Function(template, count, _) => {
                let leaves: Vec<Static<'a>> = atoms.take(*count).map(Static::Dynamic).collect();
                Ok(Instantiation::new(&leaves).value(template))
            }
            Part::Choice {
                data, alternatives, ..
            } => {
                let tag = atoms.next().ok_or_else(|| bug(span, "too few values"))?;
                Ok(Static::function(Function::Chosen(Chosen {
                    data: *data,
                    tag,
                    alternatives: alternatives.clone(),
                })))
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

    fn loop_body(
        &mut self,
        looped: &'a tree::Loop,
        inside: &LoopInside<'_, 'a>,
        env: &Env<'a>,
        choices: &mut Choices<'a>,
        span: Span,
    ) -> Res<Body> {
        let (stmts, (context, values)) = self.in_body(|this| {
            let env = this.state_env(&looped.pattern, inside.part, inside.vars, env)?;
            let next = this.expr(&looped.body, &env)?;
            let next = this.conform(next, inside.ty, Sizes::WhereMissing, span)?;
            let mut atoms = Vec::new();
            this.next_state(inside.part, &next, &mut atoms, choices, looped.body.span)?;
            match choices.grown {
                Grown::No => this.as_loop_state(inside.state, atoms, looped.body.span),
                Grown::Yes => Ok((Vec::new(), Vec::new())),
            }
        })?;
        Ok(Body {
            stmts,
            context,
            values,
        })
    }

    /// Adds the functions that a value may be to those the state may be.
    fn add_choices(
        &mut self,
        value: &Static<'a>,
        number: usize,
        choices: &mut Choices<'a>,
        span: Span,
    ) -> Res<()> {
        let found = self.alternatives_of(value, choices.since, span)?;
        let Some(known) = choices.known.get_mut(number) else {
            return Err(bug(span, "a function that the loop does not know"));
        };
        for alternative in found {
            match known.iter_mut().find(|it| it.template == alternative.template) {
                None => {
                    known.push(alternative);
                    choices.grown = Grown::Yes;
                }
                Some(same) if same.slots != alternative.slots => {
                    let widened = self.packed_slots(&same.slots, span)?;
                    if widened != same.slots {
                        same.slots = widened;
                        choices.grown = Grown::Yes;
                    }
                }
                Some(_) => {}
            }
        }
        match choices.grown {
            Grown::Yes => Ok(()),
            Grown::No => Err(errors::loop_function(span)),
        }
    }

    fn next_state(
        &mut self,
        part: &Part<'a>,
        value: &Static<'a>,
        atoms: &mut Vec<Atom>,
        choices: &mut Choices<'a>,
        span: Span,
    ) -> Res<()> {
        match part {
            Part::Value(ty) => self.flatten(value, &ty.ty, atoms, span),
            Part::Tuple(parts) => {
                let values = self.components(value, span)?;
                let mut pairs = parts.iter().zip(values.iter());
                pairs.try_for_each(|(part, value)| self.next_state(part, value, atoms, choices, span))
            }
            Part::Function(template, _, number) => {
                let mut found = Abstraction::default();
                if self.template(value, &mut found) != *template {
                    return self.add_choices(value, *number, choices, span);
                }
                for leaf in &found.leaves {
                    atoms.push(self.atom(&leaf_value(leaf), span)?);
                }
                Ok(())
            }
            Part::Choice {
                data,
                alternatives,
                number,
            } => match self.pack_function(value, *data, alternatives, span)? {
                Some(tag) => {
                    atoms.push(tag);
                    Ok(())
                }
                None => self.add_choices(value, *number, choices, span),
            },
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
