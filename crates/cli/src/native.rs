//! A program as native code: lowered, compiled by the C compiler, loaded, called.

use crate::machine::RunSettings;
use crate::times::Times;
use almach_base::{Diagnostic, SourceMap, Span, compiler_bug};
use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_driver::back::{self, Target};
use almach_imp::interface::Entry;
use almach_native::{Account, Library, Origin, Toolchain};
use almach_value::Value;
use std::cell::RefCell;

pub struct Native {
    entries: Vec<Entry>,
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
        let source = back::c_source_with(&lowered, sources, "program", target, settings.memory.accounting)?;
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
        if let Some(most) = settings.memory.most {
            library.set_max_bytes(most);
        }
        times.lap("load");
        Ok(Native {
            entries: lowered.entries,
            library: RefCell::new(library),
        })
    }

    pub fn account(&self) -> Option<Account> {
        self.library.borrow().account()
    }

    pub fn call(&self, name: &str, args: &[Value]) -> Result<Value, Diagnostic> {
        let Some(entry) = self.entries.iter().find(|entry| &*entry.name == name) else {
            return Err(compiler_bug(Span::NONE, "an entry was lost in lowering"));
        };
        self.library
            .borrow_mut()
            .call_entry(entry, args)
            .map_err(|diagnostic| *diagnostic)
    }
}
