//! The questions: do two descriptors share a cell, does one name a cell twice, do iterations of a loop meet.

use crate::descriptor::Lmad;
use crate::equation::{Distance, Equation};
use crate::exact::Solvable;
use crate::proof::{Proof, Reason};
use almach_nat::{Atom, Poly, Range, Ranges};
use std::collections::BTreeSet;

/// An answer that holds for all values of the variables that fit what is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<V: Ord + Clone> {
    /// No cell is shared.
    Disjoint(Proof<V>),
    /// A cell is shared.
    Overlapping,
    Unknown,
}

impl<V: Ord + Clone> Verdict<V> {
    pub fn is_disjoint(&self) -> bool {
        matches!(self, Verdict::Disjoint(_))
    }
}

/// Whether two descriptors of one block share a cell.
pub fn disjoint<V: Ord + Clone>(a: &Lmad<V>, b: &Lmad<V>, known: &Ranges<V>) -> Verdict<V> {
    let lengths = || a.dims.iter().chain(&b.dims).map(|dim| &dim.length);
    if let Some(empty) = lengths().find(|length| known.is_nonneg(&-*length)) {
        return Verdict::Disjoint(Proof::of(Reason::Empty(empty.clone())));
    }
    let mut inside = with_values([a, b], known);
    for length in lengths() {
        inside.assume_nonneg(length - &Poly::one());
    }
    let (Some(a), Some(b)) = (a.upwards(&inside), b.upwards(&inside)) else {
        return Verdict::Unknown;
    };
    let equation = Equation::new(distances(&a, &b), &a.offset - &b.offset);
    if let Some(proof) = equation.refute(&inside) {
        return Verdict::Disjoint(proof);
    }
    let none_is_empty = lengths().all(|length| known.is_positive(length));
    match equation.solve_constant() {
        Some(Solvable::Yes) if none_is_empty => Verdict::Overlapping,
        None if none_is_empty && have_a_common_corner(&a, &b) => Verdict::Overlapping,
        _ => Verdict::Unknown,
    }
}

/// Whether two different elements of a descriptor have cells of their own.
pub fn injective<V: Ord + Clone>(lmad: &Lmad<V>, known: &Ranges<V>) -> Option<Proof<V>> {
    let mut inside = with_values([lmad], known);
    for dim in &lmad.dims {
        if dim.stride.is_zero() && dim.length != Poly::one() {
            return None;
        }
        inside.assume_nonneg(&dim.length - &Poly::one());
    }
    let lmad = lmad.upwards(&inside)?;
    // Two elements that differ: along some first dimension, one is further on. Before it they agree.
    let mut cases = Vec::new();
    for first in 0..lmad.dims.len() {
        let mut distances = Vec::new();
        for (at, dim) in lmad.dims.iter().enumerate().skip(first) {
            let most = &dim.length - &Poly::one();
            let least = if at == first { Poly::one() } else { -&most };
            distances.push(Distance {
                stride: dim.stride.clone(),
                least,
                most,
            });
        }
        let proof = Equation::new(distances, Poly::zero()).refute(&inside)?;
        cases.push((Poly::constant(first as i64), proof));
    }
    match cases.len() {
        1 => cases.pop().map(|(_, proof)| proof),
        _ => Some(Proof::of(Reason::Cases(cases))),
    }
}

/// Whether what different iterations of `index`, which has that range, touch is disjoint: `write` of one and `other` of another
/// (often the same descriptor). `later` is a variable that occurs nowhere; it stands for how far the iterations are apart.
pub fn iterations_disjoint<V: Ord + Clone>(
    index: &V,
    range: &Range<V>,
    later: &V,
    (write, other): (&Lmad<V>, &Lmad<V>),
    known: &Ranges<V>,
) -> Verdict<V> {
    let mut known = known.clone();
    known.set(index.clone(), range.clone());
    let span = match (&range.lower, &range.upper) {
        (Some(lower), Some(upper)) => Range::between(Poly::one(), upper - lower),
        _ => Range {
            lower: Some(Poly::one()),
            upper: None,
        },
    };
    known.set(later.clone(), span);
    // The later one is inside the range as well.
    if let Some(upper) = &range.upper {
        known.assume_nonneg(upper - &Poly::var(index.clone()) - Poly::var(later.clone()));
    }
    let moved = |lmad: &Lmad<V>| {
        lmad.substitute(|var: &V| (var == index).then(|| Poly::var(index.clone()) + Poly::var(later.clone())))
    };
    let mut proofs = Vec::new();
    let pairs = [(moved(write), other.clone()), (write.clone(), moved(other))];
    let ways = if write == other { 1 } else { 2 };
    for (a, b) in pairs.into_iter().take(ways) {
        match apart(&a, &b, later, &known) {
            Some(proof) => proofs.push(proof),
            None => return Verdict::Unknown,
        }
    }
    let mut all = proofs.into_iter();
    match (all.next(), all.next()) {
        (Some(proof), None) => Verdict::Disjoint(proof),
        (Some(first), Some(second)) => Verdict::Disjoint(Proof::of(Reason::Cases(vec![
            (Poly::var(later.clone()), first),
            (-&Poly::var(later.clone()), second),
        ]))),
        (None, _) => Verdict::Unknown,
    }
}

/// A proof for descriptors whose offsets differ by a multiple of how far iterations are apart: that is one more distance. (Where
/// lengths mention it too, the proof is for any value there, which is more than needed.)
fn apart<V: Ord + Clone>(a: &Lmad<V>, b: &Lmad<V>, later: &V, known: &Ranges<V>) -> Option<Proof<V>> {
    if let Verdict::Disjoint(proof) = disjoint(a, b, known) {
        return Some(proof);
    }
    let mut inside = with_values([a, b], known);
    for dim in a.dims.iter().chain(&b.dims) {
        inside.assume_nonneg(&dim.length - &Poly::one());
    }
    let (a, b) = (a.upwards(&inside)?, b.upwards(&inside)?);
    let difference = &a.offset - &b.offset;
    let (stride, others) = difference.linear_in(&Atom::Var(later.clone()))?;
    if stride.mentions(later) || others.mentions(later) {
        return None;
    }
    let range = inside.range(later).clone();
    let (least, most) = (range.lower?, range.upper?);
    let moving = if inside.is_positive(&stride) {
        Distance { stride, least, most }
    } else if inside.is_positive(&-&stride) {
        Distance {
            stride: -&stride,
            least: -&most,
            most: -&least,
        }
    } else {
        return None;
    };
    let all = distances(&a, &b).into_iter().chain([moving]);
    Equation::new(all, others).refute(&inside)
}

/// What is known where every variable of these has a value: its bounds leave one. So there is a column where a column has a number.
fn with_values<'a, V: Ord + Clone + 'a>(
    lmads: impl IntoIterator<Item = &'a Lmad<V>>,
    known: &Ranges<V>,
) -> Ranges<V> {
    let sizes = lmads.into_iter().flat_map(|lmad| {
        let dims = lmad.dims.iter().flat_map(|dim| [&dim.length, &dim.stride]);
        dims.chain([&lmad.offset])
    });
    let vars: BTreeSet<&V> = sizes.flat_map(Poly::free_vars).collect();
    let mut inside = known.clone();
    for var in vars {
        if let Range {
            lower: Some(lower),
            upper: Some(upper),
        } = known.range(var)
        {
            let room = upper - lower;
            if room.as_constant().is_none() {
                inside.assume_nonneg(room);
            }
        }
    }
    inside
}

/// Elements of `a` count upwards, those of `b` downwards.
fn distances<V: Ord + Clone>(a: &Lmad<V>, b: &Lmad<V>) -> Vec<Distance<V>> {
    let mut result = Vec::new();
    for dim in &a.dims {
        result.push(Distance {
            stride: dim.stride.clone(),
            least: Poly::zero(),
            most: &dim.length - &Poly::one(),
        });
    }
    for dim in &b.dims {
        result.push(Distance {
            stride: dim.stride.clone(),
            least: Poly::one() - &dim.length,
            most: Poly::zero(),
        });
    }
    result
}

/// Whether a first or last element along each dimension of the one has the cell of such an element of the other.
fn have_a_common_corner<V: Ord + Clone>(a: &Lmad<V>, b: &Lmad<V>) -> bool {
    let corners = |lmad: &Lmad<V>| {
        let mut cells = vec![lmad.offset.clone()];
        for dim in lmad.dims.iter().take(6) {
            let last = &dim.stride * &(&dim.length - &Poly::one());
            let further: Vec<_> = cells.iter().map(|cell| cell + &last).collect();
            cells.extend(further);
        }
        cells
    };
    let others = corners(b);
    corners(a).iter().any(|cell| others.contains(cell))
}
