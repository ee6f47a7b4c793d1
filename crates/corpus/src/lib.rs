//! The programs of the repository, for the tests of all rooms: where they are, and a stack that is large enough for them.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first file that cannot be read"
)]

use std::path::{Path, PathBuf};
use std::sync::Mutex;

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

/// Does something with each file, on as many threads as there are cores, each with a stack as large as the compiler's. Results
/// come in the order of the files.
pub fn each_file<T: Send>(files: &[PathBuf], work: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    let left = Mutex::new(files.iter().enumerate());
    let worker = || {
        let mut found = Vec::new();
        loop {
            let next = left.lock().unwrap().next();
            match next {
                Some((at, file)) => found.push((at, work(file))),
                None => return found,
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(usize, T)> = std::thread::scope(|scope| {
        let start = |_| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, worker).unwrap()
        };
        let workers: Vec<_> = (0..cores).map(start).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}
