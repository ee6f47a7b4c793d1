//! The inverse of each view on the side of the destination (Lin, Fig. 5.6): where to write what is viewed, so that it is what the view
//! makes of it that is written.
//!
//! | view | what it views is written to |
//! | --- | --- |
//! | `join` `split` `transpose` `reverse` `rotate` `asScalar` `asVector` | the place, joined the other way |
//! | `concat a b` | the first and the rest of the place |
//! | `zip a b`, a tuple, an array of arrays | components of the place, its rows |
//! | `pad l r x a`, `pad_edge l r a` | the middle; what is beside it is written once that is done |
//! | `replicate n row` | the first row, and the others are copied from there (eq. 5.67) |
//! | `permute@D is a` | the cells that `is` says, once it is known to be a permutation |
//! | `map@D f a` with a view for `f` | for each element, the inverse of `f` (eq. 5.46); what `f` takes from elsewhere is written to its places (eq. 5.49) |
//! | `x[i]`, `x.0` in the function of `map@D` | the element or component; the rest is written nowhere, and not computed (eq. 5.43-5.45) |
//!
//! `take` and `drop` have none: what is outside of them would have no place, and is better not computed (the rewrites see to
//! that, as of indexing and projections that stand alone). An `if` is computed into its place branch by branch.

use super::Translator;
use super::destinations::{Plan, Planner};
use crate::error::Lowering;
use almach_core::{Atom, Exp, Lambda, Op, Stmt};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, build};
use almach_prim::{Effect, Prim as Operation};
use almach_value::{BinOp, Failure, ScalarType};

/// What is written to a place.
#[derive(Clone)]
pub(crate) enum Source {
    Atom(Atom),
    /// That many times a value.
    Copies(Nat, Atom),
    /// That many times an element of an array, which must not be empty.
    Edge {
        count: Nat,
        array: Array,
        at: Edge,
    },
}

/// An array that is read once it is written.
#[derive(Clone)]
pub(crate) enum Array {
    Named(Atom),
    /// So many elements from `first` on of what is in memory.
    Within {
        whole: Phrase,
        size: Nat,
        first: Nat,
        count: Nat,
        element: Data,
    },
}

#[derive(Clone, Copy)]
pub(crate) enum Edge {
    First,
    Last,
}

/// Where the result of a view goes.
pub(crate) struct Target {
    pub(crate) acceptor: Phrase,
    /// The same memory to read, where it is known.
    pub(crate) reader: Option<Phrase>,
}

type Places = Option<Vec<(Source, Phrase)>>;

impl Planner<'_, '_, '_> {
    /// The operands of a view with the acceptors that its inverse makes; none where it has no inverse, or has to check
    /// something first.
    pub(crate) fn through(&mut self, stmt: &Stmt, target: &Target) -> Lowering<Places> {
        match &stmt.exp {
            Exp::Tuple(parts) => self.tuple(parts, &target.acceptor),
            Exp::Array(rows, _) => self.rows(stmt, rows, &target.acceptor),
            Exp::Project(tuple, at) => self.projected(tuple, *at as usize, &target.acceptor),
            Exp::Index { array, indices } => self.indexed(array, indices, &target.acceptor),
            Exp::Op(op) => match op.annotation.effect {
                None => self.simple(op, &target.acceptor),
                Some(Effect::Destination) => match self.simple(op, &target.acceptor)? {
                    Some(places) => Ok(Some(places)),
                    None => self.written(op, target),
                },
                Some(Effect::Source | Effect::Eager) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// A component of a tuple, in the function of `map@D`: the others have no place.
    fn projected(&mut self, tuple: &Atom, at: usize, acceptor: &Phrase) -> Lowering<Places> {
        if self.counts.is_none() {
            return Ok(None);
        }
        let Some(Data::Tuple(parts)) = self.types_of(std::slice::from_ref(tuple))?.and_then(only) else {
            return Ok(None);
        };
        let place = Phrase::prim(Prim::OnlyAcc(at, parts.len()), vec![], parts).app(acceptor.clone());
        Ok(Some(vec![(Source::Atom(tuple.clone()), place)]))
    }

    /// An element of an array, in the function of `map@D`: the others have no place.
    fn indexed(&mut self, array: &Atom, indices: &[Atom], acceptor: &Phrase) -> Lowering<Places> {
        let Some(counts) = self.counts.clone() else {
            return Ok(None);
        };
        if !indices.iter().all(|index| self.is_outside(index)) {
            return Ok(None);
        }
        let Some(mut rest) = self.types_of(std::slice::from_ref(array))?.and_then(only) else {
            return Ok(None);
        };
        let mut steps = Vec::new();
        for index in indices {
            let Data::Array(size, element) = rest else {
                return Ok(None);
            };
            let at = self.this.index_of_each(index, &size, &counts)?;
            steps.push((size, (*element).clone(), at));
            rest = *element;
        }
        let place = steps
            .into_iter()
            .rev()
            .fold(acceptor.clone(), |place, (size, element, at)| {
                Phrase::prim(Prim::AtAcc, vec![size], vec![element]).apply([at, place])
            });
        Ok(Some(vec![(Source::Atom(array.clone()), place)]))
    }

    /// `[a, b]`, where the elements are arrays: each goes to its row.
    fn rows(&mut self, stmt: &Stmt, rows: &[Atom], acceptor: &Phrase) -> Lowering<Places> {
        let (Some(types), [bound]) = (self.types_of(rows)?, stmt.pattern.values.as_slice()) else {
            return Ok(None);
        };
        if !self.sizes_are_known(&bound.ty) || self.this.layout(&bound.ty)?.has_rows() {
            return Ok(None);
        }
        let Data::Array(size, row) = self.this.data(&bound.ty)? else {
            return Ok(None);
        };
        if !matches!(*row, Data::Array(..)) {
            return Ok(None);
        }
        let places = rows.iter().zip(types).enumerate().map(|(at, (atom, given))| {
            let index = build::to_index(size.clone(), super::checks::int(at as i64));
            let place = build::idx_acc(size.clone(), (*row).clone(), acceptor.clone(), index);
            let place = match given.equal(&row) {
                true => place,
                false => Phrase::prim(Prim::CoerceAcc, vec![], vec![given, (*row).clone()]).app(place),
            };
            (Source::Atom(atom.clone()), place)
        });
        Ok(Some(places.collect()))
    }

    /// Views that are gone through whether or not that is written.
    fn simple(&mut self, op: &Op, acceptor: &Phrase) -> Lowering<Places> {
        let types = self.types_of(&op.args)?;
        let one = |operand: &Atom, inverse: Phrase| {
            let place = inverse.app(acceptor.clone());
            Ok(Some(vec![(Source::Atom(operand.clone()), place)]))
        };
        match (op.prim, op.args.as_slice(), types.as_deref()) {
            (Operation::Join | Operation::Transpose, [operand], Some([Data::Array(n, row)])) => {
                match &**row {
                    Data::Array(m, element) => {
                        let prim = match op.prim {
                            Operation::Join => Prim::JoinAcc,
                            _ => Prim::TransposeAcc,
                        };
                        let nats = vec![n.clone(), m.clone()];
                        one(operand, Phrase::prim(prim, nats, vec![(**element).clone()]))
                    }
                    _ => Ok(None),
                }
            }
            (Operation::Reverse, [operand], Some([Data::Array(n, element)])) => {
                let types = vec![(**element).clone()];
                one(operand, Phrase::prim(Prim::ReverseAcc, vec![n.clone()], types))
            }
            (Operation::AsScalar, [operand], Some([Data::Array(n, element)])) => match &**element {
                Data::Vector(width, scalar) => {
                    let prim = Prim::AsScalarAcc(*width, *scalar);
                    one(operand, Phrase::prim(prim, vec![n.clone()], vec![]))
                }
                _ => Ok(None),
            },
            (Operation::Zip, [a, b], Some([Data::Array(n, left), Data::Array(_, right)])) => {
                let types = vec![(**left).clone(), (**right).clone()];
                let zip = |at: usize| {
                    Phrase::prim(Prim::ZipAcc(at, 2), vec![n.clone()], types.clone()).app(acceptor.clone())
                };
                let parts = [a, b].into_iter().enumerate();
                Ok(Some(
                    parts
                        .map(|(at, part)| (Source::Atom(part.clone()), zip(at)))
                        .collect(),
                ))
            }
            (Operation::Concat, [a, b], Some([Data::Array(n, element), Data::Array(m, _)])) => {
                let part = |prim: Prim| {
                    let nats = vec![n.clone(), m.clone()];
                    Phrase::prim(prim, nats, vec![(**element).clone()]).app(acceptor.clone())
                };
                Ok(Some(vec![
                    (Source::Atom(a.clone()), part(Prim::TakeAcc)),
                    (Source::Atom(b.clone()), part(Prim::DropAcc)),
                ]))
            }
            _ => Ok(None),
        }
    }

    /// Views that are gone through where that is written.
    fn written(&mut self, op: &Op, target: &Target) -> Lowering<Places> {
        let acceptor = &target.acceptor;
        let Some(array) = op.args.last() else {
            return Ok(None);
        };
        let Some(Data::Array(size, element)) = self.types_of(std::slice::from_ref(array))?.and_then(only)
        else {
            return self.replicated(op, target);
        };
        let element = *element;
        match (op.prim, op.args.as_slice()) {
            (Operation::Split | Operation::AsVector, [width, _]) => {
                self.split(op.prim, width, array, (size, element), acceptor)
            }
            (Operation::Rotate, [by, _]) if self.is_known(by) => {
                // What is moved to the left is written further to the right, counted from the end.
                let by = self.this.rotation(by, &size)?;
                let back =
                    super::checks::binary(BinOp::Sub, ScalarType::I64, build::nat_value(size.clone()), by);
                let by = self.this.let_exp("back", &Data::Scalar(ScalarType::I64), back);
                let rotate = Phrase::prim(Prim::RotateAcc, vec![size], vec![element]);
                Ok(Some(vec![(
                    Source::Atom(array.clone()),
                    rotate.apply([by, acceptor.clone()]),
                )]))
            }
            (Operation::Pad, [left, right, value, _]) => {
                let parts = padded(left, right, &size, &element, acceptor);
                Ok(parts.map(|(l, middle, r)| {
                    vec![
                        (Source::Copies(l.0, value.clone()), l.1),
                        (Source::Atom(array.clone()), middle),
                        (Source::Copies(r.0, value.clone()), r.1),
                    ]
                }))
            }
            (Operation::PadEdge, [left, right, _]) => {
                Ok(self.padded_edge(left, right, array, (size, element), target))
            }
            // In a function nothing is checked that might not be needed.
            (Operation::Permute, [indices, _]) if self.is_known(indices) && self.counts.is_none() => {
                self.permuted(op, indices, array, (size, element), acceptor)
            }
            (Operation::Map, [_]) => self.mapped(op, array, (size, element), acceptor),
            _ => self.replicated(op, target),
        }
    }

    fn split(
        &mut self,
        prim: Operation,
        width: &Atom,
        array: &Atom,
        (size, element): (Nat, Data),
        acceptor: &Phrase,
    ) -> Lowering<Places> {
        let Some(width) = constant(width).filter(|width| *width > 0) else {
            return Ok(None);
        };
        let nat = Nat::constant(width);
        let rows = size.div(&nat);
        if &rows * &nat != size {
            return Ok(None);
        }
        let inverse = match (prim, &element) {
            (Operation::AsVector, Data::Scalar(scalar)) => {
                let width = u32::try_from(width).unwrap_or(0);
                Phrase::prim(Prim::AsVectorAcc(width, *scalar), vec![rows], vec![])
            }
            (Operation::AsVector, _) => return Ok(None),
            _ => Phrase::prim(Prim::SplitAcc, vec![rows, nat], vec![element]),
        };
        Ok(Some(vec![(
            Source::Atom(array.clone()),
            inverse.app(acceptor.clone()),
        )]))
    }

    fn padded_edge(
        &mut self,
        left: &Atom,
        right: &Atom,
        array: &Atom,
        (size, element): (Nat, Data),
        target: &Target,
    ) -> Places {
        let (left, middle, right) = padded(left, right, &size, &element, &target.acceptor)?;
        // The edges are read where they are written, if that can be read.
        let read = match &target.reader {
            Some(whole) => Array::Within {
                whole: whole.clone(),
                size: &(&left.0 + &size) + &right.0,
                first: left.0.clone(),
                count: size,
                element,
            },
            None if self.only_use(array).is_none() => Array::Named(array.clone()),
            None => return None,
        };
        let edge = |count: Nat, at: Edge| Source::Edge {
            count,
            array: read.clone(),
            at,
        };
        Some(vec![
            (Source::Atom(array.clone()), middle),
            (edge(left.0, Edge::First), left.1),
            (edge(right.0, Edge::Last), right.1),
        ])
    }

    /// `replicate@D n row`: the first row, and copies of it.
    fn replicated(&mut self, op: &Op, target: &Target) -> Lowering<Places> {
        let (Operation::Replicate, [count, row]) = (op.prim, op.args.as_slice()) else {
            return Ok(None);
        };
        let (Some(count), Some(reader)) = (constant(count).filter(|count| *count > 0), &target.reader) else {
            return Ok(None);
        };
        let Some(element @ Data::Array(..)) = self.types_of(std::slice::from_ref(row))?.and_then(only) else {
            return Ok(None);
        };
        let (one, others) = (Nat::one(), Nat::constant(count - 1));
        let size = Nat::constant(count);
        let zero = build::to_index(size.clone(), super::checks::int(0));
        let first = build::idx_acc(size.clone(), element.clone(), target.acceptor.clone(), zero);
        let rest = Phrase::prim(Prim::DropAcc, vec![one, others.clone()], vec![element.clone()]);
        let copies = Source::Edge {
            count: others,
            array: Array::Within {
                whole: reader.clone(),
                size,
                first: Nat::zero(),
                count: Nat::one(),
                element,
            },
            at: Edge::First,
        };
        Ok(Some(vec![
            (Source::Atom(row.clone()), first),
            (copies, rest.app(target.acceptor.clone())),
        ]))
    }

    /// `permute@D is a`: the indices are checked, then each element of `a` goes where they say.
    fn permuted(
        &mut self,
        op: &Op,
        indices: &Atom,
        array: &Atom,
        (size, element): (Nat, Data),
        acceptor: &Phrase,
    ) -> Lowering<Places> {
        let Some(Data::Array(_, index)) = self.types_of(std::slice::from_ref(indices))?.and_then(only) else {
            return Ok(None);
        };
        let Data::Scalar(scalar) = *index else {
            return Ok(None);
        };
        let places = self.this.checked_permutation(op, indices, scalar, &size)?;
        let permute = Phrase::prim(Prim::PermuteAcc(scalar), vec![size], vec![element]);
        let place = permute.apply([places, acceptor.clone()]);
        Ok(Some(vec![(Source::Atom(array.clone()), place)]))
    }

    /// `map@D f a` where `f` only looks at its argument: each element of `a` goes where the inverse of `f` says. What `f` takes from
    /// elsewhere goes to its place of every element (eq. 5.49).
    fn mapped(
        &mut self,
        op: &Op,
        array: &Atom,
        (size, element): (Nat, Data),
        acceptor: &Phrase,
    ) -> Lowering<Places> {
        let [lambda] = op.functions.as_slice() else {
            return Ok(None);
        };
        let [result] = lambda.result.types.as_slice() else {
            return Ok(None);
        };
        if !lambda.result.context.is_empty() || !self.is_known_function(lambda) {
            return Ok(None);
        }
        let to = self.this.data(result)?;
        let name = self.this.fresh("place");
        let counts = self.counts.iter().flatten().chain([&size]).cloned().collect();
        let Some(places) = self.inverse(lambda, Phrase::Var(name.clone()), counts)? else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for (part, place) in places {
            let (source, data) = match part {
                Written::Argument => (Source::Atom(array.clone()), element.clone()),
                Written::Elsewhere(atom) => {
                    let Some(data) = self.types_of(std::slice::from_ref(&atom))?.and_then(only) else {
                        return Ok(None);
                    };
                    (Source::Copies(size.clone(), atom), data)
                }
            };
            let function = Phrase::lam(name.clone(), PhraseType::Acc(to.clone()), place);
            let map = Phrase::prim(Prim::MapAcc, vec![size.clone()], vec![data, to.clone()]);
            found.push((source, map.apply([function, acceptor.clone()])));
        }
        Ok(Some(found))
    }

    /// Where to write the argument of a function, and what else it has, so that its result is at a place; none where the function
    /// does more than to look at its argument.
    fn inverse(
        &mut self,
        lambda: &Lambda,
        place: Phrase,
        counts: Vec<Nat>,
    ) -> Lowering<Option<Vec<(Written, Phrase)>>> {
        let ([param], [value]) = (lambda.params.as_slice(), lambda.body.values.as_slice()) else {
            return Ok(None);
        };
        if !lambda.context.is_empty() || !lambda.body.context.is_empty() {
            return Ok(None);
        }
        almach_core::build::enter_params(&mut self.this.env, &lambda.context, &lambda.params);
        let mut inside = Planner::new(self.this, &lambda.body.stmts, 0, Plan::default());
        inside.counts = Some(counts);
        inside.place(Source::Atom(value.clone()), place)?;
        if !inside.went_through_all() {
            return Ok(None);
        }
        let part = |(source, acceptor): &(Source, Phrase)| match source {
            Source::Atom(Atom::Var(var)) if *var == param.var => Some((Written::Argument, acceptor.clone())),
            Source::Atom(atom) => Some((Written::Elsewhere(atom.clone()), acceptor.clone())),
            Source::Copies(..) | Source::Edge { .. } => None,
        };
        let Some(parts) = inside.assigned().iter().map(part).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        // Where it is written twice it would be computed twice.
        let arguments = parts.iter().filter(|(part, _)| matches!(part, Written::Argument));
        Ok((arguments.count() == 1).then_some(parts))
    }
}

/// What the function of a `map@D` writes to a place.
enum Written {
    Argument,
    /// The same for every element.
    Elsewhere(Atom),
}

impl Translator<'_> {
    pub(crate) fn assign_source(&mut self, source: Source, acceptor: Phrase) -> Lowering<()> {
        let (data, value) = match source {
            Source::Atom(atom) => (self.data_of(&atom)?, self.value(&atom)?),
            Source::Copies(count, atom) => {
                let (data, value) = (self.data_of(&atom)?, self.value(&atom)?);
                replicated(count, data, value)
            }
            Source::Edge { count, array, at } => {
                let (size, element, whole, first, total) = match array {
                    Array::Named(atom) => {
                        let (size, element) = self.array_of(&atom)?;
                        (size.clone(), element, self.value(&atom)?, Nat::zero(), size)
                    }
                    Array::Within {
                        whole,
                        size,
                        first,
                        count,
                        element,
                    } => (count, element, whole, first, size),
                };
                let some = super::checks::binary(
                    BinOp::Gt,
                    ScalarType::I64,
                    build::nat_value(size.clone()),
                    super::checks::int(0),
                );
                self.check(some, Failure::EmptyArray, vec![]);
                let at = match at {
                    Edge::First => first,
                    Edge::Last => &(&first + &size) - &Nat::one(),
                };
                let at = build::to_index(total.clone(), build::nat_value(at));
                let value = build::idx(total, element.clone(), whole, at);
                replicated(count, element, value)
            }
        };
        if data.is_base() || !matches!(&data, Data::Array(size, _) if size.as_constant() == Some(0)) {
            self.push(build::assign(data, acceptor, value));
        }
        Ok(())
    }
}

fn replicated(count: Nat, element: Data, value: Phrase) -> (Data, Phrase) {
    let copies = Phrase::prim(Prim::Replicate, vec![count.clone()], vec![element.clone()]).app(value);
    (Data::array(count, element), copies)
}

type Part = (Nat, Phrase);

/// The place before an array that is padded, that of the array, and the place behind it.
fn padded(
    left: &Atom,
    right: &Atom,
    size: &Nat,
    element: &Data,
    acceptor: &Phrase,
) -> Option<(Part, Phrase, Part)> {
    let amount = |atom: &Atom| constant(atom).filter(|amount| *amount >= 0).map(Nat::constant);
    let (left, right) = (amount(left)?, amount(right)?);
    let part = |prim: Prim, n: &Nat, m: &Nat, of: Phrase| {
        Phrase::prim(prim, vec![n.clone(), m.clone()], vec![element.clone()]).app(of)
    };
    let (rest, before) = (size + &right, &left + size);
    let from_left = part(Prim::DropAcc, &left, &rest, acceptor.clone());
    let middle = part(Prim::TakeAcc, size, &right, from_left);
    let first = part(Prim::TakeAcc, &left, &rest, acceptor.clone());
    let last = part(Prim::DropAcc, &before, &right, acceptor.clone());
    Some(((left, first), middle, (right, last)))
}

fn only(types: Vec<Data>) -> Option<Data> {
    types.into_iter().next()
}

fn constant(atom: &Atom) -> Option<i64> {
    match atom {
        Atom::Const(scalar) => i64::try_from(scalar.as_integer()?).ok(),
        Atom::Var(_) => None,
    }
}
