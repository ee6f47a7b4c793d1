//! Standard output for results, standard error for everything else. A closed pipe ends the output quietly.

use crate::files;
use crate::options::Colour;
use almach_base::{Diagnostic, SourceMap, render};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Whether a result could not be written.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

pub fn output_lost() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// One line of a result.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
    note_loss(written.and_then(|()| out.flush()));
}

/// Text of a result as it is.
pub fn say_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    note_loss(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Who closes a pipe has read enough; everything else is worth a word.
fn note_loss(written: std::io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
        && !OUTPUT_LOST.swap(true, Ordering::Relaxed)
    {
        complain(&format!(
            "error: cannot write the output: {}",
            files::reason(&error)
        ));
    }
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
