//! Sizes: reading them off values, computing polynomials, shapes of elements.

use super::{Loc, Lower, Lowered, boxed_of};
use crate::interp::code::{B, Instr, PathStep, S, Shape, SizeInstr, Target, TargetDim};
use crate::ir::{Dim, Size, Type, Var};
use almach_nat::{Atom, Poly, UnfoldedOp};
use almach_value::raw::RawTotal;
use almach_value::{Scalar, ScalarType};

impl Lower<'_, '_> {
    /// Binds sizes that stand alone as a dimension of some value, by looking at that value.
    pub(super) fn bind_sizes(&mut self, context: &[Var], typed: &[(&Type, Loc)]) -> Lowered<()> {
        for var in context {
            let found = typed.iter().find_map(|(ty, loc)| find_dimension(ty, loc, var));
            let Some((array, path)) = found else {
                return Err(format!("no value tells the size `{var}`"));
            };
            let array = boxed_of(array)?;
            let to = self.size_at(array, path);
            self.bind(var, Loc::Scalar(to, ScalarType::I64));
        }
        Ok(())
    }

    pub(super) fn size_at(&mut self, array: B, path: Vec<PathStep>) -> S {
        let to = self.scalar();
        let path = path.into();
        self.emit(Instr::Size(Box::new(SizeInstr { to, array, path })));
        to
    }

    /// A size as a number in a register. Arithmetic wraps, as that of the variables it stands for does.
    pub(super) fn size(&mut self, size: &Size) -> Lowered<S> {
        let mut sum: Option<S> = None;
        for (monomial, coefficient) in size.terms() {
            let mut product = None;
            for (atom, power) in monomial.factors() {
                let factor = self.size_atom(atom)?;
                for _ in 0..*power {
                    product = Some(self.combine(times, product, factor));
                }
            }
            let term = match product {
                Some(product) if *coefficient == 1 => product,
                product => {
                    let constant = self.scalar_of(&Loc::Const(Scalar::I64(*coefficient)))?;
                    self.combine(times, product, constant)
                }
            };
            sum = Some(self.combine(plus, sum, term));
        }
        match sum {
            Some(sum) => Ok(sum),
            None => self.scalar_of(&Loc::Const(Scalar::I64(0))),
        }
    }

    fn combine(&mut self, function: RawTotal, left: Option<S>, right: S) -> S {
        let Some(left) = left else {
            return right;
        };
        let to = self.scalar();
        self.emit(Instr::Binary {
            function,
            to,
            left,
            right,
        });
        to
    }

    fn size_atom(&mut self, atom: &Atom<Var>) -> Lowered<S> {
        let (function, left, right): (RawTotal, &Poly<Var>, &Poly<Var>) = match atom {
            Atom::Var(var) => {
                let loc = self.var(var)?;
                return self.scalar_of(&loc);
            }
            Atom::Quotient(ratio) => (quotient, &ratio.dividend, &ratio.divisor),
            Atom::Remainder(ratio) => (remainder, &ratio.dividend, &ratio.divisor),
            Atom::Unfolded(operation) => match operation.op {
                UnfoldedOp::Sum => (plus, &operation.left, &operation.right),
                UnfoldedOp::Product => (times, &operation.left, &operation.right),
            },
        };
        let left = self.size(left)?;
        let right = self.size(right)?;
        Ok(self.combine(function, Some(left), right))
    }

    /// The shape of an array's elements.
    pub(super) fn shape(&mut self, element: &Type) -> Lowered<Shape> {
        Ok(match element {
            Type::Scalar(ty) => Shape::Scalar(*ty),
            Type::Vector(width, ty) => Shape::Vector(*width as usize, *ty),
            Type::Tuple(parts) => {
                let parts: Lowered<Vec<Shape>> = parts.iter().map(|part| self.shape(part)).collect();
                Shape::Tuple(parts?.into())
            }
            Type::Array(Dim::Size(size), element) => {
                let size = self.size(size)?;
                Shape::Row(size, Box::new(self.shape(element)?))
            }
            Type::Array(Dim::Jagged, element) => Shape::Jagged(Box::new(self.shape(element)?)),
            Type::Data(_) | Type::Node(_) => Shape::Boxed,
        })
    }

    pub(super) fn target(&mut self, ty: &Type) -> Lowered<Target> {
        Ok(match ty {
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => Target::Same,
            Type::Tuple(parts) => {
                let parts: Lowered<Vec<Target>> = parts.iter().map(|part| self.target(part)).collect();
                Target::Tuple(parts?.into())
            }
            Type::Array(dim, element) => {
                let dim = match dim {
                    Dim::Size(size) => TargetDim::Size(self.size(size)?),
                    Dim::Jagged => TargetDim::Jagged,
                };
                Target::Array(dim, Box::new(self.target(element)?))
            }
        })
    }
}

/// Where a size stands alone as a dimension: in which value, and on which path.
fn find_dimension<'l>(ty: &Type, loc: &'l Loc, var: &Var) -> Option<(&'l Loc, Vec<PathStep>)> {
    match (ty, loc) {
        (Type::Tuple(types), Loc::Tuple(parts)) => types
            .iter()
            .zip(parts)
            .find_map(|(ty, part)| find_dimension(ty, part, var)),
        (Type::Array(dim, element), Loc::Boxed(_)) => {
            if is_alone(dim, var) {
                return Some((loc, Vec::new()));
            }
            let mut path = Vec::new();
            find_inside(element, var, &mut path).then_some((loc, path))
        }
        _ => None,
    }
}

fn is_alone(dim: &Dim, var: &Var) -> bool {
    matches!(dim, Dim::Size(size) if size.as_var() == Some(var))
}

/// Extends the path to a dimension within the elements of an array; says whether it was found.
fn find_inside(element: &Type, var: &Var, path: &mut Vec<PathStep>) -> bool {
    match element {
        Type::Array(dim, inner) => {
            path.push(PathStep::Row);
            if is_alone(dim, var) || find_inside(inner, var, path) {
                return true;
            }
            path.pop();
            false
        }
        Type::Tuple(parts) => (0..).zip(parts).any(|(index, part)| {
            path.push(PathStep::Part(index));
            let found = find_inside(part, var, path);
            if !found {
                path.pop();
            }
            found
        }),
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => false,
    }
}

/// Sizes that are too large stay at the largest number: one that wrapped could be that of an array which is there.
fn plus(left: u64, right: u64) -> u64 {
    (left as i64).saturating_add(right as i64) as u64
}

fn times(left: u64, right: u64) -> u64 {
    (left as i64).saturating_mul(right as i64) as u64
}

/// Floor division. A zero divisor has no size that anybody could ask for: the operation that made it has failed.
fn quotient(left: u64, right: u64) -> u64 {
    let (left, right) = (left as i64, right as i64);
    if right == 0 {
        return 0;
    }
    let truncated = left.wrapping_div(right);
    let inexact = left.wrapping_rem(right) != 0;
    let rounds_up = inexact && (left < 0) != (right < 0);
    (if rounds_up { truncated - 1 } else { truncated }) as u64
}

fn remainder(left: u64, right: u64) -> u64 {
    left.wrapping_sub(right.wrapping_mul(quotient(left, right)))
}
