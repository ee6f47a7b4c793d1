//! What was decided and why, for `almach explain`.

use almach_base::{Span, counted};
use almach_prim::{Level, Prim};
use std::fmt;

/// One decision about one operation of the program before strategies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The operation.
    pub span: Span,
    pub operation: Prim,
    pub choice: Choice,
    /// Why, as a clause: "it is the outermost parallel operation".
    pub reason: String,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// It runs at this level.
    Level(Level),
    /// The user wrote its level or effect, so it stays as it is.
    Fixed,
    /// Its work is done where its result is used; there is no array in between.
    FusedInto(Prim),
    /// In order, by one worker.
    InOrder,
    /// In chunks of so many elements, each by one thread; their results are combined in order.
    Chunks(i64),
    /// On so many lanes, each with so many accumulators.
    Lanes { lanes: i64, accumulators: i64 },
    /// In groups of so many elements, which go through its loops on lanes until the last of them is done.
    Masked(i64),
    /// So many elements at a time, one on each lane: what its function does with arrays is the same work for all.
    Abreast(i64),
    /// By so many work-items of a group.
    Items(i64),
    /// The multiplication and the addition of the accumulation are one `fma`.
    FusedMultiplyAdd,
    /// Rows are walked on the outside, so that memory is read in its order.
    Interchanged,
    /// Rows with more elements than this are shared by all threads, one after the other; of the others each is one thread's.
    LongRows(i64),
    /// Rows with more elements than this are cut into pieces of so many; each piece and each other row is one thread's.
    Pieces(i64),
    /// Rows that have more elements than so many for each row that there is are done one after the other, each by all threads; otherwise each is one thread's.
    BySizes(i64),
    /// Threads share its rows; each puts those it makes in cells, and afterwards they are put one behind the other. Rows made of more than so many
    /// elements are made by all threads then.
    SharedRows(Option<i64>),
    /// It is a function of its own for the operations inside it.
    Cloned,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Level(level) => write!(f, "runs at level `{level}`"),
            Choice::Fixed => write!(f, "stays as it is written"),
            Choice::FusedInto(prim) => write!(f, "is fused into `{}`", prim.name()),
            Choice::InOrder => write!(f, "runs in order"),
            Choice::Chunks(size) => write!(f, "is split into chunks of {size} elements"),
            Choice::Lanes { lanes, accumulators } => {
                let accumulators = counted(accumulators, "accumulator");
                write!(f, "runs on {lanes} lanes with {accumulators} each")
            }
            Choice::Masked(lanes) => write!(
                f,
                "runs on {lanes} lanes, through its loops until the last of them is done"
            ),
            Choice::Abreast(lanes) => write!(f, "runs for {lanes} elements at a time, one on each lane"),
            Choice::Items(items) => write!(f, "is shared by {items} work-items of a group"),
            Choice::FusedMultiplyAdd => write!(f, "accumulates with `fma`"),
            Choice::Interchanged => write!(f, "is interchanged with the operation inside it"),
            Choice::LongRows(size) => write!(
                f,
                "gives rows of more than {size} elements to all threads in turn, and others to one each"
            ),
            Choice::Pieces(size) => write!(
                f,
                "cuts rows of more than {size} elements into pieces of so many; threads share these and the other rows"
            ),
            Choice::BySizes(elements) => write!(
                f,
                "has two versions: one row after the other, each by all threads, where a row has more than {elements} elements for each row there is; \
                 else each row by one thread"
            ),
            Choice::SharedRows(long) => {
                write!(
                    f,
                    "has its rows made by all threads, each in a cell, and then put one behind the other"
                )?;
                match long {
                    Some(size) => write!(
                        f,
                        "; rows of more than {size} elements are made by all threads in turn"
                    ),
                    None => Ok(()),
                }
            }
            Choice::Cloned => write!(f, "has a copy for the level it is called at"),
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}: {}", self.operation.name(), self.choice, self.reason)
    }
}
