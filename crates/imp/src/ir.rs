//! The definition of Imp.
//!
//! ```text
//! proc dot(n: i64, xs: read f32, ys: read f32, result: out f32) {
//!   buffer tmp: f32
//!   alloc tmp[n]
//!   par for i < n {
//!     tmp[i] = xs[i] * ys[i]
//!   }
//!   var acc: f32 = 0.0f32
//!   for j < n {
//!     acc = acc + tmp[j]
//!   }
//!   result = acc
//!   free tmp
//! }
//! ```
//!
//! - Memory is flat: a buffer is a block of scalars of one type, reached by one index.
//! - An index is a polynomial over `i64` variables; everything else that decides where to read is bound to a name first.
//! - Names are bound once per procedure.
//! - A loop says how wide its index is: `for i: i32 < n` has fewer than 2^31 iterations.
//! - Iterations of a parallel loop share memory only through `atomic` steps and, in a `chain` loop, through cells that one
//!   publishes with `release` and a later one waits for with `await`.
//! - A *store* is memory of the whole call that only grows: rows of columns, reserved in runs. A column is used like a buffer;
//!   its name holds a `$`, which no other name does.
//! - A *kernel* runs on a device with memory of its own; what it needs is sent there. The host says `fetch` before it uses
//!   cells that kernels may have written: of a buffer, of a column, or single ones of a column.
//! - A failed check ends the call with the error of its site; what was allocated is freed on the way out.

use almach_base::{Code, Name, Span};
use almach_nat::Poly;
use almach_value::{BinOp, ForeignType, Scalar, ScalarType, TernOp, UnOp, ValueType};

/// An index, a size or a number of iterations.
pub type Index = Poly<Name>;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    pub stores: Vec<Store>,
    pub procs: Vec<Proc>,
}

/// Memory that a call owns and that only grows: rows, each with a cell in every column. New rows are zero.
#[derive(Clone, PartialEq, Debug)]
pub struct Store {
    pub name: Name,
    pub columns: Vec<Column>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub name: Name,
    pub ty: ScalarType,
    pub writing: Writing,
}

/// How the cells of a column get their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writing {
    /// By the iteration that reserved the row, before others know of it.
    Plain,
    /// By anyone at any time: the first value that is not zero stays. Whoever reads it also sees what was written before
    /// it.
    Settled,
}

/// Whether a name is a column's.
pub fn is_column(name: &str) -> bool {
    name.contains('$')
}

#[derive(Clone, PartialEq, Debug)]
pub struct Proc {
    pub name: Name,
    pub params: Vec<Param>,
    pub body: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub name: Name,
    pub ty: ScalarType,
    pub passing: Passing,
}

/// How a parameter is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passing {
    /// A scalar.
    Value,
    /// A scalar variable of the caller, which the procedure writes.
    Out,
    /// A buffer that is only read.
    Read,
    /// A buffer whose cells are written (and may be read).
    Write,
    /// A buffer variable of the caller: the procedure allocates it.
    Owned,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Const(Scalar),
    Var(Name),
    /// An index as an `i64`.
    Index(Index),
    Load(Name, Index),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Ternary(TernOp, Box<Expr>, Box<Expr>, Box<Expr>),
    /// Evaluates the condition, then one of the others.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// A scalar that keeps its value.
    Let {
        name: Name,
        ty: ScalarType,
        value: Expr,
    },
    /// A scalar variable; without a value it is written before it is read.
    Var {
        name: Name,
        ty: ScalarType,
        value: Option<Expr>,
    },
    Assign {
        name: Name,
        value: Expr,
    },
    Store {
        buffer: Name,
        index: Index,
        value: Expr,
    },
    /// A number that keeps its value: the first of so many new rows of a store. Rows that run in parallel reserve are
    /// distinct; which are whose is not known. Running out of memory is an error at the span.
    Reserve {
        name: Name,
        store: Name,
        count: Index,
        span: Span,
    },
    /// A buffer variable that owns nothing yet.
    Buffer {
        name: Name,
        ty: ScalarType,
        space: Space,
    },
    /// Gives an owned buffer new, unwritten cells; what it held before is freed. Running out of memory is an error at
    /// the span.
    Alloc {
        buffer: Name,
        size: Index,
        span: Span,
    },
    /// Keeps the first cells of an owned buffer, which has at least as many.
    Shrink {
        buffer: Name,
        size: Index,
    },
    Free(Name),
    /// Lets a borrowed buffer be so many cells of another one, from an index on: of what that one holds now. They are only read, and
    /// nobody writes or frees them meanwhile.
    Borrow {
        buffer: Name,
        from: Name,
        first: Index,
        count: Index,
    },
    /// Exchanges what two owned buffers hold.
    Swap(Name, Name),
    /// Copies cells of one buffer to another; the two do not overlap.
    Copy {
        to: Name,
        to_index: Index,
        from: Name,
        from_index: Index,
        count: Index,
    },
    /// One indivisible step on a cell that other iterations may touch at the same time.
    Atomic {
        step: AtomicStep,
        order: Order,
        buffer: Name,
        index: Index,
    },
    /// Waits until a cell has a value that an earlier iteration of the `chain` loop around stores with `release`. What that
    /// iteration did before is visible behind (`acquire`).
    Await {
        buffer: Name,
        index: Index,
        value: Expr,
    },
    /// Work-items of a group go on once all of them are here; what each did before is visible to all behind.
    Barrier,
    For {
        index: Name,
        width: Width,
        count: Index,
        mode: LoopMode,
        body: Vec<Stmt>,
    },
    While {
        condition: Expr,
        body: Vec<Stmt>,
    },
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Ends the call with the site's error where the condition is false.
    Check {
        condition: Expr,
        site: Site,
        arguments: Vec<Expr>,
    },
    /// Procedures may call each other in turn. A recursion that is too deep is an error at the span.
    Call {
        proc: Name,
        arguments: Vec<Argument>,
        span: Span,
    },
    /// Calls a C function. Arguments are the slots of its parameters (see [`crate::interface`]), then those of its result: `out`
    /// scalars and sizes, owned buffers. A result that is none is an error at the span.
    Foreign {
        function: Box<ForeignType>,
        arguments: Vec<Argument>,
        span: Span,
    },
    /// Prints a value, given by its slots, on a line behind the label.
    Trace {
        label: Name,
        ty: Box<ValueType>,
        arguments: Vec<Argument>,
    },
    /// Runs on a device: a parallel loop, whose iterations are work-items, or statements that one work-item runs in order. That
    /// one may assign scalars of the host.
    Kernel {
        name: Name,
        body: Vec<Stmt>,
    },
    /// What the memory of the device needs to know of the host's.
    Transfer(Transfer),
    /// What follows was made from this place in the source.
    At(Span),
}

/// A word of the host on cells that kernels use. What is only on the host is sent when a kernel needs it; nothing has to be said
/// for that.
#[derive(Clone, PartialEq, Debug)]
pub enum Transfer {
    /// A buffer of the caller, with so many cells.
    Attach { buffer: Name, size: Index },
    /// What is in the cells of a buffer does not matter yet: it was just allocated.
    Fresh { buffer: Name },
    /// The host uses cells of a buffer from here on.
    Fetch { buffer: Name, access: Access },
    /// The host uses one cell of a column, before the next kernel starts. Where there is no such cell it does not.
    Cell {
        column: Name,
        index: Index,
        access: Access,
    },
    /// The kernels that follow copy so many cells to a buffer: for accounts only.
    Copied { buffer: Name, count: Index },
}

/// What is done to cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    Read,
    /// Some are written; others may be read.
    Write,
}

/// Where a buffer lives. On a CPU all are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Host,
    Global,
    Local,
    Private,
    /// In cells of other buffers, which own them.
    Borrowed,
}

/// How many bits the index of a loop takes where it is computed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// There are fewer than 2^31 iterations.
    W32,
    W64,
}

impl Width {
    /// The largest number of iterations.
    pub fn most(self) -> i64 {
        match self {
            Width::W32 => i32::MAX.into(),
            Width::W64 => i64::MAX,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopMode {
    Seq,
    /// Iterations run at once, on threads.
    Par,
    /// Iterations run at once, on threads, and are started in order: an iteration may wait for earlier ones, which have
    /// been started, and so it never waits for ever.
    Chain,
    /// Iterations run at once, as the work-items of a group, which meet at barriers.
    Items,
    /// Iterations run at once, on the lanes of one processor.
    Simd,
}

/// What an atomic step does to its cell.
#[derive(Clone, PartialEq, Debug)]
pub enum AtomicStep {
    /// Binds a name to the value.
    Load {
        name: Name,
        ty: ScalarType,
    },
    Store(Expr),
    /// Stores a value, and binds a name to the one that was there.
    Exchange {
        name: Name,
        ty: ScalarType,
        value: Expr,
    },
    /// Combines the value that is there with another one.
    Update(BinOp, Expr),
}

/// What an atomic step says about other memory (C11, section 5.1.2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// Nothing.
    Relaxed,
    /// What was done before the `release` whose value is read has happened.
    Acquire,
    /// Whoever reads the value with `acquire` sees what was done before.
    Release,
    AcquireRelease,
}

impl LoopMode {
    /// Whether iterations run at once.
    pub fn is_parallel(self) -> bool {
        match self {
            LoopMode::Seq => false,
            LoopMode::Par | LoopMode::Chain | LoopMode::Items | LoopMode::Simd => true,
        }
    }

    /// Whether iterations run on threads.
    pub fn has_threads(self) -> bool {
        match self {
            LoopMode::Seq | LoopMode::Items | LoopMode::Simd => false,
            LoopMode::Par | LoopMode::Chain => true,
        }
    }
}

impl AtomicStep {
    /// The name that the step binds.
    pub fn bound(&self) -> Option<(&Name, ScalarType)> {
        match self {
            AtomicStep::Load { name, ty } | AtomicStep::Exchange { name, ty, .. } => Some((name, *ty)),
            AtomicStep::Store(_) | AtomicStep::Update(..) => None,
        }
    }

    pub fn bound_mut(&mut self) -> Option<&mut Name> {
        match self {
            AtomicStep::Load { name, .. } | AtomicStep::Exchange { name, .. } => Some(name),
            AtomicStep::Store(_) | AtomicStep::Update(..) => None,
        }
    }

    /// The value that the step brings.
    pub fn value(&self) -> Option<&Expr> {
        match self {
            AtomicStep::Load { .. } => None,
            AtomicStep::Store(value) | AtomicStep::Exchange { value, .. } | AtomicStep::Update(_, value) => {
                Some(value)
            }
        }
    }

    pub fn value_mut(&mut self) -> Option<&mut Expr> {
        match self {
            AtomicStep::Load { .. } => None,
            AtomicStep::Store(value) | AtomicStep::Exchange { value, .. } | AtomicStep::Update(_, value) => {
                Some(value)
            }
        }
    }

    /// Whether a step of this kind can have that order.
    pub fn takes(&self, order: Order) -> bool {
        match self {
            AtomicStep::Load { .. } => matches!(order, Order::Relaxed | Order::Acquire),
            AtomicStep::Store(_) => matches!(order, Order::Relaxed | Order::Release),
            AtomicStep::Exchange { .. } | AtomicStep::Update(..) => true,
        }
    }
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }
}

/// Whether updates with an operator give the same in any order (design, section 4): only then may their order depend
/// on timing.
pub fn exact_in_any_order(op: BinOp, ty: ScalarType) -> bool {
    match op {
        BinOp::Min | BinOp::Max => ty != ScalarType::Bool,
        BinOp::Add | BinOp::Mul => !ty.is_float() && ty != ScalarType::Bool,
        BinOp::And | BinOp::Or | BinOp::Xor => !ty.is_float(),
        _ => false,
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Value(Expr),
    Out(Name),
    /// A buffer from this cell on.
    Buffer(Name, Index),
    Owned(Name),
}

impl Argument {
    /// The variable of the caller that the procedure writes.
    pub fn written(&self) -> Option<&Name> {
        match self {
            Argument::Out(name) | Argument::Owned(name) => Some(name),
            Argument::Value(_) | Argument::Buffer(..) => None,
        }
    }
}

impl Stmt {
    /// A copy as a loop over its cells, for cells that do not lie side by side, or that others move as well. None where it is no copy.
    pub fn cell_by_cell(&self, mode: LoopMode, fresh_index: impl FnOnce() -> Name) -> Option<Stmt> {
        let Stmt::Copy {
            to,
            to_index,
            from,
            from_index,
            count,
        } = self
        else {
            return None;
        };
        let index = fresh_index();
        let at = Index::var(index.clone());
        Some(Stmt::For {
            index,
            width: Width::W64,
            count: count.clone(),
            mode,
            body: vec![Stmt::Store {
                buffer: to.clone(),
                index: to_index + &at,
                value: Expr::Load(from.clone(), from_index + &at),
            }],
        })
    }

    /// The expressions of this statement, not those of the blocks in it.
    pub fn for_each_expr(&self, visit: &mut impl FnMut(&Expr)) {
        match self {
            Stmt::Let { value, .. }
            | Stmt::Assign { value, .. }
            | Stmt::Store { value, .. }
            | Stmt::Await { value, .. } => visit(value),
            Stmt::Var { value, .. } => value.iter().for_each(visit),
            Stmt::Atomic { step, .. } => step.value().into_iter().for_each(visit),
            Stmt::While { condition, .. } | Stmt::If { condition, .. } => visit(condition),
            Stmt::Check {
                condition, arguments, ..
            } => {
                visit(condition);
                arguments.iter().for_each(visit);
            }
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => {
                for argument in arguments {
                    if let Argument::Value(value) = argument {
                        visit(value);
                    }
                }
            }
            Stmt::Reserve { .. }
            | Stmt::Buffer { .. }
            | Stmt::Alloc { .. }
            | Stmt::Shrink { .. }
            | Stmt::Free(_)
            | Stmt::Borrow { .. }
            | Stmt::Swap(..)
            | Stmt::Copy { .. }
            | Stmt::Barrier
            | Stmt::For { .. }
            | Stmt::Kernel { .. }
            | Stmt::Transfer(_)
            | Stmt::At(_) => {}
        }
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        match self {
            Stmt::Let { value, .. }
            | Stmt::Assign { value, .. }
            | Stmt::Store { value, .. }
            | Stmt::Await { value, .. } => visit(value),
            Stmt::Var { value, .. } => value.iter_mut().for_each(visit),
            Stmt::Atomic { step, .. } => step.value_mut().into_iter().for_each(visit),
            Stmt::While { condition, .. } | Stmt::If { condition, .. } => visit(condition),
            Stmt::Check {
                condition, arguments, ..
            } => {
                visit(condition);
                arguments.iter_mut().for_each(visit);
            }
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => {
                for argument in arguments {
                    if let Argument::Value(value) = argument {
                        visit(value);
                    }
                }
            }
            Stmt::Reserve { .. }
            | Stmt::Buffer { .. }
            | Stmt::Alloc { .. }
            | Stmt::Shrink { .. }
            | Stmt::Free(_)
            | Stmt::Borrow { .. }
            | Stmt::Swap(..)
            | Stmt::Copy { .. }
            | Stmt::Barrier
            | Stmt::For { .. }
            | Stmt::Kernel { .. }
            | Stmt::Transfer(_)
            | Stmt::At(_) => {}
        }
    }

    /// The indices, sizes and counts of this statement, not those of its expressions and blocks.
    pub fn for_each_index_mut(&mut self, visit: &mut impl FnMut(&mut Index)) {
        match self {
            Stmt::Store { index, .. }
            | Stmt::Atomic { index, .. }
            | Stmt::Await { index, .. }
            | Stmt::Reserve { count: index, .. }
            | Stmt::Alloc { size: index, .. }
            | Stmt::Shrink { size: index, .. }
            | Stmt::For { count: index, .. }
            | Stmt::Transfer(
                Transfer::Attach { size: index, .. }
                | Transfer::Copied { count: index, .. }
                | Transfer::Cell { index, .. },
            ) => visit(index),
            Stmt::Copy {
                to_index,
                from_index,
                count,
                ..
            } => [to_index, from_index, count].into_iter().for_each(visit),
            Stmt::Borrow { first, count, .. } => [first, count].into_iter().for_each(visit),
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => {
                for argument in arguments {
                    if let Argument::Buffer(_, index) = argument {
                        visit(index);
                    }
                }
            }
            Stmt::Let { .. }
            | Stmt::Var { .. }
            | Stmt::Assign { .. }
            | Stmt::Buffer { .. }
            | Stmt::Free(_)
            | Stmt::Swap(..)
            | Stmt::Barrier
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Check { .. }
            | Stmt::Kernel { .. }
            | Stmt::Transfer(Transfer::Fresh { .. } | Transfer::Fetch { .. })
            | Stmt::At(_) => {}
        }
    }

    /// The blocks inside this statement.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match self {
            Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::Kernel { body, .. } => vec![body],
            Stmt::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::Kernel { body, .. } => vec![body],
            Stmt::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }
}

/// A place where a call may end with an error.
#[derive(Clone, PartialEq, Debug)]
pub struct Site {
    pub code: Code,
    pub span: Span,
    /// The message; `{}` stands for the next argument.
    pub text: Name,
}

impl Expr {
    pub fn var(name: &Name) -> Expr {
        Expr::Var(name.clone())
    }

    pub fn int(value: i64) -> Expr {
        Expr::Const(Scalar::I64(value))
    }

    /// An `i64` expression as an index, where it is one without wrapping.
    pub fn as_index(&self) -> Option<Index> {
        match self {
            Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
            Expr::Var(name) => Some(Index::var(name.clone())),
            Expr::Index(index) => Some(index.clone()),
            _ => None,
        }
    }

    pub fn unary(op: UnOp, argument: Expr) -> Expr {
        Expr::Unary(op, Box::new(argument))
    }

    pub fn binary(op: BinOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(left), Box::new(right))
    }

    pub fn ternary(op: TernOp, a: Expr, b: Expr, c: Expr) -> Expr {
        Expr::Ternary(op, Box::new(a), Box::new(b), Box::new(c))
    }

    pub fn select(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        Expr::Select(Box::new(condition), Box::new(then), Box::new(otherwise))
    }
}

impl Program {
    pub fn proc(&self, name: &str) -> Option<&Proc> {
        self.procs.iter().find(|proc| &*proc.name == name)
    }

    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.stores.iter().flat_map(|store| &store.columns)
    }
}

impl Site {
    /// The message with its arguments, as text, filled in.
    pub fn message(&self, arguments: &[String]) -> String {
        let mut result = String::new();
        let mut arguments = arguments.iter();
        let mut pieces = self.text.split("{}");
        result.extend(pieces.next());
        for piece in pieces {
            result.push_str(arguments.next().map_or("{}", String::as_str));
            result.push_str(piece);
        }
        result
    }
}
