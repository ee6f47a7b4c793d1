//! Expressions of every type: bindings, branches, loops, functions, projections.

use super::levels::Around;
use super::{BOOL, Generator, I64, Sizes};
use crate::node;
use crate::tree::{Node, Size, Ty, constructor};
use almach_value::ScalarType;

impl Generator {
    pub(super) fn control(&mut self, ty: &Ty, depth: usize) -> Node {
        match self.rng.below(19) {
            0..3 => self.let_in(ty, depth),
            3..5 => self.conditional(ty, depth),
            5 => self.loop_for(ty, depth),
            6 => self.loop_while(ty, depth),
            7 => self.case_maybe(ty, depth),
            8 if !self.data.is_empty() => self.case_sum(ty, depth),
            8 | 9 => self.case_literal(ty, depth),
            10 => self.local_function(ty, depth),
            11 => self.higher_order(ty, depth),
            12 => self.chosen_function(ty, depth),
            13 => self.recursive_call(ty, depth),
            14 => self.assertion(ty, depth),
            15 => self.element_of(ty, depth),
            16 => self.fold(ty, depth),
            17 => self.given_by_branches(ty, depth),
            _ => self.project(ty, depth),
        }
    }

    fn let_in(&mut self, ty: &Ty, depth: usize) -> Node {
        let bound = self.ty(1);
        let name = self.fresh();
        let value = self.expr(&bound, depth);
        let body = self.with(&name, &bound, |this| this.expr(ty, depth));
        node!(ty.clone(); format!("(let {name}: {} = ", bound.text()), value, " in ", body, ")")
    }

    fn conditional(&mut self, ty: &Ty, depth: usize) -> Node {
        let condition = self.expr(&BOOL, depth);
        node!(ty.clone(); "(if ", condition, " then ", self.expr(ty, depth), " else ", self.expr(ty, depth), ")")
    }

    /// Branches that give an array that is there, or a part of one, which may be used and updated later.
    fn given_by_branches(&mut self, ty: &Ty, depth: usize) -> Node {
        let array = match self.sizes {
            Sizes::Named => Ty::Array(self.named("n"), Box::new(I64)),
            Sizes::Literals => return self.conditional(ty, depth),
        };
        let (made, given) = (self.fresh(), self.fresh());
        let value = self.expr(&array, depth);
        let condition = self.expr(&BOOL, depth.min(2));
        let there = match self.rng.below(3) {
            0 => format!("(concat {made} {made})[1:1 + length {made}]"),
            1 => format!("(materialise (concat {made} {made}))[1:1 + length {made}]"),
            _ => made.clone(),
        };
        let other = self.with(&made, &array, |this| this.expr(&array, depth));
        let body = self.with(&made, &array, |this| {
            this.with(&given, &array, |this| this.expr(ty, depth))
        });
        let typed = array.text();
        node!(ty.clone(); format!("(let {made}: {typed} = materialise "), value, format!(" let {given}: {typed} = (if "),
              condition, format!(" then ({there}) else "), other, format!(") :> {typed} in "), body, ")")
    }

    fn loop_for(&mut self, ty: &Ty, depth: usize) -> Node {
        let (state, index) = (self.fresh(), self.fresh());
        let initial = self.expr(ty, depth);
        let body = self.with(&state, ty, |this| {
            this.with(&index, &I64, |this| this.expr(ty, depth))
        });
        let bound = match self.rng.below(6) {
            // What may grow by a factor in every iteration soon fills the memory.
            bound if ty.holds_unknown() => format!("{}i64", bound.min(2)),
            0 => self.named("n").text(),
            bound => format!("{bound}i64"),
        };
        node!(ty.clone(); format!("(loop ({state}: {} = ", ty.text()), initial,
              format!(") for {index} < {bound} do "), body, ")")
    }

    /// Ends after a few iterations whatever the condition.
    fn loop_while(&mut self, ty: &Ty, depth: usize) -> Node {
        let (state, count) = (self.fresh(), self.fresh());
        let initial = self.expr(ty, depth);
        let condition = self.with(&state, ty, |this| this.expr(&BOOL, depth.min(2)));
        let body = self.with(&state, ty, |this| {
            this.with(&count, &I64, |this| this.expr(ty, depth))
        });
        let rounds = match self.rng.below(4) {
            rounds if ty.holds_unknown() => 1 + rounds.min(1),
            rounds => 1 + rounds,
        };
        node!(ty.clone(); format!("(loop (({state}, {count}): ({}, i64) = (", ty.text()), initial,
              format!(", 0i64)) while ({count} < {rounds}i64 && "), condition, ") do (", body,
              format!(", {count} + 1i64)).0"))
    }

    fn case_maybe(&mut self, ty: &Ty, depth: usize) -> Node {
        let inner = self.plain();
        let name = self.fresh();
        let scrutinee = self.expr(&Ty::Maybe(Box::new(inner.clone())), depth);
        let guard = match self.rng.below(4) {
            0 => {
                let guard = self.with(&name, &inner, |this| this.expr(&BOOL, depth.min(2)));
                let body = self.with(&name, &inner, |this| this.expr(ty, depth.min(2)));
                node!(ty.clone(); format!(" | Some {name} if "), guard, " -> ", body)
            }
            _ => Node::leaf(ty.clone(), ""),
        };
        let other = self.fresh();
        let some = self.with(&other, &inner, |this| this.expr(ty, depth));
        node!(ty.clone(); "(case ", scrutinee, " of", guard, format!(" | Some {other} -> "), some,
              " | None -> ", self.expr(ty, depth), ")")
    }

    fn case_sum(&mut self, ty: &Ty, depth: usize) -> Node {
        let constructors = self.data.clone();
        let mut node = node!(ty.clone(); "(case ", self.expr(&Ty::Sum(constructors.clone()), depth), " of");
        for (at, fields) in constructors.iter().enumerate() {
            let names: Vec<String> = fields.iter().map(|_| self.fresh()).collect();
            let known = self.scope.len();
            self.scope
                .extend(names.iter().cloned().zip(fields.iter().cloned()));
            let arm = self.expr(ty, depth);
            self.scope.truncate(known);
            node.parts
                .push(format!(" | {} {} -> ", constructor(at), names.join(" ")).into());
            node.parts.push(arm.into());
        }
        node.parts.push(")".into());
        node
    }

    fn case_literal(&mut self, ty: &Ty, depth: usize) -> Node {
        let (first, second) = (self.fresh(), self.fresh());
        let other = self.plain();
        let pair = Ty::Tuple(vec![I64, other.clone()]);
        let scrutinee = self.expr(&pair, depth);
        let one = self.with(&second, &other, |this| this.expr(ty, depth));
        let rest = self.with(&first, &I64, |this| this.expr(ty, depth));
        node!(ty.clone(); "(case ", scrutinee, format!(" of | ({}, {second}) -> ", self.rng.below(3)), one,
              format!(" | ({first}, _) -> "), rest, ")")
    }

    fn local_function(&mut self, ty: &Ty, depth: usize) -> Node {
        let (function, param) = (self.fresh(), self.fresh());
        let param_type = self.ty(1);
        let body = self.with(&param, &param_type, |this| this.expr(ty, depth));
        let first = self.expr(&param_type, depth);
        node!(ty.clone(); format!("(let {function} ({param}: {}): {} = ", param_type.text(), ty.text()), body,
              format!(" in {function} "), first, ")")
    }

    /// A function that takes a function.
    fn higher_order(&mut self, ty: &Ty, depth: usize) -> Node {
        // A size in a function's type is one size for all calls.
        if ty.holds_unknown() {
            return self.local_function(ty, depth);
        }
        let (apply, function, param, inner) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        let from = self.plain();
        let body = self.with(&inner, &from, |this| this.expr(ty, depth));
        let value = self.expr(&from, depth);
        let changed = self.with(&param, &from, |this| this.expr(&from, depth.min(1)));
        node!(ty.clone(); format!("(let {apply} ({function}: {} -> {}) ({param}: {}) = {function} ", from.text(), ty.text(), from.text()),
              changed, format!(" in {apply} (\\{inner} -> "), body, ") ", value, ")")
    }

    /// A function that is only known when the program runs.
    fn chosen_function(&mut self, ty: &Ty, depth: usize) -> Node {
        if ty.holds_unknown() {
            return self.conditional(ty, depth);
        }
        let from = self.plain();
        let (first, second) = (self.fresh(), self.fresh());
        let one = self.with(&first, &from, |this| this.expr(ty, depth.min(2)));
        let two = self.with(&second, &from, |this| this.expr(ty, depth.min(2)));
        let condition = self.expr(&BOOL, depth);
        node!(ty.clone(); "((if ", condition,
              format!(" then (\\({first}: {}) -> ", from.text()), one,
              format!(") else (\\({second}: {}) -> ", from.text()), two, ")) ", self.expr(&from, depth), ")")
    }

    fn recursive_call(&mut self, ty: &Ty, depth: usize) -> Node {
        let known = self.recursive.iter().find(|(_, _, result)| result == ty).cloned();
        match known {
            None => self.let_in(ty, depth),
            Some((name, param, _)) => {
                node!(ty.clone(); format!("({name} {}i64 ", self.rng.below(6)), self.expr(&param, depth), ")")
            }
        }
    }

    /// `def rec` functions that count down, in tail position or not.
    pub(super) fn declare_recursive(&mut self) {
        if !self.rng.chance(20) {
            return;
        }
        let param = self.plain();
        let result = match self.rng.below(3) {
            0 => param.clone(),
            1 => Ty::Tuple(vec![self.plain(), self.plain()]),
            _ => self.plain(),
        };
        let name = "step@".to_owned();
        self.scope = vec![("k".to_owned(), I64), ("x".to_owned(), param.clone())];
        // It is called inside any level.
        let (stop, next, after) = self.inside(Around::Vec, |this| {
            let (stop, next) = (this.expr(&result, 2), this.expr(&param, 2));
            (stop, next, this.with("r", &result, |this| this.expr(&result, 2)))
        });
        let call = match self.rng.below(3) {
            0 => format!("{name} (k - 1) {}", next.text()),
            _ => format!("(let r = {name} (k - 1) {} in {})", next.text(), after.text()),
        };
        self.definitions.push_str(&format!(
            "def rec {name} (k: i64) (x: {}): {} =\n  if k <= 0 then {} else {call}\n",
            param.text(),
            result.text(),
            stop.text()
        ));
        self.scope.clear();
        self.recursive.push((name, param, result));
    }

    fn assertion(&mut self, ty: &Ty, depth: usize) -> Node {
        let condition = match self.rng.below(4) {
            0 => self.expr(&BOOL, depth),
            _ => Node::leaf(
                BOOL,
                format!("{} < {}i64", self.named("n").text(), 4 + self.rng.below(20)),
            ),
        };
        node!(ty.clone(); "(assert ", condition, format!(", \"claim {}\" in ", self.fresh()), self.expr(ty, depth), ")")
    }

    /// An element of an array of them; guarded most of the time.
    fn element_of(&mut self, ty: &Ty, depth: usize) -> Node {
        if ty.holds_unknown() {
            return self.let_in(ty, depth);
        }
        let (name, at) = (self.fresh(), self.rng.below(4));
        let array = Ty::array(self.size(), ty.clone());
        let value = self.expr(&array, depth);
        if self.rng.chance(6) {
            return node!(ty.clone(); format!("(let {name} = "), value, format!(" in {name}[{at}])"));
        }
        let otherwise = self.construct(ty, 0);
        node!(ty.clone(); format!("(let {name} = "), value,
              format!(" in if {at} < length {name} then {name}[{at}] else "), otherwise, ")")
    }

    /// `reduceSeq` with any function.
    fn fold(&mut self, ty: &Ty, depth: usize) -> Node {
        if ty.holds_unknown() {
            return self.let_in(ty, depth);
        }
        let (acc, cell) = (self.fresh(), self.fresh());
        let element = self.element(0);
        let array = Ty::array(self.size(), element.clone());
        let body = self.with(&acc, ty, |this| {
            this.with(&cell, &element, |this| this.expr(ty, depth))
        });
        node!(ty.clone(); format!("(reduceSeq (\\({acc}: {}) {cell} -> ", ty.text()), body, ") ", self.expr(ty, depth),
              " ", self.expr(&array, depth), ")")
    }

    /// A part of something larger.
    fn project(&mut self, ty: &Ty, depth: usize) -> Node {
        let other = Ty::Scalar(self.scalar_type());
        match self.rng.below(4) {
            0 => node!(ty.clone(); self.expr(&Ty::Tuple(vec![ty.clone(), other]), depth), ".0"),
            1 => node!(ty.clone(); self.expr(&Ty::Record(vec![other, ty.clone()]), depth), ".b"),
            2 => {
                let (left, right) = (self.fresh(), self.fresh());
                let value = self.expr(&Ty::Tuple(vec![ty.clone(), other]), depth);
                node!(ty.clone(); format!("(let ({left}, {right}) = "), value, format!(" in {left})"))
            }
            _ => {
                let unit = match self.rng.below(2) {
                    0 => Ty::Maybe(Box::new(Ty::Scalar(ScalarType::I32))),
                    _ => Ty::array(
                        match self.rng.below(2) {
                            0 => self.named("m"),
                            _ => Size::Literal(2),
                        },
                        other,
                    ),
                };
                node!(ty.clone(); "(snd (", self.expr(&unit, depth), ", ", self.expr(ty, depth), "))")
            }
        }
    }
}
