//! Mistakes that a translation could make, one per line, and what catches each. The table is in `docs/law.md`;
//! `UPDATE_EXPECT=1` writes it anew.
#![allow(clippy::unwrap_used)]

use almach_law::mutate::{Caught, Stage, Subject};
use std::collections::HashMap;
use std::fmt::Write;

/// Name, text, arguments of the runs.
const PROGRAMS: &[(&str, &str, &[&[&str]])] = &[
    (
        "dot",
        "entry main [n] (xs: [n]f32) (ys: [n]f32): f32 = reduceSeq (\\a x -> 2 * a - x) 1 (mapPar (\\x y -> x - 2 * y) xs ys)",
        &[&["[1, 2, 3]", "[4, 5, 6]"], &["[]", "[]"]],
    ),
    (
        "rows",
        "entry main [n] [m] (a: [n][m]i32): [n]i32 = mapPar (\\row -> reduceSeq (+) 0 row) a",
        &[&["[[1, 2, 3], [4, 5, 6]]"], &["[[], []]"]],
    ),
    (
        "flip",
        "entry main [n] [m] (a: [n][m]i32): [m][n]i32 = mapPar (mapSeq (+ 1)) (transpose a)",
        &[&["[[1, 2, 3], [4, 5, 6]]"]],
    ),
    (
        "sums",
        "entry main [n] (xs: [n]i32): [n]i32 = scanSeq (+) 0 xs",
        &[&["[1, 2, 3, 4]"]],
    ),
    (
        "kept",
        "entry main [n] (xs: [n]i32): []i32 = filter@seq (> 2) xs",
        &[&["[1, 2, 3, 4]"], &["[]"]],
    ),
    (
        "pick",
        "entry main [n] [k] (xs: [n]i32) (is: [k]i64): [k]i32 = mapPar (\\i -> 100 / xs[i]) is",
        &[
            &["[1, 2, 5]", "[2, 0]"],
            &["[1, 2]", "[0, 2]"],
            &["[1, 0]", "[1, 0]"],
            &["[1, 0]", "[-1]"],
        ],
    ),
    (
        "update",
        "entry main [n] (xs: [n]i32): ([n]i32, [n]i32) = let ys = mapPar (* 2) xs in (ys, ys with [0] = 7)",
        &[&["[1, 2, 3]"], &["[]"]],
    ),
    (
        "twice",
        "entry main [n] (xs: [n]i32): [n]i32 = mapPar (+ 1) (mapPar (* 2) xs)",
        &[&["[1, 2, 3]"]],
    ),
    (
        "choose",
        "entry main (c: bool) (x: i32): i32 = if c then x + 1 else x * 2",
        &[&["true", "5"], &["false", "5"]],
    ),
    (
        "scratch",
        "entry main [n] [m] (a: [n][m]i32): [n]i32 = mapPar (\\row -> let s = scanSeq (+) 0 row in reduceSeq max 0 s) a",
        &[&["[[1, -2, 3], [4, 5, -6]]"]],
    ),
    (
        "pairs",
        "entry main [n] (xs: [n]i32): [n]i32 = let ys = mapPar (+ 1) xs in mapPar (\\i -> ys[max 0 (i - 1)] + ys[i]) (iota n)",
        &[&["[1, 2, 3]"]],
    ),
    (
        "back",
        "entry main [n] (xs: [n]i32): [n]i32 = reverse (mapPar (+ 1) xs)",
        &[&["[1, 2, 3]"]],
    ),
    (
        "bins",
        "entry main [n] (is: [n]i64) (xs: [n]i32): [3]i32 = reduce_by_index@seq (replicate 3 0) (+) 0 is xs",
        &[&["[0, 2, 0, 7]", "[1, 2, 3, 4]"]],
    ),
    (
        "put",
        "entry main [n] (is: [n]i64) (xs: [n]i32): [4]i32 = scatter@seq (replicate 4 0) is xs",
        &[
            &["[0, 2, 9]", "[1, 2, 3]"],
            &["[0, 0]", "[1, 2]"],
            &["[1, 1]", "[2, 2]"],
        ],
    ),
];

struct Mistake {
    what: &'static str,
    program: &'static str,
    stage: Stage,
    edits: &'static [(&'static str, &'static str)],
}

const fn mistake(
    stage: Stage,
    program: &'static str,
    what: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mistake {
    Mistake {
        what,
        program,
        stage,
        edits,
    }
}

use Stage::{Imp, Loops, Phrases};

const MISTAKES: &[Mistake] = &[
    // Stage I: acceptors and continuations.
    mistake(
        Phrases,
        "dot",
        "a parallel body writes the result instead of its own cell",
        &[("o := {f32}", "out := {f32}")],
    ),
    mistake(
        Phrases,
        "twice",
        "a map is written over the array it reads",
        &[("map.2\n        out", "map.2\n        map.1")],
    ),
    mistake(
        Phrases,
        "dot",
        "components of a zip are swapped",
        &[("get<0,2>", "get<1,2>")],
    ),
    mistake(
        Phrases,
        "dot",
        "operands of a reduction's operator are swapped",
        &[("(mul<f32> #2.0f32 b) a)", "a (mul<f32> #2.0f32 b))")],
    ),
    mistake(
        Phrases,
        "dot",
        "a reduction starts from another value",
        &[("#1.0f32", "#0.0f32")],
    ),
    mistake(
        Phrases,
        "rows",
        "a map has another extent than its array",
        &[("mapI<par>[n]", "mapI<par>[n + 1]")],
    ),
    mistake(
        Phrases,
        "twice",
        "storage is too small",
        &[("new{n.i32}", "new{(n - 1).i32}")],
    ),
    mistake(
        Phrases,
        "twice",
        "a result is read before it is made",
        &[(
            "new{n.i32} (\\map: var[n.i32]. \n      mapI<par>[n]{i32}{i32} (\\x: exp[i32]. \\o: acc[i32]. o := {i32} mul<i32> x #2i32)\n        xs\n        map.1;",
            "new{n.i32} (\\map: var[n.i32]. ",
        )],
    ),
    mistake(
        Phrases,
        "flip",
        "a transposition is forgotten",
        &[("(transpose[n][n_2]{i32} a)", "a")],
    ),
    mistake(
        Phrases,
        "back",
        "a view of a destination is forgotten",
        &[("(reverseAcc[n]{i32} out)", "out")],
    ),
    mistake(
        Phrases,
        "sums",
        "a scan is exclusive instead of inclusive",
        &[("scanI<seq,inclusive>", "scanI<seq,exclusive>")],
    ),
    mistake(
        Phrases,
        "kept",
        "a filter keeps one more",
        &[("gt<i32>", "ge<i32>")],
    ),
    mistake(
        Phrases,
        "pick",
        "the test of a division is forgotten",
        &[("(ne<i32> (idx[n]{i32} xs (toIndex[n] x)) #0i32)", "#true")],
    ),
    mistake(
        Phrases,
        "pick",
        "the test of an index is forgotten",
        &[("(and<bool> (ge<i64> x #0i64) (lt<i64> x nat[n]))", "#true")],
    ),
    mistake(
        Phrases,
        "update",
        "the copy of an updated array is forgotten",
        &[("out_2 := {n.i32} ys.2;", "skip;")],
    ),
    mistake(
        Phrases,
        "update",
        "an array that is still needed is updated in place",
        &[("idxAcc[n]{i32} out_2 (", "idxAcc[n]{i32} ys.1 (")],
    ),
    mistake(
        Phrases,
        "choose",
        "the branches are swapped",
        &[
            ("add<i32> x #1i32", "later"),
            ("mul<i32> x #2i32", "add<i32> x #1i32"),
            ("later", "mul<i32> x #2i32"),
        ],
    ),
    mistake(
        Phrases,
        "put",
        "a scatter writes somewhere else",
        &[("xs\n        updated;", "xs\n        out;")],
    ),
    // Stage II: loops.
    mistake(
        Loops,
        "rows",
        "one accumulator for all iterations of a parallel loop",
        &[
            (
                "parfor<par>[n]{i32}",
                "new{i32} (\\acc: var[i32]. parfor<par>[n]{i32}",
            ),
            ("          new{i32} (\\acc: var[i32]. ", "          ("),
            ("{n_2.i32} a i)", "{n_2.i32} a i))"),
        ],
    ),
    mistake(
        Loops,
        "twice",
        "a parallel loop writes its array by index",
        &[(
            "o_2 := {i32} add<i32>",
            "idxAcc[n]{i32} map.1 i_2 := {i32} add<i32>",
        )],
    ),
    mistake(
        Loops,
        "twice",
        "a parallel loop reads the array it writes",
        &[(
            "parfor<par>[n]{i32}\n        out",
            "parfor<par>[n]{i32}\n        map.1",
        )],
    ),
    mistake(
        Loops,
        "dot",
        "a loop stops too early",
        &[("for[n] (", "for[n - 1] (")],
    ),
    mistake(
        Loops,
        "sums",
        "the running value does not move on",
        &[("move{i32} (running & next);", "skip;")],
    ),
    mistake(
        Loops,
        "sums",
        "the running value is not started",
        &[("running.1 := {i32} #0i32;", "skip;")],
    ),
    mistake(
        Loops,
        "bins",
        "indices out of range are not ignored",
        &[("(and<bool> (ge<i64> j #0i64) (lt<i64> j nat[3]))", "#true")],
    ),
    mistake(
        Loops,
        "put",
        "what was written is not remembered",
        &[("idxAcc[4]{bool} seen.1 (toIndex[4] j) := {bool} #true", "skip")],
    ),
    // Stage III: flat memory.
    mistake(
        Imp,
        "kept",
        "a filter does not move its end",
        &[("k = k + to_i64(keep_3)", "k = k")],
    ),
    mistake(
        Imp,
        "kept",
        "a filter moves its end for every element",
        &[("k = k + to_i64(keep_3)", "k = k + 1i64")],
    ),
    mistake(
        Imp,
        "dot",
        "a sequential loop becomes parallel: its accumulator is shared",
        &[("  for i_2 < n {", "  par for i_2 < n {")],
    ),
    mistake(
        Imp,
        "put",
        "a sequential loop becomes parallel: its cells are shared",
        &[("  for i_3 < n {", "  par for i_3 < n {")],
    ),
    mistake(
        Imp,
        "put",
        "a sequential loop becomes one on lanes",
        &[("  for i_3 < n {", "  simd for i_3 < n {")],
    ),
    mistake(
        Imp,
        "flip",
        "a parallel loop stands in another",
        &[("    for i_2 < n {", "    par for i_2 < n {")],
    ),
    mistake(
        Imp,
        "flip",
        "rows have another's length",
        &[("out[i*n + i_2]", "out[i*n_2 + i_2]")],
    ),
    mistake(
        Imp,
        "flip",
        "the indices of a matrix are swapped",
        &[("out[i*n + i_2]", "out[i + i_2*n]")],
    ),
    mistake(
        Imp,
        "rows",
        "an index is one too large",
        &[("a[i*n_2 + i_2]", "a[i*n_2 + i_2 + 1]")],
    ),
    mistake(
        Imp,
        "rows",
        "all iterations write one cell",
        &[("out[i]", "out[0]")],
    ),
    mistake(
        Imp,
        "twice",
        "an array is one cell too small",
        &[("alloc map[n]", "alloc map[n - 1]")],
    ),
    mistake(Imp, "twice", "an array is not freed", &[("  free map\n", "")]),
    mistake(
        Imp,
        "twice",
        "an array is freed before its last use",
        &[("  par for i_2 < n {", "  free map\n  par for i_2 < n {")],
    ),
    mistake(
        Imp,
        "scratch",
        "one scratch array for all iterations",
        &[
            (
                "  par for i < n {\n    buffer s: i32\n    alloc s[n_2]",
                "  buffer s: i32\n  alloc s[n_2]\n  par for i < n {",
            ),
            (
                "    free s\n    out[i] = acc\n  }",
                "    out[i] = acc\n  }\n  free s",
            ),
        ],
    ),
    mistake(
        Imp,
        "pairs",
        "an array that other iterations read is updated in place",
        &[("out[i_2] = ys[index]", "ys[i_2] = ys[index]")],
    ),
    mistake(
        Imp,
        "update",
        "a copy is forgotten",
        &[("  copy out_2[0] = out[0] for n\n", "")],
    ),
    mistake(
        Imp,
        "update",
        "a copy is one cell too short",
        &[("copy out_2[0] = out[0] for n", "copy out_2[0] = out[0] for n - 1")],
    ),
    mistake(
        Imp,
        "pick",
        "the test of an index comes after its use",
        &[(
            "    check (x >= 0i64)",
            "    let early: i32 = xs[x]\n    check (x >= 0i64)",
        )],
    ),
    mistake(
        Imp,
        "pick",
        "the test of a division is forgotten",
        &[("check xs[x] != 0i32", "check true")],
    ),
    mistake(
        Imp,
        "choose",
        "a condition is negated",
        &[("if c {", "if c == false {")],
    ),
    mistake(
        Imp,
        "choose",
        "a number has another type",
        &[("x + 1i32", "x + 1i64")],
    ),
    mistake(
        Imp,
        "flip",
        "sizes are passed in another order",
        &[("call main(a_size, a_size_2,", "call main(a_size_2, a_size,")],
    ),
];

const START: &str = "<!-- mistakes: written by crates/law/tests/mutations.rs -->\n";
const END: &str = "<!-- end of mistakes -->\n";

fn page() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/law.md").to_owned()
}

#[test]
fn every_mistake_is_caught() {
    let subjects: HashMap<&str, Subject> = PROGRAMS
        .iter()
        .map(|(name, text, runs)| {
            (
                *name,
                Subject::new(text, runs).unwrap_or_else(|error| panic!("{name}: {error}")),
            )
        })
        .collect();
    let mut table = String::from("| stage | program | mistake | caught by |\n| --- | --- | --- | --- |\n");
    let mut problems = String::new();
    for Mistake {
        what,
        program,
        stage,
        edits,
    } in MISTAKES
    {
        match subjects[program].edited(*stage, edits) {
            Ok(Caught::Nobody) => writeln!(problems, "{what} ({program}) is caught by nobody").unwrap(),
            Ok(caught) => {
                let stage = match stage {
                    Phrases => "I",
                    Loops => "II",
                    Imp => "III",
                };
                writeln!(table, "| {stage} | `{program}` | {what} | {caught} |").unwrap();
            }
            Err(error) => writeln!(problems, "{what} ({program}): {error}").unwrap(),
        }
    }
    assert!(problems.is_empty(), "{problems}");
    let text = std::fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(START).unwrap();
    let (old, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(page(), format!("{before}{START}{table}{END}{after}")).unwrap();
    } else {
        assert!(
            old == table,
            "docs/law.md is out of date (UPDATE_EXPECT=1 writes it):\n{table}"
        );
    }
}

/// Without an edit everything passes: what is caught is the mistake.
#[test]
fn without_a_mistake_nothing_is_caught() {
    for (name, text, runs) in PROGRAMS {
        let subject = Subject::new(text, runs).unwrap();
        for stage in [Phrases, Loops, Imp] {
            let caught = subject.edited(stage, &[]).unwrap();
            assert_eq!(
                caught,
                Caught::Nobody,
                "{name}, {stage:?}\n{}",
                subject.text(stage)
            );
        }
    }
}
