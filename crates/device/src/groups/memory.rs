//! The memory of a group: variables of its work-items, or local memory that they share.
//!
//! ```text
//! buffer acc: f32                         (nothing)
//! alloc acc[256]                          var acc: f32
//! items for i < 256 {             ~~>     items for i < 256 {
//!   acc[i] = acc[i] + xs[i]                 acc = acc + xs[i]
//! }                                       }
//! ```

use almach_base::{Name, Span};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_value::ScalarType;
use std::collections::BTreeMap;

/// Local memory that every device has, in bytes.
pub(crate) const LOCAL_BYTES: i64 = 32 << 10;

/// The largest array of a work-item's own, in bytes.
use crate::expand::PRIVATE_BYTES;

/// A buffer of a group.
pub(super) struct Local {
    pub(super) name: Name,
    pub(super) ty: ScalarType,
    pub(super) size: i64,
    pub(super) span: Span,
}

/// What is known of a buffer that is declared beside the loops for work-items.
struct Found {
    ty: ScalarType,
    allocs: Vec<(Option<i64>, Span)>,
    /// Whether all uses are of an iteration's own cell.
    own: bool,
}

/// Takes the buffers of a group out of its body, and gives those that are local memory; none where that is too much of it, or a
/// work-item has memory that it cannot have.
pub(super) fn place(body: &mut Vec<Stmt>, items: i64) -> Option<Vec<Local>> {
    let mut found = BTreeMap::new();
    declared(body, &mut found)?;
    uses(body, None, items, &mut found);
    let mut local = Vec::new();
    let mut bytes = 0;
    for (name, buffer) in &found {
        let [(Some(size), span)] = buffer.allocs.as_slice() else {
            return None;
        };
        if buffer.own && *size <= items {
            continue;
        }
        bytes += size * i64::try_from(buffer.ty.bytes()).ok()?;
        local.push(Local {
            name: name.clone(),
            ty: buffer.ty,
            size: (*size).max(1),
            span: *span,
        });
    }
    if bytes > LOCAL_BYTES {
        return None;
    }
    let is_local = |name: &Name| local.iter().any(|one| one.name == *name);
    let own: Vec<Name> = found.keys().filter(|name| !is_local(name)).cloned().collect();
    rewrite(body, &own, &found);
    Some(local)
}

/// The buffers that are declared beside the loops for work-items. None where those have too large ones.
fn declared(stmts: &[Stmt], found: &mut BTreeMap<Name, Found>) -> Option<()> {
    for stmt in stmts {
        match stmt {
            Stmt::Buffer { name, ty, .. } => {
                let buffer = Found {
                    ty: *ty,
                    allocs: Vec::new(),
                    own: true,
                };
                found.insert(name.clone(), buffer);
            }
            Stmt::Alloc { buffer, size, span } => {
                let known = found.get_mut(buffer)?;
                known.allocs.push((size.as_constant(), *span));
            }
            Stmt::For {
                mode: LoopMode::Items,
                body,
                ..
            } => fits(body)?,
            _ => {
                for block in stmt.blocks() {
                    declared(block, found)?;
                }
            }
        }
    }
    Some(())
}

/// Whether a work-item's own memory is small.
fn fits(stmts: &[Stmt]) -> Option<()> {
    for stmt in stmts {
        if let Stmt::Alloc { size, .. } = stmt {
            size.as_constant().filter(|size| *size <= PRIVATE_BYTES / 8)?;
        }
        for block in stmt.blocks() {
            fits(block)?;
        }
    }
    Some(())
}

/// Looks at all uses; `around` is the index of the loop for work-items around, where it gives every item one iteration.
fn uses(stmts: &[Stmt], around: Option<&Name>, items: i64, found: &mut BTreeMap<Name, Found>) {
    for stmt in stmts {
        stmt.for_each_expr(&mut |expr| loads(expr, around, found));
        match stmt {
            Stmt::Store { buffer, index, .. } => used(buffer, index, around, found),
            Stmt::Atomic { buffer, .. } | Stmt::Await { buffer, .. } => shared(buffer, found),
            Stmt::Copy { to, from, .. } => [to, from].into_iter().for_each(|name| shared(name, found)),
            Stmt::Foreign { arguments, .. } => {
                for argument in arguments {
                    if let almach_imp::Argument::Buffer(name, _) = argument {
                        shared(name, found);
                    }
                }
            }
            _ => {}
        }
        let inner = match stmt {
            Stmt::For {
                mode: LoopMode::Items,
                index,
                count,
                ..
            } => count
                .as_constant()
                .is_some_and(|count| count <= items)
                .then_some(index),
            _ => around,
        };
        for block in stmt.blocks() {
            uses(block, inner, items, found);
        }
    }
}

fn loads(expr: &Expr, around: Option<&Name>, found: &mut BTreeMap<Name, Found>) {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
        Expr::Load(buffer, index) => used(buffer, index, around, found),
        Expr::Unary(_, a) => loads(a, around, found),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| loads(part, around, found)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| loads(part, around, found));
        }
    }
}

fn used(buffer: &Name, index: &Index, around: Option<&Name>, found: &mut BTreeMap<Name, Found>) {
    if index.as_var() != around || around.is_none() {
        shared(buffer, found);
    }
}

fn shared(buffer: &Name, found: &mut BTreeMap<Name, Found>) {
    if let Some(known) = found.get_mut(buffer) {
        known.own = false;
    }
}

/// Declarations go, or become those of variables.
fn rewrite(stmts: &mut Vec<Stmt>, own: &[Name], found: &BTreeMap<Name, Found>) {
    stmts.retain(|stmt| match stmt {
        Stmt::Alloc { buffer, .. } => !found.contains_key(buffer),
        Stmt::Free(name) => !found.contains_key(name),
        Stmt::Buffer { name, .. } => own.contains(name) || !found.contains_key(name),
        _ => true,
    });
    for stmt in stmts {
        stmt.for_each_expr_mut(&mut |expr| variables(expr, own));
        match stmt {
            Stmt::Buffer { name, ty, .. } if own.contains(name) => {
                *stmt = Stmt::Var {
                    name: name.clone(),
                    ty: *ty,
                    value: None,
                };
            }
            Stmt::Store { buffer, value, .. } if own.contains(buffer) => {
                *stmt = Stmt::Assign {
                    name: buffer.clone(),
                    value: value.clone(),
                };
            }
            _ => stmt
                .blocks_mut()
                .into_iter()
                .for_each(|block| rewrite(block, own, found)),
        }
    }
}

fn variables(expr: &mut Expr, own: &[Name]) {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
        Expr::Load(buffer, _) => {
            if own.contains(buffer) {
                *expr = Expr::Var(buffer.clone());
            }
        }
        Expr::Unary(_, a) => variables(a, own),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| variables(part, own)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| variables(part, own));
        }
    }
}
