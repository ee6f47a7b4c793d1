//! Transpositions: what makes rows of columns works on square tiles, so that whole cache lines are used on both sides.
//!
//! ```text
//! map (\column -> map g column)                 map@par (\columns: [32][n]t ->
//!   (transpose xss)                        =>     transpose (join (map@seq (\tile: [32][32]t ->
//!                                                   transpose (map@seq (\row -> map@vec g row) (transpose tile)))
//!                                                   (split 32 (transpose columns))))) (split 32 (transpose xss))
//! ```
//!
//! `materialise (transpose xss)` is the same with the identity for `g`. What is left over of rows and columns is done as it
//! stands.
//!
//! Removes: a map over a transposition. Introduces: `split`, `join`, `concat`, transpositions, maps at levels. Guarantees: the
//! same elements; nothing that can fail is moved.

use crate::write::{at_level, int, levelled, view};
use crate::{Around, Choice, Chooser, Topic, cost};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::{Vars, fresh_lambda};
use almach_core::{Atom, Dim, Exp, Lambda, Op, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;

/// Bytes of a row of a tile: two cache lines usually ([`Topic::Transposition`] has the names of the answers).
const TILE_BYTES: [i64; 3] = [128, 64, 256];

/// Elements that are made of those of matrices, at least one of them transposed.
pub(crate) struct Transposition<'o> {
    arrays: Vec<&'o Atom>,
    /// What is made of elements; none for the elements themselves.
    function: Option<&'o Lambda>,
    /// The rows and columns of a tile.
    tile: i64,
}

impl Chooser {
    /// Whether an operation makes such elements.
    pub(crate) fn transposition<'o>(&self, op: &'o Op, span: Span) -> Option<Transposition<'o>> {
        if is_fixed(op) || !op.args.iter().any(|arg| self.columns_of(arg).is_some()) {
            return None;
        }
        let function = match op.prim {
            Prim::Materialise => None,
            Prim::Map => Some(self.elementwise(op)?),
            _ => return None,
        };
        let widths = op.args.iter().map(|arg| self.scalar_bytes(arg));
        let widest = widths.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
        let answer = self.ask(span, Topic::Transposition, TILE_BYTES.len() as u32 + 1);
        let tile = TILE_BYTES.get(answer as usize)? / widest;
        let is_large = |arg: &Atom| {
            self.sizes(arg)
                .iter()
                .all(|size| size.is_none_or(|size| size >= tile))
        };
        op.args.iter().all(is_large).then(|| Transposition {
            arrays: op.args.iter().collect(),
            function,
            tile,
        })
    }

    /// The function of a map of maps: it is given an element of every row.
    fn elementwise<'o>(&self, op: &'o Op) -> Option<&'o Lambda> {
        let [rows] = op.functions.as_slice() else {
            return None;
        };
        let [inner] = rows.body.stmts.as_slice() else {
            return None;
        };
        let Exp::Op(inner_op) = &inner.exp else {
            return None;
        };
        let ([result], [value]) = (inner.pattern.values.as_slice(), rows.body.values.as_slice()) else {
            return None;
        };
        let [function] = inner_op.functions.as_slice() else {
            return None;
        };
        let given: Vec<Atom> = rows
            .params
            .iter()
            .map(|param| Atom::Var(param.var.clone()))
            .collect();
        let used = Vars::of_lambda(function).used;
        let is_plain = rows.context.is_empty()
            && rows.result.context.is_empty()
            && inner_op.prim == Prim::Map
            && !is_fixed(inner_op)
            && inner_op.args == given
            && *value == Atom::Var(result.var.clone())
            && rows.params.iter().all(|param| !used.contains(&param.var));
        (is_plain && cost::is_simple(function, &self.facts)).then_some(function)
    }

    /// The size of the scalars of a matrix.
    fn scalar_bytes(&self, matrix: &Atom) -> Option<i64> {
        let Type::Array(Dim::Size(_), row) = self.facts.env.atom_type(matrix).ok()? else {
            return None;
        };
        match *row {
            Type::Array(Dim::Size(_), element) => match *element {
                Type::Scalar(scalar) => Some(scalar.bytes() as i64),
                _ => None,
            },
            _ => None,
        }
    }

    /// The sizes of an array as far as they are constants.
    fn sizes(&self, array: &Atom) -> Vec<Option<i64>> {
        let mut sizes = Vec::new();
        let mut ty = self.facts.env.atom_type(array).ok();
        while let Some(Type::Array(dim, element)) = ty {
            sizes.push(match dim {
                Dim::Size(size) => size.as_constant(),
                Dim::Jagged => None,
            });
            ty = Some(*element);
        }
        sizes
    }

    pub(crate) fn transposed_in_tiles(
        &mut self,
        stmt: &Stmt,
        work: &Transposition<'_>,
        around: Around,
    ) -> Typed<()> {
        let (span, level) = (stmt.span, around.level());
        let reason = "it reads columns, which lie across memory: tiles use whole cache lines";
        self.decide(span, Prim::Transpose, Choice::Level(level), reason);
        let mut groups = Vec::with_capacity(work.arrays.len());
        let mut rests = Vec::with_capacity(work.arrays.len());
        for array in &work.arrays {
            let (whole, rest) = self.multiple_of(array, work.tile, span)?;
            groups.push(self.bind(view(Prim::Split, vec![int(work.tile), whole]), "groups", span)?);
            rests.push(rest);
        }
        let each = self.lambda_over("columns", &groups, |this, columns| {
            this.group_of_columns(work, &columns, span)
        })?;
        let done = self.bind(at_level(Prim::Map, level, vec![each], groups), "done", span)?;
        let done = self.bind(view(Prim::Join, vec![done]), "done", span)?;
        let left = self.rows_of(work, rests, level, span)?;
        let all = at_level(Prim::Concat, Level::Seq, vec![], vec![done, left]);
        self.builder.push(stmt.pattern.clone(), all, span);
        Ok(())
    }

    /// As many columns as a tile has, tile by tile.
    fn group_of_columns(&mut self, work: &Transposition<'_>, columns: &[Atom], span: Span) -> Typed<Atom> {
        let mut tiles = Vec::with_capacity(columns.len());
        let mut rests = Vec::with_capacity(columns.len());
        for column in columns {
            let rows = self.transpose(column.clone(), "rows", span)?;
            let (whole, rest) = self.multiple_of(&rows, work.tile, span)?;
            tiles.push(self.bind(view(Prim::Split, vec![int(work.tile), whole]), "tiles", span)?);
            rests.push(self.transpose(rest, "rest", span)?);
        }
        let each = self.lambda_over("tile", &tiles, |this, tile| {
            let mut columns = Vec::with_capacity(tile.len());
            for rows in tile {
                columns.push(this.transpose(rows, "columns", span)?);
            }
            let done = this.rows_of(work, columns, Level::Seq, span)?;
            this.transpose(done, "done", span)
        })?;
        let parts = self.bind(at_level(Prim::Map, Level::Seq, vec![each], tiles), "parts", span)?;
        let whole = self.bind(view(Prim::Join, vec![parts]), "whole", span)?;
        let left = self.rows_of(work, rests, Level::Seq, span)?;
        let left = self.transpose(left, "left", span)?;
        let all = at_level(Prim::Concat, Level::Seq, vec![], vec![whole, left]);
        let all = self.bind(all, "all", span)?;
        self.transpose(all, "all", span)
    }

    /// What is made of the elements of some rows, in their order.
    fn rows_of(
        &mut self,
        work: &Transposition<'_>,
        arrays: Vec<Atom>,
        level: Level,
        span: Span,
    ) -> Typed<Atom> {
        let each = self.lambda_over("row", &arrays, |this, rows| {
            let function = match work.function {
                Some(function) => fresh_lambda(function, &mut this.builder.supply),
                None => this.lambda_over("x", &rows, |_, elements| {
                    Ok(elements.into_iter().next().unwrap_or(int(0)))
                })?,
            };
            this.bind(at_level(Prim::Map, Level::Vec, vec![function], rows), "row", span)
        })?;
        self.bind(at_level(Prim::Map, level, vec![each], arrays), "rows", span)
    }

    pub(crate) fn transpose(&mut self, array: Atom, name: &str, span: Span) -> Typed<Atom> {
        self.bind(levelled(view(Prim::Transpose, vec![array])), name, span)
    }
}
