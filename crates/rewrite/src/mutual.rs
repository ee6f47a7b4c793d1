//! Mutual recursion: functions that call each other on recursive data become one that calls itself, and others that do not come back.
//!
//! ```text
//! fun tree (t: T): i32 =                             fun tree (t: T): i32 = … forest (f) …
//!   … forest (f) …
//! fun forest (f: F): i32 =                   =>      fun forest (f: F): i32 =
//!   case f of                                          case f of
//!   | Grow (t: T, rest: F) ->                          | Grow (t: T, rest: F) ->
//!     tree (t) … forest (rest) …                         the body of tree … forest (rest) …
//! ```
//!
//! A function that does not call itself is put into those that call it on the way around; then it is no longer on the way. Of several the one with the fewest
//! calls goes first. What is left calls itself, as `lists` and `trees` want it.
//!
//! Removes: mutual recursion over recursive data. Introduces: copies of bodies. Guarantees: names stay unique.

use crate::call_graph::CallGraph;
use crate::facts::callees_of_exp;
use crate::inlining::splice;
use crate::recursions::{kind_of, side_effect};
use crate::{Log, Pass};
use almach_core::typing::Supply;
use almach_core::visit::{Walk, WalkMut, fresh_function, walk_body, walk_stmt_mut};
use almach_core::{Body, Exp, FunId, Function, Program, Stmt, Type};

pub const PASS: Pass = Pass {
    name: "mutual",
    description: "makes functions that call each other on recursive data ones that call themselves",
    run,
};

/// How many statements a body may have that is put elsewhere, counting each place.
const MOST_STATEMENTS: usize = 200;

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut supply = Supply::starting_at(program.next_var);
    // Each time there is one function less that is called on the way around.
    for _ in 0..program.functions.len() {
        let Some((id, callers)) = next(&program) else {
            break;
        };
        let Some(function) = program.functions.get(id.0 as usize).cloned() else {
            break;
        };
        for caller in callers {
            if let Some(caller) = program.functions.get_mut(caller.0 as usize) {
                let mut put = Put {
                    id,
                    function: &function,
                    supply: &mut supply,
                };
                put.body(&mut caller.body);
            }
        }
    }
    program.next_var = supply.next_var();
    program
}

/// A function to put into its callers, and those of them that it calls.
fn next(program: &Program) -> Option<(FunId, Vec<FunId>)> {
    let graph = CallGraph::of(program);
    let all = (0u32..).map(FunId).zip(&program.functions);
    let found = all.filter_map(|(id, function)| {
        if graph.callees(id).contains(&id) || !graph.is_recursive(id) || !takes_datum(program, function) {
            return None;
        }
        let callers = (0u32..).map(FunId).zip(&program.functions);
        let callers = callers.filter(|(caller, _)| graph.call_each_other(id, *caller));
        let callers: Vec<(FunId, usize)> = callers
            .map(|(caller, function)| (caller, calls(&function.body, id)))
            .filter(|(_, calls)| *calls > 0)
            .collect();
        let places: usize = callers.iter().map(|(_, calls)| calls).sum();
        let fits = places * statements(&function.body) <= MOST_STATEMENTS;
        let callers = callers.into_iter().map(|(caller, _)| caller).collect();
        (fits && side_effect(program, id).is_none()).then_some((places, id, callers))
    });
    let (_, id, callers) = found.min_by_key(|(places, ..)| *places)?;
    Some((id, callers))
}

fn takes_datum(program: &Program, function: &Function) -> bool {
    let mut types = function.params.iter().map(|param| &param.ty);
    types.any(|ty| matches!(ty, Type::Data(id) if kind_of(program, *id).is_some()))
}

/// How many statements call a function.
fn calls(body: &Body, id: FunId) -> usize {
    count(
        body,
        &|stmt| matches!(&stmt.exp, Exp::Call { function, .. } if *function == id),
    )
}

fn statements(body: &Body) -> usize {
    count(body, &|_| true)
}

fn count(body: &Body, wanted: &dyn Fn(&Stmt) -> bool) -> usize {
    struct Counter<'w> {
        wanted: &'w dyn Fn(&Stmt) -> bool,
        found: usize,
    }
    impl Walk for Counter<'_> {
        fn body(&mut self, body: &Body) {
            self.found += body.stmts.iter().filter(|stmt| (self.wanted)(stmt)).count();
            walk_body(self, body);
        }
    }
    let mut counter = Counter { wanted, found: 0 };
    counter.body(body);
    counter.found
}

/// Puts a function where it is called.
struct Put<'p> {
    id: FunId,
    function: &'p Function,
    supply: &'p mut Supply,
}

impl WalkMut for Put<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            match &stmt.exp {
                Exp::Call { function, .. } if *function == self.id => {
                    let copy = fresh_function(self.function, self.supply);
                    splice(copy, stmt, &mut stmts);
                }
                exp if callees_of_exp(exp).contains(&self.id) => {
                    walk_stmt_mut(self, &mut stmt);
                    stmts.push(stmt);
                }
                _ => stmts.push(stmt),
            }
        }
        body.stmts = stmts;
    }
}
