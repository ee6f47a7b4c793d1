//! The patterns of a definition whose types are final: those of `case` must cover every value, all others match every one.

use crate::checker::Checker;
use crate::exhaustive;
use crate::tree::{Arm, Def, Expr, ExprKind, IndexArg, LoopForm, Pattern};
use almach_base::codes::patterns as codes;
use almach_base::{Diagnostic, Span};

impl Checker<'_> {
    /// Checks all patterns of a definition.
    pub fn check_def_patterns(&mut self, def: &Def) {
        for pattern in &def.params {
            self.check_irrefutable(pattern, "a parameter");
        }
        self.check_patterns(&def.body);
    }

    fn check_patterns(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::Size(_)
            | ExprKind::Global(..)
            | ExprKind::LocalFunction(..)
            | ExprKind::Foreign(..)
            | ExprKind::Prim { .. }
            | ExprKind::ScalarFunction(_)
            | ExprKind::Operator(_)
            | ExprKind::Constructor { .. } => {}
            ExprKind::Apply(head, args) => {
                self.check_patterns(head);
                args.iter().for_each(|arg| self.check_patterns(arg));
            }
            ExprKind::Lambda(params, body) => {
                for pattern in params {
                    self.check_irrefutable(pattern, "a parameter");
                }
                self.check_patterns(body);
            }
            ExprKind::Let(pattern, value, body) => {
                self.check_irrefutable(pattern, "`let`");
                self.check_patterns(value);
                self.check_patterns(body);
            }
            ExprKind::LetFunctions(functions, body) => {
                functions.iter().for_each(|(_, def)| self.check_def_patterns(def));
                self.check_patterns(body);
            }
            ExprKind::If(a, b, c) => [a, b, c].into_iter().for_each(|e| self.check_patterns(e)),
            ExprKind::Case(scrutinee, arms) => {
                self.check_patterns(scrutinee);
                self.check_arms(arms, scrutinee.span);
                for arm in arms {
                    arm.guard.iter().for_each(|guard| self.check_patterns(guard));
                    self.check_patterns(&arm.body);
                }
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                parts.iter().for_each(|part| self.check_patterns(part));
            }
            ExprKind::Record(fields) => fields.iter().for_each(|(_, value)| self.check_patterns(value)),
            ExprKind::Index(array, indices) => {
                self.check_patterns(array);
                self.check_index_patterns(indices);
            }
            ExprKind::Range(a, b) | ExprKind::Binary(_, a, b) => {
                self.check_patterns(a);
                self.check_patterns(b);
            }
            ExprKind::Project(inner, _)
            | ExprKind::Unary(_, inner)
            | ExprKind::Forget(inner)
            | ExprKind::Coerce(inner, _)
            | ExprKind::Trace { body: inner, .. } => self.check_patterns(inner),
            ExprKind::Loop(it) => {
                self.check_irrefutable(&it.pattern, "a loop");
                self.check_patterns(&it.initial);
                match &it.form {
                    LoopForm::For { bound, .. } => self.check_patterns(bound),
                    LoopForm::While(condition) => self.check_patterns(condition),
                }
                self.check_patterns(&it.body);
            }
            ExprKind::With {
                array,
                indices,
                value,
                ..
            } => {
                self.check_patterns(array);
                self.check_index_patterns(indices);
                self.check_patterns(value);
            }
            ExprKind::Assert { condition, body, .. } => {
                self.check_patterns(condition);
                self.check_patterns(body);
            }
            ExprKind::Foreach(it) => {
                self.check_irrefutable(&it.node, "`foreach`");
                self.check_patterns(&it.datum);
                self.check_patterns(&it.body);
            }
        }
    }

    fn check_index_patterns(&mut self, indices: &[IndexArg]) {
        for index in indices {
            match index {
                IndexArg::At(at) => self.check_patterns(at),
                IndexArg::Slice { begin, end, step, .. } => [begin, end, step]
                    .into_iter()
                    .flatten()
                    .for_each(|part| self.check_patterns(part)),
            }
        }
    }

    fn check_irrefutable(&mut self, pattern: &Pattern, place: &str) {
        let missing = exhaustive::check_irrefutable(pattern, &self.data);
        if let Some(shown) = missing.first() {
            self.report(
                Diagnostic::error(
                    codes::REFUTABLE,
                    pattern.span,
                    format!("the pattern of {place} must match every value, but not `{shown}`"),
                )
                .label(format!("does not match `{shown}`"))
                .help("use `case` and say what happens otherwise"),
            );
        }
    }

    fn check_arms(&mut self, arms: &[Arm], span: Span) {
        let findings = exhaustive::check_arms(arms, &self.data);
        for arm in findings.redundant.iter().filter_map(|at| arms.get(*at)) {
            self.report(
                Diagnostic::warning(codes::REDUNDANT, arm.pattern.span, "this case is never reached")
                    .label("the cases before it match everything it matches")
                    .help("remove it, or move it up"),
            );
        }
        let Some(first) = findings.missing.first() else {
            return;
        };
        let shown: Vec<String> = findings
            .missing
            .iter()
            .map(|value| format!("`{value}`"))
            .collect();
        let diagnostic = Diagnostic::error(
            codes::NON_EXHAUSTIVE,
            span,
            format!("`case` does not say what happens for {}", shown.join(", ")),
        )
        .label(format!("may be `{first}`"))
        .help(format!("add `| {first} -> …`, or `| _ -> …` for everything else"));
        let guarded = arms.iter().any(|arm| arm.guard.is_some());
        self.report(if guarded {
            diagnostic.note("a case with `if` counts as one that may not match")
        } else {
            diagnostic
        });
    }
}
