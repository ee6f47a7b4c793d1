//! Programs about a recursive type of their own: built by constructors, by `build`, by `foreach`, and taken as arguments.
//!
//! References only go to nodes that come later (in `build`) or that a node refers to already (in `foreach`), so that no datum is
//! cyclic and every walk ends.

use super::{Floats, Generator, Program, Scale};
use crate::tree::{Node, Ty};
use almach_value::ScalarType;
use std::fmt::Write;

/// A constructor: scalar fields, then references.
struct Constructor {
    scalars: Vec<ScalarType>,
    references: usize,
}

impl Constructor {
    fn scalar_names(&self) -> Vec<String> {
        (0..self.scalars.len()).map(|at| format!("x{at}")).collect()
    }

    fn reference_names(&self) -> Vec<String> {
        (0..self.references).map(|at| format!("r{at}")).collect()
    }

    /// `T1@ x0 r0 r1`.
    fn pattern(&self, number: usize) -> String {
        let mut names = vec![name(number)];
        names.extend(self.scalar_names());
        names.extend(self.reference_names());
        names.join(" ")
    }
}

fn name(number: usize) -> String {
    format!("T{number}@")
}

const LARGEST: usize = 9;

impl Generator {
    pub(super) fn data_program(&mut self) -> Program {
        let mut constructors = vec![Constructor {
            scalars: (0..self.rng.below(2)).map(|_| self.scalar_type()).collect(),
            references: 0,
        }];
        for _ in 0..1 + self.rng.below(3) {
            constructors.push(Constructor {
                scalars: (0..self.rng.below(3)).map(|_| self.scalar_type()).collect(),
                references: 1 + self.rng.below(2),
            });
        }
        let mut definitions = declaration(&constructors);
        definitions.push_str(&self.grow(&constructors));
        definitions.push_str(&fold(&constructors));
        definitions.push_str(&self.built(&constructors));
        for at in 0..2 {
            let text = self.each(&constructors, at);
            definitions.push_str(&text);
        }
        let (head, body) = self.entry_of_data();
        let runs = (0..3)
            .map(|_| {
                let size = 1 + self.rng.below(LARGEST);
                let seed = self.rng.below(1000);
                vec![
                    self.literal_datum(&constructors, 3),
                    size.to_string(),
                    seed.to_string(),
                ]
            })
            .collect();
        Program {
            definitions,
            head,
            body: Node::leaf(Ty::Scalar(ScalarType::I64), body),
            runs,
            scale: Scale::Small,
            floats: Floats::Exact,
        }
    }

    /// What the program gives: a datum, what is in it, its table.
    fn entry_of_data(&mut self) -> (String, String) {
        let datum = self.datum(3);
        let other = self.datum(2);
        let head = "(t: Tree@) (n: i64) (seed: i64)";
        let (result, body) = match self.rng.below(7) {
            0 => ("i64", format!("fold@ ({datum})")),
            1 => ("Tree@", datum),
            2 => ("(Tree@, i64)", format!("({datum}, fold@ ({other}))")),
            3 => (
                "(i64, i64)",
                format!("let d = {datum} in (length (nodes d), root_of d)"),
            ),
            4 => (
                "[]i64",
                format!("map (\\i -> fold@ (let seed = seed + i in {datum})) (iota n)"),
            ),
            5 => (
                "[]Tree@",
                format!("map (\\i -> let seed = seed + i in {datum}) (iota (n % 4))"),
            ),
            _ => (
                "(i64, i64)",
                format!("(fold@ ({datum}), reduce (+) 0 (map (\\x -> label@ x) (nodes ({other}))))"),
            ),
        };
        (format!("{head}: {result}"), body)
    }

    /// An expression over `t`, `n` and `seed`.
    fn datum(&mut self, depth: usize) -> String {
        match self.rng.below(if depth == 0 { 3 } else { 8 }) {
            0 => "t".into(),
            1 => format!("grow@ (n % {}) seed", 2 + self.rng.below(4)),
            2 => "built@ n seed".into(),
            3 | 4 => format!("each0@ ({})", self.datum(depth - 1)),
            5 => format!("each1@ ({})", self.datum(depth - 1)),
            6 => format!(
                "(if seed % 2 == {} then {} else {})",
                self.rng.below(2),
                self.datum(depth - 1),
                self.datum(depth - 1)
            ),
            _ => format!(
                "(loop (d = {}) for i < n % 3 do each{}@ d)",
                self.datum(depth - 1),
                self.rng.below(2)
            ),
        }
    }

    /// A scalar of a type out of an `i64`.
    fn scalar_of(&mut self, ty: ScalarType, from: &str) -> String {
        match ty {
            ScalarType::Bool => format!("({from} % 2 == {})", self.rng.below(2)),
            _ => format!("({ty} (({from} + {}) % 50))", self.rng.below(40)),
        }
    }

    /// By constructors, in an ordinary recursion; parts may be shared.
    fn grow(&mut self, constructors: &[Constructor]) -> String {
        let mut text = String::from("def rec grow@ (n: i64) (seed: i64): Tree@ =\n  if n <= 0 then ");
        if let Some(leaf) = constructors.first() {
            let values: Vec<String> = leaf
                .scalars
                .iter()
                .map(|ty| self.scalar_of(*ty, "seed"))
                .collect();
            // Writing to a string does not fail.
            let _ = writeln!(text, "{} {}", name(0), values.join(" "));
        }
        text.push_str("  else let half = grow@ (n - 1) (seed * 7 + 1)\n  in ");
        for (number, constructor) in constructors.iter().enumerate().skip(1) {
            let last = number + 1 == constructors.len();
            let mut fields = vec![name(number)];
            fields.extend(constructor.scalars.iter().map(|ty| self.scalar_of(*ty, "seed")));
            for _ in 0..constructor.references {
                fields.push(match self.rng.below(3) {
                    0 => "(grow@ (n - 2) (seed + 3))".into(),
                    _ => "half".into(),
                });
            }
            let made = fields.join(" ");
            let _ = match last {
                true => writeln!(text, "{made}"),
                false => write!(
                    text,
                    "if seed % {} == {} then {made} else ",
                    constructors.len(),
                    number
                ),
            };
        }
        text
    }

    /// By `build`, all nodes at once: a node refers to later ones, the last ones to none.
    fn built(&mut self, constructors: &[Constructor]) -> String {
        let mut text = String::from(
            "def built@ (n: i64) (seed: i64): Tree@ =\n  build (n + 1) (seed % (n + 1)) (\\i ref ->\n    if i == n then ",
        );
        if let Some(leaf) = constructors.first() {
            let values: Vec<String> = leaf.scalars.iter().map(|ty| self.scalar_of(*ty, "i")).collect();
            let _ = write!(text, "#{} {}", name(0), values.join(" "));
        }
        for (number, constructor) in constructors.iter().enumerate().skip(1) {
            let last = number + 1 == constructors.len();
            let mut fields = vec![format!("#{}", name(number))];
            fields.extend(constructor.scalars.iter().map(|ty| self.scalar_of(*ty, "i")));
            for _ in 0..constructor.references {
                fields.push(format!("(ref (min n (i + {})))", 1 + self.rng.below(3)));
            }
            let made = fields.join(" ");
            let _ = match last {
                true => write!(text, "\n    else {made}"),
                false => write!(
                    text,
                    "\n    else if (i + seed) % {} == {} then {made}",
                    constructors.len(),
                    number
                ),
            };
        }
        text.push_str(")\n");
        text
    }

    /// A `foreach`: fields change, references stay, are exchanged or skip a node.
    fn each(&mut self, constructors: &[Constructor], number: usize) -> String {
        let mut text =
            format!("def each{number}@ (t: Tree@): Tree@ =\n  foreach x in t with f, d do\n    case x of\n");
        for (at, constructor) in constructors.iter().enumerate() {
            let references = constructor.reference_names();
            let mut fields = vec![format!("#{}", name(at))];
            for (scalar, ty) in constructor.scalar_names().iter().zip(&constructor.scalars) {
                fields.push(match (*ty, references.first(), self.rng.below(3)) {
                    (ScalarType::Bool, _, 0) => format!("(!{scalar})"),
                    (ScalarType::I64, Some(to), 0) => format!("({scalar} + label@ (d {to}))"),
                    (ty, _, 1) if ty.is_integer() => format!("({scalar} + 1)"),
                    _ => scalar.clone(),
                });
            }
            for reference in &references {
                let other = self.rng.pick(&references).cloned();
                fields.push(match self.rng.below(4) {
                    0 => format!("(f {})", other.unwrap_or_else(|| reference.clone())),
                    1 => format!(
                        "(case d {reference} of {}| _ -> f {reference})",
                        skips(constructors)
                    ),
                    _ => format!("(f {reference})"),
                });
            }
            let _ = writeln!(text, "    | #{} -> {}", constructor.pattern(at), fields.join(" "));
        }
        text
    }

    /// A datum as an argument is written.
    fn literal_datum(&mut self, constructors: &[Constructor], depth: usize) -> String {
        let number = match depth {
            0 => 0,
            _ => self.rng.below(constructors.len()),
        };
        let Some(constructor) = constructors.get(number) else {
            return name(0);
        };
        let mut fields = vec![name(number)];
        for ty in &constructor.scalars {
            let value = self.rng.below(50);
            fields.push(match ty {
                ScalarType::Bool => value.is_multiple_of(2).to_string(),
                ty if ty.is_float() => format!("{value}.0"),
                _ => value.to_string(),
            });
        }
        for _ in 0..constructor.references {
            fields.push(format!("({})", self.literal_datum(constructors, depth - 1)));
        }
        fields.join(" ")
    }
}

/// Arms that follow the first reference of a node.
fn skips(constructors: &[Constructor]) -> String {
    let arms = constructors
        .iter()
        .enumerate()
        .filter(|(_, it)| it.references > 0);
    let arms = arms.map(|(at, constructor)| {
        let mut fields = vec![format!("#{}", name(at))];
        fields.extend(constructor.scalars.iter().map(|_| "_".to_string()));
        fields.push("next".into());
        fields.extend((1..constructor.references).map(|_| "_".to_string()));
        format!("| {} -> f next ", fields.join(" "))
    });
    arms.collect()
}

fn declaration(constructors: &[Constructor]) -> String {
    let written: Vec<String> = constructors
        .iter()
        .enumerate()
        .map(|(at, constructor)| {
            let mut fields = vec![name(at)];
            fields.extend(constructor.scalars.iter().map(|ty| ty.name().to_string()));
            fields.extend((0..constructor.references).map(|_| "Tree@".to_string()));
            fields.join(" ")
        })
        .collect();
    format!("data Tree@ = {}\n", written.join(" | "))
}

/// A number that depends on everything in a datum, and one that depends on a node's own fields.
fn fold(constructors: &[Constructor]) -> String {
    let digest = |constructor: &Constructor, at: usize| {
        let mut sum = format!("{}", at + 1);
        for (scalar, ty) in constructor.scalar_names().iter().zip(&constructor.scalars) {
            let _ = match ty {
                ScalarType::Bool => write!(sum, " * 31 + (if {scalar} then 1 else 2)"),
                _ => write!(sum, " * 31 + i64 {scalar}"),
            };
        }
        sum
    };
    let mut text = String::from("def rec fold@ (t: Tree@): i64 =\n  case t of\n");
    for (at, constructor) in constructors.iter().enumerate() {
        let below: String = (constructor.reference_names().iter().zip([3, 5, 7]))
            .map(|(reference, factor)| format!(" + {factor} * fold@ {reference}"))
            .collect();
        let _ = writeln!(
            text,
            "  | {} -> {}{below}",
            constructor.pattern(at),
            digest(constructor, at)
        );
    }
    text.push_str("def label@ t =\n  case t of\n");
    for (at, constructor) in constructors.iter().enumerate() {
        let references = constructor.reference_names().len();
        let mut fields = vec![format!("#{}", name(at))];
        fields.extend(constructor.scalar_names());
        fields.extend((0..references).map(|_| "_".to_string()));
        let _ = writeln!(text, "  | {} -> {}", fields.join(" "), digest(constructor, at));
    }
    text
}
