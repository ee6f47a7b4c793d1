//! Expressions, one by one.

use crate::annotate::{Blank, Reading};
use crate::checker::{Checker, DefState, LiteralUse};
use crate::errors::{Cause, Why};
use crate::names::{Local, Meaning, Value};
use crate::pending::{PENDING_POSITION, Question};
use crate::sizes::var_size;
use crate::solver::Flavour;
use crate::tree::{
    Constraint, ConstructorForm, DataId, Dim, Expr, ExprKind, FunctionType, Instance, Pattern, PatternKind,
    Type,
};
use crate::unify::Coercion;
use almach_base::codes::{levels, types as codes};
use almach_base::{Diagnostic, Name, Span};
use almach_nat::Poly;
use almach_prim::Annotation;
use almach_syntax::ast;
use almach_value::{ScalarType, UnOp};

pub(crate) fn boolean() -> Type {
    Type::Scalar(ScalarType::Bool)
}

pub(crate) fn i64_type() -> Type {
    Type::Scalar(ScalarType::I64)
}

pub(crate) fn function(param: Type, result: Type) -> Type {
    Type::Function(Box::new(FunctionType {
        binder: None,
        param,
        result,
    }))
}

impl Checker<'_> {
    pub fn any_type(&mut self, span: Span) -> Type {
        self.solver.fresh_type(Constraint::Any, span)
    }

    /// What stands for an expression after an error: fits everywhere, so that nothing is reported twice.
    pub fn error_expr(&mut self, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Tuple(Vec::new()),
            ty: self.any_type(span),
            span,
        }
    }

    /// The expression at the expected type.
    pub fn check(&mut self, expr: &ast::Expr, expected: &Type, why: Why) -> Expr {
        match &expr.kind {
            ast::ExprKind::Paren(inner) => self.check(inner, expected, why),
            ast::ExprKind::Lambda(params, body) => {
                let lambda = self.infer_lambda(params, body, Some(expected), expr.span);
                self.coerce(lambda, expected, why)
            }
            ast::ExprKind::LeftSection(..) | ast::ExprKind::RightSection(..) => {
                self.check_section(expr, expected, why)
            }
            ast::ExprKind::Let(bindings, body) => self.infer_let(bindings, expr.span, &mut |this| {
                this.check(body, expected, why.clone())
            }),
            ast::ExprKind::If(condition, yes, no) => {
                let result = self.infer_if(condition, yes, no, Some((expected, &why)), expr.span);
                self.coerce(result, expected, why)
            }
            ast::ExprKind::Case(scrutinee, arms) => {
                let result = self.infer_case(scrutinee, arms, Some((expected, &why)), expr.span);
                self.coerce(result, expected, why)
            }
            ast::ExprKind::Tuple(parts) => self.check_tuple(parts, expected, why, expr.span),
            ast::ExprKind::Record(fields) => {
                let record = self.infer_record(fields, Some(expected), expr.span);
                self.coerce(record, expected, why)
            }
            ast::ExprKind::Array(elements) => {
                let array = self.infer_array(elements, Some(expected), expr.span);
                self.coerce(array, expected, why)
            }
            ast::ExprKind::Assert {
                condition,
                text,
                body,
            } => {
                let condition = self.check(condition, &boolean(), Why::Condition);
                let body = self.check(body, expected, why);
                assert_expr(condition, text, body, expr.span)
            }
            ast::ExprKind::Apply(..)
            | ast::ExprKind::Var(_)
            | ast::ExprKind::Annotated { .. }
            | ast::ExprKind::Binary(..) => {
                let inferred = self.infer_expecting(expr, Some(expected));
                self.coerce(inferred, expected, why)
            }
            _ => {
                let inferred = self.infer(expr);
                self.coerce(inferred, expected, why)
            }
        }
    }

    fn check_tuple(&mut self, parts: &[ast::Expr], expected: &Type, why: Why, span: Span) -> Expr {
        let wanted = match self.solver.head(expected) {
            Type::Tuple(wanted) if wanted.len() == parts.len() => wanted.clone(),
            _ => {
                let tuple = self.infer_tuple(parts, span);
                return self.coerce(tuple, expected, why);
            }
        };
        let parts: Vec<Expr> = parts
            .iter()
            .zip(&wanted)
            .map(|(part, wanted)| self.check(part, wanted, why.clone()))
            .collect();
        Expr {
            ty: Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect()),
            kind: ExprKind::Tuple(parts),
            span,
        }
    }

    fn infer_tuple(&mut self, parts: &[ast::Expr], span: Span) -> Expr {
        let parts: Vec<Expr> = parts.iter().map(|part| self.infer(part)).collect();
        Expr {
            ty: Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect()),
            kind: ExprKind::Tuple(parts),
            span,
        }
    }

    /// Uses an expression where another type is expected; reports why that cannot be.
    pub fn coerce(&mut self, expr: Expr, expected: &Type, why: Why) -> Expr {
        let cause = Cause {
            span: expr.span,
            why,
            found: Some(expr.ty.clone()),
            expected: Some(expected.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        match self.solver.subsume(&expr.ty, expected) {
            Ok(coercion) => self.apply_coercion(expr, &coercion, expected),
            Err(mismatch) => {
                let cause = Cause {
                    bound: self.origin(&expr),
                    ..cause
                };
                self.report_mismatch(&cause, &mismatch);
                Expr {
                    ty: expected.clone(),
                    ..expr
                }
            }
        }
    }

    /// Where the name an expression consists of was bound.
    pub fn origin(&self, expr: &Expr) -> Option<(Name, Span)> {
        match &expr.kind {
            ExprKind::Local(var) | ExprKind::LocalFunction(var, _) => {
                let info = self.solver.var_info(var)?;
                (!info.span.is_none()).then(|| (var.name.clone(), info.span))
            }
            ExprKind::Global(def, _) => {
                let ast = self.defs.get(def.0 as usize)?.ast;
                Some((ast.name.name.clone(), ast.name.span))
            }
            _ => None,
        }
    }

    fn apply_coercion(&mut self, expr: Expr, coercion: &Coercion, expected: &Type) -> Expr {
        match coercion {
            Coercion::None => expr,
            Coercion::Forget => Expr {
                span: expr.span,
                kind: ExprKind::Forget(Box::new(expr)),
                ty: expected.clone(),
            },
            Coercion::Wrap { param, result } => self.wrap_function(expr, param, result, expected),
        }
    }

    /// `let f = expr in \x -> result (f (param x))`.
    fn wrap_function(&mut self, expr: Expr, param: &Coercion, result: &Coercion, expected: &Type) -> Expr {
        let span = expr.span;
        let (Type::Function(from), Type::Function(to)) =
            (self.solver.resolve(&expr.ty), self.solver.resolve(expected))
        else {
            return expr;
        };
        let f = self.program_var(&Name::from("f"), span);
        let x = self.program_var(&Name::from("x"), span);
        let local = |var: &crate::tree::Var, ty: &Type| Expr {
            kind: ExprKind::Local(var.clone()),
            ty: ty.clone(),
            span,
        };
        let argument = self.apply_coercion(local(&x, &to.param), param, &from.param);
        let call = Expr {
            kind: ExprKind::Apply(Box::new(local(&f, &expr.ty)), vec![argument]),
            ty: from.result.clone(),
            span,
        };
        let body = self.apply_coercion(call, result, &to.result);
        let lambda = Expr {
            kind: ExprKind::Lambda(vec![var_pattern(&x, &to.param, span)], Box::new(body)),
            ty: expected.clone(),
            span,
        };
        let pattern = var_pattern(&f, &expr.ty, span);
        Expr {
            kind: ExprKind::Let(pattern, Box::new(expr), Box::new(lambda)),
            ty: expected.clone(),
            span,
        }
    }

    pub fn infer(&mut self, expr: &ast::Expr) -> Expr {
        self.infer_expecting(expr, None)
    }

    /// `expected` is a hint for what cannot be known otherwise; the result need not have that type.
    fn infer_expecting(&mut self, expr: &ast::Expr, expected: Option<&Type>) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Int { value, suffix } => self.int_literal(*value, *suffix, false, span),
            ast::ExprKind::Float { text, suffix } => self.float_literal(text, *suffix, span),
            ast::ExprKind::Bool(value) => Expr {
                kind: ExprKind::Bool(*value),
                ty: boolean(),
                span,
            },
            ast::ExprKind::Str(bytes) => Expr {
                ty: Type::Array(
                    Dim::Size(Poly::constant(bytes.len() as i64)),
                    Box::new(Type::Scalar(ScalarType::U8)),
                ),
                kind: ExprKind::Str(bytes.clone()),
                span,
            },
            ast::ExprKind::Var(_)
            | ast::ExprKind::Annotated { .. }
            | ast::ExprKind::Apply(..)
            | ast::ExprKind::Binary(ast::BinaryOp::PipeRight | ast::BinaryOp::PipeLeft, ..) => {
                self.infer_application(expr, expected)
            }
            ast::ExprKind::Constructor(path) => self.constructor(path, ConstructorForm::Datum, span),
            ast::ExprKind::NodeConstructor(path) => self.constructor(path, ConstructorForm::Node, span),
            ast::ExprKind::Lambda(params, body) => self.infer_lambda(params, body, None, span),
            ast::ExprKind::Let(bindings, body) => {
                self.infer_let(bindings, span, &mut |this| this.infer(body))
            }
            ast::ExprKind::If(condition, yes, no) => self.infer_if(condition, yes, no, None, span),
            ast::ExprKind::Case(scrutinee, arms) => self.infer_case(scrutinee, arms, None, span),
            ast::ExprKind::Tuple(parts) => self.infer_tuple(parts, span),
            ast::ExprKind::Record(fields) => self.infer_record(fields, None, span),
            ast::ExprKind::Project(tuple, index) => self.infer_project(tuple, *index, span),
            ast::ExprKind::Field(record, name) => self.infer_field(record, name, span),
            ast::ExprKind::Index(array, indices) => self.infer_index(array, indices, span),
            ast::ExprKind::Range(begin, end) => self.infer_range(begin, end, span),
            ast::ExprKind::Array(elements) => self.infer_array(elements, None, span),
            ast::ExprKind::Unary(ast::UnaryOp::Scalar(op), operand) => self.infer_unary(*op, operand, span),
            ast::ExprKind::Binary(op, op_span, left, right) => {
                self.infer_binary(*op, *op_span, left, right, span)
            }
            ast::ExprKind::Operator(op) => self.operator_value(*op, span),
            ast::ExprKind::LeftSection(..) | ast::ExprKind::RightSection(..) => self.infer_section(expr),
            ast::ExprKind::Loop(it) => self.infer_loop(it, span),
            ast::ExprKind::With {
                array,
                indices,
                value,
                in_place,
            } => self.infer_with(array, indices, value, *in_place, span),
            ast::ExprKind::Assert {
                condition,
                text,
                body,
            } => {
                let condition = self.check(condition, &boolean(), Why::Condition);
                let body = self.infer(body);
                assert_expr(condition, text, body, span)
            }
            ast::ExprKind::Trace { label, body } => {
                let body = self.infer(body);
                Expr {
                    ty: body.ty.clone(),
                    kind: ExprKind::Trace {
                        label: label.clone(),
                        body: Box::new(body),
                    },
                    span,
                }
            }
            ast::ExprKind::Ascribe(inner, ty) => {
                let wanted = self.read_type(ty, &mut Reading::new(Blank::Infer(Flavour::Flexible)));
                let checked = self.check(inner, &wanted, Why::Annotation(ty.span));
                self.opened(checked, "this expression")
            }
            ast::ExprKind::Coerce(inner, ty) => self.infer_coerce(inner, ty, span),
            ast::ExprKind::Foreach {
                node,
                datum,
                rename,
                down,
                body,
            } => self.infer_foreach(node, datum, rename, down, body, span),
            ast::ExprKind::Paren(inner) => self.infer_expecting(inner, expected),
            ast::ExprKind::Error => {
                self.failed = true;
                self.incomplete = true;
                self.error_expr(span)
            }
        }
    }

    /// The expression with its unknown sizes named.
    pub fn opened(&mut self, expr: Expr, of: &str) -> Expr {
        Expr {
            ty: self.solver.open(&expr.ty, expr.span, of),
            ..expr
        }
    }

    pub fn int_literal(
        &mut self,
        value: u128,
        suffix: Option<ScalarType>,
        negative: bool,
        span: Span,
    ) -> Expr {
        let ty = match suffix {
            Some(scalar) => Type::Scalar(scalar),
            None => self.solver.fresh_type(Constraint::Number, span),
        };
        self.literals.push(LiteralUse {
            value,
            negative,
            ty: ty.clone(),
            span,
        });
        Expr {
            kind: ExprKind::Int(value),
            ty,
            span,
        }
    }

    fn float_literal(&mut self, text: &Name, suffix: Option<ScalarType>, span: Span) -> Expr {
        let ty = match suffix {
            Some(scalar) => Type::Scalar(scalar),
            None => self.solver.fresh_type(Constraint::Float, span),
        };
        if text.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.report(
                Diagnostic::error(
                    codes::LITERAL_RANGE,
                    span,
                    format!("the literal `{text}` is too large for every float type"),
                )
                .label("rounds to infinity")
                .help("write `inf` if infinity is meant"),
            );
        }
        Expr {
            kind: ExprKind::Float(text.clone()),
            ty,
            span,
        }
    }

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

    fn constructor(&mut self, path: &ast::Path, form: ConstructorForm, span: Span) -> Expr {
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

    fn infer_record(
        &mut self,
        fields: &[(ast::Ident, ast::Expr)],
        expected: Option<&Type>,
        span: Span,
    ) -> Expr {
        let wanted = expected.and_then(|ty| match self.solver.head(ty) {
            Type::Record(fields) => Some(fields.clone()),
            _ => None,
        });
        let mut values: Vec<(Name, Expr)> = Vec::new();
        for (ident, value) in fields {
            let hint = wanted
                .as_ref()
                .and_then(|wanted| crate::unify::field(wanted, &ident.name));
            let value = match hint {
                Some(ty) => self.check(value, ty, Why::Text("because of the expected record type")),
                None => self.infer(value),
            };
            if values.iter().any(|(name, _)| *name == ident.name) {
                self.duplicate_field(ident);
            } else {
                values.push((ident.name.clone(), value));
            }
        }
        let types = values
            .iter()
            .map(|(name, value)| (name.clone(), value.ty.clone()))
            .collect();
        let ty = self.record_type(types);
        let order: Vec<Name> = match &ty {
            Type::Record(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        };
        let values = values
            .into_iter()
            .map(|(name, value)| {
                let position = order.iter().position(|other| *other == name).unwrap_or(0);
                (position as u32, value)
            })
            .collect();
        Expr {
            kind: ExprKind::Record(values),
            ty,
            span,
        }
    }

    fn infer_project(&mut self, tuple: &ast::Expr, index: u32, span: Span) -> Expr {
        let tuple = self.infer(tuple);
        let ty = match self.solver.head(&tuple.ty) {
            Type::Tuple(parts) => parts.get(index as usize).cloned(),
            _ => None,
        };
        let ty = match ty {
            Some(ty) => ty,
            None => {
                let result = self.any_type(span);
                self.ask(
                    Question::Component {
                        tuple: tuple.ty.clone(),
                        index,
                        result: result.clone(),
                    },
                    tuple.span,
                );
                result
            }
        };
        let expr = Expr {
            kind: ExprKind::Project(Box::new(tuple), index),
            ty,
            span,
        };
        self.opened(expr, "this component")
    }

    fn infer_field(&mut self, record: &ast::Expr, name: &ast::Ident, span: Span) -> Expr {
        let record = self.infer(record);
        let slot = self.field_positions.len();
        self.field_positions.push(None);
        let result = self.any_type(span);
        self.ask(
            Question::Field {
                record: record.ty.clone(),
                name: name.name.clone(),
                name_span: name.span,
                result: result.clone(),
                slot,
            },
            record.span,
        );
        Expr {
            kind: ExprKind::Project(Box::new(record), PENDING_POSITION + slot as u32),
            ty: result,
            span,
        }
    }

    fn infer_unary(&mut self, op: UnOp, operand: &ast::Expr, span: Span) -> Expr {
        let operand = match (op, &operand.kind) {
            (UnOp::Neg, ast::ExprKind::Int { value, suffix }) => {
                self.int_literal(*value, *suffix, true, operand.span)
            }
            _ => self.infer(operand),
        };
        let constraint = match op {
            UnOp::Not => None,
            UnOp::Complement => Some(Constraint::Integer),
            _ => Some(Constraint::Number),
        };
        let operand = match constraint {
            None => self.coerce(operand, &boolean(), Why::Operator("!")),
            Some(constraint) => {
                self.constrain(&operand.ty, constraint, operand.span, Why::Operator(op.name()));
                operand
            }
        };
        Expr {
            ty: operand.ty.clone(),
            kind: ExprKind::Unary(op, Box::new(operand)),
            span,
        }
    }

    fn infer_coerce(&mut self, inner: &ast::Expr, ty: &ast::TypeExpr, span: Span) -> Expr {
        let inner = self.infer(inner);
        let wanted = self.read_type(ty, &mut Reading::new(Blank::Infer(Flavour::Flexible)));
        let cause = Cause {
            span: inner.span,
            why: Why::Annotation(ty.span),
            found: Some(inner.ty.clone()),
            expected: Some(wanted.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        if let Err(mismatch) = self.solver.unify_shapes(&inner.ty, &wanted) {
            self.report_mismatch(&cause, &mismatch);
        }
        self.keep_sizes(&inner.ty, &wanted);
        let expr = Expr {
            kind: ExprKind::Coerce(Box::new(inner), wanted.clone()),
            ty: wanted,
            span,
        };
        self.opened(expr, "this array")
    }

    /// A size left blank in `:>` is the one the array has.
    fn keep_sizes(&mut self, found: &Type, wanted: &Type) {
        let pair = (self.solver.head(found).clone(), self.solver.head(wanted).clone());
        match &pair {
            (Type::Array(from, s), Type::Array(to, t)) => {
                if let (Dim::Size(n), Dim::Size(m)) = (from, to)
                    && m.as_var().is_some_and(|var| self.solver.is_open_size(var))
                {
                    // Cannot fail: the blank is fresh.
                    let _ = self.solver.equate(n, m);
                }
                self.keep_sizes(s, t);
            }
            (Type::Tuple(xs), Type::Tuple(ys)) => {
                xs.iter().zip(ys).for_each(|(x, y)| self.keep_sizes(x, y));
            }
            _ => {}
        }
    }
}

pub(crate) fn var_pattern(var: &crate::tree::Var, ty: &Type, span: Span) -> Pattern {
    Pattern {
        kind: PatternKind::Var(var.clone()),
        ty: ty.clone(),
        span,
    }
}

fn assert_expr(condition: Expr, text: &Name, body: Expr, span: Span) -> Expr {
    Expr {
        ty: body.ty.clone(),
        kind: ExprKind::Assert {
            condition: Box::new(condition),
            text: text.clone(),
            body: Box::new(body),
        },
        span,
    }
}
