//! Rows of their own sizes.

use crate::{rewritten, unchanged};
use expect_test::expect;

#[test]
fn maps_and_filters_of_rows_are_flattened() {
    rewritten(
        &["flattening"],
        "fun f {n} (xss: [n][?]i32, c: i32): [n][?]i32 =
           let yss: [n][?]i32 = map (\\{k} (row: [k]i32): {m} [m]i32 ->
             let ys: [k]i32 = map (\\(x: i32): i32 -> let y: i32 = x + c in y) row
             in {k} ys) xss
           let zss: [n][?]i32 = map (\\{k} (row: [k]i32): {m} [m]i32 ->
             let {t} ys: [t]i32 = filter (\\(x: i32): bool -> let y: bool = x < c in y) row
             in {t} ys) yss
           in zss",
        expect![[r#"
            fun f {n} (xss: [n][?]i32, c: i32): [n][?]i32 =
              let {total} flat: [total]i32 = flatten xss
              let offsets: [n + 1]i64 = segments xss
              let made: [total]i32 = map (\(x: i32): i32 ->
                let y: i32 = x + c
                in y) flat
              let yss: [n][?]i32 = unflatten offsets made
              let counts: [n]i64 = map (\{rows} (row: [rows]i32): i64 ->
                let ones: [rows]i64 = map (\(x_24: i32): i64 ->
                  let y_25: bool = x_24 < c
                  let one: i64 = i64 y_25
                  in one) row
                let count: i64 = reduce (\(a: i64, b: i64): i64 ->
                  let sum_29: i64 = a + b
                  in sum_29) 0i64 ones
                in count) yss
              let ends: [n]i64 = scan (\(a_33: i64, b_34: i64): i64 ->
                let sum_35: i64 = a_33 + b_34
                in sum_35) 0i64 counts
              let none: [1]i64 = array i64 [0i64]
              let offsets_38: [n + 1]i64 = concat none ends
              let {taken} kept: [taken]i32 = filter (\(x_16: i32): bool ->
                let y_17: bool = x_16 < c
                in y_17) made
              let zss: [n][?]i32 = unflatten offsets_38 kept
              in zss
        "#]],
    );
    rewritten(
        &["flattening"],
        "fun f {n} (xsss: [n][?][?]i32): [n][?][?]i32 =
           let yss: [n][?][?]i32 = map (\\{k} (xss: [k][?]i32): {m} [m][?]i32 ->
             let ys: [k][?]i32 = map (\\{l} (row: [l]i32): {j} [j]i32 ->
               let zs: [l]i32 = map (\\(x: i32): i32 -> let y: i32 = x + 1i32 in y) row
               in {l} zs) xss
             in {k} ys) xsss
           in yss",
        expect![[r#"
            fun f {n} (xsss: [n][?][?]i32): [n][?][?]i32 =
              let {total} flat: [total][?]i32 = flatten xsss
              let offsets: [n + 1]i64 = segments xsss
              let {total_17} flat_18: [total_17]i32 = flatten flat
              let offsets_19: [total + 1]i64 = segments flat
              let made: [total_17]i32 = map (\(x: i32): i32 ->
                let y: i32 = x + 1i32
                in y) flat_18
              let made_16: [total][?]i32 = unflatten offsets_19 made
              let yss: [n][?][?]i32 = unflatten offsets made_16
              in yss
        "#]],
    );
}

#[test]
fn scans_of_rows_are_one_scan() {
    rewritten(
        &["flattening"],
        "fun f {n} (xss: [n][?]i32, c: i32): [n][?]i32 =
           let yss: [n][?]i32 = map (\\{k} (row: [k]i32): {m} [m]i32 ->
             let ys: [k]i32 = map (\\(x: i32): i32 -> let y: i32 = x + c in y) row
             let zs: [k]i32 = scan_exclusive (\\(a: i32, b: i32): i32 -> let s: i32 = a + b in s) c ys
             in {k} zs) xss
           in yss",
        expect![[r#"
            fun f {n} (xss: [n][?]i32, c: i32): [n][?]i32 =
              let {total} flat: [total]i32 = flatten xss
              let offsets: [n + 1]i64 = segments xss
              let made: [total]i32 = map (\(x: i32): i32 ->
                let y: i32 = x + c
                in y) flat
              let mapped: [n][?]i32 = unflatten offsets made
              let yss: [n][?]i32 = scan_rows_exclusive (\(a: i32, b: i32): i32 ->
                let s: i32 = a + b
                in s) c mapped
              in yss
        "#]],
    );
    // What a scan starts with is the row's own, or both functions may fail.
    unchanged(
        &["flattening"],
        "fun f {n} (xss: [n][?]i64): [n][?]i64 =
           let yss: [n][?]i64 = map (\\{k} (row: [k]i64): {m} [m]i64 ->
             let ys: [k]i64 = scan (\\(a: i64, b: i64): i64 -> let s: i64 = a + b in s) k row
             in {k} ys) xss
           in yss",
    );
    unchanged(
        &["flattening"],
        "fun f {n} (xss: [n][?]i64, c: i64): [n][?]i64 =
           let yss: [n][?]i64 = map (\\{k} (row: [k]i64): {m} [m]i64 ->
             let ys: [k]i64 = map (\\(x: i64): i64 -> let y: i64 = c / x in y) row
             let zs: [k]i64 = scan (\\(a: i64, b: i64): i64 -> let s: i64 = a / b in s) 1i64 ys
             in {k} zs) xss
           in yss",
    );
}

#[test]
fn rows_that_functions_look_at_stay() {
    unchanged(
        &["flattening"],
        "fun f {n} (xss: [n][?]i64): [n][?]i64 =
           let yss: [n][?]i64 = map (\\{k} (row: [k]i64): {m} [m]i64 ->
             let ys: [k]i64 = map (\\(x: i64): i64 -> let y: i64 = x + k in y) row
             in {k} ys) xss
           in yss",
    );
    // Division may fail, and would be asked first for all rows.
    unchanged(
        &["flattening"],
        "fun f {n} (xss: [n][?]i64, c: i64): [n][?]i64 =
           let yss: [n][?]i64 = map (\\{k} (row: [k]i64): {m} [m]i64 ->
             let {t} ys: [t]i64 = filter (\\(x: i64): bool ->
               let y: i64 = c / x
               let z: bool = y < 2i64
               in z) row
             in {t} ys) xss
           in yss",
    );
}
