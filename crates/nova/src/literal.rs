//! Numbers. `2` and `0.5` get their type from where they stand; `0.5L` is a `double`, `0.5f` a `float`, and the suffixes
//! of `.alm` files name every other type.

use crate::codes;
use almach_base::{Diagnostic, Name, Span};
use almach_syntax::ast::ExprKind;
use almach_value::ScalarType;

/// The value of a number without a sign.
pub fn number(text: &str, span: Span) -> Result<ExprKind, Box<Diagnostic>> {
    let end = text
        .find(|character: char| character.is_ascii_alphabetic() && !matches!(character, 'e' | 'E'))
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let is_float = digits.contains(['.', 'e', 'E']);
    let suffix = suffix_of(suffix, span)?;
    if suffix.is_some_and(|ty| is_float && !ty.is_float()) {
        return Err(bad(span, "a number with a point cannot be an integer")
            .help("convert it: `(to_int 1.5)`")
            .into());
    }
    if is_float || suffix.is_some_and(ScalarType::is_float) {
        return float(digits, suffix, span);
    }
    match digits.parse::<u128>() {
        Ok(value) if value <= u128::from(u64::MAX) => Ok(ExprKind::Int { value, suffix }),
        Err(_) if !digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(bad(span, "this is neither a number nor a name")
                .help("a name starts with a letter")
                .into())
        }
        _ => Err(Diagnostic::error(
            codes::INTEGER_TOO_LARGE,
            span,
            "this integer is out of range for every type",
        )
        .label("too large")
        .help("a larger number can only be a float: write a point")
        .into()),
    }
}

fn float(digits: &str, suffix: Option<ScalarType>, span: Span) -> Result<ExprKind, Box<Diagnostic>> {
    if digits.parse::<f64>().is_err() {
        return Err(bad(span, "this number has no value").into());
    }
    Ok(ExprKind::Float {
        text: Name::from(digits.strip_suffix('.').unwrap_or(digits)),
        suffix,
    })
}

fn suffix_of(text: &str, span: Span) -> Result<Option<ScalarType>, Box<Diagnostic>> {
    match text {
        "" => Ok(None),
        "L" | "l" => Ok(Some(ScalarType::F64)),
        "f" | "F" => Ok(Some(ScalarType::F32)),
        _ => match ScalarType::from_name(text) {
            Some(ty) if ty.is_number() => Ok(Some(ty)),
            _ => Err(bad(span, format!("`{text}` is not a number's suffix"))
                .help("`0.5L` is a `double`, `0.5f` a `float`; other suffixes are i8 i16 i32 i64 u8 u16 u32 u64")
                .into()),
        },
    }
}

fn bad(span: Span, title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::BAD_NUMBER, span, title).label("not a number")
}
