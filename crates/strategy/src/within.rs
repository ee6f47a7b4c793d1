//! Which elements of arrays a function may read without a test: it is applied to the numbers `0 … n - 1`, and what it reads is there for all of
//! them. The lanes of a processor can read those together.
//!
//! ```text
//! map (\i ->
//!   let x = text[i]                    -- there: 0 <= i < n
//!   let r = if i == 0 then true else
//!     let j = i - 1
//!     let y = text[j]                  -- there: 1 <= i < n
//!     in …
//! ```
//!
//! The indices are polynomials over integers without quotients, and arithmetic of `i64` agrees with them up to multiples of 2^64: one that is
//! proved to be at least 0 and below a size is the index itself.

use almach_core::visit::{Walk, walk_exp};
use almach_core::{Atom, Body, Dim, Exp, Function, Lambda, Size, Stmt, Type, Var};
use almach_nat::{Range, Ranges};
use almach_prim::Prim;
use almach_rewrite::facts::Facts;
use almach_value::{BinOp, Scalar};
use std::collections::{HashMap, HashSet};

/// The arrays of a function that are `iota n`.
pub(crate) fn numbers(function: &Function) -> HashSet<Var> {
    struct Numbers(HashSet<Var>);
    impl Walk for Numbers {
        fn stmt(&mut self, stmt: &Stmt) {
            if let Exp::Op(op) = &stmt.exp
                && op.prim == Prim::Iota
            {
                let values = stmt.pattern.values.iter();
                self.0.extend(values.map(|value| value.var.clone()));
            }
            walk_exp(self, &stmt.exp);
        }
    }
    let mut found = Numbers(HashSet::new());
    found.body(&function.body);
    found.0
}

/// The names of elements that a function reads within bounds, given the arrays it is applied to the elements of.
pub(crate) fn reads_within(
    function: &Lambda,
    arrays: &[Atom],
    numbers: &HashSet<Var>,
    facts: &Facts,
) -> HashSet<Var> {
    let mut within = Within {
        facts,
        ranges: Ranges::unknown(),
        conditions: HashMap::new(),
        found: HashSet::new(),
    };
    for (param, array) in function.params.iter().zip(arrays) {
        if let Atom::Var(var) = array
            && numbers.contains(var)
            && let Ok(Type::Array(Dim::Size(size), _)) = facts.env.atom_type(array)
        {
            within.sizes(&size);
            within.ranges.set(param.var.clone(), Range::below(&size));
        }
    }
    within.body(&function.body);
    within.found
}

struct Within<'f> {
    facts: &'f Facts,
    ranges: Ranges<Var>,
    /// Comparisons that have names.
    conditions: HashMap<Var, (BinOp, Atom, Atom)>,
    found: HashSet<Var>,
}

impl Within<'_> {
    /// The variables of the size of an array are sizes.
    fn sizes(&mut self, size: &Size) {
        for var in size.free_vars() {
            if self.facts.env.is_not_negative(&Size::var(var.clone())) {
                self.ranges.set(var.clone(), Range::natural());
            }
        }
    }

    fn body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            match (&stmt.exp, stmt.pattern.values.as_slice()) {
                (Exp::Index { array, indices }, [value]) if self.is_within(array, indices) => {
                    self.found.insert(value.var.clone());
                }
                (Exp::Binary(op, a, b), [value]) => {
                    self.conditions
                        .insert(value.var.clone(), (*op, a.clone(), b.clone()));
                }
                (
                    Exp::If {
                        condition,
                        then,
                        otherwise,
                        ..
                    },
                    _,
                ) => {
                    for (branch, holds) in [(then, true), (otherwise, false)] {
                        let mark = self.ranges.mark();
                        self.assume(condition, holds);
                        self.body(branch);
                        self.ranges.rewind(mark);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_within(&self, array: &Atom, indices: &[Atom]) -> bool {
        let Ok(mut ty) = self.facts.env.atom_type(array) else {
            return false;
        };
        indices.iter().all(|index| {
            let (Type::Array(Dim::Size(size), element), Some(index)) = (&ty, self.index(index)) else {
                return false;
            };
            let last = size.clone() - Size::one() - &index;
            let within = self.ranges.is_nonneg(&index) && self.ranges.is_nonneg(&last);
            ty = (**element).clone();
            within
        })
    }

    /// An `i64` as a polynomial over integers, which it is equal to up to multiples of 2^64.
    fn index(&self, atom: &Atom) -> Option<Size> {
        match self.facts.env.atom_type(atom) {
            Ok(Type::Scalar(ty)) if ty == Scalar::I64(0).ty() => {}
            _ => return None,
        }
        let index = self.facts.env.size(atom).ok()?;
        (!index.has_quotients()).then_some(index)
    }

    /// Learns from a condition; of equalities, that a number is not the first or last of its range.
    fn assume(&mut self, condition: &Atom, holds: bool) {
        let Atom::Var(var) = condition else { return };
        let Some((op, a, b)) = self.conditions.get(var).cloned() else {
            return;
        };
        let (Some(a), Some(b)) = (self.small(&a), self.small(&b)) else {
            return;
        };
        let one = Size::one();
        match (op, holds) {
            (BinOp::Lt, true) | (BinOp::Ge, false) => self.ranges.assume_nonneg(b - a - one),
            (BinOp::Le, true) | (BinOp::Gt, false) => self.ranges.assume_nonneg(b - a),
            (BinOp::Gt, true) | (BinOp::Le, false) => self.ranges.assume_nonneg(a - b - one),
            (BinOp::Ge, true) | (BinOp::Lt, false) => self.ranges.assume_nonneg(a - b),
            (BinOp::Eq, false) | (BinOp::Ne, true) => {
                let apart = a - b;
                let back = -apart.clone();
                if self.ranges.is_nonneg(&apart) {
                    self.ranges.assume_nonneg(apart - one);
                } else if self.ranges.is_nonneg(&back) {
                    self.ranges.assume_nonneg(back - one);
                }
            }
            _ => {}
        }
    }

    /// The same, where it is surely equal: a constant, or a number that is not negative and not above a size.
    fn small(&self, atom: &Atom) -> Option<Size> {
        let index = self.index(atom)?;
        let is_number = index.as_constant().is_some() || index.as_var().is_some();
        let sizes: Vec<&Var> = index.free_vars().collect();
        let below = |var: &Var| {
            let upper = self.ranges.range(var).upper.clone();
            upper.is_some_and(|upper| self.ranges.is_nonneg(&(upper - index.clone())))
        };
        let fits = is_number || (self.ranges.is_nonneg(&index) && sizes.into_iter().any(below));
        fits.then_some(index)
    }
}
