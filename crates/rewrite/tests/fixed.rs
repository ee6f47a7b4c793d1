//! An operation with a level or effect written on it is fixed: no rewrite fuses, splits, moves or duplicates it. Dead ones go, and
//! inlining copies whole functions.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, pipelines, run};

/// The program after the standard rewrites.
fn rewritten(text: &str) -> String {
    let program = parse_program(text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let program = run(program, pipelines::STANDARD, &mut Log::default())
        .unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    program_to_string(&program, Spans::Omit)
}

/// How often a text occurs in the rewritten program.
fn count(text: &str, wanted: &str) -> usize {
    let after = rewritten(text);
    after.matches(wanted).count()
}

/// `g` of every element of what `f` is of every element.
fn two_maps(first: &str, second: &str) -> String {
    format!(
        "fun main {{n}} (xs: [n]i32): [n]i32 =
           let ys: [n]i32 = {first} (\\(x: i32): i32 -> let a: i32 = x + 1i32 in a) xs
           let zs: [n]i32 = {second} (\\(y: i32): i32 -> let b: i32 = y * 2i32 in b) ys
           in zs
         entry main = main (xs: [n]i32): [n]i32"
    )
}

#[test]
fn free_maps_fuse() {
    assert_eq!(count(&two_maps("map", "map"), "map "), 1);
}

#[test]
fn a_fixed_producer_or_consumer_is_not_fused() {
    for (first, second) in [
        ("map@seq", "map"),
        ("map", "map@seq"),
        ("map@par", "map@par"),
        ("map@E", "map"),
        ("map", "map@S"),
    ] {
        assert_eq!(count(&two_maps(first, second), "map"), 2, "{first} {second}");
    }
}

#[test]
fn a_fixed_operation_inside_keeps_its_operation_from_fusing() {
    let text = "fun main {n, m} (xss: [n][m]i32): [n]i32 =
       let yss: [n][m]i32 = map (\\(xs: [m]i32): [m]i32 ->
         let ys: [m]i32 = map@vec (\\(x: i32): i32 -> let a: i32 = x + 1i32 in a) xs
         in ys) xss
       let sums: [n]i32 = map (\\(ys: [m]i32): i32 ->
         let s: i32 = reduce@seq (\\(a: i32, b: i32): i32 -> let c: i32 = a + b in c) 0i32 ys
         in s) yss
       in sums
     entry main = main (xss: [n][m]i32): [n]i32";
    let after = rewritten(text);
    assert_eq!(after.matches("map@vec").count(), 1, "{after}");
    assert_eq!(after.matches("reduce@seq").count(), 1, "{after}");
}

#[test]
fn equal_fixed_operations_stay_two() {
    let text = |map: &str| {
        format!(
            "fun main {{n}} (xs: [n]i32): <[n]i32, [n]i32> =
               let ys: [n]i32 = {map} (\\(x: i32): i32 -> let a: i32 = x + 1i32 in a) xs
               let zs: [n]i32 = {map} (\\(y: i32): i32 -> let b: i32 = y + 1i32 in b) xs
               in <ys, zs>
             entry main = main (xs: [n]i32): ([n]i32, [n]i32)"
        )
    };
    assert_eq!(count(&text("map@par"), "map@par"), 2);
    assert_eq!(count(&text("map"), "map "), 1);
}

#[test]
fn equal_arguments_of_a_fixed_map_stay() {
    let text = "fun main {n} (xs: [n]i32): [n]i32 =
       let ys: [n]i32 = map@seq (\\(x: i32, y: i32): i32 -> let a: i32 = x * y in a) xs xs
       in ys
     entry main = main (xs: [n]i32): [n]i32";
    assert_eq!(count(text, "xs xs"), 1);
}

#[test]
fn a_fixed_operation_stays_inside_its_loop() {
    let text = |iota: &str| {
        format!(
            "fun main {{n}} (xs: [n]i32, k: i64): [n]i64 =
               let ys: [n]i64 = map (\\(x: i32): i64 ->
                 let ks: [k]i64 = {iota} k
                 let s: i64 = reduce@seq (\\(a: i64, b: i64): i64 -> let c: i64 = a + b in c) 0i64 ks
                 in s) xs
               in ys
             entry main = main (xs: [n]i32, k: i64): [n]i64"
        )
    };
    let after = rewritten(&text("iota@seq"));
    let (map, iota) = (after.find("map").unwrap(), after.find("iota@seq").unwrap());
    assert!(map < iota, "{after}");
}

#[test]
fn fixed_views_are_not_simplified() {
    let text = |reverse: &str| {
        format!(
            "fun main {{n}} (xs: [n]i32): [n]i32 =
               let ys: [n]i32 = {reverse} xs
               let zs: [n]i32 = {reverse} ys
               in zs
             entry main = main (xs: [n]i32): [n]i32"
        )
    };
    assert_eq!(count(&text("reverse@D"), "reverse@D"), 2);
    assert_eq!(count(&text("reverse"), "reverse"), 0);
}

#[test]
fn dead_ones_go() {
    let text = "fun main {n} (xs: [n]i32): [n]i32 =
       let ys: [n]i32 = map@par (\\(x: i32): i32 -> let a: i32 = x + 1i32 in a) xs
       in xs
     entry main = main (xs: [n]i32): [n]i32";
    assert_eq!(count(text, "map@par"), 0);
}

#[test]
fn a_function_is_copied_with_its_operations() {
    let text = "fun inc {n} (xs: [n]i32): [n]i32 =
       let ys: [n]i32 = map@par (\\(x: i32): i32 -> let a: i32 = x + 1i32 in a) xs
       in ys
     fun main {n_1} (us: [n_1]i32): [n_1]i32 =
       let vs: [n_1]i32 = inc {n_1} (us)
       let ws: [n_1]i32 = inc {n_1} (vs)
       in ws
     entry main = main (us: [n]i32): [n]i32";
    assert_eq!(count(text, "map@par"), 2);
}
