//! The end of a definition: literals get their types, what is still open is decided or asked about, and the tree gets
//! its final types.

use crate::checker::Checker;
use crate::pending::PENDING_POSITION;
use crate::solver::{SizeChecks, TypeBinding, VarKind, walk_type};
use crate::tree::{
    Arm, Constraint, Def, DefKind, Expr, ExprKind, IndexArg, Instance, LoopForm, Pattern, PatternKind,
    Scheme, Size, Type, TypeVar,
};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Span};
use almach_nat::Poly;
use almach_syntax::ast::Dialect;
use almach_value::ScalarType;

impl Checker<'_> {
    /// Literals of an entry point get their usual types: an entry point is not general.
    pub fn default_numbers(&mut self, ty: &Type) {
        let mut open: Vec<TypeVar> = Vec::new();
        walk_type(&self.solver.resolve(ty), &mut |part| {
            if let Type::Var(var) = part {
                open.push(var.clone());
            }
        });
        for var in open {
            let numeric = self.solver.type_var(&var).is_some_and(|info| {
                matches!(
                    info.constraint,
                    Constraint::Number | Constraint::Integer | Constraint::Float | Constraint::Bits
                )
            });
            if numeric && self.solver.is_open(&var) {
                self.default_type(&var);
            }
        }
    }

    fn default_type(&mut self, var: &TypeVar) {
        let float = match self.solver.dialect {
            Dialect::Almach => ScalarType::F64,
            Dialect::Nova => ScalarType::F32,
        };
        if let Some(info) = self.solver.type_var_mut(var) {
            info.binding = TypeBinding::Solved(Type::Scalar(match info.constraint {
                Constraint::Float => float,
                Constraint::Any
                | Constraint::Equality
                | Constraint::Order
                | Constraint::Scalar
                | Constraint::Number
                | Constraint::Bits
                | Constraint::Integer => ScalarType::I32,
            }));
        }
    }

    /// Decides what is still open among the variables made since, and reports what cannot be decided.
    pub fn finish_definition(&mut self, first_type_var: usize, first_size: usize) {
        self.solve_pending();
        self.default_floats(first_type_var);
        let dialect = self.solver.dialect;
        self.default_since(first_type_var, |constraint| match constraint {
            Constraint::Any | Constraint::Equality | Constraint::Order => false,
            Constraint::Scalar => dialect == Dialect::Almach,
            Constraint::Number | Constraint::Bits | Constraint::Integer | Constraint::Float => true,
        });
        self.solve_pending();
        self.report_pending();
        match dialect {
            Dialect::Almach => self.default_since(first_type_var, |_| true),
            // Refused where an expression has such a type: see `check_concrete`.
            Dialect::Nova => {}
        }
        for (equation, mismatch) in self.solver.retry_equations() {
            self.report_mismatch(&equation.cause, &mismatch);
        }
        for equation in std::mem::take(&mut self.solver.equations) {
            if !self.failed && self.solver.size_checks == SizeChecks::AtCompileTime {
                self.report_unsolved(&equation.found, &equation.expected, &equation.cause);
            }
        }
        self.default_sizes_since(first_size);
        self.check_literals();
    }

    /// Floats first: what `to_bits` gives depends on them.
    pub fn default_floats(&mut self, first_type_var: usize) {
        if !self.pending.is_empty() {
            self.default_since(first_type_var, |constraint| constraint == Constraint::Float);
            self.solve_pending();
        }
    }

    fn default_since(&mut self, first: usize, which: impl Fn(Constraint) -> bool) {
        for at in first..self.solver.type_vars.len() {
            let Some(info) = self.solver.type_vars.get(at) else {
                continue;
            };
            if matches!(info.binding, TypeBinding::Open) && which(info.constraint) {
                let var = TypeVar {
                    id: at as u32,
                    name: info.name.clone(),
                };
                self.default_type(&var);
            }
        }
    }

    /// A size nothing depends on.
    fn default_sizes_since(&mut self, first: usize) {
        let checks = self.solver.size_checks;
        for info in self.solver.vars.iter_mut().skip(first) {
            if let VarKind::Open(_) = info.kind {
                info.kind = match checks {
                    SizeChecks::AtCompileTime => VarKind::Solved(Poly::zero()),
                    // Something may depend on it that was left to run time.
                    SizeChecks::AtRunTime => VarKind::Unknown("this size".to_owned()),
                };
            }
        }
    }

    fn check_literals(&mut self) {
        for literal in std::mem::take(&mut self.literals) {
            let Type::Scalar(scalar) = *self.solver.head(&literal.ty) else {
                continue;
            };
            let Some((least, greatest)) = range_of(scalar) else {
                continue;
            };
            let limit = if literal.negative { least } else { greatest };
            if literal.value <= limit {
                continue;
            }
            let sign = if literal.negative { "-" } else { "" };
            let lower = if least == 0 {
                "0".to_string()
            } else {
                format!("-{least}")
            };
            self.report(
                Diagnostic::error(
                    codes::LITERAL_RANGE,
                    literal.span,
                    format!("the literal `{sign}{}` does not fit `{scalar}`", literal.value),
                )
                .label(format!("`{scalar}` holds {lower} to {greatest}"))
                .help("give it another type with a suffix (`1i64`) or an annotation"),
            );
        }
    }

    /// Entry points are called from outside: their types must be concrete data. Where something else is wrong, that may be why they
    /// are not.
    pub fn check_entry(&mut self, def: &Def) {
        if def.kind != DefKind::Entry {
            return;
        }
        let is_known = !self.incomplete && !self.failed;
        if let Some((var, _)) = def.scheme.types.first().filter(|_| is_known) {
            self.report(
                Diagnostic::error(
                    codes::ENTRY_TYPE,
                    def.span,
                    format!(
                        "the entry point `{}` is general in `'{}`; its types must be concrete",
                        def.name, var.name
                    ),
                )
                .label("called from outside, where nothing decides the type")
                .help("write the types of its parameters"),
            );
            return;
        }
        let params = def
            .params
            .iter()
            .map(|param| (&param.ty, param.span, "parameter"));
        let all: Vec<(Type, Span, &str)> = params
            .chain(std::iter::once((&def.result, def.span, "result")))
            .map(|(ty, span, what)| (ty.clone(), span, what))
            .collect();
        for (ty, span, what) in all {
            let mut function = false;
            walk_type(&ty, &mut |part| {
                function |= matches!(part, Type::Function(_));
            });
            if function {
                let shown = self.show(&ty);
                self.report(
                    Diagnostic::error(
                        codes::ENTRY_TYPE,
                        span,
                        format!(
                            "a {what} of the entry point `{}` is a function: `{shown}`",
                            def.name
                        ),
                    )
                    .label("functions cannot be passed in or out")
                    .help("make it a `def` and write an entry point that calls it with a function"),
                );
            }
        }
    }

    /// Final types everywhere, then what can only be checked on them.
    pub fn finish_tree(&mut self, def: &mut Def) {
        self.finish_def(def);
        if !self.failed {
            self.check_def_patterns(def);
        }
    }

    fn finish_def(&mut self, def: &mut Def) {
        for pattern in &mut def.params {
            self.finish_pattern(pattern);
        }
        self.finish_expr(&mut def.body);
        self.finish_type(&mut def.result, def.span);
    }

    fn finish_type(&mut self, ty: &mut Type, span: Span) {
        *ty = self.solver.resolve(ty);
        self.check_concrete(ty, span);
        self.check_stored(ty, span);
    }

    /// In NOVA every type must be known in the end (paper, 3.1.4). Elsewhere a type that nothing decides does not matter.
    fn check_concrete(&mut self, ty: &Type, span: Span) {
        let mut open = false;
        walk_type(ty, &mut |part| {
            open |= matches!(part, Type::Var(var) if self.solver.is_open(var));
        });
        if !open || self.failed {
            return;
        }
        let shown = self.show(ty);
        self.report(
            Diagnostic::error(
                codes::STAYS_POLYMORPHIC,
                span,
                "the concrete type of this expression cannot be determined",
            )
            .label(format!("its type is only known to be `{shown}`"))
            .help("use it where its type is known, or write types on the parameters around it"),
        );
    }

    /// No functions in arrays and data types, no vectors of odd widths: only known when types are final.
    fn check_stored(&mut self, ty: &Type, span: Span) {
        if self.failed {
            return;
        }
        let (mut stored, mut vector) = (None, None);
        let mut bound = Vec::new();
        crate::sizes::collect_binders(ty, &mut bound);
        walk_type(ty, &mut |part| match part {
            Type::Array(_, element) if contains_function(element) => stored = Some("an array"),
            Type::Data(_, args) if args.iter().any(contains_function) => stored = Some("a sum"),
            Type::Vector(width, element) => {
                let width_fits = match width.as_constant() {
                    Some(width) => matches!(width, 2 | 3 | 4 | 8 | 16),
                    // The width a function will be given.
                    None => width.as_var().is_some_and(|var| bound.contains(var)),
                };
                if !width_fits || !matches!(**element, Type::Scalar(_) | Type::Var(_)) {
                    vector = Some(part.clone());
                }
            }
            _ => {}
        });
        if let Some(place) = stored {
            self.no_functions(ty, span, place);
        }
        if let Some(vector) = vector {
            let shown = self.show(&vector);
            self.report(
                Diagnostic::error(
                    codes::VECTOR_TYPE,
                    span,
                    format!("`{shown}` is not a vector type"),
                )
                .label("used here")
                .note("a short vector has 2, 3, 4, 8 or 16 scalars; its width is a literal"),
            );
        }
    }

    fn finish_instance(&mut self, instance: &mut Instance, scheme: Option<Scheme>, span: Span) {
        // A use inside its own group is at the group's own types.
        if let Some(scheme) = scheme {
            if instance.types.len() != scheme.types.len() {
                instance.types = scheme
                    .types
                    .iter()
                    .map(|(var, _)| Type::Var(var.clone()))
                    .collect();
            }
            if instance.sizes.len() != scheme.sizes.len() {
                instance.sizes = scheme.sizes.iter().map(|var| Poly::var(var.clone())).collect();
            }
        }
        for ty in &mut instance.types {
            self.finish_type(ty, span);
        }
        for size in &mut instance.sizes {
            *size = self.solver.size(size);
        }
    }

    fn finish_pattern(&mut self, pattern: &mut Pattern) {
        self.finish_type(&mut pattern.ty, pattern.span);
        match &mut pattern.kind {
            PatternKind::Wildcard
            | PatternKind::Var(_)
            | PatternKind::Int(_)
            | PatternKind::Float(_)
            | PatternKind::Bool(_) => {}
            PatternKind::Tuple(parts) | PatternKind::Constructor { fields: parts, .. } => {
                parts.iter_mut().for_each(|part| self.finish_pattern(part));
            }
            PatternKind::Record(fields) => {
                fields.iter_mut().for_each(|(_, part)| self.finish_pattern(part));
            }
        }
    }

    fn finish_index(&mut self, index: &mut IndexArg) {
        match index {
            IndexArg::At(at) => self.finish_expr(at),
            IndexArg::Slice { begin, end, step, .. } => {
                for part in [begin, end, step].into_iter().flatten() {
                    self.finish_expr(part);
                }
            }
        }
    }

    fn finish_exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e mut Expr>) {
        exprs.into_iter().for_each(|expr| self.finish_expr(expr));
    }

    fn finish_size(&self, size: &mut Size) {
        *size = self.solver.size(size);
    }

    fn finish_expr(&mut self, expr: &mut Expr) {
        self.finish_type(&mut expr.ty, expr.span);
        let span = expr.span;
        match &mut expr.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::Prim { .. }
            | ExprKind::ScalarFunction(_)
            | ExprKind::Operator(_)
            | ExprKind::Constructor { .. } => {}
            ExprKind::Size(size) => self.finish_size(size),
            ExprKind::Global(def, instance) => {
                let scheme = self.defs.get(def.0 as usize).and_then(|def| match &def.state {
                    crate::checker::DefState::Done(poly) => Some(poly.scheme.clone()),
                    _ => None,
                });
                self.finish_instance(instance, scheme, span);
            }
            ExprKind::LocalFunction(var, instance) => {
                let scheme = self.local_schemes.get(&var.id).cloned();
                self.finish_instance(instance, scheme, span);
            }
            ExprKind::Foreign(_, instance) => self.finish_instance(instance, None, span),
            ExprKind::Apply(head, args) => {
                self.finish_expr(head);
                self.finish_exprs(args);
            }
            ExprKind::Lambda(params, body) => {
                params.iter_mut().for_each(|param| self.finish_pattern(param));
                self.finish_expr(body);
            }
            ExprKind::Let(pattern, value, body) => {
                self.finish_pattern(pattern);
                self.finish_expr(value);
                self.finish_expr(body);
            }
            ExprKind::LetFunctions(functions, body) => {
                functions.iter_mut().for_each(|(_, def)| self.finish_def(def));
                self.finish_expr(body);
            }
            ExprKind::If(a, b, c) => self.finish_exprs([&mut **a, &mut **b, &mut **c]),
            ExprKind::Case(scrutinee, arms) => {
                self.finish_expr(scrutinee);
                for Arm {
                    pattern, guard, body, ..
                } in arms
                {
                    self.finish_pattern(pattern);
                    self.finish_exprs(guard);
                    self.finish_expr(body);
                }
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => self.finish_exprs(parts),
            ExprKind::Record(fields) => self.finish_exprs(fields.iter_mut().map(|(_, value)| value)),
            ExprKind::Project(inner, position) => {
                if let Some(slot) = position.checked_sub(PENDING_POSITION) {
                    *position = self
                        .field_positions
                        .get(slot as usize)
                        .copied()
                        .flatten()
                        .unwrap_or(0);
                }
                self.finish_expr(inner);
            }
            ExprKind::Index(array, indices) => {
                self.finish_expr(array);
                indices.iter_mut().for_each(|index| self.finish_index(index));
            }
            ExprKind::Range(a, b) | ExprKind::Binary(_, a, b) => {
                self.finish_exprs([&mut **a, &mut **b]);
            }
            ExprKind::Unary(_, inner) | ExprKind::Forget(inner) | ExprKind::Trace { body: inner, .. } => {
                self.finish_expr(inner);
            }
            ExprKind::Loop(it) => {
                self.finish_pattern(&mut it.pattern);
                self.finish_expr(&mut it.initial);
                match &mut it.form {
                    LoopForm::For {
                        index_type, bound, ..
                    } => {
                        *index_type = self.solver.resolve(index_type);
                        self.finish_expr(bound);
                    }
                    LoopForm::While(condition) => self.finish_expr(condition),
                }
                self.finish_expr(&mut it.body);
            }
            ExprKind::With {
                array,
                indices,
                value,
                ..
            } => {
                self.finish_expr(array);
                indices.iter_mut().for_each(|index| self.finish_index(index));
                self.finish_expr(value);
            }
            ExprKind::Assert { condition, body, .. } => {
                self.finish_expr(condition);
                self.finish_expr(body);
            }
            ExprKind::Coerce(inner, ty) => {
                self.finish_expr(inner);
                *ty = self.solver.resolve(ty);
            }
            ExprKind::Foreach(it) => {
                self.finish_pattern(&mut it.node);
                self.finish_expr(&mut it.datum);
                self.finish_expr(&mut it.body);
            }
        }
    }
}

fn contains_function(ty: &Type) -> bool {
    let mut found = false;
    walk_type(ty, &mut |part| found |= matches!(part, Type::Function(_)));
    found
}

/// The magnitudes of the least and the greatest value; none for types without limits to literals.
fn range_of(scalar: ScalarType) -> Option<(u128, u128)> {
    if !scalar.is_integer() {
        return None;
    }
    let bits = scalar.bits();
    Some(if scalar.is_signed_integer() {
        (1 << (bits - 1), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    })
}
