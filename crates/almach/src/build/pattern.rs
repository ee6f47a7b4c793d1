//! What binds names.

use super::{NOWHERE, Ty, path, span};
use almach_base::Name;
use almach_syntax::ast;
use std::ops::Range;

/// A name, a tuple or a constructor with patterns inside. A `&str` is a name, `"_"` matches anything, and a pair of a name and a
/// type is a name of that type.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern(pub(super) ast::Pattern);

impl Pattern {
    fn of(kind: ast::PatternKind) -> Pattern {
        Pattern(ast::Pattern { kind, span: NOWHERE })
    }

    /// `(p, q)`.
    pub fn tuple(parts: impl IntoIterator<Item = impl Into<Pattern>>) -> Pattern {
        let parts = parts.into_iter().map(|part| part.into().0);
        Pattern::of(ast::PatternKind::Tuple(parts.collect()))
    }

    /// `Node x l r`.
    pub fn constructor(name: &str, fields: impl IntoIterator<Item = impl Into<Pattern>>) -> Pattern {
        let fields = fields.into_iter().map(|field| field.into().0);
        Pattern::of(ast::PatternKind::Constructor(path(name), fields.collect()))
    }

    /// Where it comes from.
    #[must_use]
    pub fn at(mut self, place: Range<usize>) -> Pattern {
        self.0.span = span(place);
        self
    }

    pub(super) fn param(self) -> ast::Param {
        ast::Param { pattern: self.0 }
    }
}

impl From<&str> for Pattern {
    fn from(name: &str) -> Pattern {
        Pattern::of(match name {
            "_" => ast::PatternKind::Wildcard,
            _ => ast::PatternKind::Var(Name::from(name)),
        })
    }
}

impl From<String> for Pattern {
    fn from(name: String) -> Pattern {
        Pattern::from(name.as_str())
    }
}

impl From<(&str, Ty)> for Pattern {
    fn from((name, ty): (&str, Ty)) -> Pattern {
        let name = Pattern::from(name).0;
        Pattern::of(ast::PatternKind::Ascribed(Box::new(name), ty.0))
    }
}

impl From<(String, Ty)> for Pattern {
    fn from((name, ty): (String, Ty)) -> Pattern {
        Pattern::from((name.as_str(), ty))
    }
}
