//! C functions inside kernels: those of which the user gives a version for kernels, where scalars and the cells of whole arrays are all
//! that goes in, and scalars come out.

use almach_base::Name;
use almach_imp::Argument;
use almach_value::{ForeignType, ValueType};
use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// Why a kernel cannot call a C function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is one for the host only.
    NoVersion,
    /// It allocates what it gives, or takes recursive data or arrays inside of tuples.
    Type,
    /// It gets an array that a work-item has for itself.
    OwnArray(Name),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoVersion => {
                f.write_str("of which there is no version for kernels (`--link FILE.cl` gives one)")
            }
            Refusal::Type => f.write_str("which takes or gives what kernels do not pass"),
            Refusal::OwnArray(name) => write!(f, "with `{name}`, an array of the iteration's own"),
        }
    }
}

/// `functions` have a version for kernels, `own` are the buffers of the kernel.
pub(crate) fn refusal(
    function: &ForeignType,
    arguments: &[Argument],
    own: &BTreeSet<Name>,
    functions: &HashSet<Name>,
) -> Option<Refusal> {
    if !functions.contains(&function.name) {
        return Some(Refusal::NoVersion);
    }
    if !is_flat(&function.result)
        || !function
            .params
            .iter()
            .all(|param| is_flat(param) || is_array(param))
    {
        return Some(Refusal::Type);
    }
    arguments.iter().find_map(|argument| match argument {
        Argument::Buffer(buffer, _) if own.contains(buffer) => Some(Refusal::OwnArray(buffer.clone())),
        _ => None,
    })
}

/// Whether values are scalars side by side.
fn is_flat(ty: &ValueType) -> bool {
    match ty {
        ValueType::Scalar(_) | ValueType::Vector(..) => true,
        ValueType::Tuple(parts) => parts.iter().all(is_flat),
        ValueType::Record(fields) => fields.iter().all(|(_, field)| is_flat(field)),
        ValueType::Array(..) | ValueType::Sum(_) | ValueType::Recursive(_) => false,
    }
}

/// Whether values are sizes and cells.
fn is_array(ty: &ValueType) -> bool {
    match ty {
        ValueType::Array(_, element) => is_flat(element) || is_array(element),
        _ => false,
    }
}
