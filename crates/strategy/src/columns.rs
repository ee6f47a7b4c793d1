//! Reductions of columns on a device: chunks of rows, in which every work-item has a column, and their results once more.
//!
//! ```text
//! map (\column -> reduce (+) e column) (transpose xss)
//!   =>  let chunks = split 128 (take (n / 128 * 128) xss)
//!       let partials = map@grid.1 (\chunk -> map@grid.0 (\column -> reduceSeq (+) -0.0 column) (transpose chunk)) chunks
//!       in map@par (\sums column -> reduceSeq (+) (reduceSeq (+) e sums) column) (transpose partials) (transpose <the rest>)
//! ```
//!
//! Neighbouring work-items read neighbours, and there are as many as it takes to keep memory busy, however few columns there are.

use crate::producers::Plan;
use crate::reductions::Reduction;
use crate::write::{at_level, int, view};
use crate::{Around, Choice, Chooser, Machine};
use almach_core::typing::Typed;
use almach_core::{Atom, Exp, Lambda, Op, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;

/// Rows of a chunk.
const ROWS: i64 = 128;

/// What feeds a reduction of columns: the columns themselves, and arrays that are the same for all.
enum Feed {
    Column,
    Same(Atom),
}

/// A map that reduces columns.
struct Columns<'s> {
    /// What was transposed.
    rows: Atom,
    reduce: &'s Stmt,
    producers: Vec<&'s Stmt>,
    initial: &'s Atom,
    function: &'s Lambda,
    feeds: Vec<Feed>,
}

impl Chooser {
    /// A map that reduces columns, in chunks of rows; false where it is none.
    pub(crate) fn columns_reduced(&mut self, stmt: &Stmt, op: &Op, around: Around) -> Typed<bool> {
        if self.machine != Machine::Device || around != Around::Nothing || !stmt.pattern.context.is_empty() {
            return Ok(false);
        }
        let Some(columns) = self.reduces_columns(op) else {
            return Ok(false);
        };
        let Some(element) = self.element_of(&columns) else {
            return Ok(false);
        };
        let Exp::Op(reduce) = &columns.reduce.exp else {
            return Ok(false);
        };
        let producers = columns.producers.as_slice();
        let (function, initial) = (columns.function, columns.initial);
        let reduction = self.described(
            columns.reduce,
            reduce,
            function,
            initial,
            producers,
            element,
            Around::Lane,
        )?;
        if reduction.fails || reduction.operator.is_none() || !crate::cost::is_scalars(&reduction.state) {
            return Ok(false);
        }
        let reason = "work-items have columns, side by side";
        self.decide(stmt.span, op.prim, Choice::Chunks(ROWS), reason);
        let result = self.in_chunks_of_rows(&reduction, &columns)?;
        self.builder
            .push(stmt.pattern.clone(), Exp::Atom(result), stmt.span);
        Ok(true)
    }

    fn reduces_columns<'s>(&self, op: &'s Op) -> Option<Columns<'s>> {
        let (Prim::Map, false, [lambda], [Atom::Var(array)]) =
            (op.prim, is_fixed(op), op.functions.as_slice(), op.args.as_slice())
        else {
            return None;
        };
        let rows = self.transposed.get(array)?.clone();
        let ([param], [Atom::Var(result)]) = (lambda.params.as_slice(), lambda.body.values.as_slice()) else {
            return None;
        };
        if !lambda.context.is_empty() || !lambda.result.context.is_empty() {
            return None;
        }
        let plan = Plan::of(self, &lambda.body);
        let last = lambda.body.stmts.len().checked_sub(1)?;
        let reduce = lambda.body.stmts.get(last)?;
        let absorbed = (0..last).all(|at| plan.is_absorbed(at));
        let ([value], Exp::Op(reducing)) = (reduce.pattern.values.as_slice(), &reduce.exp) else {
            return None;
        };
        if !absorbed
            || value.var != *result
            || !matches!(reducing.prim, Prim::Reduce | Prim::ReduceComm)
            || self.facts.holds_fixed(&reduce.exp)
        {
            return None;
        }
        let ([function], [initial, own]) = (reducing.functions.as_slice(), reducing.args.as_slice()) else {
            return None;
        };
        let producers: Vec<&Stmt> = plan
            .producers(last)
            .filter_map(|at| lambda.body.stmts.get(at))
            .collect();
        let sources = match producers.first().map(|stmt| &stmt.exp) {
            Some(Exp::Op(giver)) => giver.args.clone(),
            _ => vec![own.clone()],
        };
        let is_param = |atom: &Atom| matches!(atom, Atom::Var(var) if *var == param.var);
        if is_param(initial) || !sources.iter().any(is_param) {
            return None;
        }
        let feeds = sources.into_iter().map(|source| match is_param(&source) {
            true => Feed::Column,
            false => Feed::Same(source),
        });
        Some(Columns {
            rows,
            reduce,
            producers,
            initial,
            function,
            feeds: feeds.collect(),
        })
    }

    /// The type of what the reduction takes in: an element of each feed, zipped.
    fn element_of(&self, columns: &Columns<'_>) -> Option<Type> {
        let mut element: Option<Type> = None;
        for feed in &columns.feeds {
            let own = match feed {
                Feed::Column => match self.array_type(&columns.rows)?.1 {
                    Type::Array(_, element) => *element,
                    _ => return None,
                },
                Feed::Same(array) => self.array_type(array)?.1,
            };
            if !crate::cost::is_scalars(&own) {
                return None;
            }
            element = Some(match element {
                None => own,
                Some(first) => Type::Tuple(vec![first, own]),
            });
        }
        element
    }

    fn in_chunks_of_rows(&mut self, reduction: &Reduction, columns: &Columns<'_>) -> Typed<Atom> {
        let span = reduction.span;
        let (mut whole, mut rest) = (Vec::new(), Vec::new());
        let rows = columns.rows.clone();
        let all: Vec<&Atom> = columns
            .feeds
            .iter()
            .filter_map(|feed| match feed {
                Feed::Column => None,
                Feed::Same(array) => Some(array),
            })
            .collect();
        for array in std::iter::once(&rows).chain(all) {
            let (head, left) = self.multiple_of(array, ROWS, span)?;
            whole.push(self.bind(view(Prim::Split, vec![int(ROWS), head]), "chunks", span)?);
            rest.push(left);
        }
        let identity = match &reduction.operator {
            Some(operator) => self.identity(operator, span)?,
            None => columns.initial.clone(),
        };
        let each = self.lambda_over("chunk", &whole, |this, chunk| {
            let Some((rows, same)) = chunk.split_first() else {
                return Ok(identity.clone());
            };
            let cut = this.bind(view(Prim::Transpose, vec![rows.clone()]), "columns", span)?;
            let one = this.lambda_over("column", std::slice::from_ref(&cut), |this, column| {
                let elements = this.fed_by(columns, &column, same, span)?;
                this.fold(reduction, &identity, &elements)
            })?;
            let sums = at_level(Prim::Map, Level::Grid(0), vec![one], vec![cut]);
            this.bind(sums, "sums", span)
        })?;
        let partials = at_level(Prim::Map, Level::Grid(1), vec![each], whole);
        let partials = self.bind(partials, "partials", span)?;
        let Some((rest_rows, same)) = rest.split_first() else {
            return Ok(partials);
        };
        let mut last = Vec::new();
        for array in [&partials, rest_rows] {
            last.push(self.bind(view(Prim::Transpose, vec![array.clone()]), "columns", span)?);
        }
        let combining = reduction.of_states();
        let end = self.lambda_over("column", &last, |this, given| {
            let [sums, column] = given.as_slice() else {
                return Ok(identity.clone());
            };
            let all = this.fold(&combining, columns.initial, sums)?;
            let elements = this.fed_by(columns, std::slice::from_ref(column), same, span)?;
            this.fold(reduction, &all, &elements)
        })?;
        let result = at_level(Prim::Map, Level::Par, vec![end], last);
        self.bind(result, "columns", span)
    }

    /// The elements that a reduction takes in, of a column.
    fn fed_by(
        &mut self,
        columns: &Columns<'_>,
        column: &[Atom],
        same: &[Atom],
        span: almach_base::Span,
    ) -> Typed<Atom> {
        let (mut own, mut others) = (column.iter().cycle(), same.iter());
        let arrays: Vec<Atom> = columns
            .feeds
            .iter()
            .filter_map(|feed| match feed {
                Feed::Column => own.next(),
                Feed::Same(_) => others.next(),
            })
            .cloned()
            .collect();
        let zipped = self.zipped(&arrays, span)?;
        Ok(zipped.unwrap_or_else(|| columns.rows.clone()))
    }
}
