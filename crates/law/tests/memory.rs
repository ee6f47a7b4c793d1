//! Random programs on the heap: after every memory pass, what the heap semantics gives is what the program means (FUNMEM,
//! Definition 3.1). A fixed seed for a fixed short time; `ALMACH_TEST_SECONDS` and `ALMACH_TEST_SEED` set others.
#![allow(clippy::unwrap_used)]

use almach_core::Program as Core;
use almach_driver::back::{self, Machine};
use almach_driver::{NoFiles, front, load};
use almach_law::generate::{Program, Scale, program};
use almach_mem::check::check;
use almach_mem::heap::{Heap, Validity};
use almach_mem::{Annotated, annotated_to_string, introduce, passes};
use almach_value::{Value, parse};
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 1 << 30;
const STEPS: u64 = 20_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Core as elaborated, and the strategy program.
fn programs(program: &Program) -> Vec<Core> {
    let front = front(load("random.alm", &program.text(), &NoFiles), Vec::new());
    let Ok(core) = front.core() else {
        return Vec::new();
    };
    let mut all = vec![(*core).clone()];
    all.extend(back::strategy(core, Machine::Threads).map(|strategy| strategy.into_inner()));
    all
}

/// How many runs gave a value.
fn agree(what: &str, program: &Annotated, runs: &[Vec<String>]) -> usize {
    let broken = |why: &str| panic!("{what}: {why}\n\n{}", annotated_to_string(program));
    if let Err(wrong) = check(program) {
        broken(&format!("{}: {}", wrong.rule, wrong.message));
    }
    let heap = Heap::new(program).unwrap();
    let entry = program
        .core
        .entries
        .iter()
        .find(|entry| entry.name.as_str() == "main")
        .unwrap();
    let mut values = 0;
    for run in runs {
        let args: Vec<Value> = run
            .iter()
            .zip(&entry.params)
            .map(|(arg, (_, ty))| parse(arg, ty).unwrap())
            .collect();
        match heap.validity("main", args, STEPS) {
            Validity::Valid(_) => values += 1,
            Validity::Fails | Validity::TooLong => {}
            Validity::Invalid(why) => broken(&format!("on {run:?}: {why}")),
        }
    }
    values
}

fn memory_is_no_part_of_meaning() {
    let time = Duration::from_secs(setting("ALMACH_TEST_SECONDS", 6));
    let first = setting("ALMACH_TEST_SEED", 1);
    let start = Instant::now();
    let (mut count, mut values) = (0, 0);
    for seed in first.. {
        if start.elapsed() > time {
            break;
        }
        let random = program(seed);
        if random.scale == Scale::Large {
            continue;
        }
        let runs = random.runs_numbered("");
        for core in programs(&random) {
            count += 1;
            let mut program = introduce(core);
            values += agree(&format!("seed {seed}, introduced"), &program, &runs);
            for pass in passes::STANDARD {
                let before = program.memory.clone();
                program = (pass.run)(program, &mut passes::Log::default());
                if program.memory != before {
                    values += agree(&format!("seed {seed} after {}", pass.name), &program, &runs);
                }
            }
            for layout in [passes::Layout::Apart, passes::Layout::Interleaved] {
                let expanded = passes::expand(program.clone(), layout, &mut passes::Log::default());
                if expanded.memory != program.memory {
                    values += agree(&format!("seed {seed} expanded {layout:?}"), &expanded, &runs);
                }
            }
        }
    }
    assert!(values > count, "{count} programs gave only {values} values");
}

#[test]
fn random_programs_are_valid_on_the_heap() {
    // The interpreter of the heap follows calls on the native stack.
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(memory_is_no_part_of_meaning);
    thread.unwrap().join().unwrap();
}
