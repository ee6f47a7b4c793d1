//! A tree to a program of Almach: every value gets a shape, which says where a `map` stands, and functions are expanded where they
//! are called.

use crate::Wrong;
use crate::syntax::{Kind, Node, Param, parse};
use almach::ScalarType;
use almach::build::{self, Expr, Module, Operator, Sizes, Ty, call, lambda, let_, var};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// What is defined in the language itself.
const PRELUDE: &str = "
    mean <- function(x) sum(x) / length(x)
    var <- function(x) { d <- x - mean(x); sum(d * d) / (length(x) - 1) }
    sd <- function(x) sqrt(var(x))
    seq_along <- function(x) 1:length(x)
";

/// Functions of one number, on every element of a vector.
const SCALAR: &[&str] = &[
    "abs", "cos", "exp", "floor", "ceiling", "log", "round", "sin", "sqrt", "tan", "tanh",
];

/// Functions of a vector of numbers, and what they give.
const WHOLE: &[(&str, &str, Shape)] = &[
    ("sum", "sum", NUMBER),
    ("prod", "product", NUMBER),
    ("min", "minimum", NUMBER),
    ("max", "maximum", NUMBER),
    ("rev", "reverse", NUMBERS),
    ("sort", "sort", NUMBERS),
];

/// Operators, what they take and what they give.
const OPERATORS: &[(&str, Operator, Shape, Shape)] = &[
    ("+", Operator::Add, NUMBER, NUMBER),
    ("-", Operator::Sub, NUMBER, NUMBER),
    ("*", Operator::Mul, NUMBER, NUMBER),
    ("/", Operator::Div, NUMBER, NUMBER),
    ("^", Operator::Pow, NUMBER, NUMBER),
    ("==", Operator::Equal, NUMBER, LOGICAL),
    ("!=", Operator::NotEqual, NUMBER, LOGICAL),
    ("<", Operator::Less, NUMBER, LOGICAL),
    ("<=", Operator::LessEqual, NUMBER, LOGICAL),
    (">", Operator::Greater, NUMBER, LOGICAL),
    (">=", Operator::GreaterEqual, NUMBER, LOGICAL),
    ("&", Operator::And, LOGICAL, LOGICAL),
    ("|", Operator::Or, LOGICAL, LOGICAL),
];

/// How deep calls may be expanded: the language has no recursion.
const DEPTH: usize = 100;

/// What a value is.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    many: bool,
    logical: bool,
}

const NUMBER: Shape = Shape {
    many: false,
    logical: false,
};

const LOGICAL: Shape = Shape {
    many: false,
    logical: true,
};

const NUMBERS: Shape = NUMBER.many();

impl Shape {
    const fn one(self) -> Shape {
        Shape { many: false, ..self }
    }

    const fn many(self) -> Shape {
        Shape { many: true, ..self }
    }

    fn ty(self) -> Ty {
        let element = if self.logical { Ty::BOOL } else { Ty::F64 };
        if self.many { Ty::jagged(element) } else { element }
    }
}

/// An expression of Almach with its shape.
#[derive(Clone)]
struct Typed {
    expr: Expr,
    shape: Shape,
}

/// What a name stands for.
#[derive(Clone)]
enum Meaning {
    Value(String, Shape),
    Function(Rc<Closure>),
}

/// A function with what its names stand for where it is written.
struct Closure {
    params: Vec<Param>,
    body: Rc<Node>,
    scope: Scope,
    from: From,
}

#[derive(Clone, Copy, PartialEq)]
enum From {
    Program,
    Prelude,
}

type Scope = HashMap<String, Meaning>;
type Made<T> = Result<T, Wrong>;

pub fn program(name: &str, text: &str) -> Made<Module> {
    let mut compiler = Compiler {
        names: Cell::new(0),
        depth: 0,
        place: 0..0,
        from: From::Prelude,
    };
    let mut scope = Scope::new();
    compiler.functions(&parse(PRELUDE)?, &mut scope)?;
    compiler.from = From::Program;
    compiler.functions(&parse(text)?, &mut scope)?;
    let Some(Meaning::Function(main)) = scope.get("main") else {
        return compiler.wrong("there is no `main`");
    };
    let (mut params, mut values) = (Vec::new(), Vec::new());
    for param in &main.params {
        let name = param.name.replace('.', "_") + "_in";
        let (shape, ty) = match param.is_number {
            true => (NUMBER, Ty::F64),
            false => (NUMBERS, Ty::array(Ty::F64)),
        };
        params.push((name.clone(), ty));
        values.push(Meaning::Value(name, shape));
    }
    let result = compiler.expand(main, values)?;
    let module = Module::new(name).source(text).sizes(Sizes::WhenRun);
    Ok(module.entry("main", params, result.shape.ty(), result.expr))
}

struct Compiler {
    names: Cell<usize>,
    depth: usize,
    /// What is being compiled; of the prelude, where it is called.
    place: Range<usize>,
    from: From,
}

impl Compiler {
    fn wrong<T>(&self, message: impl Into<String>) -> Made<T> {
        let place = self.place.clone();
        Err(Wrong {
            message: message.into(),
            place,
        })
    }

    fn fresh(&self, hint: &str) -> String {
        self.names.set(self.names.get() + 1);
        format!("{}_{}", hint.replace('.', "_").to_lowercase(), self.names.get())
    }

    /// Definitions of functions; each sees those before it.
    fn functions(&mut self, functions: &[(String, Node)], scope: &mut Scope) -> Made<()> {
        for (name, node) in functions {
            self.place = node.place.clone();
            let Kind::Function(..) = &node.kind else {
                return self.wrong(format!(
                    "`{name}` is not a function: write `{name} <- function(x) …`"
                ));
            };
            let closure = self.function(node, scope)?;
            scope.insert(name.clone(), Meaning::Function(closure));
        }
        self.place = 0..0;
        Ok(())
    }

    fn expr(&mut self, node: &Node, scope: &Scope) -> Made<Typed> {
        let here = match self.from {
            From::Program => node.place.clone(),
            From::Prelude => self.place.clone(),
        };
        let around = std::mem::replace(&mut self.place, here.clone());
        let Typed { expr, shape } = match &node.kind {
            Kind::Number(value) => typed(float(*value), NUMBER),
            Kind::Logical(value) => typed(build::boolean(*value), LOGICAL),
            Kind::Name(name) => match scope.get(name) {
                Some(Meaning::Value(name, shape)) => typed(var(name), *shape),
                Some(Meaning::Function(_)) => return self.wrong(format!("`{name}` is a function; call it")),
                None => return self.wrong(format!("`{name}` has no value here")),
            },
            Kind::Block(assignments, value) => self.block(assignments, value, scope)?,
            Kind::Call(function, args) => self.call(function, args, scope)?,
            Kind::Function(..) => {
                return self.wrong("a function is not a value; give it to `sapply`, or name it");
            }
        };
        self.place = around;
        Ok(typed(expr.at(here), shape))
    }

    fn block(&mut self, assignments: &[(String, Node)], value: &Node, scope: &Scope) -> Made<Typed> {
        let mut scope = scope.clone();
        let mut bound = Vec::new();
        for (name, node) in assignments {
            let meaning = self.meaning(node, name, &scope, &mut bound)?;
            scope.insert(name.clone(), meaning);
        }
        let value = self.expr(value, &scope)?;
        Ok(typed(bind(bound, value.expr), value.shape))
    }

    /// What an expression stands for: a function, or a value under a name of its own.
    fn meaning(
        &mut self,
        node: &Node,
        hint: &str,
        scope: &Scope,
        bound: &mut Vec<(String, Expr)>,
    ) -> Made<Meaning> {
        if let Ok(function) = self.function(node, scope) {
            return Ok(Meaning::Function(function));
        }
        let value = self.expr(node, scope)?;
        let name = self.fresh(hint);
        bound.push((name.clone(), value.expr));
        Ok(Meaning::Value(name, value.shape))
    }

    /// The function that an expression is.
    fn function(&self, node: &Node, scope: &Scope) -> Made<Rc<Closure>> {
        match &node.kind {
            Kind::Function(params, body) => Ok(Rc::new(Closure {
                params: params.clone(),
                body: Rc::clone(body),
                scope: scope.clone(),
                from: self.from,
            })),
            Kind::Name(name) => match scope.get(name) {
                Some(Meaning::Function(closure)) => Ok(Rc::clone(closure)),
                _ => self.wrong(format!("`{name}` is not a function")),
            },
            _ => self.wrong("this is not a function"),
        }
    }

    /// The body of a function where it is called.
    fn expand(&mut self, closure: &Closure, values: Vec<Meaning>) -> Made<Typed> {
        let (wanted, found) = (closure.params.len(), values.len());
        if wanted != found {
            return self.wrong(format!(
                "this function takes {wanted} arguments, and {found} came"
            ));
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(format!("calls go {DEPTH} deep here"));
        }
        let mut scope = closure.scope.clone();
        scope.extend(closure.params.iter().map(|param| param.name.clone()).zip(values));
        let around = std::mem::replace(&mut self.from, closure.from);
        let result = self.expr(&closure.body, &scope);
        self.from = around;
        self.depth -= 1;
        result
    }

    /// A call of a function of the program, or of the language.
    fn call(&mut self, function: &Node, args: &[Node], scope: &Scope) -> Made<Typed> {
        let known = match &function.kind {
            Kind::Name(name) if !scope.contains_key(name) => name.as_str(),
            _ => {
                let closure = self.function(function, scope)?;
                let mut bound = Vec::new();
                let values = args.iter().map(|arg| self.meaning(arg, "arg", scope, &mut bound));
                let values = values.collect::<Made<Vec<Meaning>>>()?;
                let result = self.expand(&closure, values)?;
                return Ok(typed(bind(bound, result.expr), result.shape));
            }
        };
        match (known, args) {
            ("sapply", [vector, function]) => {
                let vector = self.vector(vector, scope)?;
                let (lambda, shape) = self.applied(function, &[vector.shape.one()], scope)?;
                Ok(typed(call("map", [lambda, vector.expr]), shape.many()))
            }
            ("Filter", [function, vector]) => {
                let vector = self.vector(vector, scope)?;
                let (lambda, shape) = self.applied(function, &[vector.shape.one()], scope)?;
                let kept = self.logical(&typed(lambda, shape))?;
                Ok(typed(call("filter", [kept.expr, vector.expr]), vector.shape))
            }
            // From left to right: the function need not be associative.
            ("Reduce", [function, vector, first]) => {
                let (vector, first) = (self.vector(vector, scope)?, self.expr(first, scope)?);
                let shapes = [first.shape, vector.shape.one()];
                let (lambda, shape) = self.applied(function, &shapes, scope)?;
                if shape != first.shape {
                    return self.wrong("this function must give what `Reduce` starts with");
                }
                Ok(typed(call("reduceSeq", [lambda, first.expr, vector.expr]), shape))
            }
            _ => {
                let values = args.iter().map(|arg| self.expr(arg, scope));
                let values = values.collect::<Made<Vec<Typed>>>()?;
                self.known(known, &values)
            }
        }
    }

    fn vector(&mut self, node: &Node, scope: &Scope) -> Made<Typed> {
        let value = self.expr(node, scope)?;
        self.many(&value)?;
        Ok(value)
    }

    fn many<'v>(&self, value: &'v Typed) -> Made<&'v Typed> {
        match value.shape.many {
            true => Ok(value),
            false => self.wrong("expected a vector, found one value; `c(x)` makes a vector of it"),
        }
    }

    /// A function of values of these shapes, as one of Almach, and the shape of the one value that it gives.
    fn applied(&mut self, function: &Node, shapes: &[Shape], scope: &Scope) -> Made<(Expr, Shape)> {
        let closure = self.function(function, scope)?;
        let names: Vec<String> = shapes.iter().map(|_| self.fresh("element")).collect();
        let values = names.iter().cloned().zip(shapes);
        let values = values.map(|(name, shape)| Meaning::Value(name, *shape));
        let body = self.expand(&closure, values.collect())?;
        match body.shape.many {
            false => Ok((lambda(names, body.expr), body.shape)),
            true => self.wrong("this function gives a vector; vectors hold numbers and logicals"),
        }
    }

    /// A function of the language on values.
    fn known(&self, name: &str, args: &[Typed]) -> Made<Typed> {
        let operator = OPERATORS.iter().find(|(known, ..)| *known == name);
        let whole = WHOLE.iter().find(|(known, ..)| *known == name);
        match (name, args) {
            ("-", [x]) => Ok(self.lifted([self.number(x)], NUMBER, |[x]| -x)),
            ("!", [x]) => Ok(self.lifted([self.logical(x)?], LOGICAL, |[x]| !x)),
            ("any" | "all", [x]) => {
                let logicals = self.logical(self.many(x)?)?;
                let found = call(name, [lambda(["x"], var("x")), logicals.expr]);
                Ok(typed(found, LOGICAL))
            }
            ("length", [x]) => Ok(typed(
                call("f64", [call("length", [self.many(x)?.expr.clone()])]),
                NUMBER,
            )),
            ("cumsum", [x]) => {
                let numbers = self.number(self.many(x)?).expr;
                let sums = call("scan", [build::operator(Operator::Add), float(0.0), numbers]);
                Ok(typed(sums, NUMBER.many()))
            }
            (_, [x]) if SCALAR.contains(&name) => {
                let almach = if name == "ceiling" { "ceil" } else { name };
                Ok(self.lifted([self.number(x)], NUMBER, |args| call(almach, args)))
            }
            (_, [x]) if let Some((_, almach, shape)) = whole => {
                let numbers = self.number(self.many(x)?).expr;
                Ok(typed(call(almach, [numbers]), *shape))
            }
            (_, [a, b]) if let Some((_, operator, takes, gives)) = operator => {
                let operands = match *takes == LOGICAL {
                    true => [self.logical(a)?, self.logical(b)?],
                    false => [self.number(a), self.number(b)],
                };
                Ok(self.lifted(operands, *gives, |[a, b]| a.binary(*operator, b)))
            }
            // It has the sign of the divisor.
            ("%%", [a, b]) => Ok(self.lifted([self.number(a), self.number(b)], NUMBER, |[a, b]| {
                a.clone() - b.clone() * call("floor", [a / b])
            })),
            ("%*%", [a, b]) => {
                let products = self.known("*", &[a.clone(), b.clone()])?;
                self.known("sum", &[products])
            }
            (":", [from, to]) => self.range(from, to),
            ("[", [vector, _]) if !vector.shape.many => self.wrong("only vectors have elements"),
            ("[", [vector, index]) => self.index(vector, index),
            ("rep", [value, count]) if !value.shape.many && count.shape == NUMBER => {
                let count = call("i64", [count.expr.clone()]);
                Ok(typed(
                    call("replicate", [count, value.expr.clone()]),
                    value.shape.many(),
                ))
            }
            ("rep", _) => self.wrong("`rep(x, n)` repeats one value a number of times"),
            ("if", [condition, yes, no]) => {
                let condition = self.logical(condition)?;
                if condition.shape.many {
                    return self.wrong("an `if` needs one logical; `ifelse` chooses for every element");
                }
                if yes.shape.many != no.shape.many {
                    return self.wrong("one of these is a vector and one is not");
                }
                let [yes, no] = self.alike([yes, no]);
                Ok(typed(build::if_(condition.expr, yes.expr, no.expr), yes.shape))
            }
            ("ifelse", [condition, yes, no]) => {
                let [yes, no] = self.alike([yes, no]);
                let (gives, args) = (yes.shape.one(), [self.logical(condition)?, yes, no]);
                Ok(self.lifted(args, gives, |[condition, yes, no]| build::if_(condition, yes, no)))
            }
            ("c", [_, ..]) => {
                let numbers = args.iter().any(|arg| arg.shape.one() == NUMBER);
                let shape = if numbers { NUMBER } else { LOGICAL };
                let parts = args.iter().map(|arg| {
                    let part = if numbers { self.number(arg) } else { arg.clone() };
                    if part.shape.many {
                        part.expr
                    } else {
                        build::array([part.expr])
                    }
                });
                let whole = parts.reduce(|whole, part| whole.binary(Operator::Concat, part));
                Ok(typed(whole.unwrap_or_else(|| build::array([])), shape.many()))
            }
            _ => self.unknown(name),
        }
    }

    fn index(&self, vector: &Typed, index: &Typed) -> Made<Typed> {
        let position = |number: Expr| call("i64", [number]) - build::int(1, ScalarType::I64);
        let (from, at) = (vector.expr.clone(), index.expr.clone());
        if index.shape == NUMBER {
            return Ok(typed(from.index([position(at)]), vector.shape.one()));
        }
        if index.shape == LOGICAL {
            return self.wrong("an index is a number, or a vector");
        }
        let elements = match index.shape.one() == NUMBER {
            true => call(
                "gather",
                [call("map", [lambda(["i"], position(var("i"))), at]), from],
            ),
            false => {
                let part = |at: u32| lambda(["pair"], var("pair").component(at));
                call(
                    "map",
                    [part(0), call("filter", [part(1), call("zip", [from, at])])],
                )
            }
        };
        Ok(typed(elements, vector.shape))
    }

    /// `a:b` counts up or down.
    fn range(&self, left: &Typed, right: &Typed) -> Made<Typed> {
        if left.shape != NUMBER || right.shape != NUMBER {
            return self.wrong("`:` counts from a number to a number");
        }
        let (from, to) = (self.fresh("from"), self.fresh("to"));
        let distance = call("abs", [var(&to) - var(&from)]);
        let count = call("i64", [call("floor", [distance])]) + build::int(1, ScalarType::I64);
        let step = call("f64", [var("i")]);
        let up = var(&from).binary(Operator::LessEqual, var(&to));
        let at = build::if_(up, var(&from) + step.clone(), var(&from) - step);
        let counted = call("map", [lambda(["i"], at), call("iota", [count])]);
        let ends = vec![(from, left.expr.clone()), (to, right.expr.clone())];
        Ok(typed(bind(ends, counted), NUMBER.many()))
    }

    /// A logical counts as 0 or 1 where a number is needed.
    fn number(&self, value: &Typed) -> Typed {
        match value.shape.logical {
            false => value.clone(),
            true => self.lifted([value.clone()], NUMBER, |args| call("f64", args)),
        }
    }

    fn logical(&self, value: &Typed) -> Made<Typed> {
        match value.shape.logical {
            true => Ok(value.clone()),
            false => self.wrong("expected logicals, found numbers; compare them with something"),
        }
    }

    /// Two values of one kind.
    fn alike(&self, values: [&Typed; 2]) -> [Typed; 2] {
        match values.iter().all(|value| value.shape.logical) {
            true => values.map(Typed::clone),
            false => values.map(|value| self.number(value)),
        }
    }

    /// A function of single values on whole vectors: values that are vectors are mapped over, the others meet each element.
    fn lifted<const N: usize>(
        &self,
        values: [Typed; N],
        gives: Shape,
        function: impl FnOnce([Expr; N]) -> Expr,
    ) -> Typed {
        let (mut ones, mut many, mut elements) = (Vec::new(), Vec::new(), Vec::new());
        let args = values.map(|value| {
            let name = self.fresh("x");
            let arg = var(&name);
            match value.shape.many {
                false => ones.push((name, value.expr)),
                true => {
                    elements.push(name);
                    many.push(value.expr);
                }
            }
            arg
        });
        let body = function(args);
        if elements.is_empty() {
            return typed(bind(ones, body), gives);
        }
        let map = call("map", [lambda(elements, body)].into_iter().chain(many));
        typed(bind(ones, map), gives.many())
    }

    fn unknown<T>(&self, name: &str) -> Made<T> {
        let known = SCALAR.iter().copied().chain(WHOLE.iter().map(|(name, ..)| *name));
        let near: Vec<&str> = known.filter(|known| known.get(..1) == name.get(..1)).collect();
        match near.as_slice() {
            [] => self.wrong(format!("there is no function `{name}`")),
            near => self.wrong(format!(
                "there is no function `{name}`; there are {}",
                near.join(", ")
            )),
        }
    }
}

fn typed(expr: Expr, shape: Shape) -> Typed {
    Typed { expr, shape }
}

fn float(value: f64) -> Expr {
    build::float(value, ScalarType::F64)
}

/// Names for values around an expression.
fn bind(bound: Vec<(String, Expr)>, body: Expr) -> Expr {
    let bound = bound.into_iter().rev();
    bound.fold(body, |body, (name, value)| let_(name, value, body))
}
