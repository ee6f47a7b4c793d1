//! Applications. Arguments are checked from left to right, but those of function type last: by then the types their
//! parameters have are known.

use super::expr::function;
use crate::checker::Checker;
use crate::errors::Why;
use crate::names::Meaning;
use crate::pending::Pending;
use crate::sizes::substitute_sizes;
use crate::solver::{Flavour, Place, Replaced, map_type, walk_type};
use crate::tree::{Constraint, Dim, Expr, ExprKind, Size, Type, TypeVar};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Span, counted};
use almach_prim::{Annotation, Prim};
use almach_syntax::ast;

/// Pipes, parentheses and nested applications flattened: a head and its arguments.
pub(super) fn spine(expr: &ast::Expr) -> (&ast::Expr, Vec<&ast::Expr>) {
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
pub(super) struct Call<'e> {
    name: String,
    declared: Vec<Span>,
    pub args: Vec<&'e ast::Expr>,
    pub done: Vec<Option<Expr>>,
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

impl<'e> Call<'e> {
    pub fn new(name: &str, args: &[&'e ast::Expr]) -> Call<'e> {
        Call {
            name: name.to_string(),
            declared: Vec::new(),
            args: args.to_vec(),
            done: args.iter().map(|_| None).collect(),
            postponed: Vec::new(),
            forget: Vec::new(),
        }
    }

    pub fn why(&self, position: usize) -> Why {
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
                if let (ExprKind::Constructor { .. }, Some(expected)) = (&function.kind, expected) {
                    self.hint_result(&function.ty, args.len(), expected);
                }
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
        if let Some(expected) = expected {
            self.hint_rows_of_params(&function.ty, args.len(), expected);
        }
        let call = self.apply(function, path.name.name.to_string(), args, expr.span);
        match prim {
            Some(Prim::Slide) => self.slide_size(call),
            _ => call,
        }
    }

    /// What a constructor makes is what is expected, so that its fields are checked at the right types.
    fn hint_result(&mut self, ty: &Type, args: usize, expected: &Type) {
        let mut result = ty;
        for _ in 0..args {
            match self.solver.head(result) {
                Type::Function(function) => result = &function.result,
                _ => return,
            }
        }
        if self.solver.open_head(expected).is_none() {
            let result = result.clone();
            // A mismatch is reported when the whole expression is compared.
            let _ = self.solver.unify(&result, expected);
        }
    }

    /// What a function that lacks arguments is to be given: rows that have sizes of their own do not show in what is done to
    /// them, so `filter (\r -> length r > 1)` for rows of `[?][?]i64` has to know of them before its function is looked at.
    fn hint_rows_of_params(&mut self, ty: &Type, args: usize, expected: &Type) {
        let (mut found, mut wanted) = (ty.clone(), expected.clone());
        for _ in 0..args {
            let Type::Function(function) = self.solver.head(&found) else {
                return;
            };
            found = function.result.clone();
        }
        while let (Type::Function(of_found), Type::Function(of_wanted)) = (
            self.solver.head(&found).clone(),
            self.solver.head(&wanted).clone(),
        ) {
            self.hint_rows(&of_found.param, &of_wanted.param);
            (found, wanted) = (of_found.result, of_wanted.result);
        }
    }

    /// An open element type that stands where elements are jagged is theirs. A mismatch is reported when the whole is compared.
    fn hint_rows(&mut self, found: &Type, wanted: &Type) {
        match (self.solver.head(found).clone(), self.solver.head(wanted).clone()) {
            (Type::Array(_, found), Type::Array(_, wanted)) => self.hint_rows(&found, &wanted),
            (found, Type::Array(Dim::Unknown, wanted)) if self.solver.open_head(&found).is_some() => {
                let wanted = Type::Array(Dim::Unknown, wanted);
                let _ = self.solver.unify(&found, &wanted);
            }
            _ => {}
        }
    }

    /// Like looking the name up, without complaints.
    pub fn peek_value(&mut self, path: &ast::Path) -> Option<Meaning> {
        self.quietly(|this| this.lookup_value(path))
    }

    pub fn quietly<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
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
        let (alone, inside) = self.values_and_parts(&head.ty);
        if let ExprKind::Constructor { .. } = head.kind {
            // Every value inside a data type has a size of its own.
            return self.apply_args(head, name, args, &alone, span);
        }
        let shared: Vec<TypeVar> = alone.into_iter().filter(|var| inside.contains(var)).collect();
        if shared.is_empty() || self.attempts >= MOST_ATTEMPTS {
            return self.apply_args(head, name, args, &[], span);
        }
        self.apply_or_forget(head, name, args, &shared, span)
    }

    /// Type variables that an argument is, and those that arguments hold or give back. A variable that is among both is
    /// the accumulator of a fold, or the element put into a list: where the others differ in size, the size has to be
    /// forgotten from the start.
    fn values_and_parts(&self, ty: &Type) -> (Vec<TypeVar>, Vec<TypeVar>) {
        let (mut inside, mut alone) = (Vec::new(), Vec::new());
        let mut ty = ty;
        while let Type::Function(found) = self.solver.head(ty) {
            match self.solver.head(&found.param) {
                Type::Function(_) => inside.extend(self.open_ends(&found.param).1),
                param => match self.solver.open_head(param) {
                    Some(var) => alone.push(var),
                    None => walk_type(&self.solver.resolve(param), &mut |part| {
                        if let Type::Var(var) = part {
                            inside.push(var.clone());
                        }
                    }),
                },
            }
            ty = &found.result;
        }
        (alone, inside)
    }

    /// Tries with the sizes the arguments have, then without those of shared values.
    fn apply_or_forget(
        &mut self,
        head: Expr,
        name: String,
        args: Vec<&ast::Expr>,
        shared: &[TypeVar],
        span: Span,
    ) -> Expr {
        self.attempts += 1;
        let before = Before::of(self);
        let attempt = self.solver.attempt();
        let kept = self.apply_args(head.clone(), name.clone(), args.clone(), &[], span);
        let expr = if self.has_size_errors(before.diagnostics) {
            self.solver.take_back(attempt);
            let errors = before.restore(self);
            let forgotten = self.apply_args(head, name, args, shared, span);
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

    /// `forget` are values whose size is not kept.
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
        if let Some(var) = self.solver.open_head(ty) {
            let constraint = self.solver.type_var(&var).map(|info| info.constraint);
            if constraint.is_some_and(|constraint| constraint != Constraint::Any) {
                self.too_many_arguments(call, position, ty, head);
                return None;
            }
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
        let reported = self.diagnostics.len();
        let checked = match self.solver.open_head(&found.param) {
            Some(var) if call.forget.contains(&var) => {
                self.check_forgotten(arg, &found.param, call.why(position))
            }
            _ => self.check(arg, &found.param, call.why(position)),
        };
        let rest = match &found.binder {
            None => found.result,
            Some(binder) => {
                let size = if self.diagnostics.len() > reported {
                    // After an error nothing more is said about the size.
                    self.solver.fresh_size(Flavour::Flexible, arg.span)
                } else {
                    self.size_or_unknown(&checked)
                };
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
            None => self.solver.unknown_size(expr.span, "this value"),
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
            let arguments = counted(position, "argument");
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                first,
                format!("`{}` takes {arguments}, found {given}", call.name),
            )
            .label("one too many")
            .also(head.span, format!("with {arguments} this is `{shown}`"))
        };
        self.report(diagnostic);
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
}
