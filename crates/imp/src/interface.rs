//! How values outside meet the parameters of an entry's procedure.
//!
//! A value is passed as a sequence of slots, in the order of a walk over its shape: a scalar is one slot, a vector one per
//! lane, a tuple the slots of its components. An array has a slot for its size, then the slots of its elements' shape,
//! where every scalar is a buffer instead: `[n](f32, [m]i32)` has the slots `n`, a buffer of `n` floats, `m`, a buffer of
//! `n*m` integers. A sum has a slot for its constructor, then the slots of every constructor's fields.
//!
//! Rows of their own sizes (jagged) have, inside an array, a slot for their offsets: a buffer of one `i64` more than there are
//! rows, the first 0, each where the next row starts, the last the size of the data. Then follow, as for an array, the size of
//! the data (of all rows together) and the slots of its elements: `[n][?][?]f32` has the slots `n`, `n+1` offsets, `k`,
//! `k+1` offsets, `l`, a buffer of `l` floats. Outside of arrays, as a field of a sum, such a row is an array.
//!
//! A recursive datum has the slots of its root and of its table, an array of nodes: `List f32` has a slot for the root, `n`, a
//! buffer of `n` constructors, one of `n` floats, one of `n` positions.
//!
//! Parameters of the procedure are the slots of all arguments, then those of all results: `out` scalars and sizes, and
//! owned buffers.

use crate::ir::Proc;
use almach_base::{Name, Span};
use almach_value::{DimType, Group, NodeReferences, ScalarType, ValueType};
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// What the user calls it.
    pub name: Name,
    /// The procedure of the program.
    pub proc: Name,
    pub params: Vec<EntryParam>,
    /// The function's values; several are the components of one tuple to the user.
    pub results: Vec<Shape>,
    pub result_type: ValueType,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct EntryParam {
    pub name: Name,
    pub ty: ValueType,
    pub shape: Shape,
}

/// What decides the slots of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    Scalar(ScalarType),
    Vector(u32, ScalarType),
    Tuple(Vec<Shape>),
    /// An array; its size where the type says it.
    Array(Option<i64>, Box<Shape>),
    /// A row of its own size.
    Rows(Box<Shape>),
    /// The fields of each constructor.
    Sum(Vec<Vec<Shape>>),
    /// A recursive datum: what is passed is its root and its table, a tuple of a number and an array of nodes.
    Datum(Box<Shape>, Tables),
}

/// What the nodes of a table are.
#[derive(Clone, PartialEq, Debug)]
pub enum Tables {
    /// Those of one recursive type.
    One(Arc<NodeReferences>),
    /// Those of types that refer to each other, in one table: its constructors are those of all types, one type after another.
    Group(Arc<Group>),
}

/// One slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    Scalar(ScalarType),
    Size,
    Buffer(ScalarType),
}

/// The type of the slot that says which constructor a sum has.
pub const TAG: ScalarType = ScalarType::U32;

impl Entry {
    /// The parameters of the entry's procedure that are sizes of arguments, and so never negative.
    pub fn sizes(&self, proc: &Proc) -> Vec<Name> {
        let slots = self.params.iter().flat_map(|param| param.shape.slots());
        let sizes = proc
            .params
            .iter()
            .zip(slots)
            .filter(|(_, slot)| *slot == Slot::Size);
        sizes.map(|(param, _)| param.name.clone()).collect()
    }
}

impl Shape {
    /// The shape of values of a type; none for recursive data.
    pub fn of(ty: &ValueType) -> Option<Shape> {
        let all = |types: &mut dyn Iterator<Item = &ValueType>| -> Option<Vec<Shape>> {
            types.map(Shape::of).collect()
        };
        Some(match ty {
            ValueType::Scalar(scalar) => Shape::Scalar(*scalar),
            ValueType::Vector(width, scalar) => Shape::Vector(*width, *scalar),
            ValueType::Tuple(parts) => Shape::Tuple(all(&mut parts.iter())?),
            ValueType::Record(fields) => Shape::Tuple(all(&mut fields.iter().map(|(_, ty)| ty))?),
            ValueType::Recursive(_) => return None,
            ValueType::Array(DimType::Jagged, element) => Shape::Rows(Box::new(Shape::of(element)?)),
            ValueType::Array(dim, element) => {
                let size = match dim {
                    DimType::Known(size) => Some(*size),
                    _ => None,
                };
                Shape::Array(size, Box::new(Shape::of(element)?))
            }
            ValueType::Sum(sum) => {
                let fields = sum
                    .constructors
                    .iter()
                    .map(|constructor| all(&mut constructor.fields.iter()));
                Shape::Sum(fields.collect::<Option<_>>()?)
            }
        })
    }

    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.collect(Inside::Nothing, &mut slots);
        slots
    }

    /// The slots of elements.
    pub fn slots_in_array(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.collect(Inside::Array, &mut slots);
        slots
    }

    /// Whether there are rows of their own sizes.
    pub fn has_rows(&self) -> bool {
        match self {
            Shape::Scalar(_) | Shape::Vector(..) => false,
            Shape::Tuple(parts) => parts.iter().any(Shape::has_rows),
            Shape::Array(_, element) => element.has_rows(),
            Shape::Rows(_) => true,
            Shape::Sum(constructors) => constructors.iter().flatten().any(Shape::has_rows),
            Shape::Datum(table, _) => table.has_rows(),
        }
    }

    fn collect(&self, inside: Inside, slots: &mut Vec<Slot>) {
        let scalar = |ty: ScalarType| match inside {
            Inside::Nothing => Slot::Scalar(ty),
            Inside::Array => Slot::Buffer(ty),
        };
        match self {
            Shape::Scalar(ty) => slots.push(scalar(*ty)),
            Shape::Vector(width, ty) => match inside {
                Inside::Nothing => slots.extend((0..*width).map(|_| scalar(*ty))),
                Inside::Array => slots.push(scalar(*ty)),
            },
            Shape::Tuple(parts) => parts.iter().for_each(|part| part.collect(inside, slots)),
            Shape::Array(_, element) => {
                slots.push(Slot::Size);
                element.collect(Inside::Array, slots);
            }
            Shape::Rows(element) => {
                if let Inside::Array = inside {
                    slots.push(Slot::Buffer(ScalarType::I64));
                }
                slots.push(Slot::Size);
                element.collect(Inside::Array, slots);
            }
            Shape::Datum(table, _) => table.collect(inside, slots),
            Shape::Sum(constructors) => {
                slots.push(scalar(TAG));
                constructors
                    .iter()
                    .flatten()
                    .for_each(|field| field.collect(inside, slots));
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Inside {
    Nothing,
    Array,
}
