//! The combinators with communication between iterations: their meaning is these loops.

use super::code::Layout;
use super::commands::{assign, comm, element, slot, step, with_cell};
use super::expressions::{Applied, below, reader, take};
use super::store::{Scalars, Step, Store};
use super::{Acc, Exp, Meaning, Run, RunError, broken};
use crate::prim::{Output, Prim, ScanKind, Site};
use almach_prim::Chunk;
use almach_value::Scalar;
use std::collections::HashMap;
use std::rc::Rc;

pub(super) fn collective<'p>(applied: Rc<Applied<'p>>, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    match applied.prim {
        Prim::ScanI(_, kind, chunk, output) => scan(applied.clone(), (*kind, *chunk, *output), arguments),
        Prim::ScanRowsI(_, kind, chunk) => scan_rows(applied.clone(), (*kind, *chunk), arguments),
        Prim::ReduceChunksI(_, chunk) => reduce_chunks(applied.clone(), *chunk, arguments),
        Prim::FilterI(..) | Prim::PartitionI(..) => filter(applied.clone(), arguments),
        Prim::ScatterI(_, _, site) => scatter(applied.clone(), (**site).clone(), arguments),
        Prim::PermuteI(_, _, site) => permute(applied.clone(), (**site).clone(), arguments),
        Prim::ReduceByIndexI(_, _, chunk) => reduce_by_index(applied.clone(), *chunk, arguments),
        Prim::Construct(row) => super::rows::construct((**row).clone(), arguments),
        Prim::NewTable(level, store, _) => {
            super::rows::new_table(*level, store.clone(), applied.size(0)?, arguments)
        }
        Prim::NewCells(level, store, _) => {
            super::rows::new_cells(*level, store.clone(), applied.size(0)?, arguments)
        }
        Prim::NewGroup(level, store, _) => {
            super::rows::new_group(*level, store.clone(), applied.size(0)?, arguments)
        }
        Prim::NewRows(level, store, _) => {
            super::rows::new_rows(*level, store.clone(), applied.size(0)?, arguments)
        }
        Prim::TableOf(store) => super::rows::table_of(store.clone(), arguments),
        Prim::OrderOf(store) => super::rows::order_of(store.clone(), arguments),
        Prim::OrderIn(_) => super::rows::order_in(applied.size(0)?, arguments),
        Prim::ReachOf(store) => super::rows::reach_of(store.clone(), arguments),
        Prim::GroupOf(store) => super::rows::group_of(store.clone(), arguments),
        other => Err(broken(format!("`{}` is no command", other.name()))),
    }
}

fn scan<'p>(
    applied: Rc<Applied<'p>>,
    (kind, chunk, output): (ScanKind, Option<Chunk>, Output),
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    let (mapped, [function, start, array, out]) = with_output(output, arguments)?;
    let (start, array, out) = (start.exp()?, array.exp()?, out.acc()?);
    let size = applied.size(0)?;
    comm(move |store| {
        let operation = Operation {
            applied: &applied,
            data: applied.data(0)?,
            function: &function,
        };
        let scan = Scan {
            operation,
            kind,
            chunk,
            mapped: &mapped,
            start: &start,
            array: &array,
            out: &out,
        };
        scan.run(0, size, store)
    })
}

/// Rows are scanned one after the other; chunks are those of all elements.
fn scan_rows<'p>(
    applied: Rc<Applied<'p>>,
    (kind, chunk): (ScanKind, Option<Chunk>),
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    let [function, start, bounds, array, out] = take(arguments)?;
    let (start, bounds, array, out) = (start.exp()?, bounds.exp()?, array.exp()?, out.acc()?);
    let rows = applied.size(1)?;
    comm(move |store| {
        let operation = Operation {
            applied: &applied,
            data: applied.data(0)?,
            function: &function,
        };
        let scan = Scan {
            operation,
            kind,
            chunk,
            mapped: &None,
            start: &start,
            array: &array,
            out: &out,
        };
        for row in 0..rows {
            let bound = |store: &Store, part: usize| match bounds(store, &[Step::At(row), Step::Field(part)])?
            {
                Scalar::I64(bound) => Ok(bound),
                _ => Err(broken("a bound that is no number")),
            };
            let (begin, end) = (bound(store, 0)?, bound(store, 1)?);
            scan.run(begin, end, store)?;
        }
        Ok(())
    })
}

/// A scan of some elements, where the first of them has nothing before it.
struct Scan<'a, 'p> {
    operation: Operation<'a, 'p>,
    kind: ScanKind,
    chunk: Option<Chunk>,
    mapped: &'a Option<Meaning<'p>>,
    start: &'a Exp<'p>,
    array: &'a Exp<'p>,
    out: &'a Acc<'p>,
}

impl<'p> Scan<'_, 'p> {
    fn run(&self, begin: i64, end: i64, store: &mut Store) -> Run<()> {
        let Operation { applied, data, .. } = self.operation;
        // Without a chunk there is one for all.
        let chunk = self.chunk.map_or(i64::MAX, |chunk| chunk.get().into());
        let first = begin / chunk;
        with_cell(store, |store, before_writer, before| {
            with_cell(store, |store, local_writer, local| {
                let (before_writer, local_writer) = (before_writer.acc()?, local_writer.acc()?);
                assign(applied, data, &before_writer, self.start, store)?;
                for at in begin..end {
                    let place = slot(self.out, at).acc()?;
                    let x = element(self.array, at);
                    let (in_first, begins) = (at / chunk == first, at % chunk == 0);
                    if begins && at / chunk > first + 1 {
                        self.operation.combine(&before, &local, &before_writer, store)?;
                    }
                    if self.kind == ScanKind::Exclusive {
                        let whole = in_first || begins;
                        let local = (!whole).then_some(&local);
                        self.operation
                            .put(&before, local, (at, self.mapped, &place), store)?;
                    }
                    match (in_first, begins) {
                        (true, _) => self.operation.combine(&before, &x, &before_writer, store)?,
                        (false, true) => assign(applied, data, &local_writer, &x.exp()?, store)?,
                        (false, false) => self.operation.combine(&local, &x, &local_writer, store)?,
                    }
                    if self.kind == ScanKind::Inclusive {
                        let local = (!in_first).then_some(&local);
                        self.operation
                            .put(&before, local, (at, self.mapped, &place), store)?;
                    }
                }
                Ok(())
            })
        })
    }
}

fn reduce_chunks<'p>(
    applied: Rc<Applied<'p>>,
    chunk: Chunk,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    let [function, start, array, out] = take(arguments)?;
    let (start, array, out) = (start.exp()?, array.exp()?, out.acc()?);
    let (size, chunk) = (applied.size(0)?, i64::from(chunk.get()));
    comm(move |store| {
        let data = applied.data(0)?;
        with_cell(store, |store, total_writer, total| {
            with_cell(store, |store, local_writer, local| {
                let operation = Operation {
                    applied: &applied,
                    data,
                    function: &function,
                };
                let (total_writer, local_writer) = (total_writer.acc()?, local_writer.acc()?);
                assign(&applied, data, &total_writer, &start, store)?;
                for at in 0..size {
                    let x = element(&array, at);
                    if at % chunk != 0 {
                        operation.combine(&local, &x, &local_writer, store)?;
                        continue;
                    }
                    if at > 0 {
                        operation.combine(&total, &local, &total_writer, store)?;
                    }
                    assign(&applied, data, &local_writer, &x.exp()?, store)?;
                }
                if size > 0 {
                    operation.combine(&total, &local, &total_writer, store)?;
                }
                assign(&applied, data, &out, &total.clone().exp()?, store)
            })
        })
    })
}

/// The operator of a combinator.
struct Operation<'a, 'p> {
    applied: &'a Applied<'p>,
    data: &'p Layout<'p>,
    function: &'a Meaning<'p>,
}

impl<'p> Operation<'_, 'p> {
    /// `place := left ⊕ right`.
    fn combine(
        &self,
        left: &Meaning<'p>,
        right: &Meaning<'p>,
        place: &Acc<'p>,
        store: &mut Store,
    ) -> Run<()> {
        step(self.applied, self.data, place, store, |next| {
            self.function
                .clone()
                .apply(left.clone())?
                .apply(right.clone())?
                .apply(next)
        })
    }

    /// Writes `before`, or `before ⊕ local`, or what a function makes of that.
    fn put(
        &self,
        before: &Meaning<'p>,
        local: Option<&Meaning<'p>>,
        (at, mapped, place): (i64, &Option<Meaning<'p>>, &Acc<'p>),
        store: &mut Store,
    ) -> Run<()> {
        with_cell(store, |store, writer, value| {
            let value_writer = writer.acc()?;
            match local {
                None => assign(
                    self.applied,
                    self.data,
                    &value_writer,
                    &before.clone().exp()?,
                    store,
                )?,
                Some(local) => self.combine(before, local, &value_writer, store)?,
            }
            let Some(mapped) = mapped else {
                return assign(self.applied, self.data, place, &value.exp()?, store);
            };
            step(self.applied, self.applied.data(1)?, place, store, |next| {
                let index = reader(move |_, _| Ok(Scalar::I64(at)));
                mapped.clone().apply(index)?.apply(value)?.apply(next)
            })
        })
    }
}

/// The function for what is written, where there is one, and the other arguments.
fn with_output<'p, const N: usize>(
    output: Output,
    mut arguments: Vec<Meaning<'p>>,
) -> Run<(Option<Meaning<'p>>, [Meaning<'p>; N])> {
    let mapped = match output {
        Output::Mapped if arguments.len() > 1 => Some(arguments.remove(1)),
        Output::Mapped | Output::Element => None,
    };
    Ok((mapped, take(arguments)?))
}

fn filter<'p>(applied: Rc<Applied<'p>>, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let output = match applied.prim {
        Prim::FilterI(_, _, output) => *output,
        _ => Output::Element,
    };
    let (mapped, [function, array, out]) = with_output(output, arguments)?;
    let (array, out) = (array.exp()?, out.acc()?);
    let size = applied.size(0)?;
    comm(move |store| {
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for at in 0..size {
            let answer = with_cell(store, |store, writer, reader| {
                function
                    .clone()
                    .apply(element(&array, at))?
                    .apply(writer)?
                    .run(store)?;
                reader.exp()?(store, &[])
            })?;
            match answer {
                Scalar::Bool(true) => kept.push(at),
                _ => others.push(at),
            }
        }
        let parts: Vec<(Vec<Step>, &Vec<i64>)> = match applied.prim {
            Prim::FilterI(..) => vec![(vec![Step::Contents], &kept)],
            _ => vec![
                (vec![Step::Contents, Step::Field(0)], &kept),
                (vec![Step::Contents, Step::Field(1)], &others),
            ],
        };
        for (at, (_, positions)) in parts.iter().enumerate() {
            out(store, &[Step::Size(at)], Scalar::I64(positions.len() as i64))?;
        }
        for (prefix, positions) in parts {
            for (to, from) in positions.iter().enumerate() {
                let prefix = below(&prefix, &[Step::At(to as i64)]);
                let kept = element(&array, *from);
                let found = match &mapped {
                    None => applied.env.scalars(applied.data(0)?, &kept.exp()?, store)?,
                    Some(mapped) => with_cell(store, |store, writer, reader| {
                        mapped.clone().apply(kept)?.apply(writer)?.run(store)?;
                        applied.env.scalars(applied.data(1)?, &reader.exp()?, store)
                    })?,
                };
                for (path, scalar) in found.iter() {
                    out(store, &below(&prefix, path), scalar)?;
                }
            }
        }
        Ok(())
    })
}

fn index_at<'p>(indices: &Exp<'p>, at: i64, store: &Store) -> Run<i128> {
    let scalar = indices(store, &[Step::At(at)])?;
    scalar
        .as_integer()
        .ok_or_else(|| broken("an index that is no integer"))
}

fn in_range(index: i128, size: i64) -> Option<i64> {
    i64::try_from(index)
        .ok()
        .filter(|index| (0..size).contains(index))
}

fn scatter<'p>(applied: Rc<Applied<'p>>, site: Site, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [indices, values, var] = take(arguments)?;
    let (indices, values) = (indices.exp()?, values.exp()?);
    let acceptor = var.pair()?.0.acc()?;
    let (count, size) = (applied.size(0)?, applied.size(1)?);
    comm(move |store| {
        let mut written: HashMap<i64, Scalars> = HashMap::new();
        for at in 0..count {
            let index = index_at(&indices, at, store)?;
            let Some(to) = in_range(index, size) else {
                continue;
            };
            let data = applied.data(0)?;
            let scalars = applied.env.scalars(data, &element(&values, at).exp()?, store)?;
            if written.get(&to).is_some_and(|before| !before.same(&scalars)) {
                return Err(RunError::Failed {
                    site: site.clone(),
                    arguments: vec![Scalar::I64(to)],
                });
            }
            let place = slot(&acceptor, to).acc()?;
            for (path, scalar) in scalars.iter() {
                place(store, path, scalar)?;
            }
            written.insert(to, scalars);
        }
        Ok(())
    })
}

fn permute<'p>(applied: Rc<Applied<'p>>, site: Site, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [indices, values, out] = take(arguments)?;
    let (indices, values, out) = (indices.exp()?, values.exp()?, out.acc()?);
    let size = applied.size(0)?;
    comm(move |store| {
        let mut seen = std::collections::HashSet::new();
        for at in 0..size {
            let index = index_at(&indices, at, store)?;
            match in_range(index, size) {
                Some(to) if seen.insert(to) => {
                    let place = slot(&out, to).acc()?;
                    assign(
                        &applied,
                        applied.data(0)?,
                        &place,
                        &element(&values, at).exp()?,
                        store,
                    )?;
                }
                _ => {
                    let index = i64::try_from(index).unwrap_or(i64::MAX);
                    return Err(RunError::Failed {
                        site: site.clone(),
                        arguments: vec![Scalar::I64(index)],
                    });
                }
            }
        }
        Ok(())
    })
}

fn reduce_by_index<'p>(
    applied: Rc<Applied<'p>>,
    chunk: Option<Chunk>,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    let [function, indices, values, var] = take(arguments)?;
    let (indices, values) = (indices.exp()?, values.exp()?);
    let (acceptor, current) = var.pair()?;
    let (acceptor, current) = (acceptor.acc()?, current.exp()?);
    let (count, size) = (applied.size(0)?, applied.size(1)?);
    let parts = chunk
        .map(|chunk| i64::from(chunk.get()))
        .filter(|parts| parts.saturating_mul(size) < count);
    comm(move |store| {
        let operation = Operation {
            applied: &applied,
            data: applied.data(0)?,
            function: &function,
        };
        let Some(parts) = parts else {
            for at in 0..count {
                if let Some(to) = in_range(index_at(&indices, at, store)?, size) {
                    let place = slot(&acceptor, to).acc()?;
                    operation.combine(&element(&current, to), &element(&values, at), &place, store)?;
                }
            }
            return Ok(());
        };
        let length = (count + parts - 1) / parts;
        for part in 0..parts {
            with_cell(store, |store, own_writer, own| {
                let (own_writer, own) = (own_writer.acc()?, own.exp()?);
                let mut held = std::collections::BTreeSet::new();
                for at in (part * length).min(count)..((part + 1) * length).min(count) {
                    let Some(to) = in_range(index_at(&indices, at, store)?, size) else {
                        continue;
                    };
                    let (place, value) = (slot(&own_writer, to).acc()?, element(&values, at));
                    match held.insert(to) {
                        true => assign(&applied, operation.data, &place, &value.exp()?, store)?,
                        false => operation.combine(&element(&own, to), &value, &place, store)?,
                    }
                }
                for to in held {
                    let place = slot(&acceptor, to).acc()?;
                    operation.combine(&element(&current, to), &element(&own, to), &place, store)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}
