//! What is known about the values of names that keep them.
//!
//! Facts are learnt on the way into a block and forgotten at its end. A question is answered with those that have to do
//! with it, however many there are.

use crate::ir::{Expr, Index};
use almach_base::Name;
use almach_nat::{Poly, Range, Ranges, Ratio};
use almach_value::BinOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// No question looks at more facts than this.
const MOST: usize = 64;

#[derive(Clone, Default, Debug)]
pub struct Facts {
    learnt: Vec<Learnt>,
    /// Which facts mention a name.
    about: FxHashMap<Name, Vec<usize>>,
    /// How many facts were ever learnt.
    count: u32,
    /// Answers to [`Facts::is_nonneg`], by the question and the facts it is answered with: the same question is asked of an index
    /// wherever it stands, and of its parts with it.
    answers: RefCell<FxHashMap<(Index, Vec<u32>), bool>>,
}

#[derive(Clone, Debug)]
struct Learnt {
    fact: Fact,
    /// No other fact has it, before or after.
    number: u32,
}

#[derive(Clone, Debug)]
enum Fact {
    /// The value of a name is in a range.
    Range(Name, Range<Name>),
    /// A polynomial is not negative.
    NotNegative(Index),
}

/// How many facts there were at some point.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl Facts {
    pub fn mark(&self) -> Mark {
        Mark(self.learnt.len())
    }

    /// Forgets what was learnt since.
    pub fn forget_since(&mut self, mark: Mark) {
        for learnt in self.learnt.drain(mark.0..).rev() {
            for name in learnt.fact.names() {
                if let Some(about) = self.about.get_mut(name) {
                    about.pop();
                }
            }
        }
    }

    fn learn(&mut self, fact: Fact) {
        for name in fact.names() {
            self.about
                .entry(name.clone())
                .or_default()
                .push(self.learnt.len());
        }
        let number = self.count;
        self.learnt.push(Learnt { fact, number });
        self.count += 1;
    }

    pub fn set_natural(&mut self, name: &Name) {
        self.learn(Fact::Range(name.clone(), Range::natural()));
    }

    /// Inside a loop: the index is below the count, and there is at least one iteration.
    pub fn enter_loop(&mut self, index: &Name, count: &Index) {
        self.learn(Fact::Range(index.clone(), Range::below(count)));
        self.assume_nonneg(count - &Poly::one());
    }

    /// A name is bound to the value of an index.
    pub fn define(&mut self, name: &Name, index: &Index) {
        // Quotients of quotients are only seen to be equal without names for them.
        let index = match index.has_quotients() {
            true => index.substitute(|name| self.definition(name).cloned()),
            false => index.clone(),
        };
        self.learn(Fact::Range(name.clone(), Range::between(index.clone(), index)));
    }

    /// The index that a name is bound to, where that is known.
    fn definition(&self, name: &Name) -> Option<&Index> {
        let about = self.about.get(name)?.iter().rev();
        about
            .filter_map(|at| self.learnt.get(*at))
            .find_map(|learnt| match &learnt.fact {
                Fact::Range(of, range) if of == name && range.lower == range.upper => range.lower.as_ref(),
                _ => None,
            })
    }

    pub fn assume_nonneg(&mut self, index: Index) {
        if index.as_constant().is_none() {
            self.learn(Fact::NotNegative(index));
        }
    }

    /// What follows from a condition that holds, where it compares indices. `stays` says which names keep their value.
    pub fn assume(&mut self, condition: &Expr, stays: &impl Fn(&Name) -> bool) {
        let Expr::Binary(op, left, right) = condition else {
            return;
        };
        if *op == BinOp::And {
            self.assume(left, stays);
            self.assume(right, stays);
            return;
        }
        let (Some(left), Some(right)) = (left.as_index(), right.as_index()) else {
            return;
        };
        if !left.free_vars().chain(right.free_vars()).all(stays) {
            return;
        }
        match op {
            BinOp::Lt => self.assume_nonneg(right - left - Poly::one()),
            BinOp::Le => self.assume_nonneg(right - left),
            BinOp::Gt => self.assume_nonneg(left - right - Poly::one()),
            BinOp::Ge => self.assume_nonneg(left - right),
            BinOp::Eq => {
                self.assume_nonneg(&left - &right);
                self.assume_nonneg(right - left);
            }
            _ => {}
        }
    }

    /// Whether an index is never negative.
    pub fn is_nonneg(&self, index: &Index) -> bool {
        match index.as_constant() {
            Some(value) => value >= 0,
            None => {
                let facts = self.facts_about([index]);
                let numbers = facts.iter().map(|learnt| learnt.number).collect();
                let question = (index.clone(), numbers);
                if let Some(known) = self.answers.borrow().get(&question) {
                    return *known;
                }
                let answer = ranges(facts).is_nonneg(index);
                self.answers.borrow_mut().insert(question, answer);
                answer
            }
        }
    }

    /// The same value with fewer quotients.
    pub fn simplify(&self, index: &Index) -> Index {
        self.relevant([index]).simplify(index)
    }

    /// Names in the upper bounds of the names of an index.
    pub fn above(&self, index: &Index) -> Vec<Name> {
        let mut found = Vec::new();
        for name in index.free_vars() {
            for at in self.about.get(name).into_iter().flatten() {
                if let Some(Fact::Range(of, range)) = self.learnt.get(*at).map(|learnt| &learnt.fact)
                    && of == name
                {
                    found.extend(range.upper.iter().flat_map(|upper| upper.free_vars().cloned()));
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Whether an expression is an index that is never negative.
    pub fn is_natural(&self, expr: &Expr) -> bool {
        expr.as_index().is_some_and(|index| self.is_nonneg(&index))
    }

    /// Whether C's division of these is the floor. (A divisor is never zero where a quotient is computed.)
    pub fn divides_like_c(&self, ratio: &Ratio<Name>) -> bool {
        let ranges = self.relevant([&ratio.dividend, &ratio.divisor]);
        ranges.is_nonneg(&ratio.dividend) && ranges.is_nonneg(&ratio.divisor)
    }

    /// What is known of the names in some polynomials, and of the names in that, and so on.
    fn relevant<'p>(&'p self, polys: impl IntoIterator<Item = &'p Index>) -> Ranges<Name> {
        ranges(self.facts_about(polys))
    }

    /// The facts about the names in some polynomials, and about the names in those facts, and so on; the latest first.
    fn facts_about<'p>(&'p self, polys: impl IntoIterator<Item = &'p Index>) -> Vec<&'p Learnt> {
        let mut open: Vec<&Name> = polys.into_iter().flat_map(|poly| poly.free_vars()).collect();
        let mut seen: FxHashSet<&Name> = FxHashSet::default();
        let mut used: FxHashSet<usize> = FxHashSet::default();
        let mut found = Vec::new();
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            for at in self.about.get(name).into_iter().flatten().rev() {
                let Some(learnt) = self.learnt.get(*at).filter(|_| used.insert(*at)) else {
                    continue;
                };
                found.push(learnt);
                // There may be thousands of others.
                if found.len() == MOST {
                    return found;
                }
                open.extend(learnt.fact.names());
            }
        }
        found
    }
}

/// A range replaces what was known of its name, so other facts wait for all ranges.
fn ranges(facts: Vec<&Learnt>) -> Ranges<Name> {
    let mut ranges = Ranges::unknown();
    for learnt in &facts {
        if let Fact::Range(name, range) = &learnt.fact {
            ranges.set(name.clone(), range.clone());
        }
    }
    for learnt in facts {
        if let Fact::NotNegative(index) = &learnt.fact {
            ranges.assume_nonneg(index.clone());
        }
    }
    ranges
}

impl Fact {
    /// The names in it, each once.
    fn names(&self) -> Vec<&Name> {
        let mut names: Vec<&Name> = match self {
            Fact::Range(name, range) => {
                let bounds = [&range.lower, &range.upper].into_iter().flatten();
                bounds.flat_map(|bound| bound.free_vars()).chain([name]).collect()
            }
            Fact::NotNegative(index) => index.free_vars().collect(),
        };
        names.sort();
        names.dedup();
        names
    }
}
