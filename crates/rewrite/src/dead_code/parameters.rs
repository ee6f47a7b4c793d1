//! Parameters of functions that are used for nothing but to be passed on in recursive calls.
//!
//! ```text
//! fun last {n} (t: List, k: i64, seed: i64): i64 = … last {n} (rest, k + 1, seed) …
//! => fun last (t: List, k: i64): i64 = … last (rest, k + 1) …
//! ```
//!
//! An array that alone tells a size which is needed, or alone says that it is not negative, stays.

use almach_core::visit::{Walk, WalkMut, walk_exp, walk_exp_mut, walk_function_mut};
use almach_core::{Atom, Dim, Exp, FunId, Function, Param, Program, Type, Var};
use std::collections::HashSet;

pub fn run(program: &mut Program) {
    // Without entries, everything is called from somewhere else.
    if program.entries.is_empty() {
        return;
    }
    let entries: HashSet<FunId> = program.entries.iter().map(|entry| entry.function).collect();
    let uses: Vec<Uses> = program.functions.iter().map(Uses::of).collect();
    let live = live(program, &entries, uses);
    let plans: Vec<Plan> = (0..)
        .map(FunId)
        .zip(program.functions.iter().zip(&live))
        .map(|(id, (function, live))| match entries.contains(&id) {
            true => Plan::keep(function),
            false => Plan::of(function, live),
        })
        .collect();
    if plans.iter().all(Plan::changes_nothing) {
        return;
    }
    for (function, plan) in program.functions.iter_mut().zip(&plans) {
        plan.apply(function);
        walk_function_mut(&mut Calls(&plans), function);
    }
}

/// The variables of each function that something needs.
fn live(program: &Program, entries: &HashSet<FunId>, uses: Vec<Uses>) -> Vec<HashSet<Var>> {
    let mut live: Vec<HashSet<Var>> = Vec::with_capacity(uses.len());
    let mut passed: Vec<Vec<Passed>> = Vec::with_capacity(uses.len());
    for uses in uses {
        live.push(uses.vars);
        passed.push(uses.passed);
    }
    loop {
        let mut grew = false;
        for (at, function) in program.functions.iter().enumerate() {
            let needed: Vec<Var> = passed
                .get(at)
                .into_iter()
                .flatten()
                .filter(|passed| {
                    let callee = program.functions.get(passed.to.0 as usize);
                    let slot = callee.and_then(|callee| slots(callee).nth(passed.slot));
                    let known = live.get(passed.to.0 as usize);
                    entries.contains(&passed.to)
                        || slot.is_none_or(|slot| known.is_some_and(|known| known.contains(slot)))
                })
                .map(|passed| passed.var.clone())
                .collect();
            let Some(vars) = live.get_mut(at) else { continue };
            for var in needed {
                grew |= vars.insert(var);
            }
            for param in &function.params {
                if vars.contains(&param.var) {
                    param
                        .ty
                        .for_each_size_var(&mut |size| grew |= vars.insert(size.clone()));
                }
            }
            let numbers = function.params.iter().filter(|param| param.ty == Type::I64);
            for size in function.context.iter().chain(numbers.map(|param| &param.var)) {
                // An array of that size also says that it is not negative. A number that is passed is told by itself.
                let is_plain = function.params.iter().any(|param| has_dimension(&param.ty, size));
                let is_told = function.context.contains(size);
                let tells = |param: &&Param| match is_plain {
                    true => has_dimension(&param.ty, size),
                    false => is_told && mentions(&param.ty, size),
                };
                let mut telling = function.params.iter().filter(tells);
                if vars.contains(size)
                    && let Some(first) = telling.clone().next()
                    && !telling.any(|param| vars.contains(&param.var))
                {
                    grew |= vars.insert(first.var.clone());
                }
            }
        }
        if !grew {
            return live;
        }
    }
}

fn has_dimension(ty: &Type, size: &Var) -> bool {
    let mut found = false;
    ty.for_each_dim(&mut |dim| found |= matches!(dim, Dim::Size(dim) if dim.as_var() == Some(size)));
    found
}

fn mentions(ty: &Type, size: &Var) -> bool {
    let mut found = false;
    ty.for_each_size_var(&mut |var| found |= var == size);
    found
}

/// Everything a caller passes, in order.
fn slots(function: &Function) -> impl Iterator<Item = &Var> {
    let params = function.params.iter().map(|param| &param.var);
    function.context.iter().chain(params)
}

/// A variable as an argument of a call.
struct Passed {
    to: FunId,
    slot: usize,
    var: Var,
}

/// What a function does with its variables.
struct Uses {
    vars: HashSet<Var>,
    passed: Vec<Passed>,
}

impl Uses {
    fn of(function: &Function) -> Uses {
        let mut uses = Uses {
            vars: HashSet::new(),
            passed: Vec::new(),
        };
        for ty in &function.result.types {
            uses.ty(ty);
        }
        uses.body(&function.body);
        uses
    }
}

impl Walk for Uses {
    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.vars.insert(var.clone());
        }
    }

    fn ty(&mut self, ty: &Type) {
        ty.for_each_size_var(&mut |var| {
            self.vars.insert(var.clone());
        });
    }

    fn exp(&mut self, exp: &Exp) {
        let Exp::Call {
            function,
            context,
            args,
        } = exp
        else {
            return walk_exp(self, exp);
        };
        for (slot, atom) in context.iter().chain(args).enumerate() {
            if let Atom::Var(var) = atom {
                self.passed.push(Passed {
                    to: *function,
                    slot,
                    var: var.clone(),
                });
            }
        }
    }
}

/// Which slots of a function stay.
struct Plan {
    context: Vec<Fate>,
    params: Vec<Fate>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

impl Plan {
    fn keep(function: &Function) -> Plan {
        Plan {
            context: vec![Fate::Stays; function.context.len()],
            params: vec![Fate::Stays; function.params.len()],
        }
    }

    fn of(function: &Function, live: &HashSet<Var>) -> Plan {
        let fate = |var: &Var| match live.contains(var) {
            true => Fate::Stays,
            false => Fate::Goes,
        };
        Plan {
            context: function.context.iter().map(fate).collect(),
            params: function.params.iter().map(|param| fate(&param.var)).collect(),
        }
    }

    fn changes_nothing(&self) -> bool {
        let mut fates = self.context.iter().chain(&self.params);
        fates.all(|fate| *fate == Fate::Stays)
    }

    fn apply(&self, function: &mut Function) {
        keep(&mut function.context, &self.context);
        keep(&mut function.params, &self.params);
    }
}

fn keep<T>(slots: &mut Vec<T>, fates: &[Fate]) {
    let mut fates = fates.iter();
    slots.retain(|_| fates.next() != Some(&Fate::Goes));
}

/// Calls pass what is left.
struct Calls<'p>(&'p [Plan]);

impl WalkMut for Calls<'_> {
    fn exp(&mut self, exp: &mut Exp) {
        if let Exp::Call {
            function,
            context,
            args,
        } = exp
            && let Some(plan) = self.0.get(function.0 as usize)
        {
            keep(context, &plan.context);
            keep(args, &plan.params);
        }
        walk_exp_mut(self, exp);
    }
}
