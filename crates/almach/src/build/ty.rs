//! Types.

use super::{NOWHERE, path, span};
use almach_base::Name;
use almach_syntax::ast::{Dim, SizeExpr, SizeKind, TypeExpr, TypeKind};
use almach_value::ScalarType;
use std::ops::Range;

/// A type of the language.
#[derive(Clone, PartialEq, Debug)]
pub struct Ty(pub(super) TypeExpr);

macro_rules! scalars {
    ($($name:ident => $variant:ident),*) => {$(
        pub const $name: Ty = Ty::scalar(ScalarType::$variant);
    )*};
}

impl Ty {
    scalars!(I8 => I8, I16 => I16, I32 => I32, I64 => I64, U8 => U8, U16 => U16, U32 => U32, U64 => U64);
    scalars!(F32 => F32, F64 => F64, BOOL => Bool);

    pub const fn scalar(ty: ScalarType) -> Ty {
        Ty(TypeExpr {
            kind: TypeKind::Scalar(ty),
            span: NOWHERE,
        })
    }

    fn of(kind: TypeKind) -> Ty {
        Ty(TypeExpr { kind, span: NOWHERE })
    }

    /// `[]t`: the size is left to inference.
    pub fn array(element: Ty) -> Ty {
        Ty::of(TypeKind::Array(Dim::Inferred(NOWHERE), Box::new(element.0)))
    }

    /// `[n]t`. The definition whose parameters use it binds `n`.
    pub fn sized(size: &str, element: Ty) -> Ty {
        let size = SizeExpr {
            kind: SizeKind::Var(Name::from(size)),
            span: NOWHERE,
        };
        Ty::of(TypeKind::Array(Dim::Size(size), Box::new(element.0)))
    }

    /// `[4]t`.
    pub fn fixed(size: u32, element: Ty) -> Ty {
        let size = SizeExpr {
            kind: SizeKind::Literal(i64::from(size)),
            span: NOWHERE,
        };
        Ty::of(TypeKind::Array(Dim::Size(size), Box::new(element.0)))
    }

    /// `[?]t`: inside an array, rows of their own lengths; as a result, a length that is not known.
    pub fn jagged(element: Ty) -> Ty {
        Ty::of(TypeKind::Array(Dim::Unknown(NOWHERE), Box::new(element.0)))
    }

    /// `(t, u)`; `()` of nothing.
    pub fn tuple(components: impl IntoIterator<Item = Ty>) -> Ty {
        let components = components.into_iter().map(|component| component.0);
        Ty::of(TypeKind::Tuple(components.collect()))
    }

    /// `t -> u`.
    pub fn function(param: Ty, result: Ty) -> Ty {
        Ty::of(TypeKind::Function {
            param_name: None,
            param: Box::new(param.0),
            result: Box::new(result.0),
        })
    }

    /// `Tree f32`: a data type with its arguments.
    pub fn named(name: &str, args: impl IntoIterator<Item = Ty>) -> Ty {
        let args = args.into_iter().map(|arg| arg.0);
        Ty::of(TypeKind::Named(path(name), args.collect()))
    }

    /// `'a`, given without the quote.
    pub fn var(name: &str) -> Ty {
        Ty::of(TypeKind::Var(Name::from(name)))
    }

    /// Where it comes from.
    #[must_use]
    pub fn at(mut self, place: Range<usize>) -> Ty {
        self.0.span = span(place);
        self
    }

    /// The names of sizes in it, in order, each once.
    pub(super) fn sizes(ty: &TypeExpr, found: &mut Vec<Name>) {
        match &ty.kind {
            TypeKind::Array(dim, element) => {
                if let Dim::Size(size) = dim
                    && let SizeKind::Var(name) = &size.kind
                    && !found.contains(name)
                {
                    found.push(name.clone());
                }
                Ty::sizes(element, found);
            }
            TypeKind::Tuple(parts) | TypeKind::Named(_, parts) => {
                parts.iter().for_each(|part| Ty::sizes(part, found));
            }
            TypeKind::Function { param, result, .. } => {
                Ty::sizes(param, found);
                Ty::sizes(result, found);
            }
            TypeKind::Record(fields) => fields.iter().for_each(|(_, field)| Ty::sizes(field, found)),
            TypeKind::Scalar(_) | TypeKind::Var(_) | TypeKind::Vector(..) | TypeKind::Error => {}
        }
    }
}
