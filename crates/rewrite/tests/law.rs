//! The law: a pass changes no value, and where the program does not fail, neither does what a pass makes of it.
#![allow(clippy::unwrap_used)]

use almach_core::Program;
use almach_core::check::{Checked, check};
use almach_core::interp::Interpreter;
use almach_core::print::{Spans, program_to_string};
use almach_core::random::{self, Rng};
use almach_rewrite::{Log, Pass, pipelines, run};
use almach_value::{ArrayValue, Buffer, Scalar, Value, same};
use std::sync::Arc;

/// Arguments for the `main` of random programs.
fn arguments(rng: &mut Rng, n: usize, m: usize) -> Vec<Value> {
    let mut number = || rng.below(19) as i64 - 6;
    let array = |buffer| Value::array(ArrayValue::scalars(buffer));
    let xs: Vec<i32> = (0..n).map(|_| number() as i32).collect();
    let ys: Vec<f32> = (0..n).map(|_| number() as f32).collect();
    let zs: Vec<i64> = (0..m).map(|_| number()).collect();
    let cells: Vec<i32> = (0..n * m).map(|_| number() as i32).collect();
    let cells = Arc::new(ArrayValue::scalars(Buffer::I32(cells)));
    vec![
        array(Buffer::I32(xs)),
        array(Buffer::F32(ys)),
        array(Buffer::I64(zs)),
        Value::array(ArrayValue::rows(n, m, cells).unwrap()),
        Value::Scalar(Scalar::I64(number())),
        Value::Scalar(Scalar::I32(number() as i32)),
        Value::Scalar(Scalar::Bool(number() > 2)),
    ]
}

const SIZES: [(usize, usize); 4] = [(0, 3), (1, 1), (4, 0), (5, 3)];

/// What `main` gives on arguments of several sizes; none where it fails.
fn results(program: &Checked<Program>, seed: u64) -> Vec<Option<Value>> {
    let interpreter = Interpreter::new(program).unwrap();
    let mut rng = Rng::new(seed ^ 0xabcd);
    let calls = SIZES.map(|(n, m)| interpreter.call("main", arguments(&mut rng, n, m)).ok());
    calls.into_iter().collect()
}

fn agree(original: &Checked<Program>, before: &[Option<Value>], passes: &[&Pass], what: &str, seed: u64) {
    let after = match run(original.clone(), passes, &mut Log::default()) {
        Ok(program) => program,
        Err(failure) => panic!("seed {seed}, {what}: {:?}", failure.diagnostic.notes),
    };
    for (at, (before, after_value)) in before.iter().zip(results(&after, seed)).enumerate() {
        let fine = match (before, &after_value) {
            (Some(before), Some(after)) => same(before, after),
            (Some(_), None) => false,
            // What failed may have been dead.
            (None, _) => true,
        };
        assert!(
            fine,
            "seed {seed}, {what}, sizes {:?}: {before:?} became {after_value:?}\n{}\n=>\n{}",
            SIZES[at],
            program_to_string(original, Spans::Omit),
            program_to_string(&after, Spans::Omit)
        );
    }
}

#[test]
fn passes_keep_the_values_of_random_programs() {
    let first: u64 = std::env::var("ALMACH_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0);
    let count: u64 = std::env::var("ALMACH_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(60);
    let mut finished = 0;
    for seed in first..first + count {
        let program = random::program(seed, 8 + seed as usize % 30).unwrap();
        let original = check(program, "random").unwrap();
        let before = results(&original, seed);
        finished += before.iter().flatten().count();
        for pass in pipelines::ALL {
            agree(&original, &before, &[pass], pass.name, seed);
        }
        agree(
            &original,
            &before,
            pipelines::STANDARD,
            "the standard pipeline",
            seed,
        );
        let mut everything = pipelines::INLINE_ALL.to_vec();
        everything.extend(pipelines::STANDARD);
        agree(&original, &before, &everything, "everything inlined", seed);
    }
    // A generator whose programs fail would show nothing.
    assert!(
        finished > 2 * count as usize,
        "only {finished} runs came to an end"
    );
}
