//! Expressions.

use crate::conform::{Place, Sizes};
use crate::errors::{bug, untold_size};
use crate::join::Branch;
use crate::literal;
use crate::statics::{Closure, DefAt, Env, Function, Home, Scope, Static};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core as core;
use almach_core::{Atom, Exp, Type};
use almach_prim::{Annotation, Prim};
use almach_types::tree::{self, Def, Expr, ExprKind, Instance, Operator};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    pub(crate) fn expr(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Static<'a>> {
        // Chains of `let` are long; they are walked, not descended.
        let mut env = env.clone();
        let mut at = expr;
        loop {
            match &at.kind {
                ExprKind::Let(pattern, value, body) => {
                    let value = self.expr(value, &env)?;
                    if crate::matching::is_irrefutable_shape(pattern) {
                        self.bind_pattern(pattern, &value, &mut env)?;
                        at = body;
                    } else {
                        return self.match_one(pattern, &value, &env, |this, env| this.expr(body, env));
                    }
                }
                ExprKind::LetFunctions(defs, body) => {
                    let scope = Rc::new(Scope {
                        defs,
                        env: env.clone(),
                    });
                    for (var, _) in defs {
                        env.bind(var, Static::Scope(scope.clone()));
                    }
                    at = body;
                }
                ExprKind::Assert {
                    condition,
                    text,
                    body,
                } => {
                    let condition_value = self.expr(condition, &env)?;
                    let condition_value = self.atom(&condition_value, condition.span)?;
                    let check = Exp::Assert {
                        condition: condition_value,
                        text: text.clone(),
                    };
                    self.emit(check, "checked", condition.span)?;
                    at = body;
                }
                _ => return self.shaped(at, &env),
            }
        }
    }

    /// The value in the shape its type says: Core may have found a result regular that the type checker holds for
    /// jagged, or the other way round.
    fn shaped(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Static<'a>> {
        let value = self.simple(expr, env)?;
        let decides_shape = matches!(
            expr.kind,
            ExprKind::Apply(..)
                | ExprKind::If(..)
                | ExprKind::Case(..)
                | ExprKind::Loop(_)
                | ExprKind::Forget(_)
        );
        if !decides_shape || !may_have_rows(&expr.ty, Depth::Outermost) {
            return Ok(value);
        }
        let ty = self.close(&expr.ty, env, expr.span)?;
        self.conform(value, &ty, Sizes::WhereMissing, expr.span)
    }

    fn simple(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Static<'a>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Str(_) => {
                self.literal(expr, env)
            }
            ExprKind::Local(var) => match env.get(var) {
                Some(value) => Ok(value.clone()),
                None => Err(bug(span, format!("`{}` is not bound", var.name))),
            },
            ExprKind::Size(size) => match self.eval_size(size, env, span)? {
                Some(size) => Ok(Static::Size(size)),
                None => Err(untold_size(span)),
            },
            ExprKind::Global(..) | ExprKind::LocalFunction(..) | ExprKind::Foreign(..) => {
                self.reference(expr, env)
            }
            ExprKind::Prim { .. }
            | ExprKind::ScalarFunction(_)
            | ExprKind::Operator(_)
            | ExprKind::Constructor { .. } => self.builtin(expr, env),
            ExprKind::Apply(function, args) => {
                let function = self.expr(function, env)?;
                let args = self.exprs(args, env)?;
                self.apply(&function, args, span)
            }
            ExprKind::Lambda(params, body) => Ok(Static::function(Function::Lambda(Closure {
                params,
                body,
                env: env.clone(),
            }))),
            ExprKind::If(condition, then, otherwise) => self.if_expr(condition, then, otherwise, env, span),
            ExprKind::Case(scrutinee, arms) => {
                let value = self.expr(scrutinee, env)?;
                self.case_expr(expr, &value, arms, env)
            }
            ExprKind::Tuple(parts) => Ok(Static::Tuple(self.exprs(parts, env)?.into())),
            ExprKind::Record(fields) => self.record(&expr.ty, fields, env, span),
            ExprKind::Project(inner, at) => {
                let value = self.expr(inner, env)?;
                let at = self.field_position(&inner.ty, *at, span)?;
                self.component(&value, at, span)
            }
            ExprKind::Index(array, indices) => self.index_expr(array, indices, &expr.ty, env, span),
            ExprKind::Range(from, to) => self.range(from, to, env, span),
            ExprKind::Array(elements) => self.array_literal(&expr.ty, elements, env, span),
            ExprKind::Unary(op, inner) => self.unary(*op, inner, env, span),
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right, env, span),
            ExprKind::Loop(looped) => self.loop_expr(looped, env, span),
            ExprKind::With {
                array,
                indices,
                value,
                in_place,
            } => self.with_expr(array, indices, value, *in_place, env, span),
            ExprKind::Trace { label, body } => {
                let value = self.expr(body, env)?;
                let value = self.atom(&value, span)?;
                let label = label.clone();
                self.emit_value(Exp::Trace { label, value }, "traced", span)
            }
            ExprKind::Coerce(inner, ty) => {
                let value = self.expr(inner, env)?;
                let ty = self.close(ty, env, span)?;
                self.conform(value, &ty, Sizes::Checked, span)
            }
            ExprKind::Forget(inner) => self.expr(inner, env),
            ExprKind::Foreach(foreach) => self.foreach(foreach, env, span),
            ExprKind::Let(..) | ExprKind::LetFunctions(..) | ExprKind::Assert { .. } => self.expr(expr, env),
        }
    }

    pub(crate) fn exprs(&mut self, exprs: &'a [Expr], env: &Env<'a>) -> Res<Vec<Static<'a>>> {
        exprs.iter().map(|expr| self.expr(expr, env)).collect()
    }

    /// One atom.
    pub(crate) fn expr_atom(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Atom> {
        let value = self.expr(expr, env)?;
        self.atom(&value, expr.span)
    }

    fn literal(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Static<'a>> {
        let span = expr.span;
        let atom = match &expr.kind {
            ExprKind::Int(value) => {
                let ty = self.scalar_type(&expr.ty, env, span)?;
                let value = i128::try_from(*value).map_err(|_| bug(span, "a literal beyond 128 bits"))?;
                literal::integer(value, ty, span)?
            }
            ExprKind::Float(text) => {
                let ty = self.scalar_type(&expr.ty, env, span)?;
                literal::float(text, ty, span)?
            }
            ExprKind::Bool(value) => Atom::Const(Scalar::Bool(*value)),
            ExprKind::Str(bytes) => {
                let bytes = bytes.iter().map(|byte| Atom::Const(Scalar::U8(*byte)));
                let exp = Exp::Array(bytes.collect(), Type::Scalar(ScalarType::U8));
                return self.emit_value(exp, "text", span);
            }
            _ => return Err(bug(span, "not a literal")),
        };
        Ok(Static::Dynamic(atom))
    }

    /// A use of a definition, a local function or a foreign one.
    fn reference(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Static<'a>> {
        let span = expr.span;
        let program = self.program;
        match &expr.kind {
            ExprKind::Global(id, instance) => {
                let def = program.defs.get(id.0 as usize);
                let def = def.ok_or_else(|| bug(span, "an unknown definition"))?;
                self.def_at(def, Home::Top, instance, env, span)
            }
            ExprKind::LocalFunction(var, instance) => {
                let Some(Static::Scope(scope)) = env.get(var) else {
                    return Err(bug(span, format!("`{}` is not bound", var.name)));
                };
                let scope = scope.clone();
                let def = scope.defs.iter().find(|(name, _)| name == var);
                let (_, def) = def.ok_or_else(|| bug(span, "an unknown local function"))?;
                self.def_at(def, Home::Local(scope), instance, env, span)
            }
            ExprKind::Foreign(id, instance) => self.foreign_at(*id, instance, &expr.ty, env, span),
            _ => Err(bug(span, "not a reference")),
        }
    }

    fn def_at(
        &mut self,
        def: &'a Def,
        home: Home<'a>,
        instance: &Instance,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let types: Res<Rc<[SizedTy]>> = instance
            .types
            .iter()
            .map(|ty| self.close(ty, env, span))
            .collect();
        let sizes: Res<Rc<[Option<core::Size>]>> = instance
            .sizes
            .iter()
            .map(|size| self.eval_size(size, env, span))
            .collect();
        let at = DefAt {
            def,
            home,
            types: types?,
            sizes: sizes?,
        };
        match def.params.is_empty() {
            true => self.call_def(&at, Vec::new(), span),
            false => Ok(Static::function(Function::Def(at))),
        }
    }

    fn builtin(&mut self, expr: &'a Expr, env: &Env<'a>) -> Res<Static<'a>> {
        let span = expr.span;
        let ty = self.close(&expr.ty, env, span)?;
        Ok(Static::function(match &expr.kind {
            ExprKind::Prim {
                prim,
                annotation,
                arrays,
            } => Function::Prim {
                prim: *prim,
                annotation: *annotation,
                arrays: *arrays,
                ty,
            },
            ExprKind::ScalarFunction(function) => Function::Scalar(*function, ty),
            ExprKind::Operator(operator) => Function::Operator(*operator, ty),
            ExprKind::Constructor {
                data,
                constructor,
                form,
            } => {
                let def = self.program.data.get(data.0 as usize);
                let constructor_def = def.and_then(|def| def.constructors.get(*constructor as usize));
                let arity = constructor_def.map(|it| it.fields.len());
                let arity = arity.ok_or_else(|| bug(span, "an unknown constructor"))?;
                if arity == 0 {
                    return self.construct(*constructor, *form, &ty.ty, &[], span);
                }
                Function::Constructor {
                    constructor: *constructor,
                    form: *form,
                    arity,
                    ty,
                }
            }
            _ => return Err(bug(span, "not a built-in function")),
        }))
    }

    fn if_expr(
        &mut self,
        condition: &'a Expr,
        then: &'a Expr,
        otherwise: &'a Expr,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let condition = self.expr_atom(condition, env)?;
        self.branch_on(
            condition,
            span,
            |this| this.expr(then, env),
            |this| this.expr(otherwise, env),
        )
    }

    /// `if` with a joined result.
    pub(crate) fn branch_on(
        &mut self,
        condition: Atom,
        span: Span,
        then: impl FnOnce(&mut Self) -> Res<Static<'a>>,
        otherwise: impl FnOnce(&mut Self) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let since = self.moment();
        let then = Branch::of(self.in_body(then)?);
        let otherwise = Branch::of(self.in_body(otherwise)?);
        let make = |mut bodies: Vec<core::Body>, result| {
            let otherwise = bodies.pop()?;
            let then = bodies.pop()?;
            Some(Exp::If {
                condition,
                then,
                otherwise,
                result,
            })
        };
        self.joined(vec![then, otherwise], since, span, make)
    }

    fn record(
        &mut self,
        ty: &tree::Type,
        fields: &'a [(u32, Expr)],
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let mut values: Vec<Option<Static<'a>>> = vec![None; fields.len()];
        for (at, field) in fields {
            let value = self.expr(field, env)?;
            let position = self.field_position(ty, *at, span)?;
            if let Some(slot) = values.get_mut(position) {
                *slot = Some(value);
            }
        }
        let values: Option<Rc<[Static<'a>]>> = values.into_iter().collect();
        values
            .map(Static::Tuple)
            .ok_or_else(|| bug(span, "a record lacks a field"))
    }

    /// `a..<b`: `range` with step 1, at any integer type. Its size is `b - a` where that cannot be negative.
    fn range(&mut self, from: &'a Expr, to: &'a Expr, env: &Env<'a>, span: Span) -> Res<Static<'a>> {
        let element = self.scalar_type(&from.ty, env, span)?;
        let from = self.expr_atom(from, env)?;
        let to = self.expr_atom(to, env)?;
        let from = self.as_i64(from, element, span)?;
        let to = self.as_i64(to, element, span)?;
        let first = self.size_of(&Static::Dynamic(from.clone()), span)?;
        let size = self.size_of(&Static::Dynamic(to.clone()), span)? - &first;
        let is_known = self.builder.env.is_not_negative(&size);
        let mut array = match is_known && first.is_zero() {
            true => self.emit_op(Prim::Iota, Annotation::NONE, vec![to], span)?,
            false => {
                let args = vec![from, to, crate::emit::i64_atom(1)];
                let array = self.emit_op(Prim::Range, Annotation::NONE, args, span)?;
                match is_known {
                    true => self.coerce(array, &Type::array(size, Type::I64), span)?,
                    false => array,
                }
            }
        };
        if element != ScalarType::I64 {
            array = self.map_scalar(array, Type::I64, span, |this, x| {
                this.emit(Exp::Unary(UnOp::Convert(element), x), "i", span)
            })?;
        }
        Ok(Static::Dynamic(array))
    }

    pub(crate) fn as_i64(&mut self, atom: Atom, ty: ScalarType, span: Span) -> Res<Atom> {
        match (ty, &atom) {
            (ScalarType::I64, _) => Ok(atom),
            (_, Atom::Const(value)) if value.as_integer().is_some_and(|v| i64::try_from(v).is_ok()) => {
                let value = value.as_integer().and_then(|v| i64::try_from(v).ok());
                Ok(crate::emit::i64_atom(value.unwrap_or_default()))
            }
            _ => self.emit(Exp::Unary(UnOp::Convert(ScalarType::I64), atom), "i", span),
        }
    }

    fn unary(&mut self, op: UnOp, inner: &'a Expr, env: &Env<'a>, span: Span) -> Res<Static<'a>> {
        // The least integer has no positive counterpart: its literal only fits with the sign.
        if let (UnOp::Neg, ExprKind::Int(value)) = (op, &inner.kind) {
            let ty = self.scalar_type(&inner.ty, env, span)?;
            let value = i128::try_from(*value).map_err(|_| bug(span, "a literal beyond 128 bits"))?;
            if ty.is_signed_integer() || value > 0 && ty.is_float() {
                return literal::integer(-value, ty, span).map(Static::Dynamic);
            }
        }
        let value = self.expr_atom(inner, env)?;
        self.emit_value(Exp::Unary(op, value), "t", span)
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &'a Expr,
        right: &'a Expr,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let left_value = self.expr(left, env)?;
        match operator {
            Operator::LogicalAnd | Operator::LogicalOr => {
                let condition = self.atom(&left_value, left.span)?;
                self.logical(operator, condition, span, |this| this.expr(right, env))
            }
            Operator::Scalar(op) => {
                let right = self.expr(right, env)?;
                let ty = match is_comparison(op) {
                    true => self.close(&left.ty, env, span)?.ty,
                    false => Ty::unit(),
                };
                self.scalar_binary(op, &ty, left_value, right, span)
            }
            Operator::Concat => {
                let right = self.expr(right, env)?;
                self.concat(&left_value, &right, Annotation::NONE, span)
            }
        }
    }

    /// `&&` and `||`: the right side is evaluated only where it decides.
    fn logical(
        &mut self,
        operator: Operator,
        left: Atom,
        span: Span,
        right: impl FnOnce(&mut Self) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let since = self.moment();
        let (stmts, right) = self.in_body(right)?;
        let is_and = operator == Operator::LogicalAnd;
        if stmts.is_empty() {
            let right = self.atom(&right, span)?;
            let op = if is_and { BinOp::And } else { BinOp::Or };
            return self.emit_binary(op, left, right, span).map(Static::Dynamic);
        }
        let decided = Branch {
            stmts: Vec::new(),
            value: Static::Dynamic(Atom::Const(Scalar::Bool(!is_and))),
        };
        let open = Branch { stmts, value: right };
        let branches = if is_and {
            vec![open, decided]
        } else {
            vec![decided, open]
        };
        self.joined(branches, since, span, |mut bodies, result| {
            let otherwise = bodies.pop()?;
            let then = bodies.pop()?;
            Some(Exp::If {
                condition: left,
                then,
                otherwise,
                result,
            })
        })
    }

    /// A scalar operator on values, structural where it compares and the type is not scalar.
    pub(crate) fn scalar_binary(
        &mut self,
        op: BinOp,
        ty: &Ty,
        left: Static<'a>,
        right: Static<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        if is_comparison(op) && !matches!(ty, Ty::Scalar(_) | Ty::Reference) {
            return self.structural(op, &left, &right, span);
        }
        let left = self.atom(&left, span)?;
        let right = self.atom(&right, span)?;
        self.emit_binary(op, left, right, span).map(Static::Dynamic)
    }

    fn array_literal(
        &mut self,
        ty: &tree::Type,
        elements: &'a [Expr],
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let values = self.exprs(elements, env)?;
        let ty = self.close(ty, env, span)?;
        let element = ty
            .element()
            .ok_or_else(|| bug(span, "an array literal of no array"))?;
        let mut atoms = Vec::with_capacity(values.len());
        for value in values {
            let value = self.conform(value, &element, Sizes::WhereMissing, span)?;
            atoms.push(self.atom(&value, span)?);
        }
        let element_type = self.element_type(&atoms, &element, span)?;
        for atom in &mut atoms {
            let own = self.type_of(atom, span)?;
            let to = accepted(&own, &element_type);
            *atom = self.coerce(atom.clone(), &to, span)?;
        }
        self.emit_value(Exp::Array(atoms, element_type), "array", span)
    }

    /// The common type of array elements: regular rows take the size of the first.
    fn element_type(&mut self, atoms: &[Atom], element: &SizedTy, span: Span) -> Res<Type> {
        match atoms.first() {
            Some(first) => {
                let found = self.type_of(first, span)?;
                Ok(below_array(&found, &element.ty))
            }
            None => {
                let none = &mut |_: &mut Self| core::Dim::Size(core::Size::zero());
                self.core_type(element, Place::BelowArray, none, span)
            }
        }
    }
}

/// The type of a row with `?` where the closed type says so.
fn below_array(found: &Type, ty: &Ty) -> Type {
    use crate::ty::Extent;
    match (found, ty) {
        (Type::Array(dim, found), Ty::Array(extent, element)) => {
            let dim = match extent {
                Extent::Sized => dim.clone(),
                Extent::Unknown => core::Dim::Jagged,
            };
            Type::Array(dim, Box::new(below_array(found, element)))
        }
        (Type::Tuple(parts), _) => {
            let types = ty.components().unwrap_or_default();
            Type::Tuple(
                parts
                    .iter()
                    .zip(types)
                    .map(|(part, ty)| below_array(part, ty))
                    .collect(),
            )
        }
        _ => found.clone(),
    }
}

/// What an element must be coerced to: the common type, its outermost `?`s at the element's own size.
pub(crate) fn accepted(own: &Type, common: &Type) -> Type {
    match (own, common) {
        (Type::Array(core::Dim::Size(size), _), Type::Array(core::Dim::Jagged, element)) => {
            Type::array(size.clone(), (**element).clone())
        }
        (Type::Tuple(own), Type::Tuple(common)) => Type::Tuple(
            own.iter()
                .zip(common)
                .map(|(own, common)| accepted(own, common))
                .collect(),
        ),
        _ => common.clone(),
    }
}

pub(crate) fn is_comparison(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Outermost,
    BelowArray,
}

/// Whether a value of the type may hold rows, regular or jagged.
fn may_have_rows(ty: &tree::Type, depth: Depth) -> bool {
    match ty {
        tree::Type::Scalar(_)
        | tree::Type::Vector(..)
        | tree::Type::Data(..)
        | tree::Type::Node { .. }
        | tree::Type::Reference(_)
        | tree::Type::Function(_) => false,
        tree::Type::Var(_) => true,
        tree::Type::Tuple(parts) => parts.iter().any(|ty| may_have_rows(ty, depth)),
        tree::Type::Record(fields) => fields.iter().any(|(_, ty)| may_have_rows(ty, depth)),
        tree::Type::Array(_, element) => {
            depth == Depth::BelowArray || may_have_rows(element, Depth::BelowArray)
        }
    }
}
