//! What statements and functions hand on beside their values.

use super::{Checked, Checker, Rule, Scope, broken};
use crate::ir::{FunctionMemory, Kind, key};
use crate::leaves::{Leaf, leaves};
use almach_core::{Exp, Function, Size, Stmt};
use almach_value::ScalarType;

impl Checker<'_> {
    /// A statement's own bindings, after its bodies.
    pub(super) fn head(&mut self, stmt: &Stmt, ends: &usize) -> Checked<()> {
        let Some(head) = key(stmt).and_then(|key| self.memory.heads.get(key)) else {
            return Ok(());
        };
        let makes = !matches!(&stmt.exp, Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_));
        for item in &head.items {
            let expected = if makes { 0 } else { *ends };
            if item.given.len() != expected {
                let message = format!(
                    "`{}` is given {} times, not {expected}",
                    item.var,
                    item.given.len()
                );
                return broken(Rule::Heads, message);
            }
            self.bind_memory(&item.var, item.kind, None)?;
        }
        Ok(())
    }

    /// What is given at the end of a body, in its scope.
    pub(super) fn given_at(&self, stmt: &Stmt, at: usize) -> Checked<()> {
        let head = key(stmt).and_then(|key| self.memory.heads.get(key));
        for item in head.into_iter().flat_map(|head| &head.items) {
            match item.given.get(at) {
                Some(given) => self.given(item, given)?,
                None => return broken(Rule::Heads, format!("`{}` is not given at every end", item.var)),
            }
        }
        Ok(())
    }

    /// The blocks of a function's results, at its end.
    pub(super) fn results(&mut self, function: &Function, memory: &FunctionMemory) -> Checked<()> {
        let wanted: Vec<Leaf> = function.result.types.iter().flat_map(leaves).collect();
        let mut kinds = Vec::new();
        wanted.iter().for_each(|leaf| part_kinds(leaf, &mut kinds));
        if kinds.len() != memory.results.len() {
            let message = format!(
                "`{}` has {} blocks for {} arrays",
                function.name,
                memory.results.len(),
                kinds.len()
            );
            return broken(Rule::Heads, message);
        }
        for (item, kind) in memory.results.iter().zip(kinds) {
            let [given] = item.given.as_slice() else {
                return broken(Rule::Heads, format!("`{}` is not given once", item.var));
            };
            self.given(item, given)?;
            if item.kind != kind {
                return broken(
                    Rule::Elements,
                    format!("`{}` has other elements than its array", item.var),
                );
            }
            self.bind_memory(&item.var, item.kind, None)?;
        }
        Ok(())
    }
}

/// The blocks and integers that say where a leaf is.
fn part_kinds(leaf: &Leaf, out: &mut Vec<Kind>) {
    match leaf {
        Leaf::Cells { element, .. } => out.push(Kind::Block(*element)),
        Leaf::Rows { .. } => {
            out.extend([Kind::Block(ScalarType::I64), Kind::Integer]);
            let elements = leaf.elements(&Size::one());
            elements.iter().for_each(|leaf| part_kinds(leaf, out));
        }
        Leaf::Held => {}
    }
}
