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
    fn running(&self, scan: &Scan, running: &Phrase, i: &Phrase, next: &Phrase) -> Phrase {
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
        let data = self.data.clone();
        let i64 = ScalarType::I64;
        self.with_new("before", &data, |this, before| {
            this.with_new("local", &data, |this, local| {
                this.with_new("next", &data, |this, next| {
                    let begin = build::assign(data.clone(), before.clone().writer(), scan.start.clone());
                    let run = this.each(|this, i| {
                        let number = build::of_index(this.size.clone(), i.clone());
                        let compare = |op: BinOp| binary(op, i64, number.clone(), int(chunk.get().into()));
                        let first = compare(BinOp::Lt);
                        let begins = binary(BinOp::Eq, i64, compare(BinOp::Rem), int(0));
                        let later = compare(BinOp::Gt);
                        let element = this.element(scan.array.clone(), &i);
                        let both = || (before.clone().reader(), local.clone().reader());
                        let in_order = this.running(&scan, &before, &i, &next);
                        let carry = this.advance(&scan.function, &before, both(), &next);
                        let carry = build::if_then_else(later, build::seq_all(carry), build::skip());
                        let restart = build::assign(data.clone(), local.clone().writer(), element.clone());
                        let operands = (local.clone().reader(), element);
                        let go_on = build::seq_all(this.advance(&scan.function, &local, operands, &next));
                        let (left, right) = both();
                        let all = build::seq(
                            apply(scan.function.clone(), [left, right, next.clone().writer()]),
                            this.write(&scan, &i, next.clone().reader()),
                        );
                        let rest = match scan.kind {
                            ScanKind::Inclusive => {
                                let step = build::if_then_else(begins, build::seq(carry, restart), go_on);
                                build::seq(step, all)
                            }
                            ScanKind::Exclusive => {
                                let alone = this.write(&scan, &i, before.clone().reader());
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
