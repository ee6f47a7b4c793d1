//! A level for every operation: the outermost goes to threads, the innermost to the lanes of a processor, the others run in
//! order.
//!
//! ```text
//! let yss = map (\xs ->                    let yss = map@par (\xs ->
//!   let ys = map (\x -> x * 2.0) xs   =>     let ys = map@vec (\x -> x * 2.0) xs
//!   in ys) xss                               in ys) xss
//! ```
//!
//! Introduces: levels. Removes: nothing. Guarantees: every operation that takes a level has one; those that had one keep it.

use crate::bins::Feeds;
use crate::long_rows::row_with_a_place;
use crate::producers::Plan;
use crate::rows::Rows;
use crate::streams::Streams;
use crate::weights::WORTH_THREADS;
use crate::within::reads_within;
use crate::{Around, Choice, Chooser, Decision, Fusion, Machine, Topic, cost};
use almach_base::Span;
use almach_core::build::{enter_loop, enter_params};
use almach_core::typing::Typed;
use almach_core::visit::Walk;
use almach_core::{Arm, Atom, Body, Dim, Exp, Lambda, Loop, LoopForm, Op, Stmt, Type, Var};
use almach_prim::{Effect, Level, Prim, TakesLevel};
use almach_rewrite::facts::is_fixed;
use std::collections::{HashMap, HashSet};

impl Chooser {
    pub(crate) fn body(&mut self, body: &Body, around: Around) -> Typed<Body> {
        let (mut plan, mut views) = (Plan::default(), HashMap::new());
        let (mut streams, mut feeds) = (Streams::default(), Feeds::default());
        if self.fusion == Fusion::On {
            plan = Plan::of(self, body);
            views = self.source_views(body);
            streams = Streams::of(self, body, &plan, &views);
            feeds = Feeds::of(self, body, &views, &streams, around);
        }
        self.builder.enter();
        for (at, stmt) in body.stmts.iter().enumerate() {
            if plan.is_absorbed(at) || streams.is_given(at) || feeds.is_given(at) {
                continue;
            }
            if let Some(givers) = feeds.fed(at) {
                self.fed_histogram(body, at, givers, &plan, around)?;
                continue;
            }
            match views.get(&at) {
                Some(consumer) => self.source_view(stmt, *consumer, around)?,
                None => {
                    if let Some(read) = streams.read_by(at).and_then(|from| body.stmts.get(from)) {
                        self.stream(read, around)?;
                    }
                    self.stmt(body, at, stmt, &plan, around)?;
                }
            }
        }
        Ok(self.builder.leave(body.context.clone(), body.values.clone()))
    }

    pub(crate) fn stmt(
        &mut self,
        body: &Body,
        at: usize,
        stmt: &Stmt,
        plan: &Plan,
        around: Around,
    ) -> Typed<()> {
        let exp = match &stmt.exp {
            Exp::Op(op) if matches!(op.prim, Prim::Reduce | Prim::ReduceComm) && !is_fixed(op) => {
                let producers = plan.producers(at).filter_map(|at| body.stmts.get(at));
                let producers: Vec<&Stmt> = producers.collect();
                return self.reduction(stmt, op, &producers, around);
            }
            Exp::Op(op) => {
                if self.scanned(stmt, op, around)? || self.columns_reduced(stmt, op, around)? {
                    return Ok(());
                }
                if around == Around::Nothing
                    && self.machine == Machine::Device
                    && stmt.pattern.context.is_empty()
                    && let Some(Rows::Of(size)) = self.row_reductions(op)
                    && let Some(worth) = self.worth_a_group(stmt.span)
                {
                    return self.by_length(stmt, op, &size, worth);
                }
                if around != Around::Lane && self.machine != Machine::Device {
                    if let Some(product) = self.product(op, stmt.span) {
                        return self.tiled(stmt, &product, around);
                    }
                    if let Some(nest) = self.column_nest(op)
                        && self.is_usual(stmt.span, Topic::Interchange)
                    {
                        return self.interchanged(stmt, &nest, around);
                    }
                    if let Some(work) = self.transposition(op, stmt.span) {
                        return self.transposed_in_tiles(stmt, &work, around);
                    }
                }
                if let Some(nest) = self.nest(stmt, op, around) {
                    return self.by_sizes(stmt, op, &nest, around);
                }
                return self.one_each(stmt, op, around);
            }
            other => self.control(other, around)?,
        };
        self.builder.push(stmt.pattern.clone(), exp, stmt.span);
        Ok(())
    }

    /// An operation at its level, each iteration as a whole.
    pub(crate) fn one_each(&mut self, stmt: &Stmt, op: &Op, around: Around) -> Typed<()> {
        if let Some(lanes) = self.mapped_abreast(op, stmt.span, around) {
            return self.on_lanes_abreast(stmt, op, lanes, around);
        }
        if let Some(group) = self.masked(op, stmt.span, around) {
            return self.on_masked_lanes(stmt, op, group, around);
        }
        let exp = Exp::Op(self.op(op, stmt.span, around)?);
        if let Exp::Op(op) = &exp
            && op.prim == Prim::Slide
            && op.annotation.effect == Some(Effect::Eager)
        {
            self.windows
                .extend(stmt.pattern.values.iter().map(|value| value.var.clone()));
        }
        self.builder.push(stmt.pattern.clone(), exp, stmt.span);
        Ok(())
    }

    /// Everything but operations: their bodies stand in the same place.
    fn control(&mut self, exp: &Exp, around: Around) -> Typed<Exp> {
        Ok(match exp {
            Exp::If {
                condition,
                then,
                otherwise,
                result,
            } => Exp::If {
                condition: condition.clone(),
                then: self.body(then, around)?,
                otherwise: self.body(otherwise, around)?,
                result: result.clone(),
            },
            Exp::Case {
                scrutinee,
                arms,
                default,
                result,
            } => {
                let mut chosen = Vec::with_capacity(arms.len());
                for arm in arms {
                    enter_params(&mut self.builder.env, &arm.context, &arm.fields);
                    let body = self.body(&arm.body, around)?;
                    chosen.push(Arm { body, ..arm.clone() });
                }
                let default = match default {
                    Some(body) => Some(self.body(body, around)?),
                    None => None,
                };
                Exp::Case {
                    scrutinee: scrutinee.clone(),
                    arms: chosen,
                    default,
                    result: result.clone(),
                }
            }
            Exp::Loop(looped) => Exp::Loop(Box::new(self.looped(looped, around)?)),
            Exp::Call {
                function,
                context,
                args,
            } => Exp::Call {
                function: self.variants.of(*function, around),
                context: context.clone(),
                args: args.clone(),
            },
            other => other.clone(),
        })
    }

    fn looped(&mut self, looped: &Loop, around: Around) -> Typed<Loop> {
        enter_loop(&mut self.builder.env, looped);
        let mut binders = Binders(&mut self.repeated);
        if let LoopForm::For { index, .. } = &looped.form {
            binders.binder(&index.var);
        }
        binders.body(&looped.body);
        let form = match &looped.form {
            LoopForm::While(condition) => LoopForm::While(self.body(condition, around)?),
            counted => counted.clone(),
        };
        Ok(Loop {
            form,
            body: self.body(&looped.body, around)?,
            ..looped.clone()
        })
    }

    pub(crate) fn op(&mut self, op: &Op, span: Span, around: Around) -> Typed<Op> {
        let mut chosen = op.clone();
        if is_fixed(op) {
            self.decide(
                span,
                op.prim,
                Choice::Fixed,
                "its level or effect is written in the program",
            );
            if op.annotation.level.is_none() && takes_level(op) {
                let level = match (op.prim, op.annotation.effect) {
                    (Prim::Map, Some(Effect::Eager)) => self.own_level(op, span, around).0,
                    _ => around.level(),
                };
                let free = self.written.fit_inside(level, op) && !self.rolls(op);
                chosen.annotation.level = Some(match free {
                    true => level,
                    false => Level::Seq,
                });
            }
        } else if takes_level(op) {
            let (level, reason) = self.level(op, span, around);
            chosen.annotation.level = Some(level);
            if !op.functions.is_empty() || matches!(op.prim, Prim::Gather | Prim::Scatter | Prim::Permute) {
                match level == Level::Par && gives_rows(op) {
                    true => self.decide(span, op.prim, Choice::InOrder, IN_ORDER),
                    false => self.decide(span, op.prim, Choice::Level(level), reason),
                }
            }
        }
        if chosen.annotation.chunk.is_none() {
            chosen.annotation.chunk = self.chunk(&chosen, around);
        }
        let inside = match (around.inside(chosen.annotation.level, self.machine), is_fixed(op)) {
            // What the user put into a grid need not be all that its operation does.
            (Around::Nest(_), true) => Around::Lane,
            (inside, _) => inside,
        };
        chosen.functions = op
            .functions
            .iter()
            .map(|function| self.lambda(function, inside))
            .collect::<Typed<_>>()?;
        Ok(chosen)
    }

    /// Whether a window rolls over an array in this operation, from one element to the next (`docs/views.md`).
    fn rolls(&self, op: &Op) -> bool {
        let takes = |arg: &Atom| matches!(arg, Atom::Var(var) if self.windows.contains(var));
        match (op.prim, op.annotation.effect) {
            (Prim::Slide, Some(Effect::Eager)) => true,
            (Prim::Map, Some(Effect::Destination)) => op.args.iter().any(takes),
            _ => false,
        }
    }

    /// The level of an operation without one, and why.
    pub(crate) fn level(&self, op: &Op, span: Span, around: Around) -> (Level, &'static str) {
        match self.own_level(op, span, around) {
            (level, _) if !self.written.fit_inside(level, op) => (
                Level::Seq,
                "the level of an operation inside it is written, and runs on its own",
            ),
            chosen => chosen,
        }
    }

    /// The level that suits the operation itself.
    fn own_level(&self, op: &Op, span: Span, around: Around) -> (Level, &'static str) {
        let simple = |function: &Lambda| {
            cost::is_simple(function, &self.facts) || self.looks_up_constants(function, &op.args)
        };
        let on_lanes = op.prim == Prim::Map && op.functions.iter().all(simple);
        let one_worker = match on_lanes {
            true if self.is_usual(span, Topic::Level) => {
                (Level::Vec, "its function is straight-line code on scalars")
            }
            _ => (Level::Seq, "all threads have other work here"),
        };
        match (around, self.constant_work(op)) {
            (Around::Nothing, Some((size, _))) if size < 16 && holds_parallel(op) => (
                Level::Seq,
                "it has few elements, and what is inside it can use all threads",
            ),
            (Around::Nothing, Some((_, work))) if work < WORTH_THREADS => match on_lanes {
                true => (Level::Vec, "it is too little work for threads"),
                false => (Level::Seq, "it is too little work for threads"),
            },
            (Around::Nothing, _) if self.machine == Machine::Device && op.prim == Prim::ReduceByIndex => {
                (Level::Group(0), "groups have bins of their own")
            }
            (Around::Nothing, _) if self.machine == Machine::Device && self.is_filter_for_groups(op) => (
                Level::Group(0),
                "groups count what they keep, and write it side by side",
            ),
            (Around::Nothing, _) if self.machine == Machine::Device && scans_rows(op) => (
                Level::Seq,
                "rows of their own sizes are scanned by one worker here",
            ),
            (Around::Nothing, _) if self.machine == Machine::Device => match self.nest_depth(op) {
                0 if matches!(self.row_reductions(op), Some(Rows::Long)) => {
                    (Level::Group(0), "work-items of a group reduce each of its rows")
                }
                0 => (Level::Par, "it is the outermost parallel operation"),
                depth => (
                    Level::Grid(depth),
                    "work-items share it and the operation that is all it does",
                ),
            },
            (Around::Nothing, _) if holds_parallel(op) && !self.is_usual(span, Topic::Level) => {
                (Level::Seq, "what is inside it can use all threads")
            }
            (Around::Nothing, _) => (Level::Par, "it is the outermost parallel operation"),
            (Around::Nest(dimension), _) if op.prim == Prim::Map => (
                Level::Grid(dimension),
                "it is all that the operation around it does",
            ),
            (Around::Nest(_), _) => (Level::Seq, "it is done by every work-item"),
            (Around::Group, _) if op.prim == Prim::Map => {
                (Level::Local(0), "the work-items of a group share it")
            }
            (Around::Group, _) => (Level::Seq, "all work-items have other work here"),
            (Around::Parallel, _) => one_worker,
            (Around::Lane, _) => (Level::Seq, "it runs on one lane"),
        }
    }

    /// Whether a function is straight-line code on scalars but for tables of constants: lanes read those as they read arrays. (A work-item of a
    /// device would make each table anew.)
    fn looks_up_constants(&self, function: &Lambda, args: &[Atom]) -> bool {
        let is_table = |stmt: &Stmt| match &stmt.exp {
            Exp::Array(elements, _) => elements.iter().all(|element| matches!(element, Atom::Const(_))),
            _ => false,
        };
        let stmts = &function.body.stmts;
        if self.machine == Machine::Device || !stmts.iter().any(is_table) {
            return false;
        }
        let within = reads_within(function, args, &self.numbers, &self.facts);
        let mut work = function.clone();
        work.body.stmts.retain(|stmt| !is_table(stmt));
        cost::is_simple_on(&work, &self.facts, cost::is_scalars, &within)
    }

    /// Elements and scalar operations of an operation whose size is known.
    fn constant_work(&self, op: &Op) -> Option<(u64, u64)> {
        if scans_rows(op) {
            return None;
        }
        let sizes = op.args.iter().filter_map(|arg| self.constant_size(arg));
        let size = sizes.max()?;
        let each = op
            .functions
            .iter()
            .map(|function| cost::of_body(&function.body, &self.facts));
        let each = each.fold(0, u64::saturating_add).max(1);
        let arrays = op.args.iter().filter(|arg| self.is_array(arg)).count();
        let known = op
            .args
            .iter()
            .filter(|arg| self.constant_size(arg).is_some())
            .count();
        (arrays == known).then(|| (size, size.saturating_mul(each)))
    }

    fn is_array(&self, atom: &Atom) -> bool {
        matches!(self.facts.env.atom_type(atom), Ok(Type::Array(..)))
    }

    fn constant_size(&self, atom: &Atom) -> Option<u64> {
        match self.facts.env.atom_type(atom).ok()? {
            Type::Array(Dim::Size(size), _) => u64::try_from(size.as_constant()?).ok(),
            _ => None,
        }
    }

    pub(crate) fn lambda(&mut self, function: &Lambda, around: Around) -> Typed<Lambda> {
        enter_params(&mut self.builder.env, &function.context, &function.params);
        self.repeat(function);
        Ok(Lambda {
            body: self.body(&function.body, around)?,
            ..function.clone()
        })
    }

    /// What a function binds it binds anew each time.
    pub(crate) fn repeat(&mut self, function: &Lambda) {
        Binders(&mut self.repeated).lambda(function);
    }

    pub(crate) fn decide(&mut self, span: Span, operation: Prim, choice: Choice, reason: &str) {
        self.decisions.push(Decision {
            span,
            operation,
            choice,
            reason: reason.to_owned(),
        });
    }
}

/// Why a map that gives rows runs in order, whatever its level (`row_cells`, `docs/papers.md`: cells that grow).
const IN_ORDER: &str = "where one of its rows begins is known only after those before it are made";

/// Whether a map's function gives rows of sizes of their own, which are not those of rows that it is given.
fn gives_rows(op: &Op) -> bool {
    let late =
        |function: &Lambda| !function.result.context.is_empty() && row_with_a_place(function).is_none();
    op.prim == Prim::Map && op.functions.iter().any(late)
}

/// Whether an operation scans all elements of rows, however many there are.
fn scans_rows(op: &Op) -> bool {
    matches!(op.prim, Prim::ScanRows | Prim::ScanRowsExclusive)
}

/// What is bound in a part of the program that may run many times.
struct Binders<'a>(&'a mut HashSet<Var>);

impl Walk for Binders<'_> {
    fn binder(&mut self, var: &Var) {
        self.0.insert(var.clone());
    }
}

fn takes_level(op: &Op) -> bool {
    op.prim.info().takes_level == TakesLevel::Yes
}

/// Whether an operation's functions hold operations that threads could share.
fn holds_parallel(op: &Op) -> bool {
    struct Finder(bool);
    impl almach_core::visit::Walk for Finder {
        fn exp(&mut self, exp: &Exp) {
            if let Exp::Op(op) = exp {
                self.0 |= !op.functions.is_empty() && takes_level(op);
            }
            almach_core::visit::walk_exp(self, exp);
        }
    }
    let mut finder = Finder(false);
    for function in &op.functions {
        almach_core::visit::Walk::body(&mut finder, &function.body);
    }
    finder.0
}
