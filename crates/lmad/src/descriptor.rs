//! The definition, and what slicing, transposing and the like make of a descriptor (FUNMEM, equations 1 to 3).

use almach_nat::{Poly, Ranges};
use std::fmt;

/// `offset + {(length : stride), …}`, outermost dimension first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lmad<V: Ord + Clone> {
    pub offset: Poly<V>,
    pub dims: Vec<Dim<V>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dim<V: Ord + Clone> {
    pub length: Poly<V>,
    /// Cells from one element to the next; negative where the array runs backwards.
    pub stride: Poly<V>,
}

impl<V: Ord + Clone> Lmad<V> {
    /// A whole array of that shape, the last dimension contiguous.
    pub fn row_major(offset: Poly<V>, shape: &[Poly<V>]) -> Lmad<V> {
        let mut stride = Poly::one();
        let mut dims = Vec::new();
        for length in shape.iter().rev() {
            dims.push(Dim {
                length: length.clone(),
                stride: stride.clone(),
            });
            stride = stride * length;
        }
        dims.reverse();
        Lmad { offset, dims }
    }

    /// One element of the outermost dimension (equation 3).
    pub fn index(&self, at: &Poly<V>) -> Option<Lmad<V>> {
        let (outer, inner) = self.dims.split_first()?;
        Some(Lmad {
            offset: &self.offset + &(at * &outer.stride),
            dims: inner.to_vec(),
        })
    }

    /// `count` elements of a dimension from `begin` on, `step` apart (equation 2, with steps).
    pub fn slice(&self, dim: usize, begin: &Poly<V>, count: &Poly<V>, step: &Poly<V>) -> Option<Lmad<V>> {
        let mut result = self.clone();
        let sliced = result.dims.get_mut(dim)?;
        result.offset = &result.offset + &(begin * &sliced.stride);
        sliced.stride = step * &sliced.stride;
        sliced.length = count.clone();
        Some(result)
    }

    /// The last element of a dimension first.
    pub fn reverse(&self, dim: usize) -> Option<Lmad<V>> {
        let length = self.dims.get(dim)?.length.clone();
        self.slice(dim, &(&length - &Poly::one()), &length, &Poly::constant(-1))
    }

    /// Dimension `k` of the result is dimension `order[k]`.
    pub fn permute(&self, order: &[usize]) -> Option<Lmad<V>> {
        let dims = order.iter().map(|from| self.dims.get(*from).cloned());
        Some(Lmad {
            offset: self.offset.clone(),
            dims: dims.collect::<Option<_>>()?,
        })
    }

    /// A dimension of `n*m` elements as `n` rows of `m`.
    pub fn split(&self, dim: usize, rows: &Poly<V>, row: &Poly<V>) -> Option<Lmad<V>> {
        let mut result = self.clone();
        let inner = result.dims.get_mut(dim)?;
        let outer = Dim {
            length: rows.clone(),
            stride: row * &inner.stride,
        };
        inner.length = row.clone();
        result.dims.insert(dim, outer);
        Some(result)
    }

    /// A dimension and the one inside it as one; none where the inner one does not fill the steps of the outer one.
    pub fn join(&self, dim: usize) -> Option<Lmad<V>> {
        let mut result = self.clone();
        let outer = self.dims.get(dim)?;
        let inner = result.dims.get_mut(dim + 1)?;
        if outer.stride != &inner.length * &inner.stride {
            return None;
        }
        inner.length = &outer.length * &inner.length;
        result.dims.remove(dim);
        Some(result)
    }

    /// The cell of an element (equation 1).
    pub fn cell(&self, indices: &[Poly<V>]) -> Poly<V> {
        let steps = self
            .dims
            .iter()
            .zip(indices)
            .map(|(dim, index)| index * &dim.stride);
        steps.fold(self.offset.clone(), |sum, step| sum + step)
    }

    pub fn substitute(&self, replacement: impl Fn(&V) -> Option<Poly<V>> + Copy) -> Lmad<V> {
        let dims = self.dims.iter().map(|dim| Dim {
            length: dim.length.substitute(replacement),
            stride: dim.stride.substitute(replacement),
        });
        Lmad {
            offset: self.offset.substitute(replacement),
            dims: dims.collect(),
        }
    }

    /// The same cells by dimensions of positive stride, without those of one element; none where the sign of a stride is not
    /// known.
    pub(crate) fn upwards(&self, known: &Ranges<V>) -> Option<Lmad<V>> {
        let mut result = Lmad {
            offset: self.offset.clone(),
            dims: Vec::new(),
        };
        for dim in &self.dims {
            if dim.length == Poly::one() || dim.stride.is_zero() {
                continue;
            }
            if known.is_positive(&dim.stride) {
                result.dims.push(dim.clone());
            } else if known.is_positive(&-&dim.stride) {
                result.offset = &result.offset + &(&dim.stride * &(&dim.length - &Poly::one()));
                result.dims.push(Dim {
                    length: dim.length.clone(),
                    stride: -&dim.stride,
                });
            } else {
                return None;
            }
        }
        Some(result)
    }
}

impl<V: Ord + Clone + fmt::Display> fmt::Display for Lmad<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {{", self.offset)?;
        for (at, dim) in self.dims.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}({} : {})", dim.length, dim.stride)?;
        }
        f.write_str("}")
    }
}
