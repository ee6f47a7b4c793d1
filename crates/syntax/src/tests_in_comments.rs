//! `-- >` lines and the expectation on the line after.

use crate::ast::{Expectation, Test};
use crate::lexer::{Comment, CommentKind, CommentPosition};
use almach_base::Span;

/// The tests that a file's comments hold, in order. `opening` is how a comment starts.
pub fn tests(text: &str, comments: &[Comment], opening: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    for (at, comment) in comments.iter().enumerate() {
        let Some(('>', call, call_span)) = marked(text, comment, opening) else {
            continue;
        };
        let next = comments
            .get(at + 1)
            .filter(|next| on_next_line(text, comment.span, next.span))
            .and_then(|next| marked(text, next, opening));
        let (expected, expected_span) = match next {
            Some(('=', value, span)) => (Expectation::Equals(value), span),
            Some(('~', value, span)) => (Expectation::Near(value), span),
            Some(('!', message, span)) => (Expectation::Fails(message), span),
            _ => (Expectation::Missing, call_span),
        };
        tests.push(Test {
            call,
            call_span,
            expected,
            expected_span,
        });
    }
    tests
}

/// The mark of a comment that is its opening, a blank, one of `> = ~ !`, and then nothing or a blank; and what follows it.
fn marked(text: &str, comment: &Comment, opening: &str) -> Option<(char, String, Span)> {
    if comment.kind != CommentKind::Line || comment.position != CommentPosition::OwnLine {
        return None;
    }
    let line = text.get(comment.span.start as usize..comment.span.end as usize)?;
    let rest = line.strip_prefix(opening)?.strip_prefix(' ')?;
    let mark = rest
        .chars()
        .next()
        .filter(|mark| matches!(mark, '>' | '=' | '~' | '!'))?;
    let content = rest.get(1..)?;
    if !(content.is_empty() || content.starts_with([' ', '\t'])) {
        return None;
    }
    let trimmed = content.trim_start();
    let start = comment.span.end as usize - trimmed.len();
    let span = Span::new(comment.span.file, start, comment.span.end as usize);
    Some((mark, trimmed.to_string(), span))
}

/// Whether only one line break, and blanks, stand between two comments.
fn on_next_line(text: &str, first: Span, second: Span) -> bool {
    text.get(first.end as usize..second.start as usize)
        .is_some_and(|between| between.trim().is_empty() && between.matches('\n').count() == 1)
}
