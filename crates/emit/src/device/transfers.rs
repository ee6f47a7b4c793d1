//! What the host says of cells that kernels use.

use crate::index::Arithmetic;
use crate::procedure::Emitter;
use crate::tree::{CExpr, CStmt};
use almach_base::{Diagnostic, Name};
use almach_imp::{Access, Transfer, is_column};

type Emit<T> = Result<T, Box<Diagnostic>>;

impl Emitter<'_> {
    pub fn transfer(&mut self, transfer: &Transfer, out: &mut Vec<CStmt>) -> Emit<()> {
        let context = self.context()?;
        let cells = |this: &Self, buffer: &Name| -> Emit<CExpr> {
            Ok(CExpr::name(this.known(buffer)?.c_name.clone()))
        };
        match transfer {
            Transfer::Attach { buffer, size } => {
                let cells = cells(self, buffer)?;
                let cell = CExpr::SizeOfCell(Box::new(cells.clone()));
                let count = self.index(size, Arithmetic::Wrapping);
                self.or_fail(CExpr::call("attach", [context, cells, count, cell]), out)
            }
            Transfer::Fresh { buffer } => {
                let cells = cells(self, buffer)?;
                out.push(CStmt::Do(CExpr::call("fresh", [context, cells])));
                Ok(())
            }
            Transfer::Copied { buffer, count } => self.count_kernel(buffer, count, out),
            Transfer::Fetch { buffer, access } if is_column(buffer) => {
                let fetch = self.fetch_rows(buffer, *access)?;
                self.or_fail(fetch, out)
            }
            Transfer::Cell {
                column,
                index,
                access,
            } => {
                let fetch = self.fetch_row(column, index, *access)?;
                self.or_fail(fetch, out)
            }
            Transfer::Fetch { buffer, access } => {
                let cells = cells(self, buffer)?;
                let passing = CExpr::name(passing(*access));
                self.or_fail(CExpr::call("fetch", [context, cells, passing]), out)
            }
        }
    }

    /// A result becomes the caller's, on the host or on the device.
    pub fn hand_over(&mut self, buffer: &Name, out: &mut Vec<CStmt>) -> Emit<()> {
        let context = self.context()?;
        let cells = CExpr::name(self.known(buffer)?.c_name.clone());
        self.or_fail(CExpr::call("hand_over", [context, cells]), out)
    }
}

pub fn passing(access: Access) -> &'static str {
    match access {
        Access::Read => "READS",
        Access::Write => "WRITES",
    }
}
