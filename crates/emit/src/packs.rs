//! Lanes of which some are put side by side, which processors with AVX-512 have an instruction for.
//!
//! ```text
//! for (int64_t l = 0; l < 16; l++) {
//!   out[k] = lane[l];                                        =>   k += pack_f32(out + k, lane, keep);
//!   k = k + (keep[l] != 0);
//! }
//! ```
//!
//! The function writes the same cells with the same values, the cell behind the last that is kept included.

use crate::Target;
use crate::analysis::Storage;
use crate::device::Side;
use crate::helpers::Helper;
use crate::procedure::{Emitter, Role};
use crate::tree::{CBinary, CExpr, CStmt};
use almach_base::{Diagnostic, Name};
use almach_imp::{Expr, Index, Stmt};
use almach_value::{BinOp, ScalarType, UnOp};

/// Bytes of a vector.
const VECTOR: i64 = 64;

/// Such a loop.
pub struct Pack<'s> {
    counter: &'s Name,
    keep: &'s Name,
    /// Where elements go, and from where.
    moved: Vec<(&'s Name, &'s Name)>,
}

impl<'s> Pack<'s> {
    /// A loop over so many lanes, where it is one.
    pub fn of(index: &Name, count: &Index, body: &'s [Stmt]) -> Option<Pack<'s>> {
        let count = count.as_constant()?;
        let (last, stores) = body.split_last()?;
        let Stmt::Assign { name: counter, value } = last else {
            return None;
        };
        let Expr::Binary(BinOp::Add, total, more) = value else {
            return None;
        };
        let Expr::Unary(UnOp::Convert(ScalarType::I64), kept) = &**more else {
            return None;
        };
        let Expr::Binary(BinOp::Ne, asked, none) = &**kept else {
            return None;
        };
        let (Expr::Load(keep, at), Expr::Const(zero)) = (&**asked, &**none) else {
            return None;
        };
        let adds = **total == Expr::Var(counter.clone()) && zero.as_integer() == Some(0);
        if !adds || at.as_var() != Some(index) {
            return None;
        }
        let moved = stores.iter().map(|stmt| match stmt {
            Stmt::Store {
                buffer,
                index: place,
                value: Expr::Load(from, lane),
            } if place.as_var() == Some(counter) && lane.as_var() == Some(index) => Some((buffer, from)),
            _ => None,
        });
        let moved: Vec<(&Name, &Name)> = moved.collect::<Option<_>>()?;
        let apart = |to: &Name| to != keep && moved.iter().all(|(_, from)| *from != to);
        let is_pack = !moved.is_empty() && matches!(count, 8 | 16) && moved.iter().all(|(to, _)| apart(to));
        is_pack.then_some(Pack { counter, keep, moved })
    }
}

impl Emitter<'_> {
    /// Emits such a loop as calls; false where what it reads is no array of so many lanes of the function's own.
    pub fn pack(
        &mut self,
        pack: &Pack<'_>,
        count: &Index,
        out: &mut Vec<CStmt>,
    ) -> Result<bool, Box<Diagnostic>> {
        let on_processor = matches!(self.unit.target, Target::C | Target::OpenMp)
            && !matches!(self.side, Side::Kernel { .. });
        let Some(count) = count.as_constant() else {
            return Ok(false);
        };
        let width = VECTOR / count;
        let asked = match width {
            4 => ScalarType::I32,
            _ => ScalarType::I64,
        };
        let lanes = |name: &Name| match self.known(name) {
            Ok(known) if known.role == Role::Buffer(Some(Storage::Stack(count))) => Some(known.ty),
            _ => None,
        };
        let types: Option<Vec<ScalarType>> = pack.moved.iter().map(|(_, from)| lanes(from)).collect();
        let Some(types) = types else { return Ok(false) };
        let fits = types.iter().all(|ty| ty.bytes() as i64 == width) && lanes(pack.keep) == Some(asked);
        if !on_processor || !fits {
            return Ok(false);
        }
        let counter = CExpr::name(self.known(pack.counter)?.c_name.clone());
        let keep = CExpr::name(self.known(pack.keep)?.c_name.clone());
        let mut calls = Vec::new();
        for ((to, from), ty) in pack.moved.iter().zip(types) {
            let to = CExpr::binary(
                CBinary::Add,
                CExpr::name(self.known(to)?.c_name.clone()),
                counter.clone(),
            );
            let from = CExpr::name(self.known(from)?.c_name.clone());
            let function = self.helpers.need(Helper::Pack(ty));
            calls.push(CExpr::call(&function, [to, from, keep.clone()]));
        }
        let Some(last) = calls.pop() else { return Ok(false) };
        out.extend(calls.into_iter().map(CStmt::Do));
        out.push(CStmt::Assign(
            counter.clone(),
            CExpr::binary(CBinary::Add, counter, last),
        ));
        Ok(true)
    }
}

/// The function for a type of scalars.
pub fn text(ty: ScalarType, name: &str, c: &str) -> String {
    let (lanes, bits) = match ty.bytes() {
        4 => (16, 32),
        _ => (8, 64),
    };
    TEXT.replace("NAME", name)
        .replace("TYPE", c)
        .replace("LANES", &lanes.to_string())
        .replace("LAST", &(lanes - 1).to_string())
        .replace("BITS", &bits.to_string())
}

const TEXT: &str = "/* Puts those of LANES cells that are kept side by side, and gives their number. The last cell lies behind them where it is not kept. */
static inline int64_t NAME(TYPE *to, const TYPE *from, const intBITS_t *keep) {
#if defined(__AVX512F__)
  const __m512i asked = _mm512_loadu_si512(keep);
  const __mmaskLANES kept = _mm512_test_epiBITS_mask(asked, asked);
  const int count = __builtin_popcount(kept);
  const __m512i packed = _mm512_maskz_compress_epiBITS(kept, _mm512_loadu_si512(from));
  _mm512_mask_storeu_epiBITS(to, (__mmaskLANES)((1u << count) - 1), packed);
  to[count - (keep[LAST] != 0)] = from[LAST];
  return count;
#else
  int64_t count = 0;
  for (int lane = 0; lane < LANES; lane++) {
    to[count] = from[lane];
    count += keep[lane] != 0;
  }
  return count;
#endif
}
";
