//! How much work a function is, roughly, and whether it is straight-line code on scalars.

use crate::weights::{UNKNOWN, binary, unary};
use almach_core::{Atom, Body, Dim, Exp, Lambda, LoopForm, Op, Stmt, Type, Var};
use almach_prim::Prim;
use almach_rewrite::facts::Facts;
use almach_value::Scalar;
use std::collections::HashSet;

/// Scalar operations that a body does, roughly.
pub(crate) fn of_body(body: &Body, facts: &Facts) -> u64 {
    let costs = body.stmts.iter().map(|stmt| of_exp(&stmt.exp, facts));
    costs.fold(0, u64::saturating_add)
}

fn of_exp(exp: &Exp, facts: &Facts) -> u64 {
    match exp {
        Exp::Atom(_) | Exp::Tuple(_) | Exp::Project(..) | Exp::Coerce { .. } | Exp::Slice { .. } => 0,
        Exp::Unary(op, _) => unary(*op),
        Exp::Binary(op, ..) => binary(*op),
        Exp::Ternary(..) | Exp::Index { .. } | Exp::Assert { .. } => 1,
        Exp::Array(elements, _) => elements.len() as u64,
        Exp::Construct { fields, .. } | Exp::ConstructNode { fields, .. } => fields.len() as u64,
        Exp::If { then, otherwise, .. } => 1 + of_body(then, facts).max(of_body(otherwise, facts)),
        Exp::Case { arms, default, .. } => {
            let arms = arms.iter().map(|arm| of_body(&arm.body, facts));
            let default = default.as_ref().map(|body| of_body(body, facts));
            1 + arms.chain(default).max().unwrap_or(0)
        }
        Exp::Loop(looped) => {
            let times = match &looped.form {
                LoopForm::For {
                    bound: Atom::Const(bound),
                    ..
                } => constant(bound),
                LoopForm::For { .. } | LoopForm::While(_) => UNKNOWN,
            };
            times.saturating_mul(of_body(&looped.body, facts).max(1))
        }
        Exp::Call { .. } | Exp::Foreign { .. } | Exp::Update { .. } | Exp::Trace { .. } => UNKNOWN,
        Exp::Op(op) => of_op(op, facts),
    }
}

fn constant(bound: &Scalar) -> u64 {
    let value = bound.as_integer().unwrap_or(0);
    u64::try_from(value).unwrap_or(0)
}

fn of_op(op: &Op, facts: &Facts) -> u64 {
    let inside = op.functions.iter().map(|function| of_body(&function.body, facts));
    let inside = inside.fold(0, u64::saturating_add);
    if op.prim.is_view() {
        return 0;
    }
    match op.prim {
        Prim::Length | Prim::RootOf => 0,
        Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => inside,
        _ => elements(op, facts).saturating_mul(inside.max(1)),
    }
}

/// How many elements an operation works on.
fn elements(op: &Op, facts: &Facts) -> u64 {
    let sizes = op.args.iter().filter_map(|arg| constant_size(arg, facts));
    sizes.max().unwrap_or(UNKNOWN)
}

fn constant_size(arg: &Atom, facts: &Facts) -> Option<u64> {
    match facts.env.atom_type(arg).ok()? {
        Type::Array(Dim::Size(size), _) => u64::try_from(size.as_constant()?).ok(),
        _ => None,
    }
}

/// Whether a function is straight-line code on scalars that cannot fail: what the lanes of a processor can do together.
pub(crate) fn is_simple(function: &Lambda, facts: &Facts) -> bool {
    is_simple_on(function, facts, is_scalars, &HashSet::new())
}

/// The same of a function whose parameters are of such types, and which reads these elements within bounds.
pub(crate) fn is_simple_on(
    function: &Lambda,
    facts: &Facts,
    takes: impl Fn(&Type) -> bool,
    within: &HashSet<Var>,
) -> bool {
    function.context.is_empty()
        && function.result.context.is_empty()
        && function.params.iter().all(|param| takes(&param.ty))
        && function.result.types.iter().all(is_scalars)
        && is_simple_body(&function.body, facts, within)
}

fn is_simple_body(body: &Body, facts: &Facts, within: &HashSet<Var>) -> bool {
    let mut stmts = body.stmts.iter();
    stmts.all(|stmt| is_simple_stmt_with(stmt, facts, within))
}

pub(crate) fn is_simple_stmt(stmt: &Stmt, facts: &Facts) -> bool {
    is_simple_stmt_with(stmt, facts, &HashSet::new())
}

fn is_simple_stmt_with(stmt: &Stmt, facts: &Facts, within: &HashSet<Var>) -> bool {
    match &stmt.exp {
        Exp::Atom(_) | Exp::Unary(..) | Exp::Ternary(..) | Exp::Tuple(_) | Exp::Project(..) => {
            stmt.pattern.values.iter().all(|value| is_scalars(&value.ty))
        }
        Exp::Binary(..) => !facts.can_fail(&stmt.exp),
        Exp::Index { .. } => {
            let values = &stmt.pattern.values;
            let is_there = values.iter().all(|value| within.contains(&value.var));
            values.iter().all(|value| is_scalars(&value.ty)) && (is_there || !facts.can_fail(&stmt.exp))
        }
        Exp::If {
            then,
            otherwise,
            result,
            ..
        } => {
            result.context.is_empty()
                && result.types.iter().all(is_scalars)
                && is_simple_body(then, facts, within)
                && is_simple_body(otherwise, facts, within)
        }
        _ => false,
    }
}

/// Scalars, and tuples of them.
pub(crate) fn is_scalars(ty: &Type) -> bool {
    ty.is_scalars()
}

/// Elements of a row that a lane takes, at most.
const SHORT_ROW: i64 = 16;

/// Scalars, short rows of them (points of two or three coordinates), and tuples of those: what lies side by side in memory is what neighbouring
/// lanes take.
pub(crate) fn is_for_lanes(ty: &Type) -> bool {
    match ty {
        Type::Array(Dim::Size(size), element) => {
            size.as_constant().is_some_and(|size| size <= SHORT_ROW) && is_scalars(element)
        }
        Type::Tuple(parts) => parts.iter().all(is_for_lanes),
        other => is_scalars(other),
    }
}
