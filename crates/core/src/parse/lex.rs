//! Tokens of the text form.

use crate::names::is_identifier_char;
use almach_base::{Diagnostic, FileId, Span, codes};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// A name or keyword.
    Word,
    /// Digits with what belongs to them: `12`, `0.5f32`, `1e-7f64`.
    Number,
    /// In quotes.
    Text,
    Symbol,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

/// Longest first.
const SYMBOLS: [&str; 36] = [
    ":>", "->", "<<", ">>", "<=", ">=", "==", "!=", "**", "(", ")", "[", "]", "{", "}", "<", ">", ",", ":",
    ".", "=", "|", "+", "-", "*", "/", "%", "&", "^", "\\", "@", "#", "?", "!", ";", "~",
];

pub(super) fn error(span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::syntax::IR_TEXT, span, message))
}

pub(super) fn tokens(text: &str, file: FileId) -> Result<Vec<Token>, Box<Diagnostic>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (kind, length) = if first.is_ascii_alphabetic() || first == '_' {
            (TokenKind::Word, run(rest, is_identifier_char))
        } else if first.is_ascii_digit() {
            (TokenKind::Number, number(rest))
        } else if first == '"' {
            let length = quoted(rest)
                .ok_or_else(|| error(Span::new(file, at, text.len()), "the text in quotes does not end"))?;
            (TokenKind::Text, length)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (TokenKind::Symbol, symbol.len())
        } else {
            let span = Span::new(file, at, at + first.len_utf8());
            return Err(error(span, format!("`{first}` has no meaning here")));
        };
        tokens.push(Token {
            kind,
            start: at,
            end: at + length,
        });
        at += length;
    }
    Ok(tokens)
}

/// Bytes of the longest prefix of such characters.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    let digits = |from: usize| {
        text.get(from..)
            .map_or(0, |rest| run(rest, |c| c.is_ascii_digit()))
    };
    let is = |at: usize, wanted: &[u8]| text.as_bytes().get(at).is_some_and(|c| wanted.contains(c));
    let mut end = digits(0);
    if is(end, b".") && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if is(end, b"e") {
        let sign = usize::from(is(end + 1, b"+-"));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end + text
        .get(end..)
        .map_or(0, |rest| run(rest, |c| c.is_ascii_alphanumeric()))
}

/// Bytes up to and with the closing quote.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The text between quotes, escapes replaced.
pub(super) fn unquote(quoted: &str) -> Option<String> {
    let inside = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            other => out.push(other),
        }
    }
    Some(out)
}
