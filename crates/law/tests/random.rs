//! Random programs keep the law. A fixed seed for a fixed short time; `ALMACH_TEST_SECONDS` and `ALMACH_TEST_SEED` set others.
#![allow(clippy::unwrap_used)]

use almach_law::generate::{Floats, Program, program};
use almach_law::hunt::settings;
use almach_law::shrink::shrink;
use almach_law::stages::{Machines, check_all};
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 1 << 30;
const BATCH: u64 = 20;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn keep_the_law() {
    let time = Duration::from_secs(setting("ALMACH_TEST_SECONDS", 20));
    let first = setting("ALMACH_TEST_SEED", 1);
    let start = Instant::now();
    let (mut count, mut values, mut compiled) = (0, 0, 0);
    for batch in 0.. {
        if start.elapsed() > time {
            break;
        }
        let machines = Machines::All(settings(batch));
        let seeds: Vec<u64> = (first + batch * BATCH..).take(BATCH as usize).collect();
        let programs: Vec<Program> = seeds.iter().map(|seed| program(*seed)).collect();
        for ((seed, program), result) in seeds.iter().zip(&programs).zip(check_all(&programs, machines)) {
            match result {
                Ok(agreement) => {
                    values += agreement.values;
                    compiled += agreement.compiled;
                }
                Err(failure) => {
                    let (small, failure) = shrink(program, &failure, machines);
                    panic!(
                        "seed {seed} breaks the law at `{}` ({:?})\n\n{}\n{}",
                        failure.stage,
                        failure.kind,
                        small.text(),
                        failure.details
                    );
                }
            }
            count += 1;
        }
    }
    // A generator whose programs all fail, or that no back end takes, would test nothing.
    assert!(values > count, "{count} programs gave only {values} values");
    assert!(
        compiled * 2 > count,
        "of {count} programs only {compiled} were compiled"
    );
}

/// Programs whose sums round, from the strategy program down: few of all programs, so these are looked for.
fn round_alike() {
    let count = setting("ALMACH_TEST_ROUNDING", 5) as usize;
    let first = setting("ALMACH_TEST_SEED", 1);
    let programs: Vec<Program> = (first..)
        .map(program)
        .filter(|program| program.floats == Floats::Round)
        .take(count)
        .collect();
    for (program, result) in programs
        .iter()
        .zip(check_all(&programs, Machines::All(settings(1))))
    {
        if let Err(failure) = result {
            let text = program.text();
            panic!(
                "breaks the law at `{}`\n\n{text}\n{}",
                failure.stage, failure.details
            );
        }
    }
}

#[test]
fn random_programs_keep_the_law() {
    with_stack(keep_the_law);
}

#[test]
fn sums_round_as_the_strategy_program_says() {
    with_stack(round_alike);
}

fn with_stack(work: fn()) {
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .unwrap();
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}
