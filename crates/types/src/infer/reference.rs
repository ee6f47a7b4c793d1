//! Names and constructors: variables, definitions at fresh types, primitives.

use super::expr::{function, i64_type};
use crate::checker::{Checker, DefState};
use crate::names::{Local, Meaning, Value};
use crate::sizes::var_size;
use crate::tree::{ConstructorForm, DataId, Expr, ExprKind, Instance, Type};
use almach_base::codes::levels;
use almach_base::{Diagnostic, Span};
use almach_prim::Annotation;
use almach_syntax::ast;

impl Checker<'_> {
    /// A name: a variable, a definition, a primitive.
    pub fn infer_name(&mut self, path: &ast::Path, annotation: Annotation, span: Span) -> Expr {
        let Some(meaning) = self.lookup_value(path) else {
            self.unknown_value(path);
            return self.error_expr(span);
        };
        if !annotation.is_none() && !matches!(meaning, Meaning::Prim(_)) {
            self.no_annotation(path, annotation, span);
        }
        match meaning {
            Meaning::Local(local) => self.local(local, span),
            Meaning::Global(Value::Def(def)) => self.global(def, span),
            Meaning::Global(Value::Foreign(foreign)) => {
                let Some(poly) = self.foreign.get(foreign.0 as usize).map(|(_, poly)| poly.clone()) else {
                    return self.error_expr(span);
                };
                let (ty, instance) = self.solver.instantiate(&poly, span);
                Expr {
                    kind: ExprKind::Foreign(foreign, instance),
                    ty,
                    span,
                }
            }
            Meaning::Prim(prim) => self.prim(prim, annotation, span),
            Meaning::Scalar(function) => self.scalar_function(function, span),
        }
    }

    fn no_annotation(&mut self, path: &ast::Path, annotation: Annotation, span: Span) {
        self.report(
            Diagnostic::error(
                levels::NOT_ANNOTATABLE,
                span,
                format!("`{}` takes no annotation", path.name.name),
            )
            .label(format!("`{annotation}` has no meaning here"))
            .note("levels and effects are written on primitive operations such as `map` and `reduce`")
            .help("write it on the operations inside the function"),
        );
    }

    fn local(&mut self, local: Local, span: Span) -> Expr {
        match local {
            Local::Value { var, ty } => {
                let expr = Expr {
                    kind: ExprKind::Local(var),
                    ty,
                    span,
                };
                self.opened(expr, "this array")
            }
            Local::Monomorphic { var, ty } => Expr {
                kind: ExprKind::LocalFunction(var, Instance::default()),
                ty,
                span,
            },
            Local::Function { var, ty: poly } => {
                let (ty, instance) = self.solver.instantiate(&poly, span);
                Expr {
                    kind: ExprKind::LocalFunction(var, instance),
                    ty,
                    span,
                }
            }
            Local::Declared { var, ty: poly } => {
                let (ty, instance) = self.solver.instantiate(&poly, span);
                self.note_recursive_use(&poly, &instance, span);
                Expr {
                    kind: ExprKind::LocalFunction(var, instance),
                    ty,
                    span,
                }
            }
            Local::Size(var) => Expr {
                kind: ExprKind::Size(var_size(&var)),
                ty: i64_type(),
                span,
            },
        }
    }

    fn global(&mut self, def: crate::tree::DefId, span: Span) -> Expr {
        let state = self
            .defs
            .get(def.0 as usize)
            .map_or(DefState::NotYet, |def| def.state.clone());
        match state {
            DefState::Done(poly) => {
                let (ty, instance) = self.solver.instantiate(&poly, span);
                let expr = Expr {
                    kind: ExprKind::Global(def, instance),
                    ty,
                    span,
                };
                self.opened(expr, "this definition")
            }
            DefState::Declared(poly) => {
                let (ty, instance) = self.solver.instantiate(&poly, span);
                self.note_recursive_use(&poly, &instance, span);
                Expr {
                    kind: ExprKind::Global(def, instance),
                    ty,
                    span,
                }
            }
            DefState::Monomorphic(ty) => Expr {
                kind: ExprKind::Global(def, Instance::default()),
                ty,
                span,
            },
            DefState::NotYet => self.error_expr(span),
        }
    }

    /// What the body asks of a type variable, it asks of the types of recursive calls.
    fn note_recursive_use(&mut self, poly: &crate::scheme::PolyType, instance: &Instance, span: Span) {
        for ((var, _), ty) in poly.scheme.types.iter().zip(&instance.types) {
            self.recursive_uses.push((var.clone(), ty.clone(), span));
        }
    }

    pub fn constructor(&mut self, path: &ast::Path, form: ConstructorForm, span: Span) -> Expr {
        let Some((data, at)) = self.lookup_constructor(path) else {
            self.unknown_constructor(path);
            return self.error_expr(span);
        };
        let (result, fields) = self.constructor_type(data, at, form, span);
        let ty = fields
            .into_iter()
            .rev()
            .fold(result, |result, field| function(field, result));
        Expr {
            kind: ExprKind::Constructor {
                data,
                constructor: at,
                form,
            },
            ty,
            span,
        }
    }

    /// The type a constructor makes and those of its fields, at fresh type arguments.
    pub fn constructor_type(
        &mut self,
        data: DataId,
        constructor: u32,
        form: ConstructorForm,
        span: Span,
    ) -> (Type, Vec<Type>) {
        let count = self.data_def(data).map_or(0, |def| def.params.len());
        let args: Vec<Type> = (0..count).map(|_| self.any_type(span)).collect();
        match form {
            ConstructorForm::Datum => {
                let fields = self.field_types(data, constructor, &args, None);
                (Type::Data(data, args), fields)
            }
            ConstructorForm::Node => {
                if !self.is_recursive(data) {
                    self.not_recursive(&Type::Data(data, args.clone()), span);
                }
                let reference = self.any_type(span);
                let fields = self.field_types(data, constructor, &args, Some(&reference));
                let node = Type::Node {
                    data,
                    args,
                    reference: Box::new(reference),
                };
                (node, fields)
            }
        }
    }
}
