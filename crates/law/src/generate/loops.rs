//! Loops inside of maps on scalars, in which nothing fails: what lanes go through together, each as often as it needs.

use super::Generator;
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

/// Loops in each other at most.
const DEPTH: usize = 2;

impl Generator {
    /// A map over an array, with the type of its elements. Floats are compared bit for bit, and then are integers again, so that sums are exact.
    pub(super) fn map_of_loops(&mut self, array: &str, element: &Ty) -> (Node, Ty) {
        let types = [
            ScalarType::I64,
            ScalarType::I32,
            ScalarType::I16,
            ScalarType::U8,
            ScalarType::F32,
            ScalarType::F64,
        ];
        let ty = self.rng.pick(&types).copied().unwrap_or(ScalarType::I64);
        let (name, x) = (self.fresh(), self.fresh());
        let given = match element {
            Ty::Tuple(_) => format!("{ty} {name}.0"),
            _ => format!("{ty} {name}"),
        };
        let value = self.looped(ty, std::slice::from_ref(&x), DEPTH);
        let (result, value) = match ty.is_float() {
            true => (ScalarType::I64, format!("i64 ({value})")),
            false => (ty, value),
        };
        let next = Ty::Scalar(result);
        let text = format!("map (\\{name} -> let {x} = {given} in {value}) {array}");
        (Node::leaf(Ty::Unknown(Box::new(next.clone())), text), next)
    }

    /// A scalar made of those in scope, by loops.
    fn looped(&mut self, ty: ScalarType, vars: &[String], depth: usize) -> String {
        if depth == 0 {
            return self.arithmetic_of(ty, vars);
        }
        let first = self.arithmetic_of(ty, vars);
        let (state, count) = (self.fresh(), self.fresh());
        let mut inside = vars.to_vec();
        inside.push(state.clone());
        match self.rng.below(6) {
            0 | 1 => {
                let next = self.looped(ty, &inside, depth - 1);
                let (most, test) = (self.rounds(ty, vars), self.test_of(ty, &inside));
                format!(
                    "(loop (({state}, {count}): ({ty}, i64) = ({first}, 0)) while ({count} < {most} && {test}) do ({next}, {count} + 1)).0"
                )
            }
            2 => {
                let next = self.looped(ty, &inside, depth - 1);
                let most = self.rounds(ty, vars);
                format!("(loop ({state}: {ty} = {first}) for {count} < {most} do {next})")
            }
            3 => {
                let next = self.looped(ty, &inside, depth - 1);
                let most = self.rng.below(5);
                format!("(loop ({state}: {ty} = {first}) for {count} < {most}i64 do {next})")
            }
            4 => {
                let test = self.test_of(ty, vars);
                let (then, other) = (self.looped(ty, vars, depth - 1), self.looped(ty, vars, depth - 1));
                format!("(if {test} then {then} else {other})")
            }
            _ => {
                let before = self.looped(ty, vars, depth - 1);
                let behind = self.looped(ty, &inside, depth - 1);
                format!("(let {state}: {ty} = {before} in {behind})")
            }
        }
    }

    /// A small number that may differ by element.
    fn rounds(&mut self, ty: ScalarType, vars: &[String]) -> String {
        let var = self.rng.pick(vars).cloned().unwrap_or_default();
        match ty.is_float() {
            true => format!("(i64 {var} & 3)"),
            false => format!("(i64 ({var} & 3))"),
        }
    }

    fn test_of(&mut self, ty: ScalarType, vars: &[String]) -> String {
        let (a, b) = (self.arithmetic_of(ty, vars), self.arithmetic_of(ty, vars));
        let op = self.rng.pick(&["<", "<=", "!=", ">"]).copied().unwrap_or("<");
        format!("{a} {op} {b}")
    }

    fn arithmetic_of(&mut self, ty: ScalarType, vars: &[String]) -> String {
        let a = self.rng.pick(vars).cloned().unwrap_or_default();
        let b = match self.rng.chance(40) {
            true => format!("{}{ty}", self.rng.below(50)),
            false => self.rng.pick(vars).cloned().unwrap_or_default(),
        };
        let op = self.rng.pick(&["+", "-", "*"]).copied().unwrap_or("+");
        match self.rng.below(4) {
            0 => a,
            1 => format!("(if {a} < {b} then {a} {op} {b} else {b})"),
            2 => format!("(max {a} {b})"),
            _ => format!("({a} {op} {b})"),
        }
    }
}
