//! Text to a tree.

use crate::{Wrong, wrong};
use std::ops::Range;

/// An expression and the bytes it stands on.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub place: Range<usize>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Number(f64),
    Logical(bool),
    Name(String),
    Unary(&'static str, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
    Call(Box<Node>, Vec<Node>),
    Index(Box<Node>, Box<Node>),
    If(Box<Node>, Box<Node>, Box<Node>),
    Function(Vec<Param>, Box<Node>),
    /// Assignments, then the value.
    Block(Vec<(String, Node)>, Box<Node>),
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    /// `k: number`.
    pub is_number: bool,
}

type Read<T> = Result<T, Wrong>;

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Number(f64),
    Name(String),
    Symbol(&'static str),
    End,
}

const SYMBOLS: &[&str] = &[
    "<-", "<=", ">=", "==", "!=", "%%", "%*%", "(", ")", "{", "}", "[", "]", ",", ";", ":", "+", "-", "*",
    "/", "^", "<", ">", "!", "&", "|",
];

/// Binary operators, loosest first; the operators of a row have one strength.
const LEVELS: &[&[&str]] = &[
    &["|"],
    &["&"],
    &["==", "!=", "<", "<=", ">", ">="],
    &["+", "-"],
    &["*", "/", "%%", "%*%"],
    &[":"],
];

/// How deep expressions may nest.
const DEPTH: usize = 200;

/// The functions of a program: `name <- function(…) body`.
pub fn parse(text: &str) -> Read<Vec<(String, Node)>> {
    let mut parser = Parser {
        text,
        tokens: lex(text)?,
        at: 0,
        depth: 0,
        lines: Lines::End,
    };
    let mut functions = Vec::new();
    while *parser.peek() != Token::End {
        if parser.eat(";") {
            continue;
        }
        let name = parser.name()?;
        parser.expect("<-")?;
        functions.push((name, parser.expr()?));
    }
    Ok(functions)
}

fn lex(text: &str) -> Read<Vec<(Token, Range<usize>)>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or("");
        let length = |belongs: &dyn Fn(char) -> bool| rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
        let (token, bytes) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if first == '#' {
            (None, length(&|c| c != '\n'))
        } else if first.is_ascii_digit() {
            let bytes = number_length(rest);
            match rest.get(..bytes).and_then(|number| number.parse().ok()) {
                Some(number) => (Some(Token::Number(number)), bytes),
                None => return wrong(&(at..at + bytes), "this is not a number"),
            }
        } else if first.is_ascii_alphabetic() {
            let bytes = length(&|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            let name = rest.get(..bytes).unwrap_or("").to_owned();
            (Some(Token::Name(name)), bytes)
        } else {
            match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Some(Token::Symbol(symbol)), symbol.len()),
                None => {
                    return wrong(
                        &(at..at + first.len_utf8()),
                        format!("`{first}` means nothing here"),
                    );
                }
            }
        };
        tokens.extend(token.map(|token| (token, at..at + bytes)));
        at += bytes;
    }
    tokens.push((Token::End, at..at));
    Ok(tokens)
}

/// Digits, a fraction, an exponent.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or("");
        from + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    };
    let mut end = digits(0);
    if text.get(end..).is_some_and(|rest| rest.starts_with('.')) {
        end = digits(end + 1);
    }
    if text.get(end..).is_some_and(|rest| rest.starts_with(['e', 'E'])) {
        let signed = text
            .get(end + 1..)
            .is_some_and(|rest| rest.starts_with(['-', '+']));
        end = digits(end + 1 + usize::from(signed));
    }
    end
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
    lines: Lines,
}

/// What the end of a line means.
#[derive(Clone, Copy, PartialEq)]
enum Lines {
    /// An expression that could end there does.
    End,
    /// Nothing: between round or square brackets.
    GoOn,
}

impl Parser<'_> {
    /// Whether an expression may go on with what comes next.
    fn goes_on(&self) -> bool {
        let gap = self.text.get(self.end()..self.place().start).unwrap_or("");
        self.lines == Lines::GoOn || !gap.contains('\n')
    }

    /// What is between brackets.
    fn inside<T>(&mut self, lines: Lines, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let around = std::mem::replace(&mut self.lines, lines);
        let result = read(self);
        self.lines = around;
        result
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(0..0, |(_, place)| place.clone())
    }

    /// The end of what was read last.
    fn end(&self) -> usize {
        self.tokens
            .get(self.at.saturating_sub(1))
            .map_or(0, |(_, place)| place.end)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(next) if *next == symbol);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(next) if next == word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Read<()> {
        match self.eat(symbol) {
            true => Ok(()),
            false => wrong(&self.place(), format!("expected `{symbol}`")),
        }
    }

    fn name(&mut self) -> Read<String> {
        match self.peek().clone() {
            Token::Name(name) if !matches!(name.as_str(), "function" | "if" | "else" | "TRUE" | "FALSE") => {
                self.at += 1;
                Ok(name)
            }
            _ => wrong(&self.place(), "expected a name"),
        }
    }

    fn expr(&mut self) -> Read<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return wrong(&self.place(), format!("expressions nest {DEPTH} deep here"));
        }
        let node = self.level(0);
        self.depth -= 1;
        node
    }

    fn level(&mut self, level: usize) -> Read<Node> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while self.goes_on()
            && let Some(operator) = operators.iter().find(|operator| self.eat(operator))
        {
            let right = self.level(level + 1)?;
            let place = left.place.start..right.place.end;
            let kind = Kind::Binary(operator, Box::new(left), Box::new(right));
            left = Node { kind, place };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Read<Node> {
        let start = self.place().start;
        let Some(operator) = ["-", "!"].into_iter().find(|operator| self.eat(operator)) else {
            return self.power();
        };
        let operand = Box::new(self.level(LEVELS.len())?);
        let place = start..operand.place.end;
        let kind = Kind::Unary(operator, operand);
        Ok(Node { kind, place })
    }

    /// `^` binds tighter than a sign before it, and groups to the right.
    fn power(&mut self) -> Read<Node> {
        let base = self.postfix()?;
        if !self.goes_on() || !self.eat("^") {
            return Ok(base);
        }
        let exponent = self.unary()?;
        let place = base.place.start..exponent.place.end;
        let kind = Kind::Binary("^", Box::new(base), Box::new(exponent));
        Ok(Node { kind, place })
    }

    fn postfix(&mut self) -> Read<Node> {
        let mut node = self.primary()?;
        loop {
            if !self.goes_on() {
                return Ok(node);
            }
            let kind = if self.eat("(") {
                let args = self.inside(Lines::GoOn, |parser| parser.list(")", Parser::expr))?;
                Kind::Call(Box::new(node.clone()), args)
            } else if self.eat("[") {
                let index = self.inside(Lines::GoOn, Parser::expr)?;
                self.expect("]")?;
                Kind::Index(Box::new(node.clone()), Box::new(index))
            } else {
                return Ok(node);
            };
            let place = node.place.start..self.end();
            node = Node { kind, place };
        }
    }

    /// Things between commas, up to a bracket.
    fn list<T>(&mut self, close: &str, one: impl Fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(one(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn primary(&mut self) -> Read<Node> {
        let start = self.place().start;
        let kind = if let Token::Number(number) = *self.peek() {
            self.at += 1;
            Kind::Number(number)
        } else if self.eat("(") {
            let inner = self.inside(Lines::GoOn, Parser::expr)?;
            self.expect(")")?;
            inner.kind
        } else if self.eat("{") {
            self.inside(Lines::End, Parser::block)?
        } else if self.eat_word("function") {
            self.expect("(")?;
            let params = self.list(")", Parser::param)?;
            Kind::Function(params, Box::new(self.expr()?))
        } else if self.eat_word("if") {
            self.expect("(")?;
            let condition = self.inside(Lines::GoOn, Parser::expr)?;
            self.expect(")")?;
            let yes = self.expr()?;
            if !self.eat_word("else") {
                return wrong(&self.place(), "an `if` is a value, so it needs an `else`");
            }
            Kind::If(Box::new(condition), Box::new(yes), Box::new(self.expr()?))
        } else if self.eat_word("TRUE") {
            Kind::Logical(true)
        } else if self.eat_word("FALSE") {
            Kind::Logical(false)
        } else {
            Kind::Name(self.name()?)
        };
        let place = start..self.end();
        Ok(Node { kind, place })
    }

    fn param(&mut self) -> Read<Param> {
        let name = self.name()?;
        let is_number = self.eat(":");
        if is_number && !self.eat_word("number") {
            return wrong(
                &self.place(),
                "expected `number`; other parameters are vectors and need no kind",
            );
        }
        Ok(Param { name, is_number })
    }

    /// Behind `{`: assignments and the value, on lines of their own or with `;` between them.
    fn block(&mut self) -> Read<Kind> {
        let mut assignments = Vec::new();
        loop {
            while self.eat(";") {}
            let is_assignment = matches!(self.peek(), Token::Name(_))
                && matches!(self.tokens.get(self.at + 1), Some((Token::Symbol("<-"), _)));
            if !is_assignment {
                break;
            }
            let name = self.name()?;
            self.expect("<-")?;
            assignments.push((name, self.expr()?));
        }
        let value = self.expr()?;
        while self.eat(";") {}
        self.expect("}")?;
        Ok(Kind::Block(assignments, Box::new(value)))
    }
}
