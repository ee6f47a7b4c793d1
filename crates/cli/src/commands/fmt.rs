//! `almach fmt`.

use crate::failure::{Outcome, complaint};
use crate::files;
use crate::options::FmtOptions;
use crate::terminal::{self, Style};
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, SourceMap};
use almach_driver::Language;
use almach_syntax::format_file;
use std::path::Path;

/// What happened to one file.
enum Formatted {
    Unchanged,
    Changed(String),
}

pub fn run(options: &FmtOptions, style: Style) -> Outcome {
    let paths = match files::sources(&options.paths) {
        Ok(paths) => paths,
        Err(diagnostic) => {
            terminal::report(&[diagnostic], &SourceMap::new(), style);
            return Outcome::WrongUse;
        }
    };
    paths
        .iter()
        .filter(|path| !is_nova(path) || options.paths.contains(path))
        .map(|path| one(path, options, style))
        .max()
        .unwrap_or(Outcome::Done)
}

fn one(path: &Path, options: &FmtOptions, style: Style) -> Outcome {
    let mut sources = SourceMap::new();
    let result = format(path, &mut sources).and_then(|formatted| match formatted {
        Formatted::Changed(text) if path == Path::new("-") => {
            terminal::say_raw(&text);
            Ok(Outcome::Done)
        }
        Formatted::Changed(_) if options.check => {
            terminal::say(&path.display().to_string());
            Ok(Outcome::ProgramFailed)
        }
        Formatted::Changed(text) => files::write(path, text.as_bytes())
            .map(|()| Outcome::Done)
            .map_err(|error| vec![error]),
        Formatted::Unchanged => Ok(Outcome::Done),
    });
    result.unwrap_or_else(|diagnostics| {
        terminal::report(&diagnostics, &sources, style);
        Outcome::WrongUse
    })
}

fn is_nova(path: &Path) -> bool {
    Language::of(&path.to_string_lossy()) == Language::Nova
}

fn format(path: &Path, sources: &mut SourceMap) -> Result<Formatted, Vec<Diagnostic>> {
    if is_nova(path) {
        return Err(vec![
            complaint(
                codes::NOT_FORMATTED,
                format!("`{}` is in NOVA's syntax, which is not formatted", path.display()),
            )
            .help("format `.alm` files"),
        ]);
    }
    let text = files::read_source(path).map_err(|error| vec![error])?;
    let file = sources.add(path.display().to_string(), text.clone());
    let formatted = format_file(file, &text)?;
    let standard_input = path == Path::new("-");
    Ok(if formatted == text && !standard_input {
        Formatted::Unchanged
    } else {
        Formatted::Changed(formatted)
    })
}
