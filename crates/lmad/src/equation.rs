//! The equation that a shared cell solves, and proofs that it has no solution.
//!
//! Two elements share a cell where the sum of `stride * distance` over all dimensions, plus the difference of the offsets, is 0.
//! Each distance lies in a known range. The proof goes from the largest stride down: where everything else
//! adds up to less than one stride, the distance along it is fixed, and what is left is an equation with one dimension
//! less. (This distributes the terms of the offsets over the dimensions, as the authors' short-circuiting paper does.)

use crate::exact::{Solvable, Term, solvable};
use crate::proof::{Proof, Reason};
use almach_nat::{Atom, Poly, Ranges};
use std::cell::Cell;

/// Steps of the proofs of one question, and of each of them.
const FUEL: u32 = 1000;
const FUEL_OF_ONE: u32 = 60;
/// A distance is followed in at most so many cases.
const MOST_CASES: i64 = 3;

/// `stride * d` for a distance `least <= d <= most`. The stride is positive.
#[derive(Clone, Debug)]
pub(crate) struct Distance<V: Ord + Clone> {
    pub(crate) stride: Poly<V>,
    pub(crate) least: Poly<V>,
    pub(crate) most: Poly<V>,
}

/// `sum of distances + offset = 0`.
#[derive(Clone, Debug)]
pub(crate) struct Equation<V: Ord + Clone> {
    distances: Vec<Distance<V>>,
    offset: Poly<V>,
}

impl<V: Ord + Clone> Equation<V> {
    /// Distances along one stride are added up.
    pub(crate) fn new(all: impl IntoIterator<Item = Distance<V>>, offset: Poly<V>) -> Equation<V> {
        let mut distances: Vec<Distance<V>> = Vec::new();
        for new in all {
            match distances.iter_mut().find(|known| known.stride == new.stride) {
                Some(known) => {
                    known.least = &known.least + &new.least;
                    known.most = &known.most + &new.most;
                }
                None => distances.push(new),
            }
        }
        Equation { distances, offset }
    }

    /// A proof that there is no solution.
    pub(crate) fn refute(&self, known: &Ranges<V>) -> Option<Proof<V>> {
        let fuel = Cell::new(FUEL);
        self.refute_within(&Known {
            ranges: known.clone(),
            fuel: &fuel,
        })
    }

    /// Exactly, where all is constant.
    pub(crate) fn solve_constant(&self) -> Option<Solvable> {
        let mut sum = -i128::from(self.offset.as_constant()?);
        let mut terms = Vec::new();
        for distance in &self.distances {
            let [stride, least, most] = [&distance.stride, &distance.least, &distance.most]
                .map(|poly| poly.as_constant().map(i128::from));
            let (stride, least, most) = (stride?, least?, most?);
            sum -= stride * least;
            terms.push(Term {
                coefficient: stride,
                most: most - least,
            });
        }
        Some(solvable(terms, sum))
    }

    fn refute_within(&self, known: &Known<V>) -> Option<Proof<V>> {
        if known.fuel.get() == 0 {
            return None;
        }
        if self.solve_constant() == Some(Solvable::No) {
            return Some(Proof::of(Reason::Exhausted));
        }
        if let Some(proof) = self.apart(known).or_else(|| self.modulo(known)) {
            return Some(proof);
        }
        let along = |pivot: usize| self.fix(pivot, known);
        if let Some(proof) = (0..self.distances.len()).find_map(along) {
            return Some(proof);
        }
        let with_unit = |unit| {
            let mut with_unit = self.clone();
            with_unit.distances.push(Distance {
                stride: unit,
                least: Poly::zero(),
                most: Poly::zero(),
            });
            with_unit.fix(self.distances.len(), known)
        };
        let refuted = self.units().into_iter().find_map(with_unit);
        refuted.or_else(|| self.coarser()?.refute_within(known))
    }

    /// With the distances along multiples of a stride added to those along the stride: `4*n*d + n*e` is `n` times something from
    /// `4*least + least'` to `4*most + most'`. It has all solutions that this has. None where there are no such strides.
    fn coarser(&self) -> Option<Equation<V>> {
        let multiple = |of: &Poly<V>, stride: &Poly<V>| {
            let (times, rest) = of.long_division(stride)?;
            times.as_constant().filter(|times| *times > 1 && rest.is_zero())
        };
        let mut pairs = self.distances.iter().enumerate().flat_map(|(coarse, outer)| {
            let fine = self.distances.iter().enumerate();
            fine.filter_map(move |(fine, inner)| {
                // Units are often where the proof is.
                let is_unit = inner.stride.as_constant().is_some();
                let times = multiple(&outer.stride, &inner.stride).filter(|_| !is_unit)?;
                Some((coarse, fine, times))
            })
        });
        let (coarse, fine, times) = pairs.next()?;
        let mut distances = self.distances.clone();
        let outer = distances.get(coarse)?.clone();
        let inner = distances.get_mut(fine)?;
        inner.least = &inner.least + &(&outer.least * &Poly::constant(times));
        inner.most = &inner.most + &(&outer.most * &Poly::constant(times));
        distances.remove(coarse);
        Some(Equation {
            distances,
            offset: self.offset.clone(),
        })
    }

    /// Variables that the offset counts in, though no dimension does: rows `i*n` and `j*n` are `i - j` rows apart.
    fn units(&self) -> Vec<Poly<V>> {
        let products = self
            .offset
            .terms()
            .iter()
            .filter(|(monomial, _)| monomial.degree() > 1);
        let mut units: Vec<V> = products
            .flat_map(|(monomial, _)| monomial.factors())
            .filter_map(|(atom, _)| match atom {
                Atom::Var(var) => Some(var.clone()),
                Atom::Quotient(_) | Atom::Remainder(_) | Atom::Unfolded(_) => None,
            })
            .collect();
        units.sort();
        units.dedup();
        units
            .into_iter()
            .map(Poly::var)
            .filter(|unit| self.distances.iter().all(|distance| distance.stride != *unit))
            .collect()
    }

    /// The least and the largest value of all terms but one, without the offset.
    fn bounds_without(&self, skipped: Option<usize>) -> (Poly<V>, Poly<V>) {
        let (mut least, mut most) = (Poly::zero(), Poly::zero());
        for (at, distance) in self.distances.iter().enumerate() {
            if Some(at) != skipped {
                least = least + &distance.stride * &distance.least;
                most = most + &distance.stride * &distance.most;
            }
        }
        (least, most)
    }

    fn apart(&self, known: &Known<V>) -> Option<Proof<V>> {
        let (least, most) = self.bounds_without(None);
        let gaps = [least + &self.offset, -&(most + &self.offset)];
        gaps.into_iter()
            .find(|gap| known.is_positive(gap))
            .map(|gap| Proof::of(Reason::Apart(gap)))
    }

    /// Every stride is a multiple of one of them, and the offset is not.
    fn modulo(&self, known: &Known<V>) -> Option<Proof<V>> {
        self.distances
            .iter()
            .map(|distance| &distance.stride)
            .find_map(|divisor| {
                let divides = |stride: &Poly<V>| {
                    stride
                        .long_division(divisor)
                        .is_some_and(|(_, rest)| rest.is_zero())
                };
                if !self.distances.iter().all(|distance| divides(&distance.stride)) {
                    return None;
                }
                let (_, rest) = self.offset.long_division(divisor)?;
                let candidates = [rest.clone(), &rest + divisor];
                candidates
                    .into_iter()
                    .find(|rest| known.is_positive(rest) && known.is_less(rest, divisor))
                    .map(|rest| {
                        Proof::of(Reason::Modulo {
                            divisor: divisor.clone(),
                            rest,
                        })
                    })
            })
    }

    /// With `offset = q*stride + r`, the pivot's distance is `-q` plus what all other terms and `r` make of a whole stride:
    /// one of a few numbers.
    fn fix(&self, pivot: usize, known: &Known<V>) -> Option<Proof<V>> {
        let distance = self.distances.get(pivot)?;
        let (whole, rest) = self.offset.long_division(&distance.stride)?;
        let (least, most) = self.bounds_without(Some(pivot));
        let (least, most) = (least + &rest, most + &rest);
        // The other terms make at most `up` strides upwards and `down` downwards.
        let strides = |bound: &Poly<V>| {
            (-1..MOST_CASES)
                .find(|count| known.is_less(bound, &(&distance.stride * &Poly::constant(count + 1))))
        };
        let (up, down) = (strides(&most)?, strides(&-&least)?);
        if up + down >= MOST_CASES {
            return None;
        }
        let mut cases = Vec::new();
        // The others make `others` strides, so the pivot makes up for them.
        for others in -down..=up {
            let fixed = -(&whole + &Poly::constant(others));
            let proof = self.refute_fixed(pivot, &fixed, &rest, others, known)?;
            cases.push((fixed, proof));
        }
        let stride = distance.stride.clone();
        if cases.is_empty() {
            return Some(Proof::of(Reason::Between { stride }));
        }
        match <[_; 1]>::try_from(cases) {
            Ok([(distance, proof)]) => Some(proof.after(Reason::Fixed { stride, distance })),
            Err(cases) => Some(Proof::of(Reason::Cases(cases))),
        }
    }

    fn refute_fixed(
        &self,
        pivot: usize,
        fixed: &Poly<V>,
        rest: &Poly<V>,
        others: i64,
        known: &Known<V>,
    ) -> Option<Proof<V>> {
        let distance = self.distances.get(pivot)?;
        for beyond in [fixed - &distance.most, &distance.least - fixed] {
            if known.is_positive(&beyond) {
                return Some(Proof::of(Reason::OutOfReach {
                    distance: fixed.clone(),
                    beyond,
                }));
            }
        }
        let mut remaining = self.distances.clone();
        remaining.remove(pivot);
        let smaller = Equation {
            distances: remaining,
            offset: rest - &(&distance.stride * &Poly::constant(others)),
        };
        // The distance is possible, or there is nothing to prove.
        let mut inside = known.clone();
        inside.ranges.assume_nonneg(&distance.most - fixed);
        inside.ranges.assume_nonneg(fixed - &distance.least);
        smaller.refute_within(&inside)
    }
}

/// What is known, with the steps that are left for proofs.
#[derive(Clone)]
struct Known<'f, V: Ord + Clone> {
    ranges: Ranges<V>,
    fuel: &'f Cell<u32>,
}

impl<V: Ord + Clone> Known<'_, V> {
    fn is_positive(&self, p: &Poly<V>) -> bool {
        let given = self.fuel.get().min(FUEL_OF_ONE);
        let mut left = given;
        let proved = self.ranges.is_nonneg_within(&(p - &Poly::one()), &mut left);
        self.fuel.set(self.fuel.get() - (given - left));
        proved
    }

    fn is_less(&self, p: &Poly<V>, q: &Poly<V>) -> bool {
        self.is_positive(&(q - p))
    }
}
