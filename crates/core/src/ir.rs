//! The definition of Core.
//!
//! ```text
//! fun dot {n} (xs: [n]f32, ys: [n]f32): f32 =
//!   let ps: [n]f32 = map (\(x: f32, y: f32): f32 -> let p: f32 = x * y in p) xs ys
//!   let s: f32 = reduce (\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 ps
//!   in s
//! ```
//!
//! - Every intermediate value has a name (A-normal form); every name is bound once in the whole program.
//! - A *context* stands in braces before the values of patterns, parameters, results and calls. Today it holds sizes
//!   (`i64` variables that types of the same pattern may mention); memory blocks and the components of their index
//!   functions join it when memory is introduced.
//! - A size in a type is a polynomial over `i64` variables in scope. An `i64` variable bound to a sum, difference or
//!   product of `i64` atoms equals that polynomial, to the checker as well.
//! - Functions never appear as values: operations take lambdas in place.

use almach_base::{Name, Span};
use almach_nat::Poly;
use almach_prim::{Annotation, Chunk, Prim};
use almach_value::{BinOp, Scalar, ScalarType, TernOp, UnOp, ValueType};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A variable. The number is its identity; the name is for people.
#[derive(Clone)]
pub struct Var {
    pub id: u32,
    pub name: Name,
}

impl PartialEq for Var {
    fn eq(&self, other: &Var) -> bool {
        self.id == other.id
    }
}

impl Eq for Var {}

impl PartialOrd for Var {
    fn partial_cmp(&self, other: &Var) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Var {
    fn cmp(&self, other: &Var) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Hash for Var {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.name, self.id)
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.name, self.id)
    }
}

/// A size: a polynomial over `i64` variables.
pub type Size = Poly<Var>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ForeignId(pub u32);

/// A whole program. `DataId`, `FunId` and `ForeignId` index the vectors.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub data: Vec<DataDef>,
    pub foreign: Vec<ForeignDef>,
    pub functions: Vec<Function>,
    pub entries: Vec<Entry>,
    /// Variables with this number or a higher one are free for passes to take.
    pub next_var: u32,
}

impl Program {
    /// One function by itself, as the first of a program, with its entries. What it calls is not there.
    pub fn alone(&self, function: FunId) -> Program {
        let entries = self.entries.iter().filter(|entry| entry.function == function);
        Program {
            data: self.data.clone(),
            foreign: self.foreign.clone(),
            functions: self
                .functions
                .get(function.0 as usize)
                .cloned()
                .into_iter()
                .collect(),
            entries: entries
                .map(|entry| Entry {
                    function: FunId(0),
                    ..entry.clone()
                })
                .collect(),
            next_var: self.next_var,
        }
    }
}

/// A sum type with its type arguments filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct DataDef {
    /// What the user would write, made an identifier where needed: `Maybe_f32`.
    pub name: Name,
    /// Whether values are recursive data, which have nodes. A value that may contain another of its type is one, or each that it
    /// contains is in a recursive datum in it (`Maybe Tree` in `Tree`).
    pub recursive: Recursive,
    pub constructors: Vec<ConstructorDef>,
    /// In node values of this type, sums that hold data of it are others that hold positions: `(State, State_positions)`.
    pub parts: Vec<(DataId, DataId)>,
}

impl DataDef {
    /// A field's type in a node value of this type.
    pub fn with_positions(&self, own: DataId, field: &Type) -> Type {
        match field {
            Type::Data(id) if *id == own => Type::I64,
            Type::Data(id) => Type::Data(self.part(*id).unwrap_or(*id)),
            Type::Scalar(_) | Type::Vector(..) | Type::Node(_) => field.clone(),
            Type::Tuple(parts) => {
                Type::Tuple(parts.iter().map(|part| self.with_positions(own, part)).collect())
            }
            Type::Array(dim, element) => {
                Type::Array(dim.clone(), Box::new(self.with_positions(own, element)))
            }
        }
    }

    /// What a sum is in node values of this type, where that is another.
    pub fn part(&self, id: DataId) -> Option<DataId> {
        let known = self.parts.iter().find(|(whole, _)| *whole == id);
        known.map(|(_, with_positions)| *with_positions)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recursive {
    Yes,
    No,
}

/// The outermost dimension of an array in a field may be [`Dim::Jagged`]: every value has its own size there.
#[derive(Clone, PartialEq, Debug)]
pub struct ConstructorDef {
    pub name: Name,
    pub fields: Vec<Type>,
}

/// A C function. Sizes follow the convention of the design; a result's outermost `Jagged` is a size it chooses.
#[derive(Clone, PartialEq, Debug)]
pub struct ForeignDef {
    pub name: Name,
    pub context: Vec<Var>,
    pub params: Vec<Param>,
    pub result: ResultType,
    pub span: Span,
}

/// A function. Recursive groups call each other by `FunId`.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub name: Name,
    /// Sizes the caller passes.
    pub context: Vec<Var>,
    pub params: Vec<Param>,
    pub result: ResultType,
    pub body: Body,
    pub span: Span,
}

/// A function callable from outside. Its context is solved from the shapes of the arguments: a parameter whose
/// dimension is a context variable alone gives its value, all other dimensions are then checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub name: Name,
    pub function: FunId,
    pub params: Vec<(Name, ValueType)>,
    /// The function's several results, as one value for the user: its values in order are the components where
    /// `result` is a tuple or record and the function has several results, else the one value.
    pub result: ValueType,
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Scalar(ScalarType),
    /// `vec n t`.
    Vector(u32, ScalarType),
    /// `()` is the empty tuple. Records are tuples here.
    Tuple(Vec<Type>),
    Array(Dim, Box<Type>),
    Data(DataId),
    /// A node value of a recursive type: its constructors with `i64` positions where the type mentions itself.
    Node(DataId),
}

/// One dimension. `Jagged` stands only below another array or in a constructor's field.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    Size(Size),
    Jagged,
}

/// Types of the values that a body, operation or call gives, over the sizes its context binds.
#[derive(Clone, PartialEq, Debug)]
pub struct ResultType {
    pub context: Vec<Var>,
    pub types: Vec<Type>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub var: Var,
    pub ty: Type,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Atom {
    Var(Var),
    Const(Scalar),
}

/// Statements, then what the body gives. The result's context atoms are `i64`.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    pub stmts: Vec<Stmt>,
    pub context: Vec<Atom>,
    pub values: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub pattern: Pattern,
    pub exp: Exp,
    /// Where run-time errors of this statement point.
    pub span: Span,
}

/// What a statement binds. The context binds sizes that the expression alone knows (`filter`); an expression gives
/// as many context values as its [`ResultType`] says, in that order.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    pub context: Vec<Var>,
    pub values: Vec<Param>,
}

/// A function written in place. The context binds the sizes of parameters that are jagged rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    pub context: Vec<Var>,
    pub params: Vec<Param>,
    pub result: ResultType,
    pub body: Body,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Exp {
    Atom(Atom),
    /// Scalar operators; on vectors, lane by lane.
    Unary(UnOp, Atom),
    Binary(BinOp, Atom, Atom),
    Ternary(TernOp, Atom, Atom, Atom),
    Tuple(Vec<Atom>),
    Project(Atom, u32),
    /// An array literal, with the type of its elements (it may be empty). Elements of a jagged literal are arrays of
    /// any size.
    Array(Vec<Atom>, Type),
    Construct {
        data: DataId,
        constructor: u32,
        fields: Vec<Atom>,
    },
    /// `#C`.
    ConstructNode {
        data: DataId,
        constructor: u32,
        fields: Vec<Atom>,
    },
    If {
        condition: Atom,
        then: Body,
        otherwise: Body,
        result: ResultType,
    },
    /// On a value of type `Data` or `Node`. Arms are by constructor, each at most once; `default` takes the others.
    Case {
        scrutinee: Atom,
        arms: Vec<Arm>,
        default: Option<Body>,
        result: ResultType,
    },
    Loop(Box<Loop>),
    Call {
        function: FunId,
        context: Vec<Atom>,
        args: Vec<Atom>,
    },
    Foreign {
        function: ForeignId,
        context: Vec<Atom>,
        args: Vec<Atom>,
    },
    /// The primitives of `almach_prim`, with their functions in place.
    Op(Op),
    /// `a[i, j]`: as many indices as wanted; fewer than dimensions gives a row. Any integer type.
    Index {
        array: Atom,
        indices: Vec<Atom>,
    },
    /// `a[b:e:s, i]`: one per leading dimension.
    Slice {
        array: Atom,
        parts: Vec<SlicePart>,
    },
    /// `a with [i, b:e] = v`.
    Update {
        array: Atom,
        parts: Vec<SlicePart>,
        value: Atom,
        in_place: InPlace,
    },
    /// The same value at another type: sizes that the types do not make equal are checked, and a regular array may
    /// become jagged or a jagged one (of equal rows) regular.
    Coerce {
        value: Atom,
        to: Type,
    },
    /// Gives `()`, or fails with the text. `code` tells the kinds apart (a user's `assert`, a compiler's check).
    Assert {
        condition: Atom,
        text: Name,
    },
    /// Gives its value; prints it where that is possible.
    Trace {
        label: Name,
        value: Atom,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    Required,
    WherePossible,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    pub constructor: u32,
    /// Sizes of array fields.
    pub context: Vec<Var>,
    pub fields: Vec<Param>,
    pub body: Body,
}

/// `loop {c = c0} (x = x0, …) for i < n do body`. The body gives the next context and values; the types of the
/// parameters may mention the loop's context and sizes from outside. The result is the last state.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    pub context: Vec<(Var, Atom)>,
    pub params: Vec<(Param, Atom)>,
    pub form: LoopForm,
    pub body: Body,
}

#[derive(Clone, PartialEq, Debug)]
pub enum LoopForm {
    /// `i` counts from 0 while it is less than the bound (an `i64` or any integer; `i` has its type).
    For { index: Param, bound: Atom },
    /// Evaluated on the current state before every iteration; gives a boolean.
    While(Body),
}

/// `Slice` is half open; parts left out are resolved by elaboration, so all three are there. With a negative step it
/// counts down from `begin` to just above `end` (`end` may be -1). `count` is how many it takes: the size of the
/// result's dimension, bound to an atom so that types can mention it.
#[derive(Clone, PartialEq, Debug)]
pub enum SlicePart {
    At(Atom),
    Slice { begin: Atom, count: Atom, step: Atom },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Op {
    pub prim: Prim,
    pub annotation: Annotation,
    pub functions: Vec<Lambda>,
    pub args: Vec<Atom>,
}

impl Op {
    /// How many elements are combined on their own first. Only values of one size are: rows with sizes of their own, and data,
    /// are combined in order whatever is written.
    pub fn grouping(&self) -> Option<Chunk> {
        fn has_one_size(ty: &Type) -> bool {
            match ty {
                Type::Scalar(_) | Type::Vector(..) => true,
                Type::Tuple(parts) => parts.iter().all(has_one_size),
                Type::Array(Dim::Size(_), element) => has_one_size(element),
                Type::Array(Dim::Jagged, _) | Type::Data(_) | Type::Node(_) => false,
            }
        }
        let plain = |function: &Lambda| {
            function.result.context.is_empty() && function.result.types.iter().all(has_one_size)
        };
        self.annotation.chunk.filter(|_| self.functions.iter().all(plain))
    }
}
