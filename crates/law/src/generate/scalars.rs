//! Scalar expressions: operators, reductions, indexing, conversions.

use super::{Generator, size};
use crate::node;
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

impl Generator {
    pub(super) fn literal(&mut self, ty: ScalarType) -> String {
        let number = self.rng.below(10);
        match ty {
            ScalarType::Bool => if number.is_multiple_of(2) { "true" } else { "false" }.to_owned(),
            ScalarType::F32 | ScalarType::F64 => format!("{number}.0{ty}"),
            _ => format!("{number}{ty}"),
        }
    }

    /// As the command line takes it; now and then an extreme.
    pub(super) fn argument_scalar(&mut self, ty: ScalarType) -> String {
        let number = self.rng.below(20) as i64;
        match ty {
            ScalarType::Bool => if number < 10 { "true" } else { "false" }.to_owned(),
            ScalarType::F32 | ScalarType::F64 => format!("{}.0", number - 10),
            ScalarType::I32 if number == 19 => i32::MIN.to_string(),
            ScalarType::I32 if number == 18 => i32::MAX.to_string(),
            ScalarType::I64 if number == 19 => i64::MIN.to_string(),
            _ if ty.is_signed_integer() => (number - 10).to_string(),
            _ => number.to_string(),
        }
    }

    pub(super) fn scalar(&mut self, ty: ScalarType, depth: usize) -> Node {
        match self.rng.below(8) {
            0..4 => self.operator(ty, depth),
            4 => self.conversion(ty, depth),
            5 => self.reduction(ty, depth),
            6 => self.indexing(ty, depth),
            _ => self.counting(ty, depth),
        }
    }

    fn operator(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        if ty == ScalarType::Bool {
            return self.boolean(depth);
        }
        if ty.is_float() {
            return match self.rng.below(6) {
                0 => node!(own.clone(); "(abs ", self.expr(&own, depth), ")"),
                1 => node!(own.clone(); "(", self.expr(&own, depth), format!(" * 2.0{ty})")),
                at => self.binary(
                    &own,
                    ["+", "-", "min", "max"].get(at - 2).copied().unwrap_or("+"),
                    depth,
                ),
            };
        }
        match self.rng.below(14) {
            // A negated literal is a literal, and must fit.
            0 if ty.is_unsigned_integer() => {
                node!(own.clone(); format!("(0{ty} - "), self.expr(&own, depth), ")")
            }
            0 => node!(own.clone(); "(-", self.expr(&own, depth), ")"),
            1 => node!(own.clone(); "(~", self.expr(&own, depth), ")"),
            2 => node!(own.clone(); "(", self.expr(&own, depth), " << ", self.literal(ty), ")"),
            3 => node!(own.clone(); "(", self.expr(&own, depth), " >> ", self.literal(ty), ")"),
            4 => node!(own.clone(); "(", self.expr(&own, depth), " / ", self.expr(&own, depth), ")"),
            5 => node!(own.clone(); "(", self.expr(&own, depth), format!(" % 7{ty})")),
            at => {
                let name = ["+", "-", "*", "min", "max", "&", "|", "^"]
                    .get(at - 6)
                    .copied()
                    .unwrap_or("+");
                self.binary(&own, name, depth)
            }
        }
    }

    fn binary(&mut self, ty: &Ty, name: &str, depth: usize) -> Node {
        let (left, right) = (self.expr(ty, depth), self.expr(ty, depth));
        match name {
            "min" | "max" => node!(ty.clone(); format!("({name} "), left, " ", right, ")"),
            _ => node!(ty.clone(); "(", left, format!(" {name} "), right, ")"),
        }
    }

    fn boolean(&mut self, depth: usize) -> Node {
        let own = Ty::Scalar(ScalarType::Bool);
        match self.rng.below(6) {
            0 => node!(own.clone(); "(!", self.expr(&own, depth), ")"),
            1 => self.binary(&own, "&&", depth),
            2 => self.binary(&own, "||", depth),
            3 => {
                let element = Ty::Scalar(self.scalar_type());
                let array = Ty::Array(size("n"), Box::new(element));
                node!(own; "(", self.expr(&array, depth), " == ", self.expr(&array, depth), ")")
            }
            _ => {
                let ty = self.ty(1);
                let ty = if matches!(ty, Ty::Jagged(_)) {
                    own.clone()
                } else {
                    ty
                };
                let name = self
                    .rng
                    .pick(&["==", "!=", "<", "<=", ">", ">="])
                    .copied()
                    .unwrap_or("==");
                let (left, right) = (self.expr(&ty, depth), self.expr(&ty, depth));
                node!(own; "(", left, format!(" {name} "), right, ")")
            }
        }
    }

    fn conversion(&mut self, ty: ScalarType, depth: usize) -> Node {
        let from = self.scalar_type();
        // Large integers would make floats inexact.
        let value = self.expr(&Ty::Scalar(from), depth);
        match (ty.is_float(), from.is_integer()) {
            (true, true) => node!(Ty::Scalar(ty); format!("({ty} ("), value, format!(" % 100{from}))")),
            _ => node!(Ty::Scalar(ty); format!("({ty} "), value, ")"),
        }
    }

    /// An operator that is associative, with a starting value.
    pub(super) fn monoid(&mut self, ty: ScalarType) -> (String, String) {
        match (ty, self.rng.below(4)) {
            (ScalarType::Bool, 0..2) => ("(&&)".to_owned(), "true".to_owned()),
            (ScalarType::Bool, _) => ("(||)".to_owned(), "false".to_owned()),
            (_, 0) => ("min".to_owned(), format!("100{}", suffix(ty))),
            (_, 1) => ("max".to_owned(), format!("0{}", suffix(ty))),
            (_, _) => ("(+)".to_owned(), format!("0{}", suffix(ty))),
        }
    }

    fn reduction(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        let array = Ty::Array(self.size(), Box::new(own.clone()));
        let (operator, start) = self.monoid(ty);
        let xs = match self.rng.below(3) {
            0 => {
                let name = self.fresh();
                let kept = self.with(&name, &own, |this| {
                    this.expr(&Ty::Scalar(ScalarType::Bool), depth.min(2))
                });
                node!(array.clone(); format!("(filter (\\{name} -> "), kept, ") ", self.expr(&array, depth), ")")
            }
            _ => self.expr(&array, depth),
        };
        let name = self
            .rng
            .pick(&["reduce", "reduce", "reduce_comm"])
            .copied()
            .unwrap_or("reduce");
        node!(own; format!("({name} {operator} {start} "), xs, ")")
    }

    /// Mostly in bounds; an empty array makes it fail.
    fn indexing(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        let (name, at) = (self.fresh(), self.rng.below(4));
        let array = Ty::Array(self.size(), Box::new(own.clone()));
        let value = self.expr(&array, depth);
        if self.rng.chance(10) {
            return node!(own; format!("(let {name} = "), value, format!(" in {name}[{at}])"));
        }
        let otherwise = self.literal(ty);
        node!(own; format!("(let {name} = "), value,
              format!(" in if {at} < length {name} then {name}[{at}] else {otherwise})"))
    }

    /// Sizes as values, through arrays of unknown size.
    fn counting(&mut self, ty: ScalarType, depth: usize) -> Node {
        if !ty.is_integer() {
            return self.operator(ty, depth);
        }
        let element = Ty::Scalar(self.scalar_type());
        let array = Ty::Array(self.size(), Box::new(element.clone()));
        let name = self.fresh();
        let kept = self.with(&name, &element, |this| {
            this.expr(&Ty::Scalar(ScalarType::Bool), depth.min(2))
        });
        node!(Ty::Scalar(ty); format!("({ty} (length (filter (\\{name} -> "), kept, ") ", self.expr(&array, depth), ")))")
    }
}

fn suffix(ty: ScalarType) -> String {
    if ty.is_float() {
        format!(".0{ty}")
    } else {
        ty.to_string()
    }
}
