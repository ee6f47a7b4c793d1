//! The rules of kernels and of memory that moves (IMP-21 to IMP-23).

use super::{Check, Checker, Kind};
use crate::ir::{Argument, Stmt, Transfer, is_column};
use crate::touch::Touched;
use almach_base::Name;
use std::collections::BTreeSet;

impl Checker<'_> {
    pub(super) fn kernel(&mut self, name: &Name, body: &[Stmt]) -> Check<()> {
        if self.in_kernel || self.parallel_depth() > 0 {
            return self.fail(
                "IMP-21",
                format!("`{name}` stands in a kernel or a parallel loop"),
            );
        }
        let alone = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_))).count() == 1;
        if !alone && has_threads_anywhere(body) || alone && body.iter().any(has_inner_threads) {
            return self.fail(
                "IMP-21",
                format!("`{name}` has a parallel loop beside something else"),
            );
        }
        let own = Touched::of(body).declared;
        if let Some(why) = body.iter().find_map(|stmt| not_in_kernel(stmt, &own)) {
            return self.fail("IMP-22", format!("`{name}` {why}"));
        }
        self.in_kernel = true;
        let result = self.block(body);
        self.in_kernel = false;
        result
    }

    pub(super) fn transfer(&mut self, transfer: &Transfer) -> Check<()> {
        if self.in_kernel || self.parallel_depth() > 0 {
            return self.fail("IMP-23", "memory is moved inside a kernel or a parallel loop");
        }
        match transfer {
            Transfer::Attach { buffer, size } => {
                self.index(size)?;
                match self.buffer(buffer)?.kind {
                    Kind::ReadBuffer | Kind::WriteBuffer => Ok(()),
                    _ => self.fail("IMP-23", format!("`{buffer}` is attached but is no parameter")),
                }
            }
            Transfer::Fresh { buffer } => self.owned(buffer, "new"),
            Transfer::Fetch { buffer, .. } => self.buffer(buffer).map(|_| ()),
            Transfer::Cell { column, index, .. } => {
                self.index(index)?;
                self.buffer(column)?;
                match is_column(column) {
                    true => Ok(()),
                    false => self.fail(
                        "IMP-23",
                        format!("one cell of `{column}` is fetched, which is no column"),
                    ),
                }
            }
            Transfer::Copied { buffer, count } => {
                self.index(count)?;
                self.buffer(buffer).map(|_| ())
            }
        }
    }
}

fn has_threads_anywhere(stmts: &[Stmt]) -> bool {
    let here = |stmt: &Stmt| matches!(stmt, Stmt::For { mode, .. } if mode.has_threads());
    stmts.iter().any(|stmt| here(stmt) || has_inner_threads(stmt))
}

fn has_inner_threads(stmt: &Stmt) -> bool {
    stmt.blocks().into_iter().any(|block| has_threads_anywhere(block))
}

/// Why a statement cannot be a kernel's that has these buffers of its own.
fn not_in_kernel(stmt: &Stmt, own: &BTreeSet<Name>) -> Option<String> {
    match stmt {
        Stmt::Alloc { buffer, size, .. } if size.as_constant().is_none() => {
            Some(format!("allocates `{buffer}`, of unknown size"))
        }
        Stmt::Shrink { buffer, .. } => Some(format!("shrinks `{buffer}`")),
        Stmt::Borrow { buffer, .. } => Some(format!("borrows `{buffer}`")),
        Stmt::Swap(a, b) => Some(format!("swaps `{a}` and `{b}`")),
        Stmt::Call { proc, .. } => Some(format!("calls `{proc}`")),
        Stmt::Foreign {
            function, arguments, ..
        } => arguments.iter().find_map(|argument| match argument {
            Argument::Value(_) | Argument::Out(_) => None,
            Argument::Buffer(buffer, _) => own
                .contains(buffer)
                .then(|| format!("gives `{}` its own `{buffer}`", function.name)),
            Argument::Owned(buffer) => Some(format!("gets `{buffer}` from `{}`", function.name)),
        }),
        Stmt::Trace { .. } => Some("prints something".into()),
        Stmt::Reserve { store, .. } => Some(format!("makes rows of `{store}`")),
        _ => {
            let mut inner = stmt.blocks().into_iter().flatten();
            inner.find_map(|stmt| not_in_kernel(stmt, own))
        }
    }
}
