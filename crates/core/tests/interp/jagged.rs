//! Jagged arrays.

use crate::run;

#[test]
fn rows_of_their_own_lengths() {
    let text = "
fun f {n} (xss: [n][?]f32): ([n][?]f32, [n + 1]i64, i64) =
  let yss: [n][?]f32 = map (\\{c} (xs: [c]f32): {k} [k]f32 ->
    let {k} ys: [k]f32 = filter (\\(x: f32): bool -> let b: bool = x > 0.0f32 in b) xs
    in {k} ys) xss
  let {m} flat: [m]f32 = flatten yss
  let offsets: [n + 1]i64 = segments yss
  let again: [n][?]f32 = unflatten offsets flat
  let t: ([n][?]f32, [n + 1]i64, i64) = (again, offsets, m)
  in t
entry main = f (xss: [][?]f32): ([][?]f32, []i64, i64)";
    assert_eq!(
        run(text, &["[[1, -1], [], [-2], [3, 4]]"]),
        "([[1.0], [], [], [3.0, 4.0]], [0, 1, 1, 1, 3], 3)"
    );
    assert_eq!(run(text, &["[]"]), "([], [0], 0)");
}

#[test]
fn results_that_depend_on_the_element() {
    let text = "
fun f (n: i64): [n][?]i64 =
  let is: [n]i64 = iota n
  let rows: [n][?]i64 = map (\\(i: i64): [i]i64 -> let r: [i]i64 = iota i in r) is
  in rows
entry main = f (n: i64): [][?]i64";
    assert_eq!(run(text, &["3"]), "[[], [0], [0, 1]]");
}

#[test]
fn reductions_whose_state_grows() {
    let text = "
fun f {n} (xss: [n][?]i32): {k} [k]i32 =
  let none: [0]i32 = array i32 []
  let {k} all: [k]i32 = reduce (\\{a, b} (x: [a]i32, y: [b]i32): {c} [c]i32 ->
    let z: [a + b]i32 = concat x y
    let c: i64 = a + b
    in {c} z) none xss
  in {k} all
entry main = f (xss: [][?]i32): []i32";
    assert_eq!(run(text, &["[[1], [], [2, 3]]"]), "[1, 2, 3]");
    let scan = "
fun f {n} (xss: [n][?]i32): [n][?]i32 =
  let none: [0]i32 = array i32 []
  let all: [n][?]i32 = scan (\\{a, b} (x: [a]i32, y: [b]i32): {c} [c]i32 ->
    let z: [a + b]i32 = concat x y
    let c: i64 = a + b
    in {c} z) none xss
  in all
entry main = f (xss: [][?]i32): [][?]i32";
    assert_eq!(run(scan, &["[[1], [], [2, 3]]"]), "[[1], [1], [1, 2, 3]]");
}

#[test]
fn rows_taken_out_and_put_in() {
    let text = "
fun f {n} (xss: [n][?]i32, i: i64, r: [3]i32): {k} ([k]i32, [n][?]i32, i32) =
  let {k} row: [k]i32 = xss[i]
  let yss: [n][?]i32 = xss with [i] = r
  let zss: [n][?]i32 = yss with [i, 1i64] = 0i32
  let x: i32 = zss[i, 2u8]
  let t: ([k]i32, [n][?]i32, i32) = (row, zss, x)
  in {k} t
entry main = f (xss: [][?]i32, i: i64, r: [3]i32): ([]i32, [][?]i32, i32)";
    assert_eq!(
        run(text, &["[[1], [2, 3]]", "0", "[7, 8, 9]"]),
        "([1], [[7, 0, 9], [2, 3]], 9)"
    );
}

#[test]
fn literals_gathers_and_histograms_of_rows() {
    let text = "
fun f {a, b} (x: [a]i32, y: [b]i32): [3][?]i32 =
  let xss: [2][?]i32 = array [?]i32 [x, y]
  let is: [3]i32 = array i32 [1i32, 0i32, 1i32]
  let yss: [3][?]i32 = gather is xss
  in yss
entry main = f (x: []i32, y: []i32): [3][?]i32";
    assert_eq!(run(text, &["[1]", "[2, 3]"]), "[[2, 3], [1], [2, 3]]");
    let histogram = "
fun f {n} (is: [n]i32, xss: [n][?]i32): [2][?]i32 =
  let none: [0]i32 = array i32 []
  let dest: [2][?]i32 = array [?]i32 [none, none]
  let r: [2][?]i32 = reduce_by_index (\\{a, b} (x: [a]i32, y: [b]i32): {c} [c]i32 ->
    let z: [a + b]i32 = concat x y
    let c: i64 = a + b
    in {c} z) dest none is xss
  in r
entry main = f (is: []i32, xss: [][?]i32): [2][?]i32";
    assert_eq!(
        run(histogram, &["[1, 0, 1]", "[[1], [2], [3, 4]]"]),
        "[[2], [1, 3, 4]]"
    );
}

#[test]
fn deeper_nesting() {
    let text = "
fun f {n} (xsss: [n][?][2]i32): ([n]i64, [n][?]i32) =
  let <ls: [n]i64, ss: [n][?]i32> = map (\\{c} (xss: [c][2]i32): <i64, [c]i32> ->
    let sums: [c]i32 = map (\\(p: [2]i32): i32 ->
      let a: i32 = p[0i64]
      let b: i32 = p[1i64]
      let s: i32 = a + b
      in s) xss
    in <c, sums>) xsss
  let t: ([n]i64, [n][?]i32) = (ls, ss)
  in t
entry main = f (xsss: [][?][2]i32): ([]i64, [][?]i32)";
    assert_eq!(
        run(text, &["[[], [[1, 2], [3, 4]], [[5, 6]]]"]),
        "([0, 2, 1], [[], [3, 7], [11]])"
    );
}
