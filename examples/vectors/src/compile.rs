//! A tree to a program of Almach: every value gets a shape, which says where a `map` stands, and functions are expanded where they
//! are called.

use crate::syntax::{Function, Kind, Node, parse};
use crate::{Made, PRELUDE, wrong};
use almach::ScalarType;
use almach::build::{Expr, Module, Sizes, Ty, boolean, call, float, lambda, let_, quote, var};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// What is defined in Almach: shapes of the arguments `x`, `y`, `z` and of the result, names, and the text, with `@` for the name.
/// Functions with a `*` work on each element of vectors.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("nn*n", "+ - * /", "x @ y"),
    ("nn*n", "^", "x ** y"),
    ("nn*n", "%%", "x - y * floor (x / y)"),
    ("nn*l", "== != < <= > >=", "x @ y"),
    ("ll*l", "& |", "x @@ y"),
    ("l*l", "!", "!x"),
    ("n*n", "-", "-x"),
    ("n*n", "abs cos exp floor log round sin sqrt tan tanh", "@ x"),
    ("n*n", "ceiling", "ceil x"),
    ("lll*l", "ifelse", "if x then y else z"),
    ("lnn*n", "ifelse", "if x then y else z"),
    ("lll>l", "if", "if x then y else z"),
    ("lnn>n", "if", "if x then y else z"),
    ("lLL>L", "if", "if x then y else z"),
    ("lNN>N", "if", "if x then y else z"),
    ("N>n", "sum", "sum x"),
    ("N>n", "prod", "product x"),
    ("N>n", "min max", "@imum x"),
    ("N>N", "rev", "reverse x"),
    ("N>N", "sort", "sort x"),
    ("N>N", "cumsum", "scan (+) 0 x"),
    ("A>n", "length", "f64 (length x)"),
    ("L>l", "any all", r"@ (\p -> p) x"),
    ("NN>n", "%*%", "sum (map (*) x y)"),
    ("an>A", "rep", "replicate (i64 y) x"),
    (
        "nn>N",
        ":",
        r"map (\i -> if x <= y then x + f64 i else x - f64 i) (iota (i64 (floor (abs (y - x))) + 1))",
    ),
    ("Ai>a", "[", "x[i64 y - 1]"),
    ("AN>A", "[", r"gather (map (\i -> i64 i - 1) y) x"),
    ("AL>A", "[", r"map (\p -> p.0) (filter (\p -> p.1) (zip x y))"),
    ("a>A", "c", "[x]"),
    ("A>A", "c", "x"),
    ("LL>L", "c", "x ++ y"),
    ("NN>N", "c", "x ++ y"),
];

/// How deep calls may be expanded: the language has no recursion.
const DEPTH: usize = 100;

/// `n`: a number, `l`: a logical; capitals are vectors of them. In the table `a` and `A` are either (in a result, of the first argument's kind), and no
/// logical counts as an `i`.
type Shape = char;

/// An expression with its shape.
#[derive(Clone)]
struct Typed(Expr, Shape);

impl Typed {
    fn is_vector(&self) -> bool {
        self.1.is_ascii_uppercase()
    }

    /// With names for values around it.
    fn with(self, bound: Bound) -> Typed {
        let bound = bound.into_iter().rev();
        Typed(
            bound.fold(self.0, |body, (name, value)| let_(name, value, body)),
            self.1,
        )
    }
}

type Bound = Vec<(String, Expr)>;

/// What a name stands for.
#[derive(Clone)]
enum Meaning {
    Value(Typed),
    /// With what its names stand for where it is written.
    Function(Rc<Function>, Rc<Scope>),
}

type Scope = HashMap<String, Meaning>;

/// The text starts with the prelude.
pub fn program(name: &str, text: &str) -> Made<Module> {
    let mut scope = Scope::new();
    for node in parse(text)? {
        let Some((name, value)) = node.assignment() else {
            return wrong("expected `name <- function(…) …`", node.place);
        };
        let Kind::Function(function) = &value.kind else {
            let message = format!("`{name}` is not a function: write `{name} <- function(x) …`");
            return wrong(message, value.place.clone());
        };
        let around = Rc::new(scope.clone());
        scope.insert(name.to_owned(), Meaning::Function(Rc::clone(function), around));
    }
    let Some(Meaning::Function(main, around)) = scope.get("main") else {
        return wrong("there is no `main`", 0..0);
    };
    let mut compiler = Compiler {
        names: 0,
        depth: 0,
        place: 0..0,
    };
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for param in &main.params {
        let name = compiler.fresh(&param.name);
        let (ty, shape) = if param.is_number {
            (Ty::F64, 'n')
        } else {
            (Ty::array(Ty::F64), 'N')
        };
        args.push(Meaning::Value(Typed(var(&name), shape)));
        params.push((name, ty));
    }
    let result = compiler.expand(main, around, args)?;
    let element = if "lL".contains(result.1) {
        Ty::BOOL
    } else {
        Ty::F64
    };
    let ty = if result.is_vector() {
        Ty::jagged(element)
    } else {
        element
    };
    let module = Module::new(name)
        .source(&text[PRELUDE.len()..])
        .sizes(Sizes::WhenRun);
    Ok(module.entry("main", params, ty, result.0))
}

struct Compiler {
    names: usize,
    depth: usize,
    /// What is being compiled; of the prelude, where it is called.
    place: Range<usize>,
}

impl Compiler {
    fn wrong<T>(&self, message: impl Into<String>) -> Made<T> {
        wrong(message, self.place.clone())
    }

    /// The place in the text without the prelude.
    fn here(&self) -> Range<usize> {
        self.place.start - PRELUDE.len()..self.place.end - PRELUDE.len()
    }

    fn fresh(&mut self, hint: &str) -> String {
        self.names += 1;
        format!("{}_{}", hint.replace('.', "_").to_lowercase(), self.names)
    }

    fn expr(&mut self, node: &Node, scope: &Scope) -> Made<Typed> {
        let around = self.place.clone();
        if node.place.start >= PRELUDE.len() {
            self.place = node.place.clone();
        }
        let Typed(expr, shape) = match &node.kind {
            Kind::Number(value) => Typed(float(*value, ScalarType::F64), 'n'),
            Kind::Name(name) => match scope.get(name) {
                Some(Meaning::Value(value)) => value.clone(),
                Some(_) => return self.wrong(format!("`{name}` is a function; call it")),
                None if name == "TRUE" || name == "FALSE" => Typed(boolean(name == "TRUE"), 'l'),
                None => return self.wrong(format!("`{name}` has no value here")),
            },
            Kind::Call(function, args) => self.call(function, args, scope)?,
            Kind::Function(_) => {
                return self.wrong("a function is not a value; give it to `sapply`, or name it");
            }
        };
        let expr = expr.at(self.here());
        self.place = around;
        Ok(Typed(expr, shape))
    }

    /// Assignments, then the value.
    fn block(&mut self, nodes: &[Node], scope: &Scope) -> Made<Typed> {
        let (mut scope, mut bound) = (scope.clone(), Vec::new());
        for (at, node) in nodes.iter().enumerate() {
            match node.assignment() {
                Some((name, value)) => {
                    let meaning = self.meaning(value, name, &scope, &mut bound)?;
                    scope.insert(name.to_owned(), meaning);
                }
                None if at + 1 == nodes.len() => {
                    return self.expr(node, &scope).map(|value| value.with(bound));
                }
                None => return wrong("this value goes nowhere; name it with `<-`", node.place.clone()),
            }
        }
        self.wrong("there is no value between the braces")
    }

    /// What an expression stands for: a function, or a value under a name of its own.
    fn meaning(&mut self, node: &Node, hint: &str, scope: &Scope, bound: &mut Bound) -> Made<Meaning> {
        if let Ok((function, around)) = self.function(node, scope) {
            return Ok(Meaning::Function(function, around));
        }
        let Typed(value, shape) = self.expr(node, scope)?;
        let name = self.fresh(hint);
        bound.push((name.clone(), value));
        Ok(Meaning::Value(Typed(var(&name), shape)))
    }

    /// The function that an expression is, and what its names stand for.
    fn function(&self, node: &Node, scope: &Scope) -> Made<(Rc<Function>, Rc<Scope>)> {
        match &node.kind {
            Kind::Function(function) => Ok((Rc::clone(function), Rc::new(scope.clone()))),
            Kind::Name(name) if let Some(Meaning::Function(function, around)) = scope.get(name) => {
                Ok((Rc::clone(function), Rc::clone(around)))
            }
            _ => self.wrong("this is not a function"),
        }
    }

    /// The body of a function where it is called.
    fn expand(&mut self, function: &Function, around: &Scope, args: Vec<Meaning>) -> Made<Typed> {
        let (wanted, found) = (function.params.len(), args.len());
        if wanted != found {
            return self.wrong(format!(
                "this function takes {wanted} arguments, and {found} came"
            ));
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(format!("calls go {DEPTH} deep here"));
        }
        let mut scope = around.clone();
        scope.extend(function.params.iter().map(|param| param.name.clone()).zip(args));
        let result = self.expr(&function.body, &scope);
        self.depth -= 1;
        result
    }

    /// A call of a function of the program, or of the language.
    fn call(&mut self, function: &Node, args: &[Node], scope: &Scope) -> Made<Typed> {
        let name = match &function.kind {
            Kind::Name(name) if !scope.contains_key(name) => name.as_str(),
            _ => {
                let ((function, around), mut bound) = (self.function(function, scope)?, Vec::new());
                let args = args.iter().map(|arg| self.meaning(arg, "arg", scope, &mut bound));
                let args = args.collect::<Made<_>>()?;
                return Ok(self.expand(&function, &around, args)?.with(bound));
            }
        };
        match (name, args) {
            ("{", _) => self.block(args, scope),
            ("sapply", [vector, function]) => self.over("map", [function, vector], None, scope),
            ("Filter", [function, vector]) => self.over("filter", [function, vector], None, scope),
            // From left to right: the function need not be associative.
            ("Reduce", [function, vector, first]) => {
                self.over("reduceSeq", [function, vector], Some(first), scope)
            }
            _ => {
                let values = args.iter().map(|arg| self.expr(arg, scope));
                let values = values.collect::<Made<Vec<_>>>()?;
                if name == "c" && values.len() > 1 {
                    let parts = values.into_iter().map(|part| self.known("c", &[part]));
                    let whole = parts.reduce(|whole, part| self.known("c", &[whole?, part?]));
                    return whole.unwrap_or_else(|| self.known("c", &[]));
                }
                self.known(name, &values)
            }
        }
    }

    /// An operation of Almach with a function on a vector.
    fn over(
        &mut self,
        operation: &str,
        [function, vector]: [&Node; 2],
        first: Option<&Node>,
        scope: &Scope,
    ) -> Made<Typed> {
        let vector = self.expr(vector, scope)?;
        if !vector.is_vector() {
            return self.wrong("expected a vector, found one value; `c(x)` makes a vector of it");
        }
        let first = first.map(|first| self.expr(first, scope)).transpose()?;
        let (function, around) = self.function(function, scope)?;
        let shapes = first
            .iter()
            .map(|first| first.1)
            .chain([vector.1.to_ascii_lowercase()]);
        let params: Vec<_> = shapes.map(|shape| (self.fresh("element"), shape)).collect();
        let args = params
            .iter()
            .map(|(name, shape)| Meaning::Value(Typed(var(name), *shape)));
        let body = self.expand(&function, &around, args.collect())?;
        let gives = match (operation, &first) {
            _ if body.is_vector() => {
                return self.wrong("this function gives a vector; vectors hold numbers and logicals");
            }
            ("map", _) => body.1.to_ascii_uppercase(),
            ("filter", _) if body.1 == 'l' => vector.1,
            (_, Some(first)) if body.1 == first.1 => body.1,
            _ => return self.wrong("this function gives something else than is needed here"),
        };
        let lambda = lambda(params.into_iter().map(|(name, _)| name), body.0);
        let args = [Some(lambda), first.map(|first| first.0), Some(vector.0)];
        Ok(Typed(call(operation, args.into_iter().flatten()), gives))
    }

    /// A function of the language on values: the first row that fits, else the first that does where logicals count as 0 or 1.
    fn known(&self, name: &str, args: &[Typed]) -> Made<Typed> {
        let is_it = |row: &&(&str, &str, &str)| row.1.split(' ').any(|known| known == name);
        let rows: Vec<_> = FUNCTIONS.iter().filter(is_it).collect();
        let fitting = |counted| rows.iter().find(|row| fits(row.0, args, counted));
        if let Some((signature, _, text)) = fitting(false).or_else(|| fitting(true)) {
            return self.apply(signature, &text.replace('@', name), args);
        }
        if rows.is_empty() {
            let all = FUNCTIONS.iter().flat_map(|(_, names, _)| names.split(' '));
            let near: Vec<&str> = all.filter(|known| known.get(..1) == name.get(..1)).collect();
            return self.wrong(format!(
                "there is no function `{name}`; there are {}",
                near.join(", ")
            ));
        }
        let takes: Vec<String> = rows.iter().map(|row| in_words(row.0.chars())).collect();
        let found = in_words(args.iter().map(|arg| arg.1));
        self.wrong(format!("`{name}` takes {}, not {found}", takes.join(" or ")))
    }

    /// A text of Almach with values for its names; where it is for each element, vectors are mapped over.
    fn apply(&self, signature: &str, text: &str, args: &[Typed]) -> Made<Typed> {
        let quoted = quote(text, self.here()).or_else(|problem| self.wrong(problem.to_string()))?;
        let (mut bound, mut elements, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for ((arg, wanted), name) in args.iter().zip(signature.chars()).zip(["x", "y", "z"]) {
            let mut value = arg.0.clone();
            if "nN".contains(wanted) && "lL".contains(arg.1) {
                let number = |value| call("f64", [value]);
                value = match arg.is_vector() {
                    true => call("map", [lambda(["l"], number(var("l"))), value]),
                    false => number(value),
                };
            }
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
        if elements.is_empty() {
            return Ok(Typed(quoted, gives).with(bound));
        }
        let map = call("map", [lambda(elements, quoted)].into_iter().chain(vectors));
        Ok(Typed(map, gives.to_ascii_uppercase()).with(bound))
    }
}

/// Whether a row of the table can be used for arguments.
fn fits(signature: &str, args: &[Typed], counted: bool) -> bool {
    let each = signature.contains('*');
    let wanted: Vec<Shape> = signature.chars().take_while(char::is_ascii_alphabetic).collect();
    let fits = |(arg, wanted): (&Typed, &Shape)| {
        let is_many = arg.is_vector() == wanted.is_ascii_uppercase() || each && arg.is_vector();
        let kind = if *wanted == 'i' {
            'n'
        } else {
            wanted.to_ascii_lowercase()
        };
        let counted = counted && *wanted != 'i';
        is_many && (kind == 'a' || kind == arg.1.to_ascii_lowercase() || kind == 'n' && counted)
    };
    wanted.len() == args.len() && args.iter().zip(&wanted).all(fits)
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
