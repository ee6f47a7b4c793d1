//! The validity of memory (FUNMEM, Definition 3.1) on every example and file test, after every memory pass: what the heap
//! semantics gives is what the program means.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use almach_base::FileId;
use almach_core::Program;
use almach_core::check::Checked;
use almach_driver::back::{self, Machine};
use almach_driver::{Extra, Files, front, load, tests};
use almach_mem::check::check;
use almach_mem::heap::{Heap, Validity};
use almach_mem::{Annotated, annotated_to_string, introduce, parse_annotated};
use std::path::{Path, PathBuf};

struct Disk(PathBuf);

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
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
fn core_of(name: &str, text: &str) -> Option<Checked<Program>> {
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

#[derive(Default)]
struct Tally {
    valid: usize,
    failing: usize,
    too_long: usize,
    invalid: Vec<String>,
}

/// Statements that a run may take: tests are small.
const STEPS: u64 = 8_000;

impl Tally {
    fn add(&mut self, what: &str, program: &Annotated) {
        if let Err(broken) = check(program) {
            self.invalid
                .push(format!("{what}: {}: {}", broken.rule, broken.message));
            return;
        }
        let heap = Heap::new(program).unwrap();
        for entry in program
            .core
            .entries
            .iter()
            .filter(|entry| entry.params.is_empty())
        {
            match heap.validity(&entry.name, Vec::new(), STEPS) {
                Validity::Valid(_) => self.valid += 1,
                Validity::Fails => self.failing += 1,
                Validity::TooLong => self.too_long += 1,
                Validity::Invalid(why) => self.invalid.push(format!("{what}, {}: {why}", entry.name)),
            }
        }
    }
}

impl Tally {
    /// What is printed is read as what it was.
    fn reads_back(&mut self, what: &str, program: &Annotated) {
        let text = annotated_to_string(program);
        match parse_annotated(&text, FileId(0)) {
            Ok(read) if annotated_to_string(&read) == text => {}
            Ok(read) => {
                let again = annotated_to_string(&read);
                let differs = text.lines().zip(again.lines()).find(|(a, b)| a != b);
                self.invalid
                    .push(format!("{what}: reads back differently: {differs:?}"));
            }
            Err(error) => self
                .invalid
                .push(format!("{what}: does not read back: {}", error.title)),
        }
    }
}

/// Core as elaborated, with its functions, and the strategy program.
fn programs(core: Checked<Program>) -> Vec<(&'static str, Program)> {
    let mut all = vec![("core", (*core).clone())];
    if let Ok(strategy) = back::strategy(core, Machine::Threads) {
        all.push(("strategy", strategy.into_inner()));
    }
    all
}

fn corpus(folders: &[&str]) -> Tally {
    let mut files = Vec::new();
    for folder in folders {
        collect(&root().join(folder), &mut files);
    }
    let mut tally = Tally::default();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let Some(core) = core_of(&name, &text) else {
            continue;
        };
        for (stage, program) in programs(core) {
            let what = format!("{name} ({stage})");
            let program = introduce(program);
            tally.add(&what, &program);
            tally.reads_back(&what, &program);
        }
    }
    tally
}

/// On a thread of its own: the interpreter of the heap follows calls on the native stack.
fn on_a_large_stack(work: impl FnOnce() -> Tally + Send + 'static) -> Tally {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work);
    thread.unwrap().join().unwrap()
}

#[test]
fn heap_semantics_is_value_semantics_on_the_corpus() {
    let tally = on_a_large_stack(|| corpus(&["examples", "tests/programs"]));
    let Tally {
        valid,
        failing,
        too_long,
        invalid,
    } = &tally;
    eprintln!(
        "{valid} valid, {failing} fail as they should, {too_long} too long, {} invalid",
        invalid.len()
    );
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
    assert!(
        *valid > 10 * too_long,
        "{too_long} of {valid} programs were not run to their end"
    );
}
