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
use crate::signature::{Canonical, solve_sizes};
use crate::statics::{DefAt, Env, Home, Static};
use crate::template::{Abstraction, Code, EnvTemplate, Leaf, Template};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res, errors};
use almach_base::{Name, Span};
use almach_core::{Atom, Exp, FunId, Size, Type, Var};
use almach_types::tree::{Def, DefKind, Expr};
use std::collections::HashMap;
use std::rc::Rc;

/// Bodies up to this many nodes are expanded in place where that is possible.
pub(crate) const SMALL: usize = 40;
/// So many specialisations of one definition inside each other do not come to an end.
const MAX_NESTED: usize = 48;
/// Nor do types of this size.
pub(crate) const MAX_TYPE_NODES: usize = 400;

/// What a Core function was made for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key<'a> {
    pub source: Source<'a>,
    pub types: Vec<Ty>,
    /// Which sizes of the instance are known.
    pub sizes: Vec<bool>,
    pub captured: EnvTemplate<'a>,
    /// None for what is passed as it is.
    pub args: Vec<Option<Template<'a>>>,
    /// Of captured values.
    pub leaf_types: Vec<Type>,
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
    pub id: FunId,
    /// Where each size of the context comes from.
    pub context: Vec<Origin>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
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
pub(crate) struct Call<'a> {
    pub key: Key<'a>,
    pub known: Vec<Size>,
    /// The flat first-order arguments.
    pub flat: Vec<Atom>,
    pub leaves: Vec<Leaf>,
    pub canonical: Canonical,
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
    pub(crate) fn extra_params(&mut self, def: &'a Def, env: &Env<'a>, count: usize) -> Res<Vec<SizedTy>> {
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
    pub(crate) fn begin(&mut self, call: &Call<'a>, name: Name, span: Span) -> Res<()> {
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

    pub(crate) fn end(&mut self, call: &Call<'a>, made: Res<Rc<Made>>) -> Res<Rc<Made>> {
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

    pub(crate) fn emit_call(
        &mut self,
        made: &Made,
        call: &Call<'a>,
        result: &Ty,
        span: Span,
    ) -> Res<Static<'a>> {
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
}

/// What the body of a definition sees of its surroundings.
pub(crate) fn home_env<'a>(home: &Home<'a>) -> Env<'a> {
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
