//! Calls. A definition becomes one Core function per instance: the types it is used at and, where functions are among
//! its arguments, the templates of those. What the functions captured becomes further parameters (lambda lifting), so
//! that a recursive function with a function argument needs one specialisation, not one per level.
//!
//! ```text
//! def rec fold f e t = case t of               fun fold_1 {} (k: f32, e: f32, t: Tree_f32): f32 =
//!   | Leaf x -> f e x                            case t of
//!   | Node l r -> fold f (fold f e l) r            | Leaf x -> let y = e + x * k in y …
//! … fold (\a x -> a + x * k) 0 tree            … fold_1 {} (k, 0.0, tree)
//! ```
//!
//! Small functions that are not recursive, and functions that give functions, are expanded in place instead.

use crate::conform::Sizes;
use crate::errors::{bug, ill_typed};
use crate::signature::{Canonical, StandsFor, solve_sizes, stands_for};
use crate::statics::{Closure, DefAt, Env, Home, Scope, Static};
use crate::template::{Abstraction, Code, EnvTemplate, Instantiation, Leaf, Template};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res, errors};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::typing::Signature;
use almach_core::{Atom, Body, Dim, Exp, FunId, Param, ResultType, Size, Type, Var};
use almach_types::tree::{Def, DefKind, Expr};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Bodies up to this many nodes are expanded in place where that is possible.
const SMALL: usize = 40;
/// So many specialisations of one definition inside each other do not come to an end.
const MAX_NESTED: usize = 48;
/// Nor do types of this size.
const MAX_TYPE_NODES: usize = 4_000;

/// What a Core function was made for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key<'a> {
    source: Source<'a>,
    types: Vec<Ty>,
    /// Which sizes of the instance are known.
    sizes: Vec<bool>,
    captured: EnvTemplate<'a>,
    /// None for what is passed as it is.
    args: Vec<Option<Template<'a>>>,
    /// Of captured values.
    leaf_types: Vec<Type>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source<'a> {
    Def(Code<'a, Def>),
    Closure(Code<'a, Expr>),
    /// What is left of a `case` when its first arms do not match.
    Rest(Code<'a, Expr>, usize),
}

#[derive(Clone)]
pub(crate) enum State {
    /// The result's type is not known yet: the function cannot be called, only expanded.
    UnderWay,
    Made(Rc<Made>),
}

pub(crate) struct Made {
    id: FunId,
    /// Where each size of the context comes from.
    context: Vec<Origin>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Known(usize),
    Class(usize),
    /// The arguments show it.
    Solved,
}

/// A specialisation under way, for the message when there is no end to them.
pub(crate) struct Active<'a> {
    pub source: Source<'a>,
    pub name: Name,
    pub span: Span,
    pub types: Vec<Ty>,
}

/// Everything about a call but who is called.
struct Call<'a> {
    key: Key<'a>,
    known: Vec<Size>,
    /// The flat first-order arguments.
    flat: Vec<Atom>,
    leaves: Vec<Leaf>,
    canonical: Canonical,
}

/// The callee's side of a call: what the key's parts have become.
struct Callee<'a> {
    context: Vec<Var>,
    origins: Vec<Origin>,
    known: Vec<Size>,
    leaves: Vec<Static<'a>>,
    params: Vec<Param>,
    flat: Vec<Var>,
}

impl<'a> Elaborator<'a> {
    /// The environment of a definition's body without its sizes and parameters: what it sees, and its types without
    /// sizes.
    pub(crate) fn def_env(&self, at: &DefAt<'a>) -> Env<'a> {
        let mut env = home_env(&at.home);
        let ids = at.def.scheme.types.iter().map(|(var, _)| var.id);
        let types = at.types.iter().map(|ty| SizedTy::unsized_of(ty.ty.clone()));
        env.bind_types(ids.zip(types));
        env
    }

    /// The same with everything that arguments and instance tell about sizes.
    fn instance_env(&self, at: &DefAt<'a>, args: &[Static<'a>], span: Span) -> Res<Env<'a>> {
        let mut env = self.def_env(at);
        for (param, arg) in at.def.params.iter().zip(args) {
            self.learn(&param.ty, arg, &mut env, span)?;
        }
        for ((var, _), given) in at.def.scheme.types.iter().zip(at.types.iter()) {
            if let Some(learnt) = env.types.get(var.id) {
                let pairs = learnt.sizes.iter().zip(given.sizes.iter());
                let sizes = pairs.map(|(learnt, given)| learnt.clone().or_else(|| given.clone()));
                let filled = SizedTy::new(learnt.ty.clone(), sizes.collect());
                env.types.insert(var.id, filled);
            }
        }
        for (var, given) in at.def.scheme.sizes.iter().zip(at.sizes.iter()) {
            if let (None, Some(size)) = (env.get(var), given) {
                env.bind(var, Static::Size(size.clone()));
            }
        }
        Ok(env)
    }

    /// A definition with all its arguments.
    pub(crate) fn call_def(&mut self, at: &DefAt<'a>, args: Vec<Static<'a>>, span: Span) -> Res<Static<'a>> {
        let env = self.instance_env(at, &args, span)?;
        let def = at.def;
        let more = args.len().saturating_sub(def.params.len());
        let result = self.close(&def.result, &env, span)?.after(more);
        let param_types: Res<Vec<SizedTy>> = def
            .params
            .iter()
            .map(|param| self.close(&param.ty, &env, span))
            .collect();
        let mut param_types = param_types?;
        param_types.extend(self.extra_params(def, &env, more)?);
        if def.group.is_none() {
            let higher_order = param_types.iter().any(|ty| !ty.ty.is_first_order());
            let may_expand = higher_order || def.kind == DefKind::Local || def.params.is_empty();
            if !result.ty.is_first_order() || may_expand && self.weight(&def.body) <= SMALL {
                return self.expand_def(def, env, args, &result, span);
            }
        } else if !result.ty.is_first_order() {
            return Err(errors::recursive_function_result(def, span));
        }
        let call = self.prepare_def(at, &env, &args, &param_types, span)?;
        match self.specialised.get(&call.key) {
            Some(State::Made(made)) => {
                let made = made.clone();
                self.emit_call(&made, &call, &result.ty, span)
            }
            Some(State::UnderWay) => self.expand_def(def, env, args, &result, span),
            None => {
                let made = self.make_def(at, &call, &param_types, span)?;
                self.emit_call(&made, &call, &result.ty, span)
            }
        }
    }

    /// The parameters of the function that a recursive definition gives.
    fn extra_params(&mut self, def: &'a Def, env: &Env<'a>, count: usize) -> Res<Vec<SizedTy>> {
        let mut extra = Vec::with_capacity(count);
        if count > 0 {
            let mut result = self.close(&def.result, env, def.span)?;
            while extra.len() < count
                && let Some((param, rest)) = result.function()
            {
                extra.push(param);
                result = rest;
            }
        }
        Ok(extra)
    }

    /// A definition's body in place.
    pub(crate) fn expand_entry(
        &mut self,
        at: &DefAt<'a>,
        args: Vec<Static<'a>>,
        result: &SizedTy,
    ) -> Res<Static<'a>> {
        let env = self.instance_env(at, &args, at.def.span)?;
        self.expand_def(at.def, env, args, result, at.def.span)
    }

    fn expand_def(
        &mut self,
        def: &'a Def,
        mut env: Env<'a>,
        mut args: Vec<Static<'a>>,
        result: &SizedTy,
        span: Span,
    ) -> Res<Static<'a>> {
        let more = args.split_off(args.len().min(def.params.len()));
        for (param, arg) in def.params.iter().zip(&args) {
            self.bind_pattern(param, arg, &mut env)?;
        }
        let value = self.expr(&def.body, &env)?;
        let value = self.apply(&value, more, span)?;
        self.conform(value, result, Sizes::WhereMissing, span)
    }

    fn prepare_def(
        &mut self,
        at: &DefAt<'a>,
        env: &Env<'a>,
        args: &[Static<'a>],
        param_types: &[SizedTy],
        span: Span,
    ) -> Res<Call<'a>> {
        let scheme = &at.def.scheme;
        let mut known = Vec::new();
        let mut is_known = Vec::new();
        let sizes = scheme.sizes.iter().map(|var| match env.get(var) {
            Some(value) => self.size_of(value, span).map(Some),
            None => Ok(None),
        });
        let sizes: Res<Vec<Option<Size>>> = sizes.collect();
        let of_types = scheme.types.iter().filter_map(|(var, _)| env.types.get(var.id));
        let of_types = of_types.flat_map(|ty| ty.sizes.iter().cloned());
        for size in sizes?.into_iter().chain(of_types) {
            is_known.push(size.is_some());
            known.extend(size);
        }
        let mut parts = Abstraction::default();
        let captured = match &at.home {
            Home::Top => EnvTemplate::empty(),
            Home::Local(scope) => {
                let mentioned = self.mentioned_in_defs(scope.defs);
                self.env_template(&scope.env, &mentioned, &mut parts)
            }
        };
        let mut flat = Vec::new();
        let mut templates = Vec::with_capacity(args.len());
        for (arg, ty) in args.iter().zip(param_types) {
            templates.push(match ty.ty.is_first_order() {
                true => {
                    self.flatten(arg, &ty.ty, &mut flat, span)?;
                    None
                }
                false => Some(self.template(arg, &mut parts)),
            });
        }
        let canonical = self.canonical(&known, &flat, &parts.leaves, span)?;
        Ok(Call {
            key: Key {
                source: Source::Def(Code(at.def)),
                types: at.types.iter().map(|ty| ty.ty.clone()).collect(),
                sizes: is_known,
                captured,
                args: templates,
                leaf_types: canonical.types.clone(),
            },
            known,
            flat,
            leaves: parts.leaves,
            canonical,
        })
    }

    fn make_def(
        &mut self,
        at: &DefAt<'a>,
        call: &Call<'a>,
        param_types: &[SizedTy],
        span: Span,
    ) -> Res<Rc<Made>> {
        let def = at.def;
        self.begin(call, def.name.clone(), span)?;
        let made = self.make_def_inside(at, call, param_types, span);
        self.end(call, made)
    }

    /// Notes that a specialisation is under way; refuses those without end.
    fn begin(&mut self, call: &Call<'a>, name: Name, span: Span) -> Res<()> {
        let source = call.key.source;
        let same = self.active.iter().filter(|active| active.source == source);
        let too_large = call.key.types.iter().any(|ty| ty.is_larger_than(MAX_TYPE_NODES));
        if same.count() >= MAX_NESTED || too_large {
            return Err(errors::endless(
                &self.active,
                source,
                &call.key.types,
                &name,
                span,
            ));
        }
        self.active.push(Active {
            source,
            name,
            span,
            types: call.key.types.clone(),
        });
        self.specialised.insert(call.key.clone(), State::UnderWay);
        Ok(())
    }

    fn end(&mut self, call: &Call<'a>, made: Res<Rc<Made>>) -> Res<Rc<Made>> {
        self.active.pop();
        match made {
            Ok(made) => {
                self.specialised
                    .insert(call.key.clone(), State::Made(made.clone()));
                Ok(made)
            }
            Err(error) => {
                self.specialised.remove(&call.key);
                Err(error)
            }
        }
    }

    fn make_def_inside(
        &mut self,
        at: &DefAt<'a>,
        call: &Call<'a>,
        param_types: &[SizedTy],
        span: Span,
    ) -> Res<Rc<Made>> {
        let def = at.def;
        let mut callee = Callee::new();
        for at in 0..call.known.len() {
            let var = self.builder.size_var("n");
            callee.known.push(Size::var(var.clone()));
            callee.context.push(var);
            callee.origins.push(Origin::Known(at));
        }
        self.captured_numbers(call, &mut callee);
        let mut instantiation = Instantiation::new(&callee.leaves);
        let env = self.callee_env(at, call, &callee, &mut instantiation, span)?;
        let flat_values = self.first_order_params(def, &env, call, param_types, &mut callee, span)?;
        self.captured_values(call, &mut callee);
        // Now that all leaves are there the environment can be made whole.
        let mut instantiation = Instantiation::new(&callee.leaves);
        let mut env = self.callee_env(at, call, &callee, &mut instantiation, span)?;
        let args = call.key.args.iter().zip(flat_values);
        let args: Vec<Static<'a>> = args
            .map(|(template, flat)| match template {
                Some(template) => instantiation.value(template),
                None => flat,
            })
            .collect();
        let declared = match def.group {
            Some(_) => Some(self.declare_recursive(at, call, &env, &callee, args.len(), span)?),
            None => None,
        };
        let count = def.params.len();
        self.builder.enter();
        let result = self.def_body(def, &mut env, &args, count, span);
        let closed =
            result.and_then(|(value, ty)| self.close_body(&value, &ty, declared.as_ref(), &callee, span));
        let body = self.builder.leave(Vec::new(), Vec::new());
        let (result, context, values) = closed?;
        let body = Body {
            stmts: body.stmts,
            context,
            values,
        };
        let id = match &declared {
            Some(made) => made.id,
            None => self.declare(def.name.clone(), &callee, result.clone()),
        };
        self.define(id, def.name.clone(), &callee, result, body, def.span);
        Ok(Rc::new(Made {
            id,
            context: callee.origins,
        }))
    }

    fn def_body(
        &mut self,
        def: &'a Def,
        env: &mut Env<'a>,
        args: &[Static<'a>],
        count: usize,
        span: Span,
    ) -> Res<(Static<'a>, SizedTy)> {
        for (param, arg) in def.params.iter().zip(args) {
            self.bind_pattern(param, arg, env)?;
        }
        let more = args.get(count..).unwrap_or_default();
        let ty = self.close(&def.result, env, def.span)?.after(more.len());
        let value = self.expr(&def.body, env)?;
        let value = self.apply(&value, more.to_vec(), span)?;
        Ok((value, ty))
    }

    /// The captured `i64`s come first: types of other parameters may mention them.
    fn captured_numbers(&mut self, call: &Call<'a>, callee: &mut Callee<'a>) {
        for ty in &call.canonical.types {
            callee.leaves.push(match *ty == Type::I64 {
                true => {
                    let param = self.builder.param("k", Type::I64);
                    let value = Static::var(param.var.clone());
                    callee.params.push(param);
                    value
                }
                false => Static::unit(),
            });
        }
        for at in 0..call.canonical.classes.len() {
            callee.context.push(self.builder.size_var("n"));
            callee.origins.push(Origin::Class(at));
        }
    }

    fn captured_values(&mut self, call: &Call<'a>, callee: &mut Callee<'a>) {
        for (at, ty) in call.canonical.types.iter().enumerate() {
            if *ty == Type::I64 {
                continue;
            }
            let ty = ty.substitute(&|var| callee.stand_in(var));
            let param = self.builder.param("captured", ty);
            if let Some(leaf) = callee.leaves.get_mut(at) {
                *leaf = Static::var(param.var.clone());
            }
            callee.params.push(param);
        }
    }

    /// The environment of the body: what it captured around the callee's leaves, and the instance's sizes as the
    /// callee knows them.
    fn callee_env(
        &mut self,
        at: &DefAt<'a>,
        call: &Call<'a>,
        callee: &Callee<'a>,
        instantiation: &mut Instantiation<'_, 'a>,
        span: Span,
    ) -> Res<Env<'a>> {
        let home = match &at.home {
            Home::Top => Home::Top,
            Home::Local(scope) => Home::Local(Rc::new(Scope {
                defs: scope.defs,
                env: instantiation.env(&call.key.captured),
            })),
        };
        let mut env = home_env(&home);
        let mut known = callee.known.iter().cloned();
        let mut flags = call.key.sizes.iter();
        let mut next = || match flags.next() {
            Some(true) => known.next(),
            Some(false) | None => None,
        };
        for var in &at.def.scheme.sizes {
            if let Some(size) = next() {
                env.bind(var, Static::Size(size));
            }
        }
        let mut types = Vec::with_capacity(at.types.len());
        for ((var, _), ty) in at.def.scheme.types.iter().zip(at.types.iter()) {
            let sizes = (0..ty.ty.sized_dims()).map(|_| next()).collect();
            types.push((var.id, SizedTy::new(ty.ty.clone(), sizes)));
        }
        if types.len() != at.def.scheme.types.len() {
            return Err(bug(span, format!("`{}` at too few types", at.def.name)));
        }
        env.bind_types(types);
        Ok(env)
    }

    /// Makes the parameters for first-order arguments. Gives each argument's value; functions are unit for now.
    fn first_order_params(
        &mut self,
        def: &'a Def,
        env: &Env<'a>,
        call: &Call<'a>,
        param_types: &[SizedTy],
        callee: &mut Callee<'a>,
        span: Span,
    ) -> Res<Vec<Static<'a>>> {
        // The binders of parameters that are numbers may be mentioned by the types of later ones.
        let mut env = env.clone();
        let count = param_types.len();
        let extra = self.extra_params(def, &env, count.saturating_sub(def.params.len()))?;
        let mut values = Vec::with_capacity(count);
        for (at, template) in call.key.args.iter().enumerate() {
            if template.is_some() {
                values.push(Static::unit());
                continue;
            }
            let (name, ty) = match def.params.get(at) {
                Some(param) => (
                    crate::matching::name_of(param),
                    self.close(&param.ty, &env, span)?,
                ),
                None => {
                    let extra = extra.get(at - def.params.len()).cloned();
                    (
                        Name::from("x"),
                        extra.ok_or_else(|| bug(span, "a parameter without a type"))?,
                    )
                }
            };
            let mut types = Vec::new();
            let mut solved = Vec::new();
            let missing = &mut |this: &mut Self| {
                let var = this.builder.size_var("n");
                solved.push(var.clone());
                Dim::Size(Size::var(var))
            };
            self.leaf_types(&ty, missing, &mut types, span)?;
            for var in solved {
                callee.context.push(var);
                callee.origins.push(Origin::Solved);
            }
            let mut atoms = Vec::with_capacity(types.len());
            for ty in types {
                let param = self.builder.param(name.clone(), ty);
                atoms.push(Atom::Var(param.var.clone()));
                callee.flat.push(param.var.clone());
                callee.params.push(param);
            }
            let value = Self::unflatten(&ty.ty, &mut atoms.into_iter(), span)?;
            if let Some(param) = def.params.get(at) {
                self.bind_numbers(param, &value, &mut env);
            }
            values.push(value);
        }
        Ok(values)
    }

    /// A recursive function is declared before its body: its result has the sizes the type checker gave it, as far as
    /// they are the parameters', and its own otherwise.
    fn declare_recursive(
        &mut self,
        at: &DefAt<'a>,
        call: &Call<'a>,
        env: &Env<'a>,
        callee: &Callee<'a>,
        arity: usize,
        span: Span,
    ) -> Res<Rc<Made>> {
        let def = at.def;
        let mut env = env.clone();
        let mut flat = callee.flat.iter().map(|var| Atom::Var(var.clone()));
        for (param, template) in def.params.iter().zip(&call.key.args) {
            if template.is_none() {
                let ty = self.close(&param.ty, &env, span)?;
                let value = Self::unflatten(&ty.ty, &mut flat, span)?;
                self.bind_numbers(param, &value, &mut env);
            }
        }
        let more = arity.saturating_sub(def.params.len());
        let ty = self.close(&def.result, &env, def.span)?.after(more);
        let mut context = Vec::new();
        let mut types = Vec::new();
        let missing = &mut |this: &mut Self| {
            let var = this.builder.fresh("n");
            context.push(var.clone());
            Dim::Size(Size::var(var))
        };
        self.leaf_types(&ty, missing, &mut types, span)?;
        let id = self.declare(def.name.clone(), callee, ResultType { context, types });
        let made = Rc::new(Made {
            id,
            context: callee.origins.clone(),
        });
        self.specialised
            .insert(call.key.clone(), State::Made(made.clone()));
        Ok(made)
    }

    fn declare(&mut self, name: Name, callee: &Callee<'a>, result: ResultType) -> FunId {
        let id = self.builder.declare(Signature {
            name,
            context: callee.context.clone(),
            params: callee.params.clone(),
            result,
        });
        self.functions.push(None);
        id
    }

    fn define(
        &mut self,
        id: FunId,
        name: Name,
        callee: &Callee<'a>,
        result: ResultType,
        body: Body,
        span: Span,
    ) {
        if let Some(slot) = self.functions.get_mut(id.0 as usize) {
            *slot = Some(core::Function {
                name,
                context: callee.context.clone(),
                params: callee.params.clone(),
                result,
                body,
                span,
            });
        }
    }

    /// What the body gives, as its declared result wants it or as it is.
    fn close_body(
        &mut self,
        value: &Static<'a>,
        ty: &SizedTy,
        declared: Option<&Rc<Made>>,
        callee: &Callee<'a>,
        span: Span,
    ) -> Res<(ResultType, Vec<Atom>, Vec<Atom>)> {
        let value = self.conform(value.clone(), ty, Sizes::WhereMissing, span)?;
        let mut atoms = Vec::new();
        self.flatten(&value, &ty.ty, &mut atoms, span)?;
        let Some(made) = declared else {
            let outside: HashSet<u32> = callee.sizes().collect();
            let known = |var: &Var| outside.contains(&var.id);
            let (result, context) = self.declare_result(&atoms, &known, span)?;
            return Ok((result, context, atoms));
        };
        let signature = self.builder.signatures.function(made.id);
        let result = signature.map_err(|error| ill_typed(span, &error))?.result.clone();
        let mut solution = HashMap::new();
        let wanted = |var: &Var| result.context.contains(var);
        for (atom, ty) in atoms.iter().zip(&result.types) {
            let found = self.type_of(atom, span)?;
            solve_sizes(ty, &found, &wanted, &mut solution);
        }
        let mut context = Vec::with_capacity(result.context.len());
        for var in &result.context {
            let size = solution.get(var).cloned();
            let size = size.ok_or_else(|| bug(span, "a size of the result that nothing tells"))?;
            let atom = self.size_atom(&size, span)?;
            solution.insert(var.clone(), self.size_of(&Static::Dynamic(atom.clone()), span)?);
            context.push(atom);
        }
        for (atom, ty) in atoms.iter_mut().zip(&result.types) {
            let to = ty.substitute(&|var| solution.get(var).cloned());
            *atom = self.coerce(atom.clone(), &to, span)?;
        }
        Ok((result, context, atoms))
    }

    fn emit_call(&mut self, made: &Made, call: &Call<'a>, result: &Ty, span: Span) -> Res<Static<'a>> {
        let signature = self.builder.signatures.function(made.id);
        let signature = signature.map_err(|error| ill_typed(span, &error))?.clone();
        let mut args = Vec::with_capacity(signature.params.len());
        let (numbers, others): (Vec<_>, Vec<_>) = call
            .leaves
            .iter()
            .zip(&call.canonical.types)
            .partition(|(_, ty)| **ty == Type::I64);
        for (leaf, _) in numbers {
            args.push(self.atom(&crate::join::leaf_value(leaf), span)?);
        }
        args.extend(call.flat.iter().cloned());
        for (leaf, _) in others {
            args.push(self.atom(&crate::join::leaf_value(leaf), span)?);
        }
        let solved = |var: &Var| {
            let at = signature.context.iter().position(|bound| bound == var);
            at.and_then(|at| made.context.get(at)) == Some(&Origin::Solved)
        };
        let mut sizes: HashMap<Var, Size> = HashMap::new();
        for (param, arg) in signature.params.iter().zip(&args) {
            let found = self.type_of(arg, span)?;
            solve_sizes(&param.ty, &found, &solved, &mut sizes);
        }
        let mut context = Vec::with_capacity(signature.context.len());
        for (var, origin) in signature.context.iter().zip(&made.context) {
            let size = match origin {
                Origin::Known(at) => call.known.get(*at).cloned(),
                Origin::Class(at) => call.canonical.classes.get(*at).cloned(),
                Origin::Solved => sizes.get(var).cloned(),
            };
            let size = size.ok_or_else(|| bug(span, format!("nothing tells the size `{var}` of a call")))?;
            let atom = self.size_atom(&size, span)?;
            sizes.insert(var.clone(), self.size_of(&Static::Dynamic(atom.clone()), span)?);
            context.push(atom);
        }
        for (param, arg) in signature.params.iter().zip(&args) {
            if param.ty == Type::I64 {
                let size = self.size_of(&Static::Dynamic(arg.clone()), span)?;
                sizes.insert(param.var.clone(), size);
            }
        }
        for (param, arg) in signature.params.iter().zip(&mut args) {
            let to = param.ty.substitute(&|var| sizes.get(var).cloned());
            *arg = self.coerce(arg.clone(), &to, span)?;
        }
        let exp = Exp::Call {
            function: made.id,
            context,
            args,
        };
        let atoms = self.emit_all(exp, "r", span)?;
        Self::unflatten(result, &mut atoms.into_iter(), span)
    }

    /// A closure with all its arguments: expanded where it is small or gives a function, else lifted to a function.
    pub(crate) fn call_closure(
        &mut self,
        closure: &Closure<'a>,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        if self.weight(closure.body) <= SMALL {
            return self.inline_closure(closure, args);
        }
        let result = self.close(&closure.body.ty, &closure.env, span)?;
        if !result.ty.is_first_order() {
            return self.inline_closure(closure, args);
        }
        let mut parts = Abstraction::default();
        let captured = self.closure_template(closure, &mut parts);
        let templates = args
            .iter()
            .map(|arg| Some(self.template(arg, &mut parts)))
            .collect();
        let source = Source::Closure(Code(closure.body));
        let call = self.prepare_lifted(source, captured, templates, parts.leaves, span)?;
        match self.specialised.get(&call.key) {
            Some(State::Made(made)) => {
                let made = made.clone();
                self.emit_call(&made, &call, &result.ty, span)
            }
            Some(State::UnderWay) => self.inline_closure(closure, args),
            None => {
                let params = closure.params;
                let body = closure.body;
                let made =
                    self.make_lifted(&call, "lambda".into(), &result.ty, span, |this, env, args| {
                        let closure = Closure { params, body, env };
                        this.inline_closure(&closure, args)
                    })?;
                self.emit_call(&made, &call, &result.ty, span)
            }
        }
    }

    /// What is left of a `case` on `value`, as a function of what it needs, so that several places can go on there.
    pub(crate) fn call_rest(
        &mut self,
        case: &'a Expr,
        from: usize,
        value: &Static<'a>,
        env: &Env<'a>,
        inside: impl FnOnce(&mut Self, Env<'a>, Static<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let span = case.span;
        let result = self.close(&case.ty, env, span)?;
        if !result.ty.is_first_order() {
            return inside(self, env.clone(), value.clone());
        }
        let mentioned = self.mentioned_in_expr(case);
        let mut parts = Abstraction::default();
        let captured = self.env_template(env, &mentioned, &mut parts);
        let templates = vec![Some(self.template(value, &mut parts))];
        let source = Source::Rest(Code(case), from);
        let call = self.prepare_lifted(source, captured, templates, parts.leaves, span)?;
        let made = match self.specialised.get(&call.key) {
            Some(State::Made(made)) => made.clone(),
            Some(State::UnderWay) => return inside(self, env.clone(), value.clone()),
            None => self.make_lifted(&call, "rest".into(), &result.ty, span, |this, env, args| {
                let value = args.into_iter().next().unwrap_or_else(Static::unit);
                inside(this, env, value)
            })?,
        };
        self.emit_call(&made, &call, &result.ty, span)
    }

    fn prepare_lifted(
        &mut self,
        source: Source<'a>,
        captured: EnvTemplate<'a>,
        args: Vec<Option<Template<'a>>>,
        leaves: Vec<Leaf>,
        span: Span,
    ) -> Res<Call<'a>> {
        let canonical = self.canonical(&[], &[], &leaves, span)?;
        Ok(Call {
            key: Key {
                source,
                types: Vec::new(),
                sizes: Vec::new(),
                captured,
                args,
                leaf_types: canonical.types.clone(),
            },
            known: Vec::new(),
            flat: Vec::new(),
            leaves,
            canonical,
        })
    }

    fn make_lifted(
        &mut self,
        call: &Call<'a>,
        name: Name,
        result: &Ty,
        span: Span,
        inside: impl FnOnce(&mut Self, Env<'a>, Vec<Static<'a>>) -> Res<Static<'a>>,
    ) -> Res<Rc<Made>> {
        self.begin(call, name.clone(), span)?;
        let mut callee = Callee::new();
        self.captured_numbers(call, &mut callee);
        self.captured_values(call, &mut callee);
        let mut instantiation = Instantiation::new(&callee.leaves);
        let env = instantiation.env(&call.key.captured);
        let args = call.key.args.iter().flatten();
        let args = args.map(|template| instantiation.value(template)).collect();
        let sized = SizedTy::unsized_of(result.clone());
        self.builder.enter();
        let closed =
            inside(self, env, args).and_then(|value| self.close_body(&value, &sized, None, &callee, span));
        let body = self.builder.leave(Vec::new(), Vec::new());
        let made = closed.map(|(result, context, values)| {
            let body = Body {
                stmts: body.stmts,
                context,
                values,
            };
            let id = self.declare(name.clone(), &callee, result.clone());
            self.define(id, name, &callee, result, body, span);
            Rc::new(Made {
                id,
                context: callee.origins,
            })
        });
        self.end(call, made)
    }
}

impl<'a> Callee<'a> {
    fn new() -> Callee<'a> {
        Callee {
            context: Vec::new(),
            origins: Vec::new(),
            known: Vec::new(),
            leaves: Vec::new(),
            params: Vec::new(),
            flat: Vec::new(),
        }
    }

    /// What a stand-in of a canonical type is in the callee.
    fn stand_in(&self, var: &Var) -> Option<Size> {
        match stands_for(var) {
            StandsFor::Known(at) => self.known.get(at).cloned(),
            StandsFor::Leaf(at) => match self.leaves.get(at)? {
                Static::Dynamic(Atom::Var(var)) => Some(Size::var(var.clone())),
                _ => None,
            },
            StandsFor::Param(at) => self.flat.get(at).cloned().map(Size::var),
            StandsFor::Class(at) => {
                let of_class = self.context.iter().zip(&self.origins);
                let mut found = of_class.filter(|(_, origin)| **origin == Origin::Class(at));
                found.next().map(|(var, _)| Size::var(var.clone()))
            }
        }
    }

    /// The numbers of the variables that types of the result may mention.
    fn sizes(&self) -> impl Iterator<Item = u32> {
        let params = self.params.iter().filter(|param| param.ty == Type::I64);
        self.context
            .iter()
            .chain(params.map(|param| &param.var))
            .map(|var| var.id)
    }
}

/// What the body of a definition sees of its surroundings.
fn home_env<'a>(home: &Home<'a>) -> Env<'a> {
    match home {
        Home::Top => Env::new(),
        Home::Local(scope) => {
            let mut env = scope.env.clone();
            for (var, _) in scope.defs {
                env.bind(var, Static::Scope(scope.clone()));
            }
            env
        }
    }
}
