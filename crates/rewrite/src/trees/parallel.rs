//! A recursion over a tree as a loop that opens calls, a `map` over those that are left, and a loop that closes the ones that were opened.
//!
//! ```text
//! let queue: [N]T = replicate N t                  the calls: what each has for every parameter that changes
//! let first: [N]i64 = replicate N 0                of an opened call, where those that it makes begin
//! let (queue, first, head, tail) = loop (…, 0, 1) while head < tail & tail + widest <= N do
//!   case queue[head] of | Leaf (_) -> (queue, tail) | Fork (_, l, r) -> (queue with [tail] = l with [tail + 1] = r, tail + 2)
//!   …
//! let head = min head (tail - 1)
//! let rs: [m]i32 = map total queue[head:+m]         where m = tail - head
//! let results: [N]i32 = replicate N rs[0] with [head:+m] = rs
//! let results = loop for i < head do                at = head - 1 - i
//!   results with [at] = (case queue[at] of | Leaf (x) -> x | Fork (x, _, _) -> x + results[first[at]] + results[first[at] + 1])
//! in results[0]
//! ```
//!
//! One call is always left, so that there is a result to begin with: where all were opened, the last one, which made none itself. It is done in a `map`
//! too where it is the only one: a call by itself would be cut again.

use super::shape::{Part, Shape};
use almach_base::{Name, Span};
use almach_core::build::{Builder, op};
use almach_core::typing::{TypeError, Typed};
use almach_core::visit::{Substitution, Vars, fresh_function};
use almach_core::{
    Arm, Atom, Body, Exp, FunId, Function, InPlace, Lambda, Loop, LoopForm, Param, Pattern, ResultType,
    SlicePart, Stmt, Type, Var,
};
use almach_prim::Prim;
use almach_value::{BinOp, Scalar};
use std::collections::HashSet;

/// Room for the calls of a small tree: what it costs is little beside the recursion.
const SMALL: i64 = 64;

/// Room for enough subtrees to keep all threads busy, however uneven they are.
pub(super) const LARGE: i64 = 4096;

/// The function with much room.
pub(super) fn large(builder: &mut Builder, shape: &Shape, id: FunId, function: &Function) -> Typed<Function> {
    cut(builder, shape, id, function, LARGE, None)
}

/// The function with little room, that calls another one where it is not enough.
pub(super) fn small(
    builder: &mut Builder,
    shape: &Shape,
    id: FunId,
    function: &Function,
    large: FunId,
) -> Typed<Function> {
    let room = SMALL.max(2 * shape.widest as i64);
    cut(builder, shape, id, function, room, Some(large))
}

fn cut(
    builder: &mut Builder,
    shape: &Shape,
    id: FunId,
    function: &Function,
    room: i64,
    larger: Option<FunId>,
) -> Typed<Function> {
    let outer = fresh_function(function, &mut builder.supply);
    builder.enter_signature(&outer.context, &outer.params);
    let body = builder.body(|builder| {
        let mut cut = Cut {
            builder,
            shape,
            id,
            function,
            outer: &outer,
            room,
            span: function.span,
        };
        cut.results(larger).map(|results| (Vec::new(), results))
    })?;
    let name = match larger {
        Some(_) => format!("{}_cut", function.name),
        None => format!("{}_cut_large", function.name),
    };
    Ok(Function {
        name: Name::from(name),
        body,
        ..outer
    })
}

struct Cut<'a> {
    builder: &'a mut Builder,
    shape: &'a Shape,
    id: FunId,
    function: &'a Function,
    /// The function that is made, without a body of its own.
    outer: &'a Function,
    room: i64,
    span: Span,
}

/// Calls that were opened, and those that are left.
struct Calls {
    /// Of each parameter that changes.
    queues: Vec<Atom>,
    first: Atom,
    head: Atom,
    tail: Atom,
}

impl Cut<'_> {
    fn results(&mut self, larger: Option<FunId>) -> Typed<Vec<Atom>> {
        let calls = self.open_all()?;
        let left = self.binary(BinOp::Sub, calls.tail.clone(), calls.head.clone(), "left")?;
        let Some(larger) = larger else {
            return self.close_all(&calls, &left);
        };
        let more = self.binary(BinOp::Gt, left.clone(), int(1), "more")?;
        let then = self.inside(|cut| {
            let call = Exp::Call {
                function: larger,
                context: cut.outer.context.iter().cloned().map(Atom::Var).collect(),
                args: cut
                    .outer
                    .params
                    .iter()
                    .map(|param| variable(&param.var))
                    .collect(),
            };
            cut.bind_all(call, "result")
        })?;
        let otherwise = self.inside(|cut| cut.close_all(&calls, &left))?;
        let choice = Exp::If {
            condition: more,
            then,
            otherwise,
            result: self.outer.result.clone(),
        };
        self.bind_all(choice, "result")
    }

    /// The loop that opens calls.
    fn open_all(&mut self) -> Typed<Calls> {
        let mut starts = Vec::new();
        for param in self.changing(self.outer) {
            starts.push(self.replicate(variable(&param.var), "queue")?);
        }
        starts.push(self.replicate(int(0), "first")?);
        let mut state = Vec::new();
        for start in &starts {
            let ty = self.builder.type_of(start)?;
            state.push(self.builder.param("queue", ty));
        }
        for name in ["head", "tail"] {
            state.push(self.builder.param(name, Type::I64));
        }
        starts.extend([int(0), int(1)]);
        let calls = calls_of(state.iter().map(|param| variable(&param.var)).collect())?;
        let goes_on = self.inside(|cut| cut.goes_on(&calls).map(|goes_on| vec![goes_on]))?;
        let body = self.inside(|cut| cut.open(&calls))?;
        let looped = Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params: state.into_iter().zip(starts).collect(),
            form: LoopForm::While(goes_on),
            body,
        }));
        let calls = calls_of(self.bind_all(looped, "opened")?)?;
        let last = self.binary(BinOp::Sub, calls.tail.clone(), int(1), "last")?;
        let head = self.binary(BinOp::Min, calls.head.clone(), last, "head")?;
        Ok(Calls { head, ..calls })
    }

    /// Whether there is another call to open, and room for what it makes.
    fn goes_on(&mut self, calls: &Calls) -> Typed<Atom> {
        let more = self.binary(BinOp::Lt, calls.head.clone(), calls.tail.clone(), "more")?;
        let room = int(self.room - self.shape.widest as i64);
        let fits = self.binary(BinOp::Le, calls.tail.clone(), room, "fits")?;
        self.binary(BinOp::And, more, fits, "goes_on")
    }

    /// Opens the next call: the state afterwards.
    fn open(&mut self, calls: &Calls) -> Typed<Vec<Atom>> {
        let function = self.call_at(calls, &calls.head)?;
        let first = self.update(&calls.first, &calls.head, calls.tail.clone())?;
        let queued = self.queue(&function.body, &calls.queues, &calls.tail)?;
        let Some((tail, queues)) = queued.split_last() else {
            return Err(broken());
        };
        let head = self.binary(BinOp::Add, calls.head.clone(), int(1), "next")?;
        let queues = queues.iter().cloned();
        Ok(queues.chain([first, head, tail.clone()]).collect())
    }

    /// The body of the function for a call of the queue: parameters that change are what the queue has for them.
    fn call_at(&mut self, calls: &Calls, at: &Atom) -> Typed<Function> {
        let mut copy = fresh_function(self.function, &mut self.builder.supply);
        let mut known = Substitution::new();
        for (inner, outer) in copy.context.iter().zip(&self.outer.context) {
            known.insert(inner.clone(), variable(outer));
        }
        for (inner, outer) in copy.params.iter().zip(&self.outer.params) {
            known.insert(inner.var.clone(), variable(&outer.var));
        }
        for (param, queue) in self.changing(&copy).into_iter().zip(&calls.queues) {
            let value = self.index(queue, at.clone(), param.var.name.clone())?;
            known.insert(param.var, value);
        }
        known.apply_body(&mut copy.body);
        Ok(copy)
    }

    /// Puts the calls that a body makes behind the last: the queues, and the new end. Only what the calls need is computed.
    fn queue(&mut self, body: &Body, queues: &[Atom], tail: &Atom) -> Typed<Vec<Atom>> {
        match Part::of(self.id, body).map_err(|_| broken())? {
            Part::Straight(calls) => {
                let calls: Vec<&Exp> = calls
                    .iter()
                    .filter_map(|at| body.stmts.get(*at))
                    .map(|stmt| &stmt.exp)
                    .collect();
                self.push_needed(&body.stmts, &calls);
                let (mut queues, mut tail) = (queues.to_vec(), tail.clone());
                for call in calls {
                    let Exp::Call { args, .. } = call else {
                        return Err(broken());
                    };
                    for (queue, at) in queues.iter_mut().zip(&self.shape.changing) {
                        let Some(arg) = args.get(*at) else {
                            return Err(broken());
                        };
                        *queue = self.update(queue, &tail, arg.clone())?;
                    }
                    tail = self.binary(BinOp::Add, tail, int(1), "tail")?;
                }
                queues.push(tail);
                Ok(queues)
            }
            Part::Choice(at, _) => {
                let Some(choice) = body.stmts.get(at) else {
                    return Err(broken());
                };
                self.push_needed(body.stmts.get(..at).unwrap_or(&[]), &[&choice.exp]);
                let mut types = Vec::new();
                for queue in queues {
                    types.push(self.builder.type_of(queue)?);
                }
                types.push(Type::I64);
                let result = ResultType {
                    context: Vec::new(),
                    types,
                };
                let chosen = self.choice(&choice.exp, result, &mut |cut, body| {
                    let queued = cut.queue(body, queues, tail)?;
                    Ok((Vec::new(), queued))
                })?;
                self.bind_all(chosen, "queued")
            }
        }
    }

    /// The same `case` or `if` with other bodies.
    fn choice(&mut self, exp: &Exp, result: ResultType, part: &mut Branch<'_>) -> Typed<Exp> {
        match exp {
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => Ok(Exp::If {
                condition: condition.clone(),
                then: self.branch(then, part)?,
                otherwise: self.branch(otherwise, part)?,
                result,
            }),
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => {
                let mut others = Vec::new();
                for arm in arms {
                    self.builder.enter_signature(&arm.context, &arm.fields);
                    others.push(Arm {
                        body: self.branch(&arm.body, part)?,
                        ..arm.clone()
                    });
                }
                let default = default.as_ref().map(|body| self.branch(body, part));
                Ok(Exp::Case {
                    scrutinee: scrutinee.clone(),
                    arms: others,
                    default: default.transpose()?,
                    result,
                })
            }
            _ => Err(broken()),
        }
    }

    fn branch(&mut self, body: &Body, part: &mut Branch<'_>) -> Typed<Body> {
        self.builder.enter();
        match part(self, body) {
            Ok((context, values)) => Ok(self.builder.leave(context, values)),
            Err(error) => {
                self.builder.leave(Vec::new(), Vec::new());
                Err(error)
            }
        }
    }

    /// Statements that these expressions need.
    fn push_needed(&mut self, stmts: &[Stmt], by: &[&Exp]) {
        let mut needed: HashSet<Var> = by.iter().flat_map(|exp| Vars::of_exp(exp).used).collect();
        let mut found = Vec::new();
        for stmt in stmts.iter().rev() {
            let values = stmt.pattern.values.iter().map(|value| &value.var);
            let is_call = by.iter().any(|exp| std::ptr::eq(*exp, &stmt.exp));
            if !is_call
                && values
                    .chain(&stmt.pattern.context)
                    .any(|var| needed.contains(var))
            {
                needed.extend(Vars::of_exp(&stmt.exp).used);
                found.push(stmt);
            }
        }
        for stmt in found.into_iter().rev() {
            self.builder
                .push(stmt.pattern.clone(), stmt.exp.clone(), stmt.span);
        }
    }

    /// The results of the calls that are left, in their places.
    fn left(&mut self, calls: &Calls, left: &Atom) -> Typed<Vec<Atom>> {
        let mut results = Vec::new();
        for result in self.map(calls, left)? {
            let some = self.index(&result, int(0), "some")?;
            let all = self.replicate(some, "results")?;
            let part = SlicePart::Slice {
                begin: calls.head.clone(),
                count: left.clone(),
                step: int(1),
            };
            results.push(self.update_part(&all, part, result)?);
        }
        Ok(results)
    }

    /// The results of the calls that were opened, the last first, and of them all the first.
    fn close_all(&mut self, calls: &Calls, left: &Atom) -> Typed<Vec<Atom>> {
        let results = self.left(calls, left)?;
        let mut state = Vec::new();
        for result in &results {
            let ty = self.builder.type_of(result)?;
            state.push(self.builder.param("results", ty));
        }
        let index = self.builder.param("i", Type::I64);
        let found: Vec<Atom> = state.iter().map(|param| variable(&param.var)).collect();
        let body = self.inside(|cut| cut.close(calls, &index, &found))?;
        let looped = Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params: state.into_iter().zip(results).collect(),
            form: LoopForm::For {
                index,
                bound: calls.head.clone(),
            },
            body,
        }));
        let results = self.bind_all(looped, "results")?;
        let of_root = results.iter().map(|result| self.index(result, int(0), "result"));
        of_root.collect()
    }

    /// Makes the calls that are left, at once.
    fn map(&mut self, calls: &Calls, left: &Atom) -> Typed<Vec<Atom>> {
        let (mut slices, mut params) = (Vec::new(), Vec::new());
        for (queue, param) in calls.queues.iter().zip(self.changing(self.outer)) {
            let part = SlicePart::Slice {
                begin: calls.head.clone(),
                count: left.clone(),
                step: int(1),
            };
            let slice = Exp::Slice {
                array: queue.clone(),
                parts: vec![part],
            };
            slices.push(self.bind(slice, "subtrees")?);
            params.push(self.builder.param(param.var.name.clone(), param.ty));
        }
        let call = self.call_with(params.iter().map(|param| variable(&param.var)).collect());
        let body = self.inside(|cut| cut.bind_all(call, "result"))?;
        let function = Lambda {
            context: Vec::new(),
            params,
            result: self.outer.result.clone(),
            body,
        };
        self.bind_all(op(Prim::Map, vec![function], slices), "found")
    }

    /// The recursion with these for the parameters that change.
    fn call_with(&self, changed: Vec<Atom>) -> Exp {
        let params = self.outer.params.iter();
        let mut args: Vec<Atom> = params.map(|param| variable(&param.var)).collect();
        for (at, value) in self.shape.changing.iter().zip(changed) {
            if let Some(arg) = args.get_mut(*at) {
                *arg = value;
            }
        }
        Exp::Call {
            function: self.id,
            context: self.outer.context.iter().cloned().map(Atom::Var).collect(),
            args,
        }
    }

    /// The results with that of another call.
    fn close(&mut self, calls: &Calls, index: &Param, results: &[Atom]) -> Typed<Vec<Atom>> {
        let before = self.binary(BinOp::Sub, calls.head.clone(), int(1), "before")?;
        let at = self.binary(BinOp::Sub, before, variable(&index.var), "at")?;
        let function = self.call_at(calls, &at)?;
        let first = self.index(&calls.first, at.clone(), "first")?;
        let values = self.finish(&function.body, &first, results)?;
        let updated = results.iter().zip(values);
        updated
            .map(|(result, value)| self.update(result, &at, value))
            .collect()
    }

    /// What a body gives; its calls have their results from `first` on.
    fn finish(&mut self, body: &Body, first: &Atom, results: &[Atom]) -> Typed<Vec<Atom>> {
        let (calls, choice) = match Part::of(self.id, body).map_err(|_| broken())? {
            Part::Straight(calls) => (calls, None),
            Part::Choice(at, _) => (Vec::new(), Some(at)),
        };
        for (at, stmt) in body.stmts.iter().enumerate() {
            if let Some(number) = calls.iter().position(|call| *call == at) {
                let place = self.binary(BinOp::Add, first.clone(), int(number as i64), "place")?;
                for (value, result) in stmt.pattern.values.iter().zip(results) {
                    let pattern = Pattern {
                        context: Vec::new(),
                        values: vec![value.clone()],
                    };
                    let found = indexed(result, place.clone());
                    self.builder.push(pattern, found, stmt.span);
                }
            } else if choice == Some(at) {
                let result = result_of(&stmt.exp)?;
                let exp = self.choice(&stmt.exp, result, &mut |cut, body| {
                    let values = cut.finish(body, first, results)?;
                    Ok((body.context.clone(), values))
                })?;
                self.builder.push(stmt.pattern.clone(), exp, stmt.span);
            } else {
                self.builder
                    .push(stmt.pattern.clone(), stmt.exp.clone(), stmt.span);
            }
        }
        Ok(body.values.clone())
    }

    fn changing(&self, function: &Function) -> Vec<Param> {
        let at = self.shape.changing.iter();
        at.filter_map(|at| function.params.get(*at).cloned()).collect()
    }

    fn inside(&mut self, values: impl FnOnce(&mut Self) -> Typed<Vec<Atom>>) -> Typed<Body> {
        self.builder.enter();
        match values(self) {
            Ok(values) => Ok(self.builder.leave(Vec::new(), values)),
            Err(error) => {
                self.builder.leave(Vec::new(), Vec::new());
                Err(error)
            }
        }
    }

    fn bind(&mut self, exp: Exp, name: impl Into<Name>) -> Typed<Atom> {
        self.builder.bind(exp, name, self.span)
    }

    fn bind_all(&mut self, exp: Exp, name: &str) -> Typed<Vec<Atom>> {
        let pattern = self.builder.bind_all(exp, &[name.into()], self.span)?;
        Ok(pattern.values.iter().map(|value| variable(&value.var)).collect())
    }

    fn binary(&mut self, op: BinOp, left: Atom, right: Atom, name: &str) -> Typed<Atom> {
        self.bind(Exp::Binary(op, left, right), name)
    }

    fn index(&mut self, array: &Atom, at: Atom, name: impl Into<Name>) -> Typed<Atom> {
        self.bind(indexed(array, at), name)
    }

    fn replicate(&mut self, value: Atom, name: &str) -> Typed<Atom> {
        let args = vec![int(self.room), value];
        self.bind(op(Prim::Replicate, vec![], args), name)
    }

    fn update(&mut self, array: &Atom, at: &Atom, value: Atom) -> Typed<Atom> {
        self.update_part(array, SlicePart::At(at.clone()), value)
    }

    fn update_part(&mut self, array: &Atom, part: SlicePart, value: Atom) -> Typed<Atom> {
        let update = Exp::Update {
            array: array.clone(),
            parts: vec![part],
            value,
            in_place: InPlace::WherePossible,
        };
        self.bind(update, "updated")
    }
}

/// What a body of a choice becomes: its context and values.
type Branch<'b> = dyn FnMut(&mut Cut<'_>, &Body) -> Typed<(Vec<Atom>, Vec<Atom>)> + 'b;

/// The state of the loop that opens calls.
fn calls_of(mut state: Vec<Atom>) -> Typed<Calls> {
    match (state.pop(), state.pop(), state.pop()) {
        (Some(tail), Some(head), Some(first)) => Ok(Calls {
            queues: state,
            first,
            head,
            tail,
        }),
        _ => Err(broken()),
    }
}

fn result_of(exp: &Exp) -> Typed<ResultType> {
    match exp {
        Exp::If { result, .. } | Exp::Case { result, .. } => Ok(result.clone()),
        _ => Err(broken()),
    }
}

fn indexed(array: &Atom, at: Atom) -> Exp {
    Exp::Index {
        array: array.clone(),
        indices: vec![at],
    }
}

fn variable(var: &Var) -> Atom {
    Atom::Var(var.clone())
}

fn int(value: i64) -> Atom {
    Atom::Const(Scalar::I64(value))
}

/// The shape was found to be otherwise.
fn broken() -> TypeError {
    TypeError::new(almach_core::check::Rule::Arity, "a call that is not there")
}
