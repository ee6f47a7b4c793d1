//! Elements that are read across memory: a tile of them is read row by row, whole lines of memory at a time, into local memory, and
//! taken from there column by column.
//!
//! ```text
//! par for i < n {                        items for item < 256 {
//!   items for j < m {                      for e < 4 { tile[33*(item/32 + 8*e) + item%32] = xs[<i: item%32> + n*<j: item/32 + 8*e>] }
//!     ys[i*m + j] = xs[j*n + i]    ~~>     barrier
//!   }                                      for e < 4 { ys[…] = tile[33*(item%32) + item/32 + 8*e] }
//! }                                      }
//! ```
//!
//! A row of the tile is one cell longer than it needs to be, so that cells of a column are in different banks of local memory.

use super::{
    ITEMS, LOCAL_BYTES, Local, Nest, Place, Shape, Tiled, Types, WIDTH, at_most, both, groups, growth,
    is_straight, less, let_number, repeat, replace_loads, when,
};
use crate::fresh::Fresh;
use almach_base::Name;
use almach_imp::{Expr, Index, Stmt};

/// Rows of a tile that lie between those of a work-item.
const STEP: i64 = ITEMS / WIDTH;

/// Cells between the rows of a tile.
const ROW: i64 = WIDTH + 1;

/// A load whose cells are neighbours along the rows' index.
struct Crossing {
    buffer: Name,
    index: Index,
    tile: Name,
}

pub(super) fn crossing(nest: &Nest<'_>, types: &Types, fresh: &mut Fresh) -> Option<Tiled> {
    if !is_straight(&nest.body) {
        return None;
    }
    let found = crossings(nest, fresh);
    if found.is_empty() {
        return None;
    }
    let mut local = Vec::new();
    for one in &found {
        local.push(Local {
            name: one.tile.clone(),
            ty: *types.get(&one.buffer)?,
            size: ROW * WIDTH,
        });
    }
    let bytes = |one: &Local| one.size * i64::try_from(one.ty.bytes()).unwrap_or(8);
    if local.iter().map(bytes).sum::<i64>() > LOCAL_BYTES {
        return None;
    }
    let shape = Shape {
        height: WIDTH,
        width: WIDTH,
        items: WIDTH,
    };
    groups(nest, shape, local, fresh, |place, fresh| {
        let side = Index::constant(WIDTH);
        let whole = both(
            at_most(&(&place.top + &side), nest.rows),
            at_most(&(&place.left + &side), nest.columns),
        );
        let mut out = Vec::new();
        let filled = |this: Tests, fresh: &mut Fresh| fill(nest, &found, place, this, fresh);
        out.push(Stmt::If {
            condition: whole.clone(),
            then: vec![filled(Tests::None, fresh)],
            otherwise: vec![filled(Tests::All, fresh)],
        });
        out.push(Stmt::Barrier);
        out.push(Stmt::If {
            condition: whole,
            then: vec![used(nest, &found, place, Tests::None, fresh)?],
            otherwise: vec![used(nest, &found, place, Tests::All, fresh)?],
        });
        Some(out)
    })
}

/// Whether a tile may reach beyond the last row or column.
#[derive(Clone, Copy)]
enum Tests {
    None,
    All,
}

fn within(tests: Tests, nest: &Nest<'_>, row: &Index, column: &Index, body: Vec<Stmt>) -> Vec<Stmt> {
    match tests {
        Tests::None => body,
        Tests::All => {
            let inside = both(less(row, nest.rows), less(column, nest.columns));
            vec![when(inside, body)]
        }
    }
}

/// Every load at the top of an iteration that goes across: evenly along rows, one cell at a time, and not along columns.
fn crossings(nest: &Nest<'_>, fresh: &mut Fresh) -> Vec<Crossing> {
    let written = nest.written();
    let mut found: Vec<Crossing> = Vec::new();
    for stmt in nest.body.clone() {
        let mut stmt = stmt;
        stmt.for_each_expr_mut(&mut |expr| {
            replace_loads(expr, &mut |buffer, index| {
                let by_row = growth(index, nest.row)?;
                let by_column = growth(index, nest.column)?;
                let across =
                    by_row == Index::one() && by_column.as_constant().is_none_or(|by| by.abs() >= WIDTH);
                let known = found
                    .iter()
                    .any(|one| one.buffer == *buffer && one.index == *index);
                if across && !known && !written.contains(buffer) && nest.is_known(index, None) {
                    found.push(Crossing {
                        buffer: buffer.clone(),
                        index: index.clone(),
                        tile: fresh.name("tile"),
                    });
                }
                None
            });
        });
    }
    found
}

/// The tiles, read along their rows.
fn fill(nest: &Nest<'_>, found: &[Crossing], place: &Place, tests: Tests, fresh: &mut Fresh) -> Stmt {
    let each = fresh.name("each");
    let step = &Index::constant(STEP) * &Index::var(each.clone());
    let (line, along) = (&place.line + &step, &place.along);
    let (row, column) = (&place.top + along, &place.left + &line);
    let cell = &(&Index::constant(ROW) * &line) + along;
    let loads = found.iter().map(|one| {
        let from = one.index.substitute(|name| match name {
            name if name == nest.row => Some(row.clone()),
            name if name == nest.column => Some(column.clone()),
            _ => None,
        });
        Stmt::Store {
            buffer: one.tile.clone(),
            index: cell.clone(),
            value: Expr::Load(one.buffer.clone(), from),
        }
    });
    let body = within(tests, nest, &row, &column, loads.collect());
    repeat(&each, WIDTH / STEP, body)
}

/// The elements, which find what they read in the tiles.
fn used(nest: &Nest<'_>, found: &[Crossing], place: &Place, tests: Tests, fresh: &mut Fresh) -> Option<Stmt> {
    let each = fresh.name("each");
    let step = &Index::constant(STEP) * &Index::var(each.clone());
    let (line, along) = (&place.line + &step, &place.along);
    let (row, column) = (&place.top + &line, &place.left + along);
    let cell = &(&Index::constant(ROW) * along) + &line;
    let from_tiles = Nest {
        body: nest
            .body
            .iter()
            .cloned()
            .map(|mut stmt| {
                stmt.for_each_expr_mut(&mut |expr| {
                    replace_loads(expr, &mut |buffer, index| {
                        let one = found
                            .iter()
                            .find(|one| one.buffer == *buffer && one.index == *index)?;
                        Some(Expr::Load(one.tile.clone(), cell.clone()))
                    });
                });
                stmt
            })
            .collect(),
        plane: nest.plane.clone(),
        ..*nest
    };
    let element = from_tiles.element(fresh)?;
    let mut body = vec![
        let_number(element.row, row.clone()),
        let_number(element.column, column.clone()),
    ];
    body.extend(element.body);
    Some(repeat(
        &each,
        WIDTH / STEP,
        within(tests, nest, &row, &column, body),
    ))
}
