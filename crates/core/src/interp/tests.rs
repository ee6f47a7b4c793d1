//! Sharing slots and taking values at their last use changes no result.
#![allow(clippy::unwrap_used)]

use super::{Interpreter, Limits, Slots};
use crate::check::check;
use crate::parse::parse_program;
use crate::print::{Spans, program_to_string};
use crate::random::{self, Rng};
use almach_base::FileId;
use almach_value::{ArrayValue, ElementShape, ScalarType, Value, same};

/// Arguments for the `main` of random programs.
fn arguments(rng: &mut Rng) -> Vec<Value> {
    let (n, m) = match rng.below(8) {
        0 => (rng.below(2), rng.below(2)),
        _ => (1 + rng.below(3), 1 + rng.below(3)),
    };
    let mut small = || rng.below(21) as i32 - 10;
    let xs: Vec<i32> = (0..n).map(|_| small()).collect();
    let ys: Vec<f32> = (0..n).map(|_| small() as f32).collect();
    let zs: Vec<i64> = (0..m).map(|_| i64::from(small())).collect();
    let row = ElementShape::Row(m, Box::new(ElementShape::Scalar(ScalarType::I32)));
    let rows: Vec<Value> = (0..n)
        .map(|_| Value::from((0..m).map(|_| small()).collect::<Vec<i32>>()))
        .collect();
    let xss = ArrayValue::from_values(&row, rows).unwrap();
    let (k, x) = (i64::from(small().abs() % 5), small());
    vec![
        xs.into(),
        ys.into(),
        zs.into(),
        xss.into(),
        k.into(),
        x.into(),
        rng.chance(50).into(),
    ]
}

/// A result, or the error's code and message.
fn outcome(interpreter: &Interpreter, args: &[Value]) -> Result<Value, String> {
    let result = interpreter.call("main", args.to_vec());
    result.map_err(|error| format!("{} {}", error.code.0, error.message))
}

#[test]
fn random_programs_mean_the_same_with_slots_of_their_own() {
    let (mut finished, mut failed) = (0, 0);
    for seed in 0..150 {
        let program = random::program(seed, 5 + seed as usize % 30).unwrap();
        let text = program_to_string(&program, Spans::Omit);
        let program = check(program, "random").unwrap().into_inner();
        let shared = Interpreter::compile(&program, Slots::Shared).unwrap();
        let own = Interpreter::compile(&program, Slots::Own).unwrap();
        let again = Interpreter::new(&parse_program(&text, FileId(0)).unwrap()).unwrap();
        let mut rng = Rng::new(seed + 1000);
        for _ in 0..3 {
            let args = arguments(&mut rng);
            let expected = outcome(&own, &args);
            for (name, interpreter) in [("shared slots", &shared), ("its text", &again)] {
                let found = outcome(interpreter, &args);
                let agrees = match (&expected, &found) {
                    (Ok(a), Ok(b)) => same(a, b),
                    (Err(a), Err(b)) => a == b,
                    _ => false,
                };
                assert!(
                    agrees,
                    "seed {seed}, {name}: {expected:?} and {found:?} for {args:?}\n{text}"
                );
            }
            match expected {
                Ok(_) => finished += 1,
                Err(error) => {
                    assert!(!error.starts_with("E9999"), "seed {seed}: {error}\n{text}");
                    failed += 1;
                }
            }
        }
    }
    assert!(
        finished >= 50 && failed > 0,
        "{finished} runs finished, {failed} failed"
    );
}

#[test]
fn frames_are_small() {
    let text = "
fun f (x: i64): i64 =
  let a: i64 = x + 1i64
  let b: i64 = a * a
  let c: i64 = b - a
  let d: i64 = c * 3i64
  let e: i64 = d + c
  let g: i64 = e * e
  let h: i64 = g - 1i64
  in h
entry main = f (x: i64): i64";
    let program = parse_program(text, FileId(0)).unwrap();
    let interpreter = Interpreter::new(&program).unwrap();
    let slots = interpreter.code.functions.first().unwrap().scalar_slots;
    assert!(slots <= 5, "{slots} slots");
    let limited = interpreter.with_limits(Limits {
        depth: 1,
        ..Limits::default()
    });
    assert_eq!(
        limited.call("main", vec![1i64.into()]).unwrap().as_i64(),
        Some(63)
    );
}
