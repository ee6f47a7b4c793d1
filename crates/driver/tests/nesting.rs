//! What nested parallelism costs where there are no rows of their own sizes: nothing. And what becomes of it where there are.
#![allow(clippy::unwrap_used)]

use almach_core::Entry;
use almach_driver::back::{self, Target};
use almach_driver::{NoFiles, front, load};
use almach_rewrite::pipelines::Without;

/// The program as loops over flat memory, for a target, without some rewrites.
fn imp(text: &str, target: Target, without: &[&str]) -> String {
    let without = Without::named(without.iter().copied()).unwrap();
    let front = front(load("nest.alm", text, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    let rewritten = back::rewritten_without(front.core().unwrap(), without).unwrap();
    let strategy = back::chosen_without(rewritten, back::machine(target), without).unwrap();
    let entries: Vec<&Entry> = strategy.entries.iter().collect();
    let lowered = back::lowered(&strategy, &entries).unwrap();
    lowered.imp.program().to_string()
}

const TARGETS: [Target; 4] = [Target::C, Target::OpenMp, Target::OpenCl, Target::Cuda];

/// Maps and reductions of regular arrays, three deep.
const REGULAR: [&str; 4] = [
    "entry main [n] [k] [m] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
       map (\\row -> map (\\column -> reduce (+) 0 (map (*) row column)) (transpose b)) a",
    "entry main [n] [m] [k] (xsss: [n][m][k]f64): [n][m]f64 = map (map (reduce (+) 0)) xsss",
    "entry main [n] [m] (xss: [n][m]i64): [n][m]i64 = map (scan (+) 0) (map (map (* 2)) xss)",
    "entry main [n] [m] (xss: [n][m]i64): [n]i64 = map (\\row -> sum (filter (\\x -> x > 3) row)) xss",
];

#[test]
fn regular_nests_are_as_without_flattening() {
    for text in REGULAR {
        for target in TARGETS {
            let with = imp(text, target, &[]);
            let without = imp(text, target, &["flattening"]);
            assert_eq!(with, without, "{target:?}: {text}");
        }
    }
}

/// The same nests over rows of their own sizes are another program with the pass than without it.
#[test]
fn rows_of_their_own_sizes_are_flattened() {
    let scanned = "entry main (xss: [][?]i64): [][?]i64 = map (scan (+) 0) xss";
    let mapped = "entry main (xss: [][?]i64): [][?]i64 = map (map (* 2)) xss";
    for text in [scanned, mapped] {
        let with = imp(text, Target::OpenMp, &[]);
        assert_ne!(with, imp(text, Target::OpenMp, &["flattening"]), "{text}");
    }
    let chunks = imp(scanned, Target::OpenMp, &[]);
    assert!(chunks.contains("chain for"), "{chunks}");
    assert!(!chunks.contains("store Rows"), "{chunks}");
    // Threads share rows then, not elements; each is written where it belongs.
    let in_places = imp(scanned, Target::OpenMp, &["flattening"]);
    assert!(in_places.contains("par for"), "{in_places}");
    assert!(!in_places.contains("store Rows"), "{in_places}");
}

/// Rows as long as those they are made of have places: nothing grows, and no row waits for another.
#[test]
fn rows_that_depend_on_their_own_sums_have_places() {
    let text =
        "entry main (xss: [][?]f32): [][?]f32 = map (\\r -> let m = maximum r in map (\\x -> x - m) r) xss";
    let made = imp(text, Target::OpenMp, &[]);
    assert!(!made.contains("store") && !made.contains("capacity"), "{made}");
    assert!(made.contains("par for"), "{made}");
}

/// Few long rows go to all threads, many rows to one each: what runs is asked of the sizes.
#[test]
fn a_nest_with_two_plausible_shapes_has_both() {
    let text = "entry main [n] [m] (xss: [n][m]f32): [n]f32 = map sum xss";
    let made = imp(text, Target::OpenMp, &[]);
    assert!(made.contains("16384"), "{made}");
    assert!(!imp(text, Target::C, &[]).contains("16384"));
}
