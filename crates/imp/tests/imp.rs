//! Text, rules, and what the interpreter finds.

#![allow(clippy::unwrap_used)]

use almach_imp::interp::{Passed, RunError, run};
use almach_imp::{check, parse};
use almach_value::Scalar;

const DOT: &str = r"
proc dot(n: i64, xs: read f32, ys: read f32, result: out f32) {
  buffer tmp: f32
  alloc tmp[n]
  par for i < n {
    tmp[i] = xs[i] * ys[i]
  }
  var acc: f32 = 0.0f32
  for j < n {
    acc = acc + tmp[j]
  }
  result = acc
  free tmp
}
";

fn floats(values: &[f32]) -> Passed {
    Passed::Buffer(values.iter().map(|value| Some(Scalar::F32(*value))).collect())
}

fn int(value: i64) -> Passed {
    Passed::Value(Scalar::I64(value))
}

fn run_text(text: &str, proc: &str, arguments: Vec<Passed>) -> Result<Vec<Passed>, RunError> {
    let checked = check(parse(text).unwrap_or_else(|error| panic!("{error}")))
        .unwrap_or_else(|error| panic!("{error}"));
    run(&checked, proc, arguments)
}

#[test]
fn dot_product_runs() {
    let arguments = vec![
        int(3),
        floats(&[1.0, 2.0, 3.0]),
        floats(&[4.0, 5.0, 6.0]),
        Passed::Out(None),
    ];
    let results = run_text(DOT, "dot", arguments).unwrap();
    assert_eq!(results[3], Passed::Out(Some(Scalar::F32(32.0))));
}

#[test]
fn programs_read_back_as_they_print() {
    let everything = r#"
proc helper(k: i64, from: read i32, to: write i32, count: out i64, more: owned i32) {
  copy to[0] = from[k/2] for k
  count = {2*k - 1}
  alloc more[k]
}

proc main(k: i64, xs: read i32) {
  let half: i64 = shr(k, 1i64)
  var go: bool = true
  var big: f64
  var count: i64
  buffer a: i32
  buffer b: local i32
  alloc a[k*k + 1]
  while go & (half > 0i64) {
    go = not(go)
    big = select(go, -1.5f64, fma(1.0f64, 2.0f64, nanf64))
  }
  if is_nan(big) {
    swap a, b
  } else {
    a[k - 1] = to_i32(min(big, inff64)) + xs[(k*half + 3) % k]
  }
  check k <= 7i64 else E9999("found {} \"there\"" 0:4-9, k)
  call helper(add(k, 1i64), buffer xs[0], buffer a[k], out count, owned b)
  simd for i < k {
    a[i] = 0i32
  }
  alloc b[2*k]
  shrink b[k]
  buffer part: borrowed i32
  borrow part = b[k/2] for k - k/2
  chain for c < k {
    await a[c/2], 1i32
    atomic acquire load seen: i32 = a[c]
    atomic acquire_release exchange old: i32 = a[c + 1], seen + 1i32
    atomic relaxed max a[c], old
    atomic release store a[c], 1i32
  }
  items for w < k {
    a[w] = 0i32
    barrier
  }
  foreign "((f32, [i32]), bool) -> [i32]" f(1.5f32, k, buffer xs[2], go, out count, owned b)
  trace "a \"label\"" "{None; Some [i32]}"(0u32, k, buffer a[1])
  free b
  free a
}
"#;
    for text in [DOT, everything] {
        let program = parse(text).unwrap_or_else(|error| panic!("{error}"));
        let printed = program.to_string();
        let back = parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
        // By debug text, since NaN differs from itself.
        assert_eq!(format!("{back:?}"), format!("{program:?}"), "{printed}");
    }
}

#[test]
fn a_race_is_found() {
    let text = r"proc main(n: i64, b: write f32, xs: read f32) { par for i < n { b[0] = xs[i] } }";
    let arguments = vec![int(2), floats(&[0.0]), floats(&[1.0, 2.0])];
    assert_eq!(
        run_text(text, "main", arguments),
        Err(RunError::Race {
            place: "cell 0 of `b`".into(),
            first: 1,
            second: 0
        })
    );
}

#[test]
fn reading_what_another_iteration_writes_is_a_race() {
    let text = r"proc main(n: i64, b: write f32) { par for i < n { b[i] = b[(i + 1) % n] } }";
    let found = run_text(text, "main", vec![int(3), floats(&[0.0, 1.0, 2.0])]);
    assert!(matches!(found, Err(RunError::Race { .. })), "{found:?}");
}

#[test]
fn private_memory_does_not_race() {
    let text = r"proc main(n: i64, b: write i64) {
      par for i < n { buffer t: i64 alloc t[1] t[0] = {i} b[i] = t[0] free t }
    }";
    let cells = Passed::Buffer(vec![None; 3]);
    let results = run_text(text, "main", vec![int(3), cells]).unwrap();
    assert_eq!(
        results[1],
        Passed::Buffer((0..3).map(|i| Some(Scalar::I64(i))).collect())
    );
}

#[test]
fn accesses_out_of_bounds_are_found() {
    let text = r"proc main(n: i64, xs: read f32, result: out f32) { result = xs[n] }";
    let found = run_text(text, "main", vec![int(2), floats(&[0.0, 1.0]), Passed::Out(None)]);
    assert!(
        matches!(
            found,
            Err(RunError::OutOfBounds {
                index: 2,
                size: 2,
                ..
            })
        ),
        "{found:?}"
    );
}

#[test]
fn reads_of_unwritten_cells_are_found() {
    let text = r"proc main(result: out f32) { buffer t: f32 alloc t[1] result = t[0] free t }";
    let found = run_text(text, "main", vec![Passed::Out(None)]);
    assert!(matches!(found, Err(RunError::Unwritten { .. })), "{found:?}");
}

#[test]
fn of_several_failures_the_first_iteration_counts() {
    let text = r#"proc main(n: i64, xs: read i64, out: write i64) {
      par for i < n { check xs[i] != 0i64 else E9999("at {}" 0:0-0, {i}) out[i] = 6i64 / xs[i] }
    }"#;
    let ints = |values: &[i64]| Passed::Buffer(values.iter().map(|v| Some(Scalar::I64(*v))).collect());
    let found = run_text(
        text,
        "main",
        vec![int(4), ints(&[1, 0, 2, 0]), ints(&[0, 0, 0, 0])],
    );
    assert!(matches!(found, Err(RunError::Failed { arguments, .. }) if arguments == [Scalar::I64(1)]));
}

const SCAN: &str = r"
proc main(chunks: i64, xs: read i64, out: write i64) {
  buffer flag: i32
  buffer prefix: i64
  alloc flag[chunks]
  alloc prefix[chunks]
  for k < chunks {
    flag[k] = 0i32
  }
  chain for c < chunks {
    var before: i64 = 0i64
    if {c} > 0i64 {
      await flag[c - 1], 1i32
      before = prefix[c - 1]
    }
    prefix[c] = before + xs[c]
    atomic ORDER store flag[c], 1i32
    out[c] = before
  }
  free prefix
  free flag
}
";

fn ints(values: &[i64]) -> Passed {
    Passed::Buffer(values.iter().map(|value| Some(Scalar::I64(*value))).collect())
}

#[test]
fn what_is_released_and_acquired_does_not_race() {
    let text = SCAN.replace("ORDER", "release");
    let arguments = || vec![int(4), ints(&[3, 1, 4, 1]), ints(&[0; 4])];
    let results = run_text(&text, "main", arguments()).unwrap();
    assert_eq!(results[2], ints(&[0, 3, 4, 8]));
    let relaxed = run_text(&SCAN.replace("ORDER", "relaxed"), "main", arguments());
    assert_eq!(
        relaxed,
        Err(RunError::Race {
            place: "cell 0 of `prefix`".into(),
            first: 0,
            second: 1
        })
    );
}

#[test]
fn order_is_handed_on_by_those_between() {
    // Iteration 2 reads what iteration 0 wrote; it only hears of it through iteration 1.
    let text = SCAN
        .replace("ORDER", "release")
        .replace("before = prefix[c - 1]", "before = prefix[0]");
    let found = run_text(&text, "main", vec![int(3), ints(&[1, 2, 3]), ints(&[0; 3])]);
    assert!(found.is_ok(), "{found:?}");
    // Written behind the release, it is not handed over.
    let late = text.replace("out[c] = before", "out[c] = before prefix[c] = 0i64");
    let found = run_text(&late, "main", vec![int(3), ints(&[1, 2, 3]), ints(&[0; 3])]);
    assert!(matches!(found, Err(RunError::Race { .. })), "{found:?}");
}

#[test]
fn a_wait_without_end_is_found() {
    let text = SCAN
        .replace("ORDER", "release")
        .replace("{c} > 0i64", "{c} + 1i64 < chunks")
        .replace("await flag[c - 1]", "await flag[c + 1]")
        .replace("prefix[c - 1]", "prefix[c + 1]");
    let text = text.replace("{c} + 1i64 < chunks", "{c + 1} < chunks");
    let found = run_text(&text, "main", vec![int(2), ints(&[1, 2]), ints(&[0; 2])]);
    assert!(
        matches!(&found, Err(RunError::Broken(why)) if why.contains("awaited")),
        "{found:?}"
    );
}

#[test]
fn atomic_steps_do_not_race_with_each_other() {
    let text = r"proc main(n: i64, is: read i64, bins: write i64) {
      par for i < n { let j: i64 = is[i] atomic relaxed add bins[j], 1i64 }
    }";
    let arguments = |text: &str| run_text(text, "main", vec![int(4), ints(&[1, 0, 1, 1]), ints(&[0, 5])]);
    assert_eq!(arguments(text).unwrap()[2], ints(&[1, 8]));
    let plain = text.replace("atomic relaxed add bins[j], 1i64", "bins[j] = bins[j] + 1i64");
    assert!(matches!(arguments(&plain), Err(RunError::Race { .. })));
    let mixed = text.replace(
        "let j: i64 = is[i]",
        "let j: i64 = is[i] if {i} == 0i64 { bins[j] = 0i64 }",
    );
    assert!(matches!(arguments(&mixed), Err(RunError::Race { .. })));
}

#[test]
fn only_one_iteration_takes_a_cell() {
    let text = r"proc main(n: i64, is: read i64, seen: write i64, out: write i64) {
      par for i < n {
        let j: i64 = is[i]
        atomic relaxed exchange old: i64 = seen[j], 1i64
        if old == 0i64 { out[j] = {i} }
      }
    }";
    let arguments = vec![int(3), ints(&[1, 0, 1]), ints(&[0, 0]), ints(&[9, 9])];
    // Iterations run backwards here, and iteration 2 takes cell 1.
    assert_eq!(run_text(text, "main", arguments).unwrap()[3], ints(&[1, 2]));
}

#[test]
fn a_buffer_keeps_its_first_cells() {
    let text = r"proc main(n: i64, out: owned i64) {
      alloc out[n] for i < n { out[i] = {i} } shrink out[n/2]
    }";
    let results = run_text(text, "main", vec![int(5), Passed::Owned(None)]).unwrap();
    let cells = vec![Some(Scalar::I64(0)), Some(Scalar::I64(1))];
    assert_eq!(results[1], Passed::Owned(Some(cells)));
    let grown = text.replace("n/2", "n + 1");
    let found = run_text(&grown, "main", vec![int(5), Passed::Owned(None)]);
    assert!(matches!(found, Err(RunError::Broken(_))), "{found:?}");
}

#[test]
fn a_borrowed_buffer_has_the_cells_of_another() {
    let text = r"proc main(n: i64, c: bool, xs: read i64, r: out i64) {
      buffer own: i64 buffer part: borrowed i64
      if c { borrow part = xs[1] for n - 1 } else { alloc own[n] for i < n { own[i] = {i} } borrow part = own[0] for n }
      r = part[1] free own
    }";
    for (c, found) in [(true, 7), (false, 1)] {
        let arguments = vec![
            int(3),
            Passed::Value(Scalar::Bool(c)),
            ints(&[5, 6, 7]),
            Passed::Out(None),
        ];
        assert_eq!(
            run_text(text, "main", arguments).unwrap()[3],
            Passed::Out(Some(Scalar::I64(found)))
        );
    }
    let text = text.replace("own[0] for n", "own[1] for n");
    let arguments = vec![
        int(3),
        Passed::Value(Scalar::Bool(false)),
        ints(&[5, 6, 7]),
        Passed::Out(None),
    ];
    let found = run_text(&text, "main", arguments);
    assert!(matches!(found, Err(RunError::Broken(_))), "{found:?}");
}

/// A sum by halves, in the memory of a group.
const HALVES: &str = r"
proc main(groups: i64, xs: read i64, out: write i64) {
  par for g < groups {
    buffer sums: local i64
    alloc sums[8]
    items for l < 8 {
      var width: i64 = 4i64
      sums[l] = xs[8*g + l]
      barrier
      for step < 3 {
        var more: i64 = 0i64
        if {l} < width { let at: i64 = {l} + width more = sums[at] }
        if {l} < width { sums[l] = sums[l] + more }
        width = width >> 1i64
        barrier
      }
      if {l} == 0i64 { out[g] = sums[0] }
    }
    free sums
  }
}
";

#[test]
fn work_items_meet_at_barriers() {
    let arguments = || vec![int(2), ints(&(0..16).collect::<Vec<i64>>()), ints(&[0, 0])];
    assert_eq!(run_text(HALVES, "main", arguments()).unwrap()[2], ints(&[28, 92]));
    // Without the barrier in the loop, an item reads what another one writes.
    let racy = HALVES.replacen(
        "width = width >> 1i64\n        barrier",
        "width = width >> 1i64",
        1,
    );
    let found = run_text(&racy, "main", arguments());
    assert!(matches!(found, Err(RunError::Race { .. })), "{found:?}");
    // Without the first one as well.
    let racy = HALVES.replacen("barrier", "", 1);
    let found = run_text(&racy, "main", arguments());
    assert!(matches!(found, Err(RunError::Race { .. })), "{found:?}");
}

/// Claim, rule, body of a procedure with `n: i64, xs: read f32, out: write f32, r: out f32`.
const REJECTED: &[(&str, &str, &str)] = &[
    ("an unbound name", "IMP-01", "r = y"),
    ("a name bound twice", "IMP-01", "let y: i64 = n let y: i64 = n"),
    ("a buffer as a scalar", "IMP-01", "r = xs"),
    ("a scalar as a buffer", "IMP-01", "r = r[0]"),
    (
        "a name after its block",
        "IMP-01",
        "for i < n { let y: i64 = {i} } let z: i64 = y",
    ),
    ("operands of two types", "IMP-02", "r = xs[0] + n"),
    ("an operator on what it does not take", "IMP-02", "r = sqrt(true)"),
    ("a number as a condition", "IMP-03", "if n { r = 0.0f32 }"),
    ("a float in an index", "IMP-03", "let y: f32 = 0.0f32 r = xs[y]"),
    ("a store of another type", "IMP-04", "out[0] = n"),
    ("an assignment of another type", "IMP-04", "r = n"),
    ("an assignment to a parameter", "IMP-05", "n = 1i64"),
    (
        "an assignment to a loop index",
        "IMP-05",
        "for i < n { i = 0i64 }",
    ),
    ("a store to what is only read", "IMP-06", "xs[0] = 0.0f32"),
    ("an allocation of what is not owned", "IMP-07", "alloc out[n]"),
    (
        "a store to what is borrowed",
        "IMP-06",
        "buffer t: borrowed f32 borrow t = xs[0] for n t[0] = 0.0f32",
    ),
    (
        "a borrowed buffer that is freed",
        "IMP-07",
        "buffer t: borrowed f32 free t",
    ),
    (
        "cells of another type that are borrowed",
        "IMP-04",
        "buffer t: borrowed i64 borrow t = xs[0] for n",
    ),
    (
        "a buffer with cells of its own that borrows",
        "IMP-24",
        "buffer t: f32 borrow t = xs[0] for n free t",
    ),
    ("a buffer that is not freed", "IMP-08", "buffer t: f32 alloc t[n]"),
    (
        "a buffer that is freed twice",
        "IMP-08",
        "buffer t: f32 free t free t",
    ),
    (
        "a use after free",
        "IMP-08",
        "buffer t: f32 alloc t[n] free t r = t[0]",
    ),
    ("a free in a branch", "IMP-08", "buffer t: f32 if true { free t }"),
    ("a call of nothing", "IMP-09", "call other()"),
    ("a call with too few arguments", "IMP-09", "call main({n})"),
    (
        "a call that reads and writes one buffer",
        "IMP-09",
        "var s: f32 call main({n}, buffer out[0], buffer out[0], out s)",
    ),
    (
        "an accumulator shared by iterations",
        "IMP-10",
        "par for i < n { r = xs[i] }",
    ),
    (
        "an allocation for all iterations",
        "IMP-10",
        "buffer t: f32 par for i < n { alloc t[1] } free t",
    ),
    (
        "an accumulator shared by lanes",
        "IMP-10",
        "simd for i < n { r = xs[i] }",
    ),
    (
        "a parallel loop inside another",
        "IMP-11",
        "par for i < n { par for j < n { out[i] = 0.0f32 } }",
    ),
    (
        "a chain inside a parallel loop",
        "IMP-11",
        "par for i < n { chain for j < n { out[i] = 0.0f32 } }",
    ),
    (
        "work-items inside lanes",
        "IMP-11",
        "simd for i < n { items for j < n { out[i] = 0.0f32 } }",
    ),
    ("a barrier for nobody", "IMP-17", "barrier"),
    (
        "a barrier that some do not meet",
        "IMP-17",
        "items for i < n { if {i} < 3i64 { barrier } }",
    ),
    (
        "a barrier that some meet more often",
        "IMP-17",
        "items for i < n { for j < i { barrier } }",
    ),
    (
        "a barrier behind a test of one's own variable",
        "IMP-17",
        "items for i < n { var go: bool = true if {i} < 3i64 { go = false } while go { barrier } }",
    ),
    (
        "a barrier in the lanes of a work-item",
        "IMP-17",
        "items for i < n { simd for j < n { barrier } }",
    ),
    (
        "local memory of one work-item",
        "IMP-18",
        "items for i < n { buffer t: local f32 alloc t[1] free t }",
    ),
    (
        "an atomic sum of floats",
        "IMP-14",
        "par for i < n { atomic relaxed add out[0], xs[i] }",
    ),
    (
        "a store that acquires",
        "IMP-15",
        "chain for i < n { atomic acquire store out[0], xs[i] }",
    ),
    (
        "a load that releases",
        "IMP-15",
        "atomic release load y: f32 = xs[0]",
    ),
    (
        "a wait in a loop without an order",
        "IMP-16",
        "buffer t: i32 alloc t[n] par for i < n { await t[i], 1i32 } free t",
    ),
    (
        "a wait for a float",
        "IMP-16",
        "chain for i < n { await out[i], 1.0f32 }",
    ),
    (
        "a wait for the iteration's own memory",
        "IMP-16",
        "chain for i < n { buffer t: i32 alloc t[1] await t[0], 1i32 free t }",
    ),
    (
        "an atomic store to what is only read",
        "IMP-06",
        "atomic relaxed store xs[0], 0.0f32",
    ),
    (
        "a check with too few arguments",
        "IMP-12",
        r#"check true else E9999("{}" 0:0-0)"#,
    ),
];

#[test]
fn broken_rules_are_found() {
    for (claim, rule, body) in REJECTED {
        let text = format!("proc main(n: i64, xs: read f32, out: write f32, r: out f32) {{ {body} }}");
        let program = parse(&text).unwrap_or_else(|error| panic!("{claim}: {error}"));
        match check(program) {
            Ok(_) => panic!("{claim}: accepted"),
            Err(error) => assert_eq!(error.rule, *rule, "{claim}: {error}"),
        }
    }
}

const COUNT_DOWN: &str = r"
proc down(n: i64, result: out i64) {
  var below: i64 = 0i64
  if n > 0i64 { call down(n - 1i64, out below) }
  result = below + 1i64
}
";

#[test]
fn recursion_is_not_on_the_native_stack() {
    let results = run_text(COUNT_DOWN, "down", vec![int(1_000_000), Passed::Out(None)]).unwrap();
    assert_eq!(results[1], Passed::Out(Some(Scalar::I64(1_000_001))));
}

#[test]
fn a_parallel_loop_does_not_wait_for_its_own_procedure() {
    let text = "proc f(n: i64, to: write i64) { par for i < n { call g(i, buffer to[0]) } }
        proc g(n: i64, to: write i64) { call f(n, buffer to[0]) }";
    let error = check(parse(text).unwrap()).unwrap_err();
    assert_eq!(error.rule, "IMP-13");
}

struct Listener(Vec<String>);

impl almach_imp::interp::Host for Listener {
    fn foreign(
        &mut self,
        function: &almach_value::ForeignType,
        arguments: Vec<almach_imp::marshal::Slot>,
    ) -> Result<Vec<almach_imp::marshal::Slot>, String> {
        self.0.push(format!("{}({})", function.name, arguments.len()));
        let sum = match &arguments[1] {
            almach_imp::marshal::Slot::Buffer(buffer) => {
                buffer.iter().map(|x| x.as_integer().unwrap()).sum::<i128>()
            }
            other => panic!("{other:?}"),
        };
        let both = almach_imp::marshal::buffer_from(
            almach_value::ScalarType::I32,
            vec![Scalar::I32(sum as i32), Scalar::I32(7)],
        );
        Ok(vec![
            almach_imp::marshal::Slot::Size(2),
            almach_imp::marshal::Slot::Buffer(both.unwrap()),
        ])
    }

    fn trace(&mut self, label: &str, text: &str) {
        self.0.push(format!("{label}: {text}"));
    }
}

const OUTSIDE: &str = r#"
proc main(n: i64, xs: read i32, size: out i64, out: owned i32) {
  trace "xs" "[i32]"(n, buffer xs[0])
  var k: i64
  buffer given: i32
  foreign "([i32]) -> [i32]" sums(n, buffer xs[0], out k, owned given)
  trace "both" "(i64, {None; Some i32})"(k, 1u32, given[0])
  size = k
  let cells: i64 = k
  alloc out[cells]
  copy out[0] = given[0] for cells
  free given
}
"#;

#[test]
fn foreign_functions_and_traces_go_to_the_host() {
    let checked = check(parse(OUTSIDE).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let xs = Passed::Buffer(vec![Some(Scalar::I32(4)), Some(Scalar::I32(-9))]);
    let arguments = vec![int(2), xs, Passed::Out(None), Passed::Owned(None)];
    let mut listener = Listener(Vec::new());
    let results =
        almach_imp::interp::run_with(&checked, "main", arguments.clone(), 10, &mut listener).unwrap();
    assert_eq!(
        results[3],
        Passed::Owned(Some(vec![Some(Scalar::I32(-5)), Some(Scalar::I32(7))]))
    );
    assert_eq!(listener.0, ["xs: [4, -9]", "sums(2)", "both: (2, Some (-5))"]);
    match run(&checked, "main", arguments) {
        Err(RunError::Failed { site, .. }) => {
            assert_eq!(&*site.text, "the foreign function `sums` is not linked");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_of_foreign_functions_and_traces_are_slots() {
    for stmt in [
        r#"trace "x" "[i32]"(n)"#,
        r#"trace "x" "[i32]"(n, buffer xs[0], n)"#,
        r#"trace "x" "f32"(n)"#,
        r#"foreign "(i64) -> i32" f(n, out size)"#,
        r#"foreign "(i64) -> [i32]" f(n, out size)"#,
        r#"foreign "() -> [i32]" f(out size, owned xs)"#,
    ] {
        let text = format!("proc main(n: i64, xs: read i32, size: out i64) {{ {stmt} }}");
        let error = check(parse(&text).unwrap()).unwrap_err();
        assert_eq!(error.rule, "IMP-25", "{stmt}");
    }
}

#[test]
fn a_narrow_index_counts_below_two_to_the_31() {
    let text = |count: &str| {
        format!("proc p(n: i64, out: write i64) {{\n  for i: i32 < {count} {{\n    out[0] = i\n  }}\n}}\n")
    };
    let fits = almach_imp::parse(&text("n")).unwrap();
    assert_eq!(fits.to_string(), text("n"));
    let error = almach_imp::check(almach_imp::parse(&text("2147483648")).unwrap()).unwrap_err();
    assert_eq!(error.rule, "IMP-20");
}
