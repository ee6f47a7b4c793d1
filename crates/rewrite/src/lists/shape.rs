//! What a recursion over a list must look like to run on arrays.
//!
//! The function is one `case` of a list. An arm whose constructor refers to the rest of the list is a *step*: it calls the function once, on the
//! rest. All others are *ends*. In a step the result of the call (or, where the call comes last, an argument that changes) is the *state*:
//!
//! - A fold: the state is scalars, each combined with something that does not depend on it by an operator that is exact in any order.
//! - A list: the step makes one cell in front of the state. A field of it does not depend on the state (a map), or combines something with the
//!   same field of the cell behind (a suffix).

mod cells;
mod folds;
mod reader;

use crate::facts::Facts;
use crate::recursions::{Reason, SideEffect, mentions, no, side_effect};
use almach_core::visit::UseCounts;
use almach_core::{
    Arm, Atom, Body, ConstructorDef, DataId, Exp, FunId, Function, Param, Program, Stmt, Type,
};
use almach_value::{BinOp, Scalar, ScalarType, identity};
use reader::Reader;

pub(super) struct Shape {
    /// The list among the parameters.
    pub(super) list: Param,
    pub(super) data: DataId,
    pub(super) steps: Vec<Step>,
    pub(super) ends: Ends,
    pub(super) made: Made,
}

/// A constructor that refers to the rest of the list.
pub(super) struct Step {
    pub(super) arm: Arm,
    /// Which of its fields is the rest.
    pub(super) link: usize,
    /// What does not depend on the state.
    pub(super) stmts: Vec<Stmt>,
    pub(super) gives: Gives,
}

/// What becomes of the state in a step.
pub(super) enum Gives {
    /// One for every scalar of the state.
    States(Vec<Combined>),
    Cell {
        constructor: u32,
        fields: Vec<Field>,
    },
}

/// A scalar of a state is combined with all of these.
#[derive(Clone)]
pub(super) struct Combined {
    pub(super) with: Vec<Atom>,
}

/// A field of the cell that a step makes.
pub(super) enum Field {
    /// The state itself.
    Rest,
    Own(Atom),
    /// Combined with the same field of the cell behind.
    Suffix(Combined),
}

pub(super) struct Ends {
    pub(super) arms: Vec<Arm>,
    pub(super) default: Option<Body>,
}

/// What the function gives.
pub(super) enum Made {
    /// The results of the call are the state.
    Fold(Vec<Scalars>),
    /// These parameters are the state; the ends make the result of it.
    Accumulated(Vec<(Param, Scalars)>),
    List {
        data: DataId,
        /// Of each field that is one, in order.
        suffixes: Vec<Suffix>,
    },
}

/// A field that combines those of all cells from its own on, with what stands behind the last.
pub(super) struct Suffix {
    pub(super) operator: Operator,
    pub(super) behind: Scalar,
}

/// A part of a state: a scalar and what combines it, or several.
pub(super) enum Scalars {
    One(Operator),
    Tuple(Vec<Scalars>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Operator {
    pub(super) op: BinOp,
    pub(super) ty: ScalarType,
}

impl Operator {
    pub(super) fn identity(self) -> Scalar {
        identity(self.op, self.ty).unwrap_or(Scalar::zero(self.ty))
    }
}

impl Scalars {
    /// The operators, from left to right.
    pub(super) fn leaves(&self) -> Vec<Operator> {
        match self {
            Scalars::One(operator) => vec![*operator],
            Scalars::Tuple(parts) => parts.iter().flat_map(Scalars::leaves).collect(),
        }
    }
}
/// The field of a constructor that refers to its type; none where there is none, or where it refers to it otherwise.
fn link_of(def: &ConstructorDef, data: DataId) -> Result<Option<usize>, Reason> {
    let mentions = |ty: &Type| mentions(ty, data);
    let mut links = (0..).zip(&def.fields).filter(|(_, ty)| mentions(ty));
    match (links.next(), links.next()) {
        (None, _) => Ok(None),
        (Some((at, Type::Data(_))), None) => Ok(Some(at)),
        _ => Err(format!(
            "its datum is no list, since `{}` refers to several parts",
            def.name
        )),
    }
}

impl Shape {
    pub(super) fn of(
        program: &Program,
        facts: &Facts,
        id: FunId,
        function: &Function,
    ) -> Result<Shape, Reason> {
        let body = &function.body;
        let [stmt] = body.stmts.as_slice() else {
            return no("it does more than look at one cell of its datum");
        };
        let Exp::Case {
            scrutinee: Atom::Var(list),
            arms,
            default,
            ..
        } = &stmt.exp
        else {
            return no("it does more than look at one cell of its datum");
        };
        let given = stmt
            .pattern
            .values
            .iter()
            .map(|value| Atom::Var(value.var.clone()));
        if !function.result.context.is_empty() || !body.values.iter().cloned().eq(given) {
            return no("it does more than look at one cell of its datum");
        }
        let Some((at, list)) = (0..).zip(&function.params).find(|(_, param)| param.var == *list) else {
            return no("it looks at something else than its datum");
        };
        let Type::Data(data) = list.ty else {
            return no("it looks at something else than its datum");
        };
        let Some(def) = program.data.get(data.0 as usize) else {
            return no("its datum is none");
        };
        match side_effect(program, id) {
            Some(SideEffect::Prints) => return no("it prints, which happens in order"),
            Some(SideEffect::Fixed) => return no("it holds an operation with a level or an effect"),
            None => {}
        }
        if UseCounts::of_function(function).of(&list.var) > 1 {
            return no("it uses its datum as a whole, too");
        }
        let reader = Reader {
            program,
            facts,
            id,
            function,
            at,
            data,
            def,
        };
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        for arm in arms {
            match reader.step(arm)? {
                Some(call) => steps.push(call),
                None => ends.push(arm.clone()),
            }
        }
        reader.default(arms, default.as_ref())?;
        let ends = Ends {
            arms: ends,
            default: default.clone(),
        };
        reader.shape(list, steps, ends)
    }

    pub(super) fn makes_list(&self) -> bool {
        matches!(self.made, Made::List { .. })
    }

    /// The shape in words, behind "is".
    pub(super) fn words(&self, program: &Program) -> String {
        let name = program
            .data
            .get(self.data.0 as usize)
            .map_or("list", |def| def.name.as_str());
        let by = |operators: Vec<Operator>| {
            let mut names: Vec<String> = Vec::new();
            for operator in operators {
                let name = format!("`{}`", operator.op.name());
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names.join(" and ")
        };
        let array = "its cells are brought into an array, in their order";
        match &self.made {
            Made::Fold(states) => {
                let operators = states.iter().flat_map(Scalars::leaves).collect();
                format!(
                    "a fold of `{name}` by {}: {array}, and combined in parallel",
                    by(operators)
                )
            }
            Made::Accumulated(states) => {
                let operators = states.iter().flat_map(|(_, state)| state.leaves()).collect();
                format!(
                    "a fold of `{name}` by {}: {array}, and combined in parallel",
                    by(operators)
                )
            }
            Made::List { suffixes, .. } if suffixes.is_empty() => {
                format!("a map over `{name}`: {array}, and all new cells are made at once")
            }
            Made::List { suffixes, .. } => {
                let operators = suffixes.iter().map(|suffix| suffix.operator).collect();
                format!(
                    "the suffixes of `{name}` by {}: {array}, and a scan from its end gives all new cells at once",
                    by(operators)
                )
            }
        }
    }
}
