//! A tree to a program of Almach.

use crate::functions::{REDUCED, SCALAR};
use crate::syntax::{Kind, Node, Param};
use crate::{Wrong, wrong};
use almach::ScalarType;
use almach::build::{self, Expr, Module, Operator, Sizes, Ty, call, lambda, let_, var};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// What a value is. It decides where a `map` stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub extent: Extent,
    pub element: Element,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    One,
    Many,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    Number,
    Logical,
}

impl Shape {
    pub const NUMBER: Shape = Shape {
        extent: Extent::One,
        element: Element::Number,
    };

    fn many(element: Element) -> Shape {
        Shape {
            extent: Extent::Many,
            element,
        }
    }

    fn ty(self) -> Ty {
        let element = match self.element {
            Element::Number => Ty::F64,
            Element::Logical => Ty::BOOL,
        };
        match self.extent {
            Extent::One => element,
            Extent::Many => Ty::jagged(element),
        }
    }
}

/// An expression of Almach with its shape.
#[derive(Clone)]
pub struct Typed {
    pub expr: Expr,
    pub shape: Shape,
}

/// What a name stands for.
#[derive(Clone)]
enum Meaning {
    Value { name: String, shape: Shape },
    Function(Rc<Closure>),
}

/// A function with what its names stand for where it is written.
struct Closure {
    params: Vec<Param>,
    body: Node,
    scope: Scope,
}

type Scope = HashMap<String, Meaning>;
type Made<T> = Result<T, Wrong>;

/// How deep calls may be expanded: the language has no recursion.
const DEPTH: usize = 100;

pub fn program(name: &str, text: &str, functions: &[(String, Node)]) -> Made<Module> {
    let mut scope = Scope::new();
    for (name, node) in functions {
        // Functions see those before them.
        let Kind::Function(params, body) = &node.kind else {
            return wrong(
                &node.place,
                format!("`{name}` is not a function: write `{name} <- function(x) …`"),
            );
        };
        let closure = Closure {
            params: params.clone(),
            body: (**body).clone(),
            scope: scope.clone(),
        };
        scope.insert(name.clone(), Meaning::Function(Rc::new(closure)));
    }
    let Some(Meaning::Function(main)) = scope.get("main") else {
        return wrong(&(0..0), "there is no `main`");
    };
    let shapes: Vec<Shape> = main
        .params
        .iter()
        .map(|param| match param.is_number {
            true => Shape::NUMBER,
            false => Shape::many(Element::Number),
        })
        .collect();
    let mut compiler = Compiler { names: 0, depth: 0 };
    let values = main
        .params
        .iter()
        .zip(&shapes)
        .map(|(param, shape)| Meaning::Value {
            name: param.name.replace('.', "_") + "_in",
            shape: *shape,
        });
    let values: Vec<Meaning> = values.collect();
    let params: Vec<(String, Ty)> = values
        .iter()
        .filter_map(|value| match value {
            Meaning::Value { name, shape } if shape.extent == Extent::Many => {
                Some((name.clone(), Ty::array(Ty::F64)))
            }
            Meaning::Value { name, shape } => Some((name.clone(), shape.ty())),
            Meaning::Function(_) => None,
        })
        .collect();
    let result = compiler.expand(main, values, &main.body.place)?;
    let module = Module::new(name).source(text).sizes(Sizes::WhenRun);
    Ok(module.entry("main", params, result.shape.ty(), result.expr))
}

pub struct Compiler {
    names: usize,
    depth: usize,
}

impl Compiler {
    pub fn fresh(&mut self, hint: &str) -> String {
        self.names += 1;
        format!("{}_{}", hint.replace('.', "_").to_lowercase(), self.names)
    }

    fn expr(&mut self, node: &Node, scope: &Scope) -> Made<Typed> {
        let typed = match &node.kind {
            Kind::Number(value) => Typed {
                expr: build::float(*value, ScalarType::F64),
                shape: Shape::NUMBER,
            },
            Kind::Logical(value) => Typed {
                expr: build::boolean(*value),
                shape: Shape {
                    extent: Extent::One,
                    element: Element::Logical,
                },
            },
            Kind::Name(name) => match scope.get(name) {
                Some(Meaning::Value { name, shape }) => Typed {
                    expr: var(name),
                    shape: *shape,
                },
                Some(Meaning::Function(_)) => {
                    return wrong(&node.place, format!("`{name}` is a function; call it"));
                }
                None => return wrong(&node.place, format!("`{name}` has no value here")),
            },
            Kind::Unary("!", operand) => {
                let operand = self.expr(operand, scope)?;
                let operand = self.logical(operand, &node.place)?;
                self.lifted(vec![operand], Element::Logical, |mut args| !args.remove(0))
            }
            Kind::Unary(_, operand) => {
                let operand = self.expr(operand, scope)?;
                let operand = self.number(operand);
                self.lifted(vec![operand], Element::Number, |mut args| -args.remove(0))
            }
            Kind::Binary(operator, left, right) => {
                let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
                self.binary(operator, left, right, &node.place)?
            }
            Kind::Index(vector, index) => {
                let (vector, index) = (self.expr(vector, scope)?, self.expr(index, scope)?);
                self.index(vector, index, &node.place)?
            }
            Kind::If(condition, yes, no) => {
                let condition = self.expr(condition, scope)?;
                let condition = self.logical(condition, &node.place)?;
                if condition.shape.extent == Extent::Many {
                    return wrong(
                        &node.place,
                        "an `if` needs one logical; `ifelse` chooses for every element",
                    );
                }
                let (yes, no) = (self.expr(yes, scope)?, self.expr(no, scope)?);
                let (yes, no) = self.alike(yes, no, &node.place)?;
                Typed {
                    expr: build::if_(condition.expr, yes.expr, no.expr),
                    shape: yes.shape,
                }
            }
            Kind::Block(assignments, value) => self.block(assignments, value, scope)?,
            Kind::Call(function, args) => self.call(function, args, scope, &node.place)?,
            Kind::Function(..) => {
                return wrong(
                    &node.place,
                    "a function is not a value; give it to `sapply`, or name it",
                );
            }
        };
        Ok(Typed {
            expr: typed.expr.at(node.place.clone()),
            ..typed
        })
    }

    fn block(&mut self, assignments: &[(String, Node)], value: &Node, scope: &Scope) -> Made<Typed> {
        let mut scope = scope.clone();
        let mut bound = Vec::new();
        for (name, node) in assignments {
            if let Kind::Function(params, body) = &node.kind {
                let closure = Closure {
                    params: params.clone(),
                    body: (**body).clone(),
                    scope: scope.clone(),
                };
                scope.insert(name.clone(), Meaning::Function(Rc::new(closure)));
                continue;
            }
            let value = self.expr(node, &scope)?;
            let own = self.fresh(name);
            let meaning = Meaning::Value {
                name: own.clone(),
                shape: value.shape,
            };
            scope.insert(name.clone(), meaning);
            bound.push((own, value.expr));
        }
        let value = self.expr(value, &scope)?;
        let expr = bound
            .into_iter()
            .rev()
            .fold(value.expr, |body, (name, value)| let_(name, value, body));
        Ok(Typed { expr, ..value })
    }

    /// A call of a function of the language, or of the program.
    fn call(&mut self, function: &Node, args: &[Node], scope: &Scope, place: &Range<usize>) -> Made<Typed> {
        if let Kind::Name(name) = &function.kind
            && !scope.contains_key(name)
        {
            return self.built_in(name, args, scope, place);
        }
        let closure = self.function(function, scope)?;
        let mut values = Vec::new();
        let mut bound = Vec::new();
        for arg in args {
            // A function may be passed on.
            if let Ok(function) = self.function(arg, scope) {
                values.push(Meaning::Function(function));
                continue;
            }
            let value = self.expr(arg, scope)?;
            let name = self.fresh("arg");
            values.push(Meaning::Value {
                name: name.clone(),
                shape: value.shape,
            });
            bound.push((name, value.expr));
        }
        let result = self.expand(&closure, values, place)?;
        let expr = bound
            .into_iter()
            .rev()
            .fold(result.expr, |body, (name, value)| let_(name, value, body));
        Ok(Typed { expr, ..result })
    }

    /// The function that an expression is.
    fn function(&self, node: &Node, scope: &Scope) -> Made<Rc<Closure>> {
        match &node.kind {
            Kind::Function(params, body) => Ok(Rc::new(Closure {
                params: params.clone(),
                body: (**body).clone(),
                scope: scope.clone(),
            })),
            Kind::Name(name) => match scope.get(name) {
                Some(Meaning::Function(closure)) => Ok(Rc::clone(closure)),
                _ => wrong(&node.place, format!("`{name}` is not a function")),
            },
            _ => wrong(&node.place, "this is not a function"),
        }
    }

    /// The body of a function where it is called.
    fn expand(&mut self, closure: &Closure, values: Vec<Meaning>, place: &Range<usize>) -> Made<Typed> {
        if closure.params.len() != values.len() {
            let (wanted, found) = (closure.params.len(), values.len());
            return wrong(
                place,
                format!("this function takes {wanted} arguments, and {found} came"),
            );
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return wrong(place, format!("calls go {DEPTH} deep here"));
        }
        let mut scope = closure.scope.clone();
        scope.extend(closure.params.iter().map(|param| param.name.clone()).zip(values));
        let result = self.expr(&closure.body, &scope);
        self.depth -= 1;
        result
    }

    fn built_in(&mut self, name: &str, args: &[Node], scope: &Scope, place: &Range<usize>) -> Made<Typed> {
        match (name, args) {
            ("sapply", [vector, function]) => self.sapply(vector, function, scope),
            ("Filter", [function, vector]) => {
                let vector = self.vector(vector, scope)?;
                let (param, body) = self.function_of_one(function, vector.shape.element, scope)?;
                let body = self.logical(body, &function.place)?;
                Ok(Typed {
                    expr: call("filter", [lambda([param], body.expr), vector.expr]),
                    shape: vector.shape,
                })
            }
            ("Reduce", [function, vector, first]) => self.reduce(function, vector, first, scope),
            _ => {
                let values: Made<Vec<Typed>> = args.iter().map(|arg| self.expr(arg, scope)).collect();
                self.known(name, values?, place)
            }
        }
    }

    fn vector(&mut self, node: &Node, scope: &Scope) -> Made<Typed> {
        let value = self.expr(node, scope)?;
        match value.shape.extent {
            Extent::Many => Ok(value),
            Extent::One => wrong(&node.place, "expected a vector"),
        }
    }

    fn function_of_one(&mut self, function: &Node, element: Element, scope: &Scope) -> Made<(String, Typed)> {
        let closure = self.function(function, scope)?;
        let name = self.fresh("element");
        let shape = Shape {
            extent: Extent::One,
            element,
        };
        let value = Meaning::Value {
            name: name.clone(),
            shape,
        };
        let body = self.expand(&closure, vec![value], &function.place)?;
        match body.shape.extent {
            Extent::One => Ok((name, body)),
            Extent::Many => wrong(
                &function.place,
                "this function gives a vector; vectors hold numbers and logicals",
            ),
        }
    }

    fn sapply(&mut self, vector: &Node, function: &Node, scope: &Scope) -> Made<Typed> {
        let vector = self.vector(vector, scope)?;
        let (param, body) = self.function_of_one(function, vector.shape.element, scope)?;
        Ok(Typed {
            shape: Shape::many(body.shape.element),
            expr: call("map", [lambda([param], body.expr), vector.expr]),
        })
    }

    /// The function is applied from left to right; it need not be associative.
    fn reduce(&mut self, function: &Node, vector: &Node, first: &Node, scope: &Scope) -> Made<Typed> {
        let closure = self.function(function, scope)?;
        let vector = self.vector(vector, scope)?;
        let first = self.expr(first, scope)?;
        let names = [self.fresh("so_far"), self.fresh("element")];
        let element = Shape {
            extent: Extent::One,
            ..vector.shape
        };
        let values = names
            .iter()
            .zip([first.shape, element])
            .map(|(name, shape)| Meaning::Value {
                name: name.clone(),
                shape,
            });
        let body = self.expand(&closure, values.collect(), &function.place)?;
        if body.shape != first.shape || first.shape.extent == Extent::Many {
            return wrong(
                &function.place,
                "this function must give what `Reduce` starts with: one number or logical",
            );
        }
        Ok(Typed {
            expr: call("reduceSeq", [lambda(names, body.expr), first.expr, vector.expr]),
            shape: first.shape,
        })
    }

    fn index(&mut self, vector: Typed, index: Typed, place: &Range<usize>) -> Made<Typed> {
        if vector.shape.extent == Extent::One {
            return wrong(place, "only vectors have elements");
        }
        let position = |number: Expr| call("i64", [number]) - build::int(1, ScalarType::I64);
        Ok(match (index.shape.extent, index.shape.element) {
            (Extent::One, Element::Number) => Typed {
                expr: vector.expr.index([position(index.expr)]),
                shape: Shape {
                    extent: Extent::One,
                    ..vector.shape
                },
            },
            (Extent::Many, Element::Number) => {
                let positions = call("map", [lambda(["i"], position(var("i"))), index.expr]);
                Typed {
                    expr: call("gather", [positions, vector.expr]),
                    ..vector
                }
            }
            (Extent::Many, Element::Logical) => {
                let pairs = call("zip", [vector.expr, index.expr]);
                let kept = call("filter", [lambda(["pair"], var("pair").component(1)), pairs]);
                Typed {
                    expr: call("map", [lambda(["pair"], var("pair").component(0)), kept]),
                    ..vector
                }
            }
            (Extent::One, Element::Logical) => return wrong(place, "an index is a number, or a vector"),
        })
    }

    fn binary(&mut self, operator: &str, left: Typed, right: Typed, place: &Range<usize>) -> Made<Typed> {
        let arithmetic = |operator: Operator, result: Element| (operator, Element::Number, result);
        let (operator, operands, result) = match operator {
            "+" => arithmetic(Operator::Add, Element::Number),
            "-" => arithmetic(Operator::Sub, Element::Number),
            "*" => arithmetic(Operator::Mul, Element::Number),
            "/" => arithmetic(Operator::Div, Element::Number),
            "^" => arithmetic(Operator::Pow, Element::Number),
            "==" => arithmetic(Operator::Equal, Element::Logical),
            "!=" => arithmetic(Operator::NotEqual, Element::Logical),
            "<" => arithmetic(Operator::Less, Element::Logical),
            "<=" => arithmetic(Operator::LessEqual, Element::Logical),
            ">" => arithmetic(Operator::Greater, Element::Logical),
            ">=" => arithmetic(Operator::GreaterEqual, Element::Logical),
            "&" => (Operator::And, Element::Logical, Element::Logical),
            "|" => (Operator::Or, Element::Logical, Element::Logical),
            ":" => return self.range(left, right, place),
            "%*%" => return self.dot(left, right, place),
            _ => return Ok(self.modulo(left, right)),
        };
        let operands = match operands {
            Element::Number => vec![self.number(left), self.number(right)],
            Element::Logical => vec![self.logical(left, place)?, self.logical(right, place)?],
        };
        Ok(self.lifted(operands, result, |mut args| {
            let right = args.pop();
            let left = args.pop();
            match (left, right) {
                (Some(left), Some(right)) => left.binary(operator, right),
                _ => build::tuple([]),
            }
        }))
    }

    /// `a %% b` has the sign of `b`.
    fn modulo(&mut self, left: Typed, right: Typed) -> Typed {
        let operands = vec![self.number(left), self.number(right)];
        self.lifted(operands, Element::Number, |args| match args.as_slice() {
            [a, b] => a.clone() - b.clone() * call("floor", [a.clone() / b.clone()]),
            _ => build::tuple([]),
        })
    }

    fn dot(&mut self, left: Typed, right: Typed, place: &Range<usize>) -> Made<Typed> {
        let product = self.binary("*", left, right, place)?;
        self.known("sum", vec![product], place)
    }

    /// `a:b` counts up or down.
    fn range(&mut self, left: Typed, right: Typed, place: &Range<usize>) -> Made<Typed> {
        if left.shape != Shape::NUMBER || right.shape != Shape::NUMBER {
            return wrong(place, "`:` counts from a number to a number");
        }
        let (from, to) = (self.fresh("from"), self.fresh("to"));
        let distance = call("abs", [var(&to) - var(&from)]);
        let count = call("i64", [call("floor", [distance])]) + build::int(1, ScalarType::I64);
        let step = call("f64", [var("i")]);
        let up = var(&from).binary(Operator::LessEqual, var(&to));
        let at = build::if_(up, var(&from) + step.clone(), var(&from) - step);
        let counted = call("map", [lambda(["i"], at), call("iota", [count])]);
        Ok(Typed {
            expr: let_(from, left.expr, let_(to, right.expr, counted)),
            shape: Shape::many(Element::Number),
        })
    }

    /// A logical counts as 0 or 1 where a number is needed.
    pub fn number(&mut self, value: Typed) -> Typed {
        match value.shape.element {
            Element::Number => value,
            Element::Logical => self.lifted(vec![value], Element::Number, |args| call("f64", args)),
        }
    }

    pub fn logical(&self, value: Typed, place: &Range<usize>) -> Made<Typed> {
        match value.shape.element {
            Element::Logical => Ok(value),
            Element::Number => wrong(
                place,
                "expected logicals, found numbers; compare them with something",
            ),
        }
    }

    /// Two values as one shape.
    fn alike(&mut self, left: Typed, right: Typed, place: &Range<usize>) -> Made<(Typed, Typed)> {
        if left.shape.extent != right.shape.extent {
            return wrong(place, "one of these is a vector and one is not");
        }
        match left.shape.element == right.shape.element {
            true => Ok((left, right)),
            false => Ok((self.number(left), self.number(right))),
        }
    }

    /// A function of single values on whole vectors: values that are vectors are mapped over, the others meet each element.
    pub fn lifted(
        &mut self,
        values: Vec<Typed>,
        element: Element,
        function: impl FnOnce(Vec<Expr>) -> Expr,
    ) -> Typed {
        let mut args = Vec::new();
        let (mut ones, mut many, mut elements) = (Vec::new(), Vec::new(), Vec::new());
        for value in values {
            let name = self.fresh("x");
            args.push(var(&name));
            match value.shape.extent {
                Extent::One => ones.push((name, value.expr)),
                Extent::Many => {
                    elements.push(name);
                    many.push(value.expr);
                }
            }
        }
        let body = function(args);
        let (extent, expr) = match elements.is_empty() {
            true => (Extent::One, body),
            false => {
                let mut arrays = vec![lambda(elements, body)];
                arrays.extend(many);
                (Extent::Many, call("map", arrays))
            }
        };
        Typed {
            expr: ones
                .into_iter()
                .rev()
                .fold(expr, |body, (name, value)| let_(name, value, body)),
            shape: Shape { extent, element },
        }
    }

    /// Whether a name is known to [`Compiler::known`], for messages.
    pub fn nearest(name: &str) -> String {
        let known = SCALAR.iter().chain(REDUCED).map(|(name, _)| *name);
        let near = known.filter(|known| known.starts_with(name.get(..1).unwrap_or("")));
        let near: Vec<&str> = near.collect();
        match near.as_slice() {
            [] => format!("there is no function `{name}`"),
            near => format!("there is no function `{name}`; there are {}", near.join(", ")),
        }
    }
}
