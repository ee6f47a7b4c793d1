//! Recursive data: systems of equations (Nishimura & Ohori), or cells that constructors made.

use crate::{ArrayValue, Buffer, Elements, Scalar, SumValue, Value};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A recursive datum: a node of a table it shares, or a cell made by a constructor. Cells refer to other data by
/// sharing; only tables may be cyclic, and their references are positions, so reference counts free everything.
#[derive(Clone, Debug)]
pub enum Datum {
    Cell(Arc<Cell>),
    InTable { table: Arc<NodeTable>, at: usize },
}

/// What a constructor made.
#[derive(Debug)]
pub struct Cell {
    pub constructor: u32,
    pub fields: Vec<Value>,
    /// The table of what is reachable from here (this cell is its node 0), once somebody asked for it.
    table: OnceLock<Arc<NodeTable>>,
}

/// A system of equations: node values whose references are positions.
#[derive(Debug)]
pub struct NodeTable {
    pub nodes: Vec<SumValue>,
    pub references: Arc<NodeReferences>,
}

/// Which fields of a recursive type's constructors refer to nodes of the same table: by constructor, by field.
pub type NodeReferences = Vec<Vec<References>>;

/// Where a field of a node value holds positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum References {
    /// Nowhere.
    None,
    /// It is one.
    Position,
    Tuple(Vec<References>),
    /// In its elements.
    Array(Box<References>),
    /// In the fields of a sum, by constructor.
    Sum(NodeReferences),
}

/// A table cannot be a datum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableError {
    Empty,
    Root {
        root: i64,
        nodes: usize,
    },
    Reference {
        node: usize,
        reference: i64,
        nodes: usize,
    },
    /// The reference is to no node behind the one that has it.
    Earlier {
        node: usize,
        reference: i64,
        nodes: usize,
    },
    /// A node does not look as its constructor says: a mistake of the caller.
    Malformed {
        node: usize,
    },
}

/// What tells one node from another while both live.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeIdentity(usize, usize);

impl Cell {
    pub fn new(constructor: u32, fields: Vec<Value>) -> Cell {
        Cell {
            constructor,
            fields,
            table: OnceLock::new(),
        }
    }
}

impl References {
    pub fn is_none(&self) -> bool {
        match self {
            References::None => true,
            References::Position => false,
            References::Tuple(components) => components.iter().all(References::is_none),
            References::Array(element) => element.is_none(),
            References::Sum(constructors) => constructors.iter().flatten().all(References::is_none),
        }
    }

    /// Those of the fields of a sum's value.
    fn of_fields<'r>(constructors: &'r NodeReferences, sum: &SumValue) -> &'r [References] {
        constructors
            .get(sum.constructor as usize)
            .map_or(&[], Vec::as_slice)
    }
}

/// A sum with its fields replaced, each by what says where it holds positions.
fn map_fields(
    sum: &SumValue,
    constructors: &NodeReferences,
    replace: &mut dyn FnMut(&Value, &References) -> Value,
) -> Value {
    let fields = sum.fields.iter().zip(References::of_fields(constructors, sum));
    let fields = fields.map(|(field, references)| replace(field, references));
    Value::sum(sum.constructor, fields.collect::<Vec<_>>())
}

impl NodeTable {
    /// The datum with a root in a table, after checking every reference (`build`, `from_nodes`).
    pub fn datum(self, root: i64) -> Result<Datum, TableError> {
        let count = self.nodes.len();
        if count == 0 {
            return Err(TableError::Empty);
        }
        let Some(at) = position(root, count) else {
            return Err(TableError::Root { root, nodes: count });
        };
        for (node, value) in self.nodes.iter().enumerate() {
            let references = self
                .references
                .get(value.constructor as usize)
                .filter(|fields| fields.len() == value.fields.len())
                .ok_or(TableError::Malformed { node })?;
            for (field, references) in value.fields.iter().zip(references) {
                check_positions(field, references, node, count)?;
            }
        }
        Ok(Datum::InTable {
            table: Arc::new(self),
            at,
        })
    }

    /// The datum of node 0, as constructors make it from the last node to the first. Constructors without fields have these
    /// cells.
    pub fn constructed(mut self, constants: &[Value]) -> Result<Value, TableError> {
        let count = self.nodes.len();
        let references = Arc::clone(&self.references);
        // What is behind the node at hand, the last first.
        let mut made: Vec<Value> = Vec::with_capacity(count);
        // Of several problems the first in order.
        let mut problem = None;
        while let Some(SumValue { constructor, fields }) = self.nodes.pop() {
            let node = self.nodes.len();
            let kinds = references
                .get(constructor as usize)
                .filter(|kinds| kinds.len() == fields.len())
                .ok_or(TableError::Malformed { node })?;
            if fields.is_empty() {
                let constant = constants.get(constructor as usize).cloned();
                made.push(constant.ok_or(TableError::Malformed { node })?);
                continue;
            }
            let mut wrong = None;
            let mut replace = |position: Value| {
                let reference = position.as_i64().unwrap_or(-1);
                let from_last = usize::try_from(reference).ok().filter(|to| *to > node);
                let found = from_last.and_then(|to| made.get((count - 1).checked_sub(to)?));
                found.cloned().unwrap_or_else(|| {
                    wrong = wrong.or(Some(reference));
                    position
                })
            };
            let fields = fields.iter().zip(kinds);
            let fields = fields.map(|(field, kind)| replace_references(field, kind, &mut replace));
            let fields: Vec<Value> = fields.collect();
            if let Some(reference) = wrong {
                problem = Some(TableError::Earlier {
                    node,
                    reference,
                    nodes: count,
                });
            }
            made.push(Value::Datum(Datum::Cell(Arc::new(Cell::new(
                constructor,
                fields,
            )))));
        }
        match problem {
            Some(problem) => Err(problem),
            None => made.pop().ok_or(TableError::Empty),
        }
    }
}

fn position(reference: i64, count: usize) -> Option<usize> {
    usize::try_from(reference).ok().filter(|at| *at < count)
}

fn check_positions(
    value: &Value,
    references: &References,
    node: usize,
    count: usize,
) -> Result<(), TableError> {
    let malformed = TableError::Malformed { node };
    match (references, value) {
        (References::None, _) => Ok(()),
        (References::Position, Value::Scalar(Scalar::I64(reference))) => match position(*reference, count) {
            Some(_) => Ok(()),
            None => Err(TableError::Reference {
                node,
                reference: *reference,
                nodes: count,
            }),
        },
        (References::Tuple(components), Value::Tuple(fields)) if components.len() == fields.len() => fields
            .iter()
            .zip(components)
            .try_for_each(|(field, references)| check_positions(field, references, node, count)),
        (References::Array(element), Value::Array(array)) => array
            .values()
            .try_for_each(|value| check_positions(&value, element, node, count)),
        (References::Sum(constructors), Value::Sum(sum)) => sum
            .fields
            .iter()
            .zip(References::of_fields(constructors, sum))
            .try_for_each(|(field, references)| check_positions(field, references, node, count)),
        _ => Err(malformed),
    }
}

impl Datum {
    pub fn cell(constructor: u32, fields: Vec<Value>) -> Datum {
        Datum::Cell(Arc::new(Cell::new(constructor, fields)))
    }

    /// The number of its constructor. (Positions in a table were checked when the table was made.)
    pub fn constructor(&self) -> u32 {
        match self {
            Datum::Cell(cell) => cell.constructor,
            Datum::InTable { table, at } => table.nodes.get(*at).map_or(0, |node| node.constructor),
        }
    }

    pub fn field_count(&self) -> usize {
        self.raw_fields().len()
    }

    fn raw_fields(&self) -> &[Value] {
        match self {
            Datum::Cell(cell) => &cell.fields,
            Datum::InTable { table, at } => table.nodes.get(*at).map_or(&[], |node| &node.fields),
        }
    }

    /// A field as a value: references of a table become data in that table.
    pub fn field(&self, index: usize) -> Option<Value> {
        let value = self.raw_fields().get(index)?;
        Some(match self {
            Datum::Cell(_) => value.clone(),
            Datum::InTable { table, .. } => {
                let references = table
                    .references
                    .get(self.constructor() as usize)
                    .and_then(|fields| fields.get(index));
                match references {
                    Some(references) => unfold(value, references, table),
                    None => value.clone(),
                }
            }
        })
    }

    pub fn fields(&self) -> Vec<Value> {
        (0..self.field_count())
            .filter_map(|index| self.field(index))
            .collect()
    }

    pub fn identity(&self) -> NodeIdentity {
        match self {
            Datum::Cell(cell) => NodeIdentity(Arc::as_ptr(cell) as usize, 0),
            Datum::InTable { table, at } => NodeIdentity(Arc::as_ptr(table) as usize, at + 1),
        }
    }

    /// Whether others may hold the same node too.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Datum::Cell(cell) => Arc::strong_count(cell) > 1,
            Datum::InTable { .. } => true,
        }
    }

    /// The table it lives in, and its position there. What constructors made gets a table of its own with exactly the
    /// reachable nodes, each once, in depth-first order of fields; it is remembered.
    pub fn in_table(&self, references: &Arc<NodeReferences>) -> (Arc<NodeTable>, usize) {
        match self {
            Datum::InTable { table, at } => (Arc::clone(table), *at),
            Datum::Cell(cell) => {
                let table = cell.table.get_or_init(|| Arc::new(tabulate(self, references)));
                (Arc::clone(table), 0)
            }
        }
    }
}

impl Datum {
    /// What can be reached, each node once, in depth-first order of fields; the datum is node 0.
    pub fn reachable(&self, references: &Arc<NodeReferences>) -> Arc<NodeTable> {
        match self {
            Datum::Cell(_) => self.in_table(references).0,
            Datum::InTable { .. } => Arc::new(tabulate(self, references)),
        }
    }
}

/// A value of a table's node as a value of its own: positions become data.
fn unfold(value: &Value, references: &References, table: &Arc<NodeTable>) -> Value {
    match (references, value) {
        (References::Position, Value::Scalar(Scalar::I64(at))) => Value::Datum(Datum::InTable {
            table: Arc::clone(table),
            at: *at as usize,
        }),
        (References::Tuple(components), Value::Tuple(fields)) => Value::tuple(
            fields
                .iter()
                .zip(components)
                .map(|(field, references)| unfold(field, references, table)),
        ),
        (References::Array(element), Value::Array(array)) if !element.is_none() => {
            Value::array(map_array(array, element, &mut |at| {
                Value::Datum(Datum::InTable {
                    table: Arc::clone(table),
                    at: at.as_i64().unwrap_or(0) as usize,
                })
            }))
        }
        (References::Sum(constructors), Value::Sum(sum)) => {
            map_fields(sum, constructors, &mut |field, references| {
                unfold(field, references, table)
            })
        }
        _ => value.clone(),
    }
}

/// Replaces the references in an array: positions by data, or data by positions.
fn map_array(
    array: &ArrayValue,
    references: &References,
    replace: &mut dyn FnMut(Value) -> Value,
) -> ArrayValue {
    map_leaves(array, references, &mut |elements, references| match elements {
        Elements::Boxed(sums) if *references != References::Position => {
            let sums = sums
                .iter()
                .map(|sum| replace_references(sum, references, replace));
            Elements::Boxed(sums.collect())
        }
        Elements::Scalars(Buffer::I64(positions)) => {
            Elements::Boxed(positions.iter().map(|at| replace(Value::from(*at))).collect())
        }
        Elements::Boxed(data) => {
            let positions = data.iter().map(|datum| replace(datum.clone()).as_i64());
            Elements::Scalars(Buffer::I64(positions.map(|at| at.unwrap_or(0)).collect()))
        }
        other => other.clone(),
    })
}

/// Replaces the arrays of references, and of sums that hold some, in an array.
fn map_leaves(
    array: &ArrayValue,
    references: &References,
    leaf: &mut dyn FnMut(&Elements, &References) -> Elements,
) -> ArrayValue {
    let elements = match (&array.elements, references) {
        (elements, References::Position | References::Sum(_)) => leaf(elements, references),
        (Elements::Tuples(components), References::Tuple(references)) => Elements::Tuples(
            components
                .iter()
                .zip(references)
                .map(|(component, references)| Arc::new(map_leaves(component, references, leaf)))
                .collect(),
        ),
        (Elements::Rows { row, inner }, References::Array(element)) => Elements::Rows {
            row: *row,
            inner: Arc::new(map_leaves(inner, element, leaf)),
        },
        (Elements::Jagged { lengths, inner }, References::Array(element)) => Elements::Jagged {
            lengths: lengths.clone(),
            inner: Arc::new(map_leaves(inner, element, leaf)),
        },
        (elements, _) => elements.clone(),
    };
    ArrayValue {
        len: array.len,
        elements,
    }
}

/// Positions counted from another first node.
pub fn shift_positions(value: &Value, references: &References, first: i64) -> Value {
    match (references, value) {
        (References::Position, Value::Scalar(Scalar::I64(at))) => Value::from(at.wrapping_sub(first)),
        (References::Tuple(components), Value::Tuple(fields)) => {
            let fields = fields.iter().zip(components);
            Value::tuple(fields.map(|(field, references)| shift_positions(field, references, first)))
        }
        (References::Array(element), Value::Array(array)) if !element.is_none() => Value::array(map_leaves(
            array,
            element,
            &mut |elements, references| match elements {
                Elements::Scalars(Buffer::I64(positions)) => {
                    let shifted = positions.iter().map(|at| at.wrapping_sub(first));
                    Elements::Scalars(Buffer::I64(shifted.collect()))
                }
                Elements::Boxed(sums) => {
                    let sums = sums.iter().map(|sum| shift_positions(sum, references, first));
                    Elements::Boxed(sums.collect())
                }
                other => other.clone(),
            },
        )),
        (References::Sum(constructors), Value::Sum(sum)) => {
            map_fields(sum, constructors, &mut |field, references| {
                shift_positions(field, references, first)
            })
        }
        _ => value.clone(),
    }
}

/// Brings what is reachable from a datum into a table; the datum is node 0.
fn tabulate(root: &Datum, references: &Arc<NodeReferences>) -> NodeTable {
    let mut positions: HashMap<NodeIdentity, usize> = HashMap::new();
    let mut order: Vec<Datum> = Vec::new();
    let mut pending = vec![root.clone()];
    let mut children = Vec::new();
    while let Some(datum) = pending.pop() {
        if positions.contains_key(&datum.identity()) {
            continue;
        }
        positions.insert(datum.identity(), order.len());
        if let Some(references) = references.get(datum.constructor() as usize) {
            for (index, references) in references.iter().enumerate() {
                if let (false, Some(field)) = (references.is_none(), datum.field(index)) {
                    collect_references(&field, references, &mut children);
                }
            }
        }
        pending.extend(children.drain(..).rev());
        order.push(datum);
    }
    let nodes = order
        .iter()
        .map(|datum| node_value(datum, references, &positions))
        .collect();
    NodeTable {
        nodes,
        references: Arc::clone(references),
    }
}

fn collect_references(value: &Value, references: &References, found: &mut Vec<Datum>) {
    match (references, value) {
        (References::Position, Value::Datum(datum)) => found.push(datum.clone()),
        (References::Tuple(components), Value::Tuple(fields)) => {
            for (field, references) in fields.iter().zip(components) {
                collect_references(field, references, found);
            }
        }
        (References::Array(element), Value::Array(array)) if !element.is_none() => {
            for value in array.values() {
                collect_references(&value, element, found);
            }
        }
        (References::Sum(constructors), Value::Sum(sum)) => {
            let fields = sum.fields.iter().zip(References::of_fields(constructors, sum));
            fields.for_each(|(field, references)| collect_references(field, references, found));
        }
        _ => {}
    }
}

fn node_value(
    datum: &Datum,
    references: &NodeReferences,
    positions: &HashMap<NodeIdentity, usize>,
) -> SumValue {
    let constructor = datum.constructor();
    let kinds = references
        .get(constructor as usize)
        .map_or(&[][..], Vec::as_slice);
    let fields = datum
        .fields()
        .into_iter()
        .enumerate()
        .map(|(index, field)| match kinds.get(index) {
            Some(references) => fold(&field, references, positions),
            None => field,
        })
        .collect();
    SumValue { constructor, fields }
}

/// The opposite of [`unfold`].
fn fold(value: &Value, references: &References, positions: &HashMap<NodeIdentity, usize>) -> Value {
    match (references, value) {
        (References::Position, Value::Datum(datum)) => {
            Value::from(positions.get(&datum.identity()).map_or(0, |at| *at as i64))
        }
        (References::Tuple(components), Value::Tuple(fields)) => Value::tuple(
            fields
                .iter()
                .zip(components)
                .map(|(field, references)| fold(field, references, positions)),
        ),
        (References::Array(element), Value::Array(array)) if !element.is_none() => {
            Value::array(map_array(array, element, &mut |datum| {
                fold(&datum, &References::Position, positions)
            }))
        }
        (References::Sum(constructors), Value::Sum(sum)) => {
            map_fields(sum, constructors, &mut |field, references| {
                fold(field, references, positions)
            })
        }
        _ => value.clone(),
    }
}

/// Replaces the references in a value: positions by data, or data by positions.
pub fn replace_references(
    value: &Value,
    references: &References,
    replace: &mut dyn FnMut(Value) -> Value,
) -> Value {
    match (references, value) {
        (References::Position, _) => replace(value.clone()),
        (References::Tuple(components), Value::Tuple(fields)) => {
            let fields = fields.iter().zip(components);
            let replaced: Vec<Value> = fields
                .map(|(field, references)| replace_references(field, references, replace))
                .collect();
            Value::tuple(replaced)
        }
        (References::Array(element), Value::Array(array)) if !element.is_none() => {
            Value::array(map_array(array, element, replace))
        }
        (References::Sum(constructors), Value::Sum(sum)) => {
            map_fields(sum, constructors, &mut |field, references| {
                replace_references(field, references, replace)
            })
        }
        _ => value.clone(),
    }
}

/// Frees values whose owners may be nested as deep as a list is long, without native recursion.
fn free(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::Scalar(_) | Value::Vector(_) => {}
            Value::Tuple(mut components) => {
                if let Some(components) = Arc::get_mut(&mut components) {
                    let taken = components
                        .iter_mut()
                        .map(|field| std::mem::replace(field, Value::from(false)));
                    pending.extend(taken.filter(may_own_data));
                }
            }
            Value::Sum(sum) => {
                if let Some(sum) = Arc::into_inner(sum) {
                    pending.extend(sum.fields.into_iter().filter(may_own_data));
                }
            }
            Value::Array(array) => {
                if let Some(array) = Arc::into_inner(array) {
                    take_boxed(array, &mut pending);
                }
            }
            Value::Datum(Datum::Cell(cell)) => {
                if let Some(mut cell) = Arc::into_inner(cell) {
                    cell.release(&mut pending);
                }
            }
            Value::Datum(Datum::InTable { table, .. }) => {
                if let Some(mut table) = Arc::into_inner(table) {
                    table.release(&mut pending);
                }
            }
        }
    }
}

/// As [`may_own_data`], but what others hold too is not freed here: giving up the reference is enough.
fn may_own_deep_data(value: &Value) -> bool {
    match value {
        Value::Datum(Datum::Cell(cell)) => Arc::strong_count(cell) == 1,
        other => may_own_data(other),
    }
}

fn may_own_data(value: &Value) -> bool {
    match value {
        Value::Scalar(_) | Value::Vector(_) => false,
        Value::Tuple(components) => components.iter().any(may_own_data),
        Value::Array(array) => holds_boxed(array),
        Value::Sum(_) | Value::Datum(_) => true,
    }
}

fn holds_boxed(array: &ArrayValue) -> bool {
    match &array.elements {
        Elements::Scalars(_) | Elements::Vectors { .. } => false,
        Elements::Tuples(components) => components.iter().any(|component| holds_boxed(component)),
        Elements::Rows { inner, .. } | Elements::Jagged { inner, .. } => holds_boxed(inner),
        Elements::Boxed(_) => true,
    }
}

fn take_boxed(array: ArrayValue, pending: &mut Vec<Value>) {
    match array.elements {
        Elements::Scalars(_) | Elements::Vectors { .. } => {}
        Elements::Tuples(components) => {
            for component in components.into_iter().filter_map(Arc::into_inner) {
                take_boxed(component, pending);
            }
        }
        Elements::Rows { inner, .. } | Elements::Jagged { inner, .. } => {
            if let Some(inner) = Arc::into_inner(inner) {
                take_boxed(inner, pending);
            }
        }
        Elements::Boxed(values) => pending.extend(values),
    }
}

impl Cell {
    /// Gives up everything that may be deep.
    fn release(&mut self, pending: &mut Vec<Value>) {
        pending.extend(self.fields.drain(..).filter(may_own_deep_data));
        if let Some(table) = self.table.take() {
            pending.push(Value::Datum(Datum::InTable { table, at: 0 }));
        }
    }
}

impl NodeTable {
    fn release(&mut self, pending: &mut Vec<Value>) {
        for node in self.nodes.drain(..) {
            pending.extend(node.fields.into_iter().filter(may_own_deep_data));
        }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.release(&mut pending);
        free(pending);
    }
}

impl Drop for NodeTable {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.release(&mut pending);
        free(pending);
    }
}
