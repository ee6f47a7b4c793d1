//! Reductions and scans whose state has rows: sizes change from step to step, so the state is in a cell.

use crate::error::{Lowering, bug};
use crate::stage1::layout::{Held, Layout, Packed, Pool};
use crate::stage1::operations::{Order, arguments, function};
use crate::stage1::types::ResultData;
use crate::stage1::{Dest, Translator};
use almach_core::{Exp, Lambda, Op, Pattern};
use almach_dpia::{Data, Phrase, Prim, ScanKind, build};
use almach_prim::Prim as Operation;

impl Translator<'_> {
    /// The state of a reduction, as an element of an array would be.
    pub(super) fn state_layout(&self, op: &Op) -> Lowering<Layout> {
        let lambda = function(op, self)?;
        match lambda.result.types.as_slice() {
            [ty] => self.layout(&ty.close(&|var| lambda.result.context.contains(var))),
            _ => bug("an operator that gives several values", self.span),
        }
    }

    /// A function's one value, as an element of an array, in a cell.
    pub(super) fn apply_into_cell(
        &mut self,
        lambda: &Lambda,
        given: Vec<Held>,
        state: &State,
        cell: &Phrase,
    ) -> Lowering<Phrase> {
        let mark = self.env.mark();
        let run = self.block(|this| {
            this.bind_params(lambda, given)?;
            let values = this.body_values(&lambda.body)?;
            let [value] = values.as_slice() else {
                return bug("an operator that gives several values", this.span);
            };
            let value = this.convert(value, &state.layout)?;
            this.give(vec![], vec![value], state.dest(cell))
        })?;
        self.env.rewind_facts(mark);
        Ok(run)
    }

    /// Two cells for a state whose sizes change.
    pub(super) fn state(&mut self, layout: Layout) -> State {
        let mut holds = ResultData {
            sizes: Vec::new(),
            layouts: vec![layout.clone()],
        };
        for _ in 0..holds.pool_count() {
            holds.sizes.push(self.fresh("size"));
        }
        let data = holds.cell_data();
        State {
            current: self.new_var("state", &data),
            next: self.new_var("next", &data),
            layout,
            holds,
        }
    }

    /// The contents of a state's cell for the rest of the block.
    pub(super) fn state_value(&mut self, state: &State, cell: &Phrase) -> Lowering<Held> {
        let opened = self.opened_cell(&mut Vec::new(), cell.clone().reader(), &state.holds);
        match opened.into_iter().next() {
            Some(value) => Ok(value),
            None => bug("a state of nothing", self.span),
        }
    }

    /// A reduction whose state has sizes of its own.
    pub(super) fn reduce_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, array] = arguments(op, self)?;
        let (source, size, element) = self.array(&array)?;
        let layout = self.state_layout(op)?;
        let state = self.state(layout);
        let initial = self.held(&initial)?;
        let initial = self.convert(&initial, &state.layout)?;
        self.give(vec![], vec![initial], state.dest(&state.current))?;
        let i = self.fresh("i");
        let value = build::idx(
            size.clone(),
            element.data(),
            source.data.clone(),
            Phrase::Var(i.clone()),
        );
        let value = source.part(&element, value, Packed::No);
        let run = self.step(lambda, &state, value)?;
        self.push(build::for_loop(size, i, build::seq(run, state.advance())));
        let last = self.state_value(&state, &state.current)?;
        let value = self.opened_for(&last, pattern)?;
        self.bind_one_held(pattern, exp, value)
    }

    /// The next state from the current one and an element.
    fn step(&mut self, lambda: &Lambda, state: &State, element: Held) -> Lowering<Phrase> {
        self.block(|this| {
            let current = this.state_value(state, &state.current)?;
            let run = this.apply_into_cell(lambda, vec![current, element], state, &state.next)?;
            this.push(run);
            Ok(())
        })
    }

    /// `scanRowsI F I B E out`: the results have the bounds of what is scanned, once that is packed.
    pub(super) fn scan_all_rows(
        &mut self,
        op: &Op,
        kind: ScanKind,
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, rows] = arguments(op, self)?;
        let rows = self.held(&rows)?;
        let rows = self.pack(rows)?;
        let (Some((count, _)), [pool]) = (rows.layout.elements(), rows.pools.as_slice()) else {
            return bug("a scan of what has no rows", self.span);
        };
        let bounds = self.let_exp("bounds", &rows.layout.data(), rows.data.clone());
        let operand = Held::plain(pool.element.clone(), build::skip());
        let operator = self.operator(lambda, [&operand, &operand], Order::AsGiven)?;
        let data = Data::array(pool.size.clone(), pool.element.clone());
        let out = self.new_var("scanned", &data);
        let prim = Prim::ScanRowsI(self.level(op), kind, op.grouping());
        let scan = Phrase::prim(prim, vec![pool.size.clone(), count], vec![pool.element.clone()]);
        let initial = self.value(&initial)?;
        self.push(scan.apply([
            operator,
            initial,
            bounds.clone(),
            pool.elements.clone(),
            out.clone().writer(),
        ]));
        let scanned = Pool {
            elements: out.reader(),
            ..pool.clone()
        };
        let value = Held {
            data: bounds,
            pools: vec![scanned],
            ..rows
        };
        self.bind_one_held(pattern, exp, value)
    }

    pub(super) fn scan_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, array] = arguments(op, self)?;
        let (source, size, element) = self.array(&array)?;
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let layouts = self.element_layouts(pattern)?;
        let ([layout], [bound]) = (layouts.as_slice(), pattern.values.as_slice()) else {
            return bug("a scan that gives several values", self.span);
        };
        let state = self.state(layout.clone());
        let initial = self.held(&initial)?;
        let initial = self.convert(&initial, layout)?;
        self.give(vec![], vec![initial], state.dest(&state.current))?;
        let out = self.new_var(&bound.var.name, &Data::array(size.clone(), layout.data()));
        let growing = self.growing(layout);
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let value = build::idx(size.clone(), element.data(), source.data.clone(), at.clone());
        let value = source.part(&element, value, Packed::No);
        let run = self.step(lambda, &state, value)?;
        let place = build::idx_acc(size.clone(), layout.data(), out.clone().writer(), at);
        let write = self.block(|this| {
            let current = this.state_value(&state, &state.current)?;
            this.write_held(&current, place, &growing.sinks)
        })?;
        let body = match op.prim {
            Operation::Scan => build::seq_all([run, state.advance(), write]),
            _ => build::seq_all([write, run, state.advance()]),
        };
        self.push(build::for_loop(size, i, body));
        let pools = self.grown(&growing);
        self.values.insert(bound.var.clone(), out.reader());
        self.carry(&bound.var, pools, Packed::Yes);
        Ok(())
    }
}

/// A state whose sizes change from step to step.
pub(super) struct State {
    pub(super) layout: Layout,
    pub(super) holds: ResultData,
    pub(super) current: Phrase,
    pub(super) next: Phrase,
}

impl State {
    pub(super) fn dest(&self, cell: &Phrase) -> Dest {
        Dest::Cell {
            acceptor: cell.clone().writer(),
            holds: self.holds.clone(),
        }
    }

    /// What was computed becomes the state.
    pub(super) fn advance(&self) -> Phrase {
        let pair = Phrase::pair(self.current.clone(), self.next.clone());
        Phrase::prim(Prim::Move, vec![], vec![self.holds.cell_data()]).app(pair)
    }
}
