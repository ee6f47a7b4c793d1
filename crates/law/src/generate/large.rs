//! Programs about arrays that are larger than one chunk of a parallel operation. All sizes come from one number, so that
//! the same program runs on none, one, a few and many elements; results are small.

use super::levels::LEVEL_MARK;
use super::{BOOL, Floats, Generator, I64, Program, Scale};
use crate::node;
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

/// Around the sizes of chunks and of their numbers; prime or next to powers of two.
const SIZES: [usize; 9] = [0, 1, 7, 257, 1009, 4096, 4097, 10_007, 65_537];
const STEPS: usize = 3;

impl Generator {
    pub(super) fn large_program(&mut self) -> Program {
        self.scope = vec![("k".to_owned(), I64)];
        if self.rng.chance(40) {
            self.floats = Floats::Round;
        }
        let mut element = self.large_element();
        let first = self.fresh();
        let index = self.fresh();
        let own = self.cell(&index, &I64, &element);
        let result = Ty::Tuple(vec![I64, I64, I64]);
        let mut body = node!(result.clone(); format!("let {first} = map (\\{index} -> "), own, ") (iota k)");
        let mut array = first;
        for _ in 0..1 + self.rng.below(STEPS) {
            let name = self.fresh();
            let (step, next) = self.large_step(&array, &element);
            body.parts.push(format!("\n  let {name} = ").into());
            body.parts.push(step.into());
            (array, element) = (name, next);
        }
        body.parts
            .push(format!("\n  in {}", self.digest(&array, &element)).into());
        let mut runs = Vec::new();
        for _ in 0..3 {
            let size = match self.rng.below(20) {
                0 => 65_537,
                at => SIZES.get(at % 8).copied().unwrap_or(7),
            };
            runs.push(vec![size.to_string()]);
        }
        Program {
            definitions: String::new(),
            head: format!("(k: i64): {}", result.text()),
            body,
            runs,
            scale: Scale::Large,
            floats: self.floats,
        }
    }

    fn large_element(&mut self) -> Ty {
        match self.rng.below(6) {
            0 => Ty::Tuple(vec![I64, Ty::Scalar(ScalarType::I32)]),
            1 => Ty::Scalar(ScalarType::F64),
            2 | 4 if self.floats == Floats::Round => Ty::Scalar(ScalarType::F32),
            2 => Ty::Scalar(self.scalar_type()),
            3 => Ty::Scalar(ScalarType::F32),
            _ => I64,
        }
    }

    /// An expression over one element alone. Floats stay small, so that sums of many are exact, or round.
    fn cell(&mut self, name: &str, from: &Ty, to: &Ty) -> Node {
        let scope = std::mem::replace(&mut self.scope, vec![(name.to_owned(), from.clone())]);
        let node = match to {
            Ty::Scalar(float) if float.is_float() => {
                let integer = self.expr(&Ty::Scalar(ScalarType::I32), 2);
                match self.floats {
                    Floats::Exact => node!(to.clone(); format!("({float} ("), integer, " % 17))"),
                    Floats::Round => {
                        node!(to.clone(); format!("({float} ("), integer, format!(" % 10007) / 7.0{float})"))
                    }
                }
            }
            _ => self.expr(to, 2),
        };
        self.scope = scope;
        node
    }

    fn large_step(&mut self, array: &str, element: &Ty) -> (Node, Ty) {
        let own = Ty::Unknown(Box::new(element.clone()));
        let name = self.fresh();
        let (level, around) = self.level_of_collective();
        let chunk = self.large_chunk();
        let node = match self.rng.below(20) {
            18 | 19 => return self.map_of_triangles(array, element),
            12..17 => return self.map_of_loops(array, element),
            17 => return (self.large_rows(array, element), element.clone()),
            0 | 1 => {
                let test = self.inside(around, |this| this.cell(&name, element, &BOOL));
                node!(own; format!("filter{level}{chunk} (\\{name} -> "), test, format!(") {array}"))
            }
            2 => {
                let test = self.inside(around, |this| this.cell(&name, element, &BOOL));
                let (a, b) = (self.fresh(), self.fresh());
                node!(own; format!("(let ({a}, {b}) = partition{level}{chunk} (\\{name} -> "), test, format!(") {array} in {a} ++ reverse {b})"))
            }
            // Few rows, long or short.
            3 => {
                let scan = self.large_scan(array, element, "");
                node!(own; format!("(map (\\{name} -> "), scan, format!(") (iota (1 + length {array} % 3)))[0]"))
            }
            4 | 5 => {
                return (
                    self.large_scan(array, element, &format!("{level}{chunk}")),
                    element.clone(),
                );
            }
            6 => {
                let next = self.large_element();
                let body = self.cell(&name, element, &next);
                return (
                    node!(Ty::Unknown(Box::new(next.clone())); format!("map (\\{name} -> "), body, format!(") {array}")),
                    next,
                );
            }
            7 => Node::leaf(
                own,
                format!(
                    "permute{level} (map (\\{name} -> length {array} - 1 - {name}) (iota (length {array}))) {array}"
                ),
            ),
            8 => Node::leaf(
                own,
                format!(
                    "scatter{level} {array} (map (\\{name} -> {name} * 3 - 5) (iota (length {array}))) (reverse {array})"
                ),
            ),
            9 => {
                return (
                    self.large_histogram(array, element, &format!("{level}{chunk}")),
                    element.clone(),
                );
            }
            10 => Node::leaf(
                own,
                format!(
                    "gather{level} (map (\\{name} -> {name} * 7919 % length {array}) (iota (length {array}))) {array}"
                ),
            ),
            // The one that fails is somewhere in the middle.
            _ => {
                let at = self.rng.below(9000);
                let text = format!(
                    "map{level} (\\{name} -> assert {name} != {at}, \"number {at}\" in {array}[{name}]) (iota (length {array}))"
                );
                Node::leaf(own, text)
            }
        };
        (node, element.clone())
    }

    /// The array cut into rows of which one may be long, each made otherwise by one of two branches.
    fn large_rows(&mut self, array: &str, element: &Ty) -> Node {
        let (row, x, i) = (self.fresh(), self.fresh(), self.fresh());
        let test = self.cell(&x, element, &BOOL);
        let offsets = match self.rng.below(3) {
            0 => format!("[0, 0, length {array}, length {array}]"),
            1 => format!("[0, length {array} / 3, length {array} / 3, length {array}]"),
            _ => format!("[0, 1, length {array}, length {array}]"),
        };
        let other = match self.rng.below(3) {
            0 => format!("{row} ++ {row}[:length {row} / 2]"),
            1 => format!("scatter {row} (map (\\{i} -> {i} * 3 - 5) (iota (length {row}))) (reverse {row})"),
            _ => format!("scan (\\_ {i} -> {i}) {row}[0] {row}"),
        };
        let own = Ty::Unknown(Box::new(element.clone()));
        if self.rng.chance(40) {
            // As long as they were, and a long one by all threads.
            let same = match self.rng.chance(50) {
                true => format!("(sort {row})"),
                false => row.clone(),
            };
            return node!(own; format!("flatten (map (\\{row} -> map (\\{x} -> if "), test,
                  format!(" then {x} else {row}[length {row} - 1]) {same}) (unflatten {offsets} {array}))"));
        }
        node!(own; format!("flatten (map (\\{row} -> if length {row} % 2 == 0 then filter (\\{x} -> "), test,
              format!(") {row} else {other}) (unflatten {offsets} {array}))"))
    }

    fn large_chunk(&mut self) -> String {
        match self.rng.below(12) {
            0 => format!("{LEVEL_MARK}3"),
            1 => format!("{LEVEL_MARK}64"),
            2 => format!("{LEVEL_MARK}1000"),
            _ => String::new(),
        }
    }

    fn large_scan(&mut self, array: &str, element: &Ty, level: &str) -> Node {
        let own = Ty::Unknown(Box::new(element.clone()));
        let names = ["scan", "scan_exclusive"];
        let name = self.rng.pick(&names).copied().unwrap_or("scan");
        match element {
            Ty::Scalar(scalar) if scalar.is_float() => {
                let operators: &[&str] = match self.floats {
                    Floats::Exact => &["min", "max", "(\\_ b -> b)"],
                    // As associative as floats get, or not at all: nothing may depend on it here.
                    Floats::Round => &[
                        "(+)",
                        "(+)",
                        "(*)",
                        "(\\a b -> fma a 0.5 b)",
                        "(\\a b -> a - b * 0.25)",
                    ],
                };
                let operator = self.rng.pick(operators).copied().unwrap_or("min");
                Node::leaf(own, format!("{name}{level} {operator} 1.0{scalar} {array}"))
            }
            Ty::Scalar(scalar) => {
                let (operator, start) = self.monoid(*scalar);
                Node::leaf(own, format!("{name}{level} {operator} {start} {array}"))
            }
            _ => Node::leaf(
                own,
                format!("{name}{level} (\\(a, b) (c, d) -> (a * c, i32 c * b + d)) (1i64, 0i32) {array}"),
            ),
        }
    }

    fn large_histogram(&mut self, array: &str, element: &Ty, level: &str) -> Node {
        let own = Ty::Unknown(Box::new(element.clone()));
        let i = self.fresh();
        let bins = self
            .rng
            .pick(&["1", "5", "1000", "9000", "k"])
            .copied()
            .unwrap_or("5");
        let indices = format!("(map (\\{i} -> {i} * 31 % (1 + {bins})) (iota (length {array})))");
        match element {
            Ty::Scalar(ScalarType::Bool) => Node::leaf(
                own,
                format!("reduce_by_index{level} (replicate {bins} false) (||) false {indices} {array}"),
            ),
            Ty::Scalar(scalar) if scalar.is_float() && self.floats == Floats::Round => {
                let operator = self
                    .rng
                    .pick(&["(+)", "(\\a b -> fma a 0.5 b)"])
                    .copied()
                    .unwrap_or("(+)");
                let start = format!("(replicate {bins} 0.1{scalar})");
                Node::leaf(
                    own,
                    format!("reduce_by_index{level} {start} {operator} 0.0{scalar} {indices} {array}"),
                )
            }
            Ty::Scalar(scalar) if scalar.is_float() => Node::leaf(
                own,
                format!(
                    "map (\\h -> if h > 1000.0{scalar} then 1.0{scalar} else h) (reduce_by_index{level} (replicate {bins} 0.0{scalar}) (+) 0.0{scalar} {indices} {array})"
                ),
            ),
            Ty::Scalar(scalar) => {
                let operator = self.rng.pick(&["(+)", "(^)", "(|)"]).copied().unwrap_or("(+)");
                Node::leaf(
                    own,
                    format!(
                        "reduce_by_index{level} (replicate {bins} 0{scalar}) {operator} 0{scalar} {indices} {array}"
                    ),
                )
            }
            _ => Node::leaf(
                own,
                format!(
                    "reduce_by_index{level} (replicate {bins} (0i64, 0i32)) (\\(a, b) (c, d) -> (a + c, b + d)) (0i64, 0i32) {indices} {array}"
                ),
            ),
        }
    }

    /// Three numbers that depend on every element and its place.
    fn digest(&mut self, array: &str, element: &Ty) -> String {
        let (x, i) = (self.fresh(), self.fresh());
        let number = match element {
            Ty::Scalar(ScalarType::I64) => x.clone(),
            Ty::Scalar(scalar) if scalar.is_float() && self.floats == Floats::Round => {
                format!("i64 (to_bits {x})")
            }
            Ty::Scalar(_) => format!("i64 {x}"),
            _ => format!("({x}.0 + i64 {x}.1)"),
        };
        let (level, _) = self.level_of_collective();
        let sum = match element {
            Ty::Scalar(scalar) if scalar.is_float() => format!("i64 (reduce{level} (+) 0.0{scalar} {array})"),
            _ => format!("reduce{level} (+) 0 (map (\\{x} -> {number}) {array})"),
        };
        format!(
            "(length {array}, {sum}, reduce (+) 0 (map (\\{i} {x} -> ({i} + 1) * {number}) (iota (length {array})) {array}))"
        )
    }
}
