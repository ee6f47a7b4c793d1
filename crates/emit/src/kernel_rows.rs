//! Columns of stores in kernels: memory of the device with a cell for every row, which goes there and comes back by rows (`device/rows.c`).

use crate::procedure::Emitter;
use crate::stores::StoreText;
use crate::tree::CExpr;
use crate::{Form, Target};
use almach_base::{Diagnostic, Name};
use almach_imp::{Access, Index, Stmt};
use std::collections::BTreeSet;

type Emit<T> = Result<T, Box<Diagnostic>>;

/// What the run time of kernels has in its places where columns are used.
const PLACES: [(&str, &str); 6] = [
    (
        "MIRRORED\n",
        "  bool is_column;\n  int column;\n  int64_t first; /* no row of it before this one is written */\n",
    ),
    (
        "ROW_TYPES\n",
        "/* Rows up to an end, and who has them. */
struct rows {
  int64_t end;
  int valid;
};

/* A column of a store on the device: memory for so many rows. Its runs of rows go from the first row on, one behind the other. */
struct mirror {
  device_memory memory;
  int64_t room;
  struct rows *runs;
  size_t count, room_for_runs;
  bool host_goes_on; /* the host writes the rows that are made */
};

",
    ),
    ("MIRRORS\n", "  struct mirror mirrors[COLUMNS];\n"),
    (
        "PREPARE_ROWS\n",
        "    if (arguments[i].is_column) {
      if (prepare_rows(ctx, &arguments[i], &memory) != 0) return 1;
      add_argument(&start, &memory, sizeof memory);
      continue;
    }
",
    ),
    (
        "FORGET_ROWS\n",
        "static void forget_rows(struct device *device);\n\n",
    ),
    ("END_OF_ROWS\n", "  forget_rows(device);\n"),
];

/// Of `launch`, in front of it.
const PREPARE: &str =
    "static int prepare_rows(struct NAME_ctx *ctx, const struct argument *argument, device_memory *memory);

";

/// Fills the places for columns in the run time of kernels.
pub fn filled(mut blocks: String, columns: &Columns) -> String {
    for (place, text) in PLACES {
        blocks = match columns.count() {
            0 => blocks.replace(place, ""),
            _ => blocks.replace(place, text),
        };
    }
    match columns.count() {
        0 => blocks,
        _ => blocks.replace(
            "/* Starts a kernel of so many",
            &format!("{PREPARE}/* Starts a kernel of so many"),
        ),
    }
}

const ROWS: &str = include_str!("device/rows.c");
const OPENCL_ROWS: &str = include_str!("device/opencl_rows.c");
const CUDA_ROWS: &str = include_str!("device/cuda_rows.c");
const NVCC_ROWS: &str = include_str!("device/nvcc_rows.c");

/// Which columns kernels use, in the order of their numbers.
#[derive(Default)]
pub struct Columns(Vec<Name>);

impl Columns {
    /// The number of a column.
    fn number(&mut self, column: &Name) -> usize {
        let at = self.0.iter().position(|known| known == column);
        at.unwrap_or_else(|| {
            self.0.push(column.clone());
            self.0.len() - 1
        })
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What moves rows.
    pub fn text<'s>(
        &self,
        target: Target,
        form: Form,
        stores: impl Iterator<Item = &'s StoreText> + Clone,
    ) -> Option<String> {
        let growth = match (form, target) {
            (Form::Nvcc, _) => NVCC_ROWS,
            (Form::C, Target::Cuda) => CUDA_ROWS,
            (Form::C, Target::C | Target::OpenMp | Target::OpenCl) => OPENCL_ROWS,
        };
        let row = |column: &Name| stores.clone().find_map(|store| store.place_in_memory(column));
        let rows: String = self.0.iter().filter_map(row).collect();
        (self.count() > 0).then(|| [growth, &ROWS.replace("TABLE", &rows)].concat())
    }
}

impl Emitter<'_> {
    fn column_number(&mut self, column: &Name) -> Emit<CExpr> {
        let Some(kernels) = self.kernels.as_mut() else {
            return Err(self.bug("rows are moved in a kernel"));
        };
        Ok(CExpr::literal(kernels.columns.number(column).to_string()))
    }

    /// A column as a kernel's argument.
    pub fn rows_argument(&mut self, column: &Name, access: Access, body: &[Stmt]) -> Emit<CExpr> {
        let number = self.column_number(column)?;
        let first = match access {
            Access::Read => CExpr::literal("0"),
            Access::Write => self.first_written(column, body)?,
        };
        let passing = CExpr::name(crate::device::passing(access));
        Ok(CExpr::call("rows_of", [number, passing, first]))
    }

    /// A row that no row is before which a kernel writes: the first of those that were reserved for it, where that can be seen.
    fn first_written(&mut self, column: &Name, body: &[Stmt]) -> Emit<CExpr> {
        let mut rows = BTreeSet::new();
        let all_known = self.written_rows(column, body, &mut rows);
        let mut first: Option<CExpr> = None;
        for row in rows {
            let row = CExpr::name(self.known(&row)?.c_name.clone());
            first = Some(match first {
                None => row,
                Some(other) => CExpr::call("earlier_row", [other, row]),
            });
        }
        Ok(first.filter(|_| all_known).unwrap_or_else(|| CExpr::literal("0")))
    }

    /// The first of the rows that are written, by their names; false where some are not known.
    fn written_rows(&self, column: &Name, body: &[Stmt], rows: &mut BTreeSet<Name>) -> bool {
        body.iter().all(|stmt| {
            let here = match stmt {
                Stmt::Store { buffer, index, .. } if buffer == column => {
                    let row = index.free_vars().find(|var| self.reserved.contains(*var));
                    rows.extend(row.cloned());
                    row.is_some()
                }
                Stmt::Copy { to, .. } | Stmt::Atomic { buffer: to, .. } => to != column,
                _ => true,
            };
            here && stmt
                .blocks()
                .into_iter()
                .all(|block| self.written_rows(column, block, rows))
        })
    }

    /// `fetch read S$0`.
    pub fn fetch_rows(&mut self, column: &Name, access: Access) -> Emit<CExpr> {
        let number = self.column_number(column)?;
        let passing = CExpr::name(crate::device::passing(access));
        Ok(CExpr::call("fetch_rows", [self.context()?, number, passing]))
    }

    /// `fetch read S$0[i]`.
    pub fn fetch_row(&mut self, column: &Name, index: &Index, access: Access) -> Emit<CExpr> {
        let number = self.column_number(column)?;
        let row = self.index(index, crate::index::Arithmetic::Wrapping);
        let passing = CExpr::name(crate::device::passing(access));
        Ok(CExpr::call("fetch_row", [self.context()?, number, row, passing]))
    }
}
