//! Views: what moves elements and computes nothing.

use super::levels::LEVEL_MARK;
use super::{Generator, I64};
use crate::node;
use crate::tree::{Node, Size, Ty};

impl Generator {
    pub(super) fn view(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let (c, ty) = (count.text(), own.text());
        let level = self.level_of_view();
        match self.rng.below(18) {
            0 => node!(own.clone(); format!("(reverse{level} "), self.expr(own, depth), ")"),
            1 => {
                let by = self.rng.below(9) as i64 - 4;
                node!(own.clone(); format!("(rotate{level} ({by}) "), self.expr(own, depth), ")")
            }
            2 => self.transpose(own, count, element, depth),
            3 => self.take_of_concat(own, count, element, depth),
            4 => {
                let extra = Ty::array(self.size(), element.clone());
                let e = self.expr(&extra, depth);
                node!(own.clone(); format!("(let v{0} = ", self.next + 1), { self.next += 1; e },
                      format!(" in drop (length v{}) (concat{level} v{} ", self.next, self.next),
                      self.expr(own, depth), format!(") :> {ty})"))
            }
            5 => node!(own.clone(); "(", self.expr(own, depth), format!("[::-1] :> {ty})")),
            6 => {
                node!(own.clone(); "((", self.expr(own, depth), " ++ ", self.expr(own, depth), format!(")[::2] :> {ty})"))
            }
            7 => self.split_and_join(own, count, element, depth),
            8 => self.vectors(own, count, element, depth),
            9 => self.windows(own, count, element, depth),
            10 => {
                node!(own.clone(); format!("(take {c} (drop 2 (pad{level} 2 1 "), self.expr(element, depth), " ", self.expr(own, depth), ")))")
            }
            11 => self.unzipped(own, count, element, depth),
            15 => self.destination_view(own, count, element, depth),
            16 => self.eager_view(own, count, element, depth),
            17 => self.source_map(own, element, depth),
            12 => node!(own.clone(); "(", self.expr(own, depth), format!("[0:{c}] :> {ty})")),
            13 => {
                // Of an empty array it is an error; mostly that is looked at first.
                let name = self.fresh();
                let least = if self.rng.chance(90) { 0 } else { -1 };
                node!(own.clone(); format!("(let {name} = "), self.expr(own, depth),
                      format!(" in if length {name} > {least} then drop 1 (take ({c} + 1) (pad_edge{level} 1 2 {name})) :> {ty} else {name})"))
            }
            _ => {
                let extra = Ty::Unknown(Box::new(element.clone()));
                node!(own.clone(); format!("(take {c} ("), self.expr(own, depth), " ++ ", self.expr(&extra, depth), "))")
            }
        }
    }

    /// A map, which a destination view may stand over whatever is inside it.
    fn written(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let name = self.fresh();
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&name, element, |this| this.expr(element, depth))
        });
        node!(own.clone(); format!("(map{level} (\\{name} -> "), body, ") ", self.expr(own, depth), ")")
    }

    /// Views that are written through: alone, or of each other.
    fn destination_view(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let c = count.text();
        let first = self.written(own, element, depth);
        match self.rng.below(6) {
            0 => node!(own.clone(); format!("(reverse{LEVEL_MARK}D "), first, ")"),
            1 => {
                let by = self.rng.below(9) as i64 - 4;
                node!(own.clone(); format!("(rotate{LEVEL_MARK}D ({by}) (reverse{LEVEL_MARK}D "), first, "))")
            }
            2 => {
                let second = self.written(own, element, depth);
                node!(own.clone(); format!("(take {c} (concat{LEVEL_MARK}D (reverse{LEVEL_MARK}D "), first, ") ", second, "))")
            }
            3 => {
                let edge = self.expr(element, depth.min(1));
                node!(own.clone(); format!("(take {c} (drop 1 (pad{LEVEL_MARK}D 2 1 "), edge, " ", first, ")))")
            }
            4 => {
                let second = self.written(own, element, depth);
                node!(own.clone(); format!("((unzip (zip{LEVEL_MARK}D "), first, " ", second, ")).0)")
            }
            _ => {
                let level = self.rng.pick(&["D", "E"]).copied().unwrap_or("D");
                node!(own.clone(); format!("(take {c} (join{LEVEL_MARK}{level} (replicate{LEVEL_MARK}D 2 "), first, ")))")
            }
        }
    }

    /// Views that are copied.
    fn eager_view(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let (c, e) = (count.text(), format!("{LEVEL_MARK}E"));
        match self.rng.below(3) {
            0 => {
                node!(own.clone(); format!("(take{e} {c} (concat{e} "), self.expr(own, depth), " ", self.expr(own, depth), "))")
            }
            1 => {
                let name = self.fresh();
                let window = Ty::array(Size::Literal(3), element.clone());
                let body = self.with(&name, &window, |this| this.expr(element, depth));
                let edge = self.expr(element, depth.min(1));
                // An array could be a source view.
                let taken = match element.scalar() {
                    Some(_) => format!("{LEVEL_MARK}D"),
                    None => String::new(),
                };
                node!(own.clone(); format!("(map{taken} (\\{name} -> "), body,
                      format!(") (slide{e} 3 1 (pad 1 1 "), edge, " ", self.expr(own, depth), format!(")) :> {})", own.text()))
            }
            _ => node!(own.clone(); format!("(take {c} (join{e} (split{e} 1 "), self.expr(own, depth), ")))"),
        }
    }

    /// A map that is computed where it is read.
    fn source_map(&mut self, own: &Ty, element: &Ty, depth: usize) -> Node {
        let (name, other) = (self.fresh(), self.fresh());
        let condition = match element.scalar() {
            Some(scalar) if scalar != almach_value::ScalarType::Bool => format!("{name} < {other}"),
            _ => "1 < 2".to_owned(),
        };
        let by = self.expr(element, depth.min(1));
        node!(own.clone(); format!("(let {other} = "), by,
              format!(" in map{LEVEL_MARK}S (\\{name} -> if {condition} then {other} else {name}) "), self.expr(own, depth), ")")
    }

    fn transpose(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        match element {
            Ty::Array(inner, cell) if !cell.holds_unknown() => {
                let flipped = Ty::array(inner.clone(), Ty::Array(count.clone(), cell.clone()));
                let level = self.level_of_view();
                node!(own.clone(); format!("(transpose{level} "), self.expr(&flipped, depth), ")")
            }
            _ => self.simple(own),
        }
    }

    fn take_of_concat(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let extra = Ty::array(self.size(), element.clone());
        node!(own.clone(); format!("(take {} (", count.text()), self.expr(own, depth), " ++ ", self.expr(&extra, depth), "))")
    }

    fn split_and_join(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let by = 2 + self.rng.below(2);
        let row = Ty::array(Size::Literal(by), element.clone());
        let name = self.fresh();
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&name, &row, |this| this.expr(&row, depth))
        });
        let whole = self.fresh();
        let xs = self.expr(own, depth);
        let copies = vec![whole.as_str(); by].join(" ++ ");
        node!(own.clone(); format!("(let {whole} = "), xs, format!(" in take {} (join (map{level} (\\{name} -> ", count.text()),
              body, format!(") (split {by} ({copies})))))"))
    }

    /// Short vectors of numbers.
    fn vectors(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let Some(scalar) = element
            .scalar()
            .filter(|scalar| *scalar != almach_value::ScalarType::Bool)
        else {
            return self.simple(own);
        };
        let width = self.rng.pick(&[2, 4]).copied().unwrap_or(2);
        let (whole, lane) = (self.fresh(), self.fresh());
        let xs = self.expr(own, depth);
        let by = self.expr(element, depth);
        let factor = self.fresh();
        let operations = match scalar.is_float() {
            true => [
                format!("{lane} + {factor}"),
                format!("{lane} - {lane}"),
                format!("{factor} + {lane} + {lane}"),
            ],
            false => [
                format!("{lane} * {lane} + {factor}"),
                format!("{lane} - {factor}"),
                format!("{lane} + {lane}"),
            ],
        };
        let body = self.rng.pick(&operations).cloned().unwrap_or_default();
        let (level, _) = self.level();
        let copies = vec![whole.as_str(); width].join(" ++ ");
        node!(own.clone(); format!("(let {factor} = "), by, format!(" in let {whole} = "), xs,
              format!(" in take {} (asScalar (map{level} (\\{lane} -> {body}) (asVector {width} ({copies})))))", count.text()))
    }

    /// A stencil.
    fn windows(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let width = 2 + self.rng.below(2);
        let window = Ty::array(Size::Literal(width), element.clone());
        let name = self.fresh();
        let (level, around) = self.level();
        let body = self.inside(around, |this| {
            this.with(&name, &window, |this| this.expr(element, depth))
        });
        let edge = self.expr(element, depth.min(1));
        let view = self.level_of_view();
        node!(own.clone(); format!("(map{level} (\\{name} -> "), body,
              format!(") (slide{view} {width} 1 (pad 0 {} ", width - 1), edge, " ", self.expr(own, depth),
              format!(")) :> {})", Ty::array(count.clone(), element.clone()).text()))
    }

    fn unzipped(&mut self, own: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        let other = match self.rng.below(2) {
            0 => I64,
            _ => self.plain(),
        };
        let pairs = Ty::array(count.clone(), Ty::Tuple(vec![other, element.clone()]));
        match self.rng.below(2) {
            0 => node!(own.clone(); "((unzip ", self.expr(&pairs, depth), ").1)"),
            _ => node!(own.clone(); "(map snd ", self.expr(&pairs, depth), ")"),
        }
    }
}
