//! Recursive data as tables, and back.

use crate::interface::Tables;
use crate::marshal::MarshalError;
use almach_value::{ArrayValue, Elements, NodeTable, SumValue, Value, group_datum, group_table};
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
        (Value::Datum(datum), Tables::Group(group)) => {
            let (root, nodes) = group_table(datum, group);
            Ok(table_value(root, nodes.into_iter()))
        }
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
        Tables::Group(group) => {
            let datum = group_datum(root, &nodes, group);
            return datum.ok_or_else(|| MarshalError("a result that is no table of a group".into()));
        }
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
