//! What the reader knows while it reads: the constructors of the file, which names hide them, how deep it is.

use crate::codes;
use crate::constructors::{PRELUDE, Payload};
use crate::lexer::Kind;
use crate::tree::{Tree, too_deep};
use almach_base::{Code, Diagnostic, Name, Span};
use almach_syntax::Errors;
use almach_syntax::ast::{Expr, ExprKind, Ident, Path, Pattern, PatternKind};
use std::collections::HashMap;

/// Words that cannot be names.
pub const RESERVED: &[&str] = &[
    "if", "then", "else", "case", "let", "in", "lambda", "mu", "types", "foreign", "vector", "and", "or",
    "not", "true", "false", "nil", "int", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
    "uint8", "float", "double", "bool", "unit",
];

/// How deep the reader descends. What it makes of one level has at most three of the tree, which keeps trees inside
/// [`almach_syntax::NESTING_LIMIT`].
const DEPTH_LIMIT: u32 = 1_500;

pub struct Reader<'s> {
    pub errors: Errors,
    pub constructors: HashMap<&'s str, Payload>,
    /// How often a name is bound around what is being read.
    bound: HashMap<&'s str, u32>,
    depth: u32,
    /// Too deep once is enough.
    too_deep: bool,
}

/// An error has been reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

pub type Read<T> = Result<T, Failed>;

impl<'s> Reader<'s> {
    pub fn new(errors: Errors) -> Reader<'s> {
        Reader {
            errors,
            constructors: HashMap::from(PRELUDE),
            bound: HashMap::new(),
            depth: 0,
            too_deep: false,
        }
    }

    /// One level down.
    pub fn nested<T>(&mut self, span: Span, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEPTH_LIMIT {
            if !self.too_deep {
                self.too_deep = true;
                self.errors.push(too_deep(span));
            }
            return Err(Failed);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads with names bound, which hide constructors of the same name.
    pub fn binding<T>(&mut self, names: &[&'s str], read: impl FnOnce(&mut Self) -> T) -> T {
        for name in names {
            *self.bound.entry(name).or_default() += 1;
        }
        let result = read(self);
        for name in names {
            if let Some(count) = self.bound.get_mut(name) {
                *count = count.saturating_sub(1);
            }
        }
        result
    }

    /// The payload of a constructor that nothing hides.
    pub fn constructor(&self, name: &str) -> Option<Payload> {
        let hidden = self.bound.get(name).is_some_and(|count| *count > 0);
        self.constructors.get(name).copied().filter(|_| !hidden)
    }

    pub fn fail<T>(
        &mut self,
        code: Code,
        span: Span,
        title: impl Into<String>,
        label: impl Into<String>,
        help: &str,
    ) -> Read<T> {
        let diagnostic = Diagnostic::error(code, span, title).label(label);
        self.errors.push(if help.is_empty() {
            diagnostic
        } else {
            diagnostic.help(help)
        });
        Err(Failed)
    }

    /// A form that is not as the grammar says; `help` is how it is written.
    pub fn malformed<T>(&mut self, span: Span, title: impl Into<String>, help: &str) -> Read<T> {
        self.fail(codes::NOVA_FORM, span, title, "not well formed", help)
    }

    /// The name a tree is.
    pub fn name(&mut self, tree: &Tree<'s>, what: &str) -> Read<(&'s str, Ident)> {
        match tree.word() {
            Some(word) if RESERVED.contains(&word) => self.fail(
                codes::NOVA_NAME,
                tree.span(),
                format!("`{word}` is a word of NOVA and cannot be {what}"),
                "reserved",
                "choose another name",
            ),
            Some(word) => Ok((word, ident(word, tree.span()))),
            None => {
                let found = describe(tree);
                self.fail(
                    codes::NOVA_NAME,
                    tree.span(),
                    format!("expected {what}, found {found}"),
                    "not a name",
                    "",
                )
            }
        }
    }

    /// A name that starts with a capital letter, as types and constructors do.
    pub fn capital_name(&mut self, tree: &Tree<'s>, what: &str) -> Read<(&'s str, Ident)> {
        let (word, ident) = self.name(tree, what)?;
        if word.starts_with(|character: char| character.is_ascii_uppercase()) {
            return Ok((word, ident));
        }
        let mut capital = word.to_owned();
        if let Some(first) = capital.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let title = format!("{what} starts with a capital letter");
        let diagnostic =
            Diagnostic::error(codes::NOVA_NAME, tree.span(), title).label("not a capital letter");
        let spelled = capital.starts_with(|character: char| character.is_ascii_uppercase());
        self.errors.push(if spelled {
            diagnostic.suggest(
                tree.span(),
                capital.as_str(),
                "values of it are written in this way outside of NOVA",
            )
        } else {
            diagnostic
        });
        Err(Failed)
    }
}

/// A tree in words, for messages.
pub fn describe(tree: &Tree<'_>) -> String {
    match tree {
        Tree::List(list) if list.items.is_empty() => "`()`".to_owned(),
        Tree::List(_) => "a form in brackets".to_owned(),
        Tree::Token(token) => match token.kind {
            Kind::TypeVar => format!("`'{}`", token.text),
            _ => format!("`{}`", token.text),
        },
    }
}

pub fn ident(name: &str, span: Span) -> Ident {
    Ident {
        name: Name::from(name),
        span,
    }
}

pub fn path(name: &str, span: Span) -> Path {
    Path {
        qualifier: None,
        name: ident(name, span),
        span,
    }
}

pub fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

pub fn variable(name: &str, span: Span) -> Expr {
    expr(ExprKind::Var(path(name, span)), span)
}

pub fn unit(span: Span) -> Expr {
    expr(ExprKind::Tuple(Vec::new()), span)
}

pub fn error(span: Span) -> Expr {
    expr(ExprKind::Error, span)
}

pub fn pattern(kind: PatternKind, span: Span) -> Pattern {
    Pattern { kind, span }
}

/// A pattern that binds a name; `_` binds nothing.
pub fn binder(name: &str, span: Span) -> Pattern {
    pattern(
        match name {
            "_" => PatternKind::Wildcard,
            name => PatternKind::Var(Name::from(name)),
        },
        span,
    )
}

/// A function and its arguments; the function alone where there are none.
pub fn apply(function: Expr, args: Vec<Expr>, span: Span) -> Expr {
    if args.is_empty() {
        return function;
    }
    expr(ExprKind::Apply(Box::new(function), args), span)
}
