//! Recursive data as tables.

use super::lexer::Lexer;
use super::read::Reader;
use super::scalar;
use crate::FormatError;
use crate::table::{datum, node_type};
use almach_base::codes::cli;
use almach_value::{DimType, ScalarType, SumType, Value, ValueType};
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
