//! Another index in the place of a name.

use almach_base::Name;
use almach_imp::{Expr, Index, Stmt};

/// Puts an index in the place of a scalar, in statements that only read it.
pub(crate) fn substitute(stmts: &mut [Stmt], name: &Name, by: &Index) {
    for stmt in stmts {
        stmt.for_each_expr_mut(&mut |expr| in_expr(expr, name, by));
        stmt.for_each_index_mut(&mut |index| in_index(index, name, by));
        stmt.blocks_mut()
            .into_iter()
            .for_each(|block| substitute(block, name, by));
    }
}

fn in_index(index: &mut Index, name: &Name, by: &Index) {
    if index.mentions(name) {
        *index = index.substitute(|var| (var == name).then(|| by.clone()));
    }
}

fn in_expr(expr: &mut Expr, name: &Name, by: &Index) {
    match expr {
        Expr::Const(_) => {}
        Expr::Var(var) => {
            if var == name {
                *expr = match by.as_var() {
                    Some(other) => Expr::Var(other.clone()),
                    None => Expr::Index(by.clone()),
                };
            }
        }
        Expr::Index(index) | Expr::Load(_, index) => in_index(index, name, by),
        Expr::Unary(_, a) => in_expr(a, name, by),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| in_expr(part, name, by)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| in_expr(part, name, by));
        }
    }
}
