//! The statements a random program is made of.

use super::{Generator, MAYBE, usual};
use crate::build::op;
use crate::ir::{
    Arm, Atom, Dim, Exp, FunId, InPlace, Lambda, Loop, LoopForm, Op, Param, ResultType, Size, SlicePart, Type,
};
use crate::typing::Typed;
use almach_base::Span;
use almach_prim::{Annotation, Chunk, Level, Prim, TakesChunk};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

const SCALARS: [ScalarType; 4] = [
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::F32,
    ScalarType::Bool,
];

impl Generator {
    /// Adds a statement, or none where its operands are missing.
    pub(super) fn statement(&mut self) -> Typed<()> {
        match self.rng.below(24) {
            0..4 => self.arithmetic(),
            4..9 => self.map(),
            9 => self.reduce(),
            10 => self.scan(),
            11 => self.select(),
            12 => self.make_array(),
            13 | 14 => self.rearrange(),
            15 => self.branch(),
            16 => self.repeat(),
            17 => self.tuples(),
            18 => self.access(),
            19 => self.call(),
            20 => self.data(),
            21 => self.jagged(),
            22 => self.histogram(),
            _ => self.sizes(),
        }
    }

    fn arithmetic(&mut self) -> Typed<()> {
        let ty = *self.rng.pick(&SCALARS).unwrap_or(&ScalarType::I32);
        let (a, b) = (self.scalar(ty), self.scalar(ty));
        let ops: &[BinOp] = match ty {
            ScalarType::Bool => &[BinOp::And, BinOp::Or, BinOp::Xor, BinOp::Eq],
            ScalarType::F32 => &[BinOp::Add, BinOp::Mul, BinOp::Sub, BinOp::Max, BinOp::Lt],
            _ => &[
                BinOp::Add,
                BinOp::Mul,
                BinOp::Sub,
                BinOp::Min,
                BinOp::Le,
                BinOp::Ne,
                BinOp::Div,
                BinOp::Shr,
            ],
        };
        let op = *self.rng.pick(ops).unwrap_or(&BinOp::Eq);
        // A divisor or shift count that is seldom wrong.
        let b = match op {
            BinOp::Div | BinOp::Shr if !self.rng.chance(3) => Atom::Const(match ty {
                ScalarType::I64 => Scalar::I64(3),
                _ => Scalar::I32(3),
            }),
            _ => b,
        };
        if self.rng.chance(15) {
            let to = *self.rng.pick(&SCALARS).unwrap_or(&ScalarType::I32);
            return self.keep(Exp::Unary(UnOp::Convert(to), a), "v");
        }
        self.keep(Exp::Binary(op, a, b), "a")
    }

    fn annotated(&mut self, exp: Exp) -> Exp {
        match exp {
            Exp::Op(op) if self.rng.chance(12) => {
                let level = Some(if self.rng.chance(50) {
                    Level::Seq
                } else {
                    Level::Par
                });
                let chunk = match op.prim.takes_chunk() {
                    TakesChunk::Yes if self.rng.chance(50) => Chunk::new(1 + self.rng.below(4) as u32),
                    TakesChunk::Yes | TakesChunk::No => None,
                };
                Exp::Op(Op {
                    annotation: Annotation {
                        level,
                        chunk,
                        ..Annotation::NONE
                    },
                    ..op
                })
            }
            other => other,
        }
    }

    fn map(&mut self) -> Typed<()> {
        let Some((first, size, element)) = self.array(|_, _| true) else {
            return Ok(());
        };
        let (mut args, mut elements) = (vec![first], vec![element]);
        if self.rng.chance(40)
            && let Some((second, _, element)) = self.array(|other, _| *other == size)
        {
            args.push(second);
            elements.push(element);
        }
        let times = usual(&Dim::Size(size));
        if !self.may_run(times) {
            return Ok(());
        }
        let statements = if self.depth > 3 { 1 } else { 1 + self.rng.below(4) };
        let function = self.repeated(times, |generator| generator.lambda(&elements, statements))?;
        let exp = self.annotated(op(Prim::Map, vec![function], args));
        self.keep(exp, "ms")
    }

    /// An exact associative operator on that type, with its neutral element.
    fn operator(&mut self, ty: ScalarType) -> Typed<(Lambda, Atom)> {
        let (choice, neutral) = match ty {
            ScalarType::Bool => (BinOp::Or, Scalar::Bool(false)),
            ScalarType::F32 => (BinOp::Max, Scalar::F32(f32::NEG_INFINITY)),
            ScalarType::I64 => (BinOp::Add, Scalar::I64(0)),
            _ if self.rng.chance(50) => (BinOp::Min, Scalar::I32(i32::MAX)),
            _ => (BinOp::Add, Scalar::I32(0)),
        };
        let a = self.builder.param("a", Type::Scalar(ty));
        let b = self.builder.param("b", Type::Scalar(ty));
        self.builder.enter();
        let operands = (Atom::Var(a.var.clone()), Atom::Var(b.var.clone()));
        let c = self
            .builder
            .bind(Exp::Binary(choice, operands.0, operands.1), "c", Span::NONE)?;
        let body = self.builder.leave(vec![], vec![c]);
        let function = Lambda {
            context: vec![],
            params: vec![a, b],
            result: ResultType::one(Type::Scalar(ty)),
            body,
        };
        Ok((function, Atom::Const(neutral)))
    }

    fn reduce(&mut self) -> Typed<()> {
        let Some((array, _, Type::Scalar(ty))) = self.array(|_, element| element.is_scalar()) else {
            return Ok(());
        };
        let (function, neutral) = self.operator(ty)?;
        let prim = match self.rng.below(3) {
            0 => Prim::ReduceComm,
            1 => Prim::ReduceSeq,
            _ => Prim::Reduce,
        };
        self.keep(op(prim, vec![function], vec![neutral, array]), "r")
    }

    fn scan(&mut self) -> Typed<()> {
        let Some((array, _, Type::Scalar(ty))) = self.array(|_, element| element.is_scalar()) else {
            return Ok(());
        };
        let (function, neutral) = self.operator(ty)?;
        let prim = if self.rng.chance(50) {
            Prim::Scan
        } else {
            Prim::ScanExclusive
        };
        let exp = self.annotated(op(prim, vec![function], vec![neutral, array]));
        self.keep(exp, "s")
    }

    fn select(&mut self) -> Typed<()> {
        let Some((array, size, element)) = self.array(|_, _| true) else {
            return Ok(());
        };
        let times = usual(&Dim::Size(size));
        if !self.may_run(times) {
            return Ok(());
        }
        let function = self.repeated(times, |generator| {
            generator.scalar_lambda(&[element], ScalarType::Bool, 2)
        })?;
        if self.rng.chance(70) {
            return self.keep(op(Prim::Filter, vec![function], vec![array]), "fs");
        }
        self.keep(op(Prim::Partition, vec![function], vec![array]), "ps")
    }

    fn make_array(&mut self) -> Typed<()> {
        match self.rng.below(4) {
            0 => {
                let Some((array, _, _)) = self.array(|_, _| true) else {
                    return Ok(());
                };
                let length = self.builder.length(&array, Span::NONE)?;
                self.keep(op(Prim::Iota, vec![], vec![length]), "is")
            }
            1 => {
                let Some((array, _, _)) = self.array(|_, _| true) else {
                    return Ok(());
                };
                let length = self.builder.length(&array, Span::NONE)?;
                let value = self.scalar(ScalarType::I32);
                self.keep(op(Prim::Replicate, vec![], vec![length, value]), "rs")
            }
            2 => {
                let elements = (0..self.rng.below(4))
                    .map(|_| self.scalar(ScalarType::I32))
                    .collect();
                self.keep(Exp::Array(elements, Type::Scalar(ScalarType::I32)), "lit")
            }
            _ => {
                let size = Atom::Const(Scalar::I64(self.rng.below(6) as i64));
                self.keep(op(Prim::Iota, vec![], vec![size]), "is")
            }
        }
    }

    fn rearrange(&mut self) -> Typed<()> {
        let Some((array, size, element)) = self.array(|_, _| true) else {
            return Ok(());
        };
        let exp = match self.rng.below(9) {
            0 => op(Prim::Reverse, vec![], vec![array]),
            1 => {
                let by = self.scalar(ScalarType::I64);
                op(Prim::Rotate, vec![], vec![by, array])
            }
            2 => match self.array(|_, other| *other == element) {
                Some((other, _, _)) => op(Prim::Concat, vec![], vec![array, other]),
                None => return Ok(()),
            },
            3 => match self.array(|other, _| *other == size) {
                Some((other, _, _)) => op(Prim::Zip, vec![], vec![array, other]),
                None => return Ok(()),
            },
            4 if matches!(&element, Type::Tuple(parts) if parts.len() == 2) => {
                op(Prim::Unzip, vec![], vec![array])
            }
            5 if matches!(&element, Type::Array(Dim::Size(_), _)) => op(Prim::Transpose, vec![], vec![array]),
            6 if matches!(&element, Type::Array(Dim::Size(_), _)) => op(Prim::Join, vec![], vec![array]),
            7 if element.is_scalar() => {
                let Type::Scalar(ty) = element else { return Ok(()) };
                let value = self.constant(ty);
                let sides = [0, 1].map(|_| Atom::Const(Scalar::I64(self.rng.below(3) as i64)));
                let [left, right] = sides;
                op(Prim::Pad, vec![], vec![left, right, value, array])
            }
            8 => {
                let width = Atom::Const(Scalar::I64(1 + self.rng.below(3) as i64));
                op(
                    Prim::Slide,
                    vec![],
                    vec![width, Atom::Const(Scalar::I64(1)), array],
                )
            }
            _ => op(Prim::Materialise, vec![], vec![array]),
        };
        self.keep(exp, "arr")
    }

    fn branch(&mut self) -> Typed<()> {
        if self.depth > 3 {
            return Ok(());
        }
        let condition = self.scalar(ScalarType::Bool);
        let scope = self.scope.len();
        let ty = *self.rng.pick(&SCALARS).unwrap_or(&ScalarType::I32);
        let mut bodies = Vec::new();
        for _ in 0..2 {
            self.builder.enter();
            self.depth += 1;
            for _ in 0..self.rng.below(4) {
                self.statement()?;
            }
            self.depth -= 1;
            let value = self.scalar(ty);
            bodies.push(self.builder.leave(vec![], vec![value]));
            self.scope.truncate(scope);
        }
        let (Some(otherwise), Some(then)) = (bodies.pop(), bodies.pop()) else {
            return Ok(());
        };
        let exp = Exp::If {
            condition,
            then,
            otherwise,
            result: ResultType::one(Type::Scalar(ty)),
        };
        self.keep(exp, "choice")
    }

    fn repeat(&mut self) -> Typed<()> {
        if self.depth > 3 || !self.may_run(4) {
            return Ok(());
        }
        let scope = self.scope.len();
        let ty = *self.rng.pick(&SCALARS).unwrap_or(&ScalarType::I32);
        let initial = self.scalar(ty);
        let state = self.builder.param("state", Type::Scalar(ty));
        let index = self.builder.param("i", Type::I64);
        self.bring_in(&[state.clone(), index.clone()]);
        self.builder.enter();
        self.depth += 1;
        let statements = 1 + self.rng.below(4);
        self.repeated(4, |generator| {
            (0..statements).try_for_each(|_| generator.statement())
        })?;
        self.depth -= 1;
        let next = self.scalar(ty);
        let body = self.builder.leave(vec![], vec![next]);
        self.scope.truncate(scope);
        let bound = Atom::Const(Scalar::I64(self.rng.below(4) as i64));
        let exp = Exp::Loop(Box::new(Loop {
            context: vec![],
            params: vec![(state, initial)],
            form: LoopForm::For { index, bound },
            body,
        }));
        self.keep(exp, "last")
    }

    fn tuples(&mut self) -> Typed<()> {
        let tuples = self.matching(|ty| matches!(ty, Type::Tuple(parts) if !parts.is_empty()));
        if let Some((atom, Type::Tuple(parts))) = self.rng.pick(&tuples) {
            let at = self.rng.below(parts.len()) as u32;
            return self.keep(Exp::Project(atom.clone(), at), "part");
        }
        let parts = [ScalarType::I32, ScalarType::F32].map(|ty| self.scalar(ty));
        self.keep(Exp::Tuple(parts.to_vec()), "pair")
    }

    /// Reading and updating, mostly where the array is known to have the place.
    fn access(&mut self) -> Typed<()> {
        let Some((array, size, element)) = self.array(|_, _| true) else {
            return Ok(());
        };
        let Type::Scalar(ty) = element else {
            return match self.rng.chance(20) {
                true => self.keep(self.read(array), "row"),
                false => Ok(()),
            };
        };
        let (exp, unharmed, result) = match self.rng.chance(40) {
            true => {
                let value = self.scalar(ty);
                let update = Exp::Update {
                    array: array.clone(),
                    parts: vec![SlicePart::At(Atom::Const(Scalar::I64(0)))],
                    value,
                    in_place: InPlace::WherePossible,
                };
                (update, array.clone(), Type::array(size, element))
            }
            false => (self.read(array.clone()), self.constant(ty), element),
        };
        if self.rng.chance(10) {
            return self.keep(exp, "at");
        }
        let length = self.builder.length(&array, Span::NONE)?;
        let zero = Atom::Const(Scalar::I64(0));
        let condition = self
            .builder
            .bind(Exp::Binary(BinOp::Gt, length, zero), "filled", Span::NONE)?;
        self.builder.enter();
        let value = self.builder.bind(exp, "at", Span::NONE)?;
        let then = self.builder.leave(vec![], vec![value]);
        self.builder.enter();
        let otherwise = self.builder.leave(vec![], vec![unharmed]);
        let exp = Exp::If {
            condition,
            then,
            otherwise,
            result: ResultType::one(result),
        };
        self.keep(exp, "got")
    }

    fn read(&self, array: Atom) -> Exp {
        Exp::Index {
            array,
            indices: vec![Atom::Const(Scalar::I64(0))],
        }
    }

    fn call(&mut self) -> Typed<()> {
        let wanted = Type::Scalar(ScalarType::I32);
        let count = self.builder.signatures.functions.len();
        let Some((array, _, _)) = self.array(|_, element| *element == wanted) else {
            return Ok(());
        };
        if count == 0 || self.work > 100 {
            return Ok(());
        }
        let function = FunId(self.rng.below(count) as u32);
        let length = self.builder.length(&array, Span::NONE)?;
        let number = self.scalar(ScalarType::I64);
        let exp = Exp::Call {
            function,
            context: vec![length],
            args: vec![array, number],
        };
        self.keep(exp, "called")
    }

    fn data(&mut self) -> Typed<()> {
        let found = self.matching(|ty| *ty == Type::Data(MAYBE));
        let Some((scrutinee, _)) = self.rng.pick(&found).cloned() else {
            let (constructor, fields) = match self.rng.chance(50) {
                true => (0, vec![]),
                false => (1, vec![self.scalar(ScalarType::I32)]),
            };
            let exp = Exp::Construct {
                data: MAYBE,
                constructor,
                fields,
            };
            return self.keep(exp, "maybe");
        };
        let scope = self.scope.len();
        let field: Param = self.builder.param("field", Type::Scalar(ScalarType::I32));
        self.bring_in(std::slice::from_ref(&field));
        self.builder.enter();
        let value = self.scalar(ScalarType::I32);
        let some = self.builder.leave(vec![], vec![value]);
        self.scope.truncate(scope);
        self.builder.enter();
        let value = self.scalar(ScalarType::I32);
        let default = self.builder.leave(vec![], vec![value]);
        let exp = Exp::Case {
            scrutinee,
            arms: vec![Arm {
                constructor: 1,
                context: vec![],
                fields: vec![field],
                body: some,
            }],
            default: Some(default),
            result: ResultType::one(Type::Scalar(ScalarType::I32)),
        };
        self.keep(exp, "matched")
    }

    fn jagged(&mut self) -> Typed<()> {
        let jagged = |_: &Size, element: &Type| matches!(element, Type::Array(Dim::Jagged, _));
        if let Some((array, _, _)) = self.array(jagged) {
            let prim = match self.rng.chance(50) {
                true => Prim::Flatten,
                false => Prim::Segments,
            };
            return self.keep(op(prim, vec![], vec![array]), "flat");
        }
        let regular = |_: &Size, element: &Type| matches!(element, Type::Array(Dim::Size(_), _));
        match self.array(regular) {
            Some((array, _, _)) => self.keep(op(Prim::Jagged, vec![], vec![array]), "jag"),
            None => Ok(()),
        }
    }

    /// Indices out of range are ignored, so this cannot fail.
    fn histogram(&mut self) -> Typed<()> {
        let (number, index) = (Type::Scalar(ScalarType::I32), Type::I64);
        let Some((indices, size, _)) = self.array(|_, element| *element == index) else {
            return Ok(());
        };
        let (Some((values, _, _)), Some((dest, _, _))) = (
            self.array(|other, element| *other == size && *element == number),
            self.array(|_, element| *element == number),
        ) else {
            return Ok(());
        };
        let (function, neutral) = self.operator(ScalarType::I32)?;
        let args = vec![dest, neutral, indices, values];
        self.keep(op(Prim::ReduceByIndex, vec![function], args), "hist")
    }

    fn sizes(&mut self) -> Typed<()> {
        let Some((array, _, _)) = self.array(|_, _| true) else {
            return Ok(());
        };
        self.keep(op(Prim::Length, vec![], vec![array]), "len")
    }
}
