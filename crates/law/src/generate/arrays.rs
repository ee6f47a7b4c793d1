//! Array expressions of a given size.

use super::{Generator, size};
use crate::node;
use crate::tree::{Node, Size, Ty};
use almach_value::ScalarType;

const I64: Ty = Ty::Scalar(ScalarType::I64);

impl Generator {
    pub(super) fn array(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::Array(count.clone(), Box::new(element.clone()));
        match self.rng.below(16) {
            0..4 => self.map(count, element, depth),
            4 => self.map_two(count, element, depth),
            5 => self.tabulate(count, element, depth),
            6 => node!(own.clone(); "(reverse ", self.expr(&own, depth), ")"),
            7 => node!(own.clone(); format!("(rotate {} ", self.rng.below(5)), self.expr(&own, depth), ")"),
            8 => self.scan(&own, element, depth),
            9 => self.update(&own, element, depth),
            10 => self.gather(count, element, depth),
            11 => self.scatter(&own, element, depth),
            12 => self.transpose(&own, count, element, depth),
            13 => self.histogram(&own, element, depth),
            14 => self.jagged_rows(count, element, depth),
            _ => self.take_of_concat(&own, count, element, depth),
        }
    }

    fn map(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::Array(count.clone(), Box::new(element.clone()));
        let from = self.element(1);
        let name = self.fresh();
        let body = self.with(&name, &from, |this| this.expr(element, depth));
        let xs = self.expr(&Ty::Array(count.clone(), Box::new(from)), depth);
        node!(own; format!("(map (\\{name} -> "), body, ") ", xs, ")")
    }

    fn map_two(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::Array(count.clone(), Box::new(element.clone()));
        let (left, right) = (self.element(0), self.element(0));
        let (a, b) = (self.fresh(), self.fresh());
        let body = self.with(&a, &left, |this| {
            this.with(&b, &right, |this| this.expr(element, depth))
        });
        let xs = self.expr(&Ty::Array(count.clone(), Box::new(left)), depth);
        let ys = self.expr(&Ty::Array(count.clone(), Box::new(right)), depth);
        match self.rng.below(2) {
            0 => node!(own; format!("(map (\\{a} {b} -> "), body, ") ", xs, " ", ys, ")"),
            _ => node!(own; format!("(map (\\({a}, {b}) -> "), body, ") (zip ", xs, " ", ys, "))"),
        }
    }

    fn tabulate(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::Array(count.clone(), Box::new(element.clone()));
        let name = self.fresh();
        let body = self.with(&name, &I64, |this| this.expr(element, depth));
        node!(own; format!("(map (\\{name} -> "), body, format!(") (iota {}))", count.text()))
    }

    fn scan(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let Ty::Scalar(scalar) = element else {
            return self.simple(own);
        };
        let (operator, start) = self.monoid(*scalar);
        let name = self
            .rng
            .pick(&["scan", "scan_exclusive"])
            .copied()
            .unwrap_or("scan");
        node!(own.clone(); format!("({name} {operator} {start} "), self.expr(own, depth), ")")
    }

    /// Guarded by the length, so that it rarely fails.
    fn update(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let (name, at) = (self.fresh(), self.rng.below(3));
        let array = self.expr(own, depth);
        let value = self.with(&name, own, |this| this.expr(element, depth));
        node!(own.clone(); format!("(let {name} = "), array,
              format!(" in if {at} < length {name} then {name} with [{at}] = "), value, format!(" else {name})"))
    }

    /// Indices taken modulo the length of an array that is not empty.
    fn gather(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::Array(count.clone(), Box::new(element.clone()));
        let from = Size::Literal(1 + self.rng.below(3));
        let (Size::Literal(length), name) = (&from, self.fresh()) else {
            return self.simple(&own);
        };
        let indices = self.expr(&Ty::Array(count.clone(), Box::new(I64)), depth);
        let modulo = format!("(gather (map (\\{name} -> abs ({name} % {length})) ");
        let values = self.expr(&Ty::Array(from.clone(), Box::new(element.clone())), depth);
        node!(own; modulo, indices, ") ", values, ")")
    }

    /// Distinct indices: a rotation of the positions.
    fn scatter(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let from = self.size();
        let name = self.fresh();
        let shift = self.rng.below(4);
        let values = self.expr(&Ty::Array(from.clone(), Box::new(element.clone())), depth);
        node!(own.clone(); "(scatter ", self.expr(own, depth),
              format!(" (map (\\{name} -> {name} * 2 - {shift}) (iota {})) ", from.text()), values, ")")
    }

    fn transpose(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        match element {
            Ty::Array(inner, cell) => {
                let flipped = Ty::Array(inner.clone(), Box::new(Ty::Array(count.clone(), cell.clone())));
                node!(own.clone(); "(transpose ", self.expr(&flipped, depth), ")")
            }
            _ => self.simple(own),
        }
    }

    fn histogram(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let Ty::Scalar(scalar) = element else {
            return self.simple(own);
        };
        if *scalar == ScalarType::Bool {
            return self.simple(own);
        }
        let from = self.size();
        let zero = if scalar.is_float() {
            format!("0.0{scalar}")
        } else {
            format!("0{scalar}")
        };
        let name = self.fresh();
        let indices = self.expr(&Ty::Array(from.clone(), Box::new(I64)), depth);
        let values = self.expr(&Ty::Array(from, Box::new(element.clone())), depth);
        node!(own.clone(); "(reduce_by_index ", self.expr(own, depth),
              format!(" (+) {zero} (map (\\{name} -> {name} % 6) "), indices, ") ", values, ")")
    }

    /// Rows of their own lengths, brought back to one value each.
    fn jagged_rows(&mut self, count: &Size, element: &Ty, depth: usize) -> Node {
        let own = Ty::Array(count.clone(), Box::new(element.clone()));
        let Ty::Scalar(scalar) = element else {
            return self.simple(&own);
        };
        let (operator, start) = self.monoid(*scalar);
        let (row, cell) = (self.fresh(), self.fresh());
        let boolean = Ty::Scalar(ScalarType::Bool);
        let kept = self.with(&cell, element, |this| this.expr(&boolean, depth.min(2)));
        let rows = Ty::Array(
            count.clone(),
            Box::new(Ty::Array(size("m"), Box::new(element.clone()))),
        );
        let rows = self.expr(&rows, depth);
        node!(own; format!("(map (reduce {operator} {start}) (map (\\{row} -> filter (\\{cell} -> "), kept,
              format!(") {row}) "), rows, "))")
    }

    fn take_of_concat(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let extra = Ty::Array(self.size(), Box::new(element.clone()));
        node!(own.clone(); format!("(take {} (", count.text()), self.expr(own, depth), " ++ ", self.expr(&extra, depth), "))")
    }
}
