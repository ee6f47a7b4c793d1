//! Operations without functions.

use crate::run;

/// A program that applies one operation, with the types of parameters and result.
fn one(params: &str, border: &str, result: &str, shown: &str, exp: &str) -> String {
    format!(
        "fun f {params}: {result} =\n  let r: {result} = {exp}\n  in r\nentry main = f {border}: {shown}\n"
    )
}

#[test]
fn made() {
    let iota = one("(n: i64)", "(n: i64)", "[n]i64", "[]i64", "iota n");
    assert_eq!(run(&iota, &["3"]), "[0, 1, 2]");
    assert_eq!(run(&iota, &["0"]), "[]");
    let replicate = one(
        "(n: i64, x: (i32, bool))",
        "(n: i64, x: (i32, bool))",
        "[n](i32, bool)",
        "[](i32, bool)",
        "replicate n x",
    );
    assert_eq!(run(&replicate, &["2", "(1, true)"]), "[(1, true), (1, true)]");
    let rows = one(
        "{m} (n: i64, x: [m]i32)",
        "(n: i64, x: []i32)",
        "[n][m]i32",
        "[][]i32",
        "replicate n x",
    );
    assert_eq!(run(&rows, &["2", "[1, 2]"]), "[[1, 2], [1, 2]]");
    let range = "
fun f (b: i64, e: i64, s: i64): {k} [k]i64 =
  let {k} r: [k]i64 = range b e s
  in {k} r
entry main = f (b: i64, e: i64, s: i64): []i64";
    assert_eq!(run(range, &["0", "10", "3"]), "[0, 3, 6, 9]");
    assert_eq!(run(range, &["5", "0", "-2"]), "[5, 3, 1]");
    assert_eq!(run(range, &["5", "0", "1"]), "[]");
    assert_eq!(
        run(
            range,
            &[
                "-9223372036854775808",
                "9223372036854775807",
                "9223372036854775807"
            ]
        ),
        "[-9223372036854775808, -1, 9223372036854775806]"
    );
}

#[test]
fn arranged() {
    let unary = |exp: &str| one("{n} (xs: [n]i32)", "(xs: []i32)", "[n]i32", "[]i32", exp);
    assert_eq!(run(&unary("reverse xs"), &["[1, 2, 3]"]), "[3, 2, 1]");
    let rotate = one(
        "{n} (k: i64, xs: [n]i32)",
        "(k: i64, xs: []i32)",
        "[n]i32",
        "[]i32",
        "rotate k xs",
    );
    assert_eq!(run(&rotate, &["1", "[1, 2, 3]"]), "[2, 3, 1]");
    assert_eq!(run(&rotate, &["-1", "[1, 2, 3]"]), "[3, 1, 2]");
    assert_eq!(run(&rotate, &["7", "[1, 2, 3]"]), "[2, 3, 1]");
    assert_eq!(run(&rotate, &["7", "[]"]), "[]");
    let transpose = one(
        "{n, m} (xs: [n][m](i32, bool))",
        "(xs: [][](i32, bool))",
        "[m][n](i32, bool)",
        "[][](i32, bool)",
        "transpose xs",
    );
    assert_eq!(
        run(
            &transpose,
            &["[[(1, true), (2, true)], [(3, false), (4, false)]]"]
        ),
        "[[(1, true), (3, false)], [(2, true), (4, false)]]"
    );
    let concat = one(
        "{n, m} (xs: [n][2]i32, ys: [m][2]i32)",
        "(xs: [][2]i32, ys: [][2]i32)",
        "[n + m][2]i32",
        "[][2]i32",
        "concat xs ys",
    );
    assert_eq!(
        run(&concat, &["[[1, 2]]", "[[3, 4], [5, 6]]"]),
        "[[1, 2], [3, 4], [5, 6]]"
    );
    assert_eq!(run(&concat, &["[]", "[[3, 4]]"]), "[[3, 4]]");
}

#[test]
fn zipped() {
    let text = "
fun f {n} (xs: [n]i32, ys: [n]bool): (([n]i32, [n]bool), [n](i32, bool)) =
  let z: [n](i32, bool) = zip xs ys
  let u: ([n]i32, [n]bool) = unzip z
  let t: (([n]i32, [n]bool), [n](i32, bool)) = (u, z)
  in t
entry main = f (xs: []i32, ys: []bool): (([]i32, []bool), [](i32, bool))";
    assert_eq!(
        run(text, &["[1, 2]", "[true, false]"]),
        "(([1, 2], [true, false]), [(1, true), (2, false)])"
    );
}

#[test]
fn cut_and_joined() {
    let split = one(
        "{n} (m: i64, xs: [n]i32)",
        "(m: i64, xs: []i32)",
        "[n/m][m]i32",
        "[][]i32",
        "split m xs",
    );
    assert_eq!(run(&split, &["2", "[1, 2, 3, 4]"]), "[[1, 2], [3, 4]]");
    assert_eq!(run(&split, &["3", "[]"]), "[]");
    let join = one(
        "{n, m} (xs: [n][m]i32)",
        "(xs: [][]i32)",
        "[n*m]i32",
        "[]i32",
        "join xs",
    );
    assert_eq!(run(&join, &["[[1, 2], [3, 4]]"]), "[1, 2, 3, 4]");
    let take = one(
        "{n} (k: i64, xs: [n]i32)",
        "(k: i64, xs: []i32)",
        "[k]i32",
        "[]i32",
        "take k xs",
    );
    assert_eq!(run(&take, &["2", "[1, 2, 3]"]), "[1, 2]");
    let drop = one(
        "{n} (k: i64, xs: [n]i32)",
        "(k: i64, xs: []i32)",
        "[n - k]i32",
        "[]i32",
        "drop k xs",
    );
    assert_eq!(run(&drop, &["2", "[1, 2, 3]"]), "[3]");
    assert_eq!(run(&drop, &["3", "[1, 2, 3]"]), "[]");
}

#[test]
fn windows_and_padding() {
    let slide = "
fun f {n} (size: i64, step: i64, xs: [n]i32): {k} [k][size]i32 =
  let {k} r: [k][size]i32 = slide size step xs
  in {k} r
entry main = f (size: i64, step: i64, xs: []i32): [][]i32";
    assert_eq!(run(slide, &["3", "1", "[1, 2, 3, 4]"]), "[[1, 2, 3], [2, 3, 4]]");
    assert_eq!(run(slide, &["2", "2", "[1, 2, 3, 4, 5]"]), "[[1, 2], [3, 4]]");
    assert_eq!(run(slide, &["3", "1", "[1, 2]"]), "[]");
    assert_eq!(run(slide, &["0", "1", "[1, 2]"]), "[[], [], []]");
    let pad = one(
        "{n} (l: i64, r: i64, xs: [n]i32)",
        "(l: i64, r: i64, xs: []i32)",
        "[l + n + r]i32",
        "[]i32",
        "pad l r 7i32 xs",
    );
    assert_eq!(run(&pad, &["2", "1", "[1, 2]"]), "[7, 7, 1, 2, 7]");
    let edge = one(
        "{n} (l: i64, r: i64, xs: [n]i32)",
        "(l: i64, r: i64, xs: []i32)",
        "[l + n + r]i32",
        "[]i32",
        "pad_edge l r xs",
    );
    assert_eq!(run(&edge, &["2", "1", "[1, 2]"]), "[1, 1, 1, 2, 2]");
}

#[test]
fn indexed() {
    let gather = one(
        "{n, m} (is: [n]u8, xs: [m](i32, bool))",
        "(is: []u8, xs: [](i32, bool))",
        "[n](i32, bool)",
        "[](i32, bool)",
        "gather is xs",
    );
    assert_eq!(
        run(&gather, &["[1, 1, 0]", "[(1, true), (2, false)]"]),
        "[(2, false), (2, false), (1, true)]"
    );
    let permute = one(
        "{n} (is: [n]i32, xs: [n]f32)",
        "(is: []i32, xs: []f32)",
        "[n]f32",
        "[]f32",
        "permute is xs",
    );
    assert_eq!(run(&permute, &["[2, 0, 1]", "[1, 2, 3]"]), "[2.0, 3.0, 1.0]");
    let scatter = one(
        "{k, n} (dest: [k]f32, is: [n]i32, xs: [n]f32)",
        "(dest: []f32, is: []i32, xs: []f32)",
        "[k]f32",
        "[]f32",
        "scatter dest is xs",
    );
    assert_eq!(
        run(&scatter, &["[0, 0, 0]", "[2, -1, 0, 9]", "[1, 2, 3, 4]"]),
        "[3.0, 0.0, 1.0]"
    );
    assert_eq!(
        run(&scatter, &["[0, 0]", "[1, 1, 1]", "[nan, nan, nan]"]),
        "[0.0, nan]"
    );
    let rows = one(
        "{k, n} (dest: [k][2]i32, is: [n]i64, xs: [n][2]i32)",
        "(dest: [][2]i32, is: []i64, xs: [][2]i32)",
        "[k][2]i32",
        "[][2]i32",
        "scatter dest is xs",
    );
    assert_eq!(
        run(&rows, &["[[0, 0], [1, 1]]", "[1, 1]", "[[5, 6], [5, 6]]"]),
        "[[0, 0], [5, 6]]"
    );
}

#[test]
fn indices_and_slices() {
    let row = one(
        "{n, m} (xs: [n][m]i32, i: i32)",
        "(xs: [][]i32, i: i32)",
        "[m]i32",
        "[]i32",
        "xs[i]",
    );
    assert_eq!(run(&row, &["[[1, 2], [3, 4]]", "1"]), "[3, 4]");
    let cell = one(
        "{n, m} (xs: [n][m](i32, bool), i: i32, j: u8)",
        "(xs: [][](i32, bool), i: i32, j: u8)",
        "(i32, bool)",
        "(i32, bool)",
        "xs[i, j]",
    );
    assert_eq!(
        run(
            &cell,
            &["[[(1, true), (2, false)], [(3, true), (4, true)]]", "0", "1"]
        ),
        "(2, false)"
    );
    let slice = one(
        "{n} (xs: [n]i32, b: i64, k: i64, s: i64)",
        "(xs: []i32, b: i64, k: i64, s: i64)",
        "[k]i32",
        "[]i32",
        "slice xs[b:k:s]",
    );
    assert_eq!(run(&slice, &["[1, 2, 3, 4, 5]", "1", "2", "2"]), "[2, 4]");
    assert_eq!(
        run(&slice, &["[1, 2, 3, 4, 5]", "4", "5", "-1"]),
        "[5, 4, 3, 2, 1]"
    );
    assert_eq!(run(&slice, &["[1, 2]", "9", "0", "1"]), "[]");
    let block = one(
        "{n, m} (xs: [n][m]i32)",
        "(xs: [][]i32)",
        "[2][2]i32",
        "[2][2]i32",
        "slice xs[0i64:2i64:1i64, 1i64:2i64:1i64]",
    );
    assert_eq!(
        run(&block, &["[[1, 2, 3], [4, 5, 6], [7, 8, 9]]"]),
        "[[2, 3], [5, 6]]"
    );
    let column = one(
        "{n, m} (xs: [n][m]i32, j: i32)",
        "(xs: [][]i32, j: i32)",
        "[2]i32",
        "[2]i32",
        "slice xs[1i64:2i64:-1i64, j]",
    );
    assert_eq!(run(&column, &["[[1, 2, 3], [4, 5, 6]]", "2"]), "[6, 3]");
}

#[test]
fn updates() {
    let cell = one(
        "{n, m} (xs: [n][m]i32, i: i64, j: i64)",
        "(xs: [][]i32, i: i64, j: i64)",
        "[n][m]i32",
        "[][]i32",
        "xs with [i, j] = 0i32",
    );
    assert_eq!(run(&cell, &["[[1, 2], [3, 4]]", "1", "0"]), "[[1, 2], [0, 4]]");
    let row = one(
        "{n, m} (xs: [n][m]i32, r: [m]i32)",
        "(xs: [n][m]i32, r: [m]i32)",
        "[n][m]i32",
        "[][]i32",
        "xs with [0i64] = r",
    );
    assert_eq!(run(&row, &["[[1, 2], [3, 4]]", "[8, 9]"]), "[[8, 9], [3, 4]]");
    let part = one(
        "{n} (xs: [n]i32, r: [2]i32)",
        "(xs: []i32, r: [2]i32)",
        "[n]i32",
        "[]i32",
        "xs with [3i64:2i64:-2i64] = r",
    );
    assert_eq!(run(&part, &["[1, 2, 3, 4]", "[8, 9]"]), "[1, 9, 3, 8]");
    let block = one(
        "{n, m} (xs: [n][m]i32, b: [2][1]i32)",
        "(xs: [][]i32, b: [2][1]i32)",
        "[n][m]i32",
        "[][]i32",
        "xs with [0i64:2i64:1i64, 1i64:1i64:1i64] = b",
    );
    assert_eq!(
        run(&block, &["[[1, 2], [3, 4]]", "[[8], [9]]"]),
        "[[1, 8], [3, 9]]"
    );
    let tuple = one(
        "{n} (xs: [n](i32, bool))",
        "(xs: [](i32, bool))",
        "[n](i32, bool)",
        "[](i32, bool)",
        "xs with [0i64] = p",
    )
    .replace("  let r:", "  let p: (i32, bool) = (5i32, true)\n  let r:");
    assert_eq!(
        run(&tuple, &["[(1, false), (2, false)]"]),
        "[(5, true), (2, false)]"
    );
}

#[test]
fn coercions() {
    let text = one(
        "{n} (m: i64, xs: [n]i32)",
        "(m: i64, xs: []i32)",
        "[m]i32",
        "[]i32",
        "xs :> [m]i32",
    );
    assert_eq!(run(&text, &["2", "[1, 2]"]), "[1, 2]");
    let jagged = one(
        "{n, m} (xs: [n][m]i32)",
        "(xs: [][]i32)",
        "[n][?]i32",
        "[][?]i32",
        "xs :> [n][?]i32",
    );
    assert_eq!(run(&jagged, &["[[1, 2], [3, 4]]"]), "[[1, 2], [3, 4]]");
    let regular = one(
        "{n} (m: i64, xs: [n][?]i32)",
        "(m: i64, xs: [][?]i32)",
        "[n][m]i32",
        "[][]i32",
        "xs :> [n][m]i32",
    );
    assert_eq!(run(&regular, &["2", "[[1, 2], [3, 4]]"]), "[[1, 2], [3, 4]]");
}
