//! The strategy program of every example and file test, printed as source, compiles to the same Imp again, is formatted,
//! and gives the same values.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod support;

use almach_base::{Diagnostic, FileId};
use almach_core::Program;
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_driver::back::{self, Machine, Tactics, Without};
use almach_driver::source::{source_of, strategy_of_source};
use almach_imp::canonical::canonical_text;
use almach_syntax::format_file;
use almach_value::print::{Extent, print};
use std::path::Path;
use support::core_of;

/// Compiling is many small trees made and dropped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn imp_text(strategy: &Checked<Program>) -> Option<String> {
    let entries: Vec<_> = strategy.entries.iter().collect();
    let lowered = back::lowered(strategy, &entries).ok()?;
    Some(canonical_text(lowered.imp.program()))
}

/// Where the texts that differ go, for whoever looks into a failure.
fn keep(name: &str, text: &str) {
    if let Ok(folder) = std::env::var("ALMACH_KEEP") {
        std::fs::write(Path::new(&folder).join(name), text).unwrap();
    }
}

/// What is wrong with the source of a program's strategy.
fn wrong(core: Checked<Program>, machine: Machine) -> Option<String> {
    wrong_with(back::strategy(core, machine).unwrap(), machine)
}

fn wrong_with(first: Checked<Program>, machine: Machine) -> Option<String> {
    let source = source_of(&first);
    keep("first.alm", &source);
    match format_file(FileId(0), &source) {
        Ok(formatted) if formatted == source => {}
        Ok(_) => return Some("it is not formatted".to_owned()),
        Err(errors) => return Some(shown(&errors, &source)),
    }
    let second = match strategy_of_source(&source, machine) {
        Ok(second) => second,
        Err(errors) => return Some(shown(&errors, &source)),
    };
    keep("second.alm", &source_of(&second));
    let Some(before) = imp_text(&first) else {
        return other_values(&first, &second);
    };
    let Some(after) = imp_text(&second) else {
        return Some("it cannot be lowered".to_owned());
    };
    keep("first.imp", &before);
    keep("second.imp", &after);
    (before != after).then(|| "another Imp".to_owned())
}

fn shown(errors: &[Diagnostic], source: &str) -> String {
    let error = &errors[0];
    let span = error.primary.span;
    let at = source.get(span.start as usize..span.end as usize).unwrap_or("");
    format!("{:?}: {} at `{at}`", error.code, error.title)
}

/// Whether entries without parameters give other values: for programs that have no Imp yet.
fn other_values(first: &Program, second: &Program) -> Option<String> {
    let machines = [first, second].map(|program| Interpreter::new(program).unwrap());
    for (before, after) in first.entries.iter().zip(&second.entries) {
        if !before.params.is_empty() {
            continue;
        }
        let [before, after] = [(&machines[0], before), (&machines[1], after)].map(|(machine, entry)| {
            match machine.call(&entry.name, Vec::new()) {
                Ok(value) => print(&value, &entry.result, Extent::Full),
                Err(error) => error.message,
            }
        });
        if before != after {
            return Some(format!("{before} became {after}"));
        }
    }
    None
}

/// How many programs of a file are wrong, and how many there are.
fn check(path: &Path) -> (usize, usize) {
    let (mut failures, mut count) = (0, 0);
    let name = almach_corpus::name_of(path);
    let text = std::fs::read_to_string(path).unwrap();
    let Some(core) = core_of(&name, &text) else {
        return (failures, count);
    };
    for machine in [Machine::Sequential, Machine::Threads] {
        count += 1;
        if let Some(wrong) = wrong(core.clone(), machine) {
            eprintln!("{name} ({machine:?}): {wrong}");
            failures += 1;
            break;
        }
    }
    (failures, count)
}

#[test]
fn every_program() {
    let wanted = std::env::var("ALMACH_PROGRAM").unwrap_or_default();
    let mut paths = almach_corpus::programs(&["examples", "tests/programs"]);
    paths.retain(|path| path.to_string_lossy().contains(&wanted));
    let found = almach_corpus::each_file(&paths, check).into_iter();
    let (failures, count) = found.fold((0, 0), |(failures, count), (more, others)| {
        (failures + more, count + others)
    });
    assert_eq!(failures, 0, "of {count}");
    assert!(count > 0 || !wanted.is_empty(), "there are no programs");
}

/// A search that leaves a pass out gives a program, and not a program with a condition on how its source is compiled.
#[test]
fn what_is_found_without_a_pass() {
    let text = "entry main [n] (xs: [n]i64) (k: i64): ([]i64, i64) =
        let remainders = map@E (\\_ -> k * 3 % 7) (reverse@E xs)
        in (remainders, reduce (+) 0 (map (\\x -> x + k * 5) xs))";
    for pass in ["fusion", "horizontal-fusion", "hoisting"] {
        let without = Without::named([pass]).unwrap();
        let core = core_of("main.alm", text).unwrap();
        let rewritten = back::rewritten_without(core, without).unwrap();
        let tactics = Tactics::default();
        let (first, _) = back::chosen_with(rewritten, Machine::Threads, without, &tactics).unwrap();
        assert_eq!(wrong_with(first, Machine::Threads), None, "without {pass}");
    }
}
