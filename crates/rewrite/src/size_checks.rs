//! Size checks move to what a map reads: a check between two maps would keep them from being fused.
//!
//! ```text
//! let ys: [m]f32 = map (\(x: f32): f32 ->       let x: [n]f32 = xs :> [n]f32
//!   let a: f32 = x * 2.0f32                 =>  let zs: [n]f32 = map (\(x: f32): f32 ->
//!   in a) xs                                      let a: f32 = x * 2.0f32
//! let zs: [n]f32 = ys :> [n]f32                   in a) x
//! ```
//!
//! Programs of NOVA have many: their vectors carry no sizes, so that most sizes are compared when the program runs.
//!
//! Removes: checks of what a map or `gather` makes. Introduces: checks of what it reads. Guarantees: fixed operations, and what
//! prints, stay; a check that fails still fails, before the map's function is applied to any element.

use crate::facts::{Facts, is_fixed};
use crate::{Log, Pass};
use almach_core::typing::Supply;
use almach_core::visit::{UseCounts, WalkMut, walk_stmt_mut};
use almach_core::{Atom, Body, Dim, Exp, Op, Param, Pattern, Program, Size, Stmt, Type, Var};
use almach_prim::Prim;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "size-checks",
    description: "checks the sizes of what a map reads instead of what it makes",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let facts = Facts::of(&program);
    let mut supply = Supply::starting_at(program.next_var);
    for function in &mut program.functions {
        let uses = UseCounts::of_function(function);
        let mut mover = Mover {
            facts: &facts,
            supply: &mut supply,
            uses,
        };
        mover.body(&mut function.body);
    }
    program.next_var = supply.next_var();
    program
}

struct Mover<'a> {
    facts: &'a Facts,
    supply: &'a mut Supply,
    uses: UseCounts,
}

impl WalkMut for Mover<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut placed = Placed::default();
        for mut stmt in std::mem::take(&mut body.stmts) {
            walk_stmt_mut(self, &mut stmt);
            self.place(stmt, &mut placed);
        }
        body.stmts = placed.stmts.into_iter().flatten().collect();
    }
}

/// The statements of a body so far.
#[derive(Default)]
struct Placed {
    stmts: Vec<Option<Stmt>>,
    made_by: HashMap<Var, usize>,
}

impl Placed {
    fn push(&mut self, stmt: Stmt) {
        for value in &stmt.pattern.values {
            self.made_by.insert(value.var.clone(), self.stmts.len());
        }
        self.stmts.push(Some(stmt));
    }
}

impl Mover<'_> {
    fn place(&mut self, stmt: Stmt, placed: &mut Placed) {
        let Some((at, checks, map)) = self.moved(&stmt, placed) else {
            return placed.push(stmt);
        };
        if let Some(slot) = placed.stmts.get_mut(at) {
            *slot = None;
        }
        for check in checks {
            // What the map reads may come from a map as well.
            self.place(check, placed);
        }
        placed.push(map);
    }

    /// The checks and the map that take the place of a check and of the map before it, and where that map stands.
    fn moved(&mut self, stmt: &Stmt, placed: &Placed) -> Option<(usize, Vec<Stmt>, Stmt)> {
        let Exp::Coerce {
            value: Atom::Var(checked),
            to,
        } = &stmt.exp
        else {
            return None;
        };
        let at = *placed.made_by.get(checked)?;
        let made = placed.stmts.get(at)?.as_ref()?;
        let Exp::Op(op) = &made.exp else { return None };
        let one_value = made.pattern.values.len() == 1 && made.pattern.context.is_empty();
        if !one_value || self.uses.of(checked) != 1 || is_fixed(op) || self.facts.prints(&made.exp) {
            return None;
        }
        let wanted = self.only_outer_size(checked, to)?;
        let read = match op.prim {
            Prim::Map => op.args.len(),
            // The indices; what is gathered from has a size of its own.
            Prim::Gather => 1,
            _ => return None,
        };
        let mut checks = Vec::new();
        let mut args = op.args.clone();
        for arg in args.iter_mut().take(read) {
            let check = self.check_of(arg, &wanted, stmt)?;
            if let Some(param) = check.pattern.values.first() {
                *arg = Atom::Var(param.var.clone());
            }
            checks.push(check);
        }
        let map = Stmt {
            pattern: stmt.pattern.clone(),
            exp: Exp::Op(Op { args, ..op.clone() }),
            span: made.span,
        };
        Some((at, checks, map))
    }

    /// The size to check where nothing else of the type changes.
    fn only_outer_size(&self, checked: &Var, to: &Type) -> Option<Size> {
        match (self.facts.env.var_type(checked)?, to) {
            (Type::Array(Dim::Size(_), from), Type::Array(Dim::Size(wanted), element))
                if self.facts.env.same_type(from, element) =>
            {
                Some(wanted.clone())
            }
            _ => None,
        }
    }

    fn check_of(&mut self, array: &Atom, wanted: &Size, check: &Stmt) -> Option<Stmt> {
        let Atom::Var(var) = array else { return None };
        let Type::Array(Dim::Size(_), element) = self.facts.env.var_type(var)?.clone() else {
            return None;
        };
        let ty = Type::Array(Dim::Size(wanted.clone()), element);
        Some(Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values: vec![Param {
                    var: self.supply.like(var),
                    ty: ty.clone(),
                }],
            },
            exp: Exp::Coerce {
                value: array.clone(),
                to: ty,
            },
            span: check.span,
        })
    }
}
