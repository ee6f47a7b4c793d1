//! Flattening: what a `map` does inside of rows of their own sizes is done to all elements at once (NOVA, section 5.1).
//!
//! ```text
//! let yss: [n][?]f32 = map (\{k} (row: [k]f32): {m} [m]f32 ->     let {t} flat: [t]f32 = flatten xss
//!   let ys: [k]f32 = map f row                                =>  let offsets: [n + 1]i64 = segments xss
//!   in {k} ys) xss                                                let made: [t]f32 = map f flat
//!                                                                 let yss: [n][?]f32 = unflatten offsets made
//! ```
//!
//! | inside of the rows | file | what becomes of it |
//! | --- | --- | --- |
//! | `map f row` | `maps` | one `map` of all elements; the rows are where they were |
//! | `filter p row` | `filters` | one `filter` of all elements; a count per row tells where the rows are |
//! | `scan f e row` | `scans` | one `scan_rows`, which starts again with each row |
//! | `scan f e (map g row)` | `scans` | two maps over rows, each as above; the first is computed where the second reads it |
//!
//! Rows that a function gives are otherwise computed in order, one behind the other, since nobody knows where one begins before those in front
//! of it are done. Here every element has its place, so threads share elements and not rows: it does not matter how long the rows are. Rows of
//! rows take one step per level. Where rows are only reduced nothing is flattened: threads share the rows as they are.
//!
//! The function must not depend on the row it is in. Rows inside of functions over elements stay as they are: what is around them is parallel already.
//!
//! Removes: maps whose function gives rows. Introduces: `flatten`, `segments`, `unflatten`. Guarantees: each function is applied to the same
//! elements in the same order; fixed operations stay.

mod filters;
mod maps;
mod scans;

use crate::facts::Facts;
use crate::{Log, Pass};
use almach_base::Span;
use almach_core::build::Builder;
use almach_core::visit::{Vars, WalkMut, walk_exp_mut};
use almach_core::{Atom, Body, Dim, Exp, Function, Lambda, Op, Param, Program, ResultType, Stmt, Type, Var};
use almach_prim::{Annotation, Prim};
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "flattening",
    description: "maps, filters and scans rows of their own sizes as one array of all elements",
    run,
};

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let mut flattener = Flattener {
        facts: Facts::of(&program),
        builder: Builder::for_program(&program),
        flat: HashMap::new(),
        log,
    };
    for function in &mut program.functions {
        flattener.body(&mut function.body);
    }
    program.next_var = flattener.builder.supply.next_var();
    program
}

struct Flattener<'a> {
    facts: Facts,
    builder: Builder,
    /// The offsets and the elements that jagged arrays were made of.
    flat: HashMap<Var, (Atom, Atom)>,
    log: &'a mut Log,
}

/// A `map` over rows whose function is one operation on the row.
struct OverRows<'a> {
    rows: &'a Atom,
    /// What the function is given.
    row: &'a Param,
    /// The operation on the row, with one function that does not depend on it.
    inner: &'a Op,
    element: &'a Lambda,
    span: Span,
}

impl WalkMut for Flattener<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut waiting: Vec<Stmt> = std::mem::take(&mut body.stmts);
        waiting.reverse();
        while let Some(mut stmt) = waiting.pop() {
            if let Some(made) = self.flattened(&stmt) {
                // A map of rows of rows is a map of rows now.
                waiting.extend(made.into_iter().rev());
                continue;
            }
            if !matches!(stmt.exp, Exp::Op(_)) {
                walk_exp_mut(self, &mut stmt.exp);
            }
            if let (Exp::Op(op), [value]) = (&stmt.exp, stmt.pattern.values.as_slice())
                && let (Prim::Unflatten, [offsets, elements]) = (op.prim, op.args.as_slice())
            {
                let parts = (offsets.clone(), elements.clone());
                self.flat.insert(value.var.clone(), parts);
            }
            body.stmts.push(stmt);
        }
    }
}

impl Flattener<'_> {
    /// The statements that a map over rows becomes.
    fn flattened(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        if self.facts.holds_fixed(&stmt.exp) || self.facts.prints(&stmt.exp) {
            return None;
        }
        let Some(over) = self.over_rows(stmt) else {
            return self.in_two(stmt);
        };
        match over.inner.prim {
            Prim::Map => self.built(stmt, |this| this.map_of_map(&over)),
            Prim::Filter if self.counts_cheaply(over.element) => {
                self.built(stmt, |this| this.map_of_filter(&over))
            }
            Prim::Scan | Prim::ScanExclusive => self.built(stmt, |this| this.map_of_scan(&over)),
            _ => None,
        }
    }

    fn over_rows<'s>(&self, stmt: &'s Stmt) -> Option<OverRows<'s>> {
        let Exp::Op(outer) = &stmt.exp else { return None };
        let (Prim::Map, [function], [rows]) = (outer.prim, outer.functions.as_slice(), outer.args.as_slice())
        else {
            return None;
        };
        let Type::Array(Dim::Size(_), element) = self.facts.env.atom_type(rows).ok()? else {
            return None;
        };
        let ([_], [row], [inner], [Atom::Var(given)]) = (
            function.context.as_slice(),
            function.params.as_slice(),
            function.body.stmts.as_slice(),
            function.body.values.as_slice(),
        ) else {
            return None;
        };
        let ([value], Exp::Op(op)) = (inner.pattern.values.as_slice(), &inner.exp) else {
            return None;
        };
        let ([element_function], [others @ .., Atom::Var(array)]) =
            (op.functions.as_slice(), op.args.as_slice())
        else {
            return None;
        };
        // What a scan starts with.
        let takes_others = matches!(op.prim, Prim::Scan | Prim::ScanExclusive);
        let own = |var: &Var| *var == row.var || function.context.contains(var);
        let is_over_rows = matches!(*element, Type::Array(Dim::Jagged, _))
            && value.var == *given
            && row.var == *array
            && (others.is_empty() || takes_others)
            && !others
                .iter()
                .any(|other| matches!(other, Atom::Var(var) if own(var)))
            && !Vars::of_lambda(element_function).free().any(own);
        is_over_rows.then_some(OverRows {
            rows,
            row,
            inner: op,
            element: element_function,
            span: inner.span,
        })
    }

    /// Builds statements in front of the expression that is bound instead; none where that cannot be built.
    fn built(&mut self, stmt: &Stmt, make: impl FnOnce(&mut Self) -> Option<Exp>) -> Option<Vec<Stmt>> {
        std::mem::swap(&mut self.builder.env, &mut self.facts.env);
        self.builder.enter();
        let exp = make(self);
        let mut body = self.builder.leave(Vec::new(), Vec::new());
        body.stmts.extend(exp.map(|exp| Stmt { exp, ..stmt.clone() }));
        let function = Function {
            name: "flattened".into(),
            context: Vec::new(),
            params: Vec::new(),
            result: ResultType::one(Type::I64),
            body,
            span: stmt.span,
        };
        // What functions inside of it bind is new too.
        self.builder.enter_function(&function);
        std::mem::swap(&mut self.builder.env, &mut self.facts.env);
        let stmts = function.body.stmts;
        stmts
            .last()
            .is_some_and(|last| last.pattern == stmt.pattern)
            .then_some(stmts)
    }

    /// All elements of rows, and the offsets of the rows in them.
    fn elements(&mut self, rows: &Atom, span: Span) -> Option<(Atom, Atom)> {
        if let Atom::Var(var) = rows
            && let Some((offsets, elements)) = self.flat.get(var)
        {
            return Some((elements.clone(), offsets.clone()));
        }
        let flat = self.operation(Prim::Flatten, vec![rows.clone()], "flat", span)?;
        let offsets = self.operation(Prim::Segments, vec![rows.clone()], "offsets", span)?;
        Some((flat, offsets))
    }

    fn operation(&mut self, prim: Prim, args: Vec<Atom>, name: &str, span: Span) -> Option<Atom> {
        self.bind(op(prim, Vec::new(), args), name, span)
    }

    fn bind(&mut self, op: Op, name: &str, span: Span) -> Option<Atom> {
        self.builder.bind(Exp::Op(op), name, span).ok()
    }
}

fn op(prim: Prim, functions: Vec<Lambda>, args: Vec<Atom>) -> Op {
    Op {
        prim,
        annotation: Annotation::NONE,
        functions,
        args,
    }
}
