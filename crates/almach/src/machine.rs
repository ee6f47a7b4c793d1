//! What runs a program.

use crate::error::Errors;
use crate::outside::{Asking, NothingOutside, Outside};
use crate::program::{Program, lowered};
use crate::settings::Settings;
use crate::stack::on_large_stack;
use crate::types::Entry;
use crate::value::Value;
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, SourceMap, Span, compiler_bug, counted};
use almach_core::interp::{Interpreter, Limits};
use almach_core::{Entry as CoreEntry, Program as Core};
use almach_driver::NativeEntry;
use almach_driver::back::{Emission, c_source_with};
use almach_emit::Interface;
use almach_native::{Library, Toolchain, kernel_text};
use almach_value::{Sizes, conforms_with};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A program that is ready to be called, as often as wanted and from any number of threads at once.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = almach::Program::almach("entry main (n: i64): i64 = sum (iota n)")?;
/// let machine = program.interpreter()?;
/// std::thread::scope(|scope| {
///     for n in 0..4i64 {
///         let machine = &machine;
///         scope.spawn(move || machine.call("main", &[n.into()]));
///     }
/// });
/// let failed = program.interpreter()?.call("main", &[true.into()]).unwrap_err();
/// assert!(failed.to_string().contains("argument 1 does not fit the parameter `n: i64`"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Machine {
    runner: Runner,
    entries: Vec<CoreEntry>,
    sources: Arc<SourceMap>,
}

#[derive(Debug)]
enum Runner {
    Interpreter {
        interpreter: Interpreter,
        /// The data types and foreign functions of the program.
        core: Core,
    },
    Compiled(Compiled),
}

/// A library with contexts for calls: each serves one call at a time.
struct Compiled {
    path: PathBuf,
    interface: Interface,
    entries: Vec<NativeEntry>,
    settings: Settings,
    idle: Mutex<Vec<Library>>,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Machine {
    pub(crate) fn interpreter(program: &Program) -> Result<Machine, Errors> {
        let interpreter = on_large_stack(|| Interpreter::new(&program.core).map_err(|bug| vec![*bug]));
        Ok(Machine {
            runner: Runner::Interpreter {
                interpreter: interpreter.map_err(|problems| program.errors(problems))?,
                core: Core {
                    data: program.core.data.clone(),
                    foreign: program.core.foreign.clone(),
                    ..Core::default()
                },
            },
            entries: program.core.entries.clone(),
            sources: Arc::clone(&program.sources),
        })
    }

    pub(crate) fn compiled(program: &Program, settings: &Settings) -> Result<Machine, Errors> {
        let compiled = on_large_stack(|| Compiled::new(program, settings));
        Ok(Machine {
            runner: Runner::Compiled(compiled.map_err(|problems| program.errors(problems))?),
            entries: program.core.entries.clone(),
            sources: Arc::clone(&program.sources),
        })
    }

    /// An interpreter with another limit of recursions. A compiled program has it from its [`Settings`].
    #[must_use]
    pub fn with_max_depth(mut self, depth: usize) -> Machine {
        self.runner = match self.runner {
            Runner::Interpreter { interpreter, core } => Runner::Interpreter {
                interpreter: interpreter.with_limits(Limits {
                    depth,
                    ..Limits::default()
                }),
                core,
            },
            compiled @ Runner::Compiled(_) => compiled,
        };
        self
    }

    /// What can be called.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.entries.iter().map(Entry::of)
    }

    /// Calls an entry point. The error is one of the program (with its place), or says which argument does not fit.
    pub fn call(&self, entry: &str, args: &[Value]) -> Result<Value, Errors> {
        self.call_with(entry, args, &mut NothingOutside)
    }

    /// Calls an entry point, with foreign functions and traces of the caller's. Compiled code has its foreign functions linked
    /// ([`Settings::link`]), traces to standard error, and asks nothing of `outside`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use almach::{Outside, Program, Value};
    ///
    /// struct Host;
    /// impl Outside for Host {
    ///     fn foreign(&mut self, name: &str, args: &[Value]) -> Result<Value, String> {
    ///         match (name, args) {
    ///             ("halve", [x]) => Ok((x.scalar::<i32>().ok_or("not an i32")? / 2).into()),
    ///             _ => Err(format!("what is {name}?")),
    ///         }
    ///     }
    /// }
    /// let program = Program::nova("((x : int)) (foreign (halve : int -> int)) (halve (halve x))")?;
    /// let value = program.interpreter()?.call_with("main", &[41.into()], &mut Host)?;
    /// assert_eq!(value.scalar::<i32>(), Some(10));
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_with(&self, entry: &str, args: &[Value], outside: &mut dyn Outside) -> Result<Value, Errors> {
        let args: Vec<almach_value::Value> = args.iter().map(|arg| arg.0.clone()).collect();
        let result = self.fitting(entry, &args).and_then(|()| match &self.runner {
            Runner::Interpreter { interpreter, core } => interpreter
                .call_with(entry, args, &mut Asking { outside, core })
                .map_err(|error| Box::new(error.to_diagnostic())),
            Runner::Compiled(compiled) => compiled.call(entry, &args),
        });
        match result {
            Ok(value) => Ok(Value(value)),
            Err(problem) => Err(Errors::new(vec![*problem], Arc::clone(&self.sources))),
        }
    }

    /// Whether values are arguments of an entry; sizes of one name are one size.
    fn fitting(&self, name: &str, args: &[almach_value::Value]) -> Result<(), Box<Diagnostic>> {
        let wrong = |code, title: String| Box::new(Diagnostic::error(code, Span::NONE, title));
        let Some(entry) = self.entries.iter().find(|entry| &*entry.name == name) else {
            let title = format!("there is no entry `{name}`");
            return Err(wrong(codes::NO_ENTRY, title));
        };
        if args.len() != entry.params.len() {
            let (wanted, found) = (entry.params.len(), args.len());
            let title = format!("`{name}` takes {}, and {found} came", counted(wanted, "argument"));
            return Err(wrong(codes::ARGUMENT_COUNT, title));
        }
        let mut sizes = Sizes::default();
        for (at, ((param, ty), arg)) in entry.params.iter().zip(args).enumerate() {
            conforms_with(arg, ty, &mut sizes).map_err(|why| {
                let title = format!("argument {} does not fit the parameter `{param}: {ty}`", at + 1);
                Box::new(wrong(codes::BAD_ARGUMENT, title).note(why.to_string()))
            })?;
        }
        Ok(())
    }
}

impl Compiled {
    fn new(program: &Program, settings: &Settings) -> Result<Compiled, Vec<Diagnostic>> {
        let one = |diagnostic: Box<Diagnostic>| vec![*diagnostic];
        let target = settings.target.back();
        let lowered = lowered(&program.strategy(settings)?)?;
        let wanted = Emission {
            kernel_text: &kernel_text(&settings.links, target).map_err(one)?,
            ..Emission::new("program", target)
        };
        let source = c_source_with(&lowered, &program.sources, &wanted)?;
        let toolchain = match &settings.c_compiler {
            Some(command) => Toolchain::of(command),
            None => Toolchain::find(),
        };
        let mut toolchain = toolchain.map_err(one)?;
        if let Some(folder) = &settings.cache {
            toolchain = toolchain.with_cache(folder);
        }
        let made = toolchain.library(&source, target, &settings.links).map_err(one)?;
        let compiled = Compiled {
            path: made.path,
            interface: source.interface,
            entries: lowered.entries,
            settings: settings.clone(),
            idle: Mutex::default(),
        };
        // What does not load is known now, and not at the first call.
        let first = compiled.context().map_err(one)?;
        compiled.give_back(first);
        Ok(compiled)
    }

    /// A context that nobody uses.
    fn context(&self) -> Result<Library, Box<Diagnostic>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(library) = idle {
            return Ok(library);
        }
        let mut library = Library::load(&self.path, self.interface.clone())?;
        library.set_threads(self.settings.threads);
        if let Some(depth) = self.settings.max_depth {
            library.set_max_depth(depth);
        }
        Ok(library)
    }

    fn give_back(&self, library: Library) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(library);
    }

    fn call(&self, name: &str, args: &[almach_value::Value]) -> Result<almach_value::Value, Box<Diagnostic>> {
        let Some(entry) = self.entries.iter().find(|entry| &*entry.name == name) else {
            return Err(Box::new(compiler_bug(
                Span::NONE,
                "an entry was lost in lowering",
            )));
        };
        let mut library = self.context()?;
        let result = library.call_entry(entry, args);
        self.give_back(library);
        result
    }
}
