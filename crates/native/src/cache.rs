//! The folder that compiled libraries are kept in.

use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, Span};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// When there are more libraries than this, the ones that were not used for longest go.
const MOST: usize = 2000;
const KEPT: usize = 1500;

/// `ALMACH_CACHE`, else the user's cache folder, else one under the temporary folder.
pub fn folder() -> PathBuf {
    // What is loaded is looked for elsewhere where its path is not absolute.
    std::env::var_os("ALMACH_CACHE")
        .filter(|wanted| !wanted.is_empty())
        .and_then(|wanted| std::path::absolute(wanted).ok())
        .unwrap_or_else(|| {
            use etcetera::BaseStrategy;
            etcetera::choose_base_strategy()
                .map_or_else(|_| std::env::temp_dir(), |strategy| strategy.cache_dir())
                .join("almach")
        })
}

pub fn make(folder: &Path) -> Result<(), Box<Diagnostic>> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let help = "set ALMACH_CACHE to a folder that can be written, or use --backend interp";
        Box::new(unwritable(folder, &error).help(help))
    })
}

pub fn unwritable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let message = format!("cannot write `{}`: {error}", path.display());
    Diagnostic::error(codes::UNWRITABLE_FILE, Span::NONE, message)
}

/// Notes that a library was used. Where the folder is read-only, the note is left out.
pub fn touch(library: &Path) {
    let _ = std::fs::File::options()
        .append(true)
        .open(library)
        .and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes what was not used for longest, where there is much. Another run may be doing the same: what cannot be removed
/// stays.
pub fn prune(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut libraries: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "so"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if libraries.len() <= MOST {
        return;
    }
    libraries.sort();
    let surplus = libraries.len() - KEPT;
    for (_, path) in libraries.into_iter().take(surplus) {
        let _ = std::fs::remove_file(path);
    }
}
