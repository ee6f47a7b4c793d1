//! The reader on programs that a random change has made wrong: it never panics, and every error points into the file.
//! `ALMACH_FUZZ_SECONDS=3600` hunts for an hour, `ALMACH_FUZZ_SEED` elsewhere.
#![allow(clippy::unwrap_used)]

mod support;

use almach_base::SourceMap;
use almach_corpus::on_large_stack;
use almach_nova::read_file;
use support::{Mutations, corpus, seconds, seed};

#[test]
fn the_reader_survives_mutated_programs() {
    on_large_stack(|| {
        let corpus = corpus();
        let mut mutations = Mutations::new(seed(0x6e6f_7661));
        let end = std::time::Instant::now() + seconds(2);
        while std::time::Instant::now() < end {
            let text = mutations.mutated(&corpus);
            let mut sources = SourceMap::new();
            let file = sources.add("mutated.nova", text.clone());
            for diagnostic in read_file(file, &text).diagnostics {
                let span = diagnostic.primary.span;
                assert!(
                    span.file == file && span.start <= span.end && span.end as usize <= text.len(),
                    "{diagnostic:?} points nowhere in\n{text}"
                );
            }
        }
    });
}
