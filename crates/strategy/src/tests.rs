#![allow(clippy::unwrap_used)]

use super::*;
use almach_base::FileId;
use almach_core::check::check;
use almach_core::interp::Interpreter;
use almach_core::print::{Spans, program_to_string};
use almach_prim::Prim;
use almach_value::Value;

fn chosen(text: &str, machine: Machine) -> Chosen {
    let program = almach_core::parse::parse_program(text, FileId(0)).unwrap();
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{}", failure.diagnostic.title));
    choose(program.into_inner(), machine).unwrap()
}

/// The strategy program as text, after the checker.
fn text(source: &str, machine: Machine) -> String {
    let program = chosen(source, machine).program;
    let shown = program_to_string(&program, Spans::Omit);
    check(program, "strategy").unwrap_or_else(|failure| panic!("{}\n{shown}", failure.diagnostic.title));
    shown
}

/// Runs the entry `main` before and after; both give the same.
fn agree(source: &str, args: &[Value]) -> Value {
    let before = almach_core::parse::parse_program(source, FileId(0)).unwrap();
    let before = check(before, "test").unwrap();
    let expected = Interpreter::new(&before)
        .unwrap()
        .call("main", args.to_vec())
        .unwrap();
    for machine in [Machine::Sequential, Machine::Threads] {
        let after = check(chosen(source, machine).program, "strategy").unwrap();
        let found = Interpreter::new(&after)
            .unwrap()
            .call("main", args.to_vec())
            .unwrap();
        assert!(almach_value::same(&expected, &found), "{expected:?} {found:?}");
    }
    expected
}

const NEST: &str = r"
fun inner {m} (xs: [m]f32): [m]f32 =
  let ys: [m]f32 = map (\(x: f32): f32 -> x) xs
  in ys
fun outer {n, m} (xss: [n][m]f32): [n][m]f32 =
  let yss: [n][m]f32 = map (\(xs: [m]f32): [m]f32 ->
    let zs: [m]f32 = map (\(x: f32): f32 -> x) xs
    let ys: [m]f32 = inner {m} (zs)
    in ys) xss
  in yss
";

#[test]
fn the_outermost_map_goes_to_threads_the_innermost_to_lanes() {
    let text = text(NEST, Machine::Threads);
    assert_eq!(text.matches("map@par").count(), 1, "{text}");
    assert_eq!(text.matches("map@vec").count(), 2, "{text}");
}

#[test]
fn one_thread_runs_nothing_on_threads() {
    let text = text(NEST, Machine::Sequential);
    assert_eq!(text.matches("map@seq").count(), 1, "{text}");
    assert_eq!(text.matches("map@vec").count(), 2, "{text}");
}

#[test]
fn what_the_user_wrote_stays() {
    let source = NEST.replacen("map (\\(xs", "map@seq (\\(xs", 1);
    let chosen = chosen(&source, Machine::Threads);
    let text = program_to_string(&chosen.program, Spans::Omit);
    // The outer map is the user's; the ones inside it are now the outermost.
    assert_eq!(text.matches("map@par").count(), 2, "{text}");
    assert!(
        chosen
            .decisions
            .iter()
            .any(|decision| decision.choice == Choice::Fixed)
    );
}

#[test]
fn a_function_has_a_copy_for_each_level_it_is_called_at() {
    let source = NEST.replacen(
        "  in yss",
        "  let first: [n][m]f32 = map@seq (\\(row: [m]f32): [m]f32 ->
    let again: [m]f32 = inner {m} (row)
    in again) yss
  in first",
        1,
    );
    let text = text(&source, Machine::Threads);
    assert!(
        text.contains("fun inner {") && text.contains("fun inner_inside {"),
        "{text}"
    );
}

#[test]
fn copies_that_are_the_same_are_one() {
    let source = NEST
        .replacen(
            "  in yss",
            "  let first: [n][m]f32 = map@seq (\\(row: [m]f32): [m]f32 ->
    let again: [m]f32 = inner {m} (row)
    in again) yss
  in first",
            1,
        )
        .replacen("= map (\\(x", "= map@seq (\\(x", 1);
    let text = text(&source, Machine::Threads);
    assert!(
        text.contains("fun inner {") && !text.contains("fun inner_inside {"),
        "{text}"
    );
}

#[test]
fn rows_made_of_columns_are_made_in_tiles() {
    let source = r"
fun main {n, m} (xss: [n][m]f64): [m][n]f64 =
  let columns: [m][n]f64 = transpose xss
  let rows: [m][n]f64 = materialise columns
  in rows
";
    let text = text(source, Machine::Threads);
    assert_eq!(text.matches("split 16").count(), 2, "{text}");
    assert_eq!(text.matches("map@par").count(), 2, "{text}");
    assert_eq!(text.matches("map@vec").count(), 3, "{text}");
    let small = source.replace("{n, m}", "{m}").replace("n]", "8]");
    assert!(!self::text(&small, Machine::Threads).contains("split"));
}

const DOT: &str = r"
fun main {n} (xs: [n]f32, ys: [n]f32): f32 =
  let ps: [n]f32 = map (\(x: f32, y: f32): f32 ->
    let p: f32 = x * y
    in p) xs ys
  let s: f32 = reduce (\(a: f32, b: f32): f32 ->
    let c: f32 = a + b
    in c) 1.0f32 ps
  in s
entry main = main (xs: [n]f32, ys: [n]f32): f32
";

fn floats(count: usize) -> Value {
    let text: Vec<String> = (0..count).map(|at| format!("{}.0", at % 7)).collect();
    let program = almach_core::parse::parse_program(DOT, FileId(0)).unwrap();
    let ty = &program.entries.first().unwrap().params.first().unwrap().1;
    almach_value::parse(&format!("[{}]", text.join(", ")), ty).unwrap()
}

#[test]
fn a_dot_product_has_chunks_lanes_and_fma_and_no_temporary() {
    let chosen = chosen(DOT, Machine::Threads);
    let text = program_to_string(&chosen.program, Spans::Omit);
    assert!(text.contains("fma"), "{text}");
    assert!(text.contains("split 65536i64"), "{text}");
    assert!(text.contains("replicate@seq 64i64 -0.0f32"), "{text}");
    assert!(!text.contains("[n]f32 = map"), "{text}");
    let choices: Vec<Choice> = chosen.decisions.iter().map(|decision| decision.choice).collect();
    assert!(choices.contains(&Choice::FusedInto(Prim::Reduce)));
    assert!(choices.contains(&Choice::Chunks(65536)));
    assert!(choices.contains(&Choice::FusedMultiplyAdd));
}

#[test]
fn a_dot_product_is_what_it_was_at_every_size() {
    for count in [0, 1, 15, 16, 63, 64, 65, 200, 65536, 65537, 140_000] {
        agree(DOT, &[floats(count), floats(count)]);
    }
}

#[test]
fn no_sign_of_zero_is_made_up() {
    let source = DOT.replace("1.0f32 ps", "0.0f32 ps");
    let none = floats(0);
    let sum = agree(&source, &[none.clone(), none]);
    assert_eq!(format!("{sum:?}"), format!("{:?}", Value::from(0.0f32)));
}

const COLUMNS: &str = r"
fun main {n, m} (xss: [n][m]f32, ys: [m]f32): [m]f32 =
  let cols: [m][n]f32 = transpose xss
  let sums: [m]f32 = map (\(col: [n]f32, y: f32): f32 ->
    let squares: [n]f32 = map (\(x: f32): f32 ->
      let p: f32 = x * x
      in p) col
    let s: f32 = reduce (\(a: f32, b: f32): f32 ->
      let c: f32 = a + b
      in c) 0.0f32 squares
    let r: f32 = s + y
    in r) cols ys
  in sums
entry main = main (xss: [n][m]f32, ys: [m]f32): [m]f32
";

#[test]
fn sums_of_columns_read_memory_in_its_order() {
    let alone = text(COLUMNS, Machine::Sequential);
    assert!(alone.contains("reduceSeq") && alone.contains("fma"), "{alone}");
    assert!(!alone.contains("transpose"), "{alone}");
    // Threads share strips of columns, each row by row, and chunks of rows of what is left over.
    let shared = text(COLUMNS, Machine::Threads);
    for part in [
        "fma",
        "split 1024i64",
        "split 128i64",
        "reduceSeq (\\(acc: [1024]f32, x: [1024]f32)",
    ] {
        assert!(shared.contains(part), "{part}: {shared}");
    }
}

const PRODUCT: &str = r"
fun main {n, k, m} (a: [n][k]f64, b: [k][m]f64): [n][m]f64 =
  let bt: [m][k]f64 = transpose b
  let c: [n][m]f64 = map (\(row: [k]f64): [m]f64 ->
    let cells: [m]f64 = map (\(col: [k]f64): f64 ->
      let ps: [k]f64 = map (\(x: f64, y: f64): f64 ->
        let p: f64 = x * y
        in p) row col
      let s: f64 = reduce (\(a: f64, b: f64): f64 ->
        let c: f64 = a + b
        in c) 1.0f64 ps
      in s) bt
    in cells) a
  in c
entry main = main (a: [n][k]f64, b: [k][m]f64): [n][m]f64
";

fn matrix(rows: usize, columns: usize) -> Value {
    let program = almach_core::parse::parse_program(PRODUCT, FileId(0)).unwrap();
    let ty = &program.entries.first().unwrap().params.first().unwrap().1;
    let row = |i: usize| {
        let cells: Vec<String> = (0..columns)
            .map(|j| format!("{}.0", (i * 5 + j * 3) % 11))
            .collect();
        format!("[{}]", cells.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    almach_value::parse(&format!("[{}]", rows.join(", ")), ty).unwrap()
}

#[test]
fn products_of_matrices_have_tiles() {
    let text = text(PRODUCT, Machine::Threads);
    assert!(
        text.contains("split 64i64") && text.contains("split 16i64"),
        "{text}"
    );
    for (n, k, m) in [
        (1, 1, 1),
        (64, 2, 32),
        (65, 3, 33),
        (130, 5, 70),
        (5, 4, 64),
        (64, 3, 1),
    ] {
        agree(PRODUCT, &[matrix(n, k), matrix(k, m)]);
    }
}

/// A map whose function loops, as often as each element says.
const LOOPS: &str = r"
fun main {n} (xs: [n]i32): [n]i32 =
  let ys: [n]i32 = map (\(x: i32): i32 ->
    let <total: i32, left: i32> = loop (s: i32 = 0i32, k: i32 = x) while
        let on: bool = k > 0i32
        in on
      do
        let t: i32 = s + k
        let j: i32 = k - 3i32
        in <t, j>
    in total) xs
  in ys
entry main = main (xs: [n]i32): [n]i32
";

fn ints(count: i32) -> Value {
    let text: Vec<String> = (0..count).map(|at| (at * 7 % 50 - 5).to_string()).collect();
    let program = almach_core::parse::parse_program(LOOPS, FileId(0)).unwrap();
    let ty = &program.entries.first().unwrap().params.first().unwrap().1;
    almach_value::parse(&format!("[{}]", text.join(", ")), ty).unwrap()
}

#[test]
fn loops_inside_a_map_run_on_lanes_until_the_last_is_done() {
    let text = text(LOOPS, Machine::Threads);
    assert!(text.contains("split 32i64"), "{text}");
    assert_eq!(text.matches("map@vec").count(), 2, "{text}");
    for n in [0, 1, 31, 32, 33, 100] {
        agree(LOOPS, &[ints(n)]);
    }
}

#[test]
fn loops_that_can_fail_stay_with_their_element() {
    let source = LOOPS.replace("k - 3i32", "k / x");
    let text = text(&source, Machine::Threads);
    assert!(!text.contains("map@vec"), "{text}");
}

#[test]
fn loops_are_one_element_after_the_other_on_a_device_and_where_it_is_asked_for() {
    assert!(!text(LOOPS, Machine::Device).contains("map@vec"));
    let program = almach_core::parse::parse_program(LOOPS, FileId(0)).unwrap();
    let asked = chosen(LOOPS, Machine::Threads).asked;
    let masks = asked
        .iter()
        .find(|asked| asked.question.topic == Topic::Masks)
        .unwrap();
    let answers = [(masks.question, masks.count - 1)].into_iter().collect();
    let otherwise = choose_with(
        program,
        Machine::Threads,
        Without::default(),
        &Tactics::of(answers),
    )
    .unwrap();
    let text = program_to_string(&otherwise.program, Spans::Omit);
    assert!(!text.contains("map@vec"), "{text}");
}

const POINTS: &str = r"
fun main {n} (points: [n][2]f32): f32 =
  let xs: [n]f32 = map (\(p: [2]f32): f32 ->
    let a: f32 = p[0i32]
    let b: f32 = p[1i32]
    let c: f32 = a - b
    in c) points
  let s: f32 = reduce (\(a: f32, b: f32): f32 ->
    let c: f32 = max a b
    in c) 0.0f32 xs
  in s
entry main = main (points: [n][2]f32): f32
";

#[test]
fn short_rows_are_reduced_on_lanes() {
    let shown = text(POINTS, Machine::Threads);
    assert!(shown.contains("split 64i64"), "{shown}");
    let other = text(&POINTS.replace("p[1i32]", "p[2i32]"), Machine::Threads);
    assert!(
        !other.contains("split 64i64"),
        "what is out of bounds stays in order: {other}"
    );
}

const COUNTS: &str = r"
fun main {n} (xs: [n]i32): i64 =
  let ones: [n]i64 = map (\(x: i32): i64 ->
    let p: bool = x > 3i32
    let c: i64 = if p: i64 then 1i64 else 0i64
    in c) xs
  let s: i64 = reduce (\(a: i64, b: i64): i64 ->
    let c: i64 = a + b
    in c) 0i64 ones
  in s
entry main = main (xs: [n]i32): i64
";

#[test]
fn counts_are_summed_in_bytes() {
    for machine in [Machine::Threads, Machine::Sequential] {
        let shown = text(COUNTS, machine);
        assert!(
            shown.contains("split 8192i64") && shown.contains("[64]u8"),
            "{shown}"
        );
    }
    let twos = text(&COUNTS.replace("then 1i64", "then 2i64"), Machine::Threads);
    assert!(twos.contains("split 4096i64"), "{twos}");
    for other in ["then 1000i64", "then -1i64"] {
        let shown = text(&COUNTS.replace("then 1i64", other), Machine::Threads);
        assert!(!shown.contains("u8"), "{shown}");
    }
    for n in [0, 1, 8191, 8192, 8193, 40000] {
        agree(COUNTS, &[ints(n)]);
    }
}

const NEAREST: &str = r"
fun main {n, k} (xs: [n]i32, cs: [k]i32): [n]i32 =
  let t: bool = k > 0i64
  let ys: [n]i32 = map (\(x: i32): i32 ->
    let checked: () = assert t, none
    let first: i32 = cs[0i32]
    let ds: [k]i32 = map (\(c: i32): i32 ->
      let d: i32 = c - x
      in d) cs
    let y: i32 = reduce (\(a: i32, b: i32): i32 ->
      let c: bool = b < a
      let r: i32 = if c: i32 then b else a
      in r) first ds
    in y) xs
  in ys
entry main = main (xs: [n]i32, cs: [k]i32): [n]i32
";

#[test]
fn a_reduction_inside_a_map_is_a_loop_on_lanes() {
    let source = NEAREST.replace("none", "\"none\"");
    let shown = text(&source, Machine::Threads);
    assert!(shown.contains("split 64i64"), "{shown}");
    for n in [0, 1, 63, 64, 65, 200] {
        agree(&source, &[ints(n), ints(5)]);
    }
    // An array of the element's own is no other's.
    let own = source.replace("c - x", "c / x");
    assert!(!text(&own, Machine::Threads).contains("split 32i64"));
}

const TRIANGLE: &str = r"
fun main {n, k} (xs: [n]i32, cs: [k]i32): [n]i32 =
  let is: [k]i64 = iota k
  let ys: [n]i32 = map (\(x: i32): i32 ->
    let row: [k]i32 = map (\(c: i32): i32 ->
      let d: i32 = c - x
      in d) cs
    let ts: [k]i32 = map (\(i: i64): i32 ->
      let part: [i]i32 = slice row[0i64:i:1i64]
      let s: i32 = reduce (\(a: i32, b: i32): i32 ->
        let c: i32 = a + b
        in c) 0i32 part
      in s) is
    let most: i32 = reduce (\(a: i32, b: i32): i32 ->
      let c: i32 = max a b
      in c) 0i32 ts
    in most) xs
  in ys
entry main = main (xs: [n]i32, cs: [k]i32): [n]i32
";

#[test]
fn the_same_rows_of_a_triangle_are_summed_for_several_elements_at_a_time() {
    for machine in [Machine::Threads, Machine::Sequential] {
        let shown = text(TRIANGLE, machine);
        assert!(shown.contains("(elements: [16]i32)"), "{shown}");
    }
    for n in [0, 1, 15, 16, 17, 40] {
        agree(TRIANGLE, &[ints(n), ints(5)]);
    }
    // Rows of one size have lanes of their own.
    for other in ["row[0i64:n:1i64]", "row[0i64:k:1i64]"] {
        let size = other.get(9..10).unwrap_or("k");
        let source = TRIANGLE
            .replace("row[0i64:i:1i64]", other)
            .replace("[i]i32", &format!("[{size}]i32"));
        assert!(
            !text(&source, Machine::Sequential).contains("elements"),
            "{other}"
        );
    }
}

/// Rows that a loop makes, by a map that is written so.
fn rows_by_a_loop(map: &str) -> String {
    let source = r"
fun main {n} (xs: [n]i64): [n][?]i64 =
  let rows: [n][?]i64 = MAP (\(x: i64): {m} [m]i64 ->
    let total: i64 = loop (acc: i64 = 0i64) for i: i64 < x do
      let next: i64 = acc + i
      in next
    let is_much: bool = total > 2i64
    let {k} row: [k]i64 = if is_much: {j} [j]i64 then
      let one: [1]i64 = array i64 [total]
      in {1i64} one
    else
      let none: [0]i64 = array i64 []
      in {0i64} none
    in {k} row) xs
  in rows

entry main = main (xs: [n]i64): [n][?]i64
";
    source.replace("MAP", map)
}

#[test]
fn rows_that_loops_make_are_shared_by_threads() {
    let source = rows_by_a_loop("map");
    let text = text(&source, Machine::Threads);
    assert!(text.contains("cells: [n]Rows"), "{text}");
    assert_eq!(text.matches("map@par").count(), 1, "{text}");
    let program = almach_core::parse::parse_program(&source, FileId(0)).unwrap();
    let ty = &program.entries.first().unwrap().params.first().unwrap().1;
    for rows in ["[]", "[3]", "[0, 5, 1, 9, 2]"] {
        agree(&source, &[almach_value::parse(rows, ty).unwrap()]);
    }
}

#[test]
fn rows_stay_in_order_on_one_thread_and_where_the_user_says_so() {
    let free = rows_by_a_loop("map");
    let fixed = rows_by_a_loop("map@par");
    for (source, machine) in [
        (&free, Machine::Sequential),
        (&free, Machine::Device),
        (&fixed, Machine::Threads),
    ] {
        let text = text(source, machine);
        assert!(!text.contains("cells"), "{text}");
    }
}
