//! Recursive data as tables: arrays of nodes, and a root.

use almach_base::Name;
use almach_value::{
    Constructor, Elements, NodeTable, ScalarType, SumType, SumValue, TableError, Value, ValueType,
};
use std::sync::Arc;

/// The datum of an array of nodes and a root.
pub(crate) fn datum(nodes: &Value, root: i64, sum: &SumType) -> Result<Value, String> {
    let Some(Elements::Boxed(values)) = nodes.as_array().map(|array| &array.elements) else {
        return Err("the nodes are no array".to_owned());
    };
    let nodes: Option<Vec<SumValue>> = values
        .iter()
        .map(|value| match value {
            Value::Sum(node) => Some((**node).clone()),
            _ => None,
        })
        .collect();
    let table = NodeTable {
        nodes: nodes.ok_or("tables of this type cannot be read")?,
        references: Arc::new(sum.references()),
    };
    table.datum(root).map(Value::Datum).map_err(|error| match error {
        TableError::Empty => "a table of nodes is empty".to_owned(),
        TableError::Root { root, nodes } => format!("the root is {root}, and there are {nodes} nodes"),
        TableError::Reference {
            node,
            reference,
            nodes,
        }
        | TableError::Earlier {
            node,
            reference,
            nodes,
        } => format!("node {node} refers to node {reference}, and there are {nodes} nodes"),
        TableError::Malformed { node } => format!("node {node} does not look as its constructor says"),
    })
}

/// The type of node values: references to the table are positions.
pub(crate) fn node_type(sum: &SumType) -> SumType {
    let constructors = sum.constructors.iter().map(|constructor| Constructor {
        name: constructor.name.clone(),
        fields: constructor
            .fields
            .iter()
            .map(|field| with_positions(field, &sum.name))
            .collect(),
    });
    SumType {
        name: sum.name.clone(),
        constructors: constructors.collect(),
        part: sum.part,
    }
}

fn with_positions(ty: &ValueType, sum: &Name) -> ValueType {
    match ty {
        ValueType::Recursive(name) if name == sum => ValueType::Scalar(ScalarType::I64),
        ValueType::Sum(other) if other.part => {
            let constructors = other.constructors.iter().map(|constructor| Constructor {
                name: constructor.name.clone(),
                fields: constructor
                    .fields
                    .iter()
                    .map(|field| with_positions(field, sum))
                    .collect(),
            });
            ValueType::Sum(Arc::new(SumType {
                name: other.name.clone(),
                constructors: constructors.collect(),
                part: true,
            }))
        }
        ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Sum(_) | ValueType::Recursive(_) => {
            ty.clone()
        }
        ValueType::Tuple(parts) => {
            ValueType::Tuple(parts.iter().map(|part| with_positions(part, sum)).collect())
        }
        ValueType::Record(fields) => ValueType::Record(
            fields
                .iter()
                .map(|(name, field)| (name.clone(), with_positions(field, sum)))
                .collect(),
        ),
        ValueType::Array(dim, element) => ValueType::array(dim.clone(), with_positions(element, sum)),
    }
}
