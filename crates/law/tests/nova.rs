//! Random programs in NOVA's syntax say what they say in Almach's, and keep the law. `ALMACH_TEST_PROGRAMS` and `ALMACH_TEST_SEED` set others.
#![allow(clippy::unwrap_used)]

use almach_law::generate::{Program, program};
use almach_law::nova::in_nova;
use almach_law::shrink::shrink;
use almach_law::stages::{Machines, check};

const STACK_BYTES: usize = 1 << 30;

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok().and_then(|text| text.parse().ok());
    set.unwrap_or(default)
}

fn keep_the_law() {
    let count = setting("ALMACH_TEST_PROGRAMS", 60);
    let first = setting("ALMACH_TEST_SEED", 1);
    let seeds = first..first + count;
    let programs: Vec<(u64, Program)> = seeds.map(|seed| (seed, program(seed))).collect();
    let programs: Vec<_> = programs
        .iter()
        .filter(|(_, program)| in_nova(&program.text()).is_some())
        .collect();
    let (written, mut values) = (programs.len() as u64, 0);
    for (seed, program) in programs {
        match check(program, Machines::Nova) {
            Ok(agreement) => values += agreement.values,
            Err(failure) => {
                let (small, failure) = shrink(program, &failure, Machines::Nova);
                panic!(
                    "seed {seed} breaks the law at `{}` ({:?})\n\n{}\n{}",
                    failure.stage,
                    failure.kind,
                    small.text(),
                    failure.details
                );
            }
        }
    }
    assert!(
        written * 5 > count,
        "of {count} programs only {written} are NOVA's"
    );
    assert!(
        values as u64 > written,
        "{written} programs gave only {values} values"
    );
}

#[test]
fn random_programs_keep_the_law_in_nova() {
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(keep_the_law);
    if let Err(panic) = worker.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

/// What the generator writes, in NOVA's forms.
#[test]
fn programs_are_written_with_the_forms_of_nova() {
    let text = "data Kind = K0 | K1 i16 f32
entry main [n] (xs: [n]i64) (k: Kind): {a: i64, b: i64} =
  {a = loop (s: i64 = 0i64) for i < n do s + xs[i], b = case k of | K0 -> n | K1 v _ -> i64 v}
";
    let expected = "((xs : (vector int64)) (k : Kind))
(types (Kind : (+ (K0 : unit) (K1 : (int16, float)))))
(let (n (to_int64 (length xs)))
 in ((lambda (made4 : (int64, int64)) : (int64, int64) made4) ((let (made2 (to_int64 n)) in ((mu (made1 : int64 -> int64 -> int64) (lambda (i : int64) (s : int64) : int64 (if (< i made2) then (made1 (+ i 1) (+ s (xs ! i))) else s))) 0 0i64)), (case k (K0 n) (K1 made3 (let (v made3.0) in (to_int64 v)))))))
";
    assert_eq!(in_nova(text).unwrap(), expected);
}
