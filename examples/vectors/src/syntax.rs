//! Text to a tree. As in R, nearly everything is a call, of an operator, of `if`, of `[`, of `<-`, or of `{` with what stands between braces.

use crate::{Made, wrong};
use std::ops::Range;

/// A name or a number, alone; an operator, or what a form starts with, and its operands. A call `f(x)` is `(` with `f` and `x`.
pub struct Node {
    pub head: String,
    pub args: Vec<Node>,
    pub place: Range<usize>,
}

impl Node {
    /// The operands of an operator or form.
    pub fn of(&self, head: &str) -> Option<&[Node]> {
        (self.head == head).then_some(&self.args)
    }
}

/// What is no word. The longer ones first.
const SYMBOLS: &str = "<- <= >= == != %% %*% ( ) { } [ ] , ; : + - * / ^ < > ! & |";

/// What goes on with an expression, loosest first.
const LEVELS: [&str; 9] = [
    "<-",
    "|",
    "&",
    "== != < <= > >=",
    "+ -",
    "* / %% %*%",
    ":",
    "^",
    "( [",
];

/// What a sign stands before.
const POWERS: usize = 7;

/// How deep expressions may nest.
const DEPTH: usize = 200;

/// What stands in a file.
pub fn parse(text: &str) -> Made<Vec<Node>> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while tokens.last().is_none_or(|last: &Token<'_>| !last.text.is_empty()) {
        let mut rest = text[at..].trim_start();
        while rest.starts_with('#') {
            rest = rest.find('\n').map_or("", |end| rest[end..].trim_start());
        }
        let symbol = SYMBOLS.split(' ').find(|symbol| rest.starts_with(symbol));
        let token = &rest[..symbol.map_or_else(|| word(rest), str::len)];
        let start = text.len() - rest.len();
        if let (Some(first), true) = (rest.chars().next(), token.is_empty()) {
            return wrong(format!("`{first}` means nothing here"), &(start..start));
        }
        let (starts_line, end) = (text[at..start].contains('\n'), start + token.len());
        tokens.push(Token {
            text: token,
            place: start..end,
            starts_line,
        });
        at = end;
    }
    Parser {
        tokens,
        at: 0,
        depth: 0,
        separator: ";",
    }
    .list("", ";")
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

/// A symbol, a name or a number; nothing at the end.
struct Token<'t> {
    text: &'t str,
    place: Range<usize>,
    starts_line: bool,
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    /// What separates the expressions around: where it is `;`, one that could end at the end of a line does.
    separator: &'static str,
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

    fn expect(&mut self, text: &str, message: &str) -> Made<()> {
        if self.eat(text) {
            Ok(())
        } else {
            wrong(message, &self.next().place)
        }
    }

    /// Expressions up to a bracket: on lines of their own or with `;` between them, or between commas.
    fn list(&mut self, close: &str, separator: &'static str) -> Made<Vec<Node>> {
        let (around, mut items) = (std::mem::replace(&mut self.separator, separator), Vec::new());
        while self.next().text != close {
            let separated = self.eat(separator);
            match separator {
                "," if !separated && !items.is_empty() => break,
                ";" if separated => {}
                _ => items.push(self.expr(0)?),
            }
        }
        self.separator = around;
        self.expect(close, &format!("expected `{close}`"))?;
        Ok(items)
    }

    /// An expression of operators that bind at least so tightly.
    fn expr(&mut self, least: usize) -> Made<Node> {
        let start = self.next().place.start;
        self.depth += 1;
        let mut left = self.first()?;
        loop {
            let ends = self.separator == ";" && self.next().starts_line;
            let head = self.next().text;
            let level = LEVELS
                .iter()
                .position(|level| level.split(' ').any(|known| known == head));
            let Some(level) = level.filter(|level| *level >= least && !ends) else {
                self.depth -= 1;
                return Ok(left);
            };
            self.at += 1;
            let mut args = match head {
                "(" => self.list(")", ",")?,
                "[" => self.list("]", ",")?,
                "^" => vec![self.expr(level)?],
                _ => vec![self.expr(level + 1)?],
            };
            args.insert(0, left);
            left = self.node(start, head, args);
        }
    }

    /// What an expression starts with.
    fn first(&mut self) -> Made<Node> {
        let (place, head) = (self.next().place.clone(), self.next().text);
        if self.depth > DEPTH {
            return wrong(format!("expressions nest {DEPTH} deep here"), &place);
        }
        self.at += 1;
        let args = match head {
            "-" | "!" => vec![self.expr(POWERS)?],
            "{" => self.list("}", ";")?,
            "(" => {
                let mut items = self.list(")", ",")?;
                return match items.pop() {
                    Some(item) if items.is_empty() => Ok(item),
                    _ => wrong("expected one expression between brackets", &place),
                };
            }
            "function" | "if" => {
                self.expect("(", "expected `(`")?;
                let mut args = self.list(")", ",")?;
                args.push(self.expr(0)?);
                if head == "if" {
                    self.expect("else", "an `if` is a value, so it needs an `else`")?;
                    args.push(self.expr(0)?);
                }
                args
            }
            _ if head.is_empty() || head == "else" || SYMBOLS.split(' ').any(|symbol| symbol == head) => {
                return wrong("expected a name", &place);
            }
            _ => Vec::new(),
        };
        Ok(self.node(place.start, head, args))
    }

    /// An expression that started there and ends here.
    fn node(&self, start: usize, head: &str, args: Vec<Node>) -> Node {
        let place = start..self.tokens[self.at - 1].place.end;
        Node {
            head: head.to_owned(),
            args,
            place,
        }
    }
}
