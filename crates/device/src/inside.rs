//! Iterations away from the edges: what they ask about their place is answered for a whole group beforehand.
//!
//! ```text
//! let before = max(i - 1, 0)                     -- where 1024*g - 1 > 0 and 1024*g + 1023 < last
//! if i == last {                                 let before = i - 1
//!   ys[i] = xs[i]                        ~~>     ys[i] = xs[before] + xs[i + 1]
//! } else {
//!   ys[i] = xs[before] + xs[i + 1]
//! }
//! ```
//!
//! A comparison of a place with what is the same for all iterations has a usual answer: a place lies above a number near the start and
//! below any other one. Where a group has only places for which all answers are the usual ones, nothing is asked again, and loads
//! that stood in branches can be on their way together ([`together`](crate::together)).

use almach_base::Name;
use almach_imp::{Expr, Index, Stmt, Touched};
use almach_nat::Atom;
use almach_value::{BinOp, Scalar, UnOp};
use std::collections::{HashMap, HashSet};

/// No number that is added to a place is greater, so that sums with places, which count cells, are never too large.
const MOST_ADDED: i64 = 1 << 31;

/// The same of what places are multiplied with.
const MOST_TIMES: i64 = 1 << 12;

/// The places of a group in one dimension: from the first to the last one, out of so many.
pub(crate) struct Stretch<'a> {
    pub(crate) name: &'a Name,
    pub(crate) first: Index,
    pub(crate) last: Index,
    pub(crate) count: &'a Index,
}

/// What a group does where all answers are the usual ones, and the conditions for that.
pub(crate) struct Inside {
    pub(crate) conditions: Vec<Expr>,
    pub(crate) body: Vec<Stmt>,
}

/// Answers what a body asks about places.
pub(crate) fn inside(body: &[Stmt], stretches: &[Stretch<'_>]) -> Inside {
    let touched = Touched::of(body);
    let bound = touched.bound.into_keys().chain(touched.assigned);
    let mut answers = Answers {
        stretches,
        own: bound.collect(),
        known: HashMap::new(),
        conditions: Vec::new(),
    };
    let body = answers.block(body.to_vec());
    Inside {
        conditions: answers.conditions,
        body,
    }
}

struct Answers<'a> {
    stretches: &'a [Stretch<'a>],
    /// What the body binds or assigns.
    own: HashSet<Name>,
    /// Names whose value is known now.
    known: HashMap<Name, bool>,
    conditions: Vec<Expr>,
}

/// Where places usually are, beside a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

impl Side {
    fn opposite(self) -> Side {
        match self {
            Side::Above => Side::Below,
            Side::Below => Side::Above,
        }
    }
}

/// The least and the greatest value that an index has in a group, and the number of places.
struct Range<'a> {
    least: Index,
    most: Index,
    count: &'a Index,
}

impl<'a> Answers<'a> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::new();
        for mut stmt in stmts {
            stmt.for_each_expr_mut(&mut |expr| self.expr(expr));
            match stmt {
                Stmt::If {
                    condition,
                    then,
                    otherwise,
                } => match truth(&condition) {
                    Some(true) => out.extend(self.block(then)),
                    Some(false) => out.extend(self.block(otherwise)),
                    None => out.push(Stmt::If {
                        condition,
                        then: self.block(then),
                        otherwise: self.block(otherwise),
                    }),
                },
                Stmt::Let { name, ty, value } => match truth(&value) {
                    Some(value) => {
                        self.known.insert(name, value);
                    }
                    None => out.push(Stmt::Let { name, ty, value }),
                },
                other => out.push(other),
            }
        }
        out
    }

    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Const(_) | Expr::Index(_) | Expr::Load(..) => {}
            Expr::Var(name) => {
                if let Some(value) = self.known.get(name) {
                    *expr = constant(*value);
                }
            }
            Expr::Unary(op, a) => {
                self.expr(a);
                if let (UnOp::Not, Some(value)) = (*op, truth(a)) {
                    *expr = constant(!value);
                }
            }
            Expr::Binary(op, a, b) => {
                self.expr(a);
                self.expr(b);
                if let Some(answer) = self.answer(*op, a, b) {
                    *expr = answer;
                }
            }
            Expr::Ternary(_, a, b, c) => [a, b, c].into_iter().for_each(|part| self.expr(part)),
            Expr::Select(condition, then, otherwise) => {
                [&mut *condition, &mut *then, &mut *otherwise]
                    .into_iter()
                    .for_each(|part| self.expr(part));
                if let Some(value) = truth(condition) {
                    *expr = if value {
                        (**then).clone()
                    } else {
                        (**otherwise).clone()
                    };
                }
            }
        }
    }

    fn answer(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Option<Expr> {
        match op {
            BinOp::And => joined(a, b, true),
            BinOp::Or => joined(a, b, false),
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                let side = self.side(a, b)?;
                Some(constant(match op {
                    BinOp::Eq => false,
                    BinOp::Ne => true,
                    BinOp::Lt | BinOp::Le => side == Side::Below,
                    _ => side == Side::Above,
                }))
            }
            BinOp::Min | BinOp::Max => {
                let side = self.side(a, b)?;
                let first = (side == Side::Below) == (op == BinOp::Min);
                Some(if first { a.clone() } else { b.clone() })
            }
            _ => None,
        }
    }

    /// On which side of the second number the first one usually is, where one of them is a place; notes the condition.
    fn side(&mut self, a: &Expr, b: &Expr) -> Option<Side> {
        let (a, b) = (a.as_index()?, b.as_index()?);
        if let Some(range) = self.range(&a).filter(|_| self.is_outside(&b)) {
            let side = usual(&range, &b);
            self.require(range, b, side);
            return Some(side);
        }
        let range = self.range(&b).filter(|_| self.is_outside(&a))?;
        let side = usual(&range, &a);
        self.require(range, a, side);
        Some(side.opposite())
    }

    fn require(&mut self, range: Range<'_>, other: Index, side: Side) {
        let (low, high) = match side {
            Side::Above => (other, range.least),
            Side::Below => (range.most, other),
        };
        let condition = Expr::binary(BinOp::Lt, Expr::Index(low), Expr::Index(high));
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
    }

    /// The values of a place, or of one with a number added.
    fn range(&self, index: &Index) -> Option<Range<'a>> {
        self.stretches.iter().find_map(|stretch| {
            let (by, rest) = index.linear_in(&Atom::Var(stretch.name.clone()))?;
            let (by, rest) = (by.as_constant()?, rest.as_constant()?);
            if !(1..=MOST_TIMES).contains(&by) || rest.abs() > MOST_ADDED {
                return None;
            }
            let at = |place: &Index| &(&Index::constant(by) * place) + &Index::constant(rest);
            Some(Range {
                least: at(&stretch.first),
                most: at(&stretch.last),
                count: stretch.count,
            })
        })
    }

    fn is_outside(&self, index: &Index) -> bool {
        let is_place = |name: &Name| self.stretches.iter().any(|stretch| stretch.name == name);
        index
            .free_vars()
            .all(|name| !is_place(name) && !self.own.contains(name))
    }
}

fn truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Const(Scalar::Bool(value)) => Some(*value),
        _ => None,
    }
}

fn constant(value: bool) -> Expr {
    Expr::Const(Scalar::Bool(value))
}

/// What is left of a conjunction (`neutral` is true) or a disjunction.
fn joined(a: &Expr, b: &Expr, neutral: bool) -> Option<Expr> {
    match (truth(a), truth(b)) {
        (Some(value), _) if value == neutral => Some(b.clone()),
        (_, Some(value)) if value == neutral => Some(a.clone()),
        (Some(_), _) | (_, Some(_)) => Some(constant(!neutral)),
        (None, None) => None,
    }
}

/// Places lie above numbers near the start, and below others.
fn usual(range: &Range<'_>, other: &Index) -> Side {
    match (other.as_constant(), range.count.as_constant()) {
        (Some(other), Some(count)) if other > count / 2 => Side::Below,
        (Some(_), _) => Side::Above,
        (None, _) => Side::Below,
    }
}
