//! What is linked to a program: the C files and libraries of `--link`, and those that the file names itself.
//!
//! ```text
//! -- link: smooth.c
//! foreign smooth : f64 -> []f64 -> []f64
//! ```

use crate::failure::complaint;
use crate::files;
use almach_base::Diagnostic;
use almach_base::codes::cli as codes;
use std::path::{Path, PathBuf};

/// What a comment starts with, behind its opening.
const MARK: &str = " link: ";

/// Everything to link: what was asked for, then what comments at the top of the file say (relative to the file).
pub fn all(file: &Path, asked_for: &[String]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut links = asked_for
        .iter()
        .map(|link| resolve(Path::new(""), link))
        .collect::<Result<Vec<_>, _>>()?;
    // A program from standard input names nothing; one that cannot be read was refused before.
    let text = match file == Path::new("-") {
        true => String::new(),
        false => files::read_source(file).unwrap_or_default(),
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    for line in text.lines() {
        let line = line.trim();
        let comment = line.strip_prefix("--").or_else(|| line.strip_prefix(';'));
        match comment {
            Some(comment) => {
                if let Some(link) = comment.strip_prefix(MARK) {
                    links.push(resolve(folder, link.trim())?);
                }
            }
            None if line.is_empty() => {}
            None => break,
        }
    }
    Ok(links)
}

/// A file where there is one, else the name of a library of the system.
fn resolve(folder: &Path, link: &str) -> Result<PathBuf, Diagnostic> {
    let path = folder.join(link);
    if path.is_file() {
        return Ok(path);
    }
    let is_name = !link.is_empty()
        && link
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'));
    match is_name {
        true => Ok(PathBuf::from(format!("-l{link}"))),
        false => Err(complaint(
            codes::UNREADABLE_FILE,
            format!("there is no file `{}` to link", path.display()),
        )
        .help("give a C file, an object, a library, or the name of a library of the system (`m` for libm)")),
    }
}
