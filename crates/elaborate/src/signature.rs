//! Parameters of Core functions: which sizes a call passes, and how the types of what it passes mention them.

use crate::conform::Place;
use crate::errors::bug;
use crate::template::Leaf;
use crate::ty::{Extent, SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core::{Atom, Dim, Size, Type, Var};
use std::collections::HashMap;

/// Numbers of the stand-ins for variables in canonical types, by what they stand for.
const KNOWN: u32 = 0;
const LEAF: u32 = 1 << 28;
const PARAM: u32 = 2 << 28;
const CLASS: u32 = 3 << 28;

/// What a stand-in stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StandsFor {
    /// A size of the instance.
    Known(usize),
    /// A captured `i64`.
    Leaf(usize),
    /// An `i64` among the flat first-order arguments.
    Param(usize),
    /// A size that only types of captured values mention.
    Class(usize),
}

pub(crate) fn stands_for(var: &Var) -> StandsFor {
    let at = (var.id % LEAF) as usize;
    match var.id / LEAF {
        0 => StandsFor::Known(at),
        1 => StandsFor::Leaf(at),
        2 => StandsFor::Param(at),
        _ => StandsFor::Class(at),
    }
}

/// Types of captured values with their sizes named by what the callee knows them as: equal for two calls exactly when
/// one specialisation serves both.
pub(crate) struct Canonical {
    pub types: Vec<Type>,
    /// Sizes of the caller that need a context variable of their own.
    pub classes: Vec<Size>,
}

impl<'a> Elaborator<'a> {
    pub(crate) fn canonical(
        &mut self,
        known: &[Size],
        params: &[Atom],
        leaves: &[Leaf],
        span: Span,
    ) -> Res<Canonical> {
        let mut names: HashMap<Size, Size> = HashMap::new();
        let stand_in = |kind: u32, at: usize| {
            Size::var(Var {
                id: kind + at as u32,
                name: Name::from("s"),
            })
        };
        for (at, size) in known.iter().enumerate() {
            names.entry(size.clone()).or_insert_with(|| stand_in(KNOWN, at));
        }
        let mut types = Vec::with_capacity(leaves.len());
        for (at, leaf) in leaves.iter().enumerate() {
            let (ty, size) = match leaf {
                Leaf::Size(size) => (Type::I64, Some(size.clone())),
                Leaf::Atom(atom) => (self.type_of(atom, span)?, self.as_size(atom, span)?),
            };
            if let Some(size) = size {
                names.entry(size).or_insert_with(|| stand_in(LEAF, at));
            }
            types.push(ty);
        }
        for (at, atom) in params.iter().enumerate() {
            if let Some(size) = self.as_size(atom, span)? {
                names.entry(size).or_insert_with(|| stand_in(PARAM, at));
            }
        }
        let mut classes = Vec::new();
        for ty in &mut types {
            *ty = ty.map_dims(&mut |dim| match dim {
                Dim::Jagged => Dim::Jagged,
                Dim::Size(size) => Dim::Size(match names.get(size) {
                    Some(name) => name.clone(),
                    None => {
                        let name = stand_in(CLASS, classes.len());
                        classes.push(size.clone());
                        names.insert(size.clone(), name.clone());
                        name
                    }
                }),
            });
        }
        Ok(Canonical { types, classes })
    }

    fn as_size(&self, atom: &Atom, span: Span) -> Res<Option<Size>> {
        match self.type_of(atom, span)? == Type::I64 {
            true => Ok(self.builder.size_of(atom).ok()),
            false => Ok(None),
        }
    }

    /// The type of Core for a closed type. `missing` says what stands where the size is not known.
    pub(crate) fn core_type(
        &mut self,
        ty: &SizedTy,
        place: Place,
        missing: &mut dyn FnMut(&mut Self) -> Dim,
        span: Span,
    ) -> Res<Type> {
        self.core_type_of(&ty.ty, &mut ty.sizes.iter(), place, missing, span)
    }

    fn core_type_of(
        &mut self,
        ty: &Ty,
        sizes: &mut std::slice::Iter<'_, Option<Size>>,
        place: Place,
        missing: &mut dyn FnMut(&mut Self) -> Dim,
        span: Span,
    ) -> Res<Type> {
        Ok(match ty {
            Ty::Array(extent, element) => {
                let dim = match (extent, place) {
                    (Extent::Sized, _) => match sizes.next().cloned().flatten() {
                        Some(size) => Dim::Size(size),
                        None => missing(self),
                    },
                    (Extent::Unknown, Place::Outermost) => missing(self),
                    (Extent::Unknown, Place::BelowArray) => Dim::Jagged,
                };
                let element = self.core_type_of(element, sizes, Place::BelowArray, missing, span)?;
                Type::Array(dim, Box::new(element))
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts = ty.components().unwrap_or_default().into_iter();
                let parts = parts.map(|part| self.core_type_of(part, sizes, place, missing, span));
                Type::Tuple(parts.collect::<Res<Vec<Type>>>()?)
            }
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Data(..) | Ty::Node(..) | Ty::Reference => {
                for _ in 0..ty.sized_dims() {
                    sizes.next();
                }
                self.simple_type(ty, span)?
            }
            Ty::Function(_) => return Err(bug(span, "a function where a value must be stored")),
        })
    }

    /// The types of the atoms that [`Elaborator::flatten`] gives.
    pub(crate) fn leaf_types(
        &mut self,
        ty: &SizedTy,
        missing: &mut dyn FnMut(&mut Self) -> Dim,
        into: &mut Vec<Type>,
        span: Span,
    ) -> Res<()> {
        match ty.components() {
            Some(parts) => parts
                .iter()
                .try_for_each(|part| self.leaf_types(part, missing, into, span)),
            None => {
                into.push(self.core_type(ty, Place::Outermost, missing, span)?);
                Ok(())
            }
        }
    }
}

/// Finds what variables must be for `pattern` to be `found`, where they stand alone.
pub(crate) fn solve_sizes(
    pattern: &Type,
    found: &Type,
    wanted: &dyn Fn(&Var) -> bool,
    solution: &mut HashMap<Var, Size>,
) {
    match (pattern, found) {
        (Type::Tuple(patterns), Type::Tuple(parts)) => {
            for (pattern, part) in patterns.iter().zip(parts) {
                solve_sizes(pattern, part, wanted, solution);
            }
        }
        (Type::Array(Dim::Size(size), pattern), Type::Array(dim, found)) => {
            if let (Some(var), Dim::Size(given)) = (size.as_var(), dim)
                && wanted(var)
            {
                solution.entry(var.clone()).or_insert_with(|| given.clone());
            }
            solve_sizes(pattern, found, wanted, solution);
        }
        (Type::Array(Dim::Jagged, pattern), Type::Array(_, found)) => {
            solve_sizes(pattern, found, wanted, solution);
        }
        _ => {}
    }
}
