//! Making arrays, growing them, writing to them.

use super::Slot;
use super::step::{Step, bug, integer, out_of_bounds};
use crate::interp::code::{
    B, BeginInstr, Cells, IndexInput, Input, LiteralInstr, MakeTuplesInstr, PackInstr, PartInput, PushInstr,
    SetCellInstr, Shape, SliceInstr, UpdateInstr, UpdateScalarInstr, Use,
};
use crate::interp::error::{Fail, FailKind, Site};
use crate::interp::whole::{self, Part};
use almach_value::{ArrayValue, ElementShape, Elements, Value};
use std::sync::Arc;

impl Step<'_> {
    fn parts(&self, parts: &[PartInput]) -> Vec<Part> {
        parts
            .iter()
            .map(|part| match part {
                PartInput::At(IndexInput { reg, ty }) => Part::At(integer(self.get(*reg), *ty)),
                PartInput::Slice { begin, count, step } => Part::Slice {
                    begin: self.get(*begin) as i64,
                    count: self.get(*count) as i64,
                    step: self.get(*step) as i64,
                },
            })
            .collect()
    }

    pub(super) fn slice(&mut self, slice: &SliceInstr) -> Result<(), Fail> {
        let parts = self.parts(&slice.parts);
        let array = self.array(slice.array)?;
        let part = whole::slice(array, &parts).map_err(|kind| kind.at(slice.site))?;
        self.put(slice.to, part);
        Ok(())
    }

    pub(super) fn update(&mut self, update: &UpdateInstr) -> Result<(), Fail> {
        let parts = self.parts(&update.parts);
        let value = self.load(&update.value)?;
        let mut array = self.array_value(update.array)?;
        whole::update(Arc::make_mut(&mut array), &parts, value).map_err(|kind| kind.at(update.site))?;
        self.put(update.to, Value::Array(array));
        Ok(())
    }

    pub(super) fn update_scalar(&mut self, update: &UpdateScalarInstr) -> Result<(), Fail> {
        let (at, raw) = (self.get(update.at.reg), self.get(update.value));
        let mut array = self.array_value(update.array)?;
        let len = array.len;
        let written = match (&mut Arc::make_mut(&mut array).elements, usize::try_from(at)) {
            (Elements::Scalars(buffer), Ok(at)) => buffer.set_raw(at, raw),
            (Elements::Scalars(_), Err(_)) => false,
            _ => return Err(bug("a scalar for an array of others")),
        };
        if !written {
            return Err(out_of_bounds(at, update.at.ty, len).at(update.site));
        }
        self.put(update.to, Value::Array(array));
        Ok(())
    }

    fn shape(&self, shape: &Shape, site: Site) -> Result<ElementShape, Fail> {
        Ok(match shape {
            Shape::Scalar(ty) => ElementShape::Scalar(*ty),
            Shape::Vector(width, ty) => ElementShape::Vector(*width, *ty),
            Shape::Tuple(parts) => {
                let parts: Result<Vec<_>, _> = parts.iter().map(|part| self.shape(part, site)).collect();
                ElementShape::Tuple(parts?)
            }
            Shape::Row(size, element) => {
                let size = self.get(*size) as i64;
                let size = whole::size(size).map_err(|kind| kind.at(site))?;
                ElementShape::Row(size, Box::new(self.shape(element, site)?))
            }
            Shape::Jagged(element) => ElementShape::Jagged(Box::new(self.shape(element, site)?)),
            Shape::Boxed => ElementShape::Boxed,
        })
    }

    pub(super) fn begin(&mut self, begin: &BeginInstr) -> Result<(), Fail> {
        let shape = self.shape(&begin.shape, begin.site)?;
        let capacity = whole::size(self.get(begin.capacity) as i64).map_err(|kind| kind.at(begin.site))?;
        self.limits
            .room_for(capacity, &shape)
            .map_err(|kind| kind.at(begin.site))?;
        let array = ArrayValue::with_capacity(&shape, capacity);
        self.put_slot(begin.to, Slot::Open(Box::new(array)));
        Ok(())
    }

    pub(super) fn push(&mut self, push: &PushInstr) -> Result<(), Fail> {
        let value = self.load(&push.value)?;
        let limits = self.limits;
        let array = self.opened(push.array)?;
        array
            .push(value)
            .map_err(|wrong| FailKind::bug(format!("an element does not fit: {wrong}")).at(push.site))?;
        if let Elements::Jagged { inner, .. } = &array.elements {
            limits
                .room_for(inner.len, &inner.element_shape())
                .map_err(|kind| kind.at(push.site))?;
        }
        Ok(())
    }

    pub(super) fn open(&mut self, to: B, array: Use, cells: Cells) -> Result<(), Fail> {
        let array = self.array_value(array)?;
        let open = match cells {
            Cells::Flat => Arc::unwrap_or_clone(array),
            Cells::Separate => ArrayValue {
                len: array.len,
                elements: Elements::Boxed(array.values().collect()),
            },
        };
        self.put_slot(to, Slot::Open(Box::new(open)));
        Ok(())
    }

    pub(super) fn set_cell(&mut self, set: &SetCellInstr) -> Result<(), Fail> {
        let at = self.get(set.at) as usize;
        if let Input::Scalar(reg, _) = set.value {
            let raw = self.get(reg);
            if let Elements::Scalars(buffer) = &mut self.opened(set.array)?.elements
                && buffer.set_raw(at, raw)
            {
                return Ok(());
            }
            return Err(bug("a cell that is not there"));
        }
        let value = self.load(&set.value)?;
        let array = self.opened(set.array)?;
        match &mut array.elements {
            // Cells held one by one may be of any size.
            Elements::Boxed(cells) => match cells.get_mut(at) {
                Some(cell) => {
                    *cell = value;
                    Ok(())
                }
                None => Err(bug("a cell that is not there")),
            },
            _ => array
                .set(at, &value)
                .map_err(|wrong| bug(&format!("a cell does not fit: {wrong}"))),
        }
    }

    pub(super) fn finish(&mut self, to: B, array: Use) -> Result<(), Fail> {
        match self.slot(array) {
            Slot::Open(array) => {
                self.put(to, Value::array(*array));
                Ok(())
            }
            _ => Err(bug("an array that is not open")),
        }
    }

    pub(super) fn pack(&mut self, pack: &PackInstr) -> Result<(), Fail> {
        let shape = self.shape(&pack.shape, pack.site)?;
        let cells = match self.slot(pack.array) {
            Slot::Open(array) => match array.elements {
                Elements::Boxed(cells) => cells,
                _ => return Err(bug("cells that are not separate")),
            },
            _ => return Err(bug("an array that is not open")),
        };
        let array = ArrayValue::from_values(&shape, cells)
            .map_err(|wrong| bug(&format!("cells do not fit together: {wrong}")))?;
        self.put(pack.to, Value::array(array));
        Ok(())
    }

    pub(super) fn make_tuples(&mut self, make: &MakeTuplesInstr) -> Result<(), Fail> {
        let len = self.get(make.len) as i64;
        let len = usize::try_from(len).unwrap_or(0);
        let parts: Result<Vec<_>, _> = make.parts.iter().map(|part| self.array_value(*part)).collect();
        let array = ArrayValue::tuples(len, parts?).map_err(|wrong| bug(&wrong.to_string()))?;
        self.put(make.to, Value::array(array));
        Ok(())
    }

    pub(super) fn literal(&mut self, literal: &LiteralInstr) -> Result<(), Fail> {
        let shape = self.shape(&literal.shape, literal.site)?;
        let mut array = ArrayValue::with_capacity(&shape, literal.elements.len());
        for element in &literal.elements {
            let value = self.load(element)?;
            array
                .push(value)
                .map_err(|wrong| bug(&format!("an element does not fit: {wrong}")))?;
        }
        self.put(literal.to, Value::array(array));
        Ok(())
    }
}
