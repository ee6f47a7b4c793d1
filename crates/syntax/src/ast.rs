//! The AST of `.alm` files (and of what other front ends generate). It holds what the user wrote, resolved to nothing:
//! names are names, operators are operators. Everything has a span.

use almach_base::{Name, Span};
use almach_prim::Annotation;
use almach_value::{BinOp, ScalarType, UnOp};

/// A file.
#[derive(Clone, PartialEq, Debug)]
pub struct File {
    pub dialect: Dialect,
    pub items: Vec<Item>,
    /// `-- >` blocks in order.
    pub tests: Vec<Test>,
}

/// The language a file is written in, where that makes a difference behind the reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    Almach,
    /// NOVA: sizes that are not known to agree are compared at run time, and floats are `f32` where nothing says otherwise.
    Nova,
}

/// A name with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

/// `x` or `M.x`.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    pub qualifier: Option<Ident>,
    pub name: Ident,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Item {
    Def(Def),
    Data(DataDecl),
    /// `type Name 'a = t`: another name for a type.
    TypeAlias(TypeAlias),
    Import(Import),
    Foreign(Foreign),
    /// What could not be parsed; an error has been reported.
    Error(Span),
}

/// `def f …`, `def rec f …`, `entry f …`. Local functions are the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    pub kind: DefKind,
    pub recursive: Recursive,
    pub name: Ident,
    /// `[n] [m]`.
    pub sizes: Vec<Ident>,
    pub params: Vec<Param>,
    pub result: Option<TypeExpr>,
    pub body: Expr,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefKind {
    Def,
    Entry,
    /// A function bound by `let`.
    Local,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recursive {
    Yes,
    No,
}

/// `x`, `(x: t)`, `(a, b)`, `()` …
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// A type written on it is a [`PatternKind::Ascribed`].
    pub pattern: Pattern,
}

/// `data Tree 'a = Leaf 'a | Node 'a (Tree 'a) (Tree 'a)`.
#[derive(Clone, PartialEq, Debug)]
pub struct DataDecl {
    pub name: Ident,
    pub params: Vec<Ident>,
    pub constructors: Vec<ConstructorDecl>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ConstructorDecl {
    pub name: Ident,
    pub fields: Vec<TypeExpr>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TypeAlias {
    pub name: Ident,
    pub params: Vec<Ident>,
    pub ty: TypeExpr,
    pub span: Span,
}

/// `import "a/b"`, `import "a/b" as M`.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    pub path: String,
    pub path_span: Span,
    pub alias: Option<Ident>,
    pub span: Span,
}

/// `foreign name : type`.
#[derive(Clone, PartialEq, Debug)]
pub struct Foreign {
    pub name: Ident,
    pub ty: TypeExpr,
    pub span: Span,
}

/// A `-- >` line with the expectation after it. Both are text; the test runner parses the call as an expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    pub call: String,
    pub call_span: Span,
    pub expected: Expectation,
    pub expected_span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expectation {
    /// `-- =`: exactly this value.
    Equals(String),
    /// `-- ~`: to 1e-5 relative.
    Near(String),
    /// `-- !`: an error that contains this text.
    Fails(String),
    /// A `-- >` without an expectation after it: reported when tests run.
    Missing,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    Scalar(ScalarType),
    /// `'a`, without the quote.
    Var(Name),
    /// `Tree f32`, `M.Tree 'a`: a data type or an alias with arguments.
    Named(Path, Vec<TypeExpr>),
    /// `()` is empty.
    Tuple(Vec<TypeExpr>),
    Record(Vec<(Ident, TypeExpr)>),
    Array(Dim, Box<TypeExpr>),
    /// `vec 4 f32`.
    Vector(Box<SizeExpr>, Box<TypeExpr>),
    /// `t -> u`, or `(n: i64) -> [n]u` with the parameter's name usable in sizes.
    Function {
        param_name: Option<Ident>,
        param: Box<TypeExpr>,
        result: Box<TypeExpr>,
    },
    Error,
}

/// What stands between the brackets of an array type.
#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    /// `[]`: left to inference.
    Inferred(Span),
    /// `[?]`: jagged below the outermost dimension, unknown at the outermost.
    Unknown(Span),
    Size(SizeExpr),
}

#[derive(Clone, PartialEq, Debug)]
pub struct SizeExpr {
    pub kind: SizeKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SizeKind {
    Literal(i64),
    Var(Name),
    Binary(SizeOp, Box<SizeExpr>, Box<SizeExpr>),
    Error,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeOp {
    Add,
    Sub,
    Mul,
    Div,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// The magnitude; a literal is never negative. Out of range for every type is the parser's error, out of range
    /// for its type the type checker's.
    Int {
        value: u128,
        suffix: Option<ScalarType>,
    },
    /// The text without `_` and suffix, so that it can be rounded once, to its type.
    Float {
        text: Name,
        suffix: Option<ScalarType>,
    },
    Bool(bool),
    /// A `[n]u8`.
    Str(Vec<u8>),
    Var(Path),
    /// `map@par`, `scan@seq`, and the papers' names (`mapPar`), which parse to this.
    Annotated {
        name: Path,
        annotation: Annotation,
    },
    /// `Some`, `M.Cons`.
    Constructor(Path),
    /// `#Cons`.
    NodeConstructor(Path),
    Apply(Box<Expr>, Vec<Expr>),
    /// `\x (y: t) -> e`.
    Lambda(Vec<Param>, Box<Expr>),
    /// `let b1 let b2 … in e`: one element per `let`.
    Let(Vec<Binding>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Case(Box<Expr>, Vec<Arm>),
    /// `()` is empty.
    Tuple(Vec<Expr>),
    Record(Vec<(Ident, Expr)>),
    /// `t.0`.
    Project(Box<Expr>, u32),
    /// `r.x`. (`M.x` parses to a path when `M` starts with a capital letter.)
    Field(Box<Expr>, Ident),
    Index(Box<Expr>, Vec<IndexArg>),
    /// `a..<b`.
    Range(Box<Expr>, Box<Expr>),
    Array(Vec<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Span, Box<Expr>, Box<Expr>),
    /// `(+)`.
    Operator(BinaryOp),
    /// `(2 *)`.
    LeftSection(BinaryOp, Box<Expr>),
    /// `(* 2)`.
    RightSection(BinaryOp, Box<Expr>),
    /// `loop (p = e) for i < n do e`; `loop (p = e) while c do e`.
    Loop(Box<Loop>),
    /// `a with [i, j] = e`; slices are allowed as indices.
    With {
        array: Box<Expr>,
        indices: Vec<IndexArg>,
        value: Box<Expr>,
        in_place: InPlace,
    },
    /// `assert c, "text" in e`.
    Assert {
        condition: Box<Expr>,
        text: Name,
        body: Box<Expr>,
    },
    /// `trace "label" e`.
    Trace {
        label: Name,
        body: Box<Expr>,
    },
    /// `(e : t)`.
    Ascribe(Box<Expr>, Box<TypeExpr>),
    /// `e :> t`: sizes are checked at run time.
    Coerce(Box<Expr>, Box<TypeExpr>),
    /// `foreach x in e with f, d do body`.
    Foreach {
        node: Box<Pattern>,
        datum: Box<Expr>,
        rename: Ident,
        down: Ident,
        body: Box<Expr>,
    },
    /// Parentheses are kept: the formatter shows what was written and grouping is never lost.
    Paren(Box<Expr>),
    Error,
}

/// `with` copies where it must; `with!` must not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    Required,
    WherePossible,
}

/// Where a slice stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceBound {
    /// `b:e`: before this position.
    Before,
    /// `b:+n`: after so many elements.
    Count,
}

#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum IndexArg {
    At(Expr),
    /// `b:e:s` or `b:+n:s`; every part may be left out.
    Slice {
        begin: Option<Expr>,
        end: Option<Expr>,
        /// What `end` says.
        bound: SliceBound,
        step: Option<Expr>,
        span: Span,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Scalar(UnOp),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Scalar(BinOp),
    /// `&&` and `||` evaluate their right side only when it is needed.
    LogicalAnd,
    LogicalOr,
    /// `++`.
    Concat,
    /// `|>`.
    PipeRight,
    /// `<|`.
    PipeLeft,
}

#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Binding {
    Value {
        pattern: Pattern,
        value: Expr,
        span: Span,
    },
    /// One local function. `let rec f … and g …` is one element with both.
    Functions(Vec<Def>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    pub pattern: Pattern,
    pub guard: Option<Expr>,
    pub body: Expr,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    pub pattern: Pattern,
    /// Absent where the pattern's names are already bound and mean themselves: `loop (acc) for …`.
    pub initial: Option<Expr>,
    pub form: LoopForm,
    pub body: Expr,
}

#[derive(Clone, PartialEq, Debug)]
pub enum LoopForm {
    For { index: Ident, bound: Expr },
    While(Expr),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    pub kind: PatternKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum PatternKind {
    Wildcard,
    Var(Name),
    Int {
        value: u128,
        negative: Negative,
        suffix: Option<ScalarType>,
    },
    Float {
        text: Name,
        negative: Negative,
        suffix: Option<ScalarType>,
    },
    Bool(bool),
    Tuple(Vec<Pattern>),
    /// `{x, y = p}`: a field without `=` binds its own name.
    Record(Vec<(Ident, Pattern)>),
    Constructor(Path, Vec<Pattern>),
    /// `#Cons hd tl`.
    NodeConstructor(Path, Vec<Pattern>),
    Ascribed(Box<Pattern>, TypeExpr),
    Paren(Box<Pattern>),
    Error,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Negative {
    Yes,
    No,
}
