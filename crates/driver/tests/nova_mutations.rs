//! The whole compiler on `.nova` programs that a random change has made wrong: no panic, no compiler bug, and every error
//! points into a file. `ALMACH_FUZZ_SECONDS=3600` hunts for an hour, `ALMACH_FUZZ_SEED` elsewhere.
#![allow(clippy::unwrap_used)]

#[path = "../../nova/tests/support/mod.rs"]
mod support;

use almach_base::{Diagnostic, codes};
use almach_core::Entry;
use almach_corpus::on_large_stack;
use almach_driver::back::{self, Target};
use almach_driver::{Front, NoFiles, front, load};
use support::{Mutations, corpus, seconds, seed};

#[test]
fn the_compiler_survives_mutated_programs() {
    on_large_stack(|| {
        let corpus = corpus();
        let mut mutations = Mutations::new(seed(0x616c_6d61_6368));
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
        && let Err(later) = compiled(&front)
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

/// What is right goes on to C.
fn compiled(front: &Front) -> Result<(), Vec<Diagnostic>> {
    let core = front.core()?;
    for target in [Target::C, Target::OpenMp, Target::OpenCl] {
        let strategy = back::strategy(core.clone(), back::machine(target))?;
        let entries: Vec<&Entry> = strategy.entries.iter().collect();
        let lowered = back::lowered(&strategy, &entries)?;
        back::c_source(&lowered, &front.sources, "mutated", target)?;
    }
    Ok(())
}
