//! A table of questions. `y`: proved disjoint; `n`: they share a cell; `?`: it depends on the variables, or is beyond the
//! prover. All variables are natural numbers; facts are written before the question.

use almach_lmad::{Dim, Lmad, Poly, Range, Ranges, Verdict, disjoint, injective, iterations_disjoint};

type P = Poly<String>;

/// `facts | lmad | lmad | answer`, where a fact is `a <= b` or `a < b`.
const TABLE: &str = "
-- one dimension, constants
| 0 + {(4:1)} | 4 + {(4:1)} | y
| 0 + {(4:1)} | 3 + {(4:1)} | n
| 0 + {(4:2)} | 1 + {(4:2)} | y
| 0 + {(4:2)} | 2 + {(4:2)} | n
| 0 + {(4:3)} | 4 + {(4:3)} | y
| 0 + {(4:4)} | 1 + {(3:6)} | y
| 0 + {(4:4)} | 2 + {(3:6)} | n
| 0 + {(0:1)} | 0 + {(4:1)} | y
| 3 + {(4:-1)} | 4 + {(4:1)} | y
| 3 + {(4:-1)} | 0 + {(1:1)} | n
| 0 + {(1000000007:1000)} | 999 + {(1000000007:1000)} | y
| 0 + {(1000000007:1000)} | 5000 + {(10:1)} | n
-- one dimension, symbols
| 0 + {(n:1)} | n + {(m:1)} | y
| 0 + {(n:1)} | n + {(n:1)} | y
1 <= n | 0 + {(n:1)} | 0 + {(n:1)} | n
| 0 + {(n:1)} | 0 + {(n:1)} | ?
1 <= n | 0 + {(n:1)} | n-1 + {(n:1)} | n
| 0 + {(n:1)} | n-1 + {(n:1)} | ?
| 0 + {(n:2)} | 1 + {(n:2)} | y
| 0 + {(n:2)} | 2*n + {(m:1)} | y
| 0 + {(n:2)} | 2*n-1 + {(m:1)} | y
| 0 + {(n:2)} | 2*n-2 + {(m:1)} | ?
1 <= n, 1 <= m | 0 + {(n:2)} | 2*n-2 + {(m:1)} | n
| a + {(n:1)} | b + {(n:1)} | ?
a+n <= b | a + {(n:1)} | b + {(n:1)} | y
b+n <= a | a + {(n:1)} | b + {(n:1)} | y
a < b | a + {(1:1)} | b + {(1:1)} | y
a <= b | a + {(1:1)} | b + {(1:1)} | ?
| n-1 + {(n:-1)} | n + {(n:1)} | y
| 0 + {(n:4)} | 2 + {(m:4)} | y
| 0 + {(n:4)} | 2 + {(m:6)} | ?
| 0 + {(n:4)} | 1 + {(m:2)} | y
| 0 + {(n:s)} | 1 + {(n:s)} | ?
2 <= s | 0 + {(n:s)} | 1 + {(m:s)} | y
i < s, j < s, i < j | i + {(n:s)} | j + {(n:s)} | y
i < s, j < s | i + {(n:s)} | j + {(n:s)} | ?
-- rows and columns of a matrix of n rows of m
| i*m + {(m:1)} | i*m+m + {(m:1)} | y
i < j | i*m + {(m:1)} | j*m + {(m:1)} | y
j < m, k < m, j < k | j + {(n:m)} | k + {(n:m)} | y
j < m, k < m | j + {(n:m)} | k + {(n:m)} | ?
1 <= m, 1 <= n, j < m, i < n | j + {(n:m)} | i*m + {(m:1)} | ?
2 <= m | 0 + {(n:m)} | 1 + {(n:m), (m-1:1)} | y
2 <= m | 0 + {(n:m), (m-1:1)} | m-1 + {(n:m)} | y
| 0 + {(n:m), (k:1)} | n*m + {(n:m), (k:1)} | ?
k <= m | 0 + {(n:m), (k:1)} | n*m + {(n:m), (k:1)} | y
k+l <= m | 0 + {(n:m), (k:1)} | k + {(n:m), (l:1)} | y
k+l <= m+1 | 0 + {(n:m), (k:1)} | k + {(n:m), (l:1)} | ?
| 0 + {(n:2*m), (m:1)} | m + {(n:2*m), (m:1)} | y
| 0 + {(n:2*m), (m:1)} | m-1 + {(n:2*m), (m:1)} | ?
| 0 + {(n:m), (m:1)} | n*m + {(k:m), (m:1)} | y
-- blocks of a matrix
| 0 + {(b:q*b), (b:1)} | b + {(b:q*b), (b:1)} | ?
2 <= q | 0 + {(b:q*b), (b:1)} | b + {(b:q*b), (b:1)} | y
i < j, j < q | i*b + {(b:q*b), (b:1)} | j*b + {(b:q*b), (b:1)} | y
i < j, j < q | i*b*q*b + {(b:q*b), (b:1)} | j*b*q*b + {(b:q*b), (b:1)} | y
-- interleaved, as memory expansion for many threads lays out
i < t, j < t, i < j | i + {(n:t)} | j + {(n:t)} | y
i < t, j < t, i < j | i + {(n:t*m), (m:t)} | j + {(n:t*m), (m:t)} | y
-- even and odd rows, upper and lower half
| 0 + {(n:2*m), (m:1)} | m + {(n:2*m), (m:1)} | y
| 0 + {(n:m), (m:1)} | n*m + {(n:m), (m:1)} | y
-- a triangle's rows overlap in columns, not in cells
i < j, j < n | i*n + {(i+1:1)} | j*n + {(j+1:1)} | y
-- three dimensions
i < j | i*n*m + {(n:m), (m:1)} | j*n*m + {(n:m), (m:1)} | y
i < n, j < n, i < j | i*m + {(p:n*m), (m:1)} | j*m + {(p:n*m), (m:1)} | y
i < m, j < m, i < j | i + {(p:n*m), (n:m)} | j + {(p:n*m), (n:m)} | y
-- an anti-diagonal of blocks, and the row of cells above it
1 <= b, 2 <= n | 0 + {(n:b*n*b-b), (b:n*b), (b:1)} | n*b*n*b*b + {(1:1)} | y
2 <= n | n + {(n-1:n-1)} | 0 + {(1:1)} | y
-- unknown strides tell nothing
| 0 + {(n:s), (m:t)} | 1 + {(n:s), (m:t)} | ?
";

struct Reader<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl Reader<'_> {
    fn skip(&mut self) {
        while self.0.next_if(|c| c.is_whitespace()).is_some() {}
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip();
        self.0.next_if(|c| *c == wanted).is_some()
    }

    fn sum(&mut self) -> P {
        let mut sum = match self.eat('-') {
            true => -&self.product(),
            false => self.product(),
        };
        loop {
            self.skip();
            // `+ {` begins the dimensions.
            let mut ahead = self.0.clone();
            if ahead.next() == Some('+') && ahead.find(|c| !c.is_whitespace()) != Some('{') {
                self.eat('+');
                sum = sum + self.product();
            } else if self.eat('-') {
                sum = sum - self.product();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> P {
        let mut product = self.factor();
        while self.eat('*') {
            product = product * self.factor();
        }
        product
    }

    fn factor(&mut self) -> P {
        self.skip();
        let mut word = String::new();
        while let Some(c) = self.0.next_if(|c| c.is_alphanumeric()) {
            word.push(c);
        }
        assert!(!word.is_empty(), "a number or name was expected");
        word.parse()
            .map_or_else(|_| Poly::var(word.clone()), Poly::constant)
    }

    fn lmad(&mut self) -> Lmad<String> {
        let offset = self.sum();
        let mut dims = Vec::new();
        assert!(self.eat('+') && self.eat('{'));
        while self.eat('(') {
            let length = self.sum();
            assert!(self.eat(':'));
            let stride = self.sum();
            assert!(self.eat(')'));
            self.eat(',');
            dims.push(Dim { length, stride });
        }
        assert!(self.eat('}'));
        Lmad { offset, dims }
    }
}

fn lmad(text: &str) -> Lmad<String> {
    Reader(text.chars().peekable()).lmad()
}

fn sum(text: &str) -> P {
    Reader(text.chars().peekable()).sum()
}

fn facts(text: &str) -> Ranges<String> {
    let mut known = Ranges::naturals();
    for fact in text.split(',').map(str::trim).filter(|fact| !fact.is_empty()) {
        match fact.split_once("<=") {
            Some((a, b)) => known.assume_nonneg(sum(b) - sum(a)),
            None => {
                let (a, b) = fact.split_once('<').expect("a fact");
                known.assume_nonneg(sum(b) - sum(a) - Poly::one());
            }
        }
    }
    known
}

#[test]
fn the_table_is_answered() {
    let mut wrong = String::new();
    let mut count = 0;
    for line in TABLE.lines().filter(|line| line.contains('|')) {
        let parts: Vec<&str> = line.split('|').collect();
        let [given, a, b, expected] = parts.as_slice() else {
            panic!("four parts: {line}");
        };
        count += 1;
        let found = match disjoint(&lmad(a), &lmad(b), &facts(given)) {
            Verdict::Disjoint(_) => "y",
            Verdict::Overlapping => "n",
            Verdict::Unknown => "?",
        };
        if found != expected.trim() {
            wrong.push_str(&format!("{line}: found {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 60, "{count} questions");
}

/// What different iterations `i < n` touch.
fn iterations(given: &str, count: &str, write: &str, other: &str) -> bool {
    let range = Range::below(&sum(count));
    iterations_disjoint(
        &"i".to_string(),
        &range,
        &"later".to_string(),
        (&lmad(write), &lmad(other)),
        &facts(given),
    )
    .is_disjoint()
}

#[test]
fn iterations_of_a_loop() {
    assert!(iterations("", "n", "i + {(1:1)}", "i + {(1:1)}"));
    assert!(!iterations("", "n", "i + {(2:1)}", "i + {(2:1)}"));
    assert!(iterations("", "n", "i*m + {(m:1)}", "i*m + {(m:1)}"));
    assert!(!iterations("", "n", "i*m + {(m+1:1)}", "i*m + {(m+1:1)}"));
    assert!(iterations("", "n", "i + {(m:n)}", "i + {(m:n)}"));
    assert!(!iterations("", "n+1", "i + {(m:n)}", "i + {(m:n)}"));
    assert!(iterations("", "n", "n-1-i + {(1:1)}", "n-1-i + {(1:1)}"));
    assert!(iterations(
        "",
        "n",
        "i*m*k + {(k:m), (m:1)}",
        "i*m*k + {(k:m), (m:1)}"
    ));
    assert!(iterations(
        "",
        "n",
        "i*k + {(m:n*k), (k:1)}",
        "i*k + {(m:n*k), (k:1)}"
    ));
    // A write next to what the neighbour reads.
    assert!(!iterations("", "n", "i + {(1:1)}", "i+1 + {(1:1)}"));
    assert!(iterations("", "n", "2*i + {(1:1)}", "2*i+1 + {(1:1)}"));
    assert!(iterations("", "n", "i + {(1:1)}", "n+i + {(1:1)}"));
    // Nothing moves.
    assert!(!iterations("", "n", "0 + {(1:1)}", "0 + {(1:1)}"));
    // Rows of a triangle.
    assert!(iterations("", "n", "i*n + {(i+1:1)}", "i*n + {(i+1:1)}"));
}

/// Rows of tiles, in a matrix with something behind the last tile of each row: tile `j` of row `i`, and tile `k` of another.
#[test]
fn tiles_of_different_rows_are_apart() {
    let mut known = facts("");
    let tiles = sum("n").div(&Poly::constant(64));
    for tile in ["j", "k"] {
        known.set(tile.into(), Range::below(&tiles));
    }
    for count in ["m", "640"] {
        let rows = sum(count).div(&Poly::constant(64));
        let across = |write: &str, other: &str| {
            let (i, later) = ("i".to_string(), "later".to_string());
            let (write, other) = (lmad(write), lmad(other));
            iterations_disjoint(&i, &Range::below(&rows), &later, (&write, &other), &known).is_disjoint()
        };
        assert!(across(
            "64*n*i + 64*j + {(64:n), (64:1)}",
            "64*n*i + 64*k + {(64:n), (64:1)}"
        ));
        assert!(across(
            "64*n*i + 64*j + {(16:4*n), (4:n), (64:1)}",
            "64*n*i + 64*k + {(16:4*n), (4:n), (64:1)}"
        ));
        assert!(!across(
            "64*n*i + 64*j + {(64:n), (65:1)}",
            "64*n*i + 64*k + {(64:n), (65:1)}"
        ));
    }
}

/// Tiles of one row, in which rows are counted in fours or one by one.
#[test]
fn tiles_of_one_row_are_apart() {
    let tiles = sum("n").div(&Poly::constant(64));
    let across = |write: &str, other: &str| {
        let (j, later) = ("j".to_string(), "later".to_string());
        let (write, other) = (lmad(write), lmad(other));
        iterations_disjoint(&j, &Range::below(&tiles), &later, (&write, &other), &facts("")).is_disjoint()
    };
    let by_fours = "64*n*i + 64*j + {(16:4*n), (4:n), (64:1)}";
    assert!(across(by_fours, by_fours));
    assert!(across(by_fours, "64*n*i + 64*j + {(64:1), (64:n)}"));
    assert!(!across(by_fours, "64*n*i + 64*j + {(65:1), (64:n)}"));
}

#[test]
fn different_elements_have_different_cells() {
    let known = facts("");
    let is = |text: &str| injective(&lmad(text), &known).is_some();
    assert!(is("0 + {(n:1)}"));
    assert!(is("0 + {(n:m), (m:1)}"));
    assert!(is("0 + {(m:1), (n:m)}"));
    assert!(!is("0 + {(n:m), (m+1:1)}"));
    assert!(!is("0 + {(n:0)}"));
    assert!(is("0 + {(1:0)}"));
    assert!(is("7 + {(n:m*k), (m:k), (k:1)}"));
    assert!(!is("0 + {(n:1), (m:1)}"));
}

#[test]
fn a_proof_reads_as_words() {
    let known = facts("i < j, j < q");
    let verdict = disjoint(
        &lmad("i*b + {(b:q*b), (b:1)}"),
        &lmad("j*b + {(b:q*b), (b:1)}"),
        &known,
    );
    let Verdict::Disjoint(proof) = verdict else {
        panic!("not proved")
    };
    let text = proof.to_string();
    assert!(text.contains("along stride"), "{text}");
}
