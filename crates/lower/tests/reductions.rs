//! What chosen reductions become in Imp: no array of the size of their input, and every element read once.

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_strategy::{Machine, choose};

const DOT: &str = r"
fun main {n} (xs: [n]f32, ys: [n]f32): f32 =
  let ps: [n]f32 = map (\(x: f32, y: f32): f32 ->
    let p: f32 = x * y
    in p) xs ys
  let s: f32 = reduce (\(a: f32, b: f32): f32 ->
    let c: f32 = a + b
    in c) 0.0f32 ps
  in s
entry main = main (xs: [n]f32, ys: [n]f32): f32
";

const COLUMNS: &str = r"
fun main {n, m} (xss: [n][m]f32): [m]f32 =
  let cols: [m][n]f32 = transpose xss
  let sums: [m]f32 = map (\(col: [n]f32): f32 ->
    let s: f32 = reduce (\(a: f32, b: f32): f32 ->
      let c: f32 = a + b
      in c) 0.0f32 col
    in s) cols
  in sums
entry main = main (xss: [n][m]f32): [m]f32
";

const SCAN: &str = r"
fun main {n} (xs: [n]i32): [n]i32 =
  let ys: [n]i32 = map (\(x: i32): i32 ->
    let y: i32 = x * 3i32
    in y) xs
  let zs: [n]i32 = scan (\(a: i32, b: i32): i32 ->
    let c: i32 = a + b
    in c) 0i32 ys
  in zs
entry main = main (xs: [n]i32): [n]i32
";

fn imp(text: &str, machine: Machine) -> String {
    let program = almach_core::parse::parse_program(text, FileId(0)).unwrap();
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{}", failure.diagnostic.title));
    let chosen = choose(program.into_inner(), machine).unwrap().program;
    let chosen = check(chosen, "strategy").unwrap_or_else(|failure| panic!("{}", failure.diagnostic.title));
    let lowered = almach_lower::lower(&chosen, &["main"]).unwrap_or_else(|problems| panic!("{problems:?}"));
    lowered.imp.program().to_string()
}

fn lines<'t>(text: &'t str, with: &str) -> Vec<&'t str> {
    text.lines()
        .map(str::trim)
        .filter(|line| line.contains(with))
        .collect()
}

#[test]
fn a_dot_product_is_one_pass_without_an_array() {
    // The rows of a chunk, those left over, those of one vector, and the last elements; a group has those of a chunk, those left
    // over, and the last elements, which its work-items read side by side.
    for (machine, reads) in [
        (Machine::Sequential, 3),
        (Machine::Threads, 4),
        (Machine::Device, 3),
    ] {
        let text = imp(DOT, machine);
        assert!(!text.contains("[n]\n"), "{text}");
        assert!(!text.contains("swap"), "{text}");
        assert_eq!(lines(&text, "xs[").len(), reads + 1, "{text}");
        assert_eq!(lines(&text, "fma(").len(), reads, "{text}");
        assert!(
            !lines(&text, "check").iter().any(|line| !line.contains("E0805")),
            "{text}"
        );
    }
}

#[test]
fn columns_are_updated_in_place_row_by_row() {
    let text = imp(COLUMNS, Machine::Sequential);
    assert!(!text.contains("swap"), "{text}");
    assert_eq!(lines(&text, "simd for").len(), 1, "{text}");
    // The states of the columns are the result.
    assert_eq!(lines(&text, "alloc").len(), 1, "{text}");
    assert!(!text.contains("copy"), "{text}");
}

#[test]
fn what_feeds_a_scan_is_computed_where_it_is_read() {
    let text = imp(SCAN, Machine::Sequential);
    // The result; chunks have a few cells each, and squares of eight elements of eight chunks.
    let (chunks, vectors): (Vec<&str>, Vec<&str>) = lines(&text, "alloc")
        .into_iter()
        .partition(|line| line.ends_with("[8]") || line.ends_with("[64]"));
    assert_eq!((chunks.len(), vectors.len()), (7, 1), "{text}");
    assert!(text.contains("* 3i32"), "{text}");
}
