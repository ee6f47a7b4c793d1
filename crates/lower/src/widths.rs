//! Indices of 32 bits, where that makes a difference: a loop that computes with its index as a floating-point number
//! converts it, which vector units do much faster from 32 bits.
//!
//! ```text
//!                                      if n <= 2147483647 {
//! for i < n {                            for i: i32 < n {
//!   xs[i] = to_f32(i)           ~~>        xs[i] = to_f32(i)
//! }                                      }
//!                                      } else { for i < n { xs[i] = to_f32(i) } }
//! ```
//!
//! Where the number of iterations is known to be small enough (`proofs.rs` asks), there is no test. The test stands before
//! the outermost loop, for all loops in it.
//!
//! Removes: nothing. Introduces: tests and copies of loops. Guarantees: rule IMP-20, and the same values.

use crate::rename::copied;
use almach_base::{Name, Span};
use almach_imp::{Expr, Index, Proc, Stmt, Width};
use almach_value::{BinOp, ScalarType, UnOp};
use std::collections::HashSet;

/// Larger nests are not worth a copy.
const MOST_STATEMENTS: usize = 64;

pub(crate) fn test_on_entry(proc: &mut Proc) {
    block(&mut proc.body);
}

fn block(stmts: &mut [Stmt]) {
    for stmt in stmts {
        if !matches!(stmt, Stmt::For { .. }) || !version(stmt) {
            stmt.blocks_mut().into_iter().for_each(|inner| block(inner));
        }
    }
}

/// Makes two loops of one, behind a test, where it has indices that would better be narrow.
fn version(stmt: &mut Stmt) -> bool {
    let mut inside = HashSet::new();
    changed(std::slice::from_ref(stmt), &mut inside);
    let mut counts = Vec::new();
    wanted(stmt, &inside, &mut counts);
    if counts.is_empty() || size(std::slice::from_ref(stmt)) > MOST_STATEMENTS {
        return false;
    }
    let mut narrow = copied(std::slice::from_ref(stmt), "_n");
    narrow.iter_mut().for_each(|stmt| narrowed(stmt, &counts));
    let most = || Box::new(Expr::int(Width::W32.most()));
    let fits = |count: &Index| Expr::Binary(BinOp::Le, Box::new(Expr::Index(count.clone())), most());
    let condition = counts
        .iter()
        .map(fits)
        .reduce(|all, one| Expr::binary(BinOp::And, all, one));
    let Some(condition) = condition else { return false };
    let wide = std::mem::replace(stmt, Stmt::At(Span::NONE));
    *stmt = Stmt::If {
        condition,
        then: narrow,
        otherwise: vec![wide],
    };
    true
}

/// Numbers of iterations, known outside of the nest, of loops whose indices are converted.
fn wanted(stmt: &Stmt, inside: &HashSet<Name>, counts: &mut Vec<Index>) {
    if let Stmt::For {
        index,
        width: Width::W64,
        count,
        body,
        ..
    } = stmt
        && is_converted(index, body)
        && !count.free_vars().any(|name| inside.contains(name))
        && !counts.contains(count)
    {
        counts.push(count.clone());
    }
    for inner in stmt.blocks() {
        inner.iter().for_each(|stmt| wanted(stmt, inside, counts));
    }
}

fn narrowed(stmt: &mut Stmt, counts: &[Index]) {
    if let Stmt::For { width, count, .. } = stmt
        && counts.contains(count)
    {
        *width = Width::W32;
    }
    for inner in stmt.blocks_mut() {
        inner.iter_mut().for_each(|stmt| narrowed(stmt, counts));
    }
}

/// Names that statements bind or assign.
fn changed(stmts: &[Stmt], names: &mut HashSet<Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Let { name, .. }
            | Stmt::Var { name, .. }
            | Stmt::Assign { name, .. }
            | Stmt::Reserve { name, .. }
            | Stmt::For { index: name, .. } => {
                names.insert(name.clone());
            }
            Stmt::Atomic { step, .. } => names.extend(step.bound().map(|(name, _)| name.clone())),
            Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => {
                names.extend(
                    arguments
                        .iter()
                        .filter_map(|argument| argument.written().cloned()),
                );
            }
            _ => {}
        }
        for inner in stmt.blocks() {
            changed(inner, names);
        }
    }
}

/// How many statements there are. Places in the source are none: they do not change what is done.
fn size(stmts: &[Stmt]) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::At(_) => 0,
        _ => 1 + stmt.blocks().into_iter().map(|inner| size(inner)).sum::<usize>(),
    };
    stmts.iter().map(of).sum()
}

/// Whether statements convert this index, as it is, to a floating-point number.
pub(crate) fn is_converted(index: &Name, stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        let mut found = false;
        stmt.for_each_expr(&mut |expr| found |= converts(expr, index));
        found || stmt.blocks().into_iter().any(|inner| is_converted(index, inner))
    })
}

fn converts(expr: &Expr, index: &Name) -> bool {
    match expr {
        Expr::Unary(UnOp::Convert(ScalarType::F32 | ScalarType::F64), argument) => match &**argument {
            Expr::Var(name) => name == index,
            Expr::Index(found) => found.as_var() == Some(index),
            other => converts(other, index),
        },
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) | Expr::Load(..) => false,
        Expr::Unary(_, argument) => converts(argument, index),
        Expr::Binary(_, left, right) => converts(left, index) || converts(right, index),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().any(|part| converts(part, index))
        }
    }
}
