//! Memory of work-items that is not theirs alone: allocated before the kernel, for all of them (DPIA, section 6.4; FUNMEM,
//! section 5, with the interleaved layout of GPUs: cells of the same number lie side by side).
//!
//! ```text
//! par for i < n {                          buffer row: f32
//!   buffer row: f32                        alloc row[m*n]
//!   alloc row[m]                  ~~>      kernel main_1 { par for i < n {
//!   … row[j] …                               … row[j*n + i] …
//!   free row                               } }
//! }                                        free row
//! ```
//!
//! Small arrays of known size stay where they are: registers, or what a device has for them.

use crate::fresh::Fresh;
use crate::why::Why;
use almach_base::{Name, Span};
use almach_imp::{Expr, Index, LoopMode, Stmt, Touched};
use almach_value::ScalarType;
use std::collections::{BTreeMap, HashSet};

/// The largest array of a work-item's own, in bytes.
pub(crate) const PRIVATE_BYTES: i64 = 2048;

/// The loop whose iterations are work-items: its index and their number.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<'a> {
    pub(crate) index: &'a Name,
    pub(crate) count: &'a Index,
}

/// A buffer that is now allocated outside.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    pub(crate) name: Name,
    pub(crate) ty: ScalarType,
    pub(crate) size: Index,
    pub(crate) span: Span,
}

/// How a kernel's own buffers are allocated.
#[derive(Default)]
struct Own {
    ty: Option<ScalarType>,
    sizes: Vec<(Index, Span)>,
    /// Whether it is allocated in the block that declares it.
    at_home: bool,
}

/// Takes memory out of statements that is too large for a work-item, or of a size that only the host knows.
pub(crate) fn expand(
    body: &mut Vec<Stmt>,
    lanes: Option<Lanes<'_>>,
    fresh: &mut Fresh,
) -> Result<Vec<Outside>, Why> {
    expand_also(body, lanes, &HashSet::new(), fresh)
}

/// The same, with buffers that have to be outside whatever their size.
pub(crate) fn expand_also(
    body: &mut Vec<Stmt>,
    lanes: Option<Lanes<'_>>,
    shared: &HashSet<Name>,
    fresh: &mut Fresh,
) -> Result<Vec<Outside>, Why> {
    let outside = plan_also(body, lanes, shared)?;
    if !outside.is_empty() {
        let moved: HashSet<Name> = outside.iter().map(|one| one.name.clone()).collect();
        let mut rewriter = Rewriter { moved, lanes, fresh };
        rewriter.block(body);
        without_lanes(body);
    }
    Ok(outside)
}

/// Iterations that shared no memory now may: one after another.
fn without_lanes(stmts: &mut [Stmt]) {
    for stmt in stmts {
        if let Stmt::For {
            mode: mode @ LoopMode::Simd,
            ..
        } = stmt
        {
            *mode = LoopMode::Seq;
        }
        stmt.blocks_mut()
            .into_iter()
            .for_each(|block| without_lanes(block));
    }
}

/// What has to be allocated outside; why that cannot be.
pub(crate) fn plan(body: &[Stmt], lanes: Option<Lanes<'_>>) -> Result<Vec<Outside>, Why> {
    plan_also(body, lanes, &HashSet::new())
}

/// The buffers that are too large for a work-item, and of a size that differs between them, where that is all that is in the way.
pub(crate) fn varying_sizes(body: &[Stmt]) -> Vec<Name> {
    let mut own: BTreeMap<Name, Own> = BTreeMap::new();
    collect(body, &mut own);
    let inside = Touched::of(body);
    let changes = |var: &Name| inside.bound.contains_key(var) || inside.assigned.contains(var);
    let mut found = Vec::new();
    for (name, own) in own {
        match own.sizes.as_slice() {
            [(size, _)] if size.free_vars().any(changes) => found.push(name),
            [] | [_] => {}
            _ => return Vec::new(),
        }
    }
    found
}

fn plan_also(body: &[Stmt], lanes: Option<Lanes<'_>>, shared: &HashSet<Name>) -> Result<Vec<Outside>, Why> {
    let mut own: BTreeMap<Name, Own> = BTreeMap::new();
    collect(body, &mut own);
    let inside = Touched::of(body);
    let changes = |var: &Name| inside.bound.contains_key(var) || inside.assigned.contains(var);
    let mut outside = Vec::new();
    for (name, found) in own {
        let Some(ty) = found.ty else { continue };
        let [(size, span)] = found.sizes.as_slice() else {
            match found.sizes.is_empty() {
                true => continue,
                false => return Err(Why::Moves(name)),
            }
        };
        let bytes = i64::try_from(ty.bytes()).unwrap_or(1);
        let is_small = size
            .as_constant()
            .is_some_and(|size| (0..=PRIVATE_BYTES / bytes).contains(&size));
        if is_small && found.at_home && !shared.contains(&name) {
            continue;
        }
        if size.free_vars().any(changes) {
            return Err(Why::VaryingSize(name));
        }
        let size = match lanes {
            Some(lanes) => size * lanes.count,
            None => size.clone(),
        };
        outside.push(Outside {
            name,
            ty,
            size,
            span: *span,
        });
    }
    Ok(outside)
}

fn collect(stmts: &[Stmt], own: &mut BTreeMap<Name, Own>) {
    let mut here = Vec::new();
    for stmt in stmts {
        match stmt {
            Stmt::Buffer { name, ty, .. } => {
                here.push(name);
                own.entry(name.clone()).or_default().ty = Some(*ty);
            }
            Stmt::Alloc { buffer, size, span } => {
                let found = own.entry(buffer.clone()).or_default();
                found.sizes.push((size.clone(), *span));
                found.at_home = here.contains(&buffer);
            }
            _ => stmt.blocks().into_iter().for_each(|block| collect(block, own)),
        }
    }
}

struct Rewriter<'a, 'f> {
    moved: HashSet<Name>,
    lanes: Option<Lanes<'a>>,
    fresh: &'f mut Fresh,
}

impl Rewriter<'_, '_> {
    fn is_moved(&self, name: &Name) -> bool {
        self.moved.contains(name)
    }

    /// The place of a cell among those of all work-items.
    fn place(&self, buffer: &Name, index: &mut Index) {
        if let Some(lanes) = self.lanes.filter(|_| self.is_moved(buffer)) {
            *index = &(&*index * lanes.count) + &Index::var(lanes.index.clone());
        }
    }

    fn expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
            Expr::Load(buffer, index) => self.place(buffer, index),
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.expr(part)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.expr(part));
            }
        }
    }

    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        stmts.retain(|stmt| match stmt {
            Stmt::Buffer { name, .. } | Stmt::Alloc { buffer: name, .. } | Stmt::Free(name) => {
                !self.is_moved(name)
            }
            _ => true,
        });
        for stmt in stmts {
            // Cells of one work-item do not lie side by side any more.
            if let Stmt::Copy { to, from, .. } = stmt
                && self.lanes.is_some()
                && (self.is_moved(to) || self.is_moved(from))
                && let Some(moved) = stmt.cell_by_cell(LoopMode::Seq, || self.fresh.name("cell"))
            {
                *stmt = moved;
            }
            stmt.for_each_expr_mut(&mut |expr| self.expr(expr));
            match stmt {
                Stmt::Store { buffer, index, .. }
                | Stmt::Atomic { buffer, index, .. }
                | Stmt::Await { buffer, index, .. } => self.place(buffer, index),
                _ => {}
            }
            for block in stmt.blocks_mut() {
                self.block(block);
            }
        }
    }
}
