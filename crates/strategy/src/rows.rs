//! Nests on a device: which operations share their iterations among work-items.
//!
//! ```text
//! map (\xs -> map f xs) xss            =>  map@grid.1 (\xs -> map@grid.0 f xs) xss
//! map (\xs -> reduce (+) 0 xs) xss     =>  if m < 128 then map@par (\xs -> reduceSeq …) xss
//!                                          else map@group (\xs -> … map@local …) xss
//! ```
//!
//! - Maps of maps: a work-item for every element, whatever the sizes are.
//! - Maps whose functions reduce rows of their own: a group for every row, whose work-items read neighbours; a work-item for every
//!   row where rows are short. Arrays that are the same for all rows are better read by work-items in step: those stay one for a row.

use crate::operator::Operator;
use crate::{Around, Choice, Chooser, Topic, cost};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::fresh_lambda;
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, ResultType, Size, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;
use almach_value::BinOp;
use std::collections::HashSet;

/// Dimensions of a grid.
const DIMENSIONS: u8 = 3;

/// Elements of a row that a group is worth.
const WORTH_A_GROUP: i64 = 128;

/// What could be worth a group instead.
const GROUPS: [i64; 4] = [WORTH_A_GROUP, 32, 512, 2048];

/// How long the rows are that groups could take.
pub(crate) enum Rows {
    Long,
    /// That is not known.
    Of(Size),
}

impl Chooser {
    /// How many maps stand directly in each other in an operation, itself apart.
    pub(crate) fn nest_depth(&self, op: &Op) -> u8 {
        let inner = self.nested_map(op).map(|inner| self.nest_depth(inner) + 1);
        inner.unwrap_or(0).min(DIMENSIONS - 1)
    }

    /// The map that is all that a map's function does.
    fn nested_map<'o>(&self, op: &'o Op) -> Option<&'o Op> {
        let (Prim::Map, false, [function]) = (op.prim, is_fixed(op), op.functions.as_slice()) else {
            return None;
        };
        if !function.context.is_empty() || !function.result.context.is_empty() {
            return None;
        }
        let [Atom::Var(result)] = function.body.values.as_slice() else {
            return None;
        };
        let (last, before) = function.body.stmts.split_last()?;
        let ([value], Exp::Op(inner)) = (last.pattern.values.as_slice(), &last.exp) else {
            return None;
        };
        let is_nest = value.var == *result
            && inner.prim == Prim::Map
            && !is_fixed(inner)
            && last.pattern.context.is_empty()
            && before.iter().all(|stmt| self.is_free(stmt));
        is_nest.then_some(inner)
    }

    /// Whether a statement may be done once more: it computes little, fails never and makes no array.
    fn is_free(&self, stmt: &Stmt) -> bool {
        let little = match &stmt.exp {
            Exp::Atom(_) | Exp::Unary(..) | Exp::Binary(..) | Exp::Ternary(..) => true,
            Exp::Tuple(_) | Exp::Project(..) | Exp::Index { .. } => true,
            Exp::Op(op) => {
                op.functions.is_empty() && (op.prim.is_view() || op.prim == Prim::Length) && !is_fixed(op)
            }
            _ => false,
        };
        little && stmt.pattern.context.is_empty() && !self.facts.can_fail(&stmt.exp)
    }

    /// The rows that a map's function reduces, where a group can do so.
    pub(crate) fn row_reductions(&self, op: &Op) -> Option<Rows> {
        let (Prim::Map, false, [function]) = (op.prim, is_fixed(op), op.functions.as_slice()) else {
            return None;
        };
        if !function.context.is_empty() || !function.result.context.is_empty() {
            return None;
        }
        // Neighbouring work-items read neighbours where each has a column.
        let columns = |arg: &Atom| matches!(arg, Atom::Var(var) if self.transposed.contains_key(var));
        if op.args.iter().any(columns) {
            return None;
        }
        if self.facts.body_can_fail(&function.body) {
            return None;
        }
        let own = Own::of(function);
        let mut found: Option<Rows> = None;
        for stmt in &function.body.stmts {
            match &stmt.exp {
                Exp::Op(inner) if matches!(inner.prim, Prim::Reduce | Prim::ReduceComm) => {
                    let rows = self.row(inner, &function.body, &own)?;
                    found = Some(match (found, rows) {
                        (None, rows) => rows,
                        (Some(Rows::Of(size)), _) | (_, Rows::Of(size)) => Rows::Of(size),
                        (Some(Rows::Long), Rows::Long) => Rows::Long,
                    });
                }
                Exp::Op(inner) if inner.prim == Prim::Map && !is_fixed(inner) => {
                    let simple = |function: &Lambda| cost::is_simple(function, &self.facts);
                    if !inner.functions.iter().all(simple) {
                        return None;
                    }
                }
                Exp::If { .. } | Exp::Loop(_) | Exp::Case { .. } | Exp::Call { .. } => return None,
                _ if !self.is_free(stmt) => return None,
                _ => {}
            }
        }
        found
    }

    /// The row that a reduction takes in, if it is another one in every iteration.
    fn row(&self, op: &Op, body: &Body, own: &Own) -> Option<Rows> {
        let ([function], [_, array]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return None;
        };
        let scalars = function.params.iter().all(|param| cost::is_scalars(&param.ty));
        if is_fixed(op) || Operator::of(function).is_none() || !scalars {
            return None;
        }
        if !sources(array, body).iter().any(|source| own.has(source)) {
            return None;
        }
        let Type::Array(Dim::Size(size), _) = self.facts.env.atom_type(array).ok()? else {
            return None;
        };
        match size.as_constant() {
            Some(size) => (size >= WORTH_A_GROUP).then_some(Rows::Long),
            None => {
                let outside = size.free_vars().all(|var| !own.vars.contains(var));
                outside.then(|| Rows::Of(size.clone()))
            }
        }
    }

    /// How many elements of a row are worth a group; none where work-items take all rows.
    pub(crate) fn worth_a_group(&self, span: Span) -> Option<i64> {
        let answer = self.ask(span, Topic::Groups, GROUPS.len() as u32 + 1);
        GROUPS.get(answer as usize).copied()
    }

    /// A map whose rows groups take, or work-items where they are short.
    pub(crate) fn by_length(&mut self, stmt: &Stmt, op: &Op, size: &Size, worth: i64) -> Typed<()> {
        let span = stmt.span;
        let length = self.builder.size_atom(size, span)?;
        let least = crate::write::int(worth);
        let condition = self.arithmetic(BinOp::Lt, length, least, "short", span)?;
        let reason = format!("its rows are long; shorter than {worth} elements, a work-item takes each");
        self.decide(span, op.prim, Choice::Level(Level::Group(0)), &reason);
        let mut bodies = Vec::new();
        for level in [Level::Par, Level::Group(0)] {
            let mut chosen = self.at(op, level)?;
            if level == Level::Par {
                for function in &mut chosen.functions {
                    *function = fresh_lambda(function, &mut self.builder.supply);
                }
            }
            self.builder.enter();
            let value = self.bind(Exp::Op(chosen), "rows", span)?;
            bodies.push(self.builder.leave(Vec::new(), vec![value]));
        }
        let types = stmt.pattern.values.iter().map(|value| value.ty.clone());
        let result = ResultType {
            context: Vec::new(),
            types: types.collect(),
        };
        let mut bodies = bodies.into_iter();
        let (Some(then), Some(otherwise)) = (bodies.next(), bodies.next()) else {
            return Ok(());
        };
        let exp = Exp::If {
            condition,
            then,
            otherwise,
            result,
        };
        self.builder.push(stmt.pattern.clone(), exp, span);
        Ok(())
    }

    /// An operation at a level, with its functions as they are there.
    pub(crate) fn at(&mut self, op: &Op, level: Level) -> Typed<Op> {
        let mut chosen = op.clone();
        chosen.annotation.level = Some(level);
        let inside = Around::Nothing.inside(Some(level), self.machine);
        for function in &mut chosen.functions {
            *function = self.lambda(function, inside)?;
        }
        Ok(chosen)
    }
}

/// What is different in every iteration of a function: what is made of its parameters.
struct Own {
    vars: HashSet<Var>,
}

impl Own {
    fn of(function: &Lambda) -> Own {
        let mut vars: HashSet<Var> = function.params.iter().map(|param| param.var.clone()).collect();
        for stmt in &function.body.stmts {
            let mut args = Vec::new();
            match &stmt.exp {
                Exp::Op(op) => args.extend(op.args.iter()),
                Exp::Index { array, indices } => {
                    args.push(array);
                    args.extend(indices);
                }
                Exp::Atom(atom) | Exp::Project(atom, _) => args.push(atom),
                Exp::Tuple(atoms) => args.extend(atoms),
                _ => {}
            }
            let own = args
                .into_iter()
                .any(|arg| matches!(arg, Atom::Var(var) if vars.contains(var)));
            if own {
                vars.extend(stmt.pattern.values.iter().map(|value| value.var.clone()));
            }
        }
        Own { vars }
    }

    fn has(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.vars.contains(var))
    }
}

/// The arrays that an array is made of, through maps.
fn sources(array: &Atom, body: &Body) -> Vec<Atom> {
    let made = body.stmts.iter().find(|stmt| {
        let is_it = |var: &Var| matches!(array, Atom::Var(wanted) if wanted == var);
        stmt.pattern.values.iter().any(|value| is_it(&value.var))
    });
    match made.map(|stmt| &stmt.exp) {
        Some(Exp::Op(op)) if op.prim == Prim::Map => {
            op.args.iter().flat_map(|arg| sources(arg, body)).collect()
        }
        _ => vec![array.clone()],
    }
}
