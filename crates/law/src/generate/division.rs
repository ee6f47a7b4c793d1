//! Programs that divide and conquer: recursions over arrays and numbers whose calls are made level by level, or only look like it.

use super::{Floats, Generator, Program, Scale};
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

/// How a case divides: what it computes before its calls, and what it calls itself with.
struct Division {
    before: &'static str,
    parts: &'static [&'static str],
}

const DIVISIONS: &[Division] = &[
    Division {
        before: "let h = n / 2",
        parts: &["xs[:h]", "xs[h:]"],
    },
    Division {
        before: "let p = xs[n / 2]\n    let equal = filter (== p) xs",
        parts: &["(filter (< p) xs)", "(filter (> p) xs)"],
    },
    Division {
        before: "let p = xs[n / 3]\n    let least = minimum xs",
        parts: &["(filter (< p) xs)", "(map (+ least) (filter (> p) xs))"],
    },
    Division {
        before: "let h = n / 3",
        parts: &["xs[:h]", "xs[h:2 * h]", "(reverse xs[2 * h:])"],
    },
];

impl Generator {
    pub(super) fn division_program(&mut self) -> Program {
        let types = [ScalarType::I64, ScalarType::I32, ScalarType::F64];
        let ty = self.rng.pick(&types).copied().unwrap_or(ScalarType::I64);
        let mut definitions = format!(
            "def given@ (n: i64) (seed: i64): [n]{ty} = map (\\i -> {ty} (random_int 0 {} (u64 seed) i)) (iota n)\n",
            self.rng.pick(&[20, 1000, 100_000]).copied().unwrap_or(20)
        );
        definitions.push_str(&self.divided_array(ty));
        definitions.push_str(&self.divided_number(ty));
        definitions.push_str(&self.divided_numbers(ty));
        // Fewer elements are not worth levels, and many take interpreters long: one run in three has them.
        let (scale, largest) = match self.rng.chance(40) {
            true => (Scale::Large, [60, 9000, 60]),
            false => (Scale::Small, [60, 60, 60]),
        };
        let mut runs = Vec::new();
        for largest in largest {
            let (elements, seed) = (self.rng.below(largest), self.rng.below(1000));
            runs.push(vec![elements.to_string(), seed.to_string()]);
        }
        let (result, body) = match self.rng.below(5) {
            0 => (format!("[]{ty}"), "divided@ k (given@ n seed)"),
            1 => (
                format!("({ty}, i64)"),
                "(folded@ k (given@ n seed), numbers@ (n % 14) k)",
            ),
            2 => (
                format!("({ty}, []{ty})"),
                "(folded@ k (given@ n seed), map (+ k) (divided@ k (given@ (n + 1) seed)))",
            ),
            3 => (
                format!("[]{ty}"),
                "loop (xs = given@ n seed) for i < 2 do divided@ (k + 1) xs",
            ),
            _ => (
                format!("[][?]{ty}"),
                "map (\\i -> divided@ k (given@ (i * 3 % 17) seed)) (iota (n % 9))",
            ),
        };
        Program {
            definitions,
            head: format!("(n: i64) (seed: i64): {result}"),
            body: Node::leaf(
                Ty::Scalar(ScalarType::I64),
                format!("let k = {ty} (seed % 9)\n  in {body}"),
            ),
            runs,
            scale,
            floats: Floats::Exact,
        }
    }

    fn division(&mut self) -> &'static Division {
        let at = self.rng.below(DIVISIONS.len());
        DIVISIONS.get(at).unwrap_or(&DIVISIONS[0])
    }

    /// What a call that goes on is given besides its part.
    fn handed(&mut self) -> &'static str {
        self.rng
            .pick(&["k", "(k + 1)", "(k - 2)"])
            .copied()
            .unwrap_or("k")
    }

    /// A recursion that gives an array, with one or two cases that divide.
    fn divided_array(&mut self, ty: ScalarType) -> String {
        let leaf = self
            .rng
            .pick(&["xs", "map (+ k) xs", "[k]", "xs ++ [k]"])
            .copied();
        let first = self.array_case();
        let rest = match self.rng.chance(40) {
            true => {
                let other = self.array_case();
                format!("if n % 3 == 1 then\n    {other}\n  else\n    {first}")
            }
            false => first,
        };
        // Parts are shorter, so this ends: a part of one element or none is a leaf.
        format!(
            "def rec divided@ (k: {ty}) (xs: []{ty}): []{ty} =\n  let n = length xs in\n  if n <= {} then {}\n  else {rest}\n",
            2 + self.rng.below(3),
            leaf.unwrap_or("xs"),
        )
    }

    fn array_case(&mut self) -> String {
        let division = self.division();
        let calls: Vec<String> = division
            .parts
            .iter()
            .map(|part| format!("divided@ {} {part}", self.handed()))
            .collect();
        let own = match division.before.contains("equal") {
            true => "equal",
            false => self
                .rng
                .pick(&["[k]", "xs[:1]", "map (+ k) xs[:2]"])
                .copied()
                .unwrap_or("[k]"),
        };
        let mut all = calls.iter();
        let first = all.next().cloned().unwrap_or_default();
        let rest: Vec<String> = all.map(|call| format!(" ++ {call}")).collect();
        let joined = format!("{first} ++ {own}{}", rest.join(""));
        match self.rng.chance(30) {
            true => format!("{}\n    in map (\\x -> x - k) ({joined})", division.before),
            false => format!("{}\n    in {joined}", division.before),
        }
    }

    /// A recursion over arrays that gives a number.
    fn divided_number(&mut self, ty: ScalarType) -> String {
        let division = self.division();
        let operator = self.rng.pick(&["+", "-"]).copied().unwrap_or("+");
        let calls: Vec<String> = division
            .parts
            .iter()
            .map(|part| format!("folded@ {} {part}", self.handed()))
            .collect();
        let own = match division.before.contains("equal") {
            true => format!("{ty} (length equal)"),
            false => "k".to_owned(),
        };
        format!(
            "def rec folded@ (k: {ty}) (xs: []{ty}): {ty} =\n  let n = length xs in\n  if n <= 2 then sum xs\n  else {}\n    in {own} {operator} {}\n",
            division.before,
            calls.join(&format!(" {operator} ")),
        )
    }

    /// A recursion over numbers, in which one call may wait for another.
    fn divided_numbers(&mut self, ty: ScalarType) -> String {
        let second = match self.rng.chance(25) {
            true => "numbers@ (d - 1 - abs (a % 2)) k",
            false => "numbers@ (d - 2) (k + 1)",
        };
        format!(
            "def rec numbers@ (d: i64) (k: {ty}): i64 =\n  if d <= 1 then i64 k % 7\n  else let a = numbers@ (d - 1) k\n    let b = {second}\n    in a - b\n"
        )
    }
}
