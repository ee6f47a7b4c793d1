//! What a kernel cannot do.

use crate::Unit;
use crate::foreign::{self, Refusal};
use almach_base::Name;
use almach_imp::{Expr, Stmt, Touched, is_column};
use std::collections::BTreeSet;
use std::fmt;

/// Why statements run on the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// Recursive data lies in the host's memory.
    RecursiveData,
    /// A procedure that calls itself.
    Recursion(Name),
    /// Another procedure that is called.
    Call(Name),
    /// A C function.
    Foreign(Name, Refusal),
    /// `trace` prints on the host.
    Prints,
    /// A buffer whose size is different in every iteration.
    VaryingSize(Name),
    /// A buffer that changes its cells for others.
    Moves(Name),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::RecursiveData => f.write_str("it works on recursive data, which is in the host's memory"),
            Why::Recursion(name) => write!(f, "it calls `{name}`, which calls itself"),
            Why::Call(name) => write!(f, "it calls `{name}`, a procedure of its own"),
            Why::Foreign(name, why) => write!(f, "it calls the C function `{name}`, {why}"),
            Why::Prints => f.write_str("it prints (`trace`)"),
            Why::VaryingSize(name) => {
                write!(f, "`{name}` has a size of its own in every iteration")
            }
            Why::Moves(name) => write!(f, "`{name}` is exchanged for another array inside it"),
        }
    }
}

/// Whether there is a parallel loop.
pub(crate) fn has_threads(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::For { mode, .. } if mode.has_threads())
            || stmt.blocks().into_iter().any(|block| has_threads(block))
    })
}

/// What keeps statements from being a kernel, memory of their own apart.
pub(crate) fn why_not(stmts: &[Stmt], unit: &Unit<'_>) -> Option<Why> {
    block(stmts, &Touched::of(stmts).declared, unit)
}

/// `own` are the buffers that the kernel would declare.
fn block(stmts: &[Stmt], own: &BTreeSet<Name>, unit: &Unit<'_>) -> Option<Why> {
    stmts.iter().find_map(|stmt| {
        let here = match stmt {
            Stmt::Call { proc, .. } if unit.groups.is_recursive(proc) => Some(Why::Recursion(proc.clone())),
            Stmt::Call { proc, .. } => Some(Why::Call(proc.clone())),
            Stmt::Foreign {
                function, arguments, ..
            } => foreign::refusal(function, arguments, own, unit.functions)
                .map(|why| Why::Foreign(function.name.clone(), why)),
            Stmt::Trace { .. } => Some(Why::Prints),
            Stmt::Reserve { .. } => Some(Why::RecursiveData),
            Stmt::Store { buffer, .. } | Stmt::Atomic { buffer, .. } if is_column(buffer) => {
                Some(Why::RecursiveData)
            }
            Stmt::Swap(buffer, _) | Stmt::Shrink { buffer, .. } => Some(Why::Moves(buffer.clone())),
            _ => None,
        };
        let mut reads_column = false;
        stmt.for_each_expr(&mut |expr| reads_column |= loads_column(expr));
        here.or(reads_column.then_some(Why::RecursiveData)).or_else(|| {
            stmt.blocks()
                .into_iter()
                .find_map(|inner| block(inner, own, unit))
        })
    })
}

fn loads_column(expr: &Expr) -> bool {
    match expr {
        Expr::Load(buffer, _) => is_column(buffer),
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => false,
        Expr::Unary(_, a) => loads_column(a),
        Expr::Binary(_, a, b) => loads_column(a) || loads_column(b),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            loads_column(a) || loads_column(b) || loads_column(c)
        }
    }
}
