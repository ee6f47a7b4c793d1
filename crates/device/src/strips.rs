//! Several iterations for a work-item, where one has little to do: more cells are on their way at once, and fewer work-items start.
//!
//! ```text
//! par for i < n {                      par for g < (n + 1023)/1024 {
//!   ys[i] = xs[i] * 2.0f32               items for l < 256 {
//! }                              ~~>       if 1024*g + 1024 <= n {
//!                                            for e < 4 { let i = {1024*g + 256*e + l} ys[i] = xs[i] * 2.0f32 }
//!                                          } else {
//!                                            for e < 4 { let i = {1024*g + 256*e + l} if i < n { … } }
//!                                          }
//!                                        }
//!                                      }
//! ```
//!
//! Neighbouring work-items have neighbouring iterations, as before.

use crate::fresh::Fresh;
use crate::inline::{count as count_of, with_own_names};
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
    fresh: &mut Fresh,
) -> Option<(Name, Index, Vec<Stmt>)> {
    if !is_straight(body) || count_of(body) > FEW {
        return None;
    }
    let (group, item) = (fresh.name("group"), fresh.name("item"));
    let strip = Index::constant(ITEMS * EACH);
    let groups = (count + &Index::constant(ITEMS * EACH - 1)).div(&strip);
    let first = &strip * &Index::var(group.clone());
    let whole = Expr::binary(
        BinOp::Le,
        Expr::Index(&first + &strip),
        Expr::Index(count.clone()),
    );
    let iterations = |index: &Name, inside: Vec<Stmt>, fresh: &mut Fresh| {
        let each = fresh.name("each");
        let at =
            &(&first + &(&Index::constant(ITEMS) * &Index::var(each.clone()))) + &Index::var(item.clone());
        let mut body = vec![Stmt::Let {
            name: index.clone(),
            ty: ScalarType::I64,
            value: Expr::Index(at),
        }];
        body.extend(inside);
        vec![Stmt::For {
            index: each,
            width: Width::W32,
            count: Index::constant(EACH),
            mode: LoopMode::Seq,
            body,
        }]
    };
    let then = iterations(index, body.to_vec(), fresh);
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
    let inside = Stmt::If {
        condition: Expr::binary(
            BinOp::Lt,
            Expr::Var(last_index.clone()),
            Expr::Index(count.clone()),
        ),
        then: last,
        otherwise: Vec::new(),
    };
    let otherwise = iterations(&last_index, vec![inside], fresh);
    let items = Stmt::For {
        index: item.clone(),
        width: Width::W32,
        count: Index::constant(ITEMS),
        mode: LoopMode::Items,
        body: vec![Stmt::If {
            condition: whole,
            then,
            otherwise,
        }],
    };
    Some((group, groups, vec![items]))
}

/// Whether statements are straight-line code, which may branch.
fn is_straight(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::At(_) | Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } => true,
        Stmt::If { then, otherwise, .. } => is_straight(then) && is_straight(otherwise),
        _ => false,
    })
}
