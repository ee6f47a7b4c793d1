//! Operations side by side. Reductions over the same array become one (`reductions`). Maps over the same array that a body gives become one map with several results, so that the array is
//! read once (NOVA, section 5, in the other direction than `fusion`).
//!
//! ```text
//! let ys: [n]f32 = map (\(x: f32): f32 ->          let <ys: [n]f32, zs: [n]f32> = map (\(x: f32): <f32, f32> ->
//!   let a: f32 = x * 2.0f32                          let a: f32 = x * 2.0f32
//!   in a) xs                                     =>  let y: f32 = x
//! let zs: [n]f32 = map (\(y: f32): f32 ->            let b: f32 = y + 1.0f32
//!   let b: f32 = y + 1.0f32                          in <a, b>) xs
//!   in b) xs                                       in <ys, zs>
//! in <ys, zs>
//! ```
//!
//! Only maps whose arrays are results: those are made in any case, while others may vanish in what takes their elements. Their
//! functions are straight lines of scalar operations, so that the one loop runs on lanes as the two did.
//!
//! Removes: maps beside others. Introduces: copies. Guarantees: fixed operations, and what prints, stay; nothing that can fail
//! is moved.

mod reductions;

use crate::facts::Facts;
use crate::{Log, Pass};
use almach_base::Span;
use almach_core::typing::Supply;
use almach_core::visit::{UseCounts, Vars, WalkMut, walk_stmt_mut};
use almach_core::{Atom, Body, Exp, Lambda, Op, Param, Pattern, Program, Stmt, Type};
use almach_prim::Prim;
use reductions::Reductions;

pub const PASS: Pass = Pass {
    name: "horizontal-fusion",
    description: "makes one map of maps, and one reduction of reductions, over the same array",
    run,
};

/// So many arrays are written by one loop: a processor follows few streams of writes.
const MOST_RESULTS: usize = 4;

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let mut facts = Facts::of(&program);
    let mut supply = Supply::starting_at(program.next_var);
    for function in &mut program.functions {
        let uses = UseCounts::of_function(function);
        let mut merger = Merger {
            facts: &mut facts,
            supply: &mut supply,
            uses: &uses,
            log,
        };
        merger.body(&mut function.body);
    }
    program.next_var = supply.next_var();
    program
}

struct Merger<'a> {
    facts: &'a mut Facts,
    supply: &'a mut Supply,
    /// In the function at hand.
    uses: &'a UseCounts,
    log: &'a mut Log,
}

impl WalkMut for Merger<'_> {
    fn body(&mut self, body: &mut Body) {
        let given = body.values.clone();
        let mut stmts: Vec<Stmt> = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            walk_stmt_mut(self, &mut stmt);
            if let Some((at, merged)) = self.merged(&stmt, &stmts, &given)
                && let Some(first) = stmts.get_mut(at)
            {
                self.log
                    .note(stmt.span, "`map` is fused with another `map` over the same array");
                *first = merged;
                continue;
            }
            stmts.push(stmt);
        }
        body.stmts = stmts;
        let mut reductions = Reductions {
            facts: self.facts,
            supply: self.supply,
            uses: self.uses,
        };
        while let Some(span) = reductions.merge_one(body) {
            let text = "reductions over the same array are one reduction of tuples";
            self.log.note(span, text);
        }
    }
}

impl Merger<'_> {
    /// A map that does the work of a statement as well, and the place of the one it takes over.
    fn merged(&self, second: &Stmt, before: &[Stmt], given: &[Atom]) -> Option<(usize, Stmt)> {
        let taken = self.plain_map(second, given)?;
        if self.facts.can_fail(&second.exp) {
            return None;
        }
        let vars = Vars::of_exp(&second.exp);
        for (at, first) in before.iter().enumerate().rev() {
            if let Some(op) = self.plain_map(first, given)
                && op.args.iter().any(|arg| taken.args.contains(arg))
                && first.pattern.values.len() + second.pattern.values.len() <= MOST_RESULTS
                && !vars.free().any(|var| binds(&first.pattern, var))
            {
                return Some((at, joined(first, op, second, taken)?));
            }
            // What the map needs must be there before the one it joins.
            if vars.free().any(|var| binds(&first.pattern, var)) {
                return None;
            }
        }
        None
    }

    /// A map of straight-line scalar code whose arrays are all results.
    fn plain_map<'s>(&self, stmt: &'s Stmt, given: &[Atom]) -> Option<&'s Op> {
        let Exp::Op(op) = &stmt.exp else { return None };
        let [function] = op.functions.as_slice() else {
            return None;
        };
        let is_given = |value: &Param| given.contains(&Atom::Var(value.var.clone()));
        let is_scalar = |ty: &Type| matches!(ty, Type::Scalar(_));
        let fits = op.prim == Prim::Map
            && function.context.is_empty()
            && function.result.context.is_empty()
            && function.params.iter().all(|param| is_scalar(&param.ty))
            && function.result.types.iter().all(is_scalar)
            && function.body.stmts.iter().all(|stmt| is_straight(&stmt.exp))
            && stmt.pattern.values.iter().all(is_given);
        (fits && !self.facts.holds_fixed(&stmt.exp) && !self.facts.prints(&stmt.exp)).then_some(op)
    }
}

fn binds(pattern: &Pattern, var: &almach_core::Var) -> bool {
    pattern.context.contains(var) || pattern.values.iter().any(|value| value.var == *var)
}

/// Scalar operations, and elements of arrays.
fn is_straight(exp: &Exp) -> bool {
    matches!(
        exp,
        Exp::Atom(_) | Exp::Unary(..) | Exp::Binary(..) | Exp::Ternary(..) | Exp::Index { .. }
    )
}

/// Both maps as one. A parameter over an array that the first map has is that map's.
fn joined(first: &Stmt, op: &Op, second: &Stmt, other: &Op) -> Option<Stmt> {
    let ([function], [added]) = (op.functions.as_slice(), other.functions.as_slice()) else {
        return None;
    };
    let mut all: Lambda = function.clone();
    let mut args = op.args.clone();
    for (param, arg) in added.params.iter().zip(&other.args) {
        match args.iter().position(|known| known == arg) {
            Some(at) => {
                let value = Atom::Var(all.params.get(at)?.var.clone());
                all.body.stmts.push(copy(param.clone(), value, second.span));
            }
            None => {
                args.push(arg.clone());
                all.params.push(param.clone());
            }
        }
    }
    all.body.stmts.extend(added.body.stmts.iter().cloned());
    all.body.values.extend(added.body.values.iter().cloned());
    all.result.types.extend(added.result.types.iter().cloned());
    let mut pattern = first.pattern.clone();
    pattern.values.extend(second.pattern.values.iter().cloned());
    Some(Stmt {
        pattern,
        exp: Exp::Op(Op {
            functions: vec![all],
            args,
            ..op.clone()
        }),
        span: first.span,
    })
}

/// `let param = atom`.
fn copy(param: Param, atom: Atom, span: Span) -> Stmt {
    Stmt {
        pattern: Pattern {
            context: Vec::new(),
            values: vec![param],
        },
        exp: Exp::Atom(atom),
        span,
    }
}
