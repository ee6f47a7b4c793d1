//! The elements that a filter keeps, a vector of them at a time: all are asked first, which lanes do together, and then those that are kept
//! are put side by side. Processors with an instruction for that have the second loop for one step (`emit/src/packs.rs`).
//!
//! ```text
//! for g < n / 16 {
//!   for l < 16 { x[l] = xs[…]; keep[l] = p(x[l]) }
//!   for l < 16 { out[k] = x[l]; k = k + (keep[l] != 0) }
//! }
//! ```

use super::super::storage;
use super::super::{Generator, Step};
use super::fields;
use super::filter::Filter;
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Phrase};
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

/// Bytes of the lanes that go together.
const VECTOR: usize = 64;

/// How elements are packed.
pub(super) struct Packs {
    /// How many go together.
    lanes: i64,
    /// What says of each whether it is kept: as wide as an element, so that vectors have as many lanes of both.
    asked: ScalarType,
}

impl Generator<'_> {
    /// How a filter packs what it keeps: elements of scalars that are all as wide, and that are written as they are to one place, where lanes
    /// can ask together.
    pub(super) fn packs(&self, filter: &Filter<'_>, parts: &[Phrase]) -> Option<Packs> {
        let leaves = storage::of(&filter.of.data, &Name::from("x")).leaves();
        let width = leaves.first()?.ty.bytes();
        let asked = match width {
            4 => ScalarType::I32,
            8 => ScalarType::I64,
            _ => return None,
        };
        let alike = leaves.iter().all(|leaf| leaf.ty.bytes() == width);
        let together = |phrase: &Phrase| self.is_for_lanes(phrase) && !self.may_fail(phrase);
        let together = together(filter.predicate) && together(filter.array);
        let packs = Packs {
            lanes: (VECTOR / width) as i64,
            asked,
        };
        (filter.is_plain() && parts.len() == 1 && alike && together).then_some(packs)
    }

    /// The elements from `start` on, so many groups of them.
    pub(super) fn packed(
        &mut self,
        filter: &Filter<'_>,
        packs: &Packs,
        part: &Phrase,
        kept: &Name,
        (start, groups): (&Index, &Index),
    ) -> Lowering<()> {
        let lanes = Index::constant(packs.lanes);
        let g = self.fresh("g");
        self.counted(g.clone(), groups.clone(), LoopMode::Seq, |this| {
            let first = start + &lanes * &Index::var(g);
            let leaves = storage::of(&filter.of.data, &this.fresh("x")).leaves();
            let room: Vec<Name> = leaves
                .iter()
                .map(|leaf| this.scratch("lane", leaf.ty, lanes.clone()))
                .collect();
            let asked = this.scratch("keep", packs.asked, lanes.clone());
            this.ask(filter, packs, &first, (&room, &asked))?;
            let l = this.fresh("l");
            this.counted(l.clone(), lanes.clone(), LoopMode::Seq, |this| {
                for (leaf, lane) in leaves.iter().zip(&room) {
                    let mut path = vec![Step::At(Index::var(kept.clone()))];
                    path.extend(fields(&leaf.path));
                    let place = this.target(part, path)?;
                    let value = Expr::Load(lane.clone(), Index::var(l.clone()));
                    this.write(&place, value)?;
                }
                let keep = Expr::Load(asked.clone(), Index::var(l));
                let keep = Expr::binary(BinOp::Ne, keep, Expr::Const(zero(packs.asked)));
                this.count(kept, Expr::unary(UnOp::Convert(ScalarType::I64), keep));
                Ok(())
            })?;
            this.emit(Stmt::Free(asked));
            for lane in room.into_iter().rev() {
                this.emit(Stmt::Free(lane));
            }
            Ok(())
        })
    }

    /// Reads a group of elements and asks for each whether it is kept.
    fn ask(
        &mut self,
        filter: &Filter<'_>,
        packs: &Packs,
        first: &Index,
        (room, asked): (&[Name], &Name),
    ) -> Lowering<()> {
        let of = filter.of;
        let l = self.fresh("l");
        self.counted(l.clone(), Index::constant(packs.lanes), LoopMode::Simd, |this| {
            let l = Index::var(l);
            let element = this.element(of, filter.array, &(first + &l))?;
            let keep = this.variable("keep", &Data::Scalar(ScalarType::Bool));
            this.run(filter.predicate, [&element, &keep])?;
            let keep = this.read(&keep, Vec::new())?;
            this.emit(Stmt::Store {
                buffer: asked.clone(),
                index: l.clone(),
                value: Expr::unary(UnOp::Convert(packs.asked), keep),
            });
            let leaves = storage::of(&of.data, &this.fresh("x")).leaves();
            for (leaf, lane) in leaves.iter().zip(room) {
                let value = this.read(&element, fields(&leaf.path))?;
                this.emit(Stmt::Store {
                    buffer: lane.clone(),
                    index: l.clone(),
                    value,
                });
            }
            Ok(())
        })
    }
}

impl Packs {
    pub(super) fn lanes(&self) -> Index {
        Index::constant(self.lanes)
    }
}

fn zero(ty: ScalarType) -> Scalar {
    match ty {
        ScalarType::I32 => Scalar::I32(0),
        _ => Scalar::I64(0),
    }
}
