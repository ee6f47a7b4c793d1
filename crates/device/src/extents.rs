//! How many cells the buffers have that an entry is called with.

use almach_base::Name;
use almach_imp::interface::{Entry, Shape};
use almach_imp::{Index, Param, Passing, Proc};

/// The buffers among an entry's parameters, with their sizes.
pub(crate) fn extents(entry: &Entry, proc: &Proc) -> Vec<(Name, Index)> {
    let mut walk = Walk {
        params: proc.params.iter(),
        found: Vec::new(),
    };
    for param in &entry.params {
        walk.shape(&param.shape, None);
    }
    let is_buffer = |name: &Name| {
        proc.params
            .iter()
            .any(|param| param.name == *name && param.passing == Passing::Read)
    };
    walk.found.retain(|(name, _)| is_buffer(name));
    walk.found
}

/// Slots and parameters side by side (see `almach_imp::interface`).
struct Walk<'p> {
    params: std::slice::Iter<'p, Param>,
    found: Vec<(Name, Index)>,
}

impl Walk<'_> {
    fn next(&mut self) -> Option<Name> {
        self.params.next().map(|param| param.name.clone())
    }

    /// A slot that is a scalar outside of arrays, and a buffer of `count` cells inside.
    fn leaf(&mut self, count: Option<&Index>, lanes: i64) {
        if let (Some(name), Some(count)) = (self.next(), count) {
            self.found.push((name, count * &Index::constant(lanes)));
        }
    }

    /// An array's size, then its elements.
    fn array(&mut self, element: &Shape, count: Option<&Index>) {
        let Some(size) = self.next() else { return };
        let size = Index::var(size);
        let all = match count {
            Some(count) => count * &size,
            None => size,
        };
        self.shape(element, Some(&all));
    }

    fn shape(&mut self, shape: &Shape, count: Option<&Index>) {
        match shape {
            Shape::Scalar(_) => self.leaf(count, 1),
            Shape::Vector(width, _) => match count {
                Some(_) => self.leaf(count, i64::from(*width)),
                None => (0..*width).for_each(|_| self.leaf(None, 1)),
            },
            Shape::Tuple(parts) => parts.iter().for_each(|part| self.shape(part, count)),
            Shape::Array(_, element) => self.array(element, count),
            Shape::Rows(element) => {
                if let Some(count) = count {
                    let offsets = count + &Index::constant(1);
                    self.leaf(Some(&offsets), 1);
                }
                // The size is that of all rows together.
                self.array(element, None);
            }
            Shape::Datum(table, _) => self.shape(table, count),
            Shape::Sum(constructors) => {
                self.leaf(count, 1);
                constructors
                    .iter()
                    .flatten()
                    .for_each(|field| self.shape(field, count));
            }
        }
    }
}
