//! Bringing values to the shape that the type checker gave them: regular or jagged, and of the sizes that a
//! coercion asks for.

use crate::emit::{Moment, i64_atom};
use crate::errors::bug;
use crate::statics::Static;
use crate::ty::{Extent, SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Atom, Body, Dim, Exp, ResultType, Size, Type};
use almach_prim::{Annotation, Prim};
use almach_value::BinOp;
use std::rc::Rc;

/// Which sizes of the wanted type count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Only where the value is jagged and the type is not.
    WhereMissing,
    /// Also where only what was bound since then tells the value's size.
    WhereLocal(Moment),
    /// All that are known.
    Checked,
}

impl Sizes {
    /// Whether a size is to become the one the type says.
    fn replaces(self, own: &Size) -> bool {
        match self {
            Sizes::WhereMissing => false,
            Sizes::WhereLocal(since) => own.occurrences().any(|var| !since.is_after(var)),
            Sizes::Checked => true,
        }
    }
}

/// How to get from an array to the rows of one of its dimensions.
#[derive(Clone, Copy)]
enum Step {
    Index,
    Project(u32),
}

impl<'a> Elaborator<'a> {
    /// The value, coerced where its shape is not the type's.
    pub(crate) fn conform(
        &mut self,
        value: Static<'a>,
        ty: &SizedTy,
        mode: Sizes,
        span: Span,
    ) -> Res<Static<'a>> {
        if !has_dims(&ty.ty) {
            return Ok(value);
        }
        match (&value, ty.components()) {
            (Static::Tuple(parts), Some(types)) => {
                let parts = parts.iter().zip(&types);
                let parts: Res<Rc<[Static<'a>]>> = parts
                    .map(|(part, ty)| self.conform(part.clone(), ty, mode, span))
                    .collect();
                Ok(Static::Tuple(parts?))
            }
            (Static::Dynamic(atom), Some(types)) => {
                let found = self.type_of(atom, span)?;
                if wanted(&found, ty, mode, Place::Outermost).as_ref() == Some(&found) {
                    return Ok(value);
                }
                let parts = self.components(&value, span)?;
                let parts = parts.iter().zip(&types);
                let parts: Res<Rc<[Static<'a>]>> = parts
                    .map(|(part, ty)| self.conform(part.clone(), ty, mode, span))
                    .collect();
                Ok(Static::Tuple(parts?))
            }
            (Static::Dynamic(atom), None) => {
                let atom = self.conform_atom(atom.clone(), ty, mode, span)?;
                Ok(Static::Dynamic(atom))
            }
            (Static::Tuple(_) | Static::Size(_) | Static::Function(_) | Static::Scope(_), _) => Ok(value),
        }
    }

    fn conform_atom(&mut self, atom: Atom, ty: &SizedTy, mode: Sizes, span: Span) -> Res<Atom> {
        let found = self.type_of(&atom, span)?;
        let to = match wanted(&found, ty, mode, Place::Outermost) {
            Some(to) => to,
            None => {
                let sizes = self.measured(&atom, &found, ty, span)?;
                let measured = SizedTy {
                    ty: ty.ty.clone(),
                    sizes,
                };
                wanted(&found, &measured, mode, Place::Outermost)
                    .ok_or_else(|| bug(span, "rows whose size cannot be told"))?
            }
        };
        self.coerce(atom, &to, span)
    }

    /// The sizes of a type that is regular where the value is jagged, the absent ones as its first rows have them.
    fn measured(&mut self, atom: &Atom, found: &Type, ty: &SizedTy, span: Span) -> Res<Rc<[Option<Size>]>> {
        let mut missing = Vec::new();
        find_missing(found, &ty.ty, &mut Vec::new(), &mut 0, &ty.sizes, &mut missing);
        let mut sizes = ty.sizes.to_vec();
        for (at, path) in missing {
            let extent = self.first_extent(atom.clone(), &path, span)?;
            let size = self.size_of(&Static::Dynamic(extent), span)?;
            if let Some(slot) = sizes.get_mut(at) {
                *slot = Some(size);
            }
        }
        Ok(sizes.into())
    }

    /// The length of the first row down a path; 0 where there is none.
    fn first_extent(&mut self, atom: Atom, path: &[Step], span: Span) -> Res<Atom> {
        match path.split_first() {
            None => self.emit_op(Prim::Length, Annotation::NONE, vec![atom], span),
            Some((Step::Project(at), rest)) => {
                let part = self.emit(Exp::Project(atom, *at), "t", span)?;
                self.first_extent(part, rest, span)
            }
            Some((Step::Index, rest)) => {
                let count = self.emit_op(Prim::Length, Annotation::NONE, vec![atom.clone()], span)?;
                let condition = self.emit_binary(BinOp::Gt, count, i64_atom(0), span)?;
                let (stmts, extent) = self.in_body(|this| {
                    let first = Exp::Index {
                        array: atom,
                        indices: vec![i64_atom(0)],
                    };
                    let row = this.emit(first, "row", span)?;
                    this.first_extent(row, rest, span)
                })?;
                let body = |stmts, value| Body {
                    stmts,
                    context: Vec::new(),
                    values: vec![value],
                };
                let exp = Exp::If {
                    condition,
                    then: body(stmts, extent),
                    otherwise: body(Vec::new(), i64_atom(0)),
                    result: ResultType::one(Type::I64),
                };
                self.emit(exp, "m", span)
            }
        }
    }
}

pub(crate) fn has_dims(ty: &Ty) -> bool {
    match ty {
        Ty::Scalar(_) | Ty::Vector(..) | Ty::Data(..) | Ty::Node(..) | Ty::Reference | Ty::Function(_) => {
            false
        }
        Ty::Tuple(parts) => parts.iter().any(has_dims),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| has_dims(ty)),
        Ty::Array(..) => true,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `?` is an unknown size here, and the value shows which.
    Outermost,
    /// `?` is jagged here.
    BelowArray,
}

/// The type of Core that a value of type `found` should have; none where a size it needs is absent.
pub(crate) fn wanted(found: &Type, ty: &SizedTy, mode: Sizes, place: Place) -> Option<Type> {
    wanted_type(found, &ty.ty, &mut ty.sizes.iter(), mode, place)
}

fn wanted_type(
    found: &Type,
    ty: &Ty,
    sizes: &mut std::slice::Iter<'_, Option<Size>>,
    mode: Sizes,
    place: Place,
) -> Option<Type> {
    match (found, ty) {
        (Type::Array(dim, found), Ty::Array(extent, element)) => {
            let given = match extent {
                Extent::Sized => sizes.next().cloned().flatten(),
                Extent::Unknown => None,
            };
            let dim = match (dim, extent, given) {
                (Dim::Size(own), Extent::Sized, Some(size)) if mode.replaces(own) => Dim::Size(size),
                (Dim::Size(size), Extent::Sized, _) => Dim::Size(size.clone()),
                (Dim::Jagged, Extent::Sized, Some(size)) => Dim::Size(size),
                (Dim::Jagged, Extent::Sized, None) => return None,
                (Dim::Size(size), Extent::Unknown, _) if place == Place::Outermost => Dim::Size(size.clone()),
                (_, Extent::Unknown, _) => Dim::Jagged,
            };
            let element = wanted_type(found, element, sizes, mode, Place::BelowArray)?;
            Some(Type::Array(dim, Box::new(element)))
        }
        (Type::Tuple(parts), _) => {
            let types = ty.components()?;
            let parts = parts.iter().zip(types);
            let parts = parts.map(|(part, ty)| wanted_type(part, ty, sizes, mode, place));
            Some(Type::Tuple(parts.collect::<Option<_>>()?))
        }
        _ => {
            for _ in 0..ty.sized_dims() {
                sizes.next();
            }
            Some(found.clone())
        }
    }
}

/// Regular dimensions without a size whose rows are jagged: their number, and how to get to the rows.
fn find_missing(
    found: &Type,
    ty: &Ty,
    path: &mut Vec<Step>,
    number: &mut usize,
    sizes: &[Option<Size>],
    into: &mut Vec<(usize, Vec<Step>)>,
) {
    match (found, ty) {
        (Type::Array(dim, found), Ty::Array(extent, element)) => {
            if *extent == Extent::Sized {
                let given = sizes.get(*number).is_some_and(Option::is_some);
                if *dim == Dim::Jagged && !given {
                    into.push((*number, path.clone()));
                }
                *number += 1;
            }
            path.push(Step::Index);
            find_missing(found, element, path, number, sizes, into);
            path.pop();
        }
        (Type::Tuple(parts), _) => {
            for (at, (part, ty)) in parts.iter().zip(ty.components().unwrap_or_default()).enumerate() {
                path.push(Step::Project(at as u32));
                find_missing(part, ty, path, number, sizes, into);
                path.pop();
            }
        }
        _ => *number += ty.sized_dims(),
    }
}
