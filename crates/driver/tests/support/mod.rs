//! The examples and file tests as Core.

use almach_core::Program;
use almach_core::check::Checked;
use almach_driver::{Extra, Files, front, load, tests};
use std::path::{Path, PathBuf};

struct Disk(PathBuf);

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The `.alm` files of a folder, at any depth, in order.
pub fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "alm") {
            into.push(path);
        }
    }
}

/// The file in Core, with the calls of its tests as entries.
pub fn core_of(name: &str, text: &str) -> Option<Checked<Program>> {
    let loaded = load(name, text, &Disk(root()));
    let calls = tests::calls(&loaded);
    let extras: Vec<Extra> = calls
        .iter()
        .zip(1..)
        .map(|(call, number)| Extra {
            name: format!("test_{number}").into(),
            ..call.extra()
        })
        .collect();
    front(loaded, extras).core().ok()
}
