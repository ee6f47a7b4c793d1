//! Two dimensions in tiles: the groups of a nest of two loops have 32 columns of some rows each, so that no work-item has to divide to
//! find out where it is, and neighbours in both directions are in one group.
//!
//! ```text
//! par for i < n {                        let across: i64 = {(m + 31)/32}
//!   items for j < m {                    par for g < across*((n + 31)/32) {
//!     ys[i*m + j] = xs[i*m + j]   ~~>      items for item < 256 {
//!       + xs[i*m + m + j]                    … down = g / across, aside = g - across*down …
//!   }                                        let j: i64 = {32*aside + item%32}
//! }                                          if j < m { for e < 4 { let i: i64 = {32*down + 4*(item/32) + e} … } }
//!                                          }
//!                                        }
//! ```
//!
//! - Of three dimensions the first is one of planes: a group has a tile of one of them, and divides once for all of it.
//! - What only counts cells, one row behind the other, is left to [`grids`](crate::grids): it needs no tiles.
//! - Elements that are read across memory go through local memory ([`crossing`]).
//! - Where an element is little, a work-item has four, and does them [`together`](crate::together) away from the edges
//!   ([`inside`](crate::inside)).
//! - Loops in which every row meets every column keep both in local memory, and several elements in registers ([`products`]).
//!
//! Iterations that may fail stay in their order. Narrow nests are one loop, as [`grids`](crate::grids) has it: the host looks which.

mod crossing;
mod products;

use crate::fresh::Fresh;
use crate::grids;
use crate::inline::{count as count_of, with_own_names};
use crate::inside::{Inside, Stretch, inside};
use crate::strips::copies;
use crate::substitute::substitute;
use crate::together::together;
use almach_base::{Name, Span};
use almach_imp::{Expr, Index, LoopMode, Space, Stmt, Touched, Width};
use almach_nat::Atom;
use almach_value::{BinOp, ScalarType, UnOp};
use std::collections::{BTreeSet, HashMap};

/// Work-items of a group.
const ITEMS: i64 = 256;

/// Columns of a tile, and of its work-items.
const WIDTH: i64 = 32;

/// Rows that a work-item has where an element is little.
const EACH: i64 = 4;

/// The most statements of an element that is little.
const FEW: usize = 24;

/// The same where elements ask for their place, as stencils do, and neighbours read the same cells.
const FEW_OF_STENCIL: usize = 80;

/// Fewer rows are no work for tiles of planes.
const LOW: i64 = 8;

/// Fewer columns are no work for tiles.
const NARROW: i64 = 16;

/// Local memory that every device has, in bytes.
const LOCAL_BYTES: i64 = 32 << 10;

/// Groups in place of a nest: what the host computes before, and whether they are worth it.
pub(crate) struct Tiled {
    pub(crate) condition: Expr,
    pub(crate) before: Vec<Stmt>,
    pub(crate) groups: Stmt,
}

/// The types of the buffers that a procedure knows.
pub(crate) type Types = HashMap<Name, ScalarType>;

/// A parallel loop.
#[derive(Clone, Copy)]
pub(crate) struct Loop<'a> {
    pub(crate) index: &'a Name,
    pub(crate) count: &'a Index,
    pub(crate) body: &'a [Stmt],
}

/// A parallel loop over rows, and the loop over columns that is all it does.
struct Nest<'a> {
    /// The loop around them, where there is one.
    plane: Option<Plane<'a>>,
    row: &'a Name,
    rows: &'a Index,
    column: &'a Name,
    columns: &'a Index,
    /// What is done for an element.
    body: Vec<Stmt>,
}

/// A dimension around rows and columns.
#[derive(Clone)]
struct Plane<'a> {
    name: Name,
    count: &'a Index,
}

/// An element of a nest under names of its own.
struct Element {
    row: Name,
    column: Name,
    body: Vec<Stmt>,
}

impl Element {
    /// The element in this place.
    fn at(self, row: &Index, column: &Index) -> Vec<Stmt> {
        let mut out = vec![
            let_number(self.row, row.clone()),
            let_number(self.column, column.clone()),
        ];
        out.extend(self.body);
        out
    }
}

/// Rows and columns of a group, and how many work-items stand side by side.
#[derive(Clone, Copy)]
struct Shape {
    height: i64,
    width: i64,
    items: i64,
}

/// The shape where a work-item has elements of several rows.
const STRIPS: Shape = Shape {
    height: ITEMS / WIDTH * EACH,
    width: WIDTH,
    items: WIDTH,
};

/// Where a work-item of a group is: its number, and its place in a rectangle of them.
struct Place {
    item: Index,
    line: Index,
    along: Index,
    /// The first row and the first column of its group.
    top: Index,
    left: Index,
}

/// Local memory of a group.
struct Local {
    name: Name,
    ty: ScalarType,
    size: i64,
}

/// Tiles for a nest; none where its iterations have an order, or memory, or only count cells. `planes`: the same as three loops.
pub(crate) fn tiled(
    Loop { index, count, body }: Loop<'_>,
    planes: Option<Loop<'_>>,
    types: &Types,
    fresh: &mut Fresh,
) -> Option<Tiled> {
    let inner = grids::inner_loop(index, body)?;
    let Some(Stmt::For {
        index: column,
        count: columns,
        body: inside,
        ..
    }) = body.get(inner)
    else {
        return None;
    };
    let mut all = body.get(..inner)?.to_vec();
    all.extend(inside.iter().cloned());
    let nest = Nest {
        plane: None,
        row: index,
        rows: count,
        column,
        columns,
        body: all,
    };
    if !nest.body.iter().all(is_plain) {
        return None;
    }
    if let Some(product) = products::product(&nest, types, fresh) {
        return Some(product);
    }
    if grids::only_counts(index, column, columns, &nest.body) {
        return None;
    }
    match crossing::crossing(&nest, types, fresh) {
        Some(tiled) => Some(tiled),
        None => planes
            .and_then(|planes| tiled_planes(planes, types, fresh))
            .or_else(|| plain(&nest, types, fresh)),
    }
}

/// Tiles for the planes of a parallel loop with two loops in it that are all it does.
fn tiled_planes(Loop { index, count, body }: Loop<'_>, types: &Types, fresh: &mut Fresh) -> Option<Tiled> {
    let (before, row, rows, inner) = inner_part(index, body)?;
    let (between, column, columns, inside) = inner_part(row, inner)?;
    let bound = Touched::of(before).bound;
    let same = |name: &Name| name != index && !bound.contains_key(name);
    let mut all: Vec<Stmt> = [before, between, inside].concat();
    if !columns.free_vars().all(same) || !all.iter().all(is_plain) {
        return None;
    }
    let plane = fresh.name("plane");
    substitute(&mut all, index, &Index::var(plane.clone()));
    let nest = Nest {
        plane: Some(Plane { name: plane, count }),
        row,
        rows,
        column,
        columns,
        body: all,
    };
    plain(&nest, types, fresh)
}

/// What stands before the loop that ends a body, and that loop: its index, its count and its body.
fn inner_part<'a>(index: &Name, body: &'a [Stmt]) -> Option<(&'a [Stmt], &'a Name, &'a Index, &'a [Stmt])> {
    let at = grids::inner_loop(index, body)?;
    match body.get(at) {
        Some(Stmt::For {
            index,
            count,
            body: inner,
            ..
        }) => Some((body.get(..at)?, index, count, inner)),
        _ => None,
    }
}

/// Whether a statement may be done in any order among those of other iterations: it cannot fail, and has no memory of its own.
fn is_plain(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::At(_) | Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } => true,
        Stmt::If { .. } | Stmt::While { .. } => stmt.blocks().into_iter().flatten().all(is_plain),
        Stmt::For { mode, body, .. } => {
            matches!(mode, LoopMode::Seq | LoopMode::Simd) && body.iter().all(is_plain)
        }
        _ => false,
    }
}

/// Whether statements have neither loops nor branches.
fn is_straight(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| stmt.blocks().is_empty())
}

impl Nest<'_> {
    fn element(&self, fresh: &mut Fresh) -> Option<Element> {
        let number = |name: &Name| let_number(name.clone(), Index::zero());
        let mut all = vec![number(self.row), number(self.column)];
        all.extend(self.body.iter().cloned());
        let mut copy = with_own_names(&all, fresh);
        let body = copy.split_off(2);
        match copy.as_slice() {
            [Stmt::Let { name: row, .. }, Stmt::Let { name: column, .. }] => Some(Element {
                row: row.clone(),
                column: column.clone(),
                body,
            }),
            _ => None,
        }
    }

    /// What a tile of [`STRIPS`] does away from the edges, given its first row and its first column.
    fn inside(&self, top: &Index, left: &Index) -> Inside {
        let last = |first: &Index, count: i64| first + &Index::constant(count - 1);
        let mut stretches = vec![
            Stretch {
                name: self.row,
                first: top.clone(),
                last: last(top, STRIPS.height),
                count: self.rows,
            },
            Stretch {
                name: self.column,
                first: left.clone(),
                last: last(left, STRIPS.width),
                count: self.columns,
            },
        ];
        if let Some(plane) = &self.plane {
            let place = Index::var(plane.name.clone());
            stretches.push(Stretch {
                name: &plane.name,
                first: place.clone(),
                last: place,
                count: plane.count,
            });
        }
        inside(&self.body, &stretches)
    }

    /// Whether an index is made of rows, columns and what is known outside.
    fn is_known(&self, index: &Index, also: Option<&Name>) -> bool {
        let bound = Touched::of(&self.body).bound;
        let mut names = index.free_vars();
        names.all(|name| Some(name) == also || !bound.contains_key(name))
    }

    /// Buffers that are only read.
    fn written(&self) -> BTreeSet<Name> {
        let touched = Touched::of(&self.body);
        let written = touched
            .free_cells()
            .filter(|(_, access)| *access == almach_imp::Access::Write);
        written.map(|(name, _)| name.clone()).collect()
    }
}

/// Tiles without local memory.
fn plain(nest: &Nest<'_>, types: &Types, fresh: &mut Fresh) -> Option<Tiled> {
    let few = match nest.inside(&Index::zero(), &Index::zero()).conditions.is_empty() {
        true => FEW,
        false => FEW_OF_STENCIL,
    };
    match is_branching_only(&nest.body) && count_of(&nest.body) <= few {
        true => in_strips(nest, types, fresh),
        false => one_by_one(nest, fresh),
    }
}

/// A work-item has one element.
fn one_by_one(nest: &Nest<'_>, fresh: &mut Fresh) -> Option<Tiled> {
    let shape = Shape {
        height: ITEMS / WIDTH,
        width: WIDTH,
        items: WIDTH,
    };
    groups(nest, shape, Vec::new(), fresh, |place, fresh| {
        let column = &place.left + &place.along;
        let row = &place.top + &place.line;
        let element = nest.element(fresh)?.at(&row, &column);
        let inside = when(less(&row, nest.rows), element);
        Some(vec![when(less(&column, nest.columns), vec![inside])])
    })
}

/// A work-item has elements of some rows, one below the other, and does them together where the whole tile is away from the edges.
fn in_strips(nest: &Nest<'_>, types: &Types, fresh: &mut Fresh) -> Option<Tiled> {
    groups(nest, STRIPS, Vec::new(), fresh, |place, fresh| {
        let below = &place.top + &Index::constant(STRIPS.height);
        let right = &place.left + &Index::constant(STRIPS.width);
        let inner = nest.inside(&place.top, &place.left);
        let whole = both(at_most(&below, nest.rows), at_most(&right, nest.columns));
        let condition = inner.conditions.into_iter().fold(whole, both);

        let (row, column) = (fresh.name("row"), fresh.name("column"));
        let first = &place.top + &(&Index::constant(EACH) * &place.line);
        let mut then = vec![
            let_number(row.clone(), first.clone()),
            let_number(column.clone(), &place.left + &place.along),
        ];
        let rows = (0..EACH).map(|each| &Index::var(row.clone()) + &Index::constant(each));
        let mut copies = copies(nest.row, &inner.body, rows, fresh);
        let column = Index::var(column);
        copies
            .iter_mut()
            .for_each(|copy| substitute(copy, nest.column, &column));
        then.extend(together(copies, types, fresh));

        let round = fresh.name("each");
        let (row, column) = (&first + &Index::var(round.clone()), &place.left + &place.along);
        let element = nest.element(fresh)?.at(&row, &column);
        let one = when(less(&row, nest.rows), element);
        let otherwise = when(less(&column, nest.columns), vec![repeat(&round, EACH, vec![one])]);
        Some(vec![Stmt::If {
            condition,
            then,
            otherwise: vec![otherwise],
        }])
    })
}

/// Straight-line code that may branch.
fn is_branching_only(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::If { then, otherwise, .. } => is_branching_only(then) && is_branching_only(otherwise),
        _ => stmt.blocks().is_empty(),
    })
}

/// Groups that have a shape of the nest's elements each.
fn groups(
    nest: &Nest<'_>,
    shape: Shape,
    local: Vec<Local>,
    fresh: &mut Fresh,
    inside: impl FnOnce(&Place, &mut Fresh) -> Option<Vec<Stmt>>,
) -> Option<Tiled> {
    let least = if nest.plane.is_some() { LOW } else { 1 };
    let condition = worth(nest, NARROW.min(shape.width), least)?;
    let [across, group, item] = ["across", "group", "item"].map(|stem| fresh.name(stem));
    let [down, aside, line, along] = ["down", "aside", "line", "along"].map(|stem| fresh.name(stem));
    let tiles = |count: &Index, of: i64| (count + &Index::constant(of - 1)).div(&Index::constant(of));
    // There are less groups than 32 bits can count, and a division of as many is faster.
    let half = |name: &Name| Expr::unary(UnOp::Convert(ScalarType::U32), Expr::Var(name.clone()));
    let quotient = |name: &Name, of: &Name, by: &Name| Stmt::Let {
        name: name.clone(),
        ty: ScalarType::I64,
        value: Expr::unary(
            UnOp::Convert(ScalarType::I64),
            Expr::binary(BinOp::Div, half(of), half(by)),
        ),
    };
    let rest = |of: &Name, by: &Name, quotient: &Name| {
        &Index::var(of.clone()) - &(&Index::var(by.clone()) * &Index::var(quotient.clone()))
    };
    let mut before = vec![let_number(across.clone(), tiles(nest.columns, shape.width))];
    let mut count = &Index::var(across.clone()) * &tiles(nest.rows, shape.height);
    let mut body = Vec::new();
    let mut tile = group.clone();
    if let Some(plane) = &nest.plane {
        let each = fresh.name("tiles");
        before.push(let_number(each.clone(), count));
        count = &Index::var(each.clone()) * plane.count;
        body.push(quotient(&plane.name, &group, &each));
        tile = fresh.name("tile");
        body.push(let_number(tile.clone(), rest(&group, &each, &plane.name)));
    }
    body.extend([
        quotient(&down, &tile, &across),
        let_number(aside.clone(), rest(&tile, &across, &down)),
        let_number(
            line.clone(),
            Index::var(item.clone()).div(&Index::constant(shape.items)),
        ),
        let_number(along.clone(), rem(&Index::var(item.clone()), shape.items)),
    ]);
    let place = Place {
        item: Index::var(item.clone()),
        line: Index::var(line),
        along: Index::var(along),
        top: &Index::constant(shape.height) * &Index::var(down),
        left: &Index::constant(shape.width) * &Index::var(aside),
    };
    body.extend(inside(&place, fresh)?);
    let mut all = Vec::new();
    for one in &local {
        all.push(Stmt::Buffer {
            name: one.name.clone(),
            ty: one.ty,
            space: Space::Local,
        });
        all.push(Stmt::Alloc {
            buffer: one.name.clone(),
            size: Index::constant(one.size),
            span: Span::NONE,
        });
    }
    all.push(Stmt::For {
        index: item,
        width: Width::W32,
        count: Index::constant(ITEMS),
        mode: LoopMode::Items,
        body,
    });
    all.extend(local.into_iter().map(|one| Stmt::Free(one.name)));
    let groups = Stmt::For {
        index: group,
        width: Width::W64,
        count,
        mode: LoopMode::Par,
        body: all,
    };
    Some(Tiled {
        condition,
        before,
        groups,
    })
}

/// Whether a nest has as many rows and columns; none where it is known to have fewer.
fn worth(nest: &Nest<'_>, columns: i64, rows: i64) -> Option<Expr> {
    let mut tests = Vec::new();
    for (count, least) in [(nest.columns, columns), (nest.rows, rows)] {
        match count.as_constant() {
            Some(count) if count < least => return None,
            Some(_) => {}
            None if least <= 1 => {}
            None => tests.push(at_most(&Index::constant(least), count)),
        }
    }
    let both = tests.into_iter().reduce(|a, b| Expr::binary(BinOp::And, a, b));
    Some(both.unwrap_or(Expr::Const(almach_value::Scalar::Bool(true))))
}

fn let_number(name: Name, value: Index) -> Stmt {
    Stmt::Let {
        name,
        ty: ScalarType::I64,
        value: Expr::Index(value),
    }
}

fn rem(index: &Index, by: i64) -> Index {
    let by = Index::constant(by);
    index - &(&by * &index.div(&by))
}

fn less(a: &Index, b: &Index) -> Expr {
    Expr::binary(BinOp::Lt, Expr::Index(a.clone()), Expr::Index(b.clone()))
}

fn at_most(a: &Index, b: &Index) -> Expr {
    Expr::binary(BinOp::Le, Expr::Index(a.clone()), Expr::Index(b.clone()))
}

fn both(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinOp::And, a, b)
}

fn when(condition: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        condition,
        then,
        otherwise: Vec::new(),
    }
}

fn repeat(index: &Name, count: i64, body: Vec<Stmt>) -> Stmt {
    Stmt::For {
        index: index.clone(),
        width: Width::W32,
        count: Index::constant(count),
        mode: LoopMode::Seq,
        body,
    }
}

/// What an index grows by with a name; none where it does not, or not evenly.
fn growth(index: &Index, name: &Name) -> Option<Index> {
    let (by, rest) = index.linear_in(&Atom::Var(name.clone()))?;
    (!by.mentions(name) && !rest.mentions(name)).then_some(by)
}

/// An expression with something else in the place of loads that happen whenever it is evaluated; `replace` gives none for those that
/// stay.
pub(crate) fn replace_loads(expr: &mut Expr, replace: &mut dyn FnMut(&Name, &Index) -> Option<Expr>) {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
        Expr::Load(buffer, index) => {
            if let Some(other) = replace(buffer, index) {
                *expr = other;
            }
        }
        Expr::Unary(_, a) => replace_loads(a, replace),
        // The right side may not be evaluated.
        Expr::Binary(BinOp::And | BinOp::Or, a, _) | Expr::Select(a, _, _) => replace_loads(a, replace),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| replace_loads(part, replace)),
        Expr::Ternary(_, a, b, c) => {
            [a, b, c]
                .into_iter()
                .for_each(|part| replace_loads(part, replace));
        }
    }
}
