//! Trees without their places, to compare what two texts mean.

use crate::ast::*;
use almach_base::Span;

/// Sets every span to [`Span::NONE`], so that `==` compares meaning only.
pub trait EraseSpans {
    fn erase_spans(&mut self);
}

impl EraseSpans for Span {
    fn erase_spans(&mut self) {
        *self = Span::NONE;
    }
}

impl<T: EraseSpans> EraseSpans for Vec<T> {
    fn erase_spans(&mut self) {
        self.iter_mut().for_each(T::erase_spans);
    }
}

impl<T: EraseSpans> EraseSpans for Option<T> {
    fn erase_spans(&mut self) {
        self.iter_mut().for_each(T::erase_spans);
    }
}

impl<T: EraseSpans> EraseSpans for Box<T> {
    fn erase_spans(&mut self) {
        self.as_mut().erase_spans();
    }
}

impl<A: EraseSpans, B: EraseSpans> EraseSpans for (A, B) {
    fn erase_spans(&mut self) {
        self.0.erase_spans();
        self.1.erase_spans();
    }
}

/// Erases each of the named fields or variables.
macro_rules! erase {
    ($($place:expr),* $(,)?) => {{ $($place.erase_spans();)* }};
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {
        $(impl EraseSpans for $name {
            fn erase_spans(&mut self) {
                erase!($(self.$field),*);
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
    fn erase_spans(&mut self) {
        match self {
            Item::Def(def) => def.erase_spans(),
            Item::Data(data) => data.erase_spans(),
            Item::TypeAlias(alias) => alias.erase_spans(),
            Item::Import(import) => import.erase_spans(),
            Item::Foreign(foreign) => foreign.erase_spans(),
            Item::Error(span) => span.erase_spans(),
        }
    }
}

impl EraseSpans for TypeKind {
    fn erase_spans(&mut self) {
        match self {
            TypeKind::Scalar(_) | TypeKind::Var(_) | TypeKind::Error => {}
            TypeKind::Named(path, arguments) => erase!(path, arguments),
            TypeKind::Tuple(types) => types.erase_spans(),
            TypeKind::Record(fields) => fields.erase_spans(),
            TypeKind::Array(dim, element) => erase!(dim, element),
            TypeKind::Vector(width, element) => erase!(width, element),
            TypeKind::Function {
                param_name,
                param,
                result,
            } => erase!(param_name, param, result),
        }
    }
}

impl EraseSpans for Dim {
    fn erase_spans(&mut self) {
        match self {
            Dim::Inferred(span) | Dim::Unknown(span) => span.erase_spans(),
            Dim::Size(size) => size.erase_spans(),
        }
    }
}

impl EraseSpans for SizeKind {
    fn erase_spans(&mut self) {
        match self {
            SizeKind::Literal(_) | SizeKind::Var(_) | SizeKind::Error => {}
            SizeKind::Binary(_, left, right) => erase!(left, right),
        }
    }
}

impl EraseSpans for ExprKind {
    fn erase_spans(&mut self) {
        match self {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Operator(_)
            | ExprKind::Error => {}
            ExprKind::Var(path) | ExprKind::Constructor(path) | ExprKind::NodeConstructor(path) => {
                path.erase_spans()
            }
            ExprKind::Annotated { name, .. } => name.erase_spans(),
            ExprKind::Apply(function, arguments) => erase!(function, arguments),
            ExprKind::Lambda(params, body) => erase!(params, body),
            ExprKind::Let(bindings, body) => erase!(bindings, body),
            ExprKind::If(condition, yes, no) => erase!(condition, yes, no),
            ExprKind::Case(scrutinee, arms) => erase!(scrutinee, arms),
            ExprKind::Tuple(items) | ExprKind::Array(items) => items.erase_spans(),
            ExprKind::Record(fields) => fields.erase_spans(),
            ExprKind::Project(inner, _)
            | ExprKind::Unary(_, inner)
            | ExprKind::LeftSection(_, inner)
            | ExprKind::RightSection(_, inner)
            | ExprKind::Trace { body: inner, .. }
            | ExprKind::Paren(inner) => inner.erase_spans(),
            ExprKind::Field(inner, name) => erase!(inner, name),
            ExprKind::Index(inner, indices) => erase!(inner, indices),
            ExprKind::Range(from, to) => erase!(from, to),
            ExprKind::Binary(_, span, left, right) => erase!(span, left, right),
            ExprKind::Loop(inner) => inner.erase_spans(),
            ExprKind::With {
                array,
                indices,
                value,
                in_place: _,
            } => erase!(array, indices, value),
            ExprKind::Assert {
                condition,
                text: _,
                body,
            } => erase!(condition, body),
            ExprKind::Ascribe(inner, ty) | ExprKind::Coerce(inner, ty) => erase!(inner, ty),
            ExprKind::Foreach {
                node,
                datum,
                rename,
                down,
                body,
            } => erase!(node, datum, rename, down, body),
        }
    }
}

impl EraseSpans for IndexArg {
    fn erase_spans(&mut self) {
        match self {
            IndexArg::At(index) => index.erase_spans(),
            IndexArg::Slice {
                begin,
                end,
                bound: _,
                step,
                span,
            } => erase!(begin, end, step, span),
        }
    }
}

impl EraseSpans for Binding {
    fn erase_spans(&mut self) {
        match self {
            Binding::Value { pattern, value, span } => erase!(pattern, value, span),
            Binding::Functions(defs) => defs.erase_spans(),
        }
    }
}

impl EraseSpans for LoopForm {
    fn erase_spans(&mut self) {
        match self {
            LoopForm::For { index, bound } => erase!(index, bound),
            LoopForm::While(condition) => condition.erase_spans(),
        }
    }
}

impl EraseSpans for PatternKind {
    fn erase_spans(&mut self) {
        match self {
            PatternKind::Wildcard
            | PatternKind::Var(_)
            | PatternKind::Int { .. }
            | PatternKind::Float { .. }
            | PatternKind::Bool(_)
            | PatternKind::Error => {}
            PatternKind::Tuple(patterns) => patterns.erase_spans(),
            PatternKind::Record(fields) => fields.erase_spans(),
            PatternKind::Constructor(path, fields) | PatternKind::NodeConstructor(path, fields) => {
                erase!(path, fields)
            }
            PatternKind::Ascribed(inner, ty) => erase!(inner, ty),
            PatternKind::Paren(inner) => inner.erase_spans(),
        }
    }
}
