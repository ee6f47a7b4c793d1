//! What feeds a scan, a filter, a histogram or the like is computed where it is read: a `map` with one such use and a few
//! operations is a source view, and so is a `gather`, once its indices are checked.
//!
//! ```text
//! let ys: [n]i64 = map (\x -> i64 x) xs          let ys: [n]i64 = map@seq@S (\x -> i64 x) xs
//! let zs: [n]i64 = scan (+) 0 ys             =>  let zs: [n]i64 = scan@par (+) 0 ys
//! ```
//!
//! Reductions take what feeds them into their own function (`producers`); these operations have no function for it. An
//! element may be read twice, so only a little arithmetic that cannot fail is done again.
//!
//! Introduces: the effect `S`. Removes: nothing. Guarantees: the same values.

use crate::weights::LITTLE;
use crate::{Around, Choice, Chooser, Topic, cost};
use almach_core::typing::Typed;
use almach_core::visit::UseCounts;
use almach_core::{Atom, Body, Exp, Lambda, Op, Stmt, Var};
use almach_prim::{Annotation, Effect, Level, Prim};
use almach_rewrite::facts::is_fixed;
use std::collections::HashMap;

impl Chooser {
    /// The maps of a body that become views, by their places, each with the operation that reads it.
    pub(crate) fn source_views(&self, body: &Body) -> HashMap<usize, Prim> {
        let mut read_by: HashMap<&Var, Prim> = HashMap::new();
        let mut in_loops: HashMap<&Var, Prim> = HashMap::new();
        for stmt in &body.stmts {
            match &stmt.exp {
                Exp::Loop(looped) => readers(&looped.body, &mut in_loops),
                exp => readers_in(exp, &mut read_by),
            }
        }
        // Rows are cut out of elements, which are read where the rows are.
        for stmt in body.stmts.iter().rev() {
            if let (Exp::Op(op), [rows]) = (&stmt.exp, stmt.pattern.values.as_slice())
                && let (Prim::Unflatten, [_, Atom::Var(elements)]) = (op.prim, op.args.as_slice())
                && let Some(Prim::ScanRows | Prim::ScanRowsExclusive) = read_by.get(&rows.var)
                && self.uses.of(&rows.var) == 1
            {
                read_by.insert(elements, Prim::ScanRows);
            }
        }
        let mut views = HashMap::new();
        for (at, stmt) in body.stmts.iter().enumerate() {
            if let ([value], Exp::Op(op)) = (stmt.pattern.values.as_slice(), &stmt.exp)
                && let Some(consumer) = self.view_for(op, read_by.get(&value.var), in_loops.get(&value.var))
                && self.uses.of(&value.var) == 1
                && self.is_usual(stmt.span, Topic::View)
            {
                views.insert(at, consumer);
            }
        }
        views
    }

    /// The operation that an array is a view for. What every iteration of a loop reads again is not gathered again.
    fn view_for(&self, op: &Op, once: Option<&Prim>, in_a_loop: Option<&Prim>) -> Option<Prim> {
        let consumer = match self.is_gather(op) {
            true => once,
            false => once.or(in_a_loop),
        };
        consumer
            .copied()
            .filter(|_| self.is_gather(op) || self.is_cheap_map(op))
    }

    /// A gather of scalars: its indices are checked where it stands, and no element is copied.
    fn is_gather(&self, op: &Op) -> bool {
        let element = op.args.get(1).and_then(|array| self.array_type(array));
        op.prim == Prim::Gather
            && !is_fixed(op)
            && element.is_some_and(|(_, element)| cost::is_scalars(&element))
    }

    fn is_cheap_map(&self, op: &Op) -> bool {
        let [function] = op.functions.as_slice() else {
            return false;
        };
        op.prim == Prim::Map
            && !is_fixed(op)
            && cost::is_simple(function, &self.facts)
            && cost::of_body(&function.body, &self.facts) <= LITTLE
            && is_arithmetic(function)
    }

    pub(crate) fn source_view(&mut self, stmt: &Stmt, consumer: Prim, around: Around) -> Typed<()> {
        let Exp::Op(op) = &stmt.exp else { return Ok(()) };
        let reason = "it is little work, and this operation is its only use";
        self.decide(stmt.span, op.prim, Choice::FusedInto(consumer), reason);
        let mut view = op.clone();
        view.annotation = Annotation {
            level: Some(match op.prim {
                // The checks of its indices.
                Prim::Gather => around.level(),
                _ => Level::Seq,
            }),
            effect: Some(Effect::Source),
            chunk: None,
        };
        self.builder.push(stmt.pattern.clone(), Exp::Op(view), stmt.span);
        Ok(())
    }
}

/// Who reads which arrays element by element, inside loops too.
fn readers<'b>(body: &'b Body, found: &mut HashMap<&'b Var, Prim>) {
    for stmt in &body.stmts {
        readers_in(&stmt.exp, found);
    }
}

fn readers_in<'b>(exp: &'b Exp, found: &mut HashMap<&'b Var, Prim>) {
    match exp {
        Exp::Op(op) => found.extend(read_once(op).iter().filter_map(|arg| match arg {
            Atom::Var(var) => Some((var, op.prim)),
            Atom::Const(_) => None,
        })),
        Exp::Loop(looped) => readers(&looped.body, found),
        _ => {}
    }
}

/// The arrays that an operation reads element by element.
fn read_once(op: &Op) -> &[Atom] {
    let from = match op.prim {
        Prim::Scan | Prim::ScanExclusive | Prim::ScanRows | Prim::ScanRowsExclusive | Prim::Scatter => 1,
        // Others are written out, with what feeds them (`producers`).
        Prim::Reduce | Prim::ReduceComm if is_fixed(op) => 1,
        Prim::Filter | Prim::Partition | Prim::Permute => 0,
        // Behind the destination and the neutral value.
        Prim::ReduceByIndex => 2,
        Prim::Gather => return op.args.get(..1).unwrap_or_default(),
        _ => return &[],
    };
    op.args.get(from..).unwrap_or_default()
}

/// One expression: no branches, nothing computed that is used twice.
fn is_arithmetic(function: &Lambda) -> bool {
    let mut uses = UseCounts::default();
    almach_core::visit::Walk::body(&mut uses, &function.body);
    function.body.stmts.iter().all(|stmt| {
        let once = stmt.pattern.values.iter().all(|value| uses.of(&value.var) <= 1);
        once && !matches!(stmt.exp, Exp::If { .. })
    })
}
