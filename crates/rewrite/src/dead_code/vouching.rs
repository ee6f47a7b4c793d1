//! Arrays that vouch for a number: their size, which is an error where there is no such array.
//!
//! `length (iota n)` has become `n`, and is an error where that is negative. The same of what is cut or split: a length is never
//! negative, and never that of what cannot be. Where all is constants no number is left to tell that it is used: then what fails,
//! fails. `concat (replicate (-1) x) [y]` has the size 0, and may be gone.

use super::Live;
use almach_core::{Atom, Dim, Exp, Op, Size, SlicePart, Stmt, Type, Var};
use almach_prim::Prim;

impl Live<'_> {
    pub(super) fn vouches_for_size(&self, stmt: &Stmt) -> bool {
        match &stmt.exp {
            Exp::Slice { array, parts } => self.makes_a_number(stmt) || self.slice_fails(array, parts),
            Exp::Op(op) => match op.prim {
                Prim::Iota | Prim::Replicate => match op.args.first() {
                    Some(Atom::Var(size)) => self.vars.contains(size) && !self.sizes.contains(size),
                    Some(size @ Atom::Const(_)) => constant(size).is_some_and(|size| size < 0),
                    None => false,
                },
                Prim::Split | Prim::Take | Prim::Drop | Prim::Pad | Prim::PadEdge => {
                    self.makes_a_number(stmt) || self.cut_fails(op)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a number that is still used, and may be negative, is the size of what the statement makes.
    fn makes_a_number(&self, stmt: &Stmt) -> bool {
        let mut found = false;
        for value in &stmt.pattern.values {
            value.ty.for_each_dim(&mut |dim| {
                let Dim::Size(size) = dim else { return };
                let is_used = || self.vars.iter().any(|var| self.is_number(var, size));
                found |= !self.is_surely_natural(size) && is_used();
            });
        }
        found
    }

    fn is_number(&self, var: &Var, size: &Size) -> bool {
        let number = self.facts.env.size(&Atom::Var(var.clone()));
        !self.sizes.contains(var) && number.is_ok_and(|number| number == *size)
    }

    /// Whether a size is not negative by how it is written: what the environment knows more, it may know from the statement in
    /// question.
    fn is_surely_natural(&self, size: &Size) -> bool {
        let of_arrays = size.free_vars().all(|var| self.sizes.contains(var));
        of_arrays && size.terms().iter().all(|(_, factor)| *factor >= 0)
    }

    /// The constant size of each dimension of an array.
    fn constant_sizes(&self, array: &Atom) -> Vec<Option<i128>> {
        let (mut sizes, mut ty) = (Vec::new(), self.facts.env.atom_type(array).ok());
        while let Some(Type::Array(dim, element)) = ty {
            sizes.push(match dim {
                Dim::Size(size) => size.as_constant().map(i128::from),
                Dim::Jagged => None,
            });
            ty = Some(*element);
        }
        sizes
    }

    fn cut_fails(&self, op: &Op) -> bool {
        let size = op.args.last().map(|array| self.constant_sizes(array));
        let size = size.and_then(|sizes| sizes.first().copied().flatten());
        match (op.prim, op.args.as_slice()) {
            (Prim::Pad | Prim::PadEdge, [left, right, ..]) => [left, right]
                .map(constant)
                .into_iter()
                .flatten()
                .any(|count| count < 0),
            (Prim::Split, [part, _]) => match (constant(part), size) {
                (Some(part), Some(size)) => part < 1 || size % part != 0,
                (Some(part), None) => part < 1,
                (None, _) => false,
            },
            (Prim::Take | Prim::Drop, [count, _]) => match (constant(count), size) {
                (Some(count), Some(size)) => count < 0 || count > size,
                (Some(count), None) => count < 0,
                (None, _) => false,
            },
            _ => false,
        }
    }

    fn slice_fails(&self, array: &Atom, parts: &[SlicePart]) -> bool {
        let sizes = self.constant_sizes(array);
        sizes.iter().zip(parts).any(|(size, part)| match part {
            SlicePart::At(index) => match (constant(index), size) {
                (Some(index), Some(size)) => index < 0 || index >= *size,
                _ => false,
            },
            SlicePart::Slice { begin, count, step } => {
                match (constant(begin), constant(count), constant(step), size) {
                    (_, Some(count), _, _) if count < 0 => true,
                    (Some(begin), Some(count), Some(step), Some(size)) if count > 0 => {
                        let last = begin + (count - 1) * step;
                        begin.min(last) < 0 || begin.max(last) >= *size
                    }
                    _ => false,
                }
            }
        })
    }
}

fn constant(atom: &Atom) -> Option<i128> {
    match atom {
        Atom::Const(scalar) => scalar.as_integer(),
        Atom::Var(_) => None,
    }
}
