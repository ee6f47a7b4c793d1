//! Equations between sizes, and sizes that come into and go out of scope.

use crate::solver::{
    Equation, Flavour, Level, Place, Replaced, SizeChecks, Solver, VarKind, map_type, size_here, walk_type,
};
use crate::tree::{Dim, Size, Type, TypeVar, Var};
use crate::unify::Mismatch;
use almach_base::Span;
use almach_nat::Poly;

/// What forgetting sizes did to a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Forgotten {
    Nothing,
    /// The size of the array itself: the value is the same.
    Known,
    /// Rows now have sizes of their own: the value changes its representation.
    Regularity,
}

impl Solver {
    /// Makes two sizes equal, now or at the end of the definition. `found` and `expected` are for messages.
    pub fn equate(&mut self, found: &Size, expected: &Size) -> Result<(), Mismatch> {
        match self.try_equate(found, expected) {
            Equated::Yes => Ok(()),
            Equated::No(_) if self.size_checks == SizeChecks::AtRunTime => Ok(()),
            Equated::No(mismatch) => Err(mismatch),
            Equated::Later => {
                self.equations.push(Equation {
                    found: found.clone(),
                    expected: expected.clone(),
                    cause: self.cause.clone(),
                });
                Ok(())
            }
        }
    }

    /// Solves what can be solved by now; what is wrong comes back.
    pub fn retry_equations(&mut self) -> Vec<(Equation, Mismatch)> {
        let mut wrong = Vec::new();
        let mut progress = !self.equations.is_empty();
        while progress {
            progress = false;
            for equation in std::mem::take(&mut self.equations) {
                match self.try_equate(&equation.found, &equation.expected) {
                    Equated::Yes => progress = true,
                    Equated::No(_) if self.size_checks == SizeChecks::AtRunTime => {}
                    Equated::No(mismatch) => wrong.push((equation, mismatch)),
                    Equated::Later => self.equations.push(equation),
                }
            }
        }
        wrong
    }

    fn try_equate(&mut self, found: &Size, expected: &Size) -> Equated {
        let (found, expected) = (self.size(found), self.size(expected));
        let difference = &found - &expected;
        if difference.is_zero() {
            return Equated::Yes;
        }
        let mut open: Vec<(Flavour, Level, Var)> = difference
            .free_vars()
            .filter_map(|var| {
                let info = self.var_info(var)?;
                match info.kind {
                    VarKind::Open(flavour) => Some((flavour, info.level, var.clone())),
                    _ => None,
                }
            })
            .collect();
        if open.is_empty() {
            return Equated::No(Mismatch::Sizes { found, expected });
        }
        open.sort_by_key(|(flavour, level, _)| (*flavour, std::cmp::Reverse(*level)));
        let alone = |var: &Var| {
            let is_other_variable = |solution: Size| solution.as_var().is_some();
            found.as_var() == Some(var)
                || expected.as_var() == Some(var)
                || difference.solve_for(var).is_some_and(is_other_variable)
        };
        let (count, mut escape) = (open.len(), None);
        for (_, level, var) in open {
            if count > 1 && !alone(&var) {
                continue;
            }
            let Some(solution) = difference.solve_for(&var) else {
                continue;
            };
            match self.deeper_atom(&solution, level) {
                None => {
                    self.lower_size(&solution, level);
                    self.set_var_kind(&var, VarKind::Solved(solution));
                    return Equated::Yes;
                }
                Some(atom) => escape = Some(atom),
            }
        }
        match escape {
            Some(_) if count == 1 || found.as_var().is_some() && expected.as_var().is_some() => {
                Equated::No(Mismatch::Sizes { found, expected })
            }
            _ => Equated::Later,
        }
    }

    /// A variable of the size that is bound deeper than `level` and cannot be moved out.
    pub fn deeper_atom(&self, size: &Size, level: Level) -> Option<Var> {
        size.occurrences()
            .find(|var| {
                self.var_info(var)
                    .is_some_and(|info| info.level > level && !matches!(info.kind, VarKind::Open(_)))
            })
            .cloned()
    }

    /// Whether the size mentions what is bound deeper than `level`, other than by the type it stands in.
    pub fn escapes(&self, size: &Size, level: Level, bound: &[Var]) -> bool {
        size.occurrences().any(|var| {
            !bound.contains(var)
                && self
                    .var_info(var)
                    .is_some_and(|info| info.level > level && !matches!(info.kind, VarKind::Open(_)))
        })
    }

    /// Open sizes in it now belong to `level` at most.
    pub fn lower_size(&mut self, size: &Size, level: Level) {
        let open: Vec<Var> = size
            .occurrences()
            .filter(|var| self.is_open_size(var))
            .cloned()
            .collect();
        for var in open {
            if let Some(info) = self.var_mut(&var) {
                info.level = info.level.min(level);
            }
        }
    }

    /// The type as seen from `level`: sizes bound deeper become `?`, and what is still open now belongs to `level`.
    /// `binders` are parameters that the type itself will bind.
    pub fn close(&mut self, ty: &Type, level: Level, binders: &[Var]) -> (Type, Forgotten) {
        let ty = self.resolve(ty);
        let mut forgotten = Forgotten::Nothing;
        let mut bound = binders.to_vec();
        collect_binders(&ty, &mut bound);
        let closed = {
            let this = &*self;
            map_type(&ty, &mut |_| Replaced::Descend, &mut |dim, place| match dim {
                Dim::Size(size) => {
                    if !this.escapes(size, level, &bound) {
                        return dim.clone();
                    }
                    forgotten = forgotten.max(match place {
                        Place::Outer | Place::Field => Forgotten::Known,
                        Place::Inner => Forgotten::Regularity,
                    });
                    Dim::Unknown
                }
                Dim::Unknown => Dim::Unknown,
            })
        };
        self.lower(&closed, level);
        (closed, forgotten)
    }

    /// What is open in the type belongs to `level` from now on.
    pub fn lower(&mut self, ty: &Type, level: Level) {
        let (mut types, mut sizes): (Vec<TypeVar>, Vec<Size>) = (Vec::new(), Vec::new());
        let resolved = self.resolve(ty);
        walk_type(&resolved, &mut |part| {
            if let Type::Var(var) = part {
                types.push(var.clone());
            }
            sizes.extend(size_here(part).cloned());
        });
        for var in types {
            if let Some(info) = self.type_var_mut(&var)
                && matches!(info.binding, crate::solver::TypeBinding::Open)
            {
                info.level = info.level.min(level);
            }
        }
        for size in sizes {
            self.lower_size(&size, level);
        }
    }

    /// Unknown sizes of the value itself get a name each: what a `?` at the outermost place means where it is bound.
    pub fn open(&mut self, ty: &Type, span: Span, of: &str) -> Type {
        if !self.has_outer_unknown(ty) {
            return ty.clone();
        }
        let ty = self.resolve(ty);
        map_type(
            &ty,
            &mut |_| Replaced::Descend,
            &mut |dim, place| match (dim, place) {
                (Dim::Unknown, Place::Outer) => {
                    Dim::Size(self.unknown_size(span, format!("the size of {of}")))
                }
                _ => dim.clone(),
            },
        )
    }

    fn has_outer_unknown(&self, ty: &Type) -> bool {
        match self.head(ty) {
            Type::Array(Dim::Unknown, _) => true,
            Type::Tuple(parts) => parts.iter().any(|part| self.has_outer_unknown(part)),
            Type::Record(fields) => fields.iter().any(|(_, ty)| self.has_outer_unknown(ty)),
            _ => false,
        }
    }

    /// A copy in which every open size is a fresh one: the same shape, to be compared later.
    pub fn with_fresh_sizes(&mut self, ty: &Type, span: Span) -> Type {
        let ty = self.resolve(ty);
        map_type(&ty, &mut |_| Replaced::Descend, &mut |dim, _| match dim {
            Dim::Size(size) if size.occurrences().any(|var| self.is_open_size(var)) => {
                Dim::Size(self.fresh_size(Flavour::Flexible, span))
            }
            _ => dim.clone(),
        })
    }

    /// Whether a size of the type is still open.
    pub fn has_open_size(&self, ty: &Type) -> bool {
        let resolved = self.resolve(ty);
        let mut found = false;
        walk_type(&resolved, &mut |part| {
            if let Some(size) = size_here(part) {
                found |= size.occurrences().any(|var| self.is_open_size(var));
            }
        });
        found
    }

    /// Whether the sizes are known to be equal, without solving anything.
    pub fn same_size(&self, a: &Size, b: &Size) -> bool {
        self.size(a) == self.size(b)
    }

    /// The size of `slide size step xs` where the array is surely long enough for its formula.
    pub fn windows(&self, array: &Size, size: &Size, step: &Size) -> Option<Size> {
        let (array, size, step) = (self.size(array), self.size(size), self.size(step));
        let numerator = array - size + &step;
        let ranges = self.ranges_of(&numerator);
        let steps = self.ranges_of(&step);
        (ranges.is_nonneg(&numerator) && steps.is_positive(&step)).then(|| numerator.div(&step))
    }
}

enum Equated {
    Yes,
    No(Mismatch),
    Later,
}

/// The parameters that function types inside this type bind.
pub(crate) fn collect_binders(ty: &Type, into: &mut Vec<Var>) {
    walk_type(ty, &mut |part| {
        if let Type::Function(function) = part {
            into.extend(function.binder.clone());
        }
    });
}

/// Puts sizes for variables.
pub(crate) fn substitute_sizes(ty: &Type, replacement: &dyn Fn(&Var) -> Option<Size>) -> Type {
    map_type(ty, &mut |_| Replaced::Descend, &mut |dim, _| match dim {
        Dim::Size(size) => Dim::Size(size.substitute(replacement)),
        Dim::Unknown => Dim::Unknown,
    })
}

/// A size that is one variable.
pub(crate) fn var_size(var: &Var) -> Size {
    Poly::var(var.clone())
}
