//! Trees back to text: `almach fmt`, and expressions and types in messages.
//!
//! The formatter keeps what was written: every comment, every parenthesis, the spelling of literals, and whether a
//! `let`, `case`, `if`, pipe or data type was on one line or several. It decides blanks, line breaks and indentation.
//! What it gives is parsed again and compared with what it was given, so that it can never change a program.

mod comments;
mod doc;
mod expr;
mod forms;
mod item;
mod leaf;
#[cfg(test)]
mod random_trees;
#[cfg(test)]
mod tests;
mod types;
#[cfg(test)]
mod without_parens;

use crate::ast::{Expr, Pattern, TypeExpr};
use crate::erase::EraseSpans;
use crate::lexer::Comment;
use crate::parser::{Parsed, parse_file};
use almach_base::{Diagnostic, FileId, Span};
use comments::Comments;
use doc::{Lines, render, render_flat};

/// How long lines may become.
pub const WIDTH: usize = 100;

/// Formats a file; its errors where it does not parse.
pub fn format_file(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse_file(file, text);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(parsed.diagnostics);
    }
    Ok(settled_layout(file, text, parsed))
}

/// The layout of a file whose own layout is the same. Comments in strange places can move in more than one step, to
/// places where they then stay.
fn settled_layout(file: FileId, text: &str, parsed: Parsed) -> String {
    const STEPS: usize = 8;
    let mut formatted = layout(text, &parsed);
    for _ in 0..STEPS {
        let again = parse_file(file, &formatted);
        let once_more = layout(&formatted, &again);
        if once_more == formatted {
            return if says_the_same(text, parsed, &formatted, again) {
                formatted
            } else {
                text.to_string()
            };
        }
        formatted = once_more;
    }
    text.to_string()
}

/// The file as it should look.
fn layout(text: &str, parsed: &Parsed) -> String {
    let mut printer = Printer::of_source(text, &parsed.comments);
    let mut formatted = render(&printer.file(&parsed.file), WIDTH);
    formatted.truncate(formatted.trim_end().len());
    if !formatted.is_empty() {
        formatted.push('\n');
    }
    formatted
}

/// Whether two texts have the same trees, tests and comments.
fn says_the_same(text: &str, mut parsed: Parsed, formatted: &str, mut again: Parsed) -> bool {
    parsed.file.erase_spans();
    again.file.erase_spans();
    again.diagnostics.is_empty()
        && parsed.file == again.file
        && parsed.comments.len() == again.comments.len()
        && std::iter::zip(&parsed.comments, &again.comments)
            .all(|(before, after)| comment_text(text, before) == comment_text(formatted, after))
}

fn comment_text<'s>(text: &'s str, comment: &Comment) -> &'s str {
    text.get(comment.span.start as usize..comment.span.end as usize)
        .unwrap_or("")
}

/// An expression on one line, with the parentheses it needs.
pub fn print_expr(expr: &Expr) -> String {
    render_flat(&Printer::without_source().expr(expr))
}

/// A type on one line.
pub fn print_type(ty: &TypeExpr) -> String {
    render_flat(&Printer::without_source().ty(ty))
}

/// A pattern on one line.
pub fn print_pattern(pattern: &Pattern) -> String {
    render_flat(&Printer::without_source().pattern(pattern))
}

/// Where parentheses come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parens {
    /// The tree was parsed and has them.
    AsWritten,
    /// The tree may come from anywhere; they are added where the text would mean something else.
    Needed,
}

/// Makes documents out of trees, in the order of the text, so that comments find their places.
struct Printer<'s> {
    text: Option<&'s str>,
    comments: Comments<'s>,
    parens: Parens,
    /// Whether `|` here would start the next arm of a `case`.
    in_arm: bool,
}

impl<'s> Printer<'s> {
    fn of_source(text: &'s str, comments: &'s [Comment]) -> Printer<'s> {
        Printer {
            text: Some(text),
            comments: Comments::new(text, comments),
            parens: Parens::AsWritten,
            in_arm: false,
        }
    }

    fn without_source() -> Printer<'static> {
        Printer {
            text: None,
            comments: Comments::new("", &[]),
            parens: Parens::Needed,
            in_arm: false,
        }
    }

    /// The source text of a span, where there is one.
    fn source(&self, span: Span) -> Option<&'s str> {
        self.text?.get(span.start as usize..span.end as usize)
    }

    /// Whether the source goes on to another line between two places.
    fn lines(&self, from: u32, to: u32) -> Lines {
        let between = self.text.and_then(|text| text.get(from as usize..to as usize));
        match between {
            Some(between) if between.contains('\n') => Lines::Several,
            _ => Lines::One,
        }
    }

    /// Runs with `|` as an operator: inside brackets.
    fn bracketed<T>(&mut self, print: impl FnOnce(&mut Self) -> T) -> T {
        let in_arm = std::mem::replace(&mut self.in_arm, false);
        let printed = print(self);
        self.in_arm = in_arm;
        printed
    }
}
