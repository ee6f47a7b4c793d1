//! A program as native code: lowered, compiled by the C compiler, loaded, called.

use almach_base::{Diagnostic, SourceMap, Span, compiler_bug};
use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_driver::back::{self, Target};
use almach_imp::interface::{Entry, Slot as SlotKind};
use almach_imp::marshal::{Slot, from_slots, to_slots};
use almach_native::{Argument, Library, Output, Toolchain};
use almach_value::{Scalar, Value};
use std::cell::RefCell;

pub struct Native {
    entries: Vec<Entry>,
    /// Calls write into the library's context.
    library: RefCell<Library>,
}

impl Native {
    /// Compiles entries of a program into one library.
    pub fn new(
        strategy: &Checked<Core>,
        entries: &[&almach_core::Entry],
        sources: &SourceMap,
        target: Target,
    ) -> Result<Native, Vec<Diagnostic>> {
        let native = |diagnostic: Box<Diagnostic>| vec![*diagnostic];
        let toolchain = Toolchain::find().map_err(native)?;
        let lowered = back::lowered(strategy, entries)?;
        let source = back::c_source(&lowered, sources, "program", target)?;
        let compiled = toolchain.library(&source, target, &[]).map_err(native)?;
        let library = Library::load(&compiled.path, source.interface).map_err(native)?;
        Ok(Native {
            entries: lowered.entries,
            library: RefCell::new(library),
        })
    }

    pub fn call(&self, name: &str, args: &[Value]) -> Result<Value, Diagnostic> {
        let Some(entry) = self.entries.iter().find(|entry| &*entry.name == name) else {
            return Err(bug("an entry was lost in lowering"));
        };
        let mut slots = Vec::new();
        for (param, value) in entry.params.iter().zip(args) {
            to_slots(value, &param.shape, &mut slots).map_err(|error| bug(&error.to_string()))?;
        }
        let mut arguments: Vec<Argument<'_>> = slots.iter().map(argument).collect();
        let kinds: Vec<SlotKind> = entry.results.iter().flat_map(|shape| shape.slots()).collect();
        arguments.extend(kinds.iter().map(wanted));
        let outputs = self
            .library
            .borrow_mut()
            .call(&entry.proc, arguments)
            .map_err(|diagnostic| *diagnostic)?;
        result(entry, &kinds, outputs)
    }
}

/// The value of an entry's results.
fn result(entry: &Entry, kinds: &[SlotKind], outputs: Vec<Output>) -> Result<Value, Diagnostic> {
    let mut slots = kinds.iter().zip(outputs).map(|(kind, output)| slot(kind, output));
    let mut values = Vec::new();
    for shape in &entry.results {
        values.push(from_slots(shape, &mut slots).map_err(|error| bug(&error.to_string()))?);
    }
    match <[Value; 1]>::try_from(values) {
        Ok([value]) => Ok(value),
        Err(values) => Ok(Value::tuple(values)),
    }
}

fn argument(slot: &Slot) -> Argument<'_> {
    match slot {
        Slot::Scalar(scalar) => Argument::Value(*scalar),
        Slot::Size(size) => Argument::Value(Scalar::I64(*size)),
        Slot::Buffer(buffer) => Argument::Read(buffer),
    }
}

fn wanted<'a>(kind: &SlotKind) -> Argument<'a> {
    match kind {
        SlotKind::Scalar(_) | SlotKind::Size => Argument::Out,
        SlotKind::Buffer(_) => Argument::Owned,
    }
}

fn slot(kind: &SlotKind, output: Output) -> Slot {
    match (kind, output) {
        (SlotKind::Size, Output::Scalar(Scalar::I64(size))) => Slot::Size(size),
        (_, Output::Scalar(scalar)) => Slot::Scalar(scalar),
        (_, Output::Buffer(buffer)) => Slot::Buffer(buffer),
    }
}

fn bug(what: &str) -> Diagnostic {
    compiler_bug(Span::NONE, what.to_owned())
}
