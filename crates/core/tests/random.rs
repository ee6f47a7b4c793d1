//! Random programs check, print, and parse back to themselves.
#![allow(clippy::unwrap_used)]

mod common;

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_core::random;
use common::canonical;

#[test]
fn random_programs_check_and_survive_their_text() {
    for seed in 0..150 {
        let program = random::program(seed, 5 + seed as usize % 40)
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        let text = program_to_string(&program, Spans::Omit);
        let program = match check(program, "random") {
            Ok(program) => program,
            Err(failure) => panic!("seed {seed}: {:?}\n{text}", failure.diagnostic.notes),
        };
        let again = parse_program(&text, FileId(0))
            .unwrap_or_else(|error| panic!("seed {seed}: {}\n{text}", error.title));
        assert_eq!(
            canonical(&program, Spans::Omit),
            canonical(&again, Spans::Omit),
            "seed {seed}"
        );
        check(again, "parse").unwrap();
    }
}
