//! The leaves of a type: the arrays of scalars that an array, or a tuple with arrays, is made of.

use almach_core::{Dim, Size, Type};
use almach_value::ScalarType;

/// An array of scalars, or something that is held elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leaf {
    Cells {
        /// Outermost first.
        dims: Vec<Size>,
        /// Of short vectors: one more dimension.
        lanes: Option<u32>,
        element: ScalarType,
    },
    Held,
}

impl Leaf {
    /// All dimensions of the descriptor.
    pub fn shape(&self) -> Vec<Size> {
        match self {
            Leaf::Cells { dims, lanes, .. } => {
                let lanes = lanes.iter().map(|lanes| Size::constant(i64::from(*lanes)));
                dims.iter().cloned().chain(lanes).collect()
            }
            Leaf::Held => Vec::new(),
        }
    }

    /// How many cells it has.
    pub fn cells(&self) -> Size {
        self.shape().into_iter().fold(Size::one(), |all, dim| all * dim)
    }
}

/// In order. Scalars that are in no array have none.
pub fn leaves(ty: &Type) -> Vec<Leaf> {
    let mut out = Vec::new();
    collect(ty, &mut Vec::new(), &mut out);
    out
}

pub fn leaf_count(ty: &Type) -> usize {
    leaves(ty).len()
}

fn collect(ty: &Type, around: &mut Vec<Size>, out: &mut Vec<Leaf>) {
    let mut cells = |lanes: Option<u32>, element: ScalarType| {
        if !around.is_empty() {
            out.push(Leaf::Cells {
                dims: around.clone(),
                lanes,
                element,
            });
        }
    };
    match ty {
        Type::Scalar(element) => cells(None, *element),
        Type::Vector(lanes, element) => cells(Some(*lanes), *element),
        Type::Tuple(parts) if parts.is_empty() => {
            if !around.is_empty() {
                out.push(Leaf::Held);
            }
        }
        Type::Tuple(parts) => parts.iter().for_each(|part| collect(part, around, out)),
        Type::Array(Dim::Size(size), element) => {
            around.push(size.clone());
            collect(element, around, out);
            around.pop();
        }
        Type::Array(Dim::Jagged, _) => out.push(Leaf::Held),
        Type::Data(_) | Type::Node(_) => {
            if !around.is_empty() {
                out.push(Leaf::Held);
            }
        }
    }
}
