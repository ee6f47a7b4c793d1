//! Text to tokens. A word, a number, a symbol; comments start with `;` and end with the line.

use crate::codes;
use almach_base::{Diagnostic, FileId, Span};
use almach_syntax::{Comment, CommentKind, CommentPosition, Errors};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Open,
    Close,
    Comma,
    Colon,
    /// Before a component of a tuple: `t.0`.
    Dot,
    /// Before an index: `X ! i`.
    Bang,
    /// `->`, or `→` as the paper prints it.
    Arrow,
    /// Before the dimensions of a `vector#2`.
    Hash,
    Number,
    /// `-1`: a minus and a digit with nothing between them and nothing right before them.
    NegativeNumber,
    Word,
    /// `'a`; the text is without the quote.
    TypeVar,
    /// An operator.
    Symbol,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'s> {
    pub kind: Kind,
    pub text: &'s str,
    pub span: Span,
}

pub struct Lexed<'s> {
    pub tokens: Vec<Token<'s>>,
    pub comments: Vec<Comment>,
    pub errors: Errors,
}

/// Longest first.
const SYMBOLS: &[&str] = &[
    "<<", ">>", "<=", ">=", "~=", "+", "-", "*", "/", "%", "=", "<", ">", "&", "|", "^", "~",
];

/// Operators of other languages, with NOVA's.
const FOREIGN_SYMBOLS: &[(&str, &str)] = &[
    ("==", "="),
    ("!=", "~="),
    ("/=", "~="),
    ("&&", "and"),
    ("||", "or"),
];

pub fn lex(file: FileId, text: &str) -> Lexed<'_> {
    let mut lexer = Lexer {
        file,
        text,
        at: 0,
        lexed: Lexed {
            tokens: Vec::new(),
            comments: Vec::new(),
            errors: Errors::default(),
        },
    };
    while lexer.step() {}
    lexer.lexed
}

struct Lexer<'s> {
    file: FileId,
    text: &'s str,
    at: usize,
    lexed: Lexed<'s>,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Takes one token, comment or blank; whether there was one.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        match first {
            ' ' | '\t' | '\r' | '\n' => self.at += 1,
            ';' => self.comment(),
            '(' => self.push(Kind::Open, 1),
            ')' => self.push(Kind::Close, 1),
            ',' => self.push(Kind::Comma, 1),
            ':' => self.push(Kind::Colon, 1),
            '.' => self.push(Kind::Dot, 1),
            '#' => self.push(Kind::Hash, 1),
            '→' => self.push(Kind::Arrow, '→'.len_utf8()),
            '0'..='9' => self.number(),
            '\'' => self.type_variable(),
            _ if is_word_start(first) => self.push(Kind::Word, word_length(rest)),
            _ => self.symbol(first),
        }
        true
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let end = self.at + length;
        self.lexed.tokens.push(Token {
            kind,
            text: self.text.get(self.at..end).unwrap_or(""),
            span: Span::new(self.file, self.at, end),
        });
        self.at = end;
    }

    fn comment(&mut self) {
        let line = self.rest().split('\n').next().unwrap_or("");
        let line = line.strip_suffix('\r').unwrap_or(line);
        let before = self.text.get(..self.at).unwrap_or("");
        let alone = before
            .rsplit('\n')
            .next()
            .is_none_or(|start| start.trim().is_empty());
        self.lexed.comments.push(Comment {
            kind: CommentKind::Line,
            position: if alone {
                CommentPosition::OwnLine
            } else {
                CommentPosition::AfterCode
            },
            span: Span::new(self.file, self.at, self.at + line.len()),
        });
        self.at += line.len();
    }

    /// After a dot only digits count: `t.1.0` is a component of a component.
    fn number(&mut self) {
        let after_dot = self
            .lexed
            .tokens
            .last()
            .is_some_and(|token| token.kind == Kind::Dot);
        let length = if after_dot {
            digits(self.rest())
        } else {
            number_length(self.rest())
        };
        self.push(Kind::Number, length);
    }

    fn type_variable(&mut self) {
        let name = word_length(self.rest().get(1..).unwrap_or(""));
        if name == 0 {
            self.unknown('\'', "a type variable is a quote and a name: `'a`");
            return;
        }
        self.at += 1;
        self.push(Kind::TypeVar, name);
        if let Some(token) = self.lexed.tokens.last_mut() {
            token.span.start -= 1;
        }
    }

    fn symbol(&mut self, first: char) {
        let rest = self.rest();
        if rest.starts_with("->") {
            return self.push(Kind::Arrow, 2);
        }
        if first == '-' && rest.get(1..).is_some_and(starts_with_digit) && !self.is_glued() {
            let length = 1 + number_length(rest.get(1..).unwrap_or(""));
            return self.push(Kind::NegativeNumber, length);
        }
        if let Some((wrong, right)) = FOREIGN_SYMBOLS.iter().find(|(wrong, _)| rest.starts_with(wrong)) {
            return self.foreign_symbol(wrong, right);
        }
        if first == '!' {
            return self.push(Kind::Bang, 1);
        }
        match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => self.push(Kind::Symbol, symbol.len()),
            None => self.unknown(first, "programs are written in ASCII; a comment starts with `;`"),
        }
    }

    /// Whether the text before belongs to another token.
    fn is_glued(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or("");
        before
            .chars()
            .next_back()
            .is_some_and(|character| !character.is_whitespace() && !matches!(character, '(' | ','))
    }

    fn foreign_symbol(&mut self, wrong: &str, right: &str) {
        let span = Span::new(self.file, self.at, self.at + wrong.len());
        self.lexed.errors.push(
            Diagnostic::error(
                codes::NOVA_FORM,
                span,
                format!("`{wrong}` is not an operator of NOVA"),
            )
            .label("unknown operator")
            .suggest(span, right, format!("NOVA writes `{right}`")),
        );
        self.push(Kind::Symbol, wrong.len());
    }

    fn unknown(&mut self, character: char, help: &str) {
        let span = Span::new(self.file, self.at, self.at + character.len_utf8());
        self.lexed.errors.push(
            Diagnostic::error(
                codes::UNKNOWN_CHARACTER,
                span,
                format!("`{}` is not part of NOVA", character.escape_debug()),
            )
            .label("unknown character")
            .help(help),
        );
        self.at += character.len_utf8();
    }
}

fn is_word_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

fn word_length(text: &str) -> usize {
    if !text.starts_with(is_word_start) {
        return 0;
    }
    text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    text.find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len())
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|character: char| character.is_ascii_digit())
}

/// Digits, a point with digits or none behind it, an exponent, and the letters of a suffix.
fn number_length(text: &str) -> usize {
    let mut at = digits(text);
    let rest = |at: usize| text.get(at..).unwrap_or("");
    if rest(at).starts_with('.') {
        at += 1 + digits(rest(at + 1));
    }
    if rest(at).starts_with(['e', 'E']) {
        let sign = usize::from(rest(at + 1).starts_with(['+', '-']));
        let exponent = digits(rest(at + 1 + sign));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at + rest(at)
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .unwrap_or(rest(at).len())
}
