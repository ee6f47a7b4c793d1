//! The words of JSON, one at a time. The reader knows which type comes next, so it asks for what it needs and no tree
//! is built in between.

use crate::FormatError;
use std::borrow::Cow;

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Where the last word started, for messages.
    start: usize,
}

/// What comes next, as far as its first byte tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ahead {
    Object,
    Array,
    Text,
    Number,
    Other,
    End,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
            at: 0,
            start: 0,
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.start = self.at;
    }

    pub fn ahead(&mut self) -> Ahead {
        self.skip_blanks();
        match self.byte() {
            None => Ahead::End,
            Some(b'{') => Ahead::Object,
            Some(b'[') => Ahead::Array,
            Some(b'"') => Ahead::Text,
            Some(b'-' | b'0'..=b'9') => Ahead::Number,
            Some(_) => Ahead::Other,
        }
    }

    /// Takes a mark such as `,` or `]` if it comes next.
    pub fn eat(&mut self, mark: u8) -> bool {
        self.skip_blanks();
        let found = self.byte() == Some(mark);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, mark: u8, expected: &str) -> Result<(), FormatError> {
        if self.eat(mark) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Takes a word such as `true` if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let found = self
            .rest()
            .strip_prefix(word)
            .is_some_and(|after| !after.starts_with(|next: char| next.is_alphanumeric() || next == '_'));
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// A number as it is written; the grammar of JSON is kept to.
    pub fn number(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let bytes = self.text.as_bytes();
        let from = self.at;
        let digits = |mut at: usize| {
            let start = at;
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            (at > start).then_some(at)
        };
        let mut end = from + usize::from(bytes.get(from) == Some(&b'-'));
        end = match bytes.get(end) {
            Some(b'0') => end + 1,
            _ => digits(end)?,
        };
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1)?;
        }
        if let Some(b'e' | b'E') = bytes.get(end) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            end = digits(end + 1 + sign)?;
        }
        let follows = bytes
            .get(end)
            .is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'.');
        if follows {
            return None;
        }
        self.at = end;
        self.text.get(from..end)
    }

    /// The contents of a string.
    pub fn string(&mut self) -> Result<Cow<'a, str>, FormatError> {
        self.expect(b'"', "a string")?;
        let from = self.at;
        let rest = self.rest();
        let end = rest
            .find(['"', '\\'])
            .ok_or_else(|| self.error("a string does not end"))?;
        let plain = rest.get(..end).unwrap_or("");
        self.refuse_control(plain)?;
        if rest.as_bytes().get(end) == Some(&b'"') {
            self.at = from + end + 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        self.at = from + end;
        loop {
            let rest = self.rest();
            let end = rest
                .find(['"', '\\'])
                .ok_or_else(|| self.error("a string does not end"))?;
            let plain = rest.get(..end).unwrap_or("");
            self.refuse_control(plain)?;
            text.push_str(plain);
            self.at += end + 1;
            if rest.as_bytes().get(end) == Some(&b'"') {
                return Ok(Cow::Owned(text));
            }
            text.push(self.escape()?);
        }
    }

    fn refuse_control(&self, text: &str) -> Result<(), FormatError> {
        match text.bytes().find(|byte| *byte < 0x20) {
            Some(byte) => Err(self.error(format!("a string contains the control character {byte:#04x}"))),
            None => Ok(()),
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, FormatError> {
        let kind = self.byte().ok_or_else(|| self.error("a string does not end"))?;
        self.at += 1;
        Ok(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.rest().starts_with("\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    }
                }
                char::from_u32(code).ok_or_else(|| self.error("an escape is no Unicode character"))?
            }
            _ => return Err(self.error("a backslash is followed by no known letter")),
        })
    }

    fn hex(&mut self) -> Result<u32, FormatError> {
        let digits = self.text.get(self.at..self.at + 4);
        let code = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.error("\\u needs four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }

    /// What comes next, in words.
    pub fn found(&mut self) -> String {
        match self.ahead() {
            Ahead::End => "the end of the file".to_owned(),
            Ahead::Object => "an object".to_owned(),
            Ahead::Array => "an array".to_owned(),
            Ahead::Text => {
                let quoted: String = self
                    .rest()
                    .chars()
                    .skip(1)
                    .take_while(|c| *c != '"')
                    .take(24)
                    .collect();
                format!("the string {quoted:?}")
            }
            Ahead::Number => {
                let is_part = |c: &char| c.is_ascii_alphanumeric() || "+-.".contains(*c);
                format!(
                    "`{}`",
                    self.rest()
                        .chars()
                        .take_while(is_part)
                        .take(40)
                        .collect::<String>()
                )
            }
            Ahead::Other => {
                let word: String = self
                    .rest()
                    .chars()
                    .take_while(|c| c.is_alphanumeric())
                    .take(24)
                    .collect();
                match word.as_str() {
                    "" => format!("`{}`", self.rest().chars().take(1).collect::<String>()),
                    word => format!("`{word}`"),
                }
            }
        }
    }

    /// An error in the syntax where the last word started.
    pub fn error(&self, message: impl Into<String>) -> FormatError {
        self.located(FormatError::malformed(message))
    }

    pub fn unexpected(&mut self, expected: &str) -> FormatError {
        let found = self.found();
        self.error(format!("expected {expected}, found {found}"))
    }

    pub fn located(&self, mut error: FormatError) -> FormatError {
        let before = self.text.get(..self.start).unwrap_or("");
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        error.position = Some((line, column));
        error
    }
}
