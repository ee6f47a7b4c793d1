//! Entries and the types of the border.

use super::lex::TokenKind;
use super::{Parsed, Parser};
use crate::ir::{Entry, FunId};
use almach_value::{Constructor, DimType, ScalarType, SumType, ValueType};
use std::sync::Arc;

impl<'t> Parser<'t> {
    pub(super) fn entry(&mut self) -> Parsed<Entry> {
        let start = self.position();
        self.keyword("entry")?;
        let name = self.name("the name of the entry")?;
        self.symbol("=")?;
        let function = self.function_name()?;
        self.symbol("(")?;
        let params = self.list(")", |parser| {
            let name = parser.name("the name of a parameter")?;
            parser.symbol(":")?;
            Ok((name, parser.value_type()?))
        })?;
        self.symbol(":")?;
        let result = self.value_type()?;
        Ok(Entry {
            name,
            function,
            params,
            result,
            span: self.span_from(start),
        })
    }

    pub(super) fn function_name(&mut self) -> Parsed<FunId> {
        let unknown = self.error(format!("there is no function `{}`", self.word()));
        let name = self.identifier("the name of a function")?;
        self.functions.get(name).copied().ok_or(unknown)
    }

    fn value_type(&mut self) -> Parsed<ValueType> {
        self.deeper(|parser| match parser.word() {
            "[" => parser.array_value_type(),
            "(" => {
                parser.symbol("(")?;
                let mut parts = parser.list(")", Parser::value_type)?;
                match (parts.pop(), parts.is_empty(), parser.follows_comma()) {
                    (Some(only), true, false) => Ok(only),
                    (last, _, _) => {
                        parts.extend(last);
                        Ok(ValueType::Tuple(parts))
                    }
                }
            }
            "{" => {
                parser.symbol("{")?;
                let fields = parser.list("}", |parser| {
                    let name = parser.name("the name of a field")?;
                    parser.symbol(":")?;
                    Ok((name, parser.value_type()?))
                })?;
                Ok(ValueType::Record(fields))
            }
            "vec" => {
                parser.keyword("vec")?;
                let width = parser.plain_number("the number of lanes")?;
                parser.scalar_type().map(|ty| ValueType::Vector(width, ty))
            }
            "sum" => parser.sum_type(),
            "rec" => {
                parser.keyword("rec")?;
                parser.string().map(ValueType::Recursive)
            }
            word if ScalarType::from_name(word).is_some() => parser.scalar_type().map(ValueType::Scalar),
            _ => Err(parser.expected("a type")),
        })
    }

    fn array_value_type(&mut self) -> Parsed<ValueType> {
        self.symbol("[")?;
        let dim = match self.peek() {
            _ if self.is("]") => DimType::Unknown,
            _ if self.eat("?") => DimType::Jagged,
            _ if self.eat("=") => DimType::Expression(self.string()?.as_str().to_string()),
            Some(token) if token.kind == TokenKind::Number => DimType::Known(self.plain_number("a size")?),
            _ => DimType::Named(self.name("a size")?),
        };
        self.symbol("]")?;
        Ok(ValueType::Array(dim, Box::new(self.value_type()?)))
    }

    fn sum_type(&mut self) -> Parsed<ValueType> {
        self.keyword("sum")?;
        let part = self.eat("part");
        let name = self.string()?;
        self.symbol("(")?;
        let mut constructors = Vec::new();
        while !self.eat(")") {
            let name = self.name("a constructor")?;
            let mut fields = Vec::new();
            while !self.is("|") && !self.is(")") {
                fields.push(self.value_type()?);
            }
            constructors.push(Constructor { name, fields });
            if !self.is(")") {
                self.symbol("|")?;
            }
        }
        Ok(ValueType::Sum(Arc::new(SumType {
            name,
            constructors,
            part,
        })))
    }
}
