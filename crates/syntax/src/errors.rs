//! The errors of one file, of which there may be many.

use almach_base::Diagnostic;

/// How many errors of one file are reported. Nobody reads more, and a file that is no program at all would have millions.
pub const ERROR_LIMIT: usize = 500;

/// Errors up to [`ERROR_LIMIT`].
#[derive(Default)]
pub struct Errors {
    list: Vec<Diagnostic>,
}

impl Errors {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() + 1 < ERROR_LIMIT {
            self.list.push(diagnostic);
        } else if self.list.len() < ERROR_LIMIT {
            self.list
                .push(diagnostic.note("this file has more errors, which are not shown"));
        }
    }

    /// In the order of the text.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|diagnostic| diagnostic.primary.span.start);
        self.list
    }
}
