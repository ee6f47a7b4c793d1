//! Atomic steps, and waiting for what another iteration publishes.

use super::trace::Place;
use super::{Frame, Machine, Run, RunError, Slot};
use crate::ir::{Access, AtomicStep, Expr, Index, Order};
use almach_base::Name;
use almach_value::Scalar;

impl Machine<'_> {
    pub(super) fn atomic(
        &mut self,
        step: &AtomicStep,
        order: Order,
        buffer: &Name,
        index: &Index,
        frame: &mut Frame,
    ) -> Run<()> {
        let value = step.value().map(|value| self.expr(value, frame)).transpose()?;
        let index = self.index(index, frame)?;
        let (place, _) = self.locate(buffer, index, frame)?;
        let access = match step {
            AtomicStep::Load { .. } => Access::Read,
            AtomicStep::Store(_) | AtomicStep::Exchange { .. } | AtomicStep::Update(..) => Access::Write,
        };
        self.visit(place, buffer, access)?;
        let before = match step {
            AtomicStep::Store(_) => None,
            AtomicStep::Load { .. } | AtomicStep::Exchange { .. } | AtomicStep::Update(..) => {
                self.traces.atomic_read(place, buffer)?;
                Some(self.written(place, buffer)?)
            }
        };
        if order.acquires() {
            self.traces.acquire(place);
        }
        let after = match (step, before, value) {
            (AtomicStep::Update(op, _), Some(before), Some(value)) => {
                let result = op.eval(before, value).and_then(Result::ok);
                Some(result.ok_or_else(|| RunError::Broken("an atomic update of no such cell".into()))?)
            }
            (_, _, value) => value,
        };
        if let Some(after) = after {
            self.traces.atomic_write(place, buffer)?;
            match (order.releases(), step) {
                (true, _) => self.traces.release(place),
                (false, AtomicStep::Store(_)) => self.traces.forget(place),
                // What is read, changed and written goes on handing over what was released there.
                (false, _) => {}
            }
            self.set(place, after);
        }
        if let (Some((name, _)), Some(before)) = (step.bound(), before) {
            frame.set(name, Slot::Scalar(Some(before)));
        }
        Ok(())
    }

    /// Iterations run in order here: what is not there yet when it is awaited would never come.
    pub(super) fn wait(&mut self, buffer: &Name, index: &Index, value: &Expr, frame: &Frame) -> Run<()> {
        let wanted = self.expr(value, frame)?;
        let index = self.index(index, frame)?;
        let (place, _) = self.locate(buffer, index, frame)?;
        self.visit(place, buffer, Access::Read)?;
        self.traces.atomic_read(place, buffer)?;
        let found = self.written(place, buffer)?;
        if found != wanted {
            return Err(RunError::Broken(format!(
                "cell {} of `{buffer}` is awaited, but no earlier iteration publishes it",
                place.cell
            )));
        }
        self.traces.acquire(place);
        Ok(())
    }

    fn written(&self, place: Place, buffer: &Name) -> Run<Scalar> {
        let cells = self.heap.get(place.block).and_then(|block| block.as_ref());
        match cells.and_then(|cells| cells.get(place.cell)) {
            Some(Some(value)) => Ok(*value),
            _ => Err(RunError::Unwritten {
                what: format!("cell {} of `{buffer}`", place.cell),
            }),
        }
    }

    fn set(&mut self, place: Place, value: Scalar) {
        if let Some(Some(cells)) = self.heap.get_mut(place.block)
            && let Some(cell) = cells.get_mut(place.cell)
        {
            *cell = Some(value);
        }
    }

    /// Keeps the first cells of a block.
    pub(super) fn shrink(&mut self, buffer: &Name, size: &Index, frame: &Frame) -> Run<()> {
        let wanted = self.index(size, frame)?;
        let view = self.view(buffer, frame)?;
        match (usize::try_from(wanted), self.heap.get_mut(view.block)) {
            (Ok(size), Some(Some(cells))) if size <= cells.len() => {
                cells.truncate(size);
                Ok(())
            }
            _ => Err(RunError::Broken(format!(
                "`{buffer}` is shrunk to {wanted} cells"
            ))),
        }
    }
}
