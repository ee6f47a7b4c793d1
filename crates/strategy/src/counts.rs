//! Sums of small numbers, which are mostly counts: a byte holds the sum of many of them, and a vector has as many lanes as it has bytes.
//!
//! ```text
//! reduceSeq (\acc x -> acc + (if p x then 1 else 0)) e xs
//!
//! =>  let blocks = split 8192 (take (n / 8192 * 8192) xs)
//!     let all = reduceSeq (\acc block ->
//!       let counts: [64]u8 = reduceSeq (\counts row -> map@vec (\c x -> c + u8 (if p x then 1 else 0)) counts row)
//!                                      (replicate 64 0) (split 64 block)
//!       in acc + reduceSeq (\s c -> s + i64 c) 0 counts) e blocks
//!     in reduceSeq … all (what is left over, on lanes as usual)
//! ```
//!
//! Integers are the same in any grouping, and no lane has more rows than fit.

use crate::operator::Operator;
use crate::reductions::{Reduction, Stage};
use crate::write::{at_level, int, view};
use crate::{Around, Choice, Chooser, Machine, Topic, cost};
use almach_base::Span;
use almach_core::build::op as plain_op;
use almach_core::typing::Typed;
use almach_core::{Atom, Body, Exp, Lambda, Type};
use almach_prim::{Level, Prim};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

/// Bytes of a vector: a lane is one.
const LANES: i64 = 64;

/// Rows of a block at most; what a byte holds is less than twice that.
const ROWS: i64 = 128;

/// Sums of numbers that are at most 1.
pub(crate) struct Small {
    /// The type of the sum.
    ty: ScalarType,
    rows: i64,
}

impl Small {
    fn block(&self) -> i64 {
        LANES * self.rows
    }
}

impl Chooser {
    /// Whether a reduction adds small numbers, and has enough of them.
    pub(crate) fn small(&mut self, reduction: &Reduction, array: &Atom) -> Option<Small> {
        let Some(Operator::Scalar(BinOp::Add, ty)) = reduction.operator else {
            return None;
        };
        let is_wide = ty.is_integer() && ty.bytes() > 1;
        let is_plain = reduction.simple && !reduction.is_filtered() && cost::is_for_lanes(&reduction.element);
        if !is_wide || !is_plain || reduction.inside == Around::Lane || self.machine == Machine::Device {
            return None;
        }
        let Some(Stage::Map(function)) = reduction.stages.last() else {
            return None;
        };
        let most = self.greatest(function)?;
        let small = Small {
            ty,
            rows: 1i64 << (ROWS / most.max(1)).checked_ilog2()?,
        };
        let (size, _) = self.array_type(array)?;
        let fits = match size.as_constant() {
            Some(size) => size % small.block() == 0,
            // What chunks leave over is little.
            None => {
                self.machine == Machine::Sequential
                    && !size.free_vars().any(|var| self.repeated.contains(var))
            }
        };
        if !fits || self.ask(reduction.span, Topic::Accumulators, 5) != 0 {
            return None;
        }
        let choice = Choice::Lanes {
            lanes: LANES,
            accumulators: 1,
        };
        self.decide(
            reduction.span,
            reduction.operation,
            choice,
            "its elements are small, and bytes hold sums of many",
        );
        Some(small)
    }

    /// The greatest number that a function gives, where it gives none that is negative.
    fn greatest(&self, function: &Lambda) -> Option<i64> {
        let [Atom::Var(value)] = function.body.values.as_slice() else {
            return None;
        };
        let mut value = value;
        loop {
            let mut stmts = function.body.stmts.iter();
            let made = stmts.find(|stmt| stmt.pattern.values.iter().any(|bound| bound.var == *value))?;
            match &made.exp {
                Exp::Atom(Atom::Var(other)) => value = other,
                Exp::Unary(UnOp::Convert(_), of) => {
                    let is_bool = self.builder.type_of(of).ok()? == Type::Scalar(ScalarType::Bool);
                    return is_bool.then_some(1);
                }
                Exp::If { then, otherwise, .. } => return Some(given(then)?.max(given(otherwise)?)),
                _ => return None,
            }
        }
    }

    /// An array reduced into a state, block by block.
    pub(crate) fn on_narrow_lanes(
        &mut self,
        reduction: &Reduction,
        start: &Atom,
        array: &Atom,
        small: &Small,
    ) -> Typed<Atom> {
        let span = reduction.span;
        let size = self.array_type(array).and_then(|(size, _)| size.as_constant());
        let (head, rest) = match size {
            Some(_) => (array.clone(), None),
            None => {
                let (head, rest) = self.multiple_of(array, small.block(), span)?;
                (head, Some(rest))
            }
        };
        let blocks = self.bind(view(Prim::Split, vec![int(small.block()), head]), "blocks", span)?;
        let Some((_, block)) = self.array_type(&blocks) else {
            return Ok(blocks);
        };
        let params = [("acc", reduction.state.clone()), ("block", block)];
        let step = self.lambda_of(params, |this, [acc, block]| {
            let sum = this.sum_of_block(reduction, &block, small)?;
            this.arithmetic(BinOp::Add, acc, sum, "next", span)
        })?;
        let all = plain_op(Prim::ReduceSeq, vec![step], vec![start.clone(), blocks]);
        let all = self.bind(all, "all", span)?;
        match rest {
            Some(rest) => self.on_lanes_or_in_order(reduction, &all, &rest),
            None => Ok(all),
        }
    }

    fn sum_of_block(&mut self, reduction: &Reduction, block: &Atom, small: &Small) -> Typed<Atom> {
        let (span, byte) = (reduction.span, ScalarType::U8);
        let zero = Atom::Const(Scalar::zero(byte));
        let fill = at_level(Prim::Replicate, Level::Seq, vec![], vec![int(LANES), zero]);
        let counts = self.bind(fill, "counts", span)?;
        let rows = self.bind(view(Prim::Split, vec![int(LANES), block.clone()]), "rows", span)?;
        let (Some((_, row)), counts_type) = (self.array_type(&rows), self.builder.type_of(&counts)?) else {
            return Ok(counts);
        };
        let element = reduction.element.clone();
        let step = self.lambda_of([("counts", counts_type), ("row", row)], |this, [counts, row]| {
            let lane = [("count", Type::Scalar(byte)), ("x", element)];
            let lane = this.lambda_of(lane, |this, [count, x]| {
                let value = this.fed(reduction, &x)?;
                let value = this.converted(&value, byte, span)?;
                this.arithmetic(BinOp::Add, count, value, "next", span)
            })?;
            let next = at_level(Prim::Map, Level::Vec, vec![lane], vec![counts, row]);
            this.bind(next, "counts", span)
        })?;
        let counts = plain_op(Prim::ReduceSeq, vec![step], vec![counts, rows]);
        let counts = self.bind(counts, "counts", span)?;
        let params = [("sum", Type::Scalar(small.ty)), ("count", Type::Scalar(byte))];
        let add = self.lambda_of(params, |this, [sum, count]| {
            let count = this.converted(&count, small.ty, span)?;
            this.arithmetic(BinOp::Add, sum, count, "next", span)
        })?;
        let none = Atom::Const(Scalar::zero(small.ty));
        let sum = plain_op(Prim::ReduceSeq, vec![add], vec![none, counts]);
        self.bind(sum, "sum", span)
    }

    fn converted(&mut self, value: &Atom, to: ScalarType, span: Span) -> Typed<Atom> {
        self.bind(Exp::Unary(UnOp::Convert(to), value.clone()), "small", span)
    }
}

/// The number that a branch gives, where it is a small one.
fn given(body: &Body) -> Option<i64> {
    match body.values.as_slice() {
        [Atom::Const(value)] => {
            let value = i64::try_from(value.as_integer()?).ok()?;
            (0..=ROWS).contains(&value).then_some(value)
        }
        _ => None,
    }
}
