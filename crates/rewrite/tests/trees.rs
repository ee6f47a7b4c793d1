//! Recursions over trees that are cut into subtrees, and those that stay.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use expect_test::{Expect, expect};

/// What the passes say of a recursion `f` that gets a number besides the tree, and what calls stand in the program then.
fn noted(fork: &str, expected: Expect) {
    let text = format!(
        "data rec T = Leaf i64 | Fork i64 T T
         fun f (t: T, k: i64): i64 =
           let r: i64 = case t: i64 of
           | Leaf (y: i64) -> k
           | Fork (x: i64, left: T, right: T) -> {fork}
           end
           in r
         fun main (t2: T): i64 = let s2: i64 = f (t2, 1i64) in s2
         entry main = main (t: sum \"T\" (Leaf i64 | Fork i64 rec \"T\" rec \"T\")): i64"
    );
    let program = parse_program(&text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let passes: Vec<&Pass> = ["lists", "trees", "dead-code"]
        .iter()
        .map(|name| pipelines::pass(name).unwrap())
        .collect();
    let mut log = Log::default();
    let program =
        run(program, &passes, &mut log).unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    let text = program_to_string(&program, Spans::Omit);
    let calls = text
        .lines()
        .filter(|line| line.contains("= f (") || line.contains("= f_cut"))
        .map(str::trim);
    let notes = log.notes.into_iter().map(|note| note.text);
    let all: Vec<String> = notes.chain(calls.map(str::to_owned)).collect();
    expected.assert_eq(&all.join("\n"));
}

#[test]
fn a_fold_by_anything() {
    noted(
        "let a: i64 = f (left, k)
         let b: i64 = f (right, k)
         let c: i64 = a - b
         in c",
        expect![[r#"
            `f` folds a tree: the tree is cut from its root down into at most 4096 subtrees, these are done in parallel, and then what is above them from the last up; where it is a path, most of it is done in order
            let a: i64 = f (left, k)
            let b: i64 = f (right, k)
            let s2: i64 = f_cut (t2, 1i64)
            let result: i64 = f (t_58, k_13)
            let result_131: i64 = f_cut_large (t_85, k_86)
            let result_134: i64 = f (t_133, k_86)"#]],
    );
}

#[test]
fn something_is_handed_down_in_one_branch() {
    noted(
        "let small: bool = x < k
         let below: i64 = k + 1i64
         let c: i64 = if small: i64 then let a: i64 = f (left, below) let b: i64 = f (right, x) let d: i64 = a * b in d else x
         in c",
        expect![[r#"
            `f` folds a tree, and hands something down: the tree is cut from its root down into at most 4096 subtrees, these are done in parallel, and then what is above them from the last up; where it is a path, most of it is done in order
            let a: i64 = f (left, below)
            let b: i64 = f (right, x)
            let s2: i64 = f_cut (t2, 1i64)
            let result: i64 = f (t_77, k_79)
            let result_172: i64 = f_cut_large (t_110, k_111)
            let result_177: i64 = f (t_174, k_176)"#]],
    );
}

#[test]
fn one_part_only() {
    noted(
        "let a: i64 = f (left, k) in a",
        expect![[r#"
        `f` stays a recursion: it goes on in one part of its datum only
        let a: i64 = f (left, k)
        let s2: i64 = f (t2, 1i64)"#]],
    );
}

#[test]
fn a_part_says_how_to_go_on_in_the_other() {
    noted(
        "let a: i64 = f (left, k)
         let b: i64 = f (right, a)
         in b",
        expect![[r#"
            `f` stays a recursion: what it goes on with depends on what it found in another part
            let a: i64 = f (left, k)
            let b: i64 = f (right, a)
            let s2: i64 = f (t2, 1i64)"#]],
    );
}

#[test]
fn a_part_says_whether_to_go_on_in_the_other() {
    noted(
        "let a: i64 = f (left, k)
         let found: bool = a > k
         let c: i64 = if found: i64 then a else let b: i64 = f (right, k) in b
         in c",
        expect![[r#"
            `f` stays a recursion: whether it goes on depends on what it found in a part
            let a: i64 = f (left, k)
            let b: i64 = f (right, k)
            let s2: i64 = f (t2, 1i64)"#]],
    );
}

#[test]
fn calls_in_a_loop() {
    noted(
        "let c: i64 = loop (s: i64 = k) for i: i64 < 2i64 do let a: i64 = f (left, s) in a
         in c",
        expect![[r#"
            `f` stays a recursion: it calls itself in a loop or in a parallel operation
            let a: i64 = f (left, s)
            let s2: i64 = f (t2, 1i64)"#]],
    );
}
