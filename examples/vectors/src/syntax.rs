//! Text to a tree. As in R, nearly everything is a call: of an operator, of `if`, of `[`, of `<-`, and of `{` with what stands between braces.

use crate::{Made, wrong};
use std::ops::Range;
use std::rc::Rc;

/// An expression and the bytes it stands on.
pub struct Node {
    pub kind: Kind,
    pub place: Range<usize>,
}

pub enum Kind {
    Number(f64),
    Name(String),
    Call(Box<Node>, Vec<Node>),
    Function(Rc<Function>),
}

pub struct Function {
    pub params: Vec<Param>,
    pub body: Node,
}

pub struct Param {
    pub name: String,
    /// `k: number`.
    pub is_number: bool,
}

impl Node {
    /// The name and the value of `name <- value`.
    pub fn assignment(&self) -> Option<(&str, &Node)> {
        match &self.kind {
            Kind::Call(function, args) if function.name() == Some("<-") => Some((args[0].name()?, &args[1])),
            _ => None,
        }
    }

    fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// The longer ones first.
const SYMBOLS: [&str; 26] = [
    "<-", "<=", ">=", "==", "!=", "%%", "%*%", "(", ")", "{", "}", "[", "]", ",", ";", ":", "+", "-", "*",
    "/", "^", "<", ">", "!", "&", "|",
];

/// Binary operators, loosest first, by strength.
const LEVELS: [&str; 7] = ["<-", "|", "&", "== != < <= > >=", "+ -", "* / %% %*%", ":"];

/// How deep expressions may nest.
const DEPTH: usize = 200;

/// What stands in a file.
pub fn parse(text: &str) -> Made<Vec<Node>> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        lines_end: true,
    };
    parser.sequence("")
}

/// A symbol, a name or a number; nothing at the end.
struct Token<'t> {
    text: &'t str,
    place: Range<usize>,
    starts_line: bool,
}

fn tokens(text: &str) -> Made<Vec<Token<'_>>> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    loop {
        let before = rest;
        rest = rest.trim_start();
        while rest.starts_with('#') {
            rest = rest.find('\n').map_or("", |end| &rest[end..]).trim_start();
        }
        let gap = &before[..before.len() - rest.len()];
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        let length = symbol.map_or_else(|| word(rest), str::len);
        let start = text.len() - rest.len();
        tokens.push(Token {
            text: &rest[..length],
            place: start..start + length,
            starts_line: gap.contains('\n'),
        });
        match (rest.chars().next(), length) {
            (None, _) => return Ok(tokens),
            (Some(first), 0) => return wrong(format!("`{first}` means nothing here"), start..start),
            _ => rest = &rest[length..],
        }
    }
}

/// The length of the name or number that a text starts with. A number may have an exponent with a sign.
fn word(text: &str) -> usize {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let ends = |&(at, c): &(usize, char)| match c {
        '-' | '+' => !(is_number && text[..at].ends_with(['e', 'E'])),
        _ => !(c.is_ascii_alphanumeric() || c == '_' || c == '.'),
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at)
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    /// Whether an expression that could end at the end of a line does: not between round or square brackets.
    lines_end: bool,
}

impl<'t> Parser<'t> {
    fn next(&self) -> &Token<'t> {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.next().text == text;
        self.at += usize::from(found);
        found
    }

    /// Eats what goes on with an expression.
    fn eat_on(&mut self, text: &str) -> bool {
        !(self.lines_end && self.next().starts_line) && self.eat(text)
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Made<T> {
        wrong(message, self.next().place.clone())
    }

    fn expect(&mut self, text: &str) -> Made<()> {
        match self.eat(text) {
            true => Ok(()),
            false => self.wrong(format!("expected `{text}`")),
        }
    }

    /// An expression that started there and ends here.
    fn node(&self, start: usize, kind: Kind) -> Node {
        let end = self.tokens[self.at - 1].place.end;
        Node {
            kind,
            place: start..end,
        }
    }

    fn call(&self, start: usize, function: &str, args: Vec<Node>) -> Node {
        let function = self.node(start, Kind::Name(function.to_owned()));
        self.node(start, Kind::Call(Box::new(function), args))
    }

    fn expr(&mut self) -> Made<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(format!("expressions nest {DEPTH} deep here"));
        }
        let node = self.level(0);
        self.depth -= 1;
        node
    }

    fn level(&mut self, level: usize) -> Made<Node> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.split(' ').find(|operator| self.eat_on(operator)) {
            let right = self.level(level + 1)?;
            left = self.call(left.place.start, operator, vec![left, right]);
        }
        Ok(left)
    }

    /// `^` binds tighter than a sign before it, and groups to the right.
    fn unary(&mut self) -> Made<Node> {
        let start = self.next().place.start;
        if let Some(operator) = ["-", "!"].into_iter().find(|operator| self.eat(operator)) {
            let operand = self.unary()?;
            return Ok(self.call(start, operator, vec![operand]));
        }
        let mut node = self.primary()?;
        loop {
            node = if self.eat_on("(") {
                let args = self.list(")", Parser::expr)?;
                self.node(start, Kind::Call(Box::new(node), args))
            } else if self.eat_on("[") {
                let mut args = self.list("]", Parser::expr)?;
                args.insert(0, node);
                self.call(start, "[", args)
            } else if self.eat_on("^") {
                let exponent = self.unary()?;
                self.call(start, "^", vec![node, exponent])
            } else {
                return Ok(node);
            };
        }
    }

    /// Expressions between commas, up to a bracket.
    fn list<T>(&mut self, close: &str, one: impl Fn(&mut Self) -> Made<T>) -> Made<Vec<T>> {
        let around = std::mem::replace(&mut self.lines_end, false);
        let mut items = Vec::new();
        while self.next().text != close && (items.is_empty() || self.eat(",")) {
            items.push(one(self)?);
        }
        self.lines_end = around;
        self.expect(close)?;
        Ok(items)
    }

    /// Expressions on lines of their own, or with `;` between them.
    fn sequence(&mut self, close: &str) -> Made<Vec<Node>> {
        let around = std::mem::replace(&mut self.lines_end, true);
        let mut items = Vec::new();
        while self.next().text != close {
            if !self.eat(";") {
                items.push(self.expr()?);
            }
        }
        self.lines_end = around;
        self.at += 1;
        Ok(items)
    }

    fn param(&mut self) -> Made<Param> {
        let Kind::Name(name) = self.primary()?.kind else {
            return self.wrong("expected a name");
        };
        let is_number = self.eat(":");
        if is_number && !self.eat("number") {
            return self.wrong("expected `number`; other parameters are vectors and need no kind");
        }
        Ok(Param { name, is_number })
    }

    fn primary(&mut self) -> Made<Node> {
        let (start, word) = (self.next().place.start, self.next().text);
        if word == "else" || word.is_empty() || (SYMBOLS.contains(&word) && word != "(" && word != "{") {
            return self.wrong("expected a name");
        }
        self.at += 1;
        let kind = match word {
            "(" => {
                let mut items = self.list(")", Parser::expr)?;
                return match items.pop() {
                    Some(item) if items.is_empty() => Ok(item),
                    _ => wrong("expected one expression between brackets", start..start),
                };
            }
            "{" => {
                let items = self.sequence("}")?;
                return Ok(self.call(start, "{", items));
            }
            "function" => {
                self.expect("(")?;
                let (params, body) = (self.list(")", Parser::param)?, self.expr()?);
                Kind::Function(Rc::new(Function { params, body }))
            }
            "if" => {
                self.expect("(")?;
                let mut args = self.list(")", Parser::expr)?;
                args.push(self.expr()?);
                if !self.eat("else") {
                    return self.wrong("an `if` is a value, so it needs an `else`");
                }
                args.push(self.expr()?);
                return Ok(self.call(start, "if", args));
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => match word.parse() {
                Ok(number) => Kind::Number(number),
                Err(_) => return wrong("this is not a number", start..start),
            },
            _ => Kind::Name(word.to_owned()),
        };
        Ok(self.node(start, kind))
    }
}
