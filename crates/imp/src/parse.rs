//! Parser for the text that `print` writes.

use crate::ir::{
    Access, Argument, AtomicStep, Column, Expr, Index, LoopMode, Order, Param, Passing, Proc, Program, Site,
    Space, Stmt, Store, Transfer, Width, Writing,
};
use crate::lex::{ParseError, Token, tokens};
use crate::print::{infix, order_word};
use almach_base::{FileId, Name, Span, codes};
use almach_value::ir_text::{binary_from_name, scalar_from_text, ternary_from_name, unary_from_name};
use almach_value::ir_types::parse_type;
use almach_value::{BinOp, ForeignType, ScalarType};

/// A whole program.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
    };
    let mut program = Program::default();
    while *parser.peek() == Token::Ident("store".into()) {
        program.stores.push(parser.store()?);
    }
    while *parser.peek() != Token::End {
        program.procs.push(parser.proc()?);
    }
    Ok(program)
}

const ORDERS: [Order; 4] = [
    Order::Relaxed,
    Order::Acquire,
    Order::Release,
    Order::AcquireRelease,
];

struct Parser {
    tokens: Vec<(Token, usize)>,
    next: usize,
}

type Parse<T> = Result<T, ParseError>;

impl Parser {
    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.next + ahead)
            .map_or(&Token::End, |(token, _)| token)
    }

    fn expected<T>(&self, what: &str) -> Parse<T> {
        let at = self
            .tokens
            .get(self.next)
            .or(self.tokens.last())
            .map_or(0, |(_, at)| *at);
        Err(ParseError {
            at,
            message: format!("expected {what}, found {:?}", self.peek()),
        })
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = match self.peek() {
            Token::Symbol(next) => *next == symbol,
            Token::Ident(next) => next == symbol,
            _ => false,
        };
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Parse<()> {
        match self.take(symbol) {
            true => Ok(()),
            false => self.expected(&format!("`{symbol}`")),
        }
    }

    fn ident(&mut self) -> Parse<Name> {
        match self.peek().clone() {
            Token::Ident(name) => {
                self.next += 1;
                Ok(Name::from(name))
            }
            _ => self.expected("a name"),
        }
    }

    fn integer(&mut self) -> Parse<i64> {
        match self.peek() {
            Token::Number(text) => match text.parse() {
                Ok(value) => {
                    self.next += 1;
                    Ok(value)
                }
                Err(_) => self.expected("a number"),
            },
            _ => self.expected("a number"),
        }
    }

    fn scalar_type(&mut self) -> Parse<ScalarType> {
        let name = self.ident()?;
        match ScalarType::from_name(&name) {
            Some(ty) => Ok(ty),
            None => self.expected("a scalar type"),
        }
    }

    fn comma_separated<T>(&mut self, mut one: impl FnMut(&mut Parser) -> Parse<T>) -> Parse<Vec<T>> {
        self.expect("(")?;
        let mut result = Vec::new();
        if self.take(")") {
            return Ok(result);
        }
        loop {
            result.push(one(self)?);
            if self.take(")") {
                return Ok(result);
            }
            self.expect(",")?;
        }
    }

    fn proc(&mut self) -> Parse<Proc> {
        self.expect("proc")?;
        let name = self.ident()?;
        let params = self.comma_separated(Parser::param)?;
        let body = self.block()?;
        Ok(Proc {
            name,
            params,
            body,
            span: Span::NONE,
        })
    }

    /// `store cells(cells$tag: u32, cells$table: settled i64)`.
    fn store(&mut self) -> Parse<Store> {
        self.expect("store")?;
        let name = self.ident()?;
        let columns = self.comma_separated(|parser| {
            let name = parser.ident()?;
            parser.expect(":")?;
            let writing = match parser.take("settled") {
                true => Writing::Settled,
                false => Writing::Plain,
            };
            let ty = parser.scalar_type()?;
            Ok(Column { name, ty, writing })
        })?;
        Ok(Store { name, columns })
    }

    fn param(&mut self) -> Parse<Param> {
        let name = self.ident()?;
        self.expect(":")?;
        let passing = match () {
            () if self.take("out") => Passing::Out,
            () if self.take("read") => Passing::Read,
            () if self.take("write") => Passing::Write,
            () if self.take("owned") => Passing::Owned,
            () => Passing::Value,
        };
        Ok(Param {
            name,
            ty: self.scalar_type()?,
            passing,
        })
    }

    fn block(&mut self) -> Parse<Vec<Stmt>> {
        self.expect("{")?;
        let mut stmts = Vec::new();
        while !self.take("}") {
            stmts.push(self.stmt()?);
        }
        Ok(stmts)
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        let Token::Ident(word) = self.peek().clone() else {
            return self.expected("a statement");
        };
        let keyword = !matches!(self.peek_at(1), Token::Symbol("=" | "["));
        match word.as_str() {
            "let" | "var" if keyword => self.scalar_stmt(&word),
            "buffer" | "alloc" | "shrink" | "borrow" | "free" | "swap" | "copy" if keyword => {
                self.buffer_stmt(&word)
            }
            "for" | "par" | "chain" | "items" | "simd" | "while" | "if" if keyword => self.nested_stmt(&word),
            "check" if keyword => self.check_stmt(),
            "atomic" if keyword => self.atomic_stmt(),
            "await" if keyword => self.await_stmt(),
            "barrier" if keyword => {
                self.next += 1;
                Ok(Stmt::Barrier)
            }
            "kernel" if keyword => {
                self.next += 1;
                Ok(Stmt::Kernel {
                    name: self.ident()?,
                    body: self.block()?,
                })
            }
            "attach" | "fresh" | "fetch" | "copied" if keyword => self.transfer_stmt(&word),
            "reserve" if keyword => {
                self.next += 1;
                let name = self.ident()?;
                self.expect("=")?;
                Ok(Stmt::Reserve {
                    name,
                    store: self.ident()?,
                    count: self.bracketed()?,
                    span: Span::NONE,
                })
            }
            "foreign" if keyword => self.foreign_stmt(),
            "trace" if keyword => self.trace_stmt(),
            "call" if keyword => {
                self.next += 1;
                let proc = self.ident()?;
                let arguments = self.comma_separated(Parser::argument)?;
                Ok(Stmt::Call {
                    proc,
                    arguments,
                    span: Span::NONE,
                })
            }
            _ => {
                let name = self.ident()?;
                if self.take("[") {
                    let index = self.index()?;
                    self.expect("]")?;
                    self.expect("=")?;
                    return Ok(Stmt::Store {
                        buffer: name,
                        index,
                        value: self.expr()?,
                    });
                }
                self.expect("=")?;
                Ok(Stmt::Assign {
                    name,
                    value: self.expr()?,
                })
            }
        }
    }

    /// `attach xs[n]`, `fetch read xs`, `fetch write xs`, `fetch read S$0[i]`, `copied xs[n]`.
    fn transfer_stmt(&mut self, word: &str) -> Parse<Stmt> {
        self.next += 1;
        if word == "attach" {
            let buffer = self.ident()?;
            let size = self.bracketed()?;
            return Ok(Stmt::Transfer(Transfer::Attach { buffer, size }));
        }
        if word == "fresh" {
            let buffer = self.ident()?;
            return Ok(Stmt::Transfer(Transfer::Fresh { buffer }));
        }
        if word == "copied" {
            let buffer = self.ident()?;
            let count = self.bracketed()?;
            return Ok(Stmt::Transfer(Transfer::Copied { buffer, count }));
        }
        let access = match () {
            () if self.take("write") => Access::Write,
            () if self.take("read") => Access::Read,
            () => return self.expected("`read` or `write`"),
        };
        let buffer = self.ident()?;
        if matches!(self.peek(), Token::Symbol("[")) {
            let index = self.bracketed()?;
            return Ok(Stmt::Transfer(Transfer::Cell {
                column: buffer,
                index,
                access,
            }));
        }
        Ok(Stmt::Transfer(Transfer::Fetch { buffer, access }))
    }

    fn scalar_stmt(&mut self, word: &str) -> Parse<Stmt> {
        self.next += 1;
        let name = self.ident()?;
        self.expect(":")?;
        let ty = self.scalar_type()?;
        if word == "let" {
            self.expect("=")?;
            return Ok(Stmt::Let {
                name,
                ty,
                value: self.expr()?,
            });
        }
        let value = match self.take("=") {
            true => Some(self.expr()?),
            false => None,
        };
        Ok(Stmt::Var { name, ty, value })
    }

    fn buffer_stmt(&mut self, word: &str) -> Parse<Stmt> {
        self.next += 1;
        let name = self.ident()?;
        Ok(match word {
            "buffer" => {
                self.expect(":")?;
                let space = match () {
                    () if self.take("global") => Space::Global,
                    () if self.take("local") => Space::Local,
                    () if self.take("private") => Space::Private,
                    () if self.take("borrowed") => Space::Borrowed,
                    () => Space::Host,
                };
                Stmt::Buffer {
                    name,
                    ty: self.scalar_type()?,
                    space,
                }
            }
            "alloc" => Stmt::Alloc {
                buffer: name,
                size: self.bracketed()?,
                span: Span::NONE,
            },
            "shrink" => Stmt::Shrink {
                buffer: name,
                size: self.bracketed()?,
            },
            "borrow" => {
                self.expect("=")?;
                let from = self.ident()?;
                let first = self.bracketed()?;
                self.expect("for")?;
                Stmt::Borrow {
                    buffer: name,
                    from,
                    first,
                    count: self.index()?,
                }
            }
            "free" => Stmt::Free(name),
            "swap" => {
                self.expect(",")?;
                Stmt::Swap(name, self.ident()?)
            }
            _ => {
                let to_index = self.bracketed()?;
                self.expect("=")?;
                let from = self.ident()?;
                let from_index = self.bracketed()?;
                self.expect("for")?;
                Stmt::Copy {
                    to: name,
                    to_index,
                    from,
                    from_index,
                    count: self.index()?,
                }
            }
        })
    }

    /// `atomic relaxed add bins[i], 1i32`.
    fn atomic_stmt(&mut self) -> Parse<Stmt> {
        self.next += 1;
        let word = self.ident()?;
        let Some(order) = ORDERS.into_iter().find(|order| order_word(*order) == &*word) else {
            return self.expected("a memory order");
        };
        let kind = self.ident()?;
        let bound = match &*kind {
            "load" | "exchange" => {
                let name = self.ident()?;
                self.expect(":")?;
                let ty = self.scalar_type()?;
                self.expect("=")?;
                Some((name, ty))
            }
            _ => None,
        };
        let buffer = self.ident()?;
        let index = self.bracketed()?;
        let step = match (&*kind, bound) {
            ("load", Some((name, ty))) => AtomicStep::Load { name, ty },
            (kind, bound) => {
                self.expect(",")?;
                let value = self.expr()?;
                match (bound, kind, binary_from_name(kind)) {
                    (Some((name, ty)), ..) => AtomicStep::Exchange { name, ty, value },
                    (None, "store", _) => AtomicStep::Store(value),
                    (None, _, Some(op)) => AtomicStep::Update(op, value),
                    _ => return self.expected("an atomic step"),
                }
            }
        };
        Ok(Stmt::Atomic {
            step,
            order,
            buffer,
            index,
        })
    }

    fn await_stmt(&mut self) -> Parse<Stmt> {
        self.next += 1;
        let buffer = self.ident()?;
        let index = self.bracketed()?;
        self.expect(",")?;
        Ok(Stmt::Await {
            buffer,
            index,
            value: self.expr()?,
        })
    }

    fn bracketed(&mut self) -> Parse<Index> {
        self.expect("[")?;
        let index = self.index()?;
        self.expect("]")?;
        Ok(index)
    }

    fn nested_stmt(&mut self, word: &str) -> Parse<Stmt> {
        self.next += 1;
        match word {
            "while" => {
                let condition = self.expr()?;
                Ok(Stmt::While {
                    condition,
                    body: self.block()?,
                })
            }
            "if" => {
                let condition = self.expr()?;
                let then = self.block()?;
                let otherwise = match self.take("else") {
                    true => self.block()?,
                    false => Vec::new(),
                };
                Ok(Stmt::If {
                    condition,
                    then,
                    otherwise,
                })
            }
            _ => {
                let mode = match word {
                    "par" => LoopMode::Par,
                    "chain" => LoopMode::Chain,
                    "items" => LoopMode::Items,
                    "simd" => LoopMode::Simd,
                    _ => LoopMode::Seq,
                };
                if word != "for" {
                    self.expect("for")?;
                }
                let index = self.ident()?;
                let width = match self.take(":") {
                    true => {
                        self.expect("i32")?;
                        Width::W32
                    }
                    false => Width::W64,
                };
                self.expect("<")?;
                let count = self.index()?;
                Ok(Stmt::For {
                    index,
                    width,
                    count,
                    mode,
                    body: self.block()?,
                })
            }
        }
    }

    /// `check c else E0801("text" 0:1-2, a, b)`.
    fn text(&mut self) -> Parse<String> {
        let Token::Text(text) = self.peek().clone() else {
            return self.expected("a text");
        };
        self.next += 1;
        Ok(text)
    }

    fn foreign_stmt(&mut self) -> Parse<Stmt> {
        self.next += 1;
        let text = self.text()?;
        let name = self.ident()?;
        let Some(function) = ForeignType::parse(name, &text) else {
            return self.expected("the arguments of a function with a type");
        };
        Ok(Stmt::Foreign {
            function: Box::new(function),
            arguments: self.comma_separated(Parser::argument)?,
            span: Span::NONE,
        })
    }

    fn trace_stmt(&mut self) -> Parse<Stmt> {
        self.next += 1;
        let label = Name::from(self.text()?);
        let Some(ty) = parse_type(&self.text()?) else {
            return self.expected("a value with a type");
        };
        Ok(Stmt::Trace {
            label,
            ty: Box::new(ty),
            arguments: self.comma_separated(Parser::argument)?,
        })
    }

    fn check_stmt(&mut self) -> Parse<Stmt> {
        self.next += 1;
        let condition = self.expr()?;
        self.expect("else")?;
        let code = self.ident()?;
        let Some(info) = codes::find(&code) else {
            return self.expected("a code of the catalogue");
        };
        self.expect("(")?;
        let Token::Text(text) = self.peek().clone() else {
            return self.expected("a text");
        };
        self.next += 1;
        let mut numbers = [0u32; 3];
        for (slot, separator) in numbers.iter_mut().zip([":", "-", ""]) {
            *slot = match u32::try_from(self.integer()?) {
                Ok(number) => number,
                Err(_) => return self.expected("a position"),
            };
            if !separator.is_empty() {
                self.expect(separator)?;
            }
        }
        let [file, start, end] = numbers;
        let site = Site {
            code: info.code,
            span: Span {
                file: FileId(file),
                start,
                end,
            },
            text: Name::from(text),
        };
        let mut arguments = Vec::new();
        while self.take(",") {
            arguments.push(self.expr()?);
        }
        self.expect(")")?;
        Ok(Stmt::Check {
            condition,
            site,
            arguments,
        })
    }

    fn argument(&mut self) -> Parse<Argument> {
        let keyword = matches!(self.peek_at(1), Token::Ident(_));
        match () {
            () if keyword && self.take("out") => Ok(Argument::Out(self.ident()?)),
            () if keyword && self.take("owned") => Ok(Argument::Owned(self.ident()?)),
            () if keyword && self.take("buffer") => {
                let name = self.ident()?;
                Ok(Argument::Buffer(name, self.bracketed()?))
            }
            () => Ok(Argument::Value(self.expr()?)),
        }
    }

    /// One operator at most: everything nested is in parentheses.
    fn expr(&mut self) -> Parse<Expr> {
        let left = self.operand()?;
        let Token::Symbol(symbol) = *self.peek() else {
            return Ok(left);
        };
        match INFIX.iter().find(|op| infix(**op) == Some(symbol)) {
            None => Ok(left),
            Some(op) => {
                self.next += 1;
                Ok(Expr::binary(*op, left, self.operand()?))
            }
        }
    }

    fn operand(&mut self) -> Parse<Expr> {
        match self.peek().clone() {
            Token::Symbol("(") => {
                self.next += 1;
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Symbol("{") => {
                self.next += 1;
                let index = self.index()?;
                self.expect("}")?;
                Ok(Expr::Index(index))
            }
            Token::Symbol("-") => {
                self.next += 1;
                match self.peek().clone() {
                    Token::Number(text) => self.literal(&format!("-{text}")),
                    Token::Ident(text) => self.literal(&format!("-{text}")),
                    _ => self.expected("a number"),
                }
            }
            Token::Number(text) => self.literal(&text),
            Token::Ident(word) => {
                if let Some(scalar) = scalar_from_text(&word) {
                    self.next += 1;
                    return Ok(Expr::Const(scalar));
                }
                self.next += 1;
                match self.peek() {
                    Token::Symbol("[") => Ok(Expr::Load(Name::from(word), self.bracketed()?)),
                    Token::Symbol("(") => {
                        let arguments = self.comma_separated(Parser::expr)?;
                        self.application(&word, arguments)
                    }
                    _ => Ok(Expr::Var(Name::from(word))),
                }
            }
            _ => self.expected("an expression"),
        }
    }

    fn literal(&mut self, text: &str) -> Parse<Expr> {
        match scalar_from_text(text) {
            Some(scalar) => {
                self.next += 1;
                Ok(Expr::Const(scalar))
            }
            None => self.expected("a literal with its type"),
        }
    }

    fn application(&mut self, word: &str, arguments: Vec<Expr>) -> Parse<Expr> {
        let mut arguments = arguments.into_iter();
        match (
            arguments.next(),
            arguments.next(),
            arguments.next(),
            arguments.next(),
        ) {
            (Some(a), None, ..) => match unary_from_name(word) {
                Some(op) => Ok(Expr::unary(op, a)),
                None => self.expected("an operator of one argument"),
            },
            (Some(a), Some(b), None, _) => match binary_from_name(word) {
                Some(op) => Ok(Expr::binary(op, a, b)),
                None => self.expected("an operator of two arguments"),
            },
            (Some(a), Some(b), Some(c), None) if word == "select" => Ok(Expr::select(a, b, c)),
            (Some(a), Some(b), Some(c), None) => match ternary_from_name(word) {
                Some(op) => Ok(Expr::ternary(op, a, b, c)),
                None => self.expected("an operator of three arguments"),
            },
            _ => self.expected("an operator"),
        }
    }

    fn index(&mut self) -> Parse<Index> {
        let mut sum = match self.take("-") {
            true => -self.index_product()?,
            false => self.index_product()?,
        };
        loop {
            match () {
                () if self.take("+") => sum = sum + self.index_product()?,
                () if self.take("-") => sum = sum - self.index_product()?,
                () => return Ok(sum),
            }
        }
    }

    fn index_product(&mut self) -> Parse<Index> {
        let mut product = self.index_atom()?;
        loop {
            match () {
                () if self.take("*") => product = product * self.index_atom()?,
                () if self.take("/") => product = product.div(&self.index_atom()?),
                () if self.take("%") => product = product.rem(&self.index_atom()?),
                () => return Ok(product),
            }
        }
    }

    fn index_atom(&mut self) -> Parse<Index> {
        if self.take("(") {
            let inner = self.index()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek() {
            Token::Number(_) => Ok(Index::constant(self.integer()?)),
            _ => Ok(Index::var(self.ident()?)),
        }
    }
}

const INFIX: [BinOp; 16] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Rem,
    BinOp::Shl,
    BinOp::Shr,
    BinOp::And,
    BinOp::Or,
    BinOp::Xor,
    BinOp::Eq,
    BinOp::Ne,
    BinOp::Lt,
    BinOp::Le,
    BinOp::Gt,
    BinOp::Ge,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_one_notation() {
        for op in INFIX {
            assert!(infix(op).is_some(), "{op:?}");
        }
    }
}
