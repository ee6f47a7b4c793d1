//! The combinators with communication between iterations, as the loops that define them.

mod histogram;
mod reduce;
mod scan;

use histogram::Histogram;

use super::{Stage, binary, int};
use almach_dpia::{Data, Nat, Operand, Phrase, PhraseType, Prim, Site, Space, build};
use almach_prim::Level;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

const BOOL: Data = Data::Scalar(ScalarType::Bool);
const I64: Data = Data::Scalar(ScalarType::I64);

/// Whether stage III has a parallel mechanism for a combinator: at a level of threads, for elements without arrays. What
/// has no chunk is grouped in order, which is no work for several.
pub(super) fn has_mechanism(prim: &Prim, datas: &[Data]) -> bool {
    let (Prim::ScanI(level, _, Some(_))
    | Prim::ReduceChunksI(level, _)
    | Prim::FilterI(level, Some(_))
    | Prim::PartitionI(level, Some(_))
    | Prim::ScatterI(level, ..)
    | Prim::PermuteI(level, ..)
    | Prim::ReduceByIndexI(level, ..)) = prim
    else {
        return false;
    };
    let threads = match level {
        Level::Par | Level::Grid(_) | Level::Group(_) => true,
        Level::Seq | Level::Vec | Level::Local(_) => false,
    };
    threads && datas.iter().all(is_flat)
}

fn is_flat(data: &Data) -> bool {
    match data {
        Data::Scalar(_) | Data::Index(_) => true,
        Data::Tuple(parts) => parts.iter().all(is_flat),
        Data::Array(..) | Data::Vector(..) | Data::Some(..) | Data::Var(_) => false,
    }
}

pub(super) fn expand(
    stage: &mut Stage,
    prim: &Prim,
    nats: &[Nat],
    datas: &[Data],
    arguments: &[&Phrase],
) -> Option<Phrase> {
    let arity = match prim {
        Prim::ScanI(..) | Prim::ReduceChunksI(..) | Prim::ReduceByIndexI(..) => 4,
        Prim::FilterI(..) | Prim::PartitionI(..) | Prim::ScatterI(..) | Prim::PermuteI(..) => 3,
        _ => return None,
    };
    if arguments.len() != arity {
        return None;
    }
    let arguments: Vec<Phrase> = arguments.iter().map(|argument| stage.phrase(argument)).collect();
    let (size, data) = (nats.first()?.clone(), datas.first()?.clone());
    let mut collective = Collective { stage, size, data };
    let mut rest = arguments.into_iter();
    let mut next = || rest.next();
    match prim {
        Prim::ScanI(_, kind, chunk) => {
            let (function, start, array, out) = (next()?, next()?, next()?, next()?);
            Some(match chunk {
                None => collective.scan(*kind, function, start, array, out),
                Some(chunk) => collective.chunked_scan(*kind, *chunk, function, start, array, out),
            })
        }
        Prim::ReduceChunksI(_, chunk) => {
            let (function, start, array, out) = (next()?, next()?, next()?, next()?);
            Some(collective.reduce_chunks(*chunk, &function, start, array, out))
        }
        Prim::FilterI(level, _) | Prim::PartitionI(level, _) => {
            let (function, array, out) = (next()?, next()?, next()?);
            let both = matches!(prim, Prim::PartitionI(..));
            Some(collective.filter(
                *level,
                if both { Halves::Both } else { Halves::Kept },
                function,
                array,
                out,
            ))
        }
        Prim::ScatterI(_, scalar, site) => {
            let (indices, values, var) = (next()?, next()?, next()?);
            let cells = nats.get(1)?.clone();
            Some(collective.scatter(*scalar, site, cells, indices, values, var))
        }
        Prim::PermuteI(_, scalar, site) => {
            let (indices, values, out) = (next()?, next()?, next()?);
            Some(collective.permute(*scalar, site, indices, values, out))
        }
        _ => {
            let (function, indices, values, var) = (next()?, next()?, next()?, next()?);
            let Prim::ReduceByIndexI(_, scalar, parts) = prim else {
                return None;
            };
            let cells = nats.get(1)?.clone();
            let histogram = Histogram {
                scalar: *scalar,
                cells,
                function,
                indices,
                values,
                var,
            };
            Some(match parts {
                None => collective.reduce_by_index(&histogram),
                Some(parts) => collective.reduce_by_parts(&histogram, *parts),
            })
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Halves {
    Kept,
    Both,
}

struct Collective<'s> {
    stage: &'s mut Stage,
    size: Nat,
    data: Data,
}

impl Collective<'_> {
    fn element(&self, array: Phrase, index: &Phrase) -> Phrase {
        build::idx(self.size.clone(), self.data.clone(), array, index.clone())
    }

    /// `for n (\i. body i)`.
    fn each(&mut self, body: impl FnOnce(&mut Self, Phrase) -> Phrase) -> Phrase {
        let i = self.stage.fresh("i");
        let body = body(self, Phrase::Var(i.clone()));
        build::for_loop(self.size.clone(), i, body)
    }

    /// `new{δ} (\v. body v)`.
    fn with_new(
        &mut self,
        stem: &str,
        data: &Data,
        body: impl FnOnce(&mut Self, Phrase) -> Phrase,
    ) -> Phrase {
        let name = self.stage.fresh(stem);
        let body = body(self, Phrase::Var(name.clone()));
        build::new(Space::Any, data.clone(), name, body)
    }

    /// Answers first (at the operation's level), then a count, then the elements into a cell of that size.
    fn filter(
        &mut self,
        level: Level,
        halves: Halves,
        function: Phrase,
        array: Phrase,
        out: Phrase,
    ) -> Phrase {
        let (size, data) = (self.size.clone(), self.data.clone());
        let flags_type = Data::array(size.clone(), BOOL);
        self.with_new("flags", &flags_type, |this, flags| {
            let answers = this.stage.map(
                level,
                size.clone(),
                (&data, &BOOL),
                function,
                array.clone(),
                flags.clone().writer(),
            );
            let flag = |i: &Phrase| build::idx(size.clone(), BOOL, flags.clone().reader(), i.clone());
            let fill = this.with_new("count", &I64, |this, count| {
                let begin = build::assign(I64, count.clone().writer(), int(0));
                let counting = this.each(|_, i| {
                    let more = increment(&count);
                    build::if_then_else(flag(&i), more, build::skip())
                });
                let fill = this.fill(halves, &count, out, |this, kept, others| {
                    this.each(|this, i| {
                        let value = this.element(array, &i);
                        let take = kept.put(&data, value.clone());
                        let leave = others.map_or_else(build::skip, |others| others.put(&data, value));
                        build::if_then_else(flag(&i), take, leave)
                    })
                });
                build::seq_all([begin, counting, fill])
            });
            build::seq(answers, fill)
        })
    }

    /// `fill` of the cell, with a position that moves through each part of it.
    fn fill(
        &mut self,
        halves: Halves,
        count: &Phrase,
        out: Phrase,
        body: impl FnOnce(&mut Self, Position, Option<Position>) -> Phrase,
    ) -> Phrase {
        let names: Vec<almach_base::Name> = match halves {
            Halves::Kept => vec![self.stage.fresh("k")],
            Halves::Both => vec![self.stage.fresh("k"), self.stage.fresh("l")],
        };
        let part = |name: &almach_base::Name| Data::array(Nat::var(name.clone()), self.data.clone());
        let parts: Vec<Data> = names.iter().map(part).collect();
        let held = match parts.as_slice() {
            [one] => one.clone(),
            _ => Data::Tuple(parts.clone()),
        };
        let cell = Data::Some(names.clone(), Box::new(held.clone()));
        let contents = self.stage.fresh("contents");
        let all = Phrase::Var(contents.clone());
        let positions: Vec<Phrase> = names
            .iter()
            .map(|_| Phrase::Var(self.stage.fresh("at")))
            .collect();
        let mut places = names
            .iter()
            .zip(&positions)
            .enumerate()
            .map(|(at, (name, position))| Position {
                size: Nat::var(name.clone()),
                position: position.clone(),
                acceptor: match parts.len() {
                    1 => all.clone(),
                    _ => build::tuple_acc(at, &parts, all.clone()),
                },
            });
        let inner = match (places.next(), places.next()) {
            (Some(kept), others) => body(self, kept, others),
            _ => build::skip(),
        };
        let starts = positions
            .iter()
            .map(|position| build::assign(I64, position.clone().writer(), int(0)));
        let mut inner = build::seq_all(starts.chain([inner]));
        for position in positions.iter().rev() {
            if let Phrase::Var(name) = position {
                inner = build::new(Space::Any, I64, name.clone(), inner);
            }
        }
        let mut function = Phrase::lam(contents, PhraseType::Acc(held), inner);
        for name in names.iter().rev() {
            function = Phrase::nat_lam(name.clone(), function);
        }
        let kept = count.clone().reader();
        let others = binary(
            BinOp::Sub,
            ScalarType::I64,
            build::nat_value(self.size.clone()),
            kept.clone(),
        );
        let sizes = match halves {
            Halves::Kept => vec![kept],
            Halves::Both => vec![kept, others],
        };
        Phrase::prim(Prim::Fill, vec![], vec![cell])
            .app(out)
            .apply(sizes)
            .app(function)
    }

    /// `body` with the index at `i` as an `i64`, and whether it is a cell's.
    fn at_index(
        &mut self,
        scalar: ScalarType,
        cells: &Nat,
        indices: &Phrase,
        i: &Phrase,
        body: impl FnOnce(&mut Self, Phrase, Phrase) -> Phrase,
    ) -> Phrase {
        let index = build::idx(
            self.size.clone(),
            Data::Scalar(scalar),
            indices.clone(),
            i.clone(),
        );
        let index = match scalar {
            ScalarType::I64 => index,
            _ => {
                let convert = Prim::Unary(UnOp::Convert(ScalarType::I64), Operand::scalar(scalar));
                Phrase::prim(convert, vec![], vec![]).app(index)
            }
        };
        let name = self.stage.fresh("j");
        let j = Phrase::Var(name.clone());
        let i64 = ScalarType::I64;
        let inside = binary(
            BinOp::And,
            ScalarType::Bool,
            binary(BinOp::Ge, i64, j.clone(), int(0)),
            binary(BinOp::Lt, i64, j.clone(), build::nat_value(cells.clone())),
        );
        let body = body(self, j, inside);
        build::let_in(name, PhraseType::Exp(I64), index, body)
    }

    fn scatter(
        &mut self,
        scalar: ScalarType,
        site: &Site,
        cells: Nat,
        indices: Phrase,
        values: Phrase,
        var: Phrase,
    ) -> Phrase {
        let data = self.data.clone();
        let seen_type = Data::array(cells.clone(), BOOL);
        let site = site.clone();
        self.with_new("seen", &seen_type.clone(), |this, seen| {
            let clear = clear(&seen_type, &cells, &seen);
            let run = this.each(|this, i| {
                let value = this.element(values, &i);
                this.at_index(scalar, &cells, &indices, &i, |this, j, inside| {
                    let at = build::to_index(cells.clone(), j.clone());
                    let place = build::idx_acc(cells.clone(), data.clone(), var.clone().writer(), at.clone());
                    let mark = set(&cells, &seen, &at);
                    let write = build::seq(build::assign(data.clone(), place, value.clone()), mark);
                    let present = build::idx(cells.clone(), data.clone(), var.clone().reader(), at.clone());
                    let equal = this.with_new("equal", &BOOL, |this, equal| {
                        let begin = build::assign(BOOL, equal.clone().writer(), truth(true));
                        let compare = this.same(&data, &present, &value, &equal);
                        let check = check(&site, equal.reader(), j);
                        build::seq_all([begin, compare, check])
                    });
                    let again = build::idx(cells.clone(), BOOL, seen.clone().reader(), at);
                    build::if_then_else(inside, build::if_then_else(again, equal, write), build::skip())
                })
            });
            build::seq(clear, run)
        })
    }

    /// Clears `equal` where two values differ; all NaNs are one value.
    fn same(&mut self, data: &Data, a: &Phrase, b: &Phrase, equal: &Phrase) -> Phrase {
        match data {
            Data::Tuple(parts) => {
                let compared: Vec<Phrase> = (0..parts.len())
                    .zip(parts)
                    .map(|(at, part)| {
                        let (a, b) = (build::get(at, parts, a.clone()), build::get(at, parts, b.clone()));
                        self.same(part, &a, &b, equal)
                    })
                    .collect();
                build::seq_all(compared)
            }
            Data::Array(size, element) => {
                let i = self.stage.fresh("i");
                let at = |array: &Phrase| {
                    build::idx(
                        size.clone(),
                        (**element).clone(),
                        array.clone(),
                        Phrase::Var(i.clone()),
                    )
                };
                let body = self.same(element, &at(a), &at(b), equal);
                build::for_loop(size.clone(), i, body)
            }
            Data::Scalar(scalar) => {
                let one = same_scalar(*scalar, a, b);
                let both = binary(BinOp::And, ScalarType::Bool, equal.clone().reader(), one);
                build::assign(BOOL, equal.clone().writer(), both)
            }
            Data::Vector(width, scalar) => {
                let lanes = Data::array(Nat::constant((*width).into()), Data::Scalar(*scalar));
                let (a, b) = (
                    build::lanes(*width, *scalar, a.clone()),
                    build::lanes(*width, *scalar, b.clone()),
                );
                self.same(&lanes, &a, &b, equal)
            }
            // These are never in cells.
            Data::Index(_) | Data::Some(..) | Data::Var(_) => build::skip(),
        }
    }

    fn permute(
        &mut self,
        scalar: ScalarType,
        site: &Site,
        indices: Phrase,
        values: Phrase,
        out: Phrase,
    ) -> Phrase {
        let (cells, data) = (self.size.clone(), self.data.clone());
        let seen_type = Data::array(cells.clone(), BOOL);
        let site = site.clone();
        self.with_new("seen", &seen_type.clone(), |this, seen| {
            let clear = clear(&seen_type, &cells, &seen);
            let run = this.each(|this, i| {
                let value = this.element(values, &i);
                this.at_index(scalar, &cells.clone(), &indices, &i, |_, j, inside| {
                    let at = build::to_index(cells.clone(), j.clone());
                    let free = binary(
                        BinOp::Eq,
                        ScalarType::Bool,
                        build::idx(cells.clone(), BOOL, seen.clone().reader(), at.clone()),
                        truth(false),
                    );
                    let place = build::idx_acc(cells.clone(), data.clone(), out.clone(), at.clone());
                    build::seq_all([
                        check(&site, inside, j.clone()),
                        check(&site, free, j),
                        set(&cells, &seen, &at),
                        build::assign(data.clone(), place, value),
                    ])
                })
            });
            build::seq(clear, run)
        })
    }
}

/// Where the next element of a part goes.
struct Position {
    size: Nat,
    position: Phrase,
    acceptor: Phrase,
}

impl Position {
    fn put(&self, data: &Data, value: Phrase) -> Phrase {
        let at = build::to_index(self.size.clone(), self.position.clone().reader());
        let place = build::idx_acc(self.size.clone(), data.clone(), self.acceptor.clone(), at);
        build::seq(
            build::assign(data.clone(), place, value),
            increment(&self.position),
        )
    }
}

fn increment(var: &Phrase) -> Phrase {
    let more = binary(BinOp::Add, ScalarType::I64, var.clone().reader(), int(1));
    build::assign(I64, var.clone().writer(), more)
}

fn truth(value: bool) -> Phrase {
    build::literal(Scalar::Bool(value))
}

fn clear(data: &Data, cells: &Nat, seen: &Phrase) -> Phrase {
    let none = Phrase::prim(Prim::Replicate, vec![cells.clone()], vec![BOOL]).app(truth(false));
    build::assign(data.clone(), seen.clone().writer(), none)
}

fn set(cells: &Nat, seen: &Phrase, at: &Phrase) -> Phrase {
    let place = build::idx_acc(cells.clone(), BOOL, seen.clone().writer(), at.clone());
    build::assign(BOOL, place, truth(true))
}

fn check(site: &Site, condition: Phrase, index: Phrase) -> Phrase {
    let prim = Prim::Check(Box::new(site.clone()), vec![ScalarType::I64]);
    Phrase::prim(prim, vec![], vec![]).apply([condition, index])
}

/// The same value to the law: bit for bit, but all NaNs are one.
pub(crate) fn same_scalar(scalar: ScalarType, a: &Phrase, b: &Phrase) -> Phrase {
    if !scalar.is_float() {
        return binary(BinOp::Eq, scalar, a.clone(), b.clone());
    }
    let unary = |op: UnOp, value: &Phrase| {
        Phrase::prim(Prim::Unary(op, Operand::scalar(scalar)), vec![], vec![]).app(value.clone())
    };
    let bits = match scalar {
        ScalarType::F32 => ScalarType::U32,
        _ => ScalarType::U64,
    };
    let equal = binary(BinOp::Eq, bits, unary(UnOp::ToBits, a), unary(UnOp::ToBits, b));
    let nans = binary(
        BinOp::And,
        ScalarType::Bool,
        unary(UnOp::IsNan, a),
        unary(UnOp::IsNan, b),
    );
    binary(BinOp::Or, ScalarType::Bool, equal, nans)
}
