//! Does at compile time what loops, tests and checks on the way already tell: checks that hold and branches that are decided
//! go, and index arithmetic is simplified with the ranges of its variables.
//!
//! ```text
//! for i < n {                                          for i < n {
//!   if (i == 0) | (i == n - 1) { … } else {              if (i == 0) | (i == n - 1) { … } else {
//!     let before: i64 = i - 1                     ~~>
//!     check (before >= 0) & (before < n) else …            ys[i] = xs[i - 1]
//!     ys[i] = xs[before]
//! ```
//!
//! Removes: checks, branches, quotients. Introduces: nothing. Guarantees: the same results and errors. Sums of `i64` wrap and
//! indices do not, so a sum becomes an index only where it is proved to fit.

mod conditions;
mod numbers;
mod room;
mod wrapping;

use crate::widths;
use almach_base::Name;
use almach_imp::facts::Facts;
use almach_imp::interface::Entry;
use almach_imp::naturals::{Naturals, callers_first};
use almach_imp::{Argument, Expr, Index, Passing, Proc, Stmt, Width};
use almach_nat::Monomial;
use almach_value::{Scalar, ScalarType};
use std::collections::HashMap;

/// Simplifies procedures, callers first: what they pass tells what is known of the others' parameters.
pub(crate) fn simplify(procs: &mut [Proc], entries: &[Entry]) {
    let (mut naturals, order) = {
        let all: Vec<&Proc> = procs.iter().collect();
        let find = |name: &Name| all.iter().copied().find(|proc| proc.name == *name);
        let sizes: Vec<(&Name, Vec<Name>)> = entries
            .iter()
            .filter_map(|entry| Some((&entry.proc, entry.sizes(find(&entry.proc)?))))
            .collect();
        let exported = sizes.iter().map(|(name, sizes)| (*name, &**sizes));
        (Naturals::of(exported, &all), callers_first(&all))
    };
    for at in order {
        let Some(proc) = procs.get_mut(at) else { continue };
        let mut prover = Prover::default();
        for name in naturals.params(proc) {
            prover.facts.set_natural(&name);
        }
        for param in &proc.params {
            if param.passing == Passing::Value {
                prover.kept.insert(param.name.clone(), param.ty);
            }
        }
        prover.block(&mut proc.body);
        for (callee, natural) in prover.calls {
            naturals.call(&callee, natural);
        }
    }
}

#[derive(Default)]
struct Prover {
    facts: Facts,
    /// Scalars that keep their value, and their types.
    kept: HashMap<Name, ScalarType>,
    /// What names of conditions stand for.
    conditions: HashMap<Name, Expr>,
    /// What names of small indices stand for.
    indices: HashMap<Name, Index>,
    /// Calls, and which of their arguments are never negative.
    calls: Vec<(Name, Vec<bool>)>,
    /// How many cells the blocks have that were allocated on the way, as products of names.
    blocks: Vec<Monomial<Name>>,
}

impl Prover {
    /// What is learnt in a block is forgotten at its end.
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        let (mark, blocks) = (self.facts.mark(), self.blocks.len());
        let mut result = Vec::with_capacity(stmts.len());
        for stmt in stmts.drain(..) {
            self.stmt(stmt, &mut result);
        }
        *stmts = result;
        self.facts.forget_since(mark);
        self.blocks.truncate(blocks);
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        match &mut stmt {
            Stmt::Let { name, ty, value } => match self.wrapped(value) {
                Some(wrapped) if *ty == ScalarType::I64 => {
                    let remainder = std::mem::replace(value, wrapped);
                    self.define_remainder(name, value, &remainder);
                }
                _ => {
                    self.expr(value);
                    self.define(name, *ty, value);
                }
            },
            Stmt::Var { value, .. } => value.iter_mut().for_each(|value| self.expr(value)),
            Stmt::Assign { value, .. } => self.expr(value),
            Stmt::Store { index, value, .. } => {
                self.index(index);
                self.expr(value);
            }
            Stmt::Alloc { size, .. } => {
                self.index(size);
                // More than there can be, or a number of cells.
                self.learn_nonneg(size.clone());
                self.learn_block(size);
            }
            Stmt::Reserve { name, count, .. } => {
                self.index(count);
                self.learn_nonneg(count.clone());
                self.kept.insert(name.clone(), ScalarType::I64);
                self.facts.set_natural(name);
            }
            Stmt::Copy {
                to_index,
                from_index,
                count,
                ..
            } => [to_index, from_index, count]
                .into_iter()
                .for_each(|index| self.index(index)),
            Stmt::For {
                index,
                width,
                count,
                body,
                ..
            } => {
                self.index(count);
                let fits = Index::constant(Width::W32.most()) - &*count;
                if self.stays(count) && widths::is_converted(index, body) && self.facts.is_nonneg(&fits) {
                    *width = Width::W32;
                }
                self.kept.insert(index.clone(), ScalarType::I64);
                let mark = self.facts.mark();
                if self.stays(count) {
                    self.facts.enter_loop(index, count);
                } else {
                    self.facts.set_natural(index);
                }
                self.block(body);
                self.facts.forget_since(mark);
            }
            Stmt::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            Stmt::If { .. } => return self.branch(stmt, out),
            Stmt::Check {
                condition, arguments, ..
            } => {
                self.expr(condition);
                if self.decide(condition) == Some(Truth::Holds) {
                    return;
                }
                arguments.iter_mut().for_each(|argument| self.expr(argument));
                let condition = condition.clone();
                out.push(stmt);
                self.assume(&condition, Truth::Holds);
                return;
            }
            Stmt::Call { proc, arguments, .. } => {
                let mut natural = Vec::new();
                for argument in &mut *arguments {
                    natural.push(match argument {
                        Argument::Value(value) => {
                            self.expr(value);
                            self.number(value)
                                .is_some_and(|index| self.facts.is_nonneg(&index))
                        }
                        Argument::Buffer(_, index) => {
                            self.index(index);
                            false
                        }
                        Argument::Out(_) | Argument::Owned(_) => false,
                    });
                }
                self.calls.push((proc.clone(), natural));
            }
            Stmt::Foreign { arguments, .. } | Stmt::Trace { arguments, .. } => {
                arguments.iter_mut().for_each(|argument| match argument {
                    Argument::Value(value) => self.expr(value),
                    Argument::Buffer(_, index) => self.index(index),
                    Argument::Out(_) | Argument::Owned(_) => {}
                });
            }
            Stmt::Shrink { size, .. } => self.index(size),
            Stmt::Borrow { first, count, .. } => {
                [first, count].into_iter().for_each(|index| self.index(index))
            }
            Stmt::Atomic { step, index, .. } => {
                self.index(index);
                step.value_mut().into_iter().for_each(|value| self.expr(value));
                if let Some((name, ty)) = step.bound() {
                    self.kept.insert(name.clone(), ty);
                }
            }
            Stmt::Await { index, value, .. } => {
                self.index(index);
                self.expr(value);
            }
            Stmt::Buffer { .. } | Stmt::Free(_) | Stmt::Swap(..) | Stmt::Barrier | Stmt::At(_) => {}
            // Kernels are made of what comes out of here.
            Stmt::Kernel { .. } | Stmt::Transfer(_) => {}
        }
        out.push(stmt);
    }

    fn branch(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let Stmt::If {
            condition,
            then,
            otherwise,
        } = &mut stmt
        else {
            return;
        };
        self.expr(condition);
        match self.decide(condition) {
            // Names are bound once in a procedure: the branch may stand in the block around.
            Some(truth) => {
                let taken = match truth {
                    Truth::Holds => then,
                    Truth::Fails => otherwise,
                };
                for stmt in std::mem::take(taken) {
                    self.stmt(stmt, out);
                }
            }
            None => {
                for (block, truth) in [(then, Truth::Holds), (otherwise, Truth::Fails)] {
                    let mark = self.facts.mark();
                    self.assume(condition, truth);
                    self.block(block);
                    self.facts.forget_since(mark);
                }
                out.push(stmt);
            }
        }
    }

    fn define(&mut self, name: &Name, ty: ScalarType, value: &mut Expr) {
        self.kept.insert(name.clone(), ty);
        if ty == ScalarType::Bool {
            self.conditions.insert(name.clone(), value.clone());
            return;
        }
        if ty != ScalarType::I64 {
            return;
        }
        match self.number(value) {
            Some(index) => {
                self.facts.define(name, &index);
                if is_small(&index) {
                    self.indices.insert(name.clone(), index.clone());
                }
                *value = match index.as_constant() {
                    Some(constant) => Expr::Const(Scalar::I64(constant)),
                    None => Expr::Index(index),
                };
            }
            None => self.learn_bounds(name, value),
        }
    }

    /// Whether all names in an index keep their values.
    fn stays(&self, index: &Index) -> bool {
        index.free_vars().all(|name| self.kept.contains_key(name))
    }

    fn learn_nonneg(&mut self, index: Index) {
        if self.stays(&index) {
            self.facts.assume_nonneg(index);
        }
    }

    /// Names of small indices are written out, and quotients simplified.
    fn index(&mut self, index: &mut Index) {
        let indices = &self.indices;
        if index.free_vars().any(|name| indices.contains_key(name)) {
            *index = index.substitute(|name| indices.get(name).cloned());
        }
        if index.has_quotients() {
            *index = self.facts.simplify(index);
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Const(_) | Expr::Var(_) => {}
            Expr::Index(index) | Expr::Load(_, index) => self.index(index),
            Expr::Unary(_, argument) => self.expr(argument),
            Expr::Binary(op, left, right) => {
                self.expr(left);
                self.expr(right);
                if let Some(one) = self.surely_one(*op, left, right) {
                    *expr = one;
                }
            }
            Expr::Ternary(_, a, b, c) => [a, b, c].into_iter().for_each(|part| self.expr(part)),
            Expr::Select(condition, then, otherwise) => {
                self.expr(condition);
                match self.decide(condition) {
                    Some(truth) => {
                        let taken = match truth {
                            Truth::Holds => then,
                            Truth::Fails => otherwise,
                        };
                        self.expr(taken);
                        *expr = (**taken).clone();
                    }
                    None => {
                        for (part, truth) in [(then, Truth::Holds), (otherwise, Truth::Fails)] {
                            let mark = self.facts.mark();
                            self.assume(condition, truth);
                            self.expr(part);
                            self.facts.forget_since(mark);
                        }
                    }
                }
            }
        }
    }
}

/// What a condition is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    Holds,
    Fails,
}

impl Truth {
    fn not(self) -> Truth {
        match self {
            Truth::Holds => Truth::Fails,
            Truth::Fails => Truth::Holds,
        }
    }
}

/// A variable with a constant added: writing it out makes no text longer.
fn is_small(index: &Index) -> bool {
    let linear = |(monomial, coefficient): &(almach_nat::Monomial<Name>, i64)| {
        monomial.is_one() || (*coefficient == 1 && monomial.degree() == 1)
    };
    index.terms().len() <= 2 && !index.has_quotients() && index.terms().iter().all(linear)
}

#[cfg(test)]
mod tests;
