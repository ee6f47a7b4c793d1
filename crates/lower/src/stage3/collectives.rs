//! Combinators whose iterations communicate, at a parallel level: from the combinator straight to Imp.
//!
//! `parfor` rightly cannot say what these do, so to the checker of Dpia each of them is an axiom: it checks that what
//! they are given is passive and of the right type, and trusts the mechanism. What they mean is the reference
//! implementation in loops of stage II, which also runs where there is nothing to gain: inside another parallel loop, or
//! with elements that are arrays. The mechanisms here are checked by Imp's interpreter, whose race detector knows what
//! `release` and `await` order, and by comparison with the reference.
//!
//! | combinator | mechanism |
//! | --- | --- |
//! | `reduceChunksI` | chunks at once, their results combined in order |
//! | `scanI` | one pass in chunks, each waits for the sum of all before it and hands on its own |
//! | `scanRowsI` | the same; only the row that a chunk begins within waits |
//! | `filterI`, `partitionI` | one pass; in chunks, each waits for the number of elements that come before its own; groups of a device count first |
//! | `scatterI`, `permuteI` | the first iteration that takes a cell writes it; conflicts are looked at again, in order |
//! | `reduceByIndexI` | copies of the bins, combined in order; atomic updates where any order gives the same; ranges of bins |

mod copies;
mod doings;
mod filter;
mod filter_groups;
mod histogram;
mod operators;
mod packs;
mod ranges;
mod reduce;
mod rows;
mod runs;
mod scan;
mod scatter;

pub(crate) use doings::Procs;

use filter::Filter;
use runs::Workers;
use scan::Scan;

use super::expressions::index_expr;
use super::storage::{self, LeafStep, Storage, Tree};
use super::{Binding, Generator, Parallel, Step};
use crate::error::Lowering;
use crate::stage2;
use almach_base::Name;
use almach_dpia::{Data, Instance, Output, Phrase, Prim, Space};
use almach_imp::{AtomicStep, Expr, Index, LoopMode, Order, Stmt};
use almach_nat::Range;
use almach_prim::{Chunk, Level};
use almach_value::{BinOp, Scalar, ScalarType};
use std::rc::Rc;

impl Generator<'_> {
    /// A combinator that stage II kept.
    pub(crate) fn collective(&mut self, instance: &Instance, arguments: &[&Phrase]) -> Lowering<()> {
        let operator_fails = match (&instance.prim, arguments.first()) {
            // Of several failures the first in order is reported; a mechanism combines in another order.
            (
                Prim::ScanI(..) | Prim::ScanRowsI(..) | Prim::ReduceChunksI(..) | Prim::ReduceByIndexI(..),
                Some(function),
            ) => self.may_fail(function),
            _ => false,
        };
        let in_order = self.parallel != Parallel::Outside || operator_fails;
        // A filter is one pass at any level, and a scan in chunks has a mechanism for one worker too.
        let of_one = matches!(
            instance.prim,
            Prim::FilterI(..) | Prim::PartitionI(..) | Prim::ScanI(..)
        );
        if in_order && !of_one {
            return self.reference(instance, arguments);
        }
        let (Some(size), Some(data)) = (instance.nats.first(), instance.datas.first()) else {
            return self.bug(format!("`{}` without its size", instance.prim.name()));
        };
        let of = Elements {
            size: self.size(size),
            data: self.index_data(data)?,
        };
        let cells = instance.nats.get(1).map(|nat| self.size(nat));
        match (&instance.prim, arguments, cells) {
            (
                Prim::ScanI(level, kind, Some(chunk), output),
                [function, mapped @ .., start, array, out],
                _,
            ) => {
                let scan = Scan {
                    kind: *kind,
                    of: &of,
                    function,
                    mapped: self.mapped(*output, instance, mapped)?,
                    array,
                    out,
                };
                match !in_order && stage2::for_threads(*level, &instance.datas) {
                    true => self.chained_scan(*chunk, &scan, start),
                    false if self.goes_beside(*chunk, &scan) => {
                        self.scan_beside(*chunk, &scan, start, Workers::One)
                    }
                    false => self.reference(instance, arguments),
                }
            }
            (Prim::ScanI(..), ..) => self.reference(instance, arguments),
            (Prim::ScanRowsI(_, kind, Some(chunk)), [function, start, bounds, array, out], Some(rows)) => {
                let scan = Scan {
                    kind: *kind,
                    of: &of,
                    function,
                    mapped: None,
                    array,
                    out,
                };
                self.chained_scan_of_rows(*chunk, &scan, start, (bounds, rows))
            }
            (Prim::ReduceChunksI(_, chunk), [function, start, array, out], _) => {
                self.parallel_reduce(*chunk, &of, function, start, array, out)
            }
            (Prim::FilterI(level, chunk, output), [predicate, mapped @ .., array, out], _) => {
                let filter = Filter {
                    of: &of,
                    predicate,
                    mapped: self.mapped(*output, instance, mapped)?,
                    array,
                    out,
                };
                self.filter(*level, *chunk, &filter, &instance.datas)
            }
            (Prim::PartitionI(level, chunk), [predicate, array, out], _) => {
                let filter = Filter {
                    of: &of,
                    predicate,
                    mapped: None,
                    array,
                    out,
                };
                self.filter(*level, *chunk, &filter, &instance.datas)
            }
            (Prim::ScatterI(_, scalar, site), [indices, values, var], Some(cells)) => {
                self.claimed_scatter(&of, *scalar, site, cells, [indices, values, var])
            }
            (Prim::PermuteI(_, scalar, site), [indices, values, out], _) => {
                self.claimed_permute(&of, *scalar, site, [indices, values, out])
            }
            (Prim::ReduceByIndexI(level, scalar, parts), [function, indices, values, var], Some(cells)) => {
                let arguments = [*function, *indices, *values, *var];
                self.histogram(instance, &of, (*level, *scalar, *parts), cells, arguments)
            }
            _ => self.bug(format!("`{}` without its arguments", instance.prim.name())),
        }
    }

    /// What a combinator makes of its results before it writes them, and the type of that.
    fn mapped<'p>(
        &mut self,
        output: Output,
        instance: &Instance,
        mapped: &[&'p Phrase],
    ) -> Lowering<Option<(&'p Phrase, Data)>> {
        match (output, mapped, instance.datas.get(1)) {
            (Output::Element, [], _) => Ok(None),
            (Output::Mapped, [function], Some(data)) => Ok(Some((*function, self.index_data(data)?))),
            _ => self.bug(format!("`{}` without its arguments", instance.prim.name())),
        }
    }

    /// All workers take part where they are free, and where there is a chunk for each and elements are scalars.
    fn filter(
        &mut self,
        level: Level,
        chunk: Option<Chunk>,
        filter: &Filter<'_>,
        datas: &[Data],
    ) -> Lowering<()> {
        match chunk {
            Some(chunk) if self.parallel == Parallel::Outside && stage2::for_threads(level, datas) => {
                match level {
                    Level::Group(_) if self.is_for_groups(chunk, filter) => {
                        self.grouped_filter(chunk, filter)
                    }
                    _ => self.chained_filter(chunk, filter),
                }
            }
            _ => self.filter_in_order(filter),
        }
    }

    /// The loops that define a combinator.
    fn reference(&mut self, instance: &Instance, arguments: &[&Phrase]) -> Lowering<()> {
        let phrase = Phrase::Prim(Box::new(instance.clone()))
            .apply(arguments.iter().map(|argument| (*argument).clone()));
        self.next += 1;
        let loops = stage2::reference(&phrase, format!("t{}", self.next));
        // They use the function in several places, each with names of its own.
        let loops = self.copy_of(&loops);
        self.command(&loops)
    }

    /// A buffer for the time of a combinator.
    fn scratch(&mut self, stem: &str, ty: ScalarType, size: Index) -> Name {
        let name = self.fresh(stem);
        let span = self.span;
        self.emit(Stmt::Buffer {
            name: name.clone(),
            ty,
            space: almach_imp::Space::Host,
        });
        self.emit(Stmt::Alloc {
            buffer: name.clone(),
            size,
            span,
        });
        name
    }

    /// `for i < size { buffer[i] = value }`.
    fn fill_cells(&mut self, buffer: &Name, size: Index, mode: LoopMode, value: Scalar) -> Lowering<()> {
        let i = self.fresh("i");
        self.counted(i.clone(), size, mode, |this| {
            this.emit(Stmt::Store {
                buffer: buffer.clone(),
                index: Index::var(i),
                value: Expr::Const(value),
            });
            Ok(())
        })
    }

    /// Memory for a value, declared here.
    fn variable(&mut self, stem: &str, data: &Data) -> Phrase {
        let name = self.fresh(stem);
        let storage = Rc::new(storage::of(data, &name));
        self.declare(&storage, Space::Any);
        self.bindings.insert(name.clone(), Binding::Storage(storage));
        Phrase::Var(name)
    }

    /// The buffers of a variable are freed.
    fn end_variable(&mut self, variable: &Phrase) -> Lowering<()> {
        for leaf in self.cell(variable)?.leaves().into_iter().rev() {
            if leaf.cells.is_some() {
                self.emit(Stmt::Free(leaf.name));
            }
        }
        Ok(())
    }

    /// The scalars of a value under names of their own, each computed once.
    fn computed_once(
        &mut self,
        stem: &str,
        data: &Data,
        mut scalar: impl FnMut(&mut Self, Vec<Step>) -> Lowering<Expr>,
    ) -> Lowering<Phrase> {
        let name = self.fresh(stem);
        let storage = storage::of(data, &name);
        for leaf in storage.leaves() {
            let value = scalar(self, fields(&leaf.path))?;
            self.emit(Stmt::Let {
                name: leaf.name,
                ty: leaf.ty,
                value,
            });
        }
        self.bindings
            .insert(name.clone(), Binding::Storage(Rc::new(storage)));
        Ok(Phrase::Var(name))
    }

    /// An element of an array, each scalar of it computed once.
    fn element(&mut self, of: &Elements, array: &Phrase, at: &Index) -> Lowering<Phrase> {
        self.computed_once("x", &of.data, |this, fields| {
            let mut path = vec![Step::At(at.clone())];
            path.extend(fields);
            this.read(array, path)
        })
    }

    /// What was written to a place of an acceptor.
    fn written(&mut self, of: &Elements, acceptor: &Phrase, at: &Index) -> Lowering<Phrase> {
        self.computed_once("y", &of.data, |this, fields| {
            let mut path = vec![Step::At(at.clone())];
            path.extend(fields);
            let place = this.target(acceptor, path)?;
            match &place.tree {
                Tree::Scalar(name, _) => Ok(Expr::Var(name.clone())),
                Tree::Buffer(name, ..) => Ok(Expr::Load(name.clone(), this.simplify(&place.offset()))),
                _ => this.bug("a scalar is read from what is none"),
            }
        })
    }

    /// What of an element that is written to an acceptor can be read back from there.
    fn kept_by(&mut self, of: &Elements, acceptor: &Phrase, at: &Index) -> Lowering<Kept> {
        let name = self.fresh("kept");
        for leaf in storage::of(&of.data, &name).leaves() {
            let mut path = vec![Step::At(at.clone())];
            path.extend(fields(&leaf.path));
            let place = self.target(acceptor, path)?;
            let readable = matches!(place.tree, Tree::Scalar(..) | Tree::Buffer(..));
            if !readable || !place.kept_where.is_empty() {
                return Ok(Kept::Part);
            }
        }
        Ok(Kept::All)
    }

    /// Writes a value to a place of an acceptor.
    fn put(&mut self, of: &Elements, acceptor: &Phrase, at: &Index, value: &Phrase) -> Lowering<()> {
        self.assign(&of.data, acceptor, vec![Step::At(at.clone())], value, Vec::new())
    }

    /// An acceptor's place under a name.
    fn place_of(&mut self, acceptor: &Phrase, at: &Index) -> Phrase {
        let name = self.fresh("o");
        let alias = Binding::Alias(Rc::new(acceptor.clone()), vec![Step::At(at.clone())]);
        self.bindings.insert(name.clone(), alias);
        Phrase::Var(name)
    }

    /// Runs a function at arguments that are names.
    fn run<const N: usize>(&mut self, function: &Phrase, arguments: [&Phrase; N]) -> Lowering<()> {
        let function = self.copy_of(function);
        let command = stage2::apply(function, arguments.map(|argument| argument.clone()));
        self.command(&command)
    }

    /// `total = total ⊕ element`.
    fn advance(
        &mut self,
        of: &Elements,
        function: &Phrase,
        total: &Phrase,
        element: &Phrase,
    ) -> Lowering<()> {
        let next = self.variable("next", &of.data);
        self.run(function, [total, element, &next])?;
        let advance = Phrase::prim(Prim::Move, vec![], vec![of.data.clone()]);
        self.command(&advance.app(Phrase::pair(total.clone(), next)))
    }

    /// `{ then }` where the condition holds.
    fn when(&mut self, condition: Expr, then: impl FnOnce(&mut Self) -> Lowering<()>) -> Lowering<()> {
        self.either(condition, then, |_| Ok(()))
    }

    fn either(
        &mut self,
        condition: Expr,
        then: impl FnOnce(&mut Self) -> Lowering<()>,
        otherwise: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        match condition {
            Expr::Const(Scalar::Bool(true)) => return then(self),
            Expr::Const(Scalar::Bool(false)) => return otherwise(self),
            _ => {}
        }
        let ((), then) = self.capture(then)?;
        let ((), otherwise) = self.capture(otherwise)?;
        self.emit(Stmt::If {
            condition,
            then,
            otherwise,
        });
        Ok(())
    }

    /// A loop over chunks, whose iterations `mode` says how to run.
    fn over_chunks(
        &mut self,
        chunking: &Chunking,
        mode: LoopMode,
        body: impl FnOnce(&mut Self, &Share) -> Lowering<()>,
    ) -> Lowering<()> {
        let c = self.fresh("c");
        let outer = std::mem::replace(&mut self.parallel, Parallel::Inside);
        let result = self.counted(c.clone(), chunking.count.clone(), mode, |this| {
            let number = Index::var(c);
            let start = &chunking.elements * &number;
            let left = this.simplify(&(&chunking.size - &start));
            let value = Expr::binary(
                BinOp::Min,
                index_expr(left.clone()),
                index_expr(chunking.elements.clone()),
            );
            let length = this.fresh("length");
            this.emit(Stmt::Let {
                name: length.clone(),
                ty: ScalarType::I64,
                value,
            });
            let most = Range::between(Index::one(), chunking.elements.clone());
            this.ranges.set(length.clone(), most);
            let length = Index::var(length);
            this.ranges.assume_nonneg(left - &length);
            body(
                this,
                &Share {
                    number,
                    start,
                    length,
                },
            )
        });
        self.parallel = outer;
        result
    }

    /// Chunks of `elements`, the last one shorter.
    fn chunked(&mut self, size: &Index, elements: Index) -> Chunking {
        let count = self.div(&(size + &elements - Index::one()), &elements);
        let count = self.named("chunks", count);
        Chunking {
            size: size.clone(),
            elements,
            count,
        }
    }

    /// An index under a name, unless it is one or a number.
    fn named(&mut self, stem: &str, index: Index) -> Index {
        if index.as_var().is_some() || index.as_constant().is_some() {
            return index;
        }
        let name = self.fresh(stem);
        self.ranges.set(name.clone(), Range::natural());
        self.emit(Stmt::Let {
            name: name.clone(),
            ty: ScalarType::I64,
            value: Expr::Index(index),
        });
        Index::var(name)
    }

    /// What an iteration of a chain tells the ones behind it: the flags, cleared.
    fn flags(&mut self, chunking: &Chunking) -> Lowering<Name> {
        let flags = self.scratch("flag", ScalarType::I32, chunking.count.clone());
        self.fill_cells(&flags, chunking.count.clone(), LoopMode::Seq, Scalar::I32(0))?;
        Ok(flags)
    }

    /// Waits for the iteration before this one.
    fn await_previous(&mut self, flags: &Name, chunk: &Share) {
        self.emit(Stmt::Await {
            buffer: flags.clone(),
            index: chunk.previous(),
            value: Expr::Const(Scalar::I32(1)),
        });
    }

    /// Lets the next iteration see what this one has written.
    fn publish(&mut self, flags: &Name, chunk: &Share) {
        self.emit(Stmt::Atomic {
            step: AtomicStep::Store(Expr::Const(Scalar::I32(1))),
            order: Order::Release,
            buffer: flags.clone(),
            index: chunk.number.clone(),
        });
    }
}

/// What an acceptor keeps of what is written to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    All,
    /// A component, or the elements at some indices.
    Part,
}

/// The elements of a combinator.
struct Elements {
    size: Index,
    data: Data,
}

struct Chunking {
    size: Index,
    /// Elements of a chunk.
    elements: Index,
    count: Index,
}

/// The elements of an iteration.
struct Share {
    number: Index,
    /// The first element, and how many there are: at least one.
    start: Index,
    length: Index,
}

impl Share {
    fn previous(&self) -> Index {
        &self.number - &Index::one()
    }

    /// Whether nothing comes before it.
    fn is_first(&self) -> Expr {
        Expr::binary(BinOp::Eq, index_expr(self.number.clone()), Expr::int(0))
    }

    fn is_not_first(&self) -> Expr {
        Expr::binary(BinOp::Gt, index_expr(self.number.clone()), Expr::int(0))
    }
}

/// The fields on the way to a scalar of a flat value.
fn fields(path: &[LeafStep]) -> Vec<Step> {
    path.iter()
        .filter_map(|step| match step {
            LeafStep::Field(at) => Some(Step::Field(*at)),
            LeafStep::Lane(_) | LeafStep::Each(_) | LeafStep::EachLane(_) => None,
        })
        .collect()
}

/// The storage of a cell's contents, leaf by leaf.
fn buffers(storage: &Storage) -> Vec<(Name, ScalarType)> {
    storage
        .leaves()
        .into_iter()
        .map(|leaf| (leaf.name, leaf.ty))
        .collect()
}
