//! Scalars in JSON: exact, never rounded twice, never wrapped.

use super::lexer::{Ahead, Lexer};
use crate::FormatError;
use almach_base::codes::cli;
use almach_value::{Buffer, Scalar, ScalarType};
use std::fmt::Write;

pub(super) fn read(lexer: &mut Lexer<'_>, ty: ScalarType) -> Result<Scalar, FormatError> {
    match ty {
        ScalarType::Bool => {
            if lexer.eat_word("true") {
                Ok(Scalar::Bool(true))
            } else if lexer.eat_word("false") {
                Ok(Scalar::Bool(false))
            } else {
                Err(mismatch(lexer, "true or false"))
            }
        }
        ScalarType::F32 | ScalarType::F64 => read_float(lexer, ty),
        _ => read_integer(lexer, ty),
    }
}

fn mismatch(lexer: &mut Lexer<'_>, expected: &str) -> FormatError {
    let found = lexer.found();
    let error = FormatError::new(cli::VALUE_MISMATCH, format!("expected {expected}, found {found}"));
    lexer.located(error)
}

fn read_integer(lexer: &mut Lexer<'_>, ty: ScalarType) -> Result<Scalar, FormatError> {
    let expected = format!("an integer ({ty})");
    let Some(text) = lexer.number() else {
        return Err(mismatch(lexer, &expected));
    };
    if text.contains(['.', 'e', 'E']) {
        let error = FormatError::new(
            cli::VALUE_MISMATCH,
            format!("expected {expected}, found `{text}`"),
        );
        return Err(lexer.located(error));
    }
    let value = text.parse::<i128>().ok();
    value.and_then(|value| integer(ty, value)).ok_or_else(|| {
        let error = FormatError::new(cli::NUMBER_OUT_OF_RANGE, format!("{text} does not fit {ty}"));
        lexer.located(error)
    })
}

/// None where the value does not fit, or the type is none of integers.
pub(crate) fn integer(ty: ScalarType, value: i128) -> Option<Scalar> {
    Some(match ty {
        ScalarType::I8 => Scalar::I8(value.try_into().ok()?),
        ScalarType::I16 => Scalar::I16(value.try_into().ok()?),
        ScalarType::I32 => Scalar::I32(value.try_into().ok()?),
        ScalarType::I64 => Scalar::I64(value.try_into().ok()?),
        ScalarType::U8 => Scalar::U8(value.try_into().ok()?),
        ScalarType::U16 => Scalar::U16(value.try_into().ok()?),
        ScalarType::U32 => Scalar::U32(value.try_into().ok()?),
        ScalarType::U64 => Scalar::U64(value.try_into().ok()?),
        ScalarType::F32 | ScalarType::F64 | ScalarType::Bool => return None,
    })
}

/// A decimal number, rounded once to the type. None where it is too large for it, or the type is none of floats.
pub(crate) fn float(ty: ScalarType, text: &str) -> Option<Scalar> {
    match ty {
        ScalarType::F32 => Some(Scalar::F32(text.parse().ok().filter(|v: &f32| v.is_finite())?)),
        ScalarType::F64 => Some(Scalar::F64(text.parse().ok().filter(|v: &f64| v.is_finite())?)),
        _ => None,
    }
}

fn read_float(lexer: &mut Lexer<'_>, ty: ScalarType) -> Result<Scalar, FormatError> {
    let special = |value: f64| match ty {
        ScalarType::F32 => Scalar::F32(value as f32),
        _ => Scalar::F64(value),
    };
    // Python's `json` writes these as words.
    for (word, value) in [
        ("NaN", f64::NAN),
        ("Infinity", f64::INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
    ] {
        if lexer.eat_word(word) {
            return Ok(special(value));
        }
    }
    if lexer.ahead() == Ahead::Text {
        let text = lexer.string()?;
        return match &*text {
            "nan" | "NaN" => Ok(special(f64::NAN)),
            "inf" | "Infinity" => Ok(special(f64::INFINITY)),
            "-inf" | "-Infinity" => Ok(special(f64::NEG_INFINITY)),
            other => {
                let shown: String = other.chars().take(24).collect();
                let message =
                    format!("expected a number ({ty}), \"nan\", \"inf\" or \"-inf\", found {shown:?}");
                Err(lexer.located(FormatError::new(cli::VALUE_MISMATCH, message)))
            }
        };
    }
    let Some(text) = lexer.number() else {
        return Err(mismatch(lexer, &format!("a number ({ty})")));
    };
    float(ty, text).ok_or_else(|| {
        let error = FormatError::new(cli::NUMBER_OUT_OF_RANGE, format!("{text} does not fit {ty}"));
        lexer.located(error)
    })
}

/// The shortest text that reads back as the same value.
pub(super) fn write(scalar: Scalar, into: &mut String) {
    // Writing to a string cannot fail.
    let _ = match scalar {
        Scalar::I8(value) => write!(into, "{value}"),
        Scalar::I16(value) => write!(into, "{value}"),
        Scalar::I32(value) => write!(into, "{value}"),
        Scalar::I64(value) => write!(into, "{value}"),
        Scalar::U8(value) => write!(into, "{value}"),
        Scalar::U16(value) => write!(into, "{value}"),
        Scalar::U32(value) => write!(into, "{value}"),
        Scalar::U64(value) => write!(into, "{value}"),
        Scalar::F32(value) if value.is_finite() => write!(into, "{value:?}"),
        Scalar::F64(value) if value.is_finite() => write!(into, "{value:?}"),
        Scalar::F32(value) => write!(into, "\"{}\"", special_name(value.into())),
        Scalar::F64(value) => write!(into, "\"{}\"", special_name(value)),
        Scalar::Bool(value) => write!(into, "{value}"),
    };
}

fn special_name(value: f64) -> &'static str {
    if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}

pub(super) fn write_all(buffer: &Buffer, into: &mut String) {
    into.push('[');
    for (at, scalar) in buffer.iter().enumerate() {
        if at > 0 {
            into.push_str(", ");
        }
        write(scalar, into);
    }
    into.push(']');
}
