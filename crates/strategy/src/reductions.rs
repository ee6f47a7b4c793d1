//! Reductions: chunks for threads, each reduced by one worker, their results combined in order.
//!
//! ```text
//! let s: f32 = reduce f e xs     =>   let count = n / 65536
//!                                     let whole = count * 65536
//!                                     let chunks = split 65536 (take whole xs)
//!                                     let partials = map@par (\chunk -> <chunk reduced>) chunks
//!                                     let all = reduceSeq f e partials
//!                                     let s = <drop whole xs reduced into all>
//! ```
//!
//! The size of a chunk belongs to the strategy: neither the machine nor the number of threads changes the grouping. `e` enters
//! once, on the left. A chunk starts from the operator's identity where that is known, else from its first element, so
//! nothing is asked of `e`. What feeds the reduction (`producers`) is computed in place.
//!
//! Introduces: `split`, `take`, `drop`, `map@par`, `reduceSeq`. Removes: `reduce`, and the operations that feed it.
//! Guarantees: the same elements in the same order, grouped otherwise; on lanes also reordered, where the operator is
//! commutative (`lanes`).

use crate::masks::Abreast;
use crate::operator::Operator;
use crate::weights::WORTH_THREADS;
use crate::within::reads_within;
use crate::write::{Definitions, at_level, int, view};
use crate::{Around, Choice, Chooser, Machine, Topic, cost};
use almach_base::Span;
use almach_core::build::op as plain_op;
use almach_core::typing::Typed;
use almach_core::{Atom, Body, Exp, Lambda, Op, ResultType, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_value::{BinOp, ScalarType, TernOp};

/// Elements of a chunk when each is one scalar operation.
const CHUNK: u64 = 1 << 16;

/// What happens to an element on its way into a reduction.
#[derive(Clone)]
pub(crate) enum Stage {
    Map(Lambda),
    Filter(Lambda),
}

/// A reduction with what feeds it.
pub(crate) struct Reduction {
    pub(crate) operation: Prim,
    pub(crate) span: Span,
    /// With levels inside; none where the operator says it all.
    function: Option<Lambda>,
    pub(crate) operator: Option<Operator>,
    /// How many arrays feed it, zipped to one.
    pub(crate) arity: usize,
    pub(crate) stages: Vec<Stage>,
    pub(crate) state: Type,
    pub(crate) element: Type,
    /// Whether all that happens to an element is straight-line code on scalars.
    pub(crate) simple: bool,
    /// Whether something that happens to an element can fail.
    pub(crate) fails: bool,
    /// Scalar operations for an element.
    pub(crate) work: u64,
    /// What its functions stand in.
    pub(crate) inside: Around,
    /// What feeds it, for a group of elements at a time.
    pub(crate) abreast: Option<Abreast>,
}

impl Reduction {
    /// An array of such elements, combined with an operator.
    pub(crate) fn with(operator: &Operator, ty: &Type, span: Span) -> Reduction {
        Reduction {
            operation: Prim::Reduce,
            span,
            function: None,
            operator: Some(operator.clone()),
            arity: 1,
            stages: Vec::new(),
            state: ty.clone(),
            element: ty.clone(),
            simple: true,
            fails: false,
            work: 1,
            inside: Around::Lane,
            abreast: None,
        }
    }

    /// The same operator on states.
    pub(crate) fn of_states(&self) -> Reduction {
        Reduction {
            function: self.function.clone(),
            operator: self.operator.clone(),
            arity: 1,
            stages: Vec::new(),
            state: self.state.clone(),
            element: self.state.clone(),
            simple: self.simple,
            work: 1,
            abreast: None,
            ..*self
        }
    }

    pub(crate) fn is_filtered(&self) -> bool {
        let mut stages = self.stages.iter();
        stages.any(|stage| matches!(stage, Stage::Filter(_)))
    }
}

impl Chooser {
    pub(crate) fn reduction(
        &mut self,
        stmt: &Stmt,
        op: &Op,
        producers: &[&Stmt],
        around: Around,
    ) -> Typed<()> {
        let ([function], [initial, array]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return self.in_order(stmt, op, around, "it has no array");
        };
        if !function.context.is_empty() || !function.result.context.is_empty() {
            return self.in_order(
                stmt,
                op,
                around,
                "its operator works on arrays of different sizes",
            );
        }
        // It would be written once for whole chunks and once for the rest.
        if self.facts.holds_fixed(&stmt.exp) {
            return self.in_order(
                stmt,
                op,
                around,
                "the level of an operation in its operator is written",
            );
        }
        let Some(source) = self.source(array, producers, stmt.span)? else {
            return self.in_order(stmt, op, around, "it has no array");
        };
        let Some((_, element)) = self.array_type(&source) else {
            return self.in_order(stmt, op, around, "it has no array");
        };
        let reduction = self.described(stmt, op, function, initial, producers, element, around)?;
        let result = match self.machine {
            Machine::Device => self.device_reduction(&reduction, initial, &source, around)?,
            Machine::Sequential | Machine::Threads => match self.chunk_size(&reduction, &source, around) {
                Some(size) => self.chunked(&reduction, initial, &source, size)?,
                None => self.reduced(&reduction, initial, &source)?,
            },
        };
        self.builder
            .push(stmt.pattern.clone(), Exp::Atom(result), stmt.span);
        Ok(())
    }

    /// A reduction with its producers, of an array with such elements.
    #[expect(clippy::too_many_arguments, reason = "the parts of one reduction")]
    pub(crate) fn described(
        &mut self,
        stmt: &Stmt,
        op: &Op,
        function: &Lambda,
        initial: &Atom,
        producers: &[&Stmt],
        element: Type,
        around: Around,
    ) -> Typed<Reduction> {
        // Threads take chunks of it, or have other work.
        let inside = match self.machine {
            Machine::Device => Around::Lane,
            Machine::Sequential | Machine::Threads => around.max(Around::Parallel),
        };
        for producer in producers {
            if let Exp::Op(giver) = &producer.exp {
                let reason = "the reduction is its only use";
                self.decide(producer.span, giver.prim, Choice::FusedInto(op.prim), reason);
            }
        }
        Ok(Reduction {
            operation: op.prim,
            span: stmt.span,
            operator: Operator::of(function),
            arity: match producers.first().map(|stmt| &stmt.exp) {
                Some(Exp::Op(giver)) => giver.args.len(),
                _ => 1,
            },
            state: self.builder.type_of(initial)?,
            element,
            simple: self.is_simple_chain(producers, cost::is_for_lanes),
            fails: producers.iter().any(|stmt| self.facts.can_fail(&stmt.exp))
                || self.facts.body_can_fail(&function.body),
            work: self.work(function, producers),
            function: Some(self.lambda(function, inside)?),
            stages: self.stages(producers, inside)?,
            inside,
            abreast: self.fed_abreast(Operator::of(function).as_ref(), producers, inside)?,
        })
    }

    /// The reduction as it is, in order.
    fn in_order(&mut self, stmt: &Stmt, op: &Op, around: Around, reason: &str) -> Typed<()> {
        let mut chosen = op.clone();
        chosen.annotation.level = Some(Level::Seq);
        for function in &mut chosen.functions {
            *function = self.lambda(function, around)?;
        }
        self.decide(stmt.span, op.prim, Choice::InOrder, reason);
        self.builder
            .push(stmt.pattern.clone(), Exp::Op(chosen), stmt.span);
        Ok(())
    }

    /// The array that the first producer takes, several as one; the reduction's own where nothing feeds it.
    fn source(&mut self, array: &Atom, producers: &[&Stmt], span: Span) -> Typed<Option<Atom>> {
        match producers.first().map(|stmt| &stmt.exp) {
            Some(Exp::Op(giver)) => self.zipped(&giver.args, span),
            _ => Ok(Some(array.clone())),
        }
    }

    fn stages(&mut self, producers: &[&Stmt], inside: Around) -> Typed<Vec<Stage>> {
        let mut stages = Vec::new();
        for producer in producers {
            let Exp::Op(giver) = &producer.exp else { continue };
            for function in &giver.functions {
                let function = self.lambda(function, inside)?;
                stages.push(match giver.prim {
                    Prim::Filter => Stage::Filter(function),
                    _ => Stage::Map(function),
                });
            }
        }
        Ok(stages)
    }

    /// Whether what feeds a reduction is straight-line code on elements of such types.
    pub(crate) fn is_simple_chain(&self, producers: &[&Stmt], takes: impl Fn(&Type) -> bool) -> bool {
        producers.iter().all(|producer| match &producer.exp {
            Exp::Op(giver) => giver.functions.iter().all(|function| {
                let within = reads_within(function, &giver.args, &self.numbers, &self.facts);
                cost::is_simple_on(function, &self.facts, &takes, &within)
            }),
            _ => false,
        })
    }

    fn work(&self, function: &Lambda, producers: &[&Stmt]) -> u64 {
        let mut work = cost::of_body(&function.body, &self.facts);
        for producer in producers {
            if let Exp::Op(giver) = &producer.exp {
                for function in &giver.functions {
                    work = work.saturating_add(cost::of_body(&function.body, &self.facts));
                }
            }
        }
        work.max(1)
    }

    /// How many elements each chunk has; none where one worker does all.
    fn chunk_size(&mut self, reduction: &Reduction, source: &Atom, around: Around) -> Option<i64> {
        if around != Around::Nothing {
            return None;
        }
        if reduction.is_filtered() && reduction.operator.is_none() {
            let reason = "a part of it may be empty, and its operator has no known identity";
            self.decide(reduction.span, reduction.operation, Choice::InOrder, reason);
            return None;
        }
        let (size, _) = self.array_type(source)?;
        if let Some(size) = size.as_constant().and_then(|size| u64::try_from(size).ok())
            && size.saturating_mul(reduction.work) < WORTH_THREADS
        {
            let reason = "it is too little work for threads";
            self.decide(reduction.span, reduction.operation, Choice::InOrder, reason);
            return None;
        }
        // A power of two, so that lanes divide it. What holds loops is taken at its word; a few operations are little beside
        // reading memory.
        let weight = match reduction.work {
            few @ 0..64 => few.div_ceil(4),
            many => many,
        };
        let least = reduction
            .abreast
            .as_ref()
            .map_or(1, |abreast| abreast.lanes as u64);
        let share = (CHUNK / weight).max(least);
        let exponent = match self.ask(reduction.span, Topic::Chunk, 3) {
            0 => share.ilog2(),
            1 => share.ilog2().saturating_sub(2),
            _ => share.ilog2() + 2,
        };
        let size = 1i64 << exponent;
        let reason = format!("about {} scalar operations for each element", reduction.work);
        self.decide(reduction.span, reduction.operation, Choice::Chunks(size), &reason);
        Some(size)
    }

    fn chunked(&mut self, reduction: &Reduction, initial: &Atom, source: &Atom, size: i64) -> Typed<Atom> {
        let span = reduction.span;
        let (head, rest) = self.multiple_of(source, size, span)?;
        let chunks = self.bind(view(Prim::Split, vec![int(size), head]), "chunks", span)?;
        let Some((_, chunk)) = self.array_type(&chunks) else {
            return Ok(chunks);
        };
        let each = self.lambda_of([("chunk", chunk)], |this, [chunk]| {
            this.part(reduction, &chunk, span)
        })?;
        let partials = at_level(Prim::Map, Level::Par, vec![each], vec![chunks]);
        let partials = self.bind(partials, "partials", span)?;
        let params = [
            ("acc", reduction.state.clone()),
            ("part", reduction.state.clone()),
        ];
        let combine = self.lambda_of(params, |this, [acc, part]| {
            this.combine(reduction, &acc, &part, &Definitions::new())
        })?;
        let all = plain_op(Prim::ReduceSeq, vec![combine], vec![initial.clone(), partials]);
        let all = self.bind(all, "all", span)?;
        self.reduced(reduction, &all, &rest)
    }

    /// One chunk, which is not empty, on its own.
    pub(crate) fn part(&mut self, reduction: &Reduction, chunk: &Atom, span: Span) -> Typed<Atom> {
        if let Some(operator) = &reduction.operator {
            if let Some(small) = self.small(reduction, chunk) {
                let identity = self.identity(operator, span)?;
                return self.on_narrow_lanes(reduction, &identity, chunk, &small);
            }
            return match self.lanes(reduction, chunk) {
                Some(shape) => self.on_lanes(reduction, None, chunk, shape),
                None => {
                    let identity = self.identity(operator, span)?;
                    self.fold(reduction, &identity, chunk)
                }
            };
        }
        let first = Exp::Index {
            array: chunk.clone(),
            indices: vec![int(0)],
        };
        let first = self.bind(first, "first", span)?;
        let start = self.fed(reduction, &first)?;
        let rest = self.bind(view(Prim::Drop, vec![int(1), chunk.clone()]), "rest", span)?;
        self.fold(reduction, &start, &rest)
    }

    /// An array reduced into a state, by one worker.
    fn reduced(&mut self, reduction: &Reduction, start: &Atom, array: &Atom) -> Typed<Atom> {
        if let Some(small) = self.small(reduction, array) {
            return self.on_narrow_lanes(reduction, start, array, &small);
        }
        self.on_lanes_or_in_order(reduction, start, array)
    }

    pub(crate) fn on_lanes_or_in_order(
        &mut self,
        reduction: &Reduction,
        start: &Atom,
        array: &Atom,
    ) -> Typed<Atom> {
        match self.lanes(reduction, array) {
            Some(shape) => self.on_lanes(reduction, Some(start), array, shape),
            None => self.fold(reduction, start, array),
        }
    }

    /// `reduceSeq` of the reduction's step.
    pub(crate) fn fold(&mut self, reduction: &Reduction, start: &Atom, array: &Atom) -> Typed<Atom> {
        let params = [("acc", reduction.state.clone()), ("x", reduction.element.clone())];
        let step = self.lambda_of(params, |this, [acc, x]| this.step(reduction, &acc, &x))?;
        let fold = plain_op(Prim::ReduceSeq, vec![step], vec![start.clone(), array.clone()]);
        self.bind(fold, "acc", reduction.span)
    }

    /// The next state from a state and an element.
    pub(crate) fn step(&mut self, reduction: &Reduction, acc: &Atom, element: &Atom) -> Typed<Atom> {
        let mut definitions = Definitions::new();
        let values = self.unzipped(element, reduction.arity, &mut definitions, reduction.span)?;
        self.steps(reduction, &reduction.stages, acc, values, &mut definitions)
    }

    /// The next state from a state and the elements of the arrays that feed the reduction.
    pub(crate) fn step_with(&mut self, reduction: &Reduction, acc: &Atom, values: Vec<Atom>) -> Typed<Atom> {
        self.steps(reduction, &reduction.stages, acc, values, &mut Definitions::new())
    }

    fn steps(
        &mut self,
        reduction: &Reduction,
        stages: &[Stage],
        acc: &Atom,
        values: Vec<Atom>,
        definitions: &mut Definitions,
    ) -> Typed<Atom> {
        let (Some(value), rest) = (values.first(), stages.get(1..).unwrap_or_default()) else {
            return Ok(acc.clone());
        };
        match stages.first() {
            None => self.combine(reduction, acc, value, definitions),
            Some(Stage::Map(function)) => {
                let mapped = self.splice(function, &values, definitions)?;
                self.steps(reduction, rest, acc, mapped, definitions)
            }
            Some(Stage::Filter(function)) => {
                let kept = self.splice(function, &values, definitions)?;
                let Some(condition) = kept.into_iter().next() else {
                    return Ok(acc.clone());
                };
                self.builder.enter();
                let next = self.steps(reduction, rest, acc, values, definitions)?;
                let then = self.builder.leave(Vec::new(), vec![next]);
                let exp = Exp::If {
                    condition,
                    then,
                    otherwise: Body {
                        stmts: Vec::new(),
                        context: Vec::new(),
                        values: vec![acc.clone()],
                    },
                    result: ResultType::one(reduction.state.clone()),
                };
                self.bind(exp, "acc", reduction.span)
            }
        }
    }

    /// What becomes of an element before it is combined; only for reductions without filters.
    pub(crate) fn fed(&mut self, reduction: &Reduction, element: &Atom) -> Typed<Atom> {
        let mut definitions = Definitions::new();
        let mut values = self.unzipped(element, reduction.arity, &mut definitions, reduction.span)?;
        for stage in &reduction.stages {
            if let Stage::Map(function) = stage {
                values = self.splice(function, &values, &mut definitions)?;
            }
        }
        Ok(values.into_iter().next().unwrap_or_else(|| element.clone()))
    }

    /// The operator applied to a state and a value.
    pub(crate) fn combine(
        &mut self,
        reduction: &Reduction,
        acc: &Atom,
        value: &Atom,
        definitions: &Definitions,
    ) -> Typed<Atom> {
        match (&reduction.operator, &reduction.function) {
            (Some(operator), _) => self.combine_with(operator, acc, value, definitions, reduction.span),
            (None, Some(function)) => {
                let given = [acc.clone(), value.clone()];
                let values = self.splice(function, &given, &mut Definitions::new())?;
                Ok(values.into_iter().next().unwrap_or_else(|| acc.clone()))
            }
            (None, None) => Ok(acc.clone()),
        }
    }

    /// A built-in operator, component by component. A product that is added to floats is an `fma`.
    pub(crate) fn combine_with(
        &mut self,
        operator: &Operator,
        acc: &Atom,
        value: &Atom,
        definitions: &Definitions,
        span: Span,
    ) -> Typed<Atom> {
        match operator {
            Operator::Scalar(op, ty) => {
                let exp = match (op, product(value, *ty, definitions)) {
                    (BinOp::Add, Some((a, b))) => {
                        self.decide(
                            span,
                            Prim::Reduce,
                            Choice::FusedMultiplyAdd,
                            "it adds products of floats",
                        );
                        Exp::Ternary(TernOp::Fma, a, b, acc.clone())
                    }
                    _ => Exp::Binary(*op, acc.clone(), value.clone()),
                };
                self.bind(exp, "next", span)
            }
            Operator::Tuple(parts) => {
                let mut combined = Vec::with_capacity(parts.len());
                for (at, part) in (0u32..).zip(parts) {
                    let left = self.bind(Exp::Project(acc.clone(), at), "acc", span)?;
                    let right = self.component(value, at, definitions, span)?;
                    combined.push(self.combine_with(part, &left, &right, definitions, span)?);
                }
                self.bind(Exp::Tuple(combined), "next", span)
            }
        }
    }

    fn component(&mut self, value: &Atom, at: u32, definitions: &Definitions, span: Span) -> Typed<Atom> {
        if let Some(Exp::Tuple(parts)) = definition(value, definitions)
            && let Some(part) = parts.get(at as usize)
        {
            return Ok(part.clone());
        }
        self.bind(Exp::Project(value.clone(), at), "x", span)
    }

    /// The value that changes nothing.
    pub(crate) fn identity(&mut self, operator: &Operator, span: Span) -> Typed<Atom> {
        match operator {
            Operator::Scalar(op, ty) => match Operator::scalar_identity(*op, *ty) {
                Some(scalar) => Ok(Atom::Const(scalar)),
                None => Ok(int(0)),
            },
            Operator::Tuple(parts) => {
                let mut identities = Vec::with_capacity(parts.len());
                for part in parts {
                    identities.push(self.identity(part, span)?);
                }
                self.bind(Exp::Tuple(identities), "identity", span)
            }
        }
    }
}

/// How a value was made, through copies.
fn definition<'d>(value: &Atom, definitions: &'d Definitions) -> Option<&'d Exp> {
    let mut value = value;
    loop {
        let Atom::Var(var) = value else { return None };
        match definitions.get(var)? {
            Exp::Atom(inner) => value = inner,
            exp => return Some(exp),
        }
    }
}

/// The factors of a value that is a product of floats.
pub(crate) fn product(value: &Atom, ty: ScalarType, definitions: &Definitions) -> Option<(Atom, Atom)> {
    match definition(value, definitions)? {
        Exp::Binary(BinOp::Mul, a, b) if ty.is_float() => Some((a.clone(), b.clone())),
        _ => None,
    }
}
