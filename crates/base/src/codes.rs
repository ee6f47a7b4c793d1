//! The catalogue of diagnostic codes. Each block is a file of its own with one entry per code; `almach explain-error`
//! prints an entry's explanation.
//!
//! To add a code, append an entry to the file of its block:
//!
//! ```text
//! /// Name used in the compiler, code, title (one line, no full stop), explanation.
//! UNCLOSED_BRACKET = "E0104", "a bracket is not closed", "
//! Why this is an error, in a few sentences.
//!
//! Erroneous:
//!
//!     def f x = (x + 1
//!
//! Write instead:
//!
//!     def f x = (x + 1)
//! ";
//! ```
//!
//! Codes are never given a new meaning: tools and people refer to them.

use crate::Code;

/// What the catalogue says about a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeInfo {
    pub code: Code,
    /// One line, without a full stop.
    pub title: &'static str,
    /// Why it is an error, a program that has it, and how to mend that. Lines indented by four blanks are programs.
    pub explanation: &'static str,
}

/// Defines the constants of one block, and the list of them.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $title:literal, $explanation:literal;)*) => {
        $(
            #[doc = $title]
            $(#[$doc])*
            pub const $name: $crate::Code = $crate::Code($code);
        )*

        pub(super) const BLOCK: &[$crate::codes::CodeInfo] = &[$(
            $crate::codes::CodeInfo { code: $name, title: $title, explanation: $explanation },
        )*];
    };
}

pub mod bugs;
pub mod cli;
pub mod concreteness;
pub mod levels;
pub mod names;
pub mod patterns;
pub mod runtime;
pub mod sizes;
pub mod syntax;
pub mod types;

/// The blocks in the order of their codes, with the digits every code of the block starts with.
const BLOCKS: [(&str, &[CodeInfo]); 10] = [
    ("01", syntax::BLOCK),
    ("02", names::BLOCK),
    ("03", types::BLOCK),
    ("04", sizes::BLOCK),
    ("05", patterns::BLOCK),
    ("06", concreteness::BLOCK),
    ("07", levels::BLOCK),
    ("08", runtime::BLOCK),
    ("09", cli::BLOCK),
    ("99", bugs::BLOCK),
];

/// Every code, block by block.
pub fn all() -> impl Iterator<Item = &'static CodeInfo> {
    BLOCKS.into_iter().flat_map(|(_, block)| block)
}

/// The entry of a code written as `E0104` (in any case).
pub fn find(code: &str) -> Option<&'static CodeInfo> {
    all().find(|info| info.code.0.eq_ignore_ascii_case(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_and_in_their_block() {
        let mut seen = HashSet::new();
        for (digits, block) in BLOCKS {
            for info in block {
                let code = info.code.0;
                assert!(seen.insert(code), "{code} is used twice");
                assert_eq!(code.len(), 5, "{code} has a letter and four digits");
                assert!(code.starts_with(['E', 'W']), "{code} starts with E or W");
                assert_eq!(code.get(1..3), Some(digits), "{code} stands in the wrong file");
                assert!(
                    code.get(1..)
                        .is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
                );
            }
        }
    }

    #[test]
    fn every_entry_explains_itself() {
        for info in all() {
            let code = info.code.0;
            assert!(
                !info.title.is_empty() && !info.title.contains('\n'),
                "{code}: title"
            );
            assert!(!info.title.ends_with('.'), "{code}: a title has no full stop");
            assert!(info.explanation.trim().len() > 60, "{code}: explain more");
        }
    }

    #[test]
    fn find_ignores_case() {
        assert_eq!(find("e9999").map(|info| info.code), Some(bugs::COMPILER_BUG));
        assert_eq!(find("E0000"), None);
    }
}
