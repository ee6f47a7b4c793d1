//! Types at the border as the texts of the intermediate languages write them: `f32`, `f32<4>`, `(i32, bool)`, `[f32]`, `[?f32]` for
//! rows of their own sizes, and `{None; Some f32}` for a sum. Sizes are not part of them.

use crate::{Constructor, DimType, ScalarType, SumType, ValueType};
use almach_base::Name;
use std::sync::Arc;

/// A C function as programs call it.
#[derive(Clone, PartialEq, Debug)]
pub struct ForeignType {
    pub name: Name,
    pub params: Vec<ValueType>,
    pub result: ValueType,
}

impl ForeignType {
    /// `(f64, [f64]) -> [f64]`.
    pub fn text(&self) -> String {
        let params = ValueType::Tuple(self.params.clone());
        format!("{} -> {}", type_text(&params), type_text(&self.result))
    }

    /// The function of that name whose type has this text.
    pub fn parse(name: Name, text: &str) -> Option<ForeignType> {
        let (params, result) = text.split_once(" -> ")?;
        let ValueType::Tuple(params) = parse_type(params)? else {
            return None;
        };
        Some(ForeignType {
            name,
            params,
            result: parse_type(result)?,
        })
    }
}

pub fn type_text(ty: &ValueType) -> String {
    let list = |types: &mut dyn Iterator<Item = &ValueType>| -> String {
        types.map(type_text).collect::<Vec<_>>().join(", ")
    };
    match ty {
        ValueType::Scalar(scalar) => scalar.to_string(),
        ValueType::Vector(width, scalar) => format!("{scalar}<{width}>"),
        ValueType::Tuple(parts) => format!("({})", list(&mut parts.iter())),
        ValueType::Record(fields) => format!("({})", list(&mut fields.iter().map(|(_, ty)| ty))),
        ValueType::Array(DimType::Jagged, element) => format!("[?{}]", type_text(element)),
        ValueType::Array(_, element) => format!("[{}]", type_text(element)),
        ValueType::Sum(sum) => {
            let constructor = |constructor: &Constructor| {
                let fields: String = constructor
                    .fields
                    .iter()
                    .map(|field| format!(" {}", type_text(field)))
                    .collect();
                format!("{}{fields}", constructor.name)
            };
            let all: Vec<String> = sum.constructors.iter().map(constructor).collect();
            format!("{{{}}}", all.join("; "))
        }
        ValueType::Recursive(name) => name.to_string(),
    }
}

/// Reads what [`type_text`] writes.
pub fn parse_type(text: &str) -> Option<ValueType> {
    let mut reader = Reader { rest: text };
    let ty = reader.ty()?;
    reader.rest.is_empty().then_some(ty)
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> Option<&'t str> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || "_'#".contains(c)))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn ty(&mut self) -> Option<ValueType> {
        if self.take("(") {
            let mut parts = Vec::new();
            while !self.take(")") {
                if !parts.is_empty() && !self.take(", ") {
                    return None;
                }
                parts.push(self.ty()?);
            }
            return Some(ValueType::Tuple(parts));
        }
        if self.take("[") {
            let dim = match self.take("?") {
                true => DimType::Jagged,
                false => DimType::Unknown,
            };
            let element = self.ty()?;
            return self.take("]").then(|| ValueType::array(dim, element));
        }
        if self.take("{") {
            return self.sum();
        }
        let scalar = ScalarType::from_name(self.word()?)?;
        if self.take("<") {
            let width = self.word()?.parse().ok()?;
            return self.take(">").then_some(ValueType::Vector(width, scalar));
        }
        Some(ValueType::Scalar(scalar))
    }

    fn sum(&mut self) -> Option<ValueType> {
        let mut constructors = Vec::new();
        loop {
            let name = Name::from(self.word()?);
            let mut fields = Vec::new();
            while self.take(" ") {
                fields.push(self.ty()?);
            }
            constructors.push(Constructor { name, fields });
            if self.take("}") {
                let name = Name::from("sum");
                return Some(ValueType::Sum(Arc::new(SumType {
                    name,
                    constructors,
                    part: false,
                })));
            }
            if !self.take("; ") {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_read_back_as_they_print() {
        for text in [
            "f32",
            "f32<4>",
            "()",
            "(i32, [bool])",
            "[[(u8, f64)]]",
            "[([?[f32]], i32)]",
            "{None; Some (i32, i32); Both f32 [i64]}",
            "(i64, [{#Nil; #Cons f32 i64}])",
        ] {
            assert_eq!(parse_type(text).map(|ty| type_text(&ty)).as_deref(), Some(text));
        }
        for wrong in ["", "f33", "(i32", "[i32", "{}", "i32 "] {
            assert_eq!(parse_type(wrong), None, "{wrong}");
        }
        let text = "(f64, [f64]) -> [f64]";
        assert_eq!(
            ForeignType::parse("f".into(), text)
                .map(|ty| ty.text())
                .as_deref(),
            Some(text)
        );
    }
}
