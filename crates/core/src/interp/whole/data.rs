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
    Ok(array_of_nodes(&table))
}

/// The nodes that can be reached, depth first.
pub(super) fn reach(value: &Value, references: &Arc<NodeReferences>) -> Outcome<Value> {
    Ok(array_of_nodes(&datum(value)?.reachable(references)))
}

fn array_of_nodes(table: &NodeTable) -> Value {
    let nodes: Vec<Value> = table
        .nodes
        .iter()
        .map(|node| Value::Sum(Arc::new(node.clone())))
        .collect();
    Value::array(ArrayValue {
        len: nodes.len(),
        elements: Elements::Boxed(nodes),
    })
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
    let table = table_of_nodes(nodes, references)?;
    table
        .datum(root)
        .map(Value::Datum)
        .map_err(|error| no_table(error, root))
}

/// As constructors would make it, from the last node to the first.
pub(super) fn constructed(
    nodes: Arc<ArrayValue>,
    references: &Arc<NodeReferences>,
    constants: &[Value],
) -> Outcome<Value> {
    let table = table_of_nodes(nodes, references)?;
    table.constructed(constants).map_err(|error| no_table(error, 0))
}

fn table_of_nodes(nodes: Arc<ArrayValue>, references: &Arc<NodeReferences>) -> Outcome<NodeTable> {
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
    Ok(NodeTable {
        nodes: nodes.ok_or_else(|| FailKind::bug("expected node values"))?,
        references: Arc::clone(references),
    })
}

fn no_table(error: TableError, root: i64) -> FailKind {
    match error {
        TableError::Empty => FailKind::failure(Failure::BadReference, [root.into(), 0]),
        TableError::Earlier {
            node,
            reference,
            nodes,
        } => FailKind::failure(
            Failure::EarlierReference,
            [reference.into(), nodes as i128, node as i128],
        ),
        TableError::Root {
            root: reference,
            nodes,
        }
        | TableError::Reference {
            node: _,
            reference,
            nodes,
        } => FailKind::failure(Failure::BadReference, [reference.into(), nodes as i128]),
        TableError::Malformed { .. } => FailKind::bug("a node does not fit its constructor"),
    }
}
