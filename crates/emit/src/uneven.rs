//! Whether the iterations of a parallel loop take different times: rows of their own lengths, loops that end when something is found. Threads then
//! take iterations as they go. This changes no value, so it is decided here.

use almach_base::Name;
use almach_imp::{Expr, Stmt};
use std::collections::HashSet;

/// Into how many pieces the iterations are cut: with as many, one piece is little beside all of them.
const PIECES: i64 = 1024;

/// How iterations are shared. A thread's come in order either way.
pub fn schedule(count: &str, body: &[Stmt]) -> String {
    match is_uneven(body, &mut HashSet::new()) {
        true => format!("schedule(monotonic:dynamic, ({count}) / {PIECES} + 1)"),
        false => "schedule(static)".to_owned(),
    }
}

/// Whether a loop inside runs as often as something in memory says. `read` are the names for what was read.
fn is_uneven<'s>(stmts: &'s [Stmt], read: &mut HashSet<&'s Name>) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Let { name, value, .. }
        | Stmt::Assign { name, value }
        | Stmt::Var {
            name,
            value: Some(value),
            ..
        } => {
            if is_read(value, read) {
                read.insert(name);
            }
            false
        }
        Stmt::For { count, body, .. } => {
            count.free_vars().any(|var| read.contains(var)) || is_uneven(body, read)
        }
        // What is still called calls itself.
        Stmt::While { .. } | Stmt::Call { .. } => true,
        Stmt::If { then, otherwise, .. } => is_uneven(then, read) || is_uneven(otherwise, read),
        _ => false,
    })
}

fn is_read(expr: &Expr, read: &HashSet<&Name>) -> bool {
    match expr {
        Expr::Const(_) => false,
        Expr::Var(name) => read.contains(name),
        Expr::Index(index) => index.free_vars().any(|var| read.contains(var)),
        Expr::Load(..) => true,
        Expr::Unary(_, a) => is_read(a, read),
        Expr::Binary(_, a, b) => is_read(a, read) || is_read(b, read),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().any(|part| is_read(part, read))
        }
    }
}
