//! Squares of eight rows of eight cells that are turned, rows to columns, which vectors do in a few steps.
//!
//! ```text
//! for (int64_t k = 0; k < 8; k++) {
//!   for (int64_t j = 0; j < 8; j++) {
//!     columns[j + 8 * k] = rows[8 * j + k];                  =>   square_f32(columns, rows);
//!   }
//! }
//! ```

use crate::Target;
use crate::analysis::Storage;
use crate::device::Side;
use crate::helpers::Helper;
use crate::procedure::{Emitter, Role};
use crate::tree::{CExpr, CStmt};
use almach_base::{Diagnostic, Name};
use almach_imp::{Expr, Index, Stmt};
use almach_value::ScalarType;

/// Rows of a square, and cells of a row.
const SIDE: i64 = 8;

/// Such a nest of loops.
pub struct Square<'s> {
    to: &'s Name,
    from: &'s Name,
}

impl<'s> Square<'s> {
    /// A loop, where it is the outer one of such a nest.
    pub fn of(k: &Name, count: &Index, body: &'s [Stmt]) -> Option<Square<'s>> {
        let Stmt::For {
            index: j,
            count: inner,
            body,
            ..
        } = only(body)?
        else {
            return None;
        };
        let is_square = [count, inner]
            .into_iter()
            .all(|count| count.as_constant() == Some(SIDE));
        let mut stmts = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
        let (to, place, from, cell) = match (stmts.next()?, stmts.next(), stmts.next()) {
            (
                Stmt::Store {
                    buffer,
                    index,
                    value: Expr::Load(from, cell),
                },
                None,
                _,
            ) => (buffer, index, from, cell),
            (
                Stmt::Let {
                    name,
                    value: Expr::Load(from, cell),
                    ..
                },
                Some(Stmt::Store {
                    buffer,
                    index,
                    value: Expr::Var(stored),
                }),
                None,
            ) if stored == name => (buffer, index, from, cell),
            _ => return None,
        };
        let cell_of = |row: &Name, column: &Name| {
            Index::constant(SIDE) * Index::var(row.clone()) + Index::var(column.clone())
        };
        let turns = *place == cell_of(k, j) && *cell == cell_of(j, k);
        (is_square && turns && to != from).then_some(Square { to, from })
    }
}

fn only(body: &[Stmt]) -> Option<&Stmt> {
    let mut stmts = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
    let first = stmts.next()?;
    stmts.next().is_none().then_some(first)
}

impl Emitter<'_> {
    /// Emits such a nest as a call; false where a square is no array of so many cells of the function's own.
    pub fn square(&mut self, square: &Square<'_>, out: &mut Vec<CStmt>) -> Result<bool, Box<Diagnostic>> {
        let on_processor = matches!(self.unit.target, Target::C | Target::OpenMp)
            && !matches!(self.side, Side::Kernel { .. });
        let of = |name: &Name| match self.known(name) {
            Ok(known) if known.role == Role::Buffer(Some(Storage::Stack(SIDE * SIDE))) => Some(known.ty),
            _ => None,
        };
        let (Some(ty), Some(from)) = (of(square.to), of(square.from)) else {
            return Ok(false);
        };
        if !on_processor || ty != from || !matches!(ty.bytes(), 4 | 8) {
            return Ok(false);
        }
        let [to, from] =
            [square.to, square.from].map(|name| self.known(name).map(|known| known.c_name.clone()));
        let (to, from) = (CExpr::name(to?), CExpr::name(from?));
        let function = self.helpers.need(Helper::Square(ty));
        out.push(CStmt::Do(CExpr::call(&function, [to, from])));
        Ok(true)
    }
}

/// The function for a type of scalars: in vectors of 32 bytes, whose pairs exchange every other cell, then pairs of cells, then (of words) halves.
pub fn text(ty: ScalarType, name: &str, c: &str) -> String {
    let text = match ty.bytes() {
        4 => WORDS,
        _ => DOUBLE_WORDS,
    };
    text.replace("NAME", name).replace("TYPE", c)
}

const WORDS: &str = "/* Turns a square of 8 rows of 8 cells: rows are columns. */
static inline void NAME(TYPE *restrict to, const TYPE *restrict from) {
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
  typedef TYPE row __attribute__((vector_size(32)));
  row cells[8], pairs[8];
  memcpy(cells, from, sizeof cells);
  for (int k = 0; k < 8; k += 2) {
    pairs[k] = __builtin_shufflevector(cells[k], cells[k + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    pairs[k + 1] = __builtin_shufflevector(cells[k], cells[k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int k = 0; k < 8; k += 4) {
    for (int l = k; l < k + 2; l++) {
      cells[l] = __builtin_shufflevector(pairs[l], pairs[l + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      cells[l + 2] = __builtin_shufflevector(pairs[l], pairs[l + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int k = 0; k < 4; k++) {
    pairs[k] = __builtin_shufflevector(cells[k], cells[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    pairs[k + 4] = __builtin_shufflevector(cells[k], cells[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  memcpy(to, pairs, sizeof pairs);
#else
  for (int k = 0; k < 8; k++) {
    for (int j = 0; j < 8; j++) to[8 * k + j] = from[8 * j + k];
  }
#endif
}
";

const DOUBLE_WORDS: &str = "/* Turns a square of 8 rows of 8 cells: rows are columns. */
static inline void NAME(TYPE *restrict to, const TYPE *restrict from) {
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
  typedef TYPE row __attribute__((vector_size(32)));
  for (int k = 0; k < 8; k += 4) {
    for (int j = 0; j < 8; j += 4) {
      row cells[4], pairs[4];
      for (int l = 0; l < 4; l++) memcpy(&cells[l], from + 8 * (j + l) + k, sizeof *cells);
      for (int l = 0; l < 4; l += 2) {
        pairs[l] = __builtin_shufflevector(cells[l], cells[l + 1], 0, 4, 2, 6);
        pairs[l + 1] = __builtin_shufflevector(cells[l], cells[l + 1], 1, 5, 3, 7);
      }
      for (int l = 0; l < 2; l++) {
        cells[l] = __builtin_shufflevector(pairs[l], pairs[l + 2], 0, 1, 4, 5);
        cells[l + 2] = __builtin_shufflevector(pairs[l], pairs[l + 2], 2, 3, 6, 7);
      }
      for (int l = 0; l < 4; l++) memcpy(to + 8 * (k + l) + j, &cells[l], sizeof *cells);
    }
  }
#else
  for (int k = 0; k < 8; k++) {
    for (int j = 0; j < 8; j++) to[8 * k + j] = from[8 * j + k];
  }
#endif
}
";
