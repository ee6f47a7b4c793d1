//! Tactics: what choosing a strategy could have done otherwise. Every rule that trades one strategy for another asks a question,
//! whose first answer is what the rule does by itself; the others are as right, and may be faster. A search gives other
//! answers (Lin, chapter 6).
//!
//! A question is known by its place in the source and its topic: copies of one operation are all answered alike, so that the
//! chunks of a reduction and what is left over of it go together.

use crate::Chooser;
use almach_base::Span;
use std::collections::BTreeMap;
use std::fmt;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Topic {
    /// Whether what feeds a reduction is computed inside it.
    Fusion,
    /// Whether what feeds a scan, a filter or the like is computed where it is read.
    View,
    /// Whether a scan or filter hands its elements to the map that takes them.
    Stream,
    /// The tiles of a product of matrices.
    Tiles,
    /// Whether rows are walked on the outside.
    Interchange,
    /// The tiles of a transposition.
    Transposition,
    /// How many partial results a reduction has.
    Accumulators,
    /// How many elements of a reduction a thread takes at a time.
    Chunk,
    /// Who runs an operation.
    Level,
    /// How many elements of a map go through its loops together.
    Masks,
    /// Which rows are so long that all threads share each.
    LongRows,
    /// How long few rows are where all threads share each.
    Nests,
    /// How long rows are that a group of a device takes.
    Groups,
    /// Whether work on arrays is done for several elements of a map at a time.
    Abreast,
}

impl Topic {
    /// What the answer of that number means.
    pub fn answer(self, answer: u32) -> &'static str {
        const WORDS: &[(Topic, &[&str])] = &[
            (
                Topic::Fusion,
                &["fused into the reduction", "not fused into the reduction"],
            ),
            (Topic::View, &["computed where it is read", "stored"]),
            (Topic::Stream, &["handed on element by element", "stored"]),
            (
                Topic::Tiles,
                &[
                    "tiles of 8 rows, 128 bytes",
                    "tiles of 4 rows, 256 bytes",
                    "tiles of 4 rows, 128 bytes",
                    "tiles of 2 rows, 512 bytes",
                    "tiles of 4 rows, 256 bytes, shared by 16 rows",
                    "no tiles",
                ],
            ),
            (Topic::Interchange, &["interchanged", "not interchanged"]),
            (
                Topic::Transposition,
                &[
                    "tiles of 128 bytes",
                    "tiles of 64 bytes",
                    "tiles of 256 bytes",
                    "no tiles",
                ],
            ),
            (
                Topic::Accumulators,
                &[
                    "accumulators as usual",
                    "1 accumulator",
                    "2 accumulators",
                    "8 accumulators",
                    "in order",
                ],
            ),
            (
                Topic::Chunk,
                &[
                    "chunks as usual",
                    "chunks of a quarter",
                    "chunks four times as large",
                ],
            ),
            (
                Topic::Masks,
                &[
                    "loops on lanes of 128 bytes",
                    "loops on lanes of 64 bytes",
                    "loops on lanes of 256 bytes",
                    "loops one element after the other",
                ],
            ),
            (
                Topic::LongRows,
                &[
                    "rows of more than 65536 elements for all threads",
                    "rows of more than 8192 elements for all threads",
                    "rows of more than 524288 elements for all threads",
                    "rows of more than 4194304 elements for all threads",
                    "each row for one thread",
                ],
            ),
            (
                Topic::Nests,
                &[
                    "rows of 16384 elements for each row there is for all threads",
                    "rows of 2048 elements for each row there is for all threads",
                    "rows of 131072 elements for each row there is for all threads",
                    "rows of 1048576 elements for each row there is for all threads",
                    "each row for one thread",
                ],
            ),
            (
                Topic::Groups,
                &[
                    "rows of 128 elements for a group",
                    "rows of 32 elements for a group",
                    "rows of 512 elements for a group",
                    "rows of 2048 elements for a group",
                    "each row for one work-item",
                ],
            ),
            (
                Topic::Abreast,
                &[
                    "elements abreast as usual",
                    "elements abreast or not, otherwise than usual",
                ],
            ),
            (Topic::Level, &["level as usual", "in order", "on lanes"]),
        ];
        let words = WORDS.iter().find(|(topic, _)| *topic == self);
        words
            .and_then(|(_, words)| words.get(answer as usize))
            .copied()
            .unwrap_or("otherwise")
    }
}

/// What is asked, and about which operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Question {
    pub span: Span,
    pub topic: Topic,
}

/// Answers to questions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tactics {
    answers: BTreeMap<Question, u32>,
    otherwise: Otherwise,
}

/// The answer to a question that has none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Otherwise {
    /// What the rule does by itself.
    #[default]
    Usual,
    /// So many of a hundred questions have another answer, drawn by this seed.
    Drawn { percent: u32, seed: u64 },
}

impl Tactics {
    /// Answers for questions, and the usual ones for all others.
    pub fn of(answers: BTreeMap<Question, u32>) -> Tactics {
        Tactics {
            answers,
            otherwise: Otherwise::Usual,
        }
    }

    pub fn drawn(percent: u32, seed: u64) -> Tactics {
        Tactics {
            answers: BTreeMap::new(),
            otherwise: Otherwise::Drawn { percent, seed },
        }
    }

    /// A question with so many answers, and the one it gets.
    pub(crate) fn asked(&self, question: Question, count: u32) -> Asked {
        Asked {
            question,
            count,
            answer: self.answer(question, count),
        }
    }

    /// One of `count` answers.
    fn answer(&self, question: Question, count: u32) -> u32 {
        let given = self.answers.get(&question).copied();
        given
            .unwrap_or_else(|| self.otherwise.answer(question, count))
            .min(count.saturating_sub(1))
    }
}

impl Otherwise {
    fn answer(self, question: Question, count: u32) -> u32 {
        match self {
            Otherwise::Drawn { percent, seed } if count > 1 => {
                let place = (u64::from(question.span.file.0) << 32) ^ u64::from(question.span.start);
                let mut bits = mixed(seed ^ mixed(place ^ mixed(u64::from(question.span.end))));
                bits = mixed(bits ^ question.topic as u64);
                match bits % 100 < u64::from(percent) {
                    true => 1 + ((bits >> 32) % u64::from(count - 1)) as u32,
                    false => 0,
                }
            }
            Otherwise::Usual | Otherwise::Drawn { .. } => 0,
        }
    }
}

/// SplitMix64's mixing: a fixed number for every number, with bits that look drawn.
fn mixed(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A question that was asked, how many answers it has, and which one it got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    pub question: Question,
    pub count: u32,
    pub answer: u32,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.question.topic.answer(self.answer))
    }
}

impl Chooser {
    /// One of `count` answers to a question; the first is the usual one.
    pub(crate) fn ask(&self, span: Span, topic: Topic, count: u32) -> u32 {
        let question = Question { span, topic };
        let asked = self.tactics.asked(question, count);
        // Asked again with fewer answers, by a copy that has fewer: the search knows of all.
        let mut known = self.asked.borrow_mut();
        let entry = known.entry(question).or_insert(asked);
        if entry.count < count {
            *entry = asked;
        }
        asked.answer
    }

    /// Whether the usual thing is done.
    pub(crate) fn is_usual(&self, span: Span, topic: Topic) -> bool {
        self.ask(span, topic, 2) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Question, Tactics, Topic};
    use almach_base::{FileId, Span};
    use std::collections::BTreeMap;

    fn question(start: usize) -> Question {
        Question {
            span: Span::new(FileId(0), start, start + 1),
            topic: Topic::Tiles,
        }
    }

    #[test]
    fn without_answers_everything_is_as_usual() {
        let tactics = Tactics::default();
        assert!((0..100).all(|at| tactics.answer(question(at), 6) == 0));
    }

    #[test]
    fn a_given_answer_is_taken_and_never_too_large() {
        let tactics = Tactics::of(BTreeMap::from([(question(3), 5)]));
        assert_eq!(tactics.answer(question(3), 6), 5);
        assert_eq!(tactics.answer(question(3), 2), 1);
        assert_eq!(tactics.answer(question(4), 6), 0);
    }

    #[test]
    fn drawn_answers_are_the_same_again_and_of_all_kinds() {
        let tactics = Tactics::drawn(50, 7);
        let answers: Vec<u32> = (0..200).map(|at| tactics.answer(question(at), 4)).collect();
        let again: Vec<u32> = (0..200).map(|at| tactics.answer(question(at), 4)).collect();
        assert_eq!(answers, again);
        assert!((0..4).all(|answer| answers.contains(&answer)));
        assert!(answers.iter().filter(|answer| **answer == 0).count() > 60);
    }
}
