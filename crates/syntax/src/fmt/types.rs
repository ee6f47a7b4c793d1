//! Types and patterns.

use super::doc::{Doc, NIL, align, concat, group, nest, text};
use super::leaf::path_text;
use super::{Parens, Printer};
use crate::ast::{Dim, Ident, Pattern, PatternKind, SizeExpr, SizeKind, SizeOp, TypeExpr, TypeKind};

/// Where a type stands, and so what must be in parentheses there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    /// In front of `->`, behind `:>`.
    NoArrow,
    /// An argument of a type, a field of a constructor, the element of an array.
    Argument,
}

impl Printer<'_> {
    pub(super) fn ty(&mut self, ty: &TypeExpr) -> Doc {
        self.type_at(ty, Place::Anywhere)
    }

    pub(super) fn type_at(&mut self, ty: &TypeExpr, place: Place) -> Doc {
        let lead = self.comments.before(ty.span.start);
        let needs_parens = match &ty.kind {
            TypeKind::Function { .. } => place != Place::Anywhere,
            TypeKind::Named(_, arguments) => place == Place::Argument && !arguments.is_empty(),
            TypeKind::Vector(..) => place == Place::Argument,
            _ => false,
        };
        let doc = if needs_parens {
            let inner = self.type_kind(ty);
            concat([text("("), align(inner), text(")")])
        } else {
            self.type_kind(ty)
        };
        concat([lead, doc, self.comments.after(ty.span.end)])
    }

    fn type_kind(&mut self, ty: &TypeExpr) -> Doc {
        match &ty.kind {
            TypeKind::Scalar(scalar) => text(scalar.name()),
            TypeKind::Var(name) => text(format!("'{name}")),
            TypeKind::Named(path, arguments) => {
                let mut docs = vec![text(path_text(path))];
                for argument in arguments {
                    docs.push(Doc::Line);
                    docs.push(self.type_at(argument, Place::Argument));
                }
                group(nest(2, concat(docs)))
            }
            TypeKind::Tuple(types) => {
                let types = types.iter().map(|ty| self.ty(ty)).collect();
                brackets("(", types, ")")
            }
            TypeKind::Record(fields) => {
                let lead = self.before_first(fields.first().map(|(name, _)| name));
                let fields = fields
                    .iter()
                    .map(|(name, ty)| self.type_field(name, ty))
                    .collect();
                concat([lead, brackets("{", fields, "}")])
            }
            TypeKind::Array(dim, element) => {
                let dim = self.dim(dim);
                concat([dim, self.type_at(element, Place::Argument)])
            }
            TypeKind::Vector(width, element) => {
                let width = self.size(width, SizePlace::Atom);
                concat([
                    text("vec "),
                    width,
                    text(" "),
                    self.type_at(element, Place::Argument),
                ])
            }
            TypeKind::Function {
                param_name,
                param,
                result,
            } => self.function_type(param_name.as_ref(), param, result),
            TypeKind::Error => text("…"),
        }
    }

    fn function_type(&mut self, name: Option<&Ident>, param: &TypeExpr, result: &TypeExpr) -> Doc {
        let param = match name {
            Some(name) => {
                let lead = self.comments.before(name.span.start);
                concat([lead, text(format!("({}: ", name.name)), self.ty(param), text(")")])
            }
            None => self.type_at(param, Place::NoArrow),
        };
        let lead = self.comments.before(result.span.start);
        group(concat([param, Doc::Line, lead, text("-> "), self.ty(result)]))
    }

    fn type_field(&mut self, name: &Ident, ty: &TypeExpr) -> Doc {
        let lead = self.comments.before(name.span.start);
        concat([lead, text(format!("{}: ", name.name)), self.ty(ty)])
    }

    /// Comments in front of what is inside braces go in front of the braces.
    pub(super) fn before_first(&mut self, first: Option<&Ident>) -> Doc {
        match first {
            Some(first) => self.comments.before(first.span.start),
            None => NIL,
        }
    }

    fn dim(&mut self, dim: &Dim) -> Doc {
        match dim {
            Dim::Inferred(_) => text("[]"),
            Dim::Unknown(_) => text("[?]"),
            Dim::Size(size) => concat([text("["), self.size(size, SizePlace::Sum), text("]")]),
        }
    }

    fn size(&mut self, size: &SizeExpr, place: SizePlace) -> Doc {
        let lead = self.comments.before(size.span.start);
        let doc = match &size.kind {
            SizeKind::Literal(value) => text(value.to_string()),
            SizeKind::Var(name) => text(name.to_string()),
            SizeKind::Binary(op, left, right) => {
                let (symbol, own, right_place) = match op {
                    SizeOp::Add => (" + ", SizePlace::Sum, SizePlace::Product),
                    SizeOp::Sub => (" - ", SizePlace::Sum, SizePlace::Product),
                    SizeOp::Mul => (" * ", SizePlace::Product, SizePlace::Atom),
                    SizeOp::Div => (" / ", SizePlace::Product, SizePlace::Atom),
                };
                let left = self.size(left, own);
                let doc = concat([left, text(symbol), self.size(right, right_place)]);
                if own < place {
                    concat([text("("), doc, text(")")])
                } else {
                    doc
                }
            }
            SizeKind::Error => text("…"),
        };
        concat([lead, doc, self.comments.after(size.span.end)])
    }

    /// A pattern where ascriptions need their parentheses.
    pub(super) fn pattern(&mut self, pattern: &Pattern) -> Doc {
        self.pattern_at(pattern, PatternPlace::Alone)
    }

    /// A pattern where an ascription may stand as it is.
    pub(super) fn loose_pattern(&mut self, pattern: &Pattern) -> Doc {
        self.pattern_at(pattern, PatternPlace::Loose)
    }

    /// A parameter, or a field of a constructor.
    pub(super) fn argument_pattern(&mut self, pattern: &Pattern) -> Doc {
        self.pattern_at(pattern, PatternPlace::Argument)
    }

    fn pattern_at(&mut self, pattern: &Pattern, place: PatternPlace) -> Doc {
        let lead = self.comments.before(pattern.span.start);
        let takes_arguments = match &pattern.kind {
            PatternKind::Constructor(_, fields) | PatternKind::NodeConstructor(_, fields) => {
                !fields.is_empty()
            }
            PatternKind::Int { negative, .. } | PatternKind::Float { negative, .. } => {
                *negative == crate::ast::Negative::Yes
            }
            _ => false,
        };
        let needs_parens = match &pattern.kind {
            PatternKind::Ascribed(..) => place != PatternPlace::Loose,
            _ => self.parens == Parens::Needed && place == PatternPlace::Argument && takes_arguments,
        };
        let doc = self.pattern_kind(pattern);
        let doc = if needs_parens {
            concat([text("("), align(doc), text(")")])
        } else {
            doc
        };
        concat([lead, doc, self.comments.after(pattern.span.end)])
    }

    fn pattern_kind(&mut self, pattern: &Pattern) -> Doc {
        match &pattern.kind {
            PatternKind::Wildcard
            | PatternKind::Var(_)
            | PatternKind::Int { .. }
            | PatternKind::Float { .. }
            | PatternKind::Bool(_)
            | PatternKind::Error => text(self.pattern_leaf(pattern)),
            PatternKind::Tuple(patterns) => {
                let patterns = patterns
                    .iter()
                    .map(|pattern| self.loose_pattern(pattern))
                    .collect();
                brackets("(", patterns, ")")
            }
            PatternKind::Record(fields) => {
                let lead = self.before_first(fields.first().map(|(name, _)| name));
                let fields = fields
                    .iter()
                    .map(|(name, pattern)| self.pattern_field(name, pattern))
                    .collect();
                concat([lead, brackets("{", fields, "}")])
            }
            PatternKind::Constructor(path, fields) => self.constructor_pattern(path_text(path), fields),
            PatternKind::NodeConstructor(path, fields) => {
                self.constructor_pattern(format!("#{}", path_text(path)), fields)
            }
            PatternKind::Ascribed(inner, ty) => {
                let inner = self.pattern(inner);
                concat([inner, text(": "), self.ty(ty)])
            }
            PatternKind::Paren(inner) => concat([text("("), align(self.loose_pattern(inner)), text(")")]),
        }
    }

    fn constructor_pattern(&mut self, name: String, fields: &[Pattern]) -> Doc {
        let mut docs = vec![text(name)];
        for field in fields {
            docs.push(Doc::Line);
            docs.push(self.argument_pattern(field));
        }
        group(nest(2, concat(docs)))
    }

    fn pattern_field(&mut self, name: &Ident, pattern: &Pattern) -> Doc {
        let lead = self.comments.before(name.span.start);
        let binds_itself = matches!(&pattern.kind, PatternKind::Var(bound) if *bound == name.name);
        if binds_itself {
            return concat([lead, self.pattern(pattern)]);
        }
        concat([
            lead,
            text(format!("{} = ", name.name)),
            self.loose_pattern(pattern),
        ])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternPlace {
    Loose,
    Alone,
    Argument,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SizePlace {
    Sum,
    Product,
    Atom,
}

/// Items with commas between brackets, on one line or one to a line.
pub(super) fn brackets(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    concat([text(open), group(align(concat(commas(items)))), text(close)])
}

fn commas(items: Vec<Doc>) -> Vec<Doc> {
    let last = items.len().saturating_sub(1);
    let mut docs = Vec::with_capacity(items.len() * 2);
    for (at, item) in items.into_iter().enumerate() {
        docs.push(item);
        if at < last {
            docs.push(text(","));
            docs.push(Doc::Line);
        }
    }
    docs
}
