//! The primitives (Figure 4 and section 6.2) in one table. A primitive *is* its type: the checker, the translation and
//! both interpreters read the same row.
//!
//! Types are written as the paper writes them. Families (tuples of any width, operators at every type) have their
//! rows made from their parameters; `fill` and `open` quantify over a type with holes and are given by rule.

mod border;

use crate::parse::parse_phrase_type;
use crate::phrase::{Instance, Phrase};
use crate::store::{Row, TAG};
use crate::ty::{Data, Kind, Nat, PhraseType, Substitution};
use almach_base::{Code, Name, Span};
use almach_prim::{Chunk, Level};
use almach_value::{BinOp, ForeignType, Scalar, ScalarType, TernOp, UnOp, ValueType};
use std::cell::RefCell;
use std::collections::HashMap;

/// What a scalar operator works on: scalars, or short vectors lane by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    pub scalar: ScalarType,
    /// Lanes; none for a scalar.
    pub width: Option<u32>,
}

/// Where `new` puts a variable (section 6.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Space {
    /// The back end decides.
    Any,
    Global,
    Local,
    Private,
}

/// Where one buffer of a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Home {
    Own,
    /// In that buffer of another variable, from the cell on that the next size of the primitive says. The sizes behind it say
    /// how far apart the elements of each dimension are; where there are none, the cells are consecutive.
    Inside {
        variable: Name,
        buffer: usize,
        strides: usize,
    },
    /// The very cells that an acceptor, or a component of it, writes to.
    Same {
        acceptor: Name,
        component: Option<usize>,
    },
}

impl Home {
    /// The variable whose memory it is.
    pub fn variable(&self) -> Option<&Name> {
        match self {
            Home::Own => None,
            Home::Inside { variable: name, .. } | Home::Same { acceptor: name, .. } => Some(name),
        }
    }

    /// The same where a name stands for a phrase. What is no name, nor a part of what has one, has no memory of its own to be in.
    pub fn substitute(&mut self, phrase_of: impl FnOnce(&Name) -> Option<Phrase>) {
        fn root(phrase: &Phrase) -> Option<Name> {
            match phrase.unmarked() {
                Phrase::Var(name) => Some(name.clone()),
                Phrase::Project(_, inner) => root(inner),
                _ => None,
            }
        }
        let Some(by) = self.variable().and_then(phrase_of) else {
            return;
        };
        match (root(&by), &mut *self) {
            (Some(new), Home::Inside { variable: name, .. } | Home::Same { acceptor: name, .. }) => {
                *name = new
            }
            (None, Home::Same { .. }) => *self = Home::Own,
            (None, Home::Inside { .. }) | (_, Home::Own) => {}
        }
    }

    /// How many sizes of the primitive it takes: the first cell, and the strides.
    pub fn numbers(&self) -> usize {
        match self {
            Home::Own | Home::Same { .. } => 0,
            Home::Inside { strides, .. } => 1 + strides,
        }
    }
}

/// A place where a run may end with an error.
#[derive(Clone, PartialEq, Debug)]
pub struct Site {
    pub code: Code,
    pub span: Span,
    /// The message; `{}` stands for the next argument.
    pub text: Name,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanKind {
    Inclusive,
    Exclusive,
}

/// What a combinator writes for an element of its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// The element.
    Element,
    /// What a function makes of it: a map of the result, which itself is never in memory.
    Mapped,
}

macro_rules! plain_primitives {
    ($($(#[$doc:meta])* $variant:ident $name:literal $ty:literal;)*) => {
        /// A primitive. Those without parameters have their type in the table of `prim.rs`.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Prim {
            $($(#[$doc])* $variant,)*
            Literal(Scalar),
            Unary(UnOp, Operand),
            Binary(BinOp, Operand),
            Ternary(TernOp, Operand),
            /// A tuple of that many components, and one component of it.
            Tuple(usize),
            Get(usize, usize),
            TupleAcc(usize, usize),
            /// A place for tuples of which one component is kept: the others are written nowhere (Lin, eq. 5.44 and 5.45).
            OnlyAcc(usize, usize),
            Zip(usize),
            /// One component of every element.
            Unzip(usize, usize),
            ZipAcc(usize, usize),
            /// One acceptor of tuples out of one acceptor per component.
            UnzipAcc(usize),
            /// `y[i] = xs[is[i]]` for indices of that type, which are in range.
            Gather(ScalarType),
            /// Element `i` goes to cell `is[i]`, for indices of that type that are a permutation.
            PermuteAcc(ScalarType),
            /// `vec n t` (section 6.2).
            AsVector(u32, ScalarType),
            AsScalar(u32, ScalarType),
            AsVectorAcc(u32, ScalarType),
            AsScalarAcc(u32, ScalarType),
            Splat(u32, ScalarType),
            Map(Level),
            MapI(Level),
            ParFor(Level),
            /// A loop over rows, which lie in one array: the place of each is what its bounds cut out. The bounds cut the array into
            /// consecutive pieces, so no two rows share a place.
            ParRows(Level),
            New(Space),
            /// A variable whose buffers are parts of other variables' (the memory plan). The program means the same without: where
            /// a variable lives is an annotation, which the type ignores but for its sizes, one per buffer that is not its own.
            NewIn(Vec<Home>),
            /// With a chunk, so many elements are combined on their own first (`docs/collectives.md`).
            ScanI(Level, ScanKind, Option<Chunk>, Output),
            /// A scan that starts again with every row. The bounds of the rows cut the elements into consecutive pieces.
            ScanRowsI(Level, ScanKind, Option<Chunk>),
            /// Chunks of so many elements are combined on their own, then one after the other.
            ReduceChunksI(Level, Chunk),
            FilterI(Level, Option<Chunk>, Output),
            PartitionI(Level, Option<Chunk>),
            /// Writes `xs[i]` to `is[i]`; two different values for one cell end the run at the site.
            ScatterI(Level, ScalarType, Box<Site>),
            /// Writes `xs[i]` to `is[i]`; indices that are no permutation end the run at the site.
            PermuteI(Level, ScalarType, Box<Site>),
            /// With a chunk, so many parts have bins of their own, where the bins are few.
            ReduceByIndexI(Level, ScalarType, Option<Chunk>),
            /// Ends the run with this error where the condition is false.
            Check(Box<Site>, Vec<ScalarType>),
            /// Calls a C function; what it gives goes to the acceptor, a cell where it has arrays.
            Foreign(Box<ForeignType>),
            /// Prints a value of this type, behind the label.
            Trace(Name, Box<ValueType>),
            /// Gives a cell its sizes, and an acceptor for its new contents.
            Fill,
            /// Reads a cell.
            Open,
            /// The constructor of a row of a store.
            Tag(Name),
            /// A column of a row of a store.
            Column(Name, u32, ScalarType),
            /// Makes a row of a store, and gives its number.
            Construct(Box<Row>),
            /// Makes rows that are a table of their own, and gives the number of the first. The function gets that number and
            /// which of the rows to fill.
            NewTable(Level, Name, Vec<ScalarType>),
            /// Makes rows that are an array of a cell, and gives the number of the first.
            NewRows(Level, Name, Vec<ScalarType>),
            /// The table a row belongs to: its first row, and how many there are. A row that `construct` made gets a table
            /// of what can be reached from it, depth first in the order of columns, with itself the first; that is
            /// remembered.
            TableOf(Name),
            /// A table of exactly what can be reached from a row, depth first in the order of columns, with the row itself the
            /// first: its first row, and how many there are.
            ReachOf(Name),
            /// Of a store whose rows refer to one other at most: the rows that can be reached from one, in order, and the position
            /// among them of the one that the last refers to, or -1.
            OrderOf(Name),
            /// The same for an array that says of each position which one it refers to, or -1: the positions that can be reached from one.
            OrderIn(ScalarType),
            /// Makes rows as [`Prim::NewTable`] does, which are in no table.
            NewCells(Level, Name, Vec<ScalarType>),
            /// As [`Prim::NewTable`], but each row is in the table that its first column says.
            NewGroup(Level, Name, Vec<ScalarType>),
            /// Copies what can be reached from a row through rows of all types of its group to a table, and gives the row there.
            /// A row that is in a table brings that table, whole and in its order; the first column says so.
            GroupOf(Name),
        }

        impl Prim {
            /// The name, and for a primitive without parameters its type.
            fn row(&self) -> (&'static str, Option<&'static str>) {
                match self {
                    $(Prim::$variant => ($name, Some($ty)),)*
                    _ => (self.family_name(), None),
                }
            }

            /// The primitive without parameters of that name.
            pub fn plain(name: &str) -> Option<Prim> {
                match name {
                    $($name => Some(Prim::$variant),)*
                    _ => None,
                }
            }

            /// All primitives without parameters.
            pub const PLAIN: &'static [Prim] = &[$(Prim::$variant),*];
        }
    };
}

plain_primitives! {
    // Functional primitives (Fig. 4a).
    NatValue "nat" "(n: nat) -> exp[i64]";
    Select "select" "(s: data) -> exp[bool] -> exp[s] -> exp[s] -> exp[s]";
    Reduce "reduce" "(n: nat) -> (s: data) -> (t: data) -> (exp[s] -> exp[t] -> exp[t]) -> exp[t] -> exp[n.s] -> exp[t]";
    /// `n` rows of `m` (the paper's text has the two swapped).
    Split "split" "(n: nat) -> (m: nat) -> (s: data) -> exp[(n*m).s] -> exp[n.m.s]";
    Join "join" "(n: nat) -> (m: nat) -> (s: data) -> exp[n.m.s] -> exp[(n*m).s]";
    Iota "iota" "(n: nat) -> exp[n.i64]";
    Replicate "replicate" "(n: nat) -> (s: data) -> exp[s] -> exp[n.s]";
    Transpose "transpose" "(n: nat) -> (m: nat) -> (s: data) -> exp[n.m.s] -> exp[m.n.s]";
    Reverse "reverse" "(n: nat) -> (s: data) -> exp[n.s] -> exp[n.s]";
    /// Element `i` is element `begin + step*i`, which is in range.
    Slice "slice" "(n: nat) -> (m: nat) -> (s: data) -> exp[i64] -> exp[i64] -> exp[n.s] -> exp[m.s]";
    /// To the left by an amount in `0..n` (or 0).
    Rotate "rotate" "(n: nat) -> (s: data) -> exp[i64] -> exp[n.s] -> exp[n.s]";
    /// `w` windows of `m` elements, that many elements apart.
    Slide "slide" "(n: nat) -> (w: nat) -> (m: nat) -> (s: data) -> exp[i64] -> exp[n.s] -> exp[w.m.s]";
    Pad "pad" "(l: nat) -> (n: nat) -> (r: nat) -> (s: data) -> exp[s] -> exp[n.s] -> exp[(l+n+r).s]";
    PadEdge "padEdge" "(l: nat) -> (n: nat) -> (r: nat) -> (s: data) -> exp[n.s] -> exp[(l+n+r).s]";
    Concat "concat" "(n: nat) -> (m: nat) -> (s: data) -> exp[n.s] -> exp[m.s] -> exp[(n+m).s]";
    /// The same data at a type with other sizes, which are equal when it runs.
    Coerce "coerce" "(s: data) -> (t: data) -> exp[s] -> exp[t]";
    Idx "idx" "(n: nat) -> (s: data) -> exp[n.s] -> exp[idx[n]] -> exp[s]";
    /// An index that is in range.
    ToIndex "toIndex" "(n: nat) -> exp[i64] -> exp[idx[n]]";
    OfIndex "ofIndex" "(n: nat) -> exp[idx[n]] -> exp[i64]";

    // Imperative primitives (Fig. 4b).
    Skip "skip" "comm";
    Seq "seq" "comm * comm -> comm";
    Assign "assign" "(s: data) -> acc[s] * exp[s] -> comm";
    For "for" "(n: nat) -> (exp[idx[n]] -> comm) -> comm";
    If "if" "exp[bool] * (comm * comm) -> comm";
    While "while" "exp[bool] * comm -> comm";
    /// A run-time number as a size.
    LetNat "letNat" "exp[i64] -> ((n: nat) -> comm) -> comm";
    /// A cell that holds nothing yet, and grows.
    NewGrowing "newGrowing" "(s: data) -> (var[some k'. k'.s] -> comm) -> comm";
    /// Makes a growing cell longer: an acceptor for so many elements behind those it holds.
    Append "append" "(s: data) -> var[some k'. k'.s] -> exp[i64] -> ((m: nat) -> acc[m.s] -> comm) -> comm";
    /// The first variable becomes what the second is, which is not to be read again before it is written.
    Move "move" "(s: data) -> var[s] * var[s] -> comm";
    IdxAcc "idxAcc" "(n: nat) -> (s: data) -> acc[n.s] -> exp[idx[n]] -> acc[s]";
    SplitAcc "splitAcc" "(n: nat) -> (m: nat) -> (s: data) -> acc[n.m.s] -> acc[(n*m).s]";
    JoinAcc "joinAcc" "(n: nat) -> (m: nat) -> (s: data) -> acc[(n*m).s] -> acc[n.m.s]";
    TransposeAcc "transposeAcc" "(n: nat) -> (m: nat) -> (s: data) -> acc[m.n.s] -> acc[n.m.s]";
    ReverseAcc "reverseAcc" "(n: nat) -> (s: data) -> acc[n.s] -> acc[n.s]";
    /// The cells `begin + step*i`, which are distinct and in range.
    SliceAcc "sliceAcc" "(n: nat) -> (m: nat) -> (s: data) -> exp[i64] -> exp[i64] -> acc[n.s] -> acc[m.s]";
    RotateAcc "rotateAcc" "(n: nat) -> (s: data) -> exp[i64] -> acc[n.s] -> acc[n.s]";
    TakeAcc "takeAcc" "(n: nat) -> (m: nat) -> (s: data) -> acc[(n+m).s] -> acc[n.s]";
    DropAcc "dropAcc" "(n: nat) -> (m: nat) -> (s: data) -> acc[(n+m).s] -> acc[m.s]";
    /// A place for arrays of which one element is kept: the others are written nowhere (Lin, eq. 5.43).
    AtAcc "atAcc" "(n: nat) -> (s: data) -> exp[idx[n]] -> acc[s] -> acc[n.s]";
    CoerceAcc "coerceAcc" "(s: data) -> (t: data) -> acc[t] -> acc[s]";
    /// Element by element: the inverse of a view of every element (Lin, eq. 5.46).
    MapAcc "mapAcc" "(n: nat) -> (s: data) -> (t: data) -> (acc[t] ->p acc[s]) -> acc[n.t] -> acc[n.s]";

    // Intermediate combinators (Fig. 4c); those at several levels are families.
    ReduceI "reduceI" "(n: nat) -> (s: data) -> (t: data) -> (exp[s] -> exp[t] -> acc[t] -> comm) -> exp[t] -> exp[n.s] -> (exp[t] -> comm) -> comm";
}

impl Prim {
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    fn family_name(&self) -> &'static str {
        match self {
            Prim::Literal(_) => "literal",
            Prim::Unary(..) => "unary",
            Prim::Binary(..) => "binary",
            Prim::Ternary(..) => "ternary",
            Prim::Tuple(_) => "tuple",
            Prim::Get(..) => "get",
            Prim::TupleAcc(..) => "tupleAcc",
            Prim::OnlyAcc(..) => "onlyAcc",
            Prim::Zip(_) => "zip",
            Prim::Unzip(..) => "unzip",
            Prim::ZipAcc(..) => "zipAcc",
            Prim::UnzipAcc(_) => "unzipAcc",
            Prim::Gather(_) => "gather",
            Prim::PermuteAcc(_) => "permuteAcc",
            Prim::AsVector(..) => "asVector",
            Prim::AsScalar(..) => "asScalar",
            Prim::AsVectorAcc(..) => "asVectorAcc",
            Prim::AsScalarAcc(..) => "asScalarAcc",
            Prim::Splat(..) => "splat",
            Prim::Map(_) => "map",
            Prim::MapI(_) => "mapI",
            Prim::ParFor(_) => "parfor",
            Prim::ParRows(_) => "parrows",
            Prim::New(_) | Prim::NewIn(_) => "new",
            Prim::ScanI(..) => "scanI",
            Prim::ScanRowsI(..) => "scanRowsI",
            Prim::ReduceChunksI(..) => "reduceChunksI",
            Prim::FilterI(..) => "filterI",
            Prim::PartitionI(..) => "partitionI",
            Prim::ScatterI(..) => "scatterI",
            Prim::PermuteI(..) => "permuteI",
            Prim::ReduceByIndexI(..) => "reduceByIndexI",
            Prim::Check(..) => "check",
            Prim::Foreign(_) => "foreign",
            Prim::Trace(..) => "trace",
            Prim::Fill => "fill",
            Prim::Open => "open",
            Prim::Tag(_) => "tag",
            Prim::Column(..) => "column",
            Prim::Construct(_) => "construct",
            Prim::NewTable(..) => "newTable",
            Prim::NewRows(..) => "newRows",
            Prim::TableOf(_) => "tableOf",
            Prim::ReachOf(_) => "reachOf",
            Prim::OrderOf(_) => "orderOf",
            Prim::OrderIn(_) => "orderIn",
            Prim::NewCells(..) => "newCells",
            Prim::NewGroup(..) => "newGroup",
            Prim::GroupOf(_) => "groupOf",
            _ => "",
        }
    }

    /// The closed type of the primitive; none where an operator does not apply to its operand, and for `fill` and
    /// `open`, whose type depends on their argument.
    pub fn scheme(&self) -> Option<PhraseType> {
        self.with_scheme(PhraseType::clone)
    }

    fn with_scheme<T>(&self, look: impl FnOnce(&PhraseType) -> T) -> Option<T> {
        let text = match self.row() {
            (_, Some(text)) => text.to_string(),
            _ => self.family_scheme()?,
        };
        thread_local! {
            static PARSED: RefCell<HashMap<String, Option<PhraseType>>> = RefCell::default();
        }
        PARSED.with_borrow_mut(|parsed| {
            parsed
                .entry(text)
                .or_insert_with_key(|text| parse_phrase_type(text).ok())
                .as_ref()
                .map(look)
        })
    }

    fn family_scheme(&self) -> Option<String> {
        let many = |count: usize, row: &dyn Fn(usize) -> String| (0..count).map(row).collect::<String>();
        let datas = |count: usize| many(count, &|at| format!("(s{at}: data) -> "));
        let list = |count: usize| match count {
            0 => "()".to_string(),
            1 => "(s0,)".to_string(),
            _ => format!(
                "({})",
                many(count, &|at| format!("{}s{at}", if at == 0 { "" } else { ", " }))
            ),
        };
        Some(match self {
            Prim::Literal(scalar) => format!("exp[{}]", scalar.ty()),
            Prim::Unary(op, on) => {
                let result = on.with(op.result_type(on.scalar)?);
                format!("exp[{on}] -> exp[{result}]")
            }
            Prim::Binary(op, on) => {
                let result = on.with(op.result_type(on.scalar)?);
                format!("exp[{on}] -> exp[{on}] -> exp[{result}]")
            }
            Prim::Ternary(op, on) => {
                let result = on.with(op.result_type(on.scalar)?);
                format!("exp[{on}] -> exp[{on}] -> exp[{on}] -> exp[{result}]")
            }
            Prim::Tuple(k) => {
                format!(
                    "{}{}exp[{}]",
                    datas(*k),
                    many(*k, &|at| format!("exp[s{at}] -> ")),
                    list(*k)
                )
            }
            Prim::Get(i, k) => format!("{}exp[{}] -> exp[s{i}]", datas(*k), list(*k)),
            Prim::TupleAcc(i, k) => format!("{}acc[{}] -> acc[s{i}]", datas(*k), list(*k)),
            Prim::OnlyAcc(i, k) => format!("{}acc[s{i}] -> acc[{}]", datas(*k), list(*k)),
            Prim::Zip(k) => {
                let arrays = many(*k, &|at| format!("exp[n.s{at}] -> "));
                format!("(n: nat) -> {}{arrays}exp[n.{}]", datas(*k), list(*k))
            }
            Prim::Unzip(i, k) => format!("(n: nat) -> {}exp[n.{}] -> exp[n.s{i}]", datas(*k), list(*k)),
            Prim::ZipAcc(i, k) => format!("(n: nat) -> {}acc[n.{}] -> acc[n.s{i}]", datas(*k), list(*k)),
            Prim::UnzipAcc(k) => {
                let arrays = many(*k, &|at| format!("acc[n.s{at}] -> "));
                format!("(n: nat) -> {}{arrays}acc[n.{}]", datas(*k), list(*k))
            }
            Prim::Gather(t) => {
                format!("(n: nat) -> (m: nat) -> (s: data) -> exp[n.{t}] -> exp[m.s] -> exp[n.s]")
            }
            Prim::PermuteAcc(t) => format!("(n: nat) -> (s: data) -> exp[n.{t}] -> acc[n.s] -> acc[n.s]"),
            Prim::AsVector(w, t) => format!("(m: nat) -> exp[({w}*m).{t}] -> exp[m.{t}<{w}>]"),
            Prim::AsScalar(w, t) => format!("(m: nat) -> exp[m.{t}<{w}>] -> exp[({w}*m).{t}]"),
            Prim::AsVectorAcc(w, t) => format!("(m: nat) -> acc[m.{t}<{w}>] -> acc[({w}*m).{t}]"),
            Prim::AsScalarAcc(w, t) => format!("(m: nat) -> acc[({w}*m).{t}] -> acc[m.{t}<{w}>]"),
            Prim::Splat(w, t) => format!("exp[{t}] -> exp[{t}<{w}>]"),
            Prim::New(_) => "(s: data) -> (var[s] -> comm) -> comm".into(),
            Prim::NewIn(homes) => {
                let numbers = homes.iter().map(Home::numbers).sum();
                let cells = many(numbers, &|at| format!("(cell{at}: nat) -> "));
                format!("{cells}(s: data) -> (var[s] -> comm) -> comm")
            }
            Prim::Check(_, arguments) => {
                let arguments: String = arguments.iter().map(|t| format!("exp[{t}] -> ")).collect();
                format!("exp[bool] -> {arguments}comm")
            }
            Prim::Tag(_) => format!("exp[i64] -> exp[{TAG}]"),
            Prim::Column(_, _, t) => format!("exp[i64] -> exp[{t}]"),
            Prim::Construct(row) => {
                let columns: String = row.columns.iter().map(|(_, t)| format!("exp[{t}] -> ")).collect();
                format!("{columns}acc[i64] -> comm")
            }
            Prim::TableOf(_) | Prim::ReachOf(_) => "exp[i64] -> acc[(i64, i64)] -> comm".into(),
            Prim::OrderOf(_) => "exp[i64] -> acc[some k'. k'.i64] -> acc[i64] -> comm".into(),
            Prim::OrderIn(t) => {
                format!("(n: nat) -> exp[n.{t}] -> exp[i64] -> acc[some k'. k'.i64] -> acc[i64] -> comm")
            }
            Prim::GroupOf(_) => "exp[i64] -> acc[i64] -> comm".into(),
            Prim::Foreign(function) => border::foreign_scheme(function)?,
            Prim::Trace(_, ty) => border::trace_scheme(ty)?,
            _ => self.levelled_scheme()?,
        })
    }

    /// Combinators whose bodies run once per element, possibly at once: what they are given must be passive.
    fn levelled_scheme(&self) -> Option<String> {
        let cell = "(exp[s] -> exp[s] -> acc[s] ->p comm)";
        Some(match self {
            Prim::Map(_) => {
                "(n: nat) -> (s: data) -> (t: data) -> (exp[s] -> exp[t]) -> exp[n.s] -> exp[n.t]".into()
            }
            Prim::MapI(_) => "(n: nat) -> (s: data) -> (t: data) -> (exp[s] -> acc[t] ->p comm) -> exp[n.s] -> acc[n.t] -> comm".into(),
            Prim::ParFor(_) => {
                "(n: nat) -> (s: data) -> acc[n.s] -> (exp[idx[n]] -> acc[s] ->p comm) -> comm".into()
            }
            Prim::ParRows(_) => {
                let row = "(exp[idx[n]] -> (m: nat) -> acc[m.s] ->p comm)";
                format!("(n: nat) -> (k: nat) -> (s: data) -> exp[n.(i64, i64)] -> acc[k.s] -> {row} -> comm")
            }
            Prim::ScanI(_, _, _, Output::Element) => {
                format!("(n: nat) -> (s: data) -> {cell} -> exp[s] -> exp[n.s] -> acc[n.s] -> comm")
            }
            Prim::ScanI(_, _, _, Output::Mapped) => {
                let mapped = "(exp[idx[n]] -> exp[s] -> acc[t] ->p comm)";
                format!("(n: nat) -> (s: data) -> (t: data) -> {cell} -> {mapped} -> exp[s] -> exp[n.s] -> acc[n.t] -> comm")
            }
            Prim::ScanRowsI(..) => {
                let rows = "exp[n.(i64, i64)] -> exp[m.s] -> acc[m.s]";
                format!("(m: nat) -> (n: nat) -> (s: data) -> {cell} -> exp[s] -> {rows} -> comm")
            }
            Prim::ReduceChunksI(..) => {
                format!("(n: nat) -> (s: data) -> {cell} -> exp[s] -> exp[n.s] -> acc[s] -> comm")
            }
            Prim::FilterI(_, _, Output::Element) => "(n: nat) -> (s: data) -> (exp[s] -> acc[bool] ->p comm) -> exp[n.s] -> acc[some k'. k'.s] -> comm".into(),
            Prim::FilterI(_, _, Output::Mapped) => "(n: nat) -> (s: data) -> (t: data) -> (exp[s] -> acc[bool] ->p comm) -> (exp[s] -> acc[t] ->p comm) -> exp[n.s] -> acc[some k'. k'.t] -> comm".into(),
            Prim::PartitionI(..) => "(n: nat) -> (s: data) -> (exp[s] -> acc[bool] ->p comm) -> exp[n.s] -> acc[some k' l'. (k'.s, l'.s)] -> comm".into(),
            Prim::ScatterI(_, t, _) => {
                format!("(n: nat) -> (k: nat) -> (s: data) -> exp[n.{t}] -> exp[n.s] -> var[k.s] -> comm")
            }
            Prim::PermuteI(_, t, _) => {
                format!("(n: nat) -> (s: data) -> exp[n.{t}] -> exp[n.s] -> acc[n.s] -> comm")
            }
            Prim::ReduceByIndexI(_, t, _) => format!(
                "(n: nat) -> (k: nat) -> (s: data) -> {cell} -> exp[n.{t}] -> exp[n.s] -> var[k.s] -> comm"
            ),
            Prim::NewTable(_, _, columns) | Prim::NewCells(_, _, columns) | Prim::NewGroup(_, _, columns) => {
                let columns: String = columns.iter().map(|t| format!(", {t}")).collect();
                let row = match columns.is_empty() {
                    true => format!("({TAG},)"),
                    false => format!("({TAG}{columns})"),
                };
                format!("(n: nat) -> (exp[i64] -> exp[idx[n]] -> acc[{row}] ->p comm) -> acc[i64] -> comm")
            }
            Prim::NewRows(_, _, columns) => {
                let row = Data::Tuple(columns.iter().map(|t| Data::Scalar(*t)).collect());
                format!("(n: nat) -> (exp[idx[n]] -> acc[{row}] ->p comm) -> acc[i64] -> comm")
            }
            _ => return None,
        })
    }
}

impl Operand {
    pub fn scalar(scalar: ScalarType) -> Operand {
        Operand { scalar, width: None }
    }

    fn with(self, scalar: ScalarType) -> Operand {
        Operand { scalar, ..self }
    }

    pub fn data(self) -> Data {
        match self.width {
            None => Data::Scalar(self.scalar),
            Some(width) => Data::Vector(width, self.scalar),
        }
    }
}

impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.width {
            None => write!(f, "{}", self.scalar),
            Some(width) => write!(f, "{}<{width}>", self.scalar),
        }
    }
}

/// The type of a primitive at its arguments.
pub fn instance_type(instance: &Instance) -> Result<PhraseType, String> {
    if let Prim::Fill | Prim::Open = instance.prim {
        return cell_type(instance);
    }
    let Some(mut scheme) = instance.prim.scheme() else {
        return Err(format!("`{}` is not defined", instance.prim));
    };
    let (mut nats, mut datas) = (instance.nats.iter(), instance.datas.iter());
    let mut filling = Substitution::default();
    while let PhraseType::Dependent(name, kind, body) = scheme {
        match kind {
            Kind::Nat => {
                let nat = nats
                    .next()
                    .ok_or_else(|| format!("no argument for the size `{name}`"))?;
                filling.nats.insert(name, nat.clone());
            }
            Kind::Data => {
                let data = datas
                    .next()
                    .ok_or_else(|| format!("no argument for the data type `{name}`"))?;
                filling.datas.insert(name, data.clone());
            }
        }
        scheme = *body;
    }
    match (nats.next(), datas.next()) {
        (None, None) => Ok(scheme.subst(&filling)),
        _ => Err(format!(
            "`{}` has too many size or type arguments",
            instance.prim.name()
        )),
    }
}

/// How many phrases a primitive takes.
pub fn arity(instance: &Instance) -> Result<usize, String> {
    fn phrases(ty: &PhraseType) -> usize {
        match ty {
            PhraseType::Fun(_, _, result) => 1 + phrases(result),
            PhraseType::Dependent(_, _, result) => phrases(result),
            PhraseType::Exp(_) | PhraseType::Acc(_) | PhraseType::Comm | PhraseType::Product(..) => 0,
        }
    }
    match instance.prim {
        Prim::Fill | Prim::Open => cell_type(instance).map(|ty| phrases(&ty)),
        _ => {
            let arity = instance.prim.with_scheme(phrases);
            arity.ok_or_else(|| format!("`{}` is not defined", instance.prim))
        }
    }
}

/// `fill : acc[some n. δ] -> exp[i64] -> ((n: nat) -> acc[δ] -> comm) -> comm` and
/// `open : exp[some n. δ] -> ((n: nat) -> exp[δ] -> comm) -> comm`, for any number of sizes.
fn cell_type(instance: &Instance) -> Result<PhraseType, String> {
    let [Data::Some(names, body)] = instance.datas.as_slice() else {
        return Err(format!("`{}` needs a type `some n. …`", instance.prim.name()));
    };
    let cell = Data::Some(names.clone(), body.clone());
    let (cell, contents, sizes) = match instance.prim {
        Prim::Fill => (
            PhraseType::Acc(cell),
            PhraseType::Acc((**body).clone()),
            names.len(),
        ),
        _ => (PhraseType::Exp(cell), PhraseType::Exp((**body).clone()), 0),
    };
    let mut inner = PhraseType::fun(contents, PhraseType::Comm);
    for name in names.iter().rev() {
        inner = PhraseType::Dependent(name.clone(), Kind::Nat, Box::new(inner));
    }
    let mut result = PhraseType::fun(inner, PhraseType::Comm);
    for _ in 0..sizes {
        result = PhraseType::fun(PhraseType::Exp(Data::Scalar(ScalarType::I64)), result);
    }
    Ok(PhraseType::fun(cell, result))
}

/// A size that is a variable.
pub fn nat_var(name: &Name) -> Nat {
    Nat::var(name.clone())
}
