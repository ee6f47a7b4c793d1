//! The programs of the repository, for the tests of all rooms: where they are, and a stack that is large enough for them.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first file that cannot be read"
)]

use std::path::{Path, PathBuf};

/// Programs nest deep, and so do the functions that walk over them.
pub const STACK_BYTES: usize = 1 << 30;

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The `.alm` files of folders of the repository, at any depth, in order; a file stands for itself.
pub fn programs(places: &[&str]) -> Vec<PathBuf> {
    files(places, "alm")
}

/// The files with an ending.
pub fn files(places: &[&str], ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in places {
        collect(&root().join(place), ending, &mut found);
    }
    assert!(!found.is_empty(), "there are no programs in {places:?}");
    found
}

fn collect(place: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    if !place.is_dir() {
        found.extend(
            place
                .extension()
                .filter(|found| *found == ending)
                .map(|_| place.to_owned()),
        );
        return;
    }
    let entries = std::fs::read_dir(place).unwrap();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        collect(&entry, ending, found);
    }
}

/// The name of a file of the repository, from its root on.
pub fn name_of(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// Runs on a stack as large as the compiler's.
pub fn on_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .unwrap();
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
