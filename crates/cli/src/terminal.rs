//! Standard output for results, standard error for everything else. A closed pipe ends the output quietly.

use crate::options::Colour;
use almach_base::{Diagnostic, SourceMap, render};
use std::io::{IsTerminal, Write};

/// Arrays longer than this are abridged on a terminal.
pub const LONGEST: usize = 100;

/// Errors beyond these are counted, not shown: they rarely say something new.
const MOST_SHOWN: usize = 50;

/// How this run talks to its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    Plain,
    Coloured,
    Json,
}

pub fn style(json: bool, colour: Colour) -> Style {
    let coloured = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    match (json, coloured) {
        (true, _) => Style::Json,
        (false, true) => Style::Coloured,
        (false, false) => Style::Plain,
    }
}

/// One line of a result.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
}

/// Text of a result as it is.
pub fn say_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// One line on standard error.
pub fn complain(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.write_all(b"\n"));
}

pub fn output_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Shows diagnostics in the style asked for.
pub fn report(diagnostics: &[Diagnostic], sources: &SourceMap, style: Style) {
    if diagnostics.is_empty() {
        return;
    }
    let shown = diagnostics.get(..MOST_SHOWN).unwrap_or(diagnostics);
    let text = match style {
        Style::Plain => render::to_text(shown, sources, render::Style::Plain),
        Style::Coloured => render::to_text(shown, sources, render::Style::Coloured),
        Style::Json => render::to_json(diagnostics, sources).to_string(),
    };
    complain(text.trim_end());
    let rest = diagnostics.len() - shown.len();
    if rest > 0 && style != Style::Json {
        complain(&format!("\n{rest} more errors are not shown"));
    }
}
