//! Every example and file test through every stage: the values of its tests on the Imp interpreter (with race detection)
//! and in C must be those the file says.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod phrases;
#[path = "../../../elaborate/tests/elaborate/support.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod support;

use almach_base::SourceMap;
use almach_core::Program;
use almach_core::check::Checked;
use almach_corpus::{STACK_BYTES, name_of, on_large_stack, programs, root};
use almach_emit::{Export, Options, Target, emit_c};
use almach_imp::interface::{Entry, Slot as SlotKind};
use almach_imp::interp::{RunError, run_entry};
use almach_imp::marshal::{Slot, from_slots};
use almach_lower::lower;
use almach_native::{Argument, Library, Output, Toolchain};
use almach_strategy::{Machine, choose};
use almach_syntax::ast::{Expectation, Test};
use almach_value::{Value, ValueType};
use phrases::run_phrases;
use std::sync::Mutex;
use std::time::Instant;
use support::{Calls, compile};

/// A program with the calls of its tests as entries.
struct Case {
    name: String,
    program: Checked<Program>,
    tests: Vec<Test>,
    sources: SourceMap,
}

/// Programs whose expectations do not hold for other reasons than their lowering.
const EXCEPTIONS: &[&str] = &[
    // Rewrites leave out arrays of which only the length is wanted, and the error of a negative size with them.
    "negative_size_is_an_error",
    // An empty range has a negative size to the types.
    "operators/ranges",
];

/// Programs on more than a hundred thousand elements, or as many calls: they take an interpreter that records every
/// access seconds each.
const LONG: &[&str] = &[
    "strategies/filtered_sums",
    "strategies/all_any_and_extremes",
    "strategies/the_first_failure_is_reported",
    "strategies/dot_at_every_size",
    "strategies/bounding_box",
    "strategies/counts_in_bytes",
    "strategies/rows_of_points_on_lanes",
    "examples/build_tree",
    "devices/histograms",
    "devices/inside",
    "devices/products",
    "jagged/long_rows",
    "jagged/rows_made_by_all_threads",
    "jagged/scan_rows",
    "memory/a_block_that_was_shrunk",
    "recursive_data/lists_in_arrays",
    "recursive_data/recursions_over",
    "jagged/rows_in_their_places",
    "jagged/rows_of_branches_and_moves",
    "devices/recursive_data",
    "filters/lanes_packed",
    "reductions/few_long_rows",
    "scans/chunks_side_by_side",
    "recursion/level_by_level",
    "strategies/functions_compose_in_order",
    "recursive_data/long_lists",
    "recursive_data/long_trees",
    "a_million",
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Short,
    Long,
}

fn kind(case: &Case) -> Kind {
    match LONG.iter().any(|long| case.name.contains(long)) {
        true => Kind::Long,
        false => Kind::Short,
    }
}

fn cases() -> Vec<Case> {
    let wanted = std::env::var("ALMACH_PROGRAM").unwrap_or_default();
    let mut cases = Vec::new();
    for path in programs(&["examples", "tests/programs"]) {
        let name = name_of(&path);
        if !name.contains(&wanted) || EXCEPTIONS.iter().any(|exception| name.contains(exception)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut compiled = compile(&name, &root(), &text, Calls::All);
        if compiled.result.is_err() {
            compiled = compile(&name, &root(), &text, Calls::Succeeding);
        }
        // Functions of C are linked by the tests of the command line.
        if let Ok(program) = compiled.result
            && program.foreign.is_empty()
        {
            let mut log = almach_rewrite::Log::default();
            let program = almach_rewrite::run(program, almach_rewrite::pipelines::STANDARD, &mut log)
                .unwrap_or_else(|failure| panic!("{name}: {}", failure.diagnostic.title));
            cases.push(Case {
                name,
                program,
                tests: compiled.tests,
                sources: compiled.sources,
            });
        }
    }
    cases
}

/// What is wrong with an outcome; none where it is as the test says.
fn wrong(test: &Test, ty: &ValueType, outcome: &Result<Value, String>) -> Option<String> {
    match (&test.expected, outcome) {
        (Expectation::Equals(text) | Expectation::Near(text), Ok(found)) => {
            let expected = match almach_value::parse::parse(text, ty) {
                Ok(expected) => expected,
                Err(error) => return Some(format!("cannot read the expectation: {error:?}")),
            };
            let agree = match &test.expected {
                Expectation::Equals(_) => almach_value::same(&expected, found),
                _ => almach_value::approximately_equal(&expected, found, 1e-5),
            };
            (!agree).then(|| {
                let found = almach_value::print::print(found, ty, almach_value::print::Extent::Full);
                format!("expected {text}, found {found}")
            })
        }
        (Expectation::Fails(text), Err(error)) => (!error.contains(text.as_str()))
            .then(|| format!("expected an error with {text:?}, found {error}")),
        (Expectation::Missing, _) => None,
        (_, Err(error)) => Some(error.clone()),
        (Expectation::Fails(text), Ok(_)) => Some(format!("expected an error with {text:?}, found a value")),
    }
}

fn message(error: &RunError) -> String {
    match error {
        RunError::Failed { site, arguments } => {
            let arguments: Vec<String> = arguments
                .iter()
                .map(|argument| {
                    argument
                        .as_integer()
                        .map_or(String::new(), |value| value.to_string())
                })
                .collect();
            site.message(&arguments)
        }
        other => format!("Imp: {other}"),
    }
}

/// What came of a corpus.
#[derive(Default)]
struct Report {
    ran: usize,
    refused: Vec<String>,
    failures: Vec<String>,
}

impl Report {
    fn finish(self, least: usize) {
        println!("{} tests ran, {} refused", self.ran, self.refused.len());
        if std::env::var("ALMACH_REFUSED").is_ok() {
            for line in &self.refused {
                println!("refused: {line}");
            }
        }
        assert!(
            self.failures.is_empty(),
            "{} fail\n{}",
            self.failures.len(),
            self.failures.join("\n")
        );
        if std::env::var("ALMACH_PROGRAM").is_err() {
            assert!(self.ran >= least, "only {} tests could be compiled", self.ran);
        }
    }
}

fn phrase_message(error: &almach_dpia::interp::RunError) -> String {
    match error {
        almach_dpia::interp::RunError::Failed { site, arguments } => {
            let site = almach_imp::Site {
                code: site.code,
                span: site.span,
                text: site.text.clone(),
            };
            message(&RunError::Failed {
                site,
                arguments: arguments.clone(),
            })
        }
        other => format!("Dpia: {other}"),
    }
}

/// Programs that take the store-based interpreter too long.
const SLOW_ON_PHRASES: &[&str] = &[
    "too_large_is_an_error",
    "monte_carlo_pi",
    "collatz",
    "sorting/any_size",
    "sorting/large",
    "a_million",
    "ackermann",
    "collectives/",
    "examples/quicksort",
    "recursive_data/long_lists",
    "recursive_data/long_trees",
];

#[test]
fn programs_agree_on_the_interpreters() {
    agree_on_the_interpreters(Kind::Short, 600);
}

#[test]
#[ignore = "takes minutes; part of scripts/test --full"]
fn long_programs_agree_on_the_interpreters() {
    agree_on_the_interpreters(Kind::Long, 30);
}

fn agree_on_the_interpreters(wanted: Kind, least: usize) {
    let cases = Mutex::new(cases().into_iter().filter(|case| kind(case) == wanted));
    let next = || cases.lock().unwrap().next();
    let reports = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..std::thread::available_parallelism().map_or(2, Into::into))
            .map(|_| {
                let worker = std::thread::Builder::new().stack_size(STACK_BYTES);
                let work = || {
                    std::iter::from_fn(next)
                        .map(on_the_interpreters)
                        .collect::<Vec<_>>()
                };
                worker.spawn_scoped(scope, work).unwrap()
            })
            .collect();
        let reports = workers.into_iter().map(|worker| worker.join().unwrap());
        reports.flatten().collect::<Vec<Report>>()
    });
    let mut all = Report::default();
    for report in reports {
        all.ran += report.ran;
        all.refused.extend(report.refused);
        all.failures.extend(report.failures);
    }
    all.finish(least);
}

/// Runs every call of a program on the Imp interpreter and on those of both Dpia stages.
fn on_the_interpreters(case: Case) -> Report {
    let verbose = std::env::var("ALMACH_VERBOSE").is_ok();
    let started = Instant::now();
    let mut report = Report::default();
    let program = choose(case.program.into_inner(), Machine::Threads)
        .unwrap()
        .program;
    for (at, test) in case.tests.iter().enumerate() {
        let lowered = match lower(&program, &[&format!("test_{at}")]) {
            Ok(lowered) => lowered,
            Err(errors) => {
                let line = format!("{} {}: {}", case.name, test.call, errors[0].title);
                match errors[0].code == almach_base::codes::bugs::COMPILER_BUG {
                    true => report.failures.push(line),
                    false => report.refused.push(line),
                }
                continue;
            }
        };
        report.ran += 1;
        let entry = &lowered.entries[0];
        let on_imp = run_entry(&lowered.imp, entry, &[]).map_err(|error| message(&error));
        let mut outcomes = vec![("Imp", on_imp)];
        if !SLOW_ON_PHRASES.iter().any(|slow| case.name.contains(slow)) {
            for (stage, phrases) in [("stage I", &lowered.dpia), ("stage II", &lowered.loops)] {
                match run_phrases(phrases, entry) {
                    Err(almach_dpia::interp::RunError::TooDeep) => {}
                    outcome => outcomes.push((stage, outcome.map_err(|error| phrase_message(&error)))),
                }
            }
        }
        for (stage, outcome) in outcomes {
            if let Some(problem) = wrong(test, &entry.result_type, &outcome) {
                let line = format!("{} {stage} `{}`: {problem}", case.name, test.call);
                report.failures.push(line);
            }
        }
    }
    if verbose {
        eprintln!("{:?} {}", started.elapsed(), case.name);
    }
    report
}

/// Emitted code must compile without a word under these. (Less optimisation than usual keeps tests quick.)
const FLAGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

fn run_native(target: Target, machine: Machine, least: usize) {
    on_large_stack(move || {
        let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/programs");
        let toolchain = Toolchain::find().unwrap().with_flags(FLAGS).with_cache(folder);
        let mut report = Report::default();
        for case in cases() {
            let program = choose(case.program.into_inner(), machine).unwrap().program;
            let names: Vec<String> = (0..case.tests.len()).map(|at| format!("test_{at}")).collect();
            let lowerable: Vec<&str> = names
                .iter()
                .map(String::as_str)
                .filter(|name| lower(&program, &[name]).is_ok())
                .collect();
            report
                .refused
                .extend((lowerable.len()..names.len()).map(|_| case.name.clone()));
            if lowerable.is_empty() {
                continue;
            }
            let lowered = lower(&program, &lowerable).unwrap();
            let exports = lowered
                .entries
                .iter()
                .map(|entry| Export::new(entry.proc.clone()))
                .collect();
            let options = Options {
                name: "program".into(),
                target,
                exports,
                foreign: Vec::new(),
                accounting: Default::default(),
                kernel_code: almach_emit::KernelCode::default(),
            };
            let emitted = emit_c(&lowered.imp, &case.sources, &options).unwrap();
            let mut library = match toolchain.library(&emitted, target, &[]) {
                Ok(compiled) => Library::load(&compiled.path, emitted.interface.clone()).unwrap(),
                Err(error) => {
                    report.failures.push(format!(
                        "{}: {} {}",
                        case.name,
                        error.title,
                        error.notes.join("\n")
                    ));
                    continue;
                }
            };
            for entry in &lowered.entries {
                let at: usize = entry.name.strip_prefix("test_").unwrap().parse().unwrap();
                let test = &case.tests[at];
                report.ran += 1;
                let outcome = call(&mut library, entry);
                if let Some(problem) = wrong(test, &entry.result_type, &outcome) {
                    report
                        .failures
                        .push(format!("{} `{}`: {problem}", case.name, test.call));
                }
            }
        }
        report.finish(least);
    });
}

/// Calls an entry without parameters.
fn call(library: &mut Library, entry: &Entry) -> Result<Value, String> {
    let kinds: Vec<SlotKind> = entry.results.iter().flat_map(|shape| shape.slots()).collect();
    let arguments = kinds.iter().map(|kind| match kind {
        SlotKind::Scalar(_) | SlotKind::Size => Argument::Out,
        SlotKind::Buffer(_) => Argument::Owned,
    });
    let outputs = library
        .call(&entry.proc, arguments.collect())
        .map_err(|error| error.title.clone())?;
    let slots = kinds
        .iter()
        .zip(outputs)
        .map(|(kind, output)| match (kind, output) {
            (SlotKind::Size, Output::Scalar(scalar)) => Slot::Size(scalar.as_integer().unwrap() as i64),
            (_, Output::Scalar(scalar)) => Slot::Scalar(scalar),
            (_, Output::Buffer(buffer)) => Slot::Buffer(buffer),
        });
    let mut slots = slots.collect::<Vec<_>>().into_iter();
    let values = entry
        .results
        .iter()
        .map(|shape| from_slots(shape, &mut slots).unwrap());
    let mut values: Vec<Value> = values.collect();
    Ok(match values.len() {
        1 => values.swap_remove(0),
        _ => Value::tuple(values),
    })
}

#[test]
#[ignore = "takes a minute or two of the C compiler; the file tests run the same programs"]
fn programs_agree_in_c() {
    run_native(Target::C, Machine::Sequential, 600);
}

#[test]
#[ignore = "takes a minute or two of the C compiler; the file tests run the same programs"]
fn programs_agree_in_openmp() {
    run_native(Target::OpenMp, Machine::Threads, 600);
}
