//! The examples and file tests as Core.

use almach_core::Program;
use almach_core::check::Checked;
use almach_corpus::root;
use almach_driver::{Extra, Files, front, load, tests};
use std::path::PathBuf;

struct Disk(PathBuf);

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
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
