//! Scalar operators, literals, indexing, updates, coercions.

use super::{Given, Loc, Lower, Lowered, output_of};
use crate::interp::code::{
    AssertInstr, CoerceInstr, FastOp, ForeignInstr, IndexInput, IndexInstr, Instr, LiteralInstr, PartInput,
    PartialInstr, S, SliceInstr, TraceInstr, UpdateInstr, UpdateScalarInstr, Use,
};
use crate::interp::convert::border_type;
use crate::interp::error::Site;
use crate::ir::{Atom, ForeignId, Param, SlicePart, Type};
use almach_base::{Name, Span};
use almach_value::raw::{RawBinary, RawTotal};
use almach_value::{ArrayValue, BinOp, Buffer, Scalar, ScalarType, TernOp, UnOp, Value, buffer_of};

/// One or several scalars, and their type: operands of lane-wise operators.
struct Lanes {
    locs: Vec<Loc>,
    ty: ScalarType,
    is_vector: bool,
}

impl Lanes {
    fn of(loc: &Loc) -> Lowered<Lanes> {
        match loc {
            Loc::Scalar(_, ty) => Ok(Lanes::scalar(loc, *ty)),
            Loc::Const(scalar) => Ok(Lanes::scalar(loc, scalar.ty())),
            Loc::Lanes(regs, ty) => Ok(Lanes {
                locs: regs.iter().map(|reg| Loc::Scalar(*reg, *ty)).collect(),
                ty: *ty,
                is_vector: true,
            }),
            Loc::Tuple(_) | Loc::Boxed(_) => Err("a scalar operator on what is no scalar".to_owned()),
        }
    }

    fn scalar(loc: &Loc, ty: ScalarType) -> Lanes {
        Lanes {
            locs: vec![loc.clone()],
            ty,
            is_vector: false,
        }
    }

    /// Lane `at`; scalars broadcast.
    fn lane(&self, at: usize) -> Lowered<&Loc> {
        let at = if self.is_vector { at } else { 0 };
        self.locs
            .get(at)
            .ok_or_else(|| "vectors of different widths".to_owned())
    }
}

fn inapplicable(op: &str, ty: ScalarType) -> String {
    format!("`{op}` does not apply to {ty}")
}

impl Lower<'_, '_> {
    /// Applies `lane` to every lane of some operands.
    fn lane_wise<const N: usize>(
        &mut self,
        operands: &[Lanes; N],
        result: ScalarType,
        mut lane: impl FnMut(&mut Self, [&Loc; N], S) -> Lowered<()>,
    ) -> Lowered<Loc> {
        let vector = operands.iter().find(|operand| operand.is_vector);
        let width = vector.map_or(1, |operand| operand.locs.len());
        let mut regs = Vec::with_capacity(width);
        for at in 0..width {
            let mut args = Vec::with_capacity(N);
            for operand in operands {
                args.push(operand.lane(at)?);
            }
            let args: Result<[&Loc; N], _> = args.try_into();
            let to = self.scalar();
            lane(self, args.map_err(|_| "an operator without operands")?, to)?;
            regs.push(to);
        }
        match (vector, regs.as_slice()) {
            (None, [reg]) => Ok(Loc::Scalar(*reg, result)),
            _ => Ok(Loc::Lanes(regs, result)),
        }
    }

    pub(super) fn unary(&mut self, op: UnOp, arg: &Atom) -> Lowered<Loc> {
        let arg = Lanes::of(&self.atom(arg)?)?;
        let (Some(function), Some(result)) = (op.raw(arg.ty), op.result_type(arg.ty)) else {
            return Err(inapplicable(op.name(), arg.ty));
        };
        self.lane_wise(&[arg], result, |lower, [arg], to| {
            let arg = lower.scalar_of(arg)?;
            lower.emit(Instr::Unary { function, to, arg });
            Ok(())
        })
    }

    pub(super) fn binary(&mut self, op: BinOp, left: &Atom, right: &Atom, span: Span) -> Lowered<Loc> {
        let (left, right) = (self.atom(left)?, self.atom(right)?);
        let site = self.site(span);
        self.operate(op, &left, &right, site)
    }

    pub(super) fn operate(&mut self, op: BinOp, left: &Loc, right: &Loc, site: Site) -> Lowered<Loc> {
        let (left, right) = (Lanes::of(left)?, Lanes::of(right)?);
        let ty = left.ty;
        let (Some(function), Some(result)) = (op.raw(ty), op.result_type(ty)) else {
            return Err(inapplicable(op.name(), ty));
        };
        if right.ty != ty {
            return Err(inapplicable(op.name(), right.ty));
        }
        self.lane_wise(&[left, right], result, |lower, [left, right], to| {
            let instr = match function {
                RawBinary::Partial(function) => Instr::Partial(Box::new(PartialInstr {
                    function,
                    to,
                    left: lower.scalar_of(left)?,
                    right: lower.scalar_of(right)?,
                    ty,
                    site,
                })),
                RawBinary::Total(function) => lower.total(fast_op(op, ty), function, to, left, right)?,
            };
            lower.emit(instr);
            Ok(())
        })
    }

    fn total(
        &mut self,
        fast: Option<FastOp>,
        function: RawTotal,
        to: S,
        left: &Loc,
        right: &Loc,
    ) -> Lowered<Instr> {
        Ok(match (left, right, fast) {
            (left, Loc::Const(right), _) => Instr::BinaryRight {
                function,
                to,
                left: self.scalar_of(left)?,
                right: right.to_raw(),
            },
            (Loc::Const(left), right, _) => Instr::BinaryLeft {
                function,
                to,
                left: left.to_raw(),
                right: self.scalar_of(right)?,
            },
            (left, right, Some(op)) => Instr::Fast {
                op,
                to,
                left: self.scalar_of(left)?,
                right: self.scalar_of(right)?,
            },
            (left, right, None) => Instr::Binary {
                function,
                to,
                left: self.scalar_of(left)?,
                right: self.scalar_of(right)?,
            },
        })
    }

    pub(super) fn ternary(&mut self, op: TernOp, [a, b, c]: [&Atom; 3]) -> Lowered<Loc> {
        let operands = [
            Lanes::of(&self.atom(a)?)?,
            Lanes::of(&self.atom(b)?)?,
            Lanes::of(&self.atom(c)?)?,
        ];
        let [Lanes { ty, .. }, ..] = operands;
        let (Some(function), Some(result)) = (op.raw(ty), op.result_type(ty)) else {
            return Err(inapplicable(op.name(), ty));
        };
        self.lane_wise(&operands, result, |lower, [a, b, c], to| {
            let args = [lower.scalar_of(a)?, lower.scalar_of(b)?, lower.scalar_of(c)?];
            lower.emit(Instr::Ternary { function, to, args });
            Ok(())
        })
    }

    pub(super) fn literal(&mut self, elements: &[Atom], ty: &Type, span: Span) -> Lowered<Loc> {
        let to = self.boxed();
        if let Some(buffer) = constant_buffer(elements, ty) {
            self.emit(Instr::Value(to, Value::array(ArrayValue::scalars(buffer))));
            return Ok(Loc::Boxed(to));
        }
        let site = self.site(span);
        let shape = self.shape(ty)?;
        let elements = self.inputs(elements)?;
        self.emit(Instr::Literal(Box::new(LiteralInstr {
            to,
            shape,
            elements,
            site,
        })));
        Ok(Loc::Boxed(to))
    }

    fn index_input(&mut self, atom: &Atom) -> Lowered<IndexInput> {
        let loc = self.atom(atom)?;
        let ty = match &loc {
            Loc::Scalar(_, ty) => *ty,
            Loc::Const(scalar) => scalar.ty(),
            Loc::Lanes(..) | Loc::Tuple(_) | Loc::Boxed(_) => return Err("an index is no scalar".to_owned()),
        };
        let reg = self.scalar_of(&loc)?;
        Ok(IndexInput { reg, ty })
    }

    pub(super) fn index(
        &mut self,
        array: &Atom,
        indices: &[Atom],
        values: &[Param],
        span: Span,
    ) -> Lowered<Loc> {
        let array = self.boxed_atom(array)?;
        let site = self.site(span);
        let inputs: Lowered<Vec<IndexInput>> = indices.iter().map(|index| self.index_input(index)).collect();
        let inputs = inputs?;
        let loc = self.fresh(only(values)?);
        match (&loc, inputs.as_slice()) {
            (Loc::Scalar(to, _), [index]) => self.emit(Instr::Index {
                to: *to,
                array,
                at: index.reg,
                ty: index.ty,
                site,
            }),
            _ => self.emit(Instr::IndexAny(Box::new(IndexInstr {
                to: output_of(&loc),
                array,
                indices: inputs.into(),
                site,
            }))),
        }
        Ok(loc)
    }

    fn parts(&mut self, parts: &[SlicePart]) -> Lowered<Box<[PartInput]>> {
        parts
            .iter()
            .map(|part| match part {
                SlicePart::At(index) => Ok(PartInput::At(self.index_input(index)?)),
                SlicePart::Slice { begin, count, step } => Ok(PartInput::Slice {
                    begin: self.scalar_atom(begin)?,
                    count: self.scalar_atom(count)?,
                    step: self.scalar_atom(step)?,
                }),
            })
            .collect()
    }

    pub(super) fn slice(
        &mut self,
        array: &Atom,
        parts: &[SlicePart],
        values: &[Param],
        span: Span,
    ) -> Lowered<Loc> {
        let all_indices: Option<Vec<Atom>> = parts
            .iter()
            .map(|part| match part {
                SlicePart::At(index) => Some(index.clone()),
                SlicePart::Slice { .. } => None,
            })
            .collect();
        if let Some(indices) = all_indices {
            return self.index(array, &indices, values, span);
        }
        let array = self.boxed_atom(array)?;
        let site = self.site(span);
        let parts = self.parts(parts)?;
        let to = self.boxed();
        self.emit(Instr::SliceOf(Box::new(SliceInstr {
            to,
            array,
            parts,
            site,
        })));
        Ok(Loc::Boxed(to))
    }

    pub(super) fn update(
        &mut self,
        array: &Atom,
        parts: &[SlicePart],
        value: &Atom,
        span: Span,
    ) -> Lowered<Loc> {
        let array = self.boxed_atom(array)?;
        let site = self.site(span);
        let parts = self.parts(parts)?;
        let value = self.atom(value)?;
        let to = self.boxed();
        if let (Loc::Scalar(..) | Loc::Const(_), [PartInput::At(at)]) = (&value, &*parts) {
            let value = self.scalar_of(&value)?;
            self.emit(Instr::UpdateScalar(Box::new(UpdateScalarInstr {
                to,
                array: Use::of(array),
                at: *at,
                value,
                site,
            })));
            return Ok(Loc::Boxed(to));
        }
        let value = self.input(&value)?;
        self.emit(Instr::Update(Box::new(UpdateInstr {
            to,
            array: Use::of(array),
            parts,
            value,
            site,
        })));
        Ok(Loc::Boxed(to))
    }

    pub(super) fn coerce(&mut self, value: &Atom, to: &Type, span: Span) -> Lowered<Loc> {
        let loc = self.atom(value)?;
        self.coerce_loc(&loc, to, span)
    }

    fn coerce_loc(&mut self, loc: &Loc, ty: &Type, span: Span) -> Lowered<Loc> {
        match (loc, ty) {
            (Loc::Tuple(parts), Type::Tuple(types)) if parts.len() == types.len() => {
                let parts: Lowered<Vec<Loc>> = parts
                    .iter()
                    .zip(types)
                    .map(|(part, ty)| self.coerce_loc(part, ty, span))
                    .collect();
                Ok(Loc::Tuple(parts?))
            }
            (Loc::Boxed(array), Type::Array(..)) => {
                let site = self.site(span);
                let target = self.target(ty)?;
                let to = self.boxed();
                self.emit(Instr::Coerce(Box::new(CoerceInstr {
                    to,
                    array: Use::of(*array),
                    target,
                    site,
                })));
                Ok(Loc::Boxed(to))
            }
            _ => Ok(loc.clone()),
        }
    }

    pub(super) fn assert(&mut self, condition: &Atom, text: &Name, span: Span) -> Lowered<Loc> {
        let condition = self.scalar_atom(condition)?;
        let site = self.site(span);
        self.emit(Instr::Assert(Box::new(AssertInstr {
            condition,
            text: text.clone(),
            site,
        })));
        Ok(Loc::Tuple(Vec::new()))
    }

    pub(super) fn trace(&mut self, label: &Name, value: &Atom, values: &[Param]) -> Lowered<Loc> {
        let loc = self.atom(value)?;
        let ty = border_type(only(values)?, self.facts.program)?;
        let value = self.input(&loc)?;
        self.emit(Instr::Trace(Box::new(TraceInstr {
            label: label.clone(),
            value,
            ty,
        })));
        Ok(loc)
    }

    pub(super) fn foreign(
        &mut self,
        function: ForeignId,
        args: &[Atom],
        values: &[Param],
        span: Span,
    ) -> Lowered<Given> {
        let site = self.site(span);
        let args = self.inputs(args)?;
        let locs: Vec<Loc> = values.iter().map(|param| self.fresh(&param.ty)).collect();
        self.emit(Instr::Foreign(Box::new(ForeignInstr {
            function,
            args,
            to: locs.iter().map(output_of).collect(),
            site,
        })));
        Ok(Given {
            context: None,
            values: locs,
        })
    }
}

/// The type of the one value a pattern binds.
pub(super) fn only(values: &[Param]) -> Lowered<&Type> {
    match values {
        [value] => Ok(&value.ty),
        _ => Err("a pattern binds another number of values than its expression gives".to_owned()),
    }
}

/// An array literal of constants.
fn constant_buffer(elements: &[Atom], ty: &Type) -> Option<Buffer> {
    let Type::Scalar(ty) = ty else {
        return None;
    };
    let scalars: Option<Vec<Scalar>> = elements
        .iter()
        .map(|element| match element {
            Atom::Const(scalar) => Some(*scalar),
            Atom::Var(_) => None,
        })
        .collect();
    buffer_of(*ty, scalars?)
}

fn fast_op(op: BinOp, ty: ScalarType) -> Option<FastOp> {
    Some(match (op, ty) {
        (BinOp::Add, ScalarType::I64 | ScalarType::U64) => FastOp::AddI64,
        (BinOp::Sub, ScalarType::I64 | ScalarType::U64) => FastOp::SubI64,
        (BinOp::Mul, ScalarType::I64 | ScalarType::U64) => FastOp::MulI64,
        // Sign extension keeps the order.
        (BinOp::Lt, ScalarType::I64 | ScalarType::I32) => FastOp::LtI64,
        (BinOp::Add, ScalarType::I32) => FastOp::AddI32,
        (BinOp::Sub, ScalarType::I32) => FastOp::SubI32,
        (BinOp::Mul, ScalarType::I32) => FastOp::MulI32,
        (BinOp::Add, ScalarType::F32) => FastOp::AddF32,
        (BinOp::Sub, ScalarType::F32) => FastOp::SubF32,
        (BinOp::Mul, ScalarType::F32) => FastOp::MulF32,
        (BinOp::Div, ScalarType::F32) => FastOp::DivF32,
        (BinOp::Lt, ScalarType::F32) => FastOp::LtF32,
        (BinOp::Add, ScalarType::F64) => FastOp::AddF64,
        (BinOp::Sub, ScalarType::F64) => FastOp::SubF64,
        (BinOp::Mul, ScalarType::F64) => FastOp::MulF64,
        (BinOp::Div, ScalarType::F64) => FastOp::DivF64,
        (BinOp::Lt, ScalarType::F64) => FastOp::LtF64,
        _ => return None,
    })
}
