//! What each call of a level does with the results of those that it made.

use super::before::{Next, Outputs};
use super::{Lift, broken, in_order, int};
use crate::divide::shape::Shape;
use crate::divide::slots::Slot;
use almach_core::typing::Typed;
use almach_core::visit::{Substitution, fresh_function};
use almach_core::{Atom, Stmt, Type};
use almach_prim::Prim;
use almach_value::BinOp;

/// What the functions of this step look at.
struct After<'a> {
    shape: &'a Shape<'a>,
    outputs: &'a Outputs,
    next: &'a Next,
    /// The results of the next level.
    found: &'a [Atom],
}

impl Lift<'_> {
    /// The results of all calls of the level.
    pub(super) fn after(
        &mut self,
        outputs: &Outputs,
        made: &[Atom],
        next: &Next,
        found: &[Atom],
    ) -> Typed<Vec<Atom>> {
        let copy = fresh_function(self.function, &mut self.builder.supply);
        let shape = Shape::of(self.program, self.id, &copy).map_err(|_| broken())?;
        let after = After {
            shape: &shape,
            outputs,
            next,
            found,
        };
        let mut takes = outputs.first_slots();
        let mut arrays = made.get(..takes.len()).ok_or_else(broken)?.to_vec();
        takes.extend(next.earlier.iter().map(|_| Slot::One(Type::I64)));
        arrays.extend(next.earlier.iter().cloned());
        let results = self.results.clone();
        let close = self.each(&takes, &results, |lift, values| lift.closed(&after, &values))?;
        self.bind_all(in_order(Prim::Map, vec![close], arrays), "results")
    }

    fn closed(&mut self, after: &After<'_>, values: &[Atom]) -> Typed<Vec<Atom>> {
        let kind = values.first().ok_or_else(broken)?.clone();
        let results = after.outputs.results.clone();
        let own = values.get(1..=results.len()).ok_or_else(broken)?.to_vec();
        let is_leaf = self.binary(BinOp::Eq, kind, int(0), "is_leaf")?;
        self.choose(
            &results,
            is_leaf,
            |_| Ok(own),
            |lift| lift.closed_case(after, 0, values),
        )
    }

    /// The results of a call that is of this case, or of a later one.
    fn closed_case(&mut self, after: &After<'_>, case: usize, values: &[Atom]) -> Typed<Vec<Atom>> {
        if case + 1 >= after.shape.nodes.len() {
            return self.closed_node(after, case, values);
        }
        let kind = values.first().ok_or_else(broken)?.clone();
        let is_it = self.binary(BinOp::Eq, kind, int(case as i64 + 1), "is_it")?;
        self.choose(
            &after.outputs.results.clone(),
            is_it,
            |lift| lift.closed_node(after, case, values),
            |lift| lift.closed_case(after, case + 1, values),
        )
    }

    fn closed_node(&mut self, after: &After<'_>, case: usize, values: &[Atom]) -> Typed<Vec<Atom>> {
        let node = after.shape.nodes.get(case).ok_or_else(broken)?;
        let kept = values.get(after.outputs.kept_at(case)).ok_or_else(broken)?;
        let mut known = Substitution::new();
        self.adopt(&mut known, &node.kept, kept)?;
        let earlier = values.get(after.outputs.first_slots().len() + case);
        let earlier = earlier.ok_or_else(broken)?;
        let begins = after.next.begins.get(case).ok_or_else(broken)?;
        for (begin, at) in begins.iter().zip(&node.calls) {
            let place = self.binary(BinOp::Add, begin.clone(), earlier.clone(), "place")?;
            let mut found = Vec::new();
            for array in after.found {
                found.push(self.at(array, &place)?);
            }
            let call = node.body.stmts.get(*at).ok_or_else(broken)?;
            self.adopt(&mut known, &call.pattern.values, &found)?;
        }
        let stmts = node.body.stmts.iter().enumerate();
        let late = stmts.filter(|(at, _)| node.late.contains(at) && !node.calls.contains(at));
        let late: Vec<Stmt> = late.map(|(_, stmt)| stmt.clone()).collect();
        self.stmts(&late, &mut known);
        Ok(node
            .body
            .values
            .iter()
            .map(|value| known.of_atom(value))
            .collect())
    }
}
