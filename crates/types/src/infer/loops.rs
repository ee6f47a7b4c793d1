//! Loops. Each size in the state is at first a metavariable of its own; the body decides whether it stays what it was at
//! the start (the size is then known), or changes (it is then unknown, inside and after the loop).

use super::expr::boolean;
use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::names::Local;
use crate::sizes::var_size;
use crate::solver::{Flavour, Replaced, VarKind, map_type};
use crate::tree::{Constraint, Dim, Expr, ExprKind, Loop, LoopForm, Size, Type, Var};
use almach_base::{Name, Span};
use almach_syntax::ast;

/// A size of the loop's state: what it is at the start, and its name inside.
struct StateSize {
    initial: Size,
    inside: Var,
}

impl Checker<'_> {
    pub fn infer_loop(&mut self, it: &ast::Loop, span: Span) -> Expr {
        let outer = self.solver.level;
        let initial = match &it.initial {
            Some(initial) => match self.annotation_of(&it.pattern) {
                Some((ty, written)) => self.check_state(initial, &ty, written),
                None => self.infer(initial),
            },
            None => self.pattern_as_value(&it.pattern),
        };
        let initial = self.opened(initial, "the initial value");
        let mark = self.trail.len();
        self.solver.level = outer + 1;
        let (state, sizes) = self.state_type(&initial);
        let bound = match &it.form {
            ast::LoopForm::For { bound, .. } => {
                self.solver.level = outer;
                let bound = self.infer(bound);
                self.constrain(&bound.ty, Constraint::Integer, bound.span, Why::Operator("for"));
                Some(bound)
            }
            ast::LoopForm::While(_) => None,
        };
        self.solver.level = outer + 2;
        let pattern = self.bind_pattern_at(&it.pattern, &state, Why::LoopState(initial.span));
        let form = self.infer_form(&it.form, bound);
        let body = self.infer_state(&it.body, &state, initial.span);
        self.solve_pending();
        self.settle(&state, &body, &initial, &sizes);
        self.unbind_to(mark);
        self.solver.level = outer;
        let body = self.forget_to(body, &state);
        let after = self.after_loop(&state, &sizes, span);
        let initial = self.forget_to(initial, &state);
        let result = Expr {
            kind: ExprKind::Loop(Box::new(Loop {
                pattern,
                initial,
                form,
                body,
            })),
            ty: after,
            span,
        };
        self.opened(result, "the result of this loop")
    }

    fn check_state(&mut self, initial: &ast::Expr, ty: &Type, written: Span) -> Expr {
        self.check(initial, ty, Why::Annotation(written))
    }

    /// `loop (acc) for …`: the names already mean something.
    fn pattern_as_value(&mut self, pattern: &ast::Pattern) -> Expr {
        let span = pattern.span;
        match &pattern.kind {
            ast::PatternKind::Paren(inner) | ast::PatternKind::Ascribed(inner, _) => {
                self.pattern_as_value(inner)
            }
            ast::PatternKind::Var(name) => {
                let path = ast::Path {
                    qualifier: None,
                    name: ast::Ident {
                        name: name.clone(),
                        span,
                    },
                    span,
                };
                self.infer_name(&path, almach_prim::Annotation::NONE, span)
            }
            ast::PatternKind::Tuple(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|part| self.pattern_as_value(part)).collect();
                Expr {
                    ty: Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect()),
                    kind: ExprKind::Tuple(parts),
                    span,
                }
            }
            _ => {
                self.report(
                    almach_base::Diagnostic::error(
                        almach_base::codes::types::ANNOTATION_NEEDED,
                        span,
                        "the loop needs an initial value",
                    )
                    .label("only names can stand for their own value")
                    .help("write `loop (pattern = value) …`"),
                );
                self.error_expr(span)
            }
        }
    }

    /// The state's type with metavariables for its sizes.
    fn state_type(&mut self, initial: &Expr) -> (Type, Vec<StateSize>) {
        let resolved = self.solver.resolve(&initial.ty);
        let mut sizes: Vec<StateSize> = Vec::new();
        let state = map_type(
            &resolved,
            &mut |part| match part {
                // Their sizes stay what they are.
                Type::Function(_) | Type::Data(..) | Type::Node { .. } | Type::Vector(..) => {
                    Replaced::With(part.clone())
                }
                _ => Replaced::Descend,
            },
            &mut |dim, _| match dim {
                Dim::Size(size) => {
                    let inside = self.solver.fresh_var(
                        Name::from("_"),
                        initial.span,
                        VarKind::Open(Flavour::LoopState),
                    );
                    sizes.push(StateSize {
                        initial: size.clone(),
                        inside: inside.clone(),
                    });
                    Dim::Size(var_size(&inside))
                }
                Dim::Unknown => Dim::Unknown,
            },
        );
        (state, sizes)
    }

    fn infer_form(&mut self, form: &ast::LoopForm, bound: Option<Expr>) -> LoopForm {
        match (form, bound) {
            (ast::LoopForm::For { index, .. }, Some(bound)) => {
                let var = self.program_var(&index.name, index.span);
                self.bind_local(
                    index.name.clone(),
                    Local::Value {
                        var: var.clone(),
                        ty: bound.ty.clone(),
                    },
                );
                LoopForm::For {
                    index: var,
                    index_type: bound.ty.clone(),
                    bound,
                }
            }
            (ast::LoopForm::While(condition), _) => {
                LoopForm::While(self.check(condition, &boolean(), Why::Condition))
            }
            (ast::LoopForm::For { bound, .. }, None) => {
                let bound = self.infer(bound);
                LoopForm::While(bound)
            }
        }
    }

    /// The body, with the state's type as a hint for everything but sizes.
    fn infer_state(&mut self, body: &ast::Expr, state: &Type, initial: Span) -> Expr {
        if self.solver.open_head(state).is_some() {
            return self.infer(body);
        }
        let hint = self.fresh_state(state, body.span);
        let checked = self.check(body, &hint, Why::LoopState(initial));
        self.opened(checked, "the next state")
    }

    fn fresh_state(&mut self, state: &Type, span: Span) -> Type {
        let state = self.solver.resolve(state);
        map_type(
            &state,
            &mut |part| match part {
                Type::Function(_) | Type::Data(..) | Type::Node { .. } | Type::Vector(..) => {
                    Replaced::With(part.clone())
                }
                _ => Replaced::Descend,
            },
            &mut |dim, _| match dim {
                Dim::Size(_) => Dim::Size(self.solver.fresh_size(Flavour::Flexible, span)),
                Dim::Unknown => Dim::Unknown,
            },
        )
    }

    /// Decides which sizes the loop keeps.
    fn settle(&mut self, state: &Type, body: &Expr, initial: &Expr, sizes: &[StateSize]) {
        let cause = Cause {
            span: body.span,
            why: Why::LoopState(initial.span),
            found: Some(body.ty.clone()),
            expected: Some(state.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        let mut pairs = Vec::new();
        if let Err(mismatch) = self.pair_sizes(state, &body.ty, &mut pairs) {
            self.report_mismatch(&cause, &mismatch);
            return;
        }
        let mut kept: Vec<&StateSize> = sizes
            .iter()
            .filter(|size| self.solver.is_open_size(&size.inside))
            .collect();
        // The sizes that stay, if those do that are still assumed to.
        loop {
            let stays = |checker: &Self, size: &StateSize, kept: &[&StateSize]| {
                let at_start = |var: &Var| {
                    kept.iter()
                        .find(|other| other.inside == *var)
                        .map(|other| other.initial.clone())
                };
                pairs.iter().all(|(inside, next)| {
                    let inside = checker.solver.size(inside);
                    inside.as_var() != Some(&size.inside)
                        || checker
                            .solver
                            .size(next)
                            .substitute(at_start)
                            .eq(&checker.solver.size(&size.initial))
                })
            };
            let (still, gone): (Vec<&StateSize>, Vec<&StateSize>) =
                kept.iter().partition(|size| stays(self, size, &kept));
            kept = still;
            if gone.is_empty() {
                break;
            }
        }
        for size in &kept {
            self.solver
                .set_var_kind(&size.inside, VarKind::Solved(size.initial.clone()));
        }
        for size in sizes {
            if self.solver.is_open_size(&size.inside) {
                let unknown = VarKind::Unknown("a size that changes in this loop".to_string());
                self.solver.set_var_kind(&size.inside, unknown);
                self.rename_unknown(&size.inside);
            }
        }
        self.check_settled(&cause, sizes, &pairs, initial);
    }

    /// The state's type behind the loop. Sizes that changed have names of their own there, so that rows of one size stay
    /// rows of one size:
    ///
    /// ```text
    /// loop (x = xss) while c do map (\r -> concat r r) x       x: [n][k]t, k unknown; behind it [n][k']t, and not [n][?]t
    /// ```
    fn after_loop(&mut self, state: &Type, sizes: &[StateSize], span: Span) -> Type {
        let mut names: Vec<(Var, Size)> = Vec::new();
        for size in sizes {
            let is_known = self.solver.size(&var_size(&size.inside)).as_var() != Some(&size.inside);
            if is_known || names.iter().any(|(inside, _)| *inside == size.inside) {
                continue;
            }
            let after = self
                .solver
                .unknown_size(span, "the size of the result of this loop");
            names.push((size.inside.clone(), after));
        }
        let name_of = |var: &Var| {
            names
                .iter()
                .find(|(inside, _)| inside == var)
                .map(|(_, after)| after.clone())
        };
        let resolved = self.solver.resolve(state);
        let named = map_type(&resolved, &mut |_| Replaced::Descend, &mut |dim, _| match dim {
            Dim::Size(size) => Dim::Size(size.substitute(name_of)),
            Dim::Unknown => Dim::Unknown,
        });
        let outer = self.solver.level;
        self.solver.close(&named, outer, &[]).0
    }

    fn rename_unknown(&mut self, var: &Var) {
        let name = self.solver.unknown_name();
        if let Some(info) = self.solver.var_mut(var) {
            info.var.name = name;
        }
    }

    /// What the body demanded of the sizes must hold at the start and in the next round.
    fn check_settled(&mut self, cause: &Cause, sizes: &[StateSize], pairs: &[(Size, Size)], initial: &Expr) {
        for size in sizes {
            let inside = self.solver.size(&var_size(&size.inside));
            let unknown = inside.as_var() == Some(&size.inside);
            if unknown {
                continue;
            }
            let at_start = Cause {
                span: initial.span,
                why: Why::Text("because of how the loop's body uses it"),
                found: None,
                expected: None,
                bound: None,
            };
            self.solver.cause = at_start.clone();
            if self.solver.deeper_atom(&inside, self.solver.level - 2).is_some() {
                // Equal to a size that changes: fine only if both are the same at the start.
                if self.same_start(sizes, &inside, &size.initial) {
                    continue;
                }
            }
            if let Err(mismatch) = self.solver.equate(&size.initial, &inside) {
                self.report_mismatch(&at_start, &mismatch);
                return;
            }
        }
        for (inside, next) in pairs {
            let inside_size = self.solver.size(inside);
            let varies = sizes
                .iter()
                .any(|size| inside_size.as_var() == Some(&size.inside));
            let shared = pairs
                .iter()
                .filter(|(other, _)| self.solver.size(other) == inside_size)
                .count();
            if varies && shared < 2 {
                continue;
            }
            if varies {
                // Several arrays share a size that changes: their next sizes must agree.
                let others: Vec<Size> = pairs
                    .iter()
                    .filter(|(other, _)| self.solver.size(other) == inside_size)
                    .map(|(_, next)| next.clone())
                    .collect();
                if let Some(first) = others.first()
                    && let Err(mismatch) = self.solver.equate(next, first)
                {
                    self.report_mismatch(cause, &mismatch);
                    return;
                }
                continue;
            }
            if let Err(mismatch) = self.solver.equate(next, inside) {
                self.report_mismatch(cause, &mismatch);
                return;
            }
        }
    }

    fn same_start(&self, sizes: &[StateSize], inside: &Size, initial: &Size) -> bool {
        sizes.iter().any(|other| {
            inside.as_var() == Some(&other.inside) && self.solver.same_size(&other.initial, initial)
        })
    }

    /// Makes the state and the body's result equal up to sizes, and lists the sizes that stand at the same place.
    fn pair_sizes(
        &mut self,
        state: &Type,
        next: &Type,
        into: &mut Vec<(Size, Size)>,
    ) -> Result<(), crate::unify::Mismatch> {
        let (x, y) = (self.solver.head(state).clone(), self.solver.head(next).clone());
        match (&x, &y) {
            (Type::Array(d, s), Type::Array(e, t)) => {
                match (d, e) {
                    (Dim::Size(n), Dim::Size(m)) => into.push((n.clone(), m.clone())),
                    (Dim::Unknown, _) => {}
                    (Dim::Size(_), Dim::Unknown) => return Err(crate::unify::Mismatch::Jagged),
                }
                self.pair_sizes(s, t, into)
            }
            (Type::Tuple(xs), Type::Tuple(ys)) if xs.len() == ys.len() => xs
                .iter()
                .zip(ys)
                .try_for_each(|(x, y)| self.pair_sizes(x, y, into)),
            (Type::Record(xs), Type::Record(ys)) if xs.len() == ys.len() => {
                for (name, x) in xs {
                    let y = crate::unify::field(ys, name).ok_or(crate::unify::Mismatch::Types)?;
                    self.pair_sizes(x, y, into)?;
                }
                Ok(())
            }
            _ => self.solver.unify(&y, &x),
        }
    }
}
