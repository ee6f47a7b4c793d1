//! Entries run on values.

use super::{Host, MOST_CALLS, NoHost, Passed, RunError, run_with};
use crate::check::Checked;
use crate::interface::{Entry, Slot as SlotKind};
use crate::marshal::{self, MarshalError, Slot};
use almach_value::{Scalar, ScalarType, Value};

/// Runs an entry on values; several results are one tuple.
pub fn run_entry(checked: &Checked, entry: &Entry, arguments: &[Value]) -> Result<Value, RunError> {
    run_entry_with(checked, entry, arguments, &mut NoHost)
}

/// The same, with somebody to ask for C functions and to print traces.
pub fn run_entry_with(
    checked: &Checked,
    entry: &Entry,
    arguments: &[Value],
    host: &mut dyn Host,
) -> Result<Value, RunError> {
    let slots = marshal::arguments_to_slots(entry, arguments).map_err(broken)?;
    let mut passed: Vec<Passed> = slots
        .into_iter()
        .map(|slot| match slot {
            Slot::Scalar(scalar) => Passed::Value(scalar),
            Slot::Size(size) => Passed::Value(Scalar::I64(size)),
            Slot::Buffer(buffer) => Passed::Buffer(buffer.iter().map(Some).collect()),
        })
        .collect();
    let inputs = passed.len();
    let kinds: Vec<SlotKind> = entry.results.iter().flat_map(|shape| shape.slots()).collect();
    passed.extend(kinds.iter().map(|kind| match kind {
        SlotKind::Scalar(_) | SlotKind::Size => Passed::Out(None),
        SlotKind::Buffer(_) => Passed::Owned(None),
    }));
    let results = run_with(checked, &entry.proc, passed, MOST_CALLS, host)?;
    let mut slots = Vec::new();
    for (kind, result) in kinds.iter().zip(results.into_iter().skip(inputs)) {
        slots.push(slot(*kind, result)?);
    }
    let mut slots = slots.into_iter();
    let values = entry
        .results
        .iter()
        .map(|shape| marshal::from_slots(shape, &mut slots));
    let mut values = values
        .collect::<Result<Vec<Value>, MarshalError>>()
        .map_err(broken)?;
    match values.len() {
        1 => Ok(values.swap_remove(0)),
        _ => Ok(Value::tuple(values)),
    }
}

fn slot(kind: SlotKind, result: Passed) -> Result<Slot, RunError> {
    Ok(match (kind, result) {
        (SlotKind::Scalar(_), Passed::Out(Some(scalar))) => Slot::Scalar(scalar),
        (SlotKind::Size, Passed::Out(Some(Scalar::I64(size)))) => Slot::Size(size),
        (SlotKind::Buffer(ty), Passed::Owned(Some(cells))) => Slot::Buffer(buffer(ty, cells)?),
        (kind, _) => {
            return Err(RunError::Unwritten {
                what: format!("a result ({kind:?})"),
            });
        }
    })
}

fn buffer(ty: ScalarType, cells: Vec<Option<Scalar>>) -> Result<almach_value::Buffer, RunError> {
    let scalars: Option<Vec<Scalar>> = cells.into_iter().collect();
    match scalars {
        Some(scalars) => marshal::buffer_from(ty, scalars).map_err(broken),
        None => Err(RunError::Unwritten {
            what: "a cell of a result".into(),
        }),
    }
}

fn broken(error: MarshalError) -> RunError {
    RunError::Broken(error.0)
}
