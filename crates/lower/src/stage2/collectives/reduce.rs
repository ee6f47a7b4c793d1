//! `reduceChunksI`: as its chunk groups it.

use super::super::{binary, int};
use super::Collective;
use almach_dpia::{Phrase, build};
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType};

impl Collective<'_> {
    /// ```text
    /// total := start
    /// for n (\i.  if i % chunk == 0      (if i > 0  total := total ⊕ local);  local := x i
    ///             else                   local := local ⊕ x i)
    /// if n > 0  total := total ⊕ local
    /// out := total
    /// ```
    pub(super) fn reduce_chunks(
        &mut self,
        chunk: Chunk,
        function: &Phrase,
        start: Phrase,
        array: Phrase,
        out: Phrase,
    ) -> Phrase {
        let data = self.data.clone();
        let i64 = ScalarType::I64;
        self.with_new("total", &data, |this, total| {
            this.with_new("local", &data, |this, local| {
                this.with_new("next", &data, |this, next| {
                    let begin = build::assign(data.clone(), total.clone().writer(), start);
                    let carry = |this: &Self, condition: Phrase| {
                        let both = (total.clone().reader(), local.clone().reader());
                        let carry = this.advance(function, &total, both, &next);
                        build::if_then_else(condition, build::seq_all(carry), build::skip())
                    };
                    let run = this.each(|this, i| {
                        let number = build::of_index(this.size.clone(), i.clone());
                        let within = binary(BinOp::Rem, i64, number.clone(), int(chunk.get().into()));
                        let begins = binary(BinOp::Eq, i64, within, int(0));
                        let element = this.element(array, &i);
                        let carry = carry(this, binary(BinOp::Gt, i64, number, int(0)));
                        let restart = build::assign(data.clone(), local.clone().writer(), element.clone());
                        let operands = (local.clone().reader(), element);
                        let go_on = build::seq_all(this.advance(function, &local, operands, &next));
                        build::if_then_else(begins, build::seq(carry, restart), go_on)
                    });
                    let some = binary(BinOp::Gt, i64, build::nat_value(this.size.clone()), int(0));
                    let last = carry(this, some);
                    let give = build::assign(data.clone(), out, total.clone().reader());
                    build::seq_all([begin, run, last, give])
                })
            })
        })
    }
}
