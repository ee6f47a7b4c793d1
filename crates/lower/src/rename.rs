//! Short names: what translation added to keep names apart goes where it is not needed.
//!
//! ```text
//! proc main(n_3: i64, xs_4: read f32, out_f0_1: out f32)   ~~>   proc main(n: i64, xs: read f32, out: out f32)
//! ```
//!
//! The text of Imp, and of the C that is printed from it, is for people too.

use almach_base::Name;
use almach_imp::{Argument, Expr, Index, Proc, Stmt, Transfer, is_column};
use std::collections::{HashMap, HashSet};

pub(crate) fn rename(proc: &mut Proc) {
    let mut names = Names::default();
    for param in &mut proc.params {
        param.name = names.of(&param.name);
    }
    block(&mut proc.body, &mut names);
}

/// A copy of statements in which everything that they bind has another name.
pub(crate) fn copied(stmts: &[Stmt], suffix: &str) -> Vec<Stmt> {
    let mut bound = HashSet::new();
    binders(stmts, &mut bound);
    let fresh = |name: Name| (name.clone(), Name::from(format!("{name}{suffix}")));
    let mut names = Names {
        given: bound.into_iter().map(fresh).collect(),
        others: Others::Stay,
        ..Names::default()
    };
    let mut copy = stmts.to_vec();
    block(&mut copy, &mut names);
    copy
}

pub(crate) fn binders(stmts: &[Stmt], bound: &mut HashSet<Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Let { name, .. }
            | Stmt::Var { name, .. }
            | Stmt::Reserve { name, .. }
            | Stmt::Buffer { name, .. }
            | Stmt::For { index: name, .. } => {
                bound.insert(name.clone());
            }
            Stmt::Atomic { step, .. } => bound.extend(step.bound().map(|(name, _)| name.clone())),
            _ => {}
        }
        for inner in stmt.blocks() {
            binders(inner, bound);
        }
    }
}

/// What happens to names that have no other one yet.
#[derive(Default, PartialEq)]
enum Others {
    #[default]
    AreShortened,
    Stay,
}

#[derive(Default)]
struct Names {
    others: Others,
    given: HashMap<Name, Name>,
    taken: HashSet<String>,
    /// The next number to try for a stem.
    next: HashMap<String, u32>,
}

impl Names {
    fn of(&mut self, name: &Name) -> Name {
        // Columns belong to the program.
        if is_column(name) {
            return name.clone();
        }
        if let Some(known) = self.given.get(name) {
            return known.clone();
        }
        if self.others == Others::Stay {
            return name.clone();
        }
        let stem = stem(name);
        let mut chosen = stem.clone();
        while !self.taken.insert(chosen.clone()) {
            let number = self.next.entry(stem.clone()).or_insert(1);
            *number += 1;
            chosen = format!("{stem}_{number}");
        }
        let chosen = Name::from(chosen);
        self.given.insert(name.clone(), chosen.clone());
        chosen
    }

    fn index(&mut self, index: &Index) -> Index {
        let found: HashMap<Name, Name> = index
            .free_vars()
            .map(|name| (name.clone(), self.of(name)))
            .collect();
        index.map_vars(&|name: &Name| Index::var(found.get(name).unwrap_or(name).clone()))
    }
}

/// `acc_l0_2` is `acc`, `xs_4_in_size_0` is `xs_size`.
fn stem(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default();
    let rest = parts.filter(|part| !is_number_like(part) && *part != "in" && !part.is_empty());
    let stem = std::iter::once(first).chain(rest).collect::<Vec<_>>().join("_");
    match stem.is_empty() {
        true => "x".into(),
        false => stem,
    }
}

/// Numbers, and numbers behind the letter of the stage that made them.
fn is_number_like(part: &str) -> bool {
    let digits = part.strip_prefix(['e', 'f', 'l', 't']).unwrap_or(part);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn block(stmts: &mut [Stmt], names: &mut Names) {
    for stmt in stmts {
        statement(stmt, names);
    }
}

fn statement(stmt: &mut Stmt, names: &mut Names) {
    match stmt {
        Stmt::At(_) | Stmt::Barrier => {}
        Stmt::Kernel { body, .. } => block(body, names),
        Stmt::Transfer(Transfer::Attach { buffer, size } | Transfer::Copied { buffer, count: size }) => {
            *size = names.index(size);
            *buffer = names.of(buffer);
        }
        Stmt::Transfer(Transfer::Fetch { buffer, .. } | Transfer::Fresh { buffer }) => {
            *buffer = names.of(buffer)
        }
        Stmt::Transfer(Transfer::Cell { column, index, .. }) => {
            *index = names.index(index);
            *column = names.of(column);
        }
        Stmt::Let { name, value, .. } | Stmt::Assign { name, value } => {
            expr(value, names);
            *name = names.of(name);
        }
        Stmt::Var { name, value, .. } => {
            value.iter_mut().for_each(|value| expr(value, names));
            *name = names.of(name);
        }
        Stmt::Store { buffer, index, value } => {
            expr(value, names);
            *index = names.index(index);
            *buffer = names.of(buffer);
        }
        Stmt::Reserve { name, count, .. } => {
            *count = names.index(count);
            *name = names.of(name);
        }
        Stmt::Buffer { name, .. } | Stmt::Free(name) => *name = names.of(name),
        Stmt::Alloc { buffer, size, .. } => {
            *size = names.index(size);
            *buffer = names.of(buffer);
        }
        Stmt::Shrink { buffer, size } => {
            *size = names.index(size);
            *buffer = names.of(buffer);
        }
        Stmt::Borrow {
            buffer,
            from,
            first,
            count,
        } => {
            *first = names.index(first);
            *count = names.index(count);
            *buffer = names.of(buffer);
            *from = names.of(from);
        }
        Stmt::Atomic {
            step, buffer, index, ..
        } => {
            step.value_mut().into_iter().for_each(|value| expr(value, names));
            *index = names.index(index);
            *buffer = names.of(buffer);
            if let Some(name) = step.bound_mut() {
                *name = names.of(name);
            }
        }
        Stmt::Await { buffer, index, value } => {
            expr(value, names);
            *index = names.index(index);
            *buffer = names.of(buffer);
        }
        Stmt::Swap(a, b) => {
            *a = names.of(a);
            *b = names.of(b);
        }
        Stmt::Copy {
            to,
            to_index,
            from,
            from_index,
            count,
        } => {
            for name in [to, from] {
                *name = names.of(name);
            }
            for index in [to_index, from_index, count] {
                *index = names.index(index);
            }
        }
        Stmt::For {
            index, count, body, ..
        } => {
            *count = names.index(count);
            *index = names.of(index);
            block(body, names);
        }
        Stmt::While { condition, body } => {
            expr(condition, names);
            block(body, names);
        }
        Stmt::If {
            condition,
            then,
            otherwise,
        } => {
            expr(condition, names);
            block(then, names);
            block(otherwise, names);
        }
        Stmt::Check {
            condition, arguments, ..
        } => {
            expr(condition, names);
            arguments.iter_mut().for_each(|argument| expr(argument, names));
        }
        Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } | Stmt::Trace { arguments, .. } => {
            arguments.iter_mut().for_each(|argument| match argument {
                Argument::Value(value) => expr(value, names),
                Argument::Out(name) | Argument::Owned(name) => *name = names.of(name),
                Argument::Buffer(name, index) => {
                    *index = names.index(index);
                    *name = names.of(name);
                }
            })
        }
    }
}

fn expr(value: &mut Expr, names: &mut Names) {
    match value {
        Expr::Const(_) => {}
        Expr::Var(name) => *name = names.of(name),
        Expr::Index(index) => *index = names.index(index),
        Expr::Load(buffer, index) => {
            *index = names.index(index);
            *buffer = names.of(buffer);
        }
        Expr::Unary(_, argument) => expr(argument, names),
        Expr::Binary(_, left, right) => {
            expr(left, names);
            expr(right, names);
        }
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            for part in [a, b, c] {
                expr(part, names);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_only_kept_them_apart() {
        let mut names = Names::default();
        assert_eq!(&*names.of(&"acc_l0_2".into()), "acc");
        assert_eq!(&*names.of(&"acc_l0_7".into()), "acc_2");
        assert_eq!(&*names.of(&"acc_l0_2".into()), "acc");
        assert_eq!(&*names.of(&"xs_4_in_size_0".into()), "xs_size");
        assert_eq!(&*names.of(&"to_left_9".into()), "to_left");
    }
}
