//! A program on disk, checked.

use crate::failure::{Outcome, complaint};
use crate::files;
use crate::terminal::{self, Style};
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, SourceMap};
use almach_core::check::{Checked, check as core_check};
use almach_core::parse::parse_program;
use almach_core::{Entry, Program as Core};
use almach_driver::{Extra, Files, Front, Loaded, front, load};
use std::path::Path;

/// Imports are read from disk.
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        let bytes = std::fs::read(path).map_err(|error| files::reason(&error))?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }
}

/// A program without errors.
pub enum Program {
    /// From `.alm` or `.nova` source.
    Source(Front),
    /// From Core's text form, which `almach emit --stage core` prints.
    Core { core: Checked<Core>, sources: SourceMap },
}

impl Program {
    /// Reads and checks a program. Warnings and errors are reported; errors end it here.
    pub fn open(path: &Path, style: Style) -> Result<Program, Outcome> {
        match path.extension() {
            Some(extension) if extension == "core" => open_core(path, style),
            _ => Program::check(read(path, style)?, Vec::new(), style),
        }
    }

    pub fn check(loaded: Loaded, extras: Vec<Extra>, style: Style) -> Result<Program, Outcome> {
        let front = front(loaded, extras);
        terminal::report(&front.diagnostics, &front.sources, style);
        if front.has_errors() {
            Err(Outcome::WrongUse)
        } else {
            Ok(Program::Source(front))
        }
    }

    pub fn sources(&self) -> &SourceMap {
        match self {
            Program::Source(front) => &front.sources,
            Program::Core { sources, .. } => sources,
        }
    }

    /// Core of the program; what cannot be made concrete is reported.
    pub fn core(&self, style: Style) -> Result<Checked<Core>, Outcome> {
        match self {
            Program::Source(front) => front
                .core()
                .map_err(|diagnostics| self.report(&diagnostics, style)),
            Program::Core { core, .. } => Ok(core.clone()),
        }
    }

    /// Shows diagnostics of a later stage.
    pub fn report(&self, diagnostics: &[Diagnostic], style: Style) -> Outcome {
        terminal::report(diagnostics, self.sources(), style);
        let bug = diagnostics
            .iter()
            .any(|one| one.code == almach_base::codes::bugs::COMPILER_BUG);
        if bug {
            Outcome::CompilerBug
        } else {
            Outcome::WrongUse
        }
    }
}

fn open_core(path: &Path, style: Style) -> Result<Program, Outcome> {
    let mut sources = SourceMap::new();
    let parsed = files::read_source(path).map_err(Box::new).and_then(|text| {
        let file = sources.add(path.display().to_string(), text.clone());
        let program = parse_program(&text, file)?;
        core_check(program, "core text").map_err(|failure| Box::new(failure.diagnostic))
    });
    match parsed {
        Ok(core) => Ok(Program::Core { core, sources }),
        Err(diagnostic) => {
            terminal::report(&[*diagnostic], &sources, style);
            Err(Outcome::WrongUse)
        }
    }
}

/// Parses a file and its imports.
pub fn read(path: &Path, style: Style) -> Result<Loaded, Outcome> {
    match files::read_source(path) {
        Ok(text) => Ok(load(&path.display().to_string(), &text, &Disk)),
        Err(diagnostic) => {
            terminal::report(&[diagnostic], &SourceMap::new(), style);
            Err(Outcome::WrongUse)
        }
    }
}

/// The entry point asked for; `main` or the only one where none is.
pub fn choose_entry<'a>(core: &'a Core, name: Option<&str>) -> Result<&'a Entry, Diagnostic> {
    let names: Vec<&str> = core.entries.iter().map(|entry| entry.name.as_str()).collect();
    let by_name = |name: &str| core.entries.iter().find(|entry| entry.name.as_str() == name);
    match (name, core.entries.as_slice()) {
        (Some(name), _) => by_name(name).ok_or_else(|| {
            complaint(codes::NO_ENTRY, format!("there is no entry point `{name}`")).note(format!(
                "entry points: {}",
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            ))
        }),
        (None, []) => Err(complaint(codes::NO_ENTRY, "the program has no entry point")
            .help("write `entry` instead of `def` in front of the definition to run")),
        (None, [only]) => Ok(only),
        (None, _) => by_name("main").ok_or_else(|| {
            complaint(
                codes::AMBIGUOUS_ENTRY,
                "the program has several entry points and none is `main`",
            )
            .note(format!("entry points: {}", names.join(", ")))
            .help("choose one with --entry NAME")
        }),
    }
}
