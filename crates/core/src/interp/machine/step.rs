//! The loop over the instructions of one function.

use super::access::{element_into, size_at};
use super::{Exit, Slot};
use crate::interp::code::{
    B, CoerceInstr, ConstructInstr, FastOp, FieldInstr, ForeignInstr, Held, IndexInstr, Input, Instr, Last,
    Output, PartialInstr, S, TraceInstr, Use, WholeInstr,
};
use crate::interp::error::{Fail, FailKind, Site};
use crate::interp::whole;
use crate::interp::{Host, Limits};
use crate::ir::ForeignDef;
use almach_value::raw::RawScalar;
use almach_value::{ArrayValue, Datum, Elements, Failure, Scalar, ScalarType, Value};
use std::sync::Arc;

/// One function's slots while it runs.
pub(super) struct Step<'a> {
    pub scalars: &'a mut [u64],
    pub boxed: &'a mut [Slot],
    pub limits: &'a Limits,
    pub host: &'a mut dyn Host,
    pub foreign: &'a [ForeignDef],
}

pub(super) fn bug(what: &str) -> Fail {
    FailKind::bug(what).at(Site::NONE)
}

impl Step<'_> {
    #[inline(always)]
    pub(super) fn get(&self, reg: S) -> u64 {
        self.scalars[reg.0 as usize]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, reg: S, raw: u64) {
        self.scalars[reg.0 as usize] = raw;
    }

    /// Runs from `at` until the function calls or returns; `at` then is where that happened, or what failed.
    pub(super) fn run(&mut self, code: &[Instr], at: &mut usize) -> Result<Exit, Fail> {
        let mut pc = *at;
        loop {
            let Some(instr) = code.get(pc) else {
                return Err(bug("the code of a function ended without a return"));
            };
            pc += 1;
            match instr {
                Instr::Const(to, raw) => self.set(*to, *raw),
                Instr::Copy(to, from) => self.set(*to, self.get(*from)),
                Instr::Unary { function, to, arg } => self.set(*to, function(self.get(*arg))),
                Instr::Binary {
                    function,
                    to,
                    left,
                    right,
                } => self.set(*to, function(self.get(*left), self.get(*right))),
                Instr::BinaryRight {
                    function,
                    to,
                    left,
                    right,
                } => self.set(*to, function(self.get(*left), *right)),
                Instr::BinaryLeft {
                    function,
                    to,
                    left,
                    right,
                } => self.set(*to, function(*left, self.get(*right))),
                Instr::Fast { op, to, left, right } => {
                    self.set(*to, fast(*op, self.get(*left), self.get(*right)));
                }
                Instr::Move(to, from) => {
                    let value = self.slot(*from);
                    self.put_slot(*to, value);
                }
                Instr::Ternary {
                    function,
                    to,
                    args: [a, b, c],
                } => {
                    self.set(*to, function(self.get(*a), self.get(*b), self.get(*c)));
                }
                Instr::Partial(partial) => {
                    *at = pc - 1;
                    self.partial(partial)?;
                }
                Instr::Fetch { to, array, at: index } => {
                    let elements = match &self.boxed[array.0 as usize] {
                        Slot::Value(Value::Array(array)) => Some(&array.elements),
                        Slot::Open(array) => Some(&array.elements),
                        _ => None,
                    };
                    let raw = match elements {
                        Some(Elements::Scalars(buffer)) => buffer.get_raw(self.get(*index) as usize),
                        _ => None,
                    };
                    match raw {
                        Some(raw) => self.set(*to, raw),
                        None => return Err(bug("an element that is not there")),
                    }
                }
                Instr::Push { array, value } => {
                    let raw = self.get(*value);
                    match &mut self.boxed[array.0 as usize] {
                        Slot::Open(array) => match &mut array.elements {
                            Elements::Scalars(buffer) => {
                                buffer.push_raw(raw);
                                array.len += 1;
                            }
                            _ => return Err(bug("a scalar for an array of others")),
                        },
                        _ => return Err(bug("an array that is not open")),
                    }
                }
                Instr::Index {
                    to,
                    array,
                    at: index,
                    ty,
                    site,
                } => {
                    let position = self.get(*index);
                    let found = match &self.boxed[array.0 as usize] {
                        Slot::Value(Value::Array(array)) => match &array.elements {
                            Elements::Scalars(buffer) => {
                                let found = usize::try_from(position).ok();
                                let found = found.and_then(|position| buffer.get_raw(position));
                                found.ok_or(array.len)
                            }
                            _ => return Err(bug("a scalar of an array of others")),
                        },
                        _ => return Err(bug("an array that is none")),
                    };
                    match found {
                        Ok(raw) => self.set(*to, raw),
                        Err(size) => {
                            *at = pc - 1;
                            return Err(out_of_bounds(position, *ty, size).at(*site));
                        }
                    }
                }
                Instr::Jump(target) => pc = *target as usize,
                Instr::JumpUnless(condition, target) => {
                    if self.get(*condition) == 0 {
                        pc = *target as usize;
                    }
                }
                Instr::CountFrom { counter, bound, exit } => {
                    self.set(*counter, 0);
                    if self.get(*bound) as i64 <= 0 {
                        pc = *exit as usize;
                    }
                }
                Instr::CountOn { counter, bound, body } => {
                    let next = self.get(*counter) as i64 + 1;
                    if next < self.get(*bound) as i64 {
                        self.set(*counter, next as u64);
                        pc = *body as usize;
                    }
                }
                Instr::Switch { on, targets } => {
                    let constructor = self.constructor(*on)? as usize;
                    let target = targets.get(constructor).or(targets.last());
                    match target {
                        Some(target) => pc = *target as usize,
                        None => return Err(bug("a case without arms")),
                    }
                }
                Instr::Call(_) => {
                    *at = pc - 1;
                    return Ok(Exit::Call(pc - 1));
                }
                Instr::TailCall(_) => {
                    *at = pc - 1;
                    return Ok(Exit::TailCall(pc - 1));
                }
                Instr::Return(_) => {
                    *at = pc - 1;
                    return Ok(Exit::Return(pc - 1));
                }
                other => {
                    *at = pc - 1;
                    self.large(other)?;
                }
            }
        }
    }

    /// Instructions that take their time.
    #[inline(never)]
    fn large(&mut self, instr: &Instr) -> Result<(), Fail> {
        match instr {
            Instr::Value(to, value) => {
                self.put(*to, value.clone());
                Ok(())
            }
            Instr::Drop(reg) => {
                self.put_slot(*reg, Slot::Empty);
                Ok(())
            }
            Instr::Size(size) => {
                let found = size_at(self.array(size.array)?, &size.path);
                let found = found.ok_or_else(|| bug("a size that is not there"))?;
                self.set(size.to, found as u64);
                Ok(())
            }
            Instr::FetchAny(fetch) => {
                let at = self.get(fetch.at) as usize;
                self.element(fetch.array, at, &fetch.to)
            }
            Instr::IndexAny(index) => self.index(index),
            Instr::SliceOf(slice) => self.slice(slice),
            Instr::Update(update) => self.update(update),
            Instr::UpdateScalar(update) => self.update_scalar(update),
            Instr::Begin(begin) => self.begin(begin),
            Instr::PushAny(push) => self.push(push),
            Instr::Open { to, array, cells } => self.open(*to, *array, *cells),
            Instr::SetCell(set) => self.set_cell(set),
            Instr::Finish { to, array } => self.finish(*to, *array),
            Instr::Pack(pack) => self.pack(pack),
            Instr::InRange { to, array, at } => {
                let len = self.array(*array)?.len as u64;
                let inside = self.get(*at) < len;
                self.set(*to, inside.into());
                Ok(())
            }
            Instr::MakeTuples(make) => self.make_tuples(make),
            Instr::Literal(literal) => self.literal(literal),
            Instr::Construct(construct) => self.construct(construct),
            Instr::Field(field) => self.field(field),
            Instr::Whole(instr) => self.whole(instr),
            Instr::Coerce(coerce) => self.coerce(coerce),
            Instr::Assert(assert) => match self.get(assert.condition) {
                0 => Err(FailKind::Assertion(assert.text.to_string()).at(assert.site)),
                _ => Ok(()),
            },
            Instr::Trace(trace) => self.trace(trace),
            Instr::Foreign(foreign) => self.foreign(foreign),
            Instr::Bug(what) => Err(bug(what)),
            Instr::Const(..)
            | Instr::Move(..)
            | Instr::Copy(..)
            | Instr::Unary { .. }
            | Instr::Binary { .. }
            | Instr::BinaryRight { .. }
            | Instr::BinaryLeft { .. }
            | Instr::Partial(_)
            | Instr::Ternary { .. }
            | Instr::Fast { .. }
            | Instr::Fetch { .. }
            | Instr::Index { .. }
            | Instr::Push { .. }
            | Instr::Call(_)
            | Instr::TailCall(_)
            | Instr::Return(_)
            | Instr::Jump(_)
            | Instr::JumpUnless(..)
            | Instr::CountFrom { .. }
            | Instr::CountOn { .. }
            | Instr::Switch { .. } => Err(bug("an instruction of the inner loop outside it")),
        }
    }

    fn partial(&mut self, partial: &PartialInstr) -> Result<(), Fail> {
        let (left, right) = (self.get(partial.left), self.get(partial.right));
        match (partial.function)(left, right) {
            Ok(raw) => {
                self.set(partial.to, raw);
                Ok(())
            }
            Err(error) => {
                let right = integer(right, partial.ty);
                Err(FailKind::failure(error.into(), [right]).at(partial.site))
            }
        }
    }

    pub(super) fn slot(&mut self, from: Use) -> Slot {
        let slot = &mut self.boxed[from.reg.0 as usize];
        match from.last {
            Last::Yes => std::mem::take(slot),
            Last::No => slot.clone(),
        }
    }

    pub(super) fn put_slot(&mut self, to: B, slot: Slot) {
        self.boxed[to.0 as usize] = slot;
    }

    pub(super) fn put(&mut self, to: B, value: Value) {
        self.put_slot(to, Slot::Value(value));
    }

    fn value(&mut self, from: Use) -> Result<Value, Fail> {
        match self.slot(from) {
            Slot::Value(value) => Ok(value),
            Slot::Empty => Err(bug("a value that is gone")),
            Slot::Open(_) => Err(bug("a value that is not finished")),
        }
    }

    pub(super) fn array_value(&mut self, from: Use) -> Result<Arc<ArrayValue>, Fail> {
        match self.value(from)? {
            Value::Array(array) => Ok(array),
            _ => Err(bug("an array that is none")),
        }
    }

    /// An array to look at, finished or open.
    pub(super) fn array(&self, reg: B) -> Result<&ArrayValue, Fail> {
        match &self.boxed[reg.0 as usize] {
            Slot::Value(Value::Array(array)) => Ok(array),
            Slot::Open(array) => Ok(array),
            _ => Err(bug("an array that is none")),
        }
    }

    pub(super) fn opened(&mut self, reg: B) -> Result<&mut ArrayValue, Fail> {
        match &mut self.boxed[reg.0 as usize] {
            Slot::Open(array) => Ok(array),
            _ => Err(bug("an array that is not open")),
        }
    }

    fn constructor(&self, reg: B) -> Result<u32, Fail> {
        match &self.boxed[reg.0 as usize] {
            Slot::Value(Value::Sum(sum)) => Ok(sum.constructor),
            Slot::Value(Value::Datum(datum)) => Ok(datum.constructor()),
            _ => Err(bug("data that are none")),
        }
    }

    /// A value as one.
    pub(super) fn load(&mut self, input: &Input) -> Result<Value, Fail> {
        Ok(match input {
            Input::Scalar(reg, ty) => Value::Scalar(Scalar::from_raw(*ty, self.get(*reg))),
            Input::Lanes(regs, ty) => {
                Value::vector(regs.iter().map(|reg| Scalar::from_raw(*ty, self.get(*reg))))
            }
            Input::Tuple(parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for part in parts {
                    values.push(self.load(part)?);
                }
                Value::tuple(values)
            }
            Input::Boxed(reg) => self.value(*reg)?,
        })
    }

    fn load_all(&mut self, inputs: &[Input]) -> Result<Vec<Value>, Fail> {
        let mut values = Vec::with_capacity(inputs.len());
        for input in inputs {
            values.push(self.load(input)?);
        }
        Ok(values)
    }

    fn store(&mut self, value: Value, output: &Output) -> Result<(), Fail> {
        match (output, value) {
            (Output::Ignored, _) => {}
            (Output::Scalar(reg), Value::Scalar(scalar)) => self.set(*reg, scalar.to_raw()),
            (Output::Lanes(regs), Value::Vector(lanes)) if regs.len() == lanes.len() => {
                for (reg, lane) in regs.iter().zip(lanes.iter()) {
                    self.set(*reg, lane.to_raw());
                }
            }
            (Output::Tuple(outputs), Value::Tuple(parts)) if outputs.len() == parts.len() => {
                for (output, part) in outputs.iter().zip(parts.iter()) {
                    self.store(part.clone(), output)?;
                }
            }
            (Output::Boxed(reg), value) => self.put(*reg, value),
            _ => return Err(bug("a value that does not fit its place")),
        }
        Ok(())
    }

    /// An element of an array that is there, known to be in bounds.
    fn element(&mut self, reg: B, at: usize, to: &Output) -> Result<(), Fail> {
        // The array leaves its slot meanwhile, so that the element can be written to others.
        let slot = std::mem::take(&mut self.boxed[reg.0 as usize]);
        let array: Option<&ArrayValue> = match &slot {
            Slot::Value(Value::Array(array)) => Some(array),
            Slot::Open(array) => Some(array),
            _ => None,
        };
        let done = match array {
            Some(array) => element_into(array, at, to, self.scalars, self.boxed),
            None => false,
        };
        self.boxed[reg.0 as usize] = slot;
        if done {
            Ok(())
        } else {
            Err(bug("an element that is not there"))
        }
    }

    fn index(&mut self, index: &IndexInstr) -> Result<(), Fail> {
        let slot = std::mem::take(&mut self.boxed[index.array.0 as usize]);
        let result = match &slot {
            Slot::Value(Value::Array(array)) => self.index_in(array, index),
            _ => Err(bug("an array that is none")),
        };
        self.boxed[index.array.0 as usize] = slot;
        result
    }

    fn index_in(&mut self, array: &ArrayValue, index: &IndexInstr) -> Result<(), Fail> {
        let mut array = array;
        let mut start = 0;
        let mut len = array.len;
        let mut indices = index.indices.iter();
        let mut next = indices.next();
        while let Some(input) = next {
            let raw = self.get(input.reg);
            let position = usize::try_from(raw).ok().filter(|position| *position < len);
            let Some(position) = position else {
                return Err(out_of_bounds(raw, input.ty, len).at(index.site));
            };
            start += position;
            next = indices.next();
            if next.is_some() {
                let Some((inner, range)) = array.row_range(start) else {
                    return Err(bug("more indices than dimensions"));
                };
                array = inner;
                start = range.start;
                len = range.len();
            }
        }
        if element_into(array, start, &index.to, self.scalars, self.boxed) {
            Ok(())
        } else {
            Err(bug("an element that is not there"))
        }
    }

    fn construct(&mut self, construct: &ConstructInstr) -> Result<(), Fail> {
        let fields = self.load_all(&construct.fields)?;
        let value = match construct.held {
            Held::Sum => Value::sum(construct.constructor, fields),
            Held::Datum => Value::Datum(Datum::cell(construct.constructor, fields)),
        };
        self.put(construct.to, value);
        Ok(())
    }

    fn field(&mut self, field: &FieldInstr) -> Result<(), Fail> {
        let index = field.index as usize;
        let value = match &self.boxed[field.of.0 as usize] {
            Slot::Value(Value::Sum(sum)) => sum.fields.get(index).cloned(),
            Slot::Value(Value::Datum(datum)) => datum.field(index),
            _ => None,
        };
        let value = value.ok_or_else(|| bug("a field that is not there"))?;
        self.store(value, &field.to)
    }

    fn whole(&mut self, instr: &WholeInstr) -> Result<(), Fail> {
        let args = self.load_all(&instr.args)?;
        let result = whole::apply(&instr.op, args, self.limits).map_err(|kind| kind.at(instr.site))?;
        self.store(result, &instr.to)
    }

    fn coerce(&mut self, coerce: &CoerceInstr) -> Result<(), Fail> {
        let scalars = &*self.scalars;
        let target = whole::resolve(&coerce.target, &|reg: S| {
            scalars.get(reg.0 as usize).map_or(0, |raw| *raw as i64)
        });
        let array = self.array_value(coerce.array)?;
        let array = whole::coerce(array, &target).map_err(|kind| kind.at(coerce.site))?;
        self.put(coerce.to, Value::Array(array));
        Ok(())
    }

    fn trace(&mut self, trace: &TraceInstr) -> Result<(), Fail> {
        let value = self.load(&trace.value)?;
        self.host.trace(&trace.label, &value, &trace.ty);
        Ok(())
    }

    fn foreign(&mut self, instr: &ForeignInstr) -> Result<(), Fail> {
        let args = self.load_all(&instr.args)?;
        let Some(function) = self.foreign.get(instr.function.0 as usize) else {
            return Err(bug("a foreign function does not exist"));
        };
        let results = self
            .host
            .foreign(function, args)
            .map_err(|error| FailKind::Foreign(error).at(instr.site))?;
        if results.len() != instr.to.len() {
            return Err(bug("a foreign function gave another number of results"));
        }
        results
            .into_iter()
            .zip(&instr.to)
            .try_for_each(|(value, to)| self.store(value, to))
    }
}

#[inline(always)]
fn fast(op: FastOp, left: u64, right: u64) -> u64 {
    let i32s = || (left as i32, right as i32);
    let f32s = || (f32::from_raw(left), f32::from_raw(right));
    let f64s = || (f64::from_raw(left), f64::from_raw(right));
    match op {
        FastOp::AddI64 => left.wrapping_add(right),
        FastOp::SubI64 => left.wrapping_sub(right),
        FastOp::MulI64 => left.wrapping_mul(right),
        FastOp::LtI64 => ((left as i64) < right as i64).into(),
        FastOp::AddI32 => i32s().0.wrapping_add(i32s().1).to_raw(),
        FastOp::SubI32 => i32s().0.wrapping_sub(i32s().1).to_raw(),
        FastOp::MulI32 => i32s().0.wrapping_mul(i32s().1).to_raw(),
        FastOp::AddF32 => (f32s().0 + f32s().1).to_raw(),
        FastOp::SubF32 => (f32s().0 - f32s().1).to_raw(),
        FastOp::MulF32 => (f32s().0 * f32s().1).to_raw(),
        FastOp::DivF32 => (f32s().0 / f32s().1).to_raw(),
        FastOp::LtF32 => (f32s().0 < f32s().1).to_raw(),
        FastOp::AddF64 => (f64s().0 + f64s().1).to_raw(),
        FastOp::SubF64 => (f64s().0 - f64s().1).to_raw(),
        FastOp::MulF64 => (f64s().0 * f64s().1).to_raw(),
        FastOp::DivF64 => (f64s().0 / f64s().1).to_raw(),
        FastOp::LtF64 => (f64s().0 < f64s().1).to_raw(),
    }
}

/// A raw integer as a number.
pub(super) fn integer(raw: u64, ty: ScalarType) -> i128 {
    Scalar::from_raw(ty, raw).as_integer().unwrap_or(0)
}

pub(super) fn out_of_bounds(raw: u64, ty: ScalarType, size: usize) -> FailKind {
    FailKind::failure(Failure::IndexOutOfBounds, [integer(raw, ty), size as i128])
}
