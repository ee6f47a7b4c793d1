//! The function of a map as a function of a group of its elements: variables that differ by element are arrays of lanes.
//!
//! Statements without loops collect until a loop needs what they give; then they are one map on lanes. Masks are variables like others.

mod arrays;

use super::Group;
use crate::write::{Definitions, at_level};
use crate::{Chooser, cost};
use almach_base::{Name, Span};
use almach_core::build::{enter_params, op as plain_op};
use almach_core::check::Rule;
use almach_core::typing::{TypeError, Typed};
use almach_core::visit::{Substitution, Vars, Walk, fresh_body, fresh_lambda};
use almach_core::{Atom, Body, Exp, Lambda, Loop, LoopForm, Param, Pattern, ResultType, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_value::{BinOp, Scalar, ScalarType, UnOp, identity};
use std::collections::{HashMap, HashSet};

pub(super) use arrays::Work;

/// Scalar operations of the steps that are done before it is asked whether a lane goes on.
const STEPS_WORK: u64 = 64;

/// So many steps at most: those behind the last one that is needed are for nothing.
const MOST_STEPS: u64 = 4;

pub(super) struct Lifting<'c> {
    chooser: &'c mut Chooser,
    group: Group,
    span: Span,
    /// The variables that differ by lane.
    types: HashMap<Var, Type>,
    /// Their values on all lanes, for those that are not in `pending`.
    arrays: HashMap<Var, Atom>,
    /// Statements on one lane that are in no operation yet.
    pending: Vec<Stmt>,
    /// The variables that bodies around use behind what is being worked on.
    kept: Vec<HashSet<Var>>,
    /// All that the function uses.
    used: HashSet<Var>,
    /// Some array with as many elements as there are lanes.
    some_lanes: Option<Atom>,
    /// How the values of lanes were made.
    definitions: Definitions,
}

/// A loop that goes on as long as a lane does.
struct Masked<'l> {
    stmt: &'l Stmt,
    params: &'l [(Param, Atom)],
    condition: &'l Body,
    body: &'l Body,
    /// The lanes that come to the loop at all.
    mask: Option<&'l Var>,
}

impl<'c> Lifting<'c> {
    pub(super) fn new(
        chooser: &'c mut Chooser,
        function: &Lambda,
        rows: &[Param],
        group: Group,
        span: Span,
    ) -> Lifting<'c> {
        let rows: Vec<Atom> = rows.iter().map(|row| Atom::Var(row.var.clone())).collect();
        Lifting::over(chooser, function, &rows, rows.first(), group, span)
    }

    /// The same, given the lanes of every parameter and some array with as many elements.
    pub(super) fn over(
        chooser: &'c mut Chooser,
        function: &Lambda,
        lanes: &[Atom],
        some_lanes: Option<&Atom>,
        group: Group,
        span: Span,
    ) -> Lifting<'c> {
        let (mut types, mut arrays) = (HashMap::new(), HashMap::new());
        for (param, lanes) in function.params.iter().zip(lanes) {
            types.insert(param.var.clone(), param.ty.clone());
            arrays.insert(param.var.clone(), lanes.clone());
        }
        Lifting {
            chooser,
            group,
            span,
            types,
            arrays,
            pending: Vec::new(),
            kept: Vec::new(),
            used: Vars::of_lambda(function).used,
            some_lanes: some_lanes.cloned(),
            definitions: Definitions::new(),
        }
    }

    /// What the function gives, on all lanes.
    pub(super) fn function(mut self, function: &Lambda) -> Typed<Vec<Atom>> {
        self.body(&function.body, None)?;
        self.results(&function.body.values, &function.result.types)
    }

    /// The statements of a body, for the lanes of a mask.
    fn body(&mut self, body: &Body, mask: Option<&Var>) -> Typed<()> {
        for (at, stmt) in body.stmts.iter().enumerate() {
            if !holds_loop(&stmt.exp) {
                self.simple(stmt);
                continue;
            }
            let mut later = Vars::default();
            body.stmts.iter().skip(at + 1).for_each(|stmt| later.stmt(stmt));
            body.values.iter().for_each(|value| later.atom(value));
            later.used.extend(mask.cloned());
            self.kept.push(later.used);
            self.control(stmt, mask)?;
            self.kept.pop();
        }
        Ok(())
    }

    /// A statement without loops. One that is the same on all lanes is done once.
    fn simple(&mut self, stmt: &Stmt) {
        let used = Vars::of_exp(&stmt.exp).used;
        if used.iter().any(|var| self.types.contains_key(var)) {
            self.on_lanes(stmt.pattern.clone(), stmt.exp.clone());
        } else {
            self.chooser
                .builder
                .push(stmt.pattern.clone(), stmt.exp.clone(), stmt.span);
        }
    }

    fn on_lanes(&mut self, pattern: Pattern, exp: Exp) {
        for value in &pattern.values {
            self.types.insert(value.var.clone(), value.ty.clone());
        }
        if let [value] = pattern.values.as_slice() {
            self.definitions.insert(value.var.clone(), exp.clone());
        }
        let span = self.span;
        self.pending.push(Stmt { pattern, exp, span });
    }

    /// A new variable on lanes.
    fn lane(&mut self, name: &str, ty: Type, exp: Exp) -> Var {
        let var = self.chooser.builder.fresh(name);
        let pattern = Pattern {
            context: Vec::new(),
            values: vec![Param { var: var.clone(), ty }],
        };
        self.on_lanes(pattern, exp);
        var
    }

    /// One of two values on lanes.
    fn chosen(&mut self, name: &str, ty: &Type, condition: &Atom, then: Atom, otherwise: Atom) -> Var {
        let value = |atom: Atom| Body {
            stmts: Vec::new(),
            context: Vec::new(),
            values: vec![atom],
        };
        let exp = Exp::If {
            condition: condition.clone(),
            then: value(then),
            otherwise: value(otherwise),
            result: ResultType::one(ty.clone()),
        };
        self.lane(name, ty.clone(), exp)
    }

    fn control(&mut self, stmt: &Stmt, mask: Option<&Var>) -> Typed<()> {
        match &stmt.exp {
            Exp::Loop(looped) => self.looped(stmt, looped, mask),
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => self.branches(stmt, condition, [then, otherwise], mask),
            _ => Err(TypeError::new(
                Rule::Function,
                "a loop on lanes inside of what is none",
            )),
        }
    }

    /// Branches that hold loops: both are done, each for the lanes that take it.
    fn branches(
        &mut self,
        stmt: &Stmt,
        condition: &Atom,
        [then, otherwise]: [&Body; 2],
        mask: Option<&Var>,
    ) -> Typed<()> {
        let active = match mask {
            Some(mask) => Atom::Var(mask.clone()),
            None => self.is_in(),
        };
        let (ty, none) = (self.mask_type(), self.is_out());
        let takes = self.chosen("active", &ty, condition, active.clone(), none.clone());
        let others = self.chosen("active", &ty, condition, none, active);
        let mut behind = Vars::of_body(otherwise);
        behind.atom(condition);
        then.values.iter().for_each(|value| behind.atom(value));
        behind.used.insert(others.clone());
        self.kept.push(behind.used);
        self.body(then, Some(&takes))?;
        self.body(otherwise, Some(&others))?;
        self.kept.pop();
        let pairs = then.values.iter().zip(&otherwise.values);
        for (value, (a, b)) in stmt.pattern.values.iter().zip(pairs) {
            let chosen = self.chosen("chosen", &value.ty, condition, a.clone(), b.clone());
            let pattern = Pattern {
                context: Vec::new(),
                values: vec![value.clone()],
            };
            self.on_lanes(pattern, Exp::Atom(Atom::Var(chosen)));
        }
        Ok(())
    }

    fn looped(&mut self, stmt: &Stmt, looped: &Loop, mask: Option<&Var>) -> Typed<()> {
        match &looped.form {
            LoopForm::While(condition) => self.masked(&Masked {
                stmt,
                params: &looped.params,
                condition,
                body: &looped.body,
                mask,
            }),
            LoopForm::For {
                bound: Atom::Var(bound),
                index,
            } if self.types.contains_key(bound) => self.counted_by_lane(stmt, looped, index, bound, mask),
            LoopForm::For { index, bound } => self.counted(stmt, looped, index, bound, mask),
        }
    }

    /// A loop that all lanes run equally often. What it makes of lanes outside of the mask does not matter, but where there are none in it,
    /// it does not run.
    fn counted(
        &mut self,
        stmt: &Stmt,
        looped: &Loop,
        index: &Param,
        bound: &Atom,
        mask: Option<&Var>,
    ) -> Typed<()> {
        let initial = self.initial(&looped.params);
        self.flush(&initial, Some(&stmt.exp))?;
        let bound = match mask {
            None => bound.clone(),
            Some(mask) => self.bound_where_any(bound, &index.ty, mask)?,
        };
        let params = self.state(&looped.params, &initial)?;
        enter_params(&mut self.chooser.builder.env, &[], std::slice::from_ref(index));
        self.chooser.builder.enter();
        self.body(&looped.body, mask)?;
        let types: Vec<Type> = looped.params.iter().map(|(param, _)| param.ty.clone()).collect();
        let next = self.results(&looped.body.values, &types)?;
        let body = self.chooser.builder.leave(Vec::new(), next);
        let form = LoopForm::For {
            index: index.clone(),
            bound,
        };
        self.bind_loop(stmt, params, form, body)
    }

    /// A number of iterations, or none where no lane is in the mask.
    fn bound_where_any(&mut self, bound: &Atom, ty: &Type, mask: &Var) -> Typed<Atom> {
        let Type::Scalar(scalar) = ty else {
            return Ok(bound.clone());
        };
        let any = self.any(mask)?;
        let value = |atom: Atom| Body {
            stmts: Vec::new(),
            context: Vec::new(),
            values: vec![atom],
        };
        let exp = Exp::If {
            condition: any,
            then: value(bound.clone()),
            otherwise: value(Atom::Const(Scalar::zero(*scalar))),
            result: ResultType::one(ty.clone()),
        };
        self.chooser.bind(exp, "bound", self.span)
    }

    /// `for i < n` with an `n` for every lane: `i` is state.
    fn counted_by_lane(
        &mut self,
        stmt: &Stmt,
        looped: &Loop,
        index: &Param,
        bound: &Var,
        mask: Option<&Var>,
    ) -> Typed<()> {
        let Type::Scalar(scalar) = index.ty else {
            return Ok(());
        };
        let counter = Atom::Var(index.var.clone());
        let goes_on = Exp::Binary(BinOp::Lt, counter.clone(), Atom::Var(bound.clone()));
        let (condition, _) = self.with(Vec::new(), "on", Type::Scalar(ScalarType::Bool), goes_on);
        let next = Exp::Binary(BinOp::Add, counter, one(scalar));
        let (mut body, next) = self.with(looped.body.stmts.clone(), "next", index.ty.clone(), next);
        body.values = looped
            .body
            .values
            .iter()
            .cloned()
            .chain([Atom::Var(next)])
            .collect();
        let mut params = looped.params.clone();
        params.push((index.clone(), Atom::Const(Scalar::zero(scalar))));
        self.masked(&Masked {
            stmt,
            params: &params,
            condition: &condition,
            body: &body,
            mask,
        })
    }

    /// Statements and one more, whose value the body gives.
    fn with(&mut self, mut stmts: Vec<Stmt>, name: &str, ty: Type, exp: Exp) -> (Body, Var) {
        let var = self.chooser.builder.fresh(name);
        let values = vec![Param { var: var.clone(), ty }];
        let pattern = Pattern {
            context: Vec::new(),
            values,
        };
        let span = self.span;
        stmts.push(Stmt { pattern, exp, span });
        let body = Body {
            stmts,
            context: Vec::new(),
            values: vec![Atom::Var(var.clone())],
        };
        (body, var)
    }

    fn masked(&mut self, work: &Masked<'_>) -> Typed<()> {
        let mut initial = self.initial(work.params);
        let start = match work.mask {
            Some(mask) => Atom::Var(mask.clone()),
            None => self.is_in(),
        };
        initial.push(self.lane("active", self.mask_type(), Exp::Atom(start)));
        self.flush(&initial, Some(&work.stmt.exp))?;
        let params = self.state(work.params, &initial)?;
        let Some((active_lanes, active)) = params.last().map(|(param, _)| {
            let active = self.chooser.builder.fresh("active");
            (Atom::Var(param.var.clone()), active)
        }) else {
            return Ok(());
        };
        self.types.insert(active.clone(), self.mask_type());
        self.arrays.insert(active.clone(), active_lanes);
        self.chooser.builder.enter();
        let any = self.any(&active)?;
        let condition = self.chooser.builder.leave(Vec::new(), vec![any]);
        self.chooser.builder.enter();
        let next = self.masked_steps(work, &active)?;
        let body = self.chooser.builder.leave(Vec::new(), next);
        self.bind_loop(work.stmt, params, LoopForm::While(condition), body)
    }

    /// One iteration on lanes, which is several steps of each: the next state of all lanes, and the next mask.
    fn masked_steps(&mut self, work: &Masked<'_>, active: &Var) -> Typed<Vec<Atom>> {
        let is_active = Exp::Binary(BinOp::Ne, Atom::Var(active.clone()), self.is_out());
        let mut on = self.lane("on", Type::Scalar(ScalarType::Bool), is_active);
        let mut state: Vec<Var> = work.params.iter().map(|(param, _)| param.var.clone()).collect();
        let mut reached: Vec<Atom> = state.iter().cloned().map(Atom::Var).collect();
        let mut active = active.clone();
        for _ in 0..self.steps(work) {
            on = self.goes_on(work, &reached, on);
            active = self.mask_of(&on);
            (state, reached) = self.masked_step(work, &state, &reached, [&on, &active])?;
        }
        state.push(active);
        self.flush(&state, None)?;
        state.iter().map(|var| self.lanes_of(var)).collect()
    }

    /// How many steps stand between two looks at whether a lane goes on: a look is many operations on one vector.
    fn steps(&self, work: &Masked<'_>) -> u64 {
        let facts = &self.chooser.facts;
        let cost = cost::of_body(work.condition, facts).saturating_add(cost::of_body(work.body, facts));
        match work.body.stmts.iter().any(|stmt| holds_loop(&stmt.exp)) {
            true => 1,
            false => (STEPS_WORK / cost.max(1)).clamp(1, MOST_STEPS),
        }
    }

    /// The next state of lanes, given the state that each has, and the one that it reaches if it is on; also the one that it reaches next.
    /// (So no step waits for the choice of the one before.) The condition comes first, and the step uses what that computes; the step in
    /// which the last lane stops changes nothing any more.
    fn masked_step(
        &mut self,
        work: &Masked<'_>,
        state: &[Var],
        reached: &[Atom],
        [on, active]: [&Var; 2],
    ) -> Typed<(Vec<Var>, Vec<Atom>)> {
        let body = self.copy(work.body, work.params, reached);
        let mut behind: HashSet<Var> = state.iter().chain([on, active]).cloned().collect();
        behind.extend(body.values.iter().filter_map(variable));
        self.kept.push(behind);
        self.body(&body, Some(active))?;
        self.kept.pop();
        let mut next = Vec::with_capacity(state.len());
        let mut reached_next = body.values.clone();
        for (at, ((param, _), value)) in work.params.iter().zip(&body.values).enumerate() {
            let result = work.stmt.pattern.values.get(at);
            let is_used = result.is_some_and(|result| self.used.contains(&result.var));
            let old = state.get(at).filter(|_| is_used).cloned().map(Atom::Var);
            let counts = (reached.get(at)).and_then(|before| self.counts_up(before, value, &param.ty));
            next.push(match (old, counts) {
                (Some(old), Some(scalar)) => {
                    let counted = self.counted_where(&param.var.name, scalar, old, on);
                    if let Some(place) = reached_next.get_mut(at) {
                        *place = Atom::Var(counted.clone());
                    }
                    counted
                }
                (Some(old), None) => {
                    let on = Atom::Var(on.clone());
                    self.chosen(&param.var.name, &param.ty, &on, value.clone(), old)
                }
                // What nobody looks at behind the loop may go on: nothing in it can fail.
                (None, _) => self.lane(&param.var.name, param.ty.clone(), Exp::Atom(value.clone())),
            });
        }
        Ok((next, reached_next))
    }

    /// The type of a state that a step makes one larger.
    fn counts_up(&self, before: &Atom, value: &Atom, ty: &Type) -> Option<ScalarType> {
        let (Type::Scalar(scalar), Atom::Var(value)) = (ty, value) else {
            return None;
        };
        let Some(Exp::Binary(BinOp::Add, a, b)) = self.definitions.get(value) else {
            return None;
        };
        let is_next = |a: &Atom, b: &Atom| a == before && *b == one(*scalar);
        (!scalar.is_float() && (is_next(a, b) || is_next(b, a))).then_some(*scalar)
    }

    /// A state one larger where a lane is on. It is a sum and no choice: choices of several steps, one in the other, are branches to C compilers,
    /// which then use no lanes.
    fn counted_where(&mut self, name: &Name, scalar: ScalarType, old: Atom, on: &Var) -> Var {
        let step = Exp::Unary(UnOp::Convert(scalar), Atom::Var(on.clone()));
        let step = Atom::Var(self.lane("step", Type::Scalar(scalar), step));
        self.lane(name, Type::Scalar(scalar), Exp::Binary(BinOp::Add, old, step))
    }

    /// A copy of a body, with a state for the parameters of its loop.
    fn copy(&mut self, body: &Body, params: &[(Param, Atom)], state: &[Atom]) -> Body {
        let mut copy = fresh_body(body, &mut self.chooser.builder.supply);
        let mut given = Substitution::new();
        for ((param, _), atom) in params.iter().zip(state) {
            given.insert(param.var.clone(), atom.clone());
        }
        given.apply_body(&mut copy);
        self.used.extend(Vars::of_body(&copy).used);
        copy
    }

    /// Whether a lane that is on goes on: its state lets it.
    fn goes_on(&mut self, work: &Masked<'_>, state: &[Atom], on: Var) -> Var {
        let condition = self.copy(work.condition, work.params, state);
        for stmt in condition.stmts {
            self.on_lanes(stmt.pattern, stmt.exp);
        }
        let lets = condition.values.into_iter().next();
        let lets = lets.unwrap_or(Atom::Const(Scalar::Bool(false)));
        let both = Exp::Binary(BinOp::And, Atom::Var(on), lets);
        self.lane("on", Type::Scalar(ScalarType::Bool), both)
    }

    /// The element of a mask for a lane that is on, or not.
    fn mask_of(&mut self, on: &Var) -> Var {
        let (ty, on) = (self.mask_type(), Atom::Var(on.clone()));
        self.chosen("active", &ty, &on, self.is_in(), self.is_out())
    }

    /// The initial state of a loop, as variables on lanes.
    fn initial(&mut self, params: &[(Param, Atom)]) -> Vec<Var> {
        let mut initial = Vec::with_capacity(params.len() + 1);
        for (param, atom) in params {
            initial.push(self.lane(&param.var.name, param.ty.clone(), Exp::Atom(atom.clone())));
        }
        initial
    }

    /// Lanes as the state of a loop, with what they are at first. Inside, its parameters are these lanes.
    fn state(&mut self, params: &[(Param, Atom)], initial: &[Var]) -> Typed<Vec<(Param, Atom)>> {
        let mut state = Vec::with_capacity(initial.len());
        for (at, start) in initial.iter().enumerate() {
            let lanes = self.lanes_of(start)?;
            let ty = self.chooser.builder.type_of(&lanes)?;
            let param = self.chooser.builder.param(start.name.clone(), ty);
            if let Some((given, _)) = params.get(at) {
                self.types.insert(given.var.clone(), given.ty.clone());
                self.arrays
                    .insert(given.var.clone(), Atom::Var(param.var.clone()));
            }
            state.push((param, lanes));
        }
        Ok(state)
    }

    /// Binds a loop on lanes; what the loop on scalars gives are the first of its values.
    fn bind_loop(
        &mut self,
        stmt: &Stmt,
        params: Vec<(Param, Atom)>,
        form: LoopForm,
        body: Body,
    ) -> Typed<()> {
        let names: Vec<Name> = params.iter().map(|(param, _)| param.var.name.clone()).collect();
        let exp = Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params,
            form,
            body,
        }));
        let bound = self.chooser.builder.bind_all(exp, &names, self.span)?;
        for (value, lanes) in stmt.pattern.values.iter().zip(&bound.values) {
            self.types.insert(value.var.clone(), value.ty.clone());
            self.arrays
                .insert(value.var.clone(), Atom::Var(lanes.var.clone()));
        }
        Ok(())
    }

    /// Whether some lane is in a mask.
    fn any(&mut self, mask: &Var) -> Typed<Atom> {
        let (lanes, span, ty) = (self.lanes_of(mask)?, self.span, self.mask_type());
        let or = self
            .chooser
            .lambda_of([("any", ty.clone()), ("active", ty)], |this, [any, active]| {
                this.bind(Exp::Binary(BinOp::Or, any, active), "any", span)
            })?;
        let none = self.is_out();
        let any = plain_op(Prim::ReduceSeq, vec![or], vec![none.clone(), lanes]);
        let any = self.chooser.bind(any, "any", span)?;
        self.chooser
            .bind(Exp::Binary(BinOp::Ne, any, none), "goes_on", span)
    }

    /// What a body gives, on lanes.
    fn results(&mut self, values: &[Atom], types: &[Type]) -> Typed<Vec<Atom>> {
        let mut results = Vec::with_capacity(values.len());
        for (value, ty) in values.iter().zip(types) {
            results.push(match value {
                Atom::Var(var) if self.types.contains_key(var) => var.clone(),
                same => self.lane("same", ty.clone(), Exp::Atom(same.clone())),
            });
        }
        self.flush(&results, None)?;
        results.iter().map(|var| self.lanes_of(var)).collect()
    }

    fn lanes_of(&self, var: &Var) -> Typed<Atom> {
        self.arrays.get(var).cloned().ok_or_else(|| {
            let text = format!("`{var}` has no lanes");
            TypeError::new(Rule::InScope, text)
        })
    }

    /// Makes one map of the statements that were collected. It gives the variables that are wanted, those that an expression uses, and those
    /// that are used behind.
    fn flush(&mut self, wanted: &[Var], inside: Option<&Exp>) -> Typed<()> {
        let mut needed = inside.map(Vars::of_exp).unwrap_or_default().used;
        needed.extend(wanted.iter().cloned());
        let stmts = std::mem::take(&mut self.pending);
        let mut vars = Vars::default();
        stmts.iter().for_each(|stmt| vars.stmt(stmt));
        let is_needed = |var: &Var| needed.contains(var) || self.kept.iter().any(|kept| kept.contains(var));
        let bound = stmts.iter().flat_map(|stmt| &stmt.pattern.values);
        let given: Vec<Param> = bound.filter(|value| is_needed(&value.var)).cloned().collect();
        if given.is_empty() {
            return Ok(());
        }
        let mut inputs: Vec<(Var, Atom)> = vars
            .free()
            .filter_map(|var| Some((var.clone(), self.arrays.get(var)?.clone())))
            .collect();
        inputs.sort_by_key(|(var, _)| var.id);
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for (var, lanes) in inputs {
            let ty = self.types.get(&var).cloned().unwrap_or(Type::unit());
            params.push(Param { var, ty });
            args.push(lanes);
        }
        if let (true, Some(lanes)) = (params.is_empty(), &self.some_lanes) {
            let ty = self.chooser.array_type(lanes).map(|(_, ty)| ty);
            params.push(self.chooser.builder.param("lane", ty.unwrap_or(Type::unit())));
            args.push(lanes.clone());
        }
        let function = Lambda {
            context: Vec::new(),
            params,
            result: ResultType {
                context: Vec::new(),
                types: given.iter().map(|value| value.ty.clone()).collect(),
            },
            body: Body {
                stmts,
                context: Vec::new(),
                values: given.iter().map(|value| Atom::Var(value.var.clone())).collect(),
            },
        };
        let function = fresh_lambda(&function, &mut self.chooser.builder.supply);
        let names: Vec<Name> = given.iter().map(|value| value.var.name.clone()).collect();
        let exp = at_level(Prim::Map, Level::Vec, vec![function], args);
        let bound = self.chooser.builder.bind_all(exp, &names, self.span)?;
        for (value, lanes) in given.iter().zip(&bound.values) {
            self.arrays
                .insert(value.var.clone(), Atom::Var(lanes.var.clone()));
        }
        Ok(())
    }

    fn mask_type(&self) -> Type {
        Type::Scalar(self.group.mask)
    }

    /// The element of a mask for a lane that goes on.
    fn is_in(&self) -> Atom {
        one(self.group.mask)
    }

    fn is_out(&self) -> Atom {
        Atom::Const(Scalar::zero(self.group.mask))
    }
}

/// Whether an expression holds a loop.
pub(super) fn holds_loop(exp: &Exp) -> bool {
    let holds = |body: &Body| body.stmts.iter().any(|stmt| holds_loop(&stmt.exp));
    match exp {
        Exp::Loop(_) => true,
        Exp::If { then, otherwise, .. } => holds(then) || holds(otherwise),
        _ => false,
    }
}

fn one(ty: ScalarType) -> Atom {
    Atom::Const(identity(BinOp::Mul, ty).unwrap_or(Scalar::zero(ty)))
}

fn variable(atom: &Atom) -> Option<Var> {
    match atom {
        Atom::Var(var) => Some(var.clone()),
        Atom::Const(_) => None,
    }
}
