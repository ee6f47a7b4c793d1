//! Runs the Dpia programs of both stages, and reads values from what they write.

use almach_dpia::interp::{Block, RunError, Step, run};
use almach_dpia::{Checked, Data, Nat, PhraseType};
use almach_imp::interface::{Entry, Shape};
use almach_imp::marshal::{Slot, buffer_from, from_slots};
use almach_value::{Scalar, ScalarType, Value};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// Runs the procedure of an entry without parameters: the last one, since callees come before callers.
pub fn run_phrases(checked: &Checked, entry: &Entry) -> Result<Value, RunError> {
    let proc = checked.program().procs.last().unwrap();
    let blocks = run(checked, &proc.name, &[], &[])?;
    let mut datas = Vec::new();
    let mut ty = &proc.ty;
    while let PhraseType::Fun(_, from, to) = ty {
        if let PhraseType::Acc(data) = &**from {
            datas.push(data.clone());
        }
        ty = to;
    }
    let mut slots = Vec::new();
    match datas.as_slice() {
        [Data::Some(names, body)] => {
            let block = &blocks[0];
            let sizes = names.iter().enumerate().map(|(at, name)| {
                let size = block.get(&[Step::Size(at)]).unwrap().as_integer().unwrap();
                (name.to_string(), size as i64)
            });
            let sizes: HashMap<String, i64> = sizes.collect();
            let rows = entry.results.iter().any(Shape::has_rows);
            let parts = match (&**body, entry.results.len()) {
                (one, 1) if !rows => vec![(vec![Step::Contents], one.clone())],
                (Data::Tuple(parts), _) => {
                    let parts = parts.iter().enumerate();
                    parts
                        .map(|(at, part)| (vec![Step::Contents, Step::Field(at)], part.clone()))
                        .collect()
                }
                _ => unreachable!("several results are a tuple"),
            };
            let (values, pools) = parts.split_at(entry.results.len());
            let reader = Reader {
                block,
                sizes: &sizes,
                pools: RefCell::new(pools.iter().cloned().collect()),
            };
            for (shape, (path, data)) in entry.results.iter().zip(values) {
                reader.slots(shape, data, std::slice::from_ref(path), &mut slots);
            }
        }
        _ => {
            let sizes = HashMap::new();
            for ((shape, data), block) in entry.results.iter().zip(&datas).zip(&blocks) {
                let reader = Reader {
                    block,
                    sizes: &sizes,
                    pools: RefCell::default(),
                };
                reader.slots(shape, data, &[vec![]], &mut slots);
            }
        }
    }
    let mut slots = slots.into_iter();
    let values: Vec<Value> = entry
        .results
        .iter()
        .map(|shape| from_slots(shape, &mut slots).unwrap())
        .collect();
    Ok(match <[Value; 1]>::try_from(values) {
        Ok([one]) => one,
        Err(several) => Value::tuple(several),
    })
}

struct Reader<'a> {
    block: &'a Block,
    sizes: &'a HashMap<String, i64>,
    /// What rows are in, those that are yet to come.
    pools: RefCell<VecDeque<(Vec<Step>, Data)>>,
}

impl Reader<'_> {
    fn size(&self, nat: &Nat) -> i64 {
        nat.eval(&|name| self.sizes.get(&**name).copied()).unwrap()
    }

    /// The slots of data at several paths at once: one outside arrays, all elements inside them.
    fn slots(&self, shape: &Shape, data: &Data, paths: &[Vec<Step>], slots: &mut Vec<Slot>) {
        let in_array = slots_are_buffers(paths);
        match (shape, data) {
            (Shape::Scalar(ty), _) => {
                let scalars = paths.iter().map(|path| self.block.get(path).unwrap());
                slots.push(match in_array {
                    true => Slot::Buffer(buffer_from(*ty, scalars).unwrap()),
                    false => Slot::Scalar(self.block.get(&paths[0]).unwrap()),
                });
            }
            (Shape::Vector(width, ty), _) => {
                let lanes = |path: &Vec<Step>| -> Vec<Scalar> {
                    (0..*width)
                        .map(|lane| self.block.get(&below(path, Step::Lane(lane))).unwrap())
                        .collect()
                };
                match in_array {
                    true => {
                        let all = paths.iter().flat_map(lanes);
                        slots.push(Slot::Buffer(buffer_from(*ty, all).unwrap()));
                    }
                    false => slots.extend(paths.iter().flat_map(lanes).map(Slot::Scalar)),
                }
            }
            (Shape::Tuple(parts), Data::Tuple(types)) => {
                for (at, (part, data)) in parts.iter().zip(types).enumerate() {
                    let inner: Vec<_> = paths.iter().map(|path| below(path, Step::Field(at))).collect();
                    self.slots(part, data, &inner, slots);
                }
            }
            (Shape::Rows(element), _) => {
                if in_array {
                    self.offsets(paths, slots);
                }
                self.pool(element, slots);
            }
            (Shape::Array(_, element), Data::Array(size, data)) => {
                let size = self.size(size);
                slots.push(Slot::Size(size));
                let inner: Vec<_> = paths
                    .iter()
                    .flat_map(|path| (0..size).map(|at| below(path, Step::At(at))))
                    .collect();
                let inner = match inner.is_empty() {
                    // No elements: still a buffer, of nothing.
                    true => vec![],
                    false => inner,
                };
                self.elements(element, data, &inner, slots);
            }
            (Shape::Sum(constructors), Data::Tuple(types)) => {
                let tags: Vec<_> = paths.iter().map(|path| below(path, Step::Field(0))).collect();
                self.slots(
                    &Shape::Scalar(almach_imp::interface::TAG),
                    &types[0],
                    &tags,
                    slots,
                );
                for (at, (fields, data)) in constructors.iter().zip(&types[1..]).enumerate() {
                    let Data::Tuple(field_types) = data else {
                        unreachable!("fields are a tuple");
                    };
                    for (field_at, (field, data)) in fields.iter().zip(field_types).enumerate() {
                        let inner: Vec<_> = paths
                            .iter()
                            .map(|path| below(&below(path, Step::Field(at + 1)), Step::Field(field_at)))
                            .collect();
                        self.slots(field, data, &inner, slots);
                    }
                }
            }
            (Shape::Datum(table, _), data) => self.slots(table, data, paths, slots),
            (shape, data) => panic!("{shape:?} of {data}"),
        }
    }

    /// 0, and where each row ends.
    fn offsets(&self, rows: &[Vec<Step>], slots: &mut Vec<Slot>) {
        let ends = rows
            .iter()
            .map(|path| self.block.get(&below(path, Step::Field(1))).unwrap());
        let offsets = [Scalar::I64(0)].into_iter().chain(ends);
        slots.push(Slot::Buffer(buffer_from(ScalarType::I64, offsets).unwrap()));
    }

    /// The elements of all rows.
    fn pool(&self, element: &Shape, slots: &mut Vec<Slot>) {
        let (path, data) = self.pools.borrow_mut().pop_front().unwrap();
        let Data::Array(size, data) = data else {
            unreachable!("a pool is an array");
        };
        let size = self.size(&size);
        slots.push(Slot::Size(size));
        let inner: Vec<_> = (0..size).map(|at| below(&path, Step::At(at))).collect();
        self.elements(element, &data, &inner, slots);
    }

    /// As `slots`, for elements of an array, of which there may be none.
    fn elements(&self, shape: &Shape, data: &Data, paths: &[Vec<Step>], slots: &mut Vec<Slot>) {
        match (paths.is_empty(), shape, data) {
            (false, ..) => self.slots(shape, data, paths, slots),
            (true, Shape::Scalar(ty) | Shape::Vector(_, ty), _) => {
                slots.push(Slot::Buffer(buffer_from(*ty, []).unwrap()));
            }
            (true, Shape::Tuple(parts), Data::Tuple(types)) => {
                for (part, data) in parts.iter().zip(types) {
                    self.elements(part, data, paths, slots);
                }
            }
            (true, Shape::Rows(element), _) => {
                self.offsets(paths, slots);
                self.pool(element, slots);
            }
            (true, Shape::Array(_, element), Data::Array(size, data)) => {
                slots.push(Slot::Size(self.size(size)));
                self.elements(element, data, paths, slots);
            }
            (true, Shape::Sum(constructors), Data::Tuple(types)) => {
                slots.push(Slot::Buffer(buffer_from(almach_imp::interface::TAG, []).unwrap()));
                for (fields, data) in constructors.iter().zip(&types[1..]) {
                    self.elements(&Shape::Tuple(fields.clone()), data, paths, slots);
                }
            }
            (true, Shape::Datum(table, _), data) => self.elements(table, data, paths, slots),
            (true, shape, data) => panic!("{shape:?} of {data}"),
        }
    }
}

/// Whether paths lead into an array.
fn slots_are_buffers(paths: &[Vec<Step>]) -> bool {
    paths.iter().flatten().any(|step| matches!(step, Step::At(_)))
}

fn below(path: &[Step], step: Step) -> Vec<Step> {
    path.iter().copied().chain([step]).collect()
}
