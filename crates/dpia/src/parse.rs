//! Parser for the text that `print` writes. Types are in this file, phrases in `parse_phrase`.

use crate::lex::{ParseError, Token, error, tokens};
use crate::ty::{Arrow, Data, Kind, Nat, PhraseType};
use almach_base::Name;
use almach_value::ScalarType;

pub(crate) struct Parser {
    tokens: Vec<(Token, usize)>,
    next: usize,
}

/// A phrase type, alone.
pub fn parse_phrase_type(text: &str) -> Result<PhraseType, ParseError> {
    let mut parser = Parser::new(text)?;
    let ty = parser.phrase_type()?;
    parser.finish(ty)
}

/// A data type, alone.
pub fn parse_data(text: &str) -> Result<Data, ParseError> {
    let mut parser = Parser::new(text)?;
    let data = parser.data()?;
    parser.finish(data)
}

impl Parser {
    pub(crate) fn new(text: &str) -> Result<Parser, ParseError> {
        Ok(Parser {
            tokens: tokens(text)?,
            next: 0,
        })
    }

    pub(crate) fn finish<T>(&mut self, result: T) -> Result<T, ParseError> {
        match self.peek() {
            Token::End => Ok(result),
            _ => Err(self.expected("the end of the text")),
        }
    }

    pub(crate) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.next + ahead)
            .map_or(&Token::End, |(token, _)| token)
    }

    pub(crate) fn at(&self) -> usize {
        self.tokens
            .get(self.next)
            .or(self.tokens.last())
            .map_or(0, |(_, at)| *at)
    }

    pub(crate) fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    pub(crate) fn expected(&self, what: &str) -> ParseError {
        let found = match self.peek() {
            Token::Ident(name) => format!("`{name}`"),
            Token::Number(value) => format!("`{value}`"),
            Token::Literal(text) => format!("`#{text}`"),
            Token::Text(text) => format!("the text {text:?}"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end".into(),
        };
        error(self.at(), format!("expected {what}, found {found}"))
    }

    /// Takes the symbol if it is next.
    pub(crate) fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(next) if *next == symbol);
        self.next += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, symbol: &str) -> Result<(), ParseError> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{symbol}`"))),
        }
    }

    pub(crate) fn is_ident(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Ident(found) if found == name)
    }

    pub(crate) fn ident(&mut self, what: &str) -> Result<Name, ParseError> {
        match self.peek() {
            Token::Ident(_) => match self.advance() {
                Token::Ident(name) => Ok(Name::from(name)),
                _ => Err(self.expected(what)),
            },
            _ => Err(self.expected(what)),
        }
    }

    pub(crate) fn number(&mut self) -> Result<i64, ParseError> {
        match *self.peek() {
            Token::Number(value) => {
                self.next += 1;
                Ok(value)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// `θ -> θ`, `θ ->p θ`, `(n: nat) -> θ`.
    pub(crate) fn phrase_type(&mut self) -> Result<PhraseType, ParseError> {
        if let (Token::Symbol("("), Token::Ident(_), Token::Symbol(":")) =
            (self.peek(), self.peek_at(1), self.peek_at(2))
        {
            self.expect("(")?;
            let name = self.ident("a name")?;
            self.expect(":")?;
            let kind = self.kind()?;
            self.expect(")")?;
            self.expect("->")?;
            return Ok(PhraseType::Dependent(name, kind, Box::new(self.phrase_type()?)));
        }
        let left = self.product_type()?;
        let arrow = match () {
            () if self.take("->p") => Arrow::Passive,
            () if self.take("->") => Arrow::Plain,
            () => return Ok(left),
        };
        Ok(PhraseType::Fun(
            arrow,
            Box::new(left),
            Box::new(self.phrase_type()?),
        ))
    }

    pub(crate) fn kind(&mut self) -> Result<Kind, ParseError> {
        let kind = match () {
            () if self.is_ident("nat") => Kind::Nat,
            () if self.is_ident("data") => Kind::Data,
            () => return Err(self.expected("`nat` or `data`")),
        };
        self.advance();
        Ok(kind)
    }

    fn product_type(&mut self) -> Result<PhraseType, ParseError> {
        let left = self.atomic_type()?;
        match self.take("*") {
            true => Ok(PhraseType::product(left, self.product_type()?)),
            false => Ok(left),
        }
    }

    fn atomic_type(&mut self) -> Result<PhraseType, ParseError> {
        if self.take("(") {
            let inner = self.phrase_type()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let name = self.ident("a phrase type")?;
        let of: fn(Data) -> PhraseType = match name.as_str() {
            "comm" => return Ok(PhraseType::Comm),
            "exp" => PhraseType::Exp,
            "acc" => PhraseType::Acc,
            "var" => PhraseType::var,
            _ => return Err(self.expected("`exp`, `acc`, `var` or `comm`")),
        };
        self.expect("[")?;
        let data = self.data()?;
        self.expect("]")?;
        Ok(of(data))
    }

    /// `n.δ` where a size and a dot are next, else one of the others.
    pub(crate) fn data(&mut self) -> Result<Data, ParseError> {
        if self.is_ident("some") {
            self.advance();
            let mut names = Vec::new();
            while !self.take(".") {
                names.push(self.ident("a size")?);
            }
            return Ok(Data::Some(names, Box::new(self.data()?)));
        }
        if self.is_ident("idx") && *self.peek_at(1) == Token::Symbol("[") {
            self.advance();
            self.expect("[")?;
            let size = self.nat()?;
            self.expect("]")?;
            return Ok(Data::Index(size));
        }
        let start = self.next;
        if let Ok(size) = self.nat_atom()
            && self.take(".")
        {
            return Ok(Data::array(size, self.data()?));
        }
        self.next = start;
        if *self.peek() == Token::Symbol("(") {
            return self.tuple_type();
        }
        self.named_data()
    }

    fn named_data(&mut self) -> Result<Data, ParseError> {
        let name = self.ident("a data type")?;
        let Some(scalar) = ScalarType::from_name(&name) else {
            return Ok(Data::Var(name));
        };
        if let (Token::Symbol("<"), Token::Number(_)) = (self.peek(), self.peek_at(1)) {
            self.expect("<")?;
            let width = self.number()?;
            self.expect(">")?;
            let width = u32::try_from(width).map_err(|_| self.expected("a vector width"))?;
            return Ok(Data::Vector(width, scalar));
        }
        Ok(Data::Scalar(scalar))
    }

    /// `()`, `(δ,)`, `(δ, δ)`.
    fn tuple_type(&mut self) -> Result<Data, ParseError> {
        self.expect("(")?;
        let mut parts = Vec::new();
        while !self.take(")") {
            parts.push(self.data()?);
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(Data::Tuple(parts))
    }

    pub(crate) fn nat(&mut self) -> Result<Nat, ParseError> {
        let mut sum = match self.take("-") {
            true => -self.nat_product()?,
            false => self.nat_product()?,
        };
        loop {
            match () {
                () if self.take("+") => sum = sum + self.nat_product()?,
                () if self.take("-") => sum = sum - self.nat_product()?,
                () => return Ok(sum),
            }
        }
    }

    fn nat_product(&mut self) -> Result<Nat, ParseError> {
        let mut product = self.nat_atom()?;
        loop {
            match () {
                () if self.take("*") => product = product * self.nat_atom()?,
                () if self.take("/") => product = product.div(&self.nat_atom()?),
                () if self.take("%") => product = product.rem(&self.nat_atom()?),
                () => return Ok(product),
            }
        }
    }

    fn nat_atom(&mut self) -> Result<Nat, ParseError> {
        if self.take("(") {
            let inner = self.nat()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek() {
            Token::Number(_) => Ok(Nat::constant(self.number()?)),
            _ => Ok(Nat::var(self.ident("a size")?)),
        }
    }
}
