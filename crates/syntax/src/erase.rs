//! Trees without their places, to compare what two texts mean.

use crate::ast::*;
use almach_base::Span;

/// Sets every span: to [`Span::NONE`], so that `==` compares meaning only, or to the place that all of it comes from.
pub trait EraseSpans {
    fn set_spans(&mut self, to: Span);

    fn erase_spans(&mut self) {
        self.set_spans(Span::NONE);
    }
}

impl EraseSpans for Span {
    fn set_spans(&mut self, to: Span) {
        *self = to;
    }
}

impl<T: EraseSpans> EraseSpans for Vec<T> {
    fn set_spans(&mut self, to: Span) {
        self.iter_mut().for_each(|one| one.set_spans(to));
    }
}

impl<T: EraseSpans> EraseSpans for Option<T> {
    fn set_spans(&mut self, to: Span) {
        self.iter_mut().for_each(|one| one.set_spans(to));
    }
}

impl<T: EraseSpans> EraseSpans for Box<T> {
    fn set_spans(&mut self, to: Span) {
        self.as_mut().set_spans(to);
    }
}

impl<A: EraseSpans, B: EraseSpans> EraseSpans for (A, B) {
    fn set_spans(&mut self, to: Span) {
        self.0.set_spans(to);
        self.1.set_spans(to);
    }
}

/// Sets the spans of each of the named fields or variables.
macro_rules! erase {
    ($to:expr; $($place:expr),* $(,)?) => {{ $($place.set_spans($to);)* }};
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {
        $(impl EraseSpans for $name {
            fn set_spans(&mut self, to: Span) {
                erase!(to; $(self.$field),*);
            }
        })*
    };
}

structs! {
    File { items, tests }
    Ident { span }
    Path { qualifier, name, span }
    Def { name, sizes, params, result, body, span }
    Param { pattern }
    DataDecl { name, params, constructors, span }
    ConstructorDecl { name, fields, span }
    TypeAlias { name, params, ty, span }
    Import { path_span, alias, span }
    Foreign { name, ty, span }
    Test { call_span, expected_span }
    TypeExpr { kind, span }
    SizeExpr { kind, span }
    Expr { kind, span }
    Arm { pattern, guard, body, span }
    Loop { pattern, initial, form, body }
    Pattern { kind, span }
}

impl EraseSpans for Item {
    fn set_spans(&mut self, to: Span) {
        match self {
            Item::Def(def) => def.set_spans(to),
            Item::Data(data) => data.set_spans(to),
            Item::TypeAlias(alias) => alias.set_spans(to),
            Item::Import(import) => import.set_spans(to),
            Item::Foreign(foreign) => foreign.set_spans(to),
            Item::Error(span) => span.set_spans(to),
        }
    }
}

impl EraseSpans for TypeKind {
    fn set_spans(&mut self, to: Span) {
        match self {
            TypeKind::Scalar(_) | TypeKind::Var(_) | TypeKind::Error => {}
            TypeKind::Named(path, arguments) => erase!(to; path, arguments),
            TypeKind::Tuple(types) => types.set_spans(to),
            TypeKind::Record(fields) => fields.set_spans(to),
            TypeKind::Array(dim, element) => erase!(to; dim, element),
            TypeKind::Vector(width, element) => erase!(to; width, element),
            TypeKind::Function {
                param_name,
                param,
                result,
            } => erase!(to; param_name, param, result),
        }
    }
}

impl EraseSpans for Dim {
    fn set_spans(&mut self, to: Span) {
        match self {
            Dim::Inferred(span) | Dim::Unknown(span) => span.set_spans(to),
            Dim::Size(size) => size.set_spans(to),
        }
    }
}

impl EraseSpans for SizeKind {
    fn set_spans(&mut self, to: Span) {
        match self {
            SizeKind::Literal(_) | SizeKind::Var(_) | SizeKind::Error => {}
            SizeKind::Binary(_, left, right) => erase!(to; left, right),
        }
    }
}

impl EraseSpans for ExprKind {
    fn set_spans(&mut self, to: Span) {
        match self {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Operator(_)
            | ExprKind::Error => {}
            ExprKind::Var(path) | ExprKind::Constructor(path) | ExprKind::NodeConstructor(path) => {
                path.set_spans(to)
            }
            ExprKind::Annotated { name, .. } => name.set_spans(to),
            ExprKind::Apply(function, arguments) => erase!(to; function, arguments),
            ExprKind::Lambda(params, body) => erase!(to; params, body),
            ExprKind::Let(bindings, body) => erase!(to; bindings, body),
            ExprKind::If(condition, yes, no) => erase!(to; condition, yes, no),
            ExprKind::Case(scrutinee, arms) => erase!(to; scrutinee, arms),
            ExprKind::Tuple(items) | ExprKind::Array(items) => items.set_spans(to),
            ExprKind::Record(fields) => fields.set_spans(to),
            ExprKind::Project(inner, _)
            | ExprKind::Unary(_, inner)
            | ExprKind::LeftSection(_, inner)
            | ExprKind::RightSection(_, inner)
            | ExprKind::Trace { body: inner, .. }
            | ExprKind::Paren(inner) => inner.set_spans(to),
            ExprKind::Field(inner, name) => erase!(to; inner, name),
            ExprKind::Index(inner, indices) => erase!(to; inner, indices),
            ExprKind::Range(first, last) => erase!(to; first, last),
            ExprKind::Binary(_, span, left, right) => erase!(to; span, left, right),
            ExprKind::Loop(inner) => inner.set_spans(to),
            ExprKind::With {
                array,
                indices,
                value,
                in_place: _,
            } => erase!(to; array, indices, value),
            ExprKind::Assert {
                condition,
                text: _,
                body,
            } => erase!(to; condition, body),
            ExprKind::Ascribe(inner, ty) | ExprKind::Coerce(inner, ty) => erase!(to; inner, ty),
            ExprKind::Foreach {
                node,
                datum,
                rename,
                down,
                body,
            } => erase!(to; node, datum, rename, down, body),
        }
    }
}

impl EraseSpans for IndexArg {
    fn set_spans(&mut self, to: Span) {
        match self {
            IndexArg::At(index) => index.set_spans(to),
            IndexArg::Slice {
                begin,
                end,
                bound: _,
                step,
                span,
            } => erase!(to; begin, end, step, span),
        }
    }
}

impl EraseSpans for Binding {
    fn set_spans(&mut self, to: Span) {
        match self {
            Binding::Value { pattern, value, span } => erase!(to; pattern, value, span),
            Binding::Functions(defs) => defs.set_spans(to),
        }
    }
}

impl EraseSpans for LoopForm {
    fn set_spans(&mut self, to: Span) {
        match self {
            LoopForm::For { index, bound } => erase!(to; index, bound),
            LoopForm::While(condition) => condition.set_spans(to),
        }
    }
}

impl EraseSpans for PatternKind {
    fn set_spans(&mut self, to: Span) {
        match self {
            PatternKind::Wildcard
            | PatternKind::Var(_)
            | PatternKind::Int { .. }
            | PatternKind::Float { .. }
            | PatternKind::Bool(_)
            | PatternKind::Error => {}
            PatternKind::Tuple(patterns) => patterns.set_spans(to),
            PatternKind::Record(fields) => fields.set_spans(to),
            PatternKind::Constructor(path, fields) | PatternKind::NodeConstructor(path, fields) => {
                erase!(to; path, fields)
            }
            PatternKind::Ascribed(inner, ty) => erase!(to; inner, ty),
            PatternKind::Paren(inner) => inner.set_spans(to),
        }
    }
}
