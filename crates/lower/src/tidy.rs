//! Tidies Imp: scalars and buffers that nothing reads go, a variable's first value joins its declaration, and memory is freed after
//! its last use.
//!
//! ```text
//! var acc: f32                         var acc: f32 = 0.0f32
//! acc = 0.0f32                   ~~>
//! let unused: i64 = n                  …
//! ```
//!
//! Removes: dead `let`s, `var`s and buffers, loops and branches in which nothing is done. Introduces: nothing. Guarantees: the same results and errors; no name is read that
//! is gone. Expressions have no effects, so leaving one out changes nothing.

use crate::moves::moves;
use almach_base::Name;
use almach_imp::{Argument, Expr, Index, Proc, Stmt, Transfer, is_column};
use std::collections::{HashMap, HashSet};

pub(crate) fn tidy(proc: &mut Proc) {
    loop {
        let mut reads = Reads::default();
        reads.block(&proc.body);
        // What the caller sees counts as read.
        reads
            .names
            .extend(proc.params.iter().map(|param| param.name.clone()));
        if !remove_dead(&mut proc.body, &reads.names) {
            break;
        }
    }
    join_declarations(&mut proc.body);
    free_early(&mut proc.body);
}

/// Names whose values something uses.
#[derive(Default)]
pub(crate) struct Reads {
    pub(crate) names: HashSet<Name>,
    /// The same, by where each is used first.
    pub(crate) in_order: Vec<Name>,
    /// The one that is asked for, where it is only one.
    only: Option<Name>,
}

impl Reads {
    /// Finds out about one name alone.
    pub(crate) fn only(name: &Name) -> Reads {
        Reads {
            only: Some(name.clone()),
            ..Reads::default()
        }
    }

    pub(crate) fn insert(&mut self, name: &Name) {
        if self.only.as_ref().is_some_and(|only| only != name) {
            return;
        }
        if self.names.insert(name.clone()) {
            self.in_order.push(name.clone());
        }
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
            for block in stmt.blocks() {
                self.block(block);
            }
        }
    }

    /// What a statement itself reads, without the blocks inside it.
    pub(crate) fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => self.expr(value),
            Stmt::Var { value, .. } => value.iter().for_each(|value| self.expr(value)),
            Stmt::Store { index, value, .. } => {
                self.index(index);
                self.expr(value);
            }
            Stmt::Buffer { .. } | Stmt::At(_) | Stmt::Free(_) | Stmt::Barrier | Stmt::Kernel { .. } => {}
            Stmt::Transfer(Transfer::Attach { buffer, size } | Transfer::Copied { buffer, count: size }) => {
                self.insert(buffer);
                self.index(size);
            }
            Stmt::Transfer(Transfer::Fetch { buffer, .. } | Transfer::Fresh { buffer }) => {
                self.insert(buffer)
            }
            Stmt::Transfer(Transfer::Cell { column, index, .. }) => {
                self.insert(column);
                self.index(index);
            }
            Stmt::Alloc { size, .. } | Stmt::Shrink { size, .. } => self.index(size),
            Stmt::Reserve { count, .. } => self.index(count),
            Stmt::Borrow {
                from, first, count, ..
            } => {
                self.insert(from);
                [first, count].into_iter().for_each(|index| self.index(index));
            }
            // What iterations tell each other is always of use.
            Stmt::Atomic {
                step, buffer, index, ..
            } => {
                self.insert(buffer);
                self.index(index);
                step.value().into_iter().for_each(|value| self.expr(value));
            }
            Stmt::Await { buffer, index, value } => {
                self.insert(buffer);
                self.index(index);
                self.expr(value);
            }
            Stmt::Swap(a, b) => [a, b].into_iter().for_each(|name| self.insert(name)),
            Stmt::Copy {
                to_index,
                from,
                from_index,
                count,
                ..
            } => {
                self.insert(from);
                [to_index, from_index, count]
                    .into_iter()
                    .for_each(|index| self.index(index));
            }
            Stmt::For { count, .. } => self.index(count),
            Stmt::While { condition, .. } | Stmt::If { condition, .. } => self.expr(condition),
            Stmt::Check {
                condition, arguments, ..
            } => {
                self.expr(condition);
                arguments.iter().for_each(|argument| self.expr(argument));
            }
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => arguments.iter().for_each(|argument| match argument {
                Argument::Value(expr) => self.expr(expr),
                Argument::Out(name) | Argument::Owned(name) => {
                    self.insert(name);
                }
                Argument::Buffer(name, index) => {
                    self.insert(name);
                    self.index(index);
                }
            }),
        }
    }

    fn index(&mut self, index: &Index) {
        index.free_vars().for_each(|name| self.insert(name));
    }

    pub(crate) fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) => {}
            Expr::Var(name) => {
                self.insert(name);
            }
            Expr::Index(index) => self.index(index),
            Expr::Load(buffer, index) => {
                self.insert(buffer);
                self.index(index);
            }
            Expr::Unary(_, argument) => self.expr(argument),
            Expr::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.expr(part));
            }
        }
    }
}

/// What a statement reads or writes, at any depth.
pub(crate) fn touches(stmt: &Stmt, touched: &mut Reads) {
    touched.stmt(stmt);
    if let Stmt::Buffer { name, .. }
    | Stmt::Alloc { buffer: name, .. }
    | Stmt::Shrink { buffer: name, .. }
    | Stmt::Borrow { buffer: name, .. }
    | Stmt::Store { buffer: name, .. }
    | Stmt::Copy { to: name, .. } = stmt
    {
        touched.insert(name);
    }
    for block in stmt.blocks() {
        block.iter().for_each(|stmt| touches(stmt, touched));
    }
}

/// Takes out what nothing reads; says whether there was anything.
fn remove_dead(stmts: &mut Vec<Stmt>, read: &HashSet<Name>) -> bool {
    let before = stmts.len();
    stmts.retain(|stmt| match stmt {
        Stmt::Let { name, .. }
        | Stmt::Var { name, .. }
        | Stmt::Assign { name, .. }
        | Stmt::Buffer { name, .. }
        | Stmt::Alloc { buffer: name, .. }
        | Stmt::Shrink { buffer: name, .. }
        | Stmt::Free(name)
        | Stmt::Borrow { buffer: name, .. }
        | Stmt::Store { buffer: name, .. }
        | Stmt::Copy { to: name, .. } => read.contains(name) || is_column(name),
        _ => true,
    });
    let mut changed = stmts.len() != before;
    for stmt in stmts.iter_mut() {
        for block in stmt.blocks_mut() {
            changed |= remove_dead(block, read);
        }
    }
    let with_empty = stmts.len();
    stmts.retain(|stmt| !does_nothing(stmt));
    changed | (stmts.len() != with_empty)
}

/// Whether a statement is a loop or a branch without anything in it, as is left of checks that are proved, or moves cells to where they are, as is
/// left where two buffers have become one.
fn does_nothing(stmt: &Stmt) -> bool {
    if moves(stmt).is_some_and(|moves| moves.stay()) {
        return true;
    }
    let is_control = matches!(stmt, Stmt::For { .. } | Stmt::If { .. });
    let is_empty = |block: &[Stmt]| block.iter().all(|stmt| matches!(stmt, Stmt::At(_)));
    is_control && stmt.blocks().into_iter().all(|block| is_empty(block))
}

/// `var x` and `x = e` right behind it become `var x = e`; so do several declarations before their values.
fn join_declarations(stmts: &mut Vec<Stmt>) {
    let mut at = 0;
    while at < stmts.len() {
        if let Some(Stmt::Var {
            name,
            ty,
            value: None,
        }) = stmts.get(at)
        {
            let (name, ty) = (name.clone(), *ty);
            let next = stmts.iter().skip(at + 1).position(|stmt| {
                !matches!(
                    stmt,
                    Stmt::At(_) | Stmt::Var { value: None, .. } | Stmt::Buffer { .. }
                )
            });
            let next = next.map(|after| at + 1 + after);
            if let Some(next) = next
                && let Some(Stmt::Assign {
                    name: assigned,
                    value,
                }) = stmts.get(next)
                && *assigned == name
            {
                let value = Some(value.clone());
                if let Some(stmt) = stmts.get_mut(next) {
                    *stmt = Stmt::Var { name, ty, value };
                }
                stmts.remove(at);
                continue;
            }
        }
        at += 1;
    }
    for stmt in stmts {
        stmt.blocks_mut().into_iter().for_each(join_declarations);
    }
}

/// Moves `free` up to behind the last statement of its block that mentions the buffer.
fn free_early(stmts: &mut Vec<Stmt>) {
    let mut last_use: HashMap<Name, usize> = HashMap::new();
    let mut freed: Vec<Name> = Vec::new();
    for (at, stmt) in stmts.iter().enumerate() {
        if let Stmt::Free(name) = stmt {
            freed.push(name.clone());
            continue;
        }
        let mut touched = Reads::default();
        touches(stmt, &mut touched);
        for name in touched.names {
            last_use.insert(name, at);
        }
    }
    let mut frees: HashMap<usize, Vec<Name>> = HashMap::new();
    for name in freed {
        if let Some(at) = last_use.get(&name) {
            frees.entry(*at).or_default().push(name);
        }
    }
    let mut result = Vec::with_capacity(stmts.len());
    for (at, mut stmt) in std::mem::take(stmts).into_iter().enumerate() {
        if let Stmt::Free(_) = stmt {
            continue;
        }
        stmt.blocks_mut().into_iter().for_each(free_early);
        result.push(stmt);
        let names = frees.remove(&at).unwrap_or_default();
        result.extend(names.into_iter().map(Stmt::Free));
    }
    *stmts = result;
}
