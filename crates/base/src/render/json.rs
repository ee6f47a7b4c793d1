//! Diagnostics for tools. The form is stable: keys may be added, never change their meaning.

use crate::diagnostic::{Diagnostic, Label, Severity, Suggestion};
use crate::source::SourceFile;
use crate::{SourceMap, Span};
use serde_json::{Value, json};

/// One object per diagnostic, in one array. Lines and columns count from 1, columns in characters; offsets are bytes
/// from 0; ends are exclusive. A diagnostic or label without a place has `null` for it.
pub fn to_json(diagnostics: &[Diagnostic], sources: &SourceMap) -> Value {
    Value::Array(diagnostics.iter().map(|one| diagnostic(one, sources)).collect())
}

fn diagnostic(one: &Diagnostic, sources: &SourceMap) -> Value {
    let severity = match one.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let labels: Vec<Value> = one.secondary.iter().map(|other| label(other, sources)).collect();
    json!({
        "code": one.code.0,
        "severity": severity,
        "title": one.title,
        "file": sources.file(one.primary.span.file).map(|file| file.name.as_str()),
        "primary": label(&one.primary, sources),
        "labels": labels,
        "notes": one.notes,
        "help": one.help,
        "suggestion": one.suggestion.as_ref().map(|found| suggestion(found, sources)),
    })
}

fn label(one: &Label, sources: &SourceMap) -> Value {
    json!({ "span": span(one.span, sources), "text": one.text })
}

fn suggestion(one: &Suggestion, sources: &SourceMap) -> Value {
    json!({
        "span": span(one.span, sources),
        "replacement": one.replacement,
        "text": one.text,
    })
}

fn span(span: Span, sources: &SourceMap) -> Value {
    match sources.file(span.file) {
        Some(file) => json!({
            "file": file.name,
            "start": position(file, span.start),
            "end": position(file, span.end),
        }),
        None => Value::Null,
    }
}

fn position(file: &SourceFile, offset: u32) -> Value {
    let at = file.line_column(offset as usize);
    json!({ "line": at.line, "column": at.column, "offset": offset })
}
