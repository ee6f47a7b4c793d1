//! Expressions that allocate nothing: scalars, tuples, and views of arrays.

use super::Translator;
use super::bodies::coerce;
use super::checks::{binary, int};
use super::layout::{Held, Layout, Packed, ends};
use super::rows::{add, element_at, piece, subtract};
use crate::error::{Lowering, bug};
use almach_base::Name;
use almach_core::{Atom, Exp, Op, Pattern, SlicePart, Type};
use almach_dpia::{Data, Nat, Operand, Phrase, PhraseType, Prim, build};
use almach_prim::{Effect, Level, Prim as Operation};
use almach_value::{BinOp, Failure, ScalarType};

impl Translator<'_> {
    /// An expression without commands of its own, but for checks.
    pub(crate) fn expression(&mut self, exp: &Exp, pattern: &Pattern) -> Lowering<Held> {
        let value = match exp {
            Exp::Atom(atom) => return self.held(atom),
            Exp::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.held(part));
                return Ok(Held::tuple(parts.collect::<Lowering<_>>()?));
            }
            Exp::Project(tuple, at) => {
                let tuple = self.held(tuple)?;
                return match tuple.component(*at as usize) {
                    Some(part) => Ok(part),
                    None => bug("a component of what is no tuple", self.span),
                };
            }
            Exp::Construct {
                data, constructor, ..
            } if self.is_recursive(*data) => {
                let cell = self.constant_cell(*data, *constructor)?;
                return Ok(Held::plain(Data::Scalar(ScalarType::I64), cell));
            }
            Exp::Construct {
                data,
                constructor,
                fields,
            } => return self.construct(&Type::Data(*data), *constructor, fields),
            Exp::ConstructNode {
                data,
                constructor,
                fields,
            } => return self.construct(&Type::Node(*data), *constructor, fields),
            Exp::Index { array, indices } => {
                let row = self.indexed(array, indices)?;
                return self.opened_for(&row, pattern);
            }
            Exp::Slice { array, parts } => {
                let part = self.sliced_held(array, parts)?;
                return self.opened_for(&part, pattern);
            }
            Exp::Coerce { value, to } => return self.coerced(value, to),
            _ => self.scalar_expression(exp)?,
        };
        match pattern.values.as_slice() {
            [bound] => Ok(Held::plain(self.data(&bound.ty)?, value)),
            _ => bug("an expression that gives several values", self.span),
        }
    }

    /// Operators on scalars and short vectors.
    fn scalar_expression(&mut self, exp: &Exp) -> Lowering<Phrase> {
        match exp {
            Exp::Unary(op, a) => {
                let on = self.operand(a)?;
                Ok(Phrase::prim(Prim::Unary(*op, on), vec![], vec![]).app(self.value(a)?))
            }
            Exp::Binary(op, a, b) => {
                let (left, right) = (self.operand(a)?, self.operand(b)?);
                let on = Operand {
                    scalar: left.scalar,
                    width: left.width.or(right.width),
                };
                self.operator_check(*op, on.scalar, b, right)?;
                let (a, b) = (self.spread(a, on)?, self.spread(b, on)?);
                Ok(Phrase::prim(Prim::Binary(*op, on), vec![], vec![]).apply([a, b]))
            }
            Exp::Ternary(op, a, b, c) => {
                let operands = [self.operand(a)?, self.operand(b)?, self.operand(c)?];
                let width = operands.iter().find_map(|operand| operand.width);
                let scalar = operands.first().map_or(ScalarType::F32, |operand| operand.scalar);
                let on = Operand { scalar, width };
                let arguments = [self.spread(a, on)?, self.spread(b, on)?, self.spread(c, on)?];
                Ok(Phrase::prim(Prim::Ternary(*op, on), vec![], vec![]).apply(arguments))
            }
            _ => bug("a command where an expression should be", self.span),
        }
    }

    /// A value as a pattern binds it, with the sizes of its rows.
    pub(crate) fn opened_for(&mut self, held: &Held, pattern: &Pattern) -> Lowering<Held> {
        match pattern.values.as_slice() {
            [bound] => self.opened(held, &bound.ty, &pattern.context),
            _ => bug("an expression that gives several values", self.span),
        }
    }

    fn operand(&self, atom: &Atom) -> Lowering<Operand> {
        match self.type_of(atom)? {
            Type::Scalar(scalar) => Ok(Operand::scalar(scalar)),
            Type::Vector(width, scalar) => Ok(Operand {
                scalar,
                width: Some(width),
            }),
            _ => bug("an operator on something else", self.span),
        }
    }

    /// A scalar operand of a vector operator goes to every lane.
    fn spread(&self, atom: &Atom, on: Operand) -> Lowering<Phrase> {
        let value = self.value(atom)?;
        Ok(match (self.operand(atom)?.width, on.width) {
            (None, Some(width)) => Phrase::prim(Prim::Splat(width, on.scalar), vec![], vec![]).app(value),
            _ => value,
        })
    }

    fn indexed(&mut self, array: &Atom, indices: &[Atom]) -> Lowering<Held> {
        let mut held = self.held(array)?;
        for index in indices {
            held = self.element(&held, index)?;
        }
        Ok(held)
    }

    /// One element of an array or row; the index is checked.
    pub(crate) fn element(&mut self, held: &Held, index: &Atom) -> Lowering<Held> {
        if let Layout::Row(pool, inner) = &held.layout {
            let Some(pool) = held.pools.get(*pool) else {
                return bug("rows without a pool", self.span);
            };
            let i64 = Data::Scalar(ScalarType::I64);
            let (begin, end) = ends(&held.data);
            let begin = self.let_exp("begin", &i64, begin);
            let count = self.let_nat("count", subtract(end, begin.clone()));
            let at = self.index(index, &count)?;
            let value = element_at(pool, add(begin, build::of_index(count, at)));
            return Ok(held.part(inner, value, Packed::No));
        }
        let Some((size, inner)) = held.layout.elements() else {
            return bug("an index into what is no array", self.span);
        };
        let at = self.index(index, &size)?;
        let value = build::idx(size, inner.data(), held.data.clone(), at);
        Ok(held.part(&inner, value, Packed::No))
    }

    /// Leading indices lead into rows; below the first slice everything is regular.
    fn sliced_held(&mut self, array: &Atom, parts: &[SlicePart]) -> Lowering<Held> {
        let mut held = self.held(array)?;
        let mut rest = parts;
        while let Some((SlicePart::At(index), others)) = rest.split_first() {
            held = self.element(&held, index)?;
            rest = others;
        }
        if rest.is_empty() {
            return Ok(held);
        }
        if let Layout::Row(pool, inner) = &held.layout {
            let Some(pool) = held.pools.get(*pool) else {
                return bug("rows without a pool", self.span);
            };
            let i64 = Data::Scalar(ScalarType::I64);
            let (begin, end) = ends(&held.data);
            let begin = self.let_exp("begin", &i64, begin);
            let count = self.let_nat("count", subtract(end, begin.clone()));
            let row = piece(pool, begin, count.clone());
            held = held.part(&Layout::array(count, (**inner).clone()), row, Packed::No);
        }
        let data = held.layout.data();
        let parts = self.slice_parts(&data, rest)?;
        let value = self.sliced(held.data.clone(), &data, &parts);
        Ok(held.part(&sliced_layout(&held.layout, &parts), value, Packed::No))
    }

    fn coerced(&mut self, value: &Atom, to: &Type) -> Lowering<Held> {
        let (from, to) = (self.held(value)?, self.layout(to)?);
        self.check_layout(&to, &from.layout, &from.data, &from.pools)?;
        self.convert(&from, &to)
    }

    pub(crate) fn check_sizes(&mut self, wanted: &Data, found: &Data) {
        match (wanted, found) {
            (Data::Array(n, a), Data::Array(m, b)) => {
                self.same_size(n, m);
                self.check_sizes(a, b);
            }
            (Data::Tuple(a), Data::Tuple(b)) => a.iter().zip(b).for_each(|(a, b)| self.check_sizes(a, b)),
            _ => {}
        }
    }

    /// Checked parts of a slice or update.
    pub(crate) fn slice_parts(&mut self, data: &Data, parts: &[SlicePart]) -> Lowering<Vec<Part>> {
        let mut data = data.clone();
        let mut result = Vec::new();
        for part in parts {
            let Data::Array(size, element) = data else {
                return bug("a slice of what is no array", self.span);
            };
            result.push(match part {
                SlicePart::At(index) => Part::At(self.index(index, &size)?),
                SlicePart::Slice { begin, count, step } => {
                    let scalar = Data::Scalar(ScalarType::I64);
                    let begin = self.value(begin)?;
                    let begin = self.let_exp("begin", &scalar, begin);
                    let step = self.value(step)?;
                    let step = self.let_exp("step", &scalar, step);
                    let count = self.count(count)?;
                    self.slice_inside(begin.clone(), &count, step.clone(), &size);
                    Part::Slice { begin, count, step }
                }
            });
            data = *element;
        }
        Ok(result)
    }

    /// The part of an array that a slice takes. What stands below a sliced dimension is taken row by row.
    fn sliced(&mut self, value: Phrase, data: &Data, parts: &[Part]) -> Phrase {
        let (Some((first, rest)), Data::Array(size, element)) = (parts.split_first(), data) else {
            return value;
        };
        match first {
            Part::At(index) => {
                let row = build::idx(size.clone(), (**element).clone(), value, index.clone());
                self.sliced(row, element, rest)
            }
            Part::Slice { begin, count, step } => {
                let nats = vec![size.clone(), count.clone()];
                let taken = Phrase::prim(Prim::Slice, nats, vec![(**element).clone()]).apply([
                    begin.clone(),
                    step.clone(),
                    value,
                ]);
                if rest.is_empty() {
                    return taken;
                }
                let row_name = self.fresh("row");
                let row = self.sliced(Phrase::Var(row_name.clone()), element, rest);
                let result = sliced_type(element, rest);
                mapped(count.clone(), (**element).clone(), result, row_name, row, taken)
            }
        }
    }

    /// Operations that only look at their arguments in another way; none where the operation computes.
    pub(crate) fn view(&mut self, op: &Op, pattern: &Pattern) -> Lowering<Option<Phrase>> {
        let argument = |at: usize| op.args.get(at).cloned();
        let (Some(first), second) = (argument(0), argument(1)) else {
            return bug("an operation without arguments", self.span);
        };
        Ok(Some(match op.prim {
            Operation::Length => build::nat_value(self.array_of(&first)?.0),
            Operation::Iota => {
                let size = self.count(&first)?;
                self.not_negative(&size);
                Phrase::prim(Prim::Iota, vec![size], vec![])
            }
            Operation::Replicate => {
                let (size, value) = (self.count(&first)?, self.second(second)?);
                self.not_negative(&size);
                let data = self.data_of(&value)?;
                Phrase::prim(Prim::Replicate, vec![size], vec![data]).app(self.value(&value)?)
            }
            Operation::Zip => {
                let second = self.second(second)?;
                let ((size, a), (_, b)) = (self.array_of(&first)?, self.array_of(&second)?);
                Phrase::prim(Prim::Zip(2), vec![size], vec![a, b])
                    .apply([self.value(&first)?, self.value(&second)?])
            }
            Operation::Unzip => self.unzip(&first)?,
            Operation::Reverse => self.simple(Prim::Reverse, &first)?,
            Operation::Transpose | Operation::Join => self.two_dimensional(op.prim, &first)?,
            Operation::Concat => {
                let second = self.second(second)?;
                let ((n, element), (m, _)) = (self.array_of(&first)?, self.array_of(&second)?);
                Phrase::prim(Prim::Concat, vec![n, m], vec![element])
                    .apply([self.value(&first)?, self.value(&second)?])
            }
            Operation::Rotate => self.rotate(&first, &self.second(second)?)?,
            Operation::Split | Operation::AsVector => self.split(op.prim, &first, &self.second(second)?)?,
            Operation::AsScalar => match self.array_of(&first)? {
                (size, Data::Vector(width, scalar)) => {
                    Phrase::prim(Prim::AsScalar(width, scalar), vec![size], vec![]).app(self.value(&first)?)
                }
                _ => return bug("`asScalar` of what are no vectors", self.span),
            },
            Operation::Take | Operation::Drop => self.take_or_drop(op.prim, &first, &self.second(second)?)?,
            Operation::Pad | Operation::PadEdge => self.pad(op)?,
            Operation::Slide => self.slide(op, pattern)?,
            Operation::Range => self.range(op, pattern)?,
            Operation::Map if self.is_lazy(op) => return self.map_view(op),
            Operation::Gather if op.annotation.effect == Some(Effect::Source) => self.gather_view(op)?,
            _ => return Ok(None),
        }))
    }

    fn second(&self, atom: Option<Atom>) -> Lowering<Atom> {
        match atom {
            Some(atom) => Ok(atom),
            None => bug("an operation without its second argument", self.span),
        }
    }

    fn simple(&mut self, prim: Prim, array: &Atom) -> Lowering<Phrase> {
        let (size, element) = self.array_of(array)?;
        Ok(Phrase::prim(prim, vec![size], vec![element]).app(self.value(array)?))
    }

    fn unzip(&mut self, pairs: &Atom) -> Lowering<Phrase> {
        let (size, Data::Tuple(parts)) = self.array_of(pairs)? else {
            return bug("`unzip` of what are no tuples", self.span);
        };
        let value = self.value(pairs)?;
        let arrays = (0..parts.len()).map(|at| {
            Phrase::prim(Prim::Unzip(at, parts.len()), vec![size.clone()], parts.clone()).app(value.clone())
        });
        let types: Vec<Data> = parts
            .iter()
            .map(|part| Data::array(size.clone(), part.clone()))
            .collect();
        Ok(build::tuple(&types, arrays.collect()))
    }

    fn two_dimensional(&mut self, prim: Operation, array: &Atom) -> Lowering<Phrase> {
        let (n, Data::Array(m, element)) = self.array_of(array)? else {
            return bug("rows that are no arrays", self.span);
        };
        let prim = match prim {
            Operation::Join => Prim::Join,
            _ => Prim::Transpose,
        };
        Ok(Phrase::prim(prim, vec![n, m], vec![*element]).app(self.value(array)?))
    }

    fn rotate(&mut self, by: &Atom, array: &Atom) -> Lowering<Phrase> {
        let (size, element) = self.array_of(array)?;
        let by = self.rotation(by, &size)?;
        Ok(Phrase::prim(Prim::Rotate, vec![size], vec![element]).apply([by, self.value(array)?]))
    }

    /// By how much an array of that size is rotated: in `0..n`, whatever the sign; an empty array is never read.
    pub(crate) fn rotation(&mut self, by: &Atom, size: &Nat) -> Lowering<Phrase> {
        let i64 = ScalarType::I64;
        let n = build::nat_value(size.clone());
        let positive = binary(BinOp::Max, i64, n, int(1));
        let positive = self.let_exp("length", &Data::Scalar(i64), positive);
        let rest = binary(BinOp::Rem, i64, self.value(by)?, positive.clone());
        let shifted = binary(BinOp::Add, i64, rest, positive.clone());
        let by = binary(BinOp::Rem, i64, shifted, positive);
        Ok(self.let_exp("by", &Data::Scalar(i64), by))
    }

    /// `split m xs` and `asVector m xs`: the size must be a multiple.
    fn split(&mut self, prim: Operation, width: &Atom, array: &Atom) -> Lowering<Phrase> {
        let (size, element) = self.array_of(array)?;
        let width_nat = self.count(width)?;
        let rows = size.div(&width_nat);
        let i64 = ScalarType::I64;
        let exact = &rows * &width_nat;
        if width_nat.as_constant().is_none_or(|width| width <= 0) {
            let positive = binary(BinOp::Gt, i64, build::nat_value(width_nat.clone()), int(0));
            let arguments = vec![
                build::nat_value(size.clone()),
                build::nat_value(width_nat.clone()),
            ];
            self.check(positive, Failure::NotDivisible, arguments);
        }
        if exact != size {
            let divides = binary(
                BinOp::Eq,
                i64,
                binary(
                    BinOp::Rem,
                    i64,
                    build::nat_value(size.clone()),
                    build::nat_value(width_nat.clone()),
                ),
                int(0),
            );
            let arguments = vec![
                build::nat_value(size.clone()),
                build::nat_value(width_nat.clone()),
            ];
            self.check(divides, Failure::NotDivisible, arguments);
        }
        let from = Data::array(size, element.clone());
        let value = coerce(&from, &Data::array(exact, element.clone()), self.value(array)?);
        match (prim, element, width_nat.as_constant()) {
            (Operation::AsVector, Data::Scalar(scalar), Some(width)) => {
                let width = u32::try_from(width).unwrap_or(0);
                Ok(Phrase::prim(Prim::AsVector(width, scalar), vec![rows], vec![]).app(value))
            }
            (Operation::AsVector, ..) => bug("`asVector` of what are no scalars", self.span),
            (_, element, _) => Ok(Phrase::prim(Prim::Split, vec![rows, width_nat], vec![element]).app(value)),
        }
    }

    fn take_or_drop(&mut self, prim: Operation, count: &Atom, array: &Atom) -> Lowering<Phrase> {
        let (size, element) = self.array_of(array)?;
        let count = self.count(count)?;
        self.not_negative(&count);
        let (begin, taken) = match prim {
            Operation::Take => (int(0), count.clone()),
            _ => (build::nat_value(count.clone()), &size - &count),
        };
        let (count, all) = (build::nat_value(count), build::nat_value(size.clone()));
        let inside = binary(BinOp::Le, ScalarType::I64, count.clone(), all.clone());
        self.check(inside, Failure::TooFewElements, vec![all, count]);
        let slice = Phrase::prim(Prim::Slice, vec![size, taken], vec![element]);
        Ok(slice.apply([begin, int(1), self.value(array)?]))
    }

    fn pad(&mut self, op: &Op) -> Lowering<Phrase> {
        let (left, right, value, array) = match op.args.as_slice() {
            [left, right, value, array] => (left, right, Some(value), array),
            [left, right, array] => (left, right, None, array),
            _ => return bug("`pad` without its arguments", self.span),
        };
        let (size, element) = self.array_of(array)?;
        let (left, right) = (self.count(left)?, self.count(right)?);
        self.not_negative(&left);
        self.not_negative(&right);
        let nats = vec![left.clone(), size.clone(), right.clone()];
        let source = self.value(array)?;
        match value {
            Some(value) => {
                Ok(Phrase::prim(Prim::Pad, nats, vec![element]).apply([self.value(value)?, source]))
            }
            None => {
                let i64 = ScalarType::I64;
                let some = binary(BinOp::Gt, i64, build::nat_value(size), int(0));
                self.check(some, Failure::EmptyArray, vec![]);
                Ok(Phrase::prim(Prim::PadEdge, nats, vec![element]).app(source))
            }
        }
    }

    fn slide(&mut self, op: &Op, pattern: &Pattern) -> Lowering<Phrase> {
        let [width, step, array] = op.args.as_slice() else {
            return bug("`slide` without its arguments", self.span);
        };
        let (size, element) = self.array_of(array)?;
        let (width, step) = (self.count(width)?, self.count(step)?);
        let i64 = ScalarType::I64;
        self.not_negative(&width);
        if step.as_constant().is_none_or(|step| step <= 0) {
            let positive = binary(BinOp::Gt, i64, build::nat_value(step.clone()), int(0));
            self.check(positive, Failure::ZeroStep, vec![]);
        }
        let windows = (&size - &width + &step).div(&step);
        let windows = match pattern.context.as_slice() {
            [] => windows,
            _ => {
                // No windows where the array is too short.
                let fits = binary(
                    BinOp::Ge,
                    i64,
                    build::nat_value(size.clone()),
                    build::nat_value(width.clone()),
                );
                let select = Phrase::prim(Prim::Select, vec![], vec![Data::Scalar(i64)]);
                let count = select.apply([fits, build::nat_value(windows), int(0)]);
                self.bind_context(pattern, count)?
            }
        };
        let nats = vec![size, windows, width];
        let step = build::nat_value(step);
        Ok(Phrase::prim(Prim::Slide, nats, vec![element]).apply([step, self.value(array)?]))
    }

    /// `begin`, `begin + step`, … short of `end`.
    fn range(&mut self, op: &Op, pattern: &Pattern) -> Lowering<Phrase> {
        let [begin, end, step] = op.args.as_slice() else {
            return bug("`range` without its arguments", self.span);
        };
        let i64 = ScalarType::I64;
        let scalar = Data::Scalar(i64);
        let name = |this: &mut Self, stem: &str, atom: &Atom| -> Lowering<Phrase> {
            let value = this.value(atom)?;
            Ok(this.let_exp(stem, &scalar, value))
        };
        let (begin, end, step) = (
            name(self, "begin", begin)?,
            name(self, "end", end)?,
            name(self, "step", step)?,
        );
        let not_zero = binary(BinOp::Ne, i64, step.clone(), int(0));
        self.check(not_zero, Failure::ZeroStep, vec![]);
        let select = |condition, then, otherwise| {
            Phrase::prim(Prim::Select, vec![], vec![Data::Scalar(i64)]).apply([condition, then, otherwise])
        };
        let rises = binary(BinOp::Gt, i64, step.clone(), int(0));
        let sub = |a: &Phrase, b: &Phrase| binary(BinOp::Sub, i64, a.clone(), b.clone());
        let up = binary(BinOp::Div, i64, sub(&sub(&end, &begin), &int(1)), step.clone());
        let down = binary(
            BinOp::Div,
            i64,
            sub(&sub(&begin, &end), &int(1)),
            super::checks::unary(almach_value::UnOp::Neg, i64, step.clone()),
        );
        let some = Phrase::prim(Prim::Select, vec![], vec![Data::Scalar(ScalarType::Bool)]).apply([
            rises.clone(),
            binary(BinOp::Lt, i64, begin.clone(), end.clone()),
            binary(BinOp::Gt, i64, begin.clone(), end.clone()),
        ]);
        let count = select(
            some,
            binary(BinOp::Add, i64, select(rises, up, down), int(1)),
            int(0),
        );
        let count = self.bind_context(pattern, count)?;
        let at = self.fresh("at");
        let value = binary(
            BinOp::Add,
            i64,
            begin,
            binary(BinOp::Mul, i64, step, Phrase::Var(at.clone())),
        );
        let iota = Phrase::prim(Prim::Iota, vec![count.clone()], vec![]);
        Ok(mapped(
            count,
            Data::Scalar(i64),
            Data::Scalar(i64),
            at,
            value,
            iota,
        ))
    }

    /// The one size a pattern binds, from a number.
    pub(crate) fn bind_context(&mut self, pattern: &Pattern, value: Phrase) -> Lowering<Nat> {
        let [var] = pattern.context.as_slice() else {
            return bug("an operation with several sizes of its own", self.span);
        };
        self.bind_size_var(var, value);
        Ok(Nat::var(super::name_of(var)))
    }
}

/// A checked part of a slice.
#[derive(Clone)]
pub(crate) enum Part {
    At(Phrase),
    Slice { begin: Phrase, count: Nat, step: Phrase },
}

/// The type of what a slice takes.
pub(crate) fn sliced_type(data: &Data, parts: &[Part]) -> Data {
    match (data, parts.split_first()) {
        (Data::Array(_, element), Some((Part::At(_), rest))) => sliced_type(element, rest),
        (Data::Array(_, element), Some((Part::Slice { count, .. }, rest))) => {
            Data::array(count.clone(), sliced_type(element, rest))
        }
        _ => data.clone(),
    }
}

/// The same for what a slice takes of rows.
pub(crate) fn sliced_layout(layout: &Layout, parts: &[Part]) -> Layout {
    match (layout.elements(), parts.split_first()) {
        (Some((_, element)), Some((Part::At(_), rest))) => sliced_layout(&element, rest),
        (Some((_, element)), Some((Part::Slice { count, .. }, rest))) => {
            Layout::array(count.clone(), sliced_layout(&element, rest))
        }
        _ => layout.clone(),
    }
}

/// A view of every element: `map` over views is a view.
pub(crate) fn mapped(size: Nat, from: Data, to: Data, name: Name, body: Phrase, array: Phrase) -> Phrase {
    let function = Phrase::lam(name, PhraseType::Exp(from.clone()), body);
    Phrase::prim(Prim::Map(Level::Seq), vec![size], vec![from, to]).apply([function, array])
}
