//! Rows that the iterations of a kernel make: reserved for all of them before it, as many for each as it makes at most.
//!
//! ```text
//! par for i < n {                        reserve cells = S[2*n]
//!   reserve cell = S[2]                  par for i < n {
//!   S$0[cell] = xs[i]           ~~>        S$0[cells + 2*i] = xs[i]
//!   S$0[cell + 1] = xs[i]                  S$0[cells + 2*i + 1] = xs[i]
//! }                                      }
//! ```
//!
//! An iteration that takes another branch leaves its rows as they are: nobody knows their numbers. Where a branch has a
//! loop that makes cells, or makes a number of them that the program computes, or where the number is one that the iteration finds, rows are the host's.

use crate::expand::Lanes;
use crate::fresh::Fresh;
use crate::substitute::substitute;
use crate::why::Why;
use almach_base::{Name, Span};
use almach_imp::{Expr, Index, Stmt, Touched};
use almach_value::{BinOp, ScalarType};

/// A reservation inside a kernel.
struct Inside {
    name: Name,
    store: Name,
    /// For one round.
    count: Index,
    /// The loops around it: their indices, and how many rounds they have.
    loops: Vec<(Name, Index)>,
    span: Span,
}

/// What stands around a reservation.
#[derive(Clone, Default)]
struct Around {
    loops: Vec<(Name, Index)>,
    branches: bool,
}

/// Takes reservations out of the iterations of a loop. Gives what stands in front of it, and the names of the first rows.
pub(crate) fn reserved_before(
    lanes: Lanes<'_>,
    body: &mut Vec<Stmt>,
    fresh: &mut Fresh,
) -> Result<(Vec<Stmt>, Vec<Name>), Why> {
    let touched = Touched::of(&*body);
    let varies =
        |var: &Name| touched.bound.contains_key(var) || touched.assigned.contains(var) || var == lanes.index;
    let mut found = Vec::new();
    collect(body, &Around::default(), &mut found)?;
    let is_known = |index: &Index| !index.free_vars().any(varies);
    if !found
        .iter()
        .all(|one| is_known(&one.count) && one.loops.iter().all(|(_, rounds)| is_known(rounds)))
    {
        return Err(Why::MakesCells);
    }
    let (mut before, mut names) = (Vec::new(), Vec::new());
    for one in found {
        let first = fresh.name(&format!("{}_rows", one.name));
        let mut round = Index::var(lanes.index.clone());
        let mut rounds = lanes.count.clone();
        for (index, count) in &one.loops {
            round = &(&round * count) + &Index::var(index.clone());
            rounds = &rounds * count;
        }
        before.extend(reserve(&one, &first, &rounds * &one.count, fresh));
        let row = &Index::var(first.clone()) + &(&round * &one.count);
        take_out(body, &one.name);
        substitute(body, &one.name, &row);
        names.push(first);
    }
    Ok((before, names))
}

/// A loop may have less than no rounds.
fn reserve(one: &Inside, first: &Name, count: Index, fresh: &mut Fresh) -> Vec<Stmt> {
    let total = fresh.name(&format!("{first}_count"));
    vec![
        Stmt::Let {
            name: total.clone(),
            ty: ScalarType::I64,
            value: Expr::binary(BinOp::Max, Expr::Index(count), Expr::int(0)),
        },
        Stmt::Reserve {
            name: first.clone(),
            store: one.store.clone(),
            count: Index::var(total),
            span: one.span,
        },
    ]
}

fn collect(stmts: &[Stmt], around: &Around, found: &mut Vec<Inside>) -> Result<(), Why> {
    for stmt in stmts {
        match stmt {
            Stmt::Reserve {
                name,
                store,
                count,
                span,
            } => {
                let is_fixed = around.loops.is_empty() && count.as_constant().is_some();
                if around.branches && !is_fixed {
                    return Err(Why::MakesCells);
                }
                found.push(Inside {
                    name: name.clone(),
                    store: store.clone(),
                    count: count.clone(),
                    loops: around.loops.clone(),
                    span: *span,
                });
            }
            Stmt::For {
                index, count, body, ..
            } => {
                let mut inner = around.clone();
                inner.loops.push((index.clone(), count.clone()));
                collect(body, &inner, found)?;
            }
            Stmt::If { then, otherwise, .. } => {
                let inner = Around {
                    branches: true,
                    ..around.clone()
                };
                collect(then, &inner, found)?;
                collect(otherwise, &inner, found)?;
            }
            _ if stmt.blocks().into_iter().any(|block| has_reservation(block)) => {
                return Err(Why::MakesCells);
            }
            _ => {}
        }
    }
    Ok(())
}

fn has_reservation(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::Reserve { .. }) || stmt.blocks().into_iter().any(|block| has_reservation(block))
    })
}

fn take_out(stmts: &mut Vec<Stmt>, name: &Name) {
    stmts.retain(|stmt| !matches!(stmt, Stmt::Reserve { name: other, .. } if other == name));
    for stmt in stmts {
        stmt.blocks_mut()
            .into_iter()
            .for_each(|block| take_out(block, name));
    }
}

/// The names of all rows that are reserved.
pub(crate) fn reserved(stmts: &[Stmt], names: &mut impl Extend<Name>) {
    for stmt in stmts {
        if let Stmt::Reserve { name, .. } = stmt {
            names.extend([name.clone()]);
        }
        stmt.blocks().into_iter().for_each(|block| reserved(block, names));
    }
}
