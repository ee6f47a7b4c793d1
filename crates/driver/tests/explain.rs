//! What `almach explain` says about five programs.
#![allow(clippy::unwrap_used)]

use almach_driver::back::Target;
use almach_driver::explain::explain;
use almach_driver::{NoFiles, front, load};
use expect_test::{Expect, expect};
use std::fmt::Write;

fn explained(text: &str, target: Target, expected: Expect) {
    let front = front(load("main.alm", text, &NoFiles), Vec::new());
    let core = front.core().unwrap();
    let found = explain(core, target, "").unwrap();
    let mut out = String::new();
    for fact in &found.facts {
        let place = match front.sources.file(fact.span.file) {
            Some(file) if file.name == "main.alm" => {
                front.sources.text(fact.span).lines().next().unwrap_or("")
            }
            _ => continue,
        };
        let text = fact.text.replace('\n', "\n    ");
        let _ = writeln!(out, "{place}\n  {}: {text}", fact.kind.name());
    }
    for peak in &found.peaks {
        let _ = writeln!(out, "{}: at most {}", peak.entry, peak.formula());
    }
    expected.assert_eq(&out);
}

#[test]
fn a_chain_of_maps() {
    explained(
        "entry main (xs: []f32): []f32 = map (* 2) (map (+ 1) xs)\n",
        Target::C,
        expect![[r#"
            map (* 2) (map (+ 1) xs)
              strategy: `map` runs at level `vec`: its function is straight-line code on scalars
            map (+ 1) xs
              rewritten: `map` is fused into `map`
            main: at most 4*n bytes in 1 block
        "#]],
    );
}

#[test]
fn a_filter() {
    explained(
        "entry main (xs: []i64): []i64 = map (* 2) (filter (> 0) xs)\n",
        Target::C,
        expect![[r#"
            entry main (xs: []i64): []i64 = map (* 2) (filter (> 0) xs)
              allocated: `out` is allocated: n elements
            map (* 2) (filter (> 0) xs)
              strategy: `map` runs at level `vec`: its function is straight-line code on scalars
            filter (> 0) xs
              strategy: `filter` runs at level `seq`: all threads have other work here
            filter (> 0) xs
              strategy: `filter` is fused into `map`: the map is its only use, and takes one element after the other
            main: at most 8*n bytes in 1 block
        "#]],
    );
}

#[test]
fn views() {
    explained(
        "entry main (m: [][]i64): []i64 = map (\\row -> row[0]) (transpose (reverse m))\n",
        Target::OpenMp,
        expect![[r#"
            map (\row -> row[0]) (transpose (reverse m))
              strategy: `map` runs at level `par`: it is the outermost parallel operation
            transpose (reverse m)
              view: `transpose` is a view: no data is moved
            reverse m
              view: `reverse` is a view: no data is moved
            main: at most 8*n_2 bytes in 1 block
        "#]],
    );
}

#[test]
fn what_the_user_wrote() {
    explained(
        "entry main (xss: [][]f32): []f32 = map@par (\\xs -> reduce@seq (+) 0 (map@seq (* 2) xs)) xss\n",
        Target::OpenMp,
        expect![[r#"
            map@par (\xs -> reduce@seq (+) 0 (map@seq (* 2) xs)) xss
              strategy: `map` stays as it is written: its level or effect is written in the program
            reduce@seq (+) 0 (map@seq (* 2) xs)
              strategy: `reduce` stays as it is written: its level or effect is written in the program
            map@seq (* 2) xs
              strategy: `map` stays as it is written: its level or effect is written in the program
            map@seq (* 2) xs
              allocated: `map` is allocated: n_2 elements of `f32`, in every iteration of a parallel loop
            main: at most 4*n bytes in 1 block and min(threads, n) times (4*n_2 bytes in 1 block)
        "#]],
    );
}

#[test]
fn nothing_to_choose() {
    explained(
        "entry main (x: i32): i32 = x + 1\n",
        Target::C,
        expect![[r#"
        main: at most nothing
    "#]],
    );
}

#[test]
fn why_an_array_is_copied() {
    explained(
        "\
entry used (n: i64): ([]i64, i64) =
  let a = scan (+) 0 (iota n)
  let b = a with [0] = 7
  in (b, a[0])
entry row (n: i64): [][]i64 =
  let a = map (\\i -> scan (+) i (iota n)) (iota n)
  in a with [1] = a[0]
entry moved (n: i64): []i64 =
  let a = scan (+) 0 (iota n)
  in a with [1:n] = a[0:n - 1]
entry twice [n] (xs: [n]i64): []i64 =
  let a = scan (+) 0 xs
  in concat a a
",
        Target::C,
        expect![[r#"
            scan (+) 0 (iota n)
              strategy: `scan` runs at level `seq`: all threads have other work here
            scan (+) 0 (iota n)
              allocated: `a` is allocated: n elements of `i64`
            iota n
              view: `iota` is a view: no data is moved
            a with [0] = 7
              not in place: `a` is copied for this update: `a`, which may be in the same memory, is used later
                what would help: use the old value before the update, or only the new one after it
            a with [0] = 7
              copied: n elements are copied from `a` to `out`
            map (\i -> scan (+) i (iota n)) (iota n)
              strategy: `map` runs at level `seq`: all threads have other work here
            scan (+) i (iota n)
              strategy: `scan` runs at level `seq`: all threads have other work here
            scan (+) i (iota n)
              in place: `scan` is built where it will be, in `a_mem`
            iota n
              view: `iota` is a view: no data is moved
            a with [1] = a[0]
              in place: `a` is updated in place: nothing uses its old value afterwards
                proved: the cells 0 + {(n : 1)} of `x` are not the cells n + {(n : 1)} that it goes to: all cells of one come before those of the other, by at least 1
            a with [1] = a[0]
              not in place: `x` is copied into this: `x` is a part of something else, or of a layout that cannot be turned round
            a with [1] = a[0]
              copied: n elements are copied from `out` to `out`
            scan (+) 0 (iota n)
              strategy: `scan` runs at level `seq`: all threads have other work here
            scan (+) 0 (iota n)
              allocated: `a` is allocated: n elements of `i64`
            iota n
              view: `iota` is a view: no data is moved
            a with [1:n] = a[0:n - 1]
              not in place: `a` is copied for this update: `slice`, the cells 0 + {(n - 1 : 1)} of that memory, is read while the cells 1 + {(n - 1 : 1)} are written, and the two may meet
                what would help: make what is written first (`materialise`), or from other cells than those it goes to
            a with [1:n] = a[0:n - 1]
              not in place: `slice` is copied into this: it is made before, elsewhere
            a with [1:n] = a[0:n - 1]
              copied: n elements are copied from `a` to `out`
            a with [1:n] = a[0:n - 1]
              copied: n - 1 elements are copied from `a` to `out`
            entry twice [n] (xs: [n]i64): []i64 =
              copied: n elements are copied from `a` to `out`: the translation's own, the memory plan has none here; the translation follows the memory plan through operations, loops and branches, not through calls whose results have sizes of their own, nor into jagged arrays and sums; an array that is made where it is used last is built in place
            scan (+) 0 xs
              strategy: `scan` runs at level `seq`: all threads have other work here
            scan (+) 0 xs
              in place: `a` is built where it will be, in `concat_mem`
            scan (+) 0 xs
              allocated: `a` is allocated: n elements of `i64`
            concat a a
              view: `concat` is a view: no data is moved
            concat a a
              not in place: `a` is copied into this: `a` is in a block that others have made
            used: at most 16*n bytes in 2 blocks
            row: at most 8*n*n bytes in 1 block
            moved: at most 16*n bytes in 2 blocks
            twice: at most 24*n bytes in 2 blocks
        "#]],
    );
}

#[test]
fn what_is_held_at_once() {
    explained(
        "\
entry threads [n] [m] (xss: [n][m]f32): [n]f32 =
  map@par (\\xs -> let t = scan@seq (+) 0 xs in reduce@seq (*) 1 (map@seq (\\i -> t[m - 1 - i]) (iota m))) xss
entry branches (c: bool) (n: i64) (m: i64): i64 =
  if c
  then let a = scan (+) 0 (iota n) in a[n - 1]
  else let b = scan (*) 1 (iota m) in b[m - 1] + b[0]
entry lifetimes (n: i64) (m: i64): i64 =
  let a = scan (+) 0 (iota n)
  let s = a[n - 1]
  let b = scan (*) s (iota m)
  in b[m - 1] + b[0]
",
        Target::OpenMp,
        expect![[r#"
            map@par (\xs -> let t = scan@seq (+) 0 xs in reduce@seq (*) 1 (map@seq (\i -> t[m - 1 - i]) (iota m))) xss
              strategy: `map` stays as it is written: its level or effect is written in the program
            scan@seq (+) 0 xs
              strategy: `scan` stays as it is written: its level or effect is written in the program
            scan@seq (+) 0 xs
              allocated: `t` is allocated: n_2 elements of `f32`, in every iteration of a parallel loop
            reduce@seq (*) 1 (map@seq (\i -> t[m - 1 - i]) (iota m))
              strategy: `reduce` stays as it is written: its level or effect is written in the program
            map@seq (\i -> t[m - 1 - i]) (iota m)
              strategy: `map` stays as it is written: its level or effect is written in the program
            map@seq (\i -> t[m - 1 - i]) (iota m)
              allocated: `map` is allocated: n_2 elements of `f32`, in every iteration of a parallel loop
            iota m
              view: `iota` is a view: no data is moved
            scan (+) 0 (iota n)
              strategy: `scan` runs at level `par`: it is the outermost parallel operation
            scan (+) 0 (iota n)
              allocated: `a` is allocated: n elements of `i64`
            scan (+) 0 (iota n)
              allocated: `prefix` is allocated: chunks elements of `i64`
            scan (+) 0 (iota n)
              allocated: `flag` is allocated: chunks elements of `i32`
            scan (+) 0 (iota n)
              allocated: `alone` is allocated: 4096 elements of `i64`, in every iteration of a parallel loop
            scan (+) 0 (iota n)
              copied: 64 elements are copied from `alone` to `a`: the translation's own, the memory plan has none here; what the branches give is changed, passed to a call, or kept afterwards, and `alone` is needed later; it costs nothing where `alone` is not used again, or where what they give is only read by its indices
            iota n
              view: `iota` is a view: no data is moved
            scan (*) 1 (iota m)
              strategy: `scan` runs at level `par`: it is the outermost parallel operation
            scan (*) 1 (iota m)
              allocated: `b` is allocated: m elements of `i64`
            scan (*) 1 (iota m)
              allocated: `prefix_2` is allocated: chunks_2 elements of `i64`
            scan (*) 1 (iota m)
              allocated: `flag_2` is allocated: chunks_2 elements of `i32`
            scan (*) 1 (iota m)
              allocated: `alone_2` is allocated: 4096 elements of `i64`, in every iteration of a parallel loop
            scan (*) 1 (iota m)
              copied: 64 elements are copied from `alone_2` to `b`: the translation's own, the memory plan has none here; what the branches give is changed, passed to a call, or kept afterwards, and `alone_2` is needed later; it costs nothing where `alone_2` is not used again, or where what they give is only read by its indices
            iota m
              view: `iota` is a view: no data is moved
            scan (+) 0 (iota n)
              strategy: `scan` runs at level `par`: it is the outermost parallel operation
            scan (+) 0 (iota n)
              allocated: `a` is allocated: n elements of `i64`
            scan (+) 0 (iota n)
              allocated: `prefix` is allocated: chunks elements of `i64`
            scan (+) 0 (iota n)
              allocated: `flag` is allocated: chunks elements of `i32`
            scan (+) 0 (iota n)
              allocated: `alone` is allocated: 4096 elements of `i64`, in every iteration of a parallel loop
            scan (+) 0 (iota n)
              copied: 64 elements are copied from `alone` to `a`: the translation's own, the memory plan has none here; what the branches give is changed, passed to a call, or kept afterwards, and `alone` is needed later; it costs nothing where `alone` is not used again, or where what they give is only read by its indices
            iota n
              view: `iota` is a view: no data is moved
            scan (*) s (iota m)
              strategy: `scan` runs at level `par`: it is the outermost parallel operation
            scan (*) s (iota m)
              allocated: `b` is allocated: m elements of `i64`
            scan (*) s (iota m)
              allocated: `prefix_2` is allocated: chunks_2 elements of `i64`
            scan (*) s (iota m)
              allocated: `flag_2` is allocated: chunks_2 elements of `i32`
            scan (*) s (iota m)
              allocated: `alone_2` is allocated: 4096 elements of `i64`, in every iteration of a parallel loop
            scan (*) s (iota m)
              copied: 64 elements are copied from `alone_2` to `b`: the translation's own, the memory plan has none here; what the branches give is changed, passed to a call, or kept afterwards, and `alone_2` is needed later; it costs nothing where `alone_2` is not used again, or where what they give is only read by its indices
            iota m
              view: `iota` is a view: no data is moved
            threads: at most 4*n bytes in 1 block and min(threads, n) times (8*n_2 bytes in 2 blocks)
            branches: at most the largest of 8*n + 12*((n + 4095)/4096) bytes in 3 blocks and min(threads, (n + 4095)/4096) times (32768 bytes in 1 block); 8*m + 12*((m + 4095)/4096) bytes in 3 blocks and min(threads, (m + 4095)/4096) times (32768 bytes in 1 block)
            lifetimes: at most the largest of 8*n + 12*((n + 4095)/4096) bytes in 3 blocks and min(threads, (n + 4095)/4096) times (32768 bytes in 1 block); 8*m + 8*n bytes in 2 blocks; 8*m + 12*((m + 4095)/4096) bytes in 3 blocks and min(threads, (m + 4095)/4096) times (32768 bytes in 1 block)
        "#]],
    );
}
