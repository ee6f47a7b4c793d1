//! What a recursion over a tree must look like to be cut into subtrees.
//!
//! What it calls itself with must be known before any of its calls has a result: then calls can be opened from the root down, and results be computed from the
//! last up. So its body is, at the end of `case`s and `if`s that do not depend on a result, straight statements, some of which are calls of itself
//! (a [`Part::Straight`]); what is behind these may do as it likes.

use crate::facts::{callees, callees_of_exp};
use crate::recursions::{Reason, SideEffect, kind_of, leads_to, no, side_effect};
use almach_core::visit::Vars;
use almach_core::{Atom, Body, Exp, FunId, Function, Program, Type, Var};
use std::collections::HashSet;

pub(super) struct Shape {
    /// The parameters that a call gets something else for; the datum is one.
    pub(super) changing: Vec<usize>,
    /// How many calls one call makes at most.
    pub(super) widest: usize,
    /// Whether something but the datum is handed down.
    hands_down: bool,
    gives: Gives,
}

#[derive(Clone, Copy)]
enum Gives {
    Values,
    Data,
}

/// A body by what of it calls the function.
pub(crate) enum Part<'b> {
    /// These statements are calls; there are no others inside.
    Straight(Vec<usize>),
    /// This statement is a `case` or an `if`, and all calls are in these bodies of it.
    Choice(usize, Vec<&'b Body>),
}

impl<'b> Part<'b> {
    pub(crate) fn of(id: FunId, body: &'b Body) -> Result<Part<'b>, Reason> {
        let (mut calls, mut others) = (Vec::new(), Vec::new());
        for (at, stmt) in body.stmts.iter().enumerate() {
            match &stmt.exp {
                Exp::Call { function, .. } if *function == id => calls.push(at),
                exp if callees_of_exp(exp).contains(&id) => others.push((at, exp)),
                _ => {}
            }
        }
        match (calls.is_empty(), others.as_slice()) {
            (_, []) => Ok(Part::Straight(calls)),
            (true, [(at, exp)]) => match bodies(exp) {
                Some(bodies) => Ok(Part::Choice(*at, bodies)),
                None => no("it calls itself in a loop or in a parallel operation"),
            },
            _ => no("whether it goes on depends on what it found in a part"),
        }
    }
}

/// The bodies that an expression chooses from.
pub(super) fn bodies(exp: &Exp) -> Option<Vec<&Body>> {
    match exp {
        Exp::If { then, otherwise, .. } => Some(vec![then, otherwise]),
        Exp::Case { arms, default, .. } => Some(arms.iter().map(|arm| &arm.body).chain(default).collect()),
        _ => None,
    }
}

impl Shape {
    pub(super) fn of(program: &Program, id: FunId, function: &Function) -> Result<Shape, Reason> {
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
        let mut reader = Reader {
            id,
            function,
            changing: HashSet::new(),
            widest: 0,
        };
        reader.body(&function.body)?;
        if reader.widest < 2 {
            return no("it goes on in one part of its datum only");
        }
        let mut changing: Vec<usize> = reader.changing.into_iter().collect();
        changing.sort_unstable();
        let types: Vec<&Type> = changing
            .iter()
            .filter_map(|at| function.params.get(*at))
            .map(|param| &param.ty)
            .collect();
        let is_datum = |ty: &&Type| matches!(ty, Type::Data(data) if kind_of(program, *data).is_some());
        if !types.iter().any(is_datum) {
            return no("it does not go on in parts of its datum");
        }
        if !types.iter().all(|ty| is_element(ty)) {
            return no("an array is handed down");
        }
        let result = &function.result;
        if !result.context.is_empty() || !result.types.iter().all(is_element) {
            return no("it gives an array");
        }
        let has_data = |ty: &Type| matches!(ty, Type::Data(data) if kind_of(program, *data).is_some());
        Ok(Shape {
            hands_down: types.len() > 1,
            changing,
            widest: reader.widest,
            gives: match result.types.iter().any(has_data) {
                true => Gives::Data,
                false => Gives::Values,
            },
        })
    }

    /// What becomes of the function, behind its name.
    pub(super) fn words(&self) -> String {
        let what = match self.gives {
            Gives::Values => "folds a tree",
            Gives::Data => "makes data of a tree",
        };
        let down = match self.hands_down {
            true => ", and hands something down",
            false => "",
        };
        format!(
            "{what}{down}: the tree is cut from its root down into at most {} subtrees, these are done in parallel, and then what is above them from the last up; \
             where it is a path, most of it is done in order",
            super::parallel::LARGE
        )
    }
}

/// Whether arrays can have such elements.
fn is_element(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) => true,
        Type::Tuple(parts) => parts.iter().all(is_element),
        Type::Array(..) | Type::Node(_) => false,
    }
}

struct Reader<'f> {
    id: FunId,
    function: &'f Function,
    changing: HashSet<usize>,
    widest: usize,
}

impl Reader<'_> {
    fn body(&mut self, body: &Body) -> Result<(), Reason> {
        match Part::of(self.id, body)? {
            Part::Straight(calls) => self.straight(body, &calls),
            Part::Choice(_, bodies) => bodies.into_iter().try_for_each(|body| self.body(body)),
        }
    }

    fn straight(&mut self, body: &Body, calls: &[usize]) -> Result<(), Reason> {
        self.widest = self.widest.max(calls.len());
        let mut late: HashSet<&Var> = HashSet::new();
        for (at, stmt) in body.stmts.iter().enumerate() {
            let is_late = Vars::of_exp(&stmt.exp).used.iter().any(|var| late.contains(var));
            let is_call = calls.contains(&at);
            if is_call && is_late {
                return no("what it goes on with depends on what it found in another part");
            }
            if is_call || is_late {
                let values = stmt.pattern.values.iter().map(|value| &value.var);
                late.extend(values.chain(&stmt.pattern.context));
            }
            if let (true, Exp::Call { context, args, .. }) = (is_call, &stmt.exp) {
                self.call(context, args)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, context: &[Atom], args: &[Atom]) -> Result<(), Reason> {
        let is_same = |(arg, var): (&Atom, &Var)| matches!(arg, Atom::Var(arg) if arg == var);
        if !context.iter().zip(&self.function.context).all(is_same) {
            return no("an array is handed down");
        }
        let params = self.function.params.iter().map(|param| &param.var);
        let changed = args.iter().zip(params).enumerate();
        let changed = changed.filter(|(_, pair)| !is_same(*pair));
        self.changing.extend(changed.map(|(at, _)| at));
        Ok(())
    }
}
