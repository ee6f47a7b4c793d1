//! Expressions and acceptors: each primitive is a change of path, as in Figure 6.

use super::code::{Code, Layout, Primitive};
use super::commands::slot;
use super::store::{Path, Step, Store, integer};
use super::{Acc, Block, Env, Exp, Interpreter, Meaning, Run, broken};
use crate::prim::Prim;
use almach_value::Scalar;
use std::rc::Rc;

/// A primitive with numbers for its sizes, ready for its arguments.
pub(crate) struct Applied<'p> {
    pub(crate) prim: &'p Prim,
    pub(crate) sizes: Vec<i64>,
    pub(crate) datas: &'p [Layout<'p>],
    pub(crate) env: Env<'p>,
}

impl<'p> Applied<'p> {
    pub(crate) fn size(&self, at: usize) -> Run<i64> {
        self.sizes
            .get(at)
            .copied()
            .ok_or_else(|| broken("a primitive without its sizes"))
    }

    pub(crate) fn data(&self, at: usize) -> Run<&'p Layout<'p>> {
        self.datas
            .get(at)
            .ok_or_else(|| broken("a primitive without its types"))
    }
}

impl<'p> Interpreter<'p> {
    /// A primitive on the arguments it is given; of those it still lacks it is a function.
    pub(super) fn prim(
        self,
        primitive: &'p Primitive<'p>,
        arguments: &'p [Code<'p>],
        env: &Env<'p>,
    ) -> Run<Meaning<'p>> {
        let sizes = primitive.sizes.iter().map(|size| env.size(size));
        let applied = Rc::new(Applied {
            prim: primitive.prim,
            sizes: sizes.collect::<Run<Vec<i64>>>()?,
            datas: &primitive.datas,
            env: env.clone(),
        });
        let mut given = Vec::with_capacity(primitive.arity);
        for argument in arguments {
            given.push(self.meaning(argument, env)?);
        }
        curry(self, applied, primitive.arity - given.len(), given)
    }

    fn saturated(self, applied: &Rc<Applied<'p>>, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
        match applied.prim {
            Prim::Literal(scalar) => {
                let scalar = *scalar;
                Ok(reader(move |_, _| Ok(scalar)))
            }
            Prim::NatValue => {
                let size = applied.size(0)?;
                Ok(reader(move |_, _| Ok(Scalar::I64(size))))
            }
            Prim::Unary(..) | Prim::Binary(..) | Prim::Ternary(..) | Prim::Select | Prim::Splat(..) => {
                operator(applied.clone(), exps(arguments)?)
            }
            Prim::Tag(store) => super::rows::tag(store.clone(), arguments),
            Prim::Column(store, at, ty) => super::rows::column(store.clone(), *at, *ty, arguments),
            Prim::Map(_) => functional_map(arguments),
            Prim::Reduce => functional_reduce(applied.clone(), arguments),
            _ => match acceptor_or_view(applied, &arguments)? {
                Some(meaning) => Ok(meaning),
                None => self.command(applied, arguments),
            },
        }
    }
}

fn curry<'p>(
    this: Interpreter<'p>,
    applied: Rc<Applied<'p>>,
    missing: usize,
    given: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    if missing == 0 {
        return this.saturated(&applied, given);
    }
    Ok(Meaning::Fun(Rc::new(move |argument| {
        let mut given = given.clone();
        given.push(argument);
        curry(this, applied.clone(), missing - 1, given)
    })))
}

pub(crate) fn reader<'p>(read: impl Fn(&Store, &[Step]) -> Run<Scalar> + 'p) -> Meaning<'p> {
    Meaning::Exp(Rc::new(read))
}

pub(crate) fn exps<'p>(arguments: Vec<Meaning<'p>>) -> Run<Vec<Exp<'p>>> {
    arguments.into_iter().map(Meaning::exp).collect()
}

/// Lane by lane, or on scalars: the path below is that of the operands.
fn operator<'p>(applied: Rc<Applied<'p>>, arguments: Vec<Exp<'p>>) -> Run<Meaning<'p>> {
    Ok(reader(move |store, path| {
        let argument = |at: usize| match arguments.get(at) {
            Some(exp) => exp(store, path),
            None => Err(broken("an operator without its operands")),
        };
        match applied.prim {
            Prim::Unary(op, _) => op.eval(argument(0)?).ok_or_else(ill_typed),
            Prim::Binary(op, _) => Ok(op.eval(argument(0)?, argument(1)?).ok_or_else(ill_typed)??),
            Prim::Ternary(op, _) => op
                .eval(argument(0)?, argument(1)?, argument(2)?)
                .ok_or_else(ill_typed),
            Prim::Select => {
                let condition = arguments.first().ok_or_else(|| broken("no condition"))?;
                match condition(store, &[])? {
                    Scalar::Bool(true) => argument(1),
                    _ => argument(2),
                }
            }
            _ => arguments.first().ok_or_else(|| broken("no operand"))?(store, &[]),
        }
    }))
}

fn ill_typed() -> super::RunError {
    broken("an operator on operands it does not take")
}

fn functional_map<'p>(arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [function, array] = take(arguments)?;
    let array = array.exp()?;
    Ok(reader(move |store, path| {
        let (at, rest) = index(path)?;
        let array = array.clone();
        let element = reader(move |store, path| array(store, &below(&[Step::At(at)], path)));
        function.clone().apply(element)?.exp()?(store, rest)
    }))
}

fn functional_reduce<'p>(applied: Rc<Applied<'p>>, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [function, start, array] = take(arguments)?;
    let array = array.exp()?;
    let size = applied.size(0)?;
    Ok(reader(move |store, path| {
        let mut result = start.clone();
        for at in 0..size {
            let array = array.clone();
            let element = reader(move |store, path| array(store, &below(&[Step::At(at)], path)));
            let next = function.clone().apply(element)?.apply(result)?.exp()?;
            let mut block = Block::default();
            for (path, scalar) in applied.env.scalars(applied.data(1)?, &next, store)?.iter() {
                block.set(path, scalar);
            }
            result = reader(move |_, path| block.get(path).ok_or_else(|| broken("a path that is not there")));
        }
        result.exp()?(store, path)
    }))
}

pub(crate) fn take<'p, const N: usize>(arguments: Vec<Meaning<'p>>) -> Run<[Meaning<'p>; N]> {
    arguments
        .try_into()
        .map_err(|_| broken("a primitive without its arguments"))
}

/// The first step, which goes into an array, and the others.
pub(crate) fn index(path: &[Step]) -> Run<(i64, &[Step])> {
    match path {
        [Step::At(at), rest @ ..] => Ok((*at, rest)),
        _ => Err(broken(format!("the path {path:?} does not go into an array"))),
    }
}

pub(crate) fn below(start: &[Step], rest: &[Step]) -> Path {
    Path::of(start, rest)
}

/// Where a view looks.
enum Target {
    /// In that argument (counted among arrays and tuples), along that path.
    Argument(usize, Path),
    Value(Scalar),
}

fn acceptor_or_view<'p>(applied: &Rc<Applied<'p>>, arguments: &[Meaning<'p>]) -> Run<Option<Meaning<'p>>> {
    let all: Option<Vec<Exp<'p>>> = arguments
        .iter()
        .map(|argument| match argument {
            Meaning::Exp(exp) => Some(exp.clone()),
            _ => None,
        })
        .collect();
    let applied = applied.clone();
    if let Some(exps) = all
        && is_view(applied.prim)
    {
        return Ok(Some(reader(move |store, path| {
            match view(&applied, &exps, store, path)? {
                Target::Value(scalar) => Ok(scalar),
                Target::Argument(at, path) => exps
                    .get(at)
                    .ok_or_else(|| broken("a view without its arguments"))?(
                    store, &path
                ),
            }
        })));
    }
    if let Prim::UnzipAcc(_) = applied.prim {
        return unzip_acceptor(arguments).map(Some);
    }
    if let (Prim::MapAcc, [function, array]) = (applied.prim, arguments) {
        return mapped_acceptor(function, array).map(Some);
    }
    if !is_acceptor(applied.prim) {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    let mut acceptor: Option<Acc<'p>> = None;
    for argument in arguments {
        match argument {
            Meaning::Exp(exp) => numbers.push(exp.clone()),
            Meaning::Acc(acc) => acceptor = Some(acc.clone()),
            _ => return Err(broken("an acceptor of something else")),
        }
    }
    let acceptor = acceptor.ok_or_else(|| broken("no acceptor"))?;
    Ok(Some(Meaning::Acc(Rc::new(
        move |store: &mut Store, path: &[Step], scalar: Scalar| match acceptor_path(
            &applied, &numbers, store, path,
        )? {
            Some(path) => acceptor(store, &path, scalar),
            None => Ok(()),
        },
    ))))
}

fn mapped_acceptor<'p>(function: &Meaning<'p>, array: &Meaning<'p>) -> Run<Meaning<'p>> {
    let (function, array) = (function.clone(), array.clone().acc()?);
    Ok(Meaning::Acc(Rc::new(
        move |store: &mut Store, path: &[Step], scalar: Scalar| match path {
            [Step::At(at), rest @ ..] => {
                let element = function.clone().apply(slot(&array, *at))?.acc()?;
                element(store, rest, scalar)
            }
            _ => Err(broken("a path that does not go into an array")),
        },
    )))
}

fn unzip_acceptor<'p>(arguments: &[Meaning<'p>]) -> Run<Meaning<'p>> {
    let components = arguments
        .iter()
        .cloned()
        .map(Meaning::acc)
        .collect::<Run<Vec<Acc<'p>>>>()?;
    Ok(Meaning::Acc(Rc::new(
        move |store: &mut Store, path: &[Step], scalar: Scalar| match path {
            [at, Step::Field(field), rest @ ..] => {
                let component = components
                    .get(*field)
                    .ok_or_else(|| broken("no such component"))?;
                component(store, &below(&[*at], rest), scalar)
            }
            _ => Err(broken("a path that does not go into a tuple")),
        },
    )))
}

fn is_view(prim: &Prim) -> bool {
    matches!(
        prim,
        Prim::Split
            | Prim::Join
            | Prim::Iota
            | Prim::Replicate
            | Prim::Transpose
            | Prim::Reverse
            | Prim::Slice
            | Prim::Rotate
            | Prim::Slide
            | Prim::Pad
            | Prim::PadEdge
            | Prim::Concat
            | Prim::Coerce
            | Prim::Idx
            | Prim::ToIndex
            | Prim::OfIndex
            | Prim::Tuple(_)
            | Prim::Get(..)
            | Prim::Zip(_)
            | Prim::Unzip(..)
            | Prim::Gather(_)
            | Prim::AsVector(..)
            | Prim::AsScalar(..)
    )
}

fn is_acceptor(prim: &Prim) -> bool {
    matches!(
        prim,
        Prim::IdxAcc
            | Prim::SplitAcc
            | Prim::JoinAcc
            | Prim::TransposeAcc
            | Prim::ReverseAcc
            | Prim::SliceAcc
            | Prim::RotateAcc
            | Prim::TakeAcc
            | Prim::DropAcc
            | Prim::CoerceAcc
            | Prim::TupleAcc(..)
            | Prim::OnlyAcc(..)
            | Prim::AtAcc
            | Prim::PermuteAcc(_)
            | Prim::ZipAcc(..)
            | Prim::AsVectorAcc(..)
            | Prim::AsScalarAcc(..)
    )
}

/// Fig. 6c: where to read for a path into a view.
fn view<'p>(applied: &Applied, exps: &[Exp<'p>], store: &Store, path: &[Step]) -> Run<Target> {
    let number = |at: usize| match exps.get(at) {
        Some(exp) => integer(exp(store, &[])?),
        None => Err(broken("a view without its numbers")),
    };
    let moved = |argument: usize, at: i64, rest: &[Step]| {
        Ok(Target::Argument(argument, below(&[Step::At(at)], rest)))
    };
    match applied.prim {
        Prim::Coerce | Prim::ToIndex | Prim::OfIndex => Ok(Target::Argument(0, below(&[], path))),
        Prim::Idx => Ok(Target::Argument(0, below(&[Step::At(number(1)?)], path))),
        Prim::Get(at, _) => Ok(Target::Argument(0, below(&[Step::Field(*at)], path))),
        Prim::Tuple(_) => match path {
            [Step::Field(at), rest @ ..] => Ok(Target::Argument(*at, below(&[], rest))),
            _ => Err(broken("a path that does not go into a tuple")),
        },
        Prim::Zip(_) => match path {
            [at, Step::Field(field), rest @ ..] => Ok(Target::Argument(*field, below(&[*at], rest))),
            _ => Err(broken("a path that does not go into a tuple")),
        },
        _ => {
            let (at, rest) = index(path)?;
            match applied.prim {
                Prim::Iota => Ok(Target::Value(Scalar::I64(at))),
                Prim::Replicate => Ok(Target::Argument(0, below(&[], rest))),
                Prim::Unzip(field, _) => Ok(Target::Argument(
                    0,
                    below(&[Step::At(at), Step::Field(*field)], rest),
                )),
                Prim::Reverse => moved(0, applied.size(0)? - 1 - at, rest),
                Prim::Slice => moved(2, number(0)? + number(1)? * at, rest),
                Prim::Rotate => moved(1, (at + number(0)?).rem_euclid(applied.size(0)?.max(1)), rest),
                Prim::Gather(_) => {
                    let from = exps.first().ok_or_else(|| broken("no indices"))?(store, &[Step::At(at)])?;
                    moved(1, integer(from)?, rest)
                }
                Prim::Concat => {
                    let first = applied.size(0)?;
                    match at < first {
                        true => moved(0, at, rest),
                        false => moved(1, at - first, rest),
                    }
                }
                Prim::Pad => {
                    let inside = at - applied.size(0)?;
                    match (0..applied.size(1)?).contains(&inside) {
                        true => moved(1, inside, rest),
                        false => Ok(Target::Argument(0, below(&[], rest))),
                    }
                }
                Prim::PadEdge => {
                    let last = applied.size(1)? - 1;
                    moved(0, (at - applied.size(0)?).min(last).max(0), rest)
                }
                _ => nested_view(applied, number, at, rest),
            }
        }
    }
}

/// Views that change the number of dimensions.
fn nested_view(applied: &Applied, number: impl Fn(usize) -> Run<i64>, at: i64, rest: &[Step]) -> Run<Target> {
    let found = |steps: &[Step], rest: &[Step]| Ok(Target::Argument(0, below(steps, rest)));
    match applied.prim {
        Prim::Join => {
            let row = applied.size(1)?.max(1);
            found(&[Step::At(at / row), Step::At(at % row)], rest)
        }
        Prim::AsScalar(width, _) => {
            let width = i64::from(*width);
            let lane = u32::try_from(at % width).map_err(|_| broken("a negative index"))?;
            found(&[Step::At(at / width), Step::Lane(lane)], rest)
        }
        Prim::AsVector(width, _) => match rest {
            [Step::Lane(lane), rest @ ..] => {
                found(&[Step::At(at * i64::from(*width) + i64::from(*lane))], rest)
            }
            _ => Err(broken("a path that does not go into a vector")),
        },
        _ => {
            let (inner, rest) = index(rest)?;
            match applied.prim {
                Prim::Split => found(&[Step::At(at * applied.size(1)? + inner)], rest),
                Prim::Transpose => found(&[Step::At(inner), Step::At(at)], rest),
                Prim::Slide => Ok(Target::Argument(
                    1,
                    below(&[Step::At(at * number(0)? + inner)], rest),
                )),
                other => Err(broken(format!("`{}` is no view", other.name()))),
            }
        }
    }
}

/// Fig. 6b: where to write for a path into a changed acceptor, if anywhere. `numbers` are its expression arguments.
fn acceptor_path<'p>(
    applied: &Applied,
    numbers: &[Exp<'p>],
    store: &Store,
    path: &[Step],
) -> Run<Option<Path>> {
    match (applied.prim, path) {
        (Prim::OnlyAcc(at, _), [Step::Field(field), rest @ ..]) => {
            Ok((field == at).then(|| below(&[], rest)))
        }
        (Prim::AtAcc, [Step::At(index), rest @ ..]) => {
            let kept = match numbers.first() {
                Some(exp) => integer(exp(store, &[])?)?,
                None => return Err(broken("an acceptor without its numbers")),
            };
            Ok((*index == kept).then(|| below(&[], rest)))
        }
        _ => moved_path(applied, numbers, store, path).map(Some),
    }
}

/// Where acceptors write that keep everything.
fn moved_path<'p>(applied: &Applied, numbers: &[Exp<'p>], store: &Store, path: &[Step]) -> Run<Path> {
    let number = |at: usize| match numbers.get(at) {
        Some(exp) => integer(exp(store, &[])?),
        None => Err(broken("an acceptor without its numbers")),
    };
    match applied.prim {
        Prim::IdxAcc => Ok(below(&[Step::At(number(0)?)], path)),
        Prim::TupleAcc(at, _) => Ok(below(&[Step::Field(*at)], path)),
        Prim::CoerceAcc => Ok(below(&[], path)),
        _ => {
            let (at, rest) = index(path)?;
            match applied.prim {
                Prim::ZipAcc(field, _) => Ok(below(&[Step::At(at), Step::Field(*field)], rest)),
                Prim::ReverseAcc => Ok(below(&[Step::At(applied.size(0)? - 1 - at)], rest)),
                Prim::SliceAcc => Ok(below(&[Step::At(number(0)? + number(1)? * at)], rest)),
                Prim::RotateAcc => {
                    let target = (at + number(0)?).rem_euclid(applied.size(0)?.max(1));
                    Ok(below(&[Step::At(target)], rest))
                }
                Prim::PermuteAcc(_) => {
                    let to = numbers.first().ok_or_else(|| broken("no indices"))?(store, &[Step::At(at)])?;
                    Ok(below(&[Step::At(integer(to)?)], rest))
                }
                Prim::TakeAcc => Ok(below(&[], path)),
                Prim::DropAcc => Ok(below(&[Step::At(at + applied.size(0)?)], rest)),
                Prim::SplitAcc => {
                    let row = applied.size(1)?.max(1);
                    Ok(below(&[Step::At(at / row), Step::At(at % row)], rest))
                }
                Prim::AsVectorAcc(width, _) => {
                    let width = i64::from(*width);
                    let lane = u32::try_from(at % width).map_err(|_| broken("a negative index"))?;
                    Ok(below(&[Step::At(at / width), Step::Lane(lane)], rest))
                }
                Prim::AsScalarAcc(width, _) => match rest {
                    [Step::Lane(lane), rest @ ..] => Ok(below(
                        &[Step::At(at * i64::from(*width) + i64::from(*lane))],
                        rest,
                    )),
                    _ => Err(broken("a path that does not go into a vector")),
                },
                _ => {
                    let (inner, rest) = index(rest)?;
                    match applied.prim {
                        Prim::JoinAcc => Ok(below(&[Step::At(at * applied.size(1)? + inner)], rest)),
                        Prim::TransposeAcc => Ok(below(&[Step::At(inner), Step::At(at)], rest)),
                        other => Err(broken(format!("`{}` is no acceptor", other.name()))),
                    }
                }
            }
        }
    }
}
