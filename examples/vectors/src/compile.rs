//! A tree to a program of Almach: every value gets a shape, which says where a `map` stands, and functions are expanded where they
//! are called.

use crate::syntax::{Node, parse};
use crate::{Made, wrong};
use almach::ScalarType;
use almach::build::{Expr, Module, Sizes, Ty, boolean, call, float, lambda, let_, quote, var};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Functions that are defined in Almach: the shapes of the arguments and of the result, names, and the text.
fn functions() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("functions.txt").lines().filter_map(|line| {
        let (shapes, rest) = line.split_once("  ")?;
        let (names, text) = rest.trim_start().split_once("  ")?;
        Some((shapes, names, text.trim_start()))
    })
}

/// How deep calls may be expanded: the language has no recursion.
const DEPTH: usize = 100;

/// A letter of the table of functions.
type Shape = char;

/// An expression with its shape.
#[derive(Clone)]
struct Typed(Expr, Shape);

/// Names for values around an expression.
type Bound = Vec<(String, Expr)>;

impl Typed {
    fn is_vector(&self) -> bool {
        self.1.is_ascii_uppercase()
    }

    fn with(self, bound: Bound) -> Typed {
        let wrap = |body, (name, value)| let_(name, value, body);
        Typed(bound.into_iter().rev().fold(self.0, wrap), self.1)
    }
}

/// What a name stands for: a value, or a function with what its names stand for where it is written.
#[derive(Clone)]
enum Meaning<'t> {
    Value(Typed),
    Function(&'t Node, Rc<Scope<'t>>),
}

type Scope<'t> = HashMap<&'t str, Meaning<'t>>;

pub fn program(name: &str, text: &str) -> Made<Module> {
    let (nodes, mut scope) = (parse(text)?, Scope::new());
    for node in &nodes {
        let Some([name, value]) = node.of("<-") else {
            return wrong("expected `name <- function(…) …`", &node.place);
        };
        let Ok(function) = function(value, &scope) else {
            let message = format!("`{0}` is not a function: write `{0} <- function(x) …`", name.head);
            return wrong(message, &value.place);
        };
        scope.insert(&name.head, function);
    }
    let Some(main @ Meaning::Function(node, _)) = scope.get("main") else {
        return wrong("there is no `main`", &(0..0));
    };
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for (at, param) in node.args.iter().rev().skip(1).rev().enumerate() {
        let shape = if param.head == ":" { 'n' } else { 'N' };
        args.push(Meaning::Value(Typed(var(&format!("in{at}")), shape)));
        params.push((format!("in{at}"), ty(shape)));
    }
    let result = Compiler::default().expand(main, args, &node.place)?;
    let module = Module::new(name).source(text).sizes(Sizes::WhenRun);
    Ok(module.entry("main", params, ty(result.1), result.0))
}

fn ty(shape: Shape) -> Ty {
    match shape {
        'l' => Ty::BOOL,
        'L' => Ty::jagged(Ty::BOOL),
        'N' => Ty::jagged(Ty::F64),
        _ => Ty::F64,
    }
}

/// The function that an expression is.
fn function<'t>(node: &'t Node, scope: &Scope<'t>) -> Made<Meaning<'t>> {
    match scope.get(node.head.as_str()) {
        _ if node.head == "function" => Ok(Meaning::Function(node, Rc::new(scope.clone()))),
        Some(function @ Meaning::Function(..)) if node.args.is_empty() => Ok(function.clone()),
        _ => wrong("this is not a function", &node.place),
    }
}

#[derive(Default)]
struct Compiler {
    names: usize,
    depth: usize,
}

impl<'t> Compiler {
    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn expr(&mut self, node: &'t Node, scope: &Scope<'t>) -> Made<Typed> {
        let place = &node.place;
        let Typed(expr, shape) = match (node.head.as_str(), node.args.as_slice()) {
            ("function", _) => {
                return wrong("a function is not a value; name it or give it to `sapply`", place);
            }
            ("{", nodes) => self.block(nodes, scope, place)?,
            ("(", [called, args @ ..]) if called.args.is_empty() && !scope.contains_key(&*called.head) => {
                self.language(&called.head, args, scope, place)?
            }
            ("(", [called, args @ ..]) => {
                let (function, mut bound) = (function(called, scope)?, Vec::new());
                let args = args.iter().map(|arg| self.meaning(arg, scope, &mut bound));
                let args = args.collect::<Made<_>>()?;
                self.expand(&function, args, place)?.with(bound)
            }
            (word, []) => match (scope.get(word), word.parse()) {
                (Some(Meaning::Value(value)), _) => value.clone(),
                (None, Ok(number)) => Typed(float(number, ScalarType::F64), 'n'),
                (None, _) if word == "TRUE" || word == "FALSE" => Typed(boolean(word == "TRUE"), 'l'),
                _ => return wrong(format!("`{word}` has no value here"), place),
            },
            (operator, operands) => self.language(operator, operands, scope, place)?,
        };
        Ok(Typed(expr.at(place.clone()), shape))
    }

    /// Assignments, then the value.
    fn block(&mut self, nodes: &'t [Node], scope: &Scope<'t>, place: &Range<usize>) -> Made<Typed> {
        let (mut scope, mut bound) = (scope.clone(), Vec::new());
        let Some((last, before)) = nodes.split_last() else {
            return wrong("there is no value between the braces", place);
        };
        for node in before {
            let Some([name, value]) = node.of("<-") else {
                return wrong("this value goes nowhere; name it with `<-`", &node.place);
            };
            let meaning = self.meaning(value, &scope, &mut bound)?;
            scope.insert(&name.head, meaning);
        }
        Ok(self.expr(last, &scope)?.with(bound))
    }

    /// What an expression stands for: a function, or a value under a name of its own.
    fn meaning(&mut self, node: &'t Node, scope: &Scope<'t>, bound: &mut Bound) -> Made<Meaning<'t>> {
        function(node, scope).or_else(|_| {
            let (Typed(value, shape), name) = (self.expr(node, scope)?, self.fresh());
            bound.push((name.clone(), value));
            Ok(Meaning::Value(Typed(var(&name), shape)))
        })
    }

    /// The body of a function where it is called.
    fn expand(
        &mut self,
        function: &Meaning<'t>,
        args: Vec<Meaning<'t>>,
        place: &Range<usize>,
    ) -> Made<Typed> {
        let Meaning::Function(Node { args: parts, .. }, around) = function else {
            return wrong("this is not a function", place);
        };
        let (wanted, found, mut scope) = (parts.len() - 1, args.len(), Scope::clone(around));
        if wanted != found {
            let message = format!("this function takes {wanted} arguments, and {found} came");
            return wrong(message, place);
        }
        for (param, arg) in parts.iter().zip(args) {
            let name = match (param.of(":"), param.args.is_empty()) {
                (Some([name, kind]), _) if kind.head == "number" => name,
                (_, true) => param,
                _ => return wrong("expected `x`, a vector, or `x: number`", &param.place),
            };
            scope.insert(&name.head, arg);
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return wrong(format!("calls go {DEPTH} deep here"), place);
        }
        let result = self.expr(&parts[wanted], &scope);
        self.depth -= 1;
        result
    }

    /// A function of the language.
    fn language(
        &mut self,
        name: &str,
        args: &'t [Node],
        scope: &Scope<'t>,
        place: &Range<usize>,
    ) -> Made<Typed> {
        match (name, args) {
            ("sapply", [vector, function]) => self.over("map", function, &[vector], scope),
            ("Filter", [function, vector]) => self.over("filter", function, &[vector], scope),
            // From left to right: the function need not be associative.
            ("Reduce", [function, vector, first]) => {
                self.over("reduceSeq", function, &[first, vector], scope)
            }
            _ => {
                let values = args.iter().map(|arg| self.expr(arg, scope));
                let values = values.collect::<Made<Vec<_>>>()?;
                if name != "c" || values.len() < 2 {
                    return known(name, &values, place);
                }
                let parts = values.into_iter().map(|part| known(name, &[part], place));
                let whole = parts.reduce(|whole, part| known(name, &[whole?, part?], place));
                whole.unwrap_or_else(|| known(name, &[], place))
            }
        }
    }

    /// An operation of Almach with a function on a vector, which stands behind a first value where there is one.
    fn over(
        &mut self,
        operation: &str,
        called: &'t Node,
        nodes: &[&'t Node],
        scope: &Scope<'t>,
    ) -> Made<Typed> {
        let values = nodes.iter().map(|node| self.expr(node, scope));
        let values = values.collect::<Made<Vec<_>>>()?;
        let shape = values[nodes.len() - 1].1;
        if shape.is_ascii_lowercase() {
            let message = "expected a vector, found one value; `c(x)` makes a vector of it";
            return wrong(message, &nodes[nodes.len() - 1].place);
        }
        let names: Vec<String> = values.iter().map(|_| self.fresh()).collect();
        let element = |(name, value): (&String, &Typed)| Typed(var(name), value.1.to_ascii_lowercase());
        let args = names
            .iter()
            .zip(&values)
            .map(|pair| Meaning::Value(element(pair)));
        let body = self.expand(&function(called, scope)?, args.collect(), &called.place)?;
        let gives = match (operation, body.1) {
            (_, 'N' | 'L') => Err("this function gives a vector; vectors hold numbers and logicals"),
            ("map", given) => Ok(given.to_ascii_uppercase()),
            ("filter", 'l') => Ok(shape),
            ("reduceSeq", given) if given == values[0].1 => Ok(given),
            _ => Err("this function gives something else than is needed here"),
        };
        let gives = gives.or_else(|message| wrong(message, &called.place))?;
        let args = values.into_iter().map(|value| value.0);
        let args = [lambda(names, body.0)].into_iter().chain(args);
        Ok(Typed(call(operation, args), gives))
    }
}

/// A function of the table on values: the first row that fits, else the first that does where logicals count as 0 or 1.
fn known(name: &str, args: &[Typed], place: &Range<usize>) -> Made<Typed> {
    let rows: Vec<_> = functions()
        .filter(|row| row.1.split(' ').any(|known| known == name))
        .collect();
    let fitting = |counted| rows.iter().find(|row| fits(row.0, args, counted));
    if let Some((signature, _, text)) = fitting(false).or_else(|| fitting(true)) {
        return apply(signature, &text.replace('@', name), args, place);
    }
    if rows.is_empty() {
        let all = functions().flat_map(|row| row.1.split(' '));
        let near: Vec<&str> = all.filter(|known| known.get(..1) == name.get(..1)).collect();
        let near = near.join(", ");
        return wrong(format!("there is no function `{name}`; there are {near}"), place);
    }
    let takes: Vec<String> = rows.iter().map(|row| in_words(row.0.chars())).collect();
    let (takes, found) = (takes.join(" or "), in_words(args.iter().map(|arg| arg.1)));
    wrong(format!("`{name}` takes {takes}, not {found}"), place)
}

/// Whether a row of the table can be used for arguments.
fn fits(signature: &str, args: &[Typed], counted: bool) -> bool {
    let wanted: Vec<Shape> = signature.chars().take_while(char::is_ascii_alphabetic).collect();
    let fits = |(arg, wanted): (&Typed, &Shape)| {
        let each = signature.contains('*') && arg.is_vector();
        let kind = match (wanted.to_ascii_lowercase(), arg.1.to_ascii_lowercase()) {
            ('i', found) => found == 'n',
            (wanted, found) => wanted == 'a' || wanted == found || wanted == 'n' && counted,
        };
        kind && (each || arg.is_vector() == wanted.is_ascii_uppercase())
    };
    wanted.len() == args.len() && args.iter().zip(&wanted).all(fits)
}

/// A text of Almach with values for its names; where it is for each element, vectors are mapped over.
fn apply(signature: &str, text: &str, args: &[Typed], place: &Range<usize>) -> Made<Typed> {
    let (mut bound, mut elements, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
    for ((arg, wanted), name) in args.iter().zip(signature.chars()).zip(["x", "y", "z"]) {
        let value = match ("nN".contains(wanted), arg.1) {
            (true, 'l') => call("f64", [arg.0.clone()]),
            (true, 'L') => call("map", [var("f64"), arg.0.clone()]),
            _ => arg.0.clone(),
        };
        if signature.contains('*') && arg.is_vector() {
            elements.push(name);
            vectors.push(value);
        } else {
            bound.push((name.to_owned(), value));
        }
    }
    let gives = match (signature.chars().last(), args) {
        (Some('a'), [first, ..]) => first.1.to_ascii_lowercase(),
        (Some('A'), [first, ..]) => first.1.to_ascii_uppercase(),
        (gives, _) => gives.unwrap_or('n'),
    };
    let text = quote(text, place.clone()).or_else(|problem| wrong(problem.to_string(), place))?;
    if elements.is_empty() {
        return Ok(Typed(text, gives).with(bound));
    }
    let map = call("map", [lambda(elements, text)].into_iter().chain(vectors));
    Ok(Typed(map, gives.to_ascii_uppercase()).with(bound))
}

/// Shapes up to the result's, for messages.
fn in_words(shapes: impl Iterator<Item = Shape>) -> String {
    let word = |shape| match shape {
        'n' | 'i' => "number",
        'l' => "logical",
        'N' => "numbers",
        'L' => "logicals",
        'A' => "vector",
        _ => "value",
    };
    let words: Vec<&str> = shapes.take_while(char::is_ascii_alphabetic).map(word).collect();
    format!("({})", words.join(", "))
}
