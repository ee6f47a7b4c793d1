//! How statements use buffers, and statements with one buffer in place of another.

use crate::tidy::{Reads, touches};
use almach_base::Name;
use almach_imp::{Argument, Expr, Index, Stmt};

/// Whether a statement has to do with a buffer.
pub(crate) fn mentions(stmt: &Stmt, name: &Name) -> bool {
    let mut touched = Reads::only(name);
    touches(stmt, &mut touched);
    touched.names.contains(name) || matches!(stmt, Stmt::Free(freed) if freed == name)
}

/// Whether a statement writes to a buffer.
pub(crate) fn writes(stmt: &Stmt, name: &Name) -> bool {
    let own = match stmt {
        Stmt::Store { buffer, .. }
        | Stmt::Alloc { buffer, .. }
        | Stmt::Shrink { buffer, .. }
        | Stmt::Atomic { buffer, .. }
        | Stmt::Borrow { buffer, .. }
        | Stmt::Free(buffer) => buffer == name,
        Stmt::Copy { to, .. } => to == name,
        Stmt::Swap(a, b) => a == name || b == name,
        Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => {
            arguments.iter().any(|argument| match argument {
                Argument::Buffer(buffer, _) | Argument::Owned(buffer) => buffer == name,
                Argument::Value(_) | Argument::Out(_) => false,
            })
        }
        _ => false,
    };
    own || stmt
        .blocks()
        .into_iter()
        .flatten()
        .any(|inner| writes(inner, name))
}

/// Whether a buffer is allocated anew, freed, swapped or handed out to be owned.
pub(crate) fn changes_hands(stmt: &Stmt, name: &Name) -> bool {
    let own = match stmt {
        Stmt::Swap(a, b) => a == name || b == name,
        Stmt::Shrink { buffer, .. } => buffer == name,
        Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => arguments
            .iter()
            .any(|argument| matches!(argument, Argument::Owned(buffer) if buffer == name)),
        _ => false,
    };
    let nested = stmt.blocks().into_iter().flatten().any(|inner| {
        changes_hands(inner, name)
            || matches!(inner, Stmt::Alloc { buffer, .. } | Stmt::Free(buffer) if buffer == name)
    });
    own || nested
}

/// A statement with one buffer in place of another.
pub(crate) fn renamed(stmt: &Stmt, from: &Name, to: &Name) -> Stmt {
    let moved = Moved {
        from,
        to,
        first: &Index::zero(),
    };
    moved.stmt(stmt)
}

pub(crate) fn renamed_expr(expr: &Expr, from: &Name, to: &Name) -> Expr {
    let moved = Moved {
        from,
        to,
        first: &Index::zero(),
    };
    moved.expr(expr)
}

/// One buffer becomes a part of another.
#[derive(Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub(crate) from: &'a Name,
    pub(crate) to: &'a Name,
    /// Where its first cell is.
    pub(crate) first: &'a Index,
}

impl Moved<'_> {
    fn name(&self, found: &Name) -> Name {
        match found == self.from {
            true => self.to.clone(),
            false => found.clone(),
        }
    }

    fn place(&self, buffer: &Name, index: &Index) -> Index {
        match buffer == self.from {
            true => index + self.first,
            false => index.clone(),
        }
    }

    pub(crate) fn stmt(&self, stmt: &Stmt) -> Stmt {
        let name = |found: &Name| self.name(found);
        let expr = |value: &Expr| self.expr(value);
        let block = |stmts: &[Stmt]| stmts.iter().map(|stmt| self.stmt(stmt)).collect::<Vec<_>>();
        match stmt {
            Stmt::Let {
                name: bound,
                ty,
                value,
            } => Stmt::Let {
                name: bound.clone(),
                ty: *ty,
                value: expr(value),
            },
            Stmt::Var {
                name: bound,
                ty,
                value,
            } => Stmt::Var {
                name: bound.clone(),
                ty: *ty,
                value: value.as_ref().map(expr),
            },
            Stmt::Assign { name: bound, value } => Stmt::Assign {
                name: bound.clone(),
                value: expr(value),
            },
            Stmt::Store { buffer, index, value } => Stmt::Store {
                buffer: name(buffer),
                index: self.place(buffer, index),
                value: expr(value),
            },
            Stmt::Buffer { .. } | Stmt::Reserve { .. } | Stmt::At(_) | Stmt::Barrier => stmt.clone(),
            // Kernels are made of what comes out of here.
            Stmt::Kernel { .. } | Stmt::Transfer(_) => stmt.clone(),
            Stmt::Alloc { buffer, size, span } => Stmt::Alloc {
                buffer: name(buffer),
                size: size.clone(),
                span: *span,
            },
            Stmt::Shrink { buffer, size } => Stmt::Shrink {
                buffer: name(buffer),
                size: size.clone(),
            },
            Stmt::Borrow {
                buffer,
                from,
                first,
                count,
            } => Stmt::Borrow {
                buffer: name(buffer),
                from: name(from),
                first: self.place(from, first),
                count: count.clone(),
            },
            Stmt::Atomic {
                step,
                order,
                buffer,
                index,
            } => {
                let mut step = step.clone();
                if let Some(value) = step.value_mut() {
                    *value = expr(value);
                }
                Stmt::Atomic {
                    step,
                    order: *order,
                    buffer: name(buffer),
                    index: self.place(buffer, index),
                }
            }
            Stmt::Await { buffer, index, value } => Stmt::Await {
                buffer: name(buffer),
                index: self.place(buffer, index),
                value: expr(value),
            },
            Stmt::Free(buffer) => Stmt::Free(name(buffer)),
            Stmt::Swap(a, b) => Stmt::Swap(name(a), name(b)),
            Stmt::Copy {
                to: target,
                to_index,
                from: source,
                from_index,
                count,
            } => Stmt::Copy {
                to: name(target),
                to_index: self.place(target, to_index),
                from: name(source),
                from_index: self.place(source, from_index),
                count: count.clone(),
            },
            Stmt::For {
                index,
                width,
                count,
                mode,
                body,
            } => Stmt::For {
                index: index.clone(),
                width: *width,
                count: count.clone(),
                mode: *mode,
                body: block(body),
            },
            Stmt::While { condition, body } => Stmt::While {
                condition: expr(condition),
                body: block(body),
            },
            Stmt::If {
                condition,
                then,
                otherwise,
            } => Stmt::If {
                condition: expr(condition),
                then: block(then),
                otherwise: block(otherwise),
            },
            Stmt::Check {
                condition,
                site,
                arguments,
            } => Stmt::Check {
                condition: expr(condition),
                site: site.clone(),
                arguments: arguments.iter().map(expr).collect(),
            },
            Stmt::Call {
                proc,
                arguments,
                span,
            } => Stmt::Call {
                span: *span,
                proc: proc.clone(),
                arguments: self.arguments(arguments),
            },
            Stmt::Foreign {
                function,
                arguments,
                span,
            } => Stmt::Foreign {
                function: function.clone(),
                arguments: self.arguments(arguments),
                span: *span,
            },
            Stmt::Trace { label, ty, arguments } => Stmt::Trace {
                label: label.clone(),
                ty: ty.clone(),
                arguments: self.arguments(arguments),
            },
        }
    }

    fn arguments(&self, arguments: &[Argument]) -> Vec<Argument> {
        arguments
            .iter()
            .map(|argument| match argument {
                Argument::Value(value) => Argument::Value(self.expr(value)),
                Argument::Out(out) => Argument::Out(out.clone()),
                Argument::Buffer(buffer, index) => {
                    Argument::Buffer(self.name(buffer), self.place(buffer, index))
                }
                Argument::Owned(buffer) => Argument::Owned(self.name(buffer)),
            })
            .collect()
    }

    pub(crate) fn expr(&self, expr: &Expr) -> Expr {
        let go = |inner: &Expr| self.expr(inner);
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => expr.clone(),
            Expr::Load(buffer, index) => Expr::Load(self.name(buffer), self.place(buffer, index)),
            Expr::Unary(op, argument) => Expr::unary(*op, go(argument)),
            Expr::Binary(op, left, right) => Expr::binary(*op, go(left), go(right)),
            Expr::Ternary(op, a, b, c) => Expr::ternary(*op, go(a), go(b), go(c)),
            Expr::Select(a, b, c) => Expr::select(go(a), go(b), go(c)),
        }
    }
}
