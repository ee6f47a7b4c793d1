//! Every example and language test, rewritten, gives what it says.
#![allow(clippy::unwrap_used)]

#[path = "../../elaborate/tests/elaborate/support.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod support;

use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use std::path::Path;
use support::{Calls, wrong_results};

/// Calls whose failing part turns out not to be needed: what is `true` either way is not computed.
const DEAD: [&str; 1] = ["1 / 0 == 1 || true"];

fn failures(name: &str, root: &Path, text: &str) -> Vec<String> {
    let mut compiled = support::compile(name, root, text, Calls::All);
    if compiled.result.is_err() {
        compiled = support::compile(name, root, text, Calls::Succeeding);
    }
    // What does not compile is for the tests of other rooms.
    let Ok(program) = compiled.result else {
        return Vec::new();
    };
    let mut everything: Vec<&Pass> = pipelines::INLINE_ALL.to_vec();
    everything.extend(pipelines::STANDARD);
    let mut wrong = Vec::new();
    for (what, passes) in [
        ("standard", pipelines::STANDARD),
        ("everything inlined", &everything),
    ] {
        match run(program.clone(), passes, &mut Log::default()) {
            Ok(after) => {
                let name = format!("{name}, {what}");
                wrong.extend(wrong_results(&name, &after, &compiled.tests, &DEAD));
            }
            Err(failure) => wrong.push(format!(
                "{name}, {what}: {} {:?}\n{}",
                failure.diagnostic.title,
                failure.diagnostic.notes,
                program_to_string(&failure.program, Spans::Omit)
            )),
        }
    }
    wrong
}

#[test]
fn every_program_still_gives_what_it_says() {
    support::assert_all(failures);
}
