//! The table of primitives.

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
    pub takes_effect: TakesEffect,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakesLevel {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakesEffect {
    Yes,
    No,
}

/// Whether the number of a chunk may be written on an operation: its iterations communicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakesChunk {
    Yes,
    No,
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
                            takes_effect: TakesEffect::$effect,
                        };
                        &INFO
                    })*
                }
            }
        }
    };
}

primitives! {
    Map "map" "('a -> 'b) -> [n]'a -> [n]'b" Yes Yes;
    Reduce "reduce" "('a -> 'a -> 'a) -> 'a -> [n]'a -> 'a" Yes Yes;
    ReduceComm "reduce_comm" "('a -> 'a -> 'a) -> 'a -> [n]'a -> 'a" Yes Yes;
    ReduceSeq "reduceSeq" "('b -> 'a -> 'b) -> 'b -> [n]'a -> 'b" No Yes;
    Scan "scan" "('a -> 'a -> 'a) -> 'a -> [n]'a -> [n]'a" Yes Yes;
    ScanExclusive "scan_exclusive" "('a -> 'a -> 'a) -> 'a -> [n]'a -> [n]'a" Yes Yes;
    Filter "filter" "('a -> bool) -> [n]'a -> [?]'a" Yes Yes;
    Partition "partition" "('a -> bool) -> [n]'a -> ([?]'a, [?]'a)" Yes Yes;
    ReduceByIndex "reduce_by_index" "[k]'a -> ('a -> 'a -> 'a) -> 'a -> [n]'i -> [n]'a -> [k]'a" Yes Yes;
    Gather "gather" "[n]'i -> [m]'a -> [n]'a" Yes Yes;
    Permute "permute" "[n]'i -> [n]'a -> [n]'a" Yes Yes;
    Scatter "scatter" "[k]'a -> [n]'i -> [n]'a -> [k]'a" Yes Yes;
    Iota "iota" "(n: i64) -> [n]i64" Yes Yes;
    Range "range" "i64 -> i64 -> i64 -> [?]i64" Yes Yes;
    Replicate "replicate" "(n: i64) -> 'a -> [n]'a" Yes Yes;
    Length "length" "[n]'a -> i64" No No;
    Zip "zip" "[n]'a -> [n]'b -> [n]('a, 'b)" No Yes;
    Unzip "unzip" "[n]('a, 'b) -> ([n]'a, [n]'b)" No Yes;
    Concat "concat" "[n]'a -> [m]'a -> [n + m]'a" Yes Yes;
    Reverse "reverse" "[n]'a -> [n]'a" Yes Yes;
    Rotate "rotate" "i64 -> [n]'a -> [n]'a" Yes Yes;
    Transpose "transpose" "[n][m]'a -> [m][n]'a" Yes Yes;
    Split "split" "(m: i64) -> [k]'a -> [k / m][m]'a" No Yes;
    Join "join" "[n][m]'a -> [n * m]'a" No Yes;
    Slide "slide" "(size: i64) -> i64 -> [n]'a -> [?][size]'a" Yes Yes;
    Pad "pad" "(l: i64) -> (r: i64) -> 'a -> [n]'a -> [l + n + r]'a" Yes Yes;
    PadEdge "pad_edge" "(l: i64) -> (r: i64) -> [n]'a -> [l + n + r]'a" Yes Yes;
    Take "take" "(k: i64) -> [n]'a -> [k]'a" No Yes;
    Drop "drop" "(k: i64) -> [n]'a -> [n - k]'a" No Yes;
    Flatten "flatten" "[n][?]'a -> [?]'a" No Yes;
    Unflatten "unflatten" "[n + 1]i64 -> [m]'a -> [n][?]'a" No Yes;
    Segments "segments" "[n][?]'a -> [n + 1]i64" No No;
    Jagged "jagged" "[n][m]'a -> [n][?]'a" No Yes;
    ToGlobal "toGlobal" "('a -> 'b) -> 'a -> 'b" No No;
    ToLocal "toLocal" "('a -> 'b) -> 'a -> 'b" No No;
    ToPrivate "toPrivate" "('a -> 'b) -> 'a -> 'b" No No;
    AsVector "asVector" "(w: i64) -> [k]'a -> [k / w](vec w 'a)" No Yes;
    AsScalar "asScalar" "[n](vec w 'a) -> [n * w]'a" No Yes;
    Materialise "materialise" "'a -> 'a" Yes No;
    Nodes "nodes" "'d -> [?]'node" No No;
    RootOf "root_of" "'d -> i64" No No;
    FromNodes "from_nodes" "i64 -> [n]'node -> 'd" No No;
    Build "build" "(n: i64) -> i64 -> (i64 -> (i64 -> 'ref) -> 'node) -> 'd" Yes No;
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
            | Prim::Build => false,
        }
    }

    pub fn from_name(name: &str) -> Option<Prim> {
        Prim::ALL.iter().copied().find(|prim| prim.name() == name)
    }
}
