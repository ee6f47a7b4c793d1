//! What the interpreter executes: Core compiled to instructions over numbered slots.
//!
//! A function has two files of registers: scalars in raw form ([`almach_value::raw`]), and boxed values (arrays and
//! data). Tuples are no values here but trees of registers, vectors one register per lane. Operations with functions
//! are loops in the code of the function they stand in, so that a call inside a `map` is a call like any other.
//!
//! Lowering makes [`Node`]s over registers without number; liveness marks last uses, allocation gives registers to
//! slots and flattens nodes to jumps.

use super::error::Site;
use crate::ir::ForeignId;
use almach_base::Name;
use almach_prim::Prim;
use almach_value::raw::{RawPartial, RawTernary, RawTotal, RawUnary};
use almach_value::{NodeReferences, ScalarType, Value, ValueType};
use std::sync::Arc;

/// A scalar register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct S(pub u32);

/// A register of boxed values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct B(pub u32);

/// A use of a boxed value that takes it where it is the last one, else copies the reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub reg: B,
    pub last: Last,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Last {
    Yes,
    No,
}

impl Use {
    pub(super) fn of(reg: B) -> Use {
        Use { reg, last: Last::No }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Scalar(S, ScalarType),
    Lanes(Box<[S]>, ScalarType),
    Tuple(Box<[Input]>),
    Boxed(Use),
}

/// Where a value goes.
#[derive(Clone, Debug)]
pub(super) enum Output {
    Scalar(S),
    Lanes(Box<[S]>),
    Tuple(Box<[Output]>),
    Boxed(B),
    /// Nobody asks for it.
    Ignored,
}

/// The shape of an array's elements, with sizes in registers.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Scalar(ScalarType),
    Vector(usize, ScalarType),
    Tuple(Box<[Shape]>),
    Row(S, Box<Shape>),
    Jagged(Box<Shape>),
    Boxed,
}

/// A type to coerce an array to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// What has no sizes.
    Same,
    Tuple(Box<[Target]>),
    Array(TargetDim, Box<Target>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum TargetDim {
    Size(S),
    Jagged,
}

/// A step from an array to a dimension further in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathStep {
    /// To the elements of the rows.
    Row,
    /// To one component of an array of tuples.
    Part(u32),
}

/// An index of any integer type.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexInput {
    pub reg: S,
    pub ty: ScalarType,
}

#[derive(Clone, Debug)]
pub(super) enum PartInput {
    At(IndexInput),
    Slice { begin: S, count: S, step: S },
}

/// How a constructor's value is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// Not recursive, or a node value.
    Sum,
    Datum,
}

/// A first-order operation on whole values.
#[derive(Clone, Debug)]
pub(super) enum WholeOp {
    Prim(Prim),
    /// The elements at positions that are known to be good (a `filter`'s).
    Select,
    Nodes(Arc<NodeReferences>),
    RootOf,
    FromNodes(Arc<NodeReferences>),
    Reach(Arc<NodeReferences>),
    /// With the cells of constructors without fields, by constructor.
    Constructed {
        references: Arc<NodeReferences>,
        constants: Arc<[Value]>,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Instr {
    Const(S, u64),
    Copy(S, S),
    Unary {
        function: RawUnary,
        to: S,
        arg: S,
    },
    Binary {
        function: RawTotal,
        to: S,
        left: S,
        right: S,
    },
    /// With a constant on the right.
    BinaryRight {
        function: RawTotal,
        to: S,
        left: S,
        right: u64,
    },
    /// With a constant on the left.
    BinaryLeft {
        function: RawTotal,
        to: S,
        left: u64,
        right: S,
    },
    Partial(Box<PartialInstr>),
    Ternary {
        function: RawTernary,
        to: S,
        args: [S; 3],
    },
    /// The commonest operators, without a call.
    Fast {
        op: FastOp,
        to: S,
        left: S,
        right: S,
    },

    Move(B, Use),
    Value(B, Value),
    Drop(B),

    Size(Box<SizeInstr>),
    /// An element of an array of scalars, finished or open, at an index that is known to be good.
    Fetch {
        to: S,
        array: B,
        at: S,
    },
    /// An element of any array, finished or open, at an index that is known to be good.
    FetchAny(Box<FetchInstr>),
    /// `a[i]` of an array of scalars.
    Index {
        to: S,
        array: B,
        at: S,
        ty: ScalarType,
        site: Site,
    },
    IndexAny(Box<IndexInstr>),
    SliceOf(Box<SliceInstr>),
    Update(Box<UpdateInstr>),
    /// One scalar of an array of scalars.
    UpdateScalar(Box<UpdateScalarInstr>),

    /// Starts an array that grows by pushing.
    Begin(Box<BeginInstr>),
    /// A scalar onto an array of scalars.
    Push {
        array: B,
        value: S,
    },
    PushAny(Box<PushInstr>),
    /// Opens an array for writing its elements in place, copying it first where it is shared.
    Open {
        to: B,
        array: Use,
        cells: Cells,
    },
    SetCell(Box<SetCellInstr>),
    /// Ends what `Begin` or `Open` started.
    Finish {
        to: B,
        array: Use,
    },
    /// As `Finish`, for cells held one by one.
    Pack(Box<PackInstr>),
    /// Whether an index is one of an open array, as a boolean.
    InRange {
        to: S,
        array: B,
        at: S,
    },
    /// An array of tuples out of component arrays of a length.
    MakeTuples(Box<MakeTuplesInstr>),

    Literal(Box<LiteralInstr>),
    Construct(Box<ConstructInstr>),
    Field(Box<FieldInstr>),
    Whole(Box<WholeInstr>),
    Coerce(Box<CoerceInstr>),
    Assert(Box<AssertInstr>),
    Trace(Box<TraceInstr>),
    Foreign(Box<ForeignInstr>),
    /// What only a compiler's mistake can reach.
    Bug(Box<str>),

    Call(Box<CallInstr>),
    TailCall(Box<CallInstr>),
    Return(Box<ReturnInstr>),

    // What allocation makes of structured nodes. Targets are positions in the code.
    Jump(u32),
    JumpUnless(S, u32),
    /// Sets the counter to 0; skips the loop where there is nothing to count.
    CountFrom {
        counter: S,
        bound: S,
        exit: u32,
    },
    CountOn {
        counter: S,
        bound: S,
        body: u32,
    },
    Switch {
        on: B,
        targets: Box<[u32]>,
    },
}

/// Operators worth their own case in the machine's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FastOp {
    AddI64,
    SubI64,
    MulI64,
    LtI64,
    AddI32,
    SubI32,
    MulI32,
    AddF32,
    SubF32,
    MulF32,
    DivF32,
    LtF32,
    AddF64,
    SubF64,
    MulF64,
    DivF64,
    LtF64,
}

#[derive(Clone, Debug)]
pub(super) struct PartialInstr {
    pub function: RawPartial,
    pub to: S,
    pub left: S,
    pub right: S,
    pub ty: ScalarType,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct SizeInstr {
    pub to: S,
    pub array: B,
    pub path: Box<[PathStep]>,
}

#[derive(Clone, Debug)]
pub(super) struct FetchInstr {
    pub to: Output,
    pub array: B,
    pub at: S,
}

#[derive(Clone, Debug)]
pub(super) struct IndexInstr {
    pub to: Output,
    pub array: B,
    pub indices: Box<[IndexInput]>,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct SliceInstr {
    pub to: B,
    pub array: B,
    pub parts: Box<[PartInput]>,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct UpdateInstr {
    pub to: B,
    pub array: Use,
    pub parts: Box<[PartInput]>,
    pub value: Input,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct UpdateScalarInstr {
    pub to: B,
    pub array: Use,
    pub at: IndexInput,
    pub value: S,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct BeginInstr {
    pub to: B,
    pub shape: Shape,
    /// How many elements it will have, at most.
    pub capacity: S,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct PushInstr {
    pub array: B,
    pub value: Input,
    pub site: Site,
}

/// How an open array holds its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cells {
    /// As the array does.
    Flat,
    /// One by one: their sizes may change.
    Separate,
}

#[derive(Clone, Debug)]
pub(super) struct SetCellInstr {
    pub array: B,
    pub at: S,
    pub value: Input,
}

#[derive(Clone, Debug)]
pub(super) struct PackInstr {
    pub to: B,
    pub array: Use,
    pub shape: Shape,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct MakeTuplesInstr {
    pub to: B,
    pub len: S,
    pub parts: Box<[Use]>,
}

#[derive(Clone, Debug)]
pub(super) struct LiteralInstr {
    pub to: B,
    pub shape: Shape,
    pub elements: Box<[Input]>,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct ConstructInstr {
    pub to: B,
    pub held: Held,
    pub constructor: u32,
    pub fields: Box<[Input]>,
}

#[derive(Clone, Debug)]
pub(super) struct FieldInstr {
    pub to: Output,
    pub of: B,
    pub index: u32,
}

#[derive(Clone, Debug)]
pub(super) struct WholeInstr {
    pub op: WholeOp,
    pub to: Output,
    pub args: Box<[Input]>,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct CoerceInstr {
    pub to: B,
    pub array: Use,
    pub target: Target,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct AssertInstr {
    pub condition: S,
    pub text: Name,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct TraceInstr {
    pub label: Name,
    pub value: Input,
    pub ty: ValueType,
}

#[derive(Clone, Debug)]
pub(super) struct ForeignInstr {
    pub function: ForeignId,
    pub args: Box<[Input]>,
    pub to: Box<[Output]>,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct CallInstr {
    pub function: u32,
    pub scalars: Box<[S]>,
    pub boxed: Box<[Use]>,
    /// Where the results go; empty for a tail call.
    pub scalar_results: Box<[S]>,
    pub boxed_results: Box<[B]>,
    pub site: Site,
}

#[derive(Clone, Debug)]
pub(super) struct ReturnInstr {
    pub scalars: Box<[S]>,
    pub boxed: Box<[Use]>,
}

/// Structured code, before allocation.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Instr(Instr),
    If {
        condition: S,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    /// By the constructor of a value; one block per constructor.
    Switch {
        on: B,
        arms: Vec<Vec<Node>>,
        /// Which block a constructor goes to.
        targets: Vec<usize>,
    },
    /// The body for `counter` from 0 while less than `bound`.
    Count {
        counter: S,
        bound: S,
        body: Vec<Node>,
        inner: Inner,
    },
    While {
        head: Vec<Node>,
        condition: S,
        body: Vec<Node>,
        inner: Inner,
    },
}

/// What is inside a loop: registers from these numbers on are local to one iteration.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub first_scalar: u32,
    pub first_boxed: u32,
    /// Boxed registers of outside that the loop touches; liveness fills them in.
    pub outer: Vec<u32>,
}

/// A function ready to run. Its parameters are in the first slots of each file, in order.
#[derive(Debug)]
pub(super) struct FunctionCode {
    pub name: Name,
    pub code: Vec<Instr>,
    pub scalar_slots: u32,
    pub boxed_slots: u32,
}
