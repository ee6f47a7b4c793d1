//! From how many iterations on a loop is worth starting threads. This changes no value, so it is decided here, by the work of
//! the loop's body.

use almach_imp::{Expr, LoopMode, Stmt};

/// Scalar operations that take about as long as starting threads and waiting for them.
const FORK: i64 = 1 << 16;

/// What a loop with a condition is taken to repeat.
const UNKNOWN: i64 = 64;

/// What a loop with a number of iterations that is not known, or a call, is taken to repeat. Too few is worse than too many: threads
/// with little to do cost some microseconds, a few long rows on one thread cost all the other cores.
const UNKNOWN_LOOP: i64 = 1 << 12;

/// Lanes that a processor computes at once, at least.
const AT_ONCE: i64 = 8;

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
        Stmt::While { condition, body } => UNKNOWN.saturating_mul(expr(condition) + repeated(body)),
        Stmt::If {
            condition,
            then,
            otherwise,
        } => expr(condition).saturating_add(block(then).max(block(otherwise))),
        Stmt::Copy { count, .. } => count.as_constant().unwrap_or(UNKNOWN),
        Stmt::Buffer { .. } | Stmt::Free(_) | Stmt::At(_) => 0,
        // What is still called calls itself, or walks over data.
        Stmt::Call { .. } => UNKNOWN_LOOP,
        // Allocations, and whatever else is not arithmetic.
        _ => UNKNOWN,
    }
}

/// What a loop with a condition repeats. Lanes that go through it together (`simd` loops of known length, one step of all of them) take the
/// time of some of them.
fn repeated(stmts: &[Stmt]) -> i64 {
    let each = stmts.iter().map(|stmt| match stmt {
        Stmt::For {
            count,
            mode: LoopMode::Simd,
            body,
            ..
        } => match count.as_constant() {
            Some(lanes) => (lanes / AT_ONCE).max(1).saturating_mul(block(body)),
            None => self::stmt(stmt),
        },
        Stmt::If {
            condition,
            then,
            otherwise,
        } => expr(condition).saturating_add(repeated(then).max(repeated(otherwise))),
        _ => self::stmt(stmt),
    });
    each.fold(0, i64::saturating_add)
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

#[cfg(test)]
mod tests {
    use super::iterations_for_threads;
    use almach_imp::{Expr, Index, LoopMode, Stmt, Width};
    use almach_value::BinOp;

    fn lanes(mode: LoopMode) -> Vec<Stmt> {
        let index = Index::var("i".into());
        let value = Expr::Load("xs".into(), index.clone());
        let step = Stmt::Store {
            buffer: "xs".into(),
            index,
            value: Expr::binary(BinOp::Add, value.clone(), value),
        };
        let body = Stmt::For {
            index: "i".into(),
            width: Width::W64,
            count: Index::constant(32),
            mode,
            body: vec![step],
        };
        vec![Stmt::While {
            condition: Expr::Var("go".into()),
            body: vec![body],
        }]
    }

    #[test]
    fn lanes_that_go_through_a_loop_together_are_less_work_than_one_after_the_other() {
        let (together, in_turn) = (lanes(LoopMode::Simd), lanes(LoopMode::Seq));
        assert!(iterations_for_threads(&together) >= 4 * iterations_for_threads(&in_turn));
    }
}
