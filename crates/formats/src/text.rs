//! `.txt`: a value in Almach's syntax, or, for an array of numbers, just the numbers with blanks between them.

use crate::FormatError;
use crate::json::{self, utf8};
use almach_base::codes::cli;
use almach_value::{ArrayValue, Buffer, Extent, ReadError, Scalar, ScalarType, Value, ValueType, conforms};

/// Reads one value of a type.
pub fn read_text(bytes: &[u8], ty: &ValueType) -> Result<Value, FormatError> {
    let text = utf8(bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(element) = number_array(ty)
        && is_bare(text)
    {
        let value = Value::array(ArrayValue::scalars(numbers(text, element)?));
        return match conforms(&value, ty) {
            Ok(()) => Ok(value),
            Err(wrong) => Err(FormatError::shape(format!(
                "expected {}, found {}",
                wrong.expected, wrong.found
            ))),
        };
    }
    almach_value::parse(text, ty).map_err(|error| mismatch(text, &error))
}

/// Writes a value in Almach's syntax, all of it.
pub fn write_text(value: &Value, ty: &ValueType) -> Result<Vec<u8>, FormatError> {
    conforms(value, ty).map_err(|wrong| FormatError::malformed(wrong.to_string()))?;
    let mut text = almach_value::print(value, ty, Extent::Full);
    text.push('\n');
    Ok(text.into_bytes())
}

/// The type of the elements of an array of numbers.
fn number_array(ty: &ValueType) -> Option<ScalarType> {
    match ty {
        ValueType::Array(_, element) => match &**element {
            ValueType::Scalar(scalar) if scalar.is_number() => Some(*scalar),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a text is just words: arrays in Almach's syntax start with a bracket, a quote or the name of a function.
fn is_bare(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let starts_as_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
            && !word.starts_with("--")
            || matches!(word, "nan" | "inf" | "NaN" | "Infinity")
    };
    words.next().is_none_or(starts_as_number)
}

fn numbers(text: &str, ty: ScalarType) -> Result<Buffer, FormatError> {
    let mut buffer = Buffer::new(ty);
    for word in text.split_ascii_whitespace() {
        let scalar = number(word, ty).map_err(|mut error| {
            // The words are parts of the text, so the distance of their starts is the offset.
            let offset = (word.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            error.position = Some(position(text, offset));
            error.at(format!("[{}]", buffer.len()))
        })?;
        buffer.push_raw(scalar.to_raw());
    }
    Ok(buffer)
}

fn number(word: &str, ty: ScalarType) -> Result<Scalar, FormatError> {
    let shown: String = word.chars().take(40).collect();
    let wrong = || FormatError::new(cli::VALUE_MISMATCH, format!("expected {ty}, found `{shown}`"));
    let too_large = || FormatError::new(cli::NUMBER_OUT_OF_RANGE, format!("{shown} does not fit {ty}"));
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    if ty.is_integer() {
        if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let value = word.parse::<i128>().map_err(|_| too_large())?;
        return json::integer(ty, value).ok_or_else(too_large);
    }
    let special = match unsigned {
        "nan" | "NaN" => Some(f64::NAN),
        "inf" | "Infinity" if word.starts_with('-') => Some(f64::NEG_INFINITY),
        "inf" | "Infinity" => Some(f64::INFINITY),
        _ => None,
    };
    match (special, ty) {
        (Some(value), ScalarType::F32) => Ok(Scalar::F32(value as f32)),
        (Some(value), _) => Ok(Scalar::F64(value)),
        (None, _) if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') => Err(wrong()),
        (None, _) => match word.parse::<f64>() {
            Ok(_) => json::float(ty, word).ok_or_else(too_large),
            Err(_) => Err(wrong()),
        },
    }
}

fn mismatch(text: &str, error: &ReadError) -> FormatError {
    let message = format!("expected {}, found {}", error.expected, error.found);
    let mut result = FormatError::new(cli::VALUE_MISMATCH, message);
    result.position = Some(position(text, error.at));
    result.help.extend(error.hint.clone());
    result
}

/// Line and column, from 1, of a byte.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or("");
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}
