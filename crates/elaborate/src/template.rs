//! Templates: static values with their dynamic parts taken out.
//!
//! Two static values with equal templates run the same code on possibly different values. So a template is what a
//! function is specialised for, its leaves are what the specialised function is passed; branches whose values have equal
//! templates join leaf by leaf; a function chosen at run time is a sum with one constructor per template.
//!
//! Functions often capture the same other functions, and those capture others still, so a template is a graph:
//! [`Template::Again`] stands for a function met before. Written out it could be exponentially large.

use crate::Elaborator;
use crate::statics::{Alternative, Chosen, Closure, DefAt, Env, Function, Home, Scope, Slot, Static};
use crate::ty::{SizedTy, Ty};
use almach_base::Span;
use almach_core as core;
use almach_prim::{Annotation, Prim, ScalarFunction};
use almach_types::tree::{ConstructorForm, Def, Expr, Operator, Pattern, Var};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A piece of the tree by its place in memory: the same code, not just equal code.
#[derive(Debug)]
pub(crate) struct Code<'a, T: ?Sized>(pub &'a T);

impl<T: ?Sized> Clone for Code<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Code<'_, T> {}

impl<T: ?Sized> PartialEq for Code<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<T: ?Sized> Eq for Code<'_, T> {}

impl<T: ?Sized> Hash for Code<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Template<'a> {
    /// By number.
    Leaf(u32),
    Tuple(Vec<Template<'a>>),
    Lambda {
        body: Code<'a, Expr>,
        params: Code<'a, [Pattern]>,
        env: EnvTemplate<'a>,
    },
    Def {
        def: Code<'a, Def>,
        home: Option<Box<Template<'a>>>,
        types: Vec<TypeTemplate>,
        sizes: Vec<Option<u32>>,
    },
    Scope {
        defs: Code<'a, [(Var, Def)]>,
        env: EnvTemplate<'a>,
    },
    Partial(Box<Template<'a>>, Vec<Template<'a>>),
    Prim {
        prim: Prim,
        annotation: Annotation,
        arrays: usize,
        ty: TypeTemplate,
    },
    Scalar(ScalarFunction, TypeTemplate),
    Operator(Operator, TypeTemplate),
    Constructor {
        constructor: u32,
        form: ConstructorForm,
        arity: usize,
        ty: TypeTemplate,
    },
    Foreign {
        function: core::ForeignId,
        arity: usize,
        sizes: Vec<Option<u32>>,
        ty: TypeTemplate,
    },
    Identity,
    Lookup(u32),
    Chosen {
        data: core::DataId,
        tag: u32,
        alternatives: Vec<(Rc<Template<'a>>, Vec<SlotTemplate>)>,
    },
    /// The function or scope met as this number.
    Again(u32),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct EnvTemplate<'a> {
    vars: Vec<(u32, Template<'a>)>,
    types: Vec<(u32, TypeTemplate)>,
}

impl EnvTemplate<'_> {
    pub fn empty() -> Self {
        EnvTemplate {
            vars: Vec::new(),
            types: Vec::new(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TypeTemplate {
    ty: Ty,
    sizes: Vec<Option<u32>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SlotTemplate {
    Outer(u32),
    Packed(core::Type),
}

/// A dynamic part of a static value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Leaf {
    Atom(core::Atom),
    Size(core::Size),
}

/// Takes static values apart. Equal leaves get one number.
#[derive(Default)]
pub(crate) struct Abstraction<'a> {
    pub leaves: Vec<Leaf>,
    numbers: HashMap<u32, u32>,
    met: HashMap<*const (), u32>,
    /// What `met` points to must not be freed meanwhile.
    kept: Vec<Static<'a>>,
}

impl<'a> Abstraction<'a> {
    fn leaf(&mut self, leaf: Leaf) -> u32 {
        let next = self.leaves.len() as u32;
        let known = match &leaf {
            Leaf::Atom(core::Atom::Var(var)) => Some(*self.numbers.entry(var.id).or_insert(next)),
            Leaf::Atom(core::Atom::Const(_)) => None,
            Leaf::Size(size) => match size.as_var() {
                Some(var) => Some(*self.numbers.entry(var.id).or_insert(next)),
                None => self
                    .leaves
                    .iter()
                    .position(|other| *other == leaf)
                    .map(|at| at as u32),
            },
        };
        let number = known.unwrap_or(next);
        if number == next {
            self.leaves.push(leaf);
        }
        number
    }

    fn ty(&mut self, ty: &SizedTy) -> TypeTemplate {
        TypeTemplate {
            ty: ty.ty.clone(),
            sizes: self.sizes(&ty.sizes),
        }
    }

    fn sizes(&mut self, sizes: &[Option<core::Size>]) -> Vec<Option<u32>> {
        let number = |size: &Option<core::Size>| Some(self.leaf(Leaf::Size(size.clone()?)));
        sizes.iter().map(number).collect()
    }

    /// The number under which this was met before; from now on it has been.
    fn again(&mut self, value: &Static<'a>) -> Option<Template<'a>> {
        let address: *const () = match value {
            Static::Function(function) => Rc::as_ptr(function).cast(),
            Static::Scope(scope) => Rc::as_ptr(scope).cast(),
            Static::Dynamic(_) | Static::Size(_) | Static::Tuple(_) => return None,
        };
        let next = self.met.len() as u32;
        let number = *self.met.entry(address).or_insert(next);
        if number < next {
            return Some(Template::Again(number));
        }
        self.kept.push(value.clone());
        None
    }
}

impl<'a> Elaborator<'a> {
    pub(crate) fn template(&mut self, value: &Static<'a>, parts: &mut Abstraction<'a>) -> Template<'a> {
        if let Some(again) = parts.again(value) {
            return again;
        }
        match value {
            Static::Dynamic(atom) => Template::Leaf(parts.leaf(Leaf::Atom(atom.clone()))),
            Static::Size(size) => Template::Leaf(parts.leaf(Leaf::Size(size.clone()))),
            Static::Tuple(values) => {
                Template::Tuple(values.iter().map(|value| self.template(value, parts)).collect())
            }
            Static::Function(function) => self.function_template(function, parts),
            Static::Scope(scope) => Template::Scope {
                defs: Code(scope.defs),
                env: self.scope_template(scope, parts),
            },
        }
    }

    fn function_template(&mut self, function: &Function<'a>, parts: &mut Abstraction<'a>) -> Template<'a> {
        match function {
            Function::Lambda(closure) => Template::Lambda {
                body: Code(closure.body),
                params: Code(closure.params),
                env: self.closure_template(closure, parts),
            },
            Function::Def(def) => self.def_template(def, parts),
            Function::Partial(function, args, _) => Template::Partial(
                Box::new(self.template(&Static::Function(function.clone()), parts)),
                args.iter().map(|arg| self.template(arg, parts)).collect(),
            ),
            Function::Prim {
                prim,
                annotation,
                arrays,
                ty,
            } => Template::Prim {
                prim: *prim,
                annotation: *annotation,
                arrays: *arrays,
                ty: parts.ty(ty),
            },
            Function::Scalar(function, ty) => Template::Scalar(*function, parts.ty(ty)),
            Function::Operator(operator, ty) => Template::Operator(*operator, parts.ty(ty)),
            Function::Constructor {
                constructor,
                form,
                arity,
                ty,
            } => Template::Constructor {
                constructor: *constructor,
                form: *form,
                arity: *arity,
                ty: parts.ty(ty),
            },
            Function::Foreign {
                function,
                arity,
                sizes,
                ty,
            } => Template::Foreign {
                function: *function,
                arity: *arity,
                sizes: parts.sizes(sizes),
                ty: parts.ty(ty),
            },
            Function::Identity => Template::Identity,
            Function::Lookup(table) => Template::Lookup(parts.leaf(Leaf::Atom(table.clone()))),
            Function::Chosen(chosen) => chosen_template(chosen, parts),
        }
    }

    pub(crate) fn closure_template(
        &mut self,
        closure: &Closure<'a>,
        parts: &mut Abstraction<'a>,
    ) -> EnvTemplate<'a> {
        let mentioned = self.mentioned_in_expr(closure.body);
        self.env_template(&closure.env, &mentioned, parts)
    }

    fn scope_template(&mut self, scope: &Scope<'a>, parts: &mut Abstraction<'a>) -> EnvTemplate<'a> {
        let mentioned = self.mentioned_in_defs(scope.defs);
        self.env_template(&scope.env, &mentioned, parts)
    }

    fn def_template(&mut self, def: &DefAt<'a>, parts: &mut Abstraction<'a>) -> Template<'a> {
        let home = match &def.home {
            Home::Top => None,
            Home::Local(scope) => Some(Box::new(self.template(&Static::Scope(scope.clone()), parts))),
        };
        Template::Def {
            def: Code(def.def),
            home,
            types: def.types.iter().map(|ty| parts.ty(ty)).collect(),
            sizes: parts.sizes(&def.sizes),
        }
    }

    /// What code that mentions these variables can see of an environment.
    pub(crate) fn env_template(
        &mut self,
        env: &Env<'a>,
        mentioned: &[u32],
        parts: &mut Abstraction<'a>,
    ) -> EnvTemplate<'a> {
        let mut vars = Vec::new();
        for id in mentioned {
            if let Some(value) = env.vars.get(*id) {
                vars.push((*id, self.template(value, parts)));
            }
        }
        let types = env
            .bound_types
            .iter()
            .filter_map(|id| Some((*id, parts.ty(env.types.get(*id)?))));
        EnvTemplate {
            vars,
            types: types.collect(),
        }
    }
}

fn chosen_template<'a>(chosen: &Chosen<'a>, parts: &mut Abstraction<'a>) -> Template<'a> {
    let tag = parts.leaf(Leaf::Atom(chosen.tag.clone()));
    let mut slot = |slot: &Slot| match slot {
        Slot::Outer(leaf) => SlotTemplate::Outer(parts.leaf(leaf.clone())),
        Slot::Packed(ty) => SlotTemplate::Packed(ty.clone()),
    };
    let alternatives = chosen.alternatives.iter().map(|alternative| {
        let slots = alternative.slots.iter().map(&mut slot).collect();
        (alternative.template.clone(), slots)
    });
    Template::Chosen {
        data: chosen.data,
        alternatives: alternatives.collect(),
        tag,
    }
}

/// Puts static values together again, around other leaves.
pub(crate) struct Instantiation<'l, 'a> {
    leaves: &'l [Static<'a>],
    met: Vec<Option<Static<'a>>>,
}

impl<'l, 'a> Instantiation<'l, 'a> {
    pub fn new(leaves: &'l [Static<'a>]) -> Instantiation<'l, 'a> {
        Instantiation {
            leaves,
            met: Vec::new(),
        }
    }

    fn leaf(&self, number: u32) -> Static<'a> {
        self.leaves
            .get(number as usize)
            .cloned()
            .unwrap_or_else(Static::unit)
    }

    fn atom(&self, number: u32) -> core::Atom {
        match self.leaf(number) {
            Static::Dynamic(atom) => atom,
            _ => core::Atom::Const(almach_value::Scalar::I64(0)),
        }
    }

    pub fn value(&mut self, template: &Template<'a>) -> Static<'a> {
        match template {
            Template::Leaf(number) => self.leaf(*number),
            Template::Tuple(parts) => Static::Tuple(parts.iter().map(|part| self.value(part)).collect()),
            Template::Again(number) => {
                let met = self.met.get(*number as usize).cloned().flatten();
                met.unwrap_or_else(Static::unit)
            }
            _ => {
                let number = self.met.len();
                self.met.push(None);
                let value = match template {
                    Template::Scope { defs, env } => Static::Scope(Rc::new(Scope {
                        defs: defs.0,
                        env: self.env(env),
                    })),
                    _ => Static::function(self.function(template)),
                };
                if let Some(slot) = self.met.get_mut(number) {
                    *slot = Some(value.clone());
                }
                value
            }
        }
    }

    fn function(&mut self, template: &Template<'a>) -> Function<'a> {
        match template {
            Template::Lambda { body, params, env } => Function::Lambda(Closure {
                params: params.0,
                body: body.0,
                env: self.env(env),
            }),
            Template::Def {
                def,
                home,
                types,
                sizes,
            } => Function::Def(DefAt {
                def: def.0,
                home: self.home(home.as_deref()),
                types: types.iter().map(|ty| self.ty(ty)).collect(),
                sizes: self.sizes(sizes),
            }),
            Template::Partial(function, args) => {
                let function = match self.value(function) {
                    Static::Function(function) => function,
                    _ => Rc::new(Function::Identity),
                };
                let args = args.iter().map(|arg| self.value(arg)).collect();
                Function::Partial(function, args, Span::NONE)
            }
            Template::Prim {
                prim,
                annotation,
                arrays,
                ty,
            } => Function::Prim {
                prim: *prim,
                annotation: *annotation,
                arrays: *arrays,
                ty: self.ty(ty),
            },
            Template::Scalar(function, ty) => Function::Scalar(*function, self.ty(ty)),
            Template::Operator(operator, ty) => Function::Operator(*operator, self.ty(ty)),
            Template::Constructor {
                constructor,
                form,
                arity,
                ty,
            } => Function::Constructor {
                constructor: *constructor,
                form: *form,
                arity: *arity,
                ty: self.ty(ty),
            },
            Template::Foreign {
                function,
                arity,
                sizes,
                ty,
            } => Function::Foreign {
                function: *function,
                arity: *arity,
                sizes: self.sizes(sizes),
                ty: self.ty(ty),
            },
            Template::Lookup(table) => Function::Lookup(self.atom(*table)),
            Template::Chosen {
                data,
                tag,
                alternatives,
            } => Function::Chosen(Chosen {
                data: *data,
                tag: self.atom(*tag),
                alternatives: alternatives.iter().map(|it| self.alternative(it)).collect(),
            }),
            // The others are no functions; `value` does not pass them here.
            Template::Identity
            | Template::Leaf(_)
            | Template::Tuple(_)
            | Template::Scope { .. }
            | Template::Again(_) => Function::Identity,
        }
    }

    fn alternative(&self, (template, slots): &(Rc<Template<'a>>, Vec<SlotTemplate>)) -> Alternative<'a> {
        let slot = |slot: &SlotTemplate| match slot {
            SlotTemplate::Outer(number) => Slot::Outer(match self.leaf(*number) {
                Static::Size(size) => Leaf::Size(size),
                _ => Leaf::Atom(self.atom(*number)),
            }),
            SlotTemplate::Packed(ty) => Slot::Packed(ty.clone()),
        };
        Alternative {
            template: template.clone(),
            slots: slots.iter().map(slot).collect(),
        }
    }

    fn home(&mut self, template: Option<&Template<'a>>) -> Home<'a> {
        match template.map(|template| self.value(template)) {
            Some(Static::Scope(scope)) => Home::Local(scope),
            _ => Home::Top,
        }
    }

    pub fn env(&mut self, template: &EnvTemplate<'a>) -> Env<'a> {
        let mut env = Env::new();
        for (id, value) in &template.vars {
            let value = self.value(value);
            env.vars.insert(*id, value);
        }
        let types: Vec<(u32, SizedTy)> = template.types.iter().map(|(id, ty)| (*id, self.ty(ty))).collect();
        env.bind_types(types);
        env
    }

    fn ty(&self, template: &TypeTemplate) -> SizedTy {
        SizedTy {
            ty: template.ty.clone(),
            sizes: self.sizes(&template.sizes),
        }
    }

    fn sizes(&self, sizes: &[Option<u32>]) -> Rc<[Option<core::Size>]> {
        let size = |number: &Option<u32>| match self.leaf((*number)?) {
            Static::Size(size) => Some(size),
            Static::Dynamic(core::Atom::Var(var)) => Some(core::Size::var(var)),
            Static::Dynamic(core::Atom::Const(value)) => {
                let value = i64::try_from(value.as_integer()?).ok()?;
                Some(core::Size::constant(value))
            }
            Static::Tuple(_) | Static::Function(_) | Static::Scope(_) => None,
        };
        sizes.iter().map(size).collect()
    }
}
