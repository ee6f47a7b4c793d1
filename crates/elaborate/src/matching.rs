//! Binding patterns, and `case`: emitting the decision trees of [`crate::decide`].

use crate::conform::Sizes;
use crate::decide::{self, Access, Head, Occurrence, Row, Tree};
use crate::errors::{bug, ill_typed};
use crate::join::Branch;
use crate::literal;
use crate::statics::{Closure, Env, Static};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::{Atom, Exp, Param, Type};
use almach_types::tree::{self, Arm, Expr, Pattern, PatternKind, Var};
use almach_value::BinOp;
use std::rc::Rc;

/// Whether matching needs no test and no `case`.
pub(crate) fn is_irrefutable_shape(pattern: &Pattern) -> bool {
    match &pattern.kind {
        PatternKind::Wildcard | PatternKind::Var(_) => true,
        PatternKind::Int(_) | PatternKind::Float(_) | PatternKind::Bool(_) => false,
        PatternKind::Tuple(parts) => parts.iter().all(is_irrefutable_shape),
        PatternKind::Record(fields) => fields.iter().all(|(_, field)| is_irrefutable_shape(field)),
        PatternKind::Constructor { .. } => false,
    }
}

/// What to call a parameter with this pattern.
pub(crate) fn name_of(pattern: &Pattern) -> Name {
    match &pattern.kind {
        PatternKind::Var(var) => var.name.clone(),
        PatternKind::Wildcard => "unused".into(),
        _ => "p".into(),
    }
}

/// The variables a pattern binds.
fn variables<'a>(pattern: &'a Pattern, into: &mut Vec<&'a Var>) {
    match &pattern.kind {
        PatternKind::Wildcard | PatternKind::Int(_) | PatternKind::Float(_) | PatternKind::Bool(_) => {}
        PatternKind::Var(var) => into.push(var),
        PatternKind::Tuple(parts) | PatternKind::Constructor { fields: parts, .. } => {
            parts.iter().for_each(|part| variables(part, into));
        }
        PatternKind::Record(fields) => fields.iter().for_each(|(_, field)| variables(field, into)),
    }
}

/// A match under way: the arms, and the parts of the value that have been taken out.
struct Match<'m, 'a> {
    /// The `case` itself; absent for patterns that bind.
    case: Option<&'a Expr>,
    rows: &'m [Row<'a>],
    occurrences: &'m decide::Occurrences<'a>,
    /// How many leaves go to each row.
    uses: &'m [usize],
    root: Static<'a>,
    span: Span,
}

impl<'a> Elaborator<'a> {
    /// Binds the variables of a pattern that always matches.
    pub(crate) fn bind_pattern(
        &mut self,
        pattern: &'a Pattern,
        value: &Static<'a>,
        env: &mut Env<'a>,
    ) -> Res<()> {
        self.learn(&pattern.ty, value, env, pattern.span)?;
        if is_irrefutable_shape(pattern) {
            return self.bind_shape(pattern, value, env);
        }
        let mut names = Vec::new();
        variables(pattern, &mut names);
        let values = self.match_one(pattern, value, env, |this, env| {
            let values: Option<Rc<[Static<'a>]>> = names.iter().map(|var| env.get(var).cloned()).collect();
            let values = values.ok_or_else(|| bug(pattern.span, "a pattern left a variable unbound"))?;
            let _ = this;
            Ok(Static::Tuple(values))
        })?;
        let values = self.components(&values, pattern.span)?;
        for (var, value) in names.into_iter().zip(values.iter()) {
            env.bind(var, value.clone());
        }
        Ok(())
    }

    fn bind_shape(&mut self, pattern: &'a Pattern, value: &Static<'a>, env: &mut Env<'a>) -> Res<()> {
        match &pattern.kind {
            PatternKind::Wildcard => Ok(()),
            PatternKind::Var(var) => {
                self.bind_var(var, value, env);
                Ok(())
            }
            PatternKind::Tuple(parts) => {
                let values = self.components(value, pattern.span)?;
                let mut pairs = parts.iter().zip(values.iter());
                pairs.try_for_each(|(part, value)| self.bind_shape(part, value, env))
            }
            PatternKind::Record(fields) => {
                for (at, field) in fields {
                    let at = self.field_position(&pattern.ty, *at, pattern.span)?;
                    let value = self.component(value, at, field.span)?;
                    self.bind_shape(field, &value, env)?;
                }
                Ok(())
            }
            PatternKind::Int(_)
            | PatternKind::Float(_)
            | PatternKind::Bool(_)
            | PatternKind::Constructor { .. } => Err(bug(pattern.span, "a pattern that may fail")),
        }
    }

    /// Binds a variable. What the user called a value is what Core calls it.
    pub(crate) fn bind_var(&mut self, var: &Var, value: &Static<'a>, env: &mut Env<'a>) {
        if let Static::Dynamic(Atom::Var(core_var)) = value {
            self.names.entry(core_var.id).or_insert_with(|| var.name.clone());
        }
        env.bind(var, value.clone());
    }

    /// Binds those variables of a pattern whose values are numbers: types may mention them as sizes.
    pub(crate) fn bind_numbers(&self, pattern: &Pattern, value: &Static<'a>, env: &mut Env<'a>) {
        match (&pattern.kind, value) {
            (PatternKind::Var(var), Static::Dynamic(_)) => env.bind(var, value.clone()),
            (PatternKind::Tuple(parts), Static::Tuple(values)) => {
                for (part, value) in parts.iter().zip(values.iter()) {
                    self.bind_numbers(part, value, env);
                }
            }
            _ => {}
        }
    }

    /// A pattern that always matches, around what `inside` makes of its variables.
    pub(crate) fn match_one(
        &mut self,
        pattern: &'a Pattern,
        value: &Static<'a>,
        env: &Env<'a>,
        inside: impl FnMut(&mut Self, &Env<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let mut inside = inside;
        let rows = vec![Row::new(0, pattern, None)];
        let mut occurrences = decide::Occurrences::new();
        let tree = decide::decide(&rows, &mut occurrences, &self.decide_context())
            .ok_or_else(|| bug(pattern.span, "a pattern too large to decide"))?;
        let matched = Match {
            case: None,
            rows: &rows,
            occurrences: &occurrences,
            uses: &[1],
            root: value.clone(),
            span: pattern.span,
        };
        let mut values = vec![None; occurrences.len()];
        self.emit_tree(&tree, &matched, &mut values, env, &mut |this, _, env| {
            inside(this, env)
        })
    }

    pub(crate) fn case_expr(
        &mut self,
        case: &'a Expr,
        value: &Static<'a>,
        arms: &'a [Arm],
        env: &Env<'a>,
    ) -> Res<Static<'a>> {
        self.case_from(case, value, arms, 0, env)
    }

    /// The arms from a number on. Where the tree of all of them would be too large, they are tried one by one, each
    /// failing into a function for the rest.
    fn case_from(
        &mut self,
        case: &'a Expr,
        value: &Static<'a>,
        arms: &'a [Arm],
        from: usize,
        env: &Env<'a>,
    ) -> Res<Static<'a>> {
        let left = arms.get(from..).unwrap_or_default();
        let row = |(at, arm): (usize, &'a Arm)| Row::new(from + at, &arm.pattern, arm.guard.as_ref());
        let rows: Vec<Row<'a>> = left.iter().enumerate().map(row).collect();
        let mut occurrences = decide::Occurrences::new();
        let (rows, tree) = match decide::decide(&rows, &mut occurrences, &self.decide_context()) {
            Some(tree) => (rows, tree),
            None => {
                occurrences = decide::Occurrences::new();
                let rows = rows.into_iter().take(1).collect::<Vec<_>>();
                let tree = decide::decide_alone(&rows, &mut occurrences, &self.decide_context(), from + 1);
                (rows, tree)
            }
        };
        let mut uses = vec![0; arms.len()];
        tree.count_uses(&mut uses);
        let matched = Match {
            case: Some(case),
            rows: &rows,
            occurrences: &occurrences,
            uses: &uses,
            root: value.clone(),
            span: case.span,
        };
        let mut values = vec![None; occurrences.len()];
        self.emit_tree(&tree, &matched, &mut values, env, &mut |this, arm, env| {
            let arm_def = arms.get(arm).ok_or_else(|| bug(case.span, "an unknown arm"))?;
            match matched.uses.get(arm) {
                Some(2..) => {
                    let closure = Closure {
                        params: &[],
                        body: &arm_def.body,
                        env: env.clone(),
                    };
                    this.call_closure(&closure, Vec::new(), arm_def.body.span)
                }
                _ => this.expr(&arm_def.body, env),
            }
        })
    }

    fn decide_context(&self) -> decide::Context<'a> {
        decide::Context {
            data: &self.program.data,
        }
    }

    /// Emits a tree. `leaf` makes the value for an arm from the environment with its variables.
    fn emit_tree(
        &mut self,
        tree: &Tree<'a>,
        matched: &Match<'_, 'a>,
        values: &mut Vec<Option<Static<'a>>>,
        env: &Env<'a>,
        leaf: &mut dyn FnMut(&mut Self, usize, &Env<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        match tree {
            Tree::Leaf { row, bindings } => {
                let env = self.bind_row(bindings, matched, values, env)?;
                leaf(self, *row, &env)
            }
            Tree::Guard {
                row,
                bindings,
                otherwise,
            } => {
                let bound = self.bind_row(bindings, matched, values, env)?;
                let guard = matched
                    .rows
                    .iter()
                    .find(|it| it.arm == *row)
                    .and_then(|it| it.guard);
                let guard = guard.ok_or_else(|| bug(matched.span, "a guard without a condition"))?;
                let condition = self.expr_atom(guard, &bound)?;
                let since = self.moment();
                let then = Branch::of(self.in_body(|this| leaf(this, *row, &bound))?);
                let mut inner = values.clone();
                let failed =
                    self.in_body(|this| this.emit_tree(otherwise, matched, &mut inner, env, leaf))?;
                let make = if_of(condition);
                self.joined(vec![then, Branch::of(failed)], since, matched.span, make)
            }
            Tree::Literals { at, cases, default } => {
                self.emit_literals(*at, cases, default, matched, values, env, leaf)
            }
            Tree::Constructors { .. } => self.emit_constructors(tree, matched, values, env, leaf),
            Tree::Rest(from) => {
                let Some(case) = matched.case else {
                    return Err(bug(matched.span, "a pattern that may fail"));
                };
                let tree::ExprKind::Case(_, arms) = &case.kind else {
                    return Err(bug(matched.span, "no `case`"));
                };
                let from = *from;
                self.call_rest(case, from, &matched.root, env, |this, env, value| {
                    this.case_from(case, &value, arms, from, &env)
                })
            }
            Tree::Impossible => Err(bug(matched.span, "no pattern matches")),
        }
    }

    /// The part of the value that an occurrence is.
    fn occurrence(
        &mut self,
        at: Occurrence,
        matched: &Match<'_, 'a>,
        values: &mut Vec<Option<Static<'a>>>,
    ) -> Res<Static<'a>> {
        if let Some(Some(known)) = values.get(at.0) {
            return Ok(known.clone());
        }
        let value = match matched.occurrences.access(at) {
            Some(Access::Root) => matched.root.clone(),
            Some(Access::Component(parent, position, ty)) => {
                let (parent, position, ty) = (*parent, *position, *ty);
                let parent = self.occurrence(parent, matched, values)?;
                let position = self.field_position(ty, position, matched.span)?;
                self.component(&parent, position, matched.span)?
            }
            // Fields are bound by the arm of the `case` that tests the constructor.
            Some(Access::Field) | None => return Err(bug(matched.span, "a field before its constructor")),
        };
        if let Some(slot) = values.get_mut(at.0) {
            *slot = Some(value.clone());
        }
        Ok(value)
    }

    fn bind_row(
        &mut self,
        bindings: &[(&'a Pattern, &'a Var, Occurrence)],
        matched: &Match<'_, 'a>,
        values: &mut Vec<Option<Static<'a>>>,
        env: &Env<'a>,
    ) -> Res<Env<'a>> {
        let mut env = env.clone();
        for (pattern, var, at) in bindings {
            let value = self.occurrence(*at, matched, values)?;
            self.learn(&pattern.ty, &value, &mut env, pattern.span)?;
            self.bind_var(var, &value, &mut env);
        }
        Ok(env)
    }

    #[expect(clippy::too_many_arguments, reason = "one kind of tree, taken apart")]
    fn emit_literals(
        &mut self,
        at: Occurrence,
        cases: &[(Head, Tree<'a>)],
        default: &Tree<'a>,
        matched: &Match<'_, 'a>,
        values: &mut Vec<Option<Static<'a>>>,
        env: &Env<'a>,
        leaf: &mut dyn FnMut(&mut Self, usize, &Env<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let Some(((head, tree), others)) = cases.split_first() else {
            return self.emit_tree(default, matched, values, env, leaf);
        };
        let span = matched.span;
        let value = self.occurrence(at, matched, values)?;
        let value = self.atom(&value, span)?;
        let condition = self.test_literal(head, value, span)?;
        let since = self.moment();
        let mut inner = values.clone();
        let then = self.in_body(|this| this.emit_tree(tree, matched, &mut inner, env, leaf))?;
        let mut inner = values.clone();
        let otherwise = match (head, others, default) {
            (Head::Bool(_), [(Head::Bool(_), tree)], _) => {
                self.in_body(|this| this.emit_tree(tree, matched, &mut inner, env, leaf))?
            }
            _ => {
                self.in_body(|this| this.emit_literals(at, others, default, matched, &mut inner, env, leaf))?
            }
        };
        let branches = vec![Branch::of(then), Branch::of(otherwise)];
        self.joined(branches, since, span, if_of(condition))
    }

    fn test_literal(&mut self, head: &Head, value: Atom, span: Span) -> Res<Atom> {
        let scalar = match self.type_of(&value, span)? {
            Type::Scalar(ty) => ty,
            other => return Err(bug(span, format!("a literal pattern at {other:?}"))),
        };
        let literal = match head {
            Head::Bool(true) => return Ok(value),
            Head::Bool(false) => return self.emit(Exp::Unary(almach_value::UnOp::Not, value), "t", span),
            Head::Int(literal) => literal::integer(*literal, scalar, span)?,
            Head::Float(text) => literal::float(text, scalar, span)?,
            Head::Constructor(..) => return Err(bug(span, "a constructor among literals")),
        };
        self.emit_binary(BinOp::Eq, value, literal, span)
    }

    fn emit_constructors(
        &mut self,
        tree: &Tree<'a>,
        matched: &Match<'_, 'a>,
        values: &mut Vec<Option<Static<'a>>>,
        env: &Env<'a>,
        leaf: &mut dyn FnMut(&mut Self, usize, &Env<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let Tree::Constructors { at, cases, default } = tree else {
            return Err(bug(matched.span, "no constructors"));
        };
        let span = matched.span;
        let value = self.occurrence(*at, matched, values)?;
        let scrutinee = self.atom(&value, span)?;
        let since = self.moment();
        let mut heads = Vec::with_capacity(cases.len());
        let mut branches = Vec::with_capacity(cases.len() + 1);
        for case in cases {
            let mut inner = values.clone();
            let mut head = (Vec::new(), Vec::new());
            let body = self.in_body(|this| {
                head = this.open_fields(&scrutinee, case, &mut inner, env, span)?;
                this.emit_tree(&case.tree, matched, &mut inner, env, leaf)
            })?;
            heads.push((case.constructor, head));
            branches.push(Branch::of(body));
        }
        if let Some(default) = default {
            let mut inner = values.clone();
            let body = self.in_body(|this| this.emit_tree(default, matched, &mut inner, env, leaf))?;
            branches.push(Branch::of(body));
        }
        let has_default = default.is_some();
        self.joined(branches, since, span, |mut bodies, result| {
            let default = if has_default { Some(bodies.pop()?) } else { None };
            let arms = heads.into_iter().zip(bodies);
            let arms = arms.map(|((constructor, (context, fields)), body)| core::Arm {
                constructor,
                context,
                fields,
                body,
            });
            Some(Exp::Case {
                scrutinee,
                arms: arms.collect(),
                default,
                result,
            })
        })
    }

    /// The context and fields of an arm, and the fields' values in the shape their types say.
    fn open_fields(
        &mut self,
        scrutinee: &Atom,
        case: &decide::ConstructorCase<'a>,
        values: &mut [Option<Static<'a>>],
        env: &Env<'a>,
        span: Span,
    ) -> Res<(Vec<core::Var>, Vec<Param>)> {
        let types = match self.type_of(scrutinee, span)? {
            Type::Data(data) => self
                .builder
                .signatures
                .constructor(data, case.constructor)
                .map(|it| it.fields.clone()),
            Type::Node(data) => self.builder.signatures.node_fields(data, case.constructor),
            other => return Err(bug(span, format!("a `case` on {other:?}"))),
        };
        let types = types.map_err(|error| ill_typed(span, &error))?;
        let mut context = Vec::new();
        let mut fields = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            let builder = &mut self.builder;
            let opened = ty.open(&mut || {
                let var = builder.size_var("n");
                context.push(var.clone());
                var
            });
            let param = self.builder.param("field", opened);
            let mut value = Static::var(param.var.clone());
            fields.push(param);
            let Some((occurrence, pattern)) = case.fields.get(at) else {
                continue;
            };
            if let Some(pattern) = pattern {
                let wanted = self.close(&pattern.ty, env, pattern.span)?;
                value = self.conform(value, &wanted, Sizes::WhereMissing, pattern.span)?;
            }
            if let Some(slot) = values.get_mut(occurrence.0) {
                *slot = Some(value);
            }
        }
        Ok((context, fields))
    }
}

/// An `if` from its two bodies.
fn if_of(condition: Atom) -> impl FnOnce(Vec<core::Body>, core::ResultType) -> Option<Exp> {
    move |mut bodies, result| {
        let otherwise = bodies.pop()?;
        let then = bodies.pop()?;
        Some(Exp::If {
            condition,
            then,
            otherwise,
            result,
        })
    }
}
