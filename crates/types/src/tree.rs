//! The typed tree: what the type checker gives to elaboration.
//!
//! Everything is resolved: names are numbers, every expression has its type, polymorphic uses carry the types they
//! are used at, surface sugar is gone (sections are lambdas, pipes are applications, `unzip`-like prelude functions
//! are ordinary definitions). What stays: polymorphism, functions as values, nested patterns.
//!
//! Sizes in types are the checker's proofs for the user. Elaboration computes the sizes of Core values anew, bottom
//! up, and checks at run time what it cannot prove again; it reads sizes here only where a value depends on them
//! (names bound by `[n]`, coercions, recursive functions' results).

use almach_base::{Name, Span};
use almach_nat::Poly;
use almach_prim::{Annotation, Prim, ScalarFunction};
pub use almach_syntax::ast::SliceBound;
use almach_value::{BinOp, ScalarType, UnOp};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A variable of the program: a parameter, a `let`, a loop variable, or a size bound by `[n]` (an `i64` as well).
/// The number is its identity.
#[derive(Clone, Debug)]
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

/// A size: a polynomial over size names, `i64` variables, and unknown sizes the checker made up.
pub type Size = Poly<Var>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DefId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ForeignId(pub u32);

/// A quantified type variable; the number is unique in the program.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TypeVar {
    pub id: u32,
    pub name: Name,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    Scalar(ScalarType),
    /// `vec n t`.
    Vector(Size, Box<Type>),
    /// `()` is empty.
    Tuple(Vec<Type>),
    /// In the order they were declared; equality of types does not depend on it.
    Record(Vec<(Name, Type)>),
    Array(Dim, Box<Type>),
    Data(DataId, Vec<Type>),
    /// A node value `τ(n)` of a recursive type: where the type mentions itself there is `reference`.
    Node {
        data: DataId,
        args: Vec<Type>,
        reference: Box<Type>,
    },
    /// A reference to a node: the paper's `n` or `s` of one `foreach` or `build`. Its value is an `i64` position.
    Reference(u32),
    Function(Box<FunctionType>),
    Var(TypeVar),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dim {
    Size(Size),
    /// `?`: jagged below another array, an unknown size at the outermost place.
    Unknown,
}

/// `t -> u`. Where the parameter is an `i64` (or has sizes) that the result's sizes mention, `binder` names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionType {
    pub binder: Option<Var>,
    pub param: Type,
    pub result: Type,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub data: Vec<DataDef>,
    pub foreign: Vec<ForeignDef>,
    pub defs: Vec<Def>,
    pub entries: Vec<DefId>,
    /// Variables with this number or a higher one are free.
    pub next_var: u32,
}

#[derive(Clone, Debug)]
pub struct DataDef {
    pub name: Name,
    pub params: Vec<TypeVar>,
    pub constructors: Vec<Constructor>,
    /// Whether a value may contain a value of the same type (also through other types).
    pub recursive: Recursive,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recursive {
    Yes,
    No,
}

#[derive(Clone, Debug)]
pub struct Constructor {
    pub name: Name,
    /// An array's outermost dimension is `Unknown` unless it is a literal size.
    pub fields: Vec<Type>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct ForeignDef {
    pub name: Name,
    pub sizes: Vec<Var>,
    pub ty: Type,
    pub span: Span,
}

/// A top-level definition, or a function bound by `let`. Without parameters it is a value (evaluated where it is used;
/// a top-level one has no effects, so how often does not matter to the meaning).
#[derive(Clone, Debug)]
pub struct Def {
    pub name: Name,
    pub kind: DefKind,
    pub scheme: Scheme,
    pub params: Vec<Pattern>,
    pub result: Type,
    pub body: Expr,
    /// Definitions that call each other share a group; `None` where it does not call itself.
    pub group: Option<u32>,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefKind {
    Def,
    Entry,
    Local,
}

/// What a definition is generalised over. The sizes are those bound by `[n]` and those inferred.
#[derive(Clone, Default, Debug)]
pub struct Scheme {
    pub types: Vec<(TypeVar, Constraint)>,
    pub sizes: Vec<Var>,
}

/// What a type variable must be, strongest wins: `scalar` is a number or a boolean, `num`, `int` and `float` are numbers or vectors of them, `bits` integers
/// or booleans, `eq` and `ord` structural.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Constraint {
    Any,
    Equality,
    Order,
    Scalar,
    Number,
    Bits,
    Integer,
    Float,
}

/// The types and sizes one use of a polymorphic definition is at, in the order of its [`Scheme`].
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Instance {
    pub types: Vec<Type>,
    pub sizes: Vec<Size>,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// At the expression's type, which may be a type variable. In range for it when it is concrete.
    Int(u128),
    Float(Name),
    Bool(bool),
    Str(Vec<u8>),
    Local(Var),
    /// A size name used as an `i64` value.
    Size(Size),
    Global(DefId, Instance),
    /// A function of an enclosing [`ExprKind::LetFunctions`], by its variable.
    LocalFunction(Var, Instance),
    Foreign(ForeignId, Instance),
    /// `arrays` is how many arrays `map` takes here (1 for other primitives).
    Prim {
        prim: Prim,
        annotation: Annotation,
        arrays: usize,
    },
    ScalarFunction(ScalarFunction),
    Operator(Operator),
    /// A constructor as a function of its fields (or a value, without fields).
    Constructor {
        data: DataId,
        constructor: u32,
        form: ConstructorForm,
    },
    Apply(Box<Expr>, Vec<Expr>),
    Lambda(Vec<Pattern>, Box<Expr>),
    Let(Pattern, Box<Expr>, Box<Expr>),
    /// Local functions, each with the variable that names it; they see each other when recursive.
    LetFunctions(Vec<(Var, Def)>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Case(Box<Expr>, Vec<Arm>),
    Tuple(Vec<Expr>),
    /// In the order written (evaluation order); each with its field's position in the type.
    Record(Vec<(u32, Expr)>),
    /// Of a tuple or a record.
    Project(Box<Expr>, u32),
    Index(Box<Expr>, Vec<IndexArg>),
    Range(Box<Expr>, Box<Expr>),
    Array(Vec<Expr>),
    Unary(UnOp, Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Loop(Box<Loop>),
    With {
        array: Box<Expr>,
        indices: Vec<IndexArg>,
        value: Box<Expr>,
        in_place: InPlace,
    },
    Assert {
        condition: Box<Expr>,
        text: Name,
        body: Box<Expr>,
    },
    Trace {
        label: Name,
        body: Box<Expr>,
    },
    /// Checked at run time: `:>`.
    Coerce(Box<Expr>, Type),
    /// A regular array where a jagged one is expected, or a known size forgotten: no check, to the expression's type.
    Forget(Box<Expr>),
    Foreach(Box<Foreach>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConstructorForm {
    /// `C`: a datum (or a value of a sum that is not recursive).
    Datum,
    /// `#C`: a node value.
    Node,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    /// Comparisons are structural where the operands' type is.
    Scalar(BinOp),
    LogicalAnd,
    LogicalOr,
    Concat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    Required,
    WherePossible,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few, and boxes would hide what they hold"
)]
pub enum IndexArg {
    At(Expr),
    Slice {
        begin: Option<Expr>,
        end: Option<Expr>,
        bound: SliceBound,
        step: Option<Expr>,
        span: Span,
    },
}

#[derive(Clone, Debug)]
pub struct Arm {
    pub pattern: Pattern,
    pub guard: Option<Expr>,
    pub body: Expr,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Loop {
    pub pattern: Pattern,
    pub initial: Expr,
    pub form: LoopForm,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub enum LoopForm {
    For {
        index: Var,
        index_type: Type,
        bound: Expr,
    },
    While(Expr),
}

/// `rename` and `down` are variables of function type inside the body.
#[derive(Clone, Debug)]
pub struct Foreach {
    pub node: Pattern,
    pub datum: Expr,
    pub rename: Var,
    pub down: Var,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub struct Pattern {
    pub kind: PatternKind,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum PatternKind {
    Wildcard,
    Var(Var),
    /// With its sign; at the pattern's type.
    Int(i128),
    Float(Name),
    Bool(bool),
    Tuple(Vec<Pattern>),
    /// By position in the record type; missing fields are wildcards.
    Record(Vec<(u32, Pattern)>),
    Constructor {
        data: DataId,
        constructor: u32,
        form: ConstructorForm,
        fields: Vec<Pattern>,
    },
}
