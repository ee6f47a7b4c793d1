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
