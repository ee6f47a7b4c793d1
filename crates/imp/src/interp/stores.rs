//! Stores: memory that only grows. A column is a block of the heap that gets longer.

use super::trace::Place;
use super::{Machine, Run, RunError, out_of_memory};
use crate::ir::Writing;
use almach_base::{Name, Span};
use almach_value::{Scalar, ScalarType};
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(super) struct Stores {
    /// How many rows each has.
    counts: FxHashMap<Name, usize>,
    columns: FxHashMap<Name, Column>,
}

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) block: usize,
    pub(super) writing: Writing,
}

impl Stores {
    pub(super) fn column(&self, name: &Name) -> Option<Column> {
        self.columns.get(name).copied()
    }
}

impl Machine<'_> {
    /// Stores are empty at the start of a call. They end with it, so that they count in no leak.
    pub(super) fn make_stores(&mut self) {
        let program = self.program;
        for column in program.columns() {
            self.heap.push(Some(Vec::new()));
            self.homes.push(super::Home::Host);
            let block = self.heap.len() - 1;
            let writing = column.writing;
            self.stores
                .columns
                .insert(column.name.clone(), Column { block, writing });
        }
    }

    /// New rows; gives the number of the first.
    pub(super) fn reserve(&mut self, store: &Name, count: i64, span: Span) -> Run<i64> {
        let Ok(rows) = usize::try_from(count) else {
            return Err(RunError::Broken(format!(
                "{count} rows of `{store}` are reserved"
            )));
        };
        let program = self.program;
        let Some(found) = program.stores.iter().find(|known| known.name == *store) else {
            return Err(RunError::Broken(format!("there is no store `{store}`")));
        };
        for column in &found.columns {
            self.extend(&column.name, column.ty, rows)
                .ok_or_else(|| out_of_memory(count, span))?;
        }
        let before = self.stores.counts.entry(store.clone()).or_default();
        let first = *before as i64;
        *before += rows;
        Ok(first)
    }

    fn extend(&mut self, column: &Name, ty: ScalarType, rows: usize) -> Option<()> {
        let block = self.stores.column(column)?.block;
        let cells = self.heap.get_mut(block)?.as_mut()?;
        cells.try_reserve(rows).ok()?;
        cells.resize(cells.len() + rows, Some(Scalar::zero(ty)));
        Some(())
    }

    /// The first value that is not zero stays; says whether this one does.
    pub(super) fn settle(&mut self, place: Place, value: Scalar) -> bool {
        if let Some(Some(cells)) = self.heap.get_mut(place.block)
            && let Some(cell) = cells.get_mut(place.cell)
            && cell.is_none_or(|before| before == Scalar::zero(before.ty()))
        {
            *cell = Some(value);
            return true;
        }
        false
    }
}
