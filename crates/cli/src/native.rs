//! A program as native code: lowered, compiled by the C compiler, loaded, called.

use almach_base::{Diagnostic, SourceMap, Span, compiler_bug};
use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_driver::back::{self, Target};
use almach_imp::interface::Entry;
use almach_native::{Library, Toolchain};
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
        max_depth: Option<usize>,
    ) -> Result<Native, Vec<Diagnostic>> {
        let native = |diagnostic: Box<Diagnostic>| vec![*diagnostic];
        let toolchain = Toolchain::find().map_err(native)?;
        let lowered = back::lowered(strategy, entries)?;
        let source = back::c_source(&lowered, sources, "program", target)?;
        let compiled = toolchain.library(&source, target, &[]).map_err(native)?;
        let mut library = Library::load(&compiled.path, source.interface).map_err(native)?;
        if let Some(depth) = max_depth {
            library.set_max_depth(depth);
        }
        Ok(Native {
            entries: lowered.entries,
            library: RefCell::new(library),
        })
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
