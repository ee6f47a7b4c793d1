//! Linear memory access descriptors (FUNMEM, section 3.1): which cells of a block an array lives in, as an offset and a
//! length and stride per dimension, `o + {(n1 : s1), …, (nq : sq)}`; and proofs that two of them share no cell.
//!
//! Offsets, lengths and strides are polynomials over sizes and indices, so the questions are symbolic: they are asked under
//! what is known about the variables ([`Ranges`]), and the answer is for all of their values. "Not proved" never means
//! "false".

mod descriptor;
mod equation;
mod exact;
mod overlap;
mod proof;

pub use descriptor::{Dim, Lmad};
pub use overlap::{Verdict, disjoint, injective, iterations_disjoint};
pub use proof::{Proof, Reason};

pub use almach_nat::{Poly, Range, Ranges};
