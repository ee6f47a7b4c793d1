//! Work on arrays for a group of elements: an array that differs by element has one more dimension, the lanes, inside of its own.
//!
//! ```text
//! let ys: [n]t = map f xs        =>   let ys: [n][8]t = map@seq (\xs: [8]t -> map@vec f xs) xs
//! let s: t = reduce (+) e ys     =>   let s: [8]t = reduceSeq (\acc: [8]t -> \ys: [8]t -> map@vec (+) acc ys) (replicate 8 e) ys
//! let y: t = ys[i]               =>   let y: [8]t = ys[i]
//! ```

use super::Lifting;
use crate::cost::{is_scalars, is_simple_stmt};
use crate::masks::abreast::is_regular;
use crate::operator::Operator;
use crate::producers::Plan;
use crate::write::{Definitions, at_level, int};
use crate::{Around, reductions};
use almach_core::build::{enter_params, op as plain_op};
use almach_core::typing::Typed;
use almach_core::visit::{Vars, Walk};
use almach_core::{Atom, Body, Exp, Lambda, Op, Param, Pattern, ResultType, SlicePart, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::{Facts, is_fixed};
use almach_value::{BinOp, TernOp};
use std::collections::HashMap;

/// What a statement is for a group.
pub(in crate::masks) enum Work<'s> {
    /// The same for all lanes.
    Alike,
    /// Scalar operations that cannot fail.
    Scalars,
    /// An element or a slice of an array, the same one of every lane's.
    Part {
        array: &'s Var,
    },
    Map {
        function: &'s Lambda,
        args: &'s [Atom],
    },
    /// A reduction of what maps make of arrays, from the first one on.
    Reduce {
        initial: &'s Atom,
        operator: &'s Lambda,
        stages: Vec<&'s Lambda>,
        args: &'s [Atom],
    },
}

impl<'s> Work<'s> {
    /// None where a group cannot do it.
    pub(in crate::masks) fn of(
        stmt: &'s Stmt,
        producers: &[&'s Stmt],
        differing: &HashMap<Var, Type>,
        facts: &Facts,
    ) -> Option<Work<'s>> {
        let uses = |exp: &Exp| {
            Vars::of_exp(exp)
                .used
                .iter()
                .any(|var| differing.contains_key(var))
        };
        let differs = |atom: &Atom| matches!(atom, Atom::Var(var) if differing.contains_key(var));
        let of_array = |array: &'s Atom| match array {
            Atom::Var(var) if differing.get(var).is_some_and(is_array) => Some(var),
            _ => None,
        };
        if !uses(&stmt.exp) && !producers.iter().any(|producer| uses(&producer.exp)) {
            return (!facts.prints(&stmt.exp)).then_some(Work::Alike);
        }
        if !stmt.pattern.context.is_empty() {
            return None;
        }
        match &stmt.exp {
            Exp::Index { array, indices } if of_array(array).is_some() => {
                let array = of_array(array)?;
                (!indices.iter().any(differs)).then_some(Work::Part { array })
            }
            Exp::Slice { array, parts } => {
                let array = of_array(array)?;
                (!parts.iter().any(|part| parts_of(part).into_iter().any(differs)))
                    .then_some(Work::Part { array })
            }
            Exp::Op(op) if is_fixed(op) => None,
            Exp::Op(op) if op.prim == Prim::Map => match op.functions.as_slice() {
                [function] => Some(Work::Map {
                    function,
                    args: &op.args,
                }),
                _ => None,
            },
            Exp::Op(op) if matches!(op.prim, Prim::Reduce | Prim::ReduceComm) => reduction(op, producers),
            exp => {
                let used = Vars::of_exp(exp).used;
                let takes_arrays = used.iter().any(|var| differing.get(var).is_some_and(is_array));
                (!takes_arrays && is_simple_stmt(stmt, facts)).then_some(Work::Scalars)
            }
        }
    }
}

fn reduction<'s>(op: &'s Op, producers: &[&'s Stmt]) -> Option<Work<'s>> {
    let ([operator], [initial, _]) = (op.functions.as_slice(), op.args.as_slice()) else {
        return None;
    };
    let mut stages = Vec::with_capacity(producers.len());
    let mut args = op.args.get(1..)?;
    for (at, producer) in producers.iter().enumerate() {
        let Exp::Op(giver) = &producer.exp else {
            return None;
        };
        let ([function], true) = (giver.functions.as_slice(), giver.prim == Prim::Map) else {
            return None;
        };
        if at == 0 {
            args = &giver.args;
        }
        stages.push(function);
    }
    Some(Work::Reduce {
        initial,
        operator,
        stages,
        args,
    })
}

fn parts_of(part: &SlicePart) -> Vec<&Atom> {
    match part {
        SlicePart::At(at) => vec![at],
        SlicePart::Slice { begin, count, step } => vec![begin, count, step],
    }
}

fn is_array(ty: &Type) -> bool {
    !is_scalars(ty) && is_regular(ty)
}

impl Lifting<'_> {
    /// What a function gives that works on arrays, on all lanes.
    pub(in crate::masks) fn whole(mut self, function: &Lambda) -> Typed<Vec<Atom>> {
        self.arrays_of(&function.body)?;
        self.results(&function.body.values, &function.result.types)
    }

    fn arrays_of(&mut self, body: &Body) -> Typed<()> {
        let plan = self.chooser.plan(body);
        for at in 0..body.stmts.len() {
            if !plan.is_absorbed(at) {
                self.on_arrays(body, at, &plan)?;
            }
        }
        Ok(())
    }

    fn on_arrays(&mut self, body: &Body, at: usize, plan: &Plan) -> Typed<()> {
        let Some(stmt) = body.stmts.get(at) else {
            return Ok(());
        };
        let producers: Vec<&Stmt> = plan.producers(at).filter_map(|at| body.stmts.get(at)).collect();
        let work = Work::of(stmt, &producers, &self.types, &self.chooser.facts);
        match work {
            Some(Work::Scalars) => {
                self.on_lanes(stmt.pattern.clone(), stmt.exp.clone());
                return Ok(());
            }
            Some(Work::Part { array }) => return self.part(stmt, array),
            None | Some(Work::Alike) => {
                return self.chooser.stmt(body, at, stmt, plan, Around::Parallel);
            }
            Some(Work::Map { .. } | Work::Reduce { .. }) => {}
        }
        let mut later = Vars::default();
        body.stmts.iter().skip(at + 1).for_each(|stmt| later.stmt(stmt));
        body.values.iter().for_each(|value| later.atom(value));
        self.kept.push(later.used);
        for exp in producers.iter().map(|producer| &producer.exp).chain([&stmt.exp]) {
            self.kept.push(Vars::of_exp(exp).used);
        }
        self.flush(&[], None)?;
        for _ in 0..=producers.len() {
            self.kept.pop();
        }
        match work {
            Some(Work::Map { function, args }) => self.map(stmt, function, args)?,
            Some(Work::Reduce {
                initial,
                operator,
                stages,
                args,
            }) => self.reduce(stmt, initial, operator, &stages, args)?,
            _ => {}
        }
        self.kept.pop();
        Ok(())
    }

    /// What a statement binds is so on all lanes.
    fn is_on_lanes(&mut self, values: &[Param], lanes: &[Param]) {
        for (value, lanes) in values.iter().zip(lanes) {
            self.known(value, Atom::Var(lanes.var.clone()));
        }
    }

    fn known(&mut self, value: &Param, lanes: Atom) {
        self.types.insert(value.var.clone(), value.ty.clone());
        self.arrays.insert(value.var.clone(), lanes);
    }

    fn part(&mut self, stmt: &Stmt, array: &Var) -> Typed<()> {
        let of = self.lanes_of(array)?;
        let exp = match &stmt.exp {
            Exp::Index { indices, .. } => Exp::Index {
                array: of,
                indices: indices.clone(),
            },
            Exp::Slice { parts, .. } => Exp::Slice {
                array: of,
                parts: parts.clone(),
            },
            other => other.clone(),
        };
        let names: Vec<_> = names_of(&stmt.pattern);
        let bound = self.chooser.builder.bind_all(exp, &names, stmt.span)?;
        self.is_on_lanes(&stmt.pattern.values, &bound.values);
        Ok(())
    }

    fn map(&mut self, stmt: &Stmt, function: &Lambda, args: &[Atom]) -> Typed<()> {
        let (mut params, mut lifted) = (Vec::new(), Vec::new());
        for (param, arg) in function.params.iter().zip(args) {
            let arg = self.value_of(arg)?;
            params.push(match arg.1 {
                Value::Alike => param.clone(),
                Value::ByLane => {
                    let ty = self.chooser.array_type(&arg.0).map(|(_, ty)| ty);
                    let row = self
                        .chooser
                        .builder
                        .param(param.var.name.clone(), ty.unwrap_or(Type::unit()));
                    self.known(param, Atom::Var(row.var.clone()));
                    row
                }
            });
            lifted.push(arg.0);
        }
        enter_params(&mut self.chooser.builder.env, &[], &params);
        self.chooser.builder.enter();
        self.arrays_of(&function.body)?;
        let values = self.results(&function.body.values, &function.result.types)?;
        let each = self.leave(params, values)?;
        let exp = at_level(Prim::Map, Level::Seq, vec![each], lifted);
        let bound = self
            .chooser
            .builder
            .bind_all(exp, &names_of(&stmt.pattern), stmt.span)?;
        self.is_on_lanes(&stmt.pattern.values, &bound.values);
        Ok(())
    }

    /// An atom for all lanes: the array of its values where it differs by lane, else itself.
    fn value_of(&self, atom: &Atom) -> Typed<(Atom, Value)> {
        match atom {
            Atom::Var(var) if self.types.contains_key(var) => Ok((self.lanes_of(var)?, Value::ByLane)),
            same => Ok((same.clone(), Value::Alike)),
        }
    }

    fn reduce(
        &mut self,
        stmt: &Stmt,
        initial: &Atom,
        operator: &Lambda,
        stages: &[&Lambda],
        args: &[Atom],
    ) -> Typed<()> {
        let span = stmt.span;
        let start = match self.value_of(initial)? {
            (lanes, Value::ByLane) => lanes,
            (same, Value::Alike) => {
                let fill = vec![int(self.group.lanes), same];
                let fill = at_level(Prim::Replicate, Level::Seq, Vec::new(), fill);
                self.chooser.bind(fill, "lanes", span)?
            }
        };
        let given = args
            .iter()
            .map(|arg| self.value_of(arg))
            .collect::<Typed<Vec<(Atom, Value)>>>()?;
        let arrays: Vec<Atom> = given.iter().map(|(array, _)| array.clone()).collect();
        let Some(array) = self.chooser.zipped(&arrays, span)? else {
            return Ok(());
        };
        let state = self.chooser.builder.type_of(&start)?;
        let element = self.chooser.array_type(&array).map(|(_, element)| element);
        let acc = self.chooser.builder.param("acc", state);
        let x = self.chooser.builder.param("x", element.unwrap_or(Type::unit()));
        self.chooser.builder.enter();
        let element = Atom::Var(x.var.clone());
        let parts = self
            .chooser
            .unzipped(&element, arrays.len(), &mut Definitions::new(), span)?;
        let parts: Vec<(Atom, Value)> = parts.into_iter().zip(given.iter().map(|given| given.1)).collect();
        let next = self.step(operator, stages, parts, &acc)?;
        let next = self.results(&[next], &operator.result.types)?;
        let step = self.leave(vec![acc, x], next)?;
        let reduced = plain_op(Prim::ReduceSeq, vec![step], vec![start, array]);
        let bound = self
            .chooser
            .builder
            .bind_all(reduced, &names_of(&stmt.pattern), span)?;
        self.is_on_lanes(&stmt.pattern.values, &bound.values);
        Ok(())
    }

    /// The next state on a lane, given the elements of the arrays.
    fn step(
        &mut self,
        operator: &Lambda,
        stages: &[&Lambda],
        mut elements: Vec<(Atom, Value)>,
        acc: &Param,
    ) -> Typed<Atom> {
        let [state, value] = operator.params.as_slice() else {
            return Ok(Atom::Var(acc.var.clone()));
        };
        self.known(state, Atom::Var(acc.var.clone()));
        let mut values: Option<Vec<Atom>> = None;
        for stage in stages {
            match values.take() {
                None => std::mem::take(&mut elements)
                    .into_iter()
                    .zip(&stage.params)
                    .for_each(|(element, param)| self.element(param, element)),
                Some(values) => values
                    .iter()
                    .zip(&stage.params)
                    .try_for_each(|(value, param)| self.same(param, value))?,
            }
            self.arrays_of(&stage.body)?;
            values = Some(stage.body.values.clone());
        }
        match (
            values.and_then(|values| values.into_iter().next()),
            elements.into_iter().next(),
        ) {
            (Some(given), _) => {
                if let Some(next) = self.multiplied_and_added(operator, &given) {
                    return Ok(next);
                }
                self.same(value, &given)?;
            }
            (None, Some(element)) => self.element(value, element),
            (None, None) => {}
        }
        for stmt in &operator.body.stmts {
            self.on_lanes(stmt.pattern.clone(), stmt.exp.clone());
        }
        let next = operator.body.values.first().cloned();
        Ok(next.unwrap_or(Atom::Var(state.var.clone())))
    }

    /// A parameter is an element of an array.
    fn element(&mut self, param: &Param, (atom, value): (Atom, Value)) {
        match value {
            Value::ByLane => self.known(param, atom),
            Value::Alike => self.bound(param, Exp::Atom(atom)),
        }
    }

    fn bound(&mut self, param: &Param, exp: Exp) {
        let span = self.span;
        self.chooser.builder.push(one(param), exp, span);
    }

    /// A parameter is what has another name already.
    fn same(&mut self, param: &Param, value: &Atom) -> Typed<()> {
        match value {
            Atom::Var(var) if self.types.contains_key(var) => match self.arrays.get(var).cloned() {
                Some(lanes) => self.known(param, lanes),
                None => self.on_lanes(one(param), Exp::Atom(value.clone())),
            },
            _ => self.bound(param, Exp::Atom(value.clone())),
        }
        Ok(())
    }

    /// A product of floats that a sum adds up is an `fma`.
    fn multiplied_and_added(&mut self, operator: &Lambda, value: &Atom) -> Option<Atom> {
        let Operator::Scalar(BinOp::Add, ty) = Operator::of(operator)? else {
            return None;
        };
        let state = operator.params.first()?;
        let (a, b) = reductions::product(value, ty, &self.definitions)?;
        if !self.is_there(&a) || !self.is_there(&b) {
            return None;
        }
        let exp = Exp::Ternary(TernOp::Fma, a, b, Atom::Var(state.var.clone()));
        Some(Atom::Var(self.lane("next", state.ty.clone(), exp)))
    }

    /// Whether a value can still be used on lanes.
    fn is_there(&self, atom: &Atom) -> bool {
        let Atom::Var(var) = atom else { return true };
        let is_bound = |stmt: &Stmt| stmt.pattern.values.iter().any(|value| value.var == *var);
        !self.types.contains_key(var) || self.arrays.contains_key(var) || self.pending.iter().any(is_bound)
    }

    fn leave(&mut self, params: Vec<Param>, values: Vec<Atom>) -> Typed<Lambda> {
        let types = values.iter().map(|value| self.chooser.builder.type_of(value));
        let types = types.collect::<Typed<Vec<Type>>>()?;
        let body = self.chooser.builder.leave(Vec::new(), values);
        Ok(Lambda {
            context: Vec::new(),
            params,
            result: ResultType {
                context: Vec::new(),
                types,
            },
            body,
        })
    }
}

/// Whether something is the same for all lanes.
#[derive(Clone, Copy)]
enum Value {
    Alike,
    ByLane,
}

fn one(param: &Param) -> Pattern {
    Pattern {
        context: Vec::new(),
        values: vec![param.clone()],
    }
}

fn names_of(pattern: &Pattern) -> Vec<almach_base::Name> {
    pattern
        .values
        .iter()
        .map(|value| value.var.name.clone())
        .collect()
}
