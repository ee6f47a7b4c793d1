//! Loops in which every row meets every column: what both bring along is kept in local memory for a while, and a work-item has
//! several rows and columns, whose elements are in registers.
//!
//! ```text
//! par for i < n {                             tile of 128 x 128 elements, 8 x 8 for each of 256 work-items:
//!   items for j < m {                         var acc_1: f32 = 0.0f32 … var acc_64: f32 = 0.0f32
//!     var acc: f32 = 0.0f32                   for t < (p + 15)/16 {
//!     for k < p {                               rows[…] = a[…]; columns[…] = b[…]       16 of each, of all rows and columns
//!       acc = acc + a[i*p + k]         ~~>      barrier
//!                 * b[k*m + j]                  for s < 16 { let a_1 = rows[…] … let b_8 = columns[…]
//!     }                                                      acc_1 = acc_1 + a_1 * b_1 … acc_64 = acc_64 + a_8 * b_8 }
//!     out[i*m + j] = acc                        barrier
//!   }                                         }
//! }                                           out[…] = acc_1 … out[…] = acc_64
//! ```
//!
//! Each element is computed as before, in the same order: nothing is regrouped.

use super::{
    ITEMS, LOCAL_BYTES, Local, Nest, Place, Shape, Tiled, Types, at_most, both, groups, growth, is_straight,
    less, let_number, rem, repeat, replace_loads, when, worth,
};
use crate::fresh::Fresh;
use crate::substitute::substitute;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Stmt, Touched, Width};
use almach_value::Scalar;

/// Rows of work-items in a group; as many columns.
const SIDE: i64 = 16;

/// Steps of the loop that local memory has room for.
const DEPTH: i64 = SIDE;

/// Columns of a work-item that lie side by side.
const RUN: i64 = 4;

/// Cells between steps, beyond those that are used: those of neighbouring steps are in different banks, and runs stay aligned.
const PAD: i64 = 4;

/// Fewer rows or columns are no work for it.
const WORTH: i64 = 64;

/// What a loop's body may have, where a work-item has so many rows and columns: statements, and variables of an element.
const SIZES: [(i64, usize, usize); 2] = [(8, 2, 1), (4, 8, 4)];

/// An element: what is before its loop, the loop, and what is behind it.
struct Meeting {
    before: Vec<Stmt>,
    step: Name,
    steps: Index,
    body: Vec<Stmt>,
    after: Vec<Stmt>,
    loads: Vec<Meets>,
}

/// A load that is the same for all columns, or for all rows.
struct Meets {
    buffer: Name,
    index: Index,
    side: Side,
    /// Stands in the body for what is loaded.
    value: Name,
    tile: Name,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Row,
    Column,
}

pub(super) fn product(nest: &Nest<'_>, types: &Types, fresh: &mut Fresh) -> Option<Tiled> {
    let condition = worth(nest, WORTH, WORTH)?;
    let meeting = meeting(nest, fresh)?;
    let variables = meeting
        .before
        .iter()
        .filter(|stmt| matches!(stmt, Stmt::Var { .. }))
        .count();
    let statements = meeting.body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
    let statements = statements.count();
    let (each, local) = SIZES.iter().find_map(|(each, most, variables_most)| {
        let few = statements <= *most && variables <= *variables_most;
        let local = few.then(|| local(&meeting, *each, types))??;
        Some((*each, local))
    })?;
    let shape = Shape {
        height: SIDE * each,
        width: SIDE * each,
        items: SIDE,
    };
    let tiled = groups(nest, shape, local, fresh, |place, fresh| {
        let maker = Maker {
            nest,
            meeting: &meeting,
            types,
            place,
            each,
        };
        maker.body(fresh)
    })?;
    Some(Tiled { condition, ..tiled })
}

/// Local memory for all loads; none where that is too much of it.
fn local(meeting: &Meeting, each: i64, types: &Types) -> Option<Vec<Local>> {
    let mut local = Vec::new();
    let mut bytes = 0;
    for load in &meeting.loads {
        let ty = *types.get(&load.buffer)?;
        let size = DEPTH * (SIDE * each + PAD);
        bytes += size * i64::try_from(ty.bytes()).ok()?;
        local.push(Local {
            name: load.tile.clone(),
            ty,
            size,
        });
    }
    (bytes <= LOCAL_BYTES).then_some(local)
}

/// The parts of an iteration, where it is of this kind.
fn meeting(nest: &Nest<'_>, fresh: &mut Fresh) -> Option<Meeting> {
    let is_loop = |stmt: &Stmt| matches!(stmt, Stmt::For { .. });
    let at = nest.body.iter().position(is_loop)?;
    let (before, rest) = nest.body.split_at_checked(at)?;
    let (looped, after) = rest.split_first()?;
    let Stmt::For {
        index: step,
        count: steps,
        mode: LoopMode::Seq | LoopMode::Simd,
        body,
        ..
    } = looped
    else {
        return None;
    };
    // What is before the loop is done for elements that are none, too.
    let only_computes = |stmts: &[Stmt]| Touched::of(stmts).cells.is_empty();
    let straight = is_straight(before) && is_straight(body) && is_straight(after);
    let stores = |stmt: &Stmt| matches!(stmt, Stmt::Store { .. });
    if !straight || !only_computes(before) || body.iter().any(stores) || !nest.is_known(steps, None) {
        return None;
    }
    if steps.mentions(nest.row) || steps.mentions(nest.column) {
        return None;
    }
    let mut meeting = Meeting {
        before: before.to_vec(),
        step: step.clone(),
        steps: steps.clone(),
        body: body.clone(),
        after: after.to_vec(),
        loads: Vec::new(),
    };
    let written = nest.written();
    let mut loads = Vec::new();
    for stmt in &mut meeting.body {
        stmt.for_each_expr_mut(&mut |expr| {
            replace_loads(expr, &mut |buffer, index| {
                let side = side(nest, step, index)?;
                if written.contains(buffer) || !nest.is_known(index, Some(step)) {
                    return None;
                }
                let known = |load: &&Meets| load.buffer == *buffer && load.index == *index;
                if let Some(load) = loads.iter().find(known) {
                    return Some(Expr::Var(load.value.clone()));
                }
                let value = fresh.name("met");
                loads.push(Meets {
                    buffer: buffer.clone(),
                    index: index.clone(),
                    side,
                    value: value.clone(),
                    tile: fresh.name("tile"),
                });
                Some(Expr::Var(value))
            });
        });
    }
    let all = only_computes(&meeting.body);
    let meets = |side: Side| loads.iter().any(|load| load.side == side);
    if !all || !meets(Side::Row) || !meets(Side::Column) {
        return None;
    }
    meeting.loads = loads;
    Some(meeting)
}

/// Who brings a load along: rows where it does not depend on the column, columns where it does not on the row.
fn side(nest: &Nest<'_>, step: &Name, index: &Index) -> Option<Side> {
    growth(index, step)?;
    match (index.mentions(nest.row), index.mentions(nest.column)) {
        (true, false) => growth(index, nest.row).map(|_| Side::Row),
        (false, true) => growth(index, nest.column).map(|_| Side::Column),
        _ => None,
    }
}

struct Maker<'a> {
    nest: &'a Nest<'a>,
    meeting: &'a Meeting,
    types: &'a Types,
    place: &'a Place,
    /// Rows, and columns, of a work-item.
    each: i64,
}

/// An element of a work-item.
struct Cell {
    row: usize,
    column: usize,
    before: Vec<Stmt>,
    body: Vec<Stmt>,
    after: Vec<Stmt>,
    step: Name,
}

impl Maker<'_> {
    fn body(&self, fresh: &mut Fresh) -> Option<Vec<Stmt>> {
        let (line, aside) = (&self.place.line, &self.place.along);
        let mut out = Vec::new();
        let [rows, columns] = [Side::Row, Side::Column].map(|side| {
            let inside = self.inside(side, line, aside);
            let first = match side {
                Side::Row => &self.place.top,
                Side::Column => &self.place.left,
            };
            let names: Vec<Name> = inside.iter().map(|_| fresh.name(self.name(side))).collect();
            for (name, at) in names.iter().zip(&inside) {
                out.push(let_number(name.clone(), first + at));
            }
            names
        });
        let cells = self.cells(&rows, &columns, fresh)?;
        for cell in &cells {
            out.extend(cell.before.iter().cloned());
        }
        let turn = fresh.name("turn");
        let mut turns = self.filled(&turn, fresh);
        turns.push(Stmt::Barrier);
        let depth = Index::constant(DEPTH);
        let first = &depth * &Index::var(turn.clone());
        let left = &self.meeting.steps - &first;
        let whole = at_most(&(&first + &depth), &self.meeting.steps);
        let fields = (line, aside);
        let last = self.cells_again(&cells, fresh);
        turns.push(Stmt::If {
            condition: whole,
            then: vec![self.steps(&cells, &first, Index::constant(DEPTH), fields, fresh)],
            otherwise: vec![self.steps(&last, &first, left, fields, fresh)],
        });
        turns.push(Stmt::Barrier);
        out.push(Stmt::For {
            index: turn,
            width: Width::W64,
            count: (&self.meeting.steps + &Index::constant(DEPTH - 1)).div(&depth),
            mode: LoopMode::Seq,
            body: turns,
        });
        for cell in cells {
            let (Some(row), Some(column)) = (rows.get(cell.row), columns.get(cell.column)) else {
                return None;
            };
            let inside = both(
                less(&Index::var(row.clone()), self.nest.rows),
                less(&Index::var(column.clone()), self.nest.columns),
            );
            out.push(when(inside, cell.after));
        }
        Some(out)
    }

    fn name(&self, side: Side) -> &str {
        match side {
            Side::Row => self.nest.row,
            Side::Column => self.nest.column,
        }
    }

    /// The rows or columns of a work-item, counted from those of its group.
    fn inside(&self, side: Side, line: &Index, aside: &Index) -> Vec<Index> {
        let place = |at: i64| match side {
            Side::Row => &(&Index::constant(self.each) * line) + &Index::constant(at),
            Side::Column => {
                let run = &Index::constant(RUN) * aside;
                &run + &Index::constant(at / RUN * RUN * SIDE + at % RUN)
            }
        };
        (0..self.each).map(place).collect()
    }

    /// Every row with every column, under names of their own.
    fn cells(&self, rows: &[Name], columns: &[Name], fresh: &mut Fresh) -> Option<Vec<Cell>> {
        let mut cells = Vec::new();
        for (row, row_name) in rows.iter().enumerate() {
            for (column, column_name) in columns.iter().enumerate() {
                let nest = Nest {
                    body: self.whole(),
                    plane: self.nest.plane.clone(),
                    ..*self.nest
                };
                let mut element = nest.element(fresh)?;
                substitute(&mut element.body, &element.row, &Index::var(row_name.clone()));
                substitute(
                    &mut element.body,
                    &element.column,
                    &Index::var(column_name.clone()),
                );
                let at = element
                    .body
                    .iter()
                    .position(|stmt| matches!(stmt, Stmt::For { .. }))?;
                let after = element.body.split_off(at + 1);
                let Some(Stmt::For {
                    index: step, body, ..
                }) = element.body.pop()
                else {
                    return None;
                };
                cells.push(Cell {
                    row,
                    column,
                    before: element.body,
                    body,
                    after,
                    step,
                });
            }
        }
        Some(cells)
    }

    /// The iteration, with names for what is loaded.
    fn whole(&self) -> Vec<Stmt> {
        let meeting = self.meeting;
        let looped = Stmt::For {
            index: meeting.step.clone(),
            width: Width::W64,
            count: meeting.steps.clone(),
            mode: LoopMode::Seq,
            body: meeting.body.clone(),
        };
        [meeting.before.as_slice(), &[looped], &meeting.after].concat()
    }

    /// The bodies once more, with names of their own.
    fn cells_again(&self, cells: &[Cell], fresh: &mut Fresh) -> Vec<Cell> {
        let again = |cell: &Cell| Cell {
            row: cell.row,
            column: cell.column,
            before: Vec::new(),
            body: crate::inline::with_own_names(&cell.body, fresh),
            after: Vec::new(),
            step: cell.step.clone(),
        };
        cells.iter().map(again).collect()
    }

    /// Local memory gets what the next steps need.
    fn filled(&self, turn: &Name, fresh: &mut Fresh) -> Vec<Stmt> {
        let width = SIDE * self.each;
        let mut out = Vec::new();
        for load in &self.meeting.loads {
            let [each, other] = ["each", "each"].map(|stem| fresh.name(stem));
            let (counted, first, count) = match load.side {
                Side::Row => (self.nest.row, &self.place.top, self.nest.rows),
                Side::Column => (self.nest.column, &self.place.left, self.nest.columns),
            };
            let along_steps = growth(&load.index, &self.meeting.step) == Some(Index::one());
            let one = |each: &Name| {
                let number = &self.place.item + &(&Index::constant(ITEMS) * &Index::var(each.clone()));
                let (step, at) = match along_steps {
                    // As many steps as work-items stand side by side.
                    true => {
                        let lines = &Index::constant(ITEMS / SIDE) * &Index::var(each.clone());
                        (self.place.along.clone(), &self.place.line + &lines)
                    }
                    false => (number.div(&Index::constant(width)), rem(&number, width)),
                };
                let cell = &(&Index::constant(width + PAD) * &step) + &at;
                let step = &(&Index::constant(DEPTH) * &Index::var(turn.clone())) + &step;
                let at = first + &at;
                let from = load.index.substitute(|name| match name {
                    name if *name == self.meeting.step => Some(step.clone()),
                    name if name == counted => Some(at.clone()),
                    _ => None,
                });
                let store = move |value: Expr| Stmt::Store {
                    buffer: load.tile.clone(),
                    index: cell.clone(),
                    value,
                };
                let inside = both(less(&step, &self.meeting.steps), less(&at, count));
                (store, inside, Expr::Load(load.buffer.clone(), from))
            };
            let rounds = DEPTH * width / ITEMS;
            let (store, _, value) = one(&each);
            let all = repeat(&each, rounds, vec![store(value)]);
            let (store, inside, value) = one(&other);
            let ty = self.types.get(&load.buffer).copied();
            let zero = Expr::Const(Scalar::zero(ty.unwrap_or(almach_value::ScalarType::F32)));
            let some = repeat(
                &other,
                rounds,
                vec![Stmt::If {
                    condition: inside,
                    then: vec![store(value)],
                    otherwise: vec![store(zero)],
                }],
            );
            let end = &Index::constant(DEPTH) * &(&Index::var(turn.clone()) + &Index::one());
            let whole = both(
                at_most(&end, &self.meeting.steps),
                at_most(&(first + &Index::constant(width)), count),
            );
            out.push(Stmt::If {
                condition: whole,
                then: vec![all],
                otherwise: vec![some],
            });
        }
        out
    }

    /// So many steps from local memory.
    fn steps(
        &self,
        cells: &[Cell],
        first: &Index,
        count: Index,
        (line, aside): (&Index, &Index),
        fresh: &mut Fresh,
    ) -> Stmt {
        let step = fresh.name("step");
        let width = Index::constant(SIDE * self.each + PAD);
        let mut body = Vec::new();
        let mut bodies: Vec<Vec<Stmt>> = Vec::new();
        for cell in cells {
            let mut copy = cell.body.clone();
            let at = first + &Index::var(step.clone());
            substitute(&mut copy, &cell.step, &at);
            bodies.push(copy);
        }
        for load in &self.meeting.loads {
            let ty = self.types.get(&load.buffer).copied();
            let places = self.inside(load.side, line, aside);
            for (number, place) in places.iter().enumerate() {
                let name = fresh.name(&load.value);
                let cell = &(&width * &Index::var(step.clone())) + place;
                body.push(Stmt::Let {
                    name: name.clone(),
                    ty: ty.unwrap_or(almach_value::ScalarType::F32),
                    value: Expr::Load(load.tile.clone(), cell),
                });
                for (cell, copy) in cells.iter().zip(&mut bodies) {
                    let own = match load.side {
                        Side::Row => cell.row,
                        Side::Column => cell.column,
                    };
                    if own == number {
                        substitute(copy, &load.value, &Index::var(name.clone()));
                    }
                }
            }
        }
        body.extend(bodies.into_iter().flatten());
        Stmt::For {
            index: step,
            width: Width::W64,
            count,
            mode: LoopMode::Seq,
            body,
        }
    }
}
