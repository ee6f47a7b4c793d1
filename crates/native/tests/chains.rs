//! Iterations that communicate, compiled in every way: atomic steps, waiting, and which of many failures is reported.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_imp::interp::Passed;
use support::programs::{CHAINS, FAILING};
use support::{Compiled, OUT, OWNED, Random, buffer, int, room};

#[test]
fn chains_come_to_an_end() {
    let mut compiled = Compiled::new(CHAINS);
    for n in [0, 1, 2, 3, 8, 100] {
        let xs: Vec<i64> = (0..n).map(|x| x * x - 7).collect();
        for _ in 0..10 {
            compiled
                .agree("prefix", vec![int(n), buffer(&xs), room(n as usize), OUT])
                .unwrap();
        }
        compiled.agree("halves", vec![int(n), OWNED, OUT]).unwrap();
    }
}

/// Nobody waits for an iteration that failed, and the failure is that of the first one that fails.
#[test]
fn failing_chains_come_to_an_end() {
    let mut compiled = Compiled::new(CHAINS);
    let mut random = Random(5);
    let mut failures = 0;
    for round in 0..100 {
        let n = [1, 2, 3, 10, 60][round % 5];
        let mut flags = |one_in: u64| -> Vec<bool> { (0..n).map(|_| random.below(one_in) == 0).collect() };
        let (early, late) = (flags(n as u64 + 1), flags(n as u64 / 2 + 2));
        let arguments = vec![int(n as i64), buffer(&early), buffer(&late), room(n), OUT];
        let expected = (0..n).find(|at| early[*at] || late[*at]);
        match (compiled.agree("fails", arguments), expected) {
            (Err(error), Some(at)) => {
                failures += 1;
                let word = match early[at] {
                    true => format!("early {at} of {n}"),
                    false => format!("late {at}"),
                };
                assert_eq!(error.title, word);
            }
            (Ok(_), None) => {}
            (result, expected) => panic!("{result:?} {expected:?}"),
        }
    }
    assert!((30..95).contains(&failures), "{failures}");
}

#[test]
fn atomic_steps_lose_nothing() {
    let mut compiled = Compiled::new(CHAINS);
    let mut random = Random(6);
    for (n, cells) in [(0usize, 1usize), (1, 1), (500, 1), (500, 3), (300, 40)] {
        let is: Vec<i64> = (0..n).map(|_| random.below(cells as u64) as i64).collect();
        let xs: Vec<i32> = (0..n).map(|_| random.below(2000) as i32 - 1000).collect();
        let arguments = vec![
            int(n as i64),
            int(cells as i64),
            buffer(&is),
            buffer(&xs),
            buffer(&vec![0i64; cells]),
            buffer(&[vec![1u8; cells], vec![0; cells], vec![255; cells]].concat()),
            buffer(&vec![0i32; 2 * cells]),
            buffer(&vec![false; cells]),
            buffer(&vec![f32::NAN; cells]),
            buffer(&vec![-0.0f64; cells]),
        ];
        compiled.agree("updates", arguments).unwrap();
        let arguments = vec![
            int(n as i64),
            buffer(&is),
            buffer(&vec![false; cells]),
            buffer(&vec![0i64; cells]),
            buffer(&[0i32]),
        ];
        compiled.agree("claims", arguments).unwrap();
    }
}

/// Calls a procedure a hundred times on several numbers of threads; always the same error.
fn always(compiled: &mut Compiled, proc: &str, arguments: &[Passed], title: &str) {
    let params = compiled.checked.program().proc(proc).unwrap().params.clone();
    for (how, library) in &mut compiled.libraries {
        for threads in [1, 2, 3, 8] {
            library.set_threads(threads);
            for round in 0..100 {
                let error = support::call(library, proc, &params, arguments.to_vec()).unwrap_err();
                assert_eq!(error.title, title, "{how}, {threads} threads, round {round}");
            }
        }
    }
}

/// Many iterations fail: by a check, in a procedure that is called, in loops inside, and for lack of memory.
#[test]
fn the_first_of_many_failures_is_always_the_same() {
    let mut failing = Compiled::new(FAILING);
    let n = 600;
    let from = |first: usize, step: usize| -> Vec<bool> {
        (0..n)
            .map(|at| at >= first && (at - first).is_multiple_of(step))
            .collect()
    };
    for (bad, worse, title) in [
        (from(301, 2), from(300, 3), "worse 300"),
        (from(299, 1), from(300, 1), "bad 299 of 600"),
        (from(0, 7), from(0, 1), "bad 0 of 600"),
        (from(599, 1), from(600, 1), "bad 599 of 600"),
    ] {
        let arguments = [int(n as i64), buffer(&bad), buffer(&worse), room(n), OUT];
        always(&mut failing, "first", &arguments, title);
    }
    let mut chains = Compiled::new(CHAINS);
    let (rows, columns) = (40i64, 15i64);
    let huge = 1i64 << 60;
    for (first_huge, first_bad, title) in [
        (200, 214, format!("not enough memory for {} elements", huge + 1)),
        (215, 214, "row 14 column 4".to_string()),
        (600, 0, "row 0 column 0".to_string()),
    ] {
        let sizes: Vec<i64> = (0..n).map(|at| if at >= first_huge { huge } else { 3 }).collect();
        let arguments = [
            int(rows),
            int(columns),
            buffer(&sizes),
            buffer(&from(first_bad, 1)),
            room(n),
        ];
        always(&mut chains, "tasks", &arguments, &title);
    }
    let n = 200;
    let (early, late): (Vec<bool>, Vec<bool>) = (0..n).map(|at| (at > 120, at % 5 == 3 && at > 80)).unzip();
    let arguments = [int(n as i64), buffer(&early), buffer(&late), room(n), OUT];
    always(&mut chains, "fails", &arguments, "late 83");
}
