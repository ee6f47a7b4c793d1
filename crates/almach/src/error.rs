//! What is wrong with a program or a call, as data.

use almach_base::{Diagnostic, SourceMap, Span, render};
use std::fmt;
use std::sync::Arc;

/// One or more problems, with the text they point into. Prints as the command line does.
#[derive(Clone, Debug)]
pub struct Errors {
    diagnostics: Vec<Diagnostic>,
    sources: Arc<SourceMap>,
}

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// One problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
}

impl Errors {
    pub(crate) fn new(mut diagnostics: Vec<Diagnostic>, sources: Arc<SourceMap>) -> Errors {
        for diagnostic in &mut diagnostics {
            let labels = std::iter::once(&mut diagnostic.primary).chain(&mut diagnostic.secondary);
            labels.for_each(|label| label.span = inside(label.span, &sources));
        }
        Errors { diagnostics, sources }
    }

    /// Without replacements of text: what a program was built from is not in the compiler's language.
    pub(crate) fn without_suggestions(mut self) -> Errors {
        for diagnostic in &mut self.diagnostics {
            diagnostic.suggestion = None;
        }
        self
    }

    /// The problems, in the order of the text.
    pub fn problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.diagnostics.iter().map(|diagnostic| Problem {
            diagnostic,
            sources: &self.sources,
        })
    }

    /// The code of the first problem, `E0805`.
    pub fn code(&self) -> &str {
        self.diagnostics.first().map_or("", |first| first.code.0)
    }
}

/// A span that lies in its file's text: whoever builds a program says where its parts come from.
fn inside(span: Span, sources: &SourceMap) -> Span {
    match sources.file(span.file) {
        Some(file) => {
            let end = file.text.floor_char_boundary(span.end as usize);
            let start = file.text.floor_char_boundary(span.start as usize);
            Span::new(span.file, start.min(end), end)
        }
        None => Span::NONE,
    }
}

impl<'a> Problem<'a> {
    pub fn severity(&self) -> Severity {
        match self.diagnostic.is_error() {
            true => Severity::Error,
            false => Severity::Warning,
        }
    }

    /// `E0805`; `almach explain-error` says more about each.
    pub fn code(&self) -> &'a str {
        self.diagnostic.code.0
    }

    /// What is wrong, in a line.
    pub fn title(&self) -> &'a str {
        &self.diagnostic.title
    }

    /// What it points to: the name of a file and the bytes in its text. None where no text is to blame.
    pub fn place(&self) -> Option<(&'a str, std::ops::Range<usize>)> {
        let span = self.diagnostic.primary.span;
        let file = self.sources.file(span.file)?;
        Some((&file.name, span.start as usize..span.end as usize))
    }

    /// Line and column of its start, counted from 1.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let at = self.sources.position(self.diagnostic.primary.span)?;
        Some((at.line, at.column))
    }

    /// Facts beside the title.
    pub fn notes(&self) -> &'a [String] {
        &self.diagnostic.notes
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = render::to_text(&self.diagnostics, &self.sources, render::Style::Plain);
        f.write_str(text.trim_end())
    }
}

impl std::error::Error for Errors {}
