//! A slice of a `map`: the map of slices, which computes no more than is looked at, and fuses further.
//!
//! ```text
//! let ys: [n]f32 = map f xs            let part: [k]f32 = xs[b:+k:s]
//! let zs: [k]f32 = ys[b:+k:s]     =>   let zs: [k]f32 = map f part
//! ```
//!
//! `take` and `drop` are slices too. The slice may fail; what the map computes must not, since less of it is computed.

use super::{Fuser, bound, position};
use almach_base::Span;
use almach_core::{Atom, Dim, Exp, Op, Param, SlicePart, Stmt, Type};
use almach_prim::Prim;

impl Fuser<'_> {
    /// The array that a statement takes a slice of, along its outermost dimension only.
    pub(super) fn sliced(stmt: &Stmt) -> Option<&Atom> {
        match &stmt.exp {
            Exp::Slice { array, parts } if matches!(parts.as_slice(), [SlicePart::Slice { .. }]) => {
                Some(array)
            }
            Exp::Op(op) if matches!(op.prim, Prim::Take | Prim::Drop) => op.args.get(1),
            _ => None,
        }
    }

    /// The map over slices of its arrays, and the statements that slice those.
    pub(super) fn slice_of_map(&mut self, consumer: &Stmt, made: &Stmt) -> Option<(Exp, Vec<Stmt>)> {
        let Exp::Op(giver) = &made.exp else { return None };
        let ([whole], [part]) = (made.pattern.values.as_slice(), consumer.pattern.values.as_slice()) else {
            return None;
        };
        let is_of_it = position(Fuser::sliced(consumer)?, &made.pattern).is_some();
        let moves = giver.prim == Prim::Map
            && !self.facts.can_fail(&made.exp)
            && !self.facts.holds_fixed(&made.exp)
            && !self.facts.prints(&made.exp);
        if !is_of_it || !moves || self.uses.of(&whole.var) != 1 || !consumer.pattern.context.is_empty() {
            return None;
        }
        let Type::Array(size, _) = &part.ty else {
            return None;
        };
        let mut setup = Vec::new();
        let mut args = Vec::with_capacity(giver.args.len());
        for array in &giver.args {
            let slice = sliced_instead(&consumer.exp, array)?;
            args.push(self.slice(slice, size, array, consumer.span, &mut setup)?);
        }
        let map = Op {
            args,
            ..giver.clone()
        };
        Some((Exp::Op(map), setup))
    }

    fn slice(
        &mut self,
        slice: Exp,
        size: &Dim,
        array: &Atom,
        span: Span,
        setup: &mut Vec<Stmt>,
    ) -> Option<Atom> {
        let Ok(Type::Array(_, element)) = self.facts.env.atom_type(array) else {
            return None;
        };
        let part = Param {
            var: self.supply.fresh("part"),
            ty: Type::Array(size.clone(), element),
        };
        let atom = Atom::Var(part.var.clone());
        setup.push(bound(part, slice, span));
        Some(atom)
    }
}

/// The same slice of another array.
fn sliced_instead(slice: &Exp, array: &Atom) -> Option<Exp> {
    match slice {
        Exp::Slice { parts, .. } => Some(Exp::Slice {
            array: array.clone(),
            parts: parts.clone(),
        }),
        Exp::Op(op) => {
            let count = op.args.first()?.clone();
            Some(Exp::Op(Op {
                args: vec![count, array.clone()],
                ..op.clone()
            }))
        }
        _ => None,
    }
}
