//! The optimisation examples of the NOVA paper (sections 5 and 6): Core behind the rewrites, and what is left in Imp.
#![allow(clippy::unwrap_used)]

use almach_core::check::Checked;
use almach_core::print::{Spans, program_to_string};
use almach_core::{Entry, Program};
use almach_driver::back::{self, Target};
use almach_driver::{NoFiles, front, load};
use expect_test::{Expect, expect};
use std::fmt::Write as _;

fn core(text: &str) -> Checked<Program> {
    let front = front(load("example.nova", text, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    front.core().unwrap()
}

fn rewritten(text: &str, expected: Expect) {
    let rewritten = back::rewritten(core(text)).unwrap();
    expected.assert_eq(&program_to_string(&rewritten, Spans::Omit));
}

/// The program as loops over flat memory, for one thread.
fn imp(text: &str) -> String {
    let strategy = back::strategy(core(text), back::machine(Target::C)).unwrap();
    let entries: Vec<&Entry> = strategy.entries.iter().collect();
    let lowered = back::lowered(&strategy, &entries).unwrap();
    lowered.imp.program().to_string()
}

/// Core as elaboration makes it, before any rewrite.
fn elaborated(text: &str, expected: Expect) {
    expected.assert_eq(&program_to_string(&core(text), Spans::Omit));
}

/// Section 4.1: `(map (+ 1) X)` is `@map [0] (@+ [] (1, _p0_), X)`, with a name for the parameter of the built-in.
#[test]
fn built_ins_are_converted() {
    elaborated(
        "((X : vector int)) (map (+ 1) X)",
        expect![[r#"
        fun main {n} (X: [n]i32): [n]i32 =
          let map_6: [n]i32 = map (\(_x: i32): i32 ->
            let t: i32 = 1i32 + _x
            in t) X
          in map_6

        entry main = main (X: [n]i32): [n]i32
    "#]],
    );
}

/// Section 4.1: a polymorphic lambda is concrete at each of its calls (here the increment of section 3.3).
#[test]
fn polymorphic_functions_become_concrete() {
    elaborated(
        "((i : int) (d : double))
         (let (inc (lambda (x : 'a) : 'a (from_double (+ (to_double x) 1.0L)))) in ((inc i), (inc d)))",
        expect![[r#"
            fun to_double (x: i32): f64 =
              let t: f64 = f64 x
              in t

            fun from_double (x_8: f64): i32 =
              let t_9: i32 = i32 x_8
              in t_9

            fun to_double_2 (x_11: f64): f64 =
              let t_12: f64 = f64 x_11
              in t_12

            fun from_double_3 (x_15: f64): f64 =
              let t_16: f64 = f64 x_15
              in t_16

            fun main (i: i32, d: f64): <i32, f64> =
              let r: f64 = to_double (i)
              let t_7: f64 = r + 1.0f64
              let r_10: i32 = from_double (t_7)
              let r_13: f64 = to_double_2 (d)
              let t_14: f64 = r_13 + 1.0f64
              let r_17: f64 = from_double_3 (t_14)
              in <r_10, r_17>

            entry main = main (i: i32, d: f64): (i32, f64)
        "#]],
    );
}

/// Sections 4.1 and 5: a function that is not static becomes data, with what it closes over; calls choose by it.
#[test]
fn closures_become_data() {
    elaborated(
        "((C : bool) (x : int) (k : int))
         (let (f (lambda (y : int) : int (+ y k))) (g (* 2)) (h (if C then f else g)) in (h x))",
        expect![[r#"
            data Function = F0 | F1

            fun main (C: bool, x: i32, k: i32): i32 =
              let r: Function = if C: Function then
                let chosen: Function = new Function F0 ()
                in chosen
              else
                let chosen_7: Function = new Function F1 ()
                in chosen_7
              let r_11: i32 = case r: i32 of
              | F0 () ->
                let t: i32 = x + k
                in t
              | F1 () ->
                let t_10: i32 = 2i32 * x
                in t_10
              end
              in r_11

            entry main = main (C: bool, x: i32, k: i32): i32
        "#]],
    );
}

/// The other direction of fusion: maps over one vector are one map.
#[test]
fn maps_side_by_side() {
    rewritten(
        "((X : vector int)) ((map (+ 1) X), (map (* 2) X))",
        expect![[r#"
            fun main {n} (X: [n]i32): <[n]i32, [n]i32> =
              let <map_6: [n]i32, map_9: [n]i32> = map (\(_x: i32): <i32, i32> ->
                let t: i32 = 1i32 + _x
                let t_8: i32 = 2i32 * _x
                in <t, t_8>) X
              in <map_6, map_9>

            entry main = main (X: [n]i32): ([n]i32, [n]i32)
        "#]],
    );
}

#[test]
fn inlining_and_let_flattening() {
    rewritten(
        "((a : int) (b : int))
         (let (inc (lambda (x:int) : int (+ x 1))) in (let (y (inc (+ a b))) in (* y y)))",
        expect![[r#"
            fun main (a: i32, b: i32): i32 =
              let x: i32 = a + b
              let y: i32 = x + 1i32
              let t: i32 = y * y
              in t

            entry main = main (a: i32, b: i32): i32
        "#]],
    );
}

#[test]
fn common_subexpressions() {
    rewritten(
        "((a : int) (b : int)) (+ (- a b) (- a b))",
        expect![[r#"
            fun main (a: i32, b: i32): i32 =
              let t: i32 = a - b
              let t_6: i32 = t + t
              in t_6

            entry main = main (a: i32, b: i32): i32
        "#]],
    );
}

#[test]
fn common_vector_arguments() {
    rewritten(
        "((X : vector int) (Z : vector int))
         (let (f (lambda (x:int) (y:int) (z:int) : int (+ (- x z) (- y z)))) in (map f X X Z))",
        expect![[r#"
            fun main {n} (X: [n]i32, Z: [n]i32): [n]i32 =
              let map_12: [n]i32 = map (\(x: i32, z: i32): i32 ->
                let t: i32 = x - z
                let t_11: i32 = t + t
                in t_11) X Z
              in map_12

            entry main = main (X: [n]i32, Z: [n]i32): [n]i32
        "#]],
    );
}

#[test]
fn fusion_of_maps() {
    rewritten(
        "((X : vector int))
         (let (f (lambda (x : int) : int (+ x 1))) (g (* 2)) (Y (map f X)) in (map g Y))",
        expect![[r#"
            fun main {n} (X: [n]i32): [n]i32 =
              let map_9: [n]i32 = map (\(x: i32): i32 ->
                let t: i32 = x + 1i32
                let t_8: i32 = 2i32 * t
                in t_8) X
              in map_9

            entry main = main (X: [n]i32): [n]i32
        "#]],
    );
}

#[test]
fn copy_propagation_and_constants_and_dead_code() {
    rewritten(
        "((x : int) (y : int)) (let (t x) (u (+ 2 3)) (dead (* x y)) in (+ (+ (- x y) (- t y)) u))",
        expect![[r#"
            fun main (x: i32, y: i32): i32 =
              let t: i32 = x - y
              let t_8: i32 = t + t
              let t_9: i32 = t_8 + 5i32
              in t_9

            entry main = main (x: i32, y: i32): i32
        "#]],
    );
}

#[test]
fn tail_calls_are_loops() {
    rewritten(
        "((n : int))
         (let (sum (mu (sum : int -> int -> int)
                (lambda (acc : int) (n : int) : int (if (= n 0) then acc else (sum (+ acc n) (- n 1))))))
          in (sum 0 n))",
        expect![[r#"
            fun main (n: i32): i32 =
              let <go_31: bool, acc_32: i32, n_33: i32> = loop (go: bool = true, acc: i32 = 0i32, n_24: i32 = n) while go
              do
                let t: bool = n_24 == 0i32
                let <go_28: bool, acc_29: i32, n_30: i32> = if t: <bool, i32, i32> then <false, acc, n_24>
                else
                  let t_26: i32 = acc + n_24
                  let t_27: i32 = n_24 - 1i32
                  in <true, t_26, t_27>
                in <go_28, acc_29, n_30>
              in acc_32

            entry main = main (n: i32): i32
        "#]],
    );
}

#[test]
fn gather_changes_the_index_only() {
    rewritten(
        "((X : vector int) (I : vector int)) (map (+ 1) (gather I X))",
        expect![[r#"
            fun main {n, n_5} (X: [n]i32, I: [n_5]i32): [n_5]i32 =
              let map_11: [n_5]i32 = map (\(i: i32): i32 ->
                let x: i32 = X[i]
                let t: i32 = 1i32 + x
                in t) I
              in map_11

            entry main = main (X: [n]i32, I: [m]i32): [m]i32
        "#]],
    );
}

#[test]
fn size_checks_do_not_hinder_fusion() {
    rewritten(
        "((X : vector int) (m : int)) (map * X (map (+ 1) (range 0 1 m)))",
        expect![[r#"
            fun main {n} (X: [n]i32, m: i32): [n]i32 =
              let t: i64 = i64 m
              let t_48: i64 = t + 1i64
              let t_50: i64 = t_48 - 1i64
              let t_52: i64 = max 0i64 t_50
              let iota_53: [t_52]i64 = iota t_52
              let iota_60: [n]i64 = iota_53 :> [n]i64
              let map_36: [n]i32 = map (\(x: i32, i: i64): i32 ->
                let t_57: i32 = i32 i
                let t_30: i32 = 1i32 + t_57
                let t_35: i32 = x * t_30
                in t_35) X iota_60
              in map_36

            entry main = main (X: [n]i32, m: i32): [n]i32
        "#]],
    );
}

/// Loops of a program, and allocations whose size is not fixed.
fn counted(imp: &str) -> (usize, usize) {
    let main = imp.split("proc entry_main").next().unwrap();
    let is_loop = |line: &&str| line.contains("for ") && line.ends_with('{');
    let grows = |line: &&str| match line.trim_start().strip_prefix("alloc ") {
        Some(allocated) => {
            !allocated.ends_with(']')
                || allocated
                    .split(['[', ']'])
                    .nth(1)
                    .is_none_or(|size| size.parse::<u64>().is_err())
        }
        None => false,
    };
    (
        main.lines().filter(is_loop).count(),
        main.lines().filter(grows).count(),
    )
}

#[test]
fn fused_maps_are_one_loop_without_temporaries() {
    let pipelines = [
        "((X : vector int)) (map (* 2) (map (+ 1) X))",
        "((X : vector int) (I : vector int)) (map (* 2) (gather I (map (+ 1) X)))",
        "((X : vector int)) (map * X (range 0 1 (length X)))",
        "((X : vector int) (Y : vector int)) (map * X (map (+ 1) (slice 0 2 (length Y) Y)))",
    ];
    let counts: Vec<(usize, usize)> = pipelines.iter().map(|text| counted(&imp(text))).collect();
    // What a gather reads from is there as a whole: it may be read in any order, and more than once.
    assert_eq!(counts, [(1, 0), (2, 1), (1, 0), (1, 0)]);
}

/// How often each element of a vector of `n` elements is read: over all places that read it, how often the loops around them
/// run, divided by `n`.
fn passes_over(imp: &str, array: &str, n: i64) -> i64 {
    let main = imp.split("proc entry_main").next().unwrap();
    let mut bounds: Vec<Option<i64>> = Vec::new();
    let mut reads = 0;
    for line in main.lines().map(str::trim) {
        let found = line.matches(&format!("{array}[")).count() as i64;
        reads += found * bounds.iter().flatten().product::<i64>();
        if line.ends_with('{') {
            let bound = line.split("for ").nth(1).filter(|_| line.contains("for "));
            let bound = bound.and_then(|head| head.split(" < ").nth(1));
            bounds.push(bound.map(|text| value(text.trim_end_matches('{'), n)));
            if line.starts_with('}') {
                let opened = bounds.pop();
                bounds.pop();
                bounds.extend(opened);
            }
        } else if line.starts_with('}') {
            bounds.pop();
        }
    }
    assert_eq!(reads % n, 0, "{main}");
    reads / n
}

/// The value of sums, products and quotients of numbers and `n`.
fn value(text: &str, n: i64) -> i64 {
    let tokens: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut at = 0;
    let sum = sum(&tokens, &mut at, n);
    assert_eq!(at, tokens.len(), "{text}");
    sum
}

fn sum(tokens: &[char], at: &mut usize, n: i64) -> i64 {
    let mut total = product(tokens, at, n);
    while let Some(operator @ ('+' | '-')) = tokens.get(*at) {
        *at += 1;
        let right = product(tokens, at, n);
        total += if *operator == '+' { right } else { -right };
    }
    total
}

fn product(tokens: &[char], at: &mut usize, n: i64) -> i64 {
    let mut total = factor(tokens, at, n);
    while let Some(operator @ ('*' | '/')) = tokens.get(*at) {
        *at += 1;
        let right = factor(tokens, at, n);
        total = if *operator == '*' {
            total * right
        } else {
            total / right
        };
    }
    total
}

fn factor(tokens: &[char], at: &mut usize, n: i64) -> i64 {
    let first = tokens[*at];
    *at += 1;
    match first {
        '(' => {
            let inner = sum(tokens, at, n);
            *at += 1;
            inner
        }
        'n' => n,
        digit => {
            let mut number = i64::from(digit.to_digit(10).unwrap());
            while let Some(digit) = tokens.get(*at).and_then(|c| c.to_digit(10)) {
                number = 10 * number + i64::from(digit);
                *at += 1;
            }
            number
        }
    }
}

/// On one thread: every element is read once, whatever lanes and what is left over do.
#[test]
fn fused_pipelines_read_their_input_once() {
    let pipelines = [
        "((X : vector int)) (map (* 2) (map (+ 1) X))",
        "((X : vector int)) (reduce + 0 (map (* 3) X))",
        "((X : vector float)) (reduce + 0.0 (map (* 3.0) X))",
        "((X : vector int)) (reduce + 0 (filter (< 2) (map (* 3) X)))",
        "((X : vector int)) ((map (* 2) X), (map (+ 1) X))",
    ];
    for text in pipelines {
        let imp = imp(text);
        assert_eq!(passes_over(&imp, "X", 1000), 1, "{imp}");
        assert_eq!(counted(&imp).1, 0, "{imp}");
    }
}

/// Chunks and lanes have loops of their own; none of them makes a vector of the input's length.
#[test]
fn reductions_take_in_what_feeds_them() {
    let pipelines = [
        "((X : vector int)) (reduce + 0 (map (* 3) X))",
        "((X : vector int)) (reduce + 0 (filter (< 2) (map (* 3) X)))",
        "((X : vector int) (I : vector int)) (reduce + 0 (gather I X))",
        "((X : vector int)) (reduce + 0 (map * X (slice 0 1 (length X) X)))",
    ];
    for text in pipelines {
        let imp = imp(text);
        assert_eq!(counted(&imp).1, 0, "{imp}");
    }
}

/// On one thread `reduce` of `filter` of `map` is one loop, and allocates nothing at all.
#[test]
fn filtered_reductions_are_one_loop_without_memory() {
    let pipelines = [
        "((X : vector int)) (reduce + 0 (filter (< 2) (map (* 3) X)))",
        "((X : vector float)) (reduce + 0.0 (filter (< 2.0) (map (* 3.0) X)))",
        "((X : vector int) (Y : vector int)) (reduce + 0 (map (+ 1) (filter (< 2) (map * X Y))))",
    ];
    for text in pipelines {
        let imp = imp(text);
        let main = imp.split("proc entry_main").next().unwrap();
        assert_eq!(counted(&imp).0, 1, "{imp}");
        assert!(!main.contains("alloc "), "{imp}");
    }
}

/// On one thread no vector is made between filters, scans and the maps around them: lanes and chunks have a few cells, and a filter has its result.
#[test]
fn maps_of_scans_and_filters_make_no_vector_in_between() {
    let pipelines = [
        ("((X : vector int)) (filter (< 2) X)", 1),
        ("((X : vector int)) (map (* 2) (filter (< 2) (map (* 3) X)))", 1),
        ("((X : vector int)) (filter (< 9) (filter (> 2) X))", 1),
        ("((X : vector#2 int)) (filter (lambda x (< 2 (length x))) X)", 1),
        ("((X : vector int)) (scan + 0 (map (* 3) X))", 0),
        ("((X : vector int)) (map (* 2) (scan + 0 (map (* 3) X)))", 0),
        ("((X : vector int)) (map - (scan + 0 X) X)", 0),
    ];
    for (text, allocated) in pipelines {
        let imp = imp(text);
        assert_eq!(counted(&imp).1, allocated, "{imp}");
    }
}

/// Every operation in every other: arrays in between, on one thread. What a gather reads is there as a whole, since it may be
/// read in any order; a gather's indices are checked before what reads through it starts.
#[test]
fn operations_in_each_other() {
    let givers = [
        ("map", "(map (* 3) X)"),
        ("filter", "(filter (< 2) X)"),
        ("scan", "(scan + 0 X)"),
        ("gather", "(gather I X)"),
        ("slice", "(slice 1 2 n X)"),
        ("range", "(range 0 3 n)"),
    ];
    let takers = [
        ("map", "(map (+ 1) _)"),
        ("filter", "(filter (< 5) _)"),
        ("reduce", "(reduce (lambda x y (+ (* 2 x) y)) 0 _)"),
        ("scan", "(scan + 0 _)"),
        ("gather", "(gather I _)"),
        ("slice", "(slice 1 2 n _)"),
    ];
    let mut table = String::new();
    for (taker, outer) in takers {
        for (giver, inner) in givers {
            let text = format!(
                "((X : vector int) (I : vector int) (n : int)) {}",
                outer.replace('_', inner)
            );
            let imp = imp(&text);
            let results = imp.lines().filter(|line| line.contains("alloc out")).count();
            let between = counted(&imp).1 - results;
            writeln!(table, "{taker} of {giver}: {between}").unwrap();
        }
    }
    expect![[r#"
        map of map: 0
        map of filter: 0
        map of scan: 0
        map of gather: 0
        map of slice: 0
        map of range: 0
        filter of map: 0
        filter of filter: 0
        filter of scan: 1
        filter of gather: 0
        filter of slice: 0
        filter of range: 0
        reduce of map: 0
        reduce of filter: 0
        reduce of scan: 1
        reduce of gather: 0
        reduce of slice: 0
        reduce of range: 0
        scan of map: 0
        scan of filter: 1
        scan of scan: 1
        scan of gather: 0
        scan of slice: 0
        scan of range: 0
        gather of map: 1
        gather of filter: 1
        gather of scan: 1
        gather of gather: 1
        gather of slice: 0
        gather of range: 1
        slice of map: 0
        slice of filter: 1
        slice of scan: 1
        slice of gather: 1
        slice of slice: 0
        slice of range: 0
    "#]]
    .assert_eq(&table);
}

/// A scan or filter reads through a gather: the indices are checked first, and no element is copied.
#[test]
fn scans_read_through_gathers() {
    let scan = imp("((X : vector int) (I : vector int)) (scan + 0 (gather I X))");
    assert_eq!(counted(&scan).1, 0, "{scan}");
    assert!(!scan.contains("gather"), "{scan}");
    let filter = imp("((X : vector int) (I : vector int)) (filter (< 2) (gather I X))");
    assert!(!filter.contains("gather"), "{filter}");
}

/// A filter of a map asks the map for its elements: the mapped vector is never made.
#[test]
fn filters_read_through_maps() {
    let imp = imp("((X : vector int)) (filter (< 2) (map (* 3) X))");
    assert!(!imp.contains("buffer map"), "{imp}");
}

/// Slices of slices and of ranges are index arithmetic.
#[test]
fn slices_and_ranges_are_views() {
    let pipelines = [
        "((X : vector int)) (map (+ 1) (slice 1 2 9 (slice 3 1 (length X) X)))",
        "((n : int)) (map (+ 1) (slice 1 2 9 (range 0 3 n)))",
    ];
    for text in pipelines {
        let (loops, _) = counted(&imp(text));
        assert_eq!(loops, 1, "{}", imp(text));
    }
}

#[test]
fn reductions_side_by_side() {
    rewritten(
        "((X : vector int)) ((reduce + 0 X), (reduce max 1 (map (* 2) X)))",
        expect![[r#"
            fun main {n} (X: [n]i32): <i32, i32> =
              let tuples: [n](i32, i32) = map (\(x: i32): (i32, i32) ->
                let t: i32 = 2i32 * x
                let t_18: (i32, i32) = (x, t)
                in t_18) X
              let start: (i32, i32) = (0i32, 1i32)
              let reduced: (i32, i32) = reduce (\(a: (i32, i32), b: (i32, i32)): (i32, i32) ->
                let x_23: i32 = a.0
                let x_24: i32 = b.0
                let y: i32 = x_23 + x_24
                let x_26: i32 = a.1
                let x_27: i32 = b.1
                let y_28: i32 = max x_26 x_27
                let t_29: (i32, i32) = (y, y_28)
                in t_29) start tuples
              let reduce_7: i32 = reduced.0
              let reduce_14: i32 = reduced.1
              in <reduce_7, reduce_14>

            entry main = main (X: [n]i32): (i32, i32)
        "#]],
    );
    let imp = imp("((X : vector int)) ((reduce + 0 X), (reduce max 1 (map (* 2) X)))");
    assert_eq!(passes_over(&imp, "X", 1000), 1, "{imp}");
}
