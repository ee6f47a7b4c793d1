//! Static values: what elaboration knows about a value. Functions are always static; tuples and records are taken
//! apart; everything else is an atom of the Core program being built.

use crate::map::Map;
use crate::template::{Leaf, Template};
use crate::ty::SizedTy;
use almach_base::Span;
use almach_core as core;
use almach_prim::{Annotation, Prim, ScalarFunction};
use almach_types::tree::{ConstructorForm, Def, Expr, Operator, Pattern, Var};
use std::rc::Rc;

/// What tree variables and type variables stand for, by their numbers.
#[derive(Clone)]
pub(crate) struct Env<'a> {
    pub vars: Map<Static<'a>>,
    pub types: Map<SizedTy>,
    /// The numbers in `types`.
    pub bound_types: Rc<[u32]>,
}

impl<'a> Env<'a> {
    pub fn new() -> Env<'a> {
        Env {
            vars: Map::new(),
            types: Map::new(),
            bound_types: Rc::from([]),
        }
    }

    pub fn get(&self, var: &Var) -> Option<&Static<'a>> {
        self.vars.get(var.id)
    }

    pub fn bind(&mut self, var: &Var, value: Static<'a>) {
        self.vars.insert(var.id, value);
    }

    pub fn bind_types(&mut self, types: impl IntoIterator<Item = (u32, SizedTy)>) {
        let mut bound: Vec<u32> = self.bound_types.to_vec();
        for (id, ty) in types {
            self.types.insert(id, ty);
            if !bound.contains(&id) {
                bound.push(id);
            }
        }
        self.bound_types = bound.into();
    }
}

#[derive(Clone)]
pub(crate) enum Static<'a> {
    Dynamic(core::Atom),
    /// An `i64` that need not have been computed yet.
    Size(core::Size),
    /// A tuple or record.
    Tuple(Rc<[Static<'a>]>),
    Function(Rc<Function<'a>>),
    /// What the name of a local function stands for; a use of it says at which types.
    Scope(Rc<Scope<'a>>),
}

/// Local functions that see each other, and what they see besides.
pub(crate) struct Scope<'a> {
    pub defs: &'a [(Var, Def)],
    pub env: Env<'a>,
}

pub(crate) enum Function<'a> {
    Lambda(Closure<'a>),
    Def(DefAt<'a>),
    /// Some of the arguments, and where they were given.
    Partial(Rc<Function<'a>>, Vec<Static<'a>>, Span),
    Prim {
        prim: Prim,
        annotation: Annotation,
        arrays: usize,
        ty: SizedTy,
    },
    Scalar(ScalarFunction, SizedTy),
    Operator(Operator, SizedTy),
    Constructor {
        constructor: u32,
        form: ConstructorForm,
        arity: usize,
        ty: SizedTy,
    },
    Foreign {
        function: core::ForeignId,
        arity: usize,
        /// For sizes no argument shows.
        sizes: Rc<[Option<core::Size>]>,
        ty: SizedTy,
    },
    /// The `f` of `foreach`: a reference to the old table is the same position in the new one.
    Identity,
    /// The `d` of `foreach`: looks a reference up.
    Lookup(core::Atom),
    Chosen(Chosen<'a>),
}

#[derive(Clone)]
pub(crate) struct Closure<'a> {
    pub params: &'a [Pattern],
    pub body: &'a Expr,
    pub env: Env<'a>,
}

/// A definition at an instance.
#[derive(Clone)]
pub(crate) struct DefAt<'a> {
    pub def: &'a Def,
    pub home: Home<'a>,
    /// In the order of its scheme.
    pub types: Rc<[SizedTy]>,
    pub sizes: Rc<[Option<core::Size>]>,
}

#[derive(Clone)]
pub(crate) enum Home<'a> {
    Top,
    Local(Rc<Scope<'a>>),
}

/// A function chosen at run time: a value of a generated sum says which, and holds what it captured (Reynolds'
/// defunctionalisation, for these functions only).
#[derive(Clone)]
pub(crate) struct Chosen<'a> {
    pub data: core::DataId,
    pub tag: core::Atom,
    pub alternatives: Rc<[Alternative<'a>]>,
}

/// One function it may be: the code, and where the captured values are.
#[derive(Clone, PartialEq)]
pub(crate) struct Alternative<'a> {
    pub template: Rc<Template<'a>>,
    pub slots: Rc<[Slot]>,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Slot {
    /// In scope wherever the choice is, so not held by the sum.
    Outer(Leaf),
    /// A field of the sum, after the fields of the sizes its type has.
    Packed(core::Type),
}

impl<'a> Static<'a> {
    pub fn unit() -> Static<'a> {
        Static::Tuple(Rc::from([]))
    }

    pub fn function(function: Function<'a>) -> Static<'a> {
        Static::Function(Rc::new(function))
    }

    pub fn var(var: core::Var) -> Static<'a> {
        Static::Dynamic(core::Atom::Var(var))
    }
}
