//! Text to a tree. As in R, operators, `if` and `x[i]` are calls of functions with these names.

use crate::Wrong;
use std::ops::Range;
use std::rc::Rc;

/// An expression and the bytes it stands on.
#[derive(Clone)]
pub struct Node {
    pub kind: Kind,
    pub place: Range<usize>,
}

#[derive(Clone)]
pub enum Kind {
    Number(f64),
    Logical(bool),
    Name(String),
    Call(Box<Node>, Vec<Node>),
    Function(Vec<Param>, Rc<Node>),
    /// Assignments, then the value.
    Block(Vec<(String, Node)>, Box<Node>),
}

#[derive(Clone)]
pub struct Param {
    pub name: String,
    /// `k: number`.
    pub is_number: bool,
}

type Read<T> = Result<T, Wrong>;

/// The longer ones first.
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
    let (at, depth, lines) = (0, 0, Lines::End);
    let mut parser = Parser {
        text,
        at,
        depth,
        lines,
    };
    let mut functions = Vec::new();
    while parser.next() < text.len() {
        if !parser.eat(";") {
            functions.push(parser.assignment()?);
        }
    }
    Ok(functions)
}

struct Parser<'t> {
    text: &'t str,
    /// The end of what was read last.
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

impl<'t> Parser<'t> {
    /// Where the next word or symbol is: behind spaces and comments.
    fn next(&self) -> usize {
        let mut rest = self.text.get(self.at..).unwrap_or("").trim_start();
        while rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
        }
        self.text.len() - rest.len()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.next()..).unwrap_or("")
    }

    /// Whether an expression may go on with what comes next.
    fn goes_on(&self) -> bool {
        let gap = self.text.get(self.at..self.next()).unwrap_or("");
        self.lines == Lines::GoOn || !gap.contains('\n')
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = SYMBOLS.iter().find(|known| self.rest().starts_with(**known));
        self.eat_if(found == Some(&symbol), symbol.len())
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.eat_if(self.word() == word, word.len())
    }

    fn eat_if(&mut self, found: bool, length: usize) -> bool {
        if found {
            self.at = self.next() + length;
        }
        found
    }

    fn word(&self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
        if word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            word
        } else {
            ""
        }
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Read<T> {
        let place = self.next()..self.next();
        Err(Wrong {
            message: message.into(),
            place,
        })
    }

    fn expect(&mut self, symbol: &str) -> Read<()> {
        if self.eat(symbol) {
            Ok(())
        } else {
            self.wrong(format!("expected `{symbol}`"))
        }
    }

    fn name(&mut self) -> Read<String> {
        let word = self.word();
        if !matches!(word, "" | "function" | "if" | "else" | "TRUE" | "FALSE") {
            self.eat_word(word);
            return Ok(word.to_owned());
        }
        match self.rest().chars().next() {
            Some(first)
                if !first.is_ascii_alphanumeric() && !SYMBOLS.iter().any(|s| s.starts_with(first)) =>
            {
                self.wrong(format!("`{first}` means nothing here"))
            }
            _ => self.wrong("expected a name"),
        }
    }

    fn assignment(&mut self) -> Read<(String, Node)> {
        let name = self.name()?;
        self.expect("<-")?;
        Ok((name, self.expr()?))
    }

    fn expr(&mut self) -> Read<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(format!("expressions nest {DEPTH} deep here"));
        }
        let node = self.level(0);
        self.depth -= 1;
        node
    }

    fn call(&self, start: usize, function: &str, args: Vec<Node>) -> Node {
        let place = start..self.at;
        let function = Node {
            kind: Kind::Name(function.to_owned()),
            place: place.clone(),
        };
        Node {
            kind: Kind::Call(Box::new(function), args),
            place,
        }
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
            left = self.call(left.place.start, operator, vec![left, right]);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Read<Node> {
        let start = self.next();
        match ["-", "!"].into_iter().find(|operator| self.eat(operator)) {
            None => self.power(),
            Some(operator) => {
                let operand = self.level(LEVELS.len())?;
                Ok(self.call(start, operator, vec![operand]))
            }
        }
    }

    /// `^` binds tighter than a sign before it, and groups to the right.
    fn power(&mut self) -> Read<Node> {
        let base = self.postfix()?;
        if !self.goes_on() || !self.eat("^") {
            return Ok(base);
        }
        let exponent = self.unary()?;
        Ok(self.call(base.place.start, "^", vec![base, exponent]))
    }

    fn postfix(&mut self) -> Read<Node> {
        let mut node = self.primary()?;
        while self.goes_on() {
            let start = node.place.start;
            if self.eat("(") {
                let args = self.list(Parser::expr)?;
                let kind = Kind::Call(Box::new(node), args);
                node = Node {
                    kind,
                    place: start..self.at,
                };
            } else if self.eat("[") {
                let index = self.inside("]", Parser::expr)?;
                node = self.call(start, "[", vec![node, index]);
            } else {
                break;
            }
        }
        Ok(node)
    }

    /// What is between brackets, where the ends of lines mean nothing.
    fn inside<T>(&mut self, close: &str, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let around = std::mem::replace(&mut self.lines, Lines::GoOn);
        let result = read(self)?;
        self.lines = around;
        self.expect(close)?;
        Ok(result)
    }

    /// Things between commas, up to a bracket.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        if self.eat(")") {
            return Ok(Vec::new());
        }
        self.inside(")", |parser| {
            let mut items = vec![one(parser)?];
            while parser.eat(",") {
                items.push(one(parser)?);
            }
            Ok(items)
        })
    }

    fn primary(&mut self) -> Read<Node> {
        let start = self.next();
        let kind = if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            Kind::Number(self.number()?)
        } else if self.eat("(") {
            self.inside(")", Parser::expr)?.kind
        } else if self.eat("{") {
            let around = std::mem::replace(&mut self.lines, Lines::End);
            let block = self.block()?;
            self.lines = around;
            block
        } else if self.eat_word("function") {
            self.expect("(")?;
            let params = self.list(Parser::param)?;
            Kind::Function(params, Rc::new(self.expr()?))
        } else if self.eat_word("if") {
            self.expect("(")?;
            let (condition, yes) = (self.inside(")", Parser::expr)?, self.expr()?);
            if !self.eat_word("else") {
                return self.wrong("an `if` is a value, so it needs an `else`");
            }
            let no = self.expr()?;
            self.call(start, "if", vec![condition, yes, no]).kind
        } else if self.eat_word("TRUE") {
            Kind::Logical(true)
        } else if self.eat_word("FALSE") {
            Kind::Logical(false)
        } else {
            Kind::Name(self.name()?)
        };
        Ok(Node {
            kind,
            place: start..self.at,
        })
    }

    fn number(&mut self) -> Read<f64> {
        let rest = self.rest();
        let belongs = |(at, c): &(usize, char)| {
            let exponent = rest.get(..*at).is_some_and(|before| before.ends_with(['e', 'E']));
            c.is_ascii_alphanumeric() || *c == '.' || (exponent && matches!(c, '-' | '+'))
        };
        let length = rest.char_indices().take_while(belongs).count();
        match rest.get(..length).and_then(|number| number.parse().ok()) {
            Some(number) => {
                self.eat_if(true, length);
                Ok(number)
            }
            None => self.wrong("this is not a number"),
        }
    }

    fn param(&mut self) -> Read<Param> {
        let name = self.name()?;
        let is_number = self.eat(":");
        if is_number && !self.eat_word("number") {
            return self.wrong("expected `number`; other parameters are vectors and need no kind");
        }
        Ok(Param { name, is_number })
    }

    /// Behind `{`: assignments and the value, on lines of their own or with `;` between them.
    fn block(&mut self) -> Read<Kind> {
        let mut assignments = Vec::new();
        loop {
            while self.eat(";") {}
            let before = self.at;
            let is_assignment = self.name().is_ok() && self.eat("<-");
            self.at = before;
            if !is_assignment {
                break;
            }
            assignments.push(self.assignment()?);
        }
        let value = self.expr()?;
        while self.eat(";") {}
        self.expect("}")?;
        Ok(Kind::Block(assignments, Box::new(value)))
    }
}
