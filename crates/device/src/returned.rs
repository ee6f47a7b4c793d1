//! Borrowed buffers have cells of their own again: the memory of a device knows blocks, not parts of blocks under other names.
//!
//! ```text
//! buffer r_own: f32                                buffer r: f32
//! buffer r: borrowed f32
//! if c { borrow r = a[k] for n }             ~~>   if c { alloc r[n] copy r[0] = a[k] for n }
//! else { alloc r_own[n] … borrow r = r_own[0] … }  else { alloc r[n] … }
//! free r_own                                       free r
//! ```

use almach_base::{Name, Span};
use almach_imp::{Argument, Expr, Proc, Program, Space, Stmt};
use std::collections::HashMap;

pub(crate) fn returned(program: &Program) -> Program {
    let procs = program.procs.iter().map(|proc| {
        let mut body = proc.body.clone();
        let mut own = HashMap::new();
        block(&mut body, &mut own);
        Proc { body, ..proc.clone() }
    });
    Program {
        stores: program.stores.clone(),
        procs: procs.collect(),
    }
}

/// `own`: what the blocks that only a borrowed buffer has are called from here on.
fn block(stmts: &mut Vec<Stmt>, own: &mut HashMap<Name, Name>) {
    let mut out = Vec::with_capacity(stmts.len());
    let mut freed_at_end = Vec::new();
    let old = std::mem::take(stmts);
    for (at, stmt) in old.iter().enumerate() {
        match stmt {
            Stmt::Buffer {
                name,
                space: Space::Borrowed,
                ty,
            } => {
                let maker = at
                    .checked_sub(1)
                    .and_then(|at| old.get(at))
                    .and_then(|before| maker(before, name, &old));
                match maker {
                    Some(maker) => {
                        out.pop();
                        own.insert(maker, name.clone());
                    }
                    None => freed_at_end.push(Stmt::Free(name.clone())),
                }
                out.push(Stmt::Buffer {
                    name: name.clone(),
                    ty: *ty,
                    space: Space::Host,
                });
            }
            Stmt::Borrow { buffer, from, .. } if own.get(from) == Some(buffer) => {}
            Stmt::Borrow {
                buffer,
                from,
                first,
                count,
            } => {
                out.push(Stmt::Alloc {
                    buffer: buffer.clone(),
                    size: count.clone(),
                    span: Span::NONE,
                });
                out.push(Stmt::Copy {
                    to: buffer.clone(),
                    to_index: almach_imp::Index::zero(),
                    from: own.get(from).unwrap_or(from).clone(),
                    from_index: first.clone(),
                    count: count.clone(),
                });
            }
            other => {
                let mut other = other.clone();
                rename(&mut other, own);
                other.blocks_mut().into_iter().for_each(|inner| block(inner, own));
                out.push(other);
            }
        }
    }
    out.append(&mut freed_at_end);
    *stmts = out;
}

/// The buffer that a statement declares, where another one borrows all of it and is otherwise what it is for.
fn maker(declaring: &Stmt, borrowed: &Name, stmts: &[Stmt]) -> Option<Name> {
    let Stmt::Buffer {
        name,
        space: Space::Host,
        ..
    } = declaring
    else {
        return None;
    };
    fn lends(stmts: &[Stmt], from_name: &Name, to: &Name) -> bool {
        stmts.iter().any(|stmt| {
            let here = matches!(stmt, Stmt::Borrow { buffer, from, first, .. } if buffer == to && from == from_name && first.is_zero());
            here || stmt.blocks().into_iter().any(|block| lends(block, from_name, to))
        })
    }
    lends(stmts, name, borrowed).then(|| name.clone())
}

/// Names of buffers in a statement, not in its blocks.
fn rename(stmt: &mut Stmt, own: &HashMap<Name, Name>) {
    let new = |name: &mut Name| {
        if let Some(known) = own.get(name) {
            *name = known.clone();
        }
    };
    stmt.for_each_expr_mut(&mut |expr| rename_expr(expr, own));
    match stmt {
        Stmt::Store { buffer, .. }
        | Stmt::Alloc { buffer, .. }
        | Stmt::Shrink { buffer, .. }
        | Stmt::Atomic { buffer, .. }
        | Stmt::Await { buffer, .. }
        | Stmt::Free(buffer) => new(buffer),
        Stmt::Swap(a, b) => [a, b].into_iter().for_each(new),
        Stmt::Copy { to, from, .. } => [to, from].into_iter().for_each(new),
        Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } | Stmt::Trace { arguments, .. } => {
            for argument in arguments {
                if let Argument::Buffer(buffer, _) | Argument::Owned(buffer) = argument {
                    new(buffer);
                }
            }
        }
        Stmt::Let { .. }
        | Stmt::Var { .. }
        | Stmt::Assign { .. }
        | Stmt::Reserve { .. }
        | Stmt::Buffer { .. }
        | Stmt::Borrow { .. }
        | Stmt::Barrier
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Check { .. }
        | Stmt::Kernel { .. }
        | Stmt::Transfer(_)
        | Stmt::At(_) => {}
    }
}

fn rename_expr(expr: &mut Expr, own: &HashMap<Name, Name>) {
    match expr {
        Expr::Load(buffer, _) => {
            if let Some(known) = own.get(buffer) {
                *buffer = known.clone();
            }
        }
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
        Expr::Unary(_, a) => rename_expr(a, own),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| rename_expr(part, own)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| rename_expr(part, own));
        }
    }
}
