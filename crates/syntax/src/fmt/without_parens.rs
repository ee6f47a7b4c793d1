//! Trees without their parentheses and with chains of `let`s joined: what `print_expr` may change.

use crate::ast::*;

pub fn expr(tree: &mut Expr) {
    while let ExprKind::Paren(inner) = &mut tree.kind {
        let inner = std::mem::replace(&mut inner.kind, ExprKind::Error);
        tree.kind = inner;
    }
    match &mut tree.kind {
        ExprKind::Apply(function, arguments) => {
            expr(function);
            arguments.iter_mut().for_each(expr);
        }
        ExprKind::Lambda(params, body) => {
            params.iter_mut().for_each(|param| pattern(&mut param.pattern));
            expr(body);
        }
        ExprKind::Let(bindings, body) => {
            bindings.iter_mut().for_each(binding);
            expr(body);
            if let ExprKind::Let(more, rest) = &mut body.kind {
                bindings.append(more);
                let rest = std::mem::replace(&mut rest.kind, ExprKind::Error);
                body.kind = rest;
            }
        }
        ExprKind::If(a, b, c) => [a, b, c].into_iter().for_each(|part| expr(part)),
        ExprKind::Case(scrutinee, arms) => {
            expr(scrutinee);
            for arm in arms {
                pattern(&mut arm.pattern);
                arm.guard.iter_mut().for_each(expr);
                expr(&mut arm.body);
            }
        }
        ExprKind::Tuple(items) | ExprKind::Array(items) => items.iter_mut().for_each(expr),
        ExprKind::Record(fields) => fields.iter_mut().for_each(|(_, value)| expr(value)),
        ExprKind::Index(inner, indices) => {
            expr(inner);
            indices.iter_mut().for_each(index);
        }
        ExprKind::Range(a, b) | ExprKind::Binary(_, _, a, b) => {
            [a, b].into_iter().for_each(|part| expr(part))
        }
        ExprKind::Project(inner, _)
        | ExprKind::Field(inner, _)
        | ExprKind::Unary(_, inner)
        | ExprKind::LeftSection(_, inner)
        | ExprKind::RightSection(_, inner)
        | ExprKind::Trace { body: inner, .. }
        | ExprKind::Ascribe(inner, _)
        | ExprKind::Coerce(inner, _) => expr(inner),
        ExprKind::Loop(inner) => {
            pattern(&mut inner.pattern);
            inner.initial.iter_mut().for_each(expr);
            match &mut inner.form {
                LoopForm::For { bound, .. } => expr(bound),
                LoopForm::While(condition) => expr(condition),
            }
            expr(&mut inner.body);
        }
        ExprKind::With {
            array,
            indices,
            value,
            ..
        } => {
            expr(array);
            indices.iter_mut().for_each(index);
            expr(value);
        }
        ExprKind::Assert { condition, body, .. } => [condition, body].into_iter().for_each(|part| expr(part)),
        ExprKind::Foreach {
            node, datum, body, ..
        } => {
            pattern(node);
            expr(datum);
            expr(body);
        }
        _ => {}
    }
}

fn index(index: &mut IndexArg) {
    match index {
        IndexArg::At(index) => expr(index),
        IndexArg::Slice { begin, end, step, .. } => [begin, end, step].into_iter().flatten().for_each(expr),
    }
}

fn binding(binding: &mut Binding) {
    match binding {
        Binding::Value {
            pattern: bound,
            value,
            ..
        } => {
            pattern(bound);
            expr(value);
        }
        Binding::Functions(defs) => {
            for def in defs {
                def.params
                    .iter_mut()
                    .for_each(|param| pattern(&mut param.pattern));
                expr(&mut def.body);
            }
        }
    }
}

pub fn pattern(tree: &mut Pattern) {
    while let PatternKind::Paren(inner) = &mut tree.kind {
        let inner = std::mem::replace(&mut inner.kind, PatternKind::Error);
        tree.kind = inner;
    }
    match &mut tree.kind {
        PatternKind::Tuple(patterns)
        | PatternKind::Constructor(_, patterns)
        | PatternKind::NodeConstructor(_, patterns) => patterns.iter_mut().for_each(pattern),
        PatternKind::Record(fields) => fields.iter_mut().for_each(|(_, inner)| pattern(inner)),
        PatternKind::Ascribed(inner, _) => pattern(inner),
        _ => {}
    }
}
