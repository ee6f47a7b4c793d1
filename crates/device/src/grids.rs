//! Grids of several dimensions: a loop for work-items that is all that a parallel loop does becomes one with it.
//!
//! ```text
//! par for i < n {                         par for k < n*m {
//!   let a: f32 = xs[i]                      let i: i64 = {k/m}
//!   items for j < m {             ~~>       let a: f32 = xs[i]
//!     ys[i*m + j] = a * zs[j]               let j: i64 = {k - m*(k/m)}
//!   }                                       ys[i*m + j] = a * zs[j]
//! }                                       }
//! ```
//!
//! Neighbours in the last dimension are neighbouring work-items. What stands before the inner loop is done for each of its
//! iterations: it must not fail where there are none.

use crate::fills;
use crate::fresh::Fresh;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Stmt, Touched};
use almach_value::ScalarType;

/// Makes one loop out of a parallel one and the one directly in it; false where there is none.
pub(crate) fn flatten(index: &mut Name, count: &mut Index, body: &mut Vec<Stmt>, fresh: &mut Fresh) -> bool {
    let Some(inner) = inner_loop(index, body) else {
        return false;
    };
    let Stmt::For {
        index: inner_index,
        count: inner_count,
        body: inner_body,
        ..
    } = body.remove(inner)
    else {
        return false;
    };
    let cell = fresh.name("cell");
    let at = Index::var(cell.clone());
    let row = at.div(&inner_count);
    let column = &at - &(&row * &inner_count);
    let outer = std::mem::replace(index, cell);
    *count = &*count * &inner_count;
    body.insert(0, number(outer, row));
    body.push(number(inner_index, column));
    body.extend(inner_body);
    true
}

fn number(name: Name, value: Index) -> Stmt {
    Stmt::Let {
        name,
        ty: ScalarType::I64,
        value: Expr::Index(value),
    }
}

/// The place of a loop for work-items, or one that copies, that comes last and has only names for values before it; as many iterations every time.
fn inner_loop(index: &Name, body: &[Stmt]) -> Option<usize> {
    let last = body.iter().rposition(|stmt| !matches!(stmt, Stmt::At(_)))?;
    let stmt = body.get(last)?;
    let Stmt::For { mode, count, .. } = stmt else {
        return None;
    };
    if *mode != LoopMode::Items && !fills::copies(stmt) {
        return None;
    }
    let before = body.get(..last)?;
    let plain = before
        .iter()
        .all(|stmt| matches!(stmt, Stmt::At(_) | Stmt::Let { .. }));
    let bound = Touched::of(before).bound;
    let same = count
        .free_vars()
        .all(|name| name != index && !bound.contains_key(name));
    (plain && same).then_some(last)
}
