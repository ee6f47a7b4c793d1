//! The derivations of Lin's thesis (sections 5.2.1 and 5.3.3), stage by stage, as golden files: `UPDATE_EXPECT=1` writes them anew. Its
//! structure in our notation: the combinators of Dpia after stage I, its loops after stage II (the thesis' `Build`), Imp.
//!
//! And what is left of views: nothing. A view has no loop and no memory of its own (Figures 5.5 and 5.7).

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_lower::{Lowered, lower};
use expect_test::expect_file;

fn lowered(text: &str) -> Lowered {
    let program =
        almach_core::parse::parse_program(text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let checked = almach_core::check::check(program, "test")
        .unwrap_or_else(|error| panic!("{}", error.diagnostic.title));
    lower(&checked, &["main"]).unwrap_or_else(|errors| panic!("{}", errors[0].title))
}

macro_rules! golden {
    ($name:literal, $text:expr) => {{
        let lowered = lowered($text);
        expect_file![concat!("golden/", $name, ".dpia")].assert_eq(&lowered.dpia.program().to_string());
        expect_file![concat!("golden/", $name, ".loops.dpia")]
            .assert_eq(&lowered.loops.program().to_string());
        expect_file![concat!("golden/", $name, ".imp")].assert_eq(&lowered.imp.program().to_string());
    }};
}

/// Section 5.2.1: `Map^E (λx. x.0 + x.1) (Zip^S (Tuple^S a b))`.
#[test]
fn vector_addition() {
    golden!(
        "thesis_addition",
        r"
fun main {n} (a: [n]f32, b: [n]f32): [n]f32 =
  let both: [n](f32, f32) = zip@S a b
  let sums: [n]f32 = map@seq@E (\(x: (f32, f32)): f32 ->
    let l: f32 = x.0
    let r: f32 = x.1
    let s: f32 = l + r
    in s) both
  in sums
entry main = main (a: [n]f32, b: [n]f32): [n]f32
"
    );
}

const IDENTITY: &str = "(\\(x: f32): f32 -> x)";

/// Section 4.1.2: `Map^E Id (Concat^S (Tuple^S a b))`, one loop that asks where each element comes from.
#[test]
fn concatenation_as_a_source_view() {
    golden!(
        "thesis_concat_source",
        &format!(
            r"
fun main {{n, m}} (a: [n]f32, b: [m]f32): [n + m]f32 =
  let both: [n + m]f32 = concat@S a b
  let all: [n + m]f32 = map@seq@E {IDENTITY} both
  in all
entry main = main (a: []f32, b: []f32): []f32
"
        )
    );
}

/// Section 5.3.3: `Concat^D (Tuple^D (Map^E Id a) (Map^E Id b))`, two loops that ask nothing.
#[test]
fn concatenation_as_a_destination_view() {
    golden!(
        "thesis_concat_destination",
        &format!(
            r"
fun main {{n, m}} (a: [n]f32, b: [m]f32): [n + m]f32 =
  let first: [n]f32 = map@seq@E {IDENTITY} a
  let second: [m]f32 = map@seq@E {IDENTITY} b
  let all: [n + m]f32 = concat@D first second
  in all
entry main = main (a: []f32, b: []f32): []f32
"
        )
    );
}

/// Equation 5.15 with 5.50: windows that roll, and a function that takes them one by one.
#[test]
fn windows_that_roll() {
    golden!(
        "thesis_windows",
        r"
fun main (xs: [4098]f32): [4096]f32 =
  let windows: [4096][3]f32 = slide@seq@E 3i64 1i64 xs
  let sums: [4096]f32 = map@seq@D (\(w: [3]f32): f32 ->
    let a: f32 = w[0i64]
    let b: f32 = w[1i64]
    let c: f32 = w[2i64]
    let ab: f32 = a + b
    let abc: f32 = ab + c
    in abc) windows
  in sums
entry main = main (xs: [4098]f32): [4096]f32
"
    );
}

/// What one destination view or source view after the other leaves in Imp: the loops and allocations of what computes, and no more.
#[test]
fn nothing_is_left_of_views() {
    let doubled = "(\\(x: f32): f32 -> let y: f32 = x + x in y)";
    let count = |text: &str, what: &str| {
        text.lines()
            .filter(|line| line.trim_start().starts_with(what))
            .count()
    };
    let written = |views: &str, result: &str| {
        format!(
            "fun main (xs: [4096]f32): f32 =
  let a: [4096]f32 = map@seq@E {doubled} xs
{views}
  let first: f32 = {result}
  in first
entry main = main (xs: [4096]f32): f32
"
        )
    };
    for (views, result) in [
        ("  let v: [4096]f32 = reverse@D a", "v[0i64]"),
        ("  let v: [4096]f32 = rotate@D 1i64 a", "v[0i64]"),
        ("  let v: [2048][2]f32 = split@D 2i64 a", "v[0i64, 1i64]"),
        (
            "  let r: [2048][2]f32 = split@D 2i64 a\n  let v: [2][2048]f32 = transpose@D r",
            "v[0i64, 0i64]",
        ),
        (
            "  let r: [2048][2]f32 = split@D 2i64 a\n  let v: [4096]f32 = join@D r",
            "v[0i64]",
        ),
        (
            "  let r: [2048][2]f32 = split@D 2i64 a
  let v: [2048][2]f32 = map@seq@D (\\(p: [2]f32): [2]f32 -> let q: [2]f32 = reverse@D p in q) r",
            "v[0i64, 0i64]",
        ),
        ("  let v: [4096]f32 = reverse@S a", "v[0i64]"),
        (
            "  let v: [4096]f32 = map@seq@S (\\(x: f32): f32 -> let y: f32 = x * x in y) a",
            "v[0i64]",
        ),
    ] {
        let text = lowered(&written(views, result)).imp.program().to_string();
        assert_eq!(
            (count(&text, "for "), count(&text, "alloc ")),
            (1, 1),
            "{views}\n{text}"
        );
    }
}

/// What a destination view leaves out is not computed, and has no memory (eq. 5.43-5.45 and 5.48); a permutation has the memory of its check.
#[test]
fn nothing_is_left_of_what_a_destination_view_leaves_out() {
    let count = |text: &str, what: &str| text.matches(what).count();
    let pairs = "map@seq@E (\\(x: f32): (f32, f32) ->
    let y: f32 = x + x
    let z: f32 = x * x
    let p: (f32, f32) = (y, z)
    in p) xs";
    let rows = "map@seq@E (\\(x: f32): [64]f32 ->
    let r: [64]f32 = map@seq (\\(k: f32): f32 -> let y: f32 = x + k in y) ks
    in r) xs";
    let program = |made: &str, of: &str, taken: &str| {
        format!(
            "fun main (ks: [64]f32, xs: [4096]f32): [4096]f32 =
  let a: [4096]{of} = {made}
  let v: [4096]f32 = map@seq@D (\\(p: {of}): f32 -> let q: f32 = {taken} in q) a
  in v
entry main = main (ks: [64]f32, xs: [4096]f32): [4096]f32
"
        )
    };
    for (made, of, taken) in [
        (pairs, "(f32, f32)", "p.0"),
        (pairs, "(f32, f32)", "p.1"),
        (rows, "[64]f32", "p[5i64]"),
    ] {
        let lowered = lowered(&program(made, of, taken));
        let body = lowered.imp.program().to_string();
        let main = body.split("proc entry_main").next().unwrap_or("");
        let found = ["for ", "alloc ", "out["].map(|what| count(main, what));
        assert_eq!(found, [1, 0, 1], "{taken}\n{main}");
    }
    let permuted = lowered(
        "fun main {n} (is: [n]i64, xs: [n]f32): [n]f32 =
  let a: [n]f32 = map@seq@E (\\(x: f32): f32 -> let y: f32 = x + x in y) xs
  let v: [n]f32 = permute@seq@D is a
  in v
entry main = main (is: [n]i64, xs: [n]f32): [n]f32
",
    );
    let body = permuted.imp.program().to_string();
    let main = body.split("proc entry_main").next().unwrap_or("");
    assert_eq!(
        ["alloc seen[n]", "alloc "].map(|what| count(main, what)),
        [1, 1],
        "{main}"
    );
}

/// Branches inside of loops, all loops together.
fn branches_in_loops(stmts: &[almach_imp::Stmt], inside: bool) -> usize {
    let own = stmts
        .iter()
        .filter(|stmt| matches!(stmt, almach_imp::Stmt::If { .. }));
    let own = if inside { own.count() } else { 0 };
    let deeper = stmts.iter().map(|stmt| {
        let inside = inside || matches!(stmt, almach_imp::Stmt::For { .. });
        stmt.blocks()
            .into_iter()
            .map(|block| branches_in_loops(block, inside))
            .sum::<usize>()
    });
    own + deeper.sum::<usize>()
}

/// Section 7.2 has destination views for this: a loop with its edges beside it asks nothing.
#[test]
fn a_loop_that_asks_for_its_edges_asks_nothing() {
    let program = |condition: &str| {
        format!(
            "fun main {{n}} (xs: [n]f32): [n]f32 =
  let is: [n]i64 = iota@seq n
  let last: i64 = n - 1i64
  let ys: [n]f32 = map@seq (\\(i: i64): f32 ->
    let a: bool = i == 0i64
    let b: bool = i == {condition}
    let edge: bool = a | b
    let y: f32 = if edge: f32 then
      let here: f32 = xs[i]
      in here
    else
      let before: i64 = i - 1i64
      let there: f32 = xs[before]
      in there
    in y) is
  in ys
entry main = main (xs: [n]f32): [n]f32
"
        )
    };
    let branches = |condition: &str| -> usize {
        let lowered = lowered(&program(condition));
        let procs = lowered.imp.program().procs.iter();
        procs.map(|proc| branches_in_loops(&proc.body, false)).sum()
    };
    assert_eq!(branches("last"), 0);
    assert_eq!(branches("5i64"), 1);
}
