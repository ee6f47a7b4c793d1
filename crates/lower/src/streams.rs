//! A scan or filter that is a source view, and the map behind it that reads it, are one operation: the map's function is applied to
//! an element when it is written, and what is between them is in no memory.
//!
//! ```text
//! let ys: [n]i64 = scan@seq@S f 0 xs          let zs: [n]i64 = scan@seq f g 0 xs
//! let zs: [n]i64 = map@seq g ys           =>
//! ```
//!
//! The right side is no Core: it lives between here and stage I, which makes it `scanI<…,mapped>`. Where more than scalars stand between
//! the two, or the map's function can fail (its failures would come between those of the scan), each is computed on its own.
//!
//! Removes: the effect `S` of such operations. Introduces: `scan` and `filter` with a second function, for `scan` with the other arrays of
//! the map behind its own.

use crate::facts::Facts;
use almach_core::visit::{Vars, WalkMut, walk_body_mut};
use almach_core::{Atom, Body, Dim, Exp, Function, Lambda, Op, Param, Pattern, Size, Stmt, Type, Var};
use almach_prim::{Effect, Prim};
use almach_value::BinOp;

pub(crate) fn join(function: &Function) -> Function {
    let mut joined = function.clone();
    let mut joiner = Joiner {
        facts: Facts::of(function),
    };
    almach_core::visit::walk_function_mut(&mut joiner, &mut joined);
    joined
}

/// Whether an operation gives its elements one by one to the map behind it.
pub(crate) fn is_stream(op: &Op) -> bool {
    op.annotation.effect == Some(Effect::Source)
        && matches!(op.prim, Prim::Scan | Prim::ScanExclusive | Prim::Filter)
}

struct Joiner {
    facts: Facts,
}

impl WalkMut for Joiner {
    fn body(&mut self, body: &mut Body) {
        let mut stmts: Vec<Stmt> = Vec::with_capacity(body.stmts.len());
        for stmt in std::mem::take(&mut body.stmts) {
            let from = self.stream_before(&stmts);
            let joined = from.and_then(|from| Some((from, self.joined(stmts.get(from)?, &stmt)?)));
            match joined {
                Some((from, both)) => {
                    stmts.remove(from);
                    stmts.push(both);
                }
                None => stmts.push(stmt),
            }
        }
        body.stmts = stmts;
        walk_body_mut(self, body);
    }
}

impl Joiner {
    /// The last statement before which only scalars are computed that have nothing to do with it.
    fn stream_before(&self, stmts: &[Stmt]) -> Option<usize> {
        let from = stmts.iter().rposition(|stmt| !self.is_scalar(stmt))?;
        let (stream, between) = stmts.get(from..)?.split_first()?;
        let sizes = &stream.pattern.context;
        let uses_sizes = |stmt: &Stmt| {
            let used = Vars::of_exp(&stmt.exp).used;
            sizes.iter().any(|size| used.contains(size))
        };
        (!between.iter().any(uses_sizes)).then_some(from)
    }

    fn joined(&self, first: &Stmt, second: &Stmt) -> Option<Stmt> {
        let (Exp::Op(giver), Exp::Op(taker)) = (&first.exp, &second.exp) else {
            return None;
        };
        let ([between], [mapped]) = (first.pattern.values.as_slice(), taker.functions.as_slice()) else {
            return None;
        };
        let reads = taker.args.iter().position(|arg| is_var(arg, &between.var))?;
        let is_map = taker.prim == Prim::Map && taker.annotation.effect != Some(Effect::Source);
        if !is_stream(giver) || !is_map || self.facts.uses(&between.var).count != 1 {
            return None;
        }
        let fits = self.is_arithmetic(mapped)
            && match giver.prim {
                Prim::Filter => filter_fits(&first.pattern, taker, &second.pattern),
                _ => true,
            };
        if !fits {
            return None;
        }
        let mut mapped = mapped.clone();
        let mut others = taker.args.clone();
        others.remove(reads);
        let element = mapped.params.remove(reads);
        mapped.params.insert(0, element);
        let mut both = giver.clone();
        both.annotation.effect = None;
        both.functions.push(mapped);
        both.args.extend(others);
        Some(Stmt {
            pattern: Pattern {
                context: first.pattern.context.clone(),
                values: second.pattern.values.clone(),
            },
            exp: Exp::Op(both),
            span: first.span,
        })
    }

    /// A function of scalars that only computes, and cannot fail.
    fn is_arithmetic(&self, function: &Lambda) -> bool {
        let flat = |param: &Param| is_flat(&param.ty);
        function.context.is_empty()
            && function.result.context.is_empty()
            && function.params.iter().all(flat)
            && function.result.types.iter().all(is_flat)
            && self.body_is_arithmetic(&function.body)
    }

    fn body_is_arithmetic(&self, body: &Body) -> bool {
        body.stmts.iter().all(|stmt| {
            let mut values = stmt.pattern.values.iter();
            self.is_scalar(stmt) && values.all(|value| !self.facts.is_size(&value.var))
        })
    }

    /// Whether a statement computes scalars and cannot fail.
    fn is_scalar(&self, stmt: &Stmt) -> bool {
        let computes = match &stmt.exp {
            Exp::Atom(_) | Exp::Unary(..) | Exp::Ternary(..) | Exp::Tuple(_) | Exp::Project(..) => true,
            Exp::Binary(op, _, right) => never_fails(*op, right, &stmt.pattern),
            Exp::If { then, otherwise, .. } => {
                self.body_is_arithmetic(then) && self.body_is_arithmetic(otherwise)
            }
            _ => false,
        };
        let flat = |value: &Param| is_flat(&value.ty);
        computes && stmt.pattern.context.is_empty() && stmt.pattern.values.iter().all(flat)
    }
}

fn never_fails(op: BinOp, right: &Atom, result: &Pattern) -> bool {
    let ty = match result.values.as_slice() {
        [
            Param {
                ty: Type::Scalar(ty), ..
            },
        ] => *ty,
        _ => return false,
    };
    if !op.can_fail(ty) {
        return true;
    }
    match op {
        BinOp::Div | BinOp::Rem => matches!(right, Atom::Const(scalar) if scalar.as_integer() != Some(0)),
        BinOp::Shl | BinOp::Shr | BinOp::Pow => {
            matches!(right, Atom::Const(scalar) if scalar.as_integer().is_none_or(|by| by >= 0))
        }
        _ => false,
    }
}

/// A map of nothing but what is kept, whose result is as long.
fn filter_fits(kept: &Pattern, taker: &Op, result: &Pattern) -> bool {
    let ([size], [value], [_]) = (
        kept.context.as_slice(),
        result.values.as_slice(),
        taker.args.as_slice(),
    ) else {
        return false;
    };
    matches!(&value.ty, Type::Array(Dim::Size(found), _) if *found == Size::var(size.clone()))
}

fn is_var(atom: &Atom, var: &Var) -> bool {
    matches!(atom, Atom::Var(found) if found == var)
}

fn is_flat(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => true,
        Type::Tuple(parts) => parts.iter().all(is_flat),
        _ => false,
    }
}
