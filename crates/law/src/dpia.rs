//! Entries of a program in Dpia, run on values by its store-based interpreter.
//!
//! Values are passed as the slots of Imp's interface; slots and data types are walks over the same structure.

use almach_base::Name;
use almach_core::Function;
use almach_dpia::interp::{Block, RunError, Step, run};
use almach_dpia::{Checked, Data, Kind, Nat, PhraseType};
use almach_imp::interface::{Entry, Shape};
use almach_imp::marshal::{Slot, arguments_to_slots, buffer_from, from_slots};
use almach_value::{Scalar, ScalarType, Value};
use std::collections::HashMap;

/// Runs an entry; none where its values have a form that this page does not know.
pub fn run_entry(
    checked: &Checked,
    function: &Function,
    proc: &str,
    entry: &Entry,
    arguments: &[Value],
) -> Option<Result<Value, RunError>> {
    let known = checked
        .program()
        .procs
        .iter()
        .find(|known| &*known.name == proc)?;
    let mut ty = &known.ty;
    let mut sizes: Vec<Name> = Vec::new();
    while let PhraseType::Dependent(name, Kind::Nat, body) = ty {
        sizes.push(name.clone());
        ty = body;
    }
    let mut slots = arguments_to_slots(entry, arguments).ok()?.into_iter();
    let mut solved: HashMap<Name, i64> = HashMap::new();
    let mut inputs = Vec::new();
    for param in &function.params {
        let name = Name::from(param.var.to_string());
        if sizes.contains(&name) {
            match slots.next()? {
                Slot::Scalar(Scalar::I64(size)) => solved.insert(name, size),
                _ => return None,
            };
            continue;
        }
        let PhraseType::Fun(_, from, to) = ty else {
            return None;
        };
        let PhraseType::Exp(data) = &**from else {
            return None;
        };
        let mut block = Block::default();
        read(
            data,
            &mut slots,
            &[Vec::new()],
            Place::Alone,
            &mut block,
            &mut solved,
        )?;
        inputs.push(block);
        ty = to;
    }
    let sizes: Vec<i64> = sizes
        .iter()
        .map(|size| solved.get(size).copied())
        .collect::<Option<_>>()?;
    let outputs = match run(checked, proc, &sizes, &inputs) {
        Ok(outputs) => outputs,
        Err(error) => return Some(Err(error)),
    };
    results(entry, ty, &outputs, solved).map(Ok)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Alone,
    InArray,
}

/// Fills a block from slots. `prefixes` are the paths of all elements, in order.
fn read(
    data: &Data,
    slots: &mut impl Iterator<Item = Slot>,
    prefixes: &[Vec<Step>],
    place: Place,
    block: &mut Block,
    solved: &mut HashMap<Name, i64>,
) -> Option<()> {
    match data {
        Data::Scalar(_) => match (place, slots.next()?) {
            (Place::Alone, Slot::Scalar(scalar)) => {
                block.set(prefixes.first()?, scalar)?;
            }
            (Place::InArray, Slot::Buffer(buffer)) => {
                if buffer.len() != prefixes.len() {
                    return None;
                }
                for (path, scalar) in prefixes.iter().zip(buffer.iter()) {
                    block.set(path, scalar)?;
                }
            }
            _ => return None,
        },
        Data::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                let prefixes: Vec<_> = prefixes
                    .iter()
                    .map(|prefix| longer(prefix, Step::Field(at)))
                    .collect();
                read(part, slots, &prefixes, place, block, solved)?;
            }
        }
        Data::Array(size, element) => {
            let Slot::Size(count) = slots.next()? else {
                return None;
            };
            match size.as_var() {
                Some(name) => {
                    solved.entry(name.clone()).or_insert(count);
                }
                None => {
                    evaluate(size, solved).filter(|known| *known == count)?;
                }
            }
            read(
                element,
                slots,
                &indexed(prefixes, count),
                Place::InArray,
                block,
                solved,
            )?;
        }
        Data::Index(_) | Data::Vector(..) | Data::Some(..) | Data::Var(_) => return None,
    }
    Some(())
}

fn longer(prefix: &[Step], step: Step) -> Vec<Step> {
    let mut path = prefix.to_vec();
    path.push(step);
    path
}

fn indexed(prefixes: &[Vec<Step>], count: i64) -> Vec<Vec<Step>> {
    let rows = prefixes.iter();
    rows.flat_map(|prefix| (0..count).map(|at| longer(prefix, Step::At(at))))
        .collect()
}

fn evaluate(size: &Nat, solved: &HashMap<Name, i64>) -> Option<i64> {
    size.eval(&|name: &Name| solved.get(name).copied())
}

/// The values that a run wrote to its acceptors.
fn results(
    entry: &Entry,
    ty: &PhraseType,
    outputs: &[Block],
    mut solved: HashMap<Name, i64>,
) -> Option<Value> {
    let mut datas = Vec::new();
    let mut rest = ty;
    while let PhraseType::Fun(_, from, to) = rest {
        let PhraseType::Acc(data) = &**from else {
            return None;
        };
        datas.push(data);
        rest = to;
    }
    let mut parts: Vec<(&Data, &Block, Vec<Step>)> = Vec::new();
    match (datas.as_slice(), outputs) {
        ([Data::Some(names, body)], [block]) => {
            for (at, name) in names.iter().enumerate() {
                let Some(Scalar::I64(size)) = block.get(&[Step::Size(at)]) else {
                    return None;
                };
                solved.insert(name.clone(), size);
            }
            let inside = vec![Step::Contents];
            match &**body {
                Data::Tuple(values) if entry.results.len() != 1 => {
                    for (at, value) in values.iter().enumerate() {
                        parts.push((value, block, longer(&inside, Step::Field(at))));
                    }
                }
                one => parts.push((one, block, inside)),
            }
        }
        _ => parts.extend(
            datas
                .into_iter()
                .zip(outputs)
                .map(|(data, block)| (data, block, Vec::new())),
        ),
    }
    let mut values = Vec::new();
    for (shape, (data, block, path)) in entry.results.iter().zip(parts) {
        let mut slots = Vec::new();
        write(shape, data, block, &[path], Place::Alone, &solved, &mut slots)?;
        values.push(from_slots(shape, &mut slots.into_iter()).ok()?);
    }
    match values.len() {
        _ if values.len() != entry.results.len() => None,
        1 => values.pop(),
        _ => Some(Value::tuple(values)),
    }
}

/// The slots of a value in a block. What nothing wrote is in no constructor that was chosen.
fn write(
    shape: &Shape,
    data: &Data,
    block: &Block,
    prefixes: &[Vec<Step>],
    place: Place,
    solved: &HashMap<Name, i64>,
    slots: &mut Vec<Slot>,
) -> Option<()> {
    match (shape, data) {
        (Shape::Scalar(ty), Data::Scalar(_)) => slots.push(leaf(*ty, block, prefixes, place)?),
        (Shape::Datum(table, _), data) => write(table, data, block, prefixes, place, solved, slots)?,
        (Shape::Tuple(shapes), Data::Tuple(parts)) if shapes.len() == parts.len() => {
            for (at, (shape, part)) in shapes.iter().zip(parts).enumerate() {
                let prefixes: Vec<_> = prefixes
                    .iter()
                    .map(|prefix| longer(prefix, Step::Field(at)))
                    .collect();
                write(shape, part, block, &prefixes, place, solved, slots)?;
            }
        }
        (Shape::Array(_, inner), Data::Array(size, element)) => {
            let count = evaluate(size, solved)?;
            slots.push(Slot::Size(count));
            write(
                inner,
                element,
                block,
                &indexed(prefixes, count),
                Place::InArray,
                solved,
                slots,
            )?;
        }
        (Shape::Sum(constructors), Data::Tuple(parts)) if parts.len() == constructors.len() + 1 => {
            let tag = Shape::Scalar(almach_imp::interface::TAG);
            let fields = constructors.iter().map(|fields| Shape::Tuple(fields.clone()));
            for (at, (shape, part)) in std::iter::once(tag).chain(fields).zip(parts).enumerate() {
                let prefixes: Vec<_> = prefixes
                    .iter()
                    .map(|prefix| longer(prefix, Step::Field(at)))
                    .collect();
                write(&shape, part, block, &prefixes, place, solved, slots)?;
            }
        }
        _ => return None,
    }
    Some(())
}

fn leaf(ty: ScalarType, block: &Block, prefixes: &[Vec<Step>], place: Place) -> Option<Slot> {
    let scalar = |path: &Vec<Step>| block.get(path).unwrap_or_else(|| Scalar::zero(ty));
    match place {
        Place::Alone => Some(Slot::Scalar(scalar(prefixes.first()?))),
        Place::InArray => buffer_from(ty, prefixes.iter().map(scalar))
            .ok()
            .map(Slot::Buffer),
    }
}
