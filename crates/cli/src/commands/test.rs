//! `almach test`: the `-- >` lines of files.

use crate::failure::Outcome;
use crate::files;
use crate::links;
use crate::machine::{Machine, RunSettings, runnable};
use crate::options::{Backend, TestOptions};
use crate::program::{self, Program};
use crate::terminal::{self, Style};
use crate::times::Times;
use almach_base::codes::bugs::COMPILER_BUG;
use almach_base::codes::cli as codes;
use almach_base::codes::concreteness::NOT_COMPILED_YET;
use almach_base::{Diagnostic, Name, SourceMap, compiler_bug, render};
use almach_core::check::{Checked, check};
use almach_core::{Entry, Program as Core};
use almach_driver::tests::{OutsideCall, TestCall, calls};
use almach_driver::{Loaded, front};
use almach_syntax::ast::Expectation;
use almach_value::{Extent, Value, approximately_equal, parse, print, same};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    /// The back end does not have what they need.
    skipped: usize,
    /// Files that are no programs.
    wrong: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.wrong += other.wrong;
    }
}

pub fn run(options: &TestOptions, style: Style) -> Outcome {
    let paths = match files::sources(&options.paths) {
        Ok(paths) => paths,
        Err(diagnostic) => {
            terminal::report(&[diagnostic], &SourceMap::new(), style);
            return Outcome::WrongUse;
        }
    };
    let tally = all(&paths, options, style);
    let skipped = if tally.skipped > 0 {
        format!(", {} skipped", tally.skipped)
    } else {
        String::new()
    };
    terminal::say(&format!(
        "{} passed, {} failed{skipped}",
        tally.passed, tally.failed
    ));
    match tally {
        Tally { wrong: 1.., .. } => Outcome::WrongUse,
        Tally { failed: 1.., .. } => Outcome::ProgramFailed,
        Tally { .. } => Outcome::Done,
    }
}

/// The files one after another, or several at a time where each has the processor to itself. (A device is one, and
/// OpenMP takes all processors for each.)
fn all(paths: &[PathBuf], options: &TestOptions, style: Style) -> Tally {
    let workers = match options.backend {
        Backend::Interp | Backend::C => std::thread::available_parallelism().map_or(1, Into::into),
        Backend::Openmp | Backend::Opencl | Backend::Cuda => 1,
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tally = Tally::default();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            linked_file(path, options, style, &mut tally);
        }
        tally
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers.min(paths.len()))
            .map_while(|_| {
                let worker = std::thread::Builder::new().stack_size(crate::STACK_BYTES);
                worker.spawn_scoped(scope, work).ok()
            })
            .collect();
        let mut tally = work();
        for other in others {
            match other.join() {
                Ok(theirs) => tally.add(&theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        tally
    })
}

fn linked_file(path: &Path, options: &TestOptions, style: Style, tally: &mut Tally) {
    match links::all(path, &options.link) {
        Ok(links) => {
            let settings = RunSettings {
                backend: Some(options.backend),
                device: options.device.clone(),
                links,
                without: options.passes.without(),
                ..RunSettings::default()
            };
            file(path, &settings, style, tally);
        }
        Err(diagnostic) => {
            terminal::report(&[diagnostic], &SourceMap::new(), style);
            tally.wrong += 1;
        }
    }
}

/// All tests of a file are checked and elaborated together; where that fails, the file is checked alone, and then
/// every test with it, so that one wrong call does not hide the others.
fn file(path: &Path, settings: &RunSettings, style: Style, tally: &mut Tally) {
    let Ok(loaded) = program::read(path, style) else {
        tally.wrong += 1;
        return;
    };
    let tests = calls(&loaded);
    let together = front(loaded.clone(), tests.iter().map(TestCall::extra).collect());
    let syntax_errors = tests.iter().any(|test| !test.diagnostics.is_empty());
    if !syntax_errors
        && !together.has_errors()
        && let Ok(core) = together.core()
    {
        let suite = Suite::new(Program::Source(together), core, &tests, settings, style);
        tests.iter().for_each(|test| suite.one(test, tally));
        return;
    }
    match Program::check(loaded.clone(), Vec::new(), style).and_then(|program| program.core(style).map(drop))
    {
        Ok(()) => tests
            .iter()
            .for_each(|test| alone(&loaded, test, settings, style, tally)),
        Err(_) => tally.wrong += 1,
    }
}

/// A test whose file is right while some call is not.
fn alone(loaded: &Loaded, test: &TestCall, settings: &RunSettings, style: Style, tally: &mut Tally) {
    let front = front(loaded.clone(), vec![test.extra()]);
    let mut problems = test.diagnostics.clone();
    problems.extend(front.diagnostics.iter().filter(|one| one.is_error()).cloned());
    let core = if problems.is_empty() {
        front
            .core()
            .map_err(|diagnostics| problems.extend(diagnostics))
            .ok()
    } else {
        None
    };
    if let Some(core) = core {
        let tests = std::slice::from_ref(test);
        return Suite::new(Program::Source(front), core, tests, settings, style).one(test, tally);
    }
    let text = render::to_text(&problems, &front.sources, render::Style::Plain);
    match &test.test.expected {
        Expectation::Fails(expected) if !is_bug(&problems) && text.contains(expected.as_str()) => {
            tally.passed += 1;
        }
        _ => {
            tally.failed += 1;
            terminal::report(&problems, &front.sources, style);
        }
    }
}

/// A program whose tests can be run.
struct Suite {
    program: Program,
    core: Checked<Core>,
    /// Tests that call an entry point with values, by name.
    from_outside: HashMap<Name, OutsideCall>,
    /// The entries that the back end can run.
    entries: Vec<Name>,
    machine: Result<Machine, Diagnostic>,
    style: Style,
}

impl Suite {
    fn new(
        program: Program,
        core: Checked<Core>,
        tests: &[TestCall],
        settings: &RunSettings,
        style: Style,
    ) -> Suite {
        let from_outside: HashMap<Name, OutsideCall> = tests
            .iter()
            .filter_map(|test| Some((test.entry.clone(), test.from_outside(&core.entries)?)))
            .collect();
        let (entries, machine) = match without(&core, &from_outside) {
            Ok(core) => compiled(&program, &core, settings),
            Err(bug) => (
                core.entries.iter().map(|entry| entry.name.clone()).collect(),
                Err(bug),
            ),
        };
        Suite {
            program,
            core,
            from_outside,
            entries,
            machine,
            style,
        }
    }

    fn one(&self, test: &TestCall, tally: &mut Tally) {
        if !self.entries.contains(self.called(test)) {
            tally.skipped += 1;
            return;
        }
        match self.problem(test) {
            None => tally.passed += 1,
            Some(problem) => {
                tally.failed += 1;
                self.program.report(&[problem], self.style);
            }
        }
    }

    /// The entry point that a test calls.
    fn called<'a>(&'a self, test: &'a TestCall) -> &'a Name {
        self.from_outside
            .get(&test.entry)
            .map_or(&test.entry, |call| &call.entry)
    }

    /// What is wrong with a test, if anything.
    fn problem(&self, test: &TestCall) -> Option<Diagnostic> {
        let name = self.called(test);
        let args = self.from_outside.get(&test.entry).map(|call| call.args.clone());
        let entry = self.core.entries.iter().find(|entry| entry.name == *name);
        match (&self.machine, entry) {
            (Ok(machine), Some(entry)) => {
                self.judge(entry, test, machine.call(name, args.unwrap_or_default()))
            }
            (Err(error), _) => Some(error.clone()),
            (_, None) => Some(compiler_bug(test.test.call_span, "a test has no entry point")),
        }
    }

    fn judge(&self, entry: &Entry, test: &TestCall, result: Result<Value, Diagnostic>) -> Option<Diagnostic> {
        match (&test.test.expected, result) {
            (Expectation::Missing, _) => Some(
                failed(test, "a test without an expectation")
                    .help("the next comment says what the call gives: `= value`, `~ value` or `! error`"),
            ),
            (Expectation::Fails(expected), Err(error)) => self.compare_errors(test, expected, error),
            (Expectation::Fails(_), Ok(value)) => Some(
                failed(test, "the call does not fail")
                    .label(format!("gives {}", print(&value, &entry.result, Extent::Full)))
                    .also(test.test.expected_span, "expected an error"),
            ),
            (Expectation::Equals(_) | Expectation::Near(_), Err(error)) => Some(error),
            (Expectation::Equals(text), Ok(value)) => compare(entry, test, text, &value, same),
            (Expectation::Near(text), Ok(value)) => compare(entry, test, text, &value, near),
        }
    }

    fn compare_errors(&self, test: &TestCall, expected: &str, error: Diagnostic) -> Option<Diagnostic> {
        let text = render::to_text(
            std::slice::from_ref(&error),
            self.program.sources(),
            render::Style::Plain,
        );
        let is_other = is_bug(std::slice::from_ref(&error)) || !text.contains(expected);
        is_other.then(|| {
            failed(test, "the call fails with another error")
                .also(test.test.expected_span, "expected an error with this text")
                .note(format!("the error is: {}", error.title))
        })
    }
}

/// A bug of the compiler is never what a test asks for, whatever its text says.
fn is_bug(problems: &[Diagnostic]) -> bool {
    problems.iter().any(|problem| problem.code == COMPILER_BUG)
}

/// A program without the entry points of tests that need none.
fn without(
    core: &Checked<Core>,
    from_outside: &HashMap<Name, OutsideCall>,
) -> Result<Checked<Core>, Diagnostic> {
    let entries = core.entries.iter();
    let program = Core {
        entries: entries
            .filter(|entry| !from_outside.contains_key(&entry.name))
            .cloned()
            .collect(),
        ..(**core).clone()
    };
    check(program, "tests").map_err(|failure| failure.diagnostic)
}

/// A program as the back end runs it. Where that does not have what some entry points need, without those.
fn compiled(
    program: &Program,
    core: &Checked<Core>,
    settings: &RunSettings,
) -> (Vec<Name>, Result<Machine, Diagnostic>) {
    let names = |entries: &[&Entry]| entries.iter().map(|entry| entry.name.clone()).collect();
    let machine =
        |entries: &[&Entry]| Machine::new(program, core, entries, settings.clone(), &mut Times::new());
    let all: Vec<&Entry> = core.entries.iter().collect();
    match machine(&all) {
        Err(problem) if problem.code == NOT_COMPILED_YET => match runnable(core, all.clone(), settings) {
            Ok(some) => (names(&some), machine(&some)),
            Err(problem) => (names(&all), Err(problem)),
        },
        done => (names(&all), done),
    }
}

fn failed(test: &TestCall, title: &str) -> Diagnostic {
    Diagnostic::error(codes::TEST_FAILED, test.test.call_span, title)
}

/// What `-- ~` accepts, relative to the larger magnitude.
const TOLERANCE: f64 = 1e-5;

fn near(left: &Value, right: &Value) -> bool {
    approximately_equal(left, right, TOLERANCE)
}

fn compare(
    entry: &Entry,
    test: &TestCall,
    expected: &str,
    value: &Value,
    agree: impl Fn(&Value, &Value) -> bool,
) -> Option<Diagnostic> {
    match parse(expected, &entry.result) {
        Ok(wanted) if agree(&wanted, value) => None,
        Ok(_) => Some(
            failed(test, "the call gives another value")
                .label(format!("gives {}", print(value, &entry.result, Extent::Full)))
                .also(test.test.expected_span, "expected this"),
        ),
        Err(error) => Some(
            failed(test, "the expected value does not have the type of the call")
                .label(format!("gives {}", print(value, &entry.result, Extent::Full)))
                .also(test.test.expected_span, error.to_string()),
        ),
    }
}
