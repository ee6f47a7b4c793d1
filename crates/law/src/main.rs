//! Random programs for as long as wanted: `almach-law FIRST_SEED SECONDS [interpreters]`. Every program that breaks the law is shown, small.
#![allow(clippy::print_stdout)]

use almach_law::generate::program;
use almach_law::shrink::shrink;
use almach_law::stages::{Machines, check};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 1 << 30;
/// Failures of one stage that are shown; the others are counted.
const SHOWN: usize = 3;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().unwrap_or(1));
    let (first, seconds) = (args.next().unwrap_or(1), args.next().unwrap_or(60));
    let machines = if std::env::args().any(|arg| arg == "interpreters") {
        Machines::Interpreters
    } else {
        Machines::All
    };
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || run(first, seconds, machines));
    let failures = worker.ok().and_then(|worker| worker.join().ok()).unwrap_or(1);
    std::process::exit(i32::from(failures > 0));
}

/// How many programs broke the law.
fn run(first: u64, seconds: u64, machines: Machines) -> usize {
    let start = Instant::now();
    let mut failures: HashMap<&'static str, usize> = HashMap::new();
    let (mut programs, mut values, mut errors, mut compiled) = (0usize, 0, 0, 0);
    for seed in first.. {
        if start.elapsed() > Duration::from_secs(seconds) {
            break;
        }
        programs += 1;
        let program = program(seed);
        match check(&program, machines) {
            Ok(agreement) => {
                values += agreement.values;
                errors += agreement.failures;
                compiled += agreement.compiled;
            }
            Err(failure) => {
                let count = failures.entry(failure.stage).or_insert(0);
                *count += 1;
                if *count <= SHOWN {
                    let (small, failure) = shrink(&program, &failure);
                    println!(
                        "seed {seed}, {}, {:?}\n{}\n{}\n",
                        failure.stage,
                        failure.kind,
                        small.text(),
                        failure.details
                    );
                }
            }
        }
    }
    println!(
        "{programs} programs, {compiled} of them compiled, {values} values and {errors} run-time errors agreed, \
         broken: {failures:?}"
    );
    failures.values().sum()
}
