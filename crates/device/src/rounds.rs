//! Rounds of a `while` loop in a kernel, several at a time: one jump for all of them, and their arithmetic overlaps.
//!
//! ```text
//! while go {                              while go {
//!   go = c                                  let x_before = x
//!   if go { x = f(x) }                      var all: bool = c
//! }                                ~~>      x = f(x)
//!                                           all = all & c
//!                                           x = f(x) …                        -- eight times
//!                                           if !all {
//!                                             x = x_before
//!                                             while go { go = c if go { x = f(x) } }
//!                                           }
//!                                         }
//! ```
//!
//! Rounds that the loop does not have are computed and forgotten, so they must be arithmetic that cannot fail and reads no memory: a few
//! operations more for the work-items of a group that end, none for those that go on. Of conditions on a number that grows by a constant
//! the first and the last of the eight say it all.

use crate::fresh::Fresh;
use crate::inline::{count as count_of, with_own_names};
use almach_base::Name;
use almach_imp::{Expr, Stmt, Touched};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};
use std::collections::{BTreeMap, HashMap};

/// Rounds that are done together.
const ROUNDS: i64 = 8;

/// The most statements of a round, of which there are so many copies.
const FEW: usize = 16;

/// A loop whose rounds may be done before it is known whether they are wanted.
struct Loop<'a> {
    /// What says whether it goes on.
    go: &'a Name,
    condition: &'a Expr,
    round: &'a [Stmt],
}

/// Does the rounds of loops several at a time, where that is possible.
pub(crate) fn several(stmts: &mut [Stmt], fresh: &mut Fresh) {
    let types = Touched::of(&*stmts).bound;
    in_block(stmts, &types, fresh);
}

fn in_block(stmts: &mut [Stmt], types: &BTreeMap<Name, ScalarType>, fresh: &mut Fresh) {
    for stmt in stmts {
        stmt.blocks_mut()
            .into_iter()
            .for_each(|block| in_block(block, types, fresh));
        if let Some(other) = Loop::of(stmt).and_then(|found| found.in_rounds(types, fresh)) {
            *stmt = other;
        }
    }
}

impl<'a> Loop<'a> {
    fn of(stmt: &'a Stmt) -> Option<Loop<'a>> {
        let Stmt::While {
            condition: Expr::Var(go),
            body,
        } = stmt
        else {
            return None;
        };
        let body: Vec<&Stmt> = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_))).collect();
        let [
            Stmt::Assign { name, value },
            Stmt::If {
                condition: Expr::Var(asked),
                then,
                otherwise,
            },
        ] = body.as_slice()
        else {
            return None;
        };
        let is_loop = name == go && asked == go && otherwise.is_empty();
        let own = Touched::of(then).mentions(go) || Touched::of_expr(value).mentions(go);
        let free = is_free(value) && then.iter().all(is_free_statement);
        (is_loop && free && !own && count_of(then) <= FEW).then_some(Loop {
            go,
            condition: value,
            round: then,
        })
    }

    fn in_rounds(&self, types: &BTreeMap<Name, ScalarType>, fresh: &mut Fresh) -> Option<Stmt> {
        let touched = Touched::of(self.round);
        let (mut body, mut back, mut done) = (Vec::new(), Vec::new(), Vec::new());
        let mut round = self.round.to_vec();
        let mut last = Vec::new();
        for name in touched.results() {
            let ty = *types.get(name)?;
            if self.is_carried(name) {
                let before = fresh.name(&format!("{name}_before"));
                body.push(bind(before.clone(), ty, Expr::Var(name.clone())));
                back.push(assign(name.clone(), Expr::Var(before)));
            } else {
                last.push((name, of_a_round(name, ty, &mut round)?));
            }
        }
        let all = fresh.name("all");
        let mut conditions = Vec::new();
        conjuncts(self.condition, &mut conditions);
        let steps = steps(self.round);
        body.push(Stmt::Var {
            name: all.clone(),
            ty: ScalarType::Bool,
            value: Some(self.condition.clone()),
        });
        body.extend(with_own_names(&round, fresh));
        for number in 1..ROUNDS {
            let is_last = number == ROUNDS - 1;
            let asked = conditions.iter().copied();
            let asked = asked.filter(|condition| is_last || !is_count(condition, &steps));
            let value = asked.fold(Expr::Var(all.clone()), |value, one| {
                Expr::binary(BinOp::And, value, one.clone())
            });
            body.push(assign(all.clone(), value));
            let copy = with_own_names(&round, fresh);
            if is_last {
                for (name, at) in &last {
                    if let Some(Stmt::Let { name: value, .. }) = copy.get(*at) {
                        done.push(assign((*name).clone(), Expr::Var(value.clone())));
                    }
                }
            }
            body.extend(copy);
        }
        back.push(self.one_by_one(fresh));
        body.push(Stmt::If {
            condition: Expr::unary(UnOp::Not, Expr::Var(all)),
            then: back,
            otherwise: done,
        });
        Some(Stmt::While {
            condition: Expr::Var(self.go.clone()),
            body,
        })
    }

    /// Whether a round needs what the one before has left in a variable.
    fn is_carried(&self, name: &Name) -> bool {
        if Touched::of_expr(self.condition).read.contains(name) {
            return true;
        }
        let first = self
            .round
            .iter()
            .map(|stmt| Touched::of([stmt]))
            .find(|touched| touched.mentions(name));
        first.is_some_and(|touched| touched.read.contains(name))
    }

    /// The loop as it was.
    fn one_by_one(&self, fresh: &mut Fresh) -> Stmt {
        Stmt::While {
            condition: Expr::Var(self.go.clone()),
            body: vec![
                Stmt::Assign {
                    name: self.go.clone(),
                    value: self.condition.clone(),
                },
                Stmt::If {
                    condition: Expr::Var(self.go.clone()),
                    then: with_own_names(self.round, fresh),
                    otherwise: Vec::new(),
                },
            ],
        }
    }
}

fn bind(name: Name, ty: ScalarType, value: Expr) -> Stmt {
    Stmt::Let { name, ty, value }
}

fn assign(name: Name, value: Expr) -> Stmt {
    Stmt::Assign { name, value }
}

/// Makes what a round assigns once, before it reads it, a name of that round; where that is bound.
fn of_a_round(name: &Name, ty: ScalarType, round: &mut [Stmt]) -> Option<usize> {
    let mut found = None;
    for (at, stmt) in round.iter_mut().enumerate() {
        match stmt {
            Stmt::Assign { name: to, value } if to == name => {
                if found.is_some() {
                    return None;
                }
                found = Some(at);
                *stmt = bind(name.clone(), ty, value.clone());
            }
            _ => {}
        }
    }
    found
}

/// Arithmetic of a few operations that cannot fail.
fn is_free(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Var(_) => true,
        Expr::Index(index) => !index.has_quotients(),
        Expr::Load(..) => false,
        Expr::Unary(op, a) => {
            let cheap = matches!(
                op,
                UnOp::Neg | UnOp::Not | UnOp::Complement | UnOp::Abs | UnOp::Convert(_)
            );
            cheap && is_free(a)
        }
        Expr::Binary(op, a, b) => {
            let costs = matches!(
                op,
                BinOp::Div | BinOp::Rem | BinOp::Pow | BinOp::Shl | BinOp::Shr | BinOp::Atan2 | BinOp::Hypot
            );
            !costs && is_free(a) && is_free(b)
        }
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => [a, b, c].into_iter().all(|part| is_free(part)),
    }
}

fn is_free_statement(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::At(_) => true,
        Stmt::Let { value, .. } | Stmt::Assign { value, .. } => is_free(value),
        _ => false,
    }
}

fn conjuncts<'e>(condition: &'e Expr, out: &mut Vec<&'e Expr>) {
    match condition {
        Expr::Binary(BinOp::And, a, b) => [a, b].into_iter().for_each(|part| conjuncts(part, out)),
        other => out.push(other),
    }
}

/// By how much variables grow in every round, where that is a constant.
fn steps(round: &[Stmt]) -> HashMap<&Name, i64> {
    // What names are by now: another one's value before the round, and a number more.
    let mut now: HashMap<&Name, Option<(&Name, i64)>> = HashMap::new();
    for stmt in round {
        if let Stmt::Let { name, value, .. } | Stmt::Assign { name, value } = stmt {
            let sum = sum(value, &now);
            now.insert(name, sum);
        }
    }
    let grown = now.into_iter().filter_map(|(name, sum)| match sum {
        Some((from, by)) if from == name => Some((name, by)),
        _ => None,
    });
    grown.collect()
}

fn sum<'e>(expr: &'e Expr, now: &HashMap<&'e Name, Option<(&'e Name, i64)>>) -> Option<(&'e Name, i64)> {
    match expr {
        Expr::Var(name) => now.get(name).copied().unwrap_or(Some((name, 0))),
        Expr::Binary(BinOp::Add, a, b) => {
            let (from, by) = sum(a, now)?;
            Some((from, by.checked_add(number(b)?)?))
        }
        _ => None,
    }
}

/// A number that is no more than 32 bits wide.
fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(Scalar::I32(value)) => Some(i64::from(*value)),
        Expr::Const(Scalar::I64(value)) => i32::try_from(*value).ok().map(i64::from),
        _ => None,
    }
}

/// Whether a condition says that something that grows is below a constant: where it holds in the first round and in the last one, it
/// holds in those between, for sums are not too large there.
fn is_count(condition: &Expr, steps: &HashMap<&Name, i64>) -> bool {
    let Expr::Binary(BinOp::Lt | BinOp::Le, counter, end) = condition else {
        return false;
    };
    let (Expr::Var(counter), Some(end)) = (&**counter, number(end)) else {
        return false;
    };
    let most = i64::from(i32::MAX);
    steps
        .get(counter)
        .is_some_and(|by| (0..=most / (2 * ROUNDS)).contains(by) && end <= most - ROUNDS * by)
}
