//! Results that nothing needs: of branches, loops and maps, and arguments that a map's function does not use.

use super::Live;
use crate::facts::is_fixed;
use almach_core::visit::Vars;
use almach_core::{Body, Exp, Lambda, Loop, LoopForm, Op, Param, Pattern, ResultType, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::ScalarType;
use std::collections::HashSet;

impl Live<'_> {
    /// Removes dead results from a statement that stays.
    pub(super) fn prune(&self, stmt: &mut Stmt) {
        let Stmt { pattern, exp, .. } = stmt;
        match exp {
            Exp::If {
                then,
                otherwise,
                result,
                ..
            } => self.prune_bodies(pattern, result, &mut [then, otherwise]),
            Exp::Case {
                arms,
                default,
                result,
                ..
            } => {
                let mut bodies: Vec<&mut Body> = arms.iter_mut().map(|arm| &mut arm.body).collect();
                bodies.extend(default.iter_mut());
                self.prune_bodies(pattern, result, &mut bodies);
            }
            Exp::Loop(looped) => self.prune_loop(pattern, looped),
            Exp::Op(op) if op.prim == Prim::Map && !is_fixed(op) => self.prune_map_results(pattern, op),
            _ => {}
        }
    }

    fn dead_values(&self, pattern: &Pattern) -> Vec<bool> {
        let dead = |var: &Var| !self.vars.contains(var);
        pattern.values.iter().map(|value| dead(&value.var)).collect()
    }

    fn prune_bodies(&self, pattern: &mut Pattern, result: &mut ResultType, bodies: &mut [&mut Body]) {
        let dead = self.dead_values(pattern);
        drop_marked(&mut pattern.values, &dead);
        drop_marked(&mut result.types, &dead);
        for body in bodies.iter_mut() {
            drop_marked(&mut body.values, &dead);
        }
        let unused = unused_context(&pattern.context, &self.vars, pattern);
        drop_marked(&mut pattern.context, &unused);
        drop_marked(&mut result.context, &unused);
        for body in bodies.iter_mut() {
            drop_marked(&mut body.context, &unused);
        }
        let numbers = sizes_of_nothing(pattern);
        for size in take_marked(&mut pattern.context, &numbers) {
            pattern.values.push(number(size));
            result.types.push(Type::Scalar(ScalarType::I64));
        }
        take_marked(&mut result.context, &numbers);
        for body in bodies.iter_mut() {
            let sizes = take_marked(&mut body.context, &numbers);
            body.values.extend(sizes);
        }
    }

    /// A function's result has a context of its own, which only its types use.
    fn prune_map_results(&self, pattern: &mut Pattern, op: &mut Op) {
        let [function] = op.functions.as_mut_slice() else {
            return;
        };
        let mut dead = self.dead_values(pattern);
        // A map that stays for what it prints keeps one result.
        if dead.iter().all(|dead| *dead)
            && let Some(first) = dead.first_mut()
        {
            *first = false;
        }
        drop_marked(&mut pattern.values, &dead);
        drop_marked(&mut function.result.types, &dead);
        drop_marked(&mut function.body.values, &dead);
        let mentioned = |var: &Var| {
            let mut types = function.result.types.iter();
            types.any(|ty| ty.mentions(&|used| used == var))
        };
        let unused: Vec<bool> = function
            .result
            .context
            .iter()
            .map(|var| !mentioned(var))
            .collect();
        drop_marked(&mut function.result.context, &unused);
        drop_marked(&mut function.body.context, &unused);
    }

    /// State that only feeds itself goes: what is needed is what live results, the condition and what must stay need,
    /// found by repetition.
    fn prune_loop(&self, pattern: &mut Pattern, looped: &mut Loop) {
        let mut dead = self.dead_values(pattern);
        if !dead.contains(&true) {
            return;
        }
        loop {
            let used = self.used_by_state(looped, &dead);
            let mut changed = false;
            for (dead, (param, _)) in dead.iter_mut().zip(&looped.params) {
                if *dead && used.contains(&param.var) {
                    *dead = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        drop_marked(&mut pattern.values, &dead);
        drop_marked(&mut looped.params, &dead);
        drop_marked(&mut looped.body.values, &dead);
        let numbers = sizes_of_nothing(pattern);
        let sizes = take_marked(&mut pattern.context, &numbers);
        pattern.values.extend(sizes.into_iter().map(number));
        let sizes = take_marked(&mut looped.context, &numbers);
        looped
            .params
            .extend(sizes.into_iter().map(|(size, start)| (number(size), start)));
        let sizes = take_marked(&mut looped.body.context, &numbers);
        looped.body.values.extend(sizes);
    }

    /// What the loop needs where the dead part of its state is left out.
    fn used_by_state(&self, looped: &Loop, dead: &[bool]) -> HashSet<Var> {
        let mut live = Live {
            facts: self.facts,
            sizes: self.sizes.clone(),
            vars: HashSet::new(),
        };
        let mut body = looped.body.clone();
        drop_marked(&mut body.values, dead);
        live.body(&mut body);
        if let LoopForm::While(condition) = &looped.form {
            live.body(&mut condition.clone());
        }
        live.vars
    }
}

/// Sizes of a pattern that neither the program nor the pattern's own types use.
fn unused_context(context: &[Var], live: &HashSet<Var>, pattern: &Pattern) -> Vec<bool> {
    let used = |var: &Var| {
        live.contains(var)
            || pattern
                .values
                .iter()
                .any(|value| value.ty.mentions(&|mentioned| mentioned == var))
    };
    context.iter().map(|var| !used(var)).collect()
}

/// Which sizes of a pattern are those of no array that is left: they are numbers like others.
fn sizes_of_nothing(pattern: &Pattern) -> Vec<bool> {
    let mentioned = |size: &Var| {
        let mut values = pattern.values.iter();
        values.any(|value| value.ty.mentions(&|used| used == size))
    };
    pattern.context.iter().map(|size| !mentioned(size)).collect()
}

fn number(var: Var) -> Param {
    Param {
        var,
        ty: Type::Scalar(ScalarType::I64),
    }
}

/// Arrays whose elements the function does not look at, all but one.
pub(super) fn map_arguments(op: &mut Op) {
    if op.prim != Prim::Map || is_fixed(op) || op.args.len() < 2 {
        return;
    }
    let [function] = op.functions.as_mut_slice() else {
        return;
    };
    let used = Vars::of_body(&function.body).used;
    let mut unused: Vec<bool> = function
        .params
        .iter()
        .map(|param| {
            !used.contains(&param.var)
                && !mentions(&function.result, &param.var)
                && !opens_rows(function, param)
        })
        .collect();
    if unused.iter().all(|unused| *unused)
        && let Some(first) = unused.first_mut()
    {
        *first = false;
    }
    drop_marked(&mut function.params, &unused);
    drop_marked(&mut op.args, &unused);
}

fn mentions(result: &ResultType, var: &Var) -> bool {
    result.types.iter().any(|ty| ty.mentions(&|used| used == var))
}

/// Whether sizes of the function's context belong to this parameter.
fn opens_rows(function: &Lambda, param: &Param) -> bool {
    param.ty.mentions(&|var| function.context.contains(var))
}

/// Moves what is marked out.
fn take_marked<T>(items: &mut Vec<T>, marked: &[bool]) -> Vec<T> {
    let mut marks = marked.iter();
    let marked = items.extract_if(.., |_| marks.next().copied().unwrap_or(false));
    marked.collect()
}

fn drop_marked<T>(items: &mut Vec<T>, marked: &[bool]) {
    let mut marks = marked.iter();
    items.retain(|_| !marks.next().copied().unwrap_or(false));
}
