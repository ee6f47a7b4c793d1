//! Sizes and indices as polynomials with integer coefficients, in a normal form that decides their equality.
//!
//! A [`Poly`] is a sum of monomials; a monomial is a product of powers of atoms; an atom is a variable, or a quotient
//! `floor(p / q)` that did not simplify. Two polynomials without quotients are equal as functions exactly when they
//! are equal as values of the type. A remainder is `p - q * floor(p / q)` and needs no atom of its own; see
//! [`Poly::with_remainders`] for the form people and C compilers would rather read.
//!
//! Arithmetic is that of mathematical integers. Where a coefficient would not fit `i64`, or a product would have an
//! unreasonable number of terms, the operation stays as it is, as an atom: fewer equalities are found, never wrong ones.
//!
//! **Convention on divisors.** A quotient only has a value where its divisor is not zero, since dividing by zero ends
//! the program; so `n*m / m` may become `n`. No simplification assumes that a divisor is positive unless it is a positive
//! constant or [`Ranges`] prove that it is not negative.

mod display;
mod division;
mod models;
mod poly;
mod prove;
mod ranges;
mod simplify;
mod solve;

pub use display::Displayed;
pub use poly::{Atom, Monomial, Poly, Ratio, Unfolded, UnfoldedOp};
pub use ranges::{Interval, Mark, Range, Ranges};
