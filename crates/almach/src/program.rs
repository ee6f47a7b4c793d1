//! Checked programs, and what the compiler makes of them.

use crate::error::Errors;
use crate::machine::Machine;
use crate::settings::{Settings, Target};
use crate::stack::on_large_stack;
use crate::types::Entry;
use almach_base::{Diagnostic, SourceMap, Span};
use almach_core::check::Checked;
use almach_core::print::{Spans, program_to_string};
use almach_core::{Entry as CoreEntry, Program as Core};
use almach_driver::back::{self, Lowered};
use almach_driver::source::source_of;
use almach_driver::{Files, Loaded, NoFiles, front, load};
use std::sync::Arc;

/// A program that is right: names, types, sizes and levels are checked.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) core: Checked<Core>,
    pub(crate) sources: Arc<SourceMap>,
    warnings: Vec<Diagnostic>,
    signatures: Vec<Signature>,
}

/// A definition with its inferred type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    pub name: String,
    /// In the language's syntax: `dot [n] : [n]f32 -> [n]f32 -> f32`.
    pub text: String,
}

/// What a program looks like on its way to C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// First-order and monomorphic, before any rewrite.
    Core,
    /// After the rewrites, with a level on every operation, as source that compiles to the same.
    Strategy,
    /// The imperative phrase language.
    Dpia,
    /// Loops with views.
    Loops,
    /// Loops over flat memory.
    Imp,
    /// The source file.
    C,
}

/// Files to put into another program: see `docs/c-interface.md`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct C {
    /// What the source includes the header by.
    pub header_name: String,
    pub header: String,
    pub source: String,
}

impl Program {
    /// Reads and checks a program in Almach. It can import nothing.
    ///
    /// ```
    /// let wrong = almach::Program::almach("entry main (x: i32): f32 = x").unwrap_err();
    /// assert_eq!(wrong.problems().next().and_then(|first| first.line_and_column()), Some((1, 28)));
    /// ```
    pub fn almach(text: &str) -> Result<Program, Errors> {
        Program::read("program.alm", text, &NoFiles)
    }

    /// Reads and checks a program in NOVA's syntax.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = almach::Program::nova("((X : vector int)) (reduce + 0 (map (* 2) X))")?;
    /// let value = program.interpreter()?.call("main", &[[1, 2, 3].into()])?;
    /// assert_eq!(value.scalar::<i32>(), Some(12));
    /// # Ok(())
    /// # }
    /// ```
    pub fn nova(text: &str) -> Result<Program, Errors> {
        Program::read("program.nova", text, &NoFiles)
    }

    /// Reads and checks a program. The end of its name says its language (`.nova`, else Almach); `files` finds what it imports.
    pub fn read(name: &str, text: &str, files: &(dyn Files + Sync)) -> Result<Program, Errors> {
        Program::checked(|| load(name, text, files))
    }

    pub(crate) fn checked(loaded: impl FnOnce() -> Loaded + Send) -> Result<Program, Errors> {
        let mut sources = Arc::new(SourceMap::new());
        let result = on_large_stack(|| {
            let mut front = front(loaded(), Vec::new());
            sources = Arc::new(std::mem::take(&mut front.sources));
            let core = front.core()?;
            let signatures = front.types.into_iter().map(|definition| Signature {
                name: definition.name.to_string(),
                text: definition.text,
            });
            Ok((core, front.diagnostics, signatures.collect()))
        });
        match result {
            Ok((core, warnings, signatures)) => Ok(Program {
                core,
                sources,
                warnings,
                signatures,
            }),
            Err(diagnostics) => Err(Errors::new(diagnostics, sources)),
        }
    }

    /// What is odd about the program, though it is right. It may hold nothing.
    pub fn warnings(&self) -> Errors {
        self.errors(self.warnings.clone())
    }

    /// The definitions of the program with their types.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// What can be called.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.core.entries.iter().map(Entry::of)
    }

    /// The entry point of this name.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.entries().find(|entry| entry.name == name)
    }

    /// Runs the program by its definition. Slow, and right.
    pub fn interpreter(&self) -> Result<Machine, Errors> {
        Machine::interpreter(self)
    }

    /// Compiles the program with the C compiler and loads what that made.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use almach::{Program, Settings, Target};
    ///
    /// let program = Program::almach("entry main (n: i64): i64 = sum (map (\\i -> i * i) (iota n))")?;
    /// let machine = program.compile(&Settings::new(Target::C))?;
    /// assert_eq!(machine.call("main", &[1000i64.into()])?.scalar::<i64>(), Some(332_833_500));
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile(&self, settings: &Settings) -> Result<Machine, Errors> {
        Machine::compiled(self, settings)
    }

    /// The program at a stage of the compiler, as text.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use almach::{Program, Settings, Stage, Target};
    ///
    /// let program = Program::almach("entry main (xs: []i32): []i32 = map (+ 1) (map (* 2) xs)")?;
    /// let fused = program.stage(Stage::Strategy, &Settings::new(Target::C))?;
    /// assert_eq!(fused.matches("map@").count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stage(&self, stage: Stage, settings: &Settings) -> Result<String, Errors> {
        let text = on_large_stack(|| {
            if stage == Stage::Core {
                return Ok(program_to_string(&self.core, Spans::Omit));
            }
            let strategy = self.strategy(settings)?;
            if stage == Stage::Strategy {
                return Ok(source_of(&strategy));
            }
            let lowered = lowered(&strategy)?;
            Ok(match stage {
                Stage::Core | Stage::Strategy => String::new(),
                Stage::Dpia => lowered.dpia.program().to_string(),
                Stage::Loops => lowered.loops.program().to_string(),
                Stage::Imp => lowered.imp.program().to_string(),
                Stage::C => {
                    back::c_source(&lowered, &self.sources, "program", settings.target.back())?.source
                }
            })
        });
        text.map_err(|diagnostics| self.errors(diagnostics))
    }

    /// A header and a source file that stand alone; `name` starts the names of all that they export.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = almach::Program::almach("entry twice (x: f64): f64 = 2 * x")?;
    /// let files = program.c("doubles", almach::Target::C)?;
    /// assert!(files.header.contains("int doubles_twice("));
    /// # Ok(())
    /// # }
    /// ```
    pub fn c(&self, name: &str, target: Target) -> Result<C, Errors> {
        let emitted = on_large_stack(|| {
            let lowered = lowered(&self.strategy(&Settings::new(target))?)?;
            back::c_source(&lowered, &self.sources, name, target.back())
        });
        let emitted = emitted.map_err(|diagnostics| self.errors(diagnostics))?;
        Ok(C {
            header_name: emitted.header_name,
            header: emitted.header,
            source: emitted.source,
        })
    }

    /// The program after the rewrites, with a level on every operation.
    pub(crate) fn strategy(&self, settings: &Settings) -> Result<Checked<Core>, Vec<Diagnostic>> {
        let without = settings.passes_off();
        let rewritten = back::rewritten_without(self.core.clone(), without)?;
        back::chosen_without(rewritten, back::machine(settings.target.back()), without)
    }

    pub(crate) fn errors(&self, diagnostics: Vec<Diagnostic>) -> Errors {
        Errors::new(diagnostics, Arc::clone(&self.sources))
    }
}

/// All entries of a strategy program, lowered.
pub(crate) fn lowered(strategy: &Checked<Core>) -> Result<Lowered, Vec<Diagnostic>> {
    let entries: Vec<&CoreEntry> = strategy.entries.iter().collect();
    if entries.is_empty() {
        let title = "the program has no entry point";
        return Err(vec![Diagnostic::error(
            almach_base::codes::cli::NO_ENTRY,
            Span::NONE,
            title,
        )]);
    }
    back::lowered(strategy, &entries)
}
