//! Recursive data and their tables.

use super::Outcome;
use crate::interp::error::FailKind;
use almach_value::{
    ArrayValue, Datum, Elements, Failure, NodeReferences, NodeTable, SumValue, TableError, Value,
};
use std::sync::Arc;

fn datum(value: &Value) -> Outcome<&Datum> {
    match value {
        Value::Datum(datum) => Ok(datum),
        _ => Err(FailKind::bug("expected a recursive datum")),
    }
}

pub(super) fn nodes(value: &Value, references: &Arc<NodeReferences>) -> Outcome<Value> {
    let (table, _) = datum(value)?.in_table(references);
    let nodes: Vec<Value> = table
        .nodes
        .iter()
        .map(|node| Value::Sum(Arc::new(node.clone())))
        .collect();
    Ok(Value::array(ArrayValue {
        len: nodes.len(),
        elements: Elements::Boxed(nodes),
    }))
}

/// What constructors made is node 0 of its own table.
pub(super) fn root_of(value: &Value) -> Outcome<Value> {
    Ok(Value::from(match datum(value)? {
        Datum::Cell(_) => 0i64,
        Datum::InTable { at, .. } => *at as i64,
    }))
}

pub(super) fn from_nodes(
    root: i64,
    nodes: Arc<ArrayValue>,
    references: &Arc<NodeReferences>,
) -> Outcome<Value> {
    let Elements::Boxed(values) = Arc::unwrap_or_clone(nodes).elements else {
        return Err(FailKind::bug("expected an array of nodes"));
    };
    let nodes: Option<Vec<SumValue>> = values
        .into_iter()
        .map(|value| match value {
            Value::Sum(node) => Some(Arc::unwrap_or_clone(node)),
            _ => None,
        })
        .collect();
    let table = NodeTable {
        nodes: nodes.ok_or_else(|| FailKind::bug("expected node values"))?,
        references: Arc::clone(references),
    };
    match table.datum(root) {
        Ok(datum) => Ok(Value::Datum(datum)),
        Err(TableError::Empty) => Err(FailKind::failure(Failure::BadReference, [root.into(), 0])),
        Err(
            TableError::Root {
                root: reference,
                nodes,
            }
            | TableError::Reference {
                node: _,
                reference,
                nodes,
            },
        ) => Err(FailKind::failure(
            Failure::BadReference,
            [reference.into(), nodes as i128],
        )),
        Err(TableError::Malformed { .. }) => Err(FailKind::bug("a node does not fit its constructor")),
    }
}
