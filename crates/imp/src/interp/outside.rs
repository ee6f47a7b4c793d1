//! What a program asks of its surroundings: C functions, and lines that it prints.

use super::{Frame, Machine, Run, RunError, Slot as Place, View};
use crate::interface::{Shape, TAG};
use crate::ir::{Argument, Site};
use crate::marshal::{self, Slot};
use almach_base::{Name, Span};
use almach_value::{Extent, ForeignType, Scalar, ScalarType, ValueType, print};

/// Who answers.
pub trait Host {
    /// Calls a C function on the slots of its parameters; gives those of its result, or why it cannot.
    fn foreign(&mut self, function: &ForeignType, arguments: Vec<Slot>) -> Result<Vec<Slot>, String> {
        let _ = arguments;
        Err(format!("the foreign function `{}` is not linked", function.name))
    }

    /// A `trace` ran.
    fn trace(&mut self, label: &str, text: &str) {
        let _ = (label, text);
    }
}

/// Knows no C functions and prints nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoHost;

impl Host for NoHost {}

impl Machine<'_> {
    pub(super) fn trace(
        &mut self,
        label: &Name,
        ty: &ValueType,
        arguments: &[Argument],
        frame: &Frame,
    ) -> Run<()> {
        let shape = shape_of(ty)?;
        let mut slots = Vec::new();
        self.slots(&shape, &mut arguments.iter(), None, frame, &mut slots)?;
        let value = marshal::from_slots(&shape, &mut slots.into_iter())
            .map_err(|error| RunError::Broken(error.to_string()))?;
        self.host.trace(label, &print(&value, ty, Extent::Full));
        Ok(())
    }

    pub(super) fn foreign(
        &mut self,
        function: &ForeignType,
        arguments: &[Argument],
        span: Span,
        frame: &mut Frame,
    ) -> Run<()> {
        let mut rest = arguments.iter();
        let mut slots = Vec::new();
        for param in &function.params {
            self.slots(&shape_of(param)?, &mut rest, None, frame, &mut slots)?;
        }
        let results = self.host.foreign(function, slots).map_err(|text| {
            let site = Site {
                code: almach_base::codes::runtime::FOREIGN_FAILED,
                span,
                text: Name::from(text.replace("{}", "{ }")),
            };
            RunError::Failed {
                site,
                arguments: Vec::new(),
            }
        })?;
        for (argument, slot) in rest.zip(results) {
            let (name, place) = match (argument, slot) {
                (Argument::Out(name), Slot::Scalar(scalar)) => (name, Place::Scalar(Some(scalar))),
                (Argument::Out(name), Slot::Size(size)) => (name, Place::Scalar(Some(Scalar::I64(size)))),
                (Argument::Owned(name), Slot::Buffer(buffer)) => {
                    self.free(name, frame)?;
                    let block = self.block(buffer.iter().map(Some).collect());
                    (name, Place::Buffer(Some(View { block, offset: 0 })))
                }
                _ => return Err(RunError::Broken("a foreign function gave other results".into())),
            };
            frame.set(name, place);
        }
        Ok(())
    }

    /// The slots of a value of some shape; `cells` are those of every buffer inside arrays.
    fn slots<'s>(
        &mut self,
        shape: &Shape,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        cells: Option<i64>,
        frame: &Frame,
        out: &mut Vec<Slot>,
    ) -> Run<()> {
        match shape {
            Shape::Scalar(ty) => self.slot(*ty, arguments.next(), cells, frame, out),
            Shape::Vector(width, ty) => match cells {
                Some(cells) => {
                    let cells = cells * i64::from(*width);
                    self.slot(*ty, arguments.next(), Some(cells), frame, out)
                }
                None => (0..*width).try_for_each(|_| self.slot(*ty, arguments.next(), None, frame, out)),
            },
            Shape::Tuple(parts) => parts
                .iter()
                .try_for_each(|part| self.slots(part, arguments, cells, frame, out)),
            Shape::Datum(table, _) => self.slots(table, arguments, cells, frame, out),
            Shape::Rows(element) => {
                if let Some(rows) = cells {
                    self.slot(ScalarType::I64, arguments.next(), Some(rows + 1), frame, out)?;
                }
                let total = self.size(arguments.next(), frame)?;
                out.push(Slot::Size(total));
                self.slots(element, arguments, Some(total), frame, out)
            }
            Shape::Array(_, element) => {
                let size = self.size(arguments.next(), frame)?;
                out.push(Slot::Size(size));
                let cells = cells.unwrap_or(1) * size;
                self.slots(element, arguments, Some(cells), frame, out)
            }
            Shape::Sum(constructors) => {
                self.slot(TAG, arguments.next(), cells, frame, out)?;
                constructors
                    .iter()
                    .flatten()
                    .try_for_each(|field| self.slots(field, arguments, cells, frame, out))
            }
        }
    }

    fn size(&mut self, argument: Option<&Argument>, frame: &Frame) -> Run<i64> {
        match argument {
            Some(Argument::Value(size)) => match self.expr(size, frame)? {
                Scalar::I64(size) => Ok(size),
                _ => Err(RunError::Broken("a size that is none".into())),
            },
            _ => Err(RunError::Broken("an array without a size".into())),
        }
    }

    fn slot(
        &mut self,
        ty: ScalarType,
        argument: Option<&Argument>,
        cells: Option<i64>,
        frame: &Frame,
        out: &mut Vec<Slot>,
    ) -> Run<()> {
        out.push(match (argument, cells) {
            (Some(Argument::Value(value)), None) => Slot::Scalar(self.expr(value, frame)?),
            (Some(Argument::Buffer(buffer, index)), Some(cells)) => {
                let start = self.index(index, frame)?;
                let scalars = (0..cells).map(|at| self.read(buffer, start + at, frame));
                let scalars = scalars.collect::<Run<Vec<Scalar>>>()?;
                let buffer =
                    marshal::buffer_from(ty, scalars).map_err(|error| RunError::Broken(error.to_string()))?;
                Slot::Buffer(buffer)
            }
            _ => return Err(RunError::Broken("an argument that is no slot".into())),
        });
        Ok(())
    }
}

fn shape_of(ty: &ValueType) -> Run<Shape> {
    Shape::of(ty).ok_or_else(|| RunError::Broken(format!("a value of type `{ty}` has no slots")))
}
