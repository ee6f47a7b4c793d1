//! One element of a `map`: it is computed where it is looked at, and the array need not be there for it.
//!
//! ```text
//! let ds: [k]f32 = map (\(c: f32): f32 ->         let ds: [k]f32 = map … cs
//!   let d: f32 = c * c                        =>  let c: f32 = cs[0]
//!   in d) cs                                      let d: f32 = c * c
//! let first: f32 = ds[0]                          let first: f32 = d
//! ```
//!
//! The arrays of the map are as long as its result, so the index is tested against the same size.

use super::{Fuser, copy};
use crate::facts::is_fixed;
use almach_core::visit::{Walk, fresh_lambda};
use almach_core::{Atom, Exp, Lambda, Stmt, Type, Var};
use almach_prim::Prim;
use std::collections::HashMap;

/// Statements that are done again rather than kept in memory.
const FEW: usize = 8;

impl Fuser<'_> {
    /// The statements of an element of a map that the statement looks at, and a copy of it instead.
    pub(super) fn element_of_map(
        &mut self,
        stmt: &mut Stmt,
        before: &[Option<Stmt>],
        made_by: &HashMap<Var, usize>,
    ) -> Vec<Stmt> {
        let Some((function, arrays, index)) = self.element(stmt, before, made_by) else {
            return Vec::new();
        };
        let function = fresh_lambda(&function, self.supply);
        let mut setup = Vec::new();
        for (param, array) in function.params.iter().zip(&arrays) {
            let element = Exp::Index {
                array: array.clone(),
                indices: vec![index.clone()],
            };
            setup.push(Stmt {
                exp: element,
                ..copy(param.clone(), index.clone(), stmt.span)
            });
        }
        setup.extend(function.body.stmts);
        if let (Exp::Index { array, .. }, Some(value)) = (&stmt.exp, function.body.values.first()) {
            if let Atom::Var(var) = array {
                *self.looked_at.entry(var.clone()).or_insert(0) += 1;
            }
            self.log
                .note(stmt.span, "an element of `map` is computed where it is looked at");
            stmt.exp = Exp::Atom(value.clone());
        }
        for stmt in &setup {
            self.uses.exp(&stmt.exp);
            self.facts.learn(stmt);
        }
        setup
    }

    /// The function of the map that a statement looks at an element of, its arrays, and the index.
    fn element(
        &self,
        stmt: &Stmt,
        before: &[Option<Stmt>],
        made_by: &HashMap<Var, usize>,
    ) -> Option<(Lambda, Vec<Atom>, Atom)> {
        let Exp::Index { array, indices } = &stmt.exp else {
            return None;
        };
        let (Atom::Var(var), [index]) = (array, indices.as_slice()) else {
            return None;
        };
        let made = before.get(*made_by.get(var)?)?.as_ref()?;
        let Exp::Op(op) = &made.exp else { return None };
        let ([function], [_]) = (op.functions.as_slice(), made.pattern.values.as_slice()) else {
            return None;
        };
        let is_scalar = |ty: &Type| matches!(ty, Type::Scalar(_));
        let is_plain = op.prim == Prim::Map
            && !is_fixed(op)
            && function.context.is_empty()
            && function.result.context.is_empty()
            && function.params.iter().all(|param| is_scalar(&param.ty))
            && function.result.types.iter().all(is_scalar);
        let is_little = function.body.stmts.len() <= FEW
            && function.body.stmts.iter().all(|stmt| {
                matches!(
                    stmt.exp,
                    Exp::Atom(_) | Exp::Unary(..) | Exp::Binary(..) | Exp::Ternary(..)
                )
            });
        (is_plain && is_little && !self.facts.body_can_fail(&function.body)).then(|| {
            let arrays = op.args.clone();
            (function.clone(), arrays, index.clone())
        })
    }
}
