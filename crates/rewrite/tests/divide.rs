//! Recursions that are done level by level, and those that stay.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use expect_test::{Expect, expect};

/// What the pass says of a recursion `f` over an array, and which functions are called then; `calls` is what `main` does with `xs2`.
fn noted(otherwise: &str, calls: &str, expected: Expect) {
    let text = format!(
        "fun f {{n}} (xs: [n]i64): {{m}} [m]i64 =
           let t: bool = n <= 1i64
           let {{k}} r: [k]i64 = if t: {{j}} [j]i64 then {{n}} xs else
             let p: i64 = xs[0i64]
             let {{s}} small: [s]i64 = filter (\\(x: i64): bool -> let b: bool = x < p in b) xs
             let {{l}} large: [l]i64 = filter (\\(y: i64): bool -> let c: bool = y > p in c) xs
             {otherwise}
           in {{k}} r
         fun main {{n2}} (xs2: [n2]i64): {{m2}} [m2]i64 = {calls}
         entry main = main (xs: []i64): []i64"
    );
    let program = parse_program(&text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let passes: Vec<&Pass> = ["divide", "dead-code"]
        .iter()
        .map(|name| pipelines::pass(name).unwrap())
        .collect();
    let mut log = Log::default();
    let program =
        run(program, &passes, &mut log).unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    let text = program_to_string(&program, Spans::Omit);
    let calls = text.lines().filter(|line| line.contains("= f")).map(str::trim);
    let calls = calls.filter(|line| !line.contains("filter"));
    let notes = log.notes.into_iter().map(|note| note.text);
    let all: Vec<String> = notes.chain(calls.map(str::to_owned)).collect();
    expected.assert_eq(&all.join("\n"));
}

const ONCE: &str = "let {k2} r2: [k2]i64 = f {n2} (xs2) in {k2} r2";

#[test]
fn both_calls_are_known_before() {
    noted(
        "let {a} first: [a]i64 = f {s} (small)
         let {b2} second: [b2]i64 = f {l} (large)
         let both: [a + b2]i64 = concat first second
         let size: i64 = a + b2
         in {size} both",
        ONCE,
        expect![[r#"
            `f` divides and conquers: its calls are made level by level, 6 levels deep, where each is parallel inside; those that are left are done in parallel
            let {a} first: [a]i64 = f {s} (small)
            let {b2} second: [b2]i64 = f {l} (large)
            let {k2} r2: [k2]i64 = f_first {n2} (xs2)
            let {m_35} result: [m_35]i64 = f {row} (given_34)
            let found: [2*taken][?]i64 = f_levels {size_113} (depth_112, next)
            let {rows} one_144: [rows]i64 = found[place]
            let {rows_146} one_147: [rows_146]i64 = found[place_145]
            let all: [1][?]i64 = f_levels {1i64} (depth_179, one_180)"#]],
    );
}

#[test]
fn one_call_waits_for_the_other() {
    noted(
        "let {a} first: [a]i64 = f {s} (small)
         let {b2} second: [b2]i64 = f {a} (first)
         in {b2} second",
        ONCE,
        expect![[r#"
            `f` is not done level by level: what it calls itself with depends on what another call gave
            let {a} first: [a]i64 = f {s} (small)
            let {b2} second: [b2]i64 = f {a} (first)
            let {k2} r2: [k2]i64 = f {n2} (xs2)"#]],
    );
}

#[test]
fn arrays_are_not_given_in_loops() {
    noted(
        "let {a} first: [a]i64 = f {s} (small)
         let {b2} second: [b2]i64 = f {l} (large)
         let both: [a + b2]i64 = concat first second
         let size: i64 = a + b2
         in {size} both",
        "let {k2} r2: [k2]i64 = loop {g = n2} (ys: [g]i64 = xs2) for i: i64 < 3i64 do
           let {h} zs: [h]i64 = f {g} (ys)
           in {h} zs
         in {k2} r2",
        expect![[r#"
            let {a} first: [a]i64 = f {s} (small)
            let {b2} second: [b2]i64 = f {l} (large)
            let {h} zs: [h]i64 = f {g} (ys)"#]],
    );
}
