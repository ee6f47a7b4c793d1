//! Recursive data as tables, and back.

use crate::marshal::MarshalError;
use almach_value::{ArrayValue, Elements, NodeReferences, NodeTable, SumValue, Value};
use std::sync::Arc;

/// A datum as its root and its table. (A field of another constructor than a value has is an empty table already.)
pub(crate) fn table_of(value: &Value, references: &Arc<NodeReferences>) -> Result<Value, MarshalError> {
    match value {
        Value::Datum(datum) => {
            let (table, root) = datum.in_table(references);
            let nodes = table.nodes.iter().map(|node| Value::Sum(Arc::new(node.clone())));
            let nodes = ArrayValue {
                len: table.nodes.len(),
                elements: Elements::Boxed(nodes.collect()),
            };
            Ok(Value::tuple([Value::from(root as i64), Value::array(nodes)]))
        }
        Value::Tuple(_) => Ok(value.clone()),
        other => Err(MarshalError(format!(
            "a {} where a value of a recursive type should be",
            other.kind()
        ))),
    }
}

/// The datum of a root and a table. An empty one is that of a field nobody asks for.
pub(crate) fn datum_of(value: Value, references: &Arc<NodeReferences>) -> Result<Value, MarshalError> {
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
    let table = NodeTable {
        nodes,
        references: Arc::clone(references),
    };
    match table.datum(root) {
        Ok(datum) => Ok(Value::Datum(datum)),
        Err(error) => Err(MarshalError(format!("a result that is no table: {error:?}"))),
    }
}
