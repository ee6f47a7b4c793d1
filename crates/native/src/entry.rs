//! Entry points called with values.

use crate::library::{Argument, Library, Output};
use almach_base::{Diagnostic, compiler_bug};
use almach_imp::interface::{Entry, Slot as SlotKind};
use almach_imp::marshal::{Slot, from_slots, to_slots};
use almach_value::{DimType, Scalar, Sizes, Value, ValueType, conforms_with};

impl Library {
    /// Runs an entry point on values of its parameters' types. Several results are one tuple.
    pub fn call_entry(&mut self, entry: &Entry, arguments: &[Value]) -> Result<Value, Box<Diagnostic>> {
        let broken = |what: String| Box::new(compiler_bug(entry.span, what));
        if entry.params.len() != arguments.len() {
            return Err(broken(format!(
                "`{}` takes {} arguments and gets {}",
                entry.name,
                entry.params.len(),
                arguments.len()
            )));
        }
        let mut sizes = Sizes::new();
        for (param, value) in entry.params.iter().zip(arguments) {
            conforms_with(value, &param.ty, &mut sizes).map_err(|wrong| broken(wrong.to_string()))?;
        }
        let mut slots = Vec::new();
        for (param, value) in entry.params.iter().zip(arguments) {
            let first = slots.len();
            to_slots(value, &param.shape, &mut slots).map_err(|error| broken(error.0))?;
            let mut own = slots.iter_mut().skip(first);
            complete(&param.ty, &sizes, Around::Value, &mut own);
        }
        let inputs = slots.iter().map(|slot| match slot {
            Slot::Scalar(scalar) => Argument::Value(*scalar),
            Slot::Size(size) => Argument::Value(Scalar::I64(*size)),
            Slot::Buffer(buffer) => Argument::Read(buffer),
        });
        let kinds: Vec<SlotKind> = entry.results.iter().flat_map(|shape| shape.slots()).collect();
        let results = kinds.iter().map(|kind| match kind {
            SlotKind::Scalar(_) | SlotKind::Size => Argument::Out,
            SlotKind::Buffer(_) => Argument::Owned,
        });
        let outputs = self.call(&entry.proc, inputs.chain(results).collect())?;
        let filled = kinds
            .iter()
            .zip(outputs)
            .map(|(kind, output)| match (kind, output) {
                (SlotKind::Size, Output::Scalar(Scalar::I64(size))) => Slot::Size(size),
                (_, Output::Scalar(scalar)) => Slot::Scalar(scalar),
                (_, Output::Buffer(buffer)) => Slot::Buffer(buffer),
            });
        let mut filled = filled.collect::<Vec<_>>().into_iter();
        let mut values = Vec::new();
        for shape in &entry.results {
            values.push(from_slots(shape, &mut filled).map_err(|error| broken(error.0))?);
        }
        match values.len() {
            1 => Ok(values.swap_remove(0)),
            _ => Ok(Value::tuple(values)),
        }
    }
}

/// What a part of a value stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Value,
    Array,
    /// An array without elements: nothing tells the sizes of its rows.
    EmptyArray,
}

/// The rows of an empty array have the sizes that their names have elsewhere: `[]` is a `[0][m]t` for every `m`.
fn complete<'s>(
    ty: &ValueType,
    sizes: &Sizes,
    around: Around,
    slots: &mut impl Iterator<Item = &'s mut Slot>,
) {
    match ty {
        ValueType::Scalar(_) => {
            slots.next();
        }
        ValueType::Vector(width, _) => {
            let count = if around == Around::Value {
                *width as usize
            } else {
                1
            };
            slots.by_ref().take(count).for_each(drop);
        }
        ValueType::Tuple(parts) => parts.iter().for_each(|part| complete(part, sizes, around, slots)),
        ValueType::Record(fields) => {
            fields
                .iter()
                .for_each(|(_, field)| complete(field, sizes, around, slots));
        }
        ValueType::Array(dim, element) => {
            let Some(Slot::Size(size)) = slots.next() else {
                return;
            };
            let known = match dim {
                DimType::Known(known) => Some(*known),
                DimType::Named(name) => sizes.get(name).copied(),
                DimType::Expression(_) | DimType::Unknown | DimType::Jagged => None,
            };
            if let (Around::EmptyArray, Some(known)) = (around, known) {
                *size = known;
            }
            let inside = match (around, *size) {
                (Around::EmptyArray, _) | (_, 0) => Around::EmptyArray,
                _ => Around::Array,
            };
            complete(element, sizes, inside, slots);
        }
        // Arrays in sums have sizes of their own.
        ValueType::Sum(sum) => {
            slots.next();
            let fields = sum
                .constructors
                .iter()
                .flat_map(|constructor| &constructor.fields);
            fields.for_each(|field| complete(field, &Sizes::new(), around, slots));
        }
        ValueType::Recursive(_) => {}
    }
}
