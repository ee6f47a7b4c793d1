//! The primitives, typed by the table's own text.

use crate::annotate::{Blank, NewTypeVar, Reading};
use crate::checker::Checker;
use crate::pending::Question;
use crate::scheme::PolyType;
use crate::tree::{Constraint, Expr, ExprKind, Scheme, Type};
use almach_base::codes::{levels, types as codes};
use almach_base::{Diagnostic, FileId, Span};
use almach_prim::{Annotation, Effect, Prim, TakesChunk, TakesLevel};
use std::collections::HashMap;

impl Checker<'_> {
    /// A primitive as a value, at fresh types.
    pub fn prim(&mut self, prim: Prim, annotation: Annotation, span: Span) -> Expr {
        self.check_annotation(prim, annotation, span);
        let poly = self.prim_type(prim);
        let (ty, instance) = self.solver.instantiate(&poly, span);
        match (prim, instance.types.as_slice()) {
            (Prim::Nodes | Prim::Reach, [datum, node]) => self.ask(
                Question::NodeOf {
                    datum: datum.clone(),
                    node: node.clone(),
                },
                span,
            ),
            (Prim::FromNodes | Prim::Constructed, [node, datum]) => self.ask(
                Question::NodeOf {
                    datum: datum.clone(),
                    node: node.clone(),
                },
                span,
            ),
            (Prim::RootOf, [datum]) => self.ask(Question::Recursive(datum.clone()), span),
            (Prim::Build, _) => self.partial_build(span),
            _ => {}
        }
        Expr {
            kind: ExprKind::Prim {
                prim,
                annotation,
                arrays: 1,
            },
            ty,
            span,
        }
    }

    fn partial_build(&mut self, span: Span) {
        self.report(
            Diagnostic::error(
                codes::PARTIAL_BUILD,
                span,
                "`build` needs all its arguments at once",
            )
            .label("given fewer here")
            .help("write `\\n root f -> build n root f` with the type of `f`'s nodes known"),
        );
    }

    pub fn prim_type(&mut self, prim: Prim) -> PolyType {
        if let Some(poly) = self.prim_types.get(&prim) {
            return poly.clone();
        }
        let (written, _) = almach_syntax::parse_type(FileId(u32::MAX), prim.info().ty);
        let level = std::mem::replace(&mut self.solver.level, 0);
        let outer_names = std::mem::take(&mut self.type_names);
        let outer_locals = std::mem::take(&mut self.locals);
        let outer_trail = std::mem::take(&mut self.trail);
        let mut reading = Reading {
            new_type_var: NewTypeVar::Infer,
            free_sizes: Some(HashMap::new()),
            ..Reading::new(Blank::Unknown)
        };
        let ty = self.read_type(&written, &mut reading);
        self.trail = outer_trail;
        self.locals = outer_locals;
        self.type_names = outer_names;
        self.solver.level = level;
        let mut types = Vec::new();
        crate::solver::walk_type(&ty, &mut |part| {
            if let Type::Var(var) = part
                && !types.contains(var)
            {
                types.push(var.clone());
            }
        });
        let named: HashMap<u32, Constraint> = type_constraints(&written)
            .into_iter()
            .zip(&types)
            .map(|(constraint, var)| (var.id, constraint))
            .collect();
        let scheme = Scheme {
            types: types
                .into_iter()
                .map(|var| {
                    let constraint = named.get(&var.id).copied().unwrap_or(Constraint::Any);
                    (var, constraint)
                })
                .collect(),
            sizes: reading
                .free_sizes
                .into_iter()
                .flatten()
                .map(|(_, var)| var)
                .collect(),
        };
        let poly = PolyType::new(scheme, ty);
        self.prim_types.insert(prim, poly.clone());
        poly
    }

    /// An annotation must mean something on the primitive.
    pub fn check_annotation(&mut self, prim: Prim, annotation: Annotation, span: Span) {
        let info = prim.info();
        let mut refuse = |what: &str, shown: String| {
            self.report(
                Diagnostic::error(
                    levels::NOT_ANNOTATABLE,
                    span,
                    format!("`{}` takes no {what}", info.name),
                )
                .label(format!("`@{shown}` has no meaning here"))
                .help("remove it"),
            );
        };
        if let Some(level) = annotation.level
            && info.takes_level == TakesLevel::No
        {
            refuse("level", level.to_string());
        }
        if let Some(effect) = annotation.effect
            && !info.effects.contains(&effect)
        {
            let what = match info.effects {
                [] => "effect".to_owned(),
                some => format!("effect but {}", listed(some)),
            };
            refuse(&what, effect.to_string());
        }
        if let Some(chunk) = annotation.chunk
            && prim.takes_chunk() == TakesChunk::No
        {
            refuse("chunk", chunk.to_string());
        }
    }
}

/// The effects as they are written.
fn listed(effects: &[Effect]) -> String {
    let names: Vec<String> = effects.iter().map(|effect| format!("`@{effect}`")).collect();
    names.join(" and ")
}

/// `'i` is any integer type. In the order in which the type variables first occur.
fn type_constraints(ty: &almach_syntax::ast::TypeExpr) -> Vec<Constraint> {
    use almach_syntax::ast::{TypeExpr, TypeKind};
    fn walk(ty: &TypeExpr, seen: &mut Vec<almach_base::Name>) {
        match &ty.kind {
            TypeKind::Var(name) => {
                if !seen.contains(name) {
                    seen.push(name.clone());
                }
            }
            TypeKind::Named(_, parts) | TypeKind::Tuple(parts) => {
                parts.iter().for_each(|part| walk(part, seen))
            }
            TypeKind::Record(fields) => fields.iter().for_each(|(_, ty)| walk(ty, seen)),
            TypeKind::Array(_, element) | TypeKind::Vector(_, element) => walk(element, seen),
            TypeKind::Function { param, result, .. } => {
                walk(param, seen);
                walk(result, seen);
            }
            TypeKind::Scalar(_) | TypeKind::Error => {}
        }
    }
    let mut seen = Vec::new();
    walk(ty, &mut seen);
    seen.iter()
        .map(|name| match name.as_str() {
            "i" => Constraint::Integer,
            _ => Constraint::Any,
        })
        .collect()
}
