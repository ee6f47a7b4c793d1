//! Types and sizes.

use super::{Parse, Parser};
use crate::ast::{Dim, Ident, SizeExpr, SizeKind, SizeOp, TypeExpr, TypeKind};
use crate::codes;
use crate::literal::{self, Number};
use crate::token::Tok;
use almach_base::{Diagnostic, Span};
use almach_value::ScalarType;

impl TypeExpr {
    pub(crate) fn error(span: Span) -> TypeExpr {
        TypeExpr {
            kind: TypeKind::Error,
            span,
        }
    }
}

impl Parser<'_> {
    /// A type: `t -> u`, `(n: i64) -> [n]t`, or one without an arrow.
    pub(super) fn ty(&mut self) -> Parse<TypeExpr> {
        self.nested(|parser| {
            let start = parser.here();
            let (param_name, param) = if parser.names_parameter() {
                let (name, param) = parser.named_parameter()?;
                if parser.peek() != Tok::Arrow {
                    return Err(parser.unexpected("`->` after a named parameter"));
                }
                (Some(name), param)
            } else {
                (None, parser.type_without_arrow()?)
            };
            if !parser.eat(Tok::Arrow) {
                return Ok(param);
            }
            let result = parser.ty()?;
            Ok(TypeExpr {
                kind: TypeKind::Function {
                    param_name,
                    param: Box::new(param),
                    result: Box::new(result),
                },
                span: parser.since(start),
            })
        })
    }

    fn names_parameter(&self) -> bool {
        self.peek() == Tok::LParen && self.peek_at(1) == Tok::Lower && self.peek_at(2) == Tok::Colon
    }

    fn named_parameter(&mut self) -> Parse<(Ident, TypeExpr)> {
        let open = self.at;
        self.bump();
        let name = self.binder("a parameter's name")?;
        self.expect(Tok::Colon)?;
        let ty = self.ty()?;
        self.close(open, "`->` or `)`")?;
        Ok((name, ty))
    }

    /// Array types, applications `Tree f32`, `vec 4 f32`, and atoms: what may stand behind `:>`.
    pub(super) fn type_without_arrow(&mut self) -> Parse<TypeExpr> {
        match self.peek() {
            Tok::LBracket => self.array_type(Self::type_without_arrow),
            Tok::Upper => self.named_type(),
            Tok::Lower if self.text_of(self.token()) == "vec" => self.vector_type(),
            _ => self.type_atom(),
        }
    }

    fn array_type(&mut self, element: fn(&mut Self) -> Parse<TypeExpr>) -> Parse<TypeExpr> {
        self.nested(|parser| {
            let start = parser.here();
            let dim = parser.dim()?;
            let element = element(parser)?;
            Ok(TypeExpr {
                kind: TypeKind::Array(dim, Box::new(element)),
                span: parser.since(start),
            })
        })
    }

    fn named_type(&mut self) -> Parse<TypeExpr> {
        let start = self.here();
        let (path, last) = self.upper_path();
        if last != Tok::Upper {
            let error = Diagnostic::error(
                codes::UNEXPECTED,
                path.span,
                "expected a type, found the name of a value",
            )
            .label("types begin with a capital letter");
            self.report_about(error);
        }
        let mut arguments = Vec::new();
        while self.starts_type_atom() {
            arguments.push(self.type_atom()?);
        }
        Ok(TypeExpr {
            kind: TypeKind::Named(path, arguments),
            span: self.since(start),
        })
    }

    fn vector_type(&mut self) -> Parse<TypeExpr> {
        let start = self.here();
        self.bump();
        let width = self.size_atom()?;
        let element = self.type_atom()?;
        Ok(TypeExpr {
            kind: TypeKind::Vector(Box::new(width), Box::new(element)),
            span: self.since(start),
        })
    }

    pub(super) fn starts_type_atom(&self) -> bool {
        match self.peek() {
            Tok::Lower => ScalarType::from_name(self.text_of(self.token())).is_some(),
            Tok::Upper | Tok::TypeVar | Tok::LParen | Tok::LBrace | Tok::LBracket | Tok::Error => true,
            _ => false,
        }
    }

    /// A type that can be an argument as it stands.
    pub(super) fn type_atom(&mut self) -> Parse<TypeExpr> {
        let span = self.here();
        match self.peek() {
            Tok::LBracket => self.array_type(Self::type_atom),
            Tok::LParen => self.group(TypeExpr::error, Self::paren_type),
            Tok::LBrace => self.group(TypeExpr::error, Self::record_type),
            Tok::TypeVar => Ok(TypeExpr {
                kind: TypeKind::Var(self.type_variable().name),
                span,
            }),
            Tok::Upper => {
                let (path, _) = self.upper_path();
                Ok(TypeExpr {
                    span: path.span,
                    kind: TypeKind::Named(path, Vec::new()),
                })
            }
            Tok::Lower => self.scalar_type(span),
            Tok::Error => {
                self.bump();
                Ok(TypeExpr::error(span))
            }
            _ => Err(self.unexpected("a type")),
        }
    }

    fn scalar_type(&mut self, span: Span) -> Parse<TypeExpr> {
        let text = self.text_of(self.token());
        if let Some(scalar) = ScalarType::from_name(text) {
            self.bump();
            return Ok(TypeExpr {
                kind: TypeKind::Scalar(scalar),
                span,
            });
        }
        let error = self.unexpected_diagnostic("a type");
        let error = match meant_type(text) {
            Some(meant) => error.suggest(span, meant, format!("write `{meant}`")),
            None => error.help(format!(
                "types are `i32`, `f64`, `bool` and so on, capitalised names, or variables such as `'{text}`"
            )),
        };
        Err(self.report(error))
    }

    fn paren_type(&mut self, open: usize) -> Parse<TypeExpr> {
        let start = self.token_at(open).span(self.file);
        let mut types = Vec::new();
        let mut separated = false;
        while self.peek() != Tok::RParen || types.len() == 1 {
            types.push(self.ty()?);
            if !self.eat(Tok::Comma) {
                break;
            }
            separated = true;
        }
        self.close(open, "`,` or `)`")?;
        let span = self.since(start);
        match (types.pop(), separated) {
            (Some(only), false) => Ok(TypeExpr {
                kind: only.kind,
                span,
            }),
            (last, _) => {
                types.extend(last);
                Ok(TypeExpr {
                    kind: TypeKind::Tuple(types),
                    span,
                })
            }
        }
    }

    fn record_type(&mut self, open: usize) -> Parse<TypeExpr> {
        let start = self.token_at(open).span(self.file);
        let mut fields = Vec::new();
        while self.peek() != Tok::RBrace || fields.is_empty() {
            let name = self.binder("a field's name")?;
            self.expect(Tok::Colon)?;
            fields.push((name, self.ty()?));
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.close(open, "`,` or `}`")?;
        Ok(TypeExpr {
            kind: TypeKind::Record(fields),
            span: self.since(start),
        })
    }

    /// `[n]`, `[]`, `[?]`.
    fn dim(&mut self) -> Parse<Dim> {
        let error = |span| {
            Dim::Size(SizeExpr {
                kind: SizeKind::Error,
                span,
            })
        };
        self.group(error, |parser, open| {
            let start = parser.token_at(open).span(parser.file);
            match parser.peek() {
                Tok::RBracket => {
                    parser.bump();
                    Ok(Dim::Inferred(parser.since(start)))
                }
                Tok::Question => {
                    parser.bump();
                    parser.close(open, "`]`")?;
                    Ok(Dim::Unknown(parser.since(start)))
                }
                _ => {
                    let size = parser.size()?;
                    parser.close(open, "`]` or one of `+ - * /`")?;
                    Ok(Dim::Size(size))
                }
            }
        })
    }

    /// A size: `+ -` over `* /` over atoms.
    fn size(&mut self) -> Parse<SizeExpr> {
        self.nested(|parser| {
            parser.size_chain(
                |token| match token {
                    Tok::Plus => Some(SizeOp::Add),
                    Tok::Minus => Some(SizeOp::Sub),
                    _ => None,
                },
                |parser| parser.nested(Self::size_product),
            )
        })
    }

    fn size_product(&mut self) -> Parse<SizeExpr> {
        self.size_chain(
            |token| match token {
                Tok::Star => Some(SizeOp::Mul),
                Tok::Slash => Some(SizeOp::Div),
                _ => None,
            },
            Self::size_atom,
        )
    }

    fn size_chain(
        &mut self,
        operator: fn(Tok) -> Option<SizeOp>,
        operand: fn(&mut Self) -> Parse<SizeExpr>,
    ) -> Parse<SizeExpr> {
        let mut left = operand(self)?;
        while let Some(op) = operator(self.peek()) {
            self.bump();
            let right = operand(self)?;
            self.wrap()?;
            let span = left.span.to(right.span);
            left = SizeExpr {
                kind: SizeKind::Binary(op, Box::new(left), Box::new(right)),
                span,
            };
        }
        Ok(left)
    }

    fn size_atom(&mut self) -> Parse<SizeExpr> {
        let token = self.token();
        let span = self.here();
        let kind = match token.kind {
            Tok::Lower => {
                self.bump();
                SizeKind::Var(self.name(token))
            }
            Tok::Int => {
                self.bump();
                self.size_literal(self.text_of(token), span)
            }
            Tok::LParen => {
                let open = self.at;
                self.bump();
                let inner = self.size()?;
                self.close(open, "`)` or one of `+ - * /`")?;
                return Ok(SizeExpr {
                    kind: inner.kind,
                    span: self.since(span),
                });
            }
            Tok::Error => {
                self.bump();
                SizeKind::Error
            }
            _ => {
                let error = self
                    .unexpected_diagnostic("a size")
                    .help("a size is a name, an integer, or `+ - * /` of sizes; `[]` leaves it to inference");
                return Err(self.report(error));
            }
        };
        Ok(SizeExpr { kind, span })
    }

    fn size_literal(&mut self, text: &str, span: Span) -> SizeKind {
        let value = match literal::number(text, span) {
            Ok(Number::Int {
                value,
                suffix: None | Some(ScalarType::I64),
            }) => i64::try_from(value).map_err(|_| literal::too_large(span)),
            Ok(_) => Err(
                Diagnostic::error(codes::BAD_NUMBER, span, "a size is an integer of type `i64`")
                    .label("not a size")
                    .into(),
            ),
            Err(error) => Err(error),
        };
        match value {
            Ok(value) => SizeKind::Literal(value),
            Err(error) => {
                self.report_about(*error);
                SizeKind::Error
            }
        }
    }
}

/// What other languages call our types.
fn meant_type(text: &str) -> Option<&'static str> {
    Some(match text {
        "int" | "i" | "int32" | "integer" => "i32",
        "long" | "int64" => "i64",
        "float" | "float32" => "f32",
        "double" | "float64" | "real" => "f64",
        "char" | "byte" | "uint8" => "u8",
        "uint" | "unsigned" | "uint32" => "u32",
        "uint64" | "usize" => "u64",
        "boolean" => "bool",
        "unit" | "void" => "()",
        "string" | "str" => "[]u8",
        _ => return None,
    })
}
