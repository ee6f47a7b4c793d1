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
    /// Rows of their own lengths.
    Rows {
        /// Around the rows, outermost first.
        dims: Vec<Size>,
        /// What is in a row.
        element: Type,
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
            Leaf::Rows { .. } | Leaf::Held => Vec::new(),
        }
    }

    /// Of rows of their own lengths: where they begin.
    pub fn segments(&self) -> Option<Leaf> {
        match self {
            Leaf::Rows { dims, .. } => {
                let rows = dims.iter().fold(Size::one(), |all, dim| all * dim);
                Some(Leaf::Cells {
                    dims: vec![rows + Size::one()],
                    lanes: None,
                    element: ScalarType::I64,
                })
            }
            Leaf::Cells { .. } | Leaf::Held => None,
        }
    }

    /// Of rows of their own lengths: the elements of all of them.
    pub fn elements(&self, total: &Size) -> Vec<Leaf> {
        match self {
            Leaf::Rows { element, .. } => leaves(&Type::array(total.clone(), element.clone())),
            Leaf::Cells { .. } | Leaf::Held => Vec::new(),
        }
    }

    /// How many blocks and integers its place is made of.
    pub fn parts(&self) -> usize {
        match self {
            Leaf::Cells { .. } => 1,
            Leaf::Rows { .. } => 2 + self.elements(&Size::one()).iter().map(Leaf::parts).sum::<usize>(),
            Leaf::Held => 0,
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
        // A field that is an array has no other around it.
        Type::Array(Dim::Jagged, _) if around.is_empty() => out.push(Leaf::Held),
        Type::Array(Dim::Jagged, element) => out.push(match has_cells(element) {
            true => Leaf::Rows {
                dims: around.clone(),
                element: (**element).clone(),
            },
            false => Leaf::Held,
        }),
        Type::Data(_) | Type::Node(_) => {
            if !around.is_empty() {
                out.push(Leaf::Held);
            }
        }
    }
}

/// Whether all that is in a row has cells.
fn has_cells(element: &Type) -> bool {
    !leaves(&Type::array(Size::one(), element.clone())).contains(&Leaf::Held)
}
