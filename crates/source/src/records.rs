//! Where the border shows records. Core has tuples only; the types of entries keep the names, and through them those of
//! the fields of data types that entries take and give.

use almach_core::{DataId, Dim, Entry, Program, Type};
use almach_value::ValueType;
use std::collections::HashMap;

/// The types of constructors' fields as the border shows them, by data type and constructor.
pub(crate) struct Borders {
    fields: HashMap<(DataId, u32), Vec<ValueType>>,
}

impl Borders {
    pub fn of(program: &Program) -> Borders {
        let mut borders = Borders {
            fields: HashMap::new(),
        };
        for entry in &program.entries {
            borders.entry(program, entry);
        }
        borders
    }

    fn entry(&mut self, program: &Program, entry: &Entry) {
        let Some(function) = program.functions.get(entry.function.0 as usize) else {
            return;
        };
        for (param, (_, border)) in function.params.iter().zip(&entry.params) {
            self.learn(program, &param.ty, border);
        }
        match (function.result.types.as_slice(), &entry.result) {
            ([ty], border) => self.learn(program, ty, border),
            (types, border) => {
                for (at, ty) in types.iter().enumerate() {
                    if let Some((_, border)) = crate::types::component(Some(border), at) {
                        self.learn(program, ty, border);
                    }
                }
            }
        }
    }

    fn learn(&mut self, program: &Program, ty: &Type, border: &ValueType) {
        match (ty, border) {
            (Type::Tuple(parts), _) => {
                for (at, part) in parts.iter().enumerate() {
                    if let Some((_, border)) = crate::types::component(Some(border), at) {
                        self.learn(program, part, border);
                    }
                }
            }
            (Type::Array(_, element), ValueType::Array(_, border)) => self.learn(program, element, border),
            (Type::Data(id) | Type::Node(id), ValueType::Sum(sum)) => {
                let Some(def) = program.data.get(id.0 as usize) else {
                    return;
                };
                for (at, (own, shown)) in (0..).zip(def.constructors.iter().zip(&sum.constructors)) {
                    if self.fields.contains_key(&(*id, at)) {
                        continue;
                    }
                    self.fields.insert((*id, at), shown.fields.clone());
                    for (ty, border) in own.fields.iter().zip(&shown.fields) {
                        self.learn(program, ty, border);
                    }
                }
            }
            _ => {}
        }
    }

    /// The border's type of a field, where it has records that Core has as tuples.
    pub fn field(&self, id: DataId, constructor: u32, at: usize) -> Option<&ValueType> {
        self.fields.get(&(id, constructor))?.get(at)
    }
}

/// Whether a value of the type must change its names at the border.
pub(crate) fn differs(ty: &Type, border: &ValueType) -> bool {
    match (ty, border) {
        (Type::Tuple(_), ValueType::Record(_)) => true,
        (Type::Tuple(parts), ValueType::Tuple(shown)) => {
            parts.len() == 1 || parts.iter().zip(shown).any(|(ty, border)| differs(ty, border))
        }
        (Type::Array(_, element), ValueType::Array(_, border)) => differs(element, border),
        _ => false,
    }
}

/// The type with no size known: what a field of a constructor is declared as.
pub(crate) fn without_sizes(ty: &Type) -> Type {
    ty.map_dims(&mut |dim| match dim {
        Dim::Size(size) if size.as_constant().is_some() => dim.clone(),
        Dim::Size(_) | Dim::Jagged => Dim::Jagged,
    })
}
