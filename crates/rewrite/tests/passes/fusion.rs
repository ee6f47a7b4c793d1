//! Operations that become one.

use crate::{rewritten, unchanged};
use expect_test::expect;

#[test]
fn maps_fuse() {
    rewritten(
        &["fusion", "copy-propagation"],
        "fun f {n} (xs: [n]f32, ys: [n]f32): [n]f32 =
           let a: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x * 2.0f32 in p) xs
           let z: [n](f32, f32) = zip a ys
           let b: [n]f32 = map (\\(t: (f32, f32)): f32 -> let u: f32 = t.0 let v: f32 = t.1 let w: f32 = u + v in w) z
           let c: [n]f32 = map (\\(x: f32): f32 -> let q: f32 = sqrt x in q) b
           in c",
        expect![[r#"
            fun f {n} (xs: [n]f32, ys: [n]f32): [n]f32 =
              let c: [n]f32 = map (\(x: f32, t: f32): f32 ->
                let p: f32 = x * 2.0f32
                let t_8: (f32, f32) = (p, t)
                let u: f32 = t_8.0
                let v: f32 = t_8.1
                let w: f32 = u + v
                let q: f32 = sqrt w
                in q) xs ys
              in c
        "#]],
    );
}

#[test]
fn what_is_fixed_shared_or_elsewhere_does_not_fuse() {
    unchanged(
        &["fusion"],
        "fun f {n} (xs: [n]f32, k: i64): <[n]f32, [n]f32, [n]f32, [n]f32, [k][n]f32> =
           let a: [n]f32 = map@par (\\(x: f32): f32 -> let p: f32 = x * 2.0f32 in p) xs
           let b: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x + 2.0f32 in p) a
           let c: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x - 2.0f32 in p) xs
           let d: [n]f32 = map@seq (\\(x: f32): f32 -> let p: f32 = x * 3.0f32 in p) c
           let e: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x - 9.0f32 in p) xs
           let g: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x * 3.0f32 in p) e
           let h: [n]f32 = map (\\(x: f32, y: f32): f32 -> let p: f32 = x * y in p) e g
           let is: [k]i64 = iota k
           let inner: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x * 4.0f32 in p) xs
           let rows: [k][n]f32 = map (\\(i: i64): [n]f32 ->
             let row: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x + 1.0f32 in p) inner
             in row) is
           in <b, d, h, g, rows>",
    );
}

#[test]
fn what_holds_a_fixed_operation_is_not_moved_or_shared() {
    let text = "fun g {n} (xs: [n]f32): [n]f32 =
           let a: [n]f32 = map@seq (\\(x: f32): f32 -> let p: f32 = x * 2.0f32 in p) xs
           in a
         fun f {n, m} (xss: [n][m]f32): <[n][m]f32, [m]f32, [m]f32> =
           let a: [n][m]f32 = map (\\(xs: [m]f32): [m]f32 ->
             let ys: [m]f32 = map@vec (\\(x: f32): f32 -> let p: f32 = x * 2.0f32 in p) xs
             in ys) xss
           let b: [n][m]f32 = map (\\(ys: [m]f32): [m]f32 ->
             let zs: [m]f32 = reverse ys
             in zs) a
           let ones: [m]f32 = replicate m 1.0f32
           let c: [m]f32 = g {m} (ones)
           let d: [m]f32 = g {m} (ones)
           in <b, c, d>";
    unchanged(&["fusion"], text);
    unchanged(&["common-subexpressions"], text);
    unchanged(&["hoisting"], text);
}

#[test]
fn jagged_rows_fuse_with_their_sizes() {
    rewritten(
        &["fusion", "copy-propagation"],
        "fun f {n} (xss: [n][?]f32): [n][?]f32 =
           let a: [n][?]f32 = map (\\{c} (xs: [c]f32): {k} [k]f32 ->
             let {k} ys: [k]f32 = filter (\\(x: f32): bool -> let b: bool = x > 0.0f32 in b) xs
             in {k} ys) xss
           let b: [n][?]f32 = map (\\{d} (ys: [d]f32): [d]f32 ->
             let zs: [d]f32 = reverse ys
             in zs) a
           in b",
        expect![[r#"
            fun f {n} (xss: [n][?]f32): [n][?]f32 =
              let b_10: [n][?]f32 = map (\{c} (xs: [c]f32): {d} [d]f32 ->
                let {k} ys: [k]f32 = filter (\(x: f32): bool ->
                  let b: bool = x > 0.0f32
                  in b) xs
                let zs: [k]f32 = reverse ys
                in {k} zs) xss
              in b_10
        "#]],
    );
}

#[test]
fn folds_and_filters_fuse() {
    rewritten(
        &["fusion", "copy-propagation"],
        "fun dot {n} (xs: [n]f32, ys: [n]f32, is: [n]i32): {k} <f32, [k]f32> =
           let ps: [n]f32 = map (\\(x: f32, y: f32, i: i32): f32 ->
             let p: f32 = x * y
             let q: f32 = f32 i
             let r: f32 = p + q
             in r) xs ys is
           let s: f32 = reduceSeq (\\(acc: f32, p: f32): f32 -> let t: f32 = acc + p in t) 0.0f32 ps
           let {a} fs: [a]f32 = filter (\\(x: f32): bool -> let b: bool = x > 0.0f32 in b) xs
           let {k} gs: [k]f32 = filter (\\(y: f32): bool -> let z: f32 = 1.0f32 / y let b: bool = z < s in b) fs
           in {k} <s, gs>",
        expect![[r#"
            fun dot {n} (xs: [n]f32, ys: [n]f32, is: [n]i32): {k} <f32, [k]f32> =
              let pairs: [n](f32, f32) = zip xs ys
              let pairs_27: [n]((f32, f32), i32) = zip pairs is
              let s: f32 = reduceSeq (\(acc: f32, pair: ((f32, f32), i32)): f32 ->
                let pair_26: (f32, f32) = pair.0
                let i: i32 = pair.1
                let x: f32 = pair_26.0
                let y: f32 = pair_26.1
                let p: f32 = x * y
                let q: f32 = f32 i
                let r: f32 = p + q
                let t: f32 = acc + r
                in t) 0.0f32 pairs_27
              let {k_20} gs: [k_20]f32 = filter (\(x_18: f32): bool ->
                let b: bool = x_18 > 0.0f32
                let passes: bool = if b: bool then
                  let z: f32 = 1.0f32 / x_18
                  let b_24: bool = z < s
                  in b_24
                else false
                in passes) xs
              in {k_20} <s, gs>
        "#]],
    );
    // The number of elements in between has another use.
    unchanged(
        &["fusion"],
        "fun f {n} (xs: [n]f32): {k} <i64, [k]f32> =
           let {a} fs: [a]f32 = filter (\\(x: f32): bool -> let b: bool = x > 0.0f32 in b) xs
           let {k} gs: [k]f32 = filter (\\(y: f32): bool -> let b: bool = y < 5.0f32 in b) fs
           in {k} <a, gs>",
    );
}

#[test]
fn a_gather_is_taken_over_by_what_takes_its_elements() {
    rewritten(
        &["fusion", "copy-propagation"],
        "fun f {n, m} (xs: [n]f32, rows: [n][m]f32, is: [m]i32): <[m]f32, f32, [m]f32, [m]f32, [m]f32> =
           let a: [m]f32 = gather is xs
           let b: [m]f32 = map (\\(x: f32): f32 -> let p: f32 = x * 2.0f32 in p) a
           let c: [m]f32 = gather is xs
           let d: f32 = reduce (\\(x: f32, y: f32): f32 -> let s: f32 = x + y in s) 0.0f32 c
           let e: [m]f32 = gather is xs
           let g: [m]f32 = map (\\(x: f32): f32 -> let p: f32 = x * 3.0f32 in p) e
           let h: [m][m]f32 = gather is rows
           let k: [m]f32 = map (\\(row: [m]f32): f32 -> let x: f32 = row[0i64] in x) h
           in <b, d, e, g, k>",
        expect![[r#"
            fun f {n, m} (xs: [n]f32, rows: [n][m]f32, is: [m]i32): <[m]f32, f32, [m]f32, [m]f32, [m]f32> =
              let b: [m]f32 = map (\(i: i32): f32 ->
                let x: f32 = xs[i]
                let p: f32 = x * 2.0f32
                in p) is
              let c: [m]f32 = map (\(i_24: i32): f32 ->
                let x_25: f32 = xs[i_24]
                in x_25) is
              let d: f32 = reduce (\(x_11: f32, y: f32): f32 ->
                let s: f32 = x_11 + y
                in s) 0.0f32 c
              let e: [m]f32 = gather is xs
              let g: [m]f32 = map (\(x_16: f32): f32 ->
                let p_17: f32 = x_16 * 3.0f32
                in p_17) e
              let k: [m]f32 = map (\(i_26: i32): f32 ->
                let x_27: [m]f32 = rows[i_26]
                let x_21: f32 = x_27[0i64]
                in x_21) is
              in <b, d, e, g, k>
        "#]],
    );
}

#[test]
fn maps_side_by_side_are_one() {
    rewritten(
        &["horizontal-fusion", "copy-propagation"],
        "fun f {n} (xs: [n]i32, ys: [n]i32, c: i32): <[n]i32, [n]i32> =
           let a: [n]i32 = map (\\(x: i32): i32 -> let t: i32 = x * c in t) xs
           let d: i32 = c + 1i32
           let b: [n]i32 = map (\\(y: i32, x2: i32): i32 -> let u: i32 = x2 - y in u) ys xs
           in <a, b>",
        expect![[r#"
            fun f {n} (xs: [n]i32, ys: [n]i32, c: i32): <[n]i32, [n]i32> =
              let <a: [n]i32, b: [n]i32> = map (\(x: i32, y: i32): <i32, i32> ->
                let t: i32 = x * c
                let u: i32 = x - y
                in <t, u>) xs ys
              let d: i32 = c + 1i32
              in <a, b>
        "#]],
    );
}

/// Maps that need what comes between, that may vanish in a reduction, that can fail or that print.
#[test]
fn maps_that_are_not_side_by_side_stay() {
    unchanged(
        &["horizontal-fusion"],
        "fun f {n} (xs: [n]i32, c: i32): <[n]i32, [n]i32> =
           let a: [n]i32 = map (\\(x: i32): i32 -> let t: i32 = x * c in t) xs
           let d: i32 = c + 1i32
           let b: [n]i32 = map (\\(y: i32): i32 -> let u: i32 = y - d in u) xs
           in <a, b>",
    );
    unchanged(
        &["horizontal-fusion"],
        "fun f {n} (xs: [n]i32): <[n]i32, i32> =
           let a: [n]i32 = map (\\(x: i32): i32 -> let t: i32 = x * 2i32 in t) xs
           let b: [n]i32 = map (\\(y: i32): i32 -> let u: i32 = y - 1i32 in u) xs
           let s: i32 = reduce (\\(p: i32, q: i32): i32 -> let r: i32 = p + q in r) 0i32 b
           in <a, s>",
    );
    unchanged(
        &["horizontal-fusion"],
        "fun f {n} (xs: [n]i32, c: i32): <[n]i32, [n]i32> =
           let a: [n]i32 = map (\\(x: i32): i32 -> let t: i32 = x * c in t) xs
           let b: [n]i32 = map (\\(y: i32): i32 -> let u: i32 = y / c in u) xs
           in <a, b>",
    );
}

/// Two products of matrices in one loop could not be done in tiles.
#[test]
fn products_do_not_fuse_with_each_other() {
    unchanged(
        &["fusion"],
        "fun f {n, k, m, p} (a: [n][k]f64, bs: [m][k]f64, cs: [p][m]f64): [n][p]f64 =
           let ab: [n][m]f64 = map (\\(row: [k]f64): [m]f64 ->
             let r: [m]f64 = map (\\(column: [k]f64): f64 ->
               let ps: [k]f64 = map (\\(x: f64, y: f64): f64 -> let z: f64 = x * y in z) row column
               let s: f64 = reduce (\\(x: f64, y: f64): f64 -> let z: f64 = x + y in z) 0.0f64 ps
               in s) bs
             in r) a
           let abc: [n][p]f64 = map (\\(row: [m]f64): [p]f64 ->
             let r: [p]f64 = map (\\(column: [m]f64): f64 ->
               let ps: [m]f64 = map (\\(x: f64, y: f64): f64 -> let z: f64 = x * y in z) row column
               let s: f64 = reduce (\\(x: f64, y: f64): f64 -> let z: f64 = x + y in z) 0.0f64 ps
               in s) cs
             in r) ab
           in abc",
    );
}

#[test]
fn one_element_of_a_map_is_computed_where_it_is_looked_at_and_pairs_are_made_by_a_map() {
    rewritten(
        &["fusion", "copy-propagation"],
        "fun f {n} (xs: [n]f32, is: [n]i64): (f32, i64) =
           let ds: [n]f32 = map (\\(x: f32): f32 -> let d: f32 = x * x in d) xs
           let first: f32 = ds[0i32]
           let ps: [n](f32, i64) = zip ds is
           let e: (f32, i64) = (first, 0i64)
           let r: (f32, i64) = reduce (\\(a: (f32, i64), b: (f32, i64)): (f32, i64) ->
             let x: f32 = a.0
             let y: f32 = b.0
             let c: bool = y < x
             let t: (f32, i64) = if c: (f32, i64) then b else a
             in t) e ps
           in r",
        expect![[r#"
            fun f {n} (xs: [n]f32, is: [n]i64): (f32, i64) =
              let x: f32 = xs[0i32]
              let d: f32 = x * x
              let ps: [n](f32, i64) = map (\(x_4: f32, x_19: i64): (f32, i64) ->
                let d_5: f32 = x_4 * x_4
                let pair: (f32, i64) = (d_5, x_19)
                in pair) xs is
              let e: (f32, i64) = (d, 0i64)
              let r: (f32, i64) = reduce (\(a: (f32, i64), b: (f32, i64)): (f32, i64) ->
                let x_12: f32 = a.0
                let y: f32 = b.0
                let c: bool = y < x_12
                let t: (f32, i64) = if c: (f32, i64) then b
                else a
                in t) e ps
              in r
        "#]],
    );
}
