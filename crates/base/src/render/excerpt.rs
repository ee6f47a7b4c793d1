//! The lines around some places of a file, with very long lines cut.

use crate::Span;
use crate::source::SourceFile;
use std::ops::Range;

/// A line with more bytes is cut to about this many around the first place on it.
const MAX_LINE: usize = 400;
/// Bytes kept before the place on a line that is cut.
const BEFORE: usize = 80;
/// Of more lines between the first and the last place, only those near a place are worth copying whole.
const MAX_LINES: usize = 2000;

pub(super) struct Excerpt {
    pub text: String,
    /// Counted from 0.
    pub first_line: usize,
    pub is_cut: bool,
    /// What was copied where, in order.
    pieces: Vec<Piece>,
}

struct Piece {
    source: Range<usize>,
    at: usize,
}

impl Excerpt {
    /// All lines from the first to the last that a span starts or ends on.
    pub fn around(file: &SourceFile, spans: &[Span]) -> Excerpt {
        let mut places: Vec<usize> = spans
            .iter()
            .flat_map(|span| [span.start as usize, span.end as usize])
            .map(|place| place.min(file.text.len()))
            .collect();
        let first_place = places.first().copied().unwrap_or(0);
        places.sort_unstable();
        let first_line = file.line_of(places.first().copied().unwrap_or(0));
        let last_line = file.line_of(places.last().copied().unwrap_or(0));
        let mut excerpt = Excerpt {
            text: String::new(),
            first_line,
            is_cut: false,
            pieces: Vec::new(),
        };
        // Far apart places: the lines between are there only to be counted.
        let copies_all = last_line - first_line <= MAX_LINES;
        for line in first_line..=last_line {
            let bytes = file.line_bytes(line).unwrap_or(0..0);
            let on_line = places.partition_point(|place| *place < bytes.start);
            let place = places.get(on_line).copied().filter(|place| *place <= bytes.end);
            let favoured = Some(first_place).filter(|place| bytes.contains(place)).or(place);
            if copies_all || place.is_some() {
                excerpt.copy_line(file, bytes, favoured);
            }
            if line < last_line {
                excerpt.text.push('\n');
            }
        }
        excerpt
    }

    fn copy_line(&mut self, file: &SourceFile, bytes: Range<usize>, place: Option<usize>) {
        let window = if bytes.len() <= MAX_LINE {
            bytes.clone()
        } else {
            let around = place.unwrap_or(bytes.start);
            let start = around.saturating_sub(BEFORE).max(bytes.start);
            let end = (start + MAX_LINE).min(bytes.end);
            file.text.floor_char_boundary(start)..file.text.ceil_char_boundary(end)
        };
        if window.start > bytes.start {
            self.text.push_str("... ");
            self.is_cut = true;
        }
        self.pieces.push(Piece {
            source: window.clone(),
            at: self.text.len(),
        });
        self.text.push_str(file.text.get(window.clone()).unwrap_or(""));
        if window.end < bytes.end {
            self.text.push_str(" ...");
            self.is_cut = true;
        }
    }

    /// Where a span of the file is in the excerpt; what was cut away is at the edge of what was kept.
    pub fn range(&self, span: Span) -> Range<usize> {
        let start = self.position(span.start as usize);
        let end = self.position(span.end as usize).max(start);
        self.text.floor_char_boundary(start)..self.text.ceil_char_boundary(end)
    }

    fn position(&self, offset: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.source.start <= offset);
        match self.pieces.get(after.saturating_sub(1)) {
            Some(piece) => piece.at + offset.clamp(piece.source.start, piece.source.end) - piece.source.start,
            None => 0,
        }
    }
}
