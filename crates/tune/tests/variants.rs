//! Every variant that a search makes gives the program's value, on Imp's interpreter (which also finds races, accesses out of bounds
//! and leaks), and its source compiles to exactly the same code.
#![allow(clippy::unwrap_used)]

use almach_core::interp::Interpreter;
use almach_driver::back::{self, Machine, Target};
use almach_driver::source::{source_of, strategy_of_source};
use almach_driver::{NoFiles, front, load};
use almach_imp::canonical::canonical_text;
use almach_imp::interp::run_entry;
use almach_tune::{Candidate, Estimate, Found, Origin, Space, heuristic, random};
use almach_value::{Value, parse, same};

/// Programs with arguments. Numbers are whole and small: sums are exact in every grouping.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "entry main [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 1 (map (*) xs (map (+ 1) ys))",
        &["[1, 2, 3, 4, 5, 6, 7]", "[3, 1, 4, 1, 5, 9, 2]"],
    ),
    (
        "entry main [n] [k] [m] (a: [n][k]f64) (b: [k][m]f64): [n][m]f64 =
           map (\\row -> map (\\column -> reduce (+) 0 (map (*) row column)) (transpose b)) a",
        &["[[1, 2, 3], [4, 5, 6]]", "[[1, 0], [2, 1], [0, 3]]"],
    ),
    (
        "entry main [n] (xs: [n]f64): [n]f64 =
           let padded = concat (take 1 xs) (concat xs (drop (n - 1) xs))
           in map (\\i -> (padded[i] + padded[i + 1] + padded[i + 2]) * 2) (iota n)",
        &["[3, 1, 4, 1, 5]"],
    ),
    (
        "entry main [n] (xs: [n]i32): (i32, []i32) =
           let sums = scan (+) 0 (map (* 2) xs)
           let large = filter (> 5) (map (+ 1) sums)
           in (reduce max 0 large, map (* 3) large)",
        &["[1, 2, 3, 4, 0, 1]"],
    ),
    (
        "entry main [n] [m] (xss: [n][m]i32): ([m][n]i32, [m]i32) =
           let t = transpose (map (map (+ 1)) xss)
           in (map (map (* 2)) t, map (\\column -> reduce (+) 0 column) t)",
        &["[[1, 2, 3], [4, 5, 6]]"],
    ),
    (
        "entry main [n] (is: [n]i64) (xs: [n]i32): ([4]i32, [n]i32) =
           (reduce_by_index (replicate 4 0) (+) 0 is (map (* 2) xs), reverse (rotate 1 (gather is (map (+ 1) xs))))",
        &["[0, 3, 1, 0, 2]", "[1, 2, 3, 4, 5]"],
    ),
    (
        "entry main [n] (xs: [n]f32): []f32 =
           map (\\w -> reduce (+) 0 (map (\\(x, y) -> x * y) (zip w (reverse w)))) (slide 3 1 (pad 1 2 0 xs))",
        &["[1, 2, 3, 4]"],
    ),
];

struct Case {
    space: Space,
    args: Vec<Value>,
    expected: Value,
}

fn case(text: &str, args: &[&str], machine: Machine) -> Case {
    let front = front(load("main.alm", text, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    let core = front.core().unwrap();
    let entry = core.entries[0].clone();
    let read = |(text, (_, ty)): (&&str, &_)| parse(text, ty).unwrap();
    let args: Vec<Value> = args.iter().zip(&entry.params).map(read).collect();
    let interpreter = Interpreter::new(&core).unwrap();
    let expected = interpreter.call("main", args.clone());
    Case {
        space: Space::of(&core, &entry, machine).unwrap(),
        expected: expected.unwrap_or_else(|error| panic!("{}", error.message)),
        args,
    }
}

fn agrees(case: &Case, candidate: &Candidate, machine: Machine) {
    let made = &candidate.made;
    let changes = case.space.changes(made);
    let found = run_entry(&made.lowered.imp, &made.lowered.entries[0], &case.args);
    let found = found.unwrap_or_else(|error| panic!("{changes:?}: {error:?}"));
    assert!(same(&found, &case.expected), "{changes:?}: {found:?}");
    let source = source_of(&made.strategy);
    let again = strategy_of_source(&source, machine).unwrap_or_else(|errors| panic!("{source}\n{errors:?}"));
    let entries: Vec<_> = again.entries.iter().collect();
    let again = back::lowered(&again, &entries).unwrap();
    assert_eq!(
        made.text,
        canonical_text(again.imp.program()),
        "{changes:?}\n{source}"
    );
}

#[test]
fn every_variant_gives_the_value_and_compiles_again_to_itself() {
    for machine in [Machine::Sequential, Machine::Threads] {
        for (seed, (text, args)) in (1..).zip(PROGRAMS) {
            let case = case(text, args, machine);
            let estimate = Estimate::new(&case.args, Target::C, 1);
            let mut found = Found::start(&case.space, &estimate).unwrap();
            heuristic(&case.space, &estimate, seed, 12, &mut found);
            random(&case.space, &estimate, seed, 6, &mut found);
            assert!(found.candidates.len() > 2, "{text}: nothing was found");
            assert!(found.why.is_none(), "{text}: {:?}", found.why);
            for candidate in &found.candidates {
                agrees(&case, candidate, machine);
            }
        }
    }
}

#[test]
fn a_search_with_the_same_seed_finds_the_same() {
    let (text, args) = PROGRAMS[1];
    let found = |seed: u64| -> Vec<String> {
        let case = case(text, args, Machine::Sequential);
        let estimate = Estimate::new(&case.args, Target::C, 1);
        let mut found = Found::start(&case.space, &estimate).unwrap();
        heuristic(&case.space, &estimate, seed, 20, &mut found);
        random(&case.space, &estimate, seed, 10, &mut found);
        found
            .candidates
            .into_iter()
            .map(|candidate| candidate.made.text)
            .collect()
    };
    assert_eq!(found(7), found(7));
    assert_ne!(found(7), found(8));
}

#[test]
fn no_two_candidates_have_the_same_code() {
    let (text, args) = PROGRAMS[0];
    let case = case(text, args, Machine::Sequential);
    let estimate = Estimate::new(&case.args, Target::C, 1);
    let mut found = Found::start(&case.space, &estimate).unwrap();
    random(&case.space, &estimate, 3, 20, &mut found);
    let texts: std::collections::HashSet<&str> = found
        .candidates
        .iter()
        .map(|candidate| candidate.made.text.as_str())
        .collect();
    assert_eq!(texts.len(), found.candidates.len());
    assert!(found.same > 0);
    let first = found.candidates.first().unwrap();
    assert_eq!(first.origin, Origin::Default);
}
