//! The table of primitives.

use crate::annotation::Effect;

/// One row: the name, the type in Almach's own syntax, and which annotations make sense.
///
/// In types, `?` is a fresh unknown size, `(n: i64) ->` makes a parameter's value usable in sizes, and `map`'s
/// type is that of its one-array form (it takes as many arrays as its function has arguments to fill). The type
/// variable `'i` is any integer type. `slide` has a known number of windows where the array is provably long enough.
pub struct PrimInfo {
    pub prim: Prim,
    pub name: &'static str,
    pub ty: &'static str,
    pub takes_level: TakesLevel,
    /// The effects that can be written on it.
    pub effects: &'static [Effect],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakesLevel {
    Yes,
    No,
}

/// Whether the number of a chunk may be written on an operation: its iterations communicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakesChunk {
    Yes,
    No,
}

/// Which effects an operation may have (Lin, Fig. 4.6; `docs/views.md` says why for each).
mod effects {
    use crate::annotation::Effect::{self, Destination, Eager, Source};

    pub(super) const NONE: &[Effect] = &[];
    /// It always computes.
    pub(super) const E: &[Effect] = &[Eager];
    /// What it leaves out has no place to be written to, or it knows where to write once it has computed.
    pub(super) const SE: &[Effect] = &[Source, Eager];
    /// It knows where to write, not where to read.
    pub(super) const DE: &[Effect] = &[Destination, Eager];
    pub(super) const SDE: &[Effect] = &[Source, Destination, Eager];
}

macro_rules! primitives {
    ($($variant:ident $name:literal $ty:literal $level:ident $effect:ident;)*) => {
        /// An operation that is not a scalar operator.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Prim { $($variant),* }

        impl Prim {
            pub const ALL: &'static [Prim] = &[$(Prim::$variant),*];

            pub fn info(self) -> &'static PrimInfo {
                match self {
                    $(Prim::$variant => {
                        const INFO: PrimInfo = PrimInfo {
                            prim: Prim::$variant,
                            name: $name,
                            ty: $ty,
                            takes_level: TakesLevel::$level,
                            effects: effects::$effect,
                        };
                        &INFO
                    })*
                }
            }
        }
    };
}

primitives! {
    Map "map" "('a -> 'b) -> [n]'a -> [n]'b" Yes SDE;
    Reduce "reduce" "('a -> 'a -> 'a) -> 'a -> [n]'a -> 'a" Yes E;
    ReduceComm "reduce_comm" "('a -> 'a -> 'a) -> 'a -> [n]'a -> 'a" Yes E;
    ReduceSeq "reduceSeq" "('b -> 'a -> 'b) -> 'b -> [n]'a -> 'b" No E;
    Scan "scan" "('a -> 'a -> 'a) -> 'a -> [n]'a -> [n]'a" Yes SE;
    ScanExclusive "scan_exclusive" "('a -> 'a -> 'a) -> 'a -> [n]'a -> [n]'a" Yes SE;
    ScanRows "scan_rows" "('a -> 'a -> 'a) -> 'a -> [n][?]'a -> [n][?]'a" Yes E;
    ScanRowsExclusive "scan_rows_exclusive" "('a -> 'a -> 'a) -> 'a -> [n][?]'a -> [n][?]'a" Yes E;
    Filter "filter" "('a -> bool) -> [n]'a -> [?]'a" Yes SE;
    Partition "partition" "('a -> bool) -> [n]'a -> ([?]'a, [?]'a)" Yes E;
    ReduceByIndex "reduce_by_index" "[k]'a -> ('a -> 'a -> 'a) -> 'a -> [n]'i -> [n]'a -> [k]'a" Yes E;
    Gather "gather" "[n]'i -> [m]'a -> [n]'a" Yes SE;
    Permute "permute" "[n]'i -> [n]'a -> [n]'a" Yes DE;
    Scatter "scatter" "[k]'a -> [n]'i -> [n]'a -> [k]'a" Yes E;
    Iota "iota" "(n: i64) -> [n]i64" Yes SE;
    Range "range" "i64 -> i64 -> i64 -> [?]i64" Yes SE;
    Replicate "replicate" "(n: i64) -> 'a -> [n]'a" Yes SDE;
    Length "length" "[n]'a -> i64" No NONE;
    Zip "zip" "[n]'a -> [n]'b -> [n]('a, 'b)" No SDE;
    Unzip "unzip" "[n]('a, 'b) -> ([n]'a, [n]'b)" No SE;
    Concat "concat" "[n]'a -> [m]'a -> [n + m]'a" Yes SDE;
    Reverse "reverse" "[n]'a -> [n]'a" Yes SDE;
    Rotate "rotate" "i64 -> [n]'a -> [n]'a" Yes SDE;
    Transpose "transpose" "[n][m]'a -> [m][n]'a" Yes SDE;
    Split "split" "(m: i64) -> [k]'a -> [k / m][m]'a" No SDE;
    Join "join" "[n][m]'a -> [n * m]'a" No SDE;
    Slide "slide" "(size: i64) -> i64 -> [n]'a -> [?][size]'a" Yes SE;
    Pad "pad" "(l: i64) -> (r: i64) -> 'a -> [n]'a -> [l + n + r]'a" Yes SDE;
    PadEdge "pad_edge" "(l: i64) -> (r: i64) -> [n]'a -> [l + n + r]'a" Yes SDE;
    Take "take" "(k: i64) -> [n]'a -> [k]'a" No SE;
    Drop "drop" "(k: i64) -> [n]'a -> [n - k]'a" No SE;
    Flatten "flatten" "[n][?]'a -> [?]'a" No SE;
    Unflatten "unflatten" "[n + 1]i64 -> [m]'a -> [n][?]'a" No SE;
    Segments "segments" "[n][?]'a -> [n + 1]i64" No NONE;
    Jagged "jagged" "[n][m]'a -> [n][?]'a" No SE;
    ToGlobal "toGlobal" "('a -> 'b) -> 'a -> 'b" No NONE;
    ToLocal "toLocal" "('a -> 'b) -> 'a -> 'b" No NONE;
    ToPrivate "toPrivate" "('a -> 'b) -> 'a -> 'b" No NONE;
    AsVector "asVector" "(w: i64) -> [k]'a -> [k / w](vec w 'a)" No SDE;
    AsScalar "asScalar" "[n](vec w 'a) -> [n * w]'a" No SDE;
    Materialise "materialise" "'a -> 'a" Yes NONE;
    Nodes "nodes" "'d -> [?]'node" No NONE;
    RootOf "root_of" "'d -> i64" No NONE;
    FromNodes "from_nodes" "i64 -> [n]'node -> 'd" No NONE;
    Reach "reach" "'d -> [?]'node" No NONE;
    Constructed "constructed" "[n]'node -> 'd" No NONE;
    Build "build" "(n: i64) -> i64 -> (i64 -> (i64 -> 'ref) -> 'node) -> 'd" Yes NONE;
}

impl Prim {
    pub fn name(self) -> &'static str {
        self.info().name
    }

    pub fn takes_chunk(self) -> TakesChunk {
        match self {
            Prim::Reduce
            | Prim::ReduceComm
            | Prim::Scan
            | Prim::ScanExclusive
            | Prim::ScanRows
            | Prim::ScanRowsExclusive
            | Prim::Filter
            | Prim::Partition
            | Prim::ReduceByIndex => TakesChunk::Yes,
            _ => TakesChunk::No,
        }
    }

    /// Whether the operation computes nothing: it says where the elements of its result are, or what they are by their number.
    pub fn is_view(self) -> bool {
        match self {
            Prim::Zip
            | Prim::Unzip
            | Prim::Concat
            | Prim::Reverse
            | Prim::Rotate
            | Prim::Transpose
            | Prim::Split
            | Prim::Join
            | Prim::Slide
            | Prim::Pad
            | Prim::PadEdge
            | Prim::Take
            | Prim::Drop
            | Prim::Iota
            | Prim::Range
            | Prim::Replicate
            | Prim::Flatten
            | Prim::Unflatten
            | Prim::Segments
            | Prim::Jagged
            | Prim::AsVector
            | Prim::AsScalar => true,
            Prim::Map
            | Prim::Reduce
            | Prim::ReduceComm
            | Prim::ReduceSeq
            | Prim::Scan
            | Prim::ScanExclusive
            | Prim::ScanRows
            | Prim::ScanRowsExclusive
            | Prim::Filter
            | Prim::Partition
            | Prim::ReduceByIndex
            | Prim::Gather
            | Prim::Permute
            | Prim::Scatter
            | Prim::Length
            | Prim::ToGlobal
            | Prim::ToLocal
            | Prim::ToPrivate
            | Prim::Materialise
            | Prim::Nodes
            | Prim::RootOf
            | Prim::FromNodes
            | Prim::Reach
            | Prim::Constructed
            | Prim::Build => false,
        }
    }

    pub fn from_name(name: &str) -> Option<Prim> {
        Prim::ALL.iter().copied().find(|prim| prim.name() == name)
    }
}
