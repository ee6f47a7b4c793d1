//! Source files and places in them.

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// A half-open range of bytes in one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span {
            file,
            start: start as u32,
            end: end as u32,
        }
    }

    /// The span of what the compiler made up and no source text stands for.
    pub const NONE: Span = Span {
        file: FileId(u32::MAX),
        start: 0,
        end: 0,
    };

    pub fn is_none(self) -> bool {
        self.file == Span::NONE.file
    }

    /// The smallest span that covers both; `other` where `self` is [`Span::NONE`] and the other way round.
    pub fn to(self, other: Span) -> Span {
        match (self.is_none(), other.is_none()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span {
                file: self.file,
                start: self.start.min(other.start),
                end: self.end.max(other.end),
            },
        }
    }
}

/// One file's name (as the user knows it) and text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// The line, counted from 0, that a byte lies on.
    pub fn line_of(&self, offset: usize) -> usize {
        let lines_before = |offset: u32| self.line_starts.partition_point(|start| *start <= offset);
        lines_before(u32::try_from(offset).unwrap_or(u32::MAX)).saturating_sub(1)
    }

    /// The bytes of a line, counted from 0, without its end of line.
    pub fn line_bytes(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.line_starts.get(line)? as usize;
        let end = match self.line_starts.get(line + 1) {
            Some(next) => (*next as usize).saturating_sub(1),
            None => self.text.len(),
        };
        Some(start..end)
    }

    /// The position of a byte as people count. A byte inside a character counts as its start.
    pub fn line_column(&self, offset: usize) -> LineColumn {
        let at = self.text.floor_char_boundary(offset);
        let line = self.line_of(at);
        let start = self.line_bytes(line).map_or(0, |bytes| bytes.start);
        let column = self
            .text
            .get(start..at)
            .map_or(0, |before| before.chars().count())
            + 1;
        LineColumn {
            line: line + 1,
            column,
        }
    }
}

/// All files of one compilation. Files are added once and never change.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// A position as people count: lines and columns from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl SourceMap {
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1))
            .collect();
        self.files.push(SourceFile {
            name: name.into(),
            text,
            line_starts,
        });
        FileId(self.files.len() as u32 - 1)
    }

    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(at, file)| (FileId(at as u32), file))
    }

    /// The text a span covers; empty for [`Span::NONE`].
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .and_then(|file| file.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }

    /// Where a span starts.
    pub fn position(&self, span: Span) -> Option<LineColumn> {
        let file = self.file(span.file)?;
        let line = file.line_starts.partition_point(|start| *start <= span.start);
        let from = *file.line_starts.get(line.checked_sub(1)?)? as usize;
        let column = file.text.get(from..span.start as usize)?.chars().count() + 1;
        Some(LineColumn { line, column })
    }
}
