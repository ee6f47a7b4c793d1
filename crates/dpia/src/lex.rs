//! Tokens of the text form. Nothing here is kept: text is read in one pass from left to right.

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
    Number(i64),
    /// `#` and what follows up to a blank or bracket: a scalar literal.
    Literal(String),
    /// `"…"` with `\"`, `\\` and `\n`.
    Text(String),
    Symbol(&'static str),
    End,
}

const SYMBOLS: [&str; 26] = [
    "->p", "->", ":=", "/\\", "(", ")", "[", "]", "{", "}", "<", ">", "\\", ".", ",", ":", ";", "*", "+",
    "-", "/", "=", "@", "%", "|", "&",
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
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let (token, length) = match first {
            '"' => text_token(rest).ok_or_else(|| error(at, "a text without an end"))?,
            '#' => {
                let length = prefix(&rest[1..], |c| c.is_ascii_alphanumeric() || ".+-".contains(c)) + 1;
                (Token::Literal(rest[1..length].to_string()), length)
            }
            '0'..='9' => {
                let length = prefix(rest, |c| c.is_ascii_digit());
                let value = rest[..length]
                    .parse()
                    .map_err(|_| error(at, "a number that is too large"))?;
                (Token::Number(value), length)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let length = prefix(rest, |c| c.is_alphanumeric() || "_'$".contains(c));
                (Token::Ident(rest[..length].to_string()), length)
            }
            _ => symbol(rest).ok_or_else(|| error(at, format!("the character `{first}`")))?,
        };
        result.push((token, at));
        rest = &rest[length..];
    }
}

fn symbol(rest: &str) -> Option<(Token, usize)> {
    let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol))?;
    // `->p` only where no longer name starts with that letter.
    let longer = rest[symbol.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    match *symbol == "->p" && longer {
        true => Some((Token::Symbol("->"), 2)),
        false => Some((Token::Symbol(symbol), symbol.len())),
    }
}

fn text_token(rest: &str) -> Option<(Token, usize)> {
    let mut content = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Token::Text(content), at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => content.push('\n'),
                other => content.push(other),
            },
            other => content.push(other),
        }
    }
    None
}

pub(crate) fn quote(text: &str) -> String {
    let mut result = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => result.extend(['\\', c]),
            '\n' => result.push_str("\\n"),
            _ => result.push(c),
        }
    }
    result.push('"');
    result
}

fn prefix(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

pub(crate) fn error(at: usize, message: impl Into<String>) -> ParseError {
    ParseError {
        at,
        message: message.into(),
    }
}
