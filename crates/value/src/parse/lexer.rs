//! Tokens of value text.

use super::ReadError;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Equals,
    Hash,
    Minus,
    /// Starts with a digit or a point; a suffix or exponent included.
    Number,
    /// A name or keyword.
    Word,
    /// With its quotes.
    String,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'s> {
    pub kind: TokenKind,
    pub text: &'s str,
    pub at: usize,
}

impl Token<'_> {
    pub(super) fn unexpected(&self, expected: &str) -> ReadError {
        ReadError {
            at: self.at,
            expected: expected.to_owned(),
            found: match self.kind {
                TokenKind::End => "the end of the text".to_owned(),
                _ => format!("`{}`", shortened(self.text)),
            },
            hint: None,
        }
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text.to_owned(),
    }
}

#[derive(Clone)]
pub(super) struct Lexer<'s> {
    text: &'s str,
    at: usize,
    peeked: Option<Token<'s>>,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Lexer<'s> {
        Lexer {
            text,
            at: 0,
            peeked: None,
        }
    }

    pub(super) fn peek(&mut self) -> Result<Token<'s>, ReadError> {
        if let Some(token) = self.peeked {
            return Ok(token);
        }
        let token = self.lex()?;
        self.peeked = Some(token);
        Ok(token)
    }

    pub(super) fn next(&mut self) -> Result<Token<'s>, ReadError> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.lex(),
        }
    }

    pub(super) fn expect(&mut self, kind: TokenKind) -> Result<(), ReadError> {
        let token = self.next()?;
        if token.kind == kind {
            return Ok(());
        }
        Err(token.unexpected(match kind {
            TokenKind::OpenParen => "`(`",
            TokenKind::CloseParen => "`)`",
            TokenKind::OpenBracket => "`[`",
            TokenKind::CloseBracket => "`]`",
            TokenKind::OpenBrace => "`{`",
            TokenKind::CloseBrace => "`}`",
            TokenKind::Comma => "`,`",
            TokenKind::Equals => "`=`",
            TokenKind::Hash => "a node such as `#Cons`",
            TokenKind::Minus => "`-`",
            TokenKind::Number => "a number",
            TokenKind::Word => "a name",
            TokenKind::String => "a string",
            TokenKind::End => "the end",
        }))
    }

    fn lex(&mut self) -> Result<Token<'s>, ReadError> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        let at = self.at;
        let Some(first) = trimmed.chars().next() else {
            return Ok(Token {
                kind: TokenKind::End,
                text: "",
                at,
            });
        };
        let single = |kind: TokenKind| (kind, first.len_utf8());
        let (kind, length) = match first {
            '(' => single(TokenKind::OpenParen),
            ')' => single(TokenKind::CloseParen),
            '[' => single(TokenKind::OpenBracket),
            ']' => single(TokenKind::CloseBracket),
            '{' => single(TokenKind::OpenBrace),
            '}' => single(TokenKind::CloseBrace),
            ',' => single(TokenKind::Comma),
            '=' => single(TokenKind::Equals),
            '#' => single(TokenKind::Hash),
            '-' | '\u{2212}' => single(TokenKind::Minus),
            '"' => (TokenKind::String, string_length(trimmed, at)?),
            '0'..='9' | '.' => (TokenKind::Number, number_length(trimmed)),
            c if c.is_alphabetic() || c == '_' => (TokenKind::Word, word_length(trimmed)),
            _ => {
                let token = Token {
                    kind: TokenKind::Word,
                    text: trimmed.get(..first.len_utf8()).unwrap_or(""),
                    at,
                };
                return Err(token.unexpected("a value"));
            }
        };
        self.at += length;
        Ok(Token {
            kind,
            text: trimmed.get(..length).unwrap_or(""),
            at,
        })
    }
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'' || c == '.'))
        .unwrap_or(text.len())
}

/// Digits, letters, points, and the sign of an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let after_exponent = at > 0 && matches!(bytes.get(at - 1), Some(b'e' | b'E')) && !hexadecimal;
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'_' => at += 1,
            b'+' | b'-' if after_exponent => at += 1,
            _ => break,
        }
    }
    at
}

fn string_length(text: &str, at: usize) -> Result<usize, ReadError> {
    let mut escaped = false;
    for (offset, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Ok(offset + 1),
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    Err(ReadError {
        at,
        expected: "a closing `\"`".to_owned(),
        found: "the end of the text".to_owned(),
        hint: None,
    })
}
