//! Many programs as one library.

use crate::outside::SOURCE;
use crate::stages::{Failure, LoweredEntry, Outcome, refused};
use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_driver::back::{self, Emission, Target};
use almach_driver::{Front, NativeEntry};
use almach_native::{Library, Toolchain};
use almach_value::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the C compiler is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settings {
    /// As `almach run` calls it.
    Full,
    /// No optimisation: several times faster.
    Quick,
    /// The same by clang, where there is one that knows OpenMP: twice as fast again, and another compiler's opinion.
    QuickByClang,
    /// What C leaves undefined ends the process.
    Trapping,
}

impl Settings {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Settings::Full => &[],
            Settings::Quick | Settings::QuickByClang => &["-O0"],
            Settings::Trapping => &[
                "-O1",
                "-fsanitize=undefined",
                "-fsanitize-undefined-trap-on-error",
                "-fno-sanitize=float-divide-by-zero",
            ],
        }
    }

    /// The C compiler, where there is one.
    fn toolchain(self) -> Option<Toolchain> {
        let clang = match self {
            Settings::QuickByClang => Toolchain::of("clang").ok(),
            Settings::Full | Settings::Quick | Settings::Trapping => None,
        };
        let found = clang.filter(Toolchain::supports_openmp).map(Ok);
        let toolchain = found.unwrap_or_else(Toolchain::find).ok()?;
        Some(toolchain.with_flags(self.flags().iter().copied()))
    }
}

/// A library with the entries of programs, by their number.
pub(crate) struct Compiled {
    library: Library,
    entries: HashMap<usize, NativeEntry>,
}

impl Compiled {
    pub(crate) fn has(&self, program: usize) -> bool {
        self.entries.contains_key(&program)
    }

    pub(crate) fn call(&mut self, program: usize, threads: usize, values: &[Value]) -> Option<Outcome> {
        let entry = self.entries.get(&program)?;
        self.library.set_threads(threads);
        let called = self.library.call_entry(entry, values);
        Some(called.map_err(|error| format!("{}: {}", error.code.0, error.title)))
    }
}

/// Compiles what could be lowered; none where that is nothing, or there is no C compiler.
pub(crate) fn compile(
    front: &Front,
    strategy: &Checked<Core>,
    lowered: &[LoweredEntry],
    target: Target,
    settings: Settings,
) -> Result<Option<Compiled>, Failure> {
    let stage = match target {
        Target::C => "c",
        Target::OpenMp => "openmp",
        Target::OpenCl => "opencl",
        Target::Cuda => "cuda",
    };
    let Some(toolchain) = settings.toolchain() else {
        return Ok(None);
    };
    let programs: Vec<usize> = (0..lowered.len())
        .filter(|at| lowered.get(*at).is_some_and(Option::is_some))
        .collect();
    let Some((all, _)) = lowered.iter().flatten().next() else {
        return Ok(None);
    };
    let all = match all.entries.len() == programs.len() {
        true => all.clone(),
        false => {
            let names: Vec<&almach_core::Entry> = lowered
                .iter()
                .flatten()
                .filter_map(|(one, which)| one.entries.get(*which))
                .filter_map(|entry| strategy.entries.iter().find(|known| known.name == entry.name))
                .collect();
            let together = back::lowered(strategy, &names);
            Rc::new(together.map_err(|problems| refused("lower", &problems, &front.sources))?)
        }
    };
    let wanted = Emission {
        kernel_text: SOURCE,
        ..Emission::new("random", target)
    };
    let source = back::c_source_with(&all, &front.sources, &wanted)
        .map_err(|problems| refused("lower", &problems, &front.sources))?;
    let (scratch, functions) = (Scratch::new("so"), Scratch::new("c"));
    let mut links = Vec::new();
    if !all.foreign.is_empty() && std::fs::write(&functions.0, SOURCE).is_ok() {
        links.push(functions.0.clone());
    }
    let library = toolchain
        .shared_library(&source, target, &links, &scratch.0)
        .and_then(|()| Library::load(&scratch.0, source.interface.clone()))
        .map_err(|problem| refused(stage, &[*problem], &front.sources))?;
    let entries = programs.into_iter().zip(all.entries.iter().cloned()).collect();
    Ok(Some(Compiled { library, entries }))
}

/// A file that goes once it is loaded.
struct Scratch(PathBuf);

impl Scratch {
    fn new(ending: &str) -> Scratch {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("almach-law-{}-{number}.{ending}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
