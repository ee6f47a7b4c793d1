//! Procedures that a parallel loop calls, as part of it: a device has no other.
//!
//! ```text
//! proc halved(x: f32, out: out f32) { out = x / 2.0f32 }
//! par for i < n {                            par for i < n {
//!   var y: f32                                 var y: f32
//!   call halved(xs[i], out y)        ~~>       let x: f32 = xs[i]
//!   ys[i] = y                                  y = x / 2.0f32
//! }                                            ys[i] = y
//!                                            }
//! ```
//!
//! Procedures that call themselves, or have parallel loops, stay where they are, and so does what would make a kernel too large.

use crate::Unit;
use crate::fresh::Fresh;
use almach_base::Name;
use almach_imp::{Argument, Expr, Index, Proc, Stmt, Touched};
use almach_value::ScalarType;
use std::collections::{BTreeSet, HashMap};

/// The most statements that calls are replaced by.
const MOST: usize = 10_000;

/// The most statements of a procedure that the host does cell by cell.
const MOST_OPENED: usize = 24;

/// Replaces calls, those in what replaces them as well.
pub(crate) fn inline(stmts: &mut Vec<Stmt>, unit: &Unit<'_>, fresh: &mut Fresh) {
    Inliner {
        unit,
        fresh,
        assigned: Touched::of(&*stmts).assigned,
        left: MOST,
    }
    .block(stmts);
}

/// What a call of the host does, where that is to look at some cells of recursive data.
pub(crate) fn open(stmt: &Stmt, unit: &Unit<'_>, fresh: &mut Fresh) -> Option<Vec<Stmt>> {
    let Stmt::Call { proc, arguments, .. } = stmt else {
        return None;
    };
    let found: &Proc = unit.procs.get(proc)?;
    if has_loops(&found.body) || unit.columns.get(proc)?.is_empty() {
        return None;
    }
    let mut inliner = Inliner {
        unit,
        fresh,
        assigned: Touched::of([stmt]).assigned,
        left: MOST_OPENED,
    };
    inliner.body(proc, arguments)
}

fn has_loops(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::For { .. } | Stmt::While { .. })
            || stmt.blocks().into_iter().any(|block| has_loops(block))
    })
}

struct Inliner<'a, 'f> {
    unit: &'a Unit<'a>,
    fresh: &'f mut Fresh,
    /// Scalars that change. The others need no name of their own inside of a procedure, so that sizes stay what they are outside.
    assigned: BTreeSet<Name>,
    left: usize,
}

impl Inliner<'_, '_> {
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(stmts) {
            if let Stmt::Call { proc, arguments, .. } = &stmt
                && let Some(mut body) = self.body(proc, arguments)
            {
                self.block(&mut body);
                stmts.append(&mut body);
                continue;
            }
            stmt.blocks_mut().into_iter().for_each(|block| self.block(block));
            stmts.push(stmt);
        }
    }

    /// What a call does.
    fn body(&mut self, name: &Name, arguments: &[Argument]) -> Option<Vec<Stmt>> {
        let proc: &Proc = self.unit.procs.get(name)?;
        let size = count(&proc.body);
        if self.unit.groups.is_recursive(name) || self.unit.control.contains(name) || size > self.left {
            return None;
        }
        self.left -= size;
        let mut names = Names::default();
        let mut body = Vec::new();
        for (param, argument) in proc.params.iter().zip(arguments) {
            let own = param.name.clone();
            match argument {
                Argument::Value(Expr::Var(given)) if !self.assigned.contains(given) => {
                    names.scalars.insert(own, given.clone());
                }
                Argument::Value(value) => body.push(self.bind(own, param.ty, value.clone(), &mut names)),
                Argument::Out(to) => {
                    names.scalars.insert(own, to.clone());
                }
                Argument::Owned(to) => {
                    names.buffers.insert(own, (to.clone(), Index::constant(0)));
                }
                Argument::Buffer(to, from) => {
                    let offset = match from.as_constant() {
                        Some(_) => from.clone(),
                        None => {
                            let start = Name::from(format!("{own}_from"));
                            let value = Expr::Index(from.clone());
                            let bound = self.bind(start.clone(), ScalarType::I64, value, &mut names);
                            body.push(bound);
                            Index::var(names.scalar(&start))
                        }
                    };
                    names.buffers.insert(own, (to.clone(), offset));
                }
            }
        }
        names.add_own(&proc.body, self.fresh);
        let start = body.len();
        body.extend(proc.body.iter().cloned());
        body.iter_mut().skip(start).for_each(|stmt| names.stmt(stmt));
        self.assigned.extend(Touched::of(&body).assigned);
        Some(body)
    }

    fn bind(&mut self, name: Name, ty: ScalarType, value: Expr, names: &mut Names) -> Stmt {
        let new = self.fresh.name(&name);
        names.scalars.insert(name, new.clone());
        Stmt::Let { name: new, ty, value }
    }
}

/// How many statements there are, at any depth.
pub(crate) fn count(stmts: &[Stmt]) -> usize {
    let inner = |stmt: &Stmt| stmt.blocks().into_iter().map(|block| count(block)).sum::<usize>();
    stmts.iter().map(|stmt| 1 + inner(stmt)).sum()
}

/// What the names of a procedure are called where it becomes a part of another.
#[derive(Default)]
struct Names {
    scalars: HashMap<Name, Name>,
    /// Buffers, and where they begin.
    buffers: HashMap<Name, (Name, Index)>,
}

/// A copy of statements whose names are its own.
pub(crate) fn with_own_names(stmts: &[Stmt], fresh: &mut Fresh) -> Vec<Stmt> {
    let mut names = Names::default();
    names.add_own(stmts, fresh);
    let mut copy = stmts.to_vec();
    copy.iter_mut().for_each(|stmt| names.stmt(stmt));
    copy
}

/// Puts other buffers in the place of some.
pub(crate) fn with_buffers(stmts: &mut [Stmt], buffers: HashMap<Name, Name>) {
    let whole = |(name, other): (Name, Name)| (name, (other, Index::constant(0)));
    let names = Names {
        buffers: buffers.into_iter().map(whole).collect(),
        ..Names::default()
    };
    stmts.iter_mut().for_each(|stmt| names.stmt(stmt));
}

impl Names {
    /// New names for what statements bind and declare.
    fn add_own(&mut self, stmts: &[Stmt], fresh: &mut Fresh) {
        let touched = Touched::of(stmts);
        for (name, _) in touched.bound {
            let new = fresh.name(&name);
            self.scalars.insert(name, new);
        }
        for name in touched.declared {
            let new = fresh.name(&name);
            self.buffers.insert(name, (new, Index::constant(0)));
        }
    }

    fn scalar(&self, name: &Name) -> Name {
        self.scalars.get(name).unwrap_or(name).clone()
    }

    /// A buffer that is used as a whole.
    fn buffer(&self, name: &mut Name) {
        if let Some((new, _)) = self.buffers.get(name) {
            *name = new.clone();
        }
    }

    /// A cell of a buffer; its index has its new names already.
    fn cell(&self, buffer: &mut Name, index: &mut Index) {
        if let Some((new, from)) = self.buffers.get(buffer) {
            *buffer = new.clone();
            *index = &*index + from;
        }
    }

    fn index(&self, index: &mut Index) {
        *index = index.map_vars(&|name: &Name| Index::var(self.scalar(name)));
    }

    fn expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Const(_) => {}
            Expr::Var(name) => *name = self.scalar(name),
            Expr::Index(index) => self.index(index),
            Expr::Load(buffer, index) => {
                self.index(index);
                self.cell(buffer, index);
            }
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.expr(part)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.expr(part));
            }
        }
    }

    fn stmt(&self, stmt: &mut Stmt) {
        stmt.for_each_expr_mut(&mut |expr| self.expr(expr));
        stmt.for_each_index_mut(&mut |index| self.index(index));
        match stmt {
            Stmt::Let { name, .. }
            | Stmt::Var { name, .. }
            | Stmt::Assign { name, .. }
            | Stmt::Reserve { name, .. }
            | Stmt::For { index: name, .. } => *name = self.scalar(name),
            Stmt::Store { buffer, index, .. } | Stmt::Await { buffer, index, .. } => self.cell(buffer, index),
            Stmt::Atomic {
                step, buffer, index, ..
            } => {
                self.cell(buffer, index);
                if let Some(name) = step.bound_mut() {
                    *name = self.scalar(name);
                }
            }
            Stmt::Buffer { name: buffer, .. }
            | Stmt::Alloc { buffer, .. }
            | Stmt::Shrink { buffer, .. }
            | Stmt::Free(buffer) => self.buffer(buffer),
            Stmt::Borrow {
                buffer, from, first, ..
            } => {
                self.buffer(buffer);
                self.cell(from, first);
            }
            Stmt::Swap(a, b) => [a, b].into_iter().for_each(|buffer| self.buffer(buffer)),
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                ..
            } => {
                self.cell(to, to_index);
                self.cell(from, from_index);
            }
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => {
                arguments.iter_mut().for_each(|argument| match argument {
                    Argument::Value(_) => {}
                    Argument::Out(name) => *name = self.scalar(name),
                    Argument::Buffer(buffer, index) => self.cell(buffer, index),
                    Argument::Owned(buffer) => self.buffer(buffer),
                });
            }
            Stmt::Barrier
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Check { .. }
            | Stmt::Kernel { .. }
            | Stmt::Transfer(_)
            | Stmt::At(_) => {}
        }
        for block in stmt.blocks_mut() {
            block.iter_mut().for_each(|inner| self.stmt(inner));
        }
    }
}
