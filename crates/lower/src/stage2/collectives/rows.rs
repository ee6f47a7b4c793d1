//! `scanRowsI`: one row after the other; chunks are those of all elements.

use super::super::{binary, int};
use super::scan::{InChunks, Scan};
use super::{Collective, I64};
use almach_dpia::{Data, Nat, Phrase, PhraseType, build};
use almach_prim::Chunk;
use almach_value::{BinOp, ScalarType};

impl Collective<'_> {
    /// ```text
    /// for rows (\r. before := start;
    ///   for (end r - begin r) (\j. as `scanI` does, where the first chunk is the one of the row's first element))
    /// ```
    pub(super) fn scan_rows(
        &mut self,
        chunk: Option<Chunk>,
        rows: &Nat,
        bounds: &Phrase,
        scan: Scan,
    ) -> Phrase {
        let parts = [I64, I64];
        let (r, length, begin_name) = (
            self.stage.fresh("r"),
            self.stage.fresh("length"),
            self.stage.fresh("begin"),
        );
        let row = build::idx(
            rows.clone(),
            Data::Tuple(parts.to_vec()),
            bounds.clone(),
            Phrase::Var(r.clone()),
        );
        let begin = Phrase::Var(begin_name.clone());
        let count = Nat::var(length.clone());
        self.with_state(|this, state| {
            let restart = build::assign(
                this.data.clone(),
                state.before.clone().writer(),
                scan.start.clone(),
            );
            let j = this.stage.fresh("j");
            let within = build::of_index(count.clone(), Phrase::Var(j.clone()));
            let at_name = this.stage.fresh("at");
            let at = Phrase::Var(at_name.clone());
            let i = build::to_index(this.size.clone(), at.clone());
            let step = match chunk {
                None => this.running(&scan, &state.before, &i, &state.next),
                Some(chunk) => this.chunked_step(&scan, &i, state, in_row(chunk, &begin, &at)),
            };
            let number = binary(BinOp::Add, ScalarType::I64, begin.clone(), within);
            let step = build::let_in(at_name, PhraseType::Exp(I64), number, step);
            let run = build::for_loop(count, j, step);
            let many = binary(
                BinOp::Sub,
                ScalarType::I64,
                build::get(1, &parts, row.clone()),
                begin,
            );
            let run = build::seq(restart, build::let_nat(many, length, run));
            let run = build::let_in(begin_name, PhraseType::Exp(I64), build::get(0, &parts, row), run);
            build::for_loop(rows.clone(), r, run)
        })
    }
}

/// Where the element `at` of a row is that begins at `begin`.
fn in_row(chunk: Chunk, begin: &Phrase, at: &Phrase) -> InChunks {
    let i64 = ScalarType::I64;
    let with_chunk = |op: BinOp, number: &Phrase| binary(op, i64, number.clone(), int(chunk.get().into()));
    let (first, own) = (with_chunk(BinOp::Div, begin), with_chunk(BinOp::Div, at));
    let second = binary(BinOp::Add, i64, first.clone(), int(1));
    InChunks {
        is_in_first: binary(BinOp::Eq, i64, own.clone(), first),
        begins_one: binary(BinOp::Eq, i64, with_chunk(BinOp::Rem, at), int(0)),
        is_behind_second: binary(BinOp::Gt, i64, own, second),
    }
}
