//! Scalars, vectors, tuples.

use crate::run;

#[test]
fn straight_line_code() {
    let text = "
fun f (x: i32, y: i32): i32 =
  let a: i32 = x + y
  let b: i32 = a * 3i32
  let c: i32 = 100i32 - b
  let d: i32 = c / y
  in d
entry main = f (x: i32, y: i32): i32";
    assert_eq!(run(text, &["4", "3"]), "26");
    assert_eq!(run(text, &["2147483647", "1"]), "-2147483548");
}

#[test]
fn tuples_are_free() {
    let text = "
fun f (p: (i32, (bool, f64))): ((f64, i32), i32) =
  let a: i32 = p.0
  let q: (bool, f64) = p.1
  let x: f64 = q.1
  let t: (f64, i32) = (x, a)
  let u: ((f64, i32), i32) = (t, 7i32)
  in u
entry main = f (p: (i32, (bool, f64))): ((f64, i32), i32)";
    assert_eq!(run(text, &["(3, (true, 2.5))"]), "((2.5, 3), 7)");
}

#[test]
fn vectors_work_lane_by_lane() {
    let text = "
fun f {n} (xs: [n]f32, s: f32): [4*(n/4)]f32 =
  let vs: [n/4]vec 4 f32 = asVector 4i64 xs
  let ws: [n/4]vec 4 f32 = map (\\(v: vec 4 f32): vec 4 f32 ->
    let a: vec 4 f32 = v * v
    let b: vec 4 f32 = a + s
    let c: vec 4 f32 = neg b
    let d: vec 4 f32 = fma c s v
    in d) vs
  let ys: [4*(n/4)]f32 = asScalar ws
  in ys
entry main = f (xs: []f32, s: f32): []f32";
    assert_eq!(
        run(text, &["[1, 2, 3, 4, 5, 6, 7, 8]", "2"]),
        "[-5.0, -10.0, -19.0, -32.0, -49.0, -70.0, -95.0, -124.0]"
    );
    assert_eq!(run(text, &["[]", "2"]), "[]");
}

#[test]
fn a_vector_is_a_value() {
    let text = "
fun f (v: vec 2 i32, w: vec 2 i32): (vec 2 bool, vec 2 i32) =
  let b: vec 2 bool = v < w
  let c: vec 2 i32 = v / w
  let t: (vec 2 bool, vec 2 i32) = (b, c)
  in t
entry main = f (v: vec 2 i32, w: vec 2 i32): (vec 2 bool, vec 2 i32)";
    assert_eq!(
        run(text, &["vec [1, 9]", "vec [2, 3]"]),
        "(vec [true, false], vec [0, 3])"
    );
}

#[test]
fn unsigned_and_narrow_integers() {
    let text = "
fun f (x: u8, y: u8): (u8, u8, bool, i64) =
  let a: u8 = x + y
  let b: u8 = x >> y
  let c: bool = x < y
  let d: i64 = i64 a
  let t: (u8, u8, bool, i64) = (a, b, c, d)
  in t
entry main = f (x: u8, y: u8): (u8, u8, bool, i64)";
    assert_eq!(run(text, &["250", "10"]), "(4, 0, false, 4)");
}
