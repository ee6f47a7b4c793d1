//! The type rule of every primitive. Arguments stand in the order of the primitive's type in the table of
//! `almach_prim`, functions apart: `reduce_by_index dest f e is xs` has the function `f` and the arguments
//! `dest`, `e`, `is`, `xs`.
//!
//! Each gives the one value its type in the table says (`partition` and `unzip` a tuple). Only `map` may give several arrays, one per
//! result of its function. The function of `build` takes the position alone: a reference to a node is its position.

use super::scheme::State;
use super::{TypeError, Typed, Typing, no_more, same_count};
use crate::check::Rule;
use crate::ir::{Atom, Dim, Lambda, Op, ResultType, Size, Type, Var};
use almach_prim::{Prim, TakesChunk, TakesLevel};
use almach_value::{Scalar, ScalarType};

impl Typing<'_> {
    pub(super) fn op(&mut self, op: &Op) -> Typed<ResultType> {
        self.annotation(op)?;
        match op.prim {
            Prim::Map => self.map(op),
            Prim::Reduce | Prim::ReduceComm => self.reduce(op),
            Prim::ReduceSeq => self.reduce_seq(op),
            Prim::Scan | Prim::ScanExclusive => self.scan(op),
            Prim::ScanRows | Prim::ScanRowsExclusive => self.scan_rows(op),
            Prim::Filter => self.filter(op),
            Prim::Partition => self.partition(op),
            Prim::ReduceByIndex => self.reduce_by_index(op),
            Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => self.placed(op),
            Prim::Build => self.build(op),
            Prim::Gather
            | Prim::Permute
            | Prim::Scatter
            | Prim::Iota
            | Prim::Range
            | Prim::Replicate
            | Prim::Length
            | Prim::Zip
            | Prim::Unzip
            | Prim::Concat
            | Prim::Reverse
            | Prim::Rotate
            | Prim::Transpose
            | Prim::Split
            | Prim::Join
            | Prim::Slide
            | Prim::Pad
            | Prim::PadEdge
            | Prim::Take
            | Prim::Drop
            | Prim::Flatten
            | Prim::Unflatten
            | Prim::Segments
            | Prim::Jagged
            | Prim::AsVector
            | Prim::AsScalar
            | Prim::Materialise
            | Prim::Nodes
            | Prim::RootOf
            | Prim::FromNodes
            | Prim::Reach
            | Prim::Constructed => self.first_order(op),
        }
    }

    fn annotation(&self, op: &Op) -> Typed<()> {
        let info = op.prim.info();
        let refuse = |what: &str| {
            let message = format!("`{}` takes no {what}", info.name);
            Err(TypeError::new(Rule::Annotation, message))
        };
        match (op.annotation.level, info.takes_level) {
            (Some(_), TakesLevel::No) => return refuse("level"),
            (Some(_), TakesLevel::Yes) | (None, _) => {}
        }
        match (op.annotation.chunk, op.prim.takes_chunk()) {
            (Some(_), TakesChunk::No) => return refuse("chunk"),
            (Some(_), TakesChunk::Yes) | (None, _) => {}
        }
        match op.annotation.effect {
            Some(effect) if !info.effects.contains(&effect) => refuse("effect"),
            Some(_) | None => Ok(()),
        }
    }

    fn first_order(&mut self, op: &Op) -> Typed<ResultType> {
        same_count(0, op.functions.len(), Rule::Arity, "functions")?;
        match op.prim {
            Prim::Gather | Prim::Permute | Prim::Scatter => self.indexed(op).map(ResultType::one),
            Prim::Iota | Prim::Range | Prim::Replicate | Prim::Length => self.made(op),
            Prim::Zip | Prim::Unzip | Prim::Concat | Prim::Reverse | Prim::Rotate | Prim::Transpose => {
                self.rearranged(op).map(ResultType::one)
            }
            Prim::Split | Prim::Join | Prim::Pad | Prim::PadEdge | Prim::Take | Prim::Drop => {
                self.resized(op).map(ResultType::one)
            }
            Prim::Slide => self.slide(op),
            Prim::Flatten => self.flatten(op),
            Prim::Unflatten | Prim::Segments | Prim::Jagged => self.jagged(op).map(ResultType::one),
            Prim::AsVector | Prim::AsScalar => self.vectors(op).map(ResultType::one),
            Prim::Materialise => {
                let [value] = args(op)?;
                self.atom(value).map(ResultType::one)
            }
            _ => self.nodes(op),
        }
    }

    fn map(&mut self, op: &Op) -> Typed<ResultType> {
        let [function] = functions(op)?;
        let size = match op.args.first() {
            Some(first) => self.sized_array(first)?.0,
            None => return Err(TypeError::new(Rule::Arity, "`map` needs an array")),
        };
        same_count(op.args.len(), function.params.len(), Rule::Function, "parameters")?;
        let mut context = function.context.iter();
        for (arg, param) in op.args.iter().zip(&function.params) {
            let (found, element) = self.sized_array(arg)?;
            self.expect_size(&size, &found)?;
            let expected = self.opened_with(&element, &mut context)?;
            self.expect_param(&expected, &param.ty)?;
        }
        no_more(context)?;
        let bound = |var: &Var| bound_by(function, var);
        let rows = function.result.types.iter().map(|ty| {
            let row = self.env.normalise(ty).close(&bound);
            Type::array(size.clone(), row)
        });
        Ok(ResultType {
            context: Vec::new(),
            types: rows.collect(),
        })
    }

    /// The state of an operator `a -> a -> a`, whose both parameters are states.
    fn operator(&self, function: &Lambda) -> Typed<State> {
        let state = self.state_of(function)?;
        let mut context = function.context.iter();
        same_count(2, function.params.len(), Rule::Function, "parameters")?;
        for param in &function.params {
            let expected = state.renamed(&mut context)?;
            self.expect_param(&expected, &param.ty)?;
        }
        no_more(context)?;
        Ok(state)
    }

    fn reduce(&mut self, op: &Op) -> Typed<ResultType> {
        let ([function], [initial, array]) = (functions(op)?, args(op)?);
        let state = self.operator(function)?;
        self.expect_state(&state, &self.atom(initial)?, "the initial value")?;
        let (_, element) = self.sized_array(array)?;
        self.expect_state(&state, &element, "an element")?;
        Ok(self.instance(&state.result()))
    }

    fn reduce_seq(&mut self, op: &Op) -> Typed<ResultType> {
        let ([function], [initial, array]) = (functions(op)?, args(op)?);
        let state = self.state_of(function)?;
        let (_, element) = self.sized_array(array)?;
        let [accumulator, current] = function.params.as_slice() else {
            return Err(wrong_params(2, function));
        };
        let mut context = function.context.iter();
        self.expect_param(&state.renamed(&mut context)?, &accumulator.ty)?;
        self.expect_param(&self.opened_with(&element, &mut context)?, &current.ty)?;
        no_more(context)?;
        self.expect_state(&state, &self.atom(initial)?, "the initial value")?;
        Ok(self.instance(&state.result()))
    }

    fn scan(&mut self, op: &Op) -> Typed<ResultType> {
        let ([function], [initial, array]) = (functions(op)?, args(op)?);
        let state = self.operator(function)?;
        self.expect_state(&state, &self.atom(initial)?, "the initial value")?;
        let (size, element) = self.sized_array(array)?;
        self.expect_state(&state, &element, "an element")?;
        Ok(ResultType::one(Type::array(size, state.closed())))
    }

    fn scan_rows(&mut self, op: &Op) -> Typed<ResultType> {
        let ([function], [initial, array]) = (functions(op)?, args(op)?);
        let state = self.operator(function)?;
        self.expect_state(&state, &self.atom(initial)?, "the initial value")?;
        let (size, element) = self.jagged_rows(array)?;
        self.expect_state(&state, &element, "an element")?;
        match element.is_scalars() {
            true => Ok(ResultType::one(Type::array(size, Type::jagged(element)))),
            false => Err(self.expected("rows of scalars or tuples of them", &element)),
        }
    }

    /// The array a predicate is for.
    fn predicate(&self, op: &Op) -> Typed<Type> {
        let ([function], [array]) = (functions(op)?, args(op)?);
        let (_, element) = self.sized_array(array)?;
        let [param] = function.params.as_slice() else {
            return Err(wrong_params(1, function));
        };
        let mut context = function.context.iter();
        self.expect_param(&self.opened_with(&element, &mut context)?, &param.ty)?;
        no_more(context)?;
        if function.result != ResultType::one(Type::BOOL) {
            return Err(TypeError::new(Rule::Function, "a predicate gives one boolean"));
        }
        Ok(element)
    }

    fn filter(&mut self, op: &Op) -> Typed<ResultType> {
        let element = self.predicate(op)?;
        Ok(self.unknown_size("taken", element))
    }

    fn unknown_size(&mut self, name: &str, element: Type) -> ResultType {
        let size = self.supply.fresh(name);
        ResultType {
            types: vec![Type::array(Size::var(size.clone()), element)],
            context: vec![size],
        }
    }

    fn partition(&mut self, op: &Op) -> Typed<ResultType> {
        let element = self.predicate(op)?;
        let (taken, others) = (self.supply.fresh("taken"), self.supply.fresh("others"));
        let array = |size: &Var| Type::array(Size::var(size.clone()), element.clone());
        Ok(ResultType {
            types: vec![Type::Tuple(vec![array(&taken), array(&others)])],
            context: vec![taken, others],
        })
    }

    fn reduce_by_index(&mut self, op: &Op) -> Typed<ResultType> {
        let ([function], [dest, neutral, indices, values]) = (functions(op)?, args(op)?);
        let state = self.operator(function)?;
        let (cells, cell) = self.sized_array(dest)?;
        self.expect_state(&state, &cell, "a cell")?;
        self.expect_state(&state, &self.atom(neutral)?, "the neutral value")?;
        let count = self.indices(indices)?;
        let (found, value) = self.sized_array(values)?;
        self.expect_size(&count, &found)?;
        self.expect_state(&state, &value, "a value")?;
        Ok(ResultType::one(Type::array(cells, state.closed())))
    }

    /// `toGlobal f x`: what `f x` gives.
    fn placed(&mut self, op: &Op) -> Typed<ResultType> {
        let [function] = functions(op)?;
        same_count(op.args.len(), function.params.len(), Rule::Function, "parameters")?;
        no_more(function.context.iter())?;
        let mut sizes = Vec::new();
        for (arg, param) in op.args.iter().zip(&function.params) {
            self.expect_param(&self.atom(arg)?, &param.ty)?;
            if param.ty == Type::I64 {
                sizes.push((&param.var, self.env.size(arg)?));
            }
        }
        let given = |var: &Var| {
            let found = sizes.iter().find(|(bound, _)| *bound == var)?;
            Some(found.1.clone())
        };
        let result = ResultType {
            context: function.result.context.clone(),
            types: function
                .result
                .types
                .iter()
                .map(|ty| ty.substitute(&given))
                .collect(),
        };
        Ok(self.instance(&result))
    }

    fn build(&mut self, op: &Op) -> Typed<ResultType> {
        let ([function], [count, root]) = (functions(op)?, args(op)?);
        self.expect(count, &Type::I64, "the number of nodes")?;
        self.expect(root, &Type::I64, "the root")?;
        let [position] = function.params.as_slice() else {
            return Err(wrong_params(1, function));
        };
        no_more(function.context.iter())?;
        self.expect_param(&Type::I64, &position.ty)?;
        match (
            function.result.context.as_slice(),
            function.result.types.as_slice(),
        ) {
            ([], [Type::Node(data)]) => Ok(ResultType::one(Type::Data(*data))),
            _ => Err(TypeError::new(
                Rule::Function,
                "the function of `build` gives a node value",
            )),
        }
    }

    fn indexed(&self, op: &Op) -> Typed<Type> {
        match op.prim {
            Prim::Gather => {
                let [indices, array] = args(op)?;
                let count = self.indices(indices)?;
                let (_, element) = self.sized_array(array)?;
                Ok(Type::array(count, element))
            }
            Prim::Permute => {
                let [indices, array] = args(op)?;
                let count = self.indices(indices)?;
                let (size, element) = self.sized_array(array)?;
                self.expect_size(&count, &size)?;
                Ok(Type::array(size, element))
            }
            _ => {
                let [dest, indices, values] = args(op)?;
                let count = self.indices(indices)?;
                let (size, cell) = self.sized_array(dest)?;
                let (found, value) = self.sized_array(values)?;
                self.expect_size(&count, &found)?;
                self.expect_same(&cell, &value, Rule::OperandType, "a value")?;
                Ok(Type::array(size, cell))
            }
        }
    }

    /// An array of any integers; its size.
    fn indices(&self, atom: &Atom) -> Typed<Size> {
        match self.sized_array(atom)? {
            (size, Type::Scalar(ty)) if ty.is_integer() => Ok(size),
            (_, other) => Err(TypeError::new(
                Rule::OperandType,
                format!("indices are integers, not `{}`", self.show(&other)),
            )),
        }
    }

    fn made(&mut self, op: &Op) -> Typed<ResultType> {
        match op.prim {
            Prim::Iota => {
                let [count] = args(op)?;
                Ok(ResultType::one(Type::array(self.size(count)?, Type::I64)))
            }
            Prim::Range => {
                let bounds: [&Atom; 3] = args(op)?;
                for bound in bounds {
                    self.expect(bound, &Type::I64, "a bound")?;
                }
                Ok(self.unknown_size("count", Type::I64))
            }
            Prim::Replicate => {
                let [count, value] = args(op)?;
                let ty = self.atom(value)?;
                Ok(ResultType::one(Type::array(self.size(count)?, ty)))
            }
            _ => {
                let [array] = args(op)?;
                self.sized_array(array)?;
                Ok(ResultType::one(Type::I64))
            }
        }
    }

    fn rearranged(&self, op: &Op) -> Typed<Type> {
        match op.prim {
            Prim::Zip => {
                let [left, right] = args(op)?;
                let ((n, a), (m, b)) = (self.sized_array(left)?, self.sized_array(right)?);
                self.expect_size(&n, &m)?;
                Ok(Type::array(n, Type::Tuple(vec![a, b])))
            }
            Prim::Unzip => {
                let [pairs] = args(op)?;
                let (n, element) = self.sized_array(pairs)?;
                match element {
                    Type::Tuple(parts) if parts.len() == 2 => {
                        let arrays = parts.into_iter().map(|part| Type::array(n.clone(), part));
                        Ok(Type::Tuple(arrays.collect()))
                    }
                    other => Err(self.expected("pairs", &other)),
                }
            }
            Prim::Concat => {
                let [left, right] = args(op)?;
                let ((n, a), (m, b)) = (self.sized_array(left)?, self.sized_array(right)?);
                self.expect_same(&a, &b, Rule::OperandType, "an element of the second array")?;
                Ok(Type::array(n + m, a))
            }
            Prim::Reverse => {
                let [array] = args(op)?;
                let (n, element) = self.sized_array(array)?;
                Ok(Type::array(n, element))
            }
            Prim::Rotate => {
                let [by, array] = args(op)?;
                self.expect(by, &Type::I64, "the distance")?;
                let (n, element) = self.sized_array(array)?;
                Ok(Type::array(n, element))
            }
            _ => {
                let [array] = args(op)?;
                let (n, m, element) = self.matrix(array)?;
                Ok(Type::array(m, Type::array(n, element)))
            }
        }
    }

    /// `[n][m]a`.
    fn matrix(&self, atom: &Atom) -> Typed<(Size, Size, Type)> {
        let (n, row) = self.sized_array(atom)?;
        match row {
            Type::Array(Dim::Size(m), element) => Ok((n, m, *element)),
            other => Err(self.expected("regular rows", &other)),
        }
    }

    /// `[n][?]a`.
    fn jagged_rows(&self, atom: &Atom) -> Typed<(Size, Type)> {
        let (n, row) = self.sized_array(atom)?;
        match row {
            Type::Array(Dim::Jagged, element) => Ok((n, *element)),
            other => Err(self.expected("jagged rows", &other)),
        }
    }

    fn resized(&self, op: &Op) -> Typed<Type> {
        match op.prim {
            Prim::Split => {
                let [width, array] = args(op)?;
                let (m, (k, element)) = (self.size(width)?, self.sized_array(array)?);
                Ok(Type::array(k.div(&m), Type::array(m, element)))
            }
            Prim::Join => {
                let [array] = args(op)?;
                let (n, m, element) = self.matrix(array)?;
                Ok(Type::array(n * m, element))
            }
            Prim::Pad => {
                let [left, right, value, array] = args(op)?;
                let (n, element) = self.sized_array(array)?;
                self.expect(value, &element, "the padding")?;
                Ok(Type::array(self.size(left)? + n + self.size(right)?, element))
            }
            Prim::PadEdge => {
                let [left, right, array] = args(op)?;
                let (n, element) = self.sized_array(array)?;
                Ok(Type::array(self.size(left)? + n + self.size(right)?, element))
            }
            Prim::Take => {
                let [count, array] = args(op)?;
                let (_, element) = self.sized_array(array)?;
                Ok(Type::array(self.size(count)?, element))
            }
            _ => {
                let [count, array] = args(op)?;
                let (n, element) = self.sized_array(array)?;
                Ok(Type::array(n - self.size(count)?, element))
            }
        }
    }

    /// `floor((n - size + step) / step)` windows, where that cannot be negative: none where `n < size`.
    fn slide(&mut self, op: &Op) -> Typed<ResultType> {
        let [size, step, array] = args(op)?;
        let (size, step) = (self.size(size)?, self.size(step)?);
        let (n, element) = self.sized_array(array)?;
        let window = Type::array(size.clone(), element);
        let dividend = n - size + &step;
        let at_least_one = &step - &Size::one();
        if self.env.is_not_negative(&at_least_one) && self.env.is_not_negative(&dividend) {
            return Ok(ResultType::one(Type::array(dividend.div(&step), window)));
        }
        Ok(self.unknown_size("count", window))
    }

    fn flatten(&mut self, op: &Op) -> Typed<ResultType> {
        let [array] = args(op)?;
        let (_, element) = self.jagged_rows(array)?;
        Ok(self.unknown_size("total", element))
    }

    fn jagged(&self, op: &Op) -> Typed<Type> {
        match op.prim {
            Prim::Unflatten => {
                let [offsets, array] = args(op)?;
                let (count, offset) = self.sized_array(offsets)?;
                self.expect_same(&Type::I64, &offset, Rule::OperandType, "an offset")?;
                let (_, element) = self.sized_array(array)?;
                Ok(Type::array(count - Size::one(), Type::jagged(element)))
            }
            Prim::Segments => {
                let [array] = args(op)?;
                let (n, _) = self.jagged_rows(array)?;
                Ok(Type::array(n + Size::one(), Type::I64))
            }
            _ => {
                let [array] = args(op)?;
                let (n, _, element) = self.matrix(array)?;
                Ok(Type::array(n, Type::jagged(element)))
            }
        }
    }

    fn vectors(&self, op: &Op) -> Typed<Type> {
        match op.prim {
            Prim::AsVector => {
                let [width, array] = args(op)?;
                let (lanes, ty) = match (width, self.sized_array(array)?) {
                    (Atom::Const(Scalar::I64(lanes @ (2 | 3 | 4 | 8 | 16))), (k, Type::Scalar(ty))) => {
                        (*lanes, (k, ty))
                    }
                    (Atom::Const(Scalar::I64(2 | 3 | 4 | 8 | 16)), (_, other)) => {
                        return Err(self.expected("scalars", &other));
                    }
                    _ => {
                        let message = "a vector has 2, 3, 4, 8 or 16 lanes";
                        return Err(TypeError::new(Rule::VectorWidth, message));
                    }
                };
                let (k, element): (Size, ScalarType) = ty;
                let vector = Type::Vector(lanes as u32, element);
                Ok(Type::array(k.div(&Size::constant(lanes)), vector))
            }
            _ => {
                let [array] = args(op)?;
                match self.sized_array(array)? {
                    (n, Type::Vector(width, ty)) => {
                        Ok(Type::array(n * Size::constant(width.into()), Type::Scalar(ty)))
                    }
                    (_, other) => Err(self.expected("vectors", &other)),
                }
            }
        }
    }

    fn nodes(&mut self, op: &Op) -> Typed<ResultType> {
        let made_of = match op.prim {
            Prim::FromNodes => {
                let [root, nodes] = args(op)?;
                self.expect(root, &Type::I64, "the root")?;
                Some(nodes)
            }
            Prim::Constructed => {
                let [nodes] = args(op)?;
                Some(nodes)
            }
            _ => None,
        };
        if let Some(nodes) = made_of {
            return match self.sized_array(nodes)? {
                (_, Type::Node(data)) => Ok(ResultType::one(Type::Data(data))),
                (_, other) => Err(self.expected("node values", &other)),
            };
        }
        let [datum] = args(op)?;
        let data = match self.atom(datum)? {
            Type::Data(data) => data,
            other => return Err(self.expected("a recursive datum", &other)),
        };
        self.signatures.expect_recursive(data)?;
        Ok(match op.prim {
            Prim::Nodes | Prim::Reach => self.unknown_size("count", Type::Node(data)),
            _ => ResultType::one(Type::I64),
        })
    }

    fn expected(&self, what: &str, found: &Type) -> TypeError {
        let message = format!("expected {what}, found `{}`", self.show(found));
        TypeError::new(Rule::OperandType, message)
    }

    fn expect_size(&self, expected: &Size, found: &Size) -> Typed<()> {
        if expected == found {
            return Ok(());
        }
        let message = format!("the sizes `{expected}` and `{found}` are not provably equal");
        Err(TypeError::new(Rule::OperandType, message))
    }

    fn expect_param(&self, expected: &Type, declared: &Type) -> Typed<()> {
        let declared = self.env.normalise(declared);
        self.expect_same(expected, &declared, Rule::Function, "a parameter of the function")
    }
}

fn args<const N: usize>(op: &Op) -> Typed<[&Atom; N]> {
    let found: Vec<&Atom> = op.args.iter().collect();
    let count = found.len();
    found.try_into().map_err(|_| {
        let message = format!("`{}` takes {N} arguments, found {count}", op.prim.name());
        TypeError::new(Rule::Arity, message)
    })
}

fn functions<const N: usize>(op: &Op) -> Typed<[&Lambda; N]> {
    let found: Vec<&Lambda> = op.functions.iter().collect();
    let count = found.len();
    found.try_into().map_err(|_| {
        let message = format!("`{}` takes {N} functions, found {count}", op.prim.name());
        TypeError::new(Rule::Arity, message)
    })
}

fn wrong_params(expected: usize, function: &Lambda) -> TypeError {
    let message = format!(
        "the function takes {} parameters, not {expected}",
        function.params.len()
    );
    TypeError::new(Rule::Function, message)
}

/// Whether each application of the function has its own value of the variable.
fn bound_by(function: &Lambda, var: &Var) -> bool {
    function.context.contains(var)
        || function.result.context.contains(var)
        || function.params.iter().any(|param| param.var == *var)
}
