//! Nests of several plausible shapes: which one runs is asked of the sizes when the program runs.
//!
//! ```text
//! let ys: [n]f32 = map (\(xs: [m]f32): f32 ->      let few = n * 16384 < m
//!   let y = reduce (+) 0.0 xs                   =>   let ys: [n]f32 = if few
//!   in y) xss                                         then map@seq (\xs -> … reduce (+) 0.0 xs, by all threads …) xss
//!                                                     else map@par (\xs -> … reduce (+) 0.0 xs, by one …) xss
//! ```
//!
//! Where rows are many, threads share them, and nothing is started for each. Where rows are few and long, some threads would have one row more than others,
//! or none: then rows are done one after the other, each by all threads. Starting threads once for every row must be little beside
//! a row, and matters the more the more rows there are: so the row has to have so many elements for each row that there is.
//!
//! Only for what is not shared evenly whatever the sizes are: products, columns and transpositions have tiles of their own. Rows with lengths of their own
//! are asked one by one ([`long_rows`](mod@crate::long_rows)).
//!
//! Introduces: a test of sizes, and the operation twice. Guarantees: grouping depends on sizes alone.

use crate::{Around, Choice, Chooser, Machine, Topic};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::{Walk, fresh_lambda};
use almach_core::{Arm, Atom, Body, Dim, Exp, Op, Pattern, ResultType, Size, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;
use almach_value::BinOp;
use std::collections::HashSet;

/// So many elements a row has for each row that there is, where all threads share it.
const ELEMENTS: [i64; 4] = [1 << 14, 1 << 11, 1 << 17, 1 << 20];

/// As many rows as are shared evenly enough by any processor.
const MANY: i64 = 1 << 10;

/// A nest, and what is asked.
pub(crate) struct Nest {
    rows: Size,
    /// What one row is worth, in elements.
    work: Size,
    elements: i64,
}

impl Chooser {
    /// The operation, where two shapes are plausible.
    pub(crate) fn nest(&self, stmt: &Stmt, op: &Op, around: Around) -> Option<Nest> {
        let (Prim::Map, [function], false) = (op.prim, op.functions.as_slice(), is_fixed(op)) else {
            return None;
        };
        let is_free = self.machine == Machine::Threads && around == Around::Nothing;
        let is_regular = function.context.is_empty() && function.result.context.is_empty();
        if !is_free || !is_regular || self.facts.holds_fixed(&stmt.exp) || self.facts.prints(&stmt.exp) {
            return None;
        }
        let rows = op.args.iter().find_map(|array| self.array_type(array))?.0;
        if rows.as_constant().is_some_and(|rows| rows >= MANY) {
            return None;
        }
        let mut own = Own(HashSet::new());
        own.lambda(function);
        let work = self.shared_work(&function.body, &own.0)?;
        let answer = self.ask(stmt.span, Topic::Nests, ELEMENTS.len() as u32 + 1);
        // The last answer is that rows are never shared.
        let elements = *ELEMENTS.get(answer as usize)?;
        let is_short = work.as_constant().is_some_and(|work| work <= elements);
        (!is_short).then_some(Nest { rows, work, elements })
    }

    /// How many elements all threads could share in a body, if they are not `own` to an iteration: of the first operation whose iterations are combined.
    fn shared_work(&self, body: &Body, own: &HashSet<Var>) -> Option<Size> {
        body.stmts.iter().find_map(|stmt| match &stmt.exp {
            Exp::Op(op) => self.shared_work_of(op, own),
            Exp::If { then, otherwise, .. } => self
                .shared_work(then, own)
                .or_else(|| self.shared_work(otherwise, own)),
            Exp::Case { arms, default, .. } => {
                let mut arms = arms.iter();
                let of_arm = arms.find_map(|Arm { body, .. }| self.shared_work(body, own));
                of_arm.or_else(|| default.as_ref().and_then(|body| self.shared_work(body, own)))
            }
            Exp::Loop(looped) => self.shared_work(&looped.body, own),
            _ => None,
        })
    }

    fn shared_work_of(&self, op: &Op, own: &HashSet<Var>) -> Option<Size> {
        let mut sizes = op
            .args
            .iter()
            .filter_map(|array| match self.facts.env.atom_type(array) {
                Ok(Type::Array(Dim::Size(size), _)) => Some(size),
                _ => None,
            });
        let size = sizes.find(|size| !size.free_vars().any(|var| own.contains(var)));
        match op.prim {
            Prim::Reduce | Prim::ReduceComm | Prim::Scan | Prim::ScanExclusive | Prim::ReduceByIndex => size,
            Prim::Map => {
                let inside = self.shared_work(&op.functions.first()?.body, own)?;
                Some(&inside * &size?)
            }
            _ => None,
        }
    }

    /// Both shapes, behind a test of the sizes.
    pub(crate) fn by_sizes(&mut self, stmt: &Stmt, op: &Op, nest: &Nest, around: Around) -> Typed<()> {
        let span = stmt.span;
        let rows = self.builder.size_atom(&nest.rows, span)?;
        let work = self.builder.size_atom(&nest.work, span)?;
        let worth = self.arithmetic(BinOp::Mul, rows, crate::write::int(nest.elements), "worth", span)?;
        let few = self.arithmetic(BinOp::Lt, worth, work, "few", span)?;
        self.decide(
            span,
            op.prim,
            Choice::BySizes(nest.elements),
            "how many rows there are, and how long they are, is known when it runs",
        );
        let then = self.in_turn(op, span)?;
        self.builder.enter();
        let pattern = self.fresh_pattern(&stmt.pattern);
        let copy = Stmt {
            pattern: pattern.clone(),
            ..stmt.clone()
        };
        self.one_each(&copy, op, around)?;
        let values = pattern.values.into_iter().map(|value| Atom::Var(value.var));
        let otherwise = self.builder.leave(Vec::new(), values.collect());
        let types = stmt.pattern.values.iter().map(|value| value.ty.clone());
        let choice = Exp::If {
            condition: few,
            then,
            otherwise,
            result: ResultType {
                context: Vec::new(),
                types: types.collect(),
            },
        };
        self.builder.push(stmt.pattern.clone(), choice, span);
        Ok(())
    }

    /// One row after the other, each by all threads.
    fn in_turn(&mut self, op: &Op, span: Span) -> Typed<Body> {
        let mut chosen = self.at(op, Level::Seq)?;
        for function in &mut chosen.functions {
            *function = fresh_lambda(function, &mut self.builder.supply);
        }
        self.builder.enter();
        let pattern = self.builder.bind_all(Exp::Op(chosen), &["rows".into()], span)?;
        let values = pattern.values.into_iter().map(|value| Atom::Var(value.var));
        Ok(self.builder.leave(Vec::new(), values.collect()))
    }

    fn fresh_pattern(&mut self, pattern: &Pattern) -> Pattern {
        let mut fresh = pattern.clone();
        for value in &mut fresh.values {
            value.var = self.builder.fresh("rows");
        }
        fresh
    }
}

/// What a function binds.
struct Own(HashSet<Var>);

impl Walk for Own {
    fn binder(&mut self, var: &Var) {
        self.0.insert(var.clone());
    }
}
