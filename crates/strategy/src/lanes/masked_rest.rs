//! What is left over of an array in whole rows of lanes, as one more row of which only some lanes take part.
//!
//! ```text
//! reduceSeq (+) e xs    =>   let row: [16]f32 = pad 0 (16 - length rest) 0.0 rest
//!                            let lanes: [16]f32 = map@vec (\x j -> if j < length rest then -0.0 + x else -0.0) row (iota 16)
//!                            let sums: [16]f32 = reduceSeq (\acc row -> map@vec (+) acc row) lanes rows
//!                            in e + total
//! ```
//!
//! Arrays that each have a size of their own are often short. A loop over what is left over of them ends each time somewhere else, which a processor
//! foresees badly, and each of its steps waits for the one before; a masked row is neither. It comes first, so that it also fills the lanes. Empty arrays, of which
//! there may be many beside few others, are given no lanes; long ones several accumulators, as arrays of one size are.

use super::{Shape, Sizes};
use crate::Chooser;
use crate::cost::is_scalars;
use crate::reductions::Reduction;
use crate::write::{Definitions, at_level, int, view};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::{Atom, Body, Exp, ResultType, Type};
use almach_prim::{Level, Prim};
use almach_value::{BinOp, Scalar};

/// Lanes of which a mask is as wide as their numbers: narrower elements would have to wait for the comparison of numbers.
const MASKED: i64 = 16;

/// Rows of lanes from which on an array is long: then several accumulators are worth combining.
const LONG: i64 = 64;

impl Shape {
    /// The lanes for an array that turned out to be long.
    fn for_long(&self) -> Shape {
        Shape {
            operator: self.operator.clone(),
            lanes: self.lanes,
            accumulators: self.long,
            sizes: Sizes::Same,
            long: self.long,
        }
    }

    /// Whether a mask costs little beside the lanes.
    pub(super) fn masks(&self, reduction: &Reduction) -> bool {
        self.lanes <= MASKED && is_scalars(&reduction.element)
    }
}

impl Chooser {
    /// An array reduced on lanes into a state: nothing where it is empty, several accumulators where it is long.
    pub(super) fn own_length_on_lanes(
        &mut self,
        reduction: &Reduction,
        start: &Atom,
        array: &Atom,
        shape: &Shape,
    ) -> Typed<Atom> {
        let span = reduction.span;
        let n = self.builder.length(array, span)?;
        // Where it fails, the number of elements is known to be none that is negative.
        let is_empty = self.arithmetic(BinOp::Lt, n.clone(), int(1), "is_empty", span)?;
        self.builder.enter();
        let reduced = match shape.long > 1 {
            true => self.short_or_long(reduction, start, array, (&n, shape)),
            false => self.with_masked_rest(reduction, start, array, (&n, shape)),
        };
        let otherwise = self.builder.leave(Vec::new(), reduced.iter().cloned().collect());
        reduced?;
        self.state_of_either(reduction, is_empty, only(start.clone()), otherwise)
    }

    fn short_or_long(
        &mut self,
        reduction: &Reduction,
        start: &Atom,
        array: &Atom,
        (n, shape): (&Atom, &Shape),
    ) -> Typed<Atom> {
        let (span, least) = (reduction.span, LONG * shape.lanes);
        let is_short = self.arithmetic(BinOp::Lt, n.clone(), int(least), "is_short", span)?;
        self.builder.enter();
        let short = self.with_masked_rest(reduction, start, array, (n, shape));
        let then = self.builder.leave(Vec::new(), short.iter().cloned().collect());
        short?;
        self.builder.enter();
        let long = self.on_lanes(reduction, Some(start), array, shape.for_long());
        let otherwise = self.builder.leave(Vec::new(), long.iter().cloned().collect());
        long?;
        self.state_of_either(reduction, is_short, then, otherwise)
    }

    /// One state or another.
    fn state_of_either(
        &mut self,
        reduction: &Reduction,
        condition: Atom,
        then: Body,
        otherwise: Body,
    ) -> Typed<Atom> {
        let either = Exp::If {
            condition,
            then,
            otherwise,
            result: ResultType::one(reduction.state.clone()),
        };
        self.bind(either, "acc", reduction.span)
    }

    /// An array reduced on lanes into a state, what is left over first.
    fn with_masked_rest(
        &mut self,
        reduction: &Reduction,
        start: &Atom,
        array: &Atom,
        (n, shape): (&Atom, &Shape),
    ) -> Typed<Atom> {
        let (span, operator) = (reduction.span, &shape.operator);
        let count = self.arithmetic(BinOp::Div, n.clone(), int(shape.lanes), "rows", span)?;
        let whole = self.arithmetic(BinOp::Mul, count, int(shape.lanes), "whole", span)?;
        let (head, rest) = self.cut(array, &whole, span)?;
        let lanes = self.masked_row(reduction, &rest, shape)?;
        let rows = self.bind(view(Prim::Split, vec![int(shape.lanes), head]), "rows", span)?;
        let lanes = self.rows_to_lanes(reduction, lanes, &rows)?;
        let total = self.total(operator, lanes, shape.lanes, span)?;
        self.combine_with(operator, start, &total, &Definitions::new(), span)
    }

    /// Lanes that hold the elements of an array with fewer, and the operator's identity where there is none.
    fn masked_row(&mut self, reduction: &Reduction, rest: &Atom, shape: &Shape) -> Typed<Atom> {
        let span = reduction.span;
        let left = self.builder.length(rest, span)?;
        let missing = self.arithmetic(BinOp::Sub, int(shape.lanes), left.clone(), "missing", span)?;
        let nothing = self.nothing(&reduction.element, span)?;
        let row = self.bind(
            view(Prim::Pad, vec![int(0), missing, nothing, rest.clone()]),
            "row",
            span,
        )?;
        let numbers = at_level(Prim::Iota, Level::Seq, vec![], vec![int(shape.lanes)]);
        let numbers = self.bind(numbers, "numbers", span)?;
        let params = [("x", reduction.element.clone()), ("j", Type::I64)];
        let lane = self.lambda_of(params, |this, [x, j]| {
            let identity = this.identity(&shape.operator, span)?;
            let is_there = this.arithmetic(BinOp::Lt, j, left, "is_there", span)?;
            this.builder.enter();
            let first = this.step(reduction, &identity, &x);
            let then = this.builder.leave(Vec::new(), first.iter().cloned().collect());
            first?;
            this.state_of_either(reduction, is_there, then, only(identity))
        })?;
        let lanes = at_level(Prim::Map, Level::Vec, vec![lane], vec![row, numbers]);
        self.bind(lanes, "lanes", span)
    }

    /// A value of scalars that nobody looks at.
    fn nothing(&mut self, ty: &Type, span: Span) -> Typed<Atom> {
        match ty {
            Type::Scalar(scalar) => Ok(Atom::Const(Scalar::zero(*scalar))),
            Type::Tuple(parts) => {
                let parts: Typed<Vec<Atom>> = parts.iter().map(|part| self.nothing(part, span)).collect();
                self.bind(Exp::Tuple(parts?), "nothing", span)
            }
            Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => Ok(int(0)),
        }
    }
}

/// A body that gives what is known already.
fn only(value: Atom) -> Body {
    Body {
        stmts: Vec::new(),
        context: Vec::new(),
        values: vec![value],
    }
}
