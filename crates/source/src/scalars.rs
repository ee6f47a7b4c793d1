//! Constants, operators and texts.

use almach_value::{BinOp, Scalar, TernOp, UnOp};
use std::fmt::Write;

/// A constant with its type as a suffix, in parentheses where it is an argument that begins with a minus.
pub(crate) fn constant(scalar: Scalar) -> String {
    match scalar {
        Scalar::I8(value) => signed(value.into(), "i8"),
        Scalar::I16(value) => signed(value.into(), "i16"),
        Scalar::I32(value) => signed(value.into(), "i32"),
        Scalar::I64(value) => signed(value.into(), "i64"),
        Scalar::U8(value) => format!("{value}u8"),
        Scalar::U16(value) => format!("{value}u16"),
        Scalar::U32(value) => format!("{value}u32"),
        Scalar::U64(value) => format!("{value}u64"),
        Scalar::F32(value) => float(value.into(), &format!("{value:?}"), "f32"),
        Scalar::F64(value) => float(value, &format!("{value:?}"), "f64"),
        Scalar::Bool(value) => value.to_string(),
    }
}

fn signed(value: i128, ty: &str) -> String {
    match value < 0 {
        true => format!("({value}{ty})"),
        false => format!("{value}{ty}"),
    }
}

/// `nan` and `inf` are names of the prelude, of type `f64`.
fn float(value: f64, text: &str, ty: &str) -> String {
    let named = |name: &str| match ty {
        "f64" => name.to_owned(),
        _ => format!("({ty} {name})"),
    };
    match value {
        _ if value.is_nan() => named("nan"),
        f64::INFINITY => named("inf"),
        f64::NEG_INFINITY => format!("(-{})", named("inf")),
        _ if text.starts_with('-') => format!("({text}{ty})"),
        _ => format!("{text}{ty}"),
    }
}

pub(crate) fn unary(op: UnOp, operand: &str) -> String {
    match op {
        UnOp::Neg => format!("-{operand}"),
        UnOp::Not => format!("!{operand}"),
        UnOp::Complement => format!("~{operand}"),
        UnOp::Convert(ty) => format!("{ty} {operand}"),
        _ => format!("{} {operand}", op.name()),
    }
}

/// A bar could begin the next arm of a `case`, so it is always in parentheses.
pub(crate) fn binary(op: BinOp, left: &str, right: &str) -> String {
    let name = op.name();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => format!("{name} {left} {right}"),
        false if op == BinOp::Or => format!("({left} {name} {right})"),
        false => format!("{left} {name} {right}"),
    }
}

pub(crate) fn ternary(op: TernOp, operands: [&str; 3]) -> String {
    format!("{} {}", op.name(), operands.join(" "))
}

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
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
