//! Every way to fail.

use crate::{call, fails};

fn one(params: &str, border: &str, result: &str, shown: &str, exp: &str) -> String {
    format!(
        "fun f {params}: {result} =\n  let r: {result} = {exp}\n  in r\nentry main = f {border}: {shown}\n"
    )
}

#[test]
fn scalars() {
    let op = |op: &str| one("(x: i32, y: i32)", "(x: i32, y: i32)", "i32", "i32", op);
    assert_eq!(fails(&op("x / y"), &["1", "0"]), "E0802: division by zero");
    assert_eq!(fails(&op("x % y"), &["1", "0"]), "E0802: division by zero");
    assert_eq!(
        fails(&op("x << y"), &["1", "-3"]),
        "E0803: negative shift count -3"
    );
    assert_eq!(fails(&op("x ** y"), &["2", "-1"]), "E0804: negative exponent -1");
}

#[test]
fn the_span_is_the_statements() {
    let text = "
fun g (x: i32): i32 =
  let@0:41:46 r: i32 = 10i32 / x
  in r
fun f {n} (xs: [n]i32): [n]i32 =
  let ys: [n]i32 = map (\\(x: i32): i32 -> let y: i32 = g (x) let z: i32 = y + 1i32 in z) xs
  in ys
entry main = f (xs: []i32): []i32";
    let error = call(text, &["[1, 2, 0]"]).err().unwrap();
    assert_eq!((error.span.start, error.span.end), (41, 46));
    assert_eq!(error.notes, ["called by way of g < f"]);
    let diagnostic = error.to_diagnostic();
    assert_eq!(diagnostic.title, "division by zero");
    assert_eq!(diagnostic.code.0, "E0802");
}

#[test]
fn assertions() {
    let text = "
fun f (c: bool): i32 =
  let u: () = assert c, \"it does not hold\"
  in 1i32
entry main = f (c: bool): i32";
    assert_eq!(fails(text, &["false"]), "E0811: it does not hold");
    assert_eq!(crate::run(text, &["true"]), "1");
}

#[test]
fn indices() {
    let index = one(
        "{n} (xs: [n]f32, i: i32)",
        "(xs: []f32, i: i32)",
        "f32",
        "f32",
        "xs[i]",
    );
    assert_eq!(
        fails(&index, &["[1, 2]", "2"]),
        "E0801: index 2 is out of bounds for an array of size 2"
    );
    assert_eq!(
        fails(&index, &["[1, 2]", "-1"]),
        "E0801: index -1 is out of bounds for an array of size 2"
    );
    let unsigned = one(
        "{n} (xs: [n]f32, i: u64)",
        "(xs: []f32, i: u64)",
        "f32",
        "f32",
        "xs[i]",
    );
    assert_eq!(
        fails(&unsigned, &["[1]", "18446744073709551615"]),
        "E0801: index 18446744073709551615 is out of bounds for an array of size 1"
    );
    let two = one(
        "{n, m} (xs: [n][m]f32, i: i32, j: i32)",
        "(xs: [][]f32, i: i32, j: i32)",
        "f32",
        "f32",
        "xs[i, j]",
    );
    assert_eq!(
        fails(&two, &["[[1, 2], [3, 4]]", "0", "2"]),
        "E0801: index 2 is out of bounds for an array of size 2"
    );
    assert_eq!(
        fails(&two, &["[[1, 2], [3, 4]]", "5", "0"]),
        "E0801: index 5 is out of bounds for an array of size 2"
    );
    let gather = one(
        "{n, m} (is: [n]i32, xs: [m]f32)",
        "(is: []i32, xs: []f32)",
        "[n]f32",
        "[]f32",
        "gather is xs",
    );
    assert_eq!(
        fails(&gather, &["[0, 7]", "[1, 2]"]),
        "E0801: index 7 is out of bounds for an array of size 2"
    );
    let update = one(
        "{n} (xs: [n]f32, i: i64)",
        "(xs: []f32, i: i64)",
        "[n]f32",
        "[]f32",
        "xs with [i] = 0.0f32",
    );
    assert_eq!(
        fails(&update, &["[1]", "1"]),
        "E0801: index 1 is out of bounds for an array of size 1"
    );
    let update2 = one(
        "{n, m} (xs: [n][m]f32, i: i64)",
        "(xs: [][]f32, i: i64)",
        "[n][m]f32",
        "[][]f32",
        "xs with [0i64, i] = 0.0f32",
    );
    assert_eq!(
        fails(&update2, &["[[1]]", "-4"]),
        "E0801: index -4 is out of bounds for an array of size 1"
    );
}

#[test]
fn slices() {
    let slice = one(
        "{n} (xs: [n]i32, b: i64, k: i64, s: i64)",
        "(xs: []i32, b: i64, k: i64, s: i64)",
        "[k]i32",
        "[]i32",
        "slice xs[b:k:s]",
    );
    assert_eq!(
        fails(&slice, &["[1, 2, 3]", "1", "3", "1"]),
        "E0808: a slice from 1 of 3 elements with step 1 reaches outside an array of size 3"
    );
    assert_eq!(
        fails(&slice, &["[1, 2, 3]", "1", "3", "-1"]),
        "E0808: a slice from 1 of 3 elements with step -1 reaches outside an array of size 3"
    );
    assert_eq!(
        fails(&slice, &["[1, 2, 3]", "1", "-3", "1"]),
        "E0806: negative size -3"
    );
    let take = one(
        "{n} (k: i64, xs: [n]i32)",
        "(k: i64, xs: []i32)",
        "[k]i32",
        "[]i32",
        "take k xs",
    );
    assert_eq!(
        fails(&take, &["4", "[1, 2, 3]"]),
        "E0808: an array of size 3 does not have 4 elements"
    );
    assert_eq!(fails(&take, &["-4", "[1, 2, 3]"]), "E0806: negative size -4");
    let drop = one(
        "{n} (k: i64, xs: [n]i32)",
        "(k: i64, xs: []i32)",
        "[n - k]i32",
        "[]i32",
        "drop k xs",
    );
    assert_eq!(
        fails(&drop, &["4", "[1, 2, 3]"]),
        "E0808: an array of size 3 does not have 4 elements"
    );
}

#[test]
fn sizes() {
    let iota = one("(n: i64)", "(n: i64)", "[n]i64", "[]i64", "iota n");
    assert_eq!(fails(&iota, &["-1"]), "E0806: negative size -1");
    let split = one(
        "{n} (m: i64, xs: [n]i32)",
        "(m: i64, xs: []i32)",
        "[n/m][m]i32",
        "[][]i32",
        "split m xs",
    );
    assert_eq!(
        fails(&split, &["2", "[1, 2, 3]"]),
        "E0807: size 3 is not divisible by 2"
    );
    assert_eq!(
        fails(&split, &["0", "[1, 2, 3]"]),
        "E0807: size 3 is not divisible by 0"
    );
    assert_eq!(fails(&split, &["-2", "[1, 2]"]), "E0806: negative size -2");
    let vector = one(
        "{n} (xs: [n]i32)",
        "(xs: []i32)",
        "[n/4]vec 4 i32",
        "[](vec 4 i32)",
        "asVector 4i64 xs",
    );
    assert_eq!(
        fails(&vector, &["[1, 2, 3]"]),
        "E0807: size 3 is not divisible by 4"
    );
    let coerce = one(
        "{n} (m: i64, xs: [n]i32)",
        "(m: i64, xs: []i32)",
        "[m]i32",
        "[]i32",
        "xs :> [m]i32",
    );
    assert_eq!(
        fails(&coerce, &["3", "[1, 2]"]),
        "E0805: expected size 3, found 2"
    );
    let rows = one(
        "{n} (m: i64, xs: [n][?]i32)",
        "(m: i64, xs: [][?]i32)",
        "[n][m]i32",
        "[][]i32",
        "xs :> [n][m]i32",
    );
    assert_eq!(
        fails(&rows, &["2", "[[1, 2], [3]]"]),
        "E0805: expected size 2, found 1"
    );
    let edge = one(
        "{n} (xs: [n]i32)",
        "(xs: []i32)",
        "[n + 2]i32",
        "[]i32",
        "pad_edge 1i64 1i64 xs",
    );
    assert_eq!(fails(&edge, &["[]"]), "E0814: the array is empty");
    let pad = one(
        "{n} (l: i64, xs: [n]i32)",
        "(l: i64, xs: []i32)",
        "[l + n]i32",
        "[]i32",
        "pad l 0i64 7i32 xs",
    );
    assert_eq!(fails(&pad, &["-1", "[1, 2]"]), "E0806: negative size -1");
    let range = "
fun f (s: i64): {k} [k]i64 =
  let {k} r: [k]i64 = range 0i64 9i64 s
  in {k} r
entry main = f (s: i64): []i64";
    assert_eq!(fails(range, &["0"]), "E0802: the step of a range is zero");
}

#[test]
fn scatter_and_permute() {
    let scatter = one(
        "{k, n} (dest: [k]f32, is: [n]i32, xs: [n]f32)",
        "(dest: []f32, is: []i32, xs: []f32)",
        "[k]f32",
        "[]f32",
        "scatter dest is xs",
    );
    assert_eq!(
        fails(&scatter, &["[0, 0]", "[1, 1]", "[1, 2]"]),
        "E0809: two different values are written to index 1"
    );
    assert_eq!(
        fails(&scatter, &["[0, 0]", "[1, 1]", "[0.0, -0.0]"]),
        "E0809: two different values are written to index 1"
    );
    let permute = one(
        "{n} (is: [n]i32, xs: [n]f32)",
        "(is: []i32, xs: []f32)",
        "[n]f32",
        "[]f32",
        "permute is xs",
    );
    assert_eq!(
        fails(&permute, &["[0, 0]", "[1, 2]"]),
        "E0810: the indices are not a permutation: see index 0"
    );
    assert_eq!(
        fails(&permute, &["[0, 2]", "[1, 2]"]),
        "E0810: the indices are not a permutation: see index 2"
    );
}

#[test]
fn offsets() {
    let text = "
fun f {n, m} (is: [n + 1]i64, xs: [m]i32): [n][?]i32 =
  let r: [n][?]i32 = unflatten is xs
  in r
fun g {k, m} (is: [k]i64, xs: [m]i32): [k - 1][?]i32 =
  let r: [k - 1][?]i32 = f {n} (js, xs)
  in r
entry main = g (is: []i64, xs: []i32): [][?]i32"
        .replace(
            "  let r: [k - 1][?]i32 = f {n} (js, xs)",
            "  let r: [k - 1][?]i32 = unflatten is xs",
        );
    let bad = "E0816: the offsets do not start at 0, increase, and end at the size of the data";
    for offsets in ["[]", "[1, 2]", "[0, 2, 1, 2]", "[0, 1]", "[0, 3]", "[0, -1, 2]"] {
        assert_eq!(fails(&text, &[offsets, "[1, 2]"]), bad, "{offsets}");
    }
    assert_eq!(crate::run(&text, &["[0, 0, 2]", "[1, 2]"]), "[[], [1, 2]]");
}

#[test]
fn the_first_failure_in_order_wins() {
    let text = "
fun f {n} (xs: [n]i32, is: [n]i32): i32 =
  let ys: [n]i32 = map (\\(x: i32, i: i32): i32 ->
    let a: i32 = xs[i]
    let b: i32 = 10i32 / x
    let c: i32 = a + b
    in c) xs is
  let z: i32 = ys[100i64]
  in z
entry main = f (xs: []i32, is: []i32): i32";
    assert_eq!(
        fails(text, &["[1, 0, 2]", "[0, 1, 9]"]),
        "E0802: division by zero"
    );
    assert_eq!(
        fails(text, &["[1, 0, 2]", "[0, 7, 9]"]),
        "E0801: index 7 is out of bounds for an array of size 3"
    );
    assert_eq!(
        fails(text, &["[1]", "[0]"]),
        "E0801: index 100 is out of bounds for an array of size 1"
    );
}
