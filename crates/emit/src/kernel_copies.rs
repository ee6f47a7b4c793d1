//! Copies that kernels make, where a run counts what it does to memory.
//!
//! - A copy inside a kernel adds its bytes to a counter in the mailbox, one more cell of it, which the host reads with the rest.
//! - Of a copy that became a kernel, Imp says so (`copied xs[n]`): the host counts it where it starts the kernel.

use crate::Accounting;
use crate::helpers::Helper;
use crate::index::Arithmetic;
use crate::procedure::Emitter;
use crate::tree::{CBinary, CExpr, CStmt, CType};
use almach_base::{Diagnostic, Name};
use almach_imp::Index;
use almach_value::ScalarType;

type Emit<T> = Result<T, Box<Diagnostic>>;

impl Emitter<'_> {
    /// In a kernel: so many cells are copied.
    pub fn count_in_kernel(&mut self, cell: ScalarType, count: &Index, out: &mut Vec<CStmt>) {
        if self.unit.accounting == Accounting::Off {
            return;
        }
        let function = self.helpers.need(Helper::CountCopied);
        let bytes = self.bytes(cell, count, "uint64_t");
        let counted = CExpr::call(&function, [CExpr::name("box"), bytes]);
        out.push(self.where_any(count, counted));
    }

    /// On the host: kernels that copy so many cells are started.
    pub fn count_kernel(&mut self, to: &Name, count: &Index, out: &mut Vec<CStmt>) -> Emit<()> {
        if self.unit.accounting == Accounting::On {
            let cell = self.known(to)?.ty;
            let bytes = self.bytes(cell, count, "size_t");
            let counted = CExpr::call("count_copied", [bytes]);
            out.push(self.where_any(count, counted));
        }
        Ok(())
    }

    fn bytes(&mut self, cell: ScalarType, count: &Index, ty: &str) -> CExpr {
        let cells = CExpr::cast(CType::Named(ty.into()), self.index(count, Arithmetic::Wrapping));
        CExpr::binary(CBinary::Multiply, cells, CExpr::literal(cell.bytes().to_string()))
    }

    fn where_any(&mut self, count: &Index, then: CExpr) -> CStmt {
        let count = self.index(count, Arithmetic::Wrapping);
        let any = CExpr::binary(CBinary::Greater, count, crate::index::integer(0));
        CStmt::when(any, vec![CStmt::Do(then)])
    }
}

/// For kernels. The counter is two halves: not every device adds 64 bits at once.
pub const COUNT_COPIED: &str = r"FUNCTION void count_copied(volatile GLOBAL struct mailbox *box, uint64_t bytes) {
  volatile GLOBAL uint32_t *const halves = (volatile GLOBAL uint32_t *)&box->results[sizeof box->results / 8 - 1];
  const uint32_t low = (uint32_t)bytes, before = ADD_32(&halves[0], low);
  const uint32_t high = (uint32_t)(bytes >> 32) + ((uint32_t)(before + low) < before ? 1u : 0u);
  if (high != 0) ADD_32(&halves[1], high);
}
";

/// Of the host's side of the mailbox: a number for all devices, what a device had copied when its mailbox was looked at last, the look, and
/// the mailbox made empty.
pub const COPIED: [&str; 4] = [
    "static int64_t copied_by_kernels;\n\n",
    "  uint64_t copied; /* bytes, by kernels, when the mailbox was looked at */\n",
    r"  const uint64_t copied = device->box.results[sizeof device->box.results / 8 - 1];
  __atomic_add_fetch(&copied_by_kernels, (int64_t)(copied - device->copied), __ATOMIC_RELAXED);
  device->copied = copied;
",
    "  device->copied = 0;\n",
];
