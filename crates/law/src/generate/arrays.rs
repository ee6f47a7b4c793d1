//! Array expressions of a given size.

use super::levels::Around;
use super::{BOOL, Generator, I64};
use crate::node;
use crate::tree::{Node, Size, Ty};
use almach_value::ScalarType;

impl Generator {
    pub(super) fn array(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::array(count.clone(), element.clone());
        if let Ty::Unknown(cell) = element {
            return self.jagged(count, cell, depth);
        }
        if self.rng.chance(25) {
            return self.view(&own, count, element, depth);
        }
        match self.rng.below(18) {
            0..4 => self.map(count, element, depth),
            4 => self.map_two(count, element, depth),
            5 => self.tabulate(count, element, depth),
            6 | 7 => self.scan(&own, element, depth),
            8 => self.update(&own, element, depth),
            9 => self.gather(count, element, depth),
            10 => self.scatter(&own, element, depth),
            11 => self.permute(&own, count, depth),
            12 => self.histogram(&own, element, depth),
            13 => self.reduced_rows(count, element, depth),
            14 => self.sum_of_arrays(&own, count, element, depth),
            15 => self.sorted(&own, element, depth),
            16 => self.scan_of_tuples(&own, count, element, depth),
            _ => self.known_again(&own, count, element, depth),
        }
    }

    fn map(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::array(count.clone(), element.clone());
        let from = self.element(1);
        let name = self.fresh();
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&name, &from, |this| this.expr(element, depth))
        });
        let xs = self.expr(&Ty::array(count.clone(), from), depth);
        match self.rng.below(12) {
            0 => node!(own; "(", xs, format!(" |> map{level} (\\{name} -> "), body, "))"),
            1 => {
                // Local memory belongs to a work-group.
                let places: &[&str] = match self.around {
                    Around::Group | Around::Local => &["toGlobal", "toLocal", "toPrivate"],
                    Around::Nothing | Around::Par | Around::Vec | Around::Grid => &["toGlobal", "toPrivate"],
                };
                let place = self.rng.pick(places);
                let place = place.copied().unwrap_or("toGlobal");
                node!(own; format!("({place} (map{level} (\\{name} -> "), body, ")) ", xs, ")")
            }
            2 => node!(own; format!("(materialise (map{level} (\\{name} -> "), body, ") ", xs, "))"),
            _ => node!(own; format!("(map{level} (\\{name} -> "), body, ") ", xs, ")"),
        }
    }

    fn map_two(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::array(count.clone(), element.clone());
        let (left, right) = (self.element(0), self.element(0));
        let (a, b) = (self.fresh(), self.fresh());
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&a, &left, |this| {
                this.with(&b, &right, |this| this.expr(element, depth))
            })
        });
        let xs = self.expr(&Ty::array(count.clone(), left), depth);
        let ys = self.expr(&Ty::array(count.clone(), right), depth);
        match self.rng.below(2) {
            0 => node!(own; format!("(map{level} (\\{a} {b} -> "), body, ") ", xs, " ", ys, ")"),
            _ => node!(own; format!("(map{level} (\\({a}, {b}) -> "), body, ") (zip ", xs, " ", ys, "))"),
        }
    }

    fn tabulate(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::array(count.clone(), element.clone());
        let name = self.fresh();
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&name, &I64, |this| this.expr(element, depth))
        });
        node!(own; format!("(map{level} (\\{name} -> "), body, format!(") (iota {}))", count.text()))
    }

    fn scan(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let names = ["scan", "scan_exclusive"];
        let name = self.rng.pick(&names).copied().unwrap_or("scan");
        let (level, _) = self.level_of_collective();
        let chunk = self.chunk();
        match element {
            Ty::Scalar(scalar) => {
                let (operator, start) = self.monoid(*scalar);
                node!(own.clone(); format!("({name}{level}{chunk} {operator} {start} "), self.expr(own, depth), ")")
            }
            Ty::Wild(_) => {
                let operator = self.rng.pick(&["min", "max"]).copied().unwrap_or("min");
                let start = self.expr(element, 0);
                node!(own.clone(); format!("({name}{level}{chunk} {operator} "), start, " ", self.expr(own, depth), ")")
            }
            // The last one wins, which is associative whatever the type.
            _ if !element.holds_unknown() => {
                let start = self.expr(element, depth.min(1));
                node!(own.clone(); format!("({name}{level}{chunk} (\\_ b -> b) "), start, " ", self.expr(own, depth), ")")
            }
            _ => self.simple(own),
        }
    }

    /// Linear functions composed: associative and not commutative, on two numbers at once.
    fn scan_of_tuples(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let Ty::Scalar(scalar) = element else {
            return self.scan(own, element, depth);
        };
        if !scalar.is_integer() {
            return self.scan(own, element, depth);
        }
        let pairs = Ty::array(count.clone(), Ty::Tuple(vec![element.clone(), element.clone()]));
        let (level, _) = self.level_of_collective();
        let chunk = self.chunk();
        let (a, b, c, d, r) = (
            self.fresh(),
            self.fresh(),
            self.fresh(),
            self.fresh(),
            self.fresh(),
        );
        node!(own.clone(); format!("(map (\\{r} -> {r}.0 ^ {r}.1) (scan{level}{chunk} (\\({a}, {b}) ({c}, {d}) -> ({a} * {c}, {b} * {c} + {d})) (1{scalar}, 0{scalar}) "),
              self.expr(&pairs, depth), "))")
    }

    /// Guarded by the length, so that it rarely fails.
    fn update(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let (name, at) = (self.fresh(), self.rng.below(3));
        if element.stays_in_place() && self.rng.chance(20) {
            return self.filled_in_place(own, element, depth);
        }
        let array = self.expr(own, depth);
        if self.rng.chance(25) {
            let part = self.with(&name, own, |this| {
                this.expr(&Ty::array(Size::Literal(1), element.clone()), depth)
            });
            return node!(own.clone(); format!("(let {name} = "), array,
                  format!(" in if {at} < length {name} then {name} with [{at}:{}] = ", at + 1), part, format!(" else {name})"));
        }
        let value = self.with(&name, own, |this| this.expr(element, depth));
        node!(own.clone(); format!("(let {name} = "), array,
              format!(" in if {at} < length {name} then {name} with [{at}] = "), value, format!(" else {name})"))
    }

    /// Cells of a new array, one by one and in place.
    fn filled_in_place(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let Ty::Array(count, _) = own else {
            return self.simple(own);
        };
        let (array, at) = (self.fresh(), self.fresh());
        let start = self.expr(element, depth.min(1));
        let value = self.with(&at, &I64, |this| this.expr(element, depth));
        let count = count.text();
        node!(own.clone(); format!("(loop ({array} = replicate {count} "), start,
              format!(") for {at} < {count} do {array} with! [{at}] = "), value, ")")
    }

    /// Indices taken modulo the length of an array that is not empty.
    fn gather(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::array(count.clone(), element.clone());
        let length = 1 + self.rng.below(3);
        let name = self.fresh();
        let index = match self.scalar_type() {
            ty if ty.is_unsigned_integer() || ty == ScalarType::I32 => ty,
            _ => ScalarType::I64,
        };
        let indices = self.expr(&Ty::array(count.clone(), Ty::Scalar(index)), depth);
        let distance = match index.is_signed_integer() {
            true => format!("abs ({name} % {length})"),
            false => format!("{name} % {length}"),
        };
        let level = self.level_of_view();
        let modulo = format!("(gather{level} (map (\\{name} -> {distance}) ");
        let values = self.expr(&Ty::array(Size::Literal(length), element.clone()), depth);
        node!(own; modulo, indices, ") ", values, ")")
    }

    /// Distinct indices, some of them out of range; rarely two to one cell.
    fn scatter(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let from = self.size();
        let name = self.fresh();
        let shift = self.rng.below(4);
        let values = self.expr(&Ty::array(from.clone(), element.clone()), depth);
        let (level, _) = self.level_of_collective();
        let index = match self.rng.below(8) {
            0 => format!("{name} / 2"),
            _ => format!("{name} * 2 - {shift}"),
        };
        node!(own.clone(); format!("(scatter{level} "), self.expr(own, depth),
              format!(" (map (\\{name} -> {index}) (iota {})) ", from.text()), values, ")")
    }

    /// A rotation of the positions; rarely none at all.
    fn permute(&mut self, own: &Ty, count: &Size, depth: usize) -> Node {
        let name = self.fresh();
        let (level, _) = self.level_of_collective();
        let index = match self.rng.below(12) {
            0 => format!("{name} / 2"),
            1..5 => format!("{} - 1 - {name}", count.text()),
            _ => format!("({name} + {}) % {}", self.rng.below(9), count.text()),
        };
        node!(own.clone(); format!("(permute{level} (map (\\{name} -> {index}) (iota {})) ", count.text()),
              self.expr(own, depth), ")")
    }

    fn histogram(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let Ty::Scalar(scalar) = element else {
            return self.simple(own);
        };
        let (operator, neutral) = match (scalar, self.rng.below(3)) {
            (ScalarType::Bool, _) => ("(||)", "false".to_owned()),
            (_, 0) if scalar.is_unsigned_integer() => ("max", format!("0{scalar}")),
            (_, 1) if scalar.is_integer() => ("(^)", format!("0{scalar}")),
            _ if scalar.is_float() => ("(+)", format!("0.0{scalar}")),
            _ => ("(+)", format!("0{scalar}")),
        };
        let from = self.size();
        let name = self.fresh();
        let (level, _) = self.level_of_collective();
        let chunk = self.chunk();
        let indices = self.expr(&Ty::array(from.clone(), I64), depth);
        let values = self.expr(&Ty::Array(from, Box::new(element.clone())), depth);
        node!(own.clone(); format!("(reduce_by_index{level}{chunk} "), self.expr(own, depth),
              format!(" {operator} {neutral} (map (\\{name} -> {name} % 6) "), indices, ") ", values, ")")
    }

    /// Rows of their own lengths, brought back to one value each.
    fn reduced_rows(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::array(count.clone(), element.clone());
        let Ty::Scalar(scalar) = element else {
            return self.map(count, element, depth);
        };
        let (operator, start) = self.monoid(*scalar);
        if self.rng.chance(50) {
            let rows = Ty::array(count.clone(), Ty::Unknown(Box::new(element.clone())));
            return node!(own; format!("(map (reduce {operator} {start}) "), self.expr(&rows, depth), ")");
        }
        let (row, cell) = (self.fresh(), self.fresh());
        let kept = self.with(&cell, element, |this| this.expr(&BOOL, depth.min(2)));
        let rows = Ty::array(count.clone(), Ty::array(self.named("m"), element.clone()));
        let rows = self.expr(&rows, depth);
        node!(own; format!("(map (reduce {operator} {start}) (map (\\{row} -> filter (\\{cell} -> "), kept,
              format!(") {row}) "), rows, "))")
    }

    /// A reduction whose values are arrays.
    fn sum_of_arrays(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let Ty::Scalar(scalar) = element else {
            return self.map(count, element, depth);
        };
        let (operator, start) = self.monoid(*scalar);
        let rows = Ty::array(self.size(), own.clone());
        let (a, b) = (self.fresh(), self.fresh());
        let scanned = self.rng.chance(30);
        let rows = self.expr(&rows, depth);
        match scanned {
            true => {
                node!(own.clone(); format!("(reduceSeq (\\_ {b} -> {b}) (replicate {} {start}) (scan (\\{a} {b} -> map {operator} {a} {b}) (replicate {} {start}) ", count.text(), count.text()),
                          rows, "))")
            }
            false => {
                node!(own.clone(); format!("(reduce (\\{a} {b} -> map {operator} {a} {b}) (replicate {} {start}) ", count.text()),
                           rows, ")")
            }
        }
    }

    fn sorted(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        match element {
            Ty::Scalar(scalar) if !scalar.is_float() && self.rng.chance(60) => {
                node!(own.clone(); "(sort ", self.expr(own, depth), ")")
            }
            _ if self.rng.chance(50) => node!(own.clone(); "(reverse ", self.expr(own, depth), ")"),
            _ => self.clamped(own, depth),
        }
    }

    /// An array seen some elements further on, its ends repeated.
    fn clamped(&mut self, own: &Ty, depth: usize) -> Node {
        let (array, at) = (self.fresh(), self.fresh());
        let by = ["- 2", "- 1", "+ 1", "+ 2"];
        let by = self.rng.pick(&by).copied().unwrap_or("- 1");
        let last = format!("length {array} - 1");
        let index = match self.rng.below(3) {
            0 => format!("max 0 (min ({last}) ({at} {by}))"),
            1 => format!("min (max ({at} {by}) 0) ({last})"),
            _ => format!("if {at} {by} < 0 then 0 else min ({at} {by}) ({last})"),
        };
        node!(own.clone(); format!("(let {array} = "), self.expr(own, depth),
              format!(" in map (\\{at} -> {array}[{index}]) (iota (length {array})))"))
    }

    /// An array of unknown size whose size is claimed.
    fn known_again(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let ty = own.text();
        let name = self.fresh();
        let xs = self.expr(own, depth);
        match self.rng.below(3) {
            0 => node!(own.clone(); format!("((filter (\\{name} -> true) "), xs, format!(") :> {ty})")),
            1 => {
                let (level, around) = self.level_of_collective();
                let test = self.inside(around, |this| {
                    this.with(&name, element, |this| this.expr(&BOOL, depth.min(2)))
                });
                let (kept, rest) = (self.fresh(), self.fresh());
                let chunk = self.chunk();
                node!(own.clone(); format!("(let ({kept}, {rest}) = partition{level}{chunk} (\\{name} -> "), test, ") ", xs,
                      format!(" in ({kept} ++ {rest}) :> {ty})"))
            }
            _ => node!(own.clone(); "(", self.expr(&Ty::Unknown(Box::new(element.clone())), depth),
                       format!(" |> (\\{name} -> if length {name} == {} then {name} :> {ty} else ", count.text()), xs, "))"),
        }
    }
}
