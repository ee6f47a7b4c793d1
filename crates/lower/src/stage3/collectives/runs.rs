//! Chunks of a scan side by side: an operator makes each result wait for the one before, so one worker scans several chunks at once, whose
//! results do not wait for each other. How elements are grouped stays what the chunk says; how many chunks go together is the mechanism's own
//! affair. A group has several rows of chunks, short enough that memory is read nearly in its order.
//!
//! ```text
//! chain for c < groups {
//!   if the group is whole:
//!     for r < rows { for j < m { for k < 8 { total[k] = total[k] ⊕ xs[…r…k…j];  alone[…r…k…j] = total[k] } };  for k < 8 { sum[…r…k] = total[k] } }
//!     await flag[c - 1];  running = prefix[c - 1]
//!     for q < 8 * rows { before[q] = running;  running = running ⊕ sum[q] }
//!     prefix[c] = running;  release flag[c]
//!     for q < 8 * rows { out[…q…] = before[q] ⊕ alone[…q…] }
//!   else, at the end: await, and then one chunk after the other
//! }
//! ```
//!
//! Chunks of words and double words go in squares of eight elements of eight chunks, which are turned before and after:
//!
//! ```text
//! for s < m / 8 { rows[k, j] = xs[…r…k…s…j];  columns = rows turned;  … total[k] ⊕ columns[j, k] …;  alone[…r…k…s…j] = results turned }
//! ```
//!
//! By one worker there are no flags, and `running` goes from group to group.

use super::super::expressions::index_expr;
use super::super::storage::{self, Tree};
use super::super::{Generator, Step};
use super::scan::{Alone, Scan};
use super::{Elements, Share, fields};
use crate::error::Lowering;
use crate::stage2::is_flat;
use almach_base::Name;
use almach_dpia::{Data, Phrase, ScanKind};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_nat::Range;
use almach_prim::Chunk;
use almach_value::BinOp;

/// Elements of the chunks that go together: they and their results lie in a core's own cache.
const TOGETHER: i64 = 4096;

/// The most chunks side by side: as many results as are in the making until the first one is there.
const BESIDE: i64 = 8;

/// The workers of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Workers {
    One,
    Several,
}

/// How many chunks of elements of so many scalars are scanned at once, and how many rows of them go together.
fn shape(chunk: Chunk, scalars: usize) -> (i64, i64) {
    let elements = i64::from(chunk.get());
    let scalars = i64::try_from(scalars.next_power_of_two()).unwrap_or(BESIDE);
    let beside = (BESIDE / scalars).max(1).min((TOGETHER / elements).max(1));
    let rows = (TOGETHER / (elements * beside)).clamp(1, elements);
    (beside, rows)
}

/// A scan in groups of chunks.
struct Groups<'g, 'p> {
    scan: &'g Scan<'p>,
    /// Elements of a chunk.
    chunk: Index,
    /// Chunks that are scanned at once, rows of them, and how many chunks that is.
    beside: Index,
    rows: Index,
    all: Index,
    /// What the whole scan starts from.
    first: Phrase,
    told: Option<Told>,
}

/// Chunks of a group that are scanned at once, and what each has come to.
struct Beside<'b, 'g, 'p> {
    groups: &'b Groups<'g, 'p>,
    group: &'b Share,
    /// The first of them, in the group.
    first: &'b Index,
    ahead: &'b Phrase,
}

/// Where elements of chunks are, and their results go.
enum Cells<'c> {
    /// Each to its place: as far apart as chunks are long.
    Apart(&'c Alone),
    /// To a square, in which elements of one place in their chunks lie side by side.
    Square {
        columns: &'c Phrase,
        results: &'c Phrase,
    },
}

/// What groups tell each other.
struct Told {
    prefix: Phrase,
    flags: Name,
}

impl Generator<'_> {
    /// Whether chunks can be scanned side by side: of several failures the first in order would not be the first that happens.
    pub(super) fn goes_beside(&self, chunk: Chunk, scan: &Scan<'_>) -> bool {
        let may_fail = |phrase: &Phrase| self.may_fail(phrase);
        shape(chunk, scalars(&scan.of.data)).0 > 1
            && is_flat(&scan.of.data)
            && !may_fail(scan.function)
            && !may_fail(scan.array)
            && scan.mapped.as_ref().is_none_or(|(mapped, _)| !may_fail(mapped))
    }

    pub(super) fn scan_beside(
        &mut self,
        chunk: Chunk,
        scan: &Scan<'_>,
        start: &Phrase,
        workers: Workers,
    ) -> Lowering<()> {
        let of = scan.of;
        let (beside, rows) = shape(chunk, scalars(&of.data));
        let elements = i64::from(chunk.get());
        let chunking = self.chunked(&of.size, Index::constant(elements * beside * rows));
        let first = self.computed_once("start", &of.data, |this, path| this.read(start, path))?;
        let groups = |told| Groups {
            scan,
            chunk: Index::constant(elements),
            beside: Index::constant(beside),
            rows: Index::constant(rows),
            all: Index::constant(beside * rows),
            first: first.clone(),
            told,
        };
        match workers {
            Workers::One => {
                let groups = groups(None);
                let running = self.running(&groups)?;
                self.over_chunks(&chunking, LoopMode::Seq, |this, group| {
                    this.group(&groups, group, &running)
                })
            }
            Workers::Several => {
                let prefix = Data::array(chunking.count.clone(), of.data.clone());
                let groups = groups(Some(Told {
                    prefix: self.variable("prefix", &prefix),
                    flags: self.flags(&chunking)?,
                }));
                self.over_chunks(&chunking, LoopMode::Chain, |this, group| {
                    let running = this.running(&groups)?;
                    this.group(&groups, group, &running)
                })?;
                let Some(told) = groups.told else { return Ok(()) };
                self.emit(Stmt::Free(told.flags));
                self.end_variable(&told.prefix)
            }
        }
    }

    /// What comes before the next element, grouped as the chunks say.
    fn running(&mut self, groups: &Groups<'_, '_>) -> Lowering<Phrase> {
        let data = &groups.scan.of.data;
        let running = self.variable("running", data);
        self.assign(data, &running, Vec::new(), &groups.first, Vec::new())?;
        Ok(running)
    }

    fn group(&mut self, groups: &Groups<'_, '_>, group: &Share, running: &Phrase) -> Lowering<()> {
        let elements = groups.elements();
        let is_whole = Expr::binary(BinOp::Eq, index_expr(group.length.clone()), index_expr(elements));
        self.either(
            is_whole,
            |this| this.whole_group(groups, group, running),
            |this| this.last_group(groups, group, running),
        )
    }

    /// What the groups before this one have come to.
    fn await_running(&mut self, groups: &Groups<'_, '_>, group: &Share, running: &Phrase) -> Lowering<()> {
        let Some(told) = &groups.told else { return Ok(()) };
        let of = groups.scan.of;
        self.when(group.is_not_first(), |this| {
            this.await_previous(&told.flags, group);
            let before = this.written(of, &told.prefix, &group.previous())?;
            this.assign(&of.data, running, Vec::new(), &before, Vec::new())
        })
    }

    fn whole_group(&mut self, groups: &Groups<'_, '_>, group: &Share, running: &Phrase) -> Lowering<()> {
        let (scan, of) = (groups.scan, groups.scan.of);
        let row = Data::array(groups.all.clone(), of.data.clone());
        let alone = self.alone_in_group(groups, group)?;
        let totals = self.variable("total", &row);
        self.scan_alone(groups, group, &totals, &alone)?;
        self.await_running(groups, group, running)?;
        let befores = self.variable("before", &row);
        let k = self.fresh("k");
        self.counted(k.clone(), groups.all.clone(), LoopMode::Seq, |this| {
            let k = Index::var(k);
            this.put(of, &befores, &k, running)?;
            let total = this.written(of, &totals, &k)?;
            let starts = Expr::binary(BinOp::Eq, index_expr(&group.start + &k), Expr::int(0));
            this.either(
                starts,
                |this| this.assign(&of.data, running, Vec::new(), &total, Vec::new()),
                |this| this.advance(of, scan.function, running, &total),
            )
        })?;
        if let Some(told) = &groups.told {
            self.put(of, &told.prefix, &group.number, running)?;
            self.publish(&told.flags, group);
        }
        self.end_variable(&totals)?;
        let k = self.fresh("k");
        self.counted(k.clone(), groups.all.clone(), LoopMode::Seq, |this| {
            let k = Index::var(k);
            let chunk = groups.chunk_of(group, &k, groups.chunk.clone());
            let before = this.written(of, &befores, &k)?;
            this.either(
                chunk.begins(),
                |this| this.begin(scan, &chunk, &alone),
                |this| this.add_before(scan, &before, &chunk, &alone),
            )?;
            this.copy_out(scan, &chunk, &alone)
        })?;
        self.end_variable(&befores)?;
        self.end_alone(&alone)
    }

    /// Scans the chunks of a group, each alone; the first one of all from the start value.
    fn scan_alone(
        &mut self,
        groups: &Groups<'_, '_>,
        group: &Share,
        totals: &Phrase,
        alone: &Alone,
    ) -> Lowering<()> {
        let of = groups.scan.of;
        let r = self.fresh("r");
        self.counted(r.clone(), groups.rows.clone(), LoopMode::Seq, |this| {
            let first = &groups.beside * &Index::var(r);
            let row = Data::array(groups.beside.clone(), of.data.clone());
            let ahead = this.variable("ahead", &row);
            let beside = Beside {
                groups,
                group,
                first: &first,
                ahead: &ahead,
            };
            match groups.squares() {
                Some(squares) => this.scan_squares(&beside, squares, alone)?,
                None => {
                    let cells = Cells::Apart(alone);
                    this.begin_row(&beside, &cells)?;
                    let rest = (Index::one(), &groups.chunk - &Index::one());
                    this.scan_row(&beside, rest, &cells)?;
                }
            }
            let k = this.fresh("k");
            this.counted(k.clone(), groups.beside.clone(), LoopMode::Seq, |this| {
                let k = Index::var(k);
                let total = this.written(of, &ahead, &k)?;
                this.put(of, totals, &(&first + &k), &total)
            })?;
            this.end_variable(&ahead)
        })
    }

    /// The first elements of a row of chunks.
    fn begin_row(&mut self, beside: &Beside<'_, '_, '_>, cells: &Cells<'_>) -> Lowering<()> {
        let (groups, scan) = (beside.groups, beside.groups.scan);
        let of = scan.of;
        let k = self.fresh("k");
        self.counted(k.clone(), groups.beside.clone(), LoopMode::Seq, |this| {
            let k = Index::var(k);
            let chunk = groups.chunk_of(beside.group, &(beside.first + &k), groups.chunk.clone());
            let at = (&Index::zero(), &k);
            let element = this.taken(beside, cells, at)?;
            let next = this.variable("next", &of.data);
            this.either(
                chunk.begins(),
                |this| this.run(scan.function, [&groups.first, &element, &next]),
                |this| this.assign(&of.data, &next, Vec::new(), &element, Vec::new()),
            )?;
            this.put(of, beside.ahead, &k, &next)?;
            match scan.kind {
                ScanKind::Inclusive => this.given(beside, cells, at, &next),
                // The scan begins with what it starts from; what is in front of other chunks is put there once it is known.
                ScanKind::Exclusive => this.given(beside, cells, at, &groups.first),
            }
        })
    }

    /// So many elements from one on, one of each chunk after the other.
    fn scan_row(
        &mut self,
        beside: &Beside<'_, '_, '_>,
        (from, count): (Index, Index),
        cells: &Cells<'_>,
    ) -> Lowering<()> {
        let (groups, scan) = (beside.groups, beside.groups.scan);
        let of = scan.of;
        let (j, k) = (self.fresh("j"), self.fresh("k"));
        let mode = match cells {
            Cells::Square { .. } if self.is_for_lanes(scan.function) => LoopMode::Simd,
            Cells::Square { .. } | Cells::Apart(_) => LoopMode::Seq,
        };
        self.counted(j.clone(), count, LoopMode::Seq, |this| {
            this.counted(k.clone(), groups.beside.clone(), mode, |this| {
                let (j, k) = (&from + &Index::var(j), Index::var(k));
                let element = this.taken(beside, cells, (&j, &k))?;
                let total = this.written(of, beside.ahead, &k)?;
                if scan.kind == ScanKind::Exclusive {
                    this.given(beside, cells, (&j, &k), &total)?;
                }
                let next = this.variable("next", &of.data);
                this.run(scan.function, [&total, &element, &next])?;
                this.put(of, beside.ahead, &k, &next)?;
                match scan.kind {
                    ScanKind::Inclusive => this.given(beside, cells, (&j, &k), &next),
                    ScanKind::Exclusive => Ok(()),
                }
            })
        })
    }

    /// Element `j` of chunk `k` of a row.
    fn taken(
        &mut self,
        beside: &Beside<'_, '_, '_>,
        cells: &Cells<'_>,
        (j, k): (&Index, &Index),
    ) -> Lowering<Phrase> {
        let scan = beside.groups.scan;
        match cells {
            Cells::Apart(_) => self.element(scan.of, scan.array, &beside.place(j, k)),
            Cells::Square { columns, .. } => self.written(scan.of, columns, &in_square(j, k)),
        }
    }

    /// Its result.
    fn given(
        &mut self,
        beside: &Beside<'_, '_, '_>,
        cells: &Cells<'_>,
        (j, k): (&Index, &Index),
        value: &Phrase,
    ) -> Lowering<()> {
        let scan = beside.groups.scan;
        match cells {
            Cells::Apart(alone) => self.put_alone(scan, alone, &beside.place(j, k), value),
            Cells::Square { results, .. } => self.put(scan.of, results, &in_square(j, k), value),
        }
    }

    /// Scans chunks in squares, of so many elements of each: rows of a square are read and written as they lie in memory, and turned into columns in
    /// between.
    fn scan_squares(&mut self, beside: &Beside<'_, '_, '_>, squares: Index, alone: &Alone) -> Lowering<()> {
        let scan = beside.groups.scan;
        let of = scan.of;
        let square = Data::array(Index::constant(BESIDE * BESIDE), of.data.clone());
        let s = self.fresh("s");
        self.counted(s.clone(), squares, LoopMode::Seq, |this| {
            let from = Index::constant(BESIDE) * Index::var(s);
            let rows = this.variable("rows", &square);
            let mode = match this.is_for_lanes(scan.array) {
                true => LoopMode::Simd,
                false => LoopMode::Seq,
            };
            this.rows_of_square(mode, |this, j, k| {
                let element = this.element(of, scan.array, &beside.place(&(&from + j), k))?;
                this.put(of, &rows, &in_square(k, j), &element)
            })?;
            let columns = this.turned(of, &rows, &square, "columns")?;
            let results = this.variable("results", &square);
            let cells = Cells::Square {
                columns: &columns,
                results: &results,
            };
            let all = Index::constant(BESIDE);
            this.either(
                Expr::binary(BinOp::Eq, index_expr(from.clone()), Expr::int(0)),
                |this| {
                    this.begin_row(beside, &cells)?;
                    this.scan_row(beside, (Index::one(), &all - &Index::one()), &cells)
                },
                |this| this.scan_row(beside, (Index::zero(), all.clone()), &cells),
            )?;
            this.end_variable(&columns)?;
            let rows = this.turned(of, &results, &square, "lines")?;
            this.rows_of_square(LoopMode::Simd, |this, j, k| {
                let result = this.written(of, &rows, &in_square(k, j))?;
                this.put_alone(scan, alone, &beside.place(&(&from + j), k), &result)
            })?;
            this.end_variable(&rows)
        })
    }

    /// Every element `j` of every chunk `k` of a square, chunk by chunk.
    fn rows_of_square(
        &mut self,
        mode: LoopMode,
        each: impl FnOnce(&mut Self, &Index, &Index) -> Lowering<()>,
    ) -> Lowering<()> {
        let (j, k) = (self.fresh("j"), self.fresh("k"));
        let side = Index::constant(BESIDE);
        self.counted(k.clone(), side.clone(), LoopMode::Seq, |this| {
            this.counted(j.clone(), side, mode, |this| {
                each(this, &Index::var(j), &Index::var(k))
            })
        })
    }

    /// A square whose rows are the columns of another, which goes.
    fn turned(&mut self, of: &Elements, square: &Phrase, data: &Data, name: &str) -> Lowering<Phrase> {
        let turned = self.variable(name, data);
        self.rows_of_square(LoopMode::Seq, |this, j, k| {
            let value = this.written(of, square, &in_square(j, k))?;
            this.put(of, &turned, &in_square(k, j), &value)
        })?;
        self.end_variable(square)?;
        Ok(turned)
    }

    /// Where the chunks of a group are scanned: those of several workers in memory of the worker's own, from where they are copied out, unless
    /// their places take something else.
    fn alone_in_group(&mut self, groups: &Groups<'_, '_>, group: &Share) -> Lowering<Alone> {
        let alone = self.alone(groups.scan, groups.elements(), &group.start)?;
        match (&alone, &groups.told) {
            (Alone::InPlace, Some(_)) if self.lies_in_order(groups.scan, &group.start)? => {
                let room = Data::array(groups.elements(), groups.scan.of.data.clone());
                Ok(Alone::Then {
                    room: self.variable("alone", &room),
                    from: group.start.clone(),
                })
            }
            _ => Ok(alone),
        }
    }

    /// Where the scalars of a result are, buffer by buffer.
    fn places(&mut self, of: &Elements, acceptor: &Phrase, at: &Index) -> Lowering<Vec<(Name, Index)>> {
        let name = self.fresh("kept");
        let mut places = Vec::new();
        for leaf in storage::of(&of.data, &name).leaves() {
            let mut path = vec![Step::At(at.clone())];
            path.extend(fields(&leaf.path));
            let place = self.target(acceptor, path)?;
            if let Tree::Buffer(name, ..) = &place.tree {
                places.push((name.clone(), self.simplify(&place.offset())));
            }
        }
        Ok(places)
    }

    /// Whether neighbouring results are neighbours in memory.
    fn lies_in_order(&mut self, scan: &Scan<'_>, at: &Index) -> Lowering<bool> {
        let here = self.places(scan.of, scan.out, at)?;
        let behind = self.places(scan.of, scan.out, &(at + &Index::one()))?;
        let side_by_side = here.iter().zip(&behind).all(|((_, here), (_, behind))| {
            let step = behind - here;
            self.simplify(&step).as_constant() == Some(1)
        });
        Ok(side_by_side && here.len() == scalars(&scan.of.data) && behind.len() == here.len())
    }

    /// Copies a chunk to its place, where it was completed elsewhere.
    fn copy_out(&mut self, scan: &Scan<'_>, chunk: &Share, alone: &Alone) -> Lowering<()> {
        let Alone::Then { room, from } = alone else {
            return Ok(());
        };
        let to = self.places(scan.of, scan.out, &chunk.start)?;
        let from = self.places(scan.of, room, &(&chunk.start - from))?;
        for ((to, to_index), (from, from_index)) in to.into_iter().zip(from) {
            self.emit(Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count: chunk.length.clone(),
            });
        }
        Ok(())
    }

    fn put_alone(&mut self, scan: &Scan<'_>, alone: &Alone, at: &Index, value: &Phrase) -> Lowering<()> {
        let (place, at) = alone.place(scan, at);
        self.put(scan.of, place, &at, value)
    }

    /// The results of the first chunk of all are done, but for what is made of them.
    fn begin(&mut self, scan: &Scan<'_>, chunk: &Share, alone: &Alone) -> Lowering<()> {
        match alone {
            Alone::InPlace | Alone::Then { .. } => Ok(()),
            Alone::Aside { .. } => {
                let j = self.fresh("j");
                self.counted(j.clone(), chunk.length.clone(), LoopMode::Seq, |this| {
                    let at = &chunk.start + Index::var(j);
                    let (from, from_at) = alone.place(scan, &at);
                    let local = this.written(scan.of, from, &from_at)?;
                    this.put_result(scan, &at, &local)
                })
            }
        }
    }

    /// Less than a group, at the end: one chunk after the other, once it is known what comes before.
    fn last_group(&mut self, groups: &Groups<'_, '_>, group: &Share, running: &Phrase) -> Lowering<()> {
        let (scan, of) = (groups.scan, groups.scan.of);
        self.await_running(groups, group, running)?;
        let alone = self.alone(scan, groups.elements(), &group.start)?;
        let chunks = self.div(&(&group.length + &groups.chunk - Index::one()), &groups.chunk);
        let k = self.fresh("k");
        self.counted(k.clone(), chunks, LoopMode::Seq, |this| {
            let done = &groups.chunk * &Index::var(k.clone());
            let length = this.least("length", &(&group.length - &done), &groups.chunk);
            if let Some(name) = length.as_var() {
                let most = Range::between(Index::one(), groups.chunk.clone());
                this.ranges.set(name.clone(), most);
                this.ranges.assume_nonneg(&group.length - &done - &length);
            }
            let chunk = groups.chunk_of(group, &Index::var(k), length);
            this.either(
                chunk.begins(),
                |this| {
                    this.scan_on(scan, running, &chunk.start, chunk.length.clone(), |this, at| {
                        this.put_result(scan, at, running)
                    })
                },
                |this| {
                    let total = this.variable("total", &of.data);
                    this.local_scan(scan, &total, &chunk, &alone)?;
                    let before =
                        this.computed_once("before", &of.data, |this, path| this.read(running, path))?;
                    this.add_before(scan, &before, &chunk, &alone)?;
                    this.advance(of, scan.function, running, &total)
                },
            )
        })?;
        self.end_alone(&alone)
    }
}

impl Groups<'_, '_> {
    fn elements(&self) -> Index {
        let product = |a: &Index, b: &Index| Some(a.as_constant()? * b.as_constant()?);
        product(&self.chunk, &self.all).map_or_else(|| &self.chunk * &self.all, Index::constant)
    }

    /// How many squares a row of chunks is, where they can go in squares: processors turn squares of words or double words in a few steps, while
    /// cells that are far apart are read and written one by one.
    fn squares(&self) -> Option<Index> {
        let leaves = storage::of(&self.scan.of.data, &Name::from("x")).leaves();
        let [leaf] = leaves.as_slice() else { return None };
        let (chunk, beside) = (self.chunk.as_constant()?, self.beside.as_constant()?);
        let fits = beside == BESIDE && chunk % BESIDE == 0 && matches!(leaf.ty.bytes(), 4 | 8);
        fits.then(|| Index::constant(chunk / BESIDE))
    }

    /// A chunk of a group, by its number there.
    fn chunk_of(&self, group: &Share, number: &Index, length: Index) -> Share {
        Share {
            number: &group.number * &self.all + number,
            start: &group.start + &self.chunk * number,
            length,
        }
    }
}

impl Share {
    /// Whether it is the first one of all.
    fn begins(&self) -> Expr {
        Expr::binary(BinOp::Eq, index_expr(self.start.clone()), Expr::int(0))
    }
}

impl Beside<'_, '_, '_> {
    /// Element `j` of chunk `k` in the whole array.
    fn place(&self, j: &Index, k: &Index) -> Index {
        &self.group.start + &self.groups.chunk * &(self.first + k) + j
    }
}

/// The cell of a square, in row `j`.
fn in_square(j: &Index, k: &Index) -> Index {
    Index::constant(BESIDE) * j.clone() + k
}

/// How many scalars an element has.
fn scalars(data: &Data) -> usize {
    storage::of(data, &Name::from("x")).leaves().len()
}
