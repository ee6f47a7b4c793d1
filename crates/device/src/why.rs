//! What a kernel cannot do.

use crate::Unit;
use crate::foreign::{self, Refusal};
use almach_base::Name;
use almach_imp::{Stmt, Touched, is_column};
use std::collections::BTreeSet;
use std::fmt;

/// Why statements run on the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// Cells of recursive data are made, how many is not known before.
    MakesCells,
    /// A table is made for recursive data that has none.
    MakesTables,
    /// Recursive data is followed one reference after another.
    Walks,
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
            Why::MakesCells => {
                f.write_str("how many cells of recursive data it makes is known only when it is done")
            }
            Why::MakesTables => f.write_str("it makes the table of recursive data where that has none"),
            Why::Walks => f.write_str("it goes through recursive data in order"),
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
            Stmt::Reserve { .. } => Some(Why::MakesCells),
            Stmt::Store { buffer, index, .. } if unit.settled.contains(buffer) && !unit.is_own_row(index) => {
                Some(Why::MakesTables)
            }
            Stmt::Swap(buffer, _) | Stmt::Shrink { buffer, .. } => Some(Why::Moves(buffer.clone())),
            _ => None,
        };
        here.or_else(|| {
            stmt.blocks()
                .into_iter()
                .find_map(|inner| block(inner, own, unit))
        })
    })
}

/// Whether statements use columns.
pub(crate) fn uses_columns(stmts: &[Stmt]) -> bool {
    Touched::of(stmts).cells.keys().any(|name| is_column(name))
}

/// Whether there is a loop that uses columns.
pub(crate) fn walks(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::For { .. } | Stmt::While { .. } => uses_columns(std::slice::from_ref(stmt)),
        _ => stmt.blocks().into_iter().any(|block| walks(block)),
    })
}
