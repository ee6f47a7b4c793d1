//! Text to tokens. Comments are kept aside with their places; literals are only delimited here and decoded by
//! `literal.rs`, so that every token is read once and the work is linear in the text.

use crate::codes;
use crate::errors::Errors;
use crate::token::{Spacing, Tok, Token};
use almach_base::{Diagnostic, FileId, Span};

/// What the words `data`, `entry`, `foreign`, `import` and `type` mean at the start of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemWords {
    StartItems,
    AreNames,
}

/// A comment: everything from `--` to the end of its line, or `{- … -}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment {
    pub span: Span,
    pub kind: CommentKind,
    pub position: CommentPosition,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommentKind {
    Line,
    Block,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommentPosition {
    /// Nothing but space stands before it on its line.
    OwnLine,
    AfterCode,
}

pub struct Lexed {
    /// Never empty: the last is [`Tok::Eof`].
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    pub errors: Errors,
    pub ended_inside: EndedInside,
}

/// Whether the text ended in the middle of a comment (more input could complete it).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndedInside {
    Nothing,
    BlockComment,
}

pub fn lex(file: FileId, text: &str, item_words: ItemWords) -> Lexed {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        file,
        at: 0,
        content_start: 0,
        item_words,
        spacing: Spacing::FirstOnLine,
        comment_end: 0,
        out: Lexed {
            tokens: Vec::with_capacity(text.len() / 4 + 1),
            comments: Vec::new(),
            errors: Errors::default(),
            ended_inside: EndedInside::Nothing,
        },
    };
    if u32::try_from(text.len()).is_err() {
        lexer.out.errors.push(file_too_large(file));
        lexer.push(Tok::Eof, 0);
        return lexer.out;
    }
    lexer.run();
    lexer.out
}

fn file_too_large(file: FileId) -> Diagnostic {
    Diagnostic::error(
        codes::FILE_TOO_LARGE,
        Span::new(file, 0, 0),
        "this file is larger than 4 GiB",
    )
    .label("the file starts here")
    .help("large data belongs in a file of its own, given to the program as an argument")
}

struct Lexer<'s> {
    text: &'s str,
    bytes: &'s [u8],
    file: FileId,
    at: usize,
    /// Past a byte order mark.
    content_start: usize,
    item_words: ItemWords,
    spacing: Spacing,
    /// Where the last comment ends; what follows on its line is not alone there.
    comment_end: usize,
    out: Lexed,
}

/// Symbols by length, longest first, so that the first that matches is the right one.
const SYMBOLS: [&[(&str, Tok)]; 3] = [
    &[("..<", Tok::RangeTo)],
    &[
        ("..", Tok::DotDot),
        ("->", Tok::Arrow),
        ("=>", Tok::FatArrow),
        ("**", Tok::StarStar),
        ("<<", Tok::Shl),
        (">>", Tok::Shr),
        ("++", Tok::PlusPlus),
        (":>", Tok::Coerce),
        ("==", Tok::EqEq),
        ("!=", Tok::NotEq),
        ("<=", Tok::Le),
        (">=", Tok::Ge),
        ("&&", Tok::AndAnd),
        ("||", Tok::OrOr),
        ("|>", Tok::PipeRight),
        ("<|", Tok::PipeLeft),
    ],
    &[
        ("(", Tok::LParen),
        (")", Tok::RParen),
        ("[", Tok::LBracket),
        ("]", Tok::RBracket),
        ("{", Tok::LBrace),
        ("}", Tok::RBrace),
        (",", Tok::Comma),
        (".", Tok::Dot),
        (":", Tok::Colon),
        (";", Tok::Semicolon),
        ("=", Tok::Equals),
        ("\\", Tok::Backslash),
        ("@", Tok::At),
        ("#", Tok::Hash),
        ("?", Tok::Question),
        ("!", Tok::Bang),
        ("~", Tok::Tilde),
        ("*", Tok::Star),
        ("/", Tok::Slash),
        ("%", Tok::Percent),
        ("+", Tok::Plus),
        ("-", Tok::Minus),
        ("&", Tok::Amp),
        ("^", Tok::Caret),
        ("|", Tok::Bar),
        ("<", Tok::Lt),
        (">", Tok::Gt),
    ],
];

impl Lexer<'_> {
    fn run(&mut self) {
        if self.text.starts_with('\u{feff}') {
            self.content_start = '\u{feff}'.len_utf8();
            self.at = self.content_start;
        }
        loop {
            self.trivia();
            let start = self.at;
            let Some(byte) = self.peek(0) else {
                self.push(Tok::Eof, start);
                return;
            };
            match byte {
                b'0'..=b'9' => self.number(),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
                b'"' => self.string(),
                b'\'' => self.quote(),
                _ => self.symbol(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn push(&mut self, kind: Tok, start: usize) {
        self.out.tokens.push(Token {
            kind,
            start: start as u32,
            end: self.at as u32,
            spacing: self.spacing,
        });
        self.spacing = Spacing::Glued;
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
    }

    /// Space and comments.
    fn trivia(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'\n'), _) => {
                    self.at += 1;
                    self.spacing = Spacing::FirstOnLine;
                }
                (Some(b' ' | b'\t' | b'\r' | b'\x0c'), _) => {
                    self.at += 1;
                    self.space();
                }
                (Some(b'-'), Some(b'-')) => self.line_comment(),
                (Some(b'{'), Some(b'-')) => self.block_comment(),
                _ => return,
            }
        }
    }

    fn space(&mut self) {
        if self.spacing == Spacing::Glued {
            self.spacing = Spacing::Spaced;
        }
    }

    fn comment_position(&self) -> CommentPosition {
        let since_comment = self.text.get(self.comment_end..self.at).unwrap_or("");
        let behind_comment = self.comment_end > 0 && !since_comment.contains('\n');
        match self.spacing {
            Spacing::FirstOnLine if !behind_comment => CommentPosition::OwnLine,
            Spacing::FirstOnLine | Spacing::Glued | Spacing::Spaced => CommentPosition::AfterCode,
        }
    }

    fn line_comment(&mut self) {
        let start = self.at;
        let position = self.comment_position();
        self.skip_while(|byte| byte != b'\n');
        let text = self.text.get(start..self.at).unwrap_or("");
        let end = start + text.trim_end().len();
        self.comment(start, end, CommentKind::Line, position);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let position = self.comment_position();
        let mut open = 0usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'{'), Some(b'-')) => {
                    open += 1;
                    self.at += 2;
                }
                (Some(b'-'), Some(b'}')) => {
                    open -= 1;
                    self.at += 2;
                    if open == 0 {
                        break;
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => {
                    self.unterminated_comment(start);
                    break;
                }
            }
        }
        self.comment(start, self.at, CommentKind::Block, position);
    }

    fn unterminated_comment(&mut self, start: usize) {
        let place = Span::new(self.file, start, start + 2);
        let error = Diagnostic::error(codes::UNTERMINATED_COMMENT, place, "this comment never ends")
            .label("opened here")
            .help("end it with `-}`; comments nest, so every `{-` inside needs its own");
        self.out.errors.push(error);
        self.out.ended_inside = EndedInside::BlockComment;
        // What is missing behind it is no second error.
        self.push(Tok::Error, self.at);
    }

    fn comment(&mut self, start: usize, end: usize, kind: CommentKind, position: CommentPosition) {
        self.out.comments.push(Comment {
            span: Span::new(self.file, start, end),
            kind,
            position,
        });
        self.comment_end = end;
        self.space();
    }

    fn word(&mut self) {
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'\'');
        let word = self.text.get(start..self.at).unwrap_or("");
        let kind = Tok::keyword(word)
            .or_else(|| self.item_word_at(start, word))
            .unwrap_or(match word.as_bytes().first() {
                Some(b'A'..=b'Z') => Tok::Upper,
                _ => Tok::Lower,
            });
        self.push(kind, start);
    }

    fn item_word_at(&self, start: usize, word: &str) -> Option<Tok> {
        let before = start.checked_sub(1).and_then(|before| self.bytes.get(before));
        let at_line_start = start == self.content_start || before == Some(&b'\n');
        (self.item_words == ItemWords::StartItems && at_line_start)
            .then(|| Tok::item_word(word))
            .flatten()
    }

    /// Digits with everything glued to them that could be meant as part of the number. What follows a `.` is the
    /// position in a tuple, so that `t.0.1` is two projections.
    fn number(&mut self) {
        let start = self.at;
        if self.out.tokens.last().is_some_and(|last| last.kind == Tok::Dot) && self.spacing == Spacing::Glued
        {
            self.skip_while(|byte| byte.is_ascii_digit());
            self.push(Tok::Int, start);
            return;
        }
        let mut kind = Tok::Int;
        if self.peek(0) == Some(b'0') && matches!(self.peek(1), Some(b'x' | b'X' | b'b' | b'B' | b'o' | b'O'))
        {
            self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            self.push(kind, start);
            return;
        }
        self.skip_while(|byte| byte.is_ascii_digit() || byte == b'_');
        if self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) {
            kind = Tok::Float;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit() || byte == b'_');
        }
        let exponent_at = match (self.peek(0), self.peek(1)) {
            (Some(b'e' | b'E'), Some(b'+' | b'-')) => 2,
            (Some(b'e' | b'E'), Some(_)) => 1,
            _ => 0,
        };
        if exponent_at > 0 && self.peek(exponent_at).is_some_and(|byte| byte.is_ascii_digit()) {
            kind = Tok::Float;
            self.at += exponent_at;
        }
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        self.push(kind, start);
    }

    fn string(&mut self) {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') if self.peek(1).is_some_and(|byte| byte != b'\n') => self.at += 2,
                Some(b'\n') | None => {
                    self.unterminated_string(start);
                    break;
                }
                Some(_) => self.at += 1,
            }
        }
        self.push(Tok::Str, start);
    }

    fn unterminated_string(&mut self, start: usize) {
        let end = start + self.text.get(start..self.at).unwrap_or("").trim_end().len();
        let error = Diagnostic::error(
            codes::UNTERMINATED_STRING,
            Span::new(self.file, start, end.max(start + 1)),
            "this string never ends",
        )
        .label("opened here, and the line ends before it is closed")
        .help("close it with `\"`; a line break inside a string is written `\\n`");
        self.out.errors.push(error);
    }

    /// `'a` is a type variable, `'a'` and `'\n'` are characters.
    fn quote(&mut self) {
        let start = self.at;
        let rest = self.text.get(start + 1..).unwrap_or("");
        let mut characters = rest.chars();
        let first = characters.next();
        let second = characters.next();
        match (first, second) {
            (Some('\\'), Some(escaped)) if escaped != '\n' => {
                self.at += 2 + escaped.len_utf8();
                self.skip_while(|byte| {
                    byte != b'\'' && byte.is_ascii_alphanumeric() || matches!(byte, b'{' | b'}')
                });
                if self.peek(0) == Some(b'\'') {
                    self.at += 1;
                }
                self.push(Tok::Char, start);
            }
            (Some(character), Some('\'')) if character != '\n' => {
                self.at += 2 + character.len_utf8();
                self.push(Tok::Char, start);
            }
            (Some(character), _) if character.is_ascii_alphabetic() || character == '_' => {
                self.at += 1;
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                self.push(Tok::TypeVar, start);
            }
            _ => self.unknown(start, 1),
        }
    }

    fn symbol(&mut self) {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or(&[]);
        for candidates in SYMBOLS {
            for (text, kind) in candidates {
                if rest.starts_with(text.as_bytes()) {
                    self.at += text.len();
                    self.push(*kind, start);
                    return;
                }
            }
        }
        let unknown = self.text.get(start..).unwrap_or("");
        let length: usize = unknown
            .chars()
            .take_while(|character| {
                !character.is_ascii() || matches!(character, '$' | '`') || character.is_ascii_control()
            })
            .take_while(|character| !character.is_whitespace())
            .map(char::len_utf8)
            .sum();
        let first = unknown.chars().next().map_or(1, char::len_utf8);
        self.unknown(start, length.max(first));
    }

    fn unknown(&mut self, start: usize, length: usize) {
        self.at = start + length;
        let text = self.text.get(start..self.at).unwrap_or("");
        let shown: String = text.chars().take(20).flat_map(char::escape_debug).collect();
        let error = Diagnostic::error(
            codes::UNKNOWN_CHARACTER,
            Span::new(self.file, start, self.at),
            format!("`{shown}` is not part of the language"),
        )
        .label("not known here");
        let error = match look_alike(text) {
            Some(meant) => error.suggest(
                Span::new(self.file, start, self.at),
                meant,
                format!("write `{meant}`"),
            ),
            None => error.help("names are made of ASCII letters, digits, `_` and `'`"),
        };
        self.out.errors.push(error);
        self.push(Tok::Error, start);
    }
}

/// What people mean by a character from another language or a text processor.
fn look_alike(text: &str) -> Option<&'static str> {
    Some(match text {
        "$" => "<|",
        "λ" => "\\",
        "→" => "->",
        "≤" => "<=",
        "≥" => ">=",
        "≠" => "!=",
        "−" | "–" | "—" => "-",
        "×" | "·" => "*",
        "÷" => "/",
        "∧" => "&&",
        "∨" => "||",
        "¬" => "!",
        "“" | "”" => "\"",
        "‘" | "’" => "'",
        "\u{a0}" => " ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::file_too_large;
    use almach_base::SourceMap;
    use almach_base::render::{Style, to_text};
    use expect_test::expect;

    /// Rendered without a file of that size.
    #[test]
    fn a_file_that_is_too_large_is_explained() {
        let mut sources = SourceMap::new();
        let file = sources.add("large.alm", "def x = [");
        let output = to_text(&[file_too_large(file)], &sources, Style::Plain);
        expect![[r#"
            error[E0119]: this file is larger than 4 GiB
             --> large.alm:1:1
              |
            1 | def x = [
              | ^ the file starts here
              |
              = help: large data belongs in a file of its own, given to the program as an argument

        "#]]
        .assert_eq(&output);
    }
}
