//! The values of literals. The lexer has delimited them; here they are read, with an error for what has no value.

use crate::codes;
use almach_base::{Diagnostic, Span};
use almach_value::ScalarType;

/// A number as written.
#[derive(Clone, PartialEq, Debug)]
pub enum Number {
    Int {
        value: u128,
        suffix: Option<ScalarType>,
    },
    /// Without `_` and suffix.
    Float {
        text: String,
        suffix: Option<ScalarType>,
    },
}

/// Reads an integer or float literal.
pub fn number(text: &str, span: Span) -> Result<Number, Box<Diagnostic>> {
    for (prefixes, radix) in [(["0x", "0X"], 16), (["0b", "0B"], 2), (["0o", "0O"], 8)] {
        if let Some(digits) = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)) {
            return radix_integer(digits, radix, span);
        }
    }
    decimal(text, span)
}

fn radix_integer(text: &str, radix: u32, span: Span) -> Result<Number, Box<Diagnostic>> {
    let end = text
        .find(|character: char| !character.is_digit(radix) && character != '_')
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let suffix = suffix_of(suffix, span)?;
    if suffix.is_some_and(ScalarType::is_float) {
        return Err(bad(span, "a float cannot be written in this base").into());
    }
    let value = integer(digits, radix, span)?;
    Ok(Number::Int { value, suffix })
}

fn decimal(text: &str, span: Span) -> Result<Number, Box<Diagnostic>> {
    let is_float = text.contains('.') || has_exponent(text);
    let end = number_end(text);
    let (digits, suffix) = text.split_at(end);
    let suffix = suffix_of(suffix, span)?;
    match suffix {
        Some(ty) if is_float && !ty.is_float() => {
            let error = bad(
                span,
                format!("a number with a fraction or exponent cannot be an `{ty}`"),
            );
            Err(error
                .help(format!(
                    "write the integer without a point, or convert: `{ty} {digits}`"
                ))
                .into())
        }
        _ if is_float || suffix.is_some_and(ScalarType::is_float) => Ok(Number::Float {
            text: digits.replace('_', ""),
            suffix,
        }),
        _ => {
            let value = integer(digits, 10, span)?;
            Ok(Number::Int { value, suffix })
        }
    }
}

/// Whether an `e` with digits follows the digits. (`e` starts no suffix.)
fn has_exponent(text: &str) -> bool {
    text.find(['e', 'E'])
        .and_then(|at| text.get(at + 1..))
        .is_some_and(|rest| {
            rest.trim_start_matches(['+', '-'])
                .starts_with(|c: char| c.is_ascii_digit())
        })
}

/// Where the digits, point and exponent end and the suffix starts.
fn number_end(text: &str) -> usize {
    let mut previous = ' ';
    let mut exponents = 0;
    for (at, character) in text.char_indices() {
        let belongs = match character {
            '0'..='9' | '_' | '.' => true,
            '+' | '-' => matches!(previous, 'e' | 'E'),
            'e' | 'E' => {
                exponents += 1;
                exponents == 1 && has_exponent(text.get(at..).unwrap_or(""))
            }
            _ => false,
        };
        if !belongs {
            return at;
        }
        previous = character;
    }
    text.len()
}

fn suffix_of(text: &str, span: Span) -> Result<Option<ScalarType>, Box<Diagnostic>> {
    if text.is_empty() {
        return Ok(None);
    }
    match ScalarType::from_name(text) {
        Some(ty) if ty.is_number() => Ok(Some(ty)),
        _ => Err(
            bad(span, format!("`{}` is not a number's suffix", shortened(text)))
                .help("suffixes are i8 i16 i32 i64 u8 u16 u32 u64 f32 f64")
                .into(),
        ),
    }
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 20;
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown + "…"
    } else {
        shown
    }
}

fn integer(digits: &str, radix: u32, span: Span) -> Result<u128, Box<Diagnostic>> {
    let mut value: u128 = 0;
    let mut any = false;
    for digit in digits.chars().filter_map(|character| character.to_digit(radix)) {
        any = true;
        value = value
            .checked_mul(radix.into())
            .and_then(|value| value.checked_add(digit.into()))
            .ok_or_else(|| too_large(span))?;
    }
    if any {
        Ok(value)
    } else {
        Err(bad(span, "this number has no digits").into())
    }
}

fn bad(span: Span, title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::BAD_NUMBER, span, title).label("in this number")
}

/// The error for an integer that no type can hold.
pub fn too_large(span: Span) -> Box<Diagnostic> {
    Diagnostic::error(
        codes::INTEGER_TOO_LARGE,
        span,
        "this integer is out of range for every type",
    )
    .label("too large")
    .note("the largest integer type is u64, up to 18446744073709551615")
    .into()
}

/// The bytes of a string literal, quotes included in `text`, and an error for every bad escape in it.
pub fn string(text: &str, span: Span) -> (Vec<u8>, Vec<Diagnostic>) {
    let inner = text.strip_prefix('"').unwrap_or(text);
    // An unterminated string has been reported by the lexer and has no closing quote.
    let inner = match inner.strip_suffix('"') {
        Some(closed) if !ends_in_backslash(closed) => closed,
        _ => inner,
    };
    unescape(inner, span, 1)
}

fn ends_in_backslash(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// The byte of a character literal.
pub fn character(text: &str, span: Span) -> Result<u8, Box<Diagnostic>> {
    let error = |title: &str| {
        Diagnostic::error(codes::BAD_CHARACTER, span, title)
            .label("a character is one byte, a `u8`")
            .help(
                "write one ASCII character or an escape: `'a'`, `'\\n'`, `'\\xff'`; longer text is a string",
            )
            .into()
    };
    let inner = text
        .strip_prefix('\'')
        .and_then(|inner| inner.strip_suffix('\''))
        .ok_or_else(|| error("this character literal is not closed"))?;
    let (bytes, errors) = unescape(inner, span, 1);
    if let Some(first) = errors.into_iter().next() {
        return Err(first.into());
    }
    match bytes.as_slice() {
        [byte] => Ok(*byte),
        _ => Err(error("this character does not fit in one byte")),
    }
}

fn unescape(text: &str, span: Span, offset: usize) -> (Vec<u8>, Vec<Diagnostic>) {
    let mut bytes = Vec::with_capacity(text.len());
    let mut errors = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(rest.get(..at).unwrap_or("").as_bytes());
        let escape = rest.get(at + 1..).unwrap_or("");
        let (length, value) = read_escape(escape);
        match value {
            Some(value) => bytes.extend_from_slice(value.as_slice()),
            None => {
                let start = span.start as usize + offset + (text.len() - rest.len()) + at;
                errors.push(bad_escape(Span::new(span.file, start, start + 1 + length)));
            }
        }
        rest = escape.get(length..).unwrap_or("");
    }
    bytes.extend_from_slice(rest.as_bytes());
    (bytes, errors)
}

fn bad_escape(span: Span) -> Diagnostic {
    Diagnostic::error(codes::BAD_ESCAPE, span, "this escape is not known")
        .label("not an escape")
        .help("escapes are `\\n` `\\t` `\\r` `\\0` `\\\\` `\\\"` `\\'` `\\x7f` `\\u{1f600}`; a backslash is `\\\\`")
}

/// What stands behind a backslash: how long it is, and its bytes.
fn read_escape(text: &str) -> (usize, Option<Vec<u8>>) {
    let Some(first) = text.chars().next() else {
        return (0, None);
    };
    let byte = match first {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        '0' => 0,
        '\\' => b'\\',
        '"' => b'"',
        '\'' => b'\'',
        'x' => {
            let value = text
                .get(1..3)
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            return match value {
                Some(value) => (3, Some(vec![value])),
                None => (1, None),
            };
        }
        'u' => return read_unicode(text),
        other => return (other.len_utf8(), None),
    };
    (1, Some(vec![byte]))
}

fn read_unicode(text: &str) -> (usize, Option<Vec<u8>>) {
    // At most six digits, so that a long text without `}` is not searched again and again.
    let digits = text.strip_prefix("u{").and_then(|rest| {
        let end = rest.bytes().take(7).position(|byte| byte == b'}')?;
        rest.get(..end)
    });
    let character = digits
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .and_then(char::from_u32);
    match (digits, character) {
        (Some(digits), Some(character)) => (digits.len() + 3, Some(character.to_string().into_bytes())),
        (Some(digits), None) => (digits.len() + 3, None),
        (None, _) => (1, None),
    }
}
