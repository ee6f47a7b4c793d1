//! Constants and names.

use crate::names::is_identifier;
use almach_value::Scalar;
use std::fmt::Write;

/// A scalar with its type as a suffix: `1i64`, `0.5f32`, `f32.nan`.
pub fn scalar_to_string(scalar: Scalar) -> String {
    let float = |text: String, value: f64, ty: &str| match value {
        _ if value.is_nan() => format!("{ty}.nan"),
        f64::INFINITY => format!("{ty}.inf"),
        f64::NEG_INFINITY => format!("-{ty}.inf"),
        _ => format!("{text}{ty}"),
    };
    match scalar {
        Scalar::I8(value) => format!("{value}i8"),
        Scalar::I16(value) => format!("{value}i16"),
        Scalar::I32(value) => format!("{value}i32"),
        Scalar::I64(value) => format!("{value}i64"),
        Scalar::U8(value) => format!("{value}u8"),
        Scalar::U16(value) => format!("{value}u16"),
        Scalar::U32(value) => format!("{value}u32"),
        Scalar::U64(value) => format!("{value}u64"),
        Scalar::F32(value) => float(format!("{value:?}"), value.into(), "f32"),
        Scalar::F64(value) => float(format!("{value:?}"), value, "f64"),
        Scalar::Bool(value) => value.to_string(),
    }
}

/// A name as it is where it is an identifier, else in quotes.
pub(super) fn word(name: &str) -> String {
    if is_identifier(name) {
        name.to_string()
    } else {
        quoted(name)
    }
}

/// In quotes, with escapes for what would end the line or the text.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
