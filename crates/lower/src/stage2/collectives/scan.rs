//! `scanI`: in order, or as its chunk groups it.

use super::super::{apply, binary, int};
use super::{Collective, Written};
use almach_dpia::{Phrase, Prim, ScanKind, build};
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType};

/// What a scan is given.
pub(super) struct Scan {
    pub(super) kind: ScanKind,
    pub(super) function: Phrase,
    pub(super) start: Phrase,
    pub(super) array: Phrase,
    pub(super) written: Written,
}

impl Collective<'_> {
    /// `to := left ⊕ right`, where `to` may be one of them.
    pub(super) fn advance(
        &self,
        function: &Phrase,
        to: &Phrase,
        (left, right): (Phrase, Phrase),
        next: &Phrase,
    ) -> [Phrase; 2] {
        let compute = apply(function.clone(), [left, right, next.clone().writer()]);
        let advance = Phrase::prim(Prim::Move, vec![], vec![self.data.clone()])
            .app(Phrase::pair(to.clone(), next.clone()));
        [compute, advance]
    }

    /// `out i := value`, or what a function makes of it.
    fn write(&self, scan: &Scan, i: &Phrase, value: Phrase) -> Phrase {
        let to = scan.written.data(&self.data);
        let place = build::idx_acc(self.size.clone(), to.clone(), scan.written.out.clone(), i.clone());
        match &scan.written.mapped {
            None => build::assign(to.clone(), place, value),
            Some((mapped, _)) => apply(mapped.clone(), [i.clone(), value, place]),
        }
    }

    pub(super) fn scan(&mut self, scan: Scan) -> Phrase {
        let data = self.data.clone();
        self.with_new("running", &data, |this, running| {
            this.with_new("next", &data, |this, next| {
                let begin = build::assign(data.clone(), running.clone().writer(), scan.start.clone());
                let run = this.each(|this, i| this.running(&scan, &running, &i, &next));
                build::seq(begin, run)
            })
        })
    }

    /// A step of what runs in order.
    pub(super) fn running(&self, scan: &Scan, running: &Phrase, i: &Phrase, next: &Phrase) -> Phrase {
        let element = self.element(scan.array.clone(), i);
        let write = self.write(scan, i, running.clone().reader());
        let operands = (running.clone().reader(), element);
        let [compute, advance] = self.advance(&scan.function, running, operands, next);
        match scan.kind {
            ScanKind::Inclusive => build::seq_all([compute, advance, write]),
            ScanKind::Exclusive => build::seq_all([write, compute, advance]),
        }
    }

    /// ```text
    /// before := start
    /// for n (\i.  if i < chunk                before := before ⊕ x i;  out i := before
    ///             else if i % chunk == 0      (if i > chunk  before := before ⊕ local);  local := x i;  out i := before ⊕ local
    ///             else                        local := local ⊕ x i;  out i := before ⊕ local)
    /// ```
    ///
    /// and as it must be where the scan is exclusive.
    pub(super) fn chunked_scan(&mut self, chunk: Chunk, scan: Scan) -> Phrase {
        let i64 = ScalarType::I64;
        self.with_state(|this, state| {
            let begin = build::assign(
                this.data.clone(),
                state.before.clone().writer(),
                scan.start.clone(),
            );
            let run = this.each(|this, i| {
                let number = build::of_index(this.size.clone(), i.clone());
                let compare = |op: BinOp| binary(op, i64, number.clone(), int(chunk.get().into()));
                let place = InChunks {
                    is_in_first: compare(BinOp::Lt),
                    begins_one: binary(BinOp::Eq, i64, compare(BinOp::Rem), int(0)),
                    is_behind_second: compare(BinOp::Gt),
                };
                this.chunked_step(&scan, &i, state, place)
            });
            build::seq(begin, run)
        })
    }

    /// The variables of a scan in chunks.
    pub(super) fn with_state(&mut self, body: impl FnOnce(&mut Self, &State) -> Phrase) -> Phrase {
        let data = self.data.clone();
        self.with_new("before", &data, |this, before| {
            this.with_new("local", &data, |this, local| {
                this.with_new("next", &data, |this, next| {
                    body(this, &State { before, local, next })
                })
            })
        })
    }

    /// A step of a scan in chunks.
    pub(super) fn chunked_step(&self, scan: &Scan, i: &Phrase, state: &State, place: InChunks) -> Phrase {
        let State { before, local, next } = state;
        let data = &self.data;
        let element = self.element(scan.array.clone(), i);
        let both = || (before.clone().reader(), local.clone().reader());
        let in_order = self.running(scan, before, i, next);
        let carry = self.advance(&scan.function, before, both(), next);
        let carry = build::if_then_else(place.is_behind_second, build::seq_all(carry), build::skip());
        let restart = build::assign(data.clone(), local.clone().writer(), element.clone());
        let operands = (local.clone().reader(), element);
        let go_on = build::seq_all(self.advance(&scan.function, local, operands, next));
        let (left, right) = both();
        let all = build::seq(
            apply(scan.function.clone(), [left, right, next.clone().writer()]),
            self.write(scan, i, next.clone().reader()),
        );
        let rest = match scan.kind {
            ScanKind::Inclusive => {
                let step = build::if_then_else(place.begins_one, build::seq(carry, restart), go_on);
                build::seq(step, all)
            }
            ScanKind::Exclusive => {
                let alone = self.write(scan, i, before.clone().reader());
                build::if_then_else(
                    place.begins_one,
                    build::seq_all([carry, alone, restart]),
                    build::seq(all, go_on),
                )
            }
        };
        build::if_then_else(place.is_in_first, in_order, rest)
    }
}

/// What came before a chunk, what has come of it, and room for what is next.
pub(super) struct State {
    pub(super) before: Phrase,
    pub(super) local: Phrase,
    pub(super) next: Phrase,
}

/// Where an element is: whether it is in the first chunk of its scan, whether a chunk begins with it, and whether it is behind the
/// first element of the second.
pub(super) struct InChunks {
    pub(super) is_in_first: Phrase,
    pub(super) begins_one: Phrase,
    pub(super) is_behind_second: Phrase,
}
