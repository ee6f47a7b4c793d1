//! Tokens of the text form.

use std::fmt;

/// What the parser could not read, and where (in bytes).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    pub at: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.message)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Ident(String),
    /// Digits, with all that belongs to a literal: `3`, `1.5f32`, `1e-5f64`.
    Number(String),
    Text(String),
    Symbol(&'static str),
    End,
}

const SYMBOLS: [&str; 26] = [
    "<<", ">>", "<=", ">=", "==", "!=", "(", ")", "[", "]", "{", "}", "<", ">", ",", ":", "=", "+", "-", "*",
    "/", "%", "&", "|", "^", ".",
];

pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut result = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            result.push((Token::End, at));
            return Ok(result);
        };
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let found = match first {
            '"' => text_token(rest),
            '0'..='9' => Some(number(rest)),
            _ if first.is_alphabetic() || first == '_' => {
                let length = prefix(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '\'' | '$'));
                Some((Token::Ident(rest[..length].to_string()), length))
            }
            _ => SYMBOLS
                .iter()
                .find(|symbol| rest.starts_with(**symbol))
                .map(|symbol| (Token::Symbol(symbol), symbol.len())),
        };
        let Some((token, length)) = found else {
            return Err(ParseError {
                at,
                message: format!("the character `{first}` starts nothing"),
            });
        };
        result.push((token, at));
        rest = &rest[length..];
    }
}

fn number(rest: &str) -> (Token, usize) {
    let mut length = prefix(rest, |c| c.is_ascii_digit());
    if rest[length..].starts_with('.') && rest[length + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        length += 1 + prefix(&rest[length + 1..], |c| c.is_ascii_digit());
    }
    if let Some(exponent) = rest[length..].strip_prefix('e') {
        let sign = usize::from(exponent.starts_with('-'));
        let digits = prefix(&exponent[sign..], |c| c.is_ascii_digit());
        length += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    length += prefix(&rest[length..], |c| c.is_ascii_alphanumeric());
    (Token::Number(rest[..length].to_string()), length)
}

/// As Rust's `{:?}` writes it: `\"`, `\\`, `\n`, `\t`, `\r`, `\u{…}`.
fn text_token(rest: &str) -> Option<(Token, usize)> {
    let mut content = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Token::Text(content), at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                'r' => content.push('\r'),
                '0' => content.push('\0'),
                'u' => {
                    let digits: String = chars
                        .by_ref()
                        .skip(1)
                        .map(|(_, c)| c)
                        .take_while(|c| *c != '}')
                        .collect();
                    content.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                other => content.push(other),
            },
            other => content.push(other),
        }
    }
    None
}

fn prefix(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}
