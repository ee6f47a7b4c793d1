//! The texts of names and literals: as written where there is a source, made from the value elsewhere.

use super::Printer;
use crate::ast::{Expr, ExprKind, Negative, Path, Pattern, PatternKind};
use almach_base::Name;
use almach_value::ScalarType;
use std::fmt::Write;

impl Printer<'_> {
    /// The text of an expression without parts.
    pub(super) fn leaf(&self, expr: &Expr) -> String {
        if let Some(source) = self.source(expr.span) {
            return source.to_string();
        }
        match &expr.kind {
            ExprKind::Int { value, suffix } => format!("{value}{}", suffix_text(*suffix)),
            ExprKind::Float { text, suffix } => float_text(text, *suffix),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Str(bytes) => string_text(bytes),
            ExprKind::Var(path) | ExprKind::Constructor(path) => path_text(path),
            ExprKind::NodeConstructor(path) => format!("#{}", path_text(path)),
            ExprKind::Annotated { name, annotation } => format!("{}{annotation}", path_text(name)),
            _ => "…".to_string(),
        }
    }

    /// The text of a pattern without parts.
    pub(super) fn pattern_leaf(&self, pattern: &Pattern) -> String {
        if let Some(source) = self.source(pattern.span) {
            // A comment may stand behind the sign of a number; it is printed elsewhere.
            return match source.strip_prefix('-') {
                Some(number) => format!("-{}", number.rsplit(is_no_number).next().unwrap_or("")),
                None => source.to_string(),
            };
        }
        let sign = |negative: Negative| match negative {
            Negative::Yes => "-",
            Negative::No => "",
        };
        match &pattern.kind {
            PatternKind::Wildcard => "_".to_string(),
            PatternKind::Var(name) => name.to_string(),
            PatternKind::Int {
                value,
                negative,
                suffix,
            } => format!("{}{value}{}", sign(*negative), suffix_text(*suffix)),
            PatternKind::Float {
                text,
                negative,
                suffix,
            } => format!("{}{}", sign(*negative), float_text(text, *suffix)),
            PatternKind::Bool(value) => value.to_string(),
            _ => "…".to_string(),
        }
    }
}

/// What cannot stand in the text of a number, except behind the `e` of its exponent.
fn is_no_number(character: char) -> bool {
    character.is_whitespace() || character == '}'
}

pub fn path_text(path: &Path) -> String {
    match &path.qualifier {
        Some(qualifier) => format!("{}.{}", qualifier.name, path.name.name),
        None => path.name.name.to_string(),
    }
}

fn suffix_text(suffix: Option<ScalarType>) -> &'static str {
    suffix.map_or("", ScalarType::name)
}

/// A float needs a point, an exponent or a suffix to be one.
fn float_text(text: &Name, suffix: Option<ScalarType>) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match suffix {
        None if is_plain => format!("{text}.0"),
        _ => format!("{text}{}", suffix_text(suffix)),
    }
}

/// A string literal for these bytes.
pub fn string_text(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\0' => out.push_str("\\0"),
                control if control.is_control() => {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{{{:x}}}", u32::from(control));
                }
                other => out.push(other),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}
