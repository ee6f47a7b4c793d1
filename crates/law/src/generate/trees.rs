//! Programs about trees, and recursions over them that are cut into subtrees, or only look like it.

use super::{Floats, Generator, Program, Scale};
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

/// The tree of a program: into how many parts it forks, and whether a leaf has a value. A third constructor has one part.
struct Kind {
    element: ScalarType,
    parts: usize,
    leaf_has_value: bool,
    has_single: bool,
}

impl Kind {
    fn declaration(&self) -> String {
        let element = self.element;
        let leaf = if self.leaf_has_value { " i64" } else { "" };
        let single = if self.has_single { " | Single@ Plant@" } else { "" };
        let (parts, crowns) = (" Plant@".repeat(self.parts), " Crown@".repeat(self.parts));
        format!(
            "data Plant@ = Leaf@{leaf} | Fork@ {element}{parts}{single}\ndata Crown@ = Tip@ | Crown@ {element}{crowns}\n"
        )
    }

    fn parts(&self) -> Vec<String> {
        (0..self.parts).map(|at| format!("p{at}")).collect()
    }

    /// The arms of a `case`: of a leaf, of an element and the parts, and of a single part.
    fn arms(&self, leaf: &str, fork: &str, single: &str) -> String {
        let value = if self.leaf_has_value { " last" } else { "" };
        let parts = self.parts().join(" ");
        let single = match self.has_single {
            true => format!("\n  | Single@ p -> {single}"),
            false => String::new(),
        };
        format!("case t of\n  | Leaf@{value} -> {leaf}\n  | Fork@ x {parts} -> {fork}{single}\n")
    }

    /// A value of a leaf.
    fn last(&self) -> String {
        match self.leaf_has_value {
            true => format!("({} (last % 20))", self.element),
            false => format!("({} 3)", self.element),
        }
    }

    fn leaf(&self, from: &str) -> String {
        match self.leaf_has_value {
            true => format!("Leaf@ ({from} % 30)"),
            false => "Leaf@".into(),
        }
    }
}

impl Generator {
    pub(super) fn tree_program(&mut self) -> Program {
        let types = [ScalarType::I64, ScalarType::I32, ScalarType::U8, ScalarType::F64];
        let kind = Kind {
            element: self.rng.pick(&types).copied().unwrap_or(ScalarType::I64),
            parts: 2 + self.rng.below(2),
            leaf_has_value: self.rng.chance(60),
            has_single: self.rng.chance(40),
        };
        let scale = match self.rng.chance(30) {
            true => Scale::Large,
            false => Scale::Small,
        };
        let mut definitions = kind.declaration();
        definitions.push_str(&self.planted(&kind));
        definitions.push_str(&self.tree_recursions(&kind));
        // Small ones are opened whole, or in part; of large ones subtrees are left.
        let largest = if scale == Scale::Large { 9000 } else { 90 };
        let runs = (0..3).map(|_| {
            vec![
                self.rng.below(largest).to_string(),
                self.rng.below(1000).to_string(),
            ]
        });
        let runs = runs.collect();
        let tree = match self.rng.below(4) {
            0 => "planted@ (n % 9) seed",
            1 => "heap@ n seed",
            2 => "path@ n seed",
            _ => "(if seed % 2 == 0 then planted@ (n % 9) seed else heap@ n seed)",
        };
        let (result, body) = self.entry_of_tree(&kind);
        Program {
            definitions,
            head: format!("(n: i64) (seed: i64): {result}"),
            body: Node::leaf(
                Ty::Scalar(ScalarType::I64),
                format!(
                    "let t = {tree}\n  let k = {} (seed % 9)\n  in {body}",
                    kind.element
                ),
            ),
            runs,
            scale,
            floats: Floats::Exact,
        }
    }

    /// Trees by constructors, and in tables: balanced ones, and ones that are a path. Parts may be shared.
    fn planted(&mut self, kind: &Kind) -> String {
        let ty = kind.element;
        let element = |from: &str, by: usize| format!("({ty} (({from} * 7 + {by}) % 11))");
        let (cell, node) = (
            element("(n + seed)", self.rng.below(20)),
            element("i", self.rng.below(20)),
        );
        let grown: Vec<String> = (0..kind.parts)
            .map(|at| match self.rng.chance(20) {
                true => "half".to_owned(),
                false => format!("(planted@ (n - {}) (seed + {}))", 1 + at, 3 * at + 1),
            })
            .collect();
        let single = match kind.has_single {
            true => "if seed % 6 == 1 then Single@ half else ",
            false => "",
        };
        let (parts, leaf) = (kind.parts, kind.leaf("seed"));
        let heap: Vec<String> = (1..=parts)
            .map(|at| format!("(ref (min (m - 1) ({parts} * i + {at})))"))
            .collect();
        let side = self.rng.below(parts);
        let path: Vec<String> = (0..parts)
            .map(|at| match at == side {
                true => "(ref (i + 1))".to_owned(),
                false => "(ref (m - 1))".to_owned(),
            })
            .collect();
        let node_leaf = kind.leaf("i");
        format!(
            "def rec planted@ (n: i64) (seed: i64): Plant@ =\n  if n <= 0 then {leaf} else let half = planted@ (n - 2) (seed + 2)\n  \
             in {single}Fork@ {cell} {}\n\
             def heap@ (n: i64) (seed: i64): Plant@ =\n  let m = n + 1 in build m 0 (\\i ref -> if {parts} * i + 1 >= m then #{node_leaf} else #Fork@ {node} {})\n\
             def path@ (n: i64) (seed: i64): Plant@ =\n  let m = n + 1 in build m 0 (\\i ref -> if i >= n then #{node_leaf} else #Fork@ {node} {})\n",
            grown.join(" "),
            heap.join(" "),
            path.join(" "),
        )
    }

    fn tree_operator(&mut self, kind: &Kind) -> &'static str {
        let all: &[&str] = match kind.element.is_float() {
            true => &["min a b", "max a b", "a - b * 0.5"],
            false => &["a + b", "a * b - a", "min a b", "a ^ b", "a - b", "a & b"],
        };
        self.rng.pick(all).copied().unwrap_or("a - b")
    }

    /// The results of the parts, combined with something.
    fn of_parts(kind: &Kind, function: &str, start: &str, args: &str) -> String {
        let calls = kind.parts();
        let calls = calls.iter().map(|part| format!("{function} {args} {part}"));
        calls.fold(start.to_owned(), |before, call| {
            format!("op@ ({before}) ({call})")
        })
    }

    fn tree_recursions(&mut self, kind: &Kind) -> String {
        let ty = kind.element;
        let (last, parts) = (kind.last(), kind.parts());
        let op = self.tree_operator(kind);
        let mut text = format!("def op@ (a: {ty}) (b: {ty}): {ty} = {op}\n");
        let own = self
            .rng
            .pick(&["x", "(x + k)", "(if x > k then x else k)"])
            .copied()
            .unwrap_or("x");
        let folded = kind.arms(&last, &Self::of_parts(kind, "folded@", own, "k"), "folded@ k p");
        text.push_str(&format!(
            "def rec folded@ (k: {ty}) (t: Plant@): {ty} =\n  {folded}"
        ));
        let both: Vec<String> = parts
            .iter()
            .enumerate()
            .map(|(at, part)| format!("let (a{at}, b{at}) = both@ k {part}\n    "))
            .collect();
        let both = format!("{}in (op@ {own} (op@ a0 a1), 1 + max b0 b1)", both.join(""));
        let both = kind.arms(&format!("({last}, 0)"), &both, "both@ k p");
        text.push_str(&format!(
            "def rec both@ (k: {ty}) (t: Plant@): ({ty}, i64) =\n  {both}"
        ));
        // What is handed down may say where to stop.
        let fork = Self::of_parts(kind, "down@", own, "(op@ k x) (d + 1)");
        let fork = match self.rng.chance(50) {
            true => format!("if d > {} then x else {fork}", self.rng.below(12)),
            false => fork,
        };
        let down = kind.arms(&format!("op@ k ({ty} (d % 9))"), &fork, "down@ k d p");
        text.push_str(&format!(
            "def rec down@ (k: {ty}) (d: i64) (t: Plant@): {ty} =\n  {down}"
        ));
        let mapped: Vec<String> = parts.iter().map(|part| format!("(mapped@ k {part})")).collect();
        let single = format!("Crown@ k{}", " (mapped@ k p)".repeat(kind.parts));
        let mapped = kind.arms("Tip@", &format!("Crown@ {own} {}", mapped.join(" ")), &single);
        text.push_str(&format!(
            "def rec mapped@ (k: {ty}) (t: Plant@): Crown@ =\n  {mapped}"
        ));
        text.push_str(&self.looking(kind, own));
        // One part says how to go on in the next: this is no tree of calls.
        let threaded: String = parts
            .iter()
            .map(|part| format!("let c = threaded@ c {part}\n    "))
            .collect();
        let threaded = kind.arms(
            &format!("op@ c {last}"),
            &format!("let c = op@ c x\n    {threaded}in c"),
            "threaded@ c p",
        );
        text.push_str(&format!(
            "def rec threaded@ (c: {ty}) (t: Plant@): {ty} =\n  {threaded}"
        ));
        text
    }

    /// A map that looks at what it made of the parts.
    fn looking(&mut self, kind: &Kind, own: &str) -> String {
        let ty = kind.element;
        let tips = " _".repeat(kind.parts);
        let parts = kind.parts();
        let made: String = parts
            .iter()
            .enumerate()
            .map(|(at, part)| format!("let c{at} = summed@ k {part}\n    "))
            .collect();
        let crowns: Vec<String> = (0..kind.parts).map(|at| format!("c{at}")).collect();
        let fork = format!(
            "{made}in Crown@ (op@ {own} (op@ (top@ c0) (top@ c1))) {}",
            crowns.join(" ")
        );
        let leaf = match self.rng.chance(50) {
            true => "Tip@".to_owned(),
            false => format!("Crown@ {}{}", kind.last(), " Tip@".repeat(kind.parts)),
        };
        let summed = kind.arms(&leaf, &fork, "summed@ k p");
        format!(
            "def top@ (c: Crown@): {ty} = case c of | Tip@ -> 1 | Crown@ x{tips} -> x\n\
             def rec summed@ (k: {ty}) (t: Plant@): Crown@ =\n  {summed}"
        )
    }

    fn entry_of_tree(&mut self, kind: &Kind) -> (String, String) {
        let ty = kind.element;
        let made = self.rng.pick(&["mapped@ k t", "summed@ k t"]).copied();
        let made = made.unwrap_or("mapped@ k t");
        match self.rng.below(6) {
            0 => (format!("({ty}, ({ty}, i64))"), "(folded@ k t, both@ k t)".into()),
            1 => (format!("({ty}, {ty})"), "(down@ k 0 t, threaded@ k t)".into()),
            2 => (
                format!("({ty}, i64)"),
                format!("let c = {made} in (top@ c, length (nodes c))"),
            ),
            3 => (
                format!("[]({ty}, i64)"),
                "map (\\i -> both@ k (planted@ (i % 5) seed)) (iota (n % 6))".into(),
            ),
            4 => (
                ty.to_string(),
                "loop (k = k) for i < n % 4 do op@ (folded@ k t) (down@ k i t)".into(),
            ),
            _ => (
                format!("({ty}, {ty}, {ty})"),
                "(folded@ k t, top@ (mapped@ k t), top@ (summed@ k t))".into(),
            ),
        }
    }
}
