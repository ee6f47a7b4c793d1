//! What each call of a level does before it calls itself, and the calls of the next level.

use super::{Lift, broken, int};
use crate::divide::shape::Shape;
use crate::divide::slots::Slot;
use crate::trees::shape::Part;
use almach_core::build::op;
use almach_core::typing::Typed;
use almach_core::visit::Substitution;
use almach_core::{Arm, Atom, Body, Exp, Function, Lambda, Param, ResultType, Size, Stmt, Type};
use almach_prim::Prim;
use almach_value::{BinOp, ScalarType, UnOp};
use std::ops::Range;

/// What is known of a call before those that it makes: which case it is, its results where it makes none, and for each case with calls what it keeps
/// and what it calls itself with.
pub(super) struct Outputs {
    pub(super) results: Vec<Slot>,
    pub(super) kept: Vec<Vec<Slot>>,
    params: Vec<Slot>,
    /// How many calls each case makes.
    calls: Vec<usize>,
}

impl Outputs {
    /// The case, the results and what is kept.
    pub(super) fn first_slots(&self) -> Vec<Slot> {
        let kind = [Slot::One(Type::I64)];
        let first = kind.iter().chain(&self.results);
        first.chain(self.kept.iter().flatten()).cloned().collect()
    }

    pub(super) fn slots(&self) -> Vec<Slot> {
        let mut slots = self.first_slots();
        for _ in 0..self.calls.iter().sum() {
            slots.extend(self.params.iter().cloned());
        }
        slots
    }

    /// Where the kept values of a case are.
    pub(super) fn kept_at(&self, case: usize) -> Range<usize> {
        let before: usize = self.kept.iter().take(case).map(Vec::len).sum();
        let begin = 1 + self.results.len() + before;
        begin..begin + self.kept.get(case).map_or(0, Vec::len)
    }

    /// Where the arguments of a call of a case are.
    fn args_at(&self, case: usize, call: usize) -> Range<usize> {
        let before: usize = self.calls.iter().take(case).sum::<usize>() + call;
        let begin = self.first_slots().len() + before * self.params.len();
        begin..begin + self.params.len()
    }
}

/// The calls of the next level.
pub(super) struct Next {
    /// One array for each parameter.
    pub(super) args: Vec<Atom>,
    /// For each case and each of its calls, where the first one is.
    pub(super) begins: Vec<Vec<Atom>>,
    /// For each case how many calls of this level before are of that case, for each call.
    pub(super) earlier: Vec<Atom>,
}

/// The function that is taken apart: its cases as they come.
struct Cases<'a> {
    copy: &'a Shape<'a>,
    outputs: &'a Outputs,
    known: Substitution,
    next: usize,
}

impl Lift<'_> {
    pub(super) fn outputs(&self, shape: &Shape<'_>) -> Typed<Outputs> {
        let mut kept = Vec::new();
        for node in &shape.nodes {
            let slots = node.kept.iter().map(|param| Slot::of(&param.ty));
            kept.push(slots.collect::<Result<Vec<Slot>, _>>().map_err(|_| broken())?);
        }
        Ok(Outputs {
            results: self.results.clone(),
            kept,
            params: self.params.clone(),
            calls: shape.nodes.iter().map(|node| node.calls.len()).collect(),
        })
    }

    /// The outputs of one call.
    pub(super) fn before(
        &mut self,
        copy: &Function,
        shape: &Shape<'_>,
        outputs: &Outputs,
        values: &[Atom],
    ) -> Typed<Vec<Atom>> {
        let mut known = Substitution::new();
        self.adopt(&mut known, &copy.params, values)?;
        let mut cases = Cases {
            copy: shape,
            outputs,
            known,
            next: 0,
        };
        self.opened(&copy.body, &mut cases)
    }

    fn opened(&mut self, body: &Body, cases: &mut Cases<'_>) -> Typed<Vec<Atom>> {
        match Part::of(self.id, body).map_err(|_| broken())? {
            Part::Straight(calls) if calls.is_empty() => {
                self.stmts(&body.stmts, &mut cases.known);
                self.leaf(body, cases)
            }
            Part::Straight(_) => self.node(body, cases),
            Part::Choice(at, _) => {
                self.stmts(body.stmts.get(..at).unwrap_or_default(), &mut cases.known);
                let stmt = body.stmts.get(at).ok_or_else(broken)?;
                self.choice(&stmt.exp, cases)
            }
        }
    }

    fn choice(&mut self, exp: &Exp, cases: &mut Cases<'_>) -> Typed<Vec<Atom>> {
        let slots = cases.outputs.slots();
        let chosen = match exp {
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let then = self.packed(&slots, |lift| lift.opened(then, cases))?;
                let otherwise = self.packed(&slots, |lift| lift.opened(otherwise, cases))?;
                let (result, then, otherwise) = self.given_by_two(&slots, then, otherwise)?;
                Exp::If {
                    condition: cases.known.of_atom(condition),
                    then,
                    otherwise,
                    result,
                }
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => {
                let mut branches = Vec::new();
                for arm in arms {
                    self.builder.enter_signature(&arm.context, &arm.fields);
                    branches.push(self.packed(&slots, |lift| lift.opened(&arm.body, cases))?);
                }
                if let Some(body) = default {
                    branches.push(self.packed(&slots, |lift| lift.opened(body, cases))?);
                }
                let (result, bodies) = self.given(&slots, branches);
                let mut bodies = bodies.into_iter();
                let opened = arms.iter().zip(bodies.by_ref().take(arms.len()));
                let opened = opened.map(|(arm, body)| Arm { body, ..arm.clone() }).collect();
                Exp::Case {
                    scrutinee: cases.known.of_atom(scrutinee),
                    arms: opened,
                    default: bodies.next(),
                    result,
                }
            }
            _ => return Err(broken()),
        };
        self.bind_all(chosen, "case")
    }

    /// A case without calls.
    fn leaf(&mut self, body: &Body, cases: &Cases<'_>) -> Typed<Vec<Atom>> {
        let mut given = vec![int(0)];
        given.extend(body.values.iter().map(|value| cases.known.of_atom(value)));
        for slot in cases.outputs.slots().iter().skip(given.len()) {
            given.push(self.nothing(slot)?);
        }
        Ok(given)
    }

    /// A case with calls: what comes before them.
    fn node(&mut self, body: &Body, cases: &mut Cases<'_>) -> Typed<Vec<Atom>> {
        let case = cases.next;
        cases.next += 1;
        let node = cases.copy.nodes.get(case).ok_or_else(broken)?;
        let early = body.stmts.iter().enumerate();
        let early = early.filter(|(at, _)| !node.late.contains(at));
        let early: Vec<Stmt> = early.map(|(_, stmt)| stmt.clone()).collect();
        self.stmts(&early, &mut cases.known);
        let mut given: Vec<Option<Atom>> = vec![None; cases.outputs.slots().len()];
        let mut put = |places: Range<usize>, atoms: Vec<Atom>| {
            for (place, atom) in places.zip(atoms) {
                if let Some(slot) = given.get_mut(place) {
                    *slot = Some(cases.known.of_atom(&atom));
                }
            }
        };
        put(0..1, vec![int(case as i64 + 1)]);
        let kept = node.kept.iter().map(|param| Atom::Var(param.var.clone()));
        put(cases.outputs.kept_at(case), kept.collect());
        for (call, at) in node.calls.iter().enumerate() {
            if let Some(Exp::Call { args, .. }) = body.stmts.get(*at).map(|stmt| &stmt.exp) {
                put(cases.outputs.args_at(case, call), args.clone());
            }
        }
        let mut values = Vec::new();
        for (value, slot) in given.into_iter().zip(cases.outputs.slots()) {
            values.push(match value {
                Some(value) => value,
                None => self.nothing(&slot)?,
            });
        }
        Ok(values)
    }

    /// Statements of the function that is taken apart.
    pub(super) fn stmts(&mut self, stmts: &[Stmt], known: &mut Substitution) {
        for stmt in stmts {
            let mut stmt = stmt.clone();
            known.apply_exp(&mut stmt.exp);
            known.apply_pattern(&mut stmt.pattern);
            self.builder.push(stmt.pattern, stmt.exp, stmt.span);
        }
    }

    /// The calls of the next level: of each case those that all its first calls are, then all its second ones, and so on.
    pub(super) fn next_calls(
        &mut self,
        count: &Size,
        shape: &Shape<'_>,
        outputs: &Outputs,
        made: &[Atom],
    ) -> Typed<Next> {
        let kind = made.first().ok_or_else(broken)?.clone();
        let all = self.builder.size_atom(count, self.span)?;
        let numbers = self.bind_one(op(Prim::Iota, vec![], vec![all]), "numbers")?;
        let mut args: Vec<Option<Atom>> = vec![None; self.params.len()];
        let (mut begins, mut earlier, mut end) = (Vec::new(), Vec::new(), int(0));
        for (case, node) in shape.nodes.iter().enumerate() {
            let is_it = self.is_case(&kind, case)?;
            let mine = op(Prim::Filter, vec![is_it], vec![numbers.clone()]);
            let mine = self.bind_one(mine, "mine")?;
            let length = self.builder.length(&mine, self.span)?;
            earlier.push(self.earlier(&kind, case)?);
            let mut firsts = Vec::new();
            for call in 0..node.calls.len() {
                firsts.push(end.clone());
                end = self.binary(BinOp::Add, end, length.clone(), "begin")?;
                let given = made.get(outputs.args_at(case, call)).ok_or_else(broken)?;
                for (arg, array) in args.iter_mut().zip(given) {
                    let those = op(Prim::Gather, vec![], vec![mine.clone(), array.clone()]);
                    let those = self.bind_one(those, "those")?;
                    *arg = Some(match arg.take() {
                        None => those,
                        Some(before) => {
                            self.bind_one(op(Prim::Concat, vec![], vec![before, those]), "next")?
                        }
                    });
                }
            }
            begins.push(firsts);
        }
        let args: Option<Vec<Atom>> = args.into_iter().collect();
        Ok(Next {
            args: args.ok_or_else(broken)?,
            begins,
            earlier,
        })
    }

    /// `\i -> kind[i] == case`.
    fn is_case(&mut self, kind: &Atom, case: usize) -> Typed<Lambda> {
        let number = self.builder.param("i", Type::I64);
        let index = Atom::Var(number.var.clone());
        let body = self.inside(|lift| {
            let found = lift.at(kind, &index)?;
            let is_it = lift.binary(BinOp::Eq, found, int(case as i64 + 1), "is_it")?;
            Ok(vec![is_it])
        })?;
        Ok(lambda(vec![number], Type::Scalar(ScalarType::Bool), body))
    }

    /// For each call, how many before it are of that case.
    fn earlier(&mut self, kind: &Atom, case: usize) -> Typed<Atom> {
        let one = self.builder.param("kind", Type::I64);
        let found = Atom::Var(one.var.clone());
        let body = self.inside(|lift| {
            let is_it = lift.binary(BinOp::Eq, found, int(case as i64 + 1), "is_it")?;
            let count = Exp::Unary(UnOp::Convert(ScalarType::I64), is_it);
            Ok(vec![lift.bind_one(count, "count")?])
        })?;
        let counts = lambda(vec![one], Type::I64, body);
        let counts = self.bind_one(op(Prim::Map, vec![counts], vec![kind.clone()]), "counts")?;
        let params: Vec<Param> = ["a", "b"].map(|name| self.builder.param(name, Type::I64)).into();
        let operands = super::variables(&params);
        let body = self.inside(|lift| match operands.as_slice() {
            [a, b] => Ok(vec![lift.binary(BinOp::Add, a.clone(), b.clone(), "sum")?]),
            _ => Err(broken()),
        })?;
        let plus = lambda(params, Type::I64, body);
        self.bind_one(
            op(Prim::ScanExclusive, vec![plus], vec![int(0), counts]),
            "earlier",
        )
    }

    pub(super) fn bind_one(&mut self, exp: Exp, name: &str) -> Typed<Atom> {
        self.builder.bind(exp, name, self.span)
    }
}

fn lambda(params: Vec<Param>, result: Type, body: Body) -> Lambda {
    Lambda {
        context: Vec::new(),
        params,
        result: ResultType::one(result),
        body,
    }
}
