//! A program as native code: lowered, compiled by the C compiler, loaded, called.

use crate::machine::RunSettings;
use crate::times::Times;
use almach_base::codes::runtime::OUT_OF_MEMORY;
use almach_base::{Diagnostic, SourceMap, Span, compiler_bug};
use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_driver::back::{self, Accounting, Emission, Lowered, Target};
use almach_driver::explain::{Peak, Precision, Predicted, peaks};
use almach_imp::interface::Entry;
use almach_native::{Account, Idle, KernelTime, Library, Origin, Toolchain, kernel_text};
use almach_value::Value;
use std::cell::RefCell;

pub struct Native {
    lowered: Lowered,
    /// Of the entries, where memory is accounted for.
    peaks: Vec<Peak>,
    /// The most bytes at once.
    most: Option<u64>,
    target: Target,
    /// Calls write into the library's context.
    library: RefCell<Library>,
}

impl Native {
    /// Compiles entries of a program into one library.
    pub fn new(
        strategy: &Checked<Core>,
        entries: &[&almach_core::Entry],
        sources: &SourceMap,
        target: Target,
        settings: &RunSettings,
        times: &mut Times,
    ) -> Result<Native, Vec<Diagnostic>> {
        let native = |diagnostic: Box<Diagnostic>| vec![*diagnostic];
        let toolchain = Toolchain::find().map_err(native)?;
        let lowered = settings.checks.apply(back::lowered(strategy, entries)?)?;
        times.lap("lower");
        let wanted = Emission {
            accounting: settings.memory.accounting,
            kernel_text: &kernel_text(&settings.links, target).map_err(native)?,
            ..Emission::new("program", target)
        };
        let source = back::c_source_with(&lowered, sources, &wanted)?;
        times.lap("emit");
        let compiled = toolchain
            .library(&source, target, &settings.links)
            .map_err(native)?;
        times.lap(match compiled.origin {
            Origin::Cache => "cache",
            Origin::Compiler => "C compiler",
        });
        let mut library = Library::load(&compiled.path, source.interface).map_err(native)?;
        if let Some(depth) = settings.max_depth {
            library.set_max_depth(depth);
        }
        if let Some(device) = &settings.device {
            library.set_device(device);
        }
        if let Some(most) = settings.memory.most {
            library.set_max_bytes(most);
        }
        times.lap("load");
        Ok(Native {
            peaks: match settings.memory.accounting {
                Accounting::On => peaks(&lowered),
                Accounting::Off => Vec::new(),
            },
            lowered,
            most: settings.memory.most,
            target,
            library: RefCell::new(library),
        })
    }

    pub fn time_kernels(&self) {
        self.library.borrow_mut().time_kernels();
    }

    pub fn kernel_times(&self) -> Vec<KernelTime> {
        self.library.borrow().kernel_times()
    }

    /// The most bytes that a call holds at once, by the formula that `almach explain` gives.
    pub fn predicted(&self, name: &str, args: &[Value]) -> Option<Predicted> {
        let peak = self.peaks.iter().find(|peak| &*peak.entry == name)?;
        let threads = match self.target {
            Target::C | Target::OpenCl | Target::Cuda => 1,
            Target::OpenMp => threads(),
        };
        peak.predict(self.lowered.imp.program(), self.entry(name)?, args, threads)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.lowered.entries.iter().find(|entry| &*entry.name == name)
    }

    /// A call that will certainly hold more than it may is not started.
    fn check_limit(&self, entry: &Entry, args: &[Value]) -> Result<(), Diagnostic> {
        let (Some(most), Some(predicted)) = (self.most, self.predicted(&entry.name, args)) else {
            return Ok(());
        };
        let bytes = u64::try_from(predicted.bytes).unwrap_or(u64::MAX);
        if predicted.precision == Precision::Bound || bytes <= most {
            return Ok(());
        }
        let title = format!("the call would hold {bytes} bytes at once, and may hold {most}");
        let peak = self.peaks.iter().find(|peak| peak.entry == entry.name);
        Err(Diagnostic::error(OUT_OF_MEMORY, entry.span, title)
            .note(peak.map_or_else(String::new, Peak::to_string))
            .help("give it more with --max-memory, or smaller arguments"))
    }

    pub fn account(&self) -> Option<Account> {
        self.library.borrow().account()
    }

    pub fn idle(&self) -> Option<Idle> {
        self.library.borrow().idle()
    }

    pub fn call(&self, name: &str, args: &[Value]) -> Result<Value, Diagnostic> {
        let Some(entry) = self.entry(name) else {
            return Err(compiler_bug(Span::NONE, "an entry was lost in lowering"));
        };
        self.check_limit(entry, args)?;
        self.library
            .borrow_mut()
            .call_entry(entry, args)
            .map_err(|diagnostic| *diagnostic)
    }
}

/// How many threads OpenMP uses where nobody says.
fn threads() -> usize {
    let asked = std::env::var("OMP_NUM_THREADS").ok();
    let asked = asked.and_then(|text| text.split(',').next()?.trim().parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
