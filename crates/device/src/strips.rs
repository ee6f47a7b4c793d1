//! Several iterations for a work-item, where one has little to do: more cells are on their way at once, and fewer work-items start.
//!
//! ```text
//! par for i < n {                      par for g < (n + 1023)/1024 {
//!   ys[i] = xs[i] * 2.0f32               items for l < 256 {
//! }                              ~~>       if 1024*g + 1024 <= n {
//!                                            let at = {1024*g + l}
//!                                            let load = xs[at] let load_2 = xs[at + 256] …
//!                                            ys[at] = load * 2.0f32 …
//!                                          } else {
//!                                            for e < 4 { let i = {1024*g + 256*e + l} if i < n { … } }
//!                                          }
//!                                        }
//!                                      }
//! ```
//!
//! Neighbouring work-items have neighbouring iterations, as before. The four iterations are done [`together`](crate::together), away
//! from the edges ([`inside`](crate::inside)).

use crate::fresh::Fresh;
use crate::inline::{count as count_of, with_own_names};
use crate::inside::{Stretch, inside};
use crate::substitute::substitute;
use crate::tiles::Types;
use crate::together::together;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Stmt, Width};
use almach_value::{BinOp, ScalarType};

/// Work-items of a group.
const ITEMS: i64 = 256;

/// Iterations of a work-item.
const EACH: i64 = 4;

/// The most statements of an iteration that is little.
const FEW: usize = 24;

/// A loop over groups in place of a parallel loop: its index, its count and its body. None where iterations are not little, or may
/// fail.
pub(crate) fn in_strips(
    index: &Name,
    count: &Index,
    body: &[Stmt],
    types: &Types,
    fresh: &mut Fresh,
) -> Option<(Name, Index, Vec<Stmt>)> {
    if !is_straight(body) || count_of(body) > FEW {
        return None;
    }
    let (group, item) = (fresh.name("group"), fresh.name("item"));
    let strip = Index::constant(ITEMS * EACH);
    let groups = (count + &Index::constant(ITEMS * EACH - 1)).div(&strip);
    let first = &strip * &Index::var(group.clone());
    let behind = &first + &strip;
    let place = Stretch {
        name: index,
        first: first.clone(),
        last: &behind - &Index::constant(1),
        count,
    };
    let inner = inside(body, &[place]);
    let whole = Expr::binary(BinOp::Le, Expr::Index(behind), Expr::Index(count.clone()));
    let conditions = inner.conditions.into_iter();
    let whole = conditions.fold(whole, |all, one| Expr::binary(BinOp::And, all, one));
    let at = fresh.name("at");
    let mut then = vec![number(at.clone(), &first + &Index::var(item.clone()))];
    let each = (0..EACH).map(|each| &Index::var(at.clone()) + &Index::constant(ITEMS * each));
    then.extend(together(copies(index, &inner.body, each, fresh), types, fresh));
    let mut last = vec![Stmt::Let {
        name: index.clone(),
        ty: ScalarType::I64,
        value: Expr::int(0),
    }];
    last.extend(body.iter().cloned());
    let mut last = with_own_names(&last, fresh);
    let Stmt::Let { name: last_index, .. } = last.remove(0) else {
        return None;
    };
    let some = Stmt::If {
        condition: Expr::binary(
            BinOp::Lt,
            Expr::Var(last_index.clone()),
            Expr::Index(count.clone()),
        ),
        then: last,
        otherwise: Vec::new(),
    };
    let each = fresh.name("each");
    let rounds = &Index::constant(ITEMS) * &Index::var(each.clone());
    let otherwise = Stmt::For {
        index: each,
        width: Width::W32,
        count: Index::constant(EACH),
        mode: LoopMode::Seq,
        body: vec![
            number(last_index, &(&first + &rounds) + &Index::var(item.clone())),
            some,
        ],
    };
    let items = Stmt::For {
        index: item.clone(),
        width: Width::W32,
        count: Index::constant(ITEMS),
        mode: LoopMode::Items,
        body: vec![Stmt::If {
            condition: whole,
            then,
            otherwise: vec![otherwise],
        }],
    };
    Some((group, groups, vec![items]))
}

/// Iterations under names of their own, at these places.
pub(crate) fn copies(
    index: &Name,
    body: &[Stmt],
    places: impl IntoIterator<Item = Index>,
    fresh: &mut Fresh,
) -> Vec<Vec<Stmt>> {
    let at = |place: Index| {
        let mut copy = with_own_names(body, fresh);
        substitute(&mut copy, index, &place);
        copy
    };
    places.into_iter().map(at).collect()
}

fn number(name: Name, value: Index) -> Stmt {
    Stmt::Let {
        name,
        ty: ScalarType::I64,
        value: Expr::Index(value),
    }
}

/// Whether statements are straight-line code, which may branch.
fn is_straight(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::At(_) | Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } => true,
        Stmt::If { then, otherwise, .. } => is_straight(then) && is_straight(otherwise),
        _ => false,
    })
}
