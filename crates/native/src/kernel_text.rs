//! What the user has written for kernels: the files among what is linked whose names end in `.cl` or `.cu`, as one text.
//!
//! The device's compiler sees no files. What they include of the user's is put in; what they include of the system's goes, since kernels
//! have those functions without it.

use crate::toolchain::{Native, unreadable};
use almach_emit::Target;
use std::path::{Path, PathBuf};

/// How deep files may include others.
const DEPTH: usize = 16;

/// The text for kernels of a back end: of the `.cl` files; for CUDA of the `.cu` files, where there are some.
pub fn kernel_text(links: &[PathBuf], target: Target) -> Native<String> {
    let of = |ending: &str| -> Vec<&PathBuf> { links.iter().filter(|link| ends(link, ending)).collect() };
    let files = match target {
        Target::C | Target::OpenMp => Vec::new(),
        Target::OpenCl => of("cl"),
        Target::Cuda => match of("cu") {
            own if own.is_empty() => of("cl"),
            own => own,
        },
    };
    let mut text = String::new();
    for file in files {
        with_included(file, DEPTH, &mut text)?;
    }
    Ok(text)
}

/// Whether a file is for kernels and not for the linker.
pub(crate) fn is_for_kernels(link: &Path) -> bool {
    ends(link, "cl") || ends(link, "cu")
}

fn ends(link: &Path, ending: &str) -> bool {
    link.extension().is_some_and(|found| found == ending)
}

fn with_included(file: &Path, depth: usize, out: &mut String) -> Native<()> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    for line in text.lines() {
        match included(line) {
            Some(Included::File(name)) if depth > 0 => with_included(&folder.join(name), depth - 1, out)?,
            Some(_) => {}
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    Ok(())
}

enum Included<'t> {
    File(&'t str),
    /// A header of the system.
    System,
}

/// What `#include "name"` or `#include <name>` names.
fn included(line: &str) -> Option<Included<'_>> {
    let name = line.trim_start().strip_prefix('#')?.trim_start();
    let name = name.strip_prefix("include")?.trim();
    if name.starts_with('<') {
        return Some(Included::System);
    }
    let name = name.strip_prefix('"')?;
    Some(Included::File(name.get(..name.find('"')?)?))
}
