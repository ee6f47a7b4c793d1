//! The parser: recursive descent, with precedence climbing for operators. It never gives up on a file: an error is
//! reported once and parsing goes on at the next place that is certain (a closing bracket, the next `let`, `in` or
//! case arm, the next item), so that independent mistakes are all reported and one mistake is reported once.
//!
//! Nesting is limited by [`NESTING_LIMIT`], so that neither the parser nor anything that walks the tree can run out
//! of stack.

mod atom;
mod expr;
mod forms;
mod hints;
mod item;
mod names;
mod pattern;
mod recover;
mod repl;
mod types;

use crate::ast::{Dialect, Expr, File, TypeExpr};
use crate::codes;
use crate::errors::Errors;
use crate::lexer::{Comment, EndedInside, ItemWords, lex};
use crate::token::{Spacing, Tok, Token};
use crate::{brackets, tests_in_comments};
use almach_base::{Diagnostic, FileId, Name, Span};
use std::collections::{HashMap, HashSet};

pub use repl::{ReplInput, ReplParsed, parse_repl};

/// How deep a tree may be.
pub const NESTING_LIMIT: u32 = 5_000;

/// What a file's text says.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    pub file: File,
    pub diagnostics: Vec<Diagnostic>,
    /// In order, tests included.
    pub comments: Vec<Comment>,
}

/// Whether more text could turn the input into something valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    Complete,
    Incomplete,
}

/// Parses a `.alm` file. The result is the whole file, with error nodes where something could not be parsed.
pub fn parse_file(file: FileId, text: &str) -> Parsed {
    let mut parser = Parser::new(file, text, ItemWords::StartItems);
    let items = parser.items();
    let tests = tests_in_comments::tests(text, &parser.comments, "--");
    Parsed {
        file: File {
            dialect: Dialect::Almach,
            items,
            tests,
        },
        diagnostics: parser.errors.into_sorted(),
        comments: parser.comments,
    }
}

/// Parses one expression, such as the call of a test.
pub fn parse_expr(file: FileId, text: &str) -> (Expr, Vec<Diagnostic>) {
    let mut parser = Parser::new(file, text, ItemWords::AreNames);
    let parsed = parser.expr();
    let expr = parser.whole(parsed, "an operator or the end of the expression");
    let expr = expr.unwrap_or_else(|| Expr::error(parser.all()));
    (expr, parser.errors.into_sorted())
}

/// Parses one type, such as those in the table of primitives.
pub fn parse_type(file: FileId, text: &str) -> (TypeExpr, Vec<Diagnostic>) {
    let mut parser = Parser::new(file, text, ItemWords::AreNames);
    let parsed = parser.ty();
    let ty = parser.whole(parsed, "`->` or the end of the type");
    let ty = ty.unwrap_or_else(|| TypeExpr::error(parser.all()));
    (ty, parser.errors.into_sorted())
}

/// An error has been reported; whoever can go on from here does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Failed;

type Parse<T> = Result<T, Failed>;

struct Parser<'s> {
    text: &'s str,
    file: FileId,
    tokens: Vec<Token>,
    partners: Vec<u32>,
    at: usize,
    /// Where the token before the current one ends.
    previous_end: u32,
    comments: Vec<Comment>,
    errors: Errors,
    /// Tokens at which an error has been reported: one place, one error.
    reported_at: HashSet<usize>,
    /// How many trees are around what is being parsed.
    depth: u32,
    /// How high the highest tree is that has been parsed inside the current one.
    height: u32,
    bar: Bar,
    recovered: Recovered,
    completeness: Completeness,
    /// The nesting limit was hit: the rest of the file is not looked at.
    stopped: bool,
    names: HashMap<&'s str, Name>,
}

/// What `|` means: in a case arm it starts the next arm, unless brackets are around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bar {
    IsOperator,
    StartsArm,
}

/// Whether the current item has had an error from which the parser went on. What is left over at the end of such an
/// item is no news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recovered {
    Yes,
    No,
}

impl<'s> Parser<'s> {
    fn new(file: FileId, text: &'s str, item_words: ItemWords) -> Parser<'s> {
        let lexed = lex(file, text, item_words);
        let partners = brackets::partners(&lexed.tokens);
        Parser {
            text,
            file,
            partners,
            tokens: lexed.tokens,
            at: 0,
            previous_end: 0,
            comments: lexed.comments,
            errors: lexed.errors,
            reported_at: HashSet::new(),
            depth: 0,
            height: 0,
            bar: Bar::IsOperator,
            recovered: Recovered::No,
            completeness: match lexed.ended_inside {
                EndedInside::Nothing => Completeness::Complete,
                EndedInside::BlockComment => Completeness::Incomplete,
            },
            stopped: false,
            names: HashMap::new(),
        }
    }

    /// What was parsed if it parsed; an error where something is left over.
    fn whole<T>(&mut self, parsed: Parse<T>, expected: &str) -> Option<T> {
        let parsed = parsed.ok()?;
        if self.peek() != Tok::Eof && self.recovered == Recovered::No {
            self.left_over(expected);
        }
        Some(parsed)
    }

    fn all(&self) -> Span {
        Span::new(self.file, 0, self.text.len())
    }

    fn token(&self) -> Token {
        self.token_at(self.at)
    }

    fn token_at(&self, at: usize) -> Token {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(at.min(last)).copied().unwrap_or(Token {
            kind: Tok::Eof,
            start: 0,
            end: 0,
            spacing: Spacing::FirstOnLine,
        })
    }

    fn peek(&self) -> Tok {
        self.token().kind
    }

    fn peek_at(&self, ahead: usize) -> Tok {
        self.token_at(self.at + ahead).kind
    }

    fn here(&self) -> Span {
        self.token().span(self.file)
    }

    fn text_of(&self, token: Token) -> &'s str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }

    /// From where `start` begins to the end of what has been read.
    fn since(&self, start: Span) -> Span {
        Span {
            file: self.file,
            start: start.start,
            end: self.previous_end.max(start.start),
        }
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != Tok::Eof {
            self.at += 1;
            self.previous_end = token.end;
        }
        token
    }

    fn eat(&mut self, kind: Tok) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    /// The token that must come now.
    fn expect(&mut self, kind: Tok) -> Parse<Span> {
        if self.peek() == kind {
            Ok(self.bump().span(self.file))
        } else {
            Err(self.unexpected(kind.describe()))
        }
    }

    fn name(&mut self, token: Token) -> Name {
        let text = self.text_of(token);
        self.names.entry(text).or_insert_with(|| Name::from(text)).clone()
    }

    /// Parses something that stands inside the current tree.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= NESTING_LIMIT {
            return Err(self.too_deep());
        }
        let height_around = std::mem::take(&mut self.height);
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        self.height = height_around.max(self.height + 1);
        parsed
    }

    /// The tree just parsed becomes part of a new one at the same place: `a + b` in `a + b + c`.
    fn wrap(&mut self) -> Parse<()> {
        self.height += 1;
        if self.depth + self.height > NESTING_LIMIT {
            return Err(self.too_deep());
        }
        Ok(())
    }

    fn too_deep(&mut self) -> Failed {
        let error = Diagnostic::error(
            codes::NESTING_TOO_DEEP,
            self.here(),
            format!("nesting deeper than {NESTING_LIMIT} levels"),
        )
        .label("too deep here; the rest of the file was not looked at")
        .help("name inner parts with `let` or `def`; an operator chain counts one level per operator");
        self.report_about(error);
        self.stopped = true;
        self.at = self.tokens.len().saturating_sub(1);
        Failed
    }
}
