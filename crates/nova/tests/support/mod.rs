//! Programs and random changes to them.

use std::time::Duration;

/// How long to hunt.
pub fn seconds(default: u64) -> Duration {
    let set = std::env::var("ALMACH_FUZZ_SECONDS").ok();
    Duration::from_secs(set.and_then(|text| text.parse().ok()).unwrap_or(default))
}

/// Where to hunt.
pub fn seed(default: u64) -> u64 {
    let set = std::env::var("ALMACH_FUZZ_SEED").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// All `.nova` programs of the repository.
pub fn corpus() -> Vec<String> {
    let files = almach_corpus::files(&["examples/nova", "tests/programs/nova"], "nova");
    let texts = files.iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts.collect()
}

/// What mutations put in.
const PIECES: &[&str] = &[
    "(",
    ")",
    ",",
    ":",
    ".",
    "!",
    "->",
    "→",
    "#",
    "'a",
    "'",
    ";",
    "+",
    "-",
    "*",
    "~=",
    "<<",
    "|",
    "if",
    "then",
    "else",
    "case",
    "let",
    "in",
    "lambda",
    "mu",
    "types",
    "foreign",
    "vector",
    "vector#2",
    "vector#",
    "and",
    "not",
    "true",
    "nil",
    "int",
    "float",
    "double",
    "unit",
    "_",
    "x",
    "X",
    "main",
    "Some",
    "Nil",
    "Cons",
    "map",
    "reduce",
    "scan",
    "filter",
    "length",
    "range",
    "slice",
    "gather",
    "from_double",
    "0",
    "1",
    "-1",
    "1.5",
    "1e9",
    "1L",
    "99999999999999999999",
    "é",
    "\0",
    "((((",
    "))))",
    "(lambda (x : 'a) x)",
    "(+ 1)",
    "(x : int)",
    "(types (T : (+ (A : T))))",
    "(mu (f : int -> int) f)",
];

pub struct Mutations {
    state: u64,
}

impl Mutations {
    pub fn new(seed: u64) -> Mutations {
        Mutations { state: seed }
    }

    fn below(&mut self, limit: usize) -> usize {
        // Splitmix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }

    /// A program with one to four changes: pieces put in, taken out, exchanged, doubled, or taken from another program.
    pub fn mutated(&mut self, corpus: &[String]) -> String {
        let program = &corpus[self.below(corpus.len())];
        let mut pieces = split(program);
        for _ in 0..=self.below(4) {
            let at = self.below(pieces.len());
            match self.below(7) {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, PIECES[self.below(PIECES.len())].to_owned()),
                2 => pieces[at] = PIECES[self.below(PIECES.len())].to_owned(),
                3 => {
                    let other = self.below(pieces.len());
                    pieces.swap(at, other);
                }
                4 => pieces.insert(at, pieces[at].clone()),
                5 => pieces.truncate(at),
                _ => {
                    let other = split(&corpus[self.below(corpus.len())]);
                    let from = self.below(other.len());
                    let length = self.below(12).min(other.len() - from);
                    pieces.splice(at..at, other[from..from + length].iter().cloned());
                }
            }
            if pieces.is_empty() {
                return String::new();
            }
        }
        pieces.join(if self.below(8) == 0 { "" } else { " " })
    }
}

/// Words, and every other character alone.
fn split(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut in_word = false;
    for character in text
        .lines()
        .filter(|line| !line.starts_with(';'))
        .flat_map(|line| line.chars().chain([' ']))
    {
        let belongs = character.is_ascii_alphanumeric() || character == '_' || character == '\'';
        match pieces.last_mut() {
            Some(last) if belongs && in_word => last.push(character),
            _ if character.is_whitespace() => {}
            _ => pieces.push(character.to_string()),
        }
        in_word = belongs;
    }
    pieces
}
