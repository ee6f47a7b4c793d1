//! `slide@E`: windows that are written, with a window that rolls over the array (Lin, eq. 5.15).
//!
//! ```text
//! map@seq@D f (slide@E 3 1 xs)   ~~>   new window. if 0 < n { window[1] := xs[0]; window[2] := xs[1] };
//!                                      for n (\\i. window[0] := window[1]; window[1] := window[2];
//!                                                 window[2] := xs[i + 2]; f window out[i])
//! ```
//!
//! An element is read once, and stays in the window (in registers, where it is small) for all windows that it is in. Windows that a
//! destination view takes one by one (eq. 5.50) are in no other memory; those of anything else are written out. This takes an order, so a
//! `map` at another level than `seq` looks at the windows where they are in the array, and so does everything where the windows do not
//! overlap or their size is not known.

use super::Translator;
use super::checks::{binary, int};
use super::layout::Held;
use super::operations::function;
use super::rows::add;
use crate::error::{Lowering, bug};
use almach_core::visit::{Walk, walk_stmt};
use almach_core::{Atom, Exp, Function, Op, Pattern, Stmt, Var};
use almach_dpia::{Data, Nat, Phrase, build};
use almach_prim::{Effect, Level, Prim as Operation};
use almach_value::{BinOp, ScalarType};
use std::collections::HashSet;

/// The windows of an array: a view, how many, and what they are made of.
#[derive(Clone)]
pub(crate) struct Windows {
    view: Phrase,
    count: Nat,
    width: i64,
    step: i64,
    element: Data,
}

impl Windows {
    fn row(&self) -> Data {
        Data::array(Nat::constant(self.width), self.element.clone())
    }
}

/// Windows that a destination view in order takes one by one, and nothing else uses.
pub(crate) fn rolled(function: &Function) -> HashSet<Var> {
    struct Taken(HashSet<Var>);
    impl Walk for Taken {
        fn stmt(&mut self, stmt: &Stmt) {
            if let Exp::Op(op) = &stmt.exp
                && let ([Atom::Var(var)], true) = (op.args.as_slice(), takes_windows(op))
            {
                self.0.insert(var.clone());
            }
            walk_stmt(self, stmt);
        }
    }
    let mut taken = Taken(HashSet::new());
    almach_core::visit::walk_function(&mut taken, function);
    let uses = almach_core::visit::UseCounts::of_function(function);
    taken.0.retain(|var| uses.of(var) == 1);
    taken.0
}

fn takes_windows(op: &Op) -> bool {
    op.prim == Operation::Map
        && op.annotation.effect == Some(Effect::Destination)
        && op.annotation.level.is_none_or(|level| level == Level::Seq)
}

impl Translator<'_> {
    /// `slide@E`: true where its windows roll, for whoever takes them or into memory.
    pub(crate) fn bind_windows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<bool> {
        let is_eager = op.prim == Operation::Slide && op.annotation.effect == Some(Effect::Eager);
        let ([bound], true) = (pattern.values.as_slice(), is_eager) else {
            return Ok(false);
        };
        let (Some(Atom::Const(width)), Some(Atom::Const(step))) = (op.args.first(), op.args.get(1)) else {
            return Ok(false);
        };
        let number = |scalar: &almach_value::Scalar| i64::try_from(scalar.as_integer()?).ok();
        let (Some(width), Some(step)) = (number(width), number(step)) else {
            return Ok(false);
        };
        let overlap = 0 < step && step < width && self.level(op) == Level::Seq;
        if !overlap || self.binds_rows(pattern)? {
            return Ok(false);
        }
        let Some(view) = self.view(op, pattern)? else {
            return Ok(false);
        };
        let result = self.pattern_data(pattern, exp)?.values();
        let [data @ Data::Array(count, row)] = result.as_slice() else {
            return bug("windows that are no array", self.span);
        };
        let Data::Array(_, element) = &**row else {
            return bug("windows that are no arrays", self.span);
        };
        let windows = Windows {
            view,
            count: count.clone(),
            width,
            step,
            element: (**element).clone(),
        };
        if self.rolled.contains(&bound.var) {
            self.bind_value(&bound.var, data, windows.view.clone());
            self.windows.insert(bound.var.clone(), windows);
            return Ok(true);
        }
        let memory = self.new_var(&bound.var.name, data);
        let row = windows.row();
        self.roll(&windows, |this, at, window| {
            let place = build::idx_acc(windows.count.clone(), row.clone(), memory.clone().writer(), at);
            this.push(build::assign(row.clone(), place, window));
            Ok(())
        })?;
        self.values.insert(bound.var.clone(), memory.reader());
        Ok(true)
    }

    /// `map@D f` of windows that roll; false where they do not.
    pub(crate) fn map_windows(&mut self, op: &Op, acceptors: &[Phrase]) -> Lowering<bool> {
        let [Atom::Var(var)] = op.args.as_slice() else {
            return Ok(false);
        };
        let (Some(windows), [acceptor]) = (self.windows.get(var).cloned(), acceptors) else {
            return Ok(false);
        };
        let lambda = function(op, self)?;
        let [result] = lambda.result.types.as_slice() else {
            return Ok(false);
        };
        if !takes_windows(op) || !lambda.result.context.is_empty() {
            return Ok(false);
        }
        let row = windows.row();
        self.roll(&windows, |this, at, window| {
            this.bind_params(lambda, vec![Held::plain(row, window)])?;
            let data = this.data(result)?;
            let place = build::idx_acc(windows.count.clone(), data, acceptor.clone(), at);
            this.body_into(&lambda.body, super::Dest::Each(vec![place]))
        })?;
        Ok(true)
    }

    /// A window that rolls over all windows, in order.
    fn roll(
        &mut self,
        windows: &Windows,
        inside: impl FnOnce(&mut Self, Phrase, Phrase) -> Lowering<()>,
    ) -> Lowering<()> {
        let (width, kept) = (Nat::constant(windows.width), windows.width - windows.step);
        let row = windows.row();
        let window = self.new_var("window", &row);
        let cell = |at: Phrase| {
            let at = build::to_index(width.clone(), at);
            build::idx_acc(
                width.clone(),
                windows.element.clone(),
                window.clone().writer(),
                at,
            )
        };
        let seen = |at: Phrase| {
            let at = build::to_index(width.clone(), at);
            build::idx(
                width.clone(),
                windows.element.clone(),
                window.clone().reader(),
                at,
            )
        };
        let element = |of: Phrase, at: Phrase| {
            let row = build::idx(windows.count.clone(), row.clone(), windows.view.clone(), of);
            let at = build::to_index(width.clone(), at);
            build::idx(width.clone(), windows.element.clone(), row, at)
        };
        let assign = |to: Phrase, from: Phrase| build::assign(windows.element.clone(), to, from);
        let each = |this: &mut Self, count: i64, body: &dyn Fn(Phrase) -> Phrase| {
            let (j, count) = (this.fresh("j"), Nat::constant(count));
            let at = build::of_index(count.clone(), Phrase::Var(j.clone()));
            let body = body(at);
            build::for_loop(count, j, body)
        };
        let step = int(windows.step);
        let none = build::to_index(windows.count.clone(), int(0));
        let first = each(self, kept, &|j| {
            assign(cell(add(j.clone(), step.clone())), element(none.clone(), j))
        });
        let some = binary(
            BinOp::Gt,
            ScalarType::I64,
            build::nat_value(windows.count.clone()),
            int(0),
        );
        self.push(build::if_then_else(some, first, build::skip()));
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let shift = each(self, kept, &|j| {
            assign(cell(j.clone()), seen(add(j, step.clone())))
        });
        let next = each(self, windows.step, &|j| {
            let j = add(j, int(kept));
            assign(cell(j.clone()), element(at.clone(), j))
        });
        let body = self.block(|this| {
            this.push(shift);
            this.push(next);
            inside(this, at.clone(), window.clone().reader())
        })?;
        self.push(build::for_loop(windows.count.clone(), i, body));
        Ok(())
    }
}
