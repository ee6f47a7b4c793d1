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
//! A loop that all elements run equally often (`for i < n` with one `n`) needs no mask. What stands before, between and behind loops is one
//! map each. A group has two vectors of the widest state, which keeps the processor's arithmetic busy; like all numbers of a
//! strategy it does not depend on the machine.
//!
//! Removes: loops on scalars inside a map. Introduces: `split`, `join`, `concat`, maps on lanes, loops whose state are lanes. Guarantees: every
//! element's value is what its own loop gives, bit for bit; only what cannot fail is computed for elements that are done.

mod lifting;

use crate::cost::{is_scalars, is_simple, is_simple_stmt};
use crate::write::{at_level, int, view};
use crate::{Around, Choice, Chooser, Machine, Topic};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::{Walk, fresh_lambda, walk_exp};
use almach_core::{Atom, Body, Exp, Lambda, Loop, LoopForm, Op, Param, Pattern, ResultType, Stmt, Type};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::{Facts, is_fixed};
use almach_value::ScalarType;
use lifting::Lifting;

/// Bytes that the lanes of a group have of the widest state ([`Topic::Masks`] has the names of the answers).
const GROUP_BYTES: [i64; 3] = [128, 64, 256];

/// Lanes of a group at most.
const MOST_LANES: i64 = 64;

/// How the lanes of a group are held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    lanes: i64,
    /// The type of a mask: as wide as the widest state, so that a vector of masks has as many lanes.
    mask: ScalarType,
}

impl Chooser {
    /// The group that the elements of a map go through its loops in; none where it has none, or where they cannot.
    pub(crate) fn masked(&self, op: &Op, span: Span, around: Around) -> Option<Group> {
        let ([function], true) = (op.functions.as_slice(), op.prim == Prim::Map) else {
            return None;
        };
        let has_lanes = self.machine != Machine::Device && around != Around::Lane;
        if !has_lanes
            || is_fixed(op)
            || is_simple(function, &self.facts)
            || !is_maskable(function, &self.facts)
        {
            return None;
        }
        let widest = widest_state(&function.body);
        let answer = self.ask(span, Topic::Masks, GROUP_BYTES.len() as u32 + 1);
        let bytes = GROUP_BYTES.get(answer as usize)?;
        let lanes = (bytes / widest).min(MOST_LANES);
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
        let reason = "its function loops; a mask says which elements of a group still go on";
        self.decide(span, op.prim, Choice::Masked(group.lanes), reason);
        let (mut groups, mut rests) = (Vec::new(), Vec::new());
        for array in &op.args {
            let (whole, rest) = self.multiple_of(array, group.lanes, span)?;
            groups.push(self.bind(view(Prim::Split, vec![int(group.lanes), whole]), "groups", span)?);
            rests.push(rest);
        }
        let each = self.group_function(function, &groups, group, span)?;
        let done = at_level(Prim::Map, level, vec![each], groups);
        let done = self.builder.bind_all(done, &["done".into()], span)?;
        let one = self.lambda(function, around.inside(Some(level), self.machine))?;
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

/// Whether a function is scalar code with loops, in which nothing can fail: lanes that are done may compute along.
fn is_maskable(function: &Lambda, facts: &Facts) -> bool {
    function.context.is_empty()
        && function.result.context.is_empty()
        && function.params.iter().all(|param| is_scalars(&param.ty))
        && function.result.types.iter().all(is_scalars)
        && is_maskable_body(&function.body, facts)
}

fn is_maskable_body(body: &Body, facts: &Facts) -> bool {
    body.stmts.iter().all(|stmt| match &stmt.exp {
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
    })
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

/// Bytes of the widest scalar in the state of a loop.
fn widest_state(body: &Body) -> i64 {
    struct Widest(i64);
    impl Walk for Widest {
        fn exp(&mut self, exp: &Exp) {
            if let Exp::Loop(looped) = exp {
                looped.params.iter().for_each(|(param, _)| self.state(&param.ty));
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
