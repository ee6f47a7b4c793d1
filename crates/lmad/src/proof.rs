//! A proof that an equation of cells has no solution, printed in words.

use almach_nat::Poly;
use std::fmt;

/// Steps to a contradiction, outermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof<V: Ord + Clone> {
    pub steps: Vec<Reason<V>>,
}

/// Why two cells cannot be one. A *distance* is that between the elements that would share the cell, along a stride.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason<V: Ord + Clone> {
    /// One of the two has no cells.
    Empty(Poly<V>),
    /// All cells of one lie before all cells of the other: the difference is at least this.
    Apart(Poly<V>),
    /// All strides are multiples of a number, and the offsets differ by something that is none.
    Modulo { divisor: Poly<V>, rest: Poly<V> },
    /// Whatever is left of the equation is smaller than the stride, so the distance is fixed.
    Fixed { stride: Poly<V>, distance: Poly<V> },
    /// Whatever is left of the equation lies between two multiples of the stride.
    Between { stride: Poly<V> },
    /// The fixed distance is beyond the elements there are.
    OutOfReach { distance: Poly<V>, beyond: Poly<V> },
    /// The distance is one of a few numbers, each impossible for its own reason.
    Cases(Vec<(Poly<V>, Proof<V>)>),
    /// For constants, all possibilities were excluded.
    Exhausted,
}

impl<V: Ord + Clone> Proof<V> {
    pub(crate) fn of(reason: Reason<V>) -> Proof<V> {
        Proof { steps: vec![reason] }
    }

    pub(crate) fn after(mut self, reason: Reason<V>) -> Proof<V> {
        self.steps.insert(0, reason);
        self
    }

    fn write(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result
    where
        V: fmt::Display,
    {
        let indent = "  ".repeat(depth);
        for (at, step) in self.steps.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            match step {
                Reason::Empty(length) => {
                    write!(f, "{indent}one of the two has no cells, since {length} <= 0")?
                }
                Reason::Apart(gap) => {
                    write!(
                        f,
                        "{indent}all cells of one come before those of the other, by at least {gap}"
                    )?;
                }
                Reason::Modulo { divisor, rest } => write!(
                    f,
                    "{indent}all strides are multiples of {divisor}, and the offsets differ by {rest} more than a multiple"
                )?,
                Reason::Fixed { stride, distance } => write!(
                    f,
                    "{indent}along stride {stride} the distance must be {distance}, since all else adds up to less than one stride"
                )?,
                Reason::Between { stride } => write!(
                    f,
                    "{indent}along stride {stride} no distance will do: all else adds up to something between two multiples of it"
                )?,
                Reason::OutOfReach { distance, beyond } => write!(
                    f,
                    "{indent}a distance of {distance} is not possible: it lies beyond the last one by {beyond}"
                )?,
                Reason::Cases(cases) => {
                    write!(f, "{indent}the distance is one of {}", cases.len())?;
                    for (distance, proof) in cases {
                        writeln!(f, "\n{indent}if it is {distance}:")?;
                        proof.write(depth + 1, f)?;
                    }
                }
                Reason::Exhausted => {
                    write!(f, "{indent}no two elements have the same cell: all were excluded")?
                }
            }
        }
        Ok(())
    }
}

impl<V: Ord + Clone + fmt::Display> fmt::Display for Proof<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}
