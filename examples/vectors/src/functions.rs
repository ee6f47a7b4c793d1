//! The functions of the language that take no functions.

use crate::compile::{Compiler, Element, Extent, Shape, Typed};
use crate::{Wrong, wrong};
use almach::ScalarType;
use almach::build::{self, Expr, call, lambda, let_, var};
use std::ops::Range;

/// Functions of one number, on every element of a vector; with their names in Almach.
pub const SCALAR: &[(&str, &str)] = &[
    ("abs", "abs"),
    ("cos", "cos"),
    ("exp", "exp"),
    ("floor", "floor"),
    ("ceiling", "ceil"),
    ("log", "log"),
    ("round", "round"),
    ("sin", "sin"),
    ("sqrt", "sqrt"),
    ("tan", "tan"),
    ("tanh", "tanh"),
];

/// Functions from a vector of numbers to a number.
pub const REDUCED: &[(&str, &str)] = &[
    ("sum", "sum"),
    ("prod", "product"),
    ("min", "minimum"),
    ("max", "maximum"),
];

const NUMBERS: Shape = Shape {
    extent: Extent::Many,
    element: Element::Number,
};

impl Compiler {
    /// A function of the language on values.
    pub fn known(&mut self, name: &str, mut args: Vec<Typed>, place: &Range<usize>) -> Result<Typed, Wrong> {
        if let Some((_, almach)) = SCALAR.iter().find(|(known, _)| *known == name)
            && args.len() == 1
        {
            let number = self.number(args.remove(0));
            return Ok(self.lifted(vec![number], Element::Number, |args| call(almach, args)));
        }
        if let Some((_, almach)) = REDUCED.iter().find(|(known, _)| *known == name)
            && args.len() == 1
        {
            return self.of_vector(args.remove(0), Shape::NUMBER, place, |xs| call(almach, [xs]));
        }
        match (name, args.len()) {
            ("c", 1..) => self.combine(args, place),
            ("ifelse", 3) => self.if_else(args, place),
            ("rep", 2) => self.repeat(args, place),
            ("any" | "all", 1) => {
                let value = self.logical(args.remove(0), place)?;
                if value.shape.extent == Extent::One {
                    return Ok(value);
                }
                let shape = Shape {
                    extent: Extent::One,
                    ..value.shape
                };
                let expr = call(name, [lambda(["x"], var("x")), value.expr]);
                Ok(Typed { expr, shape })
            }
            ("length", 1) => self.of_vector(args.remove(0), Shape::NUMBER, place, length),
            ("mean", 1) => self.of_vector(args.remove(0), Shape::NUMBER, place, mean),
            ("var", 1) => self.of_vector(args.remove(0), Shape::NUMBER, place, variance),
            ("sd", 1) => self.of_vector(args.remove(0), Shape::NUMBER, place, |xs| {
                call("sqrt", [variance(xs)])
            }),
            ("rev", 1) => self.of_vector(args.remove(0), NUMBERS, place, |xs| call("reverse", [xs])),
            ("sort", 1) => self.of_vector(args.remove(0), NUMBERS, place, |xs| call("sort", [xs])),
            ("cumsum", 1) => self.of_vector(args.remove(0), NUMBERS, place, |xs| {
                call("scan", [build::operator(build::Operator::Add), number(0.0), xs])
            }),
            ("seq_along", 1) => self.of_vector(args.remove(0), NUMBERS, place, |xs| {
                let counted = call("f64", [var("i")]) + number(1.0);
                call(
                    "map",
                    [lambda(["i"], counted), call("iota", [call("length", [xs])])],
                )
            }),
            _ => wrong(place, Compiler::nearest(name)),
        }
    }

    /// A function of a whole vector of numbers, which is bound to a name.
    fn of_vector(
        &mut self,
        value: Typed,
        shape: Shape,
        place: &Range<usize>,
        function: impl FnOnce(Expr) -> Expr,
    ) -> Result<Typed, Wrong> {
        if value.shape.extent == Extent::One {
            return wrong(
                place,
                "expected a vector, found one value; `c(x)` makes a vector of it",
            );
        }
        let value = self.number(value);
        let name = self.fresh("xs");
        let expr = let_(name.clone(), value.expr, function(var(&name)));
        Ok(Typed { expr, shape })
    }

    /// `c(1, x, 2)`.
    fn combine(&mut self, args: Vec<Typed>, place: &Range<usize>) -> Result<Typed, Wrong> {
        let all_logical = args.iter().all(|arg| arg.shape.element == Element::Logical);
        let element = match all_logical {
            true => Element::Logical,
            false => Element::Number,
        };
        let mut whole: Option<Expr> = None;
        for arg in args {
            let arg = if all_logical { arg } else { self.number(arg) };
            let part = match arg.shape.extent {
                Extent::One => build::array([arg.expr]),
                Extent::Many => arg.expr,
            };
            whole = Some(match whole {
                Some(before) => before.binary(build::Operator::Concat, part),
                None => part,
            });
        }
        match whole {
            Some(expr) => Ok(Typed {
                expr,
                shape: Shape {
                    extent: Extent::Many,
                    element,
                },
            }),
            None => wrong(place, "`c` needs something to combine"),
        }
    }

    fn if_else(&mut self, mut args: Vec<Typed>, place: &Range<usize>) -> Result<Typed, Wrong> {
        let condition = self.logical(args.remove(0), place)?;
        let element = match args.iter().all(|arg| arg.shape.element == Element::Logical) {
            true => Element::Logical,
            false => Element::Number,
        };
        let mut values = vec![condition];
        for arg in args {
            values.push(match element {
                Element::Logical => arg,
                Element::Number => self.number(arg),
            });
        }
        Ok(self.lifted(values, element, |args| match args.as_slice() {
            [condition, yes, no] => build::if_(condition.clone(), yes.clone(), no.clone()),
            _ => build::tuple([]),
        }))
    }

    /// `rep(x, n)`.
    fn repeat(&mut self, mut args: Vec<Typed>, place: &Range<usize>) -> Result<Typed, Wrong> {
        let value = args.remove(0);
        let count = args.remove(0);
        if value.shape.extent == Extent::Many || count.shape != Shape::NUMBER {
            return wrong(place, "`rep(x, n)` repeats one value a number of times");
        }
        let count = call("i64", [count.expr]);
        Ok(Typed {
            expr: call("replicate", [count, value.expr]),
            shape: Shape {
                extent: Extent::Many,
                ..value.shape
            },
        })
    }
}

fn number(value: f64) -> Expr {
    build::float(value, ScalarType::F64)
}

fn length(xs: Expr) -> Expr {
    call("f64", [call("length", [xs])])
}

fn mean(xs: Expr) -> Expr {
    call("sum", [xs.clone()]) / length(xs)
}

/// Of a sample: divided by one less than there are elements.
fn variance(xs: Expr) -> Expr {
    let distance = var("x") - var("middle");
    let squares = call("map", [lambda(["x"], distance.clone() * distance), xs.clone()]);
    let spread = call("sum", [squares]) / (length(xs.clone()) - number(1.0));
    let_("middle", mean(xs), spread)
}
