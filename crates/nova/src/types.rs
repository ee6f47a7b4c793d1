//! Types: `int`, `(int, float)`, `vector float`, `vector#2 float`, `'a`, `(List int)`, `int -> int`.
//!
//! A vector has the size that inference finds; inside another vector every one has its own (`vector vector t` is jagged),
//! and the dimensions of a `vector#n` are regular.

use crate::codes;
use crate::lexer::Kind;
use crate::reader::{Read, Reader, describe, path};
use crate::tree::{List, Tree, span_of};
use almach_base::{Name, Span};
use almach_syntax::ast::{Dim, TypeExpr, TypeKind};
use almach_value::ScalarType;

/// The most dimensions of a `vector#n`.
const MOST_DIMENSIONS: usize = 32;

/// Where a vector type stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Outermost,
    InVector,
}

pub fn unit_type(span: Span) -> TypeExpr {
    TypeExpr {
        kind: TypeKind::Tuple(Vec::new()),
        span,
    }
}

impl<'s> Reader<'s> {
    /// A whole sequence of trees as one type; an error type where it is none.
    pub fn type_or_error(&mut self, items: &[Tree<'s>], or: Span) -> TypeExpr {
        let span = span_of(items, or);
        self.ty(items, or).unwrap_or(TypeExpr {
            kind: TypeKind::Error,
            span,
        })
    }

    /// A whole sequence of trees as one type.
    pub fn ty(&mut self, items: &[Tree<'s>], or: Span) -> Read<TypeExpr> {
        self.whole_type(items, or, Place::Outermost)
    }

    fn whole_type(&mut self, items: &[Tree<'s>], or: Span, place: Place) -> Read<TypeExpr> {
        let (ty, rest) = self.type_prefix(items, or, place)?;
        match rest.first() {
            None => Ok(ty),
            Some(more) => {
                let found = describe(more);
                self.wrong_type(
                    more.span(),
                    format!("expected `->` or the end of the type, found {found}"),
                    "a type that is applied to others stands in brackets: `(List int)`",
                )
            }
        }
    }

    /// The type at the start of a sequence, function types included, and what is left. In a lambda the body is left.
    pub fn type_prefix<'t>(
        &mut self,
        items: &'t [Tree<'s>],
        or: Span,
        place: Place,
    ) -> Read<(TypeExpr, &'t [Tree<'s>])> {
        self.nested(span_of(items, or), |this| {
            let (param, rest) = this.simple_type(items, or, place)?;
            match rest.split_first() {
                Some((arrow, rest)) if arrow.is(Kind::Arrow) => {
                    let (result, rest) = this.type_prefix(rest, arrow.span(), Place::Outermost)?;
                    let span = param.span.to(result.span);
                    let kind = TypeKind::Function {
                        param_name: None,
                        param: Box::new(param),
                        result: Box::new(result),
                    };
                    Ok((TypeExpr { kind, span }, rest))
                }
                _ => Ok((param, rest)),
            }
        })
    }

    /// A type without an arrow outside of brackets.
    fn simple_type<'t>(
        &mut self,
        items: &'t [Tree<'s>],
        or: Span,
        place: Place,
    ) -> Read<(TypeExpr, &'t [Tree<'s>])> {
        let Some((first, rest)) = items.split_first() else {
            return self.wrong_type(
                or,
                "expected a type",
                "types are `int`, `(int, float)`, `vector float` …",
            );
        };
        if first.is_word("vector") {
            return self.nested(first.span(), |this| this.vector(first.span(), rest, place));
        }
        let ty = match first {
            Tree::List(list) => self.nested(list.span, |this| this.bracketed(list, place))?,
            Tree::Token(token) => match token.kind {
                Kind::TypeVar => TypeExpr {
                    kind: TypeKind::Var(Name::from(token.text)),
                    span: token.span,
                },
                Kind::Word => self.named(first, token.text)?,
                Kind::Symbol if token.text == "+" => return self.sum_outside(first.span()),
                _ => {
                    let found = describe(first);
                    return self.wrong_type(first.span(), format!("expected a type, found {found}"), "");
                }
            },
        };
        Ok((ty, rest))
    }

    fn named(&mut self, tree: &Tree<'s>, word: &str) -> Read<TypeExpr> {
        let span = tree.span();
        let kind = match scalar(word) {
            Some(scalar) => TypeKind::Scalar(scalar),
            None if word == "unit" => TypeKind::Tuple(Vec::new()),
            None => {
                self.name(tree, "a type")?;
                TypeKind::Named(path(word, span), Vec::new())
            }
        };
        Ok(TypeExpr { kind, span })
    }

    /// `vector t`, `vector#n t`, behind the word.
    fn vector<'t>(
        &mut self,
        word: Span,
        rest: &'t [Tree<'s>],
        place: Place,
    ) -> Read<(TypeExpr, &'t [Tree<'s>])> {
        let (dimensions, rest, dims_span) = self.dimensions(word, rest)?;
        let (element, rest) = self.simple_type(rest, word, Place::InVector)?;
        let span = word.to(element.span);
        let dim = match place {
            Place::Outermost => Dim::Inferred(dims_span),
            Place::InVector => Dim::Unknown(dims_span),
        };
        let ty = (0..dimensions).fold(element, |element, _| TypeExpr {
            kind: TypeKind::Array(dim.clone(), Box::new(element)),
            span,
        });
        Ok((ty, rest))
    }

    fn dimensions<'t>(&mut self, word: Span, rest: &'t [Tree<'s>]) -> Read<(usize, &'t [Tree<'s>], Span)> {
        let Some((hash, after)) = rest.split_first().filter(|(first, _)| first.is(Kind::Hash)) else {
            return Ok((1, rest, word));
        };
        let count = after.first().filter(|tree| tree.is(Kind::Number));
        let written = count.and_then(|tree| tree.token()?.text.parse::<usize>().ok());
        match (written, after.get(1..)) {
            (Some(count), Some(rest)) if (1..=MOST_DIMENSIONS).contains(&count) => {
                Ok((count, rest, word.to(hash.span())))
            }
            _ => self.wrong_type(
                count.map_or(hash.span(), Tree::span),
                format!("a vector has 1 to {MOST_DIMENSIONS} dimensions"),
                "`vector#2 float` is a matrix",
            ),
        }
    }

    fn bracketed(&mut self, list: &List<'s>, place: Place) -> Read<TypeExpr> {
        let items = list.items.as_slice();
        if items.iter().any(|item| item.is(Kind::Comma)) {
            let parts: Vec<TypeExpr> = items
                .split(|item| item.is(Kind::Comma))
                .map(|part| self.whole_type(part, list.span, place))
                .collect::<Read<_>>()?;
            return Ok(TypeExpr {
                kind: TypeKind::Tuple(parts),
                span: list.span,
            });
        }
        match items.split_first() {
            None => Ok(unit_type(list.span)),
            Some((plus, _)) if plus.is_symbol("+") => self.sum_outside(list.span),
            Some((name, args)) if is_applied(name, args) => {
                let (word, _) = self.name(name, "a type")?;
                let mut rest = args;
                let mut types = Vec::new();
                while !rest.is_empty() {
                    let (ty, more) = self.simple_type(rest, list.span, Place::Outermost)?;
                    types.push(ty);
                    rest = more;
                }
                Ok(TypeExpr {
                    kind: TypeKind::Named(path(word, name.span()), types),
                    span: list.span,
                })
            }
            Some(_) => {
                let inner = self.whole_type(items, list.span, place)?;
                Ok(TypeExpr {
                    span: list.span,
                    ..inner
                })
            }
        }
    }

    fn sum_outside<T>(&mut self, span: Span) -> Read<T> {
        self.wrong_type(
            span,
            "a sum has its name in the `types` section",
            "write `(types (Name : (+ (A : int) (B : unit))))` and `Name` here",
        )
    }

    pub fn wrong_type<T>(&mut self, span: Span, title: impl Into<String>, help: &str) -> Read<T> {
        self.fail(codes::NOVA_TYPE, span, title, "not a type", help)
    }
}

/// Whether a list is a type applied to others.
fn is_applied(name: &Tree<'_>, args: &[Tree<'_>]) -> bool {
    name.word()
        .is_some_and(|word| word != "vector" && word != "unit" && scalar(word).is_none())
        && args.first().is_some_and(|next| !next.is(Kind::Arrow))
}

pub fn scalar(word: &str) -> Option<ScalarType> {
    Some(match word {
        "int" | "int32" => ScalarType::I32,
        "int8" => ScalarType::I8,
        "int16" => ScalarType::I16,
        "int64" => ScalarType::I64,
        "uint8" => ScalarType::U8,
        "uint16" => ScalarType::U16,
        "uint32" => ScalarType::U32,
        "uint64" => ScalarType::U64,
        "float" => ScalarType::F32,
        "double" => ScalarType::F64,
        "bool" => ScalarType::Bool,
        _ => return None,
    })
}
