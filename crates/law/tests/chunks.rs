//! The parallel mechanisms with chunks of every small size, on every interpreter, Imp's with its race detector: many chunks
//! need no large arrays here. And native code with the usual chunks, on several numbers of threads.

#![allow(clippy::unwrap_used)]

use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_dpia::interp::RunError as DpiaError;
use almach_driver::back::{Machine, Target, c_source, placed, strategy};
use almach_driver::{NoFiles, front, load};
use almach_imp::Site;
use almach_imp::interp::{RunError, run_entry};
use almach_law::dpia;
use almach_lower::lower;
use almach_native::{Library, Toolchain};
use almach_value::{Value, same};

const PROGRAM: &str = r#"
def compose (f: (i32, i32)) (g: (i32, i32)): (i32, i32) = (f.0 * g.0, f.1 * g.0 + g.1)

def rows (n: i64): [n][?]i64 = map@seq (\i -> map@seq (\j -> i + j) (iota (i * 5 % 7))) (iota n)
def pairs_of (n: i64): [n][?](i32, i32) = map@seq (\i -> map@seq (\j -> (i32 (i + j) - 3, i32 j)) (iota (i * 3 % 5))) (iota n)
def among_empty (n: i64): [n][?]i64 = map@seq (\i -> iota (if i == n / 2 then n else 0)) (iota n)

entry sums (n: i64): []i64 = scan@par (+) 3 (map@seq (\i -> i * i) (iota n))
entry exclusive (n: i64): []i64 = scan_exclusive@par (+) 3 (iota n)
entry composed (n: i64): [](i32, i32) = scan@par compose (1, 5) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n))
entry composed_exclusive (n: i64): [](i32, i32) =
  scan_exclusive@par compose (2, 5) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n))
entry longest (n: i64): []i64 = scan@par (\a b -> if a > b then a else b) (-9) (map@seq (\i -> i * 7 % 11) (iota n))
entry summed (n: i64): i64 = reduce@par (+) 3 (map@seq (\i -> i * i) (iota n))
entry viewed (n: i64): i64 = reduce_comm@par max (-9) (map@S (\i -> i * 7 % 11) (iota n))
entry composed_all (n: i64): (i32, i32) = reduce@par compose (1, 5) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n))
entry kept (n: i64): []i64 = filter@par (\x -> x * 7 % 11 < 6) (iota n)
entry all_of (n: i64): []i64 = filter@par (\x -> x >= 0) (iota n)
entry none_of (n: i64): []i64 = filter@par (\x -> x < 0) (iota n)
entry pairs (n: i64): [](i64, f32) = filter@par (\(x, y) -> x % 3 != 1 && y < 12) (map@seq (\i -> (i, f32 i)) (iota n))
entry parted (n: i64): ([]i64, []i64) = partition@par (\x -> x * 7 % 11 < 6) (iota n)
entry asked (n: i64): []i64 =
  filter@par (\x -> assert x % 7 != 5 || x < 9, "asked too much" in x % 2 == 0) (iota n)
entry scattered (n: i64): []i64 = scatter@par (replicate 9 (-1)) (map@seq (\i -> i * 2 - 3) (iota n)) (iota n)
entry equal (n: i64): [](i64, bool) =
  scatter@par (replicate 5 (-1, true)) (map@seq (\i -> i % 7 - 1) (iota n)) (map@seq (\i -> (i % 7, i % 7 == 2)) (iota n))
entry conflict (n: i64): []i64 = scatter@par (replicate 9 (-1)) (map@seq (\i -> 12 - i * 5 % 13) (iota n)) (map@seq (\i -> i % 4) (iota n))
entry permuted (n: i64): []i64 = permute@par (map@seq (\i -> i * 4 % n) (iota n)) (iota n)
entry counted (n: i64): []i64 = reduce_by_index@par (replicate 4 10) (+) 0 (map@seq (\i -> i * i % 6) (iota n)) (iota n)
entry counted_f32 (n: i64): []f32 =
  reduce_by_index@par (replicate 2 0.5f32) (+) 0 (map@seq (\i -> i % 3) (iota n)) (map@seq (\i -> f32 i) (iota n))
entry binned (n: i64): [](i32, i32) =
  reduce_by_index@par (replicate 3 (1, 1)) compose (1, 0) (map@seq (\i -> i * i % 5) (iota n)) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n))
entry mapped_sums (n: i64): []f32 = map@par (\s -> f32 s / 2) (scan@par@S (+) 3 (map@seq (\i -> i * i) (iota n)))
entry mapped_exclusive (n: i64): [](i64, i64) =
  map@par (\i s -> (s, i * s)) (iota n) (scan_exclusive@par@S (+) 3 (iota n))
entry mapped_composed (n: i64): []i64 =
  map@par (\p -> i64 (p.0 - p.1)) (scan@par@S compose (1, 5) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n)))
entry mapped_kept (n: i64): []f32 = map@par (\x -> f32 x * 0.5) (filter@par@S (\x -> x * 7 % 11 < 6) (iota n))
entry mapped_pairs (n: i64): [](bool, i64) =
  map@par (\(x, y) -> (y < 4, x + 1)) (filter@par@S (\(x, y) -> x % 3 != 1 && y < 12) (map@seq (\i -> (i, f32 i)) (iota n)))
entry row_sums (n: i64): [][?]i64 = scan_rows@par (+) 3 (rows n)
entry row_sums_exclusive (n: i64): [][?]i64 = scan_rows_exclusive@par (+) 3 (rows n)
entry rows_composed (n: i64): [][?](i32, i32) = scan_rows@par compose (1, 5) (pairs_of n)
entry rows_composed_exclusive (n: i64): [][?](i32, i32) = scan_rows_exclusive@par compose (2, 5) (pairs_of n)
entry long_row (n: i64): [][?]i64 = scan_rows@par (+) 3 (among_empty n)
entry rows_turned (n: i64): [][?]i64 = scan_rows@par (+) 3 (reverse (rows n))
entry nested (n: i64): [][]i64 = map@par (\i -> scan@seq (+) i (iota 5)) (iota n)
"#;

/// The program with these chunks written on all its operations at level `par` that take one.
fn in_chunks(text: &str, elements: u32, parts: u32) -> String {
    let mut text = text.to_owned();
    for (name, chunk) in [
        ("reduce", elements),
        ("reduce_comm", elements),
        ("scan", elements),
        ("scan_exclusive", elements),
        ("scan_rows", elements),
        ("scan_rows_exclusive", elements),
        ("filter", elements),
        ("partition", elements),
        ("reduce_by_index", parts),
    ] {
        for effect in ["", "@S"] {
            let (from, to) = (
                format!("{name}@par{effect} "),
                format!("{name}@par@{chunk}{effect} "),
            );
            text = text.replace(&format!(" {from}"), &format!(" {to}"));
            text = text.replace(&format!("({from}"), &format!("({to}"));
        }
    }
    text
}

fn core(text: &str) -> Checked<Core> {
    let front = front(load("chunks.alm", text, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    front.core().unwrap()
}

fn outcome(found: Result<Value, RunError>) -> Result<Value, String> {
    found.map_err(|error| match error {
        RunError::Failed { site, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(|value| value.to_string()).collect();
            site.message(&arguments)
        }
        broken => panic!("{broken}"),
    })
}

fn agree(expected: &Result<Value, String>, found: &Result<Value, String>) -> bool {
    match (expected, found) {
        (Ok(expected), Ok(found)) => same(expected, found),
        (Err(expected), Err(found)) => expected == found,
        _ => false,
    }
}

#[test]
fn chunks_of_every_size_give_the_same() {
    let in_order = core(PROGRAM);
    let interpreter = Interpreter::new(&in_order).unwrap();
    let mut failures = 0;
    for (elements, parts) in [(1, 1), (2, 3), (3, 2), (7, 4), (4096, 16)] {
        let text = in_chunks(PROGRAM, elements, parts);
        let strategy = strategy(core(&text), Machine::Threads).unwrap();
        let names: Vec<&str> = strategy.entries.iter().map(|entry| &*entry.name).collect();
        let lowered = lower(&strategy, &names).unwrap();
        for entry in &lowered.entries {
            for n in [0, 1, 2, 3, 4, 6, 7, 8, 13, 21] {
                let what = format!("{} {n} in chunks of {elements}", entry.name);
                let arguments = vec![Value::from(n as i64)];
                let expected = interpreter.call(&entry.name, arguments.clone());
                let expected = expected.map_err(|error| error.message);
                failures += usize::from(expected.is_err());
                let found = outcome(run_entry(&lowered.imp, entry, &arguments));
                assert!(agree(&expected, &found), "{what}: {found:?}, not {expected:?}");
            }
        }
    }
    assert!(failures > 20, "{failures}");
}

/// Filters and partitions by groups, before and after kernels are made of them: chunks that are no multiple of the work-items too.
#[test]
fn groups_keep_what_a_loop_keeps() {
    let text = PROGRAM
        .replace("filter@par", "filter@group")
        .replace("partition@par", "partition@group");
    let in_order = core(PROGRAM);
    let interpreter = Interpreter::new(&in_order).unwrap();
    let filters = [
        "kept",
        "all_of",
        "none_of",
        "pairs",
        "parted",
        "asked",
        "mapped_kept",
        "mapped_pairs",
    ];
    for elements in [3, 256, 300] {
        let mut text = text.clone();
        for name in ["filter@group", "partition@group"] {
            text = text.replace(name, &format!("{name}@{elements}"));
        }
        let strategy = strategy(core(&text), Machine::Device).unwrap();
        let lowered = lower(&strategy, &filters).unwrap();
        let placed = placed(&lowered, Target::OpenCl, "").unwrap();
        for entry in &lowered.entries {
            for n in [0, 5, 301] {
                let arguments = vec![Value::from(n as i64)];
                let expected = interpreter.call(&entry.name, arguments.clone());
                let expected = expected.map_err(|error| error.message);
                for (stage, imp) in [("imp", &lowered.imp), ("kernels", &placed.imp)] {
                    let found = outcome(run_entry(imp, entry, &arguments));
                    let what = format!("{} {n} in chunks of {elements}, {stage}", entry.name);
                    assert!(agree(&expected, &found), "{what}: {found:?}, not {expected:?}");
                }
            }
        }
    }
}

/// Operators that are not associative at all tell every grouping apart: each stage has the one that is written.
#[test]
fn every_stage_has_the_grouping_that_is_written() {
    for level in ["par", "seq"] {
        for (elements, parts) in [(1, 1), (2, 3), (3, 2), (7, 4)] {
            let text = in_chunks(GROUPINGS, elements, parts).replace("@par", &format!("@{level}"));
            let strategy = strategy(core(&text), Machine::Threads).unwrap();
            let interpreter = Interpreter::new(&strategy).unwrap();
            let names: Vec<&str> = strategy.entries.iter().map(|entry| &*entry.name).collect();
            let lowered = lower(&strategy, &names).unwrap();
            for (entry, border) in lowered.entries.iter().zip(&lowered.border) {
                for n in [0, 1, 2, 3, 4, 6, 7, 8, 13, 21, 40] {
                    let arguments = vec![Value::from(n as i64)];
                    let expected = interpreter.call(&entry.name, arguments.clone());
                    let expected = expected.map_err(|error| error.message);
                    let same_as = |stage: &str, found: Result<Value, String>| {
                        let what = format!("{} {n} in chunks of {elements} at {level}, {stage}", entry.name);
                        assert!(agree(&expected, &found), "{what}: {found:?}, not {expected:?}");
                    };
                    for (stage, program) in [("dpia", &lowered.dpia), ("loops", &lowered.loops)] {
                        let found =
                            dpia::run_entry(program, &border.function, &border.proc, entry, &arguments);
                        let found = found.unwrap().map_err(|error| match error {
                            DpiaError::Failed { site, arguments } => {
                                let site = Site {
                                    code: site.code,
                                    span: site.span,
                                    text: site.text,
                                };
                                let texts: Vec<String> =
                                    arguments.iter().map(|value| value.to_string()).collect();
                                site.message(&texts)
                            }
                            broken => panic!("{broken}"),
                        });
                        same_as(stage, found);
                    }
                    same_as("imp", outcome(run_entry(&lowered.imp, entry, &arguments)));
                }
            }
        }
    }
}

const GROUPINGS: &str = r#"
def mix (a: i64) (b: i64): i64 = a * 3 + b + 1
def mix_pair (a: (i32, f32)) (b: (i32, f32)): (i32, f32) = (a.0 * 5 - b.0, a.1 * 0.5 + b.1 / 3)
def part (a: i64) (b: i64): i64 = assert a != 40, "forty" in a * 3 + b

def rows_of (n: i64): [n][?]i64 = map@seq (\i -> map@seq (\j -> i + j) (iota (i * 5 % 7))) (iota n)
def pairs_in_rows (n: i64): [n][?](i32, f32) = map@seq (\i -> map@seq (\j -> (i32 (i + j) - 3, f32 j)) (iota (i * 3 % 11))) (iota n)

entry in_rows (n: i64): []i64 = flatten (scan_rows@par mix 3 (rows_of n))
entry in_rows_exclusive (n: i64): []i64 = flatten (scan_rows_exclusive@par mix 3 (rows_of n))
entry in_rows_of_pairs (n: i64): [](i32, f32) = flatten (scan_rows@par mix_pair (1, 0.5) (pairs_in_rows n))
entry in_rows_of_pairs_exclusive (n: i64): [](i32, f32) = flatten (scan_rows_exclusive@par mix_pair (1, 0.5) (pairs_in_rows n))
entry in_rows_fails (n: i64): []i64 = flatten (scan_rows@par part 1 (map@seq (\row -> map@seq (\i -> i % 5) row) (rows_of n)))
entry in_one_row (n: i64): []i64 =
  flatten (scan_rows@par mix 3 (map@seq (\i -> iota (if i == n / 2 then n else 0)) (iota n)))
entry total (n: i64): i64 = reduce@par mix 3 (iota n)
entry total_of_pairs (n: i64): (i32, f32) = reduce@par mix_pair (1, 0.5) (map@S (\i -> (i32 i - 3, f32 i)) (iota n))
entry total_of_rows (n: i64): [2]i64 = reduce@par (\a b -> map@seq mix a b) [1, 2] (map@seq (\i -> [i, i * i]) (iota n))
entry total_fails (n: i64): i64 = reduce@par part 1 (map@seq (\i -> i % 5) (iota n))
entry sums (n: i64): []i64 = scan@par mix 3 (iota n)
entry exclusive (n: i64): []i64 = scan_exclusive@par mix 3 (iota n)
entry mapped (n: i64): []f64 = map@par (\s -> f64 s / 3) (scan@par@S mix 3 (iota n))
entry mapped_exclusive (n: i64): [](i64, i64) = map@par (\i s -> (s, i - s)) (iota n) (scan_exclusive@par@S mix 3 (iota n))
entry mapped_pairs (n: i64): []f32 =
  map@par (\p -> p.1 - f32 p.0) (scan@par@S mix_pair (1, 0.5) (map@seq (\i -> (i32 i - 3, f32 i)) (iota n)))
entry mapped_kept (n: i64): []i32 = map@par (\i -> i32 i - 7) (filter@par@S (\i -> mix i 2 % 5 < 3) (iota n))
entry pairs (n: i64): [](i32, f32) = scan@par mix_pair (1, 0.5) (map@seq (\i -> (i32 i - 3, f32 i)) (iota n))
entry pairs_exclusive (n: i64): [](i32, f32) =
  scan_exclusive@par mix_pair (2, 5) (map@seq (\i -> (i32 i - 3, f32 i)) (iota n))
entry rows (n: i64): [][2]i64 = scan@par (\a b -> map@seq mix a b) [1, 2] (map@seq (\i -> [i, i * i]) (iota n))
entry fails (n: i64): []i64 = scan@par part 1 (map@seq (\i -> i % 5) (iota n))
entry bins (n: i64): []i64 = reduce_by_index@par (replicate 3 10) mix 0 (map@seq (\i -> i * i % 5) (iota n)) (iota n)
entry bins_pairs (n: i64): [](i32, f32) =
  reduce_by_index@par (replicate 2 (1, 1)) mix_pair (1, 0) (map@seq (\i -> i * i % 3) (iota n)) (map@seq (\i -> (i32 i - 3, f32 i)) (iota n))
entry bins_rows (n: i64): [][2]i64 =
  reduce_by_index@par (replicate 2 [0, 1]) (\a b -> map@seq mix a b) [0, 0] (map@seq (\i -> i % 3) (iota n)) (map@seq (\i -> [i, i * i]) (iota n))
entry bins_fail (n: i64): []i64 = reduce_by_index@par (replicate 3 10) part 0 (map@seq (\i -> i % 5) (iota n)) (iota n)
"#;

const FLOATS: &str = r#"
def xs (n: i64): [n]f32 = map@seq (\i -> f32 (i * 7919 % 1013) / 17 - 29) (iota n)

entry total (n: i64): f32 = reduce@par (+) 0.25 (xs n)
entry total_of_pairs (n: i64): (f32, f32) =
  reduce@par (\a b -> (a.0 + b.0, a.1 * 0.5 + b.1)) (0, 0) (zip (xs n) (reverse (xs n)))
entry sums (n: i64): []f32 = scan@par (+) 0.25 (xs n)
entry sums_in_rows (n: i64): [][?]f32 =
  scan_rows@par (+) 0.25 (map@seq (\i -> map@seq (\j -> f32 (i * j * 7919 % 1013) / 17 - 29) (iota (i * i % 509))) (iota (n / 200)))
entry sums_in_one_row (n: i64): [][?]f32 =
  scan_rows_exclusive@par (+) 0.25 (map@seq (\i -> take (if i == 5 then n else 0) (xs n)) (iota 9))
entry products (n: i64): []f64 = scan_exclusive@par (*) 1.5 (map@seq (\i -> 1 + f64 (i % 7 - 3) / 1000) (iota n))
entry pairs (n: i64): [](f32, f32) = scan@par (\a b -> (a.0 + b.0, a.1 * 0.5 + b.1)) (0, 0) (zip (xs n) (reverse (xs n)))
entry binned (n: i64): []f32 = reduce_by_index@par (replicate 11 0.125f32) (+) 0 (map@seq (\i -> i * i % 13) (iota n)) (xs n)
entry many_bins (n: i64): []f32 =
  reduce_by_index@par (replicate 9001 0.125f32) (+) 0 (map@seq (\i -> i * i % 9012 - 3) (iota n)) (xs n)
entry many_pairs (n: i64): [](f32, i64) =
  reduce_by_index@par (replicate 4099 (0.5f32, 1)) (\a b -> (a.0 * 0.5 + b.0, a.1 * 3 + b.1)) (0, 0)
    (map@seq (\i -> u16 (i * 31 % 70001)) (iota n)) (zip (xs n) (iota n))
entry binned_pairs (n: i64): [](f32, f32) =
  reduce_by_index@par (replicate 3 (0.5f32, 1f32)) (\a b -> (a.0 + b.0, a.1 + b.1)) (0, 0)
    (map@seq (\i -> i % 4) (iota n)) (zip (xs n) (reverse (xs n)))
"#;

/// Floats that round: the bits of the strategy program on Imp's interpreter and on every number of threads, on every run.
#[test]
fn bits_do_not_depend_on_threads() {
    let front = front(load("floats.alm", FLOATS, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    let strategy = strategy(front.core().unwrap(), Machine::Threads).unwrap();
    let names: Vec<&str> = strategy.entries.iter().map(|entry| &*entry.name).collect();
    let interpreter = Interpreter::new(&strategy).unwrap();
    let lowered = lower(&strategy, &names).unwrap();
    let Ok(toolchain) = Toolchain::find() else {
        return;
    };
    let toolchain = toolchain.with_flags(["-O1"]);
    for target in [Target::C, Target::OpenMp] {
        let source = c_source(&lowered, &front.sources, "floats", target).unwrap();
        let compiled = toolchain.library(&source, target, &[]).unwrap();
        let mut library = Library::load(&compiled.path, source.interface.clone()).unwrap();
        for entry in &lowered.entries {
            for n in [0, 1, 4096, 4097, 20011] {
                let arguments = [Value::from(n as i64)];
                let expected = interpreter.call(&entry.name, arguments.to_vec()).unwrap();
                let found = run_entry(&lowered.imp, entry, &arguments).unwrap();
                assert!(same(&expected, &found), "{} {n}, imp", entry.name);
                for threads in [1, 2, 3, 8] {
                    library.set_threads(threads);
                    for _ in 0..5 {
                        let found = library.call_entry(entry, &arguments).unwrap();
                        let what = format!("{} {n} on {threads} threads, {target:?}", entry.name);
                        assert!(same(&expected, &found), "{what}");
                    }
                }
            }
        }
    }
}
