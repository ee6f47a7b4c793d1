//! Diagnostics as text for people and as JSON for tools. This is the only place that knows how they look.

mod excerpt;
mod json;
#[cfg(test)]
mod tests;

use crate::diagnostic::{Diagnostic, Label, Severity, Suggestion};
use crate::{FileId, SourceMap, Span};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};
use excerpt::Excerpt;
use std::borrow::Cow;

pub use json::to_json;

/// Longer labels, notes and suggestions are cut.
const MAX_TEXT: usize = 4000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// ASCII without escape sequences.
    Plain,
    /// With colours, for a terminal.
    Coloured,
}

/// All diagnostics as text, each followed by an empty line.
pub fn to_text(diagnostics: &[Diagnostic], sources: &SourceMap, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain().decor_style(DecorStyle::Ascii),
        Style::Coloured => Renderer::styled().decor_style(DecorStyle::Unicode),
    };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&report(diagnostic, sources)));
        text.push_str("\n\n");
    }
    text
}

fn report<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.clone().primary_title(cut(&diagnostic.title));
    let mut group = Group::with_title(title.id(diagnostic.code.0));
    let mut groups = Vec::new();
    for file in files_of(diagnostic) {
        let Some((origin, snippet)) = snippet(diagnostic, file, sources) else {
            continue;
        };
        if let Some(origin) = origin {
            // The renderer counts columns in what it is given; a group of its own has no place to be counted.
            groups.push(group.element(origin));
            group = Group::with_level(level.clone());
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(cut(note)));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(cut(help)));
    }
    groups.push(group);
    groups.extend(
        diagnostic
            .suggestion
            .as_ref()
            .and_then(|suggestion| suggested(suggestion, sources)),
    );
    groups
}

/// The files that labels point into, the primary one first, each once.
fn files_of(diagnostic: &Diagnostic) -> Vec<FileId> {
    let mut files = Vec::new();
    for label in std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary) {
        if !label.span.is_none() && !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    files
}

/// The part of one file that labels point into; with its position where the excerpt does not show it.
fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    id: FileId,
    sources: &'a SourceMap,
) -> Option<(Option<Origin<'a>>, Snippet<'a, Annotation<'a>>)> {
    let file = sources.file(id)?;
    let here = |label: &&Label| label.span.file == id;
    let primary = Some(&diagnostic.primary).filter(here);
    let secondary: Vec<&Label> = diagnostic.secondary.iter().filter(here).collect();
    let spans: Vec<Span> = primary.iter().chain(&secondary).map(|label| label.span).collect();
    let excerpt = Excerpt::around(file, &spans);
    let annotation = |label: &'a Label, kind: AnnotationKind| {
        let annotation = kind.span(excerpt.range(label.span));
        match label.text.as_str() {
            "" => annotation,
            text => annotation.label(cut(text)),
        }
    };
    let mut annotations = Vec::new();
    annotations.extend(primary.map(|label| annotation(label, AnnotationKind::Primary)));
    annotations.extend(
        secondary
            .into_iter()
            .map(|label| annotation(label, AnnotationKind::Context)),
    );
    let snippet = Snippet::source(excerpt.text)
        .line_start(excerpt.first_line + 1)
        .annotations(annotations);
    if !excerpt.is_cut {
        return Some((None, snippet.path(file.name.as_str())));
    }
    let start = file.line_column(spans.first()?.start as usize);
    let origin = Origin::path(file.name.as_str());
    Some((Some(origin.line(start.line).char_column(start.column)), snippet))
}

/// The suggestion as a difference; in words where the line is too long to be shown.
fn suggested<'a>(suggestion: &'a Suggestion, sources: &'a SourceMap) -> Option<Group<'a>> {
    let file = sources.file(suggestion.span.file)?;
    let excerpt = Excerpt::around(file, &[suggestion.span]);
    let title = Level::HELP.secondary_title(cut(&suggestion.text));
    if excerpt.is_cut || suggestion.replacement.len() > MAX_TEXT {
        let words = format!("write `{}` there", cut(&suggestion.replacement));
        return Some(Group::with_title(title).element(Level::HELP.message(words)));
    }
    let range = excerpt.range(suggestion.span);
    let snippet = Snippet::source(excerpt.text)
        .line_start(excerpt.first_line + 1)
        .path(file.name.as_str())
        .patch(Patch::new(range, suggestion.replacement.as_str()));
    Some(Group::with_title(title).element(snippet))
}

fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let kept = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or("");
    Cow::Owned(format!("{kept}..."))
}
