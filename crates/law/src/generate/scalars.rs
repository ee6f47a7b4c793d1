//! Scalar expressions: operators, reductions, indexing, conversions.

use super::arguments::greatest;
use super::{BOOL, Generator, I64};
use crate::node;
use crate::tree::{Node, Ty};
use almach_value::ScalarType;

impl Generator {
    pub(super) fn literal(&mut self, ty: ScalarType) -> String {
        let number = self.rng.below(10);
        match ty {
            ScalarType::Bool => if number.is_multiple_of(2) { "true" } else { "false" }.to_owned(),
            ScalarType::F32 | ScalarType::F64 => format!("{number}.0{ty}"),
            _ if self.rng.chance(4) => format!("{}{ty}", greatest(ty)),
            _ if ty.is_signed_integer() && self.rng.chance(3) => format!("(-{}{ty} - 1{ty})", greatest(ty)),
            _ => format!("{number}{ty}"),
        }
    }

    pub(super) fn wild_literal(&mut self, ty: ScalarType) -> String {
        let texts = [
            "0.1",
            "2.5",
            "1e-3",
            "1e20",
            "3.0",
            "0.0",
            "7.75",
            "1e-30",
            "123456.789",
        ];
        match self.rng.below(12) {
            0 => format!("({ty} nan)"),
            1 => format!("({ty} inf)"),
            2 => format!("({ty} (-inf))"),
            at => format!("{}{ty}", texts.get(at - 3).copied().unwrap_or("0.5")),
        }
    }

    pub(super) fn scalar(&mut self, ty: ScalarType, depth: usize) -> Node {
        if matches!(ty, ScalarType::I64 | ScalarType::I32 | ScalarType::Bool) && self.rng.chance(8) {
            return self.foreign(ty, depth);
        }
        match self.rng.below(10) {
            9 => self.transcendental(ty, depth),
            0..4 => self.operator(ty, depth),
            4 => self.conversion(ty, depth),
            5 | 6 => self.reduction(ty, depth),
            7 => self.told_by_wild(ty, depth),
            _ => self.counting(ty, depth),
        }
    }

    /// A call of a C function ([`crate::outside`]).
    fn foreign(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        match ty {
            ScalarType::I64 if self.rng.chance(50) => {
                let (x, y) = (self.expr(&I64, depth), self.expr(&I64, depth));
                node!(own; "(law_mix ", x, " ", y, ")")
            }
            ScalarType::I64 => {
                let array = Ty::array(self.size(), I64);
                let (xs, at) = (self.expr(&array, depth), self.expr(&I64, depth));
                node!(own; "(law_pick ", xs, " ", at, ")")
            }
            _ => {
                let (x, y) = (
                    self.expr(&Ty::Scalar(ScalarType::I32), depth),
                    self.expr(&BOOL, depth),
                );
                let which = if ty == ScalarType::Bool { ").0" } else { ").1" };
                node!(own; "(law_swap (", x, ", ", y, ")", which)
            }
        }
    }

    /// Every float operation whose result is the same on every machine.
    pub(super) fn wild(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Wild(ty);
        match self.rng.below(12) {
            0..4 => {
                let name = ["+", "-", "*", "/", "min", "max", "copysign"];
                let name = self.rng.pick(&name).copied().unwrap_or("+");
                self.binary(&own, name, depth)
            }
            4 | 5 => {
                let name = ["abs", "sqrt", "floor", "ceil", "trunc", "round", "signum"];
                let name = self.rng.pick(&name).copied().unwrap_or("abs");
                node!(own.clone(); format!("({name} "), self.expr(&own, depth), ")")
            }
            6 => {
                let (a, b, c) = (
                    self.expr(&own, depth),
                    self.expr(&own, depth),
                    self.expr(&own, depth),
                );
                node!(own; "(fma ", a, " ", b, " ", c, ")")
            }
            7 => node!(own.clone(); "(-", self.expr(&own, depth), ")"),
            8 => node!(own; format!("({ty} "), self.expr(&Ty::Scalar(ty), depth), ")"),
            9 => {
                let from = self.scalar_type();
                node!(own; format!("({ty} "), self.expr(&Ty::Scalar(from), depth), ")")
            }
            10 => {
                let (bits, other) = match ty {
                    ScalarType::F32 => (ScalarType::U32, ScalarType::F64),
                    _ => (ScalarType::U64, ScalarType::F32),
                };
                match self.rng.below(2) {
                    0 => node!(own; "(from_bits ", self.expr(&Ty::Scalar(bits), depth), ")"),
                    _ => node!(own; format!("({ty} "), self.expr(&Ty::Wild(other), depth), ")"),
                }
            }
            _ => {
                let array = Ty::array(self.size(), own.clone());
                let name = self.rng.pick(&["min", "max"]).copied().unwrap_or("min");
                node!(own.clone(); format!("(reduce {name} "), self.expr(&own, depth.min(1)), " ", self.expr(&array, depth), ")")
            }
        }
    }

    /// What a wild float says about itself.
    fn told_by_wild(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        let float = match self.rng.below(2) {
            0 => ScalarType::F32,
            _ => ScalarType::F64,
        };
        let wild = self.expr(&Ty::Wild(float), depth);
        match ty {
            ScalarType::Bool => match self.rng.below(4) {
                0 => node!(own; "(is_nan ", wild, ")"),
                1 => node!(own; "(is_inf ", wild, ")"),
                at => {
                    let name = ["<", "==", ">=", "!="].get(at).copied().unwrap_or("<");
                    node!(own; "(", wild, format!(" {name} "), self.expr(&Ty::Wild(float), depth), ")")
                }
            },
            _ if ty.is_float() => node!(own; format!("({ty} ((i32 "), wild, ") % 50))"),
            ScalarType::U32 if float == ScalarType::F32 => {
                node!(own; "(to_bits ", self.not_nan(wild, float), ")")
            }
            ScalarType::U64 if float == ScalarType::F64 => {
                node!(own; "(to_bits ", self.not_nan(wild, float), ")")
            }
            _ => node!(own; format!("({ty} "), wild, ")"),
        }
    }

    /// A function that is only promised to some last bits, seen so coarsely that these do not matter.
    fn transcendental(&mut self, ty: ScalarType, depth: usize) -> Node {
        const UNARY: [&str; 19] = [
            "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
            "atan", "sinh", "cosh", "tanh", "erf", "cbrt", "rsqrt",
        ];
        let float = match self.rng.below(2) {
            0 => ScalarType::F32,
            _ => ScalarType::F64,
        };
        let wild = Ty::Wild(float);
        let argument = self.expr(&wild, depth);
        let value = match self.rng.below(8) {
            0 => node!(wild.clone(); "(atan2 ", argument, " ", self.expr(&wild, depth), ")"),
            1 => node!(wild.clone(); "(hypot ", argument, " ", self.expr(&wild, depth), ")"),
            2 => node!(wild.clone(); "(", argument, " ** ", self.expr(&wild, depth), ")"),
            _ => {
                let name = self.rng.pick(&UNARY).copied().unwrap_or("exp");
                node!(wild; format!("({name} "), argument, ")")
            }
        };
        let name = self.fresh();
        let coarse = format!(
            " in if abs {name} < 60.0{float} then i32 (floor ({name} * 4.0{float} + 0.3137{float})) else 7)"
        );
        let own = Ty::Scalar(ty);
        match ty {
            ScalarType::Bool => node!(own; format!("((let {name} = "), value, coarse, " % 2 == 0)"),
            _ => node!(own; format!("({ty} (let {name} = "), value, coarse, ")"),
        }
    }

    /// All NaNs are one value, but their bits are not.
    fn not_nan(&mut self, wild: Node, float: ScalarType) -> Node {
        let name = self.fresh();
        node!(Ty::Wild(float); format!("(let {name} = "), wild,
              format!(" in if is_nan {name} then 0.5{float} else {name})"))
    }

    fn operator(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        if ty == ScalarType::Bool {
            return self.boolean(depth);
        }
        if ty.is_float() {
            return match self.rng.below(8) {
                0 => node!(own.clone(); "(abs ", self.expr(&own, depth), ")"),
                1 => node!(own.clone(); "(", self.expr(&own, depth), format!(" * 2.0{ty})")),
                2 => node!(own.clone(); "(signum ", self.expr(&own, depth), ")"),
                3 => node!(own.clone(); "(-", self.expr(&own, depth), ")"),
                at => self.binary(
                    &own,
                    ["+", "-", "min", "max"].get(at - 4).copied().unwrap_or("+"),
                    depth,
                ),
            };
        }
        match self.rng.below(17) {
            // A negated literal is a literal, and must fit.
            0 if ty.is_unsigned_integer() => {
                node!(own.clone(); format!("(0{ty} - "), self.expr(&own, depth), ")")
            }
            0 => node!(own.clone(); format!("(0{ty} - "), self.expr(&own, depth), ")"),
            1 => node!(own.clone(); "(~", self.expr(&own, depth), ")"),
            2 => node!(own.clone(); "(", self.expr(&own, depth), " << ", self.shift_count(ty, depth), ")"),
            3 => node!(own.clone(); "(", self.expr(&own, depth), " >> ", self.shift_count(ty, depth), ")"),
            4 => node!(own.clone(); "(", self.expr(&own, depth), " / ", self.divisor(ty, depth), ")"),
            5 => node!(own.clone(); "(", self.expr(&own, depth), " % ", self.divisor(ty, depth), ")"),
            6 => node!(own.clone(); "(", self.expr(&own, depth), format!(" ** {}{ty})", self.rng.below(6))),
            7 if ty.is_signed_integer() => node!(own.clone(); "(abs ", self.expr(&own, depth), ")"),
            7 => node!(own.clone(); "(signum ", self.expr(&own, depth), ")"),
            8 => {
                let from = self.integer_type();
                let name = ["popcount", "leading_zeros", "trailing_zeros"];
                let name = self.rng.pick(&name).copied().unwrap_or("popcount");
                node!(own; format!("({ty} ({name} "), self.expr(&Ty::Scalar(from), depth), "))")
            }
            at => {
                let name = ["+", "-", "*", "min", "max", "&", "|", "^"]
                    .get(at - 9)
                    .copied()
                    .unwrap_or("+");
                self.binary(&own, name, depth)
            }
        }
    }

    fn integer_type(&mut self) -> ScalarType {
        match self.scalar_type() {
            ty if ty.is_integer() => ty,
            _ => ScalarType::U16,
        }
    }

    /// Mostly not negative.
    fn shift_count(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        match self.rng.below(8) {
            0 if ty.is_unsigned_integer() => self.expr(&own, depth),
            0 => node!(own.clone(); "(max 0 ", self.expr(&own, depth), ")"),
            1 if self.rng.chance(20) => self.expr(&own, depth),
            _ => Node::leaf(own, format!("{}{ty}", self.rng.below(70))),
        }
    }

    /// Mostly not zero.
    fn divisor(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        match self.rng.below(6) {
            0 if self.rng.chance(30) => self.expr(&own, depth),
            0 | 1 => node!(own.clone(); "(max 1 ", self.expr(&own, depth), ")"),
            2 if ty.is_signed_integer() => Node::leaf(own, format!("(-1{ty})")),
            _ => Node::leaf(own, format!("{}{ty}", 1 + self.rng.below(9))),
        }
    }

    fn binary(&mut self, ty: &Ty, name: &str, depth: usize) -> Node {
        let (left, right) = (self.expr(ty, depth), self.expr(ty, depth));
        match name {
            "min" | "max" | "copysign" => node!(ty.clone(); format!("({name} "), left, " ", right, ")"),
            _ => node!(ty.clone(); "(", left, format!(" {name} "), right, ")"),
        }
    }

    fn boolean(&mut self, depth: usize) -> Node {
        match self.rng.below(7) {
            0 => node!(BOOL; "(!", self.expr(&BOOL, depth), ")"),
            1 => self.binary(&BOOL, "&&", depth),
            2 => self.binary(&BOOL, "||", depth),
            3 => {
                let array = Ty::array(self.named("n"), self.element(0));
                node!(BOOL; "(", self.expr(&array, depth), " == ", self.expr(&array, depth), ")")
            }
            4 => {
                let (name, element) = (self.fresh(), self.element(0));
                let test = self.with(&name, &element, |this| this.expr(&BOOL, depth));
                let array = Ty::array(self.size(), element);
                let which = self.rng.pick(&["all", "any"]).copied().unwrap_or("all");
                node!(BOOL; format!("({which} (\\{name} -> "), test, ") ", self.expr(&array, depth), ")")
            }
            _ => {
                let ty = self.ty(1);
                let names = ["==", "!=", "<", "<=", ">", ">="];
                let name = self.rng.pick(&names).copied().unwrap_or("==");
                let (left, right) = (self.expr(&ty, depth), self.expr(&ty, depth));
                node!(BOOL; "(", left, format!(" {name} "), right, ")")
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
        let integer = ty.is_integer();
        match (ty, self.rng.below(8)) {
            (ScalarType::Bool, 0..4) => ("(&&)".to_owned(), "true".to_owned()),
            (ScalarType::Bool, _) => ("(||)".to_owned(), "false".to_owned()),
            (_, 0) => ("min".to_owned(), format!("100{}", suffix(ty))),
            (_, 1) => ("max".to_owned(), format!("0{}", suffix(ty))),
            (_, 2) if integer => ("(*)".to_owned(), format!("1{ty}")),
            (_, 3) if integer => ("(^)".to_owned(), format!("0{ty}")),
            (_, 4) if integer => ("(&)".to_owned(), format!("{}{ty}", self.rng.below(100))),
            // Associative, and neither commutative nor with a neutral element.
            (_, 5) => ("(\\_ b -> b)".to_owned(), format!("3{}", suffix(ty))),
            (_, 6) if integer => (format!("(\\a b -> a + b + 1{ty})"), format!("2{ty}")),
            (_, _) => ("(+)".to_owned(), format!("{}{}", self.rng.below(3), suffix(ty))),
        }
    }

    fn reduction(&mut self, ty: ScalarType, depth: usize) -> Node {
        let own = Ty::Scalar(ty);
        let array = match self.rng.below(4) {
            0 => Ty::Unknown(Box::new(own.clone())),
            _ => Ty::array(self.size(), own.clone()),
        };
        let (operator, start) = self.monoid(ty);
        let xs = self.expr(&array, depth);
        let (level, _) = self.level_of_collective();
        let chunk = self.chunk();
        let commutes = !operator.starts_with("(\\_");
        let name = match self.rng.below(3) {
            0 if commutes => "reduce_comm",
            _ => "reduce",
        };
        node!(own; format!("({name}{level}{chunk} {operator} {start} "), xs, ")")
    }

    /// Sizes as values, through arrays of unknown size.
    fn counting(&mut self, ty: ScalarType, depth: usize) -> Node {
        if !ty.is_integer() {
            return self.operator(ty, depth);
        }
        let element = self.element(0);
        match self.rng.below(3) {
            0 => {
                let array = Ty::Unknown(Box::new(element));
                node!(Ty::Scalar(ty); format!("({ty} (length "), self.expr(&array, depth), "))")
            }
            1 => {
                let name = self.fresh();
                let test = self.with(&name, &element, |this| this.expr(&BOOL, depth.min(2)));
                let array = Ty::array(self.size(), element);
                node!(Ty::Scalar(ty); format!("({ty} (count (\\{name} -> "), test, ") ", self.expr(&array, depth), "))")
            }
            _ => {
                let scalar = Ty::array(self.size(), I64);
                let name = self.fresh();
                let which = self.rng.pick(&["argmin", "argmax"]).copied().unwrap_or("argmin");
                node!(Ty::Scalar(ty); format!("(let {name} = "), self.expr(&scalar, depth),
                      format!(" in if length {name} > 0 then {ty} ({which} {name}) else 0{ty})"))
            }
        }
    }
}

fn suffix(ty: ScalarType) -> String {
    if ty.is_float() {
        format!(".0{ty}")
    } else {
        ty.to_string()
    }
}
