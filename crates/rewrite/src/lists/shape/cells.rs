//! Steps that make a cell in front of the result for the rest.

use super::folds::{Split, combination, not_associative};
use super::reader::{Call, defined};
use super::{Combined, Field, Operator, Suffix};
use crate::facts::Facts;
use crate::recursions::{Reason, mentions, no};
use almach_core::visit::Vars;
use almach_core::{Arm, Atom, Body, DataDef, DataId, Exp, Param, Stmt, Type, Var};
use almach_value::{BinOp, Scalar, is_exact_in_any_order};
use std::collections::HashSet;

/// A step that makes a cell, and what stands behind the last for fields that are suffixes.
pub(super) struct Cell {
    pub(super) stmts: Vec<Stmt>,
    pub(super) constructor: u32,
    pub(super) fields: Vec<(Field, Option<(Operator, Scalar)>)>,
}

/// What a step makes where there is a cell behind, and what where there is none.
struct Fronts<'f> {
    constructor: u32,
    fields: &'f [Atom],
    /// The fields of the cell behind.
    behind: Option<&'f [Param]>,
}

impl Cell {
    pub(super) fn of(facts: &Facts, call: &Call<'_>, data: DataId, def: &DataDef) -> Result<Cell, Reason> {
        let body = &call.arm.body;
        let states = body.stmts.get(call.at).map(|stmt| stmt.pattern.values.as_slice());
        let (Some([state]), [value]) = (states, body.values.as_slice()) else {
            return no("it makes several results");
        };
        let mut split = Split::of(call, std::iter::once(&state.var))?;
        match split.exp(value) {
            Some(Exp::Construct {
                data: of,
                constructor,
                fields,
            }) if *of == data => {
                let fronts = Fronts {
                    constructor: *constructor,
                    fields,
                    behind: None,
                };
                Cell::made(split, &fronts, &state.var, def)
            }
            Some(Exp::Case {
                scrutinee: Atom::Var(of),
                arms,
                default,
                ..
            }) if *of == state.var => {
                Cell::by_case((facts, split), arms, default.as_ref(), &state.var, (data, def))
            }
            Some(Exp::If { .. }) => no("whether it makes a cell depends on the element"),
            _ => no("it makes no cell in front of the result for the rest"),
        }
    }

    /// `case s of | Nil -> Cons x s | Cons y _ -> Cons (x + y) s`.
    fn by_case<'f>(
        (facts, mut split): (&Facts, Split<'f>),
        arms: &'f [Arm],
        default: Option<&Body>,
        state: &Var,
        (data, def): (DataId, &DataDef),
    ) -> Result<Cell, Reason> {
        let link = |arm: &&Arm| {
            let def = def.constructors.get(arm.constructor as usize);
            def.is_some_and(|def| def.fields.iter().any(|ty| mentions(ty, data)))
        };
        let mut linked = arms.iter().filter(link);
        let (Some(arm), None) = (linked.next(), linked.next()) else {
            return no("it tells several kinds of cells behind apart");
        };
        let Some(made) = made_in(&arm.body, data) else {
            return no("it makes no cell in front of the result for the rest");
        };
        if made.0 != arm.constructor {
            return no("it tells several kinds of cells behind apart");
        }
        let ends = arms.iter().filter(|other| !link(other));
        let ends = ends.map(|arm| (Some(arm.constructor), &arm.body));
        // What a default is for is known where there is one kind of end.
        let mut others = (0u32..)
            .zip(&def.constructors)
            .filter(|(number, _)| !arms.iter().any(|arm| arm.constructor == *number));
        let other = match (others.next(), others.next()) {
            (Some((number, _)), None) => Some(number),
            _ => None,
        };
        let ends: Vec<(Option<u32>, &Body)> = ends.chain(default.map(|body| (other, body))).collect();
        // What does not depend on the cell behind may as well be computed before it is looked at.
        let behind: HashSet<&Var> = arm.fields.iter().map(|field| &field.var).collect();
        split.states.extend(behind);
        for stmt in &arm.body.stmts {
            let depends = Vars::of_exp(&stmt.exp).used.iter().any(|var| split.depends(var));
            match (depends, stmt.pattern.values.as_slice()) {
                (true, [value]) => {
                    split.dependent.insert(&value.var, &stmt.exp);
                }
                (false, [_]) if !facts.can_fail(&stmt.exp) => split.own.push(stmt.clone()),
                _ => return no("what it does with the cell behind is not understood"),
            }
        }
        // The cell itself is understood here.
        if let Some(value) = arm.body.values.first() {
            split.exp(value);
        }
        let fronts = Fronts {
            constructor: made.0,
            fields: made.1,
            behind: Some(&arm.fields),
        };
        let own = split.own.clone();
        let cell = Cell::made(split, &fronts, state, def)?;
        for end in ends {
            if !is_same_cell(&cell, &own, end, data, state) {
                return no("what it makes in front of an end is something else");
            }
        }
        Ok(cell)
    }

    fn made(mut split: Split<'_>, fronts: &Fronts<'_>, state: &Var, def: &DataDef) -> Result<Cell, Reason> {
        let Some(def) = def.constructors.get(fronts.constructor as usize) else {
            return no("a constructor that is not there");
        };
        let mut fields = Vec::new();
        let mut rests = 0;
        for (at, (value, ty)) in fronts.fields.iter().zip(&def.fields).enumerate() {
            if matches!(value, Atom::Var(var) if var == state) {
                rests += 1;
                fields.push((Field::Rest, None));
                continue;
            }
            if split.is_own(value) {
                fields.push((Field::Own(value.clone()), None));
                continue;
            }
            let Type::Scalar(ty) = ty else {
                return no("what is combined with the cell behind is no scalar");
            };
            let behind = fronts
                .behind
                .and_then(|fields| fields.get(at))
                .map(|field| &field.var);
            let Behind { op, end, with } = suffix(&mut split, value, state, (behind, at))?;
            if !is_exact_in_any_order(op, *ty) {
                return Err(not_associative(op, *ty));
            }
            let operator = Operator { op, ty: *ty };
            let end = end.unwrap_or(operator.identity());
            fields.push((Field::Suffix(Combined { with }), Some((operator, end))));
        }
        if rests != 1 {
            return no("it makes no cell in front of the result for the rest");
        }
        split.done()?;
        Ok(Cell {
            stmts: split.own,
            constructor: fronts.constructor,
            fields,
        })
    }
}

/// The constructor and the fields of the cell that a body gives.
fn made_in(body: &Body, data: DataId) -> Option<(u32, &[Atom])> {
    match defined(body.values.first()?, &body.stmts)? {
        Exp::Construct {
            data: of,
            constructor,
            fields,
        } if *of == data => Some((*constructor, fields)),
        _ => None,
    }
}

/// How a field is combined with that of the cell behind.
struct Behind {
    op: BinOp,
    /// What stands for the field where there is no cell.
    end: Option<Scalar>,
    with: Vec<Atom>,
}

fn suffix(
    split: &mut Split<'_>,
    value: &Atom,
    state: &Var,
    (behind, field): (Option<&Var>, usize),
) -> Result<Behind, Reason> {
    let end = std::cell::Cell::new(None);
    let is_state = |split: &mut Split<'_>, atom: &Atom| match (atom, behind) {
        (Atom::Var(var), Some(behind)) => var == behind,
        (_, None) => match head(split, atom, state, field) {
            Some(found) => {
                end.set(Some(found));
                true
            }
            None => false,
        },
        _ => false,
    };
    let mut with = Vec::new();
    match combination(split, value, &is_state, &mut with)? {
        Some(op) => Ok(Behind {
            op,
            end: end.get(),
            with,
        }),
        None => no("it passes the field of the cell behind on"),
    }
}

/// `case s of | Nil -> 0 | Cons y _ -> y`: what it is for an end.
fn head(split: &mut Split<'_>, atom: &Atom, state: &Var, field: usize) -> Option<Scalar> {
    let Atom::Var(var) = atom else { return None };
    let (known, exp) = split
        .dependent
        .get_key_value(var)
        .map(|(known, exp)| (*known, *exp))?;
    let Exp::Case {
        scrutinee: Atom::Var(of),
        arms,
        default,
        ..
    } = exp
    else {
        return None;
    };
    let mut end = None;
    let mut heads = 0;
    for arm in arms {
        match arm.body.values.as_slice() {
            [Atom::Const(value)] if arm.body.stmts.is_empty() => {
                if end.is_some_and(|known| known != *value) || !arm.fields.is_empty() {
                    return None;
                }
                end = Some(*value);
            }
            [Atom::Var(value)] if arm.body.stmts.is_empty() => {
                if arm.fields.get(field).map(|field| &field.var) != Some(value) {
                    return None;
                }
                heads += 1;
            }
            _ => return None,
        }
    }
    if let Some(body) = default {
        match body.values.as_slice() {
            [Atom::Const(value)] if end.is_none_or(|known| known == *value) => end = Some(*value),
            _ => return None,
        }
    }
    (*of == *state && heads == 1).then(|| split.used.insert(known));
    end.filter(|_| *of == *state && heads == 1)
}

/// Whether a body makes, in front of an end, what the step makes in front of a cell, but for what that is combined with.
fn is_same_cell(
    cell: &Cell,
    own: &[Stmt],
    (end, body): (Option<u32>, &Body),
    data: DataId,
    state: &Var,
) -> bool {
    let Some((constructor, fields)) = made_in(body, data) else {
        return false;
    };
    let stmts: Vec<&Stmt> = own.iter().chain(&body.stmts).collect();
    let is_rest = |atom: &Atom| match (atom, defined(atom, &body.stmts)) {
        (Atom::Var(var), None) => var == state,
        // A constructor without fields has one cell: that is the end again.
        (
            _,
            Some(Exp::Construct {
                data: of,
                constructor,
                fields,
            }),
        ) => *of == data && fields.is_empty() && end == Some(*constructor),
        _ => false,
    };
    let mut pairs = cell.fields.iter().zip(fields);
    constructor == cell.constructor
        && pairs.all(|((field, _), value)| match field {
            Field::Rest => is_rest(value),
            Field::Own(other) => is_same(other, value, &stmts),
            Field::Suffix(combined) => match combined.with.as_slice() {
                [other] => is_same(other, value, &stmts),
                _ => false,
            },
        })
}

/// Whether two atoms are surely equal.
fn is_same(left: &Atom, right: &Atom, stmts: &[&Stmt]) -> bool {
    if left == right {
        return true;
    }
    let find = |atom: &Atom| {
        stmts
            .iter()
            .find_map(|stmt| defined(atom, std::slice::from_ref(*stmt)))
    };
    let same = |a: &Atom, b: &Atom| is_same(a, b, stmts);
    match (find(left), find(right)) {
        (Some(Exp::Unary(f, a)), Some(Exp::Unary(g, b))) => f == g && same(a, b),
        (Some(Exp::Binary(f, a, b)), Some(Exp::Binary(g, c, d))) => f == g && same(a, c) && same(b, d),
        (Some(Exp::Project(a, i)), Some(Exp::Project(b, j))) => i == j && same(a, b),
        (Some(Exp::Tuple(a)), Some(Exp::Tuple(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Some(Exp::Atom(a)), _) => same(a, right),
        (_, Some(Exp::Atom(b))) => same(left, b),
        _ => false,
    }
}

/// The suffixes that all steps make. Where there are any, all steps make the same kind of cell.
pub(super) fn agreed_suffixes(cells: &[Cell]) -> Result<Vec<Suffix>, Reason> {
    let suffixes = |cell: &Cell| -> Vec<(usize, Operator, Scalar)> {
        let fields = cell.fields.iter().enumerate();
        fields
            .filter_map(|(at, (_, found))| found.map(|(operator, end)| (at, operator, end)))
            .collect()
    };
    let Some(first) = cells.first() else {
        return no("it has no step");
    };
    let all = suffixes(first);
    for cell in cells {
        let same_kind = all.is_empty() || cell.constructor == first.constructor;
        if suffixes(cell) != all || !same_kind {
            return no("its steps combine what they find in different ways");
        }
    }
    Ok(all
        .into_iter()
        .map(|(_, operator, behind)| Suffix { operator, behind })
        .collect())
}
