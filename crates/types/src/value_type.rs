//! Types of entry points as the border sees them.

use crate::print::type_text;
use crate::tree::{DataId, Dim, Program, Type, TypeVar};
use almach_base::Name;
use almach_value::{Constructor, DimType, SumType, ValueType};
use std::collections::HashMap;
use std::sync::Arc;

/// Why a type has no values that can be read or printed: the type as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAValueType(pub String);

/// A closed type without functions, with the names of its fields and constructors.
pub fn value_type(ty: &Type, program: &Program) -> Result<ValueType, NotAValueType> {
    Conversion {
        program,
        inside: Vec::new(),
    }
    .convert(ty, DimPlace::Outer)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DimPlace {
    Outer,
    BelowArray,
}

struct Conversion<'p> {
    program: &'p Program,
    /// The sums around, by data type and the arguments they stand at.
    inside: Vec<(Type, Name)>,
}

impl Conversion<'_> {
    fn convert(&mut self, ty: &Type, place: DimPlace) -> Result<ValueType, NotAValueType> {
        let refuse = || Err(NotAValueType(type_text(ty, self.program)));
        Ok(match ty {
            Type::Scalar(scalar) => ValueType::Scalar(*scalar),
            Type::Vector(width, element) => {
                let width = width.as_constant().and_then(|width| u32::try_from(width).ok());
                match (width, &**element) {
                    (Some(width), Type::Scalar(scalar)) => ValueType::Vector(width, *scalar),
                    _ => return refuse(),
                }
            }
            Type::Tuple(parts) => {
                let parts: Result<Vec<ValueType>, NotAValueType> =
                    parts.iter().map(|part| self.convert(part, place)).collect();
                ValueType::Tuple(parts?)
            }
            Type::Record(fields) => {
                let fields: Result<Vec<(Name, ValueType)>, NotAValueType> = fields
                    .iter()
                    .map(|(name, ty)| Ok((name.clone(), self.convert(ty, place)?)))
                    .collect();
                ValueType::Record(fields?)
            }
            Type::Array(dim, element) => {
                let element = self.convert(element, DimPlace::BelowArray)?;
                ValueType::Array(self.dim(dim, place), Box::new(element))
            }
            Type::Data(data, args) => self.sum(ty, *data, args, None)?,
            Type::Node {
                data,
                args,
                reference,
            } => self.sum(ty, *data, args, Some(reference))?,
            Type::Reference(_) | Type::Function(_) | Type::Var(_) => return refuse(),
        })
    }

    fn dim(&self, dim: &Dim, place: DimPlace) -> DimType {
        match dim {
            Dim::Unknown => match place {
                DimPlace::Outer => DimType::Unknown,
                DimPlace::BelowArray => DimType::Jagged,
            },
            Dim::Size(size) => match (size.as_constant(), size.as_var()) {
                (Some(size), _) => DimType::Known(size),
                (None, Some(var)) => DimType::Named(var.name.clone()),
                (None, None) => DimType::Expression(crate::print::size_text(size, self.program)),
            },
        }
    }

    fn sum(
        &mut self,
        ty: &Type,
        data: DataId,
        args: &[Type],
        reference: Option<&Type>,
    ) -> Result<ValueType, NotAValueType> {
        if let Some((_, name)) = self.inside.iter().find(|(around, _)| around == ty) {
            return Ok(ValueType::Recursive(name.clone()));
        }
        let refuse = || NotAValueType(type_text(ty, self.program));
        let def = self.program.data.get(data.0 as usize).ok_or_else(refuse)?;
        let written = Type::Data(data, args.to_vec());
        let prefix = if reference.is_some() { "#" } else { "" };
        let name = Name::from(format!("{prefix}{}", type_text(&written, self.program)));
        let types: HashMap<u32, Type> = def
            .params
            .iter()
            .zip(args)
            .map(|(var, arg)| (var.id, arg.clone()))
            .collect();
        self.inside.push((ty.clone(), name.clone()));
        let mut constructors = Vec::new();
        for constructor in &def.constructors {
            let mut fields = Vec::new();
            for field in &constructor.fields {
                let field = match reference {
                    None => crate::scheme::substitute(field, &types, &HashMap::new()),
                    Some(reference) => {
                        let own: Vec<Type> = def
                            .params
                            .iter()
                            .map(|var: &TypeVar| Type::Var(var.clone()))
                            .collect();
                        crate::data::substitute_node(field, data, &own, reference, &types)
                    }
                };
                fields.push(self.convert(&field, DimPlace::Outer)?);
            }
            constructors.push(Constructor {
                name: Name::from(format!("{prefix}{}", constructor.name)),
                fields,
            });
        }
        self.inside.pop();
        Ok(ValueType::Sum(Arc::new(SumType { name, constructors })))
    }
}
