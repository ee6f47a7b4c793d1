//! Programs about lists, and recursions over them: folds, maps and suffixes that run on arrays, and some that only look like it.

use super::{Floats, Generator, Program, Scale};
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

/// The list of a program: whether a second constructor goes on, and whether its end has a value.
struct Kind {
    element: ScalarType,
    skips: bool,
    end_has_value: bool,
}

impl Kind {
    fn declaration(&self) -> String {
        let element = self.element;
        let end = if self.end_has_value { " i64" } else { "" };
        let skip = if self.skips { " | Skip@ Chain@" } else { "" };
        format!(
            "data Chain@ = End@{end} | Link@ {element} Chain@{skip}\ndata Pairs@ = Last@ | Pair@ {element} {element} Pairs@\n"
        )
    }

    /// The arms of a `case`: of an end, of an element and the rest, and of what is skipped.
    fn arms(&self, end: &str, link: &str, skip: &str) -> String {
        let value = if self.end_has_value { " last" } else { "" };
        let skipped = match self.skips {
            true => format!("\n  | Skip@ rest -> {skip}"),
            false => String::new(),
        };
        format!("case l of\n  | End@{value} -> {end}\n  | Link@ x rest -> {link}{skipped}\n")
    }

    /// Something at the end that is no constant.
    fn last(&self) -> String {
        match self.end_has_value {
            true => format!("({} (last % 20))", self.element),
            false => format!("({} 3)", self.element),
        }
    }

    /// The end of a datum made of nodes or cells, from a number.
    fn end(&self, from: &str) -> String {
        match self.end_has_value {
            true => format!("End@ ({from} % 30)"),
            false => "End@".into(),
        }
    }
}

impl Generator {
    pub(super) fn list_program(&mut self) -> Program {
        let types = [ScalarType::I64, ScalarType::I32, ScalarType::U8, ScalarType::F64];
        let kind = Kind {
            element: self.rng.pick(&types).copied().unwrap_or(ScalarType::I64),
            skips: self.rng.chance(40),
            end_has_value: self.rng.chance(40),
        };
        let scale = match self.rng.chance(30) {
            true => Scale::Large,
            false => Scale::Small,
        };
        let mut definitions = kind.declaration();
        definitions.push_str(&self.made(&kind));
        definitions.push_str(&self.recursions(&kind));
        let largest = if scale == Scale::Large { 30_000 } else { 9 };
        let runs = (0..3).map(|_| {
            vec![
                self.rng.below(largest).to_string(),
                self.rng.below(1000).to_string(),
            ]
        });
        let runs = runs.collect();
        let list = match self.rng.below(3) {
            0 => "grown@ (n % 500) seed",
            1 => "spread@ n seed",
            _ => "(if seed % 2 == 0 then grown@ (n % 500) seed else spread@ n seed)",
        };
        let (result, body) = self.entry_of_list(&kind);
        Program {
            definitions,
            head: format!("(n: i64) (seed: i64): {result}"),
            body: Node::leaf(
                Ty::Scalar(ScalarType::I64),
                format!(
                    "let l = {list}\n  let k = {} (seed % 9)\n  in {body}",
                    kind.element
                ),
            ),
            runs,
            scale,
            floats: Floats::Exact,
        }
    }

    /// An element of an `i64`.
    fn list_element(&mut self, kind: &Kind, from: &str) -> String {
        format!("({} (({from} * 7 + {}) % 11))", kind.element, self.rng.below(20))
    }

    /// Lists by constructors, and in tables: in order or backwards, with nodes that are no part of them.
    fn made(&mut self, kind: &Kind) -> String {
        let (cell, node) = (self.list_element(kind, "n"), self.list_element(kind, "i"));
        let is_skip = match kind.skips {
            true => "% 5 == 2",
            false => "< -1",
        };
        let skip = |link: &str, name: &str, rest: &str, number: &str| match kind.skips {
            true => format!("if {number} {is_skip} then {name} {rest} else {link}"),
            false => link.to_owned(),
        };
        let grown = skip(
            &format!("Link@ {cell} (grown@ (n - 1) seed)"),
            "Skip@",
            "(grown@ (n - 1) seed)",
            "(n + seed)",
        );
        let far = 1 + self.rng.below(3);
        let (root, is_last, next) = match self.rng.chance(50) {
            true => ("0", "i == n", format!("(min n (i + 1 + i * seed % {far}))")),
            false => ("n", "i == 0", format!("(max 0 (i - 1 - i * seed % {far}))")),
        };
        let spread = skip(
            &format!("#Link@ {node} (ref {next})"),
            "#Skip@",
            &format!("(ref {next})"),
            "(i + seed)",
        );
        format!(
            "def rec grown@ (n: i64) (seed: i64): Chain@ =\n  if n <= 0 then {} else {grown}\n\
             def spread@ (n: i64) (seed: i64): Chain@ =\n  build (n + 1) {root} (\\i ref -> if {is_last} then #{} else {spread})\n",
            kind.end("seed"),
            kind.end("seed"),
        )
    }

    fn list_operator(&mut self, kind: &Kind) -> &'static str {
        let all: &[&str] = match kind.element.is_float() {
            true => &["min a b", "max a b", "a + b"],
            false => &[
                "a + b", "a * b", "min a b", "max a b", "a & b", "a | b", "a ^ b", "a - b",
            ],
        };
        self.rng.pick(all).copied().unwrap_or("a + b")
    }

    fn recursions(&mut self, kind: &Kind) -> String {
        let ty = kind.element;
        let mut text = String::new();
        for name in ["first@", "second@"] {
            let op = self.list_operator(kind);
            text.push_str(&format!("def {name} (a: {ty}) (b: {ty}): {ty} = {op}\n"));
        }
        let own = self
            .rng
            .pick(&["x", "(x + k)", "(x * k)", "(if x > k then x else k)"])
            .copied()
            .unwrap_or("x");
        let last = kind.last();
        let folded = kind.arms(&last, &format!("first@ {own} (folded@ k rest)"), "folded@ k rest");
        text.push_str(&format!(
            "def rec folded@ (k: {ty}) (l: Chain@): {ty} =\n  {folded}"
        ));
        let both = kind.arms(
            &format!("({last}, k)"),
            &format!("let (a, b) = both@ k rest in (first@ a {own}, second@ x b)"),
            "both@ k rest",
        );
        text.push_str(&format!(
            "def rec both@ (k: {ty}) (l: Chain@): ({ty}, {ty}) =\n  {both}"
        ));
        let passed = kind.arms(
            &format!("(first@ acc {last}, count)"),
            "passed@ (second@ x acc) (count + 1) rest",
            "passed@ acc count rest",
        );
        text.push_str(&format!(
            "def rec passed@ (acc: {ty}) (count: i64) (l: Chain@): ({ty}, i64) =\n  {passed}"
        ));
        let mapped = kind.arms(
            "Last@",
            &format!("Pair@ x {own} (mapped@ k rest)"),
            "Pair@ k k (mapped@ k rest)",
        );
        text.push_str(&format!(
            "def rec mapped@ (k: {ty}) (l: Chain@): Pairs@ =\n  {mapped}"
        ));
        let link = format!(
            "let s = suffixes@ k rest in (case s of | Last@ -> Pair@ {own} x Last@ | Pair@ y _ _ -> Pair@ (first@ {own} y) x s)"
        );
        let skipped = "let s = suffixes@ k rest in (case s of | Last@ -> Pair@ k k s | Pair@ y _ _ -> Pair@ (first@ k y) k s)";
        let suffixes = kind.arms("Last@", &link, skipped);
        text.push_str(&format!(
            "def rec suffixes@ (k: {ty}) (l: Chain@): Pairs@ =\n  {suffixes}"
        ));
        text.push_str(&format!(
            "def head@ (l: Pairs@): {ty} = case l of | Last@ -> 2 | Pair@ _ y _ -> y\n"
        ));
        let heads = kind.arms(
            "Last@",
            &format!("let s = heads@ k rest in Pair@ x (second@ {own} (head@ s)) s"),
            "let s = heads@ k rest in Pair@ k (second@ k (head@ s)) s",
        );
        text.push_str(&format!(
            "def rec heads@ (k: {ty}) (l: Chain@): Pairs@ =\n  {heads}"
        ));
        text.push_str(
            "def tail@ (l: Pairs@): Pairs@ = case l of | Last@ -> Last@ | Pair@ _ _ rest -> rest\n",
        );
        text
    }

    fn entry_of_list(&mut self, kind: &Kind) -> (String, String) {
        let ty = kind.element;
        let pairs = self
            .rng
            .pick(&["mapped@ k l", "suffixes@ k l", "heads@ k l"])
            .copied()
            .unwrap_or("mapped@ k l");
        match self.rng.below(7) {
            0 => (format!("({ty}, ({ty}, {ty}))"), "(folded@ k l, both@ k l)".into()),
            1 => (format!("({ty}, i64)"), "passed@ k 0 l".into()),
            2 => ("Pairs@".into(), pairs.into()),
            3 => (
                "(i64, i64, i64)".into(),
                format!("let p = {pairs} in (length (nodes p), length (nodes (tail@ p)), root_of (tail@ p))"),
            ),
            4 => (
                format!("([]{ty}, {ty})"),
                "(map (\\i -> folded@ k (grown@ (i % 7) seed)) (iota (n % 5)), folded@ k l)".into(),
            ),
            5 => (
                format!("[]{ty}"),
                format!(
                    "map (\\node -> case node of | #Last@ -> 0 | #Pair@ x y _ -> x + y) (reach (tail@ ({pairs})))"
                ),
            ),
            _ => (
                "(Pairs@, bool)".into(),
                format!(
                    "let p = {pairs} in (constructed (reach p), p == constructed (nodes (constructed (reach p))))"
                ),
            ),
        }
    }
}
