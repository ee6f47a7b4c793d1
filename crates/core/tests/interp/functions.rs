//! Operations with functions.

use crate::run;

const ADD: &str = "\\(a: i32, b: i32): i32 -> let c: i32 = a + b in c";

#[test]
fn map_over_several_arrays_and_to_several() {
    let text = "
fun f {n} (xs: [n]i32, ys: [n]f32): ([n]f32, [n]bool) =
  let <a: [n]f32, b: [n]bool> = map (\\(x: i32, y: f32): <f32, bool> ->
    let z: f32 = f32 x
    let s: f32 = z + y
    let b: bool = x > 1i32
    in <s, b>) xs ys
  let t: ([n]f32, [n]bool) = (a, b)
  in t
entry main = f (xs: []i32, ys: []f32): ([]f32, []bool)";
    assert_eq!(
        run(text, &["[1, 2]", "[0.5, 0.25]"]),
        "([1.5, 2.25], [false, true])"
    );
}

#[test]
fn map_to_tuples_and_rows_keeps_shapes() {
    let text = "
fun f {n} (xs: [n]i64): [n]((i64, [2]i64), ()) =
  let u: () = ()
  let ys: [n]((i64, [2]i64), ()) = map (\\(x: i64): ((i64, [2]i64), ()) ->
    let r: [2]i64 = array i64 [x, 7i64]
    let p: (i64, [2]i64) = (x, r)
    let q: ((i64, [2]i64), ()) = (p, u)
    in q) xs
  in ys
entry main = f (xs: []i64): []((i64, [2]i64), ())";
    assert_eq!(run(text, &["[1, 2]"]), "[((1, [1, 7]), ()), ((2, [2, 7]), ())]");
    assert_eq!(run(text, &["[]"]), "[]");
    let rows_of_nothing = "
fun f {n} (k: i64, xs: [n]i64): i64 =
  let yss: [n][k]i64 = map (\\(x: i64): [k]i64 -> let r: [k]i64 = iota k in r) xs
  let t: [k][n]i64 = transpose yss
  let l: i64 = length t
  in l
entry main = f (k: i64, xs: []i64): i64";
    assert_eq!(run(rows_of_nothing, &["5", "[]"]), "5");
}

#[test]
fn reduce_and_scan_start_from_the_left() {
    // Not neutral, not commutative: shows the order.
    let text = |prim: &str, ty: &str| {
        format!(
            "
fun f {{n}} (e: i32, xs: [n]i32): {ty} =
  let r: {ty} = {prim} (\\(a: i32, b: i32): i32 ->
    let c: i32 = a * 10i32
    let d: i32 = c + b
    in d) e xs
  in r
entry main = f (e: i32, xs: []i32): {}",
            ty.replace('n', "")
        )
    };
    for prim in ["reduce", "reduce_comm", "reduceSeq"] {
        assert_eq!(run(&text(prim, "i32"), &["1", "[2, 3, 4]"]), "1234");
        assert_eq!(run(&text(prim, "i32"), &["1", "[]"]), "1");
    }
    assert_eq!(
        run(&text("scan", "[n]i32"), &["1", "[2, 3, 4]"]),
        "[12, 123, 1234]"
    );
    assert_eq!(
        run(&text("scan_exclusive", "[n]i32"), &["1", "[2, 3, 4]"]),
        "[1, 12, 123]"
    );
    assert_eq!(run(&text("scan", "[n]i32"), &["1", "[]"]), "[]");
}

#[test]
fn reduce_over_tuples() {
    let text = "
fun f {n} (xs: [n]f32): (f32, i64) =
  let is: [n]i64 = iota n
  let ps: [n](f32, i64) = zip xs is
  let e: (f32, i64) = (-f32.inf, -1i64)
  let r: (f32, i64) = reduce (\\(p: (f32, i64), q: (f32, i64)): (f32, i64) ->
    let a: f32 = p.0
    let b: f32 = q.0
    let c: bool = a < b
    let m: (f32, i64) = if c: (f32, i64) then q else p
    in m) e ps
  in r
entry main = f (xs: []f32): (f32, i64)";
    assert_eq!(run(text, &["[1, 5, 3, 5]"]), "(5.0, 1)");
    assert_eq!(run(text, &["[]"]), "(-inf, -1)");
}

#[test]
fn operators_may_swap_and_forget() {
    let text = "
fun f {n} (xs: [n](i32, i32)): (i32, i32) =
  let e: (i32, i32) = (1i32, 2i32)
  let r: (i32, i32) = reduceSeq (\\(p: (i32, i32), q: (i32, i32)): (i32, i32) ->
    let a: i32 = p.0
    let b: i32 = p.1
    let s: (i32, i32) = (b, a)
    in s) e xs
  in r
entry main = f (xs: [](i32, i32)): (i32, i32)";
    assert_eq!(run(text, &["[(0, 0)]"]), "(2, 1)");
    assert_eq!(run(text, &["[(0, 0), (0, 0)]"]), "(1, 2)");
}

#[test]
fn reduce_of_rows() {
    let text = format!(
        "
fun f {{n, m}} (xss: [n][m]i32): [m]i32 =
  let zero: [m]i32 = replicate m 0i32
  let r: [m]i32 = reduce (\\(a: [m]i32, b: [m]i32): [m]i32 ->
    let c: [m]i32 = map ({ADD}) a b
    in c) zero xss
  in r
entry main = f (xss: [][]i32): []i32"
    );
    assert_eq!(run(&text, &["[[1, 2], [3, 4], [5, 6]]"]), "[9, 12]");
}

#[test]
fn reduce_seq_changes_type() {
    let text = "
fun f {n} (xs: [n]i32): f64 =
  let r: f64 = reduceSeq (\\(a: f64, x: i32): f64 ->
    let y: f64 = f64 x
    let b: f64 = a / 2.0f64
    let c: f64 = b + y
    in c) 0.0f64 xs
  in r
entry main = f (xs: []i32): f64";
    assert_eq!(run(text, &["[1, 2, 3]"]), "4.25");
}

#[test]
fn filter_and_partition() {
    let text = "
fun f {n} (xs: [n](i32, f32)): {a, b, c} ([a](i32, f32), [b](i32, f32), [c](i32, f32)) =
  let {a} ys: [a](i32, f32) = filter (\\(p: (i32, f32)): bool ->
    let x: i32 = p.0
    let b: bool = x > 2i32
    in b) xs
  let {b, c} both: ([b](i32, f32), [c](i32, f32)) = partition (\\(p: (i32, f32)): bool ->
    let x: f32 = p.1
    let b: bool = x < 1.0f32
    in b) xs
  let l: [b](i32, f32) = both.0
  let r: [c](i32, f32) = both.1
  let t: ([a](i32, f32), [b](i32, f32), [c](i32, f32)) = (ys, l, r)
  in {a, b, c} t
entry main = f (xs: [](i32, f32)): ([](i32, f32), [](i32, f32), [](i32, f32))";
    assert_eq!(
        run(text, &["[(1, 0.5), (3, 1.5), (4, 0.0)]"]),
        "([(3, 1.5), (4, 0.0)], [(1, 0.5), (4, 0.0)], [(3, 1.5)])"
    );
    assert_eq!(run(text, &["[]"]), "([], [], [])");
}

#[test]
fn histograms() {
    let text = format!(
        "
fun f {{n, k}} (dest: [k]i32, is: [n]i8, xs: [n]i32): [k]i32 =
  let h: [k]i32 = reduce_by_index ({ADD}) dest 0i32 is xs
  in h
entry main = f (dest: []i32, is: []i8, xs: []i32): []i32"
    );
    assert_eq!(
        run(
            &text,
            &["[100, 0, 0]", "[0, 2, 2, -1, 3, 0]", "[1, 2, 3, 4, 5, 6]"]
        ),
        "[107, 0, 5]"
    );
    let tuples = "
fun f {n} (is: [n]u64, xs: [n](i32, f32)): [2](i32, f32) =
  let e: (i32, f32) = (0i32, 0.0f32)
  let dest: [2](i32, f32) = replicate 2i64 e
  let h: [2](i32, f32) = reduce_by_index (\\(p: (i32, f32), q: (i32, f32)): (i32, f32) ->
    let a: i32 = p.0
    let b: i32 = q.0
    let c: i32 = a + b
    let x: f32 = p.1
    let y: f32 = q.1
    let z: f32 = max x y
    let r: (i32, f32) = (c, z)
    in r) dest e is xs
  in h
entry main = f (is: []u64, xs: [](i32, f32)): [2](i32, f32)";
    assert_eq!(
        run(
            tuples,
            &["[1, 18446744073709551615, 1]", "[(1, 2), (3, 4), (5, 1)]"]
        ),
        "[(0, 0.0), (6, 2.0)]"
    );
}

#[test]
fn placed_and_materialised() {
    let text = "
fun f {n} (xs: [n]f32): [n]f32 =
  let a: [n]f32 = toGlobal (\\(x: [n]f32): [n]f32 -> let y: [n]f32 = reverse x in y) xs
  let b: [n]f32 = materialise a
  in b
entry main = f (xs: []f32): []f32";
    assert_eq!(run(text, &["[1, 2]"]), "[2.0, 1.0]");
}

#[test]
fn calls_inside_functions() {
    let text = "
fun fact (n: i64): i64 =
  let z: bool = n <= 1i64
  let r: i64 = if z: i64 then
      1i64
    else
      let m: i64 = n - 1i64
      let k: i64 = fact (m)
      let p: i64 = n * k
      in p
  in r

fun f {n} (xs: [n]i64): i64 =
  let ys: [n]i64 = map (\\(x: i64): i64 -> let y: i64 = fact (x) in y) xs
  let s: i64 = reduce (\\(a: i64, b: i64): i64 ->
    let c: i64 = fact (b)
    let d: i64 = a + c
    in d) 0i64 xs
  let t: i64 = reduce (\\(a: i64, b: i64): i64 -> let c: i64 = a + b in c) s ys
  in t
entry main = f (xs: []i64): i64";
    assert_eq!(run(text, &["[1, 2, 3, 4]"]), "66");
}
