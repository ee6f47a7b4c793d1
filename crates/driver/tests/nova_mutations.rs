//! The whole front end on `.nova` programs that a random change has made wrong: no panic, no compiler bug, and every error
//! points into the file. `ALMACH_FUZZ_SECONDS=3600` hunts for an hour.
#![allow(clippy::unwrap_used)]

#[path = "../../nova/tests/support/mod.rs"]
mod support;

use almach_base::{Diagnostic, codes};
use almach_driver::{NoFiles, front, load};
use support::{Mutations, corpus, on_large_stack, seconds};

#[test]
fn the_front_end_survives_mutated_programs() {
    on_large_stack(|| {
        let corpus = corpus();
        let mut mutations = Mutations::new(0x616c_6d61_6368);
        let end = std::time::Instant::now() + seconds(5);
        while std::time::Instant::now() < end {
            check(&mutations.mutated(&corpus));
        }
    });
}

fn check(text: &str) {
    let front = front(load("mutated.nova", text, &NoFiles), Vec::new());
    let mut problems: Vec<Diagnostic> = front.diagnostics.clone();
    if !front.has_errors()
        && let Err(later) = front.core()
    {
        problems.extend(later);
    }
    for problem in problems {
        assert!(
            problem.code != codes::bugs::COMPILER_BUG,
            "{problem:?} in\n{text}"
        );
        let span = problem.primary.span;
        let file = front.sources.file(span.file);
        assert!(
            file.is_some_and(|file| span.end as usize <= file.text.len()),
            "{problem:?} points nowhere in\n{text}"
        );
    }
}
