//! Entry points called with values.

use crate::library::{Argument, Library, Output};
use almach_base::{Diagnostic, compiler_bug};
use almach_imp::interface::{Entry, Slot as SlotKind};
use almach_imp::marshal::{Slot, arguments_to_slots, from_slots};
use almach_value::{Scalar, Value};

impl Library {
    /// Seconds that calls of an entry point take, until `enough` of those so far. Values are made arguments once.
    pub fn time_entry(
        &mut self,
        entry: &Entry,
        arguments: &[Value],
        mut enough: impl FnMut(&[f64]) -> bool,
    ) -> Result<Vec<f64>, Box<Diagnostic>> {
        let broken = |what: String| Box::new(compiler_bug(entry.span, what));
        let slots = arguments_to_slots(entry, arguments).map_err(|error| broken(error.0))?;
        let mut seconds = Vec::new();
        while !enough(&seconds) {
            let results = wanted_results(entry);
            let arguments = slots.iter().map(argument).chain(results).collect();
            seconds.push(self.time(&entry.proc, arguments)?);
        }
        Ok(seconds)
    }

    /// Runs an entry point on values of its parameters' types. Several results are one tuple.
    pub fn call_entry(&mut self, entry: &Entry, arguments: &[Value]) -> Result<Value, Box<Diagnostic>> {
        let broken = |what: String| Box::new(compiler_bug(entry.span, what));
        let slots = arguments_to_slots(entry, arguments).map_err(|error| broken(error.0))?;
        let inputs = slots.iter().map(argument);
        let kinds: Vec<SlotKind> = entry.results.iter().flat_map(|shape| shape.slots()).collect();
        let outputs = self.call(&entry.proc, inputs.chain(wanted_results(entry)).collect())?;
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

fn argument(slot: &Slot) -> Argument<'_> {
    match slot {
        Slot::Scalar(scalar) => Argument::Value(*scalar),
        Slot::Size(size) => Argument::Value(Scalar::I64(*size)),
        Slot::Buffer(buffer) => Argument::Read(buffer),
    }
}

/// What a call gives, behind its arguments.
fn wanted_results<'a>(entry: &Entry) -> Vec<Argument<'a>> {
    let kinds = entry.results.iter().flat_map(|shape| shape.slots());
    let wanted = kinds.map(|kind| match kind {
        SlotKind::Scalar(_) | SlotKind::Size => Argument::Out,
        SlotKind::Buffer(_) => Argument::Owned,
    });
    wanted.collect()
}
