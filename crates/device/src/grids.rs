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
use almach_nat::Atom;
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
    let mut inner_body = inner_body;
    let numbers = Numbers {
        row: index,
        column: &inner_index,
        columns: &inner_count,
    };
    if numbers.only_count(body) && numbers.only_count(&inner_body) {
        numbers.counted(body, &at);
        numbers.counted(&mut inner_body, &at);
        *index = cell;
        *count = &*count * &inner_count;
        body.extend(inner_body);
        return true;
    }
    let row = at.div(&inner_count);
    let column = &at - &(&row * &inner_count);
    let outer = std::mem::replace(index, cell);
    *count = &*count * &inner_count;
    body.insert(0, number(outer, row));
    body.push(number(inner_index, column));
    body.extend(inner_body);
    true
}

/// Whether the loop in a parallel one has another one in it.
pub(crate) fn is_deep(index: &Name, body: &[Stmt]) -> bool {
    match inner_loop(index, body).and_then(|at| body.get(at)) {
        Some(Stmt::For { index, body, .. }) => inner_loop(index, body).is_some(),
        _ => false,
    }
}

/// Whether a nest's indices count its cells, one row behind the other, and nothing else looks at its rows and columns.
pub(crate) fn only_counts(row: &Name, column: &Name, columns: &Index, body: &[Stmt]) -> bool {
    Numbers { row, column, columns }.only_count(body)
}

/// The numbers of a row and of a column, of which there are so many.
struct Numbers<'a> {
    row: &'a Name,
    column: &'a Name,
    columns: &'a Index,
}

impl Numbers<'_> {
    /// `c*(columns*row + column) + rest` as `c*cell + rest`.
    fn by_cell(&self, index: &Index, cell: &Index) -> Option<Index> {
        let free = |part: &Index| !part.mentions(self.row) && !part.mentions(self.column);
        if free(index) {
            return Some(index.clone());
        }
        let (by_column, rest) = index.linear_in(&Atom::Var(self.column.clone()))?;
        let (by_row, rest) = rest.linear_in(&Atom::Var(self.row.clone()))?;
        let even = by_row == &by_column * self.columns;
        (even && free(&by_column) && free(&rest)).then(|| &(&by_column * cell) + &rest)
    }

    fn only_count(&self, stmts: &[Stmt]) -> bool {
        let mut copy = stmts.to_vec();
        let mut all = true;
        self.each(
            &mut copy,
            &mut |index| match self.by_cell(index, &Index::zero()) {
                Some(rest) => *index = rest,
                None => all = false,
            },
        );
        let touched = Touched::of(&copy);
        let mut scalars = touched.free_scalars();
        // Names that are no part of an index are left.
        all && !scalars.any(|name| name == self.row || name == self.column)
    }

    fn counted(&self, stmts: &mut [Stmt], cell: &Index) {
        self.each(stmts, &mut |index| {
            if let Some(other) = self.by_cell(index, cell) {
                *index = other;
            }
        });
    }

    fn each(&self, stmts: &mut [Stmt], visit: &mut dyn FnMut(&mut Index)) {
        for stmt in stmts {
            stmt.for_each_index_mut(&mut |index| visit(index));
            stmt.for_each_expr_mut(&mut |expr| indices(expr, visit));
            for block in stmt.blocks_mut() {
                self.each(block, visit);
            }
        }
    }
}

fn indices(expr: &mut Expr, visit: &mut dyn FnMut(&mut Index)) {
    match expr {
        Expr::Const(_) | Expr::Var(_) => {}
        Expr::Index(index) | Expr::Load(_, index) => visit(index),
        Expr::Unary(_, a) => indices(a, visit),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| indices(part, visit)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| indices(part, visit));
        }
    }
}

fn number(name: Name, value: Index) -> Stmt {
    Stmt::Let {
        name,
        ty: ScalarType::I64,
        value: Expr::Index(value),
    }
}

/// The place of a loop for work-items, or one that copies, that comes last and has only names for values before it; as many iterations every time.
pub(crate) fn inner_loop(index: &Name, body: &[Stmt]) -> Option<usize> {
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
