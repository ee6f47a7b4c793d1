//! Statements: thin layers over Core's builder that know static values and report broken rules as compiler bugs.

use crate::errors::{bug, ill_typed};
use crate::statics::Static;
use crate::ty::Ty;
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core as core;
use almach_core::{Atom, Dim, Exp, Op, Size, Type};
use almach_prim::{Annotation, Prim};
use almach_value::{BinOp, Scalar};
use std::rc::Rc;

pub(crate) fn i64_atom(value: i64) -> Atom {
    Atom::Const(Scalar::I64(value))
}

/// A moment: variables with a number below it were bound before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u32);

impl Moment {
    pub fn is_after(self, var: &core::Var) -> bool {
        var.id < self.0
    }
}

impl<'a> Elaborator<'a> {
    pub(crate) fn moment(&self) -> Moment {
        Moment(self.builder.supply.next_var())
    }

    pub(crate) fn type_of(&self, atom: &Atom, span: Span) -> Res<Type> {
        self.builder
            .type_of(atom)
            .map_err(|error| ill_typed(span, &error))
    }

    /// Binds the one value of an expression.
    pub(crate) fn emit(&mut self, exp: Exp, name: &str, span: Span) -> Res<Atom> {
        self.builder
            .bind(exp, name, span)
            .map_err(|error| ill_typed(span, &error))
    }

    pub(crate) fn emit_value(&mut self, exp: Exp, name: &str, span: Span) -> Res<Static<'a>> {
        self.emit(exp, name, span).map(Static::Dynamic)
    }

    /// Binds everything an expression gives.
    pub(crate) fn emit_all(&mut self, exp: Exp, name: &str, span: Span) -> Res<Vec<Atom>> {
        let pattern = self
            .builder
            .bind_all(exp, &[name.into()], span)
            .map_err(|error| ill_typed(span, &error))?;
        Ok(pattern
            .values
            .into_iter()
            .map(|param| Atom::Var(param.var))
            .collect())
    }

    pub(crate) fn emit_op(
        &mut self,
        prim: Prim,
        annotation: Annotation,
        args: Vec<Atom>,
        span: Span,
    ) -> Res<Atom> {
        let op = Op {
            prim,
            annotation,
            functions: Vec::new(),
            args,
        };
        self.emit(Exp::Op(op), prim.name(), span)
    }

    pub(crate) fn emit_binary(&mut self, op: BinOp, left: Atom, right: Atom, span: Span) -> Res<Atom> {
        self.emit(Exp::Binary(op, left, right), "t", span)
    }

    /// Statements of a body of its own.
    pub(crate) fn in_body<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Res<T>,
    ) -> Res<(Vec<core::Stmt>, T)> {
        self.builder.enter();
        let result = inside(self);
        let body = self.builder.leave(Vec::new(), Vec::new());
        Ok((body.stmts, result?))
    }

    /// Continues a body: `stmts` come first.
    pub(crate) fn resume<T>(
        &mut self,
        stmts: &mut Vec<core::Stmt>,
        inside: impl FnOnce(&mut Self) -> Res<T>,
    ) -> Res<T> {
        let (more, result) = self.in_body(inside)?;
        stmts.extend(more);
        Ok(result)
    }

    /// An `i64` value as a size.
    pub(crate) fn size_of(&self, value: &Static<'a>, span: Span) -> Res<Size> {
        match value {
            Static::Size(size) => Ok(size.clone()),
            Static::Dynamic(atom) => self
                .builder
                .size_of(atom)
                .map_err(|error| ill_typed(span, &error)),
            Static::Tuple(_) | Static::Function(_) | Static::Scope(_) => {
                Err(bug(span, "a size is not a number"))
            }
        }
    }

    pub(crate) fn size_atom(&mut self, size: &Size, span: Span) -> Res<Atom> {
        if let Some(value) = size.as_constant() {
            return Ok(i64_atom(value));
        }
        self.builder
            .size_atom(size, span)
            .map_err(|error| ill_typed(span, &error))
    }

    /// The value as one atom: tuples are built.
    pub(crate) fn atom(&mut self, value: &Static<'a>, span: Span) -> Res<Atom> {
        match value {
            Static::Dynamic(atom) => Ok(atom.clone()),
            Static::Size(size) => self.size_atom(size, span),
            Static::Tuple(parts) => {
                let parts: Res<Vec<Atom>> = parts.iter().map(|part| self.atom(part, span)).collect();
                self.emit(Exp::Tuple(parts?), "t", span)
            }
            Static::Function(_) | Static::Scope(_) => {
                Err(bug(span, "a function where a value must be stored"))
            }
        }
    }

    /// The components of a tuple.
    pub(crate) fn components(&mut self, value: &Static<'a>, span: Span) -> Res<Rc<[Static<'a>]>> {
        match value {
            Static::Tuple(parts) => Ok(parts.clone()),
            Static::Dynamic(atom) => match self.type_of(atom, span)? {
                Type::Tuple(types) => (0..types.len() as u32)
                    .map(|at| self.emit_value(Exp::Project(atom.clone(), at), "t", span))
                    .collect(),
                other => Err(bug(span, format!("a tuple has type {other:?}"))),
            },
            Static::Size(_) | Static::Function(_) | Static::Scope(_) => Err(bug(span, "not a tuple")),
        }
    }

    pub(crate) fn component(&mut self, value: &Static<'a>, at: usize, span: Span) -> Res<Static<'a>> {
        match value {
            Static::Dynamic(atom) => self.emit_value(Exp::Project(atom.clone(), at as u32), "t", span),
            Static::Tuple(parts) => {
                let part = parts.get(at).cloned();
                part.ok_or_else(|| bug(span, format!("a tuple without component {at}")))
            }
            Static::Size(_) | Static::Function(_) | Static::Scope(_) => Err(bug(span, "not a tuple")),
        }
    }

    /// A first-order value as atoms, tuples taken apart completely.
    pub(crate) fn flatten(
        &mut self,
        value: &Static<'a>,
        ty: &Ty,
        into: &mut Vec<Atom>,
        span: Span,
    ) -> Res<()> {
        match ty.components() {
            Some(types) => {
                let parts = self.components(value, span)?;
                for (part, ty) in parts.iter().zip(types) {
                    self.flatten(part, ty, into, span)?;
                }
            }
            None => {
                let atom = self.atom(value, span)?;
                into.push(atom);
            }
        }
        Ok(())
    }

    /// The inverse of [`Elaborator::flatten`].
    pub(crate) fn unflatten(ty: &Ty, atoms: &mut impl Iterator<Item = Atom>, span: Span) -> Res<Static<'a>> {
        match ty.components() {
            Some(types) => {
                let parts: Res<Rc<[Static<'a>]>> = types
                    .into_iter()
                    .map(|ty| Self::unflatten(ty, atoms, span))
                    .collect();
                Ok(Static::Tuple(parts?))
            }
            None => {
                let atom = atoms.next().ok_or_else(|| bug(span, "too few values"))?;
                Ok(Static::Dynamic(atom))
            }
        }
    }

    /// The value at another type; nothing where the types are equal already.
    pub(crate) fn coerce(&mut self, atom: Atom, to: &Type, span: Span) -> Res<Atom> {
        let from = self.type_of(&atom, span)?;
        if from == *to || from == self.builder.env.normalise(to) {
            return Ok(atom);
        }
        let exp = Exp::Coerce {
            value: atom,
            to: to.clone(),
        };
        self.emit(exp, "x", span)
    }

    /// The size and element type of an array.
    pub(crate) fn array_type(&self, atom: &Atom, span: Span) -> Res<(Size, Type)> {
        match self.type_of(atom, span)? {
            Type::Array(Dim::Size(size), element) => Ok((size, *element)),
            other => Err(bug(span, format!("an array has type {other:?}"))),
        }
    }
}
