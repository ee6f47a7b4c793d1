//! Programs about a recursive type of their own: built by constructors, by `build`, by `foreach`, and taken as arguments. Some have a
//! second type, and the two refer to each other; others hold references inside a sum.
//!
//! References only go to nodes that come later (in `build`) or that a node refers to already (in `foreach`), so that no datum is
//! cyclic and every walk ends; but for rings, which are only compared, counted and given as results.

use super::{Floats, Generator, Program, Scale};
use crate::tree::{Node, Ty};
use almach_value::ScalarType;
use std::fmt::Write;

/// A constructor: scalar fields, arrays of scalars, references, arrays of references, sums that hold some, then data of the other
/// type.
struct Constructor {
    scalars: Vec<ScalarType>,
    arrays: Vec<ScalarType>,
    references: usize,
    forests: usize,
    states: usize,
    woods: usize,
}

/// A sum with references in node values, and with data elsewhere.
const STATE: &str = "data State@ 't = S0@ | S1@ i64 't | S2@ [](i64, 't)
def renamed@ f s =
  case s of
  | S0@ -> S0@
  | S1@ x r -> S1@ (x + 1) (f r)
  | S2@ rs -> S2@ (map (\\(k, r) -> (k, f r)) rs)
";
const FOLD_STATE: &str = "def rec fold_state@ (s: State@ Tree@): i64 =
  case s of
  | S0@ -> 1
  | S1@ x t -> x * 31 + 3 * fold@ t
  | S2@ ts -> length ts + sum (map (\\(k, t) -> k + 5 * fold@ t) ts)
";

/// The other type of the group.
const WOOD: &str = "data Wood@ = W0@ | W1@ i64 Tree@ Wood@\n";
const LISTS: &str = "def rec along@ (l: List i64): i64 =
  case l of
  | Nil -> 7
  | Cons x rest -> let y = along@ rest in ALONG
def rec doubled@ (l: List i64): List i64 =
  case l of
  | Nil -> Nil
  | Cons x rest -> Cons (2 * x) (doubled@ rest)
def rec onward@ (l: List i64): List i64 =
  case l of
  | Nil -> Nil
  | Cons x rest ->
    let s = onward@ rest
    in case s of
       | Nil -> Cons x Nil
       | Cons y _ -> Cons (ONWARD) s
";

/// What is done with a list `l` whose nodes are in some order. Its last node may refer to none that is there.
fn list_of_nodes(used: &str) -> String {
    format!(
        "let k = n * 5 + 1 in let l = build k (seed % k) (\\i ref -> if (i * 7 + seed) % 23 == 3 || (i == k - 1 && seed % 5 != 0) then #Nil \
         else #Cons (i * seed) (ref (if i % 3 == 1 && i + 2 < k then i + 2 else i + 1))) in {used}"
    )
}

const FOLD_WOOD: &str = "def rec fold_wood@ (w: Wood@): i64 =
  case w of
  | W0@ -> 1
  | W1@ x t rest -> x * 31 + 3 * fold@ t + 5 * fold_wood@ rest
";

impl Constructor {
    fn scalar_names(&self) -> Vec<String> {
        (0..self.scalars.len()).map(|at| format!("x{at}")).collect()
    }

    fn reference_names(&self) -> Vec<String> {
        (0..self.references).map(|at| format!("r{at}")).collect()
    }

    fn array_names(&self) -> Vec<String> {
        (0..self.arrays.len()).map(|at| format!("a{at}")).collect()
    }

    fn forest_names(&self) -> Vec<String> {
        (0..self.forests).map(|at| format!("f{at}")).collect()
    }

    fn wood_names(&self) -> Vec<String> {
        (0..self.woods).map(|at| format!("w{at}")).collect()
    }

    fn state_names(&self) -> Vec<String> {
        (0..self.states).map(|at| format!("s{at}")).collect()
    }

    /// How many fields refer to others.
    fn referring(&self) -> usize {
        self.references + self.forests + self.states + self.woods
    }

    /// `T1@ x0 a0 r0 r1 f0 s0 w0`.
    fn pattern(&self, number: usize) -> String {
        let mut names = vec![name(number)];
        names.extend(self.scalar_names());
        names.extend(self.array_names());
        names.extend(self.reference_names());
        names.extend(self.forest_names());
        names.extend(self.state_names());
        names.extend(self.wood_names());
        names.join(" ")
    }
}

fn name(number: usize) -> String {
    format!("T{number}@")
}

const LARGEST: usize = 9;

/// Which nodes a `build` refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Referring {
    ToLater,
    /// Onwards, and from the last to the first.
    Around,
}

impl Generator {
    pub(super) fn data_program(&mut self) -> Program {
        let mut constructors = vec![Constructor {
            scalars: (0..self.rng.below(2)).map(|_| self.scalar_type()).collect(),
            arrays: self.array_fields(),
            references: 0,
            forests: 0,
            states: 0,
            woods: 0,
        }];
        let is_group = self.rng.chance(30);
        let has_states = !is_group && self.rng.chance(40);
        for _ in 0..1 + self.rng.below(3) {
            constructors.push(Constructor {
                scalars: (0..self.rng.below(3)).map(|_| self.scalar_type()).collect(),
                arrays: self.array_fields(),
                references: 1 + self.rng.below(2),
                forests: usize::from(self.rng.below(3) == 0),
                states: usize::from(has_states && self.rng.chance(60)),
                woods: usize::from(is_group && self.rng.chance(60)),
            });
        }
        let mut definitions = declaration(&constructors);
        if constructors.iter().any(|constructor| constructor.woods > 0) {
            definitions.push_str(WOOD);
            definitions.push_str(FOLD_WOOD);
        }
        if constructors.iter().any(|constructor| constructor.states > 0) {
            definitions.push_str(STATE);
            definitions.push_str(FOLD_STATE);
        }
        definitions.push_str(&self.grow(&constructors));
        definitions.push_str(&self.list_recursions());
        definitions.push_str(&fold(&constructors));
        definitions.push_str(&below(&constructors));
        definitions.push_str(&self.built(&constructors, Referring::ToLater));
        definitions.push_str(&self.built(&constructors, Referring::Around));
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

    fn array_fields(&mut self) -> Vec<ScalarType> {
        match self.rng.below(3) {
            0 => vec![self.scalar_type()],
            _ => Vec::new(),
        }
    }

    /// An array of a few scalars out of an `i64`.
    fn array_of(&mut self, ty: ScalarType, from: &str) -> String {
        let value = self.scalar_of(ty, &format!("({from} + k)"));
        format!(
            "(map (\\k -> {value}) (iota ({from} % {})))",
            2 + self.rng.below(4)
        )
    }

    /// What the program gives: a datum, what is in it, its table.
    /// Recursions over lists that run on arrays (the pass `lists`).
    fn list_recursions(&mut self) -> String {
        let operators = ["x + y", "min x y", "x ^ y", "max y x"];
        let along = self.rng.pick(&operators).unwrap_or(&"x + y");
        let onward = self.rng.pick(&operators).unwrap_or(&"x + y");
        LISTS.replace("ALONG", along).replace("ONWARD", onward)
    }

    fn entry_of_data(&mut self) -> (String, String) {
        let datum = self.datum(3);
        let other = self.datum(2);
        let head = "(t: Tree@) (n: i64) (seed: i64)";
        let ring = format!(
            "ring@ ({}) seed",
            self.rng.pick(&["n", "n % 3", "n * 2 + 1"]).unwrap_or(&"n")
        );
        let (result, body) = match self.rng.below(15) {
            11 => (
                "(i64, List i64)",
                list_of_nodes("(along@ l, onward@ (doubled@ l))"),
            ),
            12 => ("(List i64, List i64)", list_of_nodes("(doubled@ l, onward@ l)")),
            13 => ("List i64", list_of_nodes("onward@ l")),
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
            6 => (
                "(bool, bool)",
                format!("({datum} == {other}, {ring} == ring@ n seed)"),
            ),
            7 => (
                "[]bool",
                format!("map (\\i -> ({ring} == ring@ i seed) != (each0@ ({datum}) == {other})) (iota n)"),
            ),
            8 => (
                "(bool, i64, i64)",
                format!("let d = each0@ ({ring}) in (d == {ring}, length (nodes d), root_of d)"),
            ),
            9 => (
                "(Tree@, []Tree@)",
                format!("({ring}, map (\\i -> ring@ i seed) (iota (n % 3)))"),
            ),
            10 => (
                "([]i64, i64)",
                format!("(map below@ [{datum}, t, {ring}], below@ ({other}))"),
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
            _ => self.looped_datum(depth),
        }
    }

    /// A loop whose state is data: transformed, exchanged, left as they are, or looked at.
    fn looped_datum(&mut self, depth: usize) -> String {
        let datum = self.datum(depth - 1);
        let each = format!("each{}@", self.rng.below(2));
        match self.rng.below(6) {
            0 => format!("(loop (d = {datum}) for i < n % 3 do (if i % 2 == 0 then {each} d else d))"),
            1 => format!(
                "(loop ((d, e) = ({datum}, {})) for i < n % 3 do (e, {each} d)).0",
                self.datum(depth - 1)
            ),
            2 => format!("(loop ((d, k) = ({datum}, 0)) while (k < n % 3) do ({each} (each0@ d), k + 1)).0"),
            3 => format!(
                "(loop ((k, d) = (0, {datum})) while (k < 2 && label@ (nodes d)[root_of d] % 2 == 0) do (k + 1, {each} d)).1"
            ),
            4 => format!("(loop (d = {datum}) for i < n % 3 do (if fold@ d % 2 == 0 then {each} d else d))"),
            _ => format!("(loop (d = {datum}) for i < n % 3 do {each} d)"),
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
            let mut values: Vec<String> = leaf
                .scalars
                .iter()
                .map(|ty| self.scalar_of(*ty, "seed"))
                .collect();
            values.extend(leaf.arrays.iter().map(|ty| self.array_of(*ty, "seed")));
            // Writing to a string does not fail.
            let _ = writeln!(text, "{} {}", name(0), values.join(" "));
        }
        text.push_str("  else let half = grow@ (n - 1) (seed * 7 + 1)\n  in ");
        for (number, constructor) in constructors.iter().enumerate().skip(1) {
            let last = number + 1 == constructors.len();
            let mut fields = vec![name(number)];
            fields.extend(constructor.scalars.iter().map(|ty| self.scalar_of(*ty, "seed")));
            fields.extend(constructor.arrays.iter().map(|ty| self.array_of(*ty, "seed")));
            for _ in 0..constructor.references {
                fields.push(match self.rng.below(3) {
                    0 => "(grow@ (n - 2) (seed + 3))".into(),
                    _ => "half".into(),
                });
            }
            for _ in 0..constructor.forests {
                fields.push(match self.rng.below(3) {
                    0 => "[half, grow@ (n - 2) (seed + 5)]".into(),
                    1 => "(map (\\k -> grow@ (n - 2 - k) (seed + k)) (iota (seed % 3)))".into(),
                    _ => "(replicate (seed % 3) half)".into(),
                });
            }
            for _ in 0..constructor.states {
                fields.push(self.state("seed", "half"));
            }
            for _ in 0..constructor.woods {
                fields.push(self.wood("half", "seed"));
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

    /// A sum that holds something once, several times or not.
    fn state(&mut self, from: &str, held: &str) -> String {
        let nothing = self.rng.below(3);
        format!(
            "(if {from} % 3 == {nothing} then S0@ else if {from} % 2 == 0 then S1@ {from} ({held}) \
             else S2@ (map (\\k -> (k, {held})) (iota ({from} % 3))))"
        )
    }

    /// A datum of the other type around one of this.
    fn wood(&mut self, tree: &str, from: &str) -> String {
        match self.rng.below(3) {
            0 => "W0@".into(),
            1 => format!("(W1@ {from} ({tree}) W0@)"),
            _ => format!("(W1@ {from} ({tree}) (W1@ ({from} + 1) ({tree}) W0@))"),
        }
    }

    /// By `build`, all nodes at once: a node refers to later ones and the last ones to none, or all refer to each other.
    fn built(&mut self, constructors: &[Constructor], referring: Referring) -> String {
        let (function, last_node) = match referring {
            Referring::ToLater => ("built@", "i == n"),
            Referring::Around => ("ring@", "n < 0"),
        };
        let mut text = format!(
            "def {function} (n: i64) (seed: i64): Tree@ =\n  build (n + 1) (seed % (n + 1)) (\\i ref ->\n    if {last_node} then ",
        );
        let target = |from: &str| match referring {
            Referring::ToLater => format!("(ref (min n ({from})))"),
            Referring::Around => format!("(ref (({from}) % (n + 1)))"),
        };
        if let Some(leaf) = constructors.first() {
            let mut values: Vec<String> = leaf.scalars.iter().map(|ty| self.scalar_of(*ty, "i")).collect();
            values.extend(leaf.arrays.iter().map(|ty| self.array_of(*ty, "i")));
            let _ = write!(text, "#{} {}", name(0), values.join(" "));
        }
        for (number, constructor) in constructors.iter().enumerate().skip(1) {
            let last = number + 1 == constructors.len();
            let mut fields = vec![format!("#{}", name(number))];
            fields.extend(constructor.scalars.iter().map(|ty| self.scalar_of(*ty, "i")));
            fields.extend(constructor.arrays.iter().map(|ty| self.array_of(*ty, "i")));
            for _ in 0..constructor.references {
                fields.push(target(&format!("i + {}", 1 + self.rng.below(3))));
            }
            for _ in 0..constructor.forests {
                let count = 2 + self.rng.below(3);
                fields.push(format!(
                    "(map (\\k -> {}) (iota ((i + seed) % {count})))",
                    target("i + 1 + k")
                ));
            }
            for _ in 0..constructor.states {
                let held = target(&format!("i + {}", 1 + self.rng.below(3)));
                fields.push(self.state("i", &held));
            }
            for _ in 0..constructor.woods {
                fields.push(self.wood("grow@ (i % 2) (i + seed)", "i"));
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
            for (array, ty) in constructor.array_names().iter().zip(&constructor.arrays) {
                fields.push(match self.rng.below(4) {
                    0 => format!("(reverse {array})"),
                    1 if ty.is_integer() => format!("(filter (\\v -> v > 3) {array})"),
                    2 => format!("({array} ++ {array})"),
                    _ => array.clone(),
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
            for forest in constructor.forest_names() {
                fields.push(match self.rng.below(3) {
                    0 => format!("(map f (reverse {forest}))"),
                    1 => format!("(map f (take (min 1 (length {forest})) {forest}))"),
                    _ => format!("(map f {forest})"),
                });
            }
            for state in constructor.state_names() {
                fields.push(match self.rng.below(4) {
                    0 => "S0@".into(),
                    1 => format!("(case {state} of | S1@ x r -> S1@ (x + label@ (d r)) (f r) | _ -> S0@)"),
                    _ => format!("(renamed@ f {state})"),
                });
            }
            for wood in constructor.wood_names() {
                fields.push(match self.rng.below(3) {
                    0 => format!("(case {wood} of | W0@ -> W0@ | W1@ _ _ rest -> rest)"),
                    1 => format!("(case {wood} of | W0@ -> W0@ | W1@ x t _ -> W1@ (x + 1) t {wood})"),
                    _ => wood,
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
            let value = self.literal_scalar(*ty);
            fields.push(value);
        }
        for ty in &constructor.arrays {
            let count = self.rng.below(3);
            let values: Vec<String> = (0..count).map(|_| self.literal_scalar(*ty)).collect();
            fields.push(format!("[{}]", values.join(", ")));
        }
        for _ in 0..constructor.references {
            fields.push(format!("({})", self.literal_datum(constructors, depth - 1)));
        }
        for _ in 0..constructor.forests {
            let count = self.rng.below(3);
            let values = (0..count).map(|_| self.literal_datum(constructors, depth - 1));
            let values: Vec<String> = values.collect();
            fields.push(format!("[{}]", values.join(", ")));
        }
        for _ in 0..constructor.states {
            let tree = self.literal_datum(constructors, depth - 1);
            fields.push(match self.rng.below(3) {
                0 => "S0@".into(),
                1 => format!("(S1@ 4 ({tree}))"),
                _ => format!("(S2@ [(1, {tree}), (2, {tree})])"),
            });
        }
        for _ in 0..constructor.woods {
            let tree = self.literal_datum(constructors, depth - 1);
            let wood = self.wood(&tree, "3");
            // An argument is a value, not an expression.
            fields.push(wood.replace("(3 + 1)", "4"));
        }
        fields.join(" ")
    }

    fn literal_scalar(&mut self, ty: ScalarType) -> String {
        let value = self.rng.below(50);
        match ty {
            ScalarType::Bool => value.is_multiple_of(2).to_string(),
            ty if ty.is_float() => format!("{value}.0"),
            _ => value.to_string(),
        }
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
        let before = constructor.scalars.len() + constructor.arrays.len();
        fields.extend((0..before).map(|_| "_".to_string()));
        fields.push("next".into());
        fields.extend((1..constructor.referring()).map(|_| "_".to_string()));
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
            fields.extend(constructor.arrays.iter().map(|ty| format!("[]{}", ty.name())));
            fields.extend((0..constructor.references).map(|_| "Tree@".to_string()));
            fields.extend((0..constructor.forests).map(|_| "[]Tree@".to_string()));
            fields.extend((0..constructor.states).map(|_| "(State@ Tree@)".to_string()));
            fields.extend((0..constructor.woods).map(|_| "Wood@".to_string()));
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
        for (array, ty) in constructor.array_names().iter().zip(&constructor.arrays) {
            let number = match ty {
                ScalarType::Bool => "if v then 1 else 2",
                _ => "i64 v",
            };
            let _ = write!(
                sum,
                " * 31 + sum (map (\\v -> {number}) {array}) + length {array}"
            );
        }
        sum
    };
    let mut text = String::from("def rec fold@ (t: Tree@): i64 =\n  case t of\n");
    for (at, constructor) in constructors.iter().enumerate() {
        let mut below: String = (constructor.reference_names().iter().zip([3, 5, 7]))
            .map(|(reference, factor)| format!(" + {factor} * fold@ {reference}"))
            .collect();
        for forest in constructor.forest_names() {
            let _ = write!(below, " + 11 * sum (map fold@ {forest}) + length {forest}");
        }
        for state in constructor.state_names() {
            let _ = write!(below, " + 17 * fold_state@ {state}");
        }
        for wood in constructor.wood_names() {
            let _ = write!(below, " + 13 * fold_wood@ {wood}");
        }
        let _ = writeln!(
            text,
            "  | {} -> {}{below}",
            constructor.pattern(at),
            digest(constructor, at)
        );
    }
    text.push_str("def label@ t =\n  case t of\n");
    for (at, constructor) in constructors.iter().enumerate() {
        let references = constructor.referring();
        let mut fields = vec![format!("#{}", name(at))];
        fields.extend(constructor.scalar_names());
        fields.extend(constructor.array_names());
        fields.extend((0..references).map(|_| "_".to_string()));
        let _ = writeln!(text, "  | {} -> {}", fields.join(" "), digest(constructor, at));
    }
    text
}

/// The tables of what a datum refers to.
fn below(constructors: &[Constructor]) -> String {
    let mut text = String::from("def table@ (t: Tree@): i64 = length (nodes t) * 31 + root_of t\n");
    text.push_str("def below@ (t: Tree@): i64 =\n  case t of\n");
    for (at, constructor) in constructors.iter().enumerate() {
        let mut sum = String::from("1");
        for (reference, factor) in constructor.reference_names().iter().zip([3, 5, 7]) {
            let _ = write!(sum, " + {factor} * table@ {reference}");
        }
        for forest in constructor.forest_names() {
            let _ = write!(sum, " + 11 * sum (map table@ {forest})");
        }
        for state in constructor.state_names() {
            let _ = write!(
                sum,
                " + 17 * (case {state} of | S0@ -> 0 | S1@ _ u -> table@ u | S2@ us -> sum (map (\\u -> table@ u.1) us))"
            );
        }
        for wood in constructor.wood_names() {
            let _ = write!(
                sum,
                " + 13 * (case {wood} of | W0@ -> 0 | W1@ _ u v -> table@ u + length (nodes v))"
            );
        }
        let _ = writeln!(text, "  | {} -> {sum}", constructor.pattern(at));
    }
    text
}
