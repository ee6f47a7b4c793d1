//! Recursive procedures, compiled in every way and compared with the interpreter; and their depth.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_imp::interp::{Passed, RunError, run_to_depth};
use almach_value::Scalar;
use support::recursive::RECURSIVE;
use support::{Compiled, OUT, OWNED, Random, buffer, call, int, room};

#[test]
fn recursion_agrees() {
    let mut compiled = Compiled::new(RECURSIVE);
    for n in [0, 1, 2, 7, 15] {
        compiled.agree("fib", vec![int(n), OUT]).unwrap();
        compiled.agree("is_even", vec![int(n), OUT]).unwrap();
        compiled.agree("is_odd", vec![int(n), OUT]).unwrap();
        compiled
            .agree("ends", vec![int(n.min(7)), buffer(&[0i32]), OUT])
            .unwrap();
        let mut random = Random(n as u64);
        let xs: Vec<i32> = (0..n * 9).map(|_| random.below(50) as i32).collect();
        compiled
            .agree("sorted", vec![int(n * 9), buffer(&xs), OUT, OWNED])
            .unwrap();
        compiled
            .agree("each", vec![int(n), int(-1), room(n as usize)])
            .unwrap();
    }
}

#[test]
fn failures_come_up_from_any_depth() {
    let mut compiled = Compiled::new(RECURSIVE);
    for (n, bad) in [(0, 0), (5, 5), (9, 2), (300, 0)] {
        let error = compiled.agree("fails", vec![int(n), int(bad), OUT]).unwrap_err();
        assert_eq!(error.title, format!("stopped at {bad}"));
        let size = n as usize + 1;
        let error = compiled
            .agree("each", vec![int(n + 1), int(bad), room(size)])
            .unwrap_err();
        assert_eq!(error.title, format!("stopped at {bad}"));
    }
}

#[test]
fn a_million_calls_wait() {
    let mut compiled = Compiled::new(RECURSIVE);
    let deep = |n: i64| vec![int(n), OUT];
    assert_eq!(
        compiled.agree("deep", deep(1_000_000)).unwrap()[1],
        Passed::Out(Some(Scalar::I64(1_000_001)))
    );
    compiled.agree("is_odd", deep(1_000_001)).unwrap();
    let each = vec![int(3), int(1_000_000), room(3)];
    let params = compiled
        .checked
        .program()
        .proc("deep_in_each")
        .unwrap()
        .params
        .clone();
    for (how, library) in &mut compiled.libraries {
        let found = call(library, "deep_in_each", &params, each.clone()).unwrap();
        assert_eq!(found[2], buffer(&[1_000_001i64, 1_000_002, 1_000_003]), "{how}");
    }
}

#[test]
fn the_limit_is_a_setting() {
    let mut compiled = Compiled::new(RECURSIVE);
    let program = compiled.checked.program();
    let params = program.proc("deep").unwrap().params.clone();
    let each_params = program.proc("deep_in_each").unwrap().params.clone();
    let interpreted = |n: i64| run_to_depth(&compiled.checked, "deep", vec![int(n), OUT], 100);
    assert!(interpreted(100).is_ok());
    match interpreted(101) {
        Err(RunError::Failed { site, arguments }) => {
            assert_eq!(site.code.0, "E0813");
            assert_eq!(arguments, [Scalar::I64(100)]);
        }
        other => panic!("{other:?}"),
    }
    for (how, library) in &mut compiled.libraries {
        library.set_max_depth(100);
        assert!(
            call(library, "deep", &params, vec![int(99), OUT]).is_ok(),
            "{how}"
        );
        let error = call(library, "deep", &params, vec![int(100), OUT]).unwrap_err();
        assert_eq!(error.title, "recursion deeper than 100", "{how}");
        assert_eq!(error.code.0, "E0813");
        let each = vec![int(5), int(97), room(5)];
        let error = call(library, "deep_in_each", &each_params, each).unwrap_err();
        assert_eq!(error.title, "recursion deeper than 100", "{how}");
        library.set_max_depth(0);
        assert!(
            call(library, "deep", &params, vec![int(100), OUT]).is_ok(),
            "{how}"
        );
    }
}
