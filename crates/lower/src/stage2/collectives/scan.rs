//! `scanI`: in order, or as its chunk groups it.

use super::super::{apply, binary, int};
use super::Collective;
use almach_dpia::{Phrase, Prim, ScanKind, build};
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType};

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

    pub(super) fn scan(
        &mut self,
        kind: ScanKind,
        function: Phrase,
        start: Phrase,
        array: Phrase,
        out: Phrase,
    ) -> Phrase {
        let data = self.data.clone();
        self.with_new("running", &data, |this, running| {
            this.with_new("next", &data, |this, next| {
                let begin = build::assign(data.clone(), running.clone().writer(), start);
                let run = this.each(|this, i| {
                    let element = this.element(array, &i);
                    let place = build::idx_acc(this.size.clone(), data.clone(), out, i);
                    this.running(kind, &function, &running, element, place, &next)
                });
                build::seq(begin, run)
            })
        })
    }

    /// A step of what runs in order.
    fn running(
        &self,
        kind: ScanKind,
        function: &Phrase,
        running: &Phrase,
        element: Phrase,
        place: Phrase,
        next: &Phrase,
    ) -> Phrase {
        let write = build::assign(self.data.clone(), place, running.clone().reader());
        let operands = (running.clone().reader(), element);
        let [compute, advance] = self.advance(function, running, operands, next);
        match kind {
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
    pub(super) fn chunked_scan(
        &mut self,
        kind: ScanKind,
        chunk: Chunk,
        function: Phrase,
        start: Phrase,
        array: Phrase,
        out: Phrase,
    ) -> Phrase {
        let data = self.data.clone();
        let i64 = ScalarType::I64;
        self.with_new("before", &data, |this, before| {
            this.with_new("local", &data, |this, local| {
                this.with_new("next", &data, |this, next| {
                    let begin = build::assign(data.clone(), before.clone().writer(), start);
                    let run = this.each(|this, i| {
                        let number = build::of_index(this.size.clone(), i.clone());
                        let compare = |op: BinOp| binary(op, i64, number.clone(), int(chunk.get().into()));
                        let first = compare(BinOp::Lt);
                        let begins = binary(BinOp::Eq, i64, compare(BinOp::Rem), int(0));
                        let later = compare(BinOp::Gt);
                        let element = this.element(array, &i);
                        let place = build::idx_acc(this.size.clone(), data.clone(), out, i);
                        let both = || (before.clone().reader(), local.clone().reader());
                        let in_order =
                            this.running(kind, &function, &before, element.clone(), place.clone(), &next);
                        let carry = this.advance(&function, &before, both(), &next);
                        let carry = build::if_then_else(later, build::seq_all(carry), build::skip());
                        let restart = build::assign(data.clone(), local.clone().writer(), element.clone());
                        let operands = (local.clone().reader(), element);
                        let go_on = build::seq_all(this.advance(&function, &local, operands, &next));
                        let (left, right) = both();
                        let all = build::seq(
                            apply(function.clone(), [left, right, next.clone().writer()]),
                            build::assign(data.clone(), place.clone(), next.clone().reader()),
                        );
                        let rest = match kind {
                            ScanKind::Inclusive => {
                                let step = build::if_then_else(begins, build::seq(carry, restart), go_on);
                                build::seq(step, all)
                            }
                            ScanKind::Exclusive => {
                                let alone = build::assign(data.clone(), place, before.clone().reader());
                                build::if_then_else(
                                    begins,
                                    build::seq_all([carry, alone, restart]),
                                    build::seq(all, go_on),
                                )
                            }
                        };
                        build::if_then_else(first, in_order, rest)
                    });
                    build::seq(begin, run)
                })
            })
        })
    }
}
