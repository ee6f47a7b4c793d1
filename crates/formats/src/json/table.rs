//! Recursive data as tables.

use super::lexer::Lexer;
use super::read::Reader;
use super::scalar;
use crate::FormatError;
use almach_base::Name;
use almach_base::codes::cli;
use almach_value::{
    Constructor, DimType, Elements, NodeTable, ScalarType, SumType, SumValue, TableError, Value, ValueType,
};
use std::sync::Arc;

pub(super) const NODES: &str = "nodes";
pub(super) const ROOT: &str = "root";

/// Whether a key belongs to a table and not to a constructor (those start with a capital).
pub(super) fn is_key(name: &str) -> bool {
    name == NODES || name == ROOT
}

/// Reads the rest of `{"nodes": […], "root": 0}` after its first key, in either order.
pub(super) fn read(lexer: &mut Lexer<'_>, sum: &SumType, first: &str) -> Result<Value, FormatError> {
    let node = ValueType::Sum(Arc::new(node_type(sum)));
    let array = ValueType::array(DimType::Unknown, node);
    let (mut nodes, mut root) = (None, None);
    let mut key = first.to_owned();
    loop {
        match key.as_str() {
            NODES if nodes.is_none() => {
                let value = Reader::read(lexer, &array).map_err(|error| {
                    let path = format!(".{NODES}{}", error.path);
                    error.at(path)
                })?;
                nodes = Some(value);
            }
            ROOT if root.is_none() => {
                let value = scalar::read(lexer, ScalarType::I64).map_err(|error| error.at(".root"))?;
                root = value.as_integer().and_then(|root| i64::try_from(root).ok());
            }
            _ => return Err(lexer.error("a table of nodes has the keys \"nodes\" and \"root\", each once")),
        }
        if !lexer.eat(b',') {
            break;
        }
        key = lexer.string()?.into_owned();
        lexer.expect(b':', "`:`")?;
    }
    lexer.expect(b'}', "`}`")?;
    let (Some(nodes), Some(root)) = (nodes, root) else {
        return Err(lexer.error("a table of nodes has the keys \"nodes\" and \"root\""));
    };
    datum(&nodes, root, sum).map_err(|message| lexer.located(FormatError::new(cli::VALUE_MISMATCH, message)))
}

fn datum(nodes: &Value, root: i64, sum: &SumType) -> Result<Value, String> {
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
        nodes: nodes.ok_or("tables of this type cannot be read from JSON")?,
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
fn node_type(sum: &SumType) -> SumType {
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
    }
}

fn with_positions(ty: &ValueType, sum: &Name) -> ValueType {
    match ty {
        ValueType::Recursive(name) if name == sum => ValueType::Scalar(ScalarType::I64),
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
