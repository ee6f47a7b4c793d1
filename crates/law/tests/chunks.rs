//! The parallel mechanisms with chunks of every small size, on Imp's interpreter with its race detector: many chunks
//! need no large arrays here. And native code with the usual chunks, on several numbers of threads.

#![allow(clippy::unwrap_used)]

use almach_core::interp::Interpreter;
use almach_driver::back::{Machine, Target, c_source, strategy};
use almach_driver::{NoFiles, front, load};
use almach_imp::interp::{RunError, run_entry};
use almach_lower::{Chunks, lower_in_chunks};
use almach_native::{Library, Toolchain};
use almach_value::{Value, same};

const PROGRAM: &str = r#"
def compose (f: (i32, i32)) (g: (i32, i32)): (i32, i32) = (f.0 * g.0, f.1 * g.0 + g.1)

entry sums (n: i64): []i64 = scan@par (+) 3 (map@seq (\i -> i * i) (iota n))
entry exclusive (n: i64): []i64 = scan_exclusive@par (+) 3 (iota n)
entry composed (n: i64): [](i32, i32) = scan@par compose (1, 5) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n))
entry composed_exclusive (n: i64): [](i32, i32) =
  scan_exclusive@par compose (2, 5) (map@seq (\i -> (i32 i - 3, i32 i)) (iota n))
entry longest (n: i64): []i64 = scan@par (\a b -> if a > b then a else b) (-9) (map@seq (\i -> i * 7 % 11) (iota n))
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
entry nested (n: i64): [][]i64 = map@par (\i -> scan@seq (+) i (iota 5)) (iota n)
"#;

#[test]
fn chunks_of_every_size_give_the_same() {
    let front = front(load("chunks.alm", PROGRAM, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    let core = front.core().unwrap();
    let strategy = strategy(core.clone(), Machine::Threads).unwrap();
    let interpreter = Interpreter::new(&core).unwrap();
    let names: Vec<&str> = core.entries.iter().map(|entry| &*entry.name).collect();
    let mut failures = 0;
    for (elements, copies) in [(1, 1), (2, 3), (3, 2), (7, 4), (4096, 16)] {
        let lowered = lower_in_chunks(&strategy, &names, Chunks { elements, copies }).unwrap();
        for entry in &lowered.entries {
            for n in [0, 1, 2, 3, 4, 6, 7, 8, 13, 21] {
                let what = format!("{} {n} in chunks of {elements}", entry.name);
                let arguments = vec![Value::from(n as i64)];
                let expected = interpreter.call(&entry.name, arguments.clone());
                let found = run_entry(&lowered.imp, entry, &arguments);
                match (expected, found) {
                    (Ok(expected), Ok(found)) => {
                        assert!(same(&expected, &found), "{what}: {found:?}, not {expected:?}");
                    }
                    (Err(expected), Err(RunError::Failed { site, arguments })) => {
                        failures += 1;
                        let arguments: Vec<String> =
                            arguments.iter().map(|value| value.to_string()).collect();
                        assert_eq!(site.message(&arguments), expected.message, "{what}");
                    }
                    (expected, found) => panic!("{what}: {found:?}, not {expected:?}"),
                }
            }
        }
    }
    assert!(failures > 20, "{failures}");
}

const FLOATS: &str = r#"
def xs (n: i64): [n]f32 = map@seq (\i -> f32 (i * 7919 % 1013) / 17 - 29) (iota n)

entry sums (n: i64): []f32 = scan@par (+) 0.25 (xs n)
entry products (n: i64): []f64 = scan_exclusive@par (*) 1.5 (map@seq (\i -> 1 + f64 (i % 7 - 3) / 1000) (iota n))
entry pairs (n: i64): [](f32, f32) = scan@par (\a b -> (a.0 + b.0, a.1 * 0.5 + b.1)) (0, 0) (zip (xs n) (reverse (xs n)))
entry binned (n: i64): []f32 = reduce_by_index@par (replicate 11 0.125f32) (+) 0 (map@seq (\i -> i * i % 13) (iota n)) (xs n)
entry binned_pairs (n: i64): [](f32, f32) =
  reduce_by_index@par (replicate 3 (0.5f32, 1f32)) (\a b -> (a.0 + b.0, a.1 + b.1)) (0, 0)
    (map@seq (\i -> i % 4) (iota n)) (zip (xs n) (reverse (xs n)))
"#;

/// Floats that round: the same bits on every number of threads, on every run, and on Imp's interpreter.
#[test]
fn bits_do_not_depend_on_threads() {
    let front = front(load("floats.alm", FLOATS, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    let strategy = strategy(front.core().unwrap(), Machine::Threads).unwrap();
    let names: Vec<&str> = strategy.entries.iter().map(|entry| &*entry.name).collect();
    let lowered = lower_in_chunks(&strategy, &names, Chunks::default()).unwrap();
    let Ok(toolchain) = Toolchain::find() else {
        return;
    };
    let toolchain = toolchain.with_flags(["-O1"]);
    for target in [Target::C, Target::OpenMp] {
        let source = c_source(&lowered, &front.sources, "floats", target).unwrap();
        let compiled = toolchain.library(&source, target, &[]).unwrap();
        let mut library = Library::load(&compiled.path, source.interface.clone()).unwrap();
        for entry in &lowered.entries {
            for n in [0, 1, 4096, 4097, 12289, 20011] {
                let arguments = [Value::from(n as i64)];
                let expected = run_entry(&lowered.imp, entry, &arguments).unwrap();
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
