//! The strategy program as source, and whether compiling that leads to the same code.

use crate::back::{self, Machine};
use crate::load::PRELUDE;
use crate::{NoFiles, front, load};
use almach_base::{Diagnostic, FileId};
use almach_core::Program;
use almach_core::check::Checked;
use almach_syntax::ast::Item;
use almach_syntax::parse_file;
use std::collections::HashSet;
use std::sync::OnceLock;

/// A program of Core as source that can be compiled again.
pub fn source_of(program: &Program) -> String {
    almach_source::program_to_source(program, prelude_names())
}

/// The names that the prelude defines.
fn prelude_names() -> &'static HashSet<String> {
    static NAMES: OnceLock<HashSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let parsed = parse_file(FileId(0), PRELUDE);
        let names = parsed.file.items.iter().filter_map(|item| match item {
            Item::Def(def) => Some(def.name.name.to_string()),
            Item::Foreign(foreign) => Some(foreign.name.name.to_string()),
            Item::Data(_) | Item::TypeAlias(_) | Item::Import(_) | Item::Error(_) => None,
        });
        names.collect()
    })
}

/// The strategy program of a text that imports nothing, with what is wrong with it.
pub fn strategy_of_source(text: &str, machine: Machine) -> Result<Checked<Program>, Vec<Diagnostic>> {
    let front = front(load("strategy.alm", text, &NoFiles), Vec::new());
    back::strategy(front.core()?, machine)
}
