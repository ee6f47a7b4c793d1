//! Loops inside a map, on lanes: a group of elements goes through the loop together until the last of them is done. A mask says who still
//! goes on; the state of the others stays (flattening of a loop inside a map; NOVA 5.1 has none for loops).
//!
//! ```text
//! map (\x ->                              map@seq (\xs: [32]f32 ->
//!   loop (s = x) while s < 9.0 do           let (ss, as) = map@vec (\x -> (x, 1)) xs
//!     s * s)                         =>     loop (ss, as) while reduceSeq (|) 0 as != 0 do
//!   xs                                        map@vec (\s a -> let on = if s < 9.0 then a else 0
//!                                                              in (if on != 0 then s * s else s, on)) ss as)
//!                                           (split 32 xs)   … and what is left over as it stands
//! ```
//!
//! A reduction of arrays that are the same for all elements is such a loop too, where its operator has no lanes of its own: the nearest of some
//! points (`argmin`) is found for a group of others at a time. What fails alike for all elements may stand before, and fails once for a group.
//!
//! A loop that all elements run equally often (`for i < n` with one `n`) needs no mask. What stands before, between and behind loops is one
//! map each. A group has two vectors of the widest state, which keeps the processor's arithmetic busy; like all numbers of a
//! strategy it does not depend on the machine.
//!
//! Removes: loops on scalars inside a map. Introduces: `split`, `join`, `concat`, maps on lanes, loops whose state are lanes. Guarantees: every
//! element's value is what its own loop gives, bit for bit; only what cannot fail is computed for elements that are done.

mod abreast;
mod lifting;

use crate::cost::{is_scalars, is_simple, is_simple_stmt};
use crate::operator::Operator;
use crate::producers::Plan;
use crate::write::{Definitions, at_level, int, view};
use crate::{Around, Choice, Chooser, Fusion, Machine, Topic};
pub(crate) use abreast::Abreast;
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::{Vars, Walk, fresh_lambda, walk_exp};
use almach_core::{
    Atom, Body, Dim, Exp, Lambda, Loop, LoopForm, Op, Param, Pattern, ResultType, Stmt, Type, Var,
};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::{Facts, is_fixed};
use almach_value::ScalarType;
use lifting::Lifting;
use std::collections::{HashMap, HashSet};

/// Bytes that the lanes of a group have of the widest state ([`Topic::Masks`] has the names of the answers).
const GROUP_BYTES: [i64; 3] = [128, 64, 256];

/// How many times as many bytes where no loop has a mask: the chain from one iteration to the next is all that lanes wait for, and more of
/// them hide it.
const WITHOUT_MASK: i64 = 4;

/// Lanes of a group at most.
const MOST_LANES: i64 = 64;

/// Why elements go in groups.
pub(crate) const LOOPS: &str = "its function loops; a mask says which elements of a group still go on";

/// How the lanes of a group are held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    lanes: i64,
    /// The type of a mask: as wide as the widest state, so that a vector of masks has as many lanes.
    mask: ScalarType,
}

impl Group {
    pub(crate) fn lanes(self) -> i64 {
        self.lanes
    }

    /// The same for a group of so many.
    pub(crate) fn with_lanes(self, lanes: i64) -> Group {
        Group { lanes, ..self }
    }
}

impl Chooser {
    /// The group that the elements of a map go through its loops in; none where it has none, or where they cannot.
    pub(crate) fn masked(&self, op: &Op, span: Span, around: Around) -> Option<Group> {
        let ([function], true) = (op.functions.as_slice(), op.prim == Prim::Map) else {
            return None;
        };
        let has_lanes = self.machine != Machine::Device && around != Around::Lane;
        if !has_lanes
            || !self.may_be_grouped(function)
            || is_fixed(op)
            || is_simple(function, &self.facts)
            || !self.is_maskable(function)
        {
            return None;
        }
        let widest = widest_state(&function.body);
        let answer = self.ask(span, Topic::Masks, GROUP_BYTES.len() as u32 + 1);
        let bytes = GROUP_BYTES.get(answer as usize)?;
        let times = match has_loop(&function.body) {
            true => 1,
            false => WITHOUT_MASK,
        };
        let lanes = (times * bytes / widest).min(MOST_LANES);
        let size = op.args.first().and_then(|array| self.array_type(array))?.0;
        if size.as_constant().is_some_and(|size| size < lanes) {
            return None;
        }
        let mask = match widest {
            1 => ScalarType::I8,
            2 => ScalarType::I16,
            4 => ScalarType::I32,
            _ => ScalarType::I64,
        };
        Some(Group { lanes, mask })
    }

    /// Whether a function may stand twice, for groups and for what is left over, and be done once for a group: what the user has fixed
    /// stands once, and what is shown is shown for each element.
    fn may_be_grouped(&self, function: &Lambda) -> bool {
        !self.facts.body_holds_fixed(&function.body) && !self.facts.body_prints(&function.body)
    }

    /// The map in groups of lanes, and what is left over as it stands.
    pub(crate) fn on_masked_lanes(
        &mut self,
        stmt: &Stmt,
        op: &Op,
        group: Group,
        around: Around,
    ) -> Typed<()> {
        let span = stmt.span;
        let [function] = op.functions.as_slice() else {
            return Ok(());
        };
        let (level, _) = self.level(op, span, around);
        self.decide(span, op.prim, Choice::Masked(group.lanes), LOOPS);
        let (groups, rests) = self.cut_in_groups(op, group.lanes, span)?;
        let looping = self.with_loops(function)?;
        let each = self.group_function(&looping, &groups, group, span)?;
        let one = self.lambda(function, around.inside(Some(level), self.machine))?;
        self.groups_and_rest(stmt, level, (each, groups), (one, rests))
    }

    /// The elements of the arrays of a map in groups of so many, and what is left over.
    fn cut_in_groups(&mut self, op: &Op, lanes: i64, span: Span) -> Typed<(Vec<Atom>, Vec<Atom>)> {
        let (mut groups, mut rests) = (Vec::new(), Vec::new());
        for array in &op.args {
            let (whole, rest) = self.multiple_of(array, lanes, span)?;
            groups.push(self.bind(view(Prim::Split, vec![int(lanes), whole]), "groups", span)?);
            rests.push(rest);
        }
        Ok((groups, rests))
    }

    /// A map of groups and a map of what is left over, one behind the other.
    fn groups_and_rest(
        &mut self,
        stmt: &Stmt,
        level: Level,
        (each, groups): (Lambda, Vec<Atom>),
        (one, rests): (Lambda, Vec<Atom>),
    ) -> Typed<()> {
        let span = stmt.span;
        let done = at_level(Prim::Map, level, vec![each], groups);
        let done = self.builder.bind_all(done, &["done".into()], span)?;
        let left = at_level(Prim::Map, level, vec![one], rests);
        let left = self.builder.bind_all(left, &["left".into()], span)?;
        for ((done, left), value) in done.values.iter().zip(&left.values).zip(&stmt.pattern.values) {
            let done = view(Prim::Join, vec![Atom::Var(done.var.clone())]);
            let parts = vec![self.bind(done, "done", span)?, Atom::Var(left.var.clone())];
            let all = at_level(Prim::Concat, Level::Seq, vec![], parts);
            let pattern = Pattern {
                context: Vec::new(),
                values: vec![value.clone()],
            };
            self.builder.push(pattern, all, span);
        }
        Ok(())
    }

    /// What a function with loops makes of a group of elements, a row for each of its parameters.
    pub(crate) fn made_on_lanes(
        &mut self,
        function: &Lambda,
        rows: &[Atom],
        group: Group,
        span: Span,
    ) -> Typed<Vec<Atom>> {
        let looping = self.with_loops(function)?;
        let looping = fresh_lambda(&looping, &mut self.builder.supply);
        Lifting::over(self, &looping, rows, rows.first(), group, span).function(&looping)
    }

    /// A function of a group of elements of each array.
    fn group_function(
        &mut self,
        function: &Lambda,
        groups: &[Atom],
        group: Group,
        span: Span,
    ) -> Typed<Lambda> {
        let rows: Vec<Type> = groups
            .iter()
            .filter_map(|array| self.array_type(array))
            .map(|(_, row)| row)
            .collect();
        let params: Vec<Param> = rows
            .into_iter()
            .map(|row| self.builder.param("lanes", row))
            .collect();
        let function = fresh_lambda(function, &mut self.builder.supply);
        self.builder.enter();
        let values = Lifting::new(self, &function, &params, group, span).function(&function)?;
        let types = values.iter().map(|value| self.builder.type_of(value));
        let types = types.collect::<Typed<Vec<Type>>>()?;
        let body = self.builder.leave(Vec::new(), values);
        Ok(Lambda {
            context: Vec::new(),
            params,
            result: ResultType {
                context: Vec::new(),
                types,
            },
            body,
        })
    }
}

impl Chooser {
    /// Whether a function is scalar code with loops, in which nothing can fail but what fails alike for all elements: lanes that are done may
    /// compute along.
    fn is_maskable(&self, function: &Lambda) -> bool {
        let is_plain = function.context.is_empty()
            && function.result.context.is_empty()
            && function.params.iter().all(|param| is_scalars(&param.ty))
            && function.result.types.iter().all(is_scalars);
        if !is_plain {
            return false;
        }
        let folds = self.folds(&function.body);
        let mut varying: HashSet<Var> = function.params.iter().map(|param| param.var.clone()).collect();
        let mut loops = false;
        for (at, stmt) in function.body.stmts.iter().enumerate() {
            let varies = Vars::of_exp(&stmt.exp)
                .used
                .iter()
                .any(|var| varying.contains(var));
            if varies {
                varying.extend(stmt.pattern.values.iter().map(|value| value.var.clone()));
            }
            let fold = folds.get(&at);
            let fits = match fold {
                Some(fold) => fold.arrays.iter().all(|array| !is_var_of(array, &varying)),
                None => {
                    folds.values().any(|fold| fold.producers.contains(&at))
                        // Behind a loop that does not end for another element it would not be reached.
                        || (!varies && !loops && is_alike(stmt))
                        || is_maskable_stmt(stmt, &self.facts)
                }
            };
            if !fits {
                return false;
            }
            loops |= lifting::holds_loop(&stmt.exp) || fold.is_some();
        }
        loops
    }

    /// The reductions of a body that can be loops on scalars, by their places.
    fn folds(&self, body: &Body) -> HashMap<usize, Fold> {
        let plan = match self.fusion {
            Fusion::On => Plan::of(self, body),
            Fusion::Off => Plan::default(),
        };
        let found = body.stmts.iter().enumerate();
        found
            .filter_map(|(at, stmt)| {
                let producers: Vec<usize> = plan.producers(at).collect();
                Some((at, self.fold_of(body, stmt, producers)?))
            })
            .collect()
    }

    /// A reduction by an operator that has no lanes of its own, of elements that are scalars.
    fn fold_of(&self, body: &Body, stmt: &Stmt, producers: Vec<usize>) -> Option<Fold> {
        let Exp::Op(op) = &stmt.exp else { return None };
        let ([function], [_, array]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return None;
        };
        let is_reduction = matches!(op.prim, Prim::Reduce | Prim::ReduceComm) && !is_fixed(op);
        if !is_reduction || Operator::of(function).is_some() || !is_simple(function, &self.facts) {
            return None;
        }
        let feeding: Vec<&Stmt> = producers.iter().filter_map(|at| body.stmts.get(*at)).collect();
        let is_map = |stmt: &&Stmt| matches!(&stmt.exp, Exp::Op(op) if op.prim == Prim::Map);
        if !feeding.iter().all(is_map) || !self.is_simple_chain(&feeding, is_scalars) {
            return None;
        }
        let arrays = match feeding.first().map(|stmt| &stmt.exp) {
            Some(Exp::Op(giver)) => giver.args.clone(),
            _ => vec![array.clone()],
        };
        let is_array = |array: &Atom| {
            let ty = self.facts.env.atom_type(array);
            matches!(ty, Ok(Type::Array(Dim::Size(_), element)) if is_scalars(&element))
        };
        arrays.iter().all(is_array).then_some(Fold { producers, arrays })
    }

    /// A function with loops in the place of its reductions.
    fn with_loops(&mut self, function: &Lambda) -> Typed<Lambda> {
        let folds = self.folds(&function.body);
        let stmts = &function.body.stmts;
        self.builder.enter();
        for (at, stmt) in stmts.iter().enumerate() {
            match folds.get(&at) {
                Some(fold) => {
                    let feeding: Vec<&Stmt> = fold.producers.iter().filter_map(|at| stmts.get(*at)).collect();
                    let looped = self.as_loop(stmt, &feeding, &fold.arrays)?;
                    self.builder.push(stmt.pattern.clone(), looped, stmt.span);
                }
                None if folds.values().any(|fold| fold.producers.contains(&at)) => {}
                None => self
                    .builder
                    .push(stmt.pattern.clone(), stmt.exp.clone(), stmt.span),
            }
        }
        let body = self
            .builder
            .leave(function.body.context.clone(), function.body.values.clone());
        Ok(Lambda {
            body,
            ..function.clone()
        })
    }

    /// `reduce f e (map g xs)` as `loop (acc = e) for i < n do f acc (g xs[i])`.
    fn as_loop(&mut self, stmt: &Stmt, feeding: &[&Stmt], arrays: &[Atom]) -> Typed<Exp> {
        let (Exp::Op(op), span) = (&stmt.exp, stmt.span) else {
            return Ok(stmt.exp.clone());
        };
        let ([function], [initial, _], [first, ..]) = (op.functions.as_slice(), op.args.as_slice(), arrays)
        else {
            return Ok(stmt.exp.clone());
        };
        let bound = self.builder.length(first, span)?;
        let index = self.builder.param("i", Type::I64);
        let ty = self.builder.type_of(initial)?;
        let acc = self.builder.param("acc", ty);
        self.builder.enter();
        let mut values = Vec::with_capacity(arrays.len());
        for array in arrays {
            let element = Exp::Index {
                array: array.clone(),
                indices: vec![Atom::Var(index.var.clone())],
            };
            values.push(self.bind(element, "x", span)?);
        }
        let mut definitions = Definitions::new();
        let maps = feeding.iter().filter_map(|stmt| match &stmt.exp {
            Exp::Op(giver) => giver.functions.first(),
            _ => None,
        });
        for map in maps {
            values = self.splice(map, &values, &mut definitions)?;
        }
        values.insert(0, Atom::Var(acc.var.clone()));
        let next = self.splice(function, &values, &mut definitions)?;
        let body = self.builder.leave(Vec::new(), next);
        Ok(Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params: vec![(acc, initial.clone())],
            form: LoopForm::For { index, bound },
            body,
        })))
    }
}

/// A reduction that can be a loop: the places of what feeds it, from the source on, and the arrays it reads.
struct Fold {
    producers: Vec<usize>,
    arrays: Vec<Atom>,
}

fn is_var_of(atom: &Atom, vars: &HashSet<Var>) -> bool {
    matches!(atom, Atom::Var(var) if vars.contains(var))
}

/// Whether a statement can be done once for a group, if it is the same for all elements.
fn is_alike(stmt: &Stmt) -> bool {
    let is_kind = matches!(
        stmt.exp,
        Exp::Assert { .. } | Exp::Index { .. } | Exp::Binary(..) | Exp::Unary(..)
    );
    is_kind
        && stmt.pattern.context.is_empty()
        && stmt.pattern.values.iter().all(|value| is_scalars(&value.ty))
}

fn is_maskable_body(body: &Body, facts: &Facts) -> bool {
    body.stmts.iter().all(|stmt| is_maskable_stmt(stmt, facts))
}

fn is_maskable_stmt(stmt: &Stmt, facts: &Facts) -> bool {
    match &stmt.exp {
        Exp::Loop(looped) => is_maskable_loop(looped, facts),
        Exp::If {
            then,
            otherwise,
            result,
            ..
        } => {
            result.context.is_empty()
                && result.types.iter().all(is_scalars)
                && is_maskable_body(then, facts)
                && is_maskable_body(otherwise, facts)
        }
        _ => is_simple_stmt(stmt, facts),
    }
}

fn is_maskable_loop(looped: &Loop, facts: &Facts) -> bool {
    let is_form = match &looped.form {
        LoopForm::For { .. } => true,
        LoopForm::While(condition) => condition.stmts.iter().all(|stmt| is_simple_stmt(stmt, facts)),
    };
    is_form
        && looped.context.is_empty()
        && looped.params.iter().all(|(param, _)| is_scalars(&param.ty))
        && is_maskable_body(&looped.body, facts)
}

/// Whether there is a loop in the program's own words, which elements may leave at different times. (Reductions have as many steps for all.)
fn has_loop(body: &Body) -> bool {
    struct Finder(bool);
    impl Walk for Finder {
        fn exp(&mut self, exp: &Exp) {
            self.0 |= matches!(exp, Exp::Loop(_));
            walk_exp(self, exp);
        }
    }
    let mut finder = Finder(false);
    finder.body(body);
    finder.0
}

/// Bytes of the widest scalar in the state of a loop.
fn widest_state(body: &Body) -> i64 {
    struct Widest(i64);
    impl Walk for Widest {
        fn exp(&mut self, exp: &Exp) {
            match exp {
                Exp::Loop(looped) => looped.params.iter().for_each(|(param, _)| self.state(&param.ty)),
                Exp::Op(op) if matches!(op.prim, Prim::Reduce | Prim::ReduceComm) => {
                    let states = op.functions.iter().flat_map(|function| &function.result.types);
                    states.for_each(|ty| self.state(ty));
                }
                _ => {}
            }
            walk_exp(self, exp);
        }
    }
    impl Widest {
        fn state(&mut self, ty: &Type) {
            match ty {
                Type::Scalar(scalar) => self.0 = self.0.max(scalar.bytes() as i64),
                Type::Tuple(parts) => parts.iter().for_each(|part| self.state(part)),
                Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => {}
            }
        }
    }
    let mut widest = Widest(1);
    widest.body(body);
    widest.0
}
