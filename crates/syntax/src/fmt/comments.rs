//! Comments find their places: in front of the next thing that is printed, or at the end of the line of the thing before.

use super::doc::{Doc, NIL, concat, text};
use crate::lexer::{Comment, CommentKind, CommentPosition};

/// The comments of a file, taken in order.
pub struct Comments<'s> {
    text: &'s str,
    comments: &'s [Comment],
    next: usize,
    /// Where the last comment or item that was taken ends.
    last_end: u32,
}

/// What becomes of empty lines around comments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmptyLines {
    Kept,
    Dropped,
}

impl<'s> Comments<'s> {
    pub fn new(text: &'s str, comments: &'s [Comment]) -> Comments<'s> {
        Comments {
            text,
            comments,
            next: 0,
            last_end: 0,
        }
    }

    fn peek(&self) -> Option<Comment> {
        self.comments.get(self.next).copied()
    }

    /// Comments in the middle of an expression, in front of what starts at `start`.
    pub fn before(&mut self, start: u32) -> Doc {
        self.take_before(start, EmptyLines::Dropped)
    }

    /// Comments in front of an item, a binding or an arm: empty lines between them are kept.
    pub fn before_block(&mut self, start: u32) -> Doc {
        self.take_before(start, EmptyLines::Kept)
    }

    fn take_before(&mut self, start: u32, empty_lines: EmptyLines) -> Doc {
        if self.peek().is_none_or(|comment| comment.span.start >= start) {
            return NIL;
        }
        let mut docs = Vec::new();
        while let Some(comment) = self.peek().filter(|comment| comment.span.start < start) {
            let following = self
                .comments
                .get(self.next + 1)
                .map_or(start, |next| next.span.start.min(start));
            docs.extend(self.leading(comment, following, empty_lines));
        }
        concat(docs)
    }

    fn leading(&mut self, comment: Comment, following: u32, empty_lines: EmptyLines) -> Vec<Doc> {
        let mut docs = Vec::new();
        if comment.position == CommentPosition::OwnLine {
            docs.push(Doc::FreshLine);
        }
        docs.push(Doc::Comment(self.take(comment)));
        let end = comment.span.end;
        let same_line = comment.kind == CommentKind::Block && !self.between(end, following).contains('\n');
        docs.push(if same_line {
            text(" ")
        } else if empty_lines == EmptyLines::Kept && self.empty_line_between(end, following) {
            Doc::EmptyLine
        } else {
            Doc::HardLine
        });
        docs
    }

    /// Comments behind what ends at `end`, on the same line and with no name, literal or opening bracket in between.
    pub fn after(&mut self, end: u32) -> Doc {
        let mut docs = Vec::new();
        while let Some(comment) = self.peek().filter(|comment| self.trails(*comment, end)) {
            docs.push(Doc::Suffix(self.take(comment)));
        }
        concat(docs)
    }

    fn trails(&self, comment: Comment, end: u32) -> bool {
        if comment.position != CommentPosition::AfterCode || comment.span.start < end {
            return false;
        }
        let from = end.max(self.last_end.min(comment.span.start));
        is_small(self.between(from, comment.span.start)) && self.ends_its_line(comment)
    }

    fn ends_its_line(&self, comment: Comment) -> bool {
        let body = self.between(comment.span.start, comment.span.end);
        let behind = self.text.get(comment.span.end as usize..).unwrap_or("");
        let rest = behind.trim_start_matches([' ', '\t', '\r']);
        comment.kind == CommentKind::Line
            || !body.contains('\n') && (rest.is_empty() || rest.starts_with('\n'))
    }

    /// What is left at the end of the file.
    pub fn rest(&mut self) -> Doc {
        self.before_block(u32::MAX)
    }

    fn take(&mut self, comment: Comment) -> String {
        self.next += 1;
        self.last_end = comment.span.end;
        self.between(comment.span.start, comment.span.end)
            .replace('\r', "")
    }

    /// Marks everything up to `end` as printed.
    pub fn printed_to(&mut self, end: u32) {
        self.last_end = self.last_end.max(end);
    }

    /// The line break in front of what starts at `start`, or of the comments that come before it: with an empty line
    /// where the source has one.
    pub fn line_before(&self, start: u32) -> Doc {
        let next = self.peek().map_or(start, |comment| comment.span.start.min(start));
        if self.empty_line_between(self.last_end, next) {
            Doc::EmptyLine
        } else {
            Doc::HardLine
        }
    }

    fn empty_line_between(&self, from: u32, to: u32) -> bool {
        let mut lines = self.between(from, to).split('\n');
        lines.next();
        lines.next_back();
        lines.any(|line| line.trim().is_empty())
    }

    fn between(&self, from: u32, to: u32) -> &'s str {
        let to = (to as usize).min(self.text.len());
        self.text.get(from as usize..to).unwrap_or("")
    }
}

/// Whether there are only operators, commas, closing brackets and small words in a text of one line.
fn is_small(between: &str) -> bool {
    let symbols = |character: char| !character.is_alphanumeric() && !"([{\\\"'#@_\n".contains(character);
    let is_word = |word: &str| {
        matches!(
            word,
            "then" | "else" | "of" | "do" | "in" | "with" | "for" | "while"
        )
    };
    let mut rest = between;
    loop {
        rest = rest.trim_start_matches(symbols);
        if rest.is_empty() {
            return true;
        }
        let end = rest
            .find(|character: char| !character.is_ascii_lowercase())
            .unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if !is_word(word) {
            return false;
        }
        rest = behind;
    }
}
