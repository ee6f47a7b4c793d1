//! Applications. Arguments are checked from left to right, but those of function type last: by then the types their
//! parameters have are known.

use super::expr::{function, i64_type};
use crate::checker::{Checker, DefState};
use crate::errors::{Cause, Why};
use crate::names::{Local, Meaning, Value};
use crate::pending::Pending;
use crate::sizes::substitute_sizes;
use crate::solver::{Flavour, Place, Replaced, map_type};
use crate::tree::{Dim, Expr, ExprKind, Size, Type, TypeVar};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Span};
use almach_prim::{Annotation, Prim, ScalarFunction};
use almach_syntax::ast;

/// Pipes, parentheses and nested applications flattened: a head and its arguments.
fn spine(expr: &ast::Expr) -> (&ast::Expr, Vec<&ast::Expr>) {
    match &expr.kind {
        ast::ExprKind::Apply(head, args) => {
            let (head, mut all) = spine(head);
            all.extend(args);
            (head, all)
        }
        ast::ExprKind::Binary(ast::BinaryOp::PipeRight, _, arg, head)
        | ast::ExprKind::Binary(ast::BinaryOp::PipeLeft, _, head, arg) => {
            let (head, mut all) = spine(head);
            all.push(arg);
            (head, all)
        }
        ast::ExprKind::Paren(inner) => match spine(inner) {
            (_, args) if args.is_empty() => (inner, args),
            flattened => flattened,
        },
        _ => (expr, Vec::new()),
    }
}

/// One application in the making.
struct Call<'e> {
    name: String,
    declared: Vec<Span>,
    args: Vec<&'e ast::Expr>,
    done: Vec<Option<Expr>>,
    postponed: Vec<(usize, Type)>,
    forget: Vec<TypeVar>,
}

/// What the checker had before an attempt.
struct Before {
    diagnostics: usize,
    failed: bool,
    pending: Vec<Pending>,
    literals: usize,
    recursive_uses: usize,
}

impl Before {
    fn of(checker: &Checker<'_>) -> Before {
        Before {
            diagnostics: checker.diagnostics.len(),
            failed: checker.failed,
            pending: checker.pending.clone(),
            literals: checker.literals.len(),
            recursive_uses: checker.recursive_uses.len(),
        }
    }

    /// Gives back what was reported since.
    fn restore(&self, checker: &mut Checker<'_>) -> Vec<Diagnostic> {
        checker.failed = self.failed;
        checker.pending = self.pending.clone();
        checker.literals.truncate(self.literals);
        checker.recursive_uses.truncate(self.recursive_uses);
        checker.diagnostics.split_off(self.diagnostics)
    }
}

/// Attempts inside attempts inside attempts are not worth their time.
const MOST_ATTEMPTS: u32 = 3;

impl Call<'_> {
    fn why(&self, position: usize) -> Why {
        Why::Argument {
            function: self.name.clone(),
            position: position + 1,
            declared: self.declared.get(position).copied(),
        }
    }
}

impl Checker<'_> {
    pub fn infer_application(&mut self, expr: &ast::Expr, expected: Option<&Type>) -> Expr {
        let (head, args) = spine(expr);
        let (path, annotation) = match &head.kind {
            ast::ExprKind::Var(path) => (path, Annotation::NONE),
            ast::ExprKind::Annotated { name, annotation } => (name, *annotation),
            _ => {
                let function = self.infer(head);
                return self.apply(function, "this function".to_string(), args, expr.span);
            }
        };
        if let Some(Meaning::Prim(prim)) = self.peek_value(path) {
            match prim {
                Prim::Map if !args.is_empty() => {
                    return self.infer_map(annotation, head.span, &args, expected, expr.span);
                }
                Prim::Build if args.len() == 3 => {
                    return self.infer_build(annotation, head.span, &args, expr.span);
                }
                _ => {}
            }
        }
        let function = self.infer_name(path, annotation, head.span);
        let prim = match &function.kind {
            ExprKind::Prim { prim, .. } => Some(*prim),
            _ => None,
        };
        let call = self.apply(function, path.name.name.to_string(), args, expr.span);
        match prim {
            Some(Prim::Slide) => self.slide_size(call),
            _ => call,
        }
    }

    /// Like looking the name up, without complaints.
    fn peek_value(&mut self, path: &ast::Path) -> Option<Meaning> {
        self.quietly(|this| this.lookup_value(path))
    }

    fn quietly<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let (reported, failed) = (self.diagnostics.len(), self.failed);
        let found = look(self);
        self.diagnostics.truncate(reported);
        self.failed = failed;
        found
    }

    fn apply(&mut self, head: Expr, name: String, args: Vec<&ast::Expr>, span: Span) -> Expr {
        if args.is_empty() {
            return head;
        }
        let growing = self.accumulated(&head.ty);
        if growing.is_empty() || self.attempts >= MOST_ATTEMPTS {
            return self.apply_args(head, name, args, &[], span);
        }
        self.apply_or_forget(head, name, args, &growing, span)
    }

    /// Type variables that a function argument gives back and that another argument starts from: the accumulator of a
    /// fold. Where the function changes its size, the size has to be forgotten from the start.
    fn accumulated(&self, ty: &Type) -> Vec<TypeVar> {
        let (mut given, mut started) = (Vec::new(), Vec::new());
        let mut ty = ty;
        while let Type::Function(found) = self.solver.head(ty) {
            match self.solver.head(&found.param) {
                Type::Function(_) => given.extend(self.open_ends(&found.param).1),
                param => started.extend(self.solver.open_head(param)),
            }
            ty = &found.result;
        }
        given.retain(|var| started.contains(var));
        given
    }

    /// Tries with the sizes the arguments have, then without those of accumulators.
    fn apply_or_forget(
        &mut self,
        head: Expr,
        name: String,
        args: Vec<&ast::Expr>,
        growing: &[TypeVar],
        span: Span,
    ) -> Expr {
        self.attempts += 1;
        let before = Before::of(self);
        let attempt = self.solver.attempt();
        let kept = self.apply_args(head.clone(), name.clone(), args.clone(), &[], span);
        let expr = if self.has_size_errors(before.diagnostics) {
            self.solver.take_back(attempt);
            let errors = before.restore(self);
            let forgotten = self.apply_args(head, name, args, growing, span);
            if self.diagnostics.len() > before.diagnostics {
                self.diagnostics.truncate(before.diagnostics);
                self.diagnostics.extend(errors);
                self.failed = true;
            }
            forgotten
        } else {
            self.solver.keep(attempt);
            kept
        };
        self.attempts -= 1;
        expr
    }

    fn has_size_errors(&self, since: usize) -> bool {
        self.diagnostics
            .iter()
            .skip(since)
            .any(|diagnostic| diagnostic.is_error() && diagnostic.code.0.starts_with("E04"))
    }

    /// `forget` are accumulators whose size is not kept.
    fn apply_args(
        &mut self,
        head: Expr,
        name: String,
        args: Vec<&ast::Expr>,
        forget: &[TypeVar],
        span: Span,
    ) -> Expr {
        let declared = self.declared_params(&head);
        let mut call = Call {
            name,
            declared,
            done: args.iter().map(|_| None).collect(),
            args,
            postponed: Vec::new(),
            forget: forget.to_vec(),
        };
        let mut ty = head.ty.clone();
        for position in 0..call.args.len() {
            match self.apply_one(&mut call, position, &ty, &head) {
                Some(rest) => ty = rest,
                None => return self.error_expr(span),
            }
        }
        self.check_postponed(&mut call);
        let of = format!("the result of `{}`", call.name);
        let expr = Expr {
            kind: ExprKind::Apply(Box::new(head), call.done.into_iter().flatten().collect()),
            ty,
            span,
        };
        self.opened(expr, &of)
    }

    /// Where the parameters of a definition stand.
    fn declared_params(&self, head: &Expr) -> Vec<Span> {
        match &head.kind {
            ExprKind::Global(def, _) => self
                .defs
                .get(def.0 as usize)
                .map(|def| def.ast.params.iter().map(|param| param.pattern.span).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Takes one argument; gives the type of what is left.
    fn apply_one(&mut self, call: &mut Call<'_>, position: usize, ty: &Type, head: &Expr) -> Option<Type> {
        let arg = *call.args.get(position)?;
        if self.solver.open_head(ty).is_some() {
            self.check_postponed(call);
        }
        if self.solver.open_head(ty).is_some() {
            let (param, result) = (self.any_type(arg.span), self.any_type(arg.span));
            let wanted = function(param, result);
            if !self.require_same(ty, &wanted, head.span, Why::Unsaid) {
                return None;
            }
        }
        let Type::Function(found) = self.solver.head(ty).clone() else {
            self.too_many_arguments(call, position, ty, head);
            return None;
        };
        if found.binder.is_none() && matches!(self.solver.head(&found.param), Type::Function(_)) {
            call.postponed.push((position, found.param.clone()));
            return Some(found.result);
        }
        let checked = match self.solver.open_head(&found.param) {
            Some(var) if call.forget.contains(&var) => {
                self.check_forgotten(arg, &found.param, call.why(position))
            }
            _ => self.check(arg, &found.param, call.why(position)),
        };
        let rest = match &found.binder {
            None => found.result,
            Some(binder) => {
                let size = self.size_or_unknown(&checked);
                let result = self.solver.resolve(&found.result);
                substitute_sizes(&result, &|var| (var == binder).then(|| size.clone()))
            }
        };
        if let Some(place) = call.done.get_mut(position) {
            *place = Some(checked);
        }
        Some(rest)
    }

    /// An argument whose own size does not count.
    fn check_forgotten(&mut self, arg: &ast::Expr, param: &Type, why: Why) -> Expr {
        let inferred = self.infer(arg);
        let resolved = self.solver.resolve(&inferred.ty);
        let forgotten = map_type(
            &resolved,
            &mut |_| Replaced::Descend,
            &mut |dim, place| match place {
                Place::Outer => Dim::Unknown,
                Place::Field | Place::Inner => dim.clone(),
            },
        );
        self.require_same(param, &forgotten, arg.span, Why::Unsaid);
        self.coerce(inferred, &forgotten, why)
    }

    /// The size an `i64` expression is, or a name for what only run time knows.
    pub fn size_or_unknown(&mut self, expr: &Expr) -> Size {
        match self.size_of(expr) {
            Some(size) => size,
            None => self
                .solver
                .unknown_size(expr.span, "an array whose size is this value"),
        }
    }

    /// Function arguments: one level deeper, so that the sizes their types are general in can stand for the rows of a
    /// jagged array.
    fn check_postponed(&mut self, call: &mut Call<'_>) {
        while let Some((position, param)) = self.next_postponed(call) {
            let Some(arg) = call.args.get(position) else {
                continue;
            };
            self.solver.level += 1;
            let checked = self.check(arg, &param, call.why(position));
            self.solver.level -= 1;
            if let Some(place) = call.done.get_mut(position) {
                *place = Some(checked);
            }
        }
    }

    /// The first function argument that takes nothing another one gives, so that sizes flow from makers to users.
    fn next_postponed(&self, call: &mut Call<'_>) -> Option<(usize, Type)> {
        let flows: Vec<(Vec<TypeVar>, Option<TypeVar>)> =
            call.postponed.iter().map(|(_, ty)| self.open_ends(ty)).collect();
        let ready = flows.iter().enumerate().position(|(at, (params, _))| {
            !flows.iter().enumerate().any(|(other, (_, result))| {
                other != at && result.as_ref().is_some_and(|result| params.contains(result))
            })
        });
        if call.postponed.is_empty() {
            return None;
        }
        Some(call.postponed.remove(ready.unwrap_or(0)))
    }

    /// The open types a function takes, and the one it gives.
    fn open_ends(&self, ty: &Type) -> (Vec<TypeVar>, Option<TypeVar>) {
        let (mut params, mut ty) = (Vec::new(), ty);
        loop {
            match self.solver.head(ty) {
                Type::Function(function) => {
                    params.extend(self.solver.open_head(&function.param));
                    ty = &function.result;
                }
                other => return (params, self.solver.open_head(other)),
            }
        }
    }

    fn too_many_arguments(&mut self, call: &Call<'_>, position: usize, ty: &Type, head: &Expr) {
        let shown = self.show(ty);
        let first = call.args.get(position).map_or(head.span, |arg| arg.span);
        let given = call.args.len();
        let diagnostic = if position == 0 {
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                head.span,
                format!("`{shown}` is not a function and takes no arguments"),
            )
            .label(format!("this is `{shown}`"))
            .also(first, "an argument here")
        } else {
            let plural = if position == 1 { "argument" } else { "arguments" };
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                first,
                format!("`{}` takes {position} {plural}, found {given}", call.name),
            )
            .label("one too many")
            .also(head.span, format!("with {position} {plural} this is `{shown}`"))
        };
        self.report(diagnostic);
    }

    /// `map f xs…` takes as many arrays as its function has arguments to fill.
    fn infer_map(
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
        let mut call = Call {
            name: "map".to_string(),
            declared: Vec::new(),
            args: args.to_vec(),
            done: args.iter().map(|_| None).collect(),
            postponed: Vec::new(),
            forget: Vec::new(),
        };
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
        let plural = if arrays == 1 { "argument" } else { "arguments" };
        self.report(
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                extra,
                format!("`map` is given {given} arrays for a function of {arrays} {plural}"),
            )
            .label("one too many")
            .also(function_span, format!("takes {arrays} {plural}")),
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
                        ScalarFunction::Unary(_) => 1,
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

    /// The number of windows of `slide`, where the array is surely long enough.
    fn slide_size(&mut self, call: Expr) -> Expr {
        let ExprKind::Apply(_, args) = &call.kind else {
            return call;
        };
        let [size, step, array] = args.as_slice() else {
            return call;
        };
        let windows = match (
            self.size_of(size),
            self.size_of(step),
            self.solver.head(&array.ty),
        ) {
            (Some(size), Some(step), Type::Array(Dim::Size(length), _)) => {
                self.solver.windows(length, &size, &step)
            }
            _ => None,
        };
        match (windows, self.solver.head(&call.ty).clone()) {
            (Some(windows), Type::Array(_, element)) => Expr {
                ty: Type::Array(Dim::Size(windows), element),
                ..call
            },
            _ => call,
        }
    }

    /// `build n root (\i ref -> node)`: the reference type belongs to this `build` alone.
    fn infer_build(
        &mut self,
        annotation: Annotation,
        head_span: Span,
        args: &[&ast::Expr],
        span: Span,
    ) -> Expr {
        let [count, root, maker] = args else {
            return self.error_expr(span);
        };
        self.check_annotation(Prim::Build, annotation, head_span);
        let why = |position| Why::Argument {
            function: "build".to_string(),
            position,
            declared: None,
        };
        let count = self.check(count, &i64_type(), why(1));
        let root = self.check(root, &i64_type(), why(2));
        self.solver.level += 1;
        let reference = Type::Reference(self.solver.fresh_reference(head_span, "r"));
        let node = self.any_type(maker.span);
        let maker_type = function(
            i64_type(),
            function(function(i64_type(), reference.clone()), node.clone()),
        );
        let maker = self.check(maker, &maker_type, why(3));
        self.solve_pending();
        let result = self.datum_of_nodes(&node, &reference, maker.span);
        self.solver.level -= 1;
        let result = self.leave_references(result, maker.span);
        let prim = Expr {
            ty: function(
                i64_type(),
                function(i64_type(), function(maker_type, result.clone())),
            ),
            kind: ExprKind::Prim {
                prim: Prim::Build,
                annotation,
                arrays: 1,
            },
            span: head_span,
        };
        Expr {
            kind: ExprKind::Apply(Box::new(prim), vec![count, root, maker]),
            ty: result,
            span,
        }
    }

    /// Reports where a type mentions references that end here.
    pub fn leave_references(&mut self, ty: Type, span: Span) -> Type {
        let outer = self.any_type(span);
        let cause = Cause {
            span,
            why: Why::Unsaid,
            found: Some(ty.clone()),
            expected: None,
        };
        self.solver.cause = cause.clone();
        if let Err(mismatch) = self.solver.subsume(&ty, &outer) {
            self.report_mismatch(&cause, &mismatch);
        }
        outer
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
