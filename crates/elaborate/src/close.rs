//! From types and sizes of the tree to closed ones, and what values tell about sizes.

use crate::errors::bug;
use crate::statics::{Env, Static};
use crate::ty::{Extent, SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_types::tree;
use almach_value::ScalarType;
use std::collections::HashMap;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// A type without its variables.
    pub(crate) fn close(&mut self, ty: &tree::Type, env: &Env<'a>, span: Span) -> Res<SizedTy> {
        let mut sizes = Vec::new();
        let ty = self.close_into(ty, env, &mut sizes, span)?;
        Ok(SizedTy::new(ty, sizes))
    }

    fn close_into(
        &mut self,
        ty: &tree::Type,
        env: &Env<'a>,
        sizes: &mut Vec<Option<core::Size>>,
        span: Span,
    ) -> Res<Ty> {
        let mut list = |this: &mut Self, types: &[tree::Type]| -> Res<Rc<[Ty]>> {
            types
                .iter()
                .map(|ty| this.close_into(ty, env, sizes, span))
                .collect()
        };
        Ok(match ty {
            tree::Type::Scalar(ty) => Ty::Scalar(*ty),
            tree::Type::Vector(width, element) => self.close_vector(width, element, env, span)?,
            tree::Type::Tuple(parts) => Ty::Tuple(list(self, parts)?),
            tree::Type::Record(fields) => {
                let mut closed = Vec::with_capacity(fields.len());
                for name in self.record_order(fields).iter() {
                    if let Some((name, ty)) = fields.iter().find(|(field, _)| field == name) {
                        closed.push((name.clone(), self.close_into(ty, env, sizes, span)?));
                    }
                }
                Ty::Record(closed.into())
            }
            tree::Type::Array(tree::Dim::Size(size), element) => {
                sizes.push(self.eval_size(size, env, span)?);
                Ty::Array(
                    Extent::Sized,
                    Rc::new(self.close_into(element, env, sizes, span)?),
                )
            }
            tree::Type::Array(tree::Dim::Unknown, element) => Ty::Array(
                Extent::Unknown,
                Rc::new(self.close_into(element, env, sizes, span)?),
            ),
            tree::Type::Data(id, args) => Ty::Data(*id, list(self, args)?),
            tree::Type::Node {
                data,
                args,
                reference: _,
            } => Ty::Node(*data, list(self, args)?),
            tree::Type::Reference(_) => Ty::Reference,
            tree::Type::Function(function) => Ty::Function(Rc::new((
                self.close_into(&function.param, env, sizes, span)?,
                self.close_into(&function.result, env, sizes, span)?,
            ))),
            tree::Type::Var(var) => match env.types.get(var.id) {
                Some(bound) => {
                    sizes.extend(bound.sizes.iter().cloned());
                    bound.ty.clone()
                }
                // Nothing decides it, so no value of it is ever used: `length []`.
                None => Ty::unit(),
            },
        })
    }

    fn close_vector(
        &mut self,
        width: &tree::Size,
        element: &tree::Type,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Ty> {
        let width = self
            .eval_size(width, env, span)?
            .and_then(|width| width.as_constant());
        let width = width.and_then(|width| u32::try_from(width).ok());
        match self.close(element, env, span)?.ty {
            // The type of `asVector` itself has the width as a parameter; its result is known once it is applied.
            Ty::Scalar(element) => Ok(Ty::Vector(width.unwrap_or(0), element)),
            other => Err(bug(span, format!("a vector of {other:?}"))),
        }
    }

    pub(crate) fn scalar_type(&mut self, ty: &tree::Type, env: &Env<'a>, span: Span) -> Res<ScalarType> {
        match self.close(ty, env, span)?.ty {
            Ty::Scalar(ty) | Ty::Vector(_, ty) => Ok(ty),
            Ty::Reference => Ok(ScalarType::I64),
            other => Err(bug(span, format!("a scalar of type {other:?}"))),
        }
    }

    /// Records are equal whatever the order of their fields, tuples of Core are not. Each set of names has one order in
    /// Core: the one it is first met in, which is the one the user wrote unless the program has several.
    pub(crate) fn record_order(&mut self, fields: &[(Name, tree::Type)]) -> Rc<[Name]> {
        let mut names: Vec<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        let written = || fields.iter().map(|(name, _)| name.clone()).collect();
        self.record_orders.entry(names).or_insert_with(written).clone()
    }

    /// Where the field at a position of the written type is in Core.
    pub(crate) fn field_position(&mut self, ty: &tree::Type, at: u32, span: Span) -> Res<usize> {
        let tree::Type::Record(fields) = ty else {
            return Ok(at as usize);
        };
        let order = self.record_order(fields);
        let position = fields
            .get(at as usize)
            .and_then(|(name, _)| order.iter().position(|field| field == name));
        position.ok_or_else(|| bug(span, "a record without that field"))
    }

    /// A size of the tree as a size of Core; none where it mentions names that are not bound here.
    pub(crate) fn eval_size(&self, size: &tree::Size, env: &Env<'a>, span: Span) -> Res<Option<core::Size>> {
        let mut values: HashMap<u32, core::Size> = HashMap::new();
        for var in size.occurrences() {
            match env.get(var) {
                Some(value) => values.insert(var.id, self.size_of(value, span)?),
                None => return Ok(None),
            };
        }
        let value = |var: &tree::Var| values.get(&var.id).cloned().unwrap_or_else(core::Size::zero);
        Ok(Some(size.map_vars(&value)))
    }

    /// Binds size names that a type mentions to what a value of that type shows.
    pub(crate) fn learn(
        &self,
        ty: &tree::Type,
        value: &Static<'a>,
        env: &mut Env<'a>,
        span: Span,
    ) -> Res<()> {
        match (ty, value) {
            (tree::Type::Scalar(_), _) => Ok(()),
            (_, Static::Dynamic(atom)) => {
                let found = self.type_of(atom, span)?;
                self.learn_type(ty, &found, env);
                Ok(())
            }
            (tree::Type::Tuple(types), Static::Tuple(parts)) => {
                let mut pairs = types.iter().zip(parts.iter());
                pairs.try_for_each(|(ty, part)| self.learn(ty, part, env, span))
            }
            (tree::Type::Record(fields), Static::Tuple(parts)) => {
                for (at, part) in self.in_core_order(fields).into_iter().zip(parts.iter()) {
                    self.learn(at, part, env, span)?;
                }
                Ok(())
            }
            (tree::Type::Var(var), value) => {
                if let Some(bound) = env.types.get(var.id) {
                    let mut sizes = bound.sizes.to_vec();
                    self.learn_closed(&bound.ty, value, &mut sizes.iter_mut(), span)?;
                    let learnt = SizedTy::new(bound.ty.clone(), sizes);
                    env.types.insert(var.id, learnt);
                }
                Ok(())
            }
            (_, Static::Size(_) | Static::Tuple(_) | Static::Function(_) | Static::Scope(_)) => Ok(()),
        }
    }

    fn in_core_order<'t>(&self, fields: &'t [(Name, tree::Type)]) -> Vec<&'t tree::Type> {
        let mut names: Vec<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        let Some(order) = self.record_orders.get(&names) else {
            return fields.iter().map(|(_, ty)| ty).collect();
        };
        let field = |name: &Name| fields.iter().find(|(field, _)| field == name).map(|(_, ty)| ty);
        order.iter().filter_map(field).collect()
    }

    fn learn_type(&self, ty: &tree::Type, found: &core::Type, env: &mut Env<'a>) {
        match (ty, found) {
            (tree::Type::Tuple(types), core::Type::Tuple(parts)) => {
                for (ty, part) in types.iter().zip(parts) {
                    self.learn_type(ty, part, env);
                }
            }
            (tree::Type::Record(fields), core::Type::Tuple(parts)) => {
                for (ty, part) in self.in_core_order(fields).into_iter().zip(parts) {
                    self.learn_type(ty, part, env);
                }
            }
            (tree::Type::Array(dim, element), core::Type::Array(found_dim, found_element)) => {
                if let (tree::Dim::Size(size), core::Dim::Size(found)) = (dim, found_dim)
                    && let Some(var) = size.as_var()
                    && env.get(var).is_none()
                {
                    env.bind(var, Static::Size(found.clone()));
                }
                self.learn_type(element, found_element, env);
            }
            (tree::Type::Var(var), found) => {
                if let Some(bound) = env.types.get(var.id) {
                    let mut sizes = bound.sizes.to_vec();
                    learn_sizes(&bound.ty, found, &mut sizes.iter_mut());
                    let learnt = SizedTy::new(bound.ty.clone(), sizes);
                    env.types.insert(var.id, learnt);
                }
            }
            _ => {}
        }
    }

    fn learn_closed(
        &self,
        ty: &Ty,
        value: &Static<'a>,
        sizes: &mut std::slice::IterMut<'_, Option<core::Size>>,
        span: Span,
    ) -> Res<()> {
        match (ty.components(), value) {
            (Some(types), Static::Tuple(parts)) => {
                for (ty, part) in types.into_iter().zip(parts.iter()) {
                    self.learn_closed(ty, part, sizes, span)?;
                }
            }
            (_, Static::Dynamic(atom)) => learn_sizes(ty, &self.type_of(atom, span)?, sizes),
            _ => skip(ty, sizes),
        }
        Ok(())
    }
}

fn skip(ty: &Ty, sizes: &mut std::slice::IterMut<'_, Option<core::Size>>) {
    for _ in 0..ty.sized_dims() {
        sizes.next();
    }
}

/// Fills in the sizes that are absent from a value's type.
fn learn_sizes(ty: &Ty, found: &core::Type, sizes: &mut std::slice::IterMut<'_, Option<core::Size>>) {
    match (ty, found) {
        (Ty::Array(extent, element), core::Type::Array(dim, found)) => {
            if *extent == Extent::Sized
                && let Some(slot) = sizes.next()
                && let (None, core::Dim::Size(size)) = (&slot, dim)
            {
                *slot = Some(size.clone());
            }
            learn_sizes(element, found, sizes);
        }
        (_, core::Type::Tuple(parts)) => match ty.components() {
            Some(types) => {
                for (ty, part) in types.into_iter().zip(parts) {
                    learn_sizes(ty, part, sizes);
                }
            }
            None => skip(ty, sizes),
        },
        _ => skip(ty, sizes),
    }
}
