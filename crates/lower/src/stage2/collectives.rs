//! The combinators with communication between iterations, as the loops that define them.

mod histogram;
mod reduce;
mod rows;
mod scan;

use histogram::Histogram;
use scan::Scan;

use super::{Stage, binary, int};
use almach_dpia::{Data, Nat, Operand, Output, Phrase, PhraseType, Prim, Site, Space, build};
use almach_prim::Level;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

const BOOL: Data = Data::Scalar(ScalarType::Bool);
const I64: Data = Data::Scalar(ScalarType::I64);

/// Whether stage III has a parallel mechanism for a combinator: at a level of threads, for elements without arrays. What
/// has no chunk is grouped in order, which is no work for several.
pub(super) fn has_mechanism(prim: &Prim, datas: &[Data]) -> bool {
    match prim {
        // One pass at any level: no loop of Dpia can make a cell shorter.
        Prim::FilterI(..) | Prim::PartitionI(..) => true,
        // Chunks of one worker go side by side.
        Prim::ScanI(Level::Seq, _, Some(_), _) => datas.iter().all(is_flat),
        Prim::ScanI(level, _, Some(_), _)
        | Prim::ScanRowsI(level, _, Some(_))
        | Prim::ReduceChunksI(level, _)
        | Prim::ScatterI(level, ..)
        | Prim::PermuteI(level, ..)
        | Prim::ReduceByIndexI(level, ..) => for_threads(*level, datas),
        _ => false,
    }
}

/// Whether a level is one of threads, and elements have no arrays.
pub(crate) fn for_threads(level: Level, datas: &[Data]) -> bool {
    let threads = match level {
        Level::Par | Level::Grid(_) | Level::Group(_) => true,
        Level::Seq | Level::Vec | Level::Local(_) => false,
    };
    threads && datas.iter().all(is_flat)
}

pub(crate) fn is_flat(data: &Data) -> bool {
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
        Prim::ScanI(_, _, _, Output::Mapped) | Prim::ScanRowsI(..) => 5,
        Prim::ScanI(..) | Prim::ReduceChunksI(..) | Prim::ReduceByIndexI(..) => 4,
        Prim::ScatterI(..) | Prim::PermuteI(..) => 3,
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
        Prim::ScanI(_, kind, chunk, output) => {
            let function = next()?;
            let mapped = match output {
                Output::Element => None,
                Output::Mapped => Some((next()?, datas.get(1)?.clone())),
            };
            let (start, array, out) = (next()?, next()?, next()?);
            let scan = Scan {
                kind: *kind,
                function,
                start,
                array,
                written: Written { mapped, out },
            };
            Some(match chunk {
                None => collective.scan(scan),
                Some(chunk) => collective.chunked_scan(*chunk, scan),
            })
        }
        Prim::ScanRowsI(_, kind, chunk) => {
            let (function, start, bounds, array, out) = (next()?, next()?, next()?, next()?, next()?);
            let scan = Scan {
                kind: *kind,
                function,
                start,
                array,
                written: Written { mapped: None, out },
            };
            let rows = nats.get(1)?.clone();
            Some(collective.scan_rows(*chunk, &rows, &bounds, scan))
        }
        Prim::ReduceChunksI(_, chunk) => {
            let (function, start, array, out) = (next()?, next()?, next()?, next()?);
            Some(collective.reduce_chunks(*chunk, &function, start, array, out))
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

/// Where a combinator's results go, and what a function makes of them first (with the type of that).
struct Written {
    mapped: Option<(Phrase, Data)>,
    out: Phrase,
}

impl Written {
    /// The type of what is written for elements of a type.
    fn data<'d>(&'d self, element: &'d Data) -> &'d Data {
        self.mapped.as_ref().map_or(element, |(_, data)| data)
    }
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
