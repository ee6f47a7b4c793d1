//! Each pass on small programs: the text before and after. Names that end in a number were made by the printer.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use expect_test::{Expect, expect};

mod fusion;
mod rows;

/// Runs passes by name on the text and compares what is printed.
fn rewritten(passes: &[&str], text: &str, expected: Expect) {
    let program = parse_program(text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let passes: Vec<&Pass> = passes.iter().map(|name| pipelines::pass(name).unwrap()).collect();
    let program = run(program, &passes, &mut Log::default())
        .unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    expected.assert_eq(&program_to_string(&program, Spans::Omit));
}

/// The program stays as it is.
fn unchanged(passes: &[&str], text: &str) {
    let program = parse_program(text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let before = program_to_string(&program, Spans::Omit);
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let passes: Vec<&Pass> = passes.iter().map(|name| pipelines::pass(name).unwrap()).collect();
    let program = run(program, &passes, &mut Log::default())
        .unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    assert_eq!(before, program_to_string(&program, Spans::Omit));
}

#[test]
fn copies_go() {
    rewritten(
        &["copy-propagation"],
        "fun f {n} (xs: [n]i32, x: i32): [n]i32 =
           let y: i32 = x
           let z: i32 = y
           let m: i64 = n
           let ys: [m]i32 = map (\\(e: i32): i32 -> let w: i32 = z let s: i32 = e + w in s) xs
           let zs: [m]i32 = ys
           in zs",
        expect![[r#"
            fun f {n} (xs: [n]i32, x: i32): [n]i32 =
              let ys: [n]i32 = map (\(e: i32): i32 ->
                let s: i32 = e + x
                in s) xs
              in ys
        "#]],
    );
}

#[test]
fn constants_fold_but_failures_stay() {
    rewritten(
        &["constant-folding", "copy-propagation", "dead-code"],
        "fun f {n} (xs: [n]f32, c: bool): <i32, i32, i64, f32, bool> =
           let a: i32 = 2i32 * 3i32
           let b: i32 = a / 0i32
           let d: bool = a < 7i32
           let e: i32 = if d: i32 then a else let g: i32 = b + b in g
           let l: i64 = length xs
           let z: f32 = 1.0f32 * 2.5f32
           let k: f32 = z + 0.0f32
           let t: bool = c & true
           in <b, e, l, k, t>",
        expect![[r#"
            fun f {n} (xs: [n]f32, c: bool): <i32, i32, i64, f32, bool> =
              let b: i32 = 6i32 / 0i32
              in <b, 6i32, n, 2.5f32, c>
        "#]],
    );
    // -0.0 + 0.0 is 0.0, so adding zero is not nothing; multiplying by zero is not zero for NaN.
    unchanged(
        &["constant-folding"],
        "fun f (x: f32): <f32, f32> = let a: f32 = x + 0.0f32 let b: f32 = x * 0.0f32 in <a, b>",
    );
}

#[test]
fn branches_and_cases_that_are_decided() {
    rewritten(
        &["constant-folding", "copy-propagation", "dead-code"],
        "data T = Empty | Full ([?]f32) i32
         fun f {n} (xs: [n]f32, c: bool): {k} <[k]f32, i32, bool, bool> =
           let t: T = new T Full (xs, 3i32)
           let {k} <ys: [k]f32, i: i32> = case t: {m} <[m]f32, i32> of
             | Full {m} (zs: [m]f32, j: i32) -> {m} <zs, j>
             | Empty () ->
               let none: [0]f32 = array f32 []
               in {0i64} <none, 1i32>
             end
           let same: bool = if c: bool then true else false
           let other: bool = if c: bool then false else true
           let u: () = assert true, \"never fails\"
           let s: i32 = loop (a: i32 = i) for q: i64 < 0i64 do let b: i32 = a + 1i32 in b
           in {k} <ys, s, same, other>",
        expect![[r#"
            data T = Empty | Full [?]f32 i32

            fun f {n} (xs: [n]f32, c: bool): {k} <[k]f32, i32, bool, bool> =
              let other: bool = not c
              in {n} <xs, 3i32, c, other>
        "#]],
    );
}

#[test]
fn sizes_of_branches_become_known() {
    rewritten(
        &["constant-folding", "copy-propagation"],
        "fun f {n} (xs: [n]f32): [n + n]f32 =
           let {k} ys: [k]f32 = if true: {m} [m]f32 then {n} xs else {n} xs
           let zs: [k + n]f32 = concat ys xs
           let ws: [n + n]f32 = zs :> [n + n]f32
           in ws",
        expect![[r#"
            fun f {n} (xs: [n]f32): [2*n]f32 =
              let zs: [2*n]f32 = concat xs xs
              in zs
        "#]],
    );
}

#[test]
fn views_undo_each_other() {
    rewritten(
        &["views", "copy-propagation", "dead-code"],
        "fun f {n, m} (xs: [n]f32, ys: [n]i32, xss: [n][m]f32): <f32, [n]f32, [n][m]f32, [n](f32, i32), [n*4]f32, [n]f32> =
           let t: (f32, f32) = (1.0f32, 2.0f32)
           let a: f32 = t.1
           let r: [n]f32 = reverse xs
           let s: [n]f32 = reverse r
           let p: [m][n]f32 = transpose xss
           let q: [n][m]f32 = transpose p
           let z: [n](f32, i32) = zip xs ys
           let u: ([n]f32, [n]i32) = unzip z
           let u0: [n]f32 = u.0
           let u1: [n]i32 = u.1
           let z2: [n](f32, i32) = zip u0 u1
           let big: [n][4]f32 = map (\\(x: f32): [4]f32 -> let row: [4]f32 = replicate 4i64 x in row) xs
           let flat: [n*4]f32 = join big
           let again: [n][4]f32 = split 4i64 flat
           let flat2: [n*4]f32 = join again
           let id: [n]f32 = map (\\(x: f32): f32 -> x) u0
           in <a, s, q, z2, flat2, id>",
        expect![[r#"
            fun f {n, m} (xs: [n]f32, ys: [n]i32, xss: [n][m]f32): <f32, [n]f32, [n][m]f32, [n](f32, i32), [4*n]f32, [n]f32> =
              let z2: [n](f32, i32) = zip xs ys
              let big: [n][4]f32 = map (\(x: f32): [4]f32 ->
                let row: [4]f32 = replicate 4i64 x
                in row) xs
              let flat2: [4*n]f32 = join big
              in <2.0f32, xs, xss, z2, flat2, xs>
        "#]],
    );
    // A split that may fail is not passed over, and a fixed operation stays.
    unchanged(
        &["views"],
        "fun f {n} (xs: [n]f32, m: i64): <[m*(n/m)]f32, [n]f32> =
           let s: [n/m][m]f32 = split m xs
           let j: [m*(n/m)]f32 = join s
           let a: [n]f32 = reverse@par xs
           let b: [n]f32 = reverse a
           in <j, b>",
    );
}

#[test]
fn equal_expressions_are_computed_once() {
    rewritten(
        &["common-subexpressions"],
        "fun f {n} (xs: [n]f32, c: bool): <[n]f32, f32> =
           let a: [n]f32 = map (\\(x: f32): f32 -> let p: f32 = x * x in p) xs
           let b: [n]f32 = map (\\(y: f32): f32 -> let q: f32 = y * y in q) xs
           let s: [n]f32 = map (\\(u: f32, v: f32): f32 -> let w: f32 = u + v in w) a b
           let l: i64 = length xs
           let r: f32 = if c: f32 then
               let m: i64 = length xs
               let g: f32 = f32 m
               in g
             else
               let h: f32 = f32 l
               in h
           in <s, r>",
        expect![[r#"
            fun f {n} (xs: [n]f32, c: bool): <[n]f32, f32> =
              let a: [n]f32 = map (\(x: f32): f32 ->
                let p: f32 = x * x
                in p) xs
              let s: [n]f32 = map (\(u: f32): f32 ->
                let w: f32 = u + u
                in w) a
              let l: i64 = length xs
              let r: f32 = if c: f32 then
                let g: f32 = f32 l
                in g
              else
                let h: f32 = f32 l
                in h
              in <s, r>
        "#]],
    );
    // Neither fixed operations nor what prints are merged; nor what stands in different branches.
    unchanged(
        &["common-subexpressions"],
        "fun f {n} (xs: [n]f32, x: f32): <[n]f32, [n]f32, f32, f32> =
           let a: [n]f32 = map@par (\\(x: f32): f32 -> let p: f32 = x * x in p) xs
           let b: [n]f32 = map@par (\\(y: f32): f32 -> let q: f32 = y * y in q) xs
           let t: f32 = trace \"x\" x
           let u: f32 = trace \"x\" x
           in <a, b, t, u>",
    );
}

#[test]
fn jagged_arguments_of_a_map_merge_with_their_sizes() {
    rewritten(
        &["common-subexpressions"],
        "fun f {n} (xss: [n][?]f32): [n][?]f32 =
           let yss: [n][?]f32 = map (\\{a, b} (xs: [a]f32, ys: [b]f32): [a + b]f32 ->
             let zs: [a + b]f32 = concat xs ys
             in zs) xss xss
           in yss",
        expect![[r#"
            fun f {n} (xss: [n][?]f32): [n][?]f32 =
              let yss: [n][?]f32 = map (\{a} (xs: [a]f32): [2*a]f32 ->
                let zs: [2*a]f32 = concat xs xs
                in zs) xss
              in yss
        "#]],
    );
}

#[test]
fn dead_code_goes() {
    rewritten(
        &["dead-code"],
        "fun unused (x: i32): i32 = x
         fun f {n} (xs: [n]f32, ys: [n]f32, x: i32, c: bool): <i32, [n]f32> =
           let u: i32 = x / x
           let {k} <a: [k]f32, b: i32> = if c: {m} <[m]f32, i32> then {n} <xs, x> else {n} <ys, 1i32>
           let v: () = assert c, \"kept\"
           let <i: i32, j: i32, h: i32> = loop (i: i32 = 0i32, j: i32 = 0i32, h: i32 = 0i32) for q: i64 < 10i64 do
             let i2: i32 = i + h
             let j2: i32 = j + 1i32
             let h2: i32 = h + 1i32
             in <i2, j2, h2>
           let zs: [n]f32 = map (\\(x: f32, y: f32): f32 -> let z: f32 = x + 1.0f32 let w: f32 = y * y in z) xs ys
           let r: i32 = i + b
           in <r, zs>
         entry f = f (xs: [n]f32, ys: [n]f32, x: i32, c: bool): (i32, [n]f32)",
        expect![[r#"
            fun f {n} (xs: [n]f32, ys: [n]f32, x: i32, c: bool): <i32, [n]f32> =
              let b: i32 = if c: i32 then x
              else 1i32
              let v: () = assert c, "kept"
              let <i_12: i32, h_14: i32> = loop (i: i32 = 0i32, h: i32 = 0i32) for q: i64 < 10i64 do
                let i2: i32 = i + h
                let h2: i32 = h + 1i32
                in <i2, h2>
              let zs: [n]f32 = map (\(x_23: f32): f32 ->
                let z: f32 = x_23 + 1.0f32
                in z) xs
              let r: i32 = i_12 + b
              in <r, zs>

            entry f = f (xs: [n]f32, ys: [n]f32, x: i32, c: bool): (i32, [n]f32)
        "#]],
    );
    unchanged(
        &["dead-code"],
        "fun f (x: i32): i32 = let t: i32 = trace \"x\" x let u: () = assert false, \"stop\" in x",
    );
}

#[test]
fn calls_are_inlined_but_for_recursion() {
    rewritten(
        &["inlining", "copy-propagation", "dead-code"],
        "fun sq (x: f32): f32 = let y: f32 = x * x in y
         fun quad (x: f32): f32 = let a: f32 = sq (x) let b: f32 = sq (a) in b
         fun small {n} (xs: [n]f32): {k} [k]f32 =
           let {k} ys: [k]f32 = filter (\\(x: f32): bool -> let b: bool = x < 1.0f32 in b) xs
           in {k} ys
         fun down (n: i32): i32 =
           let b: bool = n <= 0i32
           let r: i32 = if b: i32 then 0i32 else let m: i32 = n - 1i32 let s: i32 = down (m) let t: i32 = s + n in t
           in r
         fun main {n} (xs: [n]f32, i: i32): {k} <[k]f32, i32> =
           let ys: [n]f32 = map (\\(x: f32): f32 -> let y: f32 = quad (x) in y) xs
           let {k} zs: [k]f32 = small {n} (ys)
           let d: i32 = down (i)
           in {k} <zs, d>
         entry main = main (xs: []f32, i: i32): ([]f32, i32)",
        expect![[r#"
            fun down (n: i32): i32 =
              let b: bool = n <= 0i32
              let r: i32 = if b: i32 then 0i32
              else
                let m: i32 = n - 1i32
                let s: i32 = down (m)
                let t: i32 = s + n
                in t
              in r

            fun main {n_18} (xs: [n_18]f32, i: i32): {k} <[k]f32, i32> =
              let ys: [n_18]f32 = map (\(x: f32): f32 ->
                let y: f32 = x * x
                let y_37: f32 = y * y
                in y_37) xs
              let {k_44} ys_45: [k_44]f32 = filter (\(x_42: f32): bool ->
                let b_43: bool = x_42 < 1.0f32
                in b_43) ys
              let d: i32 = down (i)
              in {k_44} <ys_45, d>

            entry main = main (xs: []f32, i: i32): ([]f32, i32)
        "#]],
    );
}

#[test]
fn constants_leave_maps() {
    rewritten(
        &["fusion", "copy-propagation", "dead-code"],
        "fun f {n} (xs: [n]f32, c: f32): [n]f32 =
           let cs: [n]f32 = replicate n c
           let ys: [n]f32 = map (\\(x: f32, y: f32): f32 -> let p: f32 = x * y in p) xs cs
           in ys",
        expect![[r#"
            fun f {n} (xs: [n]f32, c: f32): [n]f32 =
              let ys: [n]f32 = map (\(x: f32): f32 ->
                let p: f32 = x * c
                in p) xs
              in ys
        "#]],
    );
}

#[test]
fn tail_calls_become_loops() {
    rewritten(
        &["tail-calls"],
        "fun gcd (a: i32, b: i32): i32 =
           let done: bool = b == 0i32
           let r: i32 = if done: i32 then a
             else
               let m: i32 = a % b
               let t: i32 = gcd (b, m)
               in t
           in r",
        expect![[r#"
            fun gcd (a: i32, b: i32): i32 =
              let <go_12: bool, a_13: i32, b_14: i32> = loop (go: bool = true, a_6: i32 = a, b_7: i32 = b) while go
              do
                let done: bool = b_7 == 0i32
                let <go_9: bool, a_10: i32, b_11: i32> = if done: <bool, i32, i32> then <false, a_6, b_7>
                else
                  let m: i32 = a_6 % b_7
                  in <true, b_7, m>
                in <go_9, a_10, b_11>
              in a_13
        "#]],
    );
    rewritten(
        &["tail-calls"],
        "data rec List = Nil | Cons i32 List
         fun grow {n} (xs: [n]f32, l: List, c: f32): {k} [k]f32 =
           let {k} r: [k]f32 = case l: {j} [j]f32 of
             | Nil () -> {n} xs
             | Cons (h: i32, t: List) ->
               let ys: [n + n]f32 = concat xs xs
               let m: i64 = n + n
               let {q} zs: [q]f32 = grow {m} (ys, t, c)
               in {q} zs
             end
           in {k} r",
        expect![[r#"
            data rec List = Nil | Cons i32 List

            fun grow {n} (xs: [n]f32, l: List, c: f32): {k} [k]f32 =
              let none: [0]f32 = array f32 []
              let {n_29, k_30} <go_31: bool, xs_32: [n_29]f32, l_33: List, result_34: [k_30]f32> = loop {n_15 = n, k_16 = 0i64} (go: bool = true, xs_17: [n_15]f32 = xs, l_18: List = l, result: [k_16]f32 = none) while go
              do
                let {n_23, k_24} <go_25: bool, xs_26: [n_23]f32, l_27: List, result_28: [k_24]f32> = case l_18: {n_21, k_22} <bool, [n_21]f32, List, [k_22]f32> of
                | Nil () -> {n_15, n_15} <false, xs_17, l_18, xs_17>
                | Cons (h: i32, t: List) ->
                  let ys: [2*n_15]f32 = concat xs_17 xs_17
                  let m: i64 = n_15 + n_15
                  in {m, k_16} <true, ys, t, result>
                end
                in {n_23, k_24} <go_25, xs_26, l_27, result_28>
              in {k_30} result_34
        "#]],
    );
    // Not a tail call: there is work left to do.
    unchanged(
        &["tail-calls"],
        "fun fact (n: i32): i32 =
           let done: bool = n == 0i32
           let r: i32 = if done: i32 then 1i32
             else
               let m: i32 = n - 1i32
               let t: i32 = fact (m)
               let u: i32 = t * n
               in u
           in r",
    );
}

#[test]
fn invariants_are_hoisted_where_they_cannot_fail() {
    rewritten(
        &["hoisting"],
        "fun f {n, m} (xs: [n]f32, ys: [m]f32, c: f32, i: i64, j: i64): <[n]f32, [n]f32> =
           let zs: [n]f32 = map (\\(x: f32): f32 ->
             let s: f32 = sqrt c
             let q: i64 = i / j
             let t: f32 = f32 q
             let total: f32 = reduce (\\(a: f32, b: f32): f32 -> let d: f32 = a + b in d) 0.0f32 ys
             let y: f32 = x * s
             let z: f32 = y + t
             let w: f32 = z + total
             in w) xs
           let ws: [n]f32 = map@par (\\(x: f32): f32 ->
             let r: f32 = reduce@seq (\\(a: f32, b: f32): f32 -> let d: f32 = a + b in d) 0.0f32 ys
             let half: f32 = c / 2.0f32
             let y: f32 = r * half
             in y) xs
           in <zs, ws>",
        expect![[r#"
            fun f {n, m} (xs: [n]f32, ys: [m]f32, c: f32, i: i64, j: i64): <[n]f32, [n]f32> =
              let s: f32 = sqrt c
              let total: f32 = reduce (\(a: f32, b: f32): f32 ->
                let d: f32 = a + b
                in d) 0.0f32 ys
              let zs: [n]f32 = map (\(x: f32): f32 ->
                let q: i64 = i / j
                let t: f32 = f32 q
                let y: f32 = x * s
                let z: f32 = y + t
                let w: f32 = z + total
                in w) xs
              let half: f32 = c / 2.0f32
              let ws: [n]f32 = map@par (\(x_20: f32): f32 ->
                let r: f32 = reduce@seq (\(a_22: f32, b_23: f32): f32 ->
                  let d_24: f32 = a_22 + b_23
                  in d_24) 0.0f32 ys
                let y_26: f32 = r * half
                in y_26) xs
              in <zs, ws>
        "#]],
    );
}

#[test]
fn conditions_that_cannot_fail_become_operators() {
    rewritten(
        &["short-circuits", "copy-propagation"],
        "fun f {n} (xs: [n]f32, a: bool, x: i32, i: i64): <bool, bool, bool> =
           let r: bool = if a: bool then let b: bool = x < 3i32 in b else false
           let s: bool = if a: bool then true else
               let inner: bool = if r: bool then false else let c: bool = x > 5i32 in c
               in inner
           let inside: bool = i < n
           let t: bool = if inside: bool then let y: f32 = xs[i] let b: bool = y > 0.0f32 in b else false
           in <r, s, t>",
        expect![[r#"
            fun f {n} (xs: [n]f32, a: bool, x: i32, i: i64): <bool, bool, bool> =
              let b: bool = x < 3i32
              let r: bool = a & b
              let c: bool = x > 5i32
              let otherwise: bool = not r
              let inner: bool = otherwise & c
              let s: bool = a | inner
              let inside: bool = i < n
              let t: bool = if inside: bool then
                let y: f32 = xs[i]
                let b_13: bool = y > 0.0f32
                in b_13
              else false
              in <r, s, t>
        "#]],
    );
}

/// The whole pipeline on the dot product of the papers.
#[test]
fn the_standard_pipeline() {
    let text = "fun mul (x: f32, y: f32): f32 = let p: f32 = x * y in p
         fun dot {n} (xs: [n]f32, ys: [n]f32): f32 =
           let z: [n](f32, f32) = zip xs ys
           let ps: [n]f32 = map (\\(t: (f32, f32)): f32 ->
             let a: f32 = t.0
             let b: f32 = t.1
             let p: f32 = mul (a, b)
             in p) z
           let l: i64 = length ps
           let s: f32 = reduce (\\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 ps
           let g: f32 = f32 l
           let mean: f32 = s / g
           in mean
         entry dot = dot (xs: [n]f32, ys: [n]f32): f32";
    let names: Vec<&str> = pipelines::STANDARD.iter().map(|pass| pass.name).collect();
    rewritten(
        &names,
        text,
        expect![[r#"
        fun dot {n} (xs: [n]f32, ys: [n]f32): f32 =
          let ps: [n]f32 = map (\(t: f32, t_23: f32): f32 ->
            let p: f32 = t * t_23
            in p) xs ys
          let s: f32 = reduce (\(a: f32, b: f32): f32 ->
            let c: f32 = a + b
            in c) 0.0f32 ps
          let g: f32 = f32 n
          let mean: f32 = s / g
          in mean

        entry dot = dot (xs: [n]f32, ys: [n]f32): f32
    "#]],
    );
}

#[test]
fn size_checks_move_to_what_a_map_reads() {
    rewritten(
        &["size-checks", "fusion", "copy-propagation"],
        "fun f {n, m} (xs: [n]f32, ys: [m]f32, is: [m]i64): <[n]f32, [n]f32, [n]f32> =
           let a: [m]f32 = map (\\(y: f32): f32 -> let p: f32 = y * 2.0f32 in p) ys
           let b: [n]f32 = a :> [n]f32
           let c: [n]f32 = map (\\(x: f32, y: f32): f32 -> let q: f32 = x + y in q) xs b
           let d: [m]f32 = gather is xs
           let e: [n]f32 = d :> [n]f32
           let g: [m]f32 = map@seq (\\(y: f32): f32 -> let p: f32 = y * 2.0f32 in p) ys
           let h: [n]f32 = g :> [n]f32
           in <c, e, h>",
        expect![[r#"
            fun f {n, m} (xs: [n]f32, ys: [m]f32, is: [m]i64): <[n]f32, [n]f32, [n]f32> =
              let ys_19: [n]f32 = ys :> [n]f32
              let c: [n]f32 = map (\(x: f32, y: f32): f32 ->
                let p: f32 = y * 2.0f32
                let q: f32 = x + p
                in q) xs ys_19
              let is_20: [n]i64 = is :> [n]i64
              let e: [n]f32 = gather is_20 xs
              let g: [m]f32 = map@seq (\(y_16: f32): f32 ->
                let p_17: f32 = y_16 * 2.0f32
                in p_17) ys
              let h: [n]f32 = g :> [n]f32
              in <c, e, h>
        "#]],
    );
}

#[test]
fn branches_that_exclude_each_other_are_one_operator() {
    rewritten(
        &["short-circuits"],
        "fun f (x: f32, y: f32): bool =
           let x_ordered: bool = x == x
           let y_ordered: bool = y == y
           let c: bool = x_ordered & y_ordered
           let r: bool = if c: bool then let a: bool = x < y in a else
               let n: bool = not y_ordered
               let b: bool = x_ordered & n
               in b
           in r",
        expect![[r#"
            fun f (x: f32, y: f32): bool =
              let x_ordered: bool = x == x
              let y_ordered: bool = y == y
              let c: bool = x_ordered & y_ordered
              let a: bool = x < y
              let n: bool = not y_ordered
              let b: bool = x_ordered & n
              let r: bool = a | b
              in r
        "#]],
    );
    // That x is less than y says nothing of z, and that y is ordered does not exclude that all are.
    for (z, other) in [("z == z", "not y_ordered"), ("x == x", "y < 3.0f32")] {
        let text = format!(
            "fun f (x: f32, y: f32, z: f32): bool =
               let z_ordered: bool = {z}
               let y_ordered: bool = y == y
               let c: bool = z_ordered & y_ordered
               let r: bool = if c: bool then let a: bool = x < y in a else let n: bool = {other} in n
               in r"
        );
        unchanged(&["short-circuits"], &text);
    }
}

#[test]
fn reductions_join_others_before_they_know_what_they_start_from() {
    let text = |element: &str| {
        format!(
            "fun f {{n}} (xs: [n]f32): <f32, f32> =
           let s: f32 = reduce (\\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 xs
           let x: f32 = xs[0i32]
           let ys: [n]f32 = map (\\(y: f32): f32 -> let d: f32 = y - {element} in d) xs
           let m: f32 = reduce (\\(a: f32, b: f32): f32 -> let c: f32 = min a b in c) x ys
           in <s, m>"
        )
    };
    rewritten(
        &["horizontal-fusion"],
        &text("1.0f32"),
        expect![[r#"
        fun f {n} (xs: [n]f32): <f32, f32> =
          let tuples: [n](f32, f32) = map (\(x: f32): (f32, f32) ->
            let y: f32 = x
            let d: f32 = y - 1.0f32
            let t: (f32, f32) = (x, d)
            in t) xs
          let start: (f32, f32) = (0.0f32, f32.nan)
          let reduced: (f32, f32) = reduce (\(a: (f32, f32), b: (f32, f32)): (f32, f32) ->
            let x_21: f32 = a.0
            let x_22: f32 = b.0
            let y_23: f32 = x_21 + x_22
            let x_24: f32 = a.1
            let x_25: f32 = b.1
            let y_26: f32 = min x_24 x_25
            let t_27: (f32, f32) = (y_23, y_26)
            in t_27) start tuples
          let s: f32 = reduced.0
          let all: f32 = reduced.1
          let x_6: f32 = xs[0i32]
          let m: f32 = min x_6 all
          in <s, m>
    "#]],
    );
    // What its elements are made of must be known.
    unchanged(&["horizontal-fusion"], &text("x"));
}
