//! Numbers, booleans and strings in value text.

use super::ReadError;
use super::lexer::{Lexer, Token, TokenKind};
use crate::{Scalar, ScalarType};

/// A scalar of a type: `-1`, `0xff`, `1_000i64`, `2.5e-3`, `nan`, `true`.
pub(super) fn scalar(lexer: &mut Lexer<'_>, ty: ScalarType) -> Result<Scalar, ReadError> {
    let mut first = lexer.next()?;
    let mut open = 0usize;
    while first.kind == TokenKind::OpenParen {
        open += 1;
        first = lexer.next()?;
    }
    let value = signed(lexer, first, ty)?;
    for _ in 0..open {
        lexer.expect(TokenKind::CloseParen)?;
    }
    Ok(value)
}

fn signed(lexer: &mut Lexer<'_>, first: Token<'_>, ty: ScalarType) -> Result<Scalar, ReadError> {
    let (negative, token) = match first.kind {
        TokenKind::Minus => (true, lexer.next()?),
        _ => (false, first),
    };
    let expected = || article(ty);
    match (ty, token.kind, token.text) {
        (ScalarType::Bool, TokenKind::Word, "true") if !negative => Ok(Scalar::Bool(true)),
        (ScalarType::Bool, TokenKind::Word, "false") if !negative => Ok(Scalar::Bool(false)),
        (ScalarType::F32 | ScalarType::F64, TokenKind::Word, "nan" | "inf") => Ok(float(
            if token.text == "nan" {
                f64::NAN
            } else {
                f64::INFINITY
            },
            negative,
            ty,
        )),
        (ScalarType::Bool, ..) => Err(token.unexpected(&expected())),
        (_, TokenKind::Number, _) if ty.is_float() => float_literal(&token, negative, ty),
        (_, TokenKind::Number, _) => integer_literal(&token, negative, ty),
        _ => Err(token.unexpected(&expected())),
    }
}

fn article(ty: ScalarType) -> String {
    match ty {
        ScalarType::Bool => "`true` or `false`".to_owned(),
        _ if ty.is_unsigned_integer() => format!("a {ty}"),
        _ => format!("an {ty}"),
    }
}

/// Splits `12i64` into its digits and its suffix, and refuses a suffix of another type.
fn without_suffix<'s>(token: &Token<'s>, ty: ScalarType) -> Result<&'s str, ReadError> {
    let hexadecimal = token.text.starts_with("0x") || token.text.starts_with("0X");
    for suffix in ScalarType::ALL.into_iter().filter(|ty| ty.is_number()) {
        // `0x1f32` is a hexadecimal number.
        if hexadecimal && suffix.is_float() {
            continue;
        }
        let Some(digits) = token.text.strip_suffix(suffix.name()) else {
            continue;
        };
        if digits.is_empty() {
            continue;
        }
        if suffix != ty {
            return Err(token.unexpected(&article(ty)));
        }
        return Ok(digits);
    }
    Ok(token.text)
}

fn integer_literal(token: &Token<'_>, negative: bool, ty: ScalarType) -> Result<Scalar, ReadError> {
    let digits = without_suffix(token, ty)?.replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, digits.get(2..)),
        Some("0b" | "0B") => (2, digits.get(2..)),
        Some("0o" | "0O") => (8, digits.get(2..)),
        _ => (10, Some(digits.as_str())),
    };
    let digits = digits.unwrap_or("");
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(token.unexpected(&article(ty)));
    }
    let out_of_range = || {
        let mut error = token.unexpected(&article(ty));
        let (low, high) = range(ty);
        error.hint = Some(format!("{ty} goes from {low} to {high}"));
        error
    };
    let magnitude = i128::from_str_radix(digits, radix).map_err(|_| out_of_range())?;
    let value = if negative { -magnitude } else { magnitude };
    let (low, high) = range(ty);
    if value < low || value > high {
        return Err(out_of_range());
    }
    Ok(Scalar::from_raw(ty, value as u64))
}

/// The least and the greatest value of an integer type.
fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    match ty.is_signed_integer() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    }
}

fn float_literal(token: &Token<'_>, negative: bool, ty: ScalarType) -> Result<Scalar, ReadError> {
    let digits = without_suffix(token, ty)?.replace('_', "");
    let well_formed = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if !well_formed {
        return Err(token.unexpected(&article(ty)));
    }
    let value = match ty {
        // Reading as a double first would round twice.
        ScalarType::F32 => digits
            .parse::<f32>()
            .ok()
            .map(|v| Scalar::F32(if negative { -v } else { v })),
        _ => digits
            .parse::<f64>()
            .ok()
            .map(|v| Scalar::F64(if negative { -v } else { v })),
    };
    value.ok_or_else(|| token.unexpected(&article(ty)))
}

fn float(value: f64, negative: bool, ty: ScalarType) -> Scalar {
    let value = if negative { -value } else { value };
    match ty {
        ScalarType::F32 => Scalar::F32(value as f32),
        _ => Scalar::F64(value),
    }
}

/// The bytes of a string literal: UTF-8, with the escapes `\n \t \r \0 \\ \" \xHH`.
pub(super) fn string_bytes(token: &Token<'_>) -> Result<Vec<u8>, ReadError> {
    let inside = token
        .text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or("");
    let mut bytes = Vec::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let byte = match chars.next() {
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('r') => b'\r',
            Some('0') => 0,
            Some('\\') => b'\\',
            Some('"') => b'"',
            Some('\'') => b'\'',
            Some('x') => {
                let digits: String = chars.by_ref().take(2).collect();
                match u8::from_str_radix(&digits, 16) {
                    Ok(byte) if digits.len() == 2 => byte,
                    _ => return Err(token.unexpected("two hexadecimal digits after `\\x`")),
                }
            }
            _ => return Err(token.unexpected("one of the escapes \\n \\t \\r \\0 \\\\ \\\" \\xHH")),
        };
        bytes.push(byte);
    }
    Ok(bytes)
}
