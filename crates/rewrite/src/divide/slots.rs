//! What a call takes, keeps or gives, as an element of arrays with one for each call.

use crate::recursions::{Reason, no};
use almach_core::{Dim, Size, Type};

/// One value of each call.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Slot {
    One(Type),
    /// An array of a size of its own, with these elements.
    Row(Type),
}

impl Slot {
    pub(super) fn of(ty: &Type) -> Result<Slot, Reason> {
        match ty {
            Type::Array(Dim::Size(_), element) if is_plain(element) => Ok(Slot::Row((**element).clone())),
            ty if is_plain(ty) => Ok(Slot::One(ty.clone())),
            _ => no("it has arrays of arrays between its calls"),
        }
    }

    /// The array of what all calls have.
    pub(super) fn array(&self, calls: &Size) -> Type {
        let element = match self {
            Slot::One(ty) => ty.clone(),
            Slot::Row(element) => Type::jagged(element.clone()),
        };
        Type::array(calls.clone(), element)
    }
}

fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) => true,
        Type::Tuple(parts) => parts.iter().all(is_plain),
        Type::Array(..) | Type::Node(_) => false,
    }
}
