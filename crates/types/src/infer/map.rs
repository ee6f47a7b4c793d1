//! `map`, which takes as many arrays as its function has arguments to fill.

use super::apply::{Call, spine};
use super::expr::function;
use crate::checker::{Checker, DefState};
use crate::names::{Local, Meaning, Value};
use crate::solver::Flavour;
use crate::tree::{Dim, Expr, ExprKind, Type};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Span, counted};
use almach_prim::{Annotation, Prim, ScalarFunction};
use almach_syntax::ast;

impl Checker<'_> {
    /// `map f xs…` takes as many arrays as its function has arguments to fill.
    pub fn infer_map(
        &mut self,
        annotation: Annotation,
        head_span: Span,
        args: &[&ast::Expr],
        expected: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some((function_arg, array_args)) = args.split_first() else {
            return self.error_expr(span);
        };
        let mut call = Call::new("map", args);
        self.check_annotation(Prim::Map, annotation, head_span);
        let (inferred, arity) = self.mapped_function(function_arg);
        let arrays = arity.count(array_args.len());
        if array_args.len() > arrays {
            self.too_many_arrays(&call, arrays, head_span);
            return self.error_expr(span);
        }
        let elements: Vec<Type> = (0..arrays).map(|_| self.any_type(head_span)).collect();
        let result_element = self.any_type(span);
        let size = self.solver.fresh_size(Flavour::Flexible, span);
        let array = |element: &Type| Type::Array(Dim::Size(size.clone()), Box::new(element.clone()));
        for (at, (arg, element)) in array_args.iter().zip(&elements).enumerate() {
            let checked = self.check(arg, &array(element), call.why(at + 1));
            if let Some(place) = call.done.get_mut(at + 1) {
                *place = Some(checked);
            }
        }
        self.hint_elements(expected, elements.get(array_args.len()..).unwrap_or_default());
        let function_type = elements
            .iter()
            .rev()
            .fold(result_element.clone(), |result, element| {
                function(element.clone(), result)
            });
        self.solver.level += 1;
        let checked = match inferred {
            Some(found) => self.coerce(found, &function_type, call.why(0)),
            None => self.check(function_arg, &function_type, call.why(0)),
        };
        self.solver.level -= 1;
        if let Some(place) = call.done.first_mut() {
            *place = Some(checked);
        }
        let whole = |from: usize| {
            elements
                .iter()
                .skip(from)
                .rev()
                .fold(array(&result_element), |result, element| {
                    function(array(element), result)
                })
        };
        let prim = Expr {
            kind: ExprKind::Prim {
                prim: Prim::Map,
                annotation,
                arrays,
            },
            ty: function(function_type, whole(0)),
            span: head_span,
        };
        Expr {
            ty: whole(array_args.len()),
            kind: ExprKind::Apply(Box::new(prim), call.done.into_iter().flatten().collect()),
            span,
        }
    }

    fn too_many_arrays(&mut self, call: &Call<'_>, arrays: usize, head_span: Span) {
        let given = call.args.len() - 1;
        let extra = call.args.get(arrays + 1).map_or(head_span, |arg| arg.span);
        let function_span = call.args.first().map_or(head_span, |arg| arg.span);
        let arguments = counted(arrays, "argument");
        self.report(
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                extra,
                format!("`map` is given {given} arrays for a function of {arguments}"),
            )
            .label("one too many")
            .also(function_span, format!("takes {arguments}")),
        );
    }

    /// How many arrays `map` takes. Where only its type can say, the function is inferred first.
    fn mapped_function(&mut self, arg: &ast::Expr) -> (Option<Expr>, Arity) {
        if let Some(arity) = self.arity_of(arg) {
            return (None, arity);
        }
        self.solver.level += 1;
        let inferred = self.infer(arg);
        self.solver.level -= 1;
        let arity = self.arity(&inferred.ty);
        (Some(inferred), arity)
    }

    /// How many arguments a function has to fill, where its form says so.
    fn arity_of(&mut self, expr: &ast::Expr) -> Option<Arity> {
        let (head, args) = spine(expr);
        let arity = match &head.kind {
            ast::ExprKind::Lambda(params, _) => Arity::AtLeast(params.len()),
            ast::ExprKind::LeftSection(..) | ast::ExprKind::RightSection(..) => Arity::Exactly(1),
            ast::ExprKind::Operator(_) => Arity::Exactly(2),
            ast::ExprKind::Constructor(path) | ast::ExprKind::NodeConstructor(path) => {
                let (data, at) = self.quietly(|this| this.lookup_constructor(path))?;
                Arity::Exactly(self.data_def(data)?.constructors.get(at as usize)?.fields.len())
            }
            ast::ExprKind::Var(path) | ast::ExprKind::Annotated { name: path, .. } => {
                match self.peek_value(path)? {
                    Meaning::Prim(Prim::Map) => match args.split_first() {
                        None => Arity::Exactly(2),
                        Some((function, _)) => self.arity_of(function)?.plus_one(),
                    },
                    Meaning::Prim(prim) => {
                        let ty = self.prim_type(prim).ty?;
                        self.arity(&ty)
                    }
                    Meaning::Scalar(function) => Arity::Exactly(match function {
                        ScalarFunction::Unary(_) | ScalarFunction::Cast => 1,
                        ScalarFunction::Binary(_) => 2,
                        ScalarFunction::Ternary(_) => 3,
                    }),
                    Meaning::Local(local) => match local {
                        Local::Value { ty, .. } | Local::Monomorphic { ty, .. } => self.arity(&ty),
                        Local::Function { ty, .. } | Local::Declared { ty, .. } => self.arity(&ty.ty?),
                        Local::Size(_) => return None,
                    },
                    Meaning::Global(Value::Foreign(foreign)) => {
                        let ty = self.foreign.get(foreign.0 as usize)?.1.ty.clone()?;
                        self.arity(&ty)
                    }
                    Meaning::Global(Value::Def(def)) => match self.defs.get(def.0 as usize)?.state.clone() {
                        DefState::NotYet => return None,
                        DefState::Monomorphic(ty) => self.arity(&ty),
                        DefState::Declared(poly) | DefState::Done(poly) => self.arity(&poly.ty?),
                    },
                }
            }
            _ => return None,
        };
        arity.minus(args.len())
    }

    fn arity(&self, ty: &Type) -> Arity {
        let (mut count, mut ty) = (0, ty);
        loop {
            match self.solver.head(ty) {
                Type::Function(function) => {
                    count += 1;
                    ty = &function.result;
                }
                Type::Var(_) => return Arity::AtLeast(count),
                // Not a function at all: the mismatch is reported when it is used as one.
                _ if count == 0 => return Arity::AtLeast(1),
                _ => return Arity::Exactly(count),
            }
        }
    }

    /// Arrays still to come have the elements of the parameters that are expected.
    fn hint_elements(&mut self, expected: Option<&Type>, elements: &[Type]) {
        let mut expected = expected.map(|ty| self.solver.head(ty).clone());
        for element in elements {
            let Some(Type::Function(function)) = expected else {
                return;
            };
            if let Type::Array(_, wanted) = self.solver.head(&function.param).clone() {
                // A mismatch is reported when the whole type is compared.
                let _ = self.solver.unify(element, &wanted);
            }
            expected = Some(self.solver.head(&function.result).clone());
        }
    }
}

/// How many arguments a function has to fill.
#[derive(Clone, Copy)]
enum Arity {
    Exactly(usize),
    /// The type of the result is not known, or may be a function.
    AtLeast(usize),
}

impl Arity {
    fn plus_one(self) -> Arity {
        match self {
            Arity::Exactly(count) => Arity::Exactly(count + 1),
            Arity::AtLeast(count) => Arity::AtLeast(count + 1),
        }
    }

    /// What is left after some arguments; none where there are too many.
    fn minus(self, args: usize) -> Option<Arity> {
        match self {
            Arity::Exactly(count) => count
                .checked_sub(args)
                .filter(|left| *left > 0)
                .map(Arity::Exactly),
            Arity::AtLeast(count) => Some(Arity::AtLeast(count.saturating_sub(args))),
        }
    }

    fn count(self, given: usize) -> usize {
        match self {
            Arity::Exactly(count) => count,
            Arity::AtLeast(count) => count.max(given).max(1),
        }
    }
}
