//! Tokens, and sizes made of them.

use almach_core::names::is_identifier_char;
use almach_core::{Size, Var};

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub text: &'t str,
    pub start: usize,
    pub end: usize,
    /// Whether a space stands before it.
    pub spaced: bool,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }
}

/// Words, numbers, texts in quotes, and symbols of one character, but for arrows.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut spaced = false;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        if first.is_whitespace() {
            spaced = true;
            at += first.len_utf8();
            continue;
        }
        let length = if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("->") {
            2
        } else if is_identifier_char(first) {
            rest.find(|c| !is_identifier_char(c)).unwrap_or(rest.len())
        } else if first == '"' {
            quoted(rest)
        } else {
            first.len_utf8()
        };
        out.push(Token {
            text: rest.get(..length).unwrap_or(""),
            start: at,
            end: at + length,
            spaced,
        });
        spaced = false;
        at += length;
    }
    out
}

fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A polynomial, as sizes in Core's types are written.
pub(super) fn size(tokens: &[Token<'_>], vars: &dyn Fn(&str) -> Option<Var>) -> Option<Size> {
    let mut at = 0;
    let size = sum(tokens, &mut at, vars)?;
    (at == tokens.len()).then_some(size)
}

type Vars<'v> = &'v dyn Fn(&str) -> Option<Var>;

fn sum(tokens: &[Token<'_>], at: &mut usize, vars: Vars<'_>) -> Option<Size> {
    let mut total = match is(tokens, *at, "-") {
        true => {
            *at += 1;
            -product(tokens, at, vars)?
        }
        false => product(tokens, at, vars)?,
    };
    loop {
        if is(tokens, *at, "+") {
            *at += 1;
            total = total + product(tokens, at, vars)?;
        } else if is(tokens, *at, "-") {
            *at += 1;
            total = total - product(tokens, at, vars)?;
        } else {
            return Some(total);
        }
    }
}

fn product(tokens: &[Token<'_>], at: &mut usize, vars: Vars<'_>) -> Option<Size> {
    let mut total = factor(tokens, at, vars)?;
    loop {
        let operator = tokens.get(*at).map_or("", |token| token.text);
        if !matches!(operator, "*" | "/" | "%") {
            return Some(total);
        }
        *at += 1;
        let right = factor(tokens, at, vars)?;
        total = match operator {
            "*" => total * right,
            "/" => total.div(&right),
            _ => total.rem(&right),
        };
    }
}

fn factor(tokens: &[Token<'_>], at: &mut usize, vars: Vars<'_>) -> Option<Size> {
    let token = tokens.get(*at)?;
    *at += 1;
    if token.text == "(" {
        let inside = sum(tokens, at, vars)?;
        is(tokens, *at, ")").then_some(())?;
        *at += 1;
        return Some(inside);
    }
    match token.text.parse::<i64>() {
        Ok(number) => Some(Size::constant(number)),
        Err(_) => vars(token.text).map(Size::var),
    }
}

fn is(tokens: &[Token<'_>], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}
