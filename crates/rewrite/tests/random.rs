//! Random programs through every pass and pipeline: what comes out checks.
#![allow(clippy::unwrap_used)]

use almach_core::check::check;
use almach_core::print::{Spans, program_to_string};
use almach_core::random;
use almach_rewrite::{Log, pipelines, run};

#[test]
fn every_pass_keeps_random_programs_well_typed() {
    for seed in 0..120 {
        let original = check(random::program(seed, 10 + seed as usize % 40).unwrap(), "random").unwrap();
        for pass in pipelines::ALL {
            let before = program_to_string(&original, Spans::Omit);
            if let Err(failure) = run(original.clone(), &[pass], &mut Log::default()) {
                let after = program_to_string(&failure.program, Spans::Omit);
                panic!(
                    "seed {seed}, {}: {:?}\n{before}\n=>\n{after}",
                    pass.name, failure.diagnostic.notes
                );
            }
        }
        for pipeline in [pipelines::STANDARD, pipelines::INLINE_ALL, pipelines::CLEAN] {
            if let Err(failure) = run(original.clone(), pipeline, &mut Log::default()) {
                let after = program_to_string(&failure.program, Spans::Omit);
                panic!(
                    "seed {seed}: {} {:?}\n{after}",
                    failure.diagnostic.title, failure.diagnostic.notes
                );
            }
        }
    }
}
