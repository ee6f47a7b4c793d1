//! The Core functions of specialisations: parameters, result, body.

use crate::conform::Sizes;
use crate::errors::{bug, ill_typed};
use crate::signature::{StandsFor, solve_sizes, stands_for};
use crate::specialise::{Call, Made, Origin, State, home_env};
use crate::statics::{DefAt, Env, Home, Scope, Static};
use crate::template::Instantiation;
use crate::ty::SizedTy;
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::typing::Signature;
use almach_core::{Atom, Body, Dim, FunId, Param, ResultType, Size, Type, Var};
use almach_types::tree::Def;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The callee's side of a call: what the key's parts have become.
pub(crate) struct Callee<'a> {
    pub context: Vec<Var>,
    pub origins: Vec<Origin>,
    pub known: Vec<Size>,
    pub leaves: Vec<Static<'a>>,
    pub params: Vec<Param>,
    pub flat: Vec<Var>,
}

impl<'a> Elaborator<'a> {
    pub(crate) fn make_def_inside(
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
    pub(crate) fn captured_numbers(&mut self, call: &Call<'a>, callee: &mut Callee<'a>) {
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

    pub(crate) fn captured_values(&mut self, call: &Call<'a>, callee: &mut Callee<'a>) {
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

    pub(crate) fn declare(&mut self, name: Name, callee: &Callee<'a>, result: ResultType) -> FunId {
        let id = self.builder.declare(Signature {
            name,
            context: callee.context.clone(),
            params: callee.params.clone(),
            result,
        });
        self.functions.push(None);
        id
    }

    pub(crate) fn define(
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
    pub(crate) fn close_body(
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
}

impl<'a> Callee<'a> {
    pub fn new() -> Callee<'a> {
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
