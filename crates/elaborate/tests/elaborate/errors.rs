//! What cannot be made concrete, with the exact words.

use crate::support::{self, Calls};
use expect_test::{Expect, expect};
use std::path::Path;

fn refused(text: &'static str, expected: Expect) {
    let message = almach_corpus::on_large_stack(move || {
        let compiled = support::compile("test.alm", Path::new("."), text, Calls::None);
        assert_eq!(compiled.tests.len(), 0);
        compiled.result.unwrap_err()
    });
    expected.assert_eq(&message);
}

#[test]
fn polymorphic_recursion() {
    refused(
        "def rec depth (n: i64) (x: 'a): i64 = if n == 0 then 0 else 1 + depth (n - 1) (x, x)
entry main (n: i64): i64 = depth n 1i32
",
        expect![[r#"
            error[E0601]: `depth` would need a version of its own for every depth of recursion
             --> test.alm:1:65
              |
            1 | def rec depth (n: i64) (x: 'a): i64 = if n == 0 then 0 else 1 + depth (n - 1) (x, x)
              |                                                                 ^^^^^^^^^^^^^^^^^^^^ it calls itself at a new type each time (polymorphic recursion)
            2 | entry main (n: i64): i64 = depth n 1i32
              |                            ------------ the first of these calls
              |
              = note: the calls so far: `depth` -> `depth` -> `depth` -> `depth` -> `depth` -> `depth` -> …
              = help: call it at the same types, or use a data type instead of types that grow

        "#]],
    );
}

#[test]
fn functions_that_grow_with_the_recursion() {
    refused(
        "def rec count (n: i64) (f: i64 -> i64): i64 = if n == 0 then f 0 else count (n - 1) (\\x -> f (x + 1))
entry main (n: i64): i64 = count n (\\x -> x)
",
        expect![[r#"
            error[E0601]: `count` would need a version of its own for every depth of recursion
             --> test.alm:1:71
              |
            1 | def rec count (n: i64) (f: i64 -> i64): i64 = if n == 0 then f 0 else count (n - 1) (\x -> f (x + 1))
              |                                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it calls itself with a new function each time, made from the one before
            2 | entry main (n: i64): i64 = count n (\x -> x)
              |                            ----------------- the first of these calls
              |
              = note: the calls so far: `count` -> `count` -> `count` -> `count` -> `count` -> `count` -> …
              = help: pass the numbers the function depends on instead of a function that wraps the old one

        "#]],
    );
}

#[test]
fn functions_in_the_result_of_a_recursion() {
    refused(
        "def rec both (n: i64): (i64 -> i64, i64 -> i64) =
  if n == 0 then (\\x -> x, \\x -> x) else let (f, g) = both (n - 1) in (\\x -> f x + 1, \\x -> g x - 1)
entry main (n: i64): i64 = let (f, g) = both n in f 1 + g 1
",
        expect![[r#"
            error[E0602]: `both` is recursive and gives functions inside a tuple or record
             --> test.alm:3:41
              |
            1 | / def rec both (n: i64): (i64 -> i64, i64 -> i64) =
            2 | |   if n == 0 then (\x -> x, \x -> x) else let (f, g) = both (n - 1) in (\x -> f x + 1, \x -> g x - 1)
              | |____________________________________________________________________________________________________- defined here
            3 |   entry main (n: i64): i64 = let (f, g) = both n in f 1 + g 1
              |                                           ^^^^^^ which functions it gives depends on how deep the recursion goes
              |
              = help: give the values the functions depend on instead, and apply the functions where they are used

        "#]],
    );
}

#[test]
fn functions_that_grow_in_a_loop() {
    refused(
        "entry main (n: i64): i64 =
  let g = loop (g = \\x -> x) for i < n do \\x -> g (x + 1) in g 0
",
        expect![[r#"
            error[E0603]: a loop makes a new function in every iteration
             --> test.alm:2:43
              |
            2 |   let g = loop (g = \x -> x) for i < n do \x -> g (x + 1) in g 0
              |                                           ^^^^^^^^^^^^^^^ this wraps a function around the one of the iteration before
              |
              = note: a loop may change the functions in its state, but there must be finitely many of them
              = help: keep the values that the function depends on in the state, and make the function after the loop

        "#]],
    );
}

#[test]
fn literals_too_large_for_an_instance() {
    refused(
        "def scale x = x * 1000
entry main (x: i8): i8 = scale x
",
        expect![[r#"
            error[E0604]: the literal 1000 does not fit i8
             --> test.alm:1:19
              |
            1 | def scale x = x * 1000
              |                   ^^^^ this definition is used at type i8
              |
              = help: use the definition at a wider type, or convert: `i64 x`

        "#]],
    );
}

#[test]
fn data_types_that_grow() {
    refused(
        "data Nest 'a = Nil | More 'a (Nest ('a, 'a))
entry main (x: i32): i32 = case More x Nil of | Nil -> 0 | More y _ -> y
",
        expect![[r#"
            error[E0605]: the data type `Nest` contains itself at ever larger types
             --> test.alm:1:1
              |
            1 | data Nest 'a = Nil | More 'a (Nest ('a, 'a))
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its fields mention it with arguments that grow each time
              |
              = help: mention the type with the arguments it is declared with

        "#]],
    );
}
