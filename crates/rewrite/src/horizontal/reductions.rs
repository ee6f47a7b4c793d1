//! Reductions side by side: reductions over the same array become one reduction of tuples, so that the array is read once.
//!
//! ```text
//! let s: f32 = reduce (\(a: f32, b: f32): f32 ->       let pairs: [n](f32, f32) = map (\(x: f32): (f32, f32) ->
//!   let c: f32 = a + b                                   let q: f32 = x * x
//!   in c) 0.0f32 xs                                      let t: (f32, f32) = (x, q)
//! let qs: [n]f32 = map (\(x: f32): f32 ->                in t) xs
//!   let q: f32 = x * x                           =>    let e: (f32, f32) = (0.0f32, 1.0f32)
//!   in q) xs                                           let r: (f32, f32) = reduce (\(a, b) -> …) e pairs
//! let m: f32 = reduce max 1.0f32 qs                    let s: f32 = r.0
//!                                                      let m: f32 = r.1
//! ```
//!
//! Each component is combined by its own operator, so the grouping of one may be that of the other. Only built-in operators, which
//! run on lanes as tuples too, and only what cannot fail, since the second reduction moves to the place of the first. Where the value that it
//! starts from is not known there yet (`minimum` starts from the first element, behind its test that there is one), it starts from
//! what changes nothing, and the other value is combined with its result where it stood.
//!
//! ```text
//! let s: f32 = reduce (+) 0.0f32 xs               let e: (f32, f32) = (0.0f32, nan)
//! let x: f32 = xs[0]                        =>    let r: (f32, f32) = reduce (\(a, b) -> …) e (map (\x -> (x, x)) xs)
//! let m: f32 = reduce min x xs                    let s: f32 = r.0
//!                                                 let all: f32 = r.1
//!                                                 let x: f32 = xs[0]
//!                                                 let m: f32 = min x all
//! ```

use super::{binds, copy};
use crate::facts::Facts;
use almach_base::Span;
use almach_core::typing::Supply;
use almach_core::visit::{UseCounts, Vars};
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Param, Pattern, ResultType, Size, Stmt, Type, Var};
use almach_prim::{Annotation, Prim};
use almach_value::{BinOp, Scalar, identity};

/// So many reductions are one: each has accumulators of its own in registers.
const MOST: usize = 6;

/// A reduction that can be a component of another.
struct Part {
    operator: BinOp,
    initial: Atom,
    /// Whether the initial value is combined with the result where the reduction stood.
    behind: bool,
    ty: Type,
    result: Param,
    prim: Prim,
    size: Size,
    /// What its elements are made of: parameters over arrays, and a body for the element.
    params: Vec<Param>,
    arrays: Vec<Atom>,
    stmts: Vec<Stmt>,
    element: Atom,
    /// Where its statements are.
    places: Vec<usize>,
}

pub(super) struct Reductions<'a> {
    pub facts: &'a mut Facts,
    pub supply: &'a mut Supply,
    pub uses: &'a UseCounts,
}

impl Part {
    /// What changes nothing.
    fn identity(&self) -> Option<Scalar> {
        match self.ty {
            Type::Scalar(ty) => identity(self.operator, ty),
            _ => None,
        }
    }

    /// What it starts from among the others.
    fn start(&self) -> Atom {
        match self.identity() {
            Some(identity) if self.behind => Atom::Const(identity),
            _ => self.initial.clone(),
        }
    }
}

impl Reductions<'_> {
    /// Makes one reduction of the first group that can be one; where it stands, and how many it takes the place of.
    pub fn merge_one(&mut self, body: &mut Body) -> Option<Span> {
        for at in 0..body.stmts.len() {
            let Some(first) = self.part(body, at) else {
                continue;
            };
            let mut parts = vec![first];
            for other in at + 1..body.stmts.len() {
                if parts.len() < MOST
                    && let Some(mut part) = self.part(body, other)
                    && self.joins(body, at, &parts, &mut part)
                {
                    parts.push(part);
                }
            }
            if parts.len() > 1 {
                let span = body.stmts.get(at)?.span;
                self.replace(body, at, &parts, span);
                return Some(span);
            }
        }
        None
    }

    /// The reduction of a statement, with the map that feeds it alone.
    fn part(&mut self, body: &Body, at: usize) -> Option<Part> {
        let stmt = body.stmts.get(at)?;
        let Exp::Op(op) = &stmt.exp else { return None };
        let ([function], [initial, array], [result]) = (
            op.functions.as_slice(),
            op.args.as_slice(),
            stmt.pattern.values.as_slice(),
        ) else {
            return None;
        };
        if !matches!(op.prim, Prim::Reduce | Prim::ReduceComm) || !self.is_free(stmt) {
            return None;
        }
        let operator = built_in(function)?;
        let Ok(Type::Array(Dim::Size(size), element)) = self.facts.env.atom_type(array) else {
            return None;
        };
        let mut part = Part {
            operator,
            initial: initial.clone(),
            behind: false,
            ty: (*element).clone(),
            result: result.clone(),
            prim: op.prim,
            size,
            params: Vec::new(),
            arrays: Vec::new(),
            stmts: Vec::new(),
            element: array.clone(),
            places: vec![at],
        };
        match self.feeding_map(body, array, at) {
            Some((place, map, function)) => {
                part.params = function.params.clone();
                part.arrays = map.args.clone();
                part.stmts = function.body.stmts.clone();
                part.element = function.body.values.first()?.clone();
                part.places.push(place);
            }
            None => {
                let param = Param {
                    var: self.supply.fresh("x"),
                    ty: *element,
                };
                part.element = Atom::Var(param.var.clone());
                part.params = vec![param];
                part.arrays = vec![array.clone()];
            }
        }
        Some(part)
    }

    /// A map of scalars whose only use is this reduction.
    fn feeding_map<'b>(
        &self,
        body: &'b Body,
        array: &Atom,
        at: usize,
    ) -> Option<(usize, &'b Op, &'b Lambda)> {
        let Atom::Var(var) = array else { return None };
        let (place, stmt) = body
            .stmts
            .iter()
            .enumerate()
            .take(at)
            .find(|(_, stmt)| binds(&stmt.pattern, var))?;
        let Exp::Op(op) = &stmt.exp else { return None };
        let ([function], [_]) = (op.functions.as_slice(), stmt.pattern.values.as_slice()) else {
            return None;
        };
        let plain = function.context.is_empty() && function.result.context.is_empty();
        let straight = function
            .body
            .stmts
            .iter()
            .all(|stmt| super::is_straight(&stmt.exp));
        (op.prim == Prim::Map && plain && straight && self.uses.of(var) == 1 && self.is_free(stmt))
            .then_some((place, op, function))
    }

    /// Whether a statement may be moved and made part of another.
    fn is_free(&self, stmt: &Stmt) -> bool {
        !self.facts.can_fail(&stmt.exp) && !self.facts.holds_fixed(&stmt.exp) && !self.facts.prints(&stmt.exp)
    }

    /// Whether a reduction reads an array that others read, and can be where the first of them is.
    fn joins(&self, body: &Body, first: usize, parts: &[Part], part: &mut Part) -> bool {
        let reads = |array: &Atom| parts.iter().any(|other| other.arrays.contains(array));
        let shares = part.arrays.iter().any(reads);
        let same_size = parts.first().is_some_and(|other| other.size == part.size);
        if !shares || !same_size {
            return false;
        }
        let between = (first..body.stmts.len()).filter(|at| !part.places.contains(at));
        let between: Vec<&Stmt> = between.filter_map(|at| body.stmts.get(at)).collect();
        let is_late = |var: &Var| between.iter().any(|stmt| binds(&stmt.pattern, var));
        part.behind = matches!(&part.initial, Atom::Var(var) if is_late(var));
        let is_initial = |var: &Var| matches!(&part.initial, Atom::Var(initial) if initial == var);
        let mut moved = part
            .places
            .iter()
            .filter_map(|place| Some((place, body.stmts.get(*place)?)));
        let needs_later = moved.any(|(place, stmt)| {
            let starts = part.places.first() == Some(place);
            let vars = Vars::of_exp(&stmt.exp);
            let mut free = vars.free();
            free.any(|var| is_late(var) && !(starts && is_initial(var)))
        });
        !needs_later && (!part.behind || part.identity().is_some())
    }

    /// One map of tuples and one reduction in the place of the first; the others go.
    fn replace(&mut self, body: &mut Body, at: usize, parts: &[Part], span: Span) {
        let gone: Vec<usize> = parts
            .iter()
            .flat_map(|part| part.places.iter().copied())
            .collect();
        // What those are without their initial values that are combined with them later.
        let all: Vec<Option<Var>> = parts
            .iter()
            .map(|part| part.behind.then(|| self.supply.fresh("all")))
            .collect();
        let made = self.made(parts, &all, span);
        let mut stmts = Vec::with_capacity(body.stmts.len() + made.len());
        let mut made = Some(made);
        for (place, stmt) in std::mem::take(&mut body.stmts).into_iter().enumerate() {
            if place == at {
                stmts.extend(made.take().into_iter().flatten());
            }
            if !gone.contains(&place) {
                stmts.push(stmt);
                continue;
            }
            let mut here = parts
                .iter()
                .zip(&all)
                .filter(|(part, _)| part.places.first() == Some(&place));
            if let Some((part, Some(all))) = here.next() {
                let both = Exp::Binary(part.operator, part.initial.clone(), Atom::Var(all.clone()));
                stmts.push(Stmt {
                    exp: both,
                    ..copy(part.result.clone(), part.initial.clone(), stmt.span)
                });
            }
        }
        body.stmts = stmts;
        for stmt in &body.stmts {
            self.facts.learn(stmt);
        }
    }

    fn made(&mut self, parts: &[Part], all: &[Option<Var>], span: Span) -> Vec<Stmt> {
        let types: Vec<Type> = parts.iter().map(|part| part.ty.clone()).collect();
        let tuple = Type::Tuple(types);
        let size = parts.first().map_or_else(Size::zero, |part| part.size.clone());
        let (params, arrays, mut stmts) = merged_elements(parts, span);
        let elements = parts.iter().map(|part| part.element.clone()).collect();
        let element = self.bound("t", &tuple, Exp::Tuple(elements), span, &mut stmts);
        let function = Lambda {
            context: Vec::new(),
            params,
            result: ResultType::one(tuple.clone()),
            body: Body {
                stmts,
                context: Vec::new(),
                values: vec![element],
            },
        };
        let mut made = Vec::new();
        let map = plain(Prim::Map, function, arrays);
        let pairs = self.bound("tuples", &Type::array(size, tuple.clone()), map, span, &mut made);
        let initials = parts.iter().map(Part::start).collect();
        let initial = self.bound("start", &tuple, Exp::Tuple(initials), span, &mut made);
        let operator = self.operator(parts, &tuple, span);
        let prim = match parts.iter().all(|part| part.prim == Prim::ReduceComm) {
            true => Prim::ReduceComm,
            false => Prim::Reduce,
        };
        let reduce = plain(prim, operator, vec![initial, pairs]);
        let reduced = self.bound("reduced", &tuple, reduce, span, &mut made);
        for (component, (part, all)) in (0..).zip(parts.iter().zip(all)) {
            let mut value = part.result.clone();
            if let Some(all) = all {
                value.var = all.clone();
            }
            made.push(Stmt {
                pattern: Pattern {
                    context: Vec::new(),
                    values: vec![value],
                },
                exp: Exp::Project(reduced.clone(), component),
                span,
            });
        }
        made
    }

    /// Component by component.
    fn operator(&mut self, parts: &[Part], tuple: &Type, span: Span) -> Lambda {
        let sides = ["a", "b"].map(|name| Param {
            var: self.supply.fresh(name),
            ty: tuple.clone(),
        });
        let mut stmts = Vec::new();
        let mut values = Vec::with_capacity(parts.len());
        for (component, part) in (0..).zip(parts) {
            let [left, right] = sides.each_ref().map(|side| {
                let project = Exp::Project(Atom::Var(side.var.clone()), component);
                self.bound("x", &part.ty, project, span, &mut stmts)
            });
            let combined = Exp::Binary(part.operator, left, right);
            values.push(self.bound("y", &part.ty, combined, span, &mut stmts));
        }
        let value = self.bound("t", tuple, Exp::Tuple(values), span, &mut stmts);
        Lambda {
            context: Vec::new(),
            params: sides.to_vec(),
            result: ResultType::one(tuple.clone()),
            body: Body {
                stmts,
                context: Vec::new(),
                values: vec![value],
            },
        }
    }

    fn bound(&mut self, name: &str, ty: &Type, exp: Exp, span: Span, into: &mut Vec<Stmt>) -> Atom {
        let var = self.supply.fresh(name);
        let param = Param {
            var: var.clone(),
            ty: ty.clone(),
        };
        let stmt = Stmt {
            exp,
            ..copy(param, Atom::Var(var.clone()), span)
        };
        self.facts.learn(&stmt);
        into.push(stmt);
        Atom::Var(var)
    }
}

/// The arrays of all, each once, and the statements that make the elements of each.
fn merged_elements(parts: &[Part], span: Span) -> (Vec<Param>, Vec<Atom>, Vec<Stmt>) {
    let (mut params, mut arrays, mut stmts): (Vec<Param>, Vec<Atom>, Vec<Stmt>) = Default::default();
    for part in parts {
        for (param, array) in part.params.iter().zip(&part.arrays) {
            let known = arrays.iter().position(|known| known == array);
            match known.and_then(|at| params.get(at)) {
                Some(known) => stmts.push(copy(param.clone(), Atom::Var(known.var.clone()), span)),
                None => {
                    arrays.push(array.clone());
                    params.push(param.clone());
                }
            }
        }
        stmts.extend(part.stmts.iter().cloned());
    }
    (params, arrays, stmts)
}

fn plain(prim: Prim, function: Lambda, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation::NONE,
        functions: vec![function],
        args,
    })
}

/// The operator on scalars that a function is, where it may be reordered and has an identity.
fn built_in(function: &Lambda) -> Option<BinOp> {
    let ([left, right], [stmt], [Atom::Var(value)]) = (
        function.params.as_slice(),
        function.body.stmts.as_slice(),
        function.body.values.as_slice(),
    ) else {
        return None;
    };
    let Exp::Binary(op, Atom::Var(a), Atom::Var(b)) = &stmt.exp else {
        return None;
    };
    let is_result = binds(&stmt.pattern, value);
    let both = (*a == left.var && *b == right.var) || (*a == right.var && *b == left.var);
    let is_scalar = matches!(left.ty, Type::Scalar(_));
    let commutes = matches!(
        op,
        BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max | BinOp::And | BinOp::Or | BinOp::Xor
    );
    (is_result && both && is_scalar && commutes).then_some(*op)
}
