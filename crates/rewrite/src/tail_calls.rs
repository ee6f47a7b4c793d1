//! Tail calls to loops: a function that ends in a call of itself becomes a loop over its parameters.
//!
//! ```text
//! fun gcd (a: i32, b: i32): i32 =                fun gcd (a: i32, b: i32): i32 =
//!   let done: bool = b == 0i32                     let <go, x, y, r> = loop (go: bool = true, x: i32 = a, y: i32 = b,
//!   let r: i32 = if done: i32 then 2 * a                                     r: i32 = 0i32) while go do
//!     else                                     =>      let done: bool = y == 0i32
//!       let m: i32 = a % b                             let <…> = if done: <bool, i32, i32, i32> then <false, x, y, 2 * x>
//!       let t: i32 = gcd (b, m)                          else let m: i32 = x % y in <true, y, m, r>
//!       in t                                           in <…>
//!   in r                                           in r
//! ```
//!
//! The loop's state: whether to go on, the parameters that change, and the result, which means nothing until the last
//! iteration. Its first value is made up: a zero, an empty array, a parameter of the same type; where there
//! is nothing to make up the function stays recursive. A result that is one of the parameters wherever the function ends is no state of its own: it
//! is that parameter after the loop. Calls that are not in tail position stay calls.
//!
//! Removes: calls of a function by itself in tail position. Introduces: `loop … while`. Guarantees: the same
//! operations run in the same order.

mod stand_in;

use crate::{Log, Pass};
use almach_core::typing::Supply;
use almach_core::visit::{Substitution, WalkMut};
use almach_core::{
    Arm, Atom, Body, Exp, FunId, Function, Loop, LoopForm, Param, Pattern, Program, ResultType, Size, Stmt,
    Type, Var,
};
use almach_value::{Scalar, ScalarType};
use stand_in::StandIns;

pub const PASS: Pass = Pass {
    name: "tail-calls",
    description: "turns functions that end by calling themselves into loops",
    run,
};

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let mut supply = Supply::starting_at(program.next_var);
    let data = program.data.clone();
    for (id, function) in program.functions.iter_mut().enumerate() {
        let id = FunId(id as u32);
        let mut calls = Vec::new();
        tail_calls(id, &function.body, &mut calls);
        if calls.is_empty() {
            continue;
        }
        let plan = Plan::new(id, function, &calls);
        let mut stand_ins = StandIns::new(&data, function, &mut supply);
        if let Some(initial) = plan.initial_results(function, &mut stand_ins) {
            let stmts = stand_ins.into_stmts();
            plan.apply(function, initial, stmts, &mut supply);
            log.note(function.span, format!("`{}` runs as a loop", function.name));
        }
    }
    program.next_var = supply.next_var();
    program
}

/// Context and arguments of the calls of `id` in tail position.
fn tail_calls<'b>(id: FunId, body: &'b Body, found: &mut Vec<(&'b [Atom], &'b [Atom])>) {
    let Some(last) = last_in_tail_position(body) else {
        return;
    };
    match &last.exp {
        Exp::Call {
            function,
            context,
            args,
        } if *function == id => found.push((context, args)),
        Exp::If { then, otherwise, .. } => {
            tail_calls(id, then, found);
            tail_calls(id, otherwise, found);
        }
        Exp::Case { arms, default, .. } => {
            for arm in arms {
                tail_calls(id, &arm.body, found);
            }
            if let Some(body) = default {
                tail_calls(id, body, found);
            }
        }
        _ => {}
    }
}

/// What a function gives where it ends without calling itself.
fn ends<'b>(id: FunId, body: &'b Body, found: &mut Vec<&'b [Atom]>) {
    let mut calls = Vec::new();
    tail_calls(id, body, &mut calls);
    match body.stmts.last().map(|last| &last.exp) {
        Some(Exp::Call { .. }) if !calls.is_empty() => {}
        Some(Exp::If { then, otherwise, .. }) if !calls.is_empty() => {
            ends(id, then, found);
            ends(id, otherwise, found);
        }
        Some(Exp::Case { arms, default, .. }) if !calls.is_empty() => {
            let bodies = arms.iter().map(|arm| &arm.body).chain(default);
            bodies.for_each(|body| ends(id, body, found));
        }
        _ => found.push(&body.values),
    }
}

/// The last statement, where the body gives exactly what it binds.
fn last_in_tail_position(body: &Body) -> Option<&Stmt> {
    let last = body.stmts.last()?;
    let same = |var: &Var, atom: &Atom| matches!(atom, Atom::Var(given) if given == var);
    let Pattern { context, values } = &last.pattern;
    let gives_all = context.len() == body.context.len()
        && values.len() == body.values.len()
        && context
            .iter()
            .zip(&body.context)
            .all(|(var, atom)| same(var, atom))
        && values
            .iter()
            .zip(&body.values)
            .all(|(value, atom)| same(&value.var, atom));
    gives_all.then_some(last)
}

/// For each result of a function, the parameter that it is wherever the function ends.
fn given(id: FunId, function: &Function) -> Vec<Option<Var>> {
    let mut all = Vec::new();
    ends(id, &function.body, &mut all);
    let at = |(number, ty): (usize, &Type)| {
        let mut params = function.params.iter();
        let is_given = |param: &&Param| {
            let is = |end: &&[Atom]| matches!(end.get(number), Some(Atom::Var(var)) if *var == param.var);
            param.ty == *ty && !all.is_empty() && all.iter().all(is)
        };
        params.find(is_given).map(|param| param.var.clone())
    };
    function.result.types.iter().enumerate().map(at).collect()
}

/// Which parameters change from call to call.
struct Plan {
    id: FunId,
    /// By position in the function's context and parameters.
    context: Vec<usize>,
    params: Vec<usize>,
    /// For each result, the parameter that it is wherever the function ends.
    given: Vec<Option<Var>>,
}

impl Plan {
    fn new(id: FunId, function: &Function, calls: &[(&[Atom], &[Atom])]) -> Plan {
        let is = |atom: Option<&Atom>, var: &Var| matches!(atom, Some(Atom::Var(given)) if given == var);
        let context: Vec<usize> = (0..function.context.len())
            .filter(|at| {
                let var = function.context.get(*at);
                !calls
                    .iter()
                    .all(|(context, _)| var.is_some_and(|var| is(context.get(*at), var)))
            })
            .collect();
        let changes = |var: &Var| {
            context
                .iter()
                .any(|at| function.context.get(*at).is_some_and(|changed| changed == var))
        };
        let params = (0..function.params.len())
            .filter(|at| {
                let Some(param) = function.params.get(*at) else {
                    return false;
                };
                let passed_on = calls.iter().all(|(_, args)| is(args.get(*at), &param.var));
                !passed_on || param.ty.mentions(&changes)
            })
            .collect();
        Plan {
            id,
            context,
            params,
            given: given(id, function),
        }
    }

    /// Those of as many things as there are results that belong to states of the loop.
    fn own<T>(&self, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        let both = all.into_iter().zip(&self.given);
        both.filter(|(_, given)| given.is_none()).map(|(one, _)| one)
    }

    /// A first value for every result; none where there is none, or where a type depends on a parameter that changes.
    fn initial_results(&self, function: &Function, stand_ins: &mut StandIns<'_>) -> Option<Vec<Atom>> {
        let changing_param = |var: &Var| {
            let mut params = self.params.iter().filter_map(|at| function.params.get(*at));
            params.any(|param| param.var == *var)
        };
        let changing_size = |var: &Var| {
            let mut sizes = self.context.iter().filter_map(|at| function.context.get(*at));
            sizes.any(|size| size == var)
        };
        if function
            .params
            .iter()
            .any(|param| param.ty.mentions(&changing_param))
        {
            return None;
        }
        let mut initial = Vec::with_capacity(function.result.types.len());
        for (ty, given) in function.result.types.iter().zip(&self.given) {
            if ty.mentions(&|var| changing_param(var) || changing_size(var)) {
                return None;
            }
            if given.is_some() {
                continue;
            }
            // Sizes of the result's own start at zero.
            let own = |var: &Var| function.result.context.contains(var).then(Size::zero);
            initial.push(stand_ins.value(&ty.substitute(&own))?);
        }
        Some(initial)
    }

    fn apply(&self, function: &mut Function, initial: Vec<Atom>, mut stmts: Vec<Stmt>, supply: &mut Supply) {
        let mut state = State::new(self, function, supply);
        let span = function.span;
        let mut body = std::mem::replace(
            &mut function.body,
            Body {
                stmts: Vec::new(),
                context: Vec::new(),
                values: Vec::new(),
            },
        );
        state.renamed.body(&mut body);
        let mut rewriter = Rewriter {
            plan: self,
            state: &state,
            supply,
        };
        rewriter.body(&mut body);
        let result = state.results_after(self, function, supply);
        let looped = state.looped(self, function, initial, body);
        stmts.push(Stmt {
            pattern: result.pattern,
            exp: Exp::Loop(Box::new(looped)),
            span,
        });
        function.body = Body {
            stmts,
            context: result.context,
            values: result.values,
        };
    }
}

/// The variables of the loop.
struct State {
    go: Var,
    /// Sizes that change, then those of the result.
    sizes: Vec<Var>,
    params: Vec<Param>,
    results: Vec<Param>,
    own_sizes: usize,
    /// From the function's parameters to the loop's.
    renamed: Substitution,
}

/// What the loop is bound to, and what of it the function gives.
struct After {
    pattern: Pattern,
    context: Vec<Atom>,
    values: Vec<Atom>,
}

impl State {
    fn new(plan: &Plan, function: &Function, supply: &mut Supply) -> State {
        let mut renamed = Substitution::new();
        let mut sizes = Vec::new();
        for var in plan.context.iter().filter_map(|at| function.context.get(*at)) {
            let new = supply.like(var);
            renamed.insert(var.clone(), Atom::Var(new.clone()));
            sizes.push(new);
        }
        let own_sizes = sizes.len();
        let mut result_names = Substitution::new();
        for var in &function.result.context {
            let new = supply.like(var);
            result_names.insert(var.clone(), Atom::Var(new.clone()));
            sizes.push(new);
        }
        let mut params = Vec::new();
        for param in plan.params.iter().filter_map(|at| function.params.get(*at)) {
            let var = supply.like(&param.var);
            renamed.insert(param.var.clone(), Atom::Var(var.clone()));
            params.push(Param {
                var,
                ty: param.ty.clone(),
            });
        }
        for param in &mut params {
            param.ty = renamed.of_type(&param.ty);
        }
        let results = plan.own(&function.result.types).map(|ty| Param {
            var: supply.fresh("result"),
            ty: result_names.of_type(ty),
        });
        let results = results.collect();
        State {
            go: supply.fresh("go"),
            sizes,
            params,
            results,
            own_sizes,
            renamed,
        }
    }

    fn types(&self) -> Vec<Type> {
        let params = self
            .params
            .iter()
            .chain(&self.results)
            .map(|param| param.ty.clone());
        std::iter::once(Type::BOOL).chain(params).collect()
    }

    /// The state's type over sizes of its own.
    fn result_type(&self, supply: &mut Supply) -> ResultType {
        let mut names = Substitution::new();
        let context: Vec<Var> = self.sizes.iter().map(|var| supply.like(var)).collect();
        for (var, new) in self.sizes.iter().zip(&context) {
            names.insert(var.clone(), Atom::Var(new.clone()));
        }
        ResultType {
            types: self.types().iter().map(|ty| names.of_type(ty)).collect(),
            context,
        }
    }

    /// A pattern for the state with names of its own.
    fn pattern(&self, supply: &mut Supply) -> Pattern {
        let ResultType { context, types } = self.result_type(supply);
        let names = std::iter::once(&self.go)
            .chain(self.params.iter().map(|param| &param.var))
            .chain(self.results.iter().map(|param| &param.var));
        let values = names.zip(types).map(|(name, ty)| Param {
            var: supply.like(name),
            ty,
        });
        Pattern {
            values: values.collect(),
            context,
        }
    }

    fn results_after(&self, plan: &Plan, function: &Function, supply: &mut Supply) -> After {
        let pattern = self.pattern(supply);
        let context = pattern.context.iter().skip(self.own_sizes);
        let (params, results) = pattern.values.split_at(1 + self.params.len());
        let mut results = results.iter().map(|value| value.var.clone());
        // A parameter that does not change is not among the loop's.
        let after = |given: &Var| {
            let changing = plan.params.iter().filter_map(|at| function.params.get(*at));
            let mut all = changing.zip(params.iter().skip(1));
            let found = all.find(|(param, _)| param.var == *given);
            found.map_or_else(|| given.clone(), |(_, value)| value.var.clone())
        };
        let values = plan.given.iter().filter_map(|given| match given {
            Some(given) => Some(after(given)),
            None => results.next(),
        });
        After {
            context: context.cloned().map(Atom::Var).collect(),
            values: values.map(Atom::Var).collect(),
            pattern,
        }
    }

    fn looped(&self, plan: &Plan, function: &Function, initial: Vec<Atom>, body: Body) -> Loop {
        let zero = Atom::Const(Scalar::I64(0));
        let sizes = plan.context.iter().filter_map(|at| function.context.get(*at));
        let starts = sizes.cloned().map(Atom::Var).chain(std::iter::repeat(zero));
        let args = plan.params.iter().filter_map(|at| function.params.get(*at));
        let args = args.map(|param| Atom::Var(param.var.clone()));
        let go = Param {
            var: self.go.clone(),
            ty: Type::Scalar(ScalarType::Bool),
        };
        let mut params = vec![(go, Atom::Const(Scalar::Bool(true)))];
        params.extend(self.params.iter().cloned().zip(args));
        params.extend(self.results.iter().cloned().zip(initial));
        Loop {
            context: self.sizes.iter().cloned().zip(starts).collect(),
            params,
            form: LoopForm::While(Body {
                stmts: Vec::new(),
                context: Vec::new(),
                values: vec![Atom::Var(self.go.clone())],
            }),
            body,
        }
    }
}

/// Turns bodies in tail position into bodies that give the next state.
struct Rewriter<'a> {
    plan: &'a Plan,
    state: &'a State,
    supply: &'a mut Supply,
}

impl Rewriter<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut calls = Vec::new();
        tail_calls(self.plan.id, body, &mut calls);
        if calls.is_empty() {
            return self.finish(body);
        }
        let Some(last) = body.stmts.pop() else { return };
        match last.exp {
            Exp::Call { context, args, .. } => self.go_on(body, &context, &args),
            Exp::If {
                condition,
                mut then,
                mut otherwise,
                ..
            } => {
                self.body(&mut then);
                self.body(&mut otherwise);
                let result = self.state.result_type(self.supply);
                let exp = Exp::If {
                    condition,
                    then,
                    otherwise,
                    result,
                };
                self.bind(body, exp, last.span);
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => {
                let exp = self.case(scrutinee, arms, default);
                self.bind(body, exp, last.span);
            }
            exp => {
                body.stmts.push(Stmt { exp, ..last });
                self.finish(body);
            }
        }
    }

    fn case(&mut self, scrutinee: Atom, mut arms: Vec<Arm>, mut default: Option<Body>) -> Exp {
        for arm in &mut arms {
            self.body(&mut arm.body);
        }
        if let Some(body) = &mut default {
            self.body(body);
        }
        Exp::Case {
            scrutinee,
            arms,
            default,
            result: self.state.result_type(self.supply),
        }
    }

    /// The body gives what this expression gives.
    fn bind(&mut self, body: &mut Body, exp: Exp, span: almach_base::Span) {
        let pattern = self.state.pattern(self.supply);
        body.context = pattern.context.iter().cloned().map(Atom::Var).collect();
        let values = pattern.values.iter();
        body.values = values.map(|value| Atom::Var(value.var.clone())).collect();
        body.stmts.push(Stmt { pattern, exp, span });
    }

    /// The call's arguments are the next state; the result still means nothing.
    fn go_on(&mut self, body: &mut Body, context: &[Atom], args: &[Atom]) {
        let (own, results) = self.state.sizes.split_at(self.state.own_sizes);
        debug_assert_eq!(own.len(), self.plan.context.len());
        let pick = |atoms: &[Atom], at: &usize| atoms.get(*at).cloned();
        body.context = self
            .plan
            .context
            .iter()
            .filter_map(|at| pick(context, at))
            .chain(results.iter().cloned().map(Atom::Var))
            .collect();
        let same = self
            .state
            .results
            .iter()
            .map(|result| Atom::Var(result.var.clone()));
        body.values = std::iter::once(Atom::Const(Scalar::Bool(true)))
            .chain(self.plan.params.iter().filter_map(|at| pick(args, at)))
            .chain(same)
            .collect();
    }

    /// The body's own results end the loop; the parameters stay as they are.
    fn finish(&mut self, body: &mut Body) {
        let own = self.state.sizes.iter().take(self.state.own_sizes);
        let own: Vec<Atom> = own.cloned().map(Atom::Var).collect();
        let results = std::mem::take(&mut body.context);
        body.context = own.into_iter().chain(results).collect();
        let values = std::mem::take(&mut body.values);
        body.values = std::iter::once(Atom::Const(Scalar::Bool(false)))
            .chain(self.state.params.iter().map(|param| Atom::Var(param.var.clone())))
            .chain(self.plan.own(values))
            .collect();
    }
}
