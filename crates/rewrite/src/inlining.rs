//! Inlining: a call becomes the body of the function it calls.
//!
//! ```text
//! fun sq (x: f32): f32 =                      fun main (a: f32): f32 =
//!   let y: f32 = x * x                          let y: f32 = a * a
//!   in y                                    =>  let b: f32 = y
//! fun main (a: f32): f32 =                      in b
//!   let b: f32 = sq (a)
//!   in b
//! ```
//!
//! It stands first: every other pass sees more in one body. Functions are worked on callees first, so a body that is
//! copied has its own calls inlined already. Recursive functions stay.
//!
//! The sizes that a function is given are never negative, and its types may rely on that: `slide 3 1 c` of a `c: [n + 2]t` has `n` windows. Where
//! a call gives a size like `m - 2`, which may be negative for all that is known there, such a function stays too: the array that
//! shows otherwise is of no use inside, and may go.
//!
//! Removes: calls. Introduces: copies, for copy propagation. Guarantees: names stay unique.

use crate::call_graph::recursive_functions;
use crate::facts::{Facts, callees, callees_first, size_of_body};
use crate::{Log, Pass};
use almach_core::typing::Supply;
use almach_core::visit::{Walk, WalkMut, fresh_function, walk_stmt, walk_stmt_mut};
use almach_core::{Atom, Body, Exp, FunId, Function, Param, Pattern, Program, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::BinOp;

/// Functions of at most this many statements are inlined wherever they are called.
const SMALL: usize = 40;

/// A program is not made larger than this many statements.
const MAX_STATEMENTS: usize = 200_000;

pub const PASS: Pass = Pass {
    name: "inlining",
    description: "inlines functions that are small or called once",
    run,
};

pub const ALL: Pass = Pass {
    name: "inlining-all",
    description: "inlines every function that is not recursive",
    run: run_all,
};

pub fn run(program: Program, log: &mut Log) -> Program {
    inline(program, log, is_wanted)
}

pub fn run_all(program: Program, log: &mut Log) -> Program {
    inline(program, log, |_| true)
}

fn is_wanted(use_: &Use) -> bool {
    use_.size <= SMALL || use_.calls == 1
}

/// What decides whether a function is inlined.
struct Use {
    size: usize,
    calls: usize,
}

fn inline(mut program: Program, log: &mut Log, wanted: impl Fn(&Use) -> bool) -> Program {
    let recursive = recursive_functions(&program);
    let mut calls = vec![0; program.functions.len()];
    for function in &program.functions {
        for callee in callees(&function.body) {
            if let Some(count) = calls.get_mut(callee.0 as usize) {
                *count += 1;
            }
        }
    }
    let mut inliner = Inliner {
        supply: Supply::starting_at(program.next_var),
        facts: Facts::of(&program),
        templates: vec![None; program.functions.len()],
        total: program.functions.iter().map(|f| size_of_body(&f.body)).sum(),
    };
    for id in callees_first(&program) {
        let at = id.0 as usize;
        let Some(function) = program.functions.get_mut(at) else {
            continue;
        };
        inliner.body(&mut function.body);
        let size = size_of_body(&function.body);
        let calls = calls.get(at).copied().unwrap_or(0);
        let is_recursive = recursive.get(at).copied().unwrap_or(true);
        if !is_recursive && wanted(&Use { size, calls }) {
            if calls > 0 {
                log.note(
                    function.span,
                    format!("`{}` is inlined where it is called", function.name),
                );
            }
            if let Some(template) = inliner.templates.get_mut(at) {
                *template = Some(Template {
                    function: function.clone(),
                    size,
                    types: Types::of(&function.body),
                });
            }
        }
    }
    program.next_var = inliner.supply.next_var();
    program
}

struct Inliner {
    supply: Supply,
    /// About the program before.
    facts: Facts,
    templates: Vec<Option<Template>>,
    total: usize,
}

/// A function to inline.
#[derive(Clone)]
struct Template {
    function: Function,
    size: usize,
    types: Types,
}

/// What the types in a function are made with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    Any,
    /// That its sizes are not negative.
    NaturalSizes,
}

impl Types {
    fn of(body: &Body) -> Types {
        struct Finder(Types);
        impl Walk for Finder {
            fn stmt(&mut self, stmt: &Stmt) {
                let relies = match &stmt.exp {
                    Exp::Op(op) => op.prim == Prim::Slide && stmt.pattern.context.is_empty(),
                    // A quotient rounds down where nothing is negative.
                    Exp::Binary(BinOp::Div, ..) => {
                        stmt.pattern.values.iter().any(|value| value.ty == Type::I64)
                    }
                    _ => false,
                };
                if relies {
                    self.0 = Types::NaturalSizes;
                }
                walk_stmt(self, stmt);
            }
        }
        let mut finder = Finder(Types::Any);
        finder.body(body);
        finder.0
    }
}

impl WalkMut for Inliner {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            match self.copy_of(&stmt.exp) {
                Some(copy) => splice(copy, stmt, &mut stmts),
                None => {
                    walk_stmt_mut(self, &mut stmt);
                    stmts.push(stmt);
                }
            }
        }
        body.stmts = stmts;
    }
}

impl Inliner {
    /// A copy of the function an expression calls, with names of its own.
    fn copy_of(&mut self, exp: &Exp) -> Option<Function> {
        let Exp::Call {
            function: FunId(id),
            context,
            ..
        } = exp
        else {
            return None;
        };
        let template = self.templates.get(*id as usize)?.as_ref()?;
        let may_be_negative = |size: &Atom| {
            let known = self.facts.env.size(size);
            !known.is_ok_and(|size| self.facts.env.is_not_negative(&size))
        };
        if self.total + template.size > MAX_STATEMENTS
            || template.types == Types::NaturalSizes && context.iter().any(may_be_negative)
        {
            return None;
        }
        self.total += template.size;
        Some(fresh_function(&template.function, &mut self.supply))
    }
}

/// Parameters are bound to arguments, then the body runs, then its results are bound to the pattern.
pub(crate) fn splice(function: Function, stmt: Stmt, out: &mut Vec<Stmt>) {
    let Stmt { pattern, exp, span } = stmt;
    let Exp::Call { context, args, .. } = exp else {
        return;
    };
    let mut copy = |value: Param, atom: Atom| out.push(bound(value, atom, span));
    for (var, atom) in function.context.into_iter().zip(context) {
        copy(size(var), atom);
    }
    // Parameters that others' types mention come first.
    let (sizes, others): (Vec<_>, Vec<_>) = function
        .params
        .into_iter()
        .zip(args)
        .partition(|(param, _)| param.ty == Type::I64);
    for (param, atom) in sizes.into_iter().chain(others) {
        copy(param, atom);
    }
    let body = function.body;
    out.extend(body.stmts);
    for (var, atom) in pattern.context.into_iter().zip(body.context) {
        out.push(bound(size(var), atom, span));
    }
    for (value, atom) in pattern.values.into_iter().zip(body.values) {
        out.push(bound(value, atom, span));
    }
}

fn size(var: Var) -> Param {
    Param { var, ty: Type::I64 }
}

fn bound(value: Param, atom: Atom, span: almach_base::Span) -> Stmt {
    Stmt {
        pattern: Pattern {
            context: Vec::new(),
            values: vec![value],
        },
        exp: Exp::Atom(atom),
        span,
    }
}
