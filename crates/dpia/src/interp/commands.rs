//! Commands.

use super::code::Layout;
use super::expressions::{Applied, below, reader, take};
use super::store::{Step, Store, cell_reader, cell_writer, integer};
use super::{Acc, Block, Exp, Interpreter, Meaning, Run, RunError, broken};
use crate::prim::{Prim, Site};
use almach_prim::Level;
use almach_value::Scalar;
use std::rc::Rc;

pub(super) fn comm<'p>(run: impl Fn(&mut Store) -> Run<()> + 'p) -> Run<Meaning<'p>> {
    Ok(Meaning::Comm(Rc::new(run)))
}

pub(super) fn number<'p>(value: i64) -> Meaning<'p> {
    reader(move |_, _| Ok(Scalar::I64(value)))
}

pub(super) fn element<'p>(array: &Exp<'p>, at: i64) -> Meaning<'p> {
    let array = array.clone();
    reader(move |store, path| array(store, &below(&[Step::At(at)], path)))
}

pub(super) fn slot<'p>(array: &Acc<'p>, at: i64) -> Meaning<'p> {
    let array = array.clone();
    Meaning::Acc(Rc::new(move |store: &mut Store, path: &[Step], scalar| {
        array(store, &below(&[Step::At(at)], path), scalar)
    }))
}

/// The numbers below `size` in the order a level runs them: what is parallel must not depend on it.
fn iterations(level: Level, size: i64) -> Box<dyn Iterator<Item = i64>> {
    match level {
        Level::Seq => Box::new(0..size),
        _ => Box::new((0..size).rev()),
    }
}

/// Runs all iterations; of several failures the first in order is the one that counts.
pub(super) fn each(level: Level, size: i64, mut run: impl FnMut(i64) -> Run<()>) -> Run<()> {
    let mut failed: Option<(i64, RunError)> = None;
    for at in iterations(level, size) {
        if let Err(error) = run(at)
            && failed.as_ref().is_none_or(|(first, _)| at < *first)
        {
            failed = Some((at, error));
            if level == Level::Seq {
                break;
            }
        }
    }
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// A new cell for as long as `inside` runs.
pub(super) fn with_cell<'p, T>(
    store: &mut Store,
    inside: impl FnOnce(&mut Store, Meaning<'p>, Meaning<'p>) -> Run<T>,
) -> Run<T> {
    let cell = store.allocate(Block::default());
    let result = inside(store, cell_writer(cell), cell_reader(cell));
    store.release(cell);
    result
}

/// Assignment at any type: everything is read before anything is written.
pub(super) fn assign<'p>(
    applied: &Applied<'p>,
    data: &'p Layout<'p>,
    acceptor: &Acc<'p>,
    exp: &Exp<'p>,
    store: &mut Store,
) -> Run<()> {
    for (path, scalar) in applied.env.scalars(data, exp, store)?.iter() {
        acceptor(store, path, scalar)?;
    }
    Ok(())
}

impl<'p> Interpreter<'p> {
    pub(super) fn command(self, applied: &Rc<Applied<'p>>, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
        let applied = applied.clone();
        match applied.prim {
            Prim::Skip => comm(|_| Ok(())),
            Prim::Seq => {
                let [pair] = take(arguments)?;
                let (first, second) = pair.pair()?;
                comm(move |store| {
                    first.clone().run(store)?;
                    second.clone().run(store)
                })
            }
            Prim::Assign => {
                let [pair] = take(arguments)?;
                let (acceptor, exp) = pair.pair()?;
                let (acceptor, exp) = (acceptor.acc()?, exp.exp()?);
                comm(move |store| assign(&applied, applied.data(0)?, &acceptor, &exp, store))
            }
            Prim::Move => {
                let [pair] = take(arguments)?;
                let (to, from) = pair.pair()?;
                let (acceptor, exp) = (to.pair()?.0.acc()?, from.pair()?.1.exp()?);
                comm(move |store| assign(&applied, applied.data(0)?, &acceptor, &exp, store))
            }
            Prim::New(_) | Prim::NewIn(_) => {
                let [body] = take(arguments)?;
                comm(move |store| {
                    with_cell(store, |store, writer, reader| {
                        body.clone()
                            .apply(Meaning::Pair(Rc::new((writer, reader))))?
                            .run(store)
                    })
                })
            }
            Prim::NewGrowing => {
                let [body] = take(arguments)?;
                comm(move |store| {
                    with_cell(store, |store, writer, reader| {
                        writer.clone().acc()?(store, &[Step::Size(0)], Scalar::I64(0))?;
                        body.clone()
                            .apply(Meaning::Pair(Rc::new((writer, reader))))?
                            .run(store)
                    })
                })
            }
            Prim::Append => append(arguments),
            Prim::If => {
                let [pair] = take(arguments)?;
                let (condition, branches) = pair.pair()?;
                let (then, otherwise) = branches.pair()?;
                let condition = condition.exp()?;
                comm(move |store| match condition(store, &[])? {
                    Scalar::Bool(true) => then.clone().run(store),
                    _ => otherwise.clone().run(store),
                })
            }
            Prim::While => {
                let [pair] = take(arguments)?;
                let (condition, body) = pair.pair()?;
                let condition = condition.exp()?;
                comm(move |store| {
                    while condition(store, &[])? == Scalar::Bool(true) {
                        body.clone().run(store)?;
                    }
                    Ok(())
                })
            }
            Prim::LetNat => {
                let [value, body] = take(arguments)?;
                let value = value.exp()?;
                comm(move |store| {
                    let size = integer(value(store, &[])?)?;
                    apply_size(body.clone(), size)?.run(store)
                })
            }
            Prim::Check(site, _) => check((**site).clone(), arguments),
            Prim::Foreign(function) => {
                let name = function.name.clone();
                comm(move |_| Err(RunError::Foreign(name.clone())))
            }
            // Nobody listens here.
            Prim::Trace(..) => comm(|_| Ok(())),
            Prim::Fill | Prim::Open => cell(applied, arguments),
            Prim::For | Prim::ParFor(_) | Prim::MapI(_) | Prim::ReduceI => looping(applied, arguments),
            Prim::ParRows(level) => rows_in_places(*level, applied.size(0)?, arguments),
            _ => super::collectives::collective(applied, arguments),
        }
    }
}

fn apply_size<'p>(meaning: Meaning<'p>, size: i64) -> Run<Meaning<'p>> {
    match meaning {
        Meaning::NatFun(function) => function(size),
        _ => Err(broken("a size is given to what takes none")),
    }
}

fn check<'p>(site: Site, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let exps = super::expressions::exps(arguments)?;
    comm(move |store| {
        let mut values = exps.iter().map(|exp| exp(store, &[]));
        match values.next().ok_or_else(|| broken("a check of nothing"))?? {
            Scalar::Bool(true) => Ok(()),
            _ => {
                let arguments = values.collect::<Run<Vec<Scalar>>>()?;
                Err(RunError::Failed {
                    site: site.clone(),
                    arguments,
                })
            }
        }
    })
}

/// `fill` and `open`.
fn cell<'p>(applied: Rc<Applied<'p>>, mut arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let Layout::Some(count, _) = applied.data(0)? else {
        return Err(broken("a cell without sizes"));
    };
    let body = arguments.pop().ok_or_else(|| broken("a cell without a body"))?;
    let mut rest = arguments.into_iter();
    let owner = rest.next().ok_or_else(|| broken("no cell"))?;
    let sizes = rest.map(Meaning::exp).collect::<Run<Vec<Exp<'p>>>>()?;
    comm(move |store| {
        let mut body = body.clone();
        let contents = match owner.clone() {
            Meaning::Acc(acceptor) => {
                for (at, size) in sizes.iter().enumerate() {
                    let size = integer(size(store, &[])?)?;
                    acceptor(store, &[Step::Size(at)], Scalar::I64(size))?;
                    body = apply_size(body, size)?;
                }
                Meaning::Acc(Rc::new(move |store: &mut Store, path: &[Step], scalar| {
                    acceptor(store, &below(&[Step::Contents], path), scalar)
                }))
            }
            other => {
                let exp = other.exp()?;
                for at in 0..*count {
                    body = apply_size(body, integer(exp(store, &[Step::Size(at)])?)?)?;
                }
                reader(move |store, path| exp(store, &below(&[Step::Contents], path)))
            }
        };
        body.apply(contents)?.run(store)
    })
}

/// `append`: the contents from the old size on.
fn append<'p>(arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [cell, more, body] = take(arguments)?;
    let (writer, reader) = cell.pair()?;
    let (writer, reader, more) = (writer.acc()?, reader.exp()?, more.exp()?);
    comm(move |store| {
        let first = integer(reader(store, &[Step::Size(0)])?)?;
        let more = integer(more(store, &[])?)?;
        writer(store, &[Step::Grown], Scalar::I64(first + more))?;
        let writer = writer.clone();
        let room = Meaning::Acc(Rc::new(move |store: &mut Store, path: &[Step], scalar| {
            let [Step::At(at), rest @ ..] = path else {
                return Err(broken("an element without an index"));
            };
            writer(
                store,
                &below(&[Step::Contents, Step::At(first + at)], rest),
                scalar,
            )
        }));
        apply_size(body.clone(), more)?.apply(room)?.run(store)
    })
}

fn looping<'p>(applied: Rc<Applied<'p>>, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let size = applied.size(0)?;
    match applied.prim {
        Prim::For => {
            let [body] = take(arguments)?;
            comm(move |store| each(Level::Seq, size, |at| body.clone().apply(number(at))?.run(store)))
        }
        Prim::ParFor(level) => {
            let [acceptor, body] = take(arguments)?;
            let (level, acceptor) = (*level, acceptor.acc()?);
            comm(move |store| {
                each(level, size, |at| {
                    body.clone()
                        .apply(number(at))?
                        .apply(slot(&acceptor, at))?
                        .run(store)
                })
            })
        }
        Prim::MapI(level) => {
            let [function, array, acceptor] = take(arguments)?;
            let (level, array, acceptor) = (*level, array.exp()?, acceptor.acc()?);
            comm(move |store| {
                each(level, size, |at| {
                    function
                        .clone()
                        .apply(element(&array, at))?
                        .apply(slot(&acceptor, at))?
                        .run(store)
                })
            })
        }
        _ => {
            let [function, start, array, then] = take(arguments)?;
            let (start, array) = (start.exp()?, array.exp()?);
            comm(move |store| {
                with_cell(store, |store, writer, reader| {
                    let acceptor = writer.clone().acc()?;
                    assign(&applied, applied.data(1)?, &acceptor, &start, store)?;
                    for at in 0..size {
                        step(&applied, applied.data(1)?, &acceptor, store, |next| {
                            function
                                .clone()
                                .apply(element(&array, at))?
                                .apply(reader.clone())?
                                .apply(next)
                        })?;
                    }
                    then.clone().apply(reader.clone())?.run(store)
                })
            })
        }
    }
}

/// `parrows`: each row in its place.
fn rows_in_places<'p>(level: Level, size: i64, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [bounds, acceptor, body] = take(arguments)?;
    let (bounds, acceptor) = (bounds.exp()?, acceptor.acc()?);
    comm(move |store| {
        each(level, size, |row| {
            let begin = integer(bounds(store, &[Step::At(row), Step::Field(0)])?)?;
            let end = integer(bounds(store, &[Step::At(row), Step::Field(1)])?)?;
            let acceptor = acceptor.clone();
            let place = Meaning::Acc(Rc::new(
                move |store: &mut Store, path: &[Step], scalar| match path {
                    [Step::At(at), rest @ ..] if *at < end - begin => {
                        acceptor(store, &below(&[Step::At(begin + at)], rest), scalar)
                    }
                    _ => Err(broken("an element behind the end of its row")),
                },
            ));
            apply_size(body.clone().apply(number(row))?, end - begin)?
                .apply(place)?
                .run(store)
        })
    })
}

/// Computes into a cell of its own, then assigns: what is computed may read what is assigned.
pub(super) fn step<'p>(
    applied: &Applied<'p>,
    data: &'p Layout<'p>,
    acceptor: &Acc<'p>,
    store: &mut Store,
    compute: impl FnOnce(Meaning<'p>) -> Run<Meaning<'p>>,
) -> Run<()> {
    with_cell(store, |store, next, result| {
        compute(next)?.run(store)?;
        assign(applied, data, acceptor, &result.exp()?, store)
    })
}
