//! Operations: those with functions become loops, the others instructions on whole values.

use super::communicating::Scan;
use super::compute::only;
use super::{Given, Loc, Lower, Lowered, output_of};
use crate::interp::code::{
    B, BeginInstr, FetchInstr, Input, Instr, MakeTuplesInstr, Node, Output, PushInstr, S, Shape, Use,
    WholeInstr, WholeOp,
};
use crate::interp::error::Site;
use crate::ir::{Atom, Lambda, Op, Param, Type};
use almach_base::Span;
use almach_prim::Prim;
use almach_value::ScalarType;

/// Arrays that grow, one per component of their elements.
pub(super) enum Growing {
    Leaf(B),
    Tuple(Vec<Growing>),
}

impl Lower<'_, '_> {
    pub(super) fn op(&mut self, op: &Op, values: &[Param], span: Span) -> Lowered<Given> {
        let site = self.site(span);
        match op.prim {
            Prim::Map => self.map(op, values, site),
            Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq => self.reduce(op, site).map(Given::one),
            Prim::Scan => self.scan(op, values, site, Scan::Inclusive).map(Given::one),
            Prim::ScanExclusive => self.scan(op, values, site, Scan::Exclusive).map(Given::one),
            Prim::ScanRows => self.scan_rows(op, values, site, Scan::Inclusive).map(Given::one),
            Prim::ScanRowsExclusive => self.scan_rows(op, values, site, Scan::Exclusive).map(Given::one),
            Prim::Filter => {
                let (taken, _) = self.positions(op, site)?;
                self.selected(op, taken, site).map(Given::one)
            }
            Prim::Partition => {
                let (taken, others) = self.positions(op, site)?;
                let taken = self.selected(op, taken, site)?;
                let others = self.selected(op, others, site)?;
                Ok(Given::one(Loc::Tuple(vec![taken, others])))
            }
            Prim::ReduceByIndex => self.reduce_by_index(op, values, site).map(Given::one),
            Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => self.placed(op),
            Prim::Build => self.build(op, values, site).map(Given::one),
            Prim::Length => {
                let [array] = args(op)?;
                let array = self.boxed_atom(array)?;
                let size = self.size_at(array, Vec::new());
                Ok(Given::one(Loc::Scalar(size, ScalarType::I64)))
            }
            Prim::Materialise => {
                let [value] = args(op)?;
                self.atom(value).map(Given::one)
            }
            Prim::Nodes | Prim::RootOf | Prim::FromNodes | Prim::Reach | Prim::Constructed => {
                self.nodes(op, values, site).map(Given::one)
            }
            // The interpreter makes views, too.
            _ => self
                .whole(WholeOp::Prim(op.prim), &op.args, values, site)
                .map(Given::one),
        }
    }

    fn whole(&mut self, op: WholeOp, args: &[Atom], values: &[Param], site: Site) -> Lowered<Loc> {
        let args = self.inputs(args)?;
        let loc = self.fresh(only(values)?);
        let to = output_of(&loc);
        self.emit(Instr::Whole(Box::new(WholeInstr { op, to, args, site })));
        Ok(loc)
    }

    fn nodes(&mut self, op: &Op, values: &[Param], site: Site) -> Lowered<Loc> {
        let whole = match (op.prim, only(values)?) {
            (Prim::FromNodes, Type::Data(data)) => WholeOp::FromNodes(self.facts.references(*data)?),
            (Prim::Nodes, Type::Array(_, element)) => match **element {
                Type::Node(data) => WholeOp::Nodes(self.facts.references(data)?),
                _ => return Err("`nodes` gives no nodes".to_owned()),
            },
            (Prim::Reach, Type::Array(_, element)) => match **element {
                Type::Node(data) => WholeOp::Reach(self.facts.references(data)?),
                _ => return Err("`reach` gives no nodes".to_owned()),
            },
            (Prim::Constructed, Type::Data(data)) => WholeOp::Constructed {
                references: self.facts.references(*data)?,
                constants: self.facts.constants_of(*data),
            },
            (Prim::RootOf, _) => WholeOp::RootOf,
            _ => return Err("a table of what is no recursive data".to_owned()),
        };
        self.whole(whole, &op.args, values, site)
    }

    /// The element of an array at an index that is known to be good.
    pub(super) fn fetch(&mut self, array: B, at: S, to: Output) {
        match to {
            Output::Ignored => {}
            Output::Scalar(to) => self.emit(Instr::Fetch { to, array, at }),
            to => self.emit(Instr::FetchAny(Box::new(FetchInstr { to, array, at }))),
        }
    }

    /// Fetches the elements of arrays into a function's parameters, and binds its sizes; `bound` are parameters
    /// that have their registers already.
    pub(super) fn enter(
        &mut self,
        function: &Lambda,
        fetched: &[(&Param, B)],
        at: S,
        bound: &[(&Param, Loc)],
    ) -> Lowered<()> {
        let mut typed: Vec<(&Type, Loc)> = bound
            .iter()
            .map(|(param, loc)| (&param.ty, loc.clone()))
            .collect();
        for (param, array) in fetched {
            let to = self.wanted_output(param, &function.context);
            if !matches!(to, Output::Ignored) {
                typed.push((&param.ty, self.var(&param.var)?));
            }
            self.fetch(*array, at, to);
        }
        self.bind_sizes(&function.context, &typed)
    }

    /// A loop over positions below `bound`.
    pub(super) fn count(
        &mut self,
        bound: S,
        inside: impl FnOnce(&mut Self, S) -> Lowered<()>,
    ) -> Lowered<()> {
        let counter = self.scalar();
        let inner = self.inner();
        let body = self.in_block(|lower| inside(lower, counter))?;
        self.block.push(Node::Count {
            counter,
            bound,
            body,
            inner,
        });
        Ok(())
    }

    pub(super) fn begin(&mut self, element: &Type, capacity: S, site: Site) -> Lowered<Growing> {
        if let Type::Tuple(parts) = element {
            let parts: Lowered<Vec<Growing>> = parts
                .iter()
                .map(|part| self.begin(part, capacity, site))
                .collect();
            return Ok(Growing::Tuple(parts?));
        }
        let shape = self.shape(element)?;
        Ok(Growing::Leaf(self.begin_leaf(shape, capacity, site)))
    }

    pub(super) fn begin_leaf(&mut self, shape: Shape, capacity: S, site: Site) -> B {
        let to = self.boxed();
        self.emit(Instr::Begin(Box::new(BeginInstr {
            to,
            shape,
            capacity,
            site,
        })));
        to
    }

    pub(super) fn push(&mut self, growing: &Growing, value: &Loc, site: Site) -> Lowered<()> {
        match (growing, value) {
            (Growing::Tuple(parts), Loc::Tuple(values)) if parts.len() == values.len() => parts
                .iter()
                .zip(values)
                .try_for_each(|(part, value)| self.push(part, value, site)),
            (Growing::Leaf(array), Loc::Scalar(..) | Loc::Const(_)) => {
                let value = self.scalar_of(value)?;
                self.emit(Instr::Push { array: *array, value });
                Ok(())
            }
            (Growing::Leaf(array), _) => {
                let (array, value) = (*array, self.input(value)?);
                self.emit(Instr::PushAny(Box::new(PushInstr { array, value, site })));
                Ok(())
            }
            _ => Err("a result does not fit the elements of its array".to_owned()),
        }
    }

    pub(super) fn finish(&mut self, growing: &Growing, len: S) -> B {
        let to = self.boxed();
        match growing {
            Growing::Leaf(array) => self.emit(Instr::Finish {
                to,
                array: Use::of(*array),
            }),
            Growing::Tuple(parts) => {
                let parts = parts.iter().map(|part| Use::of(self.finish(part, len))).collect();
                self.emit(Instr::MakeTuples(Box::new(MakeTuplesInstr { to, len, parts })));
            }
        }
        to
    }

    fn map(&mut self, op: &Op, values: &[Param], site: Site) -> Lowered<Given> {
        let [function] = functions(op)?;
        let arrays: Lowered<Vec<B>> = op.args.iter().map(|arg| self.boxed_atom(arg)).collect();
        let arrays = arrays?;
        let first = arrays.first().ok_or("a `map` without arrays")?;
        let bound = self.size_at(*first, Vec::new());
        let mut results = Vec::with_capacity(values.len());
        for value in values {
            results.push(self.begin(element(&value.ty)?, bound, site)?);
        }
        self.count(bound, |lower, at| {
            let fetched: Vec<(&Param, B)> = function.params.iter().zip(arrays.iter().copied()).collect();
            lower.enter(function, &fetched, at, &[])?;
            let (_, given) = lower.body(&function.body)?;
            if given.len() != results.len() {
                return Err("a `map` gives another number of arrays than its function values".to_owned());
            }
            results
                .iter()
                .zip(&given)
                .try_for_each(|(result, value)| lower.push(result, value, site))
        })?;
        let arrays = results
            .iter()
            .map(|result| Loc::Boxed(self.finish(result, bound)));
        Ok(Given {
            context: None,
            values: arrays.collect(),
        })
    }

    /// The operator applied to an accumulator and the element at a position, written back to the accumulator.
    pub(super) fn accumulate(
        &mut self,
        function: &Lambda,
        accumulator: &Loc,
        array: B,
        at: S,
    ) -> Lowered<()> {
        let [left, right] = function.params.as_slice() else {
            return Err("an operator takes two parameters".to_owned());
        };
        self.bind(&left.var, accumulator.clone());
        self.enter(function, &[(right, array)], at, &[(left, accumulator.clone())])?;
        let (_, given) = self.body(&function.body)?;
        self.assign(std::slice::from_ref(accumulator), &given)
    }

    pub(super) fn accumulator(&mut self, function: &Lambda, initial: &Atom) -> Lowered<Loc> {
        let [state] = function.result.types.as_slice() else {
            return Err("an operator gives one value".to_owned());
        };
        let accumulator = self.fresh(state);
        let initial = self.atom(initial)?;
        self.assign(std::slice::from_ref(&accumulator), &[initial])?;
        Ok(accumulator)
    }

    /// `e` combined once, on the left, with all elements in order (design, "Reductions").
    fn reduce(&mut self, op: &Op, site: Site) -> Lowered<Loc> {
        let ([function], [initial, array]) = (functions(op)?, args(op)?);
        let array = self.boxed_atom(array)?;
        let bound = self.size_at(array, Vec::new());
        let accumulator = self.accumulator(function, initial)?;
        match op.grouping() {
            None => self.count(bound, |lower, at| {
                lower.accumulate(function, &accumulator, array, at)
            })?,
            Some(chunk) => self.reduce_chunks(function, &accumulator, array, bound, chunk, site)?,
        }
        Ok(accumulator)
    }

    /// The positions at which a predicate holds, and the others (which only `partition` wants).
    fn positions(&mut self, op: &Op, site: Site) -> Lowered<(B, B)> {
        let ([function], [array]) = (functions(op)?, args(op)?);
        let array = self.boxed_atom(array)?;
        let [param] = function.params.as_slice() else {
            return Err("a predicate takes one parameter".to_owned());
        };
        let bound = self.size_at(array, Vec::new());
        let none = self.scalar();
        self.emit(Instr::Const(none, 0));
        let position = Shape::Scalar(ScalarType::I64);
        let taken = self.begin_leaf(position.clone(), none, site);
        let others = self.begin_leaf(position, none, site);
        self.count(bound, |lower, at| {
            lower.enter(function, &[(param, array)], at, &[])?;
            let (_, given) = lower.body(&function.body)?;
            let [condition] = given.as_slice() else {
                return Err("a predicate gives one value".to_owned());
            };
            let condition = lower.scalar_of(condition)?;
            let push = |array: B| vec![Node::Instr(Instr::Push { array, value: at })];
            lower.block.push(Node::If {
                condition,
                then: push(taken),
                otherwise: match op.prim {
                    Prim::Partition => push(others),
                    _ => Vec::new(),
                },
            });
            Ok(())
        })?;
        let finished = (self.boxed(), self.boxed());
        for (to, array) in [(finished.0, taken), (finished.1, others)] {
            let array = Use::of(array);
            self.emit(Instr::Finish { to, array });
        }
        Ok(finished)
    }

    fn selected(&mut self, op: &Op, positions: B, site: Site) -> Lowered<Loc> {
        let [array] = args(op)?;
        let array = self.boxed_atom(array)?;
        let to = self.boxed();
        self.emit(Instr::Whole(Box::new(WholeInstr {
            op: WholeOp::Select,
            to: Output::Boxed(to),
            args: [positions, array].map(|reg| Input::Boxed(Use::of(reg))).into(),
            site,
        })));
        Ok(Loc::Boxed(to))
    }

    /// `toGlobal f x` is `f x`.
    fn placed(&mut self, op: &Op) -> Lowered<Given> {
        let [function] = functions(op)?;
        if function.params.len() != op.args.len() {
            return Err("a placed function takes another number of arguments".to_owned());
        }
        let locs = self.atoms(&op.args)?;
        for (param, loc) in function.params.iter().zip(locs) {
            self.bind(&param.var, loc);
        }
        let (context, values) = self.body(&function.body)?;
        Ok(Given {
            context: Some(context),
            values,
        })
    }

    fn build(&mut self, op: &Op, values: &[Param], site: Site) -> Lowered<Loc> {
        let ([function], [count, root]) = (functions(op)?, args(op)?);
        let ([position], Type::Data(data)) = (function.params.as_slice(), only(values)?) else {
            return Err("`build` takes a position and gives a datum".to_owned());
        };
        let references = self.facts.references(*data)?;
        let bound = self.scalar_atom(count)?;
        let nodes = Growing::Leaf(self.begin_leaf(Shape::Boxed, bound, site));
        self.count(bound, |lower, at| {
            lower.bind(&position.var, Loc::Scalar(at, ScalarType::I64));
            let (_, given) = lower.body(&function.body)?;
            let [node] = given.as_slice() else {
                return Err("the function of `build` gives one value".to_owned());
            };
            lower.push(&nodes, node, site)
        })?;
        let table = Loc::Boxed(self.finish(&nodes, bound));
        let root = self.atom(root)?;
        let args = [self.input(&root)?, self.input(&table)?];
        let to = self.boxed();
        self.emit(Instr::Whole(Box::new(WholeInstr {
            op: WholeOp::FromNodes(references),
            to: Output::Boxed(to),
            args: args.into(),
            site,
        })));
        Ok(Loc::Boxed(to))
    }
}

pub(super) fn element(ty: &Type) -> Lowered<&Type> {
    match ty {
        Type::Array(_, element) => Ok(element),
        _ => Err("an operation gives no array".to_owned()),
    }
}

pub(super) fn args<const N: usize>(op: &Op) -> Lowered<[&Atom; N]> {
    let found: Vec<&Atom> = op.args.iter().collect();
    let result: Result<[&Atom; N], _> = found.try_into();
    result.map_err(|_| format!("`{}` has another number of arguments", op.prim.name()))
}

pub(super) fn functions<const N: usize>(op: &Op) -> Lowered<[&Lambda; N]> {
    let found: Vec<&Lambda> = op.functions.iter().collect();
    let result: Result<[&Lambda; N], _> = found.try_into();
    result.map_err(|_| format!("`{}` has another number of functions", op.prim.name()))
}
