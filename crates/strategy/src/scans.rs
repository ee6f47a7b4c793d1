//! Scans on a device: chunks are reduced by groups, what they give is scanned, and groups scan the chunks from there on.
//!
//! ```text
//! scan (+) e xs   =>   let totals = map@group (\chunk -> <reduced>) chunks
//!                      let starts = <scan_exclusive (+) e totals>
//!                      let whole = map@group (\chunk start ->
//!                        let tile = map@local (\x -> x) chunk              -- neighbours read neighbours
//!                        let sums = map@local (reduceSeq (+) -0.0) (split 9 tile)
//!                        let sums = map@local (\i -> if i < 1 then sums[i] else sums[i - 1] + sums[i]) (iota 256)   -- 2, 4, … 128
//!                        let rows = map@local (\row i -> scan@seq (+) (<start + sums[i - 1]>) row) (split 9 tile) (iota 256)
//!                        in map@local (\x -> x) (join rows)) chunks starts
//!                      in concat (join whole) <the rest, likewise, by one group>
//! ```
//!
//! The sizes belong to the strategy, so rounding is the same everywhere. The sums of chunks are scanned the same way, once, and those of
//! their chunks in order.

use crate::cost::is_scalars;
use crate::operator::Operator;
use crate::write::{Definitions, at_level, int, view};
use crate::{Around, Choice, Chooser, Machine};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::{Atom, Body, Exp, Lambda, Op, ResultType, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;
use almach_value::BinOp;

/// Work-items of a group.
const ITEMS: i64 = 256;

/// Bytes of the elements that a work-item scans in order. There is an odd number of them, so that neighbours use different banks of
/// local memory.
const RUN_BYTES: i64 = 36;

/// A scan that groups share.
struct Scan {
    prim: Prim,
    operator: Operator,
    element: Type,
    /// Elements that a work-item scans in order.
    run: i64,
    span: Span,
}

impl Scan {
    fn chunk(&self) -> i64 {
        self.run * ITEMS
    }

    /// The scan of what chunks give: where each of them starts.
    fn of_totals(&self) -> Scan {
        Scan {
            prim: Prim::ScanExclusive,
            operator: self.operator.clone(),
            element: self.element.clone(),
            ..*self
        }
    }
}

/// How often sums of chunks are scanned by groups again.
#[derive(Clone, Copy)]
enum Again {
    Once,
    Never,
}

impl Chooser {
    /// A scan in chunks for groups; false where it is none for them.
    pub(crate) fn scanned(&mut self, stmt: &Stmt, op: &Op, around: Around) -> Typed<bool> {
        let (Prim::Scan | Prim::ScanExclusive, [function], [start, array]) =
            (op.prim, op.functions.as_slice(), op.args.as_slice())
        else {
            return Ok(false);
        };
        if self.machine != Machine::Device || around != Around::Nothing || is_fixed(op) {
            return Ok(false);
        }
        let (Some(operator), Some((size, element))) = (Operator::of(function), self.array_type(array)) else {
            return Ok(false);
        };
        let small = size.as_constant().is_some_and(|size| size < ITEMS);
        if small || !is_scalars(&element) || self.facts.body_can_fail(&function.body) {
            return Ok(false);
        }
        let bytes = bytes(&element).max(1);
        let scan = Scan {
            prim: op.prim,
            operator,
            element,
            run: odd(RUN_BYTES / bytes),
            span: stmt.span,
        };
        let reason = "its operator has an identity, and its elements are scalars";
        self.decide(stmt.span, op.prim, Choice::Chunks(scan.chunk()), reason);
        self.decide(stmt.span, op.prim, Choice::Items(ITEMS), reason);
        let all = self.in_chunks(&scan, start, array, Again::Once)?;
        self.builder.push(stmt.pattern.clone(), Exp::Atom(all), stmt.span);
        Ok(true)
    }

    fn in_chunks(&mut self, scan: &Scan, start: &Atom, array: &Atom, again: Again) -> Typed<Atom> {
        let span = scan.span;
        let (head, rest) = self.multiple_of(array, scan.chunk(), span)?;
        let chunks = self.bind(view(Prim::Split, vec![int(scan.chunk()), head]), "chunks", span)?;
        let Some((_, chunk)) = self.array_type(&chunks) else {
            return Ok(chunks);
        };
        let each = self.lambda_of([("chunk", chunk.clone())], |this, [chunk]| {
            this.total_of(&scan.operator, &scan.element, &chunk, span)
        })?;
        let totals = at_level(Prim::Map, Level::Group(0), vec![each], vec![chunks.clone()]);
        let totals = self.bind(totals, "totals", span)?;
        let starts = match again {
            Again::Once => self.in_chunks(&scan.of_totals(), start, &totals, Again::Never)?,
            Again::Never => {
                let function = self.combining(scan)?;
                let args = vec![start.clone(), totals.clone()];
                let scanned = at_level(Prim::ScanExclusive, Level::Seq, vec![function], args);
                self.bind(scanned, "starts", span)?
            }
        };
        let params = [("chunk", chunk), ("start", scan.element.clone())];
        let each = self.lambda_of(params, |this, [chunk, start]| {
            let tile = this.copied(&chunk, span)?;
            let rows = this.tile_scanned(scan, &start, &tile)?;
            this.copied(&rows, span)
        })?;
        let whole = at_level(
            Prim::Map,
            Level::Group(0),
            vec![each],
            vec![chunks, starts.clone()],
        );
        let whole = self.bind(whole, "whole", span)?;
        let whole = self.bind(view(Prim::Join, vec![whole]), "whole", span)?;
        let rest = self.rest_scanned(scan, start, &totals, &starts, &rest)?;
        let args = vec![whole, rest];
        self.bind(view(Prim::Concat, args), "scanned", span)
    }

    /// What is left over, as a tile that is filled up with what changes nothing.
    fn rest_scanned(
        &mut self,
        scan: &Scan,
        start: &Atom,
        totals: &Atom,
        starts: &Atom,
        rest: &Atom,
    ) -> Typed<Atom> {
        let span = scan.span;
        let one = self.numbers(1, span)?;
        let Some((_, number)) = self.array_type(&one) else {
            return Ok(one);
        };
        let identity = self.identity(&scan.operator, span)?;
        let left = self.builder.length(rest, span)?;
        let count = self.builder.length(totals, span)?;
        let each = self.lambda_of([("_group", number.clone())], |this, _| {
            let from = this.end_of(scan, start, totals, starts, &count)?;
            let cells = this.numbers(scan.chunk(), span)?;
            let fill = this.lambda_of([("at", number.clone())], |this, [at]| {
                let inside = this.arithmetic(BinOp::Lt, at.clone(), left.clone(), "inside", span)?;
                let element = Exp::Index {
                    array: rest.clone(),
                    indices: vec![at],
                };
                this.either(inside, element, Exp::Atom(identity.clone()), &scan.element, span)
            })?;
            let tile = at_level(Prim::Map, Level::Local(0), vec![fill], vec![cells]);
            let tile = this.bind(tile, "tile", span)?;
            let rows = this.tile_scanned(scan, &from, &tile)?;
            let rows = this.bind(view(Prim::Take, vec![left.clone(), rows]), "rows", span)?;
            this.copied(&rows, span)
        })?;
        let last = at_level(Prim::Map, Level::Group(0), vec![each], vec![one]);
        let last = self.bind(last, "last", span)?;
        self.bind(view(Prim::Join, vec![last]), "last", span)
    }

    /// What comes before the rest: the start of the last chunk, and that chunk.
    fn end_of(
        &mut self,
        scan: &Scan,
        start: &Atom,
        totals: &Atom,
        starts: &Atom,
        count: &Atom,
    ) -> Typed<Atom> {
        let span = scan.span;
        let last = self.arithmetic(BinOp::Sub, count.clone(), int(1), "last", span)?;
        let some = self.arithmetic(BinOp::Gt, count.clone(), int(0), "some", span)?;
        self.builder.enter();
        let [before, total] = [starts, totals].map(|array| Exp::Index {
            array: array.clone(),
            indices: vec![last.clone()],
        });
        let before = self.bind(before, "before", span)?;
        let total = self.bind(total, "total", span)?;
        let both = self.combine_with(&scan.operator, &before, &total, &Definitions::new(), span)?;
        let then = self.builder.leave(Vec::new(), vec![both]);
        let exp = Exp::If {
            condition: some,
            then,
            otherwise: only(start.clone()),
            result: ResultType::one(scan.element.clone()),
        };
        self.bind(exp, "from", span)
    }

    /// A tile of a group, scanned: runs of its work-items.
    fn tile_scanned(&mut self, scan: &Scan, start: &Atom, tile: &Atom) -> Typed<Atom> {
        let span = scan.span;
        let runs = self.bind(view(Prim::Split, vec![int(scan.run), tile.clone()]), "runs", span)?;
        let Some((_, run)) = self.array_type(&runs) else {
            return Ok(runs);
        };
        let identity = self.identity(&scan.operator, span)?;
        let function = self.combining(scan)?;
        let sum = self.lambda_of([("run", run.clone())], |this, [run]| {
            let sum = almach_core::build::op(Prim::ReduceSeq, vec![function], vec![identity, run]);
            this.bind(sum, "sum", span)
        })?;
        let sums = at_level(Prim::Map, Level::Local(0), vec![sum], vec![runs.clone()]);
        let mut sums = self.bind(sums, "sums", span)?;
        let mut distance = 1;
        while distance < ITEMS {
            sums = self.summed(scan, &sums, distance)?;
            distance *= 2;
        }
        let numbers = self.numbers(ITEMS, span)?;
        let Some((_, number)) = self.array_type(&numbers) else {
            return Ok(numbers);
        };
        let function = self.combining(scan)?;
        let params = [("run", run), ("item", number)];
        let each = self.lambda_of(params, |this, [run, item]| {
            let before = this.before(scan, start, &sums, &item)?;
            let scanned = at_level(scan.prim, Level::Seq, vec![function], vec![before, run]);
            this.bind(scanned, "run", span)
        })?;
        let rows = at_level(Prim::Map, Level::Local(0), vec![each], vec![runs, numbers]);
        let rows = self.bind(rows, "rows", span)?;
        self.bind(view(Prim::Join, vec![rows]), "rows", span)
    }

    /// Every sum with the one so many places before it.
    fn summed(&mut self, scan: &Scan, sums: &Atom, distance: i64) -> Typed<Atom> {
        let span = scan.span;
        let numbers = self.numbers(ITEMS, span)?;
        let Some((_, number)) = self.array_type(&numbers) else {
            return Ok(numbers);
        };
        let each = self.lambda_of([("item", number)], |this, [item]| {
            let own = Exp::Index {
                array: sums.clone(),
                indices: vec![item.clone()],
            };
            let own = this.bind(own, "own", span)?;
            this.with_earlier(scan, sums, &item, distance, &own)
        })?;
        let summed = at_level(Prim::Map, Level::Local(0), vec![each], vec![numbers]);
        self.bind(summed, "sums", span)
    }

    /// `if item < distance then own else sums[item - distance] ⊕ own`
    fn with_earlier(
        &mut self,
        scan: &Scan,
        sums: &Atom,
        item: &Atom,
        distance: i64,
        own: &Atom,
    ) -> Typed<Atom> {
        let span = scan.span;
        let has = self.arithmetic(BinOp::Ge, item.clone(), int(distance), "has", span)?;
        self.builder.enter();
        let at = self.arithmetic(BinOp::Sub, item.clone(), int(distance), "at", span)?;
        let earlier = Exp::Index {
            array: sums.clone(),
            indices: vec![at],
        };
        let earlier = self.bind(earlier, "earlier", span)?;
        let both = self.combine_with(&scan.operator, &earlier, own, &Definitions::new(), span)?;
        let then = self.builder.leave(Vec::new(), vec![both]);
        let exp = Exp::If {
            condition: has,
            then,
            otherwise: only(own.clone()),
            result: ResultType::one(scan.element.clone()),
        };
        self.bind(exp, "sum", span)
    }

    /// What comes before the run of a work-item.
    fn before(&mut self, scan: &Scan, start: &Atom, sums: &Atom, item: &Atom) -> Typed<Atom> {
        let span = scan.span;
        let has = self.arithmetic(BinOp::Ge, item.clone(), int(1), "has", span)?;
        self.builder.enter();
        let at = self.arithmetic(BinOp::Sub, item.clone(), int(1), "at", span)?;
        let earlier = Exp::Index {
            array: sums.clone(),
            indices: vec![at],
        };
        let earlier = self.bind(earlier, "earlier", span)?;
        let both = self.combine_with(&scan.operator, start, &earlier, &Definitions::new(), span)?;
        let then = self.builder.leave(Vec::new(), vec![both]);
        let exp = Exp::If {
            condition: has,
            then,
            otherwise: only(start.clone()),
            result: ResultType::one(scan.element.clone()),
        };
        self.bind(exp, "before", span)
    }

    fn either(&mut self, condition: Atom, then: Exp, otherwise: Exp, ty: &Type, span: Span) -> Typed<Atom> {
        let mut bodies = Vec::new();
        for exp in [then, otherwise] {
            self.builder.enter();
            let value = self.bind(exp, "x", span)?;
            bodies.push(self.builder.leave(Vec::new(), vec![value]));
        }
        let mut bodies = bodies.into_iter();
        let (Some(then), Some(otherwise)) = (bodies.next(), bodies.next()) else {
            return Ok(condition);
        };
        let exp = Exp::If {
            condition,
            then,
            otherwise,
            result: ResultType::one(ty.clone()),
        };
        self.bind(exp, "x", span)
    }

    /// The operator as a function of its own.
    fn combining(&mut self, scan: &Scan) -> Typed<Lambda> {
        let params = [("a", scan.element.clone()), ("b", scan.element.clone())];
        self.lambda_of(params, |this, [a, b]| {
            this.combine_with(&scan.operator, &a, &b, &Definitions::new(), scan.span)
        })
    }

    /// An array as it is, written by work-items side by side.
    fn copied(&mut self, array: &Atom, span: Span) -> Typed<Atom> {
        let Some((_, element)) = self.array_type(array) else {
            return Ok(array.clone());
        };
        let same = self.lambda_of([("x", element)], |_, [x]| Ok(x))?;
        let copy = at_level(Prim::Map, Level::Local(0), vec![same], vec![array.clone()]);
        self.bind(copy, "tile", span)
    }

    fn numbers(&mut self, count: i64, span: Span) -> Typed<Atom> {
        let numbers = at_level(Prim::Iota, Level::Seq, vec![], vec![int(count)]);
        self.bind(numbers, "numbers", span)
    }
}

fn only(value: Atom) -> Body {
    Body {
        stmts: Vec::new(),
        context: Vec::new(),
        values: vec![value],
    }
}

/// The largest odd number up to this one, and 1 where there is none.
pub(crate) fn odd(most: i64) -> i64 {
    match most {
        ..=1 => 1,
        even if even % 2 == 0 => even - 1,
        odd => odd,
    }
}

/// The bytes of a value of scalars.
pub(crate) fn bytes(ty: &Type) -> i64 {
    match ty {
        Type::Scalar(scalar) => i64::try_from(scalar.bytes()).unwrap_or(8),
        Type::Tuple(parts) => parts.iter().map(bytes).sum(),
        Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => 8,
    }
}
