//! Arrays of unknown size, and jagged ones.

use super::{BOOL, Generator, I64};
use crate::node;
use crate::tree::{Node, Size, Ty};
use almach_value::ScalarType;

impl Generator {
    pub(super) fn unknown(&mut self, element: &Ty, depth: usize) -> Node {
        let own = Ty::Unknown(Box::new(element.clone()));
        if element.holds_unknown() {
            return self.simple(&own);
        }
        match self.rng.below(14) {
            0..4 => self.filter(&own, element, depth),
            4 => self.map_unknown(&own, element, depth),
            5 => self.scan_unknown(&own, element, depth),
            6 => self.slice(&own, element, depth),
            7 => node!(own.clone(); "(", self.expr(&own, depth), " ++ ", self.expr(&own, depth), ")"),
            8 => node!(own.clone(); "(reverse ", self.expr(&own, depth), ")"),
            9 => self.either_size(&own, element, depth),
            10 if *element == I64 => {
                let (b, e) = (self.rng.below(5), self.rng.below(12));
                let step = self.rng.pick(&["1", "2", "3", "(-1)"]).copied().unwrap_or("1");
                Node::leaf(own, format!("(range {b} {e} {step})"))
            }
            10 => self.flattened(&own, element, depth),
            12 if self.rng.chance(20) => self.through_a_list(&own, element, depth),
            11 => self.filter_map(&own, element, depth),
            _ => {
                let (name, index) = (self.fresh(), self.fresh());
                let xs = self.expr(&own, depth);
                let body = self.with(&name, &own, |this| {
                    this.with(&index, &I64, |this| this.expr(element, depth))
                });
                node!(own.clone(); format!("(let {name} = "), xs, format!(" in map (\\{index} -> "), body, format!(") (iota (length {name})))"))
            }
        }
    }

    /// Recursive data on the way.
    fn through_a_list(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let name = self.fresh();
        let from = Ty::array(self.size(), element.clone());
        let body = self.with(&name, element, |this| this.expr(element, depth.min(2)));
        let xs = self.expr(&from, depth);
        match self.rng.below(3) {
            0 => node!(own.clone(); "(array_of (list_reverse (list_of ", xs, ")))"),
            1 => {
                let test = self.with(&name, element, |this| this.expr(&BOOL, depth.min(2)));
                node!(own.clone(); format!("(array_of (list_filter (\\{name} -> "), test, ") (list_of ", xs, ")))")
            }
            _ => {
                node!(own.clone(); format!("(array_of (list_map (\\{name} -> "), body, ") (list_of ", xs, ")))")
            }
        }
    }

    fn filter(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let name = self.fresh();
        let (level, around) = self.level_of_collective();
        let chunk = self.chunk();
        let kept = self.inside(around, |this| {
            this.with(&name, element, |this| this.expr(&BOOL, depth.min(3)))
        });
        let from = match self.rng.below(3) {
            0 => own.clone(),
            _ => Ty::array(self.size(), element.clone()),
        };
        match self.rng.below(6) {
            0 => {
                node!(own.clone(); format!("((partition{level}{chunk} (\\{name} -> "), kept, ") ", self.expr(&from, depth), ").1)")
            }
            _ => {
                node!(own.clone(); format!("(filter{level}{chunk} (\\{name} -> "), kept, ") ", self.expr(&from, depth), ")")
            }
        }
    }

    fn map_unknown(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let from = self.element(0);
        let name = self.fresh();
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&name, &from, |this| this.expr(element, depth))
        });
        node!(own.clone(); format!("(map{level} (\\{name} -> "), body, ") ", self.expr(&Ty::Unknown(Box::new(from)), depth), ")")
    }

    fn scan_unknown(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        match element {
            Ty::Scalar(scalar) => {
                let (operator, start) = self.monoid(*scalar);
                let (level, _) = self.level_of_collective();
                node!(own.clone(); format!("(scan{level} {operator} {start} "), self.expr(own, depth), ")")
            }
            _ => self.filter(own, element, depth),
        }
    }

    fn slice(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let (name, at) = (self.fresh(), self.rng.below(3));
        let from = Ty::array(self.size(), element.clone());
        let slice = match self.rng.below(4) {
            0 => format!("{name}[min {at} (length {name}):]"),
            1 => format!("{name}[:length {name} / 2]"),
            2 => format!("{name}[::{}]", at + 1),
            _ => format!("{name}[::-{}]", at + 1),
        };
        node!(own.clone(); format!("(let {name} = "), self.expr(&from, depth), format!(" in {slice})"))
    }

    fn either_size(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let one = Ty::array(self.size(), element.clone());
        let other = Ty::array(Size::Literal(self.rng.below(3)), element.clone());
        node!(own.clone(); "(if ", self.expr(&BOOL, depth), " then ", self.expr(&one, depth), " else ", self.expr(&other, depth), ")")
    }

    fn flattened(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let rows = Ty::array(self.size(), Ty::Unknown(Box::new(element.clone())));
        node!(own.clone(); "(flatten ", self.expr(&rows, depth), ")")
    }

    fn filter_map(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        // Arrays in a `Maybe` have sizes of their own.
        if element.holds_array() {
            return self.filter(own, element, depth);
        }
        let from = self.plain();
        let name = self.fresh();
        let wanted = Ty::Maybe(Box::new(element.clone()));
        let body = self.with(&name, &from, |this| this.expr(&wanted, depth));
        let array = Ty::array(self.size(), from);
        node!(own.clone(); format!("(filter_map (\\{name} -> "), body, ") ", self.expr(&array, depth), ")")
    }

    /// Rows that are scanned, and rows of rows that are reduced.
    fn nested_rows(&mut self, own: &Ty, count: &Size, scalar: ScalarType, depth: usize) -> Node {
        let (operator, start) = self.monoid(scalar);
        if self.rng.chance(50) {
            return self.scanned_rows(own, scalar, depth);
        }
        let (rows, name, from) = (self.fresh(), self.fresh(), self.plain());
        let row = Ty::Unknown(Box::new(Ty::Scalar(scalar)));
        let body = self.with(&name, &from, |this| this.expr(&row, depth.min(2)));
        let given = self.expr(&Ty::array(count.clone(), Ty::Unknown(Box::new(from))), depth);
        let mut around = format!("(map (map (reduce {operator} {start})) ");
        let mut ends = ")".to_owned();
        for _ in 0..self.rng.below(3) {
            around.push_str(&self.step_below(scalar));
            ends.push(')');
        }
        node!(own.clone(); format!("{around}(map (\\{rows} -> map (\\({name}) -> ("), body,
              format!(" : {})) {rows}) ", row.text()), given, format!("){ends}"))
    }

    /// Each row is scanned.
    fn scanned_rows(&mut self, own: &Ty, scalar: ScalarType, depth: usize) -> Node {
        let (operator, start) = self.monoid(scalar);
        let name = self
            .rng
            .pick(&["scan", "scan_exclusive"])
            .copied()
            .unwrap_or("scan");
        let rows = self.expr(own, depth);
        match self.rng.below(3) {
            0 => node!(own.clone(); format!("(map ({name} {operator} {start}) "), rows, ")"),
            1 => {
                let name = name.replace("scan", "scan_rows");
                let (level, _) = self.level_of_collective();
                let chunk = self.chunk();
                node!(own.clone(); format!("({name}{level}{chunk} {operator} {start} "), rows, ")")
            }
            _ => {
                let (row, x) = (self.fresh(), self.fresh());
                let element = Ty::Scalar(scalar);
                let made = self.with(&x, &element, |this| this.expr(&element, depth.min(2)));
                node!(own.clone(); format!("(map (\\{row} -> {name} {operator} {start} (map (\\{x} -> "), made,
                      format!(") {row})) "), rows, ")")
            }
        }
    }

    /// The beginning of something that is done to rows of rows of scalars, and gives such again.
    fn step_below(&mut self, scalar: ScalarType) -> String {
        let (operator, start) = self.monoid(scalar);
        let (rows, row, x) = (self.fresh(), self.fresh(), self.fresh());
        match self.rng.below(5) {
            0 => format!("(map (map (scan {operator} {start})) "),
            1 => format!("(map (map (map (\\{x} -> {operator} {x} {x}))) "),
            2 => format!("(map (\\{rows} -> map (filter (\\{x} -> {x} != {start})) {rows}) "),
            3 => format!("(map (filter (\\{row} -> length {row} != 1)) "),
            _ => format!("(map (\\{rows} -> map reverse (reverse {rows})) "),
        }
    }

    /// `[n][?]t`.
    pub(super) fn jagged(&mut self, count: &Size, cell: &Ty, depth: usize) -> Node {
        let row = Ty::Unknown(Box::new(cell.clone()));
        let own = Ty::array(count.clone(), row.clone());
        if let (Ty::Scalar(scalar), 0 | 1) = (cell, self.rng.below(12)) {
            return self.nested_rows(&own, count, *scalar, depth);
        }
        match self.rng.below(12) {
            0 | 1 => {
                let (name, from) = (self.fresh(), self.element(0));
                let body = self.with(&name, &from, |this| this.expr(&row, depth));
                let xs = Ty::array(count.clone(), from);
                node!(own; format!("(map (\\({name}) -> "), body, ") ", self.expr(&xs, depth), format!(" : {})", Ty::array(count.clone(), row).text()))
            }
            2 => {
                let regular = Ty::array(count.clone(), Ty::array(self.size(), cell.clone()));
                node!(own; "(jagged ", self.expr(&regular, depth), ")")
            }
            3 => {
                let (name, inner) = (self.fresh(), self.fresh());
                let from = self.plain();
                let body = self.with(&inner, &from, |this| this.expr(cell, depth));
                let rows = Ty::array(count.clone(), Ty::Unknown(Box::new(from)));
                node!(own; format!("(map (\\{name} -> map (\\{inner} -> "), body, format!(") {name}) "), self.expr(&rows, depth), ")")
            }
            4 => node!(own.clone(); "(reverse ", self.expr(&own, depth), ")"),
            5 => {
                let (name, inner) = (self.fresh(), self.fresh());
                let test = self.with(&inner, cell, |this| this.expr(&BOOL, depth.min(2)));
                node!(own.clone(); format!("(map (\\{name} -> filter (\\{inner} -> "), test, format!(") {name}) "), self.expr(&own, depth), ")")
            }
            6 => {
                let (name, all) = (self.fresh(), self.fresh());
                let regular = Ty::array(count.clone(), Ty::Unknown(Box::new(cell.clone())));
                let flat = self.expr(&regular, depth);
                node!(own; format!("(let {name} = "), flat,
                      format!(" in let {all} = flatten {name} in (unflatten (segments {name}) {all}) :> {})", regular.text()))
            }
            7 => {
                let (index, rows) = (self.fresh(), self.fresh());
                let (level, _) = self.level_of_collective();
                node!(own.clone(); format!("(let {rows} = "), self.expr(&own, depth),
                      format!(" in gather{level} (map (\\{index} -> ({index} * 7 + 1) % {0}) (iota {0})) {rows})", count.text()))
            }
            8 => {
                let (name, from) = (self.fresh(), self.plain());
                let body = self.with(&name, &from, |this| this.expr(&BOOL, depth.min(2)));
                let (one, other) = (self.expr(&own, depth), self.expr(&own, depth));
                node!(own; format!("(map (\\{name} one other -> if "), body, " then one else other) ",
                      self.expr(&Ty::array(count.clone(), from), depth), " ", one, " ", other, ")")
            }
            9 => self.grown_rows(&own, &row, count, depth),
            10 => self.rows_of_reduced(&own, cell, count, depth),
            _ => match cell {
                Ty::Scalar(ScalarType::I64) => {
                    let name = self.fresh();
                    let lengths = Ty::array(count.clone(), I64);
                    node!(own; format!("(map (\\{name} -> iota (abs ({name} % 4))) "), self.expr(&lengths, depth), ")")
                }
                _ => {
                    let name = self.fresh();
                    let all = Ty::array(self.named("m"), cell.clone());
                    node!(own; format!("(let {name} = "), self.expr(&all, depth),
                          format!(" in map (\\i -> {name}[:min i (length {name})]) (iota {}))", count.text()))
                }
            },
        }
    }

    /// Rows whose elements depend on what their rows come to, as long as those.
    fn rows_of_reduced(&mut self, own: &Ty, cell: &Ty, count: &Size, depth: usize) -> Node {
        let scalar = match self.rng.chance(50) {
            true => ScalarType::I64,
            false => ScalarType::I32,
        };
        let (operator, start) = self.monoid(scalar);
        let (row, x, all, k) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        let from = Ty::Scalar(scalar);
        let body = self.with(&x, &from, |this| {
            this.with(&all, &from, |this| {
                this.with(&k, &I64, |this| this.expr(cell, depth.min(3)))
            })
        });
        let rows = Ty::array(count.clone(), Ty::Unknown(Box::new(from)));
        let given = self.expr(&rows, depth);
        let numbers = self.expr(&Ty::array(count.clone(), I64), depth.min(2));
        let same = match self.rng.below(3) {
            0 => format!("reverse {row}"),
            1 => format!("(scan {operator} {start} {row})"),
            _ => row.clone(),
        };
        node!(own.clone(); format!("(map (\\{row} {k} -> let {all} = reduce {operator} {start} {row} in map (\\{x} -> "),
              body, format!(") ({same})) "), given, " ", numbers, format!(" : {})", own.text()))
    }

    /// Rows that a loop makes longer: threads share them.
    fn grown_rows(&mut self, own: &Ty, row: &Ty, count: &Size, depth: usize) -> Node {
        let (name, grown, step, from) = (self.fresh(), self.fresh(), self.fresh(), self.element(0));
        let first = self.with(&name, &from, |this| this.expr(row, depth.min(2)));
        let more = self.with(&name, &from, |this| {
            this.with(&step, &I64, |this| this.expr(row, depth.min(2)))
        });
        let xs = self.expr(&Ty::array(count.clone(), from), depth);
        node!(own.clone(); format!("(map (\\({name}) -> loop ({grown} = "), first,
              format!(") for {step} < 3 do if length {grown} > 4 then reverse {grown} else {grown} ++ "), more,
              ") ", xs, format!(" : {})", own.text()))
    }
}
