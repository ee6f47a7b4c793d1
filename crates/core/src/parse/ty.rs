//! Types, sizes and constants.

use super::lex::TokenKind;
use super::{Parsed, Parser};
use crate::ir::{Atom, Dim, Size, Type, Var};
use almach_value::{Scalar, ScalarType};

impl<'t> Parser<'t> {
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.deeper(|parser| match parser.word() {
            "[" => parser.array_type(),
            "(" => parser.tuple_type(),
            "#" => {
                parser.symbol("#")?;
                parser.data_type().map(Type::Node)
            }
            "vec" => {
                parser.keyword("vec")?;
                let width = parser.plain_number("the number of lanes")?;
                parser.scalar_type().map(|ty| Type::Vector(width, ty))
            }
            word if ScalarType::from_name(word).is_some() => parser.scalar_type().map(Type::Scalar),
            _ => parser.data_type().map(Type::Data),
        })
    }

    fn array_type(&mut self) -> Parsed<Type> {
        self.symbol("[")?;
        let dim = match self.eat("?") {
            true => Dim::Jagged,
            false => Dim::Size(self.size()?),
        };
        self.symbol("]")?;
        Ok(Type::Array(dim, Box::new(self.ty()?)))
    }

    fn tuple_type(&mut self) -> Parsed<Type> {
        self.symbol("(")?;
        let mut parts = self.list(")", Parser::ty)?;
        // `(t)` is `t`; a tuple of one has a comma.
        match (parts.pop(), parts.is_empty(), self.follows_comma()) {
            (Some(only), true, false) => Ok(only),
            (last, _, _) => {
                parts.extend(last);
                Ok(Type::Tuple(parts))
            }
        }
    }

    pub(super) fn data_type(&mut self) -> Parsed<crate::ir::DataId> {
        let unknown = self.expected("a type");
        let name = self.identifier("a type")?;
        self.data.get(name).copied().ok_or(unknown)
    }

    pub(super) fn scalar_type(&mut self) -> Parsed<ScalarType> {
        let ty = ScalarType::from_name(self.word()).ok_or_else(|| self.expected("a scalar type"))?;
        self.at += 1;
        Ok(ty)
    }

    /// A number without suffix.
    pub(super) fn plain_number<N: std::str::FromStr>(&mut self, what: &str) -> Parsed<N> {
        let number = match self.peek() {
            Some(token) if token.kind == TokenKind::Number => token.text(self.text).parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.expected(what))?;
        self.at += 1;
        Ok(number)
    }

    fn size(&mut self) -> Parsed<Size> {
        self.deeper(|parser| {
            let mut sum = match parser.eat("-") {
                true => parser.size_term(-1)?,
                false => parser.size_term(1)?,
            };
            loop {
                if parser.eat("+") {
                    sum = sum + parser.size_term(1)?;
                } else if parser.eat("-") {
                    sum = sum + parser.size_term(-1)?;
                } else {
                    return Ok(sum);
                }
            }
        })
    }

    /// A product; the sign goes into a leading number, so that every `i64` can be written.
    fn size_term(&mut self, sign: i128) -> Parsed<Size> {
        let leading_number = self.peek().is_some_and(|token| token.kind == TokenKind::Number);
        let mut product = self.size_factor(if leading_number { sign } else { 1 })?;
        loop {
            if self.eat("*") {
                product = product * self.size_factor(1)?;
            } else if self.eat("/") {
                product = product.div(&self.size_factor(1)?);
            } else if self.eat("%") {
                product = product.rem(&self.size_factor(1)?);
            } else {
                return Ok(if leading_number || sign == 1 {
                    product
                } else {
                    -product
                });
            }
        }
    }

    fn size_factor(&mut self, sign: i128) -> Parsed<Size> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Number => {
                let too_large = self.expected("a size of 64 bits");
                let number: i128 = self.plain_number("a size")?;
                i64::try_from(sign * number)
                    .map(Size::constant)
                    .map_err(|_| too_large)
            }
            Some(_) if self.is("(") => {
                self.symbol("(")?;
                let size = self.size()?;
                self.symbol(")")?;
                Ok(size)
            }
            _ => self.variable("a size").map(Size::var),
        }
    }

    /// The use of a name.
    pub(super) fn variable(&mut self, what: &str) -> Parsed<Var> {
        let unknown = self.error(format!("`{}` is not bound here", self.word()));
        let name = self.identifier(what)?;
        let meaning = self.scope.get(name).and_then(|meanings| meanings.last());
        meaning.map(|(var, _)| var.clone()).ok_or(unknown)
    }

    pub(super) fn atom(&mut self) -> Parsed<Atom> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Word => match token.text(self.text) {
                word @ ("true" | "false") => {
                    self.at += 1;
                    Ok(Atom::Const(Scalar::Bool(word == "true")))
                }
                word if ScalarType::from_name(word).is_some() => self.special_float(1.0).map(Atom::Const),
                _ => self.variable("a name or constant").map(Atom::Var),
            },
            Some(token) if token.kind == TokenKind::Number => self.number("").map(Atom::Const),
            Some(_) if self.is("-") => {
                self.symbol("-")?;
                match self.peek() {
                    Some(token) if token.kind == TokenKind::Number => self.number("-").map(Atom::Const),
                    _ => self.special_float(-1.0).map(Atom::Const),
                }
            }
            _ => Err(self.expected("a name or constant")),
        }
    }

    pub(super) fn starts_atom(&self) -> bool {
        match self.peek() {
            Some(token) => match token.kind {
                TokenKind::Number => true,
                TokenKind::Word => {
                    let word = token.text(self.text);
                    matches!(word, "true" | "false")
                        || !crate::names::is_reserved(word)
                        || self.is_special_float()
                }
                TokenKind::Symbol => self.is("-"),
                TokenKind::Text => false,
            },
            None => false,
        }
    }

    /// Whether `f32.nan` or the like stands here.
    pub(super) fn is_special_float(&self) -> bool {
        matches!(self.word(), "f32" | "f64") && self.peek_second() == Some(".")
    }

    fn special_float(&mut self, sign: f64) -> Parsed<Scalar> {
        let ty = self.scalar_type()?;
        self.symbol(".")?;
        let value = match self.word() {
            "nan" => f64::NAN,
            "inf" => sign * f64::INFINITY,
            _ => return Err(self.expected("`nan` or `inf`")),
        };
        self.at += 1;
        match ty {
            ScalarType::F32 => Ok(Scalar::F32(value as f32)),
            ScalarType::F64 => Ok(Scalar::F64(value)),
            _ => Err(self.expected("a float type")),
        }
    }

    fn number(&mut self, sign: &str) -> Parsed<Scalar> {
        let text = self.word();
        let parsed = ScalarType::ALL.into_iter().find_map(|ty| {
            let digits = format!("{sign}{}", text.strip_suffix(ty.name())?);
            scalar_from_text(ty, &digits)
        });
        let scalar = parsed
            .ok_or_else(|| self.expected("a number in the range of its type, with the type as a suffix"))?;
        self.at += 1;
        Ok(scalar)
    }
}

fn scalar_from_text(ty: ScalarType, digits: &str) -> Option<Scalar> {
    match ty {
        ScalarType::I8 => digits.parse().ok().map(Scalar::I8),
        ScalarType::I16 => digits.parse().ok().map(Scalar::I16),
        ScalarType::I32 => digits.parse().ok().map(Scalar::I32),
        ScalarType::I64 => digits.parse().ok().map(Scalar::I64),
        ScalarType::U8 => digits.parse().ok().map(Scalar::U8),
        ScalarType::U16 => digits.parse().ok().map(Scalar::U16),
        ScalarType::U32 => digits.parse().ok().map(Scalar::U32),
        ScalarType::U64 => digits.parse().ok().map(Scalar::U64),
        ScalarType::F32 => digits.parse().ok().map(Scalar::F32),
        ScalarType::F64 => digits.parse().ok().map(Scalar::F64),
        ScalarType::Bool => None,
    }
}
