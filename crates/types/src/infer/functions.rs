//! Lambdas, and what they share with definitions: parameters one level deeper than the surroundings, the body another.

use crate::annotate::mentions_size;
use crate::checker::Checker;
use crate::errors::Why;
use crate::sizes::{Forgotten, substitute_sizes, var_size};
use crate::tree::{Expr, ExprKind, FunctionType, Pattern, PatternKind, Type, Var};
use almach_base::Span;
use almach_syntax::ast;

/// Parameters that have been bound.
pub(super) struct Params {
    pub patterns: Vec<Pattern>,
    /// The types of what is passed; a pattern's own type has its unknown sizes named.
    pub types: Vec<Type>,
}

impl Params {
    /// The variable a parameter is, where it is nothing else: it may be mentioned in sizes.
    pub fn variables(&self) -> impl Iterator<Item = Option<&Var>> {
        self.patterns.iter().map(|pattern| match &pattern.kind {
            PatternKind::Var(var) => Some(var),
            _ => None,
        })
    }
}

impl Checker<'_> {
    /// A lambda; its type need not be the expected one, which serves as a hint.
    pub fn infer_lambda(
        &mut self,
        params: &[ast::Param],
        body: &ast::Expr,
        expected: Option<&Type>,
        span: Span,
    ) -> Expr {
        let outer = self.solver.level;
        let mark = self.trail.len();
        self.refuse_duplicates(params.iter().map(|param| &param.pattern));
        self.solver.level = outer + 1;
        let mut rest = expected.cloned();
        let mut bound = Params {
            patterns: Vec::new(),
            types: Vec::new(),
        };
        for param in params {
            let hint = match rest.as_ref().map(|ty| self.solver.head(ty).clone()) {
                Some(Type::Function(function)) => Some(*function),
                _ => None,
            };
            let passed = hint.as_ref().map(|function| function.param.clone());
            let (pattern, ty) = self.bind_param(&param.pattern, passed, outer);
            rest = hint.map(|function| self.result_for(&function, &pattern));
            bound.patterns.push(pattern);
            bound.types.push(ty);
        }
        self.solver.level = outer + 2;
        let body = match &rest {
            Some(result) => self.check(body, result, Why::Unsaid),
            None => self.infer(body),
        };
        self.solve_pending();
        self.unbind_to(mark);
        self.solver.level = outer;
        let (result, body) = self.close_result(body, outer + 1);
        let ty = self.function_type(&bound, &result);
        self.solver.lower(&ty, outer);
        Expr {
            kind: ExprKind::Lambda(bound.patterns, Box::new(body)),
            ty,
            span,
        }
    }

    /// The expected result when the parameter is this one.
    fn result_for(&mut self, function: &FunctionType, pattern: &Pattern) -> Type {
        match (&function.binder, &pattern.kind) {
            (None, _) => function.result.clone(),
            (Some(binder), PatternKind::Var(var)) => {
                let size = var_size(var);
                substitute_sizes(&self.solver.resolve(&function.result), &|other| {
                    (other == binder).then(|| size.clone())
                })
            }
            (Some(binder), _) => {
                let size = self.solver.unknown_size(pattern.span, "this parameter");
                substitute_sizes(&self.solver.resolve(&function.result), &|other| {
                    (other == binder).then(|| size.clone())
                })
            }
        }
    }

    /// Binds a parameter. A plain variable belongs to the parameters' level, so that types may mention it; names inside
    /// a larger pattern, and names for unknown sizes, belong to the body.
    fn bind_param(&mut self, pattern: &ast::Pattern, passed: Option<Type>, outer: u32) -> (Pattern, Type) {
        self.solver.level = outer + 1;
        let annotated = self.annotation_of(pattern);
        let ty = match (annotated, passed) {
            (Some((written, span)), Some(passed)) => {
                // A difference that only forgets sizes is mended where the whole lambda is used.
                let cause = crate::errors::Cause {
                    span: pattern.span,
                    why: Why::Annotation(span),
                    found: Some(passed.clone()),
                    expected: Some(written.clone()),
                    bound: None,
                };
                self.solver.cause = cause.clone();
                if let Err(mismatch) = self.solver.subsume(&passed, &written) {
                    self.report_mismatch(&cause, &mismatch);
                }
                written
            }
            (Some((written, _)), None) => written,
            (None, Some(passed)) => passed,
            (None, None) => self.any_type(pattern.span),
        };
        let bound = self.bind_param_pattern(pattern, &ty, outer);
        (bound, ty)
    }

    /// Binds a parameter whose annotation, if any, has been read.
    pub(super) fn bind_param_pattern(&mut self, pattern: &ast::Pattern, ty: &Type, outer: u32) -> Pattern {
        match &pattern.kind {
            ast::PatternKind::Ascribed(inner, _) | ast::PatternKind::Paren(inner) => {
                self.bind_param_pattern(inner, ty, outer)
            }
            ast::PatternKind::Var(_) => {
                self.solver.level = outer + 2;
                let opened = self.solver.open(ty, pattern.span, "this parameter");
                self.solver.level = outer + 1;
                self.bind_pattern(pattern, &opened, &Why::Unsaid)
            }
            _ => {
                self.solver.level = outer + 2;
                let bound = self.bind_pattern(pattern, ty, &Why::Unsaid);
                self.solver.level = outer + 1;
                bound
            }
        }
    }

    /// The body's type as its caller sees it: sizes bound inside become `?`.
    pub(super) fn close_result(&mut self, body: Expr, level: u32) -> (Type, Expr) {
        let (closed, forgotten) = self.solver.close(&body.ty, level, &[]);
        let body = match forgotten {
            Forgotten::Nothing => body,
            Forgotten::Known | Forgotten::Regularity => Expr {
                span: body.span,
                ty: closed.clone(),
                kind: ExprKind::Forget(Box::new(body)),
            },
        };
        (closed, body)
    }

    /// The type of a function with these parameters. Parameters that later types mention are bound by it.
    pub(super) fn function_type(&self, params: &Params, result: &Type) -> Type {
        let mut ty = self.solver.resolve(result);
        let variables: Vec<Option<&Var>> = params.variables().collect();
        for (param, var) in params.types.iter().zip(variables).rev() {
            let binder = var.filter(|var| mentions_size(&ty, var)).cloned();
            ty = Type::Function(Box::new(FunctionType {
                binder,
                param: self.solver.resolve(param),
                result: ty,
            }));
        }
        ty
    }
}
