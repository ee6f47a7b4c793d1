//! Maps whose function takes the rows of a triangle: the same work on arrays for every element, which is done for several at a time.

use super::Generator;
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

/// Rows of a triangle at most.
const ROWS: usize = 7;

impl Generator {
    /// A map over an array, or what it sums up to, with the type of its elements. All numbers are small and whole, so that every order of sums
    /// is exact.
    pub(super) fn map_of_triangles(&mut self, array: &str, element: &Ty) -> (Node, Ty) {
        let types = [ScalarType::I64, ScalarType::I32, ScalarType::F32, ScalarType::F64];
        let ty = self.rng.pick(&types).copied().unwrap_or(ScalarType::I64);
        let name = self.fresh();
        let given = match element {
            Ty::Tuple(_) => format!("{name}.0"),
            _ => name.clone(),
        };
        let (l, x) = (self.fresh(), self.fresh());
        let rows = self.rng.below(ROWS);
        let cells = match self.rng.below(12) {
            // A row of it is not there, of all elements alike.
            0 => rows,
            _ => rows * rows.saturating_sub(1) / 2,
        };
        let value = self.of_rows(ty, &l, &x, rows);
        let (result, value) = match ty.is_float() {
            true => (ScalarType::I64, format!("i64 ({value})")),
            false => (ty, value),
        };
        let next = Ty::Scalar(result);
        let each = format!("map (\\{name} -> let {x} = {ty} (i64 {given} % 17) in {value}) {array}");
        let all = match self.rng.chance(50) {
            true => format!("[reduce (+) 0{result} ({each})]"),
            false => each,
        };
        let text = format!("(let {l} = map (\\{name} -> {ty} ({name} % 5)) (iota {cells}) in {all})");
        (Node::leaf(Ty::Unknown(Box::new(next.clone())), text), next)
    }

    /// A number made of a triangle and a row that an element makes.
    fn of_rows(&mut self, ty: ScalarType, l: &str, x: &str, rows: usize) -> String {
        let (row, i, j, first, ts) = (
            self.fresh(),
            self.fresh(),
            self.fresh(),
            self.fresh(),
            self.fresh(),
        );
        let step = self.rng.below(4);
        let made = format!("map (\\{j} -> {x} + {ty} ({j} * {step})) (iota {rows})");
        let part = match self.rng.below(4) {
            0 => format!("sum {row}[0 : {i}]"),
            1 => format!("sum (map (\\{j} -> {j} + {x}) {row}[{i}:])"),
            2 => format!("reduce max {x} {row}[0 : {i}]"),
            _ => format!(
                "(let {first} = {i} * ({i} - 1) / 2 in sum (map (*) {l}[{first} : {first} + {i}] {row}[0 : {i}]))"
            ),
        };
        let all = format!("map (\\{i} -> {row}[{i}] + {part}) (iota {rows})");
        let result = match self.rng.below(3) {
            0 => format!("sum ({all})"),
            1 => format!("(let {ts} = {all} in sum {ts} - reduce min {x} {ts})"),
            _ => format!("(let {ts} = {all} in sum (map (\\{i} -> {ts}[{i}] * {row}[{i}]) (iota {rows})))"),
        };
        format!("(let {row} = {made} in {result})")
    }
}
