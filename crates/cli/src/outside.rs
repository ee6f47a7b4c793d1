//! What the interpreter asks of its surroundings: traces go to standard error, and C functions are compiled and loaded.

use crate::machine::{Checks, RunSettings};
use crate::native::Native;
use crate::program::Program;
use crate::terminal;
use crate::times::Times;
use almach_base::{Diagnostic, Name, SourceMap};
use almach_core::interp::{ForeignError, Host};
use almach_core::{ForeignDef, Program as Core};
use almach_driver::back::{self, Target};
use almach_driver::foreign::foreign_program;
use almach_value::{Extent, Value, ValueType, print};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

pub struct Outside {
    core: Core,
    sources: SourceMap,
    settings: RunSettings,
    /// C functions by name, each compiled when it is first called.
    functions: RefCell<HashMap<Name, Rc<Result<Native, Diagnostic>>>>,
}

impl Outside {
    pub fn new(program: &Program, core: &Core, settings: RunSettings) -> Outside {
        Outside {
            core: Core {
                data: core.data.clone(),
                foreign: core.foreign.clone(),
                next_var: core.next_var,
                ..Core::default()
            },
            sources: match core.foreign.is_empty() {
                true => SourceMap::new(),
                false => program.sources().clone(),
            },
            // The interpreter checks everything.
            settings: RunSettings {
                checks: Checks::Keep,
                ..settings
            },
            functions: RefCell::default(),
        }
    }

    fn compile(&self, name: &Name) -> Result<Native, Diagnostic> {
        let first = |diagnostics: Vec<Diagnostic>| {
            let bug =
                || almach_base::compiler_bug(almach_base::Span::NONE, "a stage failed without saying why");
            diagnostics.into_iter().next().unwrap_or_else(bug)
        };
        let wrappers = foreign_program(&self.core).map_err(first)?;
        let strategy = back::strategy(wrappers, back::machine(Target::C)).map_err(first)?;
        let entries: Vec<_> = strategy
            .entries
            .iter()
            .filter(|entry| entry.name == *name)
            .collect();
        let mut times = Times::new();
        Native::new(
            &strategy,
            &entries,
            &self.sources,
            Target::C,
            &self.settings,
            &mut times,
        )
        .map_err(first)
    }
}

impl Host for &Outside {
    fn trace(&mut self, label: &str, value: &Value, ty: &ValueType) {
        terminal::complain(&format!("{label}: {}", print(value, ty, Extent::Full)));
    }

    fn foreign(&mut self, function: &ForeignDef, args: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
        let compiled = Rc::clone(
            self.functions
                .borrow_mut()
                .entry(function.name.clone())
                .or_insert_with(|| Rc::new(self.compile(&function.name))),
        );
        let called = match &*compiled {
            Ok(native) => native.call(&function.name, &args),
            Err(problem) => Err(problem.clone()),
        };
        match called {
            Ok(value) => Ok(vec![value]),
            Err(problem) => Err(ForeignError {
                code: problem.code,
                message: with_notes(&problem),
            }),
        }
    }
}

/// What the C compiler said belongs to the message.
fn with_notes(problem: &Diagnostic) -> String {
    match problem.notes.as_slice() {
        [] => problem.title.clone(),
        notes => format!("{}: {}", problem.title, notes.join("\n")),
    }
}
