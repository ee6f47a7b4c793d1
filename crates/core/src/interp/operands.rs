//! The operands of instructions, for the passes over code: liveness, allocation.

use super::code::{B, Input, Instr, Output, PartInput, S, Shape, Target, TargetDim, Use};

/// Sees the operands of an instruction in the order in which the machine reads them, then what it writes.
pub(super) trait Operands {
    fn read(&mut self, reg: &mut S);
    fn write(&mut self, reg: &mut S);
    /// Reads without taking.
    fn peek(&mut self, reg: &mut B);
    fn take(&mut self, reg: &mut Use);
    fn define(&mut self, reg: &mut B);
}

impl Input {
    fn visit(&mut self, operands: &mut dyn Operands) {
        match self {
            Input::Scalar(reg, _) => operands.read(reg),
            Input::Lanes(regs, _) => regs.iter_mut().for_each(|reg| operands.read(reg)),
            Input::Tuple(parts) => parts.iter_mut().for_each(|part| part.visit(operands)),
            Input::Boxed(reg) => operands.take(reg),
        }
    }
}

impl Output {
    fn visit(&mut self, operands: &mut dyn Operands) {
        match self {
            Output::Scalar(reg) => operands.write(reg),
            Output::Lanes(regs) => regs.iter_mut().for_each(|reg| operands.write(reg)),
            Output::Tuple(parts) => parts.iter_mut().for_each(|part| part.visit(operands)),
            Output::Boxed(reg) => operands.define(reg),
            Output::Ignored => {}
        }
    }
}

impl Shape {
    fn visit(&mut self, operands: &mut dyn Operands) {
        match self {
            Shape::Scalar(_) | Shape::Vector(..) | Shape::Boxed => {}
            Shape::Tuple(parts) => parts.iter_mut().for_each(|part| part.visit(operands)),
            Shape::Row(size, element) => {
                operands.read(size);
                element.visit(operands);
            }
            Shape::Jagged(element) => element.visit(operands),
        }
    }
}

impl Target {
    fn visit(&mut self, operands: &mut dyn Operands) {
        match self {
            Target::Same => {}
            Target::Tuple(parts) => parts.iter_mut().for_each(|part| part.visit(operands)),
            Target::Array(dim, element) => {
                if let TargetDim::Size(size) = dim {
                    operands.read(size);
                }
                element.visit(operands);
            }
        }
    }
}

fn visit_parts(parts: &mut [PartInput], operands: &mut dyn Operands) {
    for part in parts {
        match part {
            PartInput::At(index) => operands.read(&mut index.reg),
            PartInput::Slice { begin, count, step } => {
                operands.read(begin);
                operands.read(count);
                operands.read(step);
            }
        }
    }
}

impl Instr {
    pub(super) fn visit(&mut self, operands: &mut dyn Operands) {
        match self {
            Instr::Const(to, _) => operands.write(to),
            Instr::Copy(to, from) | Instr::Unary { to, arg: from, .. } => {
                operands.read(from);
                operands.write(to);
            }
            Instr::Binary { to, left, right, .. } | Instr::Fast { to, left, right, .. } => {
                operands.read(left);
                operands.read(right);
                operands.write(to);
            }
            Instr::BinaryRight { to, left: arg, .. } | Instr::BinaryLeft { to, right: arg, .. } => {
                operands.read(arg);
                operands.write(to);
            }
            Instr::Partial(partial) => {
                operands.read(&mut partial.left);
                operands.read(&mut partial.right);
                operands.write(&mut partial.to);
            }
            Instr::Ternary { to, args, .. } => {
                args.iter_mut().for_each(|arg| operands.read(arg));
                operands.write(to);
            }
            Instr::Move(to, from)
            | Instr::Open { to, array: from, .. }
            | Instr::Finish { to, array: from } => {
                operands.take(from);
                operands.define(to);
            }
            Instr::Value(to, _) => operands.define(to),
            Instr::Drop(reg) => operands.peek(reg),
            Instr::Size(size) => {
                operands.peek(&mut size.array);
                operands.write(&mut size.to);
            }
            Instr::Fetch { to, array, at }
            | Instr::Index { to, array, at, .. }
            | Instr::InRange { to, array, at } => {
                operands.peek(array);
                operands.read(at);
                operands.write(to);
            }
            Instr::FetchAny(fetch) => {
                operands.peek(&mut fetch.array);
                operands.read(&mut fetch.at);
                fetch.to.visit(operands);
            }
            Instr::Push { array, value } => {
                operands.read(value);
                operands.peek(array);
            }
            Instr::Jump(_) | Instr::Bug(_) => {}
            Instr::JumpUnless(condition, _) => operands.read(condition),
            Instr::CountFrom { counter, bound, .. } | Instr::CountOn { counter, bound, .. } => {
                operands.read(bound);
                operands.write(counter);
            }
            Instr::Switch { on, .. } => operands.peek(on),
            Instr::IndexAny(_)
            | Instr::SliceOf(_)
            | Instr::Update(_)
            | Instr::UpdateScalar(_)
            | Instr::Begin(_)
            | Instr::PushAny(_)
            | Instr::SetCell(_)
            | Instr::Pack(_)
            | Instr::MakeTuples(_)
            | Instr::Literal(_)
            | Instr::Construct(_)
            | Instr::Field(_)
            | Instr::Whole(_)
            | Instr::Coerce(_)
            | Instr::Assert(_)
            | Instr::Trace(_)
            | Instr::Foreign(_)
            | Instr::Call(_)
            | Instr::TailCall(_)
            | Instr::Return(_) => self.visit_large(operands),
        }
    }

    /// The operands of what is boxed.
    fn visit_large(&mut self, operands: &mut dyn Operands) {
        match self {
            Instr::IndexAny(index) => {
                operands.peek(&mut index.array);
                index.indices.iter_mut().for_each(|at| operands.read(&mut at.reg));
                index.to.visit(operands);
            }
            Instr::SliceOf(slice) => {
                operands.peek(&mut slice.array);
                visit_parts(&mut slice.parts, operands);
                operands.define(&mut slice.to);
            }
            Instr::Update(update) => {
                visit_parts(&mut update.parts, operands);
                update.value.visit(operands);
                operands.take(&mut update.array);
                operands.define(&mut update.to);
            }
            Instr::UpdateScalar(update) => {
                operands.read(&mut update.at.reg);
                operands.read(&mut update.value);
                operands.take(&mut update.array);
                operands.define(&mut update.to);
            }
            Instr::Begin(begin) => {
                begin.shape.visit(operands);
                operands.read(&mut begin.capacity);
                operands.define(&mut begin.to);
            }
            Instr::PushAny(push) => {
                push.value.visit(operands);
                operands.peek(&mut push.array);
            }
            Instr::SetCell(set) => {
                set.value.visit(operands);
                operands.read(&mut set.at);
                operands.peek(&mut set.array);
            }
            Instr::Pack(pack) => {
                pack.shape.visit(operands);
                operands.take(&mut pack.array);
                operands.define(&mut pack.to);
            }
            Instr::MakeTuples(make) => {
                operands.read(&mut make.len);
                make.parts.iter_mut().for_each(|part| operands.take(part));
                operands.define(&mut make.to);
            }
            Instr::Literal(literal) => {
                literal.shape.visit(operands);
                literal.elements.iter_mut().for_each(|e| e.visit(operands));
                operands.define(&mut literal.to);
            }
            Instr::Construct(construct) => {
                construct.fields.iter_mut().for_each(|f| f.visit(operands));
                operands.define(&mut construct.to);
            }
            Instr::Field(field) => {
                operands.peek(&mut field.of);
                field.to.visit(operands);
            }
            Instr::Whole(whole) => {
                whole.args.iter_mut().for_each(|arg| arg.visit(operands));
                whole.to.visit(operands);
            }
            Instr::Coerce(coerce) => {
                coerce.target.visit(operands);
                operands.take(&mut coerce.array);
                operands.define(&mut coerce.to);
            }
            Instr::Assert(assert) => operands.read(&mut assert.condition),
            Instr::Trace(trace) => trace.value.visit(operands),
            Instr::Foreign(foreign) => {
                foreign.args.iter_mut().for_each(|arg| arg.visit(operands));
                foreign.to.iter_mut().for_each(|to| to.visit(operands));
            }
            Instr::Call(call) | Instr::TailCall(call) => {
                call.scalars.iter_mut().for_each(|reg| operands.read(reg));
                call.boxed.iter_mut().for_each(|reg| operands.take(reg));
                call.scalar_results.iter_mut().for_each(|reg| operands.write(reg));
                call.boxed_results.iter_mut().for_each(|reg| operands.define(reg));
            }
            Instr::Return(result) => {
                result.scalars.iter_mut().for_each(|reg| operands.read(reg));
                result.boxed.iter_mut().for_each(|reg| operands.take(reg));
            }
            _ => {}
        }
    }
}
