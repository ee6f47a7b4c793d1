//! What a recursion must look like to be done level by level.
//!
//! What it calls itself with must be known before any of its calls has a result. So its body is, at the end of `case`s and `if`s whose results are its own,
//! straight statements, some of which are calls of itself.

use super::slots::Slot;
use crate::facts::callees;
use crate::recursions::{Reason, SideEffect, leads_to, no, side_effect};
use crate::trees::shape::Part;
use almach_core::visit::{Vars, Walk, walk_pattern};
use almach_core::{Atom, Body, Dim, Exp, FunId, Function, Param, Pattern, Program, Size, Stmt, Type, Var};
use std::collections::HashSet;

/// The places of a function's body where it calls itself, in order.
pub(super) struct Shape<'f> {
    pub(super) nodes: Vec<Node<'f>>,
}

/// A body of straight statements, some of which are calls.
pub(super) struct Node<'f> {
    pub(super) body: &'f Body,
    pub(super) calls: Vec<usize>,
    /// The statements that need a result of a call, and the calls.
    pub(super) late: HashSet<usize>,
    /// What these need of what is known before.
    pub(super) kept: Vec<Param>,
}

impl<'f> Shape<'f> {
    pub(super) fn of(program: &Program, id: FunId, function: &'f Function) -> Result<Shape<'f>, Reason> {
        match side_effect(program, id) {
            Some(SideEffect::Prints) => return no("it prints, which happens in order"),
            Some(SideEffect::Fixed) => return no("it holds an operation with a level or an effect"),
            None => {}
        }
        let called = callees(&function.body);
        if called
            .iter()
            .any(|other| *other != id && leads_to(program, *other, id))
        {
            return no("it calls itself through another function");
        }
        let given = |size: &Var| {
            let mut params = function.params.iter();
            params.any(|param| lone_size(&param.ty) == Some(size))
        };
        if function.params.is_empty() || !function.context.iter().all(given) {
            return no("no array has a size that it is given");
        }
        let mut scope = Scope::default();
        scope.sizes(&function.context);
        scope.known.extend(function.params.iter().cloned());
        let mut shape = Shape { nodes: Vec::new() };
        shape.read(id, &function.body, &mut scope)?;
        if shape.nodes.iter().all(|node| node.calls.len() < 2) {
            return no("it calls itself once in each case");
        }
        Ok(shape)
    }

    fn read(&mut self, id: FunId, body: &'f Body, scope: &mut Scope) -> Result<(), Reason> {
        match Part::of(id, body)? {
            Part::Straight(calls) if calls.is_empty() => Ok(()),
            Part::Straight(calls) => {
                let node = Node::of(body, calls, scope)?;
                self.nodes.push(node);
                Ok(())
            }
            Part::Choice(at, bodies) => {
                if !is_result(body, at) {
                    return no("it does something with what its cases give");
                }
                let outside = scope.known.len();
                body.stmts.iter().take(at).for_each(|stmt| scope.stmt(stmt));
                let inside = scope.known.len();
                let arms = body.stmts.get(at).map(arms).unwrap_or_default();
                for (branch, body) in bodies.into_iter().enumerate() {
                    if let Some((sizes, fields)) = arms.get(branch) {
                        scope.sizes(sizes);
                        scope.known.extend(fields.iter().cloned());
                    }
                    self.read(id, body, scope)?;
                    scope.known.truncate(inside);
                }
                scope.known.truncate(outside);
                Ok(())
            }
        }
    }
}

/// What the arms of a `case` bind.
fn arms(stmt: &Stmt) -> Vec<(&[Var], &[Param])> {
    match &stmt.exp {
        Exp::Case { arms, .. } => arms
            .iter()
            .map(|arm| (arm.context.as_slice(), arm.fields.as_slice()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a body gives what its statement of that number gives, which is the last.
fn is_result(body: &Body, at: usize) -> bool {
    let Some(stmt) = body.stmts.get(at) else {
        return false;
    };
    let same = |atom: &Atom, param: &Param| matches!(atom, Atom::Var(var) if *var == param.var);
    let values = &stmt.pattern.values;
    at + 1 == body.stmts.len()
        && body.values.len() == values.len()
        && body
            .values
            .iter()
            .zip(values)
            .all(|(atom, param)| same(atom, param))
}

impl<'f> Node<'f> {
    fn of(body: &'f Body, calls: Vec<usize>, scope: &mut Scope) -> Result<Node<'f>, Reason> {
        let outside = scope.known.len();
        let (mut late, mut waiting) = (HashSet::new(), HashSet::new());
        let mut needed = Vars::default();
        for (at, stmt) in body.stmts.iter().enumerate() {
            let waits = Vars::of_exp(&stmt.exp)
                .used
                .iter()
                .any(|var| waiting.contains(var));
            let is_call = calls.contains(&at);
            if is_call && waits {
                return no("what it calls itself with depends on what another call gave");
            }
            match (is_call, waits) {
                (false, false) => scope.stmt(stmt),
                (true, _) => walk_pattern(&mut needed, &stmt.pattern),
                (false, true) => needed.stmt(stmt),
            }
            if is_call || waits {
                late.insert(at);
                waiting.extend(bound(&stmt.pattern).cloned());
            }
        }
        body.values
            .iter()
            .chain(&body.context)
            .for_each(|atom| needed.atom(atom));
        let kept = scope.kept(&needed)?;
        scope.known.truncate(outside);
        Ok(Node {
            body,
            calls,
            late,
            kept,
        })
    }
}

fn bound(pattern: &Pattern) -> impl Iterator<Item = &Var> {
    let values = pattern.values.iter().map(|value| &value.var);
    values.chain(&pattern.context)
}

/// The variable that an array's size is.
pub(super) fn lone_size(ty: &Type) -> Option<&Var> {
    match ty {
        Type::Array(Dim::Size(size), _) => size.as_var(),
        _ => None,
    }
}

/// What is known before the calls, in the order it was bound.
#[derive(Default)]
struct Scope {
    known: Vec<Param>,
}

impl Scope {
    fn sizes(&mut self, sizes: &[Var]) {
        self.known.extend(sizes.iter().map(|var| Param {
            var: var.clone(),
            ty: Type::I64,
        }));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.sizes(&stmt.pattern.context);
        self.known.extend(stmt.pattern.values.iter().cloned());
    }

    /// What has to be kept, with the sizes that say how long arrays are. A size that is an array's own need not be kept.
    fn kept(&self, needed: &Vars) -> Result<Vec<Param>, Reason> {
        let mut wanted: HashSet<&Var> = needed.free().collect();
        for param in self.known.iter().filter(|param| needed.used.contains(&param.var)) {
            if let Type::Array(Dim::Size(size), _) = &param.ty {
                wanted.extend(size_vars(size));
            }
        }
        let arrays = self.known.iter().filter(|param| wanted.contains(&param.var));
        let own: HashSet<&Var> = arrays.filter_map(|param| lone_size(&param.ty)).collect();
        let kept = self
            .known
            .iter()
            .filter(|param| wanted.contains(&param.var) && !own.contains(&param.var));
        let kept: Vec<Param> = kept.cloned().collect();
        kept.iter()
            .try_for_each(|param| Slot::of(&param.ty).map(|_| ()))?;
        Ok(kept)
    }
}

fn size_vars(size: &Size) -> impl Iterator<Item = &Var> {
    size.occurrences()
}
