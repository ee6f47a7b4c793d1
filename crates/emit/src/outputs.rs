//! Outputs that are larger than the caches. What the iterations of a chain have made in memory of their own is copied out past the caches where it is much
//! in all: no line is read that is overwritten as a whole, and nothing that is used again has to make room.
//!
//! ```text
//! memcpy(out + before, kept, …)          =>     copy_out(out + before, kept, …, chunks >= 2048);
//!                                               …
//!                                               copied_out();          at the end of an iteration
//! ```
//!
//! This changes no value: it is another instruction for a store, and a fence.

use crate::Accounting;
use crate::analysis::Storage;
use crate::procedure::{Emitter, Role};
use crate::tree::{CBinary, CExpr};
use almach_base::{Diagnostic, Name};

/// Bytes that no cache keeps until somebody reads them.
const LARGE: i64 = 32 << 20;

/// What the iterations of a chain write.
pub struct Outputs {
    iterations: CExpr,
    /// Whether something is copied out.
    pub are_copied: bool,
}

impl Outputs {
    pub fn of(iterations: &CExpr) -> Outputs {
        Outputs {
            iterations: iterations.clone(),
            are_copied: false,
        }
    }
}

impl Emitter<'_> {
    /// Whether what a chain copies from an array of an iteration's own is much in all, as C asks it; none where that is no such copy.
    pub fn past_the_cache(&mut self, from: &Name, to: &Name) -> Result<Option<CExpr>, Box<Diagnostic>> {
        let known = self.known(from)?;
        let Role::Buffer(Some(Storage::Stack(cells))) = known.role else {
            return Ok(None);
        };
        let bytes = cells.saturating_mul(known.ty.bytes() as i64).max(1);
        let is_block = matches!(
            self.known(to)?.role,
            Role::Buffer(None | Some(Storage::Heap { .. }))
        );
        if self.unit.accounting == Accounting::On || !is_block {
            return Ok(None);
        }
        let Some(outputs) = &mut self.outputs else {
            return Ok(None);
        };
        outputs.are_copied = true;
        let least = CExpr::literal((LARGE / bytes).max(1).to_string());
        let many = CExpr::binary(CBinary::GreaterEqual, outputs.iterations.clone(), least);
        Ok(Some(many))
    }
}

pub const COPY_OUT: &str = "/* Copies to a block; past the caches where it is larger than they are. Lines that are overwritten in part go through them. */
static inline void copy_out(void *to, const void *from, size_t bytes, bool large) {
#if defined(__SSE2__)
  if (large && bytes >= 128) {
    char *const place = to;
    const char *const cells = from;
    size_t done = -(uintptr_t)place & 63;
    memcpy(place, cells, done);
    for (; done + 64 <= bytes; done += 64) {
#if defined(__AVX512F__)
      _mm512_stream_si512((void *)(place + done), _mm512_loadu_si512(cells + done));
#else
      for (size_t at = done; at < done + 64; at += 16) {
        _mm_stream_si128((void *)(place + at), _mm_loadu_si128((const void *)(cells + at)));
      }
#endif
    }
    memcpy(place + done, cells + done, bytes - done);
    return;
  }
#else
  (void)large;
#endif
  memcpy(to, from, bytes);
}
";

pub const COPIED_OUT: &str = "/* What was copied out is there for other threads. */
static inline void copied_out(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
";
