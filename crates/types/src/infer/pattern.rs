//! Patterns: what they match and what they bind.

use super::expr::boolean;
use crate::annotate::{Blank, Reading};
use crate::checker::{Checker, LiteralUse};
use crate::errors::{Cause, Why};
use crate::names::Local;
use crate::solver::Flavour;
use crate::tree::{Constraint, ConstructorForm, Pattern, PatternKind, Type};
use almach_base::codes::{names as name_codes, types as codes};
use almach_base::{Diagnostic, Name, Span};
use almach_syntax::ast;
use almach_value::ScalarType;
use std::collections::HashMap;

impl Checker<'_> {
    /// Binds the names of a pattern that takes a value of the type apart.
    pub fn bind_pattern_at(&mut self, pattern: &ast::Pattern, ty: &Type, why: Why) -> Pattern {
        self.refuse_duplicates(std::iter::once(pattern));
        self.bind_pattern(pattern, ty, &why)
    }

    /// A name may be bound once by the patterns that stand together.
    pub fn refuse_duplicates<'p>(&mut self, patterns: impl Iterator<Item = &'p ast::Pattern>) {
        let mut seen: HashMap<Name, Span> = HashMap::new();
        let mut work: Vec<&ast::Pattern> = patterns.collect();
        work.reverse();
        while let Some(pattern) = work.pop() {
            match &pattern.kind {
                ast::PatternKind::Var(name) => {
                    if let Some(first) = seen.insert(name.clone(), pattern.span) {
                        self.report(
                            Diagnostic::error(
                                name_codes::DUPLICATE_BINDING,
                                pattern.span,
                                format!("`{name}` is bound twice"),
                            )
                            .label("again here")
                            .also(first, "bound first here")
                            .help("use another name, or `_` for a value that is not needed"),
                        );
                    }
                }
                ast::PatternKind::Tuple(parts)
                | ast::PatternKind::Constructor(_, parts)
                | ast::PatternKind::NodeConstructor(_, parts) => work.extend(parts.iter().rev()),
                ast::PatternKind::Record(fields) => work.extend(fields.iter().rev().map(|(_, part)| part)),
                ast::PatternKind::Ascribed(inner, _) | ast::PatternKind::Paren(inner) => work.push(inner),
                ast::PatternKind::Wildcard
                | ast::PatternKind::Int { .. }
                | ast::PatternKind::Float { .. }
                | ast::PatternKind::Bool(_)
                | ast::PatternKind::Error => {}
            }
        }
    }

    /// The type written on a whole pattern.
    pub fn annotation_of(&mut self, pattern: &ast::Pattern) -> Option<(Type, Span)> {
        match &pattern.kind {
            ast::PatternKind::Ascribed(_, ty) => {
                let span = ty.span;
                Some((
                    self.read_type(ty, &mut Reading::new(Blank::Infer(Flavour::Flexible))),
                    span,
                ))
            }
            ast::PatternKind::Paren(inner) => self.annotation_of(inner),
            _ => None,
        }
    }

    pub fn bind_pattern(&mut self, pattern: &ast::Pattern, ty: &Type, why: &Why) -> Pattern {
        let span = pattern.span;
        let plain = |kind, ty: &Type| Pattern {
            kind,
            ty: ty.clone(),
            span,
        };
        match &pattern.kind {
            ast::PatternKind::Wildcard => plain(PatternKind::Wildcard, ty),
            ast::PatternKind::Error => {
                self.failed = true;
                self.incomplete = true;
                plain(PatternKind::Wildcard, ty)
            }
            ast::PatternKind::Var(name) => self.bind_var(name, ty, span),
            ast::PatternKind::Int {
                value,
                negative,
                suffix,
            } => self.int_pattern(*value, *negative == ast::Negative::Yes, *suffix, ty, why, span),
            ast::PatternKind::Float {
                text,
                negative,
                suffix,
            } => {
                let literal = match suffix {
                    Some(scalar) => Type::Scalar(*scalar),
                    None => self.solver.fresh_type(Constraint::Float, span),
                };
                self.match_type(&literal, ty, span, why);
                let text = match negative {
                    ast::Negative::Yes => Name::from(format!("-{text}")),
                    ast::Negative::No => text.clone(),
                };
                plain(PatternKind::Float(text), ty)
            }
            ast::PatternKind::Bool(value) => {
                self.match_type(&boolean(), ty, span, why);
                plain(PatternKind::Bool(*value), ty)
            }
            ast::PatternKind::Tuple(parts) => self.tuple_pattern(parts, ty, why, span),
            ast::PatternKind::Record(fields) => self.record_pattern(fields, ty, why, span),
            ast::PatternKind::Constructor(path, parts) => {
                self.constructor_pattern(path, parts, ConstructorForm::Datum, ty, why, span)
            }
            ast::PatternKind::NodeConstructor(path, parts) => {
                self.constructor_pattern(path, parts, ConstructorForm::Node, ty, why, span)
            }
            ast::PatternKind::Ascribed(inner, written) => {
                let wanted = self.read_type(written, &mut Reading::new(Blank::Infer(Flavour::Flexible)));
                let cause = Cause {
                    span: inner.span,
                    why: Why::Annotation(written.span),
                    found: Some(ty.clone()),
                    expected: Some(wanted.clone()),
                    bound: None,
                };
                self.solver.cause = cause.clone();
                if let Err(mismatch) = self.solver.subsume(ty, &wanted) {
                    self.report_mismatch(&cause, &mismatch);
                }
                self.bind_pattern(inner, &wanted, why)
            }
            ast::PatternKind::Paren(inner) => self.bind_pattern(inner, ty, why),
        }
    }

    fn bind_var(&mut self, name: &Name, ty: &Type, span: Span) -> Pattern {
        let var = self.program_var(name, span);
        let ty = self.solver.open(ty, span, &format!("`{name}`"));
        self.bind_local(
            name.clone(),
            Local::Value {
                var: var.clone(),
                ty: ty.clone(),
            },
        );
        Pattern {
            kind: PatternKind::Var(var),
            ty,
            span,
        }
    }

    /// The pattern's own type and that of the value must agree.
    fn match_type(&mut self, pattern: &Type, value: &Type, span: Span, why: &Why) -> bool {
        self.require_same(pattern, value, span, why.clone())
    }

    fn int_pattern(
        &mut self,
        value: u128,
        negative: bool,
        suffix: Option<ScalarType>,
        ty: &Type,
        why: &Why,
        span: Span,
    ) -> Pattern {
        let literal = match suffix {
            Some(scalar) => Type::Scalar(scalar),
            None => self.solver.fresh_type(Constraint::Number, span),
        };
        self.match_type(&literal, ty, span, why);
        self.literals.push(LiteralUse {
            value,
            negative,
            ty: ty.clone(),
            span,
        });
        let magnitude = i128::try_from(value).unwrap_or(i128::MAX);
        Pattern {
            kind: PatternKind::Int(if negative { -magnitude } else { magnitude }),
            ty: ty.clone(),
            span,
        }
    }

    fn tuple_pattern(&mut self, parts: &[ast::Pattern], ty: &Type, why: &Why, span: Span) -> Pattern {
        let types = match self.solver.head(ty) {
            Type::Tuple(types) if types.len() == parts.len() => types.clone(),
            _ => {
                let types: Vec<Type> = parts.iter().map(|part| self.any_type(part.span)).collect();
                self.match_type(&Type::Tuple(types.clone()), ty, span, why);
                types
            }
        };
        let parts = parts
            .iter()
            .zip(&types)
            .map(|(part, ty)| self.bind_pattern(part, ty, why))
            .collect();
        Pattern {
            kind: PatternKind::Tuple(parts),
            ty: ty.clone(),
            span,
        }
    }

    fn record_pattern(
        &mut self,
        fields: &[(ast::Ident, ast::Pattern)],
        ty: &Type,
        why: &Why,
        span: Span,
    ) -> Pattern {
        let types = match self.solver.head(ty).clone() {
            Type::Record(types) => types,
            _ => {
                // Nothing else is known: the record has exactly these fields.
                let types: Vec<(Name, Type)> = fields
                    .iter()
                    .map(|(ident, _)| (ident.name.clone(), self.any_type(ident.span)))
                    .collect();
                let record = self.record_type(types);
                self.match_type(&record, ty, span, why);
                match record {
                    Type::Record(types) => types,
                    _ => Vec::new(),
                }
            }
        };
        let mut bound: Vec<(u32, Pattern)> = Vec::new();
        for (ident, part) in fields {
            let position = types.iter().position(|(name, _)| *name == ident.name);
            let Some((at, (_, field_type))) = position.and_then(|at| Some((at, types.get(at)?))) else {
                let shown = self.show(ty);
                self.report(
                    Diagnostic::error(
                        codes::NO_SUCH_FIELD,
                        ident.span,
                        format!("`{shown}` has no field `{}`", ident.name),
                    )
                    .label("no such field"),
                );
                let unknown = self.any_type(ident.span);
                self.bind_pattern(part, &unknown, why);
                continue;
            };
            if bound.iter().any(|(other, _)| *other as usize == at) {
                self.duplicate_field(ident);
            }
            let part = self.bind_pattern(part, field_type, why);
            bound.push((at as u32, part));
        }
        Pattern {
            kind: PatternKind::Record(bound),
            ty: ty.clone(),
            span,
        }
    }

    fn constructor_pattern(
        &mut self,
        path: &ast::Path,
        parts: &[ast::Pattern],
        form: ConstructorForm,
        ty: &Type,
        why: &Why,
        span: Span,
    ) -> Pattern {
        let wildcard = Pattern {
            kind: PatternKind::Wildcard,
            ty: ty.clone(),
            span,
        };
        let Some((data, at)) = self.lookup_constructor(path) else {
            self.unknown_constructor(path);
            self.bind_unknown(parts, why);
            return wildcard;
        };
        let (whole, fields) = self.constructor_type(data, at, form, span);
        if !self.match_type(&whole, ty, span, why) {
            self.bind_unknown(parts, why);
            return wildcard;
        }
        if fields.len() != parts.len() {
            self.wrong_field_count(path, fields.len(), parts.len(), span);
            self.bind_unknown(parts, why);
            return wildcard;
        }
        let parts = parts
            .iter()
            .zip(&fields)
            .map(|(part, field)| self.bind_pattern(part, field, why))
            .collect();
        Pattern {
            kind: PatternKind::Constructor {
                data,
                constructor: at,
                form,
                fields: parts,
            },
            ty: ty.clone(),
            span,
        }
    }

    /// After an error the names are still bound, so that their uses are not errors too.
    fn bind_unknown(&mut self, parts: &[ast::Pattern], why: &Why) {
        for part in parts {
            let unknown = self.any_type(part.span);
            self.bind_pattern(part, &unknown, why);
        }
    }

    fn wrong_field_count(&mut self, path: &ast::Path, wanted: usize, found: usize, span: Span) {
        let name = &path.name.name;
        let fields = |count: usize| match count {
            0 => "no fields".to_string(),
            1 => "1 field".to_string(),
            n => format!("{n} fields"),
        };
        self.report(
            Diagnostic::error(
                codes::CONSTRUCTOR_ARITY,
                span,
                format!("`{name}` has {}, the pattern {found}", fields(wanted)),
            )
            .label(format!("{} here", fields(found)))
            .help("write `_` for a field that is not needed"),
        );
    }
}
