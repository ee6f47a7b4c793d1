//! Closed types: type variables filled in, sizes taken out.
//!
//! What a definition is specialised for must not depend on sizes, or every size would get code of its own. So a type
//! of the tree, closed under an environment, is a [`Ty`] (the part that decides which code runs) and the sizes of its
//! regular dimensions in order (ordinary values of the running program).

use almach_base::Name;
use almach_core as core;
use almach_types::tree::DataId;
use almach_value::ScalarType;
use std::fmt::{self, Write};
use std::rc::Rc;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Ty {
    Scalar(ScalarType),
    Vector(u32, ScalarType),
    Tuple(Rc<[Ty]>),
    /// In the order the program has for this set of names; see [`crate::Elaborator::record_order`].
    Record(Rc<[(Name, Ty)]>),
    Array(Extent, Rc<Ty>),
    Data(DataId, Rc<[Ty]>),
    Node(DataId, Rc<[Ty]>),
    /// A position in a table of nodes.
    Reference,
    Function(Rc<(Ty, Ty)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Extent {
    /// Has a size that the surrounding program knows.
    Sized,
    /// `?`: each value has its own.
    Unknown,
}

/// A closed type with the sizes of its [`Extent::Sized`] dimensions, from the outside in and from left to right. A size
/// is absent where the type checker knows it only under a name that is not bound here.
#[derive(Clone, Debug)]
pub(crate) struct SizedTy {
    pub ty: Ty,
    pub sizes: Rc<[Option<core::Size>]>,
}

impl Ty {
    pub fn unit() -> Ty {
        Ty::Tuple(Rc::from([]))
    }

    pub fn is_first_order(&self) -> bool {
        match self {
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Reference => true,
            // Functions never sit in arrays or sums.
            Ty::Array(..) | Ty::Data(..) | Ty::Node(..) => true,
            Ty::Tuple(parts) => parts.iter().all(Ty::is_first_order),
            Ty::Record(fields) => fields.iter().all(|(_, ty)| ty.is_first_order()),
            Ty::Function(_) => false,
        }
    }

    /// How many sizes a [`SizedTy`] of this type has.
    pub fn sized_dims(&self) -> usize {
        match self {
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Reference => 0,
            Ty::Tuple(parts) => parts.iter().map(Ty::sized_dims).sum(),
            Ty::Record(fields) => fields.iter().map(|(_, ty)| ty.sized_dims()).sum(),
            Ty::Array(extent, element) => usize::from(*extent == Extent::Sized) + element.sized_dims(),
            Ty::Data(_, args) | Ty::Node(_, args) => args.iter().map(Ty::sized_dims).sum(),
            Ty::Function(function) => function.0.sized_dims() + function.1.sized_dims(),
        }
    }

    /// The components of a tuple or record.
    pub fn components(&self) -> Option<Vec<&Ty>> {
        match self {
            Ty::Tuple(parts) => Some(parts.iter().collect()),
            Ty::Record(fields) => Some(fields.iter().map(|(_, ty)| ty).collect()),
            Ty::Scalar(_)
            | Ty::Vector(..)
            | Ty::Array(..)
            | Ty::Data(..)
            | Ty::Node(..)
            | Ty::Reference
            | Ty::Function(_) => None,
        }
    }

    /// The type with every size of its own: what a data type stores, whatever is known about sizes outside.
    pub fn without_sizes(&self) -> Ty {
        let all = |parts: &[Ty]| parts.iter().map(Ty::without_sizes).collect();
        match self {
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Reference | Ty::Function(_) => self.clone(),
            Ty::Tuple(parts) => Ty::Tuple(all(parts)),
            Ty::Record(fields) => Ty::Record(
                fields
                    .iter()
                    .map(|(name, ty)| (name.clone(), ty.without_sizes()))
                    .collect(),
            ),
            Ty::Array(_, element) => Ty::Array(Extent::Unknown, Rc::new(element.without_sizes())),
            Ty::Data(id, args) => Ty::Data(*id, all(args)),
            Ty::Node(id, args) => Ty::Node(*id, all(args)),
        }
    }

    /// With positions as what references are.
    pub fn with_positions(&self) -> Ty {
        let all = |parts: &[Ty]| parts.iter().map(Ty::with_positions).collect();
        match self {
            Ty::Reference => Ty::Scalar(ScalarType::I64),
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Function(_) => self.clone(),
            Ty::Tuple(parts) => Ty::Tuple(all(parts)),
            Ty::Record(fields) => Ty::Record(
                fields
                    .iter()
                    .map(|(name, ty)| (name.clone(), ty.with_positions()))
                    .collect(),
            ),
            Ty::Array(extent, element) => Ty::Array(*extent, Rc::new(element.with_positions())),
            Ty::Data(id, args) => Ty::Data(*id, all(args)),
            Ty::Node(id, args) => Ty::Node(*id, all(args)),
        }
    }

    /// Counts nodes, giving up above `limit`: types that grow without end are found before they fill memory.
    pub fn is_larger_than(&self, limit: usize) -> bool {
        let mut left = limit;
        !self.count(&mut left)
    }

    fn count(&self, left: &mut usize) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        match self {
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Reference => true,
            Ty::Tuple(parts) => parts.iter().all(|ty| ty.count(left)),
            Ty::Record(fields) => fields.iter().all(|(_, ty)| ty.count(left)),
            Ty::Array(_, element) => element.count(left),
            Ty::Data(_, args) | Ty::Node(_, args) => args.iter().all(|ty| ty.count(left)),
            Ty::Function(function) => function.0.count(left) && function.1.count(left),
        }
    }

    /// Splits `a -> b -> c` after `count` arrows.
    pub fn arrows(&self, count: usize) -> (Vec<&Ty>, &Ty) {
        let mut params = Vec::with_capacity(count);
        let mut at = self;
        while params.len() < count
            && let Ty::Function(function) = at
        {
            params.push(&function.0);
            at = &function.1;
        }
        (params, at)
    }

    /// As part of an identifier: `Maybe_f32`, `pair_arr_f32`.
    pub fn identifier(&self, data: &dyn Fn(DataId) -> Name, into: &mut String) -> fmt::Result {
        let list = |parts: &mut dyn Iterator<Item = &Ty>, into: &mut String| -> fmt::Result {
            for part in parts {
                into.push('_');
                part.identifier(data, into)?;
            }
            Ok(())
        };
        match self {
            Ty::Scalar(ty) => write!(into, "{ty}"),
            Ty::Vector(width, ty) => write!(into, "vec{width}_{ty}"),
            Ty::Tuple(parts) if parts.is_empty() => into.write_str("unit"),
            Ty::Tuple(parts) => {
                write!(into, "tuple{}", parts.len())?;
                list(&mut parts.iter(), into)
            }
            Ty::Record(fields) => {
                into.push_str("record");
                for (name, ty) in fields.iter() {
                    write!(into, "_{name}_")?;
                    ty.identifier(data, into)?;
                }
                Ok(())
            }
            Ty::Array(_, element) => {
                into.push_str("arr_");
                element.identifier(data, into)
            }
            Ty::Data(id, args) => {
                into.push_str(&data(*id));
                list(&mut args.iter(), into)
            }
            Ty::Node(id, args) => {
                write!(into, "node_{}", data(*id))?;
                list(&mut args.iter(), into)
            }
            Ty::Reference => into.write_str("ref"),
            Ty::Function(_) => into.write_str("fun"),
        }
    }
}

impl SizedTy {
    pub fn new(ty: Ty, sizes: Vec<Option<core::Size>>) -> SizedTy {
        SizedTy {
            ty,
            sizes: sizes.into(),
        }
    }

    /// Without any size known.
    pub fn unsized_of(ty: Ty) -> SizedTy {
        let sizes = vec![None; ty.sized_dims()];
        SizedTy::new(ty, sizes)
    }

    /// The components of a tuple or record, each with its sizes.
    pub fn components(&self) -> Option<Vec<SizedTy>> {
        Some(self.split(&self.ty.components()?))
    }

    /// `t` and `u` of `t -> u`.
    pub fn function(&self) -> Option<(SizedTy, SizedTy)> {
        let Ty::Function(function) = &self.ty else {
            return None;
        };
        let mut parts = self.split(&[&function.0, &function.1]).into_iter();
        Some((parts.next()?, parts.next()?))
    }

    /// What the elements of an array are.
    pub fn element(&self) -> Option<SizedTy> {
        let Ty::Array(extent, element) = &self.ty else {
            return None;
        };
        let from = usize::from(*extent == Extent::Sized);
        Some(SizedTy {
            ty: (**element).clone(),
            sizes: self.sizes.get(from..).unwrap_or_default().into(),
        })
    }

    /// The result after so many arguments.
    pub fn after(&self, count: usize) -> SizedTy {
        let mut at = self.clone();
        for _ in 0..count {
            match at.function() {
                Some((_, result)) => at = result,
                None => break,
            }
        }
        at
    }

    fn split(&self, parts: &[&Ty]) -> Vec<SizedTy> {
        let mut from = 0;
        let part = |ty: &&Ty| {
            let to = from + ty.sized_dims();
            let sizes = self.sizes.get(from..to).unwrap_or_default();
            from = to;
            SizedTy {
                ty: (*ty).clone(),
                sizes: sizes.into(),
            }
        };
        parts.iter().map(part).collect()
    }
}
