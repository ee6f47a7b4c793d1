//! Ways a running program fails, with their codes and messages: one text for the interpreters and for every back end.

use crate::ops::OpError;
use almach_base::{Code, codes::runtime};

/// How many calls may wait for others, where nothing else is set.
pub const RECURSION_DEPTH: usize = 10_000_000;

/// How many bytes the frames of those calls may take.
pub const RECURSION_BYTES: usize = 2 << 30;

/// A way to fail that comes with the language (a user's `assert` brings its own text).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// Index, size.
    IndexOutOfBounds,
    DivisionByZero,
    /// Count.
    NegativeShift,
    /// Exponent.
    NegativeExponent,
    /// Wanted, found.
    SizeMismatch,
    /// Size.
    NegativeSize,
    /// Size, divisor.
    NotDivisible,
    /// First element, number of elements, step, size of the array.
    SliceOutOfBounds,
    /// Size of the array, number of elements that are taken or dropped.
    TooFewElements,
    /// Index.
    ScatterConflict,
    /// Index.
    NotAPermutation,
    /// Number of elements.
    OutOfMemory,
    /// Limit.
    RecursionTooDeep,
    EmptyArray,
    /// Reference, number of nodes.
    BadReference,
    /// Reference, number of nodes, the node that has it.
    EarlierReference,
    BadOffsets,
    /// Step of a `range` is zero.
    ZeroStep,
    /// Size that a C function gave.
    ForeignSize,
    /// Number of elements for which a C function gave no memory.
    ForeignData,
}

impl Failure {
    pub fn code(self) -> Code {
        match self {
            Failure::IndexOutOfBounds => runtime::INDEX_OUT_OF_BOUNDS,
            Failure::DivisionByZero | Failure::ZeroStep => runtime::DIVISION_BY_ZERO,
            Failure::NegativeShift => runtime::NEGATIVE_SHIFT,
            Failure::NegativeExponent => runtime::NEGATIVE_EXPONENT,
            Failure::SizeMismatch => runtime::SIZE_MISMATCH,
            Failure::NegativeSize => runtime::NEGATIVE_SIZE,
            Failure::NotDivisible => runtime::NOT_DIVISIBLE,
            Failure::SliceOutOfBounds | Failure::TooFewElements => runtime::SLICE_OUT_OF_BOUNDS,
            Failure::ScatterConflict => runtime::SCATTER_CONFLICT,
            Failure::NotAPermutation => runtime::NOT_A_PERMUTATION,
            Failure::OutOfMemory => runtime::OUT_OF_MEMORY,
            Failure::RecursionTooDeep => runtime::RECURSION_TOO_DEEP,
            Failure::EmptyArray => runtime::EMPTY_ARRAY,
            Failure::BadReference | Failure::EarlierReference => runtime::BAD_REFERENCE,
            Failure::BadOffsets => runtime::BAD_OFFSETS,
            Failure::ForeignSize | Failure::ForeignData => runtime::FOREIGN_RESULT,
        }
    }

    /// The message; `{}` stands for the next of the values that the variant's documentation lists.
    pub fn text(self) -> &'static str {
        match self {
            Failure::IndexOutOfBounds => "index {} is out of bounds for an array of size {}",
            Failure::DivisionByZero => "division by zero",
            Failure::NegativeShift => "negative shift count {}",
            Failure::NegativeExponent => "negative exponent {}",
            Failure::SizeMismatch => "expected size {}, found {}",
            Failure::NegativeSize => "negative size {}",
            Failure::NotDivisible => "size {} is not divisible by {}",
            Failure::SliceOutOfBounds => {
                "a slice from {} of {} elements with step {} reaches outside an array of size {}"
            }
            Failure::TooFewElements => "an array of size {} does not have {} elements",
            Failure::ScatterConflict => "two different values are written to index {}",
            Failure::NotAPermutation => "the indices are not a permutation: see index {}",
            Failure::OutOfMemory => "not enough memory for {} elements",
            Failure::RecursionTooDeep => "recursion deeper than {}",
            Failure::EmptyArray => "the array is empty",
            Failure::BadReference => "reference {} is to no node of {}",
            Failure::EarlierReference => "reference {} is to no node of {} behind node {}",
            Failure::BadOffsets => "the offsets do not start at 0, increase, and end at the size of the data",
            Failure::ForeignSize => "a foreign function gave an array of size {}",
            Failure::ForeignData => "a foreign function gave no memory for an array of {} elements",
            Failure::ZeroStep => "the step of a range is zero",
        }
    }

    /// The message with its values filled in.
    pub fn message(self, values: &[i128]) -> String {
        let mut values = values.iter();
        let mut pieces = self.text().split("{}");
        let mut result = pieces.next().unwrap_or_default().to_string();
        for piece in pieces {
            match values.next() {
                Some(value) => result.push_str(&value.to_string()),
                None => result.push_str("{}"),
            }
            result.push_str(piece);
        }
        result
    }
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Failure {
        match error {
            OpError::DivisionByZero => Failure::DivisionByZero,
            OpError::NegativeShift => Failure::NegativeShift,
            OpError::NegativeExponent => Failure::NegativeExponent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_filled_in() {
        assert_eq!(
            Failure::IndexOutOfBounds.message(&[5, 3]),
            "index 5 is out of bounds for an array of size 3"
        );
        assert_eq!(Failure::DivisionByZero.message(&[]), "division by zero");
    }
}
