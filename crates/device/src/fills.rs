//! Loops and copies whose iterations may run at once, though the program has them in order: nobody sees the difference.
//!
//! ```text
//! for i < n { flag[i] = 0 }              ~~>   par for i < n { flag[i] = 0 }
//! copy ys[a] = xs[b] for n               ~~>   par for i < n { ys[a + i] = xs[b + i] }
//! ```

use almach_base::Name;
use almach_imp::{Index, LoopMode, Stmt, Touched};

/// Fewer cells than this are not worth a kernel of their own.
const FEW: i64 = 64;

/// The same as a parallel loop, where that is one and long enough for a kernel.
pub(crate) fn in_parallel(stmt: &Stmt, fresh_index: impl FnOnce() -> Name) -> Option<Stmt> {
    match stmt {
        Stmt::Copy { count, .. } | Stmt::For { count, .. } if is_few(count) => None,
        _ => at_once(stmt, fresh_index),
    }
}

/// The same as a parallel loop, where that is one.
pub(crate) fn at_once(stmt: &Stmt, fresh_index: impl FnOnce() -> Name) -> Option<Stmt> {
    match stmt {
        Stmt::Copy { to, from, .. } if to != from => stmt.cell_by_cell(LoopMode::Par, fresh_index),
        Stmt::For {
            index,
            width,
            count,
            mode: LoopMode::Seq,
            body,
        } if writes_apart(body) && body.iter().all(|stmt| fills(stmt, index)) => Some(Stmt::For {
            index: index.clone(),
            width: *width,
            count: count.clone(),
            mode: LoopMode::Par,
            body: body.clone(),
        }),
        _ => None,
    }
}

/// Whether a loop only moves values between different buffers, each to a cell of its own.
pub(crate) fn copies(stmt: &Stmt) -> bool {
    let Stmt::For {
        index,
        mode: LoopMode::Seq | LoopMode::Simd,
        body,
        ..
    } = stmt
    else {
        return false;
    };
    let written: Vec<&Name> = body.iter().filter_map(written_by).collect();
    writes_apart(body)
        && body.iter().all(|stmt| match stmt {
            Stmt::At(_) => true,
            Stmt::Store {
                index: place, value, ..
            } => {
                let read = Touched::of_expr(value).cells;
                is_apart(place, index) && !written.iter().any(|name| read.contains_key(*name))
            }
            _ => false,
        })
}

/// Whether every buffer is written once in an iteration: else the order of iterations may matter.
fn writes_apart(body: &[Stmt]) -> bool {
    let mut seen = std::collections::HashSet::new();
    body.iter()
        .filter_map(written_by)
        .all(|buffer| seen.insert(buffer))
}

fn written_by(stmt: &Stmt) -> Option<&Name> {
    match stmt {
        Stmt::Store { buffer, .. } => Some(buffer),
        _ => None,
    }
}

fn is_few(count: &Index) -> bool {
    count.as_constant().is_some_and(|count| count <= FEW)
}

/// Whether a statement writes a cell that no other iteration writes, with a value that depends on no cell.
fn fills(stmt: &Stmt, index: &Name) -> bool {
    match stmt {
        Stmt::At(_) => true,
        Stmt::Store {
            index: place, value, ..
        } => Touched::of_expr(value).cells.is_empty() && is_apart(place, index),
        _ => false,
    }
}

/// Whether a place is another one in every iteration: `i` plus what is the same in all of them.
fn is_apart(place: &Index, index: &Name) -> bool {
    let rest = place - &Index::var(index.clone());
    !rest.free_vars().any(|name| name == index)
}
