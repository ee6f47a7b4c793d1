//! Blocks of the host, with kernels in them.

use crate::chains::{cells_for, over_chunks, phases, rename, shared_buffers, without_waiting};
use crate::expand::{Lanes, Outside, expand, expand_also, varying_sizes};
use crate::fills;
use crate::fresh::Fresh;
use crate::grids;
use crate::groups::{self, grouped};
use crate::inline::{inline, open};
use crate::rounds;
use crate::rows::reserved_before;
use crate::strips::in_strips;
use crate::tasks::{Task, allocated, is_taskable, private_buffers};
use crate::tiles::{Loop, Tiled, Types, tiled};
use crate::varying;
use crate::why::{Why, has_threads, walks, why_not};
use crate::{Place, Placement, Unit, call_on_host};
use almach_base::{Name, Span};
use almach_imp::naturals::calls;
use almach_imp::{Access, Argument, Expr, Index, LoopMode, Proc, Stmt, Touched, Transfer, Width, is_column};
use almach_value::{Scalar, ScalarType};
use std::collections::{BTreeMap, HashSet};

pub(crate) struct Splitter<'a> {
    unit: &'a Unit<'a>,
    proc: &'a Name,
    fresh: Fresh,
    kernels: usize,
    span: Span,
    types: Types,
    pub(crate) placements: Vec<Placement>,
}

impl<'a> Splitter<'a> {
    pub(crate) fn new(proc: &'a Proc, unit: &'a Unit<'a>) -> Splitter<'a> {
        unit.rows.borrow_mut().clear();
        unit.note_rows(&proc.body);
        Splitter {
            unit,
            proc: &proc.name,
            fresh: Fresh::of(proc),
            kernels: 0,
            span: proc.span,
            types: types_of(proc),
            placements: Vec::new(),
        }
    }

    pub(crate) fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let stmts = self.opened(stmts);
        let private = private_buffers(&stmts, self.unit);
        let (mut out, mut task) = (Vec::new(), Task::default());
        for at in 0..stmts.len() {
            let (Some(stmt), rest) = (stmts.get(at), stmts.get(at..).unwrap_or(&[])) else {
                continue;
            };
            self.stmt(stmt, rest, &private, &mut task, &mut out);
        }
        self.flush(&mut task, &[], &mut out);
        out
    }

    /// `rest` starts with the statement.
    fn stmt(
        &mut self,
        stmt: &Stmt,
        rest: &[Stmt],
        private: &HashSet<Name>,
        task: &mut Task,
        out: &mut Vec<Stmt>,
    ) {
        match stmt {
            Stmt::At(span) => {
                self.span = *span;
                match task.is_empty() {
                    true => out.push(stmt.clone()),
                    false => task.push(stmt.clone()),
                }
            }
            Stmt::Buffer { name, .. } if private.contains(name) => task.push(stmt.clone()),
            Stmt::Alloc { buffer, .. } if task.declares(buffer) => task.push(stmt.clone()),
            Stmt::Free(buffer) if task.declares(buffer) => task.push(stmt.clone()),
            Stmt::Free(buffer) if task.touched.mentions(buffer) => task.push_behind(stmt.clone()),
            Stmt::Buffer { .. }
            | Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Swap(..)
            | Stmt::Shrink { .. }
            | Stmt::Borrow { .. }
            | Stmt::Reserve { .. }
            | Stmt::Kernel { .. }
            | Stmt::Transfer(_) => {
                if task.matters_to(&Touched::of([stmt])) {
                    self.flush(task, rest, out);
                }
                out.push(stmt.clone());
                out.extend(fresh(stmt));
            }
            Stmt::For {
                mode: LoopMode::Par, ..
            } => {
                self.flush(task, rest, out);
                self.parallel(stmt, out);
            }
            Stmt::For {
                mode: LoopMode::Chain,
                ..
            } => {
                self.flush(task, rest, out);
                if !self.chain(stmt, out) {
                    self.work(&in_order(stmt), rest, task, out);
                }
            }
            _ if is_about_cells(stmt) => {
                if task.matters_to(&Touched::of([stmt])) {
                    self.flush(task, rest, out);
                }
                cell_by_cell(stmt, out);
            }
            _ => self.work(stmt, rest, task, out),
        }
    }

    /// Procedures that look at some cells of recursive data, in the place of their calls: the host gets only those cells.
    fn opened(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::new();
        for stmt in stmts {
            match open(&stmt, self.unit, &mut self.fresh) {
                Some(body) => {
                    self.unit.note_rows(&body);
                    out.extend(self.opened(body));
                }
                None => out.push(stmt),
            }
        }
        out
    }

    /// Statements that are no matter of memory.
    fn work(&mut self, stmt: &Stmt, rest: &[Stmt], task: &mut Task, out: &mut Vec<Stmt>) {
        if !is_taskable(stmt, self.unit) {
            self.flush(task, rest, out);
            match self.starts_kernels(stmt) || self.branches_on_cells(stmt) {
                true => self.control(stmt, out),
                false => self.on_host(stmt, out),
            }
            return;
        }
        if let Some(parallel) = fills::in_parallel(stmt, || self.fresh.name("cell")) {
            self.flush(task, rest, out);
            if let Stmt::Copy { to, count, .. } = stmt {
                out.push(Stmt::Transfer(Transfer::Copied {
                    buffer: to.clone(),
                    count: count.clone(),
                }));
            }
            self.parallel(&parallel, out);
            return;
        }
        if !task.takes(stmt) {
            self.flush(task, rest, out);
        }
        match task.is_empty() && Touched::of([stmt]).cells.is_empty() {
            true => out.push(stmt.clone()),
            false => task.push(stmt.clone()),
        }
    }

    fn flush(&mut self, task: &mut Task, rest: &[Stmt], out: &mut Vec<Stmt>) {
        let finished = std::mem::take(task).finish(rest, &mut self.fresh);
        out.extend(finished.before);
        if !finished.kernel.is_empty() {
            let name = self.kernel_name();
            self.note(Place::Alone { kernel: name.clone() });
            out.push(Stmt::Kernel {
                name,
                body: finished.kernel,
            });
        }
        out.extend(finished.after);
    }

    fn kernel_name(&mut self) -> Name {
        self.kernels += 1;
        Name::from(format!("{}_{}", self.proc, self.kernels))
    }

    fn note(&mut self, place: Place) {
        self.placements.push(Placement {
            span: self.span,
            place,
        });
    }

    /// A parallel loop: a kernel, or a loop of the host.
    fn parallel(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let mut parallel = stmt.clone();
        let Stmt::For {
            index, count, body, ..
        } = &mut parallel
        else {
            return;
        };
        inline(body, self.unit, &mut self.fresh);
        self.unit.note_rows(body);
        let before = match reserved_before(Lanes { index, count }, body, &mut self.fresh) {
            Ok((before, names)) => {
                self.unit.rows.borrow_mut().extend(names);
                before
            }
            Err(why) => return self.fetched(stmt, why, out),
        };
        let (done, noted) = (out.len(), self.placements.len());
        out.extend(before);
        if let Err(why) = self.kernels(parallel, stmt, out) {
            out.truncate(done);
            self.placements.truncate(noted);
            self.fetched(stmt, why, out);
        }
    }

    /// A parallel loop as a kernel, or as two for different sizes; `stmt` is what the host would do.
    fn kernels(&mut self, mut parallel: Stmt, stmt: &Stmt, out: &mut Vec<Stmt>) -> Result<(), Why> {
        let Stmt::For {
            index,
            width,
            count,
            body,
            ..
        } = &mut parallel
        else {
            return Ok(());
        };
        rounds::several(body, &mut self.fresh);
        let mut planes = None;
        while grids::is_deep(index, body) {
            let deep = (index.clone(), count.clone(), body.clone());
            if !grids::flatten(index, count, body, &mut self.fresh) {
                break;
            }
            planes = Some(deep);
            *width = Width::W64;
        }
        if why_not(body, self.unit).is_none() {
            let rows = Loop { index, count, body };
            let planes = planes
                .as_ref()
                .map(|(index, count, body)| Loop { index, count, body });
            if let Some(tiled) = tiled(rows, planes, &self.types, &mut self.fresh) {
                self.in_tiles(tiled, parallel, stmt, out);
                return Ok(());
            }
        }
        self.in_one(parallel, out)
    }

    /// A kernel of tiles, where they are worth it.
    fn in_tiles(&mut self, tiled: Tiled, parallel: Stmt, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let name = self.kernel_name();
        self.note(Place::Tiles { kernel: name.clone() });
        let mut then = tiled.before;
        then.push(Stmt::Kernel {
            name,
            body: vec![tiled.groups],
        });
        if tiled.condition == Expr::Const(Scalar::Bool(true)) {
            out.extend(then);
            return;
        }
        let mut otherwise = Vec::new();
        if let Err(why) = self.in_one(parallel, &mut otherwise) {
            otherwise.clear();
            self.fetched(stmt, why, &mut otherwise);
        }
        out.push(Stmt::If {
            condition: tiled.condition,
            then,
            otherwise,
        });
    }

    /// A parallel loop, one with the loops that are all it does.
    fn in_one(&mut self, mut parallel: Stmt, out: &mut Vec<Stmt>) -> Result<(), Why> {
        let Stmt::For {
            index,
            width,
            count,
            body,
            ..
        } = &mut parallel
        else {
            return Ok(());
        };
        while grids::flatten(index, count, body, &mut self.fresh) {
            *width = Width::W64;
        }
        if why_not(body, self.unit).is_none()
            && let Some(grouped) = grouped(body, &mut self.fresh)
        {
            *body = grouped;
            let name = self.kernel_name();
            self.note(Place::Groups { kernel: name.clone() });
            out.push(Stmt::Kernel {
                name,
                body: vec![parallel],
            });
            return Ok(());
        }
        groups::in_order(body);
        if why_not(body, self.unit).is_none()
            && let Some((group, groups, strips)) = in_strips(index, count, body, &self.types, &mut self.fresh)
        {
            (*index, *count, *body, *width) = (group, groups, strips, Width::W64);
            let name = self.kernel_name();
            self.note(Place::Strips { kernel: name.clone() });
            out.push(Stmt::Kernel {
                name,
                body: vec![parallel],
            });
            return Ok(());
        }
        if let Some(why) = why_not(body, self.unit) {
            return Err(why);
        }
        self.alike(Lanes { index, count }, body, out);
        let outside = expand(body, Some(Lanes { index, count }), &mut self.fresh)?;
        for one in &outside {
            out.extend(allocated(one, &mut self.fresh));
        }
        let name = self.kernel_name();
        self.note(Place::WorkItems { kernel: name.clone() });
        out.push(Stmt::Kernel {
            name,
            body: vec![parallel],
        });
        out.extend(outside.into_iter().map(|one| Stmt::Free(one.name)));
        Ok(())
    }

    /// Gives all iterations as much memory as the one with the most needs, where sizes differ between them.
    fn alike(&mut self, lanes: Lanes<'_>, body: &mut [Stmt], out: &mut Vec<Stmt>) {
        let buffers = varying_sizes(body);
        if buffers.is_empty() {
            return;
        }
        let most = self.fresh.name("most");
        let Some(search) = varying::search(lanes, body, &buffers, &most, &mut self.fresh) else {
            return;
        };
        let cells = Outside {
            name: most.clone(),
            ty: ScalarType::I64,
            size: Index::constant(buffers.len() as i64),
            span: self.span,
        };
        out.extend(allocated(&cells, &mut self.fresh));
        let cleared = (0..buffers.len() as i64).map(|at| Stmt::Store {
            buffer: most.clone(),
            index: Index::constant(at),
            value: Expr::int(0),
        });
        out.push(Stmt::Kernel {
            name: self.kernel_name(),
            body: cleared.collect(),
        });
        self.parallel(&search, out);
        let mut sizes = BTreeMap::new();
        for (at, buffer) in buffers.into_iter().enumerate() {
            let cell = Expr::Load(most.clone(), Index::constant(at as i64));
            let read = self.read(&cell, ScalarType::I64, out);
            let name = self.fresh.name(&format!("{buffer}_cells"));
            sizes.insert(buffer, Index::var(name.clone()));
            out.push(Stmt::Let {
                name,
                ty: ScalarType::I64,
                value: read,
            });
        }
        out.push(Stmt::Free(most));
        varying::allocate(body, &sizes);
    }

    /// A chain in three phases; false where it has none.
    fn chain(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> bool {
        let Stmt::For {
            index,
            width,
            count,
            body,
            ..
        } = stmt
        else {
            return false;
        };
        let mut body = body.clone();
        inline(&mut body, self.unit, &mut self.fresh);
        let shared = shared_buffers(&body);
        let lanes = Lanes { index, count };
        // What is done twice must not write rows.
        if why_not(&body, self.unit).is_some() || writes_columns(&body) {
            return false;
        }
        let Ok(mut outside) = expand_also(&mut body, Some(lanes), &shared, &mut self.fresh) else {
            return false;
        };
        let Some((phases, saved)) = phases(&body, index, &mut self.fresh) else {
            return false;
        };
        outside.extend(saved.iter().map(|one| cells_for(one, count, self.span)));
        for one in &outside {
            out.extend(allocated(one, &mut self.fresh));
        }
        let modes = [LoopMode::Par, LoopMode::Seq, LoopMode::Par];
        for (mut part, mode) in phases.parts.into_iter().zip(modes) {
            if part.is_empty() {
                continue;
            }
            let own = self.fresh.name(index);
            rename(&mut part, index, &own);
            let part = over_chunks(own, *width, count, mode, part);
            match mode {
                LoopMode::Par => self.parallel(&part, out),
                _ => out.push(self.task_of(part)),
            }
        }
        out.extend(outside.into_iter().map(|one| Stmt::Free(one.name)));
        true
    }

    /// Whether a statement has parallel loops in it, or calls a procedure that has.
    fn starts_kernels(&self, stmt: &Stmt) -> bool {
        let alone = std::slice::from_ref(stmt);
        let mut called = Vec::new();
        calls(alone, &mut called);
        has_threads(alone) || called.into_iter().any(|name| self.unit.control.contains(name))
    }

    /// Whether a statement is a branch in which only some cells of recursive data are looked at.
    fn branches_on_cells(&self, stmt: &Stmt) -> bool {
        let uses_columns = || {
            self.unit
                .touched(stmt)
                .cells
                .into_keys()
                .any(|name| is_column(&name))
        };
        matches!(stmt, Stmt::If { .. }) && uses_columns()
    }

    /// Loops, branches and calls with kernels in them.
    fn control(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        match stmt {
            Stmt::For {
                index,
                width,
                count,
                mode,
                body,
            } => out.push(Stmt::For {
                index: index.clone(),
                width: *width,
                count: count.clone(),
                mode: *mode,
                body: self.block(body.clone()),
            }),
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.read(condition, ScalarType::Bool, out);
                out.push(Stmt::If {
                    condition,
                    then: self.block(then.clone()),
                    otherwise: self.block(otherwise.clone()),
                });
            }
            Stmt::While { condition, body } => self.repeat(condition, body, out),
            Stmt::Call {
                proc,
                arguments,
                span,
            } => {
                let params = self.unit.params.get(proc).copied().unwrap_or(&[]);
                let mut known = Vec::new();
                for (argument, param) in arguments.iter().zip(params) {
                    known.push(match argument {
                        Argument::Value(value) => Argument::Value(self.read(value, param.ty, out)),
                        other => other.clone(),
                    });
                }
                out.push(Stmt::Call {
                    proc: proc.clone(),
                    arguments: known,
                    span: *span,
                });
            }
            other => self.on_host(other, out),
        }
    }

    /// `while c { … }` with a condition that looks at cells: it is computed before, and at the end of every round.
    fn repeat(&mut self, condition: &Expr, body: &[Stmt], out: &mut Vec<Stmt>) {
        let known = self.read(condition, ScalarType::Bool, out);
        let mut inner = self.block(body.to_vec());
        if let (Expr::Var(name), false) = (&known, known == *condition) {
            self.assign(&name.clone(), condition, &mut inner);
        }
        out.push(Stmt::While {
            condition: known,
            body: inner,
        });
    }

    /// A value for the host: what looks at arrays is computed by a kernel.
    fn read(&mut self, value: &Expr, ty: ScalarType, out: &mut Vec<Stmt>) -> Expr {
        if Touched::of_expr(value).cells.is_empty() {
            return value.clone();
        }
        let name = self.fresh.name("read");
        out.push(Stmt::Var {
            name: name.clone(),
            ty,
            value: None,
        });
        self.assign(&name, value, out);
        Expr::Var(name)
    }

    /// Gives a variable of the host a value that looks at cells.
    fn assign(&mut self, name: &Name, value: &Expr, out: &mut Vec<Stmt>) {
        let assign = Stmt::Assign {
            name: name.clone(),
            value: value.clone(),
        };
        match is_about_cells(&assign) {
            true => cell_by_cell(&assign, out),
            false => out.push(self.task_of(assign)),
        }
    }

    fn task_of(&mut self, stmt: Stmt) -> Stmt {
        let name = self.kernel_name();
        self.note(Place::Alone { kernel: name.clone() });
        Stmt::Kernel {
            name,
            body: vec![stmt],
        }
    }

    fn on_host(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let alone = std::slice::from_ref(stmt);
        let why = why_not(alone, self.unit)
            .or_else(|| walks(alone).then_some(Why::Walks))
            .or_else(|| crate::expand::plan(alone, None).err())
            .unwrap_or_else(|| {
                let moved = Touched::of(alone).moved.into_iter().next();
                Why::Moves(moved.unwrap_or_else(|| Name::from("memory")))
            });
        self.fetched(stmt, why, out);
    }

    /// A statement of the host, which gets the cells that it uses.
    fn fetched(&mut self, stmt: &Stmt, why: Why, out: &mut Vec<Stmt>) {
        let mut stmt = stmt.clone();
        if let Stmt::Call { proc, arguments, .. } = &mut stmt {
            let params = self.unit.params.get(proc).copied().unwrap_or(&[]);
            for (argument, param) in arguments.iter_mut().zip(params) {
                if let Argument::Value(value) = argument {
                    *value = self.read(value, param.ty, out);
                }
            }
        }
        out.extend(fetches(self.unit.touched(&stmt)));
        self.note(Place::Host(why));
        call_on_host(std::slice::from_mut(&mut stmt), self.unit);
        out.push(stmt);
    }
}

/// The types of a procedure's buffers.
fn types_of(proc: &Proc) -> Types {
    fn declared(stmts: &[Stmt], types: &mut Types) {
        for stmt in stmts {
            if let Stmt::Buffer { name, ty, .. } = stmt {
                types.insert(name.clone(), *ty);
            }
            stmt.blocks().into_iter().for_each(|block| declared(block, types));
        }
    }
    let params = proc.params.iter();
    let mut types: Types = params.map(|param| (param.name.clone(), param.ty)).collect();
    declared(&proc.body, &mut types);
    types
}

/// The host gets the cells that it uses. A buffer that is exchanged for another one has that one's cells when it is written.
fn fetches(touched: Touched) -> impl Iterator<Item = Stmt> {
    let mut used: BTreeMap<Name, Access> = touched
        .free_cells()
        .map(|(name, access)| (name.clone(), access))
        .collect();
    let swapped = touched
        .swapped
        .iter()
        .filter(|name| !touched.declared.contains(*name));
    used.extend(swapped.map(|name| (name.clone(), Access::Write)));
    used.into_iter()
        .map(|(buffer, access)| Stmt::Transfer(Transfer::Fetch { buffer, access }))
}

/// Whether a statement of the host works on scalars and single cells of recursive data.
fn is_about_cells(stmt: &Stmt) -> bool {
    let is_plain = matches!(
        stmt,
        Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::Check { .. }
    );
    let cells = || Touched::of([stmt]).cells;
    is_plain && !cells().is_empty() && cells().keys().all(|name| is_column(name))
}

/// Such a statement, which the host does on cells that it gets one by one.
fn cell_by_cell(stmt: &Stmt, out: &mut Vec<Stmt>) {
    let mut used = Vec::new();
    stmt.for_each_expr(&mut |expr| loads(expr, &mut used));
    let written = match stmt {
        Stmt::Store { buffer, index, .. } => Some((buffer.clone(), index.clone(), Access::Write)),
        _ => None,
    };
    let read = used
        .into_iter()
        .map(|(column, index)| (column, index, Access::Read));
    for (column, index, access) in read.chain(written) {
        out.push(Stmt::Transfer(Transfer::Cell {
            column,
            index,
            access,
        }));
    }
    out.push(stmt.clone());
}

/// The cells that an expression looks at, each once.
fn loads(expr: &Expr, found: &mut Vec<(Name, Index)>) {
    match expr {
        Expr::Load(column, index) => {
            let cell = (column.clone(), index.clone());
            if !found.contains(&cell) {
                found.push(cell);
            }
        }
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
        Expr::Unary(_, a) => loads(a, found),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| loads(part, found)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| loads(part, found));
        }
    }
}

fn writes_columns(stmts: &[Stmt]) -> bool {
    let touched = Touched::of(stmts);
    touched
        .cells
        .iter()
        .any(|(name, access)| is_column(name) && *access == Access::Write)
}

/// Nothing of new memory has to be sent to the device.
pub(crate) fn fresh(stmt: &Stmt) -> Option<Stmt> {
    match stmt {
        Stmt::Alloc { buffer, .. } => Some(Stmt::Transfer(Transfer::Fresh {
            buffer: buffer.clone(),
        })),
        _ => None,
    }
}

/// A chain, one iteration after the other: what an earlier one publishes is there.
fn in_order(stmt: &Stmt) -> Stmt {
    let mut stmt = without_waiting(stmt);
    if let Stmt::For { mode, .. } = &mut stmt {
        *mode = LoopMode::Seq;
    }
    stmt
}
