//! Loops that ask in every iteration whether it is the first or the last: those two are done beside the loop, which asks nothing.
//!
//! ```text
//! for i < n {                               if r | n <= 2 {
//!   if r | i == 0 | i == n - 1 {              for i < n { out[i] = xs[i] }
//!     out[i] = xs[i]                        } else {
//!   } else {                          ~~>     out[0] = xs[0]
//!     out[i] = xs[i - 1] + xs[i + 1]          for j < n - 2 { out[j + 1] = xs[j] + xs[j + 2] }
//!   }                                         out[n - 1] = xs[n - 1]
//! }                                         }
//! ```
//!
//! So does an index that is clamped, which is another one than `i - 1` in the first iteration alone: what is left of it is for
//! the proofs, which then look at the loop again.
//!
//! ```text
//! for i < n {                               xs[0] …
//!   let before = max(0, i - 1)        ~~>   for j < n - 1 { … xs[j] }
//!   … xs[before]
//! }
//! ```
//!
//! A loop inside of others that asks for the first iteration of all of them does so only where all of those are in their first one, which is
//! asked before it:
//!
//! ```text
//! for i < n {                                for i < n {
//!   simd for l < 8 {                           if 8 * i == 0 { … as it was … } else {
//!     if 8 * i + l == 0 { … } else { B } ~~>     simd for l < 8 { B }
//!   }                                          }
//! }                                          }
//! ```
//!
//! A condition is a disjunction of what is the same in all iterations, and of comparisons that hold in the first or the last one
//! alone; or the conjunction of their opposites, with the branches exchanged. This is what a stencil looks like whose border
//! is handled by an `if`: a loop without one can run on lanes, and no bounds are asked for again. (The thesis has the user write
//! destination views for it: Lin, section 7.2, Figure 7.3.)
//!
//! Removes: branches in loops. Introduces: copies of the branch for the edges. Guarantees: the same statements run, in the same order.

use crate::rename::copied;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Proc, Stmt, Width};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};
use std::collections::{HashMap, HashSet};

/// The same of a loop with clamped indices, in which nothing is decided beforehand.
const MOST_CLAMPED: usize = 60;

/// Statements that a loop may have at most: those of the edges are there three times afterwards.
const MOST: usize = 200;

/// Whether there is more to prove than before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proofs {
    AsBefore,
    Again,
}

pub(crate) fn edges(proc: &mut Proc) -> Proofs {
    let mut splitter = Splitter {
        defined: HashMap::new(),
        changing: HashSet::new(),
        counters: HashSet::new(),
        copies: 0,
        proofs: Proofs::AsBefore,
    };
    splitter.changing(&proc.body);
    splitter.block(&mut proc.body);
    splitter.proofs
}

struct Splitter {
    /// Numbers that keep their value, by their polynomials.
    defined: HashMap<Name, Index>,
    /// Scalars that are assigned somewhere.
    changing: HashSet<Name>,
    /// Indices of loops.
    counters: HashSet<Name>,
    /// Copies so far, for names.
    copies: usize,
    proofs: Proofs,
}

/// The parts of a loop whose condition asks for its edges.
struct Parts {
    /// Which part of the condition does not depend on the iteration.
    same: Option<Expr>,
    first: bool,
    last: bool,
    /// The body at an edge, and elsewhere.
    edge: Vec<Stmt>,
    middle: Vec<Stmt>,
}

impl Splitter {
    fn changing(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if let Stmt::Var { name, .. } | Stmt::Assign { name, .. } = stmt {
                self.changing.insert(name.clone());
            }
            stmt.blocks().into_iter().for_each(|inner| self.changing(inner));
        }
    }

    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        let mut result = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            if let Stmt::Let {
                name,
                ty: ScalarType::I64,
                value,
            } = &stmt
                && let Some(index) = self.number(value)
            {
                self.defined.insert(name.clone(), index);
            }
            if let Stmt::For { index, .. } = &stmt {
                self.counters.insert(index.clone());
            }
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
            match self.split(&stmt).or_else(|| self.first_of_all(&stmt)) {
                Some(split) => result.push(split),
                None => result.push(stmt),
            }
        }
        *stmts = result;
    }

    /// An expression as a polynomial over what keeps its value.
    fn number(&self, expr: &Expr) -> Option<Index> {
        let index = match expr {
            Expr::Const(Scalar::I64(value)) => Index::constant(*value),
            Expr::Var(name) => Index::var(name.clone()),
            Expr::Index(index) => index.clone(),
            _ => return None,
        };
        let stays = index.free_vars().all(|name| !self.changing.contains(name));
        stays.then(|| index.substitute(|name| self.defined.get(name).cloned()))
    }

    /// A loop without its edges, with them beside it.
    fn split(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::For {
            index,
            count,
            mode: mode @ (LoopMode::Seq | LoopMode::Simd),
            body,
            ..
        } = stmt
        else {
            return None;
        };
        let stays = count.free_vars().all(|name| !self.changing.contains(name));
        if !stays || statements(body) > MOST {
            return None;
        }
        let parts = match self.parts(index, count, body) {
            Some(parts) => parts,
            None => {
                let parts = self.clamped(index, count, body)?;
                self.proofs = Proofs::Again;
                parts
            }
        };
        let edges = i64::from(parts.first) + i64::from(parts.last);
        let few = Expr::binary(BinOp::Le, Expr::Index(count.clone()), Expr::int(edges));
        let condition = match parts.same {
            Some(same) => Expr::binary(BinOp::Or, same, few),
            None => few,
        };
        let all = self.counted(index, &Index::zero(), count.clone(), *mode, &parts.edge);
        let mut apart = Vec::new();
        if parts.first {
            apart.extend(self.once(index, &Index::zero(), &parts.edge));
        }
        let from = Index::constant(i64::from(parts.first));
        let rest = count.clone() - Index::constant(edges);
        apart.push(self.counted(index, &from, rest, *mode, &parts.middle));
        if parts.last {
            let last = count.clone() - Index::one();
            apart.extend(self.once(index, &last, &parts.edge));
        }
        Some(Stmt::If {
            condition,
            then: vec![all],
            otherwise: apart,
        })
    }

    /// An innermost loop that asks for the first iteration of itself and those around: asked before it, and not in it.
    fn first_of_all(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::For {
            index,
            count,
            mode: mode @ (LoopMode::Seq | LoopMode::Simd),
            body,
            ..
        } = stmt
        else {
            return None;
        };
        let loops = |stmt: &Stmt| matches!(stmt, Stmt::For { .. } | Stmt::While { .. });
        if statements(body) > MOST_CLAMPED || any(body, &loops) {
            return None;
        }
        let mut others = None;
        let mut rest = body.clone();
        self.without_first(&mut rest, index, &mut others);
        let first = Expr::binary(BinOp::Eq, Expr::Index(others?), Expr::int(0));
        Some(Stmt::If {
            condition: first,
            then: vec![self.counted(index, &Index::zero(), count.clone(), *mode, body)],
            otherwise: vec![self.counted(index, &Index::zero(), count.clone(), *mode, &rest)],
        })
    }

    /// Takes out the branches of a body that only the first iteration of all loops takes; what is zero there, apart from the index.
    fn without_first(&self, stmts: &mut Vec<Stmt>, index: &Name, others: &mut Option<Index>) {
        let mut result = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            if let Stmt::If {
                condition: Expr::Binary(BinOp::Eq, a, b),
                otherwise,
                ..
            } = &mut stmt
                && let (Some(a), Some(b)) = (self.number(a), self.number(b))
                && let Some(zero) = self.zero_in_first(a - b, index)
                && others.as_ref().is_none_or(|known| *known == zero)
            {
                *others = Some(zero);
                self.without_first(otherwise, index, others);
                result.append(otherwise);
                continue;
            }
            for inner in stmt.blocks_mut() {
                self.without_first(inner, index, others);
            }
            result.push(stmt);
        }
        *stmts = result;
    }

    /// `e` of `e + i`, where that is a sum of multiples of the indices of other loops, and so never negative.
    fn zero_in_first(&self, sum: Index, index: &Name) -> Option<Index> {
        let others = sum - Index::var(index.clone());
        let is_counted = others.terms().iter().all(|(_, coefficient)| *coefficient > 0)
            && others.constant_term() == 0
            && !others.has_quotients()
            && others
                .free_vars()
                .all(|name| name != index && self.counters.contains(name));
        (is_counted && !others.is_zero()).then_some(others)
    }

    /// The parts of a loop, where the first branch of its body is about its edges.
    fn parts(&self, index: &Name, count: &Index, body: &[Stmt]) -> Option<Parts> {
        let at = body.iter().position(|stmt| matches!(stmt, Stmt::If { .. }))?;
        let Some(Stmt::If {
            condition,
            then,
            otherwise,
        }) = body.get(at)
        else {
            return None;
        };
        let mut own = HashSet::from([index.clone()]);
        crate::rename::binders(body, &mut own);
        let around = Around {
            splitter: self,
            index,
            count: count.substitute(|name| self.defined.get(name).cloned()),
            own: &own,
        };
        let (asked, edge, middle) = match around.asked(condition, Sense::Holds) {
            Some(asked) => (asked, then, otherwise),
            None => (around.asked(condition, Sense::Fails)?, otherwise, then),
        };
        let with = |branch: &[Stmt]| {
            let mut stmts = body.get(..at).unwrap_or_default().to_vec();
            stmts.extend_from_slice(branch);
            stmts.extend_from_slice(body.get(at + 1..).unwrap_or_default());
            stmts
        };
        (asked.first || asked.last).then(|| Parts {
            same: asked.same,
            first: asked.first,
            last: asked.last,
            edge: with(edge),
            middle: with(middle),
        })
    }

    /// The parts of an innermost loop with clamped indices: all alike.
    fn clamped(&self, index: &Name, count: &Index, body: &[Stmt]) -> Option<Parts> {
        if statements(body) > MOST_CLAMPED || body.iter().any(|stmt| !stmt.blocks().is_empty()) {
            return None;
        }
        let mut own = HashSet::from([index.clone()]);
        crate::rename::binders(body, &mut own);
        let around = Around {
            splitter: self,
            index,
            count: count.substitute(|name| self.defined.get(name).cloned()),
            own: &own,
        };
        let mut asked = Asked::default();
        for stmt in body {
            stmt.for_each_expr(&mut |expr| around.clamps(expr, &mut asked));
        }
        (asked.first || asked.last).then(|| Parts {
            same: None,
            first: asked.first,
            last: asked.last,
            edge: body.to_vec(),
            middle: body.to_vec(),
        })
    }

    fn suffix(&mut self) -> String {
        self.copies += 1;
        format!("_e{}", self.copies)
    }

    /// A loop over iterations from some on.
    fn counted(&mut self, index: &Name, from: &Index, count: Index, mode: LoopMode, body: &[Stmt]) -> Stmt {
        let suffix = self.suffix();
        let counter = Name::from(format!("{index}{suffix}"));
        let mut body = copied(body, &suffix);
        let here = Index::var(counter.clone()) + from.clone();
        replace(&mut body, index, &here);
        Stmt::For {
            index: counter,
            width: Width::W64,
            count,
            mode,
            body,
        }
    }

    /// One iteration.
    fn once(&mut self, index: &Name, at: &Index, body: &[Stmt]) -> Vec<Stmt> {
        let suffix = self.suffix();
        let mut body = copied(body, &suffix);
        replace(&mut body, index, at);
        body
    }
}

fn any(stmts: &[Stmt], holds: &impl Fn(&Stmt) -> bool) -> bool {
    stmts
        .iter()
        .any(|stmt| holds(stmt) || stmt.blocks().into_iter().any(|inner| any(inner, holds)))
}

pub(crate) fn statements(stmts: &[Stmt]) -> usize {
    let inside = |stmt: &Stmt| {
        stmt.blocks()
            .into_iter()
            .map(|inner| statements(inner))
            .sum::<usize>()
    };
    stmts.iter().map(|stmt| 1 + inside(stmt)).sum()
}

/// Whether a condition is to hold or to fail at the edges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    Holds,
    Fails,
}

/// What a condition asks for.
#[derive(Default)]
struct Asked {
    same: Option<Expr>,
    first: bool,
    last: bool,
}

impl Asked {
    fn and(self, other: Asked) -> Asked {
        Asked {
            same: match (self.same, other.same) {
                (Some(a), Some(b)) => Some(Expr::binary(BinOp::Or, a, b)),
                (a, b) => a.or(b),
            },
            first: self.first || other.first,
            last: self.last || other.last,
        }
    }
}

/// The loop that a condition stands in.
struct Around<'a> {
    splitter: &'a Splitter,
    index: &'a Name,
    count: Index,
    /// The loop's index, and what its body binds.
    own: &'a HashSet<Name>,
}

impl Around<'_> {
    /// What a condition (or its opposite) asks for; none where it asks for something else as well.
    fn asked(&self, condition: &Expr, sense: Sense) -> Option<Asked> {
        let joins = match sense {
            Sense::Holds => BinOp::Or,
            Sense::Fails => BinOp::And,
        };
        match condition {
            Expr::Binary(op, a, b) if *op == joins => Some(self.asked(a, sense)?.and(self.asked(b, sense)?)),
            same if self.is_same(same) => Some(Asked {
                same: Some(match sense {
                    Sense::Holds => same.clone(),
                    Sense::Fails => Expr::unary(UnOp::Not, same.clone()),
                }),
                ..Asked::default()
            }),
            Expr::Binary(op, a, b) => self.edge(*op, a, b, sense),
            _ => None,
        }
    }

    /// Whether a condition is the same in every iteration.
    fn is_same(&self, expr: &Expr) -> bool {
        let stays = |name: &Name| !self.own.contains(name) && !self.splitter.changing.contains(name);
        match expr {
            Expr::Const(_) => true,
            Expr::Var(name) => stays(name),
            Expr::Index(index) => index.free_vars().all(stays),
            Expr::Load(..) => false,
            Expr::Unary(_, a) => self.is_same(a),
            Expr::Binary(_, a, b) => self.is_same(a) && self.is_same(b),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                self.is_same(a) && self.is_same(b) && self.is_same(c)
            }
        }
    }

    /// A comparison that holds (or fails) in the first or the last iteration alone.
    fn edge(&self, op: BinOp, a: &Expr, b: &Expr, sense: Sense) -> Option<Asked> {
        let (a, b) = (self.splitter.number(a)?, self.splitter.number(b)?);
        let i = Index::var(self.index.clone());
        let last = i.clone() - self.count.clone() + Index::one();
        // What is not negative at the edge, and only there.
        let (less, one) = (|a: &Index, b: &Index| b.clone() - a.clone(), Index::one());
        let not_negative = match (op, sense) {
            (BinOp::Eq, Sense::Holds) | (BinOp::Ne, Sense::Fails) => {
                let apart = less(&a, &b);
                let is = |edge: &Index| apart == *edge || apart == -edge.clone();
                return self.found(is(&i), is(&last));
            }
            (BinOp::Lt, Sense::Holds) | (BinOp::Ge, Sense::Fails) => less(&a, &b) - one,
            (BinOp::Le, Sense::Holds) | (BinOp::Gt, Sense::Fails) => less(&a, &b),
            (BinOp::Gt, Sense::Holds) | (BinOp::Le, Sense::Fails) => less(&b, &a) - one,
            (BinOp::Ge, Sense::Holds) | (BinOp::Lt, Sense::Fails) => less(&b, &a),
            _ => return None,
        };
        self.found(not_negative == -i, not_negative == last)
    }

    /// Which edges decide on the least or greatest of two numbers in an expression.
    fn clamps(&self, expr: &Expr, asked: &mut Asked) {
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) | Expr::Load(..) => {}
            Expr::Unary(_, a) => self.clamps(a, asked),
            Expr::Binary(op, a, b) => {
                self.clamps(a, asked);
                self.clamps(b, asked);
                if matches!(op, BinOp::Min | BinOp::Max) {
                    let (first, last) = self.between(a, b);
                    asked.first |= first;
                    asked.last |= last;
                }
            }
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.clamps(part, asked));
            }
        }
    }

    /// Whether two numbers change places behind the first iteration, or before the last one. Nothing is decided by that but where
    /// a loop is cut, so sums need not be proved to fit.
    fn between(&self, a: &Expr, b: &Expr) -> (bool, bool) {
        let (Some(a), Some(b)) = (self.sum(a), self.sum(b)) else {
            return (false, false);
        };
        let first = Index::var(self.index.clone());
        let last = self.count.clone() - Index::one() - first.clone();
        let apart = [a.clone() - b.clone(), b - a];
        let is = |edge: &Index| apart.iter().any(|apart| *apart == edge.clone() - Index::one());
        (is(&first), is(&last))
    }

    fn sum(&self, expr: &Expr) -> Option<Index> {
        match expr {
            Expr::Binary(BinOp::Add, a, b) => self.sum(a)?.checked_add(&self.sum(b)?),
            Expr::Binary(BinOp::Sub, a, b) => self.sum(a)?.checked_sub(&self.sum(b)?),
            other => self.splitter.number(other),
        }
    }

    fn found(&self, first: bool, last: bool) -> Option<Asked> {
        (first || last).then_some(Asked {
            same: None,
            first,
            last: last && !first,
        })
    }
}

/// Puts a number in the place of a loop's index.
pub(crate) fn replace(stmts: &mut [Stmt], name: &Name, by: &Index) {
    for stmt in stmts {
        stmt.for_each_index_mut(&mut |index| substitute(index, name, by));
        stmt.for_each_expr_mut(&mut |expr| replace_in(expr, name, by));
        stmt.blocks_mut()
            .into_iter()
            .for_each(|inner| replace(inner, name, by));
    }
}

fn substitute(index: &mut Index, name: &Name, by: &Index) {
    if index.mentions(name) {
        *index = index.substitute(|found| (found == name).then(|| by.clone()));
    }
}

fn replace_in(expr: &mut Expr, name: &Name, by: &Index) {
    match expr {
        Expr::Var(found) if found == name => *expr = Expr::Index(by.clone()),
        Expr::Const(_) | Expr::Var(_) => {}
        Expr::Index(index) | Expr::Load(_, index) => substitute(index, name, by),
        Expr::Unary(_, a) => replace_in(a, name, by),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| replace_in(part, name, by)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| replace_in(part, name, by));
        }
    }
}
