//! Random programs keep the law. A fixed seed for a fixed short time; `ALMACH_TEST_SECONDS` and `ALMACH_TEST_SEED` set others.
#![allow(clippy::unwrap_used)]

use almach_law::generate::program;
use almach_law::shrink::shrink;
use almach_law::stages::{Machines, check};
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 1 << 30;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn keep_the_law() {
    let time = Duration::from_secs(setting("ALMACH_TEST_SECONDS", 10));
    let first = setting("ALMACH_TEST_SEED", 1);
    let start = Instant::now();
    let (mut count, mut values) = (0, 0);
    for seed in first.. {
        if start.elapsed() > time {
            break;
        }
        let program = program(seed);
        // The C compiler takes a large part of the time: every tenth program.
        let machines = if seed.is_multiple_of(10) {
            Machines::All
        } else {
            Machines::Interpreters
        };
        match check(&program, machines) {
            Ok(agreement) => values += agreement.values,
            Err(failure) => {
                let (small, failure) = shrink(&program, &failure);
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
    // A generator whose programs all fail would test nothing.
    assert!(values > count, "{count} programs gave only {values} values");
}

#[test]
fn random_programs_keep_the_law() {
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(keep_the_law)
        .unwrap();
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}
