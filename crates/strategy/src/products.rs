//! Products of matrices: every row meets every column. Tiles of 8 rows and 2 vectors of columns are accumulated in registers,
//! and the columns of a tile stay in the cache for 64 rows.
//!
//! ```text
//! map (\row -> map (\col ->                     map@par (\rows: [64][k]t ->
//!   reduce (+) 0 (map (*) row col))        =>     let tiles = map@seq (\columns: [16][k]t -> join (map@seq (\eight: [8][k]t ->
//!   (transpose b)) a                                reduceSeq (\acc (as, bs) -> map@seq (\sums a ->
//!                                                     map@vec (\sum b -> fma a b sum) sums bs) acc as) …) (split 8 rows))) …
//!                                                 transpose (concat (join tiles) …)) (split 64 a)
//! ```
//!
//! Each element is still one reduction in order, the same one as that of `interchange`, which does what is left over.
//!
//! Removes: nothing that can fail. Introduces: `split`, `join`, `concat`, maps at levels. Guarantees: the same elements, each
//! reduced in its order.

use crate::interchange::Nest;
use crate::reductions::Reduction;
use crate::write::{at_level, int, levelled, view};
use crate::{Around, Choice, Chooser, Topic};
use almach_base::Span;
use almach_core::build::{enter_params, op as plain_op};
use almach_core::typing::Typed;
use almach_core::{Atom, Dim, Exp, Lambda, Op, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;

/// The shape of tiles.
#[derive(Clone, Copy)]
struct Tile {
    rows: i64,
    /// Of a row of the tile.
    bytes: i64,
    /// Rows that share the columns of a tile while those are in the cache: a multiple of the rows of a tile.
    shared: i64,
}

/// The usual tiles, and others ([`Topic::Tiles`] has their names). Of tiles that are as large, those with more rows read less: of a step, the columns
/// stay in registers, and an element of each row is read.
const TILES: [Tile; 5] = [
    tile(8, 128, 64),
    tile(4, 256, 64),
    tile(4, 128, 64),
    tile(2, 512, 64),
    tile(4, 256, 16),
];

const fn tile(rows: i64, bytes: i64, shared: i64) -> Tile {
    Tile { rows, bytes, shared }
}

/// A map over rows, each combined with all columns of another matrix.
pub(crate) struct Product<'o> {
    function: &'o Lambda,
    rows: &'o Atom,
    nest: Nest<'o>,
    tile: Tile,
    /// The columns of a tile.
    width: i64,
}

/// One reduction of a row with a column.
struct Meeting<'r> {
    reduction: &'r Reduction,
    /// Which of the arrays that feed it is the column.
    column: usize,
    initial: &'r Atom,
    tile: Tile,
    width: i64,
}

impl Chooser {
    /// Whether an operation is such a map, and is done in tiles.
    pub(crate) fn product<'o>(&self, op: &'o Op, span: Span) -> Option<Product<'o>> {
        let ([function], [rows]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return None;
        };
        let ([row], [inner]) = (function.params.as_slice(), function.body.stmts.as_slice()) else {
            return None;
        };
        let ([result], [value]) = (inner.pattern.values.as_slice(), function.body.values.as_slice()) else {
            return None;
        };
        let is_plain = function.context.is_empty() && function.result.context.is_empty();
        if op.prim != Prim::Map || is_fixed(op) || !is_plain || *value != Atom::Var(result.var.clone()) {
            return None;
        }
        let Exp::Op(inner_op) = &inner.exp else {
            return None;
        };
        let nest = self.column_nest(inner_op)?;
        let row = Atom::Var(row.var.clone());
        let meets = nest
            .sources()
            .iter()
            .filter(|source| **source == Some(&row))
            .count()
            == 1
            && nest.sources().len() == 2
            && nest.is_only_a_reduction()
            && *nest.rows() != row;
        let Type::Array(_, element) = &result.ty else {
            return None;
        };
        let Type::Scalar(scalar) = &**element else {
            return None;
        };
        if !meets {
            return None;
        }
        // One answer more than there are tiles: none.
        let answer = self.ask(span, Topic::Tiles, TILES.len() as u32 + 1);
        let tile = *TILES.get(answer as usize)?;
        Some(Product {
            function,
            rows,
            nest,
            tile,
            width: tile.bytes / scalar.bytes() as i64,
        })
    }

    pub(crate) fn tiled(&mut self, stmt: &Stmt, product: &Product<'_>, around: Around) -> Typed<()> {
        let span = stmt.span;
        let Exp::Op(op) = &product.nest.reduce().exp else {
            return Ok(());
        };
        let ([operator], [initial, _]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return Ok(());
        };
        enter_params(&mut self.builder.env, &[], &product.function.params);
        let level = around.level();
        let reason = "every row meets every column: tiles are accumulated in registers";
        self.decide(span, Prim::Map, Choice::Level(level), reason);
        let element = Type::unit();
        let reduce = product.nest.reduce();
        let producers = product.nest.producers();
        let reduction = self.described(reduce, op, operator, initial, producers, element, around)?;
        let column = product.nest.sources().iter().position(Option::is_none);
        let meeting = Meeting {
            reduction: &reduction,
            column: column.unwrap_or(0),
            initial,
            tile: product.tile,
            width: product.width,
        };
        let together = product.tile.shared;
        let (shared, rest) = self.multiple_of(product.rows, together, span)?;
        let groups = self.bind(view(Prim::Split, vec![int(together), shared]), "groups", span)?;
        let columns = view(Prim::Transpose, vec![product.nest.rows().clone()]);
        let columns = self.bind(levelled(columns), "columns", span)?;
        let (whole, narrow) = self.multiple_of(&columns, product.width, span)?;
        let tiles = self.bind(view(Prim::Split, vec![int(product.width), whole]), "tiles", span)?;
        let narrow = self.bind(levelled(view(Prim::Transpose, vec![narrow])), "narrow", span)?;
        let Some((_, group)) = self.array_type(&groups) else {
            return Ok(());
        };
        let each = self.lambda_of([("rows", group)], |this, [rows]| {
            this.group(&meeting, &rows, &tiles, &narrow, span)
        })?;
        let done = self.bind(at_level(Prim::Map, level, vec![each], vec![groups]), "done", span)?;
        let done = self.bind(view(Prim::Join, vec![done]), "done", span)?;
        let left = self.row_by_row(&meeting, &rest, product.nest.rows(), level, span)?;
        let all = at_level(Prim::Concat, Level::Seq, vec![], vec![done, left]);
        self.builder.push(stmt.pattern.clone(), all, span);
        Ok(())
    }

    /// What is left over of the rows, each as `interchange` does it.
    fn row_by_row(
        &mut self,
        meeting: &Meeting<'_>,
        rest: &Atom,
        all: &Atom,
        level: Level,
        span: Span,
    ) -> Typed<Atom> {
        let Some((_, row)) = self.array_type(rest) else {
            return Ok(rest.clone());
        };
        let (column, initial) = (meeting.column, meeting.initial);
        let each = self.lambda_of([("row", row)], |this, [row]| {
            this.row_of(meeting.reduction, column, initial, &row, all, span)
        })?;
        self.bind(
            at_level(Prim::Map, level, vec![each], vec![rest.clone()]),
            "left",
            span,
        )
    }

    /// One row with the columns of a matrix, all at once.
    fn row_of(
        &mut self,
        reduction: &Reduction,
        column: usize,
        initial: &Atom,
        row: &Atom,
        rows: &Atom,
        span: Span,
    ) -> Typed<Atom> {
        let arrays = match column {
            0 => [rows.clone(), row.clone()],
            _ => [row.clone(), rows.clone()],
        };
        let start = self.filled(rows, initial, span)?;
        match self.zipped(&arrays, span)? {
            Some(elements) => self.fold_rows(reduction, column, &start, &elements),
            None => Ok(start),
        }
    }

    /// All columns that a group of rows meets.
    fn group(
        &mut self,
        meeting: &Meeting<'_>,
        rows: &Atom,
        tiles: &Atom,
        narrow: &Atom,
        span: Span,
    ) -> Typed<Atom> {
        let height = int(meeting.tile.rows);
        let blocks = self.bind(view(Prim::Split, vec![height, rows.clone()]), "blocks", span)?;
        let (Some((_, tile)), Some((_, row))) = (self.array_type(tiles), self.array_type(rows)) else {
            return Ok(rows.clone());
        };
        let each = self.lambda_of([("tile", tile)], |this, [tile]| {
            this.tile(meeting, &blocks, &tile, span)
        })?;
        let parts = at_level(Prim::Map, Level::Seq, vec![each], vec![tiles.clone()]);
        let parts = self.bind(parts, "parts", span)?;
        let parts = self.bind(view(Prim::Join, vec![parts]), "parts", span)?;
        let each = self.lambda_of([("row", row)], |this, [row]| {
            this.row_of(
                meeting.reduction,
                meeting.column,
                meeting.initial,
                &row,
                narrow,
                span,
            )
        })?;
        let ends = at_level(Prim::Map, Level::Seq, vec![each], vec![rows.clone()]);
        let ends = self.bind(ends, "ends", span)?;
        let ends = self.transpose(ends, "ends", span)?;
        // Put together by columns: then every tile has one place in the result, and is written there.
        let columns = at_level(Prim::Concat, Level::Seq, vec![], vec![parts, ends]);
        let columns = self.bind(columns, "columns", span)?;
        self.transpose(columns, "rows", span)
    }

    /// The blocks of a group of rows with the columns of a tile, by columns.
    fn tile(&mut self, meeting: &Meeting<'_>, blocks: &Atom, tile: &Atom, span: Span) -> Typed<Atom> {
        let columns = self.bind(
            levelled(view(Prim::Transpose, vec![tile.clone()])),
            "columns",
            span,
        )?;
        let Some((_, block)) = self.array_type(blocks) else {
            return Ok(tile.clone());
        };
        let each = self.lambda_of([("block", block)], |this, [block]| {
            let rows = this.bind(levelled(view(Prim::Transpose, vec![block])), "rows", span)?;
            let steps = this.bind(view(Prim::Zip, vec![rows, columns.clone()]), "steps", span)?;
            this.accumulated(meeting, &steps, span)
        })?;
        let done = at_level(Prim::Map, Level::Seq, vec![each], vec![blocks.clone()]);
        let done = self.bind(done, "done", span)?;
        let done = self.bind(view(Prim::Join, vec![done]), "done", span)?;
        self.transpose(done, "done", span)
    }

    /// `reduceSeq` whose state is a tile.
    fn accumulated(&mut self, meeting: &Meeting<'_>, steps: &Atom, span: Span) -> Typed<Atom> {
        let fill =
            |count: i64, value: Atom| at_level(Prim::Replicate, Level::Seq, vec![], vec![int(count), value]);
        let start = self.bind(fill(meeting.width, meeting.initial.clone()), "start", span)?;
        let sums_type = self.builder.type_of(&start)?;
        let start = self.bind(fill(meeting.tile.rows, start), "start", span)?;
        let (Some((_, step)), state) = (self.array_type(steps), self.builder.type_of(&start)?) else {
            return Ok(start);
        };
        let Type::Tuple(parts) = &step else {
            return Ok(start);
        };
        let scalar = |part: Option<&Type>| match part {
            Some(Type::Array(Dim::Size(_), element)) => (**element).clone(),
            _ => Type::unit(),
        };
        let (a_type, b_type) = (scalar(parts.first()), scalar(parts.get(1)));
        let reduction = meeting.reduction;
        let function = self.lambda_of([("acc", state), ("step", step.clone())], |this, [acc, step]| {
            let left = this.bind(Exp::Project(step.clone(), 0), "as", span)?;
            let right = this.bind(Exp::Project(step, 1), "bs", span)?;
            let row = this.lambda_of([("sums", sums_type), ("a", a_type)], |this, [sums, a]| {
                let params = [("sum", reduction.state.clone()), ("b", b_type)];
                let cell = this.lambda_of(params, |this, [sum, b]| {
                    let values = match meeting.column {
                        0 => vec![b, a],
                        _ => vec![a, b],
                    };
                    this.step_with(reduction, &sum, values)
                })?;
                let next = at_level(Prim::Map, Level::Vec, vec![cell], vec![sums, right.clone()]);
                this.bind(next, "next", span)
            })?;
            let next = at_level(Prim::Map, Level::Seq, vec![row], vec![acc, left]);
            this.bind(next, "next", span)
        })?;
        let fold = plain_op(Prim::ReduceSeq, vec![function], vec![start, steps.clone()]);
        self.bind(fold, "sums", span)
    }
}
