//! Lanes and accumulators: a commutative operator is applied to many partial results side by side, which are combined at the
//! end in a fixed tree.
//!
//! ```text
//! reduceSeq (+) e xs    =>   let rows = split 64 (take (n / 64 * 64) xs)
//!                            let sums: [64]f32 = reduceSeq (\acc row -> map@vec (+) acc row) (replicate 64 -0.0) rows
//!                            let half: [32]f32 = map@vec (+) (take 32 sums) (drop 32 sums)
//!                            …                                     -- 16, then the rows of 16 that are left over
//!                            let s = e + total
//!                            in reduceSeq (+) s (what is left over)
//! ```
//!
//! A lane is as wide as the widest component of the state, and a vector 64 bytes, whatever the processor has: the numbers
//! belong to the strategy. Several accumulators keep the processor's arithmetic busy while earlier sums are on their way.

mod masked_rest;

use crate::cost::{is_for_lanes, is_scalars};
use crate::masks::Abreast;
use crate::operator::Operator;
use crate::reductions::Reduction;
use crate::write::{Definitions, at_level, int, view};
use crate::{Around, Choice, Chooser, Machine, Topic};
use almach_base::Span;
use almach_core::build::op as plain_op;
use almach_core::typing::Typed;
use almach_core::{Atom, Body, Exp, ResultType, Size};
use almach_prim::{Level, Prim};
use almach_value::BinOp;

/// Bytes of one vector.
const VECTOR: i64 = 64;

/// Partial results of one component, at most: they are combined at the end, which short arrays feel.
const WIDTH: i64 = 64;

/// Vectors that the accumulators of one reduction take together, at most.
const REGISTERS: i64 = 12;

/// Lanes for an operator.
pub(crate) struct Shape {
    operator: Operator,
    lanes: i64,
    accumulators: i64,
    sizes: Sizes,
    /// Accumulators for an array that turns out to be long.
    long: i64,
}

/// What is known of the sizes of the arrays that one reduction reduces in turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    /// One size.
    Same,
    /// Every iteration of a loop around has its own: a row of a triangle, or of a sparse matrix. Many are shorter than a vector.
    Own,
}

impl Shape {
    fn width(&self) -> i64 {
        self.lanes * self.accumulators
    }
}

impl Chooser {
    /// The lanes for a reduction of an array; none where it has to run in order.
    pub(crate) fn lanes(&mut self, reduction: &Reduction, array: &Atom) -> Option<Shape> {
        let operator = reduction.operator.clone()?;
        if reduction.inside == Around::Lane {
            return None;
        }
        // One loop that branches; chunks of threads take lanes instead, which compute what a filter leaves out too.
        if self.machine == Machine::Sequential && reduction.is_filtered() {
            let reason = "a filter leaves elements out, and one loop with a branch needs no memory";
            self.decide(reduction.span, reduction.operation, Choice::InOrder, reason);
            return None;
        }
        if let Some(abreast) = &reduction.abreast {
            return self.lanes_of_groups(operator, abreast.lanes, array);
        }
        if !reduction.simple || !is_for_lanes(&reduction.element) || !is_scalars(&reduction.state) {
            return None;
        }
        let lanes = VECTOR / operator.largest() as i64;
        let components = operator.components() as i64;
        let mut accumulators = match self.ask(reduction.span, Topic::Accumulators, 5) {
            0 => 4,
            1 => 1,
            2 => 2,
            3 => 8,
            _ => {
                self.decide(
                    reduction.span,
                    reduction.operation,
                    Choice::InOrder,
                    "it was asked for",
                );
                return None;
            }
        };
        // The limits are those of the usual number.
        let asked_for = accumulators == 8;
        let too_many =
            |accumulators: i64| accumulators * components > REGISTERS || accumulators * lanes > WIDTH;
        while accumulators > 1 && !asked_for && too_many(accumulators) {
            accumulators /= 2;
        }
        let (size, _) = self.array_type(array)?;
        let (mut sizes, long) = (Sizes::Same, accumulators);
        if size.free_vars().any(|var| self.repeated.contains(var)) {
            (sizes, accumulators) = (Sizes::Own, 1);
        }
        if let Some(size) = size.as_constant() {
            if size < 2 * lanes {
                return None;
            }
            while accumulators > 1 && accumulators * lanes > size {
                accumulators /= 2;
            }
        }
        let choice = Choice::Lanes { lanes, accumulators };
        let reason = "its operator is commutative and its elements are scalars";
        self.decide(reduction.span, reduction.operation, choice, reason);
        Some(Shape {
            operator,
            lanes,
            accumulators,
            sizes,
            long,
        })
    }

    /// The lanes of a reduction whose elements are made in groups: one group is one row.
    fn lanes_of_groups(&self, operator: Operator, lanes: i64, array: &Atom) -> Option<Shape> {
        let (size, _) = self.array_type(array)?;
        let is_there = size.as_constant().is_none_or(|size| size >= lanes);
        is_there.then_some(Shape {
            operator,
            lanes,
            accumulators: 1,
            sizes: Sizes::Same,
            long: 1,
        })
    }

    /// An array reduced on lanes, into a state where there is one.
    pub(crate) fn on_lanes(
        &mut self,
        reduction: &Reduction,
        start: Option<&Atom>,
        array: &Atom,
        shape: Shape,
    ) -> Typed<Atom> {
        if let (Sizes::Own, Some(start)) = (shape.sizes, start) {
            return match shape.masks(reduction) && self.is_named(array) {
                true => self.own_length_on_lanes(reduction, start, array, &shape),
                false => self.on_lanes_if_long(reduction, start, array, &shape),
            };
        }
        let (span, operator) = (reduction.span, &shape.operator);
        let identity = self.identity(operator, span)?;
        let fill = vec![int(shape.width()), identity];
        let fill = at_level(Prim::Replicate, Level::Seq, vec![], fill);
        let lanes = self.bind(fill, "lanes", span)?;
        let (mut lanes, mut rest) = self.rows(reduction, lanes, array, shape.width())?;
        let mut width = shape.width();
        while width > shape.lanes {
            width /= 2;
            lanes = self.halved(operator, &lanes, width, Level::Vec, span)?;
        }
        if let Some(left) = rest.take_if(|_| shape.accumulators > 1) {
            (lanes, rest) = self.rows(reduction, lanes, &left, width)?;
        }
        let total = self.total(operator, lanes, width, span)?;
        let all = match start {
            None => total,
            Some(start) => self.combine_with(operator, start, &total, &Definitions::new(), span)?,
        };
        match rest {
            Some(rest) => self.fold(reduction, &all, &rest),
            None => Ok(all),
        }
    }

    /// Whether an array's size is a name alone. The size of what is left over of others is not one that source could say.
    fn is_named(&self, array: &Atom) -> bool {
        let size = self.array_type(array).map(|(size, _)| size);
        size.is_some_and(|size| size.free_vars().any(|var| size == Size::var(var.clone())))
    }

    /// The same for arrays of which many are shorter than a vector: for those no lanes are filled and combined.
    fn on_lanes_if_long(
        &mut self,
        reduction: &Reduction,
        start: &Atom,
        array: &Atom,
        shape: &Shape,
    ) -> Typed<Atom> {
        let (span, operator) = (reduction.span, &shape.operator);
        let n = self.builder.length(array, span)?;
        let count = self.arithmetic(BinOp::Div, n, int(shape.lanes), "rows", span)?;
        let whole = self.arithmetic(BinOp::Mul, count.clone(), int(shape.lanes), "whole", span)?;
        let (head, rest) = self.cut(array, &whole, span)?;
        let rows = self.bind(view(Prim::Split, vec![int(shape.lanes), head]), "rows", span)?;
        let is_long = self.arithmetic(BinOp::Gt, count, int(0), "is_long", span)?;
        self.builder.enter();
        let identity = self.identity(operator, span)?;
        let fill = at_level(
            Prim::Replicate,
            Level::Seq,
            vec![],
            vec![int(shape.lanes), identity],
        );
        let lanes = self.bind(fill, "lanes", span)?;
        let lanes = self.rows_to_lanes(reduction, lanes, &rows)?;
        let total = self.total(operator, lanes, shape.lanes, span)?;
        let all = self.combine_with(operator, start, &total, &Definitions::new(), span)?;
        let then = self.builder.leave(Vec::new(), vec![all]);
        let either = Exp::If {
            condition: is_long,
            then,
            otherwise: Body {
                stmts: Vec::new(),
                context: Vec::new(),
                values: vec![start.clone()],
            },
            result: ResultType::one(reduction.state.clone()),
        };
        let all = self.bind(either, "acc", span)?;
        self.fold(reduction, &all, &rest)
    }

    /// What so many lanes are together.
    fn total(&mut self, operator: &Operator, mut lanes: Atom, mut width: i64, span: Span) -> Typed<Atom> {
        while width > 1 {
            width /= 2;
            lanes = self.halved(operator, &lanes, width, Level::Vec, span)?;
        }
        let total = Exp::Index {
            array: lanes,
            indices: vec![int(0)],
        };
        self.bind(total, "total", span)
    }

    /// Reduces whole rows of an array into the lanes; also gives what is left over.
    fn rows(
        &mut self,
        reduction: &Reduction,
        lanes: Atom,
        array: &Atom,
        width: i64,
    ) -> Typed<(Atom, Option<Atom>)> {
        let span = reduction.span;
        let size = self.array_type(array).map(|(size, _)| size);
        let (head, rest) = match size.is_some_and(|size| divides(width, &size)) {
            true => (array.clone(), None),
            false => {
                let n = self.builder.length(array, span)?;
                let count = self.arithmetic(BinOp::Div, n, int(width), "rows", span)?;
                let whole = self.arithmetic(BinOp::Mul, count, int(width), "whole", span)?;
                let (head, rest) = self.cut(array, &whole, span)?;
                (head, Some(rest))
            }
        };
        let rows = self.bind(view(Prim::Split, vec![int(width), head]), "rows", span)?;
        Ok((self.rows_to_lanes(reduction, lanes, &rows)?, rest))
    }

    /// Reduces rows, which are as wide as the lanes, into them.
    fn rows_to_lanes(&mut self, reduction: &Reduction, lanes: Atom, rows: &Atom) -> Typed<Atom> {
        let span = reduction.span;
        let (Some((_, row)), lanes_type) = (self.array_type(rows), self.builder.type_of(&lanes)?) else {
            return Ok(lanes);
        };
        let params = [("lanes", lanes_type), ("row", row)];
        let (state, element) = (reduction.state.clone(), reduction.element.clone());
        let step = self.lambda_of(params, |this, [lanes, row]| {
            let next = match &reduction.abreast {
                Some(abreast) => this.group_step(reduction, abreast, lanes, &row)?,
                None => {
                    let inner = [("acc", state), ("x", element)];
                    let lane = this.lambda_of(inner, |this, [acc, x]| this.step(reduction, &acc, &x))?;
                    at_level(Prim::Map, Level::Vec, vec![lane], vec![lanes, row])
                }
            };
            this.bind(next, "lanes", span)
        })?;
        let reduced = plain_op(Prim::ReduceSeq, vec![step], vec![lanes, rows.clone()]);
        self.bind(reduced, "lanes", span)
    }

    /// The next lanes from a row of elements that are made together.
    fn group_step(
        &mut self,
        reduction: &Reduction,
        abreast: &Abreast,
        lanes: Atom,
        row: &Atom,
    ) -> Typed<Exp> {
        let span = reduction.span;
        let mut rows = Vec::with_capacity(reduction.arity);
        let mut left = row.clone();
        for _ in 1..reduction.arity {
            let both = self.bind(view(Prim::Unzip, vec![left]), "rows", span)?;
            rows.push(self.bind(Exp::Project(both.clone(), 1), "row", span)?);
            left = self.bind(Exp::Project(both, 0), "row", span)?;
        }
        rows.push(left);
        rows.reverse();
        let made = self.splice(&abreast.function, &rows, &mut Definitions::new())?;
        let inner = [("acc", reduction.state.clone()), ("x", reduction.state.clone())];
        let combine = self.lambda_of(inner, |this, [acc, x]| {
            this.combine(reduction, &acc, &x, &Definitions::new())
        })?;
        let mut args = vec![lanes];
        args.extend(made);
        Ok(at_level(Prim::Map, Level::Vec, vec![combine], args))
    }

    /// The second half of the lanes combined into the first.
    pub(crate) fn halved(
        &mut self,
        operator: &Operator,
        lanes: &Atom,
        half: i64,
        level: Level,
        span: Span,
    ) -> Typed<Atom> {
        let (first, second) = self.cut(lanes, &int(half), span)?;
        let Some((_, state)) = self.array_type(lanes) else {
            return Ok(lanes.clone());
        };
        let params = [("a", state.clone()), ("b", state)];
        let combine = self.lambda_of(params, |this, [a, b]| {
            this.combine_with(operator, &a, &b, &Definitions::new(), span)
        })?;
        let halved = at_level(Prim::Map, level, vec![combine], vec![first, second]);
        self.bind(halved, "lanes", span)
    }
}

/// Whether a size is a multiple.
fn divides(width: i64, size: &Size) -> bool {
    size.as_constant().is_some_and(|size| size % width == 0)
}
