//! Whose memory has the cells of a block: the host's, the device's, or both. A kernel gets what it needs; the host has to fetch what
//! a kernel wrote, and to say so before it writes what the device has as well.

use super::trace::Place;
use super::{Frame, Machine, Run, RunError, Slot};
use crate::ir::{Access, Transfer};
use almach_base::Name;

/// Who has the cells of a block as they are now.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Home {
    #[default]
    Host,
    Both,
    Device,
}

impl Machine<'_> {
    /// Notes that a cell of a block is used.
    pub(super) fn visit(&mut self, place: Place, buffer: &Name, access: Access) -> Run<()> {
        if !self.in_kernel && self.lent.contains(&place) {
            return Ok(());
        }
        let Some(home) = self.homes.get_mut(place.block) else {
            return Ok(());
        };
        let broken = |what: &str| {
            Err(RunError::Broken(format!(
                "the host {what} `{buffer}`, which a kernel used"
            )))
        };
        match (self.in_kernel, access, *home) {
            (true, Access::Read, Home::Host) => *home = Home::Both,
            (true, Access::Write, _) => *home = Home::Device,
            (true, Access::Read, Home::Both | Home::Device) | (false, _, Home::Host) => {}
            (false, Access::Read, Home::Both) => {}
            (false, Access::Read, Home::Device) => return broken("reads"),
            (false, Access::Write, Home::Both | Home::Device) => return broken("writes"),
        }
        Ok(())
    }

    pub(super) fn transfer(&mut self, transfer: &Transfer, frame: &Frame) -> Run<()> {
        match transfer {
            Transfer::Attach { buffer, size } => {
                let (view, size) = (self.view(buffer, frame)?, self.index(size, frame)?);
                match self.cells(view).len() {
                    found if i64::try_from(found) == Ok(size + view.offset) => Ok(()),
                    found => Err(RunError::Broken(format!(
                        "`{buffer}` is attached with {size} cells and has {found}"
                    ))),
                }
            }
            Transfer::Cell {
                column,
                index,
                access: _,
            } => {
                let (view, index) = (self.view(column, frame)?, self.index(index, frame)?);
                if let Ok(cell) = usize::try_from(index) {
                    let block = view.block;
                    self.lent.insert(Place { block, cell });
                }
                Ok(())
            }
            Transfer::Copied { buffer: _, count } => self.index(count, frame).map(|_| ()),
            Transfer::Fresh { buffer } => {
                let view = self.view(buffer, frame)?;
                if let Some(home) = self.homes.get_mut(view.block) {
                    *home = Home::Both;
                }
                Ok(())
            }
            Transfer::Fetch { buffer, access } => {
                if let Some(Slot::Buffer(None)) = frame.get(buffer) {
                    return Ok(());
                }
                let view = self.view(buffer, frame)?;
                if let Some(home) = self.homes.get_mut(view.block) {
                    *home = match (*home, access) {
                        (Home::Host, _) | (_, Access::Write) => Home::Host,
                        (Home::Both | Home::Device, Access::Read) => Home::Both,
                    };
                }
                Ok(())
            }
        }
    }
}
