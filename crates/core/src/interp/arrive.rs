//! Recursive data from outside.
//!
//! What comes from outside owns its table, as what `build` made does: it does not matter whether it was written with
//! constructors or as a table, and no two arguments share nodes. Data of types that refer to each other have several tables; they stay as
//! they are, cells and tables.

use crate::groups::{group_of, node_references, tables};
use crate::ir::{DataDef, DataId, Function, Program, Type};
use almach_value::{
    ArrayValue, Datum, Elements, Group, NodeReferences, NodeTable, SumValue, Value, group_datum, group_table,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The data types that arguments may have; none where they have no recursive ones.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    data: Vec<DataDef>,
    recursive: HashMap<DataId, Recursive>,
}

#[derive(Debug)]
enum Recursive {
    Alone(Arc<NodeReferences>),
    InGroup(Vec<DataId>, Group),
}

impl Arrivals {
    pub(super) fn of(function: &Function, program: &Program) -> Arrivals {
        if function.params.iter().all(|param| is_plain(&param.ty)) {
            return Arrivals::default();
        }
        let data = &program.data;
        let mut recursive = HashMap::new();
        for (id, def) in (0..).map(DataId).zip(data) {
            if def.recursive == crate::ir::Recursive::No {
                continue;
            }
            let kind = match group_of(data, id) {
                Some(members) => {
                    let root = members.iter().position(|member| *member == id).unwrap_or(0);
                    let group = tables(data, &members, root);
                    Recursive::InGroup(members, group)
                }
                None => Recursive::Alone(Arc::new(node_references(data, id))),
            };
            recursive.insert(id, kind);
        }
        Arrivals {
            data: data.clone(),
            recursive,
        }
    }

    /// An argument as a value of the program.
    pub(super) fn value(&self, value: Value, ty: &Type) -> Value {
        match (&value, ty) {
            _ if self.recursive.is_empty() || is_plain(ty) => value,
            (Value::Tuple(parts), Type::Tuple(types)) => {
                let parts = parts.iter().zip(types);
                Value::tuple(parts.map(|(part, ty)| self.value(part.clone(), ty)))
            }
            (Value::Array(array), Type::Array(_, element)) => Value::array(self.array(array, element)),
            (Value::Sum(sum), Type::Data(id) | Type::Node(id)) => {
                Value::Sum(Arc::new(self.fields(sum, *id, sum.constructor, 0)))
            }
            (Value::Datum(datum), Type::Data(id)) => self.datum(datum, *id).unwrap_or(value),
            _ => value,
        }
    }

    fn array(&self, array: &ArrayValue, element: &Type) -> ArrayValue {
        let elements = match (&array.elements, element) {
            (Elements::Boxed(values), _) => {
                let values = values.iter().map(|value| self.value(value.clone(), element));
                Elements::Boxed(values.collect())
            }
            (Elements::Tuples(parts), Type::Tuple(types)) => {
                let parts = parts.iter().zip(types);
                Elements::Tuples(parts.map(|(part, ty)| Arc::new(self.array(part, ty))).collect())
            }
            (Elements::Rows { row, inner }, Type::Array(_, element)) => Elements::Rows {
                row: *row,
                inner: Arc::new(self.array(inner, element)),
            },
            (Elements::Jagged { lengths, inner }, Type::Array(_, element)) => Elements::Jagged {
                lengths: lengths.clone(),
                inner: Arc::new(self.array(inner, element)),
            },
            (elements, _) => elements.clone(),
        };
        ArrayValue {
            len: array.len,
            elements,
        }
    }

    /// The fields of a constructor, behind some that its type does not have. Positions stay what they are.
    fn fields(&self, sum: &SumValue, id: DataId, constructor: u32, before: usize) -> SumValue {
        let def = self.data.get(id.0 as usize);
        let constructor = def.and_then(|def| def.constructors.get(constructor as usize));
        let types = constructor.map_or(&[][..], |constructor| &constructor.fields);
        let fields = sum.fields.iter().enumerate().map(|(at, field)| {
            let ty = at.checked_sub(before).and_then(|at| types.get(at));
            ty.map_or_else(|| field.clone(), |ty| self.value(field.clone(), ty))
        });
        SumValue {
            constructor: sum.constructor,
            fields: fields.collect(),
        }
    }

    fn datum(&self, datum: &Datum, id: DataId) -> Option<Value> {
        match self.recursive.get(&id)? {
            Recursive::Alone(references) => {
                let (table, root) = datum.in_table(references);
                let nodes = table.nodes.iter();
                let own = NodeTable {
                    nodes: nodes
                        .map(|node| self.fields(node, id, node.constructor, 0))
                        .collect(),
                    references: Arc::clone(references),
                };
                own.datum(root as i64).ok().map(Value::Datum)
            }
            Recursive::InGroup(members, group) => {
                let (root, nodes) = group_table(datum, group);
                let nodes: Option<Vec<SumValue>> = nodes
                    .iter()
                    .map(|node| {
                        let kinds = group.members.iter().zip(members).rev();
                        let (member, id) = kinds
                            .into_iter()
                            .find(|(member, _)| member.first <= node.constructor)?;
                        Some(self.fields(node, *id, node.constructor - member.first, 1))
                    })
                    .collect();
                group_datum(root, &nodes?, group)
            }
        }
    }
}

/// Whether values of a type hold no data.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) => true,
        Type::Tuple(parts) => parts.iter().all(is_plain),
        Type::Array(_, element) => is_plain(element),
        Type::Data(_) | Type::Node(_) => false,
    }
}
