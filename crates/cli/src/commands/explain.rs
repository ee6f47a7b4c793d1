//! `almach explain`: what became of a program, in words with places.

use crate::failure::Outcome;
use crate::links;
use crate::options::ExplainOptions;
use crate::program::Program;
use crate::terminal::{self, Style};
use almach_base::{SourceMap, Span};
use almach_driver::back::Target;
use almach_driver::explain::{Explanation, Fact, explain};
use almach_native::kernel_text;
use serde_json::json;
use std::fmt::Write;

pub fn run(options: &ExplainOptions, style: Style) -> Outcome {
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    let target = options.backend.target().unwrap_or(Target::C);
    let kernels = links::all(&options.file, &options.link)
        .and_then(|linked| kernel_text(&linked, target).map_err(|problem| *problem));
    let explained = match kernels {
        Ok(kernels) => explain(core, target, &kernels),
        Err(problem) => Err(vec![problem]),
    };
    match explained {
        Ok(explanation) if style == Style::Json => {
            terminal::say(&as_json(&explanation, program.sources()));
            Outcome::Done
        }
        Ok(explanation) => {
            terminal::say_raw(&text(&explanation, program.sources()));
            Outcome::Done
        }
        Err(diagnostics) => program.report(&diagnostics, style),
    }
}

/// `file:line:column`.
fn place(span: Span, sources: &SourceMap) -> String {
    let name = sources.file(span.file).map_or("", |file| file.name.as_str());
    match sources.position(span) {
        Some(at) if !span.is_none() => format!("{name}:{}:{}", at.line, at.column),
        _ => "the compiler's own".to_owned(),
    }
}

/// The first line of what stands there.
fn quote(span: Span, sources: &SourceMap) -> String {
    const WIDTH: usize = 60;
    if span.is_none() {
        return String::new();
    }
    let line = sources.text(span).lines().next().unwrap_or("").trim_end();
    let short: String = line.chars().take(WIDTH).collect();
    let rest = if short.len() < line.len() || sources.text(span).contains('\n') {
        " …"
    } else {
        ""
    };
    format!("  {short}{rest}")
}

fn text(explanation: &Explanation, sources: &SourceMap) -> String {
    let mut out = String::new();
    let mut before: Option<Span> = None;
    for Fact { span, text, .. } in &explanation.facts {
        if before != Some(*span) {
            let _ = writeln!(out, "{}{}", place(*span, sources), quote(*span, sources));
            before = Some(*span);
        }
        for (at, line) in text.lines().enumerate() {
            let _ = writeln!(out, "{}{line}", if at == 0 { "    " } else { "      " });
        }
    }
    for peak in &explanation.peaks {
        let _ = writeln!(out, "{peak}");
    }
    if out.is_empty() {
        out.push_str("there is nothing to choose and nothing is allocated\n");
    }
    out
}

fn as_json(explanation: &Explanation, sources: &SourceMap) -> String {
    let facts: Vec<_> = explanation
        .facts
        .iter()
        .map(|fact| {
            json!({
                "at": place(fact.span, sources),
                "start": fact.span.start,
                "end": fact.span.end,
                "kind": fact.kind.name(),
                "text": fact.text,
            })
        })
        .collect();
    let peaks: Vec<_> = explanation
        .peaks
        .iter()
        .map(|peak| json!({"entry": peak.entry.as_str(), "bytes": peak.formula()}))
        .collect();
    json!({"facts": facts, "peaks": peaks}).to_string()
}
