//! Constant folding: scalar operators on constants, sizes that types tell, branches whose condition is known.
//!
//! ```text
//! let l: i64 = length xs          -- xs: [n]f32        let l: i64 = n
//! let a: i32 = 2i32 * 3i32                             let a: i32 = 6i32
//! let b: bool = a < 7i32                           =>  let b: bool = true
//! let y: i32 = if b: i32 then x else (…)               let y: i32 = x
//! ```
//!
//! The scalar operators are those of `almach_value`, the one definition of them. What would fail is left to fail at run time.
//! Floats obey only the identities that hold bit for bit.
//!
//! Removes: operators on constants, branches not taken. Introduces: copies, for copy propagation.
//! Guarantees: nothing is run that would not have run.

mod algebra;

use crate::facts::Facts;
use crate::sizes::{size_as_atom, size_matching};
use crate::{Log, Pass};
use almach_core::visit::{WalkMut, walk_exp_mut, walk_function_mut};
use almach_core::{Arm, Atom, Body, Dim, Exp, Loop, LoopForm, Op, Param, Pattern, Program, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::{Scalar, UnOp};
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "constant-folding",
    description: "computes what is known at compile time and takes the branches it decides",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut folder = Folder {
        facts: Facts::of(&program),
        constants: HashMap::new(),
        constructed: HashMap::new(),
    };
    for function in &mut program.functions {
        walk_function_mut(&mut folder, function);
    }
    program
}

/// What becomes of an expression.
enum Folded {
    Stays,
    Becomes(Exp),
    /// The body runs in its place.
    Runs(Body),
}

struct Folder {
    facts: Facts,
    /// Names bound to constants.
    constants: HashMap<Var, Scalar>,
    /// Names bound to constructors: which, and its fields.
    constructed: HashMap<Var, (u32, Vec<Atom>)>,
}

impl WalkMut for Folder {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for stmt in std::mem::take(&mut body.stmts) {
            self.fold_stmt(stmt, &mut stmts);
        }
        body.stmts = stmts;
    }
}

impl Folder {
    fn fold_stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        match self.fold(&stmt.exp) {
            Folded::Stays => {}
            Folded::Becomes(exp) if self.fits(&exp, &stmt.pattern) => stmt.exp = exp,
            Folded::Becomes(_) => {}
            Folded::Runs(body) => {
                let Stmt { pattern, span, .. } = stmt;
                for inner in body.stmts {
                    self.fold_stmt(inner, out);
                }
                for (var, atom) in pattern.context.into_iter().zip(body.context) {
                    let ty = Type::I64;
                    self.push(copy(Param { var, ty }, atom, span), out);
                }
                for (value, atom) in pattern.values.into_iter().zip(body.values) {
                    self.push(copy(value, atom, span), out);
                }
                return;
            }
        }
        walk_exp_mut(self, &mut stmt.exp);
        self.push(stmt, out);
    }

    /// A scalar stands for all lanes of a vector, so an operand may be no copy of the result.
    fn fits(&self, exp: &Exp, pattern: &Pattern) -> bool {
        match (exp, pattern.values.as_slice()) {
            (Exp::Atom(atom), [value]) => {
                let env = &self.facts.env;
                env.atom_type(atom).is_ok_and(|ty| env.same_type(&ty, &value.ty))
            }
            _ => true,
        }
    }

    fn push(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        if let [value] = stmt.pattern.values.as_slice() {
            match &stmt.exp {
                Exp::Atom(atom) => match self.resolve(atom) {
                    Atom::Const(scalar) => {
                        self.constants.insert(value.var.clone(), scalar);
                    }
                    Atom::Var(from) => {
                        if let Some(known) = self.constructed.get(&from).cloned() {
                            self.constructed.insert(value.var.clone(), known);
                        }
                    }
                },
                Exp::Construct {
                    constructor, fields, ..
                }
                | Exp::ConstructNode {
                    constructor, fields, ..
                } => {
                    let known = (*constructor, fields.clone());
                    self.constructed.insert(value.var.clone(), known);
                }
                _ => {}
            }
        }
        self.facts.learn(&stmt);
        out.push(stmt);
    }

    /// The constant a name is bound to, where it is.
    fn resolve(&self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(var) => match self.constants.get(var) {
                Some(scalar) => Atom::Const(*scalar),
                None => atom.clone(),
            },
            Atom::Const(_) => atom.clone(),
        }
    }

    fn constant(&self, atom: &Atom) -> Option<Scalar> {
        match self.resolve(atom) {
            Atom::Const(scalar) => Some(scalar),
            Atom::Var(_) => None,
        }
    }

    fn fold(&self, exp: &Exp) -> Folded {
        let becomes = |exp: Option<Exp>| exp.map_or(Folded::Stays, Folded::Becomes);
        match exp {
            Exp::Unary(op, a) => becomes(self.unary(*op, a)),
            Exp::Binary(op, a, b) => becomes(algebra::binary(*op, &self.resolve(a), &self.resolve(b))),
            Exp::Ternary(op, a, b, c) => {
                let known = (self.constant(a), self.constant(b), self.constant(c));
                becomes(match known {
                    (Some(a), Some(b), Some(c)) => {
                        op.eval(a, b, c).map(|value| Exp::Atom(Atom::Const(value)))
                    }
                    _ => None,
                })
            }
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => self.branch(condition, then, otherwise),
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => self.case(scrutinee, arms, default.as_ref()),
            Exp::Loop(looped) => self.looped(looped),
            Exp::Op(op) => becomes(self.op(op)),
            Exp::Coerce { value, to } => becomes(match self.facts.env.atom_type(value) {
                Ok(from) if self.facts.env.same_type(&from, to) => Some(Exp::Atom(value.clone())),
                _ => None,
            }),
            Exp::Assert { condition, .. } => becomes(match self.constant(condition) {
                Some(Scalar::Bool(true)) => Some(Exp::Tuple(Vec::new())),
                _ => None,
            }),
            Exp::Atom(_)
            | Exp::Tuple(_)
            | Exp::Project(..)
            | Exp::Array(..)
            | Exp::Construct { .. }
            | Exp::ConstructNode { .. }
            | Exp::Call { .. }
            | Exp::Foreign { .. }
            | Exp::Index { .. }
            | Exp::Slice { .. }
            | Exp::Update { .. }
            | Exp::Trace { .. } => Folded::Stays,
        }
    }

    fn unary(&self, op: UnOp, a: &Atom) -> Option<Exp> {
        if let Some(value) = self.constant(a) {
            return op.eval(value).map(|value| Exp::Atom(Atom::Const(value)));
        }
        match (op, self.facts.env.atom_type(a)) {
            (UnOp::Convert(to), Ok(Type::Scalar(from))) if to == from => Some(Exp::Atom(a.clone())),
            _ => None,
        }
    }

    fn branch(&self, condition: &Atom, then: &Body, otherwise: &Body) -> Folded {
        match self.constant(condition) {
            Some(Scalar::Bool(true)) => return Folded::Runs(then.clone()),
            Some(Scalar::Bool(false)) => return Folded::Runs(otherwise.clone()),
            _ => {}
        }
        if !then.stmts.is_empty() || !otherwise.stmts.is_empty() {
            return Folded::Stays;
        }
        if then == otherwise {
            return Folded::Runs(then.clone());
        }
        let values = (then.values.as_slice(), otherwise.values.as_slice());
        match (then.context.as_slice(), values) {
            ([], ([Atom::Const(Scalar::Bool(true))], [Atom::Const(Scalar::Bool(false))])) => {
                Folded::Becomes(Exp::Atom(condition.clone()))
            }
            ([], ([Atom::Const(Scalar::Bool(false))], [Atom::Const(Scalar::Bool(true))])) => {
                Folded::Becomes(Exp::Unary(UnOp::Not, condition.clone()))
            }
            _ => Folded::Stays,
        }
    }

    fn case(&self, scrutinee: &Atom, arms: &[Arm], default: Option<&Body>) -> Folded {
        let Atom::Var(var) = scrutinee else {
            return Folded::Stays;
        };
        let Some((constructor, fields)) = self.constructed.get(var) else {
            return Folded::Stays;
        };
        let taken = match arms.iter().find(|arm| arm.constructor == *constructor) {
            Some(arm) => self.arm(arm, fields),
            None => default.cloned(),
        };
        taken.map_or(Folded::Stays, Folded::Runs)
    }

    /// The arm's body with its fields bound; none where the size of a field has no name.
    fn arm(&self, arm: &Arm, fields: &[Atom]) -> Option<Body> {
        let mut stmts = Vec::new();
        let span = almach_base::Span::NONE;
        for var in &arm.context {
            let (field, at) = arm.fields.iter().zip(fields).find_map(|(field, atom)| {
                let found = self.facts.env.atom_type(atom).ok()?;
                Some((field, size_matching(var, &field.ty, &found)?))
            })?;
            debug_assert!(field.ty.mentions(&|mentioned| mentioned == var));
            let ty = Type::I64;
            let var = var.clone();
            stmts.push(copy(Param { var, ty }, at, span));
        }
        for (field, atom) in arm.fields.iter().zip(fields) {
            stmts.push(copy(field.clone(), atom.clone(), span));
        }
        let mut body = arm.body.clone();
        stmts.append(&mut body.stmts);
        Some(Body { stmts, ..body })
    }

    /// A loop that never runs gives its initial state.
    fn looped(&self, looped: &Loop) -> Folded {
        let never = match &looped.form {
            LoopForm::For { bound, .. } => self
                .constant(bound)
                .and_then(Scalar::as_integer)
                .is_some_and(|bound| bound <= 0),
            LoopForm::While(condition) => matches!(
                (condition.stmts.as_slice(), condition.values.as_slice()),
                ([], [value]) if self.constant(value) == Some(Scalar::Bool(false))
            ),
        };
        if !never {
            return Folded::Stays;
        }
        Folded::Runs(Body {
            stmts: Vec::new(),
            context: looped
                .context
                .iter()
                .map(|(_, initial)| initial.clone())
                .collect(),
            values: looped.params.iter().map(|(_, initial)| initial.clone()).collect(),
        })
    }

    /// A length that the type tells by a name or a number.
    fn op(&self, op: &Op) -> Option<Exp> {
        match (op.prim, op.args.as_slice()) {
            (Prim::Length, [array]) => match self.facts.env.atom_type(array).ok()? {
                Type::Array(Dim::Size(size), _) => size_as_atom(&size).map(Exp::Atom),
                _ => None,
            },
            _ => None,
        }
    }
}

fn copy(value: Param, atom: Atom, span: almach_base::Span) -> Stmt {
    Stmt {
        pattern: Pattern {
            context: Vec::new(),
            values: vec![value],
        },
        exp: Exp::Atom(atom),
        span,
    }
}
