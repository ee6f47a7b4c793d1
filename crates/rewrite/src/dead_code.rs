//! Dead code: statements, results and functions that nothing needs go.
//!
//! ```text
//! let u: i32 = x / y
//! let <a: i32, b: i32> = if c: <i32, i32> then <x, y> else <y, x>   =>   let a: i32 = if c: i32 then x else y
//! in a                                                                    in a
//! ```
//!
//! The errors of dead code go with it (design, section 1). What must stay: assertions, since they guard what follows
//! them, arrays made of a size that is still used and may be negative, and whatever prints. An array of a `map` that its function does not use goes too, as long as one is left to tell the size.
//!
//! Parameters that recursive calls only pass on go ([`parameters`]).
//!
//! A size whose arrays are all gone becomes a result like any other: `let {n} = if c …` is `let n: i64 = if c …`.
//!
//! Removes: dead statements, results of branches, loops and maps, arguments of maps, functions and their parameters. Introduces: nothing.
//! Guarantees: everything left is used, prints, or asserts.

mod parameters;
mod prune;
mod vouching;

use crate::facts::{Facts, callees, redirect_calls};
use crate::{Log, Pass};
use almach_core::visit::{Walk, walk_function, walk_lambda, walk_stmt};
use almach_core::{Atom, Body, Exp, FunId, Lambda, LoopForm, Pattern, Program, ResultType, Stmt, Type, Var};
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "dead-code",
    description: "removes what nothing needs",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    remove_functions(&mut program);
    parameters::run(&mut program);
    let facts = Facts::of(&program);
    for function in &mut program.functions {
        let mut sizes = Sizes(function.context.iter().cloned().collect());
        walk_function(&mut sizes, function);
        let mut live = Live {
            facts: &facts,
            sizes: sizes.0,
            vars: HashSet::new(),
        };
        live.mark_result(&function.result);
        live.body(&mut function.body);
    }
    program
}

/// Variables that are needed. Names are unique and uses follow binders, so walking backwards meets all uses of a
/// variable before its binder.
struct Live<'f> {
    facts: &'f Facts,
    /// Sizes of arrays that exist.
    sizes: HashSet<Var>,
    vars: HashSet<Var>,
}

/// Finds the sizes that contexts bind: those of arrays, and so never negative.
struct Sizes(HashSet<Var>);

impl Walk for Sizes {
    fn stmt(&mut self, stmt: &Stmt) {
        self.0.extend(stmt.pattern.context.iter().cloned());
        walk_stmt(self, stmt);
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.0.extend(lambda.context.iter().cloned());
        walk_lambda(self, lambda);
    }
}

impl Live<'_> {
    fn mark(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.vars.insert(var.clone());
        }
    }

    fn mark_all(&mut self, atoms: &[Atom]) {
        atoms.iter().for_each(|atom| self.mark(atom));
    }

    fn mark_type(&mut self, ty: &Type) {
        ty.for_each_size_var(&mut |var| {
            self.vars.insert(var.clone());
        });
    }

    fn mark_result(&mut self, result: &ResultType) {
        result.types.iter().for_each(|ty| self.mark_type(ty));
    }

    fn body(&mut self, body: &mut Body) {
        self.mark_all(&body.context);
        self.mark_all(&body.values);
        let mut kept = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts).into_iter().rev() {
            if self.stmt(&mut stmt) {
                kept.push(stmt);
            }
        }
        kept.reverse();
        body.stmts = kept;
    }

    fn binds_live(&self, pattern: &Pattern) -> bool {
        pattern.context.iter().any(|var| self.vars.contains(var))
            || pattern.values.iter().any(|value| self.vars.contains(&value.var))
    }

    /// Whether the statement stays; what is dead inside it goes.
    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        let stays = self.binds_live(&stmt.pattern)
            || matches!(stmt.exp, Exp::Assert { .. })
            || self.facts.prints(&stmt.exp)
            || self.vouches_for_size(stmt);
        if !stays {
            return false;
        }
        self.prune(stmt);
        for value in &stmt.pattern.values {
            self.mark_type(&value.ty);
        }
        self.inside(&mut stmt.exp);
        true
    }

    /// Marks what the expression uses, its bodies last statement first.
    fn inside(&mut self, exp: &mut Exp) {
        match exp {
            Exp::If {
                then,
                otherwise,
                result,
                ..
            } => {
                self.body(then);
                self.body(otherwise);
                self.mark_result(result);
            }
            Exp::Case {
                arms,
                default,
                result,
                ..
            } => {
                for arm in arms {
                    self.body(&mut arm.body);
                    arm.fields.iter().for_each(|field| self.mark_type(&field.ty));
                }
                if let Some(body) = default {
                    self.body(body);
                }
                self.mark_result(result);
            }
            Exp::Loop(looped) => {
                self.body(&mut looped.body);
                if let LoopForm::While(condition) = &mut looped.form {
                    self.body(condition);
                }
                looped
                    .params
                    .iter()
                    .for_each(|(param, _)| self.mark_type(&param.ty));
            }
            Exp::Op(op) => {
                op.functions.iter_mut().for_each(|function| self.lambda(function));
                prune::map_arguments(op);
            }
            _ => {}
        }
        let mut operands = Operands(self);
        operands.exp(exp);
    }

    fn lambda(&mut self, lambda: &mut Lambda) {
        self.body(&mut lambda.body);
        self.mark_result(&lambda.result);
        lambda.params.iter().for_each(|param| self.mark_type(&param.ty));
    }
}

/// Marks the operands of one expression, not those of its bodies.
struct Operands<'l, 'f>(&'l mut Live<'f>);

impl Walk for Operands<'_, '_> {
    fn atom(&mut self, atom: &Atom) {
        self.0.mark(atom);
    }

    fn ty(&mut self, ty: &Type) {
        self.0.mark_type(ty);
    }

    fn body(&mut self, _: &Body) {}
}

/// Keeps the functions that entries reach, and numbers them anew.
fn remove_functions(program: &mut Program) {
    let mut reached: HashSet<FunId> = HashSet::new();
    let mut pending: Vec<FunId> = program.entries.iter().map(|entry| entry.function).collect();
    while let Some(id) = pending.pop() {
        if reached.insert(id)
            && let Some(function) = program.functions.get(id.0 as usize)
        {
            pending.extend(callees(&function.body));
        }
    }
    if reached.len() == program.functions.len() || program.entries.is_empty() {
        return;
    }
    let mut numbers = Vec::with_capacity(program.functions.len());
    let mut kept = 0;
    for id in 0..program.functions.len() as u32 {
        let stays = reached.contains(&FunId(id));
        numbers.push(stays.then_some(FunId(kept)));
        kept += u32::from(stays);
    }
    let mut id = 0;
    program.functions.retain(|_| {
        id += 1;
        reached.contains(&FunId(id - 1))
    });
    let renumbered = |id: FunId| numbers.get(id.0 as usize).copied().flatten().unwrap_or(id);
    for entry in &mut program.entries {
        entry.function = renumbered(entry.function);
    }
    for function in &mut program.functions {
        redirect_calls(function, &renumbered);
    }
}
