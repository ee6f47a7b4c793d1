//! Core's types as the border's.

use crate::ir::{DataId, Dim, Program, Recursive, Type};
use almach_value::{Constructor, DimType, SumType, ValueType};
use std::sync::Arc;

/// A type as values print at it. Records have become tuples on the way to Core; the names of data types are Core's.
pub fn border_type(ty: &Type, program: &Program) -> Result<ValueType, String> {
    convert(ty, program, &mut Vec::new())
}

fn convert(ty: &Type, program: &Program, around: &mut Vec<DataId>) -> Result<ValueType, String> {
    Ok(match ty {
        Type::Scalar(ty) => ValueType::Scalar(*ty),
        Type::Vector(width, ty) => ValueType::Vector(*width, *ty),
        Type::Tuple(parts) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| convert(part, program, around)).collect();
            ValueType::Tuple(parts?)
        }
        Type::Array(dim, element) => {
            let dim = match dim {
                Dim::Size(size) => size.as_constant().map_or(DimType::Unknown, DimType::Known),
                Dim::Jagged => DimType::Jagged,
            };
            ValueType::array(dim, convert(element, program, around)?)
        }
        Type::Data(id) => {
            let def = program
                .data
                .get(id.0 as usize)
                .ok_or("a data type does not exist")?;
            if around.contains(id) {
                return Ok(ValueType::Recursive(def.name.clone()));
            }
            around.push(*id);
            let constructors = constructors(*id, program, &mut |field| convert(field, program, around));
            around.pop();
            ValueType::Sum(Arc::new(SumType {
                name: def.name.clone(),
                constructors: constructors?,
                part: def.recursive == Recursive::No,
            }))
        }
        Type::Node(id) => {
            let def = program
                .data
                .get(id.0 as usize)
                .ok_or("a data type does not exist")?;
            let constructors = constructors(*id, program, &mut |field| {
                convert(&def.with_positions(*id, field), program, around)
            });
            ValueType::Sum(Arc::new(SumType {
                name: format!("#{}", def.name).into(),
                constructors: constructors?
                    .into_iter()
                    .map(|c| Constructor {
                        name: format!("#{}", c.name).into(),
                        ..c
                    })
                    .collect(),
                part: false,
            }))
        }
    })
}

fn constructors(
    id: DataId,
    program: &Program,
    field: &mut dyn FnMut(&Type) -> Result<ValueType, String>,
) -> Result<Vec<Constructor>, String> {
    let def = program
        .data
        .get(id.0 as usize)
        .ok_or("a data type does not exist")?;
    def.constructors
        .iter()
        .map(|constructor| {
            let fields: Result<Vec<ValueType>, String> = constructor.fields.iter().map(&mut *field).collect();
            Ok(Constructor {
                name: constructor.name.clone(),
                fields: fields?,
            })
        })
        .collect()
}
