//! Recursive data as tables, and back.

use crate::interface::{Group, MemberTypes, Tables};
use crate::marshal::MarshalError;
use almach_value::{
    ArrayValue, Datum, Elements, NodeIdentity, NodeTable, References, SumValue, Value, replace_references,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The constructor of what stands for a datum in a field that a value does not have.
const NO_DATUM: u32 = u32::MAX;

/// An empty table, as an element of an array of data.
pub(crate) fn no_datum(table: Value) -> Value {
    Value::sum(NO_DATUM, vec![table])
}

/// A datum as its root and its table; that of a field that a value does not have is empty.
pub(crate) fn table_of(value: &Value, tables: &Tables) -> Result<Value, MarshalError> {
    match (value, tables) {
        (Value::Datum(datum), Tables::One(references)) => {
            let (table, root) = datum.in_table(references);
            Ok(table_value(root as i64, table.nodes.iter().cloned()))
        }
        (Value::Datum(datum), Tables::Group(group)) => Ok(group_table(datum, group)),
        (Value::Sum(nothing), _) if nothing.constructor == NO_DATUM => match nothing.fields.first() {
            Some(table) => Ok(table.clone()),
            None => Err(MarshalError("no datum, and no table".into())),
        },
        (other, _) => Err(MarshalError(format!(
            "a {} where a value of a recursive type should be",
            other.kind()
        ))),
    }
}

fn table_value(root: i64, nodes: impl Iterator<Item = SumValue>) -> Value {
    let nodes: Vec<Value> = nodes.map(|node| Value::Sum(Arc::new(node))).collect();
    let nodes = ArrayValue {
        len: nodes.len(),
        elements: Elements::Boxed(nodes),
    };
    Value::tuple([Value::from(root), Value::array(nodes)])
}

/// All that can be reached from a datum, each node once, in depth-first order of fields.
fn group_table(root: &Datum, group: &Group) -> Value {
    let mut positions: HashMap<NodeIdentity, i64> = HashMap::new();
    let mut order: Vec<(usize, Datum)> = Vec::new();
    let mut pending = vec![(group.root, root.clone())];
    let mut children = Vec::new();
    while let Some((member, datum)) = pending.pop() {
        if positions.contains_key(&datum.identity()) {
            continue;
        }
        positions.insert(datum.identity(), order.len() as i64);
        let types = group.members.get(member).map(|member| &member.types);
        if let Some(types) = types.and_then(|types| types.get(datum.constructor() as usize)) {
            for (field, types) in datum.fields().iter().zip(types) {
                referred(field, types, &mut children);
            }
        }
        pending.extend(children.drain(..).rev());
        order.push((member, datum));
    }
    let mut position = |value: Value| match &value {
        Value::Datum(datum) => Value::from(positions.get(&datum.identity()).copied().unwrap_or(0)),
        _ => value,
    };
    let nodes: Vec<SumValue> = order
        .iter()
        .map(|(member, datum)| {
            let member = group.members.get(*member);
            let references = member.and_then(|member| member.references.get(datum.constructor() as usize));
            let fields = datum.fields().into_iter().enumerate();
            let fields = fields.map(|(at, field)| {
                let references = references.and_then(|all| all.get(at));
                replace_references(&field, references.unwrap_or(&References::None), &mut position)
            });
            SumValue {
                constructor: datum.constructor() + member.map_or(0, |member| member.first),
                fields: fields.collect(),
            }
        })
        .collect();
    table_value(0, nodes.into_iter())
}

/// The data that a value refers to, with their types.
fn referred(value: &Value, types: &MemberTypes, found: &mut Vec<(usize, Datum)>) {
    match (types, value) {
        (MemberTypes::Member(member), Value::Datum(datum)) => found.push((*member, datum.clone())),
        (MemberTypes::Tuple(types), Value::Tuple(fields)) => {
            for (field, types) in fields.iter().zip(types) {
                referred(field, types, found);
            }
        }
        (MemberTypes::Array(element), Value::Array(array)) if **element != MemberTypes::None => {
            for value in array.values() {
                referred(&value, element, found);
            }
        }
        _ => {}
    }
}

/// The datum of a group's table, made of cells: what a group gives is a tree of its nodes.
fn group_datum(root: i64, nodes: &[SumValue], group: &Group) -> Result<Value, MarshalError> {
    let wrong = || MarshalError("a result that is no table of a group".into());
    let mut made: Vec<Option<Value>> = vec![None; nodes.len()];
    let mut waits = vec![false; nodes.len()];
    let mut pending = vec![root];
    while let Some(at) = pending.last().copied() {
        let index = usize::try_from(at).ok().filter(|at| *at < nodes.len());
        let (index, node) = index
            .and_then(|at| Some((at, nodes.get(at)?)))
            .ok_or_else(wrong)?;
        if made.get(index).is_some_and(Option::is_some) {
            pending.pop();
            continue;
        }
        let member = group
            .members
            .iter()
            .rev()
            .find(|member| member.first <= node.constructor);
        let member = member.ok_or_else(wrong)?;
        let constructor = node.constructor - member.first;
        let references = member.references.get(constructor as usize).ok_or_else(wrong)?;
        let mut missing = Vec::new();
        let mut look_up = |value: Value| {
            let to = value.as_i64().unwrap_or(-1);
            let found = usize::try_from(to).ok().and_then(|at| made.get(at)?.clone());
            if found.is_none() {
                missing.push(to);
            }
            found.unwrap_or(value)
        };
        let fields = node.fields.iter().zip(references);
        let fields: Vec<Value> = fields
            .map(|(field, references)| replace_references(field, references, &mut look_up))
            .collect();
        match (missing.is_empty(), waits.get_mut(index)) {
            (true, _) => {
                pending.pop();
                if let Some(place) = made.get_mut(index) {
                    *place = Some(Value::Datum(Datum::cell(constructor, fields)));
                }
            }
            // What a node waits for is made before its turn comes again.
            (false, Some(waits)) if !*waits => {
                *waits = true;
                pending.append(&mut missing);
            }
            _ => return Err(wrong()),
        }
    }
    let root = usize::try_from(root).ok().and_then(|at| made.get(at)?.clone());
    root.ok_or_else(wrong)
}

/// The datum of a root and a table. An empty one is that of a field nobody asks for.
pub(crate) fn datum_of(value: Value, tables: &Tables) -> Result<Value, MarshalError> {
    let wrong = |what: &str| Err(MarshalError(what.to_string()));
    let Some([root, Value::Array(nodes)]) = value.as_tuple() else {
        return wrong("a table that is none");
    };
    if nodes.len == 0 {
        return Ok(value);
    }
    let node = |value: Value| match value {
        Value::Sum(node) => Some(Arc::unwrap_or_clone(node)),
        _ => None,
    };
    let nodes: Option<Vec<SumValue>> = nodes.values().map(node).collect();
    let (Some(root), Some(nodes)) = (root.as_i64(), nodes) else {
        return wrong("a table without nodes");
    };
    let references = match tables {
        Tables::One(references) => references,
        Tables::Group(group) => return group_datum(root, &nodes, group),
    };
    let table = NodeTable {
        nodes,
        references: Arc::clone(references),
    };
    match table.datum(root) {
        Ok(datum) => Ok(Value::Datum(datum)),
        Err(error) => Err(MarshalError(format!("a result that is no table: {error:?}"))),
    }
}
