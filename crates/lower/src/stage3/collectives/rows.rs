//! The single-pass scan of rows: balanced however long the rows are, since what is shared are chunks of all elements.
//!
//! ```text
//! chain for c < chunks {
//!   r = the row of the first element (a search in the bounds)
//!   if the row begins in front of the chunk:  out[…] = the scan of what the chunk has of it alone; head = its sum
//!   each row that begins in the chunk:  out[…] = its scan from the start value; total = its sum
//!   if another row begins:  prefix[c] = total;  release flag[c]
//!   if the row begins in front of the chunk:
//!     await flag[c - 1];  before = prefix[c - 1]
//!     if no other row begins:  prefix[c] = before ⊕ head;  release flag[c]
//!     out[…] = before ⊕ out[…], of that row
//! }
//! ```
//!
//! A chunk waits only for what its first row has in front of it, and one in which a row begins lets the next one go on at once.

use super::super::expressions::index_expr;
use super::super::{Generator, Step};
use super::scan::Scan;
use super::{Elements, Share};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Phrase};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_nat::Range;
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType};

/// The rows of a scan, and what its chunks tell each other.
struct Rows<'p> {
    /// Where each row begins and ends.
    bounds: &'p Phrase,
    count: Index,
    /// How many elements a chunk has at most.
    elements: Index,
    start: Phrase,
    /// The sum of what the last row of a chunk has up to its end.
    prefix: Phrase,
    flags: Name,
}

impl Generator<'_> {
    pub(super) fn chained_scan_of_rows(
        &mut self,
        chunk: Chunk,
        scan: &Scan<'_>,
        start: &Phrase,
        (bounds, count): (&Phrase, Index),
    ) -> Lowering<()> {
        let of = scan.of;
        let chunking = self.chunked(&of.size, Index::constant(chunk.get().into()));
        let start = self.computed_once("start", &of.data, |this, path| this.read(start, path))?;
        let prefix = Data::array(chunking.count.clone(), of.data.clone());
        let rows = Rows {
            bounds,
            count,
            elements: chunking.elements.clone(),
            start,
            prefix: self.variable("prefix", &prefix),
            flags: self.flags(&chunking)?,
        };
        self.over_chunks(&chunking, LoopMode::Chain, |this, chunk| {
            this.scan_rows_of(scan, &rows, chunk)
        })?;
        self.emit(Stmt::Free(rows.flags));
        self.end_variable(&rows.prefix)
    }

    fn scan_rows_of(&mut self, scan: &Scan<'_>, rows: &Rows<'_>, chunk: &Share) -> Lowering<()> {
        let of = scan.of;
        let stop = &chunk.start + &chunk.length;
        let first = self.row_of(rows, &Index::zero(), &chunk.start)?;
        let last = self.row_of(rows, &first, &(&stop - &Index::one()))?;
        let (begin, end) = self.bounds_of(rows, &first)?;
        // What the chunk has of its first row.
        let end = self.least("end", &end, &stop);
        let head = Share {
            number: chunk.number.clone(),
            start: chunk.start.clone(),
            length: self.natural("length", index_expr(&end - &chunk.start)),
        };
        let goes_on = Expr::binary(BinOp::Lt, index_expr(begin), index_expr(chunk.start.clone()));
        let goes_on = self.let_condition("goes_on", goes_on);
        let alone = self.alone(scan, rows.elements.clone(), &chunk.start)?;
        let total = self.variable("total", &of.data);
        self.either(
            goes_on.clone(),
            |this| this.local_scan(scan, &total, &head, &alone),
            |this| this.whole_scan(scan, rows, (&head.start, &head.length), &total),
        )?;
        let of_head = self.written_variable(of, &total)?;
        self.rows_inside(scan, rows, (&first, &last), &stop, &total)?;
        let is_all = Expr::binary(BinOp::Eq, index_expr(end), index_expr(stop));
        let waits = Expr::binary(BinOp::And, goes_on.clone(), is_all);
        let waits = self.let_condition("waits", waits);
        self.either(
            waits.clone(),
            |_| Ok(()),
            |this| {
                this.put(of, &rows.prefix, &chunk.number, &total)?;
                this.publish(&rows.flags, chunk);
                Ok(())
            },
        )?;
        self.when(goes_on, |this| {
            this.await_previous(&rows.flags, chunk);
            let before = this.written(of, &rows.prefix, &chunk.previous())?;
            this.when(waits, |this| {
                let own = this.place_of(&rows.prefix, &chunk.number);
                this.run(scan.function, [&before, &of_head, &own])?;
                this.publish(&rows.flags, chunk);
                Ok(())
            })?;
            this.add_before(scan, &before, &head, &alone)
        })?;
        self.end_alone(&alone)
    }

    /// The value of a variable now, under a name of its own.
    fn written_variable(&mut self, of: &Elements, variable: &Phrase) -> Lowering<Phrase> {
        self.computed_once("head", &of.data, |this, path| this.read(variable, path))
    }

    /// The scan of so many elements from one on, which nothing comes before.
    fn whole_scan(
        &mut self,
        scan: &Scan<'_>,
        rows: &Rows<'_>,
        (start, length): (&Index, &Index),
        total: &Phrase,
    ) -> Lowering<()> {
        self.assign(&scan.of.data, total, Vec::new(), &rows.start, Vec::new())?;
        self.scan_on(scan, total, start, length.clone(), |this, at| {
            this.put_result(scan, at, total)
        })
    }

    /// Scans what a chunk that ends at `stop` has of the rows behind its first one, up to its last one.
    fn rows_inside(
        &mut self,
        scan: &Scan<'_>,
        rows: &Rows<'_>,
        (first, last): (&Index, &Index),
        stop: &Index,
        total: &Phrase,
    ) -> Lowering<()> {
        let more = self.natural("more", index_expr(last - first));
        let q = self.fresh("q");
        self.counted(q.clone(), more, LoopMode::Seq, |this| {
            let row = first + &Index::one() + Index::var(q);
            let (begin, end) = this.bounds_of(rows, &row)?;
            let end = this.least("end", &end, stop);
            let length = this.natural("length", index_expr(end - &begin));
            this.whole_scan(scan, rows, (&begin, &length), total)
        })
    }

    /// The row that an element is in, at or behind a row that is not behind it: the first one that ends behind the element.
    fn row_of(&mut self, rows: &Rows<'_>, from: &Index, element: &Index) -> Lowering<Index> {
        let low = self.counter_from("low", index_expr(from.clone()));
        let high = self.counter_from("high", index_expr(&rows.count - &Index::one()));
        let (below, above) = (Expr::Var(low.clone()), Expr::Var(high.clone()));
        let condition = Expr::binary(BinOp::Lt, below.clone(), above.clone());
        let ((), body) = self.capture(|this| {
            let half = Expr::binary(BinOp::Div, Expr::binary(BinOp::Add, below, above), Expr::int(2));
            let middle = this.natural("middle", half);
            let (_, end) = this.bounds_of(rows, &middle)?;
            let is_behind = Expr::binary(BinOp::Gt, index_expr(end), index_expr(element.clone()));
            let next = &middle + &Index::one();
            let assign = |name: &Name, value: Index| Stmt::Assign {
                name: name.clone(),
                value: index_expr(value),
            };
            this.emit(Stmt::If {
                condition: is_behind,
                then: vec![assign(&high, middle)],
                otherwise: vec![assign(&low, next)],
            });
            Ok(())
        })?;
        self.emit(Stmt::While { condition, body });
        Ok(self.natural("row", Expr::Var(low)))
    }

    /// Where a row begins and ends.
    fn bounds_of(&mut self, rows: &Rows<'_>, row: &Index) -> Lowering<(Index, Index)> {
        let begin = self.read(rows.bounds, vec![Step::At(row.clone()), Step::Field(0)])?;
        let end = self.read(rows.bounds, vec![Step::At(row.clone()), Step::Field(1)])?;
        Ok((self.natural("begin", begin), self.natural("end", end)))
    }

    pub(super) fn least(&mut self, stem: &str, left: &Index, right: &Index) -> Index {
        let least = Expr::binary(BinOp::Min, index_expr(left.clone()), index_expr(right.clone()));
        self.natural(stem, least)
    }

    /// A number that is not negative, under a name.
    pub(crate) fn natural(&mut self, stem: &str, value: Expr) -> Index {
        let name = self.fresh(stem);
        self.ranges.set(name.clone(), Range::natural());
        self.emit(Stmt::Let {
            name: name.clone(),
            ty: ScalarType::I64,
            value,
        });
        Index::var(name)
    }

    fn let_condition(&mut self, stem: &str, value: Expr) -> Expr {
        let name = self.fresh(stem);
        self.emit(Stmt::Let {
            name: name.clone(),
            ty: ScalarType::Bool,
            value,
        });
        Expr::Var(name)
    }

    /// A number that changes.
    fn counter_from(&mut self, stem: &str, value: Expr) -> Name {
        let name = self.fresh(stem);
        self.assigned.insert(name.clone());
        self.emit(Stmt::Var {
            name: name.clone(),
            ty: ScalarType::I64,
            value: Some(value),
        });
        name
    }
}
