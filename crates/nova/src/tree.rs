//! Tokens to lists. Where brackets do not match nothing else is looked at: everything after would be a guess.

use crate::codes;
use crate::lexer::{Kind, Token};
use almach_base::{Diagnostic, Span};
use almach_syntax::{Errors, NESTING_LIMIT};

/// A token, or a list of trees in brackets.
#[derive(Clone, PartialEq, Debug)]
pub enum Tree<'s> {
    Token(Token<'s>),
    List(List<'s>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct List<'s> {
    pub items: Vec<Tree<'s>>,
    /// With the brackets.
    pub span: Span,
}

impl<'s> Tree<'s> {
    pub fn span(&self) -> Span {
        match self {
            Tree::Token(token) => token.span,
            Tree::List(list) => list.span,
        }
    }

    pub fn token(&self) -> Option<&Token<'s>> {
        match self {
            Tree::Token(token) => Some(token),
            Tree::List(_) => None,
        }
    }

    pub fn list(&self) -> Option<&List<'s>> {
        match self {
            Tree::Token(_) => None,
            Tree::List(list) => Some(list),
        }
    }

    pub fn is(&self, kind: Kind) -> bool {
        self.token().is_some_and(|token| token.kind == kind)
    }

    /// A word, keywords included.
    pub fn word(&self) -> Option<&'s str> {
        self.token()
            .filter(|token| token.kind == Kind::Word)
            .map(|token| token.text)
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.token()
            .is_some_and(|token| token.kind == Kind::Symbol && token.text == symbol)
    }
}

/// The trees of a file; none where brackets do not match.
pub fn trees<'s>(tokens: &[Token<'s>], errors: &mut Errors) -> Option<Vec<Tree<'s>>> {
    let mut open: Vec<(Token<'s>, Vec<Tree<'s>>)> = Vec::new();
    let mut current: Vec<Tree<'s>> = Vec::new();
    let mut whole = true;
    for token in tokens {
        match token.kind {
            Kind::Open => {
                if open.len() as u32 >= NESTING_LIMIT {
                    errors.push(too_deep(token.span));
                    return None;
                }
                open.push((*token, std::mem::take(&mut current)));
            }
            Kind::Close => match open.pop() {
                Some((opening, outer)) => {
                    let list = List {
                        items: std::mem::replace(&mut current, outer),
                        span: opening.span.to(token.span),
                    };
                    current.push(Tree::List(list));
                }
                None => {
                    whole = false;
                    errors.push(
                        Diagnostic::error(codes::STRAY_BRACKET, token.span, "this bracket closes nothing")
                            .label("no `(` is open here")
                            .help("remove it, or look for one `)` too many before it"),
                    );
                }
            },
            _ => current.push(Tree::Token(*token)),
        }
    }
    if let Some((opening, _)) = open.first() {
        let count = open.len();
        let missing = if count == 1 {
            "one `)` is missing".to_owned()
        } else {
            format!("{count} `)` are missing")
        };
        errors.push(
            Diagnostic::error(
                codes::UNCLOSED_BRACKET,
                opening.span,
                "this bracket is never closed",
            )
            .label(format!("the file ends inside it: {missing}")),
        );
        whole = false;
    }
    whole.then_some(current)
}

pub fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NESTING_TOO_DEEP,
        span,
        "the program is nested too deeply here",
    )
    .label("one level too many")
    .help("name inner parts with `let`")
}

/// The span of a sequence of trees.
pub fn span_of(items: &[Tree<'_>], or: Span) -> Span {
    match (items.first(), items.last()) {
        (Some(first), Some(last)) => first.span().to(last.span()),
        _ => or,
    }
}
