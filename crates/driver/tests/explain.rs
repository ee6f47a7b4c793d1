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
    let found = explain(core, target).unwrap();
    let mut out = String::new();
    for fact in &found.facts {
        let place = match front.sources.file(fact.span.file) {
            Some(file) if file.name == "main.alm" => {
                front.sources.text(fact.span).lines().next().unwrap_or("")
            }
            _ => continue,
        };
        let _ = writeln!(out, "{place}\n  {}: {}", fact.kind.name(), fact.text);
    }
    for peak in &found.peaks {
        let _ = writeln!(out, "{}: at most {} bytes", peak.procedure, peak.bytes);
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
              allocated: `out` is allocated: out_size elements
            entry main (xs: []i64): []i64 = map (* 2) (filter (> 0) xs)
              copied: size elements are copied from `map` to `out`
            map (* 2) (filter (> 0) xs)
              strategy: `map` runs at level `vec`: its function is straight-line code on scalars
            map (* 2) (filter (> 0) xs)
              allocated: `map` is allocated: taken elements of `i64`
            filter (> 0) xs
              strategy: `filter` runs at level `seq`: all threads have other work here
            filter (> 0) xs
              allocated: `flags` is allocated: n elements of `bool`
            filter (> 0) xs
              allocated: `filter` is allocated: filter_size elements of `i64`
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
        "#]],
    );
}

#[test]
fn nothing_to_choose() {
    explained("entry main (x: i32): i32 = x + 1\n", Target::C, expect![[""]]);
}
