//! Sizes as atoms.

use almach_core::{Atom, Dim, Size, Type, Var};
use almach_value::Scalar;

/// A size that is a name or a number.
pub fn size_as_atom(size: &Size) -> Option<Atom> {
    match (size.as_constant(), size.as_var()) {
        (Some(value), _) => Some(Atom::Const(Scalar::I64(value))),
        (None, Some(var)) => Some(Atom::Var(var.clone())),
        (None, None) => None,
    }
}

/// What stands in `found` where `pattern` has the size `var`, as an atom.
pub fn size_matching(var: &Var, pattern: &Type, found: &Type) -> Option<Atom> {
    match (pattern, found) {
        (Type::Tuple(patterns), Type::Tuple(parts)) => patterns
            .iter()
            .zip(parts)
            .find_map(|(pattern, part)| size_matching(var, pattern, part)),
        (Type::Array(Dim::Size(size), pattern), Type::Array(Dim::Size(known), found)) => {
            if size.as_var() == Some(var) {
                size_as_atom(known)
            } else {
                size_matching(var, pattern, found)
            }
        }
        _ => None,
    }
}
