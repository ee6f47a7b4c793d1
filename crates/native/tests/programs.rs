//! Every statement, compiled in every way and compared with the interpreter.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_imp::interp::Passed;
use almach_value::Scalar;
use support::programs::STATEMENTS;
use support::{Compiled, OUT, OWNED, Random, buffer, int, room};

#[test]
fn every_statement_agrees() {
    let mut compiled = Compiled::new(STATEMENTS);
    let scalar = |value: i32| Passed::Value(Scalar::I32(value));
    for (x, y) in [
        (0, 0.0),
        (1, -2.5),
        (-7, 3.25),
        (i32::MAX, 1e10),
        (i32::MIN, f64::NAN),
    ] {
        let arguments = vec![scalar(x), Passed::Value(Scalar::F64(y)), OUT, OUT, int(1)];
        compiled.agree("scalars", arguments).unwrap();
    }
    for n in [0, 1, 2, 5, 13, 64] {
        let size = n as usize;
        compiled.agree("loops", vec![int(n), OUT]).unwrap();
        compiled.agree("squares", vec![int(n), OWNED, OUT]).unwrap();
        compiled
            .agree("calls", vec![int(n), room(size + 2), OUT])
            .unwrap();
        compiled.agree("small", vec![int(n), room(size)]).unwrap();
        compiled
            .agree("scratch", vec![int(n), int(size as i64 / 2 + 1), room(size)])
            .unwrap();
        compiled.agree("grows", vec![int(n), OWNED, OUT]).unwrap();
        let mut random = Random(n as u64);
        let xs: Vec<f32> = (0..n).map(|_| random.below(100) as f32 / 100.0).collect();
        let flags: Vec<bool> = (0..n).map(|_| random.below(2) == 1).collect();
        compiled
            .agree(
                "picks",
                vec![int(n), buffer(&xs), buffer(&flags), room(size), OUT],
            )
            .unwrap();
    }
    compiled.agree("nothing", vec![]).unwrap();
    let arguments = vec![
        int(3),
        buffer(&[1i32, 2, 3]),
        room(3),
        OUT,
        scalar(10),
        scalar(1_000_000_007),
        scalar(i32::MIN),
    ];
    compiled.agree("while", arguments).unwrap();
}

#[test]
fn the_usual_flags_give_the_same() {
    let checked = support::checked(STATEMENTS);
    let toolchain = almach_native::Toolchain::of("cc")
        .unwrap()
        .with_cache(support::cache());
    for target in [almach_emit::Target::C, almach_emit::Target::OpenMp] {
        let mut library = support::load(&toolchain, &support::emit(&checked, target), target);
        for n in [0, 3, 1000] {
            let arguments = vec![int(n), int(n / 3 + 1), room(n as usize)];
            let params = &checked.program().proc("scratch").unwrap().params;
            let expected = support::interpreted(&checked, "scratch", arguments.clone()).unwrap();
            let found = support::call(&mut library, "scratch", params, arguments).unwrap();
            assert_eq!(expected, found);
        }
    }
}

/// Indices with quotients and remainders, where nothing is known of the signs of variables and where much is.
#[test]
fn indices_are_floors() {
    let text = r"
proc anything(a: i64, b: i64, c: i64, result: write i64) {
  result[0] = {a/3}
  result[1] = {a % 3}
  result[2] = {(a*b + c)/7}
  result[3] = {(a - b*c) % 5}
  result[4] = {2*(a/4)*(b/4) - a % 4}
  result[5] = {(a + (b/2))/3 + c}
  result[6] = {-a}
  result[7] = {-3*a + b - 12}
  result[8] = {a*a*b - c}
}

proc divisors(a: i64, d: i64, result: write i64) {
  result[0] = {a/d}
  result[1] = {a % d}
  result[2] = {(a + 1)/(2*d - 1)}
}

proc inside(n: i64, m: i64, xs: read i64, result: write i64) {
  for i < n*m {
    result[i] = xs[(i % m)*n + i/m] + {i/m}
  }
}
";
    let mut compiled = Compiled::new(text);
    let mut random = Random(3);
    let mut small = || int(random.below(41) as i64 - 20);
    for _ in 0..60 {
        compiled
            .agree("anything", vec![small(), small(), small(), room(9)])
            .unwrap();
    }
    for a in -9..9 {
        for d in [-4, -3, -1, 1, 2, 5] {
            compiled.agree("divisors", vec![int(a), int(d), room(3)]).unwrap();
        }
    }
    for (n, m) in [(0, 3), (1, 1), (3, 4), (5, 2)] {
        let xs: Vec<i64> = (0..n * m).map(|x| x * x).collect();
        compiled
            .agree(
                "inside",
                vec![int(n), int(m), buffer(&xs), room((n * m) as usize)],
            )
            .unwrap();
    }
}

#[test]
fn divisions_in_loops_are_plain() {
    let checked = support::checked(
        "proc p(n: i64, m: i64, xs: read i64, ys: write i64) { for i < n*m { ys[i] = xs[(i % m)*n + i/m] } }",
    );
    let source = support::emit(&checked, almach_emit::Target::C).source;
    assert!(source.contains("ys[i] = xs[n * (i % m) + i / m];"), "{source}");
    assert!(!source.contains("floor_"), "{source}");
}
