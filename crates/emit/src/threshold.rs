//! From how many iterations on a loop is worth starting threads. This changes no value, so it is decided here, by the work of
//! the loop's body.

use almach_imp::{Expr, Stmt};

/// Scalar operations that take about as long as starting threads and waiting for them.
const FORK: i64 = 1 << 16;

/// What a call, or a loop with a condition, is taken to repeat.
const UNKNOWN: i64 = 64;

/// What a loop with a number of iterations that is not known is taken to repeat. Too few is worse than too many: threads
/// with little to do cost some microseconds, a few long rows on one thread cost all the other cores.
const UNKNOWN_LOOP: i64 = 1 << 12;

/// The least number of iterations that threads share; at least two.
pub fn iterations_for_threads(body: &[Stmt]) -> i64 {
    (FORK / block(body).max(1)).max(2)
}

fn block(stmts: &[Stmt]) -> i64 {
    stmts.iter().map(stmt).fold(0, i64::saturating_add)
}

fn stmt(stmt: &Stmt) -> i64 {
    match stmt {
        Stmt::Let { value, .. } | Stmt::Assign { value, .. } => expr(value),
        Stmt::Store { value, .. } => 1 + expr(value),
        Stmt::Var { value, .. } => value.as_ref().map_or(0, expr),
        Stmt::Check { condition, .. } => 1 + expr(condition),
        Stmt::For { count, body, .. } => {
            let times = count.as_constant().unwrap_or(UNKNOWN_LOOP);
            times.saturating_mul(block(body).max(1))
        }
        Stmt::While { condition, body } => UNKNOWN.saturating_mul(expr(condition) + block(body)),
        Stmt::If {
            condition,
            then,
            otherwise,
        } => expr(condition).saturating_add(block(then).max(block(otherwise))),
        Stmt::Copy { count, .. } => count.as_constant().unwrap_or(UNKNOWN),
        Stmt::Buffer { .. } | Stmt::Free(_) | Stmt::At(_) => 0,
        // Calls, allocations, and whatever else is not arithmetic.
        _ => UNKNOWN,
    }
}

fn expr(expr: &Expr) -> i64 {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => 0,
        Expr::Load(..) => 1,
        // Roots and transcendental functions among them.
        Expr::Unary(_, a) => 4 + self::expr(a),
        Expr::Binary(_, a, b) => 1 + self::expr(a) + self::expr(b),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            1 + self::expr(a) + self::expr(b) + self::expr(c)
        }
    }
}

/// Whether iterations are arithmetic only, without loops: lanes can share what a thread gets.
pub fn is_straight_line(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::At(_) => true,
        Stmt::If { then, otherwise, .. } => is_straight_line(then) && is_straight_line(otherwise),
        _ => false,
    })
}
