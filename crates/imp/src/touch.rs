//! What statements read, write and bind, at any depth.

use crate::ir::{Access, Argument, Expr, Index, Stmt, Transfer};
use almach_base::Name;
use almach_value::ScalarType;
use std::collections::{BTreeMap, BTreeSet};

/// The names in statements, by what is done with them.
#[derive(Clone, Default, Debug)]
pub struct Touched {
    /// Scalars that are read, also as parts of indices.
    pub read: BTreeSet<Name>,
    /// Scalars that are assigned, also as results of calls.
    pub assigned: BTreeSet<Name>,
    /// Scalars that are bound, loop indices among them.
    pub bound: BTreeMap<Name, ScalarType>,
    /// Buffers whose cells are used.
    pub cells: BTreeMap<Name, Access>,
    /// Buffers that are allocated, freed, swapped, shrunk or handed over.
    pub moved: BTreeSet<Name>,
    /// Buffers that are exchanged for others.
    pub swapped: BTreeSet<Name>,
    /// Buffers that are declared.
    pub declared: BTreeSet<Name>,
}

impl Touched {
    pub fn of<'s>(stmts: impl IntoIterator<Item = &'s Stmt>) -> Touched {
        let mut touched = Touched::default();
        stmts.into_iter().for_each(|stmt| touched.stmt(stmt));
        touched
    }

    pub fn of_expr(expr: &Expr) -> Touched {
        let mut touched = Touched::default();
        touched.expr(expr);
        touched
    }

    /// Scalars of the outside that are read.
    pub fn free_scalars(&self) -> impl Iterator<Item = &Name> {
        self.read.iter().filter(|name| !self.bound.contains_key(*name))
    }

    /// Scalars of the outside that are assigned.
    pub fn results(&self) -> impl Iterator<Item = &Name> {
        self.assigned
            .iter()
            .filter(|name| !self.bound.contains_key(*name))
    }

    /// Buffers of the outside whose cells are used.
    pub fn free_cells(&self) -> impl Iterator<Item = (&Name, Access)> {
        self.cells
            .iter()
            .filter(|(name, _)| !self.declared.contains(*name))
            .map(|(name, access)| (name, *access))
    }

    /// Whether a name occurs, however it is used.
    pub fn mentions(&self, name: &Name) -> bool {
        self.read.contains(name)
            || self.assigned.contains(name)
            || self.bound.contains_key(name)
            || self.cells.contains_key(name)
            || self.moved.contains(name)
            || self.declared.contains(name)
    }

    fn access(&mut self, buffer: &Name, access: Access) {
        let known = self.cells.entry(buffer.clone()).or_insert(access);
        *known = (*known).max(access);
    }

    fn bind(&mut self, name: &Name, ty: ScalarType) {
        self.bound.insert(name.clone(), ty);
    }

    fn index(&mut self, index: &Index) {
        self.read.extend(index.free_vars().cloned());
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) => {}
            Expr::Var(name) => {
                self.read.insert(name.clone());
            }
            Expr::Index(index) => self.index(index),
            Expr::Load(buffer, index) => {
                self.access(buffer, Access::Read);
                self.index(index);
            }
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.expr(part)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.expr(part));
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        stmt.for_each_expr(&mut |expr| self.expr(expr));
        match stmt {
            Stmt::Let { name, ty, .. } | Stmt::Var { name, ty, .. } => self.bind(name, *ty),
            Stmt::Assign { name, .. } => {
                self.assigned.insert(name.clone());
            }
            Stmt::Store { buffer, index, .. } => {
                self.index(index);
                self.access(buffer, Access::Write);
            }
            Stmt::Reserve { name, count, .. } => {
                self.index(count);
                self.bind(name, ScalarType::I64);
            }
            Stmt::Buffer { name, .. } => {
                self.declared.insert(name.clone());
            }
            Stmt::Alloc { buffer, size, .. } | Stmt::Shrink { buffer, size } => {
                self.index(size);
                self.moved.insert(buffer.clone());
            }
            Stmt::Borrow {
                buffer,
                from,
                first,
                count,
            } => {
                [first, count].into_iter().for_each(|index| self.index(index));
                self.access(from, Access::Read);
                self.moved.insert(buffer.clone());
            }
            Stmt::Free(buffer) => {
                self.moved.insert(buffer.clone());
            }
            Stmt::Swap(a, b) => {
                self.moved.extend([a.clone(), b.clone()]);
                self.swapped.extend([a.clone(), b.clone()]);
            }
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                [to_index, from_index, count]
                    .into_iter()
                    .for_each(|index| self.index(index));
                self.access(to, Access::Write);
                self.access(from, Access::Read);
            }
            Stmt::Atomic {
                step, buffer, index, ..
            } => {
                self.index(index);
                // A kernel that only looks may do so beside one that writes.
                self.access(buffer, Access::Write);
                if let Some((name, ty)) = step.bound() {
                    self.bind(name, ty);
                }
            }
            Stmt::Await { buffer, index, .. } => {
                self.index(index);
                self.access(buffer, Access::Read);
            }
            Stmt::For { index, count, .. } => {
                self.index(count);
                self.bind(index, ScalarType::I64);
            }
            // What a procedure does with the cells of an argument is not looked at: it may write them.
            Stmt::Call { arguments, .. } => self.arguments(arguments, Access::Write),
            Stmt::Foreign { arguments, .. } | Stmt::Trace { arguments, .. } => {
                self.arguments(arguments, Access::Read);
            }
            Stmt::Transfer(Transfer::Attach { buffer, size }) => {
                self.index(size);
                self.access(buffer, Access::Read);
            }
            Stmt::Transfer(Transfer::Fresh { buffer }) => {
                self.moved.insert(buffer.clone());
            }
            Stmt::Transfer(Transfer::Fetch { buffer, access }) => self.access(buffer, *access),
            Stmt::Transfer(Transfer::Cell {
                column,
                index,
                access,
            }) => {
                self.index(index);
                self.access(column, *access);
            }
            Stmt::Transfer(Transfer::Copied { buffer: _, count }) => self.index(count),
            Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Check { .. }
            | Stmt::Barrier
            | Stmt::Kernel { .. }
            | Stmt::At(_) => {}
        }
        stmt.blocks()
            .into_iter()
            .flatten()
            .for_each(|inner| self.stmt(inner));
    }

    /// What is allocated for the caller has no cells before.
    fn arguments(&mut self, arguments: &[Argument], access: Access) {
        for argument in arguments {
            match argument {
                // Seen as an expression of the statement.
                Argument::Value(_) => {}
                Argument::Out(name) => {
                    self.assigned.insert(name.clone());
                }
                Argument::Buffer(name, index) => {
                    self.index(index);
                    self.access(name, access);
                }
                Argument::Owned(name) => {
                    self.moved.insert(name.clone());
                }
            }
        }
    }
}

/// Whether statements start kernels themselves.
pub fn has_kernel(stmts: &[Stmt]) -> bool {
    let inner = |stmt: &Stmt| stmt.blocks().into_iter().any(|block| has_kernel(block));
    stmts
        .iter()
        .any(|stmt| matches!(stmt, Stmt::Kernel { .. }) || inner(stmt))
}
