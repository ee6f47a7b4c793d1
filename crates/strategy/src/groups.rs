//! Reductions on a device: the work-items of a group reduce a chunk side by side, then combine what they have in a fixed tree.
//!
//! ```text
//! let s = reduce (+) e xs  =>  let chunks = split 16384 (take (n / 16384 * 16384) xs)
//!                              let partials = map@group (\chunk ->
//!                                let columns = transpose (split 256 chunk)
//!                                let lanes = map@local (\column -> reduceSeq (+) -0.0 column) columns
//!                                let half = map@local (+) (take 128 lanes) (drop 128 lanes)
//!                                … in total) chunks
//!                              let last = map@group (\_ -> <partials and what is left over, likewise>) (iota 1)
//!                              let s = e + last[0]
//! ```
//!
//! Neighbouring work-items read neighbouring elements, so the operator has to be commutative; others are reduced by one work-item for a
//! chunk. The sizes belong to the strategy, as those of [`lanes`](mod@crate::lanes) do.

use crate::cost::is_scalars;
use crate::operator::Operator;
use crate::reductions::Reduction;
use crate::write::{Definitions, at_level, int, view};
use crate::{Around, Choice, Chooser};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::{Atom, Body, Exp, ResultType, Type};
use almach_prim::{Level, Prim};
use almach_value::BinOp;

/// Work-items of a group.
const ITEMS: i64 = 256;

/// Elements of a work-item, when each is one scalar operation.
const EACH: u64 = 64;

/// Elements of a chunk that one work-item reduces.
const ALONE: i64 = 512;

/// Work below which a kernel of one work-item does.
const LITTLE_WORK: u64 = 1 << 10;

/// How a group reduces an array.
struct Items {
    operator: Operator,
    /// Work-items; a power of two.
    width: i64,
}

/// How often partial results are cut into chunks again.
#[derive(Clone, Copy)]
enum Again {
    Once,
    Never,
}

impl Chooser {
    /// A reduction where there is a device.
    pub(crate) fn device_reduction(
        &mut self,
        reduction: &Reduction,
        initial: &Atom,
        source: &Atom,
        around: Around,
    ) -> Typed<Atom> {
        match around {
            Around::Nothing if self.is_little(reduction, source) => {
                let reason = "it is too little work for a group";
                self.decide(reduction.span, reduction.operation, Choice::InOrder, reason);
                self.fold(reduction, initial, source)
            }
            Around::Nothing => match self.items(reduction, source) {
                Some(items) => self.in_groups(reduction, initial, source, &items),
                None if reduction.is_filtered() && reduction.operator.is_none() => {
                    let reason = "a part of it may be empty, and its operator has no known identity";
                    self.decide(reduction.span, reduction.operation, Choice::InOrder, reason);
                    self.fold(reduction, initial, source)
                }
                None => self.in_pieces(reduction, initial, source, Again::Once),
            },
            Around::Group => match self.items(reduction, source) {
                Some(items) => self.on_items(reduction, Some(initial), source, &items),
                None => self.fold(reduction, initial, source),
            },
            Around::Nest(_) | Around::Parallel | Around::Lane => self.fold(reduction, initial, source),
        }
    }

    fn is_little(&self, reduction: &Reduction, source: &Atom) -> bool {
        let size = self.array_type(source).and_then(|(size, _)| size.as_constant());
        let size = size.and_then(|size| u64::try_from(size).ok());
        size.is_some_and(|size| size.saturating_mul(reduction.work) < LITTLE_WORK)
    }

    fn items(&mut self, reduction: &Reduction, source: &Atom) -> Option<Items> {
        let operator = reduction.operator.clone()?;
        // Of several elements that fail the first one does: they stay in order.
        if reduction.fails || !is_scalars(&reduction.element) || !is_scalars(&reduction.state) {
            return None;
        }
        let (size, _) = self.array_type(source)?;
        let mut width = ITEMS;
        if let Some(size) = size.as_constant() {
            while width > size {
                width /= 2;
            }
            if width < 16 {
                return None;
            }
        }
        let choice = Choice::Items(width);
        let reason = "its operator is commutative and its elements are scalars";
        self.decide(reduction.span, reduction.operation, choice, reason);
        Some(Items { operator, width })
    }

    /// Chunks for groups; one more group for what they give and what is left over.
    fn in_groups(
        &mut self,
        reduction: &Reduction,
        initial: &Atom,
        source: &Atom,
        items: &Items,
    ) -> Typed<Atom> {
        let span = reduction.span;
        let weight = match reduction.work {
            few @ 0..64 => few.div_ceil(8),
            many => many,
        };
        let each = (EACH / weight).max(1);
        let chunk = items.width << each.ilog2();
        let reason = format!("about {} scalar operations for each element", reduction.work);
        self.decide(span, reduction.operation, Choice::Chunks(chunk), &reason);
        let (head, rest) = self.multiple_of(source, chunk, span)?;
        let chunks = self.bind(view(Prim::Split, vec![int(chunk), head]), "chunks", span)?;
        let Some((_, row)) = self.array_type(&chunks) else {
            return Ok(chunks);
        };
        let each = self.lambda_of([("chunk", row)], |this, [chunk]| {
            this.on_items(reduction, None, &chunk, items)
        })?;
        let partials = at_level(Prim::Map, Level::Group(0), vec![each], vec![chunks]);
        let partials = self.bind(partials, "partials", span)?;
        let combining = reduction.of_states();
        let one = self.bind(
            at_level(Prim::Iota, Level::Seq, vec![], vec![int(1)]),
            "one",
            span,
        )?;
        let Some((_, number)) = self.array_type(&one) else {
            return Ok(one);
        };
        let all = self.lambda_of([("_group", number)], |this, _| {
            let whole = this.on_items(&combining, None, &partials, items)?;
            this.on_items(reduction, Some(&whole), &rest, items)
        })?;
        let last = at_level(Prim::Map, Level::Group(0), vec![all], vec![one]);
        let last = self.bind(last, "last", span)?;
        let total = Exp::Index {
            array: last,
            indices: vec![int(0)],
        };
        let total = self.bind(total, "total", span)?;
        self.combine(reduction, initial, &total, &Definitions::new())
    }

    /// Chunks for work-items; what they give likewise, once.
    fn in_pieces(
        &mut self,
        reduction: &Reduction,
        initial: &Atom,
        source: &Atom,
        again: Again,
    ) -> Typed<Atom> {
        let span = reduction.span;
        let share = u64::try_from(ALONE).unwrap_or(1) / reduction.work.div_ceil(8).max(1);
        let size = 1i64 << share.max(1).ilog2();
        self.decide(
            span,
            reduction.operation,
            Choice::Chunks(size),
            "its operator is not known to be commutative, or works on arrays, or an element may fail",
        );
        let (head, rest) = self.multiple_of(source, size, span)?;
        let chunks = self.bind(view(Prim::Split, vec![int(size), head]), "chunks", span)?;
        let Some((_, chunk)) = self.array_type(&chunks) else {
            return Ok(chunks);
        };
        let each = self.lambda_of([("chunk", chunk)], |this, [chunk]| {
            this.part(reduction, &chunk, span)
        })?;
        let partials = at_level(Prim::Map, Level::Par, vec![each], vec![chunks]);
        let partials = self.bind(partials, "partials", span)?;
        let combining = reduction.of_states();
        let all = match again {
            Again::Once => self.in_pieces(&combining, initial, &partials, Again::Never)?,
            Again::Never => self.fold(&combining, initial, &partials)?,
        };
        self.fold(reduction, &all, &rest)
    }

    /// An array reduced by the work-items of one group, into a state where there is one.
    fn on_items(
        &mut self,
        reduction: &Reduction,
        start: Option<&Atom>,
        array: &Atom,
        items: &Items,
    ) -> Typed<Atom> {
        let (span, operator) = (reduction.span, &items.operator);
        let mut lanes = self.columns(reduction, array, items)?;
        let mut width = items.width;
        while width > 1 {
            width /= 2;
            lanes = self.halved(operator, &lanes, width, Level::Local(0), span)?;
        }
        let total = Exp::Index {
            array: lanes,
            indices: vec![int(0)],
        };
        let total = self.bind(total, "total", span)?;
        match start {
            None => Ok(total),
            Some(start) => self.combine_with(operator, start, &total, &Definitions::new(), span),
        }
    }

    /// All elements of an array combined, by the work-items of a group.
    pub(crate) fn total_of(
        &mut self,
        operator: &Operator,
        ty: &Type,
        array: &Atom,
        span: Span,
    ) -> Typed<Atom> {
        let reduction = Reduction::with(operator, ty, span);
        let items = Items {
            operator: operator.clone(),
            width: ITEMS,
        };
        self.on_items(&reduction, None, array, &items)
    }

    /// What each work-item has: element `l` of every row, and of the last one, which may be short.
    fn columns(&mut self, reduction: &Reduction, array: &Atom, items: &Items) -> Typed<Atom> {
        let span = reduction.span;
        let identity = self.identity(&items.operator, span)?;
        let size = self.array_type(array).and_then(|(size, _)| size.as_constant());
        let is_whole = size.is_some_and(|size| size % items.width == 0);
        let (head, rest) = match is_whole {
            true => (array.clone(), None),
            false => {
                let (head, rest) = self.multiple_of(array, items.width, span)?;
                (head, Some(rest))
            }
        };
        let rows = self.bind(view(Prim::Split, vec![int(items.width), head]), "rows", span)?;
        let columns = self.bind(view(Prim::Transpose, vec![rows]), "columns", span)?;
        let Some((_, column)) = self.array_type(&columns) else {
            return Ok(columns);
        };
        let Some(rest) = rest else {
            let each = self.lambda_of([("column", column)], |this, [column]| {
                this.fold(reduction, &identity, &column)
            })?;
            let lanes = at_level(Prim::Map, Level::Local(0), vec![each], vec![columns]);
            return self.bind(lanes, "lanes", span);
        };
        let left = self.builder.length(&rest, span)?;
        let count = at_level(Prim::Iota, Level::Seq, vec![], vec![int(items.width)]);
        let numbers = self.bind(count, "numbers", span)?;
        let Some((_, number)) = self.array_type(&numbers) else {
            return Ok(numbers);
        };
        let params = [("column", column), ("item", number)];
        let each = self.lambda_of(params, |this, [column, item]| {
            let acc = this.fold(reduction, &identity, &column)?;
            this.with_rest(reduction, &acc, &rest, &left, &item)
        })?;
        let lanes = at_level(Prim::Map, Level::Local(0), vec![each], vec![columns, numbers]);
        self.bind(lanes, "lanes", span)
    }

    /// A work-item's element of the last row, where there is one.
    fn with_rest(
        &mut self,
        reduction: &Reduction,
        acc: &Atom,
        rest: &Atom,
        left: &Atom,
        item: &Atom,
    ) -> Typed<Atom> {
        let span = reduction.span;
        let condition = self.arithmetic(BinOp::Lt, item.clone(), left.clone(), "has_one", span)?;
        self.builder.enter();
        let element = Exp::Index {
            array: rest.clone(),
            indices: vec![item.clone()],
        };
        let element = self.bind(element, "x", span)?;
        let next = self.step(reduction, acc, &element)?;
        let then = self.builder.leave(Vec::new(), vec![next]);
        let otherwise = Body {
            stmts: Vec::new(),
            context: Vec::new(),
            values: vec![acc.clone()],
        };
        let exp = Exp::If {
            condition,
            then,
            otherwise,
            result: ResultType::one(reduction.state.clone()),
        };
        self.bind(exp, "acc", span)
    }
}
