//! Types: vectors without sizes. Inside of a vector every one has its own length, and no regular ones are left.

use almach_base::Name;
use almach_syntax::ast::{Dim, Pattern, PatternKind, TypeExpr, TypeKind};
use almach_value::ScalarType;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Outermost,
    InVector,
}

/// A type in brackets, or one word.
pub fn ty(written: &TypeExpr, place: Place) -> Option<String> {
    let list = |parts: &mut dyn Iterator<Item = &TypeExpr>| -> Option<String> {
        let parts: Option<Vec<String>> = parts.map(|part| ty(part, place)).collect();
        Some(parts?.join(", "))
    };
    Some(match &written.kind {
        TypeKind::Scalar(scalar) => self::scalar(*scalar).to_owned(),
        TypeKind::Tuple(parts) if parts.is_empty() => "unit".to_owned(),
        TypeKind::Tuple(parts) => format!("({})", list(&mut parts.iter())?),
        TypeKind::Record(fields) => format!("({})", list(&mut fields.iter().map(|(_, field)| field))?),
        TypeKind::Named(path, args) if args.is_empty() => path.name.name.to_string(),
        TypeKind::Named(path, args) => {
            let args: Option<Vec<String>> = args.iter().map(|arg| ty(arg, Place::Outermost)).collect();
            format!("({} {})", path.name.name, args?.join(" "))
        }
        TypeKind::Function { param, result, .. } => {
            format!(
                "({} -> {})",
                ty(param, Place::Outermost)?,
                ty(result, Place::Outermost)?
            )
        }
        TypeKind::Array(..) => format!("({})", vector(written, place)?),
        TypeKind::Var(_) | TypeKind::Vector(..) | TypeKind::Error => return None,
    })
}

/// `vector t`, `vector#2 t`, `vector vector t`.
fn vector(written: &TypeExpr, place: Place) -> Option<String> {
    let (mut regular, mut inner) = (0, written);
    while let TypeKind::Array(dim, element) = &inner.kind {
        let jagged = matches!(dim, Dim::Unknown(_));
        match (place, jagged) {
            (Place::InVector, true) => return Some(format!("vector {}", ty(element, Place::InVector)?)),
            (Place::InVector, false) => return None,
            (Place::Outermost, true) if regular > 0 => break,
            (Place::Outermost, _) => {}
        }
        regular += 1;
        inner = element;
    }
    let element = ty(inner, Place::InVector)?;
    Some(match regular {
        1 => format!("vector {element}"),
        _ => format!("vector#{regular} {element}"),
    })
}

pub fn scalar(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::I8 => "int8",
        ScalarType::I16 => "int16",
        ScalarType::I32 => "int",
        ScalarType::I64 => "int64",
        ScalarType::U8 => "uint8",
        ScalarType::U16 => "uint16",
        ScalarType::U32 => "uint32",
        ScalarType::U64 => "uint64",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
        ScalarType::Bool => "bool",
    }
}

/// The name that a pattern is.
pub fn name(pattern: &Pattern) -> Option<Name> {
    match &pattern.kind {
        PatternKind::Var(name) => Some(name.clone()),
        PatternKind::Wildcard => Some(Name::from("_")),
        PatternKind::Paren(inner) => name(inner),
        _ => None,
    }
}
